//! Calls, tables, parameters and barriers as a compiler writes them (`features.cu`), against the host.

use super::*;

const TEXT: &str = include_str!("features.ptx");
const THREADS: usize = 256;

fn input() -> Vec<i32> {
    let mut state = 77u32;
    let next = |_| {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 20) as i32
    };
    (0..4 * THREADS).map(next).collect()
}

/// Runs an entry with two CTAs of 128 threads.
fn launch(entry: &str, input: &[i32]) -> Vec<i32> {
    let mut memory = DeviceMemory::default();
    let from = memory.allocate("in", 4 * input.len() as u64);
    for (place, value) in memory.of_mut(from).chunks_exact_mut(4).zip(input) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    let to = memory.allocate("out", 4 * THREADS as u64);
    let args = match entry {
        "by_value" => vec![Arg::I64(7 << 32 | 5), Arg::Buffer(to), Arg::I64(100)],
        _ => vec![Arg::Buffer(from), Arg::Buffer(to), Arg::I32(0)],
    };
    let launch = Launch {
        ptx: source(TEXT),
        entry: entry.into(),
        grid: [2, 1, 1],
        block: [128, 1, 1],
        dynamic_shared: 0,
        args,
    };
    let module = Module::parse(&launch.ptx).unwrap();
    drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
    let words = memory.of(to).as_chunks::<4>().0.iter();
    words.map(|word| i32::from_le_bytes(*word)).collect()
}

/// Compares an entry with what the host computes for each thread.
#[track_caller]
fn same(entry: &str, host: impl Fn(usize, &[i32]) -> i32) {
    let input = input();
    let expected: Vec<i32> = (0..THREADS).map(|thread| host(thread, &input)).collect();
    assert_eq!(launch(entry, &input), expected);
}

#[test]
fn a_recursion_counts_queens_at_different_depths() {
    let sizes: Vec<i32> = (0..THREADS).map(|thread| [0, 4, 5, 6, 1][thread % 5]).collect();
    let solutions = [0, 1, 0, 0, 2, 10, 4];
    let host: Vec<i32> = sizes.iter().map(|size| solutions[*size as usize]).collect();
    assert_eq!(launch("recursion", &sizes), host);
}

#[test]
fn structures_go_in_and_out_of_functions() {
    same("structs", |thread, input| {
        let (v, k) = (input[thread], input[thread] & 3);
        let sum: i32 = (0..5).map(|i| v + i + k * i).sum();
        sum + 2 * v + 4 * 100 + 9 - k
    });
}

#[test]
fn virtual_functions_are_called_through_tables() {
    same("virtuals", |thread, input| {
        let v = input[thread];
        if v & 8 != 0 { (v & 7) * (v & 7) + (v & 63) } else { (v & 3) * 5 - (v & 63) }
    });
}

#[test]
fn initial_values_hold_addresses() {
    same("addresses", |_, _| 567 + 122 + 77 - 5 + 5 + 77);
}

#[test]
fn parameters_can_be_indexed() {
    same("by_value", |thread, _| [5, 7][thread & 1] + 100);
}

#[test]
fn barriers_reduce() {
    let mut input = input();
    input[130] = 1000;
    input[100] = -1;
    let out = launch("counts", &input);
    for (cta, out) in out.chunks_exact(128).enumerate() {
        let values = &input[128 * cta..][..128];
        let count = values.iter().filter(|value| **value & 4 != 0).count() as i32;
        let any = i32::from(values.contains(&1000));
        let all = i32::from(values.iter().all(|value| *value >= 0));
        assert!(out.iter().all(|value| *value == count | any << 16 | all << 17), "CTA {cta}");
    }
    assert_ne!(out[0] >> 16, out[128] >> 16);
}

#[test]
fn a_warp_produces_for_another() {
    same("pipes", |thread, input| if thread % 128 < 64 { 1 } else { input[thread - 64] });
}

#[test]
fn asynchronous_copies_fill_up_with_zeros() {
    same("copies", |thread, input| {
        let place = 511 - thread % 128;
        if place / 4 % 2 == 0 && place % 4 >= 2 { 0 } else { input[place] }
    });
}

#[test]
fn lanes_match_and_reduce() {
    let mut input = input();
    input.iter_mut().for_each(|value| *value &= 1023);
    let out = launch("lanes", &input);
    for (thread, out) in out.iter().enumerate() {
        let warp = &input[thread / 32 * 32..][..32];
        let any = warp.iter().filter(|value| **value & 3 == input[thread] & 3).count() as i32;
        let (sum, most) = (warp.iter().sum::<i32>(), warp.iter().max().unwrap());
        assert_eq!(*out, any + 100 + sum + (most << 16));
    }
}

#[test]
fn a_pointer_may_point_to_shared_or_global_memory() {
    same("generic", |thread, input| input[thread] + (input[thread] & 1));
}

#[test]
fn a_switch_takes_every_way() {
    same("switched", |thread, input| {
        let v = input[thread];
        match v & 15 {
            0 => v + 1,
            1 => v * 3,
            2 => v ^ 7,
            3 => (v - 9) << 2,
            4 => v << 2,
            7 => !v,
            9 => v / 3,
            _ => 77,
        }
    });
}
