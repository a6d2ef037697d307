//! Log of an end in the format of qlog 0.3 (draft-ietf-quic-qlog-main-schema-02), as a sequence of
//! JSON texts (RFC 7464).
//!
//! Times are in milliseconds since the start of the run. Names are those of
//! draft-ietf-quic-qlog-quic-events-02.

use crate::control::ControlStats;
use crate::counters::{Counters, Side};
use crate::frames::{ACK_DELAY_EXPONENT, Frame};
use crate::ledger::Lost;
use crate::tap::{Plain, Space};
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
    last: Metrics,
    /// State of the congestion control, if it has states.
    state: Option<&'static str>,
    /// Reductions of the window so far, and events of persistent congestion.
    reductions: (u64, u64),
    /// Number of the last packet sent before the latest reduction.
    recovers_at: Option<u64>,
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

    /// Adds the packets of a datagram that arrives, of which `plain` were decrypted.
    pub(crate) fn on_arrival(&mut self, now: u64, bytes: &[u8], plain: &[Plain]) {
        let datagram = self.arrived;
        self.arrived += 1;
        let mut plain = plain.iter().filter(|packet| !packet.sent).peekable();
        for (kind, len) in packets(bytes) {
            let decrypted = plain.next_if(|packet| name(packet.space) == kind);
            let event = if decrypted.is_some() || kind == "retry" {
                "transport:packet_received"
            } else {
                "transport:packet_dropped"
            };
            self.event(now, event, &packet(kind, len, datagram, decrypted));
        }
    }

    /// Adds the packets of a datagram that is sent.
    pub(crate) fn on_transmit(&mut self, now: u64, bytes: &[u8], plain: &[Plain]) {
        let datagram = self.sent;
        self.sent += 1;
        let mut plain = plain.iter().filter(|packet| packet.sent).peekable();
        for (kind, len) in packets(bytes) {
            let encrypted = plain.next_if(|packet| name(packet.space) == kind);
            let data = packet(kind, len, datagram, encrypted);
            self.event(now, "transport:packet_sent", &data);
        }
    }

    /// Adds a packet that is declared lost; `None` for one whose number is unknown.
    pub(crate) fn on_lost(&mut self, now: u64, lost: Option<Lost>) {
        let data = lost.map_or(String::new(), |lost| {
            let kind = name(lost.space);
            let trigger = if lost.by_reordering {
                "reordering_threshold"
            } else {
                "time_threshold"
            };
            format!(
                "\"header\":{{\"packet_type\":\"{kind}\",\"packet_number\":{}}},\
                 \"trigger\":\"{trigger}\"",
                lost.number
            )
        });
        self.event(now, "recovery:packet_lost", &data);
    }

    /// Adds a change of the state of a congestion control with a threshold of slow start. `acked`
    /// and `sent` are the largest numbers of packets that were acknowledged and sent.
    pub(crate) fn on_state(
        &mut self,
        now: u64,
        counters: &Counters,
        control: &ControlStats,
        (acked, sent): (Option<u64>, Option<u64>),
    ) {
        let before = self.reductions;
        self.reductions = (control.reductions, control.persistent);
        if control.reductions > before.0 {
            self.recovers_at = sent;
        }
        if self.recovers_at.is_some_and(|last| acked > Some(last)) {
            self.recovers_at = None;
        }
        let state = match counters.ssthresh {
            _ if self.recovers_at.is_some() => "recovery",
            Some(threshold) if counters.window >= threshold => "congestion_avoidance",
            _ => "slow_start",
        };
        if self.state == Some(state) || counters.window == 0 {
            return;
        }
        let old = self
            .state
            .map_or(String::new(), |old| format!("\"old\":\"{old}\","));
        let trigger = if control.persistent > before.1 {
            ",\"trigger\":\"persistent_congestion\""
        } else {
            ""
        };
        self.state = Some(state);
        let data = format!("{old}\"new\":\"{state}\"{trigger}");
        self.event(now, "recovery:congestion_state_updated", &data);
    }

    /// Adds the metrics that have changed.
    pub(crate) fn on_change(&mut self, now: u64, counters: &Counters, control: &ControlStats) {
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

/// Returns the type of a packet in qlog.
fn name(space: Space) -> &'static str {
    match space {
        Space::Initial => "initial",
        Space::Early => "0RTT",
        Space::Handshake => "handshake",
        Space::Data => "1RTT",
    }
}

/// Returns the members of an event of a packet.
fn packet(kind: &str, len: usize, datagram: u64, plain: Option<&Plain>) -> String {
    let mut text = format!("\"header\":{{\"packet_type\":\"{kind}\"");
    if let Some(plain) = plain {
        let _ = write!(text, ",\"packet_number\":{}}},\"frames\":[", plain.number);
        for (i, shown) in plain.frames.iter().enumerate() {
            text.push_str(if i == 0 { "" } else { "," });
            frame(&mut text, shown);
        }
        text.push(']');
    } else {
        text.push('}');
    }
    let _ = write!(
        text,
        ",\"raw\":{{\"length\":{len}}},\"datagram_id\":{datagram}"
    );
    text
}

/// Appends a frame as a JSON object.
fn frame(text: &mut String, frame: &Frame) {
    let kind = "{\"frame_type\":";
    let _ = match frame {
        Frame::Padding(len) => write!(text, "{kind}\"padding\",\"payload_length\":{len}}}"),
        Frame::Ping => write!(text, "{kind}\"ping\"}}"),
        Frame::Ack { delay, ranges } => {
            let delay = Millis((delay << ACK_DELAY_EXPONENT).saturating_mul(1000));
            let _ = write!(
                text,
                "{kind}\"ack\",\"ack_delay\":{delay},\"acked_ranges\":["
            );
            for (i, (low, high)) in ranges.iter().rev().enumerate() {
                let comma = if i == 0 { "" } else { "," };
                let _ = write!(text, "{comma}[{low},{high}]");
            }
            write!(text, "]}}")
        }
        Frame::Crypto { offset, len } => write!(
            text,
            "{kind}\"crypto\",\"offset\":{offset},\"length\":{len}}}"
        ),
        Frame::Stream {
            id,
            offset,
            len,
            fin,
        } => {
            let fin = if *fin { ",\"fin\":true" } else { "" };
            write!(
                text,
                "{kind}\"stream\",\"stream_id\":{id},\"offset\":{offset},\"length\":{len}{fin}}}"
            )
        }
        Frame::MaxData(max) => write!(text, "{kind}\"max_data\",\"maximum\":{max}}}"),
        Frame::MaxStreamData { id, max } => write!(
            text,
            "{kind}\"max_stream_data\",\"stream_id\":{id},\"maximum\":{max}}}"
        ),
        Frame::Close { application, code } => {
            let space = if *application {
                "application"
            } else {
                "transport"
            };
            write!(
                text,
                "{kind}\"connection_close\",\"error_space\":\"{space}\",\
                 \"error_code\":{code},\"raw_error_code\":{code}}}"
            )
        }
        Frame::Other(name, fields) => write!(text, "{kind}\"{name}\"{fields}}}"),
    };
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

    fn plain(sent: bool, number: u64, frames: Vec<Frame>) -> Plain {
        Plain {
            sent,
            space: Space::Data,
            number,
            len: 20,
            frames,
        }
    }

    /// Returns the records of a log, with ' in place of ".
    fn records(log: &Qlog) -> Vec<String> {
        let text = log.text().replace('"', "'");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn records_are_json_texts_with_times_in_milliseconds() {
        let mut log = Qlog::new(Side::Server, 1);
        let ping = plain(true, 7, vec![Frame::Ping, Frame::Padding(3)]);
        log.on_transmit(1_234_567_890, &[0x40; 20], &[ping]);
        let ranges = vec![(9, 9), (2, 5)];
        let ack = plain(false, 3, vec![Frame::Ack { delay: 250, ranges }]);
        log.on_arrival(2_000_000_000, &[0x40; 25], &[ack]);
        log.on_arrival(2_000_000_000, &[0x40; 9], &[]);
        let counters = Counters {
            window: 5000,
            ..Counters::default()
        };
        log.on_change(3, &counters, &ControlStats::default());
        log.on_change(4, &counters, &ControlStats::default());
        let group = "'group_id':'1','data'";
        let expected = [
            format!(
                "\u{1e}{{'time':1234.567890,'name':'transport:packet_sent',{group}:{{\
                 'header':{{'packet_type':'1RTT','packet_number':7}},'frames':[\
                 {{'frame_type':'ping'}},{{'frame_type':'padding','payload_length':3}}],\
                 'raw':{{'length':20}},'datagram_id':0}}}}"
            ),
            // The delay is in units of 8 microseconds; ranges ascend.
            format!(
                "\u{1e}{{'time':2000.000000,'name':'transport:packet_received',{group}:{{\
                 'header':{{'packet_type':'1RTT','packet_number':3}},'frames':[\
                 {{'frame_type':'ack','ack_delay':2.000000,'acked_ranges':[[2,5],[9,9]]}}],\
                 'raw':{{'length':25}},'datagram_id':0}}}}"
            ),
            format!(
                "\u{1e}{{'time':2000.000000,'name':'transport:packet_dropped',{group}:{{\
                 'header':{{'packet_type':'1RTT'}},'raw':{{'length':9}},'datagram_id':1}}}}"
            ),
            format!(
                "\u{1e}{{'time':0.000003,'name':'recovery:metrics_updated',{group}:{{\
                 'congestion_window':5000}}}}"
            ),
        ];
        assert_eq!(records(&log), expected);
    }

    #[test]
    fn losses_have_numbers_and_the_states_follow_window_and_threshold() {
        let mut log = Qlog::new(Side::Server, 1);
        let lost = |number, by_reordering| Lost {
            space: Space::Data,
            number,
            by_reordering,
        };
        log.on_lost(1, Some(lost(5, true)));
        log.on_lost(1, Some(lost(6, false)));
        log.on_lost(1, None);
        let mut counters = Counters {
            window: 5000,
            ..Counters::default()
        };
        let mut control = ControlStats::default();
        let mut state = |log: &mut Qlog, change: fn(&mut Counters, &mut ControlStats), packets| {
            change(&mut counters, &mut control);
            log.on_state(2, &counters, &control, packets);
        };
        state(&mut log, |_, _| (), (None, Some(1)));
        state(
            &mut log,
            |counters, control| {
                (counters.window, counters.ssthresh) = (2500, Some(2500));
                control.reductions = 1;
            },
            (Some(3), Some(9)),
        );
        // Recovery ends with a packet that was sent after the reduction.
        state(&mut log, |_, _| (), (Some(9), Some(12)));
        state(&mut log, |_, _| (), (Some(10), Some(12)));
        state(&mut log, |_, _| (), (Some(11), Some(12)));
        state(
            &mut log,
            |counters, control| {
                (counters.window, counters.ssthresh) = (1000, Some(1250));
                (control.reductions, control.persistent) = (2, 1);
            },
            (Some(12), Some(20)),
        );
        let data: Vec<_> = records(&log)
            .iter()
            .map(|record| record.split("'data':").nth(1).unwrap().to_owned())
            .collect();
        let expected = [
            "{'header':{'packet_type':'1RTT','packet_number':5},'trigger':'reordering_threshold'}}",
            "{'header':{'packet_type':'1RTT','packet_number':6},'trigger':'time_threshold'}}",
            "{}}",
            "{'new':'slow_start'}}",
            "{'old':'slow_start','new':'recovery'}}",
            "{'old':'recovery','new':'congestion_avoidance'}}",
            "{'old':'congestion_avoidance','new':'recovery','trigger':'persistent_congestion'}}",
        ];
        assert_eq!(data, expected);
    }
}
