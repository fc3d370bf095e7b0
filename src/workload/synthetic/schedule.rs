//! Which access of the mixture comes when, and which of them load, store or are atomic.
//!
//! Every warp of a kernel has the same order, as it would in a program. It is spread evenly: smooth weighted
//! round robin, in which every candidate gains its weight in each turn and the one with the most pays
//! the sum of all weights.

use crate::config::Share;
use crate::config::synthetic::{Access, Phase};
use crate::isa::{AccessKind, Turns};

/// Smooth weighted round robin.
#[derive(Clone, Debug)]
pub struct Rotation {
    weights: Vec<i64>,
    credits: Vec<i64>,
    /// The only one with a weight, if the others have none: it has every turn.
    only: Option<usize>,
}

impl Rotation {
    /// Candidates with these weights, of which at least one is not 0.
    pub fn new(weights: impl IntoIterator<Item = u32>) -> Self {
        let weights: Vec<i64> = weights.into_iter().map(i64::from).collect();
        let mut weighty = (0..weights.len()).filter(|&candidate| weights[candidate] != 0);
        let only = weighty.next().filter(|_| weighty.next().is_none());
        Rotation { credits: vec![0; weights.len()], weights, only }
    }

    /// The next one; the first of those with the most credit.
    #[inline]
    pub fn turn(&mut self) -> usize {
        match self.only {
            // It gains what it pays.
            Some(only) => only,
            None => self.turn_of_several(),
        }
    }

    fn turn_of_several(&mut self) -> usize {
        let mut best = 0;
        let mut total = 0;
        for candidate in 0..self.weights.len() {
            self.credits[candidate] += self.weights[candidate];
            total += self.weights[candidate];
            if self.credits[candidate] > self.credits[best] {
                best = candidate;
            }
        }
        self.credits[best] -= total;
        best
    }
}

/// One memory instruction of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its place in the mixture.
    pub entry: usize,
    /// How many of the same place came before, in one pass through the phase.
    pub index: u32,
    /// What it does.
    pub kind: AccessKind,
    /// Its number in the pass modulo the accesses under way at once: what shares it waits for each other.
    pub slot: u32,
    /// The load that gives its address.
    pub source: Option<Source>,
}

/// The latest load of a place in the mixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its slot.
    pub slot: u32,
    /// How many of its place came before, in one pass through the phase.
    pub index: u32,
    /// Whether it is a load or atomic.
    pub kind: AccessKind,
}

/// By the number that [`kinds_of`] gives. An atomic adds what is not known beforehand.
const KINDS: [AccessKind; 3] =
    [AccessKind::Load, AccessKind::Store, AccessKind::Atomic(Turns::Lanes)];

/// The memory instructions of one pass through a phase, in order.
pub fn schedule(phase: &Phase) -> impl Iterator<Item = Turn> {
    let mut mix = Rotation::new(phase.mix.iter().map(|access| access.weight.get()));
    let mut kinds: Vec<Rotation> = phase.mix.iter().map(|access| kinds_of(access)).collect();
    let mut counts = vec![0; phase.mix.len()];
    let mut latest_load: Vec<Option<Source>> = vec![None; phase.mix.len()];
    let mut next_slot = 0;
    (0..phase.accesses.get()).map(move |_| {
        let entry = mix.turn();
        let kind = KINDS[kinds[entry].turn()];
        let index = counts[entry];
        counts[entry] += 1;
        let slot = next_slot;
        next_slot = if slot + 1 == phase.in_flight.get() { 0 } else { slot + 1 };
        let from = phase.mix[entry].address_from;
        let source = from.and_then(|from| latest_load[from.size()]);
        if kind != AccessKind::Store {
            latest_load[entry] = Some(Source { slot, index, kind });
        }
        Turn { entry, index, kind, slot, source }
    })
}

/// Instructions of a pass after which all is the same again but for how many came before, if the pass is so regular: a single
/// kind of access.
pub fn period(phase: &Phase) -> Option<u32> {
    let only = Rotation::new(phase.mix.iter().map(|access| access.weight.get())).only?;
    // No other one is ever executed that could give its address.
    kinds_of(&phase.mix[only]).only.map(|_| phase.in_flight.get())
}

fn kinds_of(access: &Access) -> Rotation {
    let (stores, atomics) =
        (access.write_fraction.millionths(), access.atomic_fraction.millionths());
    Rotation::new([Share::ONE - stores - atomics, stores, atomics])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn turns_are_spread_evenly() {
        let mut rotation = Rotation::new([3, 1]);
        let turns: Vec<usize> = (0..8).map(|_| rotation.turn()).collect();
        assert_eq!(turns, [0, 0, 1, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn a_regular_phase_repeats_itself() {
        let phase = |mix: &str| -> Phase {
            let text = format!("(accesses: 23, in_flight: 5, mix: [{mix}])");
            crate::config::parse::from_text("a.ron".as_ref(), &text).unwrap()
        };
        let access = "pattern: Stream, footprint: 4096";
        let regular = phase(&format!("({access})"));
        assert_eq!(period(&regular), Some(5));
        let turns: Vec<Turn> = schedule(&regular).collect();
        for (number, turn) in turns.iter().enumerate() {
            let before = &turns[number % 5];
            assert_eq!(*turn, Turn { index: number as u32, ..*before });
        }
        let irregular =
            [format!("({access}), ({access})"), format!("({access}, write_fraction: 0.5)")];
        for mix in irregular {
            assert_eq!(period(&phase(&mix)), None, "{mix}");
        }
    }

    #[test]
    fn who_alone_has_a_weight_has_every_turn() {
        let mut rotation = Rotation::new([0, 7, 0]);
        let fast: Vec<usize> = (0..5).map(|_| rotation.turn()).collect();
        let slow: Vec<usize> = (0..5).map(|_| rotation.turn_of_several()).collect();
        assert_eq!((fast, slow), (vec![1; 5], vec![1; 5]));
        assert_eq!(rotation.credits, [0; 3]);
    }

    proptest! {
        /// After every turn each of two candidates has had its share to within one turn, and each of
        /// several exactly its share after as many turns as the sum of the weights.
        #[test]
        fn shares_are_kept(weights in prop::collection::vec(0u32..50, 1..8), stores in 0u32..=1_000_000) {
            prop_assume!(weights.iter().sum::<u32>() > 0);
            let mut rotation = Rotation::new(weights.iter().copied());
            let mut counts = vec![0u32; weights.len()];
            for _ in 0..weights.iter().sum() {
                counts[rotation.turn()] += 1;
            }
            prop_assert_eq!(counts, weights);

            let mut kinds = Rotation::new([1_000_000 - stores, stores]);
            let mut count = 0;
            for turn in 1..500u64 {
                count += kinds.turn() as u64;
                let share = turn * u64::from(stores);
                prop_assert!((count * 1_000_000).abs_diff(share) <= 500_000);
            }
        }
    }
}
