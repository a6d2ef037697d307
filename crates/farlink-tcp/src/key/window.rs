//! The congestion window: where it begins, what bounds it, and when it grows.

use super::entry::{Idle, keys};
use super::value::{Field, Kind, LIMIT, Value, Word, words};
use crate::config::{ByteCounting, Config, CwndLimit, InitialWindow, Ratio};
use crate::congestion::{Input, Setting, uses_input};

words! { CWND_LIMIT: CwndLimit {
    /// Nothing bounds it (RFC 5681).
    "none" None,
    /// The largest window that the peer ever offered.
    "receive-window" ReceiveWindow,
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

/// Declares a key that matters only to congestion controls with this input.
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

const PACING: &str = "pacing = true";
const RATIO: Kind = Kind::Ratio(Ratio::new(1, 10), Ratio::new(10, 1));

keys! {
    /// Let the congestion window grow only while it is in use; otherwise with every ACK of new data
    /// (RFC 5681 to the letter). The window is in use if it was full in the last window of data,
    /// and in slow start if at least half of it was, as in Linux (`tcp_is_cwnd_limited`; the
    /// principle is that of RFC 2861, 3, and RFC 9002, 7.8).
    cwnd_validation: Kind::Flag => [window.cwnd_validation], idle USE;
    /// Upper bound of the congestion window, without recovery's inflation.
    cwnd_limit: Kind::Choice(CWND_LIMIT) => [window.cwnd_limit], idle USE;
    /// Segments leave evenly over the round trip, at a multiple of window over
    /// SRTT, as from Linux with the qdisc fq. The first ten of a connection are not
    /// paced. BBR, and Hybla with its own key, pace by rates of their own.
    pacing: Kind::Flag => {
        get |c| Some(c.window.pacing.is_some().value());
        set |c, v| c.window.pacing = bool::of(v).then(|| c.window.pacing.unwrap_or_default());
    }, idle PACED;
    /// The multiple while the window is below half the slow-start threshold (Linux:
    /// `tcp_pacing_ss_ratio`).
    pacing_ss_ratio: RATIO => (|c| c.window.pacing.as_mut().map(|p| &mut p.slow_start)), needs PACING, idle PACED;
    /// The multiple after that (Linux: `tcp_pacing_ca_ratio`).
    pacing_ca_ratio: RATIO => (|c| c.window.pacing.as_mut().map(|p| &mut p.avoidance)), needs PACING, idle PACED;
    /// Value of an ACK where the window grows by ACKs: "off" counts at most a segment, and in
    /// congestion avoidance adds MSS * MSS / cwnd in whole bytes, at least one (RFC 5681). "acks"
    /// carries fractions of a byte, so that a window of ACKs adds a segment. A number is L of RFC 3465: an ACK counts the bytes that it acknowledges, in slow start at most
    /// L segments. "unlimited" is Linux's.
    byte_counting: Kind::Or(COUNTINGS, &Kind::Count(1, 1_000)) => {
        get |c| uses_input(&c.congestion, Input::ByteCounting).then_some(c.window.byte_counting.value());
        set |c, v| c.window.byte_counting = ByteCounting::of(v);
    }, needs "a congestion control that grows by ACKs, which vegas, bbr and unlimited do not";
    /// Window at the start: segments, or "rfc3390".
    initial_window: Kind::Or(&[RFC3390], &Kind::Count(1, 1_000_000)) => [window.initial],
        idle INITIAL_WINDOW;
    /// Slow-start threshold at the start.
    initial_ssthresh: LIMIT => [window.initial_ssthresh], idle SSTHRESH;
    /// Restart from the initial window after an idle time of one RTO
    /// (RFC 5681, 4.1).
    idle_restart: Kind::Flag => [window.idle_restart], idle IDLE;
    /// Halve the window in the restart after idle once for each RTO of idle time, not below the
    /// initial window. The slow-start threshold is at least three quarters of the window before, as
    /// in Linux (`tcp_cwnd_restart`).
    idle_decay: Kind::Flag => (|c| c.window.idle_restart.then_some(&mut c.window.idle_decay)),
        needs "idle_restart = true", idle IDLE;
    /// Time-outs of a SYN or SYN-ACK after which the connection begins with one segment:
    /// the first in RFC 5681, 3.1, the second in Linux (`tcp_init_transfer`).
    lost_syns: Kind::Count(1, 1_000_000) => [window.lost_syns], idle LOST;
}
