//! Where variables and parameters lie.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::super::ast::{Ast, Entry, Relocation, Statement, Value, VarSpace, Variable};
use super::super::exec::{CONST_WINDOW, SHARED_WINDOW, function_address};
use super::super::lexer::Place;
use super::super::program::{Constant, FrameSlot, Global, Param, Patch};
use crate::config::kernel::MAX_SYMBOL_BYTES;
use crate::error::Result;
use crate::workload::DeviceMemory;

/// Constant memory of a module `[bytes]`.
const MAX_CONST: u64 = 64 << 10;
/// Shared memory that a kernel may declare `[bytes]`; above what any chip has.
const MAX_SHARED: u64 = 1 << 20;
/// Variables of the module in global memory `[bytes]`; more is better passed as a buffer.
const MAX_GLOBAL: u64 = MAX_SYMBOL_BYTES;
/// Local memory of a thread `[bytes]`. Source: CUDA C++ Programming Guide, compute capabilities.
pub const MAX_LOCAL: u64 = 512 << 10;
/// Stands for the start of dynamic shared memory until that is known.
const DYNAMIC: u64 = u64::MAX;
/// Parameters of an entry `[bytes]`. Source: PTX ISA 9.0, section 5.1.6.
const MAX_PARAMS: u64 = 32764;

/// A variable with its address in its space.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Its name.
    pub name: String,
    /// Its space; [`VarSpace::Param`] only for parameters of the kernel.
    pub space: VarSpace,
    /// Its address in that space: constants and parameters of the kernel have generic addresses, local
    /// variables places in the frame, global ones places in [`Layout::globals`].
    pub address: u64,
    /// Its size `[bytes]`.
    pub bytes: u64,
}

/// The local memory of one body.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Its variables in the order of the text; `None` for those refused.
    pub body: Vec<Option<Placed>>,
    /// What a function returns.
    pub returns: Vec<Placed>,
    /// Parameters of a function.
    pub params: Vec<Placed>,
    /// Bytes, a multiple of 16.
    pub bytes: u64,
}

impl Frame {
    /// Where parameters or results lie.
    pub fn slots(list: &[Placed]) -> Vec<FrameSlot> {
        let slot = |placed: &Placed| FrameSlot {
            offset: placed.address as u32,
            bytes: placed.bytes as u32,
        };
        list.iter().map(slot).collect()
    }
}

/// Every variable of an entry and of the functions that it may call.
#[derive(Debug, Default)]
pub struct Layout {
    /// Variables of the module that are named; `None` for those refused.
    pub module: Vec<Option<Placed>>,
    /// The local memory of the entry, then of each function.
    pub frames: Vec<Frame>,
    /// Parameters of the entry.
    pub params: Vec<Param>,
    /// Shared memory `[bytes]`.
    pub shared_bytes: u32,
    /// Constant memory, without the parameters.
    pub consts: Vec<u8>,
    /// Where the parameters start in constant memory `[bytes]`.
    pub param_start: u32,
    /// Variables in global memory; their addresses are places in this list.
    pub globals: Vec<Global>,
    /// Addresses in initial values.
    pub patches: Vec<Patch>,
    refused: Vec<Refusal>,
}

/// Why a variable cannot be used.
#[derive(Clone, Debug)]
pub struct Refusal {
    name: String,
    /// What is said of the name.
    pub what: &'static str,
    /// What to do instead.
    pub hint: &'static str,
}

fn place(next: &mut u64, variable: &Variable) -> u64 {
    let address = next.next_multiple_of(u64::from(variable.align));
    *next = address.saturating_add(variable.bytes.unwrap_or(0));
    address
}

fn placed(variable: &Variable, address: u64) -> Placed {
    let (name, space) = (variable.name.clone(), variable.space);
    Placed { name, space, address, bytes: variable.bytes.unwrap_or(0) }
}

impl Layout {
    /// Places the variables that the bodies declare or name, and all constants of the module, whose addresses other entries may have
    /// stored; the first body is the entry's.
    pub fn new(bodies: &[&Entry], ast: &Ast, path: &Path) -> Result<Layout> {
        let mut layout = Layout::default();
        layout.place_params(bodies[0], path)?;
        let named = named(bodies, ast);
        let mut shared = 0;
        // Dynamic shared memory lies behind all that is declared with a size.
        let mut dynamic_align = 16;
        let mut dynamic = |variable: &Variable| {
            dynamic_align = dynamic_align.max(u64::from(variable.align));
            Some(placed(variable, DYNAMIC))
        };
        let is_named = |variable: &Variable| named.contains(variable.name.as_str());
        let is_placed = |known: &&Variable| known.space == VarSpace::Const || is_named(known);
        for variable in ast.variables.iter().filter(is_placed) {
            let placed = match variable.space {
                VarSpace::Const | VarSpace::Global if variable.external => {
                    layout.find_definition(variable, ast)
                }
                VarSpace::Shared if variable.bytes.is_none() => dynamic(variable),
                VarSpace::Shared => {
                    let address = place(&mut shared, variable);
                    check(shared, MAX_SHARED, "shared memory", variable, path)?;
                    Some(placed(variable, address))
                }
                VarSpace::Const => layout.place_const(variable, path)?,
                VarSpace::Global => layout.place_global(variable, None, path)?,
                VarSpace::Local | VarSpace::Param => None,
            };
            layout.module.push(placed);
        }
        for (number, body) in bodies.iter().enumerate() {
            let (mut frame, mut next) = (Frame::default(), 0);
            if number > 0 {
                for (list, variables) in
                    [(&mut frame.returns, &body.returns), (&mut frame.params, &body.params)]
                {
                    for variable in variables {
                        let address = place(&mut next, variable);
                        check(next, MAX_LOCAL, "parameters", variable, path)?;
                        let space = VarSpace::Local;
                        list.push(Placed { space, ..placed(variable, address) });
                    }
                }
            }
            for statement in &body.body {
                let Statement::Variable(variable) = statement else { continue };
                frame.body.push(match variable.space {
                    VarSpace::Const | VarSpace::Global if variable.external => {
                        layout.find_definition(variable, ast)
                    }
                    VarSpace::Shared if variable.bytes.is_none() => dynamic(variable),
                    VarSpace::Shared => {
                        let address = place(&mut shared, variable);
                        check(shared, MAX_SHARED, "shared memory", variable, path)?;
                        Some(placed(variable, address))
                    }
                    VarSpace::Local | VarSpace::Param => {
                        let address = place(&mut next, variable);
                        check(next, MAX_LOCAL, "local memory", variable, path)?;
                        Some(Placed { space: VarSpace::Local, ..placed(variable, address) })
                    }
                    VarSpace::Const => layout.place_const(variable, path)?,
                    VarSpace::Global => layout.place_global(variable, Some(variable.at), path)?,
                });
            }
            frame.bytes = next.next_multiple_of(16);
            layout.frames.push(frame);
        }
        shared = shared.next_multiple_of(dynamic_align);
        let all =
            layout.module.iter_mut().chain(layout.frames.iter_mut().flat_map(|f| &mut f.body));
        for placed in all.flatten().filter(|placed| placed.address == DYNAMIC) {
            placed.address = shared;
        }
        layout.shared_bytes = shared as u32;
        layout.param_start = (layout.consts.len() as u32).next_multiple_of(256);
        layout.patches(ast, path, is_named)?;
        Ok(layout)
    }

    fn place_params(&mut self, entry: &Entry, path: &Path) -> Result<()> {
        let mut next = 0;
        for param in &entry.params {
            let bytes = param.bytes.unwrap_or(0);
            let offset = place(&mut next, param);
            check(next, MAX_PARAMS, "parameters", param, path)?;
            let (offset, bytes) = (offset as u32, bytes as u32);
            self.params.push(Param { name: param.name.clone(), offset, bytes });
        }
        Ok(())
    }

    /// Refuses a variable that is declared and nowhere defined; one that is defined has its place there.
    fn find_definition(&mut self, variable: &Variable, ast: &Ast) -> Option<Placed> {
        if ast.definition(&variable.name).is_none() {
            self.refused.push(Refusal {
                name: variable.name.clone(),
                what: "is declared and not defined in this module",
                hint: "compile the whole program into one module, without -rdc",
            });
        }
        None
    }

    fn place_const(&mut self, variable: &Variable, path: &Path) -> Result<Option<Placed>> {
        let mut end = self.consts.len() as u64;
        let address = place(&mut end, variable);
        check(end, MAX_CONST, "constant memory", variable, path)?;
        self.consts.resize(end as usize, 0);
        let place = &mut self.consts[address as usize..];
        let length = variable.init.bytes.len().min(place.len());
        place[..length].copy_from_slice(&variable.init.bytes[..length]);
        Ok(Some(placed(variable, CONST_WINDOW + address)))
    }

    /// Places a variable in global memory, where `inner` is its place in a body if it is not one of the module.
    fn place_global(
        &mut self,
        variable: &Variable,
        inner: Option<Place>,
        path: &Path,
    ) -> Result<Option<Placed>> {
        let (Some(bytes), true) =
            (variable.bytes, u64::from(variable.align) <= DeviceMemory::ALIGN)
        else {
            self.refused.push(Refusal {
                name: variable.name.clone(),
                what: "is not known here",
                hint: "only variables with a size are supported in global memory: pass a buffer",
            });
            return Ok(None);
        };
        let all: u64 = self.globals.iter().map(|global| global.bytes).sum();
        check(all + bytes, MAX_GLOBAL, "variables in global memory", variable, path)?;
        let mut init = variable.init.bytes.clone();
        init.truncate(bytes as usize);
        self.globals.push(Global { name: variable.name.clone(), inner, bytes, init });
        // Where it lies is known when the kernel is launched.
        Ok(Some(placed(variable, self.globals.len() as u64 - 1)))
    }

    /// Collects the addresses in the initial values of the variables that were placed and are named.
    fn patches(
        &mut self,
        ast: &Ast,
        path: &Path,
        is_named: impl Fn(&Variable) -> bool,
    ) -> Result<()> {
        let with_addresses = |known: &&Variable| !known.init.relocations.is_empty();
        for variable in ast.variables.iter().filter(with_addresses).filter(|known| is_named(known))
        {
            let Some(target) = self.of_module(&variable.name) else { continue };
            let (global, first) = match target.space {
                VarSpace::Global => (Some(target.address as u32), 0),
                VarSpace::Const => (None, target.address - CONST_WINDOW),
                _ => continue,
            };
            let end = target.bytes;
            for relocation in &variable.init.relocations {
                if relocation.start + u64::from(relocation.bytes) > end {
                    continue;
                }
                let value = self.address(relocation, ast).ok_or_else(|| {
                    let refusal = self.refusal(&relocation.name);
                    let what = refusal.map_or("is no variable or function", |known| known.what);
                    let message = format!("`{}` {what}", relocation.name);
                    let hint = refusal.map(|known| known.hint.to_owned());
                    relocation.at.error(path, message).hinted(hint)
                })?;
                let Relocation { start, bytes, shift, .. } = *relocation;
                self.patches.push(Patch { global, start: first + start, bytes, shift, value });
            }
        }
        Ok(())
    }

    fn address(&self, relocation: &Relocation, ast: &Ast) -> Option<Constant> {
        let offset = relocation.offset as u64;
        if let Some(number) = ast.functions.iter().position(|known| known.name == relocation.name) {
            return Some(Constant::Bits(function_address(number as u32)));
        }
        let placed = self.of_module(&relocation.name)?;
        Some(match placed.space {
            VarSpace::Global => Constant::Global { index: placed.address as u32, offset },
            VarSpace::Shared if relocation.generic => {
                Constant::Bits(placed.address.wrapping_add(SHARED_WINDOW).wrapping_add(offset))
            }
            _ => Constant::Bits(placed.address.wrapping_add(offset)),
        })
    }

    fn of_module(&self, name: &str) -> Option<&Placed> {
        self.module.iter().flatten().find(|placed| placed.name == name)
    }

    /// The parameter of the entry of that name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|param| param.name == name)
    }

    /// Why a variable cannot be used, if it is there.
    pub fn refusal(&self, name: &str) -> Option<&Refusal> {
        self.refused.iter().find(|refusal| refusal.name == name)
    }
}

fn check(end: u64, most: u64, what: &str, variable: &Variable, path: &Path) -> Result<()> {
    if end <= most {
        return Ok(());
    }
    let message = format!("`{}` brings {what} to {end} bytes, above {most}", variable.name);
    Err(variable.at.error(path, message))
}

/// Every variable of the module that the bodies name, and those whose addresses these hold.
fn named<'a>(bodies: &[&'a Entry], ast: &'a Ast) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    for body in bodies {
        for_each_name(body, |name| {
            names.insert(name);
        });
    }
    let mut open: Vec<&str> = names.iter().copied().collect();
    let defined = ast.variables.iter().filter(|variable| !variable.external);
    let by_name: HashMap<&str, &Variable> =
        defined.map(|variable| (variable.name.as_str(), variable)).collect();
    while let Some(name) = open.pop() {
        let Some(variable) = by_name.get(name) else { continue };
        for relocation in &variable.init.relocations {
            if names.insert(relocation.name.as_str()) {
                open.push(relocation.name.as_str());
            }
        }
    }
    names
}

/// Calls `see` with every name among the operands of a body.
pub fn for_each_name<'a>(body: &'a Entry, mut see: impl FnMut(&'a str)) {
    let mut one = |value: &'a Value| match value {
        Value::Name(name, _) | Value::Address(Some(name), _) | Value::Element(Some(name), _, _) => {
            see(name.name.as_str())
        }
        _ => {}
    };
    for statement in &body.body {
        let Statement::Instruction(instruction) = statement else { continue };
        for operand in &instruction.operands {
            match &operand.value {
                Value::Vector(elements) => elements.iter().for_each(&mut one),
                Value::Element(_, _, coordinates) => {
                    one(&operand.value);
                    coordinates.iter().for_each(&mut one);
                }
                value => one(value),
            }
        }
        if let Some(call) = &instruction.call {
            call.args.iter().for_each(&mut one);
        }
    }
}
