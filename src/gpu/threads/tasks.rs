//! Threads that share tasks.
//!
//! There are long tasks, which are handed out again by whoever has seen the last of them done, and rounds of short ones, which
//! the leader hands out and sees through. A thread has an order in which it looks for tasks that nobody has taken: first its
//! own, whose data is near it, then those of others. So most tasks are done by the same thread each time, and a thread that
//! the system holds up holds up nobody else.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Looks for work before a waiting thread lets others run.
const PATIENCE: u32 = 1 << 10;

/// What the threads have in common.
pub struct TaskPool {
    short: Tasks,
    long: Tasks,
    over: AtomicBool,
    failed: AtomicBool,
}

/// Tasks that are done again and again, each once a time.
pub struct Tasks {
    /// By thread: all tasks in the order in which it looks for one that nobody has taken.
    orders: Box<[Box<[usize]>]>,
    tasks: Box<[Task]>,
    /// How often they were handed out.
    times: Counter,
    /// Those that are done this time.
    done: Counter,
}

/// A number that lies on its own for the processor's caches: most tasks are always taken by the same thread.
#[repr(align(128))]
#[derive(Default)]
struct Counter(AtomicU64);

/// A task: the last time that it was taken.
type Task = Counter;

/// Notes a panic, so that nobody waits for ever.
struct Guard<'a>(&'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

impl Tasks {
    /// Of a pool of as many threads as there are `orders`, each of which names every task once.
    pub fn new(orders: impl IntoIterator<Item = Box<[usize]>>) -> Self {
        let orders: Box<[Box<[usize]>]> = orders.into_iter().collect();
        let tasks = orders.first().map_or(0, |order| order.len());
        debug_assert!(orders.iter().all(|order| order.len() == tasks));
        Tasks {
            orders,
            tasks: (0..tasks).map(|_| Task::default()).collect(),
            times: Counter::default(),
            done: Counter::default(),
        }
    }

    /// Hands them out; what was written before is seen by every task.
    fn hand_out(&self) {
        self.done.0.store(0, Ordering::Relaxed);
        let times = self.times.0.load(Ordering::Relaxed);
        self.times.0.store(times + 1, Ordering::Release);
    }

    /// How often they were handed out.
    fn times(&self) -> u64 {
        self.times.0.load(Ordering::Acquire)
    }

    /// Takes, one after the other, those of time `time` that nobody has taken.
    fn take(&self, time: u64, thread: usize) -> impl Iterator<Item = usize> {
        self.orders[thread].iter().copied().filter(move |&number| {
            let taken = &self.tasks[number].0;
            // For who is late, the exchange fails with every task.
            taken.load(Ordering::Relaxed) < time
                && taken
                    .compare_exchange(time - 1, time, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
        })
    }

    /// One that was taken is done; true when it is the last one this time.
    fn end(&self) -> bool {
        self.done.0.fetch_add(1, Ordering::AcqRel) + 1 == self.tasks.len() as u64
    }

    /// Whether all are done this time.
    fn are_done(&self) -> bool {
        self.done.0.load(Ordering::Acquire) == self.tasks.len() as u64
    }
}

impl TaskPool {
    /// With these tasks.
    pub fn new(short: Tasks, long: Tasks) -> Self {
        TaskPool { short, long, over: AtomicBool::new(false), failed: AtomicBool::new(false) }
    }

    /// The life of a helper, thread `thread` from 1 on: takes part in everything, and calls `last` after the last of the long
    /// tasks. It calls `urgent` before it looks for tasks, and `idle` where it finds none; these say whether they found something
    /// else to do.
    pub fn help(
        &self,
        thread: usize,
        short: impl Fn(usize),
        (long, last): (impl Fn(usize), impl Fn()),
        (urgent, idle): (impl Fn() -> bool, impl Fn() -> bool),
    ) {
        let _guard = Guard(&self.failed);
        let (mut waits, mut phase, mut round) = (0, 0, 0);
        while !self.over.load(Ordering::Acquire) {
            if urgent() {
                waits = 0;
                continue;
            }
            let (phases, rounds) = (self.long.times(), self.short.times());
            // The short ones first: the leader waits for the last of them at once.
            if rounds != round {
                round = rounds;
                self.short.take(round, thread).for_each(|task| self.do_short(task, &short));
            } else if phases != phase {
                phase = phases;
                self.long.take(phase, thread).for_each(|task| self.do_long(task, &long, &last));
            } else if !idle() {
                self.wait(&mut waits);
                continue;
            }
            waits = 0;
        }
    }

    fn do_long(&self, number: usize, task: impl Fn(usize), last: impl Fn()) {
        task(number);
        if self.long.end() {
            last();
        }
    }

    fn do_short(&self, number: usize, task: impl Fn(usize)) {
        task(number);
        self.short.end();
    }

    /// Hands out the long tasks, all of which are done.
    pub fn hand_out(&self) {
        self.long.hand_out();
    }

    /// The leader does one of the long tasks, and `last` after it if all others are done; false when none is left.
    pub fn push(&self, task: impl Fn(usize), last: impl Fn()) -> bool {
        let number = self.long.take(self.long.times(), 0).next();
        number.inspect(|&number| self.do_long(number, task, last)).is_some()
    }

    /// A round of the short tasks, with the leader's part in it; it ends when all of it is done.
    pub fn round(&self, task: impl Fn(usize)) {
        self.short.hand_out();
        self.short.take(self.short.times(), 0).for_each(|number| self.do_short(number, &task));
        let mut waits = 0;
        while !self.short.are_done() {
            self.wait(&mut waits);
        }
    }

    /// Passes a while; `waits` counts how often in a row.
    pub fn wait(&self, waits: &mut u32) {
        assert!(!self.failed.load(Ordering::Acquire), "a thread of the simulation failed");
        *waits = waits.saturating_add(1);
        if *waits < PATIENCE {
            return std::hint::spin_loop();
        }
        std::thread::yield_now();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_done_once_a_time_before_the_leader_goes_on() {
        const SHORT: usize = 7;
        const LONG: usize = 3;
        let orders =
            |tasks: usize| {
                Tasks::new((0..4).map(move |thread| {
                    (0..tasks).map(|task| (task + 2 * thread) % tasks).collect()
                }))
            };
        let pool = TaskPool::new(orders(SHORT), orders(LONG));
        let short: [AtomicU64; SHORT] = Default::default();
        let long: [AtomicU64; LONG] = Default::default();
        let over = AtomicU64::new(0);
        let count = |counts: &[AtomicU64], number: usize| {
            counts[number].fetch_add(1, Ordering::Relaxed);
        };
        let are_done = |counts: &[AtomicU64], times: u64| {
            counts.iter().all(|count| count.load(Ordering::Relaxed) == times)
        };
        let end = || {
            assert!(are_done(&long, over.load(Ordering::Relaxed) + 1));
            over.fetch_add(1, Ordering::Release);
        };
        std::thread::scope(|scope| {
            let _dismissal = pool.dismissal();
            for thread in 1..4 {
                let (pool, short, long) = (&pool, &short, &long);
                scope.spawn(move || {
                    let long = (|task| count(long, task), end);
                    pool.help(thread, |task| count(short, task), long, (|| false, || false));
                });
            }
            for phase in 1..=500 {
                pool.hand_out();
                for round in 1..=4 {
                    pool.round(|task| count(&short, task));
                    assert!(are_done(&short, 4 * (phase - 1) + round));
                }
                let mut waits = 0;
                while over.load(Ordering::Acquire) < phase {
                    if !pool.push(|task| count(&long, task), end) {
                        pool.wait(&mut waits);
                    }
                }
            }
        });
    }
}
