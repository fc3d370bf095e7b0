//! The four clock domains. Time advances by core cycles; the other clocks follow by exact ratios.

use crate::config::machine::Clocks as Config;
use crate::units::Cycle;

/// A clock beside the core's.
#[derive(Clone, Copy, Debug)]
pub struct Domain {
    khz: u128,
    core_khz: u128,
}

impl Domain {
    /// Ticks of this clock before core cycle `core`: the number of its next tick.
    #[inline]
    pub fn ticks_before(&self, core: Cycle) -> Cycle {
        if self.khz == self.core_khz {
            return core;
        }
        Cycle((u128::from(core.0) * self.khz / self.core_khz) as u64)
    }

    /// The core cycle in which tick `tick` happens.
    #[inline]
    pub fn core_cycle_of(&self, tick: Cycle) -> Cycle {
        if self.khz == self.core_khz || tick == Cycle::NEVER {
            return tick;
        }
        Cycle(((u128::from(tick.0) + 1) * self.core_khz).div_ceil(self.khz) as u64 - 1)
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
        let core_khz = u128::from(config.core_khz.get());
        let domain = |khz: u32| Domain { khz: u128::from(khz), core_khz };
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
            let domain = Domain { khz, core_khz };
            let mut next = 0;
            for core in 0..5000 {
                let after = domain.ticks_before(Cycle(core + 1)).0;
                for tick in next..after {
                    assert_eq!(domain.core_cycle_of(Cycle(tick)), Cycle(core));
                }
                next = after;
            }
            assert_eq!(u128::from(next), 5000 * khz / core_khz);
        }
    }
}
