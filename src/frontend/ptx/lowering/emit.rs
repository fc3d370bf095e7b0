//! The instructions that are issued, and what each depends on.

use std::ops::Range;

use super::super::ast::Type;
use super::code::{Code, Fate, Sequence, waits_for_more};
use super::expand::{Makes, Step};
use super::interleave::Interleaver;
use super::regions::{entered, regions};
use super::schedule::Scheduler;
use super::scoreboards::Scoreboards;
use super::unroll::Copies;
use super::{Issued, IssuedBlock, IssuedLoop, NO_LOOP, NO_ORDER, control, expand, reads};
use crate::frontend::ptx::parts::{Block, NO_BLOCK};
use crate::isa::{ArithClass, BulkCopy, Inst, Op, Operands, Reg, Sources};

/// How far back a value is followed through instructions that are gone.
const MOST_STEPS: usize = 64;

/// Registers that the steps of sequences take in turn for what they hand on: more than a sequence has steps that are
/// read by later ones.
const INNER: usize = 32;

/// Puts the blocks together.
pub fn emit(code: &Code) -> Issued {
    let mut emitter = Emitter::new(code);
    let entered = entered(code);
    let regions = regions(code, &entered);
    let mut scheduler = Scheduler::new(code, &regions);
    let mut interleaver = Interleaver::new(emitter.most_registers());
    let mut scoreboards = Scoreboards::new(emitter.most_registers());
    let (mut blocks, mut orders) = (Vec::with_capacity(code.blocks.len()), Vec::new());
    for region in &regions {
        let start = emitter.insts.len();
        let (first, last) = (region.start, region.end - 1);
        let line = code.insts[code.blocks[first].start as usize].line;
        let plain = |op: &Op| Inst { line, ..Inst::bare(*op) };
        let heads = code.heads[region.clone()].iter().flatten();
        emitter.insts.extend(heads.map(|head| Inst { line, ..head.clone() }));
        let end = code.blocks[last].end as usize - 1;
        let branches = matches!(code.opcode(end), "bra" | "brx");
        emitter.note(true, false);
        let body = emitter.insts.len();
        let order = scheduler.order(region.clone());
        for &pc in &order {
            if branches && pc == end {
                emitter.insts.extend(code.tails[last].iter().map(plain));
                emitter.note(true, false);
            }
            emitter.instruction(pc);
        }
        if !branches {
            emitter.insts.extend(code.tails[last].iter().map(plain));
            emitter.note(true, false);
        }
        let room = scheduler.room(region.clone());
        emitter.put_in_order(body, |insts, is_wall| {
            interleaver.order(insts, is_wall, scheduler.weights(), room)
        });
        reads::count(code, &mut emitter.insts[start..], |at| emitter.notes[start + at].reads_count);
        scoreboards.share(&mut emitter.insts[body..]);
        // A label that others jump to follows.
        let falls = code.successors[last] == [last as u32 + 1] && code.jump_over(end).is_none();
        let label = entered.get(last + 1).is_some_and(|entered| *entered > 1);
        if falls
            && label
            && code.is_gone(end) | !branches
            && let Some(last) = emitter.insts[start..].last_mut()
        {
            last.ends_block = true;
        }
        // The first block stands for all.
        let mut len = (emitter.insts.len() - start) as u32;
        for block in region.clone() {
            let Block { start: first, end, .. } = code.blocks[block];
            blocks.push(IssuedBlock {
                start: start as u32,
                len: std::mem::take(&mut len),
                predicated: code.predicated[block].unwrap_or(NO_BLOCK),
                accesses: (first..end).filter(|pc| accesses(code, *pc as usize)).count() as u32,
                order: NO_ORDER,
                unrolled: NO_LOOP,
            });
        }
        if let Some(order) = record_order(code, &order) {
            blocks[last].order = orders.len() as u32;
            orders.push(order);
        }
    }
    let regs = emitter.registers();
    let mut issued = Issued { insts: emitter.insts, blocks, loops: Vec::new(), orders, regs };
    for region in regions {
        if let Some(copies) = code.unrolled[region.start] {
            unrolled(&mut issued, region, copies);
        }
    }
    issued
}

/// Adds a loop of which there are blocks of several iterations.
fn unrolled(issued: &mut Issued, region: Range<usize>, copies: Copies) {
    let Issued { blocks, loops, orders, .. } = issued;
    let [two, four] = copies.map(|first| first as usize);
    // The blocks of a copy follow one another, and the first has all instructions.
    let last = |first: usize| {
        (first + 1..blocks.len()).find(|next| blocks[*next].len > 0).unwrap_or(blocks.len()) - 1
    };
    let one_order = blocks[region.end - 1].order;
    let [two_order, four_order] = [two, four].map(|first| blocks[last(first)].order);
    let accesses: u32 = blocks[region.clone()].iter().map(|block| block.accesses).sum();
    let order_of = |order: u32, iterations: u32| -> Vec<u32> {
        orders
            .get(order as usize)
            .map_or((0..iterations * accesses).collect(), |list| list.to_vec())
    };
    // Two, then one.
    let mut three = order_of(two_order, 2);
    three.extend(order_of(one_order, 1).into_iter().map(|place| place + 2 * accesses));
    let three_order = if three.is_sorted() { NO_ORDER } else { orders.len() as u32 };
    if three_order != NO_ORDER {
        orders.push(three.into());
    }
    let piece = |first: usize| (blocks[first].start, blocks[first].len);
    let pieces = [region.start, two, four].map(piece);
    blocks[region.start].unrolled = loops.len() as u32;
    loops.push(IssuedLoop {
        end: region.end as u32,
        pieces,
        orders: [one_order, two_order, three_order, four_order],
    });
}

/// Whether what an instruction did is recorded beside the stream.
fn accesses(code: &Code, pc: usize) -> bool {
    code.insts[pc].op.has_addresses()
}

/// The order of records, from that of instructions; `None` if it is that of the text.
fn record_order(code: &Code, order: &[usize]) -> Option<Box<[u32]>> {
    let issued: Vec<usize> = order.iter().copied().filter(|pc| accesses(code, *pc)).collect();
    if issued.is_sorted() {
        return None;
    }
    let mut text = issued.clone();
    text.sort_unstable();
    let place = |pc: &usize| text.partition_point(|other| other < pc) as u32;
    Some(issued.iter().map(place).collect())
}

/// What is known of an instruction beside what the machine sees.
#[derive(Clone, Copy)]
struct Note {
    /// Nothing changes places with it.
    is_wall: bool,
    /// Its reads of the register file are to be counted.
    reads_count: bool,
}

struct Emitter<'a> {
    code: &'a Code<'a>,
    insts: Vec<Inst>,
    /// By instruction.
    notes: Vec<Note>,
    /// For each register that nothing issued writes, the instruction that did.
    makers: Vec<Option<u32>>,
    /// Registers that may differ from lane to lane.
    varying: Vec<bool>,
    /// Some instruction elects a lane.
    elects: bool,
    /// The register of the low half of each register of 64 bits that some sequence writes by halves.
    lows: Vec<Option<Reg>>,
    /// Registers with those.
    named: usize,
    /// Of [`INNER`], the next one.
    inner: usize,
    /// Whether there are any.
    has_inner: bool,
}

impl<'a> Emitter<'a> {
    fn new(code: &'a Code<'a>) -> Self {
        let mut emitter = Emitter {
            code,
            insts: Vec::new(),
            notes: Vec::new(),
            makers: gone_makers(code),
            varying: control::varying(code),
            elects: (0..code.len()).any(|pc| code.opcode(pc) == "elect"),
            lows: vec![None; code.weights.len()],
            named: code.weights.len(),
            inner: 0,
            has_inner: false,
        };
        for pc in 0..code.len() {
            let halves = emitter.steps(pc).iter().flatten().any(|step| step.makes == Makes::Low);
            for &reg in code.insts[pc].dsts.as_slice() {
                // Numbers of registers have 16 bits.
                let room = emitter.named < usize::from(Reg::MAX) - INNER;
                if halves && room && emitter.lows[usize::from(reg)].is_none() {
                    emitter.lows[usize::from(reg)] = Some(emitter.named as Reg);
                    emitter.named += 1;
                }
            }
        }
        emitter
    }

    /// Registers that instructions name: all are below this.
    fn registers(&self) -> u16 {
        (self.named + if self.has_inner { INNER } else { 0 }) as u16
    }

    /// The same, or more.
    fn most_registers(&self) -> usize {
        self.named + INNER
    }

    /// Notes what the instructions are that have no note yet; the reads of the last are to be counted where `reads_count`.
    fn note(&mut self, is_pinned: bool, reads_count: bool) {
        let new = &self.insts[self.notes.len()..];
        let note = |inst: &Inst| Note { is_wall: is_pinned || is_wall(inst), reads_count: false };
        self.notes.extend(new.iter().map(note));
        if let Some(last) = self.notes.last_mut() {
            last.reads_count |= reads_count;
        }
    }

    /// Puts the instructions from `start` on in the order that `choose` gives.
    fn put_in_order(
        &mut self,
        start: usize,
        choose: impl FnOnce(&[Inst], &dyn Fn(usize) -> bool) -> Vec<usize>,
    ) {
        let (insts, notes) = (self.insts.split_off(start), self.notes.split_off(start));
        let order = choose(&insts, &|at| notes[at].is_wall);
        self.insts.extend(order.iter().map(|at| insts[*at].clone()));
        self.notes.extend(order.iter().map(|at| notes[*at]));
    }

    /// The instructions that `pc` becomes when it is said how they depend on each other.
    fn steps(&self, pc: usize) -> Option<Vec<Step>> {
        let Fate::Into(Sequence { graph: Some(letters), .. }) = self.code.fates[pc] else {
            return None;
        };
        let inst = &self.code.insts[pc];
        if inst.dsts.as_slice().len() != 1 {
            return None;
        }
        let mut registers = inst.srcs.as_slice().iter().chain(inst.dsts.as_slice());
        let uniform = registers.all(|reg| !self.varying[usize::from(*reg)]);
        Some(expand::steps(if uniform { expand::uniform(letters) } else { letters }))
    }

    /// Issues `pc`.
    fn instruction(&mut self, pc: usize) {
        if self.code.is_gone(pc) {
            return;
        }
        let reads_count = self.machine_instructions(pc);
        let accesses = accesses(self.code, pc);
        self.note(self.code.is_pinned(pc) && !accesses, reads_count);
    }

    /// Adds what becomes of `pc`; gives whether the reads of the last one are to be counted.
    fn machine_instructions(&mut self, pc: usize) -> bool {
        let code = self.code;
        let branch = code.jump_over(pc);
        let inst = &code.insts[pc];
        let mut srcs = self.sources(inst.srcs);
        let guard = match (inst.guard, branch) {
            (Some(guard), _) => self.sources(Operands::new(&[guard])).as_slice().first().copied(),
            (None, Some(branch)) => {
                let guard = self.sources(code.insts[branch].srcs).as_slice().first().copied();
                // One that reads as much as it can is guarded by what it reads.
                let guard = guard.filter(|_| !srcs.is_full());
                guard.inspect(|guard| srcs.add(*guard))
            }
            (None, None) => None,
        };
        let line = inst.line;
        let number = Inst { line, ..Inst::bare(Op::Arith(ArithClass::Move)) };
        self.insts.extend(std::iter::repeat_n(number, expand::numbers_in_registers(code, pc)));
        if let Some(steps) = self.steps(pc) {
            self.sequence(pc, &steps, Inst { srcs, guard, ..inst.clone() });
            return false;
        }
        let dsts = self.with_lows(inst.dsts);
        let single = Inst { srcs, dsts, guard, ..inst.clone() };
        match &code.fates[pc] {
            Fate::Gone | Fate::Dead => false,
            Fate::Into(_) if code.becomes(pc, &[ArithClass::FpAdd]) && code.has(pc, "pred") => {
                // A comparison that was joined with another predicate: `FSETP.AND`.
                self.insts.push(Inst { op: Op::Arith(ArithClass::FpCompare), ..single });
                true
            }
            Fate::Same if matches!(single.op, Op::Bulk(_)) => {
                self.bulk(single);
                true
            }
            Fate::Same if matches!(single.op, Op::Warpgroup(_)) => {
                self.warpgroup(single);
                false
            }
            Fate::Same => {
                let op = Op::Arith(machine_class(code, pc, single.op));
                let op = if matches!(single.op, Op::Arith(_)) { op } else { single.op };
                self.insts.push(Inst { op, ..single });
                true
            }
            Fate::Into(Sequence { classes, .. }) => {
                for (place, class) in classes.iter().enumerate() {
                    // The steps of a sequence hand their results on in the register of the last.
                    let chained = place > 0 && !inst.dsts.as_slice().is_empty();
                    let srcs = if chained { Operands::new(inst.dsts.as_slice()) } else { srcs };
                    // What waits for a step before it waits for the guard through that.
                    let guard = guard.filter(|guard| srcs.as_slice().contains(guard));
                    self.insts.push(Inst { op: Op::Arith(*class), srcs, guard, ..single.clone() });
                }
                classes.len() == 1
            }
        }
    }

    /// Issues bulk copies. The unit takes values that are the same for the warp: where they may not be, lanes take turns, and hand on their
    /// values. Copies to shared memory and reductions have such a loop wherever lanes may be missing, unless the program has elected the one
    /// that is there.
    fn bulk(&mut self, whole: Inst) {
        let differs = |reg: &Reg| {
            self.varying.get(usize::from(*reg)).is_some_and(|varies| *varies)
                && whole.guard != Some(*reg)
        };
        let varying: Vec<Reg> = whole.srcs.as_slice().iter().copied().filter(differs).collect();
        let loops = matches!(whole.op, Op::Bulk(BulkCopy::ToShared | BulkCopy::Reduce));
        if varying.is_empty() && (self.elects || !loops) {
            self.insts.push(whole);
            return;
        }
        let step = |class, dsts: &[Reg], srcs: &[Reg]| Inst {
            dsts: Operands::new(dsts),
            srcs: Operands::new(srcs),
            line: whole.line,
            ..Inst::bare(Op::Arith(class))
        };
        let (mut steps, mut copy) = (Vec::new(), whole.clone());
        let mut hand_on = |uniform, steps: &mut Vec<Inst>, srcs: &[Reg]| {
            steps.push(step(ArithClass::ToUniform, &[uniform], srcs));
            if !copy.srcs.is_full() {
                copy.srcs.add(uniform);
            }
        };
        // Who takes the turn: a lane that is elected, or those whose values are those of the first one.
        let chosen = self.inner_register();
        if loops {
            steps.push(step(ArithClass::Vote, &[chosen], &[]));
            for &reg in &varying {
                hand_on(self.inner_register(), &mut steps, &[reg, chosen]);
            }
        } else {
            let halves = |reg| std::iter::repeat_n(reg, if self.is_pair(reg) { 2 } else { 1 });
            let words: Vec<Reg> = varying.iter().copied().flat_map(halves).collect();
            let mut same = None;
            for (place, &reg) in words.iter().enumerate() {
                // Which lanes have the value of the first one is known sooner than it is handed on.
                let of = [&[reg][..], same.as_slice()].concat();
                hand_on(self.inner_register(), &mut steps, &of);
                let is_last = place + 1 == words.len();
                let next = if is_last { chosen } else { self.inner_register() };
                steps.push(step(ArithClass::Vote, &[next], &of));
                same = Some(next);
            }
        }
        let (rest, any) = (self.inner_register(), self.inner_register());
        let others =
            [step(ArithClass::IntAdd, &[rest], &[chosen]), step(ArithClass::Vote, &[any], &[rest])];
        // Who is left is found while values are on their way, or behind the copy.
        if varying.is_empty() {
            steps.push(copy);
            steps.extend(others);
        } else {
            steps.extend(others);
            steps.push(copy);
        }
        steps.push(step(ArithClass::Branch, &[], &[any]));
        self.insts.extend(steps);
    }

    /// Issues what is about products of a warpgroup. Descriptors of matrices are values of the warp: each half of one that may differ
    /// from lane to lane is made one (`R2UR`). The product does not wait for that: on an H200 it takes a cycle or two more.
    fn warpgroup(&mut self, whole: Inst) {
        for &reg in whole.srcs.as_slice() {
            if !self.is_pair(reg) || !self.varying[usize::from(reg)] {
                continue;
            }
            for _ in 0..2 {
                let half = Operands::new(&[self.inner_register()]);
                let class = Op::Arith(ArithClass::ToUniform);
                let srcs = Operands::new(&[reg]);
                self.insts.push(Inst { dsts: half, srcs, line: whole.line, ..Inst::bare(class) });
            }
        }
        self.insts.push(Inst { sums: Vec::new(), ..whole });
    }

    /// Whether it is two registers of 32 bits.
    fn is_pair(&self, reg: Reg) -> bool {
        self.code.weights.get(usize::from(reg)) == Some(&2)
    }

    /// Another register for what steps hand on.
    fn inner_register(&mut self) -> Reg {
        self.has_inner = true;
        self.inner = (self.inner + 1) % INNER;
        (self.named + self.inner) as Reg
    }

    /// Issues the steps of a sequence; `whole` has its operands, guard and result.
    fn sequence(&mut self, pc: usize, steps: &[Step], whole: Inst) {
        let low = self.low_sources(self.code.insts[pc].srcs);
        let mut results: Vec<Operands> = Vec::with_capacity(steps.len());
        for (place, step) in steps.iter().enumerate() {
            let mut srcs = if step.whole { whole.srcs } else { Operands::NONE };
            let mut add = |more: &[Reg]| {
                for &reg in more {
                    if waits_for_more(&srcs, 0) {
                        srcs.add(reg);
                    }
                }
            };
            if step.low {
                add(low.as_slice());
            }
            let mut guard = whole.guard;
            if let Some(back) = step.guard {
                add(results[place - back].as_slice());
                guard = results[place - back].as_slice().first().copied();
            }
            step.back.iter().for_each(|back| add(results[place - back].as_slice()));
            let dsts = match step.makes {
                _ if !step.computes() => Operands::NONE,
                Makes::Whole => {
                    // What the low half is has been written.
                    let halves = steps.iter().any(|step| step.makes == Makes::Low);
                    if halves { whole.dsts } else { self.with_lows(whole.dsts) }
                }
                Makes::Low => {
                    let low = |reg: &Reg| self.lows[usize::from(*reg)].unwrap_or(*reg);
                    Operands::new(&whole.dsts.as_slice().iter().map(low).collect::<Vec<_>>())
                }
                Makes::Inner => Operands::new(&[self.inner_register()]),
            };
            results.push(dsts);
            let op = Op::Arith(step.class);
            // Of a sequence, what waits for a step before it waits for the guard through that.
            let guard = guard.filter(|guard| srcs.as_slice().contains(guard));
            let reads = match step.class {
                ArithClass::Move | ArithClass::Control | ArithClass::Converge => 0,
                class if reads::is_double(class) => 2 * step.reads,
                _ => step.reads,
            };
            let ends_block = step.ends_block;
            let line = whole.line;
            self.insts.push(Inst { dsts, srcs, guard, reads, ends_block, line, ..Inst::bare(op) });
        }
    }

    /// Registers that are written, with the low halves that have a name of their own.
    fn with_lows(&self, dsts: Operands) -> Operands {
        let mut all = dsts;
        for &reg in dsts.as_slice() {
            if let Some(low) = self.lows[usize::from(reg)]
                && !all.is_full()
            {
                all.add(low);
            }
        }
        all
    }

    /// The registers of the low halves of `srcs`.
    fn low_sources(&self, srcs: Sources) -> Sources {
        let mut low = Operands::NONE;
        for &reg in self.sources(srcs).as_slice() {
            low.add(self.lows[usize::from(reg)].unwrap_or(reg));
        }
        low
    }

    /// The registers that an instruction waits for: what is gone stands for what it read.
    fn sources(&self, srcs: Sources) -> Sources {
        let mut found = Operands::NONE;
        let mut open: Vec<Reg> = srcs.as_slice().to_vec();
        let mut steps = 0;
        while let Some(reg) = open.pop() {
            match self.makers[usize::from(reg)] {
                Some(maker) if steps < MOST_STEPS => {
                    steps += 1;
                    open.extend_from_slice(self.code.insts[maker as usize].srcs.as_slice());
                }
                Some(_) => {}
                None if waits_for_more(&found, srcs.as_slice().len()) => found.add(reg),
                None => break,
            }
        }
        found
    }
}

/// Whether no instruction changes places with it, whatever it is for.
fn is_wall(inst: &Inst) -> bool {
    use ArithClass::{Branch, Control, Converge};
    let jumps = matches!(inst.op, Op::Arith(Control | Branch | Converge));
    jumps
        || inst.ends_block
        || matches!(
            inst.op,
            Op::Barrier
                | Op::Mbarrier(_)
                | Op::Fence(_)
                | Op::Copies(_)
                | Op::Bulk(_)
                | Op::Warpgroup(_)
                | Op::Exit
        )
}

/// The class of a single instruction: comparisons, selections, minima and maxima of single and half precision run where integers
/// are added, and a branch with a guard may fall through.
fn machine_class(code: &Code, pc: usize, op: Op) -> ArithClass {
    let compares = matches!(code.opcode(pc), "setp" | "set" | "selp" | "slct" | "min" | "max");
    match op {
        Op::Arith(ArithClass::FpAdd)
            if compares && code.types(pc).any(|ty| ty == Type::F32 || ty.half()) =>
        {
            ArithClass::FpCompare
        }
        Op::Arith(ArithClass::Control) if code.opcode(pc) == "bra" && code.is_guarded(pc) => {
            ArithClass::Branch
        }
        Op::Arith(class) => class,
        _ => ArithClass::Control,
    }
}

/// For each register that nothing issued writes, the instruction that did.
fn gone_makers(code: &Code) -> Vec<Option<u32>> {
    let mut makers = vec![None; code.weights.len()];
    let mut issued = vec![false; code.weights.len()];
    for head in code.heads.iter().flatten() {
        head.dsts.as_slice().iter().for_each(|reg| issued[usize::from(*reg)] = true);
    }
    for pc in 0..code.len() {
        for &reg in code.insts[pc].dsts.as_slice() {
            match code.is_gone(pc) {
                true => makers[usize::from(reg)] = Some(pc as u32),
                false => issued[usize::from(reg)] = true,
            }
        }
    }
    makers.iter().zip(issued).map(|(maker, issued)| maker.filter(|_| !issued)).collect()
}
