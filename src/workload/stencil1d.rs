//! The 1D stencil: `out[i] = (in[i-1] + in[i] + in[i+1]) / 3`, borders copied.
//!
//! Two arrays; launch k reads the one that launch k-1 wrote. Every element type gets the same
//! numbers, so that runs differ in the size of an element only.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

use super::registry::KERNELS;
use super::{Arg, Buffer, DeviceMemory, Launch, Own, Verdict, Workload};
use crate::config::{ElementType, Stencil1dSpec};
use crate::error::{Error, Result};

/// Input elements lie in `-LIMIT..=LIMIT`: within a signed char, so that all types hold the same.
const LIMIT: i32 = 100;

/// Fills the buffers and lists the launches.
pub(super) fn build(spec: &Stencil1dSpec, seed: u64) -> Workload {
    let (element, count) = (spec.element, spec.elements.size());
    let bytes = (count * element.bytes()) as u64;
    let mut memory = DeviceMemory::default();
    let arrays = [memory.allocate("a", bytes), memory.allocate("b", bytes)];
    fill(memory.of_mut(arrays[0]), element, inputs(seed));

    let kernel =
        KERNELS.iter().find(|kernel| kernel.name == "stencil1d").expect("it is registered");
    let ptx = kernel.ptx_source();
    let n = i32::try_from(count).expect("the range of elements");
    let iterations = spec.iterations.size();
    let launches = (0..iterations)
        .map(|iteration| Launch {
            ptx: ptx.clone(),
            entry: format!("stencil1d_{}", element.name()),
            grid: [spec.elements.get().div_ceil(spec.block.get()), 1, 1],
            block: [spec.block.get(), 1, 1],
            dynamic_shared: 0,
            args: vec![
                Arg::Buffer(arrays[iteration % 2]),
                Arg::Buffer(arrays[(iteration + 1) % 2]),
                Arg::I32(n),
            ],
        })
        .collect();

    let result = arrays[iterations % 2];
    Workload {
        name: format!("stencil1d_{}", element.name()),
        memory,
        launches,
        check: Box::new(move |memory| {
            // Made here and not kept: the host's copy of a large array lives for the check only.
            let reference = reference(inputs(seed).take(count).collect(), iterations);
            check(memory, result, element, &reference)
        }),
        own: Own::default(),
    }
}

/// The input elements, without end, the same for every element type.
///
/// The map from random words to numbers is written out, for that of the random number library may
/// change between its versions.
fn inputs(seed: u64) -> impl Iterator<Item = i8> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    std::iter::repeat_with(move || {
        let values = 2 * LIMIT as u64 + 1;
        let scaled = (u64::from(random.next_u32()) * values) >> 32;
        (scaled as i32 - LIMIT) as i8
    })
}

/// Writes elements as the device has them: little-endian.
fn fill(bytes: &mut [u8], element: ElementType, values: impl Iterator<Item = i8>) {
    for (place, value) in bytes.chunks_exact_mut(element.bytes()).zip(values) {
        place.copy_from_slice(&i32::from(value).to_le_bytes()[..place.len()]);
    }
}

/// Reads one element as the device has it.
fn read(bytes: &[u8]) -> i32 {
    match *bytes {
        [a] => i32::from(a as i8),
        [a, b] => i32::from(i16::from_le_bytes([a, b])),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]),
        _ => unreachable!("elements have 1, 2 or 4 bytes"),
    }
}

/// Applies the stencil in place. An average of numbers within a signed char lies within it as well.
fn reference(mut values: Vec<i8>, iterations: usize) -> Vec<i8> {
    for _ in 0..iterations {
        let mut left = values.first().copied().unwrap_or(0);
        for i in 1..values.len().saturating_sub(1) {
            let sum = i32::from(left) + i32::from(values[i]) + i32::from(values[i + 1]);
            left = values[i];
            values[i] = (sum / 3) as i8;
        }
    }
    values
}

/// Compares every element.
fn check(
    memory: &DeviceMemory,
    result: Buffer,
    element: ElementType,
    reference: &[i8],
) -> Result<Verdict> {
    let elements = memory.of(result).chunks_exact(element.bytes());
    for (index, (bytes, &want)) in elements.zip(reference).enumerate() {
        let have = read(bytes);
        if have != i32::from(want) {
            return Err(Error::run(format!(
                "wrong result: element {index} of the last output is {have}, the host reference has \
                 {want}"
            )));
        }
    }
    Ok(Verdict { elements: reference.len() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Work;

    fn workload(text: &str) -> Workload {
        build(&ron::from_str(text).unwrap(), 1)
    }

    fn elements(workload: &Workload, buffer: usize, size: usize) -> Vec<i32> {
        let (_, buffer) = workload.memory.buffers()[buffer];
        workload.memory.of(buffer).chunks_exact(size).map(read).collect()
    }

    #[test]
    fn every_type_gets_the_same_numbers() {
        let of = |element: &str| workload(&format!("(element: {element}, elements: 1000)"));
        let ints = elements(&of("Int"), 0, 4);
        assert_eq!(elements(&of("Short"), 0, 2), ints);
        assert_eq!(elements(&of("Char"), 0, 1), ints);
        assert_eq!((ints.iter().min(), ints.iter().max()), (Some(&-100), Some(&100)));
        // Pinned: results of the past depend on these numbers.
        assert_eq!(ints[..4], [10, -20, 97, -84]);
    }

    #[test]
    fn launches_swap_the_arrays_and_cover_every_element() {
        let workload = workload("(element: Short, elements: 1000, iterations: 3)");
        let buffers: Vec<Arg> =
            workload.memory.buffers().iter().map(|(_, buffer)| Arg::Buffer(*buffer)).collect();
        let (a, b) = (buffers[0].clone(), buffers[1].clone());
        let launches: Vec<&Launch> = workload.launches.iter().filter_map(Work::ptx).collect();
        let args: Vec<&[Arg]> = launches.iter().map(|launch| &launch.args[..]).collect();
        let n = Arg::I32(1000);
        let forth = [a.clone(), b.clone(), n.clone()];
        assert_eq!(args, [&forth, &[b, a, n], &forth]);
        assert_eq!((launches[0].grid, launches[0].block), ([4, 1, 1], [256, 1, 1]));
        assert_eq!(launches[0].entry, "stencil1d_short");
    }

    #[test]
    fn the_reference_truncates_and_copies_the_borders() {
        assert_eq!(reference(vec![7, -1, -1, 0, 9], 1), [7, 1, 0, 2, 9]);
        assert_eq!(reference(vec![7, -1, -1, 0, 9], 2), [7, 2, 1, 3, 9]);
        assert_eq!(reference(vec![5, 6], 3), [5, 6]);
        assert_eq!(reference(vec![5], 1), [5]);
    }

    #[test]
    fn the_check_names_the_first_wrong_element() {
        let mut workload = workload("(element: Char, elements: 64, iterations: 2)");
        let (_, result) = workload.memory.buffers()[0];
        let right = reference(inputs(1).take(64).collect(), 2);
        fill(workload.memory.of_mut(result), ElementType::Char, right.iter().copied());
        assert_eq!((workload.check)(&workload.memory), Ok(Verdict { elements: 64 }));
        workload.memory.of_mut(result)[9] = 127;
        workload.memory.of_mut(result)[11] = 127;
        let error = (workload.check)(&workload.memory).unwrap_err();
        assert_eq!(
            error.message,
            format!(
                "wrong result: element 9 of the last output is 127, the host reference has {}",
                right[9]
            )
        );
        assert_eq!(error.exit_code(), 1);
    }
}
