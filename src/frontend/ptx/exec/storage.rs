//! What a CTA holds, made once for a launch and used for one CTA after the other.

use std::ops::Range;

use super::super::program::{ConstantRow, Program, TRUE};
use super::Checks;
use super::barrier::Barriers;
use super::calls::Calls;
use super::cta::{CtaState, Place};
use super::shared::SharedMemory;
use super::stack::Stack;
use crate::isa::WARP;

impl CtaState {
    /// Decides what is checked, from the next CTA on.
    pub fn set_checks(&mut self, checks: Checks) {
        self.checks = checks;
        self.shared = SharedMemory::new(self.shared.len(), checks.uninitialised_shared);
    }

    /// How often a warp has called `printf`.
    pub fn prints(&self) -> u64 {
        self.prints
    }

    /// Storage for CTAs of `threads` threads with these constants. `value` gives a constant row's value for a thread,
    /// `None` for the coordinates of the CTA along an axis, which `axis` names.
    pub fn new(
        program: &Program,
        threads: u32,
        shared_bytes: u32,
        consts: Vec<u8>,
        value: impl Fn(&ConstantRow, u32) -> u64,
        axis: impl Fn(&ConstantRow) -> Option<usize>,
    ) -> CtaState {
        let warps = threads.div_ceil(WARP as u32) as usize;
        let (narrow_rows, wide_rows) =
            (usize::from(program.narrow_rows), usize::from(program.wide_rows));
        let mut narrow = vec![[0; WARP]; warps * narrow_rows];
        let mut wide = vec![[0; WARP]; warps * wide_rows];
        let mut ctaid_rows = Vec::new();
        for constant in &program.constants {
            if let Some(axis) = axis(constant) {
                ctaid_rows.push((*constant, axis));
                continue;
            }
            let row = usize::from(constant.row);
            for warp in 0..warps {
                let values: [u64; WARP] =
                    std::array::from_fn(|lane| value(constant, (warp * WARP + lane) as u32));
                if constant.wide {
                    wide[warp * wide_rows + row] = values;
                } else {
                    narrow[warp * narrow_rows + row] = values.map(|value| value as u32);
                }
            }
        }
        CtaState {
            threads,
            narrow,
            wide,
            narrow_variables: variables(program, narrow_rows, false),
            wide_variables: variables(program, wide_rows, true),
            preds: vec![0; warps * usize::from(program.pred_rows)],
            stacks: vec![Stack::default(); warps],
            calls: vec![Calls::default(); warps],
            barriers: Barriers::default(),
            passed: vec![None; warps],
            shared: SharedMemory::new(
                shared_bytes as usize,
                Checks::default().uninitialised_shared,
            ),
            local: vec![0; warps * WARP * program.local_bytes as usize],
            consts,
            ctaid_rows,
            last_buffer: 0..0,
            checks: Checks::default(),
            prints: 0,
            executed: vec![0; warps],
            stream_bytes: 0,
            uncounted: 0,
        }
    }

    /// As it is when a CTA starts.
    pub(super) fn reset(&mut self, program: &Program, place: Place) {
        clear(&mut self.narrow, program.narrow_rows, &self.narrow_variables);
        clear(&mut self.wide, program.wide_rows, &self.wide_variables);
        self.preds.fill(0);
        self.shared.reset();
        self.barriers = Barriers::default();
        self.passed.fill(None);
        self.calls.iter_mut().for_each(Calls::start);
        (self.stream_bytes, self.uncounted) = (0, 0);
        self.executed.fill(0);
        self.local.fill(0);
        for preds in self.preds.chunks_exact_mut(usize::from(program.pred_rows)) {
            preds[usize::from(TRUE)] = !0;
        }
        for (constant, axis) in &self.ctaid_rows {
            let value = place.at[*axis];
            let row = usize::from(constant.row);
            for rows in self.narrow.chunks_exact_mut(usize::from(program.narrow_rows)) {
                rows[row] = [value; WARP];
            }
        }
        for (warp, stack) in self.stacks.iter_mut().enumerate() {
            let lanes = (self.threads - (warp * WARP) as u32).min(WARP as u32);
            stack.start(!0 >> (WARP as u32 - lanes));
        }
    }
}

/// The rows of a warp that are no constants.
fn variables(program: &Program, rows: usize, wide: bool) -> Vec<Range<usize>> {
    let mut constants: Vec<usize> = program
        .constants
        .iter()
        .filter(|constant| constant.wide == wide)
        .map(|constant| usize::from(constant.row))
        .collect();
    constants.sort_unstable();
    let ends = constants.iter().copied().chain([rows]);
    let starts = [0].into_iter().chain(constants.iter().map(|row| row + 1));
    starts.zip(ends).map(|(start, end)| start..end).filter(|rows| !rows.is_empty()).collect()
}

/// Zeroes these rows of every warp.
fn clear<T: Copy + Default>(registers: &mut [[T; WARP]], rows: u16, variables: &[Range<usize>]) {
    if rows == 0 {
        return;
    }
    for warp in registers.chunks_exact_mut(usize::from(rows)) {
        for variables in variables {
            warp[variables.clone()].fill([T::default(); WARP]);
        }
    }
}
