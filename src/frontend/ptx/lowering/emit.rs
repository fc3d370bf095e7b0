//! The instructions that are issued, and what each depends on.

use super::code::{Code, Fate};
use super::pressure::Pressure;
use super::{Issued, IssuedBlock, expand, schedule};
use crate::frontend::ptx::program::NO_BLOCK;
use crate::isa::{ArithClass, Inst, MAX_OPERANDS, Op, Operands, Reg};

/// How far back a value is followed through instructions that are gone.
const MOST_STEPS: usize = 64;

/// Puts the blocks together.
pub fn emit(code: &Code) -> Issued {
    let makers = gone_makers(code);
    let registers = code.weights.len();
    let (mut writer, mut readers) = (vec![u32::MAX; registers], vec![Vec::new(); registers]);
    let mut pressure = Pressure::new(code);
    let mut issued = Issued::default();
    for block in 0..code.blocks.len() {
        let start = issued.insts.len() as u32;
        let first = code.blocks[block].start as usize;
        let line = code.insts[first].line;
        let plain = |op: &Op| Inst { op: *op, dsts: Operands::NONE, srcs: Operands::NONE, line };
        issued.insts.extend(code.heads[block].iter().map(plain));
        let end = code.blocks[block].end as usize - 1;
        let branches = matches!(code.opcode(end), "bra" | "brx");
        for pc in schedule::order(code, block, &mut pressure, &mut writer, &mut readers) {
            if branches && pc == end {
                issued.insts.extend(code.tails[block].iter().map(plain));
            }
            instruction(code, pc, &makers, &mut issued.insts);
        }
        if !branches {
            issued.insts.extend(code.tails[block].iter().map(plain));
        }
        issued.blocks.push(IssuedBlock {
            start,
            len: issued.insts.len() as u32 - start,
            predicated: code.predicated[block].unwrap_or(NO_BLOCK),
        });
    }
    issued
}

fn instruction(code: &Code, pc: usize, makers: &[Option<u32>], to: &mut Vec<Inst>) {
    if code.is_gone(pc) {
        return;
    }
    let inst = &code.insts[pc];
    let srcs = sources(code, inst.srcs, makers);
    let number = Inst {
        op: Op::Arith(ArithClass::Move),
        dsts: Operands::NONE,
        srcs: Operands::NONE,
        line: inst.line,
    };
    to.extend(std::iter::repeat_n(number, expand::numbers_in_registers(code, pc)));
    match &code.fates[pc] {
        Fate::Gone | Fate::Dead => {}
        Fate::Same => to.push(Inst { srcs, ..inst.clone() }),
        Fate::Into(classes) => {
            for (place, class) in classes.iter().enumerate() {
                // The steps of a sequence hand their results on in the register of the last.
                let chained = place > 0 && !inst.dsts.as_slice().is_empty();
                let srcs = if chained { inst.dsts } else { srcs };
                to.push(Inst { op: Op::Arith(*class), srcs, ..inst.clone() });
            }
        }
    }
}

/// For each register that nothing issued writes, the instruction that did.
fn gone_makers(code: &Code) -> Vec<Option<u32>> {
    let mut makers = vec![None; code.weights.len()];
    let mut issued = vec![false; code.weights.len()];
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

/// The registers that an instruction waits for: what is gone stands for what it read. Beyond the most that an instruction
/// can name the rest is left out; they are those that were computed first, as a rule.
fn sources(code: &Code, srcs: Operands, makers: &[Option<u32>]) -> Operands {
    let mut found = Operands::NONE;
    let mut open: Vec<Reg> = srcs.as_slice().to_vec();
    let mut steps = 0;
    while let Some(reg) = open.pop() {
        match makers[usize::from(reg)] {
            Some(maker) if steps < MOST_STEPS => {
                steps += 1;
                open.extend_from_slice(code.insts[maker as usize].srcs.as_slice());
            }
            Some(_) => {}
            None if found.as_slice().len() < MAX_OPERANDS => found.add(reg),
            None => break,
        }
    }
    found
}
