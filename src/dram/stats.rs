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
        /// Clocks in which the data bus carried data, counted when the column command goes [clocks].
        data_clocks,
        /// Clocks with at least one request in the queue or data still to come [clocks].
        busy_clocks,
        /// Activates [commands].
        activates,
        /// Precharges; one of all banks counts once for every bank that it closes [commands].
        precharges,
        /// Refreshes, each of all banks or of one [commands].
        refreshes,
        /// Requests whose first command was a column access: another one had opened the row [requests].
        row_hits,
        /// Requests whose first command was a precharge: another row was open [requests].
        row_conflicts,
        /// Requests whose first command was an activate: the bank was closed [requests].
        row_misses,
        /// Requests in the queue, past the interface, summed over clocks: divide by clocks for the mean [request clocks].
        queued,
    }
}

impl DramStats {
    /// Share of all clocks in which the data bus carried data.
    pub fn utilisation(&self) -> f64 {
        ratio(self.data_clocks, self.clocks)
    }
}
