//! TCP-Peach: I. Akyildiz, G. Morabito, S. Palazzo, "TCP-Peach: A New Congestion Control Scheme for
//! Satellite IP Networks", IEEE/ACM Transactions on Networking 9(3), 2001.
//!
//! Low-priority dummy segments probe the capacity of the path. Sudden Start sends a receive window
//! of dummies in the first RTT. Rapid Recovery sends as many dummies as the window held when a
//! segment was lost. Each acknowledged dummy adds one segment to cwnd.

use super::counting::AckCounting;
use super::extras::access;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, DummySegments, Extras, Input, Loss,
    Parameter, PeerWindow, Range, RecoveryWindow, Resumable, Setting, Start, half_flight,
};
use crate::time::{Instant, Interval};
use farlink_small::reference;

/// The TCP-Peach controller.
#[derive(Debug)]
pub struct Peach {
    sudden_start: bool,
    rapid_recovery: bool,
    /// Number of dummies that an ACK releases in Rapid Recovery.
    per_ack: u64,
    counting: AckCounting,
    cwnd: u64,
    ssthresh: u64,
    /// Receive window of the peer in bytes.
    rwnd: u64,
    start: Beginning,
    /// Dummies of Sudden Start, and the time (two RTTs after its start) until which the flow counts
    /// as in slow start.
    train: Train,
    opening_until: Option<Instant>,
    /// Set during Rapid Recovery, in which ACKs release dummies.
    recovering: bool,
    /// Allowed dummy segments: dummies of Rapid Recovery that no ACK has released yet.
    adsn: u64,
    /// Dummies that ACKs have released and that are not sent yet.
    credit: u64,
    /// Number of further dummy ACKs that do not open the window, because the halved window left the
    /// path room for them.
    wdsn: u64,
    /// Set if cwnd grows below ssthresh as in slow start. This is so after a recovery that ended
    /// below ssthresh, and with a peer that does not support dummies.
    slow_start: bool,
    refused: bool,
}

/// Start of Sudden Start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beginning {
    /// Sudden Start does not begin again.
    Never,
    /// Sudden Start begins with the next data sent.
    Data,
    /// Sudden Start begins with the first data sent after the next ACK.
    Ack,
}

/// A series of dummies at equal intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Train {
    /// Number of dummies left to send.
    left: u64,
    /// Time at which the next dummy is sent.
    due: Instant,
    /// Interval between two dummies.
    gap: Interval,
    /// RTT and receive window from which the series was computed.
    rtt: Interval,
    rwnd: u64,
    /// Set if that window came with a SYN, whose window field is not scaled.
    unscaled: bool,
}

impl Peach {
    /// Description of TCP-Peach for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "peach",
        summary: "TCP-Peach: Sudden Start and Rapid Recovery by dummy segments (Akyildiz, \
                  Morabito, Palazzo 2001)",
        parameters: &[
            Parameter {
                name: "sudden_start",
                doc: reference(
                    "Sudden Start instead of slow start: dummy segments fill the receive window \
                      in one round trip; if false, slow start (RFC 5681)",
                ),
                default: Setting::Flag(true),
                range: Range::Flag,
            },
            Parameter {
                name: "rapid_recovery",
                doc: reference(
                    "Rapid Recovery: a loss releases a window of dummy segments; if false, only \
                      fast recovery",
                ),
                default: Setting::Flag(true),
                range: Range::Flag,
            },
            Parameter {
                name: "dummies_per_ack",
                doc: reference("dummy segments sent for an ACK in Rapid Recovery"),
                default: Setting::Count(2),
                range: Range::Count(1, 1000),
            },
        ],
        metrics: &[
            metric!(
                "adsn",
                "segments",
                "allowed dummy segments: number that Rapid Recovery may still send",
                |peach: &Self, _: &Context<'_>| Some((peach.adsn + peach.credit) as f64)
            ),
            metric!(
                "wdsn",
                "segments",
                "dummy segments whose acknowledgments do not open the window",
                |peach: &Self, _: &Context<'_>| Some(peach.wdsn as f64)
            ),
            metric!(
                "sudden_start",
                "segments",
                "number of dummy segments that Sudden Start still has to send",
                |peach: &Self, _: &Context<'_>| Some(peach.train.left as f64)
            ),
        ],
        inputs: Input::ALL,
        recovery_window: |_| RecoveryWindow::Ssthresh,
        extras: Extras {
            peer_window: access!(Self),
            dummies: access!(Self),
            resume: access!(Self),
            ..Extras::NONE
        },
        build: |control, start| Box::new(Self::new(control, start)),
    };

    fn new(control: &Control, start: Start) -> Self {
        let sudden_start = control.flag("sudden_start");
        Self {
            sudden_start,
            rapid_recovery: control.flag("rapid_recovery"),
            per_ack: control.count("dummies_per_ack").into(),
            counting: AckCounting::new(start.byte_counting),
            cwnd: start.window,
            ssthresh: start.ssthresh,
            rwnd: 0,
            start: Beginning::Never,
            train: Train::default(),
            opening_until: None,
            recovering: false,
            adsn: 0,
            credit: 0,
            wdsn: 0,
            slow_start: !sudden_start,
            refused: false,
        }
    }

    /// Starts to open the window anew, by Sudden Start or slow start.
    fn begin(&mut self, when: Beginning) {
        self.stop();
        self.wdsn = 0;
        if self.sudden_start && !self.refused {
            self.start = when;
        } else {
            self.slow_start = true;
        }
    }

    /// Cancels all dummies that are not sent yet.
    fn stop(&mut self) {
        self.start = Beginning::Never;
        self.opening_until = None;
        self.train.left = 0;
        self.train.unscaled = false;
        self.recovering = false;
        self.adsn = 0;
        self.credit = 0;
    }

    /// Returns the number of segments in `window` bytes, at least one.
    fn segments(window: u64, mss: u64) -> u64 {
        (window / mss).max(1)
    }

    fn gap(rtt: Interval, segments: u64) -> Interval {
        Interval::from_nanos((rtt.as_nanos() / segments).max(1))
    }

    fn reduce(&mut self, cx: &Context<'_>) {
        self.stop();
        self.counting.on_reduction();
        self.ssthresh = half_flight(cx);
        self.cwnd = self.ssthresh;
        self.wdsn = self.cwnd.div_ceil(cx.mss);
        self.slow_start = self.refused;
    }
}

impl CongestionControl for Peach {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        self.opening_until.is_some() || (self.slow_start && self.cwnd < self.ssthresh)
    }

    fn on_delivered(&mut self, cx: &Context<'_>, _ack: &Ack) {
        if self.opening_until.is_some_and(|until| cx.now >= until) {
            self.opening_until = None;
        }
    }

    fn on_established(&mut self, _cx: &Context<'_>) {
        self.begin(Beginning::Data);
        self.train.unscaled = true;
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        if self.start == Beginning::Ack {
            self.start = Beginning::Data;
        }
        if !ack.cwnd_limited {
            return;
        }
        self.cwnd += if self.slow_start && self.cwnd < self.ssthresh {
            self.counting
                .slow_start(self.cwnd, self.ssthresh, ack.bytes, cx.mss)
        } else {
            self.counting.avoidance(self.cwnd, ack.bytes, cx.mss)
        };
    }

    fn on_dup_ack(&mut self, _cx: &Context<'_>) {
        if self.recovering {
            let more = self.per_ack.min(self.adsn);
            self.adsn -= more;
            self.credit += more;
        }
    }

    fn on_recovery_ack(&mut self, cx: &Context<'_>, _ack: &Ack) {
        self.on_dup_ack(cx);
    }

    fn on_loss(&mut self, cx: &Context<'_>, _loss: &Loss) {
        self.reduce(cx);
        if self.rapid_recovery && !self.refused {
            self.recovering = true;
            self.adsn = Self::segments(cx.flight, cx.mss);
        }
    }

    /// Halves the window without Rapid Recovery, because a mark always means congestion.
    fn on_congestion_mark(&mut self, cx: &Context<'_>, _loss: &Loss) {
        self.reduce(cx);
    }

    /// Keeps the window after Rapid Recovery, because acknowledged dummies have opened it.
    /// Otherwise sets cwnd to `window`, the exit window of RFC 6582, which may be two segments.
    fn on_recovered(&mut self, _cx: &Context<'_>, window: u64) {
        self.adsn = 0;
        if std::mem::take(&mut self.recovering) {
            return;
        }
        self.cwnd = window;
        self.slow_start |= window < self.ssthresh;
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        if first {
            self.ssthresh = half_flight(cx);
        }
        self.cwnd = cx.mss;
        self.counting.on_timeout();
        self.slow_start = false;
        // After a repeated time-out probing waits for an ACK, because the path may be down.
        self.begin(if first {
            Beginning::Data
        } else {
            Beginning::Ack
        });
    }

    fn collapse(&mut self, window: u64) {
        self.cwnd = window;
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.ssthresh = self.ssthresh.max(least);
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        if self.cwnd > initial_window {
            self.cwnd = initial_window;
            self.begin(Beginning::Data);
        }
    }
}

impl PeerWindow for Peach {
    fn on_peer_window(&mut self, advertised: u64, mss: u64) {
        self.rwnd = advertised;
        let train = &mut self.train;
        // The SYN's window is not scaled and at most 65,535 bytes. If the first scaled window is
        // larger, Sudden Start sends the difference as well.
        if train.unscaled && train.rwnd > 0 {
            train.unscaled = false;
            let (had, has) = (train.rwnd / mss, advertised / mss);
            if has > had {
                train.left += has - had;
                train.gap = Self::gap(train.rtt, has);
                let rest = train.rtt;
                self.opening_until = self.opening_until.map(|until| until + rest);
            }
        }
    }
}

impl DummySegments for Peach {
    fn due(&self) -> Option<Instant> {
        if self.credit > 0 {
            return Some(Instant::ZERO);
        }
        (self.train.left > 0).then_some(self.train.due)
    }

    /// Starts Sudden Start: a dummy every RTT / rwnd until data and dummies fill rwnd segments.
    fn on_data_sent(&mut self, cx: &Context<'_>) {
        if self.start != Beginning::Data {
            return;
        }
        self.start = Beginning::Never;
        self.slow_start = false;
        // Without an RTT sample (the SYN was lost) the RTO is the only estimate.
        let rtt = cx.rtt.srtt().unwrap_or(cx.rtt.rto());
        let segments = Self::segments(self.rwnd, cx.mss);
        let gap = Self::gap(rtt, segments);
        self.opening_until = Some(cx.now + rtt * 2);
        self.train = Train {
            left: segments.saturating_sub(Self::segments(self.cwnd, cx.mss)),
            due: cx.now + gap,
            gap,
            rtt,
            rwnd: self.rwnd,
            unscaled: self.train.unscaled,
        };
    }

    fn on_sent(&mut self, cx: &Context<'_>) {
        if self.credit > 0 {
            self.credit -= 1;
        } else {
            self.train.left = self.train.left.saturating_sub(1);
            self.train.due = cx.now + self.train.gap;
        }
    }

    /// Ignores the first `wdsn` dummy ACKs, because the reduced window itself left the path room
    /// for those dummies. Each further ACK shows room for one more segment and increases cwnd by
    /// one.
    fn on_ack(&mut self, cx: &Context<'_>) {
        if self.wdsn > 0 {
            self.wdsn -= 1;
            return;
        }
        let grown = (self.cwnd + cx.mss).min(self.rwnd).max(self.cwnd);
        self.cwnd = grown;
        if self.recovering {
            // cwnd at the end of the recovery is ssthresh.
            self.ssthresh = self.ssthresh.max(grown);
        }
    }

    fn on_refused(&mut self) {
        self.stop();
        self.refused = true;
        self.slow_start = true;
    }
}

impl Resumable for Peach {
    fn may_jump(&self) -> bool {
        true
    }

    fn limit(&mut self, ssthresh: u64, grows: bool) {
        self.ssthresh = ssthresh;
        self.slow_start |= grows;
    }
}

#[cfg(test)]
mod tests;
