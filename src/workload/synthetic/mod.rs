//! Synthetic kernels: patterns of accesses.
//!
//! [`schedule`] says what comes when, [`layout`] where the arrays lie, and [`pattern`] which addresses are taken.
//! `frontend::synthetic` makes warp streams of it, without memory and without a result to check; [`kernel`]
//! makes a kernel in PTX with the same accesses, which a GPU can run.

pub(crate) mod kernel;
pub(crate) mod layout;
pub(crate) mod pattern;
mod random;
pub(crate) mod schedule;
mod zipf;

use std::sync::Arc;

use super::description::{Description, Parameter};
use super::{DeviceMemory, Launches, Own, SyntheticLaunch, Verdict, Workload};
use crate::config::{Origin, SyntheticSpec};
use crate::error::{Error, Result};

/// Lists the launches; with `as_kernel` those of a kernel in PTX, whose buffers are filled.
///
/// # Errors
/// What no kernel can do.
pub(super) fn build(spec: &SyntheticSpec, seed: u64, origin: &Origin) -> Result<Workload> {
    if spec.as_kernel {
        return kernel::build(spec, seed).map_err(|refusal| {
            let error = Error::input(refusal.why).hint(refusal.hint);
            origin.point(&format!("workload.{}", refusal.path), error)
        });
    }
    Ok(accesses(spec, seed))
}

/// Launches without memory, and without a result to check.
fn accesses(spec: &SyntheticSpec, seed: u64) -> Workload {
    let launch = SyntheticLaunch { spec: Arc::new(spec.clone()), seed };
    Workload {
        name: "synthetic".to_owned(),
        memory: DeviceMemory::default(),
        launches: Launches::repeated(launch, spec.launches.size()),
        check: Box::new(|_| Ok(Verdict::NOTHING_TO_CHECK)),
        own: Own::default(),
    }
}

const fn needed(name: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, meaning, default: None }
}

const fn optional(name: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, meaning, default: Some(default) }
}

/// What `gsim workload list` says. `P` and `M` stand for places in `phases` and `mix`, from 0.
pub(super) const DESCRIPTION: Description = Description {
    name: "Synthetic",
    summary: "patterns of accesses, generated; workloads/PATTERNS.md has the formulas",
    parameters: &[
        needed("ctas", "CTAs of a launch [1..=2147483647]"),
        needed("warps", "warps of a CTA [1..=32]"),
        optional("registers", "32", "registers of a thread, for residency [1..=255]"),
        optional("shared", "0", "bytes of shared memory of a CTA [0..=1048576]"),
        optional("launches", "1", "launches, all alike [1..=1000000]"),
        optional("repeats", "1", "times through all phases [1..=1000000]"),
        optional("as_kernel", "false", "whether its kernel in PTX is executed, as on a GPU"),
        needed("phases", "what every warp does, in order; 1 to 64"),
        needed("phases.P.accesses", "memory instructions of a warp [1..=1048576]"),
        optional("phases.P.in_flight", "1", "accesses of a warp under way at once [1..=64]"),
        optional("phases.P.arithmetic", "0", "instructions on the data of each [0..=65536]"),
        optional("phases.P.class", "FpFma", "their class: IntAdd, FpMul, DpFma, Sfu, .."),
        optional("phases.P.dependent", "true", "whether each waits for the one before it"),
        optional("phases.P.address_ops", "1", "additions that make an address [0..=8]"),
        optional("phases.P.barrier", "false", "whether warps of a CTA wait at the end"),
        needed("phases.P.mix", "what is accessed; 1 to 8"),
        optional("phases.P.mix.M.weight", "1", "part of the mixture [1..=1000]"),
        needed("phases.P.mix.M.pattern", "one of the patterns below"),
        needed("phases.P.mix.M.footprint", "bytes of each copy of the array [1..=2^44]"),
        optional("phases.P.mix.M.sharing", "None", "who has a copy: Grid, Cta or Warp"),
        optional("phases.P.mix.M.array", "None", "name: equal names are one array"),
        optional("phases.P.mix.M.width", "4", "bytes of a lane [1, 2, 4, 8, 16]"),
        optional("phases.P.mix.M.lanes", "32", "lanes that take part [1..=32]"),
        optional("phases.P.mix.M.space", "Global", "Global or Shared"),
        optional("phases.P.mix.M.cache", "Default", "Global, Streaming, Volatile, ReadOnly"),
        optional("phases.P.mix.M.write_fraction", "0.0", "share of stores [0..=1]"),
        optional("phases.P.mix.M.atomic_fraction", "0.0", "share of atomics [0..=1]"),
        optional("phases.P.mix.M.address_from", "None", "M whose latest load gives the address"),
        pattern("Stream", "each element once, by the threads of the grid side by side"),
        pattern("Blocks", "each element once, each warp through a part of its own"),
        pattern("Stride(lane, access: 0, warp: 0)", "fixed distances in bytes"),
        pattern("Broadcast(step)", "all lanes of all warps one element"),
        pattern("Random(run: 1)", "any element; runs of lanes together"),
        pattern("Hot(fraction, bytes, run: 32)", "a share of draws in the first bytes"),
        pattern("Chase(node, order, chains: Warp)", "each load gives the next address"),
        pattern("Stencil(radius, row: None, plane: None, shape: Star)", "neighbours of an element"),
        pattern("Gather(locality, window, run: 1)", "random, in a window for a while"),
        pattern("Zipf(exponent, run: 1)", "random, few elements popular"),
    ],
    example: r#"Synthetic(
    ctas: 480,
    warps: 8,
    phases: [
        (
            accesses: 12,
            in_flight: 2,
            arithmetic: 1,
            mix: [(pattern: Stream, footprint: 0x400_0000, width: 16, write_fraction: 0.25)],
        ),
    ],
)"#,
};

/// A pattern with its parameters, where it stands for a value of `pattern`.
const fn pattern(name: &'static str, meaning: &'static str) -> Parameter {
    optional(name, "pattern", meaning)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Map, Value};

    use super::*;
    use crate::config::{Checked, WorkloadSpec};

    /// The smallest kernel, with every default.
    fn smallest() -> SyntheticSpec {
        let text =
            "(ctas: 1, warps: 1, phases: [(accesses: 1, mix: [(pattern: Stream, footprint: 4)])])";
        let spec: Checked<SyntheticSpec> = crate::config::parse::stated(text);
        (*spec).clone()
    }

    /// Every field by its path, lists by the names of their places.
    fn paths(prefix: &str, fields: &Map<String, Value>, found: &mut Vec<(String, Value)>) {
        for (name, value) in fields {
            let path = format!("{prefix}{name}");
            found.push((path.clone(), value.clone()));
            if let Value::Array(items) = value {
                let place = if name == "phases" { "P" } else { "M" };
                paths(&format!("{path}.{place}."), items[0].as_object().unwrap(), found);
            }
        }
    }

    #[test]
    fn the_list_states_the_fields_and_defaults_that_run_files_have() {
        let json = crate::serial::to_json_value(&smallest());
        let mut actual = Vec::new();
        paths("", json.as_object().unwrap(), &mut actual);
        let actual: BTreeSet<(String, String)> = actual
            .into_iter()
            .map(|(path, value)| match value {
                Value::Null => (path, "None".to_owned()),
                Value::String(text) => (path, text),
                value => (path, value.to_string()),
            })
            .collect();
        let fields =
            || DESCRIPTION.parameters.iter().filter(|field| field.default != Some("pattern"));
        let stated: BTreeSet<&str> = fields().map(|field| field.name).collect();
        let names: BTreeSet<&str> = actual.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(stated, names);
        for field in fields() {
            let Some(default) = field.default else { continue };
            assert!(actual.contains(&(field.name.to_owned(), default.to_owned())), "{field:?}");
        }
    }

    #[test]
    fn every_pattern_of_the_list_and_no_other_is_understood_and_in_the_reference() {
        let listed = DESCRIPTION.parameters.iter().filter(|field| field.default == Some("pattern"));
        let listed: Vec<&str> = listed.map(|field| field.name.split('(').next().unwrap()).collect();
        // The message about a wrong name has the right ones.
        let text = "Synthetic(ctas: 1, warps: 1, phases: [(accesses: 1, mix: [(pattern: Q)])])";
        let error = crate::config::parse::from_text::<WorkloadSpec>("a.ron".as_ref(), text);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("one of {}", listed.join(", "))), "{error}");
        let reference = include_str!("../../../workloads/PATTERNS.md");
        for name in listed {
            assert!(reference.contains(&format!("\n### {name}")), "{name}");
        }
        for field in DESCRIPTION.parameters {
            let last = field.name.rsplit('.').next().unwrap();
            if field.default != Some("pattern") {
                assert!(reference.contains(&format!("`{last}`")), "{last}");
            }
        }
    }

    #[test]
    fn a_kernel_is_launched_as_often_as_it_says_and_takes_no_memory() {
        let mut spec = smallest();
        spec.launches = crate::config::Bounded::new(3).unwrap();
        let workload = accesses(&spec, 7);
        assert_eq!(workload.launches.len(), 3);
        assert_eq!(workload.memory.buffers(), []);
        assert_eq!((workload.check)(&workload.memory).unwrap(), Verdict::NOTHING_TO_CHECK);
    }
}
