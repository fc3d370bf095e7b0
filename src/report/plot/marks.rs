//! Small signs that mark a value or stand in a legend.

use crate::report::colour::Colour;

use super::canvas::{Area, Canvas};

/// The sign before a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sign {
    /// A filled square.
    Square,
    /// A line.
    Line,
    /// A line with a dot.
    Dots,
    /// A dashed line.
    Dashes,
    /// A dashed line with a diamond.
    Diamonds,
    /// The mark of a reference value.
    Reference,
}

impl Sign {
    /// Room for the sign and the gap to its name.
    pub fn room(self) -> f64 {
        match self {
            Sign::Square => 24.0,
            Sign::Line | Sign::Dots | Sign::Dashes | Sign::Diamonds | Sign::Reference => 35.0,
        }
    }
}

/// The mark of a reference value: a diamond on a line across the bar.
pub fn reference(canvas: &Canvas, (x, y): (f64, f64), half_width: f64) {
    canvas.line((x - half_width, y), (x + half_width, y), Colour::WHITE, 5.0);
    canvas.line((x - half_width, y), (x + half_width, y), Colour::INK, 2.0);
    canvas.diamond((x, y), 6.0_f64.min(half_width), Colour::INK);
}

/// The mark of a reference value on a line.
pub fn diamond(canvas: &Canvas, place: (f64, f64), colour: Colour) {
    canvas.diamond(place, 8.0, Colour::WHITE);
    canvas.diamond(place, 6.0, colour);
}

/// The sign of a legend entry; (`x`, `y`) is the middle of its left edge.
pub fn sign(canvas: &Canvas, sign: Sign, colour: Colour, (x, y): (f64, f64)) {
    let end = (x + 26.0, y);
    match sign {
        Sign::Square => {
            canvas.rounded(Area { x, y: y - 7.5, w: 15.0, h: 15.0 }, colour, 2.0);
        }
        Sign::Line => canvas.line((x, y), end, colour, 3.0),
        Sign::Dots => {
            canvas.line((x, y), end, colour, 3.0);
            canvas.dot((x + 13.0, y), colour);
        }
        Sign::Dashes => canvas.dashed((x, y), end, colour, 3.0, (6.0, 4.0)),
        Sign::Diamonds => {
            canvas.dashed((x, y), end, colour, 3.0, (6.0, 4.0));
            diamond(canvas, (x + 13.0, y), colour);
        }
        Sign::Reference => reference(canvas, (x + 13.0, y), 13.0),
    }
}
