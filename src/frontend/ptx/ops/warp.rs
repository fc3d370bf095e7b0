//! Instructions that look across the lanes of a warp.
//!
//! With `.sync`, a lane sees those that execute together with it and name the same members. Where members may come one after the
//! other, the instruction waits for them ([`Step::Meet`](super::super::program::Step::Meet)); elsewhere, lanes that went another way
//! count as inactive, whatever the member mask says.
//!
//! Source: PTX ISA 9.0, sections 9.7.9 "shfl.sync" and 9.7.13 "vote.sync", "activemask",
//! "match.sync".

use super::super::ast::Type;
use super::super::exec::{Bits, Kind, Registers, pack, write};
use super::super::program::{Exec, INVERT, Micro};
use super::{Opcode, Rule, Slot};
use crate::isa::{ArithClass, LaneMask, WARP, lanes};

const SHUFFLE: &[Slot] = &[
    Slot::Dst(Kind::Narrow),
    Slot::SecondPred,
    Slot::Src(Kind::Narrow),
    Slot::Src(Kind::Narrow),
    Slot::Src(Kind::Narrow),
];
const SHUFFLE_SYNC: &[Slot] = &[
    Slot::Dst(Kind::Narrow),
    Slot::SecondPred,
    Slot::Src(Kind::Narrow),
    Slot::Src(Kind::Narrow),
    Slot::Src(Kind::Narrow),
    Slot::Src(Kind::Narrow),
];
const VOTE: &[Slot] = &[Slot::Dst(Kind::Pred), Slot::Src(Kind::Pred)];
const VOTE_SYNC: &[Slot] = &[Slot::Dst(Kind::Pred), Slot::Src(Kind::Pred), Slot::Src(Kind::Narrow)];
const BALLOT: &[Slot] = &[Slot::Dst(Kind::Narrow), Slot::Src(Kind::Pred)];
const BALLOT_SYNC: &[Slot] =
    &[Slot::Dst(Kind::Narrow), Slot::Src(Kind::Pred), Slot::Src(Kind::Narrow)];
const MATCH: &[Slot] = &[Slot::Dst(Kind::Narrow), Slot::Src(Kind::Narrow), Slot::Src(Kind::Narrow)];
const MATCH_WIDE: &[Slot] =
    &[Slot::Dst(Kind::Narrow), Slot::Src(Kind::Wide), Slot::Src(Kind::Narrow)];
const MATCH_ALL: &[Slot] =
    &[Slot::Dst(Kind::Narrow), Slot::SecondPred, Slot::Src(Kind::Narrow), Slot::Src(Kind::Narrow)];
const MATCH_ALL_WIDE: &[Slot] =
    &[Slot::Dst(Kind::Narrow), Slot::SecondPred, Slot::Src(Kind::Wide), Slot::Src(Kind::Narrow)];
const ELECT: &[Slot] = &[Slot::Dst(Kind::Narrow), Slot::SecondPred, Slot::Src(Kind::Narrow)];

/// The number that an instruction needs which compares values of 64 bits.
const OF_WIDE: u32 = 1;

/// The parts of a rule for lanes that name their members in the last operand.
macro_rules! together {
    ($exec:expr, $slots:expr, $class:expr) => {{
        fn exec(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
            across($exec, micro.ops[$slots.len() - 1], regs, micro, mask);
        }
        (exec as Exec, $slots, $class)
    }};
}

/// The rule for an instruction across lanes.
pub fn select(opcode: &Opcode) -> Option<Rule> {
    // The one instruction without a type.
    if opcode.key == "elect.sync" {
        let (exec, slots, class) = together!(elect, ELECT, ArithClass::Vote);
        return Some(Rule { exec, class, slots, imm: 0 });
    }
    let (exec, slots, class): (Exec, _, _) = match (in_one_order(opcode).as_str(), opcode.ty()?) {
        ("shfl.sync.up", Type::B32) => {
            together!(shuffle::<b'u'>, SHUFFLE_SYNC, ArithClass::Shuffle)
        }
        ("shfl.sync.down", Type::B32) => {
            together!(shuffle::<b'd'>, SHUFFLE_SYNC, ArithClass::Shuffle)
        }
        ("shfl.sync.bfly", Type::B32) => {
            together!(shuffle::<b'b'>, SHUFFLE_SYNC, ArithClass::Shuffle)
        }
        ("shfl.sync.idx", Type::B32) => {
            together!(shuffle::<b'i'>, SHUFFLE_SYNC, ArithClass::Shuffle)
        }
        ("shfl.up", Type::B32) => (shuffle::<b'u'>, SHUFFLE, ArithClass::Shuffle),
        ("shfl.down", Type::B32) => (shuffle::<b'd'>, SHUFFLE, ArithClass::Shuffle),
        ("shfl.bfly", Type::B32) => (shuffle::<b'b'>, SHUFFLE, ArithClass::Shuffle),
        ("shfl.idx", Type::B32) => (shuffle::<b'i'>, SHUFFLE, ArithClass::Shuffle),
        ("vote.sync.all", Type::Pred) => together!(vote::<b'&'>, VOTE_SYNC, ArithClass::Vote),
        ("vote.sync.any", Type::Pred) => together!(vote::<b'|'>, VOTE_SYNC, ArithClass::Vote),
        ("vote.sync.uni", Type::Pred) => together!(vote::<b'='>, VOTE_SYNC, ArithClass::Vote),
        ("vote.all", Type::Pred) => (vote::<b'&'>, VOTE, ArithClass::Vote),
        ("vote.any", Type::Pred) => (vote::<b'|'>, VOTE, ArithClass::Vote),
        ("vote.uni", Type::Pred) => (vote::<b'='>, VOTE, ArithClass::Vote),
        ("vote.sync.ballot", Type::B32) => together!(ballot, BALLOT_SYNC, ArithClass::Vote),
        ("vote.ballot", Type::B32) => (ballot, BALLOT, ArithClass::Vote),
        ("match.sync.any", Type::B32) => together!(match_any::<u32>, MATCH, ArithClass::MatchAll),
        ("match.sync.any", Type::B64) => {
            together!(match_any::<u64>, MATCH_WIDE, ArithClass::MatchAll)
        }
        ("match.sync.all", Type::B32) => {
            together!(match_all::<u32>, MATCH_ALL, ArithClass::MatchAll)
        }
        ("match.sync.all", Type::B64) => {
            together!(match_all::<u64>, MATCH_ALL_WIDE, ArithClass::MatchAll)
        }
        ("redux.sync.add", Type::U32 | Type::S32) => {
            together!(redux::<b'+'>, MATCH, ArithClass::Reduce)
        }
        ("redux.sync.min", Type::U32) => together!(redux::<b'<'>, MATCH, ArithClass::Reduce),
        ("redux.sync.max", Type::U32) => together!(redux::<b'>'>, MATCH, ArithClass::Reduce),
        ("redux.sync.min", Type::S32) => together!(redux::<b'l'>, MATCH, ArithClass::Reduce),
        ("redux.sync.max", Type::S32) => together!(redux::<b'g'>, MATCH, ArithClass::Reduce),
        ("redux.sync.and", Type::B32) => together!(redux::<b'&'>, MATCH, ArithClass::Reduce),
        ("redux.sync.or", Type::B32) => together!(redux::<b'|'>, MATCH, ArithClass::Reduce),
        ("redux.sync.xor", Type::B32) => together!(redux::<b'^'>, MATCH, ArithClass::Reduce),
        ("activemask", Type::B32) => (active, &[Slot::Dst(Kind::Narrow)], ArithClass::Move),
        _ => return None,
    };
    let imm = if slots == MATCH_WIDE { OF_WIDE } else { 0 };
    Some(Rule { exec, class, slots, imm })
}

/// Whether an instruction finds which lanes have the same value: what the machine makes of it depends on how many there are.
pub fn finds_lanes(opcode: &str, modifiers: &[String]) -> bool {
    opcode == "match" && modifiers.iter().any(|word| word == "any")
}

/// For each lane of `mask` the lowest one that has the value which the lane brings to such an instruction.
pub fn lowest_with_value(regs: &Registers, micro: &Micro, mask: LaneMask) -> [u64; WARP] {
    let row = micro.ops[1];
    match micro.imm {
        OF_WIDE => lowest(u64::row(regs, row), mask),
        _ => lowest(u32::row(regs, row), mask),
    }
}

fn lowest<T: PartialEq>(values: &[T; WARP], mask: LaneMask) -> [u64; WARP] {
    let of = |lane: usize| lanes(mask).find(|other| values[*other] == values[lane]);
    std::array::from_fn(|lane| of(lane).unwrap_or(lane) as u64)
}

/// The key with `sync` first: `ptxas` takes `vote.ballot.sync` as `vote.sync.ballot`, and libraries write both.
fn in_one_order(opcode: &Opcode) -> String {
    let mut words: Vec<&str> = opcode.key.split('.').collect();
    // What comes first stays, in the order that it has.
    words[1..].sort_by_key(|word| *word != "sync");
    words.join(".")
}

/// Whether the last operand of an instruction across lanes names its members.
pub fn names_members(opcode: &Opcode) -> bool {
    opcode.key.split('.').any(|word| word == "sync")
}

/// Executes an instruction across the lanes of `mask`, those together that name the same members in row `members`.
fn across(exec: Exec, members: u16, regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let mut rest = mask;
    while rest != 0 {
        let members = &regs.narrow[usize::from(members)];
        let first = members[rest.trailing_zeros() as usize];
        let together = pack(&members.map(|other| other == first)) & rest;
        exec(regs, micro, together);
        rest &= !together;
    }
}

/// Each lane reads another one's value; a lane outside the segment keeps its own.
fn shuffle<const MODE: u8>(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let [a, b, c] = [2, 3, 4].map(|place: usize| *u32::row(regs, micro.ops[place]));
    let mut out = a;
    let mut inside = 0;
    for (lane, value) in out.iter_mut().enumerate() {
        let own = lane as u32;
        let (shift, clamp) = (b[lane] & 31, c[lane] & 31);
        let segment = c[lane] >> 8 & 31;
        let most = own & segment | clamp & !segment;
        let least = own & segment;
        let (source, good) = match MODE {
            b'u' => (own.wrapping_sub(shift), own as i32 - shift as i32 >= most as i32),
            b'd' => (own + shift, own + shift <= most),
            b'b' => (own ^ shift, own ^ shift <= most),
            _ => (least | shift & !segment, least | shift & !segment <= most),
        };
        if good {
            *value = a[source as usize % WARP];
            inside |= 1 << lane;
        }
    }
    write(u32::row_mut(regs, micro.ops[0]), mask, &out);
    let second = &mut regs.preds[usize::from(micro.ops[1])];
    *second = *second & !mask | inside & mask;
}

fn voters(regs: &Registers, micro: &Micro) -> LaneMask {
    let votes = regs.preds[usize::from(micro.ops[1])];
    if micro.imm & INVERT != 0 { !votes } else { votes }
}

fn vote<const MODE: u8>(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let votes = voters(regs, micro) & mask;
    let holds = match MODE {
        b'&' => votes == mask,
        b'|' => votes != 0,
        _ => votes == mask || votes == 0,
    };
    let row = &mut regs.preds[usize::from(micro.ops[0])];
    *row = *row & !mask | if holds { mask } else { 0 };
}

fn ballot(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let votes = voters(regs, micro) & mask;
    write(u32::row_mut(regs, micro.ops[0]), mask, &[votes; WARP]);
}

fn active(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    write(u32::row_mut(regs, micro.ops[0]), mask, &[mask; WARP]);
}

fn match_any<T: Bits + PartialEq>(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let values = *T::row(regs, micro.ops[1]);
    let out = values.map(|value| {
        let same = values.map(|other| other == value);
        pack(&same) & mask
    });
    write(u32::row_mut(regs, micro.ops[0]), mask, &out);
}

/// All lanes of `mask` when they hold one value, else none; the predicate says which.
fn match_all<T: Bits + PartialEq>(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let values = *T::row(regs, micro.ops[2]);
    let first = values[mask.trailing_zeros() as usize % WARP];
    let all = pack(&values.map(|value| value == first)) & mask == mask;
    let found = if all { mask } else { 0 };
    write(u32::row_mut(regs, micro.ops[0]), mask, &[found; WARP]);
    let second = &mut regs.preds[usize::from(micro.ops[1])];
    *second = *second & !mask | found;
}

/// Combines the values of the lanes of `mask`; each gets the result.
fn redux<const OP: u8>(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let values = u32::row(regs, micro.ops[1]);
    let combined = lanes(mask).map(|lane| values[lane]).reduce(|a, b| match OP {
        b'+' => a.wrapping_add(b),
        b'<' => a.min(b),
        b'>' => a.max(b),
        b'l' => (a as i32).min(b as i32) as u32,
        b'g' => (a as i32).max(b as i32) as u32,
        b'&' => a & b,
        b'|' => a | b,
        _ => a ^ b,
    });
    write(u32::row_mut(regs, micro.ops[0]), mask, &[combined.unwrap_or(0); WARP]);
}

/// Elects the lowest lane: its number for all, and a predicate that holds for it alone.
fn elect(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let lowest = mask & mask.wrapping_neg();
    write(u32::row_mut(regs, micro.ops[0]), mask, &[lowest.trailing_zeros(); WARP]);
    let second = &mut regs.preds[usize::from(micro.ops[1])];
    *second = *second & !mask | lowest;
}
