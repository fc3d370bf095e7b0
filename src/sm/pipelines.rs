//! The arithmetic pipelines: of the whole SM, or of each sub-core.

use std::ops::Range;

use super::program::Port;
use crate::config::machine::{Arithmetic, Pipelining};
use crate::units::Cycle;

/// When each pipeline takes its next instruction.
#[derive(Clone, Debug)]
pub struct Pipelines {
    /// By sub-core, port and number.
    free: Box<[Cycle]>,
    /// Where each port's pipelines begin and end within those of a sub-core.
    bounds: [u8; Port::ARITHMETIC.len() + 1],
    sub_cores: usize,
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
        Pipelines { free: vec![Cycle(0); all].into(), bounds, sub_cores }
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
        self.free[self.of(scheduler, port)].iter().any(|&free| free <= now)
    }

    /// Gives an instruction to a free pipeline, which takes the next one after `interval` cycles.
    #[inline]
    pub fn take(&mut self, now: Cycle, scheduler: usize, port: Port, interval: u64) {
        let pipelines = self.of(scheduler, port);
        let free = self.free[pipelines].iter_mut().find(|free| **free <= now);
        *free.expect("an eligible warp has a pipeline") = now + interval;
    }
}
