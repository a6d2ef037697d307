//! Frames, and what an entity does with those that come.

use std::fmt;

/// A packet as an entity knows it: by a token, and how long it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Item {
    /// Number that its owner gave it.
    pub token: u32,
    /// Bytes.
    pub len: u32,
}

/// Kind of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FrameKind {
    /// A packet, numbered.
    Information,
    /// A packet, not numbered (UI).
    Unnumbered,
    /// Receive ready: acknowledges frames below N(R).
    ReceiveReady,
    /// Reject: the same, and asks for everything from N(R) on.
    Reject,
    /// Selective reject: asks for frame N(R) alone and acknowledges nothing.
    SelectiveReject,
    /// Set asynchronous balanced mode (extended): re-establishes the link.
    Sabme,
    /// Unnumbered acknowledgment: answers [`FrameKind::Sabme`].
    Ua,
    /// Status of RLP: acknowledges frames below N(R); the bitmap tells which of
    /// the following are there.
    Status,
}

impl FrameKind {
    /// Names in traces, in the order of the kinds.
    pub const NAMES: [&str; 8] = ["I", "UI", "RR", "REJ", "SREJ", "SABME", "UA", "STATUS"];
}

/// A frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Kind of the frame.
    pub kind: FrameKind,
    /// N(S), modulo the modulus.
    pub ns: u8,
    /// N(R), modulo the modulus.
    pub nr: u8,
    /// Poll bit of a command, final bit of a response.
    pub poll: bool,
    /// Frames after N(R) that are there: bit i is N(R) + 1 + i.
    pub bitmap: u64,
    /// The packet that it carries, if it carries one.
    pub item: Item,
}

impl Frame {
    /// A frame without a packet.
    pub fn control(kind: FrameKind, nr: u8, poll: bool) -> Self {
        Self {
            kind,
            ns: 0,
            nr,
            poll,
            bitmap: 0,
            item: Item::default(),
        }
    }

    /// Returns whether the frame carries a packet.
    #[inline]
    pub fn carries(&self) -> bool {
        matches!(self.kind, FrameKind::Information | FrameKind::Unnumbered)
    }
}

/// As in the field: `I(2,0)`, `I(6,0,P)`, `RR(1,F)`, `SREJ(1)`, `STATUS(3,011)`,
/// the bitmap from N(R) + 1 on.
impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bit = |name| if self.poll { name } else { "" };
        let nr = self.nr;
        match self.kind {
            FrameKind::Information => write!(f, "I({},{nr}{})", self.ns, bit(",P")),
            FrameKind::Unnumbered => write!(f, "UI"),
            FrameKind::ReceiveReady => write!(f, "RR({nr}{})", bit(",F")),
            FrameKind::Reject => write!(f, "REJ({nr}{})", bit(",F")),
            FrameKind::SelectiveReject => write!(f, "SREJ({nr})"),
            FrameKind::Sabme => write!(f, "SABME"),
            FrameKind::Ua => write!(f, "UA({nr})"),
            FrameKind::Status if self.bitmap == 0 => write!(f, "STATUS({nr})"),
            FrameKind::Status => {
                write!(f, "STATUS({nr},")?;
                for bit in 0..u64::BITS - self.bitmap.leading_zeros() {
                    write!(f, "{}", self.bitmap >> bit & 1)?;
                }
                f.write_str(")")
            }
        }
    }
}

/// Outcome of a packet at an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A frame came that was not here before.
    Accepted(u32),
    /// Delivered to the layer above: at once, or when the earlier packets have arrived.
    Deliver(u32),
    /// A frame that came, or was held, is thrown away.
    Discard(u32),
    /// The sending side no longer holds a packet: it was acknowledged, or given
    /// up.
    Done(u32),
    /// The sending side re-establishes the link.
    Reset,
}
