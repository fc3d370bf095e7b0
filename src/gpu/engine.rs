//! The engine: owns every component, advances time, hands CTAs to SMs.

use std::num::NonZeroU32;
use std::sync::Mutex;

use super::books::Books;
use super::clocks::Clocks;
use super::memory::{Hub, Memory, Partition};
use super::sides::Sides;
use super::sm_side::{ActiveNodes, Launch, Node, Requests, SmSide};
use super::statistics::KernelStatistics;
use super::threads::{Ahead, Cores, Enough, NO_PANIC, PARTS, Pace, Workers};
use super::watch::{Progress, Watch};
use crate::config::Machine;
use crate::error::Result;
use crate::isa::LaunchSource;

/// How time advances. The results are the same either way; only the speed differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stepping {
    /// Cycles in which nothing can happen are skipped.
    #[default]
    SkipAhead,
    /// As [`Stepping::SkipAhead`], by so many threads, where sharing is found to pay.
    Threads(NonZeroU32),
    /// As [`Stepping::Threads`], with all shared that can be, whatever it costs: for tests, in which it must not depend on the
    /// time whether threads meet.
    AllShared(NonZeroU32),
    /// Every component is ticked in every cycle, and finds out anew what it knew before.
    EveryCycle,
}

impl Stepping {
    /// By `threads` threads; 0 counts as 1.
    pub fn threads(threads: u32) -> Self {
        match NonZeroU32::new(threads) {
            Some(threads) if threads.get() > 1 => Stepping::Threads(threads),
            _ => Stepping::SkipAhead,
        }
    }
}

/// A GPU whose sets of ports have so many words. Kernels run one after another, or at the same time; the L2 and the DRAM rows
/// keep their state between them.
pub struct Engine<const WORDS: usize> {
    stepping: Stepping,
    parts: Parts<WORDS>,
    /// The SM that is asked first for the next CTA.
    turn: usize,
    /// Whether threads share a phase.
    pace: Pace,
    books: Books,
}

/// Every part of a GPU.
struct Parts<const WORDS: usize> {
    nodes: Box<[Mutex<Node>]>,
    requests: Mutex<Requests<WORDS>>,
    partitions: Box<[Mutex<Partition>]>,
    hub: Mutex<Hub<WORDS>>,
}

impl<const WORDS: usize> Engine<WORDS> {
    /// An idle GPU.
    pub fn new(machine: &Machine, stepping: Stepping) -> Self {
        let mut parts = Parts::new(machine, stepping);
        let mut active = ActiveNodes::new(0, parts.nodes.len());
        let books = Books::new(machine, &parts.lend().sides(&mut active));
        let pace = match stepping {
            Stepping::AllShared(_) => Pace::unasked(),
            _ => Pace::new(),
        };
        Engine { stepping, parts, turn: 0, pace, books }
    }

    /// From now on it is counted what warps do at each line of a kernel's source.
    pub fn count_by_line(&mut self) {
        let nodes = self.parts.nodes.iter_mut();
        nodes.for_each(|node| node.get_mut().expect(NO_PANIC).sm.count_by_instruction());
    }

    /// Runs kernels, each from its first CTA to its last acknowledged store, one after another but for those that overlap. The L1s
    /// are empty when a kernel starts, or the first of several at the same time.
    ///
    /// `observe` is called every few thousand cycles, and `ended` of each launch, or of several at the same time, as it ends.
    ///
    /// # Errors
    /// When a CTA does not fit on an SM, when the source fails, when nothing can go on, and when a
    /// ledger does not sum.
    pub fn run(
        &mut self,
        launches: &mut dyn LaunchSource,
        observe: &mut dyn FnMut(Progress),
        ended: &mut dyn FnMut(KernelStatistics),
    ) -> Result<()> {
        match self.stepping {
            Stepping::Threads(threads) | Stepping::AllShared(threads) => {
                self.run_shared(launches, threads, observe, ended)
            }
            Stepping::SkipAhead | Stepping::EveryCycle => self.run_alone(launches, observe, ended),
        }
    }

    /// As [`Engine::run`], on this thread.
    fn run_alone(
        &mut self,
        launches: &mut dyn LaunchSource,
        observe: &mut dyn FnMut(Progress),
        ended: &mut dyn FnMut(KernelStatistics),
    ) -> Result<()> {
        let every_cycle = self.stepping == Stepping::EveryCycle;
        let mut all = self.parts.lend();
        let mut begun = 0;
        while let Some(kernel) = launches.begin()? {
            let mut active = ActiveNodes::new(self.turn, all.nodes.len());
            let mut sides = all.sides(&mut active);
            let books = &self.books;
            let mut launch = Launch::new(&mut *launches, kernel, books.machine(), books.now())?;
            books.open(&launch, &mut sides);
            let mut watch = Watch::new(books, begun, observe);
            while launch.has_more() || !sides.sm_side.is_idle() {
                if every_cycle { sides.cycle(&mut launch) } else { sides.window(&mut launch) }?;
                watch.look(&sides, &launch)?;
            }
            let end = sides.sm_side.end(&launch);
            let ran = launch.into_kernels();
            begun += ran.len();
            ended(self.books.close(&ran, end, &mut sides)?);
            self.turn = active.turn;
        }
        Ok(())
    }

    /// As [`Engine::run`], by `threads` threads.
    fn run_shared(
        &mut self,
        launches: &mut dyn LaunchSource,
        threads: NonZeroU32,
        observe: &mut dyn FnMut(Progress),
        ended: &mut dyn FnMut(KernelStatistics),
    ) -> Result<()> {
        let Engine { stepping, parts, turn, pace, books } = self;
        let enough = match stepping {
            Stepping::AllShared(_) => Enough::ANYTHING,
            _ => Enough::TO_PAY,
        };
        let memory = (&parts.partitions[..], &parts.hub);
        let threads = threads.get() as usize;
        let ahead = Ahead::new(launches, parts.nodes.len());
        let workers = Workers::new(&parts.nodes, &parts.requests, memory, ahead, (threads, enough));
        let cores = Cores::beside_leader();
        std::thread::scope(|scope| {
            let _dismissal = workers.pool.dismissal();
            for thread in 1..threads {
                let (workers, cores) = (&workers, &cores);
                scope.spawn(move || {
                    cores.settle();
                    workers.help(thread);
                });
            }
            cores.wait_for(threads - 1);
            let mut begun = 0;
            let mut launches = &workers;
            while let Some(kernel) = launches.begin()? {
                let mut active = ActiveNodes::new(*turn, parts.nodes.len());
                let mut all = workers.lock();
                let mut launch = Launch::new(&mut launches, kernel, books.machine(), books.now())?;
                books.open(&launch, &mut all.sides(&mut active));
                let mut watch = Watch::new(books, begun, observe);
                pace.begin(all.sides(&mut active).sm_side.retired());
                loop {
                    let mut sides = all.sides(&mut active);
                    if !launch.has_more() && sides.sm_side.is_idle() {
                        break;
                    }
                    // Alone, each side goes on by all that both together may.
                    let mut phases = PARTS as u32;
                    if pace.ask(|| sides.is_worth_sharing(&launch)) {
                        drop(all);
                        phases = workers.advance(pace.phases(), &mut launch, &mut active)?;
                        all = workers.lock();
                    } else {
                        sides.window(&mut launch)?;
                    }
                    let sides = all.sides(&mut active);
                    watch.look(&sides, &launch)?;
                    pace.pass(phases, || sides.sm_side.retired());
                }
                let mut sides = all.sides(&mut active);
                pace.end(sides.sm_side.retired());
                let end = sides.sm_side.end(&launch);
                let ran = launch.into_kernels();
                begun += ran.len();
                ended(books.close(&ran, end, &mut sides)?);
                *turn = active.turn;
            }
            Ok(())
        })
    }
}

impl<const WORDS: usize> Parts<WORDS> {
    /// Of `machine`, idle.
    fn new(machine: &Machine, stepping: Stepping) -> Self {
        let clocks = Clocks::new(&machine.clocks);
        let every_cycle = stepping == Stepping::EveryCycle;
        let sms = 0..machine.sm.count.size();
        let partition = |number| Mutex::new(Partition::new(machine, clocks, number, every_cycle));
        Parts {
            nodes: sms.map(|sm| Mutex::new(Node::new(machine, sm))).collect(),
            requests: Mutex::new(Requests::new(machine, clocks, every_cycle)),
            partitions: (0..Partition::count(machine)).map(partition).collect(),
            hub: Mutex::new(Hub::new(machine, clocks, every_cycle)),
        }
    }

    /// Every part, with nobody else at work.
    fn lend(&mut self) -> Lent<'_, WORDS> {
        let Parts { nodes, requests, partitions, hub } = self;
        Lent {
            nodes: nodes.iter_mut().map(|node| node.get_mut().expect(NO_PANIC)).collect(),
            requests: requests.get_mut().expect(NO_PANIC),
            partitions: partitions.iter_mut().map(|one| one.get_mut().expect(NO_PANIC)).collect(),
            hub: hub.get_mut().expect(NO_PANIC),
        }
    }
}

/// Every part of a GPU, lent.
struct Lent<'a, const WORDS: usize> {
    nodes: Vec<&'a mut Node>,
    requests: &'a mut Requests<WORDS>,
    partitions: Vec<&'a mut Partition>,
    hub: &'a mut Hub<WORDS>,
}

impl<'a, const WORDS: usize> Lent<'a, WORDS> {
    /// The two sides, made of these.
    fn sides<'s>(
        &'s mut self,
        active: &'s mut ActiveNodes<WORDS>,
    ) -> Sides<'s, &'a mut Node, &'a mut Partition, WORDS> {
        let Lent { nodes, requests, partitions, hub } = self;
        let sm_side = SmSide { nodes, requests, active };
        Sides { sm_side, memory: Memory { partitions, hub } }
    }
}
