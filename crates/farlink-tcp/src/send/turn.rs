//! How much of a stream leaves at once.

/// What may leave of a stream without another look at all that could be in the way: full segments,
/// as long as nothing else happens to the connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    /// Bytes that wait and that the peer has room for.
    pub(super) there: u64,
    /// Bytes that the congestion window has room for.
    pub(super) room: u64,
}

impl Turn {
    /// Whether there is another full segment for it.
    #[inline(always)] // of each segment of a stream
    pub(crate) fn goes_on(&self, mss: u32) -> bool {
        self.there >= u64::from(mss)
    }
}
