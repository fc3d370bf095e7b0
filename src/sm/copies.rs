//! The asynchronous copies of warps, by groups.

use std::collections::VecDeque;

use crate::isa::Copies;

/// Parts that are told apart. Where as many are under way, what a warp copies joins the last one, and who waits for that waits for all
/// of it.
const PARTS: usize = 16;
/// Groups that a wait may leave under way are fewer.
const COMMITS: usize = 1 << u8::BITS;
/// The group of a load that is no copy.
pub const NO_GROUP: u8 = u8::MAX;

/// The copies of one warp slot: parts, one after the other, that end with each commit and with each arrival at an mbarrier.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// Copies under way, by part.
    under_way: [u32; PARTS],
    /// Number of the part that further copies join.
    open: u32,
    /// The parts behind the last commits. Older ones have no copies under way, or nobody asks for them.
    commits: VecDeque<u32>,
    /// While the warp waits, it does for all parts before this one.
    until: u32,
    /// The mbarriers at which the warp arrives when all parts before these are done, in the order of these.
    arrivals: VecDeque<(u32, u16)>,
}

/// The copies of an SM.
#[derive(Clone, Debug)]
pub struct Groups {
    warps: usize,
    /// By warp slot; none before the first copy. Whoever has begun none waits for none.
    slots: Box<[Slot]>,
}

impl Slot {
    /// Ends a part; gives the one before which all copies so far are.
    fn end_part(&mut self) -> u32 {
        let is_empty = |part: u32| self.under_way[part as usize % PARTS] == 0;
        if is_empty(self.open) {
            return self.open;
        }
        let behind = self.open + 1;
        if is_empty(behind) {
            self.open = behind;
        }
        behind
    }

    /// Makes a group of all copies that are in none.
    fn commit(&mut self) {
        while let Some(&until) = self.commits.front()
            && (self.commits.len() == COMMITS || self.are_done(until))
        {
            self.commits.pop_front();
        }
        let behind = self.end_part();
        self.commits.push_back(behind);
    }

    /// Whether no copy of a part before `until` is under way.
    fn are_done(&self, until: u32) -> bool {
        let known = self.open.saturating_sub(PARTS as u32 - 1)..=self.open;
        known
            .take_while(|part| *part < until)
            .all(|part| self.under_way[part as usize % PARTS] == 0)
    }
}

impl Groups {
    /// Of so many warp slots.
    pub fn new(warps: usize) -> Self {
        Groups { warps, slots: Box::default() }
    }

    /// A warp begins a copy; gives its group.
    pub fn begin(&mut self, warp: usize) -> u8 {
        if self.slots.is_empty() {
            self.slots = vec![Slot::default(); self.warps].into();
        }
        let slot = &mut self.slots[warp];
        let part = slot.open as usize % PARTS;
        slot.under_way[part] += 1;
        part as u8
    }

    /// Executes `copies` for a warp; true when it waits.
    pub fn execute(&mut self, warp: usize, copies: Copies) -> bool {
        let Some(slot) = self.slots.get_mut(warp) else { return false };
        slot.until = match copies {
            Copies::Commit | Copies::CommitBulk => {
                slot.commit();
                return false;
            }
            Copies::WaitGroups(left) | Copies::WaitBulk(left) | Copies::WaitBulkReads(left) => {
                let oldest = slot.commits.len().checked_sub(usize::from(left) + 1);
                oldest.map_or(0, |commit| slot.commits[commit])
            }
            Copies::WaitAll => slot.open + 1,
        };
        !slot.are_done(slot.until)
    }

    /// Whether copies of a warp are under way; it then arrives at an mbarrier of this number when they are done.
    pub fn arrives_later(&mut self, warp: usize, id: u16) -> bool {
        let Some(slot) = self.slots.get_mut(warp) else { return false };
        let until = slot.end_part();
        let is_later = !slot.are_done(until);
        if is_later {
            slot.arrivals.push_back((until, id));
        }
        is_later
    }

    /// A copy of this group is done; true when the warp need wait no longer, if it does.
    pub fn end(&mut self, warp: usize, group: u8) -> bool {
        let slot = &mut self.slots[warp];
        slot.under_way[usize::from(group)] -= 1;
        slot.are_done(slot.until)
    }

    /// Takes an mbarrier at which a warp arrives as all copies before that are done.
    pub fn take_arrival(&mut self, warp: usize) -> Option<u16> {
        let slot = self.slots.get_mut(warp)?;
        let &(until, id) = slot.arrivals.front()?;
        slot.are_done(until).then(|| {
            slot.arrivals.pop_front();
            id
        })
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
    fn a_warp_may_leave_more_groups_than_are_told_apart() {
        let mut groups = Groups::new(1);
        let parts: Vec<u8> = (0..3 * PARTS)
            .map(|_| {
                let part = groups.begin(0);
                groups.execute(0, Copies::Commit);
                part
            })
            .collect();
        let (left, waits) = (2 * PARTS as u8, |groups: &mut Groups, left| {
            groups.execute(0, Copies::WaitGroups(left))
        });
        assert!(!waits(&mut groups, u8::MAX));
        assert!(!waits(&mut groups, 3 * PARTS as u8));
        assert!(waits(&mut groups, left));
        // Those beyond the parts are waited for with an older one.
        parts.iter().for_each(|part| _ = groups.end(0, *part));
        assert!(!waits(&mut groups, 0));
        groups.execute(0, Copies::Commit);
        assert_eq!(groups.slots[0].commits.len(), 1);
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
        let mut begin = || {
            let part = groups.begin(0);
            groups.execute(0, Copies::Commit);
            part
        };
        let parts: Vec<u8> = (0..PARTS).map(|_| begin()).collect();
        // There is no further part: who waits for the group before this one waits for both.
        let last = begin();
        assert_eq!(last, parts[PARTS - 1]);
        assert!(groups.execute(0, Copies::WaitGroups(1)));
        for part in &parts {
            assert!(!groups.end(0, *part));
        }
        assert!(groups.end(0, last));
        assert!(!groups.execute(0, Copies::WaitGroups(u8::MAX)));
    }

    #[test]
    fn a_warp_arrives_at_an_mbarrier_when_the_copies_before_that_are_done() {
        let mut groups = Groups::new(1);
        assert!(!groups.arrives_later(0, 1));
        let first = groups.begin(0);
        assert!(groups.arrives_later(0, 2));
        let second = groups.begin(0);
        assert!(groups.arrives_later(0, 3));
        // In the order of the arrivals.
        groups.end(0, second);
        assert_eq!(groups.take_arrival(0), None);
        groups.end(0, first);
        assert_eq!([0; 3].map(|_| groups.take_arrival(0)), [Some(2), Some(3), None]);
    }

    #[test]
    fn many_arrivals_at_mbarriers_hide_no_copy() {
        let mut groups = Groups::new(1);
        let first = groups.begin(0);
        groups.execute(0, Copies::Commit);
        (0..3 * PARTS as u16).for_each(|id| assert!(groups.arrives_later(0, id)));
        assert!(groups.execute(0, Copies::WaitGroups(0)));
        assert!(groups.end(0, first));
        for id in 0..3 * PARTS as u16 {
            assert_eq!(groups.take_arrival(0), Some(id));
        }
    }

    #[test]
    fn arrivals_at_mbarriers_end_no_group() {
        let mut groups = Groups::new(1);
        let first = groups.begin(0);
        assert!(groups.arrives_later(0, 1));
        let second = groups.begin(0);
        groups.execute(0, Copies::Commit);
        assert!(groups.execute(0, Copies::WaitGroups(0)));
        assert!(!groups.end(0, first));
        assert!(groups.end(0, second));
        assert!(!groups.execute(0, Copies::WaitGroups(1)));
    }
}
