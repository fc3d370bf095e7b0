//! Where the arrays lie. Nothing is allocated: there are addresses and no bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::config::SyntheticSpec;
use crate::config::synthetic::{ARRAY_ALIGN, Sharing, SyntheticSpace, Use};
use crate::workload::DeviceMemory;

/// The place of an array and its copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Address of the first byte: of device memory, or of the CTA's shared memory.
    pub base: u64,
    /// Bytes of the array with all its copies.
    pub bytes: u64,
    /// From a CTA's copy to that of the next CTA `[bytes]`.
    pub cta_pitch: u64,
    /// From a warp's copy to that of the next warp of its CTA `[bytes]`.
    pub warp_pitch: u64,
    /// The first access that uses it.
    pub first_use: Use,
}

/// The addresses of all arrays in device memory, in order.
pub fn arrays(spec: &SyntheticSpec) -> Vec<Range<u64>> {
    let all = regions(spec).into_iter().flatten();
    let mut arrays: Vec<_> = all
        // Shared memory has addresses of its own, from zero on.
        .filter(|region| region.base >= DeviceMemory::BASE)
        .map(|region| (region.base, region.base + region.bytes))
        .collect();
    arrays.sort_unstable();
    arrays.dedup();
    arrays.into_iter().map(|(first, end)| first..end).collect()
}

/// Names of the arrays in device memory, by address: their own, or of their first pattern with the array's number, from 1.
pub fn names(spec: &SyntheticSpec) -> BTreeMap<u64, String> {
    let regions = regions(spec);
    let places = spec.arrays().into_iter().map(|array| array.uses[0]).zip(1..);
    let named = places.map(|(first, number)| {
        let access = spec.access(first);
        let name = access.array.clone();
        let name = name.unwrap_or_else(|| format!("{} {number}", access.pattern.name()));
        (regions[first.phase][first.entry].base, name)
    });
    named.filter(|(base, _)| *base >= DeviceMemory::BASE).collect()
}

/// The regions by phase and place in the mixture.
///
/// Arrays come in the order of their first use, copies by CTA and then by warp. Each starts at a
/// multiple of [`ARRAY_ALIGN`]; in device memory there is an unused gap of as much between two arrays.
pub fn regions(spec: &SyntheticSpec) -> Vec<Vec<Region>> {
    let mut regions: Vec<Vec<Region>> = vec![Vec::new(); spec.phases.len()];
    let mut places: Vec<(Use, Region)> = Vec::new();
    let (mut global, mut shared) = (DeviceMemory::BASE, 0);
    let warps = u64::from(spec.warps.get());
    for array in spec.arrays() {
        let pitch = array.pitch;
        let (next, gap) = match array.space {
            SyntheticSpace::Global => (&mut global, ARRAY_ALIGN),
            SyntheticSpace::Shared => (&mut shared, 0),
        };
        let (cta_pitch, warp_pitch) = match (array.space, array.sharing) {
            (_, Sharing::Grid) | (SyntheticSpace::Shared, Sharing::Cta) => (0, 0),
            (SyntheticSpace::Global, Sharing::Cta) => (pitch, 0),
            (SyntheticSpace::Global, Sharing::Warp) => (pitch * warps, pitch),
            (SyntheticSpace::Shared, Sharing::Warp) => (0, pitch),
        };
        let (bytes, first_use) = (pitch * spec.copies(&array), array.uses[0]);
        let region = Region { base: *next, bytes, cta_pitch, warp_pitch, first_use };
        *next += bytes + gap;
        places.extend(array.uses.iter().map(|&at| (at, region)));
    }
    places.sort_by_key(|(at, _)| (at.phase, at.entry));
    for (at, region) in places {
        regions[at.phase].push(region);
    }
    regions
}
