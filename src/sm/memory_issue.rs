//! The issue of memory instructions: what goes to the load/store unit, and who waits for it.

use super::buffers::Asked;
use super::core::{Coalescing, Sm};
use super::lsu::{Passes, Target};
use super::program::{FROM_MEMORY, Port};
use crate::config::machine::{LoadsLook, Segment};
use crate::isa::{
    AccessKind as MemoryKind, CacheOp, LOCAL_MEMORY, LaneAddresses, MemoryOp, Operands,
    SHARED_WINDOW, Space, Turns, WARP, local_shift,
};
use crate::parts::{AccessKind, Waiter};
use crate::units::Cycle;

/// Bytes of a word of local memory, and of a register.
const WORD: u32 = 4;

impl Sm {
    /// Issues a memory instruction; the one after it may issue at `next_issue`.
    #[inline(never)]
    pub(super) fn issue_memory(
        &mut self,
        now: Cycle,
        scheduler: usize,
        warp: usize,
        op: MemoryOp,
        dsts: Operands,
        next_issue: Cycle,
    ) {
        self.push_memory(now, scheduler, warp, op, dsts);
        self.pass_memory_instruction(now, warp, next_issue);
    }

    /// A warp has issued an instruction to the load/store unit; the one after it may issue at `next_issue`.
    #[inline(always)]
    fn pass_memory_instruction(&mut self, now: Cycle, warp: usize, next_issue: Cycle) {
        let Sm { program, warps, ctas, fetch, .. } = self;
        let Some(next) = warps.advance(warp, Port::Memory, ctas, program) else {
            return self.end_warp(now, warp);
        };
        if !fetch.holds_up(warps, now, warp, next_issue) {
            warps.wait_for_operands(warp, next, &program.delays, now, next_issue);
        }
    }

    /// Gives a memory instruction to the load/store unit.
    #[inline(always)]
    fn push_memory(
        &mut self,
        now: Cycle,
        scheduler: usize,
        warp: usize,
        op: MemoryOp,
        dsts: Operands,
    ) {
        let mut addresses = self.warps.reader_mut(warp).addresses(self.ctas.stream(warp));
        let space = space_of(op, &addresses);
        if space == Space::Local {
            self.place_local(warp, &mut addresses);
        } else if op.space == Space::Generic {
            addresses.align_local(op.bytes);
        }
        // Local memory is interleaved by words.
        let words = if space == Space::Local { u32::from(op.bytes).div_ceil(WORD) } else { 1 };
        let bytes = u32::from(op.bytes) / words;
        if space == Space::Shared {
            return self.push_shared(now, scheduler, warp, op, dsts, &addresses);
        }
        let kind = self.cache_access(op, space, dsts);
        let Coalescing { line_bits, atomic_work, .. } = self.coalescing;
        let is_constant = op.space == Space::Constant;
        let hits_by_banks = kind.looks_up() && self.lsu.has_banks();
        let (target, passes) = if !hits_by_banks {
            (Target::Cache(kind), Passes::default())
        } else if is_constant {
            (Target::Constants, Passes { count: addresses.distinct(), least: 1 })
        } else {
            (Target::Cache(kind), self.passes(op, &addresses, words))
        };
        let segment = match kind {
            _ if is_constant => Segment::Line,
            AccessKind::Atomic | AccessKind::Reduction => Segment::Line,
            _ => self.coalescing.segment,
        };
        let segment_bits = match (kind, segment, bytes) {
            // Different addresses take turns, whatever the rule for global memory: as accesses, where they do not as passes.
            // Source: CUDA C Programming Guide, "Device Memory Accesses", constant memory.
            _ if is_constant && target != Target::Constants => bytes.trailing_zeros(),
            (AccessKind::BypassLoad, ..) => self.coalescing.bypass_bits,
            (_, Segment::Line, _) => line_bits,
            // As GPGPU-Sim 3.x and 4.x coalesce for compute capability 2.x.
            (_, Segment::ByElement, 1) => 5,
            (_, Segment::ByElement, 2) => 6,
            (_, _, _) => line_bits,
        };
        let is_posted = kind.is_posted();
        let waits = if is_posted { warp as u32 } else { self.outstanding.next_place() };
        let waiter = waiter(waits, now);
        let accesses = self.lsu.push(now, warp, target, passes, waiter, |list| {
            match segment {
                _ if op.kind == MemoryKind::Copy && kind == AccessKind::BypassLoad => {
                    list.group_copies(&addresses, bytes, line_bits, segment_bits.min(line_bits));
                }
                Segment::HalfWarp => {
                    list.group_half_warps(&addresses, bytes, line_bits, is_posted);
                }
                Segment::HalfWarpInOrder => {
                    list.group_in_order(&addresses, bytes, line_bits, is_posted);
                }
                _ => list.group(&addresses, bytes, line_bits, segment_bits.min(line_bits)),
            }
            if matches!(kind, AccessKind::Atomic | AccessKind::Reduction)
                && let Some(work) = atomic_work
            {
                list.count_atomic_work(&addresses, bytes, line_bits, work);
            }
            if words > 1 {
                list.repeat(words, line_bits);
            }
            list.len()
        });
        let (instructions, sum) = match kind {
            AccessKind::Store | AccessKind::LocalStore => {
                (&mut self.stats.store_instructions, &mut self.stats.store_accesses)
            }
            AccessKind::Atomic | AccessKind::Reduction => {
                (&mut self.stats.atomic_instructions, &mut self.stats.atomic_accesses)
            }
            _ => (&mut self.stats.load_instructions, &mut self.stats.load_accesses),
        };
        *instructions += 1;
        *sum += accesses as u64;
        let place = if is_posted {
            self.warps[warp].pending_stores += accesses as u32;
            self.stores_in_flight += accesses as u64;
            None
        } else {
            let place = self.track(now, scheduler, warp, dsts, accesses);
            if let (MemoryKind::Copy, Some(place)) = (op.kind, place) {
                self.outstanding.at_mut(place).group = self.copies.begin(warp);
            }
            place
        };
        if let Some(profile) = &mut self.profile {
            if op.kind == MemoryKind::Copy {
                addresses.without_ways();
            }
            let asked = Asked { op, addresses: &addresses, accesses };
            profile.ask(self.warps.pc(warp), &asked, place);
        }
    }

    /// The local memory of a warp lies where that of its slot does.
    #[inline(never)]
    fn place_local(&self, warp: usize, addresses: &mut LaneAddresses) {
        let address = addresses.of(addresses.mask.trailing_zeros() as usize % WARP);
        let (bytes, slot) = (self.ctas.local_bytes(warp), self.first_slot + warp as u64);
        addresses.shift(local_shift(address, bytes.into(), slot));
    }

    /// Gives an access of shared memory to the load/store unit.
    #[inline(never)]
    fn push_shared(
        &mut self,
        now: Cycle,
        scheduler: usize,
        warp: usize,
        op: MemoryOp,
        dsts: Operands,
        addresses: &LaneAddresses,
    ) {
        self.stats.shared_instructions += 1;
        let passes = self.passes(op, addresses, 1);
        self.stats.shared_passes += u64::from(passes.count);
        if let Some(profile) = &mut self.profile {
            profile.count_passes(self.warps.pc(warp), passes.count);
        }
        let waiter = waiter(self.outstanding.next_place(), now);
        let pushed = self
            .lsu
            .push(now, warp, Target::Shared, passes, waiter, |_| passes.count.min(1) as usize);
        self.track(now, scheduler, warp, dsts, pushed);
    }

    /// Issues a shuffle, which takes a pass of the load/store unit; the next instruction may issue at `next_issue`.
    #[inline(never)]
    pub(super) fn issue_shuffle(
        &mut self,
        now: Cycle,
        scheduler: usize,
        warp: usize,
        dsts: Operands,
        next_issue: Cycle,
    ) {
        let waiter = waiter(self.outstanding.next_place(), now);
        let one = Passes { count: 1, least: 1 };
        self.lsu.push(now, warp, Target::Shuffle, one, waiter, |_| 1);
        self.track(now, scheduler, warp, dsts, 1);
        self.pass_memory_instruction(now, warp, next_issue);
    }

    /// Passes over the banks that an instruction takes, each word of local memory by itself. In a unit of two stages, a pass of a load
    /// gives each lane one register, as the eight rows of a matrix do.
    fn passes(&self, op: MemoryOp, addresses: &LaneAddresses, words: u32) -> Passes {
        let bytes = u32::from(op.bytes) / words;
        let (banks, mask) = (&self.banks, addresses.mask);
        let of_lanes =
            || [banks.lane_passes(addresses, bytes), banks.least_lane_passes(mask, bytes)];
        let [count, least] = match op.kind {
            MemoryKind::Atomic(Turns::Lanes) => of_lanes(),
            MemoryKind::Atomic(Turns::LanesTwice) => of_lanes().map(|passes| 2 * passes),
            kind => [banks.passes(addresses, bytes, kind), banks.least_passes(mask, bytes)],
        };
        let registers = match op.kind {
            MemoryKind::Load if self.lsu.has_banks() && count > 0 => bytes.div_ceil(WORD),
            _ => 0,
        };
        Passes { count: words * count.max(registers), least: words * least.max(registers) }
    }

    /// Notes a load of `accesses` accesses, and gives its place; its registers are ready at once when there are none.
    #[inline(always)]
    fn track(
        &mut self,
        now: Cycle,
        scheduler: usize,
        warp: usize,
        dsts: Operands,
        accesses: usize,
    ) -> Option<u32> {
        if accesses == 0 {
            for &reg in dsts.as_slice() {
                self.warps.set_ready_at(warp, reg, now + 1, FROM_MEMORY);
            }
            return None;
        }
        let place = self.outstanding.add(warp, dsts, accesses as u16, scheduler);
        self.warps[warp].pending_loads += 1;
        for &reg in dsts.as_slice() {
            self.warps.set_not_ready(warp, reg);
        }
        Some(place)
    }

    /// What a global, local or constant access asks of the cache.
    #[inline]
    fn cache_access(&self, op: MemoryOp, space: Space, dsts: Operands) -> AccessKind {
        match op.kind {
            MemoryKind::Store if space == Space::Local => AccessKind::LocalStore,
            MemoryKind::Store => AccessKind::Store,
            MemoryKind::Atomic(_) if dsts.as_slice().is_empty() => AccessKind::Reduction,
            MemoryKind::Atomic(_) => AccessKind::Atomic,
            MemoryKind::Load | MemoryKind::LoadMatrix | MemoryKind::Copy => {
                let past_l1 = matches!(op.cache, CacheOp::Global | CacheOp::Volatile);
                let look = match space {
                    Space::Global | Space::Generic if past_l1 => LoadsLook::Bypass,
                    Space::Global | Space::Generic => self.coalescing.global_loads,
                    Space::Local => self.coalescing.local_loads,
                    _ => LoadsLook::Cached,
                };
                match (look, op.cache) {
                    (LoadsLook::Bypass, _) => AccessKind::BypassLoad,
                    _ if !self.coalescing.follows_hints || space == Space::Local => {
                        AccessKind::Load
                    }
                    (_, CacheOp::Streaming) => AccessKind::LoadFirst,
                    (_, CacheOp::Keep) => AccessKind::LoadLast,
                    (_, CacheOp::LastUse) => AccessKind::LoadOnce,
                    _ => AccessKind::Load,
                }
            }
        }
    }
}

/// Who waits for an access of an instruction that is issued at `now`.
#[inline]
fn waiter(tracker: u32, now: Cycle) -> Waiter {
    Waiter { tracker, issued: now.into(), accepted: now.into() }
}

/// Where an access goes. The lanes of a generic one go where its first lane goes.
#[inline]
fn space_of(op: MemoryOp, addresses: &LaneAddresses) -> Space {
    if op.space != Space::Generic {
        return op.space;
    }
    match addresses.of(addresses.mask.trailing_zeros() as usize % WARP) {
        LOCAL_MEMORY.. => Space::Local,
        first if first & !(SHARED_WINDOW - 1) == SHARED_WINDOW => Space::Shared,
        _ => Space::Generic,
    }
}
