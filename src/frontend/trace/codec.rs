//! One CTA as bytes.
//!
//! A warp is its runs of instructions, each followed by the records of its memory instructions and barriers, in order. All
//! numbers are varints: seven bits a byte, the lowest first, and the highest bit says that more follow. Numbers with a sign are
//! folded: 0, -1, 1, -2 become 0, 1, 2, 3. A run is
//!
//! | number | meaning |
//! | --- | --- |
//! | `2 n + m` | `n` instructions, at least one; 0 ends the warp. With `m = 1` the mask is given, else it is that of the run before |
//! | mask | the lanes that execute them, where it is given |
//! | place, folded | the first one's place in the kernel, less the place behind the run before |
//!
//! A record of addresses is `4 k + s` with the shape `s`, the lanes that access memory where `k = 1` (else those that
//! execute the instruction do), and, folded and less what the same instruction had as its base before, a base; then,
//! folded,
//!
//! | shape | what follows |
//! | --- | --- |
//! | 0, affine | bytes from one lane to the next |
//! | 1, rows of 2, 4, 8 or 16 lanes | the logarithm of the width; bytes from one lane of a row to the next; bytes from row to row |
//! | 2, scattered | the base is the first lane's address; the address of every other one, less that of the one before |
//!
//! A barrier is its number, its warps, and 0, 1 or 2: waits, arrives, passes. An mbarrier is its number, and how many times the warp
//! arrives or others must have arrived. Bulk copies are how many there are, and of each its address, in pieces of 16 bytes and folded less that of the
//! one before, its pieces, and its mbarrier. Where they are of boxes of tensors, their number is 64 more, and behind each copy, whose pieces are
//! those of a row, follow the bytes of a row from which and up to which it lies in the tensor; twice the pieces from one row to the next in shared memory, and
//! one more where halves of sectors part;
//! the number of dimensions along which rows lie, and of each of these its rows, those in front of the tensor, those in front of its
//! end, and the pieces from one to the next. What is small and comes again and again is what
//! the compression behind this makes next to nothing of.

use crate::isa::{
    BARRIERS, BULK_AXES, BULK_PIECE, BarrierKind, BarrierUse, BulkAxis, BulkBox, BulkUse, Cta,
    Inst, LOCAL_MEMORY, LOCAL_WORD, LaneAddresses, LaneMask, MbarrierUse, Op, Rows, Shape, Space,
    WARP, WarpCursor, WarpStream, lanes,
};
use crate::units::noun;

const AFFINE: u64 = 0;
const ROWS: u64 = 1;
const SCATTERED: u64 = 2;
/// In the number of bulk copies, the bit of those of boxes.
const BOXES: u64 = 1 << 6;

/// Addresses are below this.
const ADDRESSES: u64 = 1 << 62;

/// What the two directions keep of a launch: they go through its CTAs in the same order.
#[derive(Clone, Debug, Default)]
pub struct Codec {
    /// By instruction: what has a record there.
    records: Vec<Record>,
    /// By instruction: the first place from it on that has a record, or the end.
    next_record: Vec<u32>,
    /// By instruction: the base of its last record.
    bases: Vec<u64>,
    /// The last instruction of every warp is one of these.
    ends: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Record {
    None,
    Addresses {
        /// Of one lane's access: addresses are multiples of it.
        bytes: u8,
        /// Those of local memory are multiples of its words: they lie apart, and an access has the address of its first.
        local: u8,
    },
    Barrier,
    Mbarrier,
    Bulk,
}

/// What is wrong with the bytes of a CTA.
pub type Malformed = String;

impl Codec {
    /// At the beginning of a launch of these instructions.
    pub fn new(insts: &[Inst]) -> Self {
        let record = |inst: &Inst| match inst.op {
            Op::Memory(op) => {
                let may_be_local = matches!(op.space, Space::Local | Space::Generic);
                let local = if may_be_local { op.bytes.min(LOCAL_WORD) } else { op.bytes };
                Record::Addresses { bytes: op.bytes, local }
            }
            Op::Match => Record::Addresses { bytes: 1, local: 1 },
            Op::Barrier => Record::Barrier,
            Op::Mbarrier(_) => Record::Mbarrier,
            Op::Bulk(_) => Record::Bulk,
            Op::Arith(_) | Op::Fence(_) | Op::Copies(_) | Op::Warpgroup(_) | Op::Exit => {
                Record::None
            }
        };
        let records: Vec<Record> = insts.iter().map(record).collect();
        let mut next_record = vec![insts.len() as u32; insts.len()];
        for place in (0..insts.len()).rev() {
            next_record[place] = match records[place] {
                Record::None => next_record.get(place + 1).copied().unwrap_or(insts.len() as u32),
                _ => place as u32,
            };
        }
        let ends = insts.iter().map(|inst| inst.op == Op::Exit).collect();
        Codec { records, next_record, bases: vec![0; insts.len()], ends }
    }

    /// Appends the bytes of a CTA.
    pub fn encode(&mut self, cta: &Cta, bytes: &mut Vec<u8>) {
        for warp in &cta.warps {
            self.encode_warp(warp, bytes);
        }
    }

    fn encode_warp(&mut self, warp: &WarpStream, bytes: &mut Vec<u8>) {
        let mut cursor = WarpCursor::default();
        let (mut behind, mut mask) = (0, LaneMask::MAX);
        while let Some(run) = cursor.take_run(warp) {
            let is_given = run.mask != mask;
            put(bytes, u64::from(run.len) << 1 | u64::from(is_given));
            if is_given {
                put(bytes, run.mask.into());
            }
            put_signed(bytes, i64::from(run.pc) - i64::from(behind));
            behind = run.pc + run.len;
            mask = run.mask;
            let mut place = self.record_from(run.pc);
            while place < behind {
                match self.records[place as usize] {
                    Record::Barrier => encode_barrier(cursor.barrier(warp), bytes),
                    Record::Mbarrier => {
                        let MbarrierUse { id, arrivals } = cursor.mbarrier(warp);
                        put(bytes, id.into());
                        put(bytes, arrivals.into());
                    }
                    Record::Bulk => self.encode_bulk(place, cursor.bulk(warp), bytes),
                    _ => self.encode_addresses(place, mask, &cursor.addresses(warp), bytes),
                }
                place = self.record_from(place + 1);
            }
        }
        put(bytes, 0);
    }

    fn encode_bulk(
        &mut self,
        place: u32,
        copies: impl ExactSizeIterator<Item = BulkUse>,
        bytes: &mut Vec<u8>,
    ) {
        let count = copies.len() as u64;
        let mut copies = copies.peekable();
        let of_boxes = copies.peek().is_some_and(|copy| copy.area.is_some());
        put(bytes, count | if of_boxes { BOXES } else { 0 });
        for BulkUse { address, bytes: length, mbarrier, area } in copies {
            let piece = address / u64::from(BULK_PIECE);
            let last = std::mem::replace(&mut self.bases[place as usize], piece);
            put_signed(bytes, piece.wrapping_sub(last) as i64);
            put(bytes, (length / BULK_PIECE).into());
            put(bytes, mbarrier.into());
            if let Some(area) = area {
                encode_box(&area, bytes);
            }
        }
    }

    fn encode_addresses(
        &mut self,
        place: u32,
        executing: LaneMask,
        addresses: &LaneAddresses,
        bytes: &mut Vec<u8>,
    ) {
        let mask = addresses.mask;
        let shape = match addresses.shape {
            Shape::Affine { .. } => AFFINE,
            Shape::Rows { .. } => ROWS,
            Shape::Scattered(_) => SCATTERED,
        };
        let is_given = mask != executing;
        put(bytes, shape | u64::from(is_given) << 2);
        if is_given {
            put(bytes, mask.into());
        }
        let base = match &addresses.shape {
            Shape::Affine { base, .. } | Shape::Rows { base, .. } => *base,
            Shape::Scattered(all) => all[mask.trailing_zeros() as usize % WARP],
        };
        let last = std::mem::replace(&mut self.bases[place as usize], base);
        put_signed(bytes, base.wrapping_sub(last) as i64);
        match &addresses.shape {
            Shape::Affine { stride, .. } => put_signed(bytes, (*stride).into()),
            Shape::Rows { rows: Rows { width, across, down }, .. } => {
                put(bytes, width.trailing_zeros().into());
                put_signed(bytes, (*across).into());
                put_signed(bytes, (*down).into());
            }
            Shape::Scattered(all) => {
                let mut last = base;
                for lane in lanes(mask & mask.wrapping_sub(1)) {
                    put_signed(bytes, all[lane].wrapping_sub(last) as i64);
                    last = all[lane];
                }
            }
        }
    }

    /// Takes a CTA of `warps` warps from its bytes, and says how many instructions its warps executed.
    ///
    /// # Errors
    /// When the bytes are not those of a CTA of this launch. Then `cta` holds part of it.
    pub fn decode(&mut self, bytes: &[u8], warps: usize, cta: &mut Cta) -> Result<u64, Malformed> {
        cta.reset(warps);
        let mut bytes = Bytes(bytes);
        let mut instructions = 0;
        for warp in &mut cta.warps {
            self.decode_warp(&mut bytes, warp)?;
            instructions += warp.instructions();
        }
        match bytes.0.len() {
            0 => Ok(instructions),
            rest => Err(format!(
                "a CTA has {rest} {} more than its {warps} {}",
                noun(rest as u64, "byte", "bytes"),
                noun(warps as u64, "warp", "warps")
            )),
        }
    }

    fn decode_warp(&mut self, bytes: &mut Bytes, warp: &mut WarpStream) -> Result<(), Malformed> {
        let insts = self.records.len() as u64;
        let (mut behind, mut mask) = (0, LaneMask::MAX);
        loop {
            let first = bytes.take()?;
            let len = first >> 1;
            if len == 0 {
                break;
            }
            if first & 1 == 1 {
                mask = bytes.take_u32()?;
            }
            let pc = u64::from(behind).wrapping_add_signed(bytes.take_signed()?);
            let end = pc.checked_add(len).filter(|end| *end <= insts);
            let end = end.ok_or_else(|| {
                let noun = noun(insts, "instruction", "instructions");
                format!("a warp leaves the {insts} {noun} of its kernel")
            })?;
            warp.push_run(pc as u32, len as u32, mask);
            behind = end as u32;
            let mut place = self.record_from(pc as u32);
            while place < behind {
                match self.records[place as usize] {
                    Record::Addresses { bytes: size, local } => {
                        self.decode_addresses(place, mask, [size, local], bytes, warp)?;
                    }
                    Record::Mbarrier => {
                        let (id, arrivals) = (take_mbarrier(bytes)?, bytes.take_u32()?);
                        warp.push_mbarrier(MbarrierUse { id, arrivals });
                    }
                    Record::Bulk => self.decode_bulk(place, bytes, warp)?,
                    _ => {
                        warp.push_barrier(decode_barrier(bytes)?);
                    }
                }
                place = self.record_from(place + 1);
            }
        }
        match behind.checked_sub(1) {
            Some(last) if self.ends[last as usize] => Ok(()),
            _ => Err("a warp does not end with an exit".to_owned()),
        }
    }

    fn decode_bulk(
        &mut self,
        place: u32,
        bytes: &mut Bytes,
        warp: &mut WarpStream,
    ) -> Result<(), Malformed> {
        let first = bytes.take()?;
        let (count, of_boxes) = (first & !BOXES, first & BOXES != 0);
        if count > WARP as u64 {
            return Err(format!("{count} bulk copies of one instruction"));
        }
        let mut copies = [BulkUse { address: 0, bytes: 0, mbarrier: 0, area: None }; WARP];
        let copies = &mut copies[..count as usize];
        for copy in &mut *copies {
            let base = &mut self.bases[place as usize];
            *base = base.wrapping_add_signed(bytes.take_signed()?);
            let piece = u64::from(BULK_PIECE);
            let pieces = bytes.take()?;
            let length = pieces.checked_mul(piece).and_then(|bytes| u32::try_from(bytes).ok());
            let Some(length) = length else {
                return Err(format!("a bulk copy of {pieces} pieces at piece {base}"));
            };
            let (address, mbarrier) = (base.wrapping_mul(piece), take_mbarrier(bytes)?);
            let area = if of_boxes { Some(decode_box(bytes)?) } else { None };
            *copy = BulkUse { address, bytes: length, mbarrier, area };
            copy.check(ADDRESSES)?;
        }
        warp.push_bulk(copies.iter().copied());
        Ok(())
    }

    fn decode_addresses(
        &mut self,
        place: u32,
        executing: LaneMask,
        [size, local]: [u8; 2],
        bytes: &mut Bytes,
        warp: &mut WarpStream,
    ) -> Result<(), Malformed> {
        let first = bytes.take()?;
        let mask = if first >> 2 == 0 { executing } else { bytes.take_u32()? };
        let base = self.bases[place as usize].wrapping_add_signed(bytes.take_signed()?);
        self.bases[place as usize] = base;
        let is_right = |address: u64| {
            let aligned = if address < LOCAL_MEMORY { size } else { local };
            if address < ADDRESSES && address.is_multiple_of(aligned.into()) {
                return Ok(());
            }
            Err(format!("an access of {size} bytes at 0x{address:x}"))
        };
        match first & 3 {
            AFFINE => {
                let stride = bytes.take_i32()?;
                let shape = Shape::Affine { base, stride };
                let addresses = LaneAddresses { mask, shape };
                if base >= ADDRESSES {
                    return Err(format!("an affine base at 0x{base:x}"));
                }
                match mask {
                    0 => {}
                    // What lies between the first and the last lane lies between their addresses.
                    _ if stride % i32::from(size) == 0 => {
                        is_right(addresses.of(mask.trailing_zeros() as usize))?;
                        is_right(addresses.of(mask.ilog2() as usize))?;
                    }
                    // Lanes that are not beside each other may have a stride of less.
                    _ => lanes(mask).try_for_each(|lane| is_right(addresses.of(lane)))?,
                }
                warp.push_affine(mask, base, stride);
            }
            ROWS => {
                let width = bytes.take()?;
                if !(1..=4).contains(&width) || mask != LaneMask::MAX {
                    return Err("rows of lanes that no stream has".to_owned());
                }
                let (across, down) = (bytes.take_i32()?, bytes.take_i32()?);
                let rows = Rows { width: 1 << width, across, down };
                let addresses = LaneAddresses { mask, shape: Shape::Rows { base, rows } };
                lanes(mask).try_for_each(|lane| is_right(addresses.of(lane)))?;
                warp.push_rows(mask, base, rows);
            }
            SCATTERED if mask != 0 => {
                let mut addresses = [0; WARP];
                let mut last = base;
                for (number, lane) in lanes(mask).enumerate() {
                    if number > 0 {
                        last = last.wrapping_add_signed(bytes.take_signed()?);
                    }
                    is_right(last)?;
                    addresses[lane] = last;
                }
                warp.push_scattered(mask, &addresses);
            }
            _ => return Err("addresses of no shape".to_owned()),
        }
        Ok(())
    }

    /// The first place from `place` on that has a record; the end where there is none.
    fn record_from(&self, place: u32) -> u32 {
        self.next_record.get(place as usize).copied().unwrap_or(u32::MAX)
    }
}

fn encode_box(area: &BulkBox, bytes: &mut Vec<u8>) {
    let &BulkBox { inside, pitch, parts_halves, axes } = area;
    put(bytes, inside.0.into());
    put(bytes, inside.1.into());
    put(bytes, u64::from(u32::from(pitch) / BULK_PIECE) << 1 | u64::from(parts_halves));
    let used = axes.iter().rposition(|axis| *axis != BulkAxis::NONE).map_or(0, |last| last + 1);
    put(bytes, used as u64);
    for BulkAxis { count, inside, stride } in &axes[..used] {
        put(bytes, (*count).into());
        put(bytes, inside.0.into());
        put(bytes, inside.1.into());
        put(bytes, stride / u64::from(BULK_PIECE));
    }
}

fn decode_box(bytes: &mut Bytes) -> Result<BulkBox, Malformed> {
    let inside = (bytes.take_u32()?, bytes.take_u32()?);
    let none = || "a bulk copy of a box that there is none of".to_owned();
    let word = bytes.take_u16()?;
    let (pitch, parts_halves) = ((word >> 1).checked_mul(BULK_PIECE as u16), word & 1 != 0);
    let pitch = pitch.ok_or_else(none)?;
    let mut axes = [BulkAxis::NONE; BULK_AXES];
    let used = bytes.take()? as usize;
    for axis in axes.get_mut(..used).ok_or_else(none)? {
        let (count, inside) = (bytes.take_u16()?, (bytes.take_u16()?, bytes.take_u16()?));
        let stride = bytes.take()?.checked_mul(BULK_PIECE.into()).ok_or_else(none)?;
        *axis = BulkAxis { count, inside, stride };
    }
    Ok(BulkBox { inside, pitch, parts_halves, axes })
}

fn encode_barrier(BarrierUse { id, warps, kind }: BarrierUse, bytes: &mut Vec<u8>) {
    put(bytes, id.into());
    put(bytes, warps.into());
    put(bytes, kind.code().into());
}

/// The number of an mbarrier.
fn take_mbarrier(bytes: &mut Bytes) -> Result<u16, Malformed> {
    let id = bytes.take()?;
    u16::try_from(id).map_err(|_| format!("an mbarrier {id}"))
}

fn decode_barrier(bytes: &mut Bytes) -> Result<BarrierUse, Malformed> {
    let (id, warps, kind) = (bytes.take()?, bytes.take()?, bytes.take()?);
    let kind = BarrierKind::of_code(kind).ok_or_else(|| format!("a barrier of kind {kind}"))?;
    match u16::try_from(warps) {
        Ok(warps) if id < BARRIERS as u64 => Ok(BarrierUse { id: id as u8, warps, kind }),
        _ => Err(format!("barrier {id} of {warps} {}", noun(warps, "warp", "warps"))),
    }
}

/// Appends a number.
#[inline]
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a number with a sign.
#[inline]
fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, (number << 1 ^ number >> 63) as u64);
}

/// Bytes that have not been read.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    #[inline]
    fn take(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or("a CTA ends in a record")?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number of more than 64 bits".to_owned())
    }

    #[inline]
    fn take_signed(&mut self) -> Result<i64, Malformed> {
        let folded = self.take()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    fn take_u16(&mut self) -> Result<u16, Malformed> {
        u16::try_from(self.take()?).map_err(|_| "a number of more than 16 bits".to_owned())
    }

    fn take_u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.take()?).map_err(|_| "a number of more than 32 bits".to_owned())
    }

    fn take_i32(&mut self) -> Result<i32, Malformed> {
        i32::try_from(self.take_signed()?).map_err(|_| "a number of more than 32 bits".to_owned())
    }
}
