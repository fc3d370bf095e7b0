//! L1 and L2.

use serde::{Deserialize, Serialize};

use crate::config::bounded::{Bounded, Check};

/// L1 data cache of one SM: write-through; a line is reserved at the miss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L1Config {
    /// Capacity; equals sets x ways x line [bytes, 32..=1048576].
    pub size: Bounded<32, 1_048_576>,
    /// Sets; a power of two [count, 1..=4096].
    pub sets: Bounded<1, 4096>,
    /// Ways of a set [count, 1..=512].
    pub ways: Bounded<1, 512>,
    /// Line; a power of two [bytes, 32..=128].
    pub line: Bounded<32, 128>,
    /// Part of a line that is fetched on its own; a power of two, at most a line [bytes, 32..=128].
    pub sector: Bounded<32, 128>,
    /// How an address chooses its set.
    pub index: SetIndex,
    /// Which line of a set makes room.
    pub replacement: Replacement,
    /// Where global loads look first.
    pub global_loads: LoadsLook,
    /// Where local loads look first. Loads of constants always look here.
    pub local_loads: LoadsLook,
    /// What a store, other than to local memory, does to a line that is here.
    pub stores: StorePolicy,
    /// What a store to local memory does to a line that is here. It is written through to the L2 in any case.
    pub local_stores: StorePolicy,
    /// What a load that goes past this cache does to a line that is here.
    pub past_loads: PastLoads,
    /// What an acquire does to the lines here: that of a fence, a load or an atomic for the whole GPU or the system.
    pub acquires: Acquires,
    /// What hints about eviction (`.L1::..`, `.cs`, `.lu`) decide.
    pub hints: EvictionHints,
    /// Lines outstanding at once [entries, 1..=4096].
    ///
    /// A miss that finds none free stalls as `nomshrline`.
    pub mshr_entries: Bounded<1, 4096>,
    /// Accesses one entry serves, the first one included [accesses, 1..=64].
    ///
    /// An access to an outstanding line that finds none free stalls as `nomerger`.
    pub mshr_mergers: Bounded<1, 64>,
    /// Misses and stores waiting for the interconnect [packets, 1..=1024].
    ///
    /// An access that finds it full stalls as `missqueue`.
    pub miss_queue: Bounded<1, 1024>,
    /// From the coalescer to the tag lookup, one access a cycle [core cycles, 0..=256].
    ///
    /// A refused access stays at the end of this pipe.
    pub tag_latency: Bounded<0, 256>,
    /// From the tag lookup of a hit until its data can be used [core cycles, 1..=256].
    pub hit_latency: Bounded<1, 256>,
    /// From a line's arrival until the first access that waits for it has its data [core cycles, 1..=256].
    pub fill_latency: Bounded<1, 256>,
    /// Waiting accesses that get their data in one cycle once a line has arrived [accesses, 1..=64].
    ///
    /// An MSHR entry frees when its last access has been released.
    pub releases_per_cycle: Bounded<1, 64>,
}

/// How an address chooses its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetIndex {
    /// The low bits of the line address.
    Linear,
    /// The low bits of the line address, xored with every higher group of as many bits.
    Xor,
}

/// Which line of a set makes room. Lines reserved for an outstanding fill never do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replacement {
    /// An empty line, else the least recently used one.
    Lru,
    /// An empty line, else the least recently used clean one, else the least recently used one.
    LruCleanFirst,
    /// An empty line, else the one filled first.
    Fifo,
    /// An empty line, else any that was not used since every line of the set was.
    Nru,
}

/// Where loads look first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoadsLook {
    /// In the L1.
    Cached,
    /// In the L2, by the segments of `lsu.bypass_segment`.
    Bypass,
}

/// What a store does in the L1 on its way to the L2, to which it always goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StorePolicy {
    /// A line that is present is dropped.
    Evict,
    /// The sectors that are written are dropped. Those that are on their way serve the loads that wait for them and
    /// are dropped then.
    Drop,
    /// A line that is present is updated and stays; none is allocated.
    Update,
    /// A line is allocated, unless every way of its set is reserved. A mask says which bytes are valid, so
    /// that nothing is fetched before a load wants other bytes of the sector.
    Validate,
}

/// What a load that goes past the L1 does to a line there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PastLoads {
    /// Nothing.
    Keep,
    /// The line is dropped; sectors that are on their way are when they have served the loads that wait for them.
    Drop,
}

/// What an acquire does to the lines of the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Acquires {
    /// Nothing: what others have written is not seen there.
    Keep,
    /// All are dropped; those that are on their way are when they have served the loads that wait for them.
    Empty,
}

/// What hints about eviction decide in the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum EvictionHints {
    /// Nothing: every load is served as one without a hint.
    Ignored,
    /// What they say. A line that is to be evicted first is the next to make room. One that is to be evicted last is spared as
    /// long as the set has others. A load that is not to allocate takes what is here, and the rest goes past the L1.
    Followed {
        /// Lines of a set that can be spared; of more, the oldest is spared no longer [count, 1..=512].
        last_ways: Bounded<1, 512>,
    },
}

/// What the L2 slices do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum L2Mode {
    /// They cache: write-back, write-validate with byte masks.
    Cache,
    /// They keep nothing, as before compute capability 2.0: every access goes to DRAM by its sectors. Sets
    /// and ways are not used; an MSHR entry holds one read.
    PassThrough,
}

/// How an address chooses its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum SliceHash {
    /// Blocks of `interleave` bytes go round the slices.
    RoundRobin,
    /// Every round of blocks starts at a slice that a hash of the round's number chooses, so that no stride
    /// stays with a few slices.
    Hashed,
    /// Two slices that follow each other in their partition take turns at four blocks. Which two is drawn for every four blocks,
    /// so that a few of them can meet in one slice, and many spread evenly. Sixteen blocks belong to one partition, and the sixteen
    /// before or after them to the other one.
    Pairs {
        /// Rounds over all slices of a partition that are shuffled together [rounds, 1..=64].
        rounds: Bounded<1, 64>,
    },
}

/// Whether SMs share all slices, or half of them serve half of the SMs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum L2Partitions {
    /// Every slice serves every SM.
    One,
    /// GPCs, slices and channels belong to one of two partitions: slices and channels in turn, one slice a channel. A
    /// line's home is the slice of its channel. SMs of the other partition ask the slice beside it, which keeps copies,
    /// asks the home slice for what it lacks, and passes stores and atomics on.
    Two {
        /// The GPCs of the upper partition; the others belong to the lower one.
        upper: Vec<Bounded<0, 63>>,
        /// From one partition's slice to the other's, each way [L2 cycles, 1..=1023].
        latency: Bounded<1, 1023>,
        /// Requests on their way at once, to one slice [requests, 1..=1024].
        queue: Bounded<1, 1024>,
    },
}

impl L2Partitions {
    /// Partitions.
    pub fn count(&self) -> usize {
        1 + usize::from(matches!(self, L2Partitions::Two { .. }))
    }

    /// The GPCs of the upper partition, a bit each; `None` where there is one partition.
    pub fn upper_gpcs(&self) -> Option<u64> {
        match self {
            L2Partitions::One => None,
            L2Partitions::Two { upper, .. } => {
                Some(upper.iter().fold(0, |gpcs, gpc| gpcs | 1 << gpc.get()))
            }
        }
    }
}

/// Whether a slice merges reads of the same bytes by SMs of one GPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum L2Coalescer {
    /// It does not.
    None,
    /// Before its tags, a slice holds a read against those that come from the same GPC: one of the same bytes waits for
    /// the same reply, which leaves the slice once, for all of them.
    PerGpc {
        /// Reads that share a reply, the first one included [requests, 2..=16].
        requests: Bounded<2, 16>,
        /// Reads that others can join, at once; one that finds no entry is not held [entries, 1..=4096].
        entries: Bounded<1, 4096>,
        /// From there to the tag lookup, a part of `tag_latency` [L2 cycles, 0..=1023].
        latency: Bounded<0, 1023>,
    },
}

/// How long requests keep the way to a slice's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum DataPort {
    /// A request a cycle, whatever it reads or writes; with two partitions, one of either.
    Unlimited,
    /// As long as their bytes take. Requests of both partitions share it.
    Limited {
        /// Read in a cycle [bytes, 1..=1024].
        read: Bounded<1, 1024>,
        /// A store, for each sector of 32 bytes that it changes, and an atomic operation that changes every word of one
        /// [quarters of an L2 cycle, 1..=7].
        sector: Bounded<1, 7>,
        /// An atomic operation that changes a part of a sector; lanes that want one word take turns [quarters of an
        /// L2 cycle, 1..=7].
        part: Bounded<1, 7>,
        /// A store that changes a part of a sector, in addition: its masks [quarters of an L2 cycle, 0..=7].
        masks: Bounded<0, 7>,
    },
}

impl DataPort {
    /// What an atomic operation takes on a whole sector and on a part of one [quarters of an L2 cycle].
    pub fn atomic_work(&self) -> Option<(u8, u8)> {
        match self {
            DataPort::Unlimited => None,
            DataPort::Limited { sector, part, .. } => Some((sector.get() as u8, part.get() as u8)),
        }
    }
}

/// How much longer the way from an SM is to some slices than to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Distance {
    /// All ways are alike.
    Alike,
    /// The GPCs of a partition lie in the corners of a rectangle, in the order of their numbers, and its slices in
    /// between, in rows and columns.
    Corners {
        /// From one side to the other [L2 cycles, 0..=255].
        across: Bounded<0, 255>,
        /// From one end to the other [L2 cycles, 0..=255].
        along: Bounded<0, 255>,
        /// To the lines that are at home in the other partition, besides, wherever they are found
        /// [L2 cycles, 0..=255].
        copies: Bounded<0, 255>,
    },
}

impl Distance {
    /// The longest one [L2 cycles].
    pub fn longest(&self) -> usize {
        match self {
            Distance::Alike => 0,
            Distance::Corners { across, along, copies } => {
                across.size() + along.size() + copies.size()
            }
        }
    }
}

impl L2Coalescer {
    /// Reads that share a reply, at most.
    pub fn requests(&self) -> usize {
        match self {
            L2Coalescer::None => 1,
            L2Coalescer::PerGpc { requests, .. } => requests.size(),
        }
    }

    /// From the coalescer to the tag lookup [L2 cycles].
    pub fn latency(&self) -> u64 {
        match self {
            L2Coalescer::None => 0,
            L2Coalescer::PerGpc { latency, .. } => latency.cycles(),
        }
    }
}

/// Lines with sectors of 32 bytes that were written in part and of which the rest is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum PartialLines {
    /// As many as there are. The bytes that were written go to DRAM as they are.
    Unlimited,
    /// A slice has few. What such sectors lack is read from DRAM before they are written there.
    Limited {
        /// From so many on, stores make the slice read what the oldest lack and write them back [lines, 1..=65536].
        most: Bounded<1, 65_536>,
        /// Until so many are left, fewer than `most` [lines, 0..=65535].
        least: Bounded<0, 65_535>,
    },
}

/// The L2: `slices` of them, each as described.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L2Config {
    /// Whether the slices are a cache.
    pub mode: L2Mode,
    /// Slices; a multiple of the DRAM channels [count, 1..=256].
    pub slices: Bounded<1, 256>,
    /// Consecutive bytes in one slice before the next slice follows; a power of two [bytes, 32..=65536].
    pub interleave: Bounded<32, 65_536>,
    /// How an address chooses its slice.
    pub slice_hash: SliceHash,
    /// Whether SMs share all slices.
    pub partitions: L2Partitions,
    /// Whether reads of a GPC's SMs are made one.
    pub coalescer: L2Coalescer,
    /// Capacity of one slice; equals sets x ways x line [bytes, 32..=16777216].
    pub size: Bounded<32, 16_777_216>,
    /// Sets of one slice; a power of two [count, 1..=65536].
    pub sets: Bounded<1, 65_536>,
    /// Ways of a set [count, 1..=512].
    pub ways: Bounded<1, 512>,
    /// Line; a power of two [bytes, 32..=128].
    pub line: Bounded<32, 128>,
    /// Part of a line that is fetched on its own; a power of two, at most a line [bytes, 32..=128].
    pub sector: Bounded<32, 128>,
    /// How an address chooses its set.
    pub index: SetIndex,
    /// Which line of a set makes room.
    pub replacement: Replacement,
    /// Dirty ways that a set may have. A store that would exceed this writes the oldest dirty line back; atomics are not limited
    /// [ways, 1..=512].
    pub dirty_ways: Bounded<1, 512>,
    /// How many of a slice's lines may have sectors that were written in part.
    pub partial_lines: PartialLines,
    /// Misses outstanding at once in one slice. With two partitions a quarter of them, and the last way of a set, is kept from
    /// copies for what the other slice asks [entries, 1..=1024].
    pub mshr_entries: Bounded<1, 1024>,
    /// Requests one entry serves, the first one included [requests, 1..=64].
    pub mshr_mergers: Bounded<1, 64>,
    /// Requests of the interconnect waiting for the slice, besides those in the pipe to its tags, which
    /// holds one for each cycle of the longest way there [packets, 1..=1024].
    pub input_queue: Bounded<1, 1024>,
    /// From arrival to the tag lookup [L2 cycles, 0..=1023].
    pub tag_latency: Bounded<0, 1023>,
    /// What that takes longer where SM and slice lie far apart.
    pub distance: Distance,
    /// From the tag lookup, or from a line's arrival, to the reply network [L2 cycles, 1..=1023].
    pub data_latency: Bounded<1, 1023>,
    /// More of that for each sector of 32 bytes after a reply's first [L2 cycles, 0..=255].
    pub sector_latency: Bounded<0, 255>,
    /// How long a request keeps others from the data.
    pub data_port: DataPort,
    /// A sector is fetched from DRAM in requests of this size, each of which takes at least one burst; a
    /// power of two, at most a sector [bytes, 32..=128].
    pub fetch: Bounded<32, 128>,
    /// Fetch requests and writes of dirty bytes waiting for the DRAM controller: a line has two of these where bursts between
    /// them have nothing to write [requests, 6..=1024].
    pub miss_queue: Bounded<6, 1024>,
    /// Replies waiting for the reply network, besides `data_latency` of them in the data pipe
    /// [packets, 1..=1024].
    pub reply_queue: Bounded<1, 1024>,
}

/// The line size as a number of address bits.
pub fn line_bits(line: u32) -> u32 {
    line.trailing_zeros()
}

/// The rules of any set-associative cache: powers of two, and size = sets x ways x line.
pub fn geometry_check(size: u32, sets: u32, ways: u32, line: u32) -> Result<(), String> {
    for (name, value) in [("sets", sets), ("line", line)] {
        if !value.is_power_of_two() {
            return Err(format!("{name} ({value}) is not a power of two"));
        }
    }
    let product = u64::from(sets) * u64::from(ways) * u64::from(line);
    if product != u64::from(size) {
        return Err(format!(
            "sets ({sets}) x ways ({ways}) x line ({line}) = {product}, but size is {size}"
        ));
    }
    Ok(())
}

fn sector_check(sector: u32, line: u32) -> Result<(), String> {
    if !sector.is_power_of_two() || sector > line {
        return Err(format!(
            "sector ({sector}) is not a power of two of at most line ({line}) bytes"
        ));
    }
    Ok(())
}

impl Check for L1Config {
    fn check(&self) -> Result<(), String> {
        geometry_check(self.size.get(), self.sets.get(), self.ways.get(), self.line.get())?;
        sector_check(self.sector.get(), self.line.get())
    }
}

impl L2Config {
    fn check_partial_lines(&self) -> Result<(), String> {
        let PartialLines::Limited { most, least } = self.partial_lines else { return Ok(()) };
        let (most, least, queue) = (most.get(), least.get(), self.miss_queue.get());
        if least >= most {
            return Err(format!("partial_lines: least ({least}) is not below most ({most})"));
        }
        // A store may send two lines' bytes, each of which is read before.
        if queue < 16 {
            return Err(format!("miss_queue ({queue}) is below 16, which partial_lines needs"));
        }
        Ok(())
    }
}

impl Check for L2Config {
    fn check(&self) -> Result<(), String> {
        geometry_check(self.size.get(), self.sets.get(), self.ways.get(), self.line.get())
            .map_err(|why| {
                format!("{why}: all of one slice, of which there are {}", self.slices.get())
            })?;
        let interleave = self.interleave.get();
        if !interleave.is_power_of_two() {
            return Err(format!("interleave ({interleave}) is not a power of two"));
        }
        let (fetch, sector) = (self.fetch.get(), self.sector.get());
        sector_check(sector, self.line.get())?;
        if !fetch.is_power_of_two() || fetch > sector {
            return Err(format!(
                "fetch ({fetch}) is not a power of two of at most sector ({sector}) bytes"
            ));
        }
        self.check_partial_lines()
    }
}
