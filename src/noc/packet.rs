//! What a crossbar moves, and what it says of it.

use crate::units::Cycle;

/// What a crossbar moves.
pub trait Packet: Copy + Default {
    /// What arrives: itself, or nothing when its receiver has heard of it.
    type Landed: Copy + Default;

    /// What arrives of this packet.
    fn landed(&self) -> Self::Landed;
}

/// To try a crossbar with.
impl Packet for u32 {
    type Landed = u32;

    fn landed(&self) -> u32 {
        *self
    }
}

/// What its receiver says to a packet that leaves its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// It waits at its output until it is taken.
    Waits,
    /// It is taken as it arrives, and its place at the output is free from this cycle on.
    Expected(Cycle),
    /// It is taken as it arrives, and no packet finds all places of the output taken.
    Taken,
}

/// A packet that leaves its input.
#[derive(Debug)]
pub struct Sent<'a, P> {
    /// In this tick.
    pub tick: Cycle,
    /// Where it waited.
    pub input: usize,
    /// Where it goes.
    pub output: usize,
    /// When it can be taken there.
    pub arrives: Cycle,
    /// None waits at its output.
    pub is_first: bool,
    /// Itself.
    pub packet: &'a P,
}

/// A packet for which there is room at its input from the next cycle on.
#[derive(Debug)]
pub struct Entering<'a, P> {
    /// The tick in which another one left.
    pub tick: Cycle,
    /// Its input.
    pub input: usize,
    /// What was said when it was queued.
    pub at: Cycle,
    /// So many others still wait there.
    pub queued: usize,
    /// Itself.
    pub packet: &'a mut P,
}
