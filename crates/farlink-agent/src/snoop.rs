//! Snoop and its variants (west1997, 2.6, 3 and 7): an agent that retransmits data lost on the
//! wireless link.
//!
//! The agent caches data packets until they are acknowledged. A duplicate ACK for a cached packet
//! makes the agent retransmit the packet and suppress the ACK. A duplicate ACK for data that never
//! reached the agent is forwarded, because that loss was congestion. A local timer, much finer than
//! the sender's, also causes retransmissions.
//!
//! The agent may also notify the sender by partial acknowledgments or bad-state notices. In another
//! variant it caches only sequence numbers, and has the sender retransmit.
//!
//! The agent may lose its state at any time. The sender then detects the losses itself.

mod cache;
mod config;
mod flow;
mod upload;

use super::connections::Connections;
use super::crossing::Crossing;
use super::eln;
use super::middlebox::{
    Act, Action, Agent, Injection, Leaving, LinkEvent, Note, Out, Tag, TransferredState, Verdict,
};
use super::timers::Timers;
use super::view::View;
pub use config::{Repair, SackHandling, SenderNotices, SnoopConfig, TimerStart};
use farlink_tcp::{Flags, Instant, Reason, Segment, Seq};
use farlink_wire::id::{NodeId, PacketId};
use farlink_wire::packet::Packet;
use flow::{Flow, OnAck, OnData};

/// Snoop agent.
#[derive(Debug)]
pub struct Snoop {
    config: SnoopConfig,
    connections: Connections<Flow>,
    timers: Timers,
    /// Serial number of the next cached packet.
    serial: u32,
    counts: Counts,
}

/// Counters of the agent.
#[derive(Debug, Default)]
struct Counts {
    cached: u64,
    uncached: u64,
    local_retransmissions: u64,
    local_timeouts: u64,
    given_up: u64,
    suppressed: u64,
    passed: u64,
    old_acks: u64,
    partial_acks: u64,
    notices: u64,
    marked: u64,
    bytes_held_max: u64,
    negative_acks: u64,
}

impl Snoop {
    /// Creates an agent without connections.
    pub fn new(config: SnoopConfig) -> Self {
        Self {
            config,
            connections: Connections::new(config.limits),
            timers: Timers::default(),
            serial: 0,
            counts: Counts::default(),
        }
    }

    /// Handles data on its way to the wireless side.
    fn on_data(&mut self, now: Instant, view: &mut View<'_>, out: &mut Out) -> Verdict {
        let (config, to) = (&self.config, Crossing::ToWireless);
        let blind = self.connections.blind();
        let Some((ends, segment)) = view.ends_and_segment(to) else {
            return Verdict::Forward;
        };
        let seq = segment.seq;
        let decided = self
            .connections
            .on_segment(now, ends, to, segment, |place, flow| {
                if config.uploads {
                    flow.upload.on_ack(segment);
                }
                (place, flow.on_data(config, segment))
            });
        if self.connections.blind() != blind {
            note(out, view, Act::Blind, seq);
        }
        let Some((place, decided)) = decided else {
            return Verdict::Forward;
        };
        let (span, again) = match decided {
            OnData::Pass => return Verdict::Forward,
            OnData::Full => {
                self.counts.uncached += 1;
                return Verdict::Forward;
            }
            OnData::Keep {
                start,
                end,
                from_sender_again,
            } => ((start, end), from_sender_again),
        };
        let copy = match config.repair {
            Repair::Resend => {
                if self.connections.bytes() + u64::from(view.ip_len()) > config.memory {
                    self.counts.uncached += 1;
                    return Verdict::Forward;
                }
                Some(view.copy())
            }
            Repair::Mark => None,
        };
        self.serial = self.serial.wrapping_add(1);
        let (serial, path) = (self.serial, view.path());
        let (notices, handed) = (config.notices, at_arrival(config, now));
        let (config, timers) = (&self.config, &mut self.timers);
        let partial = self.connections.at(place, |flow| {
            flow.path = Some(path);
            flow.keep(span, again, serial, copy, handed);
            if handed.is_some() {
                timers.set(place, flow.deadline(config));
            }
            let expected = match notices {
                SenderNotices::EachPacket { negotiate } => !negotiate || flow.partial_offered,
                _ => false,
            };
            expected.then(|| from_far_end(flow, span.1, |options| options.ackp = true))
        });
        if let Some(Some(packet)) = partial.flatten() {
            self.counts.partial_acks += 1;
            note(out, view, Act::Partial, span.1);
            out.inject(packet);
        }
        self.counts.cached += 1;
        self.counts.bytes_held_max = self.counts.bytes_held_max.max(self.connections.bytes());
        note(out, view, Act::Keep, span.0);
        Verdict::Follow(tag(place, serial))
    }

    /// Handles a segment from the wireless side.
    fn on_ack(&mut self, now: Instant, view: &mut View<'_>, out: &mut Out) -> Verdict {
        let Self {
            config,
            connections,
            timers,
            counts,
            ..
        } = self;
        let from = Crossing::FromWireless;
        let path = config.uploads.then(|| view.path());
        let Some((ends, segment)) = view.ends_and_segment(from) else {
            return Verdict::Forward;
        };
        let ack = segment.ack;
        let decided = connections.on_segment(now, ends, from, segment, |place, flow| {
            let decided = flow.on_ack(now, config, segment);
            if let Some(path) = path {
                flow.upload.on_data(now, config, segment, path);
                counts.negative_acks += send_nacks(flow, now, config, out);
            }
            if let OnAck::Repair(seq) = decided {
                counts.local_retransmissions +=
                    resend(flow, now, config, place, (seq, Act::Resend), out);
            }
            let duplicate = !matches!(decided, OnAck::Pass | OnAck::Old);
            if config.sack_repair && duplicate && config.repair == Repair::Resend {
                for seq in flow.missing(now, config, segment.ack, &segment.options.sack) {
                    counts.local_retransmissions +=
                        resend(flow, now, config, place, (seq, Act::Resend), out);
                }
            }
            timers.set(place, flow.deadline(config));
            let masks = config.sack == SackHandling::Mask && !segment.options.sack.is_empty();
            let masked = masks.then(|| flow.masked(segment.ack, &segment.options.sack));
            (
                decided,
                masked.filter(|masked| *masked != segment.options.sack),
            )
        });
        let Some((decided, masked)) = decided else {
            return Verdict::Forward;
        };
        let verdict = self.apply_decision(decided, ack, view, out);
        if let (Verdict::Forward, Some(masked)) = (&verdict, masked) {
            view.rewrite(|segment| segment.options.sack = masked);
        }
        verdict
    }

    /// Counts, traces and applies the decision on an ACK.
    fn apply_decision(
        &mut self,
        decided: OnAck,
        ack: Seq,
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict {
        let counts = &mut self.counts;
        match decided {
            OnAck::Suppress | OnAck::Repair(_) => {
                counts.suppressed += 1;
                out.note_back(view, Act::Suppress, ack);
                return Verdict::Drop;
            }
            OnAck::Old => {
                counts.old_acks += 1;
                return Verdict::Drop;
            }
            OnAck::PassDuplicate => counts.passed += 1,
            OnAck::GiveUp => {
                counts.passed += 1;
                counts.given_up += 1;
                out.note_back(view, Act::GiveUp, ack);
            }
            OnAck::Mark => {
                if view.rewrite(eln::mark) {
                    counts.marked += 1;
                    out.note_back(view, Act::Mark, ack);
                }
            }
            OnAck::Pass => {}
        }
        Verdict::Forward
    }

    /// Handles the local timer of a connection, if it has expired.
    fn on_timer(&mut self, now: Instant, place: u32, out: &mut Out) {
        let Self {
            config,
            connections,
            timers,
            counts,
            ..
        } = self;
        connections.at(place, |flow| {
            counts.negative_acks += send_nacks(flow, now, config, out);
            if let Some(seq) = flow.on_timer(now, config) {
                counts.local_timeouts += 1;
                let about = flow.cache.front().and_then(|entry| entry.packet.clone());
                let tries = flow.cache.front().map_or(0, |entry| entry.tries);
                if tries >= config.tries {
                    counts.given_up += 1;
                    note_of(out, flow, Act::GiveUp, seq);
                    flow.give_up(now);
                } else if config.repair == Repair::Mark {
                    request_retransmission(flow, now, seq, counts, out);
                } else {
                    counts.local_retransmissions +=
                        resend(flow, now, config, place, (seq, Act::Timeout), out);
                    notify_sender(flow, (config, counts), about, out);
                }
            }
            timers.set(place, flow.deadline(config));
        });
    }
}

/// Returns the start of the timer of a packet that is handed to the link now, if it starts so early.
fn at_arrival(config: &SnoopConfig, now: Instant) -> Option<Instant> {
    (config.timer_from == TimerStart::Arrival).then_some(now)
}

/// Retransmits the data at a sequence number. Returns the number of packets sent.
fn resend(
    flow: &mut Flow,
    now: Instant,
    config: &SnoopConfig,
    place: u32,
    (seq, act): (Seq, Act),
    out: &mut Out,
) -> u64 {
    let Some(entry) = flow.repair(now, seq) else {
        return 0;
    };
    let Some(packet) = entry.packet.clone() else {
        return 0;
    };
    (entry.left, entry.sends) = (at_arrival(config, now), entry.sends + 1);
    out.actions.push(Action::Inject(Injection {
        packet,
        ahead: config.ahead,
        follow: Some(tag(place, entry.serial)),
        why: (Reason::AgentRetransmission, true),
    }));
    note_of(out, flow, act, seq);
    1
}

/// Sends the mobile host negative acknowledgments for data lost on the radio. Returns their number.
fn send_nacks(flow: &mut Flow, now: Instant, config: &SnoopConfig, out: &mut Out) -> u64 {
    let mut sent = 0;
    while let Some((packet, seq)) = flow.upload.next_nack(now, config) {
        let (about, from_opener) = (packet.flow, !packet.from_opener);
        out.note(|| Note {
            act: Act::Negative,
            flow: about,
            from_opener,
            seq,
        });
        out.actions.push(Action::Inject(Injection {
            packet,
            ahead: config.ahead,
            follow: None,
            why: (Reason::AgentNegativeAck, false),
        }));
        sent += 1;
    }
    sent
}

/// Handles an expired timer when only sequence numbers are cached: asks the sender to retransmit.
fn request_retransmission(
    flow: &mut Flow,
    now: Instant,
    seq: Seq,
    counts: &mut Counts,
    out: &mut Out,
) {
    // The restarted timer covers the packet even if the retransmission is lost.
    flow.repair(now, seq);
    if let Some((acked, _)) = flow.acked
        && let Some(packet) = from_far_end(flow, acked, |options| options.eln = true)
    {
        counts.marked += 1;
        note_of(out, flow, Act::Mark, seq);
        out.inject(packet);
    }
}

/// Notifies the sender that a local retransmission is needed.
fn notify_sender(
    flow: &mut Flow,
    (config, counts): (&SnoopConfig, &mut Counts),
    about: Option<Packet>,
    out: &mut Out,
) {
    match config.notices {
        SenderNotices::Partial { negotiate, repeat } => {
            if (!negotiate || flow.partial_offered)
                && let Some(end) = flow.partial(repeat)
                && let Some(packet) = from_far_end(flow, end, |options| options.ackp = true)
            {
                counts.partial_acks += 1;
                note_of(out, flow, Act::Partial, end);
                out.inject(packet);
            }
        }
        SenderNotices::BadState => {
            if let Some(about) = about {
                counts.notices += 1;
                let seq = flow.cache.front().map_or(Seq(0), |entry| entry.start);
                note_of(out, flow, Act::Notice, seq);
                out.actions.push(Action::Notify(about));
            }
        }
        SenderNotices::Nothing | SenderNotices::EachPacket { .. } => {}
    }
}

/// Returns a bare ACK in the name of the far end.
fn from_far_end(
    flow: &Flow,
    ack: Seq,
    options: impl FnOnce(&mut farlink_tcp::Options),
) -> Option<Packet> {
    let mut segment = Segment {
        src_port: flow.head.ports.1,
        dst_port: flow.head.ports.0,
        seq: flow.head.ack,
        ack,
        flags: Flags::ACK,
        window: flow.acked.map_or(0, |(_, window)| window),
        ..Segment::default()
    };
    segment.options.timestamps = flow.stamps;
    options(&mut segment.options);
    flow.path?.reverse().packet(segment).ok()
}

/// Returns the tag of a packet.
fn tag(place: u32, serial: u32) -> Tag {
    Tag(u64::from(place) << 32 | u64::from(serial))
}

/// Traces an act about the sequence number of a packet's data.
fn note(out: &mut Out, view: &mut View<'_>, act: Act, seq: Seq) {
    if out.notes.is_some() {
        let path = view.path();
        out.note(|| Note {
            act,
            flow: path.flow(),
            from_opener: path.from_opener(),
            seq,
        });
    }
}

fn note_of(out: &mut Out, flow: &Flow, act: Act, seq: Seq) {
    if let Some(path) = flow.path {
        out.note(|| Note {
            act,
            flow: path.flow(),
            from_opener: path.from_opener(),
            seq,
        });
    }
}

impl Agent for Snoop {
    fn on_packet(
        &mut self,
        now: Instant,
        _id: PacketId,
        crossing: Crossing,
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict {
        if self.connections.is_off() {
            return Verdict::Forward;
        }
        let verdict = match crossing {
            Crossing::ToWireless => self.on_data(now, view, out),
            _ => self.on_ack(now, view, out),
        };
        let permits = |segment: &Segment| segment.options.sack_permitted;
        if self.config.sack == SackHandling::Off && view.segment().is_some_and(permits) {
            view.rewrite(|segment| segment.options.sack_permitted = false);
        }
        verdict
    }

    fn follows(&self) -> bool {
        true
    }

    fn sends_ahead(&self) -> bool {
        self.config.ahead && self.config.repair == Repair::Resend
    }

    fn on_sent(&mut self, now: Instant, tag: Tag, sent: LinkEvent, _out: &mut Out) {
        let (place, serial) = ((tag.0 >> 32) as u32, tag.0 as u32);
        let (config, timers) = (&self.config, &mut self.timers);
        self.connections.at(place, |flow| {
            let Some(entry) = flow.cache.by_serial(serial) else {
                return;
            };
            match sent {
                LinkEvent::Departed(at) | LinkEvent::Retransmitted(at) => {
                    if config.timer_from == TimerStart::Departure {
                        entry.left = Some(at);
                    }
                }
                // The packet never reached the wireless link: congestion at the agent's queue.
                LinkEvent::Refused if entry.sends == 1 => flow.cache.remove(serial),
                LinkEvent::Refused => entry.left = Some(now),
            }
            timers.set(place, flow.deadline(config));
        });
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers.next()
    }

    fn on_deadline(&mut self, now: Instant, out: &mut Out) {
        while let Some(place) = self.timers.pop(now) {
            self.on_timer(now, place, out);
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
        let Self {
            config,
            connections,
            timers,
            serial,
            ..
        } = self;
        connections.join(now, moved, |place, flow| {
            // The link has reported nothing about the packet yet; the timer covers it.
            for entry in flow.cache.iter_mut() {
                *serial = serial.wrapping_add(1);
                (entry.serial, entry.left) = (*serial, Some(now));
            }
            timers.set(place, flow.deadline(config));
        });
    }

    fn switch(&mut self, _now: Instant, on: bool, _out: &mut Out) {
        self.connections.switch(on);
        self.timers.clear();
    }

    fn counters(&self, _now: Instant) -> Vec<(&'static str, f64)> {
        let c = &self.counts;
        let counts = [
            ("cached", c.cached),
            ("uncached", c.uncached),
            ("local_retransmissions", c.local_retransmissions),
            ("local_timeouts", c.local_timeouts),
            ("given_up", c.given_up),
            ("suppressed", c.suppressed),
            ("passed", c.passed),
            ("old_acks", c.old_acks),
            ("partial_acks", c.partial_acks),
            ("notices", c.notices),
            ("marked", c.marked),
            ("bytes_held", self.connections.bytes()),
            ("bytes_held_max", c.bytes_held_max),
        ];
        let mut all: Vec<_> = counts.map(|(name, n)| (name, n as f64)).into();
        if self.config.uploads {
            all.push(("negative_acks", c.negative_acks as f64));
        }
        all.extend(self.connections.counters());
        all
    }
}

#[cfg(test)]
mod tests;
