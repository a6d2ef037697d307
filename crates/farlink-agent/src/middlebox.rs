//! Interface between an agent and the network: the agent sees packets and decides their fate.

use super::crossing::Crossing;
use super::view::View;
use farlink_tcp::{Instant, Seq};
use farlink_wire::id::{FlowId, NodeId, PacketId};
use farlink_wire::packet::Packet;
use std::any::Any;
use std::fmt::Debug;

/// Agent's name for a packet that it follows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tag(pub u64);

/// Verdict on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Forwards the packet, as the agent may have changed it.
    Forward,
    /// Forwards the packet and reports to the agent what its link does with it: [`Agent::on_sent`].
    Follow(Tag),
    /// Drops the packet, with the cause `agent`.
    Drop,
    /// Ends the packet here without a loss: the agent has taken its content.
    Absorb,
    /// Keeps the packet at the node until [`Action::Release`] or [`Action::Discard`].
    Hold,
}

/// A packet that an agent sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Injection {
    /// The packet.
    pub packet: Packet,
    /// Set if the packet goes before all that waits for its link, where the link can do so.
    pub ahead: bool,
    /// The agent hears what its link does with it.
    pub follow: Option<Tag>,
}

/// Action of an agent beside its verdict, in the order of its requests.
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

/// Event of a followed packet at its link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// The last bit leaves the transmitter for the first time at this instant.
    Left(Instant),
    /// The protocol of the link sent it again; its last bit left at this instant.
    Again(Instant),
    /// The packet never leaves: the queue refused it, or it was dropped at the node.
    Refused,
}

/// Act of an agent, for the trace of its name.
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
    /// Told the mobile host what the radio lost of its data.
    Negative,
}

impl Act {
    /// Acts in the order of their numbers.
    pub const ALL: [Self; 13] = [
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
        Self::Negative,
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
            Self::Negative => "negative",
        }
    }
}

/// A row of the trace of agents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note {
    /// Act of the agent.
    pub act: Act,
    /// The flow that the packet is of.
    pub flow: FlowId,
    /// Set if the numbered data go from the flow's opener to its acceptor.
    pub from_opener: bool,
    /// The sequence number that it is about.
    pub seq: Seq,
}

/// Requests and notes of an agent.
#[derive(Debug, Default)]
pub struct Out {
    /// Requested actions.
    pub actions: Vec<Action>,
    /// Notes on its acts; `None` if nobody reads them.
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

/// Fate of an agent's state of a host's connections when the host leaves the wireless link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaving {
    /// Lost. Connections that need the state are reset.
    Lose,
    /// Transferred to the agent at the next link.
    Transfer,
}

/// State that moves from one agent to another of its kind.
#[derive(Debug)]
pub struct Moved {
    /// Bytes of the ends' data in it.
    pub bytes: u64,
    /// State in the agent's own form.
    pub state: Box<dyn Any + Send>,
}

/// An agent. What it sends meets no other agent of its node.
pub trait Agent: Debug + Send {
    /// Handles a packet that crosses the node. Packets that neither come from the wireless link
    /// nor go there pass.
    fn cross(
        &mut self,
        now: Instant,
        id: PacketId,
        crossing: Crossing,
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict {
        match crossing {
            Crossing::Beside => Verdict::Forward,
            _ => self.on_packet(now, id, crossing, view, out),
        }
    }

    /// Handles a packet of the wireless link, known as `id` until it goes on.
    fn on_packet(
        &mut self,
        now: Instant,
        id: PacketId,
        crossing: Crossing,
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict;

    /// Returns whether the agent follows packets to its wireless link.
    fn follows(&self) -> bool {
        false
    }

    /// Returns whether the agent sends packets ahead of all that wait for its wireless link.
    fn goes_ahead(&self) -> bool {
        false
    }

    /// The link did something with a packet that the agent follows.
    fn on_sent(&mut self, _now: Instant, _tag: Tag, _sent: Sent, _out: &mut Out) {}

    /// Returns the next deadline, if any; asked after each call.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles a deadline.
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

    /// Takes over the state of a host that is now behind the wireless link, from another agent of
    /// the same kind and parameters.
    fn on_join(&mut self, _now: Instant, _moved: Moved, _out: &mut Out) {}

    /// Returns whether a connection needs the state that the agent keeps of it.
    fn is_needed(&self) -> bool {
        false
    }

    /// Switches the agent off or on. While it is off, connections pass as if the agent were absent,
    /// except those that need its state.
    fn switch(&mut self, now: Instant, on: bool, out: &mut Out);

    /// Returns the counters up to `now` by name.
    fn counters(&self, now: Instant) -> Vec<(&'static str, f64)>;
}
