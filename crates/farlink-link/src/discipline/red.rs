//! RED (Floyd and Jacobson 1993), gentle (Floyd 2000) and adaptive (Floyd, Gummadi and Shenker
//! 2001). Packets are dropped or marked with a probability that grows with the mean queue.

use super::queue::{Drops, Fifo, Leaving, Reason, Waiting};
use crate::link::config::QueueLimit;
use farlink_channel::rng::Stream;
use farlink_tcp::{Instant, Interval};
use farlink_wire::id::PacketId;

/// Parameters of RED.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RedConfig {
    /// Mean queue in packets below which nothing is dropped.
    pub min: f64,
    /// Mean queue in packets at which the probability is `probability`.
    pub max: f64,
    /// Probability at `max`.
    pub probability: f64,
    /// Weight of a new length in the mean.
    pub weight: f64,
    /// Set if the probability rises from `probability` to 1 between `max` and twice `max`,
    /// instead of jumping to 1.
    pub gentle: bool,
    /// Set if `probability` follows the mean queue, so that the mean stays between `min` and `max`.
    pub adaptive: bool,
    /// Set if ECN-capable packets are marked instead of dropped below `max`.
    pub ecn: bool,
    /// Transmission time of a mean packet, for the mean of an idle queue.
    pub packet_time: Interval,
}

/// Time between two changes of the probability by adaptive RED.
const ADAPT_EVERY: Interval = Interval::from_millis(500);

/// FIFO queue under RED.
#[derive(Debug)]
pub struct Red {
    config: RedConfig,
    pub(super) limit: QueueLimit,
    pub(super) queue: Fifo,
    mean: f64,
    /// Packets since the last drop; `None` while the mean is below `min`.
    count: Option<u32>,
    /// Start of the idle time; `None` while packets wait.
    idle_since: Option<Instant>,
    /// Time of the last arrival or departure.
    seen: Instant,
    adapts: Instant,
    random: Stream,
}

/// Decision about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Decision {
    Accept,
    /// Mark if the packet is ECN-capable, else drop.
    Notify,
    Drop,
}

impl Red {
    /// Creates an empty queue.
    pub fn new(config: RedConfig, limit: QueueLimit, random: Stream) -> Self {
        Self {
            config,
            limit,
            queue: Fifo::new(),
            mean: 0.0,
            count: None,
            idle_since: Some(Instant::ZERO),
            seen: Instant::ZERO,
            adapts: Instant::ZERO + ADAPT_EVERY,
            random,
        }
    }

    pub(super) fn queued(&self) -> (u32, u64) {
        self.queue.queued()
    }

    pub(super) fn set_packet_time(&mut self, packet_time: Interval) {
        self.config.packet_time = packet_time;
    }

    #[cfg(test)]
    pub(super) fn packet_time(&self) -> Interval {
        self.config.packet_time
    }

    pub(super) fn drain(&mut self, into: &mut Vec<PacketId>) {
        self.queue.drain(into);
        self.idle_since.get_or_insert(self.seen);
    }

    /// Returns the mean queue in packets.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the probability at the upper threshold, which adaptive RED changes.
    pub fn probability_at_max(&self) -> f64 {
        self.config.probability
    }

    /// Brings the mean up to date with an arrival.
    fn average(&mut self, now: Instant) {
        let keep = 1.0 - self.config.weight;
        if let Some(since) = self.idle_since.take() {
            let packets = now.since(since).as_nanos() / self.config.packet_time.as_nanos().max(1);
            self.mean *= libm::pow(keep, packets as f64);
        }
        self.mean = keep * self.mean + self.config.weight * f64::from(self.queue.queued().0);
    }

    /// Adapts the probability to the mean (Floyd, Gummadi and Shenker 2001, section 4.2).
    fn adapt(&mut self, now: Instant) {
        if !self.config.adaptive {
            return;
        }
        let RedConfig { min, max, .. } = self.config;
        let (low, high) = (min + 0.4 * (max - min), min + 0.6 * (max - min));
        while self.adapts <= now {
            let probability = self.config.probability;
            if self.mean > high && probability <= 0.5 {
                self.config.probability += (probability / 4.0).min(0.01);
            } else if self.mean < low && probability >= 0.01 {
                self.config.probability *= 0.9;
            }
            self.adapts += ADAPT_EVERY;
        }
    }

    /// Returns the probability at the present mean if the mean is between the thresholds; 0 below
    /// them and `None` above. The number of packets since the last drop is not included.
    pub(crate) fn probability(&self) -> Option<f64> {
        let RedConfig {
            min,
            max,
            probability,
            ..
        } = self.config;
        if self.mean < min {
            Some(0.0)
        } else if self.mean < max {
            Some(probability * (self.mean - min) / (max - min))
        } else if self.config.gentle && self.mean < 2.0 * max {
            Some(probability + (1.0 - probability) * (self.mean - max) / max)
        } else {
            None
        }
    }

    fn decide(&mut self) -> Decision {
        if self.mean < self.config.min {
            self.count = None;
            return Decision::Accept;
        }
        let Some(base) = self.probability() else {
            self.count = Some(0);
            return Decision::Drop;
        };
        let count = self.count.map_or(0, |count| count + 1);
        self.count = Some(count);
        // Uniform gaps between drops: p / (1 - count p) (Floyd and Jacobson 1993, figure 2).
        let left = 1.0 - f64::from(count) * base;
        let chance = if left > 0.0 { base / left } else { 1.0 };
        if self.random.uniform() >= chance {
            return Decision::Accept;
        }
        self.count = Some(0);
        if self.mean < self.config.max {
            Decision::Notify
        } else {
            Decision::Drop
        }
    }

    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        packet: Waiting,
        drops: &mut Drops,
    ) -> Option<bool> {
        self.seen = now;
        self.average(now);
        self.adapt(now);
        let decision = self.decide();
        let accepted = self.admit(packet, decision, drops);
        if self.queue.is_empty() {
            // The queue stays idle, and its mean must go on to fall.
            self.idle_since = Some(now);
        }
        accepted
    }

    /// Queues or drops an arriving packet. Returns whether the packet was marked; `None` if it was
    /// dropped.
    fn admit(&mut self, packet: Waiting, decision: Decision, drops: &mut Drops) -> Option<bool> {
        if self.queue.is_full(self.limit, packet.len) {
            drops.push((packet, Reason::Full));
            return None;
        }
        let mark = decision == Decision::Notify && self.config.ecn && packet.ecn.markable();
        if decision != Decision::Accept && !mark {
            drops.push((packet, Reason::Control));
            return None;
        }
        self.queue.push(packet);
        Some(mark)
    }

    pub(super) fn dequeue(&mut self, now: Instant) -> Option<Leaving> {
        self.seen = now;
        let waiting = self.queue.pop()?;
        if self.queue.is_empty() {
            self.idle_since = Some(now);
        }
        Some(Leaving {
            waiting,
            marked: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::tests::{at, random, red_config};

    /// Floyd, Gummadi and Shenker 2001, 4.2: the mean is kept between 40 and 60 % of the way from
    /// the lower to the upper threshold (9 and 11 of 5 to 15 packets).
    #[test]
    fn adaptive_red_keeps_the_mean_in_the_middle() {
        for (mean, before, after) in [
            (11.5, 0.02, 0.025),
            (11.5, 0.1, 0.11),
            (11.5, 0.501, 0.501),
            (10.9, 0.1, 0.1),
            (9.1, 0.1, 0.1),
            (8.5, 0.1, 0.09),
            (8.5, 0.0099, 0.0099),
        ] {
            let config = RedConfig {
                adaptive: true,
                probability: before,
                ..red_config()
            };
            let mut queue = Red::new(config, QueueLimit::Unlimited, random());
            queue.mean = mean;
            queue.adapt(at(500));
            let got = queue.probability_at_max();
            assert!((got - after).abs() < 1e-12, "{mean} {before}: {got}");
        }
    }

    /// Floyd and Jacobson 1993, figure 2: the count is -1 below the lower threshold, so the first
    /// packet above it has the count 0.
    #[test]
    fn count_begins_at_the_first_packet_above_the_lower_threshold() {
        let mut queue = Red::new(red_config(), QueueLimit::Unlimited, random());
        queue.count = Some(7);
        assert_eq!((queue.decide(), queue.count), (Decision::Accept, None));
        queue.mean = queue.config.min;
        for count in 0..3 {
            assert_eq!(queue.decide(), Decision::Accept);
            assert_eq!(queue.count, Some(count));
        }
    }
}
