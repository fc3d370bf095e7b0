//! Synthetic kernels, read back from their streams.

mod addresses;
mod instructions;
mod kernel;
mod properties;
mod statistics;

use std::sync::Arc;

use super::SyntheticSource;
use crate::config::parse::stated;
use crate::config::{Checked, SyntheticSpec};
use crate::isa::{AccessKind, BarrierUse, Cta, LaneAddresses, MemoryOp, Op, WarpCursor, lanes};
use crate::workload::{DeviceMemory, SyntheticLaunch};

const BASE: u64 = DeviceMemory::BASE;

/// A kernel of `ctas` CTAs and `warps` warps, from the text of its phases and other fields.
fn spec(ctas: u32, warps: u32, rest: &str) -> SyntheticSpec {
    let spec: Checked<SyntheticSpec> = stated(&format!("(ctas: {ctas}, warps: {warps}, {rest})"));
    (*spec).clone()
}

fn source(ctas: u32, warps: u32, rest: &str) -> SyntheticSource {
    SyntheticSource::new(&SyntheticLaunch { spec: Arc::new(spec(ctas, warps, rest)), seed: 1 })
}

/// A kernel with one phase and one access.
fn one(ctas: u32, warps: u32, accesses: u32, access: &str) -> SyntheticSource {
    source(ctas, warps, &format!("phases: [(accesses: {accesses}, mix: [({access})])]"))
}

/// An executed instruction: its place in the table, and what it accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Executed {
    pc: usize,
    op: Op,
    addresses: Option<LaneAddresses>,
}

impl Executed {
    fn memory(&self) -> Option<(MemoryOp, &LaneAddresses)> {
        match (self.op, &self.addresses) {
            (Op::Memory(op), Some(addresses)) => Some((op, addresses)),
            _ => None,
        }
    }

    /// Addresses of the lanes that take part.
    fn lanes(&self) -> Vec<u64> {
        let (_, addresses) = self.memory().expect("a memory instruction");
        lanes(addresses.mask).map(|lane| addresses.of(lane)).collect()
    }
}

/// What a warp executes.
fn execute(source: &mut SyntheticSource, cta: u64, warp: usize) -> Vec<Executed> {
    use crate::isa::CtaSource;
    let mut storage = Cta::default();
    source.fill(cta, &mut storage);
    let stream = &storage.warps[warp];
    let mut cursor = WarpCursor::default();
    let mut executed = Vec::new();
    while let Some((pc, mask)) = cursor.peek(stream) {
        assert_eq!(mask, !0);
        let op = source.kernel().insts[pc as usize].op;
        let addresses = matches!(op, Op::Memory(_)).then(|| cursor.addresses(stream));
        if op == Op::Barrier {
            assert_eq!(cursor.barrier(stream), BarrierUse::ALL);
        }
        executed.push(Executed { pc: pc as usize, op, addresses });
        cursor.advance(stream);
    }
    executed
}

/// The lanes' addresses of every memory instruction of a warp, from the array's start.
fn offsets(source: &mut SyntheticSource, cta: u64, warp: usize) -> Vec<Vec<u64>> {
    execute(source, cta, warp)
        .iter()
        .filter(|executed| executed.memory().is_some())
        .map(|executed| executed.lanes().iter().map(|address| address - BASE).collect())
        .collect()
}

/// The kinds of the memory instructions of a warp.
fn kinds(source: &mut SyntheticSource, cta: u64, warp: usize) -> Vec<AccessKind> {
    execute(source, cta, warp)
        .iter()
        .filter_map(|executed| Some(executed.memory()?.0.kind))
        .collect()
}
