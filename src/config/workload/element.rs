//! Types of array elements.

use serde::{Deserialize, Serialize};

/// Type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElementType {
    /// 4 bytes.
    Int,
    /// 2 bytes.
    Short,
    /// 1 byte, signed.
    Char,
}

impl ElementType {
    /// Every type, largest first.
    pub const ALL: [ElementType; 3] = [ElementType::Int, ElementType::Short, ElementType::Char];

    /// Its name in C.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::Int => "int",
            ElementType::Short => "short",
            ElementType::Char => "char",
        }
    }

    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            ElementType::Int => 4,
            ElementType::Short => 2,
            ElementType::Char => 1,
        }
    }
}
