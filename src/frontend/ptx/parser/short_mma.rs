//! Matrix products of a warp whose factors are floating-point numbers of 8 bits, spelled out: these are made numbers of half precision,
//! multiplied by two `mma`, and added to what was there. The lower two numbers of every register belong to the first of the two
//! products, the upper two to the second.
//!
//! That is what `ptxas` 13.0 makes of them for compute capability 9.0, whose tensor cores multiply such numbers for warpgroups alone.
//!
//! Source: PTX ISA 9.0, section 9.7.14.5 "Matrix multiply-accumulate operation using mma instruction".

use super::super::ast::{Type, Value};
use super::spelling::{Spelling, elements, register};

/// Registers of the block that an instruction becomes, whose names no text can have: pairs of numbers as they come, the same in half precision, and sums.
const PAIR: &str = "%mma pair ";
const HALF: &str = "%mma half ";
const SUM: &str = "%mma sum ";

/// Adds the statements that an `mma` instruction of these words means; `None` for what is not spelled out.
pub(super) fn spell_out(spelling: &mut Spelling, words: &[&str]) -> Option<()> {
    let ["sync", "aligned", shape, "row", "col", d, a, b, c] = words else { return None };
    // The depth of each of the two products, and registers of the first factor.
    let (depth, registers) = match *shape {
        "m16n8k16" => (8, 2),
        "m16n8k32" => (16, 4),
        _ => return None,
    };
    let (sums, ty) = match (*d, c == d) {
        ("f32", true) => (4, Type::F32),
        ("f16", true) => (2, Type::B32),
        _ => return None,
    };
    let is_known = |name: &&str| matches!(*name, "e4m3" | "e5m2");
    if ![a, b].into_iter().all(is_known) {
        return None;
    }
    let [to, of_a, of_b, before] = &spelling.of.operands[..] else { return None };
    let [to, of_a, of_b, before] = [to, of_a, of_b, before]
        .map(|operand| elements(operand).unwrap_or_else(|| vec![operand.value.clone()]));
    let counts = [to.len(), of_a.len(), of_b.len(), before.len()];
    if counts != [sums, registers, registers / 2, sums] {
        return None;
    }
    let all = registers + registers / 2;
    spelling.declare(Type::B16, PAIR, Some(2 * all as u64));
    spelling.declare(Type::B32, HALF, Some(2 * all as u64));
    spelling.declare(ty, SUM, Some(sums as u64));
    let named = |name: &str, number: usize| register(format!("{name}{number}"));
    let factors = of_a.iter().map(|from| (from, a)).chain(of_b.iter().map(|from| (from, b)));
    for (number, (from, format)) in factors.enumerate() {
        let pairs = [number, all + number].map(|place| named(PAIR, place));
        spelling.add("mov.b32", [Value::Vector(pairs.to_vec()), from.clone()]);
        for place in [number, all + number] {
            let name = format!("cvt.rn.f16x2.{format}x2");
            spelling.add(&name, [named(HALF, place), named(PAIR, place)]);
        }
    }
    let name = format!("mma.sync.aligned.m16n8k{depth}.row.col.{d}.f16.f16.{c}");
    let totals: Vec<Value> = (0..sums).map(|number| named(SUM, number)).collect();
    for first in [0, all] {
        let halves = |from: usize, count: usize| {
            Value::Vector(
                (first + from..first + from + count).map(|place| named(HALF, place)).collect(),
            )
        };
        let zero = if ty == Type::F32 { Value::F32(0) } else { Value::Int(0) };
        let sums_before = if first == 0 { vec![zero; sums] } else { totals.clone() };
        let operands = [
            Value::Vector(totals.clone()),
            halves(0, registers),
            halves(registers, registers / 2),
            Value::Vector(sums_before),
        ];
        spelling.add(&name, operands);
    }
    let name = if ty == Type::F32 { "add.f32" } else { "add.f16x2" };
    // Where a sum that is written is one of those before that are still to be read, all are made first.
    let is_read_later = |place: usize| before[place + 1..].contains(&to[place]);
    let made = if (0..sums).any(is_read_later) { totals.clone() } else { to.clone() };
    for ((made, before), total) in made.iter().zip(before).zip(&totals) {
        spelling.add(name, [made.clone(), before, total.clone()]);
    }
    for (to, made) in to.into_iter().zip(made).filter(|(to, made)| to != made) {
        spelling.add("mov.b32", [to, made]);
    }
    Some(())
}
