//! Loads and stores.
//!
//! A full warp whose addresses are affine in the lane number, or in rows of lanes, is checked once, and copied in blocks
//! where it is contiguous. Everything else goes lane by lane.

use std::ops::Range;

use super::super::program::{Access, AccessKind, AccessSpace, Base};
use super::copy::{Places, load, store};
use super::registers::Registers;
use super::shared::SharedMemory;
use super::{CONST_WINDOW, LOCAL_WINDOW, SHARED_WINDOW};
use crate::isa::{LaneMask, Rows, WARP, WarpStream, lanes, local_address};
use crate::workload::DeviceMemory;

/// A lane that did wrong, and what.
pub type LaneFault = (usize, String);

/// The memories that a warp sees.
pub struct Spaces<'a> {
    /// Global memory.
    pub global: &'a mut DeviceMemory,
    /// Addresses of the buffer that was accessed last.
    pub last_buffer: &'a mut Range<u64>,
    /// Shared memory of the CTA.
    pub shared: &'a mut SharedMemory,
    /// Local memories of the warp's lanes, one after the other.
    pub local: &'a mut [u8],
    /// Local memory of a lane `[bytes]`.
    pub local_bytes: u64,
    /// Number of the warp in the launch.
    pub warp_of_launch: u64,
    /// Constant memory, with the parameters behind it.
    pub consts: &'a [u8],
}

/// The order of a warp's addresses.
#[derive(Clone, Copy)]
pub(super) enum Order {
    /// Affine over all lanes, with this stride.
    Affine(i32),
    /// In rows of lanes.
    Rows(Rows),
    /// None of these.
    None,
    /// Not looked for, as lanes are missing.
    Unknown,
}

impl Order {
    /// Of the addresses of the lanes of `mask`.
    #[inline(always)]
    fn of(addresses: &[u64; WARP], mask: LaneMask) -> Self {
        if mask != !0 {
            return Order::Unknown;
        }
        let stride = addresses[1].wrapping_sub(addresses[0]);
        let mut wrong = 0;
        for lane in 1..WARP {
            wrong |= addresses[lane].wrapping_sub(addresses[lane - 1]) ^ stride;
        }
        if wrong == 0
            && let Ok(stride) = i32::try_from(stride as i64)
        {
            return Order::Affine(stride);
        }
        Rows::of(addresses).map_or(Order::None, Order::Rows)
    }

    /// The lanes of which one has the least address and one the greatest, where the order tells, and the bits that any two
    /// addresses can differ in.
    #[inline(always)]
    fn corners(self) -> Option<([usize; 4], u64)> {
        const LAST: usize = WARP - 1;
        match self {
            Order::Affine(stride) => Some(([0, LAST, 0, LAST], i64::from(stride) as u64)),
            Order::Rows(Rows { width, across, down }) => {
                let width = width as usize;
                let differ = i64::from(across) | i64::from(down);
                Some(([0, width - 1, WARP - width, LAST], differ as u64))
            }
            Order::None | Order::Unknown => None,
        }
    }
}

impl Spaces<'_> {
    /// Executes a memory access for the lanes of `mask` and records its addresses.
    #[inline(always)]
    pub fn access(
        &mut self,
        access: &Access,
        regs: &mut Registers,
        mask: LaneMask,
        stream: &mut WarpStream,
    ) -> Result<(), LaneFault> {
        if mask == 0 {
            stream.push_affine(0, 0, 0);
            return Ok(());
        }
        let mut addresses = addresses(access, regs);
        let space = match access.space {
            AccessSpace::Generic => match self.window(mask, &mut addresses) {
                Some(space) => space,
                None => return self.mixed(access, &addresses, regs, mask, stream),
            },
            space => space,
        };
        let order = Order::of(&addresses, mask);
        self.perform(space, access, &addresses, regs, mask, order)?;
        self.record(access.space, space, &addresses, mask, order, stream);
        Ok(())
    }

    /// Records a prefetch for those lanes of `mask` whose addresses are some; the others ask for nothing.
    pub fn prefetch(
        &mut self,
        access: &Access,
        regs: &Registers,
        mask: LaneMask,
        stream: &mut WarpStream,
    ) {
        let named = addresses(access, regs);
        let place = |lane: usize| match access.space {
            AccessSpace::Generic => {
                let (space, start) = window_of(named[lane]);
                (space, named[lane].wrapping_sub(start))
            }
            space => (space, named[lane]),
        };
        let (mut there, mut visible) = (0, [0; WARP]);
        for lane in lanes(mask) {
            let (space, address) = place(lane);
            let all = [address; WARP];
            let found = self.check(space, AccessKind::Load, &all, 1, 1 << lane, Order::Unknown);
            visible[lane] = match space {
                _ if found.is_err() => continue,
                AccessSpace::Global => address,
                AccessSpace::Local => self.local_address(lane, address),
                _ => continue,
            };
            there |= 1 << lane;
        }
        stream.push_addresses(there, &visible);
    }

    /// Reads or writes the parameters of a call in the frame, which the machine does not see.
    pub fn param(
        &mut self,
        access: &Access,
        regs: &mut Registers,
        mask: LaneMask,
    ) -> Result<(), LaneFault> {
        if mask == 0 {
            return Ok(());
        }
        let addresses = addresses(access, regs);
        self.perform(AccessSpace::Local, access, &addresses, regs, mask, Order::Unknown)
    }

    /// An access whose generic addresses lie in several spaces: one space after the other. The machine sees
    /// one access with all of the addresses.
    #[cold]
    fn mixed(
        &mut self,
        access: &Access,
        addresses: &[u64; WARP],
        regs: &mut Registers,
        mask: LaneMask,
        stream: &mut WarpStream,
    ) -> Result<(), LaneFault> {
        let mut rest = mask;
        while rest != 0 {
            let (space, start) = window_of(addresses[rest.trailing_zeros() as usize]);
            let same = lanes(rest).filter(|lane| window_of(addresses[*lane]).0 == space);
            let part = same.fold(0, |mask, lane| mask | 1 << lane);
            let inner = addresses.map(|address| address.wrapping_sub(start));
            self.perform(space, access, &inner, regs, part, Order::Unknown)?;
            rest &= !part;
        }
        let visible = std::array::from_fn(|lane| match window_of(addresses[lane]) {
            (AccessSpace::Local, start) => self.local_address(lane, addresses[lane] - start),
            _ => addresses[lane] & ((1 << 62) - 1),
        });
        stream.push_addresses(mask, &visible);
        Ok(())
    }

    /// Checks an access, and reads or writes.
    #[inline(always)]
    fn perform(
        &mut self,
        space: AccessSpace,
        access: &Access,
        addresses: &[u64; WARP],
        regs: &mut Registers,
        mask: LaneMask,
        order: Order,
    ) -> Result<(), LaneFault> {
        let bytes = u64::from(access.ty.bytes()) * u64::from(access.elements);
        let places = self.check(space, access.kind, addresses, bytes, mask, order)?;
        let block: &mut [u8] = match space {
            AccessSpace::Global | AccessSpace::Generic => self.global.block_mut(),
            AccessSpace::Shared => {
                self.follow(access, addresses, &places, mask)?;
                self.shared.bytes_mut()
            }
            AccessSpace::Local => self.local,
            AccessSpace::Const => {
                if access.kind != AccessKind::Load {
                    let lane = mask.trailing_zeros() as usize % WARP;
                    let address = addresses[lane];
                    let verb = verb(access.kind);
                    let message = format!("{verb} constant memory, at address {address:#x}");
                    return Err((lane, message));
                }
                load(self.consts, &places, mask, access, regs);
                return Ok(());
            }
        };
        match access.kind {
            AccessKind::Load => load(block, &places, mask, access, regs),
            AccessKind::Store => store(block, &places, mask, access, regs),
            AccessKind::Atomic(op) => {
                let flushes = space != AccessSpace::Shared;
                super::atomic::execute((op, flushes), block, &places, mask, access, regs);
            }
        }
        Ok(())
    }

    /// Notes what an access to shared memory writes, and refuses to read what was not written.
    #[inline]
    pub(super) fn follow(
        &mut self,
        access: &Access,
        addresses: &[u64; WARP],
        places: &Places,
        mask: LaneMask,
    ) -> Result<(), LaneFault> {
        if !self.shared.has_unwritten() {
            return Ok(());
        }
        self.shared.follow(access, places, mask).map_err(|lane| {
            let (verb, address) = (verb(access.kind), addresses[lane]);
            let bytes = u64::from(access.ty.bytes()) * u64::from(access.elements);
            let what = format!("{verb} {bytes} bytes at address {address:#x} of shared memory");
            (lane, format!("{what}, which nothing was written to"))
        })
    }

    /// The space of generic addresses, which become addresses of that space; `None` when there are several.
    pub(super) fn window(
        &self,
        mask: LaneMask,
        addresses: &mut [u64; WARP],
    ) -> Option<AccessSpace> {
        let (space, start) = window_of(addresses[mask.trailing_zeros() as usize % WARP]);
        if lanes(mask).any(|lane| window_of(addresses[lane]).0 != space) {
            return None;
        }
        addresses.iter_mut().for_each(|address| *address = address.wrapping_sub(start));
        Some(space)
    }

    /// Checks bounds and alignment; gives the places in the block of memory.
    #[inline(always)]
    pub(super) fn check(
        &mut self,
        space: AccessSpace,
        kind: AccessKind,
        addresses: &[u64; WARP],
        bytes: u64,
        mask: LaneMask,
        order: Order,
    ) -> Result<Places, LaneFault> {
        let base = match space {
            AccessSpace::Global | AccessSpace::Generic => DeviceMemory::BASE,
            AccessSpace::Const => CONST_WINDOW,
            AccessSpace::Shared | AccessSpace::Local => 0,
        };
        // Vector sizes and element sizes are powers of two, and so is their product.
        let odd = bytes - 1;
        if let Some((corners, differ)) = order.corners()
            && space != AccessSpace::Local
            && (addresses[0] | differ) & odd == 0
        {
            let [a, b, c, d] = corners.map(|lane| addresses[lane]);
            let (least, most) = (a.min(b).min(c).min(d), a.max(b).max(c).max(d));
            let inside = most.checked_add(bytes).is_some_and(|end| match space {
                AccessSpace::Shared => end <= self.shared.len() as u64,
                AccessSpace::Const => least >= base && end - base <= self.consts.len() as u64,
                _ => self.in_buffer(least, end),
            });
            if inside {
                let first = (a - base) as usize;
                return Ok(match order {
                    Order::Rows(rows) => Places::Rows { first, rows },
                    Order::Affine(stride) => Places::Affine { first, stride: stride as isize },
                    Order::None | Order::Unknown => unreachable!("they have no corners"),
                });
            }
        }
        let apart = if space == AccessSpace::Local { self.local_bytes as usize } else { 0 };
        if self.all_inside(space, addresses, bytes, mask) {
            let mut to_place = (base as usize).wrapping_neg();
            let places = addresses.map(|address| {
                let place = (address as usize).wrapping_add(to_place);
                to_place = to_place.wrapping_add(apart);
                place
            });
            return Ok(Places::Scattered(places));
        }
        let mut places = [0; WARP];
        for lane in lanes(mask) {
            let address = addresses[lane];
            if address & odd != 0 {
                return Err((lane, misaligned(kind, address, bytes)));
            }
            let end = address.checked_add(bytes);
            let inside = end.is_some_and(|end| match space {
                AccessSpace::Shared => end <= self.shared.len() as u64,
                AccessSpace::Local => end <= self.local_bytes,
                AccessSpace::Const => address >= base && end - base <= self.consts.len() as u64,
                _ => self.in_buffer(address, end),
            });
            if !inside {
                return Err((lane, self.outside(space, kind, address, bytes)));
            }
            places[lane] = (address - base) as usize + lane * apart;
        }
        Ok(Places::Scattered(places))
    }

    /// Whether all lanes of `mask` access aligned places of the block or buffer that the first of
    /// them accesses. No branch depends on an address.
    #[inline]
    fn all_inside(
        &mut self,
        space: AccessSpace,
        addresses: &[u64; WARP],
        bytes: u64,
        mask: LaneMask,
    ) -> bool {
        let first = addresses[mask.trailing_zeros() as usize % WARP];
        let (start, length) = match space {
            AccessSpace::Shared => (0, self.shared.len() as u64),
            AccessSpace::Local => (0, self.local_bytes),
            AccessSpace::Const => (CONST_WINDOW, self.consts.len() as u64),
            AccessSpace::Global | AccessSpace::Generic => {
                let Some(end) = first.checked_add(bytes) else { return false };
                if !self.in_buffer(first, end) {
                    return false;
                }
                (self.last_buffer.start, self.last_buffer.end - self.last_buffer.start)
            }
        };
        let Some(most) = length.checked_sub(bytes) else { return false };
        match mask {
            // On vectors.
            LaneMask::MAX => all_fit(addresses.iter().copied(), start, most, bytes - 1),
            _ => all_fit(lanes(mask).map(|lane| addresses[lane]), start, most, bytes - 1),
        }
    }

    /// Whether one buffer holds all of the addresses from `start` to `end`.
    #[inline]
    pub(super) fn in_buffer(&mut self, start: u64, end: u64) -> bool {
        if self.last_buffer.start <= start && end <= self.last_buffer.end {
            return true;
        }
        let found = self.global.find(start, end - start);
        if let Some(buffer) = found {
            *self.last_buffer = buffer.address..buffer.address + buffer.bytes;
        }
        found.is_some()
    }

    #[cold]
    pub(super) fn outside(
        &self,
        space: AccessSpace,
        kind: AccessKind,
        address: u64,
        bytes: u64,
    ) -> String {
        let what = match space {
            AccessSpace::Shared => {
                format!("outside the CTA's {} bytes of shared memory", self.shared.len())
            }
            AccessSpace::Local => {
                format!("outside the thread's {} bytes of local memory", self.local_bytes)
            }
            AccessSpace::Const => {
                format!("outside the module's {} bytes of constants", self.consts.len())
            }
            _ => {
                let buffers = self.global.buffers();
                let after = buffers.partition_point(|(_, buffer)| buffer.address <= address);
                match buffers[..after].last() {
                    Some((name, buffer)) => format!(
                        "outside every buffer, {} bytes past the start of `{name}`, which has {}",
                        address - buffer.address,
                        buffer.bytes
                    ),
                    None => "outside every buffer".into(),
                }
            }
        };
        format!("{} {bytes} bytes at address {address:#x}, {what}", verb(kind))
    }

    /// Where a byte of a lane's local memory lies. Lanes that take no part may ask for any byte.
    fn local_address(&self, lane: usize, offset: u64) -> u64 {
        local_address(self.warp_of_launch, self.local_bytes, lane, offset)
    }

    /// Hands the addresses to the timing model.
    #[inline(always)]
    pub(super) fn record(
        &self,
        named: AccessSpace,
        space: AccessSpace,
        addresses: &[u64; WARP],
        mask: LaneMask,
        order: Order,
        stream: &mut WarpStream,
    ) {
        if space == AccessSpace::Local {
            let physical = std::array::from_fn(|lane| self.local_address(lane, addresses[lane]));
            return stream.push_addresses(mask, &physical);
        }
        let is_generic = named == AccessSpace::Generic && space == AccessSpace::Shared;
        let start = if is_generic { SHARED_WINDOW } else { 0 };
        match order {
            Order::Affine(stride) => {
                stream.push_affine(mask, addresses[0].wrapping_add(start), stride);
            }
            Order::Rows(rows) => stream.push_rows(mask, addresses[0].wrapping_add(start), rows),
            Order::None if !is_generic => stream.push_lanes(addresses),
            Order::Unknown if !is_generic => stream.push_addresses(mask, addresses),
            Order::None | Order::Unknown => {
                let generic = addresses.map(|address| address.wrapping_add(start));
                stream.push_addresses(mask, &generic);
            }
        }
    }
}

/// The addresses of all lanes; those outside the mask may be anything.
#[inline(always)]
pub fn addresses(access: &Access, regs: &Registers) -> [u64; WARP] {
    let mut addresses = [access.offset; WARP];
    match access.base {
        Base::Wide(row) => {
            let row = &regs.wide[usize::from(row)];
            for lane in 0..WARP {
                addresses[lane] = row[lane].wrapping_add(access.offset);
            }
        }
        Base::Narrow(row) => {
            // An address of 32 bits, such as one of shared memory, wraps there: compilers begin below the first byte.
            let row = &regs.narrow[usize::from(row)];
            for lane in 0..WARP {
                addresses[lane] = row[lane].wrapping_add(access.offset as u32).into();
            }
        }
        Base::None => {}
    }
    addresses
}

/// Whether addresses are at most `most`, which is far below 2^63, above `start`, and have none of the bits `odd`.
#[inline]
fn all_fit(addresses: impl Iterator<Item = u64>, start: u64, most: u64, odd: u64) -> bool {
    let (mut outside, mut bits) = (0, 0);
    for address in addresses {
        // The top bit is set where an offset is above `most`.
        let offset = address.wrapping_sub(start);
        outside |= offset | most.wrapping_sub(offset);
        bits |= address;
    }
    outside >> 63 == 0 && bits & odd == 0
}

/// The space that a generic address lies in, and where that starts. Constants keep their generic address.
fn window_of(address: u64) -> (AccessSpace, u64) {
    match address {
        CONST_WINDOW.. => (AccessSpace::Const, 0),
        LOCAL_WINDOW.. => (AccessSpace::Local, LOCAL_WINDOW),
        SHARED_WINDOW.. => (AccessSpace::Shared, SHARED_WINDOW),
        _ => (AccessSpace::Global, 0),
    }
}

#[cold]
pub fn misaligned(kind: AccessKind, address: u64, bytes: u64) -> String {
    let verb = verb(kind);
    format!("{verb} {bytes} bytes at address {address:#x}, which is not aligned to {bytes} bytes")
}

fn verb(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Load => "reads",
        AccessKind::Store => "writes",
        AccessKind::Atomic(_) => "updates",
    }
}
