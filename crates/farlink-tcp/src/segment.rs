//! A TCP segment: the header as plain values, the body as a length or as bytes.

use crate::ack_rate::AckRateOption;
use crate::ecn::{AccEcnOption, Ecn};
use crate::fast_open::Extra;
use crate::priority::Dscp;
use crate::seq::Seq;
use crate::snack::ScpsCapabilities;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Control bits of the header (RFC 9293, 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x10);
    /// Urgent pointer significant (accepted, ignored: RFC 6093).
    pub const URG: Self = Self(0x20);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Returns whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the union of both sets of bits.
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (bit, name) in [
            (Self::SYN, 'S'),
            (Self::FIN, 'F'),
            (Self::RST, 'R'),
            (Self::PSH, 'P'),
            (Self::URG, 'U'),
            (Self::ECE, 'E'),
            (Self::CWR, 'W'),
            (Self::ACK, '.'),
        ] {
            if self.has(bit) {
                write!(f, "{name}")?;
            }
        }
        Ok(())
    }
}

/// A selectively acknowledged block `[left, right)` (RFC 2018, 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: Seq,
    /// Sequence number after the last of the block.
    pub right: Seq,
}

/// Most SACK blocks that fit beside no other option (RFC 2018, 3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// The blocks of one SACK option, most recently changed first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    len: u8,
    blocks: [SackBlock; MAX_SACK_BLOCKS],
}

impl SackBlocks {
    /// No block.
    pub const NONE: Self = Self {
        len: 0,
        blocks: [SackBlock {
            left: Seq(0),
            right: Seq(0),
        }; MAX_SACK_BLOCKS],
    };

    /// Appends a block; returns whether there was room.
    pub fn push(&mut self, block: SackBlock) -> bool {
        if usize::from(self.len) == MAX_SACK_BLOCKS {
            return false;
        }
        self.blocks[usize::from(self.len)] = block;
        self.len += 1;
        true
    }

    /// Returns the blocks, the most recently changed first.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Returns whether the option is absent.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl FromIterator<SackBlock> for SackBlocks {
    /// Keeps the first [`MAX_SACK_BLOCKS`].
    fn from_iter<T: IntoIterator<Item = SackBlock>>(iter: T) -> Self {
        let mut out = Self::default();
        for block in iter {
            if !out.push(block) {
                break;
            }
        }
        out
    }
}

/// The Timestamps option (RFC 7323, 3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(Rust, packed(2))]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the other side's clock, echoed.
    pub echo: u32,
}

/// Options that this endpoint supports. All but timestamps are rare; `Deref` gives access to them
/// as to fields: `options.sack`.
#[derive(Default)]
pub struct Options {
    /// Timestamps (RFC 7323, 3).
    pub timestamps: Option<Timestamps>,
    /// Set if `rare` may contain options in use.
    has_rare: bool,
    /// Rare options, or an allocation kept for later ones. Segments are overwritten in place, and a
    /// new allocation would take as long as all other work on a segment.
    rare: Option<Box<RareOptions>>,
}

/// Options that few segments have. They may straddle two cache lines, because alignment to a line
/// would make allocations half as large again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RareOptions {
    /// Maximum segment size, on a SYN (RFC 9293, 3.7.1).
    pub mss: Option<u16>,
    /// Window scale shift, on a SYN (RFC 7323, 2).
    pub window_scale: Option<u8>,
    /// SACK-permitted, on a SYN (RFC 2018, 2).
    pub sack_permitted: bool,
    /// SACK blocks (RFC 2018, 3); empty when absent.
    pub sack: SackBlocks,
    /// SCPS Capabilities, on a SYN (CCSDS 714.0-B).
    pub scps: Option<ScpsCapabilities>,
    /// AccECN (RFC 9768, 3.2.3).
    pub accecn: Option<AccEcnOption>,
    /// A SNACK, or TCP Fast Open on a SYN.
    pub extra: Extra,
    /// TCP ACK Rate Request.
    pub ack_rate: Option<AckRateOption>,
    /// Explicit loss notification: the segment at the acknowledgment number was damaged on its way
    /// (west1997, 2.3.3).
    pub eln: bool,
    /// On a SYN: partial acknowledgments are supported. On another segment: the segment is a
    /// partial acknowledgment (west1997, 3).
    pub ackp: bool,
    /// On a SYN: negative acknowledgments are supported. On another segment: the segment is a
    /// negative acknowledgment, and its SACK blocks name the missing data (Balakrishnan et al.
    /// 1995).
    pub nack: bool,
}

impl RareOptions {
    /// No option.
    pub const NONE: Self = Self {
        mss: None,
        window_scale: None,
        sack_permitted: false,
        sack: SackBlocks::NONE,
        scps: None,
        accecn: None,
        extra: Extra::None,
        ack_rate: None,
        eln: false,
        ackp: false,
        nack: false,
    };
}

impl Default for RareOptions {
    fn default() -> Self {
        Self::NONE
    }
}

impl Clone for Options {
    fn clone(&self) -> Self {
        Self {
            timestamps: self.timestamps,
            has_rare: self.has_rare,
            rare: self.rare.as_ref().filter(|_| self.has_rare).cloned(),
        }
    }
}

impl Deref for Options {
    type Target = RareOptions;

    #[inline]
    fn deref(&self) -> &RareOptions {
        match &self.rare {
            Some(rare) if self.has_rare => rare,
            _ => &RareOptions::NONE,
        }
    }
}

impl DerefMut for Options {
    fn deref_mut(&mut self) -> &mut RareOptions {
        if !self.has_rare {
            self.set_rare(RareOptions::NONE);
        }
        self.rare.get_or_insert_default()
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("timestamps", &self.timestamps)
            .field("rare", &**self)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Options {
    fn eq(&self, other: &Self) -> bool {
        self.timestamps == other.timestamps && **self == **other
    }
}

impl Eq for Options {}

impl From<Option<Timestamps>> for Options {
    #[inline]
    fn from(timestamps: Option<Timestamps>) -> Self {
        Self {
            timestamps,
            ..Self::default()
        }
    }
}

impl From<RareOptions> for Options {
    fn from(rare: RareOptions) -> Self {
        Self::from(None).with(rare)
    }
}

impl Options {
    /// Returns these timestamps together with the given rare options.
    pub fn with(mut self, rare: RareOptions) -> Self {
        self.has_rare = false;
        if rare != RareOptions::NONE {
            self.set_rare(rare);
        }
        self
    }

    /// Sets timestamps, or none, and clears all other options.
    #[inline(always)] // called for each segment
    pub fn set_plain(&mut self, timestamps: Option<Timestamps>) {
        (self.timestamps, self.has_rare) = (timestamps, false);
    }

    /// Sets the options beside timestamps.
    fn set_rare(&mut self, options: RareOptions) {
        self.has_rare = true;
        match &mut self.rare {
            Some(rare) => **rare = options,
            // A box of the contents, because zeroed memory takes an allocator ten times as long.
            None => self.rare = Some(Box::new(options)),
        }
    }

    /// Sets the SACK blocks and keeps the other options.
    pub fn set_sack(&mut self, sack: SackBlocks) {
        match &mut self.rare {
            Some(rare) if self.has_rare => rare.sack = sack,
            _ => self.set_rare(RareOptions {
                sack,
                ..RareOptions::NONE
            }),
        }
    }

    /// Prefetches the options beside timestamps.
    #[inline]
    pub fn prefetch(&self) {
        farlink_prefetch::boxed(&self.rare);
    }

    /// Returns whether there is no option but timestamps.
    #[inline]
    pub fn are_plain(&self) -> bool {
        !self.has_rare || **self == RareOptions::NONE
    }

    /// Bytes of the options in a header. As in common stacks, options are padded to multiples of
    /// four bytes.
    #[inline]
    pub fn wire_len(&self) -> u32 {
        if self.has_rare {
            return RareOptions::wire_len(self, self.timestamps.is_some());
        }
        if self.timestamps.is_some() {
            TIMESTAMPS_LEN
        } else {
            0
        }
    }
}

/// Bytes of the Timestamps option in a header, with its padding.
pub(crate) const TIMESTAMPS_LEN: u32 = 12;

/// Bytes of a request of an ACK rate in a header, with its padding.
pub(crate) const ACK_RATE_LEN: u32 = 8;

impl RareOptions {
    #[cold]
    fn wire_len(&self, timestamps: bool) -> u32 {
        let of_four = u32::from(self.mss.is_some())
            + u32::from(self.window_scale.is_some())
            + u32::from(self.scps.is_some())
            + u32::from(self.eln)
            + u32::from(self.ackp)
            + u32::from(self.nack);
        // SACK-permitted fits into the padding of timestamps.
        let aligned = match (timestamps, self.sack_permitted) {
            (true, _) => TIMESTAMPS_LEN,
            (false, true) => 4,
            (false, false) => 0,
        };
        let sack = if self.sack.is_empty() {
            0
        } else {
            4 + 8 * u32::from(self.sack.len)
        };
        let accecn = self.accecn.map_or(0, |option| option.wire_len());
        let ack_rate = self.ack_rate.map_or(0, AckRateOption::wire_len);
        4 * of_four + aligned + sack + accecn + ack_rate + self.extra.wire_len()
    }
}

/// Body of a segment: only a length in simulations, bytes with real programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body(Content);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Length(u32),
    Bytes(Arc<[u8]>),
}

impl Body {
    /// Empty body.
    pub const EMPTY: Self = Self::of_len(0);

    /// Returns a body of `len` bytes without contents.
    #[inline]
    pub const fn of_len(len: u32) -> Self {
        Self(Content::Length(len))
    }

    /// A body with its bytes.
    pub fn of_bytes(data: &[u8]) -> Self {
        Self(Content::Bytes(data.into()))
    }

    /// Replaces the body with `len` bytes without contents, as nearly all bodies are.
    #[inline(always)] // called for each segment; writes one word instead of copying a body
    pub fn set_len(&mut self, len: u32) {
        match &mut self.0 {
            Content::Length(before) => *before = len,
            Content::Bytes(_) => *self = Self::of_len(len),
        }
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> u32 {
        match &self.0 {
            Content::Length(len) => *len,
            Content::Bytes(bytes) => bytes.len() as u32,
        }
    }

    /// Returns whether the body is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes; `None` if only the length is known.
    #[inline]
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Content::Length(_) => None,
            Content::Bytes(bytes) => Some(bytes),
        }
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// A TCP segment.
///
/// Every segment is written and read several times, and should stay in the cache. Rare fields are
/// therefore behind a pointer, and timestamps are packed to 2 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first byte (or of the SYN).
    pub seq: Seq,
    /// Acknowledgment number, significant with [`Flags::ACK`].
    pub ack: Seq,
    /// Control bits.
    pub flags: Flags,
    /// Window field as it is in the header (not scaled).
    pub window: u16,
    /// ECN field of the segment's IP header (RFC 3168, 5).
    pub ecn: Ecn,
    /// Diffserv codepoint in the segment's IP header (RFC 2474).
    pub dscp: Dscp,
    /// Bit AE of the header (RFC 9768, 3.1.1), with CWR and ECE the three bits of Accurate ECN.
    pub ae: bool,
    /// Marks a dummy segment, or the ACK of one, by a reserved bit of the header (Akyildiz,
    /// Morabito, Palazzo 2001).
    pub dummy: bool,
    /// Options.
    pub options: Options,
    /// Data.
    pub body: Body,
}

/// Bytes of a TCP header without options.
pub const TCP_HEADER_LEN: u32 = 20;

impl Segment {
    /// Bytes of header and options.
    #[inline]
    pub fn header_len(&self) -> u32 {
        TCP_HEADER_LEN + self.options.wire_len()
    }

    /// Sequence number of the first byte of data, which is `seq` + 1 on a SYN.
    #[inline]
    pub fn data_seq(&self) -> Seq {
        self.seq.at(u64::from(self.flags.has(Flags::SYN)))
    }

    /// Length in sequence numbers: data, plus one each for SYN and FIN.
    #[inline]
    pub fn seq_len(&self) -> u32 {
        self.body.len()
            + u32::from(self.flags.has(Flags::SYN))
            + u32::from(self.flags.has(Flags::FIN))
    }
}

/// Builds the reset that answers `segment` if there is no connection (RFC 9293, 3.10.7.1); `None`
/// if `segment` is itself a reset.
#[cold]
pub fn reset_for(segment: &Segment) -> Option<Segment> {
    if segment.flags.has(Flags::RST) {
        return None;
    }
    let (seq, ack, flags) = if segment.flags.has(Flags::ACK) {
        (segment.ack, Seq::default(), Flags::RST)
    } else {
        let after = segment.seq.at(u64::from(segment.seq_len()));
        (Seq::default(), after, Flags::RST.with(Flags::ACK))
    };
    Some(Segment {
        src_port: segment.dst_port,
        dst_port: segment.src_port,
        seq,
        ack,
        flags,
        ..Segment::default()
    })
}
