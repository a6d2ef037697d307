//! Classes by Diffserv codepoint: strict priority between groups of classes, and deficit round robin
//! by weight within a group.

use super::Discipline;
use super::queue::{Drops, Fifo, Leaving, Reason, Waiting};
use crate::link::config::QueueLimit;
use farlink_tcp::{Dscp, Instant, Interval};
use farlink_wire::id::PacketId;
use std::collections::VecDeque;

/// Bytes per round of the class with the smallest weight of its group.
const QUANTUM: u32 = super::LONGEST_PACKET;

/// Parameters of a class.
#[derive(Debug)]
pub struct ClassConfig {
    /// Codepoints of the class; `None` for all codepoints that no class names.
    pub codepoints: Option<Vec<Dscp>>,
    /// Share within the group. Neighbours with a weight are a group; a class without one is a
    /// group of its own.
    pub weight: Option<u32>,
    /// Limit of this class alone; by default the class shares the limit of the direction.
    pub limit: Option<QueueLimit>,
    /// Discipline of the queue; `None` for a FIFO queue.
    pub discipline: Option<Discipline>,
}

/// Queue of a class.
#[derive(Debug)]
enum Queue {
    Fifo(Fifo),
    Own(Box<Discipline>),
}

/// A class.
#[derive(Debug)]
struct Class {
    queue: Queue,
    limit: Option<QueueLimit>,
    /// Number of the group; lower groups are sent first.
    group: usize,
    /// Bytes per round.
    quantum: i64,
    deficit: i64,
    /// Set if the class is in the list of its group.
    is_active: bool,
}

impl Class {
    fn queued(&self) -> (u32, u64) {
        match &self.queue {
            Queue::Fifo(queue) => queue.queued(),
            Queue::Own(discipline) => discipline.queued(),
        }
    }

    /// Returns the FIFO queue if the class shares the limit of the direction.
    fn shared(&self) -> Option<&Fifo> {
        match &self.queue {
            Queue::Fifo(queue) if self.limit.is_none() => Some(queue),
            _ => None,
        }
    }
}

/// Classes of one direction.
#[derive(Debug)]
pub struct Classes {
    /// Class of each codepoint.
    of: [u8; Dscp::COUNT],
    list: Vec<Class>,
    /// Classes with waiting packets, by group.
    active: Vec<VecDeque<usize>>,
    limit: QueueLimit,
}

impl Classes {
    /// Creates empty classes, in the order in which they are sent. At most 255 classes are allowed.
    pub fn new(configs: Vec<ClassConfig>, limit: QueueLimit) -> Self {
        let rest = configs.iter().position(|class| class.codepoints.is_none());
        let mut of = [rest.unwrap_or_default() as u8; Dscp::COUNT];
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut classes = Vec::new();
        let mut joins = false;
        for (number, config) in configs.into_iter().enumerate() {
            for codepoint in config.codepoints.iter().flatten() {
                of[usize::from(codepoint.bits())] = number as u8;
            }
            if !(joins && config.weight.is_some()) {
                groups.push(Vec::new());
            }
            joins = config.weight.is_some();
            let group = groups.len() - 1;
            groups[group].push(config.weight.unwrap_or(1).max(1));
            let queue = match config.discipline {
                Some(discipline) => Queue::Own(Box::new(discipline)),
                None => Queue::Fifo(Fifo::new()),
            };
            classes.push(Class {
                queue,
                limit: config.limit,
                group,
                quantum: 0,
                deficit: 0,
                is_active: false,
            });
        }
        let weights = groups.iter().flatten().copied().collect::<Vec<_>>();
        for (class, weight) in classes.iter_mut().zip(weights) {
            let least = groups[class.group].iter().min().copied().unwrap_or(1);
            class.quantum = i64::from(QUANTUM) * i64::from(weight) / i64::from(least);
        }
        let mut built = Self {
            of,
            list: classes,
            active: groups.iter().map(|_| VecDeque::new()).collect(),
            limit,
        };
        built.set_limit(limit);
        built
    }

    pub(super) fn queued(&self) -> (u32, u64) {
        let each = self.list.iter().map(Class::queued);
        each.fold((0, 0), |sum, queued| (sum.0 + queued.0, sum.1 + queued.1))
    }

    pub(super) fn set_limit(&mut self, limit: QueueLimit) {
        self.limit = limit;
        for class in &mut self.list {
            if let Queue::Own(discipline) = &mut class.queue {
                discipline.set_limit(class.limit.unwrap_or(limit));
            }
        }
    }

    pub(super) fn set_packet_time(&mut self, packet_time: Interval) {
        for class in &mut self.list {
            if let Queue::Own(discipline) = &mut class.queue {
                discipline.set_packet_time(packet_time);
            }
        }
    }

    /// Removes all packets, class by class.
    pub(super) fn drain(&mut self, packets: &mut Vec<PacketId>) {
        for class in &mut self.list {
            match &mut class.queue {
                Queue::Fifo(queue) => queue.drain(packets),
                Queue::Own(discipline) => packets.extend(discipline.drain()),
            }
            class.is_active = false;
        }
        self.active.iter_mut().for_each(VecDeque::clear);
    }

    /// Returns whether a packet with this codepoint need not wait at an idle transmitter: its class
    /// is a FIFO queue, and only packets of later groups wait.
    pub(super) fn passes(&self, codepoint: Dscp) -> bool {
        let class = &self.list[usize::from(self.of[usize::from(codepoint.bits())])];
        let earlier = &self.active[..=class.group];
        matches!(class.queue, Queue::Fifo(_)) && earlier.iter().all(VecDeque::is_empty)
    }

    /// Offers a packet with this codepoint, like [`Discipline::enqueue`].
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        packet: Waiting,
        codepoint: Dscp,
        drops: &mut Drops,
    ) -> Option<bool> {
        let number = usize::from(self.of[usize::from(codepoint.bits())]);
        if !self.has_room(number, packet.len, drops) {
            drops.push((packet, Reason::Full));
            return None;
        }
        let class = &mut self.list[number];
        let marked = match &mut class.queue {
            Queue::Fifo(queue) => {
                queue.push(packet);
                Some(false)
            }
            Queue::Own(discipline) => discipline.enqueue(now, packet, drops),
        };
        if !class.is_active && class.queued().0 > 0 {
            class.is_active = true;
            class.deficit = class.quantum;
            self.active[class.group].push_back(number);
        }
        marked
    }

    /// Returns whether a FIFO class has room for a packet of `len` bytes. In the shared limit, the
    /// last packets of classes that are sent later make room, if that is enough. A class with a
    /// discipline decides itself.
    fn has_room(&mut self, number: usize, len: u32, drops: &mut Drops) -> bool {
        let class = &self.list[number];
        match (&class.queue, class.limit) {
            (Queue::Own(_), _) => return true,
            (Queue::Fifo(queue), Some(limit)) => return !queue.is_full(limit, len),
            (Queue::Fifo(_), None) => {}
        }
        let waiting = |classes: &[Class], from: usize| {
            let later = classes.iter().filter(|class| class.group >= from);
            let queued = later.filter_map(Class::shared).map(Fifo::queued);
            queued.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let (packets, bytes) = waiting(&self.list, 0);
        let (later, later_bytes) = waiting(&self.list, class.group + 1);
        let limit = self.limit;
        if limit.is_full(packets - later, bytes - later_bytes, len) {
            return false;
        }
        let (mut packets, mut bytes) = (packets, bytes);
        while limit.is_full(packets, bytes, len) {
            let Some(last) = self.pop_last() else {
                return false;
            };
            (packets, bytes) = (packets - 1, bytes - u64::from(last.len));
            drops.push((last, Reason::Full));
        }
        true
    }

    /// Removes the last packet of the last class in the shared limit.
    fn pop_last(&mut self) -> Option<Waiting> {
        let waits = |class: &&mut Class| class.shared().is_some_and(|queue| !queue.is_empty());
        let class = self.list.iter_mut().rev().find(waits)?;
        match &mut class.queue {
            Queue::Fifo(queue) => queue.pop_last(),
            Queue::Own(_) => None,
        }
    }

    pub(super) fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Leaving> {
        for active in &mut self.active {
            while let Some(&number) = active.front() {
                let class = &mut self.list[number];
                if class.deficit <= 0 {
                    class.deficit += class.quantum;
                    active.rotate_left(1);
                    continue;
                }
                let leaving = match &mut class.queue {
                    Queue::Fifo(queue) => queue.pop().map(|waiting| Leaving {
                        waiting,
                        marked: false,
                    }),
                    Queue::Own(discipline) => discipline.dequeue(now, drops),
                };
                if let Some(leaving) = &leaving {
                    class.deficit -= i64::from(leaving.waiting.len);
                }
                if class.queued().0 == 0 {
                    class.is_active = false;
                    active.pop_front();
                }
                if leaving.is_some() {
                    return leaving;
                }
                if class.is_active {
                    // A discipline that keeps its packets for now has no turn.
                    break;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::tests::{random, red_config};
    use crate::discipline::{Codel, CodelConfig, Red};
    use farlink_tcp::Ecn;

    /// A packet leaves an idle transmitter at once only if its class has no discipline, and nothing
    /// of its own or an earlier group waits.
    #[test]
    fn a_packet_passes_unless_a_discipline_or_an_earlier_packet_is_there() {
        let [ef, af, le] = [46, 34, 1].map(Dscp::new);
        let class = |codepoint: Option<Dscp>, discipline| ClassConfig {
            codepoints: codepoint.map(|codepoint| vec![codepoint]),
            weight: None,
            limit: None,
            discipline,
        };
        let limit = QueueLimit::Packets(10);
        let codel = Discipline::Codel(Codel::new(CodelConfig::default(), limit));
        let list = vec![
            class(Some(ef), None),
            class(Some(af), Some(codel)),
            class(None, None),
        ];
        let mut classes = Classes::new(list, limit);
        let passing = |classes: &Classes| [ef, af, le].map(|dscp| classes.passes(dscp));
        assert_eq!(passing(&classes), [true, false, true]);
        let offer = |classes: &mut Classes, dscp| {
            let waiting = Waiting {
                packet: PacketId(0),
                packed: 100,
                len: 100,
                joined: Instant::ZERO,
                flow: 0,
                ecn: Ecn::NotEct,
            };
            classes.enqueue(Instant::ZERO, waiting, dscp, &mut Drops::default());
        };
        offer(&mut classes, le);
        assert_eq!(passing(&classes), [true, false, false]);
        offer(&mut classes, ef);
        assert_eq!(passing(&classes), [false, false, false]);
        classes.drain(&mut Vec::new());
        assert_eq!(passing(&classes), [true, false, true]);
    }

    fn weighted(weights: &[u32], discipline: impl Fn() -> Option<Discipline>) -> Classes {
        let class = |(number, weight): (usize, &u32)| ClassConfig {
            codepoints: (number > 0).then(|| vec![Dscp::new(number as u8)]),
            weight: Some(*weight),
            limit: None,
            discipline: discipline(),
        };
        let list = weights.iter().enumerate().map(class).collect();
        Classes::new(list, QueueLimit::Unlimited)
    }

    /// A turn of the smallest weight of a group has the bytes of the longest packet.
    #[test]
    fn turns_are_in_proportion_to_the_smallest_weight() {
        let classes = weighted(&[4, 2, 7], || None);
        let quanta: Vec<_> = classes.list.iter().map(|class| class.quantum).collect();
        assert_eq!(quanta, [2 * 1514, 1514, 7 * 1514 / 2]);
    }

    #[test]
    fn packet_time_reaches_the_disciplines_of_the_classes() {
        let red = || {
            let queue = Red::new(red_config(), QueueLimit::Unlimited, random());
            Some(Discipline::Red(queue))
        };
        let mut classes = weighted(&[1, 1], red);
        classes.set_packet_time(Interval::from_millis(7));
        for class in &classes.list {
            match &class.queue {
                Queue::Own(discipline) => match &**discipline {
                    Discipline::Red(red) => {
                        assert_eq!(red.packet_time(), Interval::from_millis(7));
                    }
                    other => panic!("{other:?}"),
                },
                Queue::Fifo(_) => panic!("a discipline"),
            }
        }
    }
}
