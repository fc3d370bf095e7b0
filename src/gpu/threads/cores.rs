//! Cores for helpers.
//!
//! The system often lets a new thread begin on the core of its maker, which is busy, although another one has nothing to do, and takes
//! tens of milliseconds to see it: longer than many runs.

pub use system::Cores;

#[cfg(target_os = "linux")]
mod system {
    use std::sync::{Condvar, Mutex};

    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

    use crate::gpu::threads::NO_PANIC;

    /// The cores on which the threads of a run may be.
    pub struct Cores {
        /// All, where the system tells of them.
        all: Option<CpuSet>,
        begun: Mutex<Begun>,
        has_begun: Condvar,
    }

    /// Who has begun where.
    struct Begun {
        /// Cores on which neither the leader is nor a helper has begun.
        free: CpuSet,
        helpers: usize,
    }

    impl Cores {
        /// Of the calling thread, which leads.
        pub fn beside_leader() -> Self {
            let all = sched_getaffinity(None).ok();
            let mut free = all.unwrap_or_default();
            // It tells of none where a core's number may be beyond the set.
            if all.is_some() {
                free.unset(sched_getcpu());
            }
            Cores { all, begun: Mutex::new(Begun { free, helpers: 0 }), has_begun: Condvar::new() }
        }

        /// The calling thread, a helper, goes to a core of its own, if there is one. From then on the system places it.
        pub fn settle(&self) {
            let mut begun = self.begun.lock().expect(NO_PANIC);
            let Begun { free, helpers } = &mut *begun;
            if let Some(all) = &self.all {
                if free.count() > 0 && !free.is_set(sched_getcpu()) {
                    // Where it may not, it stays.
                    let _ = sched_setaffinity(None, free);
                    let _ = sched_setaffinity(None, all);
                }
                free.unset(sched_getcpu());
            }
            *helpers += 1;
            self.has_begun.notify_one();
        }

        /// The leader waits until so many helpers have settled: one that began on its core can leave it meanwhile.
        pub fn wait_for(&self, helpers: usize) {
            let mut begun = self.begun.lock().expect(NO_PANIC);
            while begun.helpers < helpers {
                begun = self.has_begun.wait(begun).expect(NO_PANIC);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// The cores on which the threads of a run may be, of which nothing is known.
    pub struct Cores;

    impl Cores {
        /// Of the calling thread, which leads.
        pub fn beside_leader() -> Self {
            Cores
        }

        /// The calling thread, a helper, stays where it is.
        pub fn settle(&self) {}

        /// The leader goes on at once.
        pub fn wait_for(&self, _helpers: usize) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leader_goes_on_when_all_helpers_have_settled() {
        // More than there are cores, on most machines.
        for helpers in [0, 1, 70] {
            let cores = Cores::beside_leader();
            std::thread::scope(|scope| {
                for _ in 0..helpers {
                    scope.spawn(|| cores.settle());
                }
                cores.wait_for(helpers);
            });
        }
    }
}
