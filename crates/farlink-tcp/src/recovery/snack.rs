//! SNACK: what the peer misses goes again as soon as it says so (SCPS-TP, CCSDS
//! 714.0-B, and its reference implementation).
//!
//! The duplicate ACKs and clocks of Vegas stay beside it. Recovery lasts until
//! all is acknowledged that was out when it began, so that the ACKs of what
//! arrives behind several holes keep new data leaving.

use super::{Algorithm, LossState, NewAck, recovered, reduce};
use crate::config::SnackForm;
use crate::congestion::Loss;
use crate::record::{Mark, Record, Recorder};
use crate::send::{Sender, context};
use crate::snack::{ScpsCapabilities, Snack};
use crate::time::Instant;

/// An ACK for the first unacknowledged byte names holes.
#[inline(never)] // without SNACK nothing of it need be fetched
pub(crate) fn on_snack(tx: &mut Sender, now: Instant, snack: Snack, recorder: &mut Recorder) {
    let flight = tx.flight_at_loss();
    // A SNACK says nothing of what was sent again less than a round trip ago.
    let age = tx.rtt.smooth_bound().unwrap_or_else(|| tx.rto());
    let (una, mss) = (tx.board.una(), u64::from(tx.mss));
    // The highest tells whether data is lost that left since the last loss.
    let mut highest = None;
    for (left, right) in snack.holes(una, mss) {
        highest = tx.board.miss(left, right, now, age).or(highest);
    }
    let Some(missed) = highest else {
        return;
    };
    // What a time-out sends again is going anyway.
    if tx.loss.after_timeout() {
        return;
    }
    let another = tx.loss.in_recovery;
    if another && missed.start < tx.loss.recover {
        return; // of the window that this recovery repairs
    }
    recorder.emit(now, Record::Mark(Mark::FastRetransmit));
    let loss = Loss { sent_at: missed.at };
    reduce(tx, now, flight, loss, false);
    tx.loss.enter(tx.board.max(), &mut tx.timers);
    if !another {
        tx.loss.inflation = i64::from(tx.loss.dup_acks) * i64::from(tx.mss);
    }
    tx.loss.look_again();
    tx.loss_seen(now);
}

/// New data was acknowledged while losses are repaired.
pub(super) fn on_recovery_ack(tx: &mut Sender, now: Instant, new: NewAck, recorder: &mut Recorder) {
    if tx.board.una() >= tx.loss.recover {
        let window = tx.cc.cwnd();
        recovered(tx, now, window, recorder);
        return;
    }
    let acked = new.ack.bytes.min(i64::MAX as u64) as i64;
    tx.loss.inflation = (tx.loss.inflation - acked).max(0);
    tx.cc
        .on_recovery_ack(&context!(tx, now, new.flight), &new.ack);
}

impl LossState {
    /// Returns whether SNACKs are heeded.
    #[inline]
    pub(crate) fn snacking(&self) -> bool {
        matches!(self.algorithm, Algorithm::Snack { .. })
    }

    /// Returns whether data presumed lost leaves whatever the window: the peer has said that the
    /// data is not in the network, and waits for it. After a time-out the window counts.
    #[inline]
    pub(crate) fn sends_lost_at_once(&self) -> bool {
        self.snacking() && !self.after_timeout
    }

    /// The peer does not do SNACK: Vegas is what remains.
    pub(crate) fn without_snack(&mut self) {
        self.algorithm = match std::mem::replace(&mut self.algorithm, Algorithm::GoBackN) {
            Algorithm::Snack { fine } => Algorithm::Vegas {
                fine,
                coarse_timeout: true,
            },
            other => other,
        };
    }
}

impl SnackForm {
    /// Returns whether the option is offered at all.
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

    /// Returns the capabilities of both ends.
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

    /// A form that is off, or not known to the peer, is not agreed; the short one if
    /// the peer knows no more.
    #[test]
    fn what_is_agreed_is_what_both_can_do() {
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
