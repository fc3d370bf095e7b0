//! The report as one HTML page: no script, nothing loaded, readable from a disk or a mail.

use std::fmt::Write as _;

use serde_json::Value;

use crate::gpu::{BufferStatistics, LineStatistics};
use crate::serial;
use crate::sm::{BufferCounters, BufferProfile, InstCounters, InstProfile};
use crate::stats::{Ledger, Reason, Stats, WaitReason, ratio};

use super::colour::{Look, known_look, look};
use super::number::{percent, short, si, thousands};
use super::{Report, plot};

const STYLE: &str = "\
body{font:15px/1.45 system-ui,'DejaVu Sans',sans-serif;color:#1f242b;max-width:1200px;margin:2rem auto;\
padding:0 1rem}
svg{width:100%;height:auto}
h2{margin:2.2rem 0 .5rem;font-size:1.25rem}
table{border-collapse:collapse;width:100%}
th{text-align:left;font-weight:600;color:#5c6570}
th,td{padding:.22rem .6rem .22rem 0;border-bottom:1px solid #dee2e7;vertical-align:top}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.m{color:#5c6570;width:50%}
code{white-space:pre-wrap;font-size:13px}
b{display:inline-block;height:.8em}
i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.5em}
details{margin-top:1rem}
summary{cursor:pointer}
pre{background:#f3f5f8;padding:1rem;border-radius:6px;overflow:auto;font-size:13px}
";

/// Text as it stands between tags.
pub fn escape(text: &str) -> String {
    allowed(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The same with U+FFFD for each character that XML 1.0 has no place for, not even escaped: most control characters, U+FFFE and
/// U+FFFF.
pub fn allowed(text: &str) -> String {
    let is_allowed = |letter: char| {
        let is_control = letter < ' ' && !matches!(letter, '\t' | '\n' | '\r');
        !is_control && !matches!(letter, '\u{fffe}' | '\u{ffff}')
    };
    text.replace(|letter| !is_allowed(letter), "\u{fffd}")
}

impl Report {
    /// The report as one HTML page: the picture, every total, ledger and counter with its meaning, and
    /// the inputs.
    pub fn to_html(&self) -> String {
        let mut page = String::new();
        let title = escape(&self.name);
        let _ = write!(
            page,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n{}",
            plot::stalls(self).svg()
        );
        self.push_totals(&mut page);
        self.push_ledger(&mut page, "Issue ledger", "ledgers.issue", &self.ledgers.issue);
        self.push_ledger(&mut page, "LSU ledger", "ledgers.lsu", &self.ledgers.lsu);
        self.push_ledger(&mut page, "Latency ledger", "ledgers.latency", &self.ledgers.latency);
        self.push_ledger(&mut page, "DRAM ledger", "ledgers.dram", &self.ledgers.dram);
        self.push_lines(&mut page);
        self.push_buffers(&mut page);
        self.push_concurrent(&mut page);
        let components = serial::to_json_value(&self.components);
        for (name, instances) in components.as_object().into_iter().flatten() {
            self.push_counters(&mut page, name, instances);
        }
        let inputs = serial::to_json(&self.inputs);
        let _ = write!(
            page,
            "<h2>Inputs</h2>\n<p>gsim {}, report schema {}. {}.{}</p>\n\
             <details><summary>machine, workload, seed</summary>\n\
             <pre>{}</pre>\n</details>\n</body>\n</html>\n",
            escape(&self.gsim),
            self.schema,
            capitalised(&self.verdict_line()),
            self.remarks()
                .iter()
                .map(|note| format!(" Note: {}.", escape(note)))
                .collect::<String>(),
            escape(inputs.trim_end())
        );
        page
    }

    fn meaning(&self, group: &str, name: &str) -> String {
        let meaning = self.glossary.get(group).and_then(|names| names.get(name));
        escape(meaning.map_or("", String::as_str))
    }

    fn push_totals(&self, page: &mut String) {
        page.push_str("<h2>Totals</h2>\n<table>\n");
        let totals = serial::to_json_value(&self.totals);
        for (name, value) in totals.as_object().into_iter().flatten() {
            let meaning = self.meaning("totals", name);
            let shown = self.shown(name, || {
                let unit =
                    meaning.rsplit_once('[').map_or("", |(_, unit)| unit.trim_end_matches("]."));
                match (value.as_u64(), value.as_f64()) {
                    (_, Some(value)) if unit == "0..1" => percent(value),
                    (_, Some(value)) if unit == "seconds" => si(value, "s"),
                    (Some(whole), _) => thousands(whole),
                    (None, Some(value)) => short(value),
                    (None, None) => value.to_string(),
                }
            });
            let _ = writeln!(
                page,
                "<tr><td>{name}</td><td class=\"n\">{shown}</td><td class=\"m\">{meaning}</td></tr>"
            );
        }
        page.push_str("</table>\n");
    }

    fn push_ledger<R: Reason, const N: usize>(
        &self,
        page: &mut String,
        title: &str,
        group: &str,
        ledger: &Ledger<R, N>,
    ) {
        let _ = write!(page, "<h2>{title}: {}</h2>\n<table>\n", thousands(ledger.total()));
        for (name, _, amount) in ledger.parts() {
            let _ = writeln!(
                page,
                "<tr><td><i style=\"background:{}\"></i>{name}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td class=\"m\">{}</td></tr>",
                look(name).colour.hex(),
                thousands(amount),
                percent(ratio(amount, ledger.total())),
                self.meaning(group, name)
            );
        }
        page.push_str("</table>\n");
    }

    /// The kernels' sources, with what warps did at each line.
    fn push_lines(&self, page: &mut String) {
        let all: u64 = self.lines.iter().map(|line| line.profile.waits.total()).sum();
        for lines in self.lines.chunk_by(|one, next| one.kernel == next.kernel) {
            let own = lines.iter().map(|line| line.profile.waits.total()).sum();
            let _ = write!(
                page,
                "<h2>Lines of {}: {} warp cycles</h2>\n<table>\n\
                 <tr><th class=\"n\">line</th><th>text</th><th class=\"n\">issued</th>\
                 <th class=\"n\">lanes</th><th class=\"n\">accesses each</th>\
                 <th class=\"n\">L1 hits</th><th class=\"n\">latency</th>\
                 <th class=\"n\">warp cycles</th><th>what warps stood for</th></tr>\n",
                escape(&lines[0].kernel),
                thousands(own)
            );
            let most = lines.iter().map(|line| line.profile.waits.total()).max().unwrap_or(0);
            lines.iter().for_each(|line| push_line(page, line, all, most));
            page.push_str("</table>\n");
        }
        if !self.lines.is_empty() {
            self.push_meanings(page, "lines.waits", WaitReason::GLOSSARY, known_look);
            self.push_meanings(page, "lines.counters", InstCounters::GLOSSARY, |_| None);
        }
    }

    /// The buffers, with every counter, and what loads took in the mean.
    fn push_buffers(&self, page: &mut String) {
        if self.buffers.is_empty() {
            return;
        }
        page.push_str("<h2>Buffers</h2>\n<table>\n<tr><th>buffer</th><th class=\"n\">size</th>");
        for (name, _) in BufferCounters::GLOSSARY {
            let _ = write!(page, "<th class=\"n\">{}</th>", name.replace('_', " "));
        }
        page.push_str("<th class=\"n\">latency</th></tr>\n");
        for BufferStatistics { name, size, profile, .. } in &self.buffers {
            let BufferProfile { counters, latency } = profile;
            let size = if *size == 0 { String::new() } else { thousands(*size) };
            let _ = write!(page, "<tr><td>{}</td><td class=\"n\">{size}</td>", escape(name));
            for amount in counters.values() {
                let _ = write!(page, "<td class=\"n\">{}</td>", thousands(amount));
            }
            let _ = writeln!(
                page,
                "<td class=\"n\">{}</td></tr>",
                mean(latency.total(), counters.loads)
            );
        }
        page.push_str("</table>\n");
        self.push_meanings(page, "buffers.counters", BufferCounters::GLOSSARY, |_| None);
    }

    /// The meanings of names, with the colours of those that have one.
    fn push_meanings(
        &self,
        page: &mut String,
        group: &str,
        glossary: &[(&str, &str)],
        look: fn(&str) -> Option<Look>,
    ) {
        page.push_str("<table>\n");
        for (name, _) in glossary {
            let mark = look(name).map_or(String::new(), |look| {
                format!("<i style=\"background:{}\"></i>", look.colour.hex())
            });
            let meaning = self.meaning(group, name);
            let _ = writeln!(page, "<tr><td>{mark}{name}</td><td class=\"m\">{meaning}</td></tr>");
        }
        page.push_str("</table>\n");
    }

    /// When kernels ran that did at the same time.
    fn push_concurrent(&self, page: &mut String) {
        for (number, launch) in self.kernels.iter().enumerate() {
            if launch.concurrent.is_empty() {
                continue;
            }
            let _ = write!(
                page,
                "<h2>Kernels at the same time, {number}: {} core cycles</h2>\n<table>\n\
                 <tr><th>kernel</th><th class=\"n\">CTAs</th><th class=\"n\">warp instructions</th>\
                 <th class=\"n\">first CTA after cycle</th><th class=\"n\">end</th></tr>\n",
                thousands(launch.totals.cycles)
            );
            for kernel in &launch.concurrent {
                let _ = write!(page, "<tr><td>{}</td>", escape(&kernel.name));
                for value in [kernel.ctas, kernel.warp_instructions, kernel.first_cta, kernel.end] {
                    let _ = write!(page, "<td class=\"n\">{}</td>", thousands(value));
                }
                page.push_str("</tr>\n");
            }
            page.push_str("</table>\n");
        }
    }

    /// A component's counters: the sum over its instances, and the least and the most of one.
    fn push_counters(&self, page: &mut String, name: &str, component: &Value) {
        let instances = instances(component);
        let Some(Value::Object(first)) = instances.first() else { return };
        let _ = write!(
            page,
            "<h2>{name} ({})</h2>\n<table>\n<tr><th>counter</th><th class=\"n\">sum</th>\
             <th class=\"n\">least</th><th class=\"n\">most</th><th>meaning</th></tr>\n",
            instances.len()
        );
        for counter in first.keys() {
            let values = || instances.iter().filter_map(|one| one[counter].as_u64());
            let cell = |value: u64| format!("<td class=\"n\">{}</td>", thousands(value));
            let _ = writeln!(
                page,
                "<tr><td>{counter}</td>{}{}{}<td class=\"m\">{}</td></tr>",
                cell(values().sum()),
                cell(values().min().unwrap_or(0)),
                cell(values().max().unwrap_or(0)),
                self.meaning(&format!("components.{name}"), counter)
            );
        }
        page.push_str("</table>\n");
    }
}

/// A line of a kernel's source; the bar of the line where warps stood longest is full.
fn push_line(page: &mut String, line: &LineStatistics, all: u64, most: u64) {
    let InstProfile { counters, waits, latency } = &line.profile;
    let hits = match counters.loads {
        0 => String::new(),
        loads => percent(ratio(counters.l1_hits, loads)),
    };
    let made_of = match line.made_of.as_str() {
        "" => String::new(),
        place => format!(" title=\"{}\"", escape(place)),
    };
    let _ = write!(
        page,
        "<tr><td class=\"n\"{made_of}>{}</td><td><code>{}</code></td>",
        line.line,
        escape(&line.text)
    );
    let cells = [
        thousands(counters.issued),
        mean(counters.threads, counters.issued),
        if counters.accesses == 0 {
            String::new()
        } else {
            mean(counters.accesses, counters.issued)
        },
        hits,
        mean(latency.total(), counters.loads),
        percent(ratio(waits.total(), all)),
    ];
    for cell in cells {
        let _ = write!(page, "<td class=\"n\">{cell}</td>");
    }
    page.push_str("<td style=\"width:20%;white-space:nowrap\">");
    for (name, _, amount) in waits.parts().filter(|part| part.2 > 0) {
        let _ = write!(
            page,
            "<b style=\"background:{};width:{:.2}%\" title=\"{name} {}\"></b>",
            look(name).colour.hex(),
            100.0 * ratio(amount, most),
            percent(ratio(amount, waits.total()))
        );
    }
    page.push_str("</td></tr>\n");
}

/// A mean, where there is one.
fn mean(sum: u64, count: u64) -> String {
    if count == 0 { String::new() } else { short(ratio(sum, count)) }
}

/// A component's instances, of which there may be one only.
pub fn instances(component: &Value) -> &[Value] {
    match component {
        Value::Array(instances) => instances,
        one => std::slice::from_ref(one),
    }
}

/// The text with its first letter as at the start of a sentence.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use crate::report::sample;

    #[test]
    fn the_page_stands_alone_and_explains_every_number() {
        let report = sample::report_with_lines();
        let page = report.to_html();
        assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("href="));
        for meanings in report.glossary.values() {
            for (name, meaning) in meanings {
                assert!(page.contains(&format!("{name}</td>")), "{name} is missing");
                assert!(page.contains(&super::escape(meaning)), "{name} is not explained");
            }
        }
        assert!(page.contains("<td class=\"n\">177,174</td>"));
        assert!(page.contains("<code>ld.global.s8 \t%r7, [%rd1+-1];</code>"));
        assert!(page.contains(" title=\"my.cu:12\""));
        assert_eq!(page, sample::report_with_lines().to_html());
    }

    #[test]
    fn what_xml_has_no_place_for_is_replaced() {
        assert_eq!(
            super::escape("a<b>&\t\u{1b}\0\u{ffff}\u{7f}µ"),
            "a&lt;b&gt;&amp;\t\u{fffd}\u{fffd}\u{fffd}\u{7f}µ"
        );
        assert_eq!(super::allowed("<a>\n\u{fffe}日"), "<a>\n\u{fffd}日");
    }
}
