//! The receiving side: buffer, window, acknowledgments.

use crate::time::Interval;

/// The receiving side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverConfig {
    /// Bytes the receive buffer holds: the largest window offered.
    pub buffer: u64,
    /// Bytes that the buffer may grow to by itself, as the data comes (dynamic
    /// right-sizing, as Linux does); `None` for a buffer that stays as it is.
    pub buffer_max: Option<u64>,
    /// Beside `buffer_max`: the window begins at 64 KiB and opens by two bytes for
    /// each that comes until it is the whole buffer, which is made for what is out
    /// of order besides, as in Linux since 6.16. Without, the whole buffer is offered.
    pub gradual_window: bool,
    /// Window scale (RFC 7323, 2).
    pub window_scale: WindowScale,
    /// Set if segments out of order are kept. Without it they are dropped, as RFC 793 allows.
    pub reassembly: bool,
    /// SACK (RFC 2018): offered by both sides, and sent by this one.
    pub sack: bool,
    /// Duplicates are reported in the first SACK block (D-SACK, RFC 2883). Needs
    /// `sack`.
    pub dsack: bool,
    /// SNACK (CCSDS 714.0-B): offered by both sides, and sent by this one. Not
    /// beside `sack`.
    pub snack: SnackForm,
    /// Rule for delayed ACKs.
    pub delayed_ack: DelayedAck,
    /// Set if a segment that fills all or part of a hole is acknowledged like data in order, not at
    /// once, in spite of RFC 5681, 4.2.
    pub delay_gap_fill: bool,
    /// Set if a segment that shows a hole, or that arrived before, is acknowledged like data in
    /// order, not at once, in spite of RFC 5681, 4.2.
    pub delay_dup_acks: bool,
    /// Reply to the dummy segments of a peer.
    pub dummies: DummyReply,
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
        }
    }
}

/// Forms of the SNACK option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnackForm {
    /// Not offered.
    Off,
    /// One hole for each ACK.
    Short,
    /// A hole and a bit vector of the data behind it.
    Long,
}

/// Reply of a receiver to dummy segments (Akyildiz, Morabito, Palazzo 2001).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DummyReply {
    /// An ACK with the mark and the class of the dummy.
    Echo,
    /// Nothing.
    Ignore,
    /// Dummies are unknown: they count as duplicate data, and are acknowledged so.
    Plain,
}

impl ReceiverConfig {
    /// Most bytes that the window can ever be.
    pub fn largest_window(&self) -> u64 {
        self.buffer.max(self.buffer_max.unwrap_or(0))
    }
}

/// Scaling of the window field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowScale {
    /// Not offered.
    Off,
    /// Offered with the least shift that lets the buffer be advertised whole;
    /// not offered when that is zero.
    Auto,
    /// Offered with this shift (0 to 14).
    Shift(u8),
}

/// Delayed acknowledgment (RFC 9293, 3.8.6.3; RFC 5681, 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayedAck {
    /// Longest time an ACK waits; zero acknowledges at once.
    pub max_delay: Interval,
    /// An ACK is sent when this many full-sized segments wait for one.
    pub every: u32,
    /// Heartbeat: the ACK leaves on the next multiple of `max_delay`, as the
    /// BSD fast timer did, instead of `max_delay` after the segment.
    pub heartbeat: bool,
    /// The first so many ACKs of data leave at once, and those after them of segments
    /// that open the window ([`ReceiverConfig::gradual_window`]), as in Linux.
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
    /// Every segment at once.
    pub const OFF: Self = Self {
        max_delay: Interval::ZERO,
        every: 1,
        heartbeat: false,
        quick: 0,
    };
}
