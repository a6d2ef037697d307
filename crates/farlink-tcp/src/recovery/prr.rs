//! Proportional Rate Reduction: RFC 9937 (2025), RFC 6937 (2013).
//!
//! In SACK recovery each ACK releases a share of the bytes it delivered. The bytes in flight
//! thereby fall to ssthresh over one RTT, without half an RTT of silence. If losses reduced the
//! bytes in flight below ssthresh, each ACK raises them a little, without a burst. `NextSeg`
//! selects the segments.

use crate::config::PrrBound;
use crate::flight::Flight;

/// State of one recovery, in bytes.
#[derive(Debug)]
pub(crate) struct Prr {
    bound: PrrBound,
    /// Set from the start of a recovery until its first ACK.
    starting: bool,
    /// `RecoverFS`.
    recover_fs: u64,
    /// `prr_delivered`.
    delivered: u64,
    /// `prr_out`.
    out: u64,
}

/// State of the sender before an ACK is processed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    /// SND.UNA plus the bytes SACKed above it.
    delivered: u64,
    una: u64,
    /// Bytes ever presumed lost.
    losses: u64,
}

/// Content of an ACK.
#[derive(Clone, Copy, Debug)]
struct AckReport {
    /// `DeliveredData`.
    delivered: u64,
    /// `SafeACK`: SND.UNA advanced and no further segment was marked lost.
    safe: bool,
    /// `inflight`: the pipe of RFC 6675.
    pipe: u64,
    ssthresh: u64,
    mss: u64,
}

impl Prr {
    pub(crate) fn new(bound: PrrBound) -> Self {
        Self {
            bound,
            starting: false,
            recover_fs: 0,
            delivered: 0,
            out: 0,
        }
    }

    /// Begins a recovery.
    pub(super) fn enter(&mut self) {
        self.starting = true;
        self.delivered = 0;
        self.out = 0;
    }

    /// Sets `RecoverFS` at the first ACK of a recovery. `outstanding` is SND.MAX - SND.UNA minus
    /// SACKed bytes, before the ACK.
    fn start(&mut self, outstanding: u64) {
        self.starting = false;
        self.recover_fs = outstanding.max(1);
    }

    /// Counts `len` bytes sent.
    pub(super) fn on_bytes_sent(&mut self, len: u64) {
        self.out += len;
    }

    /// Returns `SndCnt`, the bytes that this ACK releases.
    fn on_ack(&mut self, report: AckReport) -> u64 {
        self.delivered += report.delivered;
        let banked = self.delivered.saturating_sub(self.out);
        if report.pipe > report.ssthresh {
            let share = u128::from(self.delivered) * u128::from(report.ssthresh);
            let share = share.div_ceil(u128::from(self.recover_fs));
            u64::try_from(share)
                .unwrap_or(u64::MAX)
                .saturating_sub(self.out)
        } else {
            let limit = match self.bound {
                PrrBound::Conservative => banked,
                PrrBound::SlowStart => banked.max(report.delivered) + report.mss,
                PrrBound::SafeAck => {
                    banked.max(report.delivered) + if report.safe { report.mss } else { 0 }
                }
            };
            limit.min(report.ssthresh - report.pipe)
        }
    }
    /// Ends the processing of an ACK. In recovery the window becomes pipe + `SndCnt` (RFC 9937, 6).
    /// Returns whether it was set.
    pub(super) fn after_ack(&mut self, flight: &mut Flight, before: Before) -> bool {
        let ssthresh = flight.cc.ssthresh();
        // Without an ssthresh there is no target for the reduction.
        if !flight.loss.in_recovery || ssthresh == u64::MAX {
            return false;
        }
        let board = &flight.board;
        let delivered = board.delivered().saturating_sub(before.delivered);
        if self.starting {
            self.start(board.max().saturating_sub(before.delivered));
        }
        if delivered == 0 {
            return false;
        }
        let report = AckReport {
            delivered,
            safe: board.una() > before.una && board.losses() == before.losses,
            pipe: board.pipe(),
            ssthresh,
            mss: u64::from(flight.mss),
        };
        if flight.retreats() {
            // RFC 9959, 3.5: the window is the bound at once, without a gradual reduction.
            return std::mem::take(&mut flight.inflation) != 0;
        }
        // Recovery forces the fast retransmit, even if `SndCnt` is zero at first.
        let window = report.pipe + self.on_ack(report);
        flight.inflate_to(window);
        true
    }

    /// Limits the window when losses are detected without an ACK: one segment is sent, the others
    /// wait for ACKs. `window` is the value before.
    pub(super) fn without_ack(flight: &mut Flight, window: u64) {
        if !flight.loss.in_recovery || flight.cc.ssthresh() == u64::MAX {
            return;
        }
        flight.loss.force = true;
        flight.inflate_to(window.min(flight.board.pipe()));
    }
}

impl Before {
    /// Reads the sender's state before an ACK.
    pub(super) fn of(flight: &Flight) -> Self {
        Self {
            delivered: flight.board.delivered(),
            una: flight.board.una(),
            losses: flight.board.losses(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example of RFC 6937, 3.1, in segments: twenty in flight, two more by limited transmit,
    /// ssthresh 10. Each ACK reports one segment.
    struct Example {
        prr: Prr,
        pipe: u64,
    }

    impl Example {
        /// Starts after the third duplicate ACK, with `lost` of the twenty segments lost.
        fn new(bound: PrrBound, lost: u64) -> Self {
            let mut prr = Prr::new(bound);
            prr.enter();
            prr.start(20); // 22 outstanding, 2 SACKed before
            Self {
                prr,
                pipe: 22 - 2 - lost,
            }
        }

        /// Processes the next ACK; returns the pipe after it and the segments sent.
        fn ack(&mut self, safe: bool) -> (u64, u64) {
            self.pipe -= 1;
            let pipe = self.pipe;
            let sent = self.prr.on_ack(AckReport {
                delivered: 1,
                safe,
                pipe,
                ssthresh: 10,
                mss: 1,
            });
            self.prr.on_bytes_sent(sent);
            self.pipe += sent;
            (pipe, sent)
        }
    }

    const ALL: [PrrBound; 3] = [
        PrrBound::SafeAck,
        PrrBound::Conservative,
        PrrBound::SlowStart,
    ];

    #[test]
    fn one_loss_of_twenty_sends_at_every_second_ack() {
        // ceil(k 10 / 20) - out is 1, 0, 1, 0, ... for the ACKs of segments 3 to 18.
        for bound in ALL {
            let mut example = Example::new(bound, 1);
            let run: Vec<_> = (3..=21).map(|_| example.ack(false)).collect();
            let pipe: Vec<_> = run.iter().map(|r| r.0).collect();
            let sent: Vec<_> = run.iter().map(|r| r.1).collect();
            assert_eq!(
                pipe[..17],
                [
                    18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10
                ]
            );
            assert_eq!(
                sent[..17],
                [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0]
            );
            // After this point pipe = ssthresh, and each ACK releases one segment.
            assert_eq!(run[17..], [(9, 1), (9, 1)]);
            assert_eq!(example.pipe, 10);
        }
    }

    #[test]
    fn fifteen_losses_of_twenty_by_bound() {
        let sends = |bound, safe| {
            let mut example = Example::new(bound, 15);
            [0; 3].map(|_| example.ack(safe))
        };
        // Values of RFC 6937, 3.1, for the ACKs of 17, 18 and 19.
        let kept = [(4, 1), (4, 1), (4, 1)];
        let grown = [(4, 2), (5, 2), (6, 2)];
        assert_eq!(sends(PrrBound::Conservative, false), kept);
        assert_eq!(sends(PrrBound::SlowStart, false), grown);
        // RFC 9937 sends as PRR-CRB does at ACKs without SafeACK, and as PRR-SSRB does at ACKs with
        // it.
        assert_eq!(sends(PrrBound::SafeAck, false), kept);
        assert_eq!(sends(PrrBound::SafeAck, true), grown);
    }

    #[test]
    fn bytes_not_sent_are_released_by_later_acks() {
        // The application had no data for four ACKs. Later ACKs release the missing segments, up to
        // ssthresh.
        for (bound, sent) in [
            (PrrBound::Conservative, 5),
            (PrrBound::SafeAck, 5),
            (PrrBound::SlowStart, 6),
        ] {
            let mut prr = Prr::new(bound);
            prr.enter();
            prr.start(20);
            let mut report = AckReport {
                delivered: 1,
                safe: false,
                pipe: 8,
                ssthresh: 20,
                mss: 1,
            };
            for _ in 0..4 {
                prr.on_ack(report);
                report.pipe -= 1;
            }
            assert_eq!(prr.on_ack(report), sent);
            report.ssthresh = 6;
            assert_eq!(prr.on_ack(report), 2); // ssthresh - pipe
        }
    }

    #[test]
    fn the_conservative_bound_sends_no_more_than_was_delivered() {
        // The fast retransmit was sent before any delivery was counted, so `prr_delivered` -
        // `prr_out` is zero at the first ACK. The two other bounds release the bytes delivered.
        for (bound, sent) in [
            (PrrBound::Conservative, 0),
            (PrrBound::SafeAck, 1),
            (PrrBound::SlowStart, 2),
        ] {
            let mut prr = Prr::new(bound);
            prr.enter();
            prr.start(20);
            prr.on_bytes_sent(3);
            let report = AckReport {
                delivered: 1,
                safe: false,
                pipe: 4,
                ssthresh: 10,
                mss: 1,
            };
            assert_eq!(prr.on_ack(report), sent, "{bound:?}");
        }
    }

    #[test]
    fn the_share_is_rounded_up_to_a_byte() {
        let mut prr = Prr::new(PrrBound::SafeAck);
        prr.enter();
        prr.start(3000);
        let report = AckReport {
            delivered: 1000,
            safe: false,
            pipe: 2500,
            ssthresh: 2000,
            mss: 1000,
        };
        assert_eq!(prr.on_ack(report), 667); // CEIL(1000 2000 / 3000)
        prr.on_bytes_sent(1000); // the forced retransmission
        assert_eq!(prr.on_ack(report), 334); // CEIL(1333.3) - 1000
        prr.on_bytes_sent(2000);
        assert_eq!(prr.on_ack(report), 0); // never negative
    }
}
