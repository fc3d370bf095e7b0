//! Miss-status holding registers: which lines are outstanding, and who waits for each.

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
/// Which line an entry serves is kept in the cache's tag array, which has a way reserved for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MshrFile<W> {
    mergers: usize,
    /// `mergers` places an entry.
    waiters: Box<[W]>,
    /// Accesses recorded since the entry was allocated.
    recorded: Box<[u8]>,
    /// Accesses released since the line arrived.
    released: Box<[u8]>,
    free: Vec<MshrId>,
    outstanding: usize,
}

impl<W: Copy + Default> MshrFile<W> {
    /// A file with every entry free.
    pub fn new(entries: usize, mergers: usize) -> Self {
        MshrFile {
            mergers,
            waiters: vec![W::default(); entries * mergers].into(),
            recorded: vec![0; entries].into(),
            released: vec![0; entries].into(),
            free: (0..entries as u16).rev().map(MshrId).collect(),
            outstanding: 0,
        }
    }

    /// True when [`MshrFile::allocate`] would be refused.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Entries in use.
    pub fn in_use(&self) -> usize {
        self.recorded.len() - self.free.len()
    }

    /// Accesses whose line has not arrived.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Takes an entry for a new line and records its first access; `None` when none is free.
    pub fn allocate(&mut self, waiter: W) -> Option<MshrId> {
        let id = self.free.pop()?;
        self.recorded[id.index()] = 0;
        self.released[id.index()] = 0;
        self.record(id, waiter);
        Some(id)
    }

    fn record(&mut self, id: MshrId, waiter: W) {
        let place = &mut self.recorded[id.index()];
        self.waiters[id.index() * self.mergers + usize::from(*place)] = waiter;
        *place += 1;
        self.outstanding += 1;
    }

    /// True when [`MshrFile::merge`] would be refused.
    #[inline]
    pub fn is_entry_full(&self, id: MshrId) -> bool {
        usize::from(self.recorded[id.index()]) == self.mergers
    }

    /// Records one more access to an outstanding line; gives it back when no merger field is free.
    pub fn merge(&mut self, id: MshrId, waiter: W) -> Result<(), W> {
        if self.is_entry_full(id) {
            return Err(waiter);
        }
        self.record(id, waiter);
        Ok(())
    }

    /// The line of an entry has arrived: its accesses are no longer outstanding.
    pub fn arrive(&mut self, id: MshrId) {
        self.outstanding -= usize::from(self.recorded[id.index()]);
    }

    /// Releases the oldest access of an entry whose line has arrived. The second value is true when it
    /// was the last one: the entry is then free.
    pub fn release(&mut self, id: MshrId) -> (W, bool) {
        let place = &mut self.released[id.index()];
        let waiter = self.waiters[id.index() * self.mergers + usize::from(*place)];
        *place += 1;
        let last = *place == self.recorded[id.index()];
        if last {
            self.free.push(id);
        }
        (waiter, last)
    }

    /// True for an entry of which nothing has been released yet.
    #[inline]
    pub fn is_untouched(&self, id: MshrId) -> bool {
        self.released[id.index()] == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_serves_as_many_accesses_as_it_has_merger_fields_the_first_included() {
        let mut file = MshrFile::new(1, 3);
        let id = file.allocate('a').unwrap();
        assert_eq!(file.merge(id, 'b'), Ok(()));
        assert_eq!(file.merge(id, 'c'), Ok(()));
        assert_eq!(file.merge(id, 'd'), Err('d'));
        assert_eq!(file.outstanding(), 3);
    }

    #[test]
    fn an_entry_releases_its_accesses_oldest_first_and_frees_with_the_last() {
        let mut file = MshrFile::new(1, 2);
        let id = file.allocate('a').unwrap();
        file.merge(id, 'b').unwrap();
        assert_eq!(file.allocate('x'), None);
        file.arrive(id);
        assert_eq!(file.outstanding(), 0);
        assert_eq!(file.release(id), ('a', false));
        assert_eq!(file.allocate('x'), None);
        assert_eq!(file.release(id), ('b', true));
        assert_eq!(file.in_use(), 0);
        assert_eq!(file.allocate('x'), Some(id));
    }
}
