//! Test bed: two ends, an agent between them, and links that lose, duplicate, corrupt, delay and
//! reorder packets. Packets are simulated or raw bytes.

use super::crossing::Crossing;
use super::middlebox::{Action, Agent, LinkEvent, Out, Tag, Verdict};
use super::view::View;
use farlink_channel::rng::{Probability, Stream, Streams};
use farlink_tcp::{
    Body, CloseReason, Config, Connection, Event, Flags, Instant, Interval, Notice, Options,
    RareOptions, SackBlock, Segment, Seq, State, Timestamps,
};
use farlink_wire::Addresses;
use farlink_wire::id::{FlowId, NodeId, PacketId};
use farlink_wire::packet::{Packet, Payload, Raw};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Index of the end on the wireless side.
pub(super) const MOBILE: usize = 0;
/// Index of the other end, which opens the connection.
pub(super) const FIXED: usize = 1;

/// Impairments of the links.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Faults {
    /// Probabilities that a packet is lost, duplicated, corrupted or delayed.
    pub(super) loss: f64,
    pub(super) copies: f64,
    pub(super) damage: f64,
    pub(super) late: f64,
}

/// End host of the connection.
#[derive(Debug)]
pub(super) struct End {
    pub(super) connection: Connection,
    /// Bytes to send, and bytes written so far.
    to_send: u64,
    written: u64,
    /// Maximum bytes per write, and the time to the next write.
    chunk: u64,
    pause: Interval,
    writes_at: Instant,
    /// Number of received bytes; `correct` is set while all of them were correct.
    pub(super) received: u64,
    pub(super) correct: bool,
    pub(super) closed: Option<CloseReason>,
    pub(super) peer_closed: bool,
    /// Maximum number of bytes that a slow reader reads at a time.
    pub(super) reads: u64,
}

/// Returns a random segment of an attacker and the end that it claims to come from. Ports allow 30
/// connections, and sequence numbers are close to each other.
pub(super) fn hostile_segment(stream: &mut Stream) -> (usize, Segment) {
    let mut any = |n: u64| stream.next_u64() % n;
    let end = any(2) as usize;
    let near = |place: u64| Seq((place as u32).wrapping_mul(50).wrapping_sub(900));
    let ports = [5000 + any(30) as u16, 80];
    let segment = Segment {
        src_port: ports[usize::from(end == MOBILE)],
        dst_port: ports[usize::from(end == FIXED)],
        seq: near(any(60)),
        ack: if any(20) == 0 {
            Seq(any(1 << 32) as u32)
        } else {
            near(any(60))
        },
        flags: Flags(if any(4) > 0 {
            Flags::ACK.0
        } else {
            any(256) as u8
        }),
        window: any(3) as u16,
        options: {
            let block = |left, right| SackBlock { left, right };
            let sack = (0..any(3)).map(|_| block(near(any(60)), near(any(60))));
            let sack = sack.collect();
            let timestamps = (any(2) == 0).then(Timestamps::default);
            let ackp = any(9) == 0;
            Options::from(timestamps).with(RareOptions {
                sack,
                ackp,
                ..RareOptions::NONE
            })
        },
        body: Body::of_bytes(&vec![0; any(4) as usize * 100]),
        ..Segment::default()
    };
    (end, segment)
}

/// Test bed with its state.
#[derive(Debug)]
pub(super) struct TestBed<A> {
    pub(super) agent: A,
    pub(super) now: Instant,
    pub(super) ends: [End; 2],
    real: bool,
    faults: Faults,
    /// End whose path to the agent has no losses and no extra delay.
    pub(super) clean: Option<usize>,
    /// End that receives no packets from now on.
    pub(super) gone: Option<usize>,
    stream: Stream,
    /// Data segments to lose on their way to the agent: end, and number of the segment.
    pub(super) lose: Vec<(usize, u64)>,
    /// Number of data segments that each end has sent.
    data: [u64; 2],
    /// Packets in flight to an end, or from an end to the agent.
    in_flight: BTreeMap<(Instant, u64), (Hop, Packet)>,
    number: u64,
    /// Segments sent by the agent, with time and direction.
    pub(super) left: Vec<(Instant, usize, Segment)>,
    /// Segments that arrived at the agent, with time and sender.
    pub(super) arrived: Vec<(Instant, usize, Segment)>,
    /// One-way delays from each end to the agent.
    pub(super) delays: [Interval; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hop {
    ToAgent(usize),
    ToEnd(usize),
}

/// Returns byte number `at` of the data of an end.
fn byte(end: usize, at: u64) -> u8 {
    (at.wrapping_mul(131) >> 3) as u8 ^ (at as u8) ^ (end as u8)
}

impl End {
    fn new(connection: Connection, to_send: u64) -> Self {
        Self {
            connection,
            to_send,
            written: 0,
            chunk: u64::MAX,
            pause: Interval::ZERO,
            writes_at: Instant::ZERO,
            received: 0,
            correct: true,
            closed: None,
            peer_closed: false,
            reads: u64::MAX,
        }
    }

    /// Sets the maximum bytes per write and the time between writes.
    pub(super) fn writes(&mut self, chunk: u64, pause: Interval) {
        (self.chunk, self.pause) = (chunk, pause);
    }

    fn run_application(&mut self, end: usize, real: bool, now: Instant) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Established => {}
                Event::PeerClosed => self.peer_closed = true,
                Event::Closed(reason) => self.closed = Some(reason),
            }
        }
        if real {
            let mut bytes = Vec::new();
            let max = usize::try_from(self.reads).unwrap_or(usize::MAX);
            self.connection.read(&mut bytes, max);
            for got in bytes {
                self.correct &= got == byte(1 - end, self.received);
                self.received += 1;
            }
        } else {
            self.received += self.connection.read_len(self.reads);
        }
        let left = self.to_send - self.written;
        let n = left
            .min(self.chunk)
            .min(self.connection.room())
            .min(1 << 16);
        let open = self.is_open();
        if open && n > 0 && self.writes_at <= now {
            if real {
                let bytes = (self.written..self.written + n).map(|at| byte(end, at));
                let bytes: Vec<u8> = bytes.collect();
                self.connection.write(&bytes).unwrap();
            } else {
                self.connection.write_len(n).unwrap();
            }
            self.written += n;
            self.writes_at = now + self.pause;
        }
        if open && self.written == self.to_send {
            self.connection.shutdown(now);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let waits = self.is_open() && self.written < self.to_send && !self.pause.is_zero();
        let writes = waits.then_some(self.writes_at);
        let timer = self.connection.next_timeout();
        timer.into_iter().chain(writes).min()
    }

    fn is_open(&self) -> bool {
        matches!(
            self.connection.state(),
            State::Established | State::CloseWait
        )
    }
}

impl<A: Agent> TestBed<A> {
    /// Builds ends with this TCP that send `bytes` each, the mobile one first.
    pub(super) fn new(agent: A, tcp: &Arc<Config>, bytes: [u64; 2], real: bool) -> Self {
        let listens = Connection::listen(tcp.clone(), 80, Seq(0xffff_f000));
        let opens = Connection::open(tcp.clone(), 5000, 80, Seq(0xffff_ff00));
        Self {
            agent,
            now: Instant::ZERO,
            ends: [End::new(listens, bytes[0]), End::new(opens, bytes[1])],
            real,
            faults: Faults::default(),
            clean: None,
            gone: None,
            stream: Streams::new(1, 0).stream("bed"),
            lose: Vec::new(),
            data: [0; 2],
            in_flight: BTreeMap::new(),
            number: 0,
            left: Vec::new(),
            arrived: Vec::new(),
            delays: [Interval::from_millis(10); 2],
        }
    }

    pub(super) fn with_faults(mut self, faults: Faults, seed: u64) -> Self {
        self.faults = faults;
        self.stream = Streams::new(seed, 0).stream("bed");
        self
    }

    /// Runs until no event is left, or until `until`.
    pub(super) fn run(&mut self, until: Instant) {
        self.serve();
        loop {
            let in_flight = self.in_flight.keys().next().map(|key| key.0);
            let ends = self.ends.iter().filter_map(End::deadline).min();
            let agent = self.agent.deadline();
            let next = [in_flight, ends, agent].into_iter().flatten().min();
            let Some(next) = next.filter(|&at| at <= until) else {
                return;
            };
            self.now = self.now.max(next);
            if in_flight == Some(next) {
                let (_, (hop, packet)) = self.in_flight.pop_first().unwrap();
                match hop {
                    Hop::ToAgent(end) => self.cross(end, packet),
                    Hop::ToEnd(end) => self.deliver(end, &packet),
                }
            } else if agent == Some(next) {
                let mut out = Out::default();
                self.agent.on_deadline(self.now, &mut out);
                self.act(out);
            } else {
                for end in &mut self.ends {
                    if end.connection.next_timeout().is_some_and(|at| at <= next) {
                        end.connection.on_timeout(next);
                    }
                }
            }
            self.serve();
        }
    }

    /// Lets both ends read, write and send.
    pub(super) fn serve(&mut self) {
        for end in [MOBILE, FIXED] {
            loop {
                self.ends[end].run_application(end, self.real, self.now);
                let Some(segment) = self.ends[end].connection.poll_transmit(self.now) else {
                    break;
                };
                self.send(end, segment);
            }
        }
    }

    /// Sends a segment of an end to the agent.
    pub(super) fn send(&mut self, end: usize, segment: Segment) {
        self.data[end] += u64::from(!segment.body.is_empty());
        if !segment.body.is_empty() && self.lose.contains(&(end, self.data[end])) {
            return;
        }
        let packet = packet(end, segment, self.real);
        self.schedule(Hop::ToAgent(end), packet);
    }

    fn schedule(&mut self, hop: Hop, mut packet: Packet) {
        let (Hop::ToAgent(end) | Hop::ToEnd(end)) = hop;
        let faults = match self.clean {
            Some(clean) if clean == end => Faults::default(),
            _ => self.faults,
        };
        let mut chance = |p| self.stream.chance(Probability::new(p).unwrap());
        if chance(faults.loss) {
            return;
        }
        packet.corrupt |= chance(faults.damage);
        let copy = chance(faults.copies).then(|| packet.clone());
        for packet in [Some(packet), copy].into_iter().flatten() {
            let mut at = self.now + self.delays[end];
            if self.stream.chance(Probability::new(faults.late).unwrap()) {
                at += Interval::from_micros((self.stream.uniform() * 30_000.0) as u64);
            }
            self.number += 1;
            self.in_flight.insert((at, self.number), (hop, packet));
        }
    }

    fn cross(&mut self, end: usize, mut packet: Packet) {
        let crossing = if end == MOBILE {
            Crossing::FromWireless
        } else {
            Crossing::ToWireless
        };
        if let Some(segment) = read(&packet) {
            self.arrived.push((self.now, end, segment));
        }
        let mut out = Out::default();
        let mut view = View::new(&mut packet);
        let id = PacketId(self.number as u32);
        let verdict = self
            .agent
            .cross(self.now, id, crossing, &mut view, &mut out);
        self.act(out);
        match verdict {
            Verdict::Forward => self.leave(packet),
            Verdict::Follow(tag) => {
                self.leave(packet);
                self.follow(tag);
            }
            Verdict::Drop | Verdict::Absorb => {}
            Verdict::Hold => unreachable!("no agent that is tested here holds packets"),
        }
    }

    fn act(&mut self, out: Out) {
        for action in out.actions {
            match action {
                Action::Inject(injection) => {
                    self.leave(injection.packet);
                    if let Some(tag) = injection.follow {
                        self.follow(tag);
                    }
                }
                Action::Notify(about) => {
                    let seq = read(&about).unwrap().seq;
                    let sender = &mut self.ends[FIXED].connection;
                    sender.on_notice(self.now, Notice::BadState { seq });
                }
                Action::Release(_) | Action::Discard(_) => unreachable!("nothing is held"),
            }
        }
    }

    /// Sends each packet of the wireless link at once.
    fn follow(&mut self, tag: Tag) {
        let sent = LinkEvent::Departed(self.now);
        self.agent.on_sent(self.now, tag, sent, &mut Out::default());
    }

    fn leave(&mut self, packet: Packet) {
        let end = if packet.dst == NodeId(0) {
            FIXED
        } else {
            MOBILE
        };
        if let Some(segment) = read(&packet) {
            self.left.push((self.now, end, segment));
        }
        self.schedule(Hop::ToEnd(end), packet);
    }

    fn deliver(&mut self, end: usize, packet: &Packet) {
        if packet.corrupt || self.gone == Some(end) {
            return;
        }
        if let Some(segment) = read(packet) {
            self.ends[end].connection.on_segment(self.now, &segment);
        }
    }

    /// Returns whether all sent bytes arrived unchanged, and both ends have received the FIN.
    pub(super) fn is_done(&self) -> bool {
        let done = |end: usize| {
            let (here, there) = (&self.ends[end], &self.ends[1 - end]);
            here.correct && here.received == there.to_send && here.peer_closed
        };
        done(MOBILE) && done(FIXED)
    }

    /// Returns the data segments sent by the agent towards an end.
    pub(super) fn data_to(&self, end: usize) -> impl Iterator<Item = &(Instant, usize, Segment)> {
        let data =
            move |left: &&(Instant, usize, Segment)| left.1 == end && !left.2.body.is_empty();
        self.left.iter().filter(data)
    }
}

fn read(packet: &Packet) -> Option<Segment> {
    match &packet.payload {
        Payload::Tcp(segment) => Some(segment.clone()),
        Payload::Raw(raw) => farlink_wire::decode(raw.bytes())
            .ok()
            .map(|(_, segment)| segment),
        Payload::Udp(_) => None,
    }
}

/// Formats a segment without its bytes.
pub(super) fn format_segment(segment: &Segment) -> String {
    let Segment {
        seq,
        ack,
        flags,
        window,
        options,
        body,
        ..
    } = segment;
    let ack = if flags.has(Flags::ACK) { ack.0 } else { 0 };
    format!(
        "{flags:?} {seq:?} {ack} {window} {} {options:?}",
        body.len()
    )
}

/// Returns a packet as an end sends it.
pub(super) fn packet(end: usize, segment: Segment, real: bool) -> Packet {
    let mut packet = Packet {
        flow: if real { FlowId::NONE } else { FlowId(0) },
        from_opener: end == FIXED,
        ..Packet::new(
            NodeId(if end == FIXED { 0 } else { 2 }),
            NodeId(if end == FIXED { 2 } else { 0 }),
            Payload::Tcp(segment),
        )
    };
    if real {
        let bytes = farlink_wire::encode(&packet, Addresses::of(&packet)).unwrap();
        packet.payload = Payload::Raw(Raw::new(bytes).unwrap());
    }
    packet
}

/// Generates lists of forged segments, each with the index of the end that it claims to come from.
/// Sequence and ACK numbers lie within 3000 of 0.
pub(super) fn hostile() -> impl proptest::strategy::Strategy<Value = Vec<(usize, Segment)>> {
    use farlink_tcp::{Body, Options, RareOptions, SackBlock, Timestamps};
    use proptest::prelude::*;
    let near = 0..6000_u32;
    let options = (any::<bool>(), 0..16_u8, near.clone(), near.clone());
    let segment = (
        0..2_usize,
        (near.clone(), near, any::<u8>(), any::<u16>(), 0..1500_u32),
        options,
    );
    let segment = segment.prop_map(|(end, (seq, ack, flags, window, len), options)| {
        let (any, shift, left, right) = options;
        let block = SackBlock {
            left: Seq(left),
            right: Seq(right),
        };
        let ports = if end == FIXED { (5000, 80) } else { (80, 5000) };
        let segment = Segment {
            src_port: ports.0,
            dst_port: ports.1,
            seq: Seq(seq.wrapping_sub(3000)),
            ack: Seq(ack.wrapping_sub(3000)),
            // Most of these flags do not end the connection.
            flags: Flags(if flags & 0x60 == 0 {
                flags
            } else {
                flags & 0xfa
            }),
            window,
            options: Options::from(any.then_some(Timestamps {
                value: left,
                echo: right,
            }))
            .with(RareOptions {
                window_scale: any.then_some(shift),
                sack: any.then_some(block).into_iter().collect(),
                sack_permitted: any,
                ..RareOptions::NONE
            }),
            body: Body::of_bytes(&vec![7; len as usize]),
            ..Segment::default()
        };
        (end, segment)
    });
    proptest::collection::vec(segment, 1..200)
}
