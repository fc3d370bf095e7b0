//! Modules and launches.

use std::borrow::BorrowMut;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::ast::Ast;
use super::exec::{Checks, CtaState, Fault, LIMIT_REACHED, Place};
use super::lower::{lower, read_value};
use super::parser::parse;
use super::program::{Constant, ConstantRow, Global, Program, Special};
use crate::config::kernel::DEFAULT_LIMIT;
use crate::config::machine::InstructionSet;
use crate::error::{Error, Result};
use crate::isa::{Cta, CtaSource, Kernel, WARP, WARPGROUP};
use crate::units::{MAX_CTA_THREADS, MAX_GRID};
use crate::workload::{Arg, Buffer, DeviceMemory, Launch, PtxSource};

/// A parsed module. Its entries are decoded when they are first launched, and only once.
#[derive(Debug)]
pub struct Module {
    pub(super) path: PathBuf,
    pub(super) ast: Ast,
    /// For each entry, as it is for machines that issue the text, and for those that issue machine code.
    programs: Vec<[OnceLock<Result<Arc<Program>>>; 2]>,
}

impl Module {
    /// Parses a module. Entries that gsim cannot execute are no error until they are launched.
    pub fn parse(source: &PtxSource) -> Result<Module> {
        let ast = parse(&source.text, &source.path)?;
        let mut module = Module { path: source.path.clone(), ast, programs: Vec::new() };
        module.forget_programs();
        Ok(module)
    }

    /// Lets every entry be decoded anew when it is next launched.
    pub(super) fn forget_programs(&mut self) {
        self.programs = self.ast.entries.iter().map(|_| [const { OnceLock::new() }; 2]).collect();
    }

    /// Names of the entries, in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.ast.entries.iter().map(|entry| entry.name.as_str())
    }

    /// How many parameters an entry has.
    pub fn parameters(&self, name: &str) -> Result<usize> {
        Ok(self.program(name)?.params.len())
    }

    /// The decoded entry of that name, for machines that issue the text.
    pub(super) fn program(&self, name: &str) -> Result<Arc<Program>> {
        self.program_for(name, InstructionSet::Ptx)
    }

    /// The decoded entry of that name.
    pub(super) fn program_for(&self, name: &str, set: InstructionSet) -> Result<Arc<Program>> {
        let Some(index) = self.ast.entries.iter().position(|entry| entry.name == name) else {
            let known: Vec<&str> = self.entries().take(8).collect();
            let has = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(Error::input(format!("there is no entry `{name}`"))
                .in_file(&self.path)
                .hint(format!("the module has: {has}")));
        };
        let place = match set {
            InstructionSet::Ptx => 0,
            InstructionSet::Sass => 1,
        };
        self.programs[index][place]
            .get_or_init(|| {
                lower(&self.ast.entries[index], &self.ast, &self.path, set).map(Arc::new)
            })
            .clone()
    }

    /// Prepares a launch; nothing executes before the first CTA is asked for. Buffers of `memory`
    /// hold the launch's results when its last CTA has been handed out. Streams hold the instructions of the text.
    pub fn launch<M: BorrowMut<DeviceMemory>>(
        &self,
        launch: &Launch,
        memory: M,
    ) -> Result<PtxLaunch<M>> {
        self.launch_for(launch, memory, InstructionSet::Ptx)
    }

    /// As [`Module::launch`], with streams of the instructions that a machine of that set issues.
    pub fn launch_for<M: BorrowMut<DeviceMemory>>(
        &self,
        launch: &Launch,
        mut memory: M,
        set: InstructionSet,
    ) -> Result<PtxLaunch<M>> {
        let (program, kernel, state) = self.prepare(launch, memory.borrow_mut(), set)?;
        Ok(PtxLaunch {
            limit: DEFAULT_LIMIT,
            path: self.path.clone(),
            state,
            program,
            kernel,
            grid: launch.grid,
            block: launch.block,
            next: Place::default(),
            executed: 0,
            memory,
        })
    }

    /// What a launch is, and the state in which it begins.
    fn prepare(
        &self,
        launch: &Launch,
        memory: &mut DeviceMemory,
        set: InstructionSet,
    ) -> Result<(Arc<Program>, Kernel, CtaState)> {
        let program = self.program_for(&launch.entry, set)?;
        let threads = self.check_shape(&program, launch)?;
        let params = self.params(&program, &launch.args)?;
        let shared_bytes = program
            .shared_bytes
            .checked_add(launch.dynamic_shared)
            .filter(|bytes| *bytes <= 1 << 24)
            .ok_or_else(|| self.wrong(&program, "dynamic shared memory is out of all measure"))?;
        let [gx, gy, gz] = launch.grid.map(u64::from);
        let kernel = Kernel {
            name: program.name.clone(),
            insts: program.issued.insts.clone(),
            regs: program.issued.regs,
            registers_per_thread: program.registers_per_thread,
            shared_bytes,
            local_bytes: program.local_bytes,
            cta_threads: threads,
            ctas: gx * gy * gz,
            buffers: memory.ranges().collect(),
            overlaps_next: false,
        };
        let known = memory.buffers().len();
        let globals: Vec<Buffer> =
            program.globals.iter().map(|global| self.place_global(global, memory)).collect();
        // Addresses come in order: the variables placed now lie behind the buffers there were.
        let new = memory.buffers().get(known).map_or(u64::MAX, |(_, buffer)| buffer.address);
        let mut consts = program.consts.clone();
        patch(&program, &globals, new, &mut consts, memory);
        consts.resize(program.param_start as usize, 0);
        consts.extend_from_slice(&params);
        let value = |constant: &ConstantRow, thread: u32| match constant.value {
            Constant::Global { index, offset } => {
                globals[index as usize].address.wrapping_add(offset)
            }
            Constant::Bits(bits) => bits,
            // Written when the function is called.
            Constant::Frame { .. } => 0,
            Constant::Param { offset, ty } => read_value(&params[offset as usize..], ty),
            Constant::Special(special) => {
                special_value(special, launch, thread, threads, shared_bytes)
            }
        };
        let axis = |constant: &ConstantRow| match constant.value {
            Constant::Special(Special::Ctaid(axis)) => Some(usize::from(axis)),
            _ => None,
        };
        let state = CtaState::new(&program, threads, shared_bytes, consts, value, axis);
        Ok((program, kernel, state))
    }

    /// The address of a variable. The first launch that uses it makes a buffer of it, which later
    /// launches of the module find again by its name, and its place in the text where blocks may have others of that name.
    fn place_global(&self, global: &Global, memory: &mut DeviceMemory) -> Buffer {
        let inner = global.inner.map(|at| format!(":{}:{}", at.line, at.column));
        let place = inner.unwrap_or_default();
        let name = format!("{}{place}: {}", self.path.display(), global.name);
        let mut known = memory.buffers().iter();
        if let Some((_, buffer)) =
            known.find(|(known, buffer)| *known == name && buffer.bytes == global.bytes)
        {
            return *buffer;
        }
        let buffer = memory.allocate_variable(name, global.bytes);
        memory.of_mut(buffer)[..global.init.len()].copy_from_slice(&global.init);
        buffer
    }

    fn wrong(&self, program: &Program, message: impl std::fmt::Display) -> Error {
        Error::input(format!("launch of `{}`: {message}", program.name)).in_file(&self.path)
    }

    fn check_shape(&self, program: &Program, launch: &Launch) -> Result<u32> {
        let [x, y, z] = launch.block.map(u64::from);
        let threads = x.saturating_mul(y).saturating_mul(z);
        if launch.grid.contains(&0) || threads == 0 {
            return Err(self.wrong(program, "grid and block must not be zero in any direction"));
        }
        if launch.grid.iter().zip(MAX_GRID).any(|(size, most)| *size > most) {
            let most = MAX_GRID.map(|most| most.to_string()).join(" x ");
            return Err(self.wrong(program, format!("a grid has at most {most} CTAs")));
        }
        if threads > MAX_CTA_THREADS {
            let message =
                format!("{threads} threads in a CTA, where {MAX_CTA_THREADS} are the most");
            return Err(self.wrong(program, message));
        }
        if program.max_threads.is_some_and(|most| threads > most) {
            let message = format!("{threads} threads in a CTA, which `.maxntid` forbids");
            return Err(self.wrong(program, message));
        }
        if program.required_threads.is_some_and(|required| required != [x, y, z]) {
            return Err(self.wrong(program, "the block is not what `.reqntid` asks for"));
        }
        let of_warpgroup = (WARP * WARPGROUP) as u64;
        if !program.group_products.is_empty() && !threads.is_multiple_of(of_warpgroup) {
            let message = format!(
                "{threads} threads in a CTA, which are no whole warpgroups of {of_warpgroup}: `wgmma` needs these"
            );
            return Err(self.wrong(program, message));
        }
        Ok(threads as u32)
    }

    /// The parameter block.
    fn params(&self, program: &Program, args: &[Arg]) -> Result<Vec<u8>> {
        let params = &program.params;
        if params.len() != args.len() {
            let message = format!("{} arguments for {} parameters", args.len(), params.len());
            return Err(self.wrong(program, message));
        }
        let size = params.last().map_or(0, |param| param.offset + param.bytes);
        let mut block = vec![0; size as usize];
        for (index, (param, arg)) in params.iter().zip(args).enumerate() {
            let given = arg.bytes();
            let bytes = given.len();
            if param.bytes as usize != bytes {
                let message = format!(
                    "argument {index} has {bytes} bytes, but parameter `{}` has {}",
                    param.name, param.bytes
                );
                return Err(self.wrong(program, message));
            }
            let start = param.offset as usize;
            block[start..start + bytes].copy_from_slice(&given);
        }
        Ok(block)
    }
}

/// Writes the addresses that initial values hold: into constant memory, and into the variables from `new` on,
/// whose initial values no kernel has changed.
fn patch(
    program: &Program,
    globals: &[Buffer],
    new: u64,
    consts: &mut [u8],
    memory: &mut DeviceMemory,
) {
    for patch in &program.patches {
        let address = match patch.value {
            Constant::Global { index, offset } => {
                globals[index as usize].address.wrapping_add(offset)
            }
            Constant::Bits(bits) => bits,
            _ => continue,
        };
        let bytes = (address >> patch.shift).to_le_bytes();
        let (start, length) = (patch.start as usize, usize::from(patch.bytes));
        let place = match patch.global {
            Some(index) if globals[index as usize].address < new => continue,
            Some(index) => &mut memory.of_mut(globals[index as usize])[start..][..length],
            None => &mut consts[start..][..length],
        };
        place.copy_from_slice(&bytes[..length]);
    }
}

fn special_value(special: Special, launch: &Launch, thread: u32, threads: u32, shared: u32) -> u64 {
    let lane = thread % WARP as u32;
    let [x, y, _] = launch.block;
    let value = match special {
        Special::Tid(0) => thread % x,
        Special::Tid(1) => thread / x % y,
        Special::Tid(_) => thread / x / y,
        Special::Ntid(axis) => launch.block[usize::from(axis)],
        Special::Nctaid(axis) => launch.grid[usize::from(axis)],
        // Differs from CTA to CTA: filled in when one starts.
        Special::Ctaid(_) => 0,
        Special::LaneId => lane,
        Special::WarpId => thread / WARP as u32,
        Special::WarpCount => threads.div_ceil(WARP as u32),
        Special::MaskEq => 1 << lane,
        Special::MaskLt => (1 << lane) - 1,
        Special::MaskLe => !0 >> (31 - lane),
        Special::MaskGt => !(!0 >> (31 - lane)),
        Special::MaskGe => !((1 << lane) - 1),
        Special::Fixed(value) => value,
        Special::SharedBytes { dynamic: true } => launch.dynamic_shared,
        Special::SharedBytes { dynamic: false } => shared,
    };
    u64::from(value)
}

/// A launch under way, on memory of its own or lent to it: executes a CTA each time one is asked for.
#[derive(Debug)]
pub struct PtxLaunch<M = DeviceMemory> {
    /// Warp instructions that the launch may execute; reaching it is an error, so that a kernel
    /// that never ends does.
    pub limit: u64,
    path: PathBuf,
    program: Arc<Program>,
    kernel: Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    state: CtaState,
    next: Place,
    executed: u64,
    memory: M,
}

impl<M: BorrowMut<DeviceMemory>> PtxLaunch<M> {
    /// Device memory as it is after the CTAs handed out so far.
    pub fn memory(&self) -> &DeviceMemory {
        self.memory.borrow()
    }

    /// The same, at the launch's end.
    pub fn into_memory(self) -> M {
        self.memory
    }

    /// Decides what stops the launch; everything that can be checked does unless this says otherwise. To be
    /// called before the first CTA.
    pub fn check(&mut self, checks: Checks) {
        self.state.set_checks(checks);
    }

    /// How often a warp has called `printf` so far. Nothing is printed.
    pub fn prints(&self) -> u64 {
        self.state.prints()
    }

    /// Warp instructions executed so far.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    #[cold]
    fn error(&self, place: Place, fault: &Fault) -> Error {
        let thread = fault.warp * WARP as u32 + fault.lane;
        let [x, y, _] = self.block;
        let [cx, cy, cz] = place.at;
        let (what, hint) = match fault.message.strip_prefix(LIMIT_REACHED) {
            Some(rest) => (
                format!("{LIMIT_REACHED} of {}{rest}", self.limit),
                Some(
                    "raise instruction_limit of the workload if it is to run so long; what spins until \
                     another warp does something never ends"
                        .to_owned(),
                ),
            ),
            None => (fault.message.clone(), None),
        };
        let message = format!(
            "kernel `{}`, CTA ({cx},{cy},{cz}), thread ({},{},{}): {}",
            self.program.name,
            thread % x,
            thread / x % y,
            thread / x / y,
            what
        );
        let line = self.program.insts[fault.pc as usize].line;
        Error::input(message).hinted(hint).at(&self.path, line as usize, 1)
    }
}

impl<M: BorrowMut<DeviceMemory> + Send> CtaSource for PtxLaunch<M> {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        if self.next.number == self.kernel.ctas {
            return Ok(false);
        }
        let place = self.next;
        let limit = self.limit.saturating_sub(self.executed);
        let mut budget = limit;
        self.state
            .run(&self.program, place, self.memory.borrow_mut(), &mut budget, cta)
            .map_err(|fault| self.error(place, &fault))?;
        self.executed += limit - budget;
        self.next.number += 1;
        for (at, size) in self.next.at.iter_mut().zip(self.grid) {
            *at += 1;
            if *at < size {
                break;
            }
            *at = 0;
        }
        Ok(true)
    }
}
