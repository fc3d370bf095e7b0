//! Traces of Accel-Sim, which `NVBit` takes from machine code on a GPU, made into gsim's.
//!
//! ```text
//! kernelslist.g -list-> files, copies
//! kernel-N.traceg(.xz) -text-> head, CTAs, warps -line-> instructions -sass-> classes
//!                                     \- code: the kernel (first reading) -- streams (second reading) -> .gtrace
//! ```
//!
//! The format is that of Accel-Sim's tracer, versions 3 to 5 (`util/tracer_nvbit` and `gpu-simulator/trace-parser` of
//! accel-sim-framework). What it leaves out is not made up:
//! * it has the lanes that an instruction's predicate leaves, and no predicates: nothing waits for one;
//! * it has the first register of a wide value. The others of what is loaded, and of addresses of 64 bits, follow from the
//!   opcode, and those of 64-bit arithmetic as well;
//! * a barrier is barrier 0 of all warps, and copies are waited for where version 5 says so;
//! * whether a branch may fall through is known from what warps did.
//!
//! Every opcode is known or refused, with its line: textures, surfaces, tensor cores and bulk copies are not simulated.

mod code;
mod head;
mod line;
mod list;
mod sass;
mod streams;
#[cfg(test)]
mod tests;
mod text;

use std::path::Path;

use super::header::{End, Header, Origin};
use super::writer::TraceFile;
use crate::config::machine::InstructionSet;
use crate::error::{Error, Result};
use code::Code;
use list::List;
use text::Text;

/// What was converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Launches.
    pub launches: u32,
    /// Launches whose trace has fewer CTAs than their grid: file name, CTAs there, CTAs of the grid.
    pub partial: Vec<(String, u64, u64)>,
    /// What the trace says at its end.
    pub end: End,
    /// Size of the trace `[bytes]`.
    pub bytes: u64,
}

/// Converts the kernels of the list at `list`, or the one whose trace is there, to the trace `out`. `observe` is called with the
/// number of kernels and CTAs so far.
///
/// # Errors
/// What is not understood, with its file and line, and a file that cannot be written.
pub fn import(
    list: &Path,
    out: &Path,
    level: i32,
    observe: &mut dyn FnMut(u32, u64),
) -> Result<Imported> {
    let files = List::read(list)?;
    let Some(first) = files.kernels.first() else {
        return Err(Error::input("it names no kernel").in_file(list));
    };
    let head = Text::open(first)?.into_head();
    let launches = u32::try_from(files.kernels.len()).expect("far fewer kernels");
    let header = Header {
        gsim: env!("CARGO_PKG_VERSION").to_owned(),
        instructions: InstructionSet::Sass,
        launches,
        origin: Origin::AccelSim {
            list: list.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            binary_version: head.binary_version,
            tracer_version: head.tracer_version.to_string(),
        },
    };
    let mut trace = TraceFile::create(out, &header, level)?;
    let mut partial = Vec::new();
    let mut ctas = 0;
    for (number, file) in (1..).zip(&files.kernels) {
        let code = Code::read(file, &files.buffers)?;
        let (there, whole) = (code.kernel.ctas, code.grid);
        if there != whole {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            partial.push((name, there, whole));
        }
        trace.begin(&code.kernel)?;
        streams::write(file, &code, &mut |cta| {
            ctas += 1;
            observe(number, ctas);
            trace.add(cta)
        })?;
    }
    let (end, bytes) = trace.finish()?;
    Ok(Imported { launches, partial, end, bytes })
}
