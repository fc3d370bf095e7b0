//! What an entry is, for those who launch it: parameters, registers, memory, static instructions; and the variables of a module.

use super::ast::{Init, Statement, Type, VarSpace, Variable};
use super::source::Module;
use crate::error::Result;
use crate::isa::{Inst, Space};

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type as PTX has it: `.u64`, `.align 8 .b8[24]`.
    pub ty: String,
    /// What may be passed for it.
    pub kind: ParameterKind,
    /// Its size `[bytes]`.
    pub bytes: u64,
    /// What its place is a multiple of `[bytes]`.
    pub align: u32,
}

/// What the type of a parameter says about its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A whole number or, where it has 8 bytes, an address.
    Whole,
    /// A floating-point number.
    Float,
    /// Any bits of that size.
    Bits,
}

/// An entry, decoded.
#[derive(Clone, Debug)]
pub struct Description {
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// 32-bit registers that a thread occupies, as gsim estimates them.
    pub registers: u32,
    /// Shared memory that it declares `[bytes]`.
    pub shared_bytes: u32,
    /// Local memory of a thread `[bytes]`.
    pub local_bytes: u32,
    /// The most threads of a CTA, where it says.
    pub max_threads: Option<u64>,
    /// Its instructions, in the order of the text.
    pub insts: Vec<Inst>,
}

/// A variable of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleVariable<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it lies: constant, global or shared memory.
    pub space: Space,
    /// Its size `[bytes]`; `None` for `name[]`, which states none.
    pub bytes: Option<u64>,
}

impl ModuleVariable<'_> {
    /// Whether it can begin with other values than the text says: it is there once, and the text says how large it is.
    pub fn can_be_filled(&self) -> bool {
        self.space != Space::Shared && self.bytes.is_some_and(|bytes| bytes > 0)
    }
}

impl Module {
    /// The variables in constant, global and shared memory, in the order of the text; shared ones that bodies
    /// declare come last, and others of bodies are left out.
    pub fn variables(&self) -> impl Iterator<Item = ModuleVariable<'_>> {
        let bodies = self.ast.entries.iter().chain(&self.ast.functions);
        let inner = bodies.flat_map(|body| &body.body).filter_map(|statement| match statement {
            // Only the body can name it.
            Statement::Variable(variable) if variable.space == VarSpace::Shared => Some(variable),
            _ => None,
        });
        let outer =
            self.ast.variables.iter().filter(move |variable| !self.is_defined_elsewhere(variable));
        outer.chain(inner).filter_map(|variable| {
            let space = match variable.space {
                VarSpace::Const => Space::Constant,
                VarSpace::Global => Space::Global,
                VarSpace::Shared => Space::Shared,
                VarSpace::Local | VarSpace::Param => return None,
            };
            Some(ModuleVariable { name: &variable.name, space, bytes: variable.bytes })
        })
    }

    /// Whether the module declares a variable here, and defines it in another place.
    fn is_defined_elsewhere(&self, variable: &Variable) -> bool {
        variable.external && self.ast.definition(&variable.name).is_some()
    }

    /// Lets a variable of the module begin with these bytes, as many as it has, and not with what the text says.
    pub fn fill_variable(&mut self, name: &str, bytes: Vec<u8>) {
        let mut variables = self.ast.variables.iter_mut();
        let named = variables.find(|variable| variable.name == name && !variable.external);
        if let Some(variable) = named {
            variable.init = Init { bytes, ..Init::default() };
        }
        // Constants at fixed addresses are part of a decoded entry.
        self.forget_programs();
    }

    /// The parameters of an entry, in order.
    ///
    /// # Errors
    /// There is none of that name, or it has an instruction that gsim does not execute.
    pub fn signature(&self, name: &str) -> Result<Vec<Parameter>> {
        self.program(name)?;
        let entry = self.ast.entries.iter().find(|entry| entry.name == name);
        Ok(entry.expect("it was decoded").params.iter().map(parameter).collect())
    }

    /// Describes an entry. Errors are as for [`Module::signature`].
    pub fn describe(&self, name: &str) -> Result<Description> {
        let program = self.program(name)?;
        Ok(Description {
            parameters: self.signature(name)?,
            registers: program.registers_per_thread,
            shared_bytes: program.shared_bytes,
            local_bytes: program.local_bytes,
            max_threads: program.max_threads,
            insts: program.insts.clone(),
        })
    }
}

fn parameter(variable: &Variable) -> Parameter {
    let (ty, bytes) = (variable.ty, variable.bytes.unwrap_or(0));
    let name = format!("{ty:?}").to_lowercase();
    let is_array = bytes != u64::from(ty.bytes());
    let text = match is_array {
        true => {
            format!(".align {} .{name}[{}]", variable.align, bytes / u64::from(ty.bytes().max(1)))
        }
        false => format!(".{name}"),
    };
    let kind = match ty {
        _ if is_array => ParameterKind::Bits,
        Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::Pred => ParameterKind::Bits,
        ty if ty.float() => ParameterKind::Float,
        _ => ParameterKind::Whole,
    };
    Parameter { name: variable.name.clone(), ty: text, kind, bytes, align: variable.align }
}
