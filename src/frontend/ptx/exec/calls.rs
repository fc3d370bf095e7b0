//! Calls of functions: frames of local memory, arguments and results.
//!
//! A function's registers have rows of their own. When it is called while it is already active, its
//! rows are saved first and come back when the call ends.

use super::super::program::{FrameSlot, Program, Target};
use super::function_address;
use super::memory::Spaces;
use super::registers::{Registers, write};
use super::stack::Stack;
use crate::isa::{LaneMask, WARP, lanes};

/// Calls that may be open on one another; CUDA's stack of 1 KiB a thread ends well before.
const MAX_DEPTH: u32 = 512;

/// Rows that a warp may save for functions that call themselves: 64 MiB.
const MAX_SAVED: usize = 1 << 18;

/// An open call.
#[derive(Clone, Debug, Default)]
struct Call {
    function: u32,
    site: u32,
    /// The call that it was made from; 0 for the kernel.
    parent: u32,
    lanes: LaneMask,
    /// Lanes of the caller's frame.
    caller: LaneMask,
    /// Start of its frame of local memory [bytes].
    base: u32,
    depth: u32,
    is_saved: bool,
    narrow: Vec<[u32; WARP]>,
    wide: Vec<[u64; WARP]>,
    preds: Vec<LaneMask>,
}

/// The open calls of a warp; number 0 is the kernel itself.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    calls: Vec<Call>,
    free: Vec<u32>,
    /// Rows that are saved.
    saved: usize,
}

impl Calls {
    /// No call is open.
    pub fn start(&mut self) {
        self.saved = 0;
        self.free.clear();
        self.free.extend((1..self.calls.len() as u32).rev());
        if self.calls.is_empty() {
            self.calls.push(Call::default());
        }
    }

    /// Start of the frame of a call [bytes].
    pub fn base(&self, call: u32) -> u32 {
        self.calls[call as usize].base
    }

    /// Of each open call: the call that it was made from, and the lanes of its caller's frame.
    pub fn callers(&self) -> impl Iterator<Item = (u32, LaneMask)> {
        let is_open = |number: &usize| !self.free.contains(&(*number as u32));
        let open = (1..self.calls.len()).filter(is_open).map(|number| &self.calls[number]);
        open.map(|call| (call.parent, call.caller))
    }

    fn is_active(&self, function: u32, mut call: u32) -> bool {
        while call != 0 {
            let open = &self.calls[call as usize];
            if open.function == function {
                return true;
            }
            call = open.parent;
        }
        false
    }

    /// The function that a site calls for the first of `active`, and the lanes that call the same.
    ///
    /// # Errors
    /// An address that is no function's; the lane, and what it did.
    pub fn target(
        program: &Program,
        site: u32,
        regs: &Registers,
        active: LaneMask,
    ) -> Result<(u32, LaneMask), (usize, String)> {
        match program.calls[site as usize].target {
            Target::Function(function) => Ok((function, active)),
            Target::Row(row) => {
                let addresses = &regs.wide[usize::from(row)];
                let lane = active.trailing_zeros() as usize % WARP;
                let address = addresses[lane];
                let is_it = |function: &_| {
                    let super::super::program::Function { number, .. } = function;
                    function_address(*number) == address
                };
                let Some(function) = program.functions.iter().position(is_it) else {
                    let message = format!("calls address {address:#x}, where no function is");
                    return Err((lane, message));
                };
                let same = lanes(active).filter(|lane| addresses[*lane] == address);
                Ok((function as u32, same.fold(0, |mask, lane| mask | 1 << lane)))
            }
        }
    }

    /// Calls a function for the running lanes of `active`.
    pub fn enter(
        &mut self,
        program: &Program,
        (site, function, active): (u32, u32, LaneMask),
        stack: &mut Stack,
        regs: &mut Registers,
        spaces: &mut Spaces,
    ) -> Result<(), String> {
        let Some(top) = stack.top() else { return Ok(()) };
        let (place, from) = (&program.calls[site as usize], &self.calls[top.call as usize]);
        let callee = &program.functions[function as usize];
        let (base, depth) = (from.base + place.frame, from.depth + 1);
        let sizes = |slots: &[FrameSlot]| slots.iter().map(|slot| slot.bytes).collect::<Vec<_>>();
        if place.args.len() != callee.params.len() || place.returns.len() > callee.returns.len() {
            return Err(format!("calls `{}` with a wrong number of arguments", callee.name));
        }
        if sizes(&place.args) != sizes(&callee.params) {
            return Err(format!("calls `{}` with arguments of a wrong size", callee.name));
        }
        if depth > MAX_DEPTH {
            return Err(format!(
                "calls `{}` at a depth of {MAX_DEPTH} calls, the most",
                callee.name
            ));
        }
        if u64::from(base) + u64::from(callee.frame) > spaces.local_bytes {
            return Err(format!(
                "calls `{}` at a depth of {depth} calls, where its stack of {} bytes is full",
                callee.name, spaces.local_bytes
            ));
        }
        let is_saved = program.recursive && self.is_active(function, top.call);
        let rows = callee.narrow.len() + callee.wide.len();
        if is_saved && self.saved + rows > MAX_SAVED {
            return Err(format!(
                "calls `{}` at a depth of {depth} calls, where its registers take all memory",
                callee.name
            ));
        }
        self.saved += if is_saved { rows } else { 0 };
        let id = self.free.pop().unwrap_or_else(|| {
            self.calls.push(Call::default());
            self.calls.len() as u32 - 1
        });
        let call = &mut self.calls[id as usize];
        call.function = function;
        (call.site, call.parent, call.base, call.depth) = (site, top.call, base, depth);
        (call.lanes, call.caller, call.is_saved) = (active, top.mask, is_saved);
        if is_saved {
            call.narrow.clear();
            call.narrow.extend_from_slice(&regs.narrow[range(&callee.narrow)]);
            call.wide.clear();
            call.wide.extend_from_slice(&regs.wide[range(&callee.wide)]);
            call.preds.clear();
            call.preds.extend_from_slice(&regs.preds[range(&callee.preds)]);
        }
        let caller_base = base - place.frame;
        for (from, to) in place.args.iter().zip(&callee.params) {
            spaces.move_local(active, caller_base + from.offset, base + to.offset, to.bytes);
        }
        for &(row, offset) in &callee.frame_rows {
            let address = u64::from(base + offset);
            write(&mut regs.wide[usize::from(row)], active, &[address; WARP]);
        }
        stack.call(callee.entry, active, id);
        Ok(())
    }

    /// Ends a call whose last lane is gone.
    pub fn end_if_done(
        &mut self,
        call: u32,
        program: &Program,
        stack: &mut Stack,
        regs: &mut Registers,
        spaces: &mut Spaces,
    ) {
        let mut id = call;
        while id != 0 && !stack.holds(id) {
            let call = &self.calls[id as usize];
            let callee = &program.functions[call.function as usize];
            let place = &program.calls[call.site as usize];
            if call.is_saved {
                self.saved -= callee.narrow.len() + callee.wide.len();
                let rows = regs.narrow[range(&callee.narrow)].iter_mut();
                rows.zip(&call.narrow).for_each(|(row, old)| write(row, call.lanes, old));
                let rows = regs.wide[range(&callee.wide)].iter_mut();
                rows.zip(&call.wide).for_each(|(row, old)| write(row, call.lanes, old));
                let rows = regs.preds[range(&callee.preds)].iter_mut();
                rows.zip(&call.preds).for_each(|(row, old)| {
                    *row = *row & !call.lanes | old & call.lanes;
                });
            }
            for (to, from) in place.returns.iter().zip(&callee.returns) {
                let caller_base = call.base - place.frame;
                let bytes = from.bytes.min(to.bytes);
                spaces.move_local(
                    call.lanes,
                    call.base + from.offset,
                    caller_base + to.offset,
                    bytes,
                );
            }
            self.free.push(id);
            stack.resume(call.parent, call.caller);
            id = call.parent;
        }
    }
}

fn range(rows: &std::ops::Range<u16>) -> std::ops::Range<usize> {
    usize::from(rows.start)..usize::from(rows.end)
}
