//! RACK-TLP: RFC 8985 (2021).
//!
//! RACK marks a segment lost if a segment sent later was delivered, and more than RTT + reordering
//! window passed since it was sent. If no ACKs arrive, a tail loss probe elicits one. RACK-TLP
//! replaces the counting of duplicate ACKs and of SACKed bytes of RFC 6675 on the same scoreboard.
//! The pipe and the choice of segments stay.

use crate::config::{RackConfig, TlpConfig};
use crate::congestion::Loss;
use crate::flight::{Flight, context};
use crate::record::{Mark, Record, Recorder};
use crate::scoreboard::Delivery;
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use crate::timers::{Timer, Timers};

/// Variables of RFC 8985, 5.2 and 7.1, of one connection.
#[derive(Debug)]
pub(crate) struct Rack {
    config: RackConfig,
    /// `RACK.min_RTT` and the time of its measurement.
    min_rtt: Option<(Interval, Instant)>,
    /// `RACK.xmit_ts` and `RACK.end_seq`.
    latest: Option<(Instant, Offset)>,
    /// `RACK.rtt`.
    rtt: Interval,
    /// `RACK.fack`.
    fack: Offset,
    /// `RACK.reordering_seen`.
    reordering_seen: bool,
    /// `RACK.dsack_round`.
    dsack_round: Option<Offset>,
    /// `RACK.reo_wnd_mult`.
    multiple: u32,
    /// `RACK.reo_wnd_persist`.
    persist: u32,
    /// `RACK.reo_wnd` at the last detection.
    window: Interval,
    tlp: Tlp,
}

#[derive(Debug)]
struct Tlp {
    /// Set if the next segment sent is a tail loss probe.
    due: bool,
    /// `TLP.end_seq`.
    end: Option<Offset>,
    /// `TLP.is_retrans`, as the time at which the retransmitted segment was sent before.
    repeats: Option<Instant>,
    /// Set if an RTT sample was taken since the last probe.
    sampled: bool,
}

/// State of the sender before an ACK is processed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    pub(super) una: Offset,
    /// FlightSize from which the window is reduced, in bytes.
    pub(super) in_flight: u64,
    recovering: bool,
}

/// Properties of an ACK that TLP and the reordering window need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckKind {
    pub(crate) ack: Offset,
    /// Range that the ACK reports as a duplicate.
    pub(crate) duplicate: Option<(Offset, Offset)>,
    /// Set for a pure ACK: no data, no window change, no SACK block.
    pub(crate) bare: bool,
}

impl Rack {
    pub(super) fn new(config: RackConfig) -> Self {
        Self {
            config,
            min_rtt: None,
            latest: None,
            rtt: Interval::ZERO,
            fack: 0,
            reordering_seen: false,
            dsack_round: None,
            multiple: 1,
            persist: 0,
            window: Interval::ZERO,
            tlp: Tlp {
                due: false,
                end: None,
                repeats: None,
                sampled: false,
            },
        }
    }

    /// Stores that an RTT sample was taken.
    #[inline]
    pub(crate) fn on_rtt_sample(&mut self) {
        self.tlp.sampled = true;
    }

    /// Returns whether the next segment sent is a tail loss probe.
    #[inline]
    pub(crate) fn probe_due(&self) -> bool {
        self.tlp.due
    }

    /// Resets the tail loss probe at the start of a fast or RTO recovery (7.1).
    pub(super) fn on_recovery_start(&mut self) {
        self.tlp.due = false;
        self.tlp.end = None;
        self.tlp.repeats = None;
    }

    /// Steps 1 to 3 of 6.2, without marking segments lost.
    fn update(&mut self, now: Instant, delivery: Delivery) {
        if let Some(rtt) = delivery.least_rtt {
            let window = self.config.min_rtt_window;
            let kept = self
                .min_rtt
                .filter(|&(min, at)| min < rtt && now.since(at) <= window);
            self.min_rtt = kept.or(Some((rtt, now)));
        }
        if let Some(at) = delivery.timed(self.config.rtt_from) {
            self.rtt = now.since(at);
        }
        self.latest = self.latest.max(delivery.latest);
        self.reordering_seen |= delivery.reordered;
        self.fack = self.fack.max(delivery.highest);
    }

    /// Adapts the multiple of the reordering window (step 4).
    fn adapt(&mut self, dsack: bool, una: Offset, max: Offset, recovered: bool) {
        if self.dsack_round.is_some_and(|round| una >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && dsack {
            self.dsack_round = Some(max);
            self.multiple = self.multiple.saturating_add(1);
            self.persist = self.config.reo_persist;
        } else if recovered {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.multiple = 1;
            }
        }
    }

    /// Returns the reordering window (step 4). It is zero if no reordering was seen and `hurried`
    /// is set: in a recovery, or with as many SACKed segments as the duplicate-ACK threshold.
    fn reordering_window(&self, hurried: bool, srtt: Option<Interval>) -> Interval {
        if hurried && !self.reordering_seen {
            return Interval::ZERO;
        }
        let min = self.min_rtt.map_or(Interval::ZERO, |(min, _)| min);
        let window = min.saturating_mul(self.multiple.into()) / u64::from(self.config.reo_divisor);
        srtt.map_or(window, |srtt| window.min(srtt))
    }
    /// Returns the sender's state before an ACK. `echoed` is the time at which the segment was sent
    /// whose timestamp the ACK echoes.
    pub(super) fn before_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        echoed: Option<Instant>,
    ) -> Option<Before> {
        self.tlp.due = false;
        let (min, fack) = (self.min_rtt.map(|(min, _)| min), self.fack);
        let order = flight.board.order.as_mut()?;
        order.begin(now, echoed, min, fack);
        Some(Before {
            una: flight.board.una(),
            in_flight: flight.flight_at_loss(),
            recovering: flight.loss.recovering(),
        })
    }

    /// Updates the estimates by the `delivery` of an ACK, after checking whether it acknowledges the
    /// probe (7.4).
    pub(super) fn on_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        (before, kind): (Before, AckKind),
        delivery: Delivery,
        recorder: &mut Recorder,
    ) {
        self.probe_acknowledged(flight, now, (before, kind), recorder);
        let recovered = before.recovering && !flight.loss.recovering();
        let (una, max) = (flight.board.una(), flight.board.max());
        self.update(now, delivery);
        self.adapt(kind.duplicate.is_some(), una, max, recovered);
    }

    /// Processes the transmission of a segment; `again` is set for a retransmission. Completes a
    /// due probe, or schedules the next one.
    pub(super) fn on_sent(&mut self, flight: &mut Flight, now: Instant, again: bool) {
        if self.tlp.due {
            self.tlp.due = false;
            self.tlp.sampled = false;
            self.tlp.end = Some(flight.board.max());
            if !again {
                self.tlp.repeats = None;
            }
        } else if !again {
            self.schedule_probe(flight, now);
        }
    }

    /// Stops the timers of RACK-TLP and cancels a probe that is not sent yet.
    pub(super) fn stop(&mut self, timers: &mut Timers) {
        timers.stop(Timer::Reordering);
        timers.stop(Timer::TailProbe);
        self.tlp.due = false;
    }

    /// Handles the probe timer: makes a tail loss probe due. `fresh` is set if new data may be
    /// sent.
    pub(super) fn on_probe_timer(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        fresh: bool,
        recorder: &mut Recorder,
    ) {
        let last = flight.board.last().map(|(_, s)| s.at);
        // 7.3: only one probe at a time, and only if there was an RTT sample since the last probe.
        if self.tlp.end.is_none() && self.tlp.sampled && (last.is_some() || fresh) {
            self.tlp.due = true;
            self.tlp.repeats = last;
            recorder.emit(now, Record::Mark(Mark::TailProbe));
        }
        flight.restart_timer(now);
    }

    /// Handles a retransmission time-out (6.3).
    pub(super) fn on_timeout(&mut self, flight: &mut Flight, now: Instant) {
        self.stop(&mut flight.timers);
        self.on_recovery_start();
        flight.board.lose_overdue(self.rtt + self.window, now);
    }

    /// Step 5 of 6.2: marks segments lost and starts the reordering timer for the others. Returns
    /// the loss that begins a recovery, if any.
    pub(super) fn detect(&mut self, flight: &mut Flight, now: Instant) -> Option<Loss> {
        let recovering = flight.loss.recovering();
        let hurried =
            recovering || flight.board.segments_sacked() >= u64::from(flight.loss.threshold);
        self.window = self.reordering_window(hurried, flight.rtt.srtt());
        let latest = self.latest?;
        let losses = flight
            .board
            .mark_lost_by_time(latest, self.rtt + self.window, now);
        let again_at = losses.again_at.unwrap_or(Instant::MAX);
        flight.timers.set(Timer::Reordering, again_at);
        if let Some(at) = losses.again_at {
            // 8: only one timer runs at a time.
            flight.timers.stop(Timer::TailProbe);
            let rto_at = flight.timers.at(Timer::Retransmission);
            flight.timers.set(Timer::Retransmission, rto_at.max(at));
        }
        // Lost segments above the end of a recovery begin the next recovery (tcp_input.c:
        // `tcp_time_to_recover`), but only if the controller owns the recovery window. Other
        // controllers would reduce their window twice, because RFC 8985 assigns these losses to the
        // recovery that detected them.
        let board = &flight.board;
        let left_over = || {
            let owned = board.rate.is_some() && board.repairs();
            board.front().filter(|_| owned).map(|front| front.at)
        };
        let sent_at = losses.lost.or_else(left_over)?;
        (!recovering && board.una() >= flight.loss.recover).then_some(Loss { sent_at })
    }

    /// Restarts the probe timer, or stops it in recovery, where no probe is needed (7.2).
    pub(super) fn schedule_probe(&self, flight: &mut Flight, now: Instant) {
        let quiet = !flight.loss.recovering()
            && flight.board.una() > 0
            && !flight.board.is_empty()
            && flight.board.segments_sacked() == 0
            && flight.timer_runs()
            && !flight.timers.runs(Timer::Reordering);
        let at = match self.config.tlp {
            Some(tlp) if quiet => {
                let pto = now + probe_timeout(tlp, flight.rtt.srtt(), flight.board.segments());
                pto.min(flight.timers.at(Timer::Retransmission))
            }
            _ => Instant::MAX,
        };
        flight.timers.set(Timer::TailProbe, at);
    }

    /// Processes an ACK of the probe (7.4.2).
    fn probe_acknowledged(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        (before, kind): (Before, AckKind),
        recorder: &mut Recorder,
    ) {
        let Some(end) = self.tlp.end.filter(|&end| kind.ack >= end) else {
            return;
        };
        let reported = kind
            .duplicate
            .is_some_and(|(left, right)| left < end && right >= end);
        let both_arrived = reported || (kind.ack == before.una && kind.bare);
        let repeats = self.tlp.repeats;
        if repeats.is_some() && !both_arrived && kind.ack == end {
            return; // the next ACK decides
        }
        self.tlp.end = None;
        self.tlp.repeats = None;
        // The probe repaired a loss. The window is reduced, unless losses are attributed to
        // corruption.
        if let Some(sent_at) = repeats
            && !both_arrived
            && !flight.loss.recovering()
            && !flight.reduced_for_mark(before.una)
            && !flight.loss.assume_corruption
        {
            flight.bound_controller();
            let in_flight = flight.at_most_window(before.in_flight);
            let cx = context!(flight, now, in_flight);
            flight.cc.on_loss(&cx, &Loss { sent_at });
            flight.after_reduction(now, false, recorder);
            let window = flight.cc.ssthresh().min(flight.cc.cwnd());
            let cx = context!(flight, now, flight.board.flight());
            flight.cc.on_recovered(&cx, window);
            flight.loss.reduced = true;
        }
    }
}

/// Returns the probe time-out (7.2) before its limit by the RTO.
fn probe_timeout(config: TlpConfig, srtt: Option<Interval>, segments: usize) -> Interval {
    let Some(srtt) = srtt else {
        return config.initial;
    };
    let delay = if segments == 1 {
        config.max_ack_delay
    } else {
        Interval::ZERO
    };
    srtt.saturating_mul(config.srtts.into()) + delay
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Recovery};

    const MS: fn(u64) -> Interval = Interval::from_millis;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + MS(ms)
    }

    fn rack() -> Rack {
        Rack::new(RackConfig::default())
    }

    fn sampled(rtt: u64) -> Rack {
        let mut r = rack();
        r.update(at(1000), delivery(rtt, 1000 - rtt, 100));
        r
    }

    fn delivery(rtt: u64, sent: u64, end: Offset) -> Delivery {
        Delivery {
            latest: Some((at(sent), end)),
            least_rtt: Some(MS(rtt)),
            highest: end,
            ..Delivery::default()
        }
    }

    /// 6.2, step 4: min_RTT / 4, at most SRTT; zero if no reordering was seen and the loss is
    /// otherwise certain.
    #[test]
    fn the_reordering_window() {
        let mut r = sampled(100);
        let srtt = Some(MS(110));
        assert_eq!(r.reordering_window(false, srtt), MS(25));
        assert_eq!(r.reordering_window(true, srtt), MS(0));
        r.reordering_seen = true;
        assert_eq!(r.reordering_window(true, srtt), MS(25));
        r.multiple = 4;
        assert_eq!(r.reordering_window(true, srtt), MS(100));
        r.multiple = 5;
        assert_eq!(r.reordering_window(true, srtt), MS(110));
    }

    /// 6.2, step 4: a D-SACK increases the multiple by one, at most once per round. After 16
    /// recoveries the multiple is 1 again.
    #[test]
    fn the_multiple_grows_by_round_and_lasts_sixteen_recoveries() {
        let mut r = sampled(100);
        r.adapt(true, 100, 500, false);
        r.adapt(true, 400, 600, false);
        assert_eq!(r.multiple, 2);
        r.adapt(true, 500, 900, true);
        assert_eq!((r.multiple, r.dsack_round), (3, Some(900)));
        for _ in 0..15 {
            r.adapt(false, 600, 900, true);
        }
        assert_eq!((r.multiple, r.persist), (3, 1));
        r.adapt(false, 600, 900, true);
        assert_eq!((r.multiple, r.persist), (1, 0));
        r.adapt(false, 600, 900, true);
        assert_eq!((r.multiple, r.persist), (1, 0));
    }

    /// 6.2, steps 1 and 2.
    #[test]
    fn rtt_and_end_seq_are_those_of_the_segment_sent_last() {
        let mut r = sampled(100);
        assert_eq!(r.latest, Some((at(900), 100)));
        assert_eq!((r.rtt, r.min_rtt), (MS(100), Some((MS(100), at(1000)))));
        // A segment sent earlier does not move `RACK.end_seq` back.
        r.update(at(1050), delivery(250, 800, 50));
        assert_eq!((r.latest, r.rtt), (Some((at(900), 100)), MS(250)));
        assert_eq!(r.min_rtt, Some((MS(100), at(1000))));
        assert_eq!(r.fack, 100);
        // Of two segments sent at the same time the higher one is the later.
        r.update(at(1050), delivery(150, 900, 120));
        assert_eq!(r.latest, Some((at(900), 120)));
        // `RACK.min_RTT` holds for five minutes.
        r.update(at(301_000), delivery(150, 300_850, 900));
        assert_eq!(r.min_rtt, Some((MS(100), at(1000))));
        r.update(at(301_001), delivery(150, 300_851, 1000));
        assert_eq!(r.min_rtt, Some((MS(150), at(301_001))));
    }

    /// 7.2.
    #[test]
    fn the_probe_time_out() {
        let config = TlpConfig::default();
        assert_eq!(probe_timeout(config, None, 1), MS(1000));
        assert_eq!(probe_timeout(config, Some(MS(100)), 2), MS(200));
        assert_eq!(probe_timeout(config, Some(MS(100)), 1), MS(400));
    }

    /// An RTT equal to the least one renews its time of measurement (6.2, step 1).
    #[test]
    fn an_equal_rtt_renews_min_rtt() {
        let mut r = sampled(100);
        let window = r.config.min_rtt_window.as_nanos() / 1_000_000;
        r.update(at(1000 + window), delivery(100, 900 + window, 200));
        r.update(at(1001 + window), delivery(150, 851 + window, 300));
        assert_eq!(r.min_rtt.map(|(rtt, _)| rtt), Some(MS(100)));
        // A least RTT older than the window is replaced.
        r.update(at(2 * window + 1002), delivery(150, 2 * window + 852, 400));
        assert_eq!(r.min_rtt.map(|(rtt, _)| rtt), Some(MS(150)));
    }

    /// `stop` stops both timers and cancels a probe that is due.
    #[test]
    fn stop_cancels_both_timers_and_the_probe() {
        let config = Config {
            recovery: Recovery::Sack {
                rescue: false,
                prr: None,
                rack: Some(RackConfig::default()),
            },
            ..Config::default()
        };
        let mut flight = Flight::new(&std::sync::Arc::new(config));
        flight.timers.set(Timer::Reordering, at(10));
        flight.timers.set(Timer::TailProbe, at(20));
        let mut rack = rack();
        rack.tlp.due = true;
        rack.stop(&mut flight.timers);
        assert_eq!((flight.timers.next(), rack.probe_due()), (None, false));
    }
}
