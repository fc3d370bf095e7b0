//! CTA residency: how many fit, and which warp slots belong to which.

use crate::config::Machine;
use crate::config::machine::{CarveOut, CtaRelease};
use crate::error::{Error, Result};
use crate::isa::{BARRIERS, BarrierKind, BarrierUse, Cta, Kernel, WARP, WarpStream};
use crate::units::Cycle;

use super::scheduler::SLOTS;
use super::warps::Warps;

/// How many CTAs of a kernel an SM holds at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residency {
    /// CTAs at once, at least one.
    pub ctas: usize,
    /// Warps of one CTA.
    pub cta_warps: usize,
    /// Ways of the L1's sets while the kernel runs.
    pub l1_ways: usize,
}

impl Residency {
    /// The most CTAs of `kernel` that every resource of an SM allows.
    ///
    /// # Errors
    /// When not even one CTA fits; names the resource.
    pub fn new(kernel: &Kernel, machine: &Machine) -> Result<Self> {
        let most = Self::with_shared(kernel, machine, machine.shared_memory.size.get())?;
        let CarveOut::Unified { total, options } = &machine.shared_memory.carve_out else {
            return Ok(most);
        };
        let way = machine.l1.sets.get() * machine.l1.line.get();
        let fits = |size: u32| {
            let residency = Self::with_shared(kernel, machine, size).ok()?;
            let l1_ways = (machine.l1.size.get().min(total.get() - size) / way) as usize;
            (residency.ctas == most.ctas).then_some(Residency { l1_ways, ..residency })
        };
        let residency = options.iter().find_map(|option| fits(option.get()));
        Ok(residency.expect("the largest option is the size of shared memory"))
    }

    /// With so many bytes of shared memory.
    fn with_shared(kernel: &Kernel, machine: &Machine, shared_size: u32) -> Result<Self> {
        let sm = &machine.sm;
        let cta_warps = kernel.cta_warps();
        let threads = kernel.cta_threads;
        let warp_registers =
            (kernel.registers_per_thread * WARP as u32).next_multiple_of(sm.register_granule.get());
        // Each scheduler has its share of the register file, and its warps have theirs there.
        let schedulers = sm.schedulers.get();
        let register_warps = match warp_registers {
            0 => sm.max_warps.get(),
            registers => schedulers * (sm.registers.get() / schedulers / registers),
        };
        let registers = format!("warps of {warp_registers} registers");
        let shared = (u64::from(kernel.shared_bytes)
            + u64::from(machine.shared_memory.per_cta.get()))
        .next_multiple_of(u64::from(machine.shared_memory.granule.get()));
        let limits = [
            ("threads", u64::from(threads), u64::from(sm.max_cta_threads.get())),
            ("warps", cta_warps as u64, u64::from(sm.max_warps.get())),
            (&registers, cta_warps as u64, u64::from(register_warps)),
            ("bytes of shared memory", shared, u64::from(shared_size)),
        ];
        for (what, needed, there) in limits {
            if needed > there {
                return Err(Error::input(format!(
                    "kernel {}: a CTA of {threads} threads needs {needed} {what}, \
                     but an SM of the {} has {there}",
                    kernel.name, machine.name
                ))
                .hint("use a smaller block, or a machine with larger SMs"));
            }
        }
        let by_resource = limits[1..]
            .iter()
            .filter(|limit| limit.1 > 0)
            .map(|&(_, needed, there)| there / needed);
        let ctas = by_resource.min().unwrap_or(1).min(u64::from(sm.max_ctas.get())) as usize;
        Ok(Residency { ctas, cta_warps, l1_ways: machine.l1.ways.size() })
    }
}

/// The CTAs of one SM. CTA slot `i` has the warp slots from `i * cta_warps` on.
#[derive(Clone, Debug)]
pub struct Ctas {
    release: CtaRelease,
    /// From a CTA's last instruction to the first one of the next in its slot, at least.
    turnaround: u64,
    cta_warps: usize,
    /// By warp slot: what its warp executes.
    streams: Vec<WarpStream>,
    /// Where the next CTA is written, in the storage of the warp slots that it gets.
    storage: Cta,
    slots: Vec<Slot>,
    /// By warp slot: the CTA slot. A division would take longer than what asks for it.
    places: [u8; SLOTS],
    /// Slots without a CTA, the lowest last.
    free: Vec<usize>,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    resident: bool,
    /// The first cycle in which its next CTA may issue.
    next_issue: Cycle,
    /// Warps that have an instruction left.
    alive: u32,
    barriers: [Barrier; BARRIERS],
}

/// A barrier of a CTA.
#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    /// Warps that must arrive; 0 for all that run.
    warps: u16,
    /// Warps that have arrived.
    arrived: u16,
    /// Warp slots that wait.
    waiting: u64,
}

impl Ctas {
    /// No slot.
    pub fn new(release: CtaRelease, turnaround: u64) -> Self {
        Ctas {
            release,
            turnaround,
            cta_warps: 1,
            streams: vec![WarpStream::default(); SLOTS],
            storage: Cta::default(),
            slots: Vec::new(),
            places: [0; SLOTS],
            free: Vec::new(),
        }
    }

    /// Makes the slots for a kernel. No CTA may be resident.
    pub fn prepare(&mut self, residency: Residency) {
        debug_assert_eq!(self.free.len(), self.slots.len());
        self.cta_warps = residency.cta_warps;
        self.slots.resize_with(residency.ctas, Slot::default);
        self.slots.iter_mut().for_each(|slot| slot.next_issue = Cycle(0));
        for (warp, place) in self.places.iter_mut().enumerate() {
            *place = (warp / self.cta_warps) as u8;
        }
        self.free = (0..residency.ctas).rev().collect();
    }

    /// True when another CTA can start.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// CTAs that are resident.
    #[inline]
    pub fn resident(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The storage that the next CTA will be started from.
    pub fn next_storage(&mut self) -> &mut Cta {
        let slot = *self.free.last().expect("has_room was asked");
        self.storage.warps.resize_with(self.cta_warps, WarpStream::default);
        self.exchange(slot);
        &mut self.storage
    }

    /// Exchanges the streams of a CTA slot for those in the storage.
    fn exchange(&mut self, slot: usize) {
        let streams = &mut self.streams[slot * self.cta_warps..];
        for (stream, stored) in streams.iter_mut().zip(&mut self.storage.warps) {
            std::mem::swap(stream, stored);
        }
    }

    /// Makes the CTA in the next storage resident; gives its first warp slot, and the first cycle in which it may issue.
    pub fn start(&mut self, alive: u32) -> (usize, Cycle) {
        let index = self.free.pop().expect("has_room was asked");
        self.exchange(index);
        let slot = &mut self.slots[index];
        (slot.resident, slot.alive) = (true, alive);
        slot.barriers = Default::default();
        (index * self.cta_warps, slot.next_issue)
    }

    /// The CTA slot of a warp slot.
    #[inline]
    pub fn of_warp(&self, warp: usize) -> usize {
        usize::from(self.places[warp])
    }

    /// The instructions of a warp slot.
    #[inline]
    pub fn stream(&self, warp: usize) -> &WarpStream {
        &self.streams[warp]
    }

    /// A warp arrives at a barrier of its CTA, and waits there if that is how it uses it. When all that it is for
    /// have arrived, gives the warp slots that waited.
    pub fn arrive(&mut self, slot: usize, warp: usize, at: BarrierUse) -> Option<u64> {
        let Slot { alive, barriers, .. } = &mut self.slots[slot];
        let barrier = &mut barriers[usize::from(at.id)];
        barrier.warps = at.warps;
        barrier.arrived += 1;
        barrier.waiting |= u64::from(at.kind == BarrierKind::Wait) << warp;
        barrier.take_if_met(*alive)
    }

    /// A warp has run out of instructions at `now`. Gives the warp slots that waited at barriers which that opens,
    /// and how many those are.
    pub fn end_warp(&mut self, now: Cycle, slot: usize) -> (u64, u64) {
        let Slot { alive, next_issue, barriers, .. } = &mut self.slots[slot];
        *alive -= 1;
        *next_issue = now + self.turnaround;
        let opened = barriers.iter_mut().filter_map(|barrier| barrier.take_if_met(*alive));
        opened.fold((0, 0), |(warps, count), waiting| (warps | waiting, count + 1))
    }

    /// Frees a slot whose CTA has ended: no instruction left, no load outstanding and, if the machine
    /// asks for it, no store either. True when it did.
    #[inline]
    pub fn try_end(&mut self, slot: usize, warps: &Warps) -> bool {
        let state = &self.slots[slot];
        if !state.resident || state.alive > 0 {
            return false;
        }
        self.try_end_last(slot, warps)
    }

    /// The same, where no warp of it has an instruction left.
    #[inline(never)]
    fn try_end_last(&mut self, slot: usize, warps: &Warps) -> bool {
        let state = &mut self.slots[slot];
        let first = slot * self.cta_warps;
        let busy = (first..first + self.cta_warps).any(|warp| {
            warps[warp].pending_loads > 0
                || (self.release == CtaRelease::AfterStores && warps[warp].pending_stores > 0)
        });
        if !busy {
            state.resident = false;
            self.free.push(slot);
        }
        !busy
    }
}

impl Barrier {
    fn take_if_met(&mut self, alive: u32) -> Option<u64> {
        let wanted = if self.warps == 0 { alive } else { u32::from(self.warps) };
        let met = self.arrived > 0 && u32::from(self.arrived) >= wanted;
        met.then(|| std::mem::take(self).waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::presets;

    /// As `cudaOccupancyMaxActiveBlocksPerMultiprocessor` has it for an H100. The register files of the four schedulers hold
    /// whole warps: 36 warps of 1,792 registers, but 24 of 2,560.
    #[test]
    fn as_many_ctas_fit_as_on_an_h100() {
        let machine = presets::find("h200").unwrap().machine().unwrap();
        let ctas = |registers_per_thread: u32, warps: u32| {
            let kernel = Kernel {
                name: "k".into(),
                insts: Vec::new(),
                regs: 1,
                registers_per_thread,
                shared_bytes: 0,
                cta_threads: 32 * warps,
                ctas: 1,
                buffers: Vec::new(),
            };
            Residency::new(&kernel, &machine).map_or(0, |residency| residency.ctas)
        };
        let card = [
            (16, [32, 21, 16, 12, 7, 4, 2]),
            (56, [32, 12, 9, 7, 4, 2, 1]),
            (76, [24, 8, 6, 4, 2, 1, 0]),
            (105, [16, 5, 4, 3, 1, 1, 0]),
            (150, [12, 4, 3, 2, 1, 0, 0]),
            (201, [8, 2, 2, 1, 0, 0, 0]),
            (255, [8, 2, 2, 1, 0, 0, 0]),
        ];
        for (registers, fit) in card {
            let seen = [1, 3, 4, 5, 9, 13, 25].map(|warps| ctas(registers, warps));
            assert_eq!(seen, fit, "{registers} registers");
        }
    }

    /// A CTA of four warps in its slot.
    fn ctas() -> Ctas {
        let mut ctas = Ctas::new(CtaRelease::AfterLoads, 0);
        ctas.prepare(Residency { ctas: 2, cta_warps: 4, l1_ways: 1 });
        ctas.start(4);
        ctas
    }

    fn at(id: u8, warps: u16, kind: BarrierKind) -> BarrierUse {
        BarrierUse { id, warps, kind }
    }

    #[test]
    fn a_barrier_of_all_opens_for_the_last_warp_that_runs() {
        let mut ctas = ctas();
        for warp in 0..2 {
            assert_eq!(ctas.arrive(0, warp, BarrierUse::ALL), None);
        }
        assert_eq!(ctas.end_warp(Cycle(5), 0), (0, 0));
        assert_eq!(ctas.arrive(0, 3, BarrierUse::ALL), Some(0b1011));
        assert_eq!(ctas.arrive(0, 0, BarrierUse::ALL), None);
        assert_eq!(ctas.end_warp(Cycle(5), 0), (0, 0));
        assert_eq!(ctas.end_warp(Cycle(5), 0), (1, 1));
    }

    #[test]
    fn barriers_with_a_number_and_a_count_are_apart() {
        let mut ctas = ctas();
        assert_eq!(ctas.arrive(0, 0, at(1, 2, BarrierKind::Wait)), None);
        assert_eq!(ctas.arrive(0, 2, at(2, 2, BarrierKind::Wait)), None);
        assert_eq!(ctas.arrive(0, 1, at(1, 2, BarrierKind::Arrive)), Some(0b0001));
        assert_eq!(ctas.arrive(0, 3, at(2, 2, BarrierKind::Wait)), Some(0b1100));
        // Those that ended do not count at a barrier with a count.
        assert_eq!(ctas.arrive(0, 0, at(1, 2, BarrierKind::Wait)), None);
        assert_eq!(ctas.end_warp(Cycle(5), 0), (0, 0));
    }
}
