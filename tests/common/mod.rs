//! Kernels written by hand, instruction by instruction, and machines changed field by field.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use gsim::config::Machine;
use gsim::error::Result;
use gsim::gpu::{Gpu, KernelStatistics, Stepping};
use gsim::isa::{
    AccessKind, ArithClass, BarrierUse, BulkBox, BulkCopy, BulkUse, CacheOp, Copies, Cta,
    CtaSource, Fence, Inst, Kernel, LaneMask, LaunchSource, Mbarrier, MbarrierUse, MemoryOp,
    Observer, Op, Operands, Space, Turns, WARP,
};

/// One executed warp instruction.
#[derive(Clone, Debug)]
pub enum Step {
    /// A global load of `bytes` a lane into register `dst`, after `src` is ready.
    Load { dst: u16, src: u16, addresses: Vec<u64>, bytes: u8 },
    /// A global load past the L1.
    LoadPastL1 { dst: u16, src: u16, addresses: Vec<u64>, bytes: u8 },
    /// A global load of 4 bytes a lane with a cache operator or hint.
    LoadWith { dst: u16, cache: CacheOp, addresses: Vec<u64> },
    /// An asynchronous copy of 4 bytes a lane from global to shared memory, past the L1.
    Copy { addresses: Vec<u64> },
    /// What is done with the copies.
    Copies(Copies),
    /// A bulk copy, one for the warp.
    Bulk { kind: BulkCopy, address: u64, bytes: u32, area: Option<BulkBox> },
    /// A wait at the first mbarrier of the CTA for so many arrivals.
    Wait(u32),
    /// A global store.
    Store { addresses: Vec<u64>, bytes: u8 },
    /// A load of local memory.
    LoadLocal { dst: u16, src: u16, addresses: Vec<u64>, bytes: u8 },
    /// A store to local memory.
    StoreLocal { addresses: Vec<u64>, bytes: u8 },
    /// An atomic of `bytes` a lane that returns the old value in `dst`.
    Atomic { dst: u16, src: u16, addresses: Vec<u64>, bytes: u8 },
    /// An atomic of `bytes` a lane whose old value nobody wants.
    Reduction { addresses: Vec<u64>, bytes: u8 },
    /// An integer add that reads `src` and writes `dst`.
    Add { dst: u16, src: u16 },
    /// A barrier.
    Barrier,
    /// A shared-memory load.
    Shared { dst: u16, addresses: Vec<u64> },
    /// A shared-memory store of `bytes` a lane.
    StoreShared { addresses: Vec<u64>, bytes: u8 },
    /// A load of words of constant memory.
    Constants { dst: u16, addresses: Vec<u64> },
    /// A store to a generic address.
    StoreGeneric { addresses: Vec<u64>, bytes: u8 },
    /// An atomic on shared memory that returns the old value in `dst`.
    SharedAtomic { dst: u16, addresses: Vec<u64>, turns: Turns },
    /// A fence.
    Fence(Fence),
    /// An arithmetic instruction.
    Arith(Inst),
}

/// A fence for the whole GPU.
pub const FENCE: Step = Step::Fence(Fence { release: Some(Observer::Gpu), acquire: true });

/// A launch of scripted CTAs: `script(cta, warp)` gives a warp's steps; an exit follows.
pub struct Script<F> {
    kernel: Kernel,
    script: F,
    /// The CTA that comes next, and the place of its first instruction.
    next: u64,
    next_pc: u32,
}

/// Registers that scripts may name.
const REGS: u16 = 256;

impl<F: Fn(u64, usize) -> Vec<Step>> Script<F> {
    pub fn new(ctas: u64, cta_threads: u32, script: F) -> Self {
        let kernel = Kernel {
            name: "script".into(),
            insts: Vec::new(),
            regs: REGS,
            registers_per_thread: 16,
            shared_bytes: 0,
            local_bytes: 0,
            cta_threads,
            ctas,
            buffers: Vec::new(),
            overlaps_next: false,
        };
        // Every step of every warp becomes a static instruction of its own.
        let mut script = Script { kernel, script, next: 0, next_pc: 0 };
        let warps = script.kernel.cta_warps();
        for cta in 0..ctas {
            for warp in 0..warps {
                let steps = (script.script)(cta, warp);
                script.kernel.insts.extend(steps.iter().map(inst));
                script.kernel.insts.push(Inst::bare(Op::Exit));
            }
        }
        script
    }

    /// The same with a buffer at these addresses.
    pub fn buffer(mut self, addresses: std::ops::Range<u64>) -> Self {
        self.kernel.buffers.push(addresses);
        self
    }

    /// The same, where the next launch may run at the same time.
    pub fn overlaps_next(mut self, overlaps: bool) -> Self {
        self.kernel.overlaps_next = overlaps;
        self
    }

    /// The same with so many registers a thread.
    pub fn registers(mut self, registers: u32) -> Self {
        self.kernel.registers_per_thread = registers;
        self
    }

    /// The same with another name.
    pub fn named(mut self, name: &str) -> Self {
        self.kernel.name = name.into();
        self
    }

    /// The same with so much local memory a thread.
    pub fn local_bytes(mut self, bytes: u32) -> Self {
        self.kernel.local_bytes = bytes;
        self
    }

    /// The same with so much shared memory a CTA.
    pub fn shared_bytes(mut self, bytes: u32) -> Self {
        self.kernel.shared_bytes = bytes;
        self
    }
}

fn inst(step: &Step) -> Inst {
    let memory =
        |space, kind, bytes, cache| Inst::bare(Op::Memory(MemoryOp { space, kind, bytes, cache }));
    let with = |dst, src, inst: Inst| Inst {
        dsts: Operands::new(&[dst]),
        srcs: Operands::new(&[src]),
        ..inst
    };
    match *step {
        Step::Load { dst, src, bytes, .. } => {
            with(dst, src, memory(Space::Global, AccessKind::Load, bytes, CacheOp::Default))
        }
        Step::LoadPastL1 { dst, src, bytes, .. } => {
            with(dst, src, memory(Space::Global, AccessKind::Load, bytes, CacheOp::Global))
        }
        Step::LoadWith { dst, cache, .. } => {
            with(dst, dst, memory(Space::Global, AccessKind::Load, 4, cache))
        }
        Step::Copy { .. } => memory(Space::Global, AccessKind::Copy, 4, CacheOp::Global),
        Step::Copies(copies) => Inst::bare(Op::Copies(copies)),
        Step::Bulk { kind, .. } => Inst::bare(Op::Bulk(kind)),
        Step::Wait(_) => Inst::bare(Op::Mbarrier(Mbarrier::Wait)),
        Step::Store { bytes, .. } => {
            memory(Space::Global, AccessKind::Store, bytes, CacheOp::Default)
        }
        Step::LoadLocal { dst, src, bytes, .. } => {
            with(dst, src, memory(Space::Local, AccessKind::Load, bytes, CacheOp::Default))
        }
        Step::StoreLocal { bytes, .. } => {
            memory(Space::Local, AccessKind::Store, bytes, CacheOp::Default)
        }
        Step::StoreGeneric { bytes, .. } => {
            memory(Space::Generic, AccessKind::Store, bytes, CacheOp::Default)
        }
        Step::StoreShared { bytes, .. } => {
            memory(Space::Shared, AccessKind::Store, bytes, CacheOp::Default)
        }
        Step::Constants { dst, .. } => {
            with(dst, dst, memory(Space::Constant, AccessKind::Load, 4, CacheOp::Default))
        }
        Step::SharedAtomic { dst, turns, .. } => {
            with(dst, dst, memory(Space::Shared, AccessKind::Atomic(turns), 4, CacheOp::Default))
        }
        Step::Atomic { dst, src, bytes, .. } => with(
            dst,
            src,
            memory(Space::Global, AccessKind::Atomic(Turns::Lanes), bytes, CacheOp::Default),
        ),
        Step::Reduction { bytes, .. } => {
            memory(Space::Global, AccessKind::Atomic(Turns::Lanes), bytes, CacheOp::Default)
        }
        Step::Shared { dst, .. } => {
            with(dst, dst, memory(Space::Shared, AccessKind::Load, 4, CacheOp::Default))
        }
        Step::Add { dst, src } => with(dst, src, Inst::bare(Op::Arith(ArithClass::IntAdd))),
        Step::Barrier => Inst::bare(Op::Barrier),
        Step::Fence(fence) => Inst::bare(Op::Fence(fence)),
        Step::Arith(ref inst) => inst.clone(),
    }
}

fn lanes_of(addresses: &[u64]) -> (LaneMask, [u64; WARP]) {
    let mut lanes = [0; WARP];
    lanes[..addresses.len()].copy_from_slice(addresses);
    let mask = if addresses.len() == WARP { !0 } else { (1 << addresses.len()) - 1 };
    (mask, lanes)
}

impl<F: Fn(u64, usize) -> Vec<Step> + Send> CtaSource for Script<F> {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        if self.next == self.kernel.ctas {
            return Ok(false);
        }
        let warps = self.kernel.cta_warps();
        cta.reset(warps);
        for (warp, stream) in cta.warps.iter_mut().enumerate() {
            for step in (self.script)(self.next, warp) {
                stream.push(self.next_pc, !0);
                self.next_pc += 1;
                if let Step::Load { addresses, .. }
                | Step::LoadPastL1 { addresses, .. }
                | Step::LoadWith { addresses, .. }
                | Step::Copy { addresses }
                | Step::Store { addresses, .. }
                | Step::LoadLocal { addresses, .. }
                | Step::StoreLocal { addresses, .. }
                | Step::StoreGeneric { addresses, .. }
                | Step::Constants { addresses, .. }
                | Step::StoreShared { addresses, .. }
                | Step::SharedAtomic { addresses, .. }
                | Step::Atomic { addresses, .. }
                | Step::Reduction { addresses, .. }
                | Step::Shared { addresses, .. } = &step
                {
                    let (mask, lanes) = lanes_of(addresses);
                    stream.push_addresses(mask, &lanes);
                }
                match step {
                    Step::Barrier => {
                        stream.push_barrier(BarrierUse::ALL);
                    }
                    Step::Wait(arrivals) => {
                        stream.push_mbarrier(MbarrierUse { id: 0, arrivals });
                    }
                    Step::Bulk { address, bytes, area, .. } => {
                        let copy = BulkUse { address, bytes, mbarrier: 0, area };
                        stream.push_bulk([copy].into_iter());
                    }
                    _ => {}
                }
            }
            stream.push(self.next_pc, !0);
            self.next_pc += 1;
        }
        self.next += 1;
        Ok(true)
    }
}

/// Launches, one after another.
pub struct Scripts<F> {
    launches: Vec<Script<F>>,
    begun: usize,
}

impl<F> Scripts<F> {
    pub fn new(launches: Vec<Script<F>>) -> Self {
        Scripts { launches, begun: 0 }
    }
}

impl<F: Fn(u64, usize) -> Vec<Step> + Send> LaunchSource for Scripts<F> {
    fn begin(&mut self) -> Result<Option<Arc<Kernel>>> {
        let kernel = self.launches.get(self.begun).map(|launch| Arc::new(launch.kernel.clone()));
        self.begun += 1;
        Ok(kernel)
    }

    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        self.launches[self.begun - 1].next(cta)
    }
}

/// The GTX 480 preset with fields replaced: `("l1.mshr_mergers", "2")`.
pub fn gtx480(changes: &[(&str, serde_json::Value)]) -> Machine {
    preset("gtx480", changes)
}

/// A preset with fields replaced.
pub fn preset(name: &str, changes: &[(&str, serde_json::Value)]) -> Machine {
    let preset = gsim::config::presets::find(name).expect("the preset exists");
    let machine = preset.machine().expect("the preset is valid");
    let mut value = machine.to_json();
    for (path, new) in changes {
        let pointer = format!("/{}", path.replace('.', "/"));
        *value.pointer_mut(&pointer).unwrap_or_else(|| panic!("no field {path}")) = new.clone();
    }
    Machine::from_json(value).expect("the change is valid")
}

/// Runs a source on a machine, with and without skip-ahead, which must agree. What warps do is counted by line and by buffer as
/// well, which must change nothing.
pub fn run<S: CtaSource>(machine: &Machine, source: impl Fn() -> S) -> KernelStatistics {
    let go = |stepping, by_line: bool| {
        let mut gpu = Gpu::new(machine, stepping);
        if by_line {
            gpu.count_by_line();
        }
        gpu.run(&mut source(), &mut |_| ()).expect("the kernel runs")
    };
    let counted = go(Stepping::SkipAhead, true);
    assert_eq!(counted, go(Stepping::EveryCycle, true), "skip-ahead changed the result");
    let (lines, buffers) = (Vec::new(), Vec::new());
    let uncounted = KernelStatistics { lines, buffers, ..counted.clone() };
    assert_eq!(uncounted, go(Stepping::SkipAhead, false), "counting changed the result");
    counted
}

/// `count` addresses from `first`, `stride` apart.
pub fn row(first: u64, stride: u64, count: usize) -> Vec<u64> {
    (0..count as u64).map(|i| first + i * stride).collect()
}
