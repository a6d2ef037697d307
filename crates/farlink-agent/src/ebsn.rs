//! Explicit bad state notification for a link with its own retransmissions (west1997, 3.0).
//!
//! Each time that the protocol of the wireless link retransmits a data packet, the agent notifies
//! the packet's sender. The agent retransmits nothing and suppresses no ACK.

use super::connections::{AgentState, Connections, Limits};
use super::crossing::Crossing;
use super::middlebox::{
    Act, Action, Agent, Leaving, LinkEvent, Note, Out, Tag, TransferredState, Verdict,
};
use super::view::View;
use farlink_tcp::{Flags, Instant, Seq};
use farlink_wire::id::{NodeId, PacketId};
use farlink_wire::packet::Packet;
use std::collections::VecDeque;

/// Number of recorded packets, more than a link retransmits at a time.
const MAX_RECENT: usize = 1024;

/// Agent that sends bad-state notices.
#[derive(Debug)]
pub struct Ebsn {
    connections: Connections<NoState>,
    /// Packets sent to the link, the newest last: packet number, sequence number and packet.
    recent: VecDeque<(u64, Seq, Packet)>,
    next: u64,
    notices: u64,
}

/// Per-connection state of an agent that needs none.
#[derive(Debug, Default)]
struct NoState;

impl AgentState for NoState {}

impl Ebsn {
    /// Creates an agent without connections.
    pub fn new(limits: Limits) -> Self {
        Self {
            connections: Connections::new(limits),
            recent: VecDeque::new(),
            next: 0,
            notices: 0,
        }
    }
}

impl Agent for Ebsn {
    fn on_packet(
        &mut self,
        now: Instant,
        _id: PacketId,
        crossing: Crossing,
        view: &mut View<'_>,
        _out: &mut Out,
    ) -> Verdict {
        let Some((ends, segment)) = view.ends_and_segment(crossing) else {
            return Verdict::Forward;
        };
        let accepted = self
            .connections
            .on_segment(now, ends, crossing, segment, |_, _| ());
        if accepted.is_none()
            || crossing != Crossing::ToWireless
            || segment.body.is_empty()
            || segment.flags.has(Flags::RST)
            || segment.dummy
        {
            return Verdict::Forward;
        }
        let seq = segment.data_seq();
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.next += 1;
        self.recent.push_back((self.next, seq, view.copy()));
        Verdict::Follow(Tag(self.next))
    }

    fn follows(&self) -> bool {
        true
    }

    fn on_sent(&mut self, _now: Instant, tag: Tag, sent: LinkEvent, out: &mut Out) {
        let place = self.recent.binary_search_by_key(&tag.0, |entry| entry.0);
        let Ok(place) = place else { return };
        if let LinkEvent::Retransmitted(_) = sent {
            let (_, seq, packet) = &self.recent[place];
            let (flow, from_opener) = (packet.flow, packet.from_opener);
            self.notices += 1;
            out.note(|| Note {
                act: Act::Notice,
                flow,
                from_opener,
                seq: *seq,
            });
            out.actions.push(Action::Notify(packet.clone()));
        }
    }

    fn on_leave(
        &mut self,
        _now: Instant,
        host: NodeId,
        how: Leaving,
        _out: &mut Out,
    ) -> Option<TransferredState> {
        self.connections.leave(host, how)
    }

    fn on_join(&mut self, now: Instant, moved: TransferredState, _out: &mut Out) {
        self.connections.join(now, moved, |_, _| {});
    }

    fn switch(&mut self, _now: Instant, on: bool, _out: &mut Out) {
        self.connections.switch(on);
        self.recent.clear();
    }

    fn counters(&self, _now: Instant) -> Vec<(&'static str, f64)> {
        let mut all = vec![("notices", self.notices as f64)];
        all.extend(self.connections.counters());
        all
    }
}

#[cfg(test)]
mod tests;
