//! What the tests of this folder share.

use crate::config::machine::{DramConfig, GroupBits, Machine};
use crate::units::Cycle;

use super::{Completion, Controller, Listener, Request, Sent};

/// The channel of the GTX 480 preset with a queue deep enough that the chips decide, not the queue, and
/// with neighbouring banks in different groups.
pub fn gtx480() -> DramConfig {
    let text = include_str!("../../configs/gpus/gtx480.ron");
    let machine: Machine = crate::config::parse::stated(text);
    let mut config = (*machine.dram).clone();
    config.queue = bounded(64);
    config.group_bits = GroupBits::Low;
    config
}

/// The same, with no refresh and no interface latency: clocks are those of the chips alone.
pub fn bare() -> DramConfig {
    let mut config = gtx480();
    config.timing.refi = bounded(0);
    config.interface_latency = bounded(0);
    config
}

/// A number for a config field.
pub fn bounded<const LO: u32, const HI: u32>(value: u32) -> crate::config::Bounded<LO, HI> {
    crate::config::Bounded::new(value).expect("in range")
}

/// A whole 128-byte line.
pub fn line(address: u64, write: bool, tag: u32) -> Request {
    Request { address, bursts: 2, write, tag }
}

/// A controller with its clock, fed from a list in order as fast as it accepts.
pub struct Bench {
    /// Under test.
    pub controller: Controller,
    /// First clock that was not yet passed.
    pub now: Cycle,
    /// Reads that were done.
    pub done: Vec<Completion>,
    /// Commands with the clock at which they went.
    pub sent: Vec<(Cycle, Sent)>,
}

/// Writes down what a controller tells of clock `now`.
struct Notes<'a> {
    now: Cycle,
    done: &'a mut Vec<Completion>,
    sent: &'a mut Vec<(Cycle, Sent)>,
}

impl Listener for Notes<'_> {
    fn done(&mut self, read: Completion) {
        self.done.push(read);
    }

    fn sent(&mut self, sent: Sent) {
        let at = match sent {
            // An idle channel tells of them later.
            Sent::PrechargeAll { at } | Sent::Refresh { at } => at,
            _ => self.now,
        };
        self.sent.push((at, sent));
    }
}

impl Bench {
    /// At clock zero.
    pub fn new(config: &DramConfig) -> Bench {
        let controller = Controller::new(config);
        Bench { controller, now: Cycle(0), done: Vec::new(), sent: Vec::new() }
    }

    /// Ticks one clock.
    pub fn tick(&mut self) {
        let Bench { controller, now, done, sent } = self;
        controller.tick(*now, &mut Notes { now: *now, done, sent });
        self.now += 1;
    }

    /// True when all that was pushed was served, and the last data has come.
    fn is_done(&self) -> bool {
        self.controller.is_idle() && self.done.last().is_none_or(|read| read.comes < self.now)
    }

    /// Ticks until all of `requests` were served; fails when that takes absurdly long.
    pub fn serve(&mut self, requests: impl IntoIterator<Item = Request>) {
        let mut requests = requests.into_iter().peekable();
        let mut served = 0;
        while requests.peek().is_some() || !self.is_done() {
            while let Some(&request) = requests.peek() {
                if self.controller.try_push(self.now, request).is_err() {
                    break;
                }
                requests.next();
                served += 1;
            }
            self.tick();
            assert!(self.now.0 < 100_000 + 1000 * served, "the controller is stuck");
        }
    }

    /// Ticks to clock `end`.
    pub fn run_to(&mut self, end: u64) {
        while self.now < Cycle(end) {
            self.tick();
        }
    }

    /// Pushes `request`, which must be accepted.
    pub fn push(&mut self, request: Request) {
        self.controller.try_push(self.now, request).expect("there is room");
    }
}
