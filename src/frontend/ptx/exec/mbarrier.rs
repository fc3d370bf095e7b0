//! The mbarriers of a CTA: words of shared memory that count arrivals, phase by phase.
//!
//! A lane that waits for the end of a phase holds up nobody; its instruction gives false only where nobody of the CTA could go on
//! otherwise. The machine is told how many times warps had arrived at an mbarrier when the phase ended: a warp that waits there waits
//! for as many. Where other lanes of a warp have gone on meanwhile, it is not held up for more than what was before its instruction.
//!
//! Source: PTX ISA 9.0, section 9.7.13 "mbarrier".

use super::super::program::{Access, AccessKind, MbarrierKind, MbarrierStep, Program, Step};
use super::memory::{LaneFault, addresses, misaligned};
use super::registers::Registers;
use super::shared::SharedMemory;
use super::stack::{Frame, Stack};
use super::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::isa::{LaneMask, MbarrierUse, WARP, WarpStream, lanes};

/// Bytes of an mbarrier.
const BYTES: u64 = 8;
/// Bits of a count.
const COUNT_BITS: u32 = 20;
/// The greatest count.
const MOST: u32 = (1 << COUNT_BITS) - 1;
/// Bits of a number of bytes, which has a sign.
const BYTE_BITS: u32 = COUNT_BITS + 2;

/// What is in the word of an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// Arrivals that each phase is for, from the next one on.
    expected: u32,
    /// Arrivals that are missing in this phase.
    pending: u32,
    /// Bytes that are.
    bytes: i32,
    /// The parity of this phase.
    is_odd: bool,
}

impl State {
    /// Bit of words that are an mbarrier's.
    const IS_ONE: u64 = 1 << 62;

    fn word(self) -> u64 {
        let bytes = self.bytes as u32 & ((1 << BYTE_BITS) - 1);
        let numbers = [(self.expected, 0), (self.pending, COUNT_BITS), (bytes, 2 * COUNT_BITS)];
        let numbers = numbers.into_iter().fold(0, |all, (one, at)| all | u64::from(one) << at);
        u64::from(self.is_odd) << 63 | State::IS_ONE | numbers
    }

    /// `None` where no mbarrier is.
    fn of(word: u64) -> Option<Self> {
        let unused = u32::BITS - BYTE_BITS;
        (word & State::IS_ONE != 0).then(|| State {
            expected: word as u32 & MOST,
            pending: pending_in(word),
            bytes: ((word >> (2 * COUNT_BITS)) as i32) << unused >> unused,
            is_odd: word >> 63 != 0,
        })
    }

    /// Begins the next phase if nothing is missing; true when it does.
    fn end_phase(&mut self) -> bool {
        let ends = self.pending == 0 && self.bytes == 0;
        if ends {
            (self.pending, self.is_odd) = (self.expected, !self.is_odd);
        }
        ends
    }
}

/// Arrivals that are missing in a state.
pub fn pending_in(state: u64) -> u32 {
    (state >> COUNT_BITS) as u32 & MOST
}

/// What the machine is told of an mbarrier.
#[derive(Clone, Copy, Debug)]
struct Known {
    address: u64,
    /// How many times warps have arrived.
    arrivals: u32,
    /// Phases that have ended.
    phases: u32,
    /// How many times warps had arrived when the last of these did.
    at_end: u32,
}

/// The mbarriers of a CTA, and who waits there.
#[derive(Clone, Debug, Default)]
pub struct Mbarriers {
    /// In the order of their first use.
    known: Vec<Known>,
    /// Arrivals at any of them.
    arrivals: u64,
}

/// Lanes of a warp that wait at an mbarrier.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The instruction.
    pc: u32,
    mask: LaneMask,
    /// The mbarrier.
    id: u16,
    /// Phases that had ended there before.
    phases: u32,
    /// The place of the record in the stream, and the warp's instructions until then.
    place: usize,
    instructions: u64,
}

impl Mbarriers {
    /// As it is when a CTA begins.
    pub fn reset(&mut self) {
        self.known.clear();
    }

    /// How many times warps have arrived at any of them.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    fn number(&mut self, address: u64) -> Result<u16, String> {
        let found = self.known.iter().position(|known| known.address == address);
        let number = found.unwrap_or_else(|| {
            self.known.push(Known { address, arrivals: 0, phases: 0, at_end: 0 });
            self.known.len() - 1
        });
        u16::try_from(number).map_err(|_| "a CTA has 65536 mbarriers at most".to_owned())
    }

    /// Executes the instruction at `pc` for the lanes of `mask`, and records it; false where these wait.
    pub fn execute(
        &mut self,
        (program, pc): (&Program, u32),
        step: &MbarrierStep,
        mask: LaneMask,
        regs: &mut Registers,
        shared: &mut SharedMemory,
        (stream, waits): (&mut WarpStream, &mut Vec<Wait>),
    ) -> Result<bool, LaneFault> {
        let access = &program.accesses[step.access as usize];
        if mask == 0 {
            stream.push_mbarrier(MbarrierUse { id: 0, arrivals: 0 });
            return Ok(true);
        }
        let first = mask.trailing_zeros() as usize % WARP;
        let places = places(access, mask, regs, shared.len() as u64)?;
        if let Some(other) = lanes(mask).find(|lane| places[*lane] != places[first]) {
            return Err((other, "lanes that run together name different mbarriers".to_owned()));
        }
        let address = places[first];
        let state = state(shared, address).ok_or_else(|| nothing_there(first, address))?;
        let id = self.number(address).map_err(|message| (first, message))?;
        let known = &mut self.known[usize::from(id)];
        if let MbarrierKind::Wait | MbarrierKind::WaitParity = step.kind {
            let ended = ended(step, access, mask, regs, state);
            let arrivals = if ended == mask { known.at_end } else { known.arrivals };
            let place = stream.push_mbarrier(MbarrierUse { id, arrivals });
            if ended == mask {
                give(access, mask, ended, regs);
            } else {
                let (phases, instructions) = (known.phases, stream.instructions());
                waits.push(Wait { pc, mask, id, phases, place, instructions });
            }
            return Ok(ended == mask);
        }
        let is_arrival = step.kind != MbarrierKind::Expect;
        known.arrivals += u32::from(is_arrival);
        self.arrivals += u64::from(is_arrival);
        stream.push_mbarrier(MbarrierUse { id, arrivals: is_arrival.into() });
        let state = known.arrive((step, access), state, mask, regs)?;
        shared.write(address as usize, &state.word().to_le_bytes());
        Ok(true)
    }

    /// So many bytes have come that the mbarrier at an address is for; gives its number.
    pub fn complete(
        &mut self,
        lane: usize,
        address: u64,
        bytes: u32,
        shared: &mut SharedMemory,
    ) -> Result<u16, LaneFault> {
        let mut state = state(shared, address).ok_or_else(|| nothing_there(lane, address))?;
        let fault = |message| (lane, message);
        let id = self.number(address).map_err(fault)?;
        let known = &mut self.known[usize::from(id)];
        known.arrivals += 1;
        self.arrivals += 1;
        known.count(&mut state, 0, (bytes as i32).wrapping_neg()).map_err(fault)?;
        shared.write(address as usize, &state.word().to_le_bytes());
        Ok(id)
    }

    /// Lets lanes of a warp go on that wait for phases which have ended, or all of them where `gives_up`; true when some did.
    pub fn go_on(
        &self,
        program: &Program,
        stack: &mut Stack,
        regs: &mut Registers,
        shared: &SharedMemory,
        (stream, waits): (&mut WarpStream, &mut Vec<Wait>),
        gives_up: bool,
    ) -> bool {
        let mut gone: Vec<Frame> = Vec::new();
        for frame in stack.waiting() {
            let Some(step) = waits_at(program, frame) else { continue };
            let access = &program.accesses[step.access as usize];
            let mask = frame.mask;
            let Some(at) = waits.iter().position(|wait| (wait.pc, wait.mask) == (frame.wait, mask))
            else {
                continue;
            };
            let Wait { id, phases, place, instructions, .. } = waits[at];
            let known = &self.known[usize::from(id)];
            // Others may have gone through a further phase since.
            let has_ended = known.phases != phases;
            if !has_ended && !gives_up {
                continue;
            }
            let ended = match state(shared, known.address) {
                Some(state) if !has_ended => ended(step, access, mask, regs, state),
                _ => mask,
            };
            give(access, mask, ended, regs);
            if has_ended && instructions == stream.instructions() {
                stream.set_mbarrier(place, known.at_end);
            }
            waits.swap_remove(at);
            gone.push(*frame);
        }
        stack.release(|frame| gone.contains(frame));
        !gone.is_empty()
    }
}

impl Known {
    /// What lanes do at an mbarrier, one after the other.
    fn arrive(
        &mut self,
        (step, access): (&MbarrierStep, &Access),
        mut state: State,
        mask: LaneMask,
        regs: &mut Registers,
    ) -> Result<State, LaneFault> {
        let [result, operand, ..] = access.regs.map(usize::from);
        for lane in lanes(mask) {
            let number = regs.narrow[operand][lane];
            let before = state.word();
            let (count, bytes) = match step.kind {
                MbarrierKind::Arrive { .. } => (number, 0),
                MbarrierKind::ArriveExpecting { .. } => (1, number as i32),
                MbarrierKind::Expect => (0, number as i32),
                MbarrierKind::Complete => (0, (number as i32).wrapping_neg()),
                MbarrierKind::ArriveAfterCopies { counts } => (counts.into(), 0),
                MbarrierKind::Init | MbarrierKind::Wait | MbarrierKind::WaitParity => (0, 0),
            };
            let drops = match step.kind {
                MbarrierKind::Arrive { drops } | MbarrierKind::ArriveExpecting { drops } => drops,
                _ => false,
            };
            if drops {
                state.expected = state.expected.saturating_sub(count);
            }
            self.count(&mut state, count, bytes).map_err(|message| (lane, message))?;
            regs.wide[result][lane] = before;
        }
        Ok(state)
    }

    /// Counts arrivals and bytes, and ends the phase where nothing is missing.
    fn count(&mut self, state: &mut State, arrivals: u32, bytes: i32) -> Result<(), String> {
        state.pending = state.pending.checked_sub(arrivals).ok_or_else(|| {
            let missing = state.pending;
            format!("arrives {arrivals} times at an mbarrier where {missing} are missing")
        })?;
        let total = i64::from(state.bytes) + i64::from(bytes);
        if total.unsigned_abs() > MOST.into() {
            return Err(format!("an mbarrier counts {MOST} bytes at most, and not {total}"));
        }
        state.bytes = total as i32;
        if state.end_phase() {
            self.phases = self.phases.wrapping_add(1);
            self.at_end = self.arrivals;
        }
        Ok(())
    }
}

/// The mbarrier instruction at which a frame waits.
fn waits_at<'a>(program: &'a Program, frame: &Frame) -> Option<&'a MbarrierStep> {
    match program.micros[frame.wait as usize].step {
        Step::Mbarrier(index) => Some(&program.mbarriers[index as usize]),
        _ => None,
    }
}

/// Whether lanes of a warp wait at an mbarrier.
pub fn some_wait(program: &Program, stack: &Stack) -> bool {
    let mut waiting = stack.waiting();
    !program.mbarriers.is_empty() && waiting.any(|frame| waits_at(program, frame).is_some())
}

/// Begins the first phase of mbarriers, and records where these are.
pub fn init(
    access: &Access,
    mask: LaneMask,
    regs: &Registers,
    shared: &mut SharedMemory,
    stream: &mut WarpStream,
) -> Result<(), LaneFault> {
    let places = places(access, mask, regs, shared.len() as u64)?;
    for lane in lanes(mask) {
        let count = regs.narrow[usize::from(access.regs[1])][lane];
        if count == 0 || count > MOST {
            return Err((
                lane,
                format!("an mbarrier is for 1 to {MOST} arrivals, and not {count}"),
            ));
        }
        let state = State { expected: count, pending: count, bytes: 0, is_odd: false };
        shared.write(places[lane] as usize, &state.word().to_le_bytes());
    }
    stream.push_addresses(mask, &places);
    Ok(())
}

/// The lanes of `mask` whose phase has ended.
fn ended(
    step: &MbarrierStep,
    access: &Access,
    mask: LaneMask,
    regs: &Registers,
    state: State,
) -> LaneMask {
    let operand = usize::from(access.regs[1]);
    let is_odd = |lane: usize| match step.kind {
        MbarrierKind::Wait => regs.wide[operand][lane] >> 63 != 0,
        _ => regs.narrow[operand][lane] & 1 != 0,
    };
    lanes(mask).filter(|lane| is_odd(*lane) != state.is_odd).fold(0, |all, lane| all | 1 << lane)
}

/// Writes which lanes' phases have ended.
fn give(access: &Access, mask: LaneMask, ended: LaneMask, regs: &mut Registers) {
    let result = &mut regs.preds[usize::from(access.regs[0])];
    *result = *result & !mask | ended;
}

/// The state of the mbarrier at an address.
fn state(shared: &SharedMemory, address: u64) -> Option<State> {
    let word = shared.bytes()[address as usize..].first_chunk()?;
    State::of(u64::from_le_bytes(*word))
}

#[cold]
fn nothing_there(lane: usize, address: u64) -> LaneFault {
    (lane, format!("no mbarrier was initialised at address {address:#x} of shared memory"))
}

/// Addresses in shared memory, which may be generic ones.
pub fn shared_addresses(access: &Access, regs: &Registers) -> [u64; WARP] {
    addresses(access, regs).map(|address| match address {
        SHARED_WINDOW..LOCAL_WINDOW => address - SHARED_WINDOW,
        address => address,
    })
}

/// Where in shared memory the mbarriers are that lanes name.
pub fn places(
    access: &Access,
    mask: LaneMask,
    regs: &Registers,
    bytes: u64,
) -> Result<[u64; WARP], LaneFault> {
    let places = shared_addresses(access, regs);
    for lane in lanes(mask) {
        let place = places[lane];
        if !place.is_multiple_of(BYTES) {
            return Err((lane, misaligned(AccessKind::Store, place, BYTES)));
        }
        if place.checked_add(BYTES).is_none_or(|end| end > bytes) {
            let message = format!(
                "an mbarrier at address {place:#x}, outside the CTA's {bytes} bytes of shared memory"
            );
            return Err((lane, message));
        }
    }
    Ok(places)
}
