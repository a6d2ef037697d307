//! Loss recovery: when a loss is seen, what is sent again, when it is over.
//!
//! One file an algorithm. Each is told of duplicate and new acknowledgments and
//! works on the [`Sender`]'s scoreboard; what the loss does to the window is the
//! congestion controller's affair.

pub(crate) mod eln;
pub(crate) mod frto;
pub(crate) mod nack;
mod newreno;
pub(crate) mod prr;
pub(crate) mod rack;
mod reno;
mod sack;
pub(crate) mod snack;
mod tahoe;
pub(crate) mod vegas;

use crate::config::{AssumeLoss, Careful, Config, NewRenoExit, Recovery};
use crate::congestion::{Ack, InForce, Loss};
use crate::key;
use crate::maybe::Maybe;
use crate::record::{Mark, Record, Recorder};
use crate::send::{Sender, context};
use crate::seq::Offset;
use crate::spurious;
use crate::time::Instant;
use crate::timers::{Timer, Timers};
use newreno::NewReno;
use prr::Prr;
use rack::Rack;
use sack::Sack;
use vegas::FineTimeout;

/// State that the algorithms share.
#[derive(Debug)]
#[repr(C)] // in this order in memory: what each segment asks for is together
pub(crate) struct LossState {
    pub(crate) in_recovery: bool,
    /// The next retransmission leaves whatever the window says.
    pub(crate) force: bool,
    /// Set if a time-out happened since `recover` was passed.
    after_timeout: bool,
    /// The window was reduced since new data said so (CWR).
    pub(crate) reduced: bool,
    /// The ACK at hand says that data was marked: nothing grows for it.
    pub(crate) mark_echoed: bool,
    limited_transmit: bool,
    /// Losses are taken for corruption.
    pub(crate) assume_corruption: bool,
    pub(crate) dup_acks: u32,
    threshold: u32,
    /// Bytes that duplicate and partial ACKs add to the window while recovery lasts.
    pub(crate) inflation: i64,
    /// Bytes that limited transmit let out since the last new ACK.
    limited_sent: u64,
    /// Position after the highest byte sent when the last loss was seen
    /// (`recover` of RFC 6582, `RecoveryPoint` of RFC 6675).
    recover: Offset,
    /// Position after the last byte that was out when a marked ACK came (ELN);
    /// zero when there is nothing to repair.
    repair_end: Offset,
    /// Position after the highest byte that a negative acknowledgment named; zero without any.
    nacked_to: Offset,
    pub(super) algorithm: Algorithm,
    /// Position after the highest byte sent when the window was last reduced for
    /// a mark (RFC 3168).
    marked: Offset,
}

/// Detection and repair of losses, with the state that only one algorithm needs.
#[derive(Debug)]
pub(super) enum Algorithm {
    GoBackN,
    Tahoe,
    Reno,
    NewReno(NewReno),
    Sack(Sack),
    Vegas {
        fine: Box<FineTimeout>,
        coarse_timeout: bool,
    },
    Snack {
        fine: Box<FineTimeout>,
    },
}

impl Algorithm {
    fn new(config: &Config) -> Self {
        let fine = |k, granularity| Box::new(FineTimeout::new(k, granularity));
        match config.recovery {
            Recovery::GoBackN => Self::GoBackN,
            Recovery::Tahoe => Self::Tahoe,
            Recovery::Reno => Self::Reno,
            Recovery::NewReno {
                impatient,
                careful,
                exit,
            } => Self::NewReno(NewReno::new(impatient, careful, exit)),
            Recovery::Sack { rescue, prr, rack } => {
                let reduces = key::reduces_by_prr(config);
                Self::Sack(Sack::new(rescue, prr.filter(|_| reduces), rack))
            }
            Recovery::Vegas {
                fine_k,
                fine_granularity,
                coarse_timeout,
            } => Self::Vegas {
                fine: fine(fine_k, fine_granularity),
                coarse_timeout,
            },
            Recovery::Snack {
                fine_k,
                fine_granularity,
            } => Self::Snack {
                fine: fine(fine_k, fine_granularity),
            },
        }
    }
}

/// A new acknowledgment, for recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewAck {
    /// Bytes in flight before it.
    pub(crate) flight: u64,
    /// Acknowledged data.
    pub(crate) ack: Ack,
    /// First position acknowledged before it.
    pub(crate) before: Offset,
}

impl LossState {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            algorithm: Algorithm::new(config),
            threshold: config.dupack_threshold,
            limited_transmit: config.limited_transmit,
            limited_sent: 0,
            dup_acks: 0,
            in_recovery: false,
            recover: 0,
            inflation: 0,
            force: false,
            after_timeout: false,
            marked: 0,
            reduced: false,
            mark_echoed: false,
            assume_corruption: config.assume_loss == AssumeLoss::Corruption,
            repair_end: 0,
            nacked_to: 0,
        }
    }

    /// Returns whether data outstanding at the last loss is still being repaired.
    #[inline]
    pub(crate) fn repairing(&self, una: Offset) -> bool {
        (self.in_recovery || self.after_timeout) && una < self.recover
    }

    /// The peer does not do SACK: NewReno is what remains.
    pub(crate) fn without_sack(&mut self) {
        if self.sacking() {
            let newreno = NewReno::new(false, Careful::Plain, NewRenoExit::FlightSize);
            self.algorithm = Algorithm::NewReno(newreno);
        }
    }

    /// RACK-TLP, if it is in use.
    #[inline]
    pub(crate) fn rack(&self) -> Option<&Rack> {
        match &self.algorithm {
            Algorithm::Sack(sack) => sack.rack.as_deref(),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn rack_mut(&mut self) -> Option<&mut Rack> {
        match &mut self.algorithm {
            Algorithm::Sack(sack) => sack.rack.as_deref_mut(),
            _ => None,
        }
    }

    /// Proportional rate reduction, if it is in use.
    #[inline]
    pub(crate) fn prr(&self) -> Option<&Prr> {
        match &self.algorithm {
            Algorithm::Sack(sack) => sack.prr.as_deref(),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn prr_mut(&mut self) -> Option<&mut Prr> {
        match &mut self.algorithm {
            Algorithm::Sack(sack) => sack.prr.as_deref_mut(),
            _ => None,
        }
    }

    /// The clock of Vegas, if it is in use.
    #[inline]
    pub(crate) fn fine(&self) -> Option<&FineTimeout> {
        match &self.algorithm {
            Algorithm::Vegas { fine, .. } | Algorithm::Snack { fine } => Some(fine),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn fine_mut(&mut self) -> Option<&mut FineTimeout> {
        match &mut self.algorithm {
            Algorithm::Vegas { fine, .. } | Algorithm::Snack { fine } => Some(fine),
            _ => None,
        }
    }

    /// Returns NewReno's state, if it is used.
    #[inline]
    pub(crate) fn newreno_mut(&mut self) -> Option<&mut NewReno> {
        match &mut self.algorithm {
            Algorithm::NewReno(newreno) => Some(newreno),
            _ => None,
        }
    }

    fn forget_rescue(&mut self) {
        if let Algorithm::Sack(sack) = &mut self.algorithm {
            sack.rescued = Maybe::NONE;
        }
    }

    /// Returns whether the scoreboard of RFC 6675 is used.
    #[inline]
    pub(crate) fn sacking(&self) -> bool {
        matches!(self.algorithm, Algorithm::Sack(_))
    }

    /// Returns whether the window is charged with the pipe: SACKed bytes have left the network.
    /// Outside of recovery this is limited transmit (RFC 6675, 5, step 3).
    #[inline]
    pub(crate) fn counts_pipe(&self) -> bool {
        self.sacking() && (self.in_recovery || self.after_timeout || self.limited_transmit)
    }

    /// Returns whether holes below SACKed data may be filled that are not presumed lost (NextSeg,
    /// rules 3 and 4). RACK waits for time, or probes.
    pub(crate) fn counts_holes(&self) -> bool {
        self.sacking() && self.in_recovery && self.rack().is_none()
    }

    /// Returns whether a recovery may send the same segment more than once: RACK detects a lost
    /// retransmission.
    #[inline]
    pub(crate) fn retransmits_again(&self) -> bool {
        self.in_recovery && self.rack().is_some()
    }

    /// Returns the bytes that limited transmit lets out beyond the window (RFC 3042). With SACK the
    /// pipe does so.
    #[inline]
    pub(crate) fn limited_transmit_credit(&self, mss: u64) -> u64 {
        if self.limited_transmit && !self.in_recovery && !self.sacking() {
            mss * u64::from(self.dup_acks.min(self.threshold - 1))
        } else {
            0
        }
    }

    /// `len` new bytes leave with `flight` already out and a window of `cwnd`.
    #[inline]
    pub(crate) fn new_data(&mut self, len: u64, flight: u64, cwnd: u64) {
        if self.dup_acks > 0 && !self.in_recovery && flight + len > cwnd {
            self.limited_sent += len;
        }
    }

    /// Something of `len` leaves, new or not.
    #[inline]
    pub(crate) fn data(&mut self, len: u64) {
        if let Some(prr) = self.prr_mut() {
            prr.sent(len);
        }
    }

    /// Returns whether data sent before a time-out is still being sent again.
    pub(crate) fn after_timeout(&self) -> bool {
        self.after_timeout
    }

    /// Bytes in flight that limited transmit let out, which do not count when
    /// the window is reduced (RFC 5681, 3.2, step 2).
    pub(crate) fn limited_sent(&self) -> u64 {
        self.limited_sent
    }

    /// Returns whether rule (4) of `NextSeg` may be used: once until the rescue retransmission is
    /// acknowledged.
    pub(crate) fn may_rescue(&self, una: Offset) -> bool {
        match &self.algorithm {
            Algorithm::Sack(sack) => {
                sack.rescue && sack.rescued.get().is_none_or(|point| una > point)
            }
            _ => false,
        }
    }

    pub(crate) fn rescued(&mut self) {
        if let Algorithm::Sack(sack) = &mut self.algorithm {
            sack.rescued = Maybe::some(self.recover);
        }
    }

    /// The retransmission timer went off with `max` the highest position sent.
    pub(crate) fn on_timeout(&mut self, max: Offset) {
        self.dup_acks = 0;
        self.limited_sent = 0;
        self.in_recovery = false;
        self.inflation = 0;
        self.force = false;
        self.recover = max;
        self.after_timeout = true;
        self.reduced |= !self.assume_corruption;
        self.forget_rescue();
        self.repair_end = 0;
        self.forget_nacks();
    }

    /// Returns whether a loss or a mark in the window of data at `una` has reduced the congestion
    /// window and is still being handled.
    pub(crate) fn reduced_since(&self, una: Offset) -> bool {
        (self.in_recovery && una < self.recover) || una < self.marked
    }

    /// Returns whether a mark already reduced the window in which the loss at `una` was sent (RFC
    /// 3168, 6.1.2).
    fn reduced_for_mark(&self, una: Offset) -> bool {
        una <= self.marked
    }

    fn enter(&mut self, max: Offset, timers: &mut Timers) {
        self.in_recovery = true;
        self.limited_sent = 0;
        self.recover = max;
        self.force = true;
        self.reduced |= !self.assume_corruption;
        self.repair_end = 0;
        match &mut self.algorithm {
            Algorithm::NewReno(newreno) => newreno.partial_acks = 0,
            Algorithm::Sack(sack) => {
                sack.rescued = Maybe::NONE;
                if let Some(prr) = &mut sack.prr {
                    prr.enter();
                }
                if let Some(rack) = &mut sack.rack {
                    rack.recovery_begins();
                    timers.stop(Timer::TailProbe);
                }
            }
            _ => {}
        }
    }

    /// The loss was none, and neither is any before `una`.
    pub(crate) fn undo(&mut self, una: Offset) {
        self.leave();
        self.after_timeout = false;
        self.recover = una;
        self.limited_sent = 0;
        self.forget_rescue();
    }

    fn leave(&mut self) {
        self.in_recovery = false;
        self.inflation = 0;
        self.dup_acks = 0;
        self.force = false;
    }
}

/// A duplicate acknowledgment arrived; with SACK, one that brought news.
pub(crate) fn on_dup_ack(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    recorder.emit(now, Record::DupAck);
    tx.loss.dup_acks += 1;
    tx.cc.on_dup_ack(&context!(tx, now, tx.board.flight()));
    match tx.loss.algorithm {
        Algorithm::GoBackN => {}
        Algorithm::Tahoe => tahoe::on_dup_ack(tx, now, recorder),
        Algorithm::Reno => reno::on_dup_ack(tx, now, recorder),
        Algorithm::Vegas { .. } | Algorithm::Snack { .. } => vegas::on_dup_ack(tx, now, recorder),
        Algorithm::NewReno(newreno) => newreno::on_dup_ack(tx, now, newreno, recorder),
        Algorithm::Sack(_) => sack::on_dup_ack(tx, now, recorder),
    }
}

/// New data was acknowledged. Restarts the retransmission timer as the
/// algorithm wants it.
#[inline(always)] // of each ACK
pub(crate) fn on_new_ack(tx: &mut Sender, now: Instant, new: &NewAck, recorder: &mut Recorder) {
    if tx.loss.after_timeout && tx.board.una() >= tx.loss.recover {
        tx.loss.after_timeout = false;
    }
    tx.cc.on_delivered(&context!(tx, now, new.flight), &new.ack);
    let mut restart = true;
    if tx.loss.in_recovery {
        restart = on_recovery_ack(tx, now, *new, recorder);
    } else {
        tx.loss.dup_acks = 0;
        tx.loss.limited_sent = 0;
        eln::on_new_ack(&mut tx.loss, tx.board.una(), new.ack.bytes);
        if !tx.loss.mark_echoed {
            grow(tx, now, new);
        }
    }
    vegas::after_new_ack(tx, now, recorder);
    if let Some(newreno) = tx.loss.newreno_mut() {
        newreno.previous_ack = new.before;
    }
    if restart {
        tx.restart_timer(now);
    }
}

/// Processes a new ACK while losses are repaired. Returns whether the retransmission timer
/// restarts.
#[inline(never)]
fn on_recovery_ack(tx: &mut Sender, now: Instant, new: NewAck, recorder: &mut Recorder) -> bool {
    match tx.loss.algorithm {
        Algorithm::GoBackN | Algorithm::Tahoe => {}
        Algorithm::Reno | Algorithm::Vegas { .. } => reno::on_recovery_ack(tx, now, recorder),
        Algorithm::Snack { .. } => snack::on_recovery_ack(tx, now, new, recorder),
        Algorithm::NewReno(newreno) => {
            return newreno::on_recovery_ack(tx, now, new, newreno, recorder);
        }
        Algorithm::Sack(_) => sack::on_recovery_ack(tx, now, new, recorder),
    }
    true
}

/// An ACK said that data was marked, with `flight` bytes out before it. The
/// window is reduced unless that was done since this window of data left, for a
/// mark or a loss (RFC 3168, 6.1.2). Returns whether it was.
pub(crate) fn on_congestion_mark(tx: &mut Sender, now: Instant, flight: u64) -> bool {
    if tx.board.una() <= tx.loss.marked.max(tx.loss.recover) {
        return false;
    }
    let loss = front_loss(tx, now);
    let before = tx.cc.cwnd();
    let flight = tx.at_most_window(flight);
    tx.cc.on_congestion_mark(&context!(tx, now, flight), &loss);
    if tx.cc.cwnd() > before {
        tx.cc.collapse(before); // the least of a loss is more than was left
    }
    tx.loss.marked = tx.board.max();
    tx.loss.reduced = true;
    true
}

/// Lets the controller open the window.
#[inline]
fn grow(tx: &mut Sender, now: Instant, new: &NewAck) {
    tx.cc.on_ack(&context!(tx, now, new.flight), &new.ack);
}

/// A partial ACK: the window that the controller wants, if it does.
fn set_by_controller(tx: &mut Sender, now: Instant, new: NewAck, pipe: Option<u64>) -> bool {
    let in_force = InForce {
        window: tx.cwnd(),
        pipe,
    };
    let cx = context!(tx, now, new.flight);
    let repair = tx.extras.repair.of(&*tx.cc);
    let wanted = repair.and_then(|repair| repair.partial_ack_window(&cx, &new.ack, in_force));
    if let Some(window) = wanted {
        tx.loss.inflation = window.cast_signed() - tx.cc.cwnd().cast_signed();
    }
    wanted.is_some()
}

/// The loss is repaired: the window that `window` allows, no inflation.
fn recovered(tx: &mut Sender, now: Instant, window: u64, recorder: &mut Recorder) {
    tx.loss.leave();
    if !tx.loss.assume_corruption {
        tx.cc
            .on_recovered(&context!(tx, now, tx.board.flight()), window);
    }
    recorder.emit(now, Record::Mark(Mark::Recovered));
}

/// The loss of the first unacknowledged segment.
fn front_loss(tx: &Sender, now: Instant) -> Loss {
    Loss {
        sent_at: tx.board.front().map_or(now, |s| s.at),
    }
}

/// A loss of which nobody told the cause: the controller reduces its window,
/// unless it is taken for corruption.
fn reduce(tx: &mut Sender, now: Instant, flight: u64, loss: Loss, by_timeout: bool) {
    if tx.loss.assume_corruption {
        return;
    }
    spurious::begin(tx, by_timeout);
    let flight = tx.at_most_window(flight);
    tx.cc.on_loss(&context!(tx, now, flight), &loss);
}

/// The first unacknowledged segment is presumed lost; the controller reduces
/// its window by what was in flight.
fn fast_retransmit(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    recorder.emit(now, Record::Mark(Mark::FastRetransmit));
    let flight = tx.flight_at_loss();
    let loss = front_loss(tx, now);
    if !tx.loss.reduced_for_mark(tx.board.una()) {
        reduce(tx, now, flight, loss, false);
    }
    tx.loss.enter(tx.board.max(), &mut tx.timers);
    tx.board.lose_front();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{PrrBound, RackConfig};
    use crate::congestion::{self, Control};

    /// A repair lasts until the end of what was in flight at the loss is acknowledged, in fast
    /// recovery as after a time-out.
    #[test]
    fn a_repair_lasts_until_the_end_of_what_was_out() {
        let mut loss = LossState::new(&Config::default());
        loss.recover = 1000;
        assert!(!loss.repairing(500));
        for (in_recovery, after_timeout) in [(true, false), (false, true)] {
            (loss.in_recovery, loss.after_timeout) = (in_recovery, after_timeout);
            assert!(loss.repairing(999));
            assert!(!loss.repairing(1000) && !loss.repairing(1001));
        }
    }

    /// RACK alone sees that a retransmission is lost, and in a recovery alone.
    #[test]
    fn only_rack_sends_again_what_was_sent_again() {
        for rack in [None, Some(RackConfig::default())] {
            let mut loss = LossState::new(&Config {
                recovery: Recovery::Sack {
                    rescue: true,
                    prr: None,
                    rack,
                },
                ..Config::default()
            });
            assert!(!loss.retransmits_again());
            loss.in_recovery = true;
            assert_eq!(loss.retransmits_again(), rack.is_some());
        }
    }

    /// Whatever a configuration says, PRR leads the window of those controllers alone that leave
    /// it to recovery: over a BBR it would hold the window at what each ACK lets out.
    #[test]
    fn no_key_puts_prr_over_a_controller_that_sets_its_window() {
        let mut owners = Vec::new();
        for algorithm in congestion::ALGORITHMS {
            let loss = LossState::new(&Config {
                recovery: Recovery::Sack {
                    rescue: true,
                    prr: Some(PrrBound::SafeAck),
                    rack: None,
                },
                congestion: Control::new(algorithm),
                ..Config::default()
            });
            if loss.prr().is_none() {
                owners.push(algorithm.name);
            }
        }
        assert_eq!(owners, ["none", "vegas", "bbr"]);
    }

    /// RFC 3042: what leaves beyond the window on a duplicate ACK is limited
    /// transmit's; what the window has room for is not.
    #[test]
    fn limited_transmit_is_what_leaves_beyond_the_window() {
        for (dup_acks, in_recovery, flight, limited) in [
            (1, false, 10_000, 1000),
            (1, false, 9_000, 0),
            (0, false, 10_000, 0),
            (3, true, 10_000, 0),
        ] {
            let mut loss = LossState::new(&Config::default());
            (loss.dup_acks, loss.in_recovery) = (dup_acks, in_recovery);
            loss.new_data(1000, flight, 10_000);
            assert_eq!(loss.limited_sent, limited, "{dup_acks} {flight}");
        }
    }
}
