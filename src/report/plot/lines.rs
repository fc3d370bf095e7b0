//! Charts of lines.

use plotters::element::{Circle, EmptyElement};
use plotters::series::DashedLineSeries;
use plotters::style::Color;

use crate::report::colour::{self, Colour};

use super::axis::{HEADROOM, Ruler};
use super::canvas::{Area, Canvas, DOT, ink, text, units};
use super::chart::{LineSeries, Lines};
use super::frame::{Frame, Margins};
use super::legend::Entry;
use super::marks::{self, Sign};

/// Points beyond this many get no dots: the line is the data.
const MOST_DOTS: usize = 40;

fn colour(series: &LineSeries, index: usize) -> Colour {
    series.colour.unwrap_or(colour::series(series.beside.unwrap_or(index)))
}

fn has_dots(series: &LineSeries) -> bool {
    !series.dashed && (series.scattered || series.points.len() <= MOST_DOTS)
}

/// The names of points, none of which stands on another name or on a dot.
struct Names(Vec<Area>);

impl Names {
    /// Of points among these dots.
    fn among(dots: impl Iterator<Item = (f64, f64)>) -> Self {
        let [(radius, _), _] = DOT;
        let size = 2.0 * radius;
        Names(dots.map(|(x, y)| Area { x: x - radius, y: y - radius, w: size, h: size }).collect())
    }

    /// Writes `name` beside the point at `(x, y)`, on the side where there is room in `frame`, if there is.
    fn write(&mut self, canvas: &Canvas, (x, y): (f64, f64), name: &str, frame: Area) {
        const SIZE: f64 = 12.0;
        const AWAY: f64 = 9.0;
        let style = text(SIZE).colour(Colour::GREY);
        let w = style.width(name);
        let area = |x| Area { x, y: y - 0.5 * SIZE, w, h: SIZE };
        let is_free = |area: &Area| {
            let is_in = area.x >= frame.x && area.right() <= frame.right();
            is_in && !self.0.iter().any(|other| other.meets(area))
        };
        let Some(place) = [area(x + AWAY), area(x - AWAY - w)].into_iter().find(is_free) else {
            return;
        };
        canvas.rect(place, Colour::WHITE);
        canvas.text(name, (place.x, y + 0.36 * SIZE), style);
        self.0.push(place);
    }
}

impl Lines {
    pub(super) fn legend(&self) -> Vec<Entry> {
        let named = self.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty());
        named
            .map(|(index, series)| Entry {
                sign: match () {
                    () if series.beside.is_some() => Sign::Diamonds,
                    () if series.dashed => Sign::Dashes,
                    () if has_dots(series) => Sign::Dots,
                    () => Sign::Line,
                },
                colour: colour(series, index),
                name: series.name.clone(),
            })
            .collect()
    }

    pub(super) fn draw(&self, canvas: &Canvas, area: Area) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let y = Ruler::new(&self.y, points().map(|&(_, y)| y), 5);
        let x = Ruler::new(&self.x, points().map(|&(x, _)| x), 8);
        // The last label along x is centred on the frame's edge and needs half its width beyond it.
        let margins = Margins { top: HEADROOM, right: 24.0, bottom: 0.0 };
        let mut frame = Frame::of_values(canvas, area, margins, (x, &self.x), (y, &self.y));
        let is_named = |series: &&LineSeries| !series.names.is_empty();
        let dots = self.series.iter().filter(is_named).flat_map(|series| &series.points);
        let mut names =
            Names::among(dots.map(|point| frame.at(*point)).collect::<Vec<_>>().into_iter());
        // What was measured lies over what it is held against.
        let (under, over): (Vec<_>, Vec<_>) =
            self.series.iter().enumerate().partition(|(_, series)| series.dashed);
        for (index, series) in under.into_iter().chain(over) {
            let finite = |&&(x, y): &&(f64, f64)| x.is_finite() && y.is_finite();
            let points: Vec<_> = series.points.iter().filter(finite).copied().collect();
            let named = series.points.iter().zip(&series.names).filter(|(point, _)| finite(point));
            for (point, name) in named {
                names.write(canvas, frame.at(*point), name, frame.area());
            }
            let colour = colour(series, index);
            let style = ink(colour).stroke_width(units(2.5) as u32);
            if series.dashed {
                let line = points.iter().copied();
                frame.draw(DashedLineSeries::new(line, units(7.0), units(5.0), style));
                if series.beside.is_some() {
                    points
                        .iter()
                        .for_each(|&point| marks::diamond(canvas, frame.at(point), colour));
                }
                continue;
            }
            if !series.scattered {
                frame.draw(plotters::series::LineSeries::new(points.iter().copied(), style));
            }
            if has_dots(series) {
                let circle = |(radius, fill): (f64, Option<Colour>)| {
                    let fill = ink(fill.unwrap_or(colour)).filled();
                    Circle::new((0, 0), units(radius), fill)
                };
                let [edge, inside] = DOT;
                frame.draw(
                    points
                        .into_iter()
                        .map(|point| EmptyElement::at(point) + circle(edge) + circle(inside)),
                );
            }
        }
    }
}
