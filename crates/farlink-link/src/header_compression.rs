//! Header compression on one direction of a link: packets become short in front of
//! the queue and long again at the far end, which works on what arrives in the
//! order in which it arrives.
//!
//! The framing has a check sequence, as RFC 1144 (4.1) asks for: a damaged frame is
//! thrown away, and the far end knows that there was one. A frame that vanished it
//! does not know of.

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

/// Counters of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompressionStats {
    /// Packets that went with compressed headers.
    pub compressed: u64,
    /// Packets that went whole and set what is remembered of their connection.
    pub uncompressed: u64,
    /// Packets that went as they were: no TCP, fragments, SYN, FIN and RST, and what
    /// has low priority on a link with a class for it.
    pub ip: u64,
    /// Bytes that did not have to be sent.
    pub saved: u64,
    /// Packets that were thrown away at the far end, because a damaged frame came
    /// before them or nothing was known of their connection.
    pub tossed: u64,
    /// Packets whose headers came out as others than were sent.
    pub wrong: u64,
}

/// Fate of a packet at the far end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restored {
    /// Forwarded with the decompressed headers. If these are wrong, a checksum shows it: the
    /// packet's own, or the mark of a damaged packet.
    GoesOn,
    /// Discarded.
    Discarded,
}

/// A packet on the link.
#[derive(Clone, Debug)]
struct Sent {
    form: Form,
    /// Set if the channel changed bits of the frame.
    damaged: bool,
}

/// State of header compression for one direction of a link. Packets are identified by the numbers
/// that their owner gave them.
#[derive(Debug)]
pub struct Compression {
    compressor: Compressor,
    decompressor: Decompressor,
    /// Last transmission of each packet.
    sent: Vec<Sent>,
    /// The headers of the packet that is at hand.
    header: Vec<u8>,
    plan: Plan,
    saving: u32,
    /// Arrival times of damaged frames.
    errors: VecDeque<Instant>,
    stats: CompressionStats,
}

/// The headers of a packet as bytes, if they are of IPv4 and TCP and whole.
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
    /// A direction that nothing has crossed.
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

    /// Counters.
    pub fn stats(&self) -> &CompressionStats {
        &self.stats
    }

    /// Bytes that a packet will have on the link, if it goes next. One that may not
    /// be the next (`in_turn`) goes as it is, because what it says of its connection
    /// would be out of date.
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

    /// The link takes the packet that was prepared last.
    pub fn commit(&mut self, number: PacketId) {
        self.compressor.sent(&self.header, &self.plan);
        match self.plan.form {
            Form::Ip => self.stats.ip += 1,
            Form::Uncompressed(_) => self.stats.uncompressed += 1,
            Form::Compressed(_) => self.stats.compressed += 1,
        }
        self.stats.saved += u64::from(self.saving);
        let sent = Sent {
            form: self.plan.form.clone(),
            damaged: false,
        };
        self.keep(number, sent);
    }

    fn keep(&mut self, number: PacketId, sent: Sent) {
        let place = number.index();
        if place >= self.sent.len() {
            let nothing = Sent {
                form: Form::Ip,
                damaged: false,
            };
            self.sent.resize(place + 1, nothing);
        }
        self.sent[place] = sent;
    }

    /// The channel made a second packet of one.
    pub fn copied(&mut self, number: PacketId, copy: PacketId) {
        let sent = self.sent[number.index()].clone();
        self.keep(copy, sent);
    }

    /// The channel changed bits of a packet's frame.
    pub fn damaged(&mut self, number: PacketId) {
        self.sent[number.index()].damaged = true;
    }

    /// A packet of the link was lost; what came of its frame would come at `at`.
    pub fn lost(&mut self, now: Instant, cause: DropCause, at: Instant) {
        // A frame with bit errors is there for the check sequence to tell.
        if !matches!(cause, DropCause::BitError | DropCause::Checksum) {
            return;
        }
        // Nothing comes any more that came before these.
        while self.errors.len() > 1 && self.errors[1] < now {
            self.errors.pop_front();
        }
        self.errors.push_back(at);
    }

    /// A packet is at the far end: gives it the headers that are made out there.
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
            Form::Ip => return Restored::GoesOn,
            Form::Uncompressed(slot) => *slot,
            Form::Compressed(bytes) => {
                if !headers(packet, &mut self.header) {
                    return Restored::GoesOn; // it was compressed, so it has them
                }
                let data = packet.ip_len() - self.header.len() as u32;
                return match self.decompressor.compressed(bytes, data) {
                    Ok(header) => {
                        if header != self.header {
                            self.stats.wrong += 1;
                            set_wrong(packet, &self.header, header);
                        }
                        Restored::GoesOn
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
        Restored::GoesOn
    }
}

/// Gives a packet headers that are not its own.
#[cold]
fn set_wrong(packet: &mut Packet, own: &[u8], header: &[u8]) {
    match &mut packet.payload {
        // Its bytes tell all by themselves.
        Payload::Raw(raw) => raw.set_headers(own.len(), header),
        // As if of another connection: wherever it went, it would be refused.
        _ if !same_connection(own, header) => packet.corrupt = true,
        _ => {
            packet.corrupt |= header_sum(header) != header_sum(own);
            write_headers(packet, header);
        }
    }
}

#[cfg(test)]
mod tests;
