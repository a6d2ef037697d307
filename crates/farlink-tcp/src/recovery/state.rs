//! State that the algorithms of recovery share, and what they do with a loss.

use super::spurious::Spurious;
use crate::config::{AssumeLoss, Config, ReduceFrom};
use crate::congestion::{Ack, InForce, Loss};
use crate::flight::{Flight, context};
use crate::record::{Mark, Record, Recorder};
use crate::seq::Offset;
use crate::time::Instant;

/// State that the algorithms share.
#[derive(Debug)]
#[repr(C)] // in this order in memory: what each segment asks for is together
pub(crate) struct LossState {
    pub(crate) in_recovery: bool,
    /// The next retransmission leaves whatever the window says.
    pub(crate) force: bool,
    /// Set if a time-out happened since `recover` was passed: what was sent before is sent again.
    pub(crate) after_timeout: bool,
    /// The window was reduced since new data said so (CWR).
    pub(crate) reduced: bool,
    /// The ACK at hand says that data was marked: nothing grows for it.
    pub(crate) mark_echoed: bool,
    pub(super) limited_transmit: bool,
    /// Losses are taken for corruption.
    pub(crate) assume_corruption: bool,
    /// The scoreboard of RFC 6675 is used.
    pub(crate) sacking: bool,
    pub(crate) dup_acks: u32,
    pub(super) threshold: u32,
    /// Bytes in flight that limited transmit let out since the last new ACK. They do not count
    /// when the window is reduced (RFC 5681, 3.2, step 2).
    pub(super) limited_sent: u64,
    /// Position after the highest byte sent when the last loss was seen
    /// (`recover` of RFC 6582, `RecoveryPoint` of RFC 6675).
    pub(super) recover: Offset,
    /// Position after the last byte that was out when a marked ACK came (ELN);
    /// zero when there is nothing to repair.
    pub(super) repair_end: Offset,
    /// Position after the highest byte that a negative acknowledgment named; zero without any.
    pub(super) nacked_to: Offset,
    /// Position after the highest byte sent when the window was last reduced for
    /// a mark (RFC 3168).
    pub(super) marked: Offset,
    pub(super) spurious: Spurious,
}

/// A new acknowledgment, for recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewAck {
    /// Bytes in flight before it.
    pub(crate) in_flight: u64,
    /// Acknowledged data.
    pub(crate) ack: Ack,
    /// First position acknowledged before it.
    pub(crate) before: Offset,
}

impl NewAck {
    /// Returns the acknowledged bytes, for sums with a sign.
    pub(super) fn bytes(&self) -> i64 {
        i64::try_from(self.ack.bytes).unwrap_or(i64::MAX)
    }
}

impl LossState {
    pub(super) fn new(config: &Config, sacking: bool) -> Self {
        Self {
            in_recovery: false,
            force: false,
            after_timeout: false,
            reduced: false,
            mark_echoed: false,
            limited_transmit: config.limited_transmit,
            assume_corruption: config.assume_loss == AssumeLoss::Corruption,
            sacking,
            dup_acks: 0,
            threshold: config.dupack_threshold,
            limited_sent: 0,
            recover: 0,
            repair_end: 0,
            nacked_to: 0,
            marked: 0,
            spurious: Spurious::default(),
        }
    }

    /// Returns whether data outstanding at the last loss is still being repaired.
    #[inline]
    pub(crate) fn repairing(&self, una: Offset) -> bool {
        self.recovering() && una < self.recover
    }

    /// Returns whether fast recovery or that after a time-out lasts.
    #[inline]
    pub(crate) fn recovering(&self) -> bool {
        self.in_recovery || self.after_timeout
    }

    /// Returns whether the window is charged with the pipe: SACKed bytes have left the network.
    /// Outside of recovery this is limited transmit (RFC 6675, 5, step 3).
    #[inline]
    pub(crate) fn counts_pipe(&self) -> bool {
        self.sacking && (self.in_recovery || self.after_timeout || self.limited_transmit)
    }

    /// Returns the bytes that limited transmit lets out beyond the window (RFC 3042). With SACK the
    /// pipe does so.
    #[inline]
    pub(crate) fn limited_transmit_credit(&self, mss: u64) -> u64 {
        if self.limited_transmit && !self.in_recovery && !self.sacking {
            mss * u64::from(self.dup_acks.min(self.threshold - 1))
        } else {
            0
        }
    }

    /// Counts `len` new bytes that leave with `in_flight` already out and a window of `cwnd`.
    #[inline]
    pub(crate) fn new_data(&mut self, len: u64, in_flight: u64, cwnd: u64) {
        if self.dup_acks > 0 && !self.in_recovery && in_flight + len > cwnd {
            self.limited_sent += len;
        }
    }

    /// Returns the base of the reduction after duplicate ACKs, without the data of limited transmit
    /// (RFC 5681, 3.2 step 2).
    pub(crate) fn flight_at_loss(&self, flight: &Flight) -> u64 {
        let beyond = match flight.config().reduce_from {
            ReduceFrom::Cwnd => 0,
            _ => self.limited_sent,
        };
        flight.reduced_from().saturating_sub(beyond)
    }

    /// Returns whether a loss or a mark in the window of data at `una` has reduced the congestion
    /// window and is still being handled.
    pub(crate) fn reduced_since(&self, una: Offset) -> bool {
        (self.in_recovery && una < self.recover) || una < self.marked
    }

    /// Returns whether a mark already reduced the window in which the loss at `una` was sent (RFC
    /// 3168, 6.1.2).
    pub(super) fn reduced_for_mark(&self, una: Offset) -> bool {
        una <= self.marked
    }

    /// Begins a recovery that lasts until all that is out is acknowledged.
    pub(super) fn enter(&mut self, flight: &Flight) {
        self.in_recovery = true;
        self.limited_sent = 0;
        self.recover = flight.board.max();
        self.force = true;
        self.reduced |= !self.assume_corruption;
        self.repair_end = 0;
    }

    pub(super) fn leave(&mut self, flight: &mut Flight) {
        flight.inflation = 0;
        self.in_recovery = false;
        self.dup_acks = 0;
        self.force = false;
    }

    /// Ends a recovery because the loss is repaired: the window that `window` allows, no inflation.
    pub(super) fn recovered(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        window: u64,
        recorder: &mut Recorder,
    ) {
        self.leave(flight);
        if !self.assume_corruption {
            let cx = context!(flight, now, flight.board.flight());
            flight.cc.on_recovered(&cx, window);
        }
        recorder.emit(now, Record::Mark(Mark::Recovered));
    }

    /// Reduces the controller's window for a loss of which nobody told the cause, unless it is
    /// taken for corruption. `in_flight` is the base.
    pub(super) fn reduce(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        in_flight: u64,
        loss: Loss,
        by_timeout: bool,
    ) {
        if self.assume_corruption {
            return;
        }
        self.spurious.begin(flight, self.sacking, by_timeout);
        let in_flight = flight.at_most_window(in_flight);
        flight.cc.on_loss(&context!(flight, now, in_flight), &loss);
    }

    /// Presumes the first unacknowledged segment lost. The controller reduces its window by what
    /// was in flight, and recovery begins.
    pub(super) fn fast_retransmit(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        recorder: &mut Recorder,
    ) {
        recorder.emit(now, Record::Mark(Mark::FastRetransmit));
        let (in_flight, loss) = (self.flight_at_loss(flight), front_loss(flight, now));
        if !self.reduced_for_mark(flight.board.una()) {
            self.reduce(flight, now, in_flight, loss, false);
        }
        self.enter(flight);
        flight.board.lose_front();
    }
}

/// The loss of the first unacknowledged segment.
pub(super) fn front_loss(flight: &Flight, now: Instant) -> Loss {
    Loss {
        sent_at: flight.board.front().map_or(now, |s| s.at),
    }
}

/// Sets the window that the controller wants after a partial ACK. Returns whether it wants one.
pub(super) fn set_by_controller(
    flight: &mut Flight,
    now: Instant,
    new: &NewAck,
    pipe: Option<u64>,
) -> bool {
    let in_force = InForce {
        window: flight.cwnd(),
        pipe,
    };
    let cx = context!(flight, now, new.in_flight);
    let repair = flight.extras.repair.of(&*flight.cc);
    let wanted = repair.and_then(|repair| repair.partial_ack_window(&cx, &new.ack, in_force));
    if let Some(window) = wanted {
        flight.inflate_to(window);
    }
    wanted.is_some()
}
