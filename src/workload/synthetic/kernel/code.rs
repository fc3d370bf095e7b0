//! PTX text under construction: registers, labels, and how often a warp executes what.

use std::fmt::{self, Display, Write};

/// Table of `lop3` for `a ^ (b & c)`.
pub const XOR_AND: &str = "0x78";

/// A virtual register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reg {
    /// A predicate.
    Pred(u32),
    /// 32 bits.
    Narrow(u32),
    /// 64 bits.
    Wide(u32),
}

impl Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reg::Pred(number) => write!(f, "%p{number}"),
            Reg::Narrow(number) => write!(f, "%r{number}"),
            Reg::Wide(number) => write!(f, "%rd{number}"),
        }
    }
}

/// What an instruction is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What each warp does once, before its first access.
    Setup,
    /// The accesses of the specification.
    Access,
    /// The arithmetic of the specification.
    Arithmetic,
    /// The barriers of the specification.
    Barrier,
    /// Makes addresses.
    Address,
    /// Makes an address wait for data, as the specification says, without a change of its value.
    Dependence,
    /// Makes operands of arithmetic and values to be stored.
    Operand,
    /// Folds what was loaded.
    Checksum,
    /// Counts the rounds of loops.
    Loop,
    /// What each warp does once, after its last access.
    Final,
}

impl Part {
    /// Every part with its name, in the order of the header.
    pub const ALL: [(Part, &str); 10] = [
        (Part::Access, "accesses"),
        (Part::Arithmetic, "arithmetic"),
        (Part::Barrier, "barriers"),
        (Part::Address, "addresses"),
        (Part::Dependence, "dependences"),
        (Part::Operand, "operands"),
        (Part::Checksum, "checksum"),
        (Part::Loop, "loops"),
        (Part::Setup, "before the first access"),
        (Part::Final, "after the last access"),
    ];
}

/// A loop that is not closed yet.
#[must_use]
#[derive(Debug)]
pub struct Rounds {
    outside: u64,
    counter: Option<(Reg, String)>,
}

/// Lanes that wait for others.
#[must_use]
#[derive(Debug)]
pub struct Fork(String);

/// PTX text, written from the first instruction to the last.
#[derive(Debug)]
pub struct Code {
    body: String,
    part: Part,
    /// How often a warp executes what is written now.
    rounds: u64,
    /// Instructions that a warp executes, by part.
    executed: [u64; Part::ALL.len()],
    /// Instructions of the text.
    written: u64,
    preds: u32,
    narrow: u32,
    wide: u32,
    labels: u32,
}

impl Code {
    /// Nothing yet; the first part is [`Part::Setup`].
    pub fn new() -> Self {
        Code {
            body: String::new(),
            part: Part::Setup,
            rounds: 1,
            executed: [0; Part::ALL.len()],
            written: 0,
            preds: 0,
            narrow: 0,
            wide: 0,
            labels: 0,
        }
    }

    /// What follows is there for `part`; gives what was before.
    pub fn part(&mut self, part: Part) -> Part {
        std::mem::replace(&mut self.part, part)
    }

    /// Instructions of the text.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Instructions of a part that a warp executes.
    pub fn executed(&self, part: Part) -> u64 {
        self.executed[part as usize]
    }

    /// A new predicate.
    pub fn pred(&mut self) -> Reg {
        self.preds += 1;
        Reg::Pred(self.preds)
    }

    /// A new register of 32 bits.
    pub fn narrow(&mut self) -> Reg {
        self.narrow += 1;
        Reg::Narrow(self.narrow)
    }

    /// A new register of 64 bits.
    pub fn wide(&mut self) -> Reg {
        self.wide += 1;
        Reg::Wide(self.wide)
    }

    /// A new register, of 64 bits if `wide`.
    pub fn reg(&mut self, wide: bool) -> Reg {
        if wide { self.wide() } else { self.narrow() }
    }

    /// An instruction.
    pub fn op(&mut self, text: impl Display) {
        let _ = writeln!(self.body, "\t{text};");
        self.written += 1;
        self.executed[self.part as usize] += self.rounds;
    }

    /// An instruction with a new predicate as its result.
    pub fn new_pred(&mut self, opcode: &str, operands: impl Display) -> Reg {
        let to = self.pred();
        self.op(format_args!("{opcode} {to}, {operands}"));
        to
    }

    /// An instruction with a new register of 32 bits as its result.
    pub fn new_narrow(&mut self, opcode: &str, operands: impl Display) -> Reg {
        let to = self.narrow();
        self.op(format_args!("{opcode} {to}, {operands}"));
        to
    }

    /// An instruction with a new register of 64 bits as its result.
    pub fn new_wide(&mut self, opcode: &str, operands: impl Display) -> Reg {
        let to = self.wide();
        self.op(format_args!("{opcode} {to}, {operands}"));
        to
    }

    /// What follows, up to [`Code::end`], is executed `rounds` times, which is at least once.
    pub fn begin(&mut self, rounds: u64) -> Rounds {
        let outside = self.rounds;
        let counter = (rounds > 1).then(|| {
            let part = self.part(Part::Loop);
            let left = self.new_narrow("mov.u32", rounds);
            self.part(part);
            (left, self.label())
        });
        self.rounds = outside * rounds;
        Rounds { outside, counter }
    }

    /// Closes a loop.
    pub fn end(&mut self, rounds: Rounds) {
        if let Some((left, label)) = rounds.counter {
            let part = self.part(Part::Loop);
            self.op(format_args!("add.u32 {left}, {left}, -1"));
            let more = self.new_pred("setp.ne.u32", format_args!("{left}, 0"));
            self.op(format_args!("@{more} bra {label}"));
            self.part(part);
        }
        self.rounds = rounds.outside;
    }

    /// Writes `body` to be executed by each lane until the predicate that it gives is false. It counts once.
    pub fn until_false(&mut self, body: impl FnOnce(&mut Code) -> Reg) {
        let label = self.label();
        let again = body(self);
        self.op(format_args!("@{again} bra {label}"));
    }

    /// Lanes for which `lane_goes_on` is false do nothing up to [`Code::join`].
    pub fn fork(&mut self, lane_goes_on: Reg) -> Fork {
        let label = self.new_label();
        self.op(format_args!("@!{lane_goes_on} bra {label}"));
        Fork(label)
    }

    /// All lanes go on together.
    pub fn join(&mut self, fork: &Fork) {
        let _ = writeln!(self.body, "{}:", fork.0);
    }

    fn new_label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    fn label(&mut self) -> String {
        let label = self.new_label();
        let _ = writeln!(self.body, "{label}:");
        label
    }

    /// The declarations of all registers, and the instructions.
    pub fn text(&self) -> String {
        format!(
            "\t.reg .pred %p<{}>;\n\t.reg .b32 %r<{}>;\n\t.reg .b64 %rd<{}>;\n\n{}",
            self.preds + 1,
            self.narrow + 1,
            self.wide + 1,
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_loop_counts_as_often_as_it_is_executed() {
        let mut code = Code::new();
        let outer = code.begin(3);
        code.part(Part::Address);
        let inner = code.begin(5);
        let one = code.new_narrow("mov.u32", 1);
        code.op(format_args!("add.u32 {one}, {one}, 1"));
        code.end(inner);
        code.end(outer);
        assert_eq!(code.executed(Part::Address), 2 * 15);
        // A start, and three instructions a round.
        assert_eq!(code.executed(Part::Loop), 1 + 3 * 3 + 3 * (1 + 3 * 5));
        assert_eq!(code.written(), 2 + 2 * 4);
    }
}
