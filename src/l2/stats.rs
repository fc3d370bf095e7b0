//! What an L2 slice counts.

use crate::stats::ratio;

crate::counters! {
    /// Events of one L2 slice.
    pub struct L2Stats {
        /// Reads whose bytes were present; here and below, an atomic reads [requests].
        read_hits,
        /// Reads merged into an outstanding miss [requests].
        read_merged,
        /// Reads that fetched their line, or sectors of it, from DRAM or the other partition; one that asks there counts in both [requests].
        read_misses,
        /// Reads that waited for the reply to one of the same bytes, before the tags [requests].
        coalesced,
        /// Sectors of 32 bytes that L1s asked for and that were looked up [sectors].
        read_sectors,
        /// Of these, sectors that were present or on their way [sectors].
        read_sector_hits,
        /// Sectors of 32 bytes that L1s wrote [sectors].
        write_sectors,
        /// Sectors of 32 bytes that the other partition's slice asked for [sectors].
        far_read_sectors,
        /// Sectors of 32 bytes that the other partition's slice passed on [sectors].
        far_write_sectors,
        /// Requests of these fetches to the DRAM or the other partition [requests].
        fetches,
        /// Writes to a line that was present or outstanding [requests].
        write_hits,
        /// Writes that took a new line, without fetching it; all where the L2 is no cache [requests].
        write_misses,
        /// Atomics performed [requests].
        atomics,
        /// Dirty lines sent to DRAM, to make room or as too many of their set were dirty [lines].
        writebacks,
        /// Requests to the DRAM that read what sectors lack which were written in part, before these are written there [requests].
        completions,
        /// Cycles in which a request was refused for want of a merger field [L2 cycles].
        stall_nomerger,
        /// Cycles in which a request was refused for want of an MSHR entry [L2 cycles].
        stall_nomshrline,
        /// Cycles in which a request was refused because every way of its set was reserved [L2 cycles].
        stall_nocacheline,
        /// Cycles in which a request was refused because the queue to the DRAM or the other partition was full [L2 cycles].
        stall_dramqueue,
        /// Cycles in which a request was refused because the reply queue was full [L2 cycles].
        stall_replyqueue,
    }
}

impl L2Stats {
    /// Reads looked up.
    pub fn reads(&self) -> u64 {
        self.read_hits + self.read_merged + self.read_misses
    }

    /// Share of the reads looked up that fetched from DRAM or the other partition.
    pub fn read_miss_rate(&self) -> f64 {
        ratio(self.read_misses, self.reads())
    }
}
