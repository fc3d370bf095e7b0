//! Legends, outside of what they explain.

use crate::report::colour::Colour;

use super::canvas::{Canvas, text};
use super::marks::{self, Sign};

/// Size of the letters `[pixels]`.
pub const SIZE: f64 = 16.0;
/// Height of a row `[pixels]`.
pub const ROW: f64 = 26.0;
const GAP: f64 = 26.0;

/// A sign and a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The sign.
    pub sign: Sign,
    /// The sign's colour.
    pub colour: Colour,
    /// The name.
    pub name: String,
}

/// Entries in rows no wider than `width`.
fn rows(entries: &[Entry], width: f64) -> Vec<Vec<&Entry>> {
    let mut rows: Vec<Vec<&Entry>> = Vec::new();
    let mut used = f64::INFINITY;
    for entry in entries {
        let needed = entry.sign.room() + text(SIZE).width(&entry.name) + GAP;
        if used + needed - GAP > width {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += needed;
        rows.last_mut().expect("the first entry opened a row").push(entry);
    }
    rows
}

/// Height of the legend when it may be `width` wide.
pub fn height(entries: &[Entry], width: f64) -> f64 {
    ROW * rows(entries, width).len() as f64
}

/// Draws the legend with its upper left corner at (`left`, `top`).
pub fn draw(canvas: &Canvas, entries: &[Entry], left: f64, top: f64, width: f64) {
    for (row, entries) in rows(entries, width).into_iter().enumerate() {
        let middle = top + ROW * (row as f64 + 0.5);
        let mut x = left;
        for entry in entries {
            marks::sign(canvas, entry.sign, entry.colour, (x, middle));
            let style = text(SIZE);
            canvas.text(&entry.name, (x + entry.sign.room(), middle + 0.36 * SIZE), style);
            x += entry.sign.room() + style.width(&entry.name) + GAP;
        }
    }
}
