//! Link layers that retransmit: LAPB, MDLP and RLP, full duplex.
//!
//! An [`Entity`] is one end of a link. It is told the time, the packets that are
//! to go, the frames that came and when the MAC has sent a frame; it answers with
//! the next frame for the MAC, with [`Act`]s, and with the time at which it wants
//! to be called again. [`Line`] is two of them, their MACs and the channels
//! between.
//!
//! The protocols are those of Wong 1998, section 3.2.3 and chapter 5: LAPB after
//! ITU-T X.25, MDLP of CDPD (Cellular Digital Packet Data System Specification
//! 1.1, part 403), RLP modified from Paul et al. 1995. Damaged frames never reach
//! an entity: a loss shows in the numbers of the frames that follow, or in a timer.

mod hdlc;
mod lapb;
mod line;
mod mdlp;
mod plain;
mod rlp;
mod window;

pub use hdlc::{GiveUp, RetryFrom};
pub use lapb::{Lapb, LapbConfig};
pub use line::{Full, Line, LineConfig, LineStats, Output, SentFrame, Tag};
pub use mdlp::{Mdlp, MdlpConfig};
pub use plain::Plain;
pub use rlp::{Rlp, RlpConfig};

use farlink_tcp::{Instant, Interval};
use std::fmt;
use window::Sending;

/// A packet as an entity knows it: by a token, and how long it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Item {
    /// Number that its owner gave it.
    pub token: u32,
    /// Bytes.
    pub len: u32,
}

/// What a frame is.
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
    /// What it is.
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

    /// Whether it carries a packet.
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

/// What an entity did with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// A frame came that was not here before.
    Accepted(u32),
    /// Its packet goes to the layer above: at once, or when those before it came.
    Deliver(u32),
    /// A frame that came, or was held, is thrown away.
    Discard(u32),
    /// The sending side no longer holds a packet: it was acknowledged, or given
    /// up.
    Done(u32),
    /// The sending side re-establishes the link.
    Reset,
}

/// Numbers that no window can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ArqError {
    /// Not a modulus.
    #[error("sequence numbers modulo {0} cannot be: write 8 or 128")]
    Modulus(u8),
    /// More frames than numbers tell apart.
    #[error(
        "a window of {window} frames cannot be: with numbers modulo {modulus} write 1 to {most}"
    )]
    Window {
        /// Window that was asked for.
        window: u8,
        /// Modulus that was asked for.
        modulus: u8,
        /// Largest window of this protocol.
        most: u8,
    },
    /// No time.
    #[error("{0} of 0 s cannot be: write a time above it")]
    NoTime(&'static str),
    /// No try.
    #[error("N2 = 0 would never send again: write 1 or more")]
    NoTry,
}

/// Largest window of a protocol that goes back: one below the modulus.
pub const fn most_go_back(modulus: u8) -> u8 {
    modulus - 1
}

/// Largest window of a selective protocol: 2^(n-1) - 1 with n-bit numbers (Wong
/// 1998, 4.4.2).
pub const fn most_selective(modulus: u8) -> u8 {
    modulus / 2 - 1
}

fn check_window(modulus: u8, window: u8, most: fn(u8) -> u8) -> Result<(), ArqError> {
    if modulus != 8 && modulus != 128 {
        return Err(ArqError::Modulus(modulus));
    }
    let most = most(modulus);
    if window == 0 || window > most {
        return Err(ArqError::Window {
            window,
            modulus,
            most,
        });
    }
    Ok(())
}

fn check_time(name: &'static str, time: Interval) -> Result<(), ArqError> {
    if time.is_zero() {
        return Err(ArqError::NoTime(name));
    }
    Ok(())
}

/// A protocol with its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// No recovery: each packet is sent once.
    Plain,
    /// Go-back-N.
    Lapb(LapbConfig),
    /// Selective reject, begun by both ends.
    Mdlp(MdlpConfig),
    /// Selective, begun by the receiver.
    Rlp(RlpConfig),
}

/// One end of a link.
#[derive(Clone, Debug)]
pub enum Entity {
    /// No recovery.
    Plain(Plain),
    /// LAPB.
    Lapb(Lapb),
    /// MDLP.
    Mdlp(Mdlp),
    /// RLP.
    Rlp(Rlp),
}

impl Entity {
    /// An end that has sent nothing.
    ///
    /// # Errors
    /// Parameters that cannot be.
    pub fn new(protocol: &Protocol) -> Result<Self, ArqError> {
        Ok(match protocol {
            Protocol::Plain => Self::Plain(Plain::default()),
            Protocol::Lapb(config) => Self::Lapb(Lapb::new(config)?),
            Protocol::Mdlp(config) => Self::Mdlp(Mdlp::new(config)?),
            Protocol::Rlp(config) => Self::Rlp(Rlp::new(config)?),
        })
    }

    #[inline]
    fn sending(&self) -> &Sending {
        match self {
            Self::Plain(entity) => &entity.send,
            Self::Lapb(entity) => &entity.station.send,
            Self::Mdlp(entity) => &entity.station.send,
            Self::Rlp(entity) => &entity.send,
        }
    }

    /// A packet is to go. It waits until the window lets it.
    #[inline]
    pub fn offer(&mut self, item: Item) {
        let send = match self {
            Self::Plain(entity) => &mut entity.send,
            Self::Lapb(entity) => &mut entity.station.send,
            Self::Mdlp(entity) => &mut entity.station.send,
            Self::Rlp(entity) => &mut entity.send,
        };
        send.wait(item);
    }

    /// Packets that were never sent, and their bytes.
    #[inline]
    pub fn waiting(&self) -> (u32, u64) {
        self.sending().waiting()
    }

    /// Frames that were sent and are not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.sending().outstanding()
    }

    /// Whether the window lets another frame go.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.sending().is_open()
    }

    /// Packets of the frames that were sent and are not acknowledged.
    pub fn unacknowledged(&self) -> impl Iterator<Item = Item> + '_ {
        let send = self.sending();
        (send.una..send.top).map(|number| send.item(number))
    }

    /// The next frame, handed to a MAC that is idle. Supervisory frames go before
    /// retransmissions, and these before new frames.
    #[inline]
    pub fn poll_frame(&mut self, acts: &mut Vec<Act>) -> Option<Frame> {
        match self {
            Self::Plain(entity) => entity.poll_frame(acts),
            Self::Lapb(entity) => entity.poll_frame(),
            Self::Mdlp(entity) => entity.poll_frame(),
            Self::Rlp(entity) => entity.poll_frame(),
        }
    }

    /// The MAC has sent a frame.
    #[inline]
    pub fn confirm(&mut self, now: Instant, frame: &Frame) {
        match self {
            Self::Plain(_) => {}
            Self::Lapb(entity) => entity.confirm(now, frame),
            Self::Mdlp(entity) => entity.confirm(now, frame),
            Self::Rlp(entity) => entity.confirm(now, frame),
        }
    }

    /// A frame came, undamaged.
    #[inline]
    pub fn receive(&mut self, now: Instant, frame: &Frame, acts: &mut Vec<Act>) {
        match self {
            Self::Plain(_) => Plain::receive(frame, acts),
            Self::Lapb(entity) => entity.receive(now, frame, acts),
            Self::Mdlp(entity) => entity.receive(now, frame, acts),
            Self::Rlp(entity) => entity.receive(now, frame, acts),
        }
    }

    /// When it wants to be called; [`Instant::MAX`] for never.
    #[inline]
    pub fn deadline(&self) -> Instant {
        match self {
            Self::Plain(_) => Instant::MAX,
            Self::Lapb(entity) => entity.station.deadline(),
            Self::Mdlp(entity) => entity.station.deadline(),
            Self::Rlp(entity) => entity.deadline(),
        }
    }

    /// The deadline is there.
    #[inline]
    pub fn timeout(&mut self, now: Instant, acts: &mut Vec<Act>) {
        match self {
            Self::Plain(_) => {}
            Self::Lapb(entity) => entity.timeout(now, acts),
            Self::Mdlp(entity) => entity.timeout(now, acts),
            Self::Rlp(entity) => entity.timeout(now, acts),
        }
    }
}
