//! Loads, stores, atomics and reductions.
//!
//! `ld.param`, and `ld.const` from a fixed address, read what is the same for all lanes of all
//! warps; they become moves, as the machine's constant bank makes them. Hints about the L2 are dropped.
//!
//! Source: PTX ISA 9.0, sections 9.7.9 "Data Movement" and 9.7.13 "atom", "red".

use super::super::ast::{Instruction, Operand, Type, Value, VarSpace};
use super::super::exec::{CONST_WINDOW, Kind};
use super::super::ops::moves;
use super::super::program::{
    Access, AccessKind, AccessSpace, AtomicOp, Base, Constant, Patch, Step,
};
use super::{Decoded, Lowerer, is_wide};
use crate::error::Result;
use crate::isa::{self, ArithClass, CacheOp, MemoryOp, Op, Turns};

/// What the modifiers of a memory instruction say.
pub(super) struct Words {
    pub space: Option<AccessSpace>,
    pub param: bool,
    pub cache: CacheOp,
    pub elements: u8,
    pub atomic: Option<AtomicOp>,
    /// Whether the last operand is a cache policy.
    pub policy: bool,
    pub ty: Type,
}

impl Lowerer<'_> {
    /// Decodes a memory instruction; `None` for any other.
    pub(super) fn memory(&mut self, instruction: &Instruction) -> Result<Option<Decoded>> {
        let opcode = instruction.opcode.as_str();
        if !matches!(opcode, "ld" | "ldu" | "st" | "atom" | "red") {
            return Ok(None);
        }
        let Some(words) = words(instruction) else { return Err(self.unsupported(instruction)) };
        let atomic = matches!(opcode, "atom" | "red");
        if atomic != words.atomic.is_some() || words.param && atomic {
            return Err(self.unsupported(instruction));
        }
        if words.ty.bytes() == 0 || words.elements as u32 * words.ty.bytes() > 16 {
            return Err(self.unsupported(instruction));
        }
        // A cache policy decides nothing that shows.
        let operands = match &instruction.operands[..] {
            [operands @ .., _] if words.policy => operands,
            operands => operands,
        };
        let (address, data) = match (opcode, operands) {
            ("ld" | "ldu", [data, address]) => (address, std::slice::from_ref(data)),
            ("st", [address, data]) => (address, std::slice::from_ref(data)),
            ("atom", [result, address, data @ ..]) => {
                return self.atomic(instruction, &words, Some(result), address, data).map(Some);
            }
            ("red", [address, data @ ..]) => {
                return self.atomic(instruction, &words, None, address, data).map(Some);
            }
            _ => return Err(self.error(instruction.at, "wrong number of operands")),
        };
        let data = match &data[0].value {
            Value::Vector(elements) => elements
                .iter()
                .map(|value| Operand { value: value.clone(), at: data[0].at })
                .collect(),
            _ => vec![data[0].clone()],
        };
        if data.len() != usize::from(words.elements) {
            let message = format!("expected {} registers, found {}", words.elements, data.len());
            return Err(self.error(instruction.at, message));
        }
        let load = opcode != "st";
        if load && let Some(fixed) = self.fixed(instruction, &words, address)? {
            return self.load_fixed(&words, &data, &fixed).map(Some);
        }
        let kind = if load { AccessKind::Load } else { AccessKind::Store };
        let mut decoded = self.access(instruction, &words, kind, address)?;
        let last = self.accesses.len() - 1;
        if words.param && self.accesses[last].space == AccessSpace::Local {
            decoded.step = Step::Param(last as u32);
            decoded.op = Op::Arith(ArithClass::Move);
        }
        for (place, operand) in data.iter().enumerate() {
            let wide = self.data_is_wide(operand, words.ty)?;
            let slot = if wide { Kind::Wide } else { float_kind(words.ty) };
            let row = match load {
                true => self.write(operand, slot, &mut decoded)?,
                false => self.read(Some(operand), slot, instruction, &mut decoded)?,
            };
            self.accesses[last].regs[place] = row;
            self.accesses[last].wide |= u8::from(wide) << place;
        }
        Ok(Some(decoded))
    }

    /// Whether the data register has 64 bits: it may be wider than the type in memory.
    fn data_is_wide(&mut self, operand: &Operand, ty: Type) -> Result<bool> {
        let Value::Name(name, _) = &operand.value else { return Ok(is_wide(ty)) };
        match self.names.kind(name) {
            Some(Kind::Narrow) if is_wide(ty) => Err(self.error(
                operand.at,
                format!("`{}` stands where a 64-bit register is needed", name.name),
            )),
            Some(kind) => Ok(kind == Kind::Wide),
            None => Ok(is_wide(ty)),
        }
    }

    /// Starts a memory instruction: its address, and what the timing model needs to know.
    pub(super) fn access(
        &mut self,
        instruction: &Instruction,
        words: &Words,
        kind: AccessKind,
        address: &Operand,
    ) -> Result<Decoded> {
        let Value::Address(name, offset) = &address.value else {
            return Err(self.error(address.at, "expected an address such as `[%rd1+4]`"));
        };
        let mut space = match words.space {
            // Parameters of the kernel lie behind its constants, those of a function in its frame.
            None if words.param && self.current == 0 => AccessSpace::Const,
            None if words.param => AccessSpace::Local,
            None => AccessSpace::Generic,
            Some(space) => space,
        };
        let mut decoded = Decoded::new(Step::Memory(self.accesses.len() as u32), Op::Barrier);
        let (mut base, mut offset) = (Base::None, *offset as u64);
        if let Some(name) = name {
            if let Some((declared, start)) = self.names.variable(&name.name) {
                let row = match declared {
                    VarSpace::Global => Some(Constant::Global { index: start as u32, offset: 0 }),
                    VarSpace::Local if self.current > 0 => Some(Constant::Frame {
                        function: self.current as u32 - 1,
                        offset: start as u32,
                    }),
                    _ => None,
                };
                match row {
                    Some(value) => base = Base::Wide(self.constant(value, true, address.at)?),
                    None => offset = offset.wrapping_add(start),
                }
                let home = match declared {
                    VarSpace::Shared => AccessSpace::Shared,
                    VarSpace::Local => AccessSpace::Local,
                    VarSpace::Global => AccessSpace::Global,
                    VarSpace::Const | VarSpace::Param => AccessSpace::Const,
                };
                if space == AccessSpace::Generic || words.param {
                    space = home;
                }
            } else {
                base = match self.names.kind(name) {
                    Some(Kind::Narrow) => Base::Narrow(self.register(
                        name,
                        address.at,
                        Kind::Narrow,
                        &mut decoded.srcs,
                    )?),
                    Some(_) => Base::Wide(self.register(
                        name,
                        address.at,
                        Kind::Wide,
                        &mut decoded.srcs,
                    )?),
                    None => {
                        self.symbol(name, 0, address.at, true)?;
                        return Err(self.error(address.at, "this is no address"));
                    }
                };
            }
        }
        let (isa_space, isa_kind) = (
            match space {
                AccessSpace::Global => isa::Space::Global,
                AccessSpace::Generic => isa::Space::Generic,
                AccessSpace::Shared => isa::Space::Shared,
                AccessSpace::Local => isa::Space::Local,
                AccessSpace::Const => isa::Space::Constant,
            },
            match kind {
                AccessKind::Load => isa::AccessKind::Load,
                AccessKind::Store => isa::AccessKind::Store,
                AccessKind::Atomic(AtomicOp::Cas) => isa::AccessKind::Atomic(Turns::LanesTwice),
                AccessKind::Atomic(_) => isa::AccessKind::Atomic(Turns::Lanes),
            },
        );
        if space == AccessSpace::Const && kind != AccessKind::Load {
            return Err(self.error(instruction.at, "constant memory cannot be written"));
        }
        decoded.op = Op::Memory(MemoryOp {
            space: isa_space,
            kind: isa_kind,
            bytes: words.elements * words.ty.bytes() as u8,
            cache: words.cache,
        });
        self.accesses.push(Access {
            space,
            kind,
            base,
            offset,
            ty: words.ty,
            elements: words.elements,
            wide: 0,
            regs: [0; 4],
        });
        Ok(decoded)
    }

    /// The constants that a load from a fixed place reads, if it is one.
    fn fixed(
        &self,
        instruction: &Instruction,
        words: &Words,
        address: &Operand,
    ) -> Result<Option<Vec<Constant>>> {
        let (name, offset) = match &address.value {
            Value::Address(Some(name), offset) => (name, *offset as u64),
            _ => return Ok(None),
        };
        let declared = self.names.variable(&name.name);
        if words.param && declared.is_none() && self.names.kind(name).is_none() {
            let message = format!("`{}` is no parameter of this entry", name.name);
            return Err(self.error(address.at, message));
        }
        let size = words.ty.bytes();
        let total = u64::from(size) * u64::from(words.elements);
        let outside = |what: &str, bytes: u64| {
            let message = format!("reads past the end of {what}, which has {bytes} bytes");
            self.error(address.at, message)
        };
        if let (true, Some((VarSpace::Param, _)), Some(param)) =
            (words.param, declared, self.layout.param(&name.name))
        {
            if offset.checked_add(total).is_none_or(|end| end > u64::from(param.bytes)) {
                return Err(outside(&format!("`{}`", param.name), u64::from(param.bytes)));
            }
            let start = param.offset + offset as u32;
            let constants = (0..u32::from(words.elements))
                .map(|element| Constant::Param { offset: start + element * size, ty: words.ty });
            return Ok(Some(constants.collect()));
        }
        let Some((VarSpace::Const, start)) = declared else {
            return Ok(None);
        };
        if !matches!(words.space, Some(AccessSpace::Const) | None) {
            return Err(self.unsupported(instruction));
        }
        let start = start.wrapping_sub(CONST_WINDOW).wrapping_add(offset);
        let consts = &self.layout.consts;
        if start.checked_add(total).is_none_or(|end| end > consts.len() as u64) {
            return Err(outside("constant memory", consts.len() as u64));
        }
        // An address in an initial value is known when the kernel is launched.
        let patched = |patch: &Patch| {
            let (first, end) = (patch.start, patch.start + u64::from(patch.bytes));
            patch.global.is_none() && first < start + total && start < end
        };
        if self.layout.patches.iter().any(patched) {
            return Ok(None);
        }
        let constants = (0..usize::from(words.elements)).map(|element| {
            let from = start as usize + element * size as usize;
            Constant::Bits(read_value(&consts[from..from + size as usize], words.ty))
        });
        Ok(Some(constants.collect()))
    }

    fn load_fixed(
        &mut self,
        words: &Words,
        data: &[Operand],
        constants: &[Constant],
    ) -> Result<Decoded> {
        let mut decoded = Decoded::new(Step::Compute(moves::copy), Op::Arith(ArithClass::Move));
        decoded.imm = data.len() as u32;
        for (place, (operand, constant)) in data.iter().zip(constants).enumerate() {
            let wide = self.data_is_wide(operand, words.ty)?;
            let kind = if wide { Kind::Wide } else { float_kind(words.ty) };
            decoded.ops[place] = self.write(operand, kind, &mut decoded)?;
            decoded.ops[data.len() + place] = self.constant(*constant, wide, operand.at)?;
            decoded.imm |= u32::from(wide) << (4 + place);
        }
        Ok(decoded)
    }

    fn atomic(
        &mut self,
        instruction: &Instruction,
        words: &Words,
        result: Option<&Operand>,
        address: &Operand,
        data: &[Operand],
    ) -> Result<Decoded> {
        let Some(op) = words.atomic else { return Err(self.unsupported(instruction)) };
        let known = match op {
            AtomicOp::Add => {
                words.ty.half()
                    || words.ty.bytes() >= 4 && !matches!(words.ty, Type::B32 | Type::B64)
            }
            AtomicOp::Cas if words.ty == Type::B16 => true,
            AtomicOp::Exch | AtomicOp::Cas => words.ty.bytes() >= 4 && !words.ty.half(),
            AtomicOp::Inc | AtomicOp::Dec => words.ty == Type::U32,
            _ => words.ty.bytes() >= 4 && !words.ty.float(),
        };
        if !known || words.elements != 1 {
            return Err(self.unsupported(instruction));
        }
        if data.len() != if op == AtomicOp::Cas { 2 } else { 1 } {
            return Err(self.error(instruction.at, "wrong number of operands"));
        }
        let mut decoded = self.access(instruction, words, AccessKind::Atomic(op), address)?;
        let last = self.accesses.len() - 1;
        let wide = is_wide(words.ty);
        let kind = match words.ty {
            Type::F64 => Kind::F64,
            _ if wide => Kind::Wide,
            _ => float_kind(words.ty),
        };
        let row = match result {
            Some(operand) => self.write(operand, kind, &mut decoded)?,
            None => self.names.sink(wide),
        };
        self.accesses[last].regs[0] = row;
        for (place, operand) in data.iter().enumerate() {
            let row = self.read(Some(operand), kind, instruction, &mut decoded)?;
            self.accesses[last].regs[1 + place] = row;
        }
        self.accesses[last].wide = if wide { 7 } else { 0 };
        Ok(decoded)
    }
}

fn float_kind(ty: Type) -> Kind {
    if ty == Type::F32 { Kind::F32 } else { Kind::Narrow }
}

/// A value of memory, extended to 64 bits by its type.
pub fn read_value(bytes: &[u8], ty: Type) -> u64 {
    let mut word = [0; 8];
    let length = bytes.len().min(8);
    word[..length].copy_from_slice(&bytes[..length]);
    let unused = 64 - 8 * ty.bytes().clamp(1, 8);
    let value = u64::from_le_bytes(word) << unused;
    if ty.signed() { (value as i64 >> unused) as u64 } else { value >> unused }
}

fn words(instruction: &Instruction) -> Option<Words> {
    let mut words = Words {
        space: None,
        param: false,
        cache: CacheOp::Default,
        elements: 1,
        atomic: None,
        policy: false,
        ty: Type::Pred,
    };
    for word in &instruction.modifiers {
        match word.as_str() {
            "global" => words.space = Some(AccessSpace::Global),
            "shared" | "shared::cta" => words.space = Some(AccessSpace::Shared),
            "local" => words.space = Some(AccessSpace::Local),
            "const" => words.space = Some(AccessSpace::Const),
            "param" | "param::entry" | "param::func" => words.param = true,
            "ca" | "wb" => words.cache = CacheOp::Default,
            "cg" => words.cache = CacheOp::Global,
            // What others may have written is not looked for in the L1, whatever is to be kept there.
            hint if hint.starts_with("L1::")
                && matches!(words.cache, CacheOp::Global | CacheOp::Volatile) => {}
            "cs" | "L1::evict_first" | "L1::evict_unchanged" => words.cache = CacheOp::Streaming,
            "lu" | "L1::no_allocate" => words.cache = CacheOp::LastUse,
            "L1::evict_last" => words.cache = CacheOp::Keep,
            "cv" | "wt" | "volatile" => words.cache = CacheOp::Volatile,
            "nc" => words.cache = CacheOp::ReadOnly,
            "v2" => words.elements = 2,
            "v4" => words.elements = 4,
            "weak" | "mmio" | "relaxed" | "sc" | "acquire" | "release" | "acq_rel" | "cta" => {}
            // What other SMs have written need not be in the L1, so it does not serve them.
            "cluster" | "gpu" | "sys" => words.cache = CacheOp::Global,
            "L2::cache_hint" => words.policy = true,
            hint if hint.starts_with("L1::") || hint.starts_with("L2::") => {}
            // How floating-point additions round and treat subnormal numbers: to nearest, and kept.
            "noftz" | "rn" => {}
            name => match AtomicOp::named(name) {
                Some(op) => words.atomic = Some(op),
                None => words.ty = Type::from_name(name)?,
            },
        }
    }
    // Numbers of half precision are loaded and stored as bits.
    (words.ty != Type::Pred && (words.atomic.is_some() || !words.ty.half())).then_some(words)
}
