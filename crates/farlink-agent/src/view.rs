//! View of a packet for agents: its IP and TCP headers, in one form for simulated packets and raw
//! bytes.

use super::crossing::{Crossing, Ends};
use farlink_tcp::{Body, Instant, IpVersion, Segment};
use farlink_wire::Carried;
use farlink_wire::classify::AckHeader;
use farlink_wire::id::{FlowId, NodeId};
use farlink_wire::packet::{Datagram, HOST_TTL, Ip, Packet, Payload, Raw};
use farlink_wire::{Addresses, IpFields, MAX_OPTIONS_LEN, WireError};

/// Packet that crosses a node. Its headers are decoded when they are read.
#[derive(Debug)]
pub struct View<'a> {
    packet: &'a mut Packet,
    real: Real,
}

/// Decoded headers of a raw packet.
#[derive(Debug)]
enum Real {
    NotRead,
    /// The packet is simulated, or has no readable TCP header.
    Unreadable,
    Headers(IpFields, Box<Segment>),
}

impl<'a> View<'a> {
    /// Creates a view of a packet.
    pub fn new(packet: &'a mut Packet) -> Self {
        Self {
            packet,
            real: Real::NotRead,
        }
    }

    /// Returns the packet's TCP segment; the body of a raw packet is represented by its length.
    /// Returns `None` if the packet is unreadable: not TCP, fragmented, encrypted or corrupted.
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

    /// Returns the packet of a simulated transport in a datagram with its ports, unless it is
    /// damaged or a fragment.
    pub fn pdu(&self) -> Option<(u16, u16, &Carried)> {
        match &self.packet.payload {
            Payload::Udp(datagram) if is_whole(self.packet) => {
                let pdu = datagram.carried.as_deref()?;
                Some((datagram.src_port, datagram.dst_port, pdu))
            }
            _ => None,
        }
    }

    /// Returns whether the packet is a datagram of a simulated transport.
    pub fn is_datagram(&self) -> bool {
        matches!(self.packet.payload, Payload::Udp(_))
    }

    /// Returns the ACK of the TCP header; `None` without one, and for SYNs.
    pub fn ack_header(&self) -> Option<AckHeader> {
        AckHeader::of(self.packet)
    }

    /// Returns the addresses of the IP header.
    pub fn addresses(&mut self) -> Addresses {
        self.read();
        match &self.real {
            Real::Headers(fields, _) => fields.addresses,
            _ => Addresses::of(self.packet),
        }
    }

    /// Returns the ends of the packet's connection.
    pub fn ends(&mut self, crossing: Crossing) -> Option<Ends> {
        self.ends_and_segment(crossing).map(|(ends, _)| ends)
    }

    /// Returns the ends of the connection and the segment (see [`Self::segment`]). The segment is
    /// borrowed, because a copy per packet would cost as much as most agents.
    pub fn ends_and_segment(&mut self, crossing: Crossing) -> Option<(Ends, &Segment)> {
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

    /// Returns the path of the packet, on which an agent can send further packets.
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

    /// Returns a copy of the packet.
    pub fn copy(&self) -> Packet {
        self.packet.clone()
    }

    /// Returns the IP length.
    pub fn ip_len(&self) -> u32 {
        self.packet.ip_len()
    }

    /// Changes the header of the segment; the body and unknown options stay. Returns false, and
    /// changes nothing, if the options do not fit.
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
                _ => Real::Unreadable,
            };
        }
    }
}

fn is_whole(packet: &Packet) -> bool {
    !packet.corrupt && packet.piece.is_none()
}

/// Source, destination and form of the packets that an agent sends in the name of an end.
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
    /// Returns the flow of the packets on this path.
    pub fn flow(self) -> FlowId {
        self.flow
    }

    /// Returns whether the path leads from the flow's opener to its acceptor.
    pub fn from_opener(self) -> bool {
        self.from_opener
    }

    /// Returns the path of the other direction.
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

    /// Returns the IP version of the packets.
    pub fn version(self) -> IpVersion {
        self.version
    }

    /// Returns whether the packets are raw bytes.
    pub fn is_real(self) -> bool {
        self.is_real
    }

    /// Builds a packet on this path, in the form of the connection's other packets.
    ///
    /// # Errors
    /// Fails if the segment cannot be encoded: see [`farlink_wire::encode`].
    pub fn packet(self, segment: Segment) -> Result<Packet, WireError> {
        // A packet that may not be fragmented needs no identification (RFC 6864, 4.1).
        self.form(segment, None)
    }

    /// Builds a packet with an identification, which routers may fragment if it is IPv4. An agent
    /// that sends in an end's name gets no notice of a packet that is too long.
    ///
    /// # Errors
    /// Fails in the cases of [`Self::packet`].
    pub fn packet_to_cut(self, segment: Segment, ident: u16) -> Result<Packet, WireError> {
        self.form(segment, Some(ident))
    }

    /// Builds a datagram with a packet of a simulated transport on this path, with its source and
    /// destination port.
    pub fn datagram(self, ports: (u16, u16), pdu: Carried, now: Instant, ident: u16) -> Packet {
        let datagram = Datagram {
            src_port: ports.0,
            dst_port: ports.1,
            number: ident.into(),
            sent_at: now,
            body: Body::of_len(pdu.wire_len()),
            carried: Some(Box::new(pdu)),
            ..Datagram::default()
        };
        Packet {
            flow: self.flow,
            from_opener: self.from_opener,
            ident,
            ip: Ip::new(self.version, false),
            ..Packet::new(self.src, self.dst, Payload::Udp(datagram))
        }
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
