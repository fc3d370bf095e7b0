//! What of a stall breakdown is about single kernels: bars of each launch, and when kernels ran that did at the same time.

use crate::gpu::ConcurrentKernel;
use crate::report::KernelReport;
use crate::report::colour::{self, Colour};
use crate::report::number::{counted, thousands};

use super::canvas::{Anchor, Area, Canvas, text};
use super::stalls::{INNER, MARGIN, WIDTH, shares, stacked_bar};

/// Kernels that get bars of their own.
const MOST_KERNELS: usize = 8;
const ROW: f64 = 27.0;
const TITLE: f64 = 56.0;
const LABEL: f64 = 176.0;
const GAP: f64 = 14.0;

/// What so many rows take.
fn height(rows: usize) -> f64 {
    match rows {
        0 => 0.0,
        rows => TITLE + ROW * rows.min(MOST_KERNELS) as f64 + 18.0,
    }
}

/// `the first 8 of 20 launches`, or `3 launches`.
fn in_words(count: usize, what: &str) -> String {
    match count {
        count if count > MOST_KERNELS => format!("the first {MOST_KERNELS} of {count} {what}"),
        count => format!("{count} {what}"),
    }
}

fn title(canvas: &Canvas, what: &str, words: &str, top: f64) {
    let title = text(19.0).bold();
    canvas.text(what, (MARGIN, top + 17.0), title);
    let style = text(15.0).colour(Colour::GREY);
    canvas.text(words, (MARGIN + title.width(what) + 12.0, top + 17.0), style);
}

/// Where row `index` begins.
fn row(top: f64, index: usize) -> f64 {
    top + TITLE + ROW * index as f64
}

/// The launches of a run, where there are several.
pub struct Launches<'a>(pub &'a [KernelReport]);

impl Launches<'_> {
    pub fn height(&self) -> f64 {
        if self.0.len() < 2 { 0.0 } else { height(self.0.len()) }
    }

    /// The issue and the load/store ledger of each as bars.
    pub fn draw(&self, canvas: &Canvas, top: f64) {
        const CYCLES: f64 = 124.0;
        if self.0.len() < 2 {
            return;
        }
        title(canvas, "By kernel", &in_words(self.0.len(), "launches"), top);
        let bars = (INNER - LABEL - CYCLES - 2.0 * GAP) / 2.0;
        let (issue, lsu) = (MARGIN + LABEL, MARGIN + LABEL + bars + GAP);
        let style = text(15.0).colour(Colour::GREY);
        canvas.text("issue", (issue, top + 46.0), style);
        canvas.text("load/store units", (lsu, top + 46.0), style);
        canvas.text("core cycles", (WIDTH - MARGIN, top + 46.0), style.anchor(Anchor::End));
        for (index, kernel) in self.0.iter().take(MOST_KERNELS).enumerate() {
            let y = row(top, index);
            let baseline = y + 16.0;
            let name = format!("{} {}", index + 1, kernel.name);
            let style = text(15.0);
            canvas.text(&style.fit(&name, LABEL - 12.0), (MARGIN, baseline), style);
            let bar = |x| Area { x, y, w: bars, h: ROW - 6.0 };
            stacked_bar(canvas, bar(issue), &shares(&kernel.ledgers.issue), false);
            stacked_bar(canvas, bar(lsu), &shares(&kernel.ledgers.lsu), false);
            let cycles = thousands(kernel.totals.cycles);
            canvas.text(&cycles, (WIDTH - MARGIN, baseline), style.anchor(Anchor::End));
        }
    }
}

/// Kernels that ran at the same time: of the first such launch, which others are mostly like.
pub struct Concurrent<'a> {
    kernels: &'a [ConcurrentKernel],
    cycles: u64,
}

impl<'a> Concurrent<'a> {
    /// Of these launches.
    pub fn of(launches: &'a [KernelReport]) -> Self {
        let first = launches.iter().find(|launch| !launch.concurrent.is_empty());
        first.map_or(Concurrent { kernels: &[], cycles: 0 }, |launch| Concurrent {
            kernels: &launch.concurrent,
            cycles: launch.totals.cycles,
        })
    }

    pub fn height(&self) -> f64 {
        height(self.kernels.len())
    }

    /// Each kernel from its first CTA to its end, on one line of time.
    pub fn draw(&self, canvas: &Canvas, top: f64) {
        const CTAS: f64 = 124.0;
        const TIMES: f64 = 190.0;
        if self.kernels.is_empty() {
            return;
        }
        let words = format!("{}, in core cycles", in_words(self.kernels.len(), "kernels"));
        title(canvas, "At the same time", &words, top);
        let style = text(15.0).colour(Colour::GREY);
        let left = MARGIN + LABEL + CTAS;
        let w = INNER - LABEL - CTAS - TIMES - GAP;
        canvas.text("0", (left, top + 46.0), style);
        canvas.text(&thousands(self.cycles), (left + w, top + 46.0), style.anchor(Anchor::End));
        canvas.text("first CTA to end", (WIDTH - MARGIN, top + 46.0), style.anchor(Anchor::End));
        let at = |cycle: u64| left + w * cycle as f64 / self.cycles.max(1) as f64;
        for (index, kernel) in self.kernels.iter().take(MOST_KERNELS).enumerate() {
            let y = row(top, index);
            let baseline = y + 16.0;
            let style = text(15.0);
            canvas.text(&style.fit(&kernel.name, LABEL - 12.0), (MARGIN, baseline), style);
            let ctas = counted(kernel.ctas, "CTA", "CTAs");
            let end = style.anchor(Anchor::End);
            canvas.text(&ctas, (MARGIN + LABEL + CTAS - GAP, baseline), end);
            let (x, to) = (at(kernel.first_cta), at(kernel.end));
            let all = Area { x: left, y, w, h: ROW - 6.0 };
            canvas.rect(all, Colour(243, 245, 248));
            // What is short is seen as well.
            canvas.rect(Area { x, w: (to - x).max(1.0), ..all }, colour::series(0));
            let times = format!("{} to {}", thousands(kernel.first_cta), thousands(kernel.end));
            canvas.text(&times, (WIDTH - MARGIN, baseline), end);
        }
    }
}
