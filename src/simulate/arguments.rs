//! Arguments of a user's launches held against the kernel's parameters, before anything runs.

use crate::config::Origin;
use crate::config::kernel::Scalar;
use crate::error::{Error, Result};
use crate::frontend::ptx::{Module, Parameter, ParameterKind};
use crate::units::noun;
use crate::workload::{Arg, Launch};

/// Checks a launch, whose step in the run file is at `workload.{place}`.
///
/// # Errors
/// An entry that is not there, or arguments that differ from its parameters in number, size or kind. The error
/// points at the run file and names the parameter.
pub fn check(module: &Module, launch: &Launch, place: &str, origin: &Origin) -> Result<()> {
    let point =
        |field: &str, error: Error| origin.point(&format!("workload.{place}.{field}"), error);
    let parameters = module.signature(&launch.entry).map_err(|error| match &error.location {
        // An instruction that is not supported has its own place.
        Some(location) if location.position.is_some() => error,
        _ => point("entry", error),
    })?;
    let args = &launch.args;
    for (index, (arg, parameter)) in args.iter().zip(&parameters).enumerate() {
        if let Err(message) = fits(arg, parameter) {
            let message = format!(
                "{message}, but parameter `{}` of `{}` is {}, {} bytes",
                parameter.name, launch.entry, parameter.ty, parameter.bytes
            );
            return Err(point(&format!("args.{index}"), Error::input(message).hinted(layout(arg))));
        }
    }
    if args.len() == parameters.len() {
        return Ok(());
    }
    let (have, want) = (args.len(), parameters.len());
    let types: Vec<&str> = parameters.iter().map(|parameter| parameter.ty.as_str()).collect();
    let arguments = noun(have as u64, "argument", "arguments");
    let parameters = noun(want as u64, "parameter", "parameters");
    let message = format!("{have} {arguments} for the {want} {parameters} of `{}`", launch.entry);
    let hint = format!("they are ({})", types.join(", "));
    Err(point("args", Error::input(message).hint(hint)))
}

/// A hint of where the fields of a struct lie.
fn layout(arg: &Arg) -> Option<String> {
    let Arg::Struct(fields) = arg else { return None };
    let places: Vec<String> = Arg::offsets(fields).iter().map(usize::to_string).collect();
    Some(format!("its fields start at bytes {}; Bytes fills gaps", places.join(", ")))
}

/// Says what is passed where it does not fit.
fn fits(arg: &Arg, parameter: &Parameter) -> std::result::Result<(), String> {
    let (what, kind) = match arg {
        Arg::Buffer(_) => ("an address", ParameterKind::Whole),
        Arg::I32(_) | Arg::I64(_) => ("a whole number", ParameterKind::Whole),
        Arg::F32(_) | Arg::F64(_) => ("a floating-point number", ParameterKind::Float),
        // Half precision travels as 16 bits, and so do others that registers hold as bits.
        Arg::Number { ty: Scalar::F16, .. } => ("a half-precision number", ParameterKind::Bits),
        Arg::Number { ty, .. } if ty.is_float() && ty.bytes() < 4 => {
            ("a short floating-point number", ParameterKind::Bits)
        }
        Arg::Number { ty, .. } if ty.is_float() => {
            ("a floating-point number", ParameterKind::Float)
        }
        Arg::Number { .. } => ("a whole number", ParameterKind::Whole),
        Arg::Bytes(_) | Arg::Struct(_) => ("a structure", ParameterKind::Bits),
        Arg::TensorMap(_) => ("a tensor map", ParameterKind::Bits),
    };
    let bytes = arg.bytes().len() as u64;
    let aligned = arg.alignment() as u64;
    let is_map = matches!(arg, Arg::TensorMap(_)) && bytes == parameter.bytes;
    if is_map && u64::from(parameter.align) < aligned {
        return Err(format!("{what} is passed, which lies at a multiple of {aligned} bytes"));
    }
    let any = [kind, parameter.kind].contains(&ParameterKind::Bits);
    match bytes == parameter.bytes && (any || kind == parameter.kind) {
        true => Ok(()),
        false => {
            let unit = noun(bytes, "byte", "bytes");
            Err(format!("{what} of {bytes} {unit} is passed"))
        }
    }
}
