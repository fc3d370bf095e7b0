//! Elements in device memory: seeded numbers, written and read in the size of their type, and compared.

use std::ops::{ControlFlow, RangeInclusive};

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

use super::{Buffer, DeviceMemory};
use crate::config::ElementType;
use crate::error::{Error, Result};

/// Numbers in `range`, without end, the same on every host.
///
/// The map from random words to numbers is written out, for that of the random number library may
/// change between its versions.
pub(super) fn random(seed: u64, range: RangeInclusive<i32>) -> impl Iterator<Item = i32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (first, last) = range.into_inner();
    let values = (i64::from(last) - i64::from(first) + 1) as u64;
    std::iter::repeat_with(move || {
        let scaled = (u64::from(random.next_u32()) * values) >> 32;
        (i64::from(first) + scaled as i64) as i32
    })
}

/// The number that an element of this type keeps of `value`: its low bits, with their sign.
pub(super) fn wrap(element: ElementType, value: i32) -> i32 {
    match element {
        ElementType::Int => value,
        ElementType::Short => i32::from(value as i16),
        ElementType::Char => i32::from(value as i8),
    }
}

/// Writes the low bytes of numbers as the device has them: little-endian.
pub(super) fn fill(bytes: &mut [u8], element: ElementType, values: impl Iterator<Item = i32>) {
    match element {
        ElementType::Int => fill_with(bytes, values, i32::to_le_bytes),
        ElementType::Short => fill_with(bytes, values, |value| (value as i16).to_le_bytes()),
        ElementType::Char => fill_with(bytes, values, |value| (value as i8).to_le_bytes()),
    }
}

/// For each size on its own, so that the loop knows it.
fn fill_with<const SIZE: usize>(
    bytes: &mut [u8],
    values: impl Iterator<Item = i32>,
    bytes_of: impl Fn(i32) -> [u8; SIZE],
) {
    let (places, _) = bytes.as_chunks_mut();
    places.iter_mut().zip(values).for_each(|(place, value)| *place = bytes_of(value));
}

/// The elements of a buffer.
pub(super) fn read(
    memory: &DeviceMemory,
    buffer: Buffer,
    element: ElementType,
) -> impl Iterator<Item = i32> {
    memory.of(buffer).chunks_exact(element.bytes()).map(|bytes| match *bytes {
        [a] => i32::from(a as i8),
        [a, b] => i32::from(i16::from_le_bytes([a, b])),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]),
        _ => unreachable!("elements have 1, 2 or 4 bytes"),
    })
}

/// Compares every element of a buffer, which messages call `name`, with the host's; gives how many.
///
/// # Errors
/// The first element that differs.
pub(super) fn compare(
    memory: &DeviceMemory,
    buffer: Buffer,
    name: &str,
    element: ElementType,
    mut reference: impl Iterator<Item = i32>,
) -> Result<u64> {
    let (mut elements, mut read) = (0, read(memory, buffer, element));
    let compared = reference.try_for_each(|want| match read.next() {
        Some(have) if have == want => {
            elements += 1;
            ControlFlow::Continue(())
        }
        have => ControlFlow::Break((have, want)),
    });
    if let ControlFlow::Break((Some(have), want)) = compared {
        return Err(Error::run(format!(
            "wrong result: element {elements} of {name} is {have}, the host reference has {want}"
        )));
    }
    let is_all = compared.is_continue() && read.next().is_none();
    assert!(is_all, "the size of {name}");
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_keeps_the_low_bits_and_reads_back_with_their_sign() {
        let values = [0, -1, 127, 128, 40_000, -40_000, i32::MIN];
        for element in ElementType::ALL {
            let mut memory = DeviceMemory::default();
            let buffer = memory.allocate("a", (values.len() * element.bytes()) as u64);
            fill(memory.of_mut(buffer), element, values.into_iter());
            let kept: Vec<i32> = values.iter().map(|&value| wrap(element, value)).collect();
            assert_eq!(read(&memory, buffer, element).collect::<Vec<_>>(), kept, "{element:?}");
        }
        assert_eq!(wrap(ElementType::Char, 128), -128);
        assert_eq!(wrap(ElementType::Short, 40_000), -25_536);
    }

    #[test]
    fn random_numbers_lie_in_their_range_and_reach_its_ends() {
        let values: Vec<i32> = random(1, -3..=2).take(1000).collect();
        assert_eq!((values.iter().min(), values.iter().max()), (Some(&-3), Some(&2)));
        assert_eq!(random(7, i32::MIN..=i32::MAX).take(9).count(), 9);
        assert!(random(1, 0..=255).take(9).eq(random(1, 0..=255).take(9)));
        assert!(!random(1, 0..=255).take(9).eq(random(2, 0..=255).take(9)));
    }

    #[test]
    fn the_first_difference_is_named() {
        let mut memory = DeviceMemory::default();
        let buffer = memory.allocate("c", 4);
        let compare = |memory: &DeviceMemory, want: [i32; 4]| {
            super::compare(memory, buffer, "c", ElementType::Char, want.into_iter())
        };
        memory.of_mut(buffer).copy_from_slice(&[1, 2, 255, 4]);
        assert_eq!(compare(&memory, [1, 2, -1, 4]), Ok(4));
        assert_eq!(
            compare(&memory, [1, 2, 255, 5]).unwrap_err().message,
            "wrong result: element 2 of c is -1, the host reference has 255"
        );
    }
}
