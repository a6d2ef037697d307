//! The words and numbers that choose on the axes of a TCP.

use std::fmt;

use farlink_tcp::Interval;
use farlink_tcp::config::{
    Backoff, ByteCounting, Careful, DummyReply, InitialWindow, Nagle, NewRenoExit, PrrBound,
    Recovery, ReduceFrom, RtoAlgorithm, Sampling, Undo, WindowScale,
};
use farlink_tcp::profile::{self, Profile};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

use super::units::{Scalar, Time};

/// Makes the names of the choices of an axis.
macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $text:literal $choice:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$about])* #[serde(rename = $text)] $choice,)*
        }
    };
}

names!(
    /// Choices of `recovery`.
    RecoveryName {
        /// Time-outs only, then everything again (RFC 793).
        "go-back-n" GoBackN,
        /// Fast retransmit, then slow start (Jacobson 1988).
        "tahoe" Tahoe,
        /// Fast recovery, ended by the first new ACK (RFC 2581).
        "reno" Reno,
        /// Reno with an exact clock for each segment (Brakmo and Peterson 1995).
        "vegas" Vegas,
        /// What SNACK names, beside the clocks of Vegas (CCSDS 714.0-B).
        "snack" Snack,
        /// Partial ACKs; the timer is reset at each (RFC 6582).
        "newreno" NewReno,
        /// Partial ACKs; the timer is reset at the first only (RFC 6582).
        "newreno-impatient" NewRenoImpatient,
        /// Scoreboard and pipe (RFC 6675).
        "sack" Sack,
    }
);
names!(
    /// Choices of `profile`.
    ProfileName {
        /// The rows as they are: the letter of the standards and of the studies.
        "rfc" Rfc,
        /// A current Linux kernel with the settings that it comes with.
        "linux" Linux,
        /// The base stack of a current FreeBSD with the settings that it comes with.
        "freebsd" FreeBsd,
    }
);
names!(
    /// Choices of `careful`.
    CarefulName {
        /// Fast retransmit when the ACK covers at least `recover` (RFC 2582, 5).
        "less" Less,
        /// Only when it covers more (RFC 6582, 3.2).
        "plain" Plain,
        /// With the ACK heuristic (RFC 6582, 4.1).
        "ack" Ack,
        /// With the timestamp heuristic (RFC 6582, 4.2).
        "timestamp" Timestamp,
    }
);
names!(
    /// Choices of `newreno_exit`.
    NewRenoExitName {
        /// min(ssthresh, max(FlightSize, SMSS) + SMSS): option 1 of RFC 6582.
        "flight" FlightSize,
        /// min(ssthresh, FlightSize + SMSS), as RFC 3782 has it.
        "flight-rfc3782" FlightSizeRfc3782,
        /// ssthresh: option 2, as after Reno's fast recovery.
        "ssthresh" Ssthresh,
    }
);
names!(
    /// Choices of `prr_bound`.
    PrrBoundName {
        /// What was delivered; a segment more at ACKs of new data that show no
        /// further loss (RFC 9937).
        "safe-ack" SafeAck,
        /// Never more than was delivered (RFC 6937, PRR-CRB).
        "conservative" Conservative,
        /// A segment more at each ACK (RFC 6937, PRR-SSRB).
        "slow-start" SlowStart,
    }
);
names!(
    /// Choices of `reduce_from`.
    ReduceName {
        /// Sent and not cumulatively acknowledged (RFC 5681, 3.1; RFC 6675, 5).
        "flight" Flight,
        /// The same to the letter, also where it is more than the congestion window.
        "flight-unbounded" Unbounded,
        /// Of that, neither SACKed nor presumed lost.
        "pipe" Pipe,
        /// The congestion window (4.3BSD, Linux).
        "cwnd" Cwnd,
    }
);
names!(
    /// Choices of `cwnd_limit`.
    CwndLimitName {
        /// Nothing bounds it (RFC 5681).
        "none" None,
        /// The largest window that the peer ever offered.
        "receive-window" ReceiveWindow,
    }
);
names!(
    /// Choices of `fast_open`.
    FastOpenName {
        /// Not used.
        "off" Off,
        /// The first connection of a host to another asks for a cookie, later ones of
        /// any flow have it.
        "request" Request,
        /// The hosts have met before: the first connection has it, too.
        "cookie" Cookie,
    }
);
names!(
    /// Choices of `ack_gap_fill`.
    GapFillName {
        /// At once (RFC 5681, 4.2).
        "immediate" Immediate,
        /// As a segment in order is, by count and delay (Wong 1998, figure 4.3).
        "delayed" Delayed,
    }
);
names!(
    /// Choices of `dup_acks`.
    DupAckName {
        /// At once (RFC 5681, 4.2).
        "immediate" Immediate,
        /// As a segment in order is, by count and delay, so that a hole may be filled
        /// before it is told of (Leung 1998, 4.6.2).
        "delayed" Delayed,
    }
);
names!(
    /// Choices of `dummies`.
    DummyReplyName {
        /// An ACK that is marked as they are, of their class.
        "echo" Echo,
        /// Nothing.
        "ignore" Ignore,
        /// They are not known: they are data that came before, and it is said so.
        "plain" Plain,
    }
);
names!(
    /// Choices of `timer`.
    TimerName {
        /// beta SRTT (RFC 793, 3.7).
        "rfc793" Rfc793,
        /// Mean and deviation (Jacobson 1988).
        "jacobson" Jacobson,
        /// SRTT + max(G, 4 RTTVAR) (RFC 6298).
        "rfc6298" Rfc6298,
        /// SRTT + the greatest of max(`rto_min`, 4 RTTVAR) of the last round trip,
        /// falling by a quarter a round trip (Sarolahti and Kuznetsov 2002, 4).
        "linux" Linux,
    }
);
names!(
    /// Choices of `backoff`.
    BackoffName {
        /// Doubles, up to `rto_max`.
        "exponential" Exponential,
        /// Stays as it is.
        "none" None,
    }
);
names!(
    /// Choices of `sampling`.
    SamplingName {
        /// One segment at a time.
        "one-per-rtt" OnePerRtt,
        /// Every segment.
        "every-segment" EverySegment,
    }
);

impl RecoveryName {
    pub(super) fn of(value: Recovery) -> Self {
        match value {
            Recovery::GoBackN => Self::GoBackN,
            Recovery::Tahoe => Self::Tahoe,
            Recovery::Reno => Self::Reno,
            Recovery::Vegas { .. } => Self::Vegas,
            Recovery::Snack { .. } => Self::Snack,
            Recovery::NewReno {
                impatient: false, ..
            } => Self::NewReno,
            Recovery::NewReno {
                impatient: true, ..
            } => Self::NewRenoImpatient,
            Recovery::Sack { .. } => Self::Sack,
        }
    }
}

impl CarefulName {
    pub(super) fn of(value: Careful) -> Self {
        match value {
            Careful::Less => Self::Less,
            Careful::Plain => Self::Plain,
            Careful::AckHeuristic => Self::Ack,
            Careful::TimestampHeuristic => Self::Timestamp,
        }
    }

    pub(super) fn value(self) -> Careful {
        match self {
            Self::Less => Careful::Less,
            Self::Plain => Careful::Plain,
            Self::Ack => Careful::AckHeuristic,
            Self::Timestamp => Careful::TimestampHeuristic,
        }
    }
}

impl NewRenoExitName {
    pub(super) fn of(value: NewRenoExit) -> Self {
        match value {
            NewRenoExit::FlightSize => Self::FlightSize,
            NewRenoExit::FlightSizeRfc3782 => Self::FlightSizeRfc3782,
            NewRenoExit::Ssthresh => Self::Ssthresh,
        }
    }

    pub(super) fn value(self) -> NewRenoExit {
        match self {
            Self::FlightSize => NewRenoExit::FlightSize,
            Self::FlightSizeRfc3782 => NewRenoExit::FlightSizeRfc3782,
            Self::Ssthresh => NewRenoExit::Ssthresh,
        }
    }
}

impl ReduceName {
    pub(super) fn of(value: ReduceFrom) -> Self {
        match value {
            ReduceFrom::FlightSize => Self::Flight,
            ReduceFrom::FlightSizeUnbounded => Self::Unbounded,
            ReduceFrom::Pipe => Self::Pipe,
            ReduceFrom::Cwnd => Self::Cwnd,
        }
    }

    pub(super) fn value(self) -> ReduceFrom {
        match self {
            Self::Flight => ReduceFrom::FlightSize,
            Self::Unbounded => ReduceFrom::FlightSizeUnbounded,
            Self::Pipe => ReduceFrom::Pipe,
            Self::Cwnd => ReduceFrom::Cwnd,
        }
    }
}

impl PrrBoundName {
    pub(super) fn of(value: PrrBound) -> Self {
        match value {
            PrrBound::SafeAck => Self::SafeAck,
            PrrBound::Conservative => Self::Conservative,
            PrrBound::SlowStart => Self::SlowStart,
        }
    }

    pub(super) fn value(self) -> PrrBound {
        match self {
            Self::SafeAck => PrrBound::SafeAck,
            Self::Conservative => PrrBound::Conservative,
            Self::SlowStart => PrrBound::SlowStart,
        }
    }
}

impl DummyReplyName {
    pub(super) fn of(value: DummyReply) -> Self {
        match value {
            DummyReply::Echo => Self::Echo,
            DummyReply::Ignore => Self::Ignore,
            DummyReply::Plain => Self::Plain,
        }
    }

    pub(super) fn value(self) -> DummyReply {
        match self {
            Self::Echo => DummyReply::Echo,
            Self::Ignore => DummyReply::Ignore,
            Self::Plain => DummyReply::Plain,
        }
    }
}

impl ProfileName {
    pub(super) fn of(profile: &Profile) -> Option<Self> {
        let known = [Self::Rfc, Self::Linux, Self::FreeBsd];
        known
            .into_iter()
            .find(|name| name.value().name == profile.name)
    }

    pub(super) fn value(self) -> &'static Profile {
        match self {
            Self::Rfc => &profile::RFC,
            Self::Linux => &profile::LINUX,
            Self::FreeBsd => &profile::FREEBSD,
        }
    }
}

impl TimerName {
    pub(super) fn of(value: RtoAlgorithm) -> Self {
        match value {
            RtoAlgorithm::Rfc793 { .. } => Self::Rfc793,
            RtoAlgorithm::Jacobson { .. } => Self::Jacobson,
            RtoAlgorithm::Rfc6298 { .. } => Self::Rfc6298,
            RtoAlgorithm::Linux => Self::Linux,
        }
    }
}

impl BackoffName {
    pub(super) fn of(value: Backoff) -> Self {
        match value {
            Backoff::Exponential => Self::Exponential,
            Backoff::None => Self::None,
        }
    }

    pub(super) fn value(self) -> Backoff {
        match self {
            Self::Exponential => Backoff::Exponential,
            Self::None => Backoff::None,
        }
    }
}

impl SamplingName {
    pub(super) fn of(value: Sampling) -> Self {
        match value {
            Sampling::OnePerRtt => Self::OnePerRtt,
            Sampling::EverySegment => Self::EverySegment,
        }
    }

    pub(super) fn value(self) -> Sampling {
        match self {
            Self::OnePerRtt => Sampling::OnePerRtt,
            Self::EverySegment => Sampling::EverySegment,
        }
    }
}

pub(super) use names;

/// Makes a type whose values are a word or something else.
macro_rules! word_or {
    ($(#[$doc:meta])* $name:ident($inner:ty), $title:literal, $schema:tt, $read:expr, $write:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name(pub $inner);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let write: fn(&$inner) -> Scalar = $write;
                match write(&self.0) {
                    Scalar::Bool(b) => serializer.serialize_bool(b),
                    Scalar::Integer(n) => serializer.serialize_u64(n as u64),
                    Scalar::Float(x) => serializer.serialize_f64(x),
                    Scalar::Text(s) => serializer.serialize_str(&s),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let written = Scalar::deserialize(deserializer)?;
                let read: fn(&Scalar) -> Option<$inner> = $read;
                read(&written).map(Self).ok_or_else(|| {
                    D::Error::custom(format!(concat!("= {} is wrong; write ", $title), written))
                })
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "title": $title, "anyOf": $schema })
            }
        }
    };
}

fn word(text: impl fmt::Display) -> Scalar {
    Scalar::Text(text.to_string())
}

word_or!(
    /// Value of `window_scale`.
    Scale(WindowScale),
    "\"auto\", \"off\" or a shift from 0 to 14",
    [{ "enum": ["auto", "off"] }, { "type": "integer", "minimum": 0, "maximum": 14 }],
    |written| match written {
        Scalar::Text(text) if text == "auto" => Some(WindowScale::Auto),
        Scalar::Text(text) if text == "off" => Some(WindowScale::Off),
        Scalar::Integer(n @ 0..=14) => Some(WindowScale::Shift(*n as u8)),
        _ => None,
    },
    |value| match value {
        WindowScale::Auto => word("auto"),
        WindowScale::Off => word("off"),
        WindowScale::Shift(n) => Scalar::Integer((*n).into()),
    }
);
word_or!(
    /// Value of `nagle`; `None` is the rule of the variant's row.
    NagleRule(Option<Nagle>),
    "\"off\" (or false), \"rfc896\", \"minshall\", or true for what the variant does",
    [{ "enum": ["off", "rfc896", "minshall"] }, { "type": "boolean" }],
    |written| match written {
        Scalar::Bool(true) => Some(None),
        Scalar::Bool(false) => Some(Some(Nagle::Off)),
        Scalar::Text(text) => match text.as_str() {
            "off" => Some(Some(Nagle::Off)),
            "rfc896" => Some(Some(Nagle::Rfc896)),
            "minshall" => Some(Some(Nagle::Minshall)),
            _ => None,
        },
        _ => None,
    },
    |value| match value {
        None => Scalar::Bool(true),
        Some(Nagle::Off) => word("off"),
        Some(Nagle::Rfc896) => word("rfc896"),
        Some(Nagle::Minshall) => word("minshall"),
    }
);
word_or!(
    /// Value of `delayed_ack`; `None` is "off".
    AckDelay(Option<Interval>),
    "a time such as \"200 ms\", or \"off\"",
    [{ "const": "off" }, { "type": "string" }],
    |written| match written {
        Scalar::Text(text) if text == "off" => Some(None),
        other => match Time::read(other) {
            Ok(Time(Interval::ZERO)) | Err(_) => None,
            Ok(time) => Some(Some(time.0)),
        },
    },
    |value| value.map_or_else(|| word("off"), |delay| word(Time(delay)))
);
word_or!(
    /// Value of `byte_counting`.
    Counting(ByteCounting),
    "\"off\", a number of segments from 1 to 1000, or \"unlimited\"",
    [{ "enum": ["off", "unlimited"] }, { "type": "integer", "minimum": 1, "maximum": 1000 }],
    |written| match written {
        Scalar::Text(text) if text == "off" => Some(ByteCounting::Off),
        Scalar::Text(text) if text == "unlimited" => Some(ByteCounting::Unlimited),
        Scalar::Integer(n @ 1..=1000) => Some(ByteCounting::Limit(*n as u32)),
        _ => None,
    },
    |value| match value {
        ByteCounting::Off => word("off"),
        ByteCounting::Unlimited => word("unlimited"),
        ByteCounting::Limit(n) => Scalar::Integer((*n).into()),
    }
);
word_or!(
    /// Value of `initial_window`.
    StartWindow(InitialWindow),
    "a number of segments from 1 to 1000000, or \"rfc3390\"",
    [{ "const": "rfc3390" }, { "type": "integer", "minimum": 1, "maximum": 1_000_000 }],
    |written| match written {
        Scalar::Text(text) if text == "rfc3390" => Some(InitialWindow::Rfc3390),
        Scalar::Integer(n @ 1..=1_000_000) => Some(InitialWindow::Segments(*n as u32)),
        _ => None,
    },
    |value| match value {
        InitialWindow::Rfc3390 => word("rfc3390"),
        InitialWindow::Segments(n) => Scalar::Integer((*n).into()),
    }
);

/// The ways of `undo`, in the order in which they are written out.
const UNDO_WAYS: [(&str, Undo); 3] = [
    ("dsack", Undo::DSACK),
    ("eifel", Undo::EIFEL),
    ("frto", Undo::FRTO),
];

word_or!(
    /// Value of `undo`.
    UndoWays(Undo),
    "\"off\", \"dsack\", \"eifel\", \"frto\", or several as in \"dsack+frto\"",
    [{
        "type": "string",
        "pattern": "^(off|(dsack|eifel|frto)(\\+(dsack|eifel|frto))*)$"
    }],
    |written| match written {
        Scalar::Text(text) if text == "off" => Some(Undo::OFF),
        Scalar::Text(text) => text.split('+').try_fold(Undo::OFF, |undo, word| {
            let way = UNDO_WAYS.iter().find(|way| way.0 == word)?;
            Some(undo.and(way.1))
        }),
        _ => None,
    },
    |value| {
        let on = UNDO_WAYS.iter().filter(|way| value.and(way.1) == *value);
        let words: Vec<_> = on.map(|way| way.0).collect();
        word(if words.is_empty() { "off".to_owned() } else { words.join("+") })
    }
);
