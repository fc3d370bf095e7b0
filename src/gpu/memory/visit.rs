//! What a slice of a partition does in a cycle of its own.

use super::partition::Partition;
use super::sub_partition::Look;
use crate::units::Cycle;

impl Partition {
    /// Gives all slices what has come from the DRAM by L2 cycle `tick`, before any of them deals with another.
    pub(super) fn bring_data(&mut self, tick: Cycle) {
        for sub_partition in &mut self.sub_partitions {
            sub_partition.bring(tick);
        }
    }

    /// One L2 cycle of a slice and of what it hands on; finds the next in which it does anything.
    pub(super) fn tick_slice(&mut self, part: usize, now: Cycle, core: Cycle) {
        let is_paired = self.is_paired;
        let sub_partition = &mut self.sub_partitions[part];
        sub_partition.bring(now);
        if is_paired {
            sub_partition.bring_from_home(now, core);
        }
        let asked = sub_partition.slice.asked();
        for _ in 0..sub_partition.slice.tick(now, core) {
            self.left.push((part, core));
        }
        if is_paired {
            self.tick_home(part, now, asked);
        }
        let ready = self.sub_partitions[part].slice.reply_ready();
        let mut due = if ready > now { ready } else { self.send_replies(part, now, core) };
        if is_paired {
            self.ask_home(part, now);
            due = due.min(self.sub_partitions[part].found.next_visible());
        }
        let asks = self.ask_dram(part, now, core);
        let due = due.min(self.sub_partitions[part].next_event(now + 1));
        self.looks[part] = Look::new(due, asks);
    }

    /// The same of one that deals with no other slice, and of whose replies the network is told ahead of their time.
    #[inline(always)]
    pub(super) fn tick_slice_ahead(&mut self, part: usize, now: Cycle, core: Cycle) {
        let sub_partition = &mut self.sub_partitions[part];
        sub_partition.slice.go_on_with_place(now);
        let has_released = sub_partition.bring_and_release(now);
        if sub_partition.slice.tick_plain(now, core, has_released) {
            self.left.push((part, core));
        }
        if sub_partition.slice.reply_ready() != Cycle::NEVER {
            self.unanswered -= sub_partition.tell_replies(&self.clocks.l2);
            self.departed |= 1 << part;
            // As long as all is certain, nothing is in doubt.
            if !sub_partition.slice.exit().is_certain() || self.blocked >> part & 1 == 1 {
                self.note_blocked(part);
            }
        }
        let asks = self.ask_dram(part, now, core);
        self.looks[part] = Look::new(self.sub_partitions[part].next_plain_event(now + 1), asks);
    }

    /// A slice that is not due asks the DRAM, which has room again.
    pub(super) fn ask_again(&mut self, part: usize, now: Cycle, core: Cycle) {
        let may_go_on = self.sub_partitions[part].slice.may_go_on_with_dram();
        let asks = self.push_to_dram(part, now, core);
        let mut due = self.looks[part].due;
        if may_go_on {
            due = due.min(self.sub_partitions[part].next_event(now + 1));
        }
        self.looks[part] = Look::new(due, asks);
    }
}
