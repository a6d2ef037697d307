//! Keys of segments: sizes, options, and Nagle's rule.

use super::entry::keys;
use super::value::Word;
use super::value::{Field, Kind, LIMIT, Value, words};
use crate::ack_rate::AckRateOption;
use crate::config::{AckRate, Config, EcnConfig, EcnEcho, EcnMode, FastOpen, Nagle};

words! { NAGLE: Nagle {
    "off" Off,
    "rfc896" Rfc896,
    "minshall" Minshall,
    /// Never, and a partial segment fills each window to the byte, as by a sender without
    /// silly-window avoidance (RFC 793).
    "fill" Fill,
} }

words! { ECN_ECHO: EcnEcho {
    /// From a mark until CWR arrives (RFC 3168, 6.1.3).
    "until-cwr" UntilCwr,
    /// In ACKs of marked data only (RFC 8257, 3.2).
    "dctcp" Dctcp,
} }

const ECN: &[Word] = &[Word(
    "accecn",
    "Accurate ECN (RFC 9768), or RFC 3168 with a peer that has only that.",
)];

impl Field for EcnMode {
    fn value(&self) -> Value {
        match self {
            Self::Off => Value::Flag(false),
            Self::Classic => Value::Flag(true),
            Self::Accurate => Value::Choice(ECN[0].0),
        }
    }

    fn of(value: Value) -> Self {
        match value {
            Value::Choice(_) => Self::Accurate,
            flag if bool::of(flag) => Self::Classic,
            _ => Self::Off,
        }
    }
}

/// Returns the settings of ECN, if ECN is on.
fn ecn(config: &mut Config) -> Option<&mut EcnConfig> {
    Some(&mut config.ecn).filter(|ecn| ecn.mode != EcnMode::Off)
}

/// Returns the settings of ECN, if Accurate ECN is on.
fn accecn(config: &mut Config) -> Option<&mut EcnConfig> {
    ecn(config).filter(|ecn| ecn.mode == EcnMode::Accurate)
}

const ACK_RATE: &[Word] = &[
    Word("off", "Not offered."),
    Word("follow", "Offered, and the peer's requests are followed."),
];

impl Field for AckRate {
    fn value(&self) -> Value {
        match *self {
            Self::Off => Value::Choice(ACK_RATE[0].0),
            Self::Follow => Value::Choice(ACK_RATE[1].0),
            Self::Request(every) => Value::Count(every.into()),
        }
    }

    fn of(value: Value) -> Self {
        match value {
            Value::Choice("follow") => Self::Follow,
            Value::Choice(_) => Self::Off,
            every => Self::Request(u32::of(every).min(AckRateOption::MOST.into()) as u8),
        }
    }
}

words! { FAST_OPEN: FastOpen {
    /// Not used.
    "off" Off,
    /// The first connection between two hosts requests a cookie; later ones, of any flow, use it.
    "request" Request,
    /// The client already has a cookie, so even the first connection uses it.
    "cookie" Cookie,
} }

keys! {
    /// Largest segment, in bytes of data. Over IPv6 the default is 20 bytes less.
    mss: Kind::Size(28, 65_495) => {
        get |c| Some(Value::Size(c.mss.into()));
        set |c, v| c.mss = u64::of(v) as u32;
    };
    /// Maximum amount of data that the application may have queued and the peer has not
    /// acknowledged.
    send_buffer: LIMIT => {
        get |c| Some(Some(c.send_buffer).filter(|&n| n != u64::MAX).value());
        set |c, v| c.send_buffer = Option::of(v).unwrap_or(u64::MAX);
    };
    /// Timestamps option (RFC 7323).
    timestamps: Kind::Flag => [timestamps];
    /// Explicit Congestion Notification, if both ends support it. true is the form of RFC 3168.
    /// Queues with `mark`, and disciplines, then mark data instead of dropping it.
    ecn: Kind::Or(ECN, &Kind::Flag) => [ecn.mode];
    /// Sends data as ECT(1) instead of ECT(0) once Accurate ECN is agreed (RFC 9331, 4.1), for
    /// queues with L4S. The congestion control should respond to the share of marked data.
    ect1: Kind::Flag => (|c| accecn(c).map(|ecn| &mut ecn.ect1)), needs "ecn = \"accecn\"";
    /// Rule by which a receiver echoes marks, if the ends agree on RFC 3168.
    ecn_echo: Kind::Choice(ECN_ECHO) => (|c| ecn(c).map(|ecn| &mut ecn.echo)), needs "ecn = true or \"accecn\"";
    /// Sends the AccECN option, which counts bytes (RFC 9768, 3.2.3).
    accecn_option: Kind::Flag => (|c| accecn(c).map(|ecn| &mut ecn.option)), needs "ecn = \"accecn\"";
    /// Nagle's algorithm: the condition under which a partial segment waits. "rfc896": any data is
    /// unacknowledged (RFC 896; RFC 9293, 3.7.4). "minshall": another partial segment is
    /// unacknowledged, so that the end of a large write is sent at once (as in Linux). true is the
    /// variant's rule, and false is "off".
    nagle: Kind::Or(NAGLE, &Kind::Flag) => {
        get |c| Some(c.nagle.value());
        set |c, v| match v {
            Value::Flag(true) => {}
            Value::Flag(false) => c.nagle = Nagle::Off,
            rule => c.nagle = Nagle::of(rule),
        };
    };
    /// TCP ACK Rate Request (TARR, draft-ietf-tcpm-ack-rate-request): a number requests an ACK for
    /// this many full-sized segments from the peer, which must support the option. The option
    /// takes 8 bytes of each segment of the requesting end, and is sent until the first request is
    /// acknowledged. The peer's `delayed_ack` still applies; a peer without one then delays ACKs by
    /// up to 200 ms.
    ack_rate: Kind::Or(ACK_RATE, &Kind::Count(1, 127)) => [ack_rate];
    /// TCP Fast Open (RFC 7413): a client that has the server's cookie sends data on its SYN, which
    /// saves the round trip of the handshake.
    fast_open: Kind::Choice(FAST_OPEN) => [fast_open];
}
