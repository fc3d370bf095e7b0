//! What the memory and the front tell each other while both advance. Each leaves one letter, to which it adds until the other
//! one takes it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::partition::Reach;
use super::replies::Coming;
use super::requests::Arrived;
use crate::units::Cycle;

/// From the front to the memory.
#[derive(Default)]
pub(super) struct ToMemory {
    /// For the slices.
    pub arrived: Vec<Arrived>,
    /// How far the memory may go with them.
    pub reach: Reach,
    /// Cycles of the request network before this one are done.
    pub clock: Cycle,
}

/// From the memory to the front.
#[derive(Default)]
pub(super) struct ToFront {
    /// For the SMs.
    pub replies: Vec<Coming>,
    /// The slices whose requests left their input queue, and when.
    pub left: Vec<(usize, Cycle)>,
    /// How far the memory has come.
    pub known: Known,
}

/// How far the memory has come, for the front.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// Every reply that an SM takes before this cycle is told of.
    pub replies: Cycle,
    /// What left the slices before this cycle is told of.
    pub slices: Cycle,
    /// Cycles before this one are done.
    pub clock: Cycle,
}

impl Known {
    /// Learns what a letter says, which may be read once more when later news are known: what is known stays known.
    pub fn learn(&mut self, told: Known) {
        self.replies = self.replies.max(told.replies);
        self.slices = self.slices.max(told.slices);
        self.clock = self.clock.max(told.clock);
    }
}

/// A letter, which one side writes and the other one reads.
#[derive(Default)]
pub(super) struct Letter<T> {
    content: Mutex<T>,
    is_new: AtomicBool,
}

impl<T> Letter<T> {
    /// Whether something was added that has not been read.
    #[inline]
    pub fn is_new(&self) -> bool {
        self.is_new.load(Ordering::Acquire)
    }

    /// Adds to it; who is to read it has to be told.
    pub fn write(&self, write: impl FnOnce(&mut T)) {
        write(&mut self.content.lock().expect("no thread failed"));
    }

    /// Tells of what was written.
    #[inline]
    pub fn announce(&self) {
        self.is_new.store(true, Ordering::Release);
    }

    /// Takes what was added.
    pub fn read<R>(&self, read: impl FnOnce(&mut T) -> R) -> R {
        let mut content = self.content.lock().expect("no thread failed");
        self.is_new.store(false, Ordering::Relaxed);
        read(&mut content)
    }
}

/// Adds `news` to those of a letter.
pub(super) fn hand_on<T>(news: &mut Vec<T>, letter: &mut Vec<T>) {
    if letter.is_empty() {
        std::mem::swap(news, letter);
    } else {
        letter.append(news);
    }
}

/// Appends what `make` makes of a packet. Pushed as a whole, it would be copied once more, before there is known to be a place.
#[inline]
pub(super) fn push_copy<P: Copy, T>(packet: &P, list: &mut Vec<T>, make: impl Fn(P) -> T) {
    list.extend(std::slice::from_ref(packet).iter().map(|packet| make(*packet)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_added_to_until_it_is_read() {
        let letter = Letter::<Vec<u32>>::default();
        let mut news = Vec::new();
        for part in [[1, 2], [3, 4]] {
            assert_eq!(letter.is_new(), part[0] > 1);
            news.extend(part);
            letter.write(|content| hand_on(&mut news, content));
            letter.announce();
            assert!(news.is_empty());
        }
        assert_eq!(letter.read(std::mem::take), [1, 2, 3, 4]);
        assert!(!letter.is_new());
    }
}
