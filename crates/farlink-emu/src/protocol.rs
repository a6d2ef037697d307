//! Protocol of a running emulation's control socket. Each connection has one request and one
//! answer, each a line of JSON with the protocol's version. Both ends use these types, so a change
//! of the types requires a new [`VERSION`].

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Version of the requests and answers below.
pub(crate) const VERSION: u64 = 2;
/// Maximum length of a request in bytes.
pub(crate) const LONGEST: u64 = 1 << 20;

/// Request of a client.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Query the settings of the links.
    Show,
    /// Change values of links, all of them or none.
    Set {
        /// Paths and values.
        changes: Vec<(String, String)>,
    },
    /// Switch channels.
    Channel {
        /// True to switch the stages on, false to bypass them.
        on: bool,
        /// Name of one link; `None` for all links.
        link: Option<String>,
        /// Direction: "down" or "up"; `None` for both.
        direction: Option<String>,
    },
    /// Query the counters.
    Stats,
    /// Query the paths by which programs run in a host.
    Place {
        /// Name of the host.
        host: String,
    },
}

/// Paths by which another process runs programs in a host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Name of the host.
    pub host: String,
    /// Path of the network namespace.
    pub namespace: PathBuf,
    /// Path of the run's PID namespace. Its processes end with the run.
    pub processes: PathBuf,
    /// File with the names of the hosts, mounted as /etc/hosts.
    pub names: PathBuf,
    /// File to mount as /etc/resolv.conf; `None` for the machine's own.
    #[serde(default)]
    pub resolver: Option<PathBuf>,
}

/// Answer of the emulation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Settings of the links, after a change if the request made one.
    State {
        /// The links, as in a resolved scenario.
        links: Value,
        /// The agents, as in a resolved scenario; null if there are none.
        agents: Value,
        /// Link names and directions whose channels are switched off.
        channels_off: Vec<(String, String)>,
    },
    /// Counters of links and hosts, as in the final report (`Traffic`), and `late_p99_s`.
    Stats(Value),
    /// Place of a host's programs.
    Place(Place),
    /// The request was not executed, for this reason.
    Error(String),
}

/// Reason why a line is not a valid message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unread {
    /// The line has another version, or none.
    Version(Option<u64>),
    /// The line is malformed, for this reason.
    Malformed(String),
}

/// Encodes a message as a line.
pub(crate) fn write(message: &impl Serialize) -> String {
    let mut line = json!(message);
    line["version"] = VERSION.into();
    format!("{line}\n")
}

/// Decodes a message from a line.
pub(crate) fn read<T: DeserializeOwned>(line: &str) -> Result<T, Unread> {
    let malformed = |e: serde_json::Error| Unread::Malformed(e.to_string());
    let mut message: Map<String, Value> = serde_json::from_str(line).map_err(malformed)?;
    let version = message.remove("version").and_then(|v| v.as_u64());
    if version != Some(VERSION) {
        return Err(Unread::Version(version));
    }
    serde_json::from_value(message.into()).map_err(malformed)
}

/// Formats a version for messages to the user.
pub(crate) fn name(version: Option<u64>) -> String {
    version.map_or_else(|| "no version".into(), |v| format!("version {v}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_encoding() {
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

    /// A line of another version is refused before its other fields are parsed.
    #[test]
    fn another_version_is_refused_before_parsing_the_rest() {
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
