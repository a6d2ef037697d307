//! Parameters and counters of one direction of a link.

use farlink_channel::DropCause;
use farlink_channel::fec::BlockCode;
use farlink_tcp::Interval;

/// Limit on the packets that wait in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// No limit.
    Unlimited,
    /// Number of packets.
    Packets(u32),
    /// Sum of the IP bytes of the packets.
    Bytes(u64),
}

impl QueueLimit {
    /// Returns whether a packet of `ip_len` bytes does not fit behind the waiting packets.
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
    /// Transmission rate in bit/s; unused with a rate trace.
    pub rate: u64,
    /// Propagation delay.
    pub delay: Interval,
    /// Framing bytes that each packet adds to its IP length.
    pub overhead: u32,
    /// Additional transmitter time per packet.
    pub service: Interval,
    /// Block code over each framed packet. Its check symbols take transmission time; the channel
    /// gets the length without them.
    pub fec: Option<BlockCode>,
    /// Limit of the queue.
    pub queue: QueueLimit,
    /// ECN threshold: an ECN-capable packet that would exceed this limit is marked (RFC 3168). The
    /// marking is a step, not RED. `Unlimited` marks no packets.
    pub mark: QueueLimit,
    /// Set if low-priority packets have their own class, which is sent only when no normal packet
    /// waits and is dropped first. Otherwise all packets share one class.
    pub priorities: bool,
}

impl LinkConfig {
    /// Returns parameters with a rate, a delay and an unlimited queue only.
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

    /// Returns the transmission time of a packet of `ip_len` bytes at the constant rate.
    pub fn packet_time(&self, ip_len: u32) -> Interval {
        self.sending(self.coded(ip_len + self.overhead))
    }

    /// Returns the bytes on the wire of a packet or frame of `bytes` bytes including framing.
    #[inline]
    pub fn coded(&self, bytes: u32) -> u32 {
        self.fec.map_or(bytes, |code| code.wire(bytes))
    }

    /// Returns the transmission time of `wire` bytes on the wire at the constant rate.
    #[inline(never)]
    pub(crate) fn sending(&self, wire: u32) -> Interval {
        Interval::of_bits(u64::from(wire) * 8, self.rate) + self.service
    }
}

/// Counters of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkStats {
    /// Packets that left the transmitter.
    pub packets: u64,
    /// IP bytes of these packets.
    pub bytes: u64,
    /// Nanoseconds in which the transmitter was sending. With a rate trace, nanoseconds in which it
    /// had something to send.
    pub busy: u64,
    /// Maximum number of packets that waited at once.
    pub queue_max: u64,
    /// Number of packets with an ECN mark.
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
