//! A synthetic launch, CTA by CTA.

use super::program::{PhaseCode, Program};
use crate::config::synthetic::Use;
use crate::error::Result;
use crate::isa::{BarrierUse, Cta, CtaSource, Kernel, LaneMask, WARP, WarpStream};
use crate::workload::SyntheticLaunch;
use crate::workload::synthetic::layout::{arrays, regions};
use crate::workload::synthetic::pattern::{Addresses, Turn, WarpPlace};

/// Every lane executes every instruction; which of them access memory is the access's affair.
const ALL: LaneMask = !0;

/// A synthetic launch under way.
#[derive(Clone, Debug)]
pub struct SyntheticSource {
    kernel: Kernel,
    phases: Vec<PhaseCode>,
    /// By phase and place in the mixture.
    addresses: Vec<Vec<Addresses>>,
    repeats: u64,
    exit: u32,
    next: u64,
    /// Runs of instructions, and words of addresses, that a warp's stream mostly has.
    room: (usize, usize),
}

impl SyntheticSource {
    /// Starts a launch.
    pub fn new(launch: &SyntheticLaunch) -> Self {
        let spec = &launch.spec;
        let program = Program::new(spec);
        let addresses: Vec<Vec<Addresses>> = program
            .phases
            .iter()
            .zip(regions(spec))
            .enumerate()
            .map(|(phase, (code, regions))| {
                let entries = regions.into_iter().zip(&code.counts).enumerate();
                entries
                    .map(|(entry, (region, &count))| {
                        Addresses::new(spec, launch.seed, Use { phase, entry }, region, count)
                    })
                    .collect()
            })
            .collect();
        let kernel = Kernel {
            name: "synthetic".to_owned(),
            insts: program.insts,
            regs: program.regs,
            registers_per_thread: spec.registers.get(),
            shared_bytes: spec.shared.get(),
            local_bytes: 0,
            cta_threads: spec.warps.get() * WARP as u32,
            ctas: u64::from(spec.ctas.get()),
            buffers: arrays(spec),
            overlaps_next: false,
        };
        let repeats = u64::from(spec.repeats.get());
        let phases = || program.phases.iter();
        let runs: u64 = phases().map(PhaseCode::most_runs).sum();
        let words = phases().zip(&addresses).flat_map(|(code, addresses)| {
            code.counts.iter().zip(addresses).map(|(count, one)| count * one.words() as u64)
        });
        let words: u64 = words.sum();
        let room = ((repeats * runs + 1) as usize, (repeats * words) as usize);
        SyntheticSource {
            kernel,
            phases: program.phases,
            addresses,
            repeats,
            exit: program.exit,
            next: 0,
            room,
        }
    }

    /// Fills `cta` with CTA `number`, reusing its storage. It is the same whatever was asked for before.
    pub fn fill(&mut self, number: u64, cta: &mut Cta) {
        cta.reset(self.kernel.cta_warps());
        let (runs, words) = self.room;
        for (warp, stream) in (0..).zip(&mut cta.warps) {
            let place = WarpPlace { cta: number, warp };
            stream.reserve(runs, words);
            for pass in 0..self.repeats {
                for (phase, addresses) in self.phases.iter().zip(&mut self.addresses) {
                    run_phase(phase, addresses, place, pass, stream);
                }
            }
            stream.push(self.exit, ALL);
        }
    }
}

/// Appends one pass of a warp through a phase.
fn run_phase(
    phase: &PhaseCode,
    addresses: &mut [Addresses],
    place: WarpPlace,
    pass: u64,
    stream: &mut WarpStream,
) {
    let PhaseCode { in_flight, accesses, .. } = *phase;
    let (mut place_in_round, mut before, mut slot) = (0, 0, 0);
    for number in 0..accesses {
        let step = &phase.steps[place_in_round];
        if number >= in_flight && !phase.math.is_empty() {
            phase.math.push(slot, ALL, stream);
        }
        stream.push_run(step.pc, step.len, ALL);
        let turn = Turn { pass, index: u64::from(before + step.index) };
        addresses[step.entry as usize].push(place, turn, stream);
        slot = if slot + 1 == in_flight { 0 } else { slot + 1 };
        place_in_round += 1;
        if place_in_round == phase.steps.len() {
            (place_in_round, before) = (0, number + 1);
        }
    }
    // What is still under way is used, too.
    for number in accesses.max(in_flight)..accesses + in_flight {
        phase.math.push(number % in_flight, ALL, stream);
    }
    if let Some(barrier) = phase.barrier {
        stream.push(barrier, ALL);
        stream.push_barrier(BarrierUse::ALL);
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
        self.fill(self.next, cta);
        self.next += 1;
        Ok(true)
    }
}
