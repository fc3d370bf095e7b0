//! Which memory instructions of a phase are written once and executed in a loop.

use std::ops::Range;

/// Memory instructions up to which a phase is written without a loop.
const STRAIGHT: usize = 32;
/// Memory instructions that a loop's body has at least, so that counting its rounds costs little.
const BODY: usize = 8;
/// The longest period that is looked for.
const MAX_PERIOD: usize = 4096;

/// A part of a phase: instructions, and how often they are executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The instructions that are written, by number in the phase.
    pub steps: Range<usize>,
    /// Times that they are executed, at least once.
    pub rounds: u64,
}

/// Splits a phase, given as one key for each instruction: equal keys are equal text. At first some
/// instructions are written one by one, then a loop executes all others.
pub fn plan(keys: &[u32]) -> Vec<Stretch> {
    let count = keys.len();
    let straight = vec![Stretch { steps: 0..count, rounds: 1 }];
    if count <= STRAIGHT {
        return straight;
    }
    let mut best = (count, straight);
    for period in 1..=MAX_PERIOD.min(count / 2) {
        // From here on, each instruction is that of one period before.
        let differs = (period..count).rev().find(|&at| keys[at] != keys[at - period]);
        let first = differs.map_or(0, |at| at + 1 - period);
        let body = period * BODY.div_ceil(period);
        let rounds = (count - first) / body;
        if rounds < 2 {
            continue;
        }
        let start = count - rounds * body;
        if start + body < best.0 {
            let once = Stretch { steps: 0..start, rounds: 1 };
            let often = Stretch { steps: start..start + body, rounds: rounds as u64 };
            best = (start + body, vec![once, often]);
        }
        // A longer period has a longer body.
        if first <= period {
            break;
        }
    }
    best.1.into_iter().filter(|stretch| !stretch.steps.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executed(keys: &[u32]) -> (usize, Vec<u32>) {
        let plan = plan(keys);
        let written = plan.iter().map(|stretch| stretch.steps.len()).sum();
        let rounds = plan.iter().flat_map(|stretch| {
            (0..stretch.rounds).flat_map(|_| keys[stretch.steps.clone()].to_vec())
        });
        (written, rounds.collect())
    }

    #[test]
    fn a_plan_executes_what_the_phase_has() {
        let start = [7, 8, 9];
        for period in [1, 2, 3, 5, 12, 40] {
            for count in [0usize, 1, 31, 33, 64, 100, 1001] {
                let keys: Vec<u32> =
                    start.into_iter().chain((0..count as u32).map(|at| at % period)).collect();
                let (written, again) = executed(&keys);
                assert_eq!(again, keys, "{period} {count}");
                if count == 1001 {
                    assert!(written <= 3 * 40 + 16, "{period}: {written}");
                }
            }
        }
    }

    #[test]
    fn what_has_no_period_is_written_out() {
        let keys: Vec<u32> = (0..500).collect();
        assert_eq!(executed(&keys), (500, keys));
    }
}
