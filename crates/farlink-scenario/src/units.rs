//! Quantities in a scenario: a decimal number and a unit.
//!
//! A quantity is a whole number of its base unit (bit/s, bytes, nanoseconds), computed by exact
//! decimal arithmetic. A value that is inexact, negative or without a unit is refused with a
//! message that states what to write.

use std::fmt;

use farlink_tcp::config::Ratio;
use farlink_tcp::time::Interval;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error as _, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A value that is neither a table nor a list.
#[derive(Clone, PartialEq, Debug)]
pub enum Scalar {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// Text in quotation marks.
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(b) => write!(f, "{b}"),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Float(x) => write!(f, "{x}"),
            Self::Text(s) => write!(f, "{s:?}"),
        }
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(b) => serializer.serialize_bool(*b),
            Self::Integer(n) => match i64::try_from(*n) {
                Ok(n) => serializer.serialize_i64(n),
                Err(_) => serializer.serialize_i128(*n),
            },
            Self::Float(x) => serializer.serialize_f64(*x),
            Self::Text(s) => serializer.serialize_str(s),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a single value")
            }
            fn visit_bool<E>(self, v: bool) -> Result<Scalar, E> {
                Ok(Scalar::Bool(v))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Scalar, E> {
                Ok(Scalar::Integer(v.into()))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Scalar, E> {
                Ok(Scalar::Integer(v.into()))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Scalar, E> {
                Ok(Scalar::Float(v))
            }
            fn visit_str<E>(self, v: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(v.to_owned()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Name of a kind of quantity, with its units.
struct Dimension {
    noun: &'static str,
    /// Unit that a message adds to a number without one, as an example.
    usual: &'static str,
    /// Units, each with its value in the base unit. The base unit is first.
    units: &'static [(&'static str, u64)],
    /// Number of units that are used in output. The other units are alternative spellings.
    shown: usize,
    /// Unit of the value zero in output.
    zero: &'static str,
    /// Unit of which the value must be a whole number.
    whole: &'static str,
    /// Set if output may have one decimal to make the number shorter.
    tenths: bool,
}

const RATE: Dimension = Dimension {
    noun: "rate",
    usual: "kbit/s",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("b/s", 1),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
    ],
    shown: 4,
    zero: "bit/s",
    whole: "bit/s",
    tenths: true,
};

const SIZE: Dimension = Dimension {
    noun: "size",
    usual: "B",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    shown: 7,
    zero: "B",
    whole: "bytes",
    tenths: false,
};

const TIME: Dimension = Dimension {
    noun: "time",
    usual: "ms",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    shown: 6,
    zero: "s",
    whole: "nanoseconds",
    tenths: true,
};

const SYMBOLS: Dimension = Dimension {
    noun: "symbol rate",
    usual: "MBd",
    units: &[
        ("Bd", 1),
        ("kBd", 1_000),
        ("MBd", 1_000_000),
        ("GBd", 1_000_000_000),
    ],
    shown: 4,
    zero: "Bd",
    whole: "Bd",
    tenths: true,
};

const SPEED: Dimension = Dimension {
    noun: "speed",
    usual: "km/h",
    units: &[
        ("mm/h", 1),
        ("m/s", 3_600_000),
        ("km/h", 1_000_000),
        ("km/s", 3_600_000_000),
    ],
    shown: 4,
    zero: "m/s",
    whole: "millimetres per hour",
    tenths: true,
};

const LENGTH: Dimension = Dimension {
    noun: "length",
    usual: "m",
    units: &[("mm", 1), ("m", 1_000), ("km", 1_000_000)],
    shown: 3,
    zero: "m",
    whole: "millimetres",
    tenths: true,
};

const FREQUENCY: Dimension = Dimension {
    noun: "frequency",
    usual: "MHz",
    units: &[
        ("Hz", 1),
        ("kHz", 1_000),
        ("MHz", 1_000_000),
        ("GHz", 1_000_000_000),
    ],
    shown: 4,
    zero: "Hz",
    whole: "Hz",
    tenths: true,
};

impl Dimension {
    /// Returns the value in the base unit, or a message about `written`.
    fn read(&self, written: &Scalar) -> Result<u64, String> {
        let text = match written {
            Scalar::Text(text) => text.trim(),
            Scalar::Bool(_) => return Err(self.not_one(written)),
            number => return Err(self.unitless(written, &number.to_string())),
        };
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let split = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let unit = unit.trim_start();
        let Some((digits, scale)) = decimal(number) else {
            return Err(self.not_one(written));
        };
        if unit.is_empty() {
            return Err(self.unitless(written, number));
        }
        let Some(&(_, worth)) = self.units.iter().find(|(name, _)| *name == unit) else {
            let known: Vec<_> = self.units[..self.shown]
                .iter()
                .map(|(name, _)| *name)
                .collect();
            return Err(format!(
                "= {written} has the unknown unit {unit:?}; the units of a {} are {}",
                self.noun,
                known.join(", ")
            ));
        };
        if negative {
            return Err(format!(
                "= {written} is negative; write a {} of 0 {} or more",
                self.noun, self.zero
            ));
        }
        exact(digits, scale, worth).map_err(|fault| match fault {
            Inexact::TooFine => {
                format!(
                    "= {written} is not a whole number of {}; write fewer digits",
                    self.whole
                )
            }
            Inexact::TooLarge => format!("= {written} is too large for a {}", self.noun),
        })
    }

    fn unitless(&self, written: &Scalar, number: &str) -> String {
        let number = number.trim_start_matches('-');
        // A large number such as 12e6 is likely to be in bit/s or Hz, so the example has that unit.
        let whole = number.parse::<u64>().ok().filter(|n| *n >= 100_000);
        let example = match whole {
            Some(n) if matches!(self.noun, "rate" | "frequency") => self.write(n),
            _ => format!("{number} {}", self.usual),
        };
        format!("= {written} has no unit; write for example \"{example}\"")
    }

    fn not_one(&self, written: &Scalar) -> String {
        format!(
            "= {written} is not a {}; write for example \"100 {}\"",
            self.noun,
            self.units[if self.noun == "size" { 0 } else { 2 }].0
        )
    }

    /// Returns the shortest exact text, in the largest unit with a whole number. Units that are
    /// powers of ten may have one decimal.
    fn write(&self, value: u64) -> String {
        if value == 0 {
            return format!("0 {}", self.zero);
        }
        let mut best = self.units[0];
        for &(name, worth) in &self.units[..self.shown] {
            let tenths = self.tenths && worth >= 10 && worth == 10u64.pow(worth.ilog10());
            let step = if tenths { worth / 10 } else { worth };
            if value >= worth && value.is_multiple_of(step) && worth > best.1 {
                best = (name, worth);
            }
        }
        let (unit, worth) = best;
        match (value % worth).checked_div(worth / 10) {
            Some(tenths @ 1..) => format!("{}.{tenths} {unit}", value / worth),
            _ => format!("{} {unit}", value / worth),
        }
    }

    fn schema(&self) -> Schema {
        let shown: Vec<_> = self.units.iter().map(|(name, _)| *name).collect();
        json_schema!({
            "type": "string",
            "pattern": format!(r"^\s*[0-9]+(\.[0-9]+)?\s*({})\s*$", shown.join("|")),
            "title": self.noun,
        })
    }
}

enum Inexact {
    TooFine,
    TooLarge,
}

/// Returns the digits of a decimal number without the point, and the number of digits after the
/// point.
fn decimal(text: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    if whole.is_empty() || text.ends_with('.') || text.len() > 38 {
        return None;
    }
    let mut digits: u128 = 0;
    for c in whole.chars().chain(fraction.chars()) {
        digits = digits * 10 + u128::from(c.to_digit(10)?);
    }
    Some((digits, fraction.len() as u32))
}

/// Returns `digits / 10^scale * worth` if it is a whole number that fits.
fn exact(digits: u128, scale: u32, worth: u64) -> Result<u64, Inexact> {
    let product = digits.checked_mul(worth.into()).ok_or(Inexact::TooLarge)?;
    let divisor = 10u128.pow(scale);
    if !product.is_multiple_of(divisor) {
        return Err(Inexact::TooFine);
    }
    u64::try_from(product / divisor).map_err(|_| Inexact::TooLarge)
}

/// Declares a quantity: text in files, a whole number in memory.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty), $dimension:expr, $wrap:expr, $unwrap:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub struct $name(pub $inner);

        impl $name {
            /// Parses a quantity.
            ///
            /// # Errors
            /// Fails for a value that has no unit, has an unknown unit, is negative, or is not a
            /// whole number of the base unit. The message states what to write.
            pub fn read(written: &Scalar) -> Result<Self, String> {
                $dimension.read(written).map(|n| Self($wrap(n)))
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                Self::read(&Scalar::Text(text.to_owned()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&$dimension.write($unwrap(self.0)))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::read(&Scalar::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $dimension.schema()
            }
        }
    };
}

quantity!(
    /// A rate in bit/s, such as "2048 kbit/s".
    Rate(u64),
    RATE,
    |n| n,
    |n| n
);
quantity!(
    /// A size in bytes, such as "64 KiB".
    Size(u64),
    SIZE,
    |n| n,
    |n| n
);
quantity!(
    /// A length of time, such as "250 ms".
    Time(Interval),
    TIME,
    Interval::from_nanos,
    Interval::as_nanos
);

quantity!(
    /// A speed in millimetres per hour, such as "75 km/h".
    Speed(u64),
    SPEED,
    |n| n,
    |n| n
);
quantity!(
    /// A length in millimetres, such as "2 km".
    Length(u64),
    LENGTH,
    |n| n,
    |n| n
);
quantity!(
    /// A symbol rate in symbols per second, such as "30 MBd".
    SymbolRate(u64),
    SYMBOLS,
    |n| n,
    |n| n
);
quantity!(
    /// A frequency in Hz, such as "850 MHz".
    Frequency(u64),
    FREQUENCY,
    |n| n,
    |n| n
);

impl Speed {
    /// Returns the speed in metres per second.
    pub fn metres_per_second(self) -> f64 {
        self.0 as f64 / 3.6e6
    }
}

impl Length {
    /// Returns the length in metres.
    pub fn metres(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Frequency {
    /// Returns the frequency in hertz.
    pub fn hertz(self) -> f64 {
        self.0 as f64
    }
}

/// A size, or "unlimited".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeLimit(pub Option<u64>);

impl Serialize for SizeLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(bytes) => Size(bytes).serialize(serializer),
            None => serializer.serialize_str("unlimited"),
        }
    }
}

impl<'de> Deserialize<'de> for SizeLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) if text == "unlimited" => Ok(Self(None)),
            other => Size::read(&other)
                .map(|size| Self(Some(size.0)))
                .map_err(|fault| D::Error::custom(format!("{fault} or \"unlimited\""))),
        }
    }
}

impl JsonSchema for SizeLimit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SizeLimit".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Size>();
        json_schema!({ "title": "size or \"unlimited\"", "anyOf": [size, { "const": "unlimited" }] })
    }
}

/// A probability from 0 to 1, written as a number or a percentage.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Probability(pub f64);

impl Probability {
    /// Parses a number from 0 to 1 or a text such as "2.5 %".
    ///
    /// # Errors
    /// Any other value. The message states what to write.
    pub fn read(written: &Scalar) -> Result<Self, String> {
        let value = match written {
            Scalar::Float(x) => Some(*x),
            Scalar::Integer(n) => Some(*n as f64),
            Scalar::Text(text) => match text.trim().strip_suffix('%') {
                // Moves the decimal point in the text, so 2.5 % is the same number as 0.025.
                Some(percent) => decimal(percent.trim())
                    .and_then(|(digits, scale)| format!("{digits}e-{}", scale + 2).parse().ok()),
                None => text.trim().parse().ok(),
            },
            Scalar::Bool(_) => None,
        };
        match value {
            Some(x) if (0.0..=1.0).contains(&x) => Ok(Self(x)),
            _ => Err(format!(
                "= {written} is not a probability; write a number from 0 to 1, or a text such as \
                 \"2.5 %\""
            )),
        }
    }
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&Scalar::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "title": "probability", "anyOf": [
            { "type": "number", "minimum": 0, "maximum": 1 },
            { "type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$" },
        ] })
    }
}

/// A factor in whole millionths, written as a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Factor(pub Ratio);

impl Factor {
    /// Parses a number with up to six decimals.
    ///
    /// # Errors
    /// Any other value. The message states what to write.
    pub fn read(written: &Scalar) -> Result<Self, String> {
        let text = match written {
            Scalar::Integer(_) | Scalar::Float(_) => written.to_string(),
            Scalar::Text(text) => text.trim().to_owned(),
            Scalar::Bool(_) => String::new(),
        };
        decimal(&text)
            .and_then(|(digits, scale)| exact(digits, scale, Ratio::ONE.into()).ok())
            .and_then(|millionths| u32::try_from(millionths).ok())
            .map(|millionths| Self(Ratio::from_millionths(millionths)))
            .ok_or_else(|| {
                format!(
                    "= {written} is not a factor; write a number from 0 to 4294 with at most six \
                     decimals, for example 0.125"
                )
            })
    }
}

impl Serialize for Factor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_f64())
    }
}

impl<'de> Deserialize<'de> for Factor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&Scalar::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for Factor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Factor".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "title": "factor", "type": "number", "minimum": 0, "maximum": 4294 })
    }
}

#[cfg(test)]
mod tests;
