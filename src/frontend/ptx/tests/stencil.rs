//! The main workload's kernel, from text to stream.

use super::*;
use crate::isa::{AccessKind, ArithClass, CacheOp, LaneAddresses, MemoryOp, Op, Shape, Space};

const TEXT: &str = include_str!("stencil_int.ptx");

fn launch_of(memory: &mut DeviceMemory, count: u32, block: u32) -> Launch {
    let [input, output] = ["in", "out"].map(|name| memory.allocate(name, 4 * u64::from(count)));
    for (index, place) in memory.of_mut(input).chunks_exact_mut(4).enumerate() {
        place.copy_from_slice(&value(index as i32).to_le_bytes());
    }
    Launch {
        ptx: source(TEXT),
        entry: "stencil1d_int".into(),
        grid: [count.div_ceil(block), 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        args: vec![Arg::Buffer(input), Arg::Buffer(output), Arg::I32(count as i32)],
    }
}

fn value(index: i32) -> i32 {
    index.wrapping_mul(-7919) >> 3
}

#[test]
fn values_are_those_of_the_host() {
    let count = 1000;
    let mut memory = DeviceMemory::default();
    let launch = launch_of(&mut memory, count, 128);
    let module = Module::parse(&launch.ptx).unwrap();
    drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
    let Arg::Buffer(output) = launch.args[1] else { unreachable!() };
    for (index, got) in memory.of(output).as_chunks::<4>().0.iter().enumerate() {
        let index = index as i32;
        let edge = index == 0 || index == count as i32 - 1;
        let sum = value(index - 1).wrapping_add(value(index)).wrapping_add(value(index + 1));
        let want = if edge { value(index) } else { sum / 3 };
        assert_eq!(i32::from_le_bytes(*got), want, "element {index}");
    }
}

#[test]
fn an_inner_warp_issues_28_instructions() {
    let mut memory = DeviceMemory::default();
    let launch = launch_of(&mut memory, 256, 64);
    let Arg::Buffer(input) = launch.args[0] else { unreachable!() };
    let module = Module::parse(&launch.ptx).unwrap();
    let mut running = module.launch(&launch, &mut memory).unwrap();
    let mut cta = Cta::default();
    assert!(running.next(&mut cta).unwrap());
    assert!(running.next(&mut cta).unwrap());
    let stream = &cta.warps[0];
    assert_eq!(stream.instructions(), 28);

    let kernel = running.kernel();
    let mut cursor = WarpCursor::default();
    let mut seen = Vec::new();
    while let Some((pc, mask)) = cursor.peek(stream) {
        assert_eq!(mask, !0);
        if let Op::Memory(op) = kernel.insts[pc as usize].op {
            seen.push((op, cursor.addresses(stream)));
        }
        cursor.advance(stream);
    }
    let first = input.address + 4 * 64;
    let load = MemoryOp {
        space: Space::Global,
        kind: AccessKind::Load,
        bytes: 4,
        cache: CacheOp::Default,
    };
    let at = |base| LaneAddresses { mask: !0, shape: Shape::Affine { base, stride: 4 } };
    assert_eq!(seen[..3], [(load, at(first)), (load, at(first - 4)), (load, at(first + 4))]);
    assert_eq!(seen[3].0, MemoryOp { kind: AccessKind::Store, ..load });
    assert_eq!(kernel.insts[0].op, Op::Arith(ArithClass::Move));
    assert_eq!(kernel.insts.last().unwrap().op, Op::Exit);
    // %rd1, %rd2 and three values, or %r1, %r2 and five 64-bit addresses.
    assert!((8..=16).contains(&kernel.registers_per_thread), "{}", kernel.registers_per_thread);
    let guarded = &kernel.insts[16];
    assert_eq!(guarded.op, Op::Arith(ArithClass::Control));
    assert_eq!(guarded.srcs.as_slice().len(), 1);
}

#[test]
fn the_first_warp_executes_both_ways() {
    let mut memory = DeviceMemory::default();
    let launch = launch_of(&mut memory, 64, 32);
    let module = Module::parse(&launch.ptx).unwrap();
    let mut cta = Cta::default();
    module.launch(&launch, &mut memory).unwrap().next(&mut cta).unwrap();
    let steps = steps(&cta.warps[0]);
    // 17 together, 10 for the inner lanes, 5 for lane 0, and the return together.
    assert_eq!(steps.len(), 17 + 10 + 5 + 1);
    assert_eq!(steps.iter().filter(|(_, mask)| *mask == 1).count(), 5);
    assert_eq!(*steps.last().unwrap(), (steps.last().unwrap().0, !0));
}
