//! Synthetic kernels: launches without memory, and without a result to check.

use std::sync::Arc;

use super::{DeviceMemory, Launches, Own, SyntheticLaunch, Verdict, Workload};
use crate::config::SyntheticSpec;

/// Lists the launches.
pub(super) fn build(spec: &SyntheticSpec, seed: u64) -> Workload {
    let launch = SyntheticLaunch { spec: Arc::new(spec.clone()), seed };
    Workload {
        name: "synthetic".to_owned(),
        memory: DeviceMemory::default(),
        launches: Launches::repeated(launch, spec.launches.size()),
        check: Box::new(|_| Ok(Verdict::NOTHING_TO_CHECK)),
        own: Own::default(),
    }
}
