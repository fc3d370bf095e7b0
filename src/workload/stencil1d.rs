//! The 1D stencil: `out[i] = (in[i-1] + in[i] + in[i+1]) / 3`, borders copied.
//!
//! Two arrays; launch k reads the one that launch k-1 wrote. Every element type gets the same
//! numbers, so that runs differ in the size of an element only.

use super::{Arg, DeviceMemory, Launch, Own, Verdict, Workload, bundled, elements};
use crate::config::Stencil1dSpec;

/// Input elements lie in `-LIMIT..=LIMIT`: within a signed char, so that all types hold the same.
const LIMIT: i32 = 100;

/// Fills the buffers and lists the launches.
pub(super) fn build(spec: &Stencil1dSpec, seed: u64) -> Workload {
    let (element, count) = (spec.element, spec.elements.size());
    let bytes = (count * element.bytes()) as u64;
    let mut memory = DeviceMemory::default();
    let arrays = [memory.allocate("a", bytes), memory.allocate("b", bytes)];
    elements::fill(memory.of_mut(arrays[0]), element, inputs(seed));

    let ptx = bundled::kernel("stencil1d").ptx_source();
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
            let reference = reference(inputs(seed).take(count), iterations);
            let elements =
                elements::compare(memory, result, "the last output", element, reference)?;
            Ok(Verdict { elements })
        }),
        own: Own::default(),
    }
}

/// The input elements, without end, the same for every element type.
fn inputs(seed: u64) -> impl Iterator<Item = i32> {
    elements::random(seed, -LIMIT..=LIMIT)
}

/// The last output, made as it is compared: the host holds no copy of an array, however large.
fn reference(input: impl Iterator<Item = i32>, iterations: usize) -> impl Iterator<Item = i32> {
    const BLOCK: usize = 1 << 10;
    let mut input = input.map(|value| value as i8);
    let mut stages = vec![Stage::default(); iterations];
    let mut is_over = false;
    let blocks = std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let mut block: Vec<i8> = input.by_ref().take(BLOCK).collect();
        is_over = block.len() < BLOCK;
        stages.iter_mut().for_each(|stage| stage.pass(&mut block, is_over));
        Some(block)
    });
    blocks.flatten().map(i32::from)
}

/// One iteration over elements that come block by block.
#[derive(Clone, Default)]
struct Stage {
    has_begun: bool,
    /// The last two elements that came, and then those of the block.
    old: Vec<i8>,
}

impl Stage {
    /// Takes a block of old elements and leaves new ones there: of all whose right neighbour has come. An average of numbers
    /// within a signed char lies within it as well.
    fn pass(&mut self, block: &mut Vec<i8>, is_last: bool) {
        let Stage { has_begun, old } = self;
        old.append(block);
        if !*has_begun {
            block.extend(old.first());
            *has_begun = !old.is_empty();
        }
        block.extend(
            old.windows(3).map(|of| (of.iter().map(|&x| i16::from(x)).sum::<i16>() / 3) as i8),
        );
        if is_last && old.len() > 1 {
            block.extend(old.last());
        }
        old.drain(..old.len().saturating_sub(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ElementType;

    fn workload(text: &str) -> Workload {
        build(&crate::config::parse::stated(text), 1)
    }

    #[test]
    fn every_type_gets_the_same_numbers() {
        let [ints, shorts, chars] = ElementType::ALL.map(|element| -> Vec<i32> {
            let workload = workload(&format!("(element: {element:?}, elements: 1000)"));
            let (_, input) = workload.memory.buffers()[0];
            elements::read(&workload.memory, input, element).collect()
        });
        assert_eq!(shorts, ints);
        assert_eq!(chars, ints);
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
        let launches: Vec<&Launch> = workload.launches.ptx().collect();
        let args: Vec<&[Arg]> = launches.iter().map(|launch| &launch.args[..]).collect();
        let n = Arg::I32(1000);
        let forth = [a.clone(), b.clone(), n.clone()];
        assert_eq!(args, [&forth, &[b, a, n], &forth]);
        assert_eq!((launches[0].grid, launches[0].block), ([4, 1, 1], [256, 1, 1]));
        assert_eq!(launches[0].entry, "stencil1d_short");
    }

    #[test]
    fn the_reference_truncates_and_copies_the_borders() {
        let after = |values: &[i32], iterations| -> Vec<i32> {
            reference(values.iter().copied(), iterations).collect()
        };
        assert_eq!(after(&[7, -1, -1, 0, 9], 1), [7, 1, 0, 2, 9]);
        assert_eq!(after(&[7, -1, -1, 0, 9], 2), [7, 2, 1, 3, 9]);
        assert_eq!(after(&[5, 6], 3), [5, 6]);
        assert_eq!(after(&[5], 1), [5]);
        assert!(after(&[], 1).is_empty());
    }

    #[test]
    fn the_reference_does_not_depend_on_its_blocks() {
        for count in [1023, 1024, 1025, 1026, 1027, 2047, 2048, 2049, 3000] {
            for iterations in [1, 2, 5] {
                let mut want: Vec<i32> = inputs(3).take(count).collect();
                for _ in 0..iterations {
                    let old = want.clone();
                    let inner = old.windows(3).map(|of| of.iter().sum::<i32>() / 3);
                    want[1..count - 1].iter_mut().zip(inner).for_each(|(to, value)| *to = value);
                }
                let seen: Vec<i32> = reference(inputs(3).take(count), iterations).collect();
                assert!(seen == want, "{count} elements, {iterations} iterations");
            }
        }
    }

    #[test]
    fn the_check_names_the_first_wrong_element() {
        let mut workload = workload("(element: Char, elements: 64, iterations: 2)");
        let (_, result) = workload.memory.buffers()[0];
        let right: Vec<i32> = reference(inputs(1).take(64), 2).collect();
        let bytes = right.iter().map(|&value| value as u8).collect::<Vec<_>>();
        workload.memory.of_mut(result).copy_from_slice(&bytes);
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
