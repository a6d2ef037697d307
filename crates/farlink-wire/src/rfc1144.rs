//! TCP/IP header compression for slow links (Jacobson 1990, RFC 1144).
//!
//! A [`Compressor`] and a [`Decompressor`] each store the last header of a number of connections. A
//! compressed header consists of the differences from the stored header, in 3 to 16 bytes. After a
//! loss the decompressor adds the differences to an outdated header. The TCP checksum, which is
//! sent unchanged, then fails until a full header arrives.
//!
//! Headers are passed as bytes: IPv4 and TCP, with their options.

use arrayvec::ArrayVec;
use farlink_tcp::Flags;

/// Maximum number of stored connections, because the connection number has one byte.
pub const MAX_SLOTS: u16 = 256;
/// Default number of stored connections (RFC 1144, 3.2.3).
pub const DEFAULT_SLOTS: u16 = 16;
/// Maximum length of the IP and TCP headers with options, in bytes.
pub const MAX_HEADER: usize = 120;
/// Maximum length of a compressed header in bytes: 1 for the mask, 1 for the connection, 2 for the
/// checksum, and 3 each for the identification and three other fields. There is no fourth field,
/// because changes of all four are a special case.
pub const MAX_COMPRESSED: usize = 16;

/// The bits of the change mask (RFC 1144, 3.2.2).
mod mask {
    pub(super) const CONNECTION: u8 = 0x40;
    pub(super) const IDENT: u8 = 0x20;
    pub(super) const PUSH: u8 = 0x10;
    pub(super) const SEQ: u8 = 0x08;
    pub(super) const ACK: u8 = 0x04;
    pub(super) const WINDOW: u8 = 0x02;
    pub(super) const URGENT: u8 = 0x01;
    /// Flags of the special cases (RFC 1144, 3.2.2). A packet whose changes happen to give these
    /// flags is sent uncompressed.
    pub(super) const SPECIALS: u8 = SEQ | ACK | WINDOW | URGENT;
    /// Echoed interactive traffic: both sequence and acknowledgment number advanced by the data
    /// length of the previous packet.
    pub(super) const INTERACTIVE: u8 = SEQ | WINDOW | URGENT;
    /// One-way data: only the sequence number advances, by the data length of the previous packet.
    pub(super) const DATA: u8 = SPECIALS;
}

/// Parameters on which both ends agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Number of stored connections, 1 to [`MAX_SLOTS`].
    pub slots: u16,
    /// Set if a packet omits the connection number when the previous packet had the same connection
    /// (Comp-Slot-Id of RFC 1332).
    pub compress_slot: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            slots: DEFAULT_SLOTS,
            compress_slot: true,
        }
    }
}

/// A compressed header.
pub type Compressed = ArrayVec<u8, MAX_COMPRESSED>;

/// Form of a packet on the link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// TYPE_IP: unchanged, and stored by neither end.
    Ip,
    /// UNCOMPRESSED_TCP: the connection number replaces the protocol field, and both ends store the
    /// header.
    Uncompressed(u8),
    /// COMPRESSED_TCP: these bytes replace the headers.
    Compressed(Compressed),
}

/// Form in which a packet will be sent. The compressor's state changes only in
/// [`Compressor::sent`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Form of the packet on the link.
    pub form: Form,
    slot: u8,
}

impl Plan {
    /// Plan of a packet that is sent unchanged.
    pub const IP: Self = Self {
        form: Form::Ip,
        slot: 0,
    };
}

type Header = ArrayVec<u8, MAX_HEADER>;

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn put_half(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Adds `value` to the 32-bit word at offset `at`.
fn add_word(bytes: &mut [u8], at: usize, value: u32) {
    let sum = word(bytes, at).wrapping_add(value);
    bytes[at..at + 4].copy_from_slice(&sum.to_be_bytes());
}

/// Returns the offset of the TCP header in these headers.
#[inline]
fn tcp_at(header: &[u8]) -> usize {
    usize::from(header[0] & 15) * 4
}

/// Returns the length of the IPv4 and TCP headers at the start of a datagram. `None` if the headers
/// are others, incomplete, or those of a fragment.
pub fn header_len(datagram: &[u8]) -> Option<usize> {
    const TCP: u8 = 6;
    const SHORTEST: usize = 40;
    if datagram.len() < SHORTEST
        || datagram[0] >> 4 != 4
        || datagram[9] != TCP
        || half(datagram, 6) & 0x3fff != 0
    {
        return None;
    }
    let tcp = tcp_at(datagram);
    let offset = usize::from(datagram.get(tcp + 12)? >> 4) * 4;
    (offset >= 20 && tcp + offset <= datagram.len().min(half(datagram, 2).into()))
        .then_some(tcp + offset)
}

/// Returns the ones' complement sum of pseudo-header and TCP header (RFC 9293, 3.1). If two headers
/// before the same data have the same sum, both checksums are right or both are wrong. A sum of
/// zero is returned as all ones.
pub fn header_sum(header: &[u8]) -> u16 {
    let tcp = tcp_at(header);
    let mut sum = u32::from(half(header, 2)) - tcp as u32;
    for at in (12..20).step_by(2).chain((tcp..header.len()).step_by(2)) {
        sum += u32::from(half(header, at));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    if sum == 0 { 0xffff } else { sum as u16 }
}

/// Encodes a difference: one byte for 1 to 255, otherwise three (RFC 1144, 3.2.2).
fn encode(out: &mut Compressed, delta: u16) {
    let [high, low] = delta.to_be_bytes();
    if delta == 0 || high != 0 {
        out.extend([0, high, low]);
    } else {
        out.push(low);
    }
}

fn decode(bytes: &mut impl Iterator<Item = u8>) -> Option<u16> {
    match bytes.next()? {
        0 => Some(u16::from_be_bytes([bytes.next()?, bytes.next()?])),
        low => Some(low.into()),
    }
}

/// Returns whether both headers belong to the same direction of the same connection.
pub fn same_connection(a: &[u8], b: &[u8]) -> bool {
    let (tcp_a, tcp_b) = (tcp_at(a), tcp_at(b));
    a[12..20] == b[12..20] && a[tcp_a..tcp_a + 4] == b[tcp_b..tcp_b + 4]
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Compressor {
    config: Config,
    slots: Vec<Header>,
    /// Connection numbers, most recently used first.
    order: Vec<u8>,
    /// Last connection number sent to the far end.
    last: Option<u8>,
}

impl Compressor {
    /// Builds a compressor for a new line.
    ///
    /// # Panics
    /// Panics if there are no slots, or more than [`MAX_SLOTS`].
    pub fn new(config: Config) -> Self {
        assert!((1..=MAX_SLOTS).contains(&config.slots), "1 to 256 slots");
        Self {
            config,
            slots: vec![Header::new(); config.slots.into()],
            // The first connection gets number 0.
            order: (0..config.slots).rev().map(|slot| slot as u8).collect(),
            last: None,
        }
    }

    /// Plans the form of a packet with these headers. `header` has the length [`header_len`].
    pub fn plan(&self, header: &[u8]) -> Plan {
        let tcp = tcp_at(header);
        let control = header[tcp + 13];
        let expected = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0 | Flags::ACK.0;
        if control & expected != Flags::ACK.0 {
            return Plan::IP;
        }
        let known = self.order.iter().find(|&&slot| {
            let before = &self.slots[usize::from(slot)];
            !before.is_empty() && same_connection(before, header)
        });
        let Some(&slot) = known else {
            // The least recently used connection loses its number.
            let slot = self.order.last().copied().unwrap_or_default();
            return Plan {
                form: Form::Uncompressed(slot),
                slot,
            };
        };
        let named = !self.config.compress_slot || self.last != Some(slot);
        let before = &self.slots[usize::from(slot)];
        let form = changes(before, header, named.then_some(slot))
            .map_or(Form::Uncompressed(slot), Form::Compressed);
        Plan { form, slot }
    }

    /// Updates the state after a packet with these headers was sent in the planned form.
    pub fn sent(&mut self, header: &[u8], plan: &Plan) {
        if plan.form == Form::Ip {
            return;
        }
        let state = &mut self.slots[usize::from(plan.slot)];
        state.clear();
        state.extend(header.iter().copied());
        if let Some(place) = self.order.iter().position(|&slot| slot == plan.slot) {
            self.order[..=place].rotate_right(1);
        }
        self.last = Some(plan.slot);
    }
}

/// Returns whether two headers are equal in the fields that a compressed header omits.
fn same_constants(before: &[u8], now: &[u8]) -> bool {
    let tcp = tcp_at(now);
    // Version and length, type of service; fragment word; time to live.
    before.len() == now.len()
        && before[..2] == now[..2]
        && before[6..9] == now[6..9]
        && before[tcp + 12] >> 4 == now[tcp + 12] >> 4
        && before[20..tcp] == now[20..tcp]
        && before[tcp + 20..] == now[tcp + 20..]
}

/// Returns the compressed header of a packet. `before` is the last header of its connection.
/// Returns `None` if differences from it cannot express the header (RFC 1144, 3.2.3).
fn changes(before: &[u8], now: &[u8], slot: Option<u8>) -> Option<Compressed> {
    let tcp = tcp_at(now);
    if !same_constants(before, now) {
        return None;
    }
    let difference = |at| word(now, tcp + at).wrapping_sub(word(before, tcp + at));
    let (seq, ack) = (difference(4), difference(8));
    if seq > 0xffff || ack > 0xffff {
        return None; // The difference does not fit into 16 bits.
    }
    let window = half(now, tcp + 14).wrapping_sub(half(before, tcp + 14));
    let urgent = half(now, tcp + 18);
    let mut fields = 0;
    let mut deltas = Compressed::new();
    if now[tcp + 13] & Flags::URG.0 != 0 {
        fields |= mask::URGENT;
        encode(&mut deltas, urgent);
    } else if urgent != half(before, tcp + 18) {
        return None;
    }
    for (bit, delta) in [
        (mask::WINDOW, window),
        (mask::ACK, ack as u16),
        (mask::SEQ, seq as u16),
    ] {
        if delta != 0 {
            fields |= bit;
            encode(&mut deltas, delta);
        }
    }
    let data = u32::from(half(before, 2)) - before.len() as u32;
    match fields {
        // The first data packet after a pure ACK changes no field. Any other packet without a
        // change is a retransmission; the far end may have failed to decompress the first copy.
        0 if data == 0 && half(now, 2) != half(before, 2) => {}
        0 | mask::INTERACTIVE | mask::DATA => return None,
        _ => {
            let advanced = (seq == data, ack == data);
            if fields == mask::SEQ | mask::ACK && advanced == (true, true) {
                fields = mask::INTERACTIVE;
                deltas.clear();
            } else if fields == mask::SEQ && advanced.0 {
                fields = mask::DATA;
                deltas.clear();
            }
        }
    }
    let ident = half(now, 4).wrapping_sub(half(before, 4));
    if ident != 1 {
        fields |= mask::IDENT;
        encode(&mut deltas, ident);
    }
    if now[tcp + 13] & Flags::PSH.0 != 0 {
        fields |= mask::PUSH;
    }
    let mut out = Compressed::new();
    match slot {
        Some(slot) => out.extend([fields | mask::CONNECTION, slot]),
        None => out.push(fields),
    }
    out.extend([now[tcp + 16], now[tcp + 17]]);
    out.extend(deltas);
    Some(out)
}

/// Reason why a packet was discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Discarded {
    /// The packet follows a damaged frame, and has no connection number.
    #[error("after a damaged frame, without the number of a connection")]
    Tossed,
    /// The connection has no stored header, or the bytes are no compressed header.
    #[error("of no known connection")]
    Unknown,
}

/// The receiving end.
#[derive(Clone, Debug)]
pub struct Decompressor {
    slots: Vec<Header>,
    last: u8,
    toss: bool,
}

impl Decompressor {
    /// Builds a decompressor for a new line.
    pub fn new(config: Config) -> Self {
        Self {
            slots: vec![Header::new(); config.slots.into()],
            last: 0,
            // No connection number has been received yet.
            toss: true,
        }
    }

    /// Records a damaged frame. Later packets without a connection number are discarded, because
    /// they may belong to another connection (RFC 1144, 4.1).
    pub fn error(&mut self) {
        self.toss = true;
    }

    /// Stores the headers of an uncompressed packet of connection `slot`.
    pub fn uncompressed(&mut self, slot: u8, header: &[u8]) {
        if let Some(state) = self.slots.get_mut(usize::from(slot)) {
            state.clear();
            state.extend(header.iter().copied());
            self.last = slot;
            self.toss = false;
        }
    }

    /// Decompresses a header followed by `data` bytes of data. Returns the full headers.
    ///
    /// # Errors
    /// Fails if the packet must be discarded.
    pub fn compressed(&mut self, bytes: &[u8], data: u32) -> Result<&[u8], Discarded> {
        let result = self.expand(bytes, data);
        if result == Err(Discarded::Unknown) {
            self.toss = true;
        }
        result.map(|()| &self.slots[usize::from(self.last)][..])
    }

    fn expand(&mut self, bytes: &[u8], data: u32) -> Result<(), Discarded> {
        let mut bytes = bytes.iter().copied();
        let mut next = || bytes.next().ok_or(Discarded::Unknown);
        let fields = next()?;
        if fields & mask::CONNECTION != 0 {
            let slot = next()?;
            let known = self.slots.get(usize::from(slot));
            if known.is_none_or(ArrayVec::is_empty) {
                return Err(Discarded::Unknown);
            }
            self.last = slot;
            self.toss = false;
        } else if self.toss {
            return Err(Discarded::Tossed);
        }
        let checksum = [next()?, next()?];
        let state = &mut self.slots[usize::from(self.last)];
        let mut delta = || decode(&mut bytes).ok_or(Discarded::Unknown);
        let tcp = tcp_at(state);
        let before = u32::from(half(state, 2)).saturating_sub(state.len() as u32);
        state[tcp + 16..tcp + 18].copy_from_slice(&checksum);
        let control = &mut state[tcp + 13];
        *control = *control & !(Flags::PSH.0 | Flags::URG.0)
            | if fields & mask::PUSH != 0 {
                Flags::PSH.0
            } else {
                0
            };
        match fields & mask::SPECIALS {
            mask::INTERACTIVE => {
                add_word(state, tcp + 8, before);
                add_word(state, tcp + 4, before);
            }
            mask::DATA => add_word(state, tcp + 4, before),
            _ => {
                if fields & mask::URGENT != 0 {
                    state[tcp + 13] |= Flags::URG.0;
                    put_half(state, tcp + 18, delta()?);
                }
                if fields & mask::WINDOW != 0 {
                    let window = half(state, tcp + 14).wrapping_add(delta()?);
                    put_half(state, tcp + 14, window);
                }
                if fields & mask::ACK != 0 {
                    add_word(state, tcp + 8, delta()?.into());
                }
                if fields & mask::SEQ != 0 {
                    add_word(state, tcp + 4, delta()?.into());
                }
            }
        }
        let ident = if fields & mask::IDENT != 0 {
            delta()?
        } else {
            1
        };
        let ident = half(state, 4).wrapping_add(ident);
        put_half(state, 4, ident);
        let total = state.len() as u32 + data;
        put_half(state, 2, total as u16);
        write_checksum(state, tcp);
        Ok(())
    }
}

/// Writes the checksum of an IPv4 header of `len` bytes.
fn write_checksum(header: &mut [u8], len: usize) {
    put_half(header, 10, 0);
    let words = (0..len).step_by(2).map(|at| u32::from(half(header, at)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    put_half(header, 10, !(sum as u16));
}

#[cfg(test)]
mod tests;
