//! Where one access spent its time: the latency ledger's entry, and the issue ledger's explanation.

use crate::parts::{Released, Stamps, Waiter};
use crate::stats::{IssueReason, LatencyLedger, LatencyStage};
use crate::units::Cycle;

/// The most stages an access passes.
const STAGES: usize = 10;

/// An access from the issue of its instruction to its data, stage by stage without a gap.
#[derive(Clone, Copy, Debug)]
pub struct Journey {
    start: Cycle,
    /// Each stage with its end, which is the next one's start.
    stages: [(Stage, Cycle); STAGES],
    len: usize,
}

/// A stage of the latency ledger, or shared memory, which that ledger does not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Memory(LatencyStage),
    Shared,
}

impl Stage {
    /// What a scheduler waits for while the access is in this stage.
    fn reason(self) -> IssueReason {
        let Stage::Memory(stage) = self else { return IssueReason::MemoryShared };
        match stage {
            LatencyStage::Lsu => IssueReason::MemoryLsu,
            LatencyStage::L1 => IssueReason::MemoryL1,
            LatencyStage::L1Merged => IssueReason::MemoryMerged,
            LatencyStage::RequestNetwork | LatencyStage::ReplyNetwork => IssueReason::MemoryNoc,
            LatencyStage::L2Queue | LatencyStage::L2 | LatencyStage::L2Merged => {
                IssueReason::MemoryL2
            }
            LatencyStage::DramQueue | LatencyStage::DramService => IssueReason::MemoryDram,
        }
    }
}

impl Journey {
    fn new(waiter: &Waiter) -> Self {
        let mut journey =
            Journey { start: waiter.issued, stages: [(Stage::Shared, Cycle(0)); STAGES], len: 0 };
        journey.until(LatencyStage::Lsu, waiter.accepted);
        journey
    }

    fn until(&mut self, stage: LatencyStage, end: Cycle) {
        self.stages[self.len] = (Stage::Memory(stage), end);
        self.len += 1;
    }

    fn through_l2(&mut self, stamps: &Stamps, arrived: Cycle) {
        self.until(LatencyStage::L1, stamps.injected);
        self.until(LatencyStage::RequestNetwork, stamps.at_slice);
        self.until(LatencyStage::L2Queue, stamps.looked_up);
        if stamps.merged_at_l2 {
            self.until(LatencyStage::L2Merged, stamps.filled);
        } else {
            self.until(LatencyStage::DramQueue, stamps.dram_started);
            self.until(LatencyStage::DramService, stamps.filled);
        }
        self.until(LatencyStage::L2, stamps.replied);
        self.until(LatencyStage::ReplyNetwork, arrived);
    }

    /// Of a load that hit the L1.
    pub fn hit(waiter: &Waiter, done: Cycle) -> Self {
        let mut journey = Journey::new(waiter);
        journey.until(LatencyStage::L1, done);
        journey
    }

    /// Of a load whose line was fetched, by itself or by another access.
    pub fn filled(released: &Released, done: Cycle) -> Self {
        let mut journey = Journey::new(&released.waiter);
        if released.merged {
            journey.until(LatencyStage::L1Merged, released.arrived);
        } else {
            journey.through_l2(&released.stamps, released.arrived);
        }
        journey.until(LatencyStage::L1, done);
        journey
    }

    /// Of a load or an atomic that went past the L1.
    pub fn bypassed(waiter: &Waiter, stamps: &Stamps, done: Cycle) -> Self {
        let mut journey = Journey::new(waiter);
        journey.through_l2(stamps, done);
        journey
    }

    /// Of a shared-memory access.
    pub fn shared(waiter: &Waiter, done: Cycle) -> Self {
        let mut journey = Journey::new(waiter);
        journey.stages[journey.len] = (Stage::Shared, done);
        journey.len += 1;
        journey
    }

    /// Each stage with its start and end.
    fn spans(&self) -> impl Iterator<Item = (Stage, Cycle, Cycle)> {
        let starts = std::iter::once(self.start).chain(self.stages.iter().map(|&(_, end)| end));
        self.stages[..self.len].iter().zip(starts).map(|(&(stage, end), start)| (stage, start, end))
    }

    /// Enters the access into the latency ledger: end to end as the total, each stage as a part.
    pub fn charge_latency(&self, ledger: &mut LatencyLedger, done: Cycle) {
        ledger.add_total(done - self.start);
        for (stage, start, end) in self.spans() {
            if let Stage::Memory(stage) = stage {
                ledger.charge(stage, end.since(start));
            }
        }
    }

    /// Splits the cycles `from..to`, in which a scheduler waited for this access, by where it was.
    pub fn explain(&self, from: Cycle, to: Cycle, mut charge: impl FnMut(IssueReason, u64)) {
        for (stage, start, end) in self.spans() {
            let cycles = end.min(to).since(start.max(from));
            if cycles > 0 {
                charge(stage.reason(), cycles);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::IssueLedger;

    fn released(merged: bool) -> Released {
        Released {
            waiter: Waiter { tracker: 0, issued: Cycle(10), accepted: Cycle(12) },
            merged,
            arrived: Cycle(100),
            stamps: Stamps {
                accepted: Cycle(12),
                injected: Cycle(15),
                at_slice: Cycle(25),
                looked_up: Cycle(30),
                dram_started: Cycle(50),
                filled: Cycle(80),
                replied: Cycle(90),
                merged_at_l2: false,
            },
        }
    }

    #[test]
    fn the_stages_of_a_miss_sum_to_its_latency() {
        let mut ledger = LatencyLedger::default();
        Journey::filled(&released(false), Cycle(101)).charge_latency(&mut ledger, Cycle(101));
        assert_eq!(ledger.check(), Ok(()));
        assert_eq!(ledger.total(), 91);
        assert_eq!(ledger.part(LatencyStage::L1), 3 + 1);
        assert_eq!(ledger.part(LatencyStage::DramService), 30);
    }

    #[test]
    fn a_merged_access_waits_for_the_line_and_not_for_the_dram() {
        let mut ledger = LatencyLedger::default();
        Journey::filled(&released(true), Cycle(103)).charge_latency(&mut ledger, Cycle(103));
        assert_eq!(ledger.check(), Ok(()));
        assert_eq!(ledger.part(LatencyStage::L1Merged), 88);
        assert_eq!(ledger.part(LatencyStage::L1), 3);
    }

    #[test]
    fn a_wait_is_split_by_where_the_access_was() {
        let mut issue = IssueLedger::default();
        let journey = Journey::filled(&released(false), Cycle(101));
        journey.explain(Cycle(11), Cycle(60), |reason, cycles| issue.charge(reason, cycles));
        issue.add_total(49);
        assert_eq!(issue.check(), Ok(()));
        assert_eq!(issue.part(IssueReason::MemoryLsu), 1);
        assert_eq!(issue.part(IssueReason::MemoryNoc), 10);
        assert_eq!(issue.part(IssueReason::MemoryDram), 30);
    }
}
