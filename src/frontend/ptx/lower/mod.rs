//! From a parsed entry to a [`Program`]: names become rows, instructions become micro-ops.
//!
//! Each PTX instruction becomes one [`Inst`] and one [`Micro`]. Arithmetic goes through the tables of
//! `ops`; `control` decodes what moves the program counter or data without computing, and
//! `memory` decodes loads, stores and atomics.

mod control;
mod memory;
mod names;
mod variables;

use std::path::Path;

use names::Names;
use variables::Layout;

pub(super) use memory::read_value;

use super::ast::{Ast, Entry, Instruction, Name, Operand, Statement, Type, Value, VarSpace};
use super::cfg::{self, Flow};
use super::exec::Kind;
use super::lexer::Place;
use super::liveness;
use super::ops::{Opcode, Rule, Slot, select};
use super::program::*;
use crate::error::{Error, Result};
use crate::isa::{Inst, Op, Operands};

/// Instructions that an entry may have.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// Decodes an entry.
pub fn lower(entry: &Entry, ast: &Ast, path: &Path) -> Result<Program> {
    let layout = Layout::new(entry, ast, path)?;
    let mut lowerer = Lowerer {
        path,
        names: Names::default(),
        layout,
        insts: Vec::new(),
        micros: Vec::new(),
        accesses: Vec::new(),
        flow: Vec::new(),
    };
    lowerer.labels(entry)?;
    lowerer.names.declare_variables(&lowerer.layout.module);
    let mut variables = std::mem::take(&mut lowerer.layout.body).into_iter();
    for statement in &entry.body {
        match statement {
            Statement::Open => lowerer.names.open(),
            Statement::Close => lowerer.names.close(),
            Statement::Label(..) => {}
            Statement::Regs(decl) => lowerer.names.declare_registers(decl),
            Statement::Variable(_) => {
                // The layout lists the body's variables in the order of the text.
                lowerer.names.declare_variables(variables.next().as_slice());
            }
            Statement::Instruction(instruction) => {
                if lowerer.insts.len() == MAX_INSTRUCTIONS {
                    return Err(
                        lowerer.error(instruction.at, "the entry has too many instructions")
                    );
                }
                lowerer.instruction(instruction)?;
            }
        }
    }
    lowerer.finish(entry)
}

/// A decoded instruction before its guard is added.
struct Decoded {
    step: Step,
    op: Op,
    flow: Flow,
    ops: [u16; 8],
    imm: u32,
    dsts: Operands,
    srcs: Operands,
}

impl Decoded {
    fn new(step: Step, op: Op) -> Decoded {
        Decoded {
            step,
            op,
            flow: Flow::Next,
            ops: [0; 8],
            imm: 0,
            dsts: Operands::NONE,
            srcs: Operands::NONE,
        }
    }
}

struct Lowerer<'a> {
    path: &'a Path,
    names: Names,
    layout: Layout,
    insts: Vec<Inst>,
    micros: Vec<Micro>,
    accesses: Vec<Access>,
    flow: Vec<Flow>,
}

impl Lowerer<'_> {
    fn error(&self, at: Place, message: impl Into<String>) -> Error {
        at.error(self.path, message)
    }

    fn unsupported(&self, instruction: &Instruction) -> Error {
        let name = instruction.full_name();
        let error = self.error(instruction.at, format!("`{name}` is not supported"));
        match instruction.opcode.as_str() {
            "call" => error.hint("make the function inline: gsim executes entries only"),
            "brx" => error.hint("compile the switch without a jump table"),
            "clock" | "nanosleep" => error.hint("values must not depend on time"),
            _ => error,
        }
    }

    /// Finds each label's instruction before branches need it.
    fn labels(&mut self, entry: &Entry) -> Result<()> {
        let mut pc = 0;
        for statement in &entry.body {
            match statement {
                Statement::Open => self.names.open(),
                Statement::Close => self.names.close(),
                Statement::Label(name, at) if !self.names.declare_label(name, pc) => {
                    return Err(self.error(*at, format!("label `{name}` stands here again")));
                }
                Statement::Instruction(_) => pc += 1,
                _ => {}
            }
        }
        self.names.rewind();
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<()> {
        let mut decoded = match self.control(instruction)? {
            Some(decoded) => decoded,
            None => match self.memory(instruction)? {
                Some(decoded) => decoded,
                None => self.arithmetic(instruction)?,
            },
        };
        let (mut guard, mut guard_flip) = (TRUE, 0);
        if let Some((name, inverted)) = &instruction.guard {
            let (row, reg) = self.names.register(name, Kind::Pred).ok_or_else(|| {
                self.error(instruction.at, format!("`{}` is no predicate register", name.name))
            })?;
            guard = row;
            guard_flip = if *inverted { !0 } else { 0 };
            decoded.srcs.add(reg);
        }
        let Decoded { step, op, flow, ops, imm, dsts, srcs } = decoded;
        self.micros.push(Micro { step, guard, guard_flip, ops, imm });
        self.insts.push(Inst { op, dsts, srcs, line: instruction.at.line });
        self.flow.push(flow);
        Ok(())
    }

    fn arithmetic(&mut self, instruction: &Instruction) -> Result<Decoded> {
        let opcode = Opcode::new(instruction);
        let wide = [0, 1].map(|place| self.is_wide(&opcode, instruction, place));
        let rule = select(&opcode, wide).ok_or_else(|| self.unsupported(instruction))?;
        self.apply(rule, instruction)
    }

    /// Whether the register of an operand has 64 bits; a number has the size of its type.
    fn is_wide(&mut self, opcode: &Opcode, instruction: &Instruction, place: usize) -> bool {
        if let Some(Operand { value: Value::Name(name, _), .. }) = instruction.operands.get(place)
            && let Some(kind) = self.names.kind(name)
        {
            return kind == Kind::Wide;
        }
        opcode.types.get(place).is_some_and(|ty| ty.bytes() == 8)
    }

    /// Fills in the operands of a rule.
    fn apply(&mut self, rule: Rule, instruction: &Instruction) -> Result<Decoded> {
        let mut decoded = Decoded::new(Step::Compute(rule.exec), Op::Arith(rule.class));
        decoded.imm = rule.imm;
        let mut operands = instruction.operands.iter();
        let mut second = None;
        for (place, slot) in rule.slots.iter().enumerate() {
            let row = match slot {
                Slot::SecondPred => match second.take() {
                    Some(operand) => self.write(&operand, Kind::Pred, &mut decoded)?,
                    None => SINK,
                },
                Slot::OptionalPred if operands.len() == 0 => FALSE,
                Slot::OptionalPred => {
                    self.read(operands.next(), Kind::Pred, instruction, &mut decoded)?
                }
                Slot::Src(kind) => self.read(operands.next(), *kind, instruction, &mut decoded)?,
                Slot::Dst(kind) => {
                    let operand = operands.next().ok_or_else(|| self.few(instruction))?;
                    match &operand.value {
                        Value::Pair(first, other)
                            if rule.slots.get(place + 1) == Some(&Slot::SecondPred) =>
                        {
                            let named = |name: &Name| Operand {
                                value: Value::Name(name.clone(), 0),
                                at: operand.at,
                            };
                            second = Some(named(other));
                            self.write(&named(first), *kind, &mut decoded)?
                        }
                        _ => self.write(operand, *kind, &mut decoded)?,
                    }
                }
            };
            decoded.ops[place] = row;
        }
        match operands.next() {
            Some(extra) => Err(self.error(extra.at, "one operand too many")),
            None => Ok(decoded),
        }
    }

    fn few(&self, instruction: &Instruction) -> Error {
        let name = instruction.full_name();
        self.error(instruction.at, format!("`{name}` needs more operands"))
    }

    /// The row of an operand that is read.
    fn read(
        &mut self,
        operand: Option<&Operand>,
        kind: Kind,
        instruction: &Instruction,
        decoded: &mut Decoded,
    ) -> Result<u16> {
        let operand = operand.ok_or_else(|| self.few(instruction))?;
        let wide = matches!(kind, Kind::Wide | Kind::F64);
        let bits = match (&operand.value, kind) {
            (Value::Name(name, 0), _) if self.names.kind(name).is_some() => {
                return self.register(name, operand.at, kind, &mut decoded.srcs);
            }
            (Value::Not(name), Kind::Pred) if decoded.imm & INVERT == 0 => {
                decoded.imm |= INVERT;
                return self.register(name, operand.at, kind, &mut decoded.srcs);
            }
            (Value::Int(value), Kind::Pred) => return Ok(if *value == 0 { FALSE } else { TRUE }),
            (Value::Name(name, offset), Kind::Narrow | Kind::Wide) => {
                self.symbol(name, *offset, operand.at, wide)?
            }
            (Value::Int(value), Kind::Narrow) => Constant::Bits(value & 0xffff_ffff),
            (Value::Int(value), Kind::Wide) => Constant::Bits(*value),
            (Value::F32(bits), Kind::Narrow | Kind::F32) => Constant::Bits(u64::from(*bits)),
            (Value::F64(bits), Kind::F32) => {
                Constant::Bits(u64::from((f64::from_bits(*bits) as f32).to_bits()))
            }
            (Value::F64(bits), Kind::Wide | Kind::F64) => Constant::Bits(*bits),
            _ => return Err(self.error(operand.at, "this operand does not fit the instruction")),
        };
        self.constant(bits, wide, operand.at)
    }

    /// The row of an operand that is written.
    fn write(&mut self, operand: &Operand, kind: Kind, decoded: &mut Decoded) -> Result<u16> {
        match &operand.value {
            Value::Name(name, 0) if name.name == "_" => match kind {
                Kind::Pred => Ok(SINK),
                _ => Ok(self.names.sink(matches!(kind, Kind::Wide | Kind::F64))),
            },
            Value::Name(name, 0) => self.register(name, operand.at, kind, &mut decoded.dsts),
            _ => Err(self.error(operand.at, "expected a register")),
        }
    }

    fn register(&mut self, name: &Name, at: Place, kind: Kind, list: &mut Operands) -> Result<u16> {
        if let Some((row, reg)) = self.names.register(name, kind) {
            list.add(reg);
            return Ok(row);
        }
        let what = match self.names.kind(name) {
            None => format!("`{}` is not declared as a register", name.name),
            Some(_) => {
                let wanted = match kind {
                    Kind::Pred => "a predicate",
                    Kind::Wide | Kind::F64 => "a 64-bit",
                    _ => "a 32-bit or smaller",
                };
                format!("`{}` stands where {wanted} register is needed", name.name)
            }
        };
        Err(self.error(at, what))
    }

    /// The row of a constant.
    fn constant(&mut self, value: Constant, wide: bool, at: Place) -> Result<u16> {
        self.names.constant(value, wide).ok_or_else(|| {
            self.error(at, "the entry names more than 65,535 registers and constants")
        })
    }

    /// A special register, or the address of a variable.
    fn symbol(&mut self, name: &Name, offset: i64, at: Place, wide: bool) -> Result<Constant> {
        if name.name == "WARP_SZ" {
            return Ok(Constant::Bits(32));
        }
        match self.names.variable(&name.name) {
            Some((VarSpace::Global, index)) if wide => {
                return Ok(Constant::Global { index: index as u32, offset: offset as u64 });
            }
            Some((VarSpace::Global, _)) => return Err(self.error(at, "an address has 64 bits")),
            Some((_, address)) => return Ok(Constant::Bits(address.wrapping_add_signed(offset))),
            None => {}
        }
        if let Some(special) = names::special(name)
            && offset == 0
            && !wide
        {
            return Ok(Constant::Special(special));
        }
        let full = match &name.part {
            Some(part) => format!("{}.{part}", name.name),
            None => name.name.clone(),
        };
        let error = self.error(at, format!("`{full}` is not known here"));
        Err(match self.layout.refusal(&name.name) {
            Some(hint) => error.hint(hint),
            None if full.contains("clock") || full.contains("timer") => {
                error.hint("gsim refuses clocks: values must not depend on timing")
            }
            None => error,
        })
    }

    fn finish(self, entry: &Entry) -> Result<Program> {
        let graph = match cfg::build(&self.flow) {
            Ok(graph) if !graph.blocks.is_empty() => graph,
            Ok(_) => return Err(self.error(entry.at, "the entry has no instruction")),
            Err(pc) => {
                let at = Place { line: self.insts[pc].line, column: 1 };
                return Err(self
                    .error(at, "control runs past the end of the entry")
                    .hint("end the entry with `ret;`"));
            }
        };
        if self.names.overflow {
            return Err(self.error(entry.at, "the entry names more than 65,535 registers"));
        }
        let guarded: Vec<bool> =
            self.micros.iter().map(|micro| micro.guard != TRUE || micro.guard_flip != 0).collect();
        let registers_per_thread =
            liveness::registers(&graph, &self.insts, &guarded, &self.names.weights);
        let mut micros = self.micros;
        for micro in &mut micros {
            if let Step::Branch(target) = &mut micro.step {
                *target = graph.block_of[*target as usize];
            }
        }
        Ok(Program {
            name: entry.name.clone(),
            insts: self.insts,
            micros,
            accesses: self.accesses,
            blocks: graph.blocks,
            constants: self.names.constants(),
            narrow_rows: self.names.narrow_rows,
            wide_rows: self.names.wide_rows,
            pred_rows: self.names.pred_rows,
            regs: self.names.weights.len() as u16,
            registers_per_thread,
            params: self.layout.params,
            shared_bytes: self.layout.shared_bytes,
            local_bytes: self.layout.local_bytes,
            consts: self.layout.consts,
            globals: self.layout.globals,
            max_threads: entry.max_threads,
            required_threads: entry.required_threads,
        })
    }
}

/// Whether values of a type need a 64-bit register.
fn is_wide(ty: Type) -> bool {
    ty.bytes() == 8
}
