//! Delay and interruptions of moving satellites.

use super::closed_form::{DelayDistribution, Derived, Sampling, Theory};
use super::passage::{DropCause, Passage, Verdict};
use super::process::Process;
use crate::orbit::{LIGHT, Passes};
use crate::rng::Stream;
use farlink_tcp::{Instant, Interval};

/// Fate of packets while the link changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interruption {
    /// Packets are lost.
    Drop,
    /// Packets wait until the change is over.
    Hold,
}

/// Interruption at the beginning of each period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Duration of the change.
    pub time: Interval,
    /// Fate of packets during the change.
    pub action: Interruption,
}

impl Gap {
    /// Applies the interruption to a packet that leaves `since` nanoseconds after its beginning.
    pub(super) fn pass(self, since: u64, cause: DropCause, passage: &mut Passage) {
        let left = self.time.as_nanos().saturating_sub(since);
        if left > 0 {
            match self.action {
                Interruption::Drop => passage.verdict = Verdict::Drop(cause),
                Interruption::Hold => passage.hold = passage.hold + Interval::from_nanos(left),
            }
        }
    }

    pub(super) fn drops(self) -> bool {
        self.action == Interruption::Drop && !self.time.is_zero()
    }

    /// Returns the mean and the variance of the wait in seconds: a held packet waits for the rest
    /// of the interruption. Interruptions begin every `period` seconds.
    pub(super) fn wait(self, period: f64) -> (f64, f64) {
        let time = self.time.as_secs_f64();
        let held = if self.drops() { 0.0 } else { time };
        let mean = held * held / (2.0 * period);
        (mean, held * held * held / (3.0 * period) - mean * mean)
    }

    /// Returns loss, burst and gap of packets at `spacing` with one interruption every `period`
    /// seconds.
    pub(super) fn theory(self, period: f64, sampling: Sampling) -> Theory {
        if !self.drops() {
            return Theory {
                loss: Some(0.0),
                ..Theory::default()
            };
        }
        let (time, spacing) = (self.time.as_secs_f64(), sampling.spacing.as_secs_f64());
        // Packets at a spacing shorter than the interruption meet every interruption.
        let met = spacing > 0.0 && spacing <= time;
        Theory {
            loss: Some((time / period).min(1.0)),
            burst: met.then(|| time / spacing),
            gap: met.then(|| (period - time) / spacing),
            ..Theory::default()
        }
    }
}

/// Keeps packets in order: none arrives before an earlier one.
fn in_order(last: &mut Instant, now: Instant, passage: &mut Passage) {
    if !passage.may_overtake {
        *last = (*last).max(now + passage.hold);
        passage.hold = last.since(now);
    }
}

/// Delay over satellites on circular orbits. When a satellite goes out of use, the next one comes
/// into use.
#[derive(Clone, Debug)]
pub struct Orbit {
    passes: Passes,
    /// Number of times that a packet travels the distance.
    hops: f64,
    gap: Gap,
    /// Length of a pass in nanoseconds.
    period: u64,
    /// Position in the pass at time 0, in nanoseconds.
    offset: u64,
    last: Instant,
}

impl Orbit {
    /// Creates passes that follow each other, the first at a random position. With 2 hops a packet
    /// goes up to the satellite, and down to a ground station beside the user.
    pub fn new(passes: Passes, hops: u32, gap: Gap, mut stream: Stream) -> Self {
        let period = (passes.duration() * 1e9).max(1.0) as u64;
        Self {
            passes,
            hops: f64::from(hops),
            gap,
            period,
            offset: (stream.uniform() * period as f64) as u64,
            last: Instant::ZERO,
        }
    }

    /// Returns the delay (s) over a satellite that came into use `since` nanoseconds ago.
    fn seconds(&self, since: u64) -> f64 {
        self.hops * self.passes.range_at(since as f64 / 1e9) / LIGHT
    }

    fn since(&self, now: Instant) -> u64 {
        now.as_nanos().saturating_add(self.offset) % self.period
    }
}

impl Process for Orbit {
    fn pass(&mut self, now: Instant, _: u32, passage: &mut Passage) {
        let since = self.since(now);
        self.gap.pass(since, DropCause::Handoff, passage);
        let delay = Interval::from_nanos(libm::round(self.seconds(since) * 1e9) as u64);
        passage.hold = passage.hold + delay;
        in_order(&mut self.last, now, passage);
    }

    fn theory(&self, sampling: Sampling) -> Theory {
        // The distribution is that of delivered packets at a uniformly random time of a pass.
        let n = 20_000u64;
        let mut delays: Vec<f64> = (0..n)
            .map(|i| self.period / n * i + self.period / (2 * n))
            .filter(|&since| !self.gap.drops() || since >= self.gap.time.as_nanos())
            .map(|since| {
                let waits = self.gap.time.as_nanos().saturating_sub(since);
                self.seconds(since) + waits as f64 / 1e9
            })
            .collect();
        delays.sort_by(f64::total_cmp);
        let count = delays.len() as f64;
        let mean = delays.iter().sum::<f64>() / count;
        let square = delays.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / count;
        let quantile = |p: f64| {
            let at = (p * count) as usize;
            (p, delays.get(at).copied().unwrap_or(mean))
        };
        Theory {
            delay: Some(DelayDistribution {
                mean,
                deviation: square.sqrt(),
                quantiles: [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
                    .map(quantile)
                    .into(),
            }),
            ..self.gap.theory(self.period as f64 / 1e9, sampling)
        }
    }

    fn derived(&self) -> Vec<Derived> {
        let of = |name, value, source| Derived {
            name,
            unit: "s",
            value,
            source,
        };
        let pass = self.passes.duration();
        vec![
            of("orbit_period", self.passes.period(), "2 pi sqrt(r^3 / mu)"),
            of("handover_interval", pass, "arc above min_elevation / speed"),
            of(
                "delay_min",
                self.seconds(self.period / 2),
                "range at the top",
            ),
            of("delay_max", self.seconds(0), "range at min_elevation"),
        ]
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

/// Change of the path at a fixed interval, as in today's LEO services: the delay jumps, and there
/// is a short interruption.
#[derive(Clone, Debug)]
pub struct Reconfiguration {
    interval: u64,
    /// Nanoseconds from time 0 to the first change.
    first: u64,
    low: Interval,
    high: Interval,
    gap: Gap,
    keep_order: bool,
    /// Number of the present period, to which `delay` belongs.
    number: u64,
    delay: Interval,
    last: Instant,
    stream: Stream,
}

impl Reconfiguration {
    /// Creates a process with a change every `interval`, the first at `first`. The extra delay of
    /// each period is uniform from `low` to `high`.
    pub fn new(
        interval: Interval,
        first: Interval,
        [low, high]: [Interval; 2],
        gap: Gap,
        keep_order: bool,
        stream: Stream,
    ) -> Self {
        let mut out = Self {
            interval: interval.as_nanos(),
            first: first.as_nanos() % interval.as_nanos(),
            low,
            high,
            gap,
            keep_order,
            number: 0,
            delay: low,
            last: Instant::ZERO,
            stream,
        };
        out.draw();
        out
    }

    fn draw(&mut self) {
        let width = (self.high - self.low).as_nanos() as f64;
        self.delay = self.low + Interval::from_nanos((self.stream.uniform() * width) as u64);
    }
}

impl Process for Reconfiguration {
    fn pass(&mut self, now: Instant, _: u32, passage: &mut Passage) {
        // Period 0 covers time 0, unless the first change is at time 0.
        let time = now.as_nanos() + (self.interval - self.first);
        let number = time / self.interval;
        while self.number < number {
            self.number += 1;
            self.draw();
        }
        self.gap
            .pass(time % self.interval, DropCause::Handoff, passage);
        passage.hold = passage.hold + self.delay;
        if self.keep_order {
            in_order(&mut self.last, now, passage);
        } else {
            passage.may_overtake = true;
        }
    }

    fn is_inert(&self) -> bool {
        self.high.is_zero() && self.gap.time.is_zero()
    }

    fn keeps_order(&self) -> bool {
        self.keep_order
    }

    /// The closed form omits the wait for earlier packets after a change.
    fn theory(&self, sampling: Sampling) -> Theory {
        let interval = self.interval as f64 / 1e9;
        let (low, high) = (self.low.as_secs_f64(), self.high.as_secs_f64());
        let (wait, spread) = self.gap.wait(interval);
        let variance = (high - low) * (high - low) / 12.0 + spread;
        let quantiles = if wait == 0.0 {
            let at = |p: f64| (p, low + p * (high - low));
            [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99].map(at).into()
        } else {
            Vec::new()
        };
        Theory {
            delay: Some(DelayDistribution {
                mean: f64::midpoint(low, high) + wait,
                deviation: variance.sqrt(),
                quantiles,
            }),
            ..self.gap.theory(interval, sampling)
        }
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{N, assert_near, stream};
    use super::super::{Channel, Stage};
    use super::*;

    fn ms(value: u64) -> Interval {
        Interval::from_millis(value)
    }

    fn leo(gap: u64, action: Interruption) -> Orbit {
        let passes = Passes {
            altitude: 550e3,
            min_elevation: 25f64.to_radians(),
            max_elevation: 90f64.to_radians(),
            inclination: Some(53f64.to_radians()),
        };
        let time = ms(gap);
        Orbit::new(passes, 2, Gap { time, action }, stream("orbit"))
    }

    fn change(gap: u64, action: Interruption) -> Reconfiguration {
        let gap = Gap {
            time: ms(gap),
            action,
        };
        let levels = [ms(5), ms(25)];
        let (interval, first) = (Interval::from_secs(15), Interval::from_secs(12));
        Reconfiguration::new(interval, first, levels, gap, true, stream("change"))
    }

    /// Returns the delays (s) of the packets that arrive, and the share of lost packets.
    fn run(process: Box<dyn Process>, spacing: Interval) -> (Vec<f64>, f64) {
        let mut channel = Channel::new(vec![Stage::Process(process)]);
        let mut delays = Vec::new();
        for i in 0..N as u64 {
            let passage = channel.pass(Instant::ZERO + spacing * i, 1500);
            match passage.verdict {
                Verdict::Pass => delays.push(passage.hold.as_secs_f64()),
                Verdict::Drop(DropCause::Handoff) => {}
                other => panic!("{other:?}"),
            }
        }
        let lost = 1.0 - delays.len() as f64 / N as f64;
        (delays, lost)
    }

    /// Over many passes the delay has the distribution of the geometry, and an interruption loses
    /// its share of the pass. Only the start is random.
    #[test]
    fn delay_and_loss_of_an_orbit_are_those_of_its_geometry() {
        for (gap, action) in [
            (0, Interruption::Drop),
            (3000, Interruption::Drop),
            (300, Interruption::Hold),
        ] {
            let orbit = leo(gap, action);
            let spacing = Interval::from_micros(70_003);
            let theory = orbit.theory(Sampling {
                bytes: 1500,
                spacing,
            });
            let (mut delays, lost) = run(Box::new(orbit), spacing);
            // 70,000 s have 250 passes, so the incomplete passes at the ends change the share by at
            // most 1/250.
            assert!((lost - theory.loss.unwrap()).abs() < 5e-5, "{lost}");
            let distribution = theory.delay.unwrap();
            let n = delays.len() as f64;
            let mean = delays.iter().sum::<f64>() / n;
            assert!(
                (mean / distribution.mean - 1.0).abs() < 1e-3,
                "{mean} {}",
                distribution.mean
            );
            let spread = (delays.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n).sqrt();
            assert!(
                (spread / distribution.deviation - 1.0).abs() < 1e-2,
                "{spread}"
            );
            delays.sort_by(f64::total_cmp);
            for (p, delay) in distribution.quantiles {
                let measured = delays[(p * n) as usize];
                assert!(
                    (measured / delay - 1.0).abs() < 0.01,
                    "{p}: {measured} {delay}"
                );
            }
        }
        // The path is at least 550 km up and down, at most 1123 km.
        let derived = leo(0, Interruption::Drop).derived();
        let of = |name| derived.iter().find(|d| d.name == name).unwrap().value;
        assert!((of("delay_min") - 2.0 * 550e3 / LIGHT).abs() < 1e-9);
        assert!((of("delay_max") - 2.0 * 1123e3 / LIGHT).abs() < 1e-5);
    }

    #[test]
    fn a_gap_loses_its_packets_in_a_row() {
        let orbit = leo(500, Interruption::Drop);
        let sampling = Sampling {
            bytes: 1500,
            spacing: ms(3),
        };
        let theory = orbit.theory(sampling);
        let mut channel = Channel::new(vec![Stage::Process(Box::new(orbit))]);
        let lost: Vec<bool> = (0..N as u64)
            .map(|i| channel.pass(Instant::ZERO + ms(3) * i, 1500).verdict != Verdict::Pass)
            .collect();
        let ends = lost.windows(2).filter(|w| w[0] && !w[1]).count();
        let burst = lost.iter().filter(|&&l| l).count() as f64 / ends as f64;
        assert!((burst - theory.burst.unwrap()).abs() < 1.0, "{burst}");
        // 3,000 s are 10.7 passes.
        assert!((10..=11).contains(&ends), "{ends}");
    }

    /// Each period has one draw, so the standard error is that of the mean of 4,666 draws.
    #[test]
    fn delay_and_loss_of_reconfigurations_are_those_of_their_draws() {
        for (gap, action) in [
            (0, Interruption::Drop),
            (100, Interruption::Drop),
            (100, Interruption::Hold),
        ] {
            let change = change(gap, action);
            let spacing = Interval::from_micros(70_003);
            let sampling = Sampling {
                bytes: 1500,
                spacing,
            };
            let theory = change.theory(sampling);
            let (delays, lost) = run(Box::new(change), spacing);
            assert!((lost - theory.loss.unwrap()).abs() < 1e-4, "{lost}");
            let distribution = theory.delay.unwrap();
            let n = delays.len() as f64;
            let periods = 70_003.0 / 15.0;
            let mean = delays.iter().sum::<f64>() / n;
            assert_near(
                mean,
                distribution.mean,
                0.02 / 12f64.sqrt() / f64::sqrt(periods),
            );
            let spread = (delays.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n).sqrt();
            assert_near(
                spread,
                distribution.deviation,
                0.03 * distribution.deviation / 4.0,
            );
        }
    }

    #[test]
    fn delays_change_only_at_multiples_of_the_period() {
        let change = change(50, Interruption::Drop);
        let mut channel = Channel::new(vec![Stage::Process(Box::new(change))]);
        let mut levels: Vec<Interval> = Vec::new();
        for i in 0..60_000u64 {
            let now = Instant::ZERO + ms(i);
            let passage = channel.pass(now, 1500);
            let since = (i + 3000) % 15_000;
            assert_eq!(passage.verdict != Verdict::Pass, since < 50, "{i} ms");
            // After the delay falls, packets wait for earlier ones, for as long as the fall.
            if since >= 100 && levels.last() != Some(&passage.hold) {
                levels.push(passage.hold);
            }
        }
        assert_eq!(levels.len(), 5);
    }

    #[test]
    fn packets_stay_in_order_when_the_delay_falls() {
        let mut channel = Channel::new(vec![
            Stage::Process(Box::new(change(80, Interruption::Hold))),
            Stage::Process(Box::new(leo(40, Interruption::Hold))),
        ]);
        assert!(channel.keeps_order());
        let mut last = Instant::ZERO;
        for i in 0..300_000u64 {
            let now = Instant::ZERO + ms(i);
            let out = now + channel.pass(now, 1500).hold;
            assert!(out >= last);
            last = out;
        }
    }

    /// The draw of a period depends only on its number, even if no packet was sent in earlier
    /// periods.
    #[test]
    fn a_period_has_its_own_draw() {
        let mut draws = stream("change");
        let mut change = change(0, Interruption::Drop);
        change.keep_order = false;
        let mut number = 0;
        let mut drawn = draws.uniform();
        // The first change comes after 12 s, then one every 15 s.
        for second in [0, 11, 12, 30, 60, 61, 120] {
            while number < (second + 3) / 15 {
                number += 1;
                drawn = draws.uniform();
            }
            let mut passage = Passage::CLEAN;
            change.pass(
                Instant::ZERO + Interval::from_secs(second),
                1500,
                &mut passage,
            );
            let expected = ms(5) + Interval::from_nanos((drawn * 20e6) as u64);
            assert_eq!(passage.hold, expected, "{second} s");
        }
    }
}
