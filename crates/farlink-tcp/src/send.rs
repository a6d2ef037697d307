//! The sending side: queued data, data in flight, and the choice of the next segment.

mod ahead;
mod blocked;
mod buffer;
mod choose;
mod fast;
mod idle;
mod pacing;
mod sampled;
mod timer;

use crate::config::{Config, Nagle};
use crate::dummy::Dummies;
use crate::flight::{Flight, context};
use crate::reason::Reason;
use crate::record::Recorder;
use crate::recovery::frto::Frto;
use crate::recovery::{self, LossRecovery};
use crate::scoreboard::Acked;
use crate::segment::Body;
use crate::seq::{Offset, Seq};
use crate::time::{Instant, Interval};
use crate::timers::Timer;
use blocked::BlockedOn;
pub(crate) use buffer::SendBuffer;
pub use buffer::WriteError;
pub use fast::BurstBudget;
pub(crate) use fast::Streamed;
use idle::Idle;
use std::sync::Arc;

/// Piece of the stream that may be sent as one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) start: Offset,
    /// Bytes of data.
    pub(crate) len: u32,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) retransmission: bool,
    /// Reason of a choice. `None` for a segment marked lost, because the sign of its loss is the
    /// reason.
    pub(crate) why: Option<Reason>,
}

/// A piece, and its scoreboard index if it is a retransmission.
type Choice = (Chunk, Option<usize>);

/// Send state of a connection (RFC 9293, 3.3.1: SND.*).
#[derive(Debug)]
#[repr(C)] // keeps the fields that each segment needs together in memory;
// the fields that a receiving end needs come first
pub(crate) struct Sender {
    pub(crate) frto: Frto,
    pub(crate) isn: Seq,
    /// Segments retransmitted since the last acknowledgment or time-out.
    retransmitted_in_row: u32,
    /// Window probes since the window closed, and those since the last ACK.
    probes_in_row: u32,
    probes_unanswered: u32,
    pub(crate) flight: Flight,
    last_sent: Instant,
    /// Earliest time at which pacing allows the next segment.
    paced_until: Instant,
    pub(crate) buffer: SendBuffer,
    /// Reason why sending last stopped.
    blocked_on: BlockedOn,
    /// Set if the persist timer expired, so that a window probe must be sent.
    probe: bool,
    /// Set if the last write of the application did not fit into the buffer.
    cut_short: bool,
    /// Set if the peer's SYN carried our Fast Open cookie. Data is then sent before the handshake
    /// ends (RFC 7413, 4.2.2).
    pub(crate) early: bool,
    nagle: Nagle,
    /// Reason for which segments were marked lost without a sign of a loss.
    pub(crate) resends: Option<Reason>,
    /// Segments that may still leave at `last_sent`, in the super-packet of that time.
    super_packet_left: u16,
    pub(crate) recovery: LossRecovery,
    /// State of a controller that sends dummy segments.
    pub(crate) dummies: Option<Box<Dummies>>,
    /// Position after the last new segment that was shorter than the MSS.
    small_end: Offset,
    limit: u64,
    idle: Idle,
}

impl Sender {
    pub(crate) fn new(config: &Arc<Config>, isn: Seq) -> Self {
        let mut flight = Flight::new(config);
        flight.set_fine(recovery::fine_timeout(config));
        let recovery = LossRecovery::new(config);
        if recovery.rack().is_some() {
            flight.board.order = Some(Box::default());
        }
        Self {
            frto: Frto::Off,
            isn,
            retransmitted_in_row: 0,
            probes_in_row: 0,
            probes_unanswered: 0,
            super_packet_left: 0,
            dummies: (flight.extras.dummies.is_some()).then(|| Box::new(Dummies::new())),
            flight,
            last_sent: Instant::ZERO,
            paced_until: Instant::ZERO,
            buffer: SendBuffer::new(),
            blocked_on: BlockedOn::Idle,
            probe: false,
            cut_short: false,
            early: false,
            recovery,
            small_end: 0,
            nagle: config.nagle,
            resends: None,
            limit: config.send_buffer,
            idle: Idle::new(config, config.mss),
        }
    }

    /// Reinitialises with the results of the handshake: segment size and SACK.
    pub(crate) fn negotiated(&mut self, config: &Config, mss: u32, sack: bool) {
        self.flight.negotiated(config, mss);
        self.idle = Idle::new(config, mss);
        if !sack {
            self.recovery.without_sack(&mut self.flight);
            self.flight.board.order = None;
        }
    }

    /// Returns recovery and the flight that recovery changes.
    #[inline]
    pub(crate) fn parts(&mut self) -> (&mut LossRecovery, &mut Flight) {
        (&mut self.recovery, &mut self.flight)
    }

    pub(crate) fn set_nagle(&mut self, rule: Nagle) {
        self.nagle = rule;
    }

    pub(crate) fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// Copies buffer and the application's settings from `before`.
    pub(crate) fn settings_of(&mut self, before: Self) {
        self.buffer = before.buffer;
        self.cut_short = before.cut_short;
        self.nagle = before.nagle;
        self.limit = before.limit;
    }

    /// Bytes that the application may write now.
    pub(crate) fn room(&self) -> u64 {
        self.buffer.room(self.limit, self.flight.board.una())
    }

    pub(crate) fn write_len(&mut self, len: u64) -> Result<u64, WriteError> {
        let n = len.min(self.room());
        self.buffer.write_len(n)?;
        self.cut_short = n < len;
        Ok(n)
    }

    pub(crate) fn write(&mut self, data: &[u8]) -> Result<usize, WriteError> {
        let room = self.room();
        let n = data.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        self.buffer.write(&data[..n])?;
        self.cut_short = n < data.len();
        Ok(n)
    }

    /// Returns whether our FIN is acknowledged.
    pub(crate) fn fin_acknowledged(&self) -> bool {
        self.buffer
            .fin()
            .is_some_and(|fin| self.flight.board.una() > fin)
    }

    /// Updates the peer's window from a segment at `seq` with acknowledgment `ack` (RFC 9293,
    /// 3.10.7.4, SND.WL1 and SND.WL2).
    pub(crate) fn update_window(&mut self, now: Instant, seq: Offset, ack: Offset, wnd: u64) {
        let flight = &mut self.flight;
        if flight.peer.update(seq, ack, flight.board.una(), wnd) {
            self.check_persist(now);
            let flight = &mut self.flight;
            if let Some(peer) = flight.extras.peer_window.of_mut(&mut *flight.cc) {
                peer.on_peer_window(wnd, u64::from(flight.mss));
            }
        }
    }

    /// Updates the peer's window for a controller that does not read it.
    #[inline(always)] // called for each segment
    pub(crate) fn set_window(&mut self, now: Instant, seq: Offset, ack: Offset, wnd: u64) {
        let flight = &mut self.flight;
        if flight.peer.update(seq, ack, flight.board.una(), wnd) {
            self.check_persist(now);
        }
    }

    /// Ends window probing once the window is open again.
    #[inline(always)] // called for each segment
    fn check_persist(&mut self, now: Instant) {
        let probing = self.probes_in_row > 0 || self.flight.timers.runs(Timer::Persist);
        if self.flight.peer.size > 0 && probing {
            self.window_opened(now);
        }
    }

    /// Ends the state of a closed window.
    #[cold]
    fn window_opened(&mut self, now: Instant) {
        self.flight.timers.stop(Timer::Persist);
        self.probes_in_row = 0;
        self.probe = false;
        if !self.flight.board.is_empty() && !self.flight.timer_runs() {
            // The peer had no room for the probe's byte, so that it is retransmitted.
            self.flight.board.lose_front();
            self.resends = Some(Reason::WindowOpened);
            self.flight.start_timer(now);
        }
    }

    /// Acknowledges all data before `to`. `echoed` is the send time of the segment whose timestamp
    /// the ACK echoes. Returns the bytes in flight before the ACK, the acknowledged data, and the
    /// RTT sample.
    #[inline(always)] // called for each ACK
    pub(crate) fn acknowledge(
        &mut self,
        now: Instant,
        to: Offset,
        echoed: Option<Instant>,
        recorder: &mut Recorder,
    ) -> (u64, Acked, Option<Interval>) {
        let in_flight = self.flight.board.flight();
        if self.recovery.times_first() {
            for at in self.flight.board.covered(to) {
                self.flight.rtt.sample(at, now);
            }
        }
        let (acked, sent) = self.flight.acknowledge(now, to, echoed);
        self.buffer.release(to);
        let sample = sent.map(|at| self.sample(now, at, recorder));
        (in_flight, acked, sample)
    }

    /// Returns whether no feature must see every ACK.
    #[inline]
    pub(crate) fn plain(&self) -> bool {
        self.flight.board.rate.is_none()
            && !self.recovery.processes_every_ack()
            && self.frto == Frto::Off
    }

    /// Returns the next chunk to send; `None` if only an acknowledgment may be sent.
    #[inline(never)] // not called for a stream of full segments
    pub(crate) fn next(&mut self, now: Instant) -> Option<Chunk> {
        if self.only_receives(now) {
            self.flight.loss.force = false;
            self.blocked_on = BlockedOn::Idle;
            self.flight
                .usage
                .note(false, 0, self.flight.board.una(), self.flight.board.max());
            return None;
        }
        match self.choose(now) {
            Ok((chunk, index)) => {
                self.on_sent(now, &chunk, index);
                Some(chunk)
            }
            Err(on) => {
                self.block(now, on);
                None
            }
        }
    }

    fn on_sent(&mut self, now: Instant, chunk: &Chunk, index: Option<usize>) {
        if let Some(i) = index {
            if self.recovery.times_first() {
                self.flight.board.repeated(i, now);
            } else {
                self.flight.board.sent_again(i, now);
            }
            let space = u64::from(chunk.len + u32::from(chunk.syn) + u32::from(chunk.fin));
            let detection = self.flight.config().undo;
            let range = (chunk.start, chunk.start + space);
            self.flight
                .loss
                .spurious
                .on_retransmit(now, range, detection);
            self.retransmitted_in_row = self.retransmitted_in_row.saturating_add(1);
            self.flight.stop_timing(); // An ACK does not show which transmission it is for.
            if i == 0 && self.recovery.retransmits_again(&self.flight) && self.flight.timer_runs() {
                self.flight.restart_timer_for_loss(now);
            }
        } else {
            let space = chunk.len + u32::from(chunk.syn) + u32::from(chunk.fin);
            if let Some(rate) = &self.flight.board.rate
                && self.flight.board.is_empty()
                && rate.is_app_limited()
            {
                let cx = context!(self.flight, now, 0);
                if let Some(model) = self.flight.extras.rate.of_mut(&mut *self.flight.cc) {
                    model.on_transmit_start(&cx);
                }
            }
            if self.flight.board.is_empty() {
                let since_last = now.since(self.last_sent);
                self.flight
                    .cc
                    .on_pause(&context!(self.flight, now, 0), since_last);
            }
            if self.flight.loss.dup_acks > 0 {
                let (flight, cwnd) = (self.flight.board.flight(), self.flight.cc.cwnd());
                self.flight.loss.new_data(u64::from(space), flight, cwnd);
            }
            self.flight.board.sent(space, now);
            if chunk.len > 0 && chunk.len < self.flight.mss {
                self.small_end = self.flight.board.max();
            }
            self.flight.time(self.flight.board.max(), now);
        }
        self.recovery.on_bytes_sent(u64::from(chunk.len));
        if chunk.len > 0
            && let Some(dummies) = &mut self.dummies
        {
            dummies.data(chunk.start, chunk.len);
            let cx = context!(self.flight, now, self.flight.board.flight());
            if let Some(source) = self.flight.extras.dummies.of_mut(&mut *self.flight.cc) {
                source.on_data_sent(&cx);
            }
        }
        self.frto.on_sent(index.is_some());
        self.last_sent = now;
        self.pace(now, chunk);
        if self.probes_in_row == 0 && !self.flight.timer_runs() {
            self.flight.start_timer(now);
        }
        self.recovery
            .on_sent(&mut self.flight, now, index.is_some());
    }

    /// Sends the SYN for the first time, with `data` bytes. The data has its own record, so that it
    /// is acknowledged and retransmitted separately.
    pub(crate) fn send_syn(&mut self, now: Instant, data: u32) {
        let chunk = Chunk {
            start: 0,
            len: 0,
            syn: true,
            fin: false,
            retransmission: false,
            why: Some(Reason::Handshake),
        };
        self.on_sent(now, &chunk, None);
        if data > 0 {
            let chunk = Chunk {
                start: 1,
                len: data,
                syn: false,
                ..chunk
            };
            self.on_sent(now, &chunk, None);
        }
    }

    /// Retransmits the data of a SYN at once, because the peer accepted the SYN but not all of its
    /// data. The window stays, because the data was refused and not lost (RFC 7413, 4.2.2).
    pub(crate) fn syn_data_refused(&mut self) {
        self.flight.board.lose_all();
        self.resends = Some(Reason::Resend);
        self.flight.board.split(self.flight.mss);
        self.flight.exclude_rtt_samples(self.flight.board.max());
    }

    /// Data of a piece.
    #[inline(always)] // called for each data segment, nearly always with a length
    pub(crate) fn body(&self, chunk: &Chunk) -> Body {
        if chunk.len == 0 {
            Body::EMPTY
        } else {
            self.buffer.body(chunk.start.max(1), chunk.len)
        }
    }

    /// Returns the body of a dummy: bytes of the stream, or zeros if those bytes are acknowledged
    /// and no longer buffered.
    pub(crate) fn dummy_body(&self, start: Offset, len: u32) -> Body {
        if start >= self.flight.board.una() {
            self.buffer.body(start, len)
        } else if self.buffer.holds_bytes() {
            Body::of_bytes(&vec![0; len as usize])
        } else {
            Body::of_len(len)
        }
    }

    /// Writes the body of a chunk into an existing body.
    #[inline(always)] // called for each data segment
    pub(crate) fn body_into(&self, chunk: &Chunk, out: &mut Body) {
        if self.buffer.holds_bytes() {
            *out = self.body(chunk);
        } else {
            out.set_len(chunk.len);
        }
    }

    /// Notes an acknowledgment, which proves that the peer is alive.
    pub(crate) fn peer_alive(&mut self) {
        self.probes_unanswered = 0;
        self.retransmitted_in_row = 0;
    }
}
