//! A user's own kernel: source, buffers, variables, launches. `workloads/README.md` is its reference for users.

mod amount;
mod buffer;
mod expression;
mod launch;
mod named;
mod scalar;
mod symbol;
mod tensor_map;

use serde::{Deserialize, Serialize};

pub use amount::{Amount, Extent};
pub use buffer::{BufferSpec, Expect, Fill, MAX_BYTES};
pub use expression::Scope;
pub use launch::{ArgSpec, BodySpec, LaunchSpec, LaunchStep, LoopSpec, MAX_LAUNCHES, hexadecimal};
pub use named::Named;
pub use scalar::Scalar;
pub use symbol::{MAX_SYMBOL_BYTES, SymbolSpec};
pub use tensor_map::{
    OobFill, Swizzle, TENSOR_BOX_BYTES, TENSOR_PIECE, TENSOR_RANK, TensorAxis, TensorMapSpec,
    check_axes,
};

use crate::config::bounded::{Check, Wide};

/// A kernel of the user's, the buffers that it works on, and its launches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSpec {
    /// The file with the kernel, relative to the run file: PTX (`.ptx`), or CUDA C++ (`.cu`), which NVRTC
    /// compiles before the run.
    pub source: String,
    /// Options for NVRTC, such as `--use_fast_math`; for a `.cu` only. Without any,
    /// `--gpu-architecture=compute_75`.
    #[serde(default)]
    pub options: Vec<String>,
    /// Whole numbers for expressions, in order: one may use those before it.
    #[serde(default)]
    pub parameters: Named<Amount>,
    /// Buffers in device memory, in the order of their addresses.
    #[serde(default)]
    pub buffers: Named<BufferSpec>,
    /// Variables of the module, by their names in the PTX, that begin with other values than the text says.
    #[serde(default)]
    pub symbols: Named<SymbolSpec>,
    /// What is launched, in order; at most 1000000 launches, all rounds of loops counted.
    pub launches: Vec<LaunchStep>,
    /// Warp instructions that one launch may execute, so that one which never ends does
    /// [warp instructions, 1..=18446744073709551615].
    #[serde(default = "default_limit")]
    pub instruction_limit: Limit,
    /// What ends the run, besides accesses outside of buffers, which always do.
    #[serde(default)]
    pub checks: Checks,
}

/// Mistakes of a kernel that PTX leaves without a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Checks {
    /// Reading bytes of shared memory that nothing was written to.
    pub uninitialised_shared: bool,
    /// Dividing a whole number by zero.
    pub division: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Checks { uninitialised_shared: true, division: true }
    }
}

/// Warp instructions that a launch may execute which says nothing else.
pub const DEFAULT_LIMIT: u64 = 1 << 32;

/// Warp instructions that a launch may execute.
type Limit = Wide<1, { u64::MAX }>;

fn default_limit() -> Limit {
    const { Limit::new(DEFAULT_LIMIT).expect("in range") }
}

impl KernelSpec {
    /// Values of the parameters.
    pub fn scope(&self) -> Result<Scope, String> {
        amount::scope_of(&self.parameters)
    }
}

impl Check for KernelSpec {
    fn check(&self) -> Result<(), String> {
        let is_cu = self.source.ends_with(".cu");
        if !is_cu && !self.source.ends_with(".ptx") {
            return Err(format!("source: {:?} ends neither in .ptx nor in .cu", self.source));
        }
        if !is_cu && !self.options.is_empty() {
            return Err("options: they are for NVRTC, and source is PTX already".to_owned());
        }
        let mut scope = self.scope()?;
        let mut outputs: Vec<(&str, &str)> = Vec::new();
        for (name, buffer) in self.buffers.iter() {
            buffer.check(&scope).map_err(|why| format!("buffers.{name}.{why}"))?;
            if let Some(file) = &buffer.output {
                if let Some((other, _)) = outputs.iter().find(|(_, known)| known == file) {
                    return Err(format!(
                        "buffers.{name}.output: buffer `{other}` is written to {file} already"
                    ));
                }
                outputs.push((name, file));
            }
        }
        for (name, symbol) in self.symbols.iter() {
            symbol.check(&scope).map_err(|why| format!("symbols.{name}.{why}"))?;
        }
        launch::check_all(self, &mut scope)
    }
}
