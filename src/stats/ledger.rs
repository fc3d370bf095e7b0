//! A ledger: a total, and parts that must add up to it.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The reasons of one ledger.
pub trait Reason: Copy + 'static {
    /// Name, as in reports, and meaning of every reason, in the order of [`Reason::index`].
    const GLOSSARY: &'static [(&'static str, &'static str)];
    /// The place of this reason in the ledger.
    fn index(self) -> usize;
}

/// A total and its parts.
///
/// The total is counted on its own (cycles that passed, latencies end to end), never by adding the
/// parts, so that [`Ledger::check`] can fail.
#[derive(Debug)]
pub struct Ledger<R, const N: usize> {
    total: u64,
    parts: [u64; N],
    reason: PhantomData<R>,
}

impl<R, const N: usize> Clone for Ledger<R, N> {
    fn clone(&self) -> Self {
        Ledger { total: self.total, parts: self.parts, reason: PhantomData }
    }
}

impl<R, const N: usize> Default for Ledger<R, N> {
    fn default() -> Self {
        Ledger { total: 0, parts: [0; N], reason: PhantomData }
    }
}

impl<R, const N: usize> PartialEq for Ledger<R, N> {
    fn eq(&self, other: &Self) -> bool {
        self.total == other.total && self.parts == other.parts
    }
}

impl<R: Reason, const N: usize> Ledger<R, N> {
    /// Charges `amount` to one reason.
    #[inline]
    pub fn charge(&mut self, reason: R, amount: u64) {
        self.parts[reason.index()] += amount;
    }

    /// Charges to another reason `amount` of what was charged to one.
    pub fn transfer(&mut self, from: R, to: R, amount: u64) {
        debug_assert!(amount <= self.part(from), "more is transferred than was charged");
        let amount = amount.min(self.part(from));
        self.parts[from.index()] -= amount;
        self.parts[to.index()] += amount;
    }

    /// Adds to the total, independently of the parts.
    #[inline]
    pub fn add_total(&mut self, amount: u64) {
        self.total += amount;
    }

    /// What is to be explained.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What one reason explains.
    pub fn part(&self, reason: R) -> u64 {
        self.parts[reason.index()]
    }

    /// Name, meaning and amount of every reason, in the order of declaration.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        R::GLOSSARY.iter().zip(self.parts).map(|(&(name, doc), amount)| (name, doc, amount))
    }

    /// Adds `other`, total and parts.
    pub fn merge(&mut self, other: &Self) {
        self.total += other.total;
        for (part, more) in self.parts.iter_mut().zip(other.parts) {
            *part += more;
        }
    }

    /// Takes `earlier` away: what was charged since then.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut parts = self.parts;
        for (part, before) in parts.iter_mut().zip(earlier.parts) {
            *part -= before;
        }
        Ledger { total: self.total - earlier.total, parts, reason: PhantomData }
    }

    /// Says by how much the parts miss the total.
    pub fn check(&self) -> Result<(), String> {
        // A stored ledger may say anything.
        let sum: u128 = self.parts.iter().copied().map(u128::from).sum();
        if sum == u128::from(self.total) {
            return Ok(());
        }
        Err(format!("the parts sum to {sum}, the total is {}", self.total))
    }
}

/// The parts by name.
struct Parts<'a, R, const N: usize>(&'a Ledger<R, N>);

impl<R: Reason, const N: usize> Serialize for Parts<'_, R, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.parts().map(|(name, _, amount)| (name, amount)))
    }
}

impl<R: Reason, const N: usize> Serialize for Ledger<R, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Ledger", 2)?;
        fields.serialize_field("total", &self.total)?;
        fields.serialize_field("parts", &Parts(self))?;
        fields.end()
    }
}

/// A ledger as it is stored.
#[derive(Deserialize)]
struct Stored {
    total: u64,
    parts: BTreeMap<String, u64>,
}

/// A reason that the stored ledger does not name was not known to the gsim that wrote it: nothing was
/// charged to it. A name that is no reason of this ledger is an error.
impl<'de, R: Reason, const N: usize> Deserialize<'de> for Ledger<R, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let mut ledger = Ledger { total: stored.total, ..Ledger::default() };
        for (name, amount) in stored.parts {
            let index = R::GLOSSARY.iter().position(|&(known, _)| known == name);
            let index = index.ok_or_else(|| {
                D::Error::custom(format_args!("the ledger has no reason `{name}`"))
            })?;
            ledger.parts[index] = amount;
        }
        Ok(ledger)
    }
}

/// Declares the reasons of a ledger: an enum, their names in reports, and their meanings.
#[macro_export]
macro_rules! reasons {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $(#[doc = $doc:literal] $variant:ident = $text:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        $vis enum $name { $(#[doc = $doc] $variant,)+ }

        impl $name {
            /// Every reason, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];
            /// How many reasons there are.
            pub const COUNT: usize = Self::ALL.len();
        }

        impl $crate::stats::Reason for $name {
            const GLOSSARY: &'static [(&'static str, &'static str)] = &[$(($text, $doc),)+];
            #[inline]
            fn index(self) -> usize {
                self as usize
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{LsuLedger, LsuReason};

    #[test]
    fn a_ledger_whose_parts_miss_the_total_says_so() {
        let mut ledger = LsuLedger::default();
        ledger.add_total(10);
        ledger.charge(LsuReason::Idle, 4);
        ledger.charge(LsuReason::NoMerger, 5);
        assert!(ledger.check().is_err());
        ledger.charge(LsuReason::Serving, 1);
        assert_eq!(ledger.check(), Ok(()));
    }

    #[test]
    fn a_ledger_is_written_as_total_and_named_parts() {
        let mut ledger = LsuLedger::default();
        ledger.add_total(3);
        ledger.charge(LsuReason::NoMshrLine, 3);
        let json = crate::serial::to_json_value(&ledger);
        assert_eq!(json["total"], 3);
        assert_eq!(json["parts"]["nomshrline"], 3);
        assert_eq!(json["parts"].as_object().unwrap().len(), LsuReason::COUNT);
        assert_eq!(LsuReason::GLOSSARY.len(), LsuReason::COUNT);
    }

    #[test]
    fn a_stored_ledger_is_read_back_and_a_strange_reason_is_refused() {
        let mut ledger = LsuLedger::default();
        ledger.add_total(7);
        ledger.charge(LsuReason::Idle, 3);
        ledger.charge(LsuReason::MissQueue, 4);
        let json = crate::serial::to_json(&ledger);
        assert_eq!(serde_json::from_str::<LsuLedger>(&json).unwrap(), ledger);
        let strange = json.replace("missqueue", "moonphase");
        let error = serde_json::from_str::<LsuLedger>(&strange).unwrap_err().to_string();
        assert!(error.contains("no reason `moonphase`"), "{error}");
    }
}
