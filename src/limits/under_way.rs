//! What may be outstanding, and what must be for the DRAM's peak.

use super::{Latencies, Narrowest, has_l2, lookups, request_bytes};
use crate::config::Machine;
use crate::config::machine::LoadsLook;
use crate::isa::WARP;
use crate::sm::Residency;

/// What has a capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An SM.
    Sm,
    /// An L2 slice.
    Slice,
    /// A DRAM channel.
    Channel,
}

/// How much of something there can be at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// What it is, with its unit where that is not itself.
    pub name: &'static str,
    /// Where it is.
    pub place: Place,
    /// In one of these.
    pub each: u64,
    /// On the whole chip.
    pub chip: u64,
    /// The fields of the machine that set it, by the paths that `--set` takes.
    pub set_by: &'static str,
}

/// What may be outstanding on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// From warps to the queues of the DRAM.
    pub all: Vec<Capacity>,
    /// Registers that a thread may have where all warps of an SM are resident, at most.
    pub registers_of_thread: u32,
    /// Shared memory that a CTA may have where as many are resident as there can be, at most `[bytes]`.
    pub shared_of_cta: u32,
}

impl UnderWay {
    /// What may be outstanding on `machine`.
    pub fn of(machine: &Machine) -> Self {
        let (sm, shared, l1) = (&machine.sm, &machine.shared_memory, &machine.l1);
        let (l2, dram) = (&machine.l2, &machine.dram);
        let of = |name, place, each: u32, set_by| {
            let places = match place {
                Place::Sm => sm.count.get(),
                Place::Slice => l2.slices.get(),
                Place::Channel => dram.channels.get(),
            };
            let (each, places) = (u64::from(each), u64::from(places));
            Capacity { name, place, each, chip: each * places, set_by }
        };
        let warps = sm.max_warps.get();
        let mut all = vec![
            of("warps", Place::Sm, warps, "sm.max_warps"),
            of("threads", Place::Sm, warps * WARP as u32, "sm.max_warps"),
            of("CTAs", Place::Sm, sm.max_ctas.get(), "sm.max_ctas"),
            of("registers", Place::Sm, sm.registers.get(), "sm.registers"),
            of("shared memory, bytes", Place::Sm, shared.size.get(), "shared_memory.size"),
        ];
        if l1.global_loads == LoadsLook::Cached {
            let (lines, set_by) = l1_lines(machine);
            let accesses = lines * l1.mshr_mergers.get();
            all.extend([
                of("L1 lines outstanding", Place::Sm, lines, set_by),
                of("loads of these, merged", Place::Sm, accesses, "l1.mshr_mergers"),
            ]);
        }
        let merged = l2.mshr_entries.get() * l2.mshr_mergers.get();
        all.push(of("L1 miss queue, packets", Place::Sm, l1.miss_queue.get(), "l1.miss_queue"));
        all.push(of("L2 MSHR entries", Place::Slice, l2.mshr_entries.get(), "l2.mshr_entries"));
        if has_l2(machine) {
            all.push(of("requests of these, merged", Place::Slice, merged, "l2.mshr_mergers"));
        }
        all.push(of("L2 miss queue, requests", Place::Slice, l2.miss_queue.get(), "l2.miss_queue"));
        all.push(of("DRAM queue, requests", Place::Channel, dram.queue.get(), "dram.queue"));
        let granule = shared.granule.get();
        let of_cta = shared.size.get() / sm.max_ctas.get() / granule * granule;
        UnderWay {
            all,
            registers_of_thread: Residency::registers_of_all_warps(sm),
            shared_of_cta: of_cta.saturating_sub(shared.per_cta.get()),
        }
    }
}

/// Lines that an SM may have outstanding: each takes an MSHR entry and a line of the cache.
fn l1_lines(machine: &Machine) -> (u32, &'static str) {
    let l1 = &machine.l1;
    let (entries, lines) = (l1.mshr_entries.get(), l1.sets.get() * l1.ways.get());
    if lines < entries { (lines, "l1.size") } else { (entries, "l1.mshr_entries") }
}

/// Something that holds loads which are under way to the DRAM.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    /// What it is.
    pub name: &'static str,
    /// On the whole chip `[bytes]`.
    pub bytes: f64,
    /// How long it holds each of them, at least [core cycles].
    pub cycles: f64,
    /// What these allow: bytes / time [bytes/s].
    pub bytes_per_second: f64,
    /// Whether no kernel can have more under way. Where it is not, one can with more loads a warp, or wider ones.
    pub is_bound: bool,
    /// The fields of the machine that set it, by the paths that `--set` takes.
    pub set_by: &'static str,
}

/// What must be under way for the DRAM's peak, by Little's law: bytes = bandwidth x latency.
#[derive(Clone, Debug, PartialEq)]
pub struct Filling {
    /// Bytes that must be under way at the DRAM's peak, where each load takes as long as a lone one of a stream. Under load it takes
    /// longer, and more are needed.
    pub bytes: f64,
    /// The same in lines, for each SM.
    pub lines_of_sm: f64,
    /// Who holds loads that are under way.
    pub holders: Vec<Holder>,
    /// What the narrowest level lets through, or the holders allow where that is less.
    pub bound: Narrowest,
}

impl Filling {
    /// What must be under way on `machine`, where lone loads take so long, and this is the narrowest level for reads from DRAM.
    pub fn of(machine: &Machine, latencies: &Latencies, narrowest: &Narrowest) -> Self {
        let hertz = f64::from(machine.clocks.core_khz.get()) * 1e3;
        let sms = f64::from(machine.sm.count.get());
        let line = f64::from(machine.l1.line.get());
        let peak = machine.dram_peak();
        let Latencies { dram_in_order, behind_lsu, behind_l2, .. } = *latencies;
        let bytes = peak * dram_in_order / hertz;
        let holder = |name, bytes: f64, cycles: f64, is_bound, set_by| Holder {
            name,
            bytes,
            cycles,
            bytes_per_second: bytes * hertz / cycles,
            is_bound,
            set_by,
        };
        // 32 lanes of four bytes.
        let of_warp = f64::from(4 * WARP as u32);
        let words = sms * f64::from(machine.sm.max_warps.get()) * of_warp;
        let mut holders =
            vec![holder("a word for every thread", words, dram_in_order, false, "sm.max_warps")];
        if machine.l1.global_loads == LoadsLook::Cached {
            let (lines, set_by) = l1_lines(machine);
            let bytes = sms * f64::from(lines) * line;
            holders.push(holder("L1 lines", bytes, behind_lsu, true, set_by));
        }
        // Without an L2 an entry has one read. A line that is at home in the other partition has an entry in both of them.
        let of_entry = if has_l2(machine) { line } else { f64::from(request_bytes(machine)) };
        let entries = f64::from(machine.l2.slices.get() * machine.l2.mshr_entries.get());
        let bytes_in_l2 = entries * of_entry / lookups(machine);
        holders.push(holder("L2 MSHR entries", bytes_in_l2, behind_l2, true, "l2.mshr_entries"));
        let bounds = holders.iter().filter(|holder| holder.is_bound);
        let bound = bounds.fold(narrowest.clone(), |least, holder| {
            let Holder { name, bytes_per_second, .. } = *holder;
            match bytes_per_second < least.bytes_per_second {
                true => Narrowest { name: name.to_owned(), bytes_per_second },
                false => least,
            }
        });
        Filling { bytes, lines_of_sm: bytes / line / sms, holders, bound }
    }
}
