//! A kernel's instructions, decoded for one machine.

use crate::config::machine::{Arithmetic, IntProducts, OpTiming};
use crate::isa::{ArithClass, Kernel, MAX_OPERANDS, MemoryOp, Op, Operands, Reg};

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
    /// The load/store unit.
    Memory,
    /// Nothing.
    None,
}

impl Port {
    /// The ports of pipelines, in the order of their numbers.
    pub const ARITHMETIC: [Port; 4] = [Port::Sp, Port::Int, Port::Sfu, Port::Dp];
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
        /// The warp's next instruction waits for the latency too, as behind a branch.
        holds_warp: bool,
    },
    /// It goes to the load/store unit.
    Memory(MemoryOp),
    /// It waits for the other warps of its CTA.
    Barrier,
    /// It waits for the warp's own accesses.
    Fence,
    /// It ends lanes.
    Exit,
}

/// One instruction, decoded.
#[derive(Clone, Copy, Debug)]
pub struct Decoded {
    /// What it needs.
    pub port: Port,
    /// What it does.
    pub action: Action,
    /// Registers it writes.
    pub dsts: Operands,
    /// Registers that must be ready: those it reads and those it writes.
    needs: [Reg; 2 * MAX_OPERANDS],
    need_count: u8,
}

impl Decoded {
    /// Registers that must be ready before it issues.
    #[inline]
    pub fn needs(&self) -> &[Reg] {
        &self.needs[..usize::from(self.need_count)]
    }
}

/// A kernel, decoded.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Instructions by place in the kernel.
    pub insts: Box<[Decoded]>,
    /// Registers that they name: all are below this.
    pub regs: usize,
    /// Warps of a CTA.
    pub cta_warps: usize,
}

/// Pipeline and time of a class.
fn timing(arithmetic: &Arithmetic, class: ArithClass) -> (Port, OpTiming) {
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
        ArithClass::IntDiv => (int, arithmetic.int_div),
        ArithClass::FpAdd => (Port::Sp, arithmetic.fp_add),
        ArithClass::FpMul => (Port::Sp, arithmetic.fp_mul),
        ArithClass::FpFma => (Port::Sp, arithmetic.fp_fma),
        ArithClass::FpDiv => (Port::Sp, arithmetic.fp_div),
        ArithClass::DpAdd => (dp, arithmetic.dp_add),
        ArithClass::DpMul => (dp, arithmetic.dp_mul),
        ArithClass::DpFma => (dp, arithmetic.dp_fma),
        ArithClass::DpDiv => (dp, arithmetic.dp_div),
        ArithClass::Sfu => (Port::Sfu, arithmetic.sfu),
        ArithClass::Control => (int, arithmetic.control),
    }
}

impl Program {
    /// Decodes `kernel` for a machine.
    pub fn new(kernel: &Kernel, arithmetic: &Arithmetic) -> Self {
        let decode = |inst: &crate::isa::Inst| {
            let (port, action) = match inst.op {
                Op::Arith(class) => {
                    let (port, OpTiming { latency, interval }) = timing(arithmetic, class);
                    let holds_warp = class == ArithClass::Control;
                    let (latency, interval) = (latency.get() as u16, interval.get() as u8);
                    (port, Action::Compute { latency, interval, holds_warp })
                }
                Op::Memory(op) => (Port::Memory, Action::Memory(op)),
                Op::Barrier => (Port::None, Action::Barrier),
                Op::Fence => (Port::None, Action::Fence),
                Op::Exit => (Port::None, Action::Exit),
            };
            let mut needs = [0; 2 * MAX_OPERANDS];
            let (srcs, dsts) = (inst.srcs.as_slice(), inst.dsts.as_slice());
            needs[..srcs.len()].copy_from_slice(srcs);
            needs[srcs.len()..][..dsts.len()].copy_from_slice(dsts);
            let need_count = (srcs.len() + dsts.len()) as u8;
            Decoded { port, action, dsts: inst.dsts, needs, need_count }
        };
        Program {
            insts: kernel.insts.iter().map(decode).collect(),
            regs: usize::from(kernel.regs),
            cta_warps: kernel.cta_warps(),
        }
    }
}
