//! When CTAs start and end: the GPU takes note of one that has ended in a slot of time.

use crate::config::machine::{LaunchConfig, Retirement};
use crate::units::Cycle;

/// When CTAs of one launch, or of several that run at the same time, may start, and when those that have ended are noted.
///
/// An SM that asks for a CTA has room that no other had, or that of one that has ended, from the slot on in which that is noted. Where it
/// lies ahead, the SM goes on meanwhile and its CTA starts then.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// CTAs that are noted in so many cycles.
    rate: Option<(u64, u64)>,
    /// The next slot begins there, in cycles times the CTAs of the rate.
    next: u64,
    /// Before this cycle none starts.
    first: Cycle,
    /// From the last CTA's last instruction, and from when it is noted, to the end [core cycles].
    completion: u64,
    /// Starts that lie ahead and that an SM has been promised.
    granted: u64,
}

impl Dispatch {
    /// Of a launch at `start`.
    pub fn new(config: &LaunchConfig, start: Cycle) -> Self {
        let rate = match &config.retirement {
            Retirement::Unlimited => None,
            Retirement::Limited { ctas, cycles } => Some((ctas.get().into(), cycles.cycles())),
        };
        let (latency, completion) = (config.latency.cycles(), config.completion.cycles());
        Dispatch { rate, next: 0, first: start + latency, completion, granted: 0 }
    }

    /// The cycle at whose end the first CTA may start.
    pub fn first(&self) -> Cycle {
        self.first
    }

    /// The cycle at whose end a CTA may start for which there is room at the end of cycle `at`.
    pub fn from(&self, at: Cycle) -> Cycle {
        at.max(self.first)
    }

    /// The cycle in which a CTA is noted that has ended in cycle `at`, and at whose end another may start in its place.
    pub fn note(&mut self, at: Cycle) -> Cycle {
        let earliest = self.from(at);
        let Some((ctas, cycles)) = self.rate else { return earliest };
        let begin = self.next.max(earliest.0 * ctas);
        self.next = begin + cycles;
        Cycle(begin.div_ceil(ctas))
    }

    /// The cycle that [`Dispatch::note`] would give.
    pub fn next_note(&self, at: Cycle) -> Cycle {
        self.clone().note(at)
    }

    /// When all is over, of CTAs whose places no other has taken: `executed` has the cycles of their last instructions.
    pub fn end(mut self, mut executed: Vec<Cycle>) -> Cycle {
        executed.sort_unstable();
        let last = executed.into_iter().map(|at| self.note(at)).max();
        last.map_or(Cycle(0), |last| last + 1 + self.completion)
    }

    /// An SM is promised a start that lies ahead.
    pub fn grant(&mut self) {
        self.granted += 1;
    }

    /// A CTA starts as promised.
    pub fn use_grant(&mut self) {
        self.granted -= 1;
    }

    /// Starts that lie ahead and that an SM has been promised.
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
    fn notes_follow_each_other_at_the_rate() {
        let mut dispatch = dispatch(
            "(latency: 10, completion: 0, retirement: Limited(ctas: 5, cycles: 6), concurrent_kernels: 1, l2: Cold)",
        );
        let slots: Vec<u64> = (0..7).map(|_| dispatch.note(Cycle(100)).0).collect();
        assert_eq!(slots, [110, 112, 113, 114, 115, 116, 118]);
        // After a pause nothing is made up for.
        assert_eq!([dispatch.note(Cycle(200)).0, dispatch.note(Cycle(200)).0], [200, 202]);
    }

    #[test]
    fn without_a_limit_all_start_at_once() {
        let mut dispatch = dispatch(
            "(latency: 0, completion: 0, retirement: Unlimited, concurrent_kernels: 1, l2: Cold)",
        );
        assert_eq!([dispatch.note(Cycle(100)).0, dispatch.note(Cycle(100)).0], [100, 100]);
    }
}
