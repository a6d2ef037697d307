//! Header compression in a scenario.

use std::fmt;

use farlink_wire::rfc1144::{Config, DEFAULT_SLOTS, MAX_SLOTS};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::checks::out_of_range;
use super::decode::Problem;

const FORMS: &str = "\"rfc1144\" or { method = \"rfc1144\", slots = 16 }";

/// Header compression of a link: the name of its method, or a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompressionSpec(CompressionTable);

/// Header compression of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompressionTable {
    /// Method.
    method: CompressionName,
    /// Number of connections whose headers each end stores, 1 to 256.
    #[serde(default = "usual_slots")]
    slots: u32,
    /// Omit the connection number of a packet if the previous packet had the same connection
    /// (Comp-Slot-Id of RFC 1332).
    #[serde(default = "crate::defaults::on")]
    compress_slot: bool,
}

fn usual_slots() -> u32 {
    DEFAULT_SLOTS.into()
}

/// Methods of header compression.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompressionName {
    /// Differences from the previous header (Jacobson 1990, RFC 1144).
    Rfc1144,
}

impl CompressionSpec {
    /// Returns the settings of the header compression. Paths in errors begin with the key.
    pub(super) fn resolve(self) -> Result<Config, Problem> {
        let CompressionTable {
            method: CompressionName::Rfc1144,
            slots,
            compress_slot,
        } = self.0;
        let number = u16::try_from(slots)
            .ok()
            .filter(|number| (1..=MAX_SLOTS).contains(number));
        let slots = number.ok_or_else(|| {
            let message = format!("{slots} is out of range; write 1 to {MAX_SLOTS}");
            out_of_range(["slots".into()], &message)
        })?;
        Ok(Config {
            slots,
            compress_slot,
        })
    }
}

impl Serialize for CompressionSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CompressionSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = CompressionSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FORMS)
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<CompressionSpec, E> {
                if v != "rfc1144" {
                    return Err(E::custom(format!("= {v:?} is unknown; write {FORMS}")));
                }
                Ok(CompressionSpec(CompressionTable {
                    method: CompressionName::Rfc1144,
                    slots: usual_slots(),
                    compress_slot: true,
                }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CompressionSpec, A::Error> {
                CompressionTable::deserialize(MapAccessDeserializer::new(map)).map(CompressionSpec)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl JsonSchema for CompressionSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HeaderCompression".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<CompressionTable>();
        json_schema!({ "title": "\"rfc1144\" or table", "anyOf": [{ "const": "rfc1144" }, table] })
    }
}
