//! Where the registers of the warps of a CTA lie.

use std::ops::Range;

use super::super::program::{ConstantRow, Program};
use crate::isa::WARP;

/// No area.
const NONE: u16 = u16::MAX;

/// Registers, and constants among them, in rows of a value for each lane. A warp gets an area of them when it begins and gives
/// it back when it ends: where no warp waits for another one, all have the same in turn, which stays in the processor's caches.
#[derive(Debug)]
pub struct RegisterRows {
    /// Rows of up to 32 bits, and of 64.
    narrow: Rows<u32>,
    wide: Rows<u64>,
    /// By warp.
    areas: Vec<u16>,
    /// Those that no warp has; the last one is the next to be given.
    free: Vec<u16>,
}

/// Rows of one width.
#[derive(Debug)]
struct Rows<T> {
    /// Of an area.
    count: usize,
    /// By area.
    values: Vec<[T; WARP]>,
    /// The rows of an area that are no constants: they are zero when a warp begins. Nothing writes the others.
    variables: Vec<Range<usize>>,
    /// Constants that are not the same for all warps: the row, and its values by warp.
    by_warp: Vec<(usize, Vec<[T; WARP]>)>,
    /// Rows that hold a coordinate of the CTA, with its axis.
    ctaid: Vec<(usize, usize)>,
}

impl RegisterRows {
    /// Of a CTA of so many warps. `value` gives a constant row's value for a thread; `axis` names the axis of a row that holds
    /// a coordinate of the CTA.
    pub fn new(
        program: &Program,
        warps: usize,
        value: impl Fn(&ConstantRow, u32) -> u64,
        axis: impl Fn(&ConstantRow) -> Option<usize>,
    ) -> Self {
        let constants = |wide| program.constants.iter().filter(move |row| row.wide == wide);
        RegisterRows {
            narrow: Rows::new(
                program.narrow_rows,
                warps,
                constants(false),
                &axis,
                |row, thread| value(row, thread) as u32,
            ),
            wide: Rows::new(program.wide_rows, warps, constants(true), &axis, &value),
            areas: vec![NONE; warps],
            free: Vec::with_capacity(warps),
        }
    }

    /// Nobody has an area.
    pub fn take_all_back(&mut self) {
        self.areas.fill(NONE);
        self.free.clear();
        self.free.extend((0..self.areas.len() as u16).rev());
    }

    /// Gives a warp of the CTA at `ctaid` its registers as they are at the start, unless it has some.
    #[inline]
    pub fn give(&mut self, warp: usize, ctaid: [u32; 3]) {
        if self.areas[warp] == NONE {
            let area = self.free.pop().expect("there is an area for each warp");
            self.areas[warp] = area;
            self.narrow.start(area, warp, ctaid);
            self.wide.start(area, warp, ctaid.map(u64::from));
        }
    }

    /// Takes them from a warp that has ended.
    pub fn take_back(&mut self, warp: usize) {
        self.free.push(std::mem::replace(&mut self.areas[warp], NONE));
    }

    /// The rows of up to 32 bits of a warp that has begun.
    pub fn narrow(&self, warp: usize) -> &[[u32; WARP]] {
        &self.narrow.values[self.narrow.places(self.areas[warp])]
    }

    /// All rows of a warp that has begun.
    #[inline]
    pub fn of_mut(&mut self, warp: usize) -> (&mut [[u32; WARP]], &mut [[u64; WARP]]) {
        let RegisterRows { narrow, wide, areas, .. } = self;
        let (narrow_places, wide_places) = (narrow.places(areas[warp]), wide.places(areas[warp]));
        (&mut narrow.values[narrow_places], &mut wide.values[wide_places])
    }
}

impl<T: Copy + Default + PartialEq> Rows<T> {
    fn new<'a>(
        count: u16,
        warps: usize,
        constants: impl Iterator<Item = &'a ConstantRow>,
        axis: impl Fn(&ConstantRow) -> Option<usize>,
        value: impl Fn(&ConstantRow, u32) -> T,
    ) -> Self {
        let count = usize::from(count);
        let mut rows = Rows {
            count,
            values: vec![[T::default(); WARP]; warps * count],
            variables: Vec::new(),
            by_warp: Vec::new(),
            ctaid: Vec::new(),
        };
        let mut known = vec![false; count];
        for constant in constants {
            let row = usize::from(constant.row);
            known[row] = true;
            if let Some(axis) = axis(constant) {
                rows.ctaid.push((row, axis));
                continue;
            }
            let of_lane = |warp, lane| value(constant, (warp * WARP + lane) as u32);
            let of_warp = |warp| std::array::from_fn(|lane| of_lane(warp, lane));
            let values: Vec<[T; WARP]> = (0..warps).map(of_warp).collect();
            if values.iter().all(|other| *other == values[0]) {
                (0..warps).for_each(|area| rows.values[area * count + row] = values[0]);
            } else {
                rows.by_warp.push((row, values));
            }
        }
        let variable = |row: &usize| !known[*row];
        rows.variables = (0..count).filter(variable).fold(Vec::new(), |mut ranges, row| {
            match ranges.last_mut() {
                Some(Range { end, .. }) if *end == row => *end += 1,
                _ => ranges.push(row..row + 1),
            }
            ranges
        });
        rows
    }

    /// The places of an area.
    #[inline]
    fn places(&self, area: u16) -> Range<usize> {
        let first = usize::from(area) * self.count;
        first..first + self.count
    }

    /// An area as it is when a warp begins.
    #[inline]
    fn start(&mut self, area: u16, warp: usize, ctaid: [T; 3]) {
        let places = self.places(area);
        let area = &mut self.values[places];
        for variables in &self.variables {
            area[variables.clone()].as_flattened_mut().fill(T::default());
        }
        for (row, values) in &self.by_warp {
            area[*row] = values[warp];
        }
        for &(row, axis) in &self.ctaid {
            area[row] = [ctaid[axis]; WARP];
        }
    }
}
