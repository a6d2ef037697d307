//! Sliding windows of frames.
//!
//! Inside, a frame's number is 64 bits and never wraps; on the wire it is taken
//! modulo 8 or 128, and comes back as the one number of the window that it can
//! stand for.

use super::frame::{Item, Outcome};
use farlink_tcp::Instant;
use std::collections::VecDeque;

/// A frame that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// Packet in the frame.
    pub(super) item: Item,
    /// Time at which its latest copy had been sent; [`Instant::MAX`] while one is at the MAC.
    pub(super) sent_at: Instant,
    /// Set if the frame must be sent again.
    pub(super) again: bool,
    /// The peer says that it has it.
    pub(super) held: bool,
}

/// The sending side: packets that wait, and frames that are not acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    mask: u64,
    window: u64,
    /// First frame that is not acknowledged.
    pub(super) una: u64,
    /// Next frame to go, V(S): below `top` after going back.
    pub(super) next: u64,
    /// Number after the last frame that was ever sent.
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

    /// A packet joins the queue in front of the window.
    #[inline]
    pub(super) fn wait(&mut self, item: Item) {
        self.waiting_bytes += u64::from(item.len);
        self.waiting.push_back(item);
    }

    /// Packets that were never sent, and their bytes.
    #[inline]
    pub(super) fn waiting(&self) -> (u32, u64) {
        (self.waiting.len() as u32, self.waiting_bytes)
    }

    /// Frames that are not acknowledged.
    #[inline]
    pub(super) fn outstanding(&self) -> u64 {
        self.top - self.una
    }

    /// Returns whether the window allows another frame.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.outstanding() < self.window
    }

    /// The number of a frame as it stands on the wire.
    #[inline]
    pub(super) fn wire(&self, number: u64) -> u8 {
        (number & self.mask) as u8
    }

    /// The outstanding frame that a number on the wire stands for.
    #[inline]
    pub(super) fn find(&self, wire: u8) -> Option<u64> {
        let number = self.una + (u64::from(wire).wrapping_sub(self.una) & self.mask);
        (number < self.top).then_some(number)
    }

    /// Returns the number for which an N(R) stands; `None` if it acknowledges a frame that was
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

    /// The packet of an outstanding frame.
    #[inline]
    pub(super) fn item(&self, number: u64) -> Item {
        self.slots[(number & self.mask) as usize].item
    }

    /// The first frame of those gone back to, or a new one if the window is open.
    #[inline]
    pub(super) fn pop_next(&mut self) -> Option<u64> {
        if self.next == self.top {
            return self.pop_new();
        }
        let number = self.next;
        self.next += 1;
        Some(number)
    }

    /// A new frame, if the window is open and a packet waits.
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

    /// Frames below `number` are acknowledged, or given up.
    #[inline]
    pub(super) fn release(&mut self, number: u64, outcomes: &mut Vec<Outcome>) {
        while self.una < number {
            outcomes.push(Outcome::Done(self.item(self.una).token));
            self.una += 1;
        }
        self.next = self.next.max(self.una);
    }

    /// Gives up everything and begins again at number 0.
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
    /// Received, and waits for earlier frames.
    Held(u32),
    /// Received and delivered.
    Passed,
}

/// The receiving side of a selective protocol.
#[derive(Clone, Debug)]
pub(super) struct Receiving {
    mask: u64,
    window: u64,
    in_sequence: bool,
    /// First frame that is missing, V(R).
    pub(super) expected: u64,
    /// Number after the last frame that arrived.
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

    /// V(R) as it stands on the wire.
    #[inline]
    pub(super) fn wire(&self, number: u64) -> u8 {
        (number & self.mask) as u8
    }

    #[inline]
    fn place(&mut self, number: u64) -> &mut Place {
        &mut self.places[(number & self.mask) as usize]
    }

    /// Returns whether a frame of the window is missing.
    #[inline]
    pub(super) fn is_missing(&self, number: u64) -> bool {
        number >= self.expected && self.places[(number & self.mask) as usize] == Place::Missing
    }

    /// The number of a frame that is not here yet.
    #[inline]
    pub(super) fn find_new(&self, wire: u8) -> Option<u64> {
        let ahead = u64::from(wire).wrapping_sub(self.expected) & self.mask;
        let number = self.expected + ahead;
        (ahead < self.window && self.is_missing(number)).then_some(number)
    }

    /// Takes a frame that was missing.
    #[inline]
    pub(super) fn accept(&mut self, number: u64, token: u32, outcomes: &mut Vec<Outcome>) {
        outcomes.push(Outcome::Accepted(token));
        self.top = self.top.max(number + 1);
        if number == self.expected {
            outcomes.push(Outcome::Deliver(token));
            self.expected += 1;
            self.run_on(outcomes);
        } else if self.in_sequence {
            *self.place(number) = Place::Held(token);
        } else {
            outcomes.push(Outcome::Deliver(token));
            *self.place(number) = Place::Passed;
        }
    }

    /// Hands on what follows in sequence.
    fn run_on(&mut self, outcomes: &mut Vec<Outcome>) {
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

    /// No longer waits for the first missing frame.
    pub(super) fn skip(&mut self, outcomes: &mut Vec<Outcome>) {
        self.expected += 1;
        self.run_on(outcomes);
    }

    /// No longer waits for any frame before the last that came.
    pub(super) fn skip_all(&mut self, outcomes: &mut Vec<Outcome>) {
        while self.expected < self.top {
            self.skip(outcomes);
        }
    }

    /// Begins again at number 0; what was held is discarded.
    pub(super) fn reset(&mut self, outcomes: &mut Vec<Outcome>) {
        for place in &mut self.places {
            if let Place::Held(token) = std::mem::take(place) {
                outcomes.push(Outcome::Discard(token));
            }
        }
        (self.expected, self.top) = (0, 0);
    }

    /// The frames after V(R) that are here: bit i is V(R) + 1 + i.
    pub(super) fn bitmap(&self) -> u64 {
        (self.expected + 1..self.top)
            .zip(0..)
            .filter(|&(number, _)| !self.is_missing(number))
            .fold(0, |map, (_, bit)| map | 1 << bit)
    }
}
