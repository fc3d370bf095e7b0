//! What reports are called where they are compared.

use std::path::{Path, PathBuf};

/// The reports' own names, where no two are the same. Else what is different of their paths; numbered, where that is not
/// enough.
pub fn names(own: &[&str], paths: &[&Path]) -> Vec<String> {
    let own: Vec<_> = own.iter().map(|name| (*name).to_owned()).collect();
    if are_distinct(&own) {
        return own;
    }
    let parts = different_parts(paths);
    if parts.iter().all(|part| !part.is_empty()) && are_distinct(&parts) {
        return parts;
    }
    own.iter().enumerate().map(|(place, name)| format!("{name} ({})", place + 1)).collect()
}

fn are_distinct(names: &[String]) -> bool {
    (1..names.len()).all(|place| !names[..place].contains(&names[place]))
}

/// The paths without what all of them begin and end with.
fn different_parts(paths: &[&Path]) -> Vec<String> {
    let parts: Vec<Vec<_>> = paths.iter().map(|path| path.components().collect()).collect();
    let shortest = parts.iter().map(Vec::len).min().unwrap_or(0);
    let first = &parts[0];
    let is_in_all = |at: usize| parts.iter().all(|one| one[at] == first[at]);
    let lead = (0..shortest).take_while(|at| is_in_all(*at)).count();
    let ends_all =
        |at: usize| parts.iter().all(|one| one[one.len() - at] == first[first.len() - at]);
    let trail = (1..=shortest - lead).take_while(|at| ends_all(*at)).count();
    let middle = |one: &Vec<std::path::Component>| {
        one[lead..one.len() - trail].iter().collect::<PathBuf>().display().to_string()
    };
    parts.iter().map(middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(own: &[&str], paths: &[&str], want: &[&str]) {
        let paths: Vec<_> = paths.iter().map(Path::new).collect();
        assert_eq!(names(own, &paths), want);
    }

    #[test]
    fn reports_of_one_name_are_told_apart_by_their_paths() {
        check(&["a", "b"], &["x/a", "x/b"], &["a", "b"]);
        check(&["a", "a"], &["x/before/a", "x/after/a"], &["before", "after"]);
        check(&["a", "a", "b"], &["r/1/q/a", "r/2/q/a", "r/2/q/b"], &["1/q/a", "2/q/a", "2/q/b"]);
        check(&["a", "a"], &["a/report.json", "other/report.json"], &["a", "other"]);
        // Nothing is left of one, and all is the same.
        check(&["a", "a"], &["x/a", "x/y/a"], &["a (1)", "a (2)"]);
        check(&["a", "a"], &["x/a", "x/a"], &["a (1)", "a (2)"]);
    }
}
