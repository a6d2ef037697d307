//! A connection: the state machine of RFC 9293, 3.3.2.
//!
//! # Calling contract
//!
//! Four kinds of method, in the manner of sans-IO machines:
//! getters; input ([`Connection::on_segment`], [`Connection::on_timeout`]);
//! the application ([`Connection::write`], [`Connection::read`],
//! [`Connection::shutdown`], ...); output ([`Connection::poll_transmit`],
//! [`Connection::poll_event`], [`Connection::next_timeout`]).
//!
//! Time never goes back. After input or an application call at some instant,
//! poll segments until `None`, then events until `None`, then ask for the next
//! time-out, before anything of a later instant is fed in. Segments must have
//! passed their checksum and carry this connection's ports.

mod acks;
mod clocks;
mod dummy;
mod fast;
mod fast_open;
mod input;
mod lifetime;
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
use crate::congestion::Metric;
use crate::ecn::Negotiation;
use crate::fast_open::Opening;
use crate::flight::{Flight, context};
use crate::limit::LimitTimes;
use crate::phase::PhaseTimes;
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
#[repr(C)] // in this order in memory: what each segment asks for is together
pub struct Connection {
    state: State,
    /// Nothing is configured that has to see every segment: those that are what was
    /// expected take a short way.
    predicts: bool,
    /// Nothing is in flight or waits to be sent, and since that was found nothing came
    /// but the next data.
    idle: bool,
    /// The application reads no more.
    read_shut: bool,
    agreed: Agreed,
    local_port: u16,
    remote_port: u16,
    sender_state: SenderState,
    /// Dummy segments that arrived and want their ACKs.
    dummy_acks: u32,
    events: Events,
    /// Timestamp state.
    stamps: Stamps,
    rx: Receiver,
    recorder: Recorder,
    /// A segment outside of the flow of data: RST.
    reply: Option<Box<Segment>>,
    clocks: Box<Clocks>,
    /// Limits for a peer that is gone, if configured.
    lifetime: Option<Box<Lifetime>>,
    /// TCP Fast Open, if that is configured.
    fast_open: Option<Box<Opening>>,
    tx: Sender,
    /// Opened by a SYN of ours.
    active: bool,
    /// The SYN has to leave.
    syn_due: bool,
    /// Never, for tests.
    general_only: bool,
    /// Window scaling is wanted, and after the handshake agreed.
    scaling: bool,
    /// SNACK, in the form that was agreed.
    snack: SnackForm,
}

/// Options that this end wants, and after the handshake those that both agreed to.
#[derive(Debug)]
struct Agreed {
    sack: bool,
    timestamps: bool,
    /// Shift of the peer's window field.
    peer_shift: u8,
    ecn: Negotiation,
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
                ecn: Negotiation::new(config.ecn),
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
            clocks: Box::default(),
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

    /// A segment will come soon: what is kept apart from the connection will be asked for.
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

    /// Prefetches the parts that lie apart.
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

    /// Bytes in the network after RFC 6675: `flight` without what is SACKed.
    pub fn pipe(&self) -> u64 {
        self.tx.flight.board.pipe()
    }

    /// First position of the stream that is not acknowledged (SND.UNA).
    pub fn snd_una(&self) -> Offset {
        self.tx.flight.board.una()
    }

    /// Position after the last that was sent (SND.MAX).
    pub fn snd_max(&self) -> Offset {
        self.tx.flight.board.max()
    }

    /// Next position expected from the peer (RCV.NXT).
    pub fn rcv_nxt(&self) -> Offset {
        self.rx.nxt()
    }

    /// Position in the stream that the peer sends of a sequence number of it.
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

    /// Returns the timestamp clock at the start of time (RFC 7323, 5.4).
    pub fn timestamp_offset(&self) -> u32 {
        self.stamps.at(Instant::ZERO)
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        self.recorder.stats()
    }

    /// Segments received with data that is new and was kept.
    #[inline]
    pub fn segments_fresh(&self) -> u64 {
        self.recorder.segments_fresh()
    }

    /// Returns the time in each phase up to `until`, from the end of the handshake to the end of
    /// the connection.
    pub fn phase_times(&self, until: Instant) -> PhaseTimes {
        self.clocks.phase.times(until)
    }

    /// Returns the time for which each limit kept this end from sending more up to `until`, from
    /// the first [`Self::poll_transmit`] to the end of the connection.
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

    /// Panics unless the sums kept of what is in flight equal a recount from the
    /// segments: for tests.
    #[doc(hidden)]
    pub fn recount(&self) {
        self.tx.flight.board.check();
    }

    /// Keeps records for [`Self::drain_records`], or stops to.
    pub fn set_tracing(&mut self, on: bool) {
        self.recorder.set(on);
    }

    /// Records since the last call, oldest first; empty without tracing.
    pub fn drain_records(&mut self) -> impl Iterator<Item = (Instant, Record)> + '_ {
        self.recorder.drain()
    }

    // The application.

    /// Queues bytes; returns how many found room.
    ///
    /// # Errors
    ///
    /// [`WriteError`]: nothing was queued, and nothing ever will be.
    pub fn write(&mut self, data: &[u8]) -> Result<usize, WriteError> {
        self.writable()?;
        self.idle = false;
        self.tx.write(data)
    }

    /// Queues `len` bytes of which only the number matters; returns how many
    /// found room. A connection takes bytes or lengths, not both.
    ///
    /// # Errors
    ///
    /// [`WriteError`]: nothing was queued, and nothing ever will be.
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

    /// Bytes that find room if they are written now.
    pub fn room(&self) -> u64 {
        self.writable().map_or(0, |()| self.tx.room())
    }

    /// Reads up to `max` bytes to the end of `out`; returns how many.
    pub fn read(&mut self, out: &mut Vec<u8>, max: usize) -> usize {
        self.rx.read_bytes(out, max)
    }

    /// Reads up to `max` bytes of which only the number matters.
    #[inline]
    pub fn read_len(&mut self, max: u64) -> u64 {
        self.rx.read_len(max)
    }

    /// No more data will be written: a FIN follows what is queued, and what the peer
    /// sends is still taken. Before the peer has answered the SYN the connection ends
    /// at once, and what was queued is not sent ([`CloseReason::Aborted`] if there was
    /// any).
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

    /// The application neither writes nor reads any more. As [`Self::shutdown`], but
    /// data that waits to be read, or that comes later, is answered with a reset and
    /// ends the connection ([`CloseReason::Aborted`]): the peer learns that it was
    /// lost (RFC 9293, 3.6.1, RFC 2525, 2.17).
    pub fn close(&mut self, now: Instant) {
        let open = !matches!(self.state, State::Closed | State::TimeWait);
        if open && self.rx.unread() > 0 {
            self.abort(now);
        } else {
            self.reads_no_more(now);
            self.shutdown(now);
        }
    }

    /// Ends the connection now; the peer gets a reset.
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

    /// Nagle's algorithm from now on, whatever the configuration says.
    pub fn set_nagle(&mut self, rule: Nagle) {
        self.idle = false;
        self.tx.set_nagle(rule);
    }

    /// Sets the limit of queued and unacknowledged data in bytes. Data queued beyond it stays.
    pub fn set_send_buffer(&mut self, bytes: u64) {
        self.idle = false;
        self.tx.set_limit(bytes);
    }

    /// Bytes that the receive buffer holds from now on, which grows no more by itself.
    /// What was offered is never taken back (RFC 9293, 3.8.6), and no more can be
    /// offered than the window scale of the handshake can say.
    pub fn set_receive_buffer(&mut self, bytes: u64) {
        self.idle = false;
        self.rx.set_buffer(bytes);
    }

    // Output besides segments, which are in output.rs.

    /// Returns the next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Returns whether [`Self::poll_event`] may have an event.
    #[inline]
    pub fn has_events(&self) -> bool {
        self.events.any
    }

    /// Returns when [`Self::on_timeout`] must be called if nothing happens before.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.tx.flight.timers.next()
    }

    /// Returns [`Self::next_timeout`] if it is before `limit`. Mostly the answer is known to be
    /// `None`.
    #[inline(always)] // after each segment
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
