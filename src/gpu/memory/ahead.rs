//! How far a DRAM channel is ahead of its slices.
//!
//! A request that a slice pushes enters the channel's queue after a while, so that all commands that go until then are known
//! before. They are sent at once, and what the slices hear of them comes in its time: data of reads, and places of the queue.

use super::channel::News;
use super::partition::Partition;
use crate::units::Cycle;

/// The parts of a clock in which rates are kept are one by two to this power.
pub const RATE_BITS: u32 = 16;

impl Partition {
    /// The DRAM may be ahead of the slices.
    pub(super) fn let_ahead(&mut self) {
        let long = 1 << RATE_BITS;
        let replies = self.most_ticks * self.sub_partitions.len() as u64;
        // Rounded down, both the clocks of a long time and those of a reply.
        self.clocks_per_reply = self.clocks.dram.ticks_before(Cycle(long)).0 / replies;
        // All that are owed leave in as many L2 cycles as there are for one slice, from the core cycle of the next event on. That
        // cycle is passed as a whole, the last of the others is not, and a clock may fall on a border: two cycles and a clock,
        // and one of each for what was rounded.
        self.slack = 3 * self.clocks.dram.most_ticks() + 2;
        self.most_ahead = self.channels[0].controller().latency_in();
    }

    /// The channels before core cycle `end`, as far as no slice does anything: in a core cycle their clocks come first. They go
    /// on as far as no slice matters to them.
    #[inline(never)]
    pub(super) fn advance_dram(&mut self, end: Cycle) {
        let ahead = self.ahead();
        loop {
            let to = Cycle(self.dram_to(end).0.saturating_add(ahead));
            let (number, tick) = self.next_channel();
            if tick >= to {
                break;
            }
            // What data of one channel make a slice do concerns the other one too.
            let alone = self.channels.len() == 1;
            self.run_dram(number, tick, if alone { to } else { tick + 1 }, ahead);
            if alone {
                break;
            }
        }
        self.find_dram_due();
    }

    /// How far the DRAM may be ahead of the next L2 cycle in which a slice does anything, and of what is known [clocks]. What
    /// slices push then enters its queue no sooner. And it must not be ahead of the end of the kernel, at which its clocks are
    /// counted: not before all replies have left that are owed, of which no slice sends two in an L2 cycle.
    #[inline]
    fn ahead(&self) -> u64 {
        let owing = (self.unanswered as u64 * self.clocks_per_reply) >> RATE_BITS;
        owing.saturating_sub(self.slack).min(self.most_ahead)
    }

    /// The first command clock that is not before core cycle `end`, or comes after a slice does something.
    #[inline]
    fn dram_to(&self, end: Cycle) -> Cycle {
        self.clocks.dram.ticks_before(if self.l2_core < end { self.l2_core + 1 } else { end })
    }

    /// Command clock `tick` of a channel, and those after it before `to` until it would be more than `ahead` clocks ahead of a
    /// slice.
    #[inline(always)]
    pub(super) fn run_dram(&mut self, number: usize, tick: Cycle, to: Cycle, ahead: u64) {
        let is_awaited = self.wait_for_dram & self.slices_of(number) != 0;
        let (clocks, sub_partitions) = (&self.clocks, &mut *self.sub_partitions);
        let looks = &mut *self.looks;
        let (due, core) = (self.l2_due, self.l2_core);
        let mut news = News { clocks, sub_partitions, looks, due, core, is_awaited, to, ahead };
        self.channels[number].run(tick, &mut news);
        (self.l2_due, self.l2_core) = (news.due, news.core);
    }
}
