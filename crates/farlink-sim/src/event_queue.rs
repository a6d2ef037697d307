//! The event queue: two four-ary heaps of small entries in one total order.
//!
//! Nearly all events are arrivals, one for each link that is in use. They have a heap of their own,
//! so that what a hop costs does not grow with the timers of all flows.
//!
//! Events are ordered by (time, kind, source, counter), which are all that an entry
//! is: one number of two words. The order of the kinds is the order in which things
//! that happen at the same instant happen. What few events have besides lies beside
//! the heap.

use farlink_tcp::Instant;
use std::collections::BTreeMap;

/// Kinds of events, first those that go first at the same instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The first packet in flight on a link arrives; the source is the link. With a counter, one
    /// that was handed on and will find no room at the next link.
    Arrival,
    /// A packet outside the order of its link arrives; the source is the link.
    Reordered,
    /// A timer of an endpoint; the source is the endpoint.
    Timer,
    /// A flow starts; the source is the flow.
    Start,
    /// A flow stops; the source is the flow.
    Stop,
    /// An application wakes; the source is the flow.
    Wake,
    /// An endpoint hears of a lost packet; the source is the endpoint.
    Notice,
    /// A flow of datagrams sends the next, or one over XTP has something to do; the source is its
    /// number among those, first the ones of datagrams.
    Datagram,
    /// The transmitter of a link may take a packet of low priority; the source is
    /// the link. Late, so that what is normal comes first.
    LowDue,
    /// A link with a protocol has something to do; the source is its direction down.
    Arq,
    /// An endpoint hears how long a packet may be; the source is the endpoint.
    PathMtu,
    /// Datagrams of which fragments are missing may be given up.
    Reassembly,
    /// An agent wants to be called; the source is its number.
    Agent,
    /// An agent is switched; the source is its number.
    Switch,
    /// A host that moves leaves a link or is at one; the source is its number among those.
    Handoff,
}

/// An event that will happen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Event {
    /// Time, kind, source and counter, from the highest bit down.
    key: u128,
}

/// Sources are numbered below this.
pub(crate) const MAX_SOURCES: usize = 1 << 28;

impl Event {
    /// `counter` tells apart events of the same kind and source at the same
    /// time; a source with one pending event leaves it zero.
    #[inline]
    pub(crate) fn new(time: Instant, kind: Kind, source: u32, counter: u32) -> Self {
        let tie = (kind as u64) << 60 | u64::from(source) << 32 | u64::from(counter);
        let key = u128::from(time.as_nanos()) << 64 | u128::from(tie);
        Self { key }
    }

    /// After every event of a time.
    pub(crate) const fn last_at(time: Instant) -> Self {
        let key = (time.as_nanos() as u128) << 64 | u64::MAX as u128;
        Self { key }
    }

    /// After all that happens.
    const NEVER: Self = Self { key: u128::MAX };

    #[inline]
    pub(crate) fn time(&self) -> Instant {
        Instant::from_nanos((self.key >> 64) as u64)
    }

    #[inline]
    fn tie(&self) -> u64 {
        self.key as u64
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        match self.tie() >> 60 {
            0 => Kind::Arrival,
            1 => Kind::Reordered,
            2 => Kind::Timer,
            3 => Kind::Start,
            4 => Kind::Stop,
            5 => Kind::Wake,
            6 => Kind::Notice,
            7 => Kind::Datagram,
            8 => Kind::LowDue,
            9 => Kind::Arq,
            10 => Kind::PathMtu,
            11 => Kind::Reassembly,
            12 => Kind::Agent,
            13 => Kind::Switch,
            _ => Kind::Handoff,
        }
    }

    /// Returns whether the event is the arrival of the first packet in flight on its link, as
    /// nearly all are.
    #[inline]
    pub(crate) fn is_next_arrival(&self) -> bool {
        self.tie() & !(u64::from(MAX_SOURCES as u32 - 1) << 32) == 0
    }

    #[inline]
    pub(crate) fn source(&self) -> u32 {
        (self.tie() >> 32) as u32 & (MAX_SOURCES as u32 - 1)
    }

    #[inline]
    pub(crate) fn counter(&self) -> u32 {
        self.tie() as u32
    }
}

/// Children of a node: they are a line of the cache.
const ARITY: usize = 4;

/// The children of one event, whose places behind the last are never.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Children([Event; ARITY]);

/// The pending events.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    /// Arrival of the first packet in flight on each link in use.
    arrivals: Heap,
    others: Heap,
    /// Detail of an event, by the event's identity.
    details: BTreeMap<u64, u32>,
}

impl EventQueue {
    /// The next event.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Event> {
        let next = self.arrivals.first.min(self.others.first);
        (next != Event::NEVER).then_some(next)
    }

    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        if event.kind() == Kind::Arrival {
            self.arrivals.push(event);
        } else {
            self.others.push(event);
        }
    }

    /// Adds an event to which `detail` belongs, until [`Self::detail`] takes it. No other
    /// that waits and has one may be of its kind, source and counter.
    pub(crate) fn push_with(&mut self, event: Event, detail: u32) {
        self.details.insert(event.tie(), detail);
        self.push(event);
    }

    /// Removes and returns the detail of an event that happens.
    pub(crate) fn detail(&mut self, event: Event) -> u32 {
        self.details.remove(&event.tie()).unwrap_or_default()
    }

    /// Removes the next event.
    #[inline]
    pub(crate) fn pop(&mut self) {
        if self.arrivals.first < self.others.first {
            self.arrivals.pop();
        } else {
            self.others.pop();
        }
    }

    /// Puts an arrival in the place of the next event, which is one too: that saves half the work
    /// of removing and adding.
    #[inline]
    pub(crate) fn replace_arrival(&mut self, event: Event) {
        debug_assert!(
            self.arrivals.first < self.others.first && event.kind() == Kind::Arrival,
            "an arrival takes the place of one"
        );
        self.arrivals.replace(event);
    }
}

/// A heap of events.
///
/// Behind the first, places are counted through the groups: those of group 0 are the children of
/// the first, those of group n + 1 the children of place n.
#[derive(Debug)]
struct Heap {
    /// The next event; [`Event::NEVER`] without any.
    first: Event,
    groups: Vec<Children>,
    /// Number of events.
    len: usize,
}

impl Default for Heap {
    fn default() -> Self {
        Self {
            first: Event::NEVER,
            groups: Vec::new(),
            len: 0,
        }
    }
}

impl Heap {
    /// Adds an event.
    fn push(&mut self, event: Event) {
        self.len += 1;
        let Some(mut place) = self.len.checked_sub(2) else {
            self.first = event;
            return;
        };
        if place / ARITY == self.groups.len() {
            self.groups.push(Children([Event::NEVER; ARITY]));
        }
        loop {
            let (group, within) = (place / ARITY, place % ARITY);
            let parent = match group.checked_sub(1) {
                None => self.first,
                Some(above) => self.groups[above / ARITY].0[above % ARITY],
            };
            if parent <= event {
                self.groups[group].0[within] = event;
                return;
            }
            self.groups[group].0[within] = parent;
            match group.checked_sub(1) {
                None => break,
                Some(above) => place = above,
            }
        }
        self.first = event;
    }

    /// Removes the next event.
    #[inline]
    fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
        let Some(place) = self.len.checked_sub(1) else {
            self.first = Event::NEVER;
            return;
        };
        let last = std::mem::replace(
            &mut self.groups[place / ARITY].0[place % ARITY],
            Event::NEVER,
        );
        self.groups.truncate(place.div_ceil(ARITY));
        self.replace(last);
    }

    /// Puts `event` in the place of the next one.
    #[inline]
    fn replace(&mut self, event: Event) {
        if self.len == 2 {
            // As of a path of one hop, or one whose hops are fused: data, and their ACKs.
            let other = &mut self.groups[0].0[0];
            (self.first, *other) = if event < *other {
                (event, *other)
            } else {
                (*other, event)
            };
            return;
        }
        self.sift(event);
    }

    /// The next event is over, and `event` takes a place.
    fn sift(&mut self, event: Event) {
        let mut hole = &mut self.first;
        // A group, and where it is among those that are left.
        let (mut number, mut at) = (0, 0);
        let mut groups = self.groups.as_mut_slice();
        while let Some((group, behind)) = groups.get_mut(at..).and_then(<[_]>::split_first_mut) {
            let (least, within) = least(&group.0);
            if event <= least {
                break;
            }
            *hole = least;
            hole = &mut group.0[within];
            at = (ARITY - 1) * number + within;
            number = ARITY * number + within + 1;
            groups = behind;
        }
        *hole = event;
    }
}

/// The first of four events, and its place among them.
#[inline]
fn least([a, b, c, d]: &[Event; ARITY]) -> (Event, usize) {
    let front = if b < a { (*b, 1) } else { (*a, 0) };
    let back = if d < c { (*d, 3) } else { (*c, 2) };
    if back.0 < front.0 { back } else { front }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_channel::rng::Streams;

    /// The heap moves its entries: with a thousand flows it holds some ten thousand,
    /// which should stay in the nearest caches. What an event needs beyond a number
    /// belongs to its source.
    #[test]
    fn an_entry_is_two_words_and_four_are_a_line() {
        assert_eq!((size_of::<Event>(), size_of::<Children>()), (16, 64));
    }

    #[test]
    fn order_is_time_kind_source_counter() {
        let at = Instant::from_nanos;
        let sorted = [
            Event::new(at(1), Kind::Stop, 9, 9),
            Event::new(at(2), Kind::Arrival, 5, 0),
            Event::new(at(2), Kind::Arrival, 6, 0),
            Event::new(at(2), Kind::Reordered, 0, 0),
            Event::new(at(2), Kind::Reordered, 0, 1),
            Event::new(at(2), Kind::Timer, 0, 0),
        ];
        assert!(sorted.is_sorted_by(|a, b| a < b));
        assert!(sorted[5] < Event::last_at(at(2)) && Event::last_at(at(1)) < sorted[1]);
        let e = Event::new(at(7), Kind::Timer, 12_345, 3);
        assert_eq!(
            (e.time(), e.kind(), e.source(), e.counter()),
            (at(7), Kind::Timer, 12_345, 3)
        );
    }

    #[test]
    fn events_come_back_in_order_whatever_was_done_to_it() {
        let mut stream = Streams::new(1, 0).stream("heap");
        let mut queue = EventQueue::default();
        let mut model = std::collections::BTreeSet::new();
        let mut replaced = 0;
        for counter in 0..20_000_u32 {
            let time = Instant::from_nanos(stream.next_u64() % 1000);
            let kind = match stream.next_u64() % 3 {
                0 => Kind::Timer,
                1 => Kind::Handoff,
                _ => Kind::Arrival,
            };
            let event = Event::new(time, kind, counter, 0);
            let next = model.first().map(Event::kind);
            match stream.next_u64() % 4 {
                0 => {
                    queue.pop();
                    model.pop_first();
                }
                1 if kind == Kind::Arrival && next == Some(kind) => {
                    queue.replace_arrival(event);
                    model.pop_first();
                    model.insert(event);
                    replaced += 1;
                }
                _ => {
                    queue.push(event);
                    model.insert(event);
                }
            }
            assert_eq!(queue.peek(), model.first().copied());
        }
        assert!(replaced > 100, "{replaced}");
    }

    #[test]
    fn what_belongs_to_an_event_is_there_when_it_happens() {
        let mut queue = EventQueue::default();
        let event = |time, counter| Event::new(Instant::from_nanos(time), Kind::Notice, 1, counter);
        queue.push_with(event(2, 7), 70);
        queue.push_with(event(1, 8), 80);
        queue.push(event(0, 0));
        let mut details = Vec::new();
        while let Some(event) = queue.peek() {
            queue.pop();
            details.push(queue.detail(event));
        }
        assert_eq!(details, [0, 80, 70]);
    }
}
