//! Links with a protocol on them in the world: packets handed over, and what
//! comes of it.

use crate::heap::{Event, Kind};
use crate::world::World;
use farlink_net::arq::{Line, Output, Tag};
use farlink_net::channel::DropCause;
use farlink_net::{Direction, LinkId, Packet, Payload};
use farlink_tcp::{Ecn, Instant, Priority};

/// A link with a protocol.
#[derive(Debug)]
pub(crate) struct LineState {
    pub(crate) line: Line,
    /// Number of the link.
    link: u32,
    /// Time of the event that counts; others are stale.
    scheduled: Instant,
}

impl LineState {
    pub(crate) fn new(line: Line, link: u32) -> Self {
        Self {
            line,
            link,
            scheduled: Instant::MAX,
        }
    }
}

impl World {
    /// Adds a protocol to a link, and wakes it for the first time.
    pub(crate) fn add_line(&mut self, line: Line, link: u32) {
        let number = self.lines.len() as u32;
        for direction in Direction::BOTH {
            self.links[LinkId::new(link, direction)].line = Some(number);
        }
        self.lines.push(LineState::new(line, link));
        self.schedule_line(number);
    }

    /// A packet meets a link with a protocol.
    pub(crate) fn hand_over(&mut self, number: u32, link: LinkId, packet_number: u32) {
        let from = link.direction() as usize;
        let packet = &self.packets[packet_number as usize];
        let markable = packet.ecn().markable();
        let ip_len = match self.links[link].compression {
            Some(_) => self.compress(link, packet_number),
            None => packet.ip_len(),
        };
        let packet = &mut self.packets[packet_number as usize];
        let line = &mut self.lines[number as usize].line;
        let mark = markable && line.congested(from, ip_len);
        let tag = tag(packet);
        if line
            .offer(self.now, from, packet_number, ip_len, tag)
            .is_err()
        {
            self.lose(link, packet_number, DropCause::Congestion, self.now);
        } else {
            if mark {
                packet.set_ecn(Ecn::Ce);
                line.count_mark(from);
            }
            if let Some(which) = self.links[link].compression {
                self.compressions[which as usize].commit(packet_number);
            }
        }
        self.settle_line(number);
    }

    /// A link with a protocol has something to do, unless it was moved.
    pub(crate) fn line(&mut self, number: u32) {
        let state = &mut self.lines[number as usize];
        if state.scheduled != self.now {
            return;
        }
        state.scheduled = Instant::MAX;
        let link = state.link;
        let directed = |from: usize| LinkId::new(link, Direction::BOTH[from]);
        let mut outputs = std::mem::take(&mut self.outputs);
        state.line.advance(self.now, &mut outputs);
        for output in outputs.drain(..) {
            match output {
                Output::Arrived { from, packet } => self.reached(directed(from), packet),
                Output::Lost {
                    from,
                    packet,
                    cause,
                } => {
                    let link = directed(from);
                    if self.links[link].compression.is_some() {
                        self.frame_lost(link, cause, self.now);
                    }
                    self.lose(link, packet, cause, self.now);
                }
            }
        }
        self.outputs = outputs;
        self.settle_line(number);
    }

    fn settle_line(&mut self, number: u32) {
        let state = &mut self.lines[number as usize];
        if let Some(probes) = &mut self.probes {
            for sent in state.line.drain_sent() {
                probes.frame(state.link, &sent);
            }
            for direction in Direction::BOTH {
                if let Some((packets, bytes)) = state.line.waiting_changed(direction as usize) {
                    let link = LinkId::new(state.link, direction);
                    probes.queued(self.now, link, packets, bytes);
                }
            }
        }
        self.schedule_line(number);
    }

    fn schedule_line(&mut self, number: u32) {
        let state = &mut self.lines[number as usize];
        let due = state.line.deadline();
        if due < state.scheduled {
            state.scheduled = due;
            self.heap.push(Event::new(due, Kind::Line, number, 0, 0));
        }
    }
}

/// What a packet carries of a transport's data.
fn tag(packet: &Packet) -> Tag {
    let stream = packet.flow.0 << 1 | u32::from(packet.from_opener);
    let low = packet.priority() == Priority::Low;
    match &packet.payload {
        Payload::Tcp(segment) => {
            let (from, to) = match packet.piece {
                // Its data begin behind the header of TCP.
                Some(piece) => {
                    let data = |at: u32| at.saturating_sub(segment.header_len());
                    let from = u32::from(piece.offset);
                    (data(from), data(from + u32::from(piece.len)))
                }
                None => (0, segment.body.len()),
            };
            Tag {
                stream,
                seq: segment.seq.0.wrapping_add(from),
                len: to - from,
                low,
            }
        }
        // A datagram's fragments are not copies of each other.
        Payload::Udp(_) if packet.piece.is_some_and(|piece| piece.offset > 0) => Tag {
            low,
            ..Tag::default()
        },
        Payload::Udp(datagram) => Tag {
            stream,
            seq: datagram.number as u32,
            len: u32::from(!datagram.body.is_empty()),
            low,
        },
        // What real programs send again is theirs to know.
        Payload::Raw(_) => Tag::default(),
    }
}
