//! Charts of bars.

use crate::report::colour::{Colour, SERIES, known_look};

use super::axis::{HEADROOM, Ruler};
use super::canvas::{Anchor, Area, Canvas, text};
use super::categories::Categories;
use super::chart::{Axis, BarSeries, GroupedBars, StackedBars};
use super::legend::{Entry, Sign};
use super::marks;

/// Size of the values written at bars `[pixels]`.
const VALUE: f64 = 14.0;
/// The widest that a bar gets `[pixels]`.
const WIDEST: f64 = 96.0;

fn colour(series: &BarSeries, index: usize) -> Colour {
    let own = series.colour.or_else(|| known_look(&series.name).map(|look| look.colour));
    own.unwrap_or(SERIES[index % SERIES.len()])
}

fn entries(series: &[BarSeries]) -> impl Iterator<Item = Entry> {
    series.iter().enumerate().filter(|(_, series)| !series.name.is_empty()).map(
        |(index, series)| Entry {
            sign: Sign::Square,
            colour: colour(series, index),
            name: series.name.clone(),
        },
    )
}

fn values(series: &[BarSeries]) -> impl Iterator<Item = f64> {
    series
        .iter()
        .flat_map(|series| series.values.iter().chain(&series.reference))
        .flatten()
        .copied()
}

/// The frame that `axis` and `categories` leave of `area`.
fn frame(area: Area, ruler: &Ruler, axis: &Axis, names: &[String], top: f64) -> Area {
    let left = ruler.room(axis);
    let bottom = Categories::new(names, area.w - left).room();
    area.inside(left, top, 0.0, bottom)
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

    pub(super) fn draw(&self, canvas: &mut Canvas, area: Area) {
        let all = values(&self.series).chain(self.baseline).chain([0.0]);
        let ruler = Ruler::new(&self.y, all, 5);
        let count = self.series.len().max(1) as f64;
        let slot = (area.w - ruler.room(&self.y)) / self.categories.len().max(1) as f64;
        let bar = (0.86 * slot / count).min(WIDEST);
        let labels = |value: f64| self.y.format.value(value);
        let widest =
            values(&self.series).map(|value| text(VALUE).width(&labels(value))).fold(0.0, f64::max);
        // Values that are wider than their bars stand upright.
        let upright = widest > bar - 2.0;
        let top = match (self.value_labels, upright) {
            (false, _) => HEADROOM,
            (true, false) => HEADROOM + VALUE,
            (true, true) => HEADROOM + widest,
        };
        // Bars that hang from zero have their values below.
        let hanging = self.value_labels && values(&self.series).any(|value| value < 0.0);
        let below = if hanging { top } else { 0.0 };
        let whole = frame(area, &ruler, &self.y, &self.categories, top);
        let frame = whole.inside(0.0, 0.0, 0.0, below);
        let categories = Categories::new(&self.categories, frame.w);
        ruler.draw_vertical(canvas, frame, &self.y);
        if let Some(level) = self.baseline {
            let y = ruler.y(frame, level);
            canvas.line((frame.x, y), (frame.right(), y), Colour::GREY, 1.5, "5 4");
        }
        let zero = ruler.y(frame, 0.0);
        for category in 0..self.categories.len() {
            let left = categories.middle(frame, category) - bar * count / 2.0;
            for (index, series) in self.series.iter().enumerate() {
                let x = left + bar * index as f64;
                let (value, reference) = (series.value(category), series.reference(category));
                if let Some(value) = value {
                    let y = ruler.y(frame, value);
                    let gap = (0.06 * bar).clamp(0.5, 3.0);
                    let column = Area {
                        x: x + gap,
                        y: y.min(zero),
                        w: bar - 2.0 * gap,
                        h: (y - zero).abs(),
                    };
                    canvas.rect(column, colour(series, index));
                }
                if let Some(reference) = reference {
                    let y = ruler.y(frame, reference);
                    marks::reference(canvas, (x + bar / 2.0, y), 0.46 * bar);
                }
                if let Some(value) = value
                    && self.value_labels
                {
                    let more = if ruler.exceeds(value) { "↑" } else { "" };
                    let label = format!("{}{more}", self.y.format.value(value));
                    let y = ruler.y(frame, value);
                    let mark = reference.map(|reference| ruler.y(frame, reference));
                    let below = value < 0.0;
                    value_label(canvas, &label, (x + bar / 2.0, y), mark, upright, below);
                }
            }
        }
        if zero < frame.bottom() {
            canvas.line((frame.x, zero), (frame.right(), zero), Colour::GREY, 1.5, "");
        }
        categories.draw(canvas, whole);
    }
}

/// Writes a value at the end of its bar, clear of the mark that may stand there.
fn value_label(
    canvas: &mut Canvas,
    label: &str,
    (x, end): (f64, f64),
    mark: Option<f64>,
    upright: bool,
    below: bool,
) {
    let style = text(VALUE).halo();
    let room = if upright { style.width(label) } else { VALUE };
    // Away from the bar is up, or down for a bar that hangs from zero.
    let away = if below { 1.0 } else { -1.0 };
    let mut near = end + 5.0 * away;
    if let Some(mark) = mark {
        let distance = (mark - near) * away;
        if (-11.0..room + 6.0).contains(&distance) {
            near = mark + 9.0 * away;
        }
    }
    // A text's position is its lower edge, or its left one, which is the lower one when it is turned.
    let lower = if below { near + if upright { room } else { 0.8 * room } } else { near };
    if upright {
        canvas.text(label, (x + 0.36 * VALUE, lower), style.turned(-90.0));
    } else {
        canvas.text(label, (x, lower), style.anchor(Anchor::Middle));
    }
}

impl StackedBars {
    pub(super) fn legend(&self) -> Vec<Entry> {
        let mut entries: Vec<_> = entries(&self.parts).collect();
        // In the order in which the parts lie on each other, the highest first.
        entries.reverse();
        entries
    }

    fn sum(&self, category: usize) -> f64 {
        self.parts.iter().filter_map(|part| part.value(category)).sum()
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, area: Area) {
        let sums: Vec<f64> = (0..self.categories.len()).map(|index| self.sum(index)).collect();
        let axis =
            if self.normalise { Axis { max: Some(1.0), ..self.y.clone() } } else { self.y.clone() };
        let highest = sums.iter().copied().map(|sum| if self.normalise { 1.0 } else { sum });
        let ruler = Ruler::new(&axis, highest.chain([0.0]), 5);
        let sum_labels = self.sum_labels && !self.normalise;
        let top = HEADROOM + if sum_labels { VALUE } else { 0.0 };
        let frame = frame(area, &ruler, &axis, &self.categories, top);
        let categories = Categories::new(&self.categories, frame.w);
        ruler.draw_vertical(canvas, frame, &axis);
        let width = (0.66 * categories.slot(frame)).min(1.3 * WIDEST);
        for (category, &sum) in sums.iter().enumerate() {
            let middle = categories.middle(frame, category);
            let scale = if self.normalise && sum > 0.0 { 1.0 / sum } else { 1.0 };
            let mut below = 0.0;
            for (index, part) in self.parts.iter().enumerate() {
                let Some(value) = part.value(category) else { continue };
                let bottom = ruler.y(frame, scale * below);
                below += value;
                let y = ruler.y(frame, scale * below);
                // A white seam between parts, as long as it leaves something of the part.
                let seam = if bottom - y > 3.0 { 1.0 } else { 0.0 };
                let column = Area { x: middle - width / 2.0, y, w: width, h: bottom - y - seam };
                let fill = colour(part, index);
                canvas.rect(column, fill);
                let share = if sum > 0.0 { value / sum } else { 0.0 };
                let label = format!("{:.0} %", 100.0 * share);
                let style = text(VALUE).anchor(Anchor::Middle).colour(fill.text_on());
                if column.h >= VALUE + 4.0 && style.width(&label) < width - 6.0 {
                    canvas.text(&label, (middle, y + column.h / 2.0 + 0.36 * VALUE), style);
                }
            }
            if sum_labels {
                let style = text(VALUE).bold().anchor(Anchor::Middle).halo();
                canvas.text(&axis.format.value(sum), (middle, ruler.y(frame, sum) - 6.0), style);
            }
        }
        categories.draw(canvas, frame);
    }
}
