//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-00).
//!
//! A sample is the number of bytes delivered between two times, divided by the longer of their send
//! time and their acknowledgment time. The draft stores its per-packet state in each packet's
//! record. Here that state is in a queue beside the scoreboard, only for connections whose
//! controller uses samples.

use crate::seq::Offset;
use crate::time::{Instant, Interval};
use std::collections::VecDeque;

/// Delivery-rate sample of one ACK. Bytes are of sequence space, including SYN and FIN.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateSample {
    /// Bytes delivered since the connection began, including this ACK.
    pub delivered: u64,
    /// Bytes delivered when the newest segment of this ACK was sent.
    pub prior_delivered: u64,
    /// Time in which `delivered - prior_delivered` was delivered. `None` means no valid rate,
    /// because the time is zero or below the least RTT.
    pub interval: Option<Interval>,
    /// Set if the newest segment was sent while the application, not the network, limited the
    /// sender.
    pub app_limited: bool,
    /// Exact RTT of the newest segment, unless it was retransmitted.
    pub rtt: Option<Interval>,
    /// Bytes that this ACK delivered, cumulatively or selectively.
    pub newly_delivered: u64,
    /// Bytes marked lost with this ACK.
    pub newly_lost: u64,
    /// Bytes marked lost since the connection began, by ACKs, timers and time-outs.
    pub lost: u64,
    /// Bytes reported as marked since the connection began, including this ACK; zero without ECN.
    pub delivered_ce: u64,
    /// Bytes reported as marked when the newest segment of this ACK was sent.
    pub prior_delivered_ce: u64,
    /// Bytes that this ACK reports as marked.
    pub newly_marked: u64,
    /// Bytes in the network when the newest segment of this ACK was sent, that segment included.
    pub tx_in_flight: u64,
    /// Bytes marked lost since the newest segment of this ACK was sent.
    pub lost_since: u64,
    /// Set if the peer reports data by SACK, so that several losses per round trip are detected.
    pub selective: bool,
    /// Bytes in the network before this ACK.
    pub prior_flight: u64,
    /// Bytes in the network after this ACK, without those marked lost.
    pub flight: u64,
}

impl RateSample {
    /// Returns the rate in bytes per second.
    pub fn rate(&self) -> Option<f64> {
        let delivered = (self.delivered - self.prior_delivered) as f64;
        self.interval.map(|time| delivered / time.as_secs_f64())
    }
}

/// Segment that was marked lost, with the state of the connection when it was last sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostSegment {
    /// Length in bytes.
    pub len: u64,
    /// Bytes in the network when the segment was sent, the segment included.
    pub tx_in_flight: u64,
    /// Bytes marked lost since the segment was sent, the segment included.
    pub lost_since: u64,
    /// Set if the application, not the network, limited the sender when the segment was sent.
    pub app_limited: bool,
}

/// State of the connection when a segment was last sent.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    in_flight: u64,
    lost: u64,
    delivered: u64,
    delivered_ce: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    app_limited: bool,
    /// Set once the delivery of the segment is counted.
    counted: bool,
}

/// Most recently sent segment that an ACK delivered.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Instant,
    end: Offset,
    once: bool,
    stamp: Stamp,
}

/// Computes the delivery-rate samples of a connection.
#[derive(Debug, Default)]
pub(crate) struct RateSampler {
    /// Stamps of the scoreboard's records, in the same order.
    stamps: VecDeque<Stamp>,
    /// `C.delivered`, `C.delivered_time`, `C.first_sent_time`.
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// `C.app_limited`: number of delivered bytes up to which samples are application-limited; 0 if
    /// they are not.
    app_limited: u64,
    /// Least RTT; an interval below it gives no rate (3.3).
    min_rtt: Option<Interval>,
    newest: Option<Newest>,
    newly_delivered: u64,
    newly_lost: u64,
    lost: u64,
    newly_marked: u64,
    delivered_ce: u64,
    /// Segments marked lost since they were last taken; `None` if the controller does not ask.
    lost_segments: Option<Vec<LostSegment>>,
}

impl RateSampler {
    /// Keeps lost segments, for a controller that asks for each.
    pub(crate) fn keep_lost_segments(&mut self) {
        self.lost_segments = Some(Vec::new());
    }

    /// Returns the segments marked lost since the last call, and the bytes delivered so far.
    pub(crate) fn take_lost_segments(&mut self) -> Option<(Vec<LostSegment>, u64)> {
        let segments = self
            .lost_segments
            .as_mut()
            .filter(|list| !list.is_empty())?;
        let delivered = self.delivered + self.newly_delivered;
        Some((std::mem::take(segments), delivered))
    }

    fn stamp(&self, in_flight: u64) -> Stamp {
        Stamp {
            in_flight,
            lost: self.lost,
            delivered: self.delivered,
            delivered_ce: self.delivered_ce,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.app_limited != 0,
            counted: false,
        }
    }

    /// Stores the state at the transmission of a new segment; `idle` is set if nothing else is in
    /// flight (3.2). `in_flight` is the bytes in the network with this segment.
    pub(crate) fn on_sent(&mut self, idle: bool, now: Instant, in_flight: u64) {
        if idle {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        self.stamps.push_back(self.stamp(in_flight));
    }

    /// Stores the state at the retransmission of record `i`, with `in_flight` bytes in the network.
    pub(crate) fn on_retransmit(&mut self, i: usize, in_flight: u64) {
        self.stamps[i] = self.stamp(in_flight);
    }

    /// Counts the delivery of record `i`, of `len` bytes up to `end`, last sent at `sent_at`.
    /// `once` is set if it was never retransmitted (3.3, `UpdateRateSample`).
    pub(crate) fn on_delivered(
        &mut self,
        i: usize,
        (len, end): (u64, Offset),
        sent_at: Instant,
        once: bool,
    ) {
        let stamp = &mut self.stamps[i];
        if stamp.counted {
            return;
        }
        stamp.counted = true;
        self.newly_delivered += len;
        let newer = self
            .newest
            .is_none_or(|n| (sent_at, end) > (n.sent_at, n.end));
        if newer {
            self.newest = Some(Newest {
                sent_at,
                end,
                once,
                stamp: *stamp,
            });
        }
    }

    /// Counts the delivery of the first `len` bytes of the first record.
    pub(crate) fn on_partial_delivery(&mut self, len: u64) {
        if !self.stamps[0].counted {
            self.newly_delivered += len;
        }
    }

    /// Removes the stamp of the first record, because its data is acknowledged.
    pub(crate) fn pop_front(&mut self) {
        self.stamps.pop_front();
    }

    /// Counts `len` bytes of record `i` marked lost.
    pub(crate) fn on_lost(&mut self, i: usize, len: u64) {
        self.newly_lost += len;
        self.lost += len;
        if let Some(segments) = &mut self.lost_segments {
            let stamp = &self.stamps[i];
            segments.push(LostSegment {
                len,
                tx_in_flight: stamp.in_flight,
                lost_since: self.lost - stamp.lost,
                app_limited: stamp.app_limited,
            });
        }
    }

    /// Counts `len` bytes that the current ACK reports as marked.
    pub(crate) fn on_marked(&mut self, len: u64) {
        self.newly_marked += len;
        self.delivered_ce += len;
    }

    /// Leaves losses since the last ACK out of the next sample, because a timer detected them.
    pub(crate) fn discard_losses(&mut self) {
        self.newly_lost = 0;
    }

    /// Marks samples as application-limited until the bytes now in flight (`flight`) are delivered
    /// (3.4).
    pub(crate) fn mark_app_limited(&mut self, flight: u64) {
        self.app_limited = (self.delivered + self.newly_delivered + flight).max(1);
    }

    /// Returns whether a segment sent now is marked application-limited.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// Ends the processing of an ACK, and returns its sample (3.3, `GenerateRateSample`) with zero
    /// in the flight fields. `None` if the ACK delivered nothing.
    pub(crate) fn finish_ack(&mut self, now: Instant) -> Option<RateSample> {
        let newly_delivered = std::mem::take(&mut self.newly_delivered);
        let newly_lost = std::mem::take(&mut self.newly_lost);
        let newest = self.newest.take();
        if newly_delivered == 0 {
            return None;
        }
        let newly_marked = std::mem::take(&mut self.newly_marked);
        self.delivered += newly_delivered;
        self.delivered_at = now;
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let mut sample = RateSample {
            delivered: self.delivered,
            prior_delivered: self.delivered,
            interval: None,
            app_limited: false,
            rtt: None,
            newly_delivered,
            newly_lost,
            lost: self.lost,
            delivered_ce: self.delivered_ce,
            prior_delivered_ce: self.delivered_ce,
            newly_marked,
            tx_in_flight: 0,
            lost_since: 0,
            selective: false,
            prior_flight: 0,
            flight: 0,
        };
        if let Some(newest) = newest {
            let stamp = newest.stamp;
            self.first_sent_at = newest.sent_at;
            sample.prior_delivered = stamp.delivered;
            sample.prior_delivered_ce = stamp.delivered_ce;
            sample.app_limited = stamp.app_limited;
            sample.tx_in_flight = stamp.in_flight;
            sample.lost_since = self.lost - stamp.lost;
            if newest.once {
                let rtt = now.since(newest.sent_at);
                sample.rtt = Some(rtt);
                self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            }
            let sending = newest.sent_at.since(stamp.first_sent_at);
            let acking = now.since(stamp.delivered_at);
            let interval = sending.max(acking);
            let valid = !interval.is_zero() && self.min_rtt.is_none_or(|least| interval >= least);
            sample.interval = valid.then_some(interval);
        }
        Some(sample)
    }

    /// Splits the stamp at `i` in two, as its record was.
    pub(crate) fn split(&mut self, i: usize) {
        let stamp = self.stamps[i];
        self.stamps.insert(i, stamp);
    }

    /// Panics unless there are as many stamps as `records`; for tests.
    pub(crate) fn check(&self, records: usize) {
        assert_eq!(self.stamps.len(), records, "stamps");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Interval::from_millis(ms)
    }

    /// Acknowledges the first segment, of 1000 bytes, sent at `sent`.
    fn ack(rate: &mut RateSampler, end: Offset, sent: Instant, now: Instant) -> RateSample {
        rate.on_delivered(0, (1000, end), sent, true);
        rate.pop_front();
        rate.finish_ack(now).unwrap()
    }

    #[test]
    fn rate_is_delivered_bytes_per_longer_of_send_and_ack_time() {
        let mut rate = RateSampler::default();
        for i in 0..3 {
            rate.on_sent(i == 0, at(10 * i), 1000); // 10 ms apart
        }
        let first = ack(&mut rate, 1000, at(0), at(100));
        assert_eq!(
            (first.delivered, first.prior_delivered, first.rtt),
            (1000, 0, Some(Interval::from_millis(100)))
        );
        assert_eq!(first.interval, Some(Interval::from_millis(100)));
        // ACKs are 20 ms apart. The third segment was sent before the first ACK, so its sample is
        // 3000 bytes in 140 ms.
        let _ = ack(&mut rate, 2000, at(10), at(120));
        let third = ack(&mut rate, 3000, at(20), at(140));
        assert_eq!((third.delivered, third.prior_delivered), (3000, 0));
        assert_eq!(third.interval, Some(Interval::from_millis(140)));
        assert!((third.rate().unwrap() - 3000.0 / 0.14).abs() < 1e-6);
        // A segment sent after an idle time restarts the clocks.
        rate.on_sent(true, at(1000), 1000);
        let idle = ack(&mut rate, 4000, at(1000), at(1100));
        assert_eq!(idle.interval, Some(Interval::from_millis(100)));
        assert_eq!(idle.prior_delivered, 3000);
    }

    /// Marks reported by an ACK that delivers nothing belong to the next sample.
    #[test]
    fn marked_bytes_are_counted_from_the_sending_of_the_newest_segment() {
        let mut rate = RateSampler::default();
        rate.on_sent(true, at(0), 1000);
        rate.on_marked(1000);
        let first = ack(&mut rate, 1000, at(0), at(100));
        let marked = |s: &RateSample| (s.newly_marked, s.prior_delivered_ce, s.delivered_ce);
        assert_eq!(marked(&first), (1000, 0, 1000));
        rate.on_sent(true, at(200), 1000);
        rate.on_marked(500);
        assert_eq!(rate.finish_ack(at(250)), None);
        rate.on_marked(200);
        let second = ack(&mut rate, 2000, at(200), at(300));
        assert_eq!(marked(&second), (700, 1000, 1700));
    }

    #[test]
    fn a_compressed_burst_of_acks_does_not_raise_the_rate() {
        // Segments sent 50 ms apart and acknowledged within 2 ms: the sending time is the longer.
        let mut rate = RateSampler::default();
        rate.on_sent(true, at(0), 1000);
        ack(&mut rate, 1000, at(0), at(100));
        for i in 0..4 {
            rate.on_sent(i == 0, at(200 + 50 * i), 1000);
        }
        for i in 0..3 {
            ack(&mut rate, 2000 + 1000 * i, at(200 + 50 * i), at(460 + i));
        }
        let last = ack(&mut rate, 5000, at(350), at(463));
        assert_eq!(last.delivered - last.prior_delivered, 4000);
        assert_eq!(last.interval, Some(Interval::from_millis(263)));
    }

    #[test]
    fn no_rate_is_given_below_the_least_rtt() {
        let mut rate = RateSampler::default();
        rate.on_sent(true, at(0), 1000);
        ack(&mut rate, 1000, at(0), at(100));
        rate.on_sent(true, at(200), 1000);
        rate.on_retransmit(0, 1000); // at 205 ms, and the ACK of the first copy arrives
        rate.on_delivered(0, (1000, 2000), at(205), false);
        rate.pop_front();
        let sample = rate.finish_ack(at(210)).unwrap();
        assert_eq!((sample.interval, sample.rtt), (None, None));
    }

    #[test]
    fn samples_are_app_limited_until_the_pause_is_acknowledged() {
        let mut rate = RateSampler::default();
        rate.on_sent(true, at(0), 1000);
        rate.mark_app_limited(1000);
        rate.on_sent(false, at(50), 1000);
        assert!(!ack(&mut rate, 1000, at(0), at(100)).app_limited);
        assert!(rate.is_app_limited()); // 1000 delivered, the mark is at 1000
        assert!(ack(&mut rate, 2000, at(50), at(150)).app_limited);
        assert!(!rate.is_app_limited());
    }

    #[test]
    fn sacked_bytes_and_losses_count_once() {
        let mut rate = RateSampler::default();
        rate.on_sent(true, at(0), 1000);
        rate.on_sent(false, at(1), 1000);
        rate.on_delivered(1, (1000, 2000), at(1), true);
        rate.on_lost(0, 1000);
        let sack = rate.finish_ack(at(100)).unwrap();
        assert_eq!((sack.newly_delivered, sack.newly_lost), (1000, 1000));
        rate.on_retransmit(0, 1000);
        rate.on_delivered(0, (1000, 1000), at(100), false);
        rate.pop_front();
        rate.on_delivered(0, (1000, 2000), at(1), true);
        rate.pop_front();
        let ack = rate.finish_ack(at(200)).unwrap();
        assert_eq!((ack.newly_delivered, ack.newly_lost), (1000, 0));
        assert_eq!(ack.delivered, 2000);
        assert_eq!(rate.finish_ack(at(201)), None);
    }
}
