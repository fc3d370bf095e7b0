//! Rules on small kernels, and what the pass reaches on whole ones.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use super::super::Module;
use super::super::tests::source;
use crate::config::load_run;
use crate::isa::{ArithClass, Cta, Inst, Op, WarpCursor};
use crate::simulate::Functional;

/// Columns of the tables: kinds of instructions that both sides tell apart.
fn kind(inst: &Inst) -> &'static str {
    match inst.op {
        Op::Arith(class) => match class {
            ArithClass::Move => "move",
            ArithClass::IntAdd | ArithClass::IntMul | ArithClass::IntMad | ArithClass::IntDiv => {
                "integer"
            }
            ArithClass::FpAdd | ArithClass::FpMul | ArithClass::FpFma | ArithClass::FpDiv => {
                "float"
            }
            ArithClass::DpAdd | ArithClass::DpMul | ArithClass::DpFma | ArithClass::DpDiv => {
                "double"
            }
            ArithClass::Sfu => "special",
            ArithClass::Control => "control",
        },
        Op::Memory(_) => "memory",
        Op::Barrier | Op::Fence | Op::Exit => "control",
    }
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
            let program = match module.program(&entry) {
                Ok(program) => program,
                Err(error) => {
                    eprintln!("{error}");
                    continue;
                }
            };
            for (set, issued) in [("ptx", &program.ptx), ("sass", &program.sass)] {
                for inst in &issued.insts {
                    println!("{set},{entry},{},{},1", inst.line, kind(inst));
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
            let functional = Functional::new(&run).unwrap();
            let mut cta = Cta::default();
            functional
                .execute(&mut |source| {
                    let kernel = source.kernel().clone();
                    let mut executed = vec![0u64; kernel.insts.len()];
                    while source.next(&mut cta)? {
                        for warp in &cta.warps {
                            let mut cursor = WarpCursor::default();
                            while let Some((pc, _)) = cursor.peek(warp) {
                                executed[pc as usize] += 1;
                                cursor.advance(warp);
                            }
                        }
                    }
                    for (inst, executed) in kernel.insts.iter().zip(executed) {
                        let key = (kernel.name.clone(), inst.line, kind(inst));
                        *counts.entry(key).or_default() += executed;
                    }
                    Ok(())
                })
                .unwrap();
            let mut text = String::new();
            for ((kernel, line, kind), executed) in counts {
                let _ = writeln!(text, "{set},{kernel},{line},{kind},{executed}");
            }
            print!("{text}");
        }
    }
}
