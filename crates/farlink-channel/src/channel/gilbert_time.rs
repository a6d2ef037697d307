//! Bursty loss whose bursts last a time: the chain of Gilbert (1960) in
//! continuous time.

use super::closed_form::{Derived, LAGS, Sampling, Theory};
use super::error::ChannelError;
use super::passage::{DropCause, Passage, Verdict};
use super::process::Process;
use crate::rng::{Probability, Stream};
use farlink_tcp::{Instant, Interval};

/// Two-state Markov process in time. Every packet whose last bit is sent in the bad state is lost,
/// and none in the good state.
///
/// Both states last exponential times, independent of the number of packets. The state at time 0 is drawn
/// from the stationary distribution. Dwell times are drawn one after the other when packets need
/// them, so the process does not depend on the traffic.
#[derive(Clone, Debug)]
pub struct GilbertTime {
    loss: f64,
    /// Mean dwell times, in nanoseconds.
    good: f64,
    bad: f64,
    is_bad: bool,
    /// Time of the next change of state in nanoseconds, as a sum of draws. Rounding each draw to an
    /// [`Instant`] would bias the mean.
    until: f64,
    stream: Stream,
}

impl GilbertTime {
    /// Creates the process from the mean loss and the mean time of the bad state, `burst`. The good
    /// state lasts burst (1 - loss) / loss on average.
    ///
    /// # Errors
    /// Fails if the loss is 1 or the burst is 0.
    pub fn from_means(
        loss: Probability,
        burst: Interval,
        mut stream: Stream,
    ) -> Result<Self, ChannelError> {
        if burst.is_zero() || burst > Interval::from_secs(3600) {
            return Err(ChannelError::BurstTime(burst));
        }
        if loss == Probability::ONE {
            return Err(ChannelError::NothingPasses);
        }
        let is_bad = stream.chance(loss);
        let bad = burst.as_nanos() as f64;
        let loss = loss.get();
        let good = bad * (1.0 - loss) / loss;
        let mut process = Self {
            loss,
            good,
            bad,
            is_bad,
            until: 0.0,
            stream,
        };
        // The exponential distribution has no memory, so the rest of the first dwell time has the
        // distribution of a full dwell time.
        process.until = process.dwell();
        Ok(process)
    }

    fn dwell(&mut self) -> f64 {
        let mean = if self.is_bad { self.bad } else { self.good };
        self.stream.exponential(mean)
    }

    /// Returns the autocorrelation of the state over a time: exp(-t (1 / good + 1 / bad)).
    fn memory(&self, nanos: f64) -> f64 {
        libm::exp(-nanos * (1.0 / self.good + 1.0 / self.bad))
    }
}

impl Process for GilbertTime {
    #[inline]
    fn pass(&mut self, now: Instant, _bytes: u32, passage: &mut Passage) {
        let now = now.as_nanos() as f64;
        while self.until <= now {
            self.is_bad = !self.is_bad;
            self.until += self.dwell();
        }
        if self.is_bad {
            passage.verdict = Verdict::Drop(DropCause::Loss);
        }
    }

    fn is_inert(&self) -> bool {
        self.loss == 0.0
    }

    /// Packets a spacing s apart sample the state: autocorrelation m^k with
    /// m = exp(-s (1 / good + 1 / bad)).
    fn theory(&self, sampling: Sampling) -> Theory {
        let spacing = sampling.spacing.as_nanos() as f64;
        let lags = (1..=LAGS).map(|lag| self.memory(spacing * lag as f64));
        Theory::of_loss(self.loss, lags.collect())
    }

    fn derived(&self) -> Vec<Derived> {
        let row = |name, unit, value, source| Derived {
            name,
            unit,
            value,
            source,
        };
        vec![
            row("mean_loss", "probability", self.loss, "bad / (bad + good)"),
            row("mean_bad_time", "s", self.bad / 1e9, "burst"),
            row(
                "mean_good_time",
                "s",
                self.good / 1e9,
                "burst (1 - loss) / loss",
            ),
            row(
                "burst_rate",
                "Hz",
                1e9 / (self.good + self.bad),
                "1 / (bad + good)",
            ),
        ]
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{N, assert_near, p, rate, rate_error, stream};
    use super::super::{Channel, Stage};
    use super::*;

    fn stage(loss: f64, burst: Interval, name: &str) -> GilbertTime {
        GilbertTime::from_means(p(loss), burst, stream(name)).unwrap()
    }

    fn lost(process: GilbertTime, spacing: Interval) -> Vec<bool> {
        let mut channel = Channel::new(vec![Stage::Process(Box::new(process))]);
        (0..N as u64)
            .map(|packet| {
                let now = Instant::ZERO + spacing * packet;
                channel.pass(now, 1500).verdict == Verdict::Drop(DropCause::Loss)
            })
            .collect()
    }

    /// Returns the mean length of the runs of losses, and their number.
    fn bursts(lost: &[bool]) -> (f64, f64) {
        let starts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        let all = lost.iter().filter(|&&lost| lost).count() as f64;
        (all / starts, starts)
    }

    #[test]
    fn loss_burst_and_memory_are_those_of_the_process_at_any_packet_rate() {
        for (loss, burst_us, spacing_us) in [
            (0.0256, 16_700, 1000),
            (0.05, 5000, 5000),
            (0.3, 2000, 125),
            (0.05, 1000, 50_000),
        ] {
            let spacing = Interval::from_micros(spacing_us);
            let process = stage(loss, Interval::from_micros(burst_us), "time");
            let theory = process.theory(Sampling {
                bytes: 1500,
                spacing,
            });
            let memory = theory.autocorrelation.clone().unwrap()[0];
            let measured = lost(process, spacing);
            let wide = ((1.0 + memory) / (1.0 - memory)).sqrt();
            assert_near(rate(&measured), loss, rate_error(loss, N) * wide);
            // Sampled by packets, both states last geometric numbers of packets.
            let (mean, count) = bursts(&measured);
            let burst = theory.burst.unwrap();
            assert_near(mean, burst, (burst * (burst - 1.0)).sqrt() / count.sqrt());
        }
    }

    #[test]
    fn a_burst_lasts_its_time_and_not_a_number_of_packets() {
        // With ten times as many packets, each number of lost and delivered packets is ten times as
        // large.
        let burst = Interval::from_millis(20);
        let slow = lost(stage(0.1, burst, "same"), Interval::from_millis(10));
        let fast = lost(stage(0.1, burst, "same"), Interval::from_millis(1));
        for (packet, fate) in slow.iter().take(N / 10).enumerate() {
            assert_eq!(fast[10 * packet], *fate);
        }
    }

    #[test]
    fn five_per_cent_stays_five_per_cent_whatever_the_burst() {
        for burst in [1, 10, 100, 1000] {
            let process = stage(0.05, Interval::from_millis(burst), "five");
            let memory = process.memory(1e6);
            let measured = lost(process, Interval::from_millis(1));
            let wide = ((1.0 + memory) / (1.0 - memory)).sqrt();
            assert_near(rate(&measured), 0.05, rate_error(0.05, N) * wide);
        }
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let error = GilbertTime::from_means(p(0.1), Interval::ZERO, stream("g")).unwrap_err();
        assert_eq!(error, ChannelError::BurstTime(Interval::ZERO));
        let all = GilbertTime::from_means(p(1.0), Interval::from_millis(1), stream("g"));
        assert_eq!(all.unwrap_err(), ChannelError::NothingPasses);
        assert!(stage(0.0, Interval::from_millis(1), "g").is_inert());
    }

    /// The correlation of two packets depends on the time between them: k spacings correlate as one
    /// spacing k times as long. 1 / good + 1 / bad is 125 / s.
    #[test]
    fn the_memory_of_packets_far_apart() {
        let theory = stage(0.2, Interval::from_millis(10), "lags").theory(Sampling {
            bytes: 1500,
            spacing: Interval::from_millis(4),
        });
        for (lag, measured) in (1..).zip(theory.autocorrelation.unwrap()) {
            let expected = libm::exp(-0.5 * f64::from(lag));
            assert!(
                (measured / expected - 1.0).abs() < 1e-9,
                "{lag}: {measured}"
            );
        }
    }
}
