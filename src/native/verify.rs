//! The GPU's result against gsim's functional execution.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::workload::DeviceMemory;

/// How two results agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Every buffer, in the order of addresses.
    pub buffers: Vec<BufferAgreement>,
    /// Instructions of the kernels whose result the PTX ISA leaves open; without any, all bytes must be equal.
    pub open: Vec<String>,
}

/// How one buffer agrees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BufferAgreement {
    /// Its name.
    pub name: String,
    /// Its size `[bytes]`.
    pub bytes: u64,
    /// Bytes that differ.
    pub differ: u64,
}

impl Agreement {
    /// Bytes that differ, in all buffers.
    pub fn differ(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.differ).sum()
    }

    /// Bytes compared.
    pub fn bytes(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.bytes).sum()
    }
}

/// Compares what both have left in the buffers.
///
/// # Errors
/// The first byte that differs, where the kernels leave no room for it.
pub fn compare(
    gpu: &DeviceMemory,
    gsim: &DeviceMemory,
    open: BTreeSet<String>,
) -> Result<Agreement> {
    let mut buffers = Vec::new();
    // Variables of the modules, which lie behind, are on the GPU elsewhere.
    for (name, buffer) in gpu.buffers() {
        let (have, want) = (gpu.of(*buffer), gsim.of(*buffer));
        let differ = have.iter().zip(want).filter(|(have, want)| have != want).count() as u64;
        if differ > 0 && open.is_empty() {
            let place = have.iter().zip(want).position(|(have, want)| have != want);
            let place = place.expect("counted above");
            return Err(Error::run(format!(
                "the GPU's result differs from gsim's: byte {place} of buffer `{name}` is {} on the GPU and {} in \
                 gsim, {differ} of {} bytes differ",
                have[place], want[place], buffer.bytes
            )));
        }
        buffers.push(BufferAgreement { name: name.clone(), bytes: buffer.bytes, differ });
    }
    Ok(Agreement { buffers, open: open.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_needs_an_instruction_that_excuses_it() {
        let mut gsim = DeviceMemory::default();
        let buffer = gsim.allocate("out", 4);
        let mut gpu = gsim.clone();
        assert_eq!(compare(&gpu, &gsim, BTreeSet::new()).unwrap().differ(), 0);
        gpu.of_mut(buffer)[2] = 1;
        let error = compare(&gpu, &gsim, BTreeSet::new()).unwrap_err();
        assert!(error.message.contains("byte 2 of buffer `out` is 1 on the GPU and 0 in gsim"));
        let open = BTreeSet::from(["ex2.approx.f32".to_owned()]);
        let agreement = compare(&gpu, &gsim, open).unwrap();
        assert_eq!((agreement.differ(), agreement.bytes()), (1, 4));
    }

    #[test]
    fn variables_of_modules_are_not_compared() {
        let mut gsim = DeviceMemory::default();
        gsim.allocate("out", 4);
        let gpu = gsim.clone();
        let table = gsim.allocate("table", 256);
        gsim.of_mut(table)[0] = 1;
        assert_eq!(compare(&gpu, &gsim, BTreeSet::new()).unwrap().bytes(), 4);
    }
}
