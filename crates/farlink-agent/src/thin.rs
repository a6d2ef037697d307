//! Thinning of ACKs at a modem (RFC 3449, 5.2.1 and 5.3): of the pure ACKs of a connection one
//! leaves per interval, the newest.
//!
//! An ACK is dropped only if a newer one has all its information: a higher acknowledgment number or
//! more SACK, the same ECN flags, and no duplicate SACK. Everything else passes at once.

use super::connections::Limits;
use super::crossing::{Crossing, Ends};
use super::middlebox::{Act, Action, Agent, Leaving, Out, TransferredState, Verdict};
use super::view::View;
use farlink_small::Map;
use farlink_tcp::{Instant, Interval};
use farlink_wire::classify::AckHeader;
use farlink_wire::id::{NodeId, PacketId};
use std::collections::VecDeque;

/// Parameters of the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThinConfig {
    /// Least time between two pure ACKs of a connection.
    pub interval: Interval,
    /// Most ACKs that one ACK replaces. The next one leaves at once.
    pub most: u32,
    /// Limit on the number of connections with state.
    pub limits: Limits,
}

/// Agent that thins ACKs.
#[derive(Debug)]
pub struct Thin {
    config: ThinConfig,
    /// Connections whose last pure ACK left less than an interval ago.
    flows: Map<Ends, Flow>,
    /// Ends of the intervals, in order. An entry is stale if its flow has another end.
    ends: VecDeque<(Instant, Ends)>,
    off: bool,
    passed: u64,
    held: u64,
    dropped: u64,
}

#[derive(Debug)]
struct Flow {
    /// End of the interval.
    until: Instant,
    held: Option<Held>,
}

/// ACK that waits for the end of the interval.
#[derive(Debug)]
struct Held {
    id: PacketId,
    header: AckHeader,
    /// Number of ACKs that the ACK replaces.
    replaced: u32,
}

impl Thin {
    /// Creates an agent without connections.
    pub fn new(config: ThinConfig) -> Self {
        Self {
            config,
            flows: Map::default(),
            ends: VecDeque::new(),
            off: false,
            passed: 0,
            held: 0,
            dropped: 0,
        }
    }

    /// Begins an interval of a connection.
    fn begin(&mut self, now: Instant, ends: Ends) {
        let until = now + self.config.interval;
        self.flows.insert(ends, Flow { until, held: None });
        self.ends.push_back((until, ends));
    }

    /// Releases the ACK that a connection holds.
    fn release(&mut self, ends: Ends, out: &mut Out) {
        if let Some(held) = self.flows.get_mut(&ends).and_then(|flow| flow.held.take()) {
            self.passed += 1;
            out.actions.push(Action::Release(held.id));
        }
    }

    /// Handles a pure ACK.
    fn on_ack(
        &mut self,
        now: Instant,
        id: PacketId,
        (ends, header): (Ends, AckHeader),
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict {
        let Some(flow) = self.flows.get_mut(&ends) else {
            self.passed += 1;
            if self.flows.len() < self.config.limits.connections {
                self.begin(now, ends);
            }
            return Verdict::Forward;
        };
        let mut replaced = 0;
        if let Some(older) = flow.held.take() {
            if older.header.echo != header.echo || !older.header.is_covered_by(&header) {
                self.passed += 2;
                out.actions.push(Action::Release(older.id));
                return Verdict::Forward;
            }
            replaced = older.replaced + 1;
            self.dropped += 1;
            out.actions.push(Action::Discard(older.id));
            out.note_back(view, Act::Suppress, older.header.ack);
        }
        if replaced >= self.config.most {
            self.passed += 1;
            self.begin(now, ends);
            return Verdict::Forward;
        }
        self.held += 1;
        flow.held = Some(Held {
            id,
            header,
            replaced,
        });
        Verdict::Hold
    }

    /// Releases all held ACKs that `which` selects.
    fn release_all(&mut self, which: impl Fn(&Ends) -> bool, out: &mut Out) {
        let all: Vec<_> = self.flows.keys().copied().filter(which).collect();
        for ends in all {
            self.release(ends, out);
        }
    }
}

impl Agent for Thin {
    fn on_packet(
        &mut self,
        now: Instant,
        id: PacketId,
        crossing: Crossing,
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict {
        if self.off || crossing != Crossing::ToWireless {
            return Verdict::Forward;
        }
        let Some(ends) = view.ends(crossing) else {
            return Verdict::Forward;
        };
        if let Some(header) = view.ack_header().filter(|header| header.is_pure) {
            return self.on_ack(now, id, (ends, header), view, out);
        }
        self.release(ends, out); // keeps the order of the connection
        Verdict::Forward
    }

    fn deadline(&self) -> Option<Instant> {
        self.ends.front().map(|&(until, _)| until)
    }

    fn on_deadline(&mut self, now: Instant, out: &mut Out) {
        while let Some(&(until, ends)) = self.ends.front()
            && until <= now
        {
            self.ends.pop_front();
            let Some(flow) = self.flows.get(&ends).filter(|flow| flow.until == until) else {
                continue;
            };
            if flow.held.is_some() {
                self.release(ends, out);
                self.begin(now, ends);
            } else {
                self.flows.remove(&ends);
            }
        }
    }

    fn on_leave(
        &mut self,
        _now: Instant,
        host: NodeId,
        _how: Leaving,
        out: &mut Out,
    ) -> Option<TransferredState> {
        self.release_all(|ends| ends.wireless_is(host), out);
        None
    }

    fn switch(&mut self, _now: Instant, on: bool, out: &mut Out) {
        self.release_all(|_| true, out);
        self.flows = Map::default();
        self.ends.clear();
        self.off = !on;
    }

    fn counters(&self, _now: Instant) -> Vec<(&'static str, f64)> {
        vec![
            ("acks_passed", self.passed as f64),
            ("acks_delayed", self.held as f64),
            ("acks_dropped", self.dropped as f64),
        ]
    }
}

#[cfg(test)]
mod tests;
