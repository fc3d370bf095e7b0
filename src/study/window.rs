//! A stream of executed CTAs, from one writer to several readers that each read all of it.
//!
//! What the slowest reader has read is forgotten. What it has not is kept, up to a number of bytes; then the
//! writer waits, and so do the readers that have come to the end of what there is. One of them all can
//! always go on: the writer while there is room, the slowest reader when there is none.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::permits::Worker;
use crate::error::{Error, Result};
use crate::isa::{Cta, Inst, Kernel, LaunchSource};
use crate::simulate::Facts;

/// The part of a stream that some reader has still to read.
struct Window {
    /// Bytes that may be kept.
    limit: usize,
    state: Mutex<State>,
    /// For readers: there is more to read, or the stream has ended.
    written: Condvar,
    /// For the writer: there is room, or no reader is left.
    room: Condvar,
}

struct State {
    items: VecDeque<Item>,
    /// Bytes of the items.
    bytes: usize,
    /// How many items came before these.
    forgotten: u64,
    /// How many items each reader has read; [`GONE`] when it has gone.
    read: Vec<u64>,
    /// How the stream ended, if it has.
    end: Option<Result<Arc<Facts>>>,
}

#[derive(Clone)]
enum Item {
    /// A launch begins.
    Launch(Arc<Kernel>),
    /// The next CTA of the launch.
    Cta(Arc<Cta>),
}

const GONE: u64 = u64::MAX;

/// A stream for one reader a worker of `readers`, with a window of `limit` bytes, or one CTA if that is larger.
pub fn stream<'p>(
    limit: usize,
    writer: Worker<'p>,
    readers: Vec<Worker<'p>>,
) -> (Writer<'p>, Vec<Reader<'p>>) {
    let state = State {
        items: VecDeque::new(),
        bytes: 0,
        forgotten: 0,
        read: vec![0; readers.len()],
        end: None,
    };
    let (written, room) = (Condvar::new(), Condvar::new());
    let window = Arc::new(Window { limit, state: Mutex::new(state), written, room });
    let reader = |(number, worker)| Reader { window: window.clone(), worker, number };
    let readers = readers.into_iter().enumerate().map(reader).collect();
    (Writer { window, worker: writer, scratch: Cta::default() }, readers)
}

impl Window {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole when something could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `ready`, without the worker's permit. What is ready must stay so.
    fn wait<'w>(
        &'w self,
        news: &Condvar,
        worker: &mut Worker,
        ready: impl Fn(&State) -> bool,
    ) -> MutexGuard<'w, State> {
        let mut state = self.lock();
        if ready(&state) {
            return state;
        }
        drop(state);
        worker.pause();
        state = self.lock();
        while !ready(&state) {
            state = news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        worker.start();
        self.lock()
    }
}

impl Item {
    fn bytes(&self) -> usize {
        match self {
            Item::Launch(kernel) => size_of::<Kernel>() + kernel.insts.len() * size_of::<Inst>(),
            Item::Cta(cta) => size_of::<Cta>() + cta.bytes(),
        }
    }
}

impl State {
    fn next(&self, reader: usize) -> Option<&Item> {
        self.items.get((self.read[reader] - self.forgotten) as usize)
    }

    fn slowest(&self) -> u64 {
        self.read.iter().copied().min().unwrap_or(GONE)
    }

    /// A reader has read so many items. Gives what no reader needs any more, to be freed without the lock.
    fn set_read(&mut self, reader: usize, read: u64) -> Vec<Item> {
        let was_slowest = self.read[reader] == self.forgotten;
        self.read[reader] = read;
        if !was_slowest {
            return Vec::new();
        }
        let count = (self.slowest() - self.forgotten).min(self.items.len() as u64);
        self.forgotten += count;
        let over: Vec<Item> = self.items.drain(..count as usize).collect();
        self.bytes -= over.iter().map(Item::bytes).sum::<usize>();
        over
    }
}

/// The end of a stream that executes.
pub struct Writer<'p> {
    window: Arc<Window>,
    worker: Worker<'p>,
    /// Storage that every CTA is executed into.
    scratch: Cta,
}

impl Writer<'_> {
    /// Waits for the right to run.
    pub fn start(&mut self) {
        self.worker.start();
    }

    /// Executes launches.
    ///
    /// # Errors
    /// That of a launch, and one that nobody hears of when no reader is left.
    pub fn run(&mut self, launches: &mut dyn LaunchSource) -> Result<()> {
        while let Some(kernel) = launches.begin()? {
            self.write(Item::Launch(kernel))?;
            while launches.next(&mut self.scratch)? {
                // A copy takes just the memory that is counted; the storage that it was executed into has
                // grown to that of the largest CTA.
                self.write(Item::Cta(Arc::new(self.scratch.clone())))?;
            }
        }
        Ok(())
    }

    fn write(&mut self, item: Item) -> Result<()> {
        let (bytes, limit) = (item.bytes(), self.window.limit);
        let fits = |state: &State, limit| {
            state.items.is_empty() || state.bytes.saturating_add(bytes) <= limit
        };
        if !fits(&self.window.lock(), limit) {
            // Once full, not before a half is read: a change of turns costs time.
            let ready = |state: &State| fits(state, limit / 2) || state.slowest() == GONE;
            drop(self.window.wait(&self.window.room, &mut self.worker, ready));
        }
        let mut state = self.window.lock();
        if state.slowest() == GONE {
            return Err(Error::internal("every simulation of the workload has ended"));
        }
        state.bytes += bytes;
        state.items.push_back(item);
        self.window.written.notify_all();
        Ok(())
    }

    /// Ends the stream.
    pub fn end(self, end: Result<Facts>) {
        self.window.lock().end = Some(end.map(Arc::new));
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        let panicked = || Err(Error::internal("the execution of the workload broke off"));
        self.window.lock().end.get_or_insert_with(panicked);
        self.window.written.notify_all();
    }
}

/// An end of a stream that simulates: the launches that were written.
pub struct Reader<'p> {
    window: Arc<Window>,
    worker: Worker<'p>,
    number: usize,
}

impl Reader<'_> {
    /// Waits for the right to run.
    pub fn start(&mut self) {
        self.worker.start();
    }

    /// What a report says of the functional part. To be asked for after the last launch.
    ///
    /// # Errors
    /// Why the stream ended before its time.
    pub fn facts(&self) -> Result<Arc<Facts>> {
        let end = self.window.lock().end.clone();
        end.expect("there is no further launch")
    }

    /// The next item; `None` at the end.
    fn look(&mut self) -> Result<Option<Item>> {
        let number = self.number;
        let ready = |state: &State| state.next(number).is_some() || state.end.is_some();
        let state = self.window.wait(&self.window.written, &mut self.worker, ready);
        match (state.next(number), &state.end) {
            (Some(item), _) => Ok(Some(item.clone())),
            (None, Some(Err(error))) => Err(error.clone()),
            (None, _) => Ok(None),
        }
    }

    /// Leaves the item that was looked at behind.
    fn step(&mut self) {
        let read = self.window.lock().read[self.number] + 1;
        self.move_to(read);
    }

    fn move_to(&mut self, read: u64) {
        let over = self.window.lock().set_read(self.number, read);
        if !over.is_empty() || read == GONE {
            self.window.room.notify_one();
        }
    }
}

impl LaunchSource for Reader<'_> {
    /// # Errors
    /// Why the stream ended before its time.
    fn begin(&mut self) -> Result<Option<Arc<Kernel>>> {
        loop {
            match self.look()? {
                None => return Ok(None),
                Some(Item::Launch(kernel)) => {
                    self.step();
                    return Ok(Some(kernel));
                }
                Some(Item::Cta(_)) => self.step(),
            }
        }
    }

    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        let Some(Item::Cta(next)) = self.look()? else { return Ok(false) };
        cta.copy_from(&next);
        self.step();
        Ok(true)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.move_to(GONE);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::thread;

    use super::*;
    use crate::config::machine::InstructionSet;
    use crate::isa::{CtaSource, OneLaunch};
    use crate::study::permits::Permits;
    use crate::workload::Verdict;

    /// CTAs of one warp, which grow by an instruction each, the last first.
    struct Growing {
        kernel: Kernel,
        left: u64,
    }

    impl Growing {
        fn new(ctas: u64) -> Self {
            let kernel = Kernel {
                name: "growing".to_owned(),
                insts: Vec::new(),
                regs: 0,
                registers_per_thread: 1,
                shared_bytes: 0,
                local_bytes: 0,
                cta_threads: 32,
                ctas,
                buffers: Vec::new(),
                overlaps_next: false,
            };
            Growing { kernel, left: ctas }
        }
    }

    impl CtaSource for Growing {
        fn kernel(&self) -> &Kernel {
            &self.kernel
        }

        fn next(&mut self, cta: &mut Cta) -> Result<bool> {
            if self.left == 0 {
                return Ok(false);
            }
            cta.reset(1);
            (0..self.left).for_each(|_| cta.warps[0].push(0, !0));
            self.left -= 1;
            Ok(true)
        }
    }

    fn facts() -> Facts {
        Facts {
            versions: BTreeMap::new(),
            verdict: Verdict::NOTHING_TO_CHECK,
            prints: 0,
            instructions: InstructionSet::Ptx,
            sources: BTreeMap::new(),
            buffers: BTreeMap::new(),
        }
    }

    /// Reads the stream to its end; gives the instructions of each CTA.
    fn read_all(mut reader: Reader) -> Result<Vec<u64>> {
        reader.start();
        let mut seen = Vec::new();
        let mut cta = Cta::default();
        while reader.begin()?.is_some() {
            while reader.next(&mut cta)? {
                let state = reader.window.lock();
                assert!(state.bytes <= reader.window.limit || state.items.len() == 1);
                seen.push(cta.warps[0].instructions());
            }
        }
        assert_eq!(*reader.facts()?, facts());
        Ok(seen)
    }

    #[test]
    fn every_reader_reads_all_and_one_that_leaves_holds_nobody_up() {
        let want: Vec<u64> = (1..=100).rev().chain((1..=3).rev()).collect();
        for (limit, jobs) in [(0, 1), (0, 4), (3000, 1), (3000, 2), (usize::MAX, 1), (1 << 20, 3)] {
            let permits = Permits::new(jobs);
            let workers = (1..5).map(|rank| permits.worker((0, rank))).collect();
            let (mut writer, mut readers) = stream(limit, permits.worker((0, 0)), workers);
            thread::scope(|scope| {
                scope.spawn(|| {
                    writer.start();
                    for ctas in [100, 3] {
                        writer.run(&mut OneLaunch::new(&mut Growing::new(ctas))).unwrap();
                    }
                    writer.end(Ok(facts()));
                });
                let mut early = readers.remove(0);
                scope.spawn(move || {
                    early.start();
                    assert!(early.begin().unwrap().is_some());
                    assert_eq!(early.next(&mut Cta::default()), Ok(true));
                });
                for reader in readers {
                    scope.spawn(|| assert_eq!(read_all(reader), Ok(want.clone())));
                }
            });
        }
    }

    #[test]
    fn a_writer_that_breaks_off_is_an_error_for_its_readers() {
        let permits = Permits::new(1);
        let workers = vec![permits.worker((0, 1))];
        let (mut writer, mut readers) = stream(0, permits.worker((0, 0)), workers);
        thread::scope(|scope| {
            let reader = scope.spawn(|| read_all(readers.remove(0)));
            writer.start();
            writer.write(Item::Launch(Arc::new(Growing::new(1).kernel))).unwrap();
            drop(writer);
            let error = reader.join().unwrap().unwrap_err();
            assert_eq!(error, Error::internal("the execution of the workload broke off"));
        });
    }

    #[test]
    fn a_writer_without_readers_stops() {
        let permits = Permits::new(1);
        let workers = vec![permits.worker((0, 1))];
        let (mut writer, readers) = stream(1 << 20, permits.worker((0, 0)), workers);
        drop(readers);
        writer.start();
        assert!(writer.run(&mut OneLaunch::new(&mut Growing::new(1))).is_err());
    }
}
