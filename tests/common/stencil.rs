//! The runs of the repository, changed from the outside as a user does it.

use std::path::Path;

use gsim::config::overrides::assignment;
use gsim::config::{ElementType, ResolvedRun, load_run};
use gsim::gpu::Stepping;
use gsim::report::Report;
use gsim::simulate::simulate;

/// Loads `configs/runs/NAME.ron` with `path=value` changes.
pub fn load(name: &str, changes: &[&str]) -> ResolvedRun {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("configs/runs/{name}.ron"));
    let pairs: Vec<_> =
        changes.iter().map(|change| assignment(change).expect("path=value")).collect();
    load_run(&file, &pairs).unwrap_or_else(|why| panic!("{why}"))
}

/// Simulates `configs/runs/NAME.ron` with another element type and `path=value` changes.
pub fn simulate_run(
    name: &str,
    element: ElementType,
    changes: &[&str],
    stepping: Stepping,
) -> Report {
    let element = format!("workload.element={element:?}");
    let run = load(name, &[&[element.as_str()], changes].concat());
    simulate(&run, stepping, &mut |_| ()).unwrap_or_else(|why| panic!("{why}"))
}

/// Simulates `configs/runs/stencil-char.ron`, changed.
#[allow(dead_code)]
pub fn stencil_stepping(element: ElementType, changes: &[&str], stepping: Stepping) -> Report {
    simulate_run("stencil-char", element, changes, stepping)
}

/// The same with skip-ahead, as users run it.
#[allow(dead_code)]
pub fn stencil(element: ElementType, changes: &[&str]) -> Report {
    stencil_stepping(element, changes, Stepping::SkipAhead)
}
