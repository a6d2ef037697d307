//! Sliding windows of frames.
//!
//! Internal frame numbers have 64 bits and do not wrap. A frame on the wire carries its number
//! modulo 8 or 128. The window maps each wire number back to the only internal number it can stand
//! for.

use super::frame::{Item, Outcome};
use farlink_tcp::Instant;
use std::collections::VecDeque;

/// Frame that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// Packet in the frame.
    pub(super) item: Item,
    /// End of the latest transmission; [`Instant::MAX`] while the frame is at the MAC.
    pub(super) sent_at: Instant,
    /// Set if the frame must be sent again.
    pub(super) again: bool,
    /// Set if the peer reported that it has the frame.
    pub(super) held: bool,
}

/// Sending side: packets not yet sent, and frames not yet acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    mask: u64,
    window: u64,
    /// First unacknowledged frame.
    pub(super) una: u64,
    /// Next frame to send, V(S). After going back V(S) is below `top`.
    pub(super) next: u64,
    /// Number after the highest frame ever sent.
    pub(super) top: u64,
    slots: Box<[Slot]>,
    waiting: VecDeque<Item>,
    waiting_bytes: u64,
}

impl Sending {
    pub(super) fn new(modulus: u8, window: u8) -> Self {
        Self {
            mask: u64::from(modulus) - 1,
            window: u64::from(window),
            una: 0,
            next: 0,
            top: 0,
            slots: vec![Slot::default(); usize::from(modulus)].into(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    /// Appends a packet to the queue in front of the window.
    #[inline]
    pub(super) fn enqueue(&mut self, item: Item) {
        self.waiting_bytes += u64::from(item.len);
        self.waiting.push_back(item);
    }

    /// Returns the number and bytes of packets that were never sent.
    #[inline]
    pub(super) fn waiting(&self) -> (u32, u64) {
        (self.waiting.len() as u32, self.waiting_bytes)
    }

    /// Returns the number of unacknowledged frames.
    #[inline]
    pub(super) fn outstanding(&self) -> u64 {
        self.top - self.una
    }

    /// Returns whether the window allows another frame.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.outstanding() < self.window
    }

    /// Returns whether a new packet would be the next frame: nothing is to be resent after going
    /// back, no packet waits, and the window is open.
    pub(super) fn takes_new(&self) -> bool {
        self.next == self.top && self.waiting.is_empty() && self.is_open()
    }

    /// Returns the wire number of a frame.
    #[inline]
    pub(super) fn wire(&self, number: u64) -> u8 {
        (number & self.mask) as u8
    }

    /// Returns the outstanding frame with this wire number.
    #[inline]
    pub(super) fn find(&self, wire: u8) -> Option<u64> {
        let number = self.una + (u64::from(wire).wrapping_sub(self.una) & self.mask);
        (number < self.top).then_some(number)
    }

    /// Returns the internal number of an N(R), or `None` if the N(R) acknowledges a frame that was
    /// never sent.
    #[inline]
    pub(super) fn find_ack(&self, wire: u8) -> Option<u64> {
        let number = self.una + (u64::from(wire).wrapping_sub(self.una) & self.mask);
        (number <= self.top).then_some(number)
    }

    #[inline]
    pub(super) fn slot(&mut self, number: u64) -> &mut Slot {
        &mut self.slots[(number & self.mask) as usize]
    }

    /// Returns the packet of an outstanding frame.
    #[inline]
    pub(super) fn item(&self, number: u64) -> Item {
        self.slots[(number & self.mask) as usize].item
    }

    /// Returns the next frame to resend after going back, or else a new frame if the window is
    /// open.
    #[inline]
    pub(super) fn pop_next(&mut self) -> Option<u64> {
        if self.next == self.top {
            return self.pop_new();
        }
        let number = self.next;
        self.next += 1;
        Some(number)
    }

    /// Returns a new frame if the window is open and a packet waits.
    #[inline]
    pub(super) fn pop_new(&mut self) -> Option<u64> {
        if !self.is_open() {
            return None;
        }
        let item = self.waiting.pop_front()?;
        self.waiting_bytes -= u64::from(item.len);
        let number = self.top;
        *self.slot(number) = Slot {
            item,
            sent_at: Instant::MAX,
            again: false,
            held: false,
        };
        self.top += 1;
        self.next = self.top;
        Some(number)
    }

    /// Releases frames below `number`, which were acknowledged or given up.
    #[inline]
    pub(super) fn release(&mut self, number: u64, outcomes: &mut Vec<Outcome>) {
        while self.una < number {
            outcomes.push(Outcome::Done(self.item(self.una).token));
            self.una += 1;
        }
        self.next = self.next.max(self.una);
    }

    /// Gives up all frames and packets and restarts at number 0.
    pub(super) fn reset(&mut self, outcomes: &mut Vec<Outcome>) {
        self.release(self.top, outcomes);
        outcomes.extend(self.waiting.drain(..).map(|item| Outcome::Done(item.token)));
        self.waiting_bytes = 0;
        (self.una, self.next, self.top) = (0, 0, 0);
    }
}

/// State of a number in the receiver's window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    #[default]
    Missing,
    /// Received; buffered until earlier frames arrive.
    Held(u32),
    /// Received and delivered.
    Passed,
}

/// Receiving side of a selective-repeat protocol.
#[derive(Clone, Debug)]
pub(super) struct Receiving {
    mask: u64,
    window: u64,
    in_sequence: bool,
    /// First missing frame, V(R).
    pub(super) expected: u64,
    /// Number after the highest received frame.
    pub(super) top: u64,
    places: Box<[Place]>,
}

impl Receiving {
    pub(super) fn new(modulus: u8, window: u8, in_sequence: bool) -> Self {
        Self {
            mask: u64::from(modulus) - 1,
            window: u64::from(window),
            in_sequence,
            expected: 0,
            top: 0,
            places: vec![Place::Missing; usize::from(modulus)].into(),
        }
    }

    /// Returns the wire number of a frame.
    #[inline]
    pub(super) fn wire(&self, number: u64) -> u8 {
        (number & self.mask) as u8
    }

    #[inline]
    fn place(&mut self, number: u64) -> &mut Place {
        &mut self.places[(number & self.mask) as usize]
    }

    /// Returns whether a frame in the window is missing.
    #[inline]
    pub(super) fn is_missing(&self, number: u64) -> bool {
        number >= self.expected && self.places[(number & self.mask) as usize] == Place::Missing
    }

    /// Returns the internal number of a wire number if that frame has not been received.
    #[inline]
    pub(super) fn find_new(&self, wire: u8) -> Option<u64> {
        let ahead = u64::from(wire).wrapping_sub(self.expected) & self.mask;
        let number = self.expected + ahead;
        (ahead < self.window && self.is_missing(number)).then_some(number)
    }

    /// Accepts a frame that was missing.
    #[inline]
    pub(super) fn accept(&mut self, number: u64, token: u32, outcomes: &mut Vec<Outcome>) {
        outcomes.push(Outcome::Accepted(token));
        self.top = self.top.max(number + 1);
        if number == self.expected {
            outcomes.push(Outcome::Deliver(token));
            self.expected += 1;
            self.deliver_in_sequence(outcomes);
        } else if self.in_sequence {
            *self.place(number) = Place::Held(token);
        } else {
            outcomes.push(Outcome::Deliver(token));
            *self.place(number) = Place::Passed;
        }
    }

    /// Advances V(R) past received frames and delivers the buffered packets.
    fn deliver_in_sequence(&mut self, outcomes: &mut Vec<Outcome>) {
        while self.expected < self.top {
            let number = self.expected;
            match std::mem::take(self.place(number)) {
                Place::Missing => break,
                Place::Held(token) => outcomes.push(Outcome::Deliver(token)),
                Place::Passed => {}
            }
            self.expected += 1;
        }
    }

    /// Gives up the first missing frame.
    pub(super) fn skip(&mut self, outcomes: &mut Vec<Outcome>) {
        self.expected += 1;
        self.deliver_in_sequence(outcomes);
    }

    /// Gives up all missing frames below the highest received one.
    pub(super) fn skip_all(&mut self, outcomes: &mut Vec<Outcome>) {
        while self.expected < self.top {
            self.skip(outcomes);
        }
    }

    /// Discards buffered packets and restarts at number 0.
    pub(super) fn reset(&mut self, outcomes: &mut Vec<Outcome>) {
        for place in &mut self.places {
            if let Place::Held(token) = std::mem::take(place) {
                outcomes.push(Outcome::Discard(token));
            }
        }
        (self.expected, self.top) = (0, 0);
    }

    /// Returns the received frames above V(R): bit i means frame V(R) + 1 + i.
    pub(super) fn bitmap(&self) -> u64 {
        (self.expected + 1..self.top)
            .zip(0..)
            .filter(|&(number, _)| !self.is_missing(number))
            .fold(0, |map, (_, bit)| map | 1 << bit)
    }
}
