//! The coalescer before a slice's tags: reads of the same bytes by SMs of one GPC share a reply.
//!
//! A read is held against others from when it comes by until its reply leaves the slice. One that finds its like waits
//! there for the same reply, which leaves the slice once and reaches every SM that waits.

use crate::config::Machine;
use crate::config::machine::L2Coalescer;
use crate::parts::{Reply, Request, RequestKind, RequestStamps};
use crate::prefetch::prefetch_at;
use crate::ring::Ring;
use crate::units::{Cycle, LineAddr, fibonacci};

/// Entries for whose followers there is memory to begin with.
const RESERVED: usize = 128;

/// More reads than ever wait for a reply: in place of their number, in an entry that is free.
const FREE: u16 = u16::MAX;

/// What reads have in common that may share a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Read {
    line: LineAddr,
    bytes: u128,
    kind: RequestKind,
    gpc: u16,
}

/// The entry of the last read of a place, and what tells that from most others of the place: their entries need not be looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    entry: u16,
    check: u16,
}

/// A request on its way to the coalescer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Coming {
    request: Request,
    /// Where to look for a read that it may join, and what is to be found there.
    place: u32,
    check: u16,
    gpc: u16,
}

/// What a slice holds reads against.
#[derive(Clone, Debug)]
pub(super) struct Coalescer {
    gpcs: Box<[u16]>,
    /// From here to the tags [L2 cycles].
    latency: u64,
    /// Reads that wait for another's reply, at most.
    most_followers: usize,
    /// Reads that are held against others, at most.
    most_held: usize,
    /// By entry, as many as were ever in use at once: the read that is held, or was held last.
    held: Vec<Read>,
    /// By entry: how many reads wait for its reply, or [`FREE`].
    waiting: Vec<u16>,
    free: Vec<u16>,
    /// By hash of line and GPC: the entry of the last read held.
    last: Box<[Last]>,
    /// By entry: `most_followers` reads.
    followers: Vec<Request>,
    /// Requests on their way here.
    arrivals: Ring<Coming>,
}

impl Coalescer {
    /// That of a slice with `room` requests on their way, where the machine has one.
    pub fn new(machine: &Machine, room: usize) -> Option<Self> {
        let L2Coalescer::PerGpc { requests, entries, latency } = machine.l2.coalescer else {
            return None;
        };
        let most_followers = requests.size() - 1;
        Some(Coalescer {
            gpcs: (0..machine.sm.count.size()).map(|sm| machine.sm.gpc_of(sm) as u16).collect(),
            latency: latency.cycles(),
            most_followers,
            most_held: entries.size(),
            held: Vec::with_capacity(entries.size()),
            waiting: Vec::with_capacity(entries.size()),
            free: Vec::with_capacity(entries.size()),
            // Few reads share a place.
            last: vec![Last::default(); 4 * entries.size()].into(),
            followers: Vec::with_capacity(entries.size().min(RESERVED) * most_followers),
            arrivals: Ring::new(room),
        })
    }

    /// From here to the tags [L2 cycles].
    pub fn latency(&self) -> u64 {
        self.latency
    }

    /// True when nothing is on its way here.
    pub fn is_idle(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// A request comes by in cycle `at`, before those that have a longer way. Gives it where it lies: the place for it is found by its
    /// line's number in memory, and the caller puts that within the slice there, of all requests alike.
    pub fn expect(&mut self, at: Cycle, request: Request) -> &mut Request {
        let gpc = self.gpcs[usize::from(request.sm)];
        let hash = fibonacci(request.line.0 ^ u64::from(gpc) << 48);
        // Scaled to the places.
        let places = hash * self.last.len() as u64;
        let (place, check) = ((places >> 32) as u32, (places >> 16) as u16);
        prefetch_at(&self.last, place as usize);
        &mut self.arrivals.insert(at, Coming { request, place, check, gpc }).request
    }

    /// When the next request comes by.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        self.arrivals.next_visible()
    }

    /// The next request that has come by.
    #[inline]
    pub fn pop(&mut self, now: Cycle) -> Option<Coming> {
        let coming = self.arrivals.pop(now);
        if let Some(next) = self.arrivals.front(Cycle::NEVER) {
            prefetch_at(&self.last, next.place as usize);
        }
        coming
    }

    /// Lets a read wait for the reply to one of the same bytes, or holds it against others; gives what goes on to the
    /// tags.
    pub fn admit(&mut self, coming: Coming) -> Option<Request> {
        let Coming { mut request, place, check, gpc } = coming;
        if !matches!(request.kind, RequestKind::Fetch | RequestKind::Load) {
            return Some(request);
        }
        let Request { line, bytes, kind, .. } = request;
        let read = Read { line, bytes, kind, gpc };
        let last = self.last[place as usize];
        let entry = usize::from(last.entry);
        if last.check == check
            && self
                .waiting
                .get(entry)
                .is_some_and(|&waiting| usize::from(waiting) < self.most_followers)
            && self.held[entry] == read
        {
            let place = entry * self.most_followers + usize::from(self.waiting[entry]);
            self.followers[place] = request;
            self.waiting[entry] += 1;
            return None;
        }
        if let Some(entry) = self.free_entry() {
            self.last[place as usize] = Last { entry, check };
            request.held = entry + 1;
            self.held[usize::from(entry)] = read;
            self.waiting[usize::from(entry)] = 0;
        }
        Some(request)
    }

    /// An entry that holds no read; none when all do.
    fn free_entry(&mut self) -> Option<u16> {
        if self.free.is_empty() && self.held.len() < self.most_held {
            self.free.push(self.held.len() as u16);
            self.held.push(Read::default());
            self.waiting.push(FREE);
            self.followers.resize(self.held.len() * self.most_followers, Request::default());
        }
        self.free.pop()
    }

    /// How many replies leave with this one, itself included.
    pub fn replies(&self, reply: &Reply) -> usize {
        match reply.held {
            0 => 1,
            place => 1 + usize::from(self.waiting[usize::from(place) - 1]),
        }
    }

    /// The replies that leave with this one; nothing is held against its read any more.
    pub fn release(&mut self, reply: &Reply) -> impl Iterator<Item = Reply> {
        let reply = *reply;
        let (first, count) = match usize::from(reply.held) {
            0 => (0, 0),
            place => {
                let waiting = std::mem::replace(&mut self.waiting[place - 1], FREE);
                self.free.push(reply.held - 1);
                ((place - 1) * self.most_followers, usize::from(waiting))
            }
        };
        self.followers[first..first + count].iter().map(move |follower| {
            let mut stamps = reply.stamps;
            let own = &follower.stamps;
            // It may have come after the other one's data, and that is no reason to wait for the tags.
            stamps.filled = stamps.filled.later(own.at_slice);
            let looked_up = own.looked_up.earlier(stamps.filled);
            stamps.request = RequestStamps { looked_up, ..*own };
            stamps.dram_started = looked_up;
            stamps.merged_at_l2 = true;
            Reply { sm: follower.sm, slot: follower.slot, stamps, ..reply }
        })
    }
}
