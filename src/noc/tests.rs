//! The crossbar by exact cycles, and by what holds of any traffic.

use std::cell::Cell;

use proptest::prelude::*;

use super::crossbar::*;
use super::*;
use crate::units::Cycle;

/// With outputs that share ports.
fn shared(inputs: usize, groups: &[u16], port: &str) -> Crossbar<u32> {
    let text = format!(
        "(flit_bytes: 32, slice_in_bytes: 32, sm_port_bytes: 32, sm_out_bytes: 32, gpc_port: {port}, \
         header_bytes: 8, store_piece: 1, mask_bytes: 0, latency: 5, input_queue: 4)"
    );
    Crossbar::to_sms(&crate::config::parse::stated(&text), (inputs, 1), groups)
}

#[test]
fn outputs_of_a_group_share_its_port() {
    // Two flits each: 64 bytes, and the port takes 32 a cycle.
    let mut noc = shared(3, &[0, 0, 1], "Limited(bytes: 32)");
    for input in 0..3 {
        noc.push(Cycle(0), (input, input), 56, false, &(input as u32));
    }
    let mut left = [0; 3];
    for now in 0..6 {
        noc.tick_observed(Cycle(now), &mut |sent| {
            left[sent.output] = now;
            Landing::Waits
        });
    }
    assert_eq!(left, [0, 2, 0]);
}

#[test]
fn a_group_of_outputs_has_a_port_for_each_group_of_inputs() {
    // Inputs 0, 2 and 4 have one port of the first two outputs, inputs 1 and 3 another one.
    let mut noc = shared(5, &[0, 0, 1], "BySlices(groups: 2, bytes: 32)");
    for (input, output) in [(0, 0), (1, 1), (2, 1), (3, 2), (4, 0)] {
        noc.push(Cycle(0), (input, output), 56, false, &(input as u32));
    }
    let mut left = [0; 5];
    for now in 0..8 {
        noc.tick_observed(Cycle(now), &mut |sent| {
            left[sent.input] = now;
            Landing::Waits
        });
    }
    // Packets take ports and outputs for two cycles. From cycle 2 on outputs 0 and 1 both want the port of inputs 2 and 4, and
    // output 0 is asked first.
    assert_eq!(left, [0, 0, 4, 0, 2]);
}

fn crossbar(inputs: usize, outputs: usize) -> Crossbar<u32> {
    shared(inputs, &vec![0; outputs], "Unlimited")
}

/// The same, whose packets leave an input and go in at an output by so many bytes a cycle.
fn crossbar_of(inputs: usize, outputs: usize, bytes: (u32, u32), latency: u64) -> Crossbar<u32> {
    let (input, output) = bytes;
    let text = format!(
        "(flit_bytes: {input}, slice_in_bytes: 32, sm_port_bytes: {output}, sm_out_bytes: 32, \
         gpc_port: Unlimited, header_bytes: 8, store_piece: 1, mask_bytes: 0, latency: {latency}, \
         input_queue: 4)"
    );
    Crossbar::to_sms(&crate::config::parse::stated(&text), (inputs, 1), &vec![0; outputs])
}

#[test]
fn an_output_takes_a_packet_a_cycle_from_slower_inputs() {
    // 136 bytes take 17 cycles from an input, and one into the output: 20 inputs can keep it busy.
    let mut noc = crossbar_of(20, 1, (8, 136), 2);
    let mut taken = Vec::new();
    for now in 0..400 {
        for input in (0..20).filter(|input| now % 20 == *input) {
            noc.push(Cycle(now), (input as usize, 0), 128, false, &0);
        }
        noc.tick(Cycle(now));
        taken.extend(noc.pop(Cycle(now), 0).map(|_| now));
    }
    assert!(taken.iter().copied().eq(19..400), "{taken:?}");
    assert_eq!(noc.stats().contention, 0);
}

#[test]
fn a_packet_arrives_after_its_flits_and_the_latency_and_not_before() {
    let mut noc = crossbar(2, 2);
    // 8 + 128 bytes are five flits of 32.
    noc.push(Cycle(10), (0, 1), 128, false, &7);
    noc.tick(Cycle(10));
    assert_eq!(noc.pop(Cycle(19), 1), None);
    assert_eq!(noc.pop(Cycle(20), 1), Some(7));
    assert!(noc.is_empty());
    assert_eq!(noc.stats(), NocStats { packets: 1, flits: 5, contention: 0 });
}

#[test]
fn two_inputs_share_an_output_in_turn() {
    let mut noc = crossbar(2, 1);
    for packet in [0, 1] {
        noc.push(Cycle(0), (0, 0), 0, false, &packet);
        noc.push(Cycle(0), (1, 0), 0, false, &(10 + packet));
    }
    let mut seen = Vec::new();
    for now in 0..20 {
        noc.tick(Cycle(now));
        seen.extend(noc.pop(Cycle(now), 0).map(|packet| (now, packet)));
    }
    assert_eq!(seen, [(6, 0), (7, 10), (8, 1), (9, 11)]);
    assert_eq!(noc.stats().contention, 1 + 1 + 1);
}

#[test]
fn outputs_that_want_one_input_share_it_in_turn() {
    // Packets of four flits, and of five.
    for (outputs, bytes) in
        [16, 15, 12].into_iter().flat_map(|outputs| [(outputs, 120), (outputs, 128)])
    {
        for (one, other) in (0..outputs).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let mut noc = crossbar(1, outputs);
            for output in [one, other, one, other] {
                noc.push(Cycle(0), (0, output), bytes, false, &0);
            }
            let mut sent = Vec::new();
            for now in 0..400 {
                let mut left = None;
                noc.tick_observed(Cycle(now), &mut |packet| {
                    left = Some(packet.output);
                    Landing::Waits
                });
                if let Some(output) = left {
                    noc.push(Cycle(now + 1), (0, output), bytes, false, &0);
                    sent.push(output);
                }
                for output in [one, other] {
                    noc.pop(Cycle(now), output);
                }
            }
            assert!(sent.len() >= 79);
            assert!(sent.windows(2).all(|two| two[0] != two[1]), "{one}, {other}: {sent:?}");
        }
    }
}

#[test]
fn a_packet_may_enter_long_after_it_is_pushed() {
    for skips in [false, true] {
        let mut noc = crossbar(2, 1);
        noc.push(Cycle(50_000), (0, 0), 0, false, &1);
        noc.push(Cycle(90_000), (1, 0), 0, false, &2);
        let (mut now, mut seen) = (0, Vec::new());
        while now < 100_000 {
            noc.tick(Cycle(now));
            seen.extend(noc.pop(Cycle(now), 0).map(|packet| (now, packet)));
            let next = noc.next_event().min(noc.next_arrival(0));
            now = if skips { next.0.max(now + 1) } else { now + 1 };
        }
        assert_eq!(seen, [(50_006, 1), (90_006, 2)]);
        assert_eq!(noc.stats().contention, 0);
    }
}

#[test]
fn a_packet_passes_one_that_waits_for_another_output() {
    let mut noc = crossbar(2, 2);
    noc.push(Cycle(0), (1, 0), 128, false, &1);
    noc.tick(Cycle(0));
    noc.push(Cycle(1), (0, 0), 0, false, &2);
    noc.push(Cycle(1), (0, 1), 0, false, &3);
    noc.tick(Cycle(1));
    assert_eq!(noc.pop(Cycle(7), 1), Some(3));
    assert_eq!(noc.next_arrival(0), Cycle(10));
}

#[test]
fn packets_that_share_their_data_take_the_time_of_their_input_once() {
    let mut noc = crossbar(1, 3).with_shared_ports();
    noc.push(Cycle(0), (0, 0), 128, false, &1);
    noc.push(Cycle(0), (0, 1), 128, true, &2);
    noc.push(Cycle(0), (0, 2), 128, false, &3);
    let mut seen = Vec::new();
    for now in 0..40 {
        noc.tick(Cycle(now));
        for output in 0..3 {
            seen.extend(noc.pop(Cycle(now), output).map(|packet| (now, packet)));
        }
    }
    // Five flits each, and five cycles of latency: the third waits for the first to leave, the second does not.
    assert_eq!(seen, [(10, 1), (10, 2), (15, 3)]);
}

#[test]
fn an_output_whose_receiver_takes_nothing_stops() {
    let mut noc = crossbar(1, 1);
    let mut sent = 0;
    for now in 0..100 {
        if noc.has_room(0) {
            noc.push(Cycle(now), (0, 0), 0, false, &sent);
            sent += 1;
        }
        noc.tick(Cycle(now));
    }
    // Seven in the pipe, four at the input.
    assert_eq!(sent, 11);
}

#[test]
fn a_packet_leaves_no_sooner_than_it_enters() {
    let mut noc = crossbar(2, 1);
    noc.push(Cycle(3), (0, 0), 0, false, &1);
    noc.push(Cycle(70), (0, 0), 0, false, &2);
    noc.push(Cycle(0), (1, 0), 0, false, &3);
    noc.push(Cycle(3), (1, 0), 0, false, &4);
    let mut seen = Vec::new();
    for now in 0..100 {
        noc.tick(Cycle(now));
        seen.extend(noc.pop(Cycle(now), 0).map(|packet| (now, packet)));
    }
    assert_eq!(seen, [(6, 3), (9, 1), (10, 4), (76, 2)]);
    // The fourth waits for a cycle from when it enters.
    assert_eq!(noc.stats().contention, 1);
}

#[test]
fn a_packet_that_waits_for_room_enters_when_another_has_left() {
    let mut noc = crossbar(1, 1);
    for packet in 0..4 {
        noc.push(Cycle(0), (0, 0), 128, false, &packet);
    }
    assert!(!noc.has_room(0));
    noc.queue(Cycle(0), (0, 0), 0, &4);
    noc.queue(Cycle(7), (0, 0), 0, &5);
    assert_eq!(noc.queued(0), 2);
    let (mut entered, mut seen) = (Vec::new(), Vec::new());
    for now in 0..40 {
        let enters = &mut |Entering { at, queued, packet, .. }: Entering<'_, u32>| {
            let at = at.max(Cycle(now + 1));
            entered.push((*packet, at.0, queued));
            at
        };
        noc.run(Cycle(now), &Cell::new(Cycle(now + 1)), enters, &mut |_| Landing::Waits);
        seen.extend(noc.pop(Cycle(now), 0).map(|packet| (now, packet)));
    }
    assert_eq!(entered, [(4, 1, 1), (5, 7, 0)]);
    assert_eq!(seen, [(10, 0), (15, 1), (20, 2), (25, 3), (26, 4), (27, 5)]);
    assert!(noc.is_empty() && noc.has_room(0));
}

proptest! {
    #[test]
    fn every_packet_arrives_once_at_its_output_and_in_order_between_two_ports(
        packets in prop::collection::vec((0usize..5, 0usize..3, 0u32..129), 1..300),
    ) {
        let mut noc = crossbar(5, 3);
        let mut to_send = packets.iter().enumerate().peekable();
        let mut seen = vec![Vec::new(); 3];
        for now in 0..20_000 {
            if let Some(&(id, &(input, output, bytes))) = to_send.peek() && noc.has_room(input) {
                noc.push(Cycle(now), (input, output), bytes, false, &(id as u32));
                to_send.next();
            }
            noc.tick(Cycle(now));
            for (output, seen) in seen.iter_mut().enumerate() {
                seen.extend(noc.pop(Cycle(now), output));
            }
        }
        prop_assert!(noc.is_empty());
        prop_assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), packets.len());
        for (output, seen) in seen.iter().enumerate() {
            for input in 0..5 {
                let from: Vec<_> =
                    seen.iter().filter(|&&id| packets[id as usize].0 == input).collect();
                prop_assert!(from.is_sorted());
            }
            prop_assert!(seen.iter().all(|&id| packets[id as usize].1 == output));
        }
    }

    #[test]
    fn ticks_in_one_go_are_the_same_as_one_after_the_other(
        packets in prop::collection::vec((0usize..5, 0usize..3, 0u32..129, 0u64..9), 1..200),
        steps in prop::collection::vec(1u64..150, 1..40),
    ) {
        let run = |at_once: bool| {
            let mut noc = crossbar(5, 3);
            let (mut to_send, mut left) = (packets.iter().enumerate().peekable(), Vec::new());
            let (mut now, mut entered) = (0, [0; 5]);
            for step in &steps {
                let end = now + step;
                while let Some(&(id, &(input, output, bytes, after))) = to_send.peek() {
                    entered[input] = entered[input].max(now + after);
                    let (at, packet) = (Cycle(entered[input]), id as u32);
                    if noc.has_room(input) {
                        noc.push(at, (input, output), bytes, false, &packet);
                    } else if noc.queued(input) < 2 {
                        noc.queue(at, (input, output), bytes, &packet);
                    } else {
                        break;
                    }
                    to_send.next();
                }
                while now < end {
                    let until = Cell::new(Cycle(if at_once { end } else { now + 1 }));
                    let enters = &mut |Entering { tick, at, .. }: Entering<'_, u32>| at.max(tick + 1);
                    let last = noc.run(Cycle(now), &until, enters, &mut |sent| {
                        left.push((sent.tick, sent.output, *sent.packet));
                        if sent.packet % 8 == 0 {
                            until.set(until.get().min(sent.tick + 1));
                        }
                        Landing::Expected(sent.arrives + 1)
                    });
                    prop_assert!(last.is_none_or(|last| last < until.get() && last.0 >= now));
                    now = until.get().0;
                }
            }
            Ok((left, noc.stats()))
        };
        prop_assert_eq!(run(true)?, run(false)?);
    }

    #[test]
    fn an_output_of_a_swift_receiver_needs_to_know_of_no_places(
        packets in prop::collection::vec((0usize..5, 0usize..3, 0u32..129), 1..300),
        bytes in (8u32..64, 8u32..64),
        latency in 1u64..8,
    ) {
        let run = |is_told: bool| {
            let mut noc = crossbar_of(5, 3, bytes, latency);
            if !is_told {
                noc.assume_swift_receivers();
            }
            // When each receiver, who takes one a tick, took its last one.
            let mut taken = [Cycle(0); 3];
            let mut to_send = packets.iter().enumerate().peekable();
            let mut left = Vec::new();
            for now in 0..3_000 {
                while let Some(&(id, &(input, output, bytes))) = to_send.peek()
                    && noc.has_room(input)
                {
                    noc.push(Cycle(now), (input, output), bytes, false, &(id as u32));
                    to_send.next();
                }
                noc.tick_observed(Cycle(now), &mut |sent| {
                    left.push((now, sent.output, *sent.packet));
                    // Some find no place with their receiver, and those behind them wait.
                    if !sent.is_first || sent.packet % 16 == 0 {
                        return Landing::Waits;
                    }
                    let taken = &mut taken[sent.output];
                    *taken = sent.arrives.max(*taken + 1);
                    if is_told { Landing::Expected(*taken + 1) } else { Landing::Taken }
                });
                // So long that the places may all be taken, at times.
                let takes = now / 16 % 2 == 1;
                for (output, taken) in taken.iter_mut().enumerate() {
                    if takes && *taken < Cycle(now) && noc.pop(Cycle(now), output).is_some() {
                        *taken = Cycle(now);
                    }
                }
            }
            (left, noc.stats())
        };
        prop_assert_eq!(run(true), run(false));
    }
}
