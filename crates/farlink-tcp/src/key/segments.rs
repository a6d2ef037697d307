//! Keys of segments: sizes, options, and Nagle's rule.

use super::entry::keys;
use super::value::{Field, Kind, LIMIT, Value, words};
use crate::config::{FastOpen, Nagle};

words! { NAGLE: Nagle {
    "off" Off,
    "rfc896" Rfc896,
    "minshall" Minshall,
} }

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
    /// Explicit Congestion Notification (RFC 3168), if both ends support it. Queues with `mark`
    /// mark data instead of dropping it.
    ecn: Kind::Flag => [ecn];
    /// Nagle's algorithm: the condition under which a partial segment waits. "rfc896": any data is
    /// unacknowledged (RFC 896; RFC 9293, 3.7.4). "minshall": another partial segment is
    /// unacknowledged, so that the end of a large write is sent at once (as in Linux). true keeps
    /// the variant's rule, false is "off".
    nagle: Kind::Or(NAGLE, &Kind::Flag) => {
        get |c| Some(c.nagle.value());
        set |c, v| match v {
            Value::Flag(true) => {}
            Value::Flag(false) => c.nagle = Nagle::Off,
            rule => c.nagle = Nagle::of(rule),
        };
    };
    /// TCP Fast Open (RFC 7413): a client that has the server's cookie sends data on its SYN, which
    /// saves the round trip of the handshake.
    fast_open: Kind::Choice(FAST_OPEN) => [fast_open];
}
