//! Tests of the front end as a whole: text in, values and streams out.

mod arithmetic;
mod bulk;
mod compiled;
mod control;
mod copies;
mod declarations;
mod device;
mod errors;
mod features;
mod flow;
mod hostile;
mod mbarrier;
mod semantics;
mod semantics_float;
mod semantics_half;
mod semantics_integer;
mod semantics_packed;
mod speed;
mod stencil;
mod tensor;
mod warpgroup;

use std::sync::Arc;

use super::{Module, PtxLaunch};
use crate::error::Result;
use crate::isa::{Cta, CtaSource, Op, WarpCursor, WarpStream};
use crate::workload::{Arg, Buffer, DeviceMemory, Launch, PtxSource};

/// A module with one entry `k` of two buffers, `in` and `out`, and the body given.
///
/// Registers: `%p<8>`, `%h<8>` (16 bits), `%r<16>`, `%f<8>`, `%d<8>` (both floating-point) and
/// `%a<8>` (64 bits). `%a0` and `%a1` hold the lane's address in `in` and `out`, 8 bytes a lane; `%r0`
/// holds the thread.
pub fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .f32 %f<8>;\n\
         .reg .f64 %d<8>; .reg .b64 %a<8>;\n\
         mov.u32 %r0, %tid.x; mul.wide.u32 %a2, %r0, 8; ld.param.u64 %a0, [in];\n\
         ld.param.u64 %a1, [out]; add.s64 %a0, %a0, %a2; add.s64 %a1, %a1, %a2;\n\
         {body}\n}}\n"
    )
}

/// Line of [`kernel`]'s text on which the body starts.
pub const BODY_LINE: u32 = 9;

pub fn source(text: impl Into<String>) -> Arc<PtxSource> {
    Arc::new(PtxSource { path: "t.ptx".into(), text: text.into() })
}

/// A launch of the entry `k` with one CTA of `threads` threads in a row; its parameters are the buffers.
pub fn one_cta(text: impl Into<String>, threads: u32, buffers: &[Buffer]) -> Launch {
    Launch {
        ptx: source(text),
        entry: "k".into(),
        grid: [1; 3],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        args: buffers.iter().map(|buffer| Arg::Buffer(*buffer)).collect(),
    }
}

/// Runs [`kernel`] with one CTA of `threads` threads; gives the stream of each warp and the output.
pub fn run(body: &str, threads: u32, inputs: &[u64]) -> Result<(Vec<WarpStream>, Vec<u64>)> {
    let mut memory = DeviceMemory::default();
    let words = u64::from(threads).max(inputs.len() as u64);
    let [input, output] = ["in", "out"].map(|name| memory.allocate(name, 8 * words));
    for (place, value) in memory.of_mut(input).chunks_exact_mut(8).zip(inputs) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    let launch = one_cta(kernel(body), threads, &[input, output]);
    let mut cta = Cta::default();
    let module = Module::parse(&launch.ptx)?;
    let mut running = module.launch(&launch, &mut memory)?;
    running.limit = 100_000;
    assert!(running.next(&mut cta)?);
    assert!(!running.next(&mut Cta::default())?);
    let values = memory.of(output).as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    Ok((cta.warps, values.collect()))
}

/// Runs one warp; lane `i` finds `inputs[i]`, a word of 64 bits, at `[%a0]` and leaves one at `[%a1]`.
/// Gives as many outputs as there are inputs.
pub fn check(body: &str, inputs: &[u64]) -> Vec<u64> {
    let (_, mut values) = run(&format!("{body}\nret;"), 32, inputs).unwrap();
    values.truncate(inputs.len());
    values
}

/// The instructions that a warp executed: place and lanes.
pub fn steps(stream: &WarpStream) -> Vec<(u32, u32)> {
    let mut cursor = WarpCursor::default();
    let mut steps = Vec::new();
    while let Some(step) = cursor.peek(stream) {
        steps.push(step);
        cursor.advance(stream);
    }
    steps
}

/// What `see` finds in the records of each warp of [`kernel`]; it reads those of what it knows, but for addresses and barriers of the CTA.
pub fn records<T>(
    text: &str,
    streams: &[WarpStream],
    see: impl Fn(Op, &mut WarpCursor, &WarpStream) -> Option<T>,
) -> Vec<Vec<T>> {
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 1 << 16);
    let launch = one_cta(kernel(text), 32, &[buffer; 2]);
    let running = Module::parse(&launch.ptx).unwrap().launch(&launch, &mut memory).unwrap();
    let of_warp = |stream: &WarpStream| {
        let mut cursor = WarpCursor::default();
        let mut found = Vec::new();
        while let Some((pc, _)) = cursor.peek(stream) {
            match running.kernel().insts[pc as usize].op {
                Op::Barrier => drop(cursor.barrier(stream)),
                Op::Memory(_) => drop(cursor.addresses(stream)),
                op => found.extend(see(op, &mut cursor, stream)),
            }
            cursor.advance(stream);
        }
        found
    };
    streams.iter().map(of_warp).collect()
}

/// Executes what is left of a launch and throws the streams away.
pub fn drain(launch: &mut PtxLaunch<&mut DeviceMemory>) -> Result<u64> {
    let mut cta = Cta::default();
    while launch.next(&mut cta)? {}
    Ok(launch.executed())
}
