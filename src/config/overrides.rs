//! Overrides: any field of the machine or the workload, changed by its path.
//!
//! A run file's `set`, the command line's `--set` and a study's axes all name fields in the same way:
//! `l1.mshr_mergers`, `sm.policy`, `dram.timing.rcd`, `workload.element`, `seed`. `machine.` may stand
//! in front of a machine's field.
//!
//! Values are RON text, for a RON enum such as `TwoLevel(active: 8)` has no counterpart in JSON. The
//! typed values are written as RON, the new values put in their places, and the whole is read back
//! through the same checks as a file. All overrides are in place before the first check, so that
//! `l1.sets` and `l1.size` can change together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ron::value::RawValue;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bounded::whole;
use super::document::Node;
use super::machine::Machine;
use super::names::suggest;
use super::parse::{self, Problem, mentioned_fields};
use super::workload::WorkloadSpec;
use crate::error::{Error, Result};

/// The value of an override, as RON text: `16`, `Gto`, `TwoLevel(active: 8)`, `"text"`.
///
/// Where the field is a text, the quotes may be missing. In JSON it is a string with the RON text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting(String);

impl Setting {
    /// A value from RON text. It is checked when it is applied, for only then its field is known.
    pub fn new(ron: impl AsRef<str>) -> Self {
        Setting(ron.as_ref().trim().to_owned())
    }

    /// The RON text.
    pub fn ron(&self) -> &str {
        &self.0
    }

    /// The value as a text, for a field that is one: without its quotes, where there are some.
    pub fn text(&self) -> String {
        ron::from_str::<String>(&self.0).unwrap_or_else(|_| self.0.clone())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Ok(Setting(Box::<RawValue>::deserialize(deserializer)?.trim().get_ron().to_owned()))
    }
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match RawValue::from_ron(&self.0) {
            Ok(value) => value.serialize(serializer),
            // A text without its quotes.
            Err(_) => RawValue::from_rust(&self.0)
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
        }
    }
}

/// Overrides by path.
pub type Settings = BTreeMap<String, Setting>;

/// Splits `path=value`, as `--set` has it.
pub fn assignment(text: &str) -> Result<(String, Setting)> {
    match text.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() && !value.trim().is_empty() => {
            Ok((path.trim().to_owned(), Setting::new(value)))
        }
        _ => Err(Error::input(format!("{text:?} is not path=value"))
            .hint("for example l1.mshr_mergers=16")),
    }
}

/// A refused override.
pub(super) struct Refusal {
    /// The path of the override that is to blame, as its settings have it.
    pub path: String,
    /// What is wrong and what to do about it, without the path.
    pub error: Error,
}

impl Refusal {
    /// The refusal as an error that names the override: `l1.sets=64: ..`.
    pub fn into_error(self, settings: &Settings) -> Error {
        let value = settings.get(&self.path).map_or("", Setting::ron);
        let message = format!("{}={value}: {}", self.path, self.error.message);
        Error { message, ..self.error }
    }
}

/// Everything that an override can reach.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Target {
    pub machine: Machine,
    pub workload: WorkloadSpec,
    #[serde(deserialize_with = "whole")]
    pub seed: u64,
}

/// What an override of the workload can reach, and of the seed.
#[derive(Serialize, Deserialize)]
struct WorkloadTarget {
    workload: WorkloadSpec,
    #[serde(deserialize_with = "whole")]
    seed: u64,
}

impl Target {
    /// Changes a run. A machine in which nothing is set is not written and read again, which takes as long as to read its file.
    pub fn change(self, settings: &Settings) -> std::result::Result<Target, Refusal> {
        let is_of_machine = |path: &String| {
            !matches!(path.split('.').next().map(str::trim), Some("workload" | "seed"))
        };
        if settings.keys().any(is_of_machine) {
            return change(self, settings);
        }
        let Target { machine, workload, seed } = self;
        let WorkloadTarget { workload, seed } =
            change(WorkloadTarget { workload, seed }, settings)?;
        Ok(Target { machine, workload, seed })
    }
}

/// The machine alone, where there is no run.
#[derive(Serialize, Deserialize)]
struct MachineTarget {
    machine: Machine,
}

/// Changes a machine.
///
/// An error names one override: `l1.sets=64: what is wrong (hint: ..)`.
pub fn apply_to_machine(machine: &Machine, settings: &Settings) -> Result<Machine> {
    let target = MachineTarget { machine: machine.clone() };
    let target = change(target, settings).map_err(|refusal| refusal.into_error(settings))?;
    Ok(target.machine)
}

/// Puts every override in its place, and reads the result back.
fn change<T: Serialize + DeserializeOwned>(
    target: T,
    settings: &Settings,
) -> std::result::Result<T, Refusal> {
    if settings.is_empty() {
        return Ok(target);
    }
    let mut text = parse::to_text(&target);
    let root = Node::parse(&text);
    let mut ordered: Vec<(Vec<String>, &String, &Setting)> =
        settings.iter().map(|(path, setting)| (absolute(path, &root), path, setting)).collect();
    // An override of a whole comes before one of its parts.
    ordered.sort_by_key(|(absolute, ..)| absolute.len());
    let mut previous: BTreeSet<&[String]> = BTreeSet::new();
    for (absolute, path, setting) in &ordered {
        let refuse = |error| Refusal { path: (*path).clone(), error };
        if !previous.insert(absolute) {
            return Err(refuse(Error::input("this field is set twice, with and without machine.")));
        }
        text = match put(&text, absolute, setting) {
            Ok(text) => text,
            Err(error) => match parse::diagnose::<T>(&text) {
                // An override of a whole may leave out fields that have defaults: write them out.
                Ok(whole) => put(&parse::to_text(&whole), absolute, setting).map_err(refuse)?,
                // Wrong already, in an override of a whole that this one is a part of?
                Err(problem) => {
                    let holds = |path: &Vec<String>| {
                        path != absolute
                            && absolute.starts_with(path)
                            && problem.path.starts_with(path)
                    };
                    return Err(match ordered.iter().any(|(path, ..)| holds(path)) {
                        true => blame(&text, problem, &ordered),
                        false => refuse(error),
                    });
                }
            },
        };
    }
    parse::diagnose(&text).map_err(|problem| blame(&text, problem, &ordered))
}

/// The path from the top: `machine.` goes in front of what is not the workload's or the seed's.
fn absolute(path: &str, root: &Node) -> Vec<String> {
    let mut absolute: Vec<String> = path.split('.').map(|part| part.trim().to_owned()).collect();
    if absolute.first().is_none_or(|first| !root.field_names().contains(&first.as_str())) {
        absolute.insert(0, "machine".to_owned());
    }
    absolute
}

/// A path as messages have it: without `machine.` in front.
fn shown(absolute: &[String]) -> &[String] {
    match absolute {
        [first, rest @ ..] if first == "machine" => rest,
        all => all,
    }
}

/// Replaces the value at `path`.
fn put(text: &str, path: &[String], setting: &Setting) -> Result<String> {
    let root = Node::parse(text);
    let mut node = &root;
    for (depth, key) in path.iter().enumerate() {
        node = match node.find(&[key]) {
            Some(inner) => inner,
            None => {
                let parent = shown(&path[..depth]);
                let fields = node.field_names();
                let place = match parent {
                    [] => String::new(),
                    parent => format!(" in {}", parent.join(".")),
                };
                let message = format!("no field {key}{place}");
                let value = &text[node.start..node.end];
                return Err(match fields.is_empty() {
                    _ if value.starts_with('[') => Error::input(format!(
                        "no entry {key}{place}, which has {}, counted from 0",
                        node.entries.len()
                    )),
                    // What is called like one of the run's fields may be meant.
                    false if parent.is_empty() && depth > 0 => {
                        let others = root.field_names();
                        // A machine alone has no fields of a run.
                        let others = if others.len() > 1 { others } else { Vec::new() };
                        let names: Vec<&str> = fields.into_iter().chain(others).collect();
                        Error::input(message).hint(suggest(key, &names))
                    }
                    false => Error::input(message).hint(suggest(key, &fields)),
                    true => Error::input(format!("{message}, which is {value}")),
                });
            }
        };
    }
    let old = &text[node.start..node.end];
    let is_quoted = |value: &str| value.trim_end().ends_with(['"', '#']);
    let is_text = is_quoted(old) && !is_quoted(setting.ron()) && !is_list(setting.ron());
    let new = if is_text {
        ron::to_string(setting.ron()).expect("a text can be written as RON")
    } else {
        RawValue::from_ron(setting.ron()).map_err(|error| {
            let refused = format!("the value is not RON: {}", parse::said(&error.code));
            match has_unit(setting.ron()) {
                true => Error::input(format!("{} is no number", setting.ron()))
                    .hint("a number stands alone: its unit is the field's, bytes or kHz or cycles"),
                // As a condition on the command line is written, and not a field.
                false if setting.ron().contains('=') => Error::input(refused)
                    .hint("a field reads `name: value`, for example TwoLevel(active: 8)"),
                false => Error::input(refused),
            }
        })?;
        setting.ron().to_owned()
    };
    Ok(format!("{}{new}{}", &text[..node.start], &text[node.end..]))
}

/// Whether a value is a number with letters behind it, such as `16KB`.
fn has_unit(value: &str) -> bool {
    let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    number.len() < value.len() && number.parse::<f64>().is_ok()
}

/// Whether a value is a list such as `(4, 2)`, which no text without its quotes is.
fn is_list(value: &str) -> bool {
    let list = ron::from_str::<ron::Value>(value);
    value.starts_with('(') && matches!(list, Ok(ron::Value::Seq(sides)) if sides.len() > 1)
}

/// Finds the override that made the text wrong.
fn blame(text: &str, problem: Problem, ordered: &[(Vec<String>, &String, &Setting)]) -> Refusal {
    let root = Node::parse(text);
    let is_set = |field: &Vec<String>| ordered.iter().any(|(path, ..)| path == field);
    // The fields that the rule between fields names.
    let mentioned: Vec<Vec<String>> = root
        .find(&problem.path)
        .map(|node| mentioned_fields(node, &problem.message))
        .unwrap_or_default()
        .into_iter()
        .map(|inner| problem.path.iter().cloned().chain(inner).collect())
        .collect();
    let culprit = ordered
        .iter()
        .rfind(|(path, ..)| problem.path.starts_with(path))
        .or_else(|| ordered.iter().find(|(path, ..)| mentioned.contains(path)))
        .or_else(|| ordered.iter().find(|(path, ..)| path.starts_with(&problem.path)))
        .or(ordered.first());
    let Some((path, name, _)) = culprit else {
        let error = Error::internal(format!("a checked value was refused: {}", problem.message));
        return Refusal { path: String::new(), error };
    };
    let partners: Vec<String> = mentioned
        .iter()
        .filter(|field| !is_set(field) && !field.starts_with(path))
        .map(|field| shown(field).join("."))
        .collect();
    let hint = problem.hint.or_else(|| match partners.as_slice() {
        [] => None,
        [only] => Some(format!("set {only} too")),
        [some @ .., last] => Some(format!("set {} or {last} too", some.join(", "))),
    });
    // Where only a part of the value is wrong, the message says which.
    let part = problem.path.strip_prefix(path.as_slice()).unwrap_or_default();
    let message = match part {
        [] => problem.message,
        // A number alone looks like a value.
        [first, ..] if first.parse::<usize>().is_ok() => {
            format!("entry {}: {}", part.join("."), problem.message)
        }
        part => format!("{}: {}", part.join("."), problem.message),
    };
    Refusal { path: (*name).clone(), error: Error::input(message).hinted(hint) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::presets;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(path, value)| ((*path).to_owned(), Setting::new(value))).collect()
    }

    fn apply_all(pairs: &[(&str, &str)]) -> Result<(Machine, WorkloadSpec, u64)> {
        let machine = presets::find("gtx480")?.machine()?;
        let target = Target { machine, workload: spec("Stencil1d(element: Char)"), seed: 1 };
        let settings = settings(pairs);
        let target = target.change(&settings).map_err(|refusal| refusal.into_error(&settings))?;
        Ok((target.machine, target.workload, target.seed))
    }

    fn spec(text: &str) -> WorkloadSpec {
        crate::config::parse::stated(text)
    }

    fn error(pairs: &[(&str, &str)]) -> String {
        apply_all(pairs).unwrap_err().to_string()
    }

    #[test]
    fn fields_of_machine_workload_and_seed_change() {
        let (machine, workload, seed) = apply_all(&[
            ("l1.mshr_mergers", "16"),
            ("machine.dram.timing.rcd", "0x10"),
            ("sm.policy", "TwoLevel(active: 8)"),
            ("l1.index", "Xor"),
            ("dram.mapping", "RRRRRRRR.RRRRRRRR.BBBBCCCC.CCSSSSSS"),
            ("name", "\"mine\""),
            ("sm.arithmetic.sfu", "(latency: 9, interval: 2)"),
            ("compute_capability.1", "1"),
            ("workload.element", "Short"),
            ("workload.elements", "1_000"),
            ("seed", "7"),
        ])
        .unwrap();
        assert_eq!(machine.l1.mshr_mergers.get(), 16);
        assert_eq!(machine.dram.timing.rcd.get(), 16);
        assert_eq!(parse::to_text(&machine.sm.policy), "TwoLevel(\n    active: 8,\n)");
        assert_eq!(machine.dram.mapping, "RRRRRRRR.RRRRRRRR.BBBBCCCC.CCSSSSSS");
        assert_eq!(machine.name, "mine");
        assert_eq!(machine.sm.arithmetic.sfu.interval.get(), 2);
        assert_eq!(machine.compute_capability, (2, 1));
        assert_eq!(workload, spec("Stencil1d(element: Short, elements: 1000)"));
        assert_eq!(seed, 7);
    }

    #[test]
    fn a_list_may_stand_where_an_expression_stood() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/runs/spmv.ron");
        let set = |path: &str, value| {
            let run = crate::config::load_run(&file, &[(path.to_owned(), Setting::new(value))]);
            parse::to_text(&run.unwrap().config.workload).split_whitespace().collect::<String>()
        };
        let grid = "workload.launches.0.grid";
        assert!(set(grid, "(4, 2)").contains("grid:(4,2"), "{}", set(grid, "(4, 2)"));
        assert!(set(grid, "(rows + 1) * 2").contains("grid:\"(rows+1)*2\""));
        assert!(
            set("workload.buffers.y.elements", "(\"rows\", 1)").contains("elements:(\"rows\",1")
        );
    }

    #[test]
    fn nothing_set_changes_nothing() {
        let machine = presets::find("gtx480").unwrap().machine().unwrap();
        assert_eq!(apply_all(&[]).unwrap().0, machine);
        assert_eq!(apply_to_machine(&machine, &Settings::new()).unwrap(), machine);
    }

    #[test]
    fn a_workload_changes_alone_as_with_its_machine() {
        for pairs in [
            [("workload.elements", "1_000"), ("seed", "7")],
            [(" workload . elements", "1_000"), ("workload.elementz", "7")],
            [("workload.elements", "many"), ("seed", "7")],
            [("workload", "Stencil1d((element: Int))"), ("workload.elements", "0")],
            [("workload.elements.x", "1"), ("seed", "-1")],
        ] {
            let machine = presets::find("gtx480").unwrap().machine().unwrap();
            let target = Target { machine, workload: spec("Stencil1d(element: Char)"), seed: 1 };
            let settings = settings(&pairs);
            let told = |refusal: Refusal| refusal.into_error(&settings).to_string();
            let alone = target.clone().change(&settings).map_err(told);
            let whole = change(target, &settings).map_err(told);
            match (alone, whole) {
                (Ok(alone), Ok(whole)) => assert_eq!(
                    (alone.machine, alone.workload, alone.seed),
                    (whole.machine, whole.workload, whole.seed)
                ),
                (alone, whole) => assert_eq!(alone.err(), whole.err(), "{pairs:?}"),
            }
        }
    }

    #[test]
    fn fields_that_depend_on_each_other_change_together() {
        let (machine, ..) = apply_all(&[("l1.sets", "64"), ("l1.size", "32768")]).unwrap();
        assert_eq!((machine.l1.sets.get(), machine.l1.size.get()), (64, 32768));
    }

    #[test]
    fn a_whole_is_replaced_before_its_parts() {
        let (_, workload, _) = apply_all(&[
            ("workload", "Stencil1d(element: Int, elements: 64)"),
            ("workload.elements", "128"),
        ])
        .unwrap();
        assert_eq!(workload, spec("Stencil1d(element: Int, elements: 128)"));
    }

    #[test]
    fn a_part_that_the_whole_leaves_to_its_default_changes_too() {
        let whole = ("workload", "Matmul(element: Int)");
        let (_, workload, _) =
            apply_all(&[whole, ("workload.size", "64"), ("workload.element", "Char")]).unwrap();
        assert_eq!(workload, spec("Matmul(element: Char, size: 64)"));
        assert_eq!(
            error(&[whole, ("workload.elements", "64")]),
            "workload.elements=64: no field elements in workload (hint: did you mean element?)"
        );
        assert_eq!(
            error(&[whole, ("workload.size", "0")]),
            "workload.size=0: 0 is outside 1..=16384"
        );
        assert_eq!(
            error(&[("workload", "Matmul(element: No)"), ("workload.size", "9")]),
            "workload=Matmul(element: No): element: no variant No (hint: one of Int, Short, Char)"
        );
    }

    #[test]
    fn a_wrong_override_is_named_with_what_to_do() {
        for (pairs, want) in [
            (
                &[("l1.mshr_mergrs", "16")][..],
                "l1.mshr_mergrs=16: no field mshr_mergrs in l1 (hint: did you mean mshr_mergers?)",
            ),
            (
                &[("l3.size", "1")],
                "l3.size=1: no field l3 (hint: one of name, compute_capability, calibration, clocks, launch, sm, lsu, shared_memory, l1, noc, l2, dram, machine, workload, seed)",
            ),
            (&[("l1.sets.x", "1")], "l1.sets.x=1: no field x in l1.sets, which is 32"),
            (
                &[("sm.gpcs.99", "1")],
                "sm.gpcs.99=1: no entry 99 in sm.gpcs, which has 4, counted from 0",
            ),
            (
                &[("sm.gpcs", "3")],
                "sm.gpcs=3: expected opening `[` (hint: a list stands in brackets: [3])",
            ),
            (
                &[("sm.policy", "TwoLevel")],
                "sm.policy=TwoLevel: expected opening `(` (hint: for example TwoLevel(active: 8))",
            ),
            (
                &[("compute_capability", "9")],
                "compute_capability=9: expected opening `(` (hint: for example (9, 0))",
            ),
            (
                &[("sm.arithmetic.sfu", "4")],
                "sm.arithmetic.sfu=4: expected opening `(` for struct `OpTiming` \
                 (hint: fields stand in parentheses: (name: value, ..))",
            ),
            (
                &[("dram.timing.refi", "1")],
                "dram.timing.refi=1: timing.refi (1) leaves no time between refreshes: \
                 with timing.rfc (61), a bank needs 123 clocks (hint: set dram.timing.rfc too)",
            ),
            (&[("workload.element", "3")], "workload.element=3: expected a name, found 3"),
            (&[("l1.mshr_mergers", "65")], "l1.mshr_mergers=65: 65 is outside 1..=64"),
            (&[("l1.mshr_mergers", "-1")], "l1.mshr_mergers=-1: -1 is outside 1..=64"),
            (
                &[("l1.mshr_mergers", "many")],
                "l1.mshr_mergers=many: expected a whole number in 1..=64, found many",
            ),
            (&[("sm.policy", "gto")], "sm.policy=gto: no variant gto (hint: did you mean Gto?)"),
            (
                &[("sm.policy", "TwoLevel(active: 99)")],
                "sm.policy=TwoLevel(active: 99): active: 99 is outside 1..=64",
            ),
            (
                &[("sm.policy", "TwoLevel(warps: 9)")],
                "sm.policy=TwoLevel(warps: 9): no field warps (hint: one of active)",
            ),
            (
                &[("l1.sets", "64"), ("seed", "3")],
                "l1.sets=64: sets (64) x ways (4) x line (128) = 32768, but size is 16384 \
                 (hint: set l1.ways, l1.line or l1.size too)",
            ),
            (
                &[("dram.channels", "5")],
                "dram.channels=5: l2.slices (12) is not a multiple of dram.channels (5) \
                 (hint: set l2.slices too)",
            ),
            (
                &[("dram.channels", "1"), ("l2.slices", "65")],
                "dram.channels=1: l2.slices (65) are more than 64 for each of dram.channels (1)",
            ),
            (
                &[("clocks.core_khz", "1400")],
                "clocks.core_khz=1400: 1400 is outside 10000..=10000000 (hint: in kHz: 1400 MHz are 1400000)",
            ),
            (
                &[("sm.policy", "TwoLevel(active=8)")],
                "sm.policy=TwoLevel(active=8): the value is not RON: Expected comma \
                 (hint: a field reads `name: value`, for example TwoLevel(active: 8))",
            ),
            (&[("l1.sets", "(")], "l1.sets=(: the value is not RON: Unexpected end of RON"),
            (
                &[("l1.sets", "64, ways: 2")],
                "l1.sets=64, ways: 2: the value is not RON: Non-whitespace trailing characters",
            ),
            (
                &[("l1.size", "16KB")],
                "l1.size=16KB: 16KB is no number (hint: a number stands alone: its unit is the field's, bytes or kHz or cycles)",
            ),
            (
                &[("l1.sets", "32"), ("machine.l1.sets", "32")],
                "machine.l1.sets=32: this field is set twice, with and without machine.",
            ),
            (&[("seed", "-1")], "seed=-1: -1 is outside 0..=18446744073709551615"),
        ] {
            assert_eq!(error(pairs), want);
        }
    }

    #[test]
    fn settings_keep_their_ron_text_in_ron_and_in_json() {
        let settings: Settings =
            ron::from_str(r#"{"a": TwoLevel( active: 8 ), "b": Gto, "c": 0x10, "d": "x"}"#)
                .unwrap();
        let values: Vec<&str> = settings.values().map(Setting::ron).collect();
        assert_eq!(values, ["TwoLevel( active: 8 )", "Gto", "0x10", "\"x\""]);
        let json = serde_json::to_string(&settings).unwrap();
        assert_eq!(json, r#"{"a":"TwoLevel( active: 8 )","b":"Gto","c":"0x10","d":"\"x\""}"#);
        assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), settings);
        assert_eq!(ron::from_str::<Settings>(&parse::to_text(&settings)).unwrap(), settings);
    }
}
