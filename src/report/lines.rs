//! What a report shows of the lines of kernels: a table, and the text that stands in them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::error::Result;
use crate::gpu::LineStatistics;
use crate::sm::{InstCounters, InstProfile};
use crate::stats::{LatencyStage, Stats, WaitReason};

use super::Report;
use super::rows;

/// The launches of each kernel together, in the order of the first ones; lines in theirs.
pub(super) fn merged<'a>(
    launches: impl Iterator<Item = &'a Vec<LineStatistics>>,
) -> Vec<LineStatistics> {
    let (mut kernels, mut lines) = (Vec::new(), BTreeMap::new());
    for line in launches.flatten() {
        let known = kernels.iter().position(|kernel| *kernel == &line.kernel);
        let kernel = known.unwrap_or_else(|| {
            kernels.push(&line.kernel);
            kernels.len() - 1
        });
        lines
            .entry((kernel, line.line))
            .and_modify(|sum: &mut LineStatistics| sum.merge(line))
            .or_insert_with(|| line.clone());
    }
    lines.into_values().collect()
}

/// Lines of a PTX text, with where a compiler says that each comes from.
struct Listing<'a> {
    lines: Vec<&'a str>,
    /// By line: `file:line`; empty where nothing is said.
    made_of: Vec<String>,
}

impl<'a> Listing<'a> {
    fn new(text: &'a str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        // The directives `.file NUMBER "NAME"`, which may come last, and `.loc NUMBER LINE COLUMN`, which counts up to the next one.
        let files: HashMap<&str, &str> = lines.iter().filter_map(|line| file_of(line)).collect();
        let mut present = String::new();
        let mut made_of = Vec::with_capacity(lines.len());
        for line in &lines {
            let mut words = line.split_whitespace();
            match words.next() {
                Some(".loc") => {
                    let place = words.next().zip(words.next());
                    let place = place.and_then(|(file, line)| Some((files.get(file)?, line)));
                    present =
                        place.map_or_else(String::new, |(file, line)| format!("{file}:{line}"));
                }
                // What one function says does not hold for the next.
                Some("}") => present.clear(),
                _ => {}
            }
            made_of.push(present.clone());
        }
        Listing { lines, made_of }
    }
}

/// Number and name of the file that a line declares; of a path, its last part.
fn file_of(line: &str) -> Option<(&str, &str)> {
    let (number, rest) =
        line.trim().strip_prefix(".file")?.trim().split_once(char::is_whitespace)?;
    let name = rest.split('"').nth(1)?;
    Some((number, Path::new(name).file_name()?.to_str()?))
}

impl Report {
    /// Says what stands in the lines of a kernel, whose source is `text`.
    pub fn quote(&mut self, kernel: &str, text: &str) {
        let mut lines = self.lines.iter_mut().filter(|line| line.kernel == kernel).peekable();
        if lines.peek().is_none() {
            return;
        }
        let listing = Listing::new(text);
        for line in lines {
            let place = line.line as usize - 1;
            line.text = listing.lines.get(place).map_or("", |text| text.trim()).to_owned();
            line.made_of = listing.made_of.get(place).cloned().unwrap_or_default();
        }
    }

    /// The lines as a table.
    ///
    /// # Errors
    /// None that is known.
    pub fn lines_csv(&self) -> Result<Vec<u8>> {
        let own = ["kernel", "line", "text", "made_of", "instructions"].map(str::to_owned);
        let head = own.into_iter().chain(rows::counter_head(InstCounters::GLOSSARY));
        let head = head.chain(rows::ledger_head::<WaitReason>("waits"));
        let head = head.chain(rows::ledger_head::<LatencyStage>("latency"));
        let rows = self.lines.iter().map(|line| {
            let LineStatistics { kernel, text, made_of, .. } = line;
            let InstProfile { counters, waits, latency } = &line.profile;
            let own = [kernel.clone(), line.line.to_string(), text.clone(), made_of.clone()];
            let amounts = std::iter::once(line.instructions).chain(counters.values());
            let amounts = amounts.chain(rows::ledger_cells(waits));
            let amounts = amounts.chain(rows::ledger_cells(latency));
            own.into_iter().chain(amounts.map(|amount| amount.to_string())).collect()
        });
        rows::csv(head, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn launches_of_a_kernel_are_taken_together() {
        let report = sample::report_with_lines();
        let lines: Vec<_> =
            report.lines.iter().map(|line| (line.line, line.profile.counters.issued)).collect();
        assert_eq!(lines, [(2, 3), (3, 21), (4, 3000), (2, 1800)]);
        assert_eq!(report.lines[2].text, "ld.global.s8 \t%r7, [%rd1+-1];");
        assert_eq!((report.lines[2].instructions, report.lines[2].made_of.as_str()), (1, ""));
        assert_eq!(report.lines[3].made_of, "my.cu:12");
        let table = String::from_utf8(report.lines_csv().unwrap()).unwrap();
        let row = "a_name_longer_than_all,2,\"add.u32 %r1, %r1, 1;\",my.cu:12,1,1800,57600,2400,2400,600,0,\
                   55800,1800,30000,0,24000,0,0,0,0,0,96000,0,54000,";
        assert!(table.lines().nth(4).unwrap().starts_with(row), "{table}");
    }

    #[test]
    fn a_stored_line_that_does_not_sum_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.json");
        let mut report = sample::report_with_lines();
        std::fs::write(&file, report.to_json()).unwrap();
        assert_eq!(Report::read(&file).unwrap(), report);
        report.lines[1].profile.waits.add_total(1);
        std::fs::write(&file, report.to_json()).unwrap();
        let error = Report::read(&file).unwrap_err();
        assert!(error.message.contains("line 3 of stencil1d_char: the waits ledger"), "{error}");
    }

    #[test]
    fn a_line_comes_from_where_the_last_directive_says() {
        let text = "\t.loc\t1 12 5\n\tld;\n\tadd;\n\t.loc 2 7 1, function_name $L, inlined_at 1 3 2\n\
                    \tmul;\n}\n\tret;\n\t.file\t1 \"/home/a/stencil.cu\"\n.file 2 \"b.h\"\n";
        let listing = Listing::new(text);
        assert_eq!(listing.lines[1].trim(), "ld;");
        let of = |line: usize| listing.made_of[line].as_str();
        assert_eq!([of(1), of(2), of(4), of(6)], ["stencil.cu:12", "stencil.cu:12", "b.h:7", ""]);
    }
}
