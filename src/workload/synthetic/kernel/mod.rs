//! A synthetic kernel as PTX: the same accesses, for a GPU, and for `frontend::ptx`.
//!
//! ```text
//! SyntheticSpec -memory-> buffers, filled          -plan-> what is a loop
//!               -walk---> offsets as instructions  -body-> accesses, arithmetic, dependences
//! ```
//!
//! What holds, and what tests hold against the synthetic streams, warp by warp:
//! * each warp executes the same memory instructions in the same order, with the same addresses, widths, lanes and
//!   cache operators, and the same arithmetic between them;
//! * an access waits for the same earlier accesses;
//! * each pointer of a chase is loaded from memory;
//! * what is loaded does not depend on the order of warps: see [`memory`].
//!
//! What a stream does not have, because it costs nothing there, is in the header of the text with its number of
//! instructions. `workloads/PATTERNS.md` says what it is.

mod body;
mod code;
mod hash;
mod math;
mod memory;
mod plan;
mod reference;
mod walk;

use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use body::{Body, Slot};
use code::{Code, Fork, Part, Reg};
use hash::Table;
use math::Math;
use memory::{Arrays, Buffers};
use reference::Reference;
use walk::{Context, Thread, Walk};

use super::zipf::Zipf;
use crate::config::SyntheticSpec;
use crate::config::synthetic::{Pattern, Sharing, SyntheticSpace, Use};
use crate::isa::WARP;
use crate::workload::{Arg, Launch, Launches, Own, PtxSource, Workload};

/// Instructions that the text of a kernel may have.
const MAX_INSTRUCTIONS: u64 = 1 << 15;

/// Bytes of constant memory. Source: CUDA C++ Programming Guide, compute capabilities.
const MAX_CONSTANTS: usize = 1 << 16;

/// Name of the entry.
const ENTRY: &str = "synthetic";

/// Why there is no kernel of a specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The field to blame, by its path from the specification.
    pub path: String,
    /// What is wrong with it.
    pub why: String,
    /// What would do.
    pub hint: &'static str,
}

impl Refusal {
    /// A refusal that a field of an access is to blame for.
    fn at(at: Use, field: &str, why: String, hint: &'static str) -> Self {
        Refusal { path: format!("phases.{}.mix.{}.{field}", at.phase, at.entry), why, hint }
    }
}

/// The kernel of a specification, its buffers filled, its result checked.
///
/// # Errors
/// What no kernel can do, and more memory than there is.
pub fn build(spec: &SyntheticSpec, seed: u64) -> Result<Workload, Refusal> {
    let arrays = Arrays::new(spec)?;
    let text = text(spec, &arrays, seed)?;
    let Buffers { memory, arrays: buffers, image, out } = Buffers::new(spec, &arrays, seed)?;
    let pointers = buffers.iter().chain(&image).chain([&out]).map(|&buffer| Arg::Buffer(buffer));
    let salt = Arg::I32(memory::salt(seed) as i32);
    let launch = Launch {
        ptx: Arc::new(PtxSource { path: PathBuf::from("synthetic.ptx (generated)"), text }),
        entry: ENTRY.to_owned(),
        grid: [spec.ctas.get(), 1, 1],
        block: [spec.warps.get() * WARP as u32, 1, 1],
        dynamic_shared: spec.shared.get(),
        // The last one is what makes a value depend on another without a change.
        args: pointers.chain([salt, Arg::I32(0)]).collect(),
    };
    let reference = Reference::new(spec, arrays, seed, &buffers, image, out);
    Ok(Workload {
        name: "synthetic".to_owned(),
        memory,
        launches: Launches::repeated(launch, spec.launches.size()),
        check: Box::new(move |memory| reference.check(memory)),
        // The text has no loop that its specification does not bound.
        own: Own { limit: Some(u64::MAX), ..Own::default() },
    })
}

/// The PTX of a specification.
fn text(spec: &SyntheticSpec, arrays: &Arrays, seed: u64) -> Result<String, Refusal> {
    check_constants(spec)?;
    let mut code = Code::new();
    let mut module = String::new();
    let mut params: Vec<String> = Vec::new();
    let mut pointer = |code: &mut Code, name: String| {
        let generic = code.new_wide("ld.param.u64", format_args!("[{name}]"));
        params.push(format!(".param .u64 {name}"));
        code.new_wide("cvta.to.global.u64", generic)
    };
    let first_bytes: Vec<Option<Reg>> = arrays
        .all
        .iter()
        .enumerate()
        .map(|(number, array)| {
            let is_global = array.space == SyntheticSpace::Global;
            is_global.then(|| pointer(&mut code, format!("array_{number}")))
        })
        .collect();
    let image = (arrays.image_bytes() > 0).then(|| pointer(&mut code, "shared_image".to_owned()));
    let out = pointer(&mut code, "results".to_owned());
    let salt = code.new_narrow("ld.param.u32", "[salt]");
    let zero = code.new_narrow("ld.param.u32", "[zero]");
    params.extend([".param .u32 salt".to_owned(), ".param .u32 zero".to_owned()]);

    let thread_of_cta = code.new_narrow("mov.u32", "%tid.x");
    let cta = code.new_narrow("mov.u32", "%ctaid.x");
    let lane = code.new_narrow("and.b32", format_args!("{thread_of_cta}, {}", WARP - 1));
    let warp = code.new_narrow("shr.u32", format_args!("{thread_of_cta}, {}", WARP.ilog2()));
    let grid_warp =
        code.new_narrow("mad.lo.u32", format_args!("{cta}, {}, {warp}", spec.warps.get()));
    let thread = Thread { lane, warp, grid_warp };

    let shared = arrays.all.iter().any(|array| array.space == SyntheticSpace::Shared);
    let shared = shared.then(|| code.new_narrow("mov.u32", "shared_arrays"));
    if let (Some(image), Some(shared)) = (image, shared) {
        fill_shared(spec, arrays, (image, shared), thread_of_cta, &mut code);
    }
    let bases: Vec<Reg> = arrays
        .all
        .iter()
        .zip(first_bytes)
        .map(|(array, first)| {
            let (cta_pitch, warp_pitch) = (array.region.cta_pitch, array.region.warp_pitch);
            match first {
                Some(first) => [(cta, cta_pitch), (warp, warp_pitch)]
                    .into_iter()
                    .filter(|(_, pitch)| *pitch > 0)
                    .fold(first, |base, (number, pitch)| {
                        let number = code.new_wide("cvt.u64.u32", number);
                        code.new_wide("mad.lo.u64", format_args!("{number}, {pitch}, {base}"))
                    }),
                None => {
                    let shared = shared.expect("there is such an array");
                    let base = array.region.base;
                    let first = code.new_narrow("add.u32", format_args!("{shared}, {base}"));
                    match warp_pitch {
                        0 => first,
                        pitch => {
                            code.new_narrow("mad.lo.u32", format_args!("{warp}, {pitch}, {first}"))
                        }
                    }
                }
            }
        })
        .collect();

    let mut context = Context { spec, seed, thread, module: &mut module };
    let mut walks: Vec<Vec<Walk>> = Vec::new();
    for (phase, phase_spec) in spec.phases.iter().enumerate() {
        let counts = body::counts(phase_spec);
        let of_phase = counts.iter().enumerate().map(|(entry, &count)| {
            let number = arrays.of[phase][entry];
            let array = &arrays.all[number];
            Walk::new(&mut code, &mut context, Use { phase, entry }, array, bases[number], count)
        });
        walks.push(of_phase.collect());
    }
    let accesses = || spec.phases.iter().flat_map(|phase| &phase.mix);
    let mut guards = HashMap::new();
    for lanes in accesses().map(|access| access.lanes.get()).filter(|lanes| *lanes < WARP as u32) {
        guards
            .entry(lanes)
            .or_insert_with(|| code.new_pred("setp.lt.u32", format_args!("{lane}, {lanes}")));
    }
    // Lanes that never take part wait at the end: the assembler puts branches around guarded loads.
    let mut lanes = accesses().map(|access| access.lanes.get());
    let first = lanes.next();
    let is_open = spec.phases.iter().all(|phase| !phase.barrier);
    let only = if is_open && lanes.all(|lanes| Some(lanes) == first) {
        first.and_then(|lanes| guards.remove(&lanes))
    } else {
        None
    };
    let slots = spec.phases.iter().map(|phase| phase.in_flight.get()).max().unwrap_or(0);
    let slots: Vec<Slot> = (0..slots)
        .map(|_| Slot { words: std::array::from_fn(|_| code.narrow()), old: code.wide() })
        .collect();
    if !guards.is_empty() {
        // What lanes that take no part use instead.
        for Slot { words, old } in &slots {
            for word in words {
                code.op(format_args!("mov.b32 {word}, {salt}"));
            }
            code.op(format_args!("mov.b64 {old}, {{{salt}, {salt}}}"));
        }
    }
    let math = Math::new(spec, zero, &mut code);
    let checksum = code.new_narrow("mov.b32", 0);
    let fork = only.map(|guard| code.fork(guard));
    let mut body =
        Body { spec, arrays, code, walks, bases, zero, salt, checksum, slots, guards, math };
    body.passes()?;
    finish(&mut body, thread, out, fork.as_ref());
    Ok(whole(spec, arrays, &body, &module, &params))
}

/// Refuses tables that constant memory has no room for.
fn check_constants(spec: &SyntheticSpec) -> Result<(), Refusal> {
    let mut bytes = 0;
    for (phase, phase_spec) in spec.phases.iter().enumerate() {
        for (entry, access) in phase_spec.mix.iter().enumerate() {
            let Pattern::Zipf { exponent, run } = access.pattern else { continue };
            let runs = access.elements() / u64::from(run.get());
            bytes += Table::bytes(&Zipf::new(runs, exponent.value()));
            if bytes > MAX_CONSTANTS {
                let why = format!(
                    "the tables of all Zipf patterns exceed {MAX_CONSTANTS} bytes, which constant memory has"
                );
                let hint = "patterns with fewer elements, or fewer of them";
                return Err(Refusal::at(Use { phase, entry }, "pattern", why, hint));
            }
        }
    }
    Ok(())
}

/// Copies what shared memory begins with, 16 bytes a thread and round.
fn fill_shared(
    spec: &SyntheticSpec,
    arrays: &Arrays,
    (image, shared): (Reg, Reg),
    thread: Reg,
    code: &mut Code,
) {
    let bytes = arrays.image_bytes();
    let row = u64::from(spec.warps.get()) * WARP as u64 * 16;
    let offset = code.new_narrow("shl.b32", format_args!("{thread}, 4"));
    let rounds = code.begin(bytes.div_ceil(row));
    let is_inside = code.new_pred("setp.lt.u32", format_args!("{offset}, {bytes}"));
    let wide = code.new_wide("cvt.u64.u32", offset);
    let from = code.new_wide("add.u64", format_args!("{image}, {wide}"));
    let to = code.new_narrow("add.u32", format_args!("{shared}, {offset}"));
    let words: [Reg; 4] = std::array::from_fn(|_| code.narrow());
    let [a, b, c, d] = words;
    code.op(format_args!("@{is_inside} ld.global.v4.u32 {{{a}, {b}, {c}, {d}}}, [{from}]"));
    code.op(format_args!("@{is_inside} st.shared.v4.u32 [{to}], {{{a}, {b}, {c}, {d}}}"));
    code.op(format_args!("add.u32 {offset}, {offset}, {row}"));
    code.end(rounds);
    code.op("bar.sync 0");
}

/// Stores a thread's results.
fn finish(body: &mut Body, thread: Thread, out: Reg, fork: Option<&Fork>) {
    let Body { spec, arrays, code, walks, bases, checksum, guards, .. } = body;
    code.part(Part::Final);
    // Where the chains have got to, from the start of the array's copy.
    for (phase, of_phase) in walks.iter().enumerate() {
        for (entry, walk) in of_phase.iter().enumerate() {
            let Walk::Chase { chains, .. } = walk else { continue };
            let base = bases[arrays.of[phase][entry]];
            let guard = guards.get(&spec.access(Use { phase, entry }).lanes.get());
            let guard = guard.map_or(String::new(), |guard| format!("@{guard} "));
            for chain in chains.iter().filter(|chain| matches!(chain, Reg::Wide(_))) {
                let offset = code.new_wide("sub.u64", format_args!("{chain}, {base}"));
                let offset = code.new_narrow("cvt.u32.u64", offset);
                code.op(format_args!("{guard}xor.b32 {checksum}, {checksum}, {offset}"));
            }
        }
    }
    if let Some(fork) = fork {
        code.join(fork);
    }
    let results = body.math.fold(code);
    let warp = code.new_wide("cvt.u64.u32", thread.grid_warp);
    let lane = code.new_wide("cvt.u64.u32", thread.lane);
    let number = code.new_wide("mad.lo.u64", format_args!("{warp}, {WARP}, {lane}"));
    let place = code.new_wide("mad.lo.u64", format_args!("{number}, 8, {out}"));
    code.op(format_args!("st.global.v2.u32 [{place}], {{{checksum}, {results}}}"));
    code.op("ret");
}

/// The module, with a header that says what is in it.
fn whole(
    spec: &SyntheticSpec,
    arrays: &Arrays,
    body: &Body,
    module: &str,
    params: &[String],
) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "// Generated by gsim: {}", spec.summary());
    let (ctas, threads) = (spec.ctas.get(), spec.warps.get() as usize * WARP);
    let _ = writeln!(
        text,
        "// Grid of {ctas}, blocks of {threads}, {} bytes of dynamic shared memory.",
        spec.shared.get()
    );
    for (number, array) in arrays.all.iter().enumerate() {
        let at = array.first_use;
        let space = match array.space {
            SyntheticSpace::Global => "global",
            SyntheticSpace::Shared => "shared",
        };
        let owner = match spec.access(at).sharing() {
            Sharing::Grid => "grid",
            Sharing::Cta => "CTA",
            Sharing::Warp => "warp",
        };
        let _ = writeln!(
            text,
            "// array_{number}: {space} memory, {} bytes for each {owner}, first used by phase {} mix {}",
            array.pitch, at.phase, at.entry
        );
    }
    text.push_str("// Instructions that a warp executes:\n");
    for (part, name) in Part::ALL {
        let _ = writeln!(text, "//   {name:24} {}", body.code.executed(part));
    }
    text.push_str("\n.version 7.0\n.target sm_70\n.address_size 64\n\n");
    if arrays.all.iter().any(|array| array.space == SyntheticSpace::Shared) {
        text.push_str(".extern .shared .align 16 .b8 shared_arrays[];\n");
    }
    let _ = write!(
        text,
        "{module}\n.visible .entry {ENTRY}(\n\t{}\n)\n{{\n{}}}\n",
        params.join(",\n\t"),
        body.code.text()
    );
    text
}
