//! How fast CTAs are handed out: a slot of time for each.

use crate::config::machine::{DispatchRate, LaunchConfig};
use crate::units::Cycle;

/// Hands out slots in which CTAs of one launch, or of several that run at the same time, may start.
///
/// An SM that asks for a CTA gets the next slot. Where that lies ahead, the SM goes on meanwhile and its CTA starts then.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// CTAs in so many cycles.
    rate: Option<(u64, u64)>,
    /// The next slot begins there, in cycles times the CTAs of the rate.
    next: u64,
    /// Before this cycle none starts.
    first: Cycle,
    /// Slots that lie ahead and that an SM has.
    granted: u64,
}

impl Dispatch {
    /// Of a launch at `start`.
    pub fn new(config: &LaunchConfig, start: Cycle) -> Self {
        let rate = match &config.rate {
            DispatchRate::Unlimited => None,
            DispatchRate::Limited { ctas, cycles } => Some((ctas.get().into(), cycles.cycles())),
        };
        Dispatch { rate, next: 0, first: start + config.latency.cycles(), granted: 0 }
    }

    /// The cycle at whose end the first CTA may start.
    pub fn first(&self) -> Cycle {
        self.first
    }

    /// The cycle at whose end a CTA may start for which an SM asks at the end of cycle `at`.
    pub fn slot(&mut self, at: Cycle) -> Cycle {
        let earliest = at.max(self.first);
        let Some((ctas, cycles)) = self.rate else { return earliest };
        let begin = self.next.max(earliest.0 * ctas);
        self.next = begin + cycles;
        Cycle(begin.div_ceil(ctas))
    }

    /// The cycle that [`Dispatch::slot`] would give.
    pub fn next_slot(&self, at: Cycle) -> Cycle {
        self.clone().slot(at)
    }

    /// An SM has a slot that lies ahead.
    pub fn grant(&mut self) {
        self.granted += 1;
    }

    /// An SM uses the slot that it has.
    pub fn use_grant(&mut self) {
        self.granted -= 1;
    }

    /// Slots that lie ahead and that an SM has.
    pub fn granted(&self) -> u64 {
        self.granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dispatch(text: &str) -> Dispatch {
        Dispatch::new(&crate::config::parse::stated(text), Cycle(100))
    }

    #[test]
    fn slots_follow_each_other_at_the_rate() {
        let mut dispatch = dispatch(
            "(latency: 10, rate: Limited(ctas: 5, cycles: 6), concurrent_kernels: 1, l2: Cold)",
        );
        let slots: Vec<u64> = (0..7).map(|_| dispatch.slot(Cycle(100)).0).collect();
        assert_eq!(slots, [110, 112, 113, 114, 115, 116, 118]);
        // After a pause nothing is made up for.
        assert_eq!([dispatch.slot(Cycle(200)).0, dispatch.slot(Cycle(200)).0], [200, 202]);
    }

    #[test]
    fn without_a_limit_all_start_at_once() {
        let mut dispatch =
            dispatch("(latency: 0, rate: Unlimited, concurrent_kernels: 1, l2: Cold)");
        assert_eq!([dispatch.slot(Cycle(100)).0, dispatch.slot(Cycle(100)).0], [100, 100]);
    }
}
