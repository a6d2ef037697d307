//! Both ends of a connection.

use super::{Seen, Sending, UNCOUNTED};
use crate::scenario::{QuicControl, QuicSpec, QuicTable, Time};
use farlink_channel::rng::Stream;
use farlink_quic::{Acks, Config, Control, End, Side};
use farlink_tcp::{Instant, Interval, Stats};
use std::time::Duration;

/// Returns a time of the scenario for quinn.
fn duration(time: Time) -> Duration {
    Duration::from_nanos(time.0.as_nanos())
}

/// Returns the wishes for ACKs; `None` if the scenario has none.
fn acks(keys: &QuicTable) -> Option<Acks> {
    let acks = Acks {
        eliciting_threshold: keys.ack_eliciting_threshold,
        max_delay: keys.max_ack_delay.map(duration),
        reordering_threshold: keys.reordering_threshold,
    };
    (acks != Acks::default()).then_some(acks)
}

/// Returns the parameters of an end of a flow, with a seed from `random`.
pub fn config(spec: &QuicSpec, finds_mtu: bool, random: &mut Stream) -> Config {
    let mut seed = [0; 32];
    for word in seed.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    Config {
        control: match spec.control {
            QuicControl::Cubic => Control::Cubic,
            QuicControl::NewReno => Control::NewReno,
            QuicControl::Bbr => Control::Bbr,
        },
        receive_window: spec.receive_window,
        send_window: spec.send_window,
        idle_timeout: spec.transport.idle_timeout.map(duration),
        initial_rtt: spec.transport.initial_rtt.map(duration),
        streams: spec.transport.streams(),
        acks: acks(&spec.transport),
        finds_mtu,
        seed,
    }
}

/// The ends, the data sender first.
#[derive(Debug)]
pub(crate) struct Ends {
    both: [End; 2],
    /// Index of the client.
    client: usize,
    /// Set once the data sender has closed the connection.
    closed: bool,
    reverse: bool,
}

impl Ends {
    /// Creates both ends with random numbers from `random`.
    ///
    /// # Errors
    /// Fails if the TLS library refuses the configuration.
    pub(crate) fn new(
        spec: &QuicSpec,
        sender_opens: bool,
        finds_mtu: bool,
        mut random: Stream,
    ) -> Result<Self, String> {
        let mut end = |is_client: bool, len: u64| {
            let config = config(spec, finds_mtu, &mut random);
            let side = if is_client {
                Side::Client
            } else {
                Side::Server
            };
            End::new(side, config, len)
        };
        let from = end(sender_opens, spec.size.unwrap_or(u64::MAX))?;
        let to = end(!sender_opens, spec.reverse)?;
        Ok(Self {
            both: [from, to],
            client: usize::from(!sender_opens),
            closed: false,
            reverse: spec.reverse > 0,
        })
    }

    pub(crate) fn open(&mut self, now: Instant) {
        self.both[self.client].open(now.as_nanos());
    }

    pub(crate) fn on_time(&mut self, now: Instant) {
        for end in &mut self.both {
            end.on_time(now.as_nanos());
        }
    }

    pub(crate) fn receive(&mut self, end: usize, now: Instant, ecn: u8, bytes: &[u8]) {
        self.both[end].receive(now.as_nanos(), ecn, bytes);
    }

    pub(crate) fn transmit(&mut self, end: usize, now: Instant) -> Option<Sending> {
        let [from, to] = &self.both;
        let all = from.is_acknowledged() && (!self.reverse || to.is_acknowledged());
        if end == 0 && all && !self.closed {
            self.closed = true;
            self.both[0].close(now.as_nanos());
        }
        let sent = self.both[end].transmit(now.as_nanos())?;
        Some((sent.bytes, sent.ecn, sent.has_data))
    }

    pub(crate) fn deadline(&mut self) -> Option<Instant> {
        let due = self.both.iter_mut().filter_map(End::deadline).min()?;
        Some(Instant::ZERO + Interval::from_nanos(due))
    }

    pub(crate) fn has_all(&self, end: usize) -> bool {
        self.both[end].has_all()
    }

    pub(crate) fn failed(&self) -> bool {
        self.both.iter().any(|end| end.fault().is_some())
    }

    pub(crate) fn read(&self, end: usize) -> u64 {
        self.both[end].read()
    }

    /// Returns the lines of a key log file.
    pub(crate) fn secrets(&self) -> String {
        self.both[self.client].secrets()
    }

    pub(crate) fn seen(&self) -> Seen {
        let (control_stats, counters) = (self.both[0].control_stats(), self.both[0].counters());
        Seen {
            window: counters.window,
            ssthresh: counters.ssthresh.unwrap_or(u64::MAX),
            in_flight: control_stats.in_flight,
            srtt: Interval::from_nanos(control_stats.srtt),
            samples: control_stats.rtt_samples,
            sample: Interval::from_nanos(control_stats.rtt_last),
        }
    }

    pub(crate) fn stats(&self, end: usize) -> Stats {
        let (control_stats, counters) = (self.both[end].control_stats(), self.both[end].counters());
        Stats {
            acks_sent: counters.without_data,
            segments_sent: counters.with_data,
            bytes_sent: counters.bytes,
            segments_retransmitted: counters.lost,
            fast_retransmits: control_stats.reductions,
            rtt_samples: control_stats.rtt_samples,
            rtt_sum: control_stats.rtt_sum,
            rtt_min: (control_stats.rtt_samples > 0)
                .then(|| Interval::from_nanos(control_stats.rtt_min)),
            rtt_max: Interval::from_nanos(control_stats.rtt_max),
            rto_sum: UNCOUNTED,
            dummies_sent: UNCOUNTED,
            dummies_acked: UNCOUNTED,
            dup_acks: UNCOUNTED,
            undos: UNCOUNTED,
            timeouts: UNCOUNTED,
            timeouts_repeated: UNCOUNTED,
            segments_duplicate: UNCOUNTED,
            segments_out_of_order: UNCOUNTED,
            probes: UNCOUNTED,
            tail_probes: UNCOUNTED,
            ..Stats::default()
        }
    }
}
