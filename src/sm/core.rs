//! One SM: its parts, the life of a CTA there, and a cycle of it.

use std::sync::Arc;

use super::barriers::{Barriers, Unit};
use super::buffers::BufferProfile;
use super::bulk::BulkUnit;
use super::constants::Constants;
use super::copies::Groups;
use super::ctas::Ctas;
use super::fences::Fences;
use super::fetch::Fetch;
use super::lanes::LaneUnit;
use super::lsu::{Banks, Lsu, Returns};
use super::mbarriers;
use super::pipelines::Pipelines;
use super::profile::{InstProfile, Profile};
use super::program::Program;
use super::residency::Residency;
use super::stats::SmStats;
use super::sub_core::SubCore;
use super::waits::Outstanding;
use super::warpgroups::Warpgroups;
use super::warps::Warps;
use crate::config::Machine;
use crate::config::machine::{EvictionHints, LoadsLook, Segment, line_bits};
use crate::isa::Cta;
use crate::parts::{DataCache, Refusal};
use crate::stats::{IssueLedger, LatencyLedger, LsuLedger, WaitReason};
use crate::units::{Bits, Cycle};

/// Address rules of the load/store unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coalescing {
    pub line_bits: u32,
    pub segment: Segment,
    pub bypass_bits: u32,
    /// How long atomics keep the L2, where that is limited.
    pub atomic_work: Option<(u8, u8)>,
    pub global_loads: LoadsLook,
    pub local_loads: LoadsLook,
    /// Hints about eviction are told to the L1.
    pub follows_hints: bool,
}

/// How long a warp waits where its instructions do not go on one after the other [core cycles].
#[derive(Clone, Copy, Debug)]
pub(super) struct Holds {
    pub fall_through: u64,
    pub converge: u64,
    pub block_end: u64,
}

/// One streaming multiprocessor. What every visit looks at comes first and lies together.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sm {
    /// When the load/store unit or a scheduler does something next.
    next_work: Cycle,
    /// When a scheduler does.
    next_issue: Cycle,
    /// When data comes to warps next.
    pub(super) next_data: Cycle,
    /// Cycles before this one are charged, but for those of the schedulers and for the warps there.
    pub(super) charged_to: Cycle,
    /// Schedulers that wait for the load/store unit.
    pub(super) waiting_for_lsu: u64,
    pub(super) stores_in_flight: u64,
    pub(super) sub_cores: Box<[SubCore]>,
    pub(super) releases_per_cycle: u32,
    pub(super) issue_width: u32,
    pub(super) residency_changed: bool,
    /// Places in the miss queue that a cycle may take: kept, as every tick asks.
    pub(super) places_needed: usize,
    /// No scheduler could issue in the last cycle, and their slots say why.
    pub(super) stands_still: bool,
    pub(super) lsu: Lsu,
    pub(super) returns: Returns,
    pub(super) program: Arc<Program>,
    pub(super) fetch: Fetch,
    pub(super) constants: Constants,
    pub(super) outstanding: Outstanding,
    pub(super) copies: Groups,
    /// The number of its first warp slot among all of the GPU.
    pub(super) first_slot: u64,
    pub(super) pipelines: Pipelines,
    pub(super) lsu_ledger: LsuLedger,
    /// How long schedulers waited for the load/store unit, by its states.
    pub(super) lsu_waits: LsuLedger,
    pub(super) latency_accesses: u64,
    pub(super) latency_ledger: LatencyLedger,
    pub(super) stats: SmStats,
    /// Where somebody asked for it.
    pub(super) profile: Option<Box<Profile>>,
    pub(super) issue_ledger: IssueLedger,
    pub(super) warps: Warps,
    pub(super) fences: Fences,
    pub(super) barriers: Barriers,
    pub(super) lanes: LaneUnit,
    pub(super) mbarriers: Unit,
    pub(super) bulk: BulkUnit,
    pub(super) warpgroups: Warpgroups,
    pub(super) coalescing: Coalescing,
    pub(super) holds: Holds,
    pub(super) ctas: Ctas,
    pub(super) banks: Banks,
    cta_launch_interval: u64,
    warp_launch_interval: u64,
    warp_start_interval: u64,
    next_cta_launch: Cycle,
    /// Warps that are there, and whether a CTA is, since cycle `there_from`.
    pub(super) there: (u64, bool),
    pub(super) there_from: Cycle,
}

impl Sm {
    /// SM number `number` of `machine`, empty.
    pub fn new(machine: &Machine, number: usize) -> Self {
        let config = &machine.sm;
        let schedulers = config.schedulers.size();
        let warps = config.max_warps.size();
        let sub_cores: Box<[SubCore]> = (0..schedulers)
            .map(|number| SubCore::new(config.policy, number, schedulers, warps))
            .collect();
        let warps_of = sub_cores.iter().map(|sub_core| sub_core.warps);
        let lsu = Lsu::new(&machine.lsu, &machine.l1, warps_of);
        Sm {
            program: Arc::default(),
            fetch: Fetch::new(&config.fetch, schedulers),
            constants: Constants::new(config.constants.miss()),
            ctas: Ctas::new(config),
            warps: Warps::new(),
            fences: Fences::new(),
            barriers: Barriers::new(&config.barriers),
            lanes: LaneUnit::new(&config.arithmetic),
            mbarriers: mbarriers::unit(machine.shared_memory.latency.cycles()),
            bulk: BulkUnit::new(machine, warps),
            warpgroups: Warpgroups::new(machine),
            stands_still: false,
            waiting_for_lsu: 0,
            lsu_waits: LsuLedger::default(),
            pipelines: Pipelines::new(&config.arithmetic, schedulers),
            issue_width: config.issue_width.get(),
            holds: Holds {
                fall_through: u64::from(config.arithmetic.fall_through.get()),
                converge: u64::from(config.arithmetic.converge.get()),
                block_end: u64::from(config.arithmetic.block_end.get()),
            },
            places_needed: lsu.accesses_per_cycle(),
            lsu,
            sub_cores,
            banks: Banks::new(&machine.shared_memory),
            coalescing: Coalescing {
                line_bits: line_bits(machine.l1.line.get()),
                segment: machine.lsu.segment,
                bypass_bits: machine.lsu.bypass_segment.get().trailing_zeros(),
                atomic_work: machine.l2.data_port.atomic_work(),
                global_loads: machine.l1.global_loads,
                local_loads: machine.l1.local_loads,
                follows_hints: machine.l1.hints != EvictionHints::Ignored,
            },
            outstanding: Outstanding::new(schedulers),
            copies: Groups::new(warps),
            first_slot: (number * warps) as u64,
            returns: Returns::new(machine),
            releases_per_cycle: machine.l1.releases_per_cycle.get(),
            cta_launch_interval: config.cta_launch_interval.cycles(),
            warp_launch_interval: config.warp_launch_interval.cycles(),
            warp_start_interval: config.warp_start_interval.cycles(),
            next_cta_launch: Cycle(0),
            stores_in_flight: 0,
            charged_to: Cycle(0),
            there: (0, false),
            there_from: Cycle(0),
            residency_changed: false,
            next_work: Cycle::NEVER,
            next_issue: Cycle::NEVER,
            next_data: Cycle::NEVER,
            issue_ledger: IssueLedger::default(),
            lsu_ledger: LsuLedger::default(),
            latency_ledger: LatencyLedger::default(),
            latency_accesses: 0,
            stats: SmStats::default(),
            profile: None,
        }
    }

    /// Makes ready for a kernel that starts at `now`. The SM must be idle.
    pub fn prepare(&mut self, now: Cycle, program: Arc<Program>, residency: Residency) {
        assert!(self.is_idle(), "a kernel starts on an SM that is not idle");
        self.warps.prepare(now, program.regs);
        self.ctas.prepare(residency);
        self.constants.forget();
        self.expect(program);
        (self.charged_to, self.there_from) = (now, now);
        self.next_cta_launch = now;
        (self.next_work, self.next_issue) = (Cycle::NEVER, Cycle::NEVER);
        self.sub_cores.iter_mut().for_each(|sub_core| sub_core.prepare(now));
        (self.stands_still, self.waiting_for_lsu) = (false, 0);
        self.residency_changed = false;
    }

    /// From now on it is counted what warps do at each instruction, and with each buffer.
    pub fn count_by_instruction(&mut self) {
        self.profile = Some(Box::new(Profile::new()));
    }

    /// What warps did since this was asked last, by place in the program and by place of a [`Region`](super::Region); nothing where
    /// it was not counted.
    pub fn take_profile(&mut self) -> (Vec<InstProfile>, Vec<BufferProfile>) {
        self.profile.as_mut().map_or_else(Default::default, |profile| profile.take())
    }

    /// What came before keeps a warp from its next instruction, for the profile.
    #[inline(always)]
    pub(super) fn note_hold(&mut self, warp: usize, reason: WaitReason, until: Cycle) {
        if let Some(profile) = &mut self.profile {
            profile.hold(warp, reason, until);
        }
    }

    /// Kernels of those that run at the same time that the SM has heard of.
    pub fn kernels_known(&self) -> usize {
        self.ctas.ended().len()
    }

    /// CTAs of another kernel come from now on, with kernels between whose CTAs all went elsewhere: how SMs hold their CTAs, the last
    /// for the present one. `program` has the instructions of all that run.
    pub fn join(&mut self, program: Arc<Program>, more: impl Iterator<Item = Residency>) {
        self.warps.make_room(program.regs);
        self.expect(program);
        self.ctas.join(more);
    }

    /// CTAs of another kernel come.
    fn expect(&mut self, program: Arc<Program>) {
        self.fetch.prepare(program.insts.len());
        self.constants.expect(program.constant_lines);
        if let Some(profile) = &mut self.profile {
            profile.expect(&program);
        }
        self.program = program;
    }

    /// Divides an SM that is idle for the kernel whose CTAs come; gives the ways of the L1's sets where they are others than before.
    pub fn divide_anew(&mut self) -> Option<usize> {
        debug_assert!(self.is_idle());
        self.ctas.divide_anew().then(|| self.ctas.l1_ways())
    }

    /// By number of the kernel among those that run at the same time, the first cycle after its last CTA that has ended here; the
    /// first of all where none has.
    pub fn ended(&self) -> &[Cycle] {
        self.ctas.ended()
    }

    /// Of each CTA whose place no other has taken: the cycle of its last instruction.
    pub fn executed(&self) -> impl Iterator<Item = Cycle> {
        self.ctas.executed()
    }

    /// The SM gets a CTA, now or later. Where that takes the place of one that has ended: the last cycle in which that one was there.
    pub fn take_place(&mut self) -> Option<Cycle> {
        self.ctas.take_place()
    }

    /// True when a CTA could start, now or after the launch interval.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.ctas.has_room()
    }

    /// Starts a CTA, which `fill` writes; its warps can issue from the next cycle on, or later where they take
    /// over a slot. When `fill` says that there is none left, nothing happens and the answer is false.
    pub fn start_cta<E>(
        &mut self,
        now: Cycle,
        cache: &mut impl DataCache,
        fill: impl FnOnce(&mut Cta) -> Result<bool, E>,
    ) -> Result<bool, E> {
        if !fill(self.ctas.next_storage())? {
            return Ok(false);
        }
        self.charge_until(now + 1, cache);
        self.warps.come_to(now);
        let (warps, next_issue) = self.ctas.start();
        let further = u64::from(warps.count_ones() - 1);
        self.next_cta_launch = now + self.cta_launch_interval + further * self.warp_launch_interval;
        let mut issues = next_issue.max(now + 1);
        // Another thread may just have written them.
        Bits(warps).for_each(|warp| self.ctas.stream(warp).prefetch());
        for warp in Bits(warps) {
            self.warps.start(warp, self.ctas.stream(warp), &self.program, now, issues);
            self.warpgroups.begin(warp);
            if let Some(profile) = &mut self.profile {
                profile.start(now, warp, issues);
            }
            issues += self.warp_start_interval;
            if self.warps.alive >> warp & 1 == 0 {
                self.ctas.end_warp(now, self.ctas.of_warp(warp));
            }
        }
        self.end_cta_if_done(self.ctas.of_warp(warps.trailing_zeros() as usize), now + 1);
        self.note_residency(now + 1);
        self.next_work = self.next_work.min(now + 1);
        self.next_issue = self.next_issue.min(now + 1);
        Ok(true)
    }

    /// The next cycle in which something happens unless a reply arrives or a place in the miss queue becomes free. Where data
    /// waits for other data before it, one that is gone: as soon as may be.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        self.next_work.min(self.next_data)
    }

    /// True when an access stands refused that is tried again when a place in the miss queue becomes free.
    #[inline]
    pub fn waits_for_place(&self) -> bool {
        self.lsu.refused == Some(Refusal::MissQueue)
    }

    /// True when a CTA has ended, or the last store was acknowledged, since this was asked last.
    #[inline]
    pub fn take_residency_changed(&mut self) -> bool {
        let is_changed = self.residency_changed;
        if is_changed {
            self.residency_changed = false;
        }
        is_changed
    }

    /// True when the next tick may offer the cache an access.
    #[inline]
    pub fn may_access(&self) -> bool {
        !self.lsu.is_empty() || self.bulk.sends()
    }

    /// Accesses that the cache may be offered in one cycle.
    #[inline]
    pub fn accesses_per_cycle(&self) -> usize {
        self.places_needed
    }

    /// The first cycle in which a CTA can start, if there is room.
    #[inline]
    pub fn next_cta_launch(&self) -> Cycle {
        self.next_cta_launch
    }

    /// All parts have something to do in cycle `now`, whether or not anything can happen.
    pub fn make_all_due(&mut self, now: Cycle) {
        (self.next_data, self.next_work, self.next_issue) = (now, now, now);
    }

    /// As [`Sm::make_all_due`], and all is found out anew: why an access was refused, and that no scheduler can issue.
    pub fn look_anew(&mut self, now: Cycle) {
        self.make_all_due(now);
        self.lsu.forget_refusal();
        self.stands_still = false;
    }

    /// What has to be done in cycle `now`; most data lets no warp go on.
    #[inline(always)]
    pub fn tick(&mut self, now: Cycle, cache: &mut impl DataCache) {
        if self.next_data <= now {
            self.take_data(now, cache);
            self.next_data = cache.next_release().min(self.returns.next()).min(self.bulk.next);
        }
        let are_due = (self.next_issue <= now) | self.warps.stirred;
        if are_due | (self.next_work <= now) || self.lsu.may_go_on(cache) {
            self.work(now, are_due, cache);
        }
    }

    /// True when nobody outside need look at the last tick before the next one: no CTA has ended, nor the last store, and no
    /// access of one cycle can find the miss queue full, whose places become free outside.
    #[inline(always)]
    pub fn goes_on(&self, cache: &impl DataCache) -> bool {
        !self.residency_changed && (cache.room() >= self.places_needed || !self.may_access())
    }

    /// The load/store unit and the schedulers. If these are not due, the unit goes on, and the schedulers stand still unless it
    /// makes room for an instruction.
    #[inline(always)]
    fn work(&mut self, now: Cycle, are_due: bool, cache: &mut impl DataCache) {
        self.charge_until(now, cache);
        let full_for = self.lsu.full_for;
        if self.lsu.is_empty() {
            self.lsu.rest();
        } else {
            self.lsu.tick(now, cache, &mut self.returns);
            self.next_data = self.next_data.min(self.returns.next());
        }
        let may_issue = are_due | (self.lsu.full_for != full_for);
        let mut issued = false;
        if may_issue {
            self.warps.come_to(now);
            self.warps.wake(now);
            if self.warps.ready & self.warps.on_fetch != 0 {
                self.have_fetched(now);
            }
            let queued = self.lsu.queued;
            issued = self.issue(now);
            if self.lsu.queued > queued {
                self.lsu.prefetch_youngest(cache);
            }
        }
        for _ in 0..self.fences.take_acquires() {
            cache.acquire();
        }
        self.charge_lsu(self.lsu.state, 1);
        self.charged_to = now + 1;
        let served = self.lsu.look_ahead(now, cache);
        if may_issue {
            self.next_issue = self.find_next_issue(now, issued);
        }
        // Until the next warp wakes.
        self.next_work = self.next_issue.min(served);
    }

    /// The warp goes on when its operands are there, at `earliest` at the earliest.
    #[inline(always)]
    pub(super) fn wait_for_operands(&mut self, now: Cycle, warp: usize, earliest: Cycle) {
        let Sm { program, warps, .. } = self;
        let inst = &program.insts[warps.pc(warp)];
        warps.wait_for_operands(warp, inst, &program.delays, now, earliest);
    }

    /// The warp, which has come to another instruction, goes on when that and its operands are there, at `earliest` at
    /// the earliest.
    #[inline(always)]
    pub(super) fn go_on(&mut self, now: Cycle, warp: usize, earliest: Cycle) {
        if !self.fetch.holds_up(&mut self.warps, now, warp, earliest) {
            self.wait_for_operands(now, warp, earliest);
        }
    }

    /// Instructions come that warps wait for, or fences are done.
    #[inline(never)]
    fn have_fetched(&mut self, now: Cycle) {
        for warp in Bits(self.warps.take_fetched()) {
            if self.warps.at_fence >> warp & 1 == 1 {
                self.leave_fence(now, warp, now);
                continue;
            }
            if let Some(profile) = &mut self.profile {
                profile.fetched(now, warp);
            }
            self.wait_for_operands(now, warp, now);
        }
    }

    /// Ends the CTA of `warp` if nothing of it is left; it is not there from cycle `from` on.
    #[inline(always)]
    pub(super) fn end_cta_of_warp_if_done(&mut self, from: Cycle, warp: usize) {
        // Most often the warp itself goes on.
        if self.warps.alive >> warp & 1 == 0 {
            self.end_cta_if_done(self.ctas.of_warp(warp), from);
        }
    }

    /// Ends the CTA in `slot` if nothing of it is left; it is not there from cycle `from` on.
    #[inline(always)]
    pub(super) fn end_cta_if_done(&mut self, slot: usize, from: Cycle) {
        if !self.bulk.holds(slot) && self.ctas.try_end(slot, &self.warps, from) {
            self.stats.ctas += 1;
            self.residency_changed = true;
            self.note_residency(from);
        }
    }

    /// Warps that may issue, as far as the load/store unit decides that.
    #[inline(always)]
    pub(super) fn offers(&self) -> u64 {
        self.warps.ready & !(self.warps.wants_memory() & self.lsu.full_for)
    }

    /// When a scheduler does something next, after cycle `now`.
    #[inline(always)]
    fn find_next_issue(&mut self, now: Cycle, issued: bool) -> Cycle {
        if self.offers() != 0 {
            return now + 1;
        }
        let next = self.warps.next_wake(now);
        if issued && next > now + 1 {
            // All that the next cycle would find is that no scheduler can issue. If data stirs a warp by then, or the load/store
            // unit makes room, the schedulers are looked at again, and have done this for no cycle.
            self.stand_still(now + 1);
        }
        next
    }

    /// Stores that are not acknowledged.
    pub fn stores_in_flight(&self) -> u64 {
        self.stores_in_flight
    }

    /// True when no CTA is resident and no store is on its way.
    pub fn is_idle(&self) -> bool {
        self.ctas.resident() == 0 && self.stores_in_flight == 0
    }

    /// What every resident warp waits for, in words, for a deadlock report.
    pub fn describe(&self) -> String {
        let warps = &self.warps;
        let count = |mask: u64| mask.count_ones();
        format!(
            "{} warps alive: {} ready, {} waiting for arithmetic, {} for memory, {} at a barrier, \
             {} at a fence, {} waiting for bulk copies, {} for their warpgroup; load/store unit {:?}{}; {} stores in flight",
            count(warps.alive),
            count(warps.ready),
            count(warps.on_arithmetic),
            count(warps.on_memory),
            count(warps.at_barrier),
            count(warps.at_fence),
            count(warps.at_bulk),
            count(warps.at_product),
            self.lsu.state,
            if self.lsu.is_empty() { " (empty)" } else { "" },
            self.stores_in_flight,
        )
    }
}
