//! A GPU of any number of ports.

use super::engine::{Engine, Stepping};
use super::statistics::KernelStatistics;
use super::watch::Progress;
use crate::config::Machine;
use crate::error::Result;
use crate::isa::{CtaSource, LaunchSource, OneLaunch};
use crate::noc::{MOST_WORDS, Ports};

/// A GPU. Kernels run one after another, or at the same time; the L2 and the DRAM rows keep their state between them.
pub struct Gpu(Width);

/// By the words that sets of ports have: one serves most machines, and faster.
enum Width {
    Narrow(Box<Engine<1>>),
    Wide(Box<Engine<MOST_WORDS>>),
}

impl Gpu {
    /// An idle GPU.
    pub fn new(machine: &Machine, stepping: Stepping) -> Self {
        let ports = machine.sm.count.size().max(machine.l2.slices.size());
        Gpu(if ports <= Ports::<1>::MOST {
            Width::Narrow(Box::new(Engine::new(machine, stepping)))
        } else {
            Width::Wide(Box::new(Engine::new(machine, stepping)))
        })
    }

    /// From now on it is counted what warps do at each line of a kernel's source.
    pub fn count_by_line(&mut self) {
        match &mut self.0 {
            Width::Narrow(engine) => engine.count_by_line(),
            Width::Wide(engine) => engine.count_by_line(),
        }
    }

    /// Runs one kernel from its first CTA to its last acknowledged store. The L1s start empty.
    ///
    /// `observe` is called every few thousand cycles.
    ///
    /// # Errors
    /// As [`Gpu::run_all`].
    pub fn run(
        &mut self,
        source: &mut dyn CtaSource,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<KernelStatistics> {
        let mut kernels = self.run_all(&mut OneLaunch::new(source), observe)?;
        Ok(kernels.pop().expect("one launch, one kernel"))
    }

    /// As [`Gpu::run`], kernels one after another but for those that overlap. With several threads, CTAs of the next are executed
    /// while one ends.
    ///
    /// # Errors
    /// When a CTA does not fit on an SM, when the source fails, when nothing can go on, and when a
    /// ledger does not sum.
    pub fn run_all(
        &mut self,
        launches: &mut dyn LaunchSource,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<Vec<KernelStatistics>> {
        let mut kernels = Vec::new();
        self.run_each(launches, observe, &mut |kernel| kernels.push(kernel))?;
        Ok(kernels)
    }

    /// As [`Gpu::run_all`]; tells `ended` of each launch, or of several at the same time, as it ends.
    ///
    /// # Errors
    /// As [`Gpu::run_all`].
    pub fn run_each(
        &mut self,
        launches: &mut dyn LaunchSource,
        observe: &mut dyn FnMut(Progress),
        ended: &mut dyn FnMut(KernelStatistics),
    ) -> Result<()> {
        match &mut self.0 {
            Width::Narrow(engine) => engine.run(launches, observe, ended),
            Width::Wide(engine) => engine.run(launches, observe, ended),
        }
    }
}
