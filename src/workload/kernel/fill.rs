//! What buffers hold before the first launch.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use super::element::{Bytes, of_amount, of_real, of_whole};
use crate::config::kernel::{Fill, Scalar, Scope};

/// Random numbers of a buffer: of the run's seed and the buffer's name, so that a buffer keeps its numbers
/// when others come or go.
fn random(seed: u64, name: &str) -> ChaCha8Rng {
    let digest = Sha256::digest(name.as_bytes());
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::from_le_bytes(*digest.first_chunk().expect("32 bytes")));
    random
}

/// A number in `0..limit`; the map is written out, for that of a library may change.
fn below(random: &mut ChaCha8Rng, limit: u128) -> u128 {
    // At most 2^64: the product has 128 bits.
    (u128::from(random.next_u64()) * limit) >> 64
}

/// Brings `count` things into a random order, all orders equally likely.
fn shuffle(count: usize, random: &mut ChaCha8Rng, swap: &mut dyn FnMut(usize, usize)) {
    // Fisher and Yates, from the end.
    for last in (1..count).rev() {
        swap(last, below(random, last as u128 + 1) as usize);
    }
}

/// Fills a buffer at `address` that no file fills. The specification has been checked.
pub fn fill(
    place: &mut [u8],
    address: u64,
    element: Scalar,
    fill: &Fill,
    scope: &Scope,
    seed: u64,
    name: &str,
) -> Result<(), String> {
    let size = element.bytes() as usize;
    let each = |place: &mut [u8], next: &mut dyn FnMut(i128) -> Bytes| {
        for (index, place) in place.chunks_exact_mut(size).enumerate() {
            place.copy_from_slice(&next(index as i128)[..size]);
        }
    };
    match fill {
        Fill::Zero | Fill::Npy(_) | Fill::Raw(_) => {}
        Fill::Constant(value) => {
            let bytes = of_amount(element, value, scope)?;
            each(place, &mut |_| bytes);
        }
        Fill::Values(values) => {
            for (place, value) in place.chunks_exact_mut(size).zip(values) {
                place.copy_from_slice(&of_amount(element, value, scope)?[..size]);
            }
        }
        Fill::Ring { step, shuffled } => {
            let step = step.whole(scope)? as usize;
            let mut nodes: Vec<usize> = (0..place.len() / size).step_by(step).collect();
            if *shuffled {
                let random = &mut random(seed, name);
                shuffle(nodes.len(), random, &mut |one, other| nodes.swap(one, other));
            }
            let next = nodes.iter().cycle().skip(1);
            for (node, next) in nodes.iter().zip(next) {
                let next = address + (next * size) as u64;
                place[node * size..][..size].copy_from_slice(&next.to_le_bytes());
            }
        }
        Fill::Iota { start, step } if element.is_float() => {
            let (start, step) = (start.real(scope)?, step.real(scope)?);
            each(place, &mut |index| of_real(element, start + index as f64 * step));
        }
        Fill::Iota { start, step } => {
            let (start, step) = (start.whole(scope)?, step.whole(scope)?);
            each(place, &mut |index| of_whole(element, start + index * step));
        }
        Fill::Uniform { low, high } if element.is_float() => {
            let (low, high) = (low.real(scope)?, high.real(scope)?);
            let mut random = random(seed, name);
            each(place, &mut |_| {
                let unit = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                of_real(element, low + unit * (high - low))
            });
        }
        Fill::Uniform { low, high } => {
            let (low, high) = (low.whole(scope)?, high.whole(scope)?);
            let mut random = random(seed, name);
            let count = (high - low) as u128 + 1;
            each(place, &mut |_| of_whole(element, low + below(&mut random, count) as i128));
        }
        Fill::Permutation { start } => {
            let start = start.whole(scope)?;
            each(place, &mut |index| of_whole(element, start + index));
            shuffle(place.len() / size, &mut random(seed, name), &mut |one, other| {
                for byte in 0..size {
                    place.swap(one * size + byte, other * size + byte);
                }
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::element::Value;
    use super::*;
    use crate::config::kernel::Amount;

    fn values(element: Scalar, count: usize, text: &str) -> Vec<Value> {
        let mut bytes = vec![0; count * element.bytes() as usize];
        let spec: Fill = crate::config::parse::stated(text);
        fill(&mut bytes, 0, element, &spec, &Scope::new(), 1, "x").unwrap();
        bytes.chunks_exact(element.bytes() as usize).map(|one| Value::of(element, one)).collect()
    }

    fn whole(element: Scalar, count: usize, text: &str) -> Vec<i128> {
        let number = |value| match value {
            Value::Whole(value) => value,
            other => panic!("{other:?}"),
        };
        values(element, count, text).into_iter().map(number).collect()
    }

    #[test]
    fn sequences_and_constants_are_what_they_say() {
        assert_eq!(whole(Scalar::I16, 4, "Iota(start: -3, step: 2)"), [-3, -1, 1, 3]);
        assert_eq!(whole(Scalar::U8, 3, "Constant(255)"), [255, 255, 255]);
        assert_eq!(whole(Scalar::I64, 2, "Values([-5, 7])"), [-5, 7]);
        let quarters = [0.5, 0.75, 1.0].map(Value::F32);
        assert_eq!(values(Scalar::F16, 3, "Iota(start: 0.5, step: 0.25)"), quarters);
        assert_eq!(values(Scalar::F64, 2, "Constant(0.1)"), [Value::F64(0.1); 2]);
        assert_eq!(values(Scalar::F32, 1, "Constant(\"inf\")"), [Value::F32(f32::INFINITY)]);
    }

    #[test]
    fn a_permutation_has_each_number_once() {
        let mut numbers = whole(Scalar::U32, 1000, "Permutation(start: 5)");
        // Pinned: results of the past depend on these numbers.
        assert_eq!(numbers[..4], PERMUTED);
        numbers.sort();
        assert_eq!(numbers, (5..1005).collect::<Vec<i128>>());
    }

    #[test]
    fn a_ring_visits_every_node_once() {
        for (shuffled, nodes) in [(false, 7), (true, 7)] {
            let (count, step, address) = (20, 3, 0x1000);
            let spec = Fill::Ring { step: Amount::Whole(step), shuffled };
            let mut bytes = vec![0; count * 8];
            fill(&mut bytes, address, Scalar::U64, &spec, &Scope::new(), 1, "x").unwrap();
            let word = |index: usize| {
                u64::from_le_bytes(bytes[index * 8..][..8].try_into().expect("eight bytes"))
            };
            let mut visited = Vec::new();
            let mut place = 0;
            while !visited.contains(&place) {
                visited.push(place);
                place = (word(place) - address) as usize / 8;
            }
            assert_eq!((place, visited.len()), (0, nodes));
            assert_eq!(visited.is_sorted(), !shuffled, "{visited:?}");
            assert!((0..count).all(|index| visited.contains(&index) || word(index) == 0));
        }
    }

    #[test]
    fn uniform_numbers_fill_their_range() {
        let dice = whole(Scalar::I8, 6000, "Uniform(low: -3, high: 2)");
        assert_eq!(dice[..4], DICE);
        for side in -3..=2 {
            let count = dice.iter().filter(|one| **one == side).count();
            assert!((850..1150).contains(&count), "{side}: {count}");
        }
        let all = whole(
            Scalar::I64,
            1000,
            "Uniform(low: -9223372036854775808, high: 9223372036854775807)",
        );
        assert!(all.iter().any(|one| *one < -(1 << 62)) && all.iter().any(|one| *one > 1 << 62));
        let reals = values(Scalar::F32, 1000, "Uniform(low: -1, high: 1)");
        let mean = reals.iter().map(|one| one.real()).sum::<f64>() / 1000.0;
        assert!(reals.iter().all(|one| (-1.0..=1.0).contains(&one.real())));
        assert!(mean.abs() < 0.06, "{mean}");
    }

    #[test]
    fn every_buffer_and_seed_has_its_own_numbers() {
        let of = |seed, name| {
            let mut bytes = vec![0; 64];
            let spec = crate::config::parse::stated("Uniform(low: 0, high: 255)");
            fill(&mut bytes, 0, Scalar::U8, &spec, &Scope::new(), seed, name).unwrap();
            bytes
        };
        assert_eq!(of(1, "x"), of(1, "x"));
        assert!(of(1, "x") != of(2, "x") && of(1, "x") != of(1, "y"));
    }

    const PERMUTED: [i128; 4] = [239, 652, 734, 468];
    const DICE: [i128; 4] = [1, -2, 1, -1];
}
