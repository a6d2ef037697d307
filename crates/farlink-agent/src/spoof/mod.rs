//! Spoofing (vatne2006, 1.1 and 2): the agent in front of a satellite link acknowledges data in the
//! far end's name, and becomes responsible for its delivery.
//!
//! Both ends share one connection, and sequence numbers are unchanged. The agent caches data until
//! the far end acknowledges it, and retransmits lost data. It suppresses ACKs that the sender
//! already has.

mod ends;
mod passed;
mod state;
mod store;

use super::connections::Limits;
use super::crossing::{Crossing, Ends};
use super::middlebox::{Act, Agent, Leaving, Out, TransferredState, Verdict};
use super::view::{Path, View};
use farlink_small::{Map, Set};
use farlink_tcp::{Flags, Instant, Segment};
use farlink_wire::id::{NodeId, PacketId};
use farlink_wire::packet::Packet;
use state::{Count, Disposition, Spoofed};

/// Settings of the agent.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Maximum number of bytes per connection that the agent acknowledges before the far end does.
    pub buffer: u64,
    /// Number of consecutive RTOs after which the agent gives up a connection.
    pub tries: u32,
    /// Limits on connections. An idle connection may be removed when another needs its room.
    pub limits: Limits,
}

/// Agent that acknowledges data in the far end's name.
#[derive(Debug)]
pub struct Spoof {
    settings: Settings,
    /// Set if new connections are spoofed. Otherwise only known ones continue.
    is_on: bool,
    all: Map<Ends, Box<Spoofed>>,
    timers: Set<(Instant, Ends)>,
    /// Time before which no connection becomes idle.
    idle_from: Instant,
    packets: Vec<Packet>,
    opened: u64,
    refused: u64,
    /// Number of fragments, which pass unread.
    fragments: u64,
    failed: u64,
    lost: u64,
    held: u64,
    held_max: u64,
    /// Counters of the removed connections.
    count: Count,
}

/// Connections transferred from one agent to another.
type Transferred = Vec<(Ends, Box<Spoofed>)>;

impl Spoof {
    /// Creates an agent without connections.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            is_on: true,
            all: Map::new(),
            timers: Set::new(),
            idle_from: Instant::ZERO,
            packets: Vec::new(),
            opened: 0,
            refused: 0,
            fragments: 0,
            failed: 0,
            lost: 0,
            held: 0,
            held_max: 0,
            count: Count::default(),
        }
    }

    /// Sends the pending packets of a connection, and updates its deadline and the buffer counter.
    /// Removes a finished connection. `before` is the number of bytes that the connection held
    /// before.
    fn flush_and_rearm(&mut self, ends: Ends, before: u64, out: &mut Out) {
        for packet in self.packets.drain(..) {
            out.inject(packet);
        }
        let Some(state) = self.all.get_mut(&ends) else {
            return;
        };
        state.emit_trace(out);
        self.held = self.held - before + state.held();
        self.held_max = self.held_max.max(self.held);
        let timer = state.deadline;
        if timer != state.timer {
            let old = std::mem::replace(&mut state.timer, timer);
            old.map(|at| self.timers.remove(&(at, ends)));
            self.timers.extend(timer.map(|at| (at, ends)));
        }
        if state.is_over() {
            self.remove_connection(ends);
        }
    }

    /// Removes a connection and adds up its counters.
    fn remove_connection(&mut self, ends: Ends) {
        if let Some(state) = self.detach(ends) {
            self.count.add(&state.count);
        }
    }

    fn detach(&mut self, ends: Ends) -> Option<Box<Spoofed>> {
        let mut state = self.all.remove(&ends)?;
        if let Some(at) = state.timer.take() {
            self.timers.remove(&(at, ends));
        }
        self.held -= state.held();
        Some(state)
    }

    /// Removes a connection, and counts acknowledged data that the far end does not have as lost.
    fn fail(&mut self, ends: Ends) {
        let lost = self.all.get(&ends).map_or(0, |state| state.unconfirmed());
        self.failed += u64::from(lost > 0);
        self.lost += lost;
        self.remove_connection(ends);
    }

    /// Handles a SYN, which always passes. The first SYN of a connection creates its state.
    fn on_syn(
        &mut self,
        now: Instant,
        ends: Ends,
        crossing: Crossing,
        (segment, mut path): (&Segment, Path),
        out: &mut Out,
    ) {
        let from_sender = crossing == Crossing::ToWireless;
        let state = self.all.get(&ends);
        if from_sender && state.is_some_and(|state| state.is_other(segment)) {
            self.fail(ends);
        }
        let begins = !segment.flags.has(Flags::ACK) && self.is_on;
        if begins && !self.all.contains_key(&ends) {
            if !self.has_room(now, out) {
                self.refused += 1;
                return;
            }
            self.opened += 1;
            let mut ports = (segment.src_port, segment.dst_port);
            if from_sender {
                (path, ports) = (path.reverse(), (ports.1, ports.0));
            }
            let state = Spoofed::new(path, ports, now);
            self.all.insert(ends, Box::new(state));
        }
        match self.all.get_mut(&ends) {
            Some(state) if from_sender => state.near_syn(segment),
            Some(state) => state.far_syn(segment, now),
            None => {}
        }
    }

    /// Returns whether there is room for another connection, after removing idle ones.
    fn has_room(&mut self, now: Instant, out: &mut Out) -> bool {
        let limits = self.settings.limits;
        if self.all.len() < limits.connections {
            return true;
        }
        if now < self.idle_from {
            return false;
        }
        let idle = self
            .all
            .iter()
            .filter(|(_, state)| now.since(state.last) >= limits.idle);
        let idle: Vec<Ends> = idle.map(|(&ends, _)| ends).collect();
        for ends in idle {
            self.give_up(ends, out);
        }
        let oldest = self.all.values().map(|state| state.last).min();
        self.idle_from = oldest.unwrap_or(now) + limits.idle;
        self.all.len() < limits.connections
    }

    /// Removes a connection. Both ends are reset if the far end lacks acknowledged data.
    fn give_up(&mut self, ends: Ends, out: &mut Out) {
        if let Some(state) = self.all.get_mut(&ends) {
            state.emit_trace(out);
            if state.unconfirmed() > 0 {
                state.push_resets(&mut self.packets);
                let (act, seq) = (Act::Reset, state.confirmed());
                out.note(|| state.note(act, seq));
            }
        }
        for packet in self.packets.drain(..) {
            out.inject(packet);
        }
        self.fail(ends);
    }
}

impl Agent for Spoof {
    fn on_packet(
        &mut self,
        now: Instant,
        _id: PacketId,
        crossing: Crossing,
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict {
        let from_sender = crossing == Crossing::ToWireless;
        let Some(ends) = view.ends(crossing) else {
            self.fragments += u64::from(view.is_fragment());
            return Verdict::Forward;
        };
        let Some(segment) = view.segment() else {
            return Verdict::Forward;
        };
        let (flags, segment) = (segment.flags, segment.clone());
        if flags.has(Flags::SYN) && !flags.has(Flags::RST) {
            self.on_syn(now, ends, crossing, (&segment, view.path()), out);
            return Verdict::Forward;
        }
        let Some(state) = self.all.get_mut(&ends) else {
            return Verdict::Forward;
        };
        if flags.has(Flags::RST) {
            self.fail(ends);
            return Verdict::Forward;
        }
        let before = state.held();
        let (settings, packets) = (&self.settings, &mut self.packets);
        let disposition = if from_sender {
            state.on_sender_segment(settings, &segment, || view.copy(), now, packets)
        } else {
            state.on_far_segment(settings, &segment, now, packets)
        };
        let window = match disposition {
            Disposition::ForwardRewritten => Some(state.window(settings)),
            Disposition::ForwardDuplicate => Some(state.last_field(settings)),
            _ => None,
        };
        if let Some(window) = window {
            let ack = state.acked();
            view.rewrite(|segment| (segment.ack, segment.window) = (ack, window));
        }
        self.flush_and_rearm(ends, before, out);
        match disposition {
            Disposition::Forward
            | Disposition::ForwardRewritten
            | Disposition::ForwardDuplicate => Verdict::Forward,
            Disposition::Absorb => Verdict::Absorb,
            Disposition::Suppress => Verdict::Drop,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|&(at, _)| at)
    }

    fn on_deadline(&mut self, now: Instant, out: &mut Out) {
        let due = self.timers.iter().take_while(|(at, _)| *at <= now);
        let due: Vec<Ends> = due.map(|&(_, ends)| ends).collect();
        for ends in due {
            let Some(state) = self.all.get_mut(&ends) else {
                continue;
            };
            let before = state.held();
            if state.expire(&self.settings, now, &mut self.packets) {
                self.flush_and_rearm(ends, before, out);
            } else {
                self.give_up(ends, out);
            }
        }
    }

    fn on_leave(
        &mut self,
        _now: Instant,
        host: NodeId,
        how: Leaving,
        out: &mut Out,
    ) -> Option<TransferredState> {
        let of_host = |ends: &&Ends| ends.wireless_is(host);
        let leaving: Vec<Ends> = self.all.keys().filter(of_host).copied().collect();
        if how == Leaving::Lose {
            for ends in leaving {
                self.give_up(ends, out);
            }
            return None;
        }
        let (mut bytes, mut state) = (0, Transferred::new());
        for ends in leaving {
            if let Some(spoofed) = self.detach(ends) {
                bytes += spoofed.held();
                state.push((ends, spoofed));
            }
        }
        let state = Box::new(state);
        Some(TransferredState { bytes, state })
    }

    fn on_join(&mut self, now: Instant, moved: TransferredState, out: &mut Out) {
        let Ok(joining) = moved.state.downcast::<Transferred>() else {
            return;
        };
        for (ends, mut spoofed) in *joining {
            if self.all.contains_key(&ends) {
                continue;
            }
            let has_room = self.has_room(now, out);
            spoofed.last = now;
            if has_room {
                self.all.insert(ends, spoofed);
                self.flush_and_rearm(ends, 0, out);
            } else {
                // Nothing else would deliver the acknowledged data, so both ends are reset.
                self.refused += 1;
                self.held += spoofed.held();
                self.all.insert(ends, spoofed);
                self.give_up(ends, out);
            }
        }
        self.on_deadline(now, out);
    }

    fn is_needed(&self) -> bool {
        true
    }

    fn switch(&mut self, _now: Instant, on: bool, _out: &mut Out) {
        self.is_on = on;
    }

    fn counters(&self, _now: Instant) -> Vec<(&'static str, f64)> {
        let mut sum = self.count;
        let mut unconfirmed = 0;
        for state in self.all.values() {
            sum.add(&state.count);
            unconfirmed += state.unconfirmed();
        }
        vec![
            ("connections", self.opened as f64),
            ("connections_refused", self.refused as f64),
            ("fragments", self.fragments as f64),
            ("connections_failed", self.failed as f64),
            ("acks_spoofed", sum.spoofed as f64),
            ("suppressed", sum.suppressed as f64),
            ("cached", sum.cached as f64),
            ("no_room", sum.no_room as f64),
            ("local_retransmissions", sum.resent as f64),
            ("local_timeouts", sum.timeouts as f64),
            ("bytes_held", self.held as f64),
            ("bytes_held_max", self.held_max as f64),
            ("bytes_unconfirmed", unconfirmed as f64),
            ("bytes_lost", self.lost as f64),
        ]
    }
}

impl Count {
    fn add(&mut self, other: &Self) {
        self.spoofed += other.spoofed;
        self.cached += other.cached;
        self.suppressed += other.suppressed;
        self.resent += other.resent;
        self.timeouts += other.timeouts;
        self.no_room += other.no_room;
    }
}

#[cfg(test)]
mod tests;
