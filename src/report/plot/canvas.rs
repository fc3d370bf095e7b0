//! A sheet to draw on: a few shapes and text on a plotters drawing area.

use std::error::Error;

use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, DashedPathElement, Drawable, PathElement, PointCollection};
use plotters::element::{Polygon, Rectangle};
use plotters::prelude::SVGBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, RGBColor};

use crate::report::colour::Colour;
use crate::report::page::{allowed, escape};

use super::font::{self, Weight};
use super::picture::Picture;

/// Plotters' coordinates are whole numbers; this many of them make a pixel of the picture.
const UNIT: f64 = 10.0;
/// Where plotters puts the baseline of a text, below the position that it is given [em].
const BASELINE: f64 = 0.76;

/// Pixels in plotters' coordinates.
pub fn units(pixels: f64) -> i32 {
    (pixels * UNIT).round() as i32
}

/// Plotters' coordinates in pixels.
pub fn pixels(units: i32) -> f64 {
    f64::from(units) / UNIT
}

/// What is drawn into a string cannot fail as a file does.
pub fn drawn<T, E: Error>(result: Result<T, E>) -> T {
    result.expect("drawing into memory does not fail")
}

/// Plotters' name for a colour.
pub fn ink(colour: Colour) -> RGBColor {
    RGBColor(colour.0, colour.1, colour.2)
}

/// Lengths of a dash and of the gap behind it [pixels].
pub type Dashes = (f64, f64);

/// Which point of a text its position names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The left end of its baseline.
    Start,
    /// The middle of its baseline.
    Middle,
    /// The right end of its baseline.
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub struct TextStyle {
    /// Height of a line of letters [pixels].
    pub size: f64,
    /// Weight.
    pub weight: Weight,
    /// Colour.
    pub colour: Colour,
    /// Which point the position names.
    pub anchor: Anchor,
    /// Whether it reads upwards, turned about that point.
    pub upright: bool,
}

/// Regular ink, from the left.
pub const fn text(size: f64) -> TextStyle {
    TextStyle {
        size,
        weight: Weight::Regular,
        colour: Colour::INK,
        anchor: Anchor::Start,
        upright: false,
    }
}

impl TextStyle {
    /// The same, bold.
    pub const fn bold(self) -> Self {
        TextStyle { weight: Weight::Bold, ..self }
    }

    /// The same in another colour.
    pub const fn colour(self, colour: Colour) -> Self {
        TextStyle { colour, ..self }
    }

    /// The same at another anchor.
    pub const fn anchor(self, anchor: Anchor) -> Self {
        TextStyle { anchor, ..self }
    }

    /// The same, reading upwards.
    pub const fn upright(self) -> Self {
        TextStyle { upright: true, ..self }
    }

    /// Width of `content` in this style.
    pub fn width(&self, content: &str) -> f64 {
        font::width(content, self.size, self.weight)
    }

    /// `content`, shortened to `limit`.
    pub fn fit(&self, content: &str, limit: f64) -> String {
        font::fit(content, self.size, self.weight, limit)
    }

    /// For plotters; its position is then [`BASELINE`] above that of this style.
    pub fn plotters(&self) -> plotters::style::TextStyle<'static> {
        let anchor = match self.anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let turn = if self.upright { FontTransform::Rotate270 } else { FontTransform::None };
        font::font(self.size * UNIT, self.weight)
            .transform(turn)
            .color(&ink(self.colour))
            .pos(Pos::new(anchor, VPos::Top))
    }
}

/// A rectangle: left, top, width, height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub w: f64,
    /// Height.
    pub h: f64,
}

impl Area {
    /// Its right edge.
    pub fn right(&self) -> f64 {
        self.x + self.w
    }

    /// Its lower edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.h
    }

    /// Whether it has any place in common with another.
    pub fn meets(&self, other: &Area) -> bool {
        let across = self.x < other.right() && other.x < self.right();
        across && self.y < other.bottom() && other.y < self.bottom()
    }

    /// What is left when the margins are taken off.
    pub fn inside(&self, left: f64, top: f64, right: f64, bottom: f64) -> Area {
        Area {
            x: self.x + left,
            y: self.y + top,
            w: (self.w - left - right).max(1.0),
            h: (self.h - top - bottom).max(1.0),
        }
    }
}

/// A part of a sheet, or all of it, as plotters draws on it.
pub type Sheet<'s> = DrawingArea<SVGBackend<'s>, Shift>;

/// A sheet with a white ground. Positions are in pixels from its upper left corner.
pub struct Canvas<'s> {
    sheet: Sheet<'s>,
}

/// Draws a sheet [pixels], with a description for readers that cannot see it.
pub fn picture(
    (width, height): (f64, f64),
    description: &str,
    draw: impl FnOnce(&Canvas),
) -> Picture {
    let (across, down) = (units(width) as u32, units(height) as u32);
    let mut svg = String::new();
    let sheet = SVGBackend::with_string(&mut svg, (across, down)).into_drawing_area();
    drawn(sheet.fill(&ink(Colour::WHITE)));
    let canvas = Canvas { sheet };
    draw(&canvas);
    drawn(canvas.sheet.present());
    drop(canvas);
    // Plotters makes the picture as large as its coordinates, and describes it to nobody.
    let (_, shapes) = svg.split_once('\n').expect("the root element has a line of its own");
    Picture::new(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {across} {down}\" role=\"img\">\n<title>{}</title>\n{shapes}",
        escape(description),
        shapes = allowed(shapes)
    ))
}

impl<'s> Canvas<'s> {
    /// A part of the sheet, for plotters to draw a chart on.
    pub fn part(&self, area: Area) -> Sheet<'s> {
        let corner = (units(area.x), units(area.y));
        self.sheet.clone().shrink(corner, (units(area.w), units(area.h)))
    }

    fn draw<E>(&self, element: &E)
    where
        for<'b> &'b E: PointCollection<'b, (i32, i32)>,
        E: Drawable<SVGBackend<'s>>,
    {
        drawn(self.sheet.draw(element));
    }

    /// A filled rectangle.
    pub fn rect(&self, area: Area, fill: Colour) {
        let corners = [at((area.x, area.y)), at((area.right(), area.bottom()))];
        self.draw(&Rectangle::new(corners, ink(fill).filled()));
    }

    /// A filled rectangle with round corners.
    pub fn rounded(&self, area: Area, fill: Colour, radius: f64) {
        const STEPS: u32 = 6;
        let inner = area.inside(radius, radius, radius, radius);
        let corners = [
            (inner.right(), inner.bottom()),
            (inner.x, inner.bottom()),
            (inner.x, inner.y),
            (inner.right(), inner.y),
        ];
        let mut outline = Vec::new();
        for (quarter, (x, y)) in corners.into_iter().enumerate() {
            for step in 0..=STEPS {
                let turned = quarter as f64 + f64::from(step) / f64::from(STEPS);
                let (sin, cos) = (turned * std::f64::consts::FRAC_PI_2).sin_cos();
                outline.push(at((x + radius * cos, y + radius * sin)));
            }
        }
        self.draw(&Polygon::new(outline, ink(fill)));
    }

    /// A straight line.
    pub fn line(&self, from: (f64, f64), to: (f64, f64), colour: Colour, width: f64) {
        let style = ink(colour).stroke_width(units(width) as u32);
        self.draw(&PathElement::new(vec![at(from), at(to)], style));
    }

    /// A straight line of dashes.
    pub fn dashed(
        &self,
        from: (f64, f64),
        to: (f64, f64),
        colour: Colour,
        width: f64,
        (dash, gap): Dashes,
    ) {
        let style = ink(colour).stroke_width(units(width) as u32);
        let line = [at(from), at(to)];
        self.draw(&DashedPathElement::new(line, units(dash), units(gap), style));
    }

    /// A filled circle with a white edge.
    pub fn dot(&self, centre: (f64, f64), colour: Colour) {
        for (radius, fill) in DOT {
            let fill = ink(fill.unwrap_or(colour)).filled();
            self.draw(&Circle::new(at(centre), units(radius), fill));
        }
    }

    /// A filled diamond with a white edge.
    pub fn diamond(&self, (x, y): (f64, f64), half: f64, fill: Colour) {
        for (half, fill) in [(half + 1.2, Colour::WHITE), (half - 0.8, fill)] {
            let outline = [(x - half, y), (x, y - half), (x + half, y), (x, y + half)];
            self.draw(&Polygon::new(outline.map(at), ink(fill)));
        }
    }

    /// One line of text.
    pub fn text(&self, content: &str, (x, y): (f64, f64), style: TextStyle) {
        if content.is_empty() {
            return;
        }
        let above = BASELINE * style.size;
        let position = if style.upright { (x - above, y) } else { (x, y - above) };
        drawn(self.sheet.draw_text(content, &style.plotters(), at(position)));
    }
}

/// The circles of a dot: radius, and colour unless it is the dot's own.
pub const DOT: [(f64, Option<Colour>); 2] = [(5.8, Some(Colour::WHITE)), (4.2, None)];

fn at((x, y): (f64, f64)) -> (i32, i32) {
    (units(x), units(y))
}
