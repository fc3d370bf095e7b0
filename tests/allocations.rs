//! The simulation allocates nothing once it is under way.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use gsim::config::load_run;
use gsim::config::overrides::assignment;
use gsim::gpu::Stepping;
use gsim::simulate::{Step, simulate};

/// Counts what the system's allocator is asked for.
struct Counting;

static REQUESTS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: as the system's.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: as the system's.
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    // SAFETY: as the system's.
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations while the second half of a launch's CTAs start, when every place for a CTA has held one.
fn allocations(run: &str, changes: &[&str]) -> u64 {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("configs/runs/{run}.ron"));
    let changes: Vec<_> = changes.iter().map(|change| assignment(change).unwrap()).collect();
    let run = load_run(&file, &changes).unwrap_or_else(|why| panic!("{why}"));
    let mut counts = Vec::with_capacity(1 << 16);
    let mut observe = |Step { progress, .. }: Step| {
        let share = progress.ctas_started as f64 / progress.ctas as f64;
        if progress.launch == 0 && (0.5..0.95).contains(&share) {
            counts.push(REQUESTS.load(Ordering::Relaxed));
        }
    };
    simulate(&run, Stepping::SkipAhead, &mut observe).unwrap_or_else(|why| panic!("{why}"));
    assert!(counts.len() >= 3, "{run:?}: the launch is too short to look at its middle");
    counts[counts.len() - 1] - counts[0]
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn nothing_is_allocated_once_a_launch_is_under_way() {
    let (large, larger) = ("workload.elements=4194304", "workload.elements=25165824");
    let once = "workload.iterations=1";
    for (run, changes) in [
        ("stencil-char", &[large, "workload.element=Int"][..]),
        ("stencil-char", &[large]),
        ("matmul", &["workload.size=400"]),
        ("stencil-char", &[large, "machine=gtx280"]),
        ("stencil-char", &[larger, once, "machine=v100"]),
        ("stencil-char", &[larger, once, "machine=h200"]),
        ("stream", &["workload.ctas=4000"]),
        ("gather", &["workload.ctas=4000"]),
        ("mixture", &["workload.ctas=4000", "workload.repeats=1"]),
    ] {
        let count = allocations(run, changes);
        assert_eq!(count, 0, "{run} {changes:?}");
    }
}
