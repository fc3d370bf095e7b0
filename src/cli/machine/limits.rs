//! `gsim machine limits`.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets::NOTHING};

use super::gigabytes;
use crate::config::Machine;
use crate::error::Result;
use crate::limits::{Filling, Latencies, Limits, Narrowest, Place, Rate, Rates, UnderWay, Unit};
use crate::report::number;

/// What a machine can do at most, as text.
pub(super) fn limits(machine: &Machine) -> Result<String> {
    let limits = Limits::of(machine)?;
    let sms = number::counted(machine.sm.count.get().into(), "SM", "SMs");
    let mhz = f64::from(machine.clocks.core_khz.get()) / 1e3;
    let parts = [
        format!("{}: {sms}, core clock {mhz} MHz\n", machine.name),
        rates(machine, &limits.rates),
        latencies(machine, &limits.latencies),
        under_way(&limits.under_way),
        filling(machine, &limits),
    ];
    Ok(parts.join("\n"))
}

/// A table under its header; of the columns, these are numbers.
fn table<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    numbers: &[usize],
    rows: impl Iterator<Item = [String; COLUMNS]>,
) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header).add_rows(rows);
    table.column_mut(0).expect("the table has columns").set_padding((0, 1));
    for column in numbers {
        let column = table.column_mut(*column).expect("the table has its columns");
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", table.trim_fmt())
}

/// An amount, without decimals where it is whole.
fn amount(value: f64) -> String {
    if value.fract() == 0.0 { number::thousands(value as u64) } else { number::short(value) }
}

fn rates(machine: &Machine, rates: &Rates) -> String {
    let row = |rate: &Rate| {
        let unit = match rate.unit {
            Unit::Instructions => "instructions",
            Unit::Operations => "operations",
            Unit::Requests => "requests",
            Unit::Bytes => "bytes",
        };
        let per_second = match rate.unit {
            Unit::Bytes => gigabytes(rate.per_second),
            _ => format!("{:.1} G/s", rate.per_second / 1e9),
        };
        let per_cycle = amount(rate.per_cycle(machine));
        [rate.name.clone(), per_cycle, unit.to_owned(), per_second, rate.set_by.clone()]
    };
    let header = ["Peak rates", "a core cycle", "", "a second", "set by"];
    let mut text = table(header, &[1, 3], rates.all.iter().map(row));
    let mut narrowest = |reads: &str, level: &Narrowest| {
        let rate = gigabytes(level.bytes_per_second);
        let _ = writeln!(text, "Narrowest for reads {reads}: {}, {rate}.", level.name);
    };
    narrowest("from DRAM", &rates.from_dram);
    if let Some(level) = &rates.from_l2 {
        narrowest("that hit the L2", level);
    }
    text
}

/// Core cycles in ns.
fn nanoseconds(machine: &Machine, cycles: f64) -> f64 {
    cycles * 1e6 / f64::from(machine.clocks.core_khz.get())
}

fn latencies(machine: &Machine, latencies: &Latencies) -> String {
    let levels = [
        ("L1 hit", latencies.l1),
        ("L2 hit", latencies.l2),
        ("DRAM, in order", Ok(latencies.dram_in_order)),
        ("DRAM, at random", Ok(latencies.dram_at_random)),
    ];
    let rows = levels.iter().filter_map(|(name, found)| {
        let cycles = (*found).ok()?;
        let time = nanoseconds(machine, cycles);
        Some([(*name).to_owned(), format!("{cycles:.1}"), format!("{time:.1}")])
    });
    let mut text = table(["A load that is alone", "core cycles", "ns"], &[1, 2], rows);
    for (name, found) in levels {
        if let Err(why) = found {
            let _ = writeln!(text, "No {name}: {why}.");
        }
    }
    text
}

fn under_way(under_way: &UnderWay) -> String {
    let rows = under_way.all.iter().map(|capacity| {
        let place = match capacity.place {
            Place::Sm => "an SM",
            Place::Slice => "an L2 slice",
            Place::Channel => "a channel",
        };
        let (each, chip) = (number::thousands(capacity.each), number::thousands(capacity.chip));
        [capacity.name.to_owned(), each, place.to_owned(), chip, capacity.set_by.to_owned()]
    });
    let mut text = table(["At once", "at most", "", "on the chip", "set by"], &[1, 3], rows);
    let shared = number::binary(under_way.shared_of_cta.into(), "B");
    let registers = under_way.registers_of_thread;
    let _ = writeln!(
        text,
        "With all warps, a thread has {registers} registers at most; with all CTAs, a CTA {shared} of shared memory."
    );
    text
}

fn filling(machine: &Machine, limits: &Limits) -> String {
    let Filling { bytes, lines_of_sm, holders, bound } = &limits.filling;
    let rows = holders.iter().map(|holder| {
        let note = if holder.is_bound { "" } else { ", unless loads are more or wider" };
        [
            holder.name.to_owned(),
            number::thousands(holder.bytes.round() as u64),
            format!("{:.1}", holder.cycles),
            gigabytes(holder.bytes_per_second),
            format!("{}{note}", holder.set_by),
        ]
    });
    let header = ["Under way to the DRAM", "bytes", "core cycles", "at most", "set by"];
    let mut text = table(header, &[1, 2, 3], rows);
    let time = nanoseconds(machine, limits.latencies.dram_in_order);
    let _ = writeln!(
        text,
        "{} with {time:.1} ns a load are {} bytes under way: {} lines of {} bytes in each SM.",
        gigabytes(machine.dram_peak()),
        number::thousands(bytes.round() as u64),
        number::short(*lines_of_sm),
        machine.l1.line.get(),
    );
    let rate = gigabytes(bound.bytes_per_second);
    let _ = writeln!(text, "Reads from DRAM: {rate} at most, by {}.", bound.name);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::machine::list::list;
    use crate::config::presets::{self, PRESETS};

    #[test]
    fn the_limits_of_a_gtx_480_look_like_this() {
        let machine = presets::find("gtx480").unwrap().machine().unwrap();
        insta::assert_snapshot!(limits(&machine).unwrap());
    }

    #[test]
    fn every_preset_has_the_dram_peak_of_the_list() {
        let list = list().unwrap();
        for preset in PRESETS {
            let text = limits(&preset.machine().unwrap()).unwrap();
            let dram = text.lines().find(|line| line.starts_with("DRAM ")).unwrap();
            let peak = dram.split("bytes").nth(1).unwrap().split("dram.").next().unwrap().trim();
            let listed = list.lines().find(|line| line.trim_start().starts_with(preset.name));
            assert!(listed.unwrap().contains(&format!(" {peak} ")), "{}: {dram}", preset.name);
        }
    }
}
