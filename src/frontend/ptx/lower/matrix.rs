//! Matrix products, and the matrices that they need from shared memory.
//!
//! Source: PTX ISA 9.0, section 9.7.14 "Warp Level Matrix Multiply-Accumulate Instructions".

use super::super::ast::{Instruction, Operand, Type, Value};
use super::super::exec::Kind;
use super::super::ops::matrix::{Element, Product, Sum, transpose};
use super::super::program::{AccessKind, AccessSpace, Matrices, Step};
use super::memory::Words;
use super::{Decoded, Lowerer};
use crate::error::Result;
use crate::isa::{self, ArithClass, CacheOp, Op};

impl Lowerer<'_> {
    /// Decodes an instruction on matrices; `None` for any other.
    pub(super) fn matrix(&mut self, instruction: &Instruction) -> Result<Option<Decoded>> {
        match instruction.opcode.as_str() {
            "mma" => self.product(instruction).map(Some),
            "ldmatrix" => self.rows_of_matrices(instruction, AccessKind::Load).map(Some),
            "stmatrix" => self.rows_of_matrices(instruction, AccessKind::Store).map(Some),
            "movmatrix" => self.transposed(instruction).map(Some),
            "wgmma" => self.warpgroup(instruction).map(Some),
            _ => Ok(None),
        }
    }

    /// `mma.sync`
    fn product(&mut self, instruction: &Instruction) -> Result<Decoded> {
        let Some(mut product) = shape(instruction) else {
            return Err(self.unsupported(instruction));
        };
        let [d, a, b, c] = &instruction.operands[..] else { return Err(self.few(instruction)) };
        let class = class(&product);
        let mut decoded = Decoded::new(Step::Product(self.products.len() as u32), Op::Arith(class));
        let (factor, sum) = match product.sum {
            Sum::F64 => (Kind::F64, Kind::F64),
            Sum::F32 => (Kind::Narrow, Kind::F32),
            _ => (Kind::Narrow, Kind::Narrow),
        };
        let [of_a, of_b] = [product.a_registers(), product.b_registers()];
        let sums = product.sum_registers();
        for (row, operand) in product.d.iter_mut().zip(self.elements(d, sums)?) {
            *row = self.write(&operand, sum, &mut decoded)?;
        }
        for (matrix, count, kind, rows) in [
            (a, of_a, factor, &mut product.a[..]),
            (b, of_b, factor, &mut product.b[..]),
            (c, sums, sum, &mut product.c[..]),
        ] {
            for (row, operand) in rows.iter_mut().zip(self.elements(matrix, count)?) {
                *row = self.read(Some(&operand), kind, instruction, &mut decoded)?;
            }
        }
        self.products.push(product);
        Ok(decoded)
    }

    /// `ldmatrix`, `stmatrix`
    fn rows_of_matrices(&mut self, instruction: &Instruction, kind: AccessKind) -> Result<Decoded> {
        let (mut count, mut is_transposed, mut space) = (0, false, AccessSpace::Generic);
        for word in &instruction.modifiers {
            match word.as_str() {
                "sync" | "aligned" | "m8n8" | "b16" => {}
                "x1" => count = 1,
                "x2" => count = 2,
                "x4" => count = 4,
                "trans" => is_transposed = true,
                "shared" | "shared::cta" => space = AccessSpace::Shared,
                _ => return Err(self.unsupported(instruction)),
            }
        }
        let is_load = kind == AccessKind::Load;
        let (registers, address) = match &instruction.operands[..] {
            [registers, address] if is_load => (registers, address),
            [address, registers] => (registers, address),
            _ => return Err(self.few(instruction)),
        };
        if count == 0 {
            return Err(self.unsupported(instruction));
        }
        let words = Words {
            space: Some(space),
            param: false,
            cache: CacheOp::Default,
            elements: 8,
            atomic: None,
            policy: false,
            ty: Type::B16,
        };
        let mut decoded = self.access(instruction, &words, kind, address)?;
        for (place, operand) in self.elements(registers, count.into())?.iter().enumerate() {
            let row = match is_load {
                true => self.write(operand, Kind::Narrow, &mut decoded)?,
                false => self.read(Some(operand), Kind::Narrow, instruction, &mut decoded)?,
            };
            if let Some(access) = self.accesses.last_mut() {
                access.regs[place] = row;
            }
        }
        if let Some(access) = self.accesses.pop() {
            decoded.step = Step::Matrices(self.matrices.len() as u32);
            if let (true, Op::Memory(op)) = (is_load, &mut decoded.op) {
                op.kind = isa::AccessKind::LoadMatrix;
            }
            self.matrices.push(Matrices { access, count, is_transposed });
        }
        Ok(decoded)
    }

    /// `movmatrix`
    fn transposed(&mut self, instruction: &Instruction) -> Result<Decoded> {
        let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        if words[..] != ["sync", "aligned", "m8n8", "trans", "b16"] {
            return Err(self.unsupported(instruction));
        }
        let [to, from] = &instruction.operands[..] else { return Err(self.few(instruction)) };
        let mut decoded = Decoded::new(Step::Compute(transpose), Op::Arith(ArithClass::Shuffle));
        decoded.ops[0] = self.write(to, Kind::Narrow, &mut decoded)?;
        decoded.ops[1] = self.read(Some(from), Kind::Narrow, instruction, &mut decoded)?;
        Ok(decoded)
    }

    /// The registers of a fragment, of which there must be so many; one may stand without braces.
    pub(super) fn elements(&self, operand: &Operand, count: usize) -> Result<Vec<Operand>> {
        let at = operand.at;
        let elements: Vec<Operand> = match &operand.value {
            Value::Vector(values) => {
                values.iter().map(|value| Operand { value: value.clone(), at }).collect()
            }
            _ => vec![operand.clone()],
        };
        if elements.len() == count {
            return Ok(elements);
        }
        let message = format!("expected {count} registers, found {}", elements.len());
        Err(self.error(at, message))
    }
}

/// What the modifiers of a product say; `None` for what is no product that machines have.
fn shape(instruction: &Instruction) -> Option<Product> {
    let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
    let ["sync", "aligned", shape, "row", "col", rest @ ..] = &words[..] else { return None };
    let (saturates, rest) = match rest {
        ["satfinite", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (rows, depth) = shape.strip_prefix('m')?.split_once("n8k")?;
    let (rows, depth): (usize, usize) = (rows.parse().ok()?, depth.parse().ok()?);
    let [d, a, b, c, counting @ ..] = rest else { return None };
    let factors = [element(a)?, element(b)?];
    let sum = match (*d, counting) {
        ("f16", []) => Sum::F16,
        ("f32", []) => Sum::F32,
        ("f64", []) => Sum::F64,
        ("s32", []) => Sum::S32 { saturates },
        ("s32", ["and", "popc"]) => Sum::CommonBits,
        _ => return None,
    };
    let depths: &[usize] = match (rows, factors, sum) {
        (16, [Element::F16, Element::F16], Sum::F16 | Sum::F32)
        | (16, [Element::Bf16, Element::Bf16], Sum::F32) => &[8, 16],
        (16, [Element::Tf32, Element::Tf32], Sum::F32) => &[4, 8],
        (8, [Element::F64, Element::F64], Sum::F64) => &[4],
        (16, [Element::F64, Element::F64], Sum::F64) => &[4, 8, 16],
        (8, [Element::Byte(_), Element::Byte(_)], Sum::S32 { .. }) => &[16],
        (16, [Element::Byte(_), Element::Byte(_)], Sum::S32 { .. }) => &[16, 32],
        (8, [Element::Bit, Element::Bit], Sum::CommonBits) => &[128],
        (16, [Element::Bit, Element::Bit], Sum::CommonBits) => &[128, 256],
        _ => return None,
    };
    let saturated = !saturates || matches!(sum, Sum::S32 { .. });
    (c == d && saturated && depths.contains(&depth)).then_some(Product {
        rows,
        depth,
        factors,
        sum,
        d: [0; 4],
        a: [0; 8],
        b: [0; 4],
        c: [0; 4],
    })
}

/// The type of the elements of a factor.
pub(super) fn element(name: &str) -> Option<Element> {
    Some(match name {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        "tf32" => Element::Tf32,
        "f64" => Element::F64,
        "e4m3" => Element::E4m3,
        "e5m2" => Element::E5m2,
        "s8" => Element::Byte(true),
        "u8" => Element::Byte(false),
        "b1" => Element::Bit,
        _ => return None,
    })
}

/// The machine instruction that a product is.
fn class(product: &Product) -> ArithClass {
    let row_bytes = product.depth * product.factors[0].bits() / 8;
    match (product.sum, product.rows, product.depth) {
        (Sum::F64, 8, _) => ArithClass::DpMmaSmall,
        (Sum::F64, _, 4) => ArithClass::DpMma4,
        (Sum::F64, _, 8) => ArithClass::DpMma8,
        (Sum::F64, ..) => ArithClass::DpMma16,
        (_, 8, _) => ArithClass::MmaSmall,
        _ if row_bytes == 16 => ArithClass::MmaHalf,
        _ => ArithClass::Mma,
    }
}
