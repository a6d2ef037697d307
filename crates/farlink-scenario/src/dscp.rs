//! Diffserv codepoints in a scenario: names of the IANA registry, or numbers.

use std::fmt;

use farlink_tcp::Dscp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Names of codepoints (RFC 2474, 2597, 3246, 5865, 8622).
const NAMES: [(&str, u8); 23] = [
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

const FORMS: &str = "a name such as \"EF\", \"AF41\", \"CS1\" or \"LE\", or a number from 0 to 63";

/// Diffserv codepoint: a name such as "EF", or a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DscpSpec(pub Dscp);

/// Diffserv codepoints: one, or a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DscpList(pub Vec<DscpSpec>);

impl fmt::Display for DscpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|name| name.1 == self.0.bits()) {
            Some((name, _)) => write!(f, "{name:?}"),
            None => write!(f, "{}", self.0.bits()),
        }
    }
}

impl Serialize for DscpSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match NAMES.iter().find(|name| name.1 == self.0.bits()) {
            Some((name, _)) => serializer.serialize_str(name),
            None => serializer.serialize_u8(self.0.bits()),
        }
    }
}

/// Reads a codepoint, or with `many` also a list.
struct Reader {
    many: bool,
}

impl<'de> Visitor<'de> for Reader {
    type Value = Vec<DscpSpec>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMS)
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
        match NAMES.iter().find(|name| name.0 == v) {
            Some(&(_, codepoint)) => Ok(vec![DscpSpec(Dscp::new(codepoint))]),
            None => Err(E::custom(format!("= {v:?} is unknown; write {FORMS}"))),
        }
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
        match u8::try_from(v) {
            Ok(codepoint @ 0..=63) => Ok(vec![DscpSpec(Dscp::new(codepoint))]),
            _ => Err(E::custom(format!("= {v} is out of range; write {FORMS}"))),
        }
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Self::Value, E> {
        self.visit_i64(i64::try_from(v).unwrap_or(i64::MAX))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        if !self.many {
            return Err(A::Error::custom(format!("is a list; write {FORMS}")));
        }
        Vec::deserialize(SeqAccessDeserializer::new(list))
    }
}

impl<'de> Deserialize<'de> for DscpSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = deserializer.deserialize_any(Reader { many: false })?;
        list.first().copied().ok_or_else(|| D::Error::custom(FORMS))
    }
}

impl Serialize for DscpList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DscpList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(Reader { many: true })
            .map(Self)
    }
}

impl JsonSchema for DscpSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Dscp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = NAMES.iter().map(|name| name.0).collect();
        json_schema!({ "title": "codepoint", "anyOf": [
            { "enum": names }, { "type": "integer", "minimum": 0, "maximum": 63 }] })
    }
}

impl JsonSchema for DscpList {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DscpList".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let codepoint = generator.subschema_for::<DscpSpec>();
        json_schema!({ "title": "codepoint or list", "anyOf": [codepoint.clone(), { "type": "array", "items": codepoint }] })
    }
}

#[cfg(test)]
mod tests {
    use crate::load;
    use farlink_tcp::Dscp;

    const TEXT: &str = "[[links]]\nbetween = [\"a\", \"b\"]\n\
        down = { rate = \"12 Mbit/s\", delay = \"25 ms\" }\n\
        [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\ndscp = EF\n";

    fn of(written: &str) -> Result<Dscp, String> {
        let text = TEXT.replace("EF", written);
        let scenario = load(&text, "test", &[]).map_err(|e| e.to_string())?;
        let json = scenario.to_json();
        assert_eq!(load(&json, "saved", &[]).unwrap(), scenario);
        let flows = scenario.expand().map_err(|e| e.to_string())?.flows;
        Ok(flows[0].dscp)
    }

    /// Codepoints of RFC 2474 (CS), RFC 2597 (AFxy = 8x + 2y), RFC 3246, RFC 5865 and RFC 8622.
    #[test]
    fn names_and_numbers_are_codepoints() {
        for class in 0..8 {
            assert_eq!(of(&format!("\"CS{class}\"")), Ok(Dscp::new(8 * class)));
        }
        for (class, drop) in (1..5).flat_map(|class| (1..4).map(move |drop| (class, drop))) {
            let name = format!("\"AF{class}{drop}\"");
            assert_eq!(of(&name), Ok(Dscp::new(8 * class + 2 * drop)));
        }
        for (name, codepoint) in [("EF", 46), ("VA", 44), ("LE", 1)] {
            assert_eq!(of(&format!("{name:?}")), Ok(Dscp::new(codepoint)));
        }
        assert_eq!((of("0"), of("63")), (Ok(Dscp::DEFAULT), Ok(Dscp::new(63))));
        assert_eq!(of("5"), Ok(Dscp::new(5)));
    }

    #[test]
    fn other_codepoints_are_refused() {
        let form =
            "write a name such as \"EF\", \"AF41\", \"CS1\" or \"LE\", or a number from 0 to 63";
        for (written, problem) in [
            ("\"ef\"", "= \"ef\" is unknown"),
            ("\"AF14\"", "= \"AF14\" is unknown"),
            ("64", "= 64 is out of range"),
            ("-1", "= -1 is out of range"),
            ("[46]", "is a list"),
        ] {
            let expected = format!("test:8: flows[0].dscp {problem}; {form}");
            assert_eq!(of(written), Err(expected));
        }
    }
}
