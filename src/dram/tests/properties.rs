//! What holds for any traffic on any channel.

use proptest::prelude::*;

use super::oracle::{check_data, check_timing};
use crate::config::Check;
use crate::config::machine::{
    DramConfig, DramScheduler, GroupBits, Refreshes, RowPolicy, WriteDrain,
};
use crate::dram::testing::{Bench, bounded, gtx480};
use crate::dram::{Completion, Controller, DramStats, Listener, Request};
use crate::stats::{DramLedger, DramReason};
use crate::units::Cycle;

prop_compose! {
    fn any_timing()(
        (rcd, rp, ras, rc) in (1..20u32, 1..20u32, 1..30u32, 0..20u32),
        (rrd, faw, cl, cwl) in (1..10u32, 0..40u32, 1..20u32, 1..10u32),
        (ccd_s, ccd_l, wtr, rtp) in (1..4u32, 0..4u32, 1..10u32, 1..8u32),
        (wr, turnaround, refi, rfc) in (1..15u32, 0..4u32, 300..900u32, 0..100u32),
        refreshes: bool,
    ) -> crate::config::machine::DramTiming {
        crate::config::machine::DramTiming {
            rcd: bounded(rcd), rp: bounded(rp), ras: bounded(ras), rc: bounded(ras + rc),
            rrd: bounded(rrd), faw: bounded(faw), cl: bounded(cl), cwl: bounded(cwl),
            ccd_s: bounded(ccd_s), ccd_l: bounded(ccd_s + ccd_l), wtr: bounded(wtr),
            rtp: bounded(rtp), wr: bounded(wr), turnaround: bounded(turnaround),
            refi: bounded(if refreshes { refi } else { 0 }), rfc: bounded(rfc),
        }
    }
}

fn any_writes() -> impl Strategy<Value = WriteDrain> {
    let idle = prop_oneof![Just(0u32), 1..200u32];
    let batched = (1..8u32, 0..8u32, idle).prop_map(|(high, low, idle)| WriteDrain::Batched {
        high: bounded(high),
        low: bounded(low.min(high - 1)),
        idle: bounded(idle),
    });
    prop_oneof![Just(WriteDrain::Mixed), batched]
}

fn any_scheduler() -> impl Strategy<Value = DramScheduler> {
    let fr_fcfs = (1..20u32).prop_map(|cap| DramScheduler::FrFcfs { cap: bounded(cap) });
    prop_oneof![Just(DramScheduler::Fcfs), fr_fcfs]
}

prop_compose! {
    fn any_channel()(
        timing in any_timing(),
        writes in any_writes(),
        scheduler in any_scheduler(),
        row_policy in prop_oneof![Just(RowPolicy::Open), Just(RowPolicy::Closed)],
        refresh in prop_oneof![Just(Refreshes::AllBanks), Just(Refreshes::PerBank)],
        group_bits in prop_oneof![Just(GroupBits::Low), Just(GroupBits::High)],
        queue in 8..24u32,
        interface in 0..30u32,
        burst in prop_oneof![Just(4u32), Just(8u32)],
    ) -> DramConfig {
        let mut config = gtx480();
        config.timing = timing;
        config.writes = writes;
        config.scheduler = scheduler;
        config.row_policy = row_policy;
        config.refresh = refresh;
        config.group_bits = group_bits;
        config.queue = bounded(queue);
        config.interface_latency = bounded(interface);
        config.burst_length = bounded(burst);
        if burst == 4 {
            config.mapping = "RRRRRRRR.RRRRRRRR.BBBCCCCB.CCCSSSSS".into();
        }
        config.check().expect("a valid channel");
        config
    }
}

/// Requests to few rows and lines, so that they meet; each with the clocks before it.
fn any_traffic() -> impl Strategy<Value = Vec<(u64, Request)>> {
    let gap = prop_oneof![4 => Just(0u64), 4 => 0..12u64, 1 => 0..2000u64];
    let request = (0..4u64, 0..16u64, 0..2u64, 0..2u64, 1..=2u16, any::<bool>());
    let any = (gap, request).prop_map(|(gap, (row, bank, line, half, bursts, write))| {
        let address = row << 16 | (bank >> 1) << 13 | (bank & 1) << 8 | line << 7;
        let address = if bursts == 1 { address | half << 6 } else { address };
        (gap, Request { address, bursts, write, tag: 0 })
    });
    prop::collection::vec(any, 0..150).prop_map(|mut traffic| {
        for (tag, (_, request)) in (0..).zip(&mut traffic) {
            request.tag = tag;
        }
        traffic
    })
}

/// Reads that were done, and what was counted.
type Outcome = (Vec<Completion>, DramStats, DramLedger);

/// Offers each request at its clock, or when there is room; passes clocks one by one or, with
/// `skips`, jumps over all in which nothing happens. Goes on a while after all is done.
fn run(config: &DramConfig, traffic: &[(u64, Request)], skips: bool) -> Outcome {
    let mut controller = Controller::new(config);
    let (mut done, mut now, mut due) = (Vec::new(), Cycle(0), Cycle(0));
    let mut traffic = traffic.iter().peekable();
    if let Some((gap, _)) = traffic.peek() {
        due += *gap;
    }
    let mut end = Cycle::NEVER;
    while now < end {
        while let Some((_, request)) = traffic.peek() {
            if now < due || controller.try_push(now, *request).is_err() {
                break;
            }
            traffic.next();
            due = now + traffic.peek().map_or(0, |(gap, _)| *gap);
        }
        let done = &mut |read| done.push(read);
        if skips {
            let arrives = traffic.peek().is_some() && controller.can_accept();
            let to = if arrives { due.max(now + 1) } else { Cycle::NEVER };
            // One that does not find room is offered again in the clock after that in which there is some.
            now = controller.run(now, to.min(end), done);
        } else {
            controller.tick(now, done);
        }
        now += 1;
        if end == Cycle::NEVER && traffic.peek().is_none() && controller.is_idle() {
            end = now + 2000;
        }
        if skips {
            let arrives = traffic.peek().is_some() && controller.can_accept();
            let offered = if arrives { due } else { Cycle::NEVER };
            let to = controller.next_event(now).min(offered).min(end);
            if to > now {
                controller.skip(to);
                now = to;
            }
        }
        assert!(now < Cycle(2_000_000), "stuck");
    }
    (done, controller.stats(), controller.ledger())
}

/// Hears of a controller that goes on before clock `to`, or until a request has left.
struct Ahead<'a> {
    to: Cycle,
    until_one_leaves: bool,
    done: &'a mut Vec<Completion>,
    leaves: &'a mut Vec<Cycle>,
}

impl Listener for Ahead<'_> {
    fn bound(&self) -> Cycle {
        self.to
    }

    fn left(&mut self, at: Cycle) {
        self.leaves.push(at);
        if self.until_one_leaves {
            self.to = Cycle(0);
        }
    }

    fn done(&mut self, read: Completion) {
        self.done.push(read);
    }
}

/// As [`run`], where the channel is as far ahead of who pushes as it may be.
fn run_ahead(config: &DramConfig, traffic: &[(u64, Request)]) -> Outcome {
    let mut controller = Controller::new(config);
    let (mut done, mut leaves, mut seen) = (Vec::new(), Vec::new(), 0);
    let (mut room, mut now) = (controller.room(), Cycle(0));
    let mut go = |controller: &mut Controller, to, until_one_leaves, leaves: &mut Vec<Cycle>| {
        let from = controller.next_event(controller.passed_to());
        if from < to {
            controller.run_on(from, &mut Ahead { to, until_one_leaves, done: &mut done, leaves });
        }
    };
    for (gap, request) in traffic {
        now += *gap;
        loop {
            while leaves.get(seen).is_some_and(|&at| at < now) {
                (seen, room) = (seen + 1, room + 1);
            }
            if room > 0 {
                break;
            }
            match leaves.get(seen) {
                Some(&at) => now = at + 1,
                None => go(&mut controller, Cycle::NEVER, true, &mut leaves),
            }
        }
        let enters = now + controller.latency_in();
        go(&mut controller, enters, false, &mut leaves);
        controller.try_push(now, *request).expect("there is room");
        room -= 1;
    }
    while !controller.is_idle() {
        go(&mut controller, Cycle::NEVER, true, &mut leaves);
    }
    let end = leaves.last().map_or(Cycle(1), |&at| at + 1) + 2000;
    while controller.next_event(controller.passed_to()) < end {
        go(&mut controller, end, false, &mut leaves);
    }
    controller.skip(end);
    (done, controller.stats(), controller.ledger())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn being_ahead_changes_nothing(config in any_channel(), traffic in any_traffic()) {
        prop_assert_eq!(run(&config, &traffic, false), run_ahead(&config, &traffic));
    }

    #[test]
    fn skipping_changes_nothing(config in any_channel(), traffic in any_traffic()) {
        prop_assert_eq!(run(&config, &traffic, false), run(&config, &traffic, true));
    }

    #[test]
    fn the_ledger_sums_at_any_time_and_never_takes_back(
        config in any_channel(),
        traffic in any_traffic(),
        closings in prop::collection::vec(1..300u64, 0..20),
    ) {
        let mut bench = Bench::new(&config);
        let (mut due, mut closes) = (Cycle(0), Cycle(0));
        let mut traffic = traffic.into_iter();
        let mut closings = closings.into_iter();
        let mut offered = traffic.next();
        let mut before = bench.controller.ledger();
        while offered.is_some() || !bench.controller.is_idle() {
            if let Some((gap, request)) = offered
                && due + gap <= bench.now
                && bench.controller.can_accept()
            {
                bench.push(request);
                (due, offered) = (bench.now, traffic.next());
            }
            bench.tick();
            let ledger = bench.controller.ledger();
            prop_assert_eq!(ledger.check(), Ok(()), "at {}", bench.now);
            prop_assert_eq!(ledger.total(), bench.now.0);
            if closes <= bench.now {
                bench.controller.settle();
                prop_assert_eq!(&bench.controller.ledger(), &ledger);
                // Fails where a part is smaller than it was when the books were closed last.
                prop_assert_eq!(ledger.since(&before).check(), Ok(()));
                closes = closings.next().map_or(Cycle::NEVER, |clocks| bench.now + clocks);
                before = ledger;
            }
        }
        prop_assert_eq!(bench.controller.ledger().since(&before).check(), Ok(()));
    }

    #[test]
    fn random_traffic_drains_within_the_rules(config in any_channel(), traffic in any_traffic()) {
        let requests: Vec<Request> = traffic.into_iter().map(|(_, request)| request).collect();
        let mut bench = Bench::new(&config);
        bench.serve(requests.iter().copied());
        let drained = bench.now.0 + 100;
        bench.run_to(drained);

        let mut tags: Vec<u32> = bench.done.iter().map(|done| done.tag).collect();
        tags.sort_unstable();
        let reads: Vec<u32> = requests.iter().filter(|r| !r.write).map(|r| r.tag).collect();
        prop_assert_eq!(tags, reads, "every read completes once");
        check_timing(&config, &bench.sent);
        check_data(&requests, &bench.sent, u64::from(config.burst_bytes()));

        let stats = bench.controller.stats();
        let bursts: u64 = requests.iter().map(|r| u64::from(r.bursts)).sum();
        prop_assert_eq!(stats.read_bursts + stats.write_bursts, bursts);
        prop_assert_eq!(stats.data_clocks, bursts * config.burst_clocks());
        prop_assert_eq!(stats.reads + stats.writes, requests.len() as u64);
        let rows = stats.row_hits + stats.row_misses + stats.row_conflicts;
        prop_assert_eq!(rows, requests.len() as u64);
        prop_assert!(stats.data_clocks <= stats.busy_clocks && stats.busy_clocks <= stats.clocks);
        let open = bench.sent.iter().filter(|(_, sent)| matches!(sent,
            crate::dram::Sent::Command { command: crate::dram::timing::Command::Activate, .. }));
        prop_assert_eq!(stats.activates, open.count() as u64);
        prop_assert!(stats.precharges <= stats.activates);

        let ledger = bench.controller.ledger();
        prop_assert_eq!(ledger.check(), Ok(()));
        prop_assert_eq!(ledger.total(), stats.clocks);
        let data = [(DramReason::Read, stats.read_bursts), (DramReason::Write, stats.write_bursts)];
        for (reason, bursts) in data {
            prop_assert_eq!(ledger.part(reason), bursts * config.burst_clocks());
        }
    }
}
