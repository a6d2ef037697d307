//! Loss recovery: detects losses, chooses what to retransmit, and ends the recovery.
//!
//! Each algorithm has a file. It processes duplicate and new ACKs, and works on the [`Flight`] and
//! its [`LossState`](crate::flight::LossState). It returns further actions: whether a timer
//! restarts, whether a reduction was undone. The congestion controller decides how a loss changes
//! the window.

mod eln;
pub(crate) mod frto;
mod loss;
mod nack;
mod newreno;
mod prr;
mod rack;
mod reno;
mod sack;
mod snack;
mod spurious;
mod tahoe;
mod undo;
pub(crate) mod vegas;

use crate::config::{Careful, Config, NewRenoExit, Recovery, Sampling};
use crate::flight::{Flight, context};
use crate::key;
use crate::record::{Record, Recorder};
use crate::rto::fine::FineTimeout;
use crate::seq::Offset;
use crate::snack::Snack;
use crate::time::Instant;
pub(crate) use loss::NewAck;
use newreno::NewReno;
pub(crate) use rack::AckKind;
use rack::Rack;
use sack::Sack;
pub(crate) use spurious::Spurious;
pub(crate) use undo::duplicate_report;

/// Loss-recovery algorithm with its own state.
#[derive(Debug)]
pub(crate) enum LossRecovery {
    /// Settings as in [`Recovery::GoBackN`].
    GoBackN {
        repeat_all: bool,
        dup_acks_halve: bool,
        /// Set if every segment is timed from its first transmission (no Karn's algorithm).
        times_first: bool,
    },
    Tahoe,
    Reno,
    NewReno(NewReno),
    Sack(Sack),
    Vegas,
    Snack,
}

/// State of the sender before an ACK, for the algorithms that compare it with the state after the
/// ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BeforeAck {
    prr: Option<prr::Before>,
    rack: Option<rack::Before>,
}

impl LossRecovery {
    pub(crate) fn new(config: &Config) -> Self {
        match config.recovery {
            Recovery::GoBackN {
                repeat_all,
                dup_acks_halve,
            } => Self::GoBackN {
                repeat_all,
                dup_acks_halve,
                times_first: !config.rto.karn && config.rto.sampling == Sampling::EverySegment,
            },
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

/// Returns the fine time-out (a send time per segment) of the algorithm, if it has one.
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
    /// Falls back on NewReno because the peer does not support SACK.
    pub(crate) fn without_sack(&mut self, flight: &mut Flight) {
        if flight.loss.sacking {
            let newreno = NewReno::new(false, Careful::Plain, NewRenoExit::FlightSize);
            *self = Self::NewReno(newreno);
            flight.loss.sacking = false;
        }
    }

    /// Falls back on Vegas because the peer does not support SNACK.
    pub(crate) fn without_snack(&mut self) {
        if self.uses_snack() {
            *self = Self::Vegas;
        }
    }

    /// Returns whether SNACK recovery is in use.
    #[inline]
    pub(crate) fn uses_snack(&self) -> bool {
        matches!(self, Self::Snack)
    }

    /// Returns whether lost data is sent regardless of the window: with `repeat_all`, or because a
    /// SNACK named this data, so that the peer waits for it. After a time-out the window applies
    /// to SNACK.
    #[inline]
    pub(crate) fn sends_lost_at_once(&self, flight: &Flight) -> bool {
        match self {
            Self::GoBackN { repeat_all, .. } => *repeat_all,
            _ => self.uses_snack() && !flight.loss.after_timeout,
        }
    }

    /// Returns whether every segment is timed from its first transmission.
    #[inline]
    pub(crate) fn times_first(&self) -> bool {
        matches!(
            self,
            Self::GoBackN {
                times_first: true,
                ..
            }
        )
    }

    #[inline]
    fn sack(&self) -> Option<&Sack> {
        match self {
            Self::Sack(sack) => Some(sack),
            _ => None,
        }
    }

    /// Returns the state of RACK-TLP, if it is in use.
    #[inline]
    pub(crate) fn rack(&self) -> Option<&Rack> {
        self.sack()?.rack.as_deref()
    }

    #[inline]
    fn rack_mut(&mut self) -> Option<&mut Rack> {
        match self {
            Self::Sack(sack) => sack.rack.as_deref_mut(),
            _ => None,
        }
    }

    /// Returns whether RACK or PRR is in use, which process every ACK and every transmission.
    #[inline]
    pub(crate) fn processes_every_ack(&self) -> bool {
        self.sack()
            .is_some_and(|sack| sack.rack.is_some() || sack.prr.is_some())
    }

    /// Returns whether holes below SACKed data may be retransmitted before they are marked lost
    /// (NextSeg, rules 3 and 4). With RACK they may not, because RACK uses time and probes instead.
    pub(crate) fn counts_holes(&self, flight: &Flight) -> bool {
        flight.loss.sacking && flight.loss.in_recovery && self.rack().is_none()
    }

    /// Returns whether a recovery may retransmit the same segment twice. Only RACK detects a lost
    /// retransmission.
    #[inline]
    pub(crate) fn retransmits_again(&self, flight: &Flight) -> bool {
        flight.loss.in_recovery && self.rack().is_some()
    }

    /// Returns whether rule (4) of `NextSeg` may be used.
    pub(crate) fn may_rescue(&self, una: Offset) -> bool {
        self.sack().is_some_and(|sack| sack.may_rescue(una))
    }

    /// Notes a rescue retransmission.
    pub(crate) fn rescued(&mut self, flight: &Flight) {
        if let Self::Sack(sack) = self {
            sack.rescued(flight.loss.recover);
        }
    }

    fn clear_rescue(&mut self) {
        if let Self::Sack(sack) = self {
            sack.clear_rescue();
        }
    }

    // Transmissions.

    /// Reports the transmission of a segment to RACK; `again` is set for a retransmission.
    pub(crate) fn on_sent(&mut self, flight: &mut Flight, now: Instant, again: bool) {
        if let Some(rack) = self.rack_mut() {
            rack.on_sent(flight, now, again);
        }
    }

    /// Counts `len` bytes sent, new or retransmitted, for PRR.
    #[inline]
    pub(crate) fn on_bytes_sent(&mut self, len: u64) {
        if let Self::Sack(sack) = self
            && let Some(prr) = &mut sack.prr
        {
            prr.on_bytes_sent(len);
        }
    }

    // Acknowledgments.

    /// Reports an RTT sample to RACK.
    #[inline]
    pub(crate) fn on_rtt_sample(&mut self) {
        if let Some(rack) = self.rack_mut() {
            rack.on_rtt_sample();
        }
    }

    /// Returns the sender's state before an ACK. `echoed` is the time at which the segment was sent
    /// whose timestamp the ACK echoes.
    #[inline]
    pub(crate) fn before_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        echoed: Option<Instant>,
    ) -> BeforeAck {
        let Self::Sack(sack) = self else {
            return BeforeAck::default();
        };
        BeforeAck {
            prr: sack.prr.is_some().then(|| prr::Before::of(flight)),
            rack: (sack.rack.as_mut()).and_then(|rack| rack.before_ack(flight, now, echoed)),
        }
    }

    /// Processes a duplicate ACK; with SACK, an ACK that newly SACKed data.
    pub(crate) fn on_dup_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        recorder: &mut Recorder,
    ) {
        recorder.emit(now, Record::DupAck);
        flight.loss.dup_acks += 1;
        let cx = context!(flight, now, flight.board.flight());
        flight.cc.on_dup_ack(&cx);
        match self {
            Self::GoBackN { dup_acks_halve, .. } => {
                if *dup_acks_halve {
                    let window = flight.at_most_window(flight.cwnd());
                    flight
                        .cc
                        .lower_ssthresh((window / 2).max(2 * u64::from(flight.mss)));
                }
            }
            Self::Tahoe => tahoe::on_dup_ack(flight, now, recorder),
            Self::Reno => reno::on_dup_ack(flight, now, recorder),
            Self::Vegas | Self::Snack => vegas::on_dup_ack(flight, now, recorder),
            Self::NewReno(newreno) => newreno.on_dup_ack(flight, now, recorder),
            Self::Sack(sack) => sack.on_dup_ack(flight, now, recorder),
        }
    }

    /// Processes an ACK of new data. Restarts the retransmission timer if the algorithm requires
    /// it.
    #[inline(always)] // called for each ACK
    pub(crate) fn on_new_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        new: &NewAck,
        recorder: &mut Recorder,
    ) {
        if flight.loss.after_timeout && flight.board.una() >= flight.loss.recover {
            flight.loss.after_timeout = false;
        }
        let cx = context!(flight, now, new.in_flight);
        flight.cc.on_delivered(&cx, &new.ack);
        let mut restart = true;
        if flight.loss.in_recovery {
            restart = self.on_recovery_ack(flight, now, new, recorder);
        } else {
            flight.loss.dup_acks = 0;
            flight.loss.limited_sent = 0;
            flight.end_repair(new);
            if !flight.loss.mark_echoed {
                if flight.rare.is_some() && flight.cc.in_slow_start() {
                    flight.on_slow_start_ack(now, new, recorder);
                } else {
                    let cx = context!(flight, now, new.in_flight);
                    flight.cc.on_ack(&cx, &new.ack);
                }
            }
        }
        if flight.rare.is_some() {
            flight.resume_on_ack(now, new, recorder);
            if flight.fine().is_some() {
                vegas::after_new_ack(flight, now, recorder);
            }
        }
        if let Self::NewReno(newreno) = self {
            newreno.previous_ack = new.before;
        }
        if restart {
            flight.restart_timer(now);
        }
    }

    /// Processes a new ACK in loss recovery. Returns whether the retransmission timer restarts.
    #[inline(never)]
    fn on_recovery_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        new: &NewAck,
        recorder: &mut Recorder,
    ) -> bool {
        match self {
            Self::GoBackN { .. } | Self::Tahoe => {}
            Self::Reno | Self::Vegas => {
                reno::on_recovery_ack(flight, now, recorder);
            }
            Self::Snack => snack::on_recovery_ack(flight, now, new, recorder),
            Self::NewReno(newreno) => {
                return newreno.on_recovery_ack(flight, now, new, recorder);
            }
            Self::Sack(sack) => sack.on_recovery_ack(flight, now, new, recorder),
        }
        true
    }

    /// Stores whether a new ACK echoes the timestamp of the segment's latest transmission, for the
    /// timestamp heuristic of RFC 6582, 4.2.
    #[inline]
    pub(crate) fn note_echo(&mut self, is_of_latest: impl FnOnce() -> bool) {
        if let Self::NewReno(newreno) = self {
            newreno.echo_of_latest = is_of_latest();
        }
    }

    /// Retransmits the holes that a SNACK names. Returns whether SNACK recovery is in use.
    pub(crate) fn on_snack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        snack: Snack,
        recorder: &mut Recorder,
    ) -> bool {
        let heeded = self.uses_snack();
        if heeded {
            flight.on_snack(now, snack, recorder);
        }
        heeded
    }

    /// Runs RACK loss detection at the end of an ACK. Returns whether RACK is in use.
    pub(crate) fn detect_losses(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        (before, kind): (BeforeAck, AckKind),
        recorder: &mut Recorder,
    ) -> bool {
        let (Some(before), Self::Sack(sack)) = (before.rack, self) else {
            return false;
        };
        sack.after_ack(flight, now, (before, kind), recorder);
        true
    }

    /// Runs PRR at the end of an ACK. Returns whether the window changed.
    pub(crate) fn reduce_by_prr(&mut self, flight: &mut Flight, before: BeforeAck) -> bool {
        match (before.prr, self) {
            (Some(before), Self::Sack(sack)) => {
                let prr = sack.prr.as_mut();
                prr.is_some_and(|prr| prr.after_ack(flight, before))
            }
            _ => false,
        }
    }

    // Spurious reductions.

    /// Applies Eifel detection to an ACK of new data. Returns whether a reduction was undone.
    #[inline(never)]
    pub(crate) fn detect_by_eifel(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        new: &NewAck,
        (echo, clock): (Option<u32>, impl Fn(Instant) -> u32),
        recorder: &mut Recorder,
    ) -> bool {
        let undone = flight.detect_by_eifel(now, &new.ack, echo, clock, recorder);
        self.undo_if(undone, flight)
    }

    /// Processes a D-SACK report that `range` arrived twice. Returns whether a reduction was
    /// undone.
    pub(crate) fn on_duplicate_report(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        range: (Offset, Offset),
        recorder: &mut Recorder,
    ) -> bool {
        let undone = flight.on_duplicate_report(now, range, recorder);
        self.undo_if(undone, flight)
    }

    /// Undoes the reduction of a spurious time-out, whose first ACK acknowledged `acked` bytes.
    pub(crate) fn undo_timeout(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        acked: u64,
        recorder: &mut Recorder,
    ) {
        let undone = flight.undo(now, Some(acked), recorder);
        self.undo_if(undone, flight);
    }

    /// If `undone` is set, ends all recovery and clears losses above SND.UNA. Returns `undone`.
    fn undo_if(&mut self, undone: bool, flight: &mut Flight) -> bool {
        if undone {
            flight.leave_recovery();
            flight.loss.after_timeout = false;
            flight.loss.recover = flight.board.una();
            flight.loss.limited_sent = 0;
            self.clear_rescue();
        }
        undone
    }

    // Timers.

    /// Handles a retransmission time-out: all data in flight counts as lost.
    pub(crate) fn on_timeout(&mut self, flight: &mut Flight) {
        flight.inflation = 0;
        flight.loss.dup_acks = 0;
        flight.loss.limited_sent = 0;
        flight.loss.in_recovery = false;
        flight.loss.recover = flight.board.max();
        flight.loss.after_timeout = true;
        flight.loss.reduced |= !flight.loss.assume_corruption;
        flight.loss.repair_end = 0;
        flight.loss.nacked_to = 0;
        self.clear_rescue();
        // Segments stay in the pipe that may still arrive, and the first must go nevertheless.
        flight.loss.force = self.rack().is_some() || flight.config().repeat_first;
        if flight.config().repeat_first {
            vegas::check_again(flight);
        }
    }

    /// Marks segments lost after a time-out.
    pub(crate) fn lose_at_timeout(&mut self, flight: &mut Flight, now: Instant) {
        match self.rack_mut() {
            Some(rack) if flight.board.una() > 0 => rack.on_timeout(flight, now),
            _ if flight.config().repeat_first => flight.board.lose_front(),
            _ => flight.board.lose_all(),
        }
    }

    /// Stops the timers of RACK, and cancels a probe that is not sent yet.
    pub(crate) fn stop_rack(&mut self, flight: &mut Flight) {
        if let Some(rack) = self.rack_mut() {
            rack.stop(&mut flight.timers);
        }
    }

    /// Runs loss detection again for segments that were within the reordering window.
    pub(crate) fn on_reordering_timer(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        recorder: &mut Recorder,
    ) {
        if let Self::Sack(sack) = self {
            sack.on_reordering_timer(flight, now, recorder);
        }
    }

    /// Handles the timer of the tail loss probe. `fresh` is set if new data may be sent.
    pub(crate) fn on_probe_timer(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        fresh: bool,
        recorder: &mut Recorder,
    ) {
        if let Some(rack) = self.rack_mut() {
            rack.on_probe_timer(flight, now, fresh, recorder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{PrrBound, RackConfig};
    use crate::congestion::{self, Control};
    use crate::flight::LossState;
    use std::sync::Arc;

    /// A repair lasts until the data in flight at the loss is acknowledged, in fast recovery and
    /// after a time-out.
    #[test]
    fn a_repair_lasts_until_the_data_in_flight_at_the_loss_is_acknowledged() {
        let mut loss = LossState::new(&Config::default());
        loss.recover = 1000;
        assert!(!loss.repairing(500));
        for (in_recovery, after_timeout) in [(true, false), (false, true)] {
            (loss.in_recovery, loss.after_timeout) = (in_recovery, after_timeout);
            assert!(loss.repairing(999));
            assert!(!loss.repairing(1000) && !loss.repairing(1001));
        }
    }

    /// Only RACK detects a lost retransmission, and only in recovery.
    #[test]
    fn only_rack_retransmits_a_retransmission() {
        for rack in [None, Some(RackConfig::default())] {
            let config = Config {
                recovery: Recovery::Sack {
                    rescue: true,
                    prr: None,
                    rack,
                },
                ..Config::default()
            };
            let recovery = LossRecovery::new(&config);
            let mut flight = Flight::new(&Arc::new(config.clone()));
            assert!(!recovery.retransmits_again(&flight));
            flight.loss.in_recovery = true;
            assert_eq!(recovery.retransmits_again(&flight), rack.is_some());
        }
    }

    /// No key enables PRR for a controller that owns the recovery window: with BBR, PRR would limit
    /// cwnd to the bytes that each ACK delivers.
    #[test]
    fn no_key_enables_prr_for_a_controller_that_owns_its_window() {
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
        assert_eq!(owners, ["none", "vegas", "bbr", "bbr3", "copa"]);
    }

    /// RFC 3042: a segment sent on a duplicate ACK counts as limited transmit only if it exceeds
    /// cwnd.
    #[test]
    fn limited_transmit_counts_only_data_beyond_the_window() {
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
