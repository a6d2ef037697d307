//! Limits for peers that do not answer, and for the closing of a connection.

use crate::time::Interval;

/// Limits for peers that do not answer, and for the closing of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LifetimeConfig {
    /// Number of consecutive time-outs of one segment after which the connection is aborted (R2 of
    /// RFC 9293, 3.8.3).
    pub max_retransmits: u32,
    /// Number of consecutive time-outs of a SYN after which the connection is aborted. With the
    /// RTOs of RFC 6298, 7 time-outs take 183 s; RFC 9293, 3.8.3, MUST-23, requires 180 s.
    pub max_syn_retransmits: u32,
    /// Maximum segment lifetime; TIME-WAIT lasts twice as long (RFC 9293, 3.4.2).
    pub msl: Interval,
    /// Keep-alive probes; `None` sends none.
    pub keepalive: Option<KeepAlive>,
    /// Time after which a connection with unacknowledged data (or SYN) is aborted (RFC 9293, 3.9.1,
    /// and the local value of RFC 5482).
    pub user_timeout: Option<Interval>,
    /// Maximum time in FIN-WAIT-2 while nothing arrives and the application no longer reads. RFC
    /// 9293 has no limit; Linux uses 60 s (`tcp_fin_timeout`).
    pub fin_wait_2: Option<Interval>,
}

impl Default for LifetimeConfig {
    fn default() -> Self {
        Self {
            max_retransmits: 15,
            max_syn_retransmits: 7,
            msl: Interval::from_secs(30),
            keepalive: None,
            user_timeout: None,
            fin_wait_2: None,
        }
    }
}

/// Keep-alive (RFC 9293, 3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepAlive {
    /// Idle time before the first probe; the RFC requires 2 h as the default.
    pub idle: Interval,
    /// Time between two probes.
    pub interval: Interval,
    /// Number of consecutive unanswered probes after which the connection is aborted.
    pub probes: u32,
}

impl Default for KeepAlive {
    /// Returns the defaults of Linux (`tcp_keepalive_time`, `tcp_keepalive_intvl`,
    /// `tcp_keepalive_probes`).
    fn default() -> Self {
        Self {
            idle: Interval::from_secs(7200),
            interval: Interval::from_secs(75),
            probes: 9,
        }
    }
}
