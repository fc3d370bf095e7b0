//! The four clock domains. Time advances by core cycles; the other clocks follow by exact ratios.

use crate::config::machine::Clocks as Config;
use crate::units::{Cycle, Divisor};

/// A clock beside the core's.
#[derive(Clone, Copy, Debug)]
pub struct Domain {
    /// Ticks in so many core cycles, in lowest terms.
    ticks: Divisor,
    core_cycles: Divisor,
    /// Every core cycle has one tick.
    is_core_clock: bool,
    /// Core cycles, and ticks, before this one are found at once: far enough for most runs.
    near_core: u64,
    near_tick: u64,
    /// Ticks in one core cycle, at most.
    most_ticks: u64,
}

impl Domain {
    fn new(khz: u32, core_khz: u32) -> Self {
        let (mut a, mut b) = (khz, core_khz);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let (ticks, core_cycles) = (u64::from(khz / a), u64::from(core_khz / a));
        let (by_ticks, by_core_cycles) = (Divisor::new(ticks), Divisor::new(core_cycles));
        Domain {
            ticks: by_ticks,
            core_cycles: by_core_cycles,
            is_core_clock: ticks == core_cycles,
            near_core: by_core_cycles.near() / ticks,
            near_tick: by_ticks.near() / core_cycles,
            most_ticks: ticks.div_ceil(core_cycles),
        }
    }

    /// Ticks of this clock before core cycle `core`: the number of its next tick.
    #[inline]
    pub fn ticks_before(&self, core: Cycle) -> Cycle {
        if self.is_core_clock {
            return core;
        }
        if core.0 < self.near_core {
            return Cycle(self.core_cycles.near_quotient(core.0 * self.ticks.get()));
        }
        self.far_ticks_before(core)
    }

    #[inline(never)]
    fn far_ticks_before(&self, core: Cycle) -> Cycle {
        if core == Cycle::NEVER {
            return core;
        }
        Cycle(match core.0.checked_mul(self.ticks.get()) {
            Some(product) => self.core_cycles.quotient(product),
            None => {
                let product = u128::from(core.0) * u128::from(self.ticks.get());
                (product / u128::from(self.core_cycles.get())) as u64
            }
        })
    }

    /// Ticks in one core cycle, at most.
    #[inline]
    pub fn most_ticks(&self) -> u64 {
        self.most_ticks
    }

    /// The core cycle in which tick `tick` happens.
    #[inline]
    pub fn core_cycle_of(&self, tick: Cycle) -> Cycle {
        if self.is_core_clock {
            return tick;
        }
        if tick.0 < self.near_tick {
            // One less than the next tick's time, rounded up.
            let product = (tick.0 + 1) * self.core_cycles.get();
            return Cycle(self.ticks.near_quotient(product - 1));
        }
        self.far_core_cycle_of(tick)
    }

    #[inline(never)]
    fn far_core_cycle_of(&self, tick: Cycle) -> Cycle {
        if tick == Cycle::NEVER {
            return tick;
        }
        Cycle(match (tick.0 + 1).checked_mul(self.core_cycles.get()) {
            Some(product) => self.ticks.quotient(product - 1),
            None => {
                let product = (u128::from(tick.0) + 1) * u128::from(self.core_cycles.get());
                ((product - 1) / u128::from(self.ticks.get())) as u64
            }
        })
    }
}

/// The clocks of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// Interconnect.
    pub noc: Domain,
    /// L2 slices.
    pub l2: Domain,
    /// DRAM command clock.
    pub dram: Domain,
}

impl Clocks {
    /// As configured.
    pub fn new(config: &Config) -> Self {
        let domain = |khz: u32| Domain::new(khz, config.core_khz.get());
        Clocks {
            noc: domain(config.noc_khz.get()),
            l2: domain(config.l2_khz.get()),
            dram: domain(config.dram_khz.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tick_happens_in_exactly_one_core_cycle() {
        for (khz, core_khz) in [(924, 700), (700, 924), (700, 700), (1, 1000), (3, 2)] {
            let domain = Domain::new(khz, core_khz);
            let mut next = 0;
            for core in 0..5000 {
                let after = domain.ticks_before(Cycle(core + 1)).0;
                for tick in next..after {
                    assert_eq!(domain.core_cycle_of(Cycle(tick)), Cycle(core));
                }
                next = after;
            }
            assert_eq!(next, 5000 * u64::from(khz) / u64::from(core_khz));
        }
    }
}
