//! Matrix products of warpgroups (`wgmma`).
//!
//! Source: PTX ISA 9.0, section 9.7.15 "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".

use super::super::ast::{Instruction, Operand, Value};
use super::super::cfg::Flow;
use super::super::exec::Kind;
use super::super::ops::matrix::{Element, Product, Sum};
use super::super::program::{Constant, FirstFactor, GroupStep, INVERT, Step};
use super::matrix::element;
use super::{Decoded, Lowerer};
use crate::error::Result;
use crate::isa::{GroupProduct, LaneMask, Op, Operands, Reg, Warpgroup};

/// What the modifiers of a product say.
struct Shape {
    columns: usize,
    depth: usize,
    factors: [Element; 2],
    sum: Sum,
}

impl Lowerer<'_> {
    /// `wgmma`
    pub(super) fn warpgroup(&mut self, instruction: &Instruction) -> Result<Decoded> {
        if instruction.guard.is_some() {
            let name = instruction.full_name();
            let error = self.error(instruction.at, format!("`{name}` under a guard"));
            return Err(error.hint("all lanes of a warpgroup execute it: branch around it"));
        }
        let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let (step, what) = match (&words[..], &instruction.operands[..]) {
            (["fence", "sync", "aligned"], []) => (Step::Nothing, Warpgroup::Arrive),
            (["commit_group", "sync", "aligned"], []) => (Step::Nothing, Warpgroup::Commit),
            (["wait_group", "sync", "aligned"], [left]) => {
                (Step::GroupWait, Warpgroup::Wait(self.left_under_way(left)?))
            }
            (["mma_async", "sync", "aligned", rest @ ..], operands) => {
                let Some(shape) = shape(rest) else { return Err(self.unsupported(instruction)) };
                return self.group_product(instruction, shape, operands);
            }
            _ => return Err(self.unsupported(instruction)),
        };
        let mut decoded = Decoded::new(step, Op::Warpgroup(what));
        decoded.flow = Flow::Pause;
        Ok(decoded)
    }

    /// `wgmma.mma_async`
    fn group_product(
        &mut self,
        instruction: &Instruction,
        shape: Shape,
        operands: &[Operand],
    ) -> Result<Decoded> {
        let Shape { columns, depth, factors, sum } = shape;
        let [d, a, b, adds, signs @ ..] = operands else { return Err(self.few(instruction)) };
        let from_registers = matches!(a.value, Value::Vector(_));
        // Signs, and then what is transposed: a factor in registers is not, and the others only where elements have 16 bits.
        let (most_signs, most_turns) = match factors[0] {
            Element::F16 | Element::Bf16 => (2, if from_registers { 1 } else { 2 }),
            Element::Tf32 | Element::E4m3 | Element::E5m2 => (2, 0),
            _ => (0, 0),
        };
        if signs.len() != most_signs + most_turns {
            return Err(self.few(instruction));
        }
        let product = GroupProduct { columns: columns as u16, from_registers, commits: false };
        let mut decoded = Decoded::new(
            Step::GroupProduct(self.group_products.len() as u32),
            Op::Warpgroup(Warpgroup::Multiply(product)),
        );
        decoded.flow = Flow::Pause;
        let part = Product::of_warpgroup((depth, factors, sum), self.names.factors());
        let first = if from_registers {
            let mut rows = [0; 4];
            for (row, operand) in rows.iter_mut().zip(self.elements(a, part.a_registers())?) {
                *row = self.read(Some(&operand), Kind::Narrow, instruction, &mut decoded)?;
            }
            FirstFactor::Registers(rows)
        } else {
            FirstFactor::Shared(self.read(Some(a), Kind::Wide, instruction, &mut decoded)?)
        };
        let second = self.read(Some(b), Kind::Wide, instruction, &mut decoded)?;
        let adds = self.read(Some(adds), Kind::Pred, instruction, &mut decoded)?;
        let flip: LaneMask = if decoded.imm & INVERT != 0 { !0 } else { 0 };
        let (signs, turns) = signs.split_at(most_signs);
        let mut negates = [false; 2];
        for (negates, operand) in negates.iter_mut().zip(signs) {
            *negates = self.one_of(operand, [1, -1])?;
        }
        let mut transposed = [false; 2];
        let of_shared = &mut transposed[2 - most_turns..];
        for (transposed, operand) in of_shared.iter_mut().zip(turns) {
            *transposed = self.one_of(operand, [0, 1])?;
        }
        let kind = if sum == Sum::F32 { Kind::F32 } else { Kind::Narrow };
        let registers = columns / 8 * part.sum_registers();
        let mut sums = Vec::with_capacity(registers);
        for operand in self.elements(d, registers)? {
            let (row, reg) = self.sum(&operand, kind)?;
            sums.push(row);
            decoded.sums.push(reg);
        }
        // A machine has room for some of them: it waits for what they were before.
        for &reg in &decoded.sums {
            if !decoded.srcs.is_full() {
                decoded.srcs.add(reg);
            }
        }
        let zero = self.constant(Constant::Bits(0), false, instruction.at)?;
        let adds = (adds, flip);
        self.group_products.push(GroupStep {
            part,
            sums,
            first,
            second,
            adds,
            zero,
            negates,
            transposed,
        });
        Ok(decoded)
    }

    /// The row and the register of a sum.
    fn sum(&mut self, operand: &Operand, kind: Kind) -> Result<(u16, Reg)> {
        let Value::Name(name, 0) = &operand.value else {
            return Err(self.error(operand.at, "expected a register"));
        };
        let mut one = Operands::<1>::NONE;
        let row = self.register(name, operand.at, kind, &mut one)?;
        Ok((row, one.as_slice().first().copied().unwrap_or_default()))
    }

    /// Whether a number is the second of two that it may be.
    fn one_of(&self, operand: &Operand, of: [i64; 2]) -> Result<bool> {
        match operand.value {
            Value::Int(value) if value as i64 == of[0] => Ok(false),
            Value::Int(value) if value as i64 == of[1] => Ok(true),
            _ => Err(self.error(operand.at, format!("expected {} or {}", of[0], of[1]))),
        }
    }
}

/// The shape of a product with these words behind `.aligned`; `None` for what is no product that machines have.
fn shape(words: &[&str]) -> Option<Shape> {
    let (words, saturates) = match words {
        [words @ .., "satfinite"] => (words, true),
        [shape, "satfinite", rest @ ..] if rest.len() == 3 => {
            return with_types(shape, [rest[0], rest[1], rest[2]], true);
        }
        words => (words, false),
    };
    match words {
        [shape, d, a, b] => with_types(shape, [d, a, b], saturates),
        _ => None,
    }
}

fn with_types(shape: &str, [d, a, b]: [&str; 3], saturates: bool) -> Option<Shape> {
    let (columns, depth) = shape.strip_prefix("m64n")?.split_once('k')?;
    let (columns, depth): (usize, usize) = (columns.parse().ok()?, depth.parse().ok()?);
    // As it is written, without zeros before the numbers.
    let is_plain = shape == format!("m64n{columns}k{depth}");
    let factors = [element(a)?, element(b)?];
    let (of_depth, sum) = match (factors, d) {
        ([Element::F16, Element::F16], "f16") => (16, Sum::F16),
        ([Element::F16, Element::F16] | [Element::Bf16, Element::Bf16], "f32") => (16, Sum::F32),
        ([Element::Tf32, Element::Tf32], "f32") => (8, Sum::F32),
        ([a, b], "f16") if a.is_short() && b.is_short() => (32, Sum::F16),
        ([a, b], "f32") if a.is_short() && b.is_short() => (32, Sum::F32),
        ([Element::Byte(_), Element::Byte(_)], "s32") => (32, Sum::S32 { saturates }),
        _ => return None,
    };
    let is_whole = matches!(sum, Sum::S32 { .. });
    // Of whole numbers, beyond 24 columns only every second size is there.
    let step = if is_whole && columns > 24 { 16 } else { 8 };
    let is_known = (8..=256).contains(&columns) && columns % step == 0;
    (is_plain && depth == of_depth && is_known && (is_whole || !saturates)).then_some(Shape {
        columns,
        depth,
        factors,
        sum,
    })
}
