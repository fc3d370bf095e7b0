//! `gsim workload show`.

use std::fmt::Write as _;
use std::path::Path;

use comfy_table::{Table, presets::NOTHING};

use super::list::parameters;
use crate::config::names::suggest;
use crate::config::parse::{read_text, without_mark};
use crate::config::{RunFile, WorkloadSpec};
use crate::error::{Error, Result};
use crate::frontend::ptx::{Description as Entry, Module, ModuleVariable};
use crate::isa::{AccessKind, ArithClass, Inst, MemoryOp, Op, Space, Warpgroup};
use crate::serial;
use crate::workload::bundled::KERNELS;
use crate::workload::catalogue::{Description, WORKLOADS};
use crate::workload::{PtxSource, compile};

/// What there is to know about `what`: a workload's name, or a file.
pub(super) fn show(what: &str, nvrtc: Option<&Path>) -> Result<String> {
    let path = Path::new(what);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("ptx" | "cu") => source(path, (&[], Path::new("")), nvrtc),
        Some("ron") => run_file(path, nvrtc),
        _ => {
            let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
            let found = WORKLOADS.iter().find(|known| known.name.eq_ignore_ascii_case(what));
            let workload = found.ok_or_else(|| {
                Error::input(format!("no workload is called {what:?}")).hint(format!(
                    "{}; a file's name ends in .ptx, .cu or .ron",
                    suggest(what, &names)
                ))
            })?;
            registered(workload)
        }
    }
}

/// A workload that comes with gsim.
fn registered(workload: &Description) -> Result<String> {
    let mut text = parameters(workload);
    let name = workload.name.to_lowercase();
    if let Some(kernel) = KERNELS.iter().find(|kernel| kernel.name == name) {
        let source = kernel.ptx_source();
        let _ = write!(text, "\n{}", entries(&Module::parse(&source)?)?);
    }
    let _ = write!(
        text,
        "\nA run file:\n\n{}",
        indented(&format!(
            "Run(\n    name: \"my-{name}\",\n    machine: \"gtx480\",\n    workload: {},\n)\n",
            workload.example.replace('\n', "\n    ")
        ))
    );
    Ok(text)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect()
}

/// The kernel that a run file names.
fn run_file(path: &Path, nvrtc: Option<&Path>) -> Result<String> {
    let run = RunFile::read(path)?;
    match &run.config.workload {
        WorkloadSpec::Kernel(spec) => {
            let folder = path.parent().unwrap_or(Path::new(""));
            source(&folder.join(&spec.source), (&spec.options, folder), nvrtc)
        }
        other => {
            let value = serial::to_json_value(other);
            let name = value.as_object().and_then(|variant| variant.keys().next().cloned());
            show(&name.expect("a workload is a variant with fields"), nvrtc)
        }
    }
}

/// A kernel of the user's.
fn source(path: &Path, options: (&[String], &Path), nvrtc: Option<&Path>) -> Result<String> {
    let text = read_text(path)?;
    let is_cu = path.extension().is_some_and(|extension| extension == "cu");
    let text = if is_cu { compile(path, &text, options, nvrtc)?.0 } else { without_mark(text) };
    let module = Module::parse(&PtxSource { path: path.to_owned(), text })?;
    Ok(format!("{}\n\n{}", path.display(), entries(&module)?))
}

/// The entries of a module.
fn entries(module: &Module) -> Result<String> {
    let mut text = String::new();
    for name in module.entries() {
        if !text.is_empty() {
            text.push('\n');
        }
        match module.describe(name) {
            Ok(entry) => text.push_str(&described(name, &entry)),
            // What gsim cannot execute is no reason to hide the others.
            Err(error) => {
                let _ = writeln!(text, "entry {name}\n  cannot be run: {error}");
            }
        }
    }
    if text.is_empty() {
        text.push_str("no entries: a kernel is `extern \"C\" __global__`\n");
    }
    text.push_str(&variables(module));
    Ok(text)
}

/// The variables of a module that `symbols` of a run file can fill; nothing where there are none.
fn variables(module: &Module) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    for variable in module.variables().filter(ModuleVariable::can_be_filled) {
        let bytes = format!("{} bytes", variable.bytes.unwrap_or(0));
        table.add_row([named(variable.space), variable.name, bytes.as_str()]);
    }
    match table.is_empty() {
        true => String::new(),
        false => format!("\nvariables\n{}", indented(&table.trim_fmt())),
    }
}

fn described(name: &str, entry: &Entry) -> String {
    let mut text = format!("entry {name}\n");
    let mut table = Table::new();
    table.load_preset(NOTHING);
    for parameter in &entry.parameters {
        let bytes = format!("{} bytes", parameter.bytes);
        table.add_row([parameter.ty.as_str(), parameter.name.as_str(), bytes.as_str()]);
    }
    for line in table.trim_fmt().lines() {
        let _ = writeln!(text, "  {line}");
    }
    let memory = [("shared", entry.shared_bytes), ("local", entry.local_bytes)];
    let memory: Vec<String> = memory
        .iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(space, bytes)| format!(", {bytes} bytes of {space} memory"))
        .collect();
    let most = entry.max_threads.map(|most| format!(", at most {most} threads a CTA"));
    let _ = writeln!(
        text,
        "  about {} registers a thread{}{}",
        entry.registers,
        memory.concat(),
        most.unwrap_or_default()
    );
    let mix = mix(&entry.insts);
    let mix: Vec<String> = mix.iter().map(|(class, count)| format!("{class} {count}")).collect();
    let _ = writeln!(text, "  {} instructions: {}", entry.insts.len(), mix.join(", "));
    text
}

/// Static instructions by class, the most frequent first.
fn mix(insts: &[Inst]) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for inst in insts {
        let class = class(inst.op);
        match counts.iter_mut().find(|(known, _)| *known == class) {
            Some((_, count)) => *count += 1,
            None => counts.push((class, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

fn named(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Generic => "generic",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Constant => "constant",
    }
}

fn class(op: Op) -> String {
    let arith = |class| match class {
        ArithClass::Move => "move",
        ArithClass::IntAdd => "integer",
        ArithClass::IntMul => "integer multiply",
        ArithClass::IntMad => "integer multiply-add",
        ArithClass::IntMulWide => "wide integer multiply",
        ArithClass::IntDiv => "integer divide",
        ArithClass::Uniform => "uniform integer",
        ArithClass::ToUniform => "move to uniform",
        ArithClass::FpAdd => "float add",
        ArithClass::FpCompare => "float compare",
        ArithClass::FpMul => "float multiply",
        ArithClass::FpFma => "float multiply-add",
        ArithClass::FpDiv => "float divide",
        ArithClass::Half => "half precision",
        ArithClass::HalfTensor => "half precision by tensor cores",
        ArithClass::DpAdd => "double add",
        ArithClass::DpMul => "double multiply",
        ArithClass::DpFma => "double multiply-add",
        ArithClass::DpDiv => "double divide",
        ArithClass::Sfu => "special function",
        ArithClass::SfuPair => "special function of a pair",
        ArithClass::Shuffle => "shuffle",
        ArithClass::Vote => "vote",
        ArithClass::MatchAll => "comparison of lanes",
        ArithClass::Reduce => "reduction of lanes",
        ArithClass::Mma | ArithClass::MmaHalf | ArithClass::MmaSmall => "matrix product",
        ArithClass::DpMmaSmall | ArithClass::DpMma4 | ArithClass::DpMma8 | ArithClass::DpMma16 => {
            "double matrix product"
        }
        ArithClass::Control => "control",
        ArithClass::Branch => "branch",
        ArithClass::Converge => "convergence",
    };
    match op {
        Op::Arith(class) => arith(class).to_owned(),
        Op::Memory(MemoryOp { space, kind, .. }) => {
            let space = named(space);
            let kind = match kind {
                AccessKind::Load => "load",
                AccessKind::LoadMatrix => "matrix load",
                AccessKind::Copy => "copy",
                AccessKind::Store => "store",
                AccessKind::Atomic(_) => "atomic",
            };
            format!("{space} {kind}")
        }
        Op::Match => "match of lanes".to_owned(),
        Op::Barrier => "barrier".to_owned(),
        Op::Mbarrier(_) => "mbarrier".to_owned(),
        Op::Fence(fence) => fence.name().to_lowercase(),
        Op::Copies(_) => "groups of copies".to_owned(),
        Op::Bulk(_) => "bulk copy".to_owned(),
        Op::Warpgroup(Warpgroup::Multiply(_)) => "warpgroup product".to_owned(),
        Op::Warpgroup(_) => "groups of products".to_owned(),
        Op::Exit => "exit".to_owned(),
    }
}
