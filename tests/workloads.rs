//! Every workload that comes with gsim, executed without a machine: the result is the host's, and every
//! thread loads and stores as often as its algorithm says, for sizes that fill no block.

use std::path::Path;

use gsim::config::RunFile;
use gsim::frontend::ptx::Module;
use gsim::isa::{AccessKind, Cta, CtaSource, Op, WarpCursor};
use gsim::workload::{Launch, registry};

const ELEMENTS: [&str; 3] = ["Int", "Short", "Char"];

/// Loads and stores of threads.
#[derive(Debug, PartialEq, Eq)]
struct Accesses {
    loads: u64,
    stores: u64,
}

/// Executes a workload, CTA by CTA as the simulation does, and checks its result; gives its accesses and
/// the elements compared.
#[track_caller]
fn execute(spec: &str) -> (Accesses, u64) {
    let text = format!("Run(name: \"a\", machine: \"gtx480\", seed: 3, workload: {spec})");
    let run = RunFile::from_text(Path::new("a.ron"), text).and_then(|run| run.resolve(&[]));
    let run = run.unwrap_or_else(|why| panic!("{spec}: {why}"));
    let mut workload = registry::build(&run).unwrap_or_else(|why| panic!("{spec}: {why}"));
    let launches: Vec<Launch> = workload.launches.ptx().cloned().collect();
    let module = Module::parse(&launches[0].ptx).unwrap_or_else(|why| panic!("{why}"));
    let mut accesses = Accesses { loads: 0, stores: 0 };
    let mut cta = Cta::default();
    for launch in &launches {
        let mut source = module.launch(launch, &mut workload.memory).expect("a launch");
        while source.next(&mut cta).unwrap_or_else(|why| panic!("{spec}: {why}")) {
            for stream in &cta.warps {
                let mut cursor = WarpCursor::default();
                while let Some((pc, mask)) = cursor.peek(stream) {
                    if let Op::Memory(memory) = source.kernel().insts[pc as usize].op {
                        let lanes = u64::from(mask.count_ones());
                        match memory.kind {
                            AccessKind::Load | AccessKind::LoadMatrix | AccessKind::Copy => {
                                accesses.loads += lanes;
                            }
                            AccessKind::Store => accesses.stores += lanes,
                            AccessKind::Atomic(_) => panic!("{spec}: an atomic"),
                        }
                    }
                    cursor.advance(stream);
                }
            }
        }
    }
    let verdict = (workload.check)(&workload.memory).unwrap_or_else(|why| panic!("{spec}: {why}"));
    (accesses, verdict.elements)
}

#[test]
fn the_matrix_product_reads_a_row_and_a_column_for_each_element() {
    for element in ELEMENTS {
        for (n, x, y) in
            [(1, 16, 16), (7, 16, 16), (33, 16, 16), (45, 32, 4), (50, 5, 3), (64, 1, 64)]
        {
            let spec = format!("Matmul(element: {element}, size: {n}, block_x: {x}, block_y: {y})");
            let accesses = Accesses { loads: 2 * n * n * n, stores: n * n };
            assert_eq!(execute(&spec), (accesses, n * n), "{spec}");
        }
    }
}

#[test]
fn stereo_reads_four_boxes_for_a_message_and_five_for_a_label() {
    const LABELS: u64 = 16;
    for element in ELEMENTS {
        for layout in ["PixelMajor", "BoxMajor", "LabelMajor"] {
            for (width, height, iterations, block) in
                [(1, 1, 1, 32), (1, 9, 2, 32), (9, 1, 1, 7), (37, 21, 2, 32), (33, 70, 1, 48)]
            {
                let spec = format!(
                    "Stereo(element: {element}, width: {width}, height: {height}, \
                     iterations: {iterations}, block: {block}, layout: {layout})"
                );
                let pixels = width * height;
                let messages = 2 * iterations * (height * (width - 1) + width * (height - 1));
                let accesses = Accesses {
                    loads: LABELS * (4 * messages + 5 * pixels),
                    stores: LABELS * messages + pixels,
                };
                assert_eq!(execute(&spec), (accesses, (5 * LABELS + 1) * pixels), "{spec}");
            }
        }
    }
}

#[test]
fn the_stencil_reads_three_neighbours_and_copies_its_borders() {
    for element in ELEMENTS {
        for (n, block, iterations) in [(1, 32, 1), (2, 32, 3), (1000, 96, 3), (4097, 256, 2)] {
            let spec = format!(
                "Stencil1d(element: {element}, elements: {n}, block: {block}, iterations: {iterations})"
            );
            let inner = u64::max(n, 2) - 2;
            let loads = iterations * (3 * inner + (n - inner));
            assert_eq!(execute(&spec), (Accesses { loads, stores: iterations * n }, n), "{spec}");
        }
    }
}
