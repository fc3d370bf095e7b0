//! What runs: a kernel, or several at the same time.

use std::sync::Arc;

use super::dispatch::Dispatch;
use crate::config::Machine;
use crate::error::{Error, Result};
use crate::isa::{Cta, Kernel, LaunchSource};
use crate::sm::{Program, Residency};
use crate::units::Cycle;

/// A kernel of which CTAs have been asked for.
#[derive(Clone, Debug)]
pub struct Running {
    pub kernel: Arc<Kernel>,
    /// How an SM holds its CTAs.
    pub residency: Residency,
    /// Where the kernel's instructions are in the program.
    pub place: u32,
    /// CTAs of the kernels before it.
    before: u64,
    /// The cycle at whose end the first CTA started.
    pub first: Cycle,
    /// Instructions of its warps, where several kernels run at the same time.
    pub warp_instructions: u64,
}

impl Running {
    /// Of which no CTA has started: its instructions are at `place`, and so many CTAs come `before` its own.
    ///
    /// # Errors
    /// When a CTA does not fit on an SM.
    fn new(kernel: Arc<Kernel>, machine: &Machine, place: u32, before: u64) -> Result<Self> {
        let residency = Residency::new(&kernel, machine)?;
        let first = Cycle::NEVER;
        Ok(Running { kernel, residency, place, before, first, warp_instructions: 0 })
    }
}

/// The names of kernels.
pub fn names(kernels: &[Running]) -> Vec<&str> {
    kernels.iter().map(|running| running.kernel.name.as_str()).collect()
}

/// Kernels that run at the same time, most often one, and how much of them has been handed out. The CTAs of a kernel are handed
/// out when those of the kernels before it all have been.
pub struct Launch<'a> {
    source: &'a mut dyn LaunchSource,
    machine: &'a Machine,
    /// The instructions of all kernels so far.
    program: Arc<Program>,
    /// The kernels so far, one at least.
    kernels: Vec<Running>,
    /// CTAs handed out.
    pub started: u64,
    /// CTAs of the kernels so far.
    pub ctas: u64,
    /// The kernels do not end before this cycle.
    pub end: Cycle,
    /// When CTAs may start, and when all is over.
    pub dispatch: Dispatch,
}

impl<'a> Launch<'a> {
    /// Of `kernel`, with which `source` has begun, at `start`.
    ///
    /// # Errors
    /// When a CTA does not fit on an SM.
    pub fn new(
        source: &'a mut dyn LaunchSource,
        kernel: Arc<Kernel>,
        machine: &'a Machine,
        start: Cycle,
    ) -> Result<Self> {
        let program = Arc::new(Program::new(&kernel, &machine.sm));
        Ok(Launch {
            source,
            machine,
            program,
            started: 0,
            ctas: kernel.ctas,
            kernels: vec![Running::new(kernel, machine, 0, 0)?],
            end: start + 1,
            dispatch: Dispatch::new(&machine.launch, start),
        })
    }

    /// The instructions of all kernels so far.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The kernels so far.
    pub fn kernels(&self) -> &[Running] {
        &self.kernels
    }

    /// Their names.
    pub fn names(&self) -> Vec<&str> {
        names(&self.kernels)
    }

    /// The kernels, when all is over.
    pub fn into_kernels(self) -> Vec<Running> {
        self.kernels
    }

    /// The kernel whose CTAs are handed out, and how many of its CTAs have been.
    pub fn current(&self) -> (&Running, u64) {
        let current = self.kernels.last().expect("there is one");
        (current, self.started - current.before)
    }

    /// True when CTAs are left, as far as is known.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.started < self.ctas
    }

    /// No CTA starts before the end of this cycle, as far as known.
    #[inline]
    pub fn starts_from(&self) -> Cycle {
        if self.started == 0 { self.dispatch.first() } else { Cycle(0) }
    }

    /// True when another kernel follows as soon as the CTAs of this one have been handed out.
    pub fn is_followed(&self) -> bool {
        let most = self.machine.launch.concurrent_kernels.size();
        self.current().0.kernel.overlaps_next && self.kernels.len() < most
    }

    /// Fills `cta` with the next CTA, which starts at the end of cycle `at`; `false` where the source has no more.
    pub fn next(&mut self, at: Cycle, cta: &mut Cta) -> Result<bool> {
        if !self.source.next(cta)? {
            return Ok(false);
        }
        let running = self.kernels.last_mut().expect("there is one");
        if running.place > 0 {
            cta.warps.iter_mut().for_each(|warp| warp.shift(running.place));
        }
        running.first = running.first.min(at);
        if running.before > 0 || running.kernel.overlaps_next {
            running.warp_instructions +=
                cta.warps.iter().map(|warp| warp.instructions()).sum::<u64>();
        }
        Ok(true)
    }

    /// Goes on with the kernel that follows; gives whether one does. All CTAs so far must have been handed out.
    ///
    /// # Errors
    /// When a CTA does not fit on an SM, and what the source refuses.
    pub fn follow(&mut self) -> Result<bool> {
        debug_assert!(!self.has_more());
        if !self.is_followed() {
            return Ok(false);
        }
        let Some(kernel) = self.source.begin()? else { return Ok(false) };
        let known = self.kernels.iter().find(|running| running.kernel.insts == kernel.insts);
        let place = match known {
            Some(running) => running.place,
            None => {
                let place = self.program.insts.len();
                let all = place + kernel.insts.len();
                let place = u32::try_from(all).map(|_| place as u32).map_err(|_| {
                    Error::input(format!(
                        "kernel {}: {all} instructions at the same time",
                        kernel.name
                    ))
                })?;
                let own = Program::new(&kernel, &self.machine.sm);
                self.program = Arc::new(self.program.with(&own));
                place
            }
        };
        debug_assert!(kernel.ctas > 0, "a launch has a CTA");
        let before = self.ctas;
        self.ctas += kernel.ctas;
        self.kernels.push(Running::new(kernel, self.machine, place, before)?);
        Ok(true)
    }
}
