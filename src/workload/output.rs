//! Buffers that become files.

use std::io::Write;
use std::path::Path;

use super::memory::{Buffer, DeviceMemory};
use super::npy::Header;
use crate::config::kernel::Scalar;
use crate::config::written::cannot_write;
use crate::error::Result;
use crate::partial::{create_file, uninterrupted};

/// A buffer that is written to a NumPy file after the last launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Name of the file.
    pub file: String,
    /// The buffer.
    pub buffer: Buffer,
    /// Type of its elements.
    pub element: Scalar,
    /// Sizes along its dimensions.
    pub shape: Vec<u64>,
}

/// What a run leaves behind in files: memory after the last launch, and the buffers that are asked for.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// Memory after the last launch.
    pub memory: DeviceMemory,
    /// The files.
    pub files: Vec<Output>,
}

impl Outputs {
    /// Writes the files into `folder`, which is made; nothing where there are none.
    pub fn write(&self, folder: &Path) -> Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        uninterrupted(|| std::fs::create_dir_all(folder))
            .map_err(|cause| cannot_write(folder, &cause))?;
        for output in &self.files {
            let path = folder.join(&output.file);
            let written = create_file(&path).and_then(|mut file| {
                file.write_all(&Header::write(output.element, &output.shape))?;
                file.write_all(self.memory.of(output.buffer))?;
                file.sync_all()
            });
            written.map_err(|cause| cannot_write(&path, &cause))?;
        }
        Ok(())
    }
}
