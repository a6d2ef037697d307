//! Departure times of a UDP flow's datagrams.

use crate::scenario::{MessageSource, UdpSpec};
use farlink_channel::rng::Stream;
use farlink_tcp::{Instant, Interval};

/// Messages of a class, and the next message.
#[derive(Debug)]
struct Messages {
    class: Box<dyn MessageSource>,
    /// Time of the next message.
    at: Instant,
    /// Bytes of the message that have not been sent.
    left: u64,
    is_over: bool,
}

impl Messages {
    /// Returns the time of the next datagram; the time of the last message as an error at the end.
    fn next(&mut self) -> Result<Instant, Instant> {
        while self.left == 0 && !self.is_over {
            match self.class.next_message(self.at) {
                Some((pause, bytes)) => {
                    self.at += pause;
                    self.left = bytes;
                }
                None => self.is_over = true,
            }
        }
        if self.is_over {
            Err(self.at)
        } else {
            Ok(self.at)
        }
    }
}

/// Source with a constant rate, with or without off-times, or with messages of a class.
///
/// The clock of the source runs only in on-times. Datagram k is due when the clock shows the time of
/// k datagrams at the rate. Rounding errors therefore do not add up, and an on-time too short for a
/// datagram counts towards the next.
#[derive(Debug)]
pub(crate) struct Source {
    spec: UdpSpec,
    stream: Stream,
    started: Instant,
    /// Start of the current on-time, and its length.
    period: Instant,
    on: Interval,
    /// Time of the source's clock at this start.
    before: Interval,
    /// Number of datagrams sent.
    pub(crate) sent: u64,
    /// Messages in place of the constant rate.
    messages: Option<Messages>,
    /// Bytes of data in the shortest datagram so far.
    shortest: u32,
}

impl Source {
    /// Creates a source that starts with an on-time.
    pub(crate) fn new(spec: UdpSpec, mut stream: Stream, started: Instant) -> Self {
        let on = match &spec.on_off {
            Some((on, _)) => span(on.draw_time(&mut stream)),
            None => Interval::MAX,
        };
        let class = spec
            .source
            .and_then(|class| class.source(stream.next_u64()));
        if let Some(class) = &class {
            class.refuse_reports();
        }
        Self {
            messages: class.map(|class| Messages {
                class,
                at: started,
                left: 0,
                is_over: false,
            }),
            shortest: spec.packet,
            spec,
            stream,
            started,
            period: started,
            on,
            before: Interval::ZERO,
            sent: 0,
        }
    }

    /// Counts the datagram that is sent now. Returns its bytes of data.
    pub(crate) fn take(&mut self) -> u32 {
        self.sent += 1;
        let Some(messages) = &mut self.messages else {
            return self.spec.packet;
        };
        let len = messages.left.min(self.spec.packet.into()) as u32;
        messages.left -= u64::from(len);
        self.shortest = self.shortest.min(len);
        len
    }

    /// Returns the bytes of data in the shortest datagram so far.
    pub(crate) fn shortest(&self) -> u32 {
        self.shortest
    }

    /// Returns the bytes of data in each datagram; `None` if lengths vary.
    pub(crate) fn constant_len(&self) -> Option<u32> {
        self.messages.is_none().then_some(self.spec.packet)
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Returns the time of the next datagram. If the source ends before, returns its end as an
    /// error.
    pub(crate) fn next(&mut self) -> Result<Instant, Instant> {
        let at = match &mut self.messages {
            Some(messages) => messages.next()?,
            None => self.due(),
        };
        match self.ends() {
            Some(ends) if at >= ends => Err(ends),
            _ if self.spec.datagrams == Some(self.sent) => Err(at),
            _ => Ok(at),
        }
    }

    fn ends(&self) -> Option<Instant> {
        self.spec.duration.map(|after| self.started + after)
    }

    /// Returns the time of the next datagram at the constant rate.
    fn due(&mut self) -> Instant {
        let bits = 8 * u128::from(self.spec.packet) * u128::from(self.sent);
        let due = bits * 1_000_000_000 / u128::from(self.spec.rate);
        let due = Interval::from_nanos(u64::try_from(due).unwrap_or(u64::MAX));
        let ends = self.ends();
        let over = |at: Instant| ends.is_some_and(|ends| at >= ends);
        while due - self.before >= self.on && !over(self.period) {
            let Some((on, off)) = &self.spec.on_off else {
                break;
            };
            self.before = self.before + self.on;
            self.period = self.period + self.on + off.draw_time(&mut self.stream);
            self.on = span(on.draw_time(&mut self.stream));
        }
        self.period + (due - self.before)
    }

    /// Returns the completed share at `now`, from 0 to 1.
    pub(crate) fn share(&self, now: Instant) -> f64 {
        let by_number = self
            .spec
            .datagrams
            .map_or(0.0, |n| self.sent as f64 / n.max(1) as f64);
        let by_time = self.spec.duration.map_or(0.0, |duration| {
            now.since(self.started).as_secs_f64() / duration.as_secs_f64().max(1e-9)
        });
        by_number.max(by_time).min(1.0)
    }
}

/// Returns an on-time of at least 1 ns, because a loop over on-times of 0 would not end.
fn span(on: Interval) -> Interval {
    on.max(Interval::from_nanos(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_channel::distribution::Distribution;
    use farlink_channel::rng::Streams;

    const SECOND: f64 = 1e9;

    fn source(
        on_off: Option<(Distribution, Distribution)>,
        datagrams: Option<u64>,
        seconds: Option<u64>,
    ) -> Source {
        let spec = UdpSpec {
            rate: 8000,
            packet: 100,
            on_off,
            datagrams,
            duration: seconds.map(Interval::from_secs),
            source: None,
        };
        let stream = Streams::new(1, 0).stream("source");
        Source::new(spec, stream, Instant::ZERO + Interval::from_secs(1))
    }

    /// Returns the times of all datagrams, and the end of the source.
    fn times(source: &mut Source) -> (Vec<f64>, f64) {
        let mut times = Vec::new();
        loop {
            match source.next() {
                Ok(at) => times.push(at.as_secs_f64()),
                Err(end) => return (times, end.as_secs_f64()),
            }
            source.sent += 1;
        }
    }

    #[test]
    fn a_constant_rate_is_kept_to_the_nanosecond() {
        // 800 bits at 8 kbit/s are 0.1 s.
        let (sent, end) = times(&mut source(None, Some(4), None));
        assert_eq!((sent, end), (vec![1.0, 1.1, 1.2, 1.3], 1.4));
        let (sent, end) = times(&mut source(None, None, Some(2)));
        assert_eq!((sent.len(), end), (20, 3.0));
        // 1/3 s is not a whole number of nanoseconds, but datagram 3n is sent exactly at second n.
        let mut source = source(None, None, None);
        source.spec.rate = 2400;
        source.sent = 3_000_000_000;
        let at = Instant::ZERO + Interval::from_secs(1_000_000_001);
        assert_eq!(source.next(), Ok(at));
    }

    /// Messages from a list of pauses in ms and bytes.
    #[derive(Debug)]
    struct Listed(Vec<(u64, u64)>);

    impl MessageSource for Listed {
        fn next_message(&mut self, _: Instant) -> Option<(Interval, u64)> {
            let (pause, bytes) = (!self.0.is_empty()).then(|| self.0.remove(0))?;
            Some((Interval::from_millis(pause), bytes))
        }
    }

    /// A message of 250 bytes is three datagrams at one time with `packet` = 100.
    #[test]
    fn messages_are_cut_into_datagrams_that_leave_together() {
        let mut source = source(None, None, Some(1));
        source.messages = Some(Messages {
            class: Box::new(Listed(vec![(100, 250), (0, 100), (400, 30), (600, 1)])),
            at: source.started,
            left: 0,
            is_over: false,
        });
        assert_eq!(source.constant_len(), None);
        let mut sent = Vec::new();
        let end = loop {
            match source.next() {
                Ok(at) => sent.push((at.as_secs_f64(), source.take())),
                Err(end) => break end,
            }
        };
        assert_eq!(
            sent,
            [(1.1, 100), (1.1, 100), (1.1, 50), (1.1, 100), (1.5, 30)]
        );
        // The last message is due at 2.1 s, after the duration of 1 s from 1 s.
        assert_eq!((end.as_secs_f64(), source.shortest()), (2.0, 30));
    }

    #[test]
    fn fixed_periods_give_fixed_times() {
        let distribution = (
            Distribution::Constant(0.25 * SECOND),
            Distribution::Constant(SECOND),
        );
        let (sent, end) = times(&mut source(Some(distribution), Some(6), None));
        // On-times are 1.0 to 1.25, 2.25 to 2.5 and 3.5 to 3.75 s. Datagram 3 is due after 0.3 s of
        // on-time.
        let expected = [1.0, 1.1, 1.2, 2.3, 2.4, 3.5];
        for (at, expected) in sent.iter().zip(expected) {
            assert!((at - expected).abs() < 1e-9, "{sent:?}");
        }
        assert!((end - 3.6).abs() < 1e-9);
        // On-times shorter than the time of a datagram add up.
        let distribution = (
            Distribution::Constant(0.05 * SECOND),
            Distribution::Constant(0.05 * SECOND),
        );
        let (sent, _) = times(&mut source(Some(distribution), None, Some(10)));
        assert_eq!(sent.len(), 50);
    }

    /// The mean rate is rate * on / (on + off), for any distribution.
    #[test]
    fn periods_that_vary_have_their_mean_rate() {
        let distributions = [
            (
                Distribution::Exponential { mean: SECOND },
                Distribution::Exponential { mean: 3.0 * SECOND },
            ),
            (
                Distribution::pareto_of_mean(SECOND, 2.5),
                Distribution::pareto_of_mean(3.0 * SECOND, 2.5),
            ),
        ];
        for distribution in distributions {
            let (sent, _) = times(&mut source(Some(distribution), None, Some(200_000)));
            let share = sent.len() as f64 / 2_000_000.0;
            // With 50,000 periods, the standard error of a share of 1/4 is sqrt(2) * 3/16 /
            // sqrt(50,000) for exponential periods. The bound is four standard errors. Pareto
            // periods vary less.
            assert!((share - 0.25).abs() < 0.0048, "{distribution:?}: {share}");
        }
    }
}
