//! What an agent is to the network: it is shown packets, and says what becomes of them.

use super::crossing::Crossing;
use super::view::View;
use crate::id::{FlowId, NodeId, PacketId};
use crate::packet::Packet;
use farlink_tcp::{Instant, Seq};
use std::any::Any;
use std::fmt::Debug;

/// What an agent calls a packet by that it follows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tag(pub u64);

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It goes on, as the agent may have changed it.
    Forward,
    /// It goes on, and the agent hears what its link does with it: [`Agent::on_sent`].
    Follow(Tag),
    /// It is dropped, with the cause `agent`.
    Drop,
    /// It ends here and is not lost: the agent has taken what it carries.
    Absorb,
    /// It stays at the node until the agent says [`Action::Release`] or
    /// [`Action::Discard`].
    Hold,
}

/// A packet that an agent sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Injection {
    /// The packet.
    pub packet: Packet,
    /// It goes before all that waits for its link, as far as that link can.
    pub ahead: bool,
    /// The agent hears what its link does with it.
    pub follow: Option<Tag>,
}

/// What an agent does beside its verdict, in the order in which it says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// A packet of the agent's own leaves its node: it takes a place in the queue of its
    /// link and in the counters.
    Inject(Injection),
    /// The sender of a packet is told by ICMP that it waits for a wireless link in a bad
    /// state (west1997, 3.0).
    Notify(Packet),
    /// A held packet goes on.
    Release(PacketId),
    /// A held packet is dropped.
    Discard(PacketId),
}

/// What the link did with a packet that an agent follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// Its last bit has left the transmitter for the first time, or will have at this
    /// instant.
    Left(Instant),
    /// The protocol of the link sent it again; its last bit left at this instant.
    Again(Instant),
    /// It never will: the queue did not take it, or it was dropped at the node.
    Refused,
}

/// What an agent did, for the trace of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Kept a copy of data, or noted that it passed.
    Keep,
    /// Sent a copy again because of a duplicate ACK.
    Resend,
    /// Sent a copy again because its own timer expired.
    Timeout,
    /// Gave a copy up after its last try.
    GiveUp,
    /// Kept a duplicate ACK from the sender.
    Suppress,
    /// Marked an ACK.
    Mark,
    /// Sent a partial acknowledgment.
    Partial,
    /// Told the sender of a bad state.
    Notice,
    /// Took the acknowledgments to come another way.
    Blind,
    /// Acknowledged data in the name of the end that they are for.
    Acknowledge,
    /// Sent the data of one half of a split connection on over the other, or to an end.
    Relay,
    /// Ended a connection: both ends are reset.
    Reset,
}

impl Act {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::Keep,
        Self::Resend,
        Self::Timeout,
        Self::GiveUp,
        Self::Suppress,
        Self::Mark,
        Self::Partial,
        Self::Notice,
        Self::Blind,
        Self::Acknowledge,
        Self::Relay,
        Self::Reset,
    ];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Resend => "resend",
            Self::Timeout => "timeout",
            Self::GiveUp => "give-up",
            Self::Suppress => "suppress",
            Self::Mark => "mark",
            Self::Partial => "partial",
            Self::Notice => "notice",
            Self::Blind => "blind",
            Self::Acknowledge => "acknowledge",
            Self::Relay => "relay",
            Self::Reset => "reset",
        }
    }
}

/// A row of the trace of agents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note {
    /// What it did.
    pub act: Act,
    /// The flow that the packet is of.
    pub flow: FlowId,
    /// Whether the numbered data go from the flow's opener to its acceptor.
    pub from_opener: bool,
    /// The sequence number that it is about.
    pub seq: Seq,
}

/// What an agent asks for and tells.
#[derive(Debug, Default)]
pub struct Out {
    /// What it asks for.
    pub actions: Vec<Action>,
    /// What it did; none where nobody wants to know.
    pub notes: Option<Vec<Note>>,
}

impl Out {
    /// Sends a packet behind those that wait.
    pub fn inject(&mut self, packet: Packet) {
        self.actions.push(Action::Inject(Injection {
            packet,
            ahead: false,
            follow: None,
        }));
    }

    /// Tells what it did, if anybody wants to know.
    #[inline]
    pub fn note(&mut self, note: impl FnOnce() -> Note) {
        if let Some(notes) = &mut self.notes {
            notes.push(note());
        }
    }

    /// Notes what was done about a number that a packet acknowledges, if it is traced.
    pub fn note_back(&mut self, view: &mut View<'_>, act: Act, seq: Seq) {
        if self.notes.is_some() {
            let path = view.path().reverse();
            self.note(|| Note {
                act,
                flow: path.flow(),
                from_opener: path.from_opener(),
                seq,
            });
        }
    }
}

/// What becomes of what an agent keeps of a host's connections when the host leaves its wireless
/// link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaving {
    /// It is lost, and connections that cannot do without it are reset.
    Lose,
    /// It goes to the agent at the next link.
    Transfer,
}

/// What goes from one agent to another of its kind.
#[derive(Debug)]
pub struct Moved {
    /// Bytes of the ends' data in it.
    pub bytes: u64,
    /// What the agent makes of it.
    pub state: Box<dyn Any + Send>,
}

/// An agent. What it sends meets no other agent of its node.
pub trait Agent: Debug + Send {
    /// A packet crosses the node. It is known as `id` until it goes on.
    fn on_packet(
        &mut self,
        now: Instant,
        id: PacketId,
        crossing: Crossing,
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict;

    /// Whether it follows packets to its wireless link.
    fn follows(&self) -> bool {
        false
    }

    /// Whether it sends packets ahead of all that wait for its wireless link.
    fn goes_ahead(&self) -> bool {
        false
    }

    /// The link did something with a packet that the agent follows.
    fn on_sent(&mut self, _now: Instant, _tag: Tag, _sent: Sent, _out: &mut Out) {}

    /// When it wants to be called, if at all; asked after each call.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Its deadline has come.
    fn on_deadline(&mut self, _now: Instant, _out: &mut Out) {}

    /// A host behind the wireless link leaves it. Returns what goes with the host, if that is
    /// asked for.
    fn on_leave(
        &mut self,
        _now: Instant,
        _host: NodeId,
        _how: Leaving,
        _out: &mut Out,
    ) -> Option<Moved> {
        None
    }

    /// What another agent of its kind and with its parameters kept of a host that is behind the
    /// wireless link now.
    fn on_join(&mut self, _now: Instant, _moved: Moved, _out: &mut Out) {}

    /// Whether a connection cannot do without what it keeps of it.
    fn is_needed(&self) -> bool {
        false
    }

    /// It is switched off or on. Off, it lets connections pass as if it were not there:
    /// all of them, but for those that cannot do without it any more.
    fn switch(&mut self, now: Instant, on: bool, out: &mut Out);

    /// What it counted until `now`, by name.
    fn counters(&self, now: Instant) -> Vec<(&'static str, f64)>;
}
