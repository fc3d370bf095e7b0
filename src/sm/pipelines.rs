//! The arithmetic pipelines: of the whole SM, or of each sub-core.

use std::ops::Range;

use super::program::Port;
use crate::config::machine::{Arithmetic, Pipelining};
use crate::units::Cycle;

/// When each pipeline takes its next instruction, those in front of it included.
#[derive(Clone, Debug)]
pub struct Pipelines {
    /// By sub-core, port and number.
    free: Box<[Cycle]>,
    /// Where each port's pipelines begin and end within those of a sub-core.
    bounds: [u8; Port::ARITHMETIC.len() + 1],
    sub_cores: usize,
    /// How far ahead each port's pipelines take instructions that wait in front of them.
    ahead: [u64; Port::ARITHMETIC.len()],
}

impl Pipelines {
    /// Pipelines that are all free.
    pub fn new(config: &Arithmetic, schedulers: usize) -> Self {
        let units = [
            config.sp_units.size(),
            config.int_units.size(),
            config.sfu_units.size(),
            config.dp_units.size(),
        ];
        let mut bounds = [0; Port::ARITHMETIC.len() + 1];
        for (port, units) in units.into_iter().enumerate() {
            bounds[port + 1] = bounds[port] + units as u8;
        }
        let sub_cores = match config.pipelines {
            Pipelining::PerSm => 1,
            Pipelining::PerScheduler => schedulers,
        };
        let all = sub_cores * usize::from(bounds[Port::ARITHMETIC.len()]);
        let mut ahead = [0; Port::ARITHMETIC.len()];
        ahead[Port::Sfu as usize] = u64::from(config.sfu_queue.get() * config.sfu.interval.get());
        Pipelines { free: vec![Cycle(0); all].into(), bounds, sub_cores, ahead }
    }

    /// The pipelines of `port` that `scheduler` issues to.
    #[inline]
    fn of(&self, scheduler: usize, port: Port) -> Range<usize> {
        let size = usize::from(self.bounds[Port::ARITHMETIC.len()]);
        let first = if self.sub_cores == 1 { 0 } else { scheduler * size };
        let [from, to] = [port as usize, port as usize + 1].map(|at| usize::from(self.bounds[at]));
        first + from..first + to
    }

    /// True when a pipeline takes an instruction of `scheduler` at `now`.
    #[inline]
    pub fn is_free(&self, scheduler: usize, port: Port, now: Cycle) -> bool {
        let until = now + self.ahead[port as usize];
        self.free[self.of(scheduler, port)].iter().any(|&free| free <= until)
    }

    /// Gives an instruction to a free pipeline, which takes the next one after `interval` cycles; tells when it starts.
    #[inline]
    pub fn take(&mut self, now: Cycle, scheduler: usize, port: Port, interval: u64) -> Cycle {
        let pipelines = self.of(scheduler, port);
        let until = now + self.ahead[port as usize];
        let free = self.free[pipelines].iter_mut().find(|free| **free <= until);
        let free = free.expect("an eligible warp has a pipeline");
        let start = now.max(*free);
        *free = start + interval;
        start
    }
}
