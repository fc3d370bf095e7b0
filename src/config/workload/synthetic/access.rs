//! One kind of access of a mixture.

use serde::{Deserialize, Serialize};

use super::pattern::{Bytes, Pattern};
use crate::config::bounded::{Bounded, Check, Share};

/// A kind of access: where it goes, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Its part of the mixture, in proportion to the other weights [1..=1000].
    #[serde(default = "default_weight")]
    pub weight: Bounded<1, 1000>,
    /// Which addresses.
    pub pattern: Pattern,
    /// Bytes that the addresses lie in, of each copy [bytes, 1..=2^44].
    pub footprint: Bytes<1>,
    /// Who has a copy of the array; by default the grid has one in global memory, and each CTA in shared
    /// memory.
    #[serde(default)]
    pub sharing: Option<Sharing>,
    /// Name of the array: accesses of one name go to the same array. By default each has its own.
    #[serde(default)]
    pub array: Option<String>,
    /// Bytes of one lane's access [bytes, 1, 2, 4, 8 or 16].
    #[serde(default = "default_width")]
    pub width: Bounded<1, 16>,
    /// Lanes that take part, from lane 0 on [lanes, 1..=32].
    #[serde(default = "default_lanes")]
    pub lanes: Bounded<1, 32>,
    /// Global or shared memory.
    #[serde(default)]
    pub space: SyntheticSpace,
    /// Cache operator.
    #[serde(default)]
    pub cache: CacheHint,
    /// Share of the accesses that store [0..=1].
    #[serde(default)]
    pub write_fraction: Share,
    /// Share of the accesses that are atomic operations which return the old value [0..=1].
    #[serde(default)]
    pub atomic_fraction: Share,
    /// The access of the mixture, from 0, whose latest load gives the address: `a[b[i]]`.
    #[serde(default)]
    pub address_from: Option<Bounded<0, 7>>,
}

/// Who has a copy of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sharing {
    /// One for all.
    Grid,
    /// One for each CTA.
    Cta,
    /// One for each warp.
    Warp,
}

/// Where an array lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SyntheticSpace {
    /// Global memory.
    #[default]
    Global,
    /// Shared memory of the CTA.
    Shared,
}

/// Cache operator of loads and stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheHint {
    /// What the machine does by default (`.ca`, `.wb`).
    #[default]
    Default,
    /// Cached in the L2 only (`.cg`).
    Global,
    /// Likely used once (`.cs`).
    Streaming,
    /// Not cached: read again each time (`.cv`, `.wt`).
    Volatile,
    /// Read-only for the whole kernel (`ld.global.nc`).
    ReadOnly,
}

const fn default_weight() -> Bounded<1, 1000> {
    Bounded::new(1).expect("in range")
}

const fn default_width() -> Bounded<1, 16> {
    Bounded::new(4).expect("in range")
}

const fn default_lanes() -> Bounded<1, 32> {
    Bounded::new(32).expect("in range")
}

impl Access {
    /// Who has a copy of the array.
    pub fn sharing(&self) -> Sharing {
        self.sharing.unwrap_or(match self.space {
            SyntheticSpace::Global => Sharing::Grid,
            SyntheticSpace::Shared => Sharing::Cta,
        })
    }

    /// Elements of the footprint.
    pub fn elements(&self) -> u64 {
        self.footprint.get() / u64::from(self.width.get())
    }

    /// True when no access returns data.
    pub fn always_stores(&self) -> bool {
        self.write_fraction.millionths() == Share::ONE
    }

    fn check_kinds(&self) -> Result<(), String> {
        let (writes, atomics) = (self.write_fraction, self.atomic_fraction);
        if writes.millionths() + atomics.millionths() > Share::ONE {
            return Err(format!(
                "write_fraction ({}) and atomic_fraction ({}) exceed 1 together",
                writes.value(),
                atomics.value()
            ));
        }
        let changes = writes.millionths() + atomics.millionths() > 0;
        if changes && matches!(self.pattern, Pattern::Chase { .. }) {
            let field = if writes.millionths() > 0 { "write_fraction" } else { "atomic_fraction" };
            return Err(format!("{field}: a Chase only loads"));
        }
        if changes && self.cache == CacheHint::ReadOnly {
            return Err("cache: what is ReadOnly is neither written nor changed".to_owned());
        }
        if atomics.millionths() > 0 && !matches!(self.width.get(), 4 | 8) {
            return Err(format!("width ({}) of an atomic operation is 4 or 8", self.width.get()));
        }
        if self.address_from.is_some() && matches!(self.pattern, Pattern::Chase { .. }) {
            return Err("address_from: a Chase has its address from its own load".to_owned());
        }
        Ok(())
    }
}

impl Check for Access {
    fn check(&self) -> Result<(), String> {
        let (width, footprint) = (u64::from(self.width.get()), self.footprint.get());
        if !width.is_power_of_two() {
            return Err(format!("width ({width}) is none of 1, 2, 4, 8, 16"));
        }
        if !footprint.is_multiple_of(width) {
            return Err(format!("footprint ({footprint}) is not a multiple of width ({width})"));
        }
        if self.space == SyntheticSpace::Shared {
            if self.sharing == Some(Sharing::Grid) {
                return Err(
                    "sharing: shared memory belongs to a CTA; Grid needs space Global".into()
                );
            }
            if self.cache != CacheHint::Default {
                return Err("cache: shared memory is not cached; leave Default".to_owned());
            }
        }
        self.check_kinds()?;
        self.pattern.check(footprint, width)
    }
}
