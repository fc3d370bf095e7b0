//! The stencil of the paper at full size, 1.8 million warp instructions, and the matrix product of 256 rows,
//! 4.3 million: the whole simulation, and the functional execution alone, which is the part that no machine
//! parameter changes.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gsim::config::overrides::assignment;
use gsim::config::{ElementType, ResolvedRun, load_run};
use gsim::frontend::ptx::Module;
use gsim::gpu::Stepping;
use gsim::isa::{Cta, CtaSource};
use gsim::simulate::simulate;
use gsim::workload::{Launch, registry};

fn resolved(run: &str, element: ElementType, set: &[&str]) -> ResolvedRun {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("configs/runs/{run}.ron"));
    let element = format!("workload.element={element:?}");
    let sets = set.iter().copied().chain([element.as_str()]);
    let sets = sets.map(|set| assignment(set).expect("path=value"));
    load_run(&file, &sets.collect::<Vec<_>>()).expect("the run of the repository is valid")
}

/// Executes every launch as the simulation does, CTA by CTA into storage that is reused; gives the warp
/// instructions.
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

fn workloads(criterion: &mut Criterion) {
    measure(criterion, "stencil", "stencil-char", &[]);
    measure(criterion, "matmul", "matmul", &["workload.size=256"]);
}

fn measure(criterion: &mut Criterion, name: &str, run: &str, set: &[&str]) {
    let runs = ElementType::ALL.map(|element| (element.name(), resolved(run, element, set)));
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).warm_up_time(Duration::from_secs(1));
    for (name, run) in &runs {
        group.throughput(Throughput::Elements(execute(run)));
        group.bench_with_input(BenchmarkId::new("simulate", name), run, |bencher, run| {
            bencher.iter(|| simulate(run, Stepping::SkipAhead, &mut |_| ()).expect("it runs"));
        });
        group.bench_with_input(BenchmarkId::new("execute", name), run, |bencher, run| {
            bencher.iter(|| execute(black_box(run)));
        });
    }
    group.finish();
}

criterion_group!(benches, workloads);
criterion_main!(benches);
