//! Settings of FreeBSD.

use super::{Member, Profile, Set, Value, set};
use crate::config::{
    ByteCounting, CwndLimit, DelayedAck, InitialWindow, Nagle, PrrBound, Ratio, Recovery,
    ReduceFrom, RtoAlgorithm, Undo, WindowScale,
};
use crate::congestion::Setting;
use crate::time::Interval;

/// The base stack of FreeBSD with the settings that it comes with.
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
    Value {
        key: "initial_window",
        set: Set::Config(|c| c.window.initial = InitialWindow::Segments(10)),
        source: "net.inet.tcp.initcwnd_segments = 10",
    },
    Value {
        key: "timestamps",
        set: Set::Config(|c| c.timestamps = true),
        source: "net.inet.tcp.rfc1323 = 1",
    },
    Value {
        key: "window_scale",
        set: Set::Config(|c| c.receiver.window_scale = WindowScale::Auto),
        source: "net.inet.tcp.rfc1323 = 1",
    },
    Value {
        key: "ecn",
        set: Set::Config(|c| c.ecn = false),
        source: "net.inet.tcp.ecn.enable = 2: agreed to where the peer asks, not asked for",
    },
    Value {
        key: "sack",
        set: Set::Config(|c| c.receiver.sack = true),
        source: "net.inet.tcp.sack.enable = 1",
    },
    Value {
        key: "dsack",
        set: Set::Config(|c| c.receiver.dsack = true),
        source: "tcp_sack.c: tcp_update_dsack_list",
    },
    Value {
        key: "recovery",
        set: Set::Config(|c| c.recovery = Recovery::SACK),
        source: "tcp_input.c, of every congestion control; net.inet.tcp.sack.revised = 1",
    },
    Value {
        key: "rack",
        set: Set::Config(|c| set(c.recovery.rack_mut(), None)),
        source: "net.inet.tcp.functions_default = freebsd: three duplicates tell a loss, and there \
                 is no tail loss probe",
    },
    Value {
        key: "prr",
        set: Set::Config(|c| set(c.recovery.prr_mut(), Some(PrrBound::SafeAck))),
        source: "net.inet.tcp.do_prr = 1; tcp_input.c: tcp_do_prr_ack",
    },
    Value {
        key: "limited_transmit",
        set: Set::Config(|c| c.limited_transmit = true),
        source: "net.inet.tcp.rfc3042 = 1",
    },
    Value {
        key: "reduce_from",
        set: Set::Config(|c| c.reduce_from = ReduceFrom::Cwnd),
        source: "cc_newreno.c: newreno_cong_signal; cc_cubic.c: cubic_ssthresh_update",
    },
    Value {
        key: "undo",
        set: Set::Config(|c| c.undo = Undo::EIFEL),
        source: "tcp_input.c: TF_PREVVALID, t_badrxtwin; there after a first time-out alone",
    },
    Value {
        key: "restart_on_retransmit",
        set: Set::Config(|c| c.restart_on_retransmit = true),
        source: "tcp_input.c: a fast retransmit stops the timer, tcp_output starts it",
    },
    Value {
        key: "timer",
        set: Set::Config(|c| {
            c.rto.algorithm = RtoAlgorithm::Jacobson {
                gain: Ratio::new(1, 8),
                dev_gain: Ratio::new(1, 4),
                k: 4,
            };
        }),
        source: "tcp_input.c: tcp_xmit_timer; TCP_REXMTVAL",
    },
    Value {
        key: "rto_slop",
        set: Set::Config(|c| c.rto.slop = Interval::from_millis(200)),
        source: "net.inet.tcp.rexmit_slop = 200",
    },
    Value {
        key: "rto_min",
        set: Set::Config(|c| c.rto.min = Interval::from_millis(30)),
        source: "net.inet.tcp.rexmit_min = 30, which the slop is above anyway",
    },
    Value {
        key: "rto_initial",
        set: Set::Config(|c| c.rto.initial = Interval::from_secs(1)),
        source: "net.inet.tcp.rexmit_initial = 1000",
    },
    Value {
        key: "rto_max",
        set: Set::Config(|c| c.rto.max = Interval::from_secs(64)),
        source: "TCPTV_REXMTMAX, tcp_timer.h",
    },
    Value {
        key: "max_retransmits",
        set: Set::Config(|c| c.lifetime.max_retransmits = 12),
        source: "net.inet.tcp.retries = 12, TCP_MAXRXTSHIFT",
    },
    Value {
        key: "max_syn_retransmits",
        set: Set::Config(|c| c.lifetime.max_syn_retransmits = 5),
        source: "net.inet.tcp.keepinit = 75 s, which ends an open; ours ends after 63 s",
    },
    Value {
        key: "cwnd_validation",
        set: Set::Config(|c| c.window.cwnd_validation = false),
        source: "net.inet.tcp.newcwv = 0",
    },
    Value {
        key: "cwnd_limit",
        set: Set::Config(|c| c.window.cwnd_limit = CwndLimit::ReceiveWindow),
        source: "tcp_input.c: cc_ack_received; growth while snd_cwnd <= snd_wnd",
    },
    Value {
        key: "nagle",
        set: Set::Config(|c| c.nagle = Nagle::Minshall),
        source: "tcp_output.c: TF_LASTIDLE; the rest of a write of its own goes out, as here",
    },
    Value {
        key: "delayed_ack",
        set: Set::Config(|c| {
            c.receiver.delayed_ack = DelayedAck {
                max_delay: Interval::from_millis(40),
                ..c.receiver.delayed_ack
            };
        }),
        source: "net.inet.tcp.delacktime = 40 (100 before 13.0)",
    },
    Value {
        key: "ack_every",
        set: Set::Config(|c| c.receiver.delayed_ack.every = 2),
        source: "tcp_input.c: DELAY_ACK",
    },
    Value {
        key: "send_buffer",
        set: Set::Config(|c| c.send_buffer = 2 << 20),
        source: "net.inet.tcp.sendbuf_auto = 1, sendbuf_max = 2097152",
    },
    Value {
        key: "receive_window",
        set: Set::Config(|c| c.receiver.buffer = 64 << 10),
        source: "net.inet.tcp.recvspace = 65536",
    },
    Value {
        key: "receive_window_max",
        set: Set::Config(|c| c.receiver.buffer_max = Some(2 << 20)),
        source: "net.inet.tcp.recvbuf_auto = 1, recvbuf_max = 2097152; ours grows as Linux's does",
    },
    Value {
        key: "byte_counting",
        set: Set::Config(|c| c.window.byte_counting = ByteCounting::Limit(2)),
        source: "net.inet.tcp.rfc3465 = 1, abc_l_var = 2",
    },
    Value {
        key: "control.vegas.loss_cut",
        set: Set::Control("vegas", "loss_cut", Setting::Choice("reno")),
        source: "cc_vegas.c: vegas_cong_signal leaves losses to newreno_cc_cong_signal",
    },
    Value {
        key: "control.vegas.timeout_window",
        set: Set::Control("vegas", "timeout_window", Setting::Count(1)),
        source: "cc_newreno.c: newreno_cc_cong_signal, CC_RTO",
    },
    Value {
        key: "control.cubic.hystart",
        set: Set::Control("cubic", "hystart", Setting::Choice("off")),
        source: "HyStart++ waits for CCF_HYSTART_ALLOWED, which the base stack does not set",
    },
];
