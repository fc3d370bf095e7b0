//! Calls: which functions a kernel may reach, what they need, and how a call is decoded.
//!
//! Source: PTX ISA 9.0, sections 7.1 "Function Declarations and Definitions" and 9.7.12 "call", "ret".

use std::collections::{HashMap, HashSet};

use super::super::ast::{Ast, Call, Entry, Instruction, Name, Statement, Value};
use super::super::cfg::Flow;
use super::super::exec::Kind;
use super::super::liveness;
use super::super::program::{CallSite, FrameSlot, Step, Target};
use super::variables::for_each_name;
use super::{Decoded, Lowerer};
use crate::error::Result;
use crate::isa::{ArithClass, Op};

/// Local memory for the frames of functions that call themselves `[bytes]`. A chip has 1 KiB unless the
/// host asks for more, and an overflow there is an error too.
const RECURSION_STACK: u64 = 32 << 10;

/// The functions that an entry may call, by their place in the module.
pub fn reachable(entry: &Entry, ast: &Ast) -> Vec<u32> {
    let numbers: HashMap<&str, u32> = ast
        .functions
        .iter()
        .zip(0..)
        .map(|(function, number)| (function.name.as_str(), number))
        .collect();
    let mut found: Vec<u32> = Vec::new();
    let mut seen: HashSet<u32> = HashSet::new();
    let mut add = |found: &mut Vec<u32>, name: &str| match numbers.get(name) {
        Some(number) => {
            if seen.insert(*number) {
                found.push(*number);
            }
            true
        }
        None => false,
    };
    let mut indirect = false;
    let mut done = 0;
    let mut body = entry;
    loop {
        for call in calls(body) {
            let is_direct = add(&mut found, &call.target.name);
            if is_direct || std::mem::replace(&mut indirect, true) {
                continue;
            }
            // Any function whose address is taken anywhere may be meant.
            for variable in &ast.variables {
                for relocation in &variable.init.relocations {
                    add(&mut found, &relocation.name);
                }
            }
            for other in ast.entries.iter().chain(&ast.functions) {
                for_each_name(other, |name| {
                    add(&mut found, name);
                });
            }
        }
        let Some(next) = found.get(done) else { return found };
        body = &ast.functions[*next as usize];
        done += 1;
    }
}

fn calls(body: &Entry) -> impl Iterator<Item = &Call> {
    body.body.iter().filter_map(|statement| match statement {
        Statement::Instruction(Instruction { call: Some(call), .. }) => Some(call.as_ref()),
        _ => None,
    })
}

/// Whether a body may be called by itself, and the local memory of the deepest chain of calls.
pub fn stack_bytes(graph: &[Vec<usize>], frames: &[u64]) -> (bool, u64) {
    match deepest(graph, frames) {
        Some(bytes) => (false, bytes),
        None => (true, frames[0] + RECURSION_STACK),
    }
}

/// Registers of the deepest chain of calls: each function needs its own beside its callers'. One that
/// calls itself saves its registers, so that each counts once.
pub fn registers(graph: &[Vec<usize>], peaks: &[u32]) -> u32 {
    let peaks: Vec<u64> = peaks.iter().map(|peak| u64::from(*peak)).collect();
    let sum = deepest(graph, &peaks).unwrap_or_else(|| peaks.iter().sum());
    sum.min(u64::from(liveness::MOST)) as u32
}

/// The largest sum of weights along the calls from body 0; `None` when there is a cycle.
fn deepest(graph: &[Vec<usize>], weights: &[u64]) -> Option<u64> {
    const OPEN: u64 = u64::MAX;
    let mut sums: Vec<Option<u64>> = vec![None; graph.len()];
    let mut stack = vec![(0, 0)];
    sums[0] = Some(OPEN);
    while let Some((body, next)) = stack.last_mut() {
        if let Some(&callee) = graph[*body].get(*next) {
            *next += 1;
            match sums[callee] {
                Some(OPEN) => return None,
                Some(_) => {}
                None => {
                    sums[callee] = Some(OPEN);
                    stack.push((callee, 0));
                }
            }
        } else {
            let below = graph[*body].iter().filter_map(|callee| sums[*callee]).max().unwrap_or(0);
            sums[*body] = Some(below + weights[*body]);
            stack.pop();
        }
    }
    sums[0]
}

impl Lowerer<'_> {
    /// The place in the module of the function of that name, if it has a body.
    pub(super) fn function_number(&self, name: &str) -> Option<u32> {
        let known = self.ast.functions.iter().position(|function| function.name == name);
        known.map(|number| number as u32)
    }

    /// The bodies that each body may call.
    pub(super) fn call_graph(&self) -> Vec<Vec<usize>> {
        let mut graph = vec![Vec::new(); self.graphs.len()];
        let mut first = 0;
        for (body, blocks) in self.graphs.iter().enumerate() {
            for micro in &self.micros[first..][..blocks.block_of.len()] {
                let Step::Call(call) = micro.step else { continue };
                match self.calls[call as usize].target {
                    Target::Function(function) => graph[body].push(function as usize + 1),
                    Target::Row(_) => graph[body].extend(1..self.graphs.len()),
                }
            }
            graph[body].sort_unstable();
            graph[body].dedup();
            first += blocks.block_of.len();
        }
        graph
    }

    /// Decodes a call.
    pub(super) fn call(&mut self, instruction: &Instruction, call: &Call) -> Result<Decoded> {
        let args = call.args.iter().map(|value| match value {
            Value::Name(name, 0) => self.slot(instruction, name),
            _ => Err(self.error(instruction.at, "an argument must be a `.param` variable")),
        });
        let args = args.collect::<Result<Vec<_>>>()?;
        let returns = call.returns.iter().map(|name| self.slot(instruction, name));
        let returns = returns.collect::<Result<Vec<_>>>()?;
        let control = Op::Arith(ArithClass::Control);
        let name = call.target.name.as_str();
        let place = self.calls.len() as u32;
        let mut decoded = Decoded::new(Step::Call(place), control);
        decoded.flow = Flow::Pause;
        let target = if let Some(number) = self.function_number(name) {
            // `reachable` has found it.
            let place = self.numbers.iter().position(|known| *known == number).unwrap_or_default();
            Target::Function(place as u32)
        } else if self.names.kind(&call.target).is_some() {
            decoded.flow = Flow::Alone;
            Target::Row(self.register(
                &call.target,
                instruction.at,
                Kind::Wide,
                &mut decoded.srcs,
            )?)
        } else {
            return self.builtin(instruction, name, &args);
        };
        let frame = self.frame_bytes;
        self.calls.push(CallSite { target, args, returns, frame });
        Ok(decoded)
    }

    fn slot(&self, instruction: &Instruction, name: &Name) -> Result<FrameSlot> {
        self.names.frame_slot(&name.name).ok_or_else(|| {
            let message = format!("`{}` is no `.param` variable of this function", name.name);
            self.error(instruction.at, message)
        })
    }

    /// A function of the CUDA run-time system, which has no body.
    fn builtin(
        &mut self,
        instruction: &Instruction,
        name: &str,
        args: &[FrameSlot],
    ) -> Result<Decoded> {
        let control = Op::Arith(ArithClass::Control);
        match (name, args) {
            ("vprintf", _) => Ok(Decoded::new(Step::Print, control)),
            ("__assertfail", [_, _, _, _, ..]) => {
                let (place, frame) = (self.calls.len() as u32, self.frame_bytes);
                let (target, args) = (Target::Function(0), args.to_vec());
                self.calls.push(CallSite { target, args, returns: Vec::new(), frame });
                Ok(Decoded::new(Step::Assert(place), control))
            }
            _ => {
                let message = format!("function `{name}` has no body in this module");
                let error = self.error(instruction.at, message);
                Err(match name {
                    "malloc" | "free" => {
                        error.hint("there is no heap in a kernel: pass a buffer instead")
                    }
                    "cudaLaunchDevice" | "cudaLaunchDeviceV2" | "cudaGetParameterBufferV2" => {
                        error.hint("a kernel cannot launch others: launch them from the run file")
                    }
                    _ => error.hint("compile the whole program into one module, without -rdc"),
                })
            }
        }
    }
}
