//! `CoDel` (RFC 8289): drops or marks a packet once the sojourn time has stayed above a target for
//! an interval. Further drops follow at intervals that shrink with the square root of the number of
//! drops.

use super::queue::{Drops, Fifo, Leaving, Reason, Waiting};
use crate::link::config::QueueLimit;
use farlink_tcp::{Instant, Interval};
use farlink_wire::id::PacketId;

/// Parameters of `CoDel`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelConfig {
    /// Sojourn time that may persist (RFC 8289, 4.2; 5 ms).
    pub target: Interval,
    /// Time above the target before the first drop: the worst round trip (4.3; 100 ms).
    pub interval: Interval,
    /// Bytes of the largest packet. With at most this much queued, nothing is dropped (5.1).
    pub mtu: u32,
    /// Set if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Sojourn time above which ECN-capable packets are marked, independent of the control law.
    pub ce_threshold: Option<Interval>,
}

impl Default for CodelConfig {
    fn default() -> Self {
        Self {
            target: Interval::from_millis(5),
            interval: Interval::from_millis(100),
            mtu: 1514,
            ecn: true,
            ce_threshold: None,
        }
    }
}

/// State of `CoDel`'s control law (RFC 8289, 5).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Control {
    /// Time at which the sojourn time will have been above the target for an interval.
    first_above: Option<Instant>,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// Returns `from` + interval / sqrt(count), rounded down to a nanosecond (RFC 8289, 5.3).
pub(crate) fn control_law(from: Instant, interval: Interval, count: u32) -> Instant {
    let square = u128::from(interval.as_nanos()).pow(2);
    let step = (square / u128::from(count.max(1))).isqrt();
    from + Interval::from_nanos(step as u64)
}

impl Control {
    /// Removes the first packet. Returns it, and whether `CoDel` may drop it (`dodequeue` of RFC
    /// 8289, 5.6).
    fn pop(
        &mut self,
        config: &CodelConfig,
        queue: &mut Fifo,
        now: Instant,
    ) -> Option<(Waiting, bool)> {
        let Some(first) = queue.pop() else {
            self.first_above = None;
            return None;
        };
        let below = first.sojourn(now) < config.target;
        if below || queue.queued().1 <= u64::from(config.mtu) {
            self.first_above = None;
            return Some((first, false));
        }
        let above = self.first_above;
        self.first_above.get_or_insert(now + config.interval);
        Some((first, above.is_some_and(|at| now >= at)))
    }

    /// Removes the packet to be sent next, after those that the control law drops (`dequeue` of
    /// RFC 8289, 5.5).
    pub(crate) fn dequeue(
        &mut self,
        config: &CodelConfig,
        queue: &mut Fifo,
        now: Instant,
        drops: &mut Drops,
    ) -> Option<Leaving> {
        let Some((mut first, may_drop)) = self.pop(config, queue, now) else {
            self.dropping = false;
            return None;
        };
        let mut marked = false;
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if config.ecn && first.ecn.markable() {
                    marked = true;
                    self.drop_next = control_law(self.drop_next, config.interval, self.count);
                    break;
                }
                drops.push((first, Reason::Control));
                let Some((next, may_drop)) = self.pop(config, queue, now) else {
                    self.dropping = false;
                    return None;
                };
                first = next;
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next = control_law(self.drop_next, config.interval, self.count);
                }
            }
        } else if may_drop {
            if config.ecn && first.ecn.markable() {
                marked = true;
            } else {
                drops.push((first, Reason::Control));
                let next = self.pop(config, queue, now);
                self.enter(config, now);
                let Some((next, _)) = next else {
                    self.dropping = false;
                    return None;
                };
                first = next;
            }
            if marked {
                self.enter(config, now);
            }
        }
        let late = |most| first.sojourn(now) > most && first.ecn.markable();
        Some(Leaving {
            waiting: first,
            marked: marked || config.ce_threshold.is_some_and(late),
        })
    }

    /// Records that the queue lost all its packets at once, which leaves no packet above the
    /// target.
    pub(crate) fn on_drained(&mut self) {
        self.first_above = None;
    }

    /// Begins to drop. After recent drops, the drop rate of that time is used again (RFC 8289,
    /// 5.5).
    fn enter(&mut self, config: &CodelConfig, now: Instant) {
        let delta = self.count.saturating_sub(self.last_count);
        let until = self.drop_next + config.interval.saturating_mul(16);
        self.count = if delta > 1 && now < until { delta } else { 1 };
        self.dropping = true;
        self.drop_next = control_law(now, config.interval, self.count);
        self.last_count = self.count;
    }
}

/// FIFO queue under `CoDel`.
#[derive(Debug)]
pub struct Codel {
    config: CodelConfig,
    pub(super) limit: QueueLimit,
    pub(super) queue: Fifo,
    control: Control,
}

impl Codel {
    /// Creates an empty queue.
    pub fn new(config: CodelConfig, limit: QueueLimit) -> Self {
        Self {
            config,
            limit,
            queue: Fifo::new(),
            control: Control::default(),
        }
    }

    pub(super) fn queued(&self) -> (u32, u64) {
        self.queue.queued()
    }

    pub(super) fn drain(&mut self, into: &mut Vec<PacketId>) {
        self.queue.drain(into);
        self.control.on_drained();
    }

    pub(super) fn enqueue(&mut self, packet: Waiting, drops: &mut Drops) -> bool {
        if self.queue.is_full(self.limit, packet.len) {
            drops.push((packet, Reason::Full));
            return false;
        }
        self.queue.push(packet);
        true
    }

    pub(super) fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Leaving> {
        self.control
            .dequeue(&self.config, &mut self.queue, now, drops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::tests::{at, packet};
    use farlink_tcp::Ecn;

    /// RFC 8289, 5.5: the drops of the last phase count if there was more than one of them.
    #[test]
    fn count_of_two_recent_drops_is_used_again() {
        for (count, begins) in [(2, 1), (3, 2), (4, 3)] {
            let mut control = Control {
                count,
                last_count: 1,
                drop_next: at(50),
                ..Control::default()
            };
            control.enter(&CodelConfig::default(), at(100));
            assert_eq!(control.count, begins, "{count}");
        }
    }

    #[test]
    fn packets_above_the_ce_threshold_are_marked() {
        for (sojourn, ecn, marks) in [
            (3, Ecn::Ect0, false),
            (4, Ecn::Ect0, true),
            (4, Ecn::NotEct, false),
        ] {
            let config = CodelConfig {
                ce_threshold: Some(Interval::from_millis(3)),
                ..CodelConfig::default()
            };
            let mut queue = Codel::new(config, QueueLimit::Unlimited);
            queue.enqueue(packet(0, 1500, 1, at(0), ecn), &mut Vec::new());
            let leaving = queue.dequeue(at(sojourn), &mut Vec::new()).expect("waits");
            assert_eq!(leaving.marked, marks, "{sojourn} {ecn:?}");
        }
    }
}
