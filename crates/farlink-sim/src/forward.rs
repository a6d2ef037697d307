//! A packet's way over a link: queue, transmitter, channel, and what becomes of it.

use crate::heap::{Event, Kind};
use crate::world::{Label, World};
use farlink_net::channel::DropCause;
use farlink_net::{Fate, FlowId, LinkId, LowFate, NodeId, Payload};
use farlink_tcp::{Ecn, Instant, Priority};

impl World {
    /// Sends a packet on from a node. Returns whether there was a way; for packets
    /// of flows there is, since flows without a route are refused when built.
    #[inline]
    pub(crate) fn forward(&mut self, node: NodeId, number: u32) -> bool {
        let Label {
            dst,
            ip_len,
            data,
            low,
        } = self.labels[number as usize];
        let link = self.nodes[node].next_hop(dst);
        let Some(over) = self.links.get_mut(link) else {
            return false;
        };
        if low || self.probes.is_some() || !over.only_queues(ip_len) {
            self.forward_with_care(node, link, number);
            return true;
        }
        let fate = over.offer(self.now, ip_len, Priority::Normal);
        if let Fate::Arrives {
            at,
            corrupt: false,
            copies: 0,
            overtakes: false,
        } = fate
        {
            over.count_data(data);
            if over.flies(number, at) {
                self.heap.push(Event::new(at, Kind::Arrival, link.0, 0, 0));
            }
        } else {
            self.meet(link, number, fate);
            self.count_data(link, data, fate);
        }
        true
    }

    /// Sends a packet on over a link that does more than to queue it, or where
    /// probes are.
    #[cold]
    fn forward_with_care(&mut self, node: NodeId, link: LinkId, number: u32) {
        let packet = &self.packets[number as usize];
        if let Some(mtu) = self.links[link].mtu
            && packet.ip_len() > mtu.bytes
        {
            self.too_long(node, link, number, mtu);
        } else {
            self.send_on(link, number);
        }
    }

    /// Sends a packet that is not too long for it over a link.
    pub(crate) fn send_on(&mut self, link: LinkId, number: u32) {
        let packet = &self.packets[number as usize];
        if let Some(line) = self.links[link].line {
            self.hand_over(line, link, number);
            return;
        }
        let mut ip_len = packet.ip_len();
        let markable = packet.ecn().markable();
        let priority = packet.priority();
        let data = packet.has_data();
        if self.probes.is_some() {
            self.watch_queue(link);
        }
        if self.links[link].compression.is_some() {
            ip_len = self.compress(link, number);
        }
        if priority == Priority::Low && self.links[link].has_priorities() {
            self.forward_low(link, number, ip_len);
            return;
        }
        if self.links[link].low_watched {
            self.push_out(link, ip_len);
        }
        let mark = markable && self.links[link].congested(self.now, ip_len);
        let fate = self.links[link].offer(self.now, ip_len, priority);
        if mark {
            self.mark(link, number, fate);
        }
        if let Some(which) = self.links[link].compression
            && !refused(fate)
        {
            self.compressions[which as usize].commit(number);
        }
        self.meet(link, number, fate);
        self.count_data(link, data, fate);
        self.watch_length(link);
    }

    /// Counts a packet with data that the queue of a link took.
    fn count_data(&mut self, link: LinkId, data: bool, fate: Fate) {
        self.links[link].count_data(data && !refused(fate));
    }

    /// What becomes of a packet on a link.
    fn meet(&mut self, link: LinkId, number: u32, fate: Fate) {
        match fate {
            Fate::Arrives {
                at,
                corrupt: false,
                copies: 0,
                overtakes: false,
            } => {
                self.fly(link, number, at);
            }
            Fate::Arrives {
                at,
                corrupt,
                copies,
                overtakes,
            } => {
                let compression = self.links[link].compression;
                match compression.filter(|_| corrupt) {
                    Some(which) => self.compressions[which as usize].damaged(number),
                    None => self.packets[number as usize].corrupt |= corrupt,
                }
                for _ in 0..copies {
                    let copy = self.packets[number as usize].clone();
                    if matches!(copy.payload, Payload::Udp(_)) {
                        self.datagram_copied(copy.flow);
                    }
                    self.answers.copied += u64::from(copy.flow == FlowId::NONE);
                    let copy = self.hold(copy);
                    if let Some(which) = compression {
                        self.compressions[which as usize].copied(number, copy);
                    }
                    self.launch(link, copy, at, overtakes);
                }
                self.launch(link, number, at, overtakes);
            }
            Fate::Lost { cause, at } => {
                if self.links[link].compression.is_some() {
                    self.frame_lost(link, cause, at);
                }
                self.lose(link, number, cause, at);
            }
        }
    }

    /// Sends a packet of low priority on over a link that has a class for it.
    #[cold]
    fn forward_low(&mut self, link: LinkId, number: u32, ip_len: u32) {
        if let Some(which) = self.links[link].compression {
            self.compressions[which as usize].commit(number);
        }
        match self.links[link].offer_low(self.now, ip_len, number) {
            LowFate::Decided(fate) => self.meet(link, number, fate),
            LowFate::Waits => self.watch_low(link),
        }
        self.watch_length(link);
    }

    /// Makes room for a packet of normal priority.
    #[cold]
    fn push_out(&mut self, link: LinkId, ip_len: u32) {
        while let Some(number) = self.links[link].push_out(self.now, ip_len) {
            self.lose(link, number, DropCause::Congestion, self.now);
        }
    }

    /// Sees to it that the low class of a link is served when its time comes.
    fn watch_low(&mut self, link: LinkId) {
        let watched = &mut self.links[link];
        if let Some(due) = watched.low_due().filter(|_| !watched.low_watched) {
            watched.low_watched = true;
            self.heap.push(Event::new(due, Kind::LowDue, link.0, 0, 0));
        }
    }

    /// The transmitter of a link was to be free for its low class now; it is,
    /// unless normal packets came.
    #[cold]
    pub(crate) fn low_due(&mut self, link: LinkId) {
        if self.probes.is_some() {
            self.watch_queue(link);
        }
        self.links[link].low_watched = false;
        if let Some((number, fate)) = self.links[link].start_low(self.now) {
            self.meet(link, number, fate);
            self.watch_length(link);
        }
        self.watch_low(link);
    }

    /// The length of a queue changed.
    #[inline]
    fn watch_length(&mut self, link: LinkId) {
        if let Some(probes) = &mut self.probes {
            let (packets, bytes) = self.links[link].queued(self.now);
            probes.queued(self.now, link, packets, bytes);
        }
    }

    /// The queue marks a packet, unless it is full.
    #[cold]
    fn mark(&mut self, link: LinkId, number: u32, fate: Fate) {
        if !refused(fate) {
            self.packets[number as usize].set_ecn(Ecn::Ce);
            self.links[link].count_mark();
        }
    }

    fn launch(&mut self, link: LinkId, number: u32, at: Instant, overtakes: bool) {
        if overtakes {
            self.serial = self.serial.wrapping_add(1);
            self.heap
                .push(Event::new(at, Kind::Reordered, link.0, self.serial, number));
        } else {
            self.fly(link, number, at);
        }
    }

    /// A packet joins those in flight on a link; only the first is an event.
    #[inline]
    fn fly(&mut self, link: LinkId, number: u32, arrives: Instant) {
        if self.links[link].flies(number, arrives) {
            self.heap
                .push(Event::new(arrives, Kind::Arrival, link.0, 0, 0));
        }
    }

    #[cold]
    fn watch_queue(&mut self, link: LinkId) {
        if let Some(probes) = &mut self.probes {
            probes.departures(link, &self.links[link], self.now);
        }
    }
}

/// Whether a full queue did not take a packet.
#[inline]
fn refused(fate: Fate) -> bool {
    matches!(
        fate,
        Fate::Lost {
            cause: DropCause::Congestion,
            ..
        }
    )
}
