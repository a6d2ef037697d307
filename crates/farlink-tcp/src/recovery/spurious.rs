//! Retransmissions that were not needed: how a sender finds out, and how it
//! takes the reduction of its window back.
//!
//! Three detections: every retransmission of an episode was reported as a
//! duplicate (RFC 2883 and RFC 3708, as Linux does); the first ACK of new data
//! echoes a timestamp from before the first retransmission (Eifel, RFC 3522);
//! F-RTO, which is [`super::frto`]'s. An episode begins with the loss that reduces the window, and a
//! time-out before it is repaired belongs to it.

use crate::config::{RtoAlgorithm, Undo};
use crate::congestion::{Ack, Undone};
use crate::flight::{Flight, context};
use crate::record::{Mark, Record, Recorder};
use crate::rto::RttEstimator;
use crate::segment::SackBlocks;
use crate::seq::{Offset, Seq};
use crate::time::{Instant, Interval};
use std::collections::BTreeMap;

/// The duplicate that the first block of an ACK reports: it lies below the
/// acknowledgment, or in the second block (RFC 2883, 4).
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

/// Sender's record of its retransmissions.
#[derive(Debug, Default)]
pub(crate) struct Spurious {
    episode: Option<Box<Episode>>,
    adaptation: Option<Box<Adaptation>>,
}

/// A loss and its repair.
#[derive(Debug)]
struct Episode {
    /// Position after the last byte that was out when it began.
    end: Offset,
    /// Window before the loss reduced it.
    window: u64,
    ssthresh: u64,
    /// `pipe_prev` of RFC 4015: max(FlightSize, ssthresh).
    pipe: u64,
    /// The estimate of the round-trip time, before the time-out.
    srtt: Option<Interval>,
    deviation: Interval,
    by_timeout: bool,
    /// Departure of the first retransmission.
    retransmitted: Option<Instant>,
    /// An ACK of new data has come since: Eifel has had its say.
    judged: bool,
    /// Retransmitted data not yet reported as duplicate: end and number of times.
    unreported: BTreeMap<Offset, (Offset, u32)>,
}

/// The estimator starts anew with the first sample of what was sent after a
/// spurious time-out was found (RFC 4015, 3, step 7).
#[derive(Clone, Copy, Debug)]
struct Adaptation {
    from: Instant,
    srtt: Interval,
    deviation: Interval,
}

impl Spurious {
    /// `[start, end)` leaves again, and this is looked for.
    #[inline]
    pub(crate) fn sent_again(&mut self, now: Instant, start: Offset, end: Offset, detection: Undo) {
        if let Some(episode) = &mut self.episode {
            episode.retransmitted.get_or_insert(now);
            if detection.dsack {
                let piece = episode.unreported.entry(start).or_insert((end, 0));
                piece.1 += 1;
            }
        }
    }

    /// A round-trip sample of a segment that left at `sent`.
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

    /// Begins or extends an episode with a loss that is about to reduce the window. `sacking` says
    /// that the scoreboard of RFC 6675 is used.
    pub(crate) fn begin(&mut self, flight: &mut Flight, sacking: bool, by_timeout: bool) {
        let detection = flight.config().undo;
        if !detection.any() {
            return;
        }
        let (una, max) = (flight.board.una(), flight.board.max());
        if let Some(episode) = &mut self.episode
            && una < episode.end
            // RFC 3522 looks at each time-out that begins a recovery. Where D-SACK
            // may still undo all of it, it stays one episode.
            && !(detection.eifel && !detection.dsack && episode.judged)
        {
            episode.end = max;
            episode.by_timeout |= by_timeout;
            return;
        }
        if let Some(undo) = flight.extras.undo.of_mut(&mut *flight.cc) {
            undo.remember();
        }
        // With SACK a segment may be on its way again already: by NextSeg's rule 3, or
        // from the recovery before. Then an ACK tells of that retransmission.
        let mut unreported = BTreeMap::new();
        let mut retransmitted = None;
        if !by_timeout && sacking {
            let front = flight.board.front().filter(|s| s.is_again());
            retransmitted = front.map(|s| s.at);
            if detection.dsack {
                unreported.extend(flight.board.again().map(|s| (s.start, (s.end(), 1))));
            }
        }
        let (rtt, ssthresh) = (&flight.rtt, flight.cc.ssthresh());
        self.episode = Some(Box::new(Episode {
            end: max,
            window: flight.cc.cwnd(),
            ssthresh,
            pipe: (max - una).max(ssthresh),
            srtt: rtt.srtt().map(|srtt| srtt + rtt.granularity() * 2),
            deviation: rtt.deviation(),
            by_timeout,
            retransmitted,
            judged: false,
            unreported,
        }));
    }

    /// Judges an episode by an ACK of new data that echoes the timestamp `echo` (Eifel detection,
    /// RFC 3522, 3.2). `clock` is that of timestamps. Returns whether the window is what it was.
    #[inline(never)]
    pub(crate) fn judge(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        ack: &Ack,
        echo: Option<u32>,
        clock: impl Fn(Instant) -> u32,
        recorder: &mut Recorder,
    ) -> bool {
        let Some(episode) = &mut self.episode else {
            return false;
        };
        if !flight.config().undo.eifel || episode.judged {
            return false;
        }
        let Some(first) = episode.retransmitted else {
            return false;
        };
        episode.judged = true;
        if echo.is_none_or(|echo| echo.wrapping_sub(clock(first)) as i32 >= 0) {
            return false;
        }
        let response = episode.by_timeout.then_some(ack.bytes);
        self.undo(flight, now, response, recorder)
    }

    /// Notes that `[left, right)` arrived twice, as the peer reports. Returns whether the window is
    /// what it was.
    #[inline(never)] // a loss without one need not fetch it
    pub(crate) fn on_duplicate_report(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        (left, right): (Offset, Offset),
        recorder: &mut Recorder,
    ) -> bool {
        recorder.emit(now, Record::DuplicateReported);
        if !flight.config().undo.dsack {
            return false;
        }
        let Some(episode) = &mut self.episode else {
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
        episode.unreported.is_empty() && self.undo(flight, now, None, recorder)
    }

    /// Takes an episode back, because the loss was none: nothing is presumed lost any more, and the
    /// window is what it was. With `response`, that of RFC 4015, 3, steps 4 and 5, to a
    /// time-out, the window is what is out and so many bytes more, which the ACK acknowledged.
    /// Returns whether there was an episode.
    ///
    /// Linux has no such response (`tcp_try_undo_loss`): window and ssthresh are what they
    /// were, and the estimator of [`RtoAlgorithm::Linux`] goes on with its samples.
    pub(crate) fn undo(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        response: Option<u64>,
        recorder: &mut Recorder,
    ) -> bool {
        let Some(episode) = self.episode.take() else {
            return false;
        };
        recorder.emit(now, Record::Mark(Mark::Undo));
        flight.board.lose_none();
        let in_flight = flight.board.flight();
        let linux = flight.config().rto.algorithm == RtoAlgorithm::Linux;
        let undone = if let Some(acked) = response.filter(|_| !linux) {
            self.adaptation = episode.srtt.map(|srtt| {
                Box::new(Adaptation {
                    from: now,
                    srtt,
                    deviation: episode.deviation,
                })
            });
            let step = flight.config().window.initial.bytes(flight.mss).min(acked);
            Undone {
                window: in_flight + step,
                ssthresh: episode.pipe,
            }
        } else {
            Undone {
                window: episode.window.max(flight.cc.cwnd()),
                ssthresh: episode.ssthresh.max(flight.cc.ssthresh()),
            }
        };
        let cx = context!(flight, now, in_flight);
        if let Some(undo) = flight.extras.undo.of_mut(&mut *flight.cc) {
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

    /// The cases of RFC 2883, 4: below the ACK, inside the second block, neither.
    #[test]
    fn the_first_block_tells_a_duplicate() {
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
        // Only the first block does.
        assert_eq!(report(&[(4500, 5000), (3000, 3500)], 4000), None);
        assert_eq!(report(&[(3500, 3000)], 4000), None);
        assert_eq!(report(&[], 4000), None);
    }
}
