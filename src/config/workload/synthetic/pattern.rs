//! Which addresses an access takes. The formulas are in `workloads/PATTERNS.md`.

use serde::{Deserialize, Serialize};

use crate::config::bounded::{Bounded, Millionths, Share, Wide};

/// Bytes, from `LO` to 2^44.
pub type Bytes<const LO: u64> = Wide<LO, 0x1000_0000_0000>;

/// Lanes that take consecutive elements: 1, 2, 4, 8, 16 or 32.
pub type LaneRun = Bounded<1, 32>;

/// Which addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Pattern {
    /// Each element once, by consecutive threads of the grid: a grid-stride loop.
    Stream,
    /// Each element once, each warp through a block of its own.
    Blocks,
    /// Fixed distances, around the footprint.
    Stride {
        /// From a lane to the next [bytes, 0..=2^44].
        lane: Bytes<0>,
        /// From a warp's access to its next [bytes, 0..=2^44].
        #[serde(default = "none")]
        access: Bytes<0>,
        /// From a warp to the next [bytes, 0..=2^44].
        #[serde(default = "none")]
        warp: Bytes<0>,
    },
    /// All lanes of all warps one element.
    Broadcast {
        /// From an access to the next [bytes, 0..=2^44].
        step: Bytes<0>,
    },
    /// Any element, all equally likely.
    Random {
        /// Lanes that take consecutive elements, which lie at a random place together [1..=32].
        #[serde(default = "default_run")]
        run: LaneRun,
    },
    /// A few hot bytes at the start of the footprint, and any other element.
    Hot {
        /// Share of the draws that are hot [0..=1].
        fraction: Share,
        /// Hot bytes [bytes, 1..=2^44].
        bytes: Bytes<1>,
        /// Lanes that draw together and take consecutive elements [1..=32].
        #[serde(default = "whole_warp")]
        run: LaneRun,
    },
    /// Each load gives the address of the next one, on one cycle through all nodes.
    Chase {
        /// Bytes of a node, of which the first are loaded [bytes, 1..=2^44].
        node: Bytes<1>,
        /// The order of the nodes on the cycle.
        order: ChaseOrder,
        /// Whether the lanes of a warp follow one chain or one each.
        #[serde(default)]
        chains: Chains,
    },
    /// The neighbours of an element, one an access, and then those of the next.
    Stencil {
        /// Elements to each side [elements, 1..=65535].
        radius: Bounded<1, 65_535>,
        /// Elements of a row: two dimensions [elements, 1..=4294967295].
        #[serde(default)]
        row: Option<Bounded<1, { u32::MAX }>>,
        /// Elements of a plane: three dimensions [elements, 1..=4294967295].
        #[serde(default)]
        plane: Option<Bounded<1, { u32::MAX }>>,
        /// Which neighbours.
        #[serde(default)]
        shape: StencilShape,
    },
    /// Random elements that stay in a window for a while.
    Gather {
        /// Probability that a draw stays in the window of the one before [0..=1].
        locality: Share,
        /// Bytes of a window [bytes, 1..=2^44].
        window: Bytes<1>,
        /// Lanes that draw together and take consecutive elements [1..=32].
        #[serde(default = "default_run")]
        run: LaneRun,
    },
    /// Random elements of which few are popular: the k-th most popular in proportion to `k^-exponent`.
    Zipf {
        /// How unequal they are; 0 is Random [0..=4].
        exponent: Millionths<4>,
        /// Lanes that draw together and take consecutive elements [1..=32].
        #[serde(default = "default_run")]
        run: LaneRun,
    },
}

/// Order of the nodes of a chase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChaseOrder {
    /// As they lie in memory.
    Sequential,
    /// A random permutation.
    Shuffled,
}

/// Chains of a chase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Chains {
    /// All lanes of a warp take one address.
    #[default]
    Warp,
    /// Each lane follows its own.
    Lane,
}

/// Neighbours of a stencil.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StencilShape {
    /// Those along the axes.
    #[default]
    Star,
    /// All of the square or cube.
    Box,
}

/// Neighbours that a stencil may have, the centre included.
const MAX_TAPS: u64 = 65_536;

const fn none() -> Bytes<0> {
    Wide::new(0).expect("in range")
}

const fn default_run() -> LaneRun {
    Bounded::new(1).expect("in range")
}

const fn whole_warp() -> LaneRun {
    Bounded::new(32).expect("in range")
}

impl Pattern {
    /// Says what is wrong with the fields of the pattern, for elements of `width` bytes.
    pub(super) fn check(&self, footprint: u64, width: u64) -> Result<(), String> {
        let multiple = |name: &str, value: u64, of: &str, unit: u64| match value % unit {
            0 => Ok(()),
            _ => Err(format!("pattern.{name} ({value}) is not a multiple of {of} ({unit})")),
        };
        let within = |name: &str, value: u64| match value <= footprint {
            true => Ok(()),
            false => Err(format!("pattern.{name} ({value}) exceeds footprint ({footprint})")),
        };
        // Lanes that go together must fit, at every place.
        let run = |run: LaneRun| {
            let lanes = u64::from(run.get());
            if !lanes.is_power_of_two() {
                return Err(format!("pattern.run ({lanes}) is none of 1, 2, 4, 8, 16, 32"));
            }
            if !footprint.is_multiple_of(lanes * width) {
                return Err(format!(
                    "footprint ({footprint}) is not a multiple of pattern.run ({lanes}) x width ({width})"
                ));
            }
            Ok(lanes * width)
        };
        match *self {
            Pattern::Stream | Pattern::Blocks => Ok(()),
            Pattern::Stride { lane, access, warp } => {
                multiple("lane", lane.get(), "width", width)?;
                multiple("access", access.get(), "width", width)?;
                multiple("warp", warp.get(), "width", width)
            }
            Pattern::Broadcast { step } => multiple("step", step.get(), "width", width),
            Pattern::Random { run: lanes } | Pattern::Zipf { run: lanes, .. } => {
                run(lanes).map(|_| ())
            }
            Pattern::Hot { bytes, run: lanes, .. } => {
                let unit = run(lanes)?;
                multiple("bytes", bytes.get(), "pattern.run x width", unit)?;
                match bytes.get() < footprint {
                    true => Ok(()),
                    false => Err(format!(
                        "pattern.bytes ({}) leaves nothing cold of footprint ({footprint})",
                        bytes.get()
                    )),
                }
            }
            Pattern::Gather { window, run: lanes, .. } => {
                let unit = run(lanes)?;
                multiple("window", window.get(), "pattern.run x width", unit)?;
                within("window", window.get())
            }
            Pattern::Chase { node, .. } => {
                multiple("node", node.get(), "width", width)?;
                match footprint % node.get() {
                    0 => Ok(()),
                    _ => Err(format!(
                        "footprint ({footprint}) is not a multiple of pattern.node ({})",
                        node.get()
                    )),
                }
            }
            Pattern::Stencil { row: None, plane: Some(_), .. } => {
                Err("pattern.plane needs pattern.row".to_owned())
            }
            Pattern::Stencil { .. } => match self.taps() {
                1..=MAX_TAPS => Ok(()),
                taps => {
                    Err(format!("pattern.radius: {taps} neighbours, and {MAX_TAPS} are the most"))
                }
            },
        }
    }

    /// Its name in a run file.
    pub fn name(&self) -> &'static str {
        match self {
            Pattern::Stream => "Stream",
            Pattern::Blocks => "Blocks",
            Pattern::Stride { .. } => "Stride",
            Pattern::Broadcast { .. } => "Broadcast",
            Pattern::Random { .. } => "Random",
            Pattern::Hot { .. } => "Hot",
            Pattern::Chase { .. } => "Chase",
            Pattern::Stencil { .. } => "Stencil",
            Pattern::Gather { .. } => "Gather",
            Pattern::Zipf { .. } => "Zipf",
        }
    }

    /// Accesses that make one step of the pattern: the neighbours of a stencil, else 1.
    pub fn taps(&self) -> u64 {
        let Pattern::Stencil { radius, row, plane, shape } = self else { return 1 };
        let dimensions = 1 + u32::from(row.is_some()) + u32::from(plane.is_some());
        let radius = u64::from(radius.get());
        match shape {
            StencilShape::Star => 2 * radius * u64::from(dimensions) + 1,
            StencilShape::Box => (2 * radius + 1).pow(dimensions),
        }
    }
}
