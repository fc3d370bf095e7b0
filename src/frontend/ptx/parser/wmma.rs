//! Products of `wmma`, spelled out: fragments of 16 by 16 numbers are loaded and stored by ordinary accesses, and multiplied by two `mma`.
//!
//! A fragment has the registers of `mma`. Where the numbers of a register's lanes lie in memory as they lie in the fragment, a lane loads two at a
//! time; else it loads those of the transposed matrix, and `movmatrix` turns them. From shared memory four matrices of 8 by 8 come by `ldmatrix`.
//! That is what `ptxas` 13.0 makes of them for compute capability 8.0 and 9.0. Of the eight registers that PTX gives a factor of half precision, the last four
//! repeat the first.
//!
//! Source: PTX ISA 9.0, section 9.7.14.4 "Matrix multiply-accumulate operation using wmma instructions".

use super::super::ast::{Name, RegDecl, Statement, Type, Value};
use super::spelling::{Spelling, elements, register};

/// Adds the statements that a `wmma` instruction of these words means, behind those of `body`; `None` for what is not spelled out.
pub(super) fn spell_out(spelling: &mut Spelling, words: &[&str], body: &[Statement]) -> Option<()> {
    match words {
        ["mma", "sync", "aligned", "row" | "col", "row" | "col", "m16n16k16", types @ ..] => {
            spelling.product(types)?;
        }
        [access, matrix, "sync", "aligned", layout, "m16n16k16", space @ .., ty] => {
            let space = match space {
                [] => None,
                [space] => Some(*space),
                _ => return None,
            };
            let is_load = match (*access, *matrix) {
                ("load", "a" | "b" | "c") => true,
                ("store", "d") => false,
                _ => return None,
            };
            let is_row = match *layout {
                "row" => true,
                "col" => false,
                _ => return None,
            };
            let matrix = match (*matrix, *ty) {
                ("a", "f16" | "bf16") => Matrix::Factor { is_first: true },
                ("b", "f16" | "bf16") => Matrix::Factor { is_first: false },
                ("c" | "d", "f16") => Matrix::HalfSums,
                ("c" | "d", "f32") => Matrix::Sums,
                _ => return None,
            };
            spelling.access(Access { is_load, matrix, is_row, space }, body)?;
        }
        _ => return None,
    }
    Some(())
}

/// What a fragment is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Matrix {
    /// Numbers of 16 bits that are multiplied.
    Factor { is_first: bool },
    /// Sums in half precision.
    HalfSums,
    /// Sums in single precision.
    Sums,
}

/// A load or store of a fragment.
#[derive(Clone, Copy)]
struct Access<'w> {
    is_load: bool,
    matrix: Matrix,
    /// Rows are contiguous, not columns.
    is_row: bool,
    space: Option<&'w str>,
}

/// An address: a register, and bytes behind what it holds.
struct At {
    register: String,
    offset: i64,
}

impl At {
    fn new(register: &str, offset: i64) -> Self {
        At { register: register.to_owned(), offset }
    }

    fn further(&self, bytes: i64) -> Self {
        At::new(&self.register, self.offset.wrapping_add(bytes))
    }

    fn value(&self) -> Value {
        let name = Name { name: self.register.clone(), part: None };
        Value::Address(Some(name), self.offset)
    }
}

/// Registers of the block that an instruction becomes: names that no text can have.
const LANE: &str = "%wmma lane";
const ROW: &str = "%wmma row";
const COLUMN: &str = "%wmma column";
const BASE: &str = "%wmma base";
const AT: &str = "%wmma at";
const FAR: &str = "%wmma far ";
const TURNED: &str = "%wmma turned ";

/// Elements from one row to the next, if nothing is said.
const SIDE: u64 = 16;

fn turned(number: usize) -> Value {
    register(format!("{TURNED}{number}"))
}

impl Spelling<'_> {
    /// `wmma.mma`: the left and the right half.
    fn product(&mut self, types: &[&str]) -> Option<()> {
        let (sum, factor, pairs) = match types {
            ["f32", "f32"] => ("f32", "f16", 4),
            ["f16", "f16"] => ("f16", "f16", 2),
            ["f32", "bf16", "bf16", "f32"] => ("f32", "bf16", 4),
            _ => return None,
        };
        let [d, a, b, c] = &self.of.operands[..] else { return None };
        let [d, a, b, c] = [d, a, b, c].map(elements);
        let (d, a, b, c) = (d?, a?, b?, c?);
        let factors = if factor == "f16" { 8 } else { 4 };
        if [&d, &c].iter().any(|sums| sums.len() != 2 * pairs)
            || [&a, &b].iter().any(|side| side.len() != factors)
        {
            return None;
        }
        // The first half is written before the second is read.
        let is_read_later =
            |value: &Value| a.contains(value) || b.contains(value) || c[pairs..].contains(value);
        if d[..pairs].iter().any(is_read_later) {
            return None;
        }
        let name = format!("mma.sync.aligned.m16n8k16.row.col.{sum}.{factor}.{factor}.{sum}");
        for half in 0..2 {
            let of = |sums: &[Value]| Value::Vector(sums[half * pairs..][..pairs].to_vec());
            let (a, b) = (a[..4].to_vec(), b[2 * half..][..2].to_vec());
            self.add(&name, [of(&d), Value::Vector(a), Value::Vector(b), of(&c)]);
        }
        Some(())
    }

    /// `wmma.load`, `wmma.store`
    fn access(&mut self, access: Access, body: &[Statement]) -> Option<()> {
        let operands = &self.of.operands;
        let (fragment, address, stride) = match (&operands[..], access.is_load) {
            ([fragment, address], true) | ([address, fragment], false) => (fragment, address, None),
            ([fragment, address, stride], true) | ([address, fragment, stride], false) => {
                (fragment, address, Some(stride.value.clone()))
            }
            _ => return None,
        };
        let stride = stride.unwrap_or(Value::Int(SIDE));
        let fragment = elements(fragment)?;
        let count = match access.matrix {
            Matrix::Factor { .. } if matches!(fragment.len(), 4 | 8) => fragment.len(),
            Matrix::Factor { .. } | Matrix::HalfSums => 4,
            Matrix::Sums => 8,
        };
        let Value::Address(Some(base), offset) = &address.value else { return None };
        if fragment.len() != count {
            return None;
        }
        for name in [LANE, ROW, COLUMN] {
            self.declare(Type::B32, name, None);
        }
        for name in [BASE, AT] {
            self.declare(Type::B64, name, None);
        }
        self.declare(Type::B64, FAR, Some(3));
        self.declare(Type::B32, TURNED, Some(4));
        let base = self.wide(base, body);
        self.add("mov.u32", [register(LANE), register("%laneid")]);
        let is_shared = matches!(access.space, Some("shared" | "shared::cta"));
        match access.matrix {
            Matrix::Factor { is_first } if is_shared => {
                let place = (base, *offset, &stride);
                self.load_matrices(is_first, access.is_row, place, &fragment[..4]);
            }
            Matrix::Sums if !access.is_row => {
                self.sums_by_column(access, (base, *offset, &stride), &fragment);
            }
            matrix => self.by_pairs(access, matrix, (base, *offset, &stride), &fragment),
        }
        if let Matrix::Factor { .. } = access.matrix {
            for (copy, value) in fragment[4..].iter().zip(&fragment) {
                self.add("mov.b32", [copy.clone(), value.clone()]);
            }
        }
        Some(())
    }

    /// The register of 64 bits that holds an address.
    fn wide(&mut self, base: &Name, body: &[Statement]) -> Value {
        let declares = |decl: &&RegDecl| match decl.count {
            None => decl.name == base.name,
            Some(_) => base.name.strip_prefix(&decl.name).is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit())
            }),
        };
        // Registers of blocks that have ended are not meant.
        let mut ended = 0;
        let regs = body.iter().rev().filter_map(|statement| {
            match statement {
                Statement::Close => ended += 1,
                Statement::Open => ended = i32::max(ended - 1, 0),
                Statement::Regs(decl) if ended == 0 => return Some(decl),
                _ => {}
            }
            None
        });
        let value = Value::Name(base.clone(), 0);
        let bytes = { regs }.find(declares).map(|decl| decl.ty.bytes());
        match bytes {
            Some(8) => return value,
            Some(_) => self.add("cvt.u64.u32", [register(BASE), value]),
            None => self.add("mov.u64", [register(BASE), value]),
        }
        register(BASE)
    }

    /// Puts the address of an element into [`AT`]: of row and column as they lie in memory.
    fn locate(&mut self, (base, stride): (Value, &Value), bytes: u64) {
        self.add("mad.lo.u32", [register(ROW), register(ROW), stride.clone(), register(COLUMN)]);
        self.add("mad.wide.u32", [register(AT), register(ROW), Value::Int(bytes), base]);
    }

    /// Row `lane / 4` and column `lane % 4 * 2`.
    fn row_of_four(&mut self) {
        self.add("shr.u32", [register(ROW), register(LANE), Value::Int(2)]);
        self.add("and.b32", [register(COLUMN), register(LANE), Value::Int(3)]);
        self.add("shl.b32", [register(COLUMN), register(COLUMN), Value::Int(1)]);
    }

    /// What lies `offset` bytes behind a stride of so many bytes an element, counted from [`AT`]; the address is in the far register of that number,
    /// where the stride is in one.
    fn behind(&mut self, number: usize, (stride, bytes): (&Value, u64), offset: i64) -> At {
        if let Value::Int(stride) = stride {
            return At::new(AT, offset.wrapping_add(stride.wrapping_mul(bytes) as i64));
        }
        let far = format!("{FAR}{number}");
        let operands = [register(far.as_str()), stride.clone(), Value::Int(bytes), register(AT)];
        self.add("mad.wide.u32", operands);
        At { register: far, offset }
    }

    /// Four matrices of a factor, by the rows that lie in shared memory.
    fn load_matrices(
        &mut self,
        is_first: bool,
        is_row: bool,
        (base, offset, stride): (Value, i64, &Value),
        fragment: &[Value],
    ) {
        if is_row {
            // Rows of the upper and lower matrix first, then of those to the right.
            self.add("and.b32", [register(ROW), register(LANE), Value::Int(15)]);
            self.add("shr.u32", [register(COLUMN), register(LANE), Value::Int(4)]);
        } else {
            self.add("and.b32", [register(ROW), register(LANE), Value::Int(7)]);
            self.add("shr.u32", [register(COLUMN), register(LANE), Value::Int(4)]);
            self.add("mad.lo.u32", [register(ROW), register(COLUMN), Value::Int(8), register(ROW)]);
            self.add("shr.u32", [register(COLUMN), register(LANE), Value::Int(3)]);
            self.add("and.b32", [register(COLUMN), register(COLUMN), Value::Int(1)]);
        }
        self.add("shl.b32", [register(COLUMN), register(COLUMN), Value::Int(3)]);
        self.locate((base, stride), 2);
        let turns = if is_row == is_first { "" } else { ".trans" };
        let name = format!("ldmatrix.sync.aligned.m8n8.x4{turns}.shared.b16");
        self.add(&name, [Value::Vector(fragment.to_vec()), At::new(AT, offset).value()]);
    }

    /// Two numbers at a time, of which the lanes of a register have a matrix of 8 by 8.
    fn by_pairs(
        &mut self,
        access: Access,
        matrix: Matrix,
        (base, offset, stride): (Value, i64, &Value),
        fragment: &[Value],
    ) {
        let bytes: i64 = if matrix == Matrix::Sums { 4 } else { 2 };
        self.row_of_four();
        self.locate((base, stride), bytes as u64);
        let (one, two) = (At::new(AT, offset), self.behind(0, (stride, 8 * bytes as u64), offset));
        let is_second = matrix == Matrix::Factor { is_first: false };
        let turns = access.is_row == is_second;
        let [right_of_one, right_of_two] = [&one, &two].map(|at| at.further(8 * bytes));
        // The second register has the matrix below, or that to the right where columns are contiguous.
        let places = match access.is_row {
            true => [one, two, right_of_one, right_of_two],
            false => [one, right_of_one, two, right_of_two],
        };
        let kind = match (access.space, matrix) {
            (space, Matrix::Sums) => format!("{}.v2.f32", space.unwrap_or_default()),
            (space, _) => format!("{}.b32", space.unwrap_or_default()),
        };
        for (number, at) in places.into_iter().enumerate() {
            let at = at.value();
            let data = match matrix {
                Matrix::Sums => Value::Vector(fragment[2 * number..][..2].to_vec()),
                _ if turns => turned(number),
                _ => fragment[number].clone(),
            };
            let turn = "movmatrix.sync.aligned.m8n8.trans.b16";
            if access.is_load {
                self.add(&format!("ld.{kind}"), [data, at]);
                if turns {
                    self.add(turn, [fragment[number].clone(), turned(number)]);
                }
            } else {
                if turns {
                    self.add(turn, [turned(number), fragment[number].clone()]);
                }
                self.add(&format!("st.{kind}"), [at, data]);
            }
        }
    }

    /// Sums of single precision one by one, where columns are contiguous.
    fn sums_by_column(
        &mut self,
        access: Access,
        (base, offset, stride): (Value, i64, &Value),
        fragment: &[Value],
    ) {
        // The column is a row of memory.
        self.add("and.b32", [register(ROW), register(LANE), Value::Int(3)]);
        self.add("shl.b32", [register(ROW), register(ROW), Value::Int(1)]);
        self.add("shr.u32", [register(COLUMN), register(LANE), Value::Int(2)]);
        self.locate((base, stride), 4);
        // All addresses first: a register that is loaded may be that of the stride.
        let columns = [(1, 0), (8, 1), (9, 2)]
            .map(|(columns, number)| self.behind(number, (stride, 4 * columns), offset));
        let [second, ninth, tenth] = columns;
        let firsts = [(0, At::new(AT, offset)), (1, second), (4, ninth), (5, tenth)];
        for (first, at) in firsts {
            for (number, rows) in [(first, 0), (first + 2, 8)] {
                let (at, data) = (at.further(4 * rows).value(), fragment[number].clone());
                let space = access.space.unwrap_or_default();
                match access.is_load {
                    true => self.add(&format!("ld.{space}.f32"), [data, at]),
                    false => self.add(&format!("st.{space}.f32"), [at, data]),
                }
            }
        }
    }
}
