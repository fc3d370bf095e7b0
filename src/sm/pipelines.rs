//! The arithmetic pipelines: of the whole SM, or of each sub-core.

use super::program::{Port, timing};
use crate::config::machine::{Arithmetic, Pipelining, SmConfig, TensorCores};
use crate::isa::ArithClass;
use crate::units::Cycle;

/// Every pipeline of an SM.
#[derive(Clone, Debug)]
pub struct Pipelines {
    /// From this cycle on every port of every set takes instructions.
    free_from: Cycle,
    /// By sub-core, or those of the whole SM.
    sets: Box<[Set]>,
}

/// Pipelines that are not issued to from outside one sub-core, or one SM.
#[derive(Clone, Debug)]
struct Set {
    /// From this cycle on every port takes instructions.
    free_from: Cycle,
    ports: [Units; Port::ARITHMETIC.len()],
}

/// The most pipelines that a port of a machine has.
const MOST: usize = 8;

/// The pipelines of one port.
#[derive(Clone, Debug)]
#[repr(C)]
struct Units {
    /// From this cycle on one of them takes an instruction.
    takes_from: Cycle,
    /// How far ahead they take instructions that wait in front of them.
    ahead: u64,
    count: usize,
    /// When each takes its next instruction, those in front of it included; never, where there is none.
    free: [Cycle; MOST],
}

impl Units {
    fn new(count: usize, ahead: u64) -> Self {
        let free = std::array::from_fn(|unit| if unit < count { Cycle(0) } else { Cycle::NEVER });
        Units { takes_from: Cycle(0), ahead, count, free }
    }

    /// The first one that takes an instruction by `until`, as one does, and when the next of the others does: `until` where
    /// several do by then.
    #[inline(always)]
    fn first_of(&self, until: Cycle) -> (usize, Cycle) {
        // Nobody can tell beforehand which ones do.
        match self.count {
            1 => (0, Cycle::NEVER),
            2 => {
                let place = usize::from(self.free[0] > until);
                (place, self.free[1 - place])
            }
            _ => self.first_of_many(until),
        }
    }

    #[inline(never)]
    fn first_of_many(&self, until: Cycle) -> (usize, Cycle) {
        let takers =
            (0..MOST).fold(0, |takers, unit| takers | u32::from(self.free[unit] <= until) << unit);
        let place = takers.trailing_zeros() as usize;
        if takers.count_ones() > 1 {
            return (place, until);
        }
        let others = (0..MOST).filter(|unit| *unit != place).map(|unit| self.free[unit]);
        (place, others.fold(Cycle::NEVER, Cycle::min))
    }
}

/// Pipelines of each port, in one set.
fn units(config: &Arithmetic) -> [usize; Port::ARITHMETIC.len()] {
    [
        config.sp_units.size(),
        config.int_units.size(),
        config.sfu_units.size(),
        config.dp_units.size(),
        usize::from(config.tensor != TensorCores::Absent),
    ]
}

/// Sets of pipelines of an SM.
fn sets(config: &Arithmetic, schedulers: usize) -> usize {
    match config.pipelines {
        Pipelining::PerSm => 1,
        Pipelining::PerScheduler => schedulers,
    }
}

/// What the pipelines of an SM take of one class of operation, as long as there are instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throughput {
    /// Which pipelines.
    pub port: Port,
    /// Those of all sub-cores together.
    pub pipelines: usize,
    /// From an instruction until its pipeline takes another one [core cycles].
    pub interval: u64,
}

impl Throughput {
    /// That of `class`, which pipelines do: what looks across lanes has none but votes.
    pub fn of(config: &SmConfig, class: ArithClass) -> Self {
        let arithmetic = &config.arithmetic;
        let (port, timing) = timing(arithmetic, class);
        let sets = sets(arithmetic, config.schedulers.size());
        let pipelines = sets * units(arithmetic)[port as usize];
        Throughput { port, pipelines, interval: timing.interval.cycles() }
    }
}

impl Pipelines {
    /// Pipelines that are all free.
    pub fn new(config: &Arithmetic, schedulers: usize) -> Self {
        let mut ahead = [0; Port::ARITHMETIC.len()];
        ahead[Port::Sfu as usize] = u64::from(config.sfu_queue.get() * config.sfu.interval.get());
        let units = units(config);
        let ports = std::array::from_fn(|port| Units::new(units[port], ahead[port]));
        let set = Set { free_from: Cycle(0), ports };
        let sets = sets(config, schedulers);
        Pipelines { free_from: Cycle(0), sets: vec![set; sets].into() }
    }

    /// The pipelines that `scheduler` issues to: those of the SM, where there is one set.
    #[inline]
    fn set(&self, scheduler: usize) -> usize {
        if self.sets.len() == 1 { 0 } else { scheduler }
    }

    /// True when a pipeline takes an instruction of `scheduler` at `now`.
    #[inline]
    pub fn is_free(&self, scheduler: usize, port: Port, now: Cycle) -> bool {
        self.sets[self.set(scheduler)].ports[port as usize].takes_from <= now
    }

    /// Of the warps of each port, those of ports that take no instruction of `scheduler` at `now`.
    #[inline]
    pub fn blocked(&self, scheduler: usize, wants: &[u64; Port::COUNT], now: Cycle) -> u64 {
        if self.free_from <= now {
            return 0;
        }
        let set = &self.sets[self.set(scheduler)];
        if set.free_from <= now {
            return 0;
        }
        let busy = set.ports.iter().zip(wants).filter(|(units, _)| units.takes_from > now);
        busy.fold(0, |blocked, (_, warps)| blocked | warps)
    }

    /// Gives an instruction to a free pipeline, which takes the next one after `interval` cycles; tells when it starts.
    #[inline]
    pub fn take(&mut self, now: Cycle, scheduler: usize, port: Port, interval: u64) -> Cycle {
        let set = self.set(scheduler);
        let set = &mut self.sets[set];
        let units = &mut set.ports[port as usize];
        let until = now + units.ahead;
        let (place, others) = units.first_of(until);
        let first = &mut units.free[place];
        debug_assert!(*first <= until, "an eligible warp has a pipeline");
        let start = now.max(*first);
        *first = start + interval;
        if others > until {
            // It was the last one that takes an instruction at `now`.
            let next = others.min(*first);
            units.takes_from = Cycle(next.0.saturating_sub(units.ahead));
            set.free_from = set.free_from.max(units.takes_from);
            self.free_from = self.free_from.max(set.free_from);
        }
        start
    }

    /// Gives what all sub-cores do together to the first pipeline of `port` of each, at `at` or when the last of these is free; each
    /// takes the next instruction after `interval` cycles. Tells when it starts.
    pub fn take_all(&mut self, at: Cycle, port: Port, interval: u64) -> Cycle {
        let free = self.sets.iter().map(|set| set.ports[port as usize].free[0]);
        let start = free.fold(at, Cycle::max);
        for set in &mut self.sets {
            let units = &mut set.ports[port as usize];
            (units.free[0], units.takes_from) = (start + interval, start + interval);
            set.free_from = set.free_from.max(units.takes_from);
            self.free_from = self.free_from.max(set.free_from);
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_unit_that_takes_an_instruction_gets_it() {
        for count in 1..=MOST {
            for number in 0..1000u64 {
                let mut units = Units::new(count, 0);
                let until = Cycle(3);
                for (unit, free) in units.free[..count].iter_mut().enumerate() {
                    *free = Cycle(((number * 7919) >> unit) % 8);
                }
                let takes = |unit: &usize| units.free[*unit] <= until;
                let Some(first) = (0..count).find(takes) else { continue };
                let others = (0..count).filter(|unit| *unit != first).map(|unit| units.free[unit]);
                let next = others.fold(Cycle::NEVER, Cycle::min);
                let (place, other) = units.first_of(until);
                assert_eq!((place, other.max(until)), (first, next.max(until)), "{:?}", units.free);
            }
        }
    }
}
