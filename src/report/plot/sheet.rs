//! A chart with its words on a sheet of its own.

use crate::report::colour::Colour;

use super::canvas::{self, Area, Canvas, text};
use super::categories::Categories;
use super::chart::{Body, Chart};
use super::legend::{self, Entry};
use super::picture::Picture;

/// Margin around everything `[pixels]`.
pub const MARGIN: f64 = 28.0;
const TITLE: f64 = 24.0;
const SUBTITLE: f64 = 16.0;
const NOTE: f64 = 13.0;
/// Letters of a panel's title are this much smaller.
const PANEL: f64 = 0.8;
const GUTTER: f64 = 40.0;
/// Of a wide chart.
const WIDE: f64 = 1200.0;
/// Of a panel in it.
const PANEL_WIDTH: f64 = (WIDE - 2.0 * MARGIN - GUTTER) / 2.0;

impl Chart {
    /// Draws the chart. The same chart gives the same bytes.
    pub fn picture(&self) -> Picture {
        let (width, height) = self.size();
        let sheet = Area { x: 0.0, y: 0.0, w: width, h: height };
        canvas::picture((width, height), &self.title, |canvas| {
            self.draw(canvas, sheet.inside(MARGIN, MARGIN, MARGIN, MARGIN), 1.0, true);
        })
    }

    /// Wide for many bars and for panels; about 3 to 2 or lower.
    fn size(&self) -> (f64, f64) {
        match &self.body {
            Body::Panels(panels) => {
                let rows = panels.len().div_ceil(2).max(1) as f64;
                let own_legends = shared_legend(panels).is_none();
                let words = panels.iter().map(|panel| panel.words(own_legends));
                // More words make the panels higher.
                let more = (words.fold(0.0, f64::max) - 110.0).max(0.0);
                (WIDE, 130.0 + (360.0 + more) * rows)
            }
            Body::GroupedBars(bars) if bars.categories.len() * bars.series.len() > 16 => {
                (WIDE, 560.0)
            }
            Body::StackedBars(bars) if bars.categories.len() > 8 => (WIDE, 560.0),
            _ => (900.0, 540.0),
        }
    }

    /// Height of what a panel has above and beneath its frame, the titles apart.
    fn words(&self, own_legend: bool) -> f64 {
        let legend = if own_legend { legend::height(&self.legend(), PANEL_WIDTH) } else { 0.0 };
        let (categories, across) = match &self.body {
            Body::GroupedBars(bars) => (&bars.categories[..], &bars.across[..]),
            Body::StackedBars(bars) => (&bars.categories[..], &bars.across[..]),
            _ => (&[][..], ""),
        };
        // Without the room for the values' axis.
        legend + Categories::new(categories, across, 0.85 * PANEL_WIDTH).room()
    }

    fn legend(&self) -> Vec<Entry> {
        match &self.body {
            Body::GroupedBars(bars) => bars.legend(),
            Body::StackedBars(bars) => bars.legend(),
            Body::Lines(lines) => lines.legend(),
            Body::Panels(panels) => shared_legend(panels).unwrap_or_default(),
        }
    }

    fn draw(&self, canvas: &Canvas, area: Area, scale: f64, own_legend: bool) {
        let mut top = area.y;
        if !self.title.is_empty() {
            let style = text(TITLE * scale).bold();
            canvas.text(&style.fit(&self.title, area.w), (area.x, top + 0.8 * style.size), style);
            top += 1.35 * style.size;
        }
        if !self.subtitle.is_empty() {
            let style = text(SUBTITLE).colour(Colour::GREY);
            let baseline = top + 0.85 * style.size;
            canvas.text(&style.fit(&self.subtitle, area.w), (area.x, baseline), style);
            top += 1.6 * style.size;
        }
        let legend = if own_legend { self.legend() } else { Vec::new() };
        if !legend.is_empty() {
            legend::draw(canvas, &legend, area.x, top + 4.0, area.w);
            top += legend::height(&legend, area.w) + 10.0;
        }
        let mut bottom = area.bottom();
        if !self.note.is_empty() {
            let style = text(NOTE).colour(Colour::GREY);
            canvas.text(&style.fit(&self.note, area.w), (area.x, bottom - 2.0), style);
            bottom -= 1.9 * style.size;
        }
        let rest = Area { y: top, h: bottom - top, ..area };
        match &self.body {
            Body::GroupedBars(bars) => bars.draw(canvas, rest),
            Body::StackedBars(bars) => bars.draw(canvas, rest),
            Body::Lines(lines) => lines.draw(canvas, rest),
            Body::Panels(panels) => draw_panels(canvas, rest, panels),
        }
    }
}

/// The legend that every panel would have, if they agree and have one.
fn shared_legend(panels: &[Chart]) -> Option<Vec<Entry>> {
    let first = panels.first()?.legend();
    let agree = !first.is_empty() && panels.iter().all(|panel| panel.legend() == first);
    agree.then_some(first)
}

fn draw_panels(canvas: &Canvas, area: Area, panels: &[Chart]) {
    let own_legends = shared_legend(panels).is_none();
    let rows = panels.len().div_ceil(2).max(1) as f64;
    let w = (area.w - GUTTER) / 2.0;
    let h = (area.h - 18.0 - (rows - 1.0) * 0.7 * GUTTER) / rows;
    for (index, panel) in panels.iter().enumerate() {
        let x = area.x + (w + GUTTER) * (index % 2) as f64;
        let y = area.y + 18.0 + (h + 0.7 * GUTTER) * (index / 2) as f64;
        panel.draw(canvas, Area { x, y, w, h }, PANEL, own_legends);
    }
}
