//! Threads that share the tasks of a phase.
//!
//! A phase is a number of tasks that do not depend on each other; it ends when all are done. A thread has tasks of its
//! own, whose data is near it, and then takes what the others have left, the last first: so most tasks are done by the
//! same thread in each phase, and a thread that the system holds up holds up nobody else. Between phases the leader is
//! alone.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Looks for work before a waiting thread lets others run.
const PATIENCE: u32 = 1 << 10;

/// What the threads have in common.
pub struct Team {
    /// By thread: its own tasks, from the first one to the next thread's.
    firsts: Box<[usize]>,
    tasks: Box<[Task]>,
    phase: AtomicU64,
    done: AtomicUsize,
    over: AtomicBool,
    failed: AtomicBool,
}

/// A task. Each lies on its own for the processor's caches: most are always taken by the same thread.
#[repr(align(128))]
#[derive(Default)]
struct Task {
    /// The last phase in which it was taken.
    taken: AtomicU64,
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
    /// A team for phases of so many tasks, of which each thread's own begin at its place in `firsts`.
    pub fn new(tasks: usize, firsts: impl IntoIterator<Item = usize>) -> Self {
        Team {
            firsts: firsts.into_iter().chain([tasks]).collect(),
            tasks: (0..tasks).map(|_| Task::default()).collect(),
            phase: AtomicU64::new(0),
            done: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// The life of a helper, thread `thread` from 1 on: takes part in every phase, and calls `idle` between them, which
    /// says whether it found something to do.
    pub fn help(&self, thread: usize, task: impl Fn(usize), idle: impl Fn() -> bool) {
        let _guard = Guard(&self.failed);
        let (mut waits, mut seen) = (0, 0);
        while !self.over.load(Ordering::Acquire) {
            let phase = self.phase.load(Ordering::Acquire);
            if phase != seen {
                self.take_part(phase, thread, &task);
                (waits, seen) = (0, phase);
            } else if idle() {
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
        let phase = self.phase.load(Ordering::Relaxed) + 1;
        self.phase.store(phase, Ordering::Release);
        self.take_part(phase, 0, &task);
        let mut waits = 0;
        while self.done.load(Ordering::Acquire) < self.tasks.len() {
            assert!(!self.failed.load(Ordering::Acquire), "a thread of the simulation failed");
            waits += 1;
            wait(waits);
        }
    }

    /// Takes the tasks of `phase` that nobody has taken: its own, and then those before them, backwards and round.
    fn take_part(&self, phase: u64, thread: usize, task: &impl Fn(usize)) {
        let (count, own) = (self.tasks.len(), self.firsts[thread]..self.firsts[thread + 1]);
        let others = (1..=count - own.len()).map(|offset| (own.start + count - offset) % count);
        let mut done = 0;
        for number in own.clone().chain(others) {
            let taken = &self.tasks[number].taken;
            // Late for the phase, the exchange fails for every task.
            if taken.load(Ordering::Relaxed) < phase
                && taken
                    .compare_exchange(phase - 1, phase, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                task(number);
                done += 1;
            }
        }
        if done > 0 {
            self.done.fetch_add(done, Ordering::AcqRel);
        }
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
        let team = Team::new(TASKS, [0, 2, 4, 4]);
        let counts: [AtomicUsize; TASKS] = std::array::from_fn(|_| AtomicUsize::new(0));
        let task = |number: usize| {
            counts[number].fetch_add(1, Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            let _dismissal = team.dismissal();
            for thread in 1..4 {
                let team = &team;
                scope.spawn(move || team.help(thread, task, || false));
            }
            for phase in 1..=2000 {
                team.phase(task);
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == phase));
            }
        });
    }
}
