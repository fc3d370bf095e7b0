//! `gsim workload list`.

use std::fmt::Write as _;

use comfy_table::{Table, presets::NOTHING};

use crate::workload::catalogue::{Description, WORKLOADS};

/// Every workload with its parameters.
pub(super) fn list() -> String {
    let mut text = String::new();
    for workload in WORKLOADS {
        text.push_str(&parameters(workload));
        text.push('\n');
    }
    text.push_str(
        "In a run file:   workload: Stencil1d(element: Char, elements: 1048576),\n\
         By command line: --set workload.elements=1048576\n\
         More about one:  gsim workload show Stencil1d\n",
    );
    text
}

/// A workload's summary, and its parameters as a table.
pub(super) fn parameters(workload: &Description) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(["parameter", "default", "meaning"]);
    for parameter in workload.parameters {
        let default = parameter.default.unwrap_or("required");
        table.add_row([parameter.name, default, parameter.meaning]);
    }
    let mut text = format!("{}: {}\n\n", workload.name, workload.summary);
    for line in table.trim_fmt().lines() {
        let _ = writeln!(text, "  {line}");
    }
    text
}
