//! The requests waiting in one controller: slots, linked by age in every bank and every direction.

use crate::units::{Cycle, fibonacci};

use super::bank::MOST_BANKS;
use super::lists::Lists;
use super::request::Request;
use crate::prefetch::prefetch_at;

/// The number of a slot; [`NONE`] for no slot.
pub type Slot = u16;
/// No slot.
pub const NONE: Slot = Slot::MAX;

/// A waiting request, in one line of a cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Entry {
    address: u64,
    /// Number of its arrival: smaller is older.
    pub age: u64,
    /// The row that it wants.
    pub row: u64,
    /// The clock in which it entered the queue.
    pub entered: Cycle,
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
}

impl Entry {
    /// Whether the order of the two matters to the data.
    #[inline]
    fn conflicts(&self, other: &Entry) -> bool {
        self.overlaps(other) && (self.write || other.write)
    }

    /// Whether any byte belongs to both: from the other's first byte to the end of this one there is at least one, and less
    /// than both have. That is one comparison, with mostly the same outcome; which of two comes first is a toss-up.
    #[inline]
    fn overlaps(&self, other: &Entry) -> bool {
        let to_end = self.address.wrapping_sub(other.address).wrapping_add(self.bytes.into());
        to_end.wrapping_sub(1) < u64::from(self.bytes) + u64::from(other.bytes) - 1
    }
}

/// The waiting requests.
#[derive(Clone, Debug)]
pub struct Queue {
    entries: Box<[Entry]>,
    /// The first of the free slots, each of which has the next one as its younger one of the bank; [`NONE`] for none.
    free: Slot,
    /// The list of writes; that of reads is the first one.
    list_of_writes: u8,
    len: usize,
    by_bank: Lists,
    /// Reads and writes, or all of them in the first list.
    by_direction: Lists,
    /// Banks with requests, a bit each.
    occupied: u64,
    waiting: [usize; 2],
    arrivals: u64,
    /// What waits for each bank.
    banks: [OfBank; MOST_BANKS],
}

/// What waits for a bank.
#[derive(Clone, Copy, Debug, Default)]
struct OfBank {
    /// The bits of all bursts that were wanted since it last had no requests: bursts of requests that overlap have a bit in common.
    bursts: u64,
    /// Reads and, in the upper half, writes: they change and are looked at as one number.
    counts: u32,
}

impl Queue {
    /// Room for `capacity` requests.
    pub fn new(capacity: usize) -> Queue {
        let entry = Entry {
            address: 0,
            age: 0,
            row: 0,
            entered: Cycle(0),
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
        };
        assert!(capacity + MOST_BANKS < usize::from(NONE), "slot numbers have 16 bits");
        let mut by_bank = Lists::new(capacity, MOST_BANKS);
        for slot in 0..capacity {
            let next = if slot + 1 < capacity { slot as Slot + 1 } else { NONE };
            by_bank.of_mut(slot as Slot).younger = next;
        }
        Queue {
            entries: vec![entry; capacity].into(),
            free: 0,
            list_of_writes: 1,
            len: 0,
            by_bank,
            by_direction: Lists::new(capacity, 2),
            occupied: 0,
            waiting: [0; 2],
            arrivals: 0,
            banks: [OfBank::default(); MOST_BANKS],
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
        let counts = self.banks[bank % MOST_BANKS].counts;
        [counts as u16, (counts >> 16) as u16]
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

    /// The same, where `slot` may be the end of a list: then there is none.
    #[inline]
    pub fn get(&self, slot: Slot) -> Option<&Entry> {
        self.entries.get(usize::from(slot))
    }

    /// The oldest request for `bank`, or the end of the list.
    #[inline]
    pub fn oldest_of_bank(&self, bank: usize) -> Slot {
        self.by_bank.oldest(bank % MOST_BANKS)
    }

    /// The next younger request for the same bank, or the end of the list.
    #[inline]
    pub fn younger_of_bank(&self, slot: Slot) -> Slot {
        self.by_bank.of(slot).younger
    }

    /// The next younger request for the same bank is looked at soon.
    #[inline(always)]
    pub fn prefetch_younger_of_bank(&self, slot: Slot) {
        prefetch_at(&self.entries, self.younger_of_bank(slot).into());
    }

    /// The oldest read or the oldest write, or the end of the list.
    #[inline]
    pub fn oldest(&self, write: bool) -> Slot {
        self.by_direction.oldest(self.list_of(write))
    }

    #[inline]
    fn list_of(&self, write: bool) -> usize {
        usize::from(self.list_of_writes & u8::from(write))
    }

    /// Takes `request` in at `now` as the youngest and says where. There is room: the caller counted.
    #[inline]
    pub fn insert(
        &mut self,
        now: Cycle,
        request: Request,
        row: u64,
        bank: u32,
        burst_bytes: u32,
    ) -> Slot {
        // The controller admits no more than its queue holds: else this is no slot.
        let slot = self.free;
        let entry = &mut self.entries[usize::from(slot)];
        self.free = self.by_bank.of(slot).younger;
        self.len += 1;
        let (bank, direction) = (bank as usize % MOST_BANKS, usize::from(request.write));
        let OfBank { bursts: wanted, counts } = &mut self.banks[bank];
        let bursts = bits_of_bursts(&request, row, burst_bytes);
        // A write for all that is older, a read for writes, and only for what wants the same: mostly nothing does.
        let older = u64::from(*counts >> (16 * (1 - direction)));
        let may_wait = older.min(*wanted & bursts) != 0;
        *wanted = *wanted & u64::from(*counts != 0).wrapping_neg() | bursts;
        *counts += 1 << (16 * direction);
        *entry = Entry {
            address: request.address,
            age: self.arrivals,
            row,
            entered: now,
            first_command: Cycle::NEVER,
            tag: request.tag,
            bytes: u32::from(request.bursts) * burst_bytes,
            passed: 0,
            overtaken: 0,
            bursts: request.bursts,
            blockers: 0,
            dependents: 0,
            bank: bank as u8,
            write: request.write,
        };
        self.by_bank.append(bank, slot);
        self.by_direction.append(self.list_of(request.write), slot);
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
        let (this, mut blockers) = (*self.entry(slot), 0);
        let mut other = self.by_bank.of(slot).older;
        while let Some(older) = self.entries.get_mut(usize::from(other)) {
            if this.conflicts(older) {
                blockers += 1;
                older.dependents += 1;
            }
            other = self.by_bank.of(other).older;
        }
        self.entry_mut(slot).blockers = blockers;
    }

    /// Takes the request in `slot` out and frees those that waited for it.
    #[inline(always)]
    pub fn remove(&mut self, slot: Slot) {
        let Entry { bank, write, dependents, .. } = *self.entry(slot);
        if dependents > 0 {
            self.free_dependents(slot);
        }
        let (bank, direction) = (usize::from(bank) % MOST_BANKS, usize::from(write));
        let counts = &mut self.banks[bank].counts;
        *counts -= 1 << (16 * direction);
        self.occupied &= !(u64::from(*counts == 0) << bank);
        self.waiting[direction] -= 1;
        self.by_bank.unlink(slot);
        self.by_direction.unlink(slot);
        self.by_bank.of_mut(slot).younger = self.free;
        self.free = slot;
        self.len -= 1;
    }

    /// The younger requests for the same bytes wait no longer for the one in `slot`.
    #[inline(never)]
    fn free_dependents(&mut self, slot: Slot) {
        let entry = *self.entry(slot);
        let mut other = self.younger_of_bank(slot);
        while let Some(younger) = self.entries.get_mut(usize::from(other)) {
            younger.blockers -= u16::from(entry.conflicts(younger));
            other = self.by_bank.of(other).younger;
        }
    }
}

/// A bit for each of the bursts that a request of a row wants, which follow each other.
#[inline]
fn bits_of_bursts(request: &Request, row: u64, burst_bytes: u32) -> u64 {
    let first = (request.address >> burst_bytes.trailing_zeros()) as u32;
    let others = u64::from(request.bursts).clamp(1, 64).wrapping_neg() % 64;
    let bursts = u64::MAX >> others;
    // Requests for several rows often want the same columns.
    bursts.rotate_left(first.wrapping_add(fibonacci(row) as u32) % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(queue: &mut Queue, address: u64, write: bool) {
        let request = Request { address, bursts: 2, write, tag: 0 };
        queue.insert(Cycle(0), request, 0, 0, 64);
    }

    #[test]
    fn requests_leave_a_bank_in_any_order_and_keep_their_age() {
        let mut queue = Queue::new(3);
        for address in [0, 128, 256] {
            insert(&mut queue, address, false);
        }
        let oldest = queue.oldest_of_bank(0);
        let middle = queue.younger_of_bank(oldest);
        queue.remove(middle);
        assert_eq!(queue.entry(queue.younger_of_bank(oldest)).age, 2);
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
        let overlapping = queue.younger_of_bank(write);
        let apart = queue.younger_of_bank(overlapping);
        assert_eq!(queue.entry(write).dependents, 1);
        assert_eq!(queue.entry(overlapping).blockers, 1);
        assert_eq!(queue.entry(apart).blockers, 0);
        queue.remove(write);
        assert_eq!(queue.entry(overlapping).blockers, 0);
    }

    #[test]
    fn requests_overlap_that_share_a_byte() {
        let any = *Queue::new(1).entry(0);
        let ranges = || (100..108).flat_map(|address| (1..5).map(move |bytes| (address, bytes)));
        for (address, bytes) in ranges() {
            for (other_address, other_bytes) in ranges() {
                let other = Entry { address: other_address, bytes: other_bytes, ..any };
                let share = (address..address + u64::from(bytes)).any(|byte| {
                    (other_address..other_address + u64::from(other_bytes)).contains(&byte)
                });
                assert_eq!(Entry { address, bytes, ..any }.overlaps(&other), share);
            }
        }
    }

    #[test]
    fn requests_that_overlap_want_a_burst_of_the_same_bit() {
        let bits = |first: u64, bursts| {
            let request = Request { address: first * 32, bursts, write: false, tag: 0 };
            bits_of_bursts(&request, 5, 32)
        };
        let ranges =
            || (90..100u64).flat_map(|first| [1, 2, 5, 63, 64, 65, 200].map(|n| (first, n)));
        for (first, bursts) in ranges() {
            assert_eq!(bits(first, bursts).count_ones(), u32::from(bursts.min(64)));
            for (other, others) in ranges() {
                let overlap =
                    first < other + u64::from(others) && other < first + u64::from(bursts);
                assert!(!overlap || bits(first, bursts) & bits(other, others) != 0);
            }
        }
    }

    #[test]
    fn reads_never_wait_for_reads_but_writes_for_writes() {
        for write in [false, true] {
            let mut queue = Queue::new(2);
            insert(&mut queue, 0, write);
            insert(&mut queue, 0, write);
            let oldest = queue.oldest(write);
            assert_eq!(queue.entry(oldest).dependents, u16::from(write));
            let younger = queue.younger_of_bank(oldest);
            assert_eq!(queue.entry(younger).blockers, u16::from(write));
        }
    }
}
