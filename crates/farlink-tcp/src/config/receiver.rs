//! Settings of the receiver: buffer, window, acknowledgments.

use crate::time::Interval;

/// Settings of the receiving side of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverConfig {
    /// Receive buffer in bytes, which is the largest window offered.
    pub buffer: u64,
    /// Size in bytes to which the receive buffer grows automatically with the data rate (dynamic
    /// right-sizing, as in Linux). `None` keeps `buffer`.
    pub buffer_max: Option<u64>,
    /// With `buffer_max`: the offered window starts at 64 KiB and grows by two bytes per byte
    /// received up to the whole buffer. The buffer has additional room for out-of-order data, as in
    /// Linux since 6.16. If false, the whole buffer is offered at once.
    pub gradual_window: bool,
    /// Window scale (RFC 7323, 2).
    pub window_scale: WindowScale,
    /// Keeps out-of-order segments. If false they are dropped, as RFC 793 allows.
    pub reassembly: bool,
    /// SACK (RFC 2018): offers the option, and sends SACK blocks.
    pub sack: bool,
    /// D-SACK (RFC 2883): reports duplicates in the first SACK block. Needs `sack`.
    pub dsack: bool,
    /// SNACK (CCSDS 714.0-B): offers the option, and sends SNACKs. Excludes `sack`.
    pub snack: SnackForm,
    /// Rule for delayed ACKs.
    pub delayed_ack: DelayedAck,
    /// Delays the ACK of a segment that fills all or part of a hole like the ACK of in-order data.
    /// RFC 5681, 4.2, requires an immediate ACK.
    pub delay_gap_fill: bool,
    /// Delays the ACK of a segment above a hole, or of a duplicate, like the ACK of in-order data.
    /// RFC 5681, 4.2, requires an immediate ACK.
    pub delay_dup_acks: bool,
    /// Reply to dummy segments.
    pub dummies: DummyReply,
    /// Time that a segment waits for the one after it, to be joined with it (GRO); `None` joins no
    /// segments.
    pub gro: Option<Interval>,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            buffer: 65_535,
            buffer_max: None,
            gradual_window: false,
            window_scale: WindowScale::Auto,
            reassembly: true,
            sack: true,
            dsack: false,
            snack: SnackForm::Off,
            delayed_ack: DelayedAck::default(),
            delay_gap_fill: false,
            delay_dup_acks: false,
            dummies: DummyReply::Echo,
            gro: None,
        }
    }
}

/// Forms of the SNACK option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnackForm {
    /// Not offered.
    Off,
    /// One hole per ACK.
    Short,
    /// One hole, and a bit vector of the data above it.
    Long,
}

/// Receiver's reply to dummy segments (Akyildiz, Morabito, Palazzo 2001).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DummyReply {
    /// ACK with the mark and the class of the dummy.
    Echo,
    /// No reply.
    Ignore,
    /// ACK as for duplicate data, from a receiver that does not support dummies.
    Plain,
}

impl ReceiverConfig {
    /// Returns the largest window in bytes that can ever be offered.
    pub fn largest_window(&self) -> u64 {
        self.buffer.max(self.buffer_max.unwrap_or(0))
    }
}

/// TCP ACK Rate Request (draft-ietf-tcpm-ack-rate-request).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckRate {
    /// Not offered.
    Off,
    /// Offered, and the peer's requests are followed.
    Follow,
    /// As `Follow`, and an ACK for this many full-sized segments is requested.
    Request(u8),
}

/// Scaling of the window field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowScale {
    /// Not offered.
    Off,
    /// Offers the smallest shift with which the whole buffer can be advertised; offers no scaling
    /// if that shift is zero.
    Auto,
    /// Offers this shift (0 to 14).
    Shift(u8),
}

/// Delayed acknowledgment (RFC 9293, 3.8.6.3; RFC 5681, 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayedAck {
    /// Maximum delay of an ACK; zero acknowledges at once.
    pub max_delay: Interval,
    /// Number of full-sized segments after which an ACK is sent.
    pub every: u32,
    /// Heartbeat: delayed ACKs are sent on multiples of `max_delay`, as by the BSD fast timer,
    /// instead of `max_delay` after the segment.
    pub heartbeat: bool,
    /// Number of ACKs of data at the start that are sent at once. Later, ACKs of segments that grow
    /// the window ([`ReceiverConfig::gradual_window`]) are sent at once too, as in Linux.
    pub quick: u32,
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self {
            max_delay: Interval::from_millis(200),
            every: 2,
            heartbeat: false,
            quick: 0,
        }
    }
}

impl DelayedAck {
    /// Acknowledges every segment at once.
    pub const OFF: Self = Self {
        max_delay: Interval::ZERO,
        every: 1,
        heartbeat: false,
        quick: 0,
    };
}
