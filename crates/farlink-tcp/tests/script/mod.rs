//! Packet scripts: their contents, parsing and execution.
//!
//! The notation is described in docs/packet-scripts.md.

pub(crate) mod options;
pub(crate) mod packet;
mod parse;
mod refusals;
pub(crate) mod run;

pub(crate) use parse::parse;
pub(crate) use refusals::refusals;
pub(crate) use run::run;

use farlink_tcp::{Config, Interval, IpVersion, LossCause};
use packet::Packet;
use std::fmt;

/// A script: one endpoint, and timed events and expectations.
#[derive(Debug)]
pub(crate) struct Script {
    config: Config,
    /// Our initial sequence number, and the peer's.
    isn: u32,
    peer_isn: u32,
    /// Fast Open cookie that our host grants or has cached for the peer, and the MSS cached with
    /// it.
    cookie: Option<u64>,
    cookie_mss: u16,
    /// Tolerance of send times.
    tolerance: Interval,
    lines: Vec<Line>,
}

/// A timed line.
#[derive(Debug)]
struct Line {
    number: usize,
    /// Text of the line, for messages.
    text: String,
    time: Time,
    step: Step,
}

/// Time of a line.
#[derive(Clone, Copy, Debug)]
enum Time {
    /// Interval after the previous line.
    After(Interval),
    /// Interval after the start of the script.
    At(Interval),
}

/// Action of a line.
#[derive(Debug)]
enum Step {
    /// An active open, with a number of bytes written before the SYN is sent.
    Connect {
        bytes: u64,
    },
    Listen,
    /// An active open that succeeds, with the options the endpoint offers
    /// echoed; the packets are checked but not written.
    Handshake {
        rtt: Interval,
        window: u16,
    },
    /// `<`: a packet arrives.
    Inject(Packet),
    /// `>`: a packet leaves.
    Expect(Packet),
    /// A packet arrives whose checksum fails.
    Damaged(Packet),
    /// Notice from the network that a packet of the peer was lost.
    Lost(LossCause, Packet),
    /// Bad-state message of a base station, and whether it must be believed.
    BadState {
        seq: u32,
        believed: bool,
    },
    /// Path MTU from a router, and whether it must lower the MSS.
    PathMtu {
        mtu: u32,
        ip: IpVersion,
        believed: bool,
    },
    /// The application writes a number of bytes, and a number of them must be accepted.
    Write {
        bytes: u64,
        taken: u64,
    },
    /// The application reads up to a number of bytes; `None` reads all.
    Read {
        bytes: Option<u64>,
    },
    /// Closes the sending direction only.
    Shutdown,
    /// Closes both directions.
    Close,
    Abort,
    Assert(Vec<Check>),
    /// The next event, in the form of its `Debug` output.
    Event(String),
}

/// `key relation value` of an assertion.
#[derive(Debug)]
struct Check {
    key: String,
    relation: Relation,
    value: String,
}

#[derive(Clone, Copy, Debug)]
enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Relation {
    fn holds(self, a: u64, b: u64) -> bool {
        match self {
            Self::Eq => a == b,
            Self::Ne => a != b,
            Self::Lt => a < b,
            Self::Le => a <= b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
        }
    }
}

/// Failure of a script, with its line.
#[derive(Debug)]
pub(crate) struct Failure {
    line: usize,
    message: String,
}

impl Failure {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
        }
    }

    /// Formats the failure as `path:line: message`.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{path}:{}: {}", self.line, self.message)
    }
}

/// A time in seconds with as many digits as it needs.
struct Seconds(Interval);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos();
        let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        let text = text.trim_end_matches('0');
        write!(f, "{}", text.strip_suffix('.').unwrap_or(text))
    }
}
