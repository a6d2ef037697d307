//! What is said through the socket of a running emulation: one request and one answer a
//! connection, each a line of JSON that names the version of this protocol. Both ends use these
//! types, so that a change of them is a change of both, and of [`VERSION`].

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Version of the requests and answers below.
pub(crate) const VERSION: u64 = 2;
/// A request is not longer, in bytes.
pub(crate) const LONGEST: u64 = 1 << 20;

/// What can be asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// What the links are set to.
    Show,
    /// Change values of links: all of them or none.
    Set {
        /// Paths and values.
        changes: Vec<(String, String)>,
    },
    /// Switch channels.
    Channel {
        /// Whether packets meet them.
        on: bool,
        /// Of this link alone.
        link: Option<String>,
        /// Of this direction alone, "down" or "up".
        direction: Option<String>,
    },
    /// Counters.
    Stats,
    /// Where programs of a host run.
    Place {
        /// Its name.
        host: String,
    },
}

/// Where programs of a host run, for one that is to join them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Name of the host.
    pub host: String,
    /// Its network namespace.
    pub namespace: PathBuf,
    /// Process namespace of the run, which ends with it.
    pub processes: PathBuf,
    /// Names of the hosts, as /etc/hosts has them.
    pub names: PathBuf,
    /// Whom to ask for other names, as /etc/resolv.conf has it, if it is not the machine's own.
    #[serde(default)]
    pub resolver: Option<PathBuf>,
}

/// What comes back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// What the links are set to, after a change too.
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
    /// Where programs of a host run.
    Place(Place),
    /// Nothing was done, for this reason.
    Error(String),
}

/// Why a line is no message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unread {
    /// It is of another version, or of before there were versions.
    Version(Option<u64>),
    /// It is not what it should be.
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

    /// What is of another version is not guessed at, whatever else it says.
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
