//! Link layers that retransmit: LAPB, MDLP and RLP, full duplex.
//!
//! An [`Entity`] is one end of a link. It is told the time, the packets that are
//! to go, the frames that came and when the MAC has sent a frame; it answers with
//! the next frame for the MAC, with [`Outcome`]s, and with the time at which it wants
//! to be called again. [`ArqLink`] is two of them, their MACs and the channels
//! between.
//!
//! The protocols are those of Wong 1998, section 3.2.3 and chapter 5: LAPB after
//! ITU-T X.25, MDLP of CDPD (Cellular Digital Packet Data System Specification
//! 1.1, part 403), RLP modified from Paul et al. 1995. Damaged frames never reach
//! an entity: a loss shows in the numbers of the frames that follow, or in a timer.

mod frame;
mod hdlc;
mod lapb;
mod limits;
mod link;
mod mdlp;
mod plain;
mod rlp;
mod window;

pub use frame::{Frame, FrameKind, Item, Outcome};
pub use hdlc::{GiveUp, RetryFrom};
pub use lapb::{Lapb, LapbConfig};
pub use limits::{ArqError, most_go_back, most_selective};
pub use link::{ArqConfig, ArqLink, ArqStats, Full, Output, SentFrame, Tag};
pub use mdlp::{Mdlp, MdlpConfig};
pub use plain::Plain;
pub use rlp::{Rlp, RlpConfig};

use farlink_tcp::Instant;
use window::Sending;

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

/// Protocol entity at one end of a link.
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

    /// Returns whether the window allows another frame.
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
    pub fn poll_frame(&mut self, outcomes: &mut Vec<Outcome>) -> Option<Frame> {
        match self {
            Self::Plain(entity) => entity.poll_frame(outcomes),
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
    pub fn receive(&mut self, now: Instant, frame: &Frame, outcomes: &mut Vec<Outcome>) {
        match self {
            Self::Plain(_) => Plain::receive(frame, outcomes),
            Self::Lapb(entity) => entity.receive(now, frame, outcomes),
            Self::Mdlp(entity) => entity.receive(now, frame, outcomes),
            Self::Rlp(entity) => entity.receive(now, frame, outcomes),
        }
    }

    /// Returns the next deadline; [`Instant::MAX`] for none.
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
    pub fn timeout(&mut self, now: Instant, outcomes: &mut Vec<Outcome>) {
        match self {
            Self::Plain(_) => {}
            Self::Lapb(entity) => entity.timeout(now, outcomes),
            Self::Mdlp(entity) => entity.timeout(now, outcomes),
            Self::Rlp(entity) => entity.timeout(now, outcomes),
        }
    }
}
