//! Categories along the x axis.

use crate::report::colour::Colour;

use super::axis::LABEL;
use super::canvas::{Anchor, Area, Canvas, text};
use super::font;

/// Turn of labels that are too wide to stand side by side `[degrees]`.
const TURN: f64 = -32.0;
/// The longest that a turned label gets `[pixels]`.
const LONGEST: f64 = 190.0;

/// Equal slots for categories along x.
pub struct Categories<'a> {
    names: &'a [String],
    turned: bool,
}

impl<'a> Categories<'a> {
    /// Slots for `names` in a frame about `width` wide.
    pub fn new(names: &'a [String], width: f64) -> Self {
        let slot = width / names.len().max(1) as f64;
        let turned = names.iter().any(|name| text(LABEL).width(name) > slot - 8.0);
        Categories { names, turned }
    }

    /// Room that the labels need beneath the frame.
    pub fn room(&self) -> f64 {
        if !self.turned {
            return LABEL + 14.0;
        }
        let widest =
            self.names.iter().map(|name| text(LABEL).width(name)).fold(0.0, f64::max).min(LONGEST);
        widest * -TURN.to_radians().sin() + LABEL + 12.0
    }

    /// Width of one slot.
    pub fn slot(&self, frame: Area) -> f64 {
        frame.w / self.names.len().max(1) as f64
    }

    /// The middle of a slot.
    pub fn middle(&self, frame: Area, index: usize) -> f64 {
        frame.x + self.slot(frame) * (index as f64 + 0.5)
    }

    /// The base line and the names.
    pub fn draw(&self, canvas: &mut Canvas, frame: Area) {
        let bottom = frame.bottom();
        canvas.line((frame.x, bottom), (frame.right(), bottom), Colour::GREY, 1.5, "");
        for (index, name) in self.names.iter().enumerate() {
            let x = self.middle(frame, index);
            if self.turned {
                let style = text(LABEL).anchor(Anchor::End).turned(TURN);
                // Names often differ at their ends; the first ones must not leave the sheet.
                let limit = LONGEST.min((x - 4.0) / TURN.to_radians().cos());
                let name = font::fit_end(name, style.size, style.weight, limit);
                canvas.text(&name, (x + 6.0, bottom + LABEL + 2.0), style);
            } else {
                let style = text(LABEL).anchor(Anchor::Middle);
                canvas.text(name, (x, bottom + LABEL + 6.0), style);
            }
        }
    }
}
