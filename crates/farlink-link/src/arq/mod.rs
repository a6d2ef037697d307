//! Link layers with retransmission: LAPB, MDLP and RLP, full duplex.
//!
//! An [`Entity`] is one end of a link. Its inputs are packets to send, received frames,
//! confirmations of the MAC and the time. Its outputs are the next frame for the MAC, [`Outcome`]s
//! and its next deadline. An [`ArqLink`] combines two entities, their MACs and two channels.
//!
//! Link protocols of Wong 1998, section 3.2.3 and chapter 5. LAPB follows ITU-T X.25, and MDLP
//! follows CDPD (Cellular Digital Packet Data System Specification 1.1, part 403). RLP is a
//! modification of Paul et al. 1995. An entity never receives a corrupted frame. It detects a loss
//! from the numbers of later frames or by a timer.

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
pub use link::{ArqConfig, ArqLink, ArqStats, Full, Output, SentFrame, Source, Tag, Taken};
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
    /// Selective reject. Both ends start retransmissions.
    Mdlp(MdlpConfig),
    /// Selective retransmission of the frames that the receiver's status frames report missing.
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
    /// Creates an entity that has sent nothing.
    ///
    /// # Errors
    /// Fails if a parameter is invalid.
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

    /// Queues a packet until the window has room.
    #[inline]
    pub fn offer(&mut self, item: Item) {
        let send = match self {
            Self::Plain(entity) => &mut entity.send,
            Self::Lapb(entity) => &mut entity.station.send,
            Self::Mdlp(entity) => &mut entity.station.send,
            Self::Rlp(entity) => &mut entity.send,
        };
        send.enqueue(item);
    }

    /// Returns the number and bytes of packets that were never sent.
    #[inline]
    pub fn waiting(&self) -> (u32, u64) {
        self.sending().waiting()
    }

    /// Returns the number of frames that were sent and are not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.sending().outstanding()
    }

    /// Returns whether the window allows another frame.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.sending().is_open()
    }

    /// Returns the packets of all sent and unacknowledged frames.
    pub fn unacknowledged(&self) -> impl Iterator<Item = Item> + '_ {
        let send = self.sending();
        (send.una..send.top).map(|number| send.item(number))
    }

    /// Returns whether the next frame would carry a new packet, if one was offered now.
    pub fn takes_new(&self) -> bool {
        match self {
            Self::Plain(entity) => entity.send.takes_new(),
            Self::Lapb(entity) => entity.takes_new(),
            Self::Mdlp(entity) => entity.takes_new(),
            Self::Rlp(entity) => entity.takes_new(),
        }
    }

    /// Returns the next frame for an idle MAC. Supervisory frames precede retransmissions, and
    /// retransmissions precede new frames.
    #[inline]
    pub fn poll_frame(&mut self, outcomes: &mut Vec<Outcome>) -> Option<Frame> {
        match self {
            Self::Plain(entity) => entity.poll_frame(outcomes),
            Self::Lapb(entity) => entity.poll_frame(),
            Self::Mdlp(entity) => entity.poll_frame(),
            Self::Rlp(entity) => entity.poll_frame(),
        }
    }

    /// Handles the MAC's confirmation that it sent a frame.
    #[inline]
    pub fn confirm(&mut self, now: Instant, frame: &Frame) {
        match self {
            Self::Plain(_) => {}
            Self::Lapb(entity) => entity.confirm(now, frame),
            Self::Mdlp(entity) => entity.confirm(now, frame),
            Self::Rlp(entity) => entity.confirm(now, frame),
        }
    }

    /// Handles an undamaged frame from the peer.
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

    /// Handles the timers that are due.
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
