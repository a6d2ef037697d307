//! TCP-Peach: I. Akyildiz, G. Morabito, S. Palazzo, "TCP-Peach: A New Congestion
//! Control Scheme for Satellite IP Networks", IEEE/ACM Transactions on Networking
//! 9(3), 2001.
//!
//! Dummy segments find out what the path has room for. Sudden Start sends a
//! window of them in the first round trip, and Rapid Recovery as many as the
//! window held when a segment was lost; each that is acknowledged is room for a
//! segment more.

use super::counting::AckCounting;
use super::extras::access;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, DummySegments, Extras, Input, Loss,
    Parameter, PeerWindow, Range, RecoveryWindow, Setting, Start, half_flight,
};
use crate::time::{Instant, Interval};

/// The window of TCP-Peach.
#[derive(Debug)]
pub struct Peach {
    sudden_start: bool,
    rapid_recovery: bool,
    /// Dummies that an ACK lets out in Rapid Recovery.
    per_ack: u64,
    counting: AckCounting,
    cwnd: u64,
    ssthresh: u64,
    /// Window that the peer offers, in bytes.
    rwnd: u64,
    start: Beginning,
    /// The train of Sudden Start, and when its answers are here.
    train: Train,
    opening_until: Option<Instant>,
    /// A loss is being repaired: its ACKs let dummies out.
    recovering: bool,
    /// Allowed dummy segments: how many Rapid Recovery may still send.
    adsn: u64,
    /// Dummies among them that ACKs have let out.
    credit: u64,
    /// Dummies whose ACKs mean no more than that the window was reduced.
    wdsn: u64,
    /// Growth below ssthresh is that of slow start: to come back to it after a
    /// recovery, and with a peer that does not know dummies.
    slow_start: bool,
    refused: bool,
}

/// Start of Sudden Start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beginning {
    /// Not again.
    Never,
    /// With the next data that leaves.
    Data,
    /// With the next data that leaves after an ACK.
    Ack,
}

/// Dummies a fixed time apart.
#[derive(Clone, Copy, Debug, Default)]
struct Train {
    /// Number of dummies left to send.
    left: u64,
    /// Time of the next dummy.
    due: Instant,
    /// Time between two.
    gap: Interval,
    /// Round-trip time and peer's window that it was made for.
    rtt: Interval,
    rwnd: u64,
    /// Set if that window came with a SYN, which is never scaled.
    unscaled: bool,
}

impl Peach {
    /// "peach".
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "peach",
        summary: "TCP-Peach: Sudden Start and Rapid Recovery by dummy segments (Akyildiz, \
                  Morabito, Palazzo 2001)",
        parameters: &[
            Parameter {
                name: "sudden_start",
                doc: "Sudden Start instead of slow start: a receive window of dummy segments in a round trip; \
                 without, slow start (RFC 5681)",
                default: Setting::Flag(true),
                range: Range::Flag,
            },
            Parameter {
                name: "rapid_recovery",
                doc: "Rapid Recovery: a loss sends a window of dummy segments; without, fast recovery alone",
                default: Setting::Flag(true),
                range: Range::Flag,
            },
            Parameter {
                name: "dummies_per_ack",
                doc: "dummy segments sent for an ACK in Rapid Recovery",
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

    /// A window has to be found from nothing.
    fn begin(&mut self, when: Beginning) {
        self.stop();
        self.wdsn = 0;
        if self.sudden_start && !self.refused {
            self.start = when;
        } else {
            self.slow_start = true;
        }
    }

    /// No dummy leaves any more for what was before.
    fn stop(&mut self) {
        self.start = Beginning::Never;
        self.opening_until = None;
        self.train.left = 0;
        self.train.unscaled = false;
        self.recovering = false;
        self.adsn = 0;
        self.credit = 0;
    }

    /// Segments of a window, at least one.
    fn segments(window: u64, mss: u64) -> u64 {
        (window / mss).max(1)
    }

    fn gap(rtt: Interval, segments: u64) -> Interval {
        Interval::from_nanos((rtt.as_nanos() / segments).max(1))
    }

    fn reduce(&mut self, cx: &Context<'_>) {
        self.stop();
        self.counting.reduced();
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

    /// Halves the window: a mark is certainly congestion, so there is nothing to probe.
    fn on_congestion_mark(&mut self, cx: &Context<'_>, _loss: &Loss) {
        self.reduce(cx);
    }

    /// Rapid Recovery has set the window, and dummies that came back opened it:
    /// what RFC 6582 allows at the end, which may be two segments, is not for it.
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
        self.counting.timed_out();
        self.slow_start = false;
        // As long as nothing comes back there is no path to probe.
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
        // The window of the SYN could not say how large it is: the rest of a
        // larger one follows.
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

    /// Sudden Start: one segment of data, then rwnd - 1 dummies, RTT / rwnd apart.
    fn on_data_sent(&mut self, cx: &Context<'_>) {
        if self.start != Beginning::Data {
            return;
        }
        self.start = Beginning::Never;
        self.slow_start = false;
        // Without a sample (the SYN was lost) the time-out is all that is known.
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

    /// Half of what Rapid Recovery sends fits into what the reduced window leaves
    /// free, whatever took the segment. What is acknowledged beyond that has shown
    /// that the path has room for it.
    fn on_ack(&mut self, cx: &Context<'_>) {
        if self.wdsn > 0 {
            self.wdsn -= 1;
            return;
        }
        let grown = (self.cwnd + cx.mss).min(self.rwnd).max(self.cwnd);
        self.cwnd = grown;
        if self.recovering {
            // What the recovery ends with.
            self.ssthresh = self.ssthresh.max(grown);
        }
    }

    fn on_refused(&mut self) {
        self.stop();
        self.refused = true;
        self.slow_start = true;
    }
}

#[cfg(test)]
mod tests;
