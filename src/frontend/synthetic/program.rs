//! The static instructions of a synthetic kernel, and the order in which a warp executes them.
//!
//! Before access `i` of a phase stand the arithmetic instructions on the data of access `i - in_flight`, and
//! the additions that make the address. What the data of an access needs is in registers:
//!
//! - slot `i mod in_flight` takes the data of access `i`, so that it waits for that of `i - in_flight`;
//! - accumulators take the results of the arithmetic, one when each waits for the one before it;
//! - each place of the mixture has a register for its address;
//! - a chase has a register for each chain, which its loads both read and write.

use std::collections::BTreeMap;

use crate::config::SyntheticSpec;
use crate::config::synthetic::{Access, CacheHint, MathClass, Pattern, Phase, SyntheticSpace};
use crate::isa::{
    AccessKind, ArithClass, CacheOp, Inst, LaneMask, MemoryOp, Op, Operands, Reg, Space, WarpStream,
};
use crate::workload::synthetic::schedule::{self, period, schedule};

/// Accumulators of arithmetic that is independent: enough to hide the latency of most classes.
const ACCUMULATORS: u32 = 8;
/// Arithmetic instructions in the table for a slot; more are executed as rounds of a loop. A multiple of
/// [`ACCUMULATORS`].
const UNIT: u32 = 32;

/// A kernel's table of instructions.
#[derive(Clone, Debug)]
pub struct Program {
    /// The instructions.
    pub insts: Vec<Inst>,
    /// Registers that they name.
    pub regs: u16,
    /// The phases.
    pub phases: Vec<PhaseCode>,
    /// Place of the exit.
    pub exit: u32,
}

/// One pass through a phase.
#[derive(Clone, Debug)]
pub struct PhaseCode {
    /// Memory instructions, in order: all, or the first ones of a pass in which they come again and again, all of one place of
    /// the mixture.
    pub steps: Vec<Step>,
    /// Memory instructions of a pass.
    pub accesses: u32,
    /// Arithmetic on the data of an access.
    pub math: Math,
    /// Accesses of a warp that are under way at once.
    pub in_flight: u32,
    /// Place of the barrier at the end.
    pub barrier: Option<u32>,
    /// Memory instructions by place in the mixture.
    pub counts: Vec<u64>,
}

impl PhaseCode {
    /// Runs of instructions that a pass mostly has, or more.
    pub fn most_runs(&self) -> u64 {
        let of_access = if self.math.is_empty() { 1 } else { 2 };
        u64::from(self.accesses) * of_access + 1
    }
}

/// A memory instruction and what makes its address: instructions from `pc` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The first.
    pub pc: u32,
    /// How many; the memory instruction comes last.
    pub len: u32,
    /// Its place in the mixture.
    pub entry: u32,
    /// How many of that place came before in this pass.
    pub index: u32,
}

/// Arithmetic on the data in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Math {
    /// Instructions in all.
    count: u32,
    /// First instruction of slot 0.
    pc: u32,
    /// Instructions of a slot in the table.
    unit: u32,
}

impl Math {
    /// True when there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Executes the arithmetic on a slot.
    #[inline]
    pub fn push(&self, slot: u32, mask: LaneMask, stream: &mut WarpStream) {
        let pc = self.pc + slot * self.unit;
        let mut left = self.count;
        while left > 0 {
            let len = left.min(self.unit);
            stream.push_run(pc, len, mask);
            left -= len;
        }
    }
}

/// What makes two memory instructions of a phase different.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Variant {
    entry: usize,
    kind: AccessKind,
    slot: u32,
    /// Chain of a chase.
    chain: u32,
    /// Slot of the load that gives the address.
    source: Option<u32>,
}

/// Numbers of the registers.
struct Registers {
    accumulators: Reg,
    addresses: Reg,
    chains: Reg,
    /// Chains of each place of a mixture.
    per_entry: Reg,
    count: u16,
}

impl Registers {
    fn new(spec: &SyntheticSpec) -> Self {
        let phases = || spec.phases.iter();
        let slots = phases().map(|phase| phase.in_flight.get()).max().unwrap_or(1) as Reg;
        let entries = phases().map(|phase| phase.mix.len()).max().unwrap_or(1) as Reg;
        let chases = phases()
            .flat_map(|phase| phase.mix.iter().enumerate())
            .filter(|(_, access)| matches!(access.pattern, Pattern::Chase { .. }))
            .map(|(entry, _)| entry as Reg + 1)
            .max()
            .unwrap_or(0);
        let accumulators = slots;
        let addresses = accumulators + ACCUMULATORS as Reg;
        let chains = addresses + entries;
        Registers {
            accumulators,
            addresses,
            chains,
            per_entry: slots,
            count: chains + chases * slots,
        }
    }

    fn accumulator(&self, phase: &Phase, number: u32) -> Reg {
        let number = if phase.dependent { 0 } else { number % ACCUMULATORS };
        self.accumulators + number as Reg
    }
}

impl Program {
    /// The program of a specification.
    pub fn new(spec: &SyntheticSpec) -> Self {
        let registers = Registers::new(spec);
        let mut insts = Vec::new();
        let phases =
            spec.phases.iter().map(|phase| phase_code(phase, &registers, &mut insts)).collect();
        let exit = insts.len() as u32;
        insts.push(inst(Op::Exit, &[], &[]));
        Program { insts, regs: registers.count, phases, exit }
    }
}

fn inst(op: Op, dsts: &[Reg], srcs: &[Reg]) -> Inst {
    Inst::new(op, Operands::new(dsts), Operands::new(srcs), 0)
}

fn phase_code(phase: &Phase, registers: &Registers, insts: &mut Vec<Inst>) -> PhaseCode {
    let in_flight = phase.in_flight.get();
    let math = math(phase, registers, insts);
    let mut known: BTreeMap<Variant, (u32, u32)> = BTreeMap::new();
    // The last one of each place and slot: mostly it is the same as the next one.
    let slots = in_flight as usize;
    let mut last: Vec<Option<(Variant, (u32, u32))>> = vec![None; phase.mix.len() * slots];
    let mut counts = vec![0; phase.mix.len()];
    let accesses = phase.accesses.get();
    let round = period(phase).map_or(accesses, |period| period.min(accesses));
    let steps: Vec<Step> = schedule(phase)
        .take(round as usize)
        .map(|turn| {
            let schedule::Turn { entry, index, kind, slot, source } = turn;
            let access = &phase.mix[entry];
            let is_chase = matches!(access.pattern, Pattern::Chase { .. });
            let variant = Variant {
                entry,
                kind,
                slot,
                chain: if is_chase { index % in_flight } else { 0 },
                source: source.map(|source| source.slot),
            };
            counts[entry] += 1;
            let last = &mut last[entry * slots + slot as usize];
            let (pc, len) = match last {
                Some((same, code)) if *same == variant => *code,
                _ => *known.entry(variant).or_insert_with(|| {
                    let pc = insts.len() as u32;
                    push_access(phase, access, kind, &variant, registers, insts);
                    (pc, insts.len() as u32 - pc)
                }),
            };
            *last = Some((variant, (pc, len)));
            Step { pc, len, entry: entry as u32, index }
        })
        .collect();
    if round < accesses {
        counts[steps[0].entry as usize] = u64::from(accesses);
    }
    let barrier = phase.barrier.then(|| {
        insts.push(inst(Op::Barrier, &[], &[]));
        insts.len() as u32 - 1
    });
    PhaseCode { steps, accesses, math, in_flight, barrier, counts }
}

/// Puts the arithmetic of every slot into the table.
fn math(phase: &Phase, registers: &Registers, insts: &mut Vec<Inst>) -> Math {
    let count = phase.arithmetic.get();
    let unit = count.min(UNIT);
    let pc = insts.len() as u32;
    let op = Op::Arith(class(phase.class));
    if count > 0 {
        for slot in 0..phase.in_flight.get() {
            for number in 0..unit {
                let accumulator = registers.accumulator(phase, number);
                insts.push(inst(op, &[accumulator], &[slot as Reg, accumulator]));
            }
        }
    }
    Math { count, pc, unit }
}

/// Puts a memory instruction and what makes its address into the table.
fn push_access(
    phase: &Phase,
    access: &Access,
    kind: AccessKind,
    variant: &Variant,
    registers: &Registers,
    insts: &mut Vec<Inst>,
) {
    let slot = variant.slot as Reg;
    let op = Op::Memory(MemoryOp {
        space: match access.space {
            SyntheticSpace::Global => Space::Global,
            SyntheticSpace::Shared => Space::Shared,
        },
        kind,
        bytes: access.width.get() as u8,
        cache: cache(access.cache),
    });
    if matches!(access.pattern, Pattern::Chase { .. }) {
        let chain = variant.entry as Reg * registers.per_entry + variant.chain as Reg;
        let chain = registers.chains + chain;
        insts.push(inst(op, &[chain, slot], &[chain]));
        return;
    }
    let address = registers.addresses + variant.entry as Reg;
    for number in 0..phase.address_ops.get() {
        let add = Op::Arith(ArithClass::IntAdd);
        match variant.source {
            Some(source) if number == 0 => {
                insts.push(inst(add, &[address], &[address, source as Reg]));
            }
            _ => insts.push(inst(add, &[address], &[address])),
        }
    }
    let mut srcs = Operands::new(&[address]);
    if let Some(source) = variant.source.filter(|_| phase.address_ops.get() == 0) {
        srcs.add(source as Reg);
    }
    if kind != AccessKind::Load {
        // What is stored is the last result, or data as it was loaded.
        srcs.add(match phase.arithmetic.get() {
            0 => slot,
            count => registers.accumulator(phase, count - 1),
        });
    }
    let dsts = if kind == AccessKind::Store { Operands::NONE } else { Operands::new(&[slot]) };
    insts.push(Inst::new(op, dsts, srcs, 0));
}

fn class(class: MathClass) -> ArithClass {
    match class {
        MathClass::IntAdd => ArithClass::IntAdd,
        MathClass::IntMul => ArithClass::IntMul,
        MathClass::IntMad => ArithClass::IntMad,
        MathClass::IntDiv => ArithClass::IntDiv,
        MathClass::FpAdd => ArithClass::FpAdd,
        MathClass::FpMul => ArithClass::FpMul,
        MathClass::FpFma => ArithClass::FpFma,
        MathClass::FpDiv => ArithClass::FpDiv,
        MathClass::DpAdd => ArithClass::DpAdd,
        MathClass::DpMul => ArithClass::DpMul,
        MathClass::DpFma => ArithClass::DpFma,
        MathClass::DpDiv => ArithClass::DpDiv,
        MathClass::Sfu => ArithClass::Sfu,
    }
}

fn cache(hint: CacheHint) -> CacheOp {
    match hint {
        CacheHint::Default => CacheOp::Default,
        CacheHint::Global => CacheOp::Global,
        CacheHint::Streaming => CacheOp::Streaming,
        CacheHint::Volatile => CacheOp::Volatile,
        CacheHint::ReadOnly => CacheOp::ReadOnly,
    }
}
