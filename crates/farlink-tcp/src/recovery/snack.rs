//! SNACK recovery: retransmits the holes that the peer names (SCPS-TP, CCSDS 714.0-B, and its
//! reference implementation).
//!
//! Duplicate ACKs and Vegas' fine time-out also detect losses. A recovery lasts until all data
//! outstanding at its start is acknowledged. ACKs of data behind several holes can then release new
//! data.

use super::loss::NewAck;
use crate::config::SnackForm;
use crate::congestion::Loss;
use crate::flight::{Flight, Rare, context};
use crate::reason::Reason;
use crate::record::{Mark, Recorder};
use crate::snack::{ScpsCapabilities, Snack};
use crate::time::Instant;

impl Flight {
    /// Retransmits the holes that a SNACK names. Valid only for an ACK of the first unacknowledged
    /// byte.
    #[inline(never)] // keeps code for SNACK out of the instruction cache
    pub(super) fn on_snack(&mut self, now: Instant, snack: Snack, recorder: &mut Recorder) {
        let in_flight = self.flight_at_loss();
        // Holes retransmitted less than one RTT ago are left out, because the SNACK was sent before
        // those retransmissions arrived.
        let age = self.rtt.smooth_bound().unwrap_or_else(|| self.rto());
        let (una, mss) = (self.board.una(), u64::from(self.mss));
        // The highest hole shows whether data sent since the last loss is lost.
        let mut highest = None;
        for (left, right) in snack.holes(una, mss) {
            highest = self.board.miss(left, right, now, age).or(highest);
        }
        let Some(missed) = highest else {
            return;
        };
        recorder.sign(Reason::Snack);
        // After a time-out these segments are already marked for retransmission.
        if self.loss.after_timeout {
            return;
        }
        let another = self.loss.in_recovery;
        if another && missed.start < self.loss.recover {
            return; // This recovery repairs the range.
        }
        recorder.loss(now, Mark::FastRetransmit, Reason::Snack);
        let loss = Loss { sent_at: missed.at };
        self.reduce(now, in_flight, loss, false, recorder);
        self.enter_recovery();
        if !another {
            self.inflation = i64::from(self.loss.dup_acks) * i64::from(self.mss);
        }
        if let Some(fine) = Rare::fine(&mut self.rare) {
            fine.check_again();
        }
        self.restart_timer_for_loss(now);
    }
}

/// Processes an ACK of new data in loss recovery.
pub(super) fn on_recovery_ack(
    flight: &mut Flight,
    now: Instant,
    new: &NewAck,
    recorder: &mut Recorder,
) {
    if flight.board.una() >= flight.loss.recover {
        let window = flight.cc.cwnd();
        flight.end_recovery(now, window, recorder);
        return;
    }
    flight.inflation = (flight.inflation - new.bytes()).max(0);
    let cx = context!(flight, now, new.in_flight);
    flight.cc.on_recovery_ack(&cx, &new.ack);
}

impl SnackForm {
    /// Returns whether a SYN offers the option.
    pub(crate) fn on(self) -> bool {
        self != Self::Off
    }

    /// Returns the offered capabilities.
    pub(crate) fn offer(self) -> Option<ScpsCapabilities> {
        let bits = match self {
            Self::Off => return None,
            Self::Short => ScpsCapabilities::SNACK_SHORT,
            Self::Long => ScpsCapabilities::SNACK_SHORT | ScpsCapabilities::SNACK_LONG,
        };
        let connection = 0;
        Some(ScpsCapabilities { bits, connection })
    }

    /// Returns the form that both ends support.
    pub(crate) fn agreed(self, peer: ScpsCapabilities) -> Self {
        match self {
            Self::Off => Self::Off,
            _ if !peer.has(ScpsCapabilities::SNACK_SHORT) => Self::Off,
            Self::Long if peer.has(ScpsCapabilities::SNACK_LONG) => Self::Long,
            _ => Self::Short,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SNACK is off if this end has it off or the peer lacks the short form. The long form is
    /// agreed only if both ends have it, otherwise the short form.
    #[test]
    fn agreed_snack_form_is_the_best_both_ends_support() {
        let peer = |bits| ScpsCapabilities {
            bits,
            connection: 0,
        };
        let short = peer(ScpsCapabilities::SNACK_SHORT);
        let long = peer(ScpsCapabilities::SNACK_SHORT | ScpsCapabilities::SNACK_LONG);
        for (own, peer, agreed) in [
            (SnackForm::Off, long, SnackForm::Off),
            (SnackForm::Long, peer(0), SnackForm::Off),
            (SnackForm::Long, short, SnackForm::Short),
            (SnackForm::Short, long, SnackForm::Short),
            (SnackForm::Long, long, SnackForm::Long),
        ] {
            assert!(own.agreed(peer) == agreed, "{own:?}");
        }
    }
}
