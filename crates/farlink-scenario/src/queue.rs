//! Limit of a queue in a scenario.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::units::{Factor, Size, Time};

/// Limit of a queue: "unlimited", `{ packets = 100 }`, `{ bytes = "64 KiB" }` or
/// `{ bdp = 1.2 }`.
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
}

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = QueueTable::default();
        match *self {
            Self::Unlimited => return serializer.serialize_str("unlimited"),
            Self::Packets(n) => table.packets = Some(n),
            Self::Bytes(n) => table.bytes = Some(Size(n)),
            Self::Bdp { share, rtt } => (table.bdp, table.rtt) = (Some(share), rtt),
        }
        table.serialize(serializer)
    }
}

const QUEUES: &str = "\"unlimited\", { packets = 100 }, { bytes = \"64 KiB\" } or { bdp = 1.2 }";

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
                    Ok(QueueSpec::Unlimited)
                } else {
                    Err(E::custom(format!("= {v:?} is unknown; write {QUEUES}")))
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueSpec, A::Error> {
                let table = QueueTable::deserialize(MapAccessDeserializer::new(map))?;
                let QueueTable {
                    packets,
                    bytes,
                    bdp,
                    rtt,
                } = table;
                if rtt.is_some() && bdp.is_none() {
                    return Err(A::Error::custom(
                        "has an \"rtt\" that would be ignored; it needs \"bdp\"",
                    ));
                }
                match (packets, bytes, bdp) {
                    (Some(packets), None, None) => Ok(QueueSpec::Packets(packets)),
                    (None, Some(bytes), None) => Ok(QueueSpec::Bytes(bytes.0)),
                    (None, None, Some(share)) => Ok(QueueSpec::Bdp { share, rtt }),
                    (None, None, None) => {
                        Err(A::Error::custom(format!("is empty; write {QUEUES}")))
                    }
                    (packets, bytes, _) => {
                        let first = packets.map_or("bytes", |_| "packets");
                        let both = packets.and(bytes).is_some();
                        let second = if both { "bytes" } else { "bdp" };
                        Err(A::Error::custom(format!(
                            "has both {first:?} and {second:?}; write one of them"
                        )))
                    }
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
        json_schema!({ "title": "\"unlimited\" or table", "anyOf": [{ "const": "unlimited" }, table] })
    }
}
