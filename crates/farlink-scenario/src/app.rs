//! Applications of flows: the keys of each application, checked.

use farlink_tcp::time::Interval;
use serde_json::json;

use super::checks::{LONGEST_RUN, ZERO, fault};
use super::decode::Problem;
use super::distribution::TimeDistribution;
use super::flow::{AppName, Connections, FlowSpec, MOST_BYTES};
use super::table::within;
use super::traffic::{self, ConversationSpec, Protocol, UdpSpec, WebSpec, XtpSpec, missing};
use super::units::{Size, Time};
use farlink_channel::distribution::Distribution;

/// Most data in a packet of XTP: the longest datagram minus the header and the extra fields of the
/// first packet.
const XTP_MOST_DATA: Size = Size(65_507 - 56);

/// Application of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum App {
    /// A file, and another one in the other direction at the same time.
    File {
        /// Bytes from `from` to `to`.
        size: u64,
        /// Bytes from `to` to `from`.
        reverse: u64,
    },
    /// As much as goes through.
    Bulk,
    /// Pages.
    Http(HttpSpec),
    /// Repeated file.
    Repeat(RepeatSpec),
    /// Messages at a constant rate.
    Stream(StreamSpec),
    /// Files of random sizes with pauses between them.
    Web(WebSpec),
    /// Conversations.
    Conversation(ConversationSpec),
    /// Datagrams: no TCP.
    Udp(UdpSpec),
    /// A file over an XTP-like transport, in datagrams: no TCP.
    Xtp(XtpSpec),
}

/// Pages, each with a main object and objects in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HttpSpec {
    /// Number of pages; None until `duration` is over.
    pub pages: Option<u64>,
    /// Time from the request of one page to the request of the next.
    pub page_interval: Interval,
    /// Least time from the end of one page to the request of the next.
    pub think_time: Interval,
    /// Bytes of a request.
    pub request: u64,
    /// Bytes of the main object, which is requested first.
    pub main_object: u64,
    /// Number of objects that are requested when the main object has arrived.
    pub inline_objects: u32,
    /// Bytes of each.
    pub inline_object: u64,
    /// Connections of the pages.
    pub connections: Connections,
    /// Whether all inline objects are requested at once.
    pub pipelining: bool,
}

/// Files one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepeatSpec {
    /// Number of files; None until `duration` is over.
    pub files: Option<u64>,
    /// Time from one SYN to the next.
    pub interval: Interval,
    /// Bytes of each.
    pub size: u64,
}

/// Messages one after the other on one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamSpec {
    /// Number of messages; None until the flow is stopped.
    pub messages: Option<u64>,
    /// Bytes of each.
    pub size: u64,
    /// Bits per second.
    pub rate: u64,
}

impl AppName {
    /// Returns whether the application sends datagrams, and so has no TCP.
    pub(super) fn is_udp(self) -> bool {
        matches!(self, Self::Cbr | Self::Onoff | Self::Xtp)
    }

    /// As it is written.
    pub(super) fn name(self) -> String {
        json!(self).as_str().unwrap_or_default().to_owned()
    }
}

/// Keys of a flow, with the checks that applications need.
struct Keys<'a> {
    flow: &'a FlowSpec,
    /// Name of the application.
    name: String,
}

impl Keys<'_> {
    /// Returns a number of repetitions; None for as many as fit in `duration`.
    fn number(&self, key: &str, number: Option<u64>) -> Result<Option<u64>, Problem> {
        if number.is_none() && self.flow.duration.is_none() {
            let message = format!("has no {key:?}; write for example {key} = 10, or a duration");
            return Err(Problem::new([], message));
        }
        Ok(number)
    }

    /// Returns the bytes of a file of fixed size.
    fn size(&self) -> Result<u64, Problem> {
        let size = self.flow.size.ok_or_else(|| missing("size"))?;
        let size = size.just("size", &self.name)?;
        within("size", &size, &(Size(1)..=MOST_BYTES), "").map(|()| size.0)
    }

    fn rate(&self) -> Result<u64, Problem> {
        Ok(self.flow.rate.ok_or_else(|| missing("rate"))?.0)
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
        Ok(UdpSpec {
            rate: self.rate()?,
            packet: flow.packet().0 as u32,
            on_off,
            datagrams: self.number("datagrams", flow.datagrams)?,
            duration: flow.duration.map(|time| time.0),
        })
    }

    fn xtp(&self) -> Result<XtpSpec, Problem> {
        let (size, rate) = (self.size()?, self.rate()?);
        let (packet, window) = (self.flow.packet(), self.flow.window());
        within("packet", &packet, &(Size(1)..=XTP_MOST_DATA), "")?;
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

/// The application of a flow.
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
        AppName::Stream => App::Stream(StreamSpec {
            messages: keys.number("messages", flow.messages)?,
            size: keys.size()?,
            rate: keys.rate()?,
        }),
        AppName::Web => App::Web(keys.web()?),
        AppName::Cbr | AppName::Onoff => App::Udp(keys.udp()?),
        AppName::Xtp => App::Xtp(keys.xtp()?),
        AppName::Telnet | AppName::Rlogin | AppName::Smtp | AppName::Nntp | AppName::Ftp => {
            App::Conversation(keys.conversation()?)
        }
    })
}

/// Reads the times of sending and of silence; the time of sending is above 0.
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
