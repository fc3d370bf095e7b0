//! A machine file: everything about one GPU that the model needs.
//!
//! Every field states its unit and range here and its source in the preset that sets it. Nothing
//! hides in a default: a machine file states every field.

mod arithmetic;
mod cache;
mod dram;
mod launch;
mod lsu;
mod noc;
mod sm;

use serde::{Deserialize, Serialize};

pub use arithmetic::{
    Arithmetic, Forwarding, IntProducts, MatchTiming, OpTiming, Pipelining, TensorCores,
    TensorTimes, WarpgroupProducts, WarpgroupTimes,
};
pub use cache::{
    Acquires, DataPort, Distance, EvictionHints, L1Config, L2Coalescer, L2Config, L2Mode,
    L2Partitions, LoadsLook, PartialLines, PastLoads, Replacement, SetIndex, SliceHash,
    StorePolicy, geometry_check, line_bits,
};
pub use dram::{
    DramConfig, DramScheduler, DramTiming, GroupBits, Refreshes, RowPolicy, WriteDrain,
};
pub use launch::{L2AtStart, LaunchConfig, Retirement};
pub use lsu::{
    BankSharing, CarveOut, ConstantPasses, LsuConfig, LsuStages, RefusalBlocks, Segment,
    SharedMemoryConfig,
};
pub use noc::{GpcPort, NocConfig};
pub use sm::{
    BarrierTiming, BehindBarriers, BoxTiming, BulkCopies, BulkTiming, ConstantBank, CtaRelease,
    FenceTimes, Fetching, InstructionCache, InstructionSet, Policy, SmConfig,
};

use super::bounded::{Bounded, Check, Checked};
use crate::error::{self, Error};
use crate::serial;

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Machine")]
pub struct MachineFields {
    /// What reports call it.
    pub name: String,
    /// CUDA compute capability, major and minor.
    pub compute_capability: (u8, u8),
    /// How far its likeness to hardware was measured.
    pub calibration: Calibration,
    /// The four clock domains.
    pub clocks: Clocks,
    /// From a launch to its CTAs.
    pub launch: LaunchConfig,
    /// The streaming multiprocessors.
    pub sm: Checked<SmConfig>,
    /// Load/store unit and coalescer of every SM.
    pub lsu: Checked<LsuConfig>,
    /// Shared memory of every SM.
    pub shared_memory: Checked<SharedMemoryConfig>,
    /// L1 data cache of every SM.
    pub l1: Checked<L1Config>,
    /// Interconnect between SMs and L2 slices.
    pub noc: NocConfig,
    /// L2 slices.
    pub l2: Checked<L2Config>,
    /// DRAM channels.
    pub dram: Checked<DramConfig>,
}

/// A machine whose rules between components hold.
pub type Machine = Checked<MachineFields>;

impl Machine {
    /// The machine as reports have it.
    pub fn to_json(&self) -> serde_json::Value {
        serial::to_json_value(self)
    }

    /// A machine that a report has.
    ///
    /// # Errors
    /// In one line, when it is none.
    pub fn from_json(machine: serde_json::Value) -> error::Result<Machine> {
        serial::from_json_value(machine).map_err(|why| Error::input(format!("no machine: {why}")))
    }
}

/// Whether a machine was held against hardware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Calibration {
    /// Measured against the hardware; says how far apart they are.
    Calibrated(String),
    /// Never measured against the hardware; says where the values come from.
    Uncalibrated(String),
}

/// Frequencies of the clock domains. Ratios between them are kept exactly. The fastest is at most 1000 times as fast as the slowest, and
/// less where the DRAM may keep a request for so long that it does not know its times any more, by 31 bits of a core cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// SM: a scheduler issues once a cycle [kHz, 10000..=10000000].
    pub core_khz: Bounded<10_000, 10_000_000>,
    /// Interconnect [kHz, 10000..=10000000].
    pub noc_khz: Bounded<10_000, 10_000_000>,
    /// L2 slices [kHz, 10000..=10000000].
    pub l2_khz: Bounded<10_000, 10_000_000>,
    /// DRAM command clock [kHz, 10000..=10000000].
    pub dram_khz: Bounded<10_000, 10_000_000>,
}

/// Slices that a DRAM channel may have.
const MOST_SLICES_OF_CHANNEL: u32 = 64;

impl MachineFields {
    /// What the DRAM can move at most: every channel, in every clock [bytes/s].
    pub fn dram_peak(&self) -> f64 {
        let dram = &self.dram;
        let bytes = [dram.channels.get(), dram.bus_bytes.get(), dram.data_rate.get()];
        let bytes: f64 = bytes.into_iter().map(f64::from).product();
        bytes * f64::from(self.clocks.dram_khz.get()) * 1e3
    }
}

impl MachineFields {
    /// What a carve-out leaves for the L1 must be whole ways of its sets.
    fn check_carve_out(&self) -> Result<(), String> {
        let CarveOut::Unified { total, options } = &self.shared_memory.carve_out else {
            return Ok(());
        };
        let (total, way) = (total.get(), self.l1.sets.get() * self.l1.line.get());
        for option in options.iter().map(|option| option.get()) {
            if option >= total || (total - option) % way != 0 {
                return Err(format!(
                    "shared_memory.carve_out: option {option} of {total} bytes does not leave the L1 \
                     a multiple of l1.sets x l1.line ({way})"
                ));
            }
        }
        let (least, l1) = (options[0].get(), self.l1.size.get());
        if total - least < l1 {
            return Err(format!(
                "l1.size ({l1}) is more than shared_memory.carve_out leaves: {total} - {least}"
            ));
        }
        Ok(())
    }
}

impl MachineFields {
    fn check_lsu(&self) -> Result<(), String> {
        let latency = self.l1.tag_latency.get();
        if self.lsu.stages != LsuStages::One && latency > 0 {
            return Err(format!(
                "lsu.stages is TagsThenBanks, which needs an l1.tag_latency of 0, and not {latency}"
            ));
        }
        Ok(())
    }

    fn check_warpgroups(&self) -> Result<(), String> {
        /// One for each warp of a warpgroup.
        const SCHEDULERS: u32 = 4;
        let arithmetic = &self.sm.arithmetic;
        if arithmetic.tensor.warpgroups().is_none() {
            return Ok(());
        }
        let (schedulers, of_each) =
            (self.sm.schedulers.get(), arithmetic.pipelines == Pipelining::PerScheduler);
        if schedulers != SCHEDULERS || !of_each {
            return Err(format!(
                "sm.arithmetic.tensor has warpgroups, which need four schedulers with pipelines of their own: sm.schedulers \
                 is {schedulers}, sm.arithmetic.pipelines {:?}",
                arithmetic.pipelines
            ));
        }
        if self.lsu.stages == LsuStages::One {
            return Err(
                "sm.arithmetic.tensor has warpgroups, which need lsu.stages TagsThenBanks: products \
                 and loads share the banks"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// A request must know when it came.
    fn check_times(&self) -> Result<(), String> {
        /// Core cycles, half of those that a request can count.
        const MOST: u64 = 1 << 30;
        let Clocks { core_khz, dram_khz, .. } = &self.clocks;
        let ratio = u64::from(core_khz.get().div_ceil(dram_khz.get()));
        let cycles = self.dram.most_clocks(self.l2.line.get()).saturating_mul(ratio);
        if cycles <= MOST {
            return Ok(());
        }
        Err(format!(
            "a full dram.queue may keep a request for {cycles} core cycles, where {MOST} are the most: clocks.core_khz is {} and \
             clocks.dram_khz {}",
            core_khz.get(),
            dram_khz.get()
        ))
    }

    fn check_hints(&self) -> Result<(), String> {
        let is_followed = self.l1.hints != EvictionHints::Ignored;
        if is_followed && self.l1.replacement == Replacement::LruCleanFirst {
            return Err(
                "l1.hints are followed, which l1.replacement LruCleanFirst does not allow: it \
                        spares lines by itself"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn check_partitions(&self) -> Result<(), String> {
        let l2 = &self.l2;
        if let L2Coalescer::PerGpc { requests, latency, .. } = l2.coalescer {
            let (latency, tags) = (latency.get(), l2.tag_latency.get());
            if latency > tags {
                return Err(format!(
                    "l2.coalescer has a latency of {latency}, which is more than l2.tag_latency ({tags})"
                ));
            }
            let (requests, places) = (requests.get(), self.noc.input_queue.get());
            if requests > places {
                return Err(format!(
                    "l2.coalescer has {requests} requests share a reply, which need as many places of \
                     noc.input_queue ({places})"
                ));
            }
        }
        let L2Partitions::Two { upper, .. } = &l2.partitions else { return Ok(()) };
        if let Some(gpc) = upper.iter().find(|gpc| !self.sm.gpcs.contains(gpc)) {
            return Err(format!(
                "l2.partitions names GPC {}, to which sm.gpcs gives no TPC",
                gpc.get()
            ));
        }
        let (slices, channels) = (l2.slices.get(), self.dram.channels.get());
        if slices != channels || channels % 2 != 0 {
            return Err(format!(
                "l2.partitions is Two, which needs one slice a channel, and an even number of them: l2.slices is \
                 {slices}, dram.channels {channels}"
            ));
        }
        if l2.mode != L2Mode::Cache {
            return Err("l2.partitions is Two, which needs l2.mode Cache".to_owned());
        }
        // What one slice waits for from the other must leave a place for what the other one waits for.
        let (ways, entries) = (l2.ways.get(), l2.mshr_entries.get());
        if ways < 2 || entries < 2 {
            return Err(format!(
                "l2.partitions is Two, which needs two ways and two MSHR entries or more: l2.ways is {ways}, \
                 l2.mshr_entries {entries}"
            ));
        }
        Ok(())
    }
}

impl Check for MachineFields {
    fn check(&self) -> Result<(), String> {
        if self.name.trim().is_empty() {
            return Err("name is empty: reports call the machine by it".to_owned());
        }
        if self.sm.gpcs.is_empty() {
            return Err("sm.gpcs is empty: it names the GPC of each TPC".to_owned());
        }
        let (slices, channels) = (self.l2.slices.get(), self.dram.channels.get());
        if slices % channels != 0 {
            return Err(format!(
                "l2.slices ({slices}) is not a multiple of dram.channels ({channels})"
            ));
        }
        if slices / channels > MOST_SLICES_OF_CHANNEL {
            return Err(format!(
                "l2.slices ({slices}) are more than {MOST_SLICES_OF_CHANNEL} for each of dram.channels ({channels})"
            ));
        }
        self.check_lsu()?;
        self.check_warpgroups()?;
        self.check_hints()?;
        self.check_partitions()?;
        let piece = self.noc.store_piece.get();
        if !piece.is_power_of_two() {
            return Err(format!("noc.store_piece ({piece}) is not a power of two"));
        }
        let (l1, l2) = (self.l1.line.get(), self.l2.line.get());
        if l1 != l2 {
            return Err(format!("l1.line ({l1}) differs from l2.line ({l2})"));
        }
        self.check_carve_out()?;
        let (line, interleave) = (self.l2.line.get(), self.l2.interleave.get());
        if interleave % line != 0 {
            return Err(format!(
                "l2.interleave ({interleave}) is not a multiple of l2.line ({line})"
            ));
        }
        let (burst, row) = (self.dram.burst_bytes(), self.dram.row_bytes.get());
        if line % burst != 0 {
            return Err(format!(
                "l2.line ({line}) is not a multiple of a DRAM burst \
                 (dram.bus_bytes x dram.burst_length = {burst})"
            ));
        }
        if row % line != 0 {
            return Err(format!("dram.row_bytes ({row}) is not a multiple of l2.line ({line})"));
        }
        let block = self.dram.block_bytes();
        if u64::from(line) > block {
            return Err(format!(
                "l2.line ({line}) is spread over several banks or rows: below its lowest B or R, \
                 dram.mapping spans {block} bytes"
            ));
        }
        self.check_times()
    }
}
