//! What a generated kernel must leave behind, computed from the addresses alone.

use super::super::layout::regions;
use super::super::pattern::{Addresses, Turn, WarpPlace};
use super::super::schedule::{self, schedule};
use super::body::counts;
use super::memory::{Arrays, salt, word};
use crate::config::SyntheticSpec;
use crate::config::synthetic::{Pattern, SyntheticSpace, Use};
use crate::error::{Error, Result};
use crate::isa::{AccessKind, LaneAddresses, WARP, WarpCursor, WarpStream, lanes};
use crate::workload::{Buffer, DeviceMemory, Verdict};

/// The host's opinion of the results.
pub struct Reference {
    spec: SyntheticSpec,
    arrays: Arrays,
    seed: u64,
    /// The buffers of the arrays, by number; none in shared memory.
    buffers: Vec<Option<Buffer>>,
    image: Option<Buffer>,
    out: Buffer,
    /// The memory instructions of a pass, by phase.
    turns: Vec<Vec<schedule::Turn>>,
}

/// The chains of a chase, by chain and lane: where each has got to. None where a chain has not begun.
type Chains = Vec<[Option<u64>; WARP]>;

impl Reference {
    /// The opinion on a kernel with these buffers.
    pub fn new(
        spec: &SyntheticSpec,
        arrays: Arrays,
        seed: u64,
        buffers: &[Buffer],
        image: Option<Buffer>,
        out: Buffer,
    ) -> Self {
        let mut left = buffers.iter().copied();
        let buffers = arrays.all.iter().map(|array| match array.space {
            SyntheticSpace::Global => left.next(),
            SyntheticSpace::Shared => None,
        });
        Reference {
            spec: spec.clone(),
            seed,
            buffers: buffers.collect(),
            arrays,
            image,
            out,
            turns: spec.phases.iter().map(|phase| schedule(phase).collect()).collect(),
        }
    }

    /// Compares the checksums of all threads, and the arrays that are only stored to.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, memory: &DeviceMemory) -> Result<Verdict> {
        let spec = &self.spec;
        let salt = salt(self.seed);
        let mut stored: Vec<Option<Vec<u8>>> = (self.arrays.all.iter().zip(&self.buffers))
            .map(|(array, buffer)| {
                buffer.filter(|_| !array.is_read).map(|buffer| vec![0; buffer.bytes as usize])
            })
            .collect();
        let mut addresses: Vec<Vec<Addresses>> =
            (spec.phases.iter().zip(regions(spec)).enumerate())
                .map(|(phase, (phase_spec, regions))| {
                    let entries = regions.into_iter().zip(counts(phase_spec)).enumerate();
                    entries
                        .map(|(entry, (region, count))| {
                            Addresses::new(spec, self.seed, Use { phase, entry }, region, count)
                        })
                        .collect()
                })
                .collect();
        let sums = memory.of(self.out);
        let mut stream = WarpStream::default();
        let mut threads = sums.chunks_exact(8);
        for cta in 0..u64::from(spec.ctas.get()) {
            for warp in 0..u64::from(spec.warps.get()) {
                let place = WarpPlace { cta, warp };
                let want = self.warp(place, memory, &mut addresses, &mut stored, salt, &mut stream);
                for (lane, want) in want.into_iter().enumerate() {
                    let have = threads.next().and_then(|thread| thread.first_chunk());
                    let have = u32::from_le_bytes(*have.expect("a place for each thread"));
                    if have != want {
                        return Err(Error::run(format!(
                            "CTA {cta}, thread {}: the checksum of its loads is {have:#x}, not {want:#x}",
                            warp as usize * WARP + lane
                        )));
                    }
                }
            }
        }
        let mut elements = sums.len() as u64 / 8;
        for (number, want) in stored.iter().enumerate() {
            let (Some(want), Some(buffer)) = (want, self.buffers[number]) else { continue };
            let have = memory.of(buffer);
            if let Some(at) = have.iter().zip(want).position(|(have, want)| have != want) {
                return Err(Error::run(format!(
                    "array {number} is {} at byte {at}, not {}",
                    have[at], want[at]
                )));
            }
            elements += buffer.bytes / 4;
        }
        Ok(Verdict { elements })
    }

    /// The checksums of a warp's lanes; what it stores goes to `stored`.
    fn warp(
        &self,
        place: WarpPlace,
        memory: &DeviceMemory,
        addresses: &mut [Vec<Addresses>],
        stored: &mut [Option<Vec<u8>>],
        salt: u32,
        stream: &mut WarpStream,
    ) -> [u32; WARP] {
        let spec = &self.spec;
        let mut sums = [0; WARP];
        let mut chains: Vec<Vec<Chains>> = (spec.phases.iter())
            .map(|phase| vec![vec![[None; WARP]; phase.in_flight.size()]; phase.mix.len()])
            .collect();
        for pass in 0..u64::from(spec.repeats.get()) {
            for (phase, phase_spec) in spec.phases.iter().enumerate() {
                for turn in &self.turns[phase] {
                    let entry = turn.entry;
                    let array = self.arrays.of[phase][entry];
                    let access = &phase_spec.mix[entry];
                    stream.clear();
                    let index = u64::from(turn.index);
                    addresses[phase][entry].push(place, Turn { pass, index }, stream);
                    let at = WarpCursor::default().addresses(stream);
                    if turn.kind == AccessKind::Store {
                        if let (Some(bytes), Some(buffer)) =
                            (&mut stored[array], self.buffers[array])
                        {
                            self.store(&at, access.width.size(), buffer, array, salt, bytes);
                        }
                        continue;
                    }
                    let has_pointers = self.arrays.all[array].has_pointers(spec);
                    if has_pointers && matches!(access.pattern, Pattern::Chase { .. }) {
                        let chain = (turn.index % phase_spec.in_flight.get()) as usize;
                        for lane in lanes(at.mask) {
                            chains[phase][entry][chain][lane] = Some(at.of(lane));
                        }
                    }
                    if !has_pointers {
                        self.load(&at, access.width.size(), array, memory, &mut sums);
                    }
                }
            }
        }
        for (phase, of_phase) in chains.into_iter().enumerate() {
            for (entry, chains) in of_phase.into_iter().enumerate() {
                let region = self.arrays.all[self.arrays.of[phase][entry]].region;
                let base =
                    region.base + place.cta * region.cta_pitch + place.warp * region.warp_pitch;
                for (lane, last) in chains.iter().flat_map(|chain| chain.iter().enumerate()) {
                    let Some(last) = last else { continue };
                    let link = bytes_at(memory, *last, 8);
                    let next = u64::from_le_bytes(*link.first_chunk().expect("8 bytes"));
                    sums[lane] ^= next.wrapping_sub(base) as u32;
                }
            }
        }
        sums
    }

    fn load(
        &self,
        at: &LaneAddresses,
        width: usize,
        array: usize,
        memory: &DeviceMemory,
        sums: &mut [u32; WARP],
    ) {
        for lane in lanes(at.mask) {
            let bytes = match (self.arrays.all[array].space, self.image) {
                (SyntheticSpace::Shared, Some(image)) => {
                    &memory.of(image)[at.of(lane) as usize..][..width]
                }
                _ => bytes_at(memory, at.of(lane), width),
            };
            for word in bytes.chunks(4) {
                let mut whole = [0; 4];
                whole[..word.len()].copy_from_slice(word);
                sums[lane] ^= u32::from_le_bytes(whole);
            }
        }
    }

    /// Stores what belongs to the places.
    fn store(
        &self,
        at: &LaneAddresses,
        width: usize,
        buffer: Buffer,
        array: usize,
        salt: u32,
        bytes: &mut [u8],
    ) {
        let pitch = self.arrays.all[array].pitch;
        for lane in lanes(at.mask) {
            let from = (at.of(lane) - buffer.address) as usize;
            for (offset, byte) in (from as u64..).zip(&mut bytes[from..from + width]) {
                let offset = offset % pitch;
                *byte = word(offset & !3, salt).to_le_bytes()[(offset & 3) as usize];
            }
        }
    }
}

fn bytes_at(memory: &DeviceMemory, address: u64, bytes: usize) -> &[u8] {
    memory.of(Buffer { address, bytes: bytes as u64 })
}
