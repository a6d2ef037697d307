//! SACK-based recovery: RFC 6675.
//!
//! `Update`, `IsLost`, `SetPipe` are the scoreboard's; `NextSeg` is in the order
//! in which the sender chooses.

use super::prr::Prr;
use super::rack::Rack;
use super::{NewAck, front_loss, recovered, reduce, set_by_controller};
use crate::config::{PrrBound, RackConfig};
use crate::congestion::Loss;
use crate::maybe::Maybe;
use crate::record::{Mark, Record, Recorder};
use crate::send::{Sender, context};
use crate::seq::Offset;
use crate::time::Instant;

/// State of SACK recovery. RACK and PRR use its scoreboard.
#[derive(Debug)]
pub(crate) struct Sack {
    /// Set if rule (4) of `NextSeg` is used.
    pub(super) rescue: bool,
    /// `RescueRxt`; `None` until used in this recovery.
    pub(super) rescued: Maybe<Offset>,
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
}

/// An ACK brought SACK news and acknowledged nothing new (section 2, DupAck).
pub(super) fn on_dup_ack(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    if tx.loss.rack().is_some() {
        return; // time tells
    }
    let flight = tx.flight_at_loss(); // before the lost leave it
    let first_lost = tx.board.judge(tx.loss.threshold, u64::from(tx.mss));
    if tx.loss.in_recovery {
        return;
    }
    let seen = tx.loss.dup_acks >= tx.loss.threshold || first_lost;
    // After a time-out no recovery begins before RecoveryPoint is passed (5.1).
    if !seen || tx.board.una() < tx.loss.recover {
        return;
    }
    let loss = front_loss(tx, now);
    if !first_lost {
        tx.board.lose_front();
    }
    begin(tx, now, flight, loss, recorder);
}

/// Section 5, step 4, the lost being marked; `flight` is what was in flight
/// before.
pub(super) fn begin(
    tx: &mut Sender,
    now: Instant,
    flight: u64,
    loss: Loss,
    recorder: &mut Recorder,
) {
    recorder.emit(now, Record::Mark(Mark::FastRetransmit));
    let flight = if tx.reduces_from_pipe() {
        tx.board.pipe() // without the lost
    } else {
        flight
    };
    if !tx.loss.reduced_for_mark(tx.board.una()) {
        reduce(tx, now, flight, loss, false);
    }
    tx.loss.enter(tx.board.max(), &mut tx.timers);
    tx.loss_seen(now);
}

pub(super) fn on_recovery_ack(tx: &mut Sender, now: Instant, new: NewAck, recorder: &mut Recorder) {
    if tx.board.una() >= tx.loss.recover {
        let window = tx.cc.ssthresh(); // step A
        recovered(tx, now, window.min(tx.cc.cwnd()), recorder);
        return;
    }
    if tx.loss.rack().is_none() {
        tx.board.judge(tx.loss.threshold, u64::from(tx.mss)); // step B
    }
    set_by_controller(tx, now, new, Some(tx.board.pipe()));
    tx.cc
        .on_recovery_ack(&context!(tx, now, new.flight), &new.ack);
}
