//! Shared memory, and which of its bytes a thread has written.
//!
//! Reading a value of which no byte was ever written is an error. A value counts as written when one
//! of its bytes is: compilers copy structures with the gaps between their fields.

use super::super::program::{Access, AccessKind};
use super::copy::Places;
use crate::isa::{LaneMask, WARP, lanes};

/// The shared memory of a CTA.
#[derive(Clone, Debug, Default)]
pub struct SharedMemory {
    bytes: Vec<u8>,
    /// 1 for each byte that was written; empty when nobody asks.
    written: Vec<u8>,
    /// Bytes that were not.
    unwritten: usize,
}

impl SharedMemory {
    /// So many bytes; `checked` tells whether reading what was not written is an error.
    pub fn new(bytes: usize, checked: bool) -> Self {
        let written = vec![0; if checked { bytes } else { 0 }];
        SharedMemory { bytes: vec![0; bytes], unwritten: written.len(), written }
    }

    /// As it is when a CTA starts.
    pub fn reset(&mut self) {
        self.bytes.fill(0);
        self.written.fill(0);
        self.unwritten = self.written.len();
    }

    /// Size `[bytes]`.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The content.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Whether there may be bytes that were not written.
    #[inline]
    pub fn has_unwritten(&self) -> bool {
        self.unwritten > 0
    }

    /// Whether any of so many bytes was written, as far as anybody asks.
    pub fn is_written(&self, start: usize, length: usize) -> bool {
        self.unwritten == 0 || self.written[start..start + length].contains(&1)
    }

    /// Whether all of so many bytes were written, as far as anybody asks.
    pub fn are_all_written(&self, start: usize, length: usize) -> bool {
        let written = || self.written[start..start + length].iter();
        self.unwritten == 0 || written().fold(1, |all, byte| all & byte) == 1
    }

    /// Writes bytes, which lie inside.
    pub fn write(&mut self, start: usize, data: &[u8]) {
        self.bytes[start..start + data.len()].copy_from_slice(data);
        if self.unwritten > 0 {
            self.mark(start, data.len());
        }
    }

    fn mark(&mut self, start: usize, length: usize) {
        let written = &mut self.written[start..start + length];
        self.unwritten -= written.iter().map(|byte| usize::from(1 - byte)).sum::<usize>();
        written.fill(1);
    }

    /// Notes what an access writes; `Err` holds a lane that reads what was not written.
    pub fn follow(
        &mut self,
        access: &Access,
        places: &Places,
        mask: LaneMask,
    ) -> Result<(), usize> {
        let size = access.ty.bytes() as usize;
        let bytes = size * usize::from(access.elements);
        let writes = access.kind != AccessKind::Load;
        if let Places::Affine { first, stride } = places
            && *stride == bytes as isize
        {
            if writes && access.kind == AccessKind::Store {
                self.mark(*first, WARP * bytes);
                return Ok(());
            }
            if self.are_all_written(*first, WARP * bytes) {
                return Ok(());
            }
        }
        if access.kind != AccessKind::Store {
            let unwritten = match size {
                1 => self.first_unwritten::<1>(bytes, places, mask),
                2 => self.first_unwritten::<2>(bytes, places, mask),
                4 => self.first_unwritten::<4>(bytes, places, mask),
                _ => self.first_unwritten::<8>(bytes, places, mask),
            };
            if let Some(lane) = unwritten {
                return Err(lane);
            }
        }
        if writes {
            lanes(mask).for_each(|lane| self.mark(places.of(lane), bytes));
        }
        Ok(())
    }

    /// The first lane with a value of `SIZE` bytes of which none was written.
    #[inline]
    fn first_unwritten<const SIZE: usize>(
        &self,
        bytes: usize,
        places: &Places,
        mask: LaneMask,
    ) -> Option<usize> {
        let mut found = 0;
        for lane in lanes(mask) {
            let place = places.of(lane);
            for value in self.written[place..place + bytes].as_chunks::<SIZE>().0 {
                found |= u32::from(*value == [0; SIZE]) << lane;
            }
        }
        (found != 0).then_some(found.trailing_zeros() as usize)
    }
}
