//! Variables of a module get the values that the run file says, before anything is launched.

use crate::config::names::suggest;
use crate::error::{Error, Result};
use crate::frontend::ptx::{Module, ModuleVariable};
use crate::isa::Space;
use crate::workload::Symbol;

/// Fills the variables of a module.
///
/// # Errors
/// A variable that is not there, lies in shared memory, or has another size than the run file says. The error points at the run file.
pub fn fill(module: &mut Module, symbols: &[Symbol]) -> Result<()> {
    for symbol in symbols {
        let bytes = size(module, symbol)?;
        module.fill_variable(&symbol.name, symbol.content(bytes)?);
    }
    Ok(())
}

/// The size of the variable `[bytes]`.
fn size(module: &Module, symbol: &Symbol) -> Result<u64> {
    let name = &symbol.name;
    let variables: Vec<ModuleVariable> = module.variables().collect();
    let error = match variables.iter().find(|variable| variable.name == name) {
        Some(ModuleVariable { space: Space::Shared, .. }) => Error::input(format!(
            "`{name}` lies in shared memory, which holds nothing when a CTA starts"
        )),
        Some(ModuleVariable { bytes: Some(bytes), .. }) => return Ok(*bytes),
        Some(ModuleVariable { bytes: None, .. }) => {
            Error::input(format!("`{name}` has no size in the PTX"))
        }
        None => {
            let fillable = variables.iter().filter(|variable| variable.can_be_filled());
            let names: Vec<&str> = fillable.map(|variable| variable.name).collect();
            let error = Error::input(format!("the module has no variable `{name}`"));
            match names.is_empty() {
                true => error.hint("it has none in constant or global memory"),
                false => error.hint(suggest(name, &names)),
            }
        }
    };
    Err(symbol.refuse("", error))
}
