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
mod tcplib;
mod telnet;
mod web;

use crate::scenario::{App, Protocol};
use bulk::Bulk;
pub(crate) use command::{AppEvent, Command, Side};
use farlink_net::rng::Stream;
use farlink_tcp::Instant;
use file::File;
use http::Http;
use items::Items;
use repeat::Repeat;
use telnet::Telnet;
use web::Web;

/// An application at work. The variants that hold much are boxed: flows lie
/// beside each other in memory, and file transfers come in thousands.
#[derive(Debug)]
pub(crate) enum Program {
    /// A file, and one the other way.
    File(File),
    /// As much as goes through.
    Bulk(Bulk),
    /// Pages with their objects.
    Http(Box<Http>),
    /// Files one after the other.
    Repeat(Box<Repeat>),
    /// Files of drawn sizes.
    Web(Box<Web>),
    /// A user who types.
    Telnet(Box<Telnet>),
    /// Mail, news and files.
    Items(Box<Items>),
}

impl Program {
    /// The program of an application over TCP, with the random streams of its flow
    /// by name; none for one that has no connection.
    pub(crate) fn new(app: &App, stream: impl Fn(&str) -> Stream) -> Option<Self> {
        Some(match *app {
            App::File { size, reverse } => Self::File(File::new(size, reverse)),
            App::Bulk { .. } => Self::Bulk(Bulk),
            App::Http(ref spec) => Self::Http(Box::new(Http::new(*spec))),
            App::Repeat(ref spec) => Self::Repeat(Box::new(Repeat::new(*spec))),
            App::Web(spec) => Self::Web(Box::new(Web::new(spec, stream("web")))),
            App::Conversation(spec) => match spec.protocol {
                Protocol::Telnet => Self::Telnet(Box::new(Telnet::new(spec, &stream))),
                _ => Self::Items(Box::new(Items::new(spec, &stream))),
            },
            App::Udp(_) => return None,
        })
    }

    /// Ends that will be told complete.
    pub(crate) fn completions(&self) -> u8 {
        match self {
            Self::File(file) if file.reverse() => 2,
            _ => 1,
        }
    }

    /// Whether data of its own goes the other way.
    pub(crate) fn reverse(&self) -> bool {
        matches!(self, Self::File(file) if file.reverse())
    }

    /// Whether it ever asks for another connection.
    pub(crate) fn reopens(&self) -> bool {
        match self {
            Self::File(_) | Self::Bulk(_) => false,
            Self::Http(http) => http.reopens(),
            Self::Repeat(_) | Self::Telnet(_) | Self::Items(_) => true,
            Self::Web(web) => web.reopens(),
        }
    }

    /// Whether somebody waits for its answers.
    pub(crate) fn responds(&self) -> bool {
        !matches!(self, Self::File(_) | Self::Bulk(_))
    }

    /// How much of it is done, from 0 to 1, when `received` bytes have come;
    /// for programs that have an end of their own.
    pub(crate) fn share(&self, received: u64) -> f64 {
        match self {
            Self::File(file) => file.share(received),
            Self::Bulk(_) => 0.0,
            Self::Http(http) => http.share(),
            Self::Repeat(repeat) => repeat.share(received),
            Self::Web(web) => web.share(),
            Self::Telnet(telnet) => telnet.share(),
            Self::Items(items) => items.share(),
        }
    }

    /// The flow starts; its first connection is opened now.
    pub(crate) fn start(&mut self, now: Instant, commands: &mut Vec<Command>) {
        match self {
            Self::File(file) => file.start(commands),
            Self::Bulk(_) => {}
            Self::Http(http) => http.start(now, commands),
            Self::Repeat(repeat) => repeat.start(now, commands),
            Self::Web(web) => web.start(now, commands),
            Self::Telnet(telnet) => telnet.start(now, commands),
            Self::Items(items) => items.start(now, commands),
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
            Self::Http(http) => http.on_event(now, side, what, commands),
            Self::Repeat(repeat) => repeat.on_event(now, side, what, commands),
            Self::Web(web) => web.on_event(now, side, what, commands),
            Self::Telnet(telnet) => telnet.on_event(now, side, what, commands),
            Self::Items(items) => items.on_event(now, side, what, commands),
        }
    }
}
