//! Applications of flows, built from their checked keys.

use farlink_tcp::time::Interval;
use serde_json::json;

use super::checks::{LONGEST_RUN, ZERO, fault};
use super::decode::Problem;
use super::distribution::TimeDistribution;
use super::flow::{AppName, Connections, FlowSpec, MAX_BYTES};
use super::python_class::PythonClass;
use super::quic::QuicSpec;
use super::table::within;
use super::traffic::{self, ConversationSpec, Protocol, UdpSpec, WebSpec, XtpSpec, missing};
use super::units::{Size, Time};
use farlink_channel::distribution::Distribution;

/// Most data in an XTP packet: the longest datagram minus the header and the additional fields of
/// the first packet.
const XTP_MAX_DATA: Size = Size(65_507 - 56);

/// Application of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum App {
    /// A file, and at the same time another file in the opposite direction.
    File {
        /// Bytes from `from` to `to`.
        size: u64,
        /// Bytes from `to` to `from`.
        reverse: u64,
    },
    /// As much data as possible.
    Bulk,
    /// Pages.
    Http(HttpSpec),
    /// Repeated transfer of one file.
    Repeat(RepeatSpec),
    /// Messages at a constant rate.
    Stream(StreamSpec),
    /// Files of random sizes with pauses between them.
    Web(WebSpec),
    /// Conversations.
    Conversation(ConversationSpec),
    /// UDP datagrams.
    Udp(UdpSpec),
    /// A file over an XTP-like transport, in UDP datagrams.
    Xtp(XtpSpec),
    /// Any application over QUIC.
    Quic(QuicSpec),
}

impl App {
    /// Returns the class that gives the messages.
    pub fn source(&self) -> Option<PythonClass> {
        match self {
            Self::Stream(spec) => spec.source,
            Self::Udp(spec) => spec.source,
            Self::Quic(spec) => spec.program().and_then(|program| program.app().source()),
            _ => None,
        }
    }
}

/// Pages, each with a main object and inline objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HttpSpec {
    /// Number of pages; `None` for as many as `duration` allows.
    pub pages: Option<u64>,
    /// Time from the request of one page to the request of the next.
    pub page_interval: Interval,
    /// Least time from the end of one page to the request of the next.
    pub think_time: Interval,
    /// Bytes of a request.
    pub request: u64,
    /// Bytes of the main object of a page, which is requested first.
    pub main_object: u64,
    /// Number of objects that a page requests after its main object.
    pub inline_objects: u32,
    /// Bytes of an inline object.
    pub inline_object: u64,
    /// Use of connections by the pages.
    pub connections: Connections,
    /// Set if all inline objects are requested at once.
    pub pipelining: bool,
}

/// Files one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepeatSpec {
    /// Number of files; `None` for as many as `duration` allows.
    pub files: Option<u64>,
    /// Time from one SYN to the next.
    pub interval: Interval,
    /// Bytes of a file.
    pub size: u64,
}

/// Messages at a constant rate on one connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StreamSpec {
    /// Number of messages; `None` for as many as `duration` allows.
    pub messages: Option<u64>,
    /// Bytes of a message.
    pub size: u64,
    /// Rate of the data in bit/s.
    pub rate: u64,
    /// Class that gives times and sizes of messages, in place of `rate` and `size`.
    pub source: Option<PythonClass>,
}

impl AppName {
    /// Returns whether the application sends UDP datagrams and therefore uses no TCP.
    pub(super) fn is_udp(self) -> bool {
        matches!(self, Self::Cbr | Self::Onoff | Self::Xtp)
    }

    /// Returns the name in scenarios.
    pub(super) fn name(self) -> String {
        json!(self).as_str().unwrap_or_default().to_owned()
    }
}

/// Keys of a flow that are checked by several applications.
struct Keys<'a> {
    flow: &'a FlowSpec,
    /// Name of the application.
    name: String,
}

impl Keys<'_> {
    /// Checks a number of repetitions, which may be absent only if the flow has a duration.
    fn number(&self, key: &str, number: Option<u64>) -> Result<Option<u64>, Problem> {
        if number.is_none() && self.flow.duration.is_none() {
            let message = format!("has no {key:?}; write for example {key} = 10, or a duration");
            return Err(Problem::new([], message));
        }
        Ok(number)
    }

    /// Returns the bytes of a file of constant size.
    fn size(&self) -> Result<u64, Problem> {
        let size = self.flow.size.ok_or_else(|| missing("size"))?;
        let size = size.just("size", &self.name)?;
        within("size", &size, &(Size(1)..=MAX_BYTES), "").map(|()| size.0)
    }

    fn rate(&self) -> Result<u64, Problem> {
        Ok(self.flow.rate.ok_or_else(|| missing("rate"))?.0)
    }

    /// Returns the class of the messages, after a check that the flow has no key which the class
    /// replaces.
    fn source(&self) -> Result<Option<PythonClass>, Problem> {
        let flow = self.flow;
        let Some(class) = flow.source else {
            return Ok(None);
        };
        class.check().map_err(|problem| problem.within("source"))?;
        let replaced = [("rate", flow.rate.is_some()), ("size", flow.size.is_some())];
        match replaced.iter().find(|(_, written)| *written) {
            None => Ok(Some(class)),
            Some((key, _)) => {
                let message = "would be ignored: the class in source replaces it; remove it";
                Err(fault(key, message))
            }
        }
    }

    fn stream(&self) -> Result<StreamSpec, Problem> {
        let source = self.source()?;
        let (size, rate) = match source {
            Some(_) => (1, 1),
            None => (self.size()?, self.rate()?),
        };
        Ok(StreamSpec {
            messages: self.number("messages", self.flow.messages)?,
            size,
            rate,
            source,
        })
    }

    fn drawn(key: &str, time: Option<TimeDistribution>) -> Result<Option<Distribution>, Problem> {
        time.map(|time| time.distribution(key)).transpose()
    }

    fn needed(key: &str, time: Option<TimeDistribution>) -> Result<Distribution, Problem> {
        Self::drawn(key, time)?.ok_or_else(|| missing(key))
    }

    fn http(&self) -> Result<HttpSpec, Problem> {
        let flow = self.flow;
        let pages = self.number("pages", flow.pages)?;
        let think_time = flow.think_time.unwrap_or(TimeDistribution::Just(ZERO));
        let think_time = think_time.just("think_time", &self.name)?;
        within("think_time", &think_time, &(ZERO..=Time(LONGEST_RUN)), "")?;
        Ok(HttpSpec {
            pages,
            page_interval: flow.page_interval().0,
            think_time: think_time.0,
            request: flow.request().0,
            main_object: flow.main_object().0,
            inline_objects: flow.inline_objects(),
            inline_object: flow.inline_object().0,
            connections: flow.connections(),
            pipelining: flow.pipelining(),
        })
    }

    fn web(&self) -> Result<WebSpec, Problem> {
        let flow = self.flow;
        let size = flow.size.ok_or_else(|| missing("size"));
        Ok(WebSpec {
            files: self.number("files", flow.files)?,
            size: size?.distribution("size")?,
            think_time: Self::needed("think_time", flow.think_time)?,
            request: flow.request().0,
            connections: flow.connections(),
        })
    }

    fn udp(&self) -> Result<UdpSpec, Problem> {
        let flow = self.flow;
        let on_off = match flow.app {
            AppName::Onoff => Some(on_and_off(
                &Self::needed("on", flow.on)?,
                &Self::needed("off", flow.off)?,
            )?),
            _ => None,
        };
        let source = self.source()?;
        Ok(UdpSpec {
            rate: if source.is_some() { 1 } else { self.rate()? },
            source,
            packet: flow.packet().0 as u32,
            on_off,
            datagrams: self.number("datagrams", flow.datagrams)?,
            duration: flow.duration.map(|time| time.0),
        })
    }

    fn xtp(&self) -> Result<XtpSpec, Problem> {
        let (size, rate) = (self.size()?, self.rate()?);
        let (packet, window) = (self.flow.packet(), self.flow.window());
        within("packet", &packet, &(Size(1)..=XTP_MAX_DATA), "")?;
        if window < packet {
            let message = format!("= \"{window}\" has no room for a packet of \"{packet}\"");
            return Err(fault("window", message));
        }
        Ok(XtpSpec {
            size,
            rate,
            burst: self.flow.burst.unwrap_or(packet).0,
            packet: packet.0 as u32,
            window: window.0,
            sreq_every: self.flow.sreq_every(),
        })
    }

    fn conversation(&self) -> Result<ConversationSpec, Problem> {
        let flow = self.flow;
        let size = flow.size.map(|size| size.distribution("size"));
        Ok(ConversationSpec {
            protocol: protocol(flow.app),
            conversations: self.number("conversations", flow.conversations)?,
            arrivals: Self::needed("arrivals", flow.arrivals)?,
            typing: Self::drawn("typing", flow.typing)?,
            keystrokes: Self::drawn("keystrokes", flow.keystrokes)?,
            size: size.transpose()?,
            items: flow.items,
            turns: flow.turns.unwrap_or(0),
        })
    }
}

/// Returns the application of a flow.
pub(super) fn app(flow: &FlowSpec) -> Result<App, Problem> {
    if flow.app.is_udp() {
        traffic::no_tcp(flow)?;
    }
    flow.check_keys()?;
    traffic::check_opener(flow)?;
    let mut flow = flow.clone();
    flow.fill();
    let name = flow.app.name();
    let keys = Keys { flow: &flow, name };
    Ok(match flow.app {
        AppName::File => App::File {
            size: keys.size()?,
            reverse: flow.reverse().0,
        },
        AppName::Bulk if flow.duration.is_none() => return Err(missing("duration")),
        AppName::Bulk => App::Bulk,
        AppName::Http => App::Http(keys.http()?),
        AppName::Repeat => App::Repeat(RepeatSpec {
            files: keys.number("files", flow.files)?,
            interval: flow.interval().0,
            size: keys.size()?,
        }),
        AppName::Stream => App::Stream(keys.stream()?),
        AppName::Web => App::Web(keys.web()?),
        AppName::Cbr | AppName::Onoff => App::Udp(keys.udp()?),
        AppName::Xtp => App::Xtp(keys.xtp()?),
        AppName::Telnet | AppName::Rlogin | AppName::Smtp | AppName::Nntp | AppName::Ftp => {
            App::Conversation(keys.conversation()?)
        }
    })
}

/// Checks the distributions of on-times and off-times. A constant on-time must be above 0 s.
fn on_and_off(
    on: &Distribution,
    off: &Distribution,
) -> Result<(Distribution, Distribution), Problem> {
    if *on == Distribution::Constant(0.0) {
        return Err(fault(
            "on",
            "= \"0 s\" is no time; write for example \"1 s\"",
        ));
    }
    Ok((*on, *off))
}

fn protocol(app: AppName) -> Protocol {
    match app {
        AppName::Smtp => Protocol::Smtp,
        AppName::Nntp => Protocol::Nntp,
        AppName::Ftp => Protocol::Ftp,
        _ => Protocol::Telnet,
    }
}
