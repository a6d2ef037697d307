//! Link without transmission at given times: a tunnel, a manoeuvre, an unplugged connector.

use super::closed_form::{DelayDistribution, LEVELS, Sampling, Theory};
use super::error::ChannelError;
use super::orbit::Gap;
use super::passage::{DropCause, Passage};
use super::process::Process;
use farlink_tcp::{Instant, Interval};

/// Interruption, once or periodically. It draws no random numbers.
#[derive(Clone, Debug)]
pub struct Outage {
    /// Nanoseconds from time 0 to the first outage.
    start: u64,
    gap: Gap,
    /// Nanoseconds from the beginning of one outage to the next; `u64::MAX` for a single one.
    period: u64,
}

impl Outage {
    /// Creates outages of the form `gap`. The first begins at `start`, and one follows per
    /// `period`, or none without a period.
    ///
    /// # Errors
    /// Fails if the outage has no duration, or is as long as the period or longer.
    pub fn new(start: Interval, gap: Gap, period: Option<Interval>) -> Result<Self, ChannelError> {
        let period = period.map_or(u64::MAX, Interval::as_nanos);
        if gap.time.is_zero() || gap.time.as_nanos() >= period {
            return Err(ChannelError::Cannot(
                "an outage takes some time, and less than the period: write 5 s in 60 s",
            ));
        }
        Ok(Self {
            start: start.as_nanos(),
            gap,
            period,
        })
    }
}

impl Process for Outage {
    fn pass(&mut self, now: Instant, _: u32, passage: &mut Passage) {
        if let Some(since) = now.as_nanos().checked_sub(self.start) {
            self.gap.pass(since % self.period, DropCause::Fade, passage);
        }
    }

    /// Computes the closed form for packets at any time of a period. A single outage has no mean,
    /// because it ends.
    fn theory(&self, sampling: Sampling) -> Theory {
        let unharmed = self.gap.drops().then(|| DelayDistribution::constant(0.0));
        if self.period == u64::MAX {
            return Theory {
                loss: (!self.gap.drops()).then_some(0.0),
                delay: unharmed,
                ..Theory::default()
            };
        }
        let (period, time) = (self.period as f64 / 1e9, self.gap.time.as_secs_f64());
        // The wait exceeds w with probability (time - w) / period.
        let quantile = |level: f64| (level, (time - (1.0 - level) * period).max(0.0));
        let held = || {
            let (mean, variance) = self.gap.wait(period);
            DelayDistribution {
                mean,
                deviation: variance.sqrt(),
                quantiles: LEVELS.map(quantile).into(),
            }
        };
        Theory {
            delay: Some(unharmed.unwrap_or_else(held)),
            ..self.gap.theory(period, sampling)
        }
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Channel, Interruption, Stage, Verdict};
    use super::*;

    fn ms(value: u64) -> Interval {
        Interval::from_millis(value)
    }

    fn outage(action: Interruption, period: Option<Interval>) -> Outage {
        let time = ms(400);
        Outage::new(ms(1000), Gap { time, action }, period).unwrap()
    }

    /// Offers a packet each millisecond and returns the wait of each, or `None` if it is lost.
    fn run(outage: Outage, packets: u64) -> Vec<Option<Interval>> {
        let mut channel = Channel::new(vec![Stage::Process(Box::new(outage))]);
        let mut passage = |i| channel.pass(Instant::ZERO + ms(i), 1500);
        let arrived = |passage: Passage| match passage.verdict {
            Verdict::Pass => Some(passage.hold),
            Verdict::Drop(DropCause::Fade) => None,
            other => panic!("{other:?}"),
        };
        (0..packets).map(|i| arrived(passage(i))).collect()
    }

    #[test]
    fn an_outage_covers_its_times_exactly() {
        for (i, packet) in run(outage(Interruption::Drop, None), 5000)
            .iter()
            .enumerate()
        {
            assert_eq!(packet.is_none(), (1000..1400).contains(&i), "{i} ms");
        }
        let again = outage(Interruption::Drop, Some(ms(1500)));
        for (i, packet) in run(again, 9000).iter().enumerate() {
            let out = i >= 1000 && (i - 1000) % 1500 < 400;
            assert_eq!(packet.is_none(), out, "{i} ms");
        }
        // Packets that wait all leave at the end of the outage, one after the other.
        for (i, packet) in (0..).zip(run(outage(Interruption::Hold, None), 3000)) {
            let wait = if (1000..1400).contains(&i) {
                1400 - i
            } else {
                0
            };
            assert_eq!(packet, Some(ms(wait)), "{i} ms");
        }
    }

    /// The run has whole periods, so counting and formula differ only by the spacing of the
    /// packets.
    #[test]
    fn loss_bursts_and_delay_are_those_of_the_share_of_time() {
        let sampling = Sampling {
            bytes: 1500,
            spacing: ms(1),
        };
        let period = Some(ms(1600));
        let near = |measured: f64, expected: f64| {
            assert!(
                (measured - expected).abs() < 2e-3 * expected,
                "{measured} {expected}"
            );
        };
        let drop = outage(Interruption::Drop, period);
        let theory = drop.theory(sampling);
        let fates = run(drop, 1000 + 1600 * 50);
        let lost = fates[1000..].iter().filter(|fate| fate.is_none()).count() as f64;
        near(theory.loss.unwrap(), 0.25);
        near(lost / 80_000.0, 0.25);
        near(theory.burst.unwrap(), lost / 50.0);
        near(theory.gap.unwrap(), 1200.0);
        assert_eq!(theory.delay, Some(DelayDistribution::constant(0.0)));

        let hold = outage(Interruption::Hold, period);
        let theory = hold.theory(sampling);
        let fates = run(hold, 1000 + 1600 * 50);
        let mut waits: Vec<f64> = fates[1000..]
            .iter()
            .map(|fate| fate.unwrap().as_secs_f64())
            .collect();
        let n = waits.len() as f64;
        let mean = waits.iter().sum::<f64>() / n;
        let square = waits.iter().map(|wait| wait * wait).sum::<f64>() / n;
        assert_eq!(theory.loss, Some(0.0));
        let delay = theory.delay.unwrap();
        near(delay.mean, 0.4 * 0.4 / 2.0 / 1.6);
        near(mean, delay.mean + 0.0005 * 0.25); // half a spacing, in a quarter of all cases
        near((square - mean * mean).sqrt(), delay.deviation);
        waits.sort_by(f64::total_cmp);
        for (level, at) in delay.quantiles {
            assert!((waits[(level * n) as usize] - at).abs() < 0.002, "{level}");
        }
    }

    #[test]
    fn a_single_outage_has_no_mean() {
        let sampling = Sampling {
            bytes: 40,
            spacing: ms(1),
        };
        let theory = |action| outage(action, None).theory(sampling);
        let (drop, hold) = (theory(Interruption::Drop), theory(Interruption::Hold));
        assert_eq!((drop.loss, hold.loss), (None, Some(0.0)));
        assert_eq!((drop.delay.is_some(), hold.delay), (true, None));
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let gap = |time| Gap {
            time: ms(time),
            action: Interruption::Hold,
        };
        let refused = |time, period| Outage::new(ms(0), gap(time), period).is_err();
        assert!(refused(0, None) && refused(5, Some(ms(5))));
        assert!(!refused(5, Some(ms(6))));
    }
}
