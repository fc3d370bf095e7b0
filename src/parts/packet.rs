//! What travels between an SM and the L2, and the times it collects on the way.

use std::hint::select_unpredictable;

use super::sectors::{SectorSet, Sectors, bytes_of};
use crate::units::{Cycle, LineAddr};

/// What a request asks of the L2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestKind {
    /// Sectors of a line, or all of it, for the L1.
    #[default]
    Fetch,
    /// Bytes for registers, past the L1.
    Load,
    /// Bytes to write.
    Store,
    /// A read-modify-write of bytes; the old values come back.
    Atomic,
    /// The same, of which nobody wants the old values.
    Reduction,
}

impl RequestKind {
    /// True for what reads, modifies and writes bytes.
    #[inline]
    pub fn is_atomic(self) -> bool {
        matches!(self, RequestKind::Atomic | RequestKind::Reduction)
    }

    /// True for what changes bytes.
    #[inline]
    pub fn is_change(self) -> bool {
        self == RequestKind::Store || self.is_atomic()
    }
}

/// In place of an SM, in what one L2 slice asks of another.
pub const FROM_SLICE: u16 = u16::MAX;

/// In place of the slot of a DRAM request: nobody waits for its data.
pub const FOR_NOBODY: u16 = u16::MAX;

/// In place of a place in a coalescer: the reply goes back through the slice that passed the request on.
pub const THROUGH_COPY: u16 = u16::MAX;

/// From an SM to an L2 slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The line it concerns: its number in memory, and from a slice's door on that within the slice.
    pub line: LineAddr,
    /// Bytes of the line it reads or writes, bit 0 the line's first byte.
    pub bytes: u128,
    /// What it asks.
    pub kind: RequestKind,
    /// Who asks.
    pub sm: u16,
    /// Where the asking SM finds its notes on the request; comes back with the reply.
    pub slot: u16,
    /// How long an atomic keeps the slice's data port [quarters of an L2 cycle].
    pub atomic_work: u8,
    /// The place, from 1, where a slice holds it against others; 0 for none, or [`THROUGH_COPY`]. Comes back with the reply.
    pub held: u16,
    /// When it passed where.
    pub stamps: RequestStamps,
}

/// What an L2 slice answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyKind {
    /// Sectors of a line, or all of it, for the L1.
    #[default]
    Fill,
    /// Bytes for registers.
    Data,
    /// The bytes are written, or modified.
    Ack,
}

/// From an L2 slice to an SM. It is copied often: aligned so, it takes whole pieces of 16 bytes, and a copy that was just made can be
/// read as it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(8))]
pub struct Reply {
    /// What it brings.
    pub kind: ReplyKind,
    /// For whom.
    pub sm: u16,
    /// The request's slot.
    pub slot: u16,
    /// The request's place in the slice's coalescer.
    pub held: u16,
    /// The sectors of the line that it brings, or parts of.
    pub sectors: SectorSet,
    /// What it carries of them, besides the header [bytes, 0..=128].
    pub data_bytes: u8,
    /// When it passed where.
    pub stamps: Stamps,
}

impl Request {
    /// The answer, after the request went through the L2.
    #[inline]
    pub fn reply(&self) -> Reply {
        self.reply_with(SectorSet::of(self.bytes))
    }

    /// The same, where these are the sectors of the request's bytes.
    #[inline(always)]
    pub fn reply_with(&self, sectors: SectorSet) -> Reply {
        let Request { sm, slot, held, .. } = *self;
        let kind = match self.kind {
            RequestKind::Fetch => ReplyKind::Fill,
            RequestKind::Load | RequestKind::Atomic => ReplyKind::Data,
            RequestKind::Store | RequestKind::Reduction => ReplyKind::Ack,
        };
        let (sectors, data_bytes) = match kind {
            ReplyKind::Ack => (SectorSet::default(), 0),
            ReplyKind::Fill | ReplyKind::Data => (sectors, bytes_of(self.bytes) as u8),
        };
        Reply { kind, sm, slot, held, sectors, data_bytes, stamps: self.stamps.of_hit() }
    }

    /// Bytes that the request itself carries, besides the header; a store in pieces of `store_piece` bytes, with
    /// `mask_bytes` more where it does not write all of them. An atomic of more than one operand has its masks always.
    #[inline]
    pub fn data_bytes(&self, store_piece: u32, mask_bytes: u32) -> u32 {
        /// Of an atomic's operand, at most.
        const OPERAND: u32 = 8;
        if store_piece == 1 {
            // Which it is nobody can foretell.
            return select_unpredictable(self.kind.is_change(), bytes_of(self.bytes), 0);
        }
        let whole = match self.kind {
            RequestKind::Fetch | RequestKind::Load => return 0,
            RequestKind::Store => self.bytes,
            _ if bytes_of(self.bytes) > OPERAND => 0,
            _ => return bytes_of(self.bytes),
        };
        let pieces = Sectors::new(u128::BITS, store_piece).around(self.bytes);
        bytes_of(pieces) + if pieces == whole { 0 } else { mask_bytes }
    }
}

/// A core cycle, known by its low bits: a request is never under way for 2^31 cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp(u32);

impl From<Cycle> for Stamp {
    #[inline]
    fn from(cycle: Cycle) -> Stamp {
        Stamp(cycle.0 as u32)
    }
}

impl Stamp {
    /// The later of two, which lie less than 2^31 cycles apart.
    #[inline]
    pub fn later(self, other: Stamp) -> Stamp {
        if (self.0.wrapping_sub(other.0) as i32) < 0 { other } else { self }
    }

    /// Cycles from `earlier`, which is not later and less than 2^32 cycles away.
    #[inline]
    pub fn since(self, earlier: Stamp) -> u64 {
        u64::from(self.0.wrapping_sub(earlier.0))
    }

    /// The earlier of two, likewise.
    #[inline]
    pub fn earlier(self, other: Stamp) -> Stamp {
        if self.later(other) == self { other } else { self }
    }

    /// The cycle, which lies less than 2^31 cycles before or behind `other`.
    #[inline]
    pub fn near(self, other: Cycle) -> Cycle {
        let distance = self.0.wrapping_sub(other.0 as u32) as i32;
        Cycle(other.0.wrapping_add_signed(i64::from(distance)))
    }
}

/// When a request passed the borders between components on its way to the L2, in core cycles.
///
/// A stamp is set where the packet lies for a while, after it was copied there: the processor copies sixteen bytes at once,
/// and such a copy of what was written in part a moment ago has to wait for it.
///
/// Borders that are still to come hold zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestStamps {
    /// It left the L1's miss queue for the request network; while it is there, when the L1 accepted the access.
    pub injected: Stamp,
    /// It arrived at the L2 slice.
    pub at_slice: Stamp,
    /// The tags accepted it, those of the other partition's slice where it went on to that; until then, when they can at the
    /// soonest.
    pub looked_up: Stamp,
    /// How long it waited for tags that others used, or that refused it [core cycles].
    pub queued: u32,
}

/// When a request and its reply passed the borders between components, in core cycles; set as those of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The way to the L2.
    pub request: RequestStamps,
    /// The first DRAM command for it went out, less the way to the DRAM; equals [`RequestStamps::looked_up`] for a hit and for a
    /// merged request.
    pub dram_started: Stamp,
    /// The slice that looked it up had its data: at once, for a hit.
    pub filled: Stamp,
    /// The reply left the slice for the reply network.
    pub replied: Stamp,
    /// It waited for what another request fetched.
    pub merged_at_l2: bool,
}

impl RequestStamps {
    /// It arrives at the slice in cycle `core`, and the tags can accept it in cycle `looked_up`.
    #[inline(always)]
    pub fn arrive(&mut self, core: Cycle, looked_up: Cycle) {
        (self.at_slice, self.looked_up) = (core.into(), looked_up.into());
    }

    /// The tags accept it in cycle `core`.
    #[inline(always)]
    pub fn look_up(&mut self, core: Cycle) {
        let core = Stamp::from(core);
        self.queued += core.since(self.looked_up) as u32;
        self.looked_up = core;
    }

    /// Those of the reply to a request that hits: it has its data with the look at the tags.
    #[inline]
    fn of_hit(self) -> Stamps {
        let (dram_started, filled) = (self.looked_up, self.looked_up);
        Stamps { request: self, dram_started, filled, ..Stamps::default() }
    }
}

/// From an L2 slice to its DRAM channel: consecutive bytes of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DramRequest {
    /// First byte, within the channel's address space.
    pub address: u64,
    /// How many bytes; a multiple of a burst.
    pub bytes: u32,
    /// Writes them; else reads.
    pub write: bool,
    /// The slice's name for it; comes back with the data of a read.
    pub slot: u16,
    /// The place of the bytes in their line, in fetches; comes back with the data of a read.
    pub piece: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_writes_carries_data() {
        use RequestKind::{Atomic, Fetch, Load, Store};

        let carried = |kind, bytes, store_piece| {
            Request { kind, bytes, ..Request::default() }.data_bytes(store_piece, 16)
        };
        for store_piece in [1, 32] {
            assert_eq!([Fetch, Load].map(|kind| carried(kind, 0xff, store_piece)), [0, 0]);
            assert_eq!([Fetch, Load].map(|kind| carried(kind, u128::MAX, store_piece)), [0, 0]);
            assert_eq!(carried(Store, u128::MAX, store_piece), 128);
            assert_eq!(carried(Atomic, 0xff, store_piece), 8);
        }
        assert_eq!([Store, Atomic].map(|kind| carried(kind, 0xfff, 1)), [12, 12]);
        assert_eq!([Store, Atomic].map(|kind| carried(kind, 0xfff, 32)), [48, 48]);
    }
}
