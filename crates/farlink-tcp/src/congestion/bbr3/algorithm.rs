//! Description of BBR version 3 for the table of algorithms.

use super::{Bbr3, Phase, State};
use crate::congestion::extras::access;
use crate::congestion::metric::metric;
use crate::congestion::{
    Algorithm, CongestionControl, Context, Extras, Input, Parameter, Range, RecoveryWindow,
    Setting, Word,
};
use crate::time::Interval;
use farlink_small::reference;

impl Bbr3 {
    /// Description of BBR version 3 for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "bbr3",
        summary: "rate and window from a model of the path, bounded by losses (BBR version 3)",
        parameters: PARAMETERS,
        metrics: METRICS,
        // All other inputs come from BBR's path model.
        inputs: &[Input::Window, Input::InitialWindow],
        // tcp_bbr.c: bbr_main is its `cong_control`. BBR's ssthresh is informational only.
        recovery_window: |_| RecoveryWindow::Controller,
        extras: Extras {
            undo: access!(Self),
            rate: access!(Self),
            losses: access!(Self),
            marks: access!(Self),
            resume: access!(Self),
            ..Extras::NONE
        },
        build: |control, start| Box::new(Self::new(control, start)),
    };
}

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "rules",
        doc: reference(
            "rules where the draft and Google's tcp_bbr.c (branch v3) differ: Linux probes again \
              without a wait if the long-term bound ended a probe without losses, reduces the bound \
              by rate samples too, sees growth at each ACK, and restores no state after a spurious \
              loss",
        ),
        default: Setting::Choice("draft"),
        range: Range::Choice(&[Word("draft", ""), Word("linux", "")]),
    },
    Parameter {
        name: "startup_gain",
        doc: reference("pacing gain of Startup, 4 ln 2 (draft-ietf-ccwg-bbr-06, 5.3.1.1)"),
        default: Setting::Number(2.77),
        range: Range::Number(1.1, 10.0),
    },
    Parameter {
        name: "drain_gain",
        doc: reference("pacing gain of Drain (5.3.2)"),
        default: Setting::Number(0.35),
        range: Range::Number(0.01, 1.0),
    },
    Parameter {
        name: "down_gain",
        doc: reference("pacing gain of ProbeBW_DOWN (5.3.3.1)"),
        default: Setting::Number(0.9),
        range: Range::Number(0.1, 1.0),
    },
    Parameter {
        name: "loss_threshold",
        doc: reference(
            "share of losses above which too much is in flight (BBR.LossThresh, 5.5.10.2)",
        ),
        default: Setting::Number(0.02),
        range: Range::Number(0.0, 0.9),
    },
    Parameter {
        name: "beta",
        doc: reference("share of a bound that a reduction keeps at least (BBR.Beta, 5.5.10)"),
        default: Setting::Number(0.7),
        range: Range::Number(0.1, 1.0),
    },
    Parameter {
        name: "headroom",
        doc: reference(
            "share of the long-term bound that is left to other flows (BBR.Headroom, 5.3.3.1)",
        ),
        default: Setting::Number(0.15),
        range: Range::Number(0.0, 0.9),
    },
    Parameter {
        name: "pacing_margin",
        doc: reference("share by which the pacing rate at gain 1 is below the bandwidth (5.6.2)"),
        default: Setting::Number(0.01),
        range: Range::Number(0.0, 0.5),
    },
    Parameter {
        name: "probe_rtt_interval",
        doc: reference(
            "time after which ProbeRTT measures the least round-trip time anew, unless a lower \
              sample comes (5.3.4.1)",
        ),
        default: Setting::Time(Interval::from_secs(5)),
        range: Range::Time(Interval::from_millis(1), Interval::from_secs(86_400)),
    },
    Parameter {
        name: "probe_rtt_time",
        doc: reference(
            "minimum duration of ProbeRTT, which also lasts at least a round trip (5.3.4.1)",
        ),
        default: Setting::Time(Interval::from_millis(200)),
        range: Range::Time(Interval::ZERO, Interval::from_secs(60)),
    },
    Parameter {
        name: "ecn",
        doc: reference(
            "response to marks of Google's tcp_bbr.c, if both ends use ECN: the short-term bound \
              falls by up to a third, and half of the data marked ends a probe; not in the draft",
        ),
        default: Setting::Flag(false),
        range: Range::Flag,
    },
    Parameter {
        name: "ecn_max_rtt",
        doc: reference(
            "least round-trip time up to which `ecn` responds (tcp_bbr.c: bbr_ecn_max_rtt_us); \
              0 is without a limit",
        ),
        default: Setting::Time(Interval::from_millis(5)),
        range: Range::Time(Interval::ZERO, Interval::from_secs(86_400)),
    },
    Parameter {
        name: "unpaced_segments",
        doc: reference(
            "segments at the start of a connection that are sent in one burst; 0 in the draft, 10 \
              in Linux (tcp_output.c: tcp_update_skb_after_send)",
        ),
        default: Setting::Count(0),
        range: Range::Count(0, 1000),
    },
];

const METRICS: &[super::super::Metric] = &[
    metric!(
        "bottleneck_bandwidth",
        "bit/s",
        "BBR.max_bw, in bytes of the stream",
        |bbr: &Bbr3, _: &Context<'_>| Some(8.0 * bbr.bandwidth.max())
    ),
    metric!(
        "bandwidth_bound",
        "bit/s",
        "BBR.bw_shortterm, the bandwidth bound after losses",
        |bbr: &Bbr3, _: &Context<'_>| bbr.bounds.rate.is_finite().then_some(8.0 * bbr.bounds.rate)
    ),
    metric!(
        "inflight_short",
        "B",
        "BBR.inflight_shortterm, the bound of the data in flight until the next probe",
        |bbr: &Bbr3, _: &Context<'_>| bound(bbr.bounds.short)
    ),
    metric!(
        "inflight_long",
        "B",
        "BBR.inflight_longterm, the bound of the data in flight that probes found",
        |bbr: &Bbr3, _: &Context<'_>| bound(bbr.bounds.long)
    ),
    metric!(
        "min_rtt",
        "s",
        "BBR.min_rtt, the least round-trip time of the last 10 s",
        |bbr: &Bbr3, _: &Context<'_>| bbr.min_rtt.least.map(Interval::as_secs_f64)
    ),
    metric!(
        "state",
        "",
        "0 Startup, 1 Drain, 2 ProbeBW_DOWN, 3 ProbeBW_CRUISE, 4 ProbeBW_REFILL, 5 ProbeBW_UP, \
         6 ProbeRTT",
        |bbr: &Bbr3, _: &Context<'_>| Some(match bbr.state {
            State::Startup => 0.0,
            State::Drain => 1.0,
            State::ProbeBw(Phase::Down) => 2.0,
            State::ProbeBw(Phase::Cruise) => 3.0,
            State::ProbeBw(Phase::Refill) => 4.0,
            State::ProbeBw(Phase::Up) => 5.0,
            State::ProbeRtt(_) => 6.0,
        })
    ),
    metric!(
        "pacing_rate",
        "bit/s",
        "rate at which segments leave, headers included",
        |bbr: &Bbr3, _: &Context<'_>| bbr.pacing_rate().map(|rate| rate as f64)
    ),
];

fn bound(bytes: u64) -> Option<f64> {
    (bytes != super::UNBOUNDED).then_some(bytes as f64)
}
