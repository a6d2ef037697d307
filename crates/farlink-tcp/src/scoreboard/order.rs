//! Transmissions in the order of time, for RACK (RFC 8985).
//!
//! Each entry finds its scoreboard record by index and send time. An entry is stale if its segment
//! was acknowledged, marked lost or resent, and is dropped when it reaches the end of its list. The
//! cost per entry is therefore constant, independent of the ACKs in between.

use super::{LOST, RETX, SACKED, Scoreboard};
use crate::config::RackRtt;
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use std::collections::VecDeque;

/// A transmission: its send time and the position after it, by which transmissions are ordered.
pub(crate) type Sending = (Instant, Offset);

#[derive(Clone, Copy, Debug)]
struct Entry {
    sending: Sending,
    /// Absolute index of the record.
    index: u64,
}

/// Transmissions in flight, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct TimeOrder {
    /// Transmissions with no later transmission known to be delivered.
    ahead: VecDeque<Entry>,
    /// Transmissions before a later one that was already delivered, while their reordering window
    /// has not expired.
    overtaken: VecDeque<Entry>,
    ack: CurrentAck,
    delivery: Delivery,
}

/// State of the ACK that is being processed.
#[derive(Clone, Copy, Debug, Default)]
struct CurrentAck {
    now: Instant,
    /// Send time of the segment whose timestamp is echoed, in whole milliseconds.
    echoed: Option<Instant>,
    min_rtt: Option<Interval>,
    /// `RACK.fack` before this ACK.
    fack: Offset,
}

/// Data that the current ACK delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivery {
    /// Latest transmission that the ACK certainly delivered.
    pub(crate) latest: Option<Sending>,
    /// Delivered segment with the highest sequence number. Cumulatively acknowledged segments have
    /// precedence. The fields are whether it was cumulatively acknowledged, the position after it,
    /// and its send time.
    pub(crate) last: Option<(bool, Offset, Instant)>,
    /// Position after the highest segment.
    pub(crate) highest: Offset,
    /// Least RTT of delivered segments that were sent once.
    pub(crate) least_rtt: Option<Interval>,
    /// Set if a segment that was sent once arrived after a higher one.
    pub(crate) reordered: bool,
}

/// Result of [`Scoreboard::mark_lost_by_time`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeLosses {
    /// Send time of the first newly lost segment.
    pub(crate) lost: Option<Instant>,
    /// Time at which the last overtaken segment is declared lost if not yet delivered.
    pub(crate) again_at: Option<Instant>,
}

impl Delivery {
    /// Returns the send time of the segment that gives RACK its RTT.
    pub(crate) fn timed(&self, from: RackRtt) -> Option<Instant> {
        match from {
            RackRtt::Latest => self.latest.map(|(at, _)| at),
            RackRtt::LastInSequence => self.last.map(|(.., at)| at),
        }
    }
}

impl TimeOrder {
    /// Prepares for the processing of an ACK.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        echoed: Option<Instant>,
        min_rtt: Option<Interval>,
        fack: Offset,
    ) {
        self.ack = CurrentAck {
            now,
            echoed,
            min_rtt,
            fack,
        };
        self.delivery = Delivery::default();
    }

    /// Returns the delivered data.
    pub(crate) fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Adds a transmission of record `index`, which ends at `end`, sent at `at`.
    pub(super) fn sent(&mut self, at: Instant, end: Offset, index: u64) {
        let entry = Entry {
            sending: (at, end),
            index,
        };
        let last = self.ahead.back().map(|e| e.sending);
        if last.is_none_or(|last| last <= entry.sending) {
            self.ahead.push_back(entry);
        } else {
            // Of two transmissions at the same time, the one with the lower end is the earlier.
            let i = self.ahead.partition_point(|e| e.sending <= entry.sending);
            self.ahead.insert(i, entry);
        }
    }

    /// Notes a delivered segment (RFC 8985, 6.2, steps 2 and 3), by the ACK field if `acked` is set
    /// and otherwise by SACK.
    pub(super) fn delivered(&mut self, at: Instant, end: Offset, sent_twice: bool, acked: bool) {
        let (ack, delivery) = (&self.ack, &mut self.delivery);
        let rtt = ack.now.since(at);
        delivery.highest = delivery.highest.max(end);
        if sent_twice {
            // The ACK may belong to an earlier transmission of this segment.
            let tick = Instant::from_nanos(at.as_nanos() / 1_000_000 * 1_000_000);
            if ack.echoed.is_some_and(|echoed| echoed < tick)
                || ack.min_rtt.is_some_and(|least| rtt < least)
            {
                return;
            }
        } else {
            delivery.least_rtt = Some(delivery.least_rtt.map_or(rtt, |least| least.min(rtt)));
            delivery.reordered |= end < ack.fack;
        }
        delivery.latest = delivery.latest.max(Some((at, end)));
        delivery.last = delivery.last.max(Some((acked, end, at)));
    }
}

impl Scoreboard {
    /// Number of segments in flight.
    pub(crate) fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Number of segments that are SACKed (`RACK.segs_sacked`).
    pub(crate) fn segments_sacked(&self) -> u64 {
        self.segments_sacked
    }

    /// Position after the highest SACKed byte.
    pub(crate) fn highest_sacked(&self) -> Option<Offset> {
        self.ranges.back().map(|range| range.1)
    }

    /// Marks segments lost that were sent before the delivered `latest` and at least `after` ago
    /// (RFC 8985, 6.2, step 5).
    pub(crate) fn mark_lost_by_time(
        &mut self,
        latest: Sending,
        after: Interval,
        now: Instant,
    ) -> TimeLosses {
        let Some(mut order) = self.order.take() else {
            return TimeLosses::default();
        };
        while let Some(&entry) = order.ahead.front()
            && entry.sending < latest
        {
            order.ahead.pop_front();
            if self.in_flight(&entry) {
                order.overtaken.push_back(entry);
            }
        }
        let mut report = TimeLosses::default();
        while let Some(&entry) = order.overtaken.front() {
            if self.in_flight(&entry) {
                let at = entry.sending.0;
                if at + after > now {
                    break;
                }
                let i = (entry.index - self.first) as usize;
                let len = self.lose(i);
                self.losses += len;
                if let Some(rate) = &mut self.rate {
                    rate.on_lost(i, len);
                }
                report.lost.get_or_insert(at);
            }
            order.overtaken.pop_front();
        }
        while let Some(entry) = order.overtaken.back() {
            if self.in_flight(entry) {
                report.again_at = Some(entry.sending.0 + after);
                break;
            }
            order.overtaken.pop_back();
        }
        self.order = Some(order);
        report
    }

    /// Marks lost, at a time-out, the first segment and all sent at least `after` ago (RFC 8985,
    /// 6.3, `RACK_mark_losses_on_RTO`).
    pub(crate) fn lose_overdue(&mut self, after: Interval, now: Instant) {
        self.clear_reneged();
        for i in 0..self.segments.len() {
            let s = &self.segments[i];
            if !s.is(SACKED) && (i == 0 || s.at + after <= now) {
                let newly_lost = !s.is(LOST) || s.is(RETX);
                let len = self.lose(i);
                if let Some(rate) = self.rate.as_mut().filter(|_| newly_lost) {
                    rate.on_lost(i, len);
                }
            }
        }
        self.next_retransmission = self.first;
        if let Some(rate) = &mut self.rate {
            rate.discard_losses();
        }
    }

    /// The last segment, unless it is SACKed.
    pub(crate) fn last(&self) -> Option<(usize, super::Sent)> {
        let last = self.segments.back().filter(|s| !s.is(SACKED))?;
        Some((self.segments.len() - 1, *last))
    }

    /// Rebuilds all entries, because lost records count as in flight again.
    pub(super) fn order_anew(&mut self) {
        let Some(mut order) = self.order.take() else {
            return;
        };
        order.ahead.clear();
        order.overtaken.clear();
        order
            .ahead
            .extend((self.first..).zip(&self.segments).map(|(index, s)| Entry {
                sending: (s.at, s.end()),
                index,
            }));
        order.ahead.retain(|entry| self.in_flight(entry));
        order
            .ahead
            .make_contiguous()
            .sort_unstable_by_key(|e| e.sending);
        self.order = Some(order);
    }

    /// Marks the transmission at index `i` lost. Returns its length.
    fn lose(&mut self, i: usize) -> u64 {
        let s = &mut self.segments[i];
        let len = u64::from(s.len);
        if s.is(RETX) {
            self.retransmitted -= len;
        }
        if !s.is(LOST) {
            self.lost += len;
        }
        s.state = (s.state & !RETX) | LOST;
        let index = self.first + i as u64;
        self.next_retransmission = self.next_retransmission.min(index);
        self.scanned_to = self.scanned_to.max(index + 1);
        len
    }

    /// Returns whether the transmission is the last of its record, and is neither delivered nor
    /// presumed lost.
    fn in_flight(&self, entry: &Entry) -> bool {
        let i = entry.index.checked_sub(self.first);
        let s = i.and_then(|i| self.segments.get(i as usize));
        s.is_some_and(|s| s.at == entry.sending.0 && !s.is(SACKED) && (!s.is(LOST) || s.is(RETX)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::EVER_RETX;
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Interval::from_millis(ms)
    }

    /// Builds a scoreboard with ten segments of 100 bytes, sent 1 ms apart.
    fn board() -> Scoreboard {
        let mut b = Scoreboard {
            order: Some(Box::default()),
            ..Scoreboard::default()
        };
        for i in 0..10 {
            b.sent(100, at(i));
        }
        b
    }

    fn resend(b: &mut Scoreboard, now: u64) -> Vec<Offset> {
        let mut sent = Vec::new();
        while let Some((i, s)) = b.next_lost() {
            b.sent_again(i, at(now));
            sent.push(s.start);
        }
        sent
    }

    const WAIT: Interval = Interval::from_millis(20);

    #[test]
    fn rack_loses_segments_sent_before_the_latest_delivered() {
        let mut b = board();
        b.sack(500, 600);
        let latest = (at(5), 600);
        let none = b.mark_lost_by_time(latest, WAIT, at(19));
        // The last of the five segments was sent at 4 ms.
        assert_eq!(none.again_at, Some(at(24)));
        assert_eq!((none.lost, b.pipe()), (None, 900));
        let some = b.mark_lost_by_time(latest, WAIT, at(22));
        assert_eq!((some.lost, some.again_at), (Some(at(0)), Some(at(24))));
        assert_eq!(b.pipe(), 900 - 300);
        b.sack(400, 500);
        let rest = b.mark_lost_by_time(latest, WAIT, at(30));
        assert_eq!((rest.lost, rest.again_at), (Some(at(3)), None));
        b.check();
        assert_eq!(resend(&mut b, 30), [0, 100, 200, 300]);
    }

    /// Detects a lost retransmission, which RFC 6675 cannot.
    #[test]
    fn retransmission_is_lost_when_a_later_transmission_arrives() {
        let mut b = board();
        b.sack(100, 200);
        b.mark_lost_by_time((at(1), 200), WAIT, at(30));
        assert_eq!(resend(&mut b, 30), [0]);
        b.sent(100, at(31));
        b.sack(1000, 1100);
        let report = b.mark_lost_by_time((at(31), 1100), WAIT, at(50));
        assert_eq!((report.lost, report.again_at), (Some(at(2)), None));
        assert_eq!(
            resend(&mut b, 50),
            [0, 200, 300, 400, 500, 600, 700, 800, 900]
        );
        b.check();
    }

    #[test]
    fn equal_send_times_are_ordered_by_sequence_number() {
        let mut b = board();
        b.sack(100, 200);
        b.mark_lost_by_time((at(1), 200), WAIT, at(30));
        b.sent(100, at(30)); // new data, then the retransmission
        assert_eq!(resend(&mut b, 30), [0]);
        b.sack(1000, 1100);
        let report = b.mark_lost_by_time((at(30), 1100), WAIT, at(49));
        assert_eq!(report.again_at, Some(at(50)));
        let report = b.mark_lost_by_time((at(30), 1100), WAIT, at(50));
        assert_eq!(
            (report.lost, b.next_lost().unwrap().1.start),
            (Some(at(30)), 0)
        );
    }

    /// RFC 8985, 6.3: the first segment and all overdue ones are lost.
    #[test]
    fn timeout_loses_front_and_overdue_segments() {
        let mut b = board();
        b.sack(200, 300);
        b.lose_overdue(WAIT, at(24));
        assert_eq!(resend(&mut b, 24), [0, 100, 300, 400]);
        b.check();
        let mut b = board();
        b.lose_overdue(WAIT, at(15));
        assert_eq!(resend(&mut b, 15), [0]);
        b.check();
    }

    #[test]
    fn undo_returns_lost_segments_into_flight() {
        let mut b = board();
        b.sack(500, 600);
        b.mark_lost_by_time((at(5), 600), WAIT, at(30));
        b.clear_losses();
        assert_eq!(b.pipe(), 900);
        let report = b.mark_lost_by_time((at(5), 600), WAIT, at(23));
        assert_eq!((report.lost, report.again_at), (Some(at(0)), Some(at(24))));
    }

    /// RFC 8985, 6.2, step 2: a retransmission is not delivered if the echoed timestamp is older,
    /// or if the RTT would be below the path's least RTT.
    #[test]
    fn retransmission_counts_as_delivered_only_with_plausible_rtt() {
        let latest = |echoed: Option<u64>, min_rtt, now| {
            let mut order = TimeOrder::default();
            order.begin(
                at(now),
                echoed.map(at),
                Some(Interval::from_millis(min_rtt)),
                0,
            );
            order.delivered(at(100), 10, true, true);
            order.delivery().latest
        };
        assert_eq!(latest(None, 50, 149), None);
        assert_eq!(latest(None, 50, 150), Some((at(100), 10)));
        assert_eq!(latest(Some(99), 50, 150), None);
        assert_eq!(latest(Some(100), 50, 150), Some((at(100), 10)));
    }

    /// RFC 8985, 6.2, step 3. The order within one ACK does not count.
    #[test]
    fn original_arriving_below_the_highest_is_reordering() {
        let reordered = |end, twice| {
            let mut order = TimeOrder::default();
            order.begin(at(10), None, None, 500);
            order.delivered(at(1), 900, false, false);
            order.delivered(at(0), end, twice, false);
            assert_eq!(order.delivery().highest, 900);
            order.delivery().reordered
        };
        assert!(reordered(400, false));
        assert!(!reordered(400, true));
        assert!(!reordered(500, false));
        assert!(!reordered(600, false));
    }

    #[test]
    fn retransmitted_record_has_its_flag_and_send_time() {
        let mut b = board();
        b.lose_overdue(WAIT, at(5));
        resend(&mut b, 5);
        assert!(b.segments[0].is(EVER_RETX));
        b.order.as_mut().unwrap().begin(at(9), None, None, 0);
        b.acknowledge(200);
        let delivery = b.order.as_ref().unwrap().delivery();
        assert_eq!(delivery.latest, Some((at(5), 100)));
        assert_eq!(delivery.least_rtt, Some(Interval::from_millis(8)));
    }
}
