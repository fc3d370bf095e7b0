//! What the components of the memory system share: accesses, packets, address maps, tag arrays, sets of bytes, MSHR files, places of
//! queues.

mod access;
mod address;
mod byte_sets;
mod links;
mod marks;
mod mshr;
mod occupancy;
mod order;
mod packet;
mod sectors;
mod tags;

pub use access::{Access, AccessKind, DataCache, Outcome, Refusal, Released, Waiter};
pub use address::AddressMap;
pub use byte_sets::{BytePool, ByteSet};
pub use mshr::{MshrFile, MshrId};
pub use occupancy::Occupancy;
pub use packet::{
    DramRequest, FOR_NOBODY, FROM_SLICE, Reply, ReplyKind, Request, RequestKind, RequestStamps,
    Stamp, Stamps, THROUGH_COPY,
};
pub use sectors::{SectorSet, Sectors, bytes_of, sectors_of, whole_sectors_of};
pub use tags::{Lookup, Place, TagArray, Way};
