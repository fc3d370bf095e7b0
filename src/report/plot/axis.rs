//! Axes of values, for plotters: where a value stands, and which ones get ticks.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::report::number;

use super::canvas::text;
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
    format: Format,
    /// The least difference that labels must tell; `None` for as many digits as each value needs.
    step: Option<f64>,
    ticks: Vec<f64>,
}

impl Ruler {
    /// An axis that shows all of `values`, on about `wanted` ticks.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, wanted: usize) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Without a single value the axis still has to be drawn.
        let (least, most) = if values.is_empty() { (0.0, 1.0) } else { (least, most) };
        // Between counts there is nothing to mark.
        let counts = axis.format != Format::Percent
            && !values.is_empty()
            && values.iter().all(|value| value.fract() == 0.0);
        match axis.scale {
            Scale::Linear => Ruler::linear(axis, least, most, wanted, counts),
            Scale::Log2 => Ruler::log2(axis, least, most),
            Scale::Log10 => Ruler::log10(axis, least, most),
        }
    }

    fn linear(axis: &Axis, least: f64, most: f64, wanted: usize, whole: bool) -> Self {
        let close_to_zero = least >= 0.0 && least < 0.35 * most;
        let low = if (axis.from_zero && least > 0.0) || close_to_zero { 0.0 } else { least };
        let high = axis.max.unwrap_or(most.max(if axis.from_zero { 0.0 } else { most }));
        let span = if high > low { high - low } else { high.abs().max(1.0) };
        let step = nice_step(span / wanted.max(1) as f64, whole);
        let first = (low / step + 1e-9).floor();
        let last = match axis.max {
            Some(max) => (max / step + 1e-9).floor(),
            None => ((low + span) / step - 1e-9).ceil(),
        };
        let count = (last - first) as usize;
        Ruler {
            low: first * step,
            high: axis.max.unwrap_or(last * step),
            scale: Scale::Linear,
            format: axis.format,
            step: Some(step),
            ticks: (0..=count).map(|place| (first + place as f64) * step).collect(),
        }
    }

    fn log2(axis: &Axis, least: f64, most: f64) -> Self {
        let first = least.max(f64::MIN_POSITIVE).log2().floor() as i32;
        let last = (axis.max.unwrap_or(most).log2().ceil() as i32).max(first + 1);
        // Ten labels fit; beyond that only every second or third doubling gets one.
        let every = (last - first) / 10 + 1;
        Ruler {
            low: 2f64.powi(first),
            high: 2f64.powi(last),
            scale: Scale::Log2,
            format: axis.format,
            step: None,
            ticks: (first..=last).step_by(every as usize).map(|power| 2f64.powi(power)).collect(),
        }
    }

    fn log10(axis: &Axis, least: f64, most: f64) -> Self {
        let least = least.max(f64::MIN_POSITIVE);
        let most = axis.max.unwrap_or(most).max(2.0 * least);
        let decades = least.log10().floor() as i32..=most.log10().ceil() as i32;
        let steps = decades.flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power)));
        let steps: Vec<f64> = steps.collect();
        let low = steps.iter().copied().rfind(|&step| step <= least * 1.001).unwrap_or(least);
        let high = steps.iter().copied().find(|&step| step >= most * 0.999).unwrap_or(most);
        let within = |step: &f64| (low..=high).contains(step);
        let ticks: Vec<f64> = steps.iter().copied().filter(within).collect();
        let is_power = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
        // Ten labels fit; beyond that only the powers of ten get one.
        let ticks = match ticks.len() {
            ..=10 => ticks,
            _ => ticks.into_iter().filter(is_power).collect(),
        };
        Ruler { low, high, scale: Scale::Log10, format: axis.format, step: None, ticks }
    }

    /// Where `value` stands between the ends: 0 at the low one, 1 at the high one.
    fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log2 | Scale::Log10 => (value / self.low).log2() / (self.high / self.low).log2(),
        }
    }

    /// Width of the widest tick label.
    pub fn widest(&self) -> f64 {
        let labels = self.ticks.iter().map(|tick| self.format_ext(tick));
        labels.map(|label| text(TICK).width(&label)).fold(0.0, f64::max)
    }
}

/// An axis of a plotters chart. What lies outside is put at the edge.
impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let place = self.place(*value).clamp(0.0, 1.0);
        start + (place * f64::from(end - start)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format_ext(&self, &value: &f64) -> String {
        if self.scale == Scale::Log2 && self.format == Format::Prefixed && value >= 1024.0 {
            return number::binary(value, "");
        }
        tick_text(self.format, value, self.step.unwrap_or(value))
    }
}

/// The least of 1, 2, 2.5, 5 times a power of ten that is not below `least`; the least whole one of these with `whole`.
fn nice_step(least: f64, whole: bool) -> f64 {
    let least = if whole { least.max(1.0) } else { least };
    let power = 10f64.powf(least.log10().floor());
    let mut steps = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|step| step * power);
    let nice = steps.find(|step| *step >= least * 0.999 && !(whole && step.fract() > 0.0));
    nice.unwrap_or(10.0 * power)
}

/// `value` with as many decimals as `step` needs.
fn tick_text(format: Format, value: f64, step: f64) -> String {
    let (shown, step, unit) = match format {
        Format::Percent => (100.0 * value, 100.0 * step, " %"),
        Format::Prefixed if value.abs() >= 1000.0 || number::is_small(step) => {
            let text = number::si(value, "");
            let (digits, prefix) = text.split_once(' ').expect("a space before the prefix");
            let digits = match digits.split_once('.') {
                Some(_) => digits.trim_end_matches('0').trim_end_matches('.'),
                None => digits,
            };
            return format!("{digits} {prefix}").trim_end().to_owned();
        }
        Format::Plain | Format::Prefixed => (value, step, ""),
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
        ruler.ticks.iter().map(|tick| ruler.format_ext(tick)).collect()
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
        assert_eq!(labels(&prefixed, &[0.0, 2.1]), ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"]);
        let small = labels(&prefixed, &[0.0, 2.61e-5]);
        assert_eq!(small, ["0", "10 µ", "20 µ", "30 µ"]);
        assert_eq!(labels(&Axis::log2(""), &[4.0, 32.0]), ["4", "8", "16", "32"]);
        let doubled = Axis { format: Format::Prefixed, ..Axis::log2("") };
        assert_eq!(labels(&doubled, &[512.0, 2048.0]), ["512", "1 Ki", "2 Ki"]);
        assert_eq!(labels(&Axis::log10(""), &[700.0, 4.1e3]), ["500", "1 k", "2 k", "5 k"]);
        let far = labels(&Axis::log10(""), &[1.2, 3e6]);
        assert_eq!(far, ["1", "10", "100", "1 k", "10 k", "100 k", "1 M"]);
        let far = labels(&doubled, &[2f64.powi(19), 2f64.powi(72)]);
        assert_eq!((far[0].as_str(), far.last().unwrap().as_str()), ("512 Ki", "128 Ei"));
    }

    #[test]
    fn between_counts_there_are_no_ticks() {
        let prefixed = Axis { format: Format::Prefixed, ..Axis::new("") };
        assert_eq!(labels(&prefixed, &[1.0, 2.0, 4.0]), ["0", "1", "2", "3", "4"]);
        assert_eq!(labels(&Axis::new(""), &[1.0, 12.0]), ["0", "5", "10", "15"]);
        assert_eq!(labels(&Axis::percent(""), &[0.0, 1.0])[1], "20 %");
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
