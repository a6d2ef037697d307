//! Rayleigh fading: the first-order chain, and the signal that the chain approximates.

use super::closed_form::{Derived, Sampling, Theory};
use super::passage::{DropCause, Passage, Verdict};
use super::process::Process;
use crate::fading::{Margin, correlation};
use crate::rng::{Probability, Stream};
use farlink_tcp::{Instant, Interval};
use std::f64::consts::{PI, TAU};

/// Parameters of a receiver in a Rayleigh fading field.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RayleighField {
    /// Doppler frequency in Hz.
    pub doppler: f64,
    /// Margin over the threshold.
    pub margin: Margin,
}

impl RayleighField {
    fn correlation(self, time: Interval) -> f64 {
        correlation(self.doppler, time.as_secs_f64())
    }

    fn derived(self) -> Vec<Derived> {
        let of = |name, unit, value, source| Derived {
            name,
            unit,
            value,
            source,
        };
        vec![
            of("doppler", "Hz", self.doppler, "v fc / c"),
            of("fade_margin", "dB", self.margin.db(), "10 log10 F"),
            of(
                "fade_share",
                "probability",
                self.margin.share(),
                "1 - exp(-1/F)",
            ),
            of(
                "fade_rate",
                "Hz",
                self.margin.crossing_rate(self.doppler),
                "sqrt(2 pi / F) fd exp(-1/F)",
            ),
            of(
                "mean_fade",
                "s",
                self.margin.fade_duration(self.doppler),
                "fade_share / fade_rate",
            ),
        ]
    }
}

/// Number of lags of the autocorrelation.
const LAGS: u32 = 20;

/// Returns loss, burst and gap of packets lost with probability `share`; `correlations` are those
/// of losses at lags 1, 2, ...
fn theory(share: f64, correlations: Vec<f64>) -> Theory {
    Theory::of_loss(share, correlations)
}

/// Steps at which the chain moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advance {
    /// One step per `step` of time.
    Time,
    /// One step per packet, independent of the time between packets.
    Packet,
}

/// Two-state chain of Zorzi, Rao and Milstein (1995) for a Rayleigh signal against a threshold,
/// sampled once per step. The next state depends on the current state only.
///
/// In time, the chain is drawn dwell time by dwell time, so its states depend on its stream and on
/// time alone, and not on the traffic.
#[derive(Clone, Debug)]
pub struct RayleighChain {
    /// Field from which the transition probabilities are computed, if known.
    field: Option<RayleighField>,
    step: Interval,
    advance: Advance,
    /// Time after the departure of a packet for which a fade still loses it.
    exposure: Interval,
    /// Probability of a change from good to bad, per step.
    alpha: Probability,
    /// Probability of a change from bad to good, per step.
    beta: Probability,
    bad: bool,
    /// First step of the next state.
    until: u64,
    stream: Stream,
}

impl RayleighChain {
    /// Creates the chain with steps of length `step`, in its stationary distribution.
    pub fn new(
        field: RayleighField,
        step: Interval,
        advance: Advance,
        exposure: Interval,
        stream: Stream,
    ) -> Self {
        let rho = field.correlation(step);
        let alpha = Probability::clamped(field.margin.enters_fade(rho));
        let beta = Probability::clamped(field.margin.leaves_fade(rho));
        let mut chain = Self::with_transitions([alpha, beta], step, advance, exposure, stream);
        chain.field = Some(field);
        chain
    }

    /// Creates the chain from alpha (good to bad) and beta (bad to good), as a study may print
    /// them.
    pub fn with_transitions(
        [alpha, beta]: [Probability; 2],
        step: Interval,
        advance: Advance,
        exposure: Interval,
        stream: Stream,
    ) -> Self {
        let mut chain = Self {
            field: None,
            step,
            advance,
            exposure,
            alpha,
            beta,
            bad: false,
            until: 0,
            stream,
        };
        chain.bad = chain.stream.chance(Probability::clamped(chain.share()));
        if advance == Advance::Time {
            chain.dwell();
        }
        chain
    }

    /// Returns the probability of a change from good to bad, per step.
    pub fn alpha(&self) -> f64 {
        self.alpha.get()
    }

    /// Returns the probability of a change from bad to good, per step.
    pub fn beta(&self) -> f64 {
        self.beta.get()
    }

    /// Returns the stationary probability of the bad state.
    fn share(&self) -> f64 {
        let (alpha, beta) = (self.alpha(), self.beta());
        if alpha == 0.0 {
            0.0
        } else {
            alpha / (alpha + beta)
        }
    }

    /// Draws the length of the state that has just begun.
    fn dwell(&mut self) {
        let leave = if self.bad { self.beta } else { self.alpha };
        let stay = self.stream.geometric(leave);
        self.until = self.until.saturating_add(stay).saturating_add(1);
    }

    /// Brings the chain to `step`.
    fn go_to(&mut self, step: u64) {
        while self.until <= step {
            self.bad = !self.bad;
            self.dwell();
        }
    }

    /// Returns the number of steps after its departure in which a packet may be lost.
    fn exposed(&self) -> u64 {
        self.exposure.as_nanos() / self.step.as_nanos().max(1)
    }
}

impl Process for RayleighChain {
    fn pass(&mut self, now: Instant, _: u32, passage: &mut Passage) {
        let lost = match self.advance {
            Advance::Packet => {
                let was = self.bad;
                let leave = if was { self.beta } else { self.alpha };
                self.bad ^= self.stream.chance(leave);
                was
            }
            Advance::Time => {
                let step = now.as_nanos() / self.step.as_nanos();
                self.go_to(step);
                let last = (now + self.exposure).as_nanos() / self.step.as_nanos();
                self.bad || self.until <= last
            }
        };
        if lost {
            passage.verdict = Verdict::Drop(DropCause::Fade);
        }
    }

    fn is_inert(&self) -> bool {
        self.alpha.is_zero() && !self.bad
    }

    /// Packets `spacing` apart fall anywhere within the steps. With an exposure only the loss has a
    /// closed form.
    fn theory(&self, sampling: Sampling) -> Theory {
        let share = self.share();
        let memory = (1.0 - self.alpha() - self.beta()).clamp(-1.0, 1.0);
        let decay = |steps: u64| libm::pow(memory, steps as f64);
        if self.advance == Advance::Packet {
            let lags = (1..=LAGS).map(|lag| decay(lag.into())).collect();
            return theory(share, lags);
        }
        if !self.exposure.is_zero() {
            // The spacing covers a whole number of steps or one more, by its remainder.
            let step = self.step.as_nanos() as f64;
            let more = (self.exposure.as_nanos() % self.step.as_nanos()) as f64 / step;
            let passes = |steps: u64| libm::pow(1.0 - self.alpha(), steps as f64);
            let steps = self.exposed();
            let clear = (1.0 - more) * passes(steps) + more * passes(steps + 1);
            return Theory {
                loss: Some(1.0 - (1.0 - share) * clear),
                ..Theory::default()
            };
        }
        let step = self.step.as_nanos();
        let lags = (1..=u64::from(LAGS)).map(|lag| {
            let apart = sampling.spacing.as_nanos().saturating_mul(lag);
            let more = (apart % step) as f64 / step as f64;
            (1.0 - more) * decay(apart / step) + more * decay(apart / step + 1)
        });
        theory(share, lags.collect())
    }

    fn derived(&self) -> Vec<Derived> {
        const ZORZI: &str = "Zorzi, Rao, Milstein 1995";
        let mut out = self.field.map_or_else(Vec::new, RayleighField::derived);
        let of = |name, unit, value, source| Derived {
            name,
            unit,
            value,
            source,
        };
        out.extend([
            of("alpha", "probability", self.alpha(), ZORZI),
            of("beta", "probability", self.beta(), ZORZI),
            of("mean_bad_run", "", 1.0 / self.beta(), "1 / beta, in steps"),
            of(
                "mean_loss",
                "probability",
                self.share(),
                "alpha / (alpha + beta)",
            ),
        ]);
        out
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

/// Rayleigh signal with the Doppler spectrum of Clarke and Jakes, as a sum of sinusoids with random
/// phases and angles of arrival (Xiao, Zheng, Beaulieu 2006, without line of sight). A packet is
/// lost if it leaves the transmitter during a fade of the signal.
///
/// The signal is a function of time, so it has no steps and does not depend on packets.
#[derive(Clone, Debug)]
pub struct JakesFading {
    fading: RayleighField,
    /// Angular frequency in rad/s and the two phases of each sinusoid.
    waves: Box<[(f64, f64)]>,
    /// Power of the sum below which the signal is in a fade.
    threshold: f64,
}

impl JakesFading {
    /// Creates the sum of `sinusoids` sinusoids (at least 8). The deviation from a Rayleigh
    /// distribution falls as 1 / (2 `sinusoids`).
    pub fn new(fading: RayleighField, sinusoids: u32, mut stream: Stream) -> Self {
        let n = f64::from(sinusoids);
        let waves = (0..sinusoids)
            .map(|i| {
                let turn = PI * (2.0 * stream.uniform() - 1.0);
                let angle = (TAU * f64::from(i) + turn) / n;
                let frequency = TAU * fading.doppler * libm::cos(angle);
                (frequency, TAU * stream.uniform())
            })
            .collect();
        Self {
            fading,
            waves,
            threshold: n / fading.margin.ratio(),
        }
    }

    /// Returns the power at `now` relative to its mean.
    pub fn power(&self, now: Instant) -> f64 {
        self.sum(now) / self.waves.len() as f64
    }

    fn sum(&self, now: Instant) -> f64 {
        let time = now.as_secs_f64();
        let (mut re, mut im) = (0.0, 0.0);
        for &(frequency, phase) in &self.waves {
            let (sin, cos) = libm::sincos(frequency * time + phase);
            re += cos;
            im += sin;
        }
        re * re + im * im
    }
}

impl Process for JakesFading {
    fn pass(&mut self, now: Instant, _: u32, passage: &mut Passage) {
        if self.sum(now) < self.threshold {
            passage.verdict = Verdict::Drop(DropCause::Fade);
        }
    }

    /// Computes the closed form of the Rayleigh signal that the sum of oscillators approximates.
    fn theory(&self, sampling: Sampling) -> Theory {
        let margin = self.fading.margin;
        let share = margin.share();
        let lags = (1..=u64::from(LAGS)).map(|lag| {
            let rho = self.fading.correlation(sampling.spacing * lag);
            // P_BB = share + (1 - share) r.
            1.0 - margin.leaves_fade(rho) / (1.0 - share)
        });
        theory(share, lags.collect())
    }

    fn derived(&self) -> Vec<Derived> {
        self.fading.derived()
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{N, assert_near, rate_error, stream};
    use super::super::{Channel, Stage};
    use super::*;

    const STEP: Interval = Interval::from_micros(1920);

    fn fading(fdt: f64, share: f64) -> RayleighField {
        RayleighField {
            doppler: fdt / STEP.as_secs_f64(),
            margin: Margin::from_share(share),
        }
    }

    fn losses(process: Box<dyn Process>, spacing: Interval, n: usize) -> Vec<bool> {
        let mut channel = Channel::new(vec![Stage::Process(process)]);
        (0..n as u64)
            .map(|i| {
                let passage = channel.pass(Instant::ZERO + spacing * i, 1500);
                passage.verdict == Verdict::Drop(DropCause::Fade)
            })
            .collect()
    }

    fn share(events: &[bool]) -> f64 {
        events.iter().filter(|&&e| e).count() as f64 / events.len() as f64
    }

    /// Returns the mean number of losses in a row, and the number of such runs.
    fn bursts(events: &[bool]) -> (f64, f64) {
        let ends = events.windows(2).filter(|w| w[0] && !w[1]).count() as f64;
        (events.iter().filter(|&&e| e).count() as f64 / ends, ends)
    }

    fn chain(fdt: f64, loss: f64, advance: Advance, exposure: Interval) -> RayleighChain {
        let name = format!("{fdt} {loss}");
        let fading = fading(fdt, loss);
        RayleighChain::new(fading, STEP, advance, exposure, stream(&name))
    }

    /// Compares each row of Table 5, with a step per time and with a step per packet. Loss, mean
    /// burst and correlation at lag 1 must be within 4 standard errors.
    #[test]
    fn the_chain_has_its_loss_its_bursts_and_its_memory() {
        for fdt in [0.01, 0.08, 0.64] {
            for loss in [0.001, 0.01, 0.1] {
                for advance in [Advance::Time, Advance::Packet] {
                    let chain = chain(fdt, loss, advance, Interval::ZERO);
                    let theory = chain.theory(Sampling {
                        bytes: 60,
                        spacing: STEP,
                    });
                    let (alpha, beta) = (chain.alpha(), chain.beta());
                    let lost = losses(Box::new(chain), STEP, N);
                    let memory = 1.0 - alpha - beta;
                    let wide = ((1.0 + memory) / (1.0 - memory)).sqrt();
                    assert!((theory.loss.unwrap() - loss).abs() < 1e-12);
                    assert_near(share(&lost), loss, rate_error(loss, N) * wide);
                    let (mean, ends) = bursts(&lost);
                    assert!((theory.burst.unwrap() * beta - 1.0).abs() < 1e-9);
                    assert!((theory.gap.unwrap() * alpha - 1.0).abs() < 1e-9);
                    let error = (1.0 - beta).sqrt() / beta / ends.sqrt();
                    assert_near(mean, 1.0 / beta, error);
                    let first = theory.autocorrelation.unwrap()[0];
                    assert!((first - memory).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn a_chain_in_time_does_not_depend_on_the_packet_rate() {
        let often = losses(
            Box::new(chain(0.01, 0.1, Advance::Time, Interval::ZERO)),
            STEP,
            100_000,
        );
        let seldom = losses(
            Box::new(chain(0.01, 0.1, Advance::Time, Interval::ZERO)),
            STEP * 7,
            10_000,
        );
        for (i, lost) in seldom.iter().enumerate() {
            assert_eq!(*lost, often[7 * i]);
        }
    }

    #[test]
    fn a_packet_that_is_exposed_longer_is_lost_more_often() {
        // vatne2006 sec. 7.2.1: a longer delay raises the loss, if any bad step of
        // the flight loses the packet.
        let mut before = 0.01;
        for ms in [10, 30, 50] {
            let exposure = Interval::from_millis(ms);
            let chain = chain(0.08, 0.01, Advance::Time, exposure);
            let spacing = Interval::from_micros(100_007);
            let expected = chain.theory(Sampling { bytes: 60, spacing }).loss.unwrap();
            let measured = share(&losses(Box::new(chain), spacing, N));
            assert_near(measured, expected, rate_error(expected, N));
            assert!(expected > before, "{expected} at {ms} ms");
            before = expected;
        }
    }

    #[test]
    fn transitions_can_be_those_that_a_study_printed() {
        // Row 8 of vatne2006 Table 5 as printed would lose 5.7 % instead of 1 %.
        let p = |x| Probability::new(x).unwrap();
        let printed = [p(0.059_646), p(0.988_166)];
        let none = Interval::ZERO;
        let chain =
            RayleighChain::with_transitions(printed, STEP, Advance::Time, none, stream("8"));
        assert_eq!(chain.derived()[0].name, "alpha");
        let sampling = Sampling {
            bytes: 60,
            spacing: STEP,
        };
        let expected = chain.theory(sampling).loss.unwrap();
        assert!((expected - 0.056_924).abs() < 1e-6);
        let measured = share(&losses(Box::new(chain), STEP, N));
        assert_near(measured, expected, rate_error(expected, N));
    }

    /// Returns the share of time below the threshold for a sum of n sinusoids. To first order in
    /// 1/n the density of the power is exp(-x) (1 - L2(x) / 2n) with Laguerre's polynomial L2,
    /// because E[power^2] = 2 - 1/n.
    fn below(x: f64, n: f64) -> f64 {
        1.0 - (-x).exp() - (-x).exp() * (x - x * x / 2.0) / (2.0 * n)
    }

    /// Returns which of 10,000 samples are in a fade, for each of 100 signals.
    fn signals(fading: RayleighField, spacing: Interval) -> Vec<Vec<bool>> {
        (0..100)
            .map(|i| {
                let signal = JakesFading::new(fading, 64, stream(&format!("signal {i}")));
                losses(Box::new(signal), spacing, N / 100)
            })
            .collect()
    }

    /// Returns the mean of a measure over signals with independent phases, and its standard error
    /// from their spread.
    fn over(signals: &[Vec<bool>], measure: impl Fn(&[bool]) -> f64) -> (f64, f64) {
        let n = signals.len() as f64;
        let values: Vec<f64> = signals.iter().map(|signal| measure(signal)).collect();
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        (mean, (square / (n - 1.0) / n).sqrt())
    }

    /// Level crossing rate and average fade duration of the signal, against their
    /// closed forms (Jakes 1974), at 6 and 10 dB.
    #[test]
    fn crossing_rate_and_fade_duration_match_the_closed_forms() {
        let doppler = 20.0;
        // Sampling 100 times per Doppler period misses only the shortest fades.
        let spacing = Interval::from_micros(500);
        for db in [6.0, 10.0] {
            let margin = Margin::from_db(db);
            let fading = RayleighField { doppler, margin };
            let signals = signals(fading, spacing);
            let seconds = spacing.as_secs_f64() * (N / 100) as f64;
            let (rate, error) = over(&signals, |lost| {
                lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64 / seconds
            });
            // Crossing rate that samples at this spacing show: share times beta.
            let rho = correlation(doppler, spacing.as_secs_f64());
            let sampled = margin.share() * margin.leaves_fade(rho) / spacing.as_secs_f64();
            let crossing = margin.crossing_rate(doppler);
            assert!(
                (sampled / crossing - 1.0).abs() < 0.01,
                "{sampled} {crossing}"
            );
            assert_near(rate, sampled, error);
            let (time, spread) = over(&signals, share);
            assert_near(time, below(1.0 / margin.ratio(), 64.0), spread);
            let duration = time / rate;
            let expected = margin.fade_duration(doppler);
            assert!(
                (duration / expected - 1.0).abs() < 0.05,
                "{duration} {expected}"
            );
        }
    }

    /// The chain has the transition probabilities of the signal sampled once a step, and with them
    /// its loss and its mean burst. It lacks the correlation beyond one step.
    #[test]
    fn the_chain_is_checked_against_the_signal() {
        for fdt in [0.08, 0.64] {
            let fading = fading(fdt, 0.1);
            let chain = chain(fdt, 0.1, Advance::Time, Interval::ZERO);
            let signals = signals(fading, STEP);
            let (beta, error) = over(&signals, |lost| {
                let left = lost.windows(2).filter(|w| w[0] && !w[1]).count() as f64;
                left / lost[..lost.len() - 1].iter().filter(|&&l| l).count() as f64
            });
            assert_near(beta, chain.beta(), error);
            let (alpha, error) = over(&signals, |lost| {
                let entered = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
                entered / lost[..lost.len() - 1].iter().filter(|&&l| !l).count() as f64
            });
            assert_near(alpha, chain.alpha(), error);
            let sampling = Sampling {
                bytes: 60,
                spacing: STEP,
            };
            let signal = JakesFading::new(fading, 64, stream("theory"));
            let (of_signal, of_chain) = (signal.theory(sampling), chain.theory(sampling));
            let close =
                |a: Option<f64>, b: Option<f64>| (a.unwrap() / b.unwrap() - 1.0).abs() < 1e-9;
            assert!(close(of_signal.loss, of_chain.loss));
            assert!(close(of_signal.burst, of_chain.burst));
            let lags = of_signal.autocorrelation.unwrap();
            for lag in [1usize, 2, 5] {
                let (measured, error) = over(&signals, |lost| {
                    let all = lost.len() - lag;
                    let both = lost.windows(lag + 1).filter(|w| w[0] && w[lag]).count() as f64;
                    both / all as f64
                });
                let expected = 0.01 + 0.09 * lags[lag - 1];
                assert_near(measured, expected, error);
            }
        }
    }

    #[test]
    fn a_stage_without_fades_is_inert() {
        let margin = Margin::from_db(250.0);
        let fading = RayleighField {
            doppler: 10.0,
            margin,
        };
        let none = RayleighChain::new(fading, STEP, Advance::Time, Interval::ZERO, stream("none"));
        assert!(none.is_inert());
    }

    /// The first packet is lost with the stationary share of the bad state: 0.1 / 0.5.
    #[test]
    fn the_chain_begins_in_its_stationary_distribution() {
        let transitions = [0.1, 0.4].map(|x| Probability::new(x).unwrap());
        for advance in [Advance::Time, Advance::Packet] {
            let n = 10_000;
            let first = |i| {
                let stream = stream(&format!("first {i}"));
                let none = Interval::ZERO;
                let mut chain =
                    RayleighChain::with_transitions(transitions, STEP, advance, none, stream);
                let mut passage = Passage::CLEAN;
                chain.pass(Instant::ZERO, 60, &mut passage);
                passage.verdict != Verdict::Pass
            };
            let lost: Vec<bool> = (0..n).map(first).collect();
            assert_near(share(&lost), 0.2, rate_error(0.2, n));
        }
    }
}
