//! The requests waiting in one controller: slots, linked by age in every bank and every direction.

use crate::units::Cycle;

use super::bank::MOST_BANKS;
use super::request::Request;

/// The number of a slot; [`NONE`] for no slot.
pub type Slot = u16;
/// No slot.
pub const NONE: Slot = Slot::MAX;

/// Neighbours in a list ordered by age.
#[derive(Clone, Copy, Debug)]
struct Link {
    older: Slot,
    younger: Slot,
}

/// The ends of a list ordered by age.
#[derive(Clone, Copy, Debug)]
struct List {
    oldest: Slot,
    youngest: Slot,
}

const UNLINKED: Link = Link { older: NONE, younger: NONE };
const EMPTY: List = List { oldest: NONE, youngest: NONE };
const EMPTY_BANK: Bank = Bank { list: EMPTY, counts: [0; 2] };
const BY_BANK: usize = 0;
const BY_DIRECTION: usize = 1;

/// A waiting request.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    address: u64,
    /// Number of its arrival: smaller is older.
    pub age: u64,
    /// The row that it wants.
    pub row: u64,
    /// Clock of the first command that went for it; [`Cycle::NEVER`] before.
    pub first_command: Cycle,
    /// The caller's mark.
    pub tag: u32,
    /// Bytes that it reads or writes.
    bytes: u32,
    /// Column accesses of the same bank that passed it while it was the bank's oldest.
    pub passed: u32,
    /// Column accesses of any bank that passed it while it was the channel's oldest.
    pub overtaken: u32,
    /// Column accesses still to go.
    pub bursts: u16,
    /// Older requests for the same bytes that it has to wait for: of the two, one at least writes.
    pub blockers: u16,
    /// Younger requests that wait for it so.
    pub dependents: u16,
    /// The bank that it wants.
    pub bank: u8,
    /// True for a write.
    pub write: bool,
    links: [Link; 2],
}

impl Entry {
    /// The next younger request for the same bank.
    #[inline]
    pub fn younger_of_bank(&self) -> Slot {
        self.links[BY_BANK].younger
    }

    /// Whether the order of the two matters to the data.
    #[inline]
    fn conflicts(&self, other: &Entry) -> bool {
        (self.write || other.write) && self.address < other.end() && other.address < self.end()
    }

    /// The byte after its last.
    #[inline]
    fn end(&self) -> u64 {
        self.address + u64::from(self.bytes)
    }
}

/// The requests for one bank.
#[derive(Clone, Copy, Debug)]
struct Bank {
    list: List,
    /// Reads and writes.
    counts: [u16; 2],
}

/// The waiting requests.
#[derive(Clone, Debug)]
pub struct Queue {
    entries: Box<[Entry]>,
    /// The first of the free slots, each of which has the next one as its younger one of the bank.
    free: Slot,
    len: usize,
    banks: [Bank; MOST_BANKS],
    /// Banks with requests, a bit each.
    occupied: u64,
    /// Reads and writes, or all of them in the first list.
    directions: [List; 2],
    /// The list of writes; that of reads is the first one.
    list_of_writes: usize,
    waiting: [usize; 2],
    arrivals: u64,
}

impl Queue {
    /// Room for `capacity` requests.
    pub fn new(capacity: usize) -> Queue {
        let entry = Entry {
            address: 0,
            age: 0,
            row: 0,
            first_command: Cycle::NEVER,
            tag: 0,
            bytes: 0,
            passed: 0,
            overtaken: 0,
            bursts: 0,
            blockers: 0,
            dependents: 0,
            bank: 0,
            write: false,
            links: [UNLINKED; 2],
        };
        assert!(capacity < usize::from(NONE), "slot numbers have 16 bits");
        let mut entries = vec![entry; capacity];
        for (slot, entry) in entries.iter_mut().enumerate() {
            let next = if slot + 1 < capacity { slot as Slot + 1 } else { NONE };
            entry.links[BY_BANK].younger = next;
        }
        Queue {
            entries: entries.into(),
            free: 0,
            len: 0,
            banks: [EMPTY_BANK; MOST_BANKS],
            occupied: 0,
            directions: [EMPTY; 2],
            list_of_writes: 1,
            waiting: [0; 2],
            arrivals: 0,
        }
    }

    /// The same, with reads and writes in one order: the oldest of either is the oldest of all.
    pub fn in_one_order(self) -> Queue {
        Queue { list_of_writes: 0, ..self }
    }

    /// Requests waiting.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there is no room for another one.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free == NONE
    }

    /// True when none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// Reads waiting.
    #[inline]
    pub fn reads(&self) -> usize {
        self.waiting[0]
    }

    /// Writes waiting.
    #[inline]
    pub fn writes(&self) -> usize {
        self.waiting[1]
    }

    /// Reads and writes waiting for `bank`.
    #[inline]
    pub fn of_bank(&self, bank: usize) -> [u16; 2] {
        self.banks[bank % MOST_BANKS].counts
    }

    /// Banks with requests, a bit each.
    #[inline]
    pub fn occupied(&self) -> u64 {
        self.occupied
    }

    /// The request in `slot`.
    #[inline]
    pub fn entry(&self, slot: Slot) -> &Entry {
        &self.entries[usize::from(slot)]
    }

    /// The request in `slot`, for change.
    #[inline]
    pub fn entry_mut(&mut self, slot: Slot) -> &mut Entry {
        &mut self.entries[usize::from(slot)]
    }

    /// The oldest request for `bank`.
    #[inline]
    pub fn oldest_of_bank(&self, bank: usize) -> Slot {
        self.banks[bank % MOST_BANKS].list.oldest
    }

    /// The oldest read or the oldest write.
    #[inline]
    pub fn oldest(&self, write: bool) -> Slot {
        self.directions[self.list_of(write)].oldest
    }

    #[inline]
    fn list_of(&self, write: bool) -> usize {
        self.list_of_writes & usize::from(write)
    }

    /// Takes `request` in as the youngest and says where. There is room: the caller counted.
    #[inline]
    pub fn insert(&mut self, request: Request, row: u64, bank: u32, burst_bytes: u64) -> Slot {
        // The controller admits no more than its queue holds: else this is no slot.
        let slot = self.free;
        let entry = &mut self.entries[usize::from(slot)];
        self.free = entry.links[BY_BANK].younger;
        self.len += 1;
        let direction = usize::from(request.write);
        let of_bank = &mut self.banks[bank as usize % MOST_BANKS];
        let [reads, writes] = of_bank.counts;
        let may_wait = writes > 0 || (request.write && reads > 0);
        of_bank.counts[direction] += 1;
        let of_direction = &mut self.directions[self.list_of_writes & direction];
        let older = [of_bank.list.youngest, of_direction.youngest];
        *entry = Entry {
            address: request.address,
            age: self.arrivals,
            row,
            first_command: Cycle::NEVER,
            tag: request.tag,
            bytes: (u64::from(request.bursts) * burst_bytes) as u32,
            passed: 0,
            overtaken: 0,
            bursts: request.bursts,
            blockers: 0,
            dependents: 0,
            bank: bank as u8,
            write: request.write,
            links: [
                Link { older: older[BY_BANK], younger: NONE },
                Link { older: older[BY_DIRECTION], younger: NONE },
            ],
        };
        append(&mut self.entries, &mut of_bank.list, BY_BANK, slot);
        append(&mut self.entries, of_direction, BY_DIRECTION, slot);
        self.arrivals += 1;
        self.occupied |= 1 << bank;
        self.waiting[direction] += 1;
        if may_wait {
            self.find_blockers(slot);
        }
        slot
    }

    /// Counts the older requests that the youngest of a bank, in `slot`, has to wait for.
    #[inline(never)]
    fn find_blockers(&mut self, slot: Slot) {
        let &Entry { address, write, links, .. } = self.entry(slot);
        let (end, mut other, mut blockers) = (self.entry(slot).end(), links[BY_BANK].older, 0);
        while other != NONE {
            let older = &mut self.entries[usize::from(other)];
            if older.address < end && address < older.end() && (write || older.write) {
                blockers += 1;
                older.dependents += 1;
            }
            other = older.links[BY_BANK].older;
        }
        self.entry_mut(slot).blockers = blockers;
    }

    /// Takes the request in `slot` out and frees those that waited for it.
    #[inline(always)]
    pub fn remove(&mut self, slot: Slot) {
        let Entry { bank, write, dependents, links, .. } = *self.entry(slot);
        if dependents > 0 {
            self.free_dependents(slot);
        }
        let direction = usize::from(write);
        let of_bank = &mut self.banks[usize::from(bank) % MOST_BANKS];
        of_bank.counts[direction] -= 1;
        unlink(&mut self.entries, &mut of_bank.list, BY_BANK, links[BY_BANK]);
        if of_bank.list.oldest == NONE {
            self.occupied &= !(1 << bank);
        }
        let list = self.list_of(write);
        let of_direction = &mut self.directions[list];
        unlink(&mut self.entries, of_direction, BY_DIRECTION, links[BY_DIRECTION]);
        self.waiting[direction] -= 1;
        self.entry_mut(slot).links[BY_BANK].younger = self.free;
        self.free = slot;
        self.len -= 1;
    }

    /// The younger requests for the same bytes wait no longer for the one in `slot`.
    #[inline(never)]
    fn free_dependents(&mut self, slot: Slot) {
        let entry = *self.entry(slot);
        let mut other = entry.links[BY_BANK].younger;
        while other != NONE {
            let younger = &mut self.entries[usize::from(other)];
            younger.blockers -= u16::from(entry.conflicts(younger));
            other = younger.links[BY_BANK].younger;
        }
    }
}

/// Makes the entry in `slot`, which has its link already, the youngest.
#[inline]
fn append(entries: &mut [Entry], list: &mut List, by: usize, slot: Slot) {
    match list.youngest {
        NONE => list.oldest = slot,
        youngest => entries[usize::from(youngest)].links[by].younger = slot,
    }
    list.youngest = slot;
}

/// Joins the neighbours of an entry that leaves.
#[inline]
fn unlink(entries: &mut [Entry], list: &mut List, by: usize, Link { older, younger }: Link) {
    match older {
        NONE => list.oldest = younger,
        older => entries[usize::from(older)].links[by].younger = younger,
    }
    match younger {
        NONE => list.youngest = older,
        younger => entries[usize::from(younger)].links[by].older = older,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(queue: &mut Queue, address: u64, write: bool) {
        let request = Request { address, bursts: 2, write, tag: 0 };
        queue.insert(request, 0, 0, 64);
    }

    #[test]
    fn requests_leave_a_bank_in_any_order_and_keep_their_age() {
        let mut queue = Queue::new(3);
        for address in [0, 128, 256] {
            insert(&mut queue, address, false);
        }
        let oldest = queue.oldest_of_bank(0);
        let middle = queue.entry(oldest).younger_of_bank();
        queue.remove(middle);
        assert_eq!(queue.entry(queue.entry(oldest).younger_of_bank()).age, 2);
        queue.remove(oldest);
        assert_eq!(queue.entry(queue.oldest_of_bank(0)).age, 2);
        assert_eq!((queue.len(), queue.of_bank(0)), (1, [1, 0]));
    }

    #[test]
    fn a_read_waits_for_an_older_write_to_the_same_bytes_only() {
        let mut queue = Queue::new(4);
        insert(&mut queue, 0, true);
        insert(&mut queue, 64, false);
        insert(&mut queue, 128, false);
        let write = queue.oldest_of_bank(0);
        let overlapping = queue.entry(write).younger_of_bank();
        let apart = queue.entry(overlapping).younger_of_bank();
        assert_eq!(queue.entry(write).dependents, 1);
        assert_eq!(queue.entry(overlapping).blockers, 1);
        assert_eq!(queue.entry(apart).blockers, 0);
        queue.remove(write);
        assert_eq!(queue.entry(overlapping).blockers, 0);
    }

    #[test]
    fn reads_never_wait_for_reads_but_writes_for_writes() {
        for write in [false, true] {
            let mut queue = Queue::new(2);
            insert(&mut queue, 0, write);
            insert(&mut queue, 0, write);
            let oldest = queue.oldest(write);
            assert_eq!(queue.entry(oldest).dependents, u16::from(write));
            let younger = queue.entry(oldest).younger_of_bank();
            assert_eq!(queue.entry(younger).blockers, u16::from(write));
        }
    }
}
