//! Loss recovery: when a loss is seen, what is sent again, when it is over.
//!
//! One file an algorithm. Each gets duplicate and new acknowledgments and works on the [`Flight`]
//! and on the [`LossState`] that all share. It returns what else is to be done: whether a timer
//! restarts, whether a reduction was taken back. What the loss does to the window is the
//! congestion controller's affair.

mod eln;
pub(crate) mod frto;
mod nack;
mod newreno;
mod prr;
mod rack;
mod reno;
mod sack;
mod snack;
mod spurious;
mod state;
mod tahoe;
mod vegas;

use crate::config::{Careful, Config, NewRenoExit, Recovery, Undo};
use crate::flight::{Flight, context};
use crate::key;
use crate::record::{Record, Recorder};
use crate::rto::RttEstimator;
use crate::rto::fine::FineTimeout;
use crate::seq::Offset;
use crate::snack::Snack;
use crate::time::{Instant, Interval};
use newreno::NewReno;
pub(crate) use rack::AckKind;
use rack::Rack;
use sack::Sack;
pub(crate) use spurious::duplicate_report;
use state::front_loss;
pub(crate) use state::{LossState, NewAck};

/// Detection and repair of losses.
#[derive(Debug)]
#[repr(C)] // in this order in memory: what each segment asks for is first
pub(crate) struct LossRecovery {
    pub(crate) loss: LossState,
    algorithm: Algorithm,
}

/// State that only one algorithm needs.
#[derive(Debug)]
enum Algorithm {
    GoBackN,
    Tahoe,
    Reno,
    NewReno(NewReno),
    Sack(Sack),
    Vegas,
    Snack,
}

/// The sender before an ACK is processed, where an algorithm compares.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BeforeAck {
    prr: Option<prr::Before>,
    rack: Option<rack::Before>,
}

impl Algorithm {
    fn new(config: &Config) -> Self {
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
            Recovery::Vegas { .. } => Self::Vegas,
            Recovery::Snack { .. } => Self::Snack,
        }
    }
}

/// Returns the clock for each segment that `config` asks for.
pub(crate) fn fine_timeout(config: &Config) -> Option<Box<FineTimeout>> {
    let (k, granularity, replaces) = match config.recovery {
        Recovery::Vegas {
            fine_k,
            fine_granularity,
            coarse_timeout,
        } => (fine_k, fine_granularity, !coarse_timeout),
        Recovery::Snack {
            fine_k,
            fine_granularity,
        } => (fine_k, fine_granularity, false),
        _ => return None,
    };
    Some(Box::new(FineTimeout::new(k, granularity, replaces)))
}

impl LossRecovery {
    pub(crate) fn new(config: &Config) -> Self {
        let algorithm = Algorithm::new(config);
        let sacking = matches!(algorithm, Algorithm::Sack(_));
        Self {
            loss: LossState::new(config, sacking),
            algorithm,
        }
    }

    /// Falls back on NewReno, because the peer does not do SACK.
    pub(crate) fn without_sack(&mut self) {
        if self.loss.sacking {
            let newreno = NewReno::new(false, Careful::Plain, NewRenoExit::FlightSize);
            self.algorithm = Algorithm::NewReno(newreno);
            self.loss.sacking = false;
        }
    }

    /// Falls back on Vegas, because the peer does not do SNACK.
    pub(crate) fn without_snack(&mut self) {
        if self.snacking() {
            self.algorithm = Algorithm::Vegas;
        }
    }

    /// Returns whether SNACKs are heeded.
    #[inline]
    pub(crate) fn snacking(&self) -> bool {
        matches!(self.algorithm, Algorithm::Snack)
    }

    /// Returns whether data presumed lost leaves whatever the window: the peer has said that the
    /// data is not in the network, and waits for it. After a time-out the window counts.
    #[inline]
    pub(crate) fn sends_lost_at_once(&self) -> bool {
        self.snacking() && !self.loss.after_timeout
    }

    #[inline]
    fn sack(&self) -> Option<&Sack> {
        match &self.algorithm {
            Algorithm::Sack(sack) => Some(sack),
            _ => None,
        }
    }

    /// RACK-TLP, if it is in use.
    #[inline]
    pub(crate) fn rack(&self) -> Option<&Rack> {
        self.sack()?.rack.as_deref()
    }

    #[inline]
    fn rack_mut(&mut self) -> Option<(&mut Rack, &mut LossState)> {
        match &mut self.algorithm {
            Algorithm::Sack(sack) => Some((sack.rack.as_deref_mut()?, &mut self.loss)),
            _ => None,
        }
    }

    /// Returns whether an algorithm must see every ACK, or what leaves.
    #[inline]
    pub(crate) fn compares(&self) -> bool {
        self.sack()
            .is_some_and(|sack| sack.rack.is_some() || sack.prr.is_some())
    }

    /// Returns whether holes below SACKed data may be filled that are not presumed lost (NextSeg,
    /// rules 3 and 4). RACK waits for time, or probes.
    pub(crate) fn counts_holes(&self) -> bool {
        self.loss.sacking && self.loss.in_recovery && self.rack().is_none()
    }

    /// Returns whether a recovery may send the same segment more than once: RACK detects a lost
    /// retransmission.
    #[inline]
    pub(crate) fn retransmits_again(&self) -> bool {
        self.loss.in_recovery && self.rack().is_some()
    }

    /// Returns whether rule (4) of `NextSeg` may be used.
    pub(crate) fn may_rescue(&self, una: Offset) -> bool {
        self.sack().is_some_and(|sack| sack.may_rescue(una))
    }

    /// Notes a rescue retransmission.
    pub(crate) fn rescued(&mut self) {
        if let Algorithm::Sack(sack) = &mut self.algorithm {
            sack.rescued(self.loss.recover);
        }
    }

    fn forget_rescue(&mut self) {
        if let Algorithm::Sack(sack) = &mut self.algorithm {
            sack.forget_rescue();
        }
    }

    // What leaves.

    /// Notes that `len` bytes of data leave, with `again` for another time.
    pub(crate) fn on_sent(&mut self, flight: &mut Flight, now: Instant, again: bool) {
        if let Some((rack, loss)) = self.rack_mut() {
            rack.on_sent(loss, flight, now, again);
        }
    }

    /// Counts `len` bytes of data that leave, new or not.
    #[inline]
    pub(crate) fn data(&mut self, len: u64) {
        if let Algorithm::Sack(sack) = &mut self.algorithm
            && let Some(prr) = &mut sack.prr
        {
            prr.sent(len);
        }
    }

    /// Notes that `[start, end)` leaves again, if `detection` looks for that.
    #[inline]
    pub(crate) fn sent_again(
        &mut self,
        now: Instant,
        (start, end): (Offset, Offset),
        detection: Undo,
    ) {
        let spurious = &mut self.loss.spurious;
        spurious.sent_again(now, start, end, detection);
    }

    // Acknowledgments.

    /// Uses a round-trip sample of a segment that left at `sent`.
    #[inline]
    pub(crate) fn sampled(&mut self, rtt: &mut RttEstimator, sent: Instant, sample: Interval) {
        self.loss.spurious.sampled(rtt, sent, sample);
        if let Some((rack, _)) = self.rack_mut() {
            rack.sampled();
        }
    }

    /// Returns the sender's state before an ACK. `echoed` is the departure of the segment whose
    /// timestamp the ACK echoes.
    #[inline]
    pub(crate) fn before_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        echoed: Option<Instant>,
    ) -> BeforeAck {
        let Algorithm::Sack(sack) = &mut self.algorithm else {
            return BeforeAck::default();
        };
        BeforeAck {
            prr: sack.prr.is_some().then(|| prr::Before::of(flight)),
            rack: (sack.rack.as_mut())
                .and_then(|rack| rack.before_ack(&self.loss, flight, now, echoed)),
        }
    }

    /// Processes a duplicate acknowledgment; with SACK, one that brought news.
    pub(crate) fn on_dup_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        recorder: &mut Recorder,
    ) {
        let loss = &mut self.loss;
        recorder.emit(now, Record::DupAck);
        loss.dup_acks += 1;
        let cx = context!(flight, now, flight.board.flight());
        flight.cc.on_dup_ack(&cx);
        match &mut self.algorithm {
            Algorithm::GoBackN => {}
            Algorithm::Tahoe => tahoe::on_dup_ack(loss, flight, now, recorder),
            Algorithm::Reno => reno::on_dup_ack(loss, flight, now, recorder),
            Algorithm::Vegas | Algorithm::Snack => vegas::on_dup_ack(loss, flight, now, recorder),
            Algorithm::NewReno(newreno) => newreno.on_dup_ack(loss, flight, now, recorder),
            Algorithm::Sack(sack) => sack.on_dup_ack(loss, flight, now, recorder),
        }
    }

    /// Processes an acknowledgment of new data. Restarts the retransmission timer as the
    /// algorithm wants it.
    #[inline(always)] // of each ACK
    pub(crate) fn on_new_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        new: &NewAck,
        recorder: &mut Recorder,
    ) {
        let loss = &mut self.loss;
        if loss.after_timeout && flight.board.una() >= loss.recover {
            loss.after_timeout = false;
        }
        let cx = context!(flight, now, new.in_flight);
        flight.cc.on_delivered(&cx, &new.ack);
        let mut restart = true;
        if loss.in_recovery {
            restart = self.on_recovery_ack(flight, now, new, recorder);
        } else {
            loss.dup_acks = 0;
            loss.limited_sent = 0;
            loss.end_repair(flight, new);
            if !loss.mark_echoed {
                let cx = context!(flight, now, new.in_flight);
                flight.cc.on_ack(&cx, &new.ack);
            }
        }
        if flight.fine.is_some() {
            vegas::after_new_ack(&mut self.loss, flight, now, recorder);
        }
        if let Algorithm::NewReno(newreno) = &mut self.algorithm {
            newreno.previous_ack = new.before;
        }
        if restart {
            flight.restart_timer(now);
        }
    }

    /// Processes a new ACK while losses are repaired. Returns whether the retransmission timer
    /// restarts.
    #[inline(never)]
    fn on_recovery_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        new: &NewAck,
        recorder: &mut Recorder,
    ) -> bool {
        let loss = &mut self.loss;
        match &mut self.algorithm {
            Algorithm::GoBackN | Algorithm::Tahoe => {}
            Algorithm::Reno | Algorithm::Vegas => {
                reno::on_recovery_ack(loss, flight, now, recorder);
            }
            Algorithm::Snack => snack::on_recovery_ack(loss, flight, now, new, recorder),
            Algorithm::NewReno(newreno) => {
                return newreno.on_recovery_ack(loss, flight, now, new, recorder);
            }
            Algorithm::Sack(sack) => sack.on_recovery_ack(loss, flight, now, new, recorder),
        }
        true
    }

    /// Notes whether a new ACK echoes the timestamp of the latest transmission of the segment it
    /// acknowledges, where that is a sign of its need (RFC 6582, 4.2).
    #[inline]
    pub(crate) fn note_echo(&mut self, is_of_latest: impl FnOnce() -> bool) {
        if let Algorithm::NewReno(newreno) = &mut self.algorithm {
            newreno.echo_of_latest = is_of_latest();
        }
    }

    /// Sends again what an ACK for the first unacknowledged byte names. Returns whether SNACKs are
    /// heeded.
    pub(crate) fn on_snack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        snack: Snack,
        recorder: &mut Recorder,
    ) -> bool {
        let heeded = self.snacking();
        if heeded {
            self.loss.on_snack(flight, now, snack, recorder);
        }
        heeded
    }

    /// Ends an ACK for RACK-TLP. Returns whether it is in use.
    pub(crate) fn detect_losses(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        (before, kind): (BeforeAck, AckKind),
        recorder: &mut Recorder,
    ) -> bool {
        let (Some(before), Algorithm::Sack(sack)) = (before.rack, &mut self.algorithm) else {
            return false;
        };
        sack.after_ack(&mut self.loss, flight, now, (before, kind), recorder);
        true
    }

    /// Ends an ACK for PRR. Returns whether the window changed.
    pub(crate) fn reduce_by_prr(&mut self, flight: &mut Flight, before: BeforeAck) -> bool {
        match (before.prr, &mut self.algorithm) {
            (Some(before), Algorithm::Sack(sack)) => {
                let prr = sack.prr.as_mut();
                prr.is_some_and(|prr| prr.after_ack(&self.loss, flight, before))
            }
            _ => false,
        }
    }

    /// Processes an ACK that says that data was marked, with `in_flight` bytes out before it. The
    /// window is reduced unless that was done since this window of data left, for a
    /// mark or a loss (RFC 3168, 6.1.2). Returns whether it was.
    pub(crate) fn on_congestion_mark(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        in_flight: u64,
    ) -> bool {
        let loss = &mut self.loss;
        if flight.board.una() <= loss.marked.max(loss.recover) {
            return false;
        }
        let front = front_loss(flight, now);
        let before = flight.cc.cwnd();
        let in_flight = flight.at_most_window(in_flight);
        let cx = context!(flight, now, in_flight);
        flight.cc.on_congestion_mark(&cx, &front);
        if flight.cc.cwnd() > before {
            flight.cc.collapse(before); // the least of a loss is more than was left
        }
        loss.marked = flight.board.max();
        loss.reduced = true;
        true
    }

    // Reductions that were not needed.

    /// Returns whether a reduction may still turn out unneeded.
    #[inline]
    pub(crate) fn in_episode(&self) -> bool {
        self.loss.spurious.in_episode()
    }

    /// Judges a reduction by the timestamp that an ACK of new data echoes. Returns whether it was
    /// taken back.
    #[inline(never)]
    pub(crate) fn judge_echo(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        new: &NewAck,
        (echo, clock): (Option<u32>, impl Fn(Instant) -> u32),
        recorder: &mut Recorder,
    ) -> bool {
        let spurious = &mut self.loss.spurious;
        let undone = spurious.judge(flight, now, &new.ack, echo, clock, recorder);
        self.undo_if(undone, flight)
    }

    /// Notes that `range` arrived twice, as the peer reports. Returns whether a reduction was taken
    /// back.
    pub(crate) fn on_duplicate_report(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        range: (Offset, Offset),
        recorder: &mut Recorder,
    ) -> bool {
        let spurious = &mut self.loss.spurious;
        let undone = spurious.on_duplicate_report(flight, now, range, recorder);
        self.undo_if(undone, flight)
    }

    /// Takes back the reduction of a spurious time-out, whose first ACK acknowledged `acked` bytes.
    pub(crate) fn undo_timeout(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        acked: u64,
        recorder: &mut Recorder,
    ) {
        let spurious = &mut self.loss.spurious;
        let undone = spurious.undo(flight, now, Some(acked), recorder);
        self.undo_if(undone, flight);
    }

    /// Ends all recovery, because the loss was none, and neither is any before SND.UNA.
    fn undo_if(&mut self, undone: bool, flight: &mut Flight) -> bool {
        if undone {
            self.loss.leave(flight);
            self.loss.after_timeout = false;
            self.loss.recover = flight.board.una();
            self.loss.limited_sent = 0;
            self.forget_rescue();
        }
        undone
    }

    // Timers.

    /// Processes a retransmission time-out: what was in flight is lost.
    pub(crate) fn on_timeout(&mut self, flight: &mut Flight) {
        let loss = &mut self.loss;
        flight.inflation = 0;
        loss.dup_acks = 0;
        loss.limited_sent = 0;
        loss.in_recovery = false;
        loss.recover = flight.board.max();
        loss.after_timeout = true;
        loss.reduced |= !loss.assume_corruption;
        loss.repair_end = 0;
        loss.nacked_to = 0;
        self.forget_rescue();
        // RACK leaves in the pipe what may still arrive.
        self.loss.force = self.rack().is_some();
    }

    /// Begins an episode with a time-out that is about to reduce the window.
    pub(crate) fn begin_by_timeout(&mut self, flight: &mut Flight) {
        let sacking = self.loss.sacking;
        self.loss.spurious.begin(flight, sacking, true);
    }

    /// Presumes lost what a time-out shows to be.
    pub(crate) fn lose_at_timeout(&mut self, flight: &mut Flight, now: Instant) {
        match self.rack_mut() {
            Some((rack, _)) if flight.board.una() > 0 => rack.on_timeout(flight, now),
            _ => flight.board.lose_all(),
        }
    }

    /// Processes a time-out as a loss of the first segment, where [`FineTimeout`] says so.
    pub(crate) fn on_fine_timeout(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        recorder: &mut Recorder,
    ) {
        vegas::on_timeout(&mut self.loss, flight, now, recorder);
    }

    /// Stops the timers of RACK, and the probe that is about to leave.
    pub(crate) fn stop_rack(&mut self, flight: &mut Flight) {
        if let Some((rack, _)) = self.rack_mut() {
            rack.stop(&mut flight.timers);
        }
    }

    /// Checks again segments that were not old enough to be lost.
    pub(crate) fn on_reordering_timer(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        recorder: &mut Recorder,
    ) {
        if let Algorithm::Sack(sack) = &mut self.algorithm {
            sack.on_reordering_timer(&mut self.loss, flight, now, recorder);
        }
    }

    /// Processes the timer of the tail loss probe. `fresh` says that new data may leave.
    pub(crate) fn on_probe_timer(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        fresh: bool,
        recorder: &mut Recorder,
    ) {
        if let Some((rack, _)) = self.rack_mut() {
            rack.on_probe_timer(flight, now, fresh, recorder);
        }
    }
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
        let mut loss = LossState::new(&Config::default(), false);
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
            let mut recovery = LossRecovery::new(&Config {
                recovery: Recovery::Sack {
                    rescue: true,
                    prr: None,
                    rack,
                },
                ..Config::default()
            });
            assert!(!recovery.retransmits_again());
            recovery.loss.in_recovery = true;
            assert_eq!(recovery.retransmits_again(), rack.is_some());
        }
    }

    /// Whatever a configuration says, PRR leads the window of those controllers alone that leave
    /// it to recovery: over a BBR it would hold the window at what each ACK lets out.
    #[test]
    fn no_key_puts_prr_over_a_controller_that_sets_its_window() {
        let mut owners = Vec::new();
        for algorithm in congestion::ALGORITHMS {
            let recovery = LossRecovery::new(&Config {
                recovery: Recovery::Sack {
                    rescue: true,
                    prr: Some(PrrBound::SafeAck),
                    rack: None,
                },
                congestion: Control::new(algorithm),
                ..Config::default()
            });
            if recovery.sack().is_some_and(|sack| sack.prr.is_none()) {
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
            let mut loss = LossState::new(&Config::default(), false);
            (loss.dup_acks, loss.in_recovery) = (dup_acks, in_recovery);
            loss.new_data(1000, flight, 10_000);
            assert_eq!(loss.limited_sent, limited, "{dup_acks} {flight}");
        }
    }
}
