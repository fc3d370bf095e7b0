//! Statistics: plain counters, declared once, and the ledgers.

mod counters;
mod ledger;
mod quantile;
mod reasons;

pub use counters::Stats;
pub use ledger::{Ledger, Reason};
pub use quantile::quantile;
pub use reasons::{DramReason, IssueReason, LatencyStage, LsuReason, WaitReason};

/// Per scheduler and cycle: issued, or the one reason that it was not.
pub type IssueLedger = Ledger<IssueReason, { IssueReason::COUNT }>;
/// Per SM and cycle: what the load/store unit did.
pub type LsuLedger = Ledger<LsuReason, { LsuReason::COUNT }>;
/// Per warp and cycle: what it stood at its next instruction for.
pub type WaitLedger = Ledger<WaitReason, { WaitReason::COUNT }>;
/// Per load access: where its latency went.
pub type LatencyLedger = Ledger<LatencyStage, { LatencyStage::COUNT }>;
/// Per DRAM channel and clock: what the data bus did.
pub type DramLedger = Ledger<DramReason, { DramReason::COUNT }>;

/// `part` of `whole`; zero when there is no whole.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
