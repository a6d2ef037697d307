//! Applications other than files and pages: datagrams, conversations and web files, with checks of
//! their keys.

use farlink_tcp::time::Interval;

use super::checks::fault;
use super::decode::{Problem, example};
use super::flow::{AppName, Connections, FlowSpec, Opener};
use super::python_class::PythonClass;
use super::tree::Step;
use farlink_channel::distribution::Distribution;
use serde_json::json;

/// Datagrams over UDP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UdpSpec {
    /// Rate of the data in bit/s while the source is on.
    pub rate: u64,
    /// Bytes of data in a datagram.
    pub packet: u32,
    /// Distributions of the source's on-times and off-times in nanoseconds; `None` if the source is
    /// always on.
    pub on_off: Option<(Distribution, Distribution)>,
    /// Number of datagrams; `None` for as many as `duration` allows.
    pub datagrams: Option<u64>,
    /// Duration from the start of the flow.
    pub duration: Option<Interval>,
    /// Class that gives times and sizes of messages, in place of `rate`. Datagrams of a message have
    /// at most `packet` bytes.
    pub source: Option<PythonClass>,
}

/// A file over an XTP-like transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct XtpSpec {
    /// Bytes of the file.
    pub size: u64,
    /// Rate of the data in bit/s.
    pub rate: u64,
    /// Bytes that may be sent at once.
    pub burst: u64,
    /// Bytes of data in a packet.
    pub packet: u32,
    /// Bytes that the receiver buffers beyond the data received in order.
    pub window: u64,
    /// Number of data packets from one request for a status report to the next.
    pub sreq_every: u32,
}

/// Protocol of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// A user types, and the host answers each keystroke.
    Telnet,
    /// Mail is sent, one message per conversation.
    Smtp,
    /// News is sent, article by article.
    Nntp,
    /// Files are requested.
    Ftp,
}

/// Conversations, each over its own connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConversationSpec {
    /// Protocol of the conversations.
    pub protocol: Protocol,
    /// Number of conversations; `None` for as many as `duration` allows.
    pub conversations: Option<u64>,
    /// Time from the arrival of one conversation to the next, in nanoseconds.
    pub arrivals: Distribution,
    /// Time for which a user types, in nanoseconds; `None` for tcplib's distribution.
    pub typing: Option<Distribution>,
    /// Time between keystrokes, in nanoseconds; `None` for tcplib's distribution.
    pub keystrokes: Option<Distribution>,
    /// Bytes of an item; `None` for tcplib's distribution.
    pub size: Option<Distribution>,
    /// Number of items of a conversation; `None` for tcplib's distribution.
    pub items: Option<u64>,
    /// Number of commands, each with a reply, before each item.
    pub turns: u32,
}

/// Files of random sizes with random pauses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WebSpec {
    /// Number of files; `None` for as many as `duration` allows.
    pub files: Option<u64>,
    /// Bytes of a file.
    pub size: Distribution,
    /// Time from the arrival of a file to the next request, in nanoseconds.
    pub think_time: Distribution,
    /// Bytes of a request.
    pub request: u64,
    /// Use of connections by the files.
    pub connections: Connections,
}

/// Refuses TCP keys on a flow of datagrams.
pub(super) fn no_tcp(flow: &FlowSpec) -> Result<(), Problem> {
    let message = |what: &str| {
        format!(
            "would be ignored: app = \"{}\" sends UDP datagrams, which have no {what}; remove it",
            flow.app.name()
        )
    };
    if !flow.tcp.is_empty() {
        return Err(Problem::new([Step::from("tcp")], message("TCP")));
    }
    if flow.opens.is_some() {
        return Err(Problem::new([Step::from("opens")], message("connection")));
    }
    Ok(())
}

/// Checks that the end that opens the connections can open them.
pub(super) fn check_opener(flow: &FlowSpec) -> Result<(), Problem> {
    let (opener, why, write) = match flow.app {
        AppName::Http | AppName::Web | AppName::Telnet | AppName::Rlogin | AppName::Ftp => {
            let why = "its client opens the connections";
            (Opener::Receiver, why, "receiver")
        }
        AppName::Smtp | AppName::Nntp => {
            let why = "the end that has the items opens the connections";
            (Opener::Sender, why, "sender")
        }
        _ => return Ok(()),
    };
    match flow.opens.filter(|opens| *opens != opener) {
        Some(opens) => {
            let (opens, app) = (json!(opens), json!(flow.app));
            let message = format!("= {opens} is wrong for app = {app}: {why}; write {write:?}");
            Err(fault("opens", message))
        }
        None => Ok(()),
    }
}

/// Builds the problem of an absent key, with an example.
pub(super) fn missing(key: &str) -> Problem {
    Problem::new([], format!("has no {key:?}{}", example(key)))
}
