//! Hops without an event of their own: packets that a direction takes before they are there.
//!
//! Where all that a link carries comes from one other link, in that one's order, and nothing else
//! ever asks for its state, when a packet will arrive is known as soon as the link before has taken
//! it. It is handed on at once then, with the time at which it will come. What was taken ahead of
//! time is remembered until it has left the transmitter, so that the state at the end of a run
//! ([`Simplex::settle`]) is that of a run in which each packet was taken when it came.

use super::{DATA, LENGTH, Simplex};
use crate::link::config::QueueLimit;
use farlink_tcp::{Instant, Interval, Priority};
use farlink_wire::id::LinkId;
use farlink_wire::packets::Label;
use std::collections::VecDeque;

/// The fastest link whose packets leave at different times: the shortest, 40 bytes, takes more
/// than a nanosecond.
const FASTEST: u64 = 100_000_000_000;

/// Packets that a direction forwards early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HandsOn {
    /// Nothing.
    Nothing,
    /// Each packet, if the link that it takes next takes it ahead of time.
    Each,
    /// All packets, to one direction that takes them ahead of time.
    All,
}

/// A packet that was taken ahead of time.
#[derive(Clone, Copy, Debug)]
struct Taken {
    /// Arrival time.
    comes: Instant,
    /// Time at which the packet will have left the transmitter.
    leaves: Instant,
    /// Packed description, as in the queue.
    packet: u32,
    /// Most packets that had waited at once before it came.
    queue_max: u32,
}

/// State of taking packets ahead of time.
#[derive(Debug)]
pub(super) struct Ahead {
    /// The direction of the link before that all comes from.
    from: LinkId,
    taken: VecDeque<Taken>,
}

impl Simplex {
    /// Returns whether packets arrive unchanged, in the order of handover and each at its own time,
    /// so that another link may take them ahead of time.
    pub fn may_hand_on(&self) -> bool {
        !self.carries_frames
            && !self.keeps
            && self.compression.is_none()
            && self.pace.is_none()
            && self.channel.is_without_delay()
            && self.config.rate <= FASTEST
            && self.config.delay > Interval::ZERO
    }

    /// Returns whether the direction may take packets ahead of time: the fate of a packet must
    /// depend on earlier packets only.
    pub fn may_take_ahead(&self) -> bool {
        self.may_hand_on()
            && self.clean
            && self.background.is_none()
            && self.mtu.is_none()
            && self.config.mark == QueueLimit::Unlimited
    }

    /// Forwards packets early where the next link takes them ahead of time.
    pub fn hand_on(&mut self) {
        self.hands_on = HandsOn::Each;
    }

    /// The only direction that what it carries goes on over, and that takes it ahead of time.
    pub fn hand_all_onto(&mut self, next: LinkId) {
        self.hands_on = HandsOn::All;
        self.onto = next;
    }

    /// The direction that takes all that it carries ahead of time, if it is one.
    #[inline]
    pub fn hands_all_onto(&self) -> Option<LinkId> {
        (self.hands_on == HandsOn::All).then_some(self.onto)
    }

    /// Returns whether packets are forwarded early.
    #[inline]
    pub fn hands_on(&self) -> bool {
        self.hands_on != HandsOn::Nothing
    }

    /// Packets are taken ahead of time from now on, all of them from one direction of a link.
    pub fn take_all_ahead_from(&mut self, from: LinkId) {
        self.ahead = Some(Box::new(Ahead {
            from,
            taken: VecDeque::new(),
        }));
    }

    /// Returns whether packets that arrive over `from` are taken ahead of time.
    #[inline]
    pub fn takes_ahead_from(&self, from: LinkId) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.from == from)
    }

    /// Takes a packet, now, that will come at `comes`. Returns when it reaches the far end;
    /// nothing if the queue will be full: then nothing has been counted, and
    /// [`Self::count_drop`] is to be called when it comes.
    #[inline]
    pub fn take_ahead(&mut self, now: Instant, comes: Instant, label: Label) -> Option<Instant> {
        let waiting = self.normal_queued(comes);
        let queue_max = self.queue_max;
        let data = if label.data { DATA } else { 0 };
        let packet = label.ip_len | data;
        if !self.admit::<true>(comes, packet, waiting) {
            return None;
        }
        if let Some(ahead) = &mut self.ahead {
            let taken = &mut ahead.taken;
            while taken.front().is_some_and(|first| first.leaves <= now) {
                taken.pop_front();
            }
            taken.push_back(Taken {
                comes,
                leaves: self.free_at,
                packet,
                queue_max,
            });
        }
        self.leave(comes, packet, Priority::Normal).plain()
    }

    /// The run is over at `now`: packets that have not come by then have not been taken. Returns
    /// how many these are.
    pub fn settle(&mut self, now: Instant, has_come: impl Fn(LinkId, Instant) -> bool) -> usize {
        let Some(ahead) = self.ahead.take() else {
            return 0;
        };
        let Ahead { from, taken } = *ahead;
        let there = taken.partition_point(|entry| has_come(from, entry.comes));
        let sending = |entry: &Taken| {
            let bytes = (entry.packet & LENGTH) + self.config.overhead;
            self.config.sending(self.config.coded(bytes))
        };
        let start = |entry: &Taken| entry.leaves.as_nanos() - sending(entry).as_nanos();
        let starts: Vec<_> = taken
            .iter()
            .map(|entry| Instant::from_nanos(start(entry)))
            .collect();
        for (entry, &starts) in taken.iter().zip(&starts).skip(there) {
            self.counts.packets -= 1;
            self.counts.bytes -= u64::from(entry.packet & LENGTH);
            self.counts.data -= u64::from(entry.packet & DATA != 0);
            self.counts.busy -= entry.leaves.since(starts).as_nanos();
        }
        if let Some(first) = taken.get(there) {
            self.queue_max = first.queue_max;
        }
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.free_at = self.free_at.min(now);
        for (entry, &starts) in taken.iter().zip(&starts).take(there) {
            self.free_at = entry.leaves;
            if starts > now {
                self.waiting.push_back((starts, entry.packet));
                self.waiting_bytes += u64::from(entry.packet & LENGTH);
            } else {
                self.taken = entry.packet;
            }
        }
        taken.len() - there
    }
}
