//! Delay of the Internet on the path: a constant plus an Erlang variate, which grows in a second
//! state (Leung 1998, section 3.3.2; Wong 1998, section 3.2.4).

use super::closed_form::{DelayDistribution, Derived, LEVELS, Sampling, Theory};
use super::error::ChannelError;
use super::markov;
use super::passage::Passage;
use super::process::Process;
use crate::rng::{Probability, Stream};
use farlink_tcp::{Instant, Interval};

/// Parameters of the state of raised delay.
#[derive(Clone, PartialEq, Debug)]
pub struct Raised {
    /// Probability of entering the raised state, after each packet (S01).
    pub enter: Probability,
    /// Probability of leaving the raised state, after each packet (S10).
    pub leave: Probability,
    /// Weights and means of the Erlang variates; one variate is drawn for each packet. Weights are
    /// relative to their sum.
    pub means: Vec<(f64, Interval)>,
}

/// Delays each packet by a constant and an Erlang variate. The mean of the variate depends on a
/// two-state chain that moves after each packet.
///
/// Erlang of order n and mean m (equations 12 to 14): density
/// a^n x^(n-1) exp(-a x) / (n-1)! with a = n / m, deviation m / sqrt(n).
#[derive(Clone, Debug)]
pub struct InternetDelay {
    constant: Interval,
    order: u32,
    mean: Interval,
    raised: Option<Raised>,
    keep_order: bool,
    is_raised: bool,
    /// Departure time of the last packet, before which no later packet may leave.
    last: Instant,
    stream: Stream,
}

/// Probability that a packet exceeds the highest quantile computed.
const NEGLIGIBLE: f64 = 1e-9;
/// Number of earlier packets that the closed form of an ordered delay considers.
const MEMORY: usize = 2000;
/// Number of steps of the integral over a tail.
const STEPS: u32 = 2000;

impl InternetDelay {
    /// Creates the process. `order` is the order of the Erlang variate, and `mean` its mean in the
    /// normal state. With `keep_order` a packet waits for earlier packets; otherwise it may
    /// overtake them.
    ///
    /// # Errors
    /// Fails if the order is 0, or the weights of the raised state are negative or all zero, or its
    /// chain never moves.
    pub fn new(
        constant: Interval,
        order: u32,
        mean: Interval,
        raised: Option<Raised>,
        keep_order: bool,
        mut stream: Stream,
    ) -> Result<Self, ChannelError> {
        if order == 0 {
            return Err(ChannelError::Cannot(
                "an Erlang distribution of order 0 cannot be: write 1 or more",
            ));
        }
        let mut is_raised = false;
        if let Some(raised) = &raised {
            let sum: f64 = raised.means.iter().map(|part| part.0).sum();
            if !(sum.is_finite() && sum > 0.0 && raised.means.iter().all(|part| part.0 >= 0.0)) {
                return Err(ChannelError::Cannot(
                    "the weights of the raised state are not weights: write numbers from 0 up, at \
                     least one above 0",
                ));
            }
            let (enter, leave) = (raised.enter.get(), raised.leave.get());
            if enter == 0.0 && leave == 0.0 {
                return Err(ChannelError::Frozen);
            }
            is_raised = stream.chance(Probability::clamped(enter / (enter + leave)));
        }
        Ok(Self {
            constant,
            order,
            mean,
            raised,
            keep_order,
            is_raised,
            last: Instant::ZERO,
            stream,
        })
    }

    fn draw(&mut self) -> Interval {
        let mut mean = self.mean;
        if let Some(raised) = &self.raised {
            let sum: f64 = raised.means.iter().map(|part| part.0).sum();
            let mut place = self.stream.uniform() * sum;
            if self.is_raised {
                for &(weight, part) in &raised.means {
                    mean = part;
                    if place < weight {
                        break;
                    }
                    place -= weight;
                }
            }
            let move_ = if self.is_raised {
                raised.leave
            } else {
                raised.enter
            };
            self.is_raised ^= self.stream.chance(move_);
        }
        let each = mean.as_nanos() as f64 / f64::from(self.order);
        let nanos: f64 = (0..self.order).map(|_| self.stream.exponential(each)).sum();
        self.constant + Interval::from_nanos(libm::round(nanos) as u64)
    }

    /// Returns the probabilities of leaving the two states.
    fn leave(&self) -> [f64; 2] {
        match &self.raised {
            Some(raised) => [raised.enter.get(), raised.leave.get()],
            None => [0.0, 1.0],
        }
    }

    /// Returns the weights and means (s) of the Erlang variates of a state.
    fn parts(&self, state: usize) -> Vec<(f64, f64)> {
        match (&self.raised, state) {
            (Some(raised), 1) => {
                let sum: f64 = raised.means.iter().map(|part| part.0).sum();
                raised
                    .means
                    .iter()
                    .map(|&(weight, mean)| (weight / sum, mean.as_secs_f64()))
                    .collect()
            }
            _ => vec![(1.0, self.mean.as_secs_f64())],
        }
    }

    /// Returns the mean and the deviation of one draw, in seconds.
    fn moments(&self) -> (f64, f64) {
        let shares = markov::shares(self.leave());
        let order = f64::from(self.order);
        let (mut mean, mut square) = (0.0, 0.0);
        for (state, share) in shares.into_iter().enumerate() {
            for (weight, part) in self.parts(state) {
                mean += share * weight * part;
                square += share * weight * part * part * (1.0 + 1.0 / order);
            }
        }
        let deviation = libm::sqrt((square - mean * mean).max(0.0));
        (self.constant.as_secs_f64() + mean, deviation)
    }

    /// Returns a probability per state: that of a draw made `spacing` earlier to delay the present
    /// packet by more than `x` seconds beyond the constant.
    fn tails(&self, x: f64) -> [f64; 2] {
        [0, 1].map(|state| {
            let parts = self.parts(state);
            parts
                .iter()
                .map(|&(weight, mean)| weight * erlang_tail(self.order, mean, x))
                .sum()
        })
    }

    /// Returns the distribution function of the delay beyond the constant at `x` seconds. With the
    /// order kept, the delay of a packet is the largest of its own draw and of X(-k) - k s over the
    /// earlier packets k. Returns `None` if more than `MEMORY` earlier packets matter.
    fn distribution(&self, x: f64, spacing: f64) -> Option<f64> {
        let shares = markov::shares(self.leave());
        let steps = markov::steps(self.leave());
        let mut back = 0;
        if self.keep_order {
            while self
                .tails(x + back as f64 * spacing)
                .iter()
                .any(|&t| t > 1e-12)
            {
                back += 1;
                if back > MEMORY {
                    return None;
                }
            }
        }
        let mut reach = shares;
        for k in (0..=back).rev() {
            let tails = self.tails(x + k as f64 * spacing);
            let below = [0, 1].map(|state| reach[state] * (1.0 - tails[state]));
            reach = if k == 0 {
                below
            } else {
                [0, 1].map(|to| below[0] * steps[0][to] + below[1] * steps[1][to])
            };
        }
        Some(reach[0] + reach[1])
    }

    fn delay_distribution(&self, spacing: f64) -> Option<DelayDistribution> {
        let constant = self.constant.as_secs_f64();
        let longest = [0, 1]
            .iter()
            .flat_map(|&state| self.parts(state))
            .map(|part| part.1)
            .fold(0.0, f64::max);
        if longest == 0.0 {
            return Some(DelayDistribution::constant(constant));
        }
        // An upper end beyond every quantile is found by doubling.
        let mut end = longest;
        while 1.0 - self.distribution(end, spacing)? > NEGLIGIBLE {
            end *= 2.0;
        }
        let quantile = |q: f64| -> Option<(f64, f64)> {
            let (mut low, mut high) = (0.0, end);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if self.distribution(middle, spacing)? < q {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            Some((q, constant + high))
        };
        let quantiles = LEVELS.iter().map(|&q| quantile(q)).collect::<Option<_>>()?;
        let (mean, deviation) = if self.keep_order {
            // E[D] is the integral of P(D > x), and E[D^2] the integral of 2 x P(D > x). Both use
            // the midpoint rule with steps that grow with x.
            let (mut first, mut second) = (0.0, 0.0);
            let place = |i: u32| end * libm::pow(f64::from(i) / f64::from(STEPS), 3.0);
            for i in 0..STEPS {
                let (from, to) = (place(i), place(i + 1));
                let x = 0.5 * (from + to);
                let tail = 1.0 - self.distribution(x, spacing)?;
                first += tail * (to - from);
                second += 2.0 * x * tail * (to - from);
            }
            (constant + first, libm::sqrt(second - first * first))
        } else {
            self.moments()
        };
        Some(DelayDistribution {
            mean,
            deviation,
            quantiles,
        })
    }
}

/// Returns P(X > x) of an Erlang variate: the first `order` terms of a Poisson distribution of mean
/// n x / m.
fn erlang_tail(order: u32, mean: f64, x: f64) -> f64 {
    if mean == 0.0 || x < 0.0 {
        return f64::from(u8::from(x < 0.0));
    }
    let rate = f64::from(order) * x / mean;
    let mut term = libm::exp(-rate);
    let mut sum = term;
    for k in 1..order {
        term *= rate / f64::from(k);
        sum += term;
    }
    sum
}

impl Process for InternetDelay {
    #[inline]
    fn pass(&mut self, now: Instant, _bytes: u32, passage: &mut Passage) {
        passage.hold = passage.hold + self.draw();
        if !self.keep_order {
            passage.may_overtake = true;
        } else if !passage.may_overtake {
            self.last = self.last.max(now + passage.hold);
            passage.hold = self.last.since(now);
        }
    }

    fn is_inert(&self) -> bool {
        let raised = self.raised.iter().flat_map(|raised| &raised.means);
        let mut means = raised.map(|part| part.1).chain([self.mean, self.constant]);
        means.all(Interval::is_zero)
    }

    fn keeps_order(&self) -> bool {
        self.keep_order
    }

    fn theory(&self, sampling: Sampling) -> Theory {
        Theory {
            delay: self.delay_distribution(sampling.spacing.as_secs_f64()),
            ..Theory::clean()
        }
    }

    fn derived(&self) -> Vec<Derived> {
        let (mean, deviation) = self.moments();
        let derived = |name, unit, value, source| Derived {
            name,
            unit,
            value,
            source,
        };
        let mut out = vec![
            derived(
                "mean_delay",
                "s",
                mean,
                "constant and Leung 1998, equation 13; before packets wait for each other",
            ),
            derived("delay_deviation", "s", deviation, "Leung 1998, equation 14"),
        ];
        if let Some(raised) = &self.raised {
            let share = markov::shares(self.leave())[1];
            let run = 1.0 / raised.leave.get();
            out.push(derived(
                "raised_share",
                "probability",
                share,
                "S01 / (S01 + S10)",
            ));
            out.push(derived("mean_raised_run", "", run, "1 / S10, packets"));
        }
        out
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::agreement::{PacketFates, near, sampling};
    use super::super::testing::{assert_near, p, rate_error, stream};
    use super::*;

    const MS: u64 = 1_000_000;

    /// Builds the process of Leung's Table 4.1, with the raised state in runs of `run` packets.
    fn leung(run: f64, keep_order: bool) -> InternetDelay {
        let raised = Raised {
            enter: p(0.04 / 0.96 / run),
            leave: p(1.0 / run),
            means: vec![
                (0.75, Interval::from_millis(10)),
                (0.25, Interval::from_millis(100)),
            ],
        };
        let (constant, mean) = (Interval::from_millis(10), Interval::from_millis(1));
        InternetDelay::new(constant, 2, mean, Some(raised), keep_order, stream("delay")).unwrap()
    }

    /// Compares the delays of a million packets with the distribution, by batch means.
    fn check(mut process: InternetDelay, spacing: u64) {
        let distribution = process.theory(sampling(1500, spacing)).delay.unwrap();
        let measured = PacketFates::of(&mut process, |i| (1500, i as u64 * spacing));
        assert_eq!(measured.delays.len(), measured.lost.len());
        // The first packets have fewer packets before them than the closed form assumes.
        let delays = &measured.delays[10_000..];
        let mean_of = |value: &dyn Fn(f64) -> f64| -> (f64, f64) {
            let means: Vec<f64> = delays
                .chunks_exact(delays.len() / 100)
                .map(|batch| batch.iter().map(|&d| value(d)).sum::<f64>() / batch.len() as f64)
                .collect();
            let mean = means.iter().sum::<f64>() / 100.0;
            let square = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>();
            (mean, (square / 99.0 / 100.0).sqrt())
        };
        near("mean", mean_of(&|d| d), distribution.mean);
        let (variance, error) = mean_of(&|d| (d - distribution.mean).powi(2));
        let deviation = variance.sqrt();
        near(
            "deviation",
            (deviation, error / (2.0 * deviation)),
            distribution.deviation,
        );
        for (q, x) in distribution.quantiles {
            let (above, error) = mean_of(&|d| f64::from(u8::from(d > x)));
            assert!(
                (above - (1.0 - q)).abs() <= 4.0 * error + 1e-9,
                "{q}: {above} above {x}, error {error}"
            );
        }
    }

    #[test]
    fn the_delay_of_the_study_has_its_distribution() {
        // Packets far apart, in order or not, and packets close together in order.
        check(leung(1.0 / 0.96, false), MS);
        check(leung(5.0, false), MS);
        check(leung(1.0 / 0.96, true), 5_000 * MS);
        check(leung(1.0 / 0.96, true), 8 * MS);
        check(leung(5.0, true), 3 * MS);
    }

    #[test]
    fn moments_are_those_of_the_study() {
        // Leung 1998 as the study's record infers it: 12.26 ms for a share of 0.04.
        let derived = leung(1.0 / 0.96, true).derived();
        assert!((derived[0].value - 0.01226).abs() < 1e-9, "{derived:?}");
        assert!((derived[2].value - 0.04).abs() < 1e-12);
        // Wong 1998: 20 ms and an Erlang variate of mean 10 ms; order 2 is farlink's choice.
        let (constant, mean) = (Interval::from_millis(20), Interval::from_millis(10));
        let wong = InternetDelay::new(constant, 2, mean, None, true, stream("wong")).unwrap();
        let derived = wong.derived();
        assert!((derived[0].value - 0.03).abs() < 1e-12);
        assert!((derived[1].value - 0.01 / 2f64.sqrt()).abs() < 1e-12);
        check(wong, 100 * MS);
    }

    #[test]
    fn order_is_kept_unless_disabled() {
        let overtakes = |keep_order: bool| {
            let mut process = leung(5.0, keep_order);
            assert_eq!(process.keeps_order(), keep_order);
            let measured = PacketFates::of(&mut process, |i| (1500, i as u64 * MS));
            measured
                .delays
                .windows(2)
                .filter(|w| w[1] + 0.001 < w[0] - 1e-12)
                .count()
        };
        assert_eq!(overtakes(true), 0);
        assert!(overtakes(false) > 10_000);
    }

    #[test]
    fn a_distribution_that_looks_too_far_back_is_not_given() {
        assert_eq!(leung(5.0, true).theory(sampling(1500, 10)).delay, None);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let ms = Interval::from_millis;
        let none = InternetDelay::new(ms(1), 0, ms(1), None, true, stream("x"));
        assert!(none.unwrap_err().to_string().contains("order 0"));
        let raised = |enter, weight| Raised {
            enter: p(enter),
            leave: p(enter),
            means: vec![(weight, ms(1))],
        };
        let new = |raised| InternetDelay::new(ms(1), 2, ms(1), Some(raised), true, stream("x"));
        assert_eq!(new(raised(0.0, 1.0)).unwrap_err(), ChannelError::Frozen);
        assert!(
            new(raised(0.1, 0.0))
                .unwrap_err()
                .to_string()
                .contains("weights")
        );
    }

    /// Checks the tail. One term is an exponential. Two and three terms are sums of Poisson
    /// probabilities with mean 6, because x is two or three times the mean.
    #[test]
    fn the_tail_of_an_erlang_variate() {
        for (order, mean, x, terms) in [
            (1, 0.5, 1.0, 1.0),
            (2, 1.0, 3.0, 7.0),
            (3, 1.0, 2.0, 25.0),
            (2, 1.0, 0.0, 1.0),
        ] {
            let rate = f64::from(order) * x / mean;
            let tail = erlang_tail(order, mean, x);
            assert!((tail - terms * libm::exp(-rate)).abs() < 1e-12, "{order}");
        }
        // The tail is 1 below 0, and 0 above 0 for a mean of zero.
        assert_eq!(erlang_tail(2, 1.0, -0.1), 1.0);
        assert_eq!(erlang_tail(2, 0.0, -0.1), 1.0);
        assert_eq!(erlang_tail(2, 0.0, 0.0), 0.0);
    }

    /// If the raised state is never left, variates of mean 10 ms and of mean 0 are drawn by their
    /// weights 3 : 1.
    #[test]
    fn weights_are_relative_to_their_sum() {
        let ms = Interval::from_millis;
        let raised = Raised {
            enter: p(1.0),
            leave: p(0.0),
            means: vec![(3.0, ms(10)), (1.0, ms(0))],
        };
        let mut delay =
            InternetDelay::new(ms(5), 1, ms(1), Some(raised), false, stream("weights")).unwrap();
        let n = 20_000;
        let at_once = (0..n).filter(|_| {
            let mut passage = Passage::CLEAN;
            delay.pass(Instant::ZERO, 1500, &mut passage);
            passage.hold == ms(5)
        });
        let share = at_once.count() as f64 / n as f64;
        assert_near(share, 0.25, rate_error(0.25, n));
    }
}
