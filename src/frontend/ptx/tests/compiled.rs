//! Kernels as a compiler writes them (`compiled.cu`), against the host.

use super::*;

const TEXT: &str = include_str!("compiled.ptx");

/// A value that lies in buffers.
trait Cell: Copy {
    fn bytes(self) -> Vec<u8>;
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! cells {
    ($($ty:ty),*) => {$(
        impl Cell for $ty {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }

            fn read(bytes: &[u8]) -> $ty {
                <$ty>::from_le_bytes(bytes.try_into().unwrap())
            }
        }
    )*};
}

cells!(i8, u8, i16, i32, u32, i64, f32, f64);

struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
}

const LINE: Shape = Shape { grid: [8, 1, 1], block: [128, 1, 1], dynamic_shared: 0 };
/// Elements of a buffer: fewer than [`LINE`] has threads.
const COUNT: usize = 1000;

/// Runs a kernel of inputs, one output and the number of elements; the output starts as zero.
fn launch<I: Cell, O: Cell>(
    entry: &str,
    shape: &Shape,
    inputs: &[&[I]],
    n: i32,
    out: usize,
) -> Vec<O> {
    let mut memory = DeviceMemory::default();
    let mut args = Vec::new();
    for input in inputs {
        let bytes: Vec<u8> = input.iter().flat_map(|value| value.bytes()).collect();
        let buffer = memory.allocate("in", bytes.len() as u64);
        memory.of_mut(buffer).copy_from_slice(&bytes);
        args.push(Arg::Buffer(buffer));
    }
    let output = memory.allocate("out", (out * size_of::<O>()) as u64);
    args.extend([Arg::Buffer(output), Arg::I32(n)]);
    let &Shape { grid, block, dynamic_shared } = shape;
    let launch =
        Launch { ptx: source(TEXT), entry: entry.into(), grid, block, dynamic_shared, args };
    let module = Module::parse(&launch.ptx).unwrap();
    drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
    memory.of(output).chunks_exact(size_of::<O>()).map(O::read).collect()
}

fn line<I: Cell, O: Cell>(entry: &str, input: &[I]) -> Vec<O> {
    launch(entry, &LINE, &[input], COUNT as i32, COUNT)
}

fn words() -> Vec<u32> {
    let mut state = 12345u32;
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        state >> 7
    };
    (0..COUNT).map(|_| next()).collect()
}

fn stencil<T: Copy>(input: &[T], third: impl Fn(T, T, T) -> T) -> Vec<T> {
    let inner = input.windows(3).map(|three| third(three[0], three[1], three[2]));
    let (first, last) = (input[0], input[input.len() - 1]);
    std::iter::once(first).chain(inner).chain([last]).collect()
}

#[test]
fn stencils_of_narrow_types_match_the_host() {
    let bytes: Vec<i8> = words().iter().map(|word| *word as i8).collect();
    let host = stencil(&bytes, |a, b, c| ((i32::from(a) + i32::from(b) + i32::from(c)) / 3) as i8);
    assert_eq!(line::<i8, i8>("st_char", &bytes), host);
    let bytes: Vec<u8> = words().iter().map(|word| *word as u8).collect();
    let host = stencil(&bytes, |a, b, c| ((i32::from(a) + i32::from(b) + i32::from(c)) / 3) as u8);
    assert_eq!(line::<u8, u8>("st_uchar", &bytes), host);
    let shorts: Vec<i16> = words().iter().map(|word| *word as i16).collect();
    let host =
        stencil(&shorts, |a, b, c| ((i32::from(a) + i32::from(b) + i32::from(c)) / 3) as i16);
    assert_eq!(line::<i16, i16>("st_short", &shorts), host);
    let floats: Vec<f32> = words().iter().map(|word| *word as f32).collect();
    let host = stencil(&floats, |a, b, c| (b + a + c) / 3.0);
    assert_eq!(line::<f32, f32>("st_float", &floats), host);
}

#[test]
fn a_reduction_sums_through_shared_memory_shuffles_and_an_atomic() {
    let floats: Vec<f32> = words().iter().map(|word| (*word % 64) as f32).collect();
    let shape = Shape { grid: [3, 1, 1], block: [256, 1, 1], dynamic_shared: 0 };
    let sum: Vec<f32> = launch("reduce", &shape, &[&floats], COUNT as i32, 1);
    // Every partial sum is a small whole number: no order of additions rounds.
    assert_eq!(sum, [floats.iter().sum::<f32>()]);
}

#[test]
fn a_histogram_counts_in_dynamic_shared_memory() {
    let bytes: Vec<u8> = words().iter().map(|word| (*word >> 3) as u8).collect();
    let shape = Shape { dynamic_shared: 1024, grid: [3, 1, 1], ..LINE };
    let counts: Vec<u32> = launch("histogram", &shape, &[&bytes], COUNT as i32, 256);
    let mut host = vec![0; 256];
    bytes.iter().for_each(|byte| host[usize::from(*byte)] += 1);
    assert_eq!(counts, host);
}

#[test]
fn a_tiled_product_of_matrices_matches_the_host() {
    let n = 48;
    let a: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..n * n).map(|i| (i % 5) as f32 - 2.0).collect();
    let shape = Shape { grid: [3, 3, 1], block: [16, 16, 1], dynamic_shared: 0 };
    let c: Vec<f32> = launch("matmul", &shape, &[&a, &b], n as i32, n * n);
    for (index, got) in c.iter().enumerate() {
        let (y, x) = (index / n, index % n);
        assert_eq!(*got, (0..n).map(|k| a[y * n + k] * b[k * n + x]).sum::<f32>());
    }
}

#[test]
fn loops_and_switches_that_differ_by_lane_match_the_host() {
    let input: Vec<u32> = words().iter().map(|word| word % 10_000 + 1).collect();
    let table = [3, 1, 4, 1, 5, 9, 2, 6];
    let host = input.iter().enumerate().map(|(i, start)| {
        let (mut value, mut steps) = (u64::from(*start), 0u32);
        while value != 1 && steps <= 1000 {
            value = if value & 1 == 1 { 3 * value + 1 } else { value >> 1 };
            steps += 1;
        }
        match steps % 5 {
            0 => steps + table[i & 7],
            1 => steps * 7,
            2 => steps ^ 0x55,
            3 => steps.count_ones(),
            _ => steps.leading_zeros(),
        }
    });
    assert_eq!(line::<u32, u32>("collatz", &input), host.collect::<Vec<_>>());
}

#[test]
fn arrays_in_local_memory_match_the_host() {
    let input: Vec<i32> = (0..1024).map(|i| words()[i % COUNT] as i32 - 5000).collect();
    let got: Vec<i32> = launch("localarr", &LINE, &[&input], 1024, 1024);
    let host = (0..1024).map(|i| {
        let mut array: Vec<i32> = (0..16).map(|k| input[(i + k) % 1024]).collect();
        array.sort_unstable();
        array[(input[i] & 15) as usize]
    });
    assert_eq!(got, host.collect::<Vec<_>>());
}

#[test]
fn votes_and_masks_match_the_host() {
    let input: Vec<i32> = (0..1024).map(|i| words()[i % COUNT] as i32 % 16 - 8).collect();
    let got: Vec<i32> = launch("votes", &LINE, &[&input], 1024, 1026);
    for (warp, values) in input.chunks(32).enumerate() {
        let positive = |i: usize| u32::from(values[i] > 0);
        let ballot: u32 = (0..32).map(|lane| positive(lane) << lane).sum();
        let odd = values.iter().filter(|value| **value & 1 == 1).count() as i32;
        for lane in 0..32 {
            let mut x = if values.iter().any(|value| *value > 5) {
                (ballot & ((1 << lane) - 1)).count_ones() as i32
            } else {
                ballot.trailing_zeros() as i32 + 1
            };
            if values[lane] & 1 == 1 {
                x += odd;
            }
            assert_eq!(got[32 * warp + lane], x, "warp {warp}, lane {lane}");
        }
    }
    assert!(got[1024] != 0 && got[1025] >= got[1024]);
}

#[test]
fn long_integers_match_the_host() {
    let input: Vec<i64> = words()
        .iter()
        .map(|word| (i64::from(*word) - (1 << 23)).wrapping_mul(0x1_2345_6789_abcd))
        .collect();
    let host = input.iter().map(|&a| {
        let high = ((i128::from(a) * i128::from(a)) >> 64) as i64;
        [a / 7, a % 13, high, a << 3, a >> 5, a as f64 as i64, i64::from(a as u32 / 3)]
            .into_iter()
            .fold(0i64, i64::wrapping_add)
    });
    assert_eq!(line::<i64, i64>("i64", &input), host.collect::<Vec<_>>());
}

#[test]
fn functions_of_the_mathematical_library_come_close_to_the_host() {
    let close = |got: f64, want: f64, i: usize| {
        assert!((got - want).abs() <= 1e-5 * want.abs().max(1.0), "element {i}: {got}, not {want}");
    };
    let floats: Vec<f32> =
        words().iter().map(|word| (*word % 4096) as f32 / 300.0 + 0.01).collect();
    for (i, got) in line::<f32, f32>("mathk", &floats).iter().enumerate() {
        let x = f64::from(floats[i]);
        let sum = x.sqrt() + x / 3.7 + x * x + 1.0 + 1.0 / x.sqrt() + x.min(2.0) + x.floor();
        let want = sum + x.round_ties_even() + x.exp() + (x as i32 % 7) as f64;
        close(f64::from(*got), want, i);
    }
    // Arguments above 105615 take the sine's slow way, through a table in global memory.
    let mut large = floats.clone();
    large[7] = 2e5;
    for (i, got) in line::<f32, f32>("heavy", &large).iter().enumerate() {
        let x = f64::from(large[i]);
        let want = x.sin() + x.exp() + x.ln() + x.powf(1.5) + x.tanh();
        if i == 7 { assert!(got.is_infinite()) } else { close(f64::from(*got), want, i) }
    }
    let doubles: Vec<f64> = floats.iter().map(|value| f64::from(*value)).collect();
    for (i, got) in line::<f64, f64>("dheavy", &doubles).iter().enumerate() {
        let x = doubles[i];
        let want = x.sqrt() + x.exp() + x.ln() + x / 7.0;
        assert!((got - want).abs() <= 1e-14 * want.abs(), "element {i}: {got}, not {want}");
    }
}

#[test]
fn a_variable_of_the_module_lives_from_launch_to_launch() {
    let mut memory = DeviceMemory::default();
    let output = memory.allocate("out", 4 * 32);
    let launch = Launch { entry: "globalvar".into(), ..one_cta(TEXT, 32, &[output]) };
    let module = Module::parse(&launch.ptx).unwrap();
    for first in [0, 32] {
        drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
        let got: Vec<i32> = memory.of(output).chunks_exact(4).map(i32::read).collect();
        assert_eq!(got, (first..first + 32).collect::<Vec<_>>());
    }
}

#[test]
fn a_constant_has_one_address_in_all_kernels() {
    let head = "(.param .u64 out) { .reg .b64 %a<4>; .reg .u32 %r<3>; ld.param.u64 %a0, [out];";
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64
        .const .u32 first = 11; .const .u32 second = 22; .const .u64 gone = far; .global .u64 far; .global .u64 place = generic(second);
        .visible .entry a{head} ld.global.u64 %a1, [place]; ld.u32 %r1, [%a1]; st.global.u32 [%a0], %r1; ret; }}
        .visible .entry b{head} ld.const.u32 %r2, [first]; ld.global.u64 %a1, [place]; ld.u32 %r1, [%a1];
        st.global.u32 [%a0+4], %r1; st.global.u32 [%a0+8], %r2; ret; }}"
    );
    let mut memory = DeviceMemory::default();
    let output = memory.allocate("out", 12);
    let launch = |entry: &str| Launch { entry: entry.into(), ..one_cta(&text, 1, &[output]) };
    let module = Module::parse(&launch("a").ptx).unwrap();
    for entry in ["a", "b"] {
        drain(&mut module.launch(&launch(entry), &mut memory).unwrap()).unwrap();
    }
    let words: Vec<i32> = memory.of(output).chunks_exact(4).map(i32::read).collect();
    assert_eq!(words, [22, 22, 11]);
}

#[test]
fn a_variable_that_is_filled_begins_with_those_bytes_and_not_with_what_the_text_says() {
    let text = ".version 8.0\n.target sm_75\n.address_size 64
        .global .u32 other; .global .align 8 .u64 place = other; .const .align 8 .u64 fixed = 5;
        .visible .entry k(.param .u64 out) {
        .reg .b64 %a<4>; ld.param.u64 %a0, [out]; ld.global.u64 %a1, [place]; ld.const.u64 %a2, [fixed];
        st.global.u64 [%a0], %a1; st.global.u64 [%a0+8], %a2; ret; }";
    let mut memory = DeviceMemory::default();
    let output = memory.allocate("out", 16);
    let launch = Launch { entry: "k".into(), ..one_cta(text, 1, &[output]) };
    let mut module = Module::parse(&launch.ptx).unwrap();
    let words = |module: &Module| -> Vec<u64> {
        let mut memory = memory.clone();
        drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
        let (words, _) = memory.of(output).as_chunks::<8>();
        words.iter().copied().map(u64::from_le_bytes).collect()
    };
    let said = words(&module);
    assert!(said[0] > output.address && said[1] == 5, "{said:?}");
    // What has been decoded is decoded anew.
    module.fill_variable("place", 7u64.to_le_bytes().to_vec());
    module.fill_variable("fixed", 8u64.to_le_bytes().to_vec());
    assert_eq!(words(&module), [7, 8]);
}
