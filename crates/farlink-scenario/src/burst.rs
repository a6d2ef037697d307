//! Mean length of a burst: a number of packets, or a time.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

use super::units::{Scalar, Time};

/// Mean length of a burst: a number of packets, or a time with its unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Burst {
    /// Number of packets, independent of the time between them.
    Packets(f64),
    /// Duration, independent of the number of packets.
    Time(Time),
}

impl Serialize for Burst {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Packets(packets) => serializer.serialize_f64(*packets),
            Self::Time(time) => time.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Burst {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Scalar::deserialize(deserializer)?;
        let packets = match &written {
            Scalar::Integer(_) | Scalar::Float(_) => written.to_string().parse().ok(),
            Scalar::Text(text) => match text.parse::<Time>() {
                Ok(time) => return Ok(Self::Time(time)),
                Err(_) => None,
            },
            Scalar::Bool(_) => None,
        };
        packets.map(Self::Packets).ok_or_else(|| {
            D::Error::custom(format!(
                "= {written} is no length of a burst; write packets, 4, or a time, \"16.7 ms\""
            ))
        })
    }
}

impl JsonSchema for Burst {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Burst".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Time>();
        json_schema!({ "title": "number or time", "anyOf": [{ "type": "number", "minimum": 1 }, time] })
    }
}
