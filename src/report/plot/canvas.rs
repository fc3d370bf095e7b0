//! A sheet to draw on: a few shapes and text, kept as SVG.

use std::fmt::Write as _;

use crate::report::colour::Colour;

use super::font::{self, Weight};
use super::picture::Picture;

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
    /// Height of a line of letters `[pixels]`.
    pub size: f64,
    /// Weight.
    pub weight: Weight,
    /// Colour.
    pub colour: Colour,
    /// Which point the position names.
    pub anchor: Anchor,
    /// Turned about that point, clockwise `[degrees]`.
    pub turn: f64,
    /// Whether a white rim sets it off from lines behind it.
    pub halo: bool,
}

/// Regular ink, from the left.
pub const fn text(size: f64) -> TextStyle {
    TextStyle {
        size,
        weight: Weight::Regular,
        colour: Colour::INK,
        anchor: Anchor::Start,
        turn: 0.0,
        halo: false,
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

    /// The same, turned clockwise by `turn` degrees.
    pub const fn turned(self, turn: f64) -> Self {
        TextStyle { turn, ..self }
    }

    /// The same with a white rim.
    pub const fn halo(self) -> Self {
        TextStyle { halo: true, ..self }
    }

    /// Width of `content` in this style.
    pub fn width(&self, content: &str) -> f64 {
        font::width(content, self.size, self.weight)
    }

    /// `content`, shortened to `limit`.
    pub fn fit(&self, content: &str, limit: f64) -> String {
        font::fit(content, self.size, self.weight, limit)
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

/// A sheet with a white ground.
pub struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

/// A coordinate with two decimals at most, so that files are small and the same everywhere.
fn n(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0;
    // Adding zero makes of -0 a 0.
    format!("{}", rounded + 0.0)
}

fn escape(content: &str) -> String {
    content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Canvas {
    /// An empty sheet `[pixels]`.
    pub fn new(width: f64, height: f64) -> Self {
        let mut canvas = Canvas { width, height, body: String::new() };
        canvas.rect(Area { x: 0.0, y: 0.0, w: width, h: height }, Colour::WHITE);
        canvas
    }

    fn push(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }

    /// A filled rectangle.
    pub fn rect(&mut self, area: Area, fill: Colour) {
        self.rounded(area, fill, 0.0);
    }

    /// A filled rectangle with round corners.
    pub fn rounded(&mut self, area: Area, fill: Colour, radius: f64) {
        let Area { x, y, w, h } = area;
        let corner = if radius > 0.0 { format!(" rx=\"{}\"", n(radius)) } else { String::new() };
        self.push(&format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{corner} fill=\"{}\"/>",
            n(x),
            n(y),
            n(w.max(0.0)),
            n(h.max(0.0)),
            fill.hex()
        ));
    }

    /// A straight line; `dashes` as in SVG, empty for none.
    pub fn line(
        &mut self,
        (x1, y1): (f64, f64),
        (x2, y2): (f64, f64),
        colour: Colour,
        width: f64,
        dashes: &str,
    ) {
        self.path(&[(x1, y1), (x2, y2)], colour, width, dashes);
    }

    /// Straight lines from point to point; `dashes` as in SVG, empty for none.
    pub fn path(&mut self, points: &[(f64, f64)], colour: Colour, width: f64, dashes: &str) {
        let dashes = match dashes {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        };
        self.push(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" \
             stroke-linejoin=\"round\"{dashes}/>",
            list(points),
            colour.hex(),
            n(width)
        ));
    }

    /// A filled shape with a white edge, which sets it off from what lies below.
    pub fn shape(&mut self, points: &[(f64, f64)], fill: Colour) {
        self.push(&format!(
            "<polygon points=\"{}\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"1.5\"/>",
            list(points),
            fill.hex()
        ));
    }

    /// A filled circle with a white edge.
    pub fn dot(&mut self, (x, y): (f64, f64), radius: f64, fill: Colour) {
        self.push(&format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" stroke=\"#ffffff\" \
             stroke-width=\"1.5\"/>",
            n(x),
            n(y),
            n(radius),
            fill.hex()
        ));
    }

    /// One line of text.
    ///
    /// Its length is written into the file, so that a viewer with another font keeps the layout.
    pub fn text(&mut self, content: &str, (x, y): (f64, f64), style: TextStyle) {
        if content.is_empty() {
            return;
        }
        let mut extra = String::new();
        match style.anchor {
            Anchor::Start => {}
            Anchor::Middle => extra.push_str(" text-anchor=\"middle\""),
            Anchor::End => extra.push_str(" text-anchor=\"end\""),
        }
        if style.weight == Weight::Bold {
            extra.push_str(" font-weight=\"bold\"");
        }
        if style.halo {
            extra.push_str(
                " stroke=\"#ffffff\" stroke-width=\"4\" stroke-linejoin=\"round\" \
                 paint-order=\"stroke\"",
            );
        }
        if style.turn != 0.0 {
            let _ = write!(extra, " transform=\"rotate({} {} {})\"", n(style.turn), n(x), n(y));
        }
        self.push(&format!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" textLength=\"{}\" \
             lengthAdjust=\"spacingAndGlyphs\"{extra}>{}</text>",
            n(x),
            n(y),
            n(style.size),
            style.colour.hex(),
            n(style.width(content)),
            escape(content)
        ));
    }

    /// The finished picture, with a description for readers that cannot see it.
    pub fn finish(self, description: &str) -> Picture {
        let (width, height) = (n(self.width), n(self.height));
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{}\" role=\"img\">\n\
             <title>{}</title>\n{}</svg>\n",
            font::FAMILIES,
            escape(description),
            self.body
        );
        Picture::new(svg)
    }
}

fn list(points: &[(f64, f64)]) -> String {
    points.iter().map(|&(x, y)| format!("{},{}", n(x), n(y))).collect::<Vec<_>>().join(" ")
}
