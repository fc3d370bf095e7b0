//! What the memory and the SM side leave for each other while both advance: each adds to its own until the other one takes it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::NO_PANIC;

/// One side writes and the other one reads.
#[derive(Default)]
pub struct Mailbox<T> {
    content: Mutex<T>,
    is_new: AtomicBool,
}

impl<T> Mailbox<T> {
    /// Whether something was added that has not been read.
    #[inline]
    pub fn is_new(&self) -> bool {
        self.is_new.load(Ordering::Acquire)
    }

    /// Adds to it; who is to read it has to be told.
    pub fn write(&self, write: impl FnOnce(&mut T)) {
        write(&mut self.content.lock().expect(NO_PANIC));
    }

    /// Tells of what was written.
    #[inline]
    pub fn announce(&self) {
        self.is_new.store(true, Ordering::Release);
    }

    /// Takes what was added.
    pub fn read<R>(&self, read: impl FnOnce(&mut T) -> R) -> R {
        let mut content = self.content.lock().expect(NO_PANIC);
        self.is_new.store(false, Ordering::Relaxed);
        read(&mut content)
    }
}

/// Adds `news` to those that wait.
pub fn hand_on<T>(news: &mut Vec<T>, mail: &mut Vec<T>) {
    if mail.is_empty() {
        std::mem::swap(news, mail);
    } else {
        mail.append(news);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_is_added_to_until_it_is_read() {
        let mail = Mailbox::<Vec<u32>>::default();
        let mut news = Vec::new();
        for part in [[1, 2], [3, 4]] {
            assert_eq!(mail.is_new(), part[0] > 1);
            news.extend(part);
            mail.write(|content| hand_on(&mut news, content));
            mail.announce();
            assert!(news.is_empty());
        }
        assert_eq!(mail.read(std::mem::take), [1, 2, 3, 4]);
        assert!(!mail.is_new());
    }
}
