//! Detection and undo of spurious window reductions (their state is in [`super::spurious`]).

use super::spurious::{Adaptation, Episode};
use crate::config::RtoAlgorithm;
use crate::congestion::{Ack, Undone};
use crate::flight::{Flight, context};
use crate::record::{Mark, Record, Recorder};
use crate::segment::SackBlocks;
use crate::seq::{Offset, Seq};
use crate::time::Instant;
use farlink_small::Map;

/// Returns the duplicate range in the first SACK block of an ACK, if that block reports one. The
/// block then lies below the acknowledgment number or inside the second block (RFC 2883, 4).
pub(crate) fn duplicate_report(
    blocks: &SackBlocks,
    isn: Seq,
    una: Offset,
    ack: Offset,
) -> Option<(Offset, Offset)> {
    let range = |i: usize| {
        let block = blocks.as_slice().get(i)?;
        let left = block.left.offset(isn, una)?;
        let right = block.right.offset(isn, una)?;
        (left < right).then_some((left, right))
    };
    let (left, right) = range(0)?;
    let below = right <= ack;
    let inside = || range(1).is_some_and(|(from, to)| from <= left && right <= to);
    (below || inside()).then_some((left, right))
}

impl Flight {
    /// Begins an episode with a loss that is about to reduce the window, or extends the current
    /// one.
    pub(crate) fn begin_episode(&mut self, by_timeout: bool) {
        let detection = self.config().undo;
        if !detection.any() {
            return;
        }
        let (una, max) = (self.board.una(), self.board.max());
        if let Some(episode) = &mut self.loss.spurious.episode
            && una < episode.end
            // With Eifel each time-out that begins a recovery is checked (RFC 3522), and therefore
            // begins a new episode. With D-SACK the old episode continues, because D-SACK may undo
            // all of it.
            && !(detection.eifel && !detection.dsack && episode.eifel_done)
        {
            episode.end = max;
            episode.by_timeout |= by_timeout;
            return;
        }
        if let Some(undo) = self.extras.undo.of_mut(&mut *self.cc) {
            undo.save();
        }
        // With SACK a segment may already have been retransmitted, by NextSeg rule 3 or in the
        // previous recovery. The ACK then refers to that retransmission.
        let mut unreported = Map::new();
        let mut retransmitted = None;
        if !by_timeout && self.loss.sacking {
            let front = self.board.front().filter(|s| s.is_again());
            retransmitted = front.map(|s| s.at);
            if detection.dsack {
                unreported.extend(self.board.again().map(|s| (s.start, (s.end(), 1))));
            }
        }
        let (rtt, ssthresh) = (&self.rtt, self.cc.ssthresh());
        self.loss.spurious.episode = Some(Box::new(Episode {
            end: max,
            window: self.cc.cwnd(),
            ssthresh,
            pipe: (max - una).max(ssthresh),
            srtt: rtt.srtt().map(|srtt| srtt + rtt.granularity() * 2),
            deviation: rtt.deviation(),
            by_timeout,
            retransmitted,
            eifel_done: false,
            unreported,
        }));
    }

    /// Applies Eifel detection (RFC 3522, 3.2) to an ACK of new data that echoes the timestamp
    /// `echo`. `clock` converts a time to a timestamp. Returns whether the reduction was undone.
    #[inline(never)]
    pub(crate) fn detect_by_eifel(
        &mut self,
        now: Instant,
        ack: &Ack,
        echo: Option<u32>,
        clock: impl Fn(Instant) -> u32,
        recorder: &mut Recorder,
    ) -> bool {
        let eifel = self.config().undo.eifel;
        let Some(episode) = &mut self.loss.spurious.episode else {
            return false;
        };
        if !eifel || episode.eifel_done {
            return false;
        }
        let Some(first) = episode.retransmitted else {
            return false;
        };
        episode.eifel_done = true;
        if echo.is_none_or(|echo| echo.wrapping_sub(clock(first)) as i32 >= 0) {
            return false;
        }
        let response = episode.by_timeout.then_some(ack.bytes);
        self.undo(now, response, recorder)
    }

    /// Processes a D-SACK report that `[left, right)` arrived twice. Returns whether the reduction
    /// was undone.
    #[inline(never)] // keeps code for D-SACK out of the instruction cache
    pub(crate) fn on_duplicate_report(
        &mut self,
        now: Instant,
        (left, right): (Offset, Offset),
        recorder: &mut Recorder,
    ) -> bool {
        recorder.emit(now, Record::DuplicateReported);
        if !self.config().undo.dsack {
            return false;
        }
        let Some(episode) = &mut self.loss.spurious.episode else {
            return false;
        };
        if episode.unreported.is_empty() {
            return false;
        }
        let reported: Vec<_> = episode
            .unreported
            .range(left..right)
            .filter(|(_, piece)| piece.0 <= right)
            .map(|(&start, _)| start)
            .collect();
        for start in reported {
            if let Some(piece) = episode.unreported.get_mut(&start) {
                piece.1 -= 1;
                if piece.1 == 0 {
                    episode.unreported.remove(&start);
                }
            }
        }
        episode.unreported.is_empty() && self.undo(now, None, recorder)
    }

    /// Undoes the reductions of an episode, and clears all lost marks. If `response` is set (RFC
    /// 4015, 3, steps 4 and 5, after a time-out), cwnd becomes FlightSize plus `response`, which is
    /// the number of bytes that the ACK acknowledged. Returns whether there was an episode.
    ///
    /// Linux (`tcp_try_undo_loss`) has no such response: it restores cwnd and ssthresh, and the
    /// estimator of [`RtoAlgorithm::Linux`] continues with its samples.
    pub(crate) fn undo(
        &mut self,
        now: Instant,
        response: Option<u64>,
        recorder: &mut Recorder,
    ) -> bool {
        let Some(episode) = self.loss.spurious.episode.take() else {
            return false;
        };
        recorder.emit(now, Record::Mark(Mark::Undo));
        self.board.clear_losses();
        let in_flight = self.board.flight();
        let linux = self.config().rto.algorithm == RtoAlgorithm::Linux;
        let undone = if let Some(acked) = response.filter(|_| !linux) {
            self.loss.spurious.adaptation = episode.srtt.map(|srtt| {
                Box::new(Adaptation {
                    from: now,
                    srtt,
                    deviation: episode.deviation,
                })
            });
            let step = self.config().window.initial.bytes(self.mss).min(acked);
            Undone {
                window: in_flight + step,
                ssthresh: episode.pipe,
            }
        } else {
            Undone {
                window: episode.window.max(self.cc.cwnd()),
                ssthresh: episode.ssthresh.max(self.cc.ssthresh()),
            }
        };
        let cx = context!(self, now, in_flight);
        if let Some(undo) = self.extras.undo.of_mut(&mut *self.cc) {
            undo.on_spurious(&cx, &undone);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::SackBlock;

    fn report(blocks: &[(u32, u32)], ack: Offset) -> Option<(Offset, Offset)> {
        let blocks = blocks
            .iter()
            .map(|&(left, right)| SackBlock {
                left: Seq(left),
                right: Seq(right),
            })
            .collect();
        duplicate_report(&blocks, Seq(0), ack, ack)
    }

    /// Cases of RFC 2883, 4: the first block is below the ACK, inside the second block, or neither.
    #[test]
    fn only_the_first_sack_block_reports_a_duplicate() {
        assert_eq!(report(&[(3000, 3500)], 4000), Some((3000, 3500)));
        assert_eq!(
            report(&[(3000, 3500), (4500, 5000)], 4000),
            Some((3000, 3500))
        );
        assert_eq!(
            report(&[(5000, 5500), (4500, 6000)], 4000),
            Some((5000, 5500))
        );
        assert_eq!(report(&[(4500, 5000)], 4000), None);
        assert_eq!(report(&[(5500, 6000), (4500, 5000)], 4000), None);
        // Other blocks than the first report no duplicates.
        assert_eq!(report(&[(4500, 5000), (3000, 3500)], 4000), None);
        assert_eq!(report(&[(3500, 3000)], 4000), None);
        assert_eq!(report(&[], 4000), None);
    }
}
