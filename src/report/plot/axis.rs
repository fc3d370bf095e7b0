//! Ticks, and where a value stands.

use crate::report::colour::Colour;
use crate::report::number;

use super::canvas::{Anchor, Area, Canvas, text};
use super::chart::{Axis, Format, Scale};

/// Size of tick labels `[pixels]`.
pub const TICK: f64 = 15.0;
/// Size of axis labels `[pixels]`.
pub const LABEL: f64 = 16.0;
/// Room above the frame, which the highest tick's label and value labels may use `[pixels]`.
pub const HEADROOM: f64 = 12.0;

/// An axis with its range settled.
pub struct Ruler {
    low: f64,
    high: f64,
    scale: Scale,
    /// Values that get a tick, in order, as (value, text).
    pub ticks: Vec<(f64, String)>,
}

impl Ruler {
    /// An axis that shows all of `values`, on about `wanted` ticks.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, wanted: usize) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Without a single value the axis still has to be drawn.
        let (least, most) = if values.is_empty() { (0.0, 1.0) } else { (least, most) };
        match axis.scale {
            Scale::Linear => Ruler::linear(axis, least, most, wanted),
            Scale::Log2 => Ruler::log2(axis, least, most),
        }
    }

    fn linear(axis: &Axis, least: f64, most: f64, wanted: usize) -> Self {
        let close_to_zero = least >= 0.0 && least < 0.35 * most;
        let low = if (axis.from_zero && least > 0.0) || close_to_zero { 0.0 } else { least };
        let high = axis.max.unwrap_or(most.max(if axis.from_zero { 0.0 } else { most }));
        let span = if high > low { high - low } else { high.abs().max(1.0) };
        let step = nice_step(span / wanted.max(1) as f64);
        let first = (low / step + 1e-9).floor();
        let last = match axis.max {
            Some(max) => (max / step + 1e-9).floor(),
            None => ((low + span) / step - 1e-9).ceil(),
        };
        let count = (last - first) as usize;
        let ticks = (0..=count)
            .map(|place| {
                let value = (first + place as f64) * step;
                (value, tick_text(axis.format, value, step))
            })
            .collect();
        let high = axis.max.unwrap_or(last * step);
        Ruler { low: first * step, high, scale: Scale::Linear, ticks }
    }

    fn log2(axis: &Axis, least: f64, most: f64) -> Self {
        let first = least.max(f64::MIN_POSITIVE).log2().floor() as i32;
        let last = (axis.max.unwrap_or(most).log2().ceil() as i32).max(first + 1);
        // Ten labels fit; beyond that only every second or third doubling gets one.
        let every = (last - first) / 10 + 1;
        let ticks = (first..=last)
            .step_by(every as usize)
            .map(|power| {
                let value = 2f64.powi(power);
                (value, tick_text(axis.format, value, value))
            })
            .collect();
        Ruler { low: 2f64.powi(first), high: 2f64.powi(last), scale: Scale::Log2, ticks }
    }

    /// Where `value` stands between the ends: 0 at the low one, 1 at the high one.
    pub fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log2 => (value / self.low).log2() / (self.high / self.low).log2(),
        }
    }

    /// Whether `value` lies beyond the high end.
    pub fn exceeds(&self, value: f64) -> bool {
        value > self.high
    }

    /// The height of `value` in `frame`; what lies outside is put at the edge.
    pub fn y(&self, frame: Area, value: f64) -> f64 {
        frame.bottom() - frame.h * self.place(value).clamp(0.0, 1.0)
    }

    /// The distance of `value` from the left in `frame`; what lies outside is put at the edge.
    pub fn x(&self, frame: Area, value: f64) -> f64 {
        frame.x + frame.w * self.place(value).clamp(0.0, 1.0)
    }

    /// Room that the labels of a vertical axis need to the left of the frame.
    pub fn room(&self, axis: &Axis) -> f64 {
        let widest =
            self.ticks.iter().map(|(_, label)| text(TICK).width(label)).fold(0.0, f64::max);
        let label = if axis.label.is_empty() { 0.0 } else { LABEL + 12.0 };
        widest + 10.0 + label
    }

    /// Grid lines, tick labels and the turned axis label to the left of `frame`.
    pub fn draw_vertical(&self, canvas: &mut Canvas, frame: Area, axis: &Axis) {
        for (value, label) in &self.ticks {
            let y = self.y(frame, *value);
            canvas.line((frame.x, y), (frame.right(), y), Colour::LINE, 1.0, "");
            let style = text(TICK).anchor(Anchor::End).colour(Colour::GREY);
            canvas.text(label, (frame.x - 9.0, y + 0.36 * TICK), style);
        }
        let x = frame.x - self.room(axis) + LABEL - 2.0;
        let style = text(LABEL).anchor(Anchor::Middle).turned(-90.0);
        let label = style.fit(&axis.label, frame.h + 2.0 * HEADROOM);
        canvas.text(&label, (x, frame.y + frame.h / 2.0), style);
    }

    /// Tick labels and the axis label beneath `frame`.
    pub fn draw_horizontal(&self, canvas: &mut Canvas, frame: Area, axis: &Axis) {
        for (value, label) in &self.ticks {
            let x = self.x(frame, *value);
            let bottom = frame.bottom();
            canvas.line((x, bottom), (x, bottom + 5.0), Colour::GREY, 1.0, "");
            let style = text(TICK).anchor(Anchor::Middle).colour(Colour::GREY);
            canvas.text(label, (x, bottom + 9.0 + TICK), style);
        }
        let style = text(LABEL).anchor(Anchor::Middle);
        let middle = frame.x + frame.w / 2.0;
        canvas.text(&axis.label, (middle, frame.bottom() + 2.0 * TICK + LABEL + 4.0), style);
    }
}

/// The least of 1, 2, 2.5, 5 times a power of ten that is not below `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let nice = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|&step| step * power >= least * 0.999);
    nice.unwrap_or(10.0) * power
}

/// `value` with as many decimals as `step` needs.
fn tick_text(format: Format, value: f64, step: f64) -> String {
    let (shown, step, unit) = match format {
        Format::Percent => (100.0 * value, 100.0 * step, " %"),
        Format::Prefixed => {
            let text = number::si(value, "");
            let (digits, prefix) = text.split_once(' ').expect("a space before the prefix");
            let digits = match digits.split_once('.') {
                Some(_) => digits.trim_end_matches('0').trim_end_matches('.'),
                None => digits,
            };
            return format!("{digits} {prefix}").trim_end().to_owned();
        }
        Format::Plain => (value, step, ""),
    };
    let decimals = (0..6).find(|&d| {
        let scaled = step * 10f64.powi(d);
        (scaled - scaled.round()).abs() < 1e-6 * scaled
    });
    let decimals = decimals.unwrap_or(6) as usize;
    if decimals == 0 && shown >= 0.0 {
        return format!("{}{unit}", number::thousands(shown.round() as u64));
    }
    format!("{shown:.decimals$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64]) -> Vec<String> {
        let ruler = Ruler::new(axis, values.iter().copied(), 5);
        ruler.ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        assert_eq!(
            labels(&Axis::new(""), &[0.0, 0.93]),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels(&Axis::new(""), &[0.0, 1234.0]),
            ["0", "250", "500", "750", "1,000", "1,250"]
        );
        assert_eq!(
            labels(&Axis::percent(""), &[0.1, 0.31]),
            ["0 %", "10 %", "20 %", "30 %", "40 %"]
        );
        let prefixed = Axis { format: Format::Prefixed, ..Axis::new("") };
        assert_eq!(
            labels(&prefixed, &[0.0, 1.2e6]),
            ["0", "250 k", "500 k", "750 k", "1 M", "1.25 M"]
        );
        assert_eq!(labels(&Axis::log2(""), &[4.0, 32.0]), ["4", "8", "16", "32"]);
    }

    #[test]
    fn an_axis_without_values_or_with_equal_ones_has_a_range() {
        for values in [&[][..], &[5.0, 5.0], &[0.0], &[-3.0]] {
            let ruler = Ruler::new(&Axis::new(""), values.iter().copied(), 5);
            assert!(ruler.high > ruler.low, "{values:?}");
            assert!(ruler.place(1.0).is_finite());
        }
    }
}
