//! Frames of the link-layer protocols, and outcomes that an entity reports for each packet.

use std::fmt;

/// Packet as a protocol entity refers to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Item {
    /// Number that the link gave to the packet.
    pub token: u32,
    /// Length of the packet in bytes.
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
    /// Receive ready (RR): acknowledges frames below N(R).
    ReceiveReady,
    /// Reject (REJ): acknowledges frames below N(R) and requests all frames from N(R) on.
    Reject,
    /// Selective reject (SREJ): requests frame N(R) alone and acknowledges nothing.
    SelectiveReject,
    /// Set asynchronous balanced mode (extended): re-establishes the link.
    Sabme,
    /// Unnumbered acknowledgment: answers [`FrameKind::Sabme`].
    Ua,
    /// Status frame of RLP: acknowledges frames below N(R). The bitmap marks which later frames
    /// were received.
    Status,
}

impl FrameKind {
    /// Names of the frame kinds in traces, in the order of the variants.
    pub const NAMES: [&str; 8] = ["I", "UI", "RR", "REJ", "SREJ", "SABME", "UA", "STATUS"];
}

/// Frame of a link-layer protocol.
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
    /// Received frames above N(R): bit i means frame N(R) + 1 + i.
    pub bitmap: u64,
    /// Packet in an I or UI frame; default in other frames.
    pub item: Item,
}

impl Frame {
    /// Creates a frame without a packet.
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

/// Formats a frame as the literature does: `I(2,0)`, `I(6,0,P)`, `RR(1,F)`, `SREJ(1)`,
/// `STATUS(3,011)`. The bitmap of a status frame starts at N(R) + 1.
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
    /// The entity received a packet for the first time.
    Accepted(u32),
    /// Delivery of a packet to the layer above, either on arrival or once all earlier packets have
    /// arrived.
    Deliver(u32),
    /// The entity discards a packet that just arrived or that it had buffered.
    Discard(u32),
    /// The sender releases a packet, because the peer acknowledged it or the sender gave it up.
    Done(u32),
    /// The sender re-establishes the link.
    Reset,
}
