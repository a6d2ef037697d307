//! Limits for a peer that does not answer, and for the end of a connection.

use crate::time::Interval;

/// Limits for a peer that does not answer, and for the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LifetimeConfig {
    /// Time-outs in a row for one segment before the connection is given up
    /// (R2 of RFC 9293, 3.8.3).
    pub max_retransmits: u32,
    /// Time-outs in a row for a SYN before it is given up: 7 are 183 s with the
    /// time-outs of RFC 6298, which wants 180 s (RFC 9293, 3.8.3, MUST-23).
    pub max_syn_retransmits: u32,
    /// Maximum segment lifetime; TIME-WAIT lasts twice this (RFC 9293, 3.4.2).
    pub msl: Interval,
    /// Probes of an idle connection's peer.
    pub keepalive: Option<KeepAlive>,
    /// Time for which sent data, the SYN included, may stay unacknowledged before the connection is
    /// given up (RFC 9293, 3.9.1, and the local value of RFC 5482).
    pub user_timeout: Option<Interval>,
    /// Limit of FIN-WAIT-2 while nothing arrives and the application reads no more. RFC 9293 has no
    /// limit; Linux takes 60 s (`tcp_fin_timeout`).
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
    /// Silence before the first probe: the RFC wants 2 h unless configured.
    pub idle: Interval,
    /// Silence before another one.
    pub interval: Interval,
    /// Probes in a row without an answer before the connection is given up.
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
