//! What a chart shows, said without a word on how it is drawn.

use crate::report::colour::Colour;
use crate::report::number;

/// A chart with its words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Above the chart; empty for none.
    pub title: String,
    /// Beneath the title, in grey; empty for none.
    pub subtitle: String,
    /// Beneath the chart, small: where the numbers come from; empty for none.
    pub note: String,
    /// What is drawn.
    pub body: Body,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Bars side by side, in groups.
    GroupedBars(GroupedBars),
    /// One bar a category, made of parts.
    StackedBars(StackedBars),
    /// Lines through points.
    Lines(Lines),
    /// Charts side by side, two in a row. Legends that agree become one above them all.
    Panels(Vec<Chart>),
}

impl Default for Body {
    fn default() -> Self {
        Body::Panels(Vec::new())
    }
}

/// Categories along x, and for each of them one bar a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupedBars {
    /// Names of the groups.
    pub categories: Vec<String>,
    /// Beneath the categories: what they are; empty for none.
    pub across: String,
    /// The bars of every group.
    pub series: Vec<BarSeries>,
    /// The values' axis; zero is always on it.
    pub y: Axis,
    /// Whether each bar's value is written above it, where there is room for all.
    pub value_labels: bool,
    /// What [`field@BarSeries::reference`] is called in the legend: `paper`, `GTX 480`.
    pub reference_name: String,
    /// A level to compare with, drawn across.
    pub baseline: Option<f64>,
}

/// Bars of one colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarSeries {
    /// Its name in the legend; empty for none.
    pub name: String,
    /// By category; `None` where there is no value.
    pub values: Vec<Option<f64>>,
    /// By category, a value from elsewhere that is marked at the bar; may be empty or shorter.
    pub reference: Vec<Option<f64>>,
    /// Its colour; `None` for that of the ledger's reason of this name, else the palette's next one.
    pub colour: Option<Colour>,
}

impl BarSeries {
    /// A series that has every value and no reference.
    pub fn new(name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        BarSeries {
            name: name.into(),
            values: values.into_iter().map(Some).collect(),
            ..BarSeries::default()
        }
    }

    /// The value at a category; `None` where there is none or it is no number.
    pub(super) fn value(&self, category: usize) -> Option<f64> {
        self.values.get(category).copied().flatten().filter(|value| value.is_finite())
    }

    /// The reference at a category; `None` where there is none or it is no number.
    pub(super) fn reference(&self, category: usize) -> Option<f64> {
        self.reference.get(category).copied().flatten().filter(|value| value.is_finite())
    }

    /// The same with references.
    pub fn with_reference(self, reference: Vec<Option<f64>>) -> Self {
        BarSeries { reference, ..self }
    }

    /// The same in `colour`.
    pub fn with_colour(self, colour: Colour) -> Self {
        BarSeries { colour: Some(colour), ..self }
    }
}

/// Categories along x, and one bar for each: its parts on top of each other, the first at the bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackedBars {
    /// Names of the bars.
    pub categories: Vec<String>,
    /// Beneath the categories: what they are; empty for none.
    pub across: String,
    /// The parts of every bar.
    pub parts: Vec<BarSeries>,
    /// The values' axis; it starts at zero.
    pub y: Axis,
    /// Whether every bar is stretched to 100 %.
    pub normalise: bool,
    /// Whether each bar's sum is written above it, unless normalised.
    pub sum_labels: bool,
}

/// Lines through points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// The first coordinate's axis.
    pub x: Axis,
    /// The second coordinate's axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<LineSeries>,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineSeries {
    /// Its name in the legend; empty for none.
    pub name: String,
    /// Its points, in the order in which they are joined.
    pub points: Vec<(f64, f64)>,
    /// What its first points are called, written beside them where there is room; may be shorter, and a name may be empty.
    pub names: Vec<String>,
    /// Whether it is dashed: a model, a bound, somebody else's numbers.
    pub dashed: bool,
    /// Whether there are dots only: points without an order.
    pub scattered: bool,
    /// Its colour; `None` for that of `beside`, else the next one of the palette.
    pub colour: Option<Colour>,
    /// The line, by its place among all, of which these are somebody else's values: they have diamonds.
    pub beside: Option<usize>,
}

/// One axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it measures, with the unit: `mean latency [core cycles]`.
    pub label: String,
    /// How values are written.
    pub format: Format,
    /// How values become distances.
    pub scale: Scale,
    /// Where the axis ends; `None` for just above the largest value.
    pub max: Option<f64>,
    /// Whether zero must be on the axis although no value is near it. Bars always start there.
    pub from_zero: bool,
}

impl Axis {
    /// A linear axis of plain numbers.
    pub fn new(label: impl Into<String>) -> Self {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// A linear axis of shares of one, written as percentages.
    pub fn percent(label: impl Into<String>) -> Self {
        Axis { format: Format::Percent, ..Axis::new(label) }
    }

    /// An axis on which each step doubles the value.
    pub fn log2(label: impl Into<String>) -> Self {
        Axis { scale: Scale::Log2, ..Axis::new(label) }
    }

    /// An axis on which each step multiplies the value, with decimal prefixes.
    pub fn log10(label: impl Into<String>) -> Self {
        Axis { scale: Scale::Log10, format: Format::Prefixed, ..Axis::new(label) }
    }

    /// The same, ending at `max`.
    pub fn to(self, max: f64) -> Self {
        Axis { max: Some(max), ..self }
    }

    /// The same, with zero on it.
    pub fn from_zero(self) -> Self {
        Axis { from_zero: true, ..self }
    }
}

/// How values become distances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally far apart.
    #[default]
    Linear,
    /// Equal ratios are equally far apart; every value is positive. Ticks are powers of two.
    Log2,
    /// The same, with ticks at one, two and five times powers of ten.
    Log10,
}

/// How values are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// About three digits.
    #[default]
    Plain,
    /// A share of one as a percentage.
    Percent,
    /// With a decimal prefix from a thousand on, and below a tenth: `1.2 M`, `26.1 µ`.
    Prefixed,
}

impl Format {
    /// `value` as written at a bar.
    pub fn value(self, value: f64) -> String {
        match self {
            Format::Plain => number::short(value),
            Format::Percent => format!("{:.1} %", 100.0 * value),
            Format::Prefixed if value.abs() >= 999.5 || number::is_small(value) => {
                number::si(value, "")
            }
            Format::Prefixed => number::short(value),
        }
    }
}
