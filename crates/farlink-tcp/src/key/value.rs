//! Values of keys, their kinds and ranges, and the fields of [`crate::Config`] that hold them.

use crate::ratio::Ratio;
use crate::time::Interval;

/// A value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// A number without a unit.
    Number(f64),
    /// A whole number.
    Count(u32),
    /// On or off.
    Flag(bool),
    /// A time.
    Time(Interval),
    /// Bytes.
    Size(u64),
    /// A factor in millionths.
    Ratio(Ratio),
    /// A word of the kind's list.
    Choice(&'static str),
    /// A set of these words as a bit mask; the lowest bit is the first word.
    Ways(&'static [Word], u8),
}

/// Kind and range of a value; bounds are included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// Between two numbers.
    Number(f64, f64),
    /// Between two whole numbers.
    Count(u32, u32),
    /// On or off.
    Flag,
    /// Between two times.
    Time(Interval, Interval),
    /// Between two sizes in bytes.
    Size(u64, u64),
    /// Between two factors.
    Ratio(Ratio, Ratio),
    /// Word from this list.
    Choice(&'static [Word]),
    /// A word of this list, or a value of the other kind.
    Or(&'static [Word], &'static Kind),
    /// Any set of these words.
    Ways(&'static [Word]),
}

/// A word and its meaning in a sentence. The meaning is empty if the key's doc explains it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word(pub &'static str, pub &'static str);

impl Kind {
    /// Returns the kind of times up to `most` seconds.
    pub const fn seconds(most: u64) -> Self {
        Self::Time(Interval::ZERO, Interval::from_secs(most))
    }

    /// Returns whether a value is in the range.
    pub fn allows(&self, value: Value) -> bool {
        match (*self, value) {
            (Self::Number(low, high), Value::Number(x)) => (low..=high).contains(&x),
            (Self::Count(low, high), Value::Count(n)) => (low..=high).contains(&n),
            (Self::Time(low, high), Value::Time(t)) => (low..=high).contains(&t),
            (Self::Size(low, high), Value::Size(n)) => (low..=high).contains(&n),
            (Self::Ratio(low, high), Value::Ratio(r)) => (low..=high).contains(&r),
            (Self::Choice(words) | Self::Or(words, _), Value::Choice(word)) => {
                words.iter().any(|known| known.0 == word)
            }
            (Self::Or(_, other), value) => other.allows(value),
            (Self::Ways(words), Value::Ways(of, bits)) => {
                of == words && u32::from(bits) >> words.len() == 0
            }
            (Self::Flag, Value::Flag(_)) => true,
            _ => false,
        }
    }

    /// Returns the allowed words; none for a quantity.
    pub fn words(&self) -> &'static [Word] {
        match self {
            Self::Choice(words) | Self::Or(words, _) | Self::Ways(words) => words,
            _ => &[],
        }
    }

    /// Returns the value of the word `name`.
    pub fn word(&self, name: &str) -> Option<Value> {
        let word = self.words().iter().position(|word| word.0 == name)?;
        Some(match self {
            Self::Ways(words) => Value::Ways(words, 1 << word),
            _ => Value::Choice(self.words()[word].0),
        })
    }
}

/// A field of a configuration that a key reads and writes.
pub trait Field: Sized {
    /// Returns the field as a value.
    fn value(&self) -> Value;

    /// Builds the field from a value that the key's kind allows.
    ///
    /// # Panics
    /// Panics if the value is of another kind. This is an error in the table of keys, and a test
    /// checks every entry.
    fn of(value: Value) -> Self;
}

/// Implements [`Field`] for types that correspond to one variant of [`Value`].
macro_rules! fields {
    ($($field:ty: $value:ident),*) => {
        $(impl Field for $field {
            fn value(&self) -> Value {
                Value::$value(*self)
            }

            fn of(value: Value) -> Self {
                match value {
                    Value::$value(held) => held,
                    other => panic!("{other:?} for a field of {}", stringify!($field)),
                }
            }
        })*
    };
}

fields!(bool: Flag, u32: Count, Interval: Time, u64: Size, Ratio: Ratio);

/// A number of bytes; `None` is unlimited.
impl Field for Option<u64> {
    fn value(&self) -> Value {
        self.map_or(Value::Choice(UNLIMITED.0), Value::Size)
    }

    fn of(value: Value) -> Self {
        match value {
            Value::Choice(_) => None,
            size => Some(u64::of(size)),
        }
    }
}

/// No limit.
pub(super) const UNLIMITED: Word = Word("unlimited", "");

/// A limit in bytes, or "unlimited".
pub(super) const LIMIT: Kind = Kind::Or(&[UNLIMITED], &Kind::Size(1, 1 << 40));

/// Defines the words of an enum: a list with this name, and its [`Field`] implementation.
macro_rules! words {
    ($list:ident: $type:ty { $($(#[doc = $doc:literal])* $word:literal $choice:ident),* $(,)? }) => {
        pub(super) const $list: &[$crate::key::Word] =
            &[$($crate::key::Word($word, concat!($($doc),*))),*];

        impl $crate::key::Field for $type {
            fn value(&self) -> $crate::key::Value {
                $crate::key::Value::Choice(match self { $(Self::$choice => $word),* })
            }

            fn of(value: $crate::key::Value) -> Self {
                match value {
                    $($crate::key::Value::Choice($word) => Self::$choice,)*
                    other => panic!("{other:?} for a field of {}", stringify!($type)),
                }
            }
        }
    };
}

pub(super) use words;
