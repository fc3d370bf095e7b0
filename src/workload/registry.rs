//! The workloads that come with gsim: their kernels, their parameters, and how one is built.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{PtxSource, Workload, stencil1d, synthetic};
use crate::config::WorkloadSpec;
use crate::error::Result;

/// Builds a workload: fills its buffers and lists its launches.
///
/// The same specification and seed give the same bytes on every host.
pub fn build(spec: &WorkloadSpec, seed: u64) -> Result<Workload> {
    match spec {
        WorkloadSpec::Stencil1d(stencil) => Ok(stencil1d::build(stencil, seed)),
        WorkloadSpec::Synthetic(spec) => Ok(synthetic::build(spec, seed)),
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
pub const WORKLOADS: &[Description] = &[STENCIL1D, synthetic::DESCRIPTION];

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
            if entry.path().is_file() {
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

    #[test]
    fn the_list_states_the_parameters_and_defaults_that_run_files_have() {
        let spec: crate::config::Stencil1dSpec = ron::from_str("(element: Char)").unwrap();
        let fields = serde_json::to_value(&spec).unwrap();
        let stencil = WORKLOADS.iter().find(|workload| workload.name == "Stencil1d").unwrap();
        let stated: Vec<(&str, Option<String>)> = stencil
            .parameters
            .iter()
            .map(|parameter| (parameter.name, parameter.default.map(str::to_owned)))
            .collect();
        let actual: Vec<(&str, Option<String>)> = fields
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.as_str(), (name != "element").then(|| value.to_string())))
            .collect();
        assert_eq!(stated, actual);
    }
}
