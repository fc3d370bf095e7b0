//! How far the SMs are from a slice.

use crate::config::Machine;
use crate::config::machine::Distance;

/// What the way to one slice's tags takes longer than the shortest way to any, by GPC [L2 cycles].
#[derive(Clone, Debug)]
pub(super) struct Distances {
    /// By SM; empty where all ways are alike.
    of_sm: Box<[u16]>,
    /// More for the lines of the other partition.
    copies: u64,
}

impl Distances {
    /// To slice `number`.
    pub fn new(machine: &Machine, number: usize) -> Self {
        let Distance::Corners { across, along, copies } = machine.l2.distance else {
            return Distances { of_sm: Box::default(), copies: 0 };
        };
        // Pairs of slices, or single ones, fill row after row.
        let (columns, rows) = (8, 6);
        let place = number / machine.l2.partitions.count();
        let (column, row) = (place % columns, place / columns % rows);
        let way = |full: u64, from: usize, steps: usize, is_far_corner: bool| {
            let steps_away = if is_far_corner { steps - from } else { from };
            full * steps_away as u64 / steps as u64
        };
        let corners = corners(machine);
        let of_gpc = |gpc: usize| {
            let corner = corners[gpc];
            way(across.cycles(), column, columns - 1, corner & 1 == 1)
                + way(along.cycles(), row, rows - 1, corner >> 1 & 1 == 1)
        };
        let sms = 0..machine.sm.count.size();
        Distances {
            of_sm: sms.map(|sm| of_gpc(machine.sm.gpc_of(sm)) as u16).collect(),
            copies: copies.cycles(),
        }
    }

    /// True when all ways are alike.
    #[inline]
    pub fn are_alike(&self) -> bool {
        self.of_sm.is_empty()
    }

    /// From an SM; to a copy of a line of the other partition, or to a line.
    #[inline]
    pub fn to(&self, sm: u16, is_copy: bool) -> u64 {
        let way = self.of_sm.get(usize::from(sm)).copied().unwrap_or_default();
        u64::from(way) + if is_copy { self.copies } else { 0 }
    }
}

/// The corner of its partition in which each GPC lies: that of its rank among those there.
fn corners(machine: &Machine) -> Vec<usize> {
    let upper = machine.l2.partitions.upper_gpcs().unwrap_or(0);
    let there = machine.sm.gpcs.iter().fold(0u64, |all, gpc| all | 1 << gpc.get());
    let gpcs = (0..64).map(|gpc| {
        let side = there & if upper >> gpc & 1 == 1 { upper } else { !upper };
        (side & ((1u64 << gpc) - 1)).count_ones() as usize % 4
    });
    gpcs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::overrides::{Setting, apply_to_machine};
    use crate::config::presets;

    fn machine(distance: &str) -> Machine {
        let h200 = presets::machine("h200", std::path::Path::new("")).unwrap();
        let settings = [("l2.distance".to_owned(), Setting::new(distance))];
        apply_to_machine(&h200, &settings.into_iter().collect()).unwrap()
    }

    #[test]
    fn opposite_corners_are_as_far_together_as_the_rectangle_is_wide_and_long() {
        let machine = machine("Corners(across: 14, along: 10, copies: 20)");
        // GPCs 0, 1, 4 and 5 are one partition, and 4 and 5 lie behind 0 and 1.
        let sm_of = |gpc: usize| (0..132).find(|&sm| machine.sm.gpc_of(sm) == gpc).unwrap() as u16;
        for number in 0..94 {
            let distances = Distances::new(&machine, number);
            let [a, b, c, d] = [0, 1, 4, 5].map(|gpc| distances.to(sm_of(gpc), false));
            assert!((23..=24).contains(&(a + d)) && (23..=24).contains(&(b + c)), "{number}");
            assert_eq!(distances.to(sm_of(0), true), a + 20);
        }
        let nearest = Distances::new(&machine, 0);
        assert_eq!([0, 1, 4, 5].map(|gpc| nearest.to(sm_of(gpc), false)), [0, 14, 10, 24]);
    }

    #[test]
    fn corners_are_given_in_the_order_of_the_gpcs_that_there_are() {
        let distances = |upper: &str, gpcs: &str| {
            let h200 = presets::machine("h200", std::path::Path::new("")).unwrap();
            let set = [
                ("l2.distance", "Corners(across: 14, along: 10, copies: 20)"),
                ("l2.partitions", &format!("Two(upper: [{upper}], latency: 69, queue: 128)")),
                ("sm.gpcs", gpcs),
            ];
            let settings = set.map(|(path, value)| (path.to_owned(), Setting::new(value)));
            let machine = apply_to_machine(&h200, &settings.into_iter().collect()).unwrap();
            let distances = Distances::new(&machine, 0);
            [0, 1, 2, 3].map(|tpc| distances.to(tpc * 2, false))
        };
        assert_eq!(distances("0, 1", "[0, 1, 2, 3]"), distances("1, 5", "[1, 5, 8, 40]"));
    }

    #[test]
    fn without_distances_all_ways_are_alike() {
        let distances = Distances::new(&machine("Alike"), 5);
        assert_eq!([distances.to(3, false), distances.to(100, true)], [0, 0]);
    }
}
