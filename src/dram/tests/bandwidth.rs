//! How much of the peak each pattern of accesses gets.

use crate::config::machine::{DramConfig, DramScheduler, WriteDrain};
use crate::dram::testing::{Bench, bounded, gtx480, line};
use crate::dram::Request;

fn share(config: &DramConfig, requests: impl IntoIterator<Item = Request>) -> f64 {
    let mut bench = Bench::new(config);
    bench.serve(requests);
    let stats = bench.controller.stats();
    assert!(stats.data_clocks <= stats.clocks, "the bus carries one burst at a time");
    println!("{:.4} {:?}", bench.share(), stats);
    bench.share()
}

fn stream(lines: u32) -> impl Iterator<Item = Request> {
    (0..lines).map(|i| line(u64::from(i) * 128, false, i))
}

#[test]
fn a_stream_of_reads_gets_nine_tenths_of_the_peak() {
    let share = share(&gtx480(), stream(20_000));
    assert!((0.9..=1.0).contains(&share), "{share}");
}
