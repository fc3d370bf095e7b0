//! Points of a study whose workload is the same, simulated together: it is executed once for all of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

use super::permits::{Permits, Worker};
use super::window::{Reader, Writer, stream};
use super::{Event, Options, Outcome};
use crate::config::ResolvedRun;
use crate::config::machine::InstructionSet;
use crate::config::study::{Misfits, StudyPoint};
use crate::config::written::said;
use crate::error::{Error, ErrorKind, Result};
use crate::gpu::Stepping;
use crate::report::Report;
use crate::serial;
use crate::simulate::{Functional, Timing, simulate_with_outputs};

/// The most simulations that share one execution: each has a thread, and its machine in memory.
const MOST_TOGETHER: usize = 64;

/// What decides the functional part of a run: the workload as a report has it, the seed, the folder of its files, NVRTC, and
/// the instruction set.
pub type Key = (String, u64, PathBuf, Option<PathBuf>, InstructionSet);

/// What decides the functional part of a run.
pub fn key(run: &ResolvedRun) -> Key {
    let ResolvedRun { config, origin, nvrtc, machine, .. } = run;
    let workload = serial::to_json_value(&config.workload).to_string();
    (workload, config.seed, origin.folder().to_owned(), nvrtc.clone(), machine.sm.instructions)
}

/// The points, by number, in groups whose functional part is the same, each in order. The groups are in the order of
/// their first points.
pub fn groups(points: &[StudyPoint]) -> Vec<Vec<usize>> {
    let mut known = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (number, point) in points.iter().enumerate() {
        let group = known.entry(key(&point.run)).or_insert(groups.len());
        match groups.get_mut(*group) {
            Some(members) if members.len() < MOST_TOGETHER => members.push(number),
            _ => {
                *group = groups.len();
                groups.push(vec![number]);
            }
        }
    }
    groups
}

/// Takes what came of a point, by its number, as soon as its run is over, on any thread; its failure is that of the run.
pub type Keep<'k> = dyn Fn(usize, &Outcome) -> Result<()> + Sync + 'k;

/// What every thread of a study sees.
struct Study<'s> {
    points: &'s [StudyPoint],
    misfits: Misfits,
    observe: &'s (dyn Fn(Event) + Sync),
    keep: &'s Keep<'s>,
    permits: Permits,
    /// The first point that has failed so far. Those behind it need not begin; those before it might
    /// fail, too.
    failed: AtomicUsize,
    outcomes: Mutex<Vec<Option<Result<Outcome>>>>,
}

/// Simulates every point. A point that was left out, as one before it has failed, has no outcome.
///
/// # Errors
/// When a thread cannot be started.
pub fn simulate_all(
    points: &[StudyPoint],
    misfits: Misfits,
    options: &Options,
    observe: &(dyn Fn(Event) + Sync),
    keep: &Keep,
) -> Result<Vec<Option<Result<Outcome>>>> {
    let jobs = match options.jobs {
        0 => thread::available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    let study = Study {
        points,
        misfits,
        observe,
        keep,
        permits: Permits::new(jobs),
        failed: AtomicUsize::new(usize::MAX),
        outcomes: Mutex::new(points.iter().map(|_| None).collect()),
    };
    thread::scope(|scope| {
        groups(points).iter().enumerate().try_for_each(|(number, members)| {
            study.permits.wait_for_room();
            if study.is_needed(members[0]) {
                study.start(scope, number, members, options.window)?;
            }
            Ok(())
        })
    })?;
    Ok(study.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

impl Study<'_> {
    /// Starts the threads of a group.
    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        group: usize,
        members: &[usize],
        window: usize,
    ) -> Result<()> {
        if let [point] = *members {
            let worker = self.permits.worker((group, 0));
            return spawn(scope, move || self.simulate_alone(point, worker));
        }
        // The execution has the least rank: the simulations wait for it.
        let writer = self.permits.worker((group, 0));
        let readers = (1..=members.len()).map(|rank| self.permits.worker((group, rank)));
        let (writer, readers) = stream(window, writer, readers.collect());
        let first = members[0];
        spawn(scope, move || self.execute(first, writer))?;
        for (&point, reader) in members.iter().zip(readers) {
            spawn(scope, move || self.simulate_shared(point, reader))?;
        }
        Ok(())
    }

    /// Whether a point must begin: no earlier one has failed.
    fn is_needed(&self, point: usize) -> bool {
        point <= self.failed.load(Ordering::Relaxed)
    }

    /// Executes the workload of a group, as its first point has it.
    fn execute(&self, point: usize, mut writer: Writer) {
        writer.start();
        let executed = Functional::new(&self.points[point].run).and_then(|mut functional| {
            writer.run(&mut functional)?;
            functional.finish()
        });
        if let Ok(executed) = &executed {
            (self.observe)(Event::Executed { ctas: executed.ctas });
        }
        writer.end(executed.map(|executed| executed.facts));
    }

    fn simulate_shared(&self, point: usize, mut reader: Reader) {
        reader.start();
        self.record(point, || {
            let mut timing = Timing::new(&self.points[point].run, Stepping::SkipAhead);
            timing.run(&mut reader, &mut |_| ())?;
            let facts = reader.facts()?;
            timing.report(&facts)
        });
    }

    fn simulate_alone(&self, point: usize, mut worker: Worker) {
        worker.start();
        self.record(point, || {
            let run = &self.points[point].run;
            let simulated = simulate_with_outputs(run, Stepping::SkipAhead, &mut |_| ())?;
            (self.observe)(Event::Executed { ctas: simulated.executed.ctas });
            Ok(simulated.report)
        });
    }

    /// Keeps what a simulation gives, unless it need not begin.
    fn record(&self, point: usize, simulate: impl FnOnce() -> Result<Report>) {
        if !self.is_needed(point) {
            return;
        }
        let outcome = match simulate() {
            Ok(report) => Ok(Outcome::Report(serial::to_json_value(&report))),
            Err(error) if self.misfits == Misfits::Skip && error.kind == ErrorKind::Misfit => {
                Ok(Outcome::Misfit(error.message))
            }
            Err(error) => Err(error),
        };
        let outcome = outcome.and_then(|outcome| {
            (self.keep)(point, &outcome)?;
            Ok(outcome)
        });
        if outcome.is_err() {
            self.failed.fetch_min(point, Ordering::Relaxed);
        }
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)[point] = Some(outcome);
        (self.observe)(Event::Simulated);
    }
}

fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    thread: impl FnOnce() + Send + 'scope,
) -> Result<()> {
    let spawned = thread::Builder::new().spawn_scoped(scope, thread);
    let cannot =
        |cause: std::io::Error| Error::run(format!("threads cannot be started: {}", said(&cause)));
    spawned.map(drop).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_run;
    use std::path::Path;

    #[test]
    fn points_that_differ_in_the_machine_only_are_a_group_unless_in_its_instructions() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/runs/stencil-char.ron");
        let point = |sets: &[&str]| {
            let pair = |set: &&str| crate::config::overrides::assignment(set).unwrap();
            let sets: Vec<_> = sets.iter().map(pair).collect();
            let run = load_run(&file, &sets).unwrap();
            StudyPoint { labels: Vec::new(), place: String::new(), run }
        };
        let mut points = vec![
            point(&[]),
            point(&["workload.element=Int"]),
            point(&["l1.mshr_entries=16"]),
            point(&["seed=2"]),
            point(&["machine=v100", "workload.element=Char"]),
            point(&["workload.element=Int", "l1.mshr_entries=16"]),
            point(&["sm.instructions=Sass"]),
        ];
        assert_eq!(groups(&points), [vec![0, 2, 4], vec![1, 5], vec![3], vec![6]]);
        points.truncate(1);
        let many = vec![points.remove(0); 2 * MOST_TOGETHER + 1];
        let sizes: Vec<usize> = groups(&many).iter().map(Vec::len).collect();
        assert_eq!(sizes, [MOST_TOGETHER, MOST_TOGETHER, 1]);
    }
}
