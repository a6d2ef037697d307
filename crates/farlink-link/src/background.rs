//! Background traffic on a link: packets that use transmitter time and queue space but belong to no
//! flow.
//!
//! Conversations arrive as a Poisson process. Each sends a random number of bytes as packets at its
//! own rate, then ends. A conversation does not react to losses or delays.

use farlink_channel::rng::Stream;
use farlink_tcp::{Instant, Interval};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Distribution of positive numbers with a given mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// Constant: every draw is the mean.
    Constant,
    /// Exponential distribution.
    Exponential,
    /// Log-normal: the natural logarithm has standard deviation `sigma`.
    LogNormal {
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Pareto: P(X > x) = (m / x)^shape for x above the minimum m.
    Pareto {
        /// Shape, above 1.
        shape: f64,
    },
}

impl Distribution {
    /// Draws a value from the distribution with this mean.
    fn draw(self, mean: f64, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant => mean,
            Self::Exponential => stream.exponential(mean),
            Self::LogNormal { sigma } => {
                mean * libm::exp(sigma * stream.normal() - 0.5 * sigma * sigma)
            }
            Self::Pareto { shape } => pareto(mean * (shape - 1.0) / shape, shape, stream),
        }
    }

    /// Draws the remainder of an interval observed at a random time. The interval is drawn from the
    /// length-weighted distribution, and the remainder is uniform on it.
    fn left(self, mean: f64, stream: &mut Stream) -> f64 {
        let whole = match self {
            Self::Constant => mean,
            Self::Exponential => stream.exponential(mean) + stream.exponential(mean),
            Self::LogNormal { sigma } => {
                mean * libm::exp(sigma * stream.normal() + 0.5 * sigma * sigma)
            }
            Self::Pareto { shape } => pareto(mean * (shape - 1.0) / shape, shape - 1.0, stream),
        };
        whole * stream.uniform()
    }
}

/// Draws a Pareto variate as `least * exp(E)`, where E is exponential with mean 1 / `shape`.
fn pareto(least: f64, shape: f64, stream: &mut Stream) -> f64 {
    least * libm::exp(stream.exponential(1.0 / shape))
}

/// Source of conversations of one kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Source {
    /// Mean number of conversations that begin per second.
    pub arrivals: f64,
    /// Mean size of a conversation in IP bytes.
    pub size: f64,
    /// Distribution of the bytes of a conversation.
    pub size_distribution: Distribution,
    /// IP bytes of a packet. The last packet of a conversation carries the remainder.
    pub packet: u32,
    /// Mean sending rate of a conversation in IP bit/s.
    pub rate: f64,
    /// Distribution of the time between packets of a conversation.
    pub spacing_distribution: Distribution,
}

impl Source {
    /// Returns the mean offered load in IP bit/s.
    pub fn load(&self) -> f64 {
        8.0 * self.arrivals * self.size
    }

    /// Returns the mean number of active conversations: arrival rate times mean duration.
    pub fn active(&self) -> f64 {
        self.load() / self.rate
    }

    /// Returns the mean time between packets of a conversation in ns.
    fn spacing(&self) -> f64 {
        8e9 * f64::from(self.packet) / self.rate
    }
}

/// Bytes of the shortest packet: an IPv4 header and one byte.
const SHORTEST: u32 = 21;

/// Next event of a source: a new conversation, or the next packet of an active one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Due {
    at: Instant,
    source: u32,
    /// Sequence number, which orders events at the same time.
    number: u64,
    /// Remaining bytes of an active conversation; `None` if the event begins a new conversation.
    left: Option<u64>,
}

/// Background traffic of one direction: its sources and their next events.
#[derive(Clone, Debug)]
pub struct Background {
    sources: Vec<(Source, Stream)>,
    due: BinaryHeap<Reverse<Due>>,
    number: u64,
}

impl Background {
    /// Creates the sources in steady state. The number of active conversations at time 0 is a
    /// Poisson variate with mean [`Source::active`]. Each of them starts with a random remainder of
    /// its bytes.
    pub fn new(sources: Vec<(Source, Stream)>) -> Self {
        let mut this = Self {
            sources,
            due: BinaryHeap::new(),
            number: 0,
        };
        for source in 0..this.sources.len() {
            let (traffic, stream) = &mut this.sources[source];
            let traffic = *traffic;
            let mut begun = Vec::new();
            let mut sum = stream.exponential(1.0);
            while sum < traffic.active() {
                let left = traffic.size_distribution.left(traffic.size, stream);
                let at = traffic.spacing_distribution.left(traffic.spacing(), stream);
                begun.push((nanos(at), bytes(left)));
                sum += stream.exponential(1.0);
            }
            let first = nanos(stream.exponential(1e9 / traffic.arrivals));
            for (after, left) in begun {
                this.schedule(source as u32, Instant::ZERO + after, Some(left));
            }
            this.schedule(source as u32, Instant::ZERO + first, None);
        }
        this
    }

    /// Returns an upper bound of the mean number of packets per second.
    pub fn packets(&self) -> f64 {
        let of = |(source, _): &(Source, Stream)| {
            source.arrivals * (1.0 + source.size / f64::from(source.packet))
        };
        self.sources.iter().map(of).sum()
    }

    fn schedule(&mut self, source: u32, at: Instant, left: Option<u64>) {
        let number = self.number;
        self.number += 1;
        self.due.push(Reverse(Due {
            at,
            source,
            number,
            left,
        }));
    }

    /// Removes the next packet that arrives until `now`. Returns its arrival time and IP bytes.
    pub fn next_until(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let due = self.due.peek()?.0;
        if due.at > now {
            return None;
        }
        self.due.pop();
        let left = if let Some(left) = due.left {
            left
        } else {
            let (source, stream) = &mut self.sources[due.source as usize];
            let next = due.at + nanos(stream.exponential(1e9 / source.arrivals));
            let size = bytes(source.size_distribution.draw(source.size, stream));
            self.schedule(due.source, next, None);
            size
        };
        let (source, stream) = &mut self.sources[due.source as usize];
        let packet = left.min(u64::from(source.packet)) as u32;
        let rest = left - u64::from(packet);
        if rest > 0 {
            let next = due.at + nanos(source.spacing_distribution.draw(source.spacing(), stream));
            self.schedule(due.source, next, Some(rest));
        }
        Some((due.at, packet.max(SHORTEST)))
    }
}

fn nanos(nanos: f64) -> Interval {
    Interval::from_nanos(libm::round(nanos) as u64)
}

/// Rounds a size to whole bytes, at least 1.
fn bytes(bytes: f64) -> u64 {
    (libm::round(bytes) as u64).max(1)
}

/// Counters of the background packets of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BackgroundStats {
    /// Packets that were sent.
    pub packets: u64,
    /// IP bytes of these packets.
    pub bytes: u64,
    /// Packets dropped because the queue was full.
    pub drops: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fate, LinkConfig, QueueLimit, Simplex};
    use farlink_channel::rng::Streams;
    use farlink_channel::{Channel, DropCause};
    use farlink_tcp::Priority;

    fn stream(name: &str) -> Stream {
        Streams::new(1, 0).stream(name)
    }

    fn poisson(load: f64, packet: u32) -> Source {
        Source {
            arrivals: load / 8.0 / f64::from(packet),
            size: f64::from(packet),
            size_distribution: Distribution::Constant,
            packet,
            rate: 1e9,
            spacing_distribution: Distribution::Constant,
        }
    }

    fn background(sources: &[Source]) -> Background {
        let stream = |i| stream(&format!("other traffic {i}"));
        Background::new((0..).zip(sources).map(|(i, &s)| (s, stream(i))).collect())
    }

    fn link(rate: u64, queue: QueueLimit, sources: &[Source]) -> Simplex {
        let config = LinkConfig {
            rate,
            delay: Interval::ZERO,
            overhead: 0,
            service: Interval::ZERO,
            fec: None,
            queue,
            mark: QueueLimit::Unlimited,
            priorities: false,
        };
        Simplex::new(config, Channel::default()).with_background(background(sources))
    }

    fn seconds(s: f64) -> Instant {
        Instant::ZERO + nanos(s * 1e9)
    }

    /// Returns the mean of `values` and its standard error, estimated from 50 batch means.
    fn batches(values: &[f64]) -> (f64, f64) {
        let means: Vec<f64> = values
            .chunks_exact(values.len() / 50)
            .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
            .collect();
        let mean = means.iter().sum::<f64>() / 50.0;
        let square: f64 = means.iter().map(|m| (m - mean).powi(2)).sum();
        (mean, (square / 49.0 / 50.0).sqrt())
    }

    #[track_caller]
    fn near((measured, error): (f64, f64), expected: f64) {
        assert!(
            error < 0.05 * expected,
            "{measured} +- {error} says nothing"
        );
        assert!(
            (measured - expected).abs() < 4.0 * error,
            "{measured} +- {error} is not {expected}"
        );
    }

    #[test]
    fn wait_with_poisson_background_matches_m_d_1() {
        // 1000 bytes at 8 Mbit/s take S = 1 ms. The mean wait of an M/D/1 queue is rho S / (2 (1 -
        // rho)) (Pollaczek and Khinchine).
        for rho in [0.3, 0.7] {
            let mut link = link(
                8_000_000,
                QueueLimit::Unlimited,
                &[poisson(rho * 8e6, 1000)],
            );
            let mut random = stream("probes");
            let mut now = 1.0;
            let waits: Vec<f64> = (0..100_000)
                .map(|_| {
                    now += random.exponential(0.02);
                    let Fate::Arrives { at, .. } = link.offer(seconds(now), 1, Priority::Normal)
                    else {
                        panic!("lost");
                    };
                    at.since(seconds(now)).as_secs_f64() - 1e-6
                })
                .collect();
            near(batches(&waits), rho * 1e-3 / (2.0 * (1.0 - rho)));
        }
    }

    /// Returns the loss rate of an M/D/1 queue for `places` packets, including the packet in
    /// service. The rate comes from the Markov chain of the queue length at departures (Cooper
    /// 1981, chapter 5).
    fn m_d_1_k(rho: f64, places: usize) -> f64 {
        let arrivals = |k: usize| (1..=k).fold((-rho).exp(), |p, i| p * rho / i as f64);
        // Unnormalised stationary probabilities of the queue length after a departure, from the
        // balance equations.
        let mut left = vec![1.0];
        for j in 0..places - 1 {
            let later: f64 = (1..=j).map(|i| left[i] * arrivals(j - i + 1)).sum();
            left.push((left[j] - left[0] * arrivals(j) - later) / arrivals(0));
        }
        let sum: f64 = left.iter().sum();
        // P(lost) = 1 - 1 / (pi_0 + rho).
        1.0 - 1.0 / (left[0] / sum + rho)
    }

    #[test]
    fn loss_of_poisson_background_matches_m_d_1_k() {
        // M/D/1/1 loses rho / (1 + rho) (Erlang's formula, for any service distribution).
        assert!((m_d_1_k(0.7, 1) - 0.7 / 1.7).abs() < 1e-12);
        for (rho, waiting) in [(0.8, 2), (1.2, 5)] {
            let sources = [poisson(rho * 8e6, 1000)];
            let mut link = link(8_000_000, QueueLimit::Packets(waiting), &sources);
            let mut last = BackgroundStats::default();
            let losses: Vec<f64> = (1..=1000)
                .map(|second| {
                    link.queued(seconds(f64::from(second)));
                    let now = link.background_stats();
                    let drops = (now.drops - last.drops) as f64;
                    let offered = drops + (now.packets - last.packets) as f64;
                    last = now;
                    drops / offered
                })
                .collect();
            near(batches(&losses), m_d_1_k(rho, waiting as usize + 1));
        }
    }

    #[test]
    fn full_queue_drops_flow_packets_at_the_same_rate() {
        let sources = [poisson(1.2 * 8e6, 1000)];
        let mut link = link(8_000_000, QueueLimit::Packets(5), &sources);
        let mut random = stream("probes");
        let mut now = 1.0;
        let lost: Vec<f64> = (0..50_000)
            .map(|_| {
                now += random.exponential(0.02);
                let fate = link.offer(seconds(now), 1, Priority::Normal);
                f64::from(u8::from(!matches!(fate, Fate::Arrives { .. })))
            })
            .collect();
        // Poisson arrivals see time averages (PASTA), so packets of flows have the loss rate of the
        // queue.
        near(batches(&lost), m_d_1_k(1.2, 6));
        let drops = link.stats().drops[DropCause::Congestion as usize];
        assert_eq!(drops, lost.iter().sum::<f64>() as u64);
    }

    #[test]
    fn background_load_is_stationary_from_time_zero() {
        let base = Source {
            arrivals: 20.0,
            size: 50_000.0,
            size_distribution: Distribution::Exponential,
            packet: 552,
            rate: 1e6,
            spacing_distribution: Distribution::Exponential,
        };
        for (size_distribution, spacing_distribution) in [
            (Distribution::Constant, Distribution::Constant),
            (Distribution::Exponential, Distribution::Exponential),
            (
                Distribution::LogNormal { sigma: 0.8 },
                Distribution::Constant,
            ),
            (
                Distribution::Pareto { shape: 2.5 },
                Distribution::Pareto { shape: 2.5 },
            ),
        ] {
            let source = Source {
                size_distribution,
                spacing_distribution,
                ..base
            };
            assert!((source.active() - 8.0).abs() < 1e-9);
            let mut all = background(&[source]);
            let loads: Vec<f64> = (1..=2000)
                .map(|second| {
                    let mut bytes = 0.0;
                    while let Some((_, len)) = all.next_until(seconds(f64::from(second))) {
                        bytes += f64::from(len);
                    }
                    8.0 * bytes
                })
                .collect();
            near(batches(&loads), source.load());
            // The first seconds of 1000 runs match the steady state.
            let first: Vec<f64> = (0..1000)
                .map(|run| {
                    let stream = stream(&format!("first {run}"));
                    let mut item = Background::new(vec![(source, stream)]);
                    let mut bytes = 0.0;
                    while let Some((_, len)) = item.next_until(seconds(0.2)) {
                        bytes += f64::from(len);
                    }
                    8.0 * bytes / 0.2
                })
                .collect();
            near(batches(&first), source.load());
        }
    }

    #[test]
    fn distributions_match_mean_and_pareto_tail() {
        let mut random = stream("laws");
        let n = 200_000;
        for distribution in [
            Distribution::Exponential,
            Distribution::LogNormal { sigma: 1.0 },
            Distribution::Pareto { shape: 2.5 },
        ] {
            let draws: Vec<f64> = (0..n)
                .map(|_| distribution.draw(3.0, &mut random))
                .collect();
            near(batches(&draws), 3.0);
        }
        let heavy = Distribution::Pareto { shape: 1.2 };
        let least = 3.0 * 0.2 / 1.2;
        for times in [2.0, 10.0, 100.0] {
            let above: Vec<f64> = (0..n)
                .map(|_| f64::from(u8::from(heavy.draw(3.0, &mut random) > times * least)))
                .collect();
            near(batches(&above), f64::powf(times, -1.2));
        }
    }

    #[test]
    fn background_packets_are_ordered_and_sizes_add_up() {
        let source = Source {
            arrivals: 5.0,
            size: 10_000.0,
            size_distribution: Distribution::Constant,
            packet: 1500,
            rate: 1e6,
            spacing_distribution: Distribution::Exponential,
        };
        let mut all = background(&[source, poisson(1e5, 100)]);
        let mut last = Instant::ZERO;
        let mut short = 0;
        while let Some((at, len)) = all.next_until(seconds(100.0)) {
            assert!(at >= last);
            last = at;
            // A whole conversation is six packets of 1500 bytes and one of 1000. A conversation
            // that is active at the start sends only its remainder.
            short += u32::from(len == 1000);
        }
        assert!((400..600).contains(&short), "{short}");
    }
}
