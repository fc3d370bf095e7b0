//! What a study shows: its figures and its tables, as a study file describes them.
//!
//! A *metric* is a path into a run's `report.json`: `totals.cycles`, `ledgers.lsu.parts.nomerger`. A
//! list takes a place from 0 (`kernels.0.totals.cycles`) or a `*` for the sum over its entries
//! (`components.sm.*.store_accesses`). A name at the end of a path may end in `*`, which sums all names that
//! begin so (`ledgers.issue.parts.lsu_*`); several paths with ` + ` between them are summed.
//!
//! A *place* names points on axes by their labels: `{"workload.element": "Char"}`. Axes that a place
//! leaves out have their first point.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::run::name;

/// Labels of points, by the names of their axes.
pub type Place = BTreeMap<String, String>;

/// A picture of one or more panels, written as SVG and PNG.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name of the files in the result folder, without extension; letters as in the study's name.
    #[serde(deserialize_with = "name")]
    pub file: String,
    /// Above the picture.
    pub title: String,
    /// Beneath the picture: where the numbers come from.
    #[serde(default)]
    pub note: String,
    /// Side by side, two in a row.
    pub panels: Vec<Panel>,
}

/// One chart, of bars or lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Above the panel; not needed when it is the only one.
    #[serde(default)]
    pub title: String,
    /// What the values are, with their unit.
    pub y: String,
    /// The axis whose points stand along x.
    pub across: String,
    /// Those of its points that do, in this order; all of them when empty.
    #[serde(default)]
    pub only: Vec<String>,
    /// The values of each point along x.
    pub bars: Bars,
    /// How they are drawn.
    #[serde(default)]
    pub draw: Draw,
    /// Points of the other axes.
    #[serde(default)]
    pub at: Place,
    /// Divides each value by the one at this place; axes that it leaves out are as at the value's own.
    #[serde(default)]
    pub relative_to: Option<Place>,
    /// Shows the parts of a stacked bar as shares of their sum.
    #[serde(default)]
    pub shares: bool,
    /// Shows the reciprocal: performance instead of time.
    #[serde(default)]
    pub inverse: bool,
    /// How values are written.
    #[serde(default)]
    pub format: NumberFormat,
    /// Somebody else's values, marked at the bars.
    #[serde(default)]
    pub reference: Option<Reference>,
}

/// How a panel shows its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Draw {
    /// As bars.
    #[default]
    Bars,
    /// As lines over the numbers that the points along x are, one for each bar, with a dot for each value.
    Lines(Spacing),
    /// As lines from point to point, in their order, over another metric of the same runs.
    Curve {
        /// What that is, with its unit.
        x: String,
        /// The metric.
        metric: String,
        /// How it is written.
        #[serde(default)]
        format: NumberFormat,
    },
}

/// Where numbers along x stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spacing {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart; every number is above zero.
    Log2,
}

/// The bars of one point along x.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Bars {
    /// One bar.
    One(String),
    /// A bar for each point of another axis.
    Axis {
        /// The axis.
        name: String,
        /// The metric.
        metric: String,
    },
    /// One bar made of several metrics, the first at the bottom.
    Stack(Vec<StackPart>),
}

/// A part of a stacked bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackPart {
    /// Its name in the legend.
    pub name: String,
    /// What it shows.
    pub metric: String,
}

/// Somebody else's values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Whose.
    pub name: String,
    /// By label of the point along x, where it has one bar.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
    /// By label of the bar and then of the point along x, where the bars are the points of an axis.
    #[serde(default)]
    pub bars: BTreeMap<String, BTreeMap<String, f64>>,
}

/// How values are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NumberFormat {
    /// About three digits.
    #[default]
    Plain,
    /// A share of one as a percentage.
    Percent,
    /// With a decimal prefix from a thousand on.
    Prefixed,
}

/// Values of the study beside values from elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Above the table.
    pub title: String,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// One quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What it is.
    pub what: String,
    /// The metric.
    pub metric: String,
    /// Where.
    pub at: Place,
    /// How it is shown.
    #[serde(default)]
    pub show: Show,
    /// What others have, by their names, in their words.
    #[serde(default)]
    pub others: BTreeMap<String, String>,
}

/// How a quantity is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Show {
    /// As it is.
    #[default]
    Value,
    /// Its change against another place: -24 % when it is 0.76 times as large.
    Change {
        /// The other place.
        against: Place,
    },
    /// The change of speed when the metric is a time: -50 % when it takes twice as long.
    Speed {
        /// The other place.
        against: Place,
    },
    /// How many times as fast when the metric is a time: 2.00 times when it takes half as long.
    Times {
        /// The other place.
        against: Place,
    },
    /// What it is more than at another place.
    Difference {
        /// The other place.
        against: Place,
    },
}
