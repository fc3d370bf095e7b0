//! gsim: a cycle-level simulator of GPU memory systems.
//!
//! gsim executes a CUDA kernel's own instructions, warp by warp, and moves every memory access of theirs
//! through a model of the GPU: schedulers, load/store unit, L1, interconnect, L2, DRAM. It says how many
//! cycles that took and, in four ledgers that sum exactly, where each of them went.
//!
//! This page is the architecture. It holds for every file; the head of each module says more.
//!
//! ```text
//!  run file, machine file                        workloads/*.ptx
//!         |                                            |
//!       config ------ workload: buffers, launches ---- frontend::ptx
//!         |                                            |  executes a CTA at a time
//!         |                        isa::LaunchSource   |
//!         |                    streams of warp instructions and lane addresses
//!         v                                            v
//!  +- gpu ---------------------------------------------------------------------------+
//!  |  clocks, launches, skip-ahead                                                   |
//!  |                                                                                 |
//!  |   +- sm ------------------+   +- l1 -------+  request   +- l2 ------+  queue    |
//!  |   | CTAs -> schedulers    |   | tags       |   network  | input     |   +-dram-+|
//!  |   |   -> issue            |   | MSHRs and  |  (noc)     | tags      |-->| banks||
//!  |   |   -> load/store unit -+-->|  mergers   |----------->| MSHRs and |   | FR-  ||
//!  |   |      (coalescer)      |   | miss queue |            |  mergers  |<--| FCFS ||
//!  |   |   scoreboard          |<--+ releases   |<-----------| replies   |   +------+|
//!  |   +-----------------------+   +------------+  reply     +-----------+           |
//!  |        one of each an SM                      network    slices      channels   |
//!  +---------------------------------------------------------------------------------+
//!         | counters, ledgers (stats)
//!         v
//!  report: report.json, pictures, page, summary   <-- simulate --   study: many runs
//! ```
//!
//! # The modules, in the order of the data
//!
//! A module imports only modules that stand above it in this list, and a test keeps it so. The five
//! components `sm`, `l1`, `noc`, `l2` and `dram` import none of each other.
//!
//! **Foundations.** [`units`] holds the quantities as types: a cycle, a line address. [`ring`] is the one
//! bounded queue; each item carries the cycle from which it is visible, so that it is a fixed-latency
//! pipe as well. [`error`] is the one error type: a line that says what and where, a hint, and an exit code.
//! [`stats`] declares counters and ledgers; the doc comment of a counter or of a reason is also its
//! entry in the glossary of every report. [`partial`] holds folders under way. `prefetch` asks the processor for memory that is wanted soon, and [`heap`] the system for large pages. [`serial`] writes RON and JSON, reads JSON, and finds where values differ. [`nvrtc`] loads NVIDIA's
//! run-time compiler where it is installed, for kernels that come as CUDA C++. They import nothing but each other.
//!
//! **[`config`]** holds the machine, run and study files as types. Ranges and rules between fields are
//! checked while a file is parsed, so that an error names its line, and so that no other module checks a
//! machine again. A machine file states every field; the presets are machine files too.
//!
//! **[`isa`]** is the warp instruction, the one contract between the front ends and the timing model; see
//! below.
//!
//! **[`parts`]** holds what the components share: accesses, packets, address maps, tag arrays, sectors, MSHR files, places of queues.
//! A component meets its neighbour only as a type of this module.
//!
//! **[`workload`]** holds what can be run: device memory with its buffers, the launches, the check of
//! the result on the host, the registry of the workloads that come with gsim, their kernels, and what
//! makes a workload of a user's own kernel and files.
//!
//! **[`frontend`]** makes warp instructions of a launch. [`frontend::ptx`] parses PTX and executes it;
//! [`frontend::synthetic`] generates patterns of accesses; `workload` also writes them as PTX, for a GPU.
//! [`frontend::trace`] writes streams to files and reads them, and converts those of Accel-Sim. Of a machine they know its
//! instruction set alone.
//!
//! **[`sm`]** holds the resident CTAs, the warps and their scoreboard, the schedulers, the arithmetic
//! pipelines and the load/store unit with its coalescer. It reads warp streams from `isa` and asks a cache
//! through [`parts::DataCache`], so that it does not know the L1.
//!
//! **[`l1`]** is that cache: tags, sectors with byte masks, MSHR entries with merger fields, and the miss
//! queue. **[`noc`]** is a crossbar that moves packets of any type; there is one for requests and one for
//! replies. **[`l2`]** is a slice: tags, sectors with byte masks, MSHR entries, queues in and out; on a chip
//! without an L2 it passes everything through. **[`dram`]** is the controller of one channel or
//! pseudo-channel: a queue, banks, and timing rules as data.
//!
//! **[`gpu`]** owns every component, carries packets between them, keeps the clocks, hands out CTAs, and
//! closes the ledgers after each kernel. It alone knows all components.
//!
//! **[`limits`]** says what a machine can do at most: the peak rate of every level, the latency of a single load, which is simulated,
//! and what may be under way.
//!
//! **[`report`]** turns statistics into files and text. It reads the components' statistics types and
//! never a component, so a stored report can be shown again at any time, and held against others.
//!
//! **[`simulate`]** takes one resolved run to its report: it alone knows front end, GPU and report. It has a
//! functional half, which knows no machine and executes kernels or reads a trace, and a timing half.
//!
//! **[`native`]** runs the same kernels on a GPU through the CUDA driver, which is loaded at run time: verified bit by
//! bit against the functional execution, timed, counted by NVIDIA's profiler.
//!
//! **[`study`]** makes many runs of a study file, and figures and tables of their reports. Points with
//! the same workload share one functional half. **[`calibrate`]** holds the simulator against what `native` recorded.
//!
//! **[`cli`]** is one file a subcommand, and `main.rs` prints the error.
//!
//! # What holds, and what is deliberately absent
//!
//! - A component has a configuration, private state, counters, and a `tick` that gets the cycle. It has
//!   no reference to another component: queues and neighbours are lent for the call. There is no
//!   `Rc<RefCell>`, no callback between components, no global clock, no trait object in a cycle.
//! - An access or request is accepted or refused *with a reason*. A refusal changes nothing but its count.
//! - What a kernel computes never depends on timing, and the timing model sees addresses and lane masks,
//!   never values.
//! - The same inputs give the same bytes in every file. The model iterates over no hash map and has no time
//!   in floating point; reports hold no time of day and nothing about the host.
//! - Caches hold no data: values are the front end's affair.
//! - Front ends do not coalesce, because that is the machine's work. The model knows no PTX.
//! - A ledger's total is counted apart from its parts, and a report whose ledgers do not sum is never made.
//! - No default hides in a machine; no policy is a string; no user input makes gsim panic.
//!
//! # The contract of the warp stream
//!
//! A kernel is a table of static instructions, [`isa::Inst`]: class, registers read and written and, for
//! memory, space, width and cache operator. What a warp executed is an [`isa::WarpStream`]: runs of
//! instructions by their place in the table, with the mask of lanes that took part, and the addresses of
//! the memory instructions: affine, in rows of lanes, or lane by lane. Addresses are bytes as the
//! lanes computed them.
//!
//! A front end hands out CTAs through [`isa::CtaSource`], in launch order, one when the GPU has room for
//! it, into storage that is used again. It executes a CTA as a whole before the next, and the CTAs of a launch
//! before those of the one after it ([`isa::LaunchSource`]), also where launches run at the same time. Memory is so
//! bounded by the resident CTAs, whatever the size of the grid. The stream is what was executed: the
//! timing model takes no branch and evaluates no predicate. So one stream serves any number of machines: a study
//! executes each workload once, and its simulations read the stream through a window of bounded size.
//!
//! # Time
//!
//! Core, interconnect, L2 and DRAM have a clock each. Time is counted in core cycles. `gpu::clocks` says
//! how many ticks of another clock lie before a core cycle (`cycle x f / f_core`, rounded down, in whole
//! numbers) and into which core cycle a tick falls. No ratio is rounded, so nothing drifts. A component's
//! [`units::Cycle`] counts its own clock. The stamps on a packet are core cycles, as the ledgers are.
//!
//! A core cycle goes against the flow of requests, so that a place is freed before it is asked for:
//!
//! 1. every DRAM clock that falls into the cycle; completed reads fill their L2 slices;
//! 2. every L2 cycle: a slice releases one access of an arrived line, looks one request up, gives one
//!    reply to the network and one request to its channel;
//! 3. every interconnect cycle: the L1s' miss queues, both crossbars, arrivals at the slices;
//! 4. each SM in turn: a reply arrives; waiting accesses of arrived lines are released; data of hits and
//!    of shared memory reaches the registers; the load/store unit serves accesses, most often one; each scheduler
//!    issues one instruction at most, or two of one warp where the machine can;
//! 5. CTAs start, at most one an SM, on the SMs in turn. They issue from the next cycle on.
//!
//! A packet handed to a part that comes earlier in this order is seen there one cycle later.
//!
//! # Refusals
//!
//! The load/store unit offers the L1 one access a cycle, or several of one instruction. Checks come in a fixed order, each with its
//! [`parts::Refusal`]: no free merger field in the entry of an outstanding line (`nomerger`), every way of
//! the set reserved (`nocacheline`), no free MSHR entry (`nomshrline`), a full miss queue (`missqueue`). A
//! refused access stays where it is and holds up what the machine says it holds up; it is tried again
//! when something was released, filled or taken away. The L2 refuses for reasons of its own kind.
//!
//! # Machines of all generations
//!
//! One model serves them; what differs is data. The coalescer goes by warps and lines, or by half-warps and
//! segments (compute capability 1.x). A line has one sector or several; an MSHR entry belongs to a line, and
//! an access waits in it until the sectors that it wants are there. Stores drop a line of the L1, update it,
//! or validate bytes of a new one. Loads look in the L1 or past it, by address space. Pipelines, and
//! queues before the load/store unit, belong to the SM or to a sub-core. Banks of shared memory serve half-warps
//! or warps. L1 and shared memory are two arrays, or one that is divided anew for
//! each kernel. Slices take addresses in turn or by a hash. See [`config::machine`].
//!
//! # The four ledgers
//!
//! - **Issue**, [`stats::IssueReason`], per scheduler and cycle: issued, or the one reason that it was not.
//! - **Load/store**, [`stats::LsuReason`], per SM and cycle: idle, serving, or stalled and why.
//! - **Latency**, [`stats::LatencyStage`], per load access: its time in each stage on the way.
//! - **DRAM**, [`stats::DramReason`], per channel and DRAM clock: a burst, or what the next burst waited for.
//!
//! A scheduler without a ready warp charges the reason of the warp that is nearest to issue: arithmetic,
//! else memory, else a barrier. For memory it must say *where* its oldest outstanding access is, and
//! asking the whole machine in each cycle would cost more than the cycle. So the answer comes afterwards.
//! `sm/waits.rs` keeps the spans of cycles that a scheduler waited for its oldest load. A packet
//! collects a stamp at every border it passes ([`parts::Stamps`]). When the load's last data arrives,
//! `sm/journey.rs` makes of the stamps a journey without a gap; the latency ledger takes its stages, and each
//! span of waiting is split by the stages it overlaps. All of this is local to an SM and exact.
//!
//! Where it is asked for, a fifth ledger, [`stats::WaitReason`], says for each line of a kernel what every warp stood there for.
//! `sm/profile.rs` writes it when an instruction is issued, as all is known then.
//!
//! # Skip-ahead
//!
//! Every component says when it next does anything if nobody interferes: `next_event`. A component with
//! nothing to do is not called: its time jumps to its next event. Whoever is called again first charges the
//! cycles since its last call to what it then did: a standing refusal, a wait, idleness.
//! [`gpu::Stepping::EveryCycle`] calls everything in every cycle; tests run both ways, and the statistics
//! must be equal. `next_event` may be too early, which costs time; too late is a bug.
//!
//! # Clocks of their own, and threads
//!
//! The order above is what happens, not the order in which it is computed. Four kinds of parts have a clock of
//! their own: an SM with its L1, the request network, a DRAM channel with its L2 slices, and the reply network.
//! Latencies say how far each can go without news of the others: a reply is known a network latency before it arrives, a request is known the
//! slice's tag latency before it is looked up. `gpu/sides.rs` computes these bounds. So an SM runs for a hundred
//! cycles at a time, with its state near the processor, and all parts can run at the same time on threads
//! ([`gpu::Stepping::Threads`]). Where a part depends on a place in a queue that may or may not have become free,
//! it stops until that is known. What is computed is the same in any order: reports are equal byte by byte.
//!
//! # Where to start reading
//!
//! 1. `configs/gpus/gtx480.ron`: what a machine is, each value with its source;
//! 2. [`simulate::simulate`]: a run from file to report, on one page;
//! 3. `gpu/sides.rs`, `cycle` and `window`, then `gpu/sm_side/mod.rs` and `gpu/sm_side/node.rs`: the heart;
//! 4. `sm/core.rs`, `tick`, then `sm/issue.rs` and `sm/lsu/unit.rs`;
//! 5. `l1/cache.rs`: the access path with its refusals;
//! 6. `sm/waits.rs` and `sm/journey.rs`;
//! 7. `tests/closed_forms.rs`: what can be computed on paper, held against the model.
//!
//! `CONTRIBUTING.md` says how to add things, with the files to touch for each.

pub mod calibrate;
pub mod cli;
pub mod config;
pub mod dram;
pub mod error;
pub mod frontend;
pub mod gpu;
pub mod heap;
pub mod isa;
pub mod l1;
pub mod l2;
pub mod limits;
pub mod native;
pub mod noc;
pub mod nvrtc;
pub mod partial;
pub mod parts;
mod prefetch;
pub mod report;
pub mod ring;
pub mod serial;
pub mod simulate;
pub mod sm;
pub mod stats;
pub mod study;
pub mod units;
pub mod workload;
