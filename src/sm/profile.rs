//! Where warps stand and what loads take, by instruction and by buffer, for those who ask.
//!
//! A warp stands at an instruction from the cycle behind that of the one before it until it has issued it. All of that is known
//! then: what the one before held the warp up for, when the instruction came, when the last of its registers was ready. So a
//! profile is written at issues only, and costs nothing where nobody asked for it.

use serde::{Deserialize, Serialize};

use super::buffers::{Asked, BufferProfile, Buffers};
use super::journey::{Found, Journey};
use super::program::Program;
use super::scheduler::SLOTS;
use crate::isa::{BulkCopy, BulkUse};
use crate::stats::{LatencyLedger, Stats, WaitLedger, WaitReason};
use crate::units::Cycle;

crate::counters! {
    /// What was issued at one place of a program, and what became of it.
    pub struct InstCounters {
        /// Warp instructions issued [instructions].
        issued,
        /// Lanes active over them [thread instructions].
        threads,
        /// Accesses that the coalescer made of them [accesses].
        accesses,
        /// Accesses of loads, and of atomics whose old values come back, that are done [accesses].
        loads,
        /// Of those, accesses that found their line in the L1 [accesses].
        l1_hits,
        /// Passes over the banks of shared memory [passes].
        shared_passes,
    }
}

/// What warps did at one place of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstProfile {
    /// What was issued.
    pub counters: InstCounters,
    /// What warps stood there for, in core cycles of each warp.
    pub waits: WaitLedger,
    /// Where its loads spent their time.
    pub latency: LatencyLedger,
}

/// How a warp has come to its next instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Stand {
    /// The first cycle in which it stands there.
    since: Cycle,
    /// What held it up at first, and until which cycle.
    held_by: Option<WaitReason>,
    held_until: Cycle,
    /// When the instruction came, where it was waited for.
    fetched: Cycle,
}

/// The profile of one SM.
#[derive(Clone, Debug)]
pub struct Profile {
    /// By place in the program.
    insts: Vec<InstProfile>,
    buffers: Buffers,
    /// By warp slot.
    stands: [Stand; SLOTS],
    /// By place of an outstanding load: that of its instruction in the program, and that of its region among the buffers.
    loads: Vec<(u32, u32)>,
}

impl Profile {
    /// Of no program yet.
    pub fn new() -> Self {
        Profile {
            insts: Vec::new(),
            buffers: Buffers::default(),
            stands: [Stand::default(); SLOTS],
            loads: Vec::new(),
        }
    }

    /// Makes room for a program, and for its buffers.
    pub fn expect(&mut self, program: &Program) {
        self.make_room(program.insts.len());
        self.buffers.expect(&program.buffers);
    }

    fn make_room(&mut self, instructions: usize) {
        let instructions = instructions.max(self.insts.len());
        self.insts.resize(instructions, InstProfile::default());
    }

    /// The profile so far, by place in the program and by that of a region among the buffers; it begins anew.
    pub fn take(&mut self) -> (Vec<InstProfile>, Vec<BufferProfile>) {
        (std::mem::take(&mut self.insts), self.buffers.take())
    }

    /// A warp comes at the end of cycle `now`, and can issue from `first` on.
    pub fn start(&mut self, now: Cycle, warp: usize, first: Cycle) {
        self.stands[warp] = Stand { since: now + 1, ..Stand::default() };
        self.hold(warp, WaitReason::Start, first);
    }

    /// What came before keeps a warp from its next instruction until cycle `until`.
    pub fn hold(&mut self, warp: usize, reason: WaitReason, until: Cycle) {
        let stand = &mut self.stands[warp];
        (stand.held_by, stand.held_until) = (Some(reason), until);
    }

    /// The next instruction of a warp, which waits for nothing else, comes at `now`.
    pub fn fetched(&mut self, now: Cycle, warp: usize) {
        self.stands[warp].fetched = now;
    }

    /// A warp issues the instruction at `pc`, of so many lanes, whose last register was ready at `ready` and made by what `maker`
    /// stands for; what it has waited for since then is its `turn`.
    #[inline(never)]
    pub fn issue(
        &mut self,
        now: Cycle,
        (warp, pc): (usize, usize),
        lanes: u64,
        (ready, maker): (Cycle, WaitReason),
        turn: WaitReason,
    ) {
        let InstProfile { counters, waits, .. } = &mut self.insts[pc];
        counters.issued += 1;
        counters.threads += lanes;
        let next = now + 1;
        let Stand { since, held_by, held_until, fetched } =
            std::mem::replace(&mut self.stands[warp], Stand { since: next, ..Stand::default() });
        waits.add_total(next.since(since));
        // The second of a pair stands nowhere.
        let mut from = since.min(now);
        let mut until = |reason, to: Cycle| {
            let to = to.min(now);
            waits.charge(reason, to.since(from));
            from = from.max(to);
        };
        if let Some(holder) = held_by {
            until(holder, held_until);
        }
        until(WaitReason::Fetch, fetched);
        until(maker, ready);
        until(turn, now);
        waits.charge(WaitReason::Issued, next.since(since.max(now)));
    }

    /// The instruction at `pc` asks for this; where it waits for data, its outstanding load is at `place`.
    #[inline(never)]
    pub fn ask(&mut self, pc: usize, asked: &Asked<'_>, place: Option<u32>) {
        self.insts[pc].counters.accesses += asked.accesses as u64;
        let region = self.buffers.count(asked);
        if let Some(place) = place {
            let place = place as usize;
            self.loads.resize(self.loads.len().max(place + 1), (0, 0));
            self.loads[place] = (pc as u32, region as u32);
        }
    }

    /// The instruction at `pc` makes a bulk copy of so many lines; gives the place of its region.
    pub fn ask_in_bulk(&mut self, pc: usize, kind: BulkCopy, copy: &BulkUse, lines: u64) -> usize {
        self.insts[pc].counters.accesses += lines;
        self.buffers.count_bulk(kind, copy, lines)
    }

    /// The instruction at `pc` takes so many passes over the banks of shared memory.
    pub fn count_passes(&mut self, pc: usize, passes: u32) {
        self.insts[pc].counters.shared_passes += u64::from(passes);
    }

    /// An access of the outstanding load at `place` has its data.
    #[inline(never)]
    pub fn access_done(&mut self, place: u32, journey: &Journey) {
        self.data_came(self.loads[place as usize], journey);
    }

    /// An access has its data, of the instruction at `pc` and of a region.
    pub fn data_came(&mut self, (pc, region): (u32, u32), journey: &Journey) {
        let InstProfile { counters, latency, .. } = &mut self.insts[pc as usize];
        counters.loads += 1;
        counters.l1_hits += u64::from(journey.found() == Found::InL1);
        journey.charge_latency(latency);
        self.buffers.access_done(region as usize, journey);
    }
}

impl InstProfile {
    /// Adds `other`.
    pub fn merge(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
        self.waits.merge(&other.waits);
        self.latency.merge(&other.latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of what warps stood at one place for, and the whole.
    fn parts(profile: &Profile, pc: usize) -> (Vec<(&'static str, u64)>, u64) {
        let waits = &profile.insts[pc].waits;
        assert_eq!(waits.check(), Ok(()));
        let parts = waits.parts().filter(|(.., amount)| *amount > 0);
        (parts.map(|(name, _, amount)| (name, amount)).collect(), waits.total())
    }

    #[test]
    fn what_a_warp_stands_for_comes_in_order_and_sums() {
        let mut profile = Profile::new();
        profile.make_room(3);
        let never = (Cycle(0), WaitReason::Memory);
        profile.start(Cycle(9), 5, Cycle(14));
        profile.issue(Cycle(16), (5, 0), 32, never, WaitReason::Turn);
        assert_eq!(parts(&profile, 0), (vec![("issued", 1), ("turn", 2), ("start", 4)], 7));
        // A branch, an instruction that comes late, and data that comes later.
        profile.hold(5, WaitReason::Control, Cycle(20));
        profile.fetched(Cycle(26), 5);
        profile.issue(Cycle(40), (5, 1), 31, (Cycle(38), WaitReason::Memory), WaitReason::LsuTaken);
        let all =
            vec![("issued", 1), ("lsu_taken", 2), ("memory", 12), ("control", 3), ("fetch", 6)];
        assert_eq!(parts(&profile, 1), (all, 24));
        // The second of a pair, and one that nothing holds up.
        profile.issue(Cycle(40), (5, 2), 1, (Cycle(40), WaitReason::Arithmetic), WaitReason::Turn);
        profile.issue(Cycle(41), (5, 2), 1, (Cycle(30), WaitReason::Arithmetic), WaitReason::Turn);
        assert_eq!(parts(&profile, 2), (vec![("issued", 1)], 1));
        let issued = profile.take().0.iter().map(|inst| inst.counters.issued).collect::<Vec<_>>();
        assert_eq!(issued, [1, 1, 2]);
    }
}
