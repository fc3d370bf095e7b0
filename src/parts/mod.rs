//! What the components of the memory system share: packets, tag arrays, MSHR files.

mod mshr;
mod packet;
mod tags;

pub use mshr::{MshrFile, MshrId};
pub use packet::{Reply, ReplyKind, Request, RequestKind, Stamps};
pub use tags::{Lookup, TagArray, Way};
