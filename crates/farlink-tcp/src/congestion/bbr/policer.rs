//! Long-term bandwidth behind a token-bucket policer (Linux, tcp_bbr.c: `bbr_lt_bw_sampling`).
//!
//! A policer lets bursts pass and then drops what exceeds its rate. BBR infers a policer from two
//! consecutive intervals with lost / delivered >= 50/256 and about the same delivery rate. It then
//! paces at that rate, without probing, for 48 rounds.

use crate::time::{Instant, Interval};

/// `bbr_lt_intvl_min_rtts`: minimum rounds of an interval. The maximum is four times as many.
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// `bbr_lt_loss_thresh`: least ratio lost / delivered of a lossy interval, in 256ths.
const LOSSY_256: u64 = 50;
/// `bbr_lt_bw_ratio` and `bbr_lt_bw_diff`: two rates count as equal if they differ by at most an
/// eighth or 4 kbit/s.
const SAME_SHARE: f64 = 0.125;
const SAME_RATE: f64 = 4000.0 / 8.0;
/// `bbr_lt_bw_max_rtts`: number of rounds for which a policer's rate is used.
const ROUNDS_IN_USE: u32 = 48;
/// Shortest interval.
const SHORTEST: Interval = Interval::from_millis(1);

/// Counters of the connection at an ACK or a time-out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Totals {
    /// Time of the last delivery.
    pub(super) at: Instant,
    /// Bytes delivered and bytes marked lost since the connection began.
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// Set if a round trip begins.
    pub(super) round_start: bool,
    /// Set if the ACK or time-out showed a loss.
    pub(super) lossy: bool,
    pub(super) app_limited: bool,
}

/// Effect of an ACK or a time-out on the detection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Finding {
    Nothing,
    /// Two consecutive intervals had the same rate: [`Policer::rate`] applies from now on.
    Policed,
    /// The rate was used for `ROUNDS_IN_USE` rounds and is dropped.
    Over,
}

/// Estimator of the rate of a policer.
#[derive(Debug, Default)]
pub(super) struct Policer {
    /// Set while an interval that began at `since` is measured.
    pub(super) sampling: bool,
    since: Option<Totals>,
    rounds: u32,
    /// Delivery rate of the previous interval in bytes per second; the policer's rate if `in_use`.
    bandwidth: Option<f64>,
    in_use: bool,
}

impl Policer {
    /// Returns the rate to pace at if a policer was detected.
    pub(super) fn rate(&self) -> Option<f64> {
        self.bandwidth.filter(|_| self.in_use)
    }

    /// Resets the detection (`bbr_reset_lt_bw_sampling`).
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Processes an ACK or a time-out. Rounds of use are counted only if `probing` (`ProbeBW`) is
    /// set.
    pub(super) fn on_event(&mut self, now: &Totals, probing: bool) -> Finding {
        if self.in_use {
            if probing && now.round_start {
                self.rounds += 1;
                if self.rounds >= ROUNDS_IN_USE {
                    self.reset();
                    return Finding::Over;
                }
            }
            return Finding::Nothing;
        }
        if !self.sampling {
            // Measuring starts at a loss, because the token bucket is empty then.
            if !now.lossy {
                return Finding::Nothing;
            }
            self.begin(now);
            self.sampling = true;
        }
        if now.app_limited {
            self.reset();
            return Finding::Nothing;
        }
        self.rounds += u32::from(now.round_start);
        if self.rounds < MIN_ROUNDS {
            return Finding::Nothing;
        }
        if self.rounds > MAX_ROUNDS {
            self.reset();
            return Finding::Nothing;
        }
        match self.interval_rate(now).filter(|_| now.lossy) {
            Some(rate) => self.interval_done(now, rate),
            None => Finding::Nothing,
        }
    }

    /// Starts an interval.
    fn begin(&mut self, now: &Totals) {
        self.since = Some(*now);
        self.rounds = 0;
    }

    /// Returns the delivery rate since the start of the interval if the interval was lossy.
    fn interval_rate(&self, now: &Totals) -> Option<f64> {
        let since = self.since?;
        let delivered = now.delivered - since.delivered;
        let lossy = (now.lost - since.lost) * 256 >= LOSSY_256 * delivered;
        let time = now.at.since(since.at);
        (delivered > 0 && lossy && time >= SHORTEST).then(|| delivered as f64 / time.as_secs_f64())
    }

    /// Compares the interval's rate with that of the previous interval (`bbr_lt_bw_interval_done`).
    fn interval_done(&mut self, now: &Totals, rate: f64) -> Finding {
        if let Some(before) = self.bandwidth {
            let difference = (rate - before).abs();
            if difference <= SAME_SHARE * before || difference <= SAME_RATE {
                self.bandwidth = Some(f64::midpoint(rate, before));
                self.in_use = true;
                self.rounds = 0;
                return Finding::Policed;
            }
        }
        self.bandwidth = Some(rate);
        self.begin(now);
        Finding::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the counters of an ACK `ms` after the start that ends a round and shows a loss.
    fn totals(ms: u64, delivered: u64, lost: u64) -> Totals {
        Totals {
            at: Instant::ZERO + Interval::from_millis(ms),
            delivered,
            lost,
            round_start: true,
            lossy: true,
            app_limited: false,
        }
    }

    /// Plays rounds number `from` to `from + count - 1` of 100 ms, each with 100 kB delivered and
    /// `lost` bytes lost.
    fn rounds(policer: &mut Policer, from: u64, count: u64, lost: u64) -> Finding {
        let mut last = Finding::Nothing;
        for i in from..from + count {
            last = policer.on_event(&totals(100 * i, 100_000 * i, lost * i), true);
        }
        last
    }

    #[test]
    fn two_lossy_intervals_of_the_same_rate_show_a_policer() {
        // Loss of 20 % exceeds 50/256 = 19.5 %. The round of the first loss counts.
        let mut policer = Policer::default();
        assert_eq!(rounds(&mut policer, 1, 4, 20_000), Finding::Nothing);
        assert_eq!(policer.bandwidth, Some(1e6));
        assert_eq!(rounds(&mut policer, 5, 3, 20_000), Finding::Nothing);
        assert_eq!(rounds(&mut policer, 8, 1, 20_000), Finding::Policed);
        assert_eq!(policer.rate(), Some(1e6));
        assert_eq!(rounds(&mut policer, 9, 47, 20_000), Finding::Nothing);
        assert_eq!(rounds(&mut policer, 56, 1, 20_000), Finding::Over);
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn an_interval_with_less_loss_goes_on_for_sixteen_rounds_at_most() {
        let mut policer = Policer::default();
        rounds(&mut policer, 1, 16, 19_000); // Lost are 19 % of the delivered bytes.
        assert!(policer.sampling && policer.bandwidth.is_none());
        rounds(&mut policer, 17, 1, 19_000);
        assert!(!policer.sampling);
        // A loss of 50/256 or more makes the interval lossy.
        rounds(&mut policer, 18, 4, 19_532);
        assert!(policer.bandwidth.is_some());
    }

    #[test]
    fn rates_an_eighth_or_4_kbit_s_apart_are_the_same() {
        let policed = |before: f64, rate: f64| {
            let mut policer = Policer {
                bandwidth: Some(before),
                ..Policer::default()
            };
            policer.interval_done(&totals(1, 1, 1), rate) == Finding::Policed
        };
        assert!(policed(8e5, 9e5) && policed(8e5, 7e5) && !policed(8e5, 9.001e5));
        assert!(policed(100.0, 600.0) && !policed(100.0, 601.0));
    }

    #[test]
    fn sampling_starts_at_a_loss_and_resets_when_application_limited() {
        let mut policer = Policer::default();
        let quiet = Totals {
            lossy: false,
            ..totals(100, 1000, 0)
        };
        policer.on_event(&quiet, true);
        assert!(!policer.sampling);
        policer.on_event(&totals(200, 2000, 500), true);
        assert!(policer.sampling);
        let limited = Totals {
            app_limited: true,
            ..totals(300, 3000, 600)
        };
        policer.on_event(&limited, true);
        assert!(!policer.sampling);
        // An interval that does not end with a loss is not evaluated. The use of the rate lasts a
        // number of rounds, of which only those in ProbeBW count.
        rounds(&mut policer, 4, 3, 50_000);
        let end = Totals {
            lossy: false,
            ..totals(700, 700_000, 350_000)
        };
        assert_eq!(policer.on_event(&end, true), Finding::Nothing);
        assert_eq!(policer.bandwidth, None);
        (policer.in_use, policer.rounds) = (true, 47);
        assert_eq!(policer.on_event(&end, false), Finding::Nothing);
        assert_eq!(policer.on_event(&end, true), Finding::Over);
    }
}
