//! Burst budget: the full segments that may leave at once.

/// Full segments that may leave without another check, as long as nothing else happens to the
/// connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurstBudget {
    /// Bytes that wait and that the peer has room for.
    pub(super) unsent: u64,
    /// Bytes that the congestion window has room for.
    pub(super) room: u64,
}

impl BurstBudget {
    /// Returns whether the budget has another full segment.
    #[inline(always)] // of each segment of a stream
    pub(crate) fn has_next(&self, mss: u32) -> bool {
        self.unsent >= u64::from(mss)
    }
}
