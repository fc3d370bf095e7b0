//! The queues of a load/store unit in two stages, one for each scheduler.

use crate::units::Cycle;

/// How many instructions of each scheduler are in the unit, and when it takes the next one.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    each: Box<[Queue]>,
    /// Instructions that find room in one of them.
    room: usize,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    /// The scheduler's warps.
    warps: u64,
    queued: usize,
    /// When the unit takes the next instruction, at the earliest.
    due: Cycle,
}

impl Queues {
    /// Empty ones with `room` places each, of schedulers with these warps.
    pub fn new(schedulers: impl Iterator<Item = u64>, room: usize) -> Self {
        let each = schedulers.map(|warps| Queue { warps, queued: 0, due: Cycle(0) }).collect();
        Queues { each, room }
    }

    /// Places in all of them together.
    pub fn places(&self) -> usize {
        self.each.len() * self.room
    }

    /// An instruction of `warp` joins, which is due at `due` at the earliest, and the next one `interval` cycles later. Gives when
    /// it is due, and the warps that find no more room.
    pub fn join(&mut self, warp: usize, due: Cycle, interval: u64) -> (Cycle, u64) {
        let room = self.room;
        let queue = self.of(warp);
        let due = due.max(queue.due);
        queue.due = due + interval;
        queue.queued += 1;
        debug_assert!(queue.queued <= room, "an instruction is issued to a full queue");
        (due, if queue.queued == room { queue.warps } else { 0 })
    }

    /// An instruction of `warp` leaves; gives the warps that find room now.
    pub fn leave(&mut self, warp: usize) -> u64 {
        let queue = self.of(warp);
        queue.queued -= 1;
        queue.warps
    }

    fn of(&mut self, warp: usize) -> &mut Queue {
        let queue = self.each.iter_mut().find(|queue| queue.warps >> warp & 1 == 1);
        queue.expect("every warp has a scheduler")
    }
}
