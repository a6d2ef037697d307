//! Interface between an agent and the network: the agent sees packets and decides their fate.

use super::crossing::Crossing;
use super::view::View;
use farlink_small::{Printable, printable};
use farlink_tcp::{Flags, Instant, Reason, Seq};
use farlink_wire::id::{FlowId, NodeId, PacketId};
use farlink_wire::packet::Packet;
use std::any::Any;

printable!(Agent);

/// Identifier that an agent gives to a packet to receive its events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tag(pub u64);

/// Verdict on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Forwards the packet with the agent's changes.
    Forward,
    /// Forwards the packet, and reports its fate at the link to [`Agent::on_sent`].
    Follow(Tag),
    /// Drops the packet, with the cause `agent`.
    Drop,
    /// Ends the packet at the agent without a loss, because the agent has read its content.
    Absorb,
    /// Keeps the packet at the node until [`Action::Release`] or [`Action::Discard`].
    Hold,
}

/// A packet that an agent sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Injection {
    /// Packet to send.
    pub packet: Packet,
    /// Set if the packet precedes all packets that wait for its link. The link's scheduler must
    /// allow this.
    pub ahead: bool,
    /// Tag under which the packet's fate at the link is reported, if wanted.
    pub follow: Option<Tag>,
    /// Reason of the packet, and whether some of its data is a retransmission.
    pub why: (Reason, bool),
}

/// Action of an agent in addition to its verdict; actions run in the order of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Sends a packet of the agent. It is queued and counted like any other packet of its link.
    Inject(Injection),
    /// Notifies the sender of this packet by ICMP that the wireless link is in a bad state
    /// (west1997, 3.0).
    Notify(Packet),
    /// Forwards a held packet.
    Release(PacketId),
    /// Drops a held packet.
    Discard(PacketId),
}

/// Event of a followed packet at its link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkEvent {
    /// First transmission of the packet; its last bit leaves the transmitter at this time.
    Departed(Instant),
    /// Retransmission of the packet by the link's protocol; its last bit leaves at this time.
    Retransmitted(Instant),
    /// Loss of the packet before transmission: the queue refused it, or it was dropped at the node.
    Refused,
}

/// Act of an agent, for the agent trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Stored a copy of data, or recorded that it passed.
    Keep,
    /// Retransmitted a copy because of a duplicate ACK.
    Resend,
    /// Retransmitted a copy because the agent's timer expired.
    Timeout,
    /// Gave up a copy after its last try.
    GiveUp,
    /// Suppressed a duplicate ACK.
    Suppress,
    /// Marked an ACK.
    Mark,
    /// Sent a partial acknowledgment.
    Partial,
    /// Notified the sender of a bad state.
    Notice,
    /// Assumption that the connection's ACKs take another path.
    Blind,
    /// Acknowledgment of data in the receiver's name.
    Acknowledge,
    /// Transmission of data of one half of a split connection to the other half or to an end.
    Relay,
    /// Reset both ends of a connection.
    Reset,
    /// Sent a negative acknowledgment to the mobile host for data lost on the radio.
    Negative,
}

impl Act {
    /// All acts in the order of their numeric codes.
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

    /// Returns the name of the act in traces.
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

/// Row of the agent trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note {
    /// Act of the agent.
    pub act: Act,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Set if the numbered data goes from the flow's opener to its acceptor.
    pub from_opener: bool,
    /// Sequence number of the act.
    pub seq: Seq,
}

/// Returns the reason of a packet that an agent made from its copies and counters. The flag is set
/// if the packet's data was sent before.
fn reason_of(packet: &Packet) -> (Reason, bool) {
    let Some(segment) = packet.tcp() else {
        return (Reason::Icmp, false);
    };
    let reason = if segment.flags.has(Flags::RST) {
        Reason::AgentReset
    } else if !segment.body.is_empty() {
        Reason::AgentRetransmission
    } else if segment.options.ackp {
        Reason::AgentPartialAck
    } else if segment.options.nack {
        Reason::AgentNegativeAck
    } else if segment.options.eln {
        Reason::AgentMark
    } else {
        Reason::AgentAck
    };
    (reason, reason == Reason::AgentRetransmission)
}

/// Requests and notes of an agent.
#[derive(Debug, Default)]
pub struct Out {
    /// Requested actions.
    pub actions: Vec<Action>,
    /// Traced acts; `None` if the trace is off.
    pub notes: Option<Vec<Note>>,
}

impl Out {
    /// Sends a packet behind the packets that wait for the link: a retransmission of data, or a
    /// segment without data in the name of an end.
    pub fn inject(&mut self, packet: Packet) {
        let why = reason_of(&packet);
        self.inject_because(packet, why);
    }

    /// Sends a packet behind the packets that wait for the link, for the reason in `why`. The flag
    /// in `why` is set if some of the packet's data was sent before.
    pub fn inject_because(&mut self, packet: Packet, why: (Reason, bool)) {
        self.actions.push(Action::Inject(Injection {
            packet,
            ahead: false,
            follow: None,
            why,
        }));
    }

    /// Traces an act if the trace is on.
    #[inline]
    pub fn note(&mut self, note: impl FnOnce() -> Note) {
        if let Some(notes) = &mut self.notes {
            notes.push(note());
        }
    }

    /// Traces an act about the data that a packet acknowledges, if the trace is on.
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

/// Fate of an agent's state for the connections of a host that leaves the wireless link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaving {
    /// Lost. Connections that need the state are reset.
    Lose,
    /// Transferred to the agent at the next link.
    Transfer,
}

/// State that moves from one agent to another of its kind.
#[derive(Debug)]
pub struct TransferredState {
    /// Bytes of user data in the state.
    pub bytes: u64,
    /// State in the format of the agent's kind.
    pub state: Box<dyn Any + Send>,
}

/// Agent at a node. Packets that an agent sends do not pass through other agents of the node.
pub trait Agent: Printable + Send {
    /// Handles a packet that crosses the node. A packet that neither comes from the wireless link
    /// nor goes to it is forwarded.
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

    /// Handles a packet of the wireless link; `id` names the packet until it is forwarded.
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

    /// Returns whether the agent sends packets ahead of the queue of its wireless link.
    fn sends_ahead(&self) -> bool {
        false
    }

    /// Reports an event of a followed packet at its link.
    fn on_sent(&mut self, _now: Instant, _tag: Tag, _sent: LinkEvent, _out: &mut Out) {}

    /// Returns the next deadline, if any. The caller reads it after each call.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles the deadline that [`Self::deadline`] returned.
    fn on_deadline(&mut self, _now: Instant, _out: &mut Out) {}

    /// Reports that a host behind the wireless link leaves. Returns the state that moves with the
    /// host, if `how` transfers it.
    fn on_leave(
        &mut self,
        _now: Instant,
        _host: NodeId,
        _how: Leaving,
        _out: &mut Out,
    ) -> Option<TransferredState> {
        None
    }

    /// Receives the state of a host that is now behind the wireless link, from another agent of the
    /// same kind and parameters.
    fn on_join(&mut self, _now: Instant, _moved: TransferredState, _out: &mut Out) {}

    /// Returns whether some connection needs the agent's state to continue.
    fn is_needed(&self) -> bool {
        false
    }

    /// Returns whether the agent ends connections and cuts their data into segments of its own.
    fn cuts_anew(&self) -> bool {
        false
    }

    /// Switches the agent off or on. While it is off, packets pass as if the agent were absent,
    /// except those of connections that need its state.
    fn switch(&mut self, now: Instant, on: bool, out: &mut Out);

    /// Returns the counters up to `now` by name.
    fn counters(&self, now: Instant) -> Vec<(&'static str, f64)>;
}
