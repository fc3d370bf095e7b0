//! The matrix product: `c = a b` for square matrices, stored row by row.
//!
//! Every element type gets the same numbers. Sums are of type int and wrap around, and an element of `c`
//! keeps their low bits, on the device and on the host.

use super::{Arg, DeviceMemory, Launch, Own, Verdict, Workload, bundled, elements};
use crate::config::{ElementType, MatmulSpec};

/// Elements of `a` and `b` lie in `-LIMIT..=LIMIT`: within a signed char, so that all types hold the same.
const LIMIT: i32 = 100;

/// Fills the buffers and lists the launch.
pub(super) fn build(spec: &MatmulSpec, seed: u64) -> Workload {
    let (element, n) = (spec.element, spec.size.size());
    let bytes = (n * n * element.bytes()) as u64;
    let mut memory = DeviceMemory::default();
    let [a, b, c] = ["a", "b", "c"].map(|name| memory.allocate(name, bytes));
    let mut numbers = inputs(seed);
    for matrix in [a, b] {
        elements::fill(memory.of_mut(matrix), element, numbers.by_ref().take(n * n));
    }
    let name = format!("matmul_{}", element.name());
    let [x, y] = [spec.block_x.get(), spec.block_y.get()];
    let launch = Launch {
        ptx: bundled::kernel("matmul").ptx_source(),
        entry: name.clone(),
        grid: [spec.size.get().div_ceil(x), spec.size.get().div_ceil(y), 1],
        block: [x, y, 1],
        dynamic_shared: 0,
        args: vec![Arg::Buffer(a), Arg::Buffer(b), Arg::Buffer(c), Arg::I32(n as i32)],
    };
    Workload {
        name,
        memory,
        launches: [launch].into_iter().collect(),
        check: Box::new(move |memory| {
            let mut numbers = inputs(seed);
            let [a, b] = [(); 2].map(|()| numbers.by_ref().take(n * n).collect::<Vec<_>>());
            let product = reference(&a, &b, n, element).into_iter();
            Ok(Verdict { elements: elements::compare(memory, c, "the product", element, product)? })
        }),
        own: Own::default(),
    }
}

/// The elements of `a`, then those of `b`.
fn inputs(seed: u64) -> impl Iterator<Item = i32> {
    elements::random(seed, -LIMIT..=LIMIT)
}

/// The product, row by row of `b` so that the host reads memory in order.
fn reference(a: &[i32], b: &[i32], n: usize, element: ElementType) -> Vec<i32> {
    let mut product = vec![0i32; n * n];
    for (row, out) in a.chunks_exact(n).zip(product.chunks_exact_mut(n)) {
        for (&left, line) in row.iter().zip(b.chunks_exact(n)) {
            for (sum, &right) in out.iter_mut().zip(line) {
                *sum = sum.wrapping_add(left.wrapping_mul(right));
            }
        }
    }
    product.iter_mut().for_each(|sum| *sum = elements::wrap(element, *sum));
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse::from_text;

    fn workload(text: &str) -> Workload {
        build(&crate::config::parse::stated(text), 1)
    }

    #[test]
    fn every_type_gets_the_same_numbers_and_the_matrices_differ() {
        let [ints, shorts, chars] = ElementType::ALL.map(|element| -> Vec<Vec<i32>> {
            let workload = workload(&format!("(element: {element:?}, size: 20)"));
            let buffers = workload.memory.buffers();
            let matrix = |at: usize| elements::read(&workload.memory, buffers[at].1, element);
            (0..3).map(|at| matrix(at).collect()).collect()
        });
        assert_eq!(shorts, ints);
        assert_eq!(chars, ints);
        // Pinned: results of the past depend on these numbers.
        assert_eq!(ints[0][..4], [10, -20, 97, -84]);
        assert_eq!(ints[1][..4], inputs(1).skip(400).take(4).collect::<Vec<_>>());
        assert_eq!(ints[2], [0; 400]);
    }

    #[test]
    fn one_launch_covers_every_element_once() {
        let workload = workload("(element: Short, size: 100, block_x: 32, block_y: 8)");
        let launches: Vec<&Launch> = workload.launches.ptx().collect();
        let [launch] = launches[..] else { panic!("one launch") };
        assert_eq!((launch.grid, launch.block), ([4, 13, 1], [32, 8, 1]));
        assert_eq!(launch.entry, "matmul_short");
        let buffers = workload.memory.buffers().iter().map(|(_, buffer)| Arg::Buffer(*buffer));
        assert_eq!(launch.args, buffers.chain([Arg::I32(100)]).collect::<Vec<_>>());
    }

    #[test]
    fn the_reference_multiplies_row_by_column_and_keeps_the_low_bits() {
        let (a, b) = ([1, 2, 3, 4], [5, 60, 7, 80]);
        assert_eq!(reference(&a, &b, 2, ElementType::Int), [19, 220, 43, 500]);
        assert_eq!(reference(&a, &b, 2, ElementType::Char), [19, -36, 43, -12]);
        let large = [i32::MAX; 4];
        assert_eq!(reference(&large, &large, 2, ElementType::Int), [2; 4]);
    }

    #[test]
    fn the_check_names_the_first_wrong_element() {
        let mut workload = workload("(element: Char, size: 5)");
        let numbers: Vec<i32> = inputs(1).take(50).collect();
        let right = reference(&numbers[..25], &numbers[25..], 5, ElementType::Char);
        let (_, product) = workload.memory.buffers()[2];
        let bytes: Vec<u8> = right.iter().map(|&value| value as u8).collect();
        workload.memory.of_mut(product).copy_from_slice(&bytes);
        assert_eq!((workload.check)(&workload.memory), Ok(Verdict { elements: 25 }));
        workload.memory.of_mut(product)[7] ^= 1;
        let error = (workload.check)(&workload.memory).unwrap_err().message;
        assert!(error.starts_with("wrong result: element 7 of the product is "), "{error}");
    }

    #[test]
    fn a_block_of_too_many_threads_is_refused() {
        let text = "(element: Int, block_x: 64, block_y: 32)";
        let error = from_text::<crate::config::Checked<MatmulSpec>>("a.ron".as_ref(), text);
        let message = error.unwrap_err().to_string();
        assert!(message.contains("block_x (64) x block_y (32) = 2048 threads, more than 1024"));
    }
}
