//! The buffers of a generated kernel, and what they hold.
//!
//! Every word that is read holds a number made of its own place, and a store writes the number that its place has.
//! So what a load gives does not depend on the order in which warps come, and a store or an atomic operation that
//! goes to the wrong place is seen. An array that is never read begins with zeros: what is not stored is seen, too.
//! The nodes of a chase begin with what leads to the next one.

use super::super::layout::{Region, regions};
use super::super::random::{Permutation, key, mix};
use super::Refusal;
use crate::config::SyntheticSpec;
use crate::config::kernel::MAX_BYTES;
use crate::config::synthetic::{ARRAY_ALIGN, Access, ChaseOrder, Pattern, SyntheticSpace, Use};
use crate::isa::WARP;
use crate::workload::{Buffer, DeviceMemory};

/// Bits of an offset in the word there: together with the bits of [`salt`] they make a single-precision number in
/// 1..2, and two words a double-precision number near 2^-7, on which every operation is fast.
pub const PLACE_BITS: u32 = 0x7f_fffc;

/// Bits of the seed that every word is combined with.
pub fn salt(seed: u64) -> u32 {
    // Odd, so that products of such words do not vanish.
    0x3f80_0001 | (mix(seed) as u32 & PLACE_BITS)
}

/// The word at an offset, a multiple of 4, of an array's copy.
pub fn word(offset: u64, salt: u32) -> u32 {
    (offset as u32 & PLACE_BITS) ^ salt
}

/// What a node of a chase holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The address of the next node, in 8 bytes.
    Pointer,
    /// The offset of the next node in the copy, in 4 bytes.
    Offset,
    /// The number of the next node, in as many bytes as are loaded, at most 4.
    Number,
}

impl Link {
    /// What an access's width and space have room for.
    pub fn of(access: &Access) -> Self {
        match (access.space, access.width.get()) {
            (SyntheticSpace::Global, 8..) => Link::Pointer,
            (SyntheticSpace::Shared, 4..) => Link::Offset,
            _ => Link::Number,
        }
    }

    fn bytes(self, access: &Access) -> usize {
        match self {
            Link::Pointer => 8,
            Link::Offset => 4,
            Link::Number => access.width.size().min(4),
        }
    }
}

/// An array as the kernel sees it.
#[derive(Clone, Debug)]
pub struct Array {
    /// Where it lies.
    pub region: Region,
    /// Global or shared memory.
    pub space: SyntheticSpace,
    /// From a copy to the next `[bytes]`.
    pub pitch: u64,
    /// Copies that have addresses of their own.
    pub copies: u64,
    /// The first access that uses it.
    pub first_use: Use,
    /// Whether something loads from it or changes it atomically.
    pub is_read: bool,
    /// The chase through it, if there is one.
    pub chase: Option<Use>,
}

impl Array {
    /// Whether nodes hold addresses, whose bits depend on where the memory lies.
    pub fn has_pointers(&self, spec: &SyntheticSpec) -> bool {
        self.chase.is_some_and(|at| Link::of(spec.access(at)) == Link::Pointer)
    }
}

/// The arrays of a kernel, and which one each access uses.
#[derive(Clone, Debug)]
pub struct Arrays {
    /// In the order of their first use.
    pub all: Vec<Array>,
    /// The array by phase and place in the mixture.
    pub of: Vec<Vec<usize>>,
}

impl Arrays {
    /// The arrays of `spec`.
    ///
    /// # Errors
    /// What no kernel could do.
    pub fn new(spec: &SyntheticSpec) -> Result<Self, Refusal> {
        let regions = regions(spec);
        let mut of: Vec<Vec<usize>> =
            spec.phases.iter().map(|phase| vec![0; phase.mix.len()]).collect();
        let mut all = Vec::new();
        for (number, array) in spec.arrays().iter().enumerate() {
            for at in &array.uses {
                of[at.phase][at.entry] = number;
            }
            let first_use = array.uses[0];
            all.push(Array {
                region: regions[first_use.phase][first_use.entry],
                space: array.space,
                pitch: array.pitch,
                copies: spec.copies(array),
                first_use,
                is_read: array.uses.iter().any(|&at| !spec.access(at).always_stores()),
                chase: chase(spec, &array.uses)?,
            });
        }
        Ok(Arrays { all, of })
    }

    /// Bytes of shared memory that something reads, and which so must be filled.
    pub fn image_bytes(&self) -> u64 {
        let shared = self.all.iter().filter(|array| array.space == SyntheticSpace::Shared);
        let read = shared.filter(|array| array.is_read);
        read.map(|array| array.region.base + array.pitch * array.copies).max().unwrap_or(0)
    }
}

/// The chase among the uses of an array.
fn chase(spec: &SyntheticSpec, uses: &[Use]) -> Result<Option<Use>, Refusal> {
    let is_chase = |at: &Use| matches!(spec.access(*at).pattern, Pattern::Chase { .. });
    let Some(&first) = uses.iter().find(|at| is_chase(at)) else { return Ok(None) };
    let access = spec.access(first);
    let cycle = |access: &Access| match access.pattern {
        Pattern::Chase { node, order, .. } => {
            let link = Link::of(access);
            Some((node, order, access.footprint, link, link.bytes(access)))
        }
        _ => None,
    };
    for &at in uses {
        let other = spec.access(at);
        if is_chase(&at) && cycle(other) != cycle(access) {
            let why = "another Chase through this array has other nodes: a node can hold one link";
            let hint = "an array of its own";
            return Err(Refusal::at(at, "pattern", why.to_owned(), hint));
        }
        if other.write_fraction.millionths() > 0 {
            let why = "a Chase goes through this array, and a store would cut its cycle";
            let hint = "an array of its own";
            return Err(Refusal::at(at, "write_fraction", why.to_owned(), hint));
        }
    }
    let Pattern::Chase { node, .. } = access.pattern else { unreachable!("it is one") };
    let (nodes, width) = (access.footprint.get() / node.get(), access.width.get());
    if Link::of(access) == Link::Number && nodes > 1 << (8 * width.min(4)) {
        return Err(Refusal::at(
            first,
            "width",
            format!("a width of {width} cannot hold the number of one of {nodes} nodes"),
            "8 holds an address",
        ));
    }
    Ok(Some(first))
}

/// The buffers of a launch.
#[derive(Clone, Debug)]
pub struct Buffers {
    /// The memory that they are in.
    pub memory: DeviceMemory,
    /// The arrays in global memory, in order.
    pub arrays: Vec<Buffer>,
    /// What shared memory begins with.
    pub image: Option<Buffer>,
    /// Two words for each thread: the checksum of its loads, and the results of its arithmetic.
    pub out: Buffer,
}

impl Buffers {
    /// The buffers of `spec`, filled.
    ///
    /// # Errors
    /// More memory than there is.
    pub fn new(spec: &SyntheticSpec, arrays: &Arrays, seed: u64) -> Result<Self, Refusal> {
        let is_global = |array: &&Array| array.space == SyntheticSpace::Global;
        let warps = u64::from(spec.ctas.get()) * u64::from(spec.warps.get());
        let bytes = |array: &Array| array.pitch * array.copies;
        let (image_bytes, out_bytes) = (arrays.image_bytes(), warps * WARP as u64 * 8);
        let sizes = arrays.all.iter().filter(is_global).map(bytes).chain([image_bytes, out_bytes]);
        // No sum overflows: the specification bounds each.
        let total: u64 = sizes.map(|bytes| bytes + 2 * ARRAY_ALIGN).sum();
        let mut memory = DeviceMemory::default();
        let is_given = total <= MAX_BYTES && memory.reserve(total);
        if !is_given {
            let largest = arrays.all.iter().filter(is_global).max_by_key(|array| bytes(array));
            let why = format!(
                "a kernel needs real memory: {total} bytes with all arrays and results, where {}",
                match total <= MAX_BYTES {
                    true => "the system does not give as many".to_owned(),
                    false => format!("{MAX_BYTES} are the most"),
                }
            );
            let hint = "smaller footprints, fewer copies or fewer ctas";
            return Err(match largest {
                Some(array) if bytes(array) >= out_bytes => {
                    Refusal::at(array.first_use, "footprint", why, hint)
                }
                _ => Refusal { path: "ctas".to_owned(), why, hint },
            });
        }
        let salt = salt(seed);
        let mut buffers = Vec::new();
        for (number, array) in arrays.all.iter().enumerate().filter(|(_, one)| is_global(one)) {
            let buffer = memory.allocate(format!("array_{number}"), bytes(array));
            debug_assert_eq!(buffer.address, array.region.base);
            if array.is_read {
                fill(spec, array, buffer.address, seed, salt, memory.of_mut(buffer));
            }
            mark_pointers(spec, array, buffer, &mut memory);
            buffers.push(buffer);
        }
        let image = (image_bytes > 0).then(|| memory.allocate("shared_image", image_bytes));
        if let Some(image) = image {
            let shared = arrays.all.iter().filter(|array| !is_global(array) && array.is_read);
            for array in shared {
                let from = array.region.base as usize;
                let place = &mut memory.of_mut(image)[from..from + bytes(array) as usize];
                fill(spec, array, 0, seed, salt, place);
            }
        }
        let out = memory.allocate("results", out_bytes);
        Ok(Buffers { memory, arrays: buffers, image, out })
    }
}

/// Fills all copies of an array, the first of which begins at `address`.
fn fill(spec: &SyntheticSpec, array: &Array, address: u64, seed: u64, salt: u32, place: &mut [u8]) {
    for (copy, place) in (0..).zip(place.chunks_exact_mut(array.pitch as usize)) {
        for (number, bytes) in (0u64..).zip(place.chunks_exact_mut(4)) {
            bytes.copy_from_slice(&word(number * 4, salt).to_le_bytes());
        }
        let Some(at) = array.chase else { continue };
        let access = spec.access(at);
        let Pattern::Chase { node, order, .. } = access.pattern else { unreachable!("it is one") };
        let nodes = access.footprint.get() / node.get();
        let shuffle = (order == ChaseOrder::Shuffled).then(|| {
            Permutation::new(nodes, key(seed, array.first_use.phase, array.first_use.entry))
        });
        let of = |number: u64| shuffle.as_ref().map_or(number, |shuffle| shuffle.of(number));
        let link = Link::of(access);
        let mut here = of(0);
        for number in 1..=nodes {
            let next = of(number % nodes);
            let value = match link {
                Link::Pointer => address + copy * array.pitch + next * node.get(),
                Link::Offset => next * node.get(),
                Link::Number => next,
            };
            let bytes = link.bytes(access);
            let from = (here * node.get()) as usize;
            place[from..from + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            here = next;
        }
    }
}

/// Says where a chase's addresses are.
fn mark_pointers(spec: &SyntheticSpec, array: &Array, buffer: Buffer, memory: &mut DeviceMemory) {
    let Some(at) = array.chase.filter(|_| array.has_pointers(spec)) else { return };
    let access = spec.access(at);
    let Pattern::Chase { node, .. } = access.pattern else { unreachable!("it is one") };
    for copy in 0..array.copies {
        let address = buffer.address + copy * array.pitch;
        let nodes = Buffer { address, bytes: access.footprint.get() };
        memory.mark_addresses(nodes, node.get() as usize);
    }
}
