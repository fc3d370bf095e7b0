//! Device memory: buffers at device addresses.

use std::ops::Range;

/// A buffer in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Address of the first byte.
    pub address: u64,
    /// Size `[bytes]`.
    pub bytes: u64,
}

/// All buffers of a workload, in one block of host memory.
///
/// Buffers start at multiples of 256 bytes, as `cudaMalloc` promises, in the order of their
/// allocation, with an unmapped gap between them so that an access past the end is seen.
#[derive(Clone, Debug, Default)]
pub struct DeviceMemory {
    bytes: Vec<u8>,
    buffers: Vec<(String, Buffer)>,
}

impl DeviceMemory {
    /// Address of the first buffer. Non-zero, so that a null pointer hits nothing.
    pub const BASE: u64 = 0x1000_0000;
    /// Alignment of buffers, and the least gap between two `[bytes]`.
    pub const ALIGN: u64 = 256;

    /// Makes room for `bytes` bytes, gaps included; says whether the system gave it.
    pub fn reserve(&mut self, bytes: u64) -> bool {
        usize::try_from(bytes).is_ok_and(|bytes| self.bytes.try_reserve_exact(bytes).is_ok())
    }

    /// Adds a zeroed buffer.
    pub fn allocate(&mut self, name: impl Into<String>, bytes: u64) -> Buffer {
        let gap = if self.buffers.is_empty() { 0 } else { Self::ALIGN };
        let start = (self.bytes.len() as u64 + gap).next_multiple_of(Self::ALIGN);
        self.bytes.resize((start + bytes) as usize, 0);
        let buffer = Buffer { address: Self::BASE + start, bytes };
        self.buffers.push((name.into(), buffer));
        buffer
    }

    /// Every buffer with its name, in the order of allocation, which is that of addresses.
    pub fn buffers(&self) -> &[(String, Buffer)] {
        &self.buffers
    }

    fn range(buffer: Buffer) -> Range<usize> {
        let start = (buffer.address - Self::BASE) as usize;
        start..start + buffer.bytes as usize
    }

    /// The content of a buffer.
    pub fn of(&self, buffer: Buffer) -> &[u8] {
        &self.bytes[Self::range(buffer)]
    }

    /// The content of a buffer, for change.
    pub fn of_mut(&mut self, buffer: Buffer) -> &mut [u8] {
        &mut self.bytes[Self::range(buffer)]
    }

    /// The whole block; byte 0 has address [`DeviceMemory::BASE`]. Gaps between buffers are part of it:
    /// bounds are checked with [`DeviceMemory::find`].
    pub fn block_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The buffer that holds all of `bytes` bytes from `address` on.
    pub fn find(&self, address: u64, bytes: u64) -> Option<Buffer> {
        let after = self.buffers.partition_point(|(_, buffer)| buffer.address <= address);
        let (_, buffer) = self.buffers[..after].last()?;
        let offset = address - buffer.address;
        (offset.checked_add(bytes)? <= buffer.bytes).then_some(*buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_past_the_end_of_a_buffer_finds_none() {
        let mut memory = DeviceMemory::default();
        let first = memory.allocate("first", 300);
        let second = memory.allocate("second", 8);
        assert_eq!(second.address, DeviceMemory::BASE + 768);
        assert_eq!(memory.find(first.address + 296, 4), Some(first));
        assert_eq!(memory.find(first.address + 297, 4), None);
        assert_eq!(memory.find(second.address, 8), Some(second));
        assert_eq!(memory.find(0, 1), None);
        memory.of_mut(second)[7] = 9;
        assert_eq!(memory.of(second), [0, 0, 0, 0, 0, 0, 0, 9]);
    }
}
