//! Charts of lines.

use crate::report::colour::{Colour, SERIES};

use super::axis::{HEADROOM, LABEL, Ruler, TICK};
use super::canvas::{Area, Canvas};
use super::chart::{LineSeries, Lines};
use super::legend::{Entry, Sign};

/// Points beyond this many get no dots: the line is the data.
const MOST_DOTS: usize = 40;

fn colour(series: &LineSeries, index: usize) -> Colour {
    series.colour.unwrap_or(SERIES[index % SERIES.len()])
}

fn has_dots(series: &LineSeries) -> bool {
    !series.dashed && series.points.len() <= MOST_DOTS
}

impl Lines {
    pub(super) fn legend(&self) -> Vec<Entry> {
        let named = self.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty());
        named
            .map(|(index, series)| Entry {
                sign: match () {
                    () if series.dashed => Sign::Dashes,
                    () if has_dots(series) => Sign::Dots,
                    () => Sign::Line,
                },
                colour: colour(series, index),
                name: series.name.clone(),
            })
            .collect()
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, area: Area) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let y = Ruler::new(&self.y, points().map(|&(_, y)| y), 5);
        let x = Ruler::new(&self.x, points().map(|&(x, _)| x), 8);
        let label = if self.x.label.is_empty() { 0.0 } else { LABEL + 8.0 };
        // The last label along x is centred on the frame's edge and needs half its width beyond it.
        let frame = area.inside(y.room(&self.y), HEADROOM, 24.0, 2.0 * TICK + label);
        y.draw_vertical(canvas, frame, &self.y);
        let bottom = frame.bottom();
        canvas.line((frame.x, bottom), (frame.right(), bottom), Colour::GREY, 1.5, "");
        x.draw_horizontal(canvas, frame, &self.x);
        for (index, series) in self.series.iter().enumerate() {
            let place = |&(px, py): &(f64, f64)| (x.x(frame, px), y.y(frame, py));
            let finite = |&&(px, py): &&(f64, f64)| px.is_finite() && py.is_finite();
            let path: Vec<_> = series.points.iter().filter(finite).map(place).collect();
            if path.is_empty() {
                continue;
            }
            let colour = colour(series, index);
            canvas.path(&path, colour, 2.5, if series.dashed { "7 5" } else { "" });
            if has_dots(series) {
                for &point in &path {
                    canvas.dot(point, 5.0, colour);
                }
            }
        }
    }
}
