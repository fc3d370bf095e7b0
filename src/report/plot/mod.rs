//! Pictures: charts described as data, and the stall breakdown of a run.
//!
//! A [`Chart`] says what is shown; [`Chart::picture`] draws it, once, with plotters, as SVG, and the
//! PNG is made of that SVG: plotters' own pixels have ragged letters and unsmoothed shapes. Text is laid
//! out with an embedded font, so that pictures have the same bytes everywhere.

mod axis;
mod bars;
mod canvas;
mod categories;
mod chart;
mod font;
mod frame;
mod kernels;
mod legend;
mod lines;
mod marks;
mod picture;
mod sheet;
mod stalls;

pub use chart::{
    Axis, BarSeries, Body, Chart, Format, GroupedBars, LineSeries, Lines, Scale, StackedBars,
};
pub use picture::Picture;
pub use stalls::stalls;

#[cfg(test)]
mod tests;
