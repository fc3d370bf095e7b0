//! `gsim trace info`: what a trace holds.

use std::fmt::Write as _;
use std::path::PathBuf;

use comfy_table::{CellAlignment, Table, presets::NOTHING};

use crate::config::files::open;
use crate::config::parse;
use crate::config::unreadable::cannot_read;
use crate::error::Result;
use crate::frontend::trace::{Header, Origin, TraceReader};
use crate::isa::{Cta, LaunchSource, Op, WarpCursor, WarpStream};
use crate::report::number;

/// Arguments of `gsim trace info`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct InfoArgs {
    /// The trace.
    #[arg(value_name = "FILE.gtrace")]
    file: PathBuf,
}

pub(super) fn info(args: &InfoArgs) -> Result<String> {
    let path = &args.file;
    let bytes = open(path)?.metadata().map_err(|cause| cannot_read(path, &cause))?.len();
    let mut reader = TraceReader::open(path)?;
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header([
        "launch",
        "kernel",
        "CTAs",
        "threads",
        "registers",
        "shared",
        "instructions",
        "executed by warps",
        "of memory",
    ]);
    let mut cta = Cta::default();
    let mut number = 0;
    while let Some(kernel) = reader.begin()? {
        let is_memory: Vec<bool> =
            kernel.insts.iter().map(|inst| matches!(inst.op, Op::Memory(_))).collect();
        let before = reader.read().warp_instructions;
        let mut memory = 0;
        while reader.next(&mut cta)? {
            memory += cta.warps.iter().map(|warp| count(warp, &is_memory)).sum::<u64>();
        }
        table.add_row([
            number.to_string(),
            kernel.name.clone(),
            number::thousands(kernel.ctas),
            kernel.cta_threads.to_string(),
            kernel.registers_per_thread.to_string(),
            number::thousands(kernel.shared_bytes.into()),
            number::thousands(kernel.insts.len() as u64),
            number::thousands(reader.read().warp_instructions - before),
            number::thousands(memory),
        ]);
        number += 1;
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        if place != 1 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let total = reader.read();
    let each = bytes as f64 / total.warp_instructions.max(1) as f64;
    let mut text = format!("{}: {} bytes\n", path.display(), number::thousands(bytes));
    let _ = writeln!(text, "{}", described(reader.header()));
    let _ = writeln!(
        text,
        "{}, {}, {} bytes each\n\n{}",
        number::counted(total.ctas, "CTA", "CTAs"),
        number::counted(total.warp_instructions, "warp instruction", "warp instructions"),
        number::short(each),
        table.trim_fmt()
    );
    Ok(text)
}

/// Executed instructions that go to memory.
fn count(warp: &WarpStream, is_memory: &[bool]) -> u64 {
    let mut cursor = WarpCursor::default();
    let mut count = 0;
    while let Some(run) = cursor.take_run(warp) {
        let insts = &is_memory[run.pc as usize..][..run.len as usize];
        count += insts.iter().filter(|is| **is).count() as u64;
    }
    count
}

/// Where the trace comes from.
fn described(header: &Header) -> String {
    let Header { gsim, instructions, launches, origin } = header;
    let from = match origin {
        Origin::Run { name, workload, seed, versions } => {
            let workload = parse::to_text(workload);
            // As a run file has it, which leaves out what is not there.
            let lines = workload.lines().filter(|line| !line.ends_with(": None,"));
            let workload = lines.map(|line| format!("\n  {line}")).collect::<String>();
            let files: String =
                versions.iter().map(|(file, what)| format!("\n  {file}: {what}")).collect();
            format!("captured from the run {name}, seed {seed}:{workload}{files}")
        }
        Origin::AccelSim { list, binary_version, tracer_version } => format!(
            "converted from Accel-Sim's {list}: code of compute capability {}.{}, tracer {tracer_version}",
            binary_version / 10,
            binary_version % 10
        ),
    };
    let launches = number::counted(u64::from(*launches), "launch", "launches");
    format!("{launches}, {instructions:?} instructions, written by gsim {gsim}\n{from}")
}
