//! How much of the peak each pattern of accesses gets.

use crate::config::machine::{DramConfig, DramScheduler, WriteDrain,RowPolicy};
use crate::dram::testing::{Bench, bounded, gtx480, line};
use crate::dram::Request;

fn share(what: &str, config: &DramConfig, requests: impl IntoIterator<Item = Request>) -> f64 {
    let mut bench = Bench::new(config);
    bench.serve(requests);
    let stats = bench.controller.stats();
    assert!(stats.data_clocks <= stats.clocks, "the bus carries one burst at a time");
    println!("{what:30} {:.4} {:?}", bench.share(), stats);
    bench.share()
}

fn stream(lines: u32) -> impl Iterator<Item = Request> {
    (0..lines).map(|i| line(u64::from(i) * 128, false, i))
}

struct Rng(u64);
impl Rng { fn next(&mut self) -> u64 { self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); self.0 >> 33 } }

#[test]
fn explore() {
    let c = gtx480();
    share("stream", &c, stream(20_000));
    for skew in [0u64, 4, 16, 64, 256] {
        // two slices
        share(&format!("slices skew {skew}"), &c, (0..20_000u64).map(|i| { let s = i & 1; let n = i / 2 + s * skew; line(n / 2 * 512 + n % 2 * 128 + s * 256, false, 0) }));
    }
    share("one slice", &c, (0..20_000u64).map(|n| line(n / 2 * 512 + n % 2 * 128, false, 0)));
    let mut one = c.clone(); one.bank_groups = bounded(1); 
    share("stream, one group", &one, stream(20_000));
    for n in [2u64, 4, 8, 16, 32] {
    let mut r = Rng(1);
    let mut heads: Vec<u64> = (0..n).map(|_| r.next() % (1 << 22) * 256).collect();
    share(&format!("{n} streams"), &c, (0..20_000u64).map(|_| { let k = (r.next() % n) as usize; heads[k] += 128; line(heads[k], false, 0) }));
    let mut heads: Vec<u64> = (0..n).map(|_| r.next() % (1 << 22) * 256).collect();
    share(&format!("{n} streams half write"), &c, (0..20_000u64).map(|_| { let k = (r.next() % n) as usize; heads[k] += 128; line(heads[k], k % 2 == 1, 0) }));
    let mut b = c.clone(); b.writes = WriteDrain::Batched { high: bounded(32), low: bounded(8) };
    let mut heads: Vec<u64> = (0..n).map(|_| r.next() % (1 << 22) * 256).collect();
    share(&format!("{n} streams half write batched"), &b, (0..20_000u64).map(|_| { let k = (r.next() % n) as usize; heads[k] += 128; line(heads[k], k % 2 == 1, 0) }));
    }
    let mut r = Rng(1);
    share("random", &c, (0..20_000u64).map(|_| line(r.next() * 128, false, 0)));
    share("random one bank", &c, (0..20_000u64).map(|_| line(r.next() << 16, false, 0)));
    let mut x = c.clone(); x.row_policy = RowPolicy::Closed;
    share("random closed", &x, (0..20_000u64).map(|_| line(r.next() * 128, false, 0)));
    let mut x = c.clone(); x.scheduler = DramScheduler::Fcfs;
    share("fcfs stream", &x, stream(20_000));
    share("fcfs random", &x, (0..20_000u64).map(|_| line(r.next() * 128, false, 0)));
    share("mixed r/w same stream", &c, (0..20_000u64).map(|i| line(i * 128, i % 2 == 1, 0)));
    share("mixed r/w random dir", &c, (0..20_000u64).map(|i| line(i * 128, r.next() % 2 == 1, 0)));
    share("rw copy 1MB apart+8K", &c, (0..20_000u64).map(|i| line(i/2 * 128 + i % 2 * 0x102000, i % 2 == 1, 0)));
    share("rw copy 1MB apart", &c, (0..20_000u64).map(|i| line(i/2 * 128 + i % 2 * 0x100000, i % 2 == 1, 0)));
    share("writes", &c, (0..20_000u64).map(|i| line(i * 128, true, 0)));
    share("fr interleaved rows", &c, (0..20_000u64).map(|i| line(i/2 * 128 + i % 2 * 0x100000, false, 0)));
    share("fcfs interleaved rows", &x, (0..20_000u64).map(|i| line(i/2 * 128 + i % 2 * 0x100000, false, 0)));
}
