//! F-RTO: RFC 5682 (2009).
//!
//! After a time-out only the first segment is retransmitted, followed by new data. The next ACKs
//! show whether the time-out was spurious: if so, they cover segments that were sent once. The
//! basic algorithm uses cumulative and duplicate ACKs (section 2), the enhanced one SACK (section
//! 3).

use crate::flight::Flight;
use crate::scoreboard::Sent;
use crate::seq::Offset;

/// Number of new segments that step 2 sends.
const NEW_SEGMENTS: u32 = 2;

/// State of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Frto {
    /// F-RTO is not in progress.
    #[default]
    Off,
    /// Step 2: waits for the first ACK of new data.
    First {
        /// `recover` (`RecoveryPoint`): position after the highest byte sent.
        recover: Offset,
        /// Position after the retransmitted segment.
        again: Offset,
        /// Set once the segment was retransmitted; further retransmissions wait for an ACK.
        sent: bool,
    },
    /// Step 3: waits for the second ACK; nothing is retransmitted.
    Second {
        recover: Offset,
        again: Offset,
        /// Number of new segments sent.
        sent: u32,
    },
}

/// Inputs of F-RTO from an ACK and the state of the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrtoAck {
    /// SND.UNA before the ACK.
    pub(crate) before: Offset,
    /// Set if the ACK newly SACKed data.
    pub(crate) newly_sacked: bool,
    /// Set for a duplicate ACK.
    pub(crate) duplicate: bool,
    /// Set if the peer's window allows new data, independent of cwnd.
    pub(crate) fresh: bool,
    /// Set if the connection uses SACK (RFC 6675).
    pub(crate) sacking: bool,
}

impl Frto {
    /// Returns whether a new segment must be sent before anything else.
    #[inline]
    pub(crate) fn needs_new_data(self) -> bool {
        matches!(self, Self::Second { sent, .. } if sent < NEW_SEGMENTS)
    }

    /// Returns whether retransmissions wait for the next ACK, whatever cwnd is.
    #[inline]
    pub(crate) fn blocks_retransmission(self) -> bool {
        matches!(self, Self::First { sent: true, .. } | Self::Second { .. })
    }

    /// Processes the transmission of a segment; `again` is set for a retransmission.
    #[inline]
    pub(crate) fn on_sent(&mut self, again: bool) {
        match self {
            Self::First { sent, .. } => *sent |= again,
            Self::Second { sent, .. } => *sent += u32::from(!again),
            Self::Off => {}
        }
    }

    /// Ends F-RTO if no new segment can be sent in step 2, because step 3 then shows nothing.
    pub(crate) fn cannot_send(&mut self) {
        if matches!(self, Self::Second { sent: 0, .. }) {
            *self = Self::Off;
        }
    }
    /// Step 1, at a retransmission time-out. F-RTO does not start if `repairing` is set: a loss was
    /// already being repaired.
    pub(crate) fn on_timeout(&mut self, flight: &Flight, repairing: bool) {
        if !flight.config().undo.frto {
            return;
        }
        *self = match flight.board.front().map(Sent::end) {
            Some(again) if !repairing => Self::First {
                recover: flight.board.max(),
                again,
                sent: false,
            },
            _ => Self::Off,
        };
    }

    /// Steps 2 and 3, after an ACK was processed. Returns whether the time-out was spurious (3b).
    #[inline(never)] // keeps rare code out of the instruction cache
    pub(crate) fn on_ack(&mut self, flight: &mut Flight, ack: FrtoAck) -> bool {
        let una = flight.board.una();
        let advanced = una > ack.before;
        match *self {
            Self::Off => {}
            Self::First { recover, again, .. } => {
                if advanced && una < recover && ack.fresh {
                    let sent = 0;
                    *self = Self::Second {
                        recover,
                        again,
                        sent,
                    };
                } else if advanced || (ack.duplicate && !ack.sacking) {
                    *self = Self::Off; // step 2a
                }
            }
            Self::Second { recover, again, .. } => {
                let report = if ack.sacking {
                    let beyond = una > recover || flight.board.highest_sacked() > Some(recover);
                    (advanced || ack.newly_sacked) && !beyond
                } else {
                    advanced && una > again
                };
                if report {
                    *self = Self::Off;
                    return true;
                }
                if advanced || ack.newly_sacked || ack.duplicate {
                    *self = Self::Off; // step 3a
                    let max = flight.cc.ssthresh().max(flight.cc.cwnd());
                    flight.cc.collapse(max.min(3 * u64::from(flight.mss)));
                    if !ack.sacking {
                        // If they were not marked lost, the new segments would stay in the pipe and
                        // fill the window.
                        flight.board.lose_all();
                    }
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_2_sends_two_new_segments_and_step_3_nothing() {
        let mut frto = Frto::Second {
            recover: 100,
            again: 10,
            sent: 0,
        };
        assert!(frto.needs_new_data() && frto.blocks_retransmission());
        frto.on_sent(false);
        assert!(frto.needs_new_data());
        frto.cannot_send();
        frto.on_sent(false);
        assert!(!frto.needs_new_data() && frto.blocks_retransmission());
        let mut none = Frto::Second {
            recover: 100,
            again: 10,
            sent: 0,
        };
        none.cannot_send();
        assert_eq!(none, Frto::Off);
        let mut first = Frto::First {
            recover: 100,
            again: 10,
            sent: false,
        };
        first.on_sent(false);
        assert!(!first.blocks_retransmission());
        first.on_sent(true);
        assert!(first.blocks_retransmission() && !first.needs_new_data());
    }
}
