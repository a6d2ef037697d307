//! COBALT (Palmei and others 2019; CAKE's queue law): `CoDel` with a control law that can also back
//! off, plus BLUE for queues that `CoDel` cannot control.

use super::codel::control_law;
use super::queue::Waiting;
use farlink_channel::rng::{Probability, Stream};
use farlink_tcp::{Instant, Interval};

/// Parameters of COBALT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CobaltConfig {
    /// Sojourn time that may persist (5 ms).
    pub target: Interval,
    /// Time above the target before the first drop (100 ms).
    pub interval: Interval,
    /// Transmission time of the longest packet. A sojourn time below four of them does not count as
    /// a queue.
    pub packet_time: Interval,
    /// Set if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// Step up of BLUE's probability at a full queue, and step down at an empty one.
const BLUE: (f64, f64) = (1.0 / 256.0, 1.0 / 4096.0);

/// Fate of the packet at the head of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Head {
    Keep,
    Mark,
    Drop,
}

/// State of COBALT of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cobalt {
    pub(crate) count: u32,
    dropping: bool,
    drop_next: Instant,
    /// BLUE's drop probability.
    pub(crate) blue: f64,
    blue_changed: Instant,
}

impl Cobalt {
    /// Raises BLUE's probability, at most once in a target time.
    pub(crate) fn on_overflow(&mut self, config: &CobaltConfig, now: Instant) {
        if now > self.blue_changed + config.target {
            self.blue = (self.blue + BLUE.0).min(1.0);
            self.blue_changed = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Lowers BLUE's probability, at most once in a target time, and runs the control law back.
    pub(crate) fn on_empty(&mut self, config: &CobaltConfig, now: Instant) {
        if self.blue > 0.0 && now > self.blue_changed + config.target {
            self.blue = (self.blue - BLUE.1).max(0.0);
            self.blue_changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = control_law(self.drop_next, config.interval, self.count);
        }
    }

    /// Returns whether neither `CoDel` nor BLUE has anything to forget.
    pub(crate) fn is_at_rest(&self, now: Instant) -> bool {
        self.blue == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// Decides on the packet at the head of the queue. `busy_flows` is the number of flows with a
    /// standing queue, which all wait for each other.
    pub(crate) fn decide(
        &mut self,
        config: &CobaltConfig,
        packet: &Waiting,
        now: Instant,
        busy_flows: u32,
        random: &mut Stream,
    ) -> Head {
        let sojourn = packet.sojourn(now);
        let turns = u64::from(busy_flows.max(2)) * 2;
        let over = sojourn > config.target && sojourn > config.packet_time.saturating_mul(turns);
        let mut due = self.count > 0 && now >= self.drop_next;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = control_law(now, config.interval, self.count);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut head = Head::Keep;
        if due && self.dropping {
            let marks = config.ecn && packet.ecn.markable();
            head = if marks { Head::Mark } else { Head::Drop };
            self.count = self.count.saturating_add(1);
            self.drop_next = control_law(self.drop_next, config.interval, self.count);
            due = now >= self.drop_next;
        } else {
            while due {
                self.count -= 1;
                self.drop_next = control_law(self.drop_next, config.interval, self.count);
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        // BLUE targets flows that ignore marks, so it always drops.
        if self.blue > 0.0 && random.chance(Probability::clamped(self.blue)) {
            head = Head::Drop;
        }
        if self.count == 0 {
            self.drop_next = now + config.interval;
        } else if due && head != Head::Drop {
            self.drop_next = now;
        }
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::tests::{at, packet, random};
    use farlink_tcp::Ecn;

    const CONFIG: CobaltConfig = CobaltConfig {
        target: Interval::from_millis(5),
        interval: Interval::from_millis(100),
        packet_time: Interval::from_millis(1),
        ecn: true,
    };

    /// Returns the state after a decision on a packet that waited `sojourn` ms.
    fn after(sojourn: u64, busy_flows: u32) -> Cobalt {
        let mut cobalt = Cobalt::default();
        let waiting = packet(0, 1500, 1, at(1000 - sojourn), Ecn::NotEct);
        let head = cobalt.decide(&CONFIG, &waiting, at(1000), busy_flows, &mut random());
        assert_eq!(head, Head::Keep);
        cobalt
    }

    /// A queue is a sojourn time above the target and above two packet times per busy flow.
    #[test]
    fn queue_begins_above_the_target_and_two_packets_of_each_flow() {
        for (sojourn, busy_flows, queues) in [
            (5, 1, false),
            (6, 1, true),
            (10, 5, false),
            (11, 5, true),
            (4, 2, false),
        ] {
            assert_eq!(
                after(sojourn, busy_flows).dropping,
                queues,
                "{sojourn} {busy_flows}"
            );
        }
    }

    #[test]
    fn first_drop_waits_for_an_interval_while_nothing_was_dropped() {
        let cobalt = after(1, 1);
        assert_eq!((cobalt.count, cobalt.drop_next), (0, at(1100)));
    }

    /// An empty queue runs the control law back by one step, once the next drop would be due.
    #[test]
    fn empty_queue_lowers_the_count_when_a_drop_is_due() {
        let mut cobalt = Cobalt {
            count: 2,
            drop_next: at(100),
            ..Cobalt::default()
        };
        cobalt.on_empty(&CONFIG, at(99));
        assert_eq!((cobalt.count, cobalt.drop_next), (2, at(100)));
        cobalt.on_empty(&CONFIG, at(100));
        assert_eq!((cobalt.count, cobalt.drop_next), (1, at(200)));
    }

    /// A mark that comes late is followed by the next one at once. A drop keeps the schedule.
    #[test]
    fn late_mark_moves_the_next_one_to_the_present() {
        for (ecn, head, next) in [
            (Ecn::Ect0, Head::Mark, 1_000_000_000),
            (Ecn::NotEct, Head::Drop, 170_710_678),
        ] {
            let mut cobalt = Cobalt {
                count: 1,
                dropping: true,
                drop_next: at(100),
                ..Cobalt::default()
            };
            let waiting = packet(0, 1500, 1, at(900), ecn);
            let decision = cobalt.decide(&CONFIG, &waiting, at(1000), 1, &mut random());
            assert_eq!((decision, cobalt.count), (head, 2));
            assert_eq!(cobalt.drop_next.as_nanos(), next);
        }
    }
}
