//! Numbers with a range and structs with rules, checked while the parser still knows the line.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Error as _, Visitor};
use serde::{Serialize, Serializer};

/// A whole number that a parser accepts only in `LO..=HI`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bounded<const LO: u32, const HI: u32>(u32);

impl<const LO: u32, const HI: u32> Bounded<LO, HI> {
    /// The number; `None` outside the range.
    pub const fn new(value: u32) -> Option<Self> {
        if LO <= value && value <= HI { Some(Bounded(value)) } else { None }
    }

    /// The number, known to lie in the range.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number as a size or an index.
    #[inline]
    pub const fn size(self) -> usize {
        self.0 as usize
    }

    /// The number as an amount of cycles.
    #[inline]
    pub const fn cycles(self) -> u64 {
        self.0 as u64
    }
}

impl<'de, const LO: u32, const HI: u32> Deserialize<'de> for Bounded<LO, HI> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InRange<const LO: u32, const HI: u32>;

        impl<const LO: u32, const HI: u32> Visitor<'_> for InRange<LO, HI> {
            type Value = Bounded<LO, HI>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number in {LO}..={HI}")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
                u32::try_from(value)
                    .ok()
                    .and_then(Bounded::new)
                    .ok_or_else(|| E::custom(format_args!("{value} is outside {LO}..={HI}")))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                match u64::try_from(value) {
                    Ok(value) => self.visit_u64(value),
                    Err(_) => Err(E::custom(format_args!("{value} is outside {LO}..={HI}"))),
                }
            }
        }

        // Asking for any value rather than for a u64 lets a negative or fractional number, or a
        // word, reach the visitor, which says what was expected instead.
        deserializer.deserialize_any(InRange)
    }
}

impl<const LO: u32, const HI: u32> Serialize for Bounded<LO, HI> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

/// Rules between the fields of one config struct.
pub trait Check {
    /// Says what is wrong, naming fields and values.
    ///
    /// Fields are named by their path from this struct (`size`, `timing.rc`): the first one named is
    /// the one that an error points at, and the others are what a hint suggests to change too.
    fn check(&self) -> Result<(), String>;
}

/// A config struct whose [`Check`] ran while the parser still knew the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked<T>(T);

impl<T: Check> Checked<T> {
    /// Checks `config`.
    pub fn new(config: T) -> Result<Self, String> {
        config.check()?;
        Ok(Checked(config))
    }
}

impl<T> std::ops::Deref for Checked<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Deserialize<'de> + Check> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Checked::new(T::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<T: Serialize> Serialize for Checked<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
