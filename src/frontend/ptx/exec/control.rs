//! What control instructions need to look at, and what is said when a CTA cannot go on.

use super::super::lowering::Issued;
use super::super::program::{DivisorBits, Micro, Program, Step};
use super::Fault;
use super::barrier::{self, Barriers};
use super::calls::Calls;
use super::memory::LaneFault;
use super::registers::{Registers, write};
use super::rows::RegisterRows;
use super::stack::{Frame, Stack};
use super::warp::Here;
use crate::isa::{BarrierUse, LaneMask, WARP, WarpStream, lanes};

/// Runs of a stream that are searched for a loop.
const LOOP_RUNS: usize = 4096;

/// The decoded instruction at a place.
pub fn micro_at(program: &Program, pc: usize) -> &Micro {
    &program.micros[pc]
}

/// Writes a clock register.
pub fn read_clock(regs: &mut Registers, micro: &Micro, mask: LaneMask, time: u64) {
    let row = usize::from(micro.ops[0]);
    let value = time >> (micro.imm & 0xff);
    match micro.imm >> 8 {
        0 => write(&mut regs.narrow[row], mask, &[value as u32; WARP]),
        _ => write(&mut regs.wide[row], mask, &[value; WARP]),
    }
}

/// A lane that divides by zero.
#[inline]
pub fn zero_divisor(
    regs: &Registers,
    micro: &Micro,
    mask: LaneMask,
    bits: DivisorBits,
) -> Option<usize> {
    let row = usize::from(micro.ops[2]);
    let mut zero = 0;
    for lane in 0..WARP {
        let is_zero = match bits {
            DivisorBits::Half => regs.narrow[row][lane] as u16 == 0,
            DivisorBits::Narrow => regs.narrow[row][lane] == 0,
            DivisorBits::Wide => regs.wide[row][lane] == 0,
        };
        zero |= u32::from(is_zero) << lane;
    }
    zero &= mask;
    (zero != 0).then_some(zero.trailing_zeros() as usize)
}

/// Where the lanes of an indirect branch go.
pub fn ways_of(
    targets: &[u32],
    regs: &Registers,
    micro: &Micro,
    active: LaneMask,
) -> Result<Vec<(u32, LaneMask)>, LaneFault> {
    let row = &regs.narrow[usize::from(micro.ops[0])];
    let mut ways: Vec<(u32, LaneMask)> = Vec::new();
    for lane in lanes(active) {
        let Some(&target) = targets.get(row[lane] as usize) else {
            let count = targets.len();
            let message = format!("branches to place {} of a table of {count}", row[lane]);
            return Err((lane, message));
        };
        match ways.iter_mut().find(|(block, _)| *block == target) {
            Some((_, mask)) => *mask |= 1 << lane,
            None => ways.push((target, 1 << lane)),
        }
    }
    Ok(ways)
}

/// The lanes of `active` go on from an instruction that waits for members, if all have come, or wait for them.
///
/// It is apart from the warp that runs, so that this stays in registers where nobody waits.
#[inline(never)]
pub fn meet(
    program: &Program,
    stack: &mut Stack,
    here: Here,
    active: LaneMask,
    regs: &mut Registers,
) {
    let micro = micro_at(program, here.last());
    let live = stack.live();
    if !all_have_come(micro, active, live, regs, |members| naming(micro, active, members, regs)) {
        stack.part_from(active, here.next());
        return stack.wait(here.last() as u32);
    }
    if let Step::Meet(exec, _) = micro.step {
        exec(regs, micro, active);
    }
    stack.go(here.next());
}

/// Those of the lanes of `mask` that name `members`.
fn naming(micro: &Micro, mask: LaneMask, members: LaneMask, regs: &Registers) -> LaneMask {
    let Some(row) = members_row(micro) else { return 0 };
    let named = &regs.narrow[usize::from(row)];
    lanes(mask).filter(|lane| named[*lane] == members).fold(0, |all, lane| all | 1 << lane)
}

/// Whether each lane of `mask` finds all of the members that it names, but for those that have exited, among the lanes that have come
/// and name the same ones.
fn all_have_come(
    micro: &Micro,
    mask: LaneMask,
    live: LaneMask,
    regs: &Registers,
    have_come: impl Fn(LaneMask) -> LaneMask,
) -> bool {
    let Some(row) = members_row(micro) else { return true };
    let named = &regs.narrow[usize::from(row)];
    let mut rest = mask;
    while rest != 0 {
        let members = named[rest.trailing_zeros() as usize];
        if members & live & !have_come(members) != 0 {
            return false;
        }
        rest &= !naming(micro, rest, members, regs);
    }
    true
}

/// The row of the members that an instruction waits for, if it does.
fn members_row(micro: &Micro) -> Option<u16> {
    match micro.step {
        Step::WarpSync => Some(micro.ops[0]),
        Step::Meet(_, place) => Some(micro.ops[usize::from(place)]),
        _ => None,
    }
}

/// Where no lane runs: lets those go on whose members have come, or else those that are to go on together with others from a place
/// where control flow meets, until some run or all have ended; false when the rest waits for something else.
///
/// Lanes that only the stack holds up have not come to a barrier that others wait at, unless these promise that they have.
#[inline(never)]
pub fn let_go_on(
    program: &Program,
    stack: &mut Stack,
    calls: &Calls,
    regs: &mut Registers,
) -> bool {
    let waits_for_lanes = |frame: &Frame| match micro_at(program, frame.wait as usize).step {
        Step::WarpSync | Step::Meet(..) => true,
        Step::Barrier(barrier) => !program.barriers[barrier as usize].aligned,
        _ => false,
    };
    while stack.all_wait() {
        let goes_on = stack.waiting().any(waits_for_lanes)
            && (release(program, stack, regs) || stack.go_ahead(calls.callers()));
        if !goes_on {
            return false;
        }
    }
    true
}

/// Lets lanes go on whose members have all come, too; true when some did.
fn release(program: &Program, stack: &mut Stack, regs: &mut Registers) -> bool {
    let met = met(program, stack, regs);
    for (place, frame) in met.iter().enumerate() {
        let micro = micro_at(program, frame.wait as usize);
        let is_first = met[..place].iter().all(|earlier| earlier.wait != frame.wait);
        if let (Step::Meet(exec, _), true) = (micro.step, is_first) {
            let together = met.iter().filter(|other| other.wait == frame.wait);
            let active = together.fold(0, |all, other| all | regs.guarded(micro, other.mask));
            exec(regs, micro, active);
        }
    }
    stack.release(|frame| met.contains(frame));
    stack.join();
    !met.is_empty()
}

/// The lanes that wait for members all of which have come, and go on with them.
fn met(program: &Program, stack: &Stack, regs: &Registers) -> Vec<Frame> {
    let is_sync = |pc: u32| matches!(micro_at(program, pc as usize).step, Step::WarpSync);
    let live = stack.live();
    let mut met: Vec<Frame> = stack.waiting().copied().collect();
    // Who does not go on keeps those who wait for it.
    loop {
        let all = met.clone();
        met.retain(|frame| {
            let micro = micro_at(program, frame.wait as usize);
            // Lanes may wait for each other at different barriers of the warp.
            let have_come = |members| {
                let meets = |other: &&Frame| {
                    other.wait == frame.wait || is_sync(other.wait) && is_sync(frame.wait)
                };
                let of = |other: &Frame| {
                    let micro = micro_at(program, other.wait as usize);
                    naming(micro, regs.guarded(micro, other.mask), members, regs)
                };
                all.iter().filter(meets).fold(0, |lanes, other| lanes | of(other))
            };
            let mask = regs.guarded(micro, frame.mask);
            members_row(micro).is_some() && all_have_come(micro, mask, live, regs, have_come)
        });
        if met.len() == all.len() {
            return met;
        }
    }
}

/// The barrier at which all lanes of a warp wait; `Err` holds two instructions when there are several.
pub fn meeting(
    program: &Program,
    stack: &Stack,
    regs: &Registers,
    warp: usize,
) -> Result<BarrierUse, (u32, u32)> {
    let mut found: Option<(u32, BarrierUse)> = None;
    for frame in stack.waiting() {
        let pc = frame.wait;
        let at = match program.micros[pc as usize].step {
            Step::Barrier(index) => {
                barrier::named(&program.barriers[index as usize], regs, frame.mask).ok()
            }
            Step::GroupWait => Some(barrier::of_warpgroup(warp)),
            _ => None,
        };
        match (found, at) {
            (None, Some(at)) => found = Some((pc, at)),
            (Some((_, first)), Some(at)) if first == at => {}
            (Some((first, _)), _) => return Err((first, pc)),
            (None, None) => {
                let other = stack.waiting().find(|other| other.wait != pc);
                return Err((pc, other.map_or(pc, |other| other.wait)));
            }
        }
    }
    Ok(found.map_or(BarrierUse::ALL, |(_, at)| at))
}

/// The lines of the loop that a warp was in last, if it was in one.
fn loop_lines(issued: &Issued, stream: &WarpStream) -> Option<(u32, u32)> {
    let mut runs = stream.recent().take(LOOP_RUNS);
    let (first, _) = runs.next()?;
    let (mut least, mut most) = (u32::MAX, 0);
    let mut add = |pc: u32, length: u32| {
        for inst in &issued.insts[pc as usize..(pc + length) as usize] {
            least = least.min(inst.line);
            most = most.max(inst.line);
        }
    };
    for (pc, length) in runs {
        add(pc, length);
        if pc == first {
            return Some((least, most));
        }
    }
    None
}

fn where_it_loops(issued: &Issued, stream: &WarpStream, warp: usize) -> String {
    match loop_lines(issued, stream) {
        Some((first, last)) if first == last => format!("warp {warp} loops in line {first}"),
        Some((first, last)) => format!("warp {warp} loops in lines {first} to {last}"),
        None => format!("warp {warp} is in no loop"),
    }
}

/// What has happened when a launch has executed all that it may; how much that is, only the launch knows.
pub const LIMIT_REACHED: &str = "the launch executed more warp instructions than its limit";

/// The launch has executed all that it may.
#[cold]
pub fn limit_reached(
    issued: &Issued,
    stream: &WarpStream,
    pc: u32,
    warp: usize,
    lane: usize,
) -> Fault {
    let place = where_it_loops(issued, stream, warp);
    let message = format!("{LIMIT_REACHED}; {place}");
    Fault { pc, warp: warp as u32, lane: lane as u32, message }
}

/// A CTA has executed more than can be recorded.
#[cold]
pub fn too_long(issued: &Issued, stream: &WarpStream, pc: u32, warp: usize) -> Fault {
    let place = where_it_loops(issued, stream, warp);
    let message =
        format!("the CTA executed so much that its record takes more than 1 GiB; {place}");
    Fault { pc, warp: warp as u32, lane: 0, message }
}

/// Every warp that runs waits at a barrier that cannot open.
#[cold]
pub fn deadlock(
    program: &Program,
    stacks: &[Stack],
    rows: &RegisterRows,
    barriers: &Barriers,
    alive: u16,
) -> Fault {
    // By instruction: the barrier, if it is one with a number, and the warps that wait there.
    let mut places: Vec<(u32, Option<u8>, Vec<String>)> = Vec::new();
    let mut first = None;
    for (warp, stack) in stacks.iter().enumerate() {
        let Some(frame) = stack.waiting().next() else { continue };
        let regs = rows.narrow(warp);
        let id = match program.micros[frame.wait as usize].step {
            Step::Barrier(index) => {
                let row = usize::from(program.barriers[index as usize].id);
                Some(regs[row][frame.mask.trailing_zeros() as usize % WARP] as u8)
            }
            Step::GroupWait => Some(barrier::of_warpgroup(warp).id),
            _ => None,
        };
        first.get_or_insert((frame.wait, warp, frame.mask.trailing_zeros()));
        match places.iter_mut().find(|(pc, known, _)| (*pc, *known) == (frame.wait, id)) {
            Some((.., warps)) => warps.push(warp.to_string()),
            None => places.push((frame.wait, id, vec![warp.to_string()])),
        }
    }
    let place = |(pc, id, warps): &(u32, Option<u8>, Vec<String>)| {
        let line = program.insts[*pc as usize].line;
        let who = if warps.len() == 1 { "warp" } else { "warps" };
        let at = match id {
            Some(id) => {
                let (arrived, wanted) = barriers.count(*id, alive);
                let what = match barrier::warpgroup(*id) {
                    Some(group) => format!("the end of products of warpgroup {group}"),
                    None => format!("barrier {id}"),
                };
                format!("{what}, where {arrived} of {wanted} warps arrived")
            }
            None => "an mbarrier whose phase does not end".to_owned(),
        };
        format!("{who} {} in line {line} at {at}", warps.join(", "))
    };
    let places: Vec<String> = places.iter().map(place).collect();
    let message = format!("waits for ever: {}", places.join("; "));
    let (pc, warp, lane) = first.unwrap_or_default();
    Fault { pc, warp: warp as u32, lane, message }
}
