//! Where warp instructions come from.

pub mod ptx;
