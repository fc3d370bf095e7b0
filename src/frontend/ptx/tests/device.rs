//! Arithmetic as NVRTC writes it (`arithmetic.cu`), against what an H200 made of the same PTX.
//!
//! `arithmetic.device.bin` is a recording of driver 580: for each kernel in turn and each of four blocks of inputs,
//! the outputs of 32 lanes. The inputs are those of `word` and `real`, which `arithmetic.device.cpp` has as well.

use super::arithmetic::warp;

const EDGES: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    65504.0,
    65520.0,
    6e-8,
    -3e-8,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    0.1,
    3.5,
    -2.5,
    1e-40,
    3e38,
];
const WORDS: [u64; 8] =
    [0, 1, u64::MAX, 1 << 63, i64::MAX as u64, 0xffff_ffff, 0x8000_0000, 0x8000_0000_8000_0000];

/// A kernel: its name, bytes of an element, outputs of a lane.
const KERNELS: [(&str, usize, usize); 5] = [
    ("halves", 4, 8),
    ("brains", 4, 8),
    ("directions", 8, 8),
    ("integers", 8, 8),
    ("functions", 8, 24),
];
const BLOCKS: usize = 4;
const INTEGERS: usize = 3;

/// SplitMix64.
fn mix(place: u64) -> u64 {
    let mut x = place.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn word(kernel: usize, block: usize, place: usize) -> u64 {
    let word = mix((kernel * 1000 + block * 64 + place) as u64);
    if kernel == INTEGERS && block == 0 { WORDS[(word % 8) as usize] } else { word }
}

fn real(kernel: usize, block: usize, place: usize) -> f64 {
    let word = word(kernel, block, place);
    if kernel == 4 {
        return ((word % 20001) as f64 - 10000.0) / 1000.0 + 0.0001;
    }
    if block == 0 {
        return EDGES[(word % 16) as usize];
    }
    let digits = ((word >> 40) as i64 - (1 << 23)) as f64;
    let exponent = if kernel == 2 { (word % 60) as i32 - 40 } else { (word % 24) as i32 - 30 };
    digits * 2f64.powi(exponent)
}

fn input(kernel: usize, block: usize) -> Vec<u8> {
    let bytes = KERNELS[kernel].1;
    (0..64)
        .flat_map(|place| match (kernel, bytes) {
            (INTEGERS, _) => word(kernel, block, place).to_le_bytes().to_vec(),
            (_, 4) => (real(kernel, block, place) as f32).to_le_bytes().to_vec(),
            _ => real(kernel, block, place).to_le_bytes().to_vec(),
        })
        .collect()
}

/// How far two outputs are apart: 0 for equal bits and for two NaNs, else relative to the larger.
fn apart(kernel: usize, have: &[u8], want: &[u8]) -> f64 {
    if have == want {
        return 0.0;
    }
    if kernel == INTEGERS {
        return f64::INFINITY;
    }
    let number = |bytes: &[u8]| match bytes.try_into() {
        Ok(bytes) => f64::from(f32::from_le_bytes(bytes)),
        Err(_) => f64::from_le_bytes(bytes.try_into().unwrap()),
    };
    let (have, want) = (number(have), number(want));
    match have.is_nan() && want.is_nan() {
        true => 0.0,
        false if have == want => f64::INFINITY,
        false => (have - want).abs() / have.abs().max(want.abs()),
    }
}

/// The largest distance of each output of each kernel.
fn distances() -> Vec<Vec<f64>> {
    let mut recorded = &include_bytes!("arithmetic.device.bin")[..];
    let mut all = Vec::new();
    for (kernel, (entry, bytes, outputs)) in KERNELS.into_iter().enumerate() {
        let mut largest = vec![0f64; outputs];
        for block in 0..BLOCKS {
            let have = warp(entry, &input(kernel, block), outputs, bytes);
            let (want, rest) = recorded.split_at(have.len());
            recorded = rest;
            for (place, (have, want)) in have.chunks(bytes).zip(want.chunks(bytes)).enumerate() {
                let distance = apart(kernel, have, want);
                let worst = &mut largest[place % outputs];
                *worst = if distance.is_nan() { f64::INFINITY } else { worst.max(distance) };
            }
        }
        all.push(largest);
    }
    assert!(recorded.is_empty());
    all
}

/// Outputs of approximate instructions, with the largest relative distance that is let pass. All others
/// are equal bit by bit. Errors as of the PTX ISA: tanh.approx.f16 2^-10.987; rsqrt.approx.ftz.f64 one in the
/// last place before NVRTC's own steps; ex2.approx two in the last place; sin, cos and lg2.approx about 2^-20.5
/// absolute, which a small sum makes larger.
const APPROXIMATE: [(&str, usize, f64); 5] = [
    ("halves", 4, 1e-3),
    ("functions", 11, 3e-16),
    ("functions", 15, 3e-7),
    ("functions", 21, 2e-5),
    ("functions", 22, 4e-6),
];

#[test]
fn the_device_gives_the_same() {
    for ((entry, ..), largest) in KERNELS.into_iter().zip(distances()) {
        for (output, distance) in largest.into_iter().enumerate() {
            let approximate =
                APPROXIMATE.iter().find(|known| (known.0, known.1) == (entry, output));
            let most = approximate.map_or(0.0, |known| known.2);
            assert!(distance <= most, "{entry} output {output}: {distance:e} apart");
        }
    }
}
