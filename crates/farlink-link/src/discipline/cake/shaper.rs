//! Virtual clock of a shaper, and the bytes that a packet has on the medium behind it.

use farlink_tcp::{Instant, Interval};

/// Framing of the medium behind a shaper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Framing {
    /// Packets are sent as they are.
    #[default]
    Packets,
    /// ATM cells of 53 bytes that carry 48 bytes each.
    Atm,
    /// PTM (VDSL2): a byte more for each 64 bytes or part thereof.
    Ptm,
}

/// Rule for the bytes that a packet has on the medium behind a shaper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Overhead {
    /// Bytes that each packet has beside its IP length.
    pub bytes: i32,
    /// Bytes that each packet has at least, before the framing.
    pub mpu: u32,
    /// Framing.
    pub framing: Framing,
}

impl Overhead {
    /// Returns the bytes of a packet on the medium.
    pub fn wire(&self, ip_len: u32) -> u32 {
        let len = ip_len.saturating_add_signed(self.bytes).max(self.mpu);
        match self.framing {
            Framing::Packets => len,
            Framing::Atm => len.div_ceil(48) * 53,
            Framing::Ptm => len + len.div_ceil(64),
        }
    }
}

/// Virtual clock: the time at which all packets so far are sent at a rate. Fractions of a
/// nanosecond are carried over, so the rate is exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Clock {
    /// Rate in bit/s.
    rate: u64,
    /// Time at which the next packet may leave.
    pub(super) next: Instant,
    /// Fraction of a nanosecond beyond `next`, in units of 1/rate.
    rest: u64,
}

impl Clock {
    pub(super) const fn new(rate: u64) -> Self {
        Self {
            rate: if rate == 0 { 1 } else { rate },
            next: Instant::ZERO,
            rest: 0,
        }
    }

    /// Sets a clock that is behind to `now`.
    pub(super) fn catch_up(&mut self, now: Instant) {
        if self.next < now {
            (self.next, self.rest) = (now, 0);
        }
    }

    /// Advances the clock by the transmission time of a packet.
    pub(super) fn charge(&mut self, bytes: u32) {
        let time = u64::from(bytes) * 8_000_000_000 + self.rest;
        self.next += Interval::from_nanos(time / self.rate);
        self.rest = time % self.rate;
    }

    /// Advances the clock of a tin by the transmission time of a packet that leaves at `now`. A
    /// tin above its threshold is at most this time ahead, so that it is soon within it again.
    pub(super) fn charge_bounded(&mut self, bytes: u32, now: Instant) {
        if self.next < now {
            self.charge(bytes);
            return;
        }
        let mut from_now = Self {
            next: now,
            rest: 0,
            ..*self
        };
        from_now.charge(bytes);
        if self.next < from_now.next {
            *self = from_now;
        }
    }
}
