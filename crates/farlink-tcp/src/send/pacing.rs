//! Pacing: the earliest time of the next segment.

use super::{Chunk, Sender};
use crate::config::Ratio;
use crate::congestion::PACED_HEADERS;
use crate::time::{Instant, Interval, NANOS_PER_SEC};

/// Number of segments at the start of a connection that are not paced (Linux:
/// `tcp_update_skb_after_send`).
const UNPACED: u64 = 10;

/// Least number of segments of a super-packet (Linux: `tcp_min_tso_segs`).
const LEAST_SEGMENTS: u64 = 2;
/// Largest super-packet in bytes (Linux: `GSO_LEGACY_MAX_SIZE`).
const MOST_BYTES: u64 = 65_536;

/// Returns the segments of a super-packet at `rate` bit/s (`tcp_tso_autosize`): the bytes of 1/1024
/// s, and 64 KiB halved once per 512 us of the least RTT.
fn segments(rate: u64, min_rtt: Option<Interval>, mss: u64) -> u16 {
    let steps = min_rtt.map_or(u64::MAX, |rtt| rtt.as_nanos() / 1000 / 512);
    let near = if steps < 32 { MOST_BYTES >> steps } else { 0 };
    let bytes = (rate / 8 / 1024 + near).min(MOST_BYTES);
    (bytes / mss.max(1)).max(LEAST_SEGMENTS) as u16
}

impl Sender {
    /// Computes the earliest time of the next segment, from the controller's rate or from its
    /// window. Returns whether pacing is active.
    #[inline(always)] // called for each segment
    pub(super) fn pace(&mut self, now: Instant, chunk: &Chunk) -> bool {
        let own = self.flight.cc.pacing_rate();
        let window = &self.flight.config().window;
        if own.is_some() || window.pacing.is_some() || window.resume.is_some() {
            return self.pace_by(now, chunk, own);
        }
        false
    }

    /// Returns whether pacing allows a segment at `now`.
    #[inline(always)] // called for each segment
    pub(super) fn pacing_allows(&self, now: Instant) -> bool {
        now >= self.paced_until || (self.super_packet_left > 0 && self.last_sent == now)
    }

    #[inline(never)]
    fn pace_by(&mut self, now: Instant, chunk: &Chunk, own: Option<u64>) -> bool {
        let jump = self.jump_rate();
        let active = jump.or(own).is_some() || self.flight.config().window.pacing.is_some();
        let unpaced = self.flight.cc.unpaced_segments() * u64::from(self.flight.mss);
        if jump.is_none() && own.is_some() && self.flight.board.max() <= unpaced {
            return active;
        }
        let rate = jump.or(own).or_else(|| self.window_rate(chunk));
        if let Some(rate) = rate {
            if self.flight.config().window.tso {
                let size = segments(rate, self.flight.rtt.min(), u64::from(self.flight.mss));
                // A segment that did not have to wait begins a super-packet.
                if self.super_packet_left == 0 || now >= self.paced_until {
                    self.super_packet_left = size;
                }
                self.super_packet_left -= 1;
            }
            let bits = 8 * u64::from(chunk.len + PACED_HEADERS);
            self.paced_until = self.paced_until.max(now) + Interval::of_bits(bits, rate.max(1));
        }
        active
    }

    /// Returns the rate in bit/s of the jump of Careful Resume, if it lasts: a segment per
    /// RTT x MSS / cwnd (RFC 9959, 4.3).
    fn jump_rate(&self) -> Option<u64> {
        let rare = self.flight.rare.as_ref()?;
        if !rare.resume.as_ref()?.paces() {
            return None;
        }
        let mss = u64::from(self.flight.mss);
        let rtt = u128::from(self.flight.rtt.min()?.as_nanos().max(1)) * u128::from(mss);
        let wire = u128::from(mss + u64::from(PACED_HEADERS));
        let bits = 8 * u128::from(self.flight.cc.cwnd()) * wire * u128::from(NANOS_PER_SEC);
        Some(u64::try_from(bits / rtt).unwrap_or(u64::MAX))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux by hand at an MSS of 1,448 bytes. 100 Mbit/s are 12,207 bytes per 1/1024 s, which
    /// gives 8 segments. 10 Mbit/s are less than one segment, which gives 2, and 1 Gbit/s are
    /// limited to 64 KiB, which is 45 segments. At a least RTT of 1,024 us 64 KiB are halved twice,
    /// which adds 16,384 bytes; below that RTT they are halved once.
    #[test]
    fn super_packets_have_the_size_of_linux() {
        let far = Some(Interval::from_millis(100));
        for (rate, rtt, size) in [
            (1_000_000, far, 2),
            (10_000_000, far, 2),
            (36_000_000, far, 3),
            (100_000_000, far, 8),
            (100_000_000, None, 8),
            (1_000_000_000, far, 45),
            (10_000_000, Some(Interval::from_micros(1_024)), 12),
            (10_000_000, Some(Interval::from_micros(1_023)), 23),
            (10_000_000, Some(Interval::from_micros(400)), 45),
        ] {
            assert_eq!(segments(rate, rtt, 1448), size, "{rate} {rtt:?}");
        }
    }
}
