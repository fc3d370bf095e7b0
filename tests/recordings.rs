//! What was recorded on a GPU is complete and can be read, and the stored comparison is of this state of the model.

use std::path::Path;

use gsim::calibrate::correlate::correlate;
use gsim::config::{ResolvedRun, Setting, StudyFile, overrides};
use gsim::native::counters::{COUNTERS_FILE, CounterReport, METRICS};
use gsim::native::{NATIVE_FILE, NativeReport};
use gsim::study::Options;

const RECORDINGS: &str = "results/h200/native";

/// The runs of a study.
fn runs_of(study: &str) -> Vec<ResolvedRun> {
    StudyFile::read(Path::new(study)).unwrap().runs().unwrap()
}

/// The runs of the study that were recorded, by the names of their folders.
fn recorded_runs() -> Vec<ResolvedRun> {
    runs_of("configs/studies/h200.ron")
}

/// The rows of a stored comparison.
fn stored(folder: &str) -> Vec<csv::StringRecord> {
    let table = format!("results/{folder}/correlation.csv");
    csv::Reader::from_path(table).unwrap().records().map(Result::unwrap).collect()
}

/// Compares some runs anew, and holds the result against what is stored.
fn is_of_this_model(
    runs: Vec<ResolvedRun>,
    some: &[&str],
    native: &str,
    stored: &[csv::StringRecord],
) {
    let runs = runs.into_iter().filter(|run| some.contains(&&*run.config.name));
    let options = Options { jobs: 1, ..Options::default() };
    let pairs = correlate(runs.collect(), Path::new(native), &options, &|_| ()).unwrap();
    assert_eq!(pairs.len(), some.len());
    for pair in pairs {
        for metric in METRICS.iter().filter(|metric| metric.name != "cycles") {
            let Some((simulated, measured)) = pair.values(metric).unwrap() else { continue };
            let row = stored.iter().find(|row| row[0] == *pair.name && row[1] == *metric.name);
            let row = row.unwrap_or_else(|| panic!("{}: no row for {}", pair.name, metric.name));
            let now = [format!("{measured:.1}"), format!("{simulated:.1}")];
            assert_eq!([&row[2], &row[3]], [&now[0], &now[1]], "{}: {}", pair.name, metric.name);
        }
    }
}

#[test]
fn every_run_was_recorded_with_every_counter_and_no_byte_differs() {
    let runs = recorded_runs();
    assert!(runs.len() >= 33);
    let mut compared = 0;
    for run in runs {
        let folder = Path::new(RECORDINGS).join(&run.config.name);
        let native = NativeReport::read(&folder.join(NATIVE_FILE)).unwrap();
        assert_eq!((&native.name, &native.workload), (&run.config.name, &run.config.workload));
        for buffer in &native.agreement.buffers {
            assert_eq!(buffer.differ, 0, "{}: {}", native.name, buffer.name);
            compared += buffer.bytes;
        }
        assert!(native.cold_us() > 0.0);
        let counters = CounterReport::read(&folder.join(COUNTERS_FILE)).unwrap();
        assert_eq!(counters.launches.len(), native.launches.len(), "{}", native.name);
        for metric in METRICS {
            assert!(counters.sum(metric.counter).is_some(), "{}: {}", native.name, metric.name);
        }
    }
    assert!(compared > 2_000_000_000, "{compared} bytes");
}

#[test]
fn the_stored_comparisons_are_of_this_model() {
    // Small ones, of each kind.
    let small = ["h200-spmv", "h200-stencil-char-2-19", "h200-tiles"];
    is_of_this_model(recorded_runs(), &small, RECORDINGS, &stored("h200/correlation"));
    let typical = runs_of("configs/studies/typical.ron");
    let native = "results/h100/typical/native";
    is_of_this_model(typical, &["typical-transpose"], native, &stored("h100/typical/correlation"));
}

#[test]
fn the_stored_warm_times_are_of_this_model() {
    let stored = stored("h200/correlation-warm");
    let small = ["h200-spmv", "h200-tiles"];
    let runs = |l2: [&str; 2]| {
        let runs = recorded_runs().into_iter();
        let runs = runs.filter(|run| small.contains(&&*run.config.name)).zip(l2);
        let runs = runs.map(|(mut run, l2)| {
            let changes = [("launch.l2".to_owned(), Setting::new(l2))].into();
            run.machine = overrides::apply_to_machine(&run.machine, &changes).unwrap();
            run
        });
        let options = Options { jobs: 1, ..Options::default() };
        correlate(runs.collect(), Path::new(RECORDINGS), &options, &|_| ())
    };
    for pair in runs(["Warm", "Warm"]).unwrap() {
        assert!(pair.counters.is_none());
        assert_eq!(pair.measured_us(), pair.native.warm_us());
        let row = stored.iter().find(|row| row[0] == *pair.name).unwrap();
        let now = [pair.measured_cycles(), pair.simulated_cycles().unwrap()];
        assert_eq!([&row[2], &row[3]], now.map(|cycles| format!("{cycles:.1}")), "{}", pair.name);
    }
    let refused = |l2| runs(l2).unwrap_err().message;
    assert!(refused(["Warm", "Cold"]).contains("`launch.l2` is another"));
    assert!(refused(["Flushed", "Flushed"]).contains("no GPU was measured"));
}
