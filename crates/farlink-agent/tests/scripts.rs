//! Runs every script below tests/agents. A script lists packets that enter a router with an agent
//! and all packets that leave it, with times and sides. docs/packet-scripts.md defines the
//! notation.

#[allow(
    dead_code,
    unused_imports,
    reason = "the notation of packets is that of the scripts of endpoints, which use more of it"
)]
#[path = "../../farlink-tcp/tests/script/mod.rs"]
mod script;

use farlink_agent::{
    Action, Agent, Crossing, Ebsn, Eln, LinkEvent, Out, Repair, SackHandling, SenderNotices, Snoop,
    SnoopConfig, Split, SplitSettings, Spoof, SpoofSettings, Tag, TimerStart, Verdict, View,
};
use farlink_tcp::{Config, Flags, Instant, Interval, Segment, Seq, variant};
use farlink_wire::fragment::{IPV4_HEADER_LEN, Piece};
use farlink_wire::{Addresses, Datagram, FlowId, Ip, NodeId, Packet, PacketId, Payload, Raw, icmp};
use script::options::{interval, number, set};
use script::packet::{Numbering, Packet as Written, show};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sides of the router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Fixed,
    Mobile,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Fixed => Self::Mobile,
            Self::Mobile => Self::Fixed,
        }
    }
}

/// Initial sequence numbers of the fixed and the mobile host. Those of the fixed host wrap early.
const ISNS: [u32; 2] = [u32::MAX - 1500, 7_000];

/// Ports of the fixed and of the mobile host for each connection of a script.
const PORTS: [[u16; 2]; 2] = [[5001, 40_000], [5002, 40_000]];

/// Output of the router.
#[derive(Debug)]
enum Left {
    Segment(Side, Segment),
    /// Packet that no agent parses, forwarded unchanged.
    Same(Side),
    /// Notice to the fixed host that a segment could not be delivered.
    Stuck(Seq),
}

struct Play {
    agent: Box<dyn Agent>,
    real: bool,
    now: Instant,
    left: VecDeque<Left>,
    /// Packets that the wireless transmitter has not sent; the script sets the times. `None` if
    /// each packet is sent at once.
    waiting: Option<VecDeque<Tag>>,
    /// Initial sequence number that each side of a connection sees for the other end. It differs
    /// from the host's own number if the agent answers the SYN itself.
    peer_isn: [[Seq; 2]; 2],
    numbers_itself: bool,
}

impl Play {
    /// Returns the numbering of a packet from `sender` as seen on side `at` of the router.
    fn numbering(&self, connection: usize, sender: Side, at: Side) -> Numbering {
        let isn = |side: Side| {
            if side == at {
                Seq(ISNS[side as usize])
            } else {
                self.peer_isn[connection][at as usize]
            }
        };
        Numbering {
            sender: isn(sender),
            receiver: isn(sender.other()),
            sender_clock: 0,
            receiver_clock: 0,
        }
    }

    fn packet(&self, from: Side, segment: Segment) -> Packet {
        let (src, dst) = match from {
            Side::Fixed => (NodeId(0), NodeId(2)),
            Side::Mobile => (NodeId(2), NodeId(0)),
        };
        let mut packet = Packet {
            src,
            dst,
            flow: FlowId(0),
            from_opener: from == Side::Fixed,
            ident: 0,
            ttl: 60,
            corrupt: false,
            ip: Ip::default(),
            piece: None,
            payload: Payload::Tcp(segment),
        };
        if let (true, Payload::Tcp(segment)) = (self.real, &mut packet.payload) {
            let bytes = vec![b'x'; segment.body.len() as usize];
            segment.body = farlink_tcp::Body::of_bytes(&bytes);
        }
        packet
    }

    fn record_output(&mut self, packet: &Packet) {
        let from = if packet.src == NodeId(0) {
            Side::Fixed
        } else {
            Side::Mobile
        };
        let segment = match &packet.payload {
            Payload::Raw(raw) => farlink_wire::decode_headers(raw.bytes()).expect("TCP").1,
            Payload::Tcp(segment) => segment.clone(),
            Payload::Udp(_) => panic!("no agent sends datagrams"),
        };
        let connection = connection_of(&segment);
        if self.numbers_itself && segment.flags.has(Flags::SYN.with(Flags::ACK)) {
            self.peer_isn[connection][from.other() as usize] = segment.seq;
        }
        self.left.push_back(Left::Segment(from, segment));
    }

    fn follow(&mut self, tag: Tag) {
        if let Some(waiting) = &mut self.waiting {
            waiting.push_back(tag);
            return;
        }
        let mut out = Out::default();
        let sent = LinkEvent::Departed(self.now);
        self.agent.on_sent(self.now, tag, sent, &mut out);
        assert!(out.actions.is_empty());
    }

    fn act(&mut self, out: Out) {
        for action in out.actions {
            match action {
                Action::Inject(injection) => {
                    self.record_output(&injection.packet);
                    if let Some(tag) = injection.follow {
                        self.follow(tag);
                    }
                }
                Action::Notify(about) => {
                    let raw = icmp::bad_state(NodeId(1), &about).expect("a message");
                    assert_eq!(raw.bytes().len(), 56);
                    self.left
                        .push_back(Left::Stuck(raw.bad_state_segment().expect("it reads").0));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Sends the packet described by `words` from this side.
    fn send_from(&mut self, from: Side, connection: usize, words: &str) -> Result<(), String> {
        let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
        let unread = matches!(word, "udp" | "esp" | "piece" | "damaged");
        let text = match (unread, rest) {
            (false, _) => words,
            (true, "") => ". 1:101(100) ack 1 win 9000",
            (true, rest) => rest,
        };
        let numbering = self.numbering(connection, from, from);
        let mut segment = Written::parse(text)?.segment(numbering)?;
        let [fixed, mobile] = PORTS[connection];
        (segment.src_port, segment.dst_port) = match from {
            Side::Fixed => (fixed, mobile),
            Side::Mobile => (mobile, fixed),
        };
        let mut packet = self.packet(from, segment);
        match word {
            "udp" => packet.payload = Payload::Udp(Datagram::default()),
            "piece" => {
                packet.ip = Ip::V4;
                let len = (packet.ip_len() - IPV4_HEADER_LEN) as u16;
                packet.piece = Some(Piece {
                    offset: 0,
                    // Every fragment but the last has a multiple of 8 bytes.
                    len: len - len % 8,
                    more: true,
                });
            }
            "damaged" => packet.corrupt = true,
            _ => {}
        }
        if self.real || word == "esp" {
            packet = as_bytes(&packet);
        }
        if let ("esp", Payload::Raw(raw)) = (word, &mut packet.payload) {
            *raw = encrypted(raw.bytes());
        }
        self.enters(from, packet, unread)
    }

    fn enters(&mut self, from: Side, mut packet: Packet, unread: bool) -> Result<(), String> {
        let crossing = match from {
            Side::Fixed => Crossing::ToWireless,
            Side::Mobile => Crossing::FromWireless,
        };
        let received = packet.clone();
        let mut out = Out::default();
        let mut view = View::new(&mut packet);
        let verdict = self
            .agent
            .cross(self.now, PacketId(0), crossing, &mut view, &mut out);
        self.act(out);
        match verdict {
            Verdict::Forward if unread && packet == received => {
                self.left.push_back(Left::Same(from));
            }
            _ if unread => return Err(format!("{verdict:?} or changed")),
            Verdict::Forward => self.record_output(&packet),
            Verdict::Follow(tag) => {
                self.record_output(&packet);
                self.follow(tag);
            }
            Verdict::Drop | Verdict::Absorb => {}
            Verdict::Hold => panic!("no agent holds packets"),
        }
        Ok(())
    }

    /// Fires all timers due before `at`, or until `at` with `and_then`.
    fn advance(&mut self, at: Instant, and_then: bool) -> Result<(), String> {
        while let Some(due) = self.agent.deadline() {
            if due > at || due == at && !and_then {
                break;
            }
            self.nothing_left()?;
            self.now = self.now.max(due);
            let mut out = Out::default();
            self.agent.on_deadline(self.now, &mut out);
            self.act(out);
            if self.now < at {
                self.nothing_left()?;
            }
        }
        Ok(())
    }

    fn show(&self, from: Side, segment: &Segment) -> String {
        let connection = connection_of(segment);
        show(segment, self.numbering(connection, from, from.other()))
    }

    fn nothing_left(&self) -> Result<(), String> {
        match self.left.front() {
            None => Ok(()),
            Some(Left::Segment(from, segment)) => {
                let what = self.show(*from, segment);
                Err(format!(
                    "this leaves, and no line says so: from {from:?}: {what}"
                ))
            }
            Some(Left::Same(from)) => Err(format!("what came from {from:?} leaves")),
            Some(Left::Stuck(seq)) => Err(format!("a notice about {} leaves", seq.0)),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (time, rest) = line.split_once(' ').ok_or("a time and what happens")?;
        let at = match time.strip_prefix('+') {
            Some(after) => self.now + interval(after)?,
            None => Instant::ZERO + interval(time)?,
        };
        let (what, rest) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
        let connection = usize::from(what.contains('2'));
        let what = what.replace('2', "");
        let what = what.as_str();
        // At the same instant arrivals are processed before time-outs.
        let leaves = matches!(what, ">F" | ">M" | "notice" | "nothing");
        self.advance(at, leaves)?;
        self.now = at;
        if !leaves {
            self.nothing_left()?;
        }
        match what {
            "F>" => self.send_from(Side::Fixed, connection, rest)?,
            "M>" => self.send_from(Side::Mobile, connection, rest)?,
            ">F" | ">M" => {
                let to = if what == ">F" {
                    Side::Fixed
                } else {
                    Side::Mobile
                };
                match self.left.pop_front() {
                    Some(Left::Same(side)) if side == to.other() && rest == "same" => {}
                    Some(Left::Segment(side, segment))
                        if side == to.other()
                            && connection_of(&segment) == connection
                            && Written::parse(rest)?
                                .matches(&segment, self.numbering(connection, side, to)) => {}
                    Some(Left::Segment(side, segment)) => {
                        let there = self.show(side, &segment);
                        return Err(format!("instead from {side:?}: {there}"));
                    }
                    other => return Err(format!("instead: {other:?}")),
                }
            }
            "notice" => match self.left.pop_front() {
                Some(Left::Stuck(seq)) if Seq(ISNS[0]).at(number::<u64>(rest)?) == seq => {}
                other => return Err(format!("instead: {other:?}")),
            },
            "nothing" => self.nothing_left()?,
            "left" | "refused" | "again" => {
                let waiting = self.waiting.as_mut().ok_or("left is for --queue")?;
                let tag = *waiting.front().ok_or("nothing waits")?;
                let sent = match (what, rest) {
                    ("left", "") => LinkEvent::Departed(self.now),
                    ("left", after) => LinkEvent::Departed(self.now + interval(after)?),
                    ("again", _) => LinkEvent::Retransmitted(self.now),
                    _ => LinkEvent::Refused,
                };
                if what != "again" {
                    waiting.pop_front();
                }
                let mut out = Out::default();
                self.agent.on_sent(self.now, tag, sent, &mut out);
                self.act(out);
            }
            "off" | "on" => self
                .agent
                .switch(self.now, what == "on", &mut Out::default()),
            "count" => {
                let (name, expected) = rest.split_once(" == ").ok_or("count NAME == N")?;
                let all = self.agent.counters(self.now);
                let entry = all.iter().find(|item| item.0 == name);
                let entry = entry.ok_or_else(|| format!("no counter {name}"))?.1;
                if entry.to_bits() != f64::from(number::<u32>(expected)?).to_bits() {
                    return Err(format!("{name} is {entry}"));
                }
            }
            other => return Err(format!("{other} is not known")),
        }
        Ok(())
    }
}

/// Returns the index of the segment's connection in [`PORTS`].
fn connection_of(segment: &Segment) -> usize {
    let is_of =
        |ports: &[u16; 2]| ports.contains(&segment.src_port) && ports.contains(&segment.dst_port);
    PORTS
        .iter()
        .position(is_of)
        .expect("a connection of the script")
}

/// Encodes the packet as raw bytes, as a real program would send it.
fn as_bytes(packet: &Packet) -> Packet {
    let bytes = farlink_wire::encode(packet, Addresses::of(packet)).expect("it has bytes");
    Packet {
        corrupt: false,
        piece: None,
        payload: Payload::Raw(Raw::new(bytes).expect("whole")),
        ..packet.clone()
    }
}

/// Turns the datagram into one of IPsec ESP (RFC 4303), whose payload no router can read.
fn encrypted(bytes: &[u8]) -> Raw {
    let mut bytes = bytes.to_vec();
    // Adapts the checksum to the changed protocol number.
    let check = u16::from_be_bytes([bytes[10], bytes[11]]);
    let more = u16::from(50 - bytes[9]);
    let (less, borrow) = check.overflowing_sub(more);
    bytes[9] = 50;
    bytes[10..12].copy_from_slice(&(less - u16::from(borrow)).to_be_bytes());
    Raw::new(bytes).expect("whole")
}

/// Returns the TCP parameters of one half of a split connection, from the keys `wired.KEY` or
/// `wireless.KEY`.
fn half(words: &[(&str, &str)], prefix: &str, buffer: u64) -> Result<Arc<Config>, String> {
    let row = variant::lookup("reno").ok_or("no reno")?;
    let mut config = (row.config)();
    config.send_buffer = buffer;
    for (key, value) in words {
        if let Some(key) = key.strip_prefix(prefix) {
            set(&mut config, key, value).map_err(|e| format!("{key}: {e}"))?;
        }
    }
    Ok(Arc::new(config))
}

/// Creates the agent for the option lines. The flag is set if the script controls the wireless
/// transmitter.
fn agent(options: &str) -> Result<(Box<dyn Agent>, bool), String> {
    let words = options
        .split_whitespace()
        .map(|word| word.split_once('=').unwrap_or((word, "")));
    let words: Vec<_> = words.collect();
    let mut config = SnoopConfig {
        // These values give a first time-out of 0.2 s.
        srtt: Interval::from_millis(100),
        rttvar: Interval::from_millis(25),
        tick: Interval::from_millis(20),
        ..SnoopConfig::DEFAULT
    };
    let (mut kind, mut queue) = ("snoop", false);
    let (mut protocol, mut negotiate, mut repeat) = ("full", true, false);
    let (mut early, mut linger, mut stack, mut buffer) = (true, None, Interval::ZERO, 64 << 10);
    for &(key, value) in &words {
        match key {
            "--agent" => {}
            "eln" | "snoop" | "ackp" | "ebsn" | "ebsn-plain" | "seqcache" | "split" | "spoof" => {
                kind = key;
            }
            "open" => early = value == "early",
            "linger" => linger = Some(interval(value)?),
            "stack_delay" => stack = interval(value)?,
            "buffer" => buffer = number(value)?,
            key if key.starts_with("wired.") || key.starts_with("wireless.") => {}
            "--queue" => queue = true,
            "protocol" => protocol = value,
            "negotiate" => negotiate = value == "true",
            "repeat" => repeat = value == "true",
            "cache" => config.cache = number(value)?,
            "memory" => config.memory = number(value)?,
            "tries" => config.tries = number(value)?,
            "tick" => config.tick = interval(value)?,
            "timer_from" => {
                config.timer_from = match value {
                    "arrival" => TimerStart::Arrival,
                    _ => TimerStart::Departure,
                }
            }
            "blind_after" => config.limits.blind_after = number(value)?,
            "connections" => config.limits.connections = number(value)?,
            "idle" => config.limits.idle = interval(value)?,
            "uploads" => config.uploads = value == "true",
            "sack_repair" => config.sack_repair = value == "true",
            "sack" => {
                config.sack = match value {
                    "mask" => SackHandling::Mask,
                    "off" => SackHandling::Off,
                    _ => SackHandling::Pass,
                }
            }
            other => return Err(format!("option {other} is not known")),
        }
    }
    config.notices = match (kind, protocol) {
        ("ackp", "initial") => SenderNotices::EachPacket { negotiate },
        ("ackp", _) => SenderNotices::Partial { negotiate, repeat },
        ("ebsn", _) => SenderNotices::BadState,
        _ => SenderNotices::Nothing,
    };
    if kind == "seqcache" {
        config.repair = Repair::Mark;
    }
    let limits = config.limits;
    if kind == "split" {
        let tcp = [
            half(&words, "wireless.", buffer)?,
            half(&words, "wired.", buffer)?,
        ];
        let split = Split::new(SplitSettings {
            tcp6: tcp.clone(),
            tcp,
            early,
            linger,
            stack_delay: stack,
            limits,
            far: None,
        });
        return Ok((Box::new(split), queue));
    }
    if kind == "spoof" {
        let tries = config.tries;
        let spoof = Spoof::new(SpoofSettings {
            buffer,
            tries,
            limits,
        });
        return Ok((Box::new(spoof), queue));
    }
    if kind == "ebsn-plain" {
        return Ok((Box::new(Ebsn::new(limits)), queue));
    }
    if kind == "eln" {
        return Ok((Box::new(Eln::new(limits)), queue));
    }
    Ok((Box::new(Snoop::new(config)), queue))
}

fn play(text: &str, real: bool) -> Result<(), String> {
    let mut lines = text.lines().enumerate();
    let first = lines.next().ok_or("an empty script")?.1;
    if !first.starts_with("// ") || !first.ends_with('.') {
        return Err("line 1: a sentence that says what it shows".into());
    }
    let mut options = String::new();
    let mut play: Option<Play> = None;
    for (number, line) in lines {
        let line = line.split("//").next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let at = |e: String| format!("line {}: {line}: {e}", number + 1);
        if line.starts_with("--") {
            options += line;
            options += " ";
            continue;
        }
        if play.is_none() {
            let (agent, queue) = agent(&options).map_err(at)?;
            play = Some(Play {
                agent,
                real,
                now: Instant::ZERO,
                left: VecDeque::new(),
                waiting: queue.then(VecDeque::new),
                peer_isn: [[Seq(ISNS[1]), Seq(ISNS[0])]; 2],
                numbers_itself: options.contains("--agent split")
                    && !options.contains("open=through"),
            });
        }
        if let Some(play) = &mut play {
            play.line(line).map_err(at)?;
        }
    }
    play.ok_or("nothing happens")?.nothing_left()
}

fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of scripts")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    all.sort();
    all
}

/// All scripts pass with simulated packets and with raw bytes.
#[test]
fn all_scripts_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents");
    let mut failed = Vec::new();
    let all = scripts(&folder);
    assert!(all.len() > 70, "{} scripts", all.len());
    for path in all {
        let text = std::fs::read_to_string(&path).expect("a script");
        for real in [false, true] {
            if let Err(message) = play(&text, real) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                failed.push(format!("{name} (bytes: {real}): {message}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A script fails if it expects an output that does not occur, or omits one that does.
#[test]
fn wrong_scripts_fail() {
    let data = "0 F> . 1:101(100) ack 1 win 9\n";
    for (rest, message) in [
        ("", "no line says so"),
        ("+0 >F . 1:101(100) ack 1\n", "instead from Fixed"),
        ("+0 >M . 1:201(200) ack 1\n", "instead from Fixed"),
        (
            "+0 >M . 1:101(100) ack 1\n+0 >M . 1:101(100) ack 1\n",
            "instead: None",
        ),
        (
            "+0 >M . 1:101(100) ack 1\n+9 count cached == 7\n",
            "no line says so",
        ),
        (
            "+0 >M . 1:101(100) ack 1\n+0 count cached == 7\n",
            "cached is 1",
        ),
        ("+0 >M . 1:101(100) ack 1\n+0 left\n", "--queue"),
    ] {
        let text = format!("// One packet.\n--agent snoop\n{data}{rest}");
        let error = play(&text, false).expect_err(rest);
        assert!(error.contains(message), "{rest}: {error}");
    }
}
