//! Who may run: so many threads at a time, whatever number there is.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The right of so many workers to run at the same time.
///
/// Of the workers that want to run, those with the least rank do. A worker that waits for another gives
/// its permit up; so some worker always runs unless all wait for each other.
pub struct Permits {
    state: Mutex<State>,
    /// For who starts groups: one may have become possible.
    settled: Condvar,
}

struct State {
    /// Permits, and how many of them nobody holds.
    all: usize,
    free: usize,
    /// Workers that want a permit, and how to tell them that they have it.
    waiting: BTreeMap<Rank, Arc<Condvar>>,
    /// Workers by group, whether or not they run.
    groups: BTreeMap<usize, usize>,
}

/// A worker's place in the order: its group, then its number in it.
pub type Rank = (usize, usize);

impl Permits {
    /// So many permits, at least one.
    pub fn new(count: usize) -> Self {
        let state =
            State { all: count, free: count, waiting: BTreeMap::new(), groups: BTreeMap::new() };
        Permits { state: Mutex::new(state), settled: Condvar::new() }
    }

    /// A worker that wants to run from now on, before its thread is there.
    pub fn worker(&self, rank: Rank) -> Worker<'_> {
        let mut state = self.lock();
        *state.groups.entry(rank.0).or_default() += 1;
        let mut worker =
            Worker { permits: self, rank, wake: Arc::default(), standing: Standing::Paused };
        worker.ask(&mut state);
        worker
    }

    /// Waits until the groups there are leave a permit unused, and are fewer than permits.
    pub fn wait_for_room(&self) {
        let busy = |state: &mut State| {
            state.free == 0 || !state.waiting.is_empty() || state.groups.len() >= state.all
        };
        drop(self.settled.wait_while(self.lock(), busy));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole when something could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives free permits to those that wait.
    fn grant(&mut self) {
        while self.free > 0
            && let Some((_, wake)) = self.waiting.pop_first()
        {
            self.free -= 1;
            wake.notify_one();
        }
    }
}

/// A thread's right to run, or its wish to. Goes back when it is dropped.
pub struct Worker<'p> {
    permits: &'p Permits,
    rank: Rank,
    wake: Arc<Condvar>,
    standing: Standing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Wants no permit.
    Paused,
    /// Has asked for a permit, and may have got it.
    Asked,
}

impl Worker<'_> {
    /// Waits for the permit that was asked for.
    pub fn start(&mut self) {
        let mut state = self.permits.lock();
        self.ask(&mut state);
        let waits = |state: &mut State| state.waiting.contains_key(&self.rank);
        drop(self.wake.wait_while(state, waits));
    }

    /// Gives the permit up until the next [`Worker::start`].
    pub fn pause(&mut self) {
        let mut state = self.permits.lock();
        self.leave(&mut state);
    }

    fn ask(&mut self, state: &mut State) {
        if self.standing == Standing::Paused {
            self.standing = Standing::Asked;
            state.waiting.insert(self.rank, self.wake.clone());
            state.grant();
        }
    }

    fn leave(&mut self, state: &mut State) {
        if self.standing == Standing::Asked {
            self.standing = Standing::Paused;
            if state.waiting.remove(&self.rank).is_none() {
                state.free += 1;
                state.grant();
            }
        }
        self.permits.settled.notify_one();
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let mut state = self.permits.lock();
        self.leave(&mut state);
        let group = self.rank.0;
        let rest = state.groups.get_mut(&group).expect("it was counted");
        *rest -= 1;
        if *rest == 0 {
            state.groups.remove(&group);
        }
    }
}
