//! Arithmetic as NVRTC writes it (`arithmetic.cu`), against the host.

use super::*;

/// Runs one warp of a kernel; gives `out` words of each lane.
pub(super) fn warp(entry: &str, input: &[u8], out: usize, bytes: usize) -> Vec<u8> {
    let mut memory = DeviceMemory::default();
    let from = memory.allocate("in", input.len() as u64);
    memory.of_mut(from).copy_from_slice(input);
    let to = memory.allocate("out", (32 * out * bytes) as u64);
    let launch =
        Launch { entry: entry.into(), ..one_cta(include_str!("arithmetic.ptx"), 32, &[from, to]) };
    let module = Module::parse(&launch.ptx).unwrap();
    drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
    memory.of(to).to_vec()
}

fn doubles(entry: &str, input: &[f64; 64], out: usize) -> Vec<f64> {
    let bytes: Vec<u8> = input.iter().flat_map(|value| value.to_le_bytes()).collect();
    let bytes = warp(entry, &bytes, out, 8);
    bytes.as_chunks::<8>().0.iter().map(|word| f64::from_le_bytes(*word)).collect()
}

fn singles(entry: &str, input: &[f32; 64]) -> Vec<f32> {
    let bytes: Vec<u8> = input.iter().flat_map(|value| value.to_le_bytes()).collect();
    let bytes = warp(entry, &bytes, 8, 4);
    bytes.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// Numbers of few bits, of both signs; the second half has no zero.
fn short(place: usize) -> f64 {
    if place < 32 {
        (place as f64 - 13.0) * 0.375
    } else {
        ((place * 7 % 32) as f64 - 9.0) * 0.25 + 0.125
    }
}

#[test]
fn whole_numbers_of_two_words_match_the_host() {
    let mut state = 0x0123_4567_89ab_cdefu64;
    let input: [u64; 64] = std::array::from_fn(|place| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        [state, state >> 40, u64::MAX, 1 << 63]
            [if place % 8 > 5 { place % 8 - 4 } else { place % 2 }]
    });
    let bytes: Vec<u8> = input.iter().flat_map(|value| value.to_le_bytes()).collect();
    let bytes = warp("integers", &bytes, 8, 8);
    let got: Vec<u64> =
        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    for lane in 0..32 {
        let (a, b) = (input[lane], input[lane + 32]);
        let (wide, long) = (u128::from(a), u128::from(b));
        let p = (wide * long).wrapping_add(long << 64 | wide).wrapping_sub((wide ^ long) << 17);
        let (x, y) = (a as u32, b as u32);
        let bytes = |value: u32| value.to_le_bytes();
        let pairs = || bytes(x).into_iter().zip(bytes(y));
        let signed: i32 = pairs().map(|(x, y)| i32::from(x as i8) * i32::from(y as i8)).sum();
        let unsigned: u32 = pairs().map(|(x, y)| u32::from(x) * u32::from(y)).sum();
        let (signed, unsigned) = (signed + 7, unsigned + 9);
        let fourth = (i64::from(signed) as u64).wrapping_add(u64::from(unsigned) << 32);
        let want = [p as u64, (p >> 64) as u64, (p / (long | 1)) as u64, fourth];
        assert_eq!(got[8 * lane..][..4], want, "{a:x} {b:x}");
        let lo = i32::from(x as i16) * i32::from(y as i8)
            + i32::from((x >> 16) as i16) * i32::from((y >> 8) as i8)
            + 7;
        let hi = (x & 0xffff) * (y >> 16 & 255) + (x >> 16).wrapping_mul(y >> 24);
        let fifth = lo as u32 ^ hi.wrapping_add(9);
        assert_eq!(got[8 * lane + 4] as u32, fifth, "{a:x} {b:x}");
        let permuted = u32::from_le_bytes([bytes(x)[0], bytes(y)[0], bytes(y)[2], bytes(x)[1]]);
        let funnel = ((u64::from(y) << 32 | u64::from(x)) >> lane) as u32;
        assert_eq!(got[8 * lane + 5], u64::from(permuted) + (u64::from(funnel) << 32), "{a:x}");
    }
}

#[test]
fn functions_of_the_libraries_match_the_host() {
    let input: [f64; 64] = std::array::from_fn(short);
    let got = doubles("functions", &input, 24);
    for lane in 0..32 {
        let (a, b) = (input[lane], input[lane + 32]);
        let (x, y) = (a as f32, b as f32);
        let f = f64::from;
        let want = [
            a.sin(),
            (b * 1000.0).cos(),
            b.exp(),
            (a.abs() + 0.5).powf(b),
            (a.abs() + 1e-300).ln(),
            a % b,
            a.cbrt(),
            libm::erf(b),
            libm::tgamma(b.abs() + 1.0),
            a / b,
            a.abs().sqrt(),
            1.0 / b.abs().sqrt(),
            a.atan2(b),
            b.tanh(),
            f(x).sin(),
            f(y).exp(),
            f(x.abs() + 0.5).powf(f(y)),
            f(x.abs() + 1.0).ln(),
            f(x / y),
            f(x.abs().sqrt()),
            f(x % y),
            f(y).exp() + f(x.abs() + 1.0).ln() + f(x) / f(y),
            f(y).sin() * f(y).cos() + 1.0 / f(y).abs().sqrt() + 0.5f64.tan(),
            f(x.clamp(0.0, 1.0) + x.min(y) + x.max(y) + x.copysign(y))
                + if y < 0.0 { 1.0 } else { 0.0 },
        ];
        for (place, want) in want.into_iter().enumerate() {
            let got = got[24 * lane + place];
            // Remainders, divisions and roots are exact in both precisions.
            let bound = match place {
                5 | 9 | 10 | 18 | 19 | 20 | 23 => 0.0,
                0..14 => 3e-15,
                _ => 1e-6,
            };
            assert!(
                (got - want).abs() <= bound * want.abs(),
                "{place} of {a}, {b}: {got}, not {want}"
            );
        }
    }
}

#[test]
fn roundings_match_the_host() {
    let input: [f64; 64] = std::array::from_fn(|place| short(place) / 3.0);
    let got = doubles("directions", &input, 8);
    for lane in 0..32 {
        let (a, b) = (input[lane], input[lane + 32]);
        let near = a * b;
        // What the nearest product has too much, in the direction of its sign.
        let excess = a.mul_add(b, -near) * near.signum();
        let zero = if excess < 0.0 { near.abs().next_down().copysign(near) } else { near };
        assert_eq!(got[8 * lane + 1], zero, "{a} * {b}");
        let single = a as f32;
        let cut = if f64::from(single).abs() > a.abs() {
            single.abs().next_down().copysign(single)
        } else {
            single
        };
        let big = 1234567890123i64 + lane as i64;
        let up = if (big as f32) as i64 >= big { big as f32 } else { (big as f32).next_up() };
        // Single precision has 24 bits: the lowest byte goes.
        let down = (0xffff_ff01u32.wrapping_add(lane as u32) & !0xff) as f32;
        let want = f64::from(cut) + f64::from(up) + f64::from(down);
        assert_eq!(got[8 * lane + 7], want, "{a}");
        let want = a.floor().max(0.0) + b.ceil() + f64::from(single.round_ties_even());
        assert_eq!(got[8 * lane + 6], want, "{a} {b}");
    }
}

#[test]
fn halves_match_the_host() {
    use half::{bf16, f16};
    let input: [f32; 64] = std::array::from_fn(|place| short(place) as f32);
    let (halves, brains) = (singles("halves", &input), singles("brains", &input));
    for lane in 0..32 {
        // The numbers are short: products and sums are exact in single precision, and so is the host.
        let (a, b) = (input[lane], input[lane + 32]);
        let near = |value: f32| f16::from_f32(value).to_f32();
        let fused = near(a * b + (a + b).clamp(0.0, 1.0));
        let want = [fused, fused, near((a * b + near(a * b)).clamp(0.0, 1.0))];
        assert_eq!(halves[8 * lane..][..3], want, "{a} {b}");
        // The halves are (a, b) and (b, a).
        let greater = if a > b { 1.0 } else { 0.0 } + if b > a { 2.0 } else { 0.0 };
        let whole = [greater, b.floor() + a.ceil(), a.round_ties_even() + b.floor()];
        assert_eq!(halves[8 * lane + 5..][..3], whole, "{a} {b}");
        let near = |value: f32| bf16::from_f32(value).to_f32();
        let fused = near(a * b + near(a + b)).max(0.0);
        assert_eq!(brains[8 * lane..][..2], [fused; 2], "{a} {b}");
        let product = near(near(a - b).max(near(a * b)));
        assert_eq!(brains[8 * lane + 2], if a == b { -product } else { product }, "{a} {b}");
        assert_eq!(brains[8 * lane + 3], b.trunc(), "{b}");
        assert_eq!(brains[8 * lane + 4], near((lane * 12345) as f32));
    }
}
