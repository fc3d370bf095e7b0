//! The peak rate of every level.

use super::{has_l2, lookups, request_bytes};
use crate::config::Machine;
use crate::config::machine::{DataPort, GpcPort, LoadsLook, LsuStages, TensorCores};
use crate::isa::{AccessKind, ArithClass, LaneAddresses, Shape, WARP};
use crate::sm::{Banks, Port, Throughput};

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Warp instructions.
    Instructions,
    /// Operations of single threads; a multiply-add is one.
    Operations,
    /// Packets of the interconnect.
    Requests,
    /// Bytes of data, without headers.
    Bytes,
}

/// A peak rate of the whole chip.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// What it is.
    pub name: String,
    /// What it counts.
    pub unit: Unit,
    /// `[units/s]`
    pub per_second: f64,
    /// The fields of the machine that set it, by the paths that `--set` takes.
    pub set_by: String,
}

impl Rate {
    /// Units in a cycle of the core clock.
    pub fn per_cycle(&self, machine: &Machine) -> f64 {
        self.per_second / hertz(machine.clocks.core_khz.get())
    }
}

/// What keeps reads from being faster.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrowest {
    /// The level, as [`Rate::name`](super::Rate) has it, or who holds what is under way.
    pub name: String,
    /// Bytes that it lets come to the SMs [bytes/s].
    pub bytes_per_second: f64,
}

/// The peak rates of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// From the schedulers to the DRAM.
    pub all: Vec<Rate>,
    /// For reads of what is in DRAM only.
    pub from_dram: Narrowest,
    /// For reads that hit the L2; none where it keeps nothing.
    pub from_l2: Option<Narrowest>,
}

/// Bytes of a sector of the L2.
const SECTOR: u32 = 32;

/// Widths that a lane can load `[bytes]`.
const WIDTHS: [u32; 3] = [4, 8, 16];

/// The kinds of arithmetic that are shown, with the field that has their interval.
const ARITHMETIC: [(&str, ArithClass, &str); 5] = [
    ("single-precision multiply-adds", ArithClass::FpFma, "fp_fma"),
    ("integer additions", ArithClass::IntAdd, "int_add"),
    ("integer multiply-adds", ArithClass::IntMad, "int_mad"),
    ("special functions", ArithClass::Sfu, "sfu"),
    ("double-precision multiply-adds", ArithClass::DpFma, "dp_fma"),
];

/// The least compute capability with double precision. Source: CUDA C Programming Guide, "Compute Capabilities".
const HAS_DOUBLES: (u8, u8) = (1, 3);

impl Rates {
    /// The peak rates of `machine`.
    pub fn of(machine: &Machine) -> Self {
        let loads = loads(machine);
        let requests = read_requests(machine);
        let (l2, fetches, replies) = (l2_reads(machine), l2_fetches(machine), replies(machine));
        let dram = Rate {
            name: "DRAM".to_owned(),
            unit: Unit::Bytes,
            per_second: machine.dram_peak(),
            set_by: "dram.channels, bus_bytes, data_rate".to_owned(),
        };
        let bytes = f64::from(request_bytes(machine));
        let ways_in = [(&loads, 1.0), (&requests, bytes), (&replies, 1.0)];
        let from_dram = [(&l2, 1.0 / lookups(machine)), (&fetches, 1.0), (&dram, 1.0)];
        let narrowest_dram = narrowest(&[&ways_in[..], &from_dram].concat());
        let narrowest_l2 = narrowest(&[&ways_in[..], &[(&l2, 1.0)]].concat());
        let mut all = vec![issue(machine)];
        all.extend(arithmetic(machine));
        all.push(shared_memory(machine));
        let hits = l1_hits(machine);
        // Tags that keep up with any hits hold up no load.
        let keep_up = hits.as_ref().is_some_and(|hits| loads.per_second > hits.per_second);
        all.extend(hits);
        all.extend((!keep_up).then_some(loads));
        all.extend([requests, stores(machine), l2, l2_writes(machine), replies, fetches, dram]);
        let from_l2 = has_l2(machine).then_some(narrowest_l2);
        Rates { all, from_dram: narrowest_dram, from_l2 }
    }
}

/// The narrowest of some levels, of which each unit brings so many bytes to the SMs. Of equal ones the last.
fn narrowest(levels: &[(&Rate, f64)]) -> Narrowest {
    let of = |&(rate, bytes): &(&Rate, f64)| Narrowest {
        name: rate.name.clone(),
        bytes_per_second: rate.per_second * bytes,
    };
    let all = levels.iter().rev().map(of);
    let least = all.min_by(|one, other| one.bytes_per_second.total_cmp(&other.bytes_per_second));
    least.expect("there are levels")
}

/// A clock in Hz.
fn hertz(khz: u32) -> f64 {
    f64::from(khz) * 1e3
}

/// The least of some bounds, with the field that sets it. Of equal ones the first.
fn least<'n>(bounds: &[(f64, &'n str)]) -> (f64, &'n str) {
    bounds.iter().fold((f64::INFINITY, ""), |least, bound| match bound.0 < least.0 {
        true => *bound,
        false => least,
    })
}

/// A rate of so many units in a cycle of a clock.
fn rate(name: &str, unit: Unit, khz: u32, (units, set_by): (f64, &str)) -> Rate {
    let per_second = units * hertz(khz);
    Rate { name: name.to_owned(), unit, per_second, set_by: set_by.to_owned() }
}

/// As [`rate`], of every SM and in the core's clock.
fn of_sms(machine: &Machine, name: &str, unit: Unit, (units, set_by): (f64, &str)) -> Rate {
    let units = f64::from(machine.sm.count.get()) * units;
    rate(name, unit, machine.clocks.core_khz.get(), (units, set_by))
}

/// Instructions that the schedulers of an SM issue in a cycle.
fn issued(machine: &Machine) -> f64 {
    f64::from(machine.sm.schedulers.get() * machine.sm.issue_width.get())
}

fn issue(machine: &Machine) -> Rate {
    let set_by = "sm.schedulers, issue_width";
    of_sms(machine, "issue", Unit::Instructions, (issued(machine), set_by))
}

/// The tensor cores, in multiply-adds of half precision; none where there are no cores.
fn matrix_products(machine: &Machine) -> Option<Rate> {
    /// Of a product of 16 by 8 by 16.
    const MULTIPLY_ADDS: f64 = 16.0 * 8.0 * 16.0;
    let tensor = machine.sm.arithmetic.tensor;
    if tensor == TensorCores::Absent {
        return None;
    }
    let Throughput { pipelines, interval, .. } = Throughput::of(&machine.sm, ArithClass::Mma);
    let by_warps = (1.0 / interval as f64, "sm.arithmetic.tensor, mma.interval");
    let by_groups = tensor.warpgroups().map(|times| {
        (f64::from(times.columns.get()) / 8.0, "sm.arithmetic.tensor, warpgroups.columns")
    });
    let (products, set_by) = by_groups.filter(|groups| groups.0 > by_warps.0).unwrap_or(by_warps);
    let rate = (MULTIPLY_ADDS * products * pipelines as f64, set_by);
    Some(of_sms(machine, "multiply-adds of tensor cores", Unit::Operations, rate))
}

/// The arithmetic pipelines, as `sm/pipelines.rs` has them, where operands come without conflicts.
fn arithmetic(machine: &Machine) -> Vec<Rate> {
    let has = |class| class != ArithClass::DpFma || machine.compute_capability >= HAS_DOUBLES;
    let kinds = ARITHMETIC.into_iter().filter(|&(_, class, _)| has(class));
    let rate_of = |(name, class, field)| {
        let Throughput { port, pipelines, interval } = Throughput::of(&machine.sm, class);
        let units = match port {
            Port::Sp => "sp_units",
            Port::Int => "int_units",
            Port::Sfu => "sfu_units",
            _ => "dp_units",
        };
        let pipelines = (pipelines as f64 / interval as f64, "");
        let (instructions, set_by) = least(&[pipelines, (issued(machine), "sm.schedulers")]);
        let pipelines = format!("sm.arithmetic.{units}, {field}.interval");
        let set_by = if set_by.is_empty() { &pipelines } else { set_by };
        of_sms(machine, name, Unit::Operations, (instructions * WARP as f64, set_by))
    };
    kinds.map(rate_of).chain(matrix_products(machine)).collect()
}

/// Cycles between two instructions that a load/store unit takes, at least: with `TagsThenBanks` those of all schedulers
/// (`sm/lsu/queues.rs`).
fn between_instructions(machine: &Machine) -> f64 {
    match machine.lsu.stages {
        LsuStages::One => 1.0,
        LsuStages::TagsThenBanks { scheduler_interval, .. } => {
            f64::from(scheduler_interval.get()) / f64::from(machine.sm.schedulers.get())
        }
    }
}

/// Passes over the banks of a load of neighbouring words. Where the L1 has the same banks, a pass gives a lane one register.
fn passes(machine: &Machine, width: u32) -> u32 {
    let shape = Shape::Affine { base: 0, stride: width as i32 };
    let addresses = LaneAddresses { mask: !0, shape };
    let passes = Banks::new(&machine.shared_memory).passes(&addresses, width, AccessKind::Load);
    match machine.lsu.stages {
        LsuStages::One => passes,
        LsuStages::TagsThenBanks { .. } => passes.max(width / 4),
    }
}

/// Bytes in a cycle of the best width, each instruction of which takes so many cycles.
fn best(cycles: impl Fn(u32) -> f64) -> f64 {
    let bytes = |width: u32| f64::from(WARP as u32 * width) / cycles(width);
    WIDTHS.into_iter().map(bytes).fold(0.0, f64::max)
}

/// Shared memory: a pass over the banks of an SM in a cycle (`sm/lsu/unit.rs`, `banked.rs`).
fn shared_memory(machine: &Machine) -> Rate {
    let cycles = |width| f64::from(passes(machine, width)).max(between_instructions(machine));
    let set_by = "shared_memory.banks, bank_bytes";
    of_sms(machine, "shared memory", Unit::Bytes, (best(cycles), set_by))
}

/// Cycles in which the tags see a load of neighbouring words, in accesses of so many bytes: an access in a cycle, or several
/// of one instruction.
fn at_tags(machine: &Machine, width: u32, bytes: u32) -> f64 {
    let accesses = (WARP as u32 * width).div_ceil(bytes);
    match machine.lsu.stages {
        LsuStages::One => f64::from(accesses),
        LsuStages::TagsThenBanks { lines, .. } => {
            f64::from(accesses.div_ceil(lines.get())).max(between_instructions(machine))
        }
    }
}

/// Loads that hit the L1: by lines, or by passes over its banks. None where it serves constants only.
fn l1_hits(machine: &Machine) -> Option<Rate> {
    let l1 = &machine.l1;
    let name = match (l1.global_loads, l1.local_loads) {
        (LoadsLook::Cached, _) => "L1 hits",
        (LoadsLook::Bypass, LoadsLook::Cached) => "L1 hits, of local memory",
        (LoadsLook::Bypass, LoadsLook::Bypass) => return None,
    };
    let (by_banks, set_by) = match machine.lsu.stages {
        LsuStages::One => (false, "lsu.stages, l1.line"),
        LsuStages::TagsThenBanks { .. } => (true, "shared_memory.banks, bank_bytes"),
    };
    let cycles = |width| {
        let passes = if by_banks { f64::from(passes(machine, width)) } else { 0.0 };
        at_tags(machine, width, l1.line.get()).max(passes)
    };
    Some(of_sms(machine, name, Unit::Bytes, (best(cycles), set_by)))
}

/// Global loads on their way to the L2: an access in a cycle, or the lines that are looked up in it.
fn loads(machine: &Machine) -> Rate {
    let (name, set_by) = match machine.l1.global_loads {
        LoadsLook::Cached => ("L1 lookups", "lsu.stages, l1.line"),
        LoadsLook::Bypass => ("loads past the L1", "lsu.stages, segment, bypass_segment"),
    };
    let bytes = best(|width| at_tags(machine, width, request_bytes(machine)));
    of_sms(machine, name, Unit::Bytes, (bytes, set_by))
}

/// Packets of so many bytes in a cycle of the interconnect, from SMs to slices. A packet keeps its input and its output as
/// long as its flits take there (`noc/crossbar.rs`).
fn to_slices(machine: &Machine, data: u32) -> (f64, &'static str) {
    let (noc, sms, slices) = (&machine.noc, machine.sm.count.get(), machine.l2.slices.get());
    let packets = |ports: u32, bytes| f64::from(ports) / f64::from(noc.flits(data, bytes));
    least(&[
        (packets(sms, noc.sm_out_bytes.get()), "noc.sm_out_bytes"),
        (packets(slices, noc.slice_in_bytes.get()), "noc.slice_in_bytes"),
    ])
}

/// Reads are requests without data.
fn read_requests(machine: &Machine) -> Rate {
    let khz = machine.clocks.noc_khz.get();
    rate("request network, reads", Unit::Requests, khz, to_slices(machine, 0))
}

/// Stores of whole lines.
fn stores(machine: &Machine) -> Rate {
    let line = machine.l1.line.get();
    let (packets, set_by) = to_slices(machine, line);
    let (khz, bytes) = (machine.clocks.noc_khz.get(), packets * f64::from(line));
    rate("request network, stores", Unit::Bytes, khz, (bytes, set_by))
}

/// Replies with the data of a request: from slices, to SMs, and to the SMs of a GPC together, where bytes are counted in flits
/// of the slice (`noc/output.rs`).
fn replies(machine: &Machine) -> Rate {
    let (noc, bytes) = (&machine.noc, request_bytes(machine));
    let slices = machine.l2.slices.get();
    let from_slice = noc.flits(bytes, noc.flit_bytes.get());
    let to_sm = 1.0 / f64::from(noc.flits(bytes, noc.sm_port_bytes.get()));
    let (groups, port_bytes) = match noc.gpc_port {
        GpcPort::Unlimited => (1, f64::INFINITY),
        GpcPort::Limited { bytes } => (1, f64::from(bytes.get())),
        GpcPort::BySlices { groups, bytes } => {
            let of_partition = slices.div_ceil(machine.l2.partitions.count() as u32);
            (groups.get().min(of_partition), f64::from(bytes.get()))
        }
    };
    let to_gpc = f64::from(groups) * port_bytes / f64::from(from_slice * noc.flit_bytes.get());
    let mut sms = [0u32; u64::BITS as usize];
    (0..machine.sm.count.size()).for_each(|sm| sms[machine.sm.gpc_of(sm)] += 1);
    let to_gpcs = sms.iter().map(|sms| to_gpc.min(f64::from(*sms) * to_sm)).sum();
    let (packets, set_by) = least(&[
        (f64::from(slices) / f64::from(from_slice), "noc.flit_bytes"),
        (f64::from(machine.sm.count.get()) * to_sm, "noc.sm_port_bytes"),
        (to_gpcs, "noc.gpc_port"),
    ]);
    let amount = (packets * f64::from(bytes), set_by);
    rate("reply network", Unit::Bytes, machine.clocks.noc_khz.get(), amount)
}

/// Reads of a slice: a request in an L2 cycle, or as long as its bytes take (`l2/port.rs`).
fn l2_reads(machine: &Machine) -> Rate {
    let bytes = request_bytes(machine);
    let (cycles, set_by) = match machine.l2.data_port {
        DataPort::Unlimited => (1, "l2.slices"),
        DataPort::Limited { read, .. } => (bytes.div_ceil(read.get()), "l2.slices, data_port"),
    };
    let name = if has_l2(machine) { "L2 reads" } else { "L2 slices, which keep nothing" };
    let bytes = f64::from(machine.l2.slices.get() * bytes) / f64::from(cycles);
    rate(name, Unit::Bytes, machine.clocks.l2_khz.get(), (bytes, set_by))
}

/// Stores of whole lines to a slice, likewise.
fn l2_writes(machine: &Machine) -> Rate {
    let line = machine.l1.line.get();
    let (cycles, set_by) = match machine.l2.data_port {
        DataPort::Unlimited => (1.0, "l2.slices"),
        DataPort::Limited { sector, .. } => {
            let quarters = line / SECTOR * sector.get();
            (f64::from(quarters) / 4.0, "l2.slices, data_port")
        }
    };
    let name = if has_l2(machine) { "L2 writes" } else { "L2 slices, stores" };
    let bytes = f64::from(machine.l2.slices.get() * line) / cycles;
    rate(name, Unit::Bytes, machine.clocks.l2_khz.get(), (bytes, set_by))
}

/// Reads of the DRAM that slices ask for: one fetch in an L2 cycle, of a burst at least (`gpu/memory/handover.rs`).
fn l2_fetches(machine: &Machine) -> Rate {
    let bytes = machine.l2.fetch.get().max(machine.dram.burst_bytes());
    let bytes = f64::from(machine.l2.slices.get() * bytes);
    let khz = machine.clocks.l2_khz.get();
    rate("L2 fetches", Unit::Bytes, khz, (bytes, "l2.slices, fetch"))
}
