//! Proportional Rate Reduction: RFC 9937 (2025), RFC 6937 (2013).
//!
//! While SACK recovery lasts, each ACK lets out a share of what it delivered,
//! so that what is in flight comes down to ssthresh over the round trip instead
//! of by half a round trip of silence; and when losses took it below, it is
//! led back up one ACK at a time instead of by a burst. What is sent stays the
//! affair of `NextSeg`.

use crate::config::PrrBound;
use crate::flight::Flight;

/// State of one recovery, in bytes.
#[derive(Debug)]
pub(crate) struct Prr {
    bound: PrrBound,
    /// A recovery began and its first ACK is not counted yet.
    starting: bool,
    /// `RecoverFS`.
    recover_fs: u64,
    /// `prr_delivered`.
    delivered: u64,
    /// `prr_out`.
    out: u64,
}

/// The sender before an ACK is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    /// SND.UNA and what is SACKed beyond it.
    delivered: u64,
    una: u64,
    /// Bytes ever presumed lost.
    losses: u64,
}

/// Content of an ACK.
#[derive(Clone, Copy, Debug)]
struct News {
    /// `DeliveredData`.
    delivered: u64,
    /// SND.UNA advanced and nothing more was found lost (`SafeACK`).
    safe: bool,
    /// `inflight`, the pipe of RFC 6675.
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

    /// The first ACK of a recovery: `outstanding` is SND.NXT - SND.UNA, without
    /// what was SACKed, before it.
    fn start(&mut self, outstanding: u64) {
        self.starting = false;
        self.recover_fs = outstanding.max(1);
    }

    /// Counts data that left.
    pub(super) fn sent(&mut self, len: u64) {
        self.out += len;
    }

    /// `SndCnt`: what this ACK lets out.
    fn on_ack(&mut self, news: News) -> u64 {
        self.delivered += news.delivered;
        let banked = self.delivered.saturating_sub(self.out);
        if news.pipe > news.ssthresh {
            let share = u128::from(self.delivered) * u128::from(news.ssthresh);
            let share = share.div_ceil(u128::from(self.recover_fs));
            u64::try_from(share)
                .unwrap_or(u64::MAX)
                .saturating_sub(self.out)
        } else {
            let limit = match self.bound {
                PrrBound::Conservative => banked,
                PrrBound::SlowStart => banked.max(news.delivered) + news.mss,
                PrrBound::SafeAck => {
                    banked.max(news.delivered) + if news.safe { news.mss } else { 0 }
                }
            };
            limit.min(news.ssthresh - news.pipe)
        }
    }
    /// Ends an ACK: while recovery lasts, the window becomes what is in the network and what this
    /// ACK lets out (RFC 9937, 6). Returns whether it changed.
    pub(super) fn after_ack(&mut self, flight: &mut Flight, before: Before) -> bool {
        let ssthresh = flight.cc.ssthresh();
        // A controller that has no threshold has no window to come down to.
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
        let news = News {
            delivered,
            safe: board.una() > before.una && board.losses() == before.losses,
            pipe: board.pipe(),
            ssthresh,
            mss: u64::from(flight.mss),
        };
        // The fast retransmit leaves even if PRR allows nothing at first, because recovery forces it.
        let window = news.pipe + self.on_ack(news);
        flight.inflate_to(window);
        true
    }

    /// Bounds the window, `window` before, when losses were found without an ACK: one segment
    /// leaves, the rest waits for ACKs.
    pub(super) fn without_ack(flight: &mut Flight, window: u64) {
        if !flight.loss.in_recovery || flight.cc.ssthresh() == u64::MAX {
            return;
        }
        flight.loss.force = true;
        flight.inflate_to(window.min(flight.board.pipe()));
    }
}

impl Before {
    /// Returns the sender's state before an ACK.
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

    /// Segments as units, as in the examples of RFC 6937, 3.1: twenty in flight,
    /// two more by limited transmit, ssthresh 10. Each ACK reports one segment.
    struct Example {
        prr: Prr,
        pipe: u64,
    }

    impl Example {
        /// `lost` of the twenty were lost, and the third duplicate ACK is here.
        fn new(bound: PrrBound, lost: u64) -> Self {
            let mut prr = Prr::new(bound);
            prr.enter();
            prr.start(20); // 22 outstanding, 2 SACKed before
            Self {
                prr,
                pipe: 22 - 2 - lost,
            }
        }

        /// The next ACK: the pipe that it leaves and what is sent.
        fn ack(&mut self, safe: bool) -> (u64, u64) {
            self.pipe -= 1;
            let pipe = self.pipe;
            let sent = self.prr.on_ack(News {
                delivered: 1,
                safe,
                pipe,
                ssthresh: 10,
                mss: 1,
            });
            self.prr.sent(sent);
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
        // CEIL(k 10 / 20) - out is 1, 0, 1, 0 ... for the ACKs of 3 to 18.
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
            // From here on ssthresh - pipe: one out for one in.
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
        // The figures of RFC 6937, 3.1, for the ACKs of 17, 18 and 19.
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
    fn what_was_not_sent_is_banked() {
        // The application had nothing for four ACKs: they are made up for, as
        // far as ssthresh goes.
        for (bound, sent) in [
            (PrrBound::Conservative, 5),
            (PrrBound::SafeAck, 5),
            (PrrBound::SlowStart, 6),
        ] {
            let mut prr = Prr::new(bound);
            prr.enter();
            prr.start(20);
            let mut news = News {
                delivered: 1,
                safe: false,
                pipe: 8,
                ssthresh: 20,
                mss: 1,
            };
            for _ in 0..4 {
                prr.on_ack(news);
                news.pipe -= 1;
            }
            assert_eq!(prr.on_ack(news), sent);
            news.ssthresh = 6;
            assert_eq!(prr.on_ack(news), 2); // ssthresh - pipe
        }
    }

    #[test]
    fn the_conservative_bound_sends_no_more_than_was_delivered() {
        // The fast retransmit left before anything was counted as delivered, so the first
        // ACK has nothing in the bank; the two other bounds let out what it delivered.
        for (bound, sent) in [
            (PrrBound::Conservative, 0),
            (PrrBound::SafeAck, 1),
            (PrrBound::SlowStart, 2),
        ] {
            let mut prr = Prr::new(bound);
            prr.enter();
            prr.start(20);
            prr.sent(3);
            let news = News {
                delivered: 1,
                safe: false,
                pipe: 4,
                ssthresh: 10,
                mss: 1,
            };
            assert_eq!(prr.on_ack(news), sent, "{bound:?}");
        }
    }

    #[test]
    fn the_share_is_rounded_up_to_a_byte() {
        let mut prr = Prr::new(PrrBound::SafeAck);
        prr.enter();
        prr.start(3000);
        let news = News {
            delivered: 1000,
            safe: false,
            pipe: 2500,
            ssthresh: 2000,
            mss: 1000,
        };
        assert_eq!(prr.on_ack(news), 667); // CEIL(1000 2000 / 3000)
        prr.sent(1000); // the forced retransmission
        assert_eq!(prr.on_ack(news), 334); // CEIL(1333.3) - 1000
        prr.sent(2000);
        assert_eq!(prr.on_ack(news), 0); // never below nothing
    }
}
