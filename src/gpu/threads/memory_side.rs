//! The memory while the SM side advances at the same time. It goes on in steps, which any thread may begin and whose partitions
//! are tasks for all.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use super::NO_PANIC;
use super::mailbox::{Mailbox, hand_on};
use crate::gpu::memory::{Hub, Memory, Partition};
use crate::gpu::news::{Reach, ToMemory, ToSmSide};
use crate::units::Cycle;

/// Both sides go on, a step at a time, by the least part of this that both together may: while one is at a step, the other one
/// can end one and begin the next.
pub const PARTS: u64 = 3;
/// A side is behind when it may go on so many times as far as the other one.
const BEHIND: (u64, u64) = (5, 4);
/// The cycles of a step of one side, which may go on by so many and the other one by so many.
pub fn step(this: u64, other: u64) -> u64 {
    (this + other).div_ceil(PARTS)
}

/// Whether a side that may go on by so many cycles is behind the other one, which may by so many.
pub fn is_behind(this: u64, other: u64) -> bool {
    this * BEHIND.1 >= other * BEHIND.0
}

/// The partitions and the reply network, for several threads.
pub struct MemorySide<'a, const WORDS: usize> {
    partitions: &'a [Mutex<Partition>],
    hub: &'a Mutex<Hub<WORDS>>,
    /// What the SM side tells.
    pub to_memory: Mailbox<ToMemory>,
    /// What it is told.
    pub to_sm_side: Mailbox<ToSmSide>,
    /// For who begins a step: what the SM side told last.
    told: Mutex<Told>,
    step: Step,
    /// Steps may begin.
    is_open: AtomicBool,
    /// A step is under way.
    is_busy: AtomicBool,
    /// There is more to do with what the SM side told last.
    has_more: AtomicBool,
    /// Partitions with something to do from which on a step is shared between threads.
    enough: usize,
}

/// What the SM side told last.
#[derive(Clone, Copy, Default)]
struct Told {
    reach: Reach,
    /// Cycles of the request network before this one are done.
    clock: Cycle,
}

/// The step under way, which one thread writes before it and all read in it.
#[derive(Default)]
struct Step {
    owing: AtomicU64,
    idle: AtomicU64,
    network: AtomicU64,
}

/// What came of the wish to begin a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// There is nothing to do, or somebody is at it.
    Nothing,
    /// A step too small to be shared is done: the SM side is to be told.
    Done,
    /// Every partition is a task now, for [`MemorySide::advance`], and [`MemorySide::finish`] after the last one.
    Shared,
}

impl<'a, const WORDS: usize> MemorySide<'a, WORDS> {
    /// Closed. A step with something to do for `enough` partitions is shared.
    pub fn new(
        partitions: &'a [Mutex<Partition>],
        hub: &'a Mutex<Hub<WORDS>>,
        enough: usize,
    ) -> Self {
        MemorySide {
            partitions,
            hub,
            to_memory: Mailbox::default(),
            to_sm_side: Mailbox::default(),
            told: Mutex::default(),
            step: Step::default(),
            is_open: AtomicBool::new(false),
            is_busy: AtomicBool::new(false),
            has_more: AtomicBool::new(false),
            enough,
        }
    }

    /// Lets steps begin.
    pub fn open(&self) {
        self.is_open.store(true, Ordering::Release);
    }

    /// Whether steps may begin.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Lets no other step begin; one may be under way.
    pub fn close(&self) {
        let _told = self.told.lock().expect(NO_PANIC);
        self.is_open.store(false, Ordering::Release);
    }

    /// Whether a step is under way.
    pub fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Acquire)
    }

    /// Begins a step, if there is something to do and nobody is at it.
    pub fn begin(&self) -> Begun {
        let may_begin = || self.is_wanted() && !self.is_busy();
        if !may_begin() {
            return Begun::Nothing;
        }
        let mut told = match self.told.try_lock() {
            Ok(told) => told,
            Err(TryLockError::WouldBlock) => return Begun::Nothing,
            Err(TryLockError::Poisoned(_)) => panic!("a thread failed"),
        };
        if !may_begin() {
            return Begun::Nothing;
        }
        let begun = self.prepare(&mut self.lock().memory(), &mut told);
        self.is_busy.store(begun == Begun::Shared, Ordering::Release);
        begun
    }

    /// Advances a partition in this step.
    pub fn advance(&self, number: usize) {
        let network = cycle(&self.step.network);
        self.partitions[number].lock().expect(NO_PANIC).advance(&self.reach(), network);
    }

    /// Ends a step in which every partition has advanced: the reply network, and partitions that have stopped for want of its
    /// news. Begins the next one, so that it is there for all when the SM side hears of this one.
    pub fn finish(&self) -> Begun {
        let mut told = self.told.lock().expect(NO_PANIC);
        let mut all = self.lock();
        let mut memory = all.memory();
        let reach = self.reach();
        memory.advance_replies(&reach);
        memory.advance(&reach);
        self.tell(&mut memory, &told);
        let begun = match self.is_wanted() {
            true => self.prepare(&mut memory, &mut told),
            false => Begun::Nothing,
        };
        self.is_busy.store(begun == Begun::Shared, Ordering::Release);
        begun
    }

    /// Whether there is anything to do.
    fn is_wanted(&self) -> bool {
        let has_work = self.to_memory.is_new() || self.has_more.load(Ordering::Relaxed);
        has_work && self.is_open()
    }

    /// Hears what the SM side tells, and makes ready for a step.
    fn prepare(&self, memory: &mut Lent<'_, 'a, WORDS>, told: &mut Told) -> Begun {
        if self.to_memory.is_new() {
            *told = self.to_memory.read(|mail| {
                memory.accept(&mut mail.arrived);
                Told { reach: mail.reach, clock: mail.clock }
            });
        }
        let reach = self.reach_of_step(memory, told);
        if memory.at_work(&reach) < self.enough {
            memory.advance(&reach);
            self.tell(memory, told);
            return Begun::Done;
        }
        self.step.owing.store(reach.owing.0, Ordering::Relaxed);
        self.step.idle.store(reach.idle.0, Ordering::Relaxed);
        self.step.network.store(memory.hub.replies.clock().0, Ordering::Relaxed);
        Begun::Shared
    }

    /// How far this step goes.
    fn reach(&self) -> Reach {
        Reach { owing: cycle(&self.step.owing), idle: cycle(&self.step.idle) }
    }

    /// How far the next step goes.
    fn reach_of_step(&self, memory: &Lent<'_, 'a, WORDS>, told: &Told) -> Reach {
        let Reach { owing, idle } = told.reach;
        let clock = memory.clock();
        let this = end(memory, &told.reach).since(clock);
        let sm_side = memory.replies_known_to(owing).since(told.clock);
        let owing = owing.min(clock + step(this, sm_side));
        Reach { owing, idle: idle.min(owing) }
    }

    /// Writes to the SM side how far the memory has come.
    fn tell(&self, memory: &mut Lent<'_, 'a, WORDS>, told: &Told) {
        let has_more = memory.clock() < end(memory, &told.reach);
        self.has_more.store(has_more, Ordering::Relaxed);
        self.to_sm_side.write(|mail| {
            hand_on(&mut memory.hub.replies.coming, &mut mail.replies);
            memory.take_left(|slice, cycle| mail.left.push((slice, cycle)));
            mail.known = memory.known(told.reach.owing);
        });
    }

    /// The memory, for one thread.
    pub fn lock(&self) -> LockedMemory<'a, WORDS> {
        let lock = |one: &'a Mutex<Partition>| one.lock().expect(NO_PANIC);
        LockedMemory {
            partitions: self.partitions.iter().map(lock).collect(),
            hub: self.hub.lock().expect(NO_PANIC),
        }
    }
}

/// The memory, locked.
pub struct LockedMemory<'a, const WORDS: usize> {
    partitions: Vec<MutexGuard<'a, Partition>>,
    hub: MutexGuard<'a, Hub<WORDS>>,
}

impl<'a, const WORDS: usize> LockedMemory<'a, WORDS> {
    /// As one.
    pub fn memory(&mut self) -> Lent<'_, 'a, WORDS> {
        let LockedMemory { partitions, hub } = self;
        Memory { partitions, hub }
    }
}

type Lent<'s, 'a, const WORDS: usize> = Memory<'s, MutexGuard<'a, Partition>, WORDS>;

/// How far the memory may go, as a whole.
fn end<const WORDS: usize>(memory: &Lent<'_, '_, WORDS>, reach: &Reach) -> Cycle {
    if memory.is_idle() { reach.idle } else { reach.owing }
}

/// What was stored of a step.
fn cycle(place: &AtomicU64) -> Cycle {
    Cycle(place.load(Ordering::Relaxed))
}
