//! The event queue: two four-ary heaps of 16-byte entries in one total order.
//!
//! Nearly all events are arrivals, one for each link in use. They have a heap of their own, so the
//! cost of a hop does not grow with the number of timers.
//!
//! An entry is one 128-bit number: time, kind, source and counter, from the highest bits down.
//! Events at the same time have the order of [`Kind`]. A few kinds of events need more data, which
//! is in a map next to the heaps.

use farlink_small::Map;
use farlink_tcp::Instant;

/// Kinds of events. At the same time, kinds that are listed first are handled first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Arrival of the first packet in flight on a link; the source is the link. A counter other
    /// than 0 marks a packet that was forwarded early, for which its next link has no room.
    Arrival,
    /// A packet arrives that overtakes others on its link, or is overtaken; the source is the link.
    Reordered,
    /// The timer of an endpoint expires; the source is the endpoint.
    Timer,
    /// A flow starts; the source is the flow.
    Start,
    /// A flow stops; the source is the flow.
    Stop,
    /// An application wakes up; the source is the flow.
    Wake,
    /// An endpoint is notified of a lost packet; the source is the endpoint.
    Notice,
    /// The timer of a UDP or XTP flow expires; the source is the number of the flow among these
    /// flows, UDP first.
    Datagram,
    /// The transmitter of a link may start a low-priority packet; the source is the link. This kind
    /// follows arrivals and sends, so normal packets of the same time come first.
    LowDue,
    /// The timer of an ARQ link expires; the source is its down direction.
    Arq,
    /// An endpoint is notified of a path MTU; the source is the endpoint.
    PathMtu,
    /// The reassembly time-out of incomplete datagrams may have expired.
    Reassembly,
    /// An agent's timer expires; the source is the agent's number.
    Agent,
    /// An agent is switched on or off; the source is the agent's number.
    Switch,
    /// A moving host leaves or joins a link; the source is the host's number among moving hosts.
    Handoff,
    /// Routes begin.
    Route,
}

/// A pending event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Event {
    /// Time, kind, source and counter, from the highest bit down.
    key: u128,
}

/// Upper bound (exclusive) of source numbers.
pub(crate) const MAX_SOURCES: usize = 1 << 28;

impl Event {
    /// Builds an event. `counter` distinguishes events of the same kind, source and time. It is 0
    /// if the source never has two pending events.
    #[inline]
    pub(crate) fn new(time: Instant, kind: Kind, source: u32, counter: u32) -> Self {
        let tie = (kind as u64) << 60 | u64::from(source) << 32 | u64::from(counter);
        let key = u128::from(time.as_nanos()) << 64 | u128::from(tie);
        Self { key }
    }

    /// Returns a bound that sorts after every event of `time`.
    pub(crate) const fn last_at(time: Instant) -> Self {
        let key = (time.as_nanos() as u128) << 64 | u64::MAX as u128;
        Self { key }
    }

    /// Event that sorts after every other event.
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
            14 => Kind::Handoff,
            _ => Kind::Route,
        }
    }

    /// Returns whether the event is the arrival of the first packet in flight on its link, as most
    /// events are.
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

/// Number of children of a heap node, because four entries of 16 bytes fill one cache line.
const ARITY: usize = 4;

/// Children of a heap entry. Unused places contain [`Event::NEVER`].
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Children([Event; ARITY]);

/// Number of levels of the heap, from the root, whose new entries [`EventQueue::next_arrival`]
/// returns.
pub(crate) const LEVELS: usize = 6;

/// Events that moved up by one level, by their new level: the root first, then its children, and
/// so on. [`Event::NEVER`] where none moved.
pub(crate) type Nearer = [Event; LEVELS];

const NONE_NEARER: Nearer = [Event::NEVER; LEVELS];

/// The pending events in order.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    /// Arrivals of the first packet in flight on each link in use, and other arrivals.
    arrivals: Heap,
    others: Heap,
    /// Detail of an event, keyed by kind, source and counter.
    details: Map<u64, u32>,
}

impl EventQueue {
    /// Returns the next event.
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

    /// Adds an event with a `detail`, which [`Self::detail`] returns later. No other pending event
    /// with a detail may have the same kind, source and counter.
    pub(crate) fn push_with(&mut self, event: Event, detail: u32) {
        self.details.insert(event.tie(), detail);
        self.push(event);
    }

    /// Removes and returns the detail of a due event; 0 if the event has none.
    pub(crate) fn detail(&mut self, event: Event) -> u32 {
        self.details.remove(&event.tie()).unwrap_or_default()
    }

    /// Removes the events for which `keep` is false.
    pub(crate) fn retain(&mut self, keep: impl Fn(Event) -> bool) {
        let mut all = Vec::new();
        while let Some(event) = self.peek() {
            self.pop();
            all.push(event);
        }
        for event in all.into_iter().filter(|&event| keep(event)) {
            self.push(event);
        }
    }

    /// Returns the detail of a pending event, if the event has one.
    pub(crate) fn peek_detail(&self, event: Event) -> Option<u32> {
        self.details.get(&event.tie()).copied()
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

    /// Replaces the next event, which must be an arrival, by another arrival. This takes half the
    /// time of a pop and a push.
    #[inline]
    pub(crate) fn replace_arrival(&mut self, event: Event) {
        debug_assert!(
            self.arrivals.first < self.others.first && event.kind() == Kind::Arrival,
            "an arrival takes the place of one"
        );
        self.arrivals.replace(event);
    }

    /// Replaces or removes the next event, which must be an arrival. Returns the arrivals that came
    /// nearer to the front of the heap.
    #[inline]
    pub(crate) fn next_arrival(&mut self, event: Option<Event>) -> Nearer {
        let event = match event {
            Some(event) => event,
            None => match self.arrivals.take_last() {
                Some(last) => last,
                None => return NONE_NEARER,
            },
        };
        self.arrivals.sift::<true>(event)
    }
}

/// A four-ary min-heap of events.
///
/// The root is `first`; the other entries have places counted from 0 in `groups`. Group 0 has the
/// children of the root, and group n + 1 those of place n.
#[derive(Debug)]
struct Heap {
    /// The earliest event; [`Event::NEVER`] if the heap is empty.
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
        if let Some(last) = self.take_last() {
            self.replace(last);
        }
    }

    /// Removes and returns the last entry. Removes the earliest event if there is no other.
    #[inline]
    fn take_last(&mut self) -> Option<Event> {
        self.len = self.len.saturating_sub(1);
        let Some(place) = self.len.checked_sub(1) else {
            self.first = Event::NEVER;
            return None;
        };
        let last = std::mem::replace(
            &mut self.groups[place / ARITY].0[place % ARITY],
            Event::NEVER,
        );
        self.groups.truncate(place.div_ceil(ARITY));
        Some(last)
    }

    /// Replaces the earliest event by `event`.
    #[inline]
    fn replace(&mut self, event: Event) {
        if self.len == 2 {
            // Heaps of two entries have a fast path because they are common: one arrival of data
            // and one of ACKs, on a path of one link or of fused hops.
            let other = &mut self.groups[0].0[0];
            (self.first, *other) = if event < *other {
                (event, *other)
            } else {
                (*other, event)
            };
            return;
        }
        self.sift::<false>(event);
    }

    /// Removes the root, and inserts `event` by sifting down from the root. Returns the moved
    /// events if `WATCH` is set.
    fn sift<const WATCH: bool>(&mut self, event: Event) -> Nearer {
        let mut nearer = NONE_NEARER;
        let mut level = 0;
        let mut hole = &mut self.first;
        // Number of the group, and its index in the remaining slice.
        let (mut number, mut at) = (0, 0);
        let mut groups = self.groups.as_mut_slice();
        while let Some((group, behind)) = groups.get_mut(at..).and_then(<[_]>::split_first_mut) {
            let (least, within) = least(&group.0);
            if event <= least {
                break;
            }
            *hole = least;
            if WATCH && let Some(place) = nearer.get_mut(level) {
                *place = least;
                level += 1;
            }
            hole = &mut group.0[within];
            at = (ARITY - 1) * number + within;
            number = ARITY * number + within + 1;
            groups = behind;
        }
        *hole = event;
        nearer
    }
}

/// Returns the earliest of four events, and its index.
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

    /// The heap moves its entries, and has about ten thousand entries if there are a thousand
    /// flows. Small entries keep the heap in the fastest caches.
    #[test]
    fn event_is_16_bytes_and_four_fill_a_cache_line() {
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
    fn events_pop_in_order_after_random_pushes_pops_and_replacements() {
        let mut stream = Streams::new(1, 0).stream("heap");
        let mut queue = EventQueue::default();
        let mut model = std::collections::BTreeSet::new();
        let (mut replaced, mut moved) = (0, 0);
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
                0 if next == Some(Kind::Arrival) && counter % 2 == 0 => {
                    let nearer = queue.next_arrival(None);
                    model.pop_first();
                    check_nearer(&queue, &nearer);
                }
                0 => {
                    queue.pop();
                    model.pop_first();
                }
                1 if kind == Kind::Arrival && next == Some(kind) => {
                    if counter % 2 == 0 {
                        let nearer = queue.next_arrival(Some(event));
                        check_nearer(&queue, &nearer);
                        moved += usize::from(nearer[1] != Event::NEVER);
                    } else {
                        queue.replace_arrival(event);
                    }
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
        assert!(replaced > 100 && moved > 20, "{replaced} {moved}");
    }

    /// Events that came nearer are in the heap, at the level of their place in the list.
    fn check_nearer(queue: &EventQueue, nearer: &Nearer) {
        for (level, &event) in nearer.iter().enumerate() {
            if event == Event::NEVER {
                continue;
            }
            if level == 0 {
                assert_eq!(event, queue.arrivals.first);
                continue;
            }
            let (mut from, mut count) = (0, ARITY);
            for _ in 1..level {
                (from, count) = (from + count, count * ARITY);
            }
            let places = queue.arrivals.groups.iter().flat_map(|group| group.0);
            assert!(places.skip(from).take(count).any(|other| other == event));
        }
    }

    #[test]
    fn event_details_are_returned_when_the_event_is_due() {
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
