//! Events and counters of a connection's ends, for the event loop.

use farlink_tcp::Interval;

/// Value of a counter that the implementation does not count.
pub(crate) const UNCOUNTED: u64 = u64::MAX;

/// Datagram to send: its bytes, its ECN field, and whether it carries data of the stream.
pub(crate) type Sending = (Vec<u8>, u8, bool);

/// State of the data sender that traces show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Seen {
    /// Window of the congestion control in bytes.
    pub(crate) window: u64,
    /// Threshold of slow start in bytes; `u64::MAX` for none.
    pub(crate) ssthresh: u64,
    /// Bytes in flight after the latest acknowledgment.
    pub(crate) in_flight: u64,
    /// Smoothed round-trip time.
    pub(crate) srtt: Interval,
    /// Number of round-trip samples.
    pub(crate) samples: u64,
    /// Latest round-trip sample.
    pub(crate) sample: Interval,
}

/// Change of the data that an end has sent, by positions in the data of all streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "quic"), allow(dead_code))]
pub(crate) enum Progress {
    /// Data left, for the first time or again.
    Sent { seq: u64, len: u32, again: bool },
    /// Acknowledgment of all data before `ack`; flow control allows `window` bytes beyond.
    Acked { ack: u64, window: u64 },
    /// Data beyond a gap is acknowledged.
    Beyond { left: u64, right: u64 },
}

/// Event of the connection of pages. Requests have the numbers of their streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "quic"), allow(dead_code))]
pub(crate) enum Happened {
    /// The client may send requests.
    Connected,
    /// The server has the whole request.
    Request(u64),
    /// The client has the whole object.
    Answer(u64),
}
