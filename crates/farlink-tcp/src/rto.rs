//! RTT estimator and retransmission time-out.

pub(crate) mod fine;
mod linux;

use crate::config::{Backoff, Config, RtoAlgorithm, RtoConfig};
use crate::congestion::RoundTrip;
use crate::maybe::Maybe;
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use std::sync::Arc;

/// Maximum number of doublings counted; the maximum RTO is reached long before.
const MAX_DOUBLINGS: u32 = 32;

/// RTT estimator: computes the RTO from RTT samples. All state is in whole nanoseconds.
#[derive(Clone, Debug)]
#[repr(C)] // keeps the fields that each segment needs together in memory
pub struct RttEstimator {
    /// Configuration; only [`Config::rto`] is used. Connections with the same configuration share
    /// it, so that it stays in the cache.
    config: Arc<Config>,
    /// RTO before bounds and backoff.
    base: Interval,
    srtt: Maybe<Interval>,
    deviation: Interval,
    min: Maybe<Interval>,
    latest: Maybe<Interval>,
    doublings: u32,
    /// State of [`RtoAlgorithm::Linux`], if in use.
    linux: Option<Box<linux::Linux>>,
}

impl RttEstimator {
    /// Builds an estimator without samples; the RTO is the initial one.
    pub fn new(rto: RtoConfig) -> Self {
        Self::of(&Arc::new(Config {
            rto,
            ..Config::default()
        }))
    }

    /// Builds the estimator of a connection.
    pub(crate) fn of(config: &Arc<Config>) -> Self {
        let mut new = Self {
            base: config.rto.initial,
            config: Arc::clone(config),
            srtt: Maybe::NONE,
            deviation: Interval::ZERO,
            latest: Maybe::NONE,
            min: Maybe::NONE,
            doublings: 0,
            linux: None,
        };
        if let Some((srtt, deviation)) = config.rto.start {
            new.restart(srtt, deviation);
        }
        new
    }

    /// Returns the configuration of the connection; the sender uses it too.
    #[inline]
    pub(crate) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Smoothed round-trip time.
    #[inline]
    pub fn srtt(&self) -> Option<Interval> {
        self.srtt.get()
    }

    /// Returns the smoothed deviation (RTTVAR); zero before the first sample and for RFC 793.
    pub fn deviation(&self) -> Interval {
        self.deviation
    }

    /// Last sample.
    pub fn latest(&self) -> Option<Interval> {
        self.latest.get()
    }

    /// Least sample.
    pub fn min(&self) -> Option<Interval> {
        self.min.get()
    }

    /// Time-out without backoff, bounded.
    pub fn base_rto(&self) -> Interval {
        let max = self.config.rto.max.max(self.config.rto.min);
        (self.base.max(self.config.rto.min) + self.slop()).min(max)
    }

    /// Returns SRTT + 4 RTTVAR + G, an upper bound of most RTTs. `None` before the first sample.
    pub(crate) fn smooth_bound(&self) -> Option<Interval> {
        let bound = self.srtt.get()? + self.deviation * 4;
        Some(bound + self.granularity())
    }

    /// Returns the current RTO, with backoff and bounds.
    #[inline]
    pub fn rto(&self) -> Interval {
        let bounded = self.base.max(self.config.rto.min);
        let backed = if self.doublings == 0 {
            bounded
        } else {
            Interval::from_nanos(bounded.as_nanos().saturating_mul(1 << self.doublings))
        };
        (backed + self.slop()).min(self.config.rto.max.max(self.config.rto.min))
    }

    /// Returns `slop` once there is a sample, else zero.
    #[inline]
    fn slop(&self) -> Interval {
        if self.srtt.is_none() {
            Interval::ZERO
        } else {
            self.config.rto.slop
        }
    }

    /// Returns the expiry of a timer started now: not before the RTO, and on a tick of the timer's
    /// clock.
    #[inline]
    pub fn deadline(&self, now: Instant) -> Instant {
        self.on_tick(now + self.rto())
    }

    /// Returns `at` rounded up to a tick of the timer's clock.
    #[inline]
    pub fn on_tick(&self, at: Instant) -> Instant {
        if self.config.rto.tick.is_zero() {
            at
        } else {
            Instant::from_nanos(
                Interval::from_nanos(at.as_nanos())
                    .ceil_to(self.config.rto.tick)
                    .as_nanos(),
            )
        }
    }

    /// Processes the ACK of a segment sent at `sent`, and returns the RTT sample in units of the
    /// estimator's clock. Ends a backoff (Karn & Partridge 1987: a backoff lasts until a segment
    /// that was sent once is acknowledged).
    pub fn sample(&mut self, sent: Instant, now: Instant) -> Interval {
        let tick = self.config.rto.tick.as_nanos();
        let rtt = if tick == 0 || self.config.rto.exact_samples {
            now.since(sent)
        } else {
            Interval::from_nanos((now.as_nanos() / tick - sent.as_nanos() / tick) * tick)
        };
        self.latest = Maybe::some(rtt);
        self.min = Maybe::some(self.min.get().map_or(rtt, |m| m.min(rtt)));
        self.doublings = 0;
        let base = match self.config.rto.algorithm {
            RtoAlgorithm::Rfc793 { alpha, beta } => {
                let srtt = self.srtt.get().map_or(rtt, |s| {
                    let old = alpha.of(s.as_nanos());
                    let new = rtt.as_nanos() - alpha.of(rtt.as_nanos()).min(rtt.as_nanos());
                    Interval::from_nanos(old + new)
                });
                self.srtt = Maybe::some(srtt);
                Interval::from_nanos(beta.of(srtt.as_nanos()))
            }
            RtoAlgorithm::Jacobson { gain, dev_gain, k } => {
                self.smooth(rtt, |x| gain.of(x), |x| dev_gain.of(x));
                self.srtt.get().unwrap_or_default() + self.deviation * u64::from(k)
            }
            RtoAlgorithm::Rfc6298 { granularity } => {
                self.smooth(rtt, |x| x / 8, |x| x / 4);
                self.srtt.get().unwrap_or_default() + (self.deviation * 4).max(granularity)
            }
            RtoAlgorithm::Linux => {
                let linux = self.linux.get_or_insert_default();
                linux.sample(rtt, self.config.rto.min);
                self.show_linux()
            }
        };
        self.base = self.rounded(base);
        rtt
    }

    /// Rounds a computed RTO to the nearest multiple of the configured unit, half a unit up.
    #[inline]
    fn rounded(&self, rto: Interval) -> Interval {
        let unit = self.config.rto.round.as_nanos();
        if unit == 0 {
            return rto;
        }
        let units = rto.as_nanos().saturating_add(unit / 2) / unit;
        Interval::from_nanos(units.max(1).saturating_mul(unit))
    }

    /// Stores SND.UNA and SND.NXT for the next sample, by which [`RtoAlgorithm::Linux`] separates
    /// rounds.
    #[inline]
    pub(crate) fn window(&mut self, una: Offset, nxt: Offset) {
        if self.config.rto.algorithm == RtoAlgorithm::Linux {
            self.linux.get_or_insert_default().window(una, nxt);
        }
    }

    /// Copies mean and deviation from Linux's estimator. Returns the RTO.
    fn show_linux(&mut self) -> Interval {
        let linux = self.linux.get_or_insert_default();
        let (srtt, margin) = (linux.srtt(), linux.margin());
        self.srtt = Maybe::some(srtt);
        self.deviation = margin / 4;
        srtt + margin
    }

    /// Returns G of RFC 6298: the granularity, or the tick if the algorithm has none.
    pub(crate) fn granularity(&self) -> Interval {
        match self.config.rto.algorithm {
            RtoAlgorithm::Rfc6298 { granularity } => granularity.max(self.config.rto.tick),
            _ => self.config.rto.tick,
        }
    }

    /// Restarts from this mean and deviation (RFC 4015, 3, step 7).
    pub(crate) fn restart(&mut self, srtt: Interval, deviation: Interval) {
        self.srtt = Maybe::some(srtt);
        self.deviation = deviation;
        let base = match self.config.rto.algorithm {
            RtoAlgorithm::Rfc793 { beta, .. } => Interval::from_nanos(beta.of(srtt.as_nanos())),
            RtoAlgorithm::Jacobson { k, .. } => srtt + deviation * u64::from(k),
            RtoAlgorithm::Rfc6298 { granularity } => srtt + (deviation * 4).max(granularity),
            RtoAlgorithm::Linux => {
                let min = self.config.rto.min.as_nanos();
                let linux = self.linux.get_or_insert_default();
                linux.start(srtt.as_nanos(), deviation.as_nanos(), min);
                self.show_linux()
            }
        };
        self.base = self.rounded(base);
    }

    /// Handles an expiry of the timer: doubles the RTO if backoff is configured.
    pub fn back_off(&mut self) {
        if self.config.rto.backoff == Backoff::Exponential && self.doublings < MAX_DOUBLINGS {
            self.doublings += 1;
        }
    }

    /// Handles an ACK of new data, with or without a sample.
    #[inline]
    pub(crate) fn acknowledged(&mut self) {
        if self.config.rto.ack_ends_backoff {
            self.doublings = 0;
        }
    }

    /// Handles a time-out of a thin stream: with linear time-outs the next RTO is not backed off.
    pub(crate) fn thin_timeout(&mut self) {
        if self.config.rto.thin_linear {
            self.doublings = 0;
        } else {
            self.back_off();
        }
    }

    /// Handles the retransmission of a SYN: without an RTT sample data starts with an RTO of 3 s
    /// (RFC 6298, 5.7).
    pub fn after_syn_timeout(&mut self) {
        if self.srtt.is_none() {
            self.base = self.base.max(Interval::from_secs(3));
            self.doublings = 0;
        }
    }

    /// Jacobson 1988, appendix A; RFC 6298, (2.2) and (2.3): updates the deviation first, with the
    /// old mean.
    fn smooth(&mut self, rtt: Interval, gain: impl Fn(u64) -> u64, dev_gain: impl Fn(u64) -> u64) {
        let Some(srtt) = self.srtt.get() else {
            self.srtt = Maybe::some(rtt);
            self.deviation = rtt / 2;
            return;
        };
        let err = rtt.abs_diff(srtt);
        self.deviation = if err >= self.deviation {
            self.deviation + Interval::from_nanos(dev_gain((err - self.deviation).as_nanos()))
        } else {
            self.deviation - Interval::from_nanos(dev_gain((self.deviation - err).as_nanos()))
        };
        let step = Interval::from_nanos(gain(err.as_nanos()));
        self.srtt = Maybe::some(if rtt >= srtt {
            srtt + step
        } else {
            srtt - step
        });
    }
}

impl RoundTrip for RttEstimator {
    fn srtt(&self) -> Option<Interval> {
        self.srtt()
    }

    fn latest(&self) -> Option<Interval> {
        self.latest()
    }

    fn min(&self) -> Option<Interval> {
        self.min()
    }

    fn rto(&self) -> Interval {
        self.rto()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Ratio;

    const MS: fn(u64) -> Interval = Interval::from_millis;

    fn feed(estimator: &mut RttEstimator, at: u64, rtt: u64) -> Interval {
        estimator.sample(Instant::ZERO + MS(at), Instant::ZERO + MS(at + rtt))
    }

    #[test]
    fn the_backoff_doubles_until_the_greatest_time_out_and_no_less() {
        // From 1 ms to an hour there are 22 doublings (RFC 6298, 5.5, has no other limit).
        let mut e = RttEstimator::new(RtoConfig {
            initial: MS(1),
            min: MS(1),
            max: Interval::from_secs(3600),
            ..RtoConfig::default()
        });
        for doublings in 1..=21_u32 {
            e.back_off();
            assert_eq!(e.rto(), MS(1 << doublings));
        }
        for _ in 0..100 {
            e.back_off();
            assert_eq!(e.rto(), Interval::from_secs(3600));
        }
    }

    #[test]
    fn rfc6298_section_2() {
        let mut e = RttEstimator::new(RtoConfig::default());
        assert_eq!(e.rto(), MS(1000)); // (2.1)
        feed(&mut e, 0, 800); // (2.2): SRTT 800, RTTVAR 400
        assert_eq!(e.rto(), MS(800 + 4 * 400));
        feed(&mut e, 1000, 400); // (2.3): RTTVAR = 3/4 400 + 1/4 400, SRTT = 7/8 800 + 1/8 400
        assert_eq!((e.srtt(), e.deviation()), (Some(MS(750)), MS(400)));
        assert_eq!(e.rto(), MS(750 + 1600));
        assert_eq!((e.latest(), e.min()), (Some(MS(400)), Some(MS(400))));
    }

    #[test]
    fn restart_computes_the_rto_by_the_algorithm() {
        let after = |algorithm, tick| {
            let mut e = RttEstimator::new(RtoConfig {
                algorithm,
                tick,
                ..RtoConfig::default()
            });
            e.restart(MS(1200), MS(600));
            (e.granularity(), e.rto())
        };
        let jacobson = RtoAlgorithm::Jacobson {
            gain: Ratio::new(1, 8),
            dev_gain: Ratio::new(1, 4),
            k: 2,
        };
        let rfc793 = RtoAlgorithm::Rfc793 {
            alpha: Ratio::new(9, 10),
            beta: Ratio::new(2, 1),
        };
        let rfc6298 = RtoAlgorithm::Rfc6298 { granularity: MS(1) };
        assert_eq!(after(jacobson, MS(500)), (MS(500), MS(2400)));
        assert_eq!(after(rfc793, MS(0)), (MS(0), MS(2400)));
        assert_eq!(after(rfc6298, MS(0)), (MS(1), MS(3600)));
    }

    #[test]
    fn rfc6298_granularity_and_minimum_bound_from_below() {
        let config = RtoConfig {
            min: MS(0),
            ..RtoConfig::default()
        };
        let mut e = RttEstimator::new(config);
        for i in 0..200 {
            feed(&mut e, i * 1000, 100);
        }
        // With the deviation at zero, G = 1 ms remains.
        assert_eq!(e.rto(), MS(101));
    }

    #[test]
    fn jacobson_with_the_coefficient_of_the_first_edition() {
        let algorithm = RtoAlgorithm::Jacobson {
            gain: Ratio::new(1, 8),
            dev_gain: Ratio::new(1, 4),
            k: 2,
        };
        let mut e = RttEstimator::new(RtoConfig {
            algorithm,
            min: MS(0),
            ..RtoConfig::default()
        });
        feed(&mut e, 0, 800);
        assert_eq!(e.rto(), MS(800 + 2 * 400));
    }

    #[test]
    fn rfc793_smooths_and_multiplies() {
        let algorithm = RtoAlgorithm::Rfc793 {
            alpha: Ratio::new(9, 10),
            beta: Ratio::new(2, 1),
        };
        let mut e = RttEstimator::new(RtoConfig {
            algorithm,
            min: MS(0),
            ..RtoConfig::default()
        });
        feed(&mut e, 0, 1000);
        assert_eq!(e.rto(), MS(2000));
        feed(&mut e, 2000, 500);
        assert_eq!(e.srtt(), Some(MS(950)));
        assert_eq!(e.rto(), MS(1900));
    }

    #[test]
    fn coarse_ticks_count_ticks_and_fire_on_ticks() {
        let config = RtoConfig {
            tick: MS(500),
            ..RtoConfig::default()
        };
        let mut e = RttEstimator::new(config);
        assert_eq!(feed(&mut e, 100, 528), MS(500)); // 100 -> 628 ms passes one tick
        assert_eq!(feed(&mut e, 490, 528), MS(1000)); // 490 -> 1018 ms passes two
        let mut e = RttEstimator::new(config);
        assert_eq!(
            e.deadline(Instant::ZERO + MS(100)),
            Instant::ZERO + MS(1500)
        );
        e.back_off();
        assert_eq!(
            e.deadline(Instant::ZERO + MS(500)),
            Instant::ZERO + MS(2500)
        );
    }

    #[test]
    fn base_rto_has_no_backoff_and_smooth_bound_no_bounds() {
        let mut e = RttEstimator::new(RtoConfig::default());
        assert_eq!(e.smooth_bound(), None);
        feed(&mut e, 0, 100); // SRTT 100, RTTVAR 50, G 1
        e.back_off();
        assert_eq!((e.rto(), e.base_rto()), (MS(2000), MS(1000)));
        assert_eq!(e.smooth_bound(), Some(MS(301)));
        let mut e = RttEstimator::new(RtoConfig {
            slop: MS(200),
            ..RtoConfig::default()
        });
        feed(&mut e, 0, 400);
        assert_eq!((e.rto(), e.base_rto()), (MS(1400), MS(1400)));
    }

    /// An RTO is rounded to the nearest unit, half a unit up.
    #[test]
    fn an_rto_is_rounded_to_the_nearest_unit() {
        for (rtt, rto) in [(400, 1000), (416, 1000), (417, 1500), (584, 2000)] {
            let mut e = RttEstimator::new(RtoConfig {
                min: Interval::ZERO,
                round: MS(500),
                ..RtoConfig::default()
            });
            feed(&mut e, 0, rtt); // 3 R before it is rounded
            assert_eq!(e.rto(), MS(rto), "{rtt}");
        }
    }

    /// Linux's margin above the mean is four deviations of the other estimators.
    #[test]
    fn the_deviation_of_linux_is_a_quarter_of_its_margin() {
        let mut e = RttEstimator::new(RtoConfig {
            algorithm: RtoAlgorithm::Linux,
            min: MS(200),
            ..RtoConfig::default()
        });
        feed(&mut e, 0, 600);
        assert_eq!((e.srtt(), e.deviation()), (Some(MS(600)), MS(300)));
        assert_eq!(e.rto(), MS(1800));
        // After two rounds the margin may fall.
        for una in [1, 11] {
            e.window(una, una + 9);
            feed(&mut e, 0, 600);
        }
        assert_eq!(e.rto(), MS(600 + 1200) - (MS(1200) - MS(675)) / 4);
    }

    #[test]
    fn backoff_doubles_to_the_maximum_and_ends_with_a_sample() {
        let mut e = RttEstimator::new(RtoConfig {
            max: MS(5000),
            ..RtoConfig::default()
        });
        let seen: Vec<_> = (0..4)
            .map(|_| {
                e.back_off();
                e.rto()
            })
            .collect();
        assert_eq!(seen, [MS(2000), MS(4000), MS(5000), MS(5000)]);
        feed(&mut e, 0, 100);
        assert_eq!(e.rto(), MS(1000));
        let mut flat = RttEstimator::new(RtoConfig {
            backoff: Backoff::None,
            ..RtoConfig::default()
        });
        flat.back_off();
        assert_eq!(flat.rto(), MS(1000));
    }
}
