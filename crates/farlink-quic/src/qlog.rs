//! Log of an end in the format of qlog 0.3 (draft-ietf-quic-qlog-main-schema-02), as a sequence of
//! JSON texts (RFC 7464).
//!
//! Times are in milliseconds since the start of the run. quinn-proto does not name the numbers of
//! packets that arrive or are lost, so only packets that are sent have a number.

use crate::control::ControlStats;
use crate::end::{Counters, Side};
use std::fmt::Write as _;

/// Values of the event `recovery:metrics_updated`, in the order of [`NAMES`].
type Metrics = [Option<u64>; 6];

const NAMES: [&str; 6] = [
    "smoothed_rtt",
    "latest_rtt",
    "min_rtt",
    "congestion_window",
    "bytes_in_flight",
    "ssthresh",
];
/// Number of the leading [`NAMES`] that are times.
const TIMES: usize = 3;

/// The log of a connection at one end.
#[derive(Debug, Default)]
pub(crate) struct Qlog {
    text: String,
    /// Number of the connection of the flow.
    group: u64,
    arrived: u64,
    sent: u64,
    lost: u64,
    last: Metrics,
}

impl Qlog {
    /// Starts the log. The first connection of a flow has the header of the file.
    pub(crate) fn new(side: Side, group: u64) -> Self {
        let mut log = Self {
            group,
            ..Self::default()
        };
        let vantage = match side {
            Side::Client => "client",
            Side::Server => "server",
        };
        if group == 0 {
            log.record(&format!(
                "{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":\"farlink\",\
                 \"trace\":{{\"vantage_point\":{{\"name\":\"{vantage}\",\"type\":\"{vantage}\"}},\
                 \"common_fields\":{{\"time_format\":\"relative\",\"reference_time\":0}}}}}}"
            ));
        }
        log
    }

    /// Returns the records so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn record(&mut self, json: &str) {
        self.text.push('\u{1e}');
        self.text.push_str(json);
        self.text.push('\n');
    }

    fn event(&mut self, now: u64, name: &str, data: &str) {
        let (time, group) = (Millis(now), self.group);
        self.record(&format!(
            "{{\"time\":{time},\"name\":\"{name}\",\"group_id\":\"{group}\",\"data\":{{{data}}}}}"
        ));
    }

    /// Adds the packets of a datagram that arrives.
    pub(crate) fn on_arrival(&mut self, now: u64, bytes: &[u8]) {
        let datagram = self.arrived;
        self.arrived += 1;
        for (kind, len) in packets(bytes) {
            let data = packet(kind, len, datagram, None);
            self.event(now, "transport:packet_received", &data);
        }
    }

    /// Adds the packets of a datagram that is sent, the last of which has this number.
    pub(crate) fn on_transmit(&mut self, now: u64, bytes: &[u8], number: Option<u64>) {
        let datagram = self.sent;
        self.sent += 1;
        let packets = packets(bytes);
        for (i, &(kind, len)) in packets.iter().enumerate() {
            let is_last = i + 1 == packets.len();
            let data = packet(kind, len, datagram, number.filter(|_| is_last));
            self.event(now, "transport:packet_sent", &data);
        }
    }

    /// Adds what has changed.
    pub(crate) fn on_change(&mut self, now: u64, counters: &Counters, control: &ControlStats) {
        for _ in self.lost..counters.lost {
            self.event(now, "recovery:packet_lost", "");
        }
        self.lost = self.lost.max(counters.lost);
        let sampled = |value| Some(value).filter(|_| control.rtt_samples > 0);
        let metrics = [
            sampled(control.srtt),
            sampled(control.rtt_last),
            sampled(control.rtt_min),
            Some(counters.window).filter(|&window| window > 0),
            sampled(control.in_flight),
            counters.ssthresh,
        ];
        let mut data = String::new();
        for (i, value) in metrics.into_iter().enumerate() {
            let Some(value) = value.filter(|_| value != self.last[i]) else {
                continue;
            };
            let comma = if data.is_empty() { "" } else { "," };
            let _ = if i < TIMES {
                write!(data, "{comma}\"{}\":{}", NAMES[i], Millis(value))
            } else {
                write!(data, "{comma}\"{}\":{value}", NAMES[i])
            };
        }
        self.last = metrics;
        if !data.is_empty() {
            self.event(now, "recovery:metrics_updated", &data);
        }
    }
}

/// A time in nanoseconds, written in milliseconds.
struct Millis(u64);

impl std::fmt::Display for Millis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

fn packet(kind: &str, len: usize, datagram: u64, number: Option<u64>) -> String {
    let number = number.map_or(String::new(), |n| format!(",\"packet_number\":{n}"));
    format!(
        "\"header\":{{\"packet_type\":\"{kind}\"{number}}},\"raw\":{{\"length\":{len}}},\
         \"datagram_id\":{datagram}"
    )
}

/// Returns type and length of each packet of a datagram (RFC 9000, 12.2 and 17.2).
fn packets(mut bytes: &[u8]) -> Vec<(&'static str, usize)> {
    let mut parts = Vec::new();
    while let Some(&first) = bytes.first() {
        if first & 0x80 == 0 {
            parts.push(("1RTT", bytes.len()));
            break;
        }
        let (kind, len) = long_header(bytes).unwrap_or(("unknown", bytes.len()));
        let len = len.min(bytes.len());
        parts.push((kind, len));
        bytes = &bytes[len..];
    }
    parts
}

/// Returns type and length of a packet with a long header; `None` if it is cut off.
fn long_header(bytes: &[u8]) -> Option<(&'static str, usize)> {
    let kind = bytes[0] >> 4 & 3;
    // First byte and version.
    let mut at = 5;
    for _ in 0..2 {
        at += 1 + usize::from(*bytes.get(at)?);
    }
    let name = match kind {
        0 => "initial",
        1 => "0RTT",
        2 => "handshake",
        _ => return Some(("retry", bytes.len())),
    };
    if kind == 0 {
        let token = variable(bytes, &mut at)?;
        at += token;
    }
    let rest = variable(bytes, &mut at)?;
    Some((name, at + rest))
}

/// Reads an integer of variable length (RFC 9000, 16).
fn variable(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let first = *bytes.get(*at)?;
    let len = 1 << (first >> 6);
    let all = bytes.get(*at..*at + len)?;
    *at += len;
    let start = usize::from(first & 0x3f);
    Some(
        all[1..]
            .iter()
            .fold(start, |n, &byte| n << 8 | usize::from(byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_a_datagram_have_their_types_and_lengths() {
        // An Initial with IDs of 2 and 1 bytes, a token of 1 byte and 3 bytes more.
        let mut bytes = vec![0xc0, 0, 0, 0, 1, 2, 8, 8, 1, 7, 1, 9, 3, 0, 0, 0];
        assert_eq!(packets(&bytes), [("initial", 16)]);
        // A handshake packet without IDs, with a length of two bytes: 0x4002 is 2.
        bytes.extend([0xe0, 0, 0, 0, 1, 0, 0, 0x40, 2, 5, 5]);
        bytes.extend([0x40; 30]);
        let expected = [("initial", 16), ("handshake", 11), ("1RTT", 30)];
        assert_eq!(packets(&bytes), expected);
        // A packet that is cut off ends with the datagram.
        assert_eq!(packets(&bytes[..20])[1], ("unknown", 4));
        assert_eq!(packets(&bytes[..26])[1], ("handshake", 10));
        assert_eq!(packets(&[0x40; 9]), [("1RTT", 9)]);
    }

    #[test]
    fn records_are_json_texts_with_times_in_milliseconds() {
        let mut log = Qlog::new(Side::Server, 1);
        log.on_transmit(1_234_567_890, &[0x40; 20], Some(7));
        log.on_arrival(2_000_000_000, &[0x40; 25]);
        let counters = Counters {
            lost: 1,
            window: 5000,
            ..Counters::default()
        };
        log.on_change(3, &counters, &ControlStats::default());
        log.on_change(4, &counters, &ControlStats::default());
        let records: Vec<_> = log.text().lines().collect();
        let expected = [
            "\u{1e}{\"time\":1234.567890,\"name\":\"transport:packet_sent\",\"group_id\":\"1\",\
             \"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7},\
             \"raw\":{\"length\":20},\"datagram_id\":0}}",
            "\u{1e}{\"time\":2000.000000,\"name\":\"transport:packet_received\",\
             \"group_id\":\"1\",\"data\":{\"header\":{\"packet_type\":\"1RTT\"},\
             \"raw\":{\"length\":25},\"datagram_id\":0}}",
            "\u{1e}{\"time\":0.000003,\"name\":\"recovery:packet_lost\",\"group_id\":\"1\",\
             \"data\":{}}",
            "\u{1e}{\"time\":0.000003,\"name\":\"recovery:metrics_updated\",\
             \"group_id\":\"1\",\"data\":{\"congestion_window\":5000}}",
        ];
        assert_eq!(records, expected);
    }
}
