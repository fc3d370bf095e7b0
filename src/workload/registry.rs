//! The workloads that come with gsim: their kernels, their parameters, and how one is built.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{PtxSource, Workload, kernel, stencil1d, synthetic};
use crate::config::{ResolvedRun, WorkloadSpec};
use crate::error::Result;

/// Builds the workload of a run: fills its buffers and lists its launches.
///
/// The same run and the same files give the same bytes on every host.
pub fn build(run: &ResolvedRun) -> Result<Workload> {
    let seed = run.config.seed;
    match &run.config.workload {
        WorkloadSpec::Stencil1d(stencil) => Ok(stencil1d::build(stencil, seed)),
        WorkloadSpec::Synthetic(spec) => Ok(synthetic::build(spec, seed)),
        WorkloadSpec::Kernel(spec) => {
            let (origin, nvrtc) = (&run.origin, run.nvrtc.as_deref());
            kernel::build(spec, &kernel::Surroundings { origin, nvrtc, seed })
        }
    }
}

/// A kernel's source and the PTX made of it, both part of the binary.
///
/// The PTX is in the repository so that gsim runs where there is no CUDA compiler. Its header names
/// the source by its SHA-256, so that PTX of another source is seen: see [`super::ptx_header`].
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// The workload, which is also the name of its folder.
    pub name: &'static str,
    /// The CUDA C++ source, from the root of the repository.
    pub source_file: &'static str,
    /// Its text.
    pub source: &'static str,
    /// The PTX, from the root of the repository.
    pub ptx_file: &'static str,
    /// Its text.
    pub ptx: &'static str,
}

macro_rules! kernels {
    ($($name:literal),* $(,)?) => {
        /// Every kernel.
        pub const KERNELS: &[Kernel] = &[$(Kernel {
            name: $name,
            source_file: concat!("workloads/", $name, "/", $name, ".cu"),
            source: include_str!(concat!("../../workloads/", $name, "/", $name, ".cu")),
            ptx_file: concat!("workloads/", $name, "/", $name, ".ptx"),
            ptx: include_str!(concat!("../../workloads/", $name, "/", $name, ".ptx")),
        }),*];
    };
}

kernels!["stencil1d"];

impl Kernel {
    /// The PTX as a launch takes it.
    pub fn ptx_source(&self) -> Arc<PtxSource> {
        Arc::new(PtxSource {
            path: PathBuf::from(Path::new(self.ptx_file)),
            text: self.ptx.to_owned(),
        })
    }
}

/// What `gsim workload list` says about a workload.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Its name in a run file.
    pub name: &'static str,
    /// What it computes, in one line.
    pub summary: &'static str,
    /// Its parameters, in the order of its specification.
    pub parameters: &'static [Parameter],
    /// It as a run file may have it.
    pub example: &'static str,
}

/// A parameter of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in a run file; `workload.` in front makes the path of an override.
    pub name: &'static str,
    /// What it means, with unit and range.
    pub meaning: &'static str,
    /// Its value where the run file says nothing, as RON; `None` where the run file must say it.
    pub default: Option<&'static str>,
}

/// Every workload that a run file can name.
pub const WORKLOADS: &[Description] = &[STENCIL1D, KERNEL];

const STENCIL1D: Description = Description {
    name: "Stencil1d",
    summary: "out[i] = (in[i-1] + in[i] + in[i+1]) / 3, borders copied, arrays swapped after each launch",
    parameters: &[
        Parameter {
            name: "element",
            meaning: "type of an element: Int, Short or Char (4, 2 or 1 bytes)",
            default: None,
        },
        Parameter {
            name: "elements",
            meaning: "elements of each of the two arrays [1..=1073741824]",
            default: Some("524288"),
        },
        Parameter { name: "block", meaning: "threads of a CTA [1..=1024]", default: Some("256") },
        Parameter { name: "iterations", meaning: "launches [1..=1000000]", default: Some("4") },
    ],
    example: "Stencil1d(element: Char, elements: 1048576)",
};

const KERNEL: Description = Description {
    name: "Kernel",
    summary: "a kernel of your own; workloads/README.md describes every field",
    parameters: &[
        Parameter {
            name: "source",
            meaning: "PTX (.ptx), or CUDA C++ (.cu) for NVRTC, relative to the run file",
            default: None,
        },
        Parameter { name: "options", meaning: "options for NVRTC", default: Some("[]") },
        Parameter {
            name: "parameters",
            meaning: "whole numbers by name, for expressions such as \"n * n\"",
            default: Some("{}"),
        },
        Parameter {
            name: "buffers",
            meaning: "by name: type, elements, fill, output, expect",
            default: Some("{}"),
        },
        Parameter {
            name: "launches",
            meaning: "Launch(entry, grid, block, shared, args) and Loop(times, index, body, swap), in order",
            default: None,
        },
        Parameter {
            name: "instruction_limit",
            meaning: "warp instructions that one launch may execute [1..]",
            default: Some("4294967296"),
        },
    ],
    example: r#"Kernel(
    source: "saxpy.ptx",
    parameters: {"n": 4096},
    buffers: {
        "x": (type: F32, elements: "n", fill: Uniform(low: -1, high: 1)),
        "y": (type: F32, elements: "n", fill: Iota(), output: "y.npy"),
    },
    launches: [
        Launch(
            entry: "saxpy",
            grid: "ceil_div(n, 256)",
            block: 256,
            args: [I32("n"), F32(2), Buffer("x"), Buffer("y")],
        ),
    ],
)"#,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::ptx_header;

    #[test]
    fn every_folder_of_workloads_is_a_kernel() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if !entry.path().is_dir() {
                continue;
            }
            let name = entry.file_name();
            assert!(KERNELS.iter().any(|kernel| Some(kernel.name) == name.to_str()), "{name:?}");
        }
    }

    #[test]
    fn the_ptx_in_the_repository_is_made_of_its_source() {
        for kernel in KERNELS {
            let made_of = ptx_header::source_sha256(kernel.ptx);
            let now = ptx_header::sha256(kernel.source);
            assert_eq!(
                made_of,
                Some(now.as_str()),
                "{} is stale: run `gsim workload build {}`",
                kernel.ptx_file,
                kernel.name
            );
            assert!(kernel.ptx.contains(".target sm_75"));
        }
    }

    /// Names and defaults of a workload's fields, of a specification that states `required` only.
    fn fields(spec: &WorkloadSpec, required: &[&str]) -> Vec<(String, Option<String>)> {
        let value = serde_json::to_value(spec).unwrap();
        let (_, fields) = value.as_object().unwrap().iter().next().unwrap();
        let fields = fields.as_object().unwrap().iter();
        let default = |name: &str, value: &serde_json::Value| {
            (!required.contains(&name)).then(|| value.to_string())
        };
        fields.map(|(name, value)| (name.clone(), default(name, value))).collect()
    }

    fn stated(name: &str) -> Vec<(String, Option<String>)> {
        let workload = WORKLOADS.iter().find(|workload| workload.name == name).unwrap();
        let parameters = workload.parameters.iter();
        parameters
            .map(|parameter| (parameter.name.to_owned(), parameter.default.map(str::to_owned)))
            .collect()
    }

    #[test]
    fn the_list_states_the_parameters_and_defaults_that_run_files_have() {
        let spec = ron::from_str("Stencil1d((element: Char))").unwrap();
        assert_eq!(stated("Stencil1d"), fields(&spec, &["element"]));
        let text =
            r#"Kernel((source: "a.ptx", launches: [Launch((entry: "a", grid: 1, block: 1))]))"#;
        let spec = ron::from_str(text).unwrap();
        assert_eq!(stated("Kernel"), fields(&spec, &["source", "launches"]));
    }

    #[test]
    fn every_example_is_a_workload_of_its_name() {
        for workload in WORKLOADS {
            let text =
                format!("Run(name: \"a\", machine: \"gtx480\", workload: {})", workload.example);
            let run = crate::config::RunFile::from_text(Path::new("a.ron"), text).unwrap();
            let spec = serde_json::to_value(&run.config.workload).unwrap();
            assert_eq!(spec.as_object().unwrap().keys().next().unwrap(), workload.name);
        }
    }

    #[test]
    fn the_page_on_own_kernels_has_the_example_and_names_every_field() {
        let page = include_str!("../../workloads/README.md");
        assert!(page.contains(&KERNEL.example.replace('\n', "\n    ")));
        let names = KERNEL.parameters.iter().map(|parameter| parameter.name);
        for name in names.chain([
            "type", "elements", "fill", "output", "expect", "entry", "grid", "block", "shared",
            "args", "times", "index", "body", "swap",
        ]) {
            assert!(page.contains(&format!("| `{name}` |")), "{name}");
        }
        for fill in ["Zero", "Constant", "Iota", "Uniform", "Permutation", "Values", "Npy", "Raw"] {
            assert!(page.contains(&format!("| `{fill}")), "{fill}");
        }
    }
}
