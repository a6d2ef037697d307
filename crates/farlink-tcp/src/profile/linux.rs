//! Settings of Linux.

use super::{Member, Profile, Set, Value, set};
use crate::config::{
    ByteCounting, Config, CwndLimit, DelayedAck, InitialWindow, Nagle, PrrBound, RackConfig,
    RackRtt, Recovery, ReduceFrom, RtoAlgorithm, Sampling, Undo, WindowScale,
};
use crate::congestion::{Hybla, Setting};
use crate::time::Interval;

/// The TCP of a Linux kernel with the settings that it comes with.
pub static LINUX: Profile = Profile {
    name: "linux",
    summary: "a current Linux kernel with the settings that it comes with",
    source: "Linux 6.18, net/ipv4 and Documentation/networking/ip-sysctl.rst",
    members: Some(&[
        Member {
            name: "cubic",
            row: "cubic",
        },
        Member {
            name: "reno",
            row: "reno",
        },
        Member {
            name: "bbr",
            row: "bbr",
        },
        Member {
            name: "vegas",
            row: "vegas",
        },
        Member {
            name: "westwood",
            row: "westwood+",
        },
        Member {
            name: "hybla",
            row: "hybla",
        },
    ]),
    usual: "cubic",
    values: VALUES,
};

/// Hybla sets its own window at the start, and counts ACKs.
fn is_hybla(config: &Config) -> bool {
    config.congestion.algorithm().name == Hybla::ALGORITHM.name
}

const VALUES: &[Value] = &[
    Value {
        key: "initial_window",
        set: Set::Config(|c| {
            c.window.initial = InitialWindow::Segments(if is_hybla(c) { 1 } else { 10 });
        }),
        source: "TCP_INIT_CWND, include/net/tcp.h (RFC 6928); 1 of hybla, multiplied by rho \
                 (tcp_hybla.c: hybla_init)",
    },
    Value {
        key: "timestamps",
        set: Set::Config(|c| c.timestamps = true),
        source: "tcp_timestamps = 1",
    },
    Value {
        key: "window_scale",
        set: Set::Config(|c| c.receiver.window_scale = WindowScale::Auto),
        source: "tcp_window_scaling = 1",
    },
    Value {
        key: "ecn",
        set: Set::Config(|c| c.ecn = false),
        source: "tcp_ecn = 2: agreed to where the peer asks, not asked for",
    },
    Value {
        key: "sack",
        set: Set::Config(|c| c.receiver.sack = true),
        source: "tcp_sack = 1",
    },
    Value {
        key: "dsack",
        set: Set::Config(|c| c.receiver.dsack = true),
        source: "tcp_dsack = 1",
    },
    Value {
        key: "recovery",
        set: Set::Config(|c| c.recovery = Recovery::SACK),
        source: "tcp_input.c: tcp_fastretrans_alert, of every congestion control",
    },
    Value {
        key: "rack",
        set: Set::Config(|c| set(c.recovery.rack_mut(), Some(RackConfig::default()))),
        source: "tcp_recovery = 1, tcp_recovery.c; with tail loss probes, tcp_early_retrans = 3",
    },
    Value {
        key: "rack_rtt",
        set: Set::Config(|c| {
            if let Some(rack) = c.recovery.rack_mut() {
                rack.get_or_insert_default().rtt_from = RackRtt::LastInSequence;
            }
        }),
        source: "tcp_recovery.c: tcp_rack_advance, called by tcp_sacktag_one and then by \
                 tcp_clean_rtx_queue",
    },
    Value {
        key: "prr",
        set: Set::Config(|c| set(c.recovery.prr_mut(), Some(PrrBound::SafeAck))),
        source: "tcp_input.c: tcp_cwnd_reduction",
    },
    Value {
        key: "limited_transmit",
        set: Set::Config(|c| c.limited_transmit = true),
        source: "tcp_input.c: the state Disorder lets a segment out for each duplicate",
    },
    Value {
        key: "reduce_from",
        set: Set::Config(|c| c.reduce_from = ReduceFrom::Cwnd),
        source: "tcp_cong.c: tcp_reno_ssthresh; tcp_cubic.c: cubictcp_recalc_ssthresh",
    },
    Value {
        key: "reduce_once",
        set: Set::Config(|c| c.reduce_once = true),
        source: "tcp_input.c: tcp_enter_loss",
    },
    Value {
        key: "undo",
        set: Set::Config(|c| c.undo = Undo::DSACK.and(Undo::EIFEL).and(Undo::FRTO)),
        source: "tcp_input.c: tcp_try_undo_recovery, tcp_try_undo_loss; tcp_frto = 2",
    },
    Value {
        key: "restart_on_retransmit",
        set: Set::Config(|c| c.restart_on_retransmit = true),
        source: "tcp_input.c: tcp_rearm_rto; tcp_output.c: tcp_xmit_retransmit_queue",
    },
    Value {
        key: "restart_on_sack",
        set: Set::Config(|c| c.restart_on_sack = true),
        source: "tcp_input.c: tcp_clean_rtx_queue",
    },
    Value {
        key: "rtt_from_sack",
        set: Set::Config(|c| c.rto.from_sack = true),
        source: "tcp_input.c: tcp_ack_update_rtt",
    },
    Value {
        key: "sampling",
        set: Set::Config(|c| c.rto.sampling = Sampling::EverySegment),
        source: "tcp_input.c: tcp_ack_update_rtt",
    },
    Value {
        key: "timer",
        set: Set::Config(|c| c.rto.algorithm = RtoAlgorithm::Linux),
        source: "tcp_input.c: tcp_rtt_estimator",
    },
    Value {
        key: "rto_min",
        set: Set::Config(|c| c.rto.min = Interval::from_millis(200)),
        source: "TCP_RTO_MIN; tcp_rto_min_us = 200000",
    },
    Value {
        key: "rto_initial",
        set: Set::Config(|c| c.rto.initial = Interval::from_secs(1)),
        source: "TCP_TIMEOUT_INIT",
    },
    Value {
        key: "rto_max",
        set: Set::Config(|c| c.rto.max = Interval::from_secs(120)),
        source: "TCP_RTO_MAX_SEC; tcp_rto_max_ms = 120000",
    },
    Value {
        key: "max_retransmits",
        set: Set::Config(|c| c.lifetime.max_retransmits = 15),
        source: "tcp_retries2 = 15",
    },
    Value {
        key: "max_syn_retransmits",
        set: Set::Config(|c| c.lifetime.max_syn_retransmits = 6),
        source: "tcp_syn_retries = 6, 127 s; there 5 for a SYN-ACK (tcp_synack_retries)",
    },
    Value {
        key: "lost_syns",
        set: Set::Config(|c| c.window.lost_syns = 2),
        source: "tcp_input.c: tcp_init_transfer",
    },
    Value {
        key: "idle_decay",
        set: Set::Config(|c| c.window.idle_decay = c.window.idle_restart),
        source: "tcp_slow_start_after_idle = 1; tcp_output.c: tcp_cwnd_restart",
    },
    Value {
        key: "cwnd_validation",
        set: Set::Config(|c| c.window.cwnd_validation = true),
        source: "include/net/tcp.h: tcp_is_cwnd_limited",
    },
    Value {
        key: "cwnd_limit",
        set: Set::Config(|c| c.window.cwnd_limit = CwndLimit::None),
        source: "snd_cwnd_clamp is without limit",
    },
    Value {
        key: "nagle",
        set: Set::Config(|c| c.nagle = Nagle::Minshall),
        source: "tcp_output.c: tcp_nagle_check, tcp_minshall_check",
    },
    Value {
        key: "delayed_ack",
        set: Set::Config(|c| {
            c.receiver.delayed_ack = DelayedAck {
                max_delay: Interval::from_millis(40),
                ..c.receiver.delayed_ack
            };
        }),
        source: "TCP_ATO_MIN, TCP_DELACK_MIN; there it grows with the gaps between arrivals, to \
                 200 ms at most",
    },
    Value {
        key: "ack_every",
        set: Set::Config(|c| c.receiver.delayed_ack.every = 2),
        source: "tcp_input.c: __tcp_ack_snd_check",
    },
    Value {
        key: "ack_quick",
        set: Set::Config(|c| c.receiver.delayed_ack.quick = 16),
        source: "TCP_MAX_QUICKACKS; tcp_input.c: tcp_grow_window; there again after a gap of a time-out and at what comes twice",
    },
    Value {
        key: "send_buffer",
        set: Set::Config(|c| c.send_buffer = 4 << 20),
        source: "tcp_wmem, 4 MiB at most, where it grows to with cwnd (tcp_sndbuf_expand); there \
                 what the segments take in memory counts",
    },
    Value {
        key: "receive_window",
        set: Set::Config(|c| c.receiver.buffer = 80 << 10),
        source: "tcp_rmem, 128 KiB in the middle: what it holds of full segments",
    },
    Value {
        key: "receive_window_max",
        set: Set::Config(|c| c.receiver.buffer_max = Some(32 << 20)),
        source: "tcp_rmem, 32 MiB at most (6 MiB before 6.16); tcp_moderate_rcvbuf = 1",
    },
    Value {
        key: "gradual_window",
        set: Set::Config(|c| c.receiver.gradual_window = true),
        source: "tcp_input.c: tcp_grow_window, rcv_ssthresh",
    },
    Value {
        key: "pacing",
        set: Set::Config(|c| c.window.pacing = None),
        source: "sk_pacing_status is SK_PACING_NONE without the qdisc fq and without \
                 SO_MAX_PACING_RATE; with one of these write pacing = true. BBR paces by itself",
    },
    Value {
        key: "byte_counting",
        set: Set::Config(|c| {
            c.window.byte_counting = if is_hybla(c) {
                ByteCounting::Off
            } else {
                ByteCounting::Unlimited
            };
        }),
        source: "tcp_cong.c: tcp_slow_start, tcp_cong_avoid_ai count what an ACK covers; \"off\" of \
                 hybla (tcp_hybla.c: hybla_cong_avoid)",
    },
    Value {
        key: "control.cubic.hystart",
        set: Set::Control("cubic", "hystart", Setting::Choice("classic")),
        source: "tcp_cubic.c: hystart = 1, hystart_detect = 3: trains of ACKs and delay",
    },
    Value {
        key: "control.cubic.counting",
        set: Set::Control("cubic", "counting", Setting::Choice("linux")),
        source: "tcp_cubic.c: bictcp_update; tcp_cong.c: tcp_cong_avoid_ai",
    },
    Value {
        key: "control.vegas.alpha",
        set: Set::Control("vegas", "alpha", Setting::Number(2.0)),
        source: "tcp_vegas.c: alpha = 2",
    },
    Value {
        key: "control.vegas.beta",
        set: Set::Control("vegas", "beta", Setting::Number(4.0)),
        source: "tcp_vegas.c: beta = 4",
    },
    Value {
        key: "control.vegas.loss_cut",
        set: Set::Control("vegas", "loss_cut", Setting::Choice("reno")),
        source: "tcp_vegas.c: tcp_reno_ssthresh",
    },
    Value {
        key: "control.vegas.timeout_window",
        set: Set::Control("vegas", "timeout_window", Setting::Count(1)),
        source: "tcp_input.c: tcp_enter_loss",
    },
    Value {
        key: "control.westwood_plus.arithmetic",
        set: Set::Control("westwood_plus", "arithmetic", Setting::Choice("linux")),
        source: "tcp_westwood.c; with hz = 250, the default of CONFIG_HZ",
    },
    Value {
        key: "control.hybla.bandwidth_estimate",
        set: Set::Control("hybla", "bandwidth_estimate", Setting::Flag(false)),
        source: "tcp_hybla.c has none",
    },
    Value {
        key: "control.hybla.scale_initial_window",
        set: Set::Control("hybla", "scale_initial_window", Setting::Flag(true)),
        source: "tcp_hybla.c: hybla_init",
    },
    Value {
        key: "control.hybla.after_timeout",
        set: Set::Control("hybla", "after_timeout", Setting::Choice("reno")),
        source: "tcp_hybla.c: hybla_state, hybla_cong_avoid; tcp_cong.c: tcp_reno_cong_avoid",
    },
    Value {
        key: "control.bbr.pacing_margin",
        set: Set::Control("bbr", "pacing_margin", Setting::Number(0.01)),
        source: "tcp_bbr.c: bbr_pacing_margin_percent",
    },
    Value {
        key: "control.bbr.equal_rtt_counts",
        set: Set::Control("bbr", "equal_rtt_counts", Setting::Flag(false)),
        source: "tcp_bbr.c: bbr_update_min_rtt",
    },
    Value {
        key: "control.bbr.ack_aggregation",
        set: Set::Control("bbr", "ack_aggregation", Setting::Flag(true)),
        source: "tcp_bbr.c: bbr_update_ack_aggregation",
    },
    Value {
        key: "control.bbr.even_window",
        set: Set::Control("bbr", "even_window", Setting::Flag(true)),
        source: "tcp_bbr.c: bbr_quantization_budget",
    },
];
