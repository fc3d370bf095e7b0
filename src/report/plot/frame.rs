//! The axes of a chart, drawn by plotters, and the room between them.

use plotters::chart::{ChartBuilder, ChartContext, LabelAreaPosition};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::SVGBackend;
use plotters::style::{Color, RGBAColor};

use crate::report::colour::Colour;

use super::axis::{HEADROOM, LABEL, Ruler, TICK};
use super::canvas::{Anchor, Area, Canvas, drawn, ink, pixels, text, units};
use super::chart::Axis;

/// Length of a tick [pixels]; a label stands twice as far from its axis.
const MARK: f64 = 5.0;
/// Plotters centres a label on half the height of an x, but digits are higher [em].
const CENTRE: f64 = 0.11;
const NOTHING: RGBAColor = RGBAColor(0, 0, 0, 0.0);

/// Room that is left free around the axes' labels [pixels].
#[derive(Clone, Copy, Debug, Default)]
pub struct Margins {
    /// Above.
    pub top: f64,
    /// To the right.
    pub right: f64,
    /// Below.
    pub bottom: f64,
}

/// The room that a vertical axis needs to the left of a frame.
pub fn room(ruler: &Ruler, axis: &Axis) -> f64 {
    let label = if axis.label.is_empty() { 0.0 } else { LABEL + 12.0 };
    ruler.widest() + 2.0 * MARK + label
}

/// The room between the axes, in the coordinates of the values.
pub struct Frame<'s, X: Ranged<ValueType = f64>> {
    chart: ChartContext<'s, SVGBackend<'s>, Cartesian2d<X, Ruler>>,
}

impl<'s> Frame<'s, Ruler> {
    /// A frame with two axes of values.
    pub fn of_values(
        canvas: &Canvas<'s>,
        area: Area,
        margins: Margins,
        (x, x_axis): (Ruler, &Axis),
        (y, y_axis): (Ruler, &Axis),
    ) -> Self {
        let label = if x_axis.label.is_empty() { 0.0 } else { LABEL + 8.0 };
        let below = 2.0 * TICK + label;
        let mut frame = Frame::new(canvas, area, margins, below, x, (y, y_axis));
        let label = text(LABEL).fit(&x_axis.label, frame.area().w);
        let mut mesh = frame.chart.configure_mesh();
        mesh.disable_mesh()
            .disable_y_axis()
            .axis_style(ink(Colour::GREY).stroke_width(units(1.5) as u32))
            .x_label_style(text(TICK).colour(Colour::GREY).plotters())
            .axis_desc_style(text(LABEL).anchor(Anchor::Middle).plotters())
            .set_tick_mark_size(LabelAreaPosition::Bottom, units(MARK));
        if !x_axis.label.is_empty() {
            mesh.x_desc(label);
        }
        drawn(mesh.draw());
        frame
    }
}

impl<'s, X: Ranged<ValueType = f64>> Frame<'s, X> {
    /// A frame with a vertical axis of values; `below` is the room for labels of the other one.
    pub fn new(
        canvas: &Canvas<'s>,
        area: Area,
        margins: Margins,
        below: f64,
        x: X,
        (y, axis): (Ruler, &Axis),
    ) -> Self
    where
        X: ValueFormatter<f64>,
    {
        let left = room(&y, axis);
        let chart = ChartBuilder::on(&canvas.part(area))
            .margin_top(units(margins.top))
            .margin_right(units(margins.right))
            .margin_bottom(units(margins.bottom))
            .x_label_area_size(units(below))
            .y_label_area_size(units(left))
            .build_cartesian_2d(x, y);
        let mut frame = Frame { chart: drawn(chart) };
        let style = text(LABEL).anchor(Anchor::Middle);
        let label = style.fit(&axis.label, frame.area().h + 2.0 * HEADROOM);
        let mut mesh = frame.chart.configure_mesh();
        mesh.disable_x_mesh()
            .disable_x_axis()
            .axis_style(NOTHING)
            .bold_line_style(ink(Colour::LINE).stroke_width(units(1.0) as u32))
            .y_label_style(text(TICK).colour(Colour::GREY).plotters())
            .y_label_offset(units(CENTRE * TICK))
            .axis_desc_style(style.plotters())
            .set_tick_mark_size(LabelAreaPosition::Left, units(MARK));
        if !label.is_empty() {
            mesh.y_desc(label);
        }
        drawn(mesh.draw());
        frame
    }

    /// Where the frame is on the sheet.
    pub fn area(&self) -> Area {
        let (across, down) = self.chart.plotting_area().get_pixel_range();
        let (x, y) = (pixels(across.start), pixels(down.start));
        Area { x, y, w: pixels(across.end) - x, h: pixels(down.end) - y }
    }

    /// Where a value is on the sheet.
    pub fn at(&self, value: (f64, f64)) -> (f64, f64) {
        let (x, y) = self.chart.backend_coord(&value);
        (pixels(x), pixels(y))
    }

    /// Draws elements that have their places as values.
    pub fn draw<E>(&mut self, elements: impl IntoIterator<Item = E>)
    where
        for<'b> &'b E: PointCollection<'b, (f64, f64)>,
        E: Drawable<SVGBackend<'s>>,
    {
        drawn(self.chart.draw_series(elements));
    }
}
