//! The TCP of a flow: keys laid over a row of the table of variants.
//!
//! One key for each parameter of [`Config`]. Parameters that exist only for
//! one algorithm of an axis are refused with another, because they would be
//! ignored.

use farlink_tcp::Interval;
use farlink_tcp::config::{
    Careful, Config, DelayedAck, NewRenoExit, PrrBound, Ratio, ReceiverConfig, Recovery,
    RtoAlgorithm, RtoConfig,
};
use farlink_tcp::congestion::{self, Control, Input};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::control::{self, ControlSpec};
use super::decode::Problem;
use super::tcp_choices::{
    AckDelay, BackoffName, CarefulName, Counting, CwndLimitName, DummyReplyName, DupAckName,
    FastOpenName, GapFillName, NagleRule, NewRenoExitName, ProfileName, PrrBoundName, RecoveryName,
    ReduceName, SamplingName, Scale, StartWindow, TimerName, UndoWays,
};
use super::tcp_wireless::{AssumeLossName, ElnName, PartialAckName, SnackName};
use super::units::{Factor, Size, SizeLimit, Time};

macro_rules! tcp_keys {
    ($($(#[$doc:meta])* $key:ident: $type:ty,)*) => {
        /// Parameters of a TCP. A key that is not written keeps the value of
        /// the variant's row.
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct TcpSpec {
            $(
                $(#[$doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $key: Option<$type>,
            )*
        }

        impl TcpSpec {
            /// These keys, and those of `base` that are not among them.
            #[must_use]
            pub fn over(&self, base: &Self) -> Self {
                let mut merged = Self { $($key: self.$key.clone().or_else(|| base.$key.clone()),)* };
                if let (Some(control), Some(under)) = (&self.control, &base.control) {
                    merged.control = Some(control.over(under));
                }
                merged
            }

            /// Whether a key of this name is written.
            pub(super) fn has(&self, key: &str) -> bool {
                match key {
                    $(stringify!($key) => self.$key.is_some(),)*
                    _ => false,
                }
            }

            /// The first key whose value differs from that in `given`, and what
            /// to say of it.
            pub(super) fn difference(&self, given: &Self) -> Option<(String, String)> {
                let show = |value: Option<serde_json::Value>| {
                    value.map_or_else(|| "nothing".to_owned(), |value| value.to_string())
                };
                $(if self.$key != given.$key {
                    let said = serde_json::to_value(&self.$key).ok().filter(|v| !v.is_null());
                    let given = serde_json::to_value(&given.$key).ok().filter(|v| !v.is_null());
                    let says = format!(
                        "= {} differs from {}, which the rest of the scenario gives",
                        show(said),
                        show(given)
                    );
                    return Some((stringify!($key).to_owned(), says));
                })*
                None
            }

            /// Whether no key is written.
            pub fn is_empty(&self) -> bool {
                true $(&& self.$key.is_none())*
            }
        }
    };
}

tcp_keys! {
    /// Row of the table of variants, such as "reno" or "cubic".
    variant: String,
    /// Whether the TCP is what its name stands for and no more, or does all that a
    /// kernel does: `docs/tcp/profiles.md` has the values that each profile sets.
    /// What is written beside it in a scenario wins.
    profile: ProfileName,
    /// Largest segment, in bytes of data, 28 B to 65495 B.
    mss: Size,
    /// Receive buffer, which is the largest window offered, up to 1 GiB.
    receive_window: Size,
    /// What the receive buffer may grow to by itself, up to 1 GiB, as more comes in
    /// each round trip (receive-window autotuning, as Linux does: its defaults
    /// amount to 64 KiB and 3 MiB of window). Without it the buffer stays.
    receive_window_max: Size,
    /// The window begins at 64 KiB and opens by two bytes for each that comes until
    /// it is the whole buffer, which is made for what is out of order besides, as in
    /// Linux since 6.16. Needs `receive_window_max`.
    gradual_window: bool,
    /// What the application may have queued and not yet acknowledged, or
    /// "unlimited".
    send_buffer: SizeLimit,
    /// Window scale (RFC 7323): "auto", "off" or a shift from 0 to 14.
    window_scale: Scale,
    /// SACK option (RFC 2018): offered, and sent.
    sack: bool,
    /// Duplicates that arrive are reported in the first SACK block (D-SACK,
    /// RFC 2883). Needs `sack`.
    dsack: bool,
    /// SNACK option (SCPS-TP, CCSDS 714.0-B): offered, and sent in this form.
    /// Needs `sack = false`.
    snack: SnackName,
    /// What a loss is taken for that nobody told the cause of (SCPS-TP, CCSDS
    /// 714.0-B): "corruption" keeps the window.
    assume_loss: AssumeLossName,
    /// Explicit loss notification (west1997, 2.3.3), by the receiver and to the
    /// sender: what the medium lost goes again and the window stays.
    eln: ElnName,
    /// Explicit bad state notification (west1997, 3): a base station's notice
    /// starts the retransmission timer anew. Refused as long as no node of a scenario
    /// sends notices.
    ebsn: bool,
    /// Partial acknowledgments of a base station (west1997, 3): offered on the
    /// SYN, and what they do to the retransmission timer. Refused as long as no node of
    /// a scenario sends them.
    ackp: PartialAckName,
    /// When the timer goes off after a partial acknowledgment. Needs
    /// `ackp = "constant"`.
    ackp_timer: Time,
    /// Segments that drew a partial acknowledgment give no round-trip sample.
    /// Needs `ackp`.
    ackp_karn: bool,
    /// Timestamps option (RFC 7323).
    timestamps: bool,
    /// Explicit Congestion Notification (RFC 3168), if both ends have it: queues
    /// with `mark` mark data instead of dropping it.
    ecn: bool,
    /// Nagle's algorithm: when a segment that is not full waits. "rfc896": while
    /// anything is unacknowledged (RFC 896; RFC 9293, 3.7.4). "minshall": while another
    /// that was not full is, so that the end of a large write leaves at once (as Linux).
    nagle: NagleRule,
    /// Whether the congestion window grows only while it is in use, or with every
    /// ACK of new data (RFC 5681 as it stands). It is in use when it was full in the
    /// last window of data, and in slow start when at least half of it was, as in
    /// Linux (`tcp_is_cwnd_limited`; the principle is that of RFC 2861, 3, and RFC 9002, 7.8).
    cwnd_validation: bool,
    /// What bounds the congestion window from above, recovery's inflation aside.
    cwnd_limit: CwndLimitName,
    /// Segments leave evenly over the round trip, at a multiple of window over
    /// SRTT, as from Linux with the qdisc fq. The first ten of a connection are not
    /// paced. BBR, and Hybla with its own key, pace by rates of their own.
    pacing: bool,
    /// The multiple while the window is below half the slow-start threshold (Linux:
    /// `tcp_pacing_ss_ratio`). Needs `pacing = true`.
    pacing_ss_ratio: Factor,
    /// The multiple after that (Linux: `tcp_pacing_ca_ratio`). Needs `pacing = true`.
    pacing_ca_ratio: Factor,
    /// Whether segments out of order are kept by the receiver.
    reassembly: bool,
    /// Longest time an ACK waits, up to 10 s, or "off".
    delayed_ack: AckDelay,
    /// An ACK is sent when this many full-sized segments wait for one, 1 to 1000;
    /// more than a window holds leaves it to the delay alone. Needs `delayed_ack`.
    ack_every: u32,
    /// Delayed ACKs leave on multiples of `delayed_ack`, as from the BSD fast
    /// timer, instead of that long after the segment. Needs `delayed_ack`.
    ack_heartbeat: bool,
    /// The first so many ACKs of data leave at once, up to 1000, and with
    /// `gradual_window` those of segments that open the window, as in Linux. Needs
    /// `delayed_ack`.
    ack_quick: u32,
    /// How a segment that fills a hole is acknowledged. Needs `delayed_ack`.
    ack_gap_fill: GapFillName,
    /// How a segment that shows a hole, or that came before, is acknowledged: its ACK is
    /// a duplicate. Needs `delayed_ack`.
    dup_acks: DupAckName,
    /// What the receiver does with dummy segments. Needs `congestion = "peach"`,
    /// which sends them.
    dummies: DummyReplyName,
    /// How losses are repaired. "sack" needs the SACK option, "snack" the SNACK
    /// option.
    recovery: RecoveryName,
    /// What keeps the duplicate ACKs of a go-back-N from starting another fast
    /// retransmit (RFC 6582). Needs a "newreno" recovery; "timestamp" needs
    /// the timestamps option.
    careful: CarefulName,
    /// The window at the end of a NewReno recovery (RFC 6582, 3.2, step 3). Needs a
    /// "newreno" recovery.
    newreno_exit: NewRenoExitName,
    /// Rescue retransmission (RFC 6675, NextSeg rule 4). Needs
    /// `recovery = "sack"`.
    rescue: bool,
    /// Proportional Rate Reduction (RFC 9937): the window comes down to
    /// ssthresh with the ACKs of the recovery, not at once. Needs
    /// `recovery = "sack"`.
    prr: bool,
    /// What PRR lets out when losses took what is in flight below ssthresh.
    /// Needs `prr = true`.
    prr_bound: PrrBoundName,
    /// RACK: what left a round trip and a reordering window before something that
    /// was delivered is lost, instead of what has three duplicates above it (RFC
    /// 8985). Needs `recovery = "sack"`.
    rack: bool,
    /// The reordering window is the least round-trip time over this, from 1
    /// (RFC 8985, 6.2: 4), times a multiple that D-SACK raises. Needs
    /// `rack = true`.
    rack_reo_divisor: u32,
    /// Recoveries without a D-SACK after which that multiple is 1 again, from 1
    /// (RFC 8985, 6.2: 16). Needs `rack = true`.
    rack_reo_persist: u32,
    /// How long the least round-trip time counts. Needs `rack = true`.
    rack_min_rtt_window: Time,
    /// Tail loss probes (RFC 8985, 7), on with `rack` unless written. Needs
    /// `rack = true`.
    tlp: bool,
    /// Smoothed round-trip times after which a probe leaves (RFC 8985, 7.2: 2).
    /// Needs `tlp = true`.
    tlp_srtts: u32,
    /// The same before the first sample (RFC 8985, 7.2: 1 s). Needs `tlp = true`.
    tlp_initial: Time,
    /// Added while one segment is in flight, for a delayed ACK. Needs
    /// `tlp = true`.
    tlp_max_ack_delay: Time,
    /// Coefficient k of the deviation in the fine time-out, SRTT + max(G, k D).
    /// Needs `recovery = "vegas"` or "snack".
    fine_k: u32,
    /// G, the least that the fine time-out exceeds SRTT by. Needs
    /// `recovery = "vegas"` or "snack".
    fine_granularity: Time,
    /// The retransmission timer is that of `timer`, and slow start follows it.
    /// Without, it runs on the fine time-out and sends the first segment again,
    /// a loss as any other (leung1998, 6.2). Needs `recovery = "vegas"`.
    coarse_timeout: bool,
    /// Duplicate ACKs that mean a loss (RFC 5681, 3.2), from 1.
    dupack_threshold: u32,
    /// Limited transmit (RFC 3042).
    limited_transmit: bool,
    /// Restart the retransmission timer at a fast retransmit, as BSD and Linux
    /// do; RFC 6298 restarts it at ACKs of new data only.
    restart_on_retransmit: bool,
    /// Restart the retransmission timer at an ACK of nothing new that SACKs what
    /// left before the last transmission of the first segment, as Linux does.
    /// Needs `recovery = "sack"`.
    restart_on_sack: bool,
    /// What the slow-start threshold is a part of after a loss.
    reduce_from: ReduceName,
    /// How retransmissions that were not needed are found out; the window is then
    /// what it was before. "dsack": all were reported as duplicates (RFC 2883, RFC
    /// 3708), which needs `dsack`. "eifel": a timestamp from before is echoed (RFC
    /// 3522, RFC 4015), which needs `timestamps`. "frto": ACKs of what a time-out
    /// did not send again (RFC 5682, RFC 4015).
    undo: UndoWays,
    /// How the window is controlled: name of an algorithm, such as "reno".
    congestion: String,
    /// Parameters of algorithms, a table for each: `[tcp.control.cubic]`.
    control: ControlSpec,
    /// What an ACK counts for where the window grows by ACKs: "off" for at most a
    /// segment (RFC 5681), L of RFC 3465, from 1 to 1000, for the bytes that it
    /// acknowledges and in slow start at most L segments, or "unlimited" as in
    /// Linux. Not for vegas, bbr and unlimited.
    byte_counting: Counting,
    /// Window at the start: segments, from 1, or "rfc3390".
    initial_window: StartWindow,
    /// Slow-start threshold at the start, or "unlimited".
    initial_ssthresh: SizeLimit,
    /// Restart from the initial window after an idle time of one RTO
    /// (RFC 5681, 4.1).
    idle_restart: bool,
    /// How round-trip samples become a time-out.
    timer: TimerName,
    /// Time-out before the first sample.
    rto_initial: Time,
    /// Least time-out; with `timer = "linux"` the least that it exceeds SRTT by.
    rto_min: Time,
    /// Greatest time-out, backoff included, up to 1 h.
    rto_max: Time,
    /// Clock of samples and timers, such as "500 ms" for the BSD slow timer;
    /// "0 s" is exact.
    rto_tick: Time,
    /// Time-outs computed from samples are rounded to the nearest multiple of this,
    /// and are one of it at least (and not below `rto_min`), such as "500 ms"; "0 s"
    /// does not round. Samples stay exact, so not beside `rto_tick`.
    rto_round: Time,
    /// Put on top of each time-out that samples gave, after its backoff, up to 60 s
    /// (FreeBSD: 200 ms).
    rto_slop: Time,
    /// Karn's algorithm: what was sent twice gives no round-trip sample. Without, the
    /// segment that is timed is timed from when it first left, however often it goes
    /// again. `karn = false` needs `sampling = "one-per-rtt"`, and no timestamps.
    karn: bool,
    /// Smoothed round-trip time before the first sample, which then moves it as any
    /// other; the time-out is at first this and `rto_k` times `rto_dev_initial`.
    /// Needs `timer = "jacobson"` and `rto_dev_initial`.
    rto_srtt_initial: Time,
    /// The same of the deviation. Needs `rto_srtt_initial`.
    rto_dev_initial: Time,
    /// Weight of the old estimate. Needs `timer = "rfc793"`.
    rto_alpha: Factor,
    /// Delay variance factor. Needs `timer = "rfc793"`.
    rto_beta: Factor,
    /// Gain of the mean. Needs `timer = "jacobson"`.
    rto_gain: Factor,
    /// Gain of the deviation. Needs `timer = "jacobson"`.
    rto_dev_gain: Factor,
    /// Coefficient of the deviation. Needs `timer = "jacobson"`.
    rto_k: u32,
    /// Clock granularity G (RFC 6298, 2). Needs `timer = "rfc6298"`.
    rto_granularity: Time,
    /// What a time-out does to the next.
    backoff: BackoffName,
    /// Which segments are timed.
    sampling: SamplingName,
    /// Where what an ACK acknowledges gives no sample, because there is none or it
    /// was sent twice, the first segment gives one that it newly SACKs and that was
    /// sent once, as in Linux. Needs `recovery = "sack"`.
    rtt_from_sack: bool,
    /// Time-outs in a row for one segment before the connection is given up.
    max_retransmits: u32,
    /// Time-outs in a row for a SYN before it is given up.
    max_syn_retransmits: u32,
    /// Maximum segment lifetime; TIME-WAIT lasts twice this.
    msl: Time,
    /// TCP Fast Open (RFC 7413): data on the SYN of a client that has the server's
    /// cookie, which saves the round trip of the handshake.
    fast_open: FastOpenName,
    /// Silence after which an idle connection asks whether its peer is there (RFC
    /// 9293, 3.8.4, which wants 2 h unless configured). Without it none does.
    keepalive: Time,
    /// Silence before another probe (Linux: 75 s). Needs `keepalive`.
    keepalive_interval: Time,
    /// Probes without an answer before the connection is given up (Linux: 9). Needs
    /// `keepalive`.
    keepalive_probes: u32,
    /// How long what was sent may stay unacknowledged before the connection is given
    /// up (RFC 9293, 3.9.1; RFC 5482). Without it `max_retransmits` decides alone.
    user_timeout: Time,
    /// How long FIN-WAIT-2 may last while nothing comes (Linux: 60 s). Without it
    /// there is no end.
    fin_wait_2_timeout: Time,
}

impl TcpSpec {
    /// All parameters: the row of the variant with these keys over it.
    ///
    /// # Errors
    /// An unknown variant, a value out of its range, or values that do not go
    /// together; in one line that names the key.
    pub fn to_config(&self) -> Result<Config, super::ScenarioError> {
        self.resolve()
            .map_err(|problem| super::ScenarioError::bare(&problem.within("tcp")))
    }

    /// Every key written, so that a resolved scenario says what was simulated.
    pub fn from_config(variant: &str, config: &Config) -> Self {
        let mut spec = Self {
            variant: Some(variant.to_owned()),
            mss: Some(Size(config.mss.into())),
            send_buffer: Some(SizeLimit(
                Some(config.send_buffer).filter(|&n| n != u64::MAX),
            )),
            nagle: Some(NagleRule(Some(config.nagle))),
            cwnd_validation: Some(config.cwnd_validation),
            timestamps: Some(config.timestamps),
            ecn: Some(config.ecn),
            dupack_threshold: Some(config.dupack_threshold),
            limited_transmit: Some(config.limited_transmit),
            reduce_from: Some(ReduceName::of(config.reduce_from)),
            undo: Some(UndoWays(config.undo)),
            restart_on_retransmit: Some(config.restart_on_retransmit),
            initial_window: Some(StartWindow(config.initial_window)),
            initial_ssthresh: Some(SizeLimit(config.initial_ssthresh)),
            idle_restart: Some(config.idle_restart),
            max_retransmits: Some(config.max_retransmits),
            max_syn_retransmits: Some(config.max_syn_retransmits),
            msl: Some(Time(config.msl)),
            ..Self::default()
        };
        spec.show_recovery(config.recovery);
        spec.show_prr(config);
        spec.show_wireless(config);
        spec.show_rack(config);
        spec.show_sack_timer(config);
        spec.show_samples(config);
        spec.show_lifetime(config);
        if congestion::goes_by(&config.congestion, Input::ByteCounting) {
            spec.byte_counting = Some(Counting(config.byte_counting));
        }
        spec.show_pacing(config);
        spec.show_congestion(&config.congestion);
        spec.show_timer(&config.rto);
        spec.show_receiver(&config.receiver);
        if congestion::sends_dummies(&config.congestion) {
            spec.dummies = Some(DummyReplyName::of(config.receiver.dummies));
        }
        spec
    }

    /// As [`Self::to_config`], with the key at fault as the path.
    pub(super) fn resolve(&self) -> Result<Config, Problem> {
        let base = self.base()?;
        let recovery = self.recovery(base.recovery);
        let mut config = Config {
            mss: self.mss.map_or(base.mss, |size| size.0 as u32),
            send_buffer: self
                .send_buffer
                .map_or(base.send_buffer, |n| n.0.unwrap_or(u64::MAX)),
            nagle: self.nagle.and_then(|rule| rule.0).unwrap_or(base.nagle),
            cwnd_validation: self.cwnd_validation.unwrap_or(base.cwnd_validation),
            timestamps: self.timestamps.unwrap_or(base.timestamps),
            ecn: self.ecn.unwrap_or(base.ecn),
            recovery,
            prr: self.prr(base.prr, recovery),
            rack: self.rack(base.rack, recovery),
            dupack_threshold: self.dupack_threshold.unwrap_or(base.dupack_threshold),
            limited_transmit: self.limited_transmit.unwrap_or(base.limited_transmit),
            reduce_from: self.reduce_from.map_or(base.reduce_from, ReduceName::value),
            undo: self.undo.map_or(base.undo, |ways| ways.0),
            restart_on_retransmit: self
                .restart_on_retransmit
                .unwrap_or(base.restart_on_retransmit),
            congestion: self.congestion(&base.congestion)?,
            byte_counting: self.byte_counting.map_or(base.byte_counting, |n| n.0),
            initial_window: self.initial_window.map_or(base.initial_window, |w| w.0),
            initial_ssthresh: self.initial_ssthresh.map_or(base.initial_ssthresh, |n| n.0),
            idle_restart: self.idle_restart.unwrap_or(base.idle_restart),
            rto: self.timer(base.rto),
            receiver: self.receiver(base.receiver),
            max_retransmits: self.max_retransmits.unwrap_or(base.max_retransmits),
            max_syn_retransmits: self.max_syn_retransmits.unwrap_or(base.max_syn_retransmits),
            msl: self.msl.map_or(base.msl, |t| t.0),
            ..base
        };
        self.lay_wireless_over(&mut config);
        self.lay_sack_timer_over(&mut config);
        self.lay_samples_over(&mut config);
        self.lay_lifetime_over(&mut config);
        self.lay_pacing_over(&mut config);
        self.without_what_it_needs(&mut config);
        self.consistent(&config)?;
        Ok(config)
    }

    fn recovery(&self, base: Recovery) -> Recovery {
        let kept = match base {
            Recovery::NewReno { careful, exit, .. } => (careful, exit),
            _ => (Careful::Plain, NewRenoExit::FlightSize),
        };
        let newreno = |impatient: bool| Recovery::NewReno {
            impatient,
            careful: self.careful.map_or(kept.0, CarefulName::value),
            exit: self.newreno_exit.map_or(kept.1, NewRenoExitName::value),
        };
        let name = self.recovery.unwrap_or(RecoveryName::of(base));
        match name {
            RecoveryName::GoBackN => Recovery::GoBackN,
            RecoveryName::Tahoe => Recovery::Tahoe,
            RecoveryName::Reno => Recovery::Reno,
            RecoveryName::Vegas => self.vegas(base),
            RecoveryName::Snack => {
                let (fine_k, fine_granularity) = self.fine(base);
                Recovery::Snack {
                    fine_k,
                    fine_granularity,
                }
            }
            RecoveryName::NewReno => newreno(false),
            RecoveryName::NewRenoImpatient => newreno(true),
            RecoveryName::Sack => {
                let kept = match base {
                    Recovery::Sack { rescue } => rescue,
                    _ => true,
                };
                Recovery::Sack {
                    rescue: self.rescue.unwrap_or(kept),
                }
            }
        }
    }

    fn prr(&self, base: Option<PrrBound>, recovery: Recovery) -> Option<PrrBound> {
        let sack = matches!(recovery, Recovery::Sack { .. });
        let on = sack && self.prr.unwrap_or(base.is_some());
        let kept = base.unwrap_or(PrrBound::SafeAck);
        on.then(|| self.prr_bound.map_or(kept, PrrBoundName::value))
    }

    fn show_prr(&mut self, config: &Config) {
        if matches!(config.recovery, Recovery::Sack { .. }) {
            self.prr = Some(config.prr.is_some());
            self.prr_bound = config.prr.map(PrrBoundName::of);
        }
    }

    fn vegas(&self, base: Recovery) -> Recovery {
        let coarse = !matches!(
            base,
            Recovery::Vegas {
                coarse_timeout: false,
                ..
            }
        );
        let (fine_k, fine_granularity) = self.fine(base);
        Recovery::Vegas {
            fine_k,
            fine_granularity,
            coarse_timeout: self.coarse_timeout.unwrap_or(coarse),
        }
    }

    fn show_recovery(&mut self, recovery: Recovery) {
        self.recovery = Some(RecoveryName::of(recovery));
        match recovery {
            Recovery::NewReno { careful, exit, .. } => {
                self.careful = Some(CarefulName::of(careful));
                self.newreno_exit = Some(NewRenoExitName::of(exit));
            }
            Recovery::Sack { rescue } => self.rescue = Some(rescue),
            Recovery::Vegas {
                fine_k,
                fine_granularity,
                coarse_timeout,
            } => {
                self.fine_k = Some(fine_k);
                self.fine_granularity = Some(Time(fine_granularity));
                self.coarse_timeout = Some(coarse_timeout);
            }
            Recovery::Snack {
                fine_k,
                fine_granularity,
            } => {
                self.fine_k = Some(fine_k);
                self.fine_granularity = Some(Time(fine_granularity));
            }
            Recovery::GoBackN | Recovery::Tahoe | Recovery::Reno => {}
        }
    }

    fn congestion(&self, base: &Control) -> Result<Control, Problem> {
        let mut control = base.clone();
        if let Some(name) = &self.congestion {
            let algorithm = control::named(name)?;
            if algorithm.name != base.algorithm().name {
                control = self.profile().control(Control::new(algorithm));
            }
        }
        match &self.control {
            Some(written) => written.lay_over(control),
            None => Ok(control),
        }
    }

    fn show_congestion(&mut self, control: &Control) {
        self.congestion = Some(control.algorithm().name.to_owned());
        self.control = ControlSpec::of(control);
    }

    fn timer(&self, base: RtoConfig) -> RtoConfig {
        let algorithm = match self.timer.unwrap_or(TimerName::of(base.algorithm)) {
            TimerName::Rfc793 => {
                let (alpha, beta) = match base.algorithm {
                    RtoAlgorithm::Rfc793 { alpha, beta } => (alpha, beta),
                    _ => (Ratio::new(9, 10), Ratio::new(2, 1)),
                };
                RtoAlgorithm::Rfc793 {
                    alpha: self.rto_alpha.map_or(alpha, |f| f.0),
                    beta: self.rto_beta.map_or(beta, |f| f.0),
                }
            }
            TimerName::Jacobson => {
                let (gain, dev_gain, k) = match base.algorithm {
                    RtoAlgorithm::Jacobson { gain, dev_gain, k } => (gain, dev_gain, k),
                    _ => (Ratio::new(1, 8), Ratio::new(1, 4), 4),
                };
                RtoAlgorithm::Jacobson {
                    gain: self.rto_gain.map_or(gain, |f| f.0),
                    dev_gain: self.rto_dev_gain.map_or(dev_gain, |f| f.0),
                    k: self.rto_k.unwrap_or(k),
                }
            }
            TimerName::Rfc6298 => {
                let granularity = match base.algorithm {
                    RtoAlgorithm::Rfc6298 { granularity } => granularity,
                    _ => Interval::from_millis(1),
                };
                RtoAlgorithm::Rfc6298 {
                    granularity: self.rto_granularity.map_or(granularity, |t| t.0),
                }
            }
            TimerName::Linux => RtoAlgorithm::Linux,
        };
        RtoConfig {
            algorithm,
            initial: self.rto_initial.map_or(base.initial, |t| t.0),
            min: self.rto_min.map_or(base.min, |t| t.0),
            max: self.rto_max.map_or(base.max, |t| t.0),
            tick: self.rto_tick.map_or(base.tick, |t| t.0),
            backoff: self.backoff.map_or(base.backoff, BackoffName::value),
            sampling: self.sampling.map_or(base.sampling, SamplingName::value),
            ..base
        }
    }

    fn show_timer(&mut self, rto: &RtoConfig) {
        self.timer = Some(TimerName::of(rto.algorithm));
        match rto.algorithm {
            RtoAlgorithm::Rfc793 { alpha, beta } => {
                self.rto_alpha = Some(Factor(alpha));
                self.rto_beta = Some(Factor(beta));
            }
            RtoAlgorithm::Jacobson { gain, dev_gain, k } => {
                self.rto_gain = Some(Factor(gain));
                self.rto_dev_gain = Some(Factor(dev_gain));
                self.rto_k = Some(k);
            }
            RtoAlgorithm::Rfc6298 { granularity } => self.rto_granularity = Some(Time(granularity)),
            RtoAlgorithm::Linux => {}
        }
        self.rto_initial = Some(Time(rto.initial));
        self.rto_min = Some(Time(rto.min));
        self.rto_max = Some(Time(rto.max));
        self.rto_tick = Some(Time(rto.tick));
        self.backoff = Some(BackoffName::of(rto.backoff));
        self.sampling = Some(SamplingName::of(rto.sampling));
    }

    fn receiver(&self, base: ReceiverConfig) -> ReceiverConfig {
        let mut ack = base.delayed_ack;
        match self.delayed_ack.map(|delay| delay.0) {
            Some(None) => ack = DelayedAck::OFF,
            // Over a row without delayed ACK the other two start anew.
            Some(Some(max_delay)) if ack.max_delay.is_zero() => {
                ack = DelayedAck {
                    max_delay,
                    ..DelayedAck::default()
                };
            }
            Some(Some(max_delay)) => ack.max_delay = max_delay,
            None => {}
        }
        if !ack.max_delay.is_zero() {
            ack.every = self.ack_every.unwrap_or(ack.every);
            ack.heartbeat = self.ack_heartbeat.unwrap_or(ack.heartbeat);
            ack.quick = self.ack_quick.unwrap_or(ack.quick);
        }
        let sack = self.sack.unwrap_or(base.sack);
        ReceiverConfig {
            buffer: self.receive_window.map_or(base.buffer, |size| size.0),
            buffer_max: self
                .receive_window_max
                .map_or(base.buffer_max, |size| Some(size.0)),
            gradual_window: self.gradual_window.unwrap_or(base.gradual_window),
            window_scale: self.window_scale.map_or(base.window_scale, |s| s.0),
            reassembly: self.reassembly.unwrap_or(base.reassembly),
            sack,
            dsack: sack && self.dsack.unwrap_or(base.dsack),
            snack: base.snack,
            delayed_ack: ack,
            delay_gap_fill: base.delay_gap_fill,
            delay_dup_acks: base.delay_dup_acks,
            dummies: self.dummies.map_or(base.dummies, DummyReplyName::value),
        }
    }

    fn show_receiver(&mut self, receiver: &ReceiverConfig) {
        self.receive_window = Some(Size(receiver.buffer));
        self.receive_window_max = receiver.buffer_max.map(Size);
        self.gradual_window = receiver.buffer_max.map(|_| receiver.gradual_window);
        self.window_scale = Some(Scale(receiver.window_scale));
        self.reassembly = Some(receiver.reassembly);
        self.sack = Some(receiver.sack);
        self.dsack = receiver.sack.then_some(receiver.dsack);
        let ack = receiver.delayed_ack;
        if ack.max_delay.is_zero() {
            self.delayed_ack = Some(AckDelay(None));
        } else {
            self.delayed_ack = Some(AckDelay(Some(ack.max_delay)));
            self.ack_every = Some(ack.every);
            self.ack_heartbeat = Some(ack.heartbeat);
            self.ack_quick = Some(ack.quick);
        }
    }

    /// Ranges of the values that are written here.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if let Some(control) = &self.control {
            control.check()?;
        }
        self.check_rack()?;
        self.check_timer()?;
        self.check_lifetime()?;
        let hour = Interval::from_secs(3600);
        let size = |key, value: Option<Size>, min, max| match value {
            Some(size) if size < Size(min) || size > Size(max) => Err(fault(
                key,
                format!(
                    "= \"{size}\" is out of range; write {min} B to {}",
                    Size(max)
                ),
            )),
            _ => Ok(()),
        };
        let time = |key, value: Option<Time>, max: Interval| match value {
            Some(time) if time > Time(max) => Err(fault(
                key,
                format!(
                    "= \"{time}\" is out of range; write at most \"{}\"",
                    Time(max)
                ),
            )),
            _ => Ok(()),
        };
        let number = |key, value: Option<u32>, min: u32, max: u32| match value {
            Some(n) if n < min || n > max => Err(fault(
                key,
                format!("= {n} is out of range; write {min} to {max}"),
            )),
            _ => Ok(()),
        };
        size("mss", self.mss, 28, 65_495)?;
        size("receive_window", self.receive_window, 1, 1 << 30)?;
        size("receive_window_max", self.receive_window_max, 1, 1 << 30)?;
        size(
            "send_buffer",
            self.send_buffer.and_then(|n| n.0.map(Size)),
            1,
            1 << 40,
        )?;
        size(
            "initial_ssthresh",
            self.initial_ssthresh.and_then(|n| n.0.map(Size)),
            1,
            1 << 40,
        )?;
        let delay = self.delayed_ack.and_then(|delay| delay.0.map(Time));
        time("delayed_ack", delay, Interval::from_secs(10))?;
        time("rto_initial", self.rto_initial, hour)?;
        time("rto_min", self.rto_min, hour)?;
        time("rto_max", self.rto_max, hour)?;
        time("rto_tick", self.rto_tick, Interval::from_secs(60))?;
        time("rto_granularity", self.rto_granularity, hour)?;
        time("fine_granularity", self.fine_granularity, hour)?;
        time("msl", self.msl, hour)?;
        time("ackp_timer", self.ackp_timer, hour)?;
        number("ack_every", self.ack_every, 1, 1_000)?;
        number("ack_quick", self.ack_quick, 0, 1_000)?;
        number("dupack_threshold", self.dupack_threshold, 1, 1_000_000)?;
        number("rto_k", self.rto_k, 1, 1_000)?;
        number("fine_k", self.fine_k, 1, 1_000)?;
        number("max_retransmits", self.max_retransmits, 0, 1_000_000)?;
        number(
            "max_syn_retransmits",
            self.max_syn_retransmits,
            0,
            1_000_000,
        )?;
        let one = Factor(Ratio::from_millionths(Ratio::ONE));
        for (key, value) in [
            ("rto_alpha", self.rto_alpha),
            ("rto_gain", self.rto_gain),
            ("rto_dev_gain", self.rto_dev_gain),
        ] {
            if let Some(factor) = value.filter(|&f| f >= one || f.0.millionths() == 0) {
                let says = format!(
                    "= {} is out of range; it lies between 0 and 1",
                    factor.0.as_f64()
                );
                return Err(fault(key, says));
            }
        }
        Ok(())
    }
}

pub(super) fn fault(key: &str, says: String) -> Problem {
    Problem::new([key.into()], says)
}

#[cfg(test)]
#[path = "tcp_tests.rs"]
mod tests;
