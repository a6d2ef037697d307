//! PIE (RFC 8033): a proportional-integral controller sets the drop probability so that the
//! queueing delay stays near a target.

use super::queue::{Drops, Fifo, Leaving, Reason, Waiting};
use crate::link::config::QueueLimit;
use farlink_channel::rng::Stream;
use farlink_tcp::{Instant, Interval};
use farlink_wire::id::PacketId;

/// Parameters of PIE.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PieConfig {
    /// Queueing delay to keep (`QDELAY_REF`; 15 ms).
    pub target: Interval,
    /// Time between two updates of the probability (`T_UPDATE`; 15 ms).
    pub update: Interval,
    /// Weight of the distance to the target, in 1/s (1/8).
    pub alpha: f64,
    /// Weight of the change of the delay, in 1/s (5/4).
    pub beta: f64,
    /// Time without drops after an idle queue (`MAX_BURST`; 150 ms).
    pub burst: Interval,
    /// Set if ECN-capable packets are marked instead of dropped while the probability is at most
    /// 10 % (RFC 8033, 5.1).
    pub ecn: bool,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            target: Interval::from_millis(15),
            update: Interval::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst: Interval::from_millis(150),
            ecn: true,
        }
    }
}

/// Probability up to which PIE marks instead of dropping (`MARK_ECNTH`).
pub(crate) const MARKED_UP_TO: f64 = 0.1;

/// Bytes of a mean packet (RFC 8033, 4.1: `MEAN_PKTSIZE`). PIE drops nothing from a queue below two
/// such packets.
const MEAN_PACKET: u64 = 1500;

/// State of the controller (RFC 8033, 4.2).
#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) probability: f64,
    /// Sum of the probabilities since the last drop, which spaces drops evenly (RFC 8033, 5.4).
    accumulated: f64,
    delay: Interval,
    previous: Interval,
    burst: Interval,
    next: Instant,
}

impl Controller {
    pub(crate) fn new(config: &PieConfig) -> Self {
        Self {
            probability: 0.0,
            accumulated: 0.0,
            delay: Interval::ZERO,
            previous: Interval::ZERO,
            burst: config.burst,
            next: Instant::ZERO + config.update,
        }
    }

    /// Runs the updates that were due by `now`.
    pub(crate) fn run(&mut self, config: &PieConfig, now: Instant) {
        while self.next <= now {
            if self.is_idle(config) {
                // While no packet waits, only the grid of updates advances.
                let missed = now.since(self.next).as_nanos() / config.update.as_nanos() + 1;
                self.next += config.update.saturating_mul(missed);
                return;
            }
            self.update(config);
            self.next += config.update;
        }
    }

    fn is_idle(&self, config: &PieConfig) -> bool {
        self.probability == 0.0
            && self.delay.is_zero()
            && self.previous.is_zero()
            && self.burst == config.burst
    }

    /// Computes the probability anew (RFC 8033, 4.2 and 5.5).
    fn update(&mut self, config: &PieConfig) {
        let (delay, before) = (self.delay.as_secs_f64(), self.previous.as_secs_f64());
        let change =
            config.alpha * (delay - config.target.as_secs_f64()) + config.beta * (delay - before);
        let mut step = change * scale(self.probability);
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if self.delay.is_zero() && self.previous.is_zero() {
            self.probability *= 0.98;
        }
        if self.delay > Interval::from_millis(250) {
            self.probability += 0.02;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        let half = Interval::from_nanos(config.target.as_nanos() / 2);
        self.burst = self.burst.saturating_sub(config.update);
        if self.probability == 0.0 && self.delay < half && self.previous < half {
            self.burst = config.burst;
            self.accumulated = 0.0;
        }
        self.previous = self.delay;
    }

    /// Records the delay of a packet that leaves; `empty` is set if no other packet waits.
    pub(crate) fn on_dequeue(&mut self, delay: Interval, empty: bool) {
        self.delay = if empty { Interval::ZERO } else { delay };
    }

    /// Records that the queue lost all its packets at once.
    pub(crate) fn on_drained(&mut self) {
        self.delay = Interval::ZERO;
    }

    /// Records a drop by the limit, after which the spacing of drops begins anew (RFC 8033,
    /// appendix B).
    pub(crate) fn on_overflow(&mut self) {
        self.accumulated = 0.0;
    }

    /// Returns whether to drop (or mark) a packet that joins `bytes` waiting bytes (RFC 8033, 4.1
    /// and 5.4).
    pub(crate) fn selects(&mut self, config: &PieConfig, bytes: u64, random: &mut Stream) -> bool {
        let half = Interval::from_nanos(config.target.as_nanos() / 2);
        let calm = self.previous < half && self.probability < 0.2;
        if !self.burst.is_zero() || calm || bytes <= 2 * MEAN_PACKET {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        if self.accumulated < 0.85 {
            return false;
        }
        let selected = self.accumulated >= 8.5 || random.uniform() < self.probability;
        if selected {
            self.accumulated = 0.0;
        }
        selected
    }
}

/// Returns the factor on a step of the probability: small steps while the probability is small
/// (RFC 8033, 4.2).
fn scale(probability: f64) -> f64 {
    const STEPS: [(f64, f64); 6] = [
        (0.000_001, 2048.0),
        (0.000_01, 512.0),
        (0.000_1, 128.0),
        (0.001, 32.0),
        (0.01, 8.0),
        (0.1, 2.0),
    ];
    let step = STEPS.iter().find(|(below, _)| probability < *below);
    step.map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

/// FIFO queue under PIE.
#[derive(Debug)]
pub struct Pie {
    config: PieConfig,
    pub(super) limit: QueueLimit,
    pub(super) queue: Fifo,
    controller: Controller,
    random: Stream,
}

impl Pie {
    /// Creates an empty queue.
    pub fn new(config: PieConfig, limit: QueueLimit, random: Stream) -> Self {
        Self {
            controller: Controller::new(&config),
            config,
            limit,
            queue: Fifo::new(),
            random,
        }
    }

    pub(super) fn queued(&self) -> (u32, u64) {
        self.queue.queued()
    }

    pub(super) fn drain(&mut self, into: &mut Vec<PacketId>) {
        self.queue.drain(into);
        self.controller.on_drained();
    }

    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        packet: Waiting,
        drops: &mut Drops,
    ) -> Option<bool> {
        self.controller.run(&self.config, now);
        if self.queue.is_full(self.limit, packet.len) {
            self.controller.on_overflow();
            drops.push((packet, Reason::Full));
            return None;
        }
        let bytes = self.queue.queued().1;
        let selected = self
            .controller
            .selects(&self.config, bytes, &mut self.random);
        let mark = selected
            && self.config.ecn
            && packet.ecn.markable()
            && self.controller.probability <= MARKED_UP_TO;
        if selected && !mark {
            drops.push((packet, Reason::Control));
            return None;
        }
        self.queue.push(packet);
        Some(mark)
    }

    pub(super) fn dequeue(&mut self, now: Instant) -> Option<Leaving> {
        self.controller.run(&self.config, now);
        let waiting = self.queue.pop()?;
        self.controller
            .on_dequeue(waiting.sojourn(now), self.queue.is_empty());
        Some(Leaving {
            waiting,
            marked: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::tests::random;

    fn controller(probability: f64) -> (PieConfig, Controller) {
        let config = PieConfig::default();
        let mut controller = Controller::new(&config);
        controller.burst = Interval::ZERO;
        controller.probability = probability;
        (config, controller)
    }

    #[test]
    fn steps_are_divided_as_in_the_table_of_rfc_8033() {
        for (probability, divisor) in [
            (5e-7, 2048.0),
            (5e-6, 512.0),
            (5e-5, 128.0),
            (5e-4, 32.0),
            (5e-3, 8.0),
            (5e-2, 2.0),
            (5e-1, 1.0),
        ] {
            assert!(
                (scale(probability) * divisor - 1.0).abs() < 1e-12,
                "{probability}"
            );
        }
    }

    /// An empty queue subtracts alpha times the target, and 2 % of the remainder.
    #[test]
    fn probability_decays_at_an_empty_queue() {
        let (config, mut controller) = controller(0.5);
        controller.update(&config);
        let expected = (0.5 - config.alpha * 0.015) * 0.98;
        assert!((controller.probability - expected).abs() < 1e-12);
    }

    #[test]
    fn short_queues_and_small_probabilities_drop_nothing() {
        let select = |probability, previous, bytes| {
            let (config, mut controller) = controller(probability);
            controller.previous = Interval::from_micros(previous);
            controller.accumulated = 8.5;
            controller.selects(&config, bytes, &mut random())
        };
        let long = 2 * MEAN_PACKET + 1;
        // Half of the target is 7.5 ms.
        assert!(select(0.19, 7_500, long));
        assert!(!select(0.19, 7_499, long));
        assert!(select(0.2, 7_499, long));
        assert!(!select(0.2, 7_500, 2 * MEAN_PACKET));
    }

    #[test]
    fn a_packet_is_dropped_once_the_probabilities_add_up_to_eight_and_a_half() {
        for (sum, drops) in [(8.4, false), (8.5, true)] {
            let (config, mut controller) = controller(1e-12);
            controller.previous = config.target;
            controller.accumulated = sum;
            assert_eq!(
                controller.selects(&config, 100_000, &mut random()),
                drops,
                "{sum}"
            );
        }
    }

    /// RFC 8033, 4.2: an update takes `T_UPDATE` from the burst. Only a queue whose last two delays
    /// are below half of the target has a whole burst again.
    #[test]
    fn burst_falls_by_an_update_until_the_queue_is_calm() {
        for (delay, previous, left) in [(15, 15, 140), (0, 10, 140), (10, 0, 140), (0, 7, 150)] {
            let config = PieConfig {
                update: Interval::from_millis(10),
                alpha: 10.0,
                beta: 0.0,
                ..PieConfig::default()
            };
            let mut controller = Controller::new(&config);
            controller.delay = Interval::from_millis(delay);
            controller.previous = Interval::from_millis(previous);
            controller.update(&config);
            assert!(controller.probability.abs() < 1e-12);
            assert_eq!(
                controller.burst,
                Interval::from_millis(left),
                "{delay} {previous}"
            );
        }
    }

    #[test]
    fn idle_queue_without_its_burst_gets_it_back() {
        let (config, mut controller) = controller(0.0);
        controller.run(&config, Instant::ZERO + config.update);
        assert_eq!(controller.burst, config.burst);
    }
}
