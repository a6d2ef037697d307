//! Pacing: the earliest time of the next segment.

use super::{Chunk, Sender};
use crate::config::Ratio;
use crate::congestion::PACED_HEADERS;
use crate::time::{Instant, Interval, NANOS_PER_SEC};

/// Number of segments at the start of a connection that are not paced (Linux:
/// `tcp_update_skb_after_send`).
const UNPACED: u64 = 10;

impl Sender {
    /// Sets the time before which the next segment must not be sent, by the controller's rate or by
    /// that of its window. Returns whether pacing is active.
    #[inline(always)] // called for each segment
    pub(super) fn pace(&mut self, now: Instant, chunk: &Chunk) -> bool {
        let own = self.flight.cc.pacing_rate();
        let paces = own.is_some() || self.flight.config().window.pacing.is_some();
        if paces {
            self.pace_by(now, chunk, own);
        }
        paces
    }

    #[inline(never)]
    fn pace_by(&mut self, now: Instant, chunk: &Chunk, own: Option<u64>) {
        let unpaced = self.flight.cc.unpaced_segments() * u64::from(self.flight.mss);
        if own.is_some() && self.flight.board.max() <= unpaced {
            return;
        }
        let rate = own.or_else(|| self.window_rate(chunk));
        if let Some(rate) = rate {
            let bits = 8 * u64::from(chunk.len + PACED_HEADERS);
            self.paced_until = self.paced_until.max(now) + Interval::of_bits(bits, rate.max(1));
        }
    }

    /// Returns ratio x window / SRTT in bit/s (Linux: `tcp_update_pacing_rate`). `None` before the
    /// first RTT sample and at the start of the connection.
    fn window_rate(&self, chunk: &Chunk) -> Option<u64> {
        let pacing = self.flight.config().window.pacing?;
        let srtt = self.flight.rtt.srtt()?.as_nanos().max(1);
        if chunk.start <= (UNPACED - 1) * u64::from(self.flight.mss) {
            return None;
        }
        let cwnd = self.flight.cc.cwnd();
        let slow_start = cwnd < self.flight.cc.ssthresh() / 2;
        let ratio = if slow_start {
            pacing.slow_start
        } else {
            pacing.avoidance
        };
        let window = u128::from(cwnd.max(self.flight.board.flight()));
        let bits = 8 * window * u128::from(ratio.millionths()) * u128::from(NANOS_PER_SEC);
        let rate = bits / u128::from(Ratio::ONE) / u128::from(srtt);
        Some(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}
