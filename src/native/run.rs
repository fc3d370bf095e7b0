//! A run on the GPU: executed, verified, timed.

use std::collections::BTreeSet;
use std::time::Duration;

use super::approximate;
use super::device::Device;
use super::prepare::{Modules, Prepared};
use super::report::{Clock, LaunchTimes, NativeReport};
use super::timing::{Caches, Helpers, Passes, Stopwatch};
use super::verify;
use crate::config::ResolvedRun;
use crate::error::{Error, Result};
use crate::isa::joint_name;
use crate::report::Inputs;
use crate::simulate::{Functional, inputs};
use crate::workload::{Launch, Work, registry};

/// How a native run is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Timed passes, at most; there are fewer, but three, when they take more than two seconds.
    pub repeats: u32,
}

/// Passes before the first that counts: clocks rise and code is loaded.
const WARM_UP: u32 = 3;
const TIME: Duration = Duration::from_secs(2);
/// An empty launch takes no time to measure.
const EMPTY_REPEATS: u32 = 200;

/// Launches `run` once, caches cold, for a profiler to watch. Nothing is verified.
///
/// # Errors
/// What the workload or the GPU refuses, kernels at the same time, and such as are not to be timed.
pub fn launch(device: &Device, run: &ResolvedRun) -> Result<()> {
    let workload = registry::build(&run.for_gpu())?;
    let launches = &workload.launches;
    let refused = |why| Error::input(format!("{}: {why}", run.config.name));
    if (0..launches.len()).any(|place| launches.overlaps_next(place)) {
        return Err(refused("a profiler runs kernels at the same time one by one")
            .hint("profile them without `Concurrent(..)` around them"));
    }
    if launches.timed() < launches.len() {
        return Err(refused("a profiler counts launches in `Untimed(..)` as well")
            .hint("profile them without `Untimed(..)` around them"));
    }
    let modules = Modules::load(device, &workload)?;
    let mut prepared = Prepared::new(device, &modules, &workload)?;
    let helpers = Helpers::load(device)?;
    Stopwatch::new(device, &helpers, device.facts()?.l2_bytes)?.once(&mut prepared)
}

/// Executes `run` in gsim and on the GPU, compares the results, and times the GPU.
///
/// # Errors
/// What [`Functional`] refuses, what the GPU refuses, and a result that differs from the host reference or from gsim's; and launches that
/// are not to be timed between such as are.
pub fn run(device: &Device, run: &ResolvedRun, options: Options) -> Result<NativeReport> {
    let executable = run.for_gpu();
    let executed = Functional::new(&executable)?.finish()?;
    let workload = registry::build(&executable)?;
    let launches = &workload.launches;
    let mut timed = (0..launches.len()).map(|place| launches.is_timed(place));
    // A launch that is timed, one that is not, and one that is again.
    if timed.any(|timed| timed) && timed.any(|timed| !timed) && timed.any(|timed| timed) {
        let name = &run.config.name;
        let message =
            format!("{name}: a GPU's caches would hold what a launch in `Untimed(..)` did");
        return Err(Error::input(message).hint("time it as well, or put it before the others"));
    }
    let facts = device.facts()?;
    let modules = Modules::load(device, &workload)?;
    let mut prepared = Prepared::new(device, &modules, &workload)?;

    prepared.restore()?;
    for number in 0..prepared.len() {
        prepared.launch(number)?;
    }
    device.synchronize()?;
    let mut result = workload.memory.clone();
    prepared.read(&mut result)?;
    let check = (workload.check)(&result)?;
    let mut open = BTreeSet::new();
    for launch in workload.launches.distinct().iter().filter_map(Work::ptx) {
        open.extend(approximate::opcodes(&launch.ptx.text));
    }
    let agreement = verify::compare(&result, &executed.outputs.memory, open)?;

    let helpers = Helpers::load(device)?;
    let watch = Stopwatch::new(device, &helpers, facts.l2_bytes)?;
    let passes = Passes { warm_up: WARM_UP, repeats: options.repeats, time: TIME };
    let empty = watch.empty(Passes { repeats: EMPTY_REPEATS, ..passes }, 1)?[0];
    let in_its_place = match prepared.len() {
        1 => Vec::new(),
        several => watch.empty(passes, several)?,
    };
    let before_mhz = watch.clock_mhz()?;
    let cold = watch.workload(&mut prepared, Caches::Cold, passes)?;
    let warm = watch.workload(&mut prepared, Caches::Warm, passes)?;
    let clock = Clock { before_mhz, after_mhz: watch.clock_mhz()? };
    let mut all = workload.launches.ptx();
    let launches = cold.iter().zip(&warm).enumerate().map(|(number, (&cold, &warm))| {
        let step: Vec<&Launch> = all.by_ref().take(prepared.launches(number)).collect();
        if !prepared.is_timed(number) {
            return Ok(None);
        }
        let (registers, local_bytes) = prepared.resources(number)?;
        let names: Vec<&str> = step.iter().map(|launch| launch.entry.as_str()).collect();
        let (grid, block) = (step[0].grid, step[0].block);
        let together = step.len() as u32;
        let entry = joint_name(&names);
        let empty = in_its_place.get(number).copied();
        Ok(Some(LaunchTimes {
            entry,
            together,
            grid,
            block,
            registers,
            local_bytes,
            cold,
            warm,
            empty,
        }))
    });
    let launches = launches.filter_map(Result::transpose).collect::<Result<_>>()?;
    let Inputs { workload, seed, set, versions, .. } = inputs(run, executed.facts.versions);
    Ok(NativeReport {
        schema: NativeReport::SCHEMA,
        gsim: env!("CARGO_PKG_VERSION").to_owned(),
        name: run.config.name.clone(),
        device: facts,
        clock,
        workload,
        seed,
        set,
        versions,
        check,
        agreement,
        empty,
        launches,
    })
}
