//! CTAs executed ahead of their start, by whichever thread has nothing else to do, or first of all where few are left. Some are held
//! ready, those of the next launch while the last ones of a launch run.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use super::NO_PANIC;
use crate::error::Result;
use crate::isa::{Cta, Kernel, LaunchSource};

/// CTAs held ready for each SM: so many that who has nothing else to do for a while need not stop, and few beside those that
/// run.
const READY: usize = 4;

/// The CTAs of launches, some of them executed ahead. They come in order, whoever executes them.
pub struct Ahead<'a> {
    source: Mutex<Source<'a>>,
    done: Mutex<Done>,
    /// So many are few: one for each SM, as the last may be needed soon. Who needs one waits for it, as they come one after the other,
    /// while others can do whatever else there is.
    few: usize,
    /// So many are to be held ready.
    target: usize,
    /// How many are ready, for those who only look; [`OVER`] where there are no others.
    ready: AtomicUsize,
    /// Somebody executes one: so others need not touch the lock, which would hold that up.
    is_busy: AtomicBool,
}

/// More than are ever wanted.
const OVER: usize = usize::MAX;

/// What is still to be executed.
struct Source<'a> {
    launches: &'a mut dyn LaunchSource,
    /// A launch is under way.
    has_begun: bool,
}

/// What was executed and not taken.
#[derive(Default)]
struct Done {
    ready: VecDeque<Item>,
    /// Storage of CTAs that have ended.
    spare: Vec<Cta>,
    /// How the source ended: it has no launch left, or failed.
    end: Option<Result<()>>,
}

enum Item {
    /// The beginning of a launch.
    Launch(Arc<Kernel>),
    /// A CTA of it.
    Cta(Cta),
}

impl Done {
    /// What was taken stays the next one.
    fn leave<T>(&mut self, item: Item) -> Option<T> {
        self.ready.push_front(item);
        None
    }
}

impl Source<'_> {
    /// Executes a CTA, into `storage` where there is any, or begins the next launch when the one under way has no more; none when that was
    /// the last. What is left in `storage` is for another one.
    fn execute(&mut self, storage: &mut Option<Cta>) -> Result<Option<Item>> {
        if self.has_begun && self.launches.next(storage.get_or_insert_default())? {
            return Ok(storage.take().map(Item::Cta));
        }
        let kernel = self.launches.begin()?;
        self.has_begun = kernel.is_some();
        Ok(kernel.map(Item::Launch))
    }
}

impl<'a> Ahead<'a> {
    /// Of `launches` for so many SMs.
    pub fn new(launches: &'a mut dyn LaunchSource, sms: usize) -> Self {
        Ahead {
            source: Mutex::new(Source { launches, has_begun: false }),
            done: Mutex::default(),
            few: sms,
            target: READY * sms,
            ready: AtomicUsize::new(0),
            is_busy: AtomicBool::new(false),
        }
    }

    /// Executes a CTA, if one is wanted and nobody is at it; false when not.
    pub fn try_fill(&self) -> bool {
        self.fill_to(self.target)
    }

    /// The same, where few are left.
    pub fn try_fill_few(&self) -> bool {
        self.fill_to(self.few)
    }

    /// Whether half of those that are wanted are missing.
    #[inline]
    pub fn is_low(&self) -> bool {
        self.ready.load(Ordering::Relaxed) < self.target / 2
    }

    /// The same, where fewer than `target` are ready.
    #[inline]
    fn fill_to(&self, target: usize) -> bool {
        self.ready.load(Ordering::Relaxed) < target
            && !self.is_busy.load(Ordering::Relaxed)
            && self.execute_next(target)
    }

    fn execute_next(&self, target: usize) -> bool {
        let mut source = match self.source.try_lock() {
            Ok(source) => source,
            Err(TryLockError::WouldBlock) => return false,
            Err(TryLockError::Poisoned(_)) => panic!("a thread failed"),
        };
        let mut done = self.lock();
        if done.end.is_some() || done.ready.len() >= target {
            return false;
        }
        let mut storage = done.spare.pop();
        drop(done);
        self.is_busy.store(true, Ordering::Relaxed);
        let executed = source.execute(&mut storage);
        self.is_busy.store(false, Ordering::Relaxed);
        let mut done = self.lock();
        done.spare.extend(storage);
        match executed {
            Ok(Some(item)) => done.ready.push_back(item),
            Ok(None) => done.end = Some(Ok(())),
            Err(error) => done.end = Some(Err(error)),
        }
        self.note_ready(&done);
        true
    }

    fn note_ready(&self, done: &Done) {
        let ready = if done.end.is_some() { OVER } else { done.ready.len() };
        self.ready.store(ready, Ordering::Relaxed);
    }

    /// Lets `take` have what comes next, and gives what it makes of it: none when it leaves that, or all is over. Calls `wait` as long as
    /// another thread is at it.
    fn take<T>(
        &self,
        mut take: impl FnMut(&mut Done) -> Option<T>,
        mut wait: impl FnMut(),
    ) -> Result<Option<T>> {
        loop {
            let mut done = self.lock();
            if !done.ready.is_empty() {
                let taken = take(&mut done);
                self.note_ready(&done);
                return Ok(taken);
            }
            if let Some(end) = &done.end {
                return end.clone().map(|()| None);
            }
            drop(done);
            if !self.try_fill() {
                wait();
            }
        }
    }

    /// Takes the beginning of the next launch, if there is one. Calls `wait` as long as another thread is at it.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn begin(&self, wait: impl FnMut()) -> Result<Option<Arc<Kernel>>> {
        let take = |done: &mut Done| match done.ready.pop_front()? {
            Item::Launch(kernel) => Some(kernel),
            cta @ Item::Cta(_) => done.leave(cta),
        };
        self.take(take, wait)
    }

    /// Takes the next CTA in exchange for one that is not needed any more; false when the launch has none left. Calls `wait` as long as
    /// another thread is at it.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn next(&self, cta: &mut Cta, wait: impl FnMut()) -> Result<bool> {
        let take = |done: &mut Done| match done.ready.pop_front()? {
            Item::Cta(ready) => {
                done.spare.push(std::mem::replace(cta, ready));
                Some(())
            }
            launch @ Item::Launch(_) => done.leave(launch),
        };
        Ok(self.take(take, wait)?.is_some())
    }

    fn lock(&self) -> MutexGuard<'_, Done> {
        self.done.lock().expect(NO_PANIC)
    }
}
