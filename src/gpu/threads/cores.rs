//! Cores for helpers.
//!
//! The system often lets a new thread begin on the core of its maker, which is busy, although another one has nothing to do, and takes
//! tens of milliseconds to see it: longer than many runs.

pub use system::Cores;

#[cfg(target_os = "linux")]
mod system {
    use std::sync::Mutex;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

    use crate::gpu::threads::NO_PANIC;

    /// The cores on which the threads of a run may be.
    pub struct Cores {
        all: CpuSet,
        /// Those on which neither the leader is nor a helper has begun.
        free: Mutex<CpuSet>,
    }

    impl Cores {
        /// Of the calling thread, which leads; none where the system does not tell.
        pub fn beside_leader() -> Option<Self> {
            let all = sched_getaffinity(None).ok()?;
            let mut free = all;
            free.unset(sched_getcpu());
            Some(Cores { all, free: Mutex::new(free) })
        }

        /// The calling thread, a helper, goes to a core of its own, if there is one. From then on the system places it.
        pub fn settle(&self) {
            let mut free = self.free.lock().expect(NO_PANIC);
            if free.count() > 0 && !free.is_set(sched_getcpu()) {
                // Where it may not, it stays.
                let _ = sched_setaffinity(None, &free);
                let _ = sched_setaffinity(None, &self.all);
            }
            free.unset(sched_getcpu());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// The cores on which the threads of a run may be, of which nothing is known.
    pub struct Cores;

    impl Cores {
        /// None.
        pub fn beside_leader() -> Option<Self> {
            None
        }

        /// The calling thread stays where it is.
        pub fn settle(&self) {}
    }
}
