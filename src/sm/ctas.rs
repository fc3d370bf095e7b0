//! The CTAs of an SM: which warp slots belong to which.

use std::cmp::Reverse;
use std::collections::VecDeque;

use crate::config::machine::{CtaRelease, SmConfig};
use crate::isa::{BARRIERS, BarrierKind, BarrierUse, Cta, MbarrierUse, WARPGROUP, WarpStream};
use crate::units::{Bits, Cycle};

use super::residency::{Residency, Room};
use super::scheduler::SLOTS;
use super::warps::Warps;

/// The CTAs of one SM.
///
/// An SM is divided into slots, each for a CTA of the kernel whose CTAs come. Another kernel may follow while CTAs of the one before
/// are there: what these leave behind is divided anew, for CTAs of the other.
#[derive(Clone, Debug)]
pub struct Ctas {
    release: CtaRelease,
    /// From a CTA's last instruction to the first one of the next in its slot, at least.
    turnaround: u64,
    /// By warp slot: what its warp executes.
    streams: Vec<WarpStream>,
    /// Where the next CTA is written, in the storage of the warp slots that it gets.
    storage: Cta,
    slots: Vec<Slot>,
    /// By warp slot: the CTA slot. A search would take longer than what asks for it.
    places: [u8; SLOTS],
    /// Slots without a CTA, the one that is used next last.
    free: Vec<usize>,
    /// Slots with a CTA.
    resident: usize,
    /// What no slot has.
    room: Room,
    /// The shared memory of all slots `[bytes]`.
    shared_size: u32,
    /// What a CTA takes that comes next.
    next: Residency,
    /// By warp slot that no CTA slot has: a CTA that gets it does not issue before.
    turned: [Cycle; SLOTS],
    /// By kernel, the last that whose CTAs come: the first cycle after its last CTA so far.
    ended: Vec<Cycle>,
    /// By CTA slot to which warps have arrived at mbarriers, and by mbarrier: how many times they have.
    arrivals: Vec<Vec<u32>>,
    /// By warp slot that waits at an mbarrier: which, and for how many arrivals; none before the first one waits.
    awaited: Vec<MbarrierUse>,
    /// Of each CTA whose place no other has taken, or got: the cycle of its last instruction, in the order of these.
    executed: VecDeque<Cycle>,
    /// Of these CTAs, those that have ended: the last cycle in which each was there.
    left: VecDeque<Cycle>,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    /// Its warp slots; none where it is not in use.
    warps: u64,
    /// What it takes.
    takes: Residency,
    kernel: usize,
    resident: bool,
    /// The first cycle in which its next CTA may issue.
    next_issue: Cycle,
    /// Warps that have an instruction left.
    alive: u32,
    barriers: [Barrier; BARRIERS],
    /// Warp slots that wait at an mbarrier.
    at_mbarriers: u64,
}

/// A barrier of a CTA.
#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    /// Warps that must arrive; 0 for all that run.
    warps: u16,
    /// Warps that have arrived.
    arrived: u16,
    /// Warp slots that wait.
    waiting: u64,
}

impl Ctas {
    /// No slot.
    pub fn new(config: &SmConfig) -> Self {
        Ctas {
            release: config.cta_release,
            turnaround: config.cta_turnaround.cycles(),
            streams: vec![WarpStream::default(); SLOTS],
            storage: Cta::default(),
            slots: Vec::new(),
            places: [0; SLOTS],
            free: Vec::new(),
            resident: 0,
            room: Room::new(config),
            shared_size: 0,
            next: Residency::default(),
            turned: [Cycle(0); SLOTS],
            ended: Vec::new(),
            arrivals: Vec::new(),
            awaited: Vec::new(),
            executed: VecDeque::with_capacity(2 * SLOTS),
            left: VecDeque::with_capacity(2 * SLOTS),
        }
    }

    /// Divides the SM for a kernel. No CTA may be resident.
    pub fn prepare(&mut self, residency: Residency) {
        debug_assert_eq!(self.resident, 0);
        // Launches of one kernel, one after the other, need no other slots, but those in their first order.
        let is_divided = self.ended.len() == 1 && self.next == residency;
        self.ended.clear();
        self.ended.push(Cycle(0));
        self.executed.clear();
        self.left.clear();
        self.next = residency;
        if is_divided {
            self.free.sort_unstable_by_key(|slot| Reverse(*slot));
        } else {
            self.divide_all();
        }
        self.turned = [Cycle(0); SLOTS];
        self.slots.iter_mut().for_each(|slot| slot.next_issue = Cycle(0));
        debug_assert_eq!(self.free.len(), residency.ctas);
    }

    /// CTAs of another kernel come from now on, the last of `more`. What has no CTA is divided for them.
    pub fn join(&mut self, more: impl Iterator<Item = Residency>) {
        for residency in more {
            self.ended.push(Cycle(0));
            self.next = residency;
        }
        self.dissolve_free();
        self.divide();
    }

    /// Divides the SM for the kernel whose CTAs come, as if no other had been there, where shared memory is divided differently.
    /// No CTA may be resident. Gives whether it did.
    pub fn divide_anew(&mut self) -> bool {
        debug_assert_eq!(self.resident, 0);
        let differs = self.shared_size != self.next.shared_size;
        if differs {
            self.divide_all();
        }
        differs
    }

    /// Divides an empty SM for the kernel whose CTAs come.
    fn divide_all(&mut self) {
        self.dissolve_free();
        self.shared_size = self.next.shared_size;
        self.room.set_shared(self.shared_size);
        self.divide();
    }

    /// Gives up all slots without a CTA.
    fn dissolve_free(&mut self) {
        while let Some(index) = self.free.pop() {
            self.dissolve(index);
        }
    }

    /// Gives up a slot without a CTA.
    fn dissolve(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let warps = std::mem::take(&mut slot.warps);
        Bits(warps).for_each(|warp| self.turned[warp] = slot.next_issue);
        self.room.give_back(&slot.takes, warps);
    }

    /// Makes slots for CTAs of the kernel whose CTAs come, of what no slot has.
    fn divide(&mut self) {
        let (kept, kernel) = (self.free.len(), self.kernel());
        while let Some(warps) = self.room.take(&self.next) {
            let unused = self.slots.iter().position(|slot| slot.warps == 0);
            let index = unused.unwrap_or(self.slots.len());
            if index == self.slots.len() {
                self.slots.push(Slot::default());
            }
            let slot = &mut self.slots[index];
            (slot.warps, slot.takes, slot.kernel) = (warps, self.next, kernel);
            slot.next_issue = Bits(warps).map(|warp| self.turned[warp]).fold(Cycle(0), Cycle::max);
            Bits(warps).for_each(|warp| self.places[warp] = index as u8);
            self.free.push(index);
        }
        self.free[kept..].reverse();
    }

    /// Local memory of a thread of the warp in a slot [bytes].
    pub fn local_bytes(&self, warp: usize) -> u32 {
        self.slots[self.of_warp(warp)].takes.local_bytes
    }

    /// The number of the kernel whose CTAs come, among those that run at the same time.
    fn kernel(&self) -> usize {
        self.ended.len() - 1
    }

    /// True when another CTA can start.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// CTAs that are resident.
    #[inline]
    pub fn resident(&self) -> usize {
        self.resident
    }

    /// Ways of the L1's sets where the SM is divided for the kernel whose CTAs come.
    pub fn l1_ways(&self) -> usize {
        self.next.l1_ways
    }

    /// Of each CTA whose place no other has taken: the cycle of its last instruction.
    pub fn executed(&self) -> impl Iterator<Item = Cycle> {
        self.executed.iter().copied()
    }

    /// A CTA comes, now or later. Where it takes the place of one that has ended, as there is no other room: the last cycle in which that one
    /// was there.
    pub fn take_place(&mut self) -> Option<Cycle> {
        if self.free.len() > self.left.len() {
            return None;
        }
        self.executed.pop_front();
        self.left.pop_front()
    }

    /// By number of the kernel, the first cycle after its last CTA that has ended here, or the first of all.
    pub fn ended(&self) -> &[Cycle] {
        &self.ended
    }

    /// The storage that the next CTA will be started from.
    pub fn next_storage(&mut self) -> &mut Cta {
        let slot = *self.free.last().expect("has_room was asked");
        self.storage.warps.resize_with(self.next.cta_warps, WarpStream::default);
        self.exchange(slot);
        &mut self.storage
    }

    /// Exchanges the streams of a CTA slot for those in the storage.
    fn exchange(&mut self, slot: usize) {
        for (warp, stored) in Bits(self.slots[slot].warps).zip(&mut self.storage.warps) {
            std::mem::swap(&mut self.streams[warp], stored);
        }
    }

    /// Makes the CTA in the next storage resident; gives its warp slots, and the first cycle in which it may issue.
    pub fn start(&mut self) -> (u64, Cycle) {
        let index = self.free.pop().expect("has_room was asked");
        self.exchange(index);
        self.resident += 1;
        let slot = &mut self.slots[index];
        (slot.resident, slot.alive) = (true, slot.warps.count_ones());
        slot.barriers = Default::default();
        if let Some(arrivals) = self.arrivals.get_mut(index) {
            arrivals.clear();
        }
        (slot.warps, slot.next_issue)
    }

    /// The CTA slot of a warp slot.
    #[inline]
    pub fn of_warp(&self, warp: usize) -> usize {
        usize::from(self.places[warp])
    }

    /// The warp slots of a warp's warpgroup: those of its CTA are in the order of its warps.
    pub fn warpgroup(&self, warp: usize) -> u64 {
        let warps = self.slots[self.of_warp(warp)].warps;
        let before = (warps & ((1 << warp) - 1)).count_ones() as usize;
        let group = Bits(warps).skip(before / WARPGROUP * WARPGROUP).take(WARPGROUP);
        group.fold(0, |group, warp| group | 1 << warp)
    }

    /// The instructions of a warp slot.
    #[inline]
    pub fn stream(&self, warp: usize) -> &WarpStream {
        &self.streams[warp]
    }

    /// A warp arrives at a barrier of its CTA, and waits there if that is how it uses it. When all that it is for
    /// have arrived, gives the warp slots that waited.
    pub fn arrive(&mut self, slot: usize, warp: usize, at: BarrierUse) -> Option<u64> {
        let Slot { alive, barriers, .. } = &mut self.slots[slot];
        let barrier = &mut barriers[usize::from(at.id)];
        barrier.warps = at.warps;
        barrier.arrived += 1;
        barrier.waiting |= u64::from(at.kind == BarrierKind::Wait) << warp;
        barrier.take_if_met(*alive)
    }

    /// Somebody arrives at an mbarrier of a CTA; gives the warp slots that wait there no longer.
    pub fn arrive_at_mbarrier(&mut self, slot: usize, id: u16) -> u64 {
        if slot >= self.arrivals.len() {
            self.arrivals.resize(slot + 1, Vec::new());
        }
        let (arrivals, at_mbarriers) =
            (&mut self.arrivals[slot], &mut self.slots[slot].at_mbarriers);
        let place = usize::from(id);
        if place >= arrivals.len() {
            arrivals.resize(place + 1, 0);
        }
        arrivals[place] += 1;
        let is_done = |warp: &usize| {
            let MbarrierUse { id: other, arrivals: awaited } = self.awaited[*warp];
            other == id && awaited <= arrivals[place]
        };
        let done = Bits(*at_mbarriers).filter(is_done).fold(0, |all, warp| all | 1 << warp);
        *at_mbarriers &= !done;
        done
    }

    /// A warp comes to an mbarrier of its CTA to wait; true when it has to.
    pub fn wait_at_mbarrier(&mut self, slot: usize, warp: usize, at: MbarrierUse) -> bool {
        let arrivals = self.arrivals.get(slot).and_then(|all| all.get(usize::from(at.id)));
        let waits = arrivals.is_none_or(|arrivals| *arrivals < at.arrivals) && at.arrivals > 0;
        if waits {
            if self.awaited.is_empty() {
                self.awaited = vec![at; SLOTS];
            }
            self.awaited[warp] = at;
            self.slots[slot].at_mbarriers |= 1 << warp;
        }
        waits
    }

    /// A warp has run out of instructions at `now`. Gives the warp slots that waited at barriers which that opens,
    /// and how many those are.
    pub fn end_warp(&mut self, now: Cycle, slot: usize) -> (u64, u64) {
        let Slot { alive, next_issue, barriers, .. } = &mut self.slots[slot];
        *alive -= 1;
        *next_issue = now + self.turnaround;
        if *alive == 0 {
            self.executed.push_back(now);
        }
        let opened = barriers.iter_mut().filter_map(|barrier| barrier.take_if_met(*alive));
        opened.fold((0, 0), |(warps, count), waiting| (warps | waiting, count + 1))
    }

    /// Frees a slot whose CTA has ended: no instruction left, no load outstanding and, if the machine
    /// asks for it, no store either. True when it did; the CTA is not there from cycle `from` on.
    #[inline]
    pub fn try_end(&mut self, slot: usize, warps: &Warps, from: Cycle) -> bool {
        let state = &self.slots[slot];
        if !state.resident || state.alive > 0 {
            return false;
        }
        self.try_end_last(slot, warps, from)
    }

    /// The same, where no warp of it has an instruction left.
    #[inline(never)]
    fn try_end_last(&mut self, index: usize, warps: &Warps, from: Cycle) -> bool {
        let kernel = self.kernel();
        let slot = &mut self.slots[index];
        let busy = Bits(slot.warps).any(|warp| {
            warps[warp].pending_loads > 0
                || (self.release == CtaRelease::AfterStores && warps[warp].pending_stores > 0)
        });
        if busy {
            return false;
        }
        slot.resident = false;
        self.resident -= 1;
        self.left.push_back(Cycle(from.0 - 1));
        self.ended[slot.kernel] = from;
        if slot.kernel == kernel {
            self.free.push(index);
        } else {
            self.dissolve(index);
            self.divide();
        }
        true
    }
}

impl Barrier {
    fn take_if_met(&mut self, alive: u32) -> Option<u64> {
        let wanted = if self.warps == 0 { alive } else { u32::from(self.warps) };
        let met = self.arrived > 0 && u32::from(self.arrived) >= wanted;
        met.then(|| std::mem::take(self).waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::presets;

    /// A CTA of four warps in its slot.
    fn ctas() -> Ctas {
        let machine = presets::find("gtx480").unwrap().machine().unwrap();
        let mut ctas = Ctas::new(&machine.sm);
        ctas.prepare(Residency { ctas: 8, cta_warps: 4, ..Residency::default() });
        assert_eq!(ctas.start(), (0b1111, Cycle(0)));
        ctas
    }

    #[test]
    fn a_warpgroup_is_four_warps_of_a_cta_in_their_order() {
        let machine = presets::find("h200").unwrap().machine().unwrap();
        let mut ctas = Ctas::new(&machine.sm);
        ctas.prepare(Residency { ctas: 1, cta_warps: 6, ..Residency::default() });
        assert_eq!([0, 3, 4, 5].map(|warp| ctas.warpgroup(warp)), [0xf, 0xf, 0x30, 0x30]);
        // The next CTA has other slots.
        assert_eq!([6, 9, 10, 11].map(|warp| ctas.warpgroup(warp)), [0x3c0, 0x3c0, 0xc00, 0xc00]);
    }

    fn at(id: u8, warps: u16, kind: BarrierKind) -> BarrierUse {
        BarrierUse { id, warps, kind }
    }

    #[test]
    fn a_barrier_of_all_opens_for_the_last_warp_that_runs() {
        let mut ctas = ctas();
        for warp in 0..2 {
            assert_eq!(ctas.arrive(0, warp, BarrierUse::ALL), None);
        }
        assert_eq!(ctas.end_warp(Cycle(5), 0), (0, 0));
        assert_eq!(ctas.arrive(0, 3, BarrierUse::ALL), Some(0b1011));
        assert_eq!(ctas.arrive(0, 0, BarrierUse::ALL), None);
        assert_eq!(ctas.end_warp(Cycle(5), 0), (0, 0));
        assert_eq!(ctas.end_warp(Cycle(5), 0), (1, 1));
    }

    #[test]
    fn a_kernel_that_comes_again_finds_the_slots_in_their_first_order() {
        let mut ctas = ctas();
        let residency = ctas.next;
        assert_eq!(ctas.start().0, 0b1111 << 4);
        for slot in [0, 1] {
            (0..4).for_each(|_| assert_eq!(ctas.end_warp(Cycle(5), slot), (0, 0)));
            assert!(ctas.try_end(slot, &Warps::new(), Cycle(6)));
        }
        // The one that ended last is used next.
        assert_eq!(ctas.free.last(), Some(&1));
        ctas.prepare(residency);
        assert_eq!(ctas.ended(), [Cycle(0)]);
        for slot in 0..8 {
            assert_eq!(ctas.start(), (0b1111 << (4 * slot), Cycle(0)));
        }
        assert!(!ctas.has_room());
    }

    #[test]
    fn who_waits_at_an_mbarrier_goes_on_with_the_arrival_that_it_waits_for() {
        let mut ctas = ctas();
        let at = |id, arrivals| MbarrierUse { id, arrivals };
        assert_eq!(ctas.arrive_at_mbarrier(0, 5), 0);
        assert!(!ctas.wait_at_mbarrier(0, 0, at(5, 1)));
        assert!(!ctas.wait_at_mbarrier(0, 0, at(7, 0)));
        assert!(ctas.wait_at_mbarrier(0, 1, at(5, 2)));
        assert!(ctas.wait_at_mbarrier(0, 2, at(5, 3)));
        assert!(ctas.wait_at_mbarrier(0, 3, at(0, 1)));
        assert_eq!(ctas.arrive_at_mbarrier(0, 5), 0b0010);
        assert_eq!(ctas.arrive_at_mbarrier(0, 5), 0b0100);
        assert_eq!(ctas.arrive_at_mbarrier(0, 0), 0b1000);
        assert_eq!(ctas.arrive_at_mbarrier(0, 0), 0);
    }

    #[test]
    fn barriers_with_a_number_and_a_count_are_apart() {
        let mut ctas = ctas();
        assert_eq!(ctas.arrive(0, 0, at(1, 2, BarrierKind::Wait)), None);
        assert_eq!(ctas.arrive(0, 2, at(2, 2, BarrierKind::Wait)), None);
        assert_eq!(ctas.arrive(0, 1, at(1, 2, BarrierKind::Arrive)), Some(0b0001));
        assert_eq!(ctas.arrive(0, 3, at(2, 2, BarrierKind::Wait)), Some(0b1100));
        // Those that ended do not count at a barrier with a count.
        assert_eq!(ctas.arrive(0, 0, at(1, 2, BarrierKind::Wait)), None);
        assert_eq!(ctas.end_warp(Cycle(5), 0), (0, 0));
    }
}
