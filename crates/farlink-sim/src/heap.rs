//! The event queue: a four-ary heap of small entries in a total order.
//!
//! Events are ordered by (time, kind, source, counter); the last three are one
//! number, so a comparison is two words. The order of the kinds is the order in
//! which things that happen at the same instant happen.

use farlink_tcp::Instant;

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
    /// A flow of datagrams sends the next; the source is its number among those.
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
}

/// An event that will happen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Event {
    time: Instant,
    /// Kind, source and counter.
    tie: u64,
    payload: u32,
}

/// Sources are numbered below this.
pub(crate) const MAX_SOURCES: usize = 1 << 28;

impl Event {
    /// `counter` tells apart events of the same kind and source at the same
    /// time; a source with one pending event leaves it zero.
    #[inline]
    pub(crate) fn new(time: Instant, kind: Kind, source: u32, counter: u32, payload: u32) -> Self {
        let tie = (kind as u64) << 60 | u64::from(source) << 32 | u64::from(counter);
        Self { time, tie, payload }
    }

    /// After every event of a time.
    pub(crate) const fn last_at(time: Instant) -> Self {
        Self {
            time,
            tie: u64::MAX,
            payload: u32::MAX,
        }
    }

    #[inline]
    pub(crate) fn time(&self) -> Instant {
        self.time
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        match self.tie >> 60 {
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
            _ => Kind::Switch,
        }
    }

    #[inline]
    pub(crate) fn source(&self) -> u32 {
        (self.tie >> 32) as u32 & (MAX_SOURCES as u32 - 1)
    }

    #[inline]
    pub(crate) fn counter(&self) -> u32 {
        self.tie as u32
    }

    #[inline]
    pub(crate) fn payload(&self) -> u32 {
        self.payload
    }

    /// Time before tie, as one number: two of these compare without a branch.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time.as_nanos()) << 64 | u128::from(self.tie)
    }
}

/// Children of a node: a shallow tree whose siblings share a cache line or two.
const ARITY: usize = 4;

/// The pending events.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    events: Vec<Event>,
}

impl Heap {
    /// The next event.
    #[inline]
    pub(crate) fn peek(&self) -> Option<&Event> {
        self.events.first()
    }

    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
        let mut at = self.events.len() - 1;
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.events[parent].key() <= event.key() {
                break;
            }
            self.events[at] = self.events[parent];
            at = parent;
        }
        self.events[at] = event;
    }

    /// Removes the next event.
    #[inline]
    pub(crate) fn pop(&mut self) {
        if let Some(last) = self.events.pop()
            && !self.events.is_empty()
        {
            self.replace(last);
        }
    }

    /// Puts `event` in the place of the next one, which saves half the work of
    /// removing and adding.
    #[inline]
    pub(crate) fn replace(&mut self, event: Event) {
        let n = self.events.len();
        let mut at = 0;
        loop {
            let first = at * ARITY + 1;
            if first >= n {
                break;
            }
            let (place, least) = match self.events[first..] {
                [a, b, c, d, ..] => {
                    least((first, a), (first + 1, b), (first + 2, c), (first + 3, d))
                }
                [a, b, c] => least((first, a), (first + 1, b), (first + 2, c), (first + 2, c)),
                [a, b] => sooner((first, a), (first + 1, b)),
                [a] => (first, a),
                [] => break,
            };
            if event.key() <= least.key() {
                break;
            }
            self.events[at] = least;
            at = place;
        }
        self.events[at] = event;
    }
}

/// An event and its place.
type Placed = (usize, Event);

#[inline]
fn sooner(a: Placed, b: Placed) -> Placed {
    if b.1.key() < a.1.key() { b } else { a }
}

#[inline]
fn least(a: Placed, b: Placed, c: Placed, d: Placed) -> Placed {
    sooner(sooner(a, b), sooner(c, d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_net::rng::Streams;

    /// The heap moves its entries: with a thousand flows it holds some ten thousand,
    /// which should stay in the nearest caches. What an event needs beyond a number
    /// belongs to its source.
    #[test]
    fn an_entry_is_three_words() {
        assert_eq!(size_of::<Event>(), 24);
    }

    #[test]
    fn order_is_time_kind_source_counter() {
        let at = Instant::from_nanos;
        let sorted = [
            Event::new(at(1), Kind::Stop, 9, 9, 0),
            Event::new(at(2), Kind::Arrival, 5, 0, 0),
            Event::new(at(2), Kind::Arrival, 6, 0, 0),
            Event::new(at(2), Kind::Reordered, 0, 0, 0),
            Event::new(at(2), Kind::Reordered, 0, 1, 0),
            Event::new(at(2), Kind::Timer, 0, 0, 0),
        ];
        assert!(sorted.is_sorted_by(|a, b| a.key() < b.key()));
        let e = Event::new(at(7), Kind::Timer, 12_345, 3, 42);
        assert_eq!(
            (e.time(), e.kind(), e.source(), e.payload()),
            (at(7), Kind::Timer, 12_345, 42)
        );
    }

    #[test]
    fn a_heap_gives_back_in_order_whatever_was_done_to_it() {
        let mut stream = Streams::new(1, 0).stream("heap");
        let mut heap = Heap::default();
        let mut model = std::collections::BTreeSet::new();
        for counter in 0..20_000_u32 {
            let time = Instant::from_nanos(stream.next_u64() % 1000);
            let event = Event::new(time, Kind::Timer, counter, 0, 0);
            match stream.next_u64() % 4 {
                0 => {
                    heap.pop();
                    model.pop_first();
                }
                1 if !model.is_empty() => {
                    heap.replace(event);
                    model.pop_first();
                    model.insert(event);
                }
                _ => {
                    heap.push(event);
                    model.insert(event);
                }
            }
            assert_eq!(heap.peek(), model.first());
        }
    }
}
