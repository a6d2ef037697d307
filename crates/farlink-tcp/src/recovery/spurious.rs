//! Retransmissions that were not needed: the record by which a sender finds out and takes the
//! reduction of its window back.
//!
//! Three detections: every retransmission of an episode was reported as a
//! duplicate (RFC 2883 and RFC 3708, as Linux does); the first ACK of new data
//! echoes a timestamp from before the first retransmission (Eifel, RFC 3522);
//! F-RTO, which is [`super::frto`]'s. An episode begins with the loss that reduces the window, and a
//! time-out before it is repaired belongs to it.

use crate::config::Undo;
use crate::rto::RttEstimator;
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use std::collections::BTreeMap;

/// Sender's record of its retransmissions.
#[derive(Debug, Default)]
pub(crate) struct Spurious {
    pub(super) episode: Option<Box<Episode>>,
    pub(super) adaptation: Option<Box<Adaptation>>,
}

/// A loss and its repair.
#[derive(Debug)]
pub(super) struct Episode {
    /// Position after the last byte that was out when it began.
    pub(super) end: Offset,
    /// Window before the loss reduced it.
    pub(super) window: u64,
    pub(super) ssthresh: u64,
    /// `pipe_prev` of RFC 4015: max(FlightSize, ssthresh).
    pub(super) pipe: u64,
    /// The estimate of the round-trip time, before the time-out.
    pub(super) srtt: Option<Interval>,
    pub(super) deviation: Interval,
    pub(super) by_timeout: bool,
    /// Departure of the first retransmission.
    pub(super) retransmitted: Option<Instant>,
    /// An ACK of new data has come since: Eifel has had its say.
    pub(super) judged: bool,
    /// Retransmitted data not yet reported as duplicate: end and number of times.
    pub(super) unreported: BTreeMap<Offset, (Offset, u32)>,
}

/// The estimator starts anew with the first sample of what was sent after a
/// spurious time-out was found (RFC 4015, 3, step 7).
#[derive(Clone, Copy, Debug)]
pub(super) struct Adaptation {
    pub(super) from: Instant,
    pub(super) srtt: Interval,
    pub(super) deviation: Interval,
}

impl Spurious {
    /// Notes that `[start, end)` leaves again, if `detection` looks for that.
    #[inline]
    pub(crate) fn sent_again(
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

    /// Uses a round-trip sample of a segment that left at `sent`.
    #[inline]
    pub(crate) fn sampled(&mut self, rtt: &mut RttEstimator, sent: Instant, sample: Interval) {
        if let Some(before) = self.adaptation.take_if(|a| sent >= a.from) {
            rtt.restart(before.srtt.max(sample), before.deviation.max(sample / 2));
        }
    }
    /// Returns whether an episode may still turn out unneeded.
    #[inline]
    pub(crate) fn in_episode(&self) -> bool {
        self.episode.is_some()
    }
}
