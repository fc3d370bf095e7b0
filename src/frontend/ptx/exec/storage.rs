//! What a CTA holds, made once for a launch and used for one CTA after the other.

use super::super::program::{ConstantRow, Program, TRUE};
use super::Checks;
use super::barrier::Barriers;
use super::calls::Calls;
use super::cta::CtaState;
use super::iterations::Iterations;
use super::mbarrier::Mbarriers;
use super::rows::RegisterRows;
use super::shared::SharedMemory;
use super::stack::Stack;
use super::warpgroup::Made;
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
        CtaState {
            threads,
            rows: RegisterRows::new(program, warps, value, axis),
            preds: vec![0; warps * usize::from(program.pred_rows)],
            stacks: vec![Stack::default(); warps],
            calls: vec![Calls::default(); warps],
            barriers: Barriers::default(),
            passed: vec![None; warps],
            mbarriers: Mbarriers::default(),
            waits: vec![Vec::new(); warps],
            shared: SharedMemory::new(
                shared_bytes as usize,
                Checks::default().uninitialised_shared,
            ),
            local: vec![0; warps * WARP * program.local_bytes as usize],
            consts,
            last_buffer: 0..0,
            checks: Checks::default(),
            prints: 0,
            products: vec![Made::default(); warps],
            executed: vec![0; warps],
            stream_bytes: 0,
            uncounted: 0,
            iterations: Iterations::default(),
        }
    }

    /// As it is when a CTA starts.
    pub(super) fn reset(&mut self, program: &Program) {
        self.rows.take_all_back();
        self.preds.fill(0);
        self.shared.reset();
        self.barriers = Barriers::default();
        self.passed.fill(None);
        self.mbarriers.reset();
        self.waits.iter_mut().for_each(Vec::clear);
        self.calls.iter_mut().for_each(Calls::start);
        (self.stream_bytes, self.uncounted) = (0, 0);
        self.products.fill(Made::default());
        self.executed.fill(0);
        self.local.fill(0);
        for preds in self.preds.chunks_exact_mut(usize::from(program.pred_rows)) {
            preds[usize::from(TRUE)] = !0;
        }
        for (warp, stack) in self.stacks.iter_mut().enumerate() {
            let lanes = (self.threads - (warp * WARP) as u32).min(WARP as u32);
            stack.start(!0 >> (WARP as u32 - lanes));
        }
    }
}
