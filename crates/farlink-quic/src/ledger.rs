//! Ledger of what an end has sent: positions of data, ACKs and losses, for traces and logs.
//!
//! The data of all streams has one row of positions, in the order in which it is first sent. With one
//! stream a position is the offset in the stream.

use crate::frames::Frame;
use crate::tap::{Plain, Space};
use std::collections::BTreeMap;
use std::ops::Range;

/// Change of the data that an end has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Data left in a packet.
    Sent {
        /// Position of the first byte.
        seq: u64,
        /// Number of bytes.
        len: u32,
        /// Set if the data was sent before.
        again: bool,
    },
    /// An ACK arrived.
    Acked {
        /// Position up to which all data is acknowledged.
        ack: u64,
        /// Bytes beyond `ack` that the peer's flow control allows.
        window: u64,
    },
    /// Data beyond a gap was acknowledged.
    Beyond {
        /// Position of the first byte.
        left: u64,
        /// Position behind the last byte.
        right: u64,
    },
}

/// A packet that is declared lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lost {
    pub(crate) space: Space,
    pub(crate) number: u64,
    /// Set if a packet sent long after it was acknowledged, else the time decided.
    pub(crate) by_reordering: bool,
}

/// Packets beyond a missing one at which quinn-proto declares the loss (RFC 9002, 6.1.1).
const REORDERING_THRESHOLD: u64 = 3;

/// A stream with data of this end.
#[derive(Debug, Default)]
struct Stream {
    /// Offset of the next new byte.
    sent: u64,
    /// Limit of the offsets.
    limit: u64,
    /// Set once the last byte was sent.
    ended: bool,
    /// Offset, length and position of each part, in the order of the offsets.
    parts: Vec<(u64, u64, u64)>,
}

/// Packets of one number space without acknowledgment.
#[derive(Debug, Default)]
struct Packets {
    open: BTreeMap<u64, Sent>,
    largest_acked: Option<u64>,
}

/// A packet of [`Packets`].
#[derive(Debug)]
struct Sent {
    space: Space,
    /// Positions of its data.
    data: Vec<Range<u64>>,
    /// Set for a search for the MTU, whose loss does not count.
    is_probe: bool,
}

/// Ledger of an end.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Position of the next new byte.
    next: u64,
    /// Position up to which all data is acknowledged.
    acked: u64,
    /// Acknowledged data beyond a gap, from and to.
    beyond: BTreeMap<u64, u64>,
    streams: BTreeMap<u64, Stream>,
    /// Limit of a stream without another.
    stream_limit: u64,
    /// Position behind the last byte that the limit of the connection allows.
    limit: u64,
    /// Position of the first byte of the connection.
    base: u64,
    /// Largest position that flow control allowed.
    edge: u64,
    /// Packets of Initial, Handshake and application data.
    packets: [Packets; 3],
    progress: Vec<Progress>,
}

fn index(space: Space) -> usize {
    match space {
        Space::Initial => 0,
        Space::Handshake => 1,
        Space::Early | Space::Data => 2,
    }
}

impl Ledger {
    /// Creates the ledger of a connection whose first byte has position `base`. A peer with the
    /// window `window` allows as much on each stream and in all.
    pub(crate) fn new(base: u64, (stream, all): (u64, u64)) -> Self {
        Self {
            next: base,
            acked: base,
            beyond: BTreeMap::new(),
            streams: BTreeMap::new(),
            stream_limit: stream,
            limit: base.saturating_add(all),
            base,
            edge: base,
            packets: Default::default(),
            progress: Vec::new(),
        }
    }

    /// Returns the position of the next new byte.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Returns what has changed since the last call.
    pub(crate) fn take(&mut self) -> Vec<Progress> {
        std::mem::take(&mut self.progress)
    }

    /// Adds a packet. `mtu` is the length of the largest datagram that is known to arrive.
    pub(crate) fn add(&mut self, packet: &Plain, mtu: u16) {
        if packet.sent {
            self.sent(packet, mtu);
            return;
        }
        for frame in &packet.frames {
            match frame {
                Frame::Ack { ranges, .. } => self.ack(packet.space, ranges),
                Frame::MaxData(max) => {
                    self.limit = self.limit.max(self.base.saturating_add(*max));
                }
                Frame::MaxStreamData { id, max } => {
                    let first = self.stream_limit;
                    let stream = self.streams.entry(*id).or_default();
                    stream.limit = stream.limit.max(first).max(*max);
                }
                // Both ends discard the earlier keys, and with them what is in flight.
                Frame::Other("handshake_done", _) => {
                    self.packets[..2]
                        .iter_mut()
                        .for_each(|p| *p = Packets::default());
                }
                _ => {}
            }
        }
    }

    fn sent(&mut self, packet: &Plain, mtu: u16) {
        // The packets that close a connection are not tracked.
        let closes = |frame: &Frame| matches!(frame, Frame::Close { .. });
        if packet.frames.iter().any(closes) {
            return;
        }
        let mut data = Vec::new();
        for frame in &packet.frames {
            if let Frame::Stream {
                id,
                offset,
                len,
                fin,
            } = *frame
            {
                self.stream_sent(id, offset..offset + len, fin, &mut data);
            }
        }
        let sent = Sent {
            space: packet.space,
            data,
            is_probe: packet.len > usize::from(mtu),
        };
        self.packets[index(packet.space)]
            .open
            .insert(packet.number, sent);
    }

    fn stream_sent(&mut self, id: u64, range: Range<u64>, fin: bool, data: &mut Vec<Range<u64>>) {
        let first = self.stream_limit;
        let stream = self.streams.entry(id).or_default();
        stream.limit = stream.limit.max(first);
        stream.ended |= fin;
        let before = data.len();
        let old = stream
            .parts
            .partition_point(|part| part.0 + part.1 <= range.start);
        for &(offset, len, position) in &stream.parts[old..] {
            let (from, to) = (range.start.max(offset), range.end.min(offset + len));
            if from < to {
                data.push(position + from - offset..position + to - offset);
            }
        }
        for old in &data[before..] {
            self.progress.push(Progress::Sent {
                seq: old.start,
                len: (old.end - old.start) as u32,
                again: true,
            });
        }
        if range.end > stream.sent {
            let len = range.end - stream.sent;
            match stream.parts.last_mut() {
                Some(part) if part.2 + part.1 == self.next => part.1 += len,
                _ => stream.parts.push((stream.sent, len, self.next)),
            }
            stream.sent = range.end;
            data.push(self.next..self.next + len);
            self.progress.push(Progress::Sent {
                seq: self.next,
                len: len as u32,
                again: false,
            });
            self.next += len;
        }
    }

    fn ack(&mut self, space: Space, ranges: &[(u64, u64)]) {
        let packets = &mut self.packets[index(space)];
        packets.largest_acked = packets
            .largest_acked
            .max(ranges.first().map(|range| range.1));
        let mut data = Vec::new();
        // The lowest numbers come last in the frame.
        for &(low, high) in ranges.iter().rev() {
            let numbers: Vec<u64> = packets.open.range(low..=high).map(|sent| *sent.0).collect();
            for number in numbers {
                data.extend(
                    packets
                        .open
                        .remove(&number)
                        .into_iter()
                        .flat_map(|p| p.data),
                );
            }
        }
        let carries = !data.is_empty();
        let mut blocks: Vec<Range<u64>> = Vec::new();
        for part in data {
            match blocks.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => blocks.push(part),
            }
        }
        for block in &blocks {
            self.mark(block);
        }
        for Range { start, end } in blocks {
            if end > self.acked {
                let left = start.max(self.acked);
                self.progress.push(Progress::Beyond { left, right: end });
            }
        }
        if carries {
            self.edge = self.edge.max(self.edge());
            let (ack, window) = (self.acked, self.edge - self.acked);
            self.progress.push(Progress::Acked { ack, window });
        }
    }

    /// Marks data as acknowledged.
    fn mark(&mut self, block: &Range<u64>) {
        let end = self.beyond.entry(block.start).or_default();
        *end = block.end.max(*end);
        while let Some(first) = self.beyond.first_entry()
            && *first.key() <= self.acked
        {
            self.acked = self.acked.max(first.remove());
        }
    }

    /// Returns the position behind the last byte that flow control allows.
    fn edge(&self) -> u64 {
        let open = self.streams.values().filter(|stream| !stream.ended);
        let credit = open.map(|stream| stream.limit.saturating_sub(stream.sent));
        let streams = credit.fold(self.next, u64::saturating_add);
        streams.min(self.limit)
    }

    /// Returns the next packet that is lost, if `quinn-proto` says that one is: the lowest number
    /// without acknowledgment.
    pub(crate) fn lose(&mut self) -> Option<Lost> {
        self.packets.iter_mut().find_map(|packets| {
            let largest = packets.largest_acked?;
            let mut old = packets.open.range(..largest);
            let (&number, sent) = old.find(|sent| !sent.1.is_probe)?;
            let space = sent.space;
            packets.open.remove(&number);
            Some(Lost {
                space,
                number,
                by_reordering: largest >= number + REORDERING_THRESHOLD,
            })
        })
    }

    /// Returns the largest numbers of packets with application data that were acknowledged, and sent
    /// without acknowledgment.
    pub(crate) fn largest(&self) -> (Option<u64>, Option<u64>) {
        let packets = &self.packets[2];
        let sent = packets.open.last_key_value().map(|sent| *sent.0);
        (packets.largest_acked, sent.max(packets.largest_acked))
    }
}
