//! When kernels ran, where some ran at the same time.

use crate::report::Report;
use crate::report::headline::Measure;

use super::{Against, Row, Table};

/// A kernel and when it ran: from its first CTA to its end, from the start of the run on [core cycles].
type Ran<'a> = (&'a str, u64, u64);

/// Every kernel of a report, in the order of their launches.
fn ran(report: &Report) -> Vec<Ran<'_>> {
    let mut from = 0;
    let mut all = Vec::new();
    for launch in &report.kernels {
        let cycles = launch.totals.cycles;
        match launch.concurrent.as_slice() {
            [] => all.push((launch.name.as_str(), from, from + cycles)),
            kernels => all.extend(
                kernels.iter().map(|one| (one.name.as_str(), from + one.first_cta, from + one.end)),
            ),
        }
        from += cycles;
    }
    all
}

/// When the first launch of each kernel ran, where kernels of any report ran at the same time; none otherwise.
pub fn kernels_in_time(reports: &[&Report]) -> Option<Table> {
    let is_concurrent =
        |report: &&Report| report.kernels.iter().any(|launch| !launch.concurrent.is_empty());
    if !reports.iter().any(is_concurrent) {
        return None;
    }
    let each: Vec<Vec<Ran>> = reports.iter().map(|report| ran(report)).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, ..) in each.iter().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let row = |name: &str, what: &str, of: fn(&Ran) -> u64| Row {
        name: format!("{name} {what}"),
        values: each
            .iter()
            .map(|all| all.iter().find(|one| one.0 == name).map(|one| of(one) as f64))
            .collect(),
        measure: Measure::Count,
        against: Against::Value,
    };
    let rows = names.iter().flat_map(|name| {
        [row(name, "starts", |&(_, start, _)| start), row(name, "ends", |&(.., end)| end)]
    });
    Some(Table {
        title: "Kernels in time".to_owned(),
        meaning: "core cycles from the start of the run to those of the first launch of each"
            .to_owned(),
        rows: rows.collect(),
        adds_up: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::ConcurrentKernel;
    use crate::report::sample;

    #[test]
    fn kernels_one_after_another_are_compared_with_kernels_at_the_same_time() {
        let base = sample::report();
        assert_eq!(kernels_in_time(&[&base, &base]), None);
        let kernel = |name: &str, first_cta, end| ConcurrentKernel {
            name: name.to_owned(),
            ctas: 1,
            cta_threads: 32,
            resident_warps: 1,
            warp_instructions: 9,
            first_cta,
            end,
        };
        let (mut apart, mut together) = (base.clone(), base);
        apart.kernels.truncate(2);
        let [cycles, more] = [0, 1].map(|launch| apart.kernels[launch].totals.cycles);
        for (launch, name) in apart.kernels.iter_mut().zip(["a", "b"]) {
            launch.name = name.to_owned();
        }
        together.kernels.truncate(1);
        together.kernels[0].concurrent = vec![kernel("a", 3, 50), kernel("b", 4, 60)];
        let table = kernels_in_time(&[&apart, &together]).unwrap();
        let rows: Vec<_> =
            table.rows.iter().map(|row| (row.name.as_str(), &row.values[..])).collect();
        let both = |apart: u64, together: u64| [Some(apart as f64), Some(together as f64)];
        assert_eq!(
            rows,
            [
                ("a starts", &both(0, 3)[..]),
                ("a ends", &both(cycles, 50)[..]),
                ("b starts", &both(cycles, 4)[..]),
                ("b ends", &both(cycles + more, 60)[..]),
            ]
        );
    }
}
