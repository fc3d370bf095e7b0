//! What a tick costs. Run with `cargo test --release --lib dram::tests::speed -- --ignored --nocapture`.

use std::time::Instant;

use crate::config::machine::DramConfig;
use crate::dram::testing::{gtx480, line};
use crate::dram::{Completion, Controller, Request};
use crate::units::Cycle;

const CLOCKS: u64 = 20_000_000;

/// Nanoseconds a clock, all of them ticked, with a request of `next` offered every `every` clocks.
fn measure(config: &DramConfig, every: u64, mut next: impl FnMut(u64) -> Request) -> f64 {
    let mut controller = Controller::new(config);
    let mut number = 0;
    let start = Instant::now();
    for now in (0..CLOCKS).map(Cycle) {
        if now.0 % every == 0 && controller.can_accept() {
            let pushed = controller.try_push(now, next(number));
            assert!(pushed.is_ok());
            number += 1;
        }
        controller.tick(now, &mut |read: Completion| {
            std::hint::black_box(read);
        });
    }
    start.elapsed().as_secs_f64() * 1e9 / CLOCKS as f64
}

fn scatter(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30 & !127
}

#[test]
#[ignore = "a measurement"]
fn cost_of_a_tick() {
    let config = gtx480();
    let report = |what: &str, ns: f64| println!("{what:24} {ns:6.2} ns a tick");
    report("idle", measure(&config, u64::MAX, |i| line(i * 128, false, 0)));
    report("a read every 100", measure(&config, 100, |i| line(i * 128, false, 0)));
    report("stream", measure(&config, 1, |i| line(i * 128, false, 0)));
    report("random", measure(&config, 1, |i| line(scatter(i), false, 0)));
    report("random one bank", measure(&config, 1, |i| line(scatter(i) << 13, false, 0)));
    report("stream, half writes", measure(&config, 1, |i| line(i * 128, i % 2 == 1, 0)));
    report("random, half writes", measure(&config, 1, |i| line(scatter(i), i % 2 == 1, 0)));
}
