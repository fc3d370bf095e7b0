//! CTAs executed ahead of their start, by whichever thread has nothing else to do. A few are held ready, those of the next
//! launch while the last ones of a launch run.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// CTAs to hold ready.
    target: usize,
    /// Whether there is something to do, for those who only look.
    wants: AtomicBool,
}

/// What is still to be executed.
struct Source<'a> {
    launches: &'a mut dyn LaunchSource,
    /// A launch is under way.
    has_begun: bool,
}

/// What was executed last.
enum Executed {
    /// The beginning of a launch.
    Launch(Arc<Kernel>),
    /// A CTA of it.
    Cta,
    /// The end of the last one.
    Nothing,
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
    Launch(Arc<Kernel>),
    Cta(Cta),
}

impl Source<'_> {
    /// Executes a CTA, or begins the next launch when the one under way has no more.
    fn execute(&mut self, cta: &mut Cta) -> Result<Executed> {
        if self.has_begun && self.launches.next(cta)? {
            return Ok(Executed::Cta);
        }
        let kernel = self.launches.begin()?;
        self.has_begun = kernel.is_some();
        Ok(kernel.map_or(Executed::Nothing, Executed::Launch))
    }
}

impl<'a> Ahead<'a> {
    /// Of `launches` for so many SMs.
    pub fn new(launches: &'a mut dyn LaunchSource, sms: usize) -> Self {
        Ahead {
            source: Mutex::new(Source { launches, has_begun: false }),
            done: Mutex::default(),
            target: READY * sms,
            wants: AtomicBool::new(true),
        }
    }

    /// Executes a CTA, if one is wanted and nobody is at it; false when not.
    pub fn try_fill(&self) -> bool {
        if !self.wants.load(Ordering::Relaxed) {
            return false;
        }
        let mut source = match self.source.try_lock() {
            Ok(source) => source,
            Err(TryLockError::WouldBlock) => return false,
            Err(TryLockError::Poisoned(_)) => panic!("a thread failed"),
        };
        let mut done = self.lock();
        if done.end.is_some() || done.ready.len() >= self.target {
            self.wants.store(false, Ordering::Relaxed);
            return false;
        }
        let mut cta = done.spare.pop().unwrap_or_default();
        drop(done);
        let executed = source.execute(&mut cta);
        let mut done = self.lock();
        match executed {
            Ok(Executed::Cta) => {
                done.ready.push_back(Item::Cta(cta));
                return true;
            }
            Ok(Executed::Launch(kernel)) => done.ready.push_back(Item::Launch(kernel)),
            Ok(Executed::Nothing) => done.end = Some(Ok(())),
            Err(error) => done.end = Some(Err(error)),
        }
        done.spare.push(cta);
        true
    }

    /// Takes what comes next if it is wanted; none when it is something else, or all is over.
    fn take(&self, is_wanted: impl Fn(&Item) -> bool) -> Result<Option<Item>> {
        loop {
            let mut done = self.lock();
            if let Some(next) = done.ready.front() {
                let item = if is_wanted(next) { done.ready.pop_front() } else { None };
                self.wants.store(done.end.is_none(), Ordering::Relaxed);
                return Ok(item);
            }
            if let Some(end) = &done.end {
                return end.clone().map(|()| None);
            }
            drop(done);
            self.wants.store(true, Ordering::Relaxed);
            if !self.try_fill() {
                std::thread::yield_now();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Done> {
        self.done.lock().expect(NO_PANIC)
    }
}

impl LaunchSource for &Ahead<'_> {
    /// Waits for the beginning of the next launch when that is being executed.
    fn begin(&mut self) -> Result<Option<Arc<Kernel>>> {
        match self.take(|item| matches!(item, Item::Launch(_)))? {
            Some(Item::Launch(kernel)) => Ok(Some(kernel)),
            _ => Ok(None),
        }
    }

    /// Waits for the next CTA when it is being executed.
    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        let Some(Item::Cta(ready)) = self.take(|item| matches!(item, Item::Cta(_)))? else {
            return Ok(false);
        };
        let spare = std::mem::replace(cta, ready);
        self.lock().spare.push(spare);
        Ok(true)
    }
}
