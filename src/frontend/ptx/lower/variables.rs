//! Where variables and parameters lie.

use std::collections::HashSet;
use std::path::Path;

use super::super::ast::{Ast, Entry, Init, Statement, Value, VarSpace, Variable};
use super::super::exec::CONST_WINDOW;
use super::super::program::{Global, Param};
use crate::error::Result;
use crate::workload::DeviceMemory;

/// Constant memory of a module `[bytes]`.
const MAX_CONST: u64 = 64 << 10;
/// Shared memory that a kernel may declare `[bytes]`; above what any chip has.
const MAX_SHARED: u64 = 1 << 20;
/// Variables of the module in global memory `[bytes]`; more is better passed as a buffer.
const MAX_GLOBAL: u64 = 256 << 20;
/// Local memory of a thread `[bytes]`. Source: CUDA C++ Programming Guide, compute capabilities.
const MAX_LOCAL: u64 = 512 << 10;
/// Parameters of an entry `[bytes]`. Source: PTX ISA 9.0, section 5.1.6.
const MAX_PARAMS: u64 = 32764;

/// A variable with its address in its space.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Its name.
    pub name: String,
    /// Its space.
    pub space: VarSpace,
    /// Its address in that space; constants have generic addresses.
    pub address: u64,
}

/// Every variable of an entry.
#[derive(Debug, Default)]
pub struct Layout {
    /// Variables of the module that the entry names; `None` for those refused.
    pub module: Vec<Option<Placed>>,
    /// Variables of the entry's body, in the order of the text; `None` for those refused.
    pub body: Vec<Option<Placed>>,
    /// Parameters.
    pub params: Vec<Param>,
    /// Shared memory `[bytes]`.
    pub shared_bytes: u32,
    /// Local memory of a thread `[bytes]`.
    pub local_bytes: u32,
    /// Constant memory.
    pub consts: Vec<u8>,
    /// Variables in global memory; their addresses are places in this list.
    pub globals: Vec<Global>,
    refused: Vec<(String, &'static str)>,
}

fn place(next: &mut u64, variable: &Variable) -> u64 {
    let address = next.next_multiple_of(u64::from(variable.align));
    *next = address.saturating_add(variable.bytes.unwrap_or(0));
    address
}

impl Layout {
    /// Places the variables that an entry declares or names.
    pub fn new(entry: &Entry, ast: &Ast, path: &Path) -> Result<Layout> {
        let mut layout = Layout::default();
        let mut next = 0;
        for param in &entry.params {
            let bytes = param.bytes.unwrap_or(0);
            let offset = place(&mut next, param);
            check(next, MAX_PARAMS, "parameters", param, path)?;
            let (offset, bytes) = (offset as u32, bytes as u32);
            layout.params.push(Param { name: param.name.clone(), offset, bytes });
        }
        let named = named(entry);
        let of_module =
            ast.variables.iter().filter(|variable| named.contains(variable.name.as_str()));
        let of_body = entry.body.iter().filter_map(|statement| match statement {
            Statement::Variable(variable) => Some(variable),
            _ => None,
        });
        let (mut shared, mut local, mut global) = (0, 0, 0);
        // Dynamic shared memory lies behind all that is declared with a size.
        let mut dynamic: Vec<(bool, usize)> = Vec::new();
        let mut dynamic_align = 16;
        for (in_module, variable) in of_module
            .map(|variable| (true, variable))
            .chain(of_body.map(|variable| (false, variable)))
        {
            let list = if in_module { &mut layout.module } else { &mut layout.body };
            let address = match variable.space {
                VarSpace::Shared if variable.bytes.is_none() => {
                    dynamic.push((in_module, list.len()));
                    dynamic_align = dynamic_align.max(u64::from(variable.align));
                    0
                }
                VarSpace::Shared => {
                    let address = place(&mut shared, variable);
                    check(shared, MAX_SHARED, "shared memory", variable, path)?;
                    address
                }
                VarSpace::Local => {
                    let address = place(&mut local, variable);
                    check(local, MAX_LOCAL, "local memory", variable, path)?;
                    address
                }
                VarSpace::Const => {
                    let mut end = layout.consts.len() as u64;
                    let address = place(&mut end, variable);
                    check(end, MAX_CONST, "constant memory", variable, path)?;
                    let Init::Bytes(bytes) = &variable.init else {
                        let hint = "only constants with numbers as initial value are supported";
                        layout.refused.push((variable.name.clone(), hint));
                        list.push(None);
                        continue;
                    };
                    layout.consts.resize(end as usize, 0);
                    let place = &mut layout.consts[address as usize..];
                    let length = bytes.len().min(place.len());
                    place[..length].copy_from_slice(&bytes[..length]);
                    CONST_WINDOW + address
                }
                VarSpace::Global => {
                    let (Some(bytes), false, true) = (
                        variable.bytes,
                        variable.init == Init::Symbolic,
                        u64::from(variable.align) <= DeviceMemory::ALIGN,
                    ) else {
                        let hint = "only variables with a size and with numbers as initial value \
                                    are supported in global memory: pass a buffer";
                        layout.refused.push((variable.name.clone(), hint));
                        list.push(None);
                        continue;
                    };
                    global = place(&mut global, variable) + bytes;
                    check(global, MAX_GLOBAL, "variables in global memory", variable, path)?;
                    let mut init = match &variable.init {
                        Init::Bytes(bytes) => bytes.clone(),
                        _ => Vec::new(),
                    };
                    init.truncate(bytes as usize);
                    layout.globals.push(Global { name: variable.name.clone(), bytes, init });
                    // Where it lies is known when the kernel is launched.
                    layout.globals.len() as u64 - 1
                }
                // Parameters of calls, which are refused where they stand.
                VarSpace::Param => {
                    list.push(None);
                    continue;
                }
            };
            let name = variable.name.clone();
            list.push(Some(Placed { name, space: variable.space, address }));
        }
        if !dynamic.is_empty() {
            shared = shared.next_multiple_of(dynamic_align);
        }
        for (in_module, index) in dynamic {
            let list = if in_module { &mut layout.module } else { &mut layout.body };
            if let Some(placed) = &mut list[index] {
                placed.address = shared;
            }
        }
        layout.shared_bytes = shared as u32;
        layout.local_bytes = local.next_multiple_of(16) as u32;
        Ok(layout)
    }

    /// The parameter of that name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|param| param.name == name)
    }

    /// Why a variable cannot be used, if it is there.
    pub fn refusal(&self, name: &str) -> Option<&'static str> {
        let found = self.refused.iter().find(|(refused, _)| refused == name);
        let param = self.param(name).map(|_| "the address of a parameter is not supported");
        found.map(|(_, hint)| *hint).or(param)
    }
}

fn check(end: u64, most: u64, what: &str, variable: &Variable, path: &Path) -> Result<()> {
    if end <= most {
        return Ok(());
    }
    let message = format!("`{}` brings {what} to {end} bytes, above {most}", variable.name);
    Err(variable.at.error(path, message))
}

/// Every name among the operands of an entry.
fn named(entry: &Entry) -> HashSet<&str> {
    let mut names = HashSet::new();
    for statement in &entry.body {
        let Statement::Instruction(instruction) = statement else { continue };
        for operand in &instruction.operands {
            match &operand.value {
                Value::Name(name, _) | Value::Address(Some(name), _) => {
                    names.insert(name.name.as_str());
                }
                Value::Vector(elements) => {
                    names.extend(elements.iter().filter_map(|element| match element {
                        Value::Name(name, _) => Some(name.name.as_str()),
                        _ => None,
                    }));
                }
                _ => {}
            }
        }
    }
    names
}
