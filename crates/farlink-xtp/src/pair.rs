//! Two ends with a path between them, for tests.

use farlink_tcp::{Event, Instant, Interval, State};
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
