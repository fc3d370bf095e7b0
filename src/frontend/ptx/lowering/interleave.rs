//! Independent instructions side by side.
//!
//! A warp issues in order, so an instruction that waits for the one before it holds up all that follow. `ptxas` puts others
//! between them: it knows how long each result takes, and at every cycle takes the first instruction of the region that need
//! not wait, as long as there are registers for its result. Memory instructions keep their order, and nothing passes a barrier,
//! a branch, an exit or a look at the clock.
//!
//! The rules and latencies are those that the stall counts in code of `ptxas` 13.0 for `sm_90` show.

use crate::isa::{AccessKind, ArithClass, Inst, Op, Reg};

/// How far ahead of the first instruction that is not ordered yet others are looked for. Twice as far changes no order of the
/// kernels that are compared with a GPU.
const WINDOW: usize = 64;

/// Cycles from an instruction to the first one that can use its result: arithmetic, products of 64 bits, double precision,
/// special functions, matrix products, loads that hit.
const ARITHMETIC: u32 = 4;
const WIDE: u32 = 5;
const DOUBLE: u32 = 8;
const SPECIAL: u32 = 18;
const PRODUCT: u32 = 25;
const LOAD: u32 = 30;
/// What a predicate takes more to an instruction that it guards.
const TO_GUARD: u32 = 9;

/// Nothing.
const NONE: u32 = u32::MAX;

/// Puts regions in order, one after the other.
pub struct Interleaver {
    /// By register: its value at the place that is looked at.
    present: Vec<u32>,
}

/// What a register holds from one write to the next.
struct Value {
    weight: i32,
    /// The instruction that made it; [`NONE`] for what was there before.
    maker: u32,
    readers: Vec<u32>,
    /// Readers that are not ordered yet.
    left: usize,
}

/// How an instruction hangs together with others.
#[derive(Default)]
struct Links {
    /// Instructions before it, and the cycles that it must stay behind each.
    needs: Vec<(u32, u32)>,
    reads: Vec<u32>,
    makes: Vec<u32>,
}

/// A region under way.
struct Region {
    values: Vec<Value>,
    links: Vec<Links>,
    /// By instruction: the cycle in which it is issued; [`NONE`] for those that are not ordered yet.
    issued: Vec<u32>,
    order: Vec<usize>,
    now: u32,
    /// 32-bit registers in use, less those at the start.
    held: i32,
}

impl Interleaver {
    /// Of a kernel with so many registers.
    pub fn new(registers: usize) -> Self {
        Interleaver { present: vec![NONE; registers] }
    }

    /// The order in which a region is issued. Nothing passes those that are walls. `weights` has the 32-bit registers that each
    /// register fills, those beyond fill none; `room` is how many are free at the start.
    pub fn order(
        &mut self,
        insts: &[Inst],
        is_wall: &dyn Fn(usize) -> bool,
        weights: &[u8],
        room: i32,
    ) -> Vec<usize> {
        let mut region = self.region(insts, weights);
        let mut start = 0;
        while start < insts.len() {
            let end = (start..insts.len()).find(|at| is_wall(*at)).unwrap_or(insts.len());
            let most = region.peak(start..end).max(room);
            region.between_walls(start, end, most);
            if end < insts.len() {
                region.issue(end, region.now);
            }
            start = end + 1;
        }
        region.order
    }

    fn region(&mut self, insts: &[Inst], weights: &[u8]) -> Region {
        let mut values: Vec<Value> = Vec::new();
        let mut links: Vec<Links> = Vec::with_capacity(insts.len());
        let mut last_access = NONE;
        let weight = |reg: Reg| weights.get(usize::from(reg)).copied().unwrap_or(0).into();
        for (at, inst) in (0..).zip(insts) {
            let mut mine = Links::default();
            for &reg in inst.srcs.as_slice() {
                let present = &mut self.present[usize::from(reg)];
                if *present == NONE {
                    *present = values.len() as u32;
                    values.push(Value::new(weight(reg), NONE));
                }
                let value = &mut values[*present as usize];
                if value.maker != NONE {
                    let is_guard = inst.guard == Some(reg) && value.weight == 0;
                    let more = if is_guard { TO_GUARD } else { 0 };
                    let latency = latency(insts[value.maker as usize].op) + more;
                    mine.needs.push((value.maker, latency));
                }
                value.readers.push(at);
                value.left += 1;
                mine.reads.push(*present);
            }
            for &reg in inst.dsts.as_slice() {
                let present = &mut self.present[usize::from(reg)];
                if let Some(old) = values.get(*present as usize) {
                    let others = old.readers.iter().chain([&old.maker]);
                    let others = others.filter(|other| **other != at && **other != NONE);
                    mine.needs.extend(others.map(|other| (*other, 1)));
                }
                *present = values.len() as u32;
                mine.makes.push(*present);
                values.push(Value::new(weight(reg), at));
            }
            if inst.op.has_addresses() {
                if last_access != NONE {
                    mine.needs.push((last_access, 1));
                }
                last_access = at;
            }
            links.push(mine);
        }
        for inst in insts {
            for reg in inst.srcs.as_slice().iter().chain(inst.dsts.as_slice()) {
                self.present[usize::from(*reg)] = NONE;
            }
        }
        let issued = vec![NONE; insts.len()];
        Region { values, links, issued, order: Vec::with_capacity(insts.len()), now: 0, held: 0 }
    }
}

impl Value {
    fn new(weight: i32, maker: u32) -> Self {
        Value { weight, maker, readers: Vec::new(), left: 0 }
    }
}

impl Region {
    /// The most registers in use in the given order of some instructions that follow those that are ordered.
    fn peak(&mut self, range: std::ops::Range<usize>) -> i32 {
        let before = self.held;
        let mut peak = before;
        for at in range.clone() {
            self.count(at);
            peak = peak.max(self.held);
        }
        for read in range.flat_map(|at| &self.links[at].reads) {
            self.values[*read as usize].left += 1;
        }
        self.held = before;
        peak
    }

    /// Orders `start..end`, with no more than `most` registers in use where that can be.
    fn between_walls(&mut self, start: usize, end: usize, most: i32) {
        let mut oldest = start;
        loop {
            while oldest < end && self.issued[oldest] != NONE {
                oldest += 1;
            }
            if oldest == end {
                return;
            }
            let (at, time) = self.next(oldest, end.min(oldest + WINDOW), most);
            self.issue(at, time);
        }
    }

    /// The instruction that comes next, and when. All before `oldest` is ordered, and that is not.
    fn next(&self, oldest: usize, end: usize, most: i32) -> (usize, u32) {
        // Where nothing finds room the oldest goes: it needs no other one.
        let mut best = None;
        for at in (oldest..end).filter(|at| self.issued[*at] == NONE) {
            let Some(ready) = self.ready(at) else { continue };
            let change = self.change(at);
            if change > 0 && self.held + change > most {
                continue;
            }
            if ready == self.now {
                return (at, ready);
            }
            if best.is_none_or(|(_, earliest)| ready < earliest) {
                best = Some((at, ready));
            }
        }
        best.unwrap_or_else(|| (oldest, self.ready(oldest).unwrap_or(self.now)))
    }

    /// When an instruction can issue; `None` while one that it needs is not ordered.
    fn ready(&self, at: usize) -> Option<u32> {
        self.links[at].needs.iter().try_fold(self.now, |ready, &(need, cycles)| {
            let issued = self.issued[need as usize];
            (issued != NONE).then(|| ready.max(issued + cycles))
        })
    }

    /// By how many registers in use it changes.
    fn change(&self, at: usize) -> i32 {
        let Links { reads, makes, .. } = &self.links[at];
        let value = |place: &u32| &self.values[*place as usize];
        let more: i32 = makes.iter().map(|made| value(made).weight).sum();
        let last = reads.iter().map(value).filter(|value| value.left == 1);
        more - last.map(|value| value.weight).sum::<i32>()
    }

    fn count(&mut self, at: usize) {
        self.held += self.change(at);
        for read in &self.links[at].reads {
            self.values[*read as usize].left -= 1;
        }
    }

    fn issue(&mut self, at: usize, time: u32) {
        self.count(at);
        self.issued[at] = time;
        self.now = time + 1;
        self.order.push(at);
    }
}

/// Cycles from an instruction to one that reads its result.
fn latency(op: Op) -> u32 {
    match op {
        Op::Memory(op) if op.kind == AccessKind::Store => 1,
        Op::Memory(_) => LOAD,
        Op::Arith(class) => match class {
            ArithClass::IntMulWide => WIDE,
            ArithClass::DpAdd | ArithClass::DpMul | ArithClass::DpFma => DOUBLE,
            ArithClass::Sfu
            | ArithClass::SfuPair
            | ArithClass::Shuffle
            | ArithClass::MatchAll
            | ArithClass::Reduce => SPECIAL,
            class if class.is_matrix_product() => PRODUCT,
            _ => ARITHMETIC,
        },
        Op::Match => SPECIAL,
        Op::Barrier
        | Op::Mbarrier(_)
        | Op::Fence(_)
        | Op::Copies(_)
        | Op::Bulk(_)
        | Op::Warpgroup(_)
        | Op::Exit => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Operands;

    fn sum(to: Reg, from: Reg) -> Inst {
        let class = Op::Arith(ArithClass::FpAdd);
        Inst::new(class, Operands::new(&[to]), Operands::new(&[from]), 0)
    }

    fn order(insts: &[Inst], wall: Option<usize>, room: i32) -> Vec<usize> {
        let is_wall = |at| Some(at) == wall;
        let mut interleaver = Interleaver::new(16);
        let mut again = || interleaver.order(insts, &is_wall, &[1; 16], room);
        let first = again();
        assert_eq!(again(), first, "nothing is left of a region");
        first
    }

    #[test]
    fn what_need_not_wait_goes_first() {
        let two_chains = [sum(1, 0), sum(1, 1), sum(1, 1), sum(3, 2), sum(3, 3), sum(3, 3)];
        assert_eq!(order(&two_chains, None, 9), [0, 3, 1, 4, 2, 5]);
        assert_eq!(order(&two_chains, Some(3), 9), [0, 1, 2, 3, 4, 5]);
        // A register that is written again, and one that is still read.
        let again = [sum(1, 0), sum(2, 1), sum(0, 5), sum(1, 5)];
        assert_eq!(order(&again, None, 9), [0, 2, 1, 3]);
    }

    #[test]
    fn no_value_is_made_early_for_which_there_is_no_register() {
        let use_of =
            |regs: &[Reg]| Inst { dsts: Operands::NONE, srcs: Operands::new(regs), ..sum(0, 0) };
        // The second chain's value comes beside another one that is still read.
        let insts = [sum(1, 0), sum(1, 1), use_of(&[1]), sum(5, 4), use_of(&[4, 5])];
        assert_eq!(order(&insts, None, 1), [0, 3, 1, 4, 2]);
        assert_eq!(order(&insts, None, 0), [0, 1, 2, 3, 4]);
    }
}
