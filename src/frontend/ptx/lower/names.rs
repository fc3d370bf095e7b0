//! Names and the rows they stand for.

use std::collections::HashMap;

use super::super::ast::{Name, RegDecl, VarSpace};
use super::super::exec::Kind;
use super::super::program::{Constant, ConstantRow, FIXED_PREDS, FrameSlot, SINK, Special};
use super::variables::Placed;
use crate::isa::Reg;

/// What a declared name stands for.
#[derive(Clone, Copy, Debug)]
enum Symbol {
    Declared(Kind),
    Register(Kind, u16, Reg),
    /// Space, address and size.
    Variable(VarSpace, u64, u64),
}

#[derive(Debug, Default)]
struct Scope {
    parent: usize,
    symbols: HashMap<String, Symbol>,
    /// `%r<16>`: kind and number of the registers that start so.
    families: HashMap<String, (Kind, u64)>,
    labels: HashMap<String, u32>,
    /// Tables of indirect branches, with the instructions of their labels.
    tables: HashMap<String, Vec<u32>>,
}

/// Every name of an entry. Registers get their row when they are first used.
#[derive(Debug)]
pub struct Names {
    scopes: Vec<Scope>,
    current: usize,
    /// How often a scope was opened; the second pass opens them in the same order.
    opened: usize,
    constants: HashMap<(Constant, bool), u16>,
    /// Constant rows in the order of their making.
    rows: Vec<ConstantRow>,
    sinks: [Option<u16>; 2],
    /// Rows for factors of products of warpgroups.
    factors: Option<[u16; 6]>,
    /// Rows of up to 32 bits.
    pub narrow_rows: u16,
    /// Rows of 64 bits.
    pub wide_rows: u16,
    /// Predicates.
    pub pred_rows: u16,
    /// 32-bit registers that each register of the timing model fills.
    pub weights: Vec<u8>,
    /// Whether there were more registers than numbers.
    pub overflow: bool,
}

impl Default for Names {
    fn default() -> Self {
        Names {
            scopes: vec![Scope::default()],
            current: 0,
            opened: 0,
            constants: HashMap::new(),
            rows: Vec::new(),
            sinks: [None; 2],
            factors: None,
            narrow_rows: 0,
            wide_rows: 0,
            pred_rows: FIXED_PREDS,
            weights: Vec::new(),
            overflow: false,
        }
    }
}

impl Names {
    /// Enters a block.
    pub fn open(&mut self) {
        self.opened += 1;
        if self.opened == self.scopes.len() {
            self.scopes.push(Scope { parent: self.current, ..Scope::default() });
        }
        self.current = self.opened;
    }

    /// Leaves a block.
    pub fn close(&mut self) {
        self.current = self.scopes[self.current].parent;
    }

    /// The present place, for [`Names::rewind`].
    pub fn mark(&self) -> (usize, usize) {
        (self.current, self.opened)
    }

    /// Goes back to a place for a second pass over the same blocks.
    pub fn rewind(&mut self, mark: (usize, usize)) {
        (self.current, self.opened) = mark;
    }

    /// Declares a label; `false` when the block has it already.
    pub fn declare_label(&mut self, name: &str, pc: u32) -> bool {
        self.scopes[self.current].labels.insert(name.to_owned(), pc).is_none()
    }

    /// Declares a table of an indirect branch; `false` when the block has it already.
    pub fn declare_table(&mut self, name: &str, targets: Vec<u32>) -> bool {
        self.scopes[self.current].tables.insert(name.to_owned(), targets).is_none()
    }

    /// Declares registers.
    pub fn declare_registers(&mut self, decl: &RegDecl) {
        let kind = match decl.ty.bytes() {
            0 => Kind::Pred,
            8 => Kind::Wide,
            _ => Kind::Narrow,
        };
        let scope = &mut self.scopes[self.current];
        match decl.count {
            Some(count) => {
                scope.families.insert(decl.name.clone(), (kind, count));
            }
            None => {
                scope.symbols.insert(decl.name.clone(), Symbol::Declared(kind));
            }
        }
    }

    /// Declares variables.
    pub fn declare_variables<'a>(&mut self, placed: impl IntoIterator<Item = &'a Placed>) {
        for Placed { name, space, address, bytes } in placed {
            let symbol = Symbol::Variable(*space, *address, *bytes);
            self.scopes[self.current].symbols.insert(name.clone(), symbol);
        }
    }

    /// The scopes from the current one outwards.
    fn chain(&self) -> impl Iterator<Item = usize> {
        let mut next = Some(self.current);
        std::iter::from_fn(move || {
            let scope = next?;
            next = (scope != 0).then(|| self.scopes[scope].parent);
            Some(scope)
        })
    }

    fn find(&self, name: &str) -> Option<(usize, Symbol)> {
        self.chain().find_map(|scope| {
            let Scope { symbols, families, .. } = &self.scopes[scope];
            if let Some(symbol) = symbols.get(name) {
                return Some((scope, *symbol));
            }
            if families.is_empty() {
                return None;
            }
            members(name).find_map(|(family, number)| {
                let (kind, count) = families.get(family)?;
                (number < *count).then_some((scope, Symbol::Declared(*kind)))
            })
        })
    }

    /// The instruction that a label stands before.
    pub fn label(&self, name: &str) -> Option<u32> {
        self.chain().find_map(|scope| self.scopes[scope].labels.get(name).copied())
    }

    /// The instructions that the labels of a table stand before.
    pub fn table(&self, name: &str) -> Option<&[u32]> {
        self.chain().find_map(|scope| self.scopes[scope].tables.get(name).map(Vec::as_slice))
    }

    /// What kind of register a name is: predicate, narrow or wide.
    pub fn kind(&self, name: &Name) -> Option<Kind> {
        match self.find(&name.name)?.1 {
            _ if name.part.is_some() => None,
            Symbol::Declared(kind) | Symbol::Register(kind, ..) => Some(kind),
            Symbol::Variable(..) => None,
        }
    }

    /// Space and address of a variable.
    pub fn variable(&self, name: &str) -> Option<(VarSpace, u64)> {
        match self.find(name)?.1 {
            Symbol::Variable(space, address, _) => Some((space, address)),
            _ => None,
        }
    }

    /// The place of a variable in its frame.
    pub fn frame_slot(&self, name: &str) -> Option<FrameSlot> {
        match self.find(name)?.1 {
            Symbol::Variable(VarSpace::Local, address, bytes) => {
                Some(FrameSlot { offset: address as u32, bytes: bytes as u32 })
            }
            _ => None,
        }
    }

    /// Row and number of a register that can hold `kind`.
    pub fn register(&mut self, name: &Name, kind: Kind) -> Option<(u16, Reg)> {
        let (scope, symbol) = self.find(&name.name)?;
        let wanted = match kind {
            Kind::F32 => Kind::Narrow,
            Kind::F64 => Kind::Wide,
            _ => kind,
        };
        match symbol {
            _ if name.part.is_some() => None,
            Symbol::Register(kind, row, reg) => (kind == wanted).then_some((row, reg)),
            Symbol::Declared(kind) if kind == wanted => {
                let row = self.new_row(kind).unwrap_or_default();
                let reg = self.weights.len();
                self.overflow |= reg >= usize::from(Reg::MAX);
                if !self.overflow {
                    self.weights.push(match kind {
                        Kind::Pred => 0,
                        Kind::Wide => 2,
                        _ => 1,
                    });
                }
                let symbol = Symbol::Register(kind, row, reg as Reg);
                self.scopes[scope].symbols.insert(name.name.clone(), symbol);
                Some((row, reg as Reg))
            }
            _ => None,
        }
    }

    /// Row and number of the thread's carry, a predicate without a name in the text.
    pub fn carry(&mut self) -> (u16, Reg) {
        // No name of the text has a space.
        let name = Name { name: "condition code".into(), part: None };
        let declared = Symbol::Declared(Kind::Pred);
        self.scopes[0].symbols.entry(name.name.clone()).or_insert(declared);
        self.register(&name, Kind::Pred).unwrap_or((SINK, 0))
    }

    fn new_row(&mut self, kind: Kind) -> Option<u16> {
        let rows = match kind {
            Kind::Pred => &mut self.pred_rows,
            Kind::Wide | Kind::F64 => &mut self.wide_rows,
            Kind::Narrow | Kind::F32 => &mut self.narrow_rows,
        };
        let row = *rows;
        match row.checked_add(1) {
            Some(more) => *rows = more,
            None => self.overflow = true,
        }
        (!self.overflow).then_some(row)
    }

    /// The row that holds a constant; `None` when there are too many.
    pub fn constant(&mut self, value: Constant, wide: bool) -> Option<u16> {
        if let Some(row) = self.constants.get(&(value, wide)) {
            return Some(*row);
        }
        let row = self.new_row(if wide { Kind::Wide } else { Kind::Narrow })?;
        self.constants.insert((value, wide), row);
        self.rows.push(ConstantRow { wide, row, value });
        Some(row)
    }

    /// A row that is written and never read.
    pub fn sink(&mut self, wide: bool) -> u16 {
        if let Some(row) = self.sinks[usize::from(wide)] {
            return row;
        }
        let row = self.new_row(if wide { Kind::Wide } else { Kind::Narrow }).unwrap_or_default();
        self.sinks[usize::from(wide)] = Some(row);
        row
    }

    /// Rows that products of warpgroups read their factors in.
    pub fn factors(&mut self) -> [u16; 6] {
        if let Some(rows) = self.factors {
            return rows;
        }
        let rows = [(); 6].map(|()| self.new_row(Kind::Narrow).unwrap_or_default());
        self.factors = Some(rows);
        rows
    }

    /// The constant rows.
    pub fn constants(&self) -> Vec<ConstantRow> {
        self.rows.clone()
    }
}

/// The families that a name may be one of, and its number there: `a12` may be number 12 of `a`, or number 2 of `a1`.
fn members(name: &str) -> impl Iterator<Item = (&str, u64)> {
    /// Digits of the largest number.
    const MOST_DIGITS: usize = 20;
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let first = stem.max(name.len().saturating_sub(MOST_DIGITS));
    (first..name.len()).filter_map(move |split| {
        let (family, digits) = name.split_at(split);
        let canonical = digits == "0" || !digits.starts_with('0');
        Some((family, digits.parse().ok()?)).filter(|_| canonical)
    })
}

/// The special register of a name.
///
/// Source: PTX ISA 9.0, chapter 10 "Special registers".
pub fn special(name: &Name) -> Option<Special> {
    let axis = match name.part.as_deref() {
        Some("x") => Some(0),
        Some("y") => Some(1),
        Some("z") => Some(2),
        Some("w") if name.name.starts_with("%cluster_") => return Some(Special::Fixed(0)),
        Some(_) => return None,
        None => None,
    };
    Some(match (name.name.as_str(), axis) {
        ("%tid", Some(axis)) => Special::Tid(axis),
        ("%ntid", Some(axis)) => Special::Ntid(axis),
        ("%ctaid", Some(axis)) => Special::Ctaid(axis),
        ("%nctaid", Some(axis)) => Special::Nctaid(axis),
        ("%laneid", None) => Special::LaneId,
        ("%warpid", None) => Special::WarpId,
        ("%nwarpid", None) => Special::WarpCount,
        ("%lanemask_eq", None) => Special::MaskEq,
        ("%lanemask_le", None) => Special::MaskLe,
        ("%lanemask_lt", None) => Special::MaskLt,
        ("%lanemask_ge", None) => Special::MaskGe,
        ("%lanemask_gt", None) => Special::MaskGt,
        ("%total_smem_size", None) => Special::SharedBytes { dynamic: false },
        ("%dynamic_smem_size", None) => Special::SharedBytes { dynamic: true },
        ("%aggr_smem_size", None) => Special::SharedBytes { dynamic: false },
        // A chip of one SM whose warps and grids have number 0, without clusters.
        ("%smid" | "%gridid" | "%is_explicit_cluster", None) => Special::Fixed(0),
        ("%nsmid", None) => Special::Fixed(1),
        ("%cluster_ctaid", Some(_)) | ("%cluster_ctarank", None) => Special::Fixed(0),
        ("%cluster_nctaid", Some(_)) | ("%cluster_nctarank", None) => Special::Fixed(1),
        ("%clusterid", Some(axis)) => Special::Ctaid(axis),
        ("%nclusterid", Some(axis)) => Special::Nctaid(axis),
        ("%current_graph_exec" | "%reserved_smem_offset_begin", None) => Special::Fixed(0),
        (name, None) if name.strip_prefix("%envreg").is_some_and(is_number) => Special::Fixed(0),
        (name, None) if name.strip_prefix("%pm").is_some_and(is_number) => Special::Fixed(0),
        _ => return None,
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The bits of a clock register: how many, and from which on. Clocks count the warp's own
/// instructions: they rise, they are the same in every run, and they depend on no machine.
pub fn clock(name: &str) -> Option<(u32, u32)> {
    Some(match name {
        "%clock" | "%globaltimer_lo" => (32, 0),
        "%clock_hi" | "%globaltimer_hi" => (32, 32),
        "%clock64" | "%globaltimer" => (64, 0),
        _ => return None,
    })
}
