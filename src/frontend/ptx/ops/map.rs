//! Functions of one lane applied to all lanes of an instruction.

use super::super::exec::{Bits, Lane, Registers, pack, write};
use super::super::program::Micro;
use crate::isa::{LaneMask, WARP};

/// `dst = f(a)` for every lane of `mask`.
#[inline(always)]
pub fn map1<D: Lane, A: Lane>(
    regs: &mut Registers,
    micro: &Micro,
    mask: LaneMask,
    f: impl Fn(A::Value) -> D::Value,
) {
    let a = A::Row::row(regs, micro.ops[1]);
    let mut out = [D::Row::default(); WARP];
    for lane in 0..WARP {
        out[lane] = D::put(f(A::get(a[lane])));
    }
    write(D::Row::row_mut(regs, micro.ops[0]), mask, &out);
}

/// `dst = f(a, b)` for every lane of `mask`.
#[inline(always)]
pub fn map2<D: Lane, A: Lane, B: Lane>(
    regs: &mut Registers,
    micro: &Micro,
    mask: LaneMask,
    f: impl Fn(A::Value, B::Value) -> D::Value,
) {
    let a = A::Row::row(regs, micro.ops[1]);
    let b = B::Row::row(regs, micro.ops[2]);
    let mut out = [D::Row::default(); WARP];
    for lane in 0..WARP {
        out[lane] = D::put(f(A::get(a[lane]), B::get(b[lane])));
    }
    write(D::Row::row_mut(regs, micro.ops[0]), mask, &out);
}

/// `dst = f(a, b, c)` for every lane of `mask`.
#[inline(always)]
pub fn map3<D: Lane, A: Lane, B: Lane, C: Lane>(
    regs: &mut Registers,
    micro: &Micro,
    mask: LaneMask,
    f: impl Fn(A::Value, B::Value, C::Value) -> D::Value,
) {
    let a = A::Row::row(regs, micro.ops[1]);
    let b = B::Row::row(regs, micro.ops[2]);
    let c = C::Row::row(regs, micro.ops[3]);
    let mut out = [D::Row::default(); WARP];
    for lane in 0..WARP {
        out[lane] = D::put(f(A::get(a[lane]), B::get(b[lane]), C::get(c[lane])));
    }
    write(D::Row::row_mut(regs, micro.ops[0]), mask, &out);
}

/// `dst = f(a, b, c, d)` for every lane of `mask`.
#[inline(always)]
pub fn map4<D: Lane, A: Lane, B: Lane, C: Lane, E: Lane>(
    regs: &mut Registers,
    micro: &Micro,
    mask: LaneMask,
    f: impl Fn(A::Value, B::Value, C::Value, E::Value) -> D::Value,
) {
    let a = A::Row::row(regs, micro.ops[1]);
    let b = B::Row::row(regs, micro.ops[2]);
    let c = C::Row::row(regs, micro.ops[3]);
    let e = E::Row::row(regs, micro.ops[4]);
    let mut out = [D::Row::default(); WARP];
    for lane in 0..WARP {
        out[lane] = D::put(f(A::get(a[lane]), B::get(b[lane]), C::get(c[lane]), E::get(e[lane])));
    }
    write(D::Row::row_mut(regs, micro.ops[0]), mask, &out);
}

/// The lanes where `f(a, b)` holds; `first` is the place of `a` among the operands.
#[inline(always)]
pub fn test2<A: Lane>(
    regs: &Registers,
    micro: &Micro,
    first: usize,
    f: impl Fn(A::Value, A::Value) -> bool,
) -> LaneMask {
    let a = A::Row::row(regs, micro.ops[first]);
    let b = A::Row::row(regs, micro.ops[first + 1]);
    let mut truth = [false; WARP];
    for lane in 0..WARP {
        truth[lane] = f(A::get(a[lane]), A::get(b[lane]));
    }
    pack(&truth)
}
