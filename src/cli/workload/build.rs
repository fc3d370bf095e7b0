//! `gsim workload build`: from CUDA C++ to the PTX beside it.

use std::path::{Path, PathBuf};

use super::super::print;
use crate::config::files::{open, sha256};
use crate::config::names::suggest;
use crate::config::parse::read_text;
use crate::error::{Error, Result};
use crate::nvrtc::Nvrtc;
use crate::report::write_file;
use crate::workload::bundled::{KERNELS, Kernel};
use crate::workload::{compile_by, ptx_header};

/// Arguments of `gsim workload build`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct BuildArgs {
    /// Kernels of gsim's, by name, or CUDA sources of your own (.cu); all of gsim's without a name.
    #[arg(value_name = "NAME|FILE.cu")]
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
    /// Options of the compiler for sources of your own, in place of --gpu-architecture=compute_75.
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// A CUDA source and the PTX made of it.
struct Pair {
    /// What the PTX's header calls the source.
    name: String,
    source: PathBuf,
    ptx: PathBuf,
    /// What to do once the PTX has changed.
    then: &'static str,
}

pub(super) fn run(args: &BuildArgs) -> Result<()> {
    let pairs = chosen(args)?;
    // A mistake in a name is said before the compiler is asked for.
    for pair in &pairs {
        open(&pair.source)?;
    }
    if args.check {
        return pairs.iter().try_for_each(|pair| check(pair, args));
    }
    let nvrtc = Nvrtc::load(args.nvrtc.as_deref())?;
    for pair in pairs {
        let ptx = compile(&pair, &nvrtc, &args.options)?;
        let changed = std::fs::read_to_string(&pair.ptx).ok().as_ref() != Some(&ptx);
        if changed {
            write_file(&pair.ptx, ptx.as_bytes())?;
        }
        let outcome = if changed { pair.then } else { "unchanged" };
        print(&format!("{}: {}: {outcome}\n", pair.ptx.display(), nvrtc.version()))?;
    }
    Ok(())
}

/// What the command line names.
fn chosen(args: &BuildArgs) -> Result<Vec<Pair>> {
    let root = args.root.as_deref().unwrap_or(Path::new(""));
    let own = |kernel: &Kernel| Pair {
        name: kernel.source_file.to_owned(),
        source: root.join(kernel.source_file),
        ptx: root.join(kernel.ptx_file),
        then: "written; build gsim again to use it",
    };
    let is_file = |name: &&String| name.ends_with(".cu");
    if !args.names.iter().all(|name| is_file(&name)) || args.names.is_empty() {
        if !args.options.is_empty() {
            return Err(Error::input("options of the compiler are for sources of your own")
                .hint("name their files: gsim workload build FILE.cu -- OPTION"));
        }
        check_root(args, root)?;
    }
    if args.names.is_empty() {
        return Ok(KERNELS.iter().map(own).collect());
    }
    let known: Vec<&str> = KERNELS.iter().map(|kernel| kernel.name).collect();
    let one = |name: &String| {
        if is_file(&name) {
            let source = PathBuf::from(name);
            let file = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Ok(Pair {
                name: file,
                ptx: source.with_extension("ptx"),
                source,
                then: "written",
            });
        }
        KERNELS.iter().find(|kernel| kernel.name == name).map(own).ok_or_else(|| {
            Error::input(format!("no kernel is called {name:?}")).hint(suggest(name, &known))
        })
    };
    args.names.iter().map(one).collect()
}

fn check_root(args: &BuildArgs, root: &Path) -> Result<()> {
    if root.join("workloads").is_dir() {
        return Ok(());
    }
    let place = match &args.root {
        Some(folder) => folder.display().to_string(),
        None => "the current folder".to_owned(),
    };
    Err(Error::input(format!("there is no workloads folder in {place}"))
        .hint("run in the root of gsim's source tree, or give it with --root"))
}

fn compile(pair: &Pair, nvrtc: &Nvrtc, options: &[String]) -> Result<String> {
    let text = read_text(&pair.source)?;
    let ptx = compile_by(nvrtc, &pair.source, &text, (options, Path::new("")))?;
    Ok(ptx_header::add(&pair.name, &text, &nvrtc.version(), options, &ptx))
}

fn check(pair: &Pair, args: &BuildArgs) -> Result<()> {
    let nvrtc = args.nvrtc.as_deref();
    let ptx = read_text(&pair.ptx)?;
    let source = read_text(&pair.source)?;
    let stale = |why: &str| {
        let hint = format!("gsim workload build {}", pair.source.display());
        Err(Error::run(why).in_file(&pair.ptx).hint(hint))
    };
    if ptx_header::source_sha256(&ptx) != Some(&sha256(&source)) {
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
        Some(nvrtc) if compile(pair, &nvrtc, &ptx_header::options(&ptx))? != ptx => {
            return stale("differs from what its compiler makes of its source");
        }
        Some(nvrtc) => format!("the source's hash and {} agree", nvrtc.version()),
        None => "the source's hash agrees".to_owned(),
    };
    print(&format!("{}: ok: {how}\n", pair.ptx.display()))
}
