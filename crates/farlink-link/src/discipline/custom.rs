//! FIFO queue whose drops and marks are decided by a program around the engine, such as a class in
//! Python.

use super::queue::{Drops, Fifo, Leaving, Reason, Waiting};
use crate::link::config::QueueLimit;
use farlink_tcp::{Instant, Interval};
use farlink_wire::id::PacketId;
use std::fmt;

/// Fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The packet joins or leaves the queue unchanged.
    Pass,
    /// The packet gets a congestion mark, or is dropped if it is not ECN-capable.
    Mark,
    /// The packet is dropped.
    Drop,
}

/// Packet and queue at a decision.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Decision {
    /// Time of the run.
    pub now: Instant,
    /// Bytes of the packet.
    pub len: u32,
    /// Time that the packet has waited; zero on arrival.
    pub sojourn: Interval,
    /// Hash of addresses, protocol and ports.
    pub flow: u64,
    /// Set if the packet can be marked.
    pub markable: bool,
    /// Number and bytes of the other packets in the queue.
    pub queued: (u32, u64),
}

/// Control law of a queue outside of the engine.
pub trait Dropper: fmt::Debug + Send {
    /// Decides on a packet that has to wait. The queue has room for the packet.
    fn on_arrival(&mut self, decision: &Decision) -> Verdict;
    /// Decides on the packet that leaves next.
    fn on_departure(&mut self, decision: &Decision) -> Verdict;
}

/// FIFO queue under a [`Dropper`].
#[derive(Debug)]
pub struct Custom {
    pub(super) limit: QueueLimit,
    queue: Fifo,
    dropper: Box<dyn Dropper>,
}

impl Custom {
    /// Creates an empty queue.
    pub fn new(dropper: Box<dyn Dropper>, limit: QueueLimit) -> Self {
        Self {
            limit,
            queue: Fifo::new(),
            dropper,
        }
    }

    pub(super) fn queued(&self) -> (u32, u64) {
        self.queue.queued()
    }

    pub(super) fn drain(&mut self, into: &mut Vec<PacketId>) {
        self.queue.drain(into);
    }

    fn decision(&self, now: Instant, packet: &Waiting) -> Decision {
        Decision {
            now,
            len: packet.len,
            sojourn: packet.sojourn(now),
            flow: packet.flow,
            markable: packet.ecn.markable(),
            queued: self.queue.queued(),
        }
    }

    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        packet: Waiting,
        drops: &mut Drops,
    ) -> Option<bool> {
        if self.queue.is_full(self.limit, packet.len) {
            drops.push((packet, Reason::Full));
            return None;
        }
        let verdict = self.dropper.on_arrival(&self.decision(now, &packet));
        let Some(marked) = marked(verdict, &packet) else {
            drops.push((packet, Reason::Control));
            return None;
        };
        self.queue.push(packet);
        Some(marked)
    }

    pub(super) fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Leaving> {
        loop {
            let waiting = self.queue.pop()?;
            let verdict = self.dropper.on_departure(&self.decision(now, &waiting));
            if let Some(marked) = marked(verdict, &waiting) {
                return Some(Leaving { waiting, marked });
            }
            drops.push((waiting, Reason::Control));
        }
    }
}

/// Returns whether a packet passes with a mark; `None` if the packet is dropped.
fn marked(verdict: Verdict, packet: &Waiting) -> Option<bool> {
    match verdict {
        Verdict::Pass => Some(false),
        Verdict::Mark if packet.ecn.markable() => Some(true),
        Verdict::Mark | Verdict::Drop => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::tests::{at, packet};
    use farlink_tcp::Ecn;

    /// Verdicts in order of the calls, and the decisions that were asked for.
    #[derive(Debug)]
    struct Given {
        verdicts: Vec<Verdict>,
        asked: std::sync::mpsc::Sender<Decision>,
    }

    impl Given {
        fn next(&mut self, decision: &Decision) -> Verdict {
            self.asked.send(*decision).unwrap();
            self.verdicts.remove(0)
        }
    }

    impl Dropper for Given {
        fn on_arrival(&mut self, decision: &Decision) -> Verdict {
            self.next(decision)
        }
        fn on_departure(&mut self, decision: &Decision) -> Verdict {
            self.next(decision)
        }
    }

    #[test]
    fn verdicts_drop_mark_and_pass_and_the_limit_comes_first() {
        let (asked, decisions) = std::sync::mpsc::channel();
        let verdicts = vec![
            Verdict::Pass,
            Verdict::Mark,
            Verdict::Mark,
            Verdict::Drop,
            Verdict::Pass,
            Verdict::Drop,
            Verdict::Mark,
        ];
        let given = Given { verdicts, asked };
        let mut queue = Custom::new(Box::new(given), QueueLimit::Packets(3));
        let mut drops = Vec::new();
        let capable = |number, ms| packet(number, 1500, 1, at(ms), Ecn::Ect0);
        let plain = packet(2, 1500, 1, at(2), Ecn::NotEct);
        assert_eq!(queue.enqueue(at(0), capable(0, 0), &mut drops), Some(false));
        assert_eq!(queue.enqueue(at(1), capable(1, 1), &mut drops), Some(true));
        // A mark on a packet that is not ECN-capable drops the packet.
        assert_eq!(queue.enqueue(at(2), plain, &mut drops), None);
        assert_eq!(queue.enqueue(at(3), capable(3, 3), &mut drops), None);
        assert_eq!(queue.enqueue(at(4), capable(4, 4), &mut drops), Some(false));
        assert_eq!(queue.queued().0, 3);
        // The queue is full, so the dropper is not asked.
        assert_eq!(queue.enqueue(at(5), capable(5, 5), &mut drops), None);
        let reasons: Vec<_> = drops.iter().map(|drop| drop.1).collect();
        assert_eq!(reasons, [Reason::Control, Reason::Control, Reason::Full]);
        let leaving = queue.dequeue(at(10), &mut drops).unwrap();
        assert_eq!((leaving.waiting.packet.0, leaving.marked), (1, true));
        assert_eq!(drops.last().unwrap().1, Reason::Control);
        let asked: Vec<_> = decisions.try_iter().collect();
        let seen: Vec<_> = asked.iter().map(|d| (d.queued.0, d.sojourn)).collect();
        let zero = Interval::ZERO;
        let ms = Interval::from_millis;
        assert_eq!(
            seen,
            [
                (0, zero),
                (1, zero),
                (2, zero),
                (2, zero),
                (2, zero),
                (2, ms(10)),
                (1, ms(9)),
            ]
        );
        assert_eq!(
            asked.iter().map(|d| d.markable).collect::<Vec<_>>(),
            [true, true, false, true, true, true, true]
        );
    }
}
