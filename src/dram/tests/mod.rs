//! Tests of the whole controller.

mod bandwidth;
mod banks;
mod bus;
mod clocks;
mod oracle;
mod properties;
mod speed;
