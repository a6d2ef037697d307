//! Settings of FreeBSD.

use super::table::{Member, Profile, Value, set};
use crate::key::UNDO;
use crate::key::Value::{Choice, Count, Flag, Size, Time, Ways};
use crate::time::Interval;

/// The base TCP stack of FreeBSD with its default settings.
pub static FREEBSD: Profile = Profile {
    name: "freebsd",
    summary: "the base stack of a current FreeBSD with the settings that it comes with",
    source: "FreeBSD 14, sys/netinet and tcp(4); without the stacks RACK and BBR, which are \
             loaded on request",
    members: Some(&[
        Member {
            name: "cubic",
            row: "cubic",
        },
        Member {
            name: "newreno",
            row: "newreno",
        },
        Member {
            name: "vegas",
            row: "vegas",
        },
    ]),
    usual: "cubic",
    values: VALUES,
};

const VALUES: &[Value] = &[
    set(
        "initial_window",
        Count(10),
        "net.inet.tcp.initcwnd_segments = 10",
    ),
    set("timestamps", Flag(true), "net.inet.tcp.rfc1323 = 1"),
    set("window_scale", Choice("auto"), "net.inet.tcp.rfc1323 = 1"),
    set(
        "ecn",
        Flag(false),
        "net.inet.tcp.ecn.enable = 2: agreed to where the peer asks, not asked for",
    ),
    set("sack", Flag(true), "net.inet.tcp.sack.enable = 1"),
    set("dsack", Flag(true), "tcp_sack.c: tcp_update_dsack_list"),
    set(
        "recovery",
        Choice("sack"),
        "tcp_input.c, of every congestion control; net.inet.tcp.sack.revised = 1",
    ),
    set(
        "rack",
        Flag(false),
        "net.inet.tcp.functions_default = freebsd: three duplicates tell a loss, and there \
                 is no tail loss probe",
    ),
    set(
        "prr",
        Flag(true),
        "net.inet.tcp.do_prr = 1; tcp_input.c: tcp_do_prr_ack",
    ),
    set("limited_transmit", Flag(true), "net.inet.tcp.rfc3042 = 1"),
    set(
        "reduce_from",
        Choice("cwnd"),
        "cc_newreno.c: newreno_cong_signal; cc_cubic.c: cubic_ssthresh_update",
    ),
    set(
        "undo",
        Ways(UNDO, 0b010),
        "tcp_input.c: TF_PREVVALID, t_badrxtwin; there after a first time-out alone",
    ),
    set(
        "restart_on_retransmit",
        Flag(true),
        "tcp_input.c: a fast retransmit stops the timer, tcp_output starts it",
    ),
    set(
        "timer",
        Choice("jacobson"),
        "tcp_input.c: tcp_xmit_timer; TCP_REXMTVAL",
    ),
    set(
        "rto_slop",
        Time(Interval::from_millis(200)),
        "net.inet.tcp.rexmit_slop = 200",
    ),
    set(
        "rto_min",
        Time(Interval::from_millis(30)),
        "net.inet.tcp.rexmit_min = 30, which the slop is above anyway",
    ),
    set(
        "rto_initial",
        Time(Interval::from_secs(1)),
        "net.inet.tcp.rexmit_initial = 1000",
    ),
    set(
        "rto_max",
        Time(Interval::from_secs(64)),
        "TCPTV_REXMTMAX, tcp_timer.h",
    ),
    set(
        "max_retransmits",
        Count(12),
        "net.inet.tcp.retries = 12, TCP_MAXRXTSHIFT",
    ),
    set(
        "max_syn_retransmits",
        Count(5),
        "net.inet.tcp.keepinit = 75 s, which ends an open; ours ends after 63 s",
    ),
    set("cwnd_validation", Flag(false), "net.inet.tcp.newcwv = 0"),
    set(
        "cwnd_limit",
        Choice("receive-window"),
        "tcp_input.c: cc_ack_received; growth while snd_cwnd <= snd_wnd",
    ),
    set(
        "nagle",
        Choice("minshall"),
        "tcp_output.c: TF_LASTIDLE; the rest of a write of its own goes out, as here",
    ),
    set(
        "delayed_ack",
        Time(Interval::from_millis(40)),
        "net.inet.tcp.delacktime = 40 (100 before 13.0)",
    ),
    set("ack_every", Count(2), "tcp_input.c: DELAY_ACK"),
    set(
        "send_buffer",
        Size(2 << 20),
        "net.inet.tcp.sendbuf_auto = 1, sendbuf_max = 2097152",
    ),
    set(
        "receive_window",
        Size(64 << 10),
        "net.inet.tcp.recvspace = 65536",
    ),
    set(
        "receive_window_max",
        Size(2 << 20),
        "net.inet.tcp.recvbuf_auto = 1, recvbuf_max = 2097152; ours grows as Linux's does",
    ),
    set(
        "byte_counting",
        Count(2),
        "net.inet.tcp.rfc3465 = 1, abc_l_var = 2",
    ),
    set(
        "control.vegas.loss_cut",
        Choice("reno"),
        "cc_vegas.c: vegas_cong_signal leaves losses to newreno_cc_cong_signal",
    ),
    set(
        "control.vegas.timeout_window",
        Count(1),
        "cc_newreno.c: newreno_cc_cong_signal, CC_RTO",
    ),
    set(
        "control.cubic.hystart",
        Choice("off"),
        "HyStart++ waits for CCF_HYSTART_ALLOWED, which the base stack does not set",
    ),
];
