//! The sending side: what is queued, what is in flight, what may leave next.

mod ahead;
mod buffer;
mod choose;
mod held;
mod idle;
mod pacing;
mod reduction;
mod sampled;
mod stream;
mod timer;
mod turn;
mod usage;

use crate::config::{Config, CwndLimit, Nagle, Sampling};
use crate::congestion::{self, CongestionControl, Extras};
use crate::dummy::Dummies;
use crate::maybe::Maybe;
use crate::rate::{RateSample, RateSampler};
use crate::record::Recorder;
use crate::recovery::{LossState, frto, rack};
use crate::rto::RttEstimator;
use crate::scoreboard::{Acked, Scoreboard};
use crate::segment::Body;
use crate::seq::{Offset, Seq};
use crate::spurious::Spurious;
use crate::time::{Instant, Interval};
use crate::timers::{Timer, Timers};
pub(crate) use buffer::SendBuffer;
pub use buffer::WriteError;
use held::Held;
use idle::Idle;
use std::sync::Arc;
pub use turn::Turn;
use usage::CwndUsage;

/// The context of a congestion-control hook. A macro, so that only the fields
/// it reads are borrowed while the controller is.
macro_rules! context {
    ($tx:expr, $now:expr, $flight:expr) => {
        $crate::congestion::Context {
            now: $now,
            mss: u64::from($tx.mss),
            flight: $flight,
            snd_una: $tx.board.una(),
            snd_max: $tx.board.max(),
            rtt: &$tx.rtt,
        }
    };
}
pub(crate) use context;

/// A piece of the stream that may leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) start: Offset,
    /// Bytes of data.
    pub(crate) len: u32,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) retransmission: bool,
}

/// Result of a fast look for a full segment.
pub(crate) enum Streamed {
    /// A full segment of new data.
    Segment(Chunk),
    /// Nothing: a window is full.
    Full,
    /// Unknown: the general way must decide.
    Unknown,
}

/// A piece, and its index if it was sent before.
type Choice = (Chunk, Option<usize>);

/// Send state of a connection (RFC 9293, 3.3.1: SND.*).
#[derive(Debug)]
#[repr(C)] // in this order in memory: what each segment asks for is together, and first of it
// what it asks for at the end that only receives
pub(crate) struct Sender {
    pub(crate) spurious: Spurious,
    pub(crate) isn: Seq,
    /// Most data in a segment.
    pub(crate) mss: u32,
    /// Segments sent again since the last acknowledgment or time-out.
    sent_again: u32,
    /// Probes since the window closed, and those of them since the last ACK.
    probes_in_row: u32,
    probes_unanswered: u32,
    timeouts_in_row: u32,
    /// Peer's window, scaled up, from `una`.
    wnd: u64,
    /// Segment that the window was taken from: SND.WL1, SND.WL2.
    window_from: (Offset, Offset),
    /// Largest window the peer ever offered.
    max_wnd: u64,
    /// The timers of the connection, of which most are the sender's.
    pub(crate) timers: Timers,
    pub(crate) board: Scoreboard,
    pub(crate) cc: Box<dyn CongestionControl>,
    last_sent: Instant,
    /// Pacing lets nothing leave before.
    paced_until: Instant,
    /// Time at which an acknowledgment last restarted the retransmission timer.
    timer_restarted: Instant,
    usage: CwndUsage,
    pub(crate) buffer: SendBuffer,
    /// Why nothing more left when it was last asked for.
    held: Held,
    /// The persist timer went off: something leaves whatever the window.
    probe: bool,
    /// Largest congestion window that counts is the peer's largest window.
    limited_by_peer: bool,
    one_sample: bool,
    cwnd_validation: bool,
    rtt_from_sack: bool,
    /// The application's last write was cut short.
    cut_short: bool,
    /// The peer's SYN had our cookie: data leaves before the handshake is over
    /// (RFC 7413, 4.2.2).
    pub(crate) early: bool,
    pub(crate) loss: LossState,
    pub(crate) rtt: RttEstimator,
    /// Abilities of the controller beside its window.
    pub(crate) extras: &'static Extras,
    /// State of a controller that sends dummy segments.
    pub(crate) dummies: Option<Box<Dummies>>,
    /// Segment being timed: position after it, and when it left.
    timed: Maybe<(Offset, Instant)>,
    /// Position after the last segment of new data that was not full.
    small_end: Offset,
    nagle: Nagle,
    limit: u64,
    idle: Idle,
}

impl Sender {
    pub(crate) fn new(config: &Arc<Config>, isn: Seq) -> Self {
        let cc = congestion::build(config, config.mss);
        let extras = &config.congestion.algorithm().extras;
        let mut board = Scoreboard::default();
        if extras.rate.is_some() {
            board.rate = Some(Box::<RateSampler>::default());
        }
        let dummies = extras.dummies.is_some().then(|| Box::new(Dummies::new()));
        let loss = LossState::new(config);
        if loss.rack().is_some() {
            board.order = Some(Box::default());
        }
        Self {
            isn,
            board,
            dummies,
            buffer: SendBuffer::new(),
            cc,
            extras,
            rtt: RttEstimator::of(config),
            loss,
            spurious: Spurious::default(),
            mss: config.mss,
            wnd: 0,
            window_from: (0, 0),
            max_wnd: 0,
            nagle: config.nagle,
            small_end: 0,
            rtt_from_sack: config.rto.from_sack,
            limit: config.send_buffer,
            cut_short: false,
            held: Held::Idle,
            idle: Idle::new(config, config.mss),
            cwnd_validation: config.cwnd_validation,
            one_sample: config.rto.sampling == Sampling::OnePerRtt,
            limited_by_peer: config.cwnd_limit == CwndLimit::ReceiveWindow,
            timed: Maybe::NONE,
            usage: CwndUsage::default(),
            sent_again: 0,
            last_sent: Instant::ZERO,
            timer_restarted: Instant::ZERO,
            timeouts_in_row: 0,
            probes_in_row: 0,
            probes_unanswered: 0,
            probe: false,
            early: false,
            paced_until: Instant::ZERO,
            timers: Timers::none(),
        }
    }

    /// Returns the configuration of the connection.
    #[inline]
    pub(crate) fn config(&self) -> &Config {
        self.rtt.config()
    }

    /// The handshake settled the segment size and whether SACK may be used.
    pub(crate) fn negotiated(&mut self, config: &Config, mss: u32, sack: bool) {
        self.mss = mss;
        self.cc = congestion::build(config, mss);
        self.idle = Idle::new(config, mss);
        self.after_lost_syns(self.timeouts_in_row);
        if !sack {
            self.loss.without_sack();
            self.board.order = None;
        }
    }

    /// The handshake, or its first half, needed so many time-outs.
    pub(crate) fn after_lost_syns(&mut self, timeouts: u32) {
        if timeouts > 0 {
            self.rtt.after_syn_timeout();
        }
        if timeouts >= self.config().lost_syns {
            // RFC 5681, 3.1: one segment if a SYN was lost.
            self.cc.collapse(u64::from(self.mss));
        }
    }

    /// Time-outs since the last acknowledgment.
    pub(crate) fn timeouts_in_row(&self) -> u32 {
        self.timeouts_in_row
    }

    /// Window in force: congestion window with recovery's inflation.
    #[inline(always)] // asked for each segment
    pub(crate) fn cwnd(&self) -> u64 {
        let most = self.most_cwnd();
        let mut cwnd = self.cc.cwnd().min(most);
        if self.loss.inflation != 0 {
            cwnd = cwnd.saturating_add_signed(self.loss.inflation);
        }
        cwnd.max(u64::from(self.mss))
    }

    /// Largest congestion window that counts.
    #[inline]
    fn most_cwnd(&self) -> u64 {
        if self.limited_by_peer {
            self.max_wnd
        } else {
            u64::MAX
        }
    }

    pub(crate) fn set_nagle(&mut self, rule: Nagle) {
        self.nagle = rule;
    }

    pub(crate) fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// Takes over what the application wrote to and set for `before`.
    pub(crate) fn settings_of(&mut self, before: Self) {
        self.buffer = before.buffer;
        self.cut_short = before.cut_short;
        self.nagle = before.nagle;
        self.limit = before.limit;
    }

    /// Peer's window.
    pub(crate) fn wnd(&self) -> u64 {
        self.wnd
    }

    /// Largest window that the peer ever offered.
    pub(crate) fn max_wnd(&self) -> u64 {
        self.max_wnd
    }

    /// Position after the last byte that the peer has room for.
    fn right_edge(&self) -> Offset {
        self.board.una() + self.wnd
    }

    /// Position after the last byte that is sent in the belief that the peer
    /// has room for it.
    #[inline(always)] // asked for each segment
    fn believed_edge(&self) -> Offset {
        let taken = match self.extras.peer_window.of(&*self.cc) {
            Some(peer) => peer.peer_window(self.wnd, u64::from(self.mss)),
            None => self.wnd,
        };
        self.board.una() + taken
    }

    /// Position for a segment without data: after all that was sent, but not
    /// beyond the window. A probe's byte or a FIN that found no room would make
    /// it unacceptable to the peer, whose answer would be as unacceptable to us
    /// if its probe found no room either, and so on for ever.
    pub(crate) fn ack_position(&self) -> Offset {
        self.board.max().min(self.right_edge())
    }

    /// Bytes that the application may write now.
    pub(crate) fn room(&self) -> u64 {
        self.buffer.room(self.limit, self.board.una())
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
        self.buffer.fin().is_some_and(|fin| self.board.una() > fin)
    }

    /// Takes a window from a segment at `seq` with acknowledgment `ack`
    /// (RFC 9293, 3.10.7.4, SND.WL1 and SND.WL2).
    pub(crate) fn update_window(&mut self, now: Instant, seq: Offset, ack: Offset, wnd: u64) {
        if self.take_window(now, seq, ack, wnd)
            && let Some(peer) = self.extras.peer_window.of_mut(&mut *self.cc)
        {
            peer.on_peer_window(wnd, u64::from(self.mss));
        }
    }

    /// Updates the window where the controller does not use it. Returns whether the segment is
    /// newer than the last.
    #[inline(always)] // of each segment
    pub(crate) fn take_window(&mut self, now: Instant, seq: Offset, ack: Offset, wnd: u64) -> bool {
        let (wl1, wl2) = self.window_from;
        let news = wl1 < seq || (wl1 == seq && wl2 <= ack);
        if news {
            self.window_from = (seq, ack);
            self.wnd = wnd;
            self.max_wnd = self.max_wnd.max(wnd);
            if wnd > 0 && (self.probes_in_row > 0 || self.timers.runs(Timer::Persist)) {
                self.window_opened(now);
            }
        } else {
            // The window is not news, its right edge stays where it is.
            self.wnd = self.wnd.saturating_sub(ack - self.board.una());
        }
        news
    }

    /// The window that was closed is not any more.
    #[cold]
    fn window_opened(&mut self, now: Instant) {
        self.timers.stop(Timer::Persist);
        self.probes_in_row = 0;
        self.probe = false;
        if !self.board.is_empty() && !self.timer_runs() {
            // The probe's byte found no room: it goes again.
            self.board.lose_front();
            self.start_timer(now);
        }
    }

    /// New data is acknowledged up to `to`. `echoed` is when the segment that
    /// caused the ACK left, as its timestamp says.
    #[inline(always)] // of each ACK
    pub(crate) fn acknowledge(
        &mut self,
        now: Instant,
        to: Offset,
        echoed: Option<Instant>,
        recorder: &mut Recorder,
    ) -> (u64, Acked, Option<Interval>) {
        let flight = self.board.flight();
        let timed = self.loss.fine().is_some();
        let front = self.board.front().filter(|_| timed).copied();
        let acked = self.board.acknowledge(to);
        if let Some(front) = front {
            // A SYN is short: on a slow link it says nothing of how long data takes.
            let data = front.start > 0 || !self.loss.sends_front_at_timeout();
            if let Some(fine) = self.loss.fine_mut().filter(|_| data) {
                fine.acknowledged(now, (to, self.board.max()), front.at, &acked);
            }
        }
        self.buffer.release(to);
        self.timeouts_in_row = 0;
        self.rtt.acknowledged();
        let sacked = self
            .board
            .first_sacked
            .get()
            .filter(|_| self.rtt_from_sack && acked.sample_from.is_none());
        let sent = if sacked.is_some() {
            sacked
        } else if echoed.is_some() {
            echoed
        } else if self.one_sample {
            match self.timed.get() {
                Some((end, at)) if to >= end => {
                    self.timed = Maybe::NONE;
                    Some(at)
                }
                _ => None,
            }
        } else {
            acked.sample_from
        };
        let sample = sent.map(|at| self.sample(now, at, recorder));
        (flight, acked, sample)
    }

    /// Returns whether no feature must see every ACK.
    #[inline]
    pub(crate) fn plain(&self) -> bool {
        self.board.rate.is_none()
            && self.loss.rack().is_none()
            && self.loss.prr().is_none()
            && self.spurious.frto == frto::Frto::Off
    }

    /// Bytes in the network, for a controller that takes rate samples.
    #[inline]
    pub(crate) fn rated_flight(&self) -> Option<u64> {
        self.board.rate.is_some().then(|| self.in_network())
    }

    /// The best guess of what is in the network.
    fn in_network(&self) -> u64 {
        if self.loss.sacking() {
            self.board.pipe()
        } else {
            self.board.flight()
        }
    }

    /// An ACK is done with, which found `prior_flight` bytes in the network:
    /// the controller gets its sample, if it delivered anything.
    #[inline(never)] // nothing of it need be fetched by others
    pub(crate) fn sample_rate(&mut self, now: Instant, prior_flight: u64) {
        let flight = self.in_network();
        let Some(rate) = &mut self.board.rate else {
            return;
        };
        let Some(sample) = rate.finish(now) else {
            return;
        };
        let sample = RateSample {
            prior_flight,
            flight,
            ..sample
        };
        let cx = context!(self, now, prior_flight);
        let Some(model) = self.extras.rate.of_mut(&mut *self.cc) else {
            return;
        };
        model.on_rate_sample(&cx, &sample);
        if model.limits_itself()
            && let Some(rate) = &mut self.board.rate
        {
            rate.limit(flight);
        }
    }

    /// The SYN was acknowledged, which is no sample for the controller.
    pub(crate) fn skip_sample(&mut self, now: Instant) {
        if let Some(rate) = &mut self.board.rate {
            rate.finish(now);
        }
    }

    /// Nothing more is there to send: what follows is limited by the
    /// application, unless the window is full or a loss waits for its repair
    /// (draft-cheng-iccrg-delivery-rate-estimation-00, 3.4).
    #[inline]
    fn application_limits(&mut self) {
        if self.board.rate.is_none() {
            return;
        }
        let unsent = self.buffer.end().saturating_sub(self.board.max());
        let flight = self.in_network();
        if unsent < u64::from(self.mss)
            && flight < self.cwnd()
            && let Some(rate) = &mut self.board.rate
        {
            rate.limit(flight);
        }
    }

    /// Returns whether the congestion window is in use, or counts as in use.
    #[inline(always)] // of each ACK
    pub(crate) fn cwnd_limited(&self) -> bool {
        let slow_start = || self.cc.in_slow_start().then(|| self.cc.cwnd());
        (!self.cwnd_validation || self.usage.limited(slow_start))
            && (!self.limited_by_peer || self.cc.cwnd() < self.max_wnd)
    }

    /// Makes data in flight before `to` give no round-trip sample.
    pub(crate) fn distrust_samples(&mut self, to: Offset) {
        self.board.distrust(to);
        self.timed = self.timed.get().filter(|timed| timed.0 > to).into();
    }

    /// Segments were or will be sent twice.
    fn distrust_timed(&mut self) {
        if self.config().rto.karn {
            self.timed = Maybe::NONE;
        }
    }

    /// A fast retransmit is about to leave.
    pub(crate) fn loss_seen(&mut self, now: Instant) {
        if self.config().restart_on_retransmit {
            self.restart_timer(now);
        }
    }

    /// Sequence space of nothing but acknowledgments leaves: `None`. Otherwise
    /// the piece that goes next.
    #[inline(never)] // of a stream it is not asked
    pub(crate) fn next(&mut self, now: Instant) -> Option<Chunk> {
        if self.only_receives(now) {
            self.loss.force = false;
            self.held = Held::Idle;
            self.usage
                .note(false, 0, self.board.una(), self.board.max());
            return None;
        }
        match self.choose(now) {
            Ok((chunk, index)) => {
                self.left(now, &chunk, index);
                Some(chunk)
            }
            Err(held) => {
                self.hold(now, held);
                None
            }
        }
    }

    fn left(&mut self, now: Instant, chunk: &Chunk, index: Option<usize>) {
        if let Some(i) = index {
            self.board.sent_again(i, now);
            let space = u64::from(chunk.len + u32::from(chunk.syn) + u32::from(chunk.fin));
            let detection = self.config().undo;
            self.spurious
                .sent_again(now, chunk.start, chunk.start + space, detection);
            self.sent_again = self.sent_again.saturating_add(1);
            self.distrust_timed(); // nothing sent before this can be told apart
            if i == 0 && self.loss.retransmits_again() && self.timer_runs() {
                self.loss_seen(now);
            }
        } else {
            let space = chunk.len + u32::from(chunk.syn) + u32::from(chunk.fin);
            if let Some(rate) = &self.board.rate
                && self.board.is_empty()
                && rate.is_limited()
            {
                let cx = context!(self, now, 0);
                if let Some(model) = self.extras.rate.of_mut(&mut *self.cc) {
                    model.on_transmit_start(&cx);
                }
            }
            if self.board.is_empty() {
                let since_last = now.since(self.last_sent);
                self.cc.on_pause(&context!(self, now, 0), since_last);
            }
            if self.loss.dup_acks > 0 {
                let (flight, cwnd) = (self.board.flight(), self.cc.cwnd());
                self.loss.new_data(u64::from(space), flight, cwnd);
            }
            self.board.sent(space, now);
            if chunk.len > 0 && chunk.len < self.mss {
                self.small_end = self.board.max();
            }
            if self.one_sample && self.timed.is_none() {
                self.timed = Maybe::some((self.board.max(), now));
            }
        }
        self.loss.data(u64::from(chunk.len));
        if chunk.len > 0
            && let Some(dummies) = &mut self.dummies
        {
            dummies.data(chunk.start, chunk.len);
            let cx = context!(self, now, self.board.flight());
            if let Some(source) = self.extras.dummies.of_mut(&mut *self.cc) {
                source.on_data_sent(&cx);
            }
        }
        self.spurious.frto.left(index.is_some());
        self.last_sent = now;
        self.pace(now, chunk);
        if self.probes_in_row == 0 && !self.timer_runs() {
            self.start_timer(now);
        }
        rack::left(self, now, index.is_some());
    }

    /// The SYN leaves for the first time, with so many bytes of data, which are
    /// acknowledged and sent again apart from it.
    pub(crate) fn send_syn(&mut self, now: Instant, data: u32) {
        let chunk = Chunk {
            start: 0,
            len: 0,
            syn: true,
            fin: false,
            retransmission: false,
        };
        self.left(now, &chunk, None);
        if data > 0 {
            let chunk = Chunk {
                start: 1,
                len: data,
                syn: false,
                ..chunk
            };
            self.left(now, &chunk, None);
        }
    }

    /// The peer took the SYN but not all of its data, which goes again at once. It was
    /// refused and not lost: the window stays (RFC 7413, 4.2.2).
    pub(crate) fn syn_data_refused(&mut self) {
        self.board.lose_all();
        self.board.split(self.mss);
        self.distrust_samples(self.board.max());
    }

    /// Data of a piece.
    #[inline(always)] // of each segment of data, and nearly always a length
    pub(crate) fn body(&self, chunk: &Chunk) -> Body {
        if chunk.len == 0 {
            Body::EMPTY
        } else {
            self.buffer.body(chunk.start.max(1), chunk.len)
        }
    }

    /// Writes the body of a chunk into an existing body.
    #[inline(always)] // of each segment of data
    pub(crate) fn body_into(&self, chunk: &Chunk, out: &mut Body) {
        if self.buffer.holds_bytes() {
            *out = self.body(chunk);
        } else {
            out.set_len(chunk.len);
        }
    }

    /// An acknowledgment arrived: the peer is there.
    pub(crate) fn heard(&mut self) {
        self.probes_unanswered = 0;
        self.sent_again = 0;
    }
}
