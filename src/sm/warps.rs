//! The resident warps: where each is in its stream, what it waits for, and its scoreboard.
//!
//! The sets that a scheduler asks for are bit masks over warp slots, kept up to date as things happen,
//! so that no cycle looks at every warp.

use std::hint::select_unpredictable;
use std::ops::{Index, IndexMut};

use super::ctas::Ctas;
use super::program::{Decoded, Delays, FROM_MEMORY, MAKERS, Maker, Port, Program};
use super::scheduler::{Ages, SLOTS};
use super::warp_slot::WarpSlot;
use crate::isa::{WarpReader, WarpStream};
use crate::stats::WaitReason;
use crate::units::{Bits, Cycle};

/// Slots of the wheel that wakes warps. Most latencies are shorter, and a small wheel stays in the processor's caches.
const WHEEL: usize = 64;

/// When a register is ready, in cycles since the epoch, and who makes its value: in one small word, as there are many.
#[derive(Clone, Copy, Debug)]
struct Ready(u32);

impl Ready {
    /// The cycle of what a load has.
    const NEVER: u32 = u32::MAX / MAKERS as u32;

    /// A load that is not done has it.
    const NOT: Ready = Ready(Ready::NEVER * MAKERS as u32 + FROM_MEMORY as u32);

    /// At the epoch, from memory: as when a warp starts.
    const AT_FIRST: Ready = Ready(FROM_MEMORY as u32);

    #[inline(always)]
    fn new(cycle: u64, maker: Maker) -> Self {
        debug_assert!(cycle < Ready::NEVER.into(), "the epoch is too long ago");
        Ready(cycle as u32 * MAKERS as u32 + u32::from(maker))
    }

    /// The cycle in which who needs it with these delays can issue; [`Ready::NEVER`] or later while a load has it.
    #[inline]
    fn at(self, delays: &[u8; MAKERS]) -> u32 {
        self.0 / MAKERS as u32 + u32::from(delays[self.0 as usize % MAKERS])
    }

    /// Memory makes the value, or it was there from the start.
    fn is_from_memory(self) -> bool {
        self.0 as usize % MAKERS == usize::from(FROM_MEMORY)
    }

    /// The same of an epoch that is so many cycles later.
    fn later(self, cycles: u32) -> Self {
        let (cycle, maker) = (self.0 / MAKERS as u32, self.0 % MAKERS as u32);
        let cycle = if cycle == Ready::NEVER { cycle } else { cycle.saturating_sub(cycles) };
        Ready(cycle * MAKERS as u32 + maker)
    }
}

/// Cycles from the epoch to the present after which another one is begun.
const LONG_EPOCH: u64 = 1 << 27;
/// Cycles from an epoch to the present when it is begun: what was ready before is ready for all readers, whatever the delay.
const BEFORE_EPOCH: u64 = 1 << 16;

/// The epoch that is begun at `now`.
fn epoch_at(now: Cycle) -> Cycle {
    Cycle(now.0.saturating_sub(BEFORE_EPOCH))
}

/// Every warp slot of an SM. What every cycle looks at comes first and lies together.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Warps {
    /// The next instruction's registers are ready.
    pub ready: u64,
    /// The next instruction waits for results of arithmetic, or for one of the three below.
    pub on_arithmetic: u64,
    /// The warp has come, and its first instruction cannot issue yet.
    pub starting: u64,
    /// The warp's data has come from the L2 and passes over to its registers.
    pub passing: u64,
    /// The next instruction is on its way from the instruction caches, or the warp's fence takes its time.
    pub on_fetch: u64,
    /// The next instruction waits for data from memory.
    pub on_memory: u64,
    /// The warp waits at a barrier, or behind it.
    pub at_barrier: u64,
    /// Its barrier opens at a cycle that is known, and nothing else that it waits for comes sooner.
    pub opening: u64,
    /// The warp has gone on behind a barrier, and has come to nothing yet that waits for it.
    pub past_barrier: u64,
    /// The warp waits at a fence, for stores alone where it is not in the next set as well.
    pub at_fence: u64,
    /// Those that wait for their bulk copies to global memory.
    pub at_bulk: u64,
    /// The warp has come to a product of its warpgroup, and others have not.
    pub at_product: u64,
    /// The warp waits at a fence, among other things for loads, or for copies.
    pub for_loads: u64,
    /// Warps that have an instruction left.
    pub alive: u64,
    /// Warps by the port that their next instruction needs.
    pub wants: [u64; Port::COUNT],
    /// Warps whose next instruction needs the register file of their scheduler, where that can be short.
    pub wants_reads: u64,
    /// A warp has gone from one of these sets to another since somebody set this to false.
    pub stirred: bool,
    /// Slots of the wheel that hold any: a bit each.
    slots: u64,
    /// Warps in it that may wake in a later turn.
    far: u64,
    /// The cycle from which those of the registers count, and the one in which another is chosen.
    epoch: Cycle,
    epoch_end: Cycle,
    regs: usize,
    /// When each register is ready, by warp slot and register, of slots up to the last that was ever in use; never, while a load has it.
    ready_at: Vec<Ready>,
    each: [WarpSlot; SLOTS],
    /// Warps to wake, by cycle modulo the wheel's size.
    wheel: [u64; WHEEL],
    /// Which warp came before which.
    pub ages: Ages,
}

impl Index<usize> for Warps {
    type Output = WarpSlot;

    /// A warp slot; its number is less than [`SLOTS`], which nothing need check.
    #[inline(always)]
    fn index(&self, warp: usize) -> &WarpSlot {
        debug_assert!(warp < SLOTS, "no such warp slot");
        &self.each[warp % SLOTS]
    }
}

impl IndexMut<usize> for Warps {
    #[inline(always)]
    fn index_mut(&mut self, warp: usize) -> &mut WarpSlot {
        debug_assert!(warp < SLOTS, "no such warp slot");
        &mut self.each[warp % SLOTS]
    }
}

impl Warps {
    /// No warp.
    pub fn new() -> Self {
        Warps {
            ready: 0,
            on_arithmetic: 0,
            starting: 0,
            passing: 0,
            on_fetch: 0,
            on_memory: 0,
            at_barrier: 0,
            opening: 0,
            past_barrier: 0,
            at_fence: 0,
            at_bulk: 0,
            at_product: 0,
            for_loads: 0,
            alive: 0,
            wants: [0; Port::COUNT],
            wants_reads: 0,
            stirred: false,
            slots: 0,
            far: 0,
            epoch: Cycle(0),
            epoch_end: Cycle(0),
            regs: 0,
            ready_at: Vec::new(),
            each: [WarpSlot::default(); SLOTS],
            wheel: [0; WHEEL],
            ages: Ages::default(),
        }
    }

    /// Makes room for the registers of a kernel that starts at `now`. No warp may be alive.
    pub fn prepare(&mut self, now: Cycle, regs: usize) {
        debug_assert_eq!(self.alive, 0);
        // Warps without registers have one, so that another kernel's room is made for them too.
        let regs = regs.max(1);
        if self.regs != regs {
            self.regs = regs;
            self.ready_at = Vec::with_capacity(SLOTS * regs);
        }
        self.set_epoch(epoch_at(now));
    }

    /// Makes room for the registers of another kernel, where warps may be alive.
    pub fn make_room(&mut self, regs: usize) {
        if regs <= self.regs {
            return;
        }
        let mut ready_at = Vec::with_capacity(SLOTS * regs);
        for of_warp in self.ready_at.chunks(self.regs.max(1)) {
            ready_at.extend_from_slice(of_warp);
            ready_at.resize(ready_at.len().next_multiple_of(regs), Ready::AT_FIRST);
        }
        (self.regs, self.ready_at) = (regs, ready_at);
    }

    fn set_epoch(&mut self, epoch: Cycle) {
        (self.epoch, self.epoch_end) = (epoch, epoch + LONG_EPOCH);
    }

    /// Cycle `now` comes: registers count from a cycle that is not too long ago.
    #[inline]
    pub fn come_to(&mut self, now: Cycle) {
        if now >= self.epoch_end {
            self.begin_epoch(now);
        }
    }

    #[cold]
    fn begin_epoch(&mut self, now: Cycle) {
        let epoch = epoch_at(now);
        let cycles = u32::try_from(epoch - self.epoch).unwrap_or(u32::MAX);
        self.ready_at.iter_mut().for_each(|ready| *ready = ready.later(cycles));
        self.set_epoch(epoch);
    }

    /// Starts a warp; its first instruction can issue from `first` on.
    pub fn start(
        &mut self,
        warp: usize,
        stream: &WarpStream,
        program: &Program,
        now: Cycle,
        first: Cycle,
    ) {
        self[warp].reader = WarpReader::new(stream);
        self.ages.come(warp);
        self.reset_registers(warp);
        if let Some(pc) = self[warp].take_run(stream) {
            self.alive |= 1 << warp;
            self.past_barrier &= !(1 << warp);
            let inst = self.fetch(warp, pc, program);
            self.wait_for_operands(warp, inst, &program.delays, now, first);
            self.starting |= self.on_arithmetic & 1 << warp;
        }
    }

    /// All registers of a warp are as when it starts.
    fn reset_registers(&mut self, warp: usize) {
        let (from, until) = (warp * self.regs, (warp + 1) * self.regs);
        if until > self.ready_at.len() {
            self.ready_at.resize(until, Ready::AT_FIRST);
        }
        self.ready_at[from..until].fill(Ready::AT_FIRST);
    }

    /// Notes what the warp's next instruction, which is at `pc`, needs, and gives it.
    #[inline]
    fn fetch<'p>(&mut self, warp: usize, pc: u32, program: &'p Program) -> &'p Decoded {
        let inst = &program.insts[pc as usize];
        self.wants[inst.port as usize] |= 1 << warp;
        self.wants_reads |= u64::from(inst.reads > 0) << warp;
        inst
    }

    /// Warps whose next instruction needs the load/store unit.
    #[inline]
    pub fn wants_memory(&self) -> u64 {
        self.wants[Port::Memory as usize]
    }

    /// Place of the warp's next instruction in the program.
    #[inline]
    pub fn pc(&self, warp: usize) -> usize {
        self[warp].pc as usize
    }

    /// Place of the warp's next instruction in the program, and how many lanes execute it.
    #[inline]
    pub fn next(&self, warp: usize) -> (usize, u64) {
        let WarpSlot { pc, lanes, .. } = self[warp];
        (pc as usize, lanes.into())
    }

    /// The warp's place in its stream.
    #[inline]
    pub fn reader_mut(&mut self, warp: usize) -> &mut WarpReader {
        &mut self[warp].reader
    }

    /// Steps past the next instruction, which is at `port`, and gives the one after it; none when it was the last. The warp
    /// is then in no set.
    #[inline(always)]
    pub fn advance<'p>(
        &mut self,
        warp: usize,
        port: Port,
        ctas: &Ctas,
        program: &'p Program,
    ) -> Option<&'p Decoded> {
        let others = !(1u64 << warp);
        self.ready &= others;
        self.wants_reads &= others;
        self.wants[port as usize] &= others;
        let Some(pc) = self[warp].advance(|| ctas.stream(warp)) else {
            self.alive &= others;
            return None;
        };
        Some(self.fetch(warp, pc, program))
    }

    /// Notes when a register will be ready, made by a pipeline.
    #[inline]
    pub fn set_ready_at(&mut self, warp: usize, reg: u16, cycle: Cycle, maker: Maker) {
        self.ready_at[warp * self.regs + usize::from(reg)] = Ready::new(cycle - self.epoch, maker);
    }

    /// A load that is not done has the register.
    #[inline]
    pub fn set_not_ready(&mut self, warp: usize, reg: u16) {
        self.ready_at[warp * self.regs + usize::from(reg)] = Ready::NOT;
    }

    /// Files the warp under what `inst`, its next instruction, waits for; it issues at `earliest` at the earliest.
    /// With `earliest` equal to `now` and every register ready it can issue in this very cycle.
    #[inline(always)]
    pub fn wait_for_operands(
        &mut self,
        warp: usize,
        inst: &Decoded,
        delays: &Delays,
        now: Cycle,
        earliest: Cycle,
    ) {
        let bit = 1u64 << warp;
        let registers = &self.ready_at[warp * self.regs..][..self.regs];
        let mut due = 0;
        if delays.any() {
            for need in inst.needs() {
                due = due.max(registers[usize::from(need.reg)].at(delays.of(need.reader)));
            }
        } else {
            for need in inst.needs() {
                due = due.max(registers[usize::from(need.reg)].0);
            }
            due /= MAKERS as u32;
        }
        self.stirred = true;
        if due >= Ready::NEVER {
            self.on_memory |= bit;
            self[warp].wakes_at = earliest.into();
            return;
        }
        let due = (self.epoch + u64::from(due)).max(earliest);
        if due <= now {
            self.ready |= bit;
        } else {
            self.file_arithmetic(warp, now, due);
        }
    }

    /// When the last of the registers was ready that `inst`, the warp's next instruction, needs, and what made that one. All are ready.
    #[inline(never)]
    pub fn made_ready(&self, warp: usize, inst: &Decoded, delays: &Delays) -> (Cycle, WaitReason) {
        let registers = &self.ready_at[warp * self.regs..][..self.regs];
        let each = inst.needs().iter().map(|need| {
            let ready = registers[usize::from(need.reg)];
            (ready.at(delays.of(need.reader)), ready.is_from_memory())
        });
        let (due, is_from_memory) = each.max().unwrap_or_default();
        let maker = if is_from_memory { WaitReason::Memory } else { WaitReason::Arithmetic };
        (self.epoch + u64::from(due), maker)
    }

    /// Files a warp that wakes at `due`, after `now`.
    #[inline(always)]
    fn file_arithmetic(&mut self, warp: usize, now: Cycle, due: Cycle) {
        self.on_arithmetic |= 1 << warp;
        self[warp].wakes_at = due.into();
        self.far |= u64::from(due - now >= WHEEL as u64) << warp;
        let slot = due.0 as usize % WHEEL;
        self.wheel[slot] |= 1 << warp;
        self.slots |= 1 << slot;
    }

    /// Files a warp whose next instruction comes at `there`, after `now`, or whose fence is done then.
    pub fn wait_for_instruction(&mut self, warp: usize, now: Cycle, there: Cycle) {
        self.stirred = true;
        self.on_fetch |= 1 << warp;
        self.file_arithmetic(warp, now, there);
    }

    /// Those of the warps in the ready set whose instruction has come. They are then in no set.
    pub fn take_fetched(&mut self) -> u64 {
        let fetched = self.ready & self.on_fetch;
        self.ready &= !fetched;
        self.on_fetch &= !fetched;
        fetched
    }

    /// Moves the warps whose operands become ready at `now`, or whose instruction comes then, to the ready set.
    #[inline]
    pub fn wake(&mut self, now: Cycle) {
        let slot = now.0 as usize % WHEEL;
        // Nobody can tell beforehand whether there are any.
        self.slots &= !(1 << slot);
        let mut due = std::mem::take(&mut self.wheel[slot]);
        if due & self.far != 0 {
            due = self.come_round(slot, due, now);
        }
        self.stirred |= due != 0;
        self.ready |= due;
        self.on_arithmetic &= !due;
        self.starting &= !due;
        self.passing &= !due;
        self.opening &= !due;
    }

    /// Those of the warps in a slot of the wheel that wake at `now`; the others stay there for another turn.
    #[cold]
    fn come_round(&mut self, slot: usize, warps: u64, now: Cycle) -> u64 {
        let is_later = |warp: &usize| self[*warp].wakes_at.near(now) > now;
        let later =
            Bits(warps & self.far).filter(is_later).fold(0, |later, warp| later | 1 << warp);
        self.wheel[slot] = later;
        self.slots |= u64::from(later != 0) << slot;
        self.far &= !warps | later;
        warps & !later
    }

    /// Warps that wait for results of arithmetic.
    #[inline]
    pub fn computing(&self) -> u64 {
        self.on_arithmetic & !(self.starting | self.passing | self.opening | self.on_fetch)
    }

    /// The next cycle after `now` in which a warp wakes, after those of `now`.
    #[inline]
    pub fn next_wake(&self, now: Cycle) -> Cycle {
        if self.far != 0 {
            return self.next_wake_of_all(now);
        }
        let first = now + 1;
        let wait = self.slots.rotate_right(first.0 as u32 % WHEEL as u32).trailing_zeros();
        // Nobody can tell beforehand whether there is one.
        Cycle(select_unpredictable(self.slots == 0, u64::MAX, first.0 + u64::from(wait)))
    }

    /// The same, where a warp may wake in a later turn of the wheel.
    #[inline(never)]
    fn next_wake_of_all(&self, now: Cycle) -> Cycle {
        let wakes = Bits(self.on_arithmetic).map(|warp| self[warp].wakes_at.near(now));
        wakes.fold(Cycle::NEVER, Cycle::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_wakes_in_its_cycle_however_far_that_is() {
        let wakes = [1, 63, 64, 65, 128, 640, 5000];
        let mut warps = Warps::new();
        for (warp, &at) in wakes.iter().enumerate() {
            warps.file_arithmetic(warp, Cycle(0), Cycle(at));
        }
        let mut next = Cycle(0);
        for now in 0..=5000 {
            // Whether or not every cycle is looked at.
            if now % 7 != 0 && next > Cycle(now) {
                continue;
            }
            warps.wake(Cycle(now));
            next = warps.next_wake(Cycle(now));
            assert_eq!(next.0, wakes.into_iter().find(|at| *at > now).unwrap_or(u64::MAX));
            let want = wakes.iter().zip(0..).filter(|(at, _)| **at <= now);
            assert_eq!(warps.ready, want.fold(0, |warps, (_, warp)| warps | 1 << warp), "{now}");
        }
        assert_eq!((warps.on_arithmetic, warps.far), (0, 0));
    }

    #[test]
    fn warps_without_registers_get_those_of_a_kernel_that_joins() {
        let mut warps = Warps::new();
        warps.prepare(Cycle(0), 0);
        warps.reset_registers(3);
        warps.make_room(5);
        assert_eq!(warps.ready_at.len(), 4 * 5);
        warps.set_not_ready(3, 4);
        warps.make_room(7);
        assert_eq!(warps.ready_at.len(), 4 * 7);
        assert_eq!(warps.ready_at[3 * 7 + 4].0, Ready::NOT.0);
    }

    #[test]
    fn registers_are_ready_when_they_were_in_a_new_epoch_too() {
        for at in [LONG_EPOCH, 5 * LONG_EPOCH] {
            let mut warps = Warps::new();
            warps.prepare(Cycle(at - LONG_EPOCH), 4);
            warps.reset_registers(0);
            let now = Cycle(at + BEFORE_EPOCH);
            warps.set_ready_at(0, 0, Cycle(at - LONG_EPOCH), 1);
            warps.set_ready_at(0, 1, now + 20, 2);
            warps.set_not_ready(0, 2);
            let before = warps.epoch;
            warps.come_to(now);
            assert!(warps.epoch > before);
            let cycles: Vec<u64> = (0..3)
                .map(|reg| u64::from(warps.ready_at[reg].at(&[0; MAKERS])) + warps.epoch.0)
                .collect();
            assert!(cycles[0] + u64::from(u8::MAX) < now.0);
            assert_eq!(Cycle(cycles[1]), now + 20);
            assert_eq!(warps.ready_at[1].0 as usize % MAKERS, 2);
            assert_eq!(warps.ready_at[2].0, Ready::NOT.0);
        }
    }
}
