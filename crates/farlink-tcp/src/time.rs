//! Simulated time: two newtypes over whole nanoseconds.
//!
//! No function here reads a clock. 2^64 ns are 584 years, so sums of configured intervals do not
//! overflow in practice; arithmetic saturates anyway.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A time in nanoseconds since the start of the simulation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Interval(u64);

impl Instant {
    /// The start of the time line.
    pub const ZERO: Self = Self(0);
    /// Time later than any event, used as "never".
    pub const MAX: Self = Self(u64::MAX);

    /// Builds a time from nanoseconds since the start.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns seconds since the start, for summaries only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// Returns the time since `earlier`; zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> Interval {
        Interval(self.0.saturating_sub(earlier.0))
    }

    /// Returns the next multiple of `tick` that is strictly later: the time at which a periodic
    /// timer of that period fires. A zero tick changes nothing.
    pub const fn next_tick(self, tick: Interval) -> Self {
        if tick.0 == 0 {
            self
        } else {
            Self((self.0 / tick.0 + 1) * tick.0)
        }
    }
}

impl Interval {
    /// Zero length.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// Builds an interval from nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Builds an interval from microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// Builds an interval from milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Builds an interval from whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * NANOS_PER_SEC)
    }

    /// Returns the interval in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the duration in seconds, for summaries only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// Returns whether the interval is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the time to send `bits` at `bits_per_second`, rounded to the nearest nanosecond.
    #[inline]
    pub const fn of_bits(bits: u64, bits_per_second: u64) -> Self {
        // A packet has fewer than 2^20 bits, so the product almost always fits in u64. Larger
        // products use u128.
        if let Some(scaled) = bits.checked_mul(NANOS_PER_SEC)
            && let Some(rounded) = scaled.checked_add(bits_per_second / 2)
        {
            return Self(rounded / bits_per_second);
        }
        let scaled = bits as u128 * NANOS_PER_SEC as u128 + (bits_per_second / 2) as u128;
        Self((scaled / bits_per_second as u128) as u64)
    }

    /// Returns the product, saturating.
    pub const fn saturating_mul(self, k: u64) -> Self {
        Self(self.0.saturating_mul(k))
    }

    /// Returns the difference; zero if it is negative.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the absolute difference of two intervals.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// Returns the duration rounded up to a multiple of `tick`; unchanged for a zero tick.
    pub const fn ceil_to(self, tick: Self) -> Self {
        if tick.0 == 0 {
            self
        } else {
            Self(self.0.div_ceil(tick.0) * tick.0)
        }
    }
}

impl Add<Interval> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, d: Interval) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Interval> for Instant {
    #[inline]
    fn add_assign(&mut self, d: Interval) {
        *self = *self + d;
    }
}

impl Add for Interval {
    type Output = Self;
    #[inline]
    fn add(self, d: Self) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl Sub for Interval {
    type Output = Self;
    #[inline]
    fn sub(self, d: Self) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

impl Mul<u64> for Interval {
    type Output = Self;
    fn mul(self, k: u64) -> Self {
        self.saturating_mul(k)
    }
}

impl Div<u64> for Interval {
    type Output = Self;
    fn div(self, k: u64) -> Self {
        Self(self.0 / k)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}s",
            self.0 / NANOS_PER_SEC,
            self.0 % NANOS_PER_SEC
        )
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}s",
            self.0 / NANOS_PER_SEC,
            self.0 % NANOS_PER_SEC
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_time_is_rounded_to_the_nearest_nanosecond() {
        assert_eq!(
            Interval::of_bits(12_000, 2_048_000),
            Interval::from_nanos(5_859_375)
        );
        assert_eq!(Interval::of_bits(1, 3), Interval::from_nanos(333_333_333));
        assert_eq!(Interval::of_bits(2, 3), Interval::from_nanos(666_666_667));
        assert_eq!(Interval::of_bits(1 << 40, 1 << 40), Interval::from_secs(1));
    }

    #[test]
    fn ticks_are_strictly_later() {
        let tick = Interval::from_millis(500);
        assert_eq!(Instant::from_nanos(0).next_tick(tick), Instant::ZERO + tick);
        assert_eq!(
            (Instant::ZERO + tick).next_tick(tick),
            Instant::ZERO + tick * 2
        );
        assert_eq!(Interval::from_millis(501).ceil_to(tick), tick * 2);
    }
}
