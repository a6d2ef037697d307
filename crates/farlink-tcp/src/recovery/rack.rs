//! RACK-TLP: RFC 8985 (2021).
//!
//! RACK presumes lost what left before something that is delivered, and longer
//! ago than a round trip and a reordering window. A tail loss probe asks for the
//! ACK that this needs when none comes. Both stand in for the counting of
//! duplicates, of SACKed bytes and of holes of RFC 6675, on the same scoreboard
//! and with the same pipe; what is sent and how much is decided as before.

use super::{prr, sack};
use crate::config::{RackConfig, TlpConfig};
use crate::congestion::Loss;
use crate::record::{Mark, Record, Recorder};
use crate::scoreboard::News;
use crate::send::{Sender, context};
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use crate::timers::Timer;

/// State of a connection: the variables of RFC 8985, 5.2 and 7.1.
#[derive(Debug)]
pub(crate) struct Rack {
    config: RackConfig,
    /// `RACK.min_RTT`, and when it was measured.
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
    /// `RACK.reo_wnd`, as of the last detection.
    window: Interval,
    tlp: Tlp,
}

#[derive(Debug)]
struct Tlp {
    /// The next segment that leaves is a probe.
    due: bool,
    /// `TLP.end_seq`.
    end: Option<Offset>,
    /// `TLP.is_retrans`, as when the segment that the probe repeats had left.
    repeats: Option<Instant>,
    /// A round trip was measured since the last probe.
    sampled: bool,
}

/// The sender before an ACK is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    una: Offset,
    /// Bytes in flight from which the window is reduced.
    flight: u64,
    recovering: bool,
}

/// Kind of an ACK, for TLP and the reordering window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckKind {
    pub(crate) ack: Offset,
    /// The range that it reports as a duplicate.
    pub(crate) duplicate: Option<(Offset, Offset)>,
    /// Nothing but an acknowledgment: no data, window, SACK block.
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

    /// A round trip was measured.
    #[inline]
    pub(crate) fn sampled(&mut self) {
        self.tlp.sampled = true;
    }

    /// Returns whether the next segment is a tail loss probe.
    #[inline]
    pub(crate) fn probes(&self) -> bool {
        self.tlp.due
    }

    /// Fast or RTO recovery begins (7.1).
    pub(super) fn recovery_begins(&mut self) {
        self.tlp.due = false;
        self.tlp.end = None;
        self.tlp.repeats = None;
    }

    /// Steps 1 to 3 of 6.2, all but the marking of segments.
    fn update(&mut self, now: Instant, news: News) {
        if let Some(rtt) = news.least_rtt {
            let window = self.config.min_rtt_window;
            let kept = self
                .min_rtt
                .filter(|&(least, at)| least < rtt && now.since(at) <= window);
            self.min_rtt = kept.or(Some((rtt, now)));
        }
        if let Some(at) = news.timed(self.config.rtt_from) {
            self.rtt = now.since(at);
        }
        self.latest = self.latest.max(news.latest);
        self.reordering_seen |= news.reordered;
        self.fack = self.fack.max(news.highest);
    }

    /// Step 4: the multiple.
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

    /// Step 4: the window. `hurried` if the loss is about certain without
    /// reordering: recovery lasts or as many segments are SACKed as duplicate
    /// ACKs would be counted.
    fn reordering_window(&self, hurried: bool, srtt: Option<Interval>) -> Interval {
        if hurried && !self.reordering_seen {
            return Interval::ZERO;
        }
        let least = self.min_rtt.map_or(Interval::ZERO, |(least, _)| least);
        let window =
            least.saturating_mul(self.multiple.into()) / u64::from(self.config.reo_divisor);
        srtt.map_or(window, |srtt| window.min(srtt))
    }
}

/// The probe time-out (7.2), without its bound.
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

/// An ACK is about to be taken; `echoed` is when the segment left whose
/// timestamp it echoes. `None` without RACK.
#[inline]
pub(crate) fn before_ack(tx: &mut Sender, now: Instant, echoed: Option<Instant>) -> Option<Before> {
    let rack = tx.loss.rack_mut()?;
    rack.tlp.due = false;
    let (least, fack) = (rack.min_rtt.map(|(least, _)| least), rack.fack);
    tx.board.order.as_mut()?.begin(now, echoed, least, fack);
    Some(Before {
        una: tx.board.una(),
        flight: tx.flight_at_loss(),
        recovering: recovering(tx),
    })
}

/// The ACK is done with, but for losses (6.2) and the probe (7.4).
pub(crate) fn after_ack(
    tx: &mut Sender,
    now: Instant,
    before: Before,
    kind: AckKind,
    recorder: &mut Recorder,
) {
    let Some(news) = tx.board.order.as_ref().map(|order| order.news()) else {
        return;
    };
    probe_acknowledged(tx, now, before, kind);
    let recovered = before.recovering && !recovering(tx);
    let (una, max) = (tx.board.una(), tx.board.max());
    let Some(rack) = tx.loss.rack_mut() else {
        return;
    };
    rack.update(now, news);
    rack.adapt(kind.duplicate.is_some(), una, max, recovered);
    detect(tx, now, before.flight, recorder);
    if una > before.una || tx.board.segments_sacked() > 0 {
        schedule_probe(tx, now);
    }
}

/// New data, or with `again` old, left.
#[inline]
pub(crate) fn left(tx: &mut Sender, now: Instant, again: bool) {
    if tx.loss.rack().is_some() {
        left_timed(tx, now, again);
    }
}

fn left_timed(tx: &mut Sender, now: Instant, again: bool) {
    let max = tx.board.max();
    let Some(rack) = tx.loss.rack_mut() else {
        return;
    };
    if rack.tlp.due {
        rack.tlp.due = false;
        rack.tlp.sampled = false;
        rack.tlp.end = Some(max);
        if !again {
            rack.tlp.repeats = None;
        }
    } else if !again {
        schedule_probe(tx, now);
    }
}

impl Sender {
    /// None of its timers runs any more, and no probe is about to leave.
    pub(crate) fn stop_rack(&mut self) {
        self.timers.stop(Timer::Reordering);
        self.timers.stop(Timer::TailProbe);
        if let Some(rack) = self.loss.rack_mut() {
            rack.tlp.due = false;
        }
    }
}

/// Checks again segments that were not old enough to be lost.
pub(crate) fn on_reordering_timer(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    let (flight, window) = (tx.flight_at_loss(), tx.cwnd());
    let losses = tx.board.losses();
    detect(tx, now, flight, recorder);
    tx.board.losses_without_ack();
    if tx.board.losses() > losses {
        prr::without_ack(tx, window);
    }
    tx.restart_timer(now); // 8: after it the time-out is what is left
}

/// A tail loss probe is due.
pub(crate) fn on_probe_timer(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    let last = tx.board.last().map(|(_, s)| s.at);
    let fresh = tx.unsent_segment().is_some();
    let Some(rack) = tx.loss.rack_mut() else {
        return;
    };
    // 7.3: one probe at a time, and none that says nothing of the last.
    if rack.tlp.end.is_none() && rack.tlp.sampled && (last.is_some() || fresh) {
        rack.tlp.due = true;
        rack.tlp.repeats = last;
        recorder.emit(now, Record::Mark(Mark::TailProbe));
    }
    tx.restart_timer(now);
}

/// The retransmission timer went off (6.3).
pub(crate) fn on_timeout(tx: &mut Sender, now: Instant) {
    tx.stop_rack();
    let Some(rack) = tx.loss.rack_mut() else {
        return;
    };
    rack.recovery_begins();
    let after = rack.rtt + rack.window;
    tx.board.lose_overdue(after, now);
}

fn recovering(tx: &Sender) -> bool {
    tx.loss.in_recovery || tx.loss.after_timeout
}

/// Step 5 of 6.2, and the timer for what is not lost yet.
fn detect(tx: &mut Sender, now: Instant, flight: u64, recorder: &mut Recorder) {
    let recovering = recovering(tx);
    let hurried = recovering || tx.board.segments_sacked() >= u64::from(tx.loss.threshold);
    let srtt = tx.rtt.srtt();
    let Some(rack) = tx.loss.rack_mut() else {
        return;
    };
    rack.window = rack.reordering_window(hurried, srtt);
    let Some(latest) = rack.latest else {
        return;
    };
    let judged = tx.board.judge_by_time(latest, rack.rtt + rack.window, now);
    let again_at = judged.again_at.unwrap_or(Instant::MAX);
    tx.timers.set(Timer::Reordering, again_at);
    if let Some(at) = judged.again_at {
        // 8: one timer at a time.
        tx.timers.stop(Timer::TailProbe);
        let rto_at = tx.timers.at(Timer::Retransmission);
        tx.timers.set(Timer::Retransmission, rto_at.max(at));
    }
    // Segments above the end of a recovery that are still lost begin the next one (tcp_input.c:
    // `tcp_time_to_recover`), where the window is the controller's own: the others would reduce
    // theirs for losses that RFC 8985 leaves to the recovery that found them.
    let left_over = || {
        let owned = tx.board.rate.is_some() && tx.board.repairs();
        tx.board.front().filter(|_| owned).map(|front| front.at)
    };
    if let Some(sent_at) = judged.lost.or_else(left_over)
        && !recovering
        && tx.board.una() >= tx.loss.recover
    {
        sack::begin(tx, now, flight, Loss { sent_at }, recorder);
    }
}

/// Starts the probe timer anew, or stops it where others see to losses (7.2).
fn schedule_probe(tx: &mut Sender, now: Instant) {
    let quiet = !recovering(tx)
        && tx.board.una() > 0
        && !tx.board.is_empty()
        && tx.board.segments_sacked() == 0
        && tx.timer_runs()
        && !tx.timers.runs(Timer::Reordering);
    let Some(rack) = tx.loss.rack() else {
        return;
    };
    let at = match rack.config.tlp {
        Some(tlp) if quiet => {
            let pto = now + probe_timeout(tlp, tx.rtt.srtt(), tx.board.segments());
            pto.min(tx.timers.at(Timer::Retransmission))
        }
        _ => Instant::MAX,
    };
    tx.timers.set(Timer::TailProbe, at);
}

/// Checks whether the ACK is the probe's, and what it means (7.4.2).
fn probe_acknowledged(tx: &mut Sender, now: Instant, before: Before, kind: AckKind) {
    let Some(rack) = tx.loss.rack_mut() else {
        return;
    };
    let Some(end) = rack.tlp.end.filter(|&end| kind.ack >= end) else {
        return;
    };
    let reported = kind
        .duplicate
        .is_some_and(|(left, right)| left < end && right >= end);
    let both_arrived = reported || (kind.ack == before.una && kind.bare);
    let repeats = rack.tlp.repeats;
    if repeats.is_some() && !both_arrived && kind.ack == end {
        return; // the next ACK tells
    }
    rack.tlp.end = None;
    rack.tlp.repeats = None;
    // The probe has repaired a loss, which is congestion all the same, unless losses
    // are taken for corruption.
    if let Some(sent_at) = repeats
        && !both_arrived
        && !recovering(tx)
        && !tx.loss.reduced_for_mark(before.una)
        && !tx.loss.assume_corruption
    {
        let flight = tx.at_most_window(before.flight);
        tx.cc.on_loss(&context!(tx, now, flight), &Loss { sent_at });
        let window = tx.cc.ssthresh().min(tx.cc.cwnd());
        tx.cc
            .on_recovered(&context!(tx, now, tx.board.flight()), window);
        tx.loss.reduced = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Recovery};
    use crate::seq::Seq;

    const MS: fn(u64) -> Interval = Interval::from_millis;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + MS(ms)
    }

    fn rack() -> Rack {
        Rack::new(RackConfig::default())
    }

    fn sampled(rtt: u64) -> Rack {
        let mut r = rack();
        r.update(at(1000), news(rtt, 1000 - rtt, 100));
        r
    }

    fn news(rtt: u64, sent: u64, end: Offset) -> News {
        News {
            latest: Some((at(sent), end)),
            least_rtt: Some(MS(rtt)),
            highest: end,
            ..News::default()
        }
    }

    /// 6.2, step 4: min_RTT / 4, none while nothing was seen out of order and
    /// the loss is plain, at most SRTT.
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

    /// 6.2, step 4: a D-SACK adds a quarter, once a round; 16 recoveries later
    /// the window is what it was.
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
    fn the_latest_and_its_round_trip() {
        let mut r = sampled(100);
        assert_eq!(r.latest, Some((at(900), 100)));
        assert_eq!((r.rtt, r.min_rtt), (MS(100), Some((MS(100), at(1000)))));
        // One that left earlier does not set the position back.
        r.update(at(1050), news(250, 800, 50));
        assert_eq!((r.latest, r.rtt), (Some((at(900), 100)), MS(250)));
        assert_eq!(r.min_rtt, Some((MS(100), at(1000))));
        assert_eq!(r.fack, 100);
        // Of one instant the higher is the later.
        r.update(at(1050), news(150, 900, 120));
        assert_eq!(r.latest, Some((at(900), 120)));
        // The least of five minutes.
        r.update(at(301_000), news(150, 300_850, 900));
        assert_eq!(r.min_rtt, Some((MS(100), at(1000))));
        r.update(at(301_001), news(150, 300_851, 1000));
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

    /// The least round trip counts for as long as it is seen again (6.2, step 1).
    #[test]
    fn the_least_round_trip_is_renewed_by_its_equal() {
        let mut r = sampled(100);
        let window = r.config.min_rtt_window.as_nanos() / 1_000_000;
        r.update(at(1000 + window), news(100, 900 + window, 200));
        r.update(at(1001 + window), news(150, 851 + window, 300));
        assert_eq!(r.min_rtt.map(|(rtt, _)| rtt), Some(MS(100)));
        // One that was not seen again for longer counts no more.
        r.update(at(2 * window + 1002), news(150, 2 * window + 852, 400));
        assert_eq!(r.min_rtt.map(|(rtt, _)| rtt), Some(MS(150)));
    }

    /// A time-out leaves no timer of RACK-TLP running, and no probe about to leave.
    #[test]
    fn none_of_its_timers_runs_once_it_is_stopped() {
        let config = Config {
            recovery: Recovery::Sack {
                rescue: false,
                prr: None,
                rack: Some(RackConfig::default()),
            },
            ..Config::default()
        };
        let mut tx = Sender::new(&std::sync::Arc::new(config), Seq(0));
        tx.timers.set(Timer::Reordering, at(10));
        tx.timers.set(Timer::TailProbe, at(20));
        let due = |tx: &Sender| tx.loss.rack().map(Rack::probes);
        tx.loss.rack_mut().unwrap().tlp.due = true;
        tx.stop_rack();
        assert_eq!((tx.timers.next(), due(&tx)), (None, Some(false)));
    }
}
