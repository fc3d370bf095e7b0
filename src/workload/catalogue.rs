//! The workloads that a run file can name, as `gsim workload list` and `show` describe them.

pub use super::description::{Description, Parameter};

/// The parameter that every workload over one array type has.
const ELEMENT: Parameter = Parameter {
    name: "element",
    meaning: "type of an element: Int, Short or Char (4, 2 or 1 bytes)",
    default: None,
};

/// A parameter with a default.
const fn parameter(name: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, meaning, default: Some(default) }
}

/// Every workload that a run file can name.
pub const WORKLOADS: &[Description] = &[
    Description {
        name: "Stencil1d",
        summary: "out[i] = (in[i-1] + in[i] + in[i+1]) / 3, borders copied, arrays swapped after each launch",
        parameters: &[
            ELEMENT,
            parameter("elements", "524288", "elements of each of the two arrays [1..=1073741824]"),
            parameter("block", "256", "threads of a CTA [1..=1024]"),
            parameter("iterations", "4", "launches [1..=1000000]"),
        ],
        example: "Stencil1d(element: Char, elements: 1048576)",
    },
    Description {
        name: "Matmul",
        summary: "c = a b for square matrices in global memory, a thread an element of c",
        parameters: &[
            ELEMENT,
            parameter("size", "512", "rows, and columns, of each matrix [1..=16384]"),
            parameter("block_x", "16", "threads of a CTA along a row of c [1..=1024]"),
            parameter("block_y", "16", "threads of a CTA along a column of c [1..=1024]"),
        ],
        example: "Matmul(element: Short, size: 256)",
    },
    Description {
        name: "Stereo",
        summary: "disparity of a stereo pair by belief propagation with 16 labels, a thread a row or a column",
        parameters: &[
            ELEMENT,
            parameter("width", "384", "columns of the image [1..=4096]"),
            parameter("height", "288", "rows of the image [1..=4096]"),
            parameter("iterations", "1", "sweeps right, left, up and down [1..=10000]"),
            parameter("block", "32", "threads of a CTA [1..=1024]"),
            parameter(
                "layout",
                "LabelMajor",
                "order of the values in memory: PixelMajor [pixel][box][label], BoxMajor [box][pixel][label] \
                 or LabelMajor [box][label][pixel]",
            ),
        ],
        example: "Stereo(element: Char, width: 192, height: 144)",
    },
    super::synthetic::DESCRIPTION,
    KERNEL,
    Description {
        name: "Trace",
        summary: "instruction streams from a file; traces/README.md says how to make one",
        parameters: &[
            Parameter {
                name: "file",
                meaning: "the trace (.gtrace), relative to the run file",
                default: None,
            },
            parameter(
                "launches",
                "[]",
                "launches to simulate, by number from 0, in order; all where there are none",
            ),
        ],
        example: "Trace(file: \"gather.gtrace\", launches: [0])",
    },
];

const KERNEL: Description = Description {
    name: "Kernel",
    summary: "a kernel of your own; workloads/README.md describes every field",
    parameters: &[
        Parameter {
            name: "source",
            meaning: "PTX (.ptx), or CUDA C++ (.cu) for NVRTC, relative to the run file",
            default: None,
        },
        Parameter { name: "options", meaning: "options for NVRTC", default: Some("[]") },
        Parameter {
            name: "parameters",
            meaning: "whole numbers by name, for expressions such as \"n * n\"",
            default: Some("{}"),
        },
        Parameter {
            name: "buffers",
            meaning: "by name: type, elements, fill, output, expect",
            default: Some("{}"),
        },
        Parameter {
            name: "symbols",
            meaning: "variables of the module: what they hold before the first launch",
            default: Some("{}"),
        },
        Parameter {
            name: "launches",
            meaning: "Launch(entry, grid, block, shared, args), Loop(times, index, body, swap), Concurrent(body) and Untimed(body), in order",
            default: None,
        },
        Parameter {
            name: "instruction_limit",
            meaning: "warp instructions that one launch may execute [1..]",
            default: Some("4294967296"),
        },
        Parameter {
            name: "checks",
            meaning: "whether a read of unwritten shared memory and a division by zero end the run",
            default: Some("(uninitialised_shared: true, division: true)"),
        },
    ],
    example: r#"Kernel(
    source: "saxpy.ptx",
    parameters: {"n": 4096},
    buffers: {
        "x": (type: F32, elements: "n", fill: Uniform(low: -1, high: 1)),
        "y": (type: F32, elements: "n", fill: Iota(), output: "y.npy"),
    },
    launches: [
        Launch(
            entry: "saxpy",
            grid: "ceil_div(n, 256)",
            block: 256,
            args: [I32("n"), F32(2), Buffer("x"), Buffer("y")],
        ),
    ],
)"#,
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::WorkloadSpec;

    /// What a run file says at the least.
    fn required(workload: &Description) -> String {
        let fields = workload.parameters.iter().filter(|parameter| parameter.default.is_none());
        let values = fields.map(|parameter| match parameter.name {
            "element" => "element: Char",
            "source" => "source: \"a.ptx\"",
            "file" => "file: \"a.gtrace\"",
            "launches" => "launches: [Launch(entry: \"a\", grid: 1, block: 1)]",
            other => panic!("{}: a value of {other} for the tests", workload.name),
        });
        values.collect::<Vec<_>>().join(", ")
    }

    /// A workload of the list with these parameters.
    fn spec(workload: &Description, parameters: &str) -> WorkloadSpec {
        let text = format!("{}({parameters})", workload.name);
        crate::config::parse::stated(&text)
    }

    #[test]
    fn the_list_has_every_workload_of_run_files() {
        let nothing = serde_json::json!({"Nothing": {}});
        let error = crate::serial::from_json_value::<WorkloadSpec>(nothing).unwrap_err();
        let listed: Vec<String> =
            WORKLOADS.iter().map(|workload| format!("`{}`", workload.name)).collect();
        let expected = format!("unknown variant `Nothing`, expected one of {}", listed.join(", "));
        assert!(error.to_string().starts_with(&expected), "{error}");
    }

    #[test]
    fn the_list_states_the_parameters_and_defaults_that_run_files_have() {
        // A pattern's fields are nested: its own file tests them.
        let flat = WORKLOADS.iter().filter(|workload| workload.name != "Synthetic");
        for workload in flat {
            let least = spec(workload, &required(workload));
            let defaults = workload
                .parameters
                .iter()
                .filter_map(|one| Some(format!(", {}: {}", one.name, one.default?)))
                .collect::<String>();
            let stated = spec(workload, &(required(workload) + &defaults));
            assert_eq!(stated, least);
            // And nothing else.
            let fields = crate::serial::to_json_value(&least);
            let fields = fields[workload.name].as_object().unwrap();
            let listed = workload.parameters.iter().map(|parameter| parameter.name);
            assert!(fields.keys().eq(listed), "{}: {:?}", workload.name, fields.keys());
        }
    }

    #[test]
    fn every_example_is_a_workload_of_its_name() {
        for workload in WORKLOADS {
            let text =
                format!("Run(name: \"a\", machine: \"gtx480\", workload: {})", workload.example);
            let run = crate::config::RunFile::from_text(Path::new("a.ron"), text).unwrap();
            let spec = crate::serial::to_json_value(&run.config.workload);
            assert_eq!(spec.as_object().unwrap().keys().next().unwrap(), workload.name);
        }
    }

    #[test]
    fn the_page_on_own_kernels_has_the_example_and_names_every_field() {
        let page = include_str!("../../workloads/README.md");
        assert!(page.contains(&KERNEL.example.replace('\n', "\n    ")));
        let names = KERNEL.parameters.iter().map(|parameter| parameter.name);
        for name in names.chain([
            "type", "elements", "fill", "output", "expect", "entry", "grid", "block", "shared",
            "args", "times", "index", "body", "swap",
        ]) {
            assert!(page.contains(&format!("| `{name}` |")), "{name}");
        }
        for fill in ["Zero", "Constant", "Iota", "Uniform", "Permutation", "Values", "Npy", "Raw"] {
            assert!(page.contains(&format!("| `{fill}")), "{fill}");
        }
    }
}
