//! Both ends of a connection.

use super::seen::{Happened, Progress, Seen, Sending, UNCOUNTED};
use crate::scenario::{QuicControl, QuicSpec, QuicTable, Time};
use farlink_channel::rng::Stream;
use farlink_quic::{Acks, Config, Control, End, Exchange, Sessions, Side};
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
        keeps_alive: spec.program().is_some(),
        initial_rtt: spec.transport.initial_rtt.map(duration),
        streams: match spec.program() {
            Some(_) => 1,
            None => spec.transport.streams(),
        },
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
    spec: QuicSpec,
    finds_mtu: bool,
    /// Sessions of TLS that both ends remember, with 0-RTT.
    sessions: Option<Box<Sessions>>,
    random: Stream,
    /// Number of connections.
    connections: u64,
    /// Counters and bytes of earlier connections, of each end.
    past: [(Stats, u64); 2],
    /// Lines of a key log file for earlier connections.
    past_secrets: String,
    /// Logs of earlier connections, of each end; `None` without logs.
    logs: Option<Box<[String; 2]>>,
    /// Set if the ends keep a trace.
    traced: bool,
    /// Set if a connection could not begin.
    broken: bool,
}

/// Creates both ends of a connection with random numbers from `random`, the data sender's first.
fn pair(
    spec: &QuicSpec,
    client: usize,
    finds_mtu: bool,
    sessions: Option<&Sessions>,
    random: &mut Stream,
) -> Result<[End; 2], String> {
    let mut end = |is_client: bool, len: u64| {
        let config = config(spec, finds_mtu, random);
        let side = if is_client {
            Side::Client
        } else {
            Side::Server
        };
        let mut end = End::resuming(side, config, len, sessions)?;
        if spec.program().is_some() {
            end.hold();
        }
        Ok::<_, String>(end)
    };
    let from = end(client == 0, spec.size.unwrap_or(u64::MAX))?;
    let to = end(client == 1, spec.reverse)?;
    Ok([from, to])
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
        let client = usize::from(!sender_opens);
        let sessions = if spec.transport.zero_rtt() {
            let mut end = || config(spec, finds_mtu, &mut random);
            Some(Box::new(Sessions::known(end(), end())?))
        } else {
            None
        };
        Ok(Self {
            both: pair(spec, client, finds_mtu, sessions.as_deref(), &mut random)?,
            sessions,
            client,
            closed: false,
            spec: *spec,
            finds_mtu,
            random,
            connections: 1,
            past: Default::default(),
            past_secrets: String::new(),
            logs: None,
            traced: false,
            broken: false,
        })
    }

    /// Opens a new connection in place of the current one.
    pub(crate) fn renew(&mut self, now: Instant) {
        let known = self.sessions.as_deref();
        let made = pair(
            &self.spec,
            self.client,
            self.finds_mtu,
            known,
            &mut self.random,
        );
        let Ok(both) = made else {
            self.broken = true;
            return;
        };
        for end in 0..2 {
            self.past[end] = (self.counted(end), self.read(end));
        }
        self.past_secrets = self.secrets();
        if let Some(logs) = &mut self.logs {
            for (log, end) in logs.iter_mut().zip(&self.both) {
                log.push_str(end.qlog());
            }
        }
        let positions = [0, 1].map(|end: usize| self.both[end].position());
        self.both = both;
        if self.traced {
            for (end, base) in self.both.iter_mut().zip(positions) {
                end.trace(base);
            }
        }
        if self.logs.is_some() {
            for end in &mut self.both {
                end.log(self.connections);
            }
        }
        self.connections += 1;
        self.open(now);
    }

    /// Starts the logs of both ends.
    pub(crate) fn log(&mut self) {
        self.logs = Some(Box::default());
        for end in &mut self.both {
            end.log(0);
        }
    }

    /// Starts the traces of both ends.
    pub(crate) fn trace(&mut self) {
        self.traced = true;
        for end in &mut self.both {
            end.trace(0);
        }
    }

    /// Returns the changes of the data that an end has sent, since the last call.
    pub(crate) fn progress(&mut self, end: usize) -> Vec<Progress> {
        self.both[end]
            .progress()
            .into_iter()
            .map(|change| match change {
                farlink_quic::Progress::Sent { seq, len, again } => {
                    Progress::Sent { seq, len, again }
                }
                farlink_quic::Progress::Acked { ack, window } => Progress::Acked { ack, window },
                farlink_quic::Progress::Beyond { left, right } => Progress::Beyond { left, right },
            })
            .collect()
    }

    /// Returns the logs of both ends by their role; none if they were not started.
    pub(crate) fn qlogs(&self) -> Vec<(&'static str, String)> {
        let Some(logs) = &self.logs else {
            return Vec::new();
        };
        let role = |end| {
            if end == self.client {
                "client"
            } else {
                "server"
            }
        };
        let text = |end: usize| logs[end].clone() + self.both[end].qlog();
        (0..2).map(|end| (role(end), text(end))).collect()
    }

    /// Returns the number of connections so far.
    pub(crate) fn connections(&self) -> u64 {
        self.connections
    }

    /// Returns the end that opens connections.
    pub(crate) fn client(&self) -> usize {
        self.client
    }

    /// Adds data to the stream of an end.
    pub(crate) fn write(&mut self, end: usize, len: u64) {
        self.both[end].write(len);
    }

    /// Ends the stream of an end.
    pub(crate) fn finish(&mut self, end: usize) {
        self.both[end].finish();
    }

    /// Returns whether the peer has acknowledged all data of an end.
    pub(crate) fn is_acknowledged(&self, end: usize) -> bool {
        self.both[end].is_acknowledged()
    }

    /// Returns whether the connection has ended at an end.
    pub(crate) fn has_ended(&self, end: usize) -> bool {
        self.broken || self.both[end].fault().is_some()
    }

    /// Sends a request from a client.
    pub(crate) fn request(&mut self, end: usize, len: u64) {
        self.both[end].request(len);
    }

    /// Sends the answer to a request from a server.
    pub(crate) fn answer(&mut self, end: usize, number: u64, len: u64) {
        self.both[end].answer(number, len);
    }

    /// Returns the next event of the requests and answers at an end.
    pub(crate) fn happened(&mut self, end: usize) -> Option<Happened> {
        Some(match self.both[end].exchange()? {
            Exchange::Connected => Happened::Connected,
            Exchange::Request(number) => Happened::Request(number),
            Exchange::Answer(number) => Happened::Answer(number),
        })
    }

    /// Closes the connection.
    pub(crate) fn close(&mut self, end: usize, now: Instant) {
        self.both[end].close(now.as_nanos());
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
        let all = from.is_acknowledged() && (self.spec.reverse == 0 || to.is_acknowledged());
        if end == 0 && all && !self.closed && self.spec.program().is_none() {
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
        self.broken || self.both.iter().any(|end| end.fault().is_some())
    }

    pub(crate) fn read(&self, end: usize) -> u64 {
        self.past[end].1 + self.both[end].read()
    }

    /// Returns the lines of a key log file.
    pub(crate) fn secrets(&self) -> String {
        self.past_secrets.clone() + &self.both[self.client].secrets()
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

    /// Returns the counters of all connections.
    fn counted(&self, end: usize) -> Stats {
        let (control_stats, counters) = (self.both[end].control_stats(), self.both[end].counters());
        let mut stats = Stats {
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
            ..Stats::default()
        };
        stats.add(&self.past[end].0);
        stats
    }

    /// Returns the counters of all connections, with [`UNCOUNTED`] for what quinn does not count.
    pub(crate) fn stats(&self, end: usize) -> Stats {
        Stats {
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
            ..self.counted(end)
        }
    }
}
