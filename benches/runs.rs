//! The runs of the repository as wholes, with their throughput in warp instructions, and the functional execution of its kernels
//! alone, which is the part that no machine parameter changes.

use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gsim::config::overrides::assignment;
use gsim::config::{ResolvedRun, load_run};
use gsim::frontend::ptx::Module;
use gsim::gpu::Stepping;
use gsim::isa::{Cta, CtaSource};
use gsim::report::Report;
use gsim::simulate::simulate;
use gsim::workload::{Launch, registry};

/// A name, the run file and what it changes there. Long runs are made smaller.
const RUNS: [(&str, &str, &[&str]); 11] = [
    ("stencil of int", "stencil-char", &["workload.element=Int"]),
    ("stencil of short", "stencil-char", &["workload.element=Short"]),
    ("stencil of char", "stencil-char", &[]),
    ("matmul of 192", "matmul", &["workload.size=192"]),
    ("stereo of 96 x 72", "stereo", &["workload.width=96", "workload.height=72"]),
    ("stream", "stream", &[]),
    ("gather", "gather", &[]),
    ("mixture", "mixture", &[]),
    ("spmv", "spmv", &[]),
    ("chase", "chase", &[]),
    ("heat", "heat", &[]),
];
/// Of these, those whose kernels come with gsim: the first ones.
const BUNDLED: usize = 5;

fn resolved(run: &str, set: &[&str]) -> ResolvedRun {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("configs/runs/{run}.ron"));
    let sets: Vec<_> = set.iter().map(|set| assignment(set).expect("path=value")).collect();
    load_run(&file, &sets).expect("the run of the repository is valid")
}

fn simulated(run: &ResolvedRun) -> Report {
    simulate(run, Stepping::SkipAhead, &mut |_| ()).expect("it runs")
}

/// Executes every launch as the simulation does, CTA by CTA into storage that is reused.
fn execute(run: &ResolvedRun) -> u64 {
    let mut workload = registry::build(run).expect("a workload");
    let launches: Vec<&Launch> = workload.launches.ptx().collect();
    let module = Module::parse(&launches[0].ptx).expect("the kernel is understood");
    let mut cta = Cta::default();
    let mut instructions = 0;
    for launch in launches {
        let mut source = module.launch(launch, &mut workload.memory).expect("a launch");
        while source.next(&mut cta).expect("the kernel is right") {
            instructions += cta.warps.iter().map(|warp| warp.instructions()).sum::<u64>();
        }
    }
    instructions
}

fn runs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulate");
    group.sample_size(10).warm_up_time(Duration::from_secs(1));
    for (name, run, set) in RUNS {
        let run = resolved(run, set);
        group.throughput(Throughput::Elements(simulated(&run).totals.warp_instructions));
        group.bench_function(name, |bencher| bencher.iter(|| simulated(&run)));
    }
    group.finish();
}

fn kernels(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("execute");
    group.sample_size(10).warm_up_time(Duration::from_secs(1));
    for (name, run, set) in &RUNS[..BUNDLED] {
        let run = resolved(run, set);
        group.throughput(Throughput::Elements(execute(&run)));
        group.bench_function(*name, |bencher| bencher.iter(|| execute(&run)));
    }
    group.finish();
}

criterion_group!(benches, runs, kernels);
criterion_main!(benches);
