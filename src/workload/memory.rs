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
    /// So many of them are the workload's own; the others are variables of modules.
    own: usize,
    /// Buffers with addresses in every so many bytes from their start on.
    addresses: Vec<(Buffer, usize)>,
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

    /// Adds a zeroed buffer of the workload, which has no variable yet.
    pub fn allocate(&mut self, name: impl Into<String>, bytes: u64) -> Buffer {
        debug_assert_eq!(self.own, self.buffers.len(), "variables come behind all buffers");
        self.own += 1;
        self.allocate_variable(name, bytes)
    }

    /// Adds a zeroed buffer for a variable of a module.
    pub fn allocate_variable(&mut self, name: impl Into<String>, bytes: u64) -> Buffer {
        let gap = if self.buffers.is_empty() { 0 } else { Self::ALIGN };
        let start = (self.bytes.len() as u64 + gap).next_multiple_of(Self::ALIGN);
        self.bytes.resize((start + bytes) as usize, 0);
        let buffer = Buffer { address: Self::BASE + start, bytes };
        self.buffers.push((name.into(), buffer));
        buffer
    }

    /// Every buffer and variable with its name, in the order of allocation, which is that of addresses.
    pub fn buffers(&self) -> &[(String, Buffer)] {
        &self.buffers
    }

    /// As [`DeviceMemory::buffers`], without the variables.
    pub fn own_buffers(&self) -> &[(String, Buffer)] {
        &self.buffers[..self.own]
    }

    /// The addresses of every buffer of the workload, in order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let buffers = self.own_buffers().iter();
        buffers.map(|(_, buffer)| buffer.address..buffer.address + buffer.bytes)
    }

    /// Says that every `step` bytes, from its start on, `buffer` holds a 64-bit address of this memory.
    pub fn mark_addresses(&mut self, buffer: Buffer, step: usize) {
        self.addresses.push((buffer, step));
    }

    /// Every byte from [`DeviceMemory::BASE`] on, as it is in a memory whose first byte has address `base`.
    pub fn bytes_at(&self, base: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        self.move_addresses(&mut bytes, base.wrapping_sub(Self::BASE));
        bytes
    }

    /// Takes every byte from a memory whose first byte has address `base`.
    ///
    /// # Panics
    /// When they are not as many as [`DeviceMemory::size`].
    pub fn set_from(&mut self, base: u64, bytes: &[u8]) {
        let mut bytes = bytes.to_vec();
        self.move_addresses(&mut bytes, Self::BASE.wrapping_sub(base));
        self.bytes.copy_from_slice(&bytes);
    }

    fn move_addresses(&self, bytes: &mut [u8], by: u64) {
        for &(buffer, step) in &self.addresses {
            for place in bytes[Self::range(buffer)].chunks_mut(step) {
                if let Some(word) = place.first_chunk_mut::<8>() {
                    *word = u64::from_le_bytes(*word).wrapping_add(by).to_le_bytes();
                }
            }
        }
    }

    fn range(buffer: Buffer) -> Range<usize> {
        let start = (buffer.address - Self::BASE) as usize;
        start..start + buffer.bytes as usize
    }

    /// How many bytes [`DeviceMemory::bytes_at`] gives.
    pub fn size(&self) -> usize {
        self.bytes.len()
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

    #[test]
    fn variables_are_no_buffers_of_the_workload() {
        let mut memory = DeviceMemory::default();
        let buffer = memory.allocate("b", 300);
        let variable = memory.allocate_variable("a.ptx: v", 8);
        assert_eq!(memory.find(variable.address, 8), Some(variable));
        assert_eq!(memory.buffers().len(), 2);
        assert_eq!(memory.own_buffers(), [("b".to_owned(), buffer)]);
        let addresses: Vec<_> = memory.ranges().map(|range| (range.start, range.end)).collect();
        assert_eq!(addresses, [(buffer.address, buffer.address + 300)]);
    }

    #[test]
    fn addresses_follow_the_memory_to_another_place() {
        let mut memory = DeviceMemory::default();
        let (numbers, ring) = (memory.allocate("numbers", 8), memory.allocate("ring", 16));
        memory.of_mut(numbers).copy_from_slice(&ring.address.to_le_bytes());
        memory.of_mut(ring)[..8].copy_from_slice(&ring.address.to_le_bytes());
        memory.mark_addresses(ring, 16);
        let moved = memory.bytes_at(0x7000_0000);
        assert_eq!(moved[..8], ring.address.to_le_bytes());
        let at = (ring.address - DeviceMemory::BASE) as usize;
        assert_eq!(moved[at..][..8], (0x7000_0000 + at as u64).to_le_bytes());
        assert_eq!(moved[at + 8..], [0; 8]);
        let mut back = memory.clone();
        back.set_from(0x7000_0000, &moved);
        assert_eq!(back.of(ring), memory.of(ring));
    }
}
