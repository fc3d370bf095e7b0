//! Numbers with a range and structs with rules, checked while the parser still knows the line.

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{self, Deserialize, Deserializer, Error as _, Visitor};
use serde::{Serialize, Serializer};

/// A whole number that a parser accepts only in `LO..=HI`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bounded<const LO: u32, const HI: u32>(u32);

impl<const LO: u32, const HI: u32> Bounded<LO, HI> {
    /// The least of the range.
    pub const LEAST: Self = Bounded(LO);

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

/// A whole number in a range, for [`Deserializer::deserialize_any`].
struct InRange(RangeInclusive<u64>);

impl InRange {
    fn refuse<E: de::Error>(&self, value: impl fmt::Display) -> E {
        E::custom(format_args!("{value} is outside {:?}", self.0))
    }
}

impl Visitor<'_> for InRange {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number in {:?}", self.0)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<u64, E> {
        if self.0.contains(&value) { Ok(value) } else { Err(self.refuse(value)) }
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
        match u64::try_from(value) {
            Ok(value) => self.visit_u64(value),
            Err(_) => Err(self.refuse(value)),
        }
    }
}

/// Reads a whole number in `range`.
fn in_range<'de, D: Deserializer<'de>>(
    deserializer: D,
    range: RangeInclusive<u64>,
) -> Result<u64, D::Error> {
    // Asking for any value rather than for a u64 lets a negative or fractional number, or a word,
    // reach the visitor, which says what was expected instead.
    deserializer.deserialize_any(InRange(range))
}

/// Reads any whole number of 64 bits.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    in_range(deserializer, 0..=u64::MAX)
}

impl<'de, const LO: u32, const HI: u32> Deserialize<'de> for Bounded<LO, HI> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = in_range(deserializer, u64::from(LO)..=u64::from(HI))?;
        Ok(Bounded(value as u32))
    }
}

/// As [`Bounded`], for numbers of more than 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wide<const LO: u64, const HI: u64>(u64);

impl<const LO: u64, const HI: u64> Wide<LO, HI> {
    /// The number; `None` outside the range.
    pub const fn new(value: u64) -> Option<Self> {
        if LO <= value && value <= HI { Some(Wide(value)) } else { None }
    }

    /// The number, known to lie in the range.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<'de, const LO: u64, const HI: u64> Deserialize<'de> for Wide<LO, HI> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        in_range(deserializer, LO..=HI).map(Wide)
    }
}

impl<const LO: u64, const HI: u64> Serialize for Wide<LO, HI> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

/// A number in 0..=`HI` with six decimals, kept as a whole number of millionths; others are rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millionths<const HI: u32>(u32);

/// A share of a whole: 0..=1 in millionths.
pub type Share = Millionths<1>;

impl<const HI: u32> Millionths<HI> {
    /// One.
    pub const ONE: u32 = 1_000_000;

    /// So many millionths [0..=1000000 x `HI`].
    #[inline]
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// The number.
    pub fn value(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE)
    }
}

impl<'de, const HI: u32> Deserialize<'de> for Millionths<HI> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number<const HI: u32>;

        impl<const HI: u32> Visitor<'_> for Number<HI> {
            type Value = Millionths<HI>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a number in 0..={HI}")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                if !(0.0..=f64::from(HI)).contains(&value) {
                    return Err(E::custom(format_args!("{value} is outside 0..={HI}")));
                }
                Ok(Millionths((value * f64::from(Millionths::<HI>::ONE)).round() as u32))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
                self.visit_f64(value as f64)
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                self.visit_f64(value as f64)
            }
        }

        deserializer.deserialize_any(Number)
    }
}

impl<const HI: u32> Serialize for Millionths<HI> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
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

    /// What no file can have.
    #[cfg(test)]
    pub(crate) fn unchecked(config: T) -> Self {
        Checked(config)
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
