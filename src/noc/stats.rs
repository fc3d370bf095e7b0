//! What a crossbar counts.

crate::counters! {
    /// Events of one crossbar.
    pub struct NocStats {
        /// Packets delivered [packets].
        packets,
        /// Flits moved [flits].
        flits,
        /// Cycles that packets waited at the head of their line for a port [NoC cycles].
        contention,
    }
}
