//! Where JSON values differ.

use serde_json::{Map, Value};

/// A place at which values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Names of fields, joined by dots: the path that `--set` takes for a machine's.
    pub path: String,
    /// Of each value, what it has there, as RON; `-` where it has nothing.
    pub values: Vec<String>,
}

/// Fields that hold maps, whose keys a user has chosen: none is a variant.
const MAPS: [&str; 3] = ["parameters", "buffers", "versions"];

/// Every place at which not all of `values` are the same, in the order of their fields. What they have there is cut behind
/// `letters`.
pub fn differences(values: &[&Value], letters: usize) -> Vec<Difference> {
    let mut found = Vec::new();
    let values: Vec<_> = values.iter().copied().map(Some).collect();
    walk("", &values, &mut found);
    for value in found.iter_mut().flat_map(|one| &mut one.values) {
        cut(value, letters);
    }
    found
}

fn walk(path: &str, values: &[Option<&Value>], found: &mut Vec<Difference>) {
    if values.iter().all(|value| *value == values[0]) {
        return;
    }
    let whole = || Difference {
        path: path.to_owned(),
        values: values.iter().map(|value| shown(*value)).collect(),
    };
    let objects: Option<Vec<_>> =
        values.iter().map(|value| value.and_then(Value::as_object)).collect();
    let Some(objects) = objects else {
        found.push(whole());
        return;
    };
    let is_map = path.rsplit('.').next().is_some_and(|field| MAPS.contains(&field));
    let variants: Vec<_> =
        objects.iter().filter(|_| !is_map).filter_map(|object| variant(object)).collect();
    if variants.is_empty() {
        let mut keys: Vec<&String> = Vec::new();
        for key in objects.iter().flat_map(|object| object.keys()) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        for key in keys {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let values: Vec<_> = objects.iter().map(|object| object.get(key)).collect();
            walk(&inner, &values, found);
        }
    } else if variants.len() == objects.len()
        && variants.iter().all(|(name, _)| *name == variants[0].0)
    {
        // The name of a variant is no part of a path.
        let contents: Vec<_> = variants.iter().map(|(_, content)| Some(*content)).collect();
        walk(path, &contents, found);
    } else {
        found.push(whole());
    }
}

/// Name and content, where the object is an enum's variant: fields have small letters.
fn variant(object: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (name, value) = object.iter().next()?;
    (object.len() == 1 && name.starts_with(char::is_uppercase)).then_some((name, value))
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "-".to_owned(), ron)
}

fn cut(text: &mut String, letters: usize) {
    if let Some((end, _)) = text.char_indices().nth(letters) {
        text.truncate(end);
        text.push_str("...");
    }
}

/// A value as a file of gsim has it, texts without their quotes.
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
    use serde_json::json;

    #[track_caller]
    fn check(values: &[Value], want: &[(&str, &[&str])]) {
        let values: Vec<_> = values.iter().collect();
        let found = differences(&values, 30);
        let found: Vec<_> = found
            .iter()
            .map(|one| {
                (one.path.as_str(), one.values.iter().map(String::as_str).collect::<Vec<_>>())
            })
            .collect();
        let want: Vec<_> = want.iter().map(|(path, values)| (*path, values.to_vec())).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn fields_that_differ_are_named_by_their_paths() {
        let value = |capability: [u32; 2], mergers: u32, rcd: u32| json!({"cc": capability, "l1": {"size": 1, "mergers": mergers}, "timing": {"rcd": rcd}});
        check(
            &[value([2, 0], 8, 12), value([2, 1], 16, 12), value([2, 0], 8, 13)],
            &[
                ("cc", &["(2, 0)", "(2, 1)", "(2, 0)"]),
                ("l1.mergers", &["8", "16", "8"]),
                ("timing.rcd", &["12", "12", "13"]),
            ],
        );
        check(&[value([2, 0], 8, 12), value([2, 0], 8, 12)], &[]);
    }

    #[test]
    fn a_choice_is_shown_with_its_parameters_and_the_same_choice_by_them() {
        let two_level = json!({"policy": {"TwoLevel": {"active": 8}}});
        check(
            &[json!({"policy": "Gto"}), two_level.clone()],
            &[("policy", &["Gto", "TwoLevel(active: 8)"])],
        );
        let other = json!({"policy": {"TwoLevel": {"active": 4}}});
        check(&[two_level.clone(), other], &[("policy.active", &["8", "4"])]);
        let bounded = json!({"policy": {"Bounded": 3}});
        check(&[two_level, bounded], &[("policy", &["TwoLevel(active: 8)", "Bounded(3)"])]);
    }

    #[test]
    fn what_a_user_has_named_is_no_variant() {
        let value = |n: u32| json!({"workload": {"Kernel": {"parameters": {"N": n}}}});
        check(&[value(64), value(96)], &[("workload.parameters.N", &["64", "96"])]);
    }

    #[test]
    fn a_missing_part_is_seen() {
        check(
            &[json!({"l1": null, "n": 1}), json!({"l1": {"size": 2}, "more": true})],
            &[("l1", &["None", "(size: 2)"]), ("n", &["1", "-"]), ("more", &["-", "true"])],
        );
    }

    #[test]
    fn a_long_value_is_cut() {
        let long = json!({"text": "x".repeat(100)});
        let cut = format!("{}...", "x".repeat(30));
        check(&[json!({"text": ""}), long], &[("text", &["", &cut])]);
    }
}
