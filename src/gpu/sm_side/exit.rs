//! The way out of a miss queue, to the request network.

use crate::gpu::clocks::Domain;
use crate::parts::Request;
use crate::units::Cycle;

/// Requests leave a miss queue in the order in which they came, one in a network cycle at most.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exit {
    /// The network cycle from which on the next one can leave.
    pub free_from: Cycle,
}

impl Exit {
    /// The network cycle in which a request leaves that finds room, and can leave from `at` on.
    #[inline]
    pub fn leaves(&mut self, at: Cycle) -> Cycle {
        let leaves = at.max(self.free_from);
        self.free_from = leaves + 1;
        leaves
    }
}

/// The network cycle from which on a request can leave the miss queue: in the core cycle after that in which it joined it, which is
/// near `now`.
#[inline]
pub fn may_leave(request: &Request, now: Cycle, noc: &Domain) -> Cycle {
    noc.ticks_before(request.stamps.injected.near(now) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_leave_one_a_network_cycle_and_not_before_they_can() {
        let mut exit = Exit::default();
        let leaves = [5, 5, 5, 20, 20].map(|at| exit.leaves(Cycle(at)));
        assert_eq!(leaves, [5, 6, 7, 20, 21].map(Cycle));
    }
}
