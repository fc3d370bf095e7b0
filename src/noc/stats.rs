//! What a crossbar counts.

crate::counters! {
    /// Events of one crossbar.
    pub struct NocStats {
        /// Packets delivered [packets].
        packets,
        /// Flits moved [flits].
        flits,
        /// Port cycles in which a packet waited for its output [NoC cycles].
        contention,
    }
}
