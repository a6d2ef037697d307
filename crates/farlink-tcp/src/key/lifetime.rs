//! Keys of the limits for peers that do not answer, and of the closing of a connection.

use super::entry::keys;
use super::value::{Field, Kind, Value};
use crate::time::Interval;

/// Range from 1 ms to 30 days.
const LONG: Kind = Kind::Time(Interval::from_millis(1), Interval::from_secs(30 * 86_400));
const KEEPALIVE: &str = "keepalive";

keys! {
    /// Number of consecutive time-outs of one segment after which the connection is aborted.
    max_retransmits: Kind::Count(0, 1_000_000) => [lifetime.max_retransmits];
    /// Number of consecutive time-outs of a SYN after which the connection is aborted.
    max_syn_retransmits: Kind::Count(0, 1_000_000) => [lifetime.max_syn_retransmits];
    /// Maximum segment lifetime; TIME-WAIT lasts twice as long.
    msl: Kind::seconds(3600) => [lifetime.msl];
    /// Idle time after which the peer is probed (RFC 9293, 3.8.4, which requires 2 h as the
    /// default). Without it there are no probes.
    keepalive: LONG => {
        get |c| c.lifetime.keepalive.map(|keepalive| keepalive.idle.value());
        set |c, v| c.lifetime.keepalive.get_or_insert_default().idle = Interval::of(v);
    };
    /// Time between two probes (Linux: 75 s).
    keepalive_interval: LONG => (|c| c.lifetime.keepalive.as_mut().map(|k| &mut k.interval)), needs KEEPALIVE;
    /// Number of consecutive unanswered probes after which the connection is aborted (Linux: 9).
    keepalive_probes: Kind::Count(1, 1_000_000) => (|c| c.lifetime.keepalive.as_mut().map(|k| &mut k.probes)), needs KEEPALIVE;
    /// Time after which a connection with unacknowledged data is aborted (RFC 9293, 3.9.1; RFC
    /// 5482). Without it only `max_retransmits` limits the connection.
    user_timeout: LONG => {
        get |c| c.lifetime.user_timeout.map(Value::Time);
        set |c, v| c.lifetime.user_timeout = Some(Interval::of(v));
    };
    /// Maximum time in FIN-WAIT-2 while nothing arrives and the application no longer reads (Linux:
    /// 60 s). Without it there is no limit.
    fin_wait_2_timeout: LONG => {
        get |c| c.lifetime.fin_wait_2.map(Value::Time);
        set |c, v| c.lifetime.fin_wait_2 = Some(Interval::of(v));
    };
}
