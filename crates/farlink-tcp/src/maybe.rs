//! An optional value in the space of the value itself.
//!
//! An `Option` of a time or a position takes two words, the second for one bit. Connections have
//! several such values, and thousands of connections do not fit the cache.

use crate::seq::Offset;
use crate::time::{Instant, Interval};

/// A time or a position, or none. None is stored as a value that never occurs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Maybe<T>(T);

/// Type with a value that never occurs.
pub(crate) trait Never: Copy + PartialEq {
    /// Value that never occurs.
    const NEVER: Self;
}

impl Never for Instant {
    const NEVER: Self = Self::MAX;
}

impl Never for Interval {
    const NEVER: Self = Self::MAX;
}

impl Never for Offset {
    const NEVER: Self = Self::MAX;
}

impl<T: Never> Never for (Offset, T) {
    const NEVER: Self = (Offset::NEVER, T::NEVER);
}

impl<T: Never> Maybe<T> {
    /// Absent value.
    pub(crate) const NONE: Self = Self(T::NEVER);

    /// Wraps a value.
    #[inline]
    pub(crate) const fn some(value: T) -> Self {
        Self(value)
    }

    /// Returns the value, if present.
    #[inline]
    pub(crate) fn get(self) -> Option<T> {
        (self.0 != T::NEVER).then_some(self.0)
    }

    /// Returns whether there is no value.
    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self.0 == T::NEVER
    }
}

impl<T: Never> Default for Maybe<T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<T: Never> From<Option<T>> for Maybe<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::NONE, Self::some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maybe_equals_option_in_half_the_size() {
        assert_eq!(size_of::<Maybe<Instant>>(), 8);
        assert_eq!(size_of::<Maybe<(Offset, Instant)>>(), 16);
        for value in [None, Some(Instant::ZERO), Some(Instant::from_nanos(7))] {
            let maybe = Maybe::from(value);
            assert_eq!((maybe.get(), maybe.is_none()), (value, value.is_none()));
        }
        assert_eq!(Maybe::<Interval>::default().get(), None);
        assert_eq!(
            Maybe::some((0, Interval::ZERO)).get(),
            Some((0, Interval::ZERO))
        );
    }
}
