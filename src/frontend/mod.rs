//! Where warp instructions come from.

pub mod ptx;
pub mod synthetic;
pub mod trace;
