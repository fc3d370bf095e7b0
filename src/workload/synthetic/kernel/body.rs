//! The instructions of a generated kernel between its first and its last access.
//!
//! They stand in the order of the synthetic streams: the arithmetic on the data of the access so many before, the
//! address, the access. The assembler, which may move what does not depend on each other, is held to it by data: an
//! address takes in what the access must wait for, combined with a zero that only the launch knows, and so does
//! what is stored.

use std::collections::HashMap;

use super::super::schedule::{Source, Turn, schedule};
use super::code::{Code, Part, Reg, XOR_AND};
use super::math::Math;
use super::memory::{Arrays, Link, PLACE_BITS};
use super::plan::plan;
use super::walk::Walk;
use super::{MAX_INSTRUCTIONS, Refusal};
use crate::config::SyntheticSpec;
use crate::config::synthetic::{Access, CacheHint, Pattern, Phase, SyntheticSpace, Use};
use crate::isa::AccessKind;

/// Table of `lop3` for `(a & b) ^ c`.
const AND_XOR: &str = "0x6A";

/// A kernel under construction.
pub struct Body<'a> {
    pub spec: &'a SyntheticSpec,
    pub arrays: &'a Arrays,
    pub code: Code,
    /// The accesses by phase and place in the mixture.
    pub walks: Vec<Vec<Walk>>,
    /// Where a thread's copy of each array begins; in shared memory with 32 bits.
    pub bases: Vec<Reg>,
    /// Holds 0.
    pub zero: Reg,
    /// Bits of the seed that are in every word.
    pub salt: Reg,
    /// Every word that was loaded, but for addresses.
    pub checksum: Reg,
    /// The data of each slot.
    pub slots: Vec<Slot>,
    /// Whether a lane takes part, by the number of lanes that do; none where all do.
    pub guards: HashMap<u32, Reg>,
    pub math: Math,
}

/// Registers for the data of a load or atomic operation.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    pub words: [Reg; 4],
    /// The old value of an atomic operation of 8 bytes.
    pub old: Reg,
}

/// A memory instruction of a phase.
#[derive(Clone, Copy, Debug)]
struct Step {
    turn: Turn,
    /// The stencil's neighbour.
    tap: u64,
}

impl Body<'_> {
    /// Writes all phases, `repeats` times.
    ///
    /// # Errors
    /// A kernel that is too long.
    pub fn passes(&mut self) -> Result<(), Refusal> {
        // A stencil need not be at its first neighbour again after a pass, but is so after so many.
        let repeats = u64::from(self.spec.repeats.get());
        let mut group = 1;
        for (phase, walks) in self.spec.phases.iter().zip(&self.walks) {
            for (walk, count) in walks.iter().zip(counts(phase)) {
                let own = walk.taps() / gcd(walk.taps(), count);
                // As good as any number that is more than there are passes.
                group = (group / gcd(group, own)).saturating_mul(own).min(repeats + 1);
            }
        }
        let (groups, rest) = (repeats / group, repeats % group);
        if groups > 0 {
            let rounds = self.code.begin(groups);
            self.group(group)?;
            self.code.end(rounds);
        }
        self.group(rest)
    }

    fn group(&mut self, passes: u64) -> Result<(), Refusal> {
        for pass in 0..passes {
            for number in 0..self.spec.phases.len() {
                self.phase(number, pass)?;
            }
        }
        Ok(())
    }

    /// One pass through a phase.
    fn phase(&mut self, number: usize, pass: u64) -> Result<(), Refusal> {
        let phase: &Phase = &self.spec.phases[number];
        let counts = counts(phase);
        let steps: Vec<Step> = schedule(phase)
            .map(|turn| {
                let taps = self.walks[number][turn.entry].taps();
                let before = pass * counts[turn.entry] + u64::from(turn.index);
                Step { turn, tap: before % taps }
            })
            .collect();
        let in_flight = phase.in_flight.size();
        let before = |at: usize| at.checked_sub(in_flight).map(|at| steps[at].turn);
        let stretches = plan(&keys(phase, &steps));
        let written: usize = stretches.iter().map(|stretch| stretch.steps.len()).sum();
        for stretch in stretches {
            let rounds = self.code.begin(stretch.rounds);
            for at in stretch.steps {
                if self.code.written() > MAX_INSTRUCTIONS {
                    return Err(Refusal {
                        path: format!("phases.{number}.accesses"),
                        why: format!(
                            "the order of accesses, stores and neighbours does not repeat soon: the text would \
                             have {written} accesses of this phase, and more than {MAX_INSTRUCTIONS} instructions"
                        ),
                        hint: "shares such as 0.25, and smaller weights, repeat sooner",
                    });
                }
                if let Some(turn) = before(at) {
                    self.consume(number, &turn, (at - in_flight) as u32);
                }
                self.access(number, &steps[at], before(at).as_ref());
            }
            self.code.end(rounds);
        }
        // What is still under way is used, too.
        for (at, step) in (0..).zip(&steps).skip(steps.len().saturating_sub(in_flight)) {
            self.consume(number, &step.turn, at);
        }
        if phase.barrier {
            self.code.part(Part::Barrier);
            self.code.op("bar.sync 0");
        }
        Ok(())
    }

    fn guard(&self, access: &Access) -> String {
        let guard = self.guards.get(&access.lanes.get());
        guard.map_or(String::new(), |lane_takes_part| format!("@{lane_takes_part} "))
    }

    /// The words that an access has loaded.
    fn data(&mut self, number: usize, entry: usize, loaded: Source) -> Vec<Reg> {
        let access = &*self.spec.phases[number].mix[entry];
        let Slot { words, old } = self.slots[loaded.slot as usize];
        let count = access.width.size().div_ceil(4);
        if let Walk::Chase { chains, .. } = &self.walks[number][entry] {
            let in_flight = self.spec.phases[number].in_flight.get();
            return match chains[(loaded.index % in_flight) as usize] {
                address @ Reg::Wide(_) => vec![self.code.new_narrow("cvt.u32.u64", address)],
                link => std::iter::once(link).chain(words[1..count].iter().copied()).collect(),
            };
        }
        if matches!(loaded.kind, AccessKind::Atomic(_)) && count == 2 {
            self.code.op(format_args!("mov.b64 {{{}, {}}}, {old}", words[0], words[1]));
        }
        words[..count].to_vec()
    }

    /// Whether the words of an access say where something is.
    fn is_pointer(&self, at: Use) -> bool {
        self.arrays.all[self.arrays.of[at.phase][at.entry]].has_pointers(self.spec)
    }

    /// Uses the data of access `access_number` of a phase: folds them, and does the arithmetic.
    fn consume(&mut self, number: usize, turn: &Turn, access_number: u32) {
        let phase: &Phase = &self.spec.phases[number];
        let access = &*phase.mix[turn.entry];
        if turn.kind != AccessKind::Store {
            self.code.part(Part::Operand);
            let loaded = Source { slot: turn.slot, index: turn.index, kind: turn.kind };
            let at = Use { phase: number, entry: turn.entry };
            let is_pointer = self.is_pointer(at);
            let is_chased = self.arrays.all[self.arrays.of[number][turn.entry]].chase.is_some();
            if !is_pointer || phase.arithmetic.get() > 0 {
                let words = self.data(number, turn.entry, loaded);
                if !is_pointer {
                    self.code.part(Part::Checksum);
                    let (guard, sum) = (self.guard(access), self.checksum);
                    for word in &words {
                        self.code.op(format_args!("{guard}xor.b32 {sum}, {sum}, {word}"));
                    }
                }
                if phase.arithmetic.get() > 0 {
                    let is_plain = !is_chased && access.width.get() >= 4;
                    self.math.operand(&mut self.code, phase, turn.slot, &words, is_plain);
                }
            }
        }
        if phase.arithmetic.get() > 0 {
            self.math.write(&mut self.code, phase, turn.slot, access_number);
        }
    }

    /// Writes a memory instruction, and what makes its address. `before` is the access that it must wait for.
    fn access(&mut self, number: usize, step: &Step, before: Option<&Turn>) {
        let phase: &Phase = &self.spec.phases[number];
        let turn = &step.turn;
        let access = &*phase.mix[turn.entry];
        let walk = self.walks[number][turn.entry].clone();
        // The data that the address waits for.
        self.code.part(Part::Dependence);
        let before = before.filter(|turn| turn.kind != AccessKind::Store);
        let mut waits = Vec::new();
        if let Some(turn) = before {
            let loaded = Source { slot: turn.slot, index: turn.index, kind: turn.kind };
            // A chase alone waits for its own links.
            if !(matches!(walk, Walk::Chase { .. }) && phase.mix.len() == 1) {
                waits.push(self.data(number, turn.entry, loaded)[0]);
            }
        }
        let from_before = waits.first().copied();
        if let Some(source) = turn.source {
            let from = access.address_from.expect("there is a source").size();
            waits.push(self.data(number, from, source)[0]);
        }
        if let Walk::Chase { chains, link, node } = walk {
            let chain = chains[(turn.index % phase.in_flight.get()) as usize];
            return self.chase(number, turn, (chain, link, node), &waits);
        }
        self.code.part(Part::Address);
        let offset = walk.offset(&mut self.code, step.tap);
        let place = self.waiting(offset, &waits);
        let address = self.address(number, turn.entry, place);
        let guard = self.guard(access);
        let space = space(access);
        let slot = self.slots[turn.slot as usize];
        let words = slot.words.map(|word| word.to_string());
        // What is stored waits for the last result, or for what was loaded.
        let result = match phase.arithmetic.get() {
            _ if turn.kind == AccessKind::Load => None,
            0 => from_before,
            _ => {
                self.code.part(Part::Operand);
                Some(self.math.last(&mut self.code, phase))
            }
        };
        let code = &mut self.code;
        let width = access.width.get();
        let (vector, ty) = vector(width);
        match turn.kind {
            AccessKind::Load | AccessKind::LoadMatrix | AccessKind::Copy => {
                code.part(Part::Access);
                let (cache, to) =
                    (load_cache(access.cache), list(&words[..width.div_ceil(4) as usize]));
                code.op(format_args!("{guard}ld.{space}{cache}{vector}.{ty} {to}, [{address}]"));
            }
            AccessKind::Store => {
                let values = self.values(access, offset, result);
                let (cache, values) = (store_cache(access.cache), list(&values));
                self.code.part(Part::Access);
                self.code.op(format_args!(
                    "{guard}st.{space}{cache}{vector}.{ty} [{address}], {values}"
                ));
            }
            AccessKind::Atomic(_) => {
                code.part(Part::Operand);
                let zero = self.zero;
                let none = result.map_or(zero, |result| {
                    code.new_narrow("and.b32", format_args!("{result}, {zero}"))
                });
                if width == 4 {
                    code.part(Part::Access);
                    let to = &words[0];
                    code.op(format_args!("{guard}atom.{space}.add.u32 {to}, [{address}], {none}"));
                } else {
                    let none = code.new_wide("cvt.u64.u32", none);
                    code.part(Part::Access);
                    let to = slot.old;
                    code.op(format_args!("{guard}atom.{space}.add.u64 {to}, [{address}], {none}"));
                }
            }
        }
        self.code.part(Part::Address);
        walk.advance(&mut self.code, step.tap);
    }

    /// `value`, once all of `waits` are there.
    fn waiting(&mut self, value: Reg, waits: &[Reg]) -> Reg {
        self.code.part(Part::Dependence);
        let zero = self.zero;
        waits.iter().fold(value, |value, word| match value {
            // A sum with a product that is 0.
            Reg::Wide(_) => {
                self.code.new_wide("mad.wide.u32", format_args!("{word}, {zero}, {value}"))
            }
            _ => {
                self.code.new_narrow("lop3.b32", format_args!("{value}, {word}, {zero}, {XOR_AND}"))
            }
        })
    }

    /// The address of an offset.
    fn address(&mut self, number: usize, entry: usize, offset: Reg) -> Reg {
        let outer = self.code.part(Part::Address);
        let base = self.bases[self.arrays.of[number][entry]];
        let address = match (base, offset) {
            (Reg::Wide(_), Reg::Wide(_)) => {
                self.code.new_wide("add.u64", format_args!("{base}, {offset}"))
            }
            (Reg::Wide(_), _) => {
                let offset = self.code.new_wide("cvt.u64.u32", offset);
                self.code.new_wide("add.u64", format_args!("{base}, {offset}"))
            }
            _ => self.code.new_narrow("add.u32", format_args!("{base}, {offset}")),
        };
        self.code.part(outer);
        address
    }

    /// Writes a load of a chase.
    fn chase(
        &mut self,
        number: usize,
        turn: &Turn,
        (chain, link, node): (Reg, Link, u64),
        waits: &[Reg],
    ) {
        let access = &*self.spec.phases[number].mix[turn.entry];
        let waiting = self.waiting(chain, waits);
        self.code.part(Part::Address);
        let address = match link {
            Link::Pointer => waiting,
            Link::Offset => self.address(number, turn.entry, waiting),
            Link::Number => {
                let base = self.bases[self.arrays.of[number][turn.entry]];
                match (base, u32::try_from(node)) {
                    (Reg::Wide(_), Ok(node)) => self
                        .code
                        .new_wide("mad.wide.u32", format_args!("{waiting}, {node}, {base}")),
                    (Reg::Wide(_), Err(_)) => {
                        let waiting = self.code.new_wide("cvt.u64.u32", waiting);
                        self.code.new_wide("mad.lo.u64", format_args!("{waiting}, {node}, {base}"))
                    }
                    _ => self
                        .code
                        .new_narrow("mad.lo.u32", format_args!("{waiting}, {node}, {base}")),
                }
            }
        };
        self.code.part(Part::Access);
        let (guard, space, cache) = (self.guard(access), space(access), load_cache(access.cache));
        let words = self.slots[turn.slot as usize].words;
        let (vector, ty, to) = match (link, access.width.get()) {
            (Link::Pointer, 8) => ("", "u64", chain.to_string()),
            (Link::Pointer, _) => {
                (".v2", "u64", format!("{{{chain}, {}}}", self.slots[turn.slot as usize].old))
            }
            (_, width) => {
                let (vector, ty) = self::vector(width);
                let rest = &words[1..width.div_ceil(4) as usize];
                let to: Vec<String> =
                    std::iter::once(&chain).chain(rest).map(Reg::to_string).collect();
                (vector, ty, list(&to))
            }
        };
        self.code.op(format_args!("{guard}ld.{space}{cache}{vector}.{ty} {to}, [{address}]"));
    }

    /// The words that belong to an offset, once `result` is there.
    fn values(&mut self, access: &Access, offset: Reg, result: Option<Reg>) -> Vec<String> {
        let (salt, zero) = (self.salt, self.zero);
        let code = &mut self.code;
        code.part(Part::Operand);
        let low = match offset {
            Reg::Wide(_) => code.new_narrow("cvt.u32.u64", offset),
            _ => offset,
        };
        let salt = result.map_or(salt, |result| {
            code.new_narrow("lop3.b32", format_args!("{salt}, {result}, {zero}, {XOR_AND}"))
        });
        let word =
            code.new_narrow("lop3.b32", format_args!("{low}, {PLACE_BITS:#x}, {salt}, {AND_XOR}"));
        let width = access.width.get();
        if width < 4 {
            let byte = code.new_narrow("and.b32", format_args!("{low}, 3"));
            let bits = code.new_narrow("shl.b32", format_args!("{byte}, 3"));
            return vec![code.new_narrow("shr.u32", format_args!("{word}, {bits}")).to_string()];
        }
        // The offset is a multiple of the width: the words that follow differ in bits that it leaves 0.
        let others = (1..width / 4)
            .map(|number| code.new_narrow("xor.b32", format_args!("{word}, {}", 4 * number)));
        std::iter::once(word)
            .chain(others.collect::<Vec<_>>())
            .map(|word| word.to_string())
            .collect()
    }
}

/// Memory instructions of a phase by place in the mixture, in a pass.
pub fn counts(phase: &Phase) -> Vec<u64> {
    let mut counts = vec![0; phase.mix.len()];
    schedule(phase).for_each(|turn| counts[turn.entry] += 1);
    counts
}

/// A number for each instruction of a phase: equal numbers are equal text.
fn keys(phase: &Phase, steps: &[Step]) -> Vec<u32> {
    let in_flight = phase.in_flight.get();
    // Only a chase has a register for each chain.
    let chain = |entry: usize, index: u32| match phase.mix[entry].pattern {
        Pattern::Chase { .. } => index % in_flight,
        _ => 0,
    };
    let own = |turn: &Turn| (turn.entry, turn.kind, turn.slot, chain(turn.entry, turn.index));
    let mut known = HashMap::new();
    let keys = steps.iter().enumerate().map(|(at, Step { turn, tap })| {
        let before = at.checked_sub(in_flight as usize).map(|at| own(&steps[at].turn));
        let from = phase.mix[turn.entry].address_from.map_or(0, |from| from.size());
        let source =
            turn.source.map(|source| (source.slot, source.kind, chain(from, source.index)));
        let number = known.len() as u32;
        *known.entry((own(turn), *tap, source, before)).or_insert(number)
    });
    keys.collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn space(access: &Access) -> &'static str {
    match access.space {
        SyntheticSpace::Global => "global",
        SyntheticSpace::Shared => "shared",
    }
}

/// The vector and the type of an access of `width` bytes.
fn vector(width: u32) -> (&'static str, &'static str) {
    match width {
        1 => ("", "u8"),
        2 => ("", "u16"),
        4 => ("", "u32"),
        8 => (".v2", "u32"),
        _ => (".v4", "u32"),
    }
}

fn list(words: &[String]) -> String {
    match words {
        [one] => one.clone(),
        all => format!("{{{}}}", all.join(", ")),
    }
}

fn load_cache(hint: CacheHint) -> &'static str {
    match hint {
        CacheHint::Default => "",
        CacheHint::Global => ".cg",
        CacheHint::Streaming => ".cs",
        CacheHint::Volatile => ".cv",
        CacheHint::ReadOnly => ".nc",
    }
}

fn store_cache(hint: CacheHint) -> &'static str {
    match hint {
        CacheHint::Default | CacheHint::ReadOnly => "",
        CacheHint::Global => ".cg",
        CacheHint::Streaming => ".cs",
        CacheHint::Volatile => ".wt",
    }
}
