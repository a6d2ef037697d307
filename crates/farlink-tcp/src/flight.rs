//! Data in flight and the state that governs it: scoreboard, round-trip time, timers and windows.
//!
//! The sender decides from this state what may be sent; recovery changes it.

mod loss;
mod peer;
mod timer;
mod usage;
mod window;

use crate::config::{Config, Sampling};
use crate::congestion::{self, CongestionControl, Extras, Resume, SlowStart};
use crate::maybe::Maybe;
use crate::rate::RateSampler;
use crate::rto::RttEstimator;
use crate::rto::fine::FineTimeout;
use crate::scoreboard::{Acked, Scoreboard};
use crate::seq::Offset;
use crate::time::Instant;
use crate::timers::Timers;
pub(crate) use loss::LossState;
use peer::PeerWindow;
use std::sync::Arc;
use usage::CwndUsage;

/// Builds the context of a congestion-control hook, with `$bytes` in flight. A macro borrows only
/// the fields that it reads, so that the controller can be borrowed mutably at the same time.
macro_rules! context {
    ($flight:expr, $now:expr, $bytes:expr) => {
        $crate::congestion::Context {
            now: $now,
            mss: u64::from($flight.mss),
            flight: $bytes,
            snd_una: $flight.board.una(),
            snd_max: $flight.board.max(),
            rtt: &$flight.rtt,
        }
    };
}
pub(crate) use context;

/// State that few connections have, behind one pointer.
#[derive(Debug, Default)]
pub(crate) struct Rare {
    /// Fine-grained clock of Vegas for the first unacknowledged segment.
    fine: Option<Box<FineTimeout>>,
    /// Rule that ends slow start before a loss.
    pub(crate) slow_start: Option<Box<SlowStart>>,
    /// Careful Resume, until it ends.
    pub(crate) resume: Option<Box<Resume>>,
}

impl Rare {
    /// Boxes the state, if there is any.
    fn boxed(self) -> Option<Box<Self>> {
        let any = self.slow_start.is_some() || self.fine.is_some() || self.resume.is_some();
        any.then(|| Box::new(self))
    }

    /// Drops Careful Resume once it has ended.
    pub(crate) fn end_resume(&mut self) {
        self.resume.take_if(|resume| resume.is_over());
    }

    /// Returns the fine-grained clock. A function of the field, so that a caller can borrow others.
    pub(crate) fn fine(rare: &mut Option<Box<Self>>) -> Option<&mut FineTimeout> {
        rare.as_mut()?.fine.as_deref_mut()
    }
}

/// Data in flight, and the state that governs it.
#[derive(Debug)]
#[repr(C)] // puts the fields that a receiving end needs for each segment first
pub(crate) struct Flight {
    /// Maximum bytes of data in a segment.
    pub(crate) mss: u32,
    /// Time-outs since the last acknowledgment.
    pub(crate) timeouts_in_row: u32,
    pub(crate) peer: PeerWindow,
    /// Timers of the connection, most of which belong to the sender.
    pub(crate) timers: Timers,
    pub(crate) board: Scoreboard,
    pub(crate) cc: Box<dyn CongestionControl>,
    /// Time at which an acknowledgment last restarted the retransmission timer.
    pub(crate) timer_restarted: Instant,
    pub(crate) usage: CwndUsage,
    /// Bytes that duplicate and partial ACKs add to the window while recovery lasts.
    pub(crate) inflation: i64,
    pub(crate) rtt: RttEstimator,
    /// State that few connections have.
    pub(crate) rare: Option<Box<Rare>>,
    /// Optional abilities of the controller.
    pub(crate) extras: &'static Extras,
    pub(crate) loss: LossState,
    /// Segment that is being timed: the position after it, and its send time.
    timed: Maybe<(Offset, Instant)>,
}

impl Flight {
    pub(crate) fn new(config: &Arc<Config>) -> Self {
        let extras = &config.congestion.algorithm().extras;
        let mut board = Scoreboard::default();
        if extras.rate.is_some() {
            let mut rate = Box::<RateSampler>::default();
            if extras.losses.is_some() {
                rate.keep_lost_segments();
            }
            board.rate = Some(rate);
        }
        Self {
            mss: config.mss,
            timeouts_in_row: 0,
            peer: PeerWindow::default(),
            timers: Timers::none(),
            board,
            cc: congestion::build(config, config.mss),
            timer_restarted: Instant::ZERO,
            usage: CwndUsage::new(&config.window),
            inflation: 0,
            rtt: RttEstimator::of(config),
            rare: Rare {
                slow_start: SlowStart::new(&config.window, extras),
                resume: Resume::new(&config.window, extras),
                fine: None,
            }
            .boxed(),
            extras,
            loss: LossState::new(config),
            timed: Maybe::NONE,
        }
    }

    /// Returns the fine-grained clock of Vegas.
    #[inline]
    pub(crate) fn fine(&self) -> Option<&FineTimeout> {
        self.rare.as_ref()?.fine.as_deref()
    }

    /// Sets the fine-grained clock of Vegas.
    pub(crate) fn set_fine(&mut self, fine: Option<Box<FineTimeout>>) {
        let rare = self.rare.take().map_or_else(Rare::default, |rare| *rare);
        self.rare = Rare { fine, ..rare }.boxed();
    }

    /// Returns the configuration of the connection.
    #[inline]
    pub(crate) fn config(&self) -> &Config {
        self.rtt.config()
    }

    /// Reinitialises the window with the segment size of the handshake.
    pub(crate) fn negotiated(&mut self, config: &Config, mss: u32) {
        self.mss = mss;
        self.cc = congestion::build(config, mss);
        self.after_lost_syns(self.timeouts_in_row);
    }

    /// Applies the SYN's time-outs to RTO and window at the end of the handshake.
    pub(crate) fn after_lost_syns(&mut self, timeouts: u32) {
        if timeouts > 0 {
            self.rtt.after_syn_timeout();
        }
        if timeouts >= self.config().window.lost_syns {
            // RFC 5681, 3.1: the window is one segment if a SYN was lost.
            self.cc.collapse(u64::from(self.mss));
            if let Some(rare) = &mut self.rare {
                rare.resume = None; // RFC 9959, 3.2: a loss ends Careful Resume
            }
        }
    }

    /// Returns the sequence position of a segment without data: SND.MAX, but not beyond the peer's
    /// window. After a window probe or a FIN, SND.MAX may lie beyond the window, where the peer
    /// would refuse the segment. Two such peers would answer each other without end.
    pub(crate) fn ack_position(&self) -> Offset {
        self.board.max().min(self.board.una() + self.peer.size)
    }

    /// Acknowledges all data before `to`. `echoed` is the send time of the segment whose timestamp
    /// the ACK echoes. Also returns the send time of the segment that gives the RTT sample.
    #[inline(always)] // called for each ACK
    pub(crate) fn acknowledge(
        &mut self,
        now: Instant,
        to: Offset,
        echoed: Option<Instant>,
    ) -> (Acked, Option<Instant>) {
        let front = self
            .board
            .front()
            .filter(|_| self.fine().is_some())
            .copied();
        let acked = self.board.acknowledge(to);
        if let (Some(front), Some(fine)) = (front, Rare::fine(&mut self.rare)) {
            // The RTT of the short SYN does not predict that of full segments on a slow link.
            if front.start > 0 || !fine.replaces_coarse() {
                fine.on_ack(now, (to, self.board.max()), front.at, &acked);
            }
        }
        self.timeouts_in_row = 0;
        self.rtt.acknowledged();
        let sacked = self
            .board
            .first_sacked
            .get()
            .filter(|_| self.config().rto.from_sack && acked.sample_from.is_none());
        let sent = if sacked.is_some() {
            sacked
        } else if echoed.is_some() {
            echoed
        } else if self.config().rto.sampling == Sampling::OnePerRtt {
            match self.timed.get() {
                Some((end, at)) if to >= end => {
                    self.timed = Maybe::NONE;
                    Some(at)
                }
                _ => None,
            }
        } else {
            acked.sample_from
        };
        (acked, sent)
    }

    /// Starts to time the new segment that ends at `end` and is sent at `now`, unless another
    /// segment is being timed.
    #[inline]
    pub(crate) fn time(&mut self, end: Offset, now: Instant) {
        if self.timed.is_none() && self.config().rto.sampling == Sampling::OnePerRtt {
            self.timed = Maybe::some((end, now));
        }
    }

    /// Excludes data in flight before `to` from RTT samples.
    pub(crate) fn exclude_rtt_samples(&mut self, to: Offset) {
        self.board.exclude_rtt_samples(to);
        self.timed = self.timed.get().filter(|timed| timed.0 > to).into();
    }

    /// Ends the timing of a segment, because segments were or will be sent twice.
    pub(crate) fn stop_timing(&mut self) {
        if self.config().rto.karn {
            self.timed = Maybe::NONE;
        }
    }
}
