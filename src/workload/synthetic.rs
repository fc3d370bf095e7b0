//! Synthetic kernels: launches without memory, and without a result to check.

use std::sync::Arc;

use super::{DeviceMemory, Own, SyntheticLaunch, Verdict, Work, Workload};
use crate::config::SyntheticSpec;

/// Lists the launches.
pub(super) fn build(spec: &SyntheticSpec, seed: u64) -> Workload {
    let spec = Arc::new(spec.clone());
    Workload {
        name: "synthetic".to_owned(),
        memory: DeviceMemory::default(),
        launches: [Work::Synthetic(SyntheticLaunch { spec, seed })].into_iter().collect(),
        check: Box::new(|_| Ok(Verdict::NOTHING_TO_CHECK)),
        own: Own::default(),
    }
}
