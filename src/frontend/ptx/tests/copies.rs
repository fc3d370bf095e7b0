//! Asynchronous copies: which ways the sectors of a line go.

use super::*;
use crate::isa::{WARP, WAY_SHIFT, lanes};

/// The ways of the lanes of a copy of 16 bytes each, of which `chunks` make a row: rows of 1 KiB in global memory, of `stride` bytes in shared
/// memory, where the chunks of each second pair of rows change places if they are `permuted`.
fn ways(cache: &str, chunks: u32, stride: u32, permuted: bool) -> Vec<u64> {
    let (rows, factor) = (32 / chunks, if permuted { 16 } else { 0 });
    let body = format!(
        ".shared .align 128 .b8 tile[8192]; mov.u32 %r1, tile; \
         div.u32 %r2, %r0, {chunks}; rem.u32 %r3, %r0, {chunks}; shl.b32 %r3, %r3, 4; \
         mad.lo.u32 %r1, %r2, {stride}, %r1; \
         shr.u32 %r4, %r2, 1; and.b32 %r4, %r4, 3; mul.lo.u32 %r4, %r4, {factor}; \
         xor.b32 %r4, %r4, %r3; add.u32 %r1, %r1, %r4; \
         mul.wide.u32 %a3, %r0, 8; sub.s64 %a0, %a0, %a3; mul.wide.u32 %a4, %r2, 1024; add.s64 %a0, %a0, %a4; \
         cvt.u64.u32 %a5, %r3; add.s64 %a0, %a0, %a5; \
         cp.async.{cache}.shared.global [%r1], [%a0], 16; cp.async.wait_all; ret;"
    );
    let (streams, _) = run(&body, 32, &vec![0; 128 * rows as usize]).unwrap();
    let addresses = WarpCursor::default().addresses(&streams[0]);
    assert_eq!(addresses.mask, !0);
    lanes(!0).map(|lane| addresses.of(lane) >> WAY_SHIFT).collect()
}

#[test]
fn a_line_goes_one_way_where_its_sectors_stay_whole() {
    for (chunks, stride) in [(8, 128), (8, 256), (4, 64), (4, 128), (2, 32), (2, 64)] {
        assert_eq!(ways("cg", chunks, stride, false), [0; WARP], "{chunks} {stride}");
    }
    // Halves may change places in a sector, and sectors in a line.
    assert_eq!(ways("cg", 4, 64, true), [0; WARP]);
    // The L1 brings whole lines.
    assert_eq!(ways("ca", 4, 80, false), [0; WARP]);
}

#[test]
fn halves_of_a_sector_that_part_go_two_ways_and_so_do_parts_of_a_line_on_two_lines() {
    // Rows of 64 bytes, 80 apart in shared memory: they start at byte 0, 80, 32, 112, 64, 16, 96, 48 of a line there.
    let expected = [
        [0, 0, 0, 0],
        [0, 1, 0, 2], // 48 bytes, every second 16 of them from the upper half of a sector, and 16 on the next line
        [0, 0, 0, 0],
        [0, 1, 1, 2],
        [0, 0, 0, 0],
        [0, 1, 0, 1],
        [0, 0, 1, 1],
        [0, 1, 0, 1],
    ];
    assert_eq!(ways("cg", 4, 80, false), expected.concat());
    // Rows 96 bytes apart: of four the second one lies on two lines.
    assert_eq!(ways("cg", 4, 96, false), [[0; 4], [0, 0, 1, 1], [0; 4], [0; 4]].concat().repeat(2));
}
