//! `[tcp.quic]`: parameters of the transport of QUIC.

use super::checks::{HOUR, ZERO, out_of_range};
use super::decode::Problem;
use super::table::table;
use super::units::Time;
use farlink_tcp::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Least idle timeout, because the transport parameter is in milliseconds.
const MILLISECOND: Time = Time(Interval::from_millis(1));
/// Greatest time of a key.
const LONGEST: Time = Time(Interval::from_secs(1_000_000));

/// Number of open streams that quinn allows its peer.
const MOST_STREAMS: u32 = 100;

table! {
    /// Parameters of QUIC at both ends. Without a key the value is quinn's.
    #[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
    pub struct QuicTable {
        /// Time without packets from the peer after which a connection ends (RFC 9000, 10.1); "0 s"
        /// for none. The connection waits for three probe timeouts if these take longer.
        idle_timeout?: Time = Time(Interval::from_secs(30)), in ZERO..=LONGEST;
        /// Round-trip time before the first sample (RFC 9002, 6.2.2). Probe timeouts of the
        /// handshake start from it.
        initial_rtt?: Time = Time(Interval::from_millis(333)), in MILLISECOND..=LONGEST;
        /// Number of streams over which a file is sent, in equal parts, or a bulk flow. A lost
        /// packet holds the data of its streams alone.
        streams?: u32 = 1, in 1..=MOST_STREAMS;
        /// The client has a session of TLS from an earlier connection, and sends data in its first
        /// flight (RFC 9001, 4.6). The server then answers before the handshake ends, with at most
        /// three times the bytes that it got.
        zero_rtt?: bool = false;
        /// Number of packets with data that the peer may receive without sending an ACK at once
        /// (draft-ietf-quic-ack-frequency): 0 for an ACK of each packet. Without this key and the
        /// next two, ACKs follow every second packet.
        ack_eliciting_threshold?: u32, in 0..=1_000_000;
        /// Time for which the peer may delay an ACK, at most the round-trip time or 25 ms if that
        /// is longer. The default is 25 ms.
        max_ack_delay?: Time, in MILLISECOND..=HOUR;
        /// Number of packets beyond a missing packet at which an ACK is sent at once: 1 for the
        /// first, 0 for none. The default is 2 if another key asks for fewer ACKs, else 1.
        reordering_threshold?: u32, in 0..=1_000_000;
    }
}

impl QuicTable {
    /// Returns these keys over those of `base`.
    pub(super) fn over(&self, base: &Self) -> Self {
        Self {
            idle_timeout: self.idle_timeout.or(base.idle_timeout),
            initial_rtt: self.initial_rtt.or(base.initial_rtt),
            streams: self.streams.or(base.streams),
            zero_rtt: self.zero_rtt.or(base.zero_rtt),
            ack_eliciting_threshold: self
                .ack_eliciting_threshold
                .or(base.ack_eliciting_threshold),
            max_ack_delay: self.max_ack_delay.or(base.max_ack_delay),
            reordering_threshold: self.reordering_threshold.or(base.reordering_threshold),
        }
    }

    /// Checks the range of each value.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.check_keys()?;
        match self.idle_timeout {
            Some(time) if time > ZERO && time < MILLISECOND => {
                let message = format!("\"{time}\" is below 1 ms; write \"0 s\" for no timeout");
                Err(out_of_range(["idle_timeout".into()], &message))
            }
            _ => Ok(()),
        }
    }
}
