//! Specifications of flows beside files and pages: datagrams, conversations, files of the web; and
//! the checks of their keys.

use farlink_tcp::time::Interval;

use super::checks::fault;
use super::decode::{Problem, example};
use super::flow::{AppName, Connections, FlowSpec, Opener};
use super::tree::Step;
use farlink_channel::distribution::Distribution;
use serde_json::json;

/// Datagrams over UDP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UdpSpec {
    /// Bits of data per second while the source is on.
    pub rate: u64,
    /// Bytes of data in each.
    pub packet: u32,
    /// Alternating on-times and off-times of the source, in nanoseconds; without it always on.
    pub on_off: Option<(Distribution, Distribution)>,
    /// Number of datagrams; without it until `duration` is over.
    pub datagrams: Option<u64>,
    /// From the start of the flow.
    pub duration: Option<Interval>,
}

/// A file over an XTP-like transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct XtpSpec {
    /// Bytes of it.
    pub size: u64,
    /// Bits of data per second.
    pub rate: u64,
    /// Bytes that may be sent at once.
    pub burst: u64,
    /// Bytes of data in a packet.
    pub packet: u32,
    /// Bytes that the receiver takes beyond what is complete.
    pub window: u64,
    /// Packets of data from one request for a status report to the next.
    pub sreq_every: u32,
}

/// The protocol of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// A user types, the host answers each keystroke.
    Telnet,
    /// Mail is pushed, one message a conversation.
    Smtp,
    /// News is pushed, article by article.
    Nntp,
    /// Files are fetched.
    Ftp,
}

/// Conversations, each over a connection of its own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConversationSpec {
    /// Name of the protocol.
    pub protocol: Protocol,
    /// Number of conversations; without it until `duration` is over.
    pub conversations: Option<u64>,
    /// From one conversation's arrival to the next one's, in nanoseconds.
    pub arrivals: Distribution,
    /// Time for which a user types, in nanoseconds; without it that of tcplib.
    pub typing: Option<Distribution>,
    /// Between keystrokes, in nanoseconds; without it that of tcplib.
    pub keystrokes: Option<Distribution>,
    /// Bytes of an item; without it those of tcplib.
    pub size: Option<Distribution>,
    /// Items of a conversation; without it those of tcplib.
    pub items: Option<u64>,
    /// Commands with their replies before each item.
    pub turns: u32,
}

/// Files of drawn sizes with pauses of drawn lengths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WebSpec {
    /// Number of files; without it until `duration` is over.
    pub files: Option<u64>,
    /// Bytes of a file.
    pub size: Distribution,
    /// From a file's being there to the next request, in nanoseconds.
    pub think_time: Distribution,
    /// Bytes of a request.
    pub request: u64,
    /// Connections of the files.
    pub connections: Connections,
}

/// Keys of TCP on a flow of datagrams.
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

/// Checks that the end that opens the connections is one that can.
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

/// A key that is missing, with an example of it.
pub(super) fn missing(key: &str) -> Problem {
    Problem::new([], format!("has no {key:?}{}", example(key)))
}
