//! Launches of a kernel workload.

use serde::{Deserialize, Serialize};

use super::KernelSpec;
use super::amount::{Amount, Extent};
use super::buffer::check_element;
use super::expression::Scope;
use super::named::is_name;
use super::scalar::Scalar;
use super::tensor_map::TensorMapSpec;
use crate::config::names::suggest;
use crate::units::{MAX_CTA_THREADS, MAX_GRID};

/// Launches that a workload may have, all rounds of its loops counted.
pub const MAX_LAUNCHES: u64 = 1_000_000;

/// Steps in each other.
const MAX_NESTING: usize = 8;

/// One step of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LaunchStep {
    /// Launches a kernel.
    Launch(LaunchSpec),
    /// Does the same several times.
    Loop(LoopSpec),
    /// Launches several kernels that need nothing of what each other computes and may run at the same time, each in a stream of its
    /// own. What follows waits for all of them.
    Concurrent(BodySpec),
    /// Launches kernels for what they compute, such as the data of others: they are executed and not simulated, take no time and leave
    /// nothing in the caches.
    Untimed(BodySpec),
}

/// A kernel launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchSpec {
    /// Name of the entry.
    pub entry: String,
    /// CTAs in x, y, z; those not stated are 1 [CTAs, x 1..=2147483647, y and z 1..=65535].
    pub grid: Extent,
    /// Threads of a CTA in x, y, z; those not stated are 1 [threads, 1..=1024 in all].
    pub block: Extent,
    /// Dynamic shared memory of a CTA [bytes, 0..=16777216].
    #[serde(default = "zero")]
    pub shared: Amount,
    /// Arguments, in the order of the entry's parameters.
    #[serde(default)]
    pub args: Vec<ArgSpec>,
}

/// Steps that are done several times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopSpec {
    /// How often [count, 0..=1000000].
    pub times: Amount,
    /// A name for the number of the round, from 0, for expressions in the body.
    #[serde(default)]
    pub index: Option<String>,
    /// What is done.
    pub body: Vec<LaunchStep>,
    /// Pairs of buffers of one type and size that exchange their names after each round, as pointers do in
    /// C. It holds on after the loop, and for outputs.
    #[serde(default)]
    pub swap: Vec<(String, String)>,
}

/// Launches that run in a way of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodySpec {
    /// What is launched, in this order; loops as well.
    pub body: Vec<LaunchStep>,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ArgSpec {
    /// The address of a buffer.
    Buffer(String),
    /// The address of an element of a buffer.
    Element(String, Amount),
    /// A whole number of 1 byte, signed.
    I8(Amount),
    /// A whole number of 2 bytes, signed.
    I16(Amount),
    /// A whole number of 4 bytes, signed.
    I32(Amount),
    /// A whole number of 8 bytes, signed.
    I64(Amount),
    /// A whole number of 1 byte.
    U8(Amount),
    /// A whole number of 2 bytes.
    U16(Amount),
    /// A whole number of 4 bytes.
    U32(Amount),
    /// A whole number of 8 bytes.
    U64(Amount),
    /// A half-precision number.
    F16(Amount),
    /// A single-precision number.
    F32(Amount),
    /// A double-precision number.
    F64(Amount),
    /// A number of the upper half of single precision.
    BF16(Amount),
    /// A number of 8 bits, 4 of them for the exponent.
    E4M3(Amount),
    /// A number of 8 bits, 5 of them for the exponent.
    E5M2(Amount),
    /// Any bytes, such as those of a struct, in hexadecimal; blanks between them do not count.
    Bytes(String),
    /// A struct with these fields, laid out as in C: in this order, each at the next multiple of its alignment, and the whole a
    /// multiple of the largest. A number's alignment is its size, an address has 8 bytes, [`ArgSpec::Bytes`] 1.
    Struct(Vec<ArgSpec>),
    /// A tensor map, such as `cuTensorMapEncodeTiled` makes: 128 bytes, whose alignment is 64.
    TensorMap(TensorMapSpec),
}

fn zero() -> Amount {
    Amount::Whole(0)
}

impl ArgSpec {
    /// Type and value, for a number.
    pub fn number(&self) -> Option<(Scalar, &Amount)> {
        Some(match self {
            ArgSpec::Buffer(_)
            | ArgSpec::Element(..)
            | ArgSpec::Bytes(_)
            | ArgSpec::Struct(_)
            | ArgSpec::TensorMap(_) => return None,
            ArgSpec::I8(value) => (Scalar::I8, value),
            ArgSpec::I16(value) => (Scalar::I16, value),
            ArgSpec::I32(value) => (Scalar::I32, value),
            ArgSpec::I64(value) => (Scalar::I64, value),
            ArgSpec::U8(value) => (Scalar::U8, value),
            ArgSpec::U16(value) => (Scalar::U16, value),
            ArgSpec::U32(value) => (Scalar::U32, value),
            ArgSpec::U64(value) => (Scalar::U64, value),
            ArgSpec::F16(value) => (Scalar::F16, value),
            ArgSpec::F32(value) => (Scalar::F32, value),
            ArgSpec::F64(value) => (Scalar::F64, value),
            ArgSpec::BF16(value) => (Scalar::BF16, value),
            ArgSpec::E4M3(value) => (Scalar::E4M3, value),
            ArgSpec::E5M2(value) => (Scalar::E5M2, value),
        })
    }

    /// Says what is wrong with the argument at `path`: a path, and words.
    fn check(&self, path: &str, spec: &KernelSpec, scope: &Scope) -> Result<(), String> {
        let wrong = |why| format!("{path}: {why}");
        match self {
            ArgSpec::Buffer(name) => known_buffer(spec, name).map_err(wrong),
            ArgSpec::Element(name, element) => {
                known_buffer(spec, name).map_err(wrong)?;
                element.within(scope, 0, u64::MAX.into()).map(|_| ()).map_err(wrong)
            }
            ArgSpec::Bytes(text) => hexadecimal(text).map(|_| ()).map_err(wrong),
            ArgSpec::TensorMap(map) => {
                let wrong = |why| format!("{path}.{why}");
                known_buffer(spec, &map.buffer).map_err(|why| wrong(format!("buffer: {why}")))?;
                let element = spec.buffers.get(&map.buffer).expect("known").element;
                let first = map.first.within(scope, 0, u64::MAX.into());
                first.map_err(|why| wrong(format!("first: {why}")))?;
                map.axes(scope, element).map(|_| ()).map_err(wrong)
            }
            ArgSpec::Struct(fields) if fields.is_empty() => {
                Err(wrong("a struct needs a field".to_owned()))
            }
            ArgSpec::Struct(fields) => fields.iter().enumerate().try_for_each(|(index, field)| {
                field.check(&format!("{path}.{index}"), spec, scope)
            }),
            number => {
                let (ty, value) = number.number().expect("all others are numbers");
                check_element(ty, value, scope).map_err(wrong)
            }
        }
    }
}

/// The bytes that a text in hexadecimal stands for.
pub fn hexadecimal(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| {
            let digit = c.to_digit(16).ok_or_else(|| format!("{c:?} is no hexadecimal digit"));
            digit.map(|digit| digit as u8)
        })
        .collect::<Result<_, _>>()?;
    match digits.as_chunks::<2>() {
        (pairs, []) => Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect()),
        _ => Err(format!("{} hexadecimal digits do not make whole bytes", digits.len())),
    }
}

impl LaunchSpec {
    /// Threads of a CTA in x, y, z.
    pub fn block(&self, scope: &Scope) -> Result<[u32; 3], String> {
        let block = self.block.axes(scope).map_err(|why| format!("block: {why}"))?;
        let threads = block.iter().fold(1u64, |all, size| all.saturating_mul(u64::from(*size)));
        match threads <= MAX_CTA_THREADS {
            true => Ok(block),
            false => Err(format!(
                "block: {threads} threads in a CTA, where {MAX_CTA_THREADS} are the most"
            )),
        }
    }

    /// CTAs in x, y, z.
    pub fn grid(&self, scope: &Scope) -> Result<[u32; 3], String> {
        let grid = self.grid.axes(scope).map_err(|why| format!("grid: {why}"))?;
        match grid.iter().zip(MAX_GRID).all(|(size, most)| *size <= most) {
            true => Ok(grid),
            false => Err(format!(
                "grid: at most {} CTAs",
                MAX_GRID.map(|most| most.to_string()).join(" x ")
            )),
        }
    }

    /// Dynamic shared memory of a CTA `[bytes]`.
    pub fn shared(&self, scope: &Scope) -> Result<u32, String> {
        let bytes =
            self.shared.within(scope, 0, 1 << 24).map_err(|why| format!("shared: {why}"))?;
        Ok(bytes as u32)
    }

    fn check(&self, spec: &KernelSpec, scope: &Scope) -> Result<(), String> {
        self.grid(scope)?;
        self.block(scope)?;
        self.shared(scope)?;
        for (index, arg) in self.args.iter().enumerate() {
            arg.check(&format!("args.{index}"), spec, scope)?;
        }
        Ok(())
    }
}

fn known_buffer(spec: &KernelSpec, name: &str) -> Result<(), String> {
    match spec.buffers.get(name) {
        Some(_) => Ok(()),
        None => {
            let names = spec.buffers.names();
            Err(format!("there is no buffer `{name}`: {}", suggest(name, &names)))
        }
    }
}

/// Where steps stand.
#[derive(Clone, Copy)]
struct Around {
    /// Steps that they are in.
    depth: usize,
    /// That of them which decides how its launches run.
    within: Option<&'static str>,
}

/// Checks the steps of a workload.
pub(super) fn check_all(spec: &KernelSpec, scope: &mut Scope) -> Result<(), String> {
    let around = Around { depth: 0, within: None };
    let launches = check_steps(&spec.launches, "launches", around, spec, scope)?;
    // That there are none is known when loops are unrolled: how often an inner one goes may depend on an outer one.
    match launches <= MAX_LAUNCHES {
        true => Ok(()),
        false => Err(format!("launches: {launches} in all, where {MAX_LAUNCHES} are the most")),
    }
}

/// Checks steps and counts their launches. `path` is that of the list.
fn check_steps(
    steps: &[LaunchStep],
    path: &str,
    around: Around,
    spec: &KernelSpec,
    scope: &mut Scope,
) -> Result<u64, String> {
    let inner = Around { depth: around.depth + 1, ..around };
    let mut launches = 0u64;
    for (index, step) in steps.iter().enumerate() {
        let at = |why: String| format!("{path}.{index}.{why}");
        let more = match step {
            LaunchStep::Launch(launch) => {
                launch.check(spec, scope).map_err(at)?;
                1
            }
            LaunchStep::Loop(rounds) => {
                let times = rounds.times.within(scope, 0, MAX_LAUNCHES.into());
                let times = times.map_err(|why| at(format!("times: {why}")))? as u64;
                if around.depth == MAX_NESTING {
                    return Err(at(format!("body: steps are nested at most {MAX_NESTING} deep")));
                }
                if around.within == Some("Concurrent") && !rounds.swap.is_empty() {
                    return Err(at("swap: its rounds run at the same time".to_owned()));
                }
                check_swap(&rounds.swap, spec).map_err(at)?;
                if let Some(name) = &rounds.index {
                    if !is_name(name) || scope.iter().any(|(known, _)| known == name) {
                        return Err(at(format!("index: {name:?} is no name, or one in use")));
                    }
                    scope.push((name.clone(), 0));
                }
                let body = format!("{path}.{index}.body");
                let launches = check_steps(&rounds.body, &body, inner, spec, scope)?;
                if rounds.index.is_some() {
                    scope.pop();
                }
                launches.saturating_mul(times)
            }
            LaunchStep::Concurrent(BodySpec { body }) | LaunchStep::Untimed(BodySpec { body }) => {
                let is_concurrent = matches!(step, LaunchStep::Concurrent(_));
                let inner = inner.of(if is_concurrent { "Concurrent" } else { "Untimed" });
                let body_path = format!("{path}.{index}.body");
                check_steps(body, &body_path, inner.map_err(at)?, spec, scope)?
            }
        };
        launches = launches.saturating_add(more);
    }
    Ok(launches)
}

impl Around {
    /// Within a step that decides how its launches run; only one may.
    fn of(self, step: &'static str) -> Result<Around, String> {
        match self.within {
            Some(other) => Err(format!("body: it stands in `{other}` already")),
            None => Ok(Around { within: Some(step), ..self }),
        }
    }
}

fn check_swap(pairs: &[(String, String)], spec: &KernelSpec) -> Result<(), String> {
    for (index, (first, second)) in pairs.iter().enumerate() {
        let wrong = |why| format!("swap.{index}: {why}");
        known_buffer(spec, first).map_err(wrong)?;
        known_buffer(spec, second).map_err(wrong)?;
        let of = |name| spec.buffers.get(name).expect("known").element;
        if of(first) != of(second) {
            return Err(wrong(format!("`{first}` and `{second}` have different types")));
        }
    }
    Ok(())
}
