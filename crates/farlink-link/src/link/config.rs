//! Parameters of one direction of a link, and what is counted of it.

use farlink_channel::DropCause;
use farlink_channel::fec::BlockCode;
use farlink_tcp::Interval;

/// Limit of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// Everything.
    Unlimited,
    /// Number of packets.
    Packets(u32),
    /// Number of bytes of IP packets.
    Bytes(u64),
}

impl QueueLimit {
    /// Returns whether a packet of `ip_len` bytes finds no room beside the waiting ones.
    #[inline]
    pub(crate) fn is_full(self, packets: u32, bytes: u64, ip_len: u32) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Packets(limit) => packets >= limit,
            Self::Bytes(limit) => bytes + u64::from(ip_len) > limit,
        }
    }
}

/// Parameters of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkConfig {
    /// Transmission rate in bit/s; not looked at where there is a trace of rates.
    pub rate: u64,
    /// Propagation delay.
    pub delay: Interval,
    /// Framing in bytes that each packet takes beyond its IP length.
    pub overhead: u32,
    /// Time of the transmitter for each packet, in addition to the time of its bits.
    pub service: Interval,
    /// Block code over each packet with its framing. Its check symbols take time
    /// of the transmitter; the channel is told the length before coding.
    pub fec: Option<BlockCode>,
    /// Limit of the queue.
    pub queue: QueueLimit,
    /// ECN-capable packets that would be dropped if this were the limit are
    /// marked (RFC 3168): a step, not RED. Unlimited marks none.
    pub mark: QueueLimit,
    /// Packets of low priority have a class of their own, which is served when
    /// nothing normal waits and dropped first; without, they are as others.
    pub priorities: bool,
}

impl LinkConfig {
    /// A direction with nothing but a rate and a delay: its queue has no end.
    pub fn plain(rate: u64, delay: Interval) -> Self {
        Self {
            rate,
            delay,
            overhead: 0,
            service: Interval::ZERO,
            fec: None,
            queue: QueueLimit::Unlimited,
            mark: QueueLimit::Unlimited,
            priorities: true,
        }
    }

    /// Bytes on the wire of a packet or frame of `bytes` with its framing.
    #[inline]
    pub fn coded(&self, bytes: u32) -> u32 {
        self.fec.map_or(bytes, |code| code.wire(bytes))
    }

    /// Returns the transmission time of this many bytes on the wire, where no rate trace gives it.
    #[inline(never)]
    pub(super) fn sending(&self, wire: u32) -> Interval {
        Interval::of_bits(u64::from(wire) * 8, self.rate) + self.service
    }
}

/// Counters of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkStats {
    /// Packets that left the transmitter.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
    /// Nanoseconds that the transmitter was sending, or, in a trace of rates, had
    /// something to send.
    pub busy: u64,
    /// Most packets that waited at once.
    pub queue_max: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets with data that left the transmitter.
    pub data: u64,
    /// Packets lost, by cause.
    pub drops: [u64; DropCause::ALL.len()],
    /// Low-priority packets among those that left.
    pub low_packets: u64,
    /// Low-priority packets among those lost, by cause.
    pub low_drops: [u64; DropCause::ALL.len()],
}
