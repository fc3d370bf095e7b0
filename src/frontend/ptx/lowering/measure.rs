//! What the pass reaches on whole kernels, held against `ptxas`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::super::Module;
use super::super::program::Program;
use super::super::tests::source;
use crate::config::load_run;
use crate::config::machine::InstructionSet;
use crate::isa::{ArithClass, Cta, CtaSource, Inst, Op, WarpCursor, Warpgroup};
use crate::workload::{Work, registry};

/// Columns of the tables: kinds of instructions that both sides tell apart.
pub fn kind(inst: &Inst) -> &'static str {
    match inst.op {
        Op::Arith(class) => match class {
            ArithClass::Move => "move",
            ArithClass::IntAdd
            | ArithClass::IntMul
            | ArithClass::IntMad
            | ArithClass::IntMulWide
            | ArithClass::IntDiv
            | ArithClass::Vote
            | ArithClass::Uniform
            | ArithClass::ToUniform => "integer",
            ArithClass::FpAdd
            | ArithClass::FpCompare
            | ArithClass::FpMul
            | ArithClass::FpFma
            | ArithClass::FpDiv
            | ArithClass::Half
            | ArithClass::HalfTensor => "float",
            ArithClass::DpAdd | ArithClass::DpMul | ArithClass::DpFma | ArithClass::DpDiv => {
                "double"
            }
            ArithClass::Sfu
            | ArithClass::SfuPair
            | ArithClass::Shuffle
            | ArithClass::MatchAll
            | ArithClass::Reduce => "special",
            class if class.is_matrix_product() => "matrix",
            _ => "control",
        },
        Op::Memory(_) => "memory",
        Op::Match => "special",
        Op::Warpgroup(Warpgroup::Multiply(_)) => "matrix",
        Op::Barrier
        | Op::Mbarrier(_)
        | Op::Fence(_)
        | Op::Copies(_)
        | Op::Bulk(_)
        | Op::Warpgroup(_)
        | Op::Exit => "control",
    }
}

/// Errors of the lowering on the kernels of `tests/ptx/lowering.cu`, held against what `ptxas` 13.0 makes of them. The
/// bounds lie a little above what is reached; `results/h200/lowering.md` says what remains.
#[test]
fn samples_have_as_many_instructions_as_ptxas_gives_them() {
    let text = include_str!("../../../../tests/ptx/lowering.ptx");
    let module = Module::parse(&source(text)).unwrap();
    let mut rows = include_str!("../../../../tests/ptx/lowering.csv").lines();
    let kinds: Vec<&str> = rows.next().unwrap().split(',').skip(4).collect();
    let (mut kernels, mut errors) = (0, 0.0);
    let mut by_kind = vec![(0.0, 0.0); kinds.len()];
    for row in rows.filter(|row| row.contains(",static,ptxas,")) {
        let cells: Vec<&str> = row.split(',').collect();
        let program = module.program_for(cells[0], InstructionSet::Sass).unwrap();
        let real = |place: usize| cells[place].parse::<f64>().unwrap();
        let ours = by_block(&program).count() as f64;
        let error = (ours / real(3) - 1.0).abs();
        assert!(error < 0.25, "{}: {ours} instructions for {}", cells[0], cells[3]);
        (kernels, errors) = (kernels + 1, errors + error);
        for (place, name) in kinds.iter().enumerate() {
            let ours = by_block(&program).filter(|(_, inst)| kind(inst) == *name).count();
            by_kind[place].0 += (ours as f64 - real(4 + place)).abs();
            by_kind[place].1 += real(4 + place);
        }
    }
    assert_eq!(kernels, 16);
    assert!(errors / f64::from(kernels) < 0.065, "{errors}");
    for (name, (error, real)) in kinds.iter().zip(by_kind) {
        assert!(error / real < 0.3, "{name}: {error} of {real}");
    }
}

/// The instructions as they are issued, less the copies of loops that are unrolled, with the block whose part of the code
/// they are.
fn by_block(program: &Program) -> impl Iterator<Item = (usize, &Inst)> {
    let blocks = &program.issued.blocks[..program.blocks.len()];
    blocks.iter().enumerate().flat_map(|(number, block)| {
        let insts = &program.issued.insts[block.start as usize..][..block.len as usize];
        insts.iter().map(move |inst| (number, inst))
    })
}

/// Prints what every kernel of the files in `GSIM_PTX` becomes, and how often the runs in `GSIM_RUNS` execute it; both
/// are lists of paths with commas. `benches/lowering.py` holds it against `ptxas`.
#[test]
#[ignore = "prints tables"]
fn table() {
    let list = |name| std::env::var(name).unwrap_or_default();
    println!("set,kernel,line,kind,executed");
    for path in list("GSIM_PTX").split(',').filter(|path| !path.is_empty()) {
        let text = std::fs::read_to_string(path).unwrap();
        let module = Module::parse(&source(text)).unwrap();
        let entries: Vec<String> = module.entries().map(str::to_owned).collect();
        for entry in entries {
            for (name, set) in [("ptx", InstructionSet::Ptx), ("sass", InstructionSet::Sass)] {
                match module.program_for(&entry, set) {
                    Ok(program) => {
                        for (block, inst) in by_block(&program) {
                            println!("{name},{entry},{},{},1", inst.line, kind(inst));
                            if let Op::Memory(_) = inst.op {
                                println!("{name}-order,{entry},{},{block},1", inst.line);
                            }
                        }
                    }
                    Err(error) => eprintln!("{error}"),
                }
            }
        }
    }
    for path in list("GSIM_RUNS").split(',').filter(|path| !path.is_empty()) {
        for (set, name) in [("ptx-run", "Ptx"), ("sass-run", "Sass")] {
            let sets = [format!("sm.instructions={name}")];
            let sets: Vec<_> =
                sets.iter().map(|set| crate::config::overrides::assignment(set).unwrap()).collect();
            let run = load_run(Path::new(path), &sets).unwrap();
            let mut counts: BTreeMap<(String, u32, &str), u64> = BTreeMap::new();
            let mut workload = registry::build(&run).unwrap();
            let mut modules: BTreeMap<PathBuf, Module> = BTreeMap::new();
            let mut cta = Cta::default();
            for launch in workload.launches.iter().filter_map(Work::ptx) {
                let parse = || Module::parse(&launch.ptx).unwrap();
                let module = modules.entry(launch.ptx.path.clone()).or_insert_with(parse);
                let (memory, issued) = (&mut workload.memory, run.machine.sm.instructions);
                let mut source = module.launch_for(launch, memory, issued).unwrap();
                let mut executed = vec![0u64; source.kernel().insts.len()];
                while source.next(&mut cta).unwrap() {
                    for warp in &cta.warps {
                        let mut cursor = WarpCursor::default();
                        while let Some((pc, _)) = cursor.peek(warp) {
                            executed[pc as usize] += 1;
                            cursor.advance(warp);
                        }
                    }
                }
                let kernel = source.kernel();
                for (inst, executed) in kernel.insts.iter().zip(executed) {
                    let key = (kernel.name.clone(), inst.line, kind(inst));
                    *counts.entry(key).or_default() += executed;
                }
            }
            let mut text = String::new();
            for ((kernel, line, kind), executed) in counts {
                let _ = writeln!(text, "{set},{kernel},{line},{kind},{executed}");
            }
            print!("{text}");
        }
    }
}
