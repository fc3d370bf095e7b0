//! A synthetic launch, CTA by CTA.

use crate::error::Result;
use crate::isa::{Cta, CtaSource, Inst, Kernel, Op, Operands, WARP};
use crate::workload::SyntheticLaunch;

/// A synthetic launch under way.
#[derive(Debug)]
pub struct SyntheticSource {
    kernel: Kernel,
    next: u64,
}

impl SyntheticSource {
    /// Starts a launch.
    pub fn new(launch: &SyntheticLaunch) -> Self {
        let spec = &launch.spec;
        let exit = Inst { op: Op::Exit, dsts: Operands::NONE, srcs: Operands::NONE, line: 0 };
        let kernel = Kernel {
            name: "synthetic".to_owned(),
            insts: vec![exit],
            regs: 1,
            registers_per_thread: 16,
            shared_bytes: 0,
            cta_threads: spec.warps.get() * WARP as u32,
            ctas: u64::from(spec.ctas.get()),
        };
        SyntheticSource { kernel, next: 0 }
    }
}

impl CtaSource for SyntheticSource {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        if self.next == self.kernel.ctas {
            return Ok(false);
        }
        self.next += 1;
        cta.reset(self.kernel.cta_warps());
        for warp in &mut cta.warps {
            warp.push(0, !0);
        }
        Ok(true)
    }
}
