//! Packets that wait before the inputs of a crossbar, for room there. Each enters as soon as there is room, in the order in which
//! they came; when that is, its sender says.

use super::crossbar::Crossbar;
use super::packet::{Entering, Packet};
use crate::units::Cycle;

impl<P: Packet, const WORDS: usize> Crossbar<P, WORDS> {
    /// The same, which has storage at once for so many packets that wait for room at each input; still empty.
    pub fn with_queues(mut self, places: usize) -> Self {
        self.places.reserve(self.inputs.len() * (self.room(0) + places));
        self
    }

    /// Packets that wait for room at `input`.
    #[inline]
    pub fn queued(&self, input: usize) -> usize {
        self.inputs[input].queued as usize
    }

    /// As [`Crossbar::push`], where there is no room yet. As soon as there is, the sender hears of `at`.
    #[inline]
    pub fn queue(
        &mut self,
        at: Cycle,
        (input, output): (usize, usize),
        data_bytes: u32,
        packet: &P,
    ) {
        let number = self.places.put(at, output, data_bytes as u8, false, packet);
        self.held += 1;
        let from = &mut self.inputs[input];
        debug_assert!(from.room == 0, "a packet waits for room that is there");
        let last = std::mem::replace(&mut from.last, number);
        if from.queued == 0 {
            from.first = number;
        } else {
            self.places.list[last as usize].next = number;
        }
        from.queued += 1;
    }

    /// The next packet that waits for room at an input enters it, when `enters` says.
    #[inline(always)]
    pub(super) fn let_in(
        &mut self,
        tick: Cycle,
        input: usize,
        enters: &mut impl FnMut(Entering<'_, P>) -> Cycle,
    ) {
        let from = &mut self.inputs[input];
        let number = from.first;
        let place = &mut self.places.list[number as usize];
        from.first = place.next;
        from.queued -= 1;
        let (output, shares) = (usize::from(place.output), place.shares);
        let (queued, packet) = (from.queued as usize, &mut place.packet);
        let at = enters(Entering { tick, input, at: place.at, queued, packet });
        place.at = at;
        self.enter(at, (input, output), number, shares);
    }
}
