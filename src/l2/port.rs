//! The way to a slice's data: how long each request takes it.

use crate::config::machine::DataPort as Config;
use crate::parts::{Request, RequestKind, sectors_of, whole_sectors_of};
use crate::units::Cycle;

/// Who takes a slice's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The slice's own SMs.
    Near,
    /// The other partition.
    Far,
}

/// The port of one slice. Both sides share it, and take turns where both want it.
#[derive(Clone, Debug)]
pub struct DataPort {
    /// What takes how long; none where a port is never busy.
    rates: Option<Rates>,
    /// When it is free again [quarters of a cycle].
    free_at: u64,
    /// Who took it last.
    last: Side,
}

#[derive(Clone, Copy, Debug)]
struct Rates {
    /// Bytes that are read in a cycle.
    read: u32,
    /// To write a sector, and a store's masks [quarters of a cycle].
    sector: u32,
    masks: u32,
}

/// Bytes of a sector, as they are counted everywhere.
pub(super) const SECTOR: u32 = 32;

impl DataPort {
    /// As configured, free.
    pub fn new(config: &Config) -> Self {
        let rates = match config {
            Config::Unlimited => None,
            Config::Limited { read, sector, masks, .. } => {
                Some(Rates { read: read.get(), sector: sector.get(), masks: masks.get() })
            }
        };
        DataPort { rates, free_at: 0, last: Side::Far }
    }

    /// The first cycle in which it can be taken.
    #[inline]
    pub fn free_from(&self) -> Cycle {
        Cycle(self.free_at / 4)
    }

    /// The same, from `now` on.
    #[inline]
    pub fn next_free(&self, now: Cycle) -> Cycle {
        now.max(self.free_from())
    }

    /// Whether `side` may take it at `now`, where the other side wants it or not.
    #[inline]
    pub fn is_open(&self, now: Cycle, side: Side, other_wants: bool) -> bool {
        self.rates.is_none() || (self.free_at / 4 <= now.0 && !(other_wants && self.last == side))
    }

    /// A request of `side` takes it; one that only passes by takes it for a lookup.
    #[inline]
    pub fn take(&mut self, now: Cycle, side: Side, request: &Request, passes_by: bool) {
        if let Some(rates) = self.rates {
            self.take_for(now, side, request, rates, passes_by);
        }
    }

    #[inline(never)]
    fn take_for(
        &mut self,
        now: Cycle,
        side: Side,
        request: &Request,
        rates: Rates,
        passes_by: bool,
    ) {
        let quarters = match request.kind {
            _ if passes_by => 4,
            RequestKind::Fetch | RequestKind::Load => {
                4 * (SECTOR * sectors_of(request.bytes)).div_ceil(rates.read)
            }
            RequestKind::Store => {
                let (all, whole) = (sectors_of(request.bytes), whole_sectors_of(request.bytes));
                all * rates.sector + if whole < all { rates.masks } else { 0 }
            }
            RequestKind::Atomic | RequestKind::Reduction => u32::from(request.atomic_work).max(4),
        };
        self.free_at = self.free_at.max(4 * now.0) + u64::from(quarters.max(4));
        self.last = side;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited() -> DataPort {
        let text = "Limited(read: 64, sector: 4, part: 5, masks: 3)";
        DataPort::new(&crate::config::parse::stated(text))
    }

    /// The cycles in which requests of one side go, one behind the other.
    fn cycles(mut port: DataPort, request: Request) -> [u64; 5] {
        let mut now = Cycle(10);
        [(); 5].map(|()| {
            now = port.next_free(now);
            assert!(port.is_open(now, Side::Near, false));
            port.take(now, Side::Near, &request, false);
            now.0
        })
    }

    #[test]
    fn a_line_is_read_in_two_cycles_and_written_in_four() {
        let read = Request { bytes: !0, ..Request::default() };
        assert_eq!(cycles(limited(), read), [10, 12, 14, 16, 18]);
        let write = Request { kind: RequestKind::Store, ..read };
        assert_eq!(cycles(limited(), write), [10, 14, 18, 22, 26]);
        // Parts of sectors have masks, once a store: of one sector or of four.
        let one_word = Request { bytes: 0xf0, ..write };
        assert_eq!(cycles(limited(), one_word), [10, 11, 13, 15, 17]);
        let four_words = Request { bytes: 0xf | 0xf << 32 | 0xf << 64 | 0xf << 96, ..write };
        assert_eq!(cycles(limited(), four_words), [10, 14, 19, 24, 29]);
        let one_lacks = Request { bytes: !0xf, ..write };
        assert_eq!(cycles(limited(), one_lacks), [10, 14, 19, 24, 29]);
    }

    #[test]
    fn an_atomic_on_one_word_takes_five_quarters_of_a_cycle() {
        let one =
            Request { kind: RequestKind::Atomic, bytes: 0xf, atomic_work: 5, ..Request::default() };
        assert_eq!(cycles(limited(), one), [10, 11, 12, 13, 15]);
    }

    #[test]
    fn both_sides_take_turns_and_one_alone_does_not_wait() {
        let mut port = limited();
        let read = Request { bytes: 0xf, ..Request::default() };
        assert!(port.is_open(Cycle(0), Side::Near, true));
        port.take(Cycle(0), Side::Near, &read, false);
        assert!(!port.is_open(Cycle(0), Side::Far, true), "busy");
        assert!(!port.is_open(Cycle(1), Side::Near, true), "the other's turn");
        assert!(port.is_open(Cycle(1), Side::Near, false));
        assert!(port.is_open(Cycle(1), Side::Far, true));
    }

    #[test]
    fn an_unlimited_port_is_never_busy() {
        let mut port = DataPort::new(&Config::Unlimited);
        port.take(Cycle(3), Side::Near, &Request { bytes: !0, ..Request::default() }, false);
        assert_eq!(port.next_free(Cycle(3)), Cycle(3));
        assert!(port.is_open(Cycle(3), Side::Near, true));
    }
}
