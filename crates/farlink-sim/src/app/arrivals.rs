//! Start times of conversations.

use super::command::{Command, Side};
use farlink_channel::distribution::Distribution;
use farlink_channel::rng::Stream;
use farlink_tcp::Instant;

/// The conversations of a flow. Each starts at its arrival time or at the end of the previous
/// conversation, whichever is later.
#[derive(Debug)]
pub(crate) struct Arrivals {
    between: Distribution,
    stream: Stream,
    /// Arrival time of the current conversation.
    arrived: Instant,
    /// Number of completed conversations.
    over: u64,
    /// Maximum number of conversations; `None` for no limit.
    limit: Option<u64>,
}

impl Arrivals {
    pub(super) fn new(between: Distribution, limit: Option<u64>, stream: Stream) -> Self {
        Self {
            between,
            stream,
            arrived: Instant::ZERO,
            over: 0,
            limit,
        }
    }

    /// Starts the first conversation now.
    pub(super) fn start(&mut self, now: Instant) {
        self.arrived = now;
    }

    /// Ends a conversation and schedules the next.
    pub(super) fn next(&mut self, now: Instant, commands: &mut Vec<Command>) {
        self.over += 1;
        if self.limit == Some(self.over) {
            commands.push(Command::Complete(Side::To));
            return;
        }
        self.arrived += self.between.draw_time(&mut self.stream);
        commands.push(Command::Wake(self.arrived.max(now)));
    }

    /// Returns the finished share, from 0 to 1.
    pub(super) fn share(&self) -> f64 {
        self.over as f64 / self.limit.unwrap_or(1).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_channel::rng::Streams;
    use farlink_tcp::Interval;

    fn arrivals(between: Distribution, limit: Option<u64>) -> Arrivals {
        Arrivals::new(between, limit, Streams::new(1, 0).stream("arrivals"))
    }

    #[test]
    fn conversation_starts_at_its_arrival_or_end_of_previous() {
        let at = |s| Instant::ZERO + Interval::from_secs(s);
        let mut all = arrivals(Distribution::Constant(10e9), Some(4));
        all.start(at(1));
        let mut next = |s| {
            let mut commands = Vec::new();
            all.next(at(s), &mut commands);
            commands
        };
        assert_eq!(next(5), [Command::Wake(at(11))]);
        // This conversation is longer than the time to the next arrival. The arrival after the next
        // is not shifted.
        assert_eq!(next(28), [Command::Wake(at(28))]);
        assert_eq!(next(29), [Command::Wake(at(31))]);
        assert_eq!(next(40), [Command::Complete(Side::To)]);
    }

    /// With exponential times between arrivals, the number of arrivals in 1 s has mean and variance
    /// 2, as a Poisson variable.
    #[test]
    fn exponential_arrivals_are_poisson() {
        let mut all = arrivals(Distribution::Exponential { mean: 0.5e9 }, None);
        all.start(Instant::ZERO);
        let seconds = 50_000;
        let mut counts = vec![0u32; seconds];
        loop {
            let mut commands = Vec::new();
            all.next(Instant::ZERO, &mut commands);
            let Command::Wake(at) = commands[0] else {
                panic!("{commands:?}")
            };
            let Some(count) = counts.get_mut(at.as_secs_f64() as usize) else {
                break;
            };
            *count += 1;
        }
        let n = seconds as f64;
        let mean = counts.iter().map(|&k| f64::from(k)).sum::<f64>() / n;
        let variance = counts
            .iter()
            .map(|&k| (f64::from(k) - mean).powi(2))
            .sum::<f64>()
            / n;
        assert!((mean - 2.0).abs() < 4.0 * (2.0 / n).sqrt(), "{mean}");
        // The variance of a sample variance of n Poisson counts with mean 2 is (2 * 2^2 + 2) / n.
        assert!(
            (variance - 2.0).abs() < 4.0 * (10.0 / n).sqrt(),
            "{variance}"
        );
    }
}
