//! What flows carry: the keys of each application, checked.

use farlink_tcp::time::Interval;
use serde_json::json;

use super::checks::{LONGEST_RUN, at_most, out_of_range};
use super::decode::Problem;
use super::distribution::{SizeDistribution, TimeDistribution};
use super::spec::{AppName, Connections, FlowSpec, Opener};
use super::traffic::{self, ConversationSpec, UdpSpec, WebSpec, missing};
use super::tree::Step;
use super::units::{Size, Time};

/// Largest number of bytes that is asked for at once.
const MOST_BYTES: Size = Size(1 << 50);
/// Most pages, files or objects.
const MOST: u64 = 1_000_000;

/// What an application carries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum App {
    /// A file, and one the other way at the same time.
    File {
        /// Bytes from `from` to `to`.
        size: u64,
        /// Bytes from `to` to `from`.
        reverse: u64,
    },
    /// As much as goes through.
    Bulk {
        /// From the start of the flow.
        duration: Interval,
    },
    /// Pages.
    Http(HttpSpec),
    /// The same file again and again.
    Repeat(RepeatSpec),
    /// Files of drawn sizes with pauses between them.
    Web(WebSpec),
    /// Conversations.
    Conversation(ConversationSpec),
    /// Datagrams: no TCP.
    Udp(UdpSpec),
}

/// Pages of a main object with objects in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HttpSpec {
    /// How many; without it until `duration` is over.
    pub pages: Option<u64>,
    /// From the start of the flow.
    pub duration: Option<Interval>,
    /// From one page's being asked for to the next one's.
    pub page_interval: Interval,
    /// Least time from a page's being there to the next.
    pub think_time: Interval,
    /// Bytes of a request.
    pub request: u64,
    /// Bytes of the object that is asked for first.
    pub main_object: u64,
    /// Objects that are asked for when it is there.
    pub inline_objects: u32,
    /// Bytes of each.
    pub inline_object: u64,
    /// What connections carry them.
    pub connections: Connections,
    /// Whether the inline objects are asked for all at once.
    pub pipelining: bool,
}

/// Files one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepeatSpec {
    /// How many; without it until `duration` is over.
    pub files: Option<u64>,
    /// From the start of the flow.
    pub duration: Option<Interval>,
    /// From one SYN to the next.
    pub interval: Interval,
    /// Bytes of each.
    pub size: u64,
}

impl App {
    /// When it is stopped, after its start.
    pub fn duration(&self) -> Option<Interval> {
        match *self {
            Self::File { .. } => None,
            Self::Bulk { duration } => Some(duration),
            Self::Http(spec) => spec.duration,
            Self::Repeat(spec) => spec.duration,
            Self::Web(spec) => spec.duration,
            Self::Conversation(spec) => spec.duration,
            Self::Udp(spec) => spec.duration,
        }
    }
}

impl AppName {
    /// Whether it sends datagrams, and so has no TCP.
    pub(super) fn is_udp(self) -> bool {
        matches!(self, Self::Cbr | Self::Onoff)
    }

    /// As it is written.
    pub(super) fn name(self) -> String {
        json!(self).as_str().unwrap_or_default().to_owned()
    }
}

/// How the values of keys are checked.
pub(super) struct Keys<'a> {
    app: &'a str,
    pub(super) duration: Option<Interval>,
}

impl Keys<'_> {
    fn one_size(
        &self,
        key: &str,
        size: Option<SizeDistribution>,
        least: u64,
    ) -> Result<u64, Problem> {
        let size = size.map(|size| size.just(key, self.app)).transpose()?;
        size_of(key, size, least)
    }

    fn one_time(&self, key: &str, time: Option<TimeDistribution>) -> Result<Interval, Problem> {
        let time = time.map(|time| time.just(key, self.app)).transpose()?;
        time_of(key, time)
    }

    /// Something that is done so many times, or as often as fits in `duration`.
    pub(super) fn number(
        &self,
        key: &str,
        number: Option<u64>,
        least: u64,
    ) -> Result<Option<u64>, Problem> {
        self.most(key, number, least, MOST)
    }

    /// The same, up to another number.
    pub(super) fn most(
        &self,
        key: &str,
        number: Option<u64>,
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, Problem> {
        match number {
            Some(n) if !(least..=most).contains(&n) => {
                let says = format!("{n} is out of range; write {least} to {most}");
                Err(out_of_range([Step::from(key)], &says))
            }
            None if self.duration.is_none() => Err(missing(key)),
            number => Ok(number),
        }
    }
}

pub(super) fn size_of(key: &str, size: Option<Size>, least: u64) -> Result<u64, Problem> {
    let size = size.ok_or_else(|| missing(key))?;
    if size < Size(least) || size > MOST_BYTES {
        let says = format!("\"{size}\" is out of range; write {least} B to {MOST_BYTES} (1 PiB)");
        return Err(out_of_range([Step::from(key)], &says));
    }
    Ok(size.0)
}

fn time_of(key: &str, time: Option<Time>) -> Result<Interval, Problem> {
    let time = time.ok_or_else(|| missing(key))?;
    at_most(key, time, LONGEST_RUN)?;
    Ok(time.0)
}

/// The application of a flow.
pub(super) fn app(flow: &FlowSpec) -> Result<App, Problem> {
    flow.check_keys()?;
    let written = flow;
    let mut flow = flow.clone();
    flow.fill_app();
    let mut keys = Keys {
        app: &flow.app.name(),
        duration: None,
    };
    let duration = flow.duration.map(|t| time_of("duration", Some(t)));
    let duration = duration.transpose()?;
    if duration.is_some_and(Interval::is_zero) {
        return Err(out_of_range(
            [Step::from("duration")],
            "\"0 s\" is no time; write \"10 s\"",
        ));
    }
    keys.duration = duration;
    Ok(match flow.app {
        AppName::File => App::File {
            size: keys.one_size("size", flow.size, 1)?,
            reverse: size_of("reverse", flow.reverse, 0)?,
        },
        AppName::Bulk => App::Bulk {
            duration: duration.ok_or_else(|| missing("duration"))?,
        },
        AppName::Http => {
            if flow.opens == Some(Opener::Sender) {
                let says = "= \"sender\" is wrong for app = \"http\": its client opens the \
                            connections; write \"receiver\"";
                return Err(Problem::new([Step::from("opens")], says));
            }
            let inline = flow.inline_objects.unwrap_or(0);
            keys.number("inline_objects", Some(inline.into()), 0)?;
            App::Http(HttpSpec {
                pages: keys.number("pages", flow.pages, 1)?,
                duration,
                page_interval: time_of("page_interval", flow.page_interval)?,
                think_time: keys.one_time("think_time", flow.think_time)?,
                request: size_of("request", flow.request, 1)?,
                main_object: size_of("main_object", flow.main_object, 1)?,
                inline_objects: inline,
                inline_object: size_of("inline_object", flow.inline_object, 1)?,
                connections: flow.connections.unwrap_or_default(),
                pipelining: flow.pipelining.unwrap_or(true),
            })
        }
        AppName::Repeat => App::Repeat(RepeatSpec {
            files: keys.number("files", flow.files, 1)?,
            duration,
            interval: time_of("interval", flow.interval)?,
            size: keys.one_size("size", flow.size, 1)?,
        }),
        _ => {
            // Who opens is checked as it was written.
            flow.opens = written.opens;
            traffic::app(&flow, &keys)?
        }
    })
}

impl FlowSpec {
    /// Spells out the defaults of its application.
    pub(super) fn fill_app(&mut self) {
        self.fill();
        let seconds = |s| Time(Interval::from_secs(s));
        let mut opener = Some(Opener::Sender);
        match self.app {
            AppName::File => {
                self.reverse.get_or_insert(Size(0));
            }
            AppName::Bulk => {}
            AppName::Http => {
                opener = Some(Opener::Receiver);
                self.page_interval.get_or_insert(seconds(30));
                self.think_time
                    .get_or_insert(TimeDistribution::Just(seconds(0)));
                self.request.get_or_insert(Size(300));
                self.main_object.get_or_insert(Size(10_710));
                self.inline_objects.get_or_insert(15);
                self.inline_object.get_or_insert(Size(7_758));
                self.connections.get_or_insert_default();
                self.pipelining.get_or_insert(true);
            }
            AppName::Repeat => {
                self.interval.get_or_insert(seconds(0));
            }
            _ => opener = traffic::fill(self),
        }
        self.opens = self.opens.or(opener);
    }
}
