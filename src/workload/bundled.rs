//! The kernels that are part of the binary.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::PtxSource;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::files::sha256;
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
            let now = sha256(kernel.source);
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
}
