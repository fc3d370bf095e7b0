//! What an L1 counts.

use crate::stats::ratio;

crate::counters! {
    /// Events of one L1 data cache.
    pub struct L1Stats {
        /// Loads whose line was present [accesses].
        load_hits,
        /// Loads merged into an outstanding miss [accesses].
        load_merged,
        /// Loads that sent a fetch to the L2 [accesses].
        load_misses,
        /// Of these, loads whose line was present or outstanding without the sectors they want [accesses].
        sector_misses,
        /// Sectors that loads looked up [sectors].
        load_sectors,
        /// Of these, sectors that were present or on their way [sectors].
        load_sector_hits,
        /// Sectors that stores touched [sectors].
        store_sectors,
        /// Loads that went past the L1 to the L2 [accesses].
        load_bypasses,
        /// Stores sent on to the L2 [accesses].
        stores,
        /// Stores and atomics whose line, or sectors of it, were present and were dropped [accesses].
        store_evictions,
        /// Loads that went past the L1 and whose line, or sectors of it, were present and were dropped [accesses].
        load_evictions,
        /// Acquires of warps after which no line was left [acquires].
        acquires,
        /// Atomics sent on to the L2 [accesses].
        atomics,
        /// Cycles in which an access was refused for want of a merger field [core cycles].
        stall_nomerger,
        /// Cycles in which an access was refused for want of an MSHR entry [core cycles].
        stall_nomshrline,
        /// Cycles in which an access was refused because every way of its set was reserved [core cycles].
        stall_nocacheline,
        /// Cycles in which an access was refused because the miss queue was full [core cycles].
        stall_missqueue,
        /// Fetches that arrived: lines, or sectors of one [fetches].
        fills,
    }
}

impl L1Stats {
    /// Loads looked up in the L1.
    pub fn loads(&self) -> u64 {
        self.load_hits + self.load_merged + self.load_misses
    }

    /// Share of loads looked up that sent a fetch.
    pub fn miss_rate(&self) -> f64 {
        ratio(self.load_misses, self.loads())
    }

    /// Share of loads looked up whose line was present.
    pub fn hit_rate(&self) -> f64 {
        ratio(self.load_hits, self.loads())
    }
}
