//! `gsim workload`: the workloads that come with gsim, and the PTX of their kernels.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use comfy_table::{Table, presets::NOTHING};

use super::print;
use crate::config::parse::{read_text, suggest};
use crate::error::{Error, Result};
use crate::native::nvrtc::Nvrtc;
use crate::workload::ptx_header;
use crate::workload::registry::{KERNELS, Kernel, WORKLOADS};

/// Subcommands of `gsim workload`.
#[derive(Debug, Subcommand)]
pub(super) enum WorkloadCommand {
    /// List the workloads with their parameters and defaults.
    #[command(after_help = "Example:\n  gsim workload list")]
    List,
    /// Compile the CUDA sources under workloads/ to the PTX beside them.
    ///
    /// For developers of gsim, in its source tree: the PTX is part of the binary, which must be built
    /// again afterwards. Needs NVRTC, NVIDIA's run-time compiler, but no GPU. NVRTC is looked for at
    /// --nvrtc, else at the path in GSIM_NVRTC, else by the system's loader.
    #[command(after_help = "Examples:\n  \
        gsim workload build\n  \
        gsim workload build stencil1d --nvrtc ~/venv/lib/python3/site-packages/nvidia/cu13/lib/libnvrtc.so.13\n  \
        gsim workload build --check")]
    Build(BuildArgs),
}

/// Arguments of `gsim workload build`.
#[derive(Debug, clap::Args)]
pub(super) struct BuildArgs {
    /// Kernels to compile; all without a name.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Write nothing: fail if a PTX file was made of another source than the one beside it.
    ///
    /// Where an NVRTC of the version in its header can be loaded, the PTX is compiled and compared, too.
    #[arg(long)]
    check: bool,
    /// Path of libnvrtc.so.
    #[arg(long, value_name = "PATH")]
    nvrtc: Option<PathBuf>,
    /// Root of gsim's source tree, the folder that holds workloads/ [default: the current folder].
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub(super) fn run(command: WorkloadCommand) -> Result<()> {
    match command {
        WorkloadCommand::List => print(&list()),
        WorkloadCommand::Build(args) => build(&args),
    }
}

fn list() -> String {
    let mut text = String::new();
    for workload in WORKLOADS {
        let mut table = Table::new();
        table.load_preset(NOTHING).set_header(["parameter", "default", "meaning"]);
        for parameter in workload.parameters {
            let default = parameter.default.unwrap_or("required");
            table.add_row([parameter.name, default, parameter.meaning]);
        }
        let _ = writeln!(text, "{}: {}\n", workload.name, workload.summary);
        for line in table.trim_fmt().lines() {
            let _ = writeln!(text, "  {line}");
        }
        text.push('\n');
    }
    text.push_str(
        "In a run file:   workload: Stencil1d(element: Char, elements: 1048576),\n\
         By command line: --set workload.elements=1048576\n",
    );
    text
}

fn build(args: &BuildArgs) -> Result<()> {
    let kernels = chosen(&args.names)?;
    let root = args.root.as_deref().unwrap_or(Path::new(""));
    if !root.join("workloads").is_dir() {
        let place = match &args.root {
            Some(folder) => folder.display().to_string(),
            None => "the current folder".to_owned(),
        };
        return Err(Error::input(format!("there is no workloads folder in {place}"))
            .hint("run in the root of gsim's source tree, or give it with --root"));
    }
    if args.check {
        return kernels.iter().try_for_each(|kernel| check(kernel, root, args.nvrtc.as_deref()));
    }
    let nvrtc = Nvrtc::load(args.nvrtc.as_deref())?;
    for kernel in kernels {
        let ptx = compile(kernel, root, &nvrtc)?;
        let file = root.join(kernel.ptx_file);
        let changed = std::fs::read_to_string(&file).ok().as_ref() != Some(&ptx);
        if changed {
            std::fs::write(&file, &ptx).map_err(|cause| {
                Error::run(format!("cannot be written: {cause}")).in_file(&file)
            })?;
        }
        let outcome = if changed { "written; build gsim again to use it" } else { "unchanged" };
        print(&format!("{}: {}: {outcome}\n", file.display(), nvrtc.version()))?;
    }
    Ok(())
}

/// The kernels of the given names; all for none.
fn chosen(names: &[String]) -> Result<Vec<&'static Kernel>> {
    if names.is_empty() {
        return Ok(KERNELS.iter().collect());
    }
    let known: Vec<&str> = KERNELS.iter().map(|kernel| kernel.name).collect();
    names
        .iter()
        .map(|name| {
            KERNELS.iter().find(|kernel| kernel.name == name).ok_or_else(|| {
                Error::input(format!("no kernel is called {name:?}")).hint(suggest(name, &known))
            })
        })
        .collect()
}

fn compile(kernel: &Kernel, root: &Path, nvrtc: &Nvrtc) -> Result<String> {
    let source = read_text(&root.join(kernel.source_file))?;
    let ptx = nvrtc.compile(kernel.source_file, &source, ptx_header::OPTIONS)?;
    Ok(ptx_header::add(kernel.source_file, &source, &nvrtc.version(), &ptx))
}

fn check(kernel: &Kernel, root: &Path, nvrtc: Option<&Path>) -> Result<()> {
    let file = root.join(kernel.ptx_file);
    let ptx = read_text(&file)?;
    let source = read_text(&root.join(kernel.source_file))?;
    let stale = |why: &str| {
        Err(Error::run(why).in_file(&file).hint(format!("gsim workload build {}", kernel.name)))
    };
    if ptx_header::source_sha256(&ptx) != Some(&ptx_header::sha256(&source)) {
        return stale("was made of another source than the one beside it");
    }
    let loaded = match Nvrtc::load(nvrtc) {
        Ok(loaded) => Some(loaded),
        // Only one that was asked for must be there.
        Err(error) if nvrtc.is_some() => return Err(error),
        Err(_) => None,
    };
    let same = loaded.filter(|nvrtc| Some(nvrtc.version().as_str()) == ptx_header::compiler(&ptx));
    let how = match same {
        Some(nvrtc) if compile(kernel, root, &nvrtc)? != ptx => {
            return stale("differs from what its compiler makes of its source");
        }
        Some(nvrtc) => format!("the source's hash and {} agree", nvrtc.version()),
        None => "the source's hash agrees".to_owned(),
    };
    print(&format!("{}: ok: {how}\n", file.display()))
}
