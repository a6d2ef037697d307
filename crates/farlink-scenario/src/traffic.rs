//! What flows carry beside files and pages: datagrams, conversations, files of
//! the web. Their specifications and the checks of their keys.

use farlink_tcp::time::Interval;

use super::app::{App, Keys, size_of};
use super::checks::out_of_range;
use super::decode::{Problem, example};
use super::distribution::{DistributionName, TimeDistribution, TimeDistributionTable};
use super::spec::{AppName, Connections, FlowSpec, Opener};
use super::tree::Step;
use super::units::{Rate, Size, Time};
use farlink_net::distribution::Distribution;

/// Largest body of a UDP datagram (RFC 768 and RFC 791): 65,535 bytes less headers.
const MOST_DATAGRAM: Size = Size(65_507);
/// Most bits per second of a source.
const MOST_RATE: Rate = Rate(1_000_000_000_000);

/// Datagrams over UDP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UdpSpec {
    /// Bits of data per second while the source is on.
    pub rate: u64,
    /// Bytes of data in each.
    pub packet: u32,
    /// How long the source is on and off in turn, in nanoseconds; without it
    /// always on.
    pub on_off: Option<(Distribution, Distribution)>,
    /// How many; without it until `duration` is over.
    pub datagrams: Option<u64>,
    /// From the start of the flow.
    pub duration: Option<Interval>,
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
    /// Which.
    pub protocol: Protocol,
    /// How many; without it until `duration` is over.
    pub conversations: Option<u64>,
    /// From the start of the flow.
    pub duration: Option<Interval>,
    /// From one conversation's arrival to the next one's, in nanoseconds.
    pub arrivals: Distribution,
    /// How long a user types, in nanoseconds; without it that of tcplib.
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
    /// How many; without it until `duration` is over.
    pub files: Option<u64>,
    /// From the start of the flow.
    pub duration: Option<Interval>,
    /// Bytes of a file.
    pub size: Distribution,
    /// From a file's being there to the next request, in nanoseconds.
    pub think_time: Distribution,
    /// Bytes of a request.
    pub request: u64,
    /// What connections carry them.
    pub connections: Connections,
}

fn seconds(s: u64) -> Time {
    Time(Interval::from_secs(s))
}

/// The application of a flow that is one of these.
pub(super) fn app(flow: &FlowSpec, keys: &Keys<'_>) -> Result<App, Problem> {
    let distribution = |key: &str, distribution: Option<TimeDistribution>| {
        distribution
            .map(|distribution| distribution.distribution(key))
            .transpose()
    };
    let needed =
        |key: &str, distribution: Option<Distribution>| distribution.ok_or_else(|| missing(key));
    Ok(match flow.app {
        AppName::Cbr | AppName::Onoff => {
            no_tcp(flow)?;
            let on_off = if flow.app == AppName::Onoff {
                let on = needed("on", distribution("on", flow.on)?)?;
                let off = needed("off", distribution("off", flow.off)?)?;
                if on == Distribution::Constant(0.0) {
                    let says = "\"0 s\" is no time; write for example \"1 s\"";
                    return Err(out_of_range([Step::from("on")], says));
                }
                Some((on, off))
            } else {
                None
            };
            App::Udp(UdpSpec {
                rate: rate(flow.rate.ok_or_else(|| missing("rate"))?)?,
                packet: packet(flow.packet.ok_or_else(|| missing("packet"))?)?,
                on_off,
                datagrams: keys.most("datagrams", flow.datagrams, 1, 1_000_000_000_000)?,
                duration: keys.duration,
            })
        }
        AppName::Web => {
            receiver_opens(flow)?;
            let size = flow.size.ok_or_else(|| missing("size"))?;
            App::Web(WebSpec {
                files: keys.number("files", flow.files, 1)?,
                duration: keys.duration,
                size: size.distribution("size")?,
                think_time: needed("think_time", distribution("think_time", flow.think_time)?)?,
                request: size_of("request", flow.request, 1)?,
                connections: flow.connections.unwrap_or_default(),
            })
        }
        name => {
            let protocol = match name {
                AppName::Smtp => Protocol::Smtp,
                AppName::Nntp => Protocol::Nntp,
                AppName::Ftp => Protocol::Ftp,
                _ => Protocol::Telnet,
            };
            // Mail and news are pushed by the end that opens the connection.
            match protocol {
                Protocol::Telnet | Protocol::Ftp => receiver_opens(flow)?,
                Protocol::Smtp | Protocol::Nntp => sender_opens(flow)?,
            }
            let items = match flow.items {
                None => None,
                Some(n) => keys.number("items", Some(n), 1)?,
            };
            App::Conversation(ConversationSpec {
                protocol,
                conversations: keys.number("conversations", flow.conversations, 1)?,
                duration: keys.duration,
                arrivals: needed("arrivals", distribution("arrivals", flow.arrivals)?)?,
                typing: distribution("typing", flow.typing)?,
                keystrokes: distribution("keystrokes", flow.keystrokes)?,
                size: flow
                    .size
                    .map(|size| size.distribution("size"))
                    .transpose()?,
                items,
                turns: flow.turns.unwrap_or(0),
            })
        }
    })
}

fn rate(rate: Rate) -> Result<u64, Problem> {
    if rate.0 == 0 || rate > MOST_RATE {
        let says = format!("\"{rate}\" is out of range; write \"1 bit/s\" to \"{MOST_RATE}\"");
        return Err(out_of_range([Step::from("rate")], &says));
    }
    Ok(rate.0)
}

fn packet(size: Size) -> Result<u32, Problem> {
    if size < Size(1) || size > MOST_DATAGRAM {
        let says = format!("\"{size}\" is out of range; write \"1 B\" to \"{MOST_DATAGRAM}\"");
        return Err(out_of_range([Step::from("packet")], &says));
    }
    Ok(size.0 as u32)
}

/// Keys of TCP on a flow of datagrams.
fn no_tcp(flow: &FlowSpec) -> Result<(), Problem> {
    let says = |what: &str| {
        format!(
            "would be ignored: app = \"{}\" sends UDP datagrams, which have no {what}; remove it",
            flow.app.name()
        )
    };
    if !flow.tcp.is_empty() {
        return Err(Problem::new([Step::from("tcp")], says("TCP")));
    }
    if flow.opens.is_some() {
        return Err(Problem::new([Step::from("opens")], says("connection")));
    }
    Ok(())
}

fn receiver_opens(flow: &FlowSpec) -> Result<(), Problem> {
    opened_by(
        flow,
        Opener::Receiver,
        "\"sender\" is wrong",
        "its client opens the connections",
        "receiver",
    )
}

fn sender_opens(flow: &FlowSpec) -> Result<(), Problem> {
    opened_by(
        flow,
        Opener::Sender,
        "\"receiver\" is wrong",
        "the end that has the items opens the connections",
        "sender",
    )
}

fn opened_by(
    flow: &FlowSpec,
    opener: Opener,
    wrong: &str,
    why: &str,
    write: &str,
) -> Result<(), Problem> {
    if flow.opens.is_none_or(|opens| opens == opener) {
        return Ok(());
    }
    let says = format!(
        "= {wrong} for app = {:?}: {why}; write {write:?}",
        flow.app.name()
    );
    Err(Problem::new([Step::from("opens")], says))
}

/// Spells out the defaults of these applications; who opens the connection.
pub(super) fn fill(flow: &mut FlowSpec) -> Option<Opener> {
    match flow.app {
        AppName::Cbr | AppName::Onoff => {
            flow.packet.get_or_insert(Size(1000));
            None
        }
        AppName::Web => {
            // The pauses of Barford and Crovella 1998.
            flow.think_time
                .get_or_insert(TimeDistribution::Drawn(TimeDistributionTable {
                    distribution: DistributionName::Pareto,
                    mean: None,
                    min: Some(seconds(1)),
                    max: None,
                    shape: Some(1.5),
                    sigma: None,
                }));
            flow.request.get_or_insert(Size(300));
            flow.connections.get_or_insert_default();
            Some(Opener::Receiver)
        }
        AppName::Telnet | AppName::Rlogin => {
            flow.arrivals
                .get_or_insert(TimeDistribution::Just(seconds(0)));
            Some(Opener::Receiver)
        }
        AppName::Smtp | AppName::Nntp | AppName::Ftp => {
            flow.arrivals
                .get_or_insert(TimeDistribution::Just(seconds(0)));
            Some(if flow.app == AppName::Ftp {
                Opener::Receiver
            } else {
                Opener::Sender
            })
        }
        AppName::File | AppName::Bulk | AppName::Http | AppName::Repeat => None,
    }
}

/// A key that is missing, with an example of it.
pub(super) fn missing(key: &str) -> Problem {
    Problem::new([], format!("has no {key:?}{}", example(key)))
}
