//! What an entry is, for those who launch it: parameters, registers, memory, static instructions.

use super::ast::{Type, Variable};
use super::source::Module;
use crate::error::Result;
use crate::isa::Inst;

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

impl Module {
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
    Parameter { name: variable.name.clone(), ty: text, kind, bytes }
}
