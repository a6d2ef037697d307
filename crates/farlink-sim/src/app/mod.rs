//! Applications over a flow's connections, one file each.
//!
//! A program acts at both ends of its flow. Like an endpoint, it does no input or output: it gets
//! events at an end ([`AppEvent`]) and returns commands ([`Command`]). It always gets the
//! establishment and the end of connections. Other events must be requested: received bytes
//! ([`Command::Await`]), a time ([`Command::Wake`]), a new connection ([`Command::Open`]). The
//! actions of an end depend only on information at this end.

mod arrivals;
mod bulk;
mod command;
mod file;
mod http;
mod items;
mod repeat;
mod stream;
mod tcplib;
mod telnet;
mod web;

use crate::scenario::{App, Protocol};
use bulk::Bulk;
pub(crate) use command::{AppEvent, Application, Command, Side};
use farlink_channel::rng::Stream;
use farlink_tcp::Instant;
use file::File;
use http::Http;
use items::Items;
use repeat::Repeat;
use telnet::Telnet;
use web::Web;

/// A running application. Large programs are boxed, because there may be thousands of flows, and
/// most of them are file transfers.
#[derive(Debug)]
pub(crate) enum Program {
    /// A file, optionally with another file in the reverse direction.
    File(File),
    /// A transfer without end.
    Bulk(Bulk),
    /// Any other program.
    Other(Box<dyn Application>),
}

impl Program {
    /// Returns the program of an application over TCP, with the flow's random streams by name;
    /// `None` for applications over other transports.
    pub(crate) fn new(app: &App, stream: impl Fn(&str) -> Stream) -> Option<Self> {
        Some(Self::Other(match *app {
            App::File { size, reverse } => return Some(Self::File(File::new(size, reverse))),
            App::Bulk => return Some(Self::Bulk(Bulk)),
            App::Http(spec) => Box::new(Http::new(spec)),
            App::Repeat(spec) => Box::new(Repeat::new(spec)),
            App::Stream(spec) => Box::new(stream::Stream::new(spec, &stream)),
            App::Web(spec) => Box::new(Web::new(spec, stream("web"))),
            App::Conversation(spec) => match spec.protocol {
                Protocol::Telnet => Box::new(Telnet::new(spec, &stream)),
                _ => Box::new(Items::new(spec, &stream)),
            },
            App::Udp(_) | App::Xtp(_) | App::Quic(_) => return None,
        }))
    }

    /// Returns the number of ends that will report [`Command::Complete`].
    pub(crate) fn completions(&self) -> u8 {
        match self {
            Self::File(file) if file.reverse() => 2,
            _ => 1,
        }
    }

    /// Returns the size of a file, if the program is a file transfer.
    pub(crate) fn file_size(&self) -> Option<u64> {
        match self {
            Self::File(file) => Some(file.size()),
            _ => None,
        }
    }

    /// Returns whether the program also sends data in the reverse direction.
    pub(crate) fn reverse(&self) -> bool {
        matches!(self, Self::File(file) if file.reverse())
    }

    /// Returns whether the program may request another connection.
    pub(crate) fn reopens(&self) -> bool {
        match self {
            Self::File(_) | Self::Bulk(_) => false,
            Self::Other(other) => other.reopens(),
        }
    }

    /// Returns whether the program has a user who waits for responses.
    pub(crate) fn responds(&self) -> bool {
        !matches!(self, Self::File(_) | Self::Bulk(_))
    }

    /// Returns the completed share, from 0 to 1, after `received` bytes; 0 for programs without a
    /// limited amount of data.
    pub(crate) fn share(&self, received: u64) -> f64 {
        match self {
            Self::File(file) => file.share(received),
            Self::Bulk(_) => 0.0,
            Self::Other(other) => other.share(received),
        }
    }

    /// Starts the flow, whose first connection is opened now.
    pub(crate) fn start(&mut self, now: Instant, commands: &mut Vec<Command>) {
        match self {
            Self::File(file) => file.start(commands),
            Self::Bulk(_) => {}
            Self::Other(other) => other.start(now, commands),
        }
    }

    /// Handles an event at an end, and appends commands.
    pub(crate) fn on_event(
        &mut self,
        now: Instant,
        side: Side,
        event: AppEvent,
        commands: &mut Vec<Command>,
    ) {
        match self {
            Self::File(file) => file.on_event(side, event, commands),
            Self::Bulk(_) => Bulk::on_event(side, event, commands),
            Self::Other(other) => other.on_event(now, side, event, commands),
        }
    }
}
