//! `gsim machine diff`.

use comfy_table::{Table, presets::NOTHING};

use crate::config::Machine;
use crate::serial::differences;

/// Letters of a value that are shown.
const LETTERS: usize = 60;

/// The fields that differ, as a table under the machines' `names`.
pub(super) fn diff(names: [&str; 2], machines: [&Machine; 2]) -> String {
    let [first, second] = machines.map(Machine::to_json);
    let found = differences(&[&first, &second], LETTERS);
    if found.is_empty() {
        return "no field differs\n".to_owned();
    }
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(["field", names[0], names[1]]);
    table.add_rows(found.into_iter().map(|one| [one.path].into_iter().chain(one.values)));
    format!("{}\n", table.trim_fmt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Setting, overrides, presets};

    /// The preset and the same with changes.
    fn changed(changes: &[(&str, &str)]) -> String {
        let machine = presets::find("gtx480").unwrap().machine().unwrap();
        let settings =
            changes.iter().map(|(path, value)| ((*path).to_owned(), Setting::new(value))).collect();
        let other = overrides::apply_to_machine(&machine, &settings).unwrap();
        diff(["a", "b"], [&machine, &other])
    }

    /// The table's rows, blanks between columns as one.
    #[track_caller]
    fn check(changes: &[(&str, &str)], want: &[&str]) {
        let table = changed(changes);
        let rows: Vec<String> = table
            .lines()
            .skip(1)
            .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(rows, want);
    }

    #[test]
    fn fields_that_differ_are_named_by_the_paths_of_set() {
        check(
            &[
                ("l1.mshr_mergers", "16"),
                ("dram.timing.rcd", "13"),
                ("compute_capability", "(2, 1)"),
            ],
            &["compute_capability (2, 0) (2, 1)", "l1.mshr_mergers 8 16", "dram.timing.rcd 12 13"],
        );
        check(&[("sm.policy", "TwoLevel(active: 8)")], &["sm.policy Gto TwoLevel(active: 8)"]);
        check(&[("dram.scheduler", "FrFcfs(cap: 7)")], &["dram.scheduler.cap 64 7"]);
    }

    #[test]
    fn a_machine_is_equal_to_itself() {
        assert_eq!(changed(&[]), "no field differs\n");
    }
}
