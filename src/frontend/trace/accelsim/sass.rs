//! Opcodes of machine code, and what they are to the timing model.
//!
//! Names: "CUDA Binary Utilities", section "Instruction Set Reference", tables of Volta to Hopper, and of Maxwell and Pascal. The
//! classes are those that the lowering of PTX gives the same instructions (`results/h200/lowering.md`).

use crate::isa::{AccessKind, ArithClass, CacheOp, Fence, MemoryOp, Observer, Op, Space, Turns};

/// An opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// What it does. A branch is one that may not be taken.
    pub op: Op,
    /// Registers that its destination fills, from the first one on.
    pub dsts: u8,
    /// Whether its first operand may be a predicate and the second its destination: the tracer has that among the sources.
    pub hides_result: bool,
    /// How its addresses are meant, where it has any.
    pub lanes: Lanes,
    /// The source that is the address, where it has one.
    pub address: Option<Address>,
    /// Registers that each source fills, but for the address.
    pub srcs: u8,
    /// Numbers of registers that its first three sources fill, where they are the matrices of a product.
    pub factors: Option<[u8; 3]>,
    /// Registers from one that is named of a source to the next: of the pairs of a product in double precision the first stands for
    /// both.
    pub apart: u8,
    /// Whether it reads from the register file, whose banks set its pace.
    pub reads: bool,
}

/// The source that is an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Which of the sources it is.
    pub place: Place,
    /// Registers that it fills.
    pub regs: u8,
}

/// One of the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The first one.
    First,
    /// The last one: behind an address of shared memory.
    Last,
}

/// Which lanes of an instruction have an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// Those that execute it.
    All,
    /// The first ones: rows of matrices.
    First(u8),
}

/// Classes of arithmetic, by the first word of an opcode.
const CLASSES: &[(ArithClass, &[&str])] = &[
    // Moves, constants (where their banks lie is not said), and what only takes a place among the instructions.
    (
        ArithClass::Move,
        &[
            "MOV",
            "MOV32I",
            "CS2R",
            "LDC",
            "ULDC",
            "B2R",
            "R2B",
            "BMOV",
            "BSSY",
            "BREAK",
            "SSY",
            "PBK",
            "PCNT",
            "DEPBAR",
            "LDGDEPBAR",
            "NOP",
            "WARPSYNC",
            "YIELD",
            "NANOSLEEP",
            "LEPC",
            "GETLMEMBASE",
            "SETLMEMBASE",
            "PMTRIG",
            "RPCMOV",
            // Other than for all lines.
            "CCTL",
            "CCTLL",
            "CCTLT",
            "ERRBAR",
            "CGAERRBAR",
            // Of kinds of accesses that the machine does not tell apart.
            "FENCE",
        ],
    ),
    (
        ArithClass::IntAdd,
        &[
            "BFE",
            "BFI",
            "BMSK",
            "CSET",
            "CSETP",
            "I2IP",
            "IABS",
            "IADD",
            "IADD3",
            "IADD32I",
            "ICMP",
            "IMNMX",
            "ISCADD",
            "ISCADD32I",
            "ISET",
            "ISETP",
            "ISUB",
            "LEA",
            "LOP",
            "LOP3",
            "LOP32I",
            "P2R",
            "PLOP3",
            "PRMT",
            "PSET",
            "PSETP",
            "R2P",
            "SEL",
            "SGXT",
            "SHF",
            "SHL",
            "SHR",
            "VABSDIFF",
            "VABSDIFF4",
            "VIADD",
            "VIADDMNMX",
            "VIMNMX",
            "VIMNMX3",
        ],
    ),
    (ArithClass::IntMul, &["IMUL", "IMUL32I"]),
    (ArithClass::IntMad, &["IDP", "IDP4A", "IMAD", "IMAD32I", "XMAD"]),
    (ArithClass::FpAdd, &["FADD", "FADD32I", "FSWZ", "FSWZADD", "I2FP"]),
    (
        ArithClass::FpCompare,
        &[
            "F2FP", "FCHK", "FCMP", "FMNMX", "FSEL", "FSET", "FSETP", "HMNMX2", "HSET2", "HSETP2",
            "VHMNMX",
        ],
    ),
    (ArithClass::FpMul, &["FMUL", "FMUL32I"]),
    (ArithClass::FpFma, &["FFMA", "FFMA32I"]),
    (ArithClass::Half, &["HADD2", "HADD2_32I", "HFMA2", "HFMA2_32I", "HMUL2", "HMUL2_32I"]),
    (ArithClass::DpAdd, &["DADD", "DMNMX", "DSET", "DSETP"]),
    (ArithClass::DpMul, &["DMUL"]),
    (ArithClass::DpFma, &["DFMA"]),
    (
        ArithClass::Sfu,
        &["BREV", "F2F", "F2I", "FLO", "FRND", "I2F", "I2I", "MUFU", "POPC", "RRO", "S2R"],
    ),
    (ArithClass::Shuffle, &["MOVM", "SHFL"]),
    (ArithClass::Vote, &["VOTE"]),
    (ArithClass::MatchAll, &["MATCH"]),
    (ArithClass::Reduce, &["REDUX"]),
    (ArithClass::ToUniform, &["R2UR"]),
    (
        ArithClass::Uniform,
        &[
            "S2UR",
            "UBMSK",
            "UBREV",
            "UCLEA",
            "UF2FP",
            "UFLO",
            "UIADD3",
            "UIMAD",
            "UISETP",
            "ULEA",
            "ULEPC",
            "ULOP",
            "ULOP3",
            "ULOP32I",
            "UMOV",
            "UP2UR",
            "UPLOP3",
            "UPOPC",
            "UPRMT",
            "UPSETP",
            "UR2UP",
            "USEL",
            "USETMAXREG",
            "USGXT",
            "USHF",
            "USHL",
            "USHR",
            "VOTEU",
        ],
    ),
    (ArithClass::Branch, &["BRA", "BRX", "BRXU"]),
    (
        ArithClass::Control,
        &["BRK", "CAL", "CALL", "CONT", "JCAL", "JMP", "JMX", "JMXU", "LONGJMP", "PRET", "RET"],
    ),
    (ArithClass::Converge, &["BSYNC", "SYNC"]),
];

/// What an opcode with its modifiers is; an error says why it is not simulated.
pub fn opcode(text: &str) -> Result<Opcode, String> {
    let (name, modifiers) = text.split_once('.').unwrap_or((text, ""));
    let has = |modifier: &str| modifiers.split('.').any(|one| one == modifier);
    if let Some(op) = memory(name, &has, modifiers) {
        let op = op?;
        let bytes = op.bytes;
        let is_store = matches!(op.kind, AccessKind::Store);
        let (dsts, lanes) = match name {
            "LDSM" | "STSM" => {
                let matrices = if has("4") {
                    4
                } else if has("2") {
                    2
                } else {
                    1
                };
                let dsts = if is_store { 0 } else { matrices };
                (dsts, Lanes::First(8 * matrices))
            }
            _ => (if is_store { 0 } else { bytes.div_ceil(4) }, Lanes::All),
        };
        let is_far = matches!(op.space, Space::Global | Space::Generic);
        let regs = if is_far && has("E") { 2 } else { 1 };
        let is_copy = name == "LDGSTS";
        let place = if is_copy { Place::Last } else { Place::First };
        return Ok(Opcode {
            op: Op::Memory(op),
            dsts,
            hides_result: matches!(name, "ATOM" | "ATOMG"),
            lanes,
            address: Some(Address { place, regs }),
            // What is stored or combined is as wide as the access.
            srcs: match (name, lanes) {
                ("STSM", Lanes::First(lanes)) => lanes / 8,
                _ if is_copy => 1,
                _ => bytes.div_ceil(4),
            },
            factors: None,
            apart: 1,
            reads: false,
        });
    }
    if name.ends_with("MMA") && !name.ends_with("GMMA") {
        return product(name, modifiers);
    }
    let op = match name {
        "BAR" if has("ARV") => {
            return Err("BAR.ARV: the trace does not have the barrier's number".to_owned());
        }
        "BAR" => Op::Barrier,
        "MATCH" if has("ANY") => Op::Match,
        // What a CTA sees is in order in any case.
        "MEMBAR" if has("CTA") || has("SM") => Op::Arith(ArithClass::Control),
        "MEMBAR" => {
            let observer = if has("SYS") { Observer::System } else { Observer::Gpu };
            Op::Fence(Fence { release: Some(observer), acquire: false })
        }
        "CCTL" if has("IVALL") => Op::Fence(Fence { release: None, acquire: true }),
        "EXIT" => Op::Exit,
        "IMAD" | "XMAD" if has("MOV") => Op::Arith(ArithClass::Move),
        "HADD2" if modifiers.starts_with("F32") => Op::Arith(ArithClass::IntMad),
        "HFMA2" if has("MMA") => Op::Arith(ArithClass::HalfTensor),
        "IMAD" | "IMUL" if has("WIDE") || has("HI") => Op::Arith(ArithClass::IntMulWide),
        _ => {
            let class = CLASSES.iter().find(|(_, names)| names.contains(&name));
            let Some((class, _)) = class else { return Err(refusal(name)) };
            Op::Arith(*class)
        }
    };
    let is_double =
        matches!(op, Op::Arith(ArithClass::DpAdd | ArithClass::DpMul | ArithClass::DpFma));
    let is_pair = match op {
        _ if is_double => !name.contains("SET"),
        Op::Arith(ArithClass::IntMulWide) => has("WIDE"),
        Op::Arith(ArithClass::Move) if name == "CS2R" => !has("32"),
        Op::Arith(ArithClass::Move) => has("64") && (name == "LDC" || name == "ULDC"),
        // Of two types, the first is that of the result.
        Op::Arith(ArithClass::Sfu) => {
            ["F64", "U64", "S64"].iter().any(|wide| modifiers.starts_with(wide))
        }
        _ => false,
    };
    let reads = match op {
        Op::Arith(
            ArithClass::Move
            | ArithClass::Sfu
            | ArithClass::Shuffle
            | ArithClass::MatchAll
            | ArithClass::Reduce
            | ArithClass::Control
            | ArithClass::Branch
            | ArithClass::Converge,
        ) => false,
        Op::Arith(_) => true,
        _ => false,
    };
    Ok(Opcode {
        op,
        dsts: if is_pair { 2 } else { 1 },
        hides_result: matches!(name, "SHFL" | "MATCH" | "LOP3"),
        lanes: Lanes::All,
        address: None,
        srcs: if is_double { 2 } else { 1 },
        factors: None,
        apart: 1,
        reads,
    })
}

/// A matrix product of a warp.
fn product(name: &str, modifiers: &str) -> Result<Opcode, String> {
    use ArithClass::{DpMma4, DpMma8, DpMma16, DpMmaSmall, Mma, MmaHalf, MmaSmall};
    let (shape, types) = modifiers.split_once('.').unwrap_or((modifiers, ""));
    let has_half_sums = name == "HMMA" && types.starts_with("F16");
    let of_16_rows = if has_half_sums { 2 } else { 4 };
    let is_tf32 = types.contains("TF32");
    // Registers of the factors, and of the sums.
    let (class, a, b, sums) = match (name, shape) {
        ("HMMA", "1688") if is_tf32 => (Mma, 4, 2, 4),
        ("HMMA", "16816") | ("IMMA", "16832") | ("BMMA", "168256") => (Mma, 4, 2, of_16_rows),
        ("HMMA", "1684") if is_tf32 => (MmaHalf, 2, 1, 4),
        ("HMMA", "1688") | ("IMMA", "16816") | ("BMMA", "168128") => (MmaHalf, 2, 1, of_16_rows),
        ("IMMA", "8816") | ("BMMA", "88128") => (MmaSmall, 1, 1, 2),
        ("DMMA", "884" | "8x8x4") => (DpMmaSmall, 1, 1, 2),
        ("DMMA", "16x8x4") => (DpMma4, 2, 1, 4),
        ("DMMA", "16x8x8") => (DpMma8, 4, 2, 4),
        ("DMMA", "16x8x16") => (DpMma16, 8, 4, 4),
        _ => return Err(format!("{name}: products of {shape} are not simulated")),
    };
    let is_double = name == "DMMA";
    Ok(Opcode {
        op: Op::Arith(class),
        dsts: if is_double { 2 * sums } else { sums },
        hides_result: false,
        lanes: Lanes::All,
        address: None,
        srcs: 1,
        factors: Some([a, b, sums]),
        apart: if is_double { 2 } else { 1 },
        reads: true,
    })
}

/// A memory instruction; `None` where it is none.
fn memory(
    name: &str,
    has: &dyn Fn(&str) -> bool,
    modifiers: &str,
) -> Option<Result<MemoryOp, String>> {
    let atomic = match has("CAS") || has("CAST") {
        true => Turns::LanesTwice,
        false if has("POPC") => Turns::Words,
        false => Turns::Lanes,
    };
    let (space, kind) = match name {
        "LDG" => (Space::Global, AccessKind::Load),
        "LDGSTS" => (Space::Global, AccessKind::Copy),
        "STG" => (Space::Global, AccessKind::Store),
        "LD" => (Space::Generic, AccessKind::Load),
        "ST" => (Space::Generic, AccessKind::Store),
        "LDS" => (Space::Shared, AccessKind::Load),
        "LDSM" => (Space::Shared, AccessKind::LoadMatrix),
        "STS" | "STSM" => (Space::Shared, AccessKind::Store),
        "LDL" => (Space::Local, AccessKind::Load),
        "STL" => (Space::Local, AccessKind::Store),
        "ATOMG" | "RED" | "REDG" => (Space::Global, AccessKind::Atomic(atomic)),
        "ATOM" => (Space::Generic, AccessKind::Atomic(atomic)),
        "ATOMS" => (Space::Shared, AccessKind::Atomic(atomic)),
        _ => return None,
    };
    let cache = match () {
        // The L2 does them, whoever is to see it.
        () if matches!(kind, AccessKind::Atomic(_)) => CacheOp::Default,
        () if has("CONSTANT") || has("CI") => CacheOp::ReadOnly,
        () if has("STRONG") && has("SYS") || has("CV") => CacheOp::Volatile,
        // `.cg` of PTX becomes this where the whole GPU is to see it.
        () if has("STRONG") && has("GPU") || has("CG") || has("BYPASS") => CacheOp::Global,
        () if has("EF") || has("EU") || has("CS") => CacheOp::Streaming,
        () if has("NA") || has("LU") => CacheOp::LastUse,
        () if has("EL") => CacheOp::Keep,
        () => CacheOp::Default,
    };
    let bytes = match name {
        // A row of a matrix.
        "LDSM" | "STSM" => Ok(16),
        _ => width(modifiers),
    };
    Some(bytes.map(|bytes| MemoryOp { space, kind, bytes, cache }))
}

/// Bytes of one lane's access. The tracer's own width is not that: the tracer states it to be wrong at times.
fn width(modifiers: &str) -> Result<u8, String> {
    for word in modifiers.split('.') {
        let digits = word.strip_prefix(['U', 'S', 'F', 'B']).unwrap_or(word);
        // Of types as they stand in atomics: `F16x2`.
        let digits = digits.strip_suffix("x2").unwrap_or(digits);
        if let Ok(bits) = digits.parse::<u32>() {
            let bits = if word.ends_with("x2") { 2 * bits } else { bits };
            return match bits {
                8 | 16 | 32 | 64 | 128 => Ok((bits / 8) as u8),
                _ => Err(format!("an access of {bits} bits")),
            };
        }
    }
    Ok(4)
}

/// Why an opcode is not simulated.
fn refusal(name: &str) -> String {
    let is_one_of = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let what = match () {
        () if is_one_of(&[
            "TEX", "TLD", "TXD", "TXQ", "TXA", "TMML", "SUL", "SUS", "SUR", "SUA", "SUQ",
        ]) =>
        {
            "textures and surfaces are not simulated"
        }
        () if is_one_of(&["HGMMA", "IGMMA", "QGMMA", "BGMMA", "WARPGROUP"]) => {
            "products of warpgroups are not read from these traces"
        }
        () if is_one_of(&["UTMA", "UBLK", "SYNCS", "ARRIVES"]) => {
            "bulk copies and their barriers are not simulated"
        }
        () => "this opcode is not known",
    };
    format!("{name}: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(space: Space, bytes: u8, cache: CacheOp) -> Op {
        Op::Memory(MemoryOp { space, kind: AccessKind::Load, bytes, cache })
    }

    #[test]
    fn memory_instructions_say_where_and_how_much() {
        let of = |text: &str| opcode(text).unwrap();
        let wide = of("LDG.E.128.CONSTANT.SYS");
        assert_eq!(wide.op, load(Space::Global, 16, CacheOp::ReadOnly));
        let address = |place: Place, regs: u8| Some(Address { place, regs });
        assert_eq!((wide.dsts, wide.address), (4, address(Place::First, 2)));
        assert_eq!(of("LDG.E.SYS").op, load(Space::Global, 4, CacheOp::Default));
        assert_eq!(of("LDG.E.U8").op, load(Space::Global, 1, CacheOp::Default));
        assert_eq!(of("LDG.E.S16").op, load(Space::Global, 2, CacheOp::Default));
        assert_eq!(of("LDG.E.64.STRONG.GPU").op, load(Space::Global, 8, CacheOp::Global));
        assert_eq!(of("LDG.E.STRONG.SYS").op, load(Space::Global, 4, CacheOp::Volatile));
        assert_eq!(of("LDG.E.EF").op, load(Space::Global, 4, CacheOp::Streaming));
        assert_eq!(of("LDG.E.NA").op, load(Space::Global, 4, CacheOp::LastUse));
        assert_eq!(of("LDG.E.LU").op, load(Space::Global, 4, CacheOp::LastUse));
        assert_eq!(of("LDG.E.EL").op, load(Space::Global, 4, CacheOp::Keep));
        let rows = of("LDSM.16.M88.4");
        let matrices = |kind: AccessKind| {
            Op::Memory(MemoryOp { space: Space::Shared, kind, bytes: 16, cache: CacheOp::Default })
        };
        assert_eq!(rows.op, matrices(AccessKind::LoadMatrix));
        assert_eq!((rows.dsts, rows.lanes), (4, Lanes::First(32)));
        let back = of("STSM.16.MT88.2");
        assert_eq!(back.op, matrices(AccessKind::Store));
        assert_eq!((back.dsts, back.srcs, back.lanes), (0, 2, Lanes::First(16)));
        let store = of("STG.E.64");
        assert_eq!((store.dsts, store.srcs, store.address), (0, 2, address(Place::First, 2)));
        let copy = of("LDGSTS.E.BYPASS.128");
        let (space, kind, bytes, cache) = (Space::Global, AccessKind::Copy, 16, CacheOp::Global);
        assert_eq!(copy.op, Op::Memory(MemoryOp { space, kind, bytes, cache }));
        assert_eq!(copy.address, address(Place::Last, 2));
        let atomic = |kind: Turns, space: Space, bytes: u8| {
            let kind = AccessKind::Atomic(kind);
            Op::Memory(MemoryOp { space, kind, bytes, cache: CacheOp::Default })
        };
        assert_eq!(of("ATOMS.CAST.SPIN").op, atomic(Turns::LanesTwice, Space::Shared, 4));
        assert_eq!(of("ATOMS.POPC.INC.32").op, atomic(Turns::Words, Space::Shared, 4));
        assert_eq!(
            of("RED.E.ADD.F32.FTZ.RN.STRONG.GPU").op,
            atomic(Turns::Lanes, Space::Global, 4)
        );
        assert_eq!(of("RED.E.ADD.F16x2.RN").op, atomic(Turns::Lanes, Space::Global, 4));
    }

    #[test]
    fn arithmetic_has_the_classes_of_the_lowering() {
        let class = |text: &str| match opcode(text).unwrap() {
            Opcode { op: Op::Arith(class), dsts, .. } => (class, dsts),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(class("IMAD.MOV.U32"), (ArithClass::Move, 1));
        assert_eq!(class("IMAD.WIDE.U32"), (ArithClass::IntMulWide, 2));
        assert_eq!(class("IMAD.HI.U32"), (ArithClass::IntMulWide, 1));
        assert_eq!(class("IMAD.IADD"), (ArithClass::IntMad, 1));
        assert_eq!(class("IADD3.X"), (ArithClass::IntAdd, 1));
        assert_eq!(class("HADD2.BF16_V2"), (ArithClass::Half, 1));
        assert_eq!(class("HADD2.F32"), (ArithClass::IntMad, 1));
        assert_eq!(class("HFMA2.MMA.RELU"), (ArithClass::HalfTensor, 1));
        assert_eq!(class("DFMA"), (ArithClass::DpFma, 2));
        assert_eq!(class("DSETP.GT.AND"), (ArithClass::DpAdd, 1));
        assert_eq!(class("F2F.F64.F32"), (ArithClass::Sfu, 2));
        assert_eq!(class("F2F.F32.F64"), (ArithClass::Sfu, 1));
        assert_eq!(class("S2R"), (ArithClass::Sfu, 1));
        assert_eq!(class("CS2R"), (ArithClass::Move, 2));
        assert_eq!(class("CS2R.32"), (ArithClass::Move, 1));
        assert_eq!(class("F2I.S64.F64.TRUNC"), (ArithClass::Sfu, 2));
        assert_eq!(class("ULDC.64"), (ArithClass::Move, 2));
        assert_eq!(class("BSYNC"), (ArithClass::Converge, 1));
        assert_eq!(opcode("BAR.SYNC.DEFER_BLOCKING").unwrap().op, Op::Barrier);
        assert_eq!(class("MEMBAR.ALL.CTA"), (ArithClass::Control, 1));
        let fence = |text: &str| match opcode(text).unwrap().op {
            Op::Fence(Fence { release, acquire }) => (release, acquire),
            op => panic!("{text} is {op:?}"),
        };
        assert_eq!(fence("MEMBAR.SC.GPU"), (Some(Observer::Gpu), false));
        assert_eq!(fence("MEMBAR.ALL.SYS"), (Some(Observer::System), false));
        assert_eq!(fence("CCTL.IVALL"), (None, true));
    }

    #[test]
    fn products_name_the_registers_of_their_matrices() {
        use ArithClass::{DpMma8, DpMmaSmall, Mma, MmaHalf, MmaSmall};
        let product = |text: &str| {
            let of = opcode(text).unwrap();
            assert!(of.reads && of.address.is_none() && of.lanes == Lanes::All, "{text}");
            (of.op, of.dsts, of.factors.unwrap())
        };
        let of = |class, dsts, factors| (Op::Arith(class), dsts, factors);
        assert_eq!(product("HMMA.16816.F32"), of(Mma, 4, [4, 2, 4]));
        assert_eq!(product("HMMA.16816.F32.BF16"), of(Mma, 4, [4, 2, 4]));
        assert_eq!(product("HMMA.16816.F16"), of(Mma, 2, [4, 2, 2]));
        assert_eq!(product("HMMA.1688.F32.TF32"), of(Mma, 4, [4, 2, 4]));
        assert_eq!(product("HMMA.1688.F32"), of(MmaHalf, 4, [2, 1, 4]));
        assert_eq!(product("HMMA.1684.F32.TF32"), of(MmaHalf, 4, [2, 1, 4]));
        assert_eq!(product("IMMA.16832.S8.S8.SAT"), of(Mma, 4, [4, 2, 4]));
        assert_eq!(product("IMMA.8816.U8.S8"), of(MmaSmall, 2, [1, 1, 2]));
        // Doubles are written as pairs of registers, and named by the first.
        assert_eq!(product("DMMA.884"), of(DpMmaSmall, 4, [1, 1, 2]));
        assert_eq!(product("DMMA.16x8x8"), of(DpMma8, 8, [4, 2, 4]));
    }

    #[test]
    fn what_is_not_simulated_is_refused_by_name() {
        let refused = |text: &str| opcode(text).unwrap_err();
        assert_eq!(refused("HMMA.884.F32.F32.STEP0"), "HMMA: products of 884 are not simulated");
        assert_eq!(refused("TEX.SCR.LL"), "TEX: textures and surfaces are not simulated");
        assert_eq!(
            refused("UTMALDG.2D"),
            "UTMALDG: bulk copies and their barriers are not simulated"
        );
        assert_eq!(
            refused("HGMMA.64x64x16.F32"),
            "HGMMA: products of warpgroups are not read from these traces"
        );
        assert_eq!(refused("FROBNICATE"), "FROBNICATE: this opcode is not known");
        assert_eq!(refused("LDG.E.96"), "an access of 96 bits");
    }

    #[test]
    fn no_name_has_two_classes() {
        let mut names: Vec<&str> = CLASSES.iter().flat_map(|(_, names)| *names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
