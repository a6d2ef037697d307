//! Protocol of the socket of a running emulation: one request and one answer a connection, each a
//! line of JSON that names the version of the protocol. Both ends use these types, so a change of
//! them changes both ends, and [`VERSION`].

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Version of the requests and answers below.
pub(crate) const VERSION: u64 = 2;
/// A request is not longer, in bytes.
pub(crate) const LONGEST: u64 = 1 << 20;

/// Request of a client.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Ask for the settings of the links.
    Show,
    /// Change values of links: all of them or none.
    Set {
        /// Paths and values.
        changes: Vec<(String, String)>,
    },
    /// Switch channels.
    Channel {
        /// Set if packets meet the stages.
        on: bool,
        /// Name of one link, in place of all.
        link: Option<String>,
        /// Direction, "down" or "up", in place of both.
        direction: Option<String>,
    },
    /// Counters.
    Stats,
    /// Ask where the programs of a host run.
    Place {
        /// Name of the host.
        host: String,
    },
}

/// Place of a host's programs, for a program that joins them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Name of the host.
    pub host: String,
    /// Network namespace.
    pub namespace: PathBuf,
    /// Process namespace of the run, which ends with it.
    pub processes: PathBuf,
    /// Names of the hosts, as /etc/hosts has them.
    pub names: PathBuf,
    /// Whom to ask for other names, as /etc/resolv.conf has it, if it is not the machine's own.
    #[serde(default)]
    pub resolver: Option<PathBuf>,
}

/// Answer of the emulation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Settings of the links, after a change too.
    State {
        /// The links, as a resolved scenario has them.
        links: Value,
        /// The agents, in the same form; null if there are none.
        agents: Value,
        /// Names and directions of those whose channels are off.
        channels_off: Vec<(String, String)>,
    },
    /// Counters of links and hosts, as at the end of a run (`Traffic`), with `late_p99_s`.
    Stats(Value),
    /// Place of a host's programs.
    Place(Place),
    /// Nothing was done, for this reason.
    Error(String),
}

/// Why a line is no message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unread {
    /// The line has another version, or none.
    Version(Option<u64>),
    /// The line is malformed, for this reason.
    Malformed(String),
}

/// A message as a line.
pub(crate) fn write(message: &impl Serialize) -> String {
    let mut line = json!(message);
    line["version"] = VERSION.into();
    format!("{line}\n")
}

/// A message from a line.
pub(crate) fn read<T: DeserializeOwned>(line: &str) -> Result<T, Unread> {
    let malformed = |e: serde_json::Error| Unread::Malformed(e.to_string());
    let mut message: Map<String, Value> = serde_json::from_str(line).map_err(malformed)?;
    let version = message.remove("version").and_then(|v| v.as_u64());
    if version != Some(VERSION) {
        return Err(Unread::Version(version));
    }
    serde_json::from_value(message.into()).map_err(malformed)
}

/// A version for people.
pub(crate) fn name(version: Option<u64>) -> String {
    version.map_or_else(|| "no version".into(), |v| format!("version {v}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        let requests = [
            Request::Show,
            Request::Set {
                changes: vec![("links.0.down.delay".into(), "1 ms".into())],
            },
            Request::Channel {
                on: false,
                link: Some("far".into()),
                direction: None,
            },
            Request::Stats,
            Request::Place {
                host: "server".into(),
            },
        ];
        for request in requests {
            assert_eq!(read(&write(&request)), Ok(request));
        }
        let answers = [
            Answer::State {
                links: json!([]),
                agents: json!([]),
                channels_off: vec![("far".into(), "up".into())],
            },
            Answer::Stats(json!({ "duration_s": 1.5 })),
            Answer::Place(Place {
                host: "server".into(),
                namespace: "/run/netns/one".into(),
                processes: "/proc/7/ns/pid".into(),
                names: "/run/farlink/hosts".into(),
                resolver: Some("/run/farlink/resolv".into()),
            }),
            Answer::Error("there is no link \"moon\"".into()),
        ];
        for answer in answers {
            assert_eq!(read(&write(&answer)), Ok(answer));
        }
    }

    /// A line of another version is refused before the rest is read, whatever the rest says.
    #[test]
    fn another_version_is_told_before_the_rest_is_read() {
        let unread = |line: &str| read::<Request>(line).unwrap_err();
        let newer = r#"{"version": 3, "do": "dance", "with": "me"}"#;
        assert_eq!(unread(newer), Unread::Version(Some(3)));
        assert_eq!(unread(r#"{"do": "show"}"#), Unread::Version(None));
        for line in [
            "",
            "[]",
            r#"{"version": 2, "do": "dance"}"#,
            r#"{"version": 2, "do": "channel", "on": true, "color": 2}"#,
        ] {
            assert!(matches!(unread(line), Unread::Malformed(_)), "{line}");
        }
    }
}
