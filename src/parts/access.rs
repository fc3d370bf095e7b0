//! What a load/store unit asks of a data cache, and what it hears back.

use super::packet::{Reply, Stamp, Stamps};
use crate::units::{Cycle, LineAddr};

/// Who waits for an access: handed back when its data is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiter {
    /// The owner's name for the warp instruction.
    pub tracker: u32,
    /// When the warp instruction was issued.
    pub issued: Stamp,
    /// When the access was accepted; set by the L1.
    pub accepted: Stamp,
}

/// What an access wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessKind {
    /// A line, looked up here.
    #[default]
    Load,
    /// The same, of a line that is to be evicted first.
    LoadFirst,
    /// The same, of a line that is to be evicted last.
    LoadLast,
    /// The same, of a line that is not to be kept where it is not here.
    LoadOnce,
    /// Bytes from the L2, past the tags.
    BypassLoad,
    /// Bytes written through to the L2.
    Store,
    /// The same, to local memory.
    LocalStore,
    /// A read-modify-write at the L2.
    Atomic,
    /// The same, without an answer but that it is done.
    Reduction,
    /// Bytes of a bulk copy from the L2, which does not concern what is here.
    BulkLoad,
    /// Bytes of a bulk copy to the L2, likewise.
    BulkStore,
    /// The same, with which those at the L2 are combined.
    BulkReduction,
}

impl AccessKind {
    /// True for loads that take an MSHR entry when they find no line.
    #[inline]
    pub fn takes_entry(self) -> bool {
        self as u8 <= AccessKind::LoadLast as u8
    }

    /// True for loads that are looked up here.
    #[inline]
    pub fn looks_up(self) -> bool {
        self as u8 <= AccessKind::LoadOnce as u8
    }

    /// True for what is answered without data.
    #[inline]
    pub fn is_posted(self) -> bool {
        matches!(
            self,
            AccessKind::Store
                | AccessKind::LocalStore
                | AccessKind::Reduction
                | AccessKind::BulkStore
                | AccessKind::BulkReduction
        )
    }
}

/// One access of the load/store unit: some bytes of one line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Access {
    /// The line.
    pub line: LineAddr,
    /// Bytes of the line that are wanted or written.
    pub bytes: u128,
    /// What is wanted.
    pub kind: AccessKind,
    /// How long an atomic keeps the slice's data port [quarters of an L2 cycle].
    pub atomic_work: u8,
    /// Whom to tell.
    pub waiter: Waiter,
}

/// How an accepted access is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The line is present; data follows after the hit latency.
    Hit,
    /// The line is outstanding; the access waits for the same fill.
    Merged,
    /// The access reserved a line and queued a fetch.
    Miss,
    /// The access went on to the L2.
    Sent,
}

/// Why an access was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The line is outstanding and its MSHR entry has no free merger field.
    NoMerger,
    /// Every way of the set is reserved.
    NoCacheLine,
    /// Every MSHR entry serves another line.
    NoMshrLine,
    /// The queue to the interconnect is full.
    MissQueue,
}

impl Refusal {
    /// How many there are.
    pub const COUNT: usize = Refusal::MissQueue as usize + 1;
}

/// An access whose line arrived and whose data now goes to the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released<'a> {
    /// Whom to tell.
    pub waiter: &'a Waiter,
    /// True when it waited for another access's fetch.
    pub merged: bool,
    /// When the line arrived.
    pub arrived: Cycle,
    /// The way of the fetch that brought the line.
    pub stamps: &'a Stamps,
}

/// A data cache as the load/store unit sees it.
///
/// The SM is generic over it, so that neither knows the other and a test can put a mock in its place.
pub trait DataCache {
    /// Takes `access`, or refuses it and changes nothing but the count of refusals.
    fn access(&mut self, now: Cycle, access: Access) -> Result<Outcome, Refusal>;

    /// A line is looked for soon. Changes nothing but how long that takes.
    fn prefetch(&self, _line: LineAddr) {}

    /// Accesses that surely find a place in the queue to the interconnect.
    fn room(&self) -> usize;

    /// True when every MSHR entry is taken.
    fn is_full(&self) -> bool;

    /// Why a load would be refused now that finds its line neither here nor outstanding, when every MSHR entry is taken.
    fn refusal(&mut self, line: LineAddr, bytes: u128) -> Option<Refusal>;

    /// Counts `cycles` in which an access stood refused for the same reason.
    fn count_refusals(&mut self, refusal: Refusal, cycles: u64);

    /// While this number stays the same, an access that was refused for this reason would be again.
    fn changes(&self, refusal: Refusal) -> u64;

    /// The line of a [`ReplyKind::Fill`](super::ReplyKind::Fill) reply has arrived.
    fn fill(&mut self, now: Cycle, reply: &Reply);

    /// The data of a [`ReplyKind::Data`](super::ReplyKind::Data) reply has arrived; says who waited.
    fn bypass_arrived(&mut self, reply: &Reply) -> Waiter;

    /// What is held here is old: others may have written it since.
    fn acquire(&mut self);

    /// The next access whose data goes to the registers; none when no arrived line has any left.
    fn release(&mut self, now: Cycle) -> Option<Released<'_>>;

    /// When the next release can happen.
    fn next_release(&self) -> Cycle;
}
