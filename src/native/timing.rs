//! How long launches take on the GPU.
//!
//! A pass is all launches of a workload in order, with an event before the first and behind each. While the pass is
//! being asked for, the GPU is kept busy, so that no event waits for the host: what lies between two events is the
//! GPU's own time. It still holds the cost of a launch, which is measured with an empty kernel and stated. A launch costs more
//! while others wait behind it (on an H200 0.5 to 0.7 us with ten and more), so empty kernels are launched as many at a time as
//! the workload launches its own, and each launch is compared with the empty one in its place.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::device::{Allocation, Device, Event, Function, Module};
use super::prepare::Prepared;
use super::report::Times;
use crate::error::Result;
use crate::workload::PtxSource;

/// The kernels of `helpers.ptx`, compiled.
pub struct Helpers<'d> {
    module: Module<'d>,
}

/// How the flush kernel is launched: enough threads to fill any GPU.
const FLUSH_GRID: [u32; 3] = [1024, 1, 1];
const FLUSH_BLOCK: [u32; 3] = [256, 1, 1];

/// Time that the host has for each launch that it asks for before the GPU gets to it, at first; and at most, where it takes longer.
const ASKING: Duration = Duration::from_micros(8);
const MOST_ASKING: Duration = Duration::from_micros(128);

/// Launches that the driver takes before it makes the host wait; the GPU need not be kept busy for more.
const QUEUE: usize = 500;

/// The clock is measured over this time.
const CLOCK_TIME: Duration = Duration::from_millis(4);

impl<'d> Helpers<'d> {
    /// Compiles them.
    pub fn load(device: &'d Device) -> Result<Self> {
        let path = PathBuf::from("src/native/helpers.ptx");
        let text = include_str!("helpers.ptx").to_owned();
        Ok(Helpers { module: device.load(&PtxSource { path, text })? })
    }
}

/// Measures on one GPU.
pub struct Stopwatch<'d, 'h> {
    device: &'d Device,
    empty: Function<'h>,
    spin: Function<'h>,
    flush: Function<'h>,
    /// Cycles and nanoseconds that `spin` took.
    spun: Allocation<'d>,
    /// Zeros, more than the L2 holds.
    zeros: Allocation<'d>,
    zero_bytes: u64,
}

/// What the caches hold when a pass begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caches {
    /// Nothing of the workload.
    Cold,
    /// What copying the buffers to their place left there.
    Warm,
}

/// How many passes are made.
#[derive(Clone, Copy, Debug)]
pub struct Passes {
    /// Passes that are not counted.
    pub warm_up: u32,
    /// Passes that are counted, at most.
    pub repeats: u32,
    /// No more passes after this time, once there are three.
    pub time: Duration,
}

impl<'d, 'h> Stopwatch<'d, 'h> {
    /// Takes memory of `l2_bytes` several times over.
    pub fn new(device: &'d Device, helpers: &'h Helpers<'d>, l2_bytes: u64) -> Result<Self> {
        // The hash of addresses need not be even: three times the L2 leaves nothing of what was there.
        let zero_bytes = 3 * l2_bytes.max(1 << 20);
        let mut zeros = device.allocate(zero_bytes as usize)?;
        zeros.clear()?;
        let function = |name| helpers.module.function(name, 0);
        Ok(Stopwatch {
            device,
            empty: function("gsim_empty")?,
            spin: function("gsim_spin")?,
            flush: function("gsim_flush")?,
            spun: device.allocate(16)?,
            zeros,
            zero_bytes,
        })
    }

    /// Keeps the GPU busy for a while.
    fn spin(&self, time: Duration) -> Result<()> {
        let nanoseconds = time.as_nanos() as u64;
        let mut args =
            [nanoseconds.to_le_bytes().to_vec(), self.spun.address().to_le_bytes().to_vec()];
        // SAFETY: the parameters of `spin`; it stores 16 bytes at the address.
        unsafe { self.spin.launch(None, [1; 3], [1; 3], 0, &mut args) }
    }

    fn flush(&self) -> Result<()> {
        let count = self.zero_bytes / 16;
        let mut args = [self.zeros.address().to_le_bytes().to_vec(), count.to_le_bytes().to_vec()];
        // SAFETY: the parameters of `flush`; it reads as many bytes as the allocation has.
        unsafe { self.flush.launch(None, FLUSH_GRID, FLUSH_BLOCK, 0, &mut args) }
    }

    /// The clock of the SMs `[MHz]`.
    pub fn clock_mhz(&self) -> Result<f64> {
        self.spin(CLOCK_TIME)?;
        self.device.synchronize()?;
        let mut spun = [0; 16];
        self.spun.read(&mut spun)?;
        let (words, _) = spun.as_chunks::<8>();
        let [cycles, nanoseconds] = [words[0], words[1]].map(u64::from_le_bytes);
        Ok(cycles as f64 * 1e3 / nanoseconds as f64)
    }

    /// From one event to the next with an empty kernel of one warp between them, for each of so many in a row `[us]`.
    pub fn empty(&self, passes: Passes, launches: usize) -> Result<Vec<Times>> {
        let samples = self.passes(passes, launches, &mut |step| match step {
            Step::Begin => Ok(()),
            // SAFETY: `empty` has no parameters and accesses nothing.
            Step::Launch(_) => unsafe { self.empty.launch(None, [1; 3], [32, 1, 1], 0, &mut []) },
        })?;
        Ok(samples.iter().map(|samples| Times::of(samples)).collect())
    }

    /// The times of every step `[us]`, of those that are not to be timed as well.
    pub fn workload(
        &self,
        prepared: &mut Prepared,
        caches: Caches,
        passes: Passes,
    ) -> Result<Vec<Times>> {
        let launches = prepared.len();
        let samples = self.passes(passes, launches, &mut |step| match step {
            Step::Begin => {
                prepared.restore()?;
                match caches {
                    Caches::Cold => self.flush(),
                    Caches::Warm => Ok(()),
                }
            }
            Step::Launch(number) => {
                prepared.launch(number)?;
                match caches {
                    // What only makes data leaves nothing in the caches, as in gsim. It comes before what is timed, or behind.
                    Caches::Cold if !prepared.is_timed(number) => self.flush(),
                    _ => Ok(()),
                }
            }
        })?;
        Ok(samples.iter().map(|samples| Times::of(samples)).collect())
    }

    /// All launches once, with nothing in the caches before the first.
    pub fn once(&self, prepared: &mut Prepared) -> Result<()> {
        prepared.restore()?;
        self.flush()?;
        for number in 0..prepared.len() {
            prepared.launch(number)?;
        }
        self.device.synchronize()
    }

    /// Makes passes; gives the samples of each launch.
    fn passes(
        &self,
        passes: Passes,
        launches: usize,
        step: &mut dyn FnMut(Step) -> Result<()>,
    ) -> Result<Vec<Vec<f64>>> {
        let events = (0..=launches).map(|_| self.device.event()).collect::<Result<Vec<Event>>>()?;
        let mut samples = vec![Vec::new(); launches];
        let started = Instant::now();
        let mut asking = ASKING;
        let mut made = 0;
        while made < passes.warm_up + passes.repeats {
            if made >= passes.warm_up + 3 && started.elapsed() > passes.time {
                break;
            }
            step(Step::Begin)?;
            let spinning = asking * (launches.min(QUEUE) as u32 + 2);
            let asked = Instant::now();
            self.spin(spinning)?;
            events[0].record()?;
            for number in 0..launches {
                step(Step::Launch(number))?;
                events[number + 1].record()?;
            }
            // The GPU has waited for a host that was slower, unless there are more launches than the driver takes.
            let is_late = launches <= QUEUE && asked.elapsed() > spinning;
            self.device.synchronize()?;
            if is_late && asking < MOST_ASKING {
                asking *= 2;
                continue;
            }
            made += 1;
            if made <= passes.warm_up {
                continue;
            }
            for (number, samples) in samples.iter_mut().enumerate() {
                samples.push(events[number + 1].since(&events[number])?);
            }
        }
        Ok(samples)
    }
}

/// What a pass is made of.
enum Step {
    /// Before the first event.
    Begin,
    /// The launch of this number.
    Launch(usize),
}
