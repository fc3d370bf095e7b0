//! A kernel as the rules see it: instructions with operands, definitions and uses.

use std::ops::Range;

use super::super::ast::{Instruction, Type, VarSpace};
use super::super::liveness;
use super::super::parts::{Block, Special};
use super::unroll::Copies;
use crate::isa::{ArithClass, Inst, Op, Reg, Sources};

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A register, or the predicate of a register.
    Reg(Reg),
    /// A number, as bits.
    Number(u64),
    /// A special register that is read as one.
    Special(Special),
    /// An address in a variable; for `[symbol+offset]` too. In global memory it is not known yet.
    Symbol(VarSpace, u64),
    /// A register with an offset in bytes.
    Address(Reg, i64),
    /// A clock, a label, `_`.
    Other,
}

/// An instruction of the text, with the registers that its operands name.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// As it is written.
    pub text: &'a Instruction,
    /// Operands in order, vectors and pairs one by one.
    pub args: Vec<Arg>,
    /// Whether the text asks that the loop that it is in is left as it is (`.pragma "nounroll"`).
    pub nounroll: bool,
}

/// Registers that an instruction waits for beside those that it names itself, all together, at most: what is left out was computed first, as a
/// rule, and is there.
const MOST_AWAITED: usize = 8;

/// Whether an instruction that names `own` registers waits for one more than `srcs`.
pub fn waits_for_more(srcs: &Sources, own: usize) -> bool {
    srcs.as_slice().len() < own.max(MOST_AWAITED)
}

/// What becomes of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// One instruction of its own class.
    Same,
    /// Nothing, and nobody reads it.
    Dead,
    /// Nothing: its readers depend on what it reads.
    Gone,
    /// Others.
    Into(Sequence),
}

/// What an instruction becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The classes of these instructions, one after the other.
    pub classes: Vec<ArithClass>,
    /// How they depend on each other, in the notation of `expand`; without it each depends on the one before, and the last is
    /// the result.
    pub graph: Option<&'static str>,
}

/// Definitions of a register.
#[derive(Clone, Copy, Debug, Default)]
struct Defs {
    count: u32,
    last: u32,
}

/// A kernel under way.
pub struct Code<'a> {
    /// Instructions as they are written.
    pub lines: Vec<Line<'a>>,
    /// As the timing model would see them one by one; registers change as copies are removed.
    pub insts: Vec<Inst>,
    /// What becomes of each.
    pub fates: Vec<Fate>,
    /// Basic blocks.
    pub blocks: Vec<Block>,
    /// Blocks that may follow each.
    pub successors: Vec<Vec<u32>>,
    /// The block of each instruction.
    pub block_of: Vec<u32>,
    /// 32-bit registers that each register fills; 0 for predicates.
    pub weights: Vec<u8>,
    /// Instructions at the start of each block that the text does not have there.
    pub heads: Vec<Vec<Inst>>,
    /// What there is before a block's branch, or at its end.
    pub tails: Vec<Vec<Op>>,
    /// For each block the one behind it that is predicated instead of jumped over.
    pub predicated: Vec<Option<u32>>,
    /// For the first block of each loop, those that stand for several iterations.
    pub unrolled: Vec<Option<Copies>>,
    defs: Vec<Defs>,
    users: Vec<Vec<u32>>,
}

impl<'a> Code<'a> {
    pub fn new(
        lines: Vec<Line<'a>>,
        insts: &[Inst],
        (blocks, successors): (&[Block], &[Vec<u32>]),
        weights: &[u8],
    ) -> Code<'a> {
        let mut block_of = vec![0; insts.len()];
        for (number, block) in blocks.iter().enumerate() {
            block_of[block.start as usize..block.end as usize].fill(number as u32);
        }
        let mut code = Code {
            fates: vec![Fate::Same; lines.len()],
            lines,
            insts: insts.to_vec(),
            blocks: blocks.to_vec(),
            successors: successors.to_vec(),
            block_of,
            weights: weights.to_vec(),
            heads: vec![Vec::new(); blocks.len()],
            tails: vec![Vec::new(); blocks.len()],
            predicated: vec![None; blocks.len()],
            unrolled: vec![None; blocks.len()],
            defs: Vec::new(),
            users: Vec::new(),
        };
        code.index();
        code
    }

    /// Counts definitions and uses anew, of what is not dead: needed where an instruction dies, or gets other registers. What is
    /// gone because another does its work still counts.
    pub fn index(&mut self) {
        self.defs = vec![Defs::default(); self.weights.len()];
        self.users = vec![Vec::new(); self.weights.len()];
        for pc in 0..self.insts.len() {
            if self.fates[pc] == Fate::Dead {
                continue;
            }
            for reg in self.insts[pc].written() {
                let defs = &mut self.defs[usize::from(reg)];
                *defs = Defs { count: defs.count + 1, last: pc as u32 };
            }
            for reg in self.insts[pc].read() {
                self.users[usize::from(reg)].push(pc as u32);
            }
        }
    }

    /// The instructions of blocks that follow one another.
    pub fn range(&self, blocks: &Range<usize>) -> Range<usize> {
        self.blocks[blocks.start].start as usize..self.blocks[blocks.end - 1].end as usize
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_gone(&self, pc: usize) -> bool {
        matches!(self.fates[pc], Fate::Gone | Fate::Dead)
    }

    fn is_dead(&self, pc: usize) -> bool {
        self.fates[pc] == Fate::Dead
    }

    /// Whether these are what `pc` becomes.
    pub fn becomes(&self, pc: usize, these: &[ArithClass]) -> bool {
        matches!(&self.fates[pc], Fate::Into(Sequence { classes, .. }) if classes == these)
    }

    pub fn opcode(&self, pc: usize) -> &'a str {
        self.lines[pc].text.opcode.as_str()
    }

    /// Whether the instruction has that modifier.
    pub fn has(&self, pc: usize, word: &str) -> bool {
        self.lines[pc].text.modifiers.iter().any(|known| known == word)
    }

    pub fn is_guarded(&self, pc: usize) -> bool {
        self.lines[pc].text.guard.is_some()
    }

    /// The types that an instruction names, in order.
    pub fn types(&self, pc: usize) -> impl Iterator<Item = Type> + use<'a> {
        self.lines[pc].text.modifiers.iter().filter_map(|word| Type::from_name(word))
    }

    /// Bytes of the first type; 0 without one.
    pub fn bytes(&self, pc: usize) -> u32 {
        self.types(pc).next().map_or(0, Type::bytes)
    }

    pub fn arg(&self, pc: usize, place: usize) -> Arg {
        self.lines[pc].args.get(place).copied().unwrap_or(Arg::Other)
    }

    /// The branch that would jump over `pc` were it not predicated.
    pub fn jump_over(&self, pc: usize) -> Option<usize> {
        let block = self.block_of[pc];
        let before = (block as usize).checked_sub(1)?;
        (self.predicated[before] == Some(block)).then(|| self.blocks[before].end as usize - 1)
    }

    /// Whether it accesses memory, waits or reads a clock: it stays, and so does its place among others that may touch the
    /// same.
    pub fn is_pinned(&self, pc: usize) -> bool {
        match self.insts[pc].op {
            Op::Memory(_)
            | Op::Match
            | Op::Barrier
            | Op::Mbarrier(_)
            | Op::Fence(_)
            | Op::Copies(_)
            | Op::Bulk(_)
            | Op::Warpgroup(_)
            | Op::Exit => true,
            Op::Arith(ArithClass::Control) => {
                !matches!(self.opcode(pc), "bra" | "brx" | "call" | "ret")
            }
            Op::Arith(_) => self.opcode(pc) == "mov" && self.arg(pc, 1) == Arg::Other,
        }
    }

    /// The only instruction that writes a register, if there is one, it has no guard and writes nothing else.
    pub fn maker(&self, arg: Arg) -> Option<usize> {
        let (Arg::Reg(reg) | Arg::Address(reg, _)) = arg else { return None };
        let Defs { count: 1, last } = self.defs[usize::from(reg)] else { return None };
        let pc = last as usize;
        let alone = self.insts[pc].written().count() == 1;
        (alone && !self.is_guarded(pc) && !self.is_gone(pc)).then_some(pc)
    }

    /// Whether a register is written once, and not under a guard.
    pub fn is_single(&self, reg: Reg) -> bool {
        let Defs { count, last } = self.defs[usize::from(reg)];
        count == 1 && !self.is_guarded(last as usize)
    }

    /// The instructions that read what `pc` writes, for themselves or, where they are gone, for their readers.
    pub fn readers(&self, pc: usize) -> impl Iterator<Item = usize> {
        let dsts = self.insts[pc].dsts.as_slice().iter();
        dsts.flat_map(|reg| &self.users[usize::from(*reg)])
            .map(|user| *user as usize)
            .filter(|user| !self.is_dead(*user))
    }

    /// Puts the instruction at `from` before that at `to`, which comes earlier in its block. Neither ends the block. Definitions and
    /// uses are to be counted anew.
    pub fn move_up(&mut self, from: usize, to: usize) {
        self.lines[to..=from].rotate_right(1);
        self.insts[to..=from].rotate_right(1);
        self.fates[to..=from].rotate_right(1);
    }

    /// The same, where blocks may end between them, all of which control goes through one after the other.
    pub fn move_up_blocks(&mut self, from: usize, to: usize) {
        self.move_up(from, to);
        let (from, to) = (from as u32, to as u32);
        for Block { start, end, .. } in &mut self.blocks {
            *start += u32::from(to < *start && *start <= from);
            *end += u32::from(to < *end && *end <= from);
        }
        self.block_of[to as usize..=from as usize].rotate_right(1);
        self.block_of[to as usize] = self.block_of[to as usize + 1];
    }

    /// Whether control comes from the end of one block alone, and goes from there to the next one alone.
    pub fn follows(&self, block: usize, ways_in: &[u32]) -> bool {
        block > 0 && ways_in[block] == 1 && self.successors[block - 1] == [block as u32]
    }

    /// How many blocks may come before each.
    pub fn ways_in(&self) -> Vec<u32> {
        let mut ways_in = vec![0; self.blocks.len()];
        self.successors.iter().flatten().for_each(|next| ways_in[*next as usize] += 1);
        ways_in
    }

    /// Takes out what nobody reads.
    pub fn kill(&mut self, pc: usize) {
        self.fates[pc] = Fate::Dead;
    }

    /// Lets readers of `pc` depend on what it reads.
    pub fn remove(&mut self, pc: usize) {
        self.fates[pc] = Fate::Gone;
    }

    /// Makes these of `pc`, each depending on the one before.
    pub fn set(&mut self, pc: usize, classes: &[ArithClass]) {
        self.fates[pc] = Fate::Into(Sequence { classes: classes.to_vec(), graph: None });
    }

    /// Gives every register the name that `names` has for it.
    pub fn rename(&mut self, names: &[Reg]) {
        let name = |reg: Reg| names[usize::from(reg)];
        for inst in &mut self.insts {
            inst.dsts = inst.dsts.renamed(name);
            inst.srcs = inst.srcs.renamed(name);
            inst.guard = inst.guard.map(name);
            inst.sums.iter_mut().for_each(|reg| *reg = name(*reg));
        }
        for arg in self.lines.iter_mut().flat_map(|line| &mut line.args) {
            if let Arg::Reg(reg) | Arg::Address(reg, _) = arg {
                *reg = name(*reg);
            }
        }
        self.index();
    }

    /// Replaces a register that `pc` reads.
    pub fn replace(&mut self, pc: usize, old: Reg, new: Reg) {
        let srcs = &mut self.insts[pc].srcs;
        *srcs = srcs.renamed(|reg| if reg == old { new } else { reg });
        self.users[usize::from(old)].retain(|user| *user as usize != pc);
        self.users[usize::from(new)].push(pc as u32);
    }

    /// The registers that live on behind each block; `None` for a kernel too large to look at.
    pub fn live_out(&self) -> Option<Vec<Vec<u64>>> {
        let guarded: Vec<bool> = (0..self.len()).map(|pc| self.is_guarded(pc)).collect();
        let registers = self.weights.len();
        liveness::live_out((&self.blocks, &self.successors), &self.insts, &guarded, registers)
    }
}
