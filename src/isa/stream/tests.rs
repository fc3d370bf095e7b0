//! Streams come back as they were written.

use super::*;

fn round_trip(mask: LaneMask, addresses: &[u64; WARP]) -> LaneAddresses {
    let mut stream = WarpStream::default();
    stream.push_addresses(mask, addresses);
    let mut cursor = WarpCursor::default();
    let read = cursor.addresses(&stream);
    assert_eq!(cursor.word as usize, stream.words.len());
    read
}

#[test]
fn straight_code_is_one_run() {
    let mut stream = WarpStream::default();
    for pc in 3..9 {
        stream.push(pc, !0);
    }
    stream.push(3, !0);
    stream.push(4, 1);
    assert_eq!(stream.recent().collect::<Vec<_>>(), [(4, 1), (3, 1), (3, 6)]);
    let mut cursor = WarpCursor::default();
    let mut seen = Vec::new();
    while let Some(step) = cursor.peek(&stream) {
        seen.push(step);
        cursor.advance(&stream);
    }
    let expected: Vec<_> = (3..9).map(|pc| (pc, !0)).chain([(3, !0), (4, 1)]).collect();
    assert_eq!(seen, expected);
    assert_eq!(stream.instructions(), 8);
    let mut cursor = WarpCursor::default();
    let runs: Vec<_> = std::iter::from_fn(|| cursor.take_run(&stream)).collect();
    let all = LaneMask::MAX;
    assert_eq!(
        runs,
        [(3, 6, all), (3, 1, all), (4, 1, 1)].map(|(pc, len, mask)| Run { pc, len, mask })
    );
}

#[test]
fn consecutive_addresses_are_affine() {
    let addresses = std::array::from_fn(|lane| 0x1000 + 4 * lane as u64);
    let read = round_trip(0xffff_fffe, &addresses);
    assert_eq!(read.shape, Shape::Affine { base: 0x1000, stride: 4 });
    assert_eq!(read.of(7), 0x101c);
}

#[test]
fn affine_addresses_come_back_whether_or_not_they_fit_into_two_words() {
    let bases = [0, 4, (1 << 46) - 1, 1 << 46, (1 << 62) - 1];
    let strides = [0, 4, -4, 0x7fff, -0x8000, 0x8000, -0x8001, i32::MAX, i32::MIN];
    for (base, stride) in bases.iter().flat_map(|base| strides.map(|stride| (*base, stride))) {
        for mask in [!0, 1, 0x7fff_ffff] {
            let mut stream = WarpStream::default();
            stream.push_affine(mask, base, stride);
            stream.push_affine(!0, 64, 4);
            let mut cursor = WarpCursor::default();
            let shape = Shape::Affine { base, stride };
            assert_eq!(cursor.addresses(&stream), LaneAddresses { mask, shape });
            assert_eq!(cursor.addresses(&stream).of(1), 68);
            let is_short = mask == !0 && base < 1 << 46 && i16::try_from(stride).is_ok();
            assert_eq!(stream.words.len(), if is_short { 4 } else { 6 });
        }
    }
}

#[test]
fn scattered_addresses_come_back_lane_by_lane() {
    for spread in [7u64, 1 << 40] {
        let addresses = std::array::from_fn(|lane| (lane as u64 * lane as u64) * spread);
        let mask = 0x8421_8421;
        let read = round_trip(mask, &addresses);
        assert_eq!(read.mask, mask);
        for lane in lanes(mask) {
            assert_eq!(read.of(lane), addresses[lane]);
        }
    }
}

#[test]
fn no_lane_and_one_lane_are_affine() {
    assert_eq!(round_trip(0, &[9; WARP]).mask, 0);
    assert_eq!(round_trip(1 << 31, &[9; WARP]).of(31), 9);
}

#[test]
fn rows_of_lanes_come_back_and_are_short() {
    for width in [2, 4, 8, 16] {
        let addresses: [u64; WARP] = std::array::from_fn(|lane| {
            (1 << 40) + 4 * (lane % width) as u64 - 4096 * (lane / width) as u64
        });
        let mut stream = WarpStream::default();
        stream.push_addresses(!0, &addresses);
        assert_eq!(stream.words.len(), 6);
        let mut cursor = WarpCursor::default();
        let read = cursor.addresses(&stream);
        assert_eq!((read.all(), cursor.word), (addresses, 6));
        assert!(matches!(read.shape, Shape::Rows { .. }));
    }
    // A row that is out of step, far or near.
    for offset in [4, 1 << 40] {
        let mut addresses: [u64; WARP] =
            std::array::from_fn(|lane| (1 << 41) + 4 * (lane % 8) as u64);
        addresses[19] += offset;
        assert_eq!(round_trip(!0, &addresses).shape, Shape::Scattered(addresses));
    }
}

#[test]
fn barriers_lie_between_addresses() {
    let mut stream = WarpStream::default();
    let uses = [
        BarrierUse::ALL,
        BarrierUse { id: 15, warps: 32, kind: BarrierKind::Arrive },
        BarrierUse { id: 3, warps: 2, kind: BarrierKind::Pass },
    ];
    let mut places = Vec::new();
    for barrier in uses {
        stream.push_affine(1, 64, 4);
        places.push(stream.push_barrier(barrier));
    }
    let last = BarrierUse { kind: BarrierKind::Wait, ..uses[2] };
    stream.set_barrier(places[2], last);
    let mut cursor = WarpCursor::default();
    for barrier in [uses[0], uses[1], last] {
        assert_eq!(cursor.addresses(&stream).of(0), 64);
        assert_eq!(cursor.barrier(&stream), barrier);
    }
}

#[test]
fn a_reader_that_is_one_record_ahead_reads_the_same() {
    let mut stream = WarpStream::default();
    for round in 0..6u32 {
        // All lanes or some, and a record of each kind with a barrier behind it, or none.
        let mask = if round % 2 == 0 { LaneMask::MAX } else { 3 << round };
        stream.push(10 * round, mask);
        stream.push(10 * round + 1, mask);
        let base = 1 << (8 * round);
        match round % 3 {
            0 => stream.push_affine(mask, base, 4),
            1 => stream.push_rows(mask, base, Rows { width: 16, across: 4, down: 256 }),
            _ => stream.push_addresses(mask, &std::array::from_fn(|lane| (lane * lane) as u64)),
        }
        if round > 2 {
            stream.push_barrier(BarrierUse { id: round as u8, ..BarrierUse::ALL });
        }
    }
    let (mut cursor, mut reader) = (WarpCursor::default(), WarpReader::new(&stream));
    for round in 0..6 {
        assert_eq!(reader.take_run(&stream), cursor.take_run(&stream));
        assert_eq!(reader.addresses(&stream), cursor.addresses(&stream));
        if round > 2 {
            assert_eq!(reader.barrier(&stream), cursor.barrier(&stream));
        }
    }
    assert_eq!(cursor.word as usize, stream.words.len());
    assert_eq!((reader.take_run(&stream), cursor.take_run(&stream)), (None, None));
}

#[test]
fn different_addresses_of_lanes_are_counted() {
    let count = |mask, shape| LaneAddresses { mask, shape }.distinct();
    let affine = |mask, stride| count(mask, Shape::Affine { base: 64, stride });
    assert_eq!([affine(!0, 0), affine(0b1010, 0), affine(0, 0)], [1, 1, 0]);
    assert_eq!([affine(!0, 4), affine(0b1010, 4), affine(0, 4)], [32, 2, 0]);
    let rows = Rows { width: 8, across: 4, down: 0 };
    assert_eq!(count(!0, Shape::Rows { base: 64, rows }), 8);
    let scattered = || Shape::Scattered(std::array::from_fn(|lane| 4 * (lane as u64 % 3)));
    assert_eq!([count(!0, scattered()), count(0b1001, scattered())], [3, 1]);
    assert_eq!([count(0b11, scattered()), count(0, scattered())], [2, 0]);
}

#[test]
fn records_of_every_kind_change_places() {
    let scattered = |step: u64| std::array::from_fn(|lane| 4096 + step * (lane as u64 * 7 % 32));
    let rows = std::array::from_fn(|lane| 4096 + 4 * (lane as u64 % 8) + 512 * (lane as u64 / 8));
    let affine = std::array::from_fn(|lane| 4 * lane as u64);
    let records: [(LaneMask, [u64; WARP]); 8] = [
        (!0, affine),
        (0xffff, affine),
        (0, affine),
        (!0, rows),
        (!0, scattered(4)),
        (0x8421, scattered(4)),
        (!0, scattered(1 << 33)),
        (0x8421, scattered(1 << 33)),
    ];
    let read = |stream: &WarpStream, count: usize| -> Vec<LaneAddresses> {
        let mut cursor = WarpCursor::default();
        let read = (0..count).map(|_| cursor.addresses(stream)).collect();
        assert_eq!(cursor.word as usize, stream.words.len());
        read
    };
    let mut stream = WarpStream::default();
    records.iter().for_each(|(mask, addresses)| stream.push_addresses(*mask, addresses));
    let text = read(&stream, 8);
    let order = [7, 0, 6, 1, 5, 2, 4, 3];
    let mut spare = Spare::default();
    stream.reorder(0, &order, &mut spare);
    assert_eq!(read(&stream, 8), order.map(|place| text[place as usize].clone()));
    // What lies before stays.
    let start = stream.words();
    records[..3].iter().for_each(|(mask, addresses)| stream.push_addresses(*mask, addresses));
    stream.reorder(start, &[2, 0, 1], &mut spare);
    let behind = [2, 0, 1].map(|place: usize| text[place].clone());
    assert_eq!(read(&stream, 11)[8..], behind);
}
