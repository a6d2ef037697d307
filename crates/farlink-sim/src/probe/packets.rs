//! Log of packets: a row for each packet and link direction, and the reason of each packet.

use super::order::{Piece, Ties};
use super::tables::Crossed;
use farlink_channel::DropCause;
use farlink_tcp::{Instant, Reason};
use farlink_wire::{ById, PacketId};

/// Value of a column without a time.
const NEVER: u64 = u64::MAX;

/// Rows of the table `packets`, and the packets in the network.
#[derive(Debug, Default)]
pub(crate) struct PacketLog {
    rows: Vec<Crossed>,
    /// State of each packet in the network, indexed by its number, which is reused.
    known: ById<PacketId, Known>,
    /// Number of packets so far.
    count: u32,
}

/// Packet in the network.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Number in the table.
    number: u32,
    reason: Reason,
    retransmission: bool,
    /// Index of its latest row, once a link was offered the packet.
    row: Option<usize>,
}

impl PacketLog {
    /// Notes a packet that an end, an agent or a node has made.
    pub(crate) fn made(&mut self, packet: PacketId, (reason, retransmission): (Reason, bool)) {
        let known = Known {
            number: self.count,
            reason,
            retransmission,
            row: None,
        };
        self.count += 1;
        *self.known_mut(packet) = known;
    }

    /// Notes a part or a copy of a packet, which has the number of the whole. A copy that a link
    /// made gets a row of its own.
    pub(crate) fn copied(&mut self, of: PacketId, copy: PacketId, on_link: bool) {
        let mut known = *self.known_mut(of);
        known.row = known.row.filter(|_| on_link).map(|row| {
            self.rows.push(self.rows[row]);
            self.rows.len() - 1
        });
        *self.known_mut(copy) = known;
    }

    /// Adds a row for a packet that is offered to a link.
    pub(crate) fn offered(&mut self, packet: PacketId, row: Crossed) {
        let known = *self.known_mut(packet);
        self.rows.push(Crossed {
            number: known.number,
            reason: known.reason as u8,
            retransmission: known.retransmission.into(),
            departure: NEVER,
            transmissions: 0,
            arrival: NEVER,
            lost: NEVER,
            cause: u8::MAX,
            ..row
        });
        let row = self.rows.len() - 1;
        self.known_mut(packet).row = Some(row);
    }

    /// Notes that the transmission of a packet began at `at`, the first or a further one.
    pub(crate) fn began(&mut self, packet: PacketId, at: Instant) {
        if let Some(row) = self.row_mut(packet) {
            row.transmissions = row.transmissions.saturating_add(1);
            row.departure = row.departure.min(at.as_nanos());
        }
    }

    /// Notes that a packet arrived at the far end of its link.
    pub(crate) fn arrived(&mut self, packet: PacketId, at: Instant) {
        if let Some(row) = self.row_mut(packet) {
            row.arrival = at.as_nanos();
        }
    }

    /// Notes a loss of a packet on its link, or behind the link.
    pub(crate) fn lost(&mut self, packet: PacketId, at: Instant, cause: DropCause) {
        if let Some(row) = self.row_mut(packet) {
            row.arrival = NEVER;
            row.lost = at.as_nanos();
            row.cause = cause as u8;
        }
    }

    /// Returns the table.
    pub(super) fn into_piece(self) -> Piece {
        Piece::of(self.rows, Ties::Kept)
    }

    fn row_mut(&mut self, packet: PacketId) -> Option<&mut Crossed> {
        let row = self.known.get(packet)?.row?;
        self.rows.get_mut(row)
    }

    fn known_mut(&mut self, packet: PacketId) -> &mut Known {
        while self.known.get(packet).is_none() {
            self.known.push(Known::default());
        }
        &mut self.known[packet]
    }
}
