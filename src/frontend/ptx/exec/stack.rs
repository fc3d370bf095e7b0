//! The SIMT stack: which lanes are at which block.
//!
//! Lanes that part at a branch wait for each other at its block's immediate post-dominator. The frame
//! on top runs; a frame that reaches its meeting point is popped, and the frame below, which waits
//! there with the lanes of both ways, goes on. Frames on one another meet ever later, and frames with
//! one meeting point have no lane in common, so the stack's height is bounded by the kernel and the
//! depth of its calls.
//!
//! A call puts a frame for the function's lanes on the caller's, which stays at its block until they are
//! back. Lanes that wait at a barrier, or for others to look across, hold up nobody: their frame is marked, and the next frame below
//! that has no lane in common with those above it runs in its place. Once they go on, those that are at one block run together.

use super::super::program::NO_BLOCK;
use crate::isa::LaneMask;

/// In [`Frame::wait`]: the lanes do not wait.
pub const RUNS: u32 = u32::MAX;

/// Lanes that run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Their block.
    pub block: u32,
    /// Where they wait for others.
    pub meet: u32,
    /// The lanes.
    pub mask: LaneMask,
    /// The call that they are in; 0 for the kernel itself.
    pub call: u32,
    /// The instruction at which they wait for others, of the warp or the CTA; [`RUNS`] when they do not.
    pub wait: u32,
}

/// The frames of a warp.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    frames: Vec<Frame>,
    /// The frame that runs; none when this is no place in the list.
    at: usize,
}

impl Stack {
    /// Starts at the first block.
    pub fn start(&mut self, mask: LaneMask) {
        self.frames.clear();
        self.frames.push(Frame { block: 0, meet: NO_BLOCK, mask, call: 0, wait: RUNS });
        self.at = 0;
    }

    /// The lanes that run; `None` when all wait or have exited.
    #[inline]
    pub fn top(&self) -> Option<Frame> {
        self.frames.get(self.at).copied()
    }

    /// True when all lanes have exited.
    pub fn is_done(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether all lanes that have not exited wait.
    #[inline(always)]
    pub fn all_wait(&self) -> bool {
        self.top().is_none() && !self.is_done()
    }

    /// The lanes that have not exited.
    pub fn live(&self) -> LaneMask {
        self.frames.iter().fold(0, |live, frame| live | frame.mask)
    }

    /// The frames whose lanes wait at an instruction.
    pub fn waiting(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter().filter(|frame| frame.wait != RUNS)
    }

    /// Finds the frame that runs next: the highest one that no lane waits for.
    fn select(&mut self) {
        let mut above = 0;
        for (place, frame) in self.frames.iter().enumerate().rev() {
            if frame.wait == RUNS && frame.mask & above == 0 {
                self.at = place;
                return;
            }
            above |= frame.mask;
        }
        self.at = usize::MAX;
    }

    /// The running lanes go on to a block.
    #[inline]
    pub fn go(&mut self, block: u32) {
        if let Some(frame) = self.frames.get_mut(self.at) {
            frame.block = block;
            if block == frame.meet {
                self.frames.remove(self.at);
                self.select();
            }
        }
    }

    /// The running lanes of `taken` go to `target`, the others to `fall`; they part for good or
    /// until `meet`.
    #[inline]
    pub fn branch(&mut self, taken: LaneMask, target: u32, fall: u32, meet: u32) {
        let Some(top) = self.top() else { return };
        let (taken, rest) = (top.mask & taken, top.mask & !taken);
        if rest == 0 || target == fall {
            return self.go(target);
        }
        if taken == 0 {
            return self.go(fall);
        }
        self.part(&[(fall, rest), (target, taken)], meet);
    }

    /// The running lanes go to several blocks, the last ones first.
    pub fn part(&mut self, ways: &[(u32, LaneMask)], meet: u32) {
        let Some(top) = self.top() else { return };
        if let [(block, _)] = ways {
            return self.go(*block);
        }
        let meet = if meet == NO_BLOCK { top.meet } else { meet };
        let mut place = self.at;
        self.frames.remove(place);
        if meet != top.meet {
            self.frames.insert(place, Frame { block: meet, ..top });
            place += 1;
        }
        for &(block, mask) in ways {
            // Lanes already at the meeting point wait in the frame below.
            if block != meet {
                self.frames.insert(place, Frame { block, meet, mask, ..top });
                place += 1;
            }
        }
        self.select();
    }

    /// The running lanes that are not of `active` go on to `next`, held up by nothing but the stack.
    pub fn part_from(&mut self, active: LaneMask, next: u32) {
        if let Some(Frame { block, mask, .. }) = self.top()
            && active != mask
        {
            self.part(&[(next, mask & !active), (block, active)], next);
        }
    }

    /// Ends lanes; those of the running ones that are left go on to `next`.
    pub fn exit(&mut self, lanes: LaneMask, next: u32) {
        self.remove(lanes, next, |_| true);
    }

    /// The running lanes of `lanes` leave their call; those that are left go on to `next`.
    pub fn leave(&mut self, lanes: LaneMask, next: u32) {
        let Some(Frame { call, .. }) = self.top() else { return };
        self.remove(lanes, next, |frame| frame.call == call);
    }

    fn remove(&mut self, lanes: LaneMask, next: u32, of: impl Fn(&Frame) -> bool) {
        let Some(top) = self.top() else { return };
        for frame in self.frames.iter_mut().filter(|frame| of(frame)) {
            frame.mask &= !lanes;
        }
        let gone = self.frames[..self.at].iter().filter(|frame| frame.mask == 0).count();
        self.frames.retain(|frame| frame.mask != 0);
        if top.mask & !lanes != 0 {
            self.at -= gone;
            self.go(next);
        } else {
            self.select();
        }
    }

    /// Puts the frame of a call on the running one.
    pub fn call(&mut self, block: u32, mask: LaneMask, call: u32) {
        let frame = Frame { block, meet: NO_BLOCK, mask, call, wait: RUNS };
        self.at += 1;
        self.frames.insert(self.at, frame);
    }

    /// True while lanes are in a call.
    pub fn holds(&self, call: u32) -> bool {
        self.frames.iter().any(|frame| frame.call == call)
    }

    /// The lanes of a call are back or gone: their caller, of call `parent` and with lanes of `caller`, goes
    /// on behind the call.
    pub fn resume(&mut self, parent: u32, caller: LaneMask) {
        let found =
            self.frames.iter().rposition(|frame| frame.call == parent && frame.mask & caller != 0);
        if let Some(place) = found {
            self.at = place;
            self.go(self.frames[place].block + 1);
        }
        self.select();
    }

    /// The running lanes wait at the instruction at `pc`.
    pub fn wait(&mut self, pc: u32) {
        if let Some(frame) = self.frames.get_mut(self.at) {
            frame.wait = pc;
        }
        self.select();
    }

    /// Where no lane runs, and some are held up for others to go on with them from where control flow meets: those go on alone;
    /// true when there are any. Lanes that are back from a call are not held up by others alone: their caller's frame is the
    /// highest of the call and with lanes of one of `callers`.
    pub fn go_ahead(&mut self, callers: impl Iterator<Item = (u32, LaneMask)>) -> bool {
        let frame_of = |(call, lanes): (u32, LaneMask)| {
            self.frames.iter().rposition(|frame| frame.call == call && frame.mask & lanes != 0)
        };
        let in_calls: Vec<usize> = callers.filter_map(frame_of).collect();
        let mut above = 0;
        for place in (0..self.frames.len()).rev() {
            let frame = self.frames[place];
            let alone = frame.mask & !above;
            if frame.wait == RUNS && alone != 0 && !in_calls.contains(&place) {
                self.frames[place].mask &= above;
                self.frames.insert(place + 1, Frame { mask: alone, ..frame });
                self.select();
                return true;
            }
            above |= frame.mask;
        }
        false
    }

    /// Lanes that are at one block, to meet at one place, and wait for nobody run it together.
    pub fn join(&mut self) {
        for upper in (1..self.frames.len()).rev() {
            let frame = self.frames[upper];
            let is_twin = |other: &Frame| Frame { mask: other.mask, ..frame } == *other;
            if frame.wait == RUNS
                && let Some(lower) = self.frames[..upper].iter().rposition(is_twin)
            {
                // Lanes of a frame that are in one above it are elsewhere, such as in a function.
                let all = frame.mask | self.frames[lower].mask;
                let mut others = self.frames[lower + 1..].iter().filter(|other| **other != frame);
                if others.all(|other| other.mask & all == 0) {
                    self.frames[lower].mask = all;
                    self.frames.remove(upper);
                }
            }
        }
        self.select();
    }

    /// The lanes that wait where `at` says go on.
    pub fn release(&mut self, at: impl Fn(&Frame) -> bool) {
        // From the top: going on may remove a frame.
        for place in (0..self.frames.len()).rev() {
            let frame = &mut self.frames[place];
            if frame.wait != RUNS && at(frame) {
                frame.wait = RUNS;
                self.at = place;
                self.go(self.frames[place].block + 1);
            }
        }
        self.select();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(block: u32, meet: u32, mask: LaneMask) -> Frame {
        Frame { block, meet, mask, call: 0, wait: RUNS }
    }

    #[test]
    fn lanes_at_a_barrier_let_the_others_run() {
        let mut stack = Stack::default();
        stack.start(0xff);
        stack.branch(0x0f, 2, 1, 3);
        stack.wait(7);
        assert_eq!(stack.top(), Some(frame(1, 3, 0xf0)));
        // The others part and meet below the frame that waits.
        stack.branch(0x30, 5, 4, 6);
        assert_eq!(stack.top(), Some(frame(5, 6, 0x30)));
        stack.go(6);
        stack.go(6);
        assert_eq!(stack.top(), Some(frame(6, 3, 0xf0)));
        stack.wait(9);
        assert_eq!(stack.top(), None);
        assert!(!stack.is_done());
        stack.release(|frame| frame.wait == 7);
        assert_eq!(
            stack.top(),
            None,
            "block 3 is where the lanes at the other barrier are waited for"
        );
        stack.release(|frame| frame.wait == 9);
        assert_eq!(stack.top(), Some(frame(7, 3, 0xf0)));
    }

    #[test]
    fn a_call_ends_when_its_last_lane_returns() {
        let mut stack = Stack::default();
        stack.start(0xff);
        stack.call(10, 0x3f, 1);
        stack.branch(0x03, 12, 11, NO_BLOCK);
        stack.leave(0x03, 13);
        assert_eq!(
            stack.top(),
            Some(Frame { block: 11, mask: 0x3c, call: 1, ..frame(0, NO_BLOCK, 0) })
        );
        stack.leave(0x04, 12);
        assert!(stack.holds(1));
        stack.leave(0x38, 13);
        assert!(!stack.holds(1));
        stack.resume(0, 0x3f);
        assert_eq!(stack.top(), Some(frame(1, NO_BLOCK, 0xff)));
    }

    #[test]
    fn lanes_meet_again_behind_an_if() {
        let mut stack = Stack::default();
        stack.start(0xff);
        stack.branch(0x0f, 2, 1, 3);
        assert_eq!(stack.top(), Some(frame(2, 3, 0x0f)));
        stack.go(3);
        assert_eq!(stack.top(), Some(frame(1, 3, 0xf0)));
        stack.go(3);
        assert_eq!(stack.top(), Some(frame(3, NO_BLOCK, 0xff)));
    }

    #[test]
    fn a_loop_that_lanes_leave_one_by_one_does_not_grow_the_stack() {
        let mut stack = Stack::default();
        stack.start(!0);
        for lane in 0..31 {
            // Block 1 is the loop, block 2 behind it; one more lane leaves each time.
            stack.go(1);
            stack.branch(!(1 << lane), 1, 2, 2);
            assert_eq!(stack.frames.len(), 2);
        }
        stack.branch(0, 1, 2, 2);
        assert_eq!(stack.top(), Some(frame(2, NO_BLOCK, !0)));
    }

    #[test]
    fn lanes_that_exit_are_not_waited_for() {
        let mut stack = Stack::default();
        stack.start(3);
        stack.branch(1, 2, 1, 3);
        stack.exit(1, 3);
        stack.go(3);
        assert_eq!(stack.top(), Some(frame(3, NO_BLOCK, 2)));
        stack.exit(2, 4);
        assert_eq!(stack.top(), None);
    }
}
