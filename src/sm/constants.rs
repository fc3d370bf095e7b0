//! The constant bank: which lines of it a program reads, and when one is there.

use super::program::Action;
use crate::config::machine::ConstantBank;
use crate::isa::Inst;
use crate::units::Cycle;

/// The lines of the constant bank that a kernel's instructions read, and what these take.
pub struct Bank {
    /// Bytes of a line.
    line: u32,
    /// Where the line is there [core cycles].
    latency: u16,
    /// In order.
    lines: Vec<u32>,
}

impl Bank {
    /// Of a kernel; none where such instructions are moves.
    pub fn new(config: ConstantBank, insts: &[Inst]) -> Option<Self> {
        let ConstantBank::Cached { line, latency, .. } = config else { return None };
        let (line, latency) = (line.get(), latency.get() as u16);
        let mut lines: Vec<u32> =
            insts.iter().filter_map(|inst| Some(inst.constant? / line)).collect();
        lines.sort_unstable();
        lines.dedup();
        Some(Bank { line, latency, lines })
    }

    /// How many lines.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// What one of the instructions does, if it reads the bank, and takes its pipeline for `interval`.
    pub fn action(&self, inst: &Inst, interval: u8) -> Option<Action> {
        let line = self.lines.binary_search(&(inst.constant? / self.line)).ok()?;
        Some(Action::Constant { line: numbered(line), latency: self.latency, interval })
    }
}

/// The number of a line; lines beyond the last number share it.
pub fn numbered(line: usize) -> u16 {
    line.try_into().unwrap_or(u16::MAX)
}

/// When lines of the constant bank are there, on one SM. Each comes when it is read first in a launch, and stays.
#[derive(Clone, Debug)]
pub struct Constants {
    /// What a line takes to come [core cycles].
    miss: u64,
    /// By line: when it is there, or never.
    there: Vec<Cycle>,
}

impl Constants {
    /// Of an SM to which a line comes in so many cycles.
    pub fn new(miss: u64) -> Self {
        Constants { miss, there: Vec::new() }
    }

    /// A launch starts: no line is there.
    pub fn forget(&mut self) {
        self.there.clear();
    }

    /// Instructions read so many lines from now on, those of before among them.
    pub fn expect(&mut self, lines: usize) {
        self.there.resize(lines, Cycle::NEVER);
    }

    /// How long an instruction that reads a line at `now` waits for it [core cycles].
    #[inline(always)]
    pub fn wait(&mut self, now: Cycle, line: u16) -> u64 {
        let there = &mut self.there[usize::from(line)];
        if *there == Cycle::NEVER {
            *there = now + self.miss;
        }
        there.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_once_in_a_launch() {
        let mut constants = Constants::new(68);
        constants.expect(2);
        assert_eq!(constants.wait(Cycle(100), 1), 68);
        assert_eq!(constants.wait(Cycle(110), 1), 58);
        assert_eq!(constants.wait(Cycle(168), 1), 0);
        assert_eq!(constants.wait(Cycle(200), 0), 68);
        // Lines of another kernel come as well; those that are there stay.
        constants.expect(3);
        assert_eq!([constants.wait(Cycle(300), 0), constants.wait(Cycle(300), 2)], [0, 68]);
        // Another launch has other parameters.
        constants.forget();
        constants.expect(2);
        assert_eq!(constants.wait(Cycle(400), 0), 68);
    }
}
