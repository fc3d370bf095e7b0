//! Names: what files are called, and what is said of a name that does not exist.

/// The name of a file or folder made of words, for every file system and shell: what is no letter, digit, dash, underscore or
/// dot becomes a dash.
pub fn plain(words: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    words.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
}

/// How far `wanted` is from `name`, in letters; `None` if it is too far to be meant. Case does not count. Of `letters`
/// letters, a third may be wrong, so that `x` does not suggest `y`.
pub(super) fn distance(wanted: &str, name: &str, letters: usize) -> Option<usize> {
    let distance = strsim::damerau_levenshtein(&wanted.to_lowercase(), &name.to_lowercase());
    (distance <= letters / 3).then_some(distance)
}

/// A hint for a name that is none of `names`: the one that was meant, else all of them.
pub fn suggest<S: AsRef<str>>(found: &str, names: &[S]) -> String {
    let all: Vec<&str> = names.iter().map(|name| name.as_ref()).collect();
    let near = |name| distance(found, name, name.len()).map(|letters| (letters, name));
    if let Some((_, name)) = all.iter().copied().filter_map(near).min() {
        return format!("did you mean {name}?");
    }
    let wanted = found.to_lowercase();
    let longer: Vec<&&str> = all.iter().filter(|name| name.contains(&wanted)).collect();
    match longer.as_slice() {
        _ if all.is_empty() => "it has no fields".to_owned(),
        // A part of a name, such as `mergers` of `mshr_mergers`.
        [only] if wanted.len() >= 3 => format!("did you mean {only}?"),
        _ => format!("one of {}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_by_letters_digits_and_dashes() {
        assert_eq!(plain("L1 hit, .ca"), "L1-hit--.ca");
        assert_eq!(plain("µ/s"), "--s");
    }

    #[test]
    fn a_near_name_or_a_part_of_one_is_suggested() {
        let names = ["mshr_mergers", "mshr_entries", "size"];
        assert_eq!(suggest("mshr_mergrs", &names), "did you mean mshr_mergers?");
        assert_eq!(suggest("Size", &names), "did you mean size?");
        assert_eq!(suggest("mergers", &names), "did you mean mshr_mergers?");
        assert_eq!(suggest("mshr", &names), "one of mshr_mergers, mshr_entries, size");
    }
}
