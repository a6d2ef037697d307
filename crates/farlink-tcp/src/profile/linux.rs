//! Settings of Linux.

use super::table::{Member, Profile, Value, set};
use crate::key::UNDO;
use crate::key::Value::{Choice, Count, Flag, Number, Size, Time, Ways};
use crate::time::Interval;

/// The TCP of a Linux kernel with its default settings.
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
            name: "bbr3",
            row: "bbr3",
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
        Member {
            name: "dctcp",
            row: "dctcp",
        },
        Member {
            name: "illinois",
            row: "illinois",
        },
        Member {
            name: "htcp",
            row: "htcp",
        },
    ]),
    usual: "cubic",
    values: VALUES,
};

const VALUES: &[Value] = &[
    set(
        "initial_window",
        Count(10),
        "TCP_INIT_CWND, include/net/tcp.h (RFC 6928); 1 of hybla, multiplied by rho \
                 (tcp_hybla.c: hybla_init)",
    )
    .but("hybla", Count(1)),
    set("timestamps", Flag(true), "tcp_timestamps = 1"),
    set("window_scale", Choice("auto"), "tcp_window_scaling = 1"),
    set(
        "ecn",
        Flag(false),
        "tcp_ecn = 2: agreed to where the peer asks, not asked for; asked for by dctcp \
                 (TCP_CONG_NEEDS_ECN)",
    )
    .but("dctcp", Flag(true)),
    set("sack", Flag(true), "tcp_sack = 1"),
    set("dsack", Flag(true), "tcp_dsack = 1"),
    set(
        "recovery",
        Choice("sack"),
        "tcp_input.c: tcp_fastretrans_alert, of every congestion control",
    ),
    set(
        "rack",
        Flag(true),
        "tcp_recovery = 1, tcp_recovery.c; with tail loss probes, tcp_early_retrans = 3",
    ),
    set(
        "rack_rtt",
        Choice("last-in-sequence"),
        "tcp_recovery.c: tcp_rack_advance, called by tcp_sacktag_one and then by \
                 tcp_clean_rtx_queue",
    ),
    set("prr", Flag(true), "tcp_input.c: tcp_cwnd_reduction"),
    set(
        "limited_transmit",
        Flag(true),
        "tcp_input.c: the state Disorder lets a segment out for each duplicate",
    ),
    set(
        "reduce_from",
        Choice("cwnd"),
        "tcp_cong.c: tcp_reno_ssthresh; tcp_cubic.c: cubictcp_recalc_ssthresh",
    ),
    set("reduce_once", Flag(true), "tcp_input.c: tcp_enter_loss"),
    set(
        "undo",
        Ways(UNDO, 0b111),
        "tcp_input.c: tcp_try_undo_recovery, tcp_try_undo_loss; tcp_frto = 2",
    ),
    set(
        "restart_on_retransmit",
        Flag(true),
        "tcp_input.c: tcp_rearm_rto; tcp_output.c: tcp_xmit_retransmit_queue",
    ),
    set(
        "restart_on_sack",
        Flag(true),
        "tcp_input.c: tcp_clean_rtx_queue",
    ),
    set(
        "rtt_from_sack",
        Flag(true),
        "tcp_input.c: tcp_ack_update_rtt",
    ),
    set(
        "sampling",
        Choice("every-segment"),
        "tcp_input.c: tcp_ack_update_rtt",
    ),
    set("timer", Choice("linux"), "tcp_input.c: tcp_rtt_estimator"),
    set(
        "rto_min",
        Time(Interval::from_millis(200)),
        "TCP_RTO_MIN; tcp_rto_min_us = 200000",
    ),
    set(
        "rto_initial",
        Time(Interval::from_secs(1)),
        "TCP_TIMEOUT_INIT",
    ),
    set(
        "rto_max",
        Time(Interval::from_secs(120)),
        "TCP_RTO_MAX_SEC; tcp_rto_max_ms = 120000",
    ),
    set("max_retransmits", Count(15), "tcp_retries2 = 15"),
    set(
        "max_syn_retransmits",
        Count(6),
        "tcp_syn_retries = 6, 127 s; there 5 for a SYN-ACK (tcp_synack_retries)",
    ),
    set("lost_syns", Count(2), "tcp_input.c: tcp_init_transfer"),
    set(
        "idle_decay",
        Flag(true),
        "tcp_slow_start_after_idle = 1; tcp_output.c: tcp_cwnd_restart",
    ),
    set(
        "cwnd_validation",
        Flag(true),
        "include/net/tcp.h: tcp_is_cwnd_limited",
    ),
    set(
        "cwnd_limit",
        Choice("none"),
        "snd_cwnd_clamp is without limit",
    ),
    set(
        "nagle",
        Choice("minshall"),
        "tcp_output.c: tcp_nagle_check, tcp_minshall_check",
    ),
    set(
        "delayed_ack",
        Time(Interval::from_millis(40)),
        "TCP_ATO_MIN, TCP_DELACK_MIN; there it grows with the gaps between arrivals, to \
                 200 ms at most",
    ),
    set("ack_every", Count(2), "tcp_input.c: __tcp_ack_snd_check"),
    set(
        "ack_quick",
        Count(16),
        "TCP_MAX_QUICKACKS; tcp_input.c: tcp_grow_window; there again after a gap of a time-out and at what comes twice",
    ),
    set(
        "send_buffer",
        Size(4 << 20),
        "tcp_wmem, 4 MiB at most, where it grows to with cwnd (tcp_sndbuf_expand); there \
                 what the segments take in memory counts",
    ),
    set(
        "receive_window",
        Size(80 << 10),
        "tcp_rmem, 128 KiB in the middle: what it holds of full segments",
    ),
    set(
        "receive_window_max",
        Size(32 << 20),
        "tcp_rmem, 32 MiB at most (6 MiB before 6.16); tcp_moderate_rcvbuf = 1",
    ),
    set(
        "gradual_window",
        Flag(true),
        "tcp_input.c: tcp_grow_window, rcv_ssthresh",
    ),
    set(
        "pacing",
        Flag(false),
        "sk_pacing_status is SK_PACING_NONE without the qdisc fq and without \
                 SO_MAX_PACING_RATE; with one of these write pacing = true. BBR paces by itself",
    ),
    set(
        "byte_counting",
        Choice("unlimited"),
        "tcp_cong.c: tcp_slow_start, tcp_cong_avoid_ai count what an ACK covers; \"off\" of \
                 hybla (tcp_hybla.c: hybla_cong_avoid)",
    )
    .but("hybla", Choice("off")),
    set(
        "control.cubic.hystart",
        Choice("classic"),
        "tcp_cubic.c: hystart = 1, hystart_detect = 3: trains of ACKs and delay",
    ),
    set(
        "control.cubic.counting",
        Choice("linux"),
        "tcp_cubic.c: bictcp_update; tcp_cong.c: tcp_cong_avoid_ai",
    ),
    set("control.vegas.alpha", Number(2.0), "tcp_vegas.c: alpha = 2"),
    set("control.vegas.beta", Number(4.0), "tcp_vegas.c: beta = 4"),
    set(
        "control.vegas.loss_cut",
        Choice("reno"),
        "tcp_vegas.c: tcp_reno_ssthresh",
    ),
    set(
        "control.vegas.timeout_window",
        Count(1),
        "tcp_input.c: tcp_enter_loss",
    ),
    set(
        "control.westwood_plus.arithmetic",
        Choice("linux"),
        "tcp_westwood.c; with hz = 250, the default of CONFIG_HZ",
    ),
    set(
        "control.dctcp.arithmetic",
        Choice("linux"),
        "tcp_dctcp.c: dctcp_update_alpha, dctcp_ssthresh",
    ),
    set(
        "control.hybla.bandwidth_estimate",
        Flag(false),
        "tcp_hybla.c has none",
    ),
    set(
        "control.hybla.scale_initial_window",
        Flag(true),
        "tcp_hybla.c: hybla_init",
    ),
    set(
        "control.hybla.after_timeout",
        Choice("reno"),
        "tcp_hybla.c: hybla_state, hybla_cong_avoid; tcp_cong.c: tcp_reno_cong_avoid",
    ),
    set(
        "control.illinois.arithmetic",
        Choice("linux"),
        "tcp_illinois.c: alpha, beta, tcp_illinois_cong_avoid",
    ),
    set(
        "control.htcp.arithmetic",
        Choice("linux"),
        "tcp_htcp.c; with hz = 250, the default of CONFIG_HZ",
    ),
    set(
        "control.htcp.rtt_scaling",
        Flag(true),
        "tcp_htcp.c: use_rtt_scaling = 1",
    ),
    set(
        "control.bbr.pacing_margin",
        Number(0.01),
        "tcp_bbr.c: bbr_pacing_margin_percent",
    ),
    set(
        "control.bbr.equal_rtt_counts",
        Flag(false),
        "tcp_bbr.c: bbr_update_min_rtt",
    ),
    set(
        "control.bbr.ack_aggregation",
        Flag(true),
        "tcp_bbr.c: bbr_update_ack_aggregation",
    ),
    set(
        "control.bbr.even_window",
        Flag(true),
        "tcp_bbr.c: bbr_quantization_budget",
    ),
    set(
        "control.bbr3.rules",
        Choice("linux"),
        "github.com/google/bbr, branch v3, tcp_bbr.c",
    ),
    set(
        "control.bbr3.drain_gain",
        Number(0.343_75),
        "the same: bbr_drain_gain, 88/256",
    ),
    set(
        "control.bbr3.down_gain",
        Number(0.906_25),
        "the same: bbr_pacing_gain, 232/256",
    ),
    set("control.bbr3.ecn", Flag(true), "the same: bbr_ecn_factor"),
];
