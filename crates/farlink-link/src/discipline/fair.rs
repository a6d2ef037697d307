//! A queue per flow, served by deficit round robin (Shreedhar and Varghese 1995) with priority for
//! flows that were idle (RFC 8290). The law of each queue is `CoDel`, PIE, COBALT or none.

use super::cobalt::{Cobalt, CobaltConfig, Head};
use super::codel::{CodelConfig, Control};
use super::pie::{Controller, MARKED_UP_TO, PieConfig};
use super::queue::{Drops, Fifo, Leaving, Reason, Waiting};
use crate::link::config::QueueLimit;
use farlink_channel::rng::Stream;
use farlink_tcp::{Instant, Interval};
use farlink_wire::id::PacketId;
use std::collections::VecDeque;

/// Law of the queue of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FairQueue {
    /// FIFO queue without a law.
    Plain,
    /// `CoDel`: the discipline is FQ-CoDel (RFC 8290).
    Codel(CodelConfig),
    /// PIE: the discipline is FQ-PIE.
    Pie(PieConfig),
    /// COBALT, as CAKE uses it.
    Cobalt(CobaltConfig),
}

/// Parameters of a discipline with a queue per flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FairConfig {
    /// Number of queues. Flows with equal hash share a queue (RFC 8290, 5.2.2; 1024).
    pub queues: u32,
    /// Bytes that a queue may send in a round (RFC 8290, 5.2.4; 1514).
    pub quantum: u32,
    /// Set if queues that were idle are served first (RFC 8290, 4.2).
    pub sparse_first: bool,
    /// Law of each queue.
    pub law: FairQueue,
    /// Seed of the flows' hash, which makes collisions random.
    pub seed: u64,
}

/// List that a queue is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum List {
    #[default]
    None,
    New,
    Old,
}

/// State of a queue's law.
#[derive(Debug)]
enum Law {
    Plain,
    Codel(Control),
    Pie(Controller),
    Cobalt(Cobalt),
}

/// Queue of the flows with one hash value.
#[derive(Debug)]
struct Flow {
    queue: Fifo,
    deficit: i64,
    list: List,
    law: Law,
}

/// Queues of all flows.
#[derive(Debug)]
pub struct Fair {
    config: FairConfig,
    pub(super) limit: QueueLimit,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u32,
    bytes: u64,
    random: Stream,
}

/// Returns a well-mixed hash of a number (splitmix64, Steele, Lea and Flood 2014).
pub(super) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Fair {
    /// Creates empty queues.
    pub fn new(config: FairConfig, limit: QueueLimit, random: Stream) -> Self {
        let law = || match &config.law {
            FairQueue::Plain => Law::Plain,
            FairQueue::Codel(_) => Law::Codel(Control::default()),
            FairQueue::Pie(config) => Law::Pie(Controller::new(config)),
            FairQueue::Cobalt(_) => Law::Cobalt(Cobalt::default()),
        };
        let flow = || Flow {
            queue: Fifo::new(),
            deficit: 0,
            list: List::None,
            law: law(),
        };
        Self {
            flows: (0..config.queues.max(1)).map(|_| flow()).collect(),
            config,
            limit,
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            random,
        }
    }

    pub(super) fn queued(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    pub(super) fn set_packet_time(&mut self, packet_time: Interval) {
        if let FairQueue::Cobalt(config) = &mut self.config.law {
            config.packet_time = packet_time;
        }
    }

    /// Returns the number of the queue of a flow.
    fn place(&self, flow: u64) -> u32 {
        (mix(flow ^ self.config.seed) % u64::from(self.config.queues.max(1))) as u32
    }

    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        packet: Waiting,
        drops: &mut Drops,
    ) -> Option<bool> {
        if self.limit.is_full(0, 0, packet.len) {
            // A packet above the limit would first displace other packets of its flow, and then be
            // dropped itself.
            drops.push((packet, Reason::Full));
            return None;
        }
        let place = self.place(packet.flow);
        let mark = match self.decide_on_arrival(now, place, &packet) {
            Head::Keep => false,
            Head::Mark => true,
            Head::Drop => {
                drops.push((packet, Reason::Control));
                return None;
            }
        };
        let flow = &mut self.flows[place as usize];
        flow.queue.push(packet);
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        if flow.list == List::None {
            flow.deficit = i64::from(self.config.quantum);
            if self.config.sparse_first {
                flow.list = List::New;
                self.new.push_back(place);
            } else {
                flow.list = List::Old;
                self.old.push_back(place);
            }
        }
        let mut kept = true;
        while self.exceeds_limit() {
            let Some(dropped) = self.drop_from_longest(now) else {
                break;
            };
            kept &= dropped.packet != packet.packet;
            drops.push((dropped, Reason::Full));
        }
        kept.then_some(mark)
    }

    /// Returns the decision of a law that acts on arrival (PIE).
    fn decide_on_arrival(&mut self, now: Instant, place: u32, packet: &Waiting) -> Head {
        let flow = &mut self.flows[place as usize];
        let (FairQueue::Pie(config), Law::Pie(controller)) = (&self.config.law, &mut flow.law)
        else {
            return Head::Keep;
        };
        controller.run(config, now);
        if !controller.selects(config, flow.queue.queued().1, &mut self.random) {
            Head::Keep
        } else if config.ecn && packet.ecn.markable() && controller.probability <= MARKED_UP_TO {
            Head::Mark
        } else {
            Head::Drop
        }
    }

    fn exceeds_limit(&self) -> bool {
        match self.limit {
            QueueLimit::Unlimited => false,
            QueueLimit::Packets(limit) => self.packets > limit,
            QueueLimit::Bytes(limit) => self.bytes > limit,
        }
    }

    /// Removes the first packet of the queue with most bytes (RFC 8290, 4.1).
    fn drop_from_longest(&mut self, now: Instant) -> Option<Waiting> {
        let bytes = |place: &usize| self.flows[*place].queue.queued().1;
        let longest = (0..self.flows.len()).rev().max_by_key(bytes)?;
        let flow = &mut self.flows[longest];
        if let (FairQueue::Cobalt(config), Law::Cobalt(cobalt)) = (&self.config.law, &mut flow.law)
        {
            cobalt.on_overflow(config, now);
        }
        let dropped = flow.queue.pop()?;
        self.packets -= 1;
        self.bytes -= u64::from(dropped.len);
        Some(dropped)
    }

    pub(super) fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Leaving> {
        loop {
            let from_new = !self.new.is_empty();
            let place = if from_new {
                *self.new.front()?
            } else {
                *self.old.front()?
            };
            let flow = &mut self.flows[place as usize];
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum);
                self.move_to_old(from_new, place);
                continue;
            }
            let before = drops.len();
            let leaving = self.serve(place, now, drops);
            for (dropped, _) in &drops[before..] {
                self.packets -= 1;
                self.bytes -= u64::from(dropped.len);
            }
            let Some(leaving) = leaving else {
                // A queue that empties passes through the old list once. Otherwise it could return
                // as new at once, and be served ahead of the others forever (RFC 8290, 4.2).
                if from_new && !self.old.is_empty() {
                    self.move_to_old(from_new, place);
                } else {
                    let list = if from_new {
                        &mut self.new
                    } else {
                        &mut self.old
                    };
                    list.pop_front();
                    self.flows[place as usize].list = List::None;
                }
                continue;
            };
            self.packets -= 1;
            self.bytes -= u64::from(leaving.waiting.len);
            self.flows[place as usize].deficit -= i64::from(leaving.waiting.len);
            return Some(leaving);
        }
    }

    fn move_to_old(&mut self, from_new: bool, place: u32) {
        let list = if from_new {
            &mut self.new
        } else {
            &mut self.old
        };
        list.pop_front();
        self.old.push_back(place);
        self.flows[place as usize].list = List::Old;
    }

    /// Removes the next packet of a queue under its law.
    fn serve(&mut self, place: u32, now: Instant, drops: &mut Drops) -> Option<Leaving> {
        let busy = (self.old.len() + self.new.len()) as u32;
        let Flow { queue, law, .. } = &mut self.flows[place as usize];
        match (&self.config.law, law) {
            (FairQueue::Codel(config), Law::Codel(control)) => {
                control.dequeue(config, queue, now, drops)
            }
            (FairQueue::Cobalt(config), Law::Cobalt(cobalt)) => loop {
                let Some(waiting) = queue.pop() else {
                    cobalt.on_empty(config, now);
                    return None;
                };
                let head = cobalt.decide(config, &waiting, now, busy, &mut self.random);
                // The last packet of a flow is never dropped: no later packet would reveal its loss.
                if head == Head::Drop && !queue.is_empty() {
                    drops.push((waiting, Reason::Control));
                    continue;
                }
                let marked = head == Head::Mark;
                return Some(Leaving { waiting, marked });
            },
            (FairQueue::Pie(config), Law::Pie(controller)) => {
                controller.run(config, now);
                let waiting = queue.pop()?;
                controller.on_dequeue(waiting.sojourn(now), queue.is_empty());
                Some(Leaving {
                    waiting,
                    marked: false,
                })
            }
            _ => queue.pop().map(|waiting| Leaving {
                waiting,
                marked: false,
            }),
        }
    }

    pub(super) fn drain(&mut self, into: &mut Vec<PacketId>) {
        for flow in &mut self.flows {
            flow.queue.drain(into);
            flow.list = List::None;
            match &mut flow.law {
                Law::Plain | Law::Cobalt(_) => {}
                Law::Codel(control) => control.on_drained(),
                Law::Pie(controller) => controller.on_drained(),
            }
        }
        (self.packets, self.bytes) = (0, 0);
        self.new.clear();
        self.old.clear();
    }

    /// Returns the longest time that the first packet of a queue has waited.
    pub fn delay(&self, now: Instant) -> Interval {
        let delays = self.flows.iter().map(|flow| flow.queue.delay(now));
        delays.max().unwrap_or(Interval::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::tests::{at, packet, random};
    use farlink_tcp::Ecn;

    fn fair(law: FairQueue, quantum: u32, sparse_first: bool) -> Fair {
        let config = FairConfig {
            queues: 1024,
            quantum,
            sparse_first,
            law,
            seed: 1,
        };
        Fair::new(config, QueueLimit::Unlimited, random())
    }

    fn put(queue: &mut Fair, flow: u64, len: u32) {
        let waiting = packet(0, len, flow, at(0), Ecn::NotEct);
        queue.enqueue(at(0), waiting, &mut Vec::new());
    }

    fn take(queue: &mut Fair) -> Option<u64> {
        let leaving = queue.dequeue(at(0), &mut Vec::new());
        leaving.map(|leaving| leaving.waiting.flow)
    }

    #[test]
    fn a_packet_of_a_whole_quantum_ends_the_turn() {
        let mut queue = fair(FairQueue::Plain, 1500, false);
        for flow in [1, 1, 1, 2, 2, 2] {
            put(&mut queue, flow, 1500);
        }
        let order: Vec<_> = std::iter::from_fn(|| take(&mut queue)).collect();
        assert_eq!(order, [1, 2, 1, 2, 1, 2]);
    }

    /// A flow that emptied its queue passes the list of old flows before it is new again (RFC 8290,
    /// 4.2).
    #[test]
    fn a_flow_that_comes_back_at_once_is_not_new() {
        let mut queue = fair(FairQueue::Plain, 4500, true);
        for _ in 0..10 {
            put(&mut queue, 1, 1500);
        }
        // The quantum of flow 1 is used up, so flow 1 is old from its next turn on.
        assert_eq!([(); 3].map(|()| take(&mut queue)), [Some(1); 3]);
        put(&mut queue, 2, 100);
        assert_eq!([take(&mut queue), take(&mut queue)], [Some(2), Some(1)]);
        put(&mut queue, 2, 100);
        assert_eq!(take(&mut queue), Some(1));
    }

    #[test]
    fn cobalt_never_drops_the_last_packet_of_a_flow() {
        let config = CobaltConfig {
            target: Interval::from_millis(5),
            interval: Interval::from_millis(100),
            packet_time: Interval::from_millis(1),
            ecn: false,
        };
        let mut queue = fair(FairQueue::Cobalt(config), 1514, true);
        put(&mut queue, 1, 1500);
        put(&mut queue, 1, 1500);
        let place = queue.place(1) as usize;
        let mut blue = Cobalt::default();
        blue.blue = 1.0;
        queue.flows[place].law = Law::Cobalt(blue);
        let mut drops = Vec::new();
        assert!(queue.dequeue(at(0), &mut drops).is_some());
        assert_eq!(drops.len(), 1);
        assert_eq!(queue.queued().0, 0);
    }

    /// DRR (Shreedhar and Varghese 1995): a turn adds a quantum to what is left of the last one.
    #[test]
    fn bytes_beyond_a_turn_are_missing_in_the_next_one() {
        let mut queue = fair(FairQueue::Plain, 1000, false);
        for flow in [1, 1, 1, 2, 2, 2] {
            put(&mut queue, flow, 1500);
        }
        let place = queue.place(1) as usize;
        let deficits: Vec<_> = std::iter::from_fn(|| {
            take(&mut queue)?;
            Some(queue.flows[place].deficit)
        })
        .collect();
        // 1000 - 1500, then a turn more while flow 2 sends, then 500 - 1500.
        assert_eq!(deficits[..3], [-500, 500, -1000]);
    }

    const COBALT: CobaltConfig = CobaltConfig {
        target: Interval::from_millis(5),
        interval: Interval::from_millis(100),
        packet_time: Interval::from_millis(1),
        ecn: true,
    };

    fn cobalt(queue: &Fair, flow: u64) -> Cobalt {
        match queue.flows[queue.place(flow) as usize].law {
            Law::Cobalt(cobalt) => cobalt,
            ref other => panic!("{other:?}"),
        }
    }

    /// BLUE of a queue goes up by 1/256 when the queue overflows, and down by 1/4096 when the queue
    /// is empty.
    #[test]
    fn blue_follows_overflows_and_empty_queues() {
        let mut queue = fair(FairQueue::Cobalt(COBALT), 1514, true);
        queue.limit = QueueLimit::Packets(2);
        let mut drops = Vec::new();
        for number in 0..3 {
            let waiting = packet(number, 1500, 1, at(10), Ecn::NotEct);
            queue.enqueue(at(10), waiting, &mut drops);
        }
        assert_eq!(drops.len(), 1);
        assert!((cobalt(&queue, 1).blue - 1.0 / 256.0).abs() < 1e-12);
        while queue.dequeue(at(20), &mut drops).is_some() {}
        let expected = 1.0 / 256.0 - 1.0 / 4096.0;
        assert!((cobalt(&queue, 1).blue - expected).abs() < 1e-12);
    }

    /// A queue stands above two packets of each busy flow, and new flows are busy, too.
    #[test]
    fn new_flows_are_busy_flows() {
        for (flows, stands) in [(2, true), (6, false)] {
            let mut queue = fair(FairQueue::Cobalt(COBALT), 1514, true);
            (1..=flows).for_each(|flow| put(&mut queue, flow, 1500));
            queue.dequeue(at(8), &mut Vec::new()).expect("waits");
            assert_eq!(cobalt(&queue, 1).count > 0, stands, "{flows}");
        }
    }

    /// RFC 8033, 5.1: each queue marks up to 10 %, and drops above.
    #[test]
    fn queues_under_pie_mark_up_to_ten_percent() {
        let config = PieConfig {
            target: Interval::ZERO,
            burst: Interval::ZERO,
            update: Interval::from_secs(1000),
            ..PieConfig::default()
        };
        for (probability, marks) in [(0.1, true), (0.11, false)] {
            let mut queue = fair(FairQueue::Pie(config), 1514, true);
            let place = queue.place(1) as usize;
            if let Law::Pie(controller) = &mut queue.flows[place].law {
                controller.probability = probability;
            }
            let (mut drops, mut marked) = (Vec::new(), 0);
            for number in 0..200 {
                let waiting = packet(number, 1500, 1, at(0), Ecn::Ect0);
                marked += u32::from(queue.enqueue(at(0), waiting, &mut drops) == Some(true));
            }
            assert_eq!(
                (marked > 0, drops.is_empty()),
                (marks, marks),
                "{probability}"
            );
        }
    }
}
