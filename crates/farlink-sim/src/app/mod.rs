//! Applications: who says what over a flow's connections, one file each.
//!
//! A program plays both ends of its flow. In the manner of the endpoints it
//! does no input or output: it is told what happened at an end ([`AppEvent`]) and
//! answers with what is to be done ([`Command`]). It is told only of what it asked
//! for: the bytes that an end waits for ([`Command::Await`]), an instant
//! ([`Command::Wake`]), a new connection ([`Command::Open`]), and connections that are
//! established or end. What an end does follows from what that end can know.

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

/// An application at work. Those that hold much are boxed: flows lie beside each
/// other in memory, and file transfers come in thousands.
#[derive(Debug)]
pub(crate) enum Program {
    /// A file, and one the other way.
    File(File),
    /// As much as goes through.
    Bulk(Bulk),
    /// Any other.
    Other(Box<dyn Application>),
}

impl Program {
    /// The program of an application over TCP, with the random streams of its flow
    /// by name; none for one that has no connection.
    pub(crate) fn new(app: &App, stream: impl Fn(&str) -> Stream) -> Option<Self> {
        Some(Self::Other(match *app {
            App::File { size, reverse } => return Some(Self::File(File::new(size, reverse))),
            App::Bulk => return Some(Self::Bulk(Bulk)),
            App::Http(spec) => Box::new(Http::new(spec)),
            App::Repeat(spec) => Box::new(Repeat::new(spec)),
            App::Stream(spec) => Box::new(stream::Stream::new(spec)),
            App::Web(spec) => Box::new(Web::new(spec, stream("web"))),
            App::Conversation(spec) => match spec.protocol {
                Protocol::Telnet => Box::new(Telnet::new(spec, &stream)),
                _ => Box::new(Items::new(spec, &stream)),
            },
            App::Udp(_) | App::Xtp(_) => return None,
        }))
    }

    /// Ends that will be told complete.
    pub(crate) fn completions(&self) -> u8 {
        match self {
            Self::File(file) if file.reverse() => 2,
            _ => 1,
        }
    }

    /// Returns whether data of the program's own goes the other way.
    pub(crate) fn reverse(&self) -> bool {
        matches!(self, Self::File(file) if file.reverse())
    }

    /// Returns whether the program may ask for another connection.
    pub(crate) fn reopens(&self) -> bool {
        match self {
            Self::File(_) | Self::Bulk(_) => false,
            Self::Other(other) => other.reopens(),
        }
    }

    /// Returns whether a user waits for responses.
    pub(crate) fn responds(&self) -> bool {
        !matches!(self, Self::File(_) | Self::Bulk(_))
    }

    /// Returns the finished share, from 0 to 1, after `received` bytes, for programs that have an
    /// end of their own.
    pub(crate) fn share(&self, received: u64) -> f64 {
        match self {
            Self::File(file) => file.share(received),
            Self::Bulk(_) => 0.0,
            Self::Other(other) => other.share(received),
        }
    }

    /// The flow starts; its first connection is opened now.
    pub(crate) fn start(&mut self, now: Instant, commands: &mut Vec<Command>) {
        match self {
            Self::File(file) => file.start(commands),
            Self::Bulk(_) => {}
            Self::Other(other) => other.start(now, commands),
        }
    }

    /// Something happened at an end.
    pub(crate) fn on_event(
        &mut self,
        now: Instant,
        side: Side,
        what: AppEvent,
        commands: &mut Vec<Command>,
    ) {
        match self {
            Self::File(file) => file.on_event(side, what, commands),
            Self::Bulk(_) => Bulk::on_event(side, what, commands),
            Self::Other(other) => other.on_event(now, side, what, commands),
        }
    }
}
