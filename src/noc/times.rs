//! When the inputs of a crossbar can send, sixteen of them at a time.
//!
//! An output that is looked at asks all inputs at once: a loop over those that hold a packet for it would be short, and of a length
//! that nobody can foretell. A processor compares sixteen times with a few instructions instead, and never has to guess. Where there are more inputs,
//! those sixteens are asked of which any holds a packet.

use wide::i16x16;

use super::ports::{Ports, SIXTEEN, SIXTEENS};
use crate::units::Cycle;

/// A time in cycles from the beginning of an epoch on. What is gone by then counts as that, what lies further away as `FAR`.
pub(super) type Near = i16;

/// Not yet, as far as can be said, or never.
pub(super) const FAR: Near = Near::MAX;

/// An epoch ends after so many cycles: what is later can be told from what is now.
const EPOCH: u64 = 1 << 14;

/// Of sixteen inputs.
type Row = [Near; SIXTEEN];

/// When the oldest packet of each input for one output has entered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered<const WORDS: usize>([[Row; SIXTEENS]; WORDS]);

impl<const WORDS: usize> Default for Entered<WORDS> {
    /// There is none.
    fn default() -> Self {
        Entered([[[FAR; SIXTEEN]; SIXTEENS]; WORDS])
    }
}

impl<const WORDS: usize> Entered<WORDS> {
    /// When the oldest packet of an input has entered, or will; `FAR` when there is none.
    #[inline(always)]
    pub fn set(&mut self, input: usize, at: Near) {
        let (word, sixteen, lane) = place::<WORDS>(input);
        self.0[word][sixteen][lane] = at;
    }
}

/// When the inputs of a crossbar can send.
#[derive(Clone, Debug)]
pub(super) struct Times<const WORDS: usize> {
    /// Not before they have sent the last packet.
    free: [[Row; SIXTEENS]; WORDS],
    /// When the epoch began.
    epoch: Cycle,
    /// Sixteens of inputs that there are.
    sixteens: usize,
}

/// The word, the sixteen and the place there of an input.
#[inline(always)]
fn place<const WORDS: usize>(input: usize) -> (usize, usize, usize) {
    (input / SIXTEEN / SIXTEENS % WORDS, input / SIXTEEN % SIXTEENS, input % SIXTEEN)
}

impl<const WORDS: usize> Times<WORDS> {
    /// Of so many inputs that are free.
    pub fn new(inputs: usize) -> Self {
        Times {
            free: [[[0; SIXTEEN]; SIXTEENS]; WORDS],
            epoch: Cycle(0),
            sixteens: inputs.div_ceil(SIXTEEN),
        }
    }

    /// A time, as near as can be said.
    #[inline(always)]
    pub fn near(&self, at: Cycle) -> Near {
        at.since(self.epoch).min(FAR as u64) as Near
    }

    /// True when `now` begins another epoch.
    #[inline(always)]
    pub fn begins_epoch(&self, now: Cycle) -> bool {
        now.0 - self.epoch.0 >= EPOCH
    }

    /// An epoch begins, and all times have to be told again.
    pub fn begin_epoch(&mut self, now: Cycle) {
        self.epoch = now;
    }

    /// A time behind the beginning of the epoch, as near as can be said.
    #[inline(always)]
    pub fn near_later(&self, at: Cycle) -> Near {
        (at - self.epoch).min(FAR as u64) as Near
    }

    /// An input can send again from this cycle on, as near as can be said.
    #[inline(always)]
    pub fn set_free(&mut self, input: usize, at: Near) {
        let (word, sixteen, lane) = place::<WORDS>(input);
        self.free[word][sixteen][lane] = at;
    }

    /// The inputs that can send a packet of their own to an output at `now`, of those that hold one for it, and a cycle behind that
    /// before which none of the others can.
    #[inline(always)]
    pub fn who_can_send(
        &self,
        now: Cycle,
        waiting: &Ports<WORDS>,
        entered: &Entered<WORDS>,
    ) -> (Ports<WORDS>, Cycle) {
        let near = (now.0 - self.epoch.0) as Near;
        let (able, later) = if self.sixteens > 1 {
            self.who_of_all(near, waiting, entered)
        } else {
            let later = self.later_than(near, (0, 0), entered);
            (Ports::sixteen(who_is_not(later)), later)
        };
        let wait = later.reduce_min().wrapping_add(Near::MIN) as u16;
        (able, now + 1 + u64::from(wait))
    }

    /// The same where there are more than sixteen: what [`Times::later_than`] gives for each sixteen, and of each lane the least of it. Most
    /// sixteens hold none.
    #[inline(never)]
    fn who_of_all(
        &self,
        now: Near,
        waiting: &Ports<WORDS>,
        entered: &Entered<WORDS>,
    ) -> (Ports<WORDS>, i16x16) {
        let mut least = i16x16::splat(Near::MAX);
        let able = waiting.by_sixteens(|word, sixteen| {
            let later = self.later_than(now, (word, sixteen), entered);
            least = least.min(later);
            who_is_not(later)
        });
        (able, least)
    }

    /// How many cycles behind the next one each of sixteen inputs can send, from the least number of this kind on; not negative
    /// for those that can at `now`. So what is later comes before what is not.
    #[inline(always)]
    fn later_than(
        &self,
        now: Near,
        (word, sixteen): (usize, usize),
        entered: &Entered<WORDS>,
    ) -> i16x16 {
        let [entered, free] = [&entered.0, &self.free].map(|of| i16x16::new(of[word][sixteen]));
        entered.max(free) - i16x16::splat((now + 1).wrapping_add(Near::MIN))
    }
}

/// Of sixteen numbers those that are not negative, a bit each.
#[inline(always)]
fn who_is_not(negative: i16x16) -> u16 {
    !negative.to_bitmask() as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::noc::MOST_WORDS;

    proptest! {
        #[test]
        fn all_inputs_at_once_are_what_each_of_them_is(
            inputs in prop::collection::vec((0u64..60_000, 0u64..60_000, any::<bool>()), 1..=200),
            epoch in 0u64..20_000,
            passed in 0..EPOCH,
        ) {
            let mut times = Times::<MOST_WORDS>::new(inputs.len());
            let (mut entered, mut waiting) = (Entered::default(), Ports::default());
            times.begin_epoch(Cycle(epoch));
            for (input, &(at, free_at, is_there)) in inputs.iter().enumerate() {
                times.set_free(input, times.near(Cycle(free_at)));
                if is_there {
                    entered.set(input, times.near(Cycle(at)));
                    waiting.set(input, true);
                }
            }
            let now = Cycle(epoch + passed);
            let (able, later) = times.who_can_send(now, &waiting, &entered);
            let mut next = Cycle::NEVER;
            for (input, &(at, free_at, is_there)) in inputs.iter().enumerate() {
                let from = if is_there { Cycle(at.max(free_at)) } else { Cycle::NEVER };
                prop_assert_eq!(able.contains(input), from <= now);
                if from > now {
                    next = next.min(from);
                }
            }
            prop_assert!(later > now);
            prop_assert!(later == next || later < next && later.0 >= epoch + FAR as u64);
        }
    }
}
