//! The DRAM channels.

use serde::{Deserialize, Serialize};

use crate::config::bounded::{Bounded, Check};

/// The memory behind the L2: `channels` controllers, each as described.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramConfig {
    /// Controllers [count, 1..=256].
    pub channels: Bounded<1, 256>,
    /// Width of one channel's data bus [bytes, 1..=1024].
    pub bus_bytes: Bounded<1, 1024>,
    /// Transfers on the bus in one command clock: 4 for GDDR5, 2 for DDR3, GDDR3 and HBM [count, 1..=8].
    pub data_rate: Bounded<1, 8>,
    /// Transfers of one burst; a multiple of `data_rate` [count, 1..=32].
    pub burst_length: Bounded<1, 32>,
    /// Banks of one channel [count, 1..=64].
    pub banks: Bounded<1, 64>,
    /// Bank groups of one channel; divides `banks` [count, 1..=16].
    pub bank_groups: Bounded<1, 16>,
    /// Which bits of the bank number are its group.
    pub group_bits: GroupBits,
    /// One row of one bank, over all chips of the channel; a power of two [bytes, 256..=65536].
    pub row_bytes: Bounded<256, 65_536>,
    /// Where row (R), bank (B), column (C) and byte-in-burst (S) sit in the address within a channel.
    ///
    /// From the highest bit to the lowest; dots and spaces are ignored. The pattern covers `log2` of
    /// `banks` B, `log2` of row bytes C and S together; row bits above the pattern continue R. S are
    /// the lowest bits. An address bit marked 0 is ignored.
    pub mapping: String,
    /// Requests waiting in one controller, reads and writes together [requests, 1..=1024].
    pub queue: Bounded<1, 1024>,
    /// From the L2's miss to the controller's queue, and from the last data to the L2, taken together
    /// [command clocks, 0..=1023].
    pub interface_latency: Bounded<0, 1023>,
    /// Which request goes first.
    pub scheduler: DramScheduler,
    /// When a row is closed.
    pub row_policy: RowPolicy,
    /// Whether writes wait to go in batches.
    pub writes: WriteDrain,
    /// What a refresh keeps from working.
    pub refresh: Refreshes,
    /// The timing of the chips.
    pub timing: DramTiming,
}

/// Which bits of the bank number are its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupBits {
    /// The low ones: neighbouring banks lie in different groups.
    Low,
    /// The high ones: neighbouring banks lie in the same group.
    High,
}

/// Which request goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum DramScheduler {
    /// In the order of arrival.
    Fcfs,
    /// First ready: requests to open rows before older ones, at most `cap` times past an older request.
    FrFcfs {
        /// Column accesses that may pass the oldest request of the same bank; `banks` times as many
        /// may pass the oldest of the channel [count, 1..=1024].
        cap: Bounded<1, 1024>,
    },
}

/// When a row is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowPolicy {
    /// When another row of the bank is wanted.
    Open,
    /// As soon as no waiting request wants it.
    Closed,
}

/// Whether writes wait to go in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum WriteDrain {
    /// Reads and writes compete as equals.
    Mixed,
    /// Writes wait until `high` are queued, and then go until `low` are left. While the channel is quiet they go as they
    /// come: no read waits, and for `idle` clocks no request came and no read went.
    Batched {
        /// Writes that start a batch [requests, 1..=1024].
        high: Bounded<1, 1024>,
        /// Writes that end a batch [requests, 0..=1023].
        low: Bounded<0, 1023>,
        /// How long it takes a channel without reads to be quiet; 0: it is at once [command clocks, 0..=65535].
        idle: Bounded<0, 65_535>,
    },
}

/// What a refresh keeps from working.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refreshes {
    /// All banks at once, once every tREFI, for tRFC.
    AllBanks,
    /// One bank after the other: each once every tREFI, for tRFC, while the others work. Starts are evenly spaced.
    PerBank,
}

/// Timing of the chips. Names are JEDEC's; all in command clocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramTiming {
    /// tRCD: activate to column command, same bank [clocks, 1..=255].
    pub rcd: Bounded<1, 255>,
    /// tRP: precharge to activate, same bank [clocks, 1..=255].
    pub rp: Bounded<1, 255>,
    /// tRAS: activate to precharge, same bank [clocks, 1..=255].
    pub ras: Bounded<1, 255>,
    /// tRC: activate to activate, same bank [clocks, 1..=255].
    pub rc: Bounded<1, 255>,
    /// tRRD: activate to activate, different banks [clocks, 1..=255].
    pub rrd: Bounded<1, 255>,
    /// tFAW: a window that holds at most four activates; 0 for none [clocks, 0..=255].
    pub faw: Bounded<0, 255>,
    /// CL: read command to first data [clocks, 1..=255].
    pub cl: Bounded<1, 255>,
    /// CWL: write command to first data [clocks, 1..=255].
    pub cwl: Bounded<1, 255>,
    /// tCCD_S: column command to column command, different bank groups [clocks, 1..=255].
    pub ccd_s: Bounded<1, 255>,
    /// tCCD_L: column command to column command, same bank group [clocks, 1..=255].
    pub ccd_l: Bounded<1, 255>,
    /// tWTR: last write data to read command [clocks, 1..=255].
    pub wtr: Bounded<1, 255>,
    /// tRTP: read command to precharge, same bank [clocks, 1..=255].
    pub rtp: Bounded<1, 255>,
    /// tWR: last write data to precharge, same bank [clocks, 1..=255].
    pub wr: Bounded<1, 255>,
    /// Bus turnaround: clocks the data bus rests between a read's data and a write's [clocks, 0..=255].
    pub turnaround: Bounded<0, 255>,
    /// tREFI: from one refresh of a bank to its next; 0 for none [clocks, 0..=65535].
    pub refi: Bounded<0, 65_535>,
    /// tRFC: length of a refresh [clocks, 0..=4095].
    pub rfc: Bounded<0, 4095>,
}

impl DramConfig {
    /// Bytes of one burst of one channel.
    pub fn burst_bytes(&self) -> u32 {
        self.bus_bytes.get() * self.burst_length.get()
    }

    /// Bytes of an aligned block that is sure to lie in one row of one bank: what the bits below
    /// the lowest B or R span.
    pub fn block_bytes(&self) -> u64 {
        let bits = self.mapping.chars().rev().filter(|c| !matches!(c, '.' | ' '));
        let within = bits.take_while(|c| matches!(c, 'S' | 'C' | '0')).count();
        1u64.checked_shl(within as u32).unwrap_or(u64::MAX)
    }

    /// The least clocks from one refresh to the next in which a bank does something for certain: it closes after its
    /// last column command, is refreshed, opens and gets another one.
    fn least_refi(&self) -> u64 {
        let DramTiming { rcd, rp, ras, rc, rrd, faw, cwl, rtp, wr, rfc, .. } = &self.timing;
        let written = rcd.cycles() + cwl.cycles() + self.burst_clocks() + wr.cycles();
        let open = written.max(rcd.cycles() + rtp.cycles()).max(ras.cycles());
        // Other banks were opened just before.
        let others = rrd.cycles().max(faw.cycles());
        // A clock for each of the commands that close and refresh.
        (open + rp.cycles()).max(rc.cycles()) + others + rfc.cycles() + rcd.cycles() + 2
    }

    /// The clocks that a request for `bytes` bytes may take, at most: behind a full queue, where each burst opens a row and comes after
    /// what else the bus and the bank have to heed, and refreshes take a half, or let one burst through each.
    pub fn most_clocks(&self, bytes: u32) -> u64 {
        let DramTiming {
            rcd,
            rp,
            ras,
            rc,
            rrd,
            faw,
            cl,
            cwl,
            ccd_s,
            ccd_l,
            wtr,
            rtp,
            wr,
            turnaround,
            refi,
            ..
        } = &self.timing;
        let all = [rcd, rp, ras, rc, rrd, cl, cwl, ccd_s, ccd_l, wtr, rtp, wr];
        let all: u64 = all.into_iter().map(|clocks| clocks.cycles()).sum();
        let alone = all + faw.cycles() + turnaround.cycles() + self.burst_clocks();
        let burst = match refi.cycles() {
            0 => alone,
            refi if refi < 2 * self.least_refi() => refi.max(alone),
            _ => 2 * alone,
        };
        let before = self.queue.cycles() + self.interface_latency.cycles() / 2;
        (before + 1) * u64::from(bytes / self.burst_bytes()).max(1) * burst
    }

    /// Command clocks that one burst keeps the data bus.
    pub fn burst_clocks(&self) -> u64 {
        u64::from(self.burst_length.get() / self.data_rate.get())
    }
}

impl Check for DramConfig {
    fn check(&self) -> Result<(), String> {
        let (banks, groups) = (self.banks.get(), self.bank_groups.get());
        if !banks.is_power_of_two() || !groups.is_power_of_two() || banks % groups != 0 {
            return Err(format!(
                "banks ({banks}) and bank_groups ({groups}) must be powers of two, \
                 and bank_groups must divide banks"
            ));
        }
        let (burst, rate) = (self.burst_length.get(), self.data_rate.get());
        if burst % rate != 0 {
            return Err(format!("burst_length ({burst}) is not a multiple of data_rate ({rate})"));
        }
        for (name, value) in
            [("row_bytes", self.row_bytes.get()), ("bus_bytes x burst_length", self.burst_bytes())]
        {
            if !value.is_power_of_two() {
                return Err(format!("{name} ({value}) is not a power of two"));
            }
        }
        let of = |letter| self.mapping.chars().filter(|&c| c == letter).count() as u32;
        if let Some(stray) = self.mapping.chars().find(|c| !"RBCS0. ".contains(*c)) {
            return Err(format!(
                "mapping has '{stray}'; it may hold R, B, C, S, 0, dots and spaces"
            ));
        }
        let mut bits = self.mapping.chars().filter(|c| !matches!(c, '.' | ' '));
        if bits.clone().count() > 64 {
            return Err("mapping is longer than the 64 bits of an address".into());
        }
        if bits.any(|c| c == 'S') && bits.any(|c| c != 'S') {
            return Err("mapping has S that are not its lowest bits".into());
        }
        if of('B') != banks.trailing_zeros() {
            return Err(format!(
                "mapping has {} B, but banks ({banks}) needs {}",
                of('B'),
                banks.trailing_zeros()
            ));
        }
        if of('S') != self.burst_bytes().trailing_zeros() {
            return Err(format!(
                "mapping has {} S, but a burst of {} bytes needs {}",
                of('S'),
                self.burst_bytes(),
                self.burst_bytes().trailing_zeros()
            ));
        }
        let columns = self.row_bytes.get().trailing_zeros();
        if of('C') + of('S') != columns {
            return Err(format!(
                "mapping has {} C and S, but row_bytes ({}) needs {columns}",
                of('C') + of('S'),
                self.row_bytes.get()
            ));
        }
        if let WriteDrain::Batched { high, low, .. } = self.writes {
            if low.get() >= high.get() {
                return Err(format!(
                    "writes: low ({}) is not below high ({})",
                    low.get(),
                    high.get()
                ));
            }
            if high.get() > self.queue.get() {
                return Err(format!(
                    "writes: high ({}) exceeds queue ({})",
                    high.get(),
                    self.queue.get()
                ));
            }
        }
        if self.timing.rc.get() < self.timing.ras.get() {
            return Err(format!(
                "timing.rc ({}) is below timing.ras ({})",
                self.timing.rc.get(),
                self.timing.ras.get()
            ));
        }
        let (refi, least) = (u64::from(self.timing.refi.get()), self.least_refi());
        if refi > 0 && refi < least {
            return Err(format!(
                "timing.refi ({refi}) leaves no time between refreshes: with timing.rfc ({}), \
                 a bank needs {least} clocks",
                self.timing.rfc.get()
            ));
        }
        Ok(())
    }
}
