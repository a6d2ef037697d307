//! Windows in force, and the bases from which a loss reduces them.

use super::Flight;
use crate::config::ReduceFrom;
use crate::seq::Offset;

impl Flight {
    /// Window in force: the congestion window plus recovery's inflation.
    #[inline(always)] // called for each segment
    pub(crate) fn cwnd(&self) -> u64 {
        let max = self.cwnd_bound();
        let mut cwnd = self.cc.cwnd().min(max);
        if self.inflation != 0 {
            cwnd = cwnd.saturating_add_signed(self.inflation);
        }
        cwnd.max(u64::from(self.mss))
    }

    /// Bound on the congestion window: the peer's largest window if configured so.
    #[inline]
    fn cwnd_bound(&self) -> u64 {
        if self.usage.limited_by_peer {
            self.peer.largest
        } else {
            u64::MAX
        }
    }

    /// Lowers a controller's window to the bound on cwnd before a reduction, because the part above
    /// the bound was never used. A window computed from a path model is not reduced, and stays.
    pub(crate) fn bound_controller(&mut self) {
        let bound = self.cwnd_bound().max(self.mss.into());
        if self.cc.cwnd() > bound && !self.extras.rate.is_some() {
            self.cc.collapse(bound);
        }
    }

    /// Sets the inflation so that `window` is in force.
    pub(crate) fn inflate_to(&mut self, window: u64) {
        self.inflation = window.cast_signed() - self.cc.cwnd().cast_signed();
    }

    /// Returns whether the congestion window is in use, or counts as in use.
    #[inline(always)] // called for each ACK
    pub(crate) fn cwnd_limited(&self) -> bool {
        let slow_start = || self.cc.in_slow_start().then(|| self.cc.cwnd());
        (!self.usage.validates || self.usage.limited(slow_start))
            && (!self.usage.limited_by_peer || self.cc.cwnd() < self.peer.largest)
    }

    /// Returns the right edge of the peer's window, as the controller enlarges it.
    #[inline(always)] // called for each segment
    pub(crate) fn assumed_edge(&self) -> Offset {
        let taken = match self.extras.peer_window.of(&*self.cc) {
            Some(peer) => peer.peer_window(self.peer.size, u64::from(self.mss)),
            None => self.peer.size,
        };
        self.board.una() + taken
    }

    /// Returns the base of the reduction after a time-out, by default the bytes in flight.
    pub(crate) fn reduced_from(&self) -> u64 {
        match self.config().reduce_from {
            ReduceFrom::FlightSize | ReduceFrom::FlightSizeUnbounded => self.board.flight(),
            ReduceFrom::Pipe => self.board.pipe(),
            ReduceFrom::Cwnd => self.cwnd(),
        }
    }

    /// Bounds the base `bytes` of a reduction by cwnd without inflation.
    ///
    /// `FlightSize` (RFC 5681, 2) includes SACKed bytes, and after a SACK recovery or a time-out
    /// may be several windows. A fraction of `FlightSize` could then exceed cwnd, but RFC 5681,
    /// 4.3, requires that a second loss lowers cwnd and ssthresh once more. Segments released by
    /// inflation do not raise the bound either, because each replaces a segment whose arrival a
    /// duplicate ACK reported. Linux and 4.4BSD reduce from cwnd; RFC 9438, 4.6, allows both.
    pub(crate) fn at_most_window(&self, bytes: u64) -> u64 {
        if self.config().reduce_from == ReduceFrom::FlightSizeUnbounded {
            return bytes;
        }
        bytes.min(self.cc.cwnd().min(self.cwnd_bound()))
    }

    /// Returns whether the base of a reduction excludes lost and SACKed data.
    pub(crate) fn reduces_from_pipe(&self) -> bool {
        self.config().reduce_from == ReduceFrom::Pipe
    }
}
