//! Phases of a sender with the time in each: slow start, congestion avoidance, recovery, idle.

/// Phase of a sender while its connection is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    /// Everything sent is acknowledged.
    Idle,
    /// Data is outstanding and the window is below ssthresh (for BBR: Startup).
    SlowStart,
    /// Data is outstanding and the window is at ssthresh or above.
    Avoidance,
    /// A loss is being repaired: from the fast retransmit or the time-out until
    /// all that was outstanding then is acknowledged. Tahoe's repair after a fast
    /// retransmit is slow start and counts as that.
    Recovery,
}

impl Phase {
    /// Phases in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Idle, Self::SlowStart, Self::Avoidance, Self::Recovery];
}

/// Nanoseconds by phase.
pub type PhaseTimes = [u64; Phase::ALL.len()];

impl From<Phase> for usize {
    fn from(phase: Phase) -> Self {
        phase as Self
    }
}
