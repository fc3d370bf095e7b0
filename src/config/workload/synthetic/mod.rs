//! Synthetic kernels: patterns of accesses without a kernel's text.
//!
//! `workloads/PATTERNS.md` is the reference: what every field means, and the formula of every pattern.

mod access;
mod pattern;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::config::bounded::{Bounded, Check, Checked};
use crate::units::noun;

pub use access::{Access, CacheHint, Sharing, SyntheticSpace};
pub use pattern::{Bytes, Chains, ChaseOrder, Pattern, StencilShape};

/// Memory instructions that a CTA may execute: a CTA's stream is held while it is resident, with 16 to
/// 140 bytes a memory instruction.
pub const MAX_CTA_ACCESSES: u64 = 1 << 20;

/// Bytes that all arrays may take together: addresses must fit into 47 bits, as those of a GPU do.
pub const MAX_ARRAY_BYTES: u128 = 1 << 46;

/// A kernel that is generated, access by access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Synthetic")]
pub struct SyntheticSpec {
    /// CTAs of a launch [CTAs, 1..=2147483647].
    pub ctas: Bounded<1, 0x7fff_ffff>,
    /// Warps of a CTA [warps, 1..=32].
    pub warps: Bounded<1, 32>,
    /// 32-bit registers of a thread, which bound residency [registers, 1..=255].
    #[serde(default = "default_registers")]
    pub registers: Bounded<1, 255>,
    /// Shared memory of a CTA, which bounds residency [bytes, 0..=1048576].
    #[serde(default = "zero")]
    pub shared: Bounded<0, 0x10_0000>,
    /// Launches of the kernel, all alike [count, 1..=1000000].
    #[serde(default = "one")]
    pub launches: Bounded<1, 1_000_000>,
    /// Times that every warp goes through all phases [count, 1..=1000000].
    #[serde(default = "one")]
    pub repeats: Bounded<1, 1_000_000>,
    /// Whether the kernel in PTX that a GPU is given is executed, instead of the accesses alone.
    #[serde(default)]
    pub as_kernel: bool,
    /// What every warp does, in order; 1 to 64 of them.
    pub phases: Vec<Checked<Phase>>,
}

/// A part of the kernel with its own mixture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Memory instructions of a warp [instructions, 1..=1048576].
    pub accesses: Bounded<1, 0x10_0000>,
    /// Accesses of a warp that are under way at once: each waits for the data of the one so many before it
    /// [accesses, 1..=64].
    #[serde(default = "one")]
    pub in_flight: Bounded<1, 64>,
    /// Arithmetic instructions on the data of each access [instructions, 0..=65536].
    #[serde(default = "zero")]
    pub arithmetic: Bounded<0, 65_536>,
    /// Class of those.
    #[serde(default)]
    pub class: MathClass,
    /// Whether each of those waits for the one before it.
    #[serde(default = "yes")]
    pub dependent: bool,
    /// Integer additions that make the address of each access, except for a chase
    /// [instructions, 0..=8].
    #[serde(default = "one")]
    pub address_ops: Bounded<0, 8>,
    /// Whether the warps of a CTA wait for each other at the end.
    #[serde(default)]
    pub barrier: bool,
    /// What is accessed; 1 to 8 of them.
    pub mix: Vec<Checked<Access>>,
}

/// Class of an arithmetic instruction: its pipeline and its time are the machine's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MathClass {
    /// Integer add, logic, shift.
    IntAdd,
    /// Integer multiply.
    IntMul,
    /// Integer multiply-add.
    IntMad,
    /// Integer division.
    IntDiv,
    /// Single-precision add.
    FpAdd,
    /// Single-precision multiply.
    FpMul,
    /// Single-precision fused multiply-add.
    #[default]
    FpFma,
    /// Single-precision division.
    FpDiv,
    /// Double-precision add.
    DpAdd,
    /// Double-precision multiply.
    DpMul,
    /// Double-precision fused multiply-add.
    DpFma,
    /// Double-precision division.
    DpDiv,
    /// Special function.
    Sfu,
}

/// Default of counts that start at one.
const fn one<const LO: u32, const HI: u32>() -> Bounded<LO, HI> {
    Bounded::new(1).expect("in range")
}

/// Default of counts that start at none.
const fn zero<const HI: u32>() -> Bounded<0, HI> {
    Bounded::new(0).expect("in range")
}

const fn default_registers() -> Bounded<1, 255> {
    Bounded::new(32).expect("in range")
}

const fn yes() -> bool {
    true
}

impl SyntheticSpec {
    /// Memory instructions of one warp.
    pub fn warp_accesses(&self) -> u64 {
        let once: u64 = self.phases.iter().map(|phase| u64::from(phase.accesses.get())).sum();
        once * u64::from(self.repeats.get())
    }

    /// The kernel in one line, for titles.
    pub fn summary(&self) -> String {
        let phases: Vec<String> = self
            .phases
            .iter()
            .map(|phase| {
                let mix: Vec<String> = phase
                    .mix
                    .iter()
                    .map(|access| match phase.mix.len() {
                        1 => access.pattern.name().to_owned(),
                        _ => format!("{} {}", access.weight.get(), access.pattern.name()),
                    })
                    .collect();
                format!("{} x {}", phase.accesses.get(), mix.join(" + "))
            })
            .collect();
        let repeats = match self.repeats.get() {
            1 => String::new(),
            repeats => format!(", {repeats} times"),
        };
        let (ctas, warps) = (self.ctas.get(), self.warps.get());
        format!(
            "{ctas} {} of {warps} {}: {}{repeats}",
            noun(ctas.into(), "CTA", "CTAs"),
            noun(warps.into(), "warp", "warps"),
            phases.join(", then ")
        )
    }

    /// The access at a place of a mixture.
    pub fn access(&self, at: Use) -> &Access {
        &self.phases[at.phase].mix[at.entry]
    }

    /// Arrays of the kernel in the order of their first use: accesses of one name share an array, and an
    /// access without a name has its own.
    pub fn arrays(&self) -> Vec<Array> {
        let mut arrays: Vec<Array> = Vec::new();
        for (phase, spec) in self.phases.iter().enumerate() {
            for (entry, access) in spec.mix.iter().enumerate() {
                let at = Use { phase, entry };
                let pitch = access.footprint.get().next_multiple_of(ARRAY_ALIGN);
                let name = access.array.as_ref();
                let known = arrays.iter_mut().find(|array| {
                    name.is_some() && self.access(array.uses[0]).array.as_ref() == name
                });
                match known {
                    Some(array) => {
                        array.uses.push(at);
                        array.pitch = array.pitch.max(pitch);
                    }
                    None => arrays.push(Array {
                        uses: vec![at],
                        space: access.space,
                        sharing: access.sharing(),
                        pitch,
                    }),
                }
            }
        }
        arrays
    }

    /// Copies of an array that have addresses of their own: the shared memory of each CTA counts from 0.
    pub fn copies(&self, array: &Array) -> u64 {
        let (ctas, warps) = (u64::from(self.ctas.get()), u64::from(self.warps.get()));
        match (array.space, array.sharing) {
            (SyntheticSpace::Global, Sharing::Grid)
            | (SyntheticSpace::Shared, Sharing::Grid | Sharing::Cta) => 1,
            (SyntheticSpace::Global, Sharing::Cta) => ctas,
            (SyntheticSpace::Global, Sharing::Warp) => ctas * warps,
            (SyntheticSpace::Shared, Sharing::Warp) => warps,
        }
    }

    fn check_arrays(&self) -> Result<(), String> {
        let (mut global, mut shared) = (0u128, 0u128);
        for array in self.arrays() {
            for &Use { phase, entry } in &array.uses {
                let access = self.access(Use { phase, entry });
                if (access.space, access.sharing()) != (array.space, array.sharing) {
                    return Err(format!(
                        "phases.{phase}.mix.{entry}.array: the accesses of one array must have the \
                         same space and sharing"
                    ));
                }
            }
            let bytes = u128::from(array.pitch) * u128::from(self.copies(&array));
            match array.space {
                SyntheticSpace::Shared => shared += bytes,
                SyntheticSpace::Global => global += bytes + u128::from(ARRAY_ALIGN),
            }
        }
        if shared > u128::from(self.shared.get()) {
            return Err(format!(
                "shared ({}) is less than the {shared} bytes that the arrays in shared memory take",
                self.shared.get()
            ));
        }
        if global > MAX_ARRAY_BYTES {
            return Err(format!(
                "ctas ({}): all arrays together, with their copies, take {global} bytes, and \
                 {MAX_ARRAY_BYTES} are the most",
                self.ctas.get()
            ));
        }
        Ok(())
    }
}

/// A place of a mixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Its phase, from 0.
    pub phase: usize,
    /// The place in the phase's mixture, from 0.
    pub entry: usize,
}

/// An array of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The accesses that use it, at least one, in order.
    pub uses: Vec<Use>,
    /// Where it lies.
    pub space: SyntheticSpace,
    /// Who has a copy.
    pub sharing: Sharing,
    /// From one copy to the next: the largest footprint, rounded up to [`ARRAY_ALIGN`] `[bytes]`.
    pub pitch: u64,
}

/// Arrays, and their copies, start at multiples of this `[bytes]`: what `cudaMalloc` promises.
pub const ARRAY_ALIGN: u64 = 256;

impl Check for SyntheticSpec {
    fn check(&self) -> Result<(), String> {
        if !(1..=64).contains(&self.phases.len()) {
            return Err(format!("phases: {} of them, where 1 to 64 can be", self.phases.len()));
        }
        let cta_accesses = self.warp_accesses() * u64::from(self.warps.get());
        if cta_accesses > MAX_CTA_ACCESSES {
            return Err(format!(
                "repeats ({}) x accesses of all phases x warps ({}) make {cta_accesses} memory \
                 instructions a CTA, and {MAX_CTA_ACCESSES} are the most; use more ctas",
                self.repeats.get(),
                self.warps.get()
            ));
        }
        for (number, phase) in self.phases.iter().enumerate() {
            let widest = phase.mix.iter().map(|access| access.width.get().div_ceil(4)).max();
            let held = widest.unwrap_or(1) * phase.in_flight.get();
            if held > self.registers.get() {
                return Err(format!(
                    "registers ({}) cannot hold the data of phases.{number}.in_flight ({}) accesses: \
                     {held} registers",
                    self.registers.get(),
                    phase.in_flight.get()
                ));
            }
        }
        self.check_arrays()
    }
}

impl Check for Phase {
    fn check(&self) -> Result<(), String> {
        if !(1..=8).contains(&self.mix.len()) {
            return Err(format!("mix: {} of them, where 1 to 8 can be", self.mix.len()));
        }
        for (entry, access) in self.mix.iter().enumerate() {
            let Some(from) = access.address_from else { continue };
            let from = from.size();
            match self.mix.get(from) {
                _ if from == entry => {
                    return Err(format!(
                        "mix.{entry}.address_from: an access cannot wait for itself"
                    ));
                }
                Some(source) if !source.always_stores() => {}
                Some(_) => {
                    return Err(format!(
                        "mix.{entry}.address_from: access {from} of the mix never loads"
                    ));
                }
                None => {
                    return Err(format!(
                        "mix.{entry}.address_from: the mix has {} accesses, counted from 0",
                        self.mix.len()
                    ));
                }
            }
        }
        Ok(())
    }
}
