//! Phases of a sender (slow start, congestion avoidance, recovery, idle), and the time in each.

/// Phase of a sender while its connection is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    /// Everything sent is acknowledged.
    Idle,
    /// Data is outstanding, and cwnd is below ssthresh (for BBR: Startup).
    SlowStart,
    /// Data is outstanding, and cwnd is at least ssthresh.
    Avoidance,
    /// A loss is being repaired: from the fast retransmit or time-out until all data outstanding
    /// then is acknowledged. Tahoe's repair after a fast retransmit counts as slow start.
    Recovery,
}

impl Phase {
    /// Phases in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Idle, Self::SlowStart, Self::Avoidance, Self::Recovery];
}

/// Nanoseconds in each phase.
pub type PhaseTimes = [u64; Phase::ALL.len()];

impl From<Phase> for usize {
    fn from(phase: Phase) -> Self {
        phase as Self
    }
}
