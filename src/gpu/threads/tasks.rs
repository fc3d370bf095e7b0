//! Threads that share tasks.
//!
//! There are long tasks, which are handed out again by whoever has seen the last of them done, and rounds of short ones, which
//! the leader hands out and sees through. A thread has an order in which it looks for tasks that nobody has taken: first its
//! own, whose data is near it, then those of others. So most tasks are done by the same thread each time, and a thread that
//! the system holds up holds up nobody else.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::NO_PANIC;

/// Looks for work before a waiting thread lets others run.
const PATIENCE: u32 = 1 << 10;
/// Looks for work before a helper sleeps, where it may: some milliseconds, as it takes others time to rouse it.
const LONG_PATIENCE: u32 = 1 << 15;
/// Short tasks of a round that a helper leaves to the leader, where it is alone with it: it has other things to do, and an SM that
/// goes from thread to thread takes its data along.
const LEFT: usize = 4;
/// A helper that sleeps looks by itself after so long.
const NAP: Duration = Duration::from_millis(10);

/// What helpers do.
pub trait Work {
    /// A task that the leader waits for.
    fn short(&self, number: usize);

    /// A long task.
    fn long(&self, number: usize);

    /// What follows after the last of the long tasks.
    fn finish_long(&self);

    /// What comes before all tasks; whether there was any.
    fn urgent(&self) -> bool;

    /// What comes where there is no task; whether there was any.
    fn spare(&self) -> bool;

    /// Whether there will be nothing to do before somebody rouses the helpers.
    fn may_sleep(&self) -> bool;
}

/// What the threads have in common.
pub struct TaskPool {
    short: Tasks,
    long: Tasks,
    over: AtomicBool,
    failed: AtomicBool,
    /// Helpers that sleep, or are about to.
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    call: Condvar,
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
        self.orders[thread].iter().copied().filter(move |&number| self.try_take(time, number))
    }

    /// As [`Tasks::take`], but for the last ones of a leader that goes the other way, which need not wait then for a helper that has
    /// just taken one.
    fn take_beside_leader(&self, time: u64, thread: usize) -> impl Iterator<Item = usize> {
        let order = &self.orders[thread];
        let is_left = move |place: usize| !self.is_taken(time, order[place]);
        (0..order.len().saturating_sub(LEFT))
            .filter(move |&place| is_left(place))
            .take_while(move |&place| is_left(place + LEFT))
            .map(|place| order[place])
            .filter(move |&number| self.try_take(time, number))
    }

    fn is_taken(&self, time: u64, number: usize) -> bool {
        self.tasks[number].0.load(Ordering::Relaxed) >= time
    }

    /// Takes one, if nobody has taken it. For who is late, the exchange fails with every task.
    fn try_take(&self, time: u64, number: usize) -> bool {
        let taken = &self.tasks[number].0;
        !self.is_taken(time, number)
            && taken.compare_exchange(time - 1, time, Ordering::Acquire, Ordering::Relaxed).is_ok()
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
        TaskPool {
            short,
            long,
            over: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::default(),
            call: Condvar::new(),
        }
    }

    /// The life of a helper, thread `thread` from 1 on.
    pub fn help(&self, thread: usize, work: &impl Work) {
        let _guard = Guard(&self.failed);
        let (mut waits, mut phase, mut round) = (0, 0, 0);
        while !self.over.load(Ordering::Acquire) {
            let (phases, rounds) = (self.long.times(), self.short.times());
            if work.urgent() {
                // The others are still there.
            } else if rounds != round {
                // The leader waits for the last of these at once.
                round = rounds;
                if self.short.orders.len() > 2 {
                    self.short.take(round, thread).for_each(|task| self.do_short(task, work));
                } else {
                    let tasks = self.short.take_beside_leader(round, thread);
                    tasks.for_each(|task| self.do_short(task, work));
                }
            } else if phases != phase {
                phase = phases;
                self.long.take(phase, thread).for_each(|task| self.do_long(task, work));
            } else if !work.spare() {
                self.wait(&mut waits);
                if waits > LONG_PATIENCE && work.may_sleep() {
                    self.sleep(|| work.may_sleep());
                }
                continue;
            }
            waits = 0;
        }
    }

    fn do_long(&self, number: usize, work: &impl Work) {
        work.long(number);
        if self.long.end() {
            work.finish_long();
        }
    }

    fn do_short(&self, number: usize, work: &impl Work) {
        work.short(number);
        self.short.end();
    }

    /// Sleeps until somebody calls, or for a while, if `may_sleep` still says so.
    fn sleep(&self, may_sleep: impl Fn() -> bool) {
        let bed = self.bed.lock().expect(NO_PANIC);
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Who has work writes that before it looks for sleepers.
        fence(Ordering::SeqCst);
        if may_sleep() && !self.over.load(Ordering::Acquire) {
            drop(self.call.wait_timeout(bed, NAP).expect(NO_PANIC));
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Rouses the helpers that sleep: there is something to do.
    #[inline]
    pub fn rouse(&self) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            drop(self.bed.lock().expect(NO_PANIC));
            self.call.notify_all();
        }
    }

    /// Hands out the long tasks, all of which are done.
    pub fn hand_out(&self) {
        self.long.hand_out();
    }

    /// The leader does one of the long tasks, and what follows after it if all others are done; false when none is left.
    pub fn push(&self, work: &impl Work) -> bool {
        let number = self.long.take(self.long.times(), 0).next();
        number.inspect(|&number| self.do_long(number, work)).is_some()
    }

    /// A round of the short tasks, with the leader's part in it; it ends when all of it is done.
    pub fn round(&self, work: &impl Work) {
        self.short.hand_out();
        self.short.take(self.short.times(), 0).for_each(|number| self.do_short(number, work));
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
        struct Dismissal<'a>(&'a TaskPool);
        impl Drop for Dismissal<'_> {
            fn drop(&mut self) {
                self.0.over.store(true, Ordering::Release);
                self.0.rouse();
            }
        }
        Dismissal(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: usize = 7;
    const LONG: usize = 3;

    /// Counts how often each task is done.
    #[derive(Default)]
    struct Counts {
        short: [AtomicU64; SHORT],
        long: [AtomicU64; LONG],
        over: AtomicU64,
        /// Helpers are seldom needed.
        may_sleep: bool,
    }

    impl Counts {
        fn are(counts: &[AtomicU64], times: u64) -> bool {
            counts.iter().all(|count| count.load(Ordering::Relaxed) == times)
        }
    }

    impl Work for Counts {
        fn short(&self, number: usize) {
            self.short[number].fetch_add(1, Ordering::Relaxed);
        }

        fn long(&self, number: usize) {
            self.long[number].fetch_add(1, Ordering::Relaxed);
        }

        fn finish_long(&self) {
            assert!(Counts::are(&self.long, self.over.load(Ordering::Relaxed) + 1));
            self.over.fetch_add(1, Ordering::Release);
        }

        fn urgent(&self) -> bool {
            false
        }

        fn spare(&self) -> bool {
            false
        }

        fn may_sleep(&self) -> bool {
            self.may_sleep
        }
    }

    /// Does what `lead` says with three helpers, who are called home by the end.
    fn with_helpers(work: &Counts, lead: impl FnOnce(&TaskPool)) {
        let orders =
            |tasks: usize| {
                Tasks::new((0..4).map(move |thread| {
                    (0..tasks).map(|task| (task + 2 * thread) % tasks).collect()
                }))
            };
        let pool = TaskPool::new(orders(SHORT), orders(LONG));
        std::thread::scope(|scope| {
            let _dismissal = pool.dismissal();
            for thread in 1..4 {
                let pool = &pool;
                scope.spawn(move || pool.help(thread, work));
            }
            lead(&pool);
        });
    }

    #[test]
    fn every_task_is_done_once_a_time_before_the_leader_goes_on() {
        for may_sleep in [false, true] {
            let work = Counts { may_sleep, ..Counts::default() };
            with_helpers(&work, |pool| {
                for phase in 1..=500 {
                    pool.hand_out();
                    pool.rouse();
                    for round in 1..=4 {
                        pool.round(&work);
                        assert!(Counts::are(&work.short, 4 * (phase - 1) + round));
                    }
                    let mut waits = 0;
                    while work.over.load(Ordering::Acquire) < phase {
                        if !pool.push(&work) {
                            pool.wait(&mut waits);
                        }
                    }
                }
            });
        }
    }

    #[test]
    fn a_helper_that_is_alone_with_the_leader_leaves_the_last_tasks() {
        let forwards = (0..SHORT).collect::<Box<[usize]>>();
        let backwards = (0..SHORT).rev().collect::<Box<[usize]>>();
        for before in 0..=SHORT {
            let tasks = Tasks::new([forwards.clone(), backwards.clone()]);
            tasks.hand_out();
            assert_eq!(tasks.take(1, 0).take(before).count(), before);
            let taken: Vec<_> = tasks.take_beside_leader(1, 1).collect();
            let expected: Vec<_> = (before + LEFT..SHORT).rev().collect();
            assert_eq!(taken, expected);
            assert_eq!(tasks.take(1, 0).count(), SHORT - before - taken.len());
        }
    }

    #[test]
    fn a_helper_sleeps_until_there_is_something_to_do() {
        let work = Counts { may_sleep: true, ..Counts::default() };
        with_helpers(&work, |pool| {
            while pool.sleepers.load(Ordering::Relaxed) < 3 {
                std::thread::yield_now();
            }
            pool.hand_out();
            pool.rouse();
            while work.over.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
        });
    }
}
