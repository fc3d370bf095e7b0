//! The four clock domains. Time advances by core cycles; the other clocks follow by exact ratios.

use crate::config::machine::Clocks as Config;
use crate::units::Cycle;

/// A clock beside the core's.
#[derive(Clone, Copy, Debug)]
pub struct Domain {
    /// Ticks in so many core cycles, in lowest terms.
    ticks: u64,
    core_cycles: u64,
    /// Every core cycle has one tick.
    is_core_clock: bool,
    /// `ticks / core_cycles`, `core_cycles / ticks` and `(core_cycles - 1) / ticks`, in parts, rounded up.
    ticks_by_parts: u64,
    cycles_by_parts: u64,
    rest_by_parts: u64,
    /// Core cycles, and ticks, before this one are found at once: far enough for most runs.
    near_core: u64,
    near_tick: u64,
    /// Ticks in one core cycle, at most.
    most_ticks: u64,
}

/// Ratios are kept in parts of one by two to this power.
const PART_BITS: u32 = 48;

/// `part / whole` in parts, rounded up.
fn by_parts(part: u64, whole: u64) -> u128 {
    (u128::from(part) << PART_BITS).div_ceil(whole.into())
}

impl Domain {
    fn new(khz: u32, core_khz: u32) -> Self {
        let (mut a, mut b) = (khz, core_khz);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let (ticks, core_cycles) = (u64::from(khz / a), u64::from(core_khz / a));
        // Each cycle, and the rest, adds less than a part too much. A quotient whose fraction is as large as can be lacks one by
        // its divisor to the next one, which is not reached as long as all together add less. Ratios that are too large for 64
        // bits have no near cycles.
        let near =
            |scale: u128, divisor| u64::try_from(scale).map_or(0, |_| (1 << PART_BITS) / divisor);
        let (ticks_by_parts, cycles_by_parts) =
            (by_parts(ticks, core_cycles), by_parts(core_cycles, ticks));
        Domain {
            ticks,
            core_cycles,
            is_core_clock: ticks == core_cycles,
            ticks_by_parts: ticks_by_parts as u64,
            cycles_by_parts: cycles_by_parts as u64,
            rest_by_parts: by_parts(core_cycles - 1, ticks) as u64,
            near_core: near(ticks_by_parts, core_cycles),
            near_tick: near(cycles_by_parts, ticks),
            most_ticks: ticks.div_ceil(core_cycles),
        }
    }

    /// Ticks of this clock before core cycle `core`: the number of its next tick.
    #[inline(always)]
    pub fn ticks_before(&self, core: Cycle) -> Cycle {
        if self.is_core_clock {
            return core;
        }
        if core.0 < self.near_core {
            let parts = u128::from(core.0) * u128::from(self.ticks_by_parts);
            return Cycle((parts >> PART_BITS) as u64);
        }
        self.far_ticks_before(core)
    }

    #[inline(never)]
    fn far_ticks_before(&self, core: Cycle) -> Cycle {
        if core == Cycle::NEVER {
            return core;
        }
        let product = u128::from(core.0) * u128::from(self.ticks);
        Cycle((product / u128::from(self.core_cycles)) as u64)
    }

    /// Ticks in one core cycle, at most.
    #[inline]
    pub fn most_ticks(&self) -> u64 {
        self.most_ticks
    }

    /// The core cycle in which tick `tick` happens.
    #[inline(always)]
    pub fn core_cycle_of(&self, tick: Cycle) -> Cycle {
        if self.is_core_clock {
            return tick;
        }
        if tick.0 < self.near_tick {
            let parts = u128::from(tick.0) * u128::from(self.cycles_by_parts);
            return Cycle(((parts + u128::from(self.rest_by_parts)) >> PART_BITS) as u64);
        }
        self.far_core_cycle_of(tick)
    }

    #[inline(never)]
    fn far_core_cycle_of(&self, tick: Cycle) -> Cycle {
        if tick == Cycle::NEVER {
            return tick;
        }
        // One less than the next tick's time, rounded up.
        let product = (u128::from(tick.0) + 1) * u128::from(self.core_cycles);
        Cycle(((product - 1) / u128::from(self.ticks)) as u64)
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
    use proptest::prelude::*;

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

    proptest! {
        /// What is found at once is what the whole division gives, up to the last cycle that is near.
        #[test]
        fn near_and_far_are_the_same(
            khz in 1u32..=u32::MAX,
            core_khz in prop_oneof![1u32..=u32::MAX, 1u32..2000],
            place in 0.0..1.0,
            before_end in 0u64..3,
        ) {
            let domain = Domain::new(khz, core_khz);
            let cycles = |near: u64| {
                let last = near.saturating_sub(1 + before_end);
                [(near as f64 * place) as u64, last, last.saturating_sub(domain.ticks * 2)]
            };
            for core in cycles(domain.near_core).map(Cycle) {
                prop_assert_eq!(domain.ticks_before(core), domain.far_ticks_before(core));
            }
            for tick in cycles(domain.near_tick).map(Cycle) {
                prop_assert_eq!(domain.core_cycle_of(tick), domain.far_core_cycle_of(tick));
            }
        }
    }
}
