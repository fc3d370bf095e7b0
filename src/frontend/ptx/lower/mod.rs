//! From a parsed entry to a [`Program`]: names become rows, instructions become micro-ops.
//!
//! Each PTX instruction becomes one [`Inst`] and one [`Micro`]. Arithmetic goes through the tables of
//! `ops`; `control` decodes what moves the program counter or data without computing, and
//! `memory` decodes loads, stores and atomics.

mod calls;
mod control;
mod memory;
mod names;
mod variables;

use std::collections::HashMap;
use std::path::Path;

use names::Names;
use variables::{Frame, Layout, Placed};

pub(super) use memory::read_value;

use super::ast::{Ast, Entry, Instruction, Name, Operand, Statement, Type, Value, VarSpace};
use super::cfg::{self, Flow, Graph};
use super::exec::{CONST_WINDOW, Kind, function_address};
use super::lexer::Place;
use super::liveness;
use super::ops::{Opcode, Rule, Slot, select};
use super::program::*;
use crate::error::{Error, Result};
use crate::isa::{ArithClass, Inst, Op, Operands};

/// Instructions that an entry may have.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// Decodes an entry and the functions that it may call.
pub fn lower(entry: &Entry, ast: &Ast, path: &Path) -> Result<Program> {
    let numbers = calls::reachable(entry, ast);
    let functions = numbers.iter().map(|number| &ast.functions[*number as usize]);
    let bodies: Vec<&Entry> = std::iter::once(entry).chain(functions).collect();
    let layout = Layout::new(&bodies, ast, path)?;
    let mut lowerer = Lowerer {
        path,
        ast,
        numbers: &numbers,
        names: Names::default(),
        layout,
        current: 0,
        functions: Vec::new(),
        frame_bytes: 0,
        first_pc: 0,
        targets: HashMap::new(),
        insts: Vec::new(),
        micros: Vec::new(),
        accesses: Vec::new(),
        copies: Vec::new(),
        barriers: Vec::new(),
        tables: Vec::new(),
        calls: Vec::new(),
        flow: Vec::new(),
        graphs: Vec::new(),
    };
    let module = std::mem::take(&mut lowerer.layout.module);
    lowerer.names.declare_variables(module.iter().flatten());
    for (number, body) in bodies.iter().enumerate() {
        lowerer.body(number, body)?;
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
    ast: &'a Ast,
    /// Places in the module of the functions, in the order in which they are decoded.
    numbers: &'a [u32],
    names: Names,
    layout: Layout,
    /// The body that is decoded: 0 for the entry, else one more than the function's place in `functions`.
    current: usize,
    functions: Vec<Function>,
    /// Local memory of the body `[bytes]`.
    frame_bytes: u32,
    /// First instruction of the body.
    first_pc: usize,
    /// Tables of indirect branches of the body, by name, with the labels' instructions.
    targets: HashMap<String, Vec<u32>>,
    insts: Vec<Inst>,
    micros: Vec<Micro>,
    accesses: Vec<Access>,
    copies: Vec<Copy>,
    barriers: Vec<Barrier>,
    /// Instructions, then blocks that indirect branches go to.
    tables: Vec<Vec<u32>>,
    calls: Vec<CallSite>,
    flow: Vec<Flow>,
    graphs: Vec<Graph>,
}

impl Lowerer<'_> {
    /// Decodes one body; the first is the entry.
    fn body(&mut self, number: usize, body: &Entry) -> Result<()> {
        self.current = number;
        self.first_pc = self.insts.len();
        self.targets.clear();
        let rows = (self.names.narrow_rows, self.names.wide_rows, self.names.pred_rows);
        let first_table = self.tables.len();
        let frame = std::mem::take(&mut self.layout.frames[number]);
        self.frame_bytes = frame.bytes as u32;
        self.names.open();
        if number == 0 {
            let start = CONST_WINDOW + u64::from(self.layout.param_start);
            let params: Vec<Placed> = self
                .layout
                .params
                .iter()
                .map(|param| Placed {
                    name: param.name.clone(),
                    space: VarSpace::Param,
                    address: start + u64::from(param.offset),
                    bytes: u64::from(param.bytes),
                })
                .collect();
            self.names.declare_variables(&params);
        } else {
            self.names.declare_variables(frame.returns.iter().chain(&frame.params));
        }
        self.labels(body)?;
        let mut variables = frame.body.iter();
        for statement in &body.body {
            match statement {
                Statement::Open => self.names.open(),
                Statement::Close => self.names.close(),
                Statement::Label(..) | Statement::Targets(..) => {}
                Statement::Regs(decl) => self.names.declare_registers(decl),
                Statement::Variable(_) => {
                    // The layout lists the body's variables in the order of the text.
                    self.names.declare_variables(variables.next().and_then(Option::as_ref));
                }
                Statement::Instruction(instruction) => {
                    if self.insts.len() == MAX_INSTRUCTIONS {
                        return Err(
                            self.error(instruction.at, "the entry has too many instructions")
                        );
                    }
                    self.instruction(instruction)?;
                }
            }
        }
        self.names.close();
        let flow = std::mem::take(&mut self.flow);
        let graph = match cfg::build(&flow, &self.tables) {
            Ok(graph) if !graph.blocks.is_empty() => graph,
            Ok(_) => return Err(self.error(body.at, "the entry has no instruction")),
            Err(pc) => {
                let line = self.insts[self.first_pc + pc].line;
                return Err(self
                    .error(Place { line, column: 1 }, "control runs past the end of the entry")
                    .hint("end the entry with `ret;`"));
            }
        };
        let first_block: usize = self.graphs.iter().map(|graph| graph.blocks.len()).sum();
        let block_of = |target: u32| first_block as u32 + graph.block_of[target as usize];
        for micro in &mut self.micros[self.first_pc..] {
            if let Step::Branch(target) = &mut micro.step {
                *target = block_of(*target);
            }
        }
        for target in self.tables[first_table..].iter_mut().flatten() {
            *target = block_of(*target);
        }
        self.graphs.push(graph);
        if number > 0 {
            self.functions.push(Function {
                name: body.name.clone(),
                number: self.numbers[number - 1],
                entry: first_block as u32,
                frame: frame.bytes as u32,
                params: Frame::slots(&frame.params),
                returns: Frame::slots(&frame.returns),
                narrow: rows.0..self.names.narrow_rows,
                wide: rows.1..self.names.wide_rows,
                preds: rows.2..self.names.pred_rows,
                frame_rows: Vec::new(),
            });
        }
        self.layout.frames[number] = frame;
        Ok(())
    }

    fn error(&self, at: Place, message: impl Into<String>) -> Error {
        at.error(self.path, message)
    }

    fn unsupported(&self, instruction: &Instruction) -> Error {
        let name = instruction.full_name();
        let error = self.error(instruction.at, format!("`{name}` is not supported"));
        match instruction.opcode.as_str() {
            "tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq" => {
                error.hint("textures and surfaces are not modelled: read a buffer")
            }
            "wmma" | "mma" | "wgmma" | "ldmatrix" | "stmatrix" | "tcgen05" => {
                error.hint("tensor cores are not modelled: compute with ordinary instructions")
            }
            "mapa" | "getctarank" | "mbarrier" | "multimem" => {
                error.hint("clusters and asynchronous barriers are not modelled")
            }
            "barrier" if name.contains("cluster") => error.hint("clusters are not modelled"),
            _ => error,
        }
    }

    /// Finds each label's instruction before branches need it; instructions count from the body's first.
    fn labels(&mut self, body: &Entry) -> Result<()> {
        let mark = self.names.mark();
        let mut pc = 0;
        for statement in &body.body {
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
        self.names.rewind(mark);
        for statement in &body.body {
            match statement {
                Statement::Open => self.names.open(),
                Statement::Close => self.names.close(),
                Statement::Targets(name, labels, at) => {
                    let find = |label: &String| {
                        self.names.label(label).ok_or_else(|| {
                            self.error(*at, format!("label `{label}` is not in this function"))
                        })
                    };
                    let targets = labels.iter().map(find).collect::<Result<_>>()?;
                    self.targets.insert(name.clone(), targets);
                }
                _ => {}
            }
        }
        self.names.rewind(mark);
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
        let opcode = instruction.opcode.as_str();
        if let (Step::Compute(exec), "div" | "rem", Op::Arith(ArithClass::IntDiv)) =
            (decoded.step, opcode, decoded.op)
        {
            decoded.step = Step::Divide(exec, divisor_bits(instruction));
        }
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
                Slot::CarryOut(false) => SINK,
                Slot::CarryIn(false) => FALSE,
                Slot::CarryOut(true) => {
                    let (row, reg) = self.names.carry();
                    decoded.dsts.add(reg);
                    row
                }
                Slot::CarryIn(true) => {
                    let (row, reg) = self.names.carry();
                    decoded.srcs.add(reg);
                    row
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
            Some((VarSpace::Local, _)) if self.current > 0 && !wide => {
                return Err(self.error(at, "an address has 64 bits"));
            }
            Some((VarSpace::Local, address)) if self.current > 0 => {
                let offset = address.wrapping_add_signed(offset) as u32;
                return Ok(Constant::Frame { function: self.current as u32 - 1, offset });
            }
            Some((_, address)) => return Ok(Constant::Bits(address.wrapping_add_signed(offset))),
            None => {}
        }
        if name.part.is_none()
            && wide
            && let Some(number) = self.function_number(&name.name)
        {
            return Ok(Constant::Bits(function_address(number).wrapping_add_signed(offset)));
        }
        if let Some(special) = names::special(name)
            && offset == 0
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
            None if names::clock(&name.name).is_some() => error.hint("read the clock with `mov`"),
            None => error,
        })
    }

    fn finish(mut self, entry: &Entry) -> Result<Program> {
        if self.names.overflow {
            return Err(self.error(entry.at, "the entry names more than 65,535 registers"));
        }
        let constants = self.names.constants();
        for constant in &constants {
            if let Constant::Frame { function, offset } = constant.value {
                self.functions[function as usize].frame_rows.push((constant.row, offset));
            }
        }
        let guarded: Vec<bool> =
            self.micros.iter().map(|micro| micro.guard != TRUE || micro.guard_flip != 0).collect();
        let (mut blocks, mut peaks): (Vec<Block>, Vec<u32>) = Default::default();
        let mut first = 0;
        for graph in &self.graphs {
            let count = graph.block_of.len();
            let (insts, guarded) = (&self.insts[first..][..count], &guarded[first..][..count]);
            peaks.push(liveness::registers(graph, insts, guarded, &self.names.weights));
            let moved = blocks.len() as u32;
            blocks.extend(graph.blocks.iter().map(|block| Block {
                start: block.start + first as u32,
                end: block.end + first as u32,
                reconverge: match block.reconverge {
                    NO_BLOCK => NO_BLOCK,
                    meet => meet + moved,
                },
            }));
            first += count;
        }
        let graph = self.call_graph();
        let frames: Vec<u64> = self.layout.frames.iter().map(|frame| frame.bytes).collect();
        let (recursive, local_bytes) = calls::stack_bytes(&graph, &frames);
        if local_bytes > variables::MAX_LOCAL {
            let message = format!("calls need {local_bytes} bytes of local memory a thread");
            return Err(self.error(entry.at, message));
        }
        Ok(Program {
            name: entry.name.clone(),
            insts: self.insts,
            micros: self.micros,
            accesses: self.accesses,
            copies: self.copies,
            barriers: self.barriers,
            tables: self.tables,
            calls: self.calls,
            functions: self.functions,
            recursive,
            blocks,
            constants,
            narrow_rows: self.names.narrow_rows,
            wide_rows: self.names.wide_rows,
            pred_rows: self.names.pred_rows,
            regs: self.names.weights.len() as u16,
            registers_per_thread: calls::registers(&graph, &peaks),
            params: self.layout.params,
            shared_bytes: self.layout.shared_bytes,
            local_bytes: local_bytes as u32,
            consts: self.layout.consts,
            param_start: self.layout.param_start,
            globals: self.layout.globals,
            patches: self.layout.patches,
            max_threads: entry.max_threads,
            required_threads: entry.required_threads,
        })
    }
}

/// How many bits of the divisor a division looks at.
fn divisor_bits(instruction: &Instruction) -> DivisorBits {
    let ty = instruction.modifiers.iter().rev().find_map(|word| Type::from_name(word));
    match ty.map_or(4, Type::bytes) {
        2 => DivisorBits::Half,
        8 => DivisorBits::Wide,
        _ => DivisorBits::Narrow,
    }
}

/// Whether values of a type need a 64-bit register.
fn is_wide(ty: Type) -> bool {
    ty.bytes() == 8
}
