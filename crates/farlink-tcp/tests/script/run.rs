//! Plays a script against a [`Connection`] on a virtual clock.

use super::options::interval;
use super::packet::{Numbering, Packet, show};
use super::{Check, Failure, Line, Relation, Script, Seconds, Step, Time};
use farlink_tcp::{
    AccEcnOption, Connection, Dscp, Ecn, FastOpenCache, FastOpenCookie, FieldOrder, Flags, Instant,
    Interval, Notice, Segment, Seq, Timestamps,
};
use std::collections::VecDeque;
use std::fmt::Display;
use std::sync::Arc;

/// Our port and the peer's.
pub(crate) const PORT: u16 = 1;
pub(crate) const PEER_PORT: u16 = 2;

/// Packets before the failing one that a message shows.
const SHOWN_PACKETS: usize = 8;

/// Time-outs in a row at one instant that count as a livelock.
const MAX_TIMEOUTS_AT_ONCE: u32 = 100;

/// The peer's clock in its SYN when `handshake` plays it.
const PEER_TIMESTAMP: u32 = 1000;

/// Plays the script. The error names the first line of the script that does not hold.
pub(crate) fn run(script: &Script) -> Result<(), Failure> {
    let mut player = Player {
        script,
        now: Instant::ZERO,
        connection: None,
        left: VecDeque::new(),
        log: Vec::new(),
    };
    for line in &script.lines {
        player.play(line).map_err(|message| {
            let first = player.log.len().saturating_sub(SHOWN_PACKETS);
            let history = player.log[first..].join("\n        ");
            let message = format!(
                "{}\n    {message}\n    packets so far:\n        {history}",
                line.text
            );
            Failure::new(line.number, message)
        })?;
    }
    let last = script.lines.last().map_or(1, |line| line.number);
    player
        .nothing_left()
        .map_err(|message| Failure::new(last, message))
}

struct Player<'a> {
    script: &'a Script,
    now: Instant,
    connection: Option<Connection>,
    /// Sent packets that no line of the script has expected yet.
    left: VecDeque<(Instant, Segment)>,
    /// Packets so far in the notation of scripts.
    log: Vec<String>,
}

impl Player<'_> {
    fn play(&mut self, line: &Line) -> Result<(), String> {
        let at = match line.time {
            Time::After(interval) => self.now + interval,
            Time::At(interval) => Instant::ZERO + interval,
        };
        if at < self.now {
            return Err(format!("it is {} already", seconds(self.now)));
        }
        match &line.step {
            Step::Expect(packet) => return self.expect(packet, at),
            // Assertions are checked after all events that are due at `at`.
            Step::Assert(_) | Step::Event(_) => self.advance(at, |due, at| due <= at)?,
            // Actions of a script come before time-outs at the same time.
            _ => self.advance(at, |due, at| due < at)?,
        }
        self.nothing_left()?;
        match &line.step {
            Step::Expect(_) => unreachable!("handled above"),
            Step::Connect { bytes } => {
                let mut connection = self.open();
                let taken = connection.write_len(*bytes).map_err(|e| e.to_string())?;
                equal("bytes taken", *bytes, taken)?;
                self.connection = Some(connection);
            }
            Step::Listen => {
                let config = Arc::new(self.script.config.clone());
                let mut connection = Connection::listen(config, PORT, self.ours().sender);
                if let Some(cookie) = self.script.cookie {
                    connection.set_fast_open_cookie(FastOpenCookie(cookie));
                }
                self.connection = Some(connection);
            }
            Step::Handshake { rtt, window } => self.handshake(*rtt, *window)?,
            Step::Inject(packet) => {
                let segment = packet.segment(self.theirs())?;
                self.arrive(&segment)?;
            }
            Step::Damaged(packet) => {
                let segment = packet.segment(self.theirs())?;
                self.connection()?.on_damaged(&segment);
            }
            Step::Lost(cause, packet) => {
                let segment = packet.segment(self.theirs())?;
                self.connection()?.on_loss_notice(&segment, *cause);
            }
            Step::BadState { seq, believed } => {
                let seq = self.ours().sender.at(u64::from(*seq));
                let now = self.now;
                let got = self.connection()?.on_notice(now, Notice::BadState { seq });
                if got != *believed {
                    return Err(format!("believed: {got}"));
                }
            }
            Step::PathMtu { mtu, ip, believed } => {
                let got = self.connection()?.on_path_mtu(*mtu, *ip, 0);
                if got != *believed {
                    return Err(format!("believed: {got}"));
                }
            }
            Step::Write { bytes, taken } => {
                let got = self.connection()?.write_len(*bytes);
                equal("bytes taken", *taken, got.map_err(|e| e.to_string())?)?;
            }
            Step::Read { bytes } => {
                let got = self.connection()?.read_len(bytes.unwrap_or(u64::MAX));
                equal("bytes read", bytes.unwrap_or(got), got)?;
            }
            Step::Shutdown => {
                let now = self.now;
                self.connection()?.shutdown(now);
            }
            Step::Close => {
                let now = self.now;
                self.connection()?.close(now);
            }
            Step::Abort => {
                let now = self.now;
                self.connection()?.abort(now);
            }
            Step::Assert(checks) => checks.iter().try_for_each(|check| self.check(check))?,
            Step::Event(expected) => {
                let event = self.connection()?.poll_event();
                let got = event.map_or("none".to_owned(), |event| format!("{event:?}"));
                if !expected.eq_ignore_ascii_case(&got) {
                    return Err(format!("the event is {got}"));
                }
            }
        }
        self.transmit();
        Ok(())
    }

    /// Moves the clock to `at` and fires all time-outs that are due.
    fn advance(&mut self, at: Instant, due: fn(Instant, Instant) -> bool) -> Result<(), String> {
        let mut at_once = 0;
        while let Some(timeout) = self.due(at, due) {
            at_once = if timeout > self.now { 0 } else { at_once + 1 };
            if at_once > MAX_TIMEOUTS_AT_ONCE {
                return Err(format!(
                    "the timer goes off for ever at {}",
                    seconds(self.now)
                ));
            }
            self.time_out(timeout);
        }
        self.now = at;
        Ok(())
    }

    /// Moves the clock until `packet` is sent, which must be at `at`, within the script's
    /// tolerance.
    fn expect(&mut self, packet: &Packet, at: Instant) -> Result<(), String> {
        let latest = at + self.script.tolerance;
        while self.left.is_empty()
            && let Some(timeout) = self.due(latest, |due, at| due <= at)
        {
            let stuck = timeout <= self.now;
            self.time_out(timeout);
            if stuck && self.left.is_empty() && self.due(self.now, |due, at| due <= at).is_some() {
                return Err(format!(
                    "the timer goes off for ever at {}",
                    seconds(self.now)
                ));
            }
        }
        let Some((time, segment)) = self.left.pop_front() else {
            self.now = at;
            return Err("no packet left".into());
        };
        let off = if time > at {
            time.since(at)
        } else {
            at.since(time)
        };
        let numbering = self.ours();
        if off > self.script.tolerance || !packet.matches(&segment, numbering) {
            return Err(format!(
                "expected at {}, got at {}: > {}",
                seconds(at),
                seconds(time),
                show(&segment, numbering)
            ));
        }
        self.now = time.max(self.now);
        Ok(())
    }

    fn due(&self, at: Instant, due: fn(Instant, Instant) -> bool) -> Option<Instant> {
        let timeout = self.connection.as_ref()?.next_timeout()?;
        due(timeout, at).then_some(timeout)
    }

    fn time_out(&mut self, timeout: Instant) {
        self.now = self.now.max(timeout);
        if let Some(connection) = &mut self.connection {
            connection.on_timeout(self.now);
        }
        self.transmit();
    }

    /// Collects the packets that the connection sends now.
    fn transmit(&mut self) {
        let numbering = self.ours();
        let Some(connection) = &mut self.connection else {
            return;
        };
        while let Some(segment) = connection.poll_transmit(self.now) {
            self.log.push(format!(
                "{} > {}",
                seconds(self.now),
                show(&segment, numbering)
            ));
            self.left.push_back((self.now, segment));
        }
    }

    fn arrive(&mut self, segment: &Segment) -> Result<(), String> {
        self.log.push(format!(
            "{} < {}",
            seconds(self.now),
            show(segment, self.theirs())
        ));
        let now = self.now;
        self.connection()?.on_segment(now, segment);
        self.transmit();
        Ok(())
    }

    fn nothing_left(&self) -> Result<(), String> {
        match self.left.front() {
            None => Ok(()),
            Some((time, segment)) => Err(format!(
                "a packet left that no line expects, at {}: > {}",
                seconds(*time),
                show(segment, self.ours())
            )),
        }
    }

    fn open(&self) -> Connection {
        let config = Arc::new(self.script.config.clone());
        let mut connection = Connection::open(config, PORT, PEER_PORT, self.ours().sender);
        if let Some(cookie) = self.script.cookie {
            connection.set_fast_open_cache(FastOpenCache {
                cookie: FastOpenCookie(cookie),
                mss: self.script.cookie_mss,
            });
        }
        connection
    }

    fn handshake(&mut self, rtt: Interval, window: u16) -> Result<(), String> {
        self.connection = Some(self.open());
        self.transmit();
        let (_, syn) = self.left.pop_front().ok_or("no SYN left")?;
        let setup = Flags::ECE.with(Flags::CWR);
        let ecn = syn.flags.has(setup);
        let accurate = ecn && syn.ae;
        if syn.flags != Flags::SYN && syn.flags != Flags::SYN.with(setup) {
            return Err("the first packet is not a SYN".into());
        }
        self.advance(self.now + rtt, |due, at| due < at)?;
        self.nothing_left()?;
        let mut options = syn.options.clone();
        options.accecn = accurate.then(|| AccEcnOption::new(FieldOrder::Ect0First, &[1, 0, 1]));
        options.timestamps = syn.options.timestamps.map(|ours| Timestamps {
            value: PEER_TIMESTAMP,
            echo: ours.value,
        });
        self.arrive(&Segment {
            src_port: PEER_PORT,
            dst_port: PORT,
            seq: self.theirs().sender,
            ack: syn.seq.at(1),
            flags: if accurate {
                Flags::SYN.with(Flags::ACK).with(Flags::CWR)
            } else if ecn {
                Flags::SYN.with(Flags::ACK).with(Flags::ECE)
            } else {
                Flags::SYN.with(Flags::ACK)
            },
            ecn: Ecn::NotEct,
            ae: false,
            dscp: Dscp::DEFAULT,
            dummy: false,
            window,
            options,
            body: syn.body,
        })?;
        let (_, ack) = self
            .left
            .pop_front()
            .ok_or("the SYN-ACK is not acknowledged")?;
        let flags = if accurate {
            Flags::ACK.with(Flags::CWR)
        } else {
            Flags::ACK
        };
        if ack.flags != flags || ack.seq_len() != 0 {
            return Err("the SYN-ACK is not answered with an ACK".into());
        }
        while self.connection()?.poll_event().is_some() {}
        Ok(())
    }

    fn check(&mut self, check: &Check) -> Result<(), String> {
        let connection = self.connection()?;
        let estimator = connection.rtt();
        let value = match check.key.as_str() {
            "state" => {
                let got = plain(&format!("{:?}", connection.state()));
                return match check.relation {
                    Relation::Eq if got == plain(&check.value) => Ok(()),
                    Relation::Ne if got != plain(&check.value) => Ok(()),
                    Relation::Eq | Relation::Ne => Err(format!("state is {got}")),
                    _ => Err("a state is compared by == or !=".into()),
                };
            }
            "cwnd" => connection.cwnd(),
            "cookie" => connection.fast_open_cache().map_or(0, |c| c.cookie.0),
            "ssthresh" => connection.ssthresh(),
            "flight" => connection.flight(),
            "dsacks" => connection.stats().dsacks,
            "dup_acks" => connection.stats().dup_acks,
            "undos" => connection.stats().undos,
            "dummies_sent" => connection.stats().dummies_sent,
            "dummies_acked" => connection.stats().dummies_acked,
            "tail_probes" => connection.stats().tail_probes,
            "fast_retransmits" => connection.stats().fast_retransmits,
            "timeouts" => connection.stats().timeouts,
            "rto" => connection.rto().as_nanos(),
            "srtt" => estimator.srtt().unwrap_or_default().as_nanos(),
            "rttvar" => estimator.deviation().as_nanos(),
            key => return Err(format!("{key:?} is nothing to assert")),
        };
        let is_time = matches!(check.key.as_str(), "rto" | "srtt" | "rttvar");
        let expected = match check.value.as_str() {
            "unlimited" => u64::MAX,
            text if is_time => interval(text)?.as_nanos(),
            text => super::options::number(text)?,
        };
        if check.relation.holds(value, expected) {
            return Ok(());
        }
        let shown = if is_time {
            Seconds(Interval::from_nanos(value)).to_string()
        } else {
            value.to_string()
        };
        Err(format!("{} is {shown}", check.key))
    }

    fn connection(&mut self) -> Result<&mut Connection, String> {
        self.connection
            .as_mut()
            .ok_or_else(|| "there is no connection yet".into())
    }

    /// Returns our timestamp clock at time zero.
    fn clock(&self) -> u32 {
        self.connection
            .as_ref()
            .map_or(0, Connection::timestamp_offset)
    }

    /// Returns the numbering of sent packets.
    fn ours(&self) -> Numbering {
        Numbering {
            sender: Seq(self.script.isn),
            receiver: Seq(self.script.peer_isn),
            sender_clock: self.clock(),
            receiver_clock: 0,
        }
    }

    /// Returns the numbering of received packets.
    fn theirs(&self) -> Numbering {
        Numbering {
            sender: Seq(self.script.peer_isn),
            receiver: Seq(self.script.isn),
            sender_clock: 0,
            receiver_clock: self.clock(),
        }
    }
}

fn seconds(at: Instant) -> impl Display {
    Seconds(at.since(Instant::ZERO))
}

fn equal(what: &str, expected: u64, got: u64) -> Result<(), String> {
    if expected == got {
        Ok(())
    } else {
        Err(format!("{what}: {got}"))
    }
}

/// Returns a state's name without punctuation, so that `SYN-SENT`, `SynSent` and `SYN_SENT` are
/// equal.
fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_uppercase())
        .collect()
}
