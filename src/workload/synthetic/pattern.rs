//! The addresses of an access. `workloads/PATTERNS.md` has the formulas, in the same letters.

use super::layout::Region;
use super::random::{Permutation, again, below, chance, draw, key, threshold};
use super::zipf::Zipf;
use crate::config::synthetic::{Access, Chains, ChaseOrder, Pattern, Sharing, StencilShape, Use};
use crate::config::{Bounded, SyntheticSpec};
use crate::isa::{LaneMask, WARP, WarpStream};
use crate::units::Divisor;

/// Ranks whose places are kept in a table, at most.
const MOST_TABLED: u64 = 1 << 16;

/// A warp of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpPlace {
    /// Its CTA.
    pub cta: u64,
    /// Its number in the CTA.
    pub warp: u64,
}

/// Which of an access's instructions: of a warp, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The pass through all phases.
    pub pass: u64,
    /// Its number in the pass.
    pub index: u64,
}

/// The addresses of one access of a mixture.
#[derive(Clone, Debug)]
pub struct Addresses {
    region: Region,
    sharing: Sharing,
    /// Instructions of a warp in a pass.
    per_pass: u64,
    draws: Draws,
    rule: Rule,
    /// The window of each group of lanes, for the warp at hand [runs].
    anchors: [u64; WARP],
}

/// What turns draws into addresses.
#[derive(Clone, Debug)]
struct Draws {
    /// Warps of a CTA.
    warps: u64,
    /// Instructions of a warp: A.
    accesses: u64,
    mask: LaneMask,
    lanes: usize,
    /// Bytes of an element.
    width: u64,
    key: u64,
}

#[derive(Clone, Debug)]
enum Rule {
    /// Elements in the order of threads: `warp` and `access` count 32 elements.
    Linear {
        elements: Divisor,
        warp: u64,
        access: u64,
        taps: Box<[u64]>,
        /// How many.
        count: Divisor,
    },
    Stride {
        footprint: Divisor,
        lane: u64,
        access: u64,
        warp: u64,
    },
    Random {
        run: usize,
        runs: u64,
    },
    Hot {
        run: usize,
        runs: u64,
        hot: u64,
        threshold: u64,
    },
    Gather {
        run: usize,
        runs: u64,
        window: u64,
        threshold: u64,
    },
    Zipf {
        run: usize,
        ranks: Box<Zipf>,
        scatter: Permutation,
        /// The place of each rank as `scatter` gives it, where they are few.
        places: Box<[u32]>,
    },
    Chase(Chase),
}

#[derive(Clone, Debug)]
struct Chase {
    nodes: Divisor,
    node: u64,
    order: Option<Permutation>,
    /// Chains of a warp for each of its lanes, or for all: Q.
    in_flight: Divisor,
    /// Lanes with a chain each.
    chain_lanes: usize,
    /// Nodes from the start of a chain to that of the next.
    spacing: u64,
}

impl Addresses {
    /// The addresses of the access at `at`, of which each warp executes `per_pass` a pass.
    pub fn new(spec: &SyntheticSpec, seed: u64, at: Use, region: Region, per_pass: u64) -> Self {
        let access = spec.access(at);
        let (width, lanes) = (u64::from(access.width.get()), access.lanes.size());
        let warps = u64::from(spec.warps.get());
        let scope_warps = scope_warps(spec, access);
        let accesses = per_pass * u64::from(spec.repeats.get());
        let (footprint, elements) = (access.footprint.get(), access.elements());
        let runs = |run: u32| (run as usize, elements / u64::from(run));
        // What belongs to the array and not to the access: the same for all that use it.
        let array_key = key(seed, region.first_use.phase, region.first_use.entry);
        let linear = |warp: u64, access: u64, taps: Box<[u64]>| {
            let (elements, count) = (Divisor::new(elements), Divisor::new(taps.len() as u64));
            Rule::Linear { elements, warp, access, taps, count }
        };
        let stride = |lane: u64, access: u64, warp: u64| {
            let [lane, access, warp] = [lane, access, warp].map(|step| step % footprint);
            Rule::Stride { footprint: Divisor::new(footprint), lane, access, warp }
        };
        let rule = match &access.pattern {
            Pattern::Stream => linear(1, scope_warps, [0].into()),
            Pattern::Blocks => linear(accesses, 1, [0].into()),
            stencil @ Pattern::Stencil { .. } => {
                let taps =
                    taps(stencil).map(|tap| tap.rem_euclid(elements as i64) as u64).collect();
                linear(1, scope_warps, taps)
            }
            Pattern::Stride { lane, access, warp } => stride(lane.get(), access.get(), warp.get()),
            Pattern::Broadcast { step } => stride(0, step.get(), 0),
            Pattern::Random { run } => {
                let (run, runs) = runs(run.get());
                Rule::Random { run, runs }
            }
            Pattern::Hot { fraction, bytes, run } => {
                let hot = bytes.get() / (u64::from(run.get()) * width);
                let (run, runs) = runs(run.get());
                Rule::Hot { run, runs, hot, threshold: threshold(fraction.millionths()) }
            }
            Pattern::Gather { locality, window, run } => {
                let window = window.get() / (u64::from(run.get()) * width);
                let (run, runs) = runs(run.get());
                Rule::Gather { run, runs, window, threshold: threshold(locality.millionths()) }
            }
            Pattern::Zipf { exponent, run } => {
                let (run, runs) = runs(run.get());
                let scatter = Permutation::new(runs, array_key);
                let tabled = if runs <= MOST_TABLED { 0..runs } else { 0..0 };
                let places = tabled.map(|rank| scatter.of(rank) as u32).collect();
                let ranks = Box::new(Zipf::new(runs, exponent.value()));
                Rule::Zipf { run, ranks, scatter, places }
            }
            Pattern::Chase { node, order, chains } => {
                let nodes = footprint / node.get();
                let in_flight = u64::from(spec.phases[at.phase].in_flight.get());
                let chain_lanes = if *chains == Chains::Lane { lanes } else { 1 };
                let chains = scope_warps * in_flight * chain_lanes as u64;
                Rule::Chase(Chase {
                    nodes: Divisor::new(nodes),
                    node: node.get(),
                    order: (*order == ChaseOrder::Shuffled)
                        .then(|| Permutation::new(nodes, array_key)),
                    in_flight: Divisor::new(in_flight),
                    chain_lanes,
                    spacing: (nodes / chains).max(1),
                })
            }
        };
        Addresses {
            region,
            sharing: access.sharing(),
            per_pass,
            draws: Draws {
                warps,
                accesses,
                mask: !0 >> (WARP - lanes),
                lanes,
                width,
                key: key(seed, at.phase, at.entry),
            },
            rule,
            anchors: [0; WARP],
        }
    }

    /// The warp's number among those that share its copy.
    fn scope_warp(&self, place: WarpPlace) -> u64 {
        match self.sharing {
            Sharing::Grid => place.cta * self.draws.warps + place.warp,
            Sharing::Cta => place.warp,
            Sharing::Warp => 0,
        }
    }

    /// Appends the addresses of an instruction to the warp's stream. The instructions of a warp come in
    /// order, for a window of the gather is that of the one before.
    #[inline]
    pub fn push(&mut self, place: WarpPlace, turn: Turn, stream: &mut WarpStream) {
        match &self.rule {
            Rule::Chase(chase) if chase.chain_lanes == 1 => {
                let nodes = chase.nodes(self.scope_warp(place), turn, self.per_pass);
                stream.push_affine(self.draws.mask, self.base(place) + chase.address(nodes, 0), 0);
            }
            _ => self.push_lanes(place, turn, stream),
        }
    }

    /// The address of the warp's copy of the array.
    fn base(&self, place: WarpPlace) -> u64 {
        let Region { base, cta_pitch, warp_pitch, .. } = self.region;
        base + place.cta * cta_pitch + place.warp * warp_pitch
    }

    /// As [`Addresses::push`], of lanes that each have an address of their own.
    fn push_lanes(&mut self, place: WarpPlace, turn: Turn, stream: &mut WarpStream) {
        let base = self.base(place);
        let scope_warp = self.scope_warp(place);
        let number = turn.pass * self.per_pass + turn.index;
        let Addresses { draws, rule, anchors, .. } = self;
        let Draws { mask, lanes, width, .. } = *draws;
        match &*rule {
            Rule::Linear { elements, warp, access, taps, count } => {
                let (step, tap) = count.divide(number);
                let thread = (scope_warp * warp + step * access) * WARP as u64;
                let first = elements.divide(thread + taps[tap as usize]).1;
                let end = elements.get() * width;
                Wrapped { base, first: first * width, step: width, end }.push(mask, stream);
            }
            Rule::Stride { footprint, lane, access, warp } => {
                let ways = u128::from(scope_warp) * u128::from(*warp)
                    + u128::from(number) * u128::from(*access);
                let first = match u64::try_from(ways) {
                    Ok(ways) => footprint.divide(ways).1,
                    Err(_) => (ways % u128::from(footprint.get())) as u64,
                };
                Wrapped { base, first, step: *lane, end: footprint.get() }.push(mask, stream);
            }
            Rule::Chase(chase) => {
                let nodes = chase.nodes(scope_warp, turn, self.per_pass);
                let mut addresses = [0; WARP];
                for (lane, address) in addresses[..lanes].iter_mut().enumerate() {
                    *address = base + chase.address(nodes, lane as u64);
                }
                stream.push_addresses(mask, &addresses);
            }
            Rule::Random { run, runs } => {
                let (run, runs) = (*run, *runs);
                draws.push_runs(base, place, number, run, stream, |_, h| below(h, runs));
            }
            Rule::Hot { run, runs, hot, threshold } => {
                let (run, runs, hot, threshold) = (*run, *runs, *hot, *threshold);
                draws.push_runs(base, place, number, run, stream, |_, h| {
                    match chance(h, threshold) {
                        true => below(again(h), hot),
                        false => hot + below(again(h), runs - hot),
                    }
                });
            }
            Rule::Gather { run, runs, window, threshold } => {
                let (run, runs, window, threshold) = (*run, *runs, *window, *threshold);
                draws.push_runs(base, place, number, run, stream, |group, h| {
                    if number == 0 || !chance(h, threshold) {
                        anchors[group] = below(again(h), runs - window + 1);
                    }
                    anchors[group] + below(again(again(h)), window)
                });
            }
            Rule::Zipf { run, ranks, scatter, places } => {
                draws.push_runs(base, place, number, *run, stream, |_, h| {
                    let rank = ranks.rank(h);
                    match places.get(rank as usize) {
                        Some(place) => (*place).into(),
                        None => scatter.of(rank),
                    }
                });
            }
        }
    }

    /// Words that the record of an instruction mostly takes, see [`WarpStream`].
    pub fn words(&self) -> usize {
        let lanes = self.draws.lanes;
        let is_affine = match &self.rule {
            Rule::Linear { .. } | Rule::Stride { .. } => true,
            Rule::Chase(chase) => chase.chain_lanes == 1,
            Rule::Random { run, .. }
            | Rule::Hot { run, .. }
            | Rule::Gather { run, .. }
            | Rule::Zipf { run, .. } => *run >= lanes,
        };
        if is_affine { 4 } else { 3 + lanes }
    }
}

impl Draws {
    /// Appends addresses of which `run` lanes share a draw; `place_of` makes the number of a run of elements
    /// from the group of lanes and its draw.
    #[inline]
    fn push_runs(
        &self,
        base: u64,
        place: WarpPlace,
        number: u64,
        run: usize,
        stream: &mut WarpStream,
        mut place_of: impl FnMut(usize, u64) -> u64,
    ) {
        let warp = place.cta * self.warps + place.warp;
        let counter = (warp * self.accesses + number) * WARP as u64;
        let bytes = run as u64 * self.width;
        if run >= self.lanes {
            let first = base + place_of(0, draw(self.key, counter)) * bytes;
            return stream.push_affine(self.mask, first, self.width as i32);
        }
        let mut addresses = [0; WARP];
        if run == 1 {
            for (lane, address) in addresses[..self.lanes].iter_mut().enumerate() {
                *address = base + place_of(lane, draw(self.key, counter + lane as u64)) * bytes;
            }
            return stream.push_addresses(self.mask, &addresses);
        }
        for group in 0..self.lanes.div_ceil(run) {
            let first = base + place_of(group, draw(self.key, counter + group as u64)) * bytes;
            for lane in 0..run {
                addresses[group * run + lane] = first + lane as u64 * self.width;
            }
        }
        stream.push_addresses(self.mask, &addresses);
    }
}

/// Addresses that go round: `base + (first + lane * step) mod end`.
struct Wrapped {
    base: u64,
    first: u64,
    step: u64,
    end: u64,
}

impl Wrapped {
    #[inline]
    fn push(&self, mask: LaneMask, stream: &mut WarpStream) {
        let last = self.first + self.step * (WARP as u64 - 1);
        match i32::try_from(self.step) {
            Ok(step) if last < self.end => stream.push_affine(mask, self.base + self.first, step),
            _ => {
                let at = |lane: usize| (self.first + self.step * lane as u64) % self.end;
                stream.push_addresses(mask, &std::array::from_fn(|lane| self.base + at(lane)));
            }
        }
    }
}

impl Chase {
    /// Steps behind, and number of, the chain of lane 0.
    fn nodes(&self, scope_warp: u64, turn: Turn, per_pass: u64) -> (u64, u64) {
        let (round, chain) = self.in_flight.divide(turn.index);
        let steps = match turn.pass {
            0 => round,
            pass => {
                let of_a_pass = (per_pass - chain).div_ceil(self.in_flight.get());
                pass * of_a_pass + round
            }
        };
        (steps, (scope_warp * self.in_flight.get() + chain) * self.chain_lanes as u64)
    }

    /// Bytes from the array's start to the node of a lane.
    #[inline]
    fn address(&self, (steps, first_chain): (u64, u64), lane: u64) -> u64 {
        let start = (first_chain + lane) * self.spacing;
        let place = self.nodes.divide(start + steps).1;
        let node = self.order.as_ref().map_or(place, |order| order.of(place));
        node * self.node
    }
}

/// Warps that share a copy of the access's array: G.
pub fn scope_warps(spec: &SyntheticSpec, access: &Access) -> u64 {
    let warps = u64::from(spec.warps.get());
    match access.sharing() {
        Sharing::Grid => u64::from(spec.ctas.get()) * warps,
        Sharing::Cta => warps,
        Sharing::Warp => 1,
    }
}

/// Distances of a stencil's neighbours from its centre [elements], lowest first: by plane, by row, in a row.
pub fn taps(pattern: &Pattern) -> impl Iterator<Item = i64> {
    let Pattern::Stencil { radius, row, plane, shape } = pattern else {
        unreachable!("only stencils have neighbours")
    };
    let radius = i64::from(radius.get());
    let star = *shape == StencilShape::Star;
    // How far it goes along rows and planes, and what a step there is worth.
    let axis = |distance: &Option<Bounded<1, { u32::MAX }>>| {
        distance.map_or((0, 0), |distance| (radius, i64::from(distance.get())))
    };
    let ((rows, row), (planes, plane)) = (axis(row), axis(plane));
    (-planes..=planes).flat_map(move |z| {
        let on_axis = move |y: &i64| !(star && z != 0 && *y != 0);
        (-rows..=rows).filter(on_axis).flat_map(move |y| {
            let reach = if star && (z != 0 || y != 0) { 0 } else { radius };
            (-reach..=reach).map(move |x| z * plane + y * row + x)
        })
    })
}
