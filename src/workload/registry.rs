//! The workloads that come with gsim: their kernels, their parameters, and how one is built.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{PtxSource, Workload, matmul, stencil1d, stereo};
use crate::config::WorkloadSpec;
use crate::error::Result;

/// Builds a workload: fills its buffers and lists its launches.
///
/// The same specification and seed give the same bytes on every host.
pub fn build(spec: &WorkloadSpec, seed: u64) -> Result<Workload> {
    match spec {
        WorkloadSpec::Stencil1d(stencil) => Ok(stencil1d::build(stencil, seed)),
        WorkloadSpec::Matmul(product) => Ok(matmul::build(product, seed)),
        WorkloadSpec::Stereo(stereo) => Ok(stereo::build(stereo, seed)),
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

kernels!["stencil1d", "matmul", "stereo"];

/// The kernel of this name, which is registered.
pub(super) fn kernel(name: &str) -> &'static Kernel {
    KERNELS.iter().find(|kernel| kernel.name == name).expect("it is registered")
}

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

/// The parameter that every workload over one array type has.
const ELEMENT: Parameter = Parameter {
    name: "element",
    meaning: "type of an element: Int, Short or Char (4, 2 or 1 bytes)",
    default: None,
};

/// A parameter with a default.
const fn parameter(name: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, meaning, default: Some(default) }
}

/// Every workload that a run file can name.
pub const WORKLOADS: &[Description] = &[
    Description {
        name: "Stencil1d",
        summary: "out[i] = (in[i-1] + in[i] + in[i+1]) / 3, borders copied, arrays swapped after each launch",
        parameters: &[
            ELEMENT,
            parameter("elements", "524288", "elements of each of the two arrays [1..=1073741824]"),
            parameter("block", "256", "threads of a CTA [1..=1024]"),
            parameter("iterations", "4", "launches [1..=1000000]"),
        ],
    },
    Description {
        name: "Matmul",
        summary: "c = a b for square matrices in global memory, a thread an element of c",
        parameters: &[
            ELEMENT,
            parameter("size", "512", "rows, and columns, of each matrix [1..=16384]"),
            parameter("block_x", "16", "threads of a CTA along a row of c [1..=1024]"),
            parameter("block_y", "16", "threads of a CTA along a column of c [1..=1024]"),
        ],
    },
    Description {
        name: "Stereo",
        summary: "disparity of a stereo pair by belief propagation with 16 labels, a thread a row or a column",
        parameters: &[
            ELEMENT,
            parameter("width", "384", "columns of the image [1..=4096]"),
            parameter("height", "288", "rows of the image [1..=4096]"),
            parameter("iterations", "1", "sweeps right, left, up and down [1..=10000]"),
            parameter("block", "32", "threads of a CTA [1..=1024]"),
            parameter(
                "layout",
                "LabelMajor",
                "order of the values in memory: PixelMajor [pixel][box][label], BoxMajor [box][pixel][label] \
                 or LabelMajor [box][label][pixel]",
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::ptx_header;

    #[test]
    fn every_folder_of_workloads_is_a_kernel() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name();
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

    /// What a run file says at the least.
    fn required(workload: &Description) -> String {
        let fields = workload.parameters.iter().filter(|parameter| parameter.default.is_none());
        let values = fields.map(|parameter| match parameter.name {
            "element" => "element: Char",
            other => panic!("{}: a value of {other} for the tests", workload.name),
        });
        values.collect::<Vec<_>>().join(", ")
    }

    /// A workload of the list with these parameters.
    fn spec(workload: &Description, parameters: &str) -> WorkloadSpec {
        let text = format!("{}(({parameters}))", workload.name);
        ron::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn the_list_has_every_workload_of_run_files() {
        let error = ron::from_str::<WorkloadSpec>("Nothing(())").unwrap_err();
        let ron::Error::NoSuchEnumVariant { expected, .. } = error.code else { panic!("{error}") };
        let listed: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
        assert_eq!(listed, expected);
    }

    #[test]
    fn the_list_states_the_parameters_and_defaults_that_run_files_have() {
        for workload in WORKLOADS {
            let least = spec(workload, &required(workload));
            let defaults = workload
                .parameters
                .iter()
                .filter_map(|one| Some(format!(", {}: {}", one.name, one.default?)))
                .collect::<String>();
            let stated = spec(workload, &(required(workload) + &defaults));
            assert_eq!(stated, least);
            // And nothing else.
            let fields = serde_json::to_value(&least).unwrap();
            let fields = fields[workload.name].as_object().unwrap();
            let listed = workload.parameters.iter().map(|parameter| parameter.name);
            assert!(fields.keys().eq(listed), "{}: {:?}", workload.name, fields.keys());
        }
    }
}
