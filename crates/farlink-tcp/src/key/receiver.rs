//! Keys of the receiver: buffer, window, and acknowledgments.

use super::entry::{Idle, keys};
use super::value::{Field, Kind, Value, Word, words};
use crate::config::{Config, DelayedAck, DummyReply, SnackForm, WindowScale};
use crate::congestion;
use crate::time::Interval;

words! { SNACK: SnackForm {
    /// Not offered.
    "off" Off,
    /// One hole per ACK.
    "short" Short,
    /// One hole, and a bit vector of the data above it.
    "long" Long,
} }

words! { DUMMIES: DummyReply {
    /// An ACK with the mark and the class of the dummy.
    "echo" Echo,
    /// Nothing.
    "ignore" Ignore,
    /// An ACK as for duplicate data, from a receiver that does not support dummies.
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

/// Returns the settings of delayed ACKs, if they are on.
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
    /// Size up to which the receive buffer grows with the data rate (receive-window autotuning, as
    /// in Linux, whose defaults amount to 64 KiB and 3 MiB of window). Without this key the buffer
    /// keeps its size.
    receive_window_max: Kind::Size(1, 1 << 30) => {
        get |c| c.receiver.buffer_max.map(Value::Size);
        set |c, v| c.receiver.buffer_max = Some(u64::of(v));
    };
    /// The offered window starts at 64 KiB and grows by two bytes per received byte, up to the
    /// whole buffer. The buffer has additional room for out-of-order data, as in Linux since 6.16.
    gradual_window: Kind::Flag => (|c| c.receiver.buffer_max.map(|_| &mut c.receiver.gradual_window)), needs "receive_window_max";
    /// Window scale (RFC 7323): "auto", "off" or a shift.
    window_scale: Kind::Or(SCALES, &Kind::Count(0, 14)) => [receiver.window_scale];
    /// SACK option (RFC 2018): offered on the SYN, and sent in ACKs.
    sack: Kind::Flag => [receiver.sack];
    /// D-SACK (RFC 2883): reports duplicates in the first SACK block.
    dsack: Kind::Flag => (|c| c.receiver.sack.then_some(&mut c.receiver.dsack)), needs "sack = true";
    /// SNACK option (SCPS-TP, CCSDS 714.0-B) in this form: offered on the SYN, and sent in ACKs.
    /// Excludes `sack = true`.
    snack: Kind::Choice(SNACK) => [receiver.snack];
    /// Keeps out-of-order segments at the receiver; if false, they are dropped.
    reassembly: Kind::Flag => [receiver.reassembly];
    /// Maximum delay of an ACK, or "off".
    delayed_ack: Kind::Or(&[OFF], &Kind::Time(Interval::from_nanos(1), Interval::from_secs(10))) => {
        get |c| Some(match c.receiver.delayed_ack.max_delay {
            Interval::ZERO => Value::Choice(OFF.0),
            delay => Value::Time(delay),
        });
        set |c, v| match (v, delay(c)) {
            (Value::Choice(_), _) => c.receiver.delayed_ack = DelayedAck::OFF,
            (delay, Some(ack)) => ack.max_delay = Interval::of(delay),
            // In a row without delayed ACKs, the other settings start from defaults.
            (delay, None) => c.receiver.delayed_ack = DelayedAck {
                max_delay: Interval::of(delay),
                ..DelayedAck::default()
            },
        };
    };
    /// Number of full-sized segments after which an ACK is sent. If a window has fewer segments,
    /// only the delay applies.
    ack_every: Kind::Count(1, 1_000) => (|c| delay(c).map(|ack| &mut ack.every)), needs DELAYED;
    /// Sends delayed ACKs on multiples of `delayed_ack`, as the BSD fast timer does, instead of
    /// `delayed_ack` after the segment.
    ack_heartbeat: Kind::Flag => (|c| delay(c).map(|ack| &mut ack.heartbeat)), needs DELAYED;
    /// Number of ACKs of data at the start that are sent at once. With `gradual_window`, ACKs of
    /// segments that grow the window are sent at once too, as in Linux.
    ack_quick: Kind::Count(0, 1_000) => (|c| delay(c).map(|ack| &mut ack.quick)), needs DELAYED;
    /// Time of the ACK of a segment that fills a hole.
    ack_gap_fill: Kind::Choice(GAP_FILL) => {
        get |c| delays(c).then_some(delayed(c.receiver.delay_gap_fill));
        set |c, v| c.receiver.delay_gap_fill = v == delayed(true);
    }, needs DELAYED, idle KEEPS;
    /// Time of the ACK of a segment above a hole, or of a duplicate segment. Such an ACK is a
    /// duplicate ACK.
    dup_acks: Kind::Choice(DUP_ACKS) => {
        get |c| delays(c).then_some(delayed(c.receiver.delay_dup_acks));
        set |c, v| c.receiver.delay_dup_acks = v == delayed(true);
    }, needs DELAYED;
    /// Generic receive offload: time that a data segment waits for the one that continues it, as
    /// with the interrupt coalescing or `gro_flush_timeout` of a host. Joined segments reach TCP at
    /// one instant, and are acknowledged together. A joined packet has at most 64 KiB. It ends at a
    /// segment that is shorter, has PSH or FIN, or has other flags, options or ECN (Linux:
    /// `tcp_gro_receive`). Kernels in an emulation have their own.
    gro: Kind::Or(&[OFF], &Kind::Time(Interval::from_nanos(1), Interval::from_secs(1))) => {
        get |c| Some(c.receiver.gro.map_or(Value::Choice(OFF.0), Value::Time));
        set |c, v| c.receiver.gro = match v {
            Value::Choice(_) => None,
            hold => Some(Interval::of(hold)),
        };
    };
    /// Receiver's reply to dummy segments, which TCP-Peach sends.
    dummies: Kind::Choice(DUMMIES) => {
        get |c| congestion::sends_dummies(&c.congestion).then_some(c.receiver.dummies.value());
        set |c, v| c.receiver.dummies = DummyReply::of(v);
    }, needs "congestion = \"peach\"";
}
