//! Keys of the end of a connection: when it is given up, and how long closing lasts.

use super::entry::keys;
use super::value::{Field, Kind, Value};
use crate::time::Interval;

/// From a moment to a month.
const LONG: Kind = Kind::Time(Interval::from_millis(1), Interval::from_secs(30 * 86_400));
const KEEPALIVE: &str = "keepalive";

keys! {
    /// Time-outs in a row for one segment before the connection is given up.
    max_retransmits: Kind::Count(0, 1_000_000) => [lifetime.max_retransmits];
    /// Time-outs in a row for a SYN before it is given up.
    max_syn_retransmits: Kind::Count(0, 1_000_000) => [lifetime.max_syn_retransmits];
    /// Maximum segment lifetime; TIME-WAIT lasts twice this.
    msl: Kind::seconds(3600) => [lifetime.msl];
    /// Silence after which an idle connection probes its peer (RFC 9293, 3.8.4, which demands 2 h
    /// unless configured). Without it there are no probes.
    keepalive: LONG => {
        get |c| c.lifetime.keepalive.map(|keepalive| keepalive.idle.value());
        set |c, v| c.lifetime.keepalive.get_or_insert_default().idle = Interval::of(v);
    };
    /// Silence before another probe (Linux: 75 s).
    keepalive_interval: LONG => (|c| c.lifetime.keepalive.as_mut().map(|k| &mut k.interval)), needs KEEPALIVE;
    /// Probes without an answer before the connection is given up (Linux: 9).
    keepalive_probes: Kind::Count(1, 1_000_000) => (|c| c.lifetime.keepalive.as_mut().map(|k| &mut k.probes)), needs KEEPALIVE;
    /// Time for which sent data may stay unacknowledged before the connection is given up (RFC
    /// 9293, 3.9.1; RFC 5482). Without it `max_retransmits` decides alone.
    user_timeout: LONG => {
        get |c| c.lifetime.user_timeout.map(Value::Time);
        set |c, v| c.lifetime.user_timeout = Some(Interval::of(v));
    };
    /// Limit of FIN-WAIT-2 while nothing arrives and the application reads no more (Linux: 60 s).
    /// Without it there is no limit.
    fin_wait_2_timeout: LONG => {
        get |c| c.lifetime.fin_wait_2.map(Value::Time);
        set |c, v| c.lifetime.fin_wait_2 = Some(Interval::of(v));
    };
}
