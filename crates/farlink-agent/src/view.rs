//! A packet as an agent sees it: one header of TCP and IP, whether simulated or bytes.

use super::crossing::{Crossing, Ends};
use farlink_tcp::{IpVersion, Segment};
use farlink_wire::id::{FlowId, NodeId};
use farlink_wire::packet::{HOST_TTL, Ip, Packet, Payload, Raw};
use farlink_wire::{Addresses, IpFields, MAX_OPTIONS_LEN, WireError};

/// A packet that crosses a node. Its headers are read when they are asked for.
#[derive(Debug)]
pub struct View<'a> {
    packet: &'a mut Packet,
    real: Real,
}

/// The headers of a packet that is bytes.
#[derive(Debug)]
enum Real {
    NotRead,
    /// Simulated packet, or nothing to be read.
    Nothing,
    Headers(IpFields, Box<Segment>),
}

impl<'a> View<'a> {
    /// The view of a packet.
    pub fn new(packet: &'a mut Packet) -> Self {
        Self {
            packet,
            real: Real::NotRead,
        }
    }

    /// The segment of TCP that it carries; of a real one the length of the body, not its
    /// bytes. `None` if an agent has nothing to read: no TCP, a fragment, encrypted, or
    /// damaged.
    pub fn segment(&mut self) -> Option<&Segment> {
        self.read();
        match (&self.real, &self.packet.payload) {
            (Real::Headers(_, segment), _) => Some(segment),
            (_, Payload::Tcp(segment)) if is_whole(self.packet) => Some(segment),
            _ => None,
        }
    }

    /// Returns the segment with the bytes of its body, if the packet has any.
    pub fn whole(&mut self) -> Option<Segment> {
        let segment = self.segment()?.clone();
        match &self.packet.payload {
            Payload::Raw(raw) => farlink_wire::decode(raw.bytes())
                .ok()
                .map(|(_, whole)| whole),
            _ => Some(segment),
        }
    }

    /// The addresses of its header.
    pub fn addresses(&mut self) -> Addresses {
        self.read();
        match &self.real {
            Real::Headers(fields, _) => fields.addresses,
            _ => Addresses::of(self.packet),
        }
    }

    /// The ends of its connection.
    pub fn ends(&mut self, crossing: Crossing) -> Option<Ends> {
        self.seen(crossing).map(|(ends, _)| ends)
    }

    /// The ends of its connection and the segment, as [`Self::segment`] gives it: read in place,
    /// since a copy for each packet that crosses would cost as much as most agents do.
    pub fn seen(&mut self, crossing: Crossing) -> Option<(Ends, &Segment)> {
        let addresses = self.addresses();
        let segment = self.segment()?;
        let from = (addresses.src, segment.src_port);
        let to = (addresses.dst, segment.dst_port);
        let ends = if crossing == Crossing::FromWireless {
            [from, to]
        } else {
            [to, from]
        };
        Some((Ends(ends), segment))
    }

    /// Returns whether the packet is a fragment of a TCP packet.
    pub fn is_fragment(&self) -> bool {
        match &self.packet.payload {
            Payload::Tcp(_) => self.packet.piece.is_some(),
            Payload::Raw(raw) => farlink_wire::is_tcp_fragment(raw.bytes()),
            Payload::Udp(_) => false,
        }
    }

    /// Returns what is needed to send a packet as this one was sent.
    pub fn path(&mut self) -> Path {
        Path {
            src: self.packet.src,
            dst: self.packet.dst,
            flow: self.packet.flow,
            from_opener: self.packet.from_opener,
            version: self.packet.ip.version(),
            addresses: self.addresses(),
            is_real: matches!(self.packet.payload, Payload::Raw(_)),
        }
    }

    /// A copy of the packet.
    pub fn copy(&self) -> Packet {
        self.packet.clone()
    }

    /// Returns the IP length.
    pub fn ip_len(&self) -> u32 {
        self.packet.ip_len()
    }

    /// Changes the header of its segment; the body, and options that are unknown here,
    /// stay. Returns whether the changed options have room; if not, nothing is changed.
    pub fn rewrite(&mut self, change: impl FnOnce(&mut Segment)) -> bool {
        let Some(old) = self.segment().cloned() else {
            return false;
        };
        let mut new = old.clone();
        change(&mut new);
        match &mut self.packet.payload {
            Payload::Tcp(segment) => {
                let fits = new.options.wire_len() <= MAX_OPTIONS_LEN;
                if fits {
                    *segment = new;
                }
                fits
            }
            Payload::Raw(raw) => {
                let written = farlink_wire::rewrite(raw, &old, &new).is_ok();
                if let (true, Real::Headers(_, segment)) = (written, &mut self.real) {
                    **segment = new;
                }
                written
            }
            Payload::Udp(_) => false,
        }
    }

    fn read(&mut self) {
        if let (Real::NotRead, Payload::Raw(raw)) = (&self.real, &self.packet.payload) {
            self.real = match farlink_wire::decode_headers(raw.bytes()) {
                Ok((fields, segment)) if is_whole(self.packet) => {
                    Real::Headers(fields, Box::new(segment))
                }
                _ => Real::Nothing,
            };
        }
    }
}

fn is_whole(packet: &Packet) -> bool {
    !packet.corrupt && packet.piece.is_none()
}

/// Sender, receiver and form of a packet: an agent sends as an end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    src: NodeId,
    dst: NodeId,
    flow: FlowId,
    from_opener: bool,
    version: IpVersion,
    addresses: Addresses,
    is_real: bool,
}

impl Path {
    /// The flow whose packets go this way.
    pub fn flow(self) -> FlowId {
        self.flow
    }

    /// Returns whether the path leads from the flow's opener to its acceptor.
    pub fn from_opener(self) -> bool {
        self.from_opener
    }

    /// The path of the other direction.
    pub fn reverse(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            from_opener: !self.from_opener,
            addresses: Addresses {
                src: self.addresses.dst,
                dst: self.addresses.src,
            },
            ..self
        }
    }

    /// The version of IP that the packets are of.
    pub fn version(self) -> IpVersion {
        self.version
    }

    /// Returns whether the packets are bytes.
    pub fn is_real(self) -> bool {
        self.is_real
    }

    /// A packet that goes this way, in the form in which the others of its connection
    /// go.
    ///
    /// # Errors
    /// If the segment has no bytes: see [`farlink_wire::encode`].
    pub fn packet(self, segment: Segment) -> Result<Packet, WireError> {
        // Of what cannot be cut the identification means nothing (RFC 6864, 4.1).
        self.form(segment, None)
    }

    /// Builds a packet with an identification, which routers may fragment if it is IPv4. An agent
    /// that sends in another's name does not learn that a packet is too long.
    ///
    /// # Errors
    /// As [`Self::packet`].
    pub fn packet_to_cut(self, segment: Segment, ident: u16) -> Result<Packet, WireError> {
        self.form(segment, Some(ident))
    }

    fn form(self, segment: Segment, ident: Option<u16>) -> Result<Packet, WireError> {
        let mut packet = Packet {
            src: self.src,
            dst: self.dst,
            flow: self.flow,
            from_opener: self.from_opener,
            ident: ident.unwrap_or_default(),
            ttl: HOST_TTL,
            corrupt: false,
            ip: Ip::new(self.version, ident.is_none()),
            piece: None,
            payload: Payload::Tcp(segment),
        };
        if self.is_real {
            let bytes = farlink_wire::encode(&packet, self.addresses)?;
            packet.payload = Payload::Raw(Raw::made(bytes));
        }
        Ok(packet)
    }
}
