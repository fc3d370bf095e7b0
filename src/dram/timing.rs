//! What must pass between two commands, as data: one row a constraint.

use crate::config::machine::DramConfig;

/// What a controller can tell one bank to do. Refresh is apart: see [`super::refresh`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens a row.
    Activate,
    /// Closes the open row.
    Precharge,
    /// Reads one burst from the open row.
    Read,
    /// Writes one burst into the open row.
    Write,
}

impl Command {
    /// How many commands there are.
    pub const COUNT: usize = 4;
    /// Every command, by number.
    pub const ALL: [Command; Command::COUNT] =
        [Command::Activate, Command::Precharge, Command::Read, Command::Write];
}

/// Whose commands a constraint ties together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Both commands go to the same bank.
    Bank,
    /// Both commands go to banks of the same group.
    Group,
    /// Both commands go to any banks of the channel.
    Channel,
}

impl Scope {
    /// How many scopes there are.
    pub const COUNT: usize = 3;
}

/// One constraint: in `scope`, `after` may follow `before` no sooner than `clocks` later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// JEDEC's name, or the sum it is made of.
    pub name: &'static str,
    /// Whose commands it ties together.
    pub scope: Scope,
    /// The earlier command.
    pub before: Command,
    /// The later command.
    pub after: Command,
    /// The least distance [command clocks].
    pub clocks: u64,
}

/// The constraints of `config`. The four-activate window is not a pair rule: see [`super::bank`].
///
/// Source of the rows: JEDEC JESD212 (GDDR5 SGRAM), "Operations" and the timing tables. GDDR3 and
/// HBM (JESD235) state the same rows under the same names.
pub fn rules(config: &DramConfig) -> [Rule; 14] {
    use Command::{Activate, Precharge, Read, Write};
    use Scope::{Bank, Channel, Group};
    let t = &config.timing;
    let burst = config.burst_clocks();
    let (cl, cwl, turn) = (t.cl.cycles(), t.cwl.cycles(), t.turnaround.cycles());
    let row = |name, scope, before, after, clocks| Rule { name, scope, before, after, clocks };
    // A burst keeps the data bus for `burst` clocks, so no column command of the same direction
    // follows sooner, whatever tCCD says.
    let ccd_s = t.ccd_s.cycles().max(burst);
    let ccd_l = t.ccd_l.cycles().max(burst);
    // Write data may start `turn` clocks after the read data ended.
    let read_to_write = (cl + burst + turn).saturating_sub(cwl).max(ccd_s);
    // tWTR runs from the last write data. The bus must rest too, but CL is usually far longer.
    let write_end = cwl + burst;
    let write_to_read = (write_end + t.wtr.cycles()).max((write_end + turn).saturating_sub(cl));
    [
        row("tRCD", Bank, Activate, Read, t.rcd.cycles()),
        row("tRCD", Bank, Activate, Write, t.rcd.cycles()),
        row("tRAS", Bank, Activate, Precharge, t.ras.cycles()),
        row("tRC", Bank, Activate, Activate, t.rc.cycles()),
        row("tRP", Bank, Precharge, Activate, t.rp.cycles()),
        row("tRTP", Bank, Read, Precharge, t.rtp.cycles()),
        row("CWL + burst + tWR", Bank, Write, Precharge, write_end + t.wr.cycles()),
        row("tRRD", Channel, Activate, Activate, t.rrd.cycles()),
        row("tCCD_S", Channel, Read, Read, ccd_s),
        row("tCCD_S", Channel, Write, Write, ccd_s),
        row("tCCD_L", Group, Read, Read, ccd_l),
        row("tCCD_L", Group, Write, Write, ccd_l),
        row("CL + burst + turnaround - CWL", Channel, Read, Write, read_to_write),
        row("CWL + burst + tWTR", Channel, Write, Read, write_to_read),
    ]
}

/// The rules as a table: the distance for every scope, earlier and later command; 0 for no rule.
///
/// Zero needs no test on the hot path: with one command a clock it never binds.
pub type Distances = [[[u64; Command::COUNT]; Command::COUNT]; Scope::COUNT];

/// Builds the table; of two rules for the same pair the longer one counts.
pub fn distances(rules: &[Rule]) -> Distances {
    let mut table = Distances::default();
    for rule in rules {
        let cell = &mut table[rule.scope as usize][rule.before as usize][rule.after as usize];
        *cell = rule.clocks.max(*cell);
    }
    table
}
