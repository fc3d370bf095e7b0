//! What warps did, by line of the kernels' sources.

use serde::{Deserialize, Serialize};

use super::sm_side::Running;
use super::statistics::{Ledgers, by_place};
use crate::isa::{Inst, MemoryOp, Op};
use crate::sm::{InstProfile, SmStats};

/// What warps did at the instructions of one line of a kernel's source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineStatistics {
    /// Entry point.
    pub kernel: String,
    /// The line, from 1; of a kernel without source text, the place of the instruction, from 1.
    pub line: u32,
    /// What stands there; without source text, what its first instruction does.
    pub text: String,
    /// File and line that a compiler made this line of, as the source says: `stencil.cu:12`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub made_of: String,
    /// Machine instructions of the line that were issued, in one launch at most `[instructions]`.
    pub instructions: u64,
    /// What they did there, all instructions of the line together.
    #[serde(flatten)]
    pub profile: InstProfile,
}

impl LineStatistics {
    /// Of one instruction, which stands at `place` in its kernel, from 1.
    fn new(kernel: &str, inst: &Inst, place: u32, profile: &InstProfile) -> Self {
        LineStatistics {
            kernel: kernel.to_owned(),
            line: if inst.line > 0 { inst.line } else { place },
            text: in_words(inst),
            made_of: String::new(),
            instructions: 1,
            profile: profile.clone(),
        }
    }

    /// Adds another launch of the same line.
    pub fn merge(&mut self, other: &Self) {
        self.instructions = self.instructions.max(other.instructions);
        self.profile.merge(&other.profile);
    }

    /// Says which of its ledgers does not sum.
    pub fn check(&self) -> Result<(), String> {
        let InstProfile { waits, latency, .. } = &self.profile;
        let ledgers = [("waits", waits.check()), ("latency", latency.check())];
        for (name, result) in ledgers {
            let place = || format!("line {} of {}", self.line, self.kernel);
            result.map_err(|why| format!("{}: the {name} ledger does not sum: {why}", place()))?;
        }
        Ok(())
    }
}

/// The lines of the kernels that ran, from what each SM counted by instruction; those that were issued, kernel by kernel.
pub fn by_line(
    ran: &[Running],
    sms: impl Iterator<Item = Vec<InstProfile>>,
) -> Vec<LineStatistics> {
    let program = by_place(sms, InstProfile::merge);
    let mut lines = Vec::new();
    for (number, running) in ran.iter().enumerate() {
        // Launches of the same instructions share them.
        if ran[..number].iter().any(|other| other.place == running.place) {
            continue;
        }
        let kernel = &running.kernel;
        let issued = program
            .iter()
            .skip(running.place as usize)
            .zip(&kernel.insts)
            .zip(1..)
            .filter(|((profile, _), _)| profile.counters.issued > 0);
        let mut own: Vec<LineStatistics> = issued
            .map(|((profile, inst), place)| LineStatistics::new(&kernel.name, inst, place, profile))
            .collect();
        own.sort_by_key(|line| line.line);
        own.dedup_by(|next, first| {
            let is_same = next.line == first.line;
            if is_same {
                first.instructions += next.instructions;
                first.profile.merge(&next.profile);
            }
            is_same
        });
        lines.append(&mut own);
    }
    lines
}

/// Says what lines miss of what the SMs counted together.
pub fn check(lines: &[LineStatistics], ledgers: &Ledgers, sms: &SmStats) -> Result<(), String> {
    let mut sum = InstProfile::default();
    for line in lines {
        line.check()?;
        sum.merge(&line.profile);
    }
    let pairs = [
        ("instructions", sum.counters.issued, sms.warp_instructions),
        ("warp cycles", sum.waits.total(), sms.resident_warp_cycles),
        ("cycles of loads", sum.latency.total(), ledgers.latency.total()),
    ];
    match pairs.iter().find(|(_, lines, all)| lines != all) {
        None => Ok(()),
        Some((what, lines, all)) => Err(format!("lines have {lines} {what} of {all}")),
    }
}

/// What an instruction does.
fn in_words(inst: &Inst) -> String {
    match inst.op {
        Op::Arith(class) => format!("{class:?}"),
        Op::Match
        | Op::Barrier
        | Op::Mbarrier(_)
        | Op::Copies(_)
        | Op::Bulk(_)
        | Op::Warpgroup(_)
        | Op::Exit => format!("{:?}", inst.op),
        Op::Fence(fence) => fence.name().to_owned(),
        Op::Memory(MemoryOp { space, kind, bytes, .. }) => {
            let kind = kind.name();
            format!("{kind}, {space:?}, {bytes} bytes a lane")
        }
    }
}
