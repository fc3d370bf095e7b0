//! `gsim trace dump`: what a warp executes, as text.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::frontend::trace::TraceReader;
use crate::isa::{
    AccessKind, BarrierUse, BulkCopy, CacheOp, Cta, GroupProduct, Inst, Kernel, LaneAddresses,
    LaunchSource, MbarrierUse, MemoryOp, Op, Reg, Rows, Shape, WarpCursor, WarpStream, Warpgroup,
    lanes, way_and_place,
};
use crate::report::number::counted;

/// Arguments of `gsim trace dump`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DumpArgs {
    /// The trace.
    #[arg(value_name = "FILE.gtrace")]
    file: PathBuf,
    /// Number of the launch, from 0.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    launch: u32,
    /// Number of the CTA, from 0.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    cta: u64,
    /// Number of the warp in the CTA, from 0.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    warp: u32,
}

pub(super) fn dump(args: &DumpArgs) -> Result<String> {
    let mut reader = TraceReader::open(&args.file)?;
    let missing = |what: String, there: String| {
        Err(Error::input(format!("there is no {what}")).hint(there).in_file(&args.file))
    };
    let mut left = args.launch;
    let kernel = loop {
        match reader.begin()? {
            Some(kernel) if left == 0 => break kernel,
            Some(_) => left -= 1,
            None => {
                let launches = reader.header().launches;
                return missing(
                    format!("launch {}", args.launch),
                    format!("the trace has {launches}, from 0 on"),
                );
            }
        }
    };
    if args.cta >= kernel.ctas {
        let there = format!("{} has {}, from 0 on", kernel.name, kernel.ctas);
        return missing(format!("CTA {}", args.cta), there);
    }
    let mut cta = Cta::default();
    for _ in 0..=args.cta {
        reader.next(&mut cta)?;
    }
    let Some(warp) = cta.warps.get(args.warp as usize) else {
        let there = format!("a CTA of {} has {}, from 0 on", kernel.name, cta.warps.len());
        return missing(format!("warp {}", args.warp), there);
    };
    let mut text = format!(
        "launch {}: {}, {} of {}\nCTA {}, warp {}: {}\n\n\
         place  lanes     instruction\n",
        args.launch,
        kernel.name,
        counted(kernel.ctas, "CTA", "CTAs"),
        counted(kernel.cta_threads.into(), "thread", "threads"),
        args.cta,
        args.warp,
        counted(warp.instructions(), "instruction", "instructions")
    );
    list(&kernel, warp, &mut text);
    Ok(text)
}

/// A line for each instruction that a warp executed.
fn list(kernel: &Kernel, warp: &WarpStream, text: &mut String) {
    let mut cursor = WarpCursor::default();
    while let Some(run) = cursor.take_run(warp) {
        for place in run.pc..run.pc + run.len {
            let inst = &kernel.insts[place as usize];
            let _ = write!(text, "{place:>5}  {:08x}  {}", run.mask, words(inst));
            match inst.op {
                Op::Memory(MemoryOp { kind, .. }) => {
                    let addresses = cursor.addresses(warp);
                    if addresses.mask != run.mask {
                        let _ = write!(text, "  lanes {:08x}", addresses.mask);
                    }
                    text.push_str("  ");
                    text.push_str(&places(&addresses, kind == AccessKind::Copy));
                }
                Op::Match => {
                    let values = cursor.addresses(warp).distinct();
                    let _ = write!(text, "  {}", counted(values.into(), "value", "values"));
                }
                Op::Barrier => {
                    let BarrierUse { id, warps, kind } = cursor.barrier(warp);
                    let warps = match warps {
                        0 => "all warps".to_owned(),
                        warps => counted(warps.into(), "warp", "warps"),
                    };
                    let _ = write!(text, " {id} of {warps}, {kind:?}");
                }
                Op::Mbarrier(_) => {
                    let MbarrierUse { id, arrivals } = cursor.mbarrier(warp);
                    let _ =
                        write!(text, " {id}, {}", counted(arrivals.into(), "arrival", "arrivals"));
                }
                Op::Bulk(kind) => {
                    for copy in cursor.bulk(warp) {
                        let _ = match copy.in_global() {
                            None => write!(text, "  nothing of a box"),
                            Some(place) => {
                                write!(text, "  {} B at 0x{:x}", copy.bytes_copied(), place.start)
                            }
                        };
                        if kind == BulkCopy::ToShared {
                            let _ = write!(text, " for mbarrier {}", copy.mbarrier);
                        }
                    }
                }
                Op::Arith(_) | Op::Fence(_) | Op::Copies(_) | Op::Warpgroup(_) | Op::Exit => {}
            }
            text.push('\n');
        }
    }
}

/// An instruction and its registers.
fn words(inst: &Inst) -> String {
    let mut text = match inst.op {
        Op::Arith(class) => format!("{class:?}"),
        Op::Memory(MemoryOp { space, kind, bytes, cache }) => {
            let kind = kind.name();
            // As PTX writes it.
            let cache = match cache {
                CacheOp::Default => "",
                CacheOp::Global => ".cg",
                CacheOp::Streaming => ".cs",
                CacheOp::LastUse => ".lu",
                CacheOp::Keep => ".L1::evict_last",
                CacheOp::Volatile => ".cv",
                CacheOp::ReadOnly => ".nc",
            };
            format!("{kind}.{space:?}{cache} {bytes} B")
        }
        Op::Match => "Match".to_owned(),
        Op::Barrier => "Barrier".to_owned(),
        Op::Mbarrier(mbarrier) => format!("Mbarrier {mbarrier:?}"),
        Op::Fence(fence) => match fence.release {
            Some(observer) => format!("{} {observer:?}", fence.name()),
            None => fence.name().to_owned(),
        },
        Op::Copies(copies) => format!("Copies {copies:?}"),
        Op::Bulk(kind) => format!("Bulk {kind:?}"),
        Op::Warpgroup(Warpgroup::Multiply(GroupProduct { columns, from_registers, commits })) => {
            let from = if from_registers { ", A from registers" } else { "" };
            let commits = if commits { ", ends its group" } else { "" };
            format!("Warpgroup multiply, {columns} columns{from}{commits}")
        }
        Op::Warpgroup(other) => format!("Warpgroup {other:?}"),
        Op::Exit => "Exit".to_owned(),
    };
    if let Some(guard) = inst.guard {
        let _ = write!(text, " @r{guard}");
    }
    let named = |operands: &[Reg]| {
        let regs = operands.iter().filter(|reg| Some(**reg) != inst.guard);
        regs.map(|reg| format!(" r{reg}")).collect::<String>()
    };
    let (dsts, srcs) = (named(inst.dsts.as_slice()), named(inst.srcs.as_slice()));
    text.push_str(&dsts);
    if !srcs.is_empty() {
        text.push_str(" <-");
        text.push_str(&srcs);
    }
    text
}

/// The addresses of the lanes.
fn places(addresses: &LaneAddresses, is_copy: bool) -> String {
    match &addresses.shape {
        _ if addresses.mask == 0 => "none".to_owned(),
        Shape::Affine { base, stride } => format!("0x{base:x} + {stride} lane"),
        Shape::Rows { base, rows: Rows { width, across, down } } => {
            format!("0x{base:x} + {across} (lane % {width}) + {down} (lane / {width})")
        }
        Shape::Scattered(all) => {
            // A copy has the number of its way in front, if it is not the first.
            let words = lanes(addresses.mask).map(|lane| match way_and_place(all[lane]) {
                (way, address) if is_copy && way > 0 => format!("{way}:0x{address:x}"),
                _ => format!("0x{:x}", all[lane]),
            });
            words.collect::<Vec<_>>().join(" ")
        }
    }
}
