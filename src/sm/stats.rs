//! What an SM counts.

crate::counters! {
    /// Events of one SM, its load/store unit included.
    pub struct SmStats {
        /// Warp instructions issued [instructions].
        warp_instructions,
        /// Instructions issued beside another one of the same warp [instructions].
        pairs,
        /// Lanes active over all instructions issued [thread instructions].
        thread_instructions,
        /// CTAs finished [CTAs].
        ctas,
        /// Cycles with at least one resident CTA [core cycles].
        active_cycles,
        /// Resident warps summed over active cycles: divide by active_cycles for the mean [warp cycles].
        resident_warp_cycles,
        /// Global, local and constant load instructions issued, and bulk copies from global memory [instructions].
        load_instructions,
        /// Global and local store instructions issued, and bulk copies to global memory [instructions].
        store_instructions,
        /// Atomic instructions issued [instructions].
        atomic_instructions,
        /// Shared-memory instructions issued [instructions].
        shared_instructions,
        /// Accesses the coalescer made of load instructions, and lines that bulk copies read [accesses].
        load_accesses,
        /// Accesses the coalescer made of store instructions, and lines that bulk copies write [accesses].
        store_accesses,
        /// Accesses the coalescer made of atomic instructions [accesses].
        atomic_accesses,
        /// Passes over the shared-memory banks [passes].
        shared_passes,
        /// Barriers passed by a whole CTA [barriers].
        barriers,
    }
}
