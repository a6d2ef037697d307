//! Keys of the congestion window: initial value, bounds, growth.

use super::entry::{Idle, keys};
use super::value::{Field, Kind, LIMIT, Value, Word, words};
use crate::config::{ByteCounting, Config, CwndLimit, InitialWindow, Ratio, SavedPath};
use crate::congestion::{Input, Setting, SlowStartExit, uses_input};

words! { CWND_LIMIT: CwndLimit {
    /// No bound (RFC 5681).
    "none" None,
    /// Largest window that the peer ever offered.
    "receive-window" ReceiveWindow,
} }

words! { SLOW_STARTS: SlowStartExit {
    /// The congestion control's own rule.
    "standard" Standard,
    /// HyStart (Ha and Rhee 2011, as in Linux).
    "hystart" HyStart,
    /// HyStart++ (RFC 9406).
    "hystart++" HyStartPlusPlus,
    /// SEARCH (draft-chung-ccwg-search-09).
    "search" Search,
} }

const COUNTINGS: &[Word] = &[Word("off", ""), Word("acks", ""), Word("unlimited", "")];

impl Field for ByteCounting {
    fn value(&self) -> Value {
        match *self {
            Self::Off => Value::Choice("off"),
            Self::Acks => Value::Choice("acks"),
            Self::Unlimited => Value::Choice("unlimited"),
            Self::Limit(n) => Value::Count(n),
        }
    }

    fn of(value: Value) -> Self {
        match value {
            Value::Choice("off") => Self::Off,
            Value::Choice("acks") => Self::Acks,
            Value::Choice(_) => Self::Unlimited,
            limit => Self::Limit(u32::of(limit)),
        }
    }
}

const RFC3390: Word = Word("rfc3390", "");

impl Field for InitialWindow {
    fn value(&self) -> Value {
        match *self {
            Self::Rfc3390 => Value::Choice(RFC3390.0),
            Self::Segments(n) => Value::Count(n),
        }
    }

    fn of(value: Value) -> Self {
        match value {
            Value::Choice(_) => Self::Rfc3390,
            segments => Self::Segments(u32::of(segments)),
        }
    }
}

const OFF: Word = Word("off", "");

impl Field for Option<SavedPath> {
    fn value(&self) -> Value {
        self.map_or(Value::Choice(OFF.0), |saved| Value::Size(saved.cwnd))
    }

    fn of(value: Value) -> Self {
        match value {
            Value::Choice(_) => None,
            size => Some(SavedPath {
                cwnd: u64::of(size),
                ..SavedPath::default()
            }),
        }
    }
}

/// Declares the condition of keys that only congestion controls with this input use.
macro_rules! input {
    ($name:ident, $input:ident, $needs:expr) => {
        pub(super) const $name: Idle = Idle {
            counts: |c: &Config| uses_input(&c.congestion, Input::$input),
            needs: $needs,
        };
    };
}

const HAS_WINDOW: &str = "a congestion control that has a window, which \"none\" has not";
const USES: &str = "a congestion control that grows and ages by the use of its window, which \
                    \"none\" and bbr do not";
input!(WINDOW, Window, HAS_WINDOW);
input!(INITIAL_WINDOW, InitialWindow, HAS_WINDOW);
input!(
    SSTHRESH,
    InitialSsthresh,
    "a congestion control with a slow start that ends at a threshold, which \"none\" and bbr have \
     not"
);
input!(USE, WindowUse, USES);
input!(IDLE, IdleRestart, USES);
input!(
    PACED,
    Pacing,
    "a congestion control with a window and without a rate of its own, which \"none\" and bbr are \
     not"
);

const ENDS: Idle = Idle {
    counts: |c| c.congestion.algorithm().extras.slow_start.is_some(),
    needs: "a congestion control whose slow start another rule can end: reno, cubic, westwood, \
            westwood_plus, hybla, adalr, dctcp, prague, illinois or htcp",
};

const RESUMES: Idle = Idle {
    counts: |c| crate::congestion::can_resume(&c.congestion),
    needs: "a congestion control with a window that farlink has built in; for peach with \
            control.peach.sudden_start = false, because Sudden Start opens the window already",
};

const RELEASED: Idle = Idle {
    counts: |c| {
        let paces_itself = !uses_input(&c.congestion, Input::Pacing)
            || c.congestion
                .settings()
                .any(|(p, now)| p.name == "pacing" && now == Setting::Flag(true));
        c.window.pacing.is_some() || (uses_input(&c.congestion, Input::Window) && paces_itself)
    },
    needs: "pacing = true, or a congestion control with a rate of its own such as bbr",
};

const LOST: Idle = Idle {
    counts: |c| {
        let parameters = &mut c.congestion.settings();
        let scaled = parameters
            .any(|(p, now)| p.name == "scale_initial_window" && now == Setting::Flag(true));
        let single = c.window.initial == InitialWindow::Segments(1) && !scaled;
        uses_input(&c.congestion, Input::Window) && !single
    },
    needs: "a congestion control that has a window, which \"none\" has not, and more than a segment \
            of it at the start",
};

const RESUME: &str = "resume_cwnd";
const PACING: &str = "pacing = true";
const RATIO: Kind = Kind::Ratio(Ratio::new(1, 10), Ratio::new(10, 1));

keys! {
    /// Lets the congestion window grow only while it is used; if false, it grows at every ACK of
    /// new data (RFC 5681 to the letter). The window is used if it stopped the sender during the
    /// last window of data, or in slow start if at least half of it was in flight. This is the rule
    /// of Linux (`tcp_is_cwnd_limited`); the principle is that of RFC 2861, 3, and RFC 9002, 7.8.
    cwnd_validation: Kind::Flag => [window.cwnd_validation], idle USE;
    /// Upper bound of the congestion window, without recovery's inflation.
    cwnd_limit: Kind::Choice(CWND_LIMIT) => [window.cwnd_limit], idle USE;
    /// Spreads segments evenly over the round trip, at a multiple of window / SRTT, as Linux does
    /// with the qdisc fq. The first ten segments of a connection are not paced. BBR, and Hybla with
    /// its own key, pace at their own rates.
    pacing: Kind::Flag => {
        get |c| Some(c.window.pacing.is_some().value());
        set |c, v| c.window.pacing = bool::of(v).then(|| c.window.pacing.unwrap_or_default());
    }, idle PACED;
    /// The multiple while the window is below half the slow-start threshold (Linux:
    /// `tcp_pacing_ss_ratio`).
    pacing_ss_ratio: RATIO => (|c| c.window.pacing.as_mut().map(|p| &mut p.slow_start)), needs PACING, idle PACED;
    /// The multiple otherwise (Linux: `tcp_pacing_ca_ratio`).
    pacing_ca_ratio: RATIO => (|c| c.window.pacing.as_mut().map(|p| &mut p.avoidance)), needs PACING, idle PACED;
    /// Paced segments leave in super-packets, as from Linux with TSO (`tcp_tso_autosize`). A
    /// super-packet has the segments that the pacing rate sends in 1/1024 s, at least 2 segments
    /// and at most 64 KiB. Paths with a short round trip get larger super-packets. Without pacing,
    /// the segments that an ACK releases leave at once in any case.
    tso: Kind::Flag => [window.tso], idle RELEASED;
    /// Growth of the window per ACK. "off": at most one segment in slow start; MSS * MSS / cwnd in
    /// congestion avoidance, in whole bytes and at least one (RFC 5681). "acks": as "off", with
    /// fractions of a byte added up, so that a window of ACKs adds one segment. A number is L of
    /// RFC 3465: growth follows the acknowledged bytes, in slow start at most L segments per ACK.
    /// "unlimited": as in Linux, without L.
    byte_counting: Kind::Or(COUNTINGS, &Kind::Count(1, 1_000)) => {
        get |c| uses_input(&c.congestion, Input::ByteCounting).then_some(c.window.byte_counting.value());
        set |c, v| c.window.byte_counting = ByteCounting::of(v);
    }, needs "a congestion control that grows by ACKs, which vegas, bbr and unlimited do not";
    /// Rule that ends slow start before a loss. "standard": the congestion control's own, which is a
    /// loss, a mark or the threshold, and for CUBIC also `control.cubic.hystart`. "hystart": HyStart
    /// as in Linux, by a train of ACKs or a delay, in every slow start. "hystart++" (RFC 9406) and
    /// "search" (draft-chung-ccwg-search-09): in the first slow start only.
    slow_start: Kind::Choice(SLOW_STARTS) => [window.slow_start], idle ENDS;
    /// Window of an earlier connection over the same path, from which Careful Resume starts (RFC
    /// 9959): the bytes that were acknowledged in one RTT. Once the initial window is acknowledged,
    /// the window jumps to half of it, and its segments are paced over one RTT. Congestion after the
    /// jump leads to Safe Retreat. "off": no Careful Resume. These four keys may be written as a
    /// table: `resume = { cwnd = "3 MB", rtt = "600 ms", age = "10 min" }`.
    resume_cwnd: Kind::Or(&[OFF], &Kind::Size(1, 1 << 40)) => [window.resume], idle RESUMES;
    /// Least RTT of the earlier connection. There is no jump if the RTT is at most half of it or
    /// above ten times it.
    resume_rtt: Kind::seconds(3_600) => (|c| c.window.resume.as_mut().map(|saved| &mut saved.rtt)),
        needs RESUME, idle RESUMES;
    /// Age of the earlier connection's values at the start of the run.
    resume_age: Kind::seconds(100_000_000) =>
        (|c| c.window.resume.as_mut().map(|saved| &mut saved.age)), needs RESUME, idle RESUMES;
    /// Age up to which the earlier connection's values are used.
    resume_lifetime: Kind::seconds(100_000_000) =>
        (|c| c.window.resume.as_mut().map(|saved| &mut saved.lifetime)), needs RESUME, idle RESUMES;
    /// Initial window: segments, or "rfc3390".
    initial_window: Kind::Or(&[RFC3390], &Kind::Count(1, 1_000_000)) => [window.initial],
        idle INITIAL_WINDOW;
    /// Initial slow-start threshold.
    initial_ssthresh: LIMIT => [window.initial_ssthresh], idle SSTHRESH;
    /// Restart from the initial window after an idle time of one RTO
    /// (RFC 5681, 4.1).
    idle_restart: Kind::Flag => [window.idle_restart], idle IDLE;
    /// Halves the window once per RTO of idle time in the restart after an idle time, down to the
    /// initial window. The slow-start threshold becomes at least three quarters of the previous
    /// window, as in Linux (`tcp_cwnd_restart`).
    idle_decay: Kind::Flag => (|c| c.window.idle_restart.then_some(&mut c.window.idle_decay)),
        needs "idle_restart = true", idle IDLE;
    /// Number of time-outs of a SYN or SYN-ACK after which the connection begins with one segment:
    /// 1 in RFC 5681, 3.1, 2 in Linux (`tcp_init_transfer`).
    lost_syns: Kind::Count(1, 1_000_000) => [window.lost_syns], idle LOST;
}
