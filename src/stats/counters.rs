//! Structs of `u64` counters.

use serde::Serialize;

/// What every struct of counters can do.
pub trait Stats: Default + Clone + Serialize {
    /// Field name and meaning of every counter, in the order of declaration.
    const GLOSSARY: &'static [(&'static str, &'static str)];
    /// Adds `other` counter by counter.
    fn merge(&mut self, other: &Self);
    /// Takes `earlier` away counter by counter: what happened since then.
    fn since(&self, earlier: &Self) -> Self;
    /// Every counter, in the order of declaration.
    fn values(&self) -> impl Iterator<Item = u64>;
}

/// Declares a statistics struct whose every field is a `u64` counter with a one-line meaning.
///
/// The doc comment of a field is also its entry in the glossary of reports. It ends with the unit in
/// square brackets, which rustdoc must not take for a link.
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $(#[doc = $doc:literal] $field:ident,)+ }) => {
        $(#[$meta])*
        #[allow(rustdoc::broken_intra_doc_links, reason = "units such as [bytes] are no links")]
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        // What a stored report lacks was not counted yet.
        #[serde(default)]
        $vis struct $name { $(#[doc = $doc] pub $field: u64,)+ }

        impl $crate::stats::Stats for $name {
            const GLOSSARY: &'static [(&'static str, &'static str)] =
                &[$((stringify!($field), $doc),)+];
            fn merge(&mut self, other: &Self) {
                $(self.$field += other.$field;)+
            }
            fn since(&self, earlier: &Self) -> Self {
                $name { $($field: self.$field - earlier.$field,)+ }
            }
            fn values(&self) -> impl Iterator<Item = u64> {
                [$(self.$field,)+].into_iter()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Stats;

    counters! {
        /// Two counters.
        struct Two {
            /// First [events].
            first,
            /// Second [events].
            second,
        }
    }

    #[test]
    fn counters_merge_and_subtract_field_by_field() {
        let mut sum = Two { first: 1, second: 2 };
        sum.merge(&Two { first: 10, second: 20 });
        assert_eq!(sum, Two { first: 11, second: 22 });
        assert_eq!(sum.since(&Two { first: 1, second: 2 }), Two { first: 10, second: 20 });
        assert_eq!(Two::GLOSSARY[1].0, "second");
        assert_eq!(sum.values().collect::<Vec<_>>(), [11, 22]);
    }
}
