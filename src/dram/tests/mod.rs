//! Tests of the whole controller.

mod bandwidth;
mod clocks;
mod oracle;
mod properties;
mod speed;
