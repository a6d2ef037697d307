//! SACK-based recovery: RFC 6675.
//!
//! `Update`, `IsLost` and `SetPipe` are functions of the scoreboard. `NextSeg` is the order in
//! which the sender selects segments.

use super::loss::NewAck;
use super::prr::Prr;
use super::rack::{self, AckKind, Rack};
use crate::config::{PrrBound, RackConfig};
use crate::congestion::Loss;
use crate::flight::{Flight, context};
use crate::maybe::Maybe;
use crate::reason::Reason;
use crate::record::{Mark, Recorder};
use crate::seq::Offset;
use crate::time::Instant;
use crate::timers::Timer;

/// State of SACK recovery; RACK and PRR extend it.
#[derive(Debug)]
pub(crate) struct Sack {
    /// Set if rule (4) of `NextSeg` is used.
    rescue: bool,
    /// `RescueRxt`; `None` until used in this recovery.
    rescued: Maybe<Offset>,
    pub(super) prr: Option<Box<Prr>>,
    pub(super) rack: Option<Box<Rack>>,
}

impl Sack {
    pub(super) fn new(rescue: bool, prr: Option<PrrBound>, rack: Option<RackConfig>) -> Self {
        Self {
            rescue,
            rescued: Maybe::NONE,
            prr: prr.map(|bound| Box::new(Prr::new(bound))),
            rack: rack.map(|rack| Box::new(Rack::new(rack))),
        }
    }
    /// Returns whether rule (4) of `NextSeg` may be used: only if no rescue retransmission of this
    /// recovery is unacknowledged.
    pub(super) fn may_rescue(&self, una: Offset) -> bool {
        self.rescue && self.rescued.get().is_none_or(|point| una > point)
    }

    /// Stores a rescue retransmission in a recovery that ends at `recover`.
    pub(super) fn rescued(&mut self, recover: Offset) {
        self.rescued = Maybe::some(recover);
    }

    /// Clears the rescue retransmission.
    pub(super) fn clear_rescue(&mut self) {
        self.rescued = Maybe::NONE;
    }

    /// Processes an ACK that newly SACKed data without advancing SND.UNA (section 2, DupAck).
    pub(super) fn on_dup_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        recorder: &mut Recorder,
    ) {
        if self.rack.is_some() {
            return; // RACK detects losses by time
        }
        let in_flight = flight.flight_at_loss(); // before lost segments are subtracted
        let mss = u64::from(flight.mss);
        let first_lost = flight.board.mark_lost(flight.loss.threshold, mss);
        if flight.loss.in_recovery {
            return;
        }
        let observed = flight.loss.dup_acks >= flight.loss.threshold || first_lost;
        // After a time-out no recovery begins before RecoveryPoint is acknowledged (5.1).
        if !observed || flight.board.una() < flight.loss.recover {
            return;
        }
        let front = flight.front_loss(now);
        if !first_lost {
            flight.board.lose_front();
        }
        let lost = (in_flight, front);
        self.begin(flight, now, lost, Reason::DuplicateAcks, recorder);
    }

    /// Section 5, step 4, after segments were marked lost. `in_flight` is the bytes in flight
    /// before, and `sign` shows the loss.
    fn begin(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        (in_flight, lost): (u64, Loss),
        sign: Reason,
        recorder: &mut Recorder,
    ) {
        recorder.loss(now, Mark::FastRetransmit, sign);
        let in_flight = if flight.reduces_from_pipe() {
            flight.board.pipe() // without lost segments
        } else {
            in_flight
        };
        if !flight.reduced_for_mark(flight.board.una()) {
            flight.reduce(now, in_flight, lost, false, recorder);
        }
        flight.enter_recovery();
        self.clear_rescue();
        if let Some(prr) = &mut self.prr {
            prr.enter();
        }
        if let Some(rack) = &mut self.rack {
            rack.on_recovery_start();
            flight.timers.stop(Timer::TailProbe);
        }
        flight.restart_timer_for_loss(now);
    }

    pub(super) fn on_recovery_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        new: &NewAck,
        recorder: &mut Recorder,
    ) {
        if flight.board.una() >= flight.loss.recover {
            let window = flight.cc.ssthresh().min(flight.cc.cwnd()); // step A
            flight.end_recovery(now, window, recorder);
            return;
        }
        if self.rack.is_none() {
            flight
                .board
                .mark_lost(flight.loss.threshold, u64::from(flight.mss)); // step B
        }
        flight.set_by_controller(now, new, Some(flight.board.pipe()));
        let cx = context!(flight, now, new.in_flight);
        flight.cc.on_recovery_ack(&cx, &new.ack);
    }

    /// Ends the processing of an ACK that [`Rack::before_ack`] began: detects losses by time, and
    /// schedules the tail loss probe.
    pub(super) fn after_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        (before, kind): (rack::Before, AckKind),
        recorder: &mut Recorder,
    ) {
        let (Some(rack), Some(news)) = (
            &mut self.rack,
            flight.board.order.as_ref().map(|order| order.delivery()),
        ) else {
            return;
        };
        rack.on_ack(flight, now, (before, kind), news, recorder);
        self.detect(flight, now, before.in_flight, recorder);
        if let Some(rack) = &self.rack
            && (flight.board.una() > before.una || flight.board.segments_sacked() > 0)
        {
            rack.schedule_probe(flight, now);
        }
    }

    /// Runs loss detection again for segments that were within the reordering window.
    pub(super) fn on_reordering_timer(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        recorder: &mut Recorder,
    ) {
        let (in_flight, window) = (flight.flight_at_loss(), flight.cwnd());
        let losses = flight.board.losses();
        self.detect(flight, now, in_flight, recorder);
        flight.board.losses_without_ack();
        if flight.board.losses() > losses && self.prr.is_some() {
            Prr::without_ack(flight, window);
        }
        flight.restart_timer(now); // 8: only the RTO timer remains
    }

    /// Runs RACK loss detection, and begins a recovery if needed.
    fn detect(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        in_flight: u64,
        recorder: &mut Recorder,
    ) {
        if let Some(rack) = &mut self.rack
            && let Some(lost) = rack.detect(flight, now)
        {
            self.begin(flight, now, (in_flight, lost), Reason::Rack, recorder);
        }
    }
}
