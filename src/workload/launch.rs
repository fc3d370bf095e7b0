//! A kernel launch.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use super::memory::{Buffer, DeviceMemory};
use super::tensor_map::{TENSOR_MAP_ALIGN, TENSOR_MAP_BYTES, TensorMap};
use crate::config::SyntheticSpec;
use crate::config::kernel::Scalar;

/// PTX text and where it came from, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxSource {
    /// The file, as messages name it.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// One launch of a workload: which front end makes its warp instructions, and of what.
#[derive(Clone, Debug)]
pub enum Work {
    /// A PTX kernel, executed.
    Ptx(Launch),
    /// A pattern of accesses, generated.
    Synthetic(SyntheticLaunch),
}

impl Work {
    /// The launch of a PTX kernel, if it is one.
    pub fn ptx(&self) -> Option<&Launch> {
        match self {
            Work::Ptx(launch) => Some(launch),
            Work::Synthetic(_) => None,
        }
    }
}

impl From<Launch> for Work {
    fn from(launch: Launch) -> Self {
        Work::Ptx(launch)
    }
}

impl From<SyntheticLaunch> for Work {
    fn from(launch: SyntheticLaunch) -> Self {
        Work::Synthetic(launch)
    }
}

/// One launch of a synthetic kernel. It has no memory on the host: there are addresses and no values.
#[derive(Clone, Debug)]
pub struct SyntheticLaunch {
    /// What the kernel does.
    pub spec: Arc<SyntheticSpec>,
    /// Seed of everything random.
    pub seed: u64,
}

/// One kernel launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The module that holds the entry.
    pub ptx: Arc<PtxSource>,
    /// Name of the entry.
    pub entry: String,
    /// CTAs in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a CTA `[bytes]`.
    pub dynamic_shared: u32,
    /// Arguments, in the order of the entry's parameters.
    pub args: Vec<Arg>,
}

/// An argument of a launch. Its size must be that of the parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// The device address of a buffer.
    Buffer(Buffer),
    /// A 32-bit whole number.
    I32(i32),
    /// A 64-bit whole number.
    I64(i64),
    /// A single-precision number.
    F32(f32),
    /// A double-precision number.
    F64(f64),
    /// A number of any type.
    Number {
        /// Its type.
        ty: Scalar,
        /// Its bits, of which the lowest `ty.bytes()` bytes count.
        bits: u64,
    },
    /// The bytes of a struct.
    Bytes(Arc<[u8]>),
    /// A struct with these fields, laid out as in C.
    Struct(Vec<Arg>),
    /// A tensor map.
    TensorMap(TensorMap),
}

impl Arg {
    /// The bytes that the parameter gets.
    pub fn bytes(&self) -> Vec<u8> {
        let map = |map: &TensorMap| Ok::<_, Infallible>(map.to_bytes());
        let Ok(bytes) = self.bytes_at(DeviceMemory::BASE, &map);
        bytes
    }

    /// The same where the first byte of device memory has address `base`, as on a GPU, and `map` writes tensor maps, whose addresses are
    /// those of gsim.
    ///
    /// # Errors
    /// Those of `map`.
    pub fn bytes_at<E>(
        &self,
        base: u64,
        map: &impl Fn(&TensorMap) -> Result<[u8; TENSOR_MAP_BYTES], E>,
    ) -> Result<Vec<u8>, E> {
        Ok(match self {
            Arg::Buffer(buffer) => {
                let address = buffer.address.wrapping_sub(DeviceMemory::BASE).wrapping_add(base);
                address.to_le_bytes().to_vec()
            }
            Arg::I32(value) => value.to_le_bytes().to_vec(),
            Arg::I64(value) => value.to_le_bytes().to_vec(),
            Arg::F32(value) => value.to_le_bytes().to_vec(),
            Arg::F64(value) => value.to_le_bytes().to_vec(),
            Arg::Number { ty, bits } => bits.to_le_bytes()[..ty.bytes() as usize].to_vec(),
            Arg::Bytes(bytes) => bytes.to_vec(),
            Arg::TensorMap(one) => map(one)?.to_vec(),
            Arg::Struct(fields) => {
                let mut bytes = Vec::new();
                let pad = |bytes: &mut Vec<u8>, to: &Arg| {
                    bytes.resize(bytes.len().next_multiple_of(to.alignment()), 0);
                };
                for field in fields {
                    pad(&mut bytes, field);
                    bytes.extend(field.bytes_at(base, map)?);
                }
                pad(&mut bytes, self);
                bytes
            }
        })
    }

    /// Where the fields of a struct lie in it, as C lays them out: in order, each at the next multiple of its alignment `[bytes]`.
    pub fn offsets(fields: &[Arg]) -> Vec<usize> {
        let mut end = 0usize;
        let offset = |field: &Arg| {
            let offset = end.next_multiple_of(field.alignment());
            end = offset + field.bytes().len();
            offset
        };
        fields.iter().map(offset).collect()
    }

    /// What its address in a struct is a multiple of `[bytes]`.
    pub fn alignment(&self) -> usize {
        match self {
            Arg::Buffer(_) | Arg::I64(_) | Arg::F64(_) => 8,
            Arg::I32(_) | Arg::F32(_) => 4,
            Arg::Number { ty, .. } => ty.bytes() as usize,
            Arg::Bytes(_) => 1,
            Arg::TensorMap(_) => TENSOR_MAP_ALIGN,
            Arg::Struct(fields) => fields.iter().map(Arg::alignment).max().unwrap_or(1),
        }
    }
}

/// Launches in order. Each that differs from all others may be kept once, however often it comes.
#[derive(Clone, Debug, Default)]
pub struct Launches {
    distinct: Vec<Work>,
    order: Vec<Place>,
}

/// A place in the order of launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// Which launch comes there.
    number: u32,
    /// The next one may run at the same time.
    overlaps_next: bool,
    /// It is simulated, not only executed.
    is_timed: bool,
}

impl Place {
    fn of(number: u32) -> Self {
        Place { number, overlaps_next: false, is_timed: true }
    }
}

impl Launches {
    /// The same launch so many times.
    pub fn repeated(launch: impl Into<Work>, times: usize) -> Self {
        Launches { distinct: vec![launch.into()], order: vec![Place::of(0); times] }
    }

    /// Adds a launch that is not yet in the order; gives its number.
    pub fn add(&mut self, launch: impl Into<Work>) -> u32 {
        self.distinct.push(launch.into());
        u32::try_from(self.distinct.len() - 1).expect("far fewer launches")
    }

    /// Puts the launch of that number at the end of the order, once more.
    ///
    /// # Panics
    /// When there is no such launch.
    pub fn repeat(&mut self, number: u32) {
        assert!((number as usize) < self.distinct.len());
        self.order.push(Place::of(number));
    }

    /// The launches from that place on may run at the same time.
    pub fn overlap_from(&mut self, place: usize) {
        if let Some((_, all_but_last)) = self.order[place..].split_last_mut() {
            all_but_last.iter_mut().for_each(|place| place.overlaps_next = true);
        }
    }

    /// The launches from that place on are executed only.
    pub fn leave_untimed_from(&mut self, place: usize) {
        self.order[place..].iter_mut().for_each(|place| place.is_timed = false);
    }

    /// How many launches there are, each counted as often as it comes.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// A launch by its place in the order; `None` behind the last one.
    pub fn get(&self, place: usize) -> Option<&Work> {
        self.order.get(place).map(|place| &self.distinct[place.number as usize])
    }

    /// Whether the launch at a place may run at the same time as the next one.
    pub fn overlaps_next(&self, place: usize) -> bool {
        self.order.get(place).is_some_and(|place| place.overlaps_next)
    }

    /// Whether the launch at a place is simulated.
    pub fn is_timed(&self, place: usize) -> bool {
        self.order.get(place).is_some_and(|place| place.is_timed)
    }

    /// How many launches are simulated.
    pub fn timed(&self) -> usize {
        self.order.iter().filter(|place| place.is_timed).count()
    }

    /// The launches in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Work> {
        self.order.iter().map(|place| &self.distinct[place.number as usize])
    }

    /// The launches of PTX kernels in order.
    pub fn ptx(&self) -> impl Iterator<Item = &Launch> {
        self.iter().filter_map(Work::ptx)
    }

    /// The launches that differ from each other, by their numbers.
    pub fn distinct(&self) -> &[Work] {
        &self.distinct
    }
}

impl<W: Into<Work>> FromIterator<W> for Launches {
    fn from_iter<I: IntoIterator<Item = W>>(launches: I) -> Self {
        let distinct: Vec<Work> = launches.into_iter().map(Into::into).collect();
        let count = u32::try_from(distinct.len()).expect("far fewer launches");
        Launches { distinct, order: (0..count).map(Place::of).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_is_laid_out_as_in_c() {
        let buffer = Arg::Buffer(Buffer { address: DeviceMemory::BASE + 0x100, bytes: 8 });
        let byte = |bits| Arg::Number { ty: Scalar::U8, bits };
        // struct { char a; struct { short b; char c; } d; void* e; int f; }
        let inner = Arg::Struct(vec![Arg::Number { ty: Scalar::I16, bits: 0x0202 }, byte(3)]);
        let fields = vec![byte(1), inner, buffer, Arg::I32(0x0505_0505)];
        assert_eq!(Arg::offsets(&fields), [0, 2, 8, 16]);
        let arg = Arg::Struct(fields);
        let head = [1, 0, 2, 2, 3, 0, 0, 0];
        let bytes = |address: u64| [head, address.to_le_bytes(), [5, 5, 5, 5, 0, 0, 0, 0]].concat();
        assert_eq!(arg.bytes(), bytes(DeviceMemory::BASE + 0x100));
        let no_map = |_: &TensorMap| Err(());
        assert_eq!(arg.bytes_at(0x7000_0000, &no_map), Ok(bytes(0x7000_0100)));
        // Plain bytes stand at any place.
        let packed = Arg::Struct(vec![byte(1), Arg::Bytes([2; 4].into()), Arg::F32(1.0)]);
        assert_eq!(packed.bytes(), [1, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0x80, 0x3f]);
    }
}
