//! One end of a session: a connection, its application, and the invariants.

use super::chance::Chance;
use super::setup::COOKIE;
use farlink_tcp::config::{FastOpen, ReduceFrom};
use farlink_tcp::{
    CloseReason, Config, Connection, Event, FastOpenCache, FastOpenCookie, Flags, Instant,
    Interval, Mark, Offset, Options, Record, Segment, Seq, State,
};
use std::sync::Arc;

/// Number of segments sent at one instant above which a livelock is assumed.
const MAX_AT_ONCE: usize = 10_000;

/// Returns byte `at` of the stream of side `side`.
pub(crate) fn pattern(side: usize, at: u64) -> u8 {
    let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ (side as u64) << 7);
    (mixed >> 56) as u8
}

/// An application that writes, reads and closes, on a connection.
#[derive(Debug)]
pub(crate) struct Endpoint {
    side: usize,
    pub(crate) connection: Connection,
    isn: Seq,
    /// Bytes that may be sent beyond the peer's window: ADaLR assumes up to twice that window, and
    /// no setup has a larger one than this.
    beyond: u64,
    /// Bytes to send in all, bytes written, and bytes read.
    goal: u64,
    written: u64,
    pub(crate) read: u64,
    closed: bool,
    /// Reason of the connection's end.
    pub(crate) end: Option<CloseReason>,
    una: Offset,
    max: Offset,
    nxt: Offset,
    /// Options of the first SYN that left.
    syn: Option<Options>,
    /// Advertised right edge, as an offset of the peer's stream.
    edge: Offset,
    peer_isn: Option<Seq>,
    scratch: Vec<u8>,
    /// Set if a loss may raise ssthresh, because the algorithm sets it from its own estimate
    /// (Westwood).
    rises: bool,
    /// Bytes of data on the SYN, sent before the peer's window is known.
    syn_data: u64,
    /// Congestion window and slow-start threshold after the last step.
    window: (u64, u64),
    /// Set if a recovery by fast retransmit is in progress.
    recovering: bool,
    /// Largest window that the peer had offered after the last step.
    peer_window: u64,
}

impl Endpoint {
    pub(crate) fn new(side: usize, config: Config, isn: Seq, active: bool, goal: u64) -> Self {
        let stretches = config.congestion.algorithm().name == "adalr";
        // Westwood sets ssthresh to its estimate, BBR to its model at the end of start-up, and Copa
        // to cwnd at the end of slow start. RFC 5681 taken literally sets it to half of a flight that may exceed the window.
        let rises = ["westwood", "westwood_plus", "bbr", "copa"]
            .contains(&config.congestion.algorithm().name)
            || config.reduce_from == ReduceFrom::FlightSizeUnbounded;
        let beyond = if stretches { 300_000 } else { 0 };
        let config = Arc::new(config);
        let mut connection = if active {
            Connection::open(config, side as u16, 1 - side as u16, isn)
        } else {
            Connection::listen(config, side as u16, isn)
        };
        connection.set_tracing(true);
        connection.set_fast_open_cookie(COOKIE);
        if connection.fast_open() == FastOpen::Cookie {
            // Some cookies are out of date.
            let cookie = FastOpenCookie(COOKIE.0 + u64::from(isn.0.is_multiple_of(4)));
            let mss = [100, 536, 1460, u16::MAX][isn.0 as usize / 4 % 4];
            connection.set_fast_open_cache(FastOpenCache { cookie, mss });
        }
        let mut this = Self {
            side,
            connection,
            isn,
            beyond,
            goal,
            written: 0,
            read: 0,
            closed: false,
            end: None,
            una: 0,
            max: 0,
            nxt: 0,
            syn: None,
            edge: 0,
            peer_isn: None,
            scratch: Vec::new(),
            rises,
            window: (u64::MAX, u64::MAX),
            recovering: false,
            peer_window: 0,
            syn_data: 0,
        };
        if active {
            this.write(goal.min(2_000)); // Before the SYN leaves, because a SYN may carry data.
        }
        this
    }

    /// Returns whether the application has nothing more to do.
    pub(crate) fn idle(&self) -> bool {
        self.end.is_some() || (self.closed && self.connection.readable() == 0)
    }

    /// Returns whether all data of this end was acknowledged.
    pub(crate) fn delivered_all(&self) -> bool {
        self.written == self.goal && self.connection.acknowledged() == self.goal
    }

    /// Performs an action of the application: a write, a read, or a close after all writes.
    pub(crate) fn act(&mut self, now: Instant, chance: &mut Chance) {
        if self.connection.state() == State::Listen {
            return; // The connection has no peer yet.
        }
        let want = chance
            .pick(&[1, 100, 3_000, 20_000])
            .min(self.goal - self.written);
        self.write(want);
        if chance.per_mille(600) {
            self.read(chance.pick(&[1, 700, usize::MAX]));
        }
        // A close before the peer has answered would drop queued data.
        let open = self.connection.state() != State::SynSent;
        if open && self.written == self.goal && !self.closed && chance.flip() {
            self.connection.shutdown(now);
            self.closed = true;
        }
    }

    fn write(&mut self, want: u64) {
        self.scratch.clear();
        let from = self.written;
        self.scratch
            .extend((from..from + want).map(|at| pattern(self.side, at)));
        self.written += self.connection.write(&self.scratch).unwrap_or_default() as u64;
    }

    /// Reads up to `most` bytes and compares them with the bytes that the peer wrote.
    pub(crate) fn read(&mut self, most: usize) {
        self.scratch.clear();
        let n = self.connection.read(&mut self.scratch, most);
        assert_eq!(n, self.scratch.len());
        for (at, &byte) in (self.read..).zip(&self.scratch) {
            assert_eq!(
                byte,
                pattern(1 - self.side, at),
                "side {} byte {at}",
                self.side
            );
        }
        self.read += n as u64;
    }

    /// Returns all segments that may be sent now. `peer_scales` is set if the peer's SYN offered
    /// window scaling.
    pub(crate) fn transmit(&mut self, now: Instant, peer_scales: bool) -> Vec<Segment> {
        let mut out = Vec::new();
        while let Some(segment) = self.connection.poll_transmit(now) {
            self.check_segment(&segment, peer_scales);
            out.push(segment);
            assert!(out.len() < MAX_AT_ONCE, "segments leave for ever");
        }
        while let Some(event) = self.connection.poll_event() {
            if let Event::Closed(reason) = event {
                assert_eq!(self.end, None, "closed twice");
                self.end = Some(reason);
            }
        }
        out
    }

    /// Checks that the right edge of the offered window never moves left (RFC 9293, 3.8.6).
    fn check_segment(&mut self, segment: &Segment, peer_scales: bool) {
        let syn = segment.flags.has(Flags::SYN);
        if syn {
            self.syn.get_or_insert_with(|| segment.options.clone());
            self.syn_data = self.syn_data.max(segment.body.len().into());
        }
        if syn && !segment.flags.has(Flags::ACK) {
            // Window for a server that accepts the Fast Open cookie before the handshake ends.
            self.edge = self.edge.max(1 + u64::from(segment.window));
        }
        if segment.flags.has(Flags::RST) || !segment.flags.has(Flags::ACK) {
            return;
        }
        // The first ACK acknowledges the SYN and the data accepted with it.
        let taken = self.connection.delivered() as u32;
        let peer_isn = *self
            .peer_isn
            .get_or_insert(Seq(segment.ack.0.wrapping_sub(1 + taken)));
        let ack = u64::from(segment.ack.0.wrapping_sub(peer_isn.0));
        let shift = if syn || !peer_scales {
            0
        } else {
            self.shift().unwrap_or(0)
        };
        let edge = ack + (u64::from(segment.window) << shift);
        // The window field of a SYN, which may be sent again late, holds at most 65,535.
        assert!(
            syn || edge >= self.edge,
            "the window shrank from {} to {edge}",
            self.edge
        );
        self.edge = self.edge.max(edge);
    }

    /// Returns whether our SYN offered window scaling.
    pub(crate) fn scales(&self) -> bool {
        self.shift().is_some()
    }

    /// Shift of our window field that our SYN offered.
    fn shift(&self) -> Option<u8> {
        self.syn.as_ref().and_then(|options| options.window_scale)
    }

    /// Checks that a loss or time-out never raises ssthresh above the previous congestion window or
    /// two segments (RFC 5681, equation 4). An undo restores the previous values. During recovery,
    /// PRR keeps the window near the pipe on its way to ssthresh, so a time-out may then leave any
    /// threshold up to the previous one.
    fn check_reduction(&mut self) {
        let (mut most, mut ssthresh) = self.window;
        if self.recovering {
            most = most.max(ssthresh);
        }
        let (mut lost, mut undone) = (false, false);
        for (_, record) in self.connection.drain_records() {
            match record {
                // Data acknowledged by the ACK that shows the loss counts before it. So does a
                // threshold that this ACK sets: Hybla scales its first one by the first RTT.
                Record::State {
                    cwnd, ssthresh: s, ..
                } if !lost => {
                    most = most.max(cwnd);
                    ssthresh = s;
                }
                Record::Mark(mark @ (Mark::FastRetransmit | Mark::Timeout)) => {
                    lost = true;
                    self.recovering = mark == Mark::FastRetransmit;
                }
                Record::Mark(Mark::Recovered) => self.recovering = false,
                Record::Mark(Mark::Undo) => undone = true,
                _ => {}
            }
        }
        let c = &self.connection;
        let min = 2 * u64::from(c.mss());
        // ADaLR uses the peer's window as ssthresh until a loss, and one ACK may both enlarge that
        // window and report the first loss.
        let peer_window = std::mem::replace(&mut self.peer_window, c.largest_peer_window());
        let widened = c.largest_peer_window() > peer_window;
        let follows = self.beyond > 0 && widened && c.ssthresh() <= c.largest_peer_window();
        let raised = c.ssthresh() != ssthresh && c.ssthresh() > most.max(min) && !follows;
        assert!(
            !(lost && raised) || undone || self.rises,
            "a loss raised ssthresh from {ssthresh} to {} with a window of {most}",
            c.ssthresh()
        );
        self.window = (c.cwnd(), c.ssthresh());
    }

    /// Checks the invariants after a step.
    pub(crate) fn check(&mut self) {
        self.check_reduction();
        let c = &self.connection;
        if c.state() == State::Listen {
            // A reset returned the connection to LISTEN, so that the next segments belong to a new
            // connection.
            (self.una, self.max, self.nxt, self.edge) = (0, 0, 0, 0);
            (self.peer_isn, self.syn) = (None, None);
        }
        assert!(c.snd_una() >= self.una, "SND.UNA went back");
        assert!(c.snd_max() >= self.max, "SND.MAX went back");
        assert!(c.rcv_nxt() >= self.nxt, "RCV.NXT went back");
        (self.una, self.max, self.nxt) = (c.snd_una(), c.snd_max(), c.rcv_nxt());
        assert!(
            c.cwnd() >= u64::from(c.mss()),
            "cwnd {} below a segment",
            c.cwnd()
        );
        assert!(
            c.pipe() <= c.flight(),
            "pipe {} above flight {}",
            c.pipe(),
            c.flight()
        );
        assert!(c.acknowledged() <= self.written);
        c.recount();
        let open = !matches!(c.state(), State::Closed | State::Listen | State::TimeWait);
        if open && (c.snd_una() < c.snd_max() || c.acknowledged() < self.written) {
            assert!(
                c.next_timeout().is_some(),
                "data waits and no timer runs: {c:?}"
            );
        }
    }

    /// Checks invariants between the ends: nothing is acknowledged before it arrived, and no more
    /// is sent than the peer has room for. Exceptions are a probe, a FIN, and algorithms that
    /// exceed the window on purpose.
    pub(crate) fn check_against(&self, peer: &Self) {
        let c = &self.connection;
        assert!(
            c.acknowledged() <= peer.connection.delivered(),
            "acknowledged unseen"
        );
        let edge = peer.edge.max(1 + self.syn_data);
        assert!(
            c.snd_max() <= edge + self.beyond + 2,
            "sent to {}, window to {edge}",
            c.snd_max()
        );
        assert!(
            peer.peer_isn.is_none_or(|isn| isn == self.isn),
            "someone else's stream"
        );
    }

    /// Returns the next deadline of the connection, not before `now`.
    pub(crate) fn next_timeout(&self, now: Instant) -> Option<Instant> {
        self.connection.next_timeout().map(|at| at.max(now))
    }

    /// Returns a pause of the application, from none to long.
    pub(crate) fn pause(chance: &mut Chance) -> Interval {
        let most = chance.pick(&[100, 10_000, 200_000, 200_000, 3_000_000]);
        Interval::from_micros(chance.within(1, most))
    }
}
