//! Header compression for one direction of a link. Headers are compressed before the queue and
//! decompressed at the far end, in the order of arrival.
//!
//! The framing has a check sequence (RFC 1144, 4.1), by which the decompressor detects and discards
//! a damaged frame. The decompressor gets no sign of a frame that is lost entirely.

use farlink_channel::DropCause;
use farlink_tcp::Instant;
use farlink_wire::id::{Id, PacketId};
use farlink_wire::packet::{Ip, Packet, Payload};
use farlink_wire::rfc1144::{
    Compressor, Config, Decompressor, Discarded, Form, Plan, header_len, header_sum,
    same_connection,
};
use farlink_wire::{Addresses, encode_prefix, write_headers};
use std::collections::VecDeque;

/// Counters of header compression in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompressionStats {
    /// Packets sent with compressed headers.
    pub compressed: u64,
    /// Packets sent with full headers, which set their connection's state at the decompressor.
    pub uncompressed: u64,
    /// Packets sent unchanged as IP: no TCP, fragments, SYN, FIN, RST. On a link with a class for
    /// low-priority packets, those are sent as IP too.
    pub ip: u64,
    /// Bytes saved by compression.
    pub saved: u64,
    /// Packets that the decompressor discarded because of an earlier damaged frame or because their
    /// connection was unknown.
    pub tossed: u64,
    /// Packets whose decompressed headers differ from the original ones.
    pub wrong: u64,
}

/// Fate of a packet at the far end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restored {
    /// Forwarded with the decompressed headers. Wrong headers are detected by the packet's
    /// checksum; a simulated packet is marked corrupt.
    Forwarded,
    /// Discarded by the decompressor.
    Discarded,
}

/// Compressed form of a packet on the link.
#[derive(Clone, Debug)]
struct SentForm {
    form: Form,
    /// Set if the channel changed bits of the frame.
    damaged: bool,
}

/// State of header compression for one direction of a link. Packets are identified by their packet
/// numbers.
#[derive(Debug)]
pub struct Compression {
    compressor: Compressor,
    decompressor: Decompressor,
    /// Last transmission of each packet.
    sent: Vec<SentForm>,
    /// Headers of the current packet.
    header: Vec<u8>,
    plan: Plan,
    saving: u32,
    /// Arrival times of damaged frames.
    errors: VecDeque<Instant>,
    stats: CompressionStats,
}

/// Writes the headers of a packet to `out`. Returns false unless the packet is unfragmented TCP
/// over IPv4.
fn headers(packet: &Packet, out: &mut Vec<u8>) -> bool {
    out.clear();
    match &packet.payload {
        Payload::Tcp(segment) if packet.piece.is_none() && packet.ip != Ip::V6 => {
            let len = packet.ip_len() - segment.body.len();
            encode_prefix(packet, Addresses::of(packet), len, out).is_ok()
        }
        Payload::Raw(raw) => header_len(raw.bytes())
            .map(|len| out.extend_from_slice(&raw.bytes()[..len]))
            .is_some(),
        Payload::Tcp(_) | Payload::Udp(_) => false,
    }
}

impl Compression {
    /// Creates the state of an unused direction.
    pub fn new(config: Config) -> Self {
        Self {
            compressor: Compressor::new(config),
            decompressor: Decompressor::new(config),
            sent: Vec::new(),
            header: Vec::new(),
            plan: Plan::IP,
            saving: 0,
            errors: VecDeque::new(),
            stats: CompressionStats::default(),
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> &CompressionStats {
        &self.stats
    }

    /// Returns the length that the packet will have on the link if sent next. With `in_turn` false
    /// other packets may be sent before it. Its headers then stay uncompressed, because the
    /// difference to the previous header would be outdated.
    pub fn prepare(&mut self, packet: &Packet, in_turn: bool) -> u32 {
        self.plan = if in_turn && headers(packet, &mut self.header) {
            self.compressor.plan(&self.header)
        } else {
            Plan::IP
        };
        self.saving = match &self.plan.form {
            Form::Compressed(bytes) => (self.header.len() - bytes.len()) as u32,
            Form::Ip | Form::Uncompressed(_) => 0,
        };
        packet.ip_len() - self.saving
    }

    /// Records that the link accepted the packet prepared last.
    pub fn commit(&mut self, number: PacketId) {
        self.compressor.sent(&self.header, &self.plan);
        match self.plan.form {
            Form::Ip => self.stats.ip += 1,
            Form::Uncompressed(_) => self.stats.uncompressed += 1,
            Form::Compressed(_) => self.stats.compressed += 1,
        }
        self.stats.saved += u64::from(self.saving);
        let sent = SentForm {
            form: self.plan.form.clone(),
            damaged: false,
        };
        self.keep(number, sent);
    }

    fn keep(&mut self, number: PacketId, sent: SentForm) {
        let place = number.index();
        if place >= self.sent.len() {
            let nothing = SentForm {
                form: Form::Ip,
                damaged: false,
            };
            self.sent.resize(place + 1, nothing);
        }
        self.sent[place] = sent;
    }

    /// Records that the channel duplicated a packet.
    pub fn on_duplicate(&mut self, number: PacketId, copy: PacketId) {
        let sent = self.sent[number.index()].clone();
        self.keep(copy, sent);
    }

    /// Records that the channel changed bits of a packet's frame.
    pub fn on_damage(&mut self, number: PacketId) {
        self.sent[number.index()].damaged = true;
    }

    /// Records the loss of a packet; a damaged frame still arrives at `at`.
    pub fn on_loss(&mut self, now: Instant, cause: DropCause, at: Instant) {
        // Only a frame with bit errors arrives, and its check sequence reveals the damage. The
        // decompressor does not notice other losses.
        if !matches!(cause, DropCause::BitError | DropCause::Checksum) {
            return;
        }
        // No packet arrives any more between the first two errors, so the first error has no
        // further effect.
        while self.errors.len() > 1 && self.errors[1] < now {
            self.errors.pop_front();
        }
        self.errors.push_back(at);
    }

    /// Gives an arriving packet the headers that the decompressor computes.
    pub fn restore(&mut self, now: Instant, number: PacketId, packet: &mut Packet) -> Restored {
        while self.errors.front().is_some_and(|&at| at <= now) {
            self.errors.pop_front();
            self.decompressor.error();
        }
        let sent = &self.sent[number.index()];
        if sent.damaged {
            self.decompressor.error();
            return Restored::Discarded;
        }
        let slot = match &sent.form {
            Form::Ip => return Restored::Forwarded,
            Form::Uncompressed(slot) => *slot,
            Form::Compressed(bytes) => {
                if !headers(packet, &mut self.header) {
                    return Restored::Forwarded; // a compressed packet has headers
                }
                let data = packet.ip_len() - self.header.len() as u32;
                return match self.decompressor.compressed(bytes, data) {
                    Ok(header) => {
                        if header != self.header {
                            self.stats.wrong += 1;
                            set_wrong(packet, &self.header, header);
                        }
                        Restored::Forwarded
                    }
                    Err(Discarded::Tossed | Discarded::Unknown) => {
                        self.stats.tossed += 1;
                        Restored::Discarded
                    }
                };
            }
        };
        if headers(packet, &mut self.header) {
            self.decompressor.uncompressed(slot, &self.header);
        }
        Restored::Forwarded
    }
}

/// Replaces the headers of a packet by wrong ones.
#[cold]
fn set_wrong(packet: &mut Packet, own: &[u8], header: &[u8]) {
    match &mut packet.payload {
        // A raw packet carries the wrong header bytes, and its own checksum reveals them.
        Payload::Raw(raw) => raw.set_headers(own.len(), header),
        // With the headers of another connection the packet would reach a wrong host or port, which
        // would refuse it. The simulation marks the packet corrupt instead.
        _ if !same_connection(own, header) => packet.corrupt = true,
        _ => {
            packet.corrupt |= header_sum(header) != header_sum(own);
            write_headers(packet, header);
        }
    }
}

#[cfg(test)]
mod tests;
