//! Random configurations, reachable from every row of the table.

use super::chance::Chance;
use farlink_tcp::config::{Config, Recovery};
use farlink_tcp::key::{self, Kind, Value};
use farlink_tcp::{FastOpenCookie, Interval, variant::VARIANTS};

/// Fast Open cookie that hosts grant each other.
pub(crate) const COOKIE: FastOpenCookie = FastOpenCookie(0x0123_4567_89ab_cdef);

/// Returns row `row` of the table with every key drawn anew, in the order of the table.
pub(crate) fn config(chance: &mut Chance, row: usize) -> Config {
    near(chance, row, 1000)
}

/// Returns row `row` of the table with `share` of a thousand keys drawn anew.
pub(crate) fn near(chance: &mut Chance, row: usize, share: u64) -> Config {
    let mut config = (VARIANTS[row].config)();
    for key in key::all().filter(|key| !ROW.contains(&key.name)) {
        if share < 1000 && !chance.per_mille(share) {
            continue;
        }
        let value = special(chance, key.name, &config)
            .or_else(|| any(chance, key.kind))
            .or_else(|| key.get(&config));
        if let Some(value) = value {
            key.set(&mut config, value);
        }
    }
    for parameter in config.congestion.algorithm().parameters {
        if share < 1000 {
            break;
        }
        let value = any(chance, parameter.range).unwrap_or(parameter.default);
        let set = config.congestion.set(parameter.name, value);
        assert_eq!(set, Ok(()), "{}", parameter.name);
    }
    if chance.flip() {
        config.rto.start = None;
    }
    if chance.per_mille(500) {
        config.lifetime.keepalive = None;
    }
    config
}

/// Keys that define a row and are not drawn.
const ROW: [&str; 1] = ["recovery"];

/// Draws a value of a kind with few values; `None` for a quantity, which keeps its value.
fn any(chance: &mut Chance, kind: Kind) -> Option<Value> {
    match kind {
        Kind::Flag => Some(Value::Flag(chance.flip())),
        Kind::Count(low, high) if high - low <= 10_000 => {
            Some(Value::Count(chance.pick(&[low, high.min(low + 2)])))
        }
        Kind::Choice(words) => Some(Value::Choice(chance.pick(words).0)),
        Kind::Ways(words) => {
            let bits = (0..words.len()).map(|place| u8::from(chance.flip()) << place);
            Some(Value::Ways(words, bits.sum()))
        }
        Kind::Or(words, other) => {
            let word = Value::Choice(chance.pick(words).0);
            match any(chance, *other) {
                Some(value) if chance.flip() => Some(value),
                _ => Some(word),
            }
        }
        Kind::Count(..) | Kind::Number(..) | Kind::Time(..) | Kind::Size(..) | Kind::Ratio(..) => {
            None
        }
    }
}

/// Draws a value of a key whose kind does not show useful values, or whose other values would end a
/// run early.
fn special(chance: &mut Chance, key: &str, config: &Config) -> Option<Value> {
    let mss = u64::from(config.mss);
    let buffer = config.receiver.buffer;
    let millis = |ms| Some(Value::Time(Interval::from_millis(ms)));
    let hours = |n: u64| Some(Value::Time(Interval::from_secs(3600 * n)));
    match key {
        "mss" => Some(Value::Size(chance.pick(&[100, 536, 1000, 1460]))),
        "send_buffer" => Some(chance.pick(&[
            Value::Size(mss),
            Value::Size(5 * mss + 17),
            Value::Size(64_000),
            Value::Choice("unlimited"),
        ])),
        "receive_window" => {
            let sizes = [mss / 2, mss, 3 * mss + 7, 20_000, 65_535, 300_000];
            Some(Value::Size(chance.pick(&sizes)))
        }
        "receive_window_max" if chance.per_mille(250) => Some(Value::Size(8 * buffer)),
        "window_scale" => {
            // Units of 128 bytes cannot express a small buffer.
            let shift = if buffer < 20_000 { 1 } else { 7 };
            let scales = ["off", "auto"].map(Value::Choice);
            Some(chance.pick(&[scales[0], scales[1], Value::Count(0), Value::Count(shift)]))
        }
        "sack" => Some(Value::Flag(config.receiver.sack != chance.per_mille(250))),
        "snack" if matches!(config.recovery, Recovery::Snack { .. }) => {
            Some(Value::Choice(chance.pick(&["short", "long"])))
        }
        "reassembly" => Some(Value::Flag(
            config.receiver.reassembly != chance.per_mille(100),
        )),
        "delayed_ack" => Some(chance.pick(&[
            Value::Choice("off"),
            Value::Time(Interval::from_millis(40)),
            Value::Time(Interval::from_millis(200)),
        ])),
        "gro" => Some(chance.pick(&[
            Value::Choice("off"),
            Value::Time(Interval::from_nanos(1)),
            Value::Time(Interval::from_millis(3)),
        ])),
        "ack_rate" => Some(chance.pick(&[
            Value::Choice("off"),
            Value::Choice("off"),
            Value::Choice("follow"),
            Value::Count(3),
            Value::Count(127),
        ])),
        "ack_every" => Some(Value::Count(chance.pick(&[2, 4]))),
        "dupack_threshold" => Some(Value::Count(chance.pick(&[1, 2, 3, 3]))),
        "rack_min_rtt_window" => millis(chance.pick(&[1_000, 300_000])),
        "tlp_max_ack_delay" | "rto_slop" => millis(chance.pick(&[0, 200])),
        "fine_k" => Some(Value::Count(chance.pick(&[1, 4]))),
        // Without backoff this key decides how soon the connection gives up.
        "fine_granularity" => millis(chance.pick(&[2, 20, 100])),
        "byte_counting" => Some(chance.pick(&[
            Value::Choice("off"),
            Value::Choice("acks"),
            Value::Count(2),
            Value::Choice("unlimited"),
        ])),
        "initial_window" => Some(chance.pick(&[
            Value::Count(1),
            Value::Count(4),
            Value::Count(10),
            Value::Choice("rfc3390"),
        ])),
        "initial_ssthresh" => {
            Some(chance.pick(&[Value::Choice("unlimited"), Value::Size(4 * mss)]))
        }
        "rto_min" => millis(chance.pick(&[1, 200, 1_000])),
        "rto_max" => millis(chance.pick(&[4_000, 60_000])),
        "rto_tick" | "rto_round" => millis(chance.pick(&[0, 0, 500])),
        "rto_srtt_initial" | "rto_dev_initial" | "keepalive_interval" => millis(1_000),
        "rto_k" => Some(Value::Count(4)),
        "ackp_timer" => millis(2_000),
        "max_retransmits" => Some(Value::Count(chance.pick(&[6, 15]))),
        "msl" => millis(120_000),
        "keepalive" => millis(5_000),
        "keepalive_probes" => Some(Value::Count(1_000_000)),
        // Longer than any pause of a live connection.
        "user_timeout" | "fin_wait_2_timeout" if chance.flip() => hours(24),
        _ => None,
    }
}
