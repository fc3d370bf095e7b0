//! Variables of the module and what they hold before the first launch. The module says how large they are.

use std::collections::BTreeMap;

use super::files::Filling;
use super::{Surroundings, fill, point};
use crate::config::Origin;
use crate::config::kernel::{MAX_SYMBOL_BYTES, Scope, SymbolSpec};
use crate::error::{Error, Result};

/// A variable of the module that begins with other values than the PTX says.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Its name in the PTX.
    pub name: String,
    spec: SymbolSpec,
    /// What the file holds that fills it, and the file as the run file has it.
    file: Option<(String, Vec<u8>)>,
    scope: Scope,
    seed: u64,
    origin: Origin,
}

impl Symbol {
    /// Reads the file that fills it, if one does.
    pub(super) fn new(
        name: &str,
        spec: &SymbolSpec,
        scope: &Scope,
        around: &Surroundings,
        digests: &mut BTreeMap<String, String>,
    ) -> Result<Symbol> {
        let mut symbol = Symbol {
            name: name.to_owned(),
            spec: spec.clone(),
            file: None,
            scope: scope.clone(),
            seed: around.seed,
            origin: around.origin.clone(),
        };
        let refuse = |error| symbol.refuse("fill", error);
        if let Some(file) =
            Filling::open(&spec.fill, spec.element, around.origin).map_err(refuse)?
        {
            let bytes = file.count.saturating_mul(spec.element.bytes());
            if bytes > MAX_SYMBOL_BYTES {
                let why = format!("{} has {bytes} bytes, above {MAX_SYMBOL_BYTES}", file.written);
                return Err(refuse(Error::input(why)));
            }
            let written = file.written.to_owned();
            let mut content = vec![0; bytes as usize];
            let digest = file.read(&mut content).map_err(refuse)?;
            digests.insert(format!("{written}: sha256"), digest);
            symbol.file = Some((written, content));
        }
        Ok(symbol)
    }

    /// What it holds before the first launch, where it has so many `[bytes]`.
    ///
    /// # Errors
    /// A size that is not what the run file says, or no whole number of its elements. The error points at the run file.
    pub fn content(&self, bytes: u64) -> Result<Vec<u8>> {
        let (name, element) = (&self.name, self.spec.element);
        let wrong = |field: &str, why: String| Err(self.refuse(field, Error::input(why)));
        if bytes == 0 || bytes > MAX_SYMBOL_BYTES {
            let why = format!("`{name}` has {bytes} bytes, outside 1..={MAX_SYMBOL_BYTES}");
            return wrong("", why);
        }
        if !bytes.is_multiple_of(element.bytes()) {
            let why = format!("`{name}` has {bytes} bytes, which are no whole {element} elements");
            return wrong("type", why);
        }
        let count = bytes / element.bytes();
        let has = format!("but `{name}` has {count} of type {element}, {bytes} bytes");
        let stated = self.spec.count(&self.scope);
        let stated = stated.map_err(|why| point(&self.origin, &self.path(""), why))?;
        if let Some(stated) = stated.filter(|stated| *stated != count) {
            return wrong("elements", format!("{stated} elements, {has}"));
        }
        if let Some((written, content)) = &self.file {
            if content.len() as u64 != bytes {
                let elements = content.len() as u64 / element.bytes();
                return wrong("fill", format!("{written} has {elements} elements, {has}"));
            }
            return Ok(content.clone());
        }
        let fill = &self.spec.fill;
        if let Err(why) = fill.check(element, Some(count), &self.scope) {
            return wrong("fill", format!("{why}, {has}"));
        }
        let mut content = vec![0; bytes as usize];
        // Apart from a buffer of the same name, which has other random numbers.
        let own = format!("symbols.{name}");
        match fill::fill(&mut content, 0, element, fill, &self.scope, self.seed, &own) {
            Ok(()) => Ok(content),
            Err(why) => wrong("fill", why),
        }
    }

    /// Points an error at a field of it in the run file; at the variable itself for no field.
    pub fn refuse(&self, field: &str, error: Error) -> Error {
        self.origin.point(&self.path(field), error)
    }

    fn path(&self, field: &str) -> String {
        let path = format!("workload.symbols.{}", self.name);
        if field.is_empty() { path } else { format!("{path}.{field}") }
    }
}
