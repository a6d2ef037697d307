//! Delay and loss that follow a trace.

use super::closed_form::{DelayDistribution, Derived, Sampling, Theory};
use super::passage::{DropCause, Passage, Verdict};
use super::process::Process;
use crate::rng::{Probability, Stream};
use crate::trace::Timeline;
use farlink_tcp::{Instant, Interval};
use std::sync::Arc;

/// Extra delay from a trace.
#[derive(Clone, Debug)]
pub struct DelayTrace {
    timeline: Arc<Timeline>,
    delays: Arc<[Interval]>,
    interpolate: bool,
    offset: Interval,
    keep_order: bool,
    row: usize,
    last: Instant,
}

impl DelayTrace {
    /// Creates the process from one delay for each row. `interpolate` draws straight lines between
    /// rows instead of steps. Time 0 is `offset` into the trace. With `keep_order`, a packet waits
    /// for earlier packets where the delay falls faster than time advances.
    pub fn new(
        timeline: Timeline,
        delays: Vec<Interval>,
        interpolate: bool,
        offset: Interval,
        keep_order: bool,
    ) -> Self {
        Self {
            timeline: Arc::new(timeline),
            delays: delays.into(),
            interpolate,
            offset,
            keep_order,
            row: 0,
            last: Instant::ZERO,
        }
    }

    /// Returns the delay of a packet that leaves the transmitter at `now`.
    fn delay(&mut self, now: Instant) -> Interval {
        let offset = self.offset.as_nanos();
        let place = self.timeline.at(now, offset, &mut self.row);
        let from = self.delays[place.row];
        match (self.interpolate, self.delays.get(place.row + 1), place.left) {
            (true, Some(to), Some(left)) => {
                let (from, to) = (i128::from(from.as_nanos()), i128::from(to.as_nanos()));
                let whole = i128::from(place.since + left);
                let delay = from + (to - from) * i128::from(place.since) / whole;
                Interval::from_nanos(delay as u64)
            }
            _ => from,
        }
    }

    /// Returns the delay at the beginning and the end of each row, with its share of time.
    fn pieces(&self) -> Vec<(f64, f64, f64)> {
        let length = self.timeline.length().as_nanos() as f64;
        if length == 0.0 {
            let only = self.delays[0].as_secs_f64();
            return vec![(only, only, 1.0)];
        }
        self.timeline
            .lengths()
            .enumerate()
            .map(|(row, time)| {
                let from = self.delays[row].as_secs_f64();
                let to = if self.interpolate {
                    self.delays[row + 1].as_secs_f64()
                } else {
                    from
                };
                (from, to, time as f64 / length)
            })
            .collect()
    }
}

impl Process for DelayTrace {
    fn pass(&mut self, now: Instant, _: u32, passage: &mut Passage) {
        passage.hold = passage.hold + self.delay(now);
        if !self.keep_order {
            passage.may_overtake = true;
        } else if !passage.may_overtake {
            self.last = self.last.max(now + passage.hold);
            passage.hold = self.last.since(now);
        }
    }

    fn is_inert(&self) -> bool {
        self.delays.iter().all(|delay| delay.is_zero())
    }

    fn keeps_order(&self) -> bool {
        self.keep_order
    }

    /// Returns the distribution over one length of the trace, without waits for earlier packets. A
    /// trace that does not repeat has no distribution, because its last row is valid forever.
    fn theory(&self, _: Sampling) -> Theory {
        if ends(&self.timeline) {
            return Theory {
                loss: Some(0.0),
                ..Theory::default()
            };
        }
        let pieces = self.pieces();
        let mean: f64 = pieces.iter().map(|(a, b, w)| w * (a + b) / 2.0).sum();
        let square: f64 = pieces
            .iter()
            .map(|(a, b, w)| w * (a * a + a * b + b * b) / 3.0)
            .sum();
        Theory {
            delay: Some(DelayDistribution {
                mean,
                deviation: (square - mean * mean).max(0.0).sqrt(),
                quantiles: quantiles(&pieces),
            }),
            ..Theory::default()
        }
    }

    fn derived(&self) -> Vec<Derived> {
        let seconds = |delay: Option<&Interval>| delay.map_or(0.0, |d| d.as_secs_f64());
        let of = |name, value| Derived {
            name,
            unit: "s",
            value,
            source: "the trace",
        };
        vec![
            of("trace_length", self.timeline.length().as_secs_f64()),
            of("delay_min", seconds(self.delays.iter().min())),
            of("delay_max", seconds(self.delays.iter().max())),
        ]
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

/// Returns whether a trace has several rows and does not repeat. Such a trace has no mean.
fn ends(timeline: &Timeline) -> bool {
    !timeline.repeats() && !timeline.length().is_zero()
}

/// Probabilities for which quantiles are computed.
const QUANTILES: [f64; 7] = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];

/// Returns quantiles of a delay that changes linearly within each piece, by bisection.
fn quantiles(pieces: &[(f64, f64, f64)]) -> Vec<(f64, f64)> {
    let below = |x: f64| -> f64 {
        let share = |&(a, b, w): &(f64, f64, f64)| {
            let (low, high) = (a.min(b), a.max(b));
            if x >= high {
                w
            } else if x < low {
                0.0
            } else {
                w * (x - low) / (high - low)
            }
        };
        pieces.iter().map(share).sum()
    };
    let ends = |f: fn(f64, f64) -> f64| {
        let all = pieces.iter().flat_map(|&(a, b, _)| [a, b]);
        all.reduce(f).unwrap_or(0.0)
    };
    let (min, max) = (ends(f64::min), ends(f64::max));
    QUANTILES
        .iter()
        .map(|&p| {
            let (mut low, mut high) = (min, max);
            if below(low) >= p - 1e-12 {
                return (p, low);
            }
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if below(middle) >= p - 1e-12 {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            (p, high)
        })
        .collect()
}

/// Loss with a probability from a trace, independent for each packet.
#[derive(Clone, Debug)]
pub struct LossTrace {
    timeline: Arc<Timeline>,
    losses: Arc<[Probability]>,
    offset: Interval,
    row: usize,
    stream: Stream,
}

impl LossTrace {
    /// Creates the process from one probability for each row. Time 0 is `offset` into the trace.
    pub fn new(
        timeline: Timeline,
        losses: Vec<Probability>,
        offset: Interval,
        stream: Stream,
    ) -> Self {
        Self {
            timeline: Arc::new(timeline),
            losses: losses.into(),
            offset,
            row: 0,
            stream,
        }
    }
}

impl Process for LossTrace {
    fn pass(&mut self, now: Instant, _: u32, passage: &mut Passage) {
        let offset = self.offset.as_nanos();
        let place = self.timeline.at(now, offset, &mut self.row);
        if self.stream.chance(self.losses[place.row]) {
            passage.verdict = Verdict::Drop(DropCause::Loss);
        }
    }

    fn is_inert(&self) -> bool {
        self.losses.iter().all(|loss| loss.is_zero())
    }

    /// Returns the mean over one length of the trace. A trace that does not repeat has no mean,
    /// because its last row is valid forever.
    fn theory(&self, _: Sampling) -> Theory {
        if ends(&self.timeline) {
            return Theory {
                delay: Some(DelayDistribution::constant(0.0)),
                ..Theory::default()
            };
        }
        let length = self.timeline.length().as_nanos() as f64;
        let weighed = self.timeline.lengths().zip(self.losses.iter());
        let loss = if length == 0.0 {
            self.losses[0].get()
        } else {
            weighed.map(|(t, p)| t as f64 / length * p.get()).sum()
        };
        Theory {
            loss: Some(loss),
            ..Theory::default()
        }
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{N, assert_near, p, stream};
    use super::super::{Channel, Stage};
    use super::*;

    const TRAFFIC: Sampling = Sampling {
        bytes: 1500,
        spacing: Interval::from_micros(1001),
    };

    fn ms(value: u64) -> Interval {
        Interval::from_millis(value)
    }

    fn timeline(times: &[u64], repeats: bool) -> Timeline {
        let times: Vec<_> = times.iter().map(|&t| ms(t)).collect();
        Timeline::new(&times, repeats).unwrap()
    }

    fn delays(process: DelayTrace) -> Vec<f64> {
        let mut channel = Channel::new(vec![Stage::Process(Box::new(process))]);
        (0..N as u64)
            .map(|i| {
                let now = Instant::ZERO + TRAFFIC.spacing * i;
                channel.pass(now, 1500).hold.as_secs_f64()
            })
            .collect()
    }

    /// The trace is not random, so only the sampling limits the agreement: one row of 30 in a
    /// thousand laps of a second.
    #[test]
    fn the_distribution_of_the_delay_is_that_of_the_trace() {
        let values: Vec<_> = [30, 45, 27, 27, 80, 33].iter().map(|&d| ms(d)).collect();
        let times = [0, 150, 300, 450, 700, 1000];
        for interpolate in [false, true] {
            let trace = DelayTrace::new(
                timeline(&times, true),
                values.clone(),
                interpolate,
                ms(13),
                false,
            );
            let distribution = trace.theory(TRAFFIC).delay.unwrap();
            let mut measured = delays(trace);
            let mean = measured.iter().sum::<f64>() / N as f64;
            assert!(
                (mean - distribution.mean).abs() < 1e-5,
                "{mean} {}",
                distribution.mean
            );
            let spread = measured.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / N as f64;
            assert!((spread.sqrt() - distribution.deviation).abs() < 1e-5);
            measured.sort_by(f64::total_cmp);
            for (p, delay) in distribution.quantiles {
                let at = measured[(p * N as f64) as usize - 1];
                assert!((at - delay).abs() < 2e-4, "{p}: {at} {delay}");
            }
        }
    }

    #[test]
    fn lines_are_straight_and_the_last_row_holds() {
        let rows = vec![ms(10), ms(20), ms(10)];
        let mut trace = DelayTrace::new(timeline(&[0, 10, 30], false), rows, true, ms(0), true);
        for (now, delay) in [(0, 10), (5, 15), (10, 20), (20, 15), (30, 10), (900, 10)] {
            assert_eq!(trace.delay(Instant::ZERO + ms(now)), ms(delay));
        }
    }

    #[test]
    fn order_is_kept_where_the_delay_falls() {
        let rows = vec![ms(50), ms(10)];
        for (keep, second) in [(true, 45), (false, 10)] {
            let line = timeline(&[0, 10], false);
            let mut trace = DelayTrace::new(line, rows.clone(), false, ms(0), keep);
            assert_eq!(trace.keeps_order(), keep);
            let mut hold = |now| {
                let mut passage = Passage::CLEAN;
                trace.pass(Instant::ZERO + ms(now), 1500, &mut passage);
                passage.hold
            };
            assert_eq!(hold(5), ms(50));
            assert_eq!(hold(10), ms(second));
            assert_eq!(hold(100), ms(10));
        }
    }

    #[test]
    fn loss_is_the_mean_of_the_trace_and_that_of_each_row() {
        let losses = vec![p(0.0), p(0.2), p(0.01), p(0.9)];
        let trace = LossTrace::new(
            timeline(&[0, 100, 150, 1000], true),
            losses,
            ms(0),
            stream("t"),
        );
        let expected = trace.theory(TRAFFIC).loss.unwrap();
        assert!((expected - (0.05 * 0.2 + 0.85 * 0.01)).abs() < 1e-12);
        let mut channel = Channel::new(vec![Stage::Process(Box::new(trace))]);
        let (mut lost, mut of_row, mut lost_in_row) = (0, 0, 0);
        for i in 0..N as u64 {
            let now = Instant::ZERO + TRAFFIC.spacing * i;
            let gone = channel.pass(now, 1500).verdict == Verdict::Drop(DropCause::Loss);
            let time = now.as_nanos() % 1_000_000_000;
            assert!(!gone || time >= 100_000_000);
            if (100_000_000..150_000_000).contains(&time) {
                of_row += 1;
                lost_in_row += u32::from(gone);
            }
            lost += u32::from(gone);
        }
        let error = (0.05 * 0.16 + 0.85 * 0.0099) / N as f64;
        assert_near(f64::from(lost) / N as f64, expected, error.sqrt());
        let share = f64::from(lost_in_row) / f64::from(of_row);
        assert_near(share, 0.2, (0.16 / f64::from(of_row)).sqrt());
    }

    #[test]
    fn a_trace_that_ends_has_no_closed_form() {
        for repeats in [false, true] {
            let line = timeline(&[0, 100], repeats);
            let loss = LossTrace::new(line.clone(), vec![p(0.1), p(0.3)], ms(0), stream("t"));
            let delay = DelayTrace::new(line, vec![ms(1), ms(9)], false, ms(0), true);
            assert_eq!(loss.theory(TRAFFIC).loss, repeats.then_some(0.1));
            assert_eq!(delay.theory(TRAFFIC).delay.is_some(), repeats);
        }
    }

    #[test]
    fn a_trace_of_nothing_is_left_out() {
        let none = DelayTrace::new(timeline(&[0], false), vec![ms(0)], false, ms(0), true);
        let never = LossTrace::new(timeline(&[0], false), vec![p(0.0)], ms(0), stream("t"));
        assert!(none.is_inert() && never.is_inert());
        assert_eq!(never.theory(TRAFFIC).loss, Some(0.0));
    }

    /// A level equal to the share of delays up to some value has that value as its quantile.
    #[test]
    fn a_level_on_a_step_has_the_delay_of_the_step() {
        let pieces = [0.0, 1.0, 4.0].map(|delay| (delay, delay, 0.25));
        let measured = quantiles(&[&pieces[..], &[(8.0, 8.0, 0.25)]].concat());
        for (level, delay) in [
            (0.05, 0.0),
            (0.25, 0.0),
            (0.5, 1.0),
            (0.75, 4.0),
            (0.95, 8.0),
        ] {
            let &(_, at) = measured.iter().find(|item| item.0 == level).unwrap();
            assert!((at - delay).abs() < 1e-9, "{level}: {at}");
        }
    }
}
