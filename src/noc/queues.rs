//! Queues before the inputs of a crossbar. An input takes one packet a cycle from its queue, when its time has come and as long
//! as there is room; it stands in the crossbar's calendar with the earliest cycle of that.

use super::crossbar::{Crossbar, Day};
use super::input::Input;
use super::packet::{Landing, Packet, Sent};
use super::ports::Ports;
use crate::units::Cycle;

impl<P: Packet, const WORDS: usize> Crossbar<P, WORDS> {
    /// The same, with queues of so many packets before its inputs; still empty.
    pub fn with_queues(mut self, places: usize) -> Self {
        let inputs = self.inputs.iter().map(|input| Input::new(input.places.len(), places));
        self.inputs = inputs.collect();
        self
    }

    /// Packets that queue before `input`.
    #[inline]
    pub fn queued(&self, input: usize) -> usize {
        self.inputs[input].queued.into()
    }

    /// Inputs with a queue before them.
    #[inline]
    pub fn queueing(&self) -> &Ports<WORDS> {
        &self.queueing
    }

    /// Queues a packet of `data_bytes` before its input, which it may enter from the tick of `at` on. True when it is the only
    /// one there.
    #[inline]
    pub fn queue(
        &mut self,
        at: Cycle,
        (input, output): (usize, usize),
        data_bytes: u32,
        packet: &P,
    ) -> bool {
        let from = &mut self.inputs[input];
        let number = from.put(at, output, self.sizes[data_bytes as usize], packet);
        self.held += 1;
        from.queued += 1;
        let is_alone = from.queued == 1;
        from.queue.append(&mut from.places, number, is_alone);
        if !is_alone {
            return false;
        }
        self.queueing.set(input, true);
        if from.room > 0 {
            self.dues.day(at).inputs.set(input, true);
        }
        true
    }

    /// The next packet of the queue before an input enters it, if there is room and its time has come; it hears of that
    /// first.
    #[inline]
    fn take_in(&mut self, now: Cycle, input: usize, entered: &mut impl FnMut(usize, &mut P)) {
        let Input { places, queue, queued, .. } = &mut self.inputs[input];
        let number = queue.first;
        let place = &mut places[usize::from(number)];
        debug_assert!(*queued > 0, "nothing queues before an input that is due");
        if place.since > now {
            self.dues.day(place.since).inputs.set(input, true);
            return;
        }
        queue.first = place.next;
        *queued -= 1;
        place.since = now;
        let output = usize::from(place.output);
        entered(input, &mut place.packet);
        self.enter(now, (input, output), number, false);
        self.call_next(now, input);
    }

    /// Notes when the next packet of the queue before an input may enter it, after `now`.
    #[inline]
    pub(super) fn call_next(&mut self, now: Cycle, input: usize) {
        let Input { places, queue, queued, room, .. } = &self.inputs[input];
        if *queued == 0 {
            self.queueing.set(input, false);
        } else if *room > 0 {
            let at = places[usize::from(queue.first)].since.max(now + 1);
            self.dues.day(at).inputs.set(input, true);
        }
    }

    /// As [`Crossbar::tick_observed`]; before, each input takes the next packet of its queue, of which it tells `entered`.
    #[inline]
    pub fn tick_with_queues(
        &mut self,
        now: Cycle,
        entered: &mut impl FnMut(usize, &mut P),
        sent: &mut impl FnMut(Sent<'_, P>) -> Landing,
    ) {
        if self.dues.next() <= now {
            let Day { inputs, outputs } = self.take_due(now);
            for input in inputs.iter() {
                self.take_in(now, input, entered);
            }
            // What entered may leave in the same cycle.
            let outputs = outputs.with(&self.dues.take_again().outputs);
            self.serve_each(now, &outputs, sent);
        }
    }
}
