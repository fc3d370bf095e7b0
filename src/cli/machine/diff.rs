//! `gsim machine diff`.

use comfy_table::{Table, presets::NOTHING};
use serde_json::{Map, Value};

use crate::config::Machine;

/// Letters of a value that are shown.
const WIDTH: usize = 60;

/// The fields that differ, as a table under the machines' `names`.
pub(super) fn diff(names: [&str; 2], machines: [&Machine; 2]) -> String {
    let [first, second] = machines.map(Machine::to_json);
    let mut rows = Vec::new();
    walk("", Some(&first), Some(&second), &mut rows);
    if rows.is_empty() {
        return "no field differs\n".to_owned();
    }
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(["field", names[0], names[1]]);
    table.add_rows(rows);
    format!("{}\n", table.trim_fmt())
}

fn walk(path: &str, first: Option<&Value>, second: Option<&Value>, rows: &mut Vec<[String; 3]>) {
    if first == second {
        return;
    }
    let (Some(Value::Object(a)), Some(Value::Object(b))) = (first, second) else {
        rows.push([path.to_owned(), shown(first), shown(second)]);
        return;
    };
    match (variant(a), variant(b)) {
        // The name of a variant is no part of a path.
        (Some((name, a)), Some((other, b))) if name == other => {
            walk(path, Some(a), Some(b), rows);
        }
        (None, None) => {
            let only_second = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(only_second) {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(&inner, a.get(key), b.get(key), rows);
            }
        }
        _ => rows.push([path.to_owned(), shown(first), shown(second)]),
    }
}

/// Name and content, where the object is an enum's variant: fields have small letters.
fn variant(object: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (name, value) = object.iter().next()?;
    (object.len() == 1 && name.starts_with(char::is_uppercase)).then_some((name, value))
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "-".to_owned(), ron);
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// A value as a machine file has it, texts without their quotes.
fn ron(value: &Value) -> String {
    let list = |items: &[Value]| items.iter().map(ron).collect::<Vec<_>>().join(", ");
    let fields = |fields: &Map<String, Value>| {
        let fields = fields.iter().map(|(name, value)| format!("{name}: {}", ron(value)));
        fields.collect::<Vec<_>>().join(", ")
    };
    match value {
        Value::Null => "None".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("({})", list(items)),
        Value::Object(object) => match variant(object) {
            Some((name, Value::Object(inner))) => format!("{name}({})", fields(inner)),
            Some((name, Value::Array(items))) => format!("{name}({})", list(items)),
            Some((name, inner)) => format!("{name}({})", ron(inner)),
            None => format!("({})", fields(object)),
        },
        plain => plain.to_string(),
    }
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
    fn fields_that_differ_are_named_by_their_paths() {
        check(
            &[
                ("l1.mshr_mergers", "16"),
                ("dram.timing.rcd", "13"),
                ("compute_capability", "(2, 1)"),
            ],
            &["compute_capability (2, 0) (2, 1)", "l1.mshr_mergers 8 16", "dram.timing.rcd 12 13"],
        );
    }

    #[test]
    fn a_choice_is_shown_with_its_parameters_and_the_same_choice_by_them() {
        check(&[("sm.policy", "TwoLevel(active: 8)")], &["sm.policy Gto TwoLevel(active: 8)"]);
        check(&[("dram.scheduler", "FrFcfs(cap: 7)")], &["dram.scheduler.cap 64 7"]);
    }

    #[test]
    fn a_machine_is_equal_to_itself_and_a_missing_part_is_seen() {
        assert_eq!(changed(&[]), "no field differs\n");
        let mut rows = Vec::new();
        let (a, b) =
            (serde_json::json!({"l1": null, "n": 1}), serde_json::json!({"l1": {"size": 2}}));
        walk("", Some(&a), Some(&b), &mut rows);
        let want = [["l1", "None", "(size: 2)"], ["n", "1", "-"]];
        assert_eq!(rows, want.map(|row| row.map(str::to_owned)));
    }
}
