//! Moves of several values at once: vectors to and from one register, vector parameters.

use super::super::exec::{Bits, Kind, Registers, SHARED_WINDOW, pending_in, write};
use super::super::program::Micro;
use super::{Rule, Slot};
use crate::isa::{ArithClass, LaneMask, WARP};

const NARROW: Slot = Slot::Src(Kind::Narrow);
const TO_NARROW: Slot = Slot::Dst(Kind::Narrow);

/// `mov {a, b, ..}, d`: the register's pieces, lowest first.
pub fn split(bytes: u32, pieces: usize) -> Option<Rule> {
    let (exec, slots): (super::Exec, &[Slot]) = match (bytes, pieces) {
        (8, 2) => (split_into::<u64, 2, 32>, &[TO_NARROW, TO_NARROW, Slot::Src(Kind::Wide)]),
        (8, 4) => (
            split_into::<u64, 4, 16>,
            &[TO_NARROW, TO_NARROW, TO_NARROW, TO_NARROW, Slot::Src(Kind::Wide)],
        ),
        (4, 2) => (split_into::<u32, 2, 16>, &[TO_NARROW, TO_NARROW, NARROW]),
        (2, 2) => (split_into::<u32, 2, 8>, &[TO_NARROW, TO_NARROW, NARROW]),
        (4, 4) => (split_into::<u32, 4, 8>, &[TO_NARROW, TO_NARROW, TO_NARROW, TO_NARROW, NARROW]),
        _ => return None,
    };
    Some(Rule { exec, class: ArithClass::Move, slots, imm: 0 })
}

/// `mov d, {a, b, ..}`: pieces to one register, lowest first.
pub fn join(bytes: u32, pieces: usize) -> Option<Rule> {
    let (exec, slots): (super::Exec, &[Slot]) = match (bytes, pieces) {
        (8, 2) => (join_from::<u64, 2, 32>, &[Slot::Dst(Kind::Wide), NARROW, NARROW]),
        (8, 4) => {
            (join_from::<u64, 4, 16>, &[Slot::Dst(Kind::Wide), NARROW, NARROW, NARROW, NARROW])
        }
        (4, 2) => (join_from::<u32, 2, 16>, &[TO_NARROW, NARROW, NARROW]),
        (2, 2) => (join_from::<u32, 2, 8>, &[TO_NARROW, NARROW, NARROW]),
        (4, 4) => (join_from::<u32, 4, 8>, &[TO_NARROW, NARROW, NARROW, NARROW, NARROW]),
        _ => return None,
    };
    Some(Rule { exec, class: ArithClass::Move, slots, imm: 0 })
}

/// An element that can be seen as 64 bits.
trait Word: Bits + Into<u64> {
    fn from_low(bits: u64) -> Self;
}

impl Word for u32 {
    fn from_low(bits: u64) -> u32 {
        bits as u32
    }
}

impl Word for u64 {
    fn from_low(bits: u64) -> u64 {
        bits
    }
}

/// `N` pieces of `BITS` bits.
fn split_into<R: Word, const N: usize, const BITS: usize>(
    regs: &mut Registers,
    micro: &Micro,
    mask: LaneMask,
) {
    let whole = *R::row(regs, micro.ops[N]);
    for piece in 0..N {
        let out: [u32; WARP] = whole.map(|value| {
            let value: u64 = value.into();
            (value >> (piece * BITS) & ((1 << BITS) - 1)) as u32
        });
        write(u32::row_mut(regs, micro.ops[piece]), mask, &out);
    }
}

fn join_from<R: Word, const N: usize, const BITS: usize>(
    regs: &mut Registers,
    micro: &Micro,
    mask: LaneMask,
) {
    let mut out = [0u64; WARP];
    for piece in 0..N {
        let row = u32::row(regs, micro.ops[1 + piece]);
        for lane in 0..WARP {
            out[lane] |= (u64::from(row[lane]) & ((1 << BITS) - 1)) << (piece * BITS);
        }
    }
    write(R::row_mut(regs, micro.ops[0]), mask, &out.map(R::from_low));
}

/// Copies [`Micro::imm`] (low 4 bits) rows; bit 4 and up tell which are 64 bits wide. Destinations
/// come first, sources after them.
pub fn copy(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let count = (micro.imm & 15) as usize;
    for place in 0..count.min(4) {
        let (to, from) = (micro.ops[place], micro.ops[count + place]);
        if micro.imm >> (4 + place) & 1 == 1 {
            let values = *u64::row(regs, from);
            write(u64::row_mut(regs, to), mask, &values);
        } else {
            let values = *u32::row(regs, from);
            write(u32::row_mut(regs, to), mask, &values);
        }
    }
}

/// `mbarrier.pending_count`: the arrivals that are missing in a state of an mbarrier.
pub fn pending_count(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let counts = regs.wide[usize::from(micro.ops[1])].map(pending_in);
    write(&mut regs.narrow[usize::from(micro.ops[0])], mask, &counts);
}

/// Whether generic addresses lie in the window that starts at 2^[`Micro::imm`]; 0 stands for global memory,
/// which lies below all windows.
pub fn in_window(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let addresses = u64::row(regs, micro.ops[1]);
    let mut inside = 0;
    for (lane, address) in addresses.iter().enumerate() {
        // Every window is as large as its start.
        let window = address.checked_ilog2().unwrap_or(0);
        let holds = match micro.imm {
            0 => *address < SHARED_WINDOW,
            start => window == start,
        };
        inside |= u32::from(holds) << lane;
    }
    let row = &mut regs.preds[usize::from(micro.ops[0])];
    *row = *row & !mask | inside & mask;
}
