//! Tensor maps, as kernels get them.

use crate::config::kernel::{
    OobFill, Scalar, Swizzle, TENSOR_PIECE, TENSOR_RANK, TensorAxis, check_axes,
};

/// Bytes of a tensor map.
pub const TENSOR_MAP_BYTES: usize = 128;
/// What its address is a multiple of `[bytes]`.
pub const TENSOR_MAP_ALIGN: usize = 64;

/// Which tensor lies in a buffer, and which boxes of it bulk copies move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// The device address of its first element.
    pub address: u64,
    /// What its elements are.
    pub element: Scalar,
    /// How many dimensions it has [1..=5].
    pub rank: usize,
    /// The dimensions, the innermost first; those that there are none of have one element.
    pub axes: [TensorAxis; TENSOR_RANK],
    /// In which order pieces of a row lie in shared memory.
    pub swizzle: Swizzle,
    /// What elements outside of it count as.
    pub oob_fill: OobFill,
}

/// How gsim's own tensor maps begin. What those of a GPU hold is NVIDIA's secret, so none is taken for the other.
const NAME: [u8; 8] = *b"gsim map";
const ELEMENTS: [Scalar; 14] = [
    Scalar::I8,
    Scalar::I16,
    Scalar::I32,
    Scalar::I64,
    Scalar::U8,
    Scalar::U16,
    Scalar::U32,
    Scalar::U64,
    Scalar::F16,
    Scalar::F32,
    Scalar::F64,
    Scalar::BF16,
    Scalar::E4M3,
    Scalar::E5M2,
];
const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];
const FILLS: [OobFill; 2] = [OobFill::Zero, OobFill::Nan];

impl TensorMap {
    /// The bytes that a kernel of gsim gets.
    pub fn to_bytes(&self) -> [u8; TENSOR_MAP_BYTES] {
        let place = |at: Option<usize>| at.expect("each has a place") as u8;
        let words = [
            place(ELEMENTS.iter().position(|one| *one == self.element)),
            place(SWIZZLES.iter().position(|one| *one == self.swizzle)),
            place(FILLS.iter().position(|one| *one == self.oob_fill)),
            self.rank as u8,
        ];
        let mut bytes: Vec<u8> = [&NAME[..], &self.address.to_le_bytes(), &words].concat();
        for TensorAxis { size, stride, window, step } in self.axes {
            bytes.extend(size.to_le_bytes());
            bytes.extend(stride.to_le_bytes());
            bytes.extend(window.to_le_bytes());
            bytes.push(step);
        }
        bytes.resize(TENSOR_MAP_BYTES, 0);
        bytes.try_into().expect("it has that size")
    }

    /// The tensor map that these bytes are; `None` where they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut left = bytes.strip_prefix(&NAME)?;
        let address = u64::from_le_bytes(take(&mut left)?);
        let [element, swizzle, fill, rank] = take(&mut left)?;
        let mut axes = [TensorAxis::NONE; TENSOR_RANK];
        for axis in &mut axes {
            let (size, stride) =
                (u64::from_le_bytes(take(&mut left)?), u64::from_le_bytes(take(&mut left)?));
            let (window, [step]) = (u16::from_le_bytes(take(&mut left)?), take(&mut left)?);
            *axis = TensorAxis { size, stride, window, step };
        }
        let map = TensorMap {
            address,
            element: *ELEMENTS.get(usize::from(element))?,
            rank: rank.into(),
            axes,
            swizzle: *SWIZZLES.get(usize::from(swizzle))?,
            oob_fill: *FILLS.get(usize::from(fill))?,
        };
        // A kernel, or its run file, may have made them up.
        let is_one = (1..=TENSOR_RANK).contains(&map.rank)
            && address.is_multiple_of(TENSOR_PIECE)
            && axes[map.rank..].iter().all(|axis| *axis == TensorAxis::NONE)
            && check_axes(&axes, map.element, map.swizzle, map.oob_fill).is_ok();
        is_one.then_some(map)
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_as_it_was_written() {
        let axis = |size, stride, window, step| TensorAxis { size, stride, window, step };
        let mut axes = [TensorAxis::NONE; TENSOR_RANK];
        axes[..2].copy_from_slice(&[axis(1 << 32, 2, 32, 1), axis(3, (1 << 40) - 16, 256, 8)]);
        let map = TensorMap {
            address: 0x7000_0010,
            element: Scalar::F16,
            rank: 2,
            axes,
            swizzle: Swizzle::B64,
            oob_fill: OobFill::Nan,
        };
        assert_eq!(TensorMap::from_bytes(&map.to_bytes()), Some(map));
        assert_eq!(TensorMap::from_bytes(&[0; TENSOR_MAP_BYTES]), None);
        assert_eq!(TensorMap::from_bytes(&map.to_bytes()[..40]), None);
        // Numbers that no map has: a step of zero, a row of half a piece, too large a box.
        let changed = |change: fn(&mut TensorMap)| {
            let mut other = map;
            change(&mut other);
            TensorMap::from_bytes(&other.to_bytes())
        };
        assert_eq!(changed(|map| map.axes[1].step = 0), None);
        assert_eq!(changed(|map| map.axes[0].window = 20), None);
        assert_eq!(changed(|map| map.axes[0].stride = 4), None);
        assert_eq!(changed(|map| map.rank = 1), None);
        assert_eq!(changed(|map| map.address = 8), None);
        let large = |map: &mut TensorMap| {
            map.rank = 5;
            map.axes[2..].fill(TensorAxis { size: 1, stride: 16, window: 256, step: 1 });
        };
        assert_eq!(changed(large), None);
        // Of numbers of 8 bits, the driver makes bytes.
        let short = |map: &mut TensorMap| {
            map.element = Scalar::E4M3;
            map.axes[0].stride = 1;
        };
        assert_eq!(changed(short), None);
        assert!(
            changed(|map| {
                (map.element, map.axes[0].stride, map.oob_fill) = (Scalar::E4M3, 1, OobFill::Zero);
            })
            .is_some()
        );
    }
}
