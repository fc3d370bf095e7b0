//! The stall breakdown: where every cycle and every access's time of one run went.

use crate::report::Report;
use crate::report::colour::{Colour, look};
use crate::report::number::{counted, percent, short, si, thousands};
use crate::stats::{Ledger, Reason, ratio};

use super::canvas::{self, Anchor, Area, Canvas, text};
use super::kernels::{Concurrent, Launches};
use super::picture::Picture;

pub(super) const WIDTH: f64 = 1200.0;
pub(super) const MARGIN: f64 = 32.0;
pub(super) const INNER: f64 = WIDTH - 2.0 * MARGIN;
const GUTTER: f64 = 28.0;
const COLUMN: f64 = (INNER - GUTTER) / 2.0;
const HEADER: f64 = 84.0;
const TILES: f64 = 84.0;
const BAR: f64 = 50.0;
const ROW: f64 = 24.0;
/// Least share with a legend row of its own; smaller ones share a line.
const SMALL: f64 = 0.0005;
/// A line above the last one.
const NOTE: f64 = 20.0;

/// Name and share of reasons.
pub(super) type Parts = Vec<(&'static str, f64)>;

/// One ledger, ready to draw.
struct Panel {
    title: &'static str,
    meaning: &'static str,
    total: String,
    /// Every reason that was charged, in the order of declaration.
    parts: Parts,
}

pub(super) fn shares<R: Reason, const N: usize>(ledger: &Ledger<R, N>) -> Parts {
    let parts = ledger.parts().filter(|&(_, _, amount)| amount > 0);
    parts.map(|(name, _, amount)| (name, ratio(amount, ledger.total()))).collect()
}

/// The four ledgers of `report` as bars of 100 %, with the totals above and the kernels beneath.
pub fn stalls(report: &Report) -> Picture {
    let ledgers = &report.ledgers;
    let panels = [
        Panel {
            title: "Issue",
            meaning: "what the schedulers did with their cycles",
            total: format!("{} scheduler cycles", thousands(ledgers.issue.total())),
            parts: shares(&ledgers.issue),
        },
        Panel {
            title: "Load/store units",
            meaning: "what they did with their cycles",
            total: format!("{} SM cycles", thousands(ledgers.lsu.total())),
            parts: shares(&ledgers.lsu),
        },
        Panel {
            title: "Load latency",
            meaning: "where the accesses spent their time",
            total: format!(
                "{}, {} core cycles each",
                counted(report.totals.load_accesses, "access", "accesses"),
                short(report.totals.mean_latency)
            ),
            parts: shares(&ledgers.latency),
        },
        Panel {
            title: "DRAM channels",
            meaning: "what their data buses did with their clocks",
            total: format!("{} channel clocks", thousands(ledgers.dram.total())),
            parts: shares(&ledgers.dram),
        },
    ];
    let (launches, concurrent) = (Launches(&report.kernels), Concurrent::of(&report.kernels));
    let remarks = report.remarks();
    let height = HEADER
        + TILES
        + panels.iter().map(Panel::height).sum::<f64>()
        + launches.height()
        + concurrent.height()
        + NOTE * remarks.len() as f64
        + 2.0 * MARGIN
        - 6.0;
    let description = format!("{}: stall breakdown", report.name);
    canvas::picture((WIDTH, height), &description, |canvas| {
        header(canvas, report);
        let mut top = tiles(canvas, report, MARGIN + HEADER - 10.0);
        for panel in &panels {
            panel.draw(canvas, top);
            top += panel.height();
        }
        launches.draw(canvas, top);
        concurrent.draw(canvas, top + launches.height());
        footer(canvas, report, &remarks, height);
    })
}

fn header(canvas: &Canvas, report: &Report) {
    let title = text(28.0).bold();
    canvas.text(&title.fit(&report.name, INNER), (MARGIN, MARGIN + 23.0), title);
    let line = format!("{} · {}", report.machine_line(), report.workload_line());
    let style = text(17.0).colour(Colour::GREY);
    canvas.text(&style.fit(&line, INNER), (MARGIN, MARGIN + 54.0), style);
}

fn tiles(canvas: &Canvas, report: &Report, top: f64) -> f64 {
    const GAP: f64 = 10.0;
    let totals = &report.totals;
    let rate = |name: &str, share: f64| report.shown(name, || percent(share));
    let tiles = [
        (thousands(totals.cycles), "core cycles"),
        (si(totals.seconds_simulated, "s"), "simulated time"),
        (short(totals.ipc), "warp instr. / cycle"),
        (rate("l1_hit_rate", totals.l1_hit_rate), "L1 hits"),
        (rate("l2_read_miss_rate", totals.l2_read_miss_rate), "L2 read misses"),
        (percent(totals.dram_utilisation), "DRAM utilisation"),
        (si(totals.dram_bandwidth(), "B/s"), "DRAM traffic"),
    ];
    let w = (INNER - GAP * (tiles.len() - 1) as f64) / tiles.len() as f64;
    for (index, (value, label)) in tiles.iter().enumerate() {
        let x = MARGIN + (w + GAP) * index as f64;
        canvas.rounded(Area { x, y: top, w, h: TILES - 22.0 }, Colour(243, 245, 248), 6.0);
        let middle = x + w / 2.0;
        let style = text(20.0).bold().anchor(Anchor::Middle);
        canvas.text(&style.fit(value, w - 8.0), (middle, top + 28.0), style);
        let style = text(14.0).colour(Colour::GREY).anchor(Anchor::Middle);
        canvas.text(&style.fit(label, w - 8.0), (middle, top + 50.0), style);
    }
    top + TILES
}

/// Draws `parts` next to each other over `area`; `named` writes names into the wide ones.
pub(super) fn stacked_bar(canvas: &Canvas, area: Area, parts: &[(&str, f64)], named: bool) {
    let mut x = area.x;
    for &(name, share) in parts {
        let w = share * area.w;
        // A white seam between parts, as long as it leaves something of the part.
        let seam = if w > 3.0 { 1.0 } else { 0.0 };
        let fill = look(name).colour;
        canvas.rect(Area { x, w: w - seam, ..area }, fill);
        let (middle, centre) = (x + w / 2.0, area.y + area.h / 2.0);
        let style = text(if named { 15.0 } else { 12.0 });
        let style = style.colour(fill.text_on()).anchor(Anchor::Middle);
        let room = w - 8.0;
        let share = percent(share);
        let amount = if named { style.bold() } else { style };
        if named && style.width(name).max(amount.width(&share)) <= room {
            canvas.text(name, (middle, centre - 4.0), style);
            canvas.text(&share, (middle, centre + 16.0), amount);
        } else if amount.width(&share) <= room {
            canvas.text(&share, (middle, centre + 0.36 * amount.size), amount);
        }
        x += w;
    }
}

impl Panel {
    /// The parts with a legend row of their own, and the rest.
    fn split(&self) -> (Parts, Parts) {
        self.parts.iter().copied().partition(|&(_, share)| share >= SMALL)
    }

    fn height(&self) -> f64 {
        let (large, small) = self.split();
        let rows = large.len().div_ceil(2) + usize::from(!small.is_empty());
        30.0 + BAR + 14.0 + ROW * rows as f64 + 24.0
    }

    fn draw(&self, canvas: &Canvas, top: f64) {
        let title = text(19.0).bold();
        canvas.text(self.title, (MARGIN, top + 17.0), title);
        let style = text(15.0).colour(Colour::GREY);
        canvas.text(self.meaning, (MARGIN + title.width(self.title) + 12.0, top + 17.0), style);
        canvas.text(&self.total, (WIDTH - MARGIN, top + 17.0), style.anchor(Anchor::End));
        let bar = Area { x: MARGIN, y: top + 30.0, w: INNER, h: BAR };
        if self.parts.is_empty() {
            canvas.rect(bar, Colour::LINE);
            let style = style.anchor(Anchor::Middle);
            canvas.text("nothing was counted", (WIDTH / 2.0, bar.y + BAR / 2.0 + 5.0), style);
            return;
        }
        stacked_bar(canvas, bar, &self.parts, true);

        let (large, small) = self.split();
        let rows = large.len().div_ceil(2);
        let first = bar.bottom() + 14.0;
        for (index, &(name, share)) in large.iter().enumerate() {
            let x = MARGIN + (COLUMN + GUTTER) * (index / rows) as f64;
            legend_row(canvas, (x, first + ROW * (index % rows) as f64), name, share);
        }
        if !small.is_empty() {
            let names: Vec<_> = small.iter().map(|&(name, _)| name).collect();
            let line = format!("below {}: {}", percent(SMALL), names.join(", "));
            let y = first + ROW * rows as f64 + 16.0;
            canvas.text(&style.fit(&line, INNER - 24.0), (MARGIN + 24.0, y), style);
        }
    }
}

fn legend_row(canvas: &Canvas, (x, y): (f64, f64), name: &str, share: f64) {
    const NAME: f64 = 24.0;
    const SHARE: f64 = 236.0;
    let look = look(name);
    canvas.rounded(Area { x, y: y + 3.0, w: 15.0, h: 15.0 }, look.colour, 2.0);
    let baseline = y + 16.0;
    let style = text(15.0);
    canvas.text(&style.bold().fit(name, SHARE - NAME - 62.0), (x + NAME, baseline), style.bold());
    canvas.text(&percent(share), (x + SHARE, baseline), style.anchor(Anchor::End));
    let style = style.colour(Colour::GREY);
    let phrase = style.fit(look.phrase, COLUMN - SHARE - 14.0);
    canvas.text(&phrase, (x + SHARE + 14.0, baseline), style);
}

/// What else a reader should know, and beneath it what was simulated and whether it is right.
fn footer(canvas: &Canvas, report: &Report, remarks: &[String], height: f64) {
    let machine = report.calibration_line();
    let line = format!(
        "gsim {} · seed {} · {machine} · {}",
        report.gsim,
        report.inputs.seed,
        report.verdict_line()
    );
    let style = text(13.0).colour(Colour::GREY);
    let baseline = height - MARGIN + 10.0;
    canvas.text(&style.fit(&line, INNER), (MARGIN, baseline), style);
    for (above, remark) in (1..).zip(remarks.iter().rev()) {
        let line = style.fit(&format!("Note: {remark}"), INNER);
        canvas.text(&line, (MARGIN, baseline - NOTE * f64::from(above)), style);
    }
}
