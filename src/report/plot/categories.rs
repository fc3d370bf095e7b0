//! Categories along the x axis.

use plotters::coord::types::RangedCoordf64;

use crate::report::colour::Colour;

use super::axis::LABEL;
use super::canvas::{Anchor, Canvas, text};
use super::font;
use super::frame::Frame;

/// The longest that an upright label gets [pixels].
const LONGEST: f64 = 170.0;
/// From one line of a label to the next [pixels].
const LINE: f64 = 1.25 * LABEL;
/// The most lines that a label gets before it is set upright.
const MOST_LINES: usize = 3;

/// Equal slots for categories along x: the first from 0 to 1, the next from 1 to 2.
pub struct Categories<'a> {
    names: &'a [String],
    /// Lines of every name; `None` if one does not fit into its slot, so that all stand upright.
    lines: Option<Vec<Vec<&'a str>>>,
    /// Beneath them all: what they are; empty for none.
    title: &'a str,
}

/// `name` in lines no wider than `width`, broken behind spaces and marks, if that can be.
fn wrap(name: &str, width: f64) -> Option<Vec<&str>> {
    let mut lines = Vec::new();
    let mut rest = name.trim();
    while !rest.is_empty() {
        let marks = rest.char_indices().filter(|(_, letter)| " _-./,=".contains(*letter));
        let mut ends = marks.map(|(mark, _)| mark + 1).chain([rest.len()]);
        let fits = |&end: &usize| text(LABEL).width(rest[..end].trim_end()) <= width;
        let (line, after) = rest.split_at(ends.rfind(fits)?);
        lines.push(line.trim_end());
        rest = after.trim_start();
    }
    (lines.len() <= MOST_LINES).then_some(lines)
}

impl<'a> Categories<'a> {
    /// Slots for `names` in a frame about `width` wide, and their `title`, empty for none.
    pub fn new(names: &'a [String], title: &'a str, width: f64) -> Self {
        let slot = width / names.len().max(1) as f64;
        let lines = names.iter().map(|name| wrap(name, slot - 8.0)).collect();
        Categories { names, lines, title }
    }

    /// The axis for plotters.
    pub fn axis(&self) -> RangedCoordf64 {
        (0.0..self.names.len().max(1) as f64).into()
    }

    /// Room that names and title need beneath the frame.
    pub fn room(&self) -> f64 {
        self.names_room() + if self.title.is_empty() { 0.0 } else { LABEL + 8.0 }
    }

    fn names_room(&self) -> f64 {
        match &self.lines {
            Some(lines) => {
                let most = lines.iter().map(Vec::len).max().unwrap_or(1).max(1);
                LABEL + 14.0 + LINE * (most - 1) as f64
            }
            None => {
                let widths = self.names.iter().map(|name| text(LABEL).width(name));
                widths.fold(0.0, f64::max).min(LONGEST) + 12.0
            }
        }
    }

    /// The base line at `bottom`, the names, and the title.
    pub fn draw(&self, canvas: &Canvas, frame: &Frame<RangedCoordf64>, bottom: f64) {
        let area = frame.area();
        canvas.line((area.x, bottom), (area.right(), bottom), Colour::GREY, 1.5);
        if !self.title.is_empty() {
            let style = text(LABEL).anchor(Anchor::Middle);
            let place = (area.x + area.w / 2.0, bottom + self.names_room() + LABEL);
            canvas.text(&style.fit(self.title, area.w), place, style);
        }
        for (index, name) in self.names.iter().enumerate() {
            let (x, _) = frame.at((index as f64 + 0.5, 0.0));
            match &self.lines {
                Some(lines) => {
                    let style = text(LABEL).anchor(Anchor::Middle);
                    for (number, line) in lines[index].iter().enumerate() {
                        let y = bottom + LABEL + 6.0 + LINE * number as f64;
                        canvas.text(line, (x, y), style);
                    }
                }
                None => {
                    let style = text(LABEL).anchor(Anchor::End).upright();
                    // Names often differ at their ends.
                    let name = font::fit_end(name, style.size, style.weight, LONGEST);
                    canvas.text(&name, (x + 0.36 * LABEL, bottom + 8.0), style);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_broken_where_they_may_be() {
        assert_eq!(wrap("kernel 12", 100.0).unwrap(), ["kernel 12"]);
        assert_eq!(wrap("kernel 12", 60.0).unwrap(), ["kernel", "12"]);
        let lines = wrap("l1.mshr_mergers = 256", 85.0).unwrap();
        assert_eq!(lines, ["l1.mshr_", "mergers", "= 256"]);
        assert_eq!(wrap("unbreakable", 60.0), None);
        assert_eq!(wrap("one two three four", 50.0), None, "more lines than there is room for");
        assert_eq!(wrap("", 60.0).unwrap(), [""; 0]);
    }
}
