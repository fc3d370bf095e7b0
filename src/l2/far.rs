//! Two partitions: a line's home slice, and the slice of the other partition that keeps copies.
//!
//! The copy slice serves reads as any slice does, but asks the home slice where another asks the DRAM. Stores and atomics
//! go on to the home slice, which answers the SM itself. A store or an atomic of the home's own partition makes the copy
//! go, so that no copy is ever older than its line.

use super::slice::{Refusal, Slice};
use crate::config::machine::{L2Config, L2Partitions};
use crate::parts::{FROM_SLICE, Lookup, Request, RequestKind, sectors_of};
use crate::ring::Ring;
use crate::units::{Cycle, LineAddr};

/// What a slice is to the lines that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// There is one partition.
    Only,
    /// Their home.
    Home,
    /// A keeper of copies.
    Copies,
}

impl Role {
    /// Of slice `number`: homes take turns, channel by channel.
    pub fn of(config: &L2Config, number: usize) -> Self {
        match config.partitions {
            L2Partitions::One => Role::Only,
            L2Partitions::Two { .. } if number % 2 == number / 2 % 2 => Role::Home,
            L2Partitions::Two { .. } => Role::Copies,
        }
    }
}

/// A slice's dealings with the other partition's slice of its channel.
#[derive(Clone, Debug)]
pub struct Far {
    role: Role,
    latency: u64,
    /// At home: what the other slice asks and passes on.
    asked: Ring<Request>,
    /// The head of `asked` was refused and nothing has happened since that could change that.
    pub is_stalled: bool,
    /// Of copies: stores and atomics to be passed on.
    passed_on: Ring<Request>,
    /// At home: a line that has just changed without the other slice's knowledge.
    changed: Option<LineAddr>,
}

impl Far {
    /// Nothing is on its way.
    pub fn new(config: &L2Config, number: usize) -> Self {
        let (latency, room) = match &config.partitions {
            L2Partitions::One => (0, 1),
            L2Partitions::Two { latency, queue } => (latency.cycles(), queue.size()),
        };
        Far {
            role: Role::of(config, number),
            latency,
            asked: Ring::new(room),
            is_stalled: false,
            passed_on: Ring::new(room),
            changed: None,
        }
    }

    /// When the next request of the other slice can be looked up.
    #[inline]
    pub fn next_lookup(&self) -> Cycle {
        if self.is_stalled { Cycle::NEVER } else { self.asked.next_visible() }
    }

    /// True when nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.asked.is_empty() && self.passed_on.is_empty()
    }
}

impl Slice {
    /// What the slice is to its lines.
    #[inline]
    pub fn role(&self) -> Role {
        self.far.role
    }

    /// Looks up the oldest request of the other slice.
    pub(super) fn tick_far(&mut self, now: Cycle, core: Cycle) {
        if self.far.is_stalled {
            return;
        }
        let Some(&request) = self.far.asked.front(now) else { return };
        match self.look_up_far(now, core, request) {
            Ok(()) => {
                self.far.asked.pop(now);
            }
            Err(_) => self.far.is_stalled = true,
        }
    }

    fn look_up_far(
        &mut self,
        now: Cycle,
        core: Cycle,
        mut request: Request,
    ) -> Result<(), Refusal> {
        let (stamps, core) = (&mut request.stamps, core.into());
        (stamps.looked_up, stamps.dram_started, stamps.filled) = (core, core, core);
        if request.kind == RequestKind::Store {
            let line = self.map.within_slice(request.line);
            self.write(now, line, request)?;
            self.stats.far_write_sectors += u64::from(sectors_of(request.bytes));
            return Ok(());
        }
        let is_own = request.sm == FROM_SLICE;
        let line = if is_own { request.line } else { self.map.within_slice(request.line) };
        self.read(now, line, request)
    }

    /// A store or an atomic goes on to the line's home.
    pub(super) fn pass_on(
        &mut self,
        now: Cycle,
        line: LineAddr,
        request: Request,
    ) -> Result<(), Refusal> {
        if self.far.passed_on.is_full() {
            return Err(Refusal::DramQueue);
        }
        self.far.passed_on.push(now, request);
        if request.kind == RequestKind::Atomic {
            self.forget(line);
        }
        Ok(())
    }

    /// A line that the home slice has changed is no longer a copy.
    pub fn forget(&mut self, line: LineAddr) {
        if let Lookup::Present(way) = self.tags.lookup(line) {
            self.tags.invalidate(way);
        }
    }

    /// At home, a line of the own partition's SMs has changed.
    pub(super) fn note_change(&mut self, line: LineAddr) {
        if self.far.role == Role::Home {
            self.far.changed = Some(line);
        }
    }

    /// The line that has changed in this cycle's tick without the other slice's knowledge.
    #[inline]
    pub fn take_change(&mut self) -> Option<LineAddr> {
        self.far.changed.take()
    }

    /// True when the other slice can ask for more.
    #[inline]
    pub fn can_be_asked(&self) -> bool {
        !self.far.asked.is_full()
    }

    /// Requests of the other slice that are not looked up.
    #[inline]
    pub fn asked(&self) -> usize {
        self.far.asked.len()
    }

    /// Takes a request of the other slice; gives the cycle in which it is looked up.
    pub fn ask(&mut self, now: Cycle, request: Request) -> Cycle {
        let at = now + self.far.latency;
        self.far.asked.push(at, request);
        at
    }

    /// Of copies: the oldest request that goes to the home slice, as long as [`Slice::next_for_home`] is true.
    pub fn take_for_home(&mut self, now: Cycle) -> Option<Request> {
        if let Some(request) = self.far.passed_on.pop(now) {
            self.catch_up(now + 1);
            self.go_on();
            return Some(request);
        }
        let request = self.take_dram_request(now)?;
        debug_assert!(!request.write, "copies are never dirty");
        // What it lacks, and not the whole burst that the DRAM would send.
        let mask = u128::MAX >> (128 - self.fetch_bytes);
        Some(Request {
            line: LineAddr(request.address >> self.line_bits),
            bytes: mask << (u32::from(request.piece) * self.fetch_bytes),
            kind: RequestKind::Fetch,
            sm: FROM_SLICE,
            slot: request.slot,
            ..Request::default()
        })
    }

    /// Of copies: true when something is to go to the home slice.
    #[inline]
    pub fn next_for_home(&self) -> bool {
        !self.far.passed_on.is_empty() || self.next_dram_request().is_some()
    }

    /// True when the oldest reply, ready or not, is for the other slice.
    #[inline]
    pub fn is_reply_for_slice(&self) -> bool {
        self.replies.front(Cycle::NEVER).is_some_and(|reply| reply.sm == FROM_SLICE)
    }

    /// The place in its line, in fetches, of what a reply for the other slice brings.
    pub fn piece(&self, bytes: u128) -> u8 {
        (bytes.trailing_zeros() / self.fetch_bytes) as u8
    }

    /// From one partition's slice to the other's, each way [L2 cycles].
    pub fn far_latency(&self) -> u64 {
        self.far.latency
    }
}
