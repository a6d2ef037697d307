//! Keys of the receiver: buffer, window, and acknowledgments.

use super::entry::{Idle, keys};
use super::value::{Field, Kind, Value, Word, words};
use crate::config::{Config, DelayedAck, DummyReply, SnackForm, WindowScale};
use crate::congestion;
use crate::time::Interval;

words! { SNACK: SnackForm {
    /// Not offered.
    "off" Off,
    /// One hole for each ACK.
    "short" Short,
    /// A hole and a bit vector of the data behind it.
    "long" Long,
} }

words! { DUMMIES: DummyReply {
    /// An ACK with the mark and the class of the dummy.
    "echo" Echo,
    /// Nothing.
    "ignore" Ignore,
    /// Dummies are unknown: they count as duplicate data, and are acknowledged so.
    "plain" Plain,
} }

const SCALES: &[Word] = &[Word("auto", ""), Word("off", "")];

impl Field for WindowScale {
    fn value(&self) -> Value {
        match *self {
            Self::Auto => Value::Choice("auto"),
            Self::Off => Value::Choice("off"),
            Self::Shift(n) => Value::Count(n.into()),
        }
    }

    fn of(value: Value) -> Self {
        match value {
            Value::Choice("auto") => Self::Auto,
            Value::Choice(_) => Self::Off,
            shift => Self::Shift(u32::of(shift) as u8),
        }
    }
}

const OFF: Word = Word("off", "");
const DELAYED: &str = "delayed_ack";

const GAP_FILL: &[Word] = &[
    Word("immediate", "At once (RFC 5681, 4.2)."),
    Word(
        "delayed",
        "By count and delay, as for a segment in order (Wong 1998, figure 4.3).",
    ),
];

const DUP_ACKS: &[Word] = &[
    Word("immediate", "At once (RFC 5681, 4.2)."),
    Word(
        "delayed",
        "By count and delay, as for a segment in order, so that a hole may be filled before it is \
         reported (Leung 1998, 4.6.2).",
    ),
];

/// Returns the value of a key for ACK timing: "delayed" if the rules of delayed ACKs for in-order
/// data apply, else "immediate".
fn delayed(waits: bool) -> Value {
    Value::Choice(if waits { "delayed" } else { "immediate" })
}

/// Delayed ACK, where there is any.
fn delay(config: &mut Config) -> Option<&mut DelayedAck> {
    let ack = &mut config.receiver.delayed_ack;
    (!ack.max_delay.is_zero()).then_some(ack)
}

fn delays(config: &Config) -> bool {
    !config.receiver.delayed_ack.max_delay.is_zero()
}

const KEEPS: Idle = Idle {
    counts: |c| c.receiver.reassembly,
    needs: "reassembly = true",
};

keys! {
    /// Receive buffer, which is the largest window offered.
    receive_window: Kind::Size(1, 1 << 30) => [receiver.buffer];
    /// Limit to which the receive buffer grows by itself as more data arrives in each round trip
    /// (receive-window autotuning, as Linux does: its defaults amount to 64 KiB and 3 MiB of
    /// window). Without it the buffer keeps its size.
    receive_window_max: Kind::Size(1, 1 << 30) => {
        get |c| c.receiver.buffer_max.map(Value::Size);
        set |c, v| c.receiver.buffer_max = Some(u64::of(v));
    };
    /// The window begins at 64 KiB and opens by two bytes for each received byte, up to the whole
    /// buffer. The buffer also has room for data out of order, as in Linux since 6.16.
    gradual_window: Kind::Flag => (|c| c.receiver.buffer_max.map(|_| &mut c.receiver.gradual_window)), needs "receive_window_max";
    /// Window scale (RFC 7323): "auto", "off" or a shift.
    window_scale: Kind::Or(SCALES, &Kind::Count(0, 14)) => [receiver.window_scale];
    /// SACK option (RFC 2018): offered, and sent.
    sack: Kind::Flag => [receiver.sack];
    /// Duplicates that arrive are reported in the first SACK block (D-SACK,
    /// RFC 2883).
    dsack: Kind::Flag => (|c| c.receiver.sack.then_some(&mut c.receiver.dsack)), needs "sack = true";
    /// SNACK option (SCPS-TP, CCSDS 714.0-B): offered, and sent in this form.
    /// Not beside `sack = true`.
    snack: Kind::Choice(SNACK) => [receiver.snack];
    /// Keep segments out of order at the receiver.
    reassembly: Kind::Flag => [receiver.reassembly];
    /// Longest time an ACK waits, or "off".
    delayed_ack: Kind::Or(&[OFF], &Kind::Time(Interval::from_nanos(1), Interval::from_secs(10))) => {
        get |c| Some(match c.receiver.delayed_ack.max_delay {
            Interval::ZERO => Value::Choice(OFF.0),
            delay => Value::Time(delay),
        });
        set |c, v| match (v, delay(c)) {
            (Value::Choice(_), _) => c.receiver.delayed_ack = DelayedAck::OFF,
            (delay, Some(ack)) => ack.max_delay = Interval::of(delay),
            // Over a row without delayed ACK the others start anew.
            (delay, None) => c.receiver.delayed_ack = DelayedAck {
                max_delay: Interval::of(delay),
                ..DelayedAck::default()
            },
        };
    };
    /// Number of full-sized segments after which an ACK is sent. With more than a window holds, the
    /// delay alone decides.
    ack_every: Kind::Count(1, 1_000) => (|c| delay(c).map(|ack| &mut ack.every)), needs DELAYED;
    /// Delayed ACKs leave on multiples of `delayed_ack`, as from the BSD fast
    /// timer, instead of that long after the segment.
    ack_heartbeat: Kind::Flag => (|c| delay(c).map(|ack| &mut ack.heartbeat)), needs DELAYED;
    /// Number of first ACKs of data that leave at once. With `gradual_window`, so do ACKs of
    /// segments that open the window, as in Linux.
    ack_quick: Kind::Count(0, 1_000) => (|c| delay(c).map(|ack| &mut ack.quick)), needs DELAYED;
    /// Acknowledgment of a segment that fills a hole.
    ack_gap_fill: Kind::Choice(GAP_FILL) => {
        get |c| delays(c).then_some(delayed(c.receiver.delay_gap_fill));
        set |c, v| c.receiver.delay_gap_fill = v == delayed(true);
    }, needs DELAYED, idle KEEPS;
    /// Acknowledgment of a segment that shows a hole, or that arrived before: its ACK is a
    /// duplicate.
    dup_acks: Kind::Choice(DUP_ACKS) => {
        get |c| delays(c).then_some(delayed(c.receiver.delay_dup_acks));
        set |c, v| c.receiver.delay_dup_acks = v == delayed(true);
    }, needs DELAYED;
    /// Reply of the receiver to dummy segments, which TCP Peach sends.
    dummies: Kind::Choice(DUMMIES) => {
        get |c| congestion::sends_dummies(&c.congestion).then_some(c.receiver.dummies.value());
        set |c, v| c.receiver.dummies = DummyReply::of(v);
    }, needs "congestion = \"peach\"";
}
