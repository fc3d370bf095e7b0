//! Maps of a run file that keep the order of the text.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};

/// Values by name, in the order of the text, each name once.
///
/// A name is an identifier, `[A-Za-z_][A-Za-z0-9_]*`, of at most 100 letters: it is a part of the paths of
/// overrides. There are at most 4096.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(Vec<(String, T)>);

/// The most entries: finding one looks at all.
const MOST: usize = 4096;

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named(Vec::new())
    }
}

impl<T> Named<T> {
    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The place of that name in the order.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| known == name)
    }

    /// The names, in order.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// Whether `name` may be one.
pub fn is_name(name: &str) -> bool {
    name.len() <= 100
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamedVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for NamedVisitor<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of names in quotes")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut named = Named::default();
                while let Some(name) = map.next_key::<String>()? {
                    if !is_name(&name) {
                        return Err(de::Error::custom(format_args!(
                            "{name:?} is not a name: letters, digits and `_`, no digit first"
                        )));
                    }
                    if named.0.len() == MOST {
                        return Err(de::Error::custom(format_args!("more than {MOST} entries")));
                    }
                    if named.get(&name).is_some() {
                        return Err(de::Error::custom(format_args!("{name} is stated twice")));
                    }
                    let value = map.next_value()?;
                    named.0.push((name, value));
                }
                Ok(named)
            }
        }

        deserializer.deserialize_map(NamedVisitor(PhantomData))
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
