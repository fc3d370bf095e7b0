//! Charts of bars.

use plotters::coord::ranged1d::Ranged;
use plotters::element::Rectangle;
use plotters::series::DashedLineSeries;
use plotters::style::Color;

use crate::report::colour::{self, Colour, known_look};

use super::axis::{HEADROOM, Ruler};
use super::canvas::{Anchor, Area, Canvas, ink, text, units};
use super::categories::Categories;
use super::chart::{Axis, BarSeries, GroupedBars, StackedBars};
use super::frame::{self, Frame, Margins};
use super::legend::Entry;
use super::marks::{self, Sign};

/// Size of the values written at bars `[pixels]`.
const VALUE: f64 = 14.0;
/// Height of their digits `[pixels]`.
const DIGIT: f64 = 0.8 * VALUE;
/// The widest that a bar gets `[pixels]`.
const WIDEST: f64 = 96.0;

/// The colours of series: their own, else those of reasons where all are reasons of ledgers, else in order. Colours of both kinds
/// together would not stay apart.
fn colours(series: &[BarSeries]) -> Vec<Colour> {
    let reason = |series: &BarSeries| known_look(&series.name).map(|look| look.colour);
    let are_reasons = series.iter().all(|one| one.colour.is_some() || reason(one).is_some());
    let of_one = |(index, one): (usize, &BarSeries)| {
        let found = one.colour.or_else(|| reason(one).filter(|_| are_reasons));
        found.unwrap_or(colour::series(index))
    };
    series.iter().enumerate().map(of_one).collect()
}

fn entries(series: &[BarSeries]) -> impl Iterator<Item = Entry> {
    let named = series.iter().zip(colours(series)).filter(|(series, _)| !series.name.is_empty());
    named.map(|(series, colour)| Entry { sign: Sign::Square, colour, name: series.name.clone() })
}

fn values(series: &[BarSeries]) -> impl Iterator<Item = f64> {
    series
        .iter()
        .flat_map(|series| series.values.iter().chain(&series.reference))
        .flatten()
        .copied()
}

impl GroupedBars {
    pub(super) fn legend(&self) -> Vec<Entry> {
        let mut entries: Vec<_> = entries(&self.series).collect();
        if self.series.iter().any(|series| series.reference.iter().any(Option::is_some)) {
            let name = match self.reference_name.as_str() {
                "" => "reference".to_owned(),
                name => name.to_owned(),
            };
            entries.push(Entry { sign: Sign::Reference, colour: Colour::INK, name });
        }
        entries
    }

    pub(super) fn draw(&self, canvas: &Canvas, area: Area) {
        let all = values(&self.series).chain(self.baseline).chain([0.0]);
        let ruler = Ruler::new(&self.y, all, 5);
        let count = self.series.len().max(1) as f64;
        let width = area.w - frame::room(&ruler, &self.y);
        let slot = width / self.categories.len().max(1) as f64;
        let bar = (0.86 * slot / count).min(WIDEST);
        let labels = |value: f64| self.y.format.value(value);
        let widest =
            values(&self.series).map(|value| text(VALUE).width(&labels(value))).fold(0.0, f64::max);
        // Values that are wider than their bars stand upright.
        let upright = widest > bar - 2.0;
        // They are left out where one would stand on the next.
        let value_labels = self.value_labels && (!upright || bar >= DIGIT);
        let top = match (value_labels, upright) {
            (false, _) => HEADROOM,
            (true, false) => HEADROOM + VALUE,
            (true, true) => HEADROOM + widest,
        };
        // Bars that hang from zero have their values below.
        let hanging = value_labels && values(&self.series).any(|value| value < 0.0);
        let below = if hanging { top } else { 0.0 };
        let categories = Categories::new(&self.categories, &self.across, width);
        let high = ruler.range().end;
        let margins = Margins { top, right: 0.0, bottom: below };
        let y = (ruler, &self.y);
        let mut frame = Frame::new(canvas, area, margins, categories.room(), categories.axis(), y);
        if let Some(level) = self.baseline {
            let line = [(0.0, level), (self.categories.len() as f64, level)];
            let style = ink(Colour::GREY).stroke_width(units(1.5) as u32);
            frame.draw(DashedLineSeries::new(line, units(5.0), units(4.0), style));
        }
        // Lengths along x in slots.
        let step = bar / slot;
        let colours = colours(&self.series);
        let gap = units((0.06 * bar).clamp(0.5, 3.0)) as u32;
        for category in 0..self.categories.len() {
            let left = category as f64 + 0.5 - step * count / 2.0;
            for (index, (series, &colour)) in self.series.iter().zip(&colours).enumerate() {
                let x = left + step * index as f64;
                let middle = x + step / 2.0;
                let (value, reference) = (series.value(category), series.reference(category));
                if let Some(value) = value {
                    let fill = ink(colour).filled();
                    let mut column = Rectangle::new([(x, 0.0), (x + step, value)], fill);
                    column.set_margin(0, 0, gap, gap);
                    frame.draw([column]);
                }
                let reference = reference.map(|reference| frame.at((middle, reference)));
                if let Some(place) = reference {
                    marks::reference(canvas, place, 0.46 * bar);
                }
                if let Some(value) = value
                    && value_labels
                {
                    let more = if value > high { "↑" } else { "" };
                    let label = ValueLabel {
                        text: format!("{}{more}", self.y.format.value(value)),
                        upright,
                        below: value < 0.0,
                        limit: bar,
                    };
                    let mark = reference.map(|(_, y)| y);
                    label.draw(canvas, frame.at((middle, value)), mark);
                }
            }
        }
        let area = frame.area();
        let (_, zero) = frame.at((0.0, 0.0));
        if zero < area.bottom() {
            canvas.line((area.x, zero), (area.right(), zero), Colour::GREY, 1.5);
        }
        categories.draw(canvas, &frame, area.bottom() + below);
    }
}

/// A value at the end of its bar.
struct ValueLabel {
    text: String,
    upright: bool,
    /// Whether the bar hangs from zero.
    below: bool,
    /// Room across the bar that is its own.
    limit: f64,
}

impl ValueLabel {
    /// Writes it at the bar's `end`, clear of the mark that may stand there.
    fn draw(&self, canvas: &Canvas, (x, end): (f64, f64), mark: Option<f64>) {
        let style = text(VALUE);
        let length = style.width(&self.text);
        let (across, along) = if self.upright { (VALUE, length) } else { (length, DIGIT) };
        // Away from the bar is up, or down for a bar that hangs from zero.
        let away = if self.below { 1.0 } else { -1.0 };
        let mut near = end + 5.0 * away;
        if let Some(mark) = mark {
            let distance = (mark - near) * away;
            if (-11.0..along + 9.0).contains(&distance) {
                near = mark + 9.0 * away;
            }
        }
        let lower = if self.below { near + along } else { near };
        plate(canvas, (x, lower), (across.min(self.limit - 2.0), along));
        // A text's position is its lower edge, or its left one, which is the lower one upright.
        if self.upright {
            canvas.text(&self.text, (x + 0.36 * VALUE, lower), style.upright());
        } else {
            canvas.text(&self.text, (x, lower), style.anchor(Anchor::Middle));
        }
    }
}

/// White behind a label, so that no line runs through it; (`x`, `lower`) is the middle of its lower edge.
fn plate(canvas: &Canvas, (x, lower): (f64, f64), (width, height): (f64, f64)) {
    let area = Area { x: x - width / 2.0, y: lower - height, w: width, h: height };
    canvas.rect(area.inside(-1.0, -1.0, -1.0, -2.0), Colour::WHITE);
}

/// A part of a stack.
struct Layer {
    fill: Colour,
    /// Where it begins and ends along y.
    ends: (f64, f64),
    /// Its share of the stack.
    label: String,
}

impl Layer {
    /// Whether its label has room between its ends, at these places in the picture.
    fn is_high_enough((top, bottom): (f64, f64)) -> bool {
        bottom - top >= VALUE + 5.0
    }
}

impl StackedBars {
    pub(super) fn legend(&self) -> Vec<Entry> {
        let mut entries: Vec<_> = entries(&self.parts).collect();
        // In the order in which the parts lie on each other, the highest first.
        entries.reverse();
        entries
    }

    /// `None` where no part has a value.
    fn sum(&self, category: usize) -> Option<f64> {
        self.parts.iter().filter_map(|part| part.value(category)).reduce(|sum, value| sum + value)
    }

    /// The parts of a stack from below; none where it has no sum.
    fn layers(&self, category: usize, colours: &[Colour]) -> Vec<Layer> {
        let Some(sum) = self.sum(category) else { return Vec::new() };
        let scale = if self.normalise && sum > 0.0 { 1.0 / sum } else { 1.0 };
        let mut below = 0.0;
        let parts = self.parts.iter().zip(colours);
        let valued = parts.filter_map(|(part, &fill)| Some((part.value(category)?, fill)));
        let layer = |(value, fill)| {
            let ends = (scale * below, scale * (below + value));
            below += value;
            let share = if sum > 0.0 { value / sum } else { 0.0 };
            Layer { fill, ends, label: format!("{:.0} %", 100.0 * share) }
        };
        valued.map(layer).collect()
    }

    pub(super) fn draw(&self, canvas: &Canvas, area: Area) {
        let sums: Vec<_> = (0..self.categories.len()).map(|index| self.sum(index)).collect();
        let axis =
            if self.normalise { Axis { max: Some(1.0), ..self.y.clone() } } else { self.y.clone() };
        let highest = sums.iter().flatten().map(|&sum| if self.normalise { 1.0 } else { sum });
        let ruler = Ruler::new(&axis, highest.chain([0.0]), 5);
        let room = area.w - frame::room(&ruler, &axis);
        let slot = room / self.categories.len().max(1) as f64;
        // They are left out where one would stand on the next.
        let label_width = |sum: &f64| text(VALUE).bold().width(&axis.format.value(*sum));
        let fit = sums.iter().flatten().map(label_width).fold(0.0, f64::max) <= slot - 4.0;
        let sum_labels = self.sum_labels && !self.normalise && fit;
        let top = HEADROOM + if sum_labels { VALUE } else { 0.0 };
        let categories = Categories::new(&self.categories, &self.across, room);
        let margins = Margins { top, ..Margins::default() };
        let mut frame =
            Frame::new(canvas, area, margins, categories.room(), categories.axis(), (ruler, &axis));
        let width = (0.66 * slot).min(1.3 * WIDEST);
        let half = 0.5 * width / slot;
        let colours = colours(&self.parts);
        let stacks = || (0..sums.len()).map(|category| self.layers(category, &colours));
        // Either all shares that are high enough are written, or none: small ones are narrower, and alone they would mislead.
        let shares_fit = stacks().enumerate().all(|(category, layers)| {
            let at = |end: f64| frame.at((category as f64 + 0.5, end)).1;
            layers.iter().all(|layer| {
                !Layer::is_high_enough((at(layer.ends.1), at(layer.ends.0)))
                    || text(VALUE).width(&layer.label) < width - 6.0
            })
        });
        for (category, (sum, layers)) in sums.iter().zip(stacks()).enumerate() {
            let &Some(sum) = sum else { continue };
            let middle = category as f64 + 0.5;
            for Layer { fill, ends, label } in layers {
                let (_, bottom) = frame.at((middle, ends.0));
                let (x, top) = frame.at((middle, ends.1));
                let corners = [(middle - half, ends.0), (middle + half, ends.1)];
                let mut column = Rectangle::new(corners, ink(fill).filled());
                if bottom - top > 3.0 {
                    // A white seam between parts, as long as it leaves something of the part.
                    column.set_margin(0, units(1.0) as u32, 0, 0);
                }
                frame.draw([column]);
                if shares_fit && Layer::is_high_enough((top, bottom)) {
                    let style = text(VALUE).anchor(Anchor::Middle).colour(fill.text_on());
                    canvas.text(&label, (x, (top + bottom - 1.0) / 2.0 + 0.36 * VALUE), style);
                }
            }
            if sum_labels {
                let style = text(VALUE).bold().anchor(Anchor::Middle);
                let label = axis.format.value(sum);
                let (x, top) = frame.at((middle, sum));
                plate(canvas, (x, top - 6.0), (style.width(&label), DIGIT));
                canvas.text(&label, (x, top - 6.0), style);
            }
        }
        categories.draw(canvas, &frame, frame.area().bottom());
    }
}
