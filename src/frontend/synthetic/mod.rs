//! Synthetic kernels: warp streams made from a pattern, without executing anything.

mod source;

pub use source::SyntheticSource;
