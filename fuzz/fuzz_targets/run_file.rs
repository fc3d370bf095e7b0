//! Any text is read as a run file and resolved: `cargo +nightly fuzz run run_file`.
//!
//! A good corpus to start from is `configs/runs`.
#![no_main]

use std::path::Path;

use gsim::config::RunFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(file) = RunFile::from_text(Path::new("configs/runs/fuzz.ron"), text.to_owned()) {
        let _ = file.resolve(&[]);
    }
});
