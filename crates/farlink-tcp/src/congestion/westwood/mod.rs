//! TCP Westwood: a loss sets the window to the measured delivery rate times the least RTT.
//!
//! The sender estimates its bandwidth `BWE` from the rate of acknowledgments. A loss sets ssthresh
//! to `BWE * RTTmin` in place of FlightSize / 2. This amount of data keeps the path busy without a
//! queue. cwnd grows as in Reno. The two forms differ in the estimate. [`WESTWOOD`] takes a sample
//! at each ACK (Mascolo, Casetti, Gerla, Sanadidi, Wang, *TCP Westwood: Bandwidth Estimation for
//! Enhanced Transport over Wireless Links*, MobiCom 2001). [`WESTWOOD_PLUS`] takes a sample per RTT
//! (Grieco, Mascolo, *Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
//! congestion control*, CCR 34(2), 2004), either as printed or in the integers of Linux.

mod estimator;
mod linux;
mod per_ack;
mod per_rtt;

use super::counting::AckCounting;
use super::extras::access;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, EndSlowStart, Extras, Input, Loss, Metric,
    Parameter, Range, RecoveryWindow, Setting, Start, UndoReduction, Undone, Word,
};
use crate::time::Interval;
use estimator::{Estimator, Kernel};
use farlink_small::reference;
use linux::Jiffies;
use per_ack::Tustin;
use per_rtt::PerRtt;
use std::fmt::Debug;

/// Description of Westwood for the table of algorithms.
pub static WESTWOOD: Algorithm = Algorithm {
    name: "westwood",
    summary: "ssthresh = BWE * RTTmin after a loss, BWE sampled at each ACK (Mascolo et al. 2001)",
    parameters: &[
        Parameter {
            name: "tau",
            doc: reference(
                "time constant of the filter (Mascolo et al. 2001, 2.2; value from the authors' \
                  simulation module)",
            ),
            default: Setting::Time(Interval::from_secs(1)),
            range: Range::Time(Interval::from_millis(1), Interval::from_secs(60)),
        },
        Parameter {
            name: "m",
            doc: reference(
                "number of zero samples inserted per tau without an ACK (Mascolo et al. 2001, \
                  2.2)",
            ),
            default: Setting::Count(2),
            range: Range::Count(2, 1000),
        },
    ],
    metrics: metrics::<Tustin>(),
    inputs: INPUTS,
    recovery_window: |_| RecoveryWindow::Ssthresh,
    extras: Extras {
        undo: access!(Westwood<Tustin>),
        slow_start: access!(Westwood<Tustin>),
        ..Extras::NONE
    },
    build: |control, start| {
        let filter = Tustin::new(control.time("tau"), control.count("m"));
        Box::new(Westwood::new(Box::new(filter), false, start))
    },
};

/// Description of Westwood+ for the table of algorithms.
pub static WESTWOOD_PLUS: Algorithm = Algorithm {
    name: "westwood_plus",
    summary: "ssthresh = BWE * RTTmin after a loss, BWE sampled each round-trip time (Grieco, \
              Mascolo 2004)",
    parameters: &[
        Parameter {
            name: "filter_gain",
            doc: reference("weight of the old estimate in the filter (Grieco, Mascolo 2004)"),
            default: Setting::Number(0.9),
            range: Range::Number(0.0, 0.999_999),
        },
        Parameter {
            name: "first_sample_fills",
            doc: reference(
                "the filter starts from its first sample, as in Linux; if false, from zero, as \
                  in ns-3. The paper gives no rule",
            ),
            default: Setting::Flag(true),
            range: Range::Flag,
        },
        Parameter {
            name: "least_interval",
            doc: reference(
                "minimum duration of a sample, against compressed ACKs on short paths (50 ms in \
                  Linux)",
            ),
            default: Setting::Time(Interval::ZERO),
            range: Range::Time(Interval::ZERO, Interval::from_secs(10)),
        },
        Parameter {
            name: "raise",
            doc: reference(
                "a loss sets cwnd to ssthresh even if that is larger, as printed; if false, a \
                  loss never raises cwnd",
            ),
            default: Setting::Flag(true),
            range: Range::Flag,
        },
        Parameter {
            name: "arithmetic",
            doc: reference(
                "computation of BWE: \"exact\" is the paper's filter, \"linux-2.4\" counts \
                  whole bytes per jiffy as Linux 2.4.26 to 2.6.17, \"linux\" as Linux since \
                  2.6.18. The last two ignore `filter_gain`, `first_sample_fills`, \
                  `least_interval` and `raise`",
            ),
            default: Setting::Choice("exact"),
            range: Range::Choice(&[Word("exact", ""), Word("linux-2.4", ""), Word("linux", "")]),
        },
        Parameter {
            name: "hz",
            doc: reference(
                "jiffies per second for \"linux-2.4\" and \"linux\" (CONFIG_HZ: 100 in Linux \
                  2.4, 1000 in 2.6 up to 2.6.12, later 250)",
            ),
            default: Setting::Count(250),
            range: Range::Count(24, 1200),
        },
    ],
    metrics: metrics::<dyn Estimator>(),
    inputs: INPUTS,
    recovery_window: |_| RecoveryWindow::Ssthresh,
    extras: Extras {
        undo: access!(Westwood<dyn Estimator>),
        slow_start: access!(Westwood<dyn Estimator>),
        ..Extras::NONE
    },
    build: |control, start| {
        let jiffies = |kernel| Box::new(Jiffies::new(kernel, control.count("hz")));
        let estimator: Box<dyn Estimator> = match control.choice("arithmetic") {
            "linux-2.4" => jiffies(Kernel::First),
            "linux" => jiffies(Kernel::Current),
            _ => Box::new(PerRtt::new(
                control.number("filter_gain"),
                control.flag("first_sample_fills"),
                control.time("least_interval"),
            )),
        };
        Box::new(Westwood::new(estimator, control.flag("raise"), start))
    },
};

/// Inputs of both forms. FlightSize is not among them, because ssthresh after a loss comes from the
/// estimate.
const INPUTS: &[Input] = &[
    Input::Window,
    Input::InitialWindow,
    Input::InitialSsthresh,
    Input::ByteCounting,
    Input::WindowUse,
    Input::IdleRestart,
    Input::Pacing,
    Input::RecoveryExit,
];

/// Returns the metrics of both forms.
const fn metrics<E: Estimator + ?Sized>() -> &'static [Metric] {
    const {
        &[
            metric!(
                "bandwidth",
                "bit/s",
                "BWE, the estimate of the bandwidth, in bytes acknowledged",
                |westwood: &Westwood<E>, _: &Context<'_>| {
                    Some(8.0 * westwood.estimator.bandwidth())
                }
            ),
            metric!(
                "rtt_min",
                "s",
                "RTTmin, the least round-trip time",
                |westwood: &Westwood<E>, cx: &Context<'_>| {
                    let own = westwood.estimator.rtt_min();
                    let rtt = own.or(westwood.rtt_min).or(cx.rtt.min());
                    rtt.map(Interval::as_secs_f64)
                }
            ),
        ]
    }
}

/// Window of both forms.
#[derive(Debug)]
struct Westwood<E: ?Sized> {
    estimator: Box<E>,
    raise: bool,
    counting: AckCounting,
    cwnd: u64,
    ssthresh: u64,
    rtt: Option<Interval>,
    rtt_min: Option<Interval>,
    /// Bytes counted for duplicate ACKs and not yet covered by a cumulative ACK (`accounted_for`).
    accounted: u64,
}

impl<E: Estimator + ?Sized> Westwood<E> {
    fn new(estimator: Box<E>, raise: bool, start: Start) -> Self {
        Self {
            estimator,
            raise,
            counting: AckCounting::new(start.byte_counting),
            cwnd: start.window,
            ssthresh: start.ssthresh,
            rtt: None,
            rtt_min: None,
            accounted: 0,
        }
    }

    /// Returns `AckedCount` of Mascolo et al. 2001, 2.3: the bytes that have arrived since the
    /// previous ACK. A duplicate ACK counts one segment. A later cumulative ACK counts its bytes
    /// minus those already counted for duplicates.
    fn acked_count(&mut self, cumulative: u64, mss: u64) -> u64 {
        if cumulative == 0 {
            self.accounted += mss;
            return mss;
        }
        if cumulative <= mss {
            return cumulative;
        }
        if self.accounted >= cumulative {
            self.accounted -= cumulative;
            return mss;
        }
        cumulative - std::mem::take(&mut self.accounted)
    }

    /// Returns `BWE * RTTmin` in bytes, at least two segments.
    fn share(&self, cx: &Context<'_>) -> u64 {
        let rtt = self.rtt_min.or(cx.rtt.min()).unwrap_or_default();
        self.estimator.share(rtt, cx.mss)
    }
}

impl<E: Estimator + ?Sized> CongestionControl for Westwood<E> {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn on_established(&mut self, cx: &Context<'_>) {
        self.estimator.on_established(cx.now);
    }

    fn on_delivered(&mut self, cx: &Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.fine_rtt {
            self.rtt = Some(rtt);
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
        let bytes = self.acked_count(ack.bytes, cx.mss);
        let rtt = self.rtt.or(cx.rtt.latest());
        self.estimator.on_delivered(cx.now, bytes, rtt);
        self.estimator.on_rtt(ack.fine_rtt, cx.rtt);
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        // RFC 5681, equations (2) and (3), as Reno.
        self.cwnd += if self.cwnd < self.ssthresh {
            self.counting
                .slow_start(self.cwnd, self.ssthresh, ack.bytes, cx.mss)
        } else {
            self.counting.avoidance(self.cwnd, ack.bytes, cx.mss)
        };
    }

    fn on_dup_ack(&mut self, cx: &Context<'_>) {
        let bytes = self.acked_count(0, cx.mss);
        let rtt = self.rtt.or(cx.rtt.latest());
        self.estimator.on_delivered(cx.now, bytes, rtt);
    }

    fn on_loss(&mut self, cx: &Context<'_>, _loss: &Loss) {
        self.counting.on_reduction();
        let kernel = self.estimator.kernel();
        self.ssthresh = match kernel {
            // Linux since 2.6.18 halves cwnd as Reno does (tcp_reno_ssthresh).
            Some(Kernel::Current) => (self.cwnd / cx.mss / 2).max(2) * cx.mss,
            // Older kernels (tcp_cwnd_down) and the papers use the estimate.
            Some(Kernel::First) | None => self.share(cx),
        };
        let raises = self.raise && kernel.is_none();
        if raises || self.cwnd > self.ssthresh {
            self.cwnd = self.ssthresh;
        }
    }

    fn on_congestion_mark(&mut self, cx: &Context<'_>, loss: &Loss) {
        self.on_loss(cx, loss);
        if self.estimator.kernel().is_some() {
            self.on_recovered(cx, self.cwnd);
        }
    }

    /// In Linux sets cwnd to the estimate at the end of recovery (`CA_EVENT_COMPLETE_CWR`). The
    /// estimate may exceed the window before the loss.
    fn on_recovered(&mut self, cx: &Context<'_>, window: u64) {
        if self.estimator.kernel().is_some() {
            self.ssthresh = self.share(cx);
            self.cwnd = self.ssthresh;
        } else {
            self.cwnd = self.cwnd.min(window.max(cx.mss));
        }
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        self.estimator.on_silence(cx.now);
        if first || self.estimator.kernel().is_none() {
            self.ssthresh = self.share(cx);
            self.estimator.on_timeout();
        }
        self.collapse(cx.mss);
        self.counting.on_timeout();
    }

    fn collapse(&mut self, window: u64) {
        self.cwnd = window;
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.ssthresh = self.ssthresh.max(least);
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.cwnd = self.cwnd.min(initial_window);
    }
}

impl<E: Estimator + ?Sized> EndSlowStart for Westwood<E> {
    fn end_slow_start(&mut self, window: u64) {
        self.counting.on_reduction();
        self.cwnd = window;
        self.ssthresh = window;
    }
}

impl<E: Estimator + ?Sized> UndoReduction for Westwood<E> {
    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        self.cwnd = undone.window;
        self.ssthresh = undone.ssthresh;
    }
}

#[cfg(test)]
mod tests;
