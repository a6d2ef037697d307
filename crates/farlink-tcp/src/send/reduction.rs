//! Base of a window reduction.

use super::Sender;
use crate::config::ReduceFrom;

impl Sender {
    /// Returns the base of the reduction after a time-out: bytes in flight, unless configured
    /// otherwise.
    pub(super) fn reduced_from(&self) -> u64 {
        match self.config().reduce_from {
            ReduceFrom::FlightSize | ReduceFrom::FlightSizeUnbounded => self.board.flight(),
            ReduceFrom::Pipe => self.board.pipe(),
            ReduceFrom::Cwnd => self.cwnd(),
        }
    }

    /// Returns the base of the reduction after duplicate ACKs, without the data of limited transmit
    /// (RFC 5681, 3.2 step 2).
    pub(crate) fn flight_at_loss(&self) -> u64 {
        let beyond = match self.config().reduce_from {
            ReduceFrom::Cwnd => 0,
            _ => self.loss.limited_sent(),
        };
        self.reduced_from().saturating_sub(beyond)
    }

    /// Bounds the base `flight` of a reduction: never more than the congestion window, without the
    /// room that duplicate ACKs made.
    ///
    /// `FlightSize` (RFC 5681, 2) includes what is SACKed, and after a SACK
    /// recovery or a time-out it may be several windows: a part of it would then
    /// be a rise, where RFC 5681, 4.3, wants cwnd and ssthresh lowered once more.
    /// The same goes for what left in the place of segments that duplicates told
    /// to have arrived: it is not more in the network. Linux and 4.4BSD reduce from
    /// cwnd; RFC 9438, 4.6, knows both.
    pub(crate) fn at_most_window(&self, flight: u64) -> u64 {
        if self.config().reduce_from == ReduceFrom::FlightSizeUnbounded {
            return flight;
        }
        flight.min(self.cc.cwnd().min(self.most_cwnd()))
    }

    /// Returns whether lost and SACKed data are left out of the base.
    pub(crate) fn reduces_from_pipe(&self) -> bool {
        self.config().reduce_from == ReduceFrom::Pipe
    }
}
