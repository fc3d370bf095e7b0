//! Threads that share the tasks of a phase.
//!
//! A phase is a number of tasks that do not depend on each other; it ends when all are done. Whoever is free
//! takes the next one, so that a thread that the system holds up holds up nobody else. Between phases the leader
//! is alone.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Looks for work before a waiting thread lets others run.
const PATIENCE: u32 = 1 << 10;

/// What the threads have in common.
pub struct Team {
    tasks: usize,
    /// The next task to take; all are taken from `tasks` on.
    next: AtomicUsize,
    done: AtomicUsize,
    over: AtomicBool,
    failed: AtomicBool,
}

/// Notes a panic, so that nobody waits for ever.
struct Guard<'a>(&'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

impl Team {
    /// A team for phases of so many tasks.
    pub fn new(tasks: usize) -> Self {
        Team {
            tasks,
            next: AtomicUsize::new(tasks),
            done: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// A helper's life: takes part in every phase, and calls `idle` between them, which says whether it found
    /// something to do.
    pub fn help(&self, task: impl Fn(usize), idle: impl Fn() -> bool) {
        let _guard = Guard(&self.failed);
        let mut waits = 0;
        while !self.over.load(Ordering::Acquire) {
            if self.take_part(&task) || idle() {
                waits = 0;
            } else {
                waits += 1;
                wait(waits);
            }
        }
    }

    /// Runs a phase; what was written before is seen by every task.
    pub fn phase(&self, task: impl Fn(usize)) {
        self.done.store(0, Ordering::Relaxed);
        self.next.store(0, Ordering::Release);
        self.take_part(&task);
        let mut waits = 0;
        while self.done.load(Ordering::Acquire) < self.tasks {
            assert!(!self.failed.load(Ordering::Acquire), "a thread of the simulation failed");
            waits += 1;
            wait(waits);
        }
    }

    /// Takes tasks until none is left; true if there was one.
    fn take_part(&self, task: &impl Fn(usize)) -> bool {
        let mut any = false;
        while self.next.load(Ordering::Relaxed) < self.tasks {
            let number = self.next.fetch_add(1, Ordering::AcqRel);
            if number >= self.tasks {
                break;
            }
            task(number);
            self.done.fetch_add(1, Ordering::AcqRel);
            any = true;
        }
        any
    }

    /// Sends the helpers home when it is dropped, by a panic too.
    pub fn dismissal(&self) -> impl Drop {
        struct Dismissal<'a>(&'a AtomicBool);
        impl Drop for Dismissal<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Release);
            }
        }
        Dismissal(&self.over)
    }
}

fn wait(waits: u32) {
    if waits < PATIENCE { std::hint::spin_loop() } else { std::thread::yield_now() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_of_every_phase_is_done_once_before_the_phase_ends() {
        const TASKS: usize = 7;
        let team = Team::new(TASKS);
        let counts: [AtomicUsize; TASKS] = std::array::from_fn(|_| AtomicUsize::new(0));
        let task = |number: usize| {
            counts[number].fetch_add(1, Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            let _dismissal = team.dismissal();
            for _ in 0..3 {
                scope.spawn(|| team.help(task, || false));
            }
            for phase in 1..=2000 {
                team.phase(task);
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == phase));
            }
        });
    }
}
