//! The second reading of a trace: what its warps executed.

use std::path::Path;

use super::code::Code;
use super::line::Line;
use super::sass::Lanes;
use super::text::{Item, Text};
use crate::error::Result;
use crate::isa::{BarrierUse, Cta, LaneMask, Op, SHARED_WINDOW, Space, WARP, WarpStream, lanes};
use crate::units::noun;

/// Addresses of global memory are below this. Source: CUDA C++ programming guide, 49 bits of virtual addresses; above 48 gsim
/// has other spaces.
const GLOBAL: u64 = SHARED_WINDOW;

/// What the first reading did not have.
const CHANGED: &str = "the file has changed while it was read";

/// Reads the trace at `path` and hands its CTAs to `add`.
///
/// # Errors
/// What gsim does not understand, with its line, and what `add` says.
pub fn write(path: &Path, code: &Code, add: &mut dyn FnMut(&Cta) -> Result<()>) -> Result<()> {
    let mut text = Text::open(path)?;
    let has_lines = text.head().has_lines;
    let warps = code.kernel.cta_warps();
    let mut cta = Cta::default();
    let mut key = String::new();
    let (mut number, mut warp) = (0, 0);
    while let Some(item) = text.next()? {
        match item {
            Item::Begin(_) => cta.reset(warps),
            Item::Warp(next) => {
                warp = next as usize;
                let is_new = cta.warps.get(warp).is_some_and(|warp| warp.instructions() == 0);
                if !is_new {
                    let threads = code.kernel.cta_threads;
                    let what = format!(
                        "warp {warp} of {warps}, once each, in a CTA of {threads} {}",
                        noun(threads.into(), "thread", "threads")
                    );
                    return Err(text.wrong(what));
                }
            }
            Item::Instruction => {
                let Some(stream) = cta.warps.get_mut(warp) else {
                    return Err(text.wrong("an instruction of no warp"));
                };
                let warp_of_launch = number * warps as u64 + warp as u64;
                let line = Line::parse(text.line(), has_lines);
                line.and_then(|line| push(&line, code, warp_of_launch, &mut key, stream))
                    .map_err(|why| text.wrong(why))?;
            }
            Item::End => {
                for stream in &mut cta.warps {
                    let last = stream.recent().next().map(|(pc, len)| pc + len - 1);
                    if last.is_none_or(|last| code.kernel.insts[last as usize].op != Op::Exit) {
                        stream.push(code.exit, LaneMask::MAX);
                    }
                }
                add(&cta)?;
                number += 1;
            }
        }
    }
    Ok(())
}

/// Appends an instruction and its addresses.
fn push(
    line: &Line,
    code: &Code,
    warp: u64,
    key: &mut String,
    stream: &mut WarpStream,
) -> Result<(), String> {
    let place = code.place(line, key).ok_or(CHANGED)?;
    stream.push(place, line.mask);
    match code.kernel.insts[place as usize].op {
        Op::Memory(op) => {
            let mask = match code.lanes[place as usize] {
                Lanes::All => line.mask,
                Lanes::First(count) => {
                    line.mask & (LaneMask::MAX >> (WARP as u32 - u32::from(count)))
                }
            };
            let mut addresses = line.addresses()?;
            for lane in lanes(mask) {
                let address = addresses[lane];
                if !address.is_multiple_of(op.bytes.into()) {
                    return Err(format!("an access of {} bytes at 0x{address:x}", op.bytes));
                }
                addresses[lane] = match code.windows.place(op.space, address) {
                    (Space::Local, offset) => {
                        let place = code.windows.local(warp, lane, offset);
                        place.ok_or(CHANGED)?
                    }
                    (Space::Shared, offset) if op.space == Space::Generic => SHARED_WINDOW + offset,
                    (Space::Shared, offset) if offset < GLOBAL => offset,
                    (_, address) if address < GLOBAL => address,
                    _ => return Err(format!("an address of more than 48 bits, 0x{address:x}")),
                };
            }
            stream.push_addresses(mask, &addresses);
        }
        // The values are not said: all lanes have the same.
        Op::Match => stream.push_affine(line.mask, 0, 0),
        Op::Barrier => {
            stream.push_barrier(BarrierUse::ALL);
        }
        Op::Arith(_)
        | Op::Mbarrier(_)
        | Op::Fence(_)
        | Op::Copies(_)
        | Op::Bulk(_)
        | Op::Warpgroup(_)
        | Op::Exit => {}
    }
    Ok(())
}
