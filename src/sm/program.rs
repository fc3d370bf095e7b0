//! A kernel's instructions, decoded for one machine.

use std::ops::Range;

use super::constants::{self, Bank};
use super::lanes::LaneOp;
use crate::config::machine::{
    Arithmetic, Forwarding, IntProducts, OpTiming, SmConfig, TensorCores,
};
use crate::isa::{
    ArithClass, BulkCopy, Copies, Fence, Inst, Kernel, MAX_RESULTS, MAX_SOURCES, Mbarrier,
    MemoryOp, Observer, Op, Operands, Reg, Warpgroup,
};

/// What an instruction needs in order to issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// A single-precision pipeline.
    Sp,
    /// An integer pipeline.
    Int,
    /// A special-function pipeline.
    Sfu,
    /// A double-precision pipeline.
    Dp,
    /// A tensor core.
    Tensor,
    /// The load/store unit.
    Memory,
    /// Nothing.
    None,
}

impl Port {
    /// How many.
    pub const COUNT: usize = Port::None as usize + 1;

    /// The ports of pipelines, in the order of their numbers.
    pub const ARITHMETIC: [Port; 5] = [Port::Sp, Port::Int, Port::Sfu, Port::Dp, Port::Tensor];
}

/// What happens when an instruction issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its results are ready after the latency.
    Compute {
        /// [core cycles]
        latency: u16,
        /// Cycles that its pipeline is taken.
        interval: u8,
        /// How long the warp's next instruction waits.
        hold: Hold,
    },
    /// It reads a line of the constant bank, the one of this number.
    Constant {
        /// As [`Bank`] counts them.
        line: u16,
        /// Where the line is there [core cycles].
        latency: u16,
        /// Cycles that its pipeline is taken.
        interval: u8,
    },
    /// It goes to the load/store unit.
    Memory(MemoryOp),
    /// It goes there, and has no addresses.
    Shuffle,
    /// It looks across lanes.
    AcrossLanes(LaneOp),
    /// It waits for other warps of its CTA.
    Barrier {
        /// Registers that say which barrier it is and how many threads come.
        registers: u8,
    },
    /// It arrives at an mbarrier, or waits there.
    Mbarrier(Mbarrier),
    /// It orders the warp's accesses.
    Fence(FenceAction),
    /// It divides the warp's asynchronous copies, or waits for them.
    Copies(Copies),
    /// The same of bulk copies to global memory.
    BulkGroups(Copies),
    /// It begins bulk copies.
    Bulk(BulkCopy),
    /// It is about products of its warpgroup.
    Warpgroup(Warpgroup),
    /// It ends lanes.
    Exit,
}

/// What a fence does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FenceAction {
    /// It waits for all of the warp's accesses, not for its loads alone.
    pub release: bool,
    /// What the L1 holds is old from then on.
    pub acquire: bool,
    /// What it takes when the accesses are done [core cycles].
    pub latency: u16,
}

/// How long an instruction keeps its warp from issuing the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// One cycle.
    No,
    /// Its latency: a jump.
    Latency,
    /// Its latency, or the time of a branch that is not taken when the next instruction is the one behind it.
    Branch,
    /// Until its lanes have met.
    Converge,
    /// Until the results of its block are there.
    BlockEnd,
}

/// Who made a register's value, as the one who reads it sees it: a pipeline, by its number, or memory.
pub type Maker = u8;

/// Values from memory, and those that are there from the start.
pub const FROM_MEMORY: Maker = Port::ARITHMETIC.len() as Maker;

/// A cycle of a register file has two to this power parts.
pub const READ_BITS: u32 = 6;

/// Makers; a power of two.
pub const MAKERS: usize = 8;

/// Who needs a register: a pipeline, the load/store unit, others, a guard or branch, or who overwrites it. A power of two.
const READERS: usize = OVERWRITER + 1;
const GUARD: usize = Port::None as usize + 1;
const OVERWRITER: usize = GUARD + 1;

/// What a value takes in addition to its latency, by reader and maker [core cycles].
#[derive(Clone, Copy, Debug, Default)]
pub struct Delays {
    by_reader: [[u8; MAKERS]; READERS],
    /// Some value takes more to some reader.
    any: bool,
}

impl Delays {
    fn new(forwarding: &Forwarding) -> Self {
        let [unlike, special, double, predicate] =
            [forwarding.unlike, forwarding.special, forwarding.double, forwarding.predicate]
                .map(|cycles| cycles.get() as u8);
        let mut delays = Delays::default();
        let [sp, int, sfu, dp, _] = Port::ARITHMETIC.map(|port| port as usize);
        for (reader, maker) in [(sp, int), (int, sp)] {
            delays.by_reader[reader][maker] = unlike;
        }
        for maker in [sp, int] {
            delays.by_reader[sfu][maker] = special;
        }
        for reader in [sp, int, sfu] {
            delays.by_reader[reader][dp] = double;
        }
        for maker in [sp, int, dp] {
            delays.by_reader[GUARD][maker] = predicate;
        }
        delays.any = delays.by_reader.as_flattened().iter().any(|delay| *delay > 0);
        delays
    }

    /// The delays of a reader by maker.
    #[inline]
    pub fn of(&self, reader: u8) -> &[u8; MAKERS] {
        &self.by_reader[usize::from(reader) % READERS]
    }

    /// True when some value takes more to some reader.
    #[inline]
    pub fn any(&self) -> bool {
        self.any
    }
}

/// One instruction, decoded. What most of them need to say is in one line of the processor's caches.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Decoded {
    /// What it needs.
    pub port: Port,
    /// A warp that has gone on behind a barrier waits for it here.
    pub stops_behind_barrier: bool,
    /// For how long it takes the register file of its scheduler [a cycle's parts]; 0 for none, or where that is never short.
    pub reads: u16,
    need_count: u8,
    /// What it does.
    pub action: Action,
    /// Registers it writes.
    pub dsts: Operands,
    needs: [Need; MOST_NEEDS],
}

/// The most registers that an instruction names.
const MOST_NEEDS: usize = MAX_RESULTS + MAX_SOURCES;

/// A register that must be ready before an instruction issues.
#[derive(Clone, Copy, Debug, Default)]
pub struct Need {
    /// The register.
    pub reg: Reg,
    /// Who needs it, as [`Delays::of`] takes it.
    pub reader: u8,
}

impl Decoded {
    /// Registers that must be ready before it issues: the guard, what it reads, what it writes.
    #[inline]
    pub fn needs(&self) -> &[Need] {
        &self.needs[..usize::from(self.need_count)]
    }
}

/// A kernel, decoded, or several that run at the same time, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Instructions by place.
    pub insts: Box<[Decoded]>,
    /// Registers that they name: all are below this.
    pub regs: usize,
    /// Lines of the constant bank that they read.
    pub constant_lines: usize,
    /// What values take to unlike readers.
    pub delays: Delays,
    /// Addresses of the buffers, in order.
    pub buffers: Vec<Range<u64>>,
}

/// Pipeline and time of a class.
pub(super) fn timing(arithmetic: &Arithmetic, class: ArithClass) -> (Port, OpTiming) {
    let int = if arithmetic.int_units.get() == 0 { Port::Sp } else { Port::Int };
    let product = match arithmetic.int_products {
        IntProducts::IntUnits => int,
        IntProducts::SpUnits => Port::Sp,
    };
    let dp = if arithmetic.dp_units.get() == 0 { Port::Sfu } else { Port::Dp };
    match class {
        ArithClass::Move => (int, arithmetic.move_),
        ArithClass::IntAdd => (int, arithmetic.int_add),
        ArithClass::IntMul => (product, arithmetic.int_mul),
        ArithClass::IntMad => (product, arithmetic.int_mad),
        ArithClass::IntMulWide => (product, arithmetic.int_mul_wide),
        ArithClass::IntDiv => (int, arithmetic.int_div),
        ArithClass::Uniform => (int, arithmetic.uniform),
        ArithClass::ToUniform => (int, arithmetic.to_uniform),
        ArithClass::FpAdd => (Port::Sp, arithmetic.fp_add),
        ArithClass::FpCompare => (int, arithmetic.int_add),
        ArithClass::FpMul => (Port::Sp, arithmetic.fp_mul),
        ArithClass::FpFma => (Port::Sp, arithmetic.fp_fma),
        ArithClass::FpDiv => (Port::Sp, arithmetic.fp_div),
        ArithClass::Half | ArithClass::HalfTensor => match (arithmetic.tensor, class) {
            (TensorCores::Absent, _) => (Port::Sp, arithmetic.fp_fma),
            (TensorCores::Present(times), ArithClass::Half) => (product, times.half),
            (TensorCores::Present(times), _) => (Port::Tensor, times.half_tensor),
        },
        ArithClass::DpAdd => (dp, arithmetic.dp_add),
        ArithClass::DpMul => (dp, arithmetic.dp_mul),
        ArithClass::DpFma => (dp, arithmetic.dp_fma),
        ArithClass::DpDiv => (dp, arithmetic.dp_div),
        ArithClass::Sfu => (Port::Sfu, arithmetic.sfu),
        ArithClass::SfuPair => (Port::Sfu, arithmetic.sfu_pair),
        ArithClass::Vote => (int, arithmetic.int_add),
        ArithClass::Control | ArithClass::Branch | ArithClass::Converge => {
            (int, arithmetic.control)
        }
        product => (Port::Tensor, tensor(arithmetic.tensor, product)),
    }
}

/// The time of a class of matrix products; that of no machine where there are no tensor cores, for which no kernel starts that has
/// any.
fn tensor(cores: TensorCores, class: ArithClass) -> OpTiming {
    let TensorCores::Present(times) = cores else { return OpTiming::LEAST };
    match class {
        ArithClass::MmaHalf => times.mma_half,
        ArithClass::MmaSmall => times.mma_small,
        ArithClass::DpMmaSmall => times.dp_mma_small,
        ArithClass::DpMma4 => times.dp_mma_4,
        ArithClass::DpMma8 => times.dp_mma_8,
        ArithClass::DpMma16 => times.dp_mma_16,
        _ => times.mma,
    }
}

impl Program {
    /// Decodes `kernel` for a machine.
    pub fn new(kernel: &Kernel, config: &SmConfig) -> Self {
        let arithmetic = &config.arithmetic;
        let bank = Bank::new(config.constants, &kernel.insts);
        let register_reads = Some(arithmetic.register_reads.get()).filter(|reads| *reads > 0);
        let decode = |inst: &Inst| {
            let (port, action) = match inst.op {
                Op::Arith(ArithClass::Shuffle) => (Port::Memory, Action::Shuffle),
                Op::Arith(ArithClass::MatchAll) => {
                    (Port::None, Action::AcrossLanes(LaneOp::MatchAll))
                }
                Op::Arith(ArithClass::Reduce) => (Port::None, Action::AcrossLanes(LaneOp::Reduce)),
                Op::Arith(class) => {
                    let (port, OpTiming { latency, interval }) = timing(arithmetic, class);
                    let constant =
                        bank.as_ref().and_then(|bank| bank.action(inst, interval.get() as u8));
                    let hold = match class {
                        ArithClass::Control => Hold::Latency,
                        ArithClass::Branch => Hold::Branch,
                        ArithClass::Converge => Hold::Converge,
                        _ if inst.ends_block => Hold::BlockEnd,
                        _ => Hold::No,
                    };
                    let (latency, interval) = (latency.get() as u16, interval.get() as u8);
                    (port, constant.unwrap_or(Action::Compute { latency, interval, hold }))
                }
                Op::Memory(op) => (Port::Memory, Action::Memory(op)),
                Op::Match => (Port::None, Action::AcrossLanes(LaneOp::Match)),
                Op::Barrier => {
                    // A reduction reads a predicate as well.
                    let is_guard = |reg: &&Reg| Some(**reg) == inst.guard;
                    let others = inst.srcs.as_slice().iter().filter(|reg| !is_guard(reg)).count();
                    let registers = others.saturating_sub(inst.dsts.as_slice().len()) as u8;
                    (Port::None, Action::Barrier { registers })
                }
                Op::Mbarrier(mbarrier) => (Port::None, Action::Mbarrier(mbarrier)),
                Op::Fence(Fence { release, acquire }) => {
                    let latency = match release {
                        None => 0,
                        Some(Observer::Gpu) => config.fences.gpu.get(),
                        Some(Observer::System) => config.fences.system.get(),
                    };
                    let (release, latency) = (release.is_some(), latency as u16);
                    (Port::None, Action::Fence(FenceAction { release, acquire, latency }))
                }
                Op::Copies(copies) if copies.are_bulk() => (Port::None, Action::BulkGroups(copies)),
                Op::Copies(copies) => (Port::None, Action::Copies(copies)),
                Op::Bulk(kind) => (Port::None, Action::Bulk(kind)),
                Op::Warpgroup(what) => (Port::None, Action::Warpgroup(what)),
                Op::Exit => (Port::None, Action::Exit),
            };
            // What they read are predicates, and members and numbers of barriers that are mostly there long before.
            let reads_predicates = match inst.op {
                Op::Exit => true,
                Op::Barrier => !inst.dsts.as_slice().is_empty(),
                Op::Arith(class) => {
                    matches!(class, ArithClass::Control | ArithClass::Branch | ArithClass::Vote)
                }
                _ => false,
            };
            let guard = inst.guard.filter(|guard| inst.srcs.as_slice().contains(guard));
            let others = inst.srcs.as_slice().iter().filter(|reg| Some(**reg) != guard);
            let reader = if reads_predicates { GUARD } else { port as usize };
            let need = |reader: usize| move |&reg: &Reg| Need { reg, reader: reader as u8 };
            let reads = guard.iter().map(need(GUARD)).chain(others.map(need(reader)));
            let all = reads.chain(inst.dsts.as_slice().iter().map(need(OVERWRITER)));
            let mut needs = [Need::default(); MOST_NEEDS];
            let need_count = needs.iter_mut().zip(all).map(|(place, need)| *place = need).count();
            let is_arithmetic = matches!(
                action,
                Action::Compute { hold: Hold::No | Hold::BlockEnd, .. }
                    | Action::Constant { .. }
                    | Action::AcrossLanes(_)
            );
            Decoded {
                port,
                action,
                stops_behind_barrier: !is_arithmetic,
                dsts: inst.dsts,
                reads: register_reads.map_or(0, |most| {
                    (u64::from(inst.reads) << READ_BITS).div_ceil(most.into()) as u16
                }),
                needs,
                need_count: need_count as u8,
            }
        };
        Program {
            insts: kernel.insts.iter().map(decode).collect(),
            regs: usize::from(kernel.regs),
            constant_lines: bank.as_ref().map_or(0, Bank::lines),
            delays: Delays::new(&arithmetic.forwarding),
            buffers: kernel.buffers.clone(),
        }
    }

    /// This one with the instructions of another for the same machine behind its own.
    pub fn with(&self, other: &Program) -> Self {
        let shifted = |decoded: &Decoded| {
            let mut decoded = *decoded;
            if let Action::Constant { line, .. } = &mut decoded.action {
                *line = constants::numbered(self.constant_lines + usize::from(*line));
            }
            decoded
        };
        Program {
            insts: self.insts.iter().copied().chain(other.insts.iter().map(shifted)).collect(),
            regs: self.regs.max(other.regs),
            constant_lines: self.constant_lines + other.constant_lines,
            delays: self.delays,
            buffers: self.buffers.clone(),
        }
    }
}
