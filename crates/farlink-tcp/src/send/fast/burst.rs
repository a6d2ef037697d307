//! Burst budget: the bytes that may be sent at once in full segments.

/// Number of full segments that may be sent without another check, while no other event reaches the
/// connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurstBudget {
    /// Unsent bytes that fit into the peer's window.
    pub(super) unsent: u64,
    /// Free bytes of the congestion window.
    pub(super) room: u64,
}

impl BurstBudget {
    /// Returns whether the budget has another full segment.
    #[inline(always)] // called for each segment of a stream
    pub(crate) fn has_next(&self, mss: u32) -> bool {
        self.unsent >= u64::from(mss)
    }
}
