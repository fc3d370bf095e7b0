//! The order of the modules: each imports only what stands before it.

use std::fs;
use std::path::{Path, PathBuf};

/// Every module, from the foundations up. Modules on one line share what stands above and do not
/// import each other.
const LAYERS: &[&[&str]] = &[
    &["units"],
    &["ring", "prefetch", "heap", "serial", "partial"],
    &["stats"],
    &["error"],
    &["nvrtc"],
    &["config"],
    &["isa"],
    &["parts"],
    &["workload"],
    &["frontend"],
    &["sm", "l1", "noc", "l2", "dram"],
    &["gpu"],
    &["limits"],
    &["report"],
    &["simulate"],
    &["native"],
    &["study"],
    &["calibrate"],
    &["cli"],
];

/// The paragraphs of the crate's documentation come in the order of the layers.
#[test]
fn the_modules_are_described_in_their_order() {
    let text = include_str!("../src/lib.rs");
    let list = text.split("# The modules, in the order of the data").nth(1).unwrap();
    let list = list.split("//! # ").next().unwrap();
    let described: Vec<usize> = list
        .split("**[`")
        .skip(1)
        .map(|rest| rest.split('`').next().unwrap())
        .map(|module| layer_of(module).unwrap_or_else(|| panic!("{module} has no layer")))
        .collect();
    assert!(described.len() > 15 && described.is_sorted(), "{described:?}");
}

/// The crate's own files, which name modules to declare them.
const ROOTS: [&str; 2] = ["lib", "main"];

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a source folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The source files below `src`, each with the module that it belongs to.
fn modules() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let module_of = |file: &Path| {
        let first = file.strip_prefix(&root).unwrap().iter().next().unwrap().to_str().unwrap();
        first.trim_end_matches(".rs").to_owned()
    };
    files
        .into_iter()
        .map(|file| (module_of(&file), file))
        .filter(|(module, _)| !ROOTS.contains(&module.as_str()))
        .collect()
}

/// The identifiers that begin the paths after every `crate::` of a text, grouped imports included.
fn imports(text: &str) -> Vec<String> {
    let identifier = |text: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.chars().take_while(|&c| is_part(c)).collect::<String>()
    };
    let mut found = Vec::new();
    for after in text.split("crate::").skip(1) {
        let Some(group) = after.strip_prefix('{') else {
            found.push(identifier(after));
            continue;
        };
        let mut depth = 0;
        let mut starts = true;
        for (place, c) in group.char_indices() {
            match c {
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                '{' => depth += 1,
                ',' if depth == 0 => starts = true,
                _ if starts && !c.is_whitespace() => {
                    found.push(identifier(&group[place..]));
                    starts = false;
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn every_module_has_its_place_in_the_order() {
    for (module, file) in modules() {
        assert!(layer_of(&module).is_some(), "{} is in no layer", file.display());
    }
}

#[test]
fn modules_import_only_what_stands_before_them() {
    let mut seen = 0;
    let mut violations = Vec::new();
    for (module, file) in modules() {
        let layer = layer_of(&module);
        let text = fs::read_to_string(&file).unwrap();
        for import in imports(&text) {
            // A macro of the crate's root is no module.
            let Some(other) = layer_of(&import) else { continue };
            seen += 1;
            if import != module && Some(other) >= layer {
                violations.push(format!("{} imports {import}", file.display()));
            }
        }
    }
    assert_eq!(violations, Vec::<String>::new());
    assert!(seen > 100, "the imports are no longer found: {seen}");
}

/// What happens every cycle asks no hash, and borrows nothing that it has to count.
#[test]
fn what_is_simulated_neither_hashes_nor_counts_references() {
    const PARTS: [&str; 10] =
        ["units", "ring", "isa", "parts", "sm", "l1", "noc", "l2", "dram", "gpu"];
    const NAMES: [&str; 7] =
        ["HashMap", "HashSet", "BTreeMap", "BTreeSet", "RefCell", "Rc<", "Box<dyn"];
    let mut files = modules();
    let is_test = |file: &Path| file.iter().any(|part| part == "tests" || part == "tests.rs");
    files.retain(|(module, file)| PARTS.contains(&module.as_str()) && !is_test(file));
    assert!(files.len() > 80, "the parts are no longer found: {} files", files.len());
    for (_, file) in files {
        let text = fs::read_to_string(&file).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for name in NAMES {
            assert!(!text.contains(name), "{} has a {name}", file.display());
        }
    }
}

#[test]
fn imports_are_found_alone_and_in_groups() {
    let text = "use crate::l1::{A, B}; use crate::{gpu, report::{x, y}, dram}; crate::counters! {}";
    assert_eq!(imports(text), ["l1", "gpu", "report", "dram", "counters"]);
}
