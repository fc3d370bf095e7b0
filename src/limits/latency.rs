//! What a load takes when nothing else is under way: chases in the simulator.

use std::path::Path;
use std::sync::Arc;

use super::has_l2;
use crate::config::machine::{L2AtStart, LoadsLook};
use crate::config::synthetic::{CacheHint, ChaseOrder};
use crate::config::{Checked, Machine, SyntheticSpec, parse};
use crate::error::Result;
use crate::frontend::synthetic::SyntheticSource;
use crate::gpu::{Gpu, Stepping};
use crate::stats::LatencyStage;
use crate::workload::SyntheticLaunch;

/// Core cycles, or why there are none.
pub type Found = std::result::Result<f64, &'static str>;

/// What loads take that are alone on the chip, in the mean, from the issue of a load until its data can be used.
///
/// One lane of the first SM follows a cycle through memory, 8 bytes of every 128, as `configs/runs/chase.ron` does. From the L2
/// and from DRAM it loads past the L1 (`ld.cg`). Refreshes are waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latencies {
    /// Of a hit in the L1 [core cycles].
    pub l1: Found,
    /// Of a hit in the L2 [core cycles].
    pub l2: Found,
    /// From DRAM, line after line, as a stream has it: most rows are open where rows stay open [core cycles].
    pub dram_in_order: f64,
    /// From DRAM, at random: most rows are to be opened, and others closed before [core cycles].
    pub dram_at_random: f64,
    /// The part of `dram_in_order` from when the L1 has accepted a load [core cycles].
    pub behind_lsu: f64,
    /// The part of `dram_in_order` which an L2 slice waits for the DRAM [core cycles].
    pub behind_l2: f64,
}

/// Bytes from a node of the chase to the next: the longest line.
const NODE: u64 = 128;
/// Nodes that loads from DRAM go through, in 64 MiB, and loads of these: none comes twice.
const FAR_NODES: u64 = 1 << 19;
const FAR_LOADS: u32 = 2048;
/// Nodes in the L2, in 128 KiB, so that most slices have some.
const L2_NODES: u64 = 1024;
/// Loads that hit the L1.
const HITS: u32 = 64;

impl Latencies {
    /// Simulates a few thousand loads on `machine`.
    ///
    /// # Errors
    /// When not even one warp fits on an SM.
    pub fn of(machine: &Machine) -> Result<Self> {
        let mut fields = (**machine).clone();
        fields.launch.l2 = L2AtStart::Cold;
        let machine = Checked::new(fields).expect("no other field depends on it");
        let far = |order| chase(&machine, (FAR_NODES, order), FAR_LOADS, CacheHint::Global);
        let (in_order, at_random) = (far(ChaseOrder::Sequential)?, far(ChaseOrder::Shuffled)?);
        let mean = |cycles: f64| cycles / f64::from(FAR_LOADS);
        Ok(Latencies {
            l1: l1(&machine)?,
            l2: l2(&machine)?,
            dram_in_order: mean(in_order.cycles),
            dram_at_random: mean(at_random.cycles),
            behind_lsu: mean(in_order.cycles - in_order.in_lsu),
            behind_l2: mean(in_order.in_dram),
        })
    }
}

/// Hits in the L1: what more loads of one line take.
fn l1(machine: &Machine) -> Result<Found> {
    match (machine.l1.global_loads, machine.l1.local_loads) {
        (LoadsLook::Cached, _) => {}
        (_, LoadsLook::Cached) => return Ok(Err("global loads pass it")),
        _ => return Ok(Err("loads pass it")),
    }
    let of = |loads| chase(machine, (1, ChaseOrder::Sequential), loads, CacheHint::Default);
    Ok(Ok((of(1 + HITS)?.cycles - of(1)?.cycles) / f64::from(HITS)))
}

/// Hits in the L2: what a second round takes.
fn l2(machine: &Machine) -> Result<Found> {
    if !has_l2(machine) {
        return Ok(Err("the slices keep nothing"));
    }
    // A part of the L2, so that no set of it has too many lines.
    let l2 = u64::from(machine.l2.slices.get()) * u64::from(machine.l2.size.get());
    let nodes = (l2 / NODE / 4).clamp(1, L2_NODES);
    let cycle = (nodes, ChaseOrder::Shuffled);
    let of = |rounds| chase(machine, cycle, rounds * nodes as u32, CacheHint::Global);
    let (one, two) = (of(1)?, of(2)?);
    Ok(match two.in_dram > one.in_dram {
        true => Err("what was loaded does not stay there"),
        false => Ok((two.cycles - one.cycles) / nodes as f64),
    })
}

/// What the loads of a chase took together [core cycles].
struct Chased {
    cycles: f64,
    /// Until the L1 accepted them.
    in_lsu: f64,
    /// What the DRAM is to blame for.
    in_dram: f64,
}

/// A lane follows a cycle of so many nodes, on a chip that has done nothing before.
fn chase(
    machine: &Machine,
    (nodes, order): (u64, ChaseOrder),
    loads: u32,
    cache: CacheHint,
) -> Result<Chased> {
    let footprint = nodes * NODE;
    let text = format!(
        "(ctas: 1, warps: 1, registers: 2, phases: [(accesses: {loads}, mix: [(
            pattern: Chase(node: {NODE}, order: {order:?}), footprint: {footprint}, width: 8, lanes: 1, cache: {cache:?},
        )])])"
    );
    let spec: Checked<SyntheticSpec> = parse::from_text(Path::new("chase"), &text)?;
    let launch = SyntheticLaunch { spec: Arc::new((*spec).clone()), seed: 1 };
    let mut gpu = Gpu::new(machine, Stepping::SkipAhead);
    let seen = gpu.run(&mut SyntheticSource::new(&launch), &mut |_| ())?;
    let latency = &seen.ledgers.latency;
    let of = |stages: &[LatencyStage]| {
        stages.iter().map(|stage| latency.part(*stage)).sum::<u64>() as f64
    };
    Ok(Chased {
        cycles: latency.total() as f64,
        in_lsu: of(&[LatencyStage::Lsu]),
        in_dram: of(&[LatencyStage::DramQueue, LatencyStage::DramService]),
    })
}
