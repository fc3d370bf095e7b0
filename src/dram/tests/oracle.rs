//! A slow, separate reading of the timing rules that checks a whole trace of commands.

use crate::config::machine::{DramConfig, GroupBits};
use crate::dram::timing::Command::{self, Activate, Precharge, Read, Write};
use crate::dram::{Request, Sent};
use crate::units::Cycle;

/// One command as the oracle sees it: a command for all banks stands once for every bank.
#[derive(Clone, Copy)]
struct Seen {
    at: u64,
    command: Option<Command>,
    bank: u32,
    row: u64,
}

/// Fails unless every pair of commands in `sent` keeps its distance, columns go to the open row, one
/// command goes a clock, data never overlaps on the bus, and at most four activates share a window.
pub fn check_timing(config: &DramConfig, sent: &[(Cycle, Sent)]) {
    // What is due is booked ahead, beside the command of that clock.
    let commands = sent.iter().filter(|(_, sent)| !matches!(sent, Sent::RefreshOne { .. }));
    assert!(commands.is_sorted_by(|a, b| a.0 < b.0), "one command a clock");
    let mut seen: Vec<Seen> = Vec::new();
    for &(Cycle(at), sent) in sent {
        match sent {
            Sent::Command { command, bank, row, .. } => {
                check_one(config, &seen, Seen { at, command: Some(command), bank, row });
                seen.push(Seen { at, command: Some(command), bank, row });
            }
            Sent::PrechargeAll { .. } => {
                for bank in 0..config.banks.get() {
                    let this = Seen { at, command: Some(Precharge), bank, row: 0 };
                    if open_row(&seen, bank).is_some() {
                        check_one(config, &seen, this);
                        seen.push(this);
                    }
                }
            }
            Sent::Refresh { .. } => {
                for bank in 0..config.banks.get() {
                    assert_eq!(open_row(&seen, bank), None, "refresh with bank {bank} open");
                    // A refresh is an activate to every bank, as far as its own bank can tell.
                    let last = seen.iter().rfind(|s| s.bank == bank && s.command.is_some());
                    if let Some(last) = last {
                        assert!(at - last.at >= config.timing.rp.cycles(), "tRP before a refresh");
                    }
                }
                let all =
                    (0..config.banks.get()).map(|bank| Seen { at, command: None, bank, row: 0 });
                seen.extend(all);
            }
            Sent::RefreshOne { bank, start: Cycle(start) } => {
                let this = Seen { at: start, command: None, bank, row: 0 };
                if open_row(&seen, bank).is_some() {
                    let at = start - config.timing.rp.cycles();
                    let closes = Seen { at, command: Some(Precharge), ..this };
                    check_one(config, &seen, closes);
                    seen.push(closes);
                }
                seen.push(this);
            }
        }
    }
}

fn open_row(seen: &[Seen], bank: u32) -> Option<u64> {
    let last = seen
        .iter()
        .rfind(|s| s.bank == bank && matches!(s.command, None | Some(Activate | Precharge)))?;
    (last.command == Some(Activate)).then_some(last.row)
}

fn check_one(config: &DramConfig, seen: &[Seen], this: Seen) {
    let t = &config.timing;
    let groups = config.bank_groups.get();
    let group = |bank: u32| match config.group_bits {
        GroupBits::Low => bank % groups,
        GroupBits::High => bank / (config.banks.get() / groups),
    };
    let burst = u64::from(config.burst_length.get()).div_ceil(u64::from(config.data_rate.get()));
    let data = |command, at| match command {
        Read => at + t.cl.cycles(),
        _ => at + t.cwl.cycles(),
    };
    let command = this.command.expect("a refresh is checked elsewhere");
    match command {
        Activate => assert_eq!(open_row(seen, this.bank), None, "activate of an open bank"),
        Precharge => assert!(open_row(seen, this.bank).is_some(), "precharge of a closed bank"),
        Read | Write => assert_eq!(open_row(seen, this.bank), Some(this.row), "wrong row"),
    }
    let activates = seen.iter().filter(|s| {
        s.command == Some(Activate) && command == Activate && s.at + t.faw.cycles() > this.at
    });
    assert!(activates.count() < 4, "tFAW at {}", this.at);
    for before in seen.iter().rev().take(400) {
        let same_bank = before.bank == this.bank;
        let same_group = group(before.bank) == group(this.bank);
        // One that was booked ahead concerns its own bank only.
        let Some(gap) = this.at.checked_sub(before.at) else {
            assert!(!same_bank, "a command to a bank that is refreshed at {}", this.at);
            continue;
        };
        let need = |ok: bool, what: &str| assert!(ok, "{what}: {gap} at {}", this.at);
        let Some(before_command) = before.command else {
            need(!same_bank || command != Activate || gap >= t.rfc.cycles(), "tRFC");
            continue;
        };
        match (before_command, command) {
            (Activate, Read | Write) => need(!same_bank || gap >= t.rcd.cycles(), "tRCD"),
            (Activate, Precharge) => need(!same_bank || gap >= t.ras.cycles(), "tRAS"),
            (Activate, Activate) if same_bank => need(gap >= t.rc.cycles(), "tRC"),
            (Activate, Activate) => need(gap >= t.rrd.cycles(), "tRRD"),
            (Precharge, Activate) => need(!same_bank || gap >= t.rp.cycles(), "tRP"),
            (Read, Precharge) => need(!same_bank || gap >= t.rtp.cycles(), "tRTP"),
            (Write, Precharge) => {
                let end = data(Write, before.at) + burst;
                need(!same_bank || this.at >= end + t.wr.cycles(), "tWR");
            }
            (Read | Write, Read | Write) => {
                let (end, start) =
                    (data(before_command, before.at) + burst, data(command, this.at));
                let rest = if before_command == command { 0 } else { t.turnaround.cycles() };
                need(start >= end + rest, "data bus");
                if before_command == command {
                    let ccd = if same_group { &t.ccd_l } else { &t.ccd_s };
                    need(gap >= ccd.cycles(), "tCCD");
                }
                if (before_command, command) == (Write, Read) {
                    need(this.at >= end + t.wtr.cycles(), "tWTR");
                }
            }
            _ => {}
        }
    }
}

/// Fails unless every request got all its columns, and two requests to the same bytes, of which one
/// at least writes, went in the order of arrival. Tags number the requests.
pub fn check_data(requests: &[Request], sent: &[(Cycle, Sent)], burst_bytes: u64) {
    let mut columns = vec![Vec::new(); requests.len()];
    for (at, sent) in sent {
        if let Sent::Command { command: command @ (Read | Write), tag: Some(tag), .. } = sent {
            assert_eq!(*command == Write, requests[*tag as usize].write);
            columns[*tag as usize].push(*at);
        }
    }
    let end = |r: &Request| r.address + u64::from(r.bursts) * burst_bytes;
    for (index, request) in requests.iter().enumerate() {
        assert_eq!(columns[index].len(), usize::from(request.bursts));
        for (other, older) in requests[..index].iter().enumerate() {
            let overlap = older.address < end(request) && request.address < end(older);
            if overlap && (older.write || request.write) {
                assert!(columns[other].last() < columns[index].first(), "{older:?} {request:?}");
            }
        }
    }
}
