//! Split connection: its two halves, and the data between them.

use super::super::middlebox::{Act, Note, Out};
use super::super::view::Path;
use super::Settings;
use super::transport::{Far, Kind, Transport, kind_of};
use farlink_tcp::{
    CloseReason, Connection, Event, Flags, Instant, Reason, Segment, Seq, State, Stats, reset_for,
};
use farlink_wire::Carried;
use farlink_wire::packet::Packet;

/// Split connection; half 0 is that of the end on the wireless side.
#[derive(Debug)]
pub(super) struct Relay {
    halves: [Half; 2],
    /// Index of the half towards the end that opened the connection.
    opener: usize,
    /// Initial sequence number of the opener.
    isn: Seq,
    /// SYN of the opener, while its answer waits for the answer of the other end.
    unanswered: Option<Box<Segment>>,
    /// Initial sequence number that an early answer uses in the other end's name. `shift` is the
    /// difference to the number that the other end then chooses.
    early: Option<Seq>,
    shift: u64,
    /// Time of the last packet of the connection.
    pub(super) last: Instant,
    /// Deadline in the list of timers, if there is one.
    pub(super) timer: Option<Instant>,
    /// Buffered bytes at the agent's last count.
    pub(super) counted: Held,
    /// Bytes that were acknowledged to their sender and will not arrive.
    pub(super) lost: u64,
    /// Identification of the next packet.
    ident: u16,
    /// Set if both halves explain the segments that they send.
    explains: bool,
    /// Acts since the last call of [`Self::emit_trace`], with the half that acted.
    acts: Vec<(usize, Act, Seq)>,
}

/// Packet of a half with its reason, and whether some of its data was sent before.
pub(super) type Made = (Packet, (Reason, bool));

/// Half of a split connection.
#[derive(Debug)]
struct Half {
    connection: Transport,
    /// Path to the end host of this half, with the other end as source.
    path: Path,
    /// Set if this half's host has sent its FIN.
    fin_received: bool,
    /// Set if the FIN of the other host was relayed to this half.
    fin_relayed: bool,
    /// Reason for which the half's connection ended; `None` while it is open.
    ended: Option<CloseReason>,
    /// Bytes acknowledged to this half's host.
    acked: u64,
    /// Time until which received bytes wait to fill a segment of the other half.
    lingers: Option<Instant>,
    /// Number of time-outs that caused a retransmission.
    timeouts: u64,
}

/// Bytes of a connection that are buffered at the agent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Held {
    /// Bytes received in order that the receiving end has not acknowledged.
    pub(super) bytes: u64,
    /// Bytes among `bytes` that were acknowledged to the sending end.
    pub(super) unconfirmed: u64,
}

/// Identity of a relay and the start of its connection.
#[derive(Debug)]
pub(super) struct Opening {
    /// Half of the end that opens the connection.
    pub(super) from: usize,
    /// Path of that end's SYN.
    pub(super) path: Path,
    pub(super) syn: Segment,
    /// Initial sequence number of the half that answers early.
    pub(super) early: Option<Seq>,
    /// Transport of the other half if it is not TCP, and the number of its connection.
    pub(super) far: Option<Far>,
    pub(super) key: u64,
}

impl Relay {
    /// Creates a relay from the opener's SYN. The agent's SYN to the other end has an initial
    /// number that keeps the opener's sequence numbers on both sides.
    pub(super) fn open(settings: &Settings, opening: Opening, now: Instant) -> Self {
        let Opening {
            from,
            path,
            syn,
            early,
            ..
        } = opening;
        let tcp = |half| settings.tcp_over(path.version(), half);
        let isn = early.unwrap_or_default();
        let mut answers = Connection::listen(tcp(from), syn.dst_port, isn);
        let (ports, key) = ((syn.src_port, syn.dst_port), opening.key);
        let asks = if let Some(config) = opening.far {
            let buffer = tcp(1 - from).send_buffer;
            Transport::over_satellite(&config, (true, key), buffer, ports, now)
        } else {
            Transport::Tcp(Connection::open(tcp(1 - from), ports.0, ports.1, syn.seq))
        };
        let (mut unanswered, first) = (None, syn.seq);
        if early.is_some() {
            answers.on_segment(now, &syn);
        } else {
            unanswered = Some(Box::new(syn));
        }
        let mut halves = [
            Half::new(Transport::Tcp(answers), path.reverse()),
            Half::new(asks, path),
        ];
        if from == 1 {
            halves.swap(0, 1);
        }
        Self {
            unanswered,
            early,
            ..Self::new(halves, from, first, now)
        }
    }

    /// Creates a relay from the packet that opens an association over the satellite. `number` is
    /// the initial sequence number of the TCP half.
    pub(super) fn answer(
        settings: &Settings,
        far: &Far,
        (path, ports): (Path, (u16, u16)),
        key: u64,
        number: Seq,
        now: Instant,
    ) -> Self {
        let tcp = |half| settings.tcp_over(path.version(), half);
        let (buffer, back) = (tcp(0).send_buffer, (ports.1, ports.0));
        let satellite = Transport::over_satellite(far, (false, key), buffer, back, now);
        let asks = Connection::open(tcp(1), ports.0, ports.1, number);
        let halves = [
            Half::new(satellite, path.reverse()),
            Half::new(Transport::Tcp(asks), path),
        ];
        Self::new(halves, 0, number, now)
    }

    fn new(halves: [Half; 2], opener: usize, isn: Seq, now: Instant) -> Self {
        Self {
            halves,
            opener,
            isn,
            unanswered: None,
            early: None,
            shift: 0,
            last: now,
            timer: None,
            counted: Held::default(),
            lost: 0,
            ident: 0,
            explains: false,
            acts: Vec::new(),
        }
    }

    /// Handles a segment from the end of half `from`. Returns false if the relay cannot use it,
    /// because the answer to the SYN did not cross the agent.
    pub(super) fn on_segment(
        &mut self,
        settings: &Settings,
        from: usize,
        segment: &Segment,
        now: Instant,
    ) -> bool {
        self.last = now;
        if from == self.opener
            && let Some(syn) = &self.unanswered
        {
            let (flags, again) = (segment.flags, segment.seq == syn.seq);
            if flags.has(Flags::RST) || flags.has(Flags::SYN) && !again {
                // This attempt has failed. The opener's next attempt sends another SYN.
                self.unanswered = None;
                self.halves[1 - from].connection.abort(now);
            } else if !flags.has(Flags::SYN) {
                return false;
            }
            return true;
        }
        let half = &mut self.halves[from];
        half.connection.on_segment(now, segment);
        if from != self.opener && segment.flags.has(Flags::SYN) {
            let early = self.early.unwrap_or(segment.seq);
            self.shift = segment.seq.0.wrapping_sub(early.0).into();
        }
        if from != self.opener
            && segment.flags.has(Flags::SYN)
            && half.connection.state() == State::Established
            && let Some(syn) = self.unanswered.take()
        {
            let ip = self.halves[from].path.version();
            let tcp = settings.tcp_over(ip, self.opener);
            let mut answers = Connection::listen(tcp, syn.dst_port, segment.seq);
            answers.on_segment(now, &syn);
            self.halves[self.opener].connection = Transport::Tcp(answers);
        }
        true
    }

    /// Handles a packet from the satellite.
    pub(super) fn on_pdu(&mut self, now: Instant, pdu: &Carried) {
        self.last = now;
        self.halves[0].connection.on_pdu(now, pdu);
    }

    /// Returns the number of the connection of the half over the satellite, if it is not TCP.
    pub(super) fn association(&self) -> Option<u64> {
        self.halves[0].connection.key()
    }

    /// Returns whether a SYN opens a new connection in place of this finished one.
    pub(super) fn gives_way_to(&self, syn: &Segment) -> bool {
        self.is_spent() && syn.seq != self.isn
    }

    /// Returns whether a new connection may replace the relay. Both halves must have ended and only
    /// wait for old segments.
    pub(super) fn is_spent(&self) -> bool {
        let waits = |half: &Half| half.is_over() || half.connection.state() == State::TimeWait;
        self.unanswered.is_none() && self.halves.iter().all(waits)
    }

    /// Returns whether the relay may be removed.
    pub(super) fn is_over(&self) -> bool {
        self.unanswered.is_none() && self.halves.iter().all(Half::is_over)
    }

    /// Returns the next deadline.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let of = |half: &Half| [half.connection.next_timeout(), half.lingers];
        self.halves.iter().flat_map(of).flatten().min()
    }

    /// Handles every deadline up to `now`.
    pub(super) fn expire(&mut self, now: Instant) {
        for half in &mut self.halves {
            if half.connection.next_timeout().is_some_and(|at| at <= now) {
                half.connection.on_timeout(now);
            }
        }
    }

    /// Resets both halves.
    pub(super) fn abort(&mut self, now: Instant) {
        for half in &mut self.halves {
            half.connection.abort(now);
        }
    }

    /// Makes both halves explain the segments that they send.
    pub(super) fn set_tracing(&mut self) {
        if !std::mem::replace(&mut self.explains, true) {
            for half in &mut self.halves {
                half.connection.set_tracing();
            }
        }
    }

    /// Relays bytes and sends what can be sent.
    pub(super) fn serve(
        &mut self,
        settings: &Settings,
        now: Instant,
        scratch: &mut Vec<u8>,
        out: &mut Vec<Made>,
    ) {
        loop {
            for from in [0, 1] {
                let [a, b] = &mut self.halves;
                let (from, to) = if from == 0 { (a, b) } else { (b, a) };
                from.relay_data(to, settings, now, scratch);
            }
            let before = out.len();
            for half in [0, 1] {
                self.send(half, now, out);
            }
            if !self.process_events(now, out) && out.len() == before {
                return;
            }
        }
    }

    fn send(&mut self, number: usize, now: Instant, out: &mut Vec<Made>) {
        let half = &mut self.halves[number];
        if half.connection.route().is_some() {
            self.send_pdus(number, now, out);
            return;
        }
        loop {
            let before = half.connection.stats().segments_retransmitted;
            let Transport::Tcp(connection) = &mut half.connection else {
                break;
            };
            let Some(segment) = connection.poll_transmit(now) else {
                break;
            };
            if !segment.body.is_empty() {
                let act = half.act(before);
                let shift = if number == self.opener { self.shift } else { 0 };
                self.acts.push((number, act, segment.seq.at(shift)));
            }
            if segment.flags.has(Flags::ACK) {
                half.acked = half.connection.delivered();
            }
            self.ident = self.ident.wrapping_add(1);
            let packet = half.path.packet_to_cut(segment, self.ident);
            if let Transport::Tcp(connection) = &half.connection {
                let why = connection.explanation();
                out.extend(packet.ok().map(|packet| (packet, why)));
            }
        }
        if let Transport::Tcp(connection) = &mut half.connection {
            connection.drain_records().for_each(drop);
        }
    }

    /// Sends the packets of a half over XTP or STP.
    fn send_pdus(&mut self, number: usize, now: Instant, out: &mut Vec<Made>) {
        let half = &mut self.halves[number];
        while let Some((pdu, again)) = half.connection.transmit_pdu(now) {
            let Some(ports) = half.connection.route().map(|route| route.ports) else {
                return;
            };
            let kind = kind_of(&pdu);
            match kind {
                Kind::Data(position, 1..) => {
                    let act = if again { Act::Resend } else { Act::Relay };
                    self.acts.push((number, act, self.isn.at(1 + position)));
                }
                Kind::Report => half.acked = half.connection.delivered(),
                Kind::Data(..) | Kind::Reset | Kind::Control => {}
            }
            self.ident = self.ident.wrapping_add(1);
            let packet = half.path.datagram(ports, pdu, now, self.ident);
            out.push((packet, (kind.reason(again), again)));
        }
    }

    /// Handles events of the halves. Returns whether there were any.
    fn process_events(&mut self, now: Instant, out: &mut Vec<Made>) -> bool {
        let mut news = false;
        for half in [0, 1] {
            while let Some(event) = self.halves[half].connection.poll_event() {
                news = true;
                match event {
                    Event::Established => {}
                    Event::PeerClosed => self.halves[half].fin_received = true,
                    Event::Closed(reason) => self.ended(half, reason, now, out),
                }
            }
            // The half was reset before its connection was established.
            let listens = self.halves[half].connection.state() == State::Listen;
            if listens && self.unanswered.is_none() && self.halves[half].ended.is_none() {
                news = true;
                self.ended(half, CloseReason::Reset, now, out);
            }
        }
        news
    }

    /// Handles the end of a half. If the half failed, the other half fails too.
    fn ended(&mut self, half: usize, reason: CloseReason, now: Instant, out: &mut Vec<Made>) {
        self.halves[half].ended = Some(reason);
        if reason == CloseReason::Done {
            return;
        }
        let other = &mut self.halves[1 - half];
        if let Some(reset) = self.unanswered.take().and_then(|syn| reset_for(&syn)) {
            self.ident = self.ident.wrapping_add(1);
            let packet = other.path.packet_to_cut(reset, self.ident);
            out.extend(
                packet
                    .ok()
                    .map(|packet| (packet, (Reason::AgentReset, false))),
            );
            other.ended = Some(reason);
        } else if other.ended.is_none() {
            other.connection.abort(now);
            let to = 1 - self.opener;
            let arrived = self.halves[to].connection.acknowledged();
            self.acts.push((to, Act::Reset, self.isn.at(1 + arrived)));
            self.lost = self.held().unconfirmed;
        }
    }

    /// Returns whether the connection ended otherwise than by FINs of both ends.
    pub(super) fn has_failed(&self) -> bool {
        let failed = |half: &Half| half.ended.is_some_and(|reason| reason != CloseReason::Done);
        self.halves.iter().any(failed)
    }

    /// Returns the bytes buffered now.
    pub(super) fn held(&self) -> Held {
        let mut held = Held::default();
        let [a, b] = &self.halves;
        for (from, to) in [(a, b), (b, a)] {
            let arrived = to.connection.acknowledged();
            held.bytes += from.connection.delivered().saturating_sub(arrived);
            held.unconfirmed += from.acked.saturating_sub(arrived);
        }
        held
    }

    /// Traces the collected acts, if the trace is on.
    pub(super) fn emit_trace(&mut self, out: &mut Out) {
        for (half, act, seq) in self.acts.drain(..) {
            let path = self.halves[half].path;
            out.note(|| Note {
                act,
                flow: path.flow(),
                from_opener: path.from_opener(),
                seq,
            });
        }
    }

    /// Returns the counters of each half.
    pub(super) fn stats(&self) -> [Stats; 2] {
        self.halves.each_ref().map(|half| half.connection.stats())
    }
}

impl Half {
    fn new(connection: Transport, path: Path) -> Self {
        Self {
            connection,
            path,
            fin_received: false,
            fin_relayed: false,
            ended: None,
            acked: 0,
            lingers: None,
            timeouts: 0,
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.connection.state(), State::Closed | State::Listen)
    }

    /// Returns whether the sent data was relayed, resent or resent after a time-out, given the
    /// number of earlier retransmissions.
    fn act(&mut self, again_before: u64) -> Act {
        let stats = self.connection.stats();
        if stats.segments_retransmitted == again_before {
            Act::Relay
        } else if stats.timeouts > self.timeouts {
            self.timeouts = stats.timeouts;
            Act::Timeout
        } else {
            Act::Resend
        }
    }

    /// Moves received data to the other half, up to the room in its send buffer.
    fn relay_data(
        &mut self,
        to: &mut Self,
        settings: &Settings,
        now: Instant,
        scratch: &mut Vec<u8>,
    ) {
        let len = self.relayable(to, settings, now);
        if len > 0 {
            if self.path.is_real() {
                self.connection
                    .copy_to(&mut to.connection, len as usize, scratch);
            } else {
                let len = self.connection.read_len(len);
                let written = to.connection.write_len(len);
                debug_assert_eq!(written, Ok(len));
            }
        }
        // Closing a half whose SYN is unanswered would end its connection at once.
        let open = !matches!(to.connection.state(), State::SynSent | State::Listen);
        if self.fin_received && !to.fin_relayed && open && self.connection.readable() == 0 {
            to.fin_relayed = true;
            to.connection.shutdown(now);
        }
    }

    /// Returns the number of bytes to move to the other half now. With resizing, only bytes that
    /// fill segments or have waited long enough are moved.
    fn relayable(&mut self, to: &Self, settings: &Settings, now: Instant) -> u64 {
        let readable = self.connection.readable();
        let fits = readable.min(to.connection.room());
        let Some(linger) = settings.linger else {
            return fits;
        };
        if readable == 0 || self.fin_received {
            self.lingers = None;
            return fits;
        }
        if self.lingers.is_some_and(|until| until <= now) {
            self.lingers = (fits < readable).then(|| now + linger);
            return fits;
        }
        let full = fits - fits % u64::from(to.connection.mss());
        if full == readable {
            self.lingers = None;
        } else if full > 0 || self.lingers.is_none() {
            self.lingers = Some(now + linger);
        }
        full
    }
}
