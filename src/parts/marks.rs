//! What is looked at first in each set of a tag array: a byte of each tag, compared eight at a time, the order of the ways, and which of
//! them make no room at once. A miss needs to look no further.

use super::links::Links;
use super::order::Orders;
use crate::prefetch::prefetch_at;
use crate::units::{LineAddr, fibonacci};

/// For each way of a tag array a byte that tells its line from most others: a line is only sought where its byte is found. And
/// the order of the ways of each set, where it is kept, with what keeps a way from making room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    /// By set. Where the order is kept, a word for that, as [`Order`] says, and one with a bit for each way that is dirty, and [`RESERVED`]
    /// above it one where it is reserved. Then words of eight bytes, of which that of an empty way may be any.
    words: Box<[u64]>,
    /// Words of a set, and those before the bytes.
    of_set: usize,
    of_order: usize,
    order: Order,
    /// The bits of ways that are dirty, where those are spared, and none where they are not.
    spared: u64,
}

/// How the order of the ways of a set is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Order {
    /// It is not.
    Unkept,
    /// In the first word of each set.
    Word(Orders),
    /// By set, beside the words.
    Links(Box<[Links]>),
}

/// The numbers of the ways of a set, in their order.
#[derive(Clone, Debug)]
pub(super) enum InOrder<'a> {
    /// What is left of the order, and of how many ways.
    Word(u64, usize),
    /// The whole order, and the next way.
    Links(&'a Links, usize),
}

impl Iterator for InOrder<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        match self {
            InOrder::Word(_, 0) => None,
            InOrder::Word(order, ways) => {
                *ways -= 1;
                Some((std::mem::replace(order, *order >> 4) & 0xf) as usize)
            }
            InOrder::Links(links, place) => {
                let next = links.behind(*place)?;
                Some(std::mem::replace(place, next))
            }
        }
    }
}

/// What keeps a way from making room: it is held where it is reserved or spared.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// It waits for its line.
    pub is_reserved: bool,
    /// It holds bytes that memory lacks: it is spared, where that is the policy, and makes room where no other one does.
    pub is_dirty: bool,
}

/// One in each byte of a word, and its highest bit.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = ONES << 7;

/// Bits from that of a way that is dirty to that of one that is reserved.
const RESERVED: usize = 32;
/// Both bits of the first way.
const STATES: u64 = 1 | 1 << RESERVED;

/// The byte of a line eight times. Lines far apart have other ones than neighbours, whatever lies between them.
#[inline(always)]
fn marks_of(line: LineAddr) -> u64 {
    (fibonacci(line.0) >> 24) * ONES
}

impl Marks {
    /// Ways of a set whose order can be kept, at most.
    pub const MOST_ORDERED: usize = Links::MOST_WAYS;

    /// Of `sets` sets with `ways` ways, of which no order is kept.
    pub fn new(sets: usize, ways: usize) -> Self {
        let of_set = ways.div_ceil(8);
        let words = vec![0; sets * of_set].into();
        Marks { words, of_set, of_order: 0, order: Order::Unkept, spared: 0 }
    }

    /// The same, whose order is kept, with dirty ways spared or not.
    pub fn ordered(sets: usize, ways: usize, spares_dirty: bool) -> Self {
        let of_order = 2;
        let of_set = of_order + ways.div_ceil(8);
        let order = match ways <= Orders::MOST_WAYS {
            true => Order::Word(Orders::new(ways)),
            false => Order::Links(vec![Links::new(ways); sets].into()),
        };
        let spared = if spares_dirty { (1 << RESERVED) - 1 } else { 0 };
        let words = vec![0; sets * of_set].into();
        let mut marks = Marks { words, of_set, of_order, order, spared };
        marks.reset_words();
        marks
    }

    /// Orders are kept.
    #[inline]
    pub fn is_ordered(&self) -> bool {
        self.of_order != 0
    }

    /// A set is looked at soon.
    #[inline(always)]
    pub fn prefetch(&self, set: usize) {
        self.prefetch_states(set);
        if let Order::Links(all) = &self.order {
            prefetch_at(all, set);
        }
    }

    /// What keeps the ways of a set from making room is looked at soon, and nothing else of it.
    #[inline(always)]
    pub fn prefetch_states(&self, set: usize) {
        prefetch_at(&self.words, set * self.of_set);
    }

    /// All orders are those of the numbers of the `ways` ways, and no way is dirty or reserved.
    pub fn reset_orders(&mut self, ways: usize) {
        if let Order::Links(all) = &mut self.order {
            all.fill(Links::new(ways));
        }
        self.reset_words();
    }

    fn reset_words(&mut self) {
        let first = match self.order {
            Order::Unkept => return,
            Order::Word(orders) => orders.first(),
            Order::Links(_) => 0,
        };
        for set in self.words.chunks_exact_mut(self.of_set) {
            (set[0], set[1]) = (first, 0);
        }
    }

    /// Notes what keeps the way of number `place` from making room. Orders are kept.
    #[inline(always)]
    pub fn note(&mut self, set: usize, place: usize, state: State) {
        let states = &mut self.words[set * self.of_set + 1];
        let bits = u64::from(state.is_dirty) | u64::from(state.is_reserved) << RESERVED;
        *states = *states & !(STATES << place) | bits << place;
    }

    /// The line of the way of number `place`, which is reserved, has come. Orders are kept.
    #[inline(always)]
    pub fn fill(&mut self, set: usize, place: usize) {
        debug_assert!(self.is_reserved(set, place), "a fill for no reservation");
        self.words[set * self.of_set + 1] &= !(1 << (RESERVED + place));
    }

    /// By way, a bit where it is dirty, and [`RESERVED`] above it one where it is reserved. Orders are kept.
    #[inline(always)]
    fn states(&self, set: usize) -> u64 {
        self.words[set * self.of_set + 1]
    }

    /// Whether the way of number `place` is reserved or spared. Orders are kept.
    #[inline(always)]
    pub fn is_held(&self, set: usize, place: usize) -> bool {
        let states = self.states(set);
        (states >> RESERVED | states & self.spared) >> place & 1 == 1
    }

    /// Whether the way of number `place` is dirty. Orders are kept.
    #[inline(always)]
    pub fn is_dirty(&self, set: usize, place: usize) -> bool {
        self.states(set) >> place & 1 == 1
    }

    /// Whether the way of number `place` is reserved. Orders are kept.
    #[inline(always)]
    pub fn is_reserved(&self, set: usize, place: usize) -> bool {
        self.states(set) >> (RESERVED + place) & 1 == 1
    }

    /// How many ways of a set are dirty. Orders are kept.
    pub fn dirty(&self, set: usize) -> usize {
        (self.states(set) as u32).count_ones() as usize
    }

    /// How many ways of a set are reserved, where orders are kept.
    #[inline]
    pub fn reserved(&self, set: usize) -> Option<usize> {
        let reserved = || self.states(set) >> RESERVED;
        self.is_ordered().then(|| reserved().count_ones() as usize)
    }

    /// The number of the first way of the order of set `set`, where that is kept.
    #[inline(always)]
    pub fn first(&self, set: usize) -> Option<usize> {
        match &self.order {
            Order::Unkept => None,
            Order::Word(_) => Some((self.words[set * self.of_set] & 0xf) as usize),
            Order::Links(all) => Some(all[set].first()),
        }
    }

    /// The numbers of the ways of set `set` in their order, where that is kept; of `ways` ways.
    #[inline]
    pub fn in_order(&self, set: usize, ways: usize) -> InOrder<'_> {
        match &self.order {
            Order::Unkept => InOrder::Word(0, 0),
            Order::Word(_) => InOrder::Word(self.words[set * self.of_set], ways),
            Order::Links(all) => InOrder::Links(&all[set], all[set].first()),
        }
    }

    /// `line` goes to the way of number `place` in set `set`. Where the order is kept, that is the last one of it, and its state this.
    #[inline(always)]
    pub fn put(&mut self, set: usize, place: usize, line: LineAddr, state: State) {
        let word = &mut self.words[set * self.of_set + self.of_order + place / 8];
        let byte = 0xff << (place % 8 * 8);
        *word = *word & !byte | marks_of(line) & byte;
        if self.is_ordered() {
            self.move_to_end(set, place);
            self.note(set, place, state);
        }
    }

    /// The way of number `place` becomes the last one of its order, where that is kept.
    #[inline(always)]
    pub fn move_to_end(&mut self, set: usize, place: usize) {
        match &mut self.order {
            Order::Unkept => {}
            Order::Word(orders) => {
                orders.move_to_end(&mut self.words[set * self.of_set], place);
            }
            Order::Links(all) => all[set].move_to_end(place),
        }
    }

    /// It goes behind the first `before` others of its order, where that is kept.
    pub fn move_behind(&mut self, set: usize, place: usize, before: usize) {
        match &mut self.order {
            Order::Unkept => {}
            Order::Word(orders) => {
                orders.move_behind(&mut self.words[set * self.of_set], place, before);
            }
            Order::Links(all) => all[set].move_behind(place, before),
        }
    }

    /// The first number of a way in set `set` that may hold `line` and does so as `holds` says. It is asked of numbers past
    /// the last one as well.
    #[inline(always)]
    pub fn find(&self, set: usize, line: LineAddr, holds: impl Fn(usize) -> bool) -> Option<usize> {
        let (marks, mut word, mut first) = (marks_of(line), set * self.of_set, 0);
        let end = word + self.of_set;
        word += self.of_order;
        loop {
            // The lowest of these bits is that of a byte that is equal; those above it may be any.
            let other = self.words[word] ^ marks;
            let mut equal = other.wrapping_sub(ONES) & !other & HIGHEST;
            while equal != 0 {
                let place = first + (equal.trailing_zeros() / 8) as usize;
                if holds(place) {
                    return Some(place);
                }
                equal &= equal - 1;
            }
            (word, first) = (word + 1, first + 8);
            if word == end {
                return None;
            }
        }
    }
}
