//! What goes into a controller and what comes out.

use crate::units::Cycle;

use super::timing::Command;

/// One line, or a part of one, to read or write.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Request {
    /// First byte, within the channel's own address space; a multiple of the burst.
    pub address: u64,
    /// Column accesses, to consecutive bursts of one row [bursts, at least 1].
    pub bursts: u16,
    /// True to write, false to read.
    pub write: bool,
    /// The caller's mark, given back with the completion.
    pub tag: u32,
}

/// A read whose last command has gone: its way from there has no surprises. Writes complete silently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's mark.
    pub tag: u32,
    /// The clock in which its last data reaches the owner.
    pub comes: Cycle,
    /// The clock of the first command that went for this request: the end of its queueing and
    /// the beginning of its service.
    pub first_command: Cycle,
}

/// Who hears of what a controller does. A closure hears of reads that are done.
pub trait Listener {
    /// The clock before which a controller may go on. What the owner hears may make it sooner.
    #[inline]
    fn bound(&self) -> Cycle {
        Cycle::NEVER
    }

    /// A request left the queue in clock `at`, and its place is free.
    #[inline]
    fn left(&mut self, _at: Cycle) {}

    /// The last command of a read went.
    fn done(&mut self, read: Completion);

    /// Something was sent to the chips.
    #[inline]
    fn sent(&mut self, _sent: Sent) {}
}

impl<F: FnMut(Completion)> Listener for F {
    #[inline]
    fn done(&mut self, read: Completion) {
        self(read);
    }
}

/// A listener of a controller that goes on before clock `to` until a request has left.
pub(super) struct UntilOneLeaves<'a, O> {
    pub owner: &'a mut O,
    pub to: Cycle,
}

impl<O: Listener> Listener for UntilOneLeaves<'_, O> {
    #[inline]
    fn bound(&self) -> Cycle {
        self.to
    }

    #[inline]
    fn left(&mut self, at: Cycle) {
        self.to = Cycle(0);
        self.owner.left(at);
    }

    #[inline]
    fn done(&mut self, read: Completion) {
        self.owner.done(read);
    }

    #[inline]
    fn sent(&mut self, sent: Sent) {
        self.owner.sent(sent);
    }
}

/// What a controller sent to the chips in one clock, for traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// A command to one bank.
    Command {
        /// What.
        command: Command,
        /// Where.
        bank: u32,
        /// The row that the request wants: for a precharge it is not the row that closes.
        row: u64,
        /// Mark of the request that it went for; none when a row closed because nobody wanted it.
        tag: Option<u32>,
    },
    /// All open banks close, for a refresh.
    PrechargeAll {
        /// When.
        at: Cycle,
    },
    /// All banks are refreshed.
    Refresh {
        /// When.
        at: Cycle,
    },
    /// One bank was due for a refresh by now; it is closed if it was open.
    RefreshOne {
        /// Which.
        bank: u32,
        /// When its refresh starts; tRP before that it is closed.
        start: Cycle,
    },
}
