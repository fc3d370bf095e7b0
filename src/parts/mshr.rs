//! Miss-status holding registers: which lines are outstanding, and who waits for each.

use std::ops::{Index, IndexMut};

use crate::prefetch::prefetch_at;

/// An entry of an MSHR file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MshrId(pub u16);

impl MshrId {
    /// As an index into arrays that run beside the entries.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// `entries` outstanding lines with up to `mergers` waiting accesses each, the first included.
///
/// Which line an entry serves is kept in the cache's tag array, which has a way reserved for it; what else its owner
/// keeps of it lies here, to be had by its number. The accesses of an entry are served in the order in which they were
/// recorded. The first one lies in the entry itself, as most entries have no other. The others lie in one pool, which is as
/// large as the most of them that ever waited at once; likewise the entries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MshrFile<W, K> {
    /// Those that were ever in use.
    entries: Vec<Entry<W, K>>,
    /// Of these, the ones that are free again.
    free: Vec<MshrId>,
    size: usize,
    outstanding: usize,
    pool: Vec<Node<W>>,
    /// First of the pool's unused places.
    unused: u32,
    mergers: u16,
}

/// Entries, and places of the pool, that there is memory for to begin with.
const RESERVED: usize = 128;
/// No place.
const NONE: u32 = u32::MAX;
/// The place in the entry itself; lower numbers are those of the pool.
const OWN: u32 = NONE - 1;

/// Small ones are in one line of the processor's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
struct Entry<W, K> {
    /// The access that was recorded first.
    own: Node<W>,
    /// The oldest access whose data has not arrived.
    waiting: u32,
    kept: K,
    /// The oldest access that was not released, and the youngest one.
    first: u32,
    last: u32,
    /// Accesses recorded since the entry was allocated.
    recorded: u16,
}

/// What waits comes first, so that it is copied as it is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Node<W> {
    waiter: W,
    next: u32,
}

impl<W: Copy, K> MshrFile<W, K> {
    /// A file with every entry free.
    pub fn new(entries: usize, mergers: usize) -> Self {
        MshrFile {
            mergers: mergers as u16,
            size: entries,
            entries: Vec::with_capacity(entries.min(RESERVED)),
            free: Vec::with_capacity(entries.min(RESERVED)),
            pool: Vec::with_capacity((entries * (mergers - 1)).min(RESERVED)),
            unused: NONE,
            outstanding: 0,
        }
    }

    /// True when [`MshrFile::allocate`] would be refused.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.in_use() == self.size
    }

    /// Entries, free or not.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Entries in use.
    #[inline]
    pub fn in_use(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// An entry is looked at soon.
    #[inline(always)]
    pub fn prefetch(&self, id: MshrId) {
        prefetch_at(&self.entries, id.index());
    }

    /// The access that an entry was allocated for.
    #[inline(always)]
    pub fn recorded_first(&self, id: MshrId) -> &W {
        &self.entries[id.index()].own.waiter
    }

    /// Accesses whose data has not arrived.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Takes an entry for a new line, keeps something of it and records its first access; `None` when none is free.
    #[inline]
    pub fn allocate(&mut self, waiter: W, kept: K) -> Option<MshrId> {
        (!self.is_full()).then(|| self.add(waiter, kept))
    }

    /// The same, where one is free.
    #[inline(always)]
    pub fn add(&mut self, waiter: W, kept: K) -> MshrId {
        debug_assert!(!self.is_full(), "no entry is free");
        self.outstanding += 1;
        let own = Node { waiter, next: NONE };
        let entry = Entry { own, waiting: OWN, kept, first: OWN, last: OWN, recorded: 1 };
        match self.free.pop() {
            Some(id) => {
                self.entries[id.index()] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                MshrId((self.entries.len() - 1) as u16)
            }
        }
    }

    /// Puts an access into the pool, which is the last one of its entry.
    fn place(&mut self, waiter: W) -> u32 {
        let node = Node { waiter, next: NONE };
        if self.unused == NONE {
            self.pool.push(node);
            return self.pool.len() as u32 - 1;
        }
        let place = self.unused;
        let unused = &mut self.pool[place as usize];
        self.unused = unused.next;
        *unused = node;
        place
    }

    #[inline]
    fn record(&mut self, id: MshrId, waiter: W) {
        self.outstanding += 1;
        let place = self.place(waiter);
        let entry = &mut self.entries[id.index()];
        let last = std::mem::replace(&mut entry.last, place);
        if entry.first == NONE {
            entry.first = place;
        } else {
            entry.node_mut(&mut self.pool, last).next = place;
        }
        let entry = &mut self.entries[id.index()];
        if entry.waiting == NONE {
            entry.waiting = place;
        }
        entry.recorded += 1;
    }

    /// True when [`MshrFile::merge`] would be refused.
    #[inline]
    pub fn is_entry_full(&self, id: MshrId) -> bool {
        self.entries[id.index()].recorded == self.mergers
    }

    /// Records one more access to an outstanding line; gives it back when no merger field is free.
    #[inline]
    pub fn merge(&mut self, id: MshrId, waiter: W) -> Result<(), W> {
        if self.is_entry_full(id) {
            return Err(waiter);
        }
        self.record(id, waiter);
        Ok(())
    }

    /// Data of an entry has arrived: its oldest accesses are no longer outstanding, up to the first one
    /// that `has_data` says still waits. Gives their number, and whether none waits any more.
    #[inline(always)]
    pub fn arrive(&mut self, id: MshrId, has_data: impl Fn(&W) -> bool) -> (u32, bool) {
        let entry = &mut self.entries[id.index()];
        let mut arrived = 0;
        while entry.waiting != NONE {
            let node = entry.node(&self.pool, entry.waiting);
            if !has_data(&node.waiter) {
                break;
            }
            entry.waiting = node.next;
            arrived += 1;
        }
        self.outstanding -= arrived as usize;
        (arrived, entry.waiting == NONE)
    }

    /// Whether a single access waits for an entry's data, and nothing else of the entry's is left to be released.
    #[inline]
    pub fn single(&self, id: MshrId) -> Option<&W> {
        let entry = &self.entries[id.index()];
        let is_single = entry.first == entry.last && entry.first == entry.waiting;
        is_single.then(|| &entry.node(&self.pool, entry.first).waiter)
    }

    /// As [`MshrFile::arrive`] and [`MshrFile::release`] of an entry with a [single](MshrFile::single) access, whose data has
    /// arrived: the entry is then free.
    #[inline]
    pub fn release_single(&mut self, id: MshrId) -> &W {
        self.outstanding -= 1;
        self.free.push(id);
        let MshrFile { entries, pool, unused, .. } = self;
        let entry = &mut entries[id.index()];
        let place = std::mem::replace(&mut entry.first, NONE);
        entry.waiting = NONE;
        let node = entry.node_mut(pool, place);
        if place != OWN {
            node.next = std::mem::replace(unused, place);
        }
        &node.waiter
    }

    /// Releases the oldest access of an entry, whose data has arrived. The second value is true when it
    /// was the last one: the entry is then free.
    #[inline(always)]
    pub fn release(&mut self, id: MshrId) -> (&W, bool) {
        let MshrFile { entries, pool, unused, free, .. } = self;
        let entry = &mut entries[id.index()];
        let place = entry.first;
        debug_assert_ne!(place, entry.waiting, "an access is released before its data has arrived");
        let next = entry.node(pool, place).next;
        entry.first = next;
        if place != OWN {
            pool[place as usize].next = std::mem::replace(unused, place);
        }
        let last = next == NONE;
        if last {
            free.push(id);
        }
        (&entry.node(pool, place).waiter, last)
    }
}

impl<W, K> Entry<W, K> {
    /// An access of this entry.
    #[inline(always)]
    fn node<'a>(&'a self, pool: &'a [Node<W>], place: u32) -> &'a Node<W> {
        if place == OWN { &self.own } else { &pool[place as usize] }
    }

    /// As [`Entry::node`], for change.
    #[inline]
    fn node_mut<'a>(&'a mut self, pool: &'a mut [Node<W>], place: u32) -> &'a mut Node<W> {
        if place == OWN { &mut self.own } else { &mut pool[place as usize] }
    }
}

impl<W, K> Index<MshrId> for MshrFile<W, K> {
    type Output = K;

    /// What is kept of an entry that is in use.
    #[inline]
    fn index(&self, id: MshrId) -> &K {
        &self.entries[id.index()].kept
    }
}

impl<W, K> IndexMut<MshrId> for MshrFile<W, K> {
    #[inline]
    fn index_mut(&mut self, id: MshrId) -> &mut K {
        &mut self.entries[id.index()].kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_serves_as_many_accesses_as_it_has_merger_fields_the_first_included() {
        let mut file = MshrFile::new(1, 3);
        let id = file.allocate('a', ()).unwrap();
        assert_eq!(file.merge(id, 'b'), Ok(()));
        assert_eq!(file.merge(id, 'c'), Ok(()));
        assert_eq!(file.merge(id, 'd'), Err('d'));
        assert_eq!(file.outstanding(), 3);
    }

    #[test]
    fn an_entry_releases_its_accesses_oldest_first_and_frees_with_the_last() {
        let mut file = MshrFile::new(1, 2);
        let id = file.allocate('a', ()).unwrap();
        file.merge(id, 'b').unwrap();
        assert_eq!(file.allocate('x', ()), None);
        assert_eq!(file.arrive(id, |_| true), (2, true));
        assert_eq!(file.outstanding(), 0);
        assert_eq!(file.release(id), (&'a', false));
        assert_eq!(file.allocate('x', ()), None);
        assert_eq!(file.release(id), (&'b', true));
        assert_eq!(file.in_use(), 0);
        assert_eq!(file.allocate('x', ()), Some(id));
    }

    #[test]
    fn an_entry_keeps_what_its_owner_gave_it() {
        let mut file = MshrFile::new(2, 1);
        let [first, second] = ['a', 'b'].map(|kept| file.allocate((), kept).unwrap());
        assert_eq!((file[first], file[second], file.is_full()), ('a', 'b', true));
        file[first] = 'c';
        file.arrive(second, |_| true);
        file.release(second);
        assert_eq!(file.allocate((), 'd'), Some(second));
        assert_eq!((file[first], file[second], file.size()), ('c', 'd', 2));
    }

    #[test]
    fn a_single_access_is_released_at_once() {
        let mut file = MshrFile::new(2, 2);
        let [single, double] = ['a', 'b'].map(|waiter| file.allocate(waiter, ()).unwrap());
        file.merge(double, 'c').unwrap();
        assert_eq!([file.single(single), file.single(double)], [Some(&'a'), None]);
        assert_eq!(file.release_single(single), &'a');
        assert_eq!((file.outstanding(), file.in_use()), (2, 1));
        // Of the other one, both have their data; then it has one left that is no longer outstanding.
        assert_eq!(file.arrive(double, |_| true), (2, true));
        assert_eq!(file.release(double), (&'b', false));
        assert_eq!(file.single(double), None);
        assert_eq!(file.release(double), (&'c', true));
        assert_eq!(file.allocate('d', ()), Some(double));
    }

    #[test]
    fn accesses_have_their_data_in_the_order_in_which_they_came() {
        let mut file = MshrFile::new(2, 4);
        let id = file.allocate(1, ()).unwrap();
        file.merge(id, 2).unwrap();
        assert_eq!(file.arrive(id, |&waiter| waiter != 1), (0, false));
        assert_eq!(file.arrive(id, |&waiter| waiter != 2), (1, false));
        assert_eq!(file.release(id), (&1, false));
        file.merge(id, 3).unwrap();
        assert_eq!(file.outstanding(), 2);
        assert_eq!(file.arrive(id, |_| true), (2, true));
        assert_eq!(file.release(id), (&2, false));
        assert_eq!(file.release(id), (&3, true));
        assert_eq!((file.in_use(), file.outstanding()), (0, 0));
    }
}
