//! Window that the peer offers (RFC 9293, 3.3.1: SND.WND, SND.WL1, SND.WL2).

use crate::seq::Offset;

/// Peer's window, scaled up.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)] // keeps the fields that each segment needs together in memory
pub(crate) struct PeerWindow {
    /// Window in bytes, counted from SND.UNA.
    pub(crate) size: u64,
    /// Sequence and acknowledgment number of the last window update (SND.WL1, SND.WL2).
    from: (Offset, Offset),
    /// Largest window the peer ever offered.
    pub(crate) largest: u64,
}

impl PeerWindow {
    /// Updates the window from a segment at `seq` with acknowledgment `ack` (RFC 9293, 3.10.7.4).
    /// Returns whether the segment is newer than the last update.
    #[inline(always)] // called for each segment
    pub(crate) fn update(&mut self, seq: Offset, ack: Offset, una: Offset, size: u64) -> bool {
        let (wl1, wl2) = self.from;
        let newer = wl1 < seq || (wl1 == seq && wl2 <= ack);
        if newer {
            self.from = (seq, ack);
            self.size = size;
            self.largest = self.largest.max(size);
        } else {
            // An older segment does not move the right edge of the window.
            self.size = self.size.saturating_sub(ack - una);
        }
        newer
    }
}
