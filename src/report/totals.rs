//! The dozen numbers that are looked at first.

use serde::{Deserialize, Serialize};

use crate::config::Machine;
use crate::gpu::{Components, Ledgers, total};
use crate::stats::ratio;

/// Declares the totals once: the struct, and the glossary that reports carry.
macro_rules! totals {
    ($(#[$meta:meta])* pub struct $name:ident { $(#[doc = $doc:literal] $field:ident: $type:ty,)+ }) => {
        $(#[$meta])*
        #[allow(rustdoc::broken_intra_doc_links, reason = "units such as [bytes] are no links")]
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct $name { $(#[doc = $doc] pub $field: $type,)+ }

        impl $name {
            /// Name and meaning of every total, in the order of declaration.
            pub const GLOSSARY: &'static [(&'static str, &'static str)] =
                &[$((stringify!($field), $doc),)+];
        }
    };
}

totals! {
    /// The dozen numbers that are looked at first; everything else is in the counters and ledgers.
    pub struct Totals {
        /// From the launch until the last access is done, kernel after kernel [core cycles].
        cycles: u64,
        /// Warp instructions issued [instructions].
        warp_instructions: u64,
        /// Lanes active over all instructions issued [thread instructions].
        thread_instructions: u64,
        /// Warp instructions a core cycle, the whole GPU together [instructions per cycle].
        ipc: f64,
        /// Share of the loads looked up in the L1 whose line was present [0..1].
        l1_hit_rate: f64,
        /// Share of the loads looked up in the L1 that sent a fetch; the rest merged [0..1].
        l1_miss_rate: f64,
        /// Share of the reads looked up at the L2 that fetched from DRAM or the other partition, where they are looked up again [0..1].
        l2_read_miss_rate: f64,
        /// Share of the DRAM clocks in which a data bus carried data [0..1].
        dram_utilisation: f64,
        /// Read from DRAM, in whole bursts [bytes].
        dram_bytes_read: u64,
        /// Written to DRAM by the end, in whole bursts: what waits in the L2 or a DRAM controller then is not counted [bytes].
        dram_bytes_written: u64,
        /// Accesses of loads, and of atomics whose old values come back: those that the latency ledger explains [accesses].
        load_accesses: u64,
        /// Mean time of such an access from its issue to its release [core cycles].
        mean_latency: f64,
        /// Accesses that the coalescers made of loads, stores and atomics [accesses].
        memory_accesses: u64,
        /// Packets from the L1s to the L2 [packets].
        memory_requests: u64,
        /// The cycles as time on the simulated machine [seconds].
        seconds_simulated: f64,
    }
}

impl Totals {
    /// What `components` and `ledgers` come to over `cycles` on `machine`.
    pub fn new(
        machine: &Machine,
        cycles: u64,
        load_accesses: u64,
        ledgers: &Ledgers,
        components: &Components,
    ) -> Self {
        let (sm, l1) = (total(&components.sm), total(&components.l1));
        let (l2, dram) = (total(&components.l2), total(&components.dram));
        let burst = u64::from(machine.dram.burst_bytes());
        Totals {
            cycles,
            warp_instructions: sm.warp_instructions,
            thread_instructions: sm.thread_instructions,
            ipc: ratio(sm.warp_instructions, cycles),
            l1_hit_rate: l1.hit_rate(),
            l1_miss_rate: l1.miss_rate(),
            l2_read_miss_rate: l2.read_miss_rate(),
            dram_utilisation: dram.utilisation(),
            dram_bytes_read: dram.read_bursts * burst,
            dram_bytes_written: dram.write_bursts * burst,
            load_accesses,
            mean_latency: ratio(ledgers.latency.total(), load_accesses),
            memory_accesses: sm.load_accesses + sm.store_accesses + sm.atomic_accesses,
            memory_requests: components.request_network.packets,
            seconds_simulated: ratio(cycles, u64::from(machine.clocks.core_khz.get()) * 1000),
        }
    }

    /// DRAM traffic, reads and writes, over the simulated time [bytes per second].
    pub fn dram_bandwidth(&self) -> f64 {
        if self.seconds_simulated == 0.0 {
            return 0.0;
        }
        (self.dram_bytes_read + self.dram_bytes_written) as f64 / self.seconds_simulated
    }
}
