//! The first reading of a trace: the instructions of its kernel.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use super::head::Head;
use super::line::{Line, Static, ZERO};
use super::sass::{Address, Lanes, Place, opcode};
use super::text::{Item, Text};
use crate::error::Result;
use crate::isa::{
    ArithClass, Copies, Inst, Kernel, Op, Operands, Reg, Space, lanes, local_address,
};

/// A kernel, and what the second reading needs to know of it.
pub struct Code {
    /// The kernel.
    pub kernel: Kernel,
    /// CTAs of the grid, of which the trace may have fewer.
    pub grid: u64,
    /// By [`Line::code`] and PC: the instruction's place in the kernel.
    places: HashMap<String, u32>,
    /// By instruction that was met: which lanes have addresses.
    pub lanes: Vec<Lanes>,
    /// The windows of generic addresses, and the kernel's local memory.
    pub windows: Windows,
    /// Place of the exit that ends warps whose trace does not.
    pub exit: u32,
}

/// Where shared and local memory lie among generic addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Shared memory.
    pub shared: Range<u64>,
    /// Local memory.
    pub local: Range<u64>,
    /// The part of a thread's local memory that is accessed, whole units of 16 bytes, from the window's first byte.
    pub used: Range<u64>,
}

/// Bytes of a window. Source: the bases that the tracer gives lie 2^24 or 2^25 apart.
const WINDOW: u64 = 1 << 24;

impl Windows {
    fn new(head: &Head) -> Self {
        let window = |base: u64| match base {
            0 => 0..0,
            base => base..base.saturating_add(WINDOW),
        };
        let (shared, local) = (window(head.shared_base), window(head.local_base));
        Windows { shared, local, used: 0..0 }
    }

    /// The space that an address of an instruction means, and the address in it.
    pub fn place(&self, space: Space, address: u64) -> (Space, u64) {
        match space {
            Space::Generic if self.shared.contains(&address) => {
                (Space::Shared, address - self.shared.start)
            }
            Space::Generic if self.local.contains(&address) => {
                (Space::Local, address - self.local.start)
            }
            // Both are offsets, or generic.
            Space::Shared if self.shared.contains(&address) => (space, address - self.shared.start),
            Space::Local if self.local.contains(&address) => (space, address - self.local.start),
            _ => (space, address),
        }
    }

    /// Makes the used part of local memory reach over an access.
    fn use_local(&mut self, offset: u64, bytes: u8) {
        let (start, end) =
            (offset / 16 * 16, offset.saturating_add(bytes.into()).next_multiple_of(16));
        self.used = match self.used.is_empty() {
            true => start..end,
            false => self.used.start.min(start)..self.used.end.max(end),
        };
    }

    /// Where a byte of a lane's local memory lies, as [`local_address`] has it for what is used; `None` beyond that.
    pub fn local(&self, warp: u64, lane: usize, offset: u64) -> Option<u64> {
        let Range { start, end } = self.used;
        let offset = offset.checked_sub(start).filter(|offset| *offset < end - start)?;
        Some(local_address(warp, end - start, lane, offset))
    }
}

/// An instruction that was met.
struct Met {
    pc: u64,
    inst: Inst,
    lanes: Lanes,
    /// Whether a warp went on with what stands behind it.
    falls_through: bool,
}

/// Bytes of an instruction, at most: what goes on within that did not jump. Source: CUDA Binary Utilities.
const INST_BYTES: u64 = 16;

impl Code {
    /// Reads the trace at `path`.
    ///
    /// # Errors
    /// What gsim does not understand or simulate, with its line.
    pub fn read(path: &Path, buffers: &[Range<u64>]) -> Result<Self> {
        let mut text = Text::open(path)?;
        let head = text.head().clone();
        let mut windows = Windows::new(&head);
        let mut met: Vec<Met> = Vec::new();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut key = String::new();
        let mut last: Option<usize> = None;
        // The CTAs, by their numbers in the grid, and the lines that name them.
        let mut ctas: HashMap<u64, usize> = HashMap::new();
        while let Some(item) = text.next()? {
            if let Item::Begin(cta) = item
                && let Some(first) = ctas.insert(cta, text.line_number())
            {
                let place = head.place(cta);
                return Err(
                    text.wrong(format!("the CTA {place} is there twice, first in line {first}"))
                );
            }
            if item != Item::Instruction {
                last = None;
                continue;
            }
            let line = Line::parse(text.line(), head.has_lines).map_err(|why| text.wrong(why))?;
            write_key(&line, &mut key);
            let number = match numbers.get(&key) {
                Some(number) => *number,
                None => {
                    met.push(meet(&line).map_err(|why| text.wrong(why))?);
                    numbers.insert(key.clone(), met.len() - 1);
                    met.len() - 1
                }
            };
            if let Some(last) = last {
                let step = line.pc.checked_sub(met[last].pc);
                met[last].falls_through |=
                    step.is_some_and(|step| (1..=INST_BYTES).contains(&step));
            }
            last = Some(number);
            note_local(&line, &met[number].inst, &mut windows).map_err(|why| text.wrong(why))?;
        }
        if ctas.is_empty() {
            return Err(text.wrong("the trace has no CTA"));
        }
        Ok(Code::new(&head, ctas.len() as u64, met, numbers, windows, buffers))
    }

    fn new(
        head: &Head,
        ctas: u64,
        met: Vec<Met>,
        numbers: HashMap<String, usize>,
        windows: Windows,
        buffers: &[Range<u64>],
    ) -> Self {
        // In the order of their PCs, and of their first executions where functions have the same.
        let mut order: Vec<usize> = (0..met.len()).collect();
        order.sort_by_key(|number| met[*number].pc);
        let mut ranks = vec![0; met.len()];
        for (rank, number) in (0..).zip(&order) {
            ranks[*number] = rank;
        }
        let places = numbers.into_iter().map(|(key, number)| (key, ranks[number])).collect();
        let inst = |number: &usize| {
            let Met { inst, falls_through, .. } = &met[*number];
            let mut inst = inst.clone();
            if inst.op == Op::Arith(ArithClass::Branch) && !falls_through {
                inst.op = Op::Arith(ArithClass::Control);
            }
            inst
        };
        let mut insts: Vec<Inst> = order.iter().map(inst).collect();
        // One of the kernel's own that waits for nothing, or one more.
        let is_exit = |inst: &Inst| inst.op == Op::Exit && inst.srcs.as_slice().is_empty();
        let exit = insts.iter().rposition(is_exit).unwrap_or(insts.len());
        if exit == insts.len() {
            insts.push(Inst::bare(Op::Exit));
        }
        let sides = insts.iter().flat_map(|inst| [inst.dsts.as_slice(), inst.srcs.as_slice()]);
        let regs = sides.flatten().max().copied();
        let threads: u32 = head.block.iter().product();
        let kernel = Kernel {
            name: head.name.clone(),
            insts,
            regs: regs.map_or(0, |last| last + 1),
            registers_per_thread: head.registers,
            shared_bytes: head.shared,
            local_bytes: (windows.used.end - windows.used.start) as u32,
            cta_threads: threads,
            ctas,
            buffers: buffers.to_vec(),
            overlaps_next: false,
        };
        let lanes = order.iter().map(|number| met[*number].lanes).collect();
        Code { kernel, grid: head.ctas(), places, lanes, windows, exit: exit as u32 }
    }

    /// The place of a line's instruction. `key` is storage.
    pub fn place(&self, line: &Line, key: &mut String) -> Option<u32> {
        write_key(line, key);
        self.places.get(key.as_str()).copied()
    }
}

/// What makes an instruction what it is.
fn write_key(line: &Line, key: &mut String) {
    use std::fmt::Write as _;
    key.clear();
    // Functions of one kernel may have the same PCs. Every width is one that `meet` has seen.
    let _ = write!(key, "{:x} {} {}", line.pc, line.width, line.code);
    if line.code.contains("DEPBAR") {
        let _ = write!(key, " {:?}", line.immediate());
    }
}

/// An instruction that was not met before.
fn meet(line: &Line) -> Result<Met, String> {
    let Static { mut dsts, opcode: text, mut srcs } = Static::parse(line.code)?;
    let known = opcode(text)?;
    let mut op = known.op;
    if matches!(op, Op::Memory(_)) {
        match line.width {
            0 => return Err(format!("{text} without addresses")),
            // The opcode says how wide an access is, but no tracer writes another one than these.
            1 | 2 | 4 | 8 | 16 => {}
            width => {
                return Err(format!(
                    "{text} of {width} bytes, where 1, 2, 4, 8 and 16 are possible"
                ));
            }
        }
    }
    // Copies are committed to a scoreboard, of which no more than so many groups may be under way.
    if text.starts_with("LDGDEPBAR") {
        op = Op::Copies(Copies::Commit);
    } else if text.starts_with("DEPBAR")
        && let Some(left) = line.immediate()
    {
        op = Op::Copies(Copies::WaitGroups(u8::try_from(left).unwrap_or(u8::MAX)));
    }
    if known.hides_result && dsts.is_empty() && !srcs.is_empty() {
        dsts.push(srcs.remove(0));
    }
    let mut inst = Inst { line: line.source, ..Inst::bare(op) };
    for dst in dsts {
        fill(&mut inst.dsts, (dst, known.dsts, 1), text)?;
    }
    let last = srcs.len().saturating_sub(1);
    for (number, src) in srcs.into_iter().enumerate() {
        let is_address = |address: &Address| match address.place {
            Place::First => number == 0,
            Place::Last => number == last,
        };
        let count = match known.address.filter(is_address) {
            Some(address) => address.regs,
            // What a wide product is added to is as wide.
            None if op == Op::Arith(ArithClass::IntMulWide) && number == 2 => 2,
            None => match known.factors {
                Some(factors) => factors.get(number).copied().unwrap_or(1),
                None => known.srcs,
            },
        };
        fill(&mut inst.srcs, (src, count, known.apart), text)?;
    }
    if known.reads {
        inst.reads = inst.srcs.as_slice().len() as u8;
    }
    Ok(Met { pc: line.pc, inst, lanes: known.lanes, falls_through: false })
}

/// Adds `count` registers from `first` on to one side of an instruction, each so many behind the one before; none for the zero
/// register.
fn fill<const MOST: usize>(
    side: &mut Operands<MOST>,
    (first, count, apart): (u8, u8, u8),
    text: &str,
) -> Result<(), String> {
    if first == ZERO {
        return Ok(());
    }
    for number in 0..count {
        let reg = Reg::from(first) + Reg::from(apart) * Reg::from(number);
        if side.is_full() && !side.as_slice().contains(&reg) {
            return Err(format!("{text} names more registers than an instruction has"));
        }
        side.add(reg);
    }
    Ok(())
}

/// Notes what part of local memory an instruction accesses.
fn note_local(line: &Line, inst: &Inst, windows: &mut Windows) -> Result<(), String> {
    let Op::Memory(op) = inst.op else { return Ok(()) };
    if !matches!(op.space, Space::Local | Space::Generic) {
        return Ok(());
    }
    let addresses = line.addresses()?;
    for lane in lanes(line.mask) {
        if let (Space::Local, offset) = windows.place(op.space, addresses[lane]) {
            if offset >= WINDOW {
                return Err(format!("local memory at 0x{offset:x}"));
            }
            windows.use_local(offset, op.bytes);
        }
    }
    Ok(())
}
