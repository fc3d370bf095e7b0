//! What a DRAM controller counts.

use crate::stats::ratio;

crate::counters! {
    /// Events of one DRAM controller.
    pub struct DramStats {
        /// Command clocks that passed [clocks].
        clocks,
        /// Read requests served [requests].
        reads,
        /// Write requests served [requests].
        writes,
        /// Read bursts [bursts].
        read_bursts,
        /// Write bursts [bursts].
        write_bursts,
        /// Clocks in which the data bus carried data [clocks].
        data_clocks,
        /// Clocks with at least one request queued or in service [clocks].
        busy_clocks,
        /// Activates [commands].
        activates,
        /// Precharges [commands].
        precharges,
        /// Refreshes of all banks [commands].
        refreshes,
        /// Requests whose first column command found the row open [requests].
        row_hits,
        /// Requests that found another row open [requests].
        row_conflicts,
        /// Requests that found the bank closed [requests].
        row_misses,
        /// Requests queued, summed over clocks: divide by clocks for the mean [request clocks].
        queued,
    }
}

impl DramStats {
    /// Share of all clocks in which the data bus carried data.
    pub fn utilisation(&self) -> f64 {
        ratio(self.data_clocks, self.clocks)
    }

    /// Share of the clocks with work in which the data bus carried data.
    pub fn efficiency(&self) -> f64 {
        ratio(self.data_clocks, self.busy_clocks)
    }
}
