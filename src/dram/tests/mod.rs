//! Tests of the whole controller.

mod bandwidth;

