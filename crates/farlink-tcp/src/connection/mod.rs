//! A connection: the state machine of RFC 9293, 3.3.2.
//!
//! # Calling contract
//!
//! The methods are of four kinds, as in other sans-IO state machines: getters; input
//! ([`Connection::on_segment`], [`Connection::on_timeout`]); calls of the application
//! ([`Connection::write`], [`Connection::read`], [`Connection::shutdown`], ...); output
//! ([`Connection::poll_transmit`], [`Connection::poll_event`], [`Connection::next_timeout`]).
//!
//! Times must not decrease. After input or an application call, the caller polls segments until
//! `None`, then events until `None`, then reads the next time-out. Only then may it pass a later
//! time. Segments must have passed their checksum and carry this connection's ports.

mod ack_rate;
mod acks;
mod clocks;
mod coupled;
mod dummy;
mod fast;
mod fast_open;
mod input;
mod join;
mod lifetime;
mod marks;
mod notice;
mod output;
mod sender_state;
mod stamps;
mod state;
mod timers;

pub use crate::notice::{LossCause, Notice};
pub use crate::send::{BurstBudget, WriteError};
pub use state::{CloseReason, Event, State};
#[cfg(test)]
mod tests;

use crate::config::{Config, Nagle, SnackForm, WindowScale};
use crate::congestion::{Feedback, Metric};
use crate::fast_open::Opening;
use crate::flight::{Flight, context};
use crate::limit::LimitTimes;
use crate::phase::PhaseTimes;
use crate::reason::Reason;
use crate::receive::Receiver;
use crate::record::{Record, Recorder, Stats};
use crate::rto::RttEstimator;
use crate::segment::Segment;
use crate::send::Sender;
use crate::seq::{Offset, Seq};
use crate::time::{Instant, Interval};
use clocks::{Clocks, SenderState};
use lifetime::Lifetime;
use stamps::Stamps;
use state::Events;
use std::sync::Arc;

/// One end of a TCP connection.
#[derive(Debug)]
#[repr(C)] // keeps the fields that each segment needs together in memory
pub struct Connection {
    state: State,
    /// Set if the fast path ([`fast`]) may process expected segments, because no configured feature
    /// must see every segment.
    predicts: bool,
    /// Set if nothing is in flight or queued. Cleared by every input except the next data in order.
    idle: bool,
    /// Set if the application called [`Self::close`]: data that arrives now is answered with a
    /// reset.
    read_shut: bool,
    agreed: Agreed,
    local_port: u16,
    remote_port: u16,
    sender_state: SenderState,
    /// Number of received dummy segments whose ACKs have not been sent.
    dummy_acks: u32,
    events: Events,
    /// Timestamp state.
    stamps: Stamps,
    rx: Receiver,
    recorder: Recorder,
    /// RST to send; it is no part of the data stream.
    reply: Option<Box<Segment>>,
    clocks: Box<Clocks>,
    /// Keep-alive, user time-out and limit of FIN-WAIT-2, if any is configured.
    lifetime: Option<Box<Lifetime>>,
    /// TCP Fast Open, if that is configured.
    fast_open: Option<Box<Opening>>,
    tx: Sender,
    /// Set if this end opened actively.
    active: bool,
    /// Set if a SYN or SYN-ACK must be sent.
    syn_due: bool,
    /// Disables the fast path, for tests.
    general_only: bool,
    /// Use of window scaling: this end's wish before the handshake, the agreement of both ends
    /// after it.
    scaling: bool,
    /// Form of SNACK: this end's wish before the handshake, the agreement of both ends after it.
    snack: SnackForm,
}

/// Options: this end's wishes before the handshake, the agreement of both ends after it.
#[derive(Debug)]
struct Agreed {
    sack: bool,
    timestamps: bool,
    /// Shift of the peer's window field.
    peer_shift: u8,
    /// Feedback of congestion marks; none before the handshake.
    feedback: Feedback,
    /// Set while every ACK echoes a mark (RFC 3168).
    echo: bool,
}

impl Connection {
    /// Opens actively: the SYN leaves with the first [`Self::poll_transmit`].
    pub fn open(config: Arc<Config>, local_port: u16, remote_port: u16, isn: Seq) -> Self {
        let mut c = Self::new(config, local_port, remote_port, isn, State::SynSent);
        c.active = true;
        c.syn_due = true;
        c
    }

    /// Opens passively: waits for a SYN from any port.
    pub fn listen(config: Arc<Config>, local_port: u16, isn: Seq) -> Self {
        Self::new(config, local_port, 0, isn, State::Listen)
    }

    fn new(config: Arc<Config>, local_port: u16, remote_port: u16, isn: Seq, state: State) -> Self {
        let shift = match config.receiver.window_scale {
            WindowScale::Off => 0,
            WindowScale::Shift(n) => n.min(14),
            WindowScale::Auto => (0..14)
                .find(|&n| u16::try_from(config.receiver.largest_window() >> n).is_ok())
                .unwrap_or(14),
        };
        let scaling = match config.receiver.window_scale {
            WindowScale::Off => false,
            WindowScale::Shift(_) => true,
            WindowScale::Auto => shift > 0,
        };
        Self {
            state,
            local_port,
            remote_port,
            tx: Sender::new(&config, isn),
            active: false,
            syn_due: false,
            predicts: false,
            general_only: false,
            idle: false,
            agreed: Agreed {
                sack: config.receiver.sack,
                timestamps: config.timestamps,
                peer_shift: 0,
                feedback: Feedback::None,
                echo: false,
            },
            scaling,
            snack: if config.receiver.sack {
                SnackForm::Off
            } else {
                config.receiver.snack
            },
            stamps: Stamps::new(isn),
            reply: None,
            dummy_acks: 0,
            events: Events::default(),
            recorder: Recorder::default(),
            sender_state: SenderState::default(),
            clocks: Box::new(Clocks::new(&config)),
            read_shut: false,
            lifetime: Lifetime::new(&config),
            fast_open: Opening::new(&config),
            rx: Receiver::new(config, shift),
        }
    }

    /// Returns the configuration.
    #[inline]
    fn config(&self) -> &Arc<Config> {
        self.rx.config()
    }

    /// Prefetches the heap parts that processing a segment will need.
    #[inline]
    pub fn prefetch(&self) {
        self.rx.prefetch();
        self.recorder.prefetch();
        if !self.tx.flight.board.is_empty() {
            self.tx.flight.board.prefetch();
            farlink_prefetch::whole(&*self.tx.flight.cc);
            farlink_prefetch::whole(&*self.clocks);
        }
    }

    /// Prefetches the memory that the parts fetched by [`Self::prefetch`] point to.
    #[inline]
    pub fn prefetch_behind(&self) {
        self.rx.prefetch_behind();
    }

    // Getters.

    /// State of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Congestion window in bytes, recovery's inflation included.
    pub fn cwnd(&self) -> u64 {
        self.tx.flight.cwnd()
    }

    /// Slow-start threshold in bytes; `u64::MAX` while unlimited.
    pub fn ssthresh(&self) -> u64 {
        self.tx.flight.cc.ssthresh()
    }

    /// Bytes sent, not acknowledged and not presumed lost.
    pub fn flight(&self) -> u64 {
        self.tx.flight.board.flight()
    }

    /// Sequence space that was sent and is not acknowledged, whether or not it is presumed lost.
    pub fn unacknowledged(&self) -> u64 {
        self.tx.flight.board.max() - self.tx.flight.board.una()
    }

    /// Bytes in the network (`pipe` of RFC 6675): [`Self::flight`] minus SACKed bytes.
    pub fn pipe(&self) -> u64 {
        self.tx.flight.board.pipe()
    }

    /// Position of the first byte that is not acknowledged (SND.UNA).
    pub fn snd_una(&self) -> Offset {
        self.tx.flight.board.una()
    }

    /// Position after the last byte sent (SND.MAX).
    pub fn snd_max(&self) -> Offset {
        self.tx.flight.board.max()
    }

    /// Next position expected from the peer (RCV.NXT).
    pub fn rcv_nxt(&self) -> Offset {
        self.rx.nxt()
    }

    /// Returns the position of sequence number `seq` in the peer's stream.
    pub fn received_position(&self, seq: Seq) -> Option<Offset> {
        self.rx.offset(seq)
    }

    /// Bytes that wait to be read.
    pub fn readable(&self) -> u64 {
        self.rx.unread()
    }

    /// Bytes of data received in order so far.
    pub fn delivered(&self) -> u64 {
        self.rx.delivered()
    }

    /// Bytes of data that the peer has acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.tx.flight.board.una().clamp(1, self.tx.buffer.end()) - 1
    }

    /// Returns the round-trip estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.tx.flight.rtt
    }

    /// Retransmission time-out in force.
    pub fn rto(&self) -> Interval {
        self.tx.flight.rto()
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> Option<Interval> {
        self.tx.flight.rtt.srtt()
    }

    /// Largest segment in use, in bytes of data.
    pub fn mss(&self) -> u32 {
        self.tx.flight.mss
    }

    /// Returns the timestamp clock at time zero, which is its random offset (RFC 7323, 5.4).
    pub fn timestamp_offset(&self) -> u32 {
        self.stamps.at(Instant::ZERO)
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        self.recorder.stats()
    }

    /// Segments received with new data that was stored.
    #[inline]
    pub fn segments_fresh(&self) -> u64 {
        self.recorder.segments_fresh()
    }

    /// Returns the time in each phase up to `until`, from the end of the handshake to the end of
    /// the connection.
    pub fn phase_times(&self, until: Instant) -> PhaseTimes {
        self.clocks.phase.times(until)
    }

    /// Returns the time that each limit kept this end from sending more. The time runs from the
    /// first [`Self::poll_transmit`] up to `until` or the end of the connection.
    pub fn limit_times(&self, until: Instant) -> LimitTimes {
        self.clocks.limit.times(until)
    }

    /// Returns the metrics of the congestion control at `now`, in the order of its algorithm's
    /// list; `None` where there is no value yet. With tracing on, each change is also a
    /// [`Record::Inner`].
    pub fn metrics(
        &self,
        now: Instant,
    ) -> impl Iterator<Item = (&'static Metric, Option<f64>)> + '_ {
        metrics(&self.tx.flight, now)
    }

    /// Largest window that the peer offered so far, in bytes.
    pub fn largest_peer_window(&self) -> u64 {
        self.tx.flight.peer.largest
    }

    /// Panics unless the scoreboard's byte counts equal a recount over its segments; for tests.
    #[doc(hidden)]
    pub fn recount(&self) {
        self.tx.flight.board.check();
    }

    /// Starts or stops collecting records for [`Self::drain_records`].
    pub fn set_tracing(&mut self, on: bool) {
        self.recorder.set(on);
    }

    /// Reason of the segment that was sent last, and whether some of its data was sent before.
    /// Known only with tracing.
    pub fn explanation(&self) -> (Reason, bool) {
        self.recorder.explanation()
    }

    /// Shift of the window field in the segments of this end, except in a SYN.
    pub fn window_shift(&self) -> u8 {
        self.rx.shift()
    }

    /// Records since the last call, oldest first; empty without tracing.
    pub fn drain_records(&mut self) -> impl Iterator<Item = (Instant, Record)> + '_ {
        self.recorder.drain()
    }

    // The application.

    /// Queues bytes. Returns how many fit into the send buffer.
    ///
    /// # Errors
    ///
    /// [`WriteError`] if the sending direction is closed, or lengths were written before.
    pub fn write(&mut self, data: &[u8]) -> Result<usize, WriteError> {
        self.writable()?;
        self.idle = false;
        self.tx.write(data)
    }

    /// Queues `len` bytes without contents. Returns how many fit into the send buffer. A connection
    /// accepts either bytes or lengths, not both.
    ///
    /// # Errors
    ///
    /// [`WriteError`] if the sending direction is closed, or bytes were written before.
    pub fn write_len(&mut self, len: u64) -> Result<u64, WriteError> {
        self.writable()?;
        self.idle = false;
        self.tx.write_len(len)
    }

    /// Returns an error if data written now would not be sent.
    fn writable(&self) -> Result<(), WriteError> {
        let over = matches!(self.state, State::Closed | State::TimeWait);
        if over || self.tx.buffer.fin().is_some() {
            return Err(WriteError::Closed);
        }
        Ok(())
    }

    /// Free bytes of the send buffer.
    pub fn room(&self) -> u64 {
        self.writable().map_or(0, |()| self.tx.room())
    }

    /// Reads up to `max` bytes and appends them to `out`. Returns the number of bytes read.
    pub fn read(&mut self, out: &mut Vec<u8>, max: usize) -> usize {
        self.rx.read_bytes(out, max)
    }

    /// Reads up to `max` bytes without contents. Returns the number of bytes read.
    #[inline]
    pub fn read_len(&mut self, max: u64) -> u64 {
        self.rx.read_len(max)
    }

    /// Closes the sending direction: a FIN follows the queued data, and received data is still
    /// accepted. Before the peer has answered the SYN, the connection ends at once and queued data
    /// is dropped ([`CloseReason::Aborted`] if there was any).
    pub fn shutdown(&mut self, now: Instant) {
        self.idle = false;
        match self.state {
            State::Closed | State::TimeWait => {}
            State::Listen => self.end(now, CloseReason::Done),
            // RFC 9293, 3.10.4: the TCB is deleted, and queued SENDs return an error.
            State::SynSent => {
                let lost = self.tx.buffer.end() > 1;
                let reason = if lost {
                    CloseReason::Aborted
                } else {
                    CloseReason::Done
                };
                self.end(now, reason);
            }
            _ => self.tx.buffer.close(),
        }
    }

    /// Closes both directions. Works as [`Self::shutdown`], but unread data, or data that arrives
    /// later, is answered with a reset and ends the connection ([`CloseReason::Aborted`]). The
    /// reset informs the peer that its data was lost (RFC 9293, 3.6.1; RFC 2525, 2.17).
    pub fn close(&mut self, now: Instant) {
        let open = !matches!(self.state, State::Closed | State::TimeWait);
        if open && self.rx.unread() > 0 {
            self.abort(now);
        } else {
            self.stop_reading(now);
            self.shutdown(now);
        }
    }

    /// Ends the connection at once and sends a reset to the peer.
    pub fn abort(&mut self, now: Instant) {
        self.idle = false;
        if !matches!(
            self.state,
            State::Closed | State::Listen | State::SynSent | State::TimeWait
        ) {
            self.reply = Some(Box::new(self.reset(now)));
        }
        if self.state != State::Closed {
            self.end(now, CloseReason::Aborted);
        }
    }

    /// Sets Nagle's algorithm and overrides the configuration.
    pub fn set_nagle(&mut self, rule: Nagle) {
        self.idle = false;
        self.tx.set_nagle(rule);
        self.predicts &= self.tx.streams();
    }

    /// Sets the limit of queued and unacknowledged data in bytes. Data queued beyond it stays.
    pub fn set_send_buffer(&mut self, bytes: u64) {
        self.idle = false;
        self.tx.set_limit(bytes);
    }

    /// Sets the size of the receive buffer in bytes and ends its automatic growth. The offered
    /// window never shrinks (RFC 9293, 3.8.6), and the window scale of the handshake bounds it.
    pub fn set_receive_buffer(&mut self, bytes: u64) {
        self.idle = false;
        self.rx.set_buffer(bytes);
    }

    // Output other than segments (those are in output.rs).

    /// Returns the next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Returns whether [`Self::poll_event`] may have an event.
    #[inline]
    pub fn has_events(&self) -> bool {
        self.events.any
    }

    /// Returns the time at which [`Self::on_timeout`] must be called if no other call comes before.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.tx.flight.timers.next()
    }

    /// Returns [`Self::next_timeout`] if it is before `limit`. One comparison usually excludes
    /// this.
    #[inline(always)] // called after each segment
    pub fn timeout_before(&mut self, limit: Instant) -> Option<Instant> {
        self.tx.flight.timers.next_before(limit)
    }

    #[inline]
    fn record_state(&mut self, now: Instant) {
        if self.recorder.on() {
            self.keep_state(now);
        }
    }

    #[cold]
    fn keep_state(&mut self, now: Instant) {
        let record = Record::State {
            cwnd: self.tx.flight.cwnd(),
            ssthresh: self.tx.flight.cc.ssthresh(),
            flight: self.tx.flight.board.pipe(),
            srtt: self.tx.flight.rtt.srtt().unwrap_or_default(),
            rto: self.tx.flight.rto(),
        };
        self.recorder.emit(now, record);
        self.recorder.inner(now, metrics(&self.tx.flight, now));
    }
}

/// Returns the metrics of the congestion control.
fn metrics(flight: &Flight, now: Instant) -> impl Iterator<Item = (&'static Metric, Option<f64>)> {
    let all = flight.config().congestion.algorithm().metrics.iter();
    all.map(move |metric| {
        let cx = context!(flight, now, flight.board.flight());
        (metric, metric.value(&*flight.cc, &cx))
    })
}
