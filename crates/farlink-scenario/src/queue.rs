//! Limit of a queue in a scenario.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::units::{Factor, Size, Time};

/// Limit of a queue: "unlimited", `{ packets = 100 }`, `{ bytes = "64 KiB" }`, `{ bdp = 1.2 }` or
/// `{ time = "200 ms" }`, for which "200 ms" is short.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QueueSpec {
    /// No packet is ever dropped.
    #[default]
    Unlimited,
    /// Limit of waiting packets.
    Packets(u32),
    /// Limit of waiting bytes of IP packets.
    Bytes(u64),
    /// Limit in bandwidth-delay products.
    Bdp {
        /// Number of products.
        share: Factor,
        /// Round-trip time for the product; by default that of the link.
        rtt: Option<Time>,
    },
    /// Limit in bytes that the rate of the direction sends in this time.
    Time(Time),
}

impl QueueSpec {
    pub(super) fn is_unlimited(&self) -> bool {
        *self == Self::Unlimited
    }
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QueueTable {
    /// Number of packets that may wait, 1 to 1000000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packets: Option<u32>,
    /// Number of bytes of IP packets that may wait, up to 1 TiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<Size>,
    /// Limit in bandwidth-delay products: the rate of this direction times the delays of both
    /// directions of this link. Results show the limit in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bdp: Option<Factor>,
    /// Round-trip time of the product `bdp`, for a path longer than the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rtt: Option<Time>,
    /// Limit in time: the bytes that the rate of this direction sends in that time. A full queue
    /// takes longer with framing (`overhead`), and while a rate trace is below its mean, which
    /// counts here. The string `"200 ms"` in place of the table is short for
    /// `{ time = "200 ms" }`. Results show the limit in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<Time>,
}

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = QueueTable::default();
        match *self {
            Self::Unlimited => return serializer.serialize_str("unlimited"),
            Self::Packets(n) => table.packets = Some(n),
            Self::Bytes(n) => table.bytes = Some(Size(n)),
            Self::Bdp { share, rtt } => (table.bdp, table.rtt) = (Some(share), rtt),
            Self::Time(time) => table.time = Some(time),
        }
        table.serialize(serializer)
    }
}

const QUEUES: &str =
    "\"unlimited\", { packets = 100 }, { bytes = \"64 KiB\" }, { bdp = 1.2 } or \"200 ms\"";

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = QueueSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(QUEUES)
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<QueueSpec, E> {
                if v == "unlimited" {
                    return Ok(QueueSpec::Unlimited);
                }
                let unknown = |_| E::custom(format!("= {v:?} is unknown; write {QUEUES}"));
                v.parse().map(QueueSpec::Time).map_err(unknown)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueSpec, A::Error> {
                let table = QueueTable::deserialize(MapAccessDeserializer::new(map))?;
                let QueueTable {
                    packets,
                    bytes,
                    bdp,
                    rtt,
                    time,
                } = table;
                if rtt.is_some() && bdp.is_none() {
                    return Err(A::Error::custom(
                        "has an \"rtt\" that would be ignored; it needs \"bdp\"",
                    ));
                }
                let limits = [
                    ("packets", packets.map(QueueSpec::Packets)),
                    ("bytes", bytes.map(|bytes| QueueSpec::Bytes(bytes.0))),
                    ("bdp", bdp.map(|share| QueueSpec::Bdp { share, rtt })),
                    ("time", time.map(QueueSpec::Time)),
                ];
                let mut written = limits
                    .into_iter()
                    .filter_map(|(key, limit)| Some((key, limit?)));
                match (written.next(), written.next()) {
                    (Some((_, limit)), None) => Ok(limit),
                    (Some((first, _)), Some((second, _))) => Err(A::Error::custom(format!(
                        "has both {first:?} and {second:?}; write one of them"
                    ))),
                    (None, _) => Err(A::Error::custom(format!("is empty; write {QUEUES}"))),
                }
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl JsonSchema for QueueSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Queue".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<QueueTable>();
        let time = generator.subschema_for::<Time>();
        json_schema!({ "title": "\"unlimited\", time or table", "anyOf": [{ "const": "unlimited" }, time, table] })
    }
}
