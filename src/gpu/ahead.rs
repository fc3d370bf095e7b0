//! CTAs executed ahead of their start, by whichever thread has nothing else to do.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, TryLockError};

use crate::error::Result;
use crate::isa::{Cta, CtaSource};

/// A launch's CTAs, some of them executed ahead. CTAs come in order, whoever executes them.
pub struct Ahead<'a> {
    source: Mutex<&'a mut dyn CtaSource>,
    done: Mutex<Done>,
    /// CTAs to hold ready.
    target: usize,
    /// Whether there is something to do, for those who only look.
    wants: AtomicBool,
}

#[derive(Default)]
struct Done {
    ready: VecDeque<Cta>,
    spare: Vec<Cta>,
    /// How the source ended: it has no CTA left, or failed.
    end: Option<Result<()>>,
}

impl<'a> Ahead<'a> {
    /// Of `source`, with `target` CTAs to be held ready.
    pub fn new(source: &'a mut dyn CtaSource, target: usize) -> Self {
        Ahead {
            source: Mutex::new(source),
            done: Mutex::default(),
            target,
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
        let mut done = self.done.lock().expect("no thread failed");
        if done.end.is_some() || done.ready.len() >= self.target {
            self.wants.store(false, Ordering::Relaxed);
            return false;
        }
        let mut cta = done.spare.pop().unwrap_or_default();
        drop(done);
        let outcome = source.next(&mut cta);
        let mut done = self.done.lock().expect("no thread failed");
        match outcome {
            Ok(true) => done.ready.push_back(cta),
            Ok(false) => done.end = Some(Ok(())),
            Err(error) => done.end = Some(Err(error)),
        }
        true
    }

    /// The next CTA, as [`CtaSource::next`]; waits for it when it is being executed.
    pub fn next(&self, cta: &mut Cta) -> Result<bool> {
        loop {
            let mut done = self.done.lock().expect("no thread failed");
            if let Some(ready) = done.ready.pop_front() {
                let spare = std::mem::replace(cta, ready);
                done.spare.push(spare);
                self.wants.store(done.end.is_none(), Ordering::Relaxed);
                return Ok(true);
            }
            if let Some(end) = &done.end {
                return end.clone().map(|()| false);
            }
            drop(done);
            self.wants.store(true, Ordering::Relaxed);
            if !self.try_fill() {
                std::thread::yield_now();
            }
        }
    }
}
