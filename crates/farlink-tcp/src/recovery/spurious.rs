//! State for the detection of spurious retransmissions, and for the undo of their window reduction.
//!
//! Three methods detect a spurious retransmission. D-SACK: the peer reported every retransmission
//! of the episode as a duplicate (RFC 2883 and RFC 3708, as in Linux). Eifel (RFC 3522): the first
//! ACK of new data echoes a timestamp older than the first retransmission. F-RTO is in
//! [`super::frto`]. An episode begins with the loss that reduces the window, and includes a
//! time-out during the repair.

use crate::config::Undo;
use crate::rto::RttEstimator;
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use farlink_small::Map;

/// State for the detection and undo of spurious retransmissions.
#[derive(Debug, Default)]
pub(crate) struct Spurious {
    pub(super) episode: Option<Box<Episode>>,
    pub(super) adaptation: Option<Box<Adaptation>>,
}

/// A loss and its repair.
#[derive(Debug)]
pub(super) struct Episode {
    /// SND.MAX when the episode began or was last extended.
    pub(super) end: Offset,
    /// cwnd before the reduction.
    pub(super) window: u64,
    pub(super) ssthresh: u64,
    /// `pipe_prev` of RFC 4015: max(FlightSize, ssthresh).
    pub(super) pipe: u64,
    /// SRTT + 2 G and RTTVAR before the time-out.
    pub(super) srtt: Option<Interval>,
    pub(super) deviation: Interval,
    pub(super) by_timeout: bool,
    /// Time of the first retransmission.
    pub(super) retransmitted: Option<Instant>,
    /// Set once an ACK of new data has arrived, after which Eifel no longer applies.
    pub(super) eifel_done: bool,
    /// Retransmitted data not yet reported as duplicate: start and end of a segment, and the number
    /// of its retransmissions.
    pub(super) unreported: Map<Offset, (Offset, u32)>,
}

/// Values for restarting the RTT estimator at the first sample of a segment sent after a spurious
/// time-out was detected (RFC 4015, 3, step 7).
#[derive(Clone, Copy, Debug)]
pub(super) struct Adaptation {
    pub(super) from: Instant,
    pub(super) srtt: Interval,
    pub(super) deviation: Interval,
}

impl Spurious {
    /// Stores the retransmission of `[start, end)`, if an episode is under way.
    #[inline]
    pub(crate) fn on_retransmit(
        &mut self,
        now: Instant,
        (start, end): (Offset, Offset),
        detection: Undo,
    ) {
        if let Some(episode) = &mut self.episode {
            episode.retransmitted.get_or_insert(now);
            if detection.dsack {
                let piece = episode.unreported.entry(start).or_insert((end, 0));
                piece.1 += 1;
            }
        }
    }

    /// Restarts the RTT estimator if an adaptation is pending and the on_rtt_sample segment was sent
    /// after it.
    #[inline]
    pub(crate) fn on_rtt_sample(
        &mut self,
        rtt: &mut RttEstimator,
        sent: Instant,
        sample: Interval,
    ) {
        if let Some(before) = self.adaptation.take_if(|a| sent >= a.from) {
            rtt.restart(before.srtt.max(sample), before.deviation.max(sample / 2));
        }
    }
    /// Returns whether a reduction may still be undone.
    #[inline]
    pub(crate) fn in_episode(&self) -> bool {
        self.episode.is_some()
    }
}
