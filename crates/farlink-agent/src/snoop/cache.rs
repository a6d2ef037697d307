//! Cache of data that passed to the wireless side and is not acknowledged.

use farlink_tcp::{Instant, Seq};
use farlink_wire::packet::Packet;
use std::collections::VecDeque;

/// Cached data packet.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) start: Seq,
    /// Sequence number after the last byte; a FIN counts as a byte.
    pub(super) end: Seq,
    /// Copy of the packet, if copies are kept.
    pub(super) packet: Option<Packet>,
    /// Serial number, unique in the cache.
    pub(super) serial: u32,
    /// Time at which the data last left the transmitter; `None` while the packet waits. With
    /// [`TimerStart::Arrival`](super::config::TimerStart) the time at which it was handed to the
    /// link.
    pub(super) left: Option<Instant>,
    /// Number of transmissions by the agent, including the first one for the sender.
    pub(super) sends: u32,
    /// Number of local retransmissions among them.
    pub(super) tries: u32,
    /// Time of the last retransmission or loss notice.
    pub(super) repaired: Option<Instant>,
    /// Set if the sender retransmitted the data itself, or the data filled a hole. ACKs of the data
    /// are then forwarded to the sender.
    pub(super) from_sender_again: bool,
}

/// Result of caching arrived data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// After all cached data.
    Last,
    /// Into a hole between cached data.
    Hole,
    /// Covers cached entries completely and replaces them.
    Again,
    /// Data that overlaps a cached entry without covering it; nothing is stored.
    Within,
}

/// Cached entries in sequence order, disjoint.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: VecDeque<Entry>,
    bytes: u64,
}

impl Cache {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the bytes of all cached copies.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn front(&self) -> Option<&Entry> {
        self.entries.front()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Returns the entry at a sequence number.
    pub(super) fn at(&mut self, seq: Seq) -> Option<&mut Entry> {
        let place = self.first_behind(seq);
        self.entries
            .get_mut(place)
            .filter(|entry| entry.start.diff(seq) <= 0)
    }

    /// Returns the number of cached packets after the one at a sequence number.
    pub(super) fn behind(&self, seq: Seq) -> u32 {
        (self.entries.len() - self.first_behind(seq)).saturating_sub(1) as u32
    }

    /// Returns the index of the first entry that ends after a sequence number.
    fn first_behind(&self, seq: Seq) -> usize {
        // The result is usually the first entry (for an ACK) or none (for new data).
        match (self.entries.front(), self.entries.back()) {
            (Some(first), _) if first.end.diff(seq) > 0 => 0,
            (_, Some(last)) if last.end.diff(seq) <= 0 => self.entries.len(),
            _ => self
                .entries
                .partition_point(|entry| entry.end.diff(seq) <= 0),
        }
    }

    /// Returns the entry with this serial number.
    pub(super) fn by_serial(&mut self, serial: u32) -> Option<&mut Entry> {
        let place = self.place_by_serial(serial)?;
        self.entries.get_mut(place)
    }

    fn place_by_serial(&self, serial: u32) -> Option<usize> {
        let is_it = |entry: &Entry| entry.serial == serial;
        // Serial numbers are consecutive while one connection sends in order.
        let last = self.entries.len().checked_sub(1)?;
        let behind = self.entries[last].serial.wrapping_sub(serial) as usize;
        let likely = last.checked_sub(behind);
        likely
            .filter(|&place| is_it(&self.entries[place]))
            .or_else(|| self.entries.iter().position(is_it))
    }

    /// Classifies data by its position in the cache.
    pub(super) fn place_of(&self, start: Seq, end: Seq) -> Place {
        match self.entries.back() {
            None => return Place::Last,
            Some(last) if start.diff(last.end) >= 0 => return Place::Last,
            Some(_) => {}
        }
        let mut touched = self.entries.range(self.first_behind(start)..);
        let mut touched = touched
            .by_ref()
            .take_while(|entry| entry.start.diff(end) < 0)
            .peekable();
        if touched.peek().is_none() {
            return Place::Hole;
        }
        let covers = |entry: &Entry| start.diff(entry.start) <= 0 && end.diff(entry.end) >= 0;
        if touched.all(covers) {
            Place::Again
        } else {
            Place::Within
        }
    }

    /// Inserts an entry in place of the entries that it covers.
    pub(super) fn insert(&mut self, entry: Entry) {
        let from = self.first_behind(entry.start);
        while self
            .entries
            .get(from)
            .is_some_and(|old| old.start.diff(entry.end) < 0)
        {
            self.remove_at(from);
        }
        self.bytes += size(&entry);
        if from == self.entries.len() {
            self.entries.push_back(entry);
        } else {
            self.entries.insert(from, entry);
        }
    }

    /// Returns the entries that share a byte with this data.
    pub(super) fn touched(&mut self, start: Seq, end: Seq) -> impl Iterator<Item = &mut Entry> {
        let from = self.first_behind(start);
        self.entries
            .range_mut(from..)
            .take_while(move |entry| entry.start.diff(end) < 0)
    }

    /// Removes all entries that end at or before a number.
    pub(super) fn free(&mut self, acked: Seq) {
        let is_acked = |entry: &Entry| entry.end.diff(acked) <= 0;
        let count = self.entries.iter().take_while(|e| is_acked(e)).count();
        self.bytes -= self.entries.range(..count).map(size).sum::<u64>();
        // Entries are dropped in place, because they are too large to move for nothing.
        self.entries.drain(..count);
    }

    /// Removes the entry with this serial number.
    pub(super) fn remove(&mut self, serial: u32) {
        if let Some(place) = self.place_by_serial(serial) {
            self.remove_at(place);
        }
    }

    fn remove_at(&mut self, place: usize) {
        let entry = self.entries.remove(place);
        self.bytes -= entry.as_ref().map_or(0, size);
    }

    /// Returns the end of the contiguous cached data that begins at a sequence number, if any.
    pub(super) fn run_from(&self, start: Seq) -> Option<Seq> {
        let mut end = None;
        let from = self.first_behind(start);
        for entry in self.entries.range(from..) {
            if entry.start.diff(end.unwrap_or(start)) > 0 {
                break;
            }
            end = Some(entry.end);
        }
        end
    }
}

/// Returns the size of a copy in bytes.
fn size(entry: &Entry) -> u64 {
    entry
        .packet
        .as_ref()
        .map_or(0, |packet| u64::from(packet.ip_len()))
}
