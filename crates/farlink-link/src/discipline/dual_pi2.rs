//! Dual queue with a coupled PI2 controller (RFC 9332, appendix A): a shallow queue for L4S
//! traffic, and a queue for classic traffic. The drop probability of classic traffic is the square
//! of a linear probability.

use super::queue::{Drops, Fifo, Leaving, Reason, Waiting};
use crate::link::config::QueueLimit;
use farlink_tcp::{Ecn, Instant, Interval};
use farlink_wire::id::PacketId;

/// Parameters of the dual queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DualPi2Config {
    /// Delay of the classic queue to keep (15 ms).
    pub target: Interval,
    /// Time between two updates of the base probability (16 ms).
    pub update: Interval,
    /// Weight of the distance to the target, in 1/s (.16).
    pub alpha: f64,
    /// Weight of the change of the delay, in 1/s (3.2).
    pub beta: f64,
    /// Coupling factor (2).
    pub coupling: f64,
    /// Sojourn times between which the mark probability of the L4S queue rises from 0 to 1 (800 us
    /// and 1.2 ms).
    pub ramp: (Interval, Interval),
    /// Share of the link that classic traffic gets at least while both queues wait (10 %).
    pub classic_share: f64,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        Self {
            target: Interval::from_millis(15),
            update: Interval::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            ramp: (Interval::from_micros(800), Interval::from_micros(1200)),
            classic_share: 0.1,
        }
    }
}

/// Bytes of one packet, below which the L4S queue does not mark.
const PACKET: u64 = 1514;

/// Bytes that wait behind a packet below which the controller neither marks nor drops the packet,
/// as in Linux (`must_drop` of sch_dualpi2). On a link that takes longer than the target for a
/// packet, the controller would otherwise drop all.
const FEW: u64 = 2 * PACKET;

/// Queue with the sum of its probabilities since the last mark or drop.
#[derive(Debug)]
struct Half {
    queue: Fifo,
    sum: f64,
}

impl Half {
    const fn new() -> Self {
        Self {
            queue: Fifo::new(),
            sum: 0.0,
        }
    }

    /// Selects a share of the packets, evenly spaced (`recur` of RFC 9332, appendix A.1).
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.sum += likelihood;
        let selected = self.sum > 1.0;
        if selected {
            self.sum -= 1.0;
        }
        selected
    }
}

/// Two queues under one controller.
#[derive(Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    pub(super) limit: QueueLimit,
    low_latency: Half,
    classic: Half,
    /// Base probability p' of RFC 9332.
    base: f64,
    previous: Interval,
    next: Instant,
    /// Bytes by which the L4S queue is ahead of its share. The classic queue is served at zero or
    /// below.
    credit: f64,
}

impl DualPi2 {
    /// Creates empty queues.
    pub fn new(config: DualPi2Config, limit: QueueLimit) -> Self {
        Self {
            next: Instant::ZERO + config.update,
            config,
            limit,
            low_latency: Half::new(),
            classic: Half::new(),
            base: 0.0,
            previous: Interval::ZERO,
            credit: 0.0,
        }
    }

    pub(super) fn queued(&self) -> (u32, u64) {
        let (low, classic) = (self.low_latency.queue.queued(), self.classic.queue.queued());
        (low.0 + classic.0, low.1 + classic.1)
    }

    pub(super) fn drain(&mut self, into: &mut Vec<PacketId>) {
        self.low_latency.queue.drain(into);
        self.classic.queue.drain(into);
    }

    /// Returns the drop probability of classic packets, the square of the base probability.
    pub fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    /// Returns the mark probability that the classic queue imposes on L4S packets.
    pub fn coupled_probability(&self) -> f64 {
        (self.config.coupling * self.base).min(1.0)
    }

    /// Runs the updates that were due by `now`.
    fn run(&mut self, now: Instant) {
        while self.next <= now {
            let at = self.next;
            let delay = self
                .classic
                .queue
                .delay(at)
                .max(self.low_latency.queue.delay(at));
            if self.base == 0.0 && delay.is_zero() && self.previous.is_zero() {
                let missed = now.since(at).as_nanos() / self.config.update.as_nanos() + 1;
                self.next = at + self.config.update.saturating_mul(missed);
                return;
            }
            let seconds = delay.as_secs_f64();
            self.base += self.config.alpha * (seconds - self.config.target.as_secs_f64())
                + self.config.beta * (seconds - self.previous.as_secs_f64());
            self.base = self.base.clamp(0.0, 1.0);
            self.previous = delay;
            self.next = at + self.config.update;
        }
    }

    /// Returns whether the classic probability is so high that L4S packets are dropped too (RFC
    /// 9332, 4.2.3): above 1/k^2 the mark probability of L4S packets is 1.
    fn is_overloaded(&self) -> bool {
        self.config.coupling * self.base >= 1.0
    }

    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        packet: Waiting,
        drops: &mut Drops,
    ) -> Option<bool> {
        self.run(now);
        let (packets, bytes) = self.queued();
        if self.limit.is_full(packets, bytes, packet.len) {
            drops.push((packet, Reason::Full));
            return None;
        }
        let half = match packet.ecn {
            Ecn::Ect1 | Ecn::Ce => &mut self.low_latency,
            Ecn::NotEct | Ecn::Ect0 => &mut self.classic,
        };
        half.queue.push(packet);
        Some(false)
    }

    /// Returns whether the L4S queue is served next (weighted round robin by bytes).
    fn low_latency_has_turn(&self) -> bool {
        !self.low_latency.queue.is_empty() && (self.classic.queue.is_empty() || self.credit > 0.0)
    }

    /// Returns the mark probability of the L4S queue's own ramp.
    fn ramp(&self, delay: Interval) -> f64 {
        let (from, to) = self.config.ramp;
        if self.low_latency.queue.queued().1 < PACKET || delay <= from {
            0.0
        } else if delay >= to {
            1.0
        } else {
            delay.saturating_sub(from).as_secs_f64() / to.saturating_sub(from).as_secs_f64()
        }
    }

    pub(super) fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Leaving> {
        self.run(now);
        loop {
            let (is_low, both) = (
                self.low_latency_has_turn(),
                !self.low_latency.queue.is_empty() && !self.classic.queue.is_empty(),
            );
            let (leaving, dropped) = if is_low {
                self.next_low_latency(now)?
            } else {
                self.next_classic()?
            };
            if dropped {
                drops.push((leaving.waiting, Reason::Control));
                continue;
            }
            let len = f64::from(leaving.waiting.len);
            let share = self.config.classic_share;
            if !both {
                self.credit = 1.0;
            } else if is_low {
                self.credit -= share * len;
            } else {
                self.credit += (1.0 - share) * len;
            }
            return Some(leaving);
        }
    }

    /// Removes the first L4S packet. Returns it, and whether to drop it.
    fn next_low_latency(&mut self, now: Instant) -> Option<(Leaving, bool)> {
        let ramp = self.ramp(self.low_latency.queue.delay(now));
        let waiting = self.low_latency.queue.pop()?;
        if self.queued().1 < FEW {
            let marked = self.low_latency.recurs(ramp);
            return Some((Leaving { waiting, marked }, false));
        }
        if self.is_overloaded() {
            let probability = self.classic_probability();
            let dropped = self.low_latency.recurs(probability);
            return Some((
                Leaving {
                    waiting,
                    marked: true,
                },
                dropped,
            ));
        }
        let likelihood = ramp.max(self.coupled_probability());
        let marked = self.low_latency.recurs(likelihood);
        Some((Leaving { waiting, marked }, false))
    }

    /// Removes the first classic packet. Returns it, and whether to drop it.
    fn next_classic(&mut self) -> Option<(Leaving, bool)> {
        let waiting = self.classic.queue.pop()?;
        if self.queued().1 < FEW {
            return Some((
                Leaving {
                    waiting,
                    marked: false,
                },
                false,
            ));
        }
        let probability = self.classic_probability();
        let selected = self.classic.recurs(probability);
        let marked = selected && waiting.ecn.markable() && !self.is_overloaded();
        Some((Leaving { waiting, marked }, selected && !marked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::tests::{at, packet};

    fn waits(count: u32) -> DualPi2 {
        let mut queue = DualPi2::new(DualPi2Config::default(), QueueLimit::Unlimited);
        for number in 0..count {
            let waiting = packet(number, 1514, 1, at(0), Ecn::Ect1);
            queue.enqueue(at(0), waiting, &mut Vec::new());
        }
        queue
    }

    #[test]
    fn ramp_rises_from_its_lower_to_its_upper_delay() {
        for (micros, share) in [
            (800, 0.0),
            (900, 0.25),
            (1000, 0.5),
            (1200, 1.0),
            (1300, 1.0),
        ] {
            let ramp = waits(1).ramp(Interval::from_micros(micros));
            assert!((ramp - share).abs() < 1e-12, "{micros}: {ramp}");
        }
        assert!(waits(0).ramp(Interval::from_millis(9)).abs() < 1e-12);
    }

    /// Linux, `must_drop` of sch_dualpi2: nothing is dropped or marked with less than two packets
    /// behind, however long the packets waited.
    #[test]
    fn few_packets_are_neither_dropped_nor_marked() {
        for (behind, is_spared) in [(1, true), (2, false)] {
            for ecn in [Ecn::NotEct, Ecn::Ect0] {
                let mut queue = waits(0);
                queue.base = 1.0;
                // A sum above zero makes the next packet the one to drop.
                queue.classic.sum = 0.5;
                for number in 0..=behind {
                    let waiting = packet(number, 1514, 1, at(0), ecn);
                    queue.enqueue(at(0), waiting, &mut Vec::new());
                }
                let mut drops = Vec::new();
                let leaving = queue.dequeue(at(10), &mut drops).expect("a packet");
                assert_eq!(drops.is_empty(), is_spared, "{behind} {ecn:?}");
                assert!(!leaving.marked);
            }
        }
    }

    /// The ramp of the L4S queue marks a lone packet that waited too long.
    #[test]
    fn ramp_marks_where_the_controller_does_not() {
        let mut queue = waits(1);
        queue.low_latency.sum = 0.5;
        let leaving = queue.dequeue(at(10), &mut Vec::new()).expect("a packet");
        assert!(leaving.marked);
    }

    /// RFC 9332, appendix A.1: the controller takes the longer delay of the two queues.
    #[test]
    fn delay_of_l4s_packets_raises_the_base_probability() {
        let mut queue = waits(2);
        queue.run(at(16));
        let expected = 0.16 * (0.016 - 0.015) + 3.2 * 0.016;
        assert!((queue.base - expected).abs() < 1e-12, "{}", queue.base);
    }
}
