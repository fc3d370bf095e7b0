//! Branches, barriers, fences, exits, and vector moves.
//!
//! Source: PTX ISA 9.0, sections 9.7.12 "Control Flow Instructions" and 9.7.13 "Parallel
//! Synchronization and Communication Instructions".

use super::super::ast::{Instruction, Operand, Type, Value};
use super::super::cfg::Flow;
use super::super::exec::{CONST_WINDOW, Kind, LOCAL_WINDOW, SHARED_WINDOW};
use super::super::ops::moves;
use super::super::program::{Barrier, BarrierKind, Constant, Step};
use super::{Decoded, Lowerer, names};
use crate::error::Result;
use crate::isa::{ArithClass, Fence, Observer, Op};

impl Lowerer<'_> {
    /// Decodes a control instruction or vector move; `None` for any other.
    pub(super) fn control(&mut self, instruction: &Instruction) -> Result<Option<Decoded>> {
        let guarded = instruction.guard.is_some();
        let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let control = Op::Arith(ArithClass::Control);
        let mut decoded = match (instruction.opcode.as_str(), words.as_slice()) {
            ("mov", _) => {
                return match self.clock(instruction)? {
                    Some(decoded) => Ok(Some(decoded)),
                    None => self.vector_move(instruction),
                };
            }
            ("bra", [] | ["uni"]) => {
                let [Operand { value: Value::Name(name, 0), at }] = &instruction.operands[..]
                else {
                    return Err(self.error(instruction.at, "`bra` needs a label"));
                };
                let target = self.names.label(&name.name).ok_or_else(|| {
                    self.error(*at, format!("label `{}` is not in this entry", name.name))
                })?;
                let mut decoded = Decoded::new(Step::Branch(target), control);
                decoded.flow = Flow::Jump { target, guarded };
                return Ok(Some(decoded));
            }
            ("brx", ["idx"] | ["idx", "uni"]) => {
                let [index, Operand { value: Value::Name(name, 0), at }] =
                    &instruction.operands[..]
                else {
                    return Err(self.error(instruction.at, "`brx.idx` needs an index and a table"));
                };
                let labels =
                    self.names.table(&name.name).map(<[u32]>::to_vec).ok_or_else(|| {
                        self.error(
                            *at,
                            format!("there is no `.branchtargets` named `{}`", name.name),
                        )
                    })?;
                let table = self.tables.len() as u32;
                self.tables.push(labels);
                let mut decoded = Decoded::new(Step::Indexed(table), control);
                decoded.flow = Flow::Table { table, guarded };
                decoded.ops[0] = self.read(Some(index), Kind::Narrow, instruction, &mut decoded)?;
                return Ok(Some(decoded));
            }
            ("call", [] | ["uni"]) => {
                let Some(call) = &instruction.call else { return Ok(None) };
                return self.call(instruction, call).map(Some);
            }
            ("ret", [] | ["uni"]) if self.current > 0 => {
                let mut decoded = Decoded::new(Step::Return, control);
                decoded.flow = Flow::Stop { guarded };
                decoded
            }
            ("ret" | "exit", [] | ["uni"]) => {
                let mut decoded = Decoded::new(Step::Exit, Op::Exit);
                decoded.flow = Flow::Stop { guarded };
                decoded
            }
            ("trap", []) => Decoded::new(Step::Trap, control),
            // Without a debugger nobody stops there.
            ("brkpt", []) => Decoded::new(Step::Nothing, control),
            ("bar" | "barrier", ["warp", "sync"]) => {
                let [members] = &instruction.operands[..] else {
                    return Err(self.few(instruction));
                };
                let mut decoded = Decoded::new(Step::WarpSync, control);
                decoded.flow = Flow::Pause;
                decoded.ops[0] =
                    self.read(Some(members), Kind::Narrow, instruction, &mut decoded)?;
                return Ok(Some(decoded));
            }
            ("bar" | "barrier", words) => return self.barrier(instruction, words).map(Some),
            // Warps run one after the other and memory is always up to date. What a CTA sees is in order in any case: its accesses
            // go through one load/store unit. A proxy fence orders kinds of accesses that the machine does not tell apart.
            ("membar" | "fence", words)
                if words.contains(&"cta")
                    || matches!(words.first(), Some(&("proxy" | "mbarrier_init"))) =>
            {
                // `ptxas` makes a fence for the GPU of that which names no space, and next to nothing of the others.
                let op = match words {
                    ["proxy", "async"] => {
                        Op::Fence(Fence { release: Some(Observer::Gpu), acquire: false })
                    }
                    _ => control,
                };
                Decoded::new(Step::Nothing, op)
            }
            ("membar" | "fence", [.., "gl" | "gpu" | "cluster" | "sys"]) => {
                let observer =
                    if words.contains(&"sys") { Observer::System } else { Observer::Gpu };
                let release = (!words.contains(&"acquire")).then_some(observer);
                let acquire = !words.contains(&"release");
                Decoded::new(Step::Nothing, Op::Fence(Fence { release, acquire }))
            }
            ("prefetch" | "prefetchu", words) if !words.contains(&"tensormap") => {
                return self.prefetch(instruction).map(Some);
            }
            ("nanosleep", ["u32"]) | ("prefetch" | "discard" | "applypriority", _) => {
                // Its operands decide nothing that shows.
                return Ok(Some(Decoded::new(Step::Nothing, control)));
            }
            ("createpolicy", _) => return self.policy(instruction).map(Some),
            ("griddepcontrol", ["launch_dependents" | "wait"]) => {
                Decoded::new(Step::Nothing, control)
            }
            ("isspacep", [space]) => return self.is_space(instruction, space).map(Some),
            ("cp", ["async", ..]) => return self.copy_async(instruction).map(Some),
            ("cp", ["reduce", "async", "bulk", rest @ ..]) => {
                return self.bulk(instruction, rest, true).map(Some);
            }
            ("brx" | "bra" | "ret" | "exit", _) => return Err(self.unsupported(instruction)),
            _ => return Ok(None),
        };
        if let Some(extra) = instruction.operands.first() {
            return Err(self.error(extra.at, "this instruction has no operands"));
        }
        decoded.imm = 0;
        Ok(Some(decoded))
    }

    /// `bar` and `barrier`, less those of clusters.
    fn barrier(&mut self, instruction: &Instruction, words: &[&str]) -> Result<Decoded> {
        let mut words: Vec<&str> = words.to_vec();
        let aligned = instruction.opcode == "bar" || words.contains(&"aligned");
        words.retain(|word| !matches!(*word, "cta" | "aligned"));
        let (kind, ty) = match words[..] {
            ["sync"] => (BarrierKind::Sync, None),
            ["arrive"] => (BarrierKind::Arrive, None),
            ["red", "popc", "u32"] => (BarrierKind::Count, Some(Kind::Narrow)),
            ["red", "and", "pred"] => (BarrierKind::All, Some(Kind::Pred)),
            ["red", "or", "pred"] => (BarrierKind::Any, Some(Kind::Pred)),
            _ => return Err(self.unsupported(instruction)),
        };
        let mut decoded = Decoded::new(Step::Barrier(self.barriers.len() as u32), Op::Barrier);
        decoded.flow = Flow::Pause;
        let mut operands = &instruction.operands[..];
        if let Some(result) = ty {
            let [to, middle @ .., predicate] = operands else {
                return Err(self.few(instruction));
            };
            decoded.ops[0] = self.write(to, result, &mut decoded)?;
            decoded.ops[1] = self.read(Some(predicate), Kind::Pred, instruction, &mut decoded)?;
            operands = middle;
        }
        let zero = Operand { value: Value::Int(0), at: instruction.at };
        let (id, threads) = match operands {
            // `bar.sync` of old programs may leave the number out.
            [] if kind == BarrierKind::Sync => (&zero, &zero),
            [id] if kind != BarrierKind::Arrive => (id, &zero),
            [id, threads] => (id, threads),
            [] | [_] => return Err(self.few(instruction)),
            [_, _, extra, ..] => return Err(self.error(extra.at, "one operand too many")),
        };
        let id = self.read(Some(id), Kind::Narrow, instruction, &mut decoded)?;
        let threads = self.read(Some(threads), Kind::Narrow, instruction, &mut decoded)?;
        self.barriers.push(Barrier { kind, id, threads, aligned });
        Ok(decoded)
    }

    /// `createpolicy`: what the policy says decides nothing that shows, and it is zero.
    fn policy(&mut self, instruction: &Instruction) -> Result<Decoded> {
        let [to, ..] = &instruction.operands[..] else { return Err(self.few(instruction)) };
        let mut decoded = Decoded::new(Step::Compute(moves::copy), Op::Arith(ArithClass::Move));
        // One value of 64 bits.
        decoded.imm = 1 | 1 << 4;
        decoded.ops[0] = self.write(to, Kind::Wide, &mut decoded)?;
        decoded.ops[1] = self.constant(Constant::Bits(0), true, instruction.at)?;
        Ok(decoded)
    }

    /// `isspacep`: whether a generic address lies in a space.
    fn is_space(&mut self, instruction: &Instruction, space: &str) -> Result<Decoded> {
        let [to, address] = &instruction.operands[..] else { return Err(self.few(instruction)) };
        let window = match space {
            "global" => 0,
            "shared" | "shared::cta" | "shared::cluster" => SHARED_WINDOW,
            "local" => LOCAL_WINDOW,
            "const" | "param" | "param::entry" => CONST_WINDOW,
            _ => return Err(self.unsupported(instruction)),
        };
        let mut decoded =
            Decoded::new(Step::Compute(moves::in_window), Op::Arith(ArithClass::IntAdd));
        decoded.imm = window.checked_ilog2().unwrap_or(0);
        decoded.ops[0] = self.write(to, Kind::Pred, &mut decoded)?;
        decoded.ops[1] = self.read(Some(address), Kind::Wide, instruction, &mut decoded)?;
        Ok(decoded)
    }

    /// `mov` from a clock.
    fn clock(&mut self, instruction: &Instruction) -> Result<Option<Decoded>> {
        let [to, Operand { value: Value::Name(name, 0), .. }] = &instruction.operands[..] else {
            return Ok(None);
        };
        let (None, Some((bits, shift))) = (&name.part, names::clock(&name.name)) else {
            return Ok(None);
        };
        let mut decoded = Decoded::new(Step::Clock, Op::Arith(ArithClass::Move));
        let kind = if bits == 64 { Kind::Wide } else { Kind::Narrow };
        decoded.ops[0] = self.write(to, kind, &mut decoded)?;
        decoded.imm = shift | u32::from(bits == 64) << 8;
        Ok(Some(decoded))
    }

    /// `mov` with a vector on one side.
    fn vector_move(&mut self, instruction: &Instruction) -> Result<Option<Decoded>> {
        let [to, from] = &instruction.operands[..] else { return Ok(None) };
        let bytes = match &instruction.modifiers[..] {
            [ty] => Type::from_name(ty).map_or(0, Type::bytes),
            _ => 0,
        };
        let spread = |elements: &[Value], at| -> Vec<Operand> {
            elements.iter().map(|value| Operand { value: value.clone(), at }).collect()
        };
        let (rule, operands) = match (&to.value, &from.value) {
            (Value::Vector(elements), _) => {
                let mut operands = spread(elements, to.at);
                operands.push(from.clone());
                (moves::split(bytes, elements.len()), operands)
            }
            (_, Value::Vector(elements)) => {
                let mut operands = vec![to.clone()];
                operands.extend(spread(elements, from.at));
                (moves::join(bytes, elements.len()), operands)
            }
            _ => return Ok(None),
        };
        let rule = rule.ok_or_else(|| self.unsupported(instruction))?;
        let flat = Instruction { operands, ..instruction.clone() };
        self.apply(rule, &flat).map(Some)
    }
}
