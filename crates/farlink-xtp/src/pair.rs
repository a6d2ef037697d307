//! Two ends with a path between them, for tests.

use farlink_tcp::{CloseReason, Event, Instant, Interval, State};
use std::collections::VecDeque;

/// Delay of each direction.
const WAY: Interval = Interval::from_millis(250);

/// Returns the time after so many milliseconds.
pub(crate) fn at(ms: u64) -> Instant {
    Instant::ZERO + Interval::from_millis(ms)
}

/// Returns whether to lose a packet, one of so many by chance.
pub(crate) fn chance(every: usize) -> impl Fn(usize) -> bool {
    move |number| {
        let mix = |word: u64| (word ^ word >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = mix(mix(number as u64 + 1)) >> 20;
        (word as usize).is_multiple_of(every)
    }
}

/// End of a connection.
pub(crate) trait End {
    type Pdu;
    fn transmit(&mut self, now: Instant) -> Option<Self::Pdu>;
    fn on_pdu(&mut self, now: Instant, pdu: &Self::Pdu);
    fn on_timeout(&mut self, now: Instant);
    fn deadline(&mut self, now: Instant) -> Option<Instant>;
    fn read_len(&mut self, len: u64) -> u64;
    fn write_len(&mut self, len: u64) -> u64;
    fn shutdown(&mut self);
    fn acknowledged(&self) -> u64;
    fn poll_event(&mut self) -> Option<Event>;
    fn state(&self) -> State;
}

macro_rules! end {
    ($end:ty, $pdu:ty) => {
        impl End for $end {
            type Pdu = $pdu;
            fn transmit(&mut self, now: Instant) -> Option<$pdu> {
                self.transmit(now)
            }
            fn on_pdu(&mut self, now: Instant, pdu: &$pdu) {
                self.on_pdu(now, pdu);
            }
            fn on_timeout(&mut self, now: Instant) {
                self.on_timeout(now);
            }
            fn deadline(&mut self, now: Instant) -> Option<Instant> {
                self.deadline(now)
            }
            fn read_len(&mut self, len: u64) -> u64 {
                self.read_len(len)
            }
            fn write_len(&mut self, len: u64) -> u64 {
                self.write_len(len)
            }
            fn shutdown(&mut self) {
                self.shutdown();
            }
            fn acknowledged(&self) -> u64 {
                self.acknowledged()
            }
            fn poll_event(&mut self) -> Option<Event> {
                self.poll_event()
            }
            fn state(&self) -> State {
                self.state()
            }
        }
    };
}

end!(crate::Association, farlink_wire::xtp::Pdu);
end!(crate::stp::Connection, farlink_wire::stp::Pdu);

/// Two ends with a path between them. The opener is end 0.
pub(crate) struct Pair<E: End> {
    pub(crate) ends: [E; 2],
    pub(crate) now: Instant,
    /// Packets under way: arrival, destination, packet.
    pub(crate) flying: VecDeque<(Instant, usize, E::Pdu)>,
    /// Number of packets sent, and those that are lost.
    pub(crate) sent: usize,
    pub(crate) lost: Box<dyn Fn(usize) -> bool>,
    pub(crate) read: [u64; 2],
    /// Bytes that an end reads at each packet.
    pub(crate) reads: u64,
    pub(crate) events: [Vec<Event>; 2],
}

impl<E: End> Pair<E> {
    pub(crate) fn new(ends: [E; 2], lost: impl Fn(usize) -> bool + 'static) -> Self {
        Self {
            ends,
            now: Instant::ZERO,
            flying: VecDeque::new(),
            sent: 0,
            lost: Box::new(lost),
            read: [0; 2],
            reads: u64::MAX,
            events: [vec![], vec![]],
        }
    }

    fn exchange(&mut self) {
        for number in [0, 1] {
            while let Some(pdu) = self.ends[number].transmit(self.now) {
                self.sent += 1;
                if !(self.lost)(self.sent) {
                    self.flying.push_back((self.now + WAY, 1 - number, pdu));
                }
            }
            self.read[number] += self.ends[number].read_len(self.reads);
            while let Some(event) = self.ends[number].poll_event() {
                self.events[number].push(event);
            }
        }
    }

    /// Runs until nothing happens, or until `end`.
    pub(crate) fn run(&mut self, end: Instant) {
        self.exchange();
        loop {
            let arrival = self.flying.front().map(|&(at, ..)| at);
            let now = self.now;
            let timers = self.ends.iter_mut().map(|end| end.deadline(now));
            let next = timers.flatten().chain(arrival).min();
            let Some(next) = next.filter(|&next| next <= end) else {
                self.now = end;
                return;
            };
            self.now = next.max(self.now);
            while let Some(&(at, ..)) = self.flying.front()
                && at <= self.now
                && let Some((_, to, pdu)) = self.flying.pop_front()
            {
                let now = self.now;
                self.ends[to].on_pdu(now, &pdu);
            }
            for end in &mut self.ends {
                end.on_timeout(self.now);
            }
            self.exchange();
        }
    }

    pub(crate) fn states(&self) -> [State; 2] {
        [self.ends[0].state(), self.ends[1].state()]
    }
}

/// Checks that data in both directions arrives once, and that both ends report the close of the peer
/// and then the end.
pub(crate) fn check_both_streams<E: End>(mut pair: Pair<E>, case: &str) {
    for (end, bytes) in [(0, 300_000), (1, 70_001)] {
        assert_eq!(pair.ends[end].write_len(bytes), bytes);
        pair.ends[end].shutdown();
    }
    pair.run(at(3_600_000));
    assert_eq!(pair.read, [70_001, 300_000], "{case}");
    let expected = vec![Event::PeerClosed, Event::Closed(CloseReason::Done)];
    assert_eq!(pair.events, [expected.clone(), expected], "{case}");
    assert_eq!(pair.states(), [State::Closed; 2], "{case}");
    let acknowledged = pair.ends.each_ref().map(E::acknowledged);
    assert_eq!(acknowledged, [300_000, 70_001], "{case}");
}
