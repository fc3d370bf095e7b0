//! How many CTAs fit on an SM, and what of it is free.

use super::scheduler::SLOTS;
use crate::config::Machine;
use crate::config::machine::{BulkCopies, CarveOut, SmConfig, TensorCores};
use crate::error::{Error, Result};
use crate::isa::{Inst, Kernel, Op, WARP};
use crate::units::Bits;

/// Schedulers of an SM, at most.
const MOST_SCHEDULERS: usize = 8;

/// How many CTAs of a kernel an SM holds at once, and what one of them takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    /// CTAs at once, at least one, where the SM has no others.
    pub ctas: usize,
    /// Warps of one CTA.
    pub cta_warps: usize,
    /// Registers of a warp.
    pub warp_registers: u32,
    /// Shared memory of one CTA `[bytes]`.
    pub cta_shared: u32,
    /// Local memory of one thread `[bytes]`.
    pub local_bytes: u32,
    /// Shared memory of the SM where it is divided for this kernel `[bytes]`.
    pub shared_size: u32,
    /// Ways of the L1's sets there.
    pub l1_ways: usize,
}

/// What helps where a CTA has too many threads for an SM, or too much shared memory.
const BLOCK: &str = "use a smaller block, or a machine with larger SMs";
const SHARED: &str = "use less shared memory, or a machine with more of it";

/// Whether tensor cores do it.
fn multiplies_matrices(inst: &Inst) -> bool {
    matches!(inst.op, Op::Arith(class) if class.is_matrix_product())
}

/// Whether it is about products of warpgroups.
fn multiplies_by_warpgroups(inst: &Inst) -> bool {
    matches!(inst.op, Op::Warpgroup(_))
}

/// Whether the unit for bulk copies does it.
fn copies_in_bulk(inst: &Inst) -> bool {
    matches!(inst.op, Op::Bulk(_))
}

/// Registers of a thread, at most. Source: CUDA C++ Programming Guide, compute capabilities.
const MOST_REGISTERS: u32 = 255;

/// Registers that a warp takes whose threads have so many, and warps that find them.
fn by_registers(sm: &SmConfig, of_thread: u32) -> (u32, u32) {
    let of_warp = (of_thread * WARP as u32).next_multiple_of(sm.register_granule.get());
    // Each scheduler has its share of the register file, and its warps have theirs there.
    let schedulers = sm.schedulers.get();
    let warps = match of_warp {
        0 => sm.max_warps.get(),
        registers => schedulers * (sm.registers.get() / schedulers / registers),
    };
    (of_warp, warps)
}

impl Residency {
    /// Registers that a thread may have where all warps of an SM are to be resident, at most.
    pub fn registers_of_all_warps(sm: &SmConfig) -> u32 {
        let fits = |registers: &u32| by_registers(sm, *registers).1 >= sm.max_warps.get();
        (0..=MOST_REGISTERS).rev().find(fits).unwrap_or(0)
    }

    /// Warps at once, where the SM has no CTAs of others.
    pub fn warps(&self) -> u32 {
        (self.ctas * self.cta_warps) as u32
    }

    /// The most CTAs of `kernel` that every resource of an SM allows.
    ///
    /// # Errors
    /// A misfit when not even one CTA fits; names the resource.
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
        let (warp_registers, register_warps) = by_registers(sm, kernel.registers_per_thread);
        let registers = format!("warps of {warp_registers} registers");
        let shared = (u64::from(kernel.shared_bytes)
            + u64::from(machine.shared_memory.per_cta.get()))
        .next_multiple_of(u64::from(machine.shared_memory.granule.get()));
        let limits = [
            ("threads", u64::from(threads), u64::from(sm.max_cta_threads.get()), BLOCK),
            ("warps", cta_warps as u64, u64::from(sm.max_warps.get()), BLOCK),
            (&registers, cta_warps as u64, u64::from(register_warps), BLOCK),
            ("bytes of shared memory", shared, u64::from(shared_size), SHARED),
        ];
        for (what, needed, there, hint) in limits {
            if needed > there {
                return Err(Error::misfit(format!(
                    "kernel {}: a CTA needs {needed} {what}, but an SM of the {} has {there}",
                    kernel.name, machine.name
                ))
                .hint(hint));
            }
        }
        let refuse = |needs: fn(&Inst) -> bool, does: &str, what: &str, field: &str| {
            let Some(inst) = kernel.insts.iter().find(|inst| needs(inst)) else { return Ok(()) };
            Err(Error::misfit(format!(
                "kernel {}: its line {} {does}, but the {} is a machine without {what}",
                kernel.name, inst.line, machine.name
            ))
            .hint(format!("use a machine with `{field}`")))
        };
        if sm.arithmetic.tensor == TensorCores::Absent {
            let (does, what) = ("multiplies matrices", "tensor cores");
            refuse(multiplies_matrices, does, what, "sm.arithmetic.tensor")?;
        }
        if sm.arithmetic.tensor.warpgroups().is_none() {
            let (does, what) = ("multiplies matrices by warpgroups", "tensor cores that do");
            refuse(multiplies_by_warpgroups, does, what, "sm.arithmetic.tensor.warpgroups")?;
        }
        if sm.bulk_copies == BulkCopies::Absent {
            let (does, what) = ("begins a bulk copy", "a unit for these");
            refuse(copies_in_bulk, does, what, "sm.bulk_copies")?;
        }
        let by_resource = limits[1..]
            .iter()
            .filter(|limit| limit.1 > 0)
            .map(|&(_, needed, there, _)| there / needed);
        let ctas = by_resource.min().unwrap_or(1).min(u64::from(sm.max_ctas.get())) as usize;
        Ok(Residency {
            ctas,
            cta_warps,
            warp_registers,
            cta_shared: shared as u32,
            local_bytes: kernel.local_bytes,
            shared_size,
            l1_ways: machine.l1.ways.size(),
        })
    }
}

/// What of an SM no slot for a CTA has taken.
#[derive(Clone, Debug)]
pub(super) struct Room {
    ctas: usize,
    /// Warp slots.
    warps: u64,
    /// Registers, by scheduler.
    registers: [u32; MOST_SCHEDULERS],
    schedulers: usize,
    /// Shared memory `[bytes]`.
    shared: u32,
}

impl Room {
    /// All of an SM without shared memory.
    pub fn new(config: &SmConfig) -> Self {
        let schedulers = config.schedulers.size();
        Room {
            ctas: config.max_ctas.size(),
            warps: u64::MAX >> (SLOTS - config.max_warps.size()),
            registers: [config.registers.get() / schedulers as u32; MOST_SCHEDULERS],
            schedulers,
            shared: 0,
        }
    }

    /// So much shared memory is there, and nobody has any of it.
    pub fn set_shared(&mut self, bytes: u32) {
        self.shared = bytes;
    }

    /// Takes what a CTA needs: gives its warp slots, the lowest whose schedulers have the registers; none where it does not fit.
    pub fn take(&mut self, need: &Residency) -> Option<u64> {
        if self.ctas == 0 || self.shared < need.cta_shared {
            return None;
        }
        let mut registers = self.registers;
        let fits = |warp: &usize| {
            let left = &mut registers[warp % self.schedulers];
            let fits = *left >= need.warp_registers;
            *left -= if fits { need.warp_registers } else { 0 };
            fits
        };
        let chosen = Bits(self.warps).filter(fits).take(need.cta_warps);
        let warps = chosen.fold(0u64, |warps, warp| warps | 1 << warp);
        if (warps.count_ones() as usize) < need.cta_warps {
            return None;
        }
        (self.ctas, self.shared) = (self.ctas - 1, self.shared - need.cta_shared);
        (self.warps, self.registers) = (self.warps & !warps, registers);
        Some(warps)
    }

    /// Takes back what [`Room::take`] gave.
    pub fn give_back(&mut self, need: &Residency, warps: u64) {
        (self.ctas, self.shared) = (self.ctas + 1, self.shared + need.cta_shared);
        self.warps |= warps;
        for warp in Bits(warps) {
            self.registers[warp % self.schedulers] += need.warp_registers;
        }
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
                local_bytes: 0,
                cta_threads: 32 * warps,
                ctas: 1,
                buffers: Vec::new(),
                overlaps_next: false,
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

    /// A CTA of so many warps, with so many registers and so much shared memory.
    fn need(cta_warps: usize, warp_registers: u32, cta_shared: u32) -> Residency {
        Residency { cta_warps, warp_registers, cta_shared, ..Residency::default() }
    }

    #[test]
    fn ctas_of_two_kernels_share_what_there_is() {
        let machine = presets::find("gtx480").unwrap().machine().unwrap();
        let mut room = Room::new(&machine.sm);
        room.set_shared(48 << 10);
        let (large, small) = (need(16, 640, 40 << 10), need(2, 640, 1 << 10));
        let first = room.take(&large).unwrap();
        assert_eq!((first, room.take(&large)), (0xffff, None));
        // Seven more CTAs, and no eighth: an SM holds eight.
        let rest: Vec<u64> = std::iter::from_fn(|| room.take(&small)).collect();
        assert_eq!((rest.len(), rest[0], rest[6]), (7, 0x3_0000, 0x3000_0000));
        room.give_back(&large, first);
        room.give_back(&small, rest[0]);
        // Warp slots need not lie side by side.
        assert_eq!(room.take(&need(18, 0, 0)), Some(0x3_ffff));
        // Registers are those of a scheduler: the file has 32768, half of them for each.
        let mut room = Room::new(&machine.sm);
        assert_eq!(room.take(&need(3, 16384, 0)), None);
        assert_eq!(room.take(&need(2, 16384, 0)), Some(0b11));
        assert_eq!(room.take(&need(1, 1, 0)), None);
        assert_eq!(room.take(&need(1, 0, 0)), Some(0b100));
    }
}
