//! Split connections (I-TCP: west1997, 2.5): the agent terminates the connection of each end, and
//! relays the data.
//!
//! Each half is a separate TCP connection with the addresses and ports of the two ends, so the
//! agent is transparent to them. An acknowledgment means only that the agent has the data.

mod relay;
mod satellite;
mod transport;

use super::connections::Limits;
use super::crossing::{Crossing, Ends};
use super::middlebox::{Agent, Leaving, Out, TransferredState, Verdict};
use super::view::{Path, View};
use farlink_small::{Map, Set};
use farlink_tcp::{Config, Flags, Instant, Interval, IpVersion, Segment, Seq, Stats};
use farlink_wire::id::{NodeId, PacketId};
use relay::{Made, Opening, Relay};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

pub use transport::Far;

/// Settings of the agent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// TCP parameters of the half on the wireless side and of the other half. The send buffer of a
    /// half limits the relayed data that it stores.
    pub tcp: [Arc<Config>; 2],
    /// TCP parameters of the halves over IPv6, with shorter segments.
    pub tcp6: [Arc<Config>; 2],
    /// Set if a SYN is answered at once, before the other end has answered.
    pub early: bool,
    /// Time for which bytes wait to fill a segment of the other half; `None` to send them at once.
    pub linger: Option<Interval>,
    /// Time that a packet spends in the protocol stack, for each direction.
    pub stack_delay: Interval,
    /// Limits on connections. A connection idle for `limits.idle` is removed to make room for a new
    /// one.
    pub limits: Limits,
    /// Transport of the halves towards the wireless side if it is not TCP.
    pub far: Option<Far>,
}

impl Settings {
    /// Returns the TCP parameters of a half over this IP version.
    fn tcp_over(&self, ip: IpVersion, half: usize) -> Arc<Config> {
        let both = match ip {
            IpVersion::V4 => &self.tcp,
            IpVersion::V6 => &self.tcp6,
        };
        Arc::clone(&both[half])
    }
}

/// Agent that splits connections.
#[derive(Debug)]
pub struct Split {
    settings: Settings,
    /// Set if new connections are split. Otherwise only existing ones continue.
    is_on: bool,
    relays: Map<Ends, Box<Relay>>,
    /// Deadlines of the connections, in order.
    timers: Set<(Instant, Ends)>,
    /// Finished relays that only wait for old segments. New connections replace them.
    spent: Set<Ends>,
    /// Time before which no relay becomes idle.
    idle_from: Instant,
    /// Packets in the stack, in the order in which they leave it.
    stack: VecDeque<(Instant, Passing)>,
    scratch: Vec<u8>,
    packets: Vec<Made>,
    count: Count,
}

/// Connections transferred from one agent to another.
type Transferred = Vec<(Ends, Box<Relay>)>;

/// Packet that crosses the protocol stack.
#[derive(Debug)]
enum Passing {
    Up(Arrived),
    /// Packet of XTP or STP from the satellite.
    Datagram(Box<satellite::ArrivedPdu>),
    Down(Made),
}

/// Segment that arrived at the agent.
#[derive(Debug)]
struct Arrived {
    ends: Ends,
    from: usize,
    path: Path,
    segment: Segment,
}

#[derive(Debug, Default)]
struct Count {
    opened: u64,
    refused: u64,
    /// Number of fragments, which pass unread.
    fragments: u64,
    blind: u64,
    failed: u64,
    lost: u64,
    /// Bytes buffered at present, and their maximum.
    held: u64,
    held_max: u64,
    /// Integral of the buffered bytes over time (byte ns) from `began` to `until`.
    held_sum: u128,
    began: Option<Instant>,
    until: Instant,
    unconfirmed: u64,
    unconfirmed_max: u64,
    /// Counters of the removed connections.
    stats: [Stats; 2],
}

impl Split {
    /// Creates an agent without connections.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            is_on: true,
            relays: Map::new(),
            timers: Set::new(),
            spent: Set::new(),
            idle_from: Instant::ZERO,
            stack: VecDeque::new(),
            scratch: Vec::new(),
            packets: Vec::new(),
            count: Count::default(),
        }
    }

    /// Handles a segment that has left the stack. Returns whether the agent processed it.
    fn arrive(&mut self, now: Instant, arrived: Arrived, out: &mut Out) -> bool {
        let Arrived {
            ends,
            from,
            path,
            segment,
        } = arrived;
        let opens = opens(&segment);
        if let Some(relay) = self.relays.get(&ends)
            && opens
            && relay.gives_way_to(&segment)
        {
            self.remove_connection(ends, now);
        }
        let settings = &self.settings;
        if let Some(relay) = self.relays.get_mut(&ends) {
            if !relay.on_segment(settings, from, &segment, now) {
                self.count.blind += 1;
                self.remove_connection(ends, now);
                return false;
            }
        } else if !opens || !self.has_room(now, out) {
            self.count.refused += u64::from(opens);
            return false;
        } else {
            self.count.opened += 1;
            let early = self.settings.early.then(|| number(ends, now));
            let opening = Opening {
                from,
                path,
                syn: segment,
                early,
                far: self.settings.far.filter(|_| from == 1),
                key: 1 << 48 | u64::from(number(ends, now).0),
            };
            let relay = Relay::open(&self.settings, opening, now);
            self.relays.insert(ends, Box::new(relay));
        }
        self.serve(ends, now, out);
        true
    }

    /// Lets a relay exchange data, and sends its packets.
    fn serve(&mut self, ends: Ends, now: Instant, out: &mut Out) {
        let Some(relay) = self.relays.get_mut(&ends) else {
            return;
        };
        if out.notes.is_some() {
            relay.set_tracing();
        }
        relay.serve(&self.settings, now, &mut self.scratch, &mut self.packets);
        self.count.update_held(now, relay);
        relay.emit_trace(out);
        for made in self.packets.drain(..) {
            if self.settings.stack_delay.is_zero() {
                out.inject_because(made.0, made.1);
            } else {
                let at = now + self.settings.stack_delay;
                self.stack.push_back((at, Passing::Down(made)));
            }
        }
        if relay.is_over() {
            self.remove_connection(ends, now);
            return;
        }
        let timer = relay.deadline();
        if timer != relay.timer {
            let before = std::mem::replace(&mut relay.timer, timer);
            before.map(|at| self.timers.remove(&(at, ends)));
            self.timers.extend(timer.map(|at| (at, ends)));
        }
        if relay.is_spent() {
            self.spent.insert(ends);
        }
    }

    /// Removes a connection and adds up its counters.
    fn remove_connection(&mut self, ends: Ends, now: Instant) {
        if let Some(mut relay) = self.detach(ends) {
            self.count.drop_held(now, &mut relay);
        }
    }

    fn detach(&mut self, ends: Ends) -> Option<Box<Relay>> {
        let mut relay = self.relays.remove(&ends)?;
        if let Some(at) = relay.timer.take() {
            self.timers.remove(&(at, ends));
        }
        self.spent.remove(&ends);
        Some(relay)
    }

    /// Returns whether there is room for another connection, after removing finished and idle ones.
    fn has_room(&mut self, now: Instant, out: &mut Out) -> bool {
        let limits = self.settings.limits;
        if self.relays.len() < limits.connections {
            return true;
        }
        if let Some(&ends) = self.spent.first() {
            self.remove_connection(ends, now);
            return true;
        }
        if now < self.idle_from {
            return false;
        }
        let idle = |relay: &Relay| now.since(relay.last) >= limits.idle;
        let over: Vec<_> = self
            .relays
            .iter()
            .filter(|(_, relay)| idle(relay))
            .collect();
        let over: Vec<Ends> = over.into_iter().map(|(&ends, _)| ends).collect();
        for ends in over {
            if let Some(relay) = self.relays.get_mut(&ends) {
                relay.abort(now);
            }
            self.serve(ends, now, out);
        }
        let oldest = self.relays.values().map(|relay| relay.last).min();
        self.idle_from = oldest.unwrap_or(now) + limits.idle;
        self.relays.len() < limits.connections
    }
}

impl Agent for Split {
    fn on_packet(
        &mut self,
        now: Instant,
        _id: PacketId,
        crossing: Crossing,
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict {
        let from = usize::from(crossing == Crossing::ToWireless);
        if self.settings.far.is_some() && crossing == Crossing::FromWireless {
            return self.on_datagram(now, view, out);
        }
        let Some(ends) = view.ends(crossing) else {
            self.count.fragments += u64::from(view.is_fragment());
            return Verdict::Forward;
        };
        let is_known = self.relays.contains_key(&ends);
        let opens = view.segment().is_some_and(opens);
        if !(is_known || opens && self.is_on) {
            return Verdict::Forward;
        }
        if !is_known && !self.has_room(now, out) {
            self.count.refused += 1;
            return Verdict::Forward;
        }
        let path = view.path();
        let Some(segment) = view.whole() else {
            return Verdict::Forward;
        };
        let arrived = Arrived {
            ends,
            from,
            path,
            segment,
        };
        if !self.settings.stack_delay.is_zero() {
            let at = now + self.settings.stack_delay;
            self.stack.push_back((at, Passing::Up(arrived)));
        } else if !self.arrive(now, arrived, out) {
            return Verdict::Forward;
        }
        Verdict::Absorb
    }

    fn deadline(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|&(at, _)| at);
        let stack = self.stack.front().map(|&(at, _)| at);
        timer.into_iter().chain(stack).min()
    }

    fn on_deadline(&mut self, now: Instant, out: &mut Out) {
        while self.stack.front().is_some_and(|&(at, _)| at <= now)
            && let Some((_, passing)) = self.stack.pop_front()
        {
            match passing {
                Passing::Down((packet, why)) => out.inject_because(packet, why),
                Passing::Datagram(arrived) => self.arrive_pdu(now, &arrived, out),
                Passing::Up(arrived) => {
                    let (path, segment) = (arrived.path, arrived.segment.clone());
                    if !self.arrive(now, arrived, out) {
                        // The segment is not for the agent and is forwarded.
                        if let Ok(packet) = path.packet(segment) {
                            out.inject(packet);
                        }
                    }
                }
            }
        }
        // The due relays are collected first. A relay that is due again at once waits for the next
        // call.
        let due = self.timers.iter().take_while(|(at, _)| *at <= now);
        let due: Vec<Ends> = due.map(|&(_, ends)| ends).collect();
        for ends in due {
            if let Some(relay) = self.relays.get_mut(&ends) {
                relay.expire(now);
            }
            self.serve(ends, now, out);
        }
    }

    fn on_leave(
        &mut self,
        now: Instant,
        host: NodeId,
        how: Leaving,
        out: &mut Out,
    ) -> Option<TransferredState> {
        let of_host = |ends: &&Ends| ends.wireless_is(host);
        let leaving: Vec<Ends> = self.relays.keys().filter(of_host).copied().collect();
        if how == Leaving::Lose {
            for ends in leaving {
                if let Some(relay) = self.relays.get_mut(&ends) {
                    relay.abort(now);
                }
                self.serve(ends, now, out);
            }
            return None;
        }
        let (mut bytes, mut state) = (0, Transferred::new());
        for ends in leaving {
            if let Some(mut relay) = self.detach(ends) {
                bytes += self.count.transfer_held(now, &mut relay);
                state.push((ends, relay));
            }
        }
        let state = Box::new(state);
        Some(TransferredState { bytes, state })
    }

    fn on_join(&mut self, now: Instant, moved: TransferredState, out: &mut Out) {
        let Ok(joining) = moved.state.downcast::<Transferred>() else {
            return;
        };
        for (ends, mut relay) in *joining {
            // A newer connection with the same ends began here.
            if self.relays.contains_key(&ends) {
                continue;
            }
            relay.last = now;
            if self.has_room(now, out) {
                relay.expire(now);
            } else {
                // Neither half can continue without the relay.
                self.count.refused += 1;
                relay.abort(now);
            }
            self.relays.insert(ends, relay);
            self.serve(ends, now, out);
        }
    }

    fn is_needed(&self) -> bool {
        true
    }

    fn cuts_anew(&self) -> bool {
        true
    }

    fn switch(&mut self, _now: Instant, on: bool, _out: &mut Out) {
        self.is_on = on;
    }

    fn counters(&self, now: Instant) -> Vec<(&'static str, f64)> {
        let mut stats = self.count.stats;
        for relay in self.relays.values() {
            for (sum, half) in stats.iter_mut().zip(relay.stats()) {
                sum.add(&half);
            }
        }
        let count = &self.count;
        let [wireless, wired] = &stats;
        vec![
            ("connections", count.opened as f64),
            ("connections_refused", count.refused as f64),
            ("connections_failed", count.failed as f64),
            ("fragments", count.fragments as f64),
            ("blind", count.blind as f64),
            ("bytes_held", count.held as f64),
            ("bytes_held_mean", count.held_mean(now)),
            ("bytes_held_max", count.held_max as f64),
            ("bytes_unconfirmed", count.unconfirmed as f64),
            ("bytes_unconfirmed_max", count.unconfirmed_max as f64),
            ("bytes_lost", count.lost as f64),
            ("wired_segments", wired.segments_sent as f64),
            ("wired_retransmissions", wired.segments_retransmitted as f64),
            ("wired_timeouts", wired.timeouts as f64),
            ("wireless_segments", wireless.segments_sent as f64),
            (
                "wireless_retransmissions",
                wireless.segments_retransmitted as f64,
            ),
            ("wireless_timeouts", wireless.timeouts as f64),
        ]
    }
}

/// Returns whether a segment opens a connection.
fn opens(segment: &Segment) -> bool {
    let flags = segment.flags;
    flags.has(Flags::SYN) && !flags.has(Flags::ACK) && !flags.has(Flags::RST)
}

/// Returns an initial sequence number: a clock of 4 us plus a hash of the ends (RFC 9293, 3.4.1).
/// The hash has no secret, because a simulation has no attackers.
fn number(ends: Ends, now: Instant) -> Seq {
    let mix = |hash: u32, word: u32| (hash ^ word).wrapping_mul(0x0100_0193).rotate_left(13);
    let clock = (now.as_nanos() / 4_000) as u32;
    let mut hash = 0x811c_9dc5;
    for (host, port) in ends.0 {
        hash = match host {
            IpAddr::V4(host) => mix(hash, host.into()),
            IpAddr::V6(host) => {
                let words = (0..4).map(|n| (u128::from(host) >> (96 - 32 * n)) as u32);
                words.fold(hash, mix)
            }
        };
        hash = mix(hash, port.into());
    }
    Seq(hash.wrapping_add(clock))
}

impl Count {
    /// Updates the counters after a relay's buffers changed.
    fn update_held(&mut self, now: Instant, relay: &mut Relay) {
        let began = *self.began.get_or_insert(now);
        let span = now.since(self.until.max(began));
        self.held_sum += u128::from(self.held) * u128::from(span.as_nanos());
        self.until = now;
        let (held, before) = (relay.held(), relay.counted);
        self.held = self.held - before.bytes + held.bytes;
        self.unconfirmed = self.unconfirmed - before.unconfirmed + held.unconfirmed;
        relay.counted = held;
        self.held_max = self.held_max.max(self.held);
        self.unconfirmed_max = self.unconfirmed_max.max(self.unconfirmed);
    }

    /// Removes the bytes of a transferred relay from the counters. Returns the bytes buffered in
    /// it.
    fn transfer_held(&mut self, now: Instant, relay: &mut Relay) -> u64 {
        self.update_held(now, relay);
        let held = std::mem::take(&mut relay.counted);
        self.held -= held.bytes;
        self.unconfirmed -= held.unconfirmed;
        held.bytes
    }

    /// Removes the bytes of a relay that has ended from the counters.
    fn drop_held(&mut self, now: Instant, relay: &mut Relay) {
        self.update_held(now, relay);
        self.held -= relay.counted.bytes;
        self.unconfirmed -= relay.counted.unconfirmed;
        self.failed += u64::from(relay.has_failed());
        self.lost += relay.lost;
        for (sum, half) in self.stats.iter_mut().zip(relay.stats()) {
            sum.add(&half);
        }
    }

    /// Returns the mean of the buffered bytes from the first connection until `now`.
    fn held_mean(&self, now: Instant) -> f64 {
        let span = |from: Instant| now.max(from).since(from).as_nanos();
        let sum = self.held_sum + u128::from(self.held) * u128::from(span(self.until));
        sum as f64 / span(self.began.unwrap_or(now)).max(1) as f64
    }
}

#[cfg(test)]
mod tests;
