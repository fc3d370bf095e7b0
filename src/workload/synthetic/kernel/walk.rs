//! The offsets of an access as PTX: what each thread keeps from one access to the next, and how the next offset is
//! made of it. `workloads/PATTERNS.md` has the formulas.

use super::super::pattern::{scope_warps, taps};
use super::super::random::{GAMMA, Permutation, key, threshold};
use super::super::zipf::Zipf;
use super::code::{Code, Part, Reg};
use super::hash::{self, Table};
use super::memory::{Array, Link};
use crate::config::SyntheticSpec;
use crate::config::synthetic::{Access, Chains, ChaseOrder, Pattern, Sharing, Use};
use crate::isa::WARP;

/// What a thread knows of its place.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// Its lane.
    pub lane: Reg,
    /// Its warp's number in the CTA.
    pub warp: Reg,
    /// Its warp's number in the grid.
    pub grid_warp: Reg,
}

/// One access of a mixture, and the registers that it keeps.
#[derive(Clone, Debug)]
pub enum Walk {
    /// An offset that grows by the same `step`, modulo the footprint if it `wraps`.
    Even { offset: Reg, step: u64, footprint: u64, wraps: bool },
    /// A centre that grows after its last tap.
    Stencil { centre: Reg, step: u64, footprint: u64, taps: Vec<u64> },
    /// A sum of key and counter, and what is made of its draw.
    Draw { sum: Reg, lane: Reg, unit: u64, is_wide: bool, rule: Rule },
    /// What each chain has loaded last.
    Chase { chains: Vec<Reg>, link: Link, node: u64 },
}

/// From a draw to the number of a run of elements.
#[derive(Clone, Debug)]
pub enum Rule {
    Random { runs: u64 },
    Hot { runs: u64, hot: u64, threshold: u64 },
    Gather { window: u64, places: u64, threshold: u64, anchor: Reg },
    Zipf { ranks: Table, scatter: Permutation },
}

/// Offsets beyond this need 64 bits: the sum of two below it fits into 32.
const NARROW: u64 = 1 << 31;

/// The threshold that every draw is below.
const ALWAYS: u64 = 1 << 32;

/// What the generator of a kernel lends to that of an access.
pub struct Context<'a> {
    /// The kernel.
    pub spec: &'a SyntheticSpec,
    /// Seed of everything random.
    pub seed: u64,
    /// The thread.
    pub thread: Thread,
    /// Declarations of the module.
    pub module: &'a mut String,
}

impl Walk {
    /// Prepares the access at `at` of an array whose copy begins at `base`; each warp executes `per_pass` a pass.
    pub fn new(
        code: &mut Code,
        context: &mut Context,
        at: Use,
        array: &Array,
        base: Reg,
        per_pass: u64,
    ) -> Self {
        let spec = context.spec;
        let access = spec.access(at);
        let thread = context.thread;
        let footprint = access.footprint.get();
        let width = u64::from(access.width.get());
        let group = scope_warps(spec, access);
        let accesses = per_pass * u64::from(spec.repeats.get());
        let row = WARP as u64 * width;
        let even = |code: &mut Code, warp: u64, lane: u64, step: u64| {
            let [warp, lane, step] = [warp, lane, step].map(|distance| distance % footprint);
            let (warp, lane) = used(warp, lane, group, access);
            let far = u128::from(group - 1) * u128::from(warp)
                + u128::from(access.lanes.get() - 1) * u128::from(lane);
            let steps = u128::from(accesses.saturating_sub(1)) * u128::from(step);
            let offset = start(code, thread, access, warp, lane, far);
            let wraps = far + steps >= u128::from(footprint);
            Walk::Even { offset, step, footprint, wraps }
        };
        match &access.pattern {
            Pattern::Stream => even(code, row, width, group * row),
            Pattern::Blocks => even(code, accesses * row, width, row),
            Pattern::Stride { lane, access, warp } => {
                even(code, warp.get(), lane.get(), access.get())
            }
            Pattern::Broadcast { step } => even(code, 0, 0, step.get()),
            stencil @ Pattern::Stencil { .. } => {
                let (warp, lane) = used(row % footprint, width % footprint, group, access);
                let far = u128::from(group - 1) * u128::from(warp)
                    + u128::from(access.lanes.get() - 1) * u128::from(lane);
                let centre = start(code, thread, access, warp, lane, far);
                let elements = access.elements() as i64;
                let taps =
                    taps(stencil).map(|tap| tap.rem_euclid(elements) as u64 * width).collect();
                Walk::Stencil { centre, step: group * row % footprint, footprint, taps }
            }
            Pattern::Chase { .. } => chase(code, context, at, array, base, per_pass),
            Pattern::Random { .. }
            | Pattern::Hot { .. }
            | Pattern::Gather { .. }
            | Pattern::Zipf { .. } => random(code, context, at, array, accesses),
        }
    }

    /// Accesses that make one step: the neighbours of a stencil, else 1.
    pub fn taps(&self) -> u64 {
        match self {
            Walk::Stencil { taps, .. } => taps.len() as u64,
            _ => 1,
        }
    }

    /// The offset of an access in its array's copy. A chase has none: see [`Walk::Chase`].
    pub fn offset(&self, code: &mut Code, tap: u64) -> Reg {
        match self {
            Walk::Even { offset, .. } => *offset,
            Walk::Stencil { centre, footprint, taps, .. } => match taps[tap as usize] {
                0 => *centre,
                tap => {
                    let is_wide = matches!(centre, Reg::Wide(_));
                    let sum = code.reg(is_wide);
                    let ty = unsigned(is_wide);
                    code.op(format_args!("add.{ty} {sum}, {centre}, {tap}"));
                    wrap(code, sum, *footprint);
                    sum
                }
            },
            Walk::Draw { sum, lane, unit, is_wide, rule } => {
                let h = hash::draw(code, *sum);
                let place = rule.place(code, h);
                if *is_wide {
                    return code.new_wide("mad.lo.u64", format_args!("{place}, {unit}, {lane}"));
                }
                let place = code.new_narrow("cvt.u32.u64", place);
                code.new_narrow("mad.lo.u32", format_args!("{place}, {unit}, {lane}"))
            }
            Walk::Chase { .. } => unreachable!("a chase has addresses"),
        }
    }

    /// Goes on to the next access.
    pub fn advance(&self, code: &mut Code, tap: u64) {
        match self {
            Walk::Even { step: 0, .. } | Walk::Chase { .. } => {}
            Walk::Even { offset, step, footprint, wraps } => {
                let ty = unsigned(matches!(offset, Reg::Wide(_)));
                code.op(format_args!("add.{ty} {offset}, {offset}, {step}"));
                if *wraps {
                    wrap(code, *offset, *footprint);
                }
            }
            Walk::Stencil { centre, step, footprint, taps } => {
                if tap + 1 == taps.len() as u64 && *step > 0 {
                    let ty = unsigned(matches!(centre, Reg::Wide(_)));
                    code.op(format_args!("add.{ty} {centre}, {centre}, {step}"));
                    wrap(code, *centre, *footprint);
                }
            }
            Walk::Draw { sum, .. } => {
                let step = GAMMA.wrapping_mul(WARP as u64);
                code.op(format_args!("add.u64 {sum}, {sum}, {step:#x}"));
            }
        }
    }
}

impl Rule {
    /// The number of the run of elements that a draw means.
    fn place(&self, code: &mut Code, h: Reg) -> Reg {
        match self {
            Rule::Random { runs } => hash::below(code, h, runs),
            Rule::Hot { runs, hot, threshold } => {
                let second = hash::again(code, h);
                let cold = runs - hot;
                match *threshold {
                    ALWAYS => hash::below(code, second, hot),
                    0 => {
                        let place = hash::below(code, second, cold);
                        code.new_wide("add.u64", format_args!("{place}, {hot}"))
                    }
                    threshold => {
                        let is_hot = hash::chance(code, h, threshold);
                        let count =
                            code.new_wide("selp.b64", format_args!("{hot}, {cold}, {is_hot}"));
                        let first = code.new_wide("selp.b64", format_args!("0, {hot}, {is_hot}"));
                        let place = hash::below(code, second, count);
                        code.new_wide("add.u64", format_args!("{place}, {first}"))
                    }
                }
            }
            Rule::Gather { window, places, threshold, anchor } => {
                let second = hash::again(code, h);
                if *threshold < ALWAYS {
                    let new = hash::below(code, second, places);
                    if *threshold == 0 {
                        code.op(format_args!("mov.b64 {anchor}, {new}"));
                    } else {
                        let stays = hash::chance(code, h, *threshold);
                        code.op(format_args!("selp.b64 {anchor}, {anchor}, {new}, {stays}"));
                    }
                }
                let third = hash::again(code, second);
                let within = hash::below(code, third, window);
                code.new_wide("add.u64", format_args!("{anchor}, {within}"))
            }
            Rule::Zipf { ranks, scatter } => {
                let rank = ranks.rank(code, h);
                hash::permuted(code, scatter, rank)
            }
        }
    }
}

fn unsigned(is_wide: bool) -> &'static str {
    if is_wide { "u64" } else { "u32" }
}

/// The number of a thread's warp among those that share its copy; none where it is 0.
fn group_warp(thread: Thread, access: &Access) -> Option<Reg> {
    match access.sharing() {
        Sharing::Grid => Some(thread.grid_warp),
        Sharing::Cta => Some(thread.warp),
        Sharing::Warp => None,
    }
}

/// Distances between warps and between lanes, 0 where there is only one.
fn used(warp: u64, lane: u64, group: u64, access: &Access) -> (u64, u64) {
    (if group > 1 { warp } else { 0 }, if access.lanes.get() > 1 { lane } else { 0 })
}

/// The first offset of a thread: its warp's number times `warp`, and its lane times `lane`, at most `far`.
fn start(code: &mut Code, thread: Thread, access: &Access, warp: u64, lane: u64, far: u128) -> Reg {
    let footprint = access.footprint.get();
    let is_wide = far >= u128::from(NARROW);
    let group = group_warp(thread, access).filter(|_| warp > 0);
    let mut sum = if is_wide {
        let lanes = code.new_wide("cvt.u64.u32", thread.lane);
        let own = code.new_wide("mul.lo.u64", format_args!("{lanes}, {lane}"));
        group.map_or(own, |group| {
            let group = code.new_wide("cvt.u64.u32", group);
            code.new_wide("mad.lo.u64", format_args!("{group}, {warp}, {own}"))
        })
    } else {
        let own = code.new_narrow("mul.lo.u32", format_args!("{}, {lane}", thread.lane));
        group.map_or(own, |group| {
            code.new_narrow("mad.lo.u32", format_args!("{group}, {warp}, {own}"))
        })
    };
    if far >= u128::from(footprint) {
        let ty = unsigned(is_wide);
        let rest = code.reg(is_wide);
        code.op(format_args!("rem.{ty} {rest}, {sum}, {footprint}"));
        sum = rest;
    }
    match (is_wide, footprint > NARROW) {
        (false, true) => code.new_wide("cvt.u64.u32", sum),
        (true, false) => code.new_narrow("cvt.u32.u64", sum),
        _ => {
            // A register of its own: it changes.
            let own = code.reg(is_wide);
            let bits = if is_wide { 64 } else { 32 };
            code.op(format_args!("mov.b{bits} {own}, {sum}"));
            own
        }
    }
}

/// Brings `offset`, which is below twice the footprint, back into it.
fn wrap(code: &mut Code, offset: Reg, footprint: u64) {
    let is_wide = matches!(offset, Reg::Wide(_));
    if footprint.is_power_of_two() {
        let bits = if is_wide { 64 } else { 32 };
        code.op(format_args!("and.b{bits} {offset}, {offset}, {:#x}", footprint - 1));
        return;
    }
    // What is below the footprint becomes very large.
    let ty = unsigned(is_wide);
    let less = code.reg(is_wide);
    code.op(format_args!("sub.{ty} {less}, {offset}, {footprint}"));
    code.op(format_args!("min.{ty} {offset}, {offset}, {less}"));
}

fn random(code: &mut Code, context: &mut Context, at: Use, array: &Array, accesses: u64) -> Walk {
    let access = context.spec.access(at);
    let (width, footprint) = (u64::from(access.width.get()), access.footprint.get());
    let run = match access.pattern {
        Pattern::Random { run }
        | Pattern::Hot { run, .. }
        | Pattern::Gather { run, .. }
        | Pattern::Zipf { run, .. } => u64::from(run.get()),
        _ => unreachable!("the caller has looked"),
    };
    let (unit, runs) = (run * width, access.elements() / run);
    let Thread { lane, grid_warp, .. } = context.thread;
    // The counter of the first draw, and the sum that is mixed.
    let group = code.new_narrow("shr.u32", format_args!("{lane}, {}", run.ilog2()));
    let group = code.new_wide("cvt.u64.u32", group);
    let warp = code.new_wide("cvt.u64.u32", grid_warp);
    let counters = accesses * WARP as u64;
    let counter = code.new_wide("mad.lo.u64", format_args!("{warp}, {counters}, {group}"));
    let number = key(context.seed, at.phase, at.entry);
    // Wider than an immediate addend may be beside a wide factor.
    let number = code.new_wide("mov.b64", format_args!("{number:#x}"));
    let sum = code.new_wide("mad.lo.u64", format_args!("{counter}, {GAMMA:#x}, {number}"));
    let within = code.new_narrow("and.b32", format_args!("{lane}, {}", run - 1));
    let mut lane = code.new_narrow("mul.lo.u32", format_args!("{within}, {width}"));
    let is_wide = footprint > 1 << 32;
    if is_wide {
        lane = code.new_wide("cvt.u64.u32", lane);
    }
    let rule = match &access.pattern {
        Pattern::Random { .. } => Rule::Random { runs },
        Pattern::Hot { fraction, bytes, .. } => {
            let threshold = threshold(fraction.millionths());
            Rule::Hot { runs, hot: bytes.get() / unit, threshold }
        }
        Pattern::Gather { locality, window, .. } => {
            let window = window.get() / unit;
            let places = runs - window + 1;
            // As if the first draw had left the window, which it does if it does.
            let h = hash::draw(code, sum);
            let second = hash::again(code, h);
            let anchor = hash::below(code, second, places);
            Rule::Gather { window, places, threshold: threshold(locality.millionths()), anchor }
        }
        Pattern::Zipf { exponent, .. } => {
            let ranks = Zipf::new(runs, exponent.value());
            let name = format!("zipf_{}_{}", at.phase, at.entry);
            let ranks = Table::new(&name, &ranks, context.module, code);
            Rule::Zipf { ranks, scatter: Permutation::new(runs, array_key(context, array)) }
        }
        _ => unreachable!("the caller has looked"),
    };
    Walk::Draw { sum, lane, unit, is_wide, rule }
}

fn array_key(context: &Context, array: &Array) -> u64 {
    key(context.seed, array.first_use.phase, array.first_use.entry)
}

fn chase(
    code: &mut Code,
    context: &Context,
    at: Use,
    array: &Array,
    base: Reg,
    per_pass: u64,
) -> Walk {
    let spec = context.spec;
    let access = spec.access(at);
    let Pattern::Chase { node, order, chains } = &access.pattern else {
        unreachable!("the caller has looked")
    };
    let nodes = access.footprint.get() / node.get();
    let in_flight = u64::from(spec.phases[at.phase].in_flight.get());
    let (lanes, lane) = match chains {
        Chains::Lane => (u64::from(access.lanes.get()), Some(context.thread.lane)),
        Chains::Warp => (1, None),
    };
    let all = scope_warps(spec, access) * in_flight * lanes;
    let spacing = (nodes / all).max(1);
    let link = Link::of(access);
    let permutation = (*order == ChaseOrder::Shuffled)
        .then(|| Permutation::new(nodes, array_key(context, array)));
    let group = group_warp(context.thread, access);
    let chains = (0..in_flight.min(per_pass)).map(|chain| {
        // The chain's place on the cycle: ((g n + chain) L + l) spacing mod N.
        let part = code.part(Part::Setup);
        let mut place = code.new_wide("mov.b64", chain * lanes * spacing);
        if let Some(group) = group {
            let group = code.new_wide("cvt.u64.u32", group);
            let step = in_flight * lanes * spacing;
            place = code.new_wide("mad.lo.u64", format_args!("{group}, {step}, {place}"));
        }
        if let Some(lane) = lane {
            let lane = code.new_wide("cvt.u64.u32", lane);
            place = code.new_wide("mad.lo.u64", format_args!("{lane}, {spacing}, {place}"));
        }
        // Lanes that take no part have a place on the cycle, too.
        let idle = lane.map_or(0, |_| WARP as u64 - lanes);
        if (all + idle) * spacing > nodes {
            place = code.new_wide("rem.u64", format_args!("{place}, {nodes}"));
        }
        if let Some(permutation) = &permutation {
            place = hash::permuted(code, permutation, place);
        }
        let node = node.get();
        let state = match link {
            Link::Number => code.new_narrow("cvt.u32.u64", place),
            Link::Offset => {
                let offset = code.new_wide("mul.lo.u64", format_args!("{place}, {node}"));
                code.new_narrow("cvt.u32.u64", offset)
            }
            Link::Pointer => code.new_wide("mad.lo.u64", format_args!("{place}, {node}, {base}")),
        };
        code.part(part);
        state
    });
    Walk::Chase { chains: chains.collect(), link, node: node.get() }
}
