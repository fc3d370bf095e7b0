//! Where one access spent its time: the latency ledger's entry, and the issue ledger's explanation.

use crate::parts::{Released, RequestStamps, Stamp, Stamps, Waiter};
use crate::stats::{IssueLedger, IssueReason, LatencyLedger, LatencyStage};
use crate::units::Cycle;

/// An access from the issue of its instruction to its data.
#[derive(Clone, Copy, Debug)]
pub struct Journey<'a> {
    waiter: &'a Waiter,
    way: Way<'a>,
    done: Cycle,
}

/// What it went through after the load/store unit.
#[derive(Clone, Copy, Debug)]
enum Way<'a> {
    /// The L1 alone.
    Hit,
    /// Another access's miss, whose line arrived then.
    Merged(Cycle),
    /// The L2, and the L1 from then on; or straight to the registers.
    L2(&'a Stamps, Cycle),
    /// The banks of shared memory.
    Shared,
}

/// Where a load found its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the L1, or in shared memory.
    InL1,
    /// On its way to the L1 for another access.
    OnItsWayToL1,
    /// In the L2.
    InL2,
    /// On its way to the L2 for another request.
    OnItsWayToL2,
    /// In the DRAM.
    InDram,
}

/// A stage of the latency ledger, or shared memory, which that ledger does not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Memory(LatencyStage),
    Shared,
}

impl Stage {
    /// What a scheduler waits for while the access is in this stage.
    #[inline(always)]
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

impl<'a> Journey<'a> {
    /// Of a load that hit the L1.
    #[inline]
    pub fn hit(waiter: &'a Waiter, done: Cycle) -> Self {
        Journey { waiter, way: Way::Hit, done }
    }

    /// Of a load whose line was fetched, by itself or by another access.
    #[inline]
    pub fn filled(released: &'a Released<'a>, done: Cycle) -> Self {
        let Released { waiter, merged, arrived, stamps } = released;
        let way = if *merged { Way::Merged(*arrived) } else { Way::L2(stamps, *arrived) };
        Journey { waiter, way, done }
    }

    /// Of a load or an atomic that went past the L1.
    #[inline]
    pub fn bypassed(waiter: &'a Waiter, stamps: &'a Stamps, done: Cycle) -> Self {
        Journey { waiter, way: Way::L2(stamps, done), done }
    }

    /// Of a shared-memory access.
    #[inline]
    pub fn shared(waiter: &'a Waiter, done: Cycle) -> Self {
        Journey { waiter, way: Way::Shared, done }
    }

    /// Where the access found its line.
    pub fn found(&self) -> Found {
        match self.way {
            Way::Hit | Way::Shared => Found::InL1,
            Way::Merged(_) => Found::OnItsWayToL1,
            Way::L2(stamps, _) if stamps.merged_at_l2 => Found::OnItsWayToL2,
            // What was there took none of the DRAM's time.
            Way::L2(stamps, _) if stamps.dram_started == stamps.filled => Found::InL2,
            Way::L2(..) => Found::InDram,
        }
    }

    /// Cycles from a border of this access to its end.
    #[inline(always)]
    fn age(&self, border: Stamp) -> u32 {
        Stamp::from(self.done).since(border) as u32
    }

    /// Tells `see` of each stage and of the age of its end, in order and without a gap: a stage begins where the one before
    /// it ends, and the first one with the issue.
    #[inline(always)]
    fn each(&self, mut see: impl FnMut(Stage, u32)) {
        use LatencyStage::*;
        let mut until = |stage, end| see(Stage::Memory(stage), self.age(end));
        until(Lsu, self.waiter.accepted);
        match self.way {
            Way::Hit => {}
            Way::Shared => return see(Stage::Shared, 0),
            Way::Merged(arrived) => until(L1Merged, arrived.into()),
            Way::L2(stamps, arrived) => {
                until(L1, stamps.request.injected);
                until(RequestNetwork, stamps.request.at_slice);
                let RequestStamps { looked_up, queued, .. } = stamps.request;
                see(Stage::Memory(L2), self.age(looked_up) + queued);
                let mut until = |stage, end| see(Stage::Memory(stage), self.age(end));
                until(L2Queue, looked_up);
                if stamps.merged_at_l2 {
                    until(L2Merged, stamps.filled);
                } else {
                    until(DramQueue, stamps.dram_started);
                    until(DramService, stamps.filled);
                }
                until(L2, stamps.replied);
                until(ReplyNetwork, arrived.into());
            }
        }
        see(Stage::Memory(L1), 0);
    }

    /// Enters the access into the latency ledger: end to end as the total, each stage as a part.
    #[inline]
    pub fn charge_latency(&self, ledger: &mut LatencyLedger) {
        let mut start = self.age(self.waiter.issued);
        ledger.add_total(start.into());
        self.each(|stage, end| {
            if let Stage::Memory(stage) = stage {
                ledger.charge(stage, (start - end).into());
            }
            start = end;
        });
    }

    /// Splits the cycles of several such spans.
    #[inline(never)]
    pub fn explain_all(&self, spans: &[(Cycle, Cycle)], ledger: &mut IssueLedger) {
        for &(from, to) in spans {
            self.explain(from, to, ledger);
        }
    }

    /// Splits the cycles `from..to`, in which a scheduler waited for this access, by where it was.
    #[inline]
    pub fn explain(&self, from: Cycle, to: Cycle, ledger: &mut IssueLedger) {
        // Each border is moved into the span: what is left of a stage is what lies in it.
        let (oldest, youngest) = (self.age(from.into()), self.age(to.into()));
        let inside = |age: u32| age.min(oldest).max(youngest);
        let mut start = inside(self.age(self.waiter.issued));
        if oldest >= self.age(self.waiter.accepted) && youngest == 0 {
            // All that came after the load/store unit lies in the span.
            return self.each(|stage, end| {
                ledger.charge(stage.reason(), (start - end).into());
                start = end;
            });
        }
        self.each(|stage, end| {
            let end = inside(end);
            ledger.charge(stage.reason(), (start - end).into());
            start = end;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::IssueLedger;

    fn stamps() -> Stamps {
        Stamps {
            request: RequestStamps {
                injected: Cycle(15).into(),
                at_slice: Cycle(25).into(),
                looked_up: Cycle(30).into(),
                queued: 2,
            },
            dram_started: Cycle(50).into(),
            filled: Cycle(80).into(),
            replied: Cycle(90).into(),
            merged_at_l2: false,
        }
    }

    fn waiter() -> Waiter {
        Waiter { tracker: 0, issued: Cycle(10).into(), accepted: Cycle(12).into() }
    }

    fn released<'a>(merged: bool, waiter: &'a Waiter, stamps: &'a Stamps) -> Released<'a> {
        Released { waiter, merged, arrived: Cycle(100), stamps }
    }

    #[test]
    fn the_stages_of_a_miss_sum_to_its_latency() {
        let mut ledger = LatencyLedger::default();
        Journey::filled(&released(false, &waiter(), &stamps()), Cycle(101))
            .charge_latency(&mut ledger);
        assert_eq!(ledger.check(), Ok(()));
        assert_eq!(ledger.total(), 91);
        assert_eq!(ledger.part(LatencyStage::L1), 3 + 1);
        assert_eq!(ledger.part(LatencyStage::L2Queue), 2);
        assert_eq!(ledger.part(LatencyStage::L2), 3 + 10);
        assert_eq!(ledger.part(LatencyStage::DramService), 30);
    }

    #[test]
    fn a_merged_access_waits_for_the_line_and_not_for_the_dram() {
        let mut ledger = LatencyLedger::default();
        Journey::filled(&released(true, &waiter(), &stamps()), Cycle(103))
            .charge_latency(&mut ledger);
        assert_eq!(ledger.check(), Ok(()));
        assert_eq!(ledger.part(LatencyStage::L1Merged), 88);
        assert_eq!(ledger.part(LatencyStage::L1), 3);
    }

    #[test]
    fn a_load_finds_its_line_where_that_was() {
        let (waiter, stamps) = (waiter(), stamps());
        let found = |merged, stamps: &Stamps| {
            Journey::filled(&released(merged, &waiter, stamps), Cycle(103)).found()
        };
        assert_eq!(found(false, &stamps), Found::InDram);
        assert_eq!(found(true, &stamps), Found::OnItsWayToL1);
        assert_eq!(found(false, &Stamps { merged_at_l2: true, ..stamps }), Found::OnItsWayToL2);
        assert_eq!(found(false, &Stamps { dram_started: stamps.filled, ..stamps }), Found::InL2);
        assert_eq!(Journey::hit(&waiter, Cycle(20)).found(), Found::InL1);
    }

    #[test]
    fn a_wait_is_split_by_where_the_access_was() {
        let mut issue = IssueLedger::default();
        let (waiter, stamps) = (waiter(), stamps());
        let released = released(false, &waiter, &stamps);
        let journey = Journey::filled(&released, Cycle(101));
        journey.explain(Cycle(11), Cycle(60), &mut issue);
        issue.add_total(49);
        assert_eq!(issue.check(), Ok(()));
        assert_eq!(issue.part(IssueReason::MemoryLsu), 1);
        assert_eq!(issue.part(IssueReason::MemoryNoc), 10);
        assert_eq!(issue.part(IssueReason::MemoryDram), 30);
    }
}
