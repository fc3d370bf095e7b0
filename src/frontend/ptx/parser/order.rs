//! Orders of memory accesses, spelled out as fences.
//!
//! A release is a fence before its access, and an acquire one behind it: that is what they mean, and `ptxas` makes them so
//! (`MEMBAR` before a store, `CCTL.IVALL` behind a load). Within a CTA no order needs an instruction, as its accesses are in order; a cluster is taken
//! for the whole GPU. A fence is recorded for the lanes that run together, as all instructions are: one that no lane executes
//! takes its time.
//!
//! Source: PTX ISA 9.0, sections 8.3 "Memory Consistency Model" and 9.7.13 "fence"; `ptxas` 12 and 13 for compute capability 7.0 to
//! 9.0.

use super::super::ast::{Instruction, Statement};

/// An instruction with the fences that its order means.
pub(super) fn spelled_out(instruction: Instruction) -> impl Iterator<Item = Statement> {
    let [before, after] = fences(&instruction);
    let all = [before, Some(instruction), after];
    all.into_iter().flatten().map(Statement::Instruction)
}

/// The fences before an instruction and behind it.
fn fences(instruction: &Instruction) -> [Option<Instruction>; 2] {
    let has = |word: &str| instruction.modifiers.iter().any(|modifier| modifier == word);
    let scope = match () {
        () if has("cta") || has("shared") || has("shared::cta") => None,
        () if has("sys") => Some("sys"),
        () => Some("gpu"),
    };
    let orders = matches!(instruction.opcode.as_str(), "ld" | "st" | "atom" | "red");
    let Some(scope) = scope.filter(|_| orders) else { return [None, None] };
    let fence = |order: &str| Instruction {
        guard: instruction.guard.clone(),
        opcode: "fence".to_owned(),
        modifiers: vec![order.to_owned(), scope.to_owned()],
        operands: Vec::new(),
        call: None,
        at: instruction.at,
    };
    let of = |order: &str| (has(order) || has("acq_rel")).then(|| fence(order));
    [of("release"), of("acquire")]
}
