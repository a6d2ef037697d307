//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-00).
//!
//! How fast the path delivered, for each ACK: the data that was delivered
//! between two moments, over the longer of the time it took to send and the
//! time it took to be acknowledged. What the draft keeps in each packet's
//! record is in a ring beside the scoreboard here, so that a connection whose
//! controller does not ask for samples has none of it.

use crate::seq::Offset;
use crate::time::{Instant, Interval};
use std::collections::VecDeque;

/// Delivery-rate sample of one ACK. Sequence space counts, SYN and FIN included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateSample {
    /// Bytes delivered since the connection began, this ACK included.
    pub delivered: u64,
    /// Bytes delivered when the newest of the segments that this ACK delivered was sent.
    pub prior_delivered: u64,
    /// Time in which `delivered - prior_delivered` was delivered; `None` if
    /// that makes no honest rate.
    pub interval: Option<Interval>,
    /// Set if the newest segment was sent while the application, not the network, was the limit.
    pub app_limited: bool,
    /// Exact round-trip time of the newest segment, unless it was sent twice.
    pub rtt: Option<Interval>,
    /// Bytes that this ACK delivered, cumulatively or selectively.
    pub newly_delivered: u64,
    /// Bytes found lost with this ACK.
    pub newly_lost: u64,
    /// Bytes found lost since the connection began, by ACKs, timers and time-outs.
    pub lost: u64,
    /// Bytes in the network before this ACK.
    pub prior_flight: u64,
    /// Bytes in the network after it and after what was found lost.
    pub flight: u64,
}

impl RateSample {
    /// The rate in bytes per second.
    pub fn rate(&self) -> Option<f64> {
        let delivered = (self.delivered - self.prior_delivered) as f64;
        self.interval.map(|time| delivered / time.as_secs_f64())
    }
}

/// State of the path when a segment was last sent.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    app_limited: bool,
    /// Set once its delivery is counted.
    counted: bool,
}

/// The newest segment that an ACK delivered.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Instant,
    end: Offset,
    once: bool,
    stamp: Stamp,
}

/// Makes the samples of a connection.
#[derive(Debug, Default)]
pub(crate) struct RateSampler {
    /// Stamps of the scoreboard's records, in the same order.
    stamps: VecDeque<Stamp>,
    /// `C.delivered`, `C.delivered_time`, `C.first_sent_time`.
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// `C.app_limited`: until this much is delivered, samples are the
    /// application's; 0 when they are not.
    app_limited: u64,
    /// Least round trip: a shorter interval is no rate (3.3).
    min_rtt: Option<Interval>,
    newest: Option<Newest>,
    newly_delivered: u64,
    newly_lost: u64,
    lost: u64,
}

impl RateSampler {
    fn stamp(&self) -> Stamp {
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.app_limited != 0,
            counted: false,
        }
    }

    /// A new segment leaves; `idle` if nothing else is in flight (3.2).
    pub(crate) fn sent(&mut self, idle: bool, now: Instant) {
        if idle {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        self.stamps.push_back(self.stamp());
    }

    /// The segment of record `i` leaves again.
    pub(crate) fn sent_again(&mut self, i: usize) {
        self.stamps[i] = self.stamp();
    }

    /// Record `i`, of `len` bytes up to `end` and last sent at `sent_at`, is
    /// delivered; `once` if it never was sent again (3.3, `UpdateRateSample`).
    pub(crate) fn delivered(
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

    /// The first `len` bytes of the first record are delivered, not the rest.
    pub(crate) fn delivered_part(&mut self, len: u64) {
        if !self.stamps[0].counted {
            self.newly_delivered += len;
        }
    }

    /// The first record is gone.
    pub(crate) fn released(&mut self) {
        self.stamps.pop_front();
    }

    /// `len` bytes were found lost.
    pub(crate) fn lost(&mut self, len: u64) {
        self.newly_lost += len;
        self.lost += len;
    }

    /// Leaves the losses since the last ACK out of the next sample, because a timer found them.
    pub(crate) fn forget_losses(&mut self) {
        self.newly_lost = 0;
    }

    /// Samples of what is in flight and of what is sent until that is
    /// delivered tell of the sender and not of the path (3.4).
    pub(crate) fn limit(&mut self, flight: u64) {
        self.app_limited = (self.delivered + self.newly_delivered + flight).max(1);
    }

    /// Returns whether data sent now would be marked so.
    pub(crate) fn is_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// The ACK that arrived is done with: its sample (3.3,
    /// `GenerateRateSample`), without the flight. `None` if it delivered
    /// nothing.
    pub(crate) fn finish(&mut self, now: Instant) -> Option<RateSample> {
        let newly_delivered = std::mem::take(&mut self.newly_delivered);
        let newly_lost = std::mem::take(&mut self.newly_lost);
        let newest = self.newest.take();
        if newly_delivered == 0 {
            return None;
        }
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
            prior_flight: 0,
            flight: 0,
        };
        if let Some(newest) = newest {
            let stamp = newest.stamp;
            self.first_sent_at = newest.sent_at;
            sample.prior_delivered = stamp.delivered;
            sample.app_limited = stamp.app_limited;
            if newest.once {
                let rtt = now.since(newest.sent_at);
                sample.rtt = Some(rtt);
                self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            }
            let sending = newest.sent_at.since(stamp.first_sent_at);
            let acking = now.since(stamp.delivered_at);
            let interval = sending.max(acking);
            let honest = !interval.is_zero() && self.min_rtt.is_none_or(|least| interval >= least);
            sample.interval = honest.then_some(interval);
        }
        Some(sample)
    }

    /// The record at `i` became two.
    pub(crate) fn split(&mut self, i: usize) {
        let stamp = self.stamps[i];
        self.stamps.insert(i, stamp);
    }

    /// Panics unless there is a stamp for each of `records`: for tests.
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

    /// The segment of 1000 bytes at the front, sent at `sent`, is acknowledged.
    fn ack(rate: &mut RateSampler, end: Offset, sent: Instant, now: Instant) -> RateSample {
        rate.delivered(0, (1000, end), sent, true);
        rate.released();
        rate.finish(now).unwrap()
    }

    #[test]
    fn the_rate_is_what_was_delivered_over_the_longer_of_sending_and_acking() {
        let mut rate = RateSampler::default();
        for i in 0..3 {
            rate.sent(i == 0, at(10 * i)); // 10 ms apart
        }
        let first = ack(&mut rate, 1000, at(0), at(100));
        assert_eq!(
            (first.delivered, first.prior_delivered, first.rtt),
            (1000, 0, Some(Interval::from_millis(100)))
        );
        assert_eq!(first.interval, Some(Interval::from_millis(100)));
        // ACKs 20 ms apart: the third was sent before any, so that its sample
        // is 3000 bytes in 140 ms since the first left.
        let _ = ack(&mut rate, 2000, at(10), at(120));
        let third = ack(&mut rate, 3000, at(20), at(140));
        assert_eq!((third.delivered, third.prior_delivered), (3000, 0));
        assert_eq!(third.interval, Some(Interval::from_millis(140)));
        assert!((third.rate().unwrap() - 3000.0 / 0.14).abs() < 1e-6);
        // What leaves after idle starts the clocks again.
        rate.sent(true, at(1000));
        let idle = ack(&mut rate, 4000, at(1000), at(1100));
        assert_eq!(idle.interval, Some(Interval::from_millis(100)));
        assert_eq!(idle.prior_delivered, 3000);
    }

    #[test]
    fn a_compressed_burst_of_acks_does_not_raise_the_rate() {
        // Sent 50 ms apart, acknowledged within 2 ms: sending is the longer.
        let mut rate = RateSampler::default();
        rate.sent(true, at(0));
        ack(&mut rate, 1000, at(0), at(100));
        for i in 0..4 {
            rate.sent(i == 0, at(200 + 50 * i));
        }
        for i in 0..3 {
            ack(&mut rate, 2000 + 1000 * i, at(200 + 50 * i), at(460 + i));
        }
        let last = ack(&mut rate, 5000, at(350), at(463));
        assert_eq!(last.delivered - last.prior_delivered, 4000);
        assert_eq!(last.interval, Some(Interval::from_millis(263)));
    }

    #[test]
    fn an_interval_below_the_least_round_trip_is_no_rate() {
        let mut rate = RateSampler::default();
        rate.sent(true, at(0));
        ack(&mut rate, 1000, at(0), at(100));
        rate.sent(true, at(200));
        rate.sent_again(0); // at 205 ms, and the ACK of the first copy arrives
        rate.delivered(0, (1000, 2000), at(205), false);
        rate.released();
        let sample = rate.finish(at(210)).unwrap();
        assert_eq!((sample.interval, sample.rtt), (None, None));
    }

    #[test]
    fn samples_are_marked_until_the_bubble_is_delivered() {
        let mut rate = RateSampler::default();
        rate.sent(true, at(0));
        rate.limit(1000);
        rate.sent(false, at(50));
        assert!(!ack(&mut rate, 1000, at(0), at(100)).app_limited);
        assert!(rate.is_limited()); // 1000 delivered, the mark is at 1000
        assert!(ack(&mut rate, 2000, at(50), at(150)).app_limited);
        assert!(!rate.is_limited());
    }

    #[test]
    fn what_is_sacked_counts_once_and_losses_are_told_once() {
        let mut rate = RateSampler::default();
        rate.sent(true, at(0));
        rate.sent(false, at(1));
        rate.delivered(1, (1000, 2000), at(1), true);
        rate.lost(1000);
        let sack = rate.finish(at(100)).unwrap();
        assert_eq!((sack.newly_delivered, sack.newly_lost), (1000, 1000));
        rate.sent_again(0);
        rate.delivered(0, (1000, 1000), at(100), false);
        rate.released();
        rate.delivered(0, (1000, 2000), at(1), true);
        rate.released();
        let ack = rate.finish(at(200)).unwrap();
        assert_eq!((ack.newly_delivered, ack.newly_lost), (1000, 0));
        assert_eq!(ack.delivered, 2000);
        assert_eq!(rate.finish(at(201)), None);
    }
}
