//! From a parsed entry to a [`Program`]: names become rows, instructions become micro-ops.
//!
//! Each PTX instruction becomes one [`Inst`] and one [`Micro`]. Arithmetic goes through the tables of
//! `ops`; `control` decodes what moves the program counter or data without computing,
//! `memory` decodes loads, stores and atomics, `matrix` what a warp does to matrices and `warpgroup` what four do, `mbarrier` barriers in shared memory, and `bulk` copies of many bytes.

mod bulk;
mod calls;
mod control;
mod copies;
mod finish;
mod matrix;
mod mbarrier;
mod memory;
mod names;
mod operands;
mod variables;
mod warpgroup;

use std::path::Path;

use names::Names;
use variables::{Frame, Layout, Placed};

pub(super) use memory::read_value;

use super::ast::{Ast, Entry, Instruction, Name, Operand, Statement, Type, Value, VarSpace};
use super::cfg::{self, Flow, Graph};
use super::exec::{CONST_WINDOW, Kind};
use super::lexer::Place;
use super::lowering::Line;
use super::ops::matrix::Product;
use super::ops::{Opcode, Rule, Slot, finds_lanes, names_members, select};
use super::program::*;
use crate::config::machine::InstructionSet;
use crate::error::{Error, Result};
use crate::isa::{ArithClass, Inst, Op, Operands, Reg, Sources};

/// Instructions that an entry may have.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// Decodes an entry and the functions that it may call, for machines of an instruction set.
pub fn lower(entry: &Entry, ast: &Ast, path: &Path, set: InstructionSet) -> Result<Program> {
    if entry.cluster > 1 {
        let message = format!("`{}` asks for clusters of {} CTAs", entry.name, entry.cluster);
        return Err(entry.at.error(path, message).hint("clusters are not modelled"));
    }
    let (program, meetings) = lower_with(entry, ast, path, set, false)?;
    match meetings {
        // Lanes that have gone ahead may be anywhere from then on.
        Meetings { lanes_go_ahead: true, all_wait: false } => {
            Ok(lower_with(entry, ast, path, set, true)?.0)
        }
        _ => Ok(program),
    }
}

/// The same, where instructions across lanes wait for their members wherever they are; if not all of them do, only where lanes come
/// one after the other by the control flow.
fn lower_with<'a>(
    entry: &'a Entry,
    ast: &'a Ast,
    path: &'a Path,
    set: InstructionSet,
    all_wait: bool,
) -> Result<(Program, Meetings)> {
    let numbers = calls::reachable(entry, ast);
    let functions = numbers.iter().map(|number| &ast.functions[*number as usize]);
    let bodies: Vec<&'a Entry> = std::iter::once(entry).chain(functions).collect();
    let layout = Layout::new(&bodies, ast, path)?;
    let mut lowerer = Lowerer {
        set,
        path,
        ast,
        numbers: &numbers,
        names: Names::default(),
        layout,
        current: 0,
        functions: Vec::new(),
        frame_bytes: 0,
        first_pc: 0,
        insts: Vec::new(),
        lines: Vec::new(),
        nounroll: false,
        micros: Vec::new(),
        accesses: Vec::new(),
        copies: Vec::new(),
        products: Vec::new(),
        matrices: Vec::new(),
        group_products: Vec::new(),
        barriers: Vec::new(),
        mbarriers: Vec::new(),
        bulks: Vec::new(),
        tables: Vec::new(),
        calls: Vec::new(),
        flow: Vec::new(),
        across: Vec::new(),
        parting: Vec::new(),
        all_wait,
        meetings: Meetings { lanes_go_ahead: false, all_wait: true },
        graphs: Vec::new(),
    };
    let module = std::mem::take(&mut lowerer.layout.module);
    lowerer.names.declare_variables(module.iter().flatten());
    for (number, body) in bodies.iter().enumerate() {
        lowerer.body(number, body)?;
    }
    let meetings = lowerer.meetings;
    Ok((lowerer.finish(entry)?, meetings))
}

/// How lanes of a warp meet.
#[derive(Clone, Copy, Debug)]
struct Meetings {
    /// Lanes may go ahead of others from where control flow meets, as these wait for them.
    lanes_go_ahead: bool,
    /// All instructions across lanes wait for their members.
    all_wait: bool,
}

/// A decoded instruction before its guard is added.
struct Decoded {
    step: Step,
    op: Op,
    flow: Flow,
    ops: [u16; 8],
    imm: u32,
    dsts: Operands,
    srcs: Sources,
    /// Registers that a product of a warpgroup adds to.
    sums: Vec<Reg>,
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
            sums: Vec::new(),
        }
    }
}

struct Lowerer<'a> {
    /// Which instructions the machine issues.
    set: InstructionSet,
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
    insts: Vec<Inst>,
    lines: Vec<Line<'a>>,
    /// Whether the text asks that the loop around the next instruction is not unrolled.
    nounroll: bool,
    micros: Vec<Micro>,
    accesses: Vec<Access>,
    copies: Vec<Copy>,
    products: Vec<Product>,
    matrices: Vec<Matrices>,
    group_products: Vec<GroupStep>,
    barriers: Vec<Barrier>,
    mbarriers: Vec<MbarrierStep>,
    bulks: Vec<BulkStep>,
    /// Instructions, then blocks that indirect branches go to.
    tables: Vec<Vec<u32>>,
    calls: Vec<CallSite>,
    flow: Vec<Flow>,
    /// Instructions across lanes of the body, with the operand that names the members.
    across: Vec<(usize, Exec, u8)>,
    /// Barriers of the body that wait for lanes one by one, and whether they have a guard.
    parting: Vec<(usize, bool)>,
    /// All instructions across lanes are to wait.
    all_wait: bool,
    meetings: Meetings,
    graphs: Vec<Graph>,
}

impl<'a> Lowerer<'a> {
    /// Decodes one body; the first is the entry.
    fn body(&mut self, number: usize, body: &'a Entry) -> Result<()> {
        self.current = number;
        self.first_pc = self.insts.len();
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
                Statement::Nounroll => self.nounroll = true,
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
        let mut flow = std::mem::take(&mut self.flow);
        let graph = match cfg::build(&flow, &self.tables) {
            Ok(graph) if !graph.blocks.is_empty() => self.with_meetings(graph, &mut flow),
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

    /// Lets instructions across lanes wait for members that may come one after the other: these end their blocks. All of a function do,
    /// as lanes may call it one after the other.
    fn with_meetings(&mut self, graph: Graph, flow: &mut [Flow]) -> Graph {
        let (across, parting) =
            (std::mem::take(&mut self.across), std::mem::take(&mut self.parting));
        if across.is_empty() && parting.is_empty() {
            return graph;
        }
        let apart = graph.reached_apart();
        let (first_pc, in_function) = (self.first_pc, self.current > 0);
        let is_apart = |at: usize| in_function || apart[graph.block_of[at - first_pc] as usize];
        let mut waits = false;
        for (at, exec, members) in across {
            if self.all_wait || is_apart(at) {
                self.micros[at].step = Step::Meet(exec, members);
                flow[at - first_pc] = Flow::Pause;
                waits = true;
            } else {
                self.meetings.all_wait = false;
            }
        }
        let parts = parting.iter().any(|&(at, is_guarded)| is_guarded || is_apart(at));
        self.meetings.lanes_go_ahead |= waits || parts;
        // Where a pause ends a block, control still goes to the next instruction.
        let again = if waits { cfg::build(flow, &self.tables).ok() } else { None };
        again.unwrap_or(graph)
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
            "wgmma" => error.hint(
                "known are m64 with k16 of f16 and bf16, k8 of tf32, and k32 of e4m3, e5m2, s8 and u8, of 8 to 256 columns",
            ),
            "tcgen05" => error.hint("its products are not modelled: multiply with `wgmma` or `mma.sync`"),
            "wmma" => error.hint("known are m16n16k16 of f16 and bf16: multiply with `mma.sync`"),
            "mma" => error.hint(
                "known are m16n8 with k8 and k16 of f16 and bf16, k4 and k8 of tf32, k16 and k32 of e4m3, e5m2, s8 and u8, k4 to k16 \
                 of f64, k128 and k256 of b1, and m8n8 with k16 of s8 and u8, k4 of f64, k128 of b1",
            ),
            "ldmatrix" | "stmatrix" => error.hint("known are m8n8 with x1, x2 and x4 of b16"),
            "mapa" | "getctarank" | "multimem" => error.hint("clusters are not modelled"),
            "barrier" if name.contains("cluster") => error.hint("clusters are not modelled"),
            _ => error,
        }
    }

    /// Finds each label's instruction, and those of tables, before branches need them; instructions count from the body's first.
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
                    if !self.names.declare_table(name, targets) {
                        return Err(self.error(*at, format!("table `{name}` stands here again")));
                    }
                }
                _ => {}
            }
        }
        self.names.rewind(mark);
        Ok(())
    }

    fn instruction(&mut self, instruction: &'a Instruction) -> Result<()> {
        let mut decoded = if let Some(decoded) = self.control(instruction)? {
            decoded
        } else if let Some(decoded) = self.memory(instruction)? {
            decoded
        } else if let Some(decoded) = self.matrix(instruction)? {
            decoded
        } else if let Some(decoded) = self.mbarrier(instruction)? {
            decoded
        } else {
            self.arithmetic(instruction)?
        };
        let opcode = instruction.opcode.as_str();
        if let (Step::Compute(exec), "div" | "rem", Op::Arith(ArithClass::IntDiv)) =
            (decoded.step, opcode, decoded.op)
        {
            decoded.step = Step::Divide(exec, divisor_bits(instruction));
        }
        if let (Step::Compute(exec), true) =
            (decoded.step, finds_lanes(opcode, &instruction.modifiers))
        {
            (decoded.step, decoded.op) = (Step::Match(exec), Op::Match);
        }
        let (mut guard, mut guard_flip, mut guard_reg) = (TRUE, 0, None);
        if let Some((name, inverted)) = &instruction.guard {
            let (row, reg) = self.names.register(name, Kind::Pred).ok_or_else(|| {
                self.error(instruction.at, format!("`{}` is no predicate register", name.name))
            })?;
            guard = row;
            guard_flip = if *inverted { !0 } else { 0 };
            decoded.srcs.add(reg);
            guard_reg = Some(reg);
        }
        let Decoded { step, op, flow, ops, imm, dsts, srcs, sums } = decoded;
        let parts = match step {
            Step::WarpSync => true,
            Step::Barrier(barrier) => !self.barriers[barrier as usize].aligned,
            _ => false,
        };
        if parts {
            self.parting.push((self.micros.len(), guard_reg.is_some()));
        }
        if self.set == InstructionSet::Sass {
            let args = self.args(instruction);
            let nounroll = std::mem::take(&mut self.nounroll);
            self.lines.push(Line { text: instruction, args, nounroll });
        }
        self.micros.push(Micro { step, guard, guard_flip, ops, imm });
        let inst = Inst::new(op, dsts, srcs, instruction.at.line);
        self.insts.push(Inst { guard: guard_reg, sums, ..inst });
        self.flow.push(flow);
        Ok(())
    }

    fn arithmetic(&mut self, instruction: &Instruction) -> Result<Decoded> {
        let opcode = Opcode::new(instruction);
        let wide = [0, 1].map(|place| self.is_wide(&opcode, instruction, place));
        let rule = select(&opcode, wide).ok_or_else(|| self.unsupported(instruction))?;
        let is_not = |operand: &&Operand| matches!(operand.value, Value::Not(_));
        if let Some(operand) = instruction.operands.iter().find(is_not)
            && opcode.is_logic_of_predicates()
        {
            let message = format!("`{}` takes no `!`", instruction.full_name());
            return Err(self.error(operand.at, message).hint("`not.pred` comes before it"));
        }
        if names_members(&opcode) {
            self.across.push((self.micros.len(), rule.exec, rule.slots.len() as u8 - 1));
        }
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
