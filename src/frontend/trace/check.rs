//! Whether a kernel from a file is one that the timing model can run.

use crate::isa::{
    AccessKind, GroupProduct, Kernel, MAX_RESULTS, MAX_SOURCES, Op, Space, Warpgroup,
};
use crate::units::noun;

/// Threads of a CTA, at most: more than any chip runs.
const CTA_THREADS: u32 = 1 << 16;

/// CTAs of a launch, at most: a grid has 2^31 by 2^16 by 2^16, and nobody simulates so many.
const CTAS: u64 = 1 << 40;

/// Registers that machine code can name, R0 to R254 and the rest of a wide value from the last one on.
const NAMES: usize = 255 + 3;

/// Says what is wrong with a kernel.
pub fn check(kernel: &Kernel) -> Result<(), String> {
    let Kernel { regs, registers_per_thread, cta_threads, ctas, insts, buffers, .. } = kernel;
    if !(1..=CTA_THREADS).contains(cta_threads) || !(1..=CTAS).contains(ctas) {
        return Err(format!(
            "it has {ctas} {} of {cta_threads} {}",
            noun(*ctas, "CTA", "CTAs"),
            noun((*cta_threads).into(), "thread", "threads")
        ));
    }
    if *registers_per_thread > 1 << 16 {
        return Err(format!("a thread has {registers_per_thread} registers"));
    }
    if u32::try_from(insts.len()).is_err() {
        return Err("it has 2^32 instructions or more".to_owned());
    }
    // Every register has a place in every warp: there are not more than instructions can name, which in machine code are
    // not named one behind the other.
    if usize::from(*regs) > NAMES.max((MAX_RESULTS + MAX_SOURCES) * (insts.len() + 1)) {
        return Err(format!(
            "it has {regs} registers and {} {}",
            insts.len(),
            noun(insts.len() as u64, "instruction", "instructions")
        ));
    }
    if buffers.iter().any(|buffer| buffer.start > buffer.end) {
        return Err("a buffer ends before it begins".to_owned());
    }
    for (place, inst) in insts.iter().enumerate() {
        let wrong = |what: String| Err(format!("instruction {place} {what}"));
        let mut named = inst.srcs.as_slice().iter().chain(inst.dsts.as_slice());
        if let Some(reg) = named.find(|reg| *reg >= regs) {
            return wrong(format!("names register {reg} of {regs}"));
        }
        if inst.guard.is_some_and(|guard| !inst.srcs.as_slice().contains(&guard)) {
            return wrong("does not read its guard".to_owned());
        }
        if let Op::Warpgroup(Warpgroup::Multiply(GroupProduct { columns, .. })) = inst.op
            && !((8..=256).contains(&columns) && columns % 8 == 0)
        {
            return wrong(format!("multiplies matrices of {columns} columns"));
        }
        if let Op::Memory(op) = inst.op {
            if !op.bytes.is_power_of_two() || op.bytes > 16 {
                return wrong(format!("accesses {} bytes", op.bytes));
            }
            if op.space == Space::Constant && op.kind != AccessKind::Load {
                return wrong("writes constants".to_owned());
            }
            if op.kind == AccessKind::LoadMatrix
                && !matches!(op.space, Space::Shared | Space::Generic)
            {
                return wrong("reads matrices outside shared memory".to_owned());
            }
        }
    }
    Ok(())
}
