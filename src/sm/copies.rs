//! The asynchronous copies of warps, by groups.

use crate::isa::Copies;

/// Groups that are told apart. What a warp copies in a further one counts for the group so many before it as well, and who waits for
/// that waits for both.
const GROUPS: usize = 16;
/// The group of a load that is no copy.
pub const NO_GROUP: u8 = u8::MAX;

/// The copies of one warp slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Copies under way, by group.
    under_way: [u16; GROUPS],
    /// The group that further copies join.
    open: u8,
    /// Groups that the warp lets be under way while it waits, the open one among them.
    left: u8,
}

/// The copies of an SM.
#[derive(Clone, Debug)]
pub struct Groups {
    slots: Box<[Slot]>,
}

impl Slot {
    /// Whether no more than the `left` youngest groups are under way, the open one among them.
    fn are_done(&self, left: u8) -> bool {
        let older = usize::from(left)..GROUPS;
        older
            .map(|age| (usize::from(self.open) + GROUPS - age) % GROUPS)
            .all(|group| self.under_way[group] == 0)
    }
}

impl Groups {
    /// Of so many warp slots.
    pub fn new(warps: usize) -> Self {
        Groups { slots: vec![Slot::default(); warps].into() }
    }

    /// A warp begins a copy; gives its group.
    pub fn begin(&mut self, warp: usize) -> u8 {
        let slot = &mut self.slots[warp];
        slot.under_way[usize::from(slot.open)] += 1;
        slot.open
    }

    /// Executes `copies` for a warp; true when it waits.
    pub fn execute(&mut self, warp: usize, copies: Copies) -> bool {
        let slot = &mut self.slots[warp];
        slot.left = match copies {
            Copies::Commit => {
                slot.open = (slot.open + 1) % GROUPS as u8;
                return false;
            }
            Copies::WaitGroups(left) => left.saturating_add(1),
            Copies::WaitAll => 0,
        };
        !slot.are_done(slot.left)
    }

    /// A copy of this group is done; true when the warp need wait no longer, if it does.
    pub fn end(&mut self, warp: usize, group: u8) -> bool {
        let slot = &mut self.slots[warp];
        slot.under_way[usize::from(group)] -= 1;
        slot.are_done(slot.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_waits_for_all_but_its_youngest_groups() {
        let mut groups = Groups::new(2);
        let first = groups.begin(1);
        groups.execute(1, Copies::Commit);
        let second = groups.begin(1);
        groups.execute(1, Copies::Commit);
        assert!(!groups.execute(1, Copies::WaitGroups(2)));
        // Other warps do not count.
        assert!(!groups.execute(0, Copies::WaitAll));
        assert!(groups.execute(1, Copies::WaitGroups(1)));
        assert!(groups.end(1, first));
        assert!(!groups.execute(1, Copies::WaitGroups(1)));
        assert!(groups.execute(1, Copies::WaitGroups(0)));
        assert!(groups.end(1, second));
    }

    #[test]
    fn only_a_wait_for_all_asks_for_copies_that_are_in_no_group_yet() {
        let mut groups = Groups::new(1);
        let open = groups.begin(0);
        assert!(!groups.execute(0, Copies::WaitGroups(0)));
        assert!(groups.execute(0, Copies::WaitAll));
        assert!(groups.end(0, open));
    }

    #[test]
    fn a_group_beyond_those_that_are_told_apart_is_waited_for_with_an_older_one() {
        let mut groups = Groups::new(1);
        let first = groups.begin(0);
        for _ in 0..GROUPS {
            groups.execute(0, Copies::Commit);
        }
        assert_eq!(groups.begin(0), first);
        groups.execute(0, Copies::Commit);
        assert!(groups.execute(0, Copies::WaitGroups(0)));
        assert!(!groups.end(0, first));
        assert!(groups.end(0, first));
        assert!(!groups.execute(0, Copies::WaitGroups(u8::MAX)));
    }
}
