//! Checks link-protocol entities against scripts of frames, `arq/*.frames`.
//!
//! A script lists the inputs and all expected outputs of an entity, with times in milliseconds:
//!
//! ```text
//! protocol mdlp window=7 t200=1000   # lapb, mdlp or rlp, with its parameters
//! frame 50                           # time that the MAC needs for any frame
//! 0 put 2                            # two packets are offered
//! 0 > I(0,0)                         # a frame is handed to the MAC
//! 60 < RR(1)                         # a frame arrives
//! 60 done 0                          # packet 0 is released
//! ```
//!
//! `up N` is the delivery of a packet, named by the N(S) of its frame. `drop N` is a discarded
//! frame, and `reset` means that the link is re-established. Frames to the MAC and deliveries are
//! always listed; `done`, `drop` and `reset` only in scripts that use them.

use farlink_link::arq::{
    Entity, Frame, FrameKind, GiveUp, Item, LapbConfig, MdlpConfig, Outcome, Protocol, RetryFrom,
    RlpConfig,
};
use farlink_tcp::{Instant, Interval};
use std::fmt::Write as _;

/// Returns an instant in milliseconds.
fn ms(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse()
        .unwrap_or_else(|_| panic!("{text:?} is not a number"))
}

fn from(value: &str) -> RetryFrom {
    match value {
        "first" => RetryFrom::FirstFrame,
        "last" => RetryFrom::LastFrame,
        other => panic!("from={other}: write first or last"),
    }
}

fn protocol(words: &[&str]) -> Protocol {
    let mut lapb = LapbConfig::default();
    let mut mdlp = MdlpConfig::default();
    let mut rlp = RlpConfig::default();
    for word in &words[1..] {
        let (key, value) = word.split_once('=').expect("key=value");
        let time = || Interval::from_millis(number(value));
        let yes = value == "yes";
        match (words[0], key) {
            ("lapb", "modulus") => lapb.modulus = number(value),
            ("lapb", "window") => lapb.window = number(value),
            ("lapb", "t1") => lapb.t1 = time(),
            ("lapb", "t2") => lapb.t2 = time(),
            ("lapb", "poll") => lapb.poll = yes,
            ("lapb", "from") => lapb.retry_from = from(value),
            ("lapb", "n2") => lapb.give_up = GiveUp::Reset(number(value)),
            ("lapb", "keep") => lapb.give_up = GiveUp::BestEffort(number(value)),
            ("mdlp", "modulus") => mdlp.modulus = number(value),
            ("mdlp", "window") => mdlp.window = number(value),
            ("mdlp", "t200") => mdlp.t200 = time(),
            ("mdlp", "t205") => mdlp.t205 = time(),
            ("mdlp", "sequence") => mdlp.in_sequence = yes,
            ("mdlp", "repeat") => mdlp.srej_repeat = yes,
            ("mdlp", "count") => mdlp.answer_ends_count = value == "answer",
            ("mdlp", "from") => mdlp.retry_from = from(value),
            ("mdlp", "n2") => mdlp.give_up = GiveUp::Reset(number(value)),
            ("mdlp", "keep") => mdlp.give_up = GiveUp::BestEffort(number(value)),
            ("rlp", "modulus") => rlp.modulus = number(value),
            ("rlp", "window") => rlp.window = number(value),
            ("rlp", "status") => rlp.status_period = time(),
            ("rlp", "min") => rlp.min_interval = time(),
            ("rlp", "sequence") => rlp.in_sequence = yes,
            ("rlp", "mrd") => rlp.max_recovery_delay = Some(time()),
            _ => panic!("unknown parameter {word}"),
        }
    }
    match words[0] {
        "lapb" => Protocol::Lapb(lapb),
        "mdlp" => Protocol::Mdlp(mdlp),
        "rlp" => Protocol::Rlp(rlp),
        other => panic!("unknown protocol {other}"),
    }
}

/// Parses a frame in the notation of a script.
fn frame(text: &str) -> Frame {
    let (name, rest) = text.split_once('(').unwrap_or((text, ")"));
    let inside = rest.strip_suffix(')').expect("a closing parenthesis");
    let mut parts: Vec<&str> = inside.split(',').filter(|part| !part.is_empty()).collect();
    let poll = matches!(parts.last(), Some(&("P" | "F")));
    if poll {
        parts.pop();
    }
    let at = |i: usize| parts.get(i).map_or(0, |part| number(part));
    let simple = |kind| Frame::control(kind, at(0), poll);
    match name {
        "I" => Frame {
            ns: at(0),
            item: Item {
                token: at(0).into(),
                len: 128,
            },
            ..Frame::control(FrameKind::Information, at(1), poll)
        },
        "RR" => simple(FrameKind::ReceiveReady),
        "REJ" => simple(FrameKind::Reject),
        "SREJ" => simple(FrameKind::SelectiveReject),
        "SABME" => simple(FrameKind::Sabme),
        "UA" => simple(FrameKind::Ua),
        "STATUS" => {
            let bits = parts.get(1).copied().unwrap_or_default();
            let set = |(i, bit): (usize, char)| u64::from(bit == '1') << i;
            Frame {
                bitmap: bits.chars().enumerate().map(set).sum(),
                ..simple(FrameKind::Status)
            }
        }
        other => panic!("unknown frame {other}"),
    }
}

/// Entity with a MAC that needs the same time for every frame.
struct Station {
    entity: Entity,
    frame_time: Interval,
    sending: Option<(Instant, Frame)>,
    packets: u32,
    listed: Vec<&'static str>,
    out: String,
}

impl Station {
    fn record(&mut self, now: Instant, what: &str) {
        let _ = writeln!(self.out, "{} {what}", ms(now));
    }

    fn record_outcomes(&mut self, now: Instant, outcomes: &mut Vec<Outcome>) {
        for outcome in outcomes.drain(..) {
            let (word, token) = match outcome {
                Outcome::Accepted(_) => continue,
                Outcome::Deliver(token) => ("up", Some(token)),
                Outcome::Discard(token) => ("drop", Some(token)),
                Outcome::Done(token) => ("done", Some(token)),
                Outcome::Reset => ("reset", None),
            };
            if word == "up" || self.listed.contains(&word) {
                let token = token.map_or(String::new(), |token| format!(" {token}"));
                self.record(now, &format!("{word}{token}"));
            }
        }
        if self.sending.is_none()
            && let Some(frame) = self.entity.poll_frame(outcomes)
        {
            self.sending = Some((now + self.frame_time, frame));
            self.record(now, &format!("> {frame:?}"));
        }
    }

    /// Processes all events until `now`.
    fn advance(&mut self, now: Instant) {
        let mut outcomes = Vec::new();
        loop {
            let confirm = self.sending.map_or(Instant::MAX, |(at, _)| at);
            let next = confirm.min(self.entity.deadline());
            if next > now {
                break;
            }
            if confirm == next {
                let (_, frame) = self.sending.take().expect("it is sending");
                self.entity.confirm(next, &frame);
            } else {
                self.entity.timeout(next, &mut outcomes);
            }
            self.record_outcomes(next, &mut outcomes);
        }
    }

    fn put(&mut self, now: Instant, packets: u32) {
        for _ in 0..packets {
            let token = self.packets;
            self.packets += 1;
            self.entity.offer(Item { token, len: 128 });
        }
        self.record_outcomes(now, &mut Vec::new());
    }

    fn receive(&mut self, now: Instant, frame: &Frame) {
        let mut outcomes = Vec::new();
        self.entity.receive(now, frame, &mut outcomes);
        self.record_outcomes(now, &mut outcomes);
    }
}

/// Runs a script. Returns the expected and the actual outputs.
fn run(script: &str) -> (String, String) {
    let mut station = None;
    let mut frame_time = Interval::from_millis(50);
    let mut expected = String::new();
    let report = ["done", "drop", "reset"]
        .into_iter()
        .filter(|word| {
            script
                .lines()
                .any(|line| line.split_whitespace().nth(1) == Some(word))
        })
        .collect::<Vec<_>>();
    let mut wanted = None;
    for line in script.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            ["protocol", rest @ ..] => wanted = Some(protocol(rest)),
            ["frame", time] => frame_time = Interval::from_millis(number(time)),
            [time, rest @ ..] => {
                let now = Instant::from_nanos(number::<u64>(time) * 1_000_000);
                let station = station.get_or_insert_with(|| Station {
                    entity: Entity::new(wanted.as_ref().expect("a protocol first"))
                        .expect("parameters that can be"),
                    frame_time,
                    sending: None,
                    packets: 0,
                    listed: report.clone(),
                    out: String::new(),
                });
                station.advance(now);
                match rest {
                    ["put", packets] => station.put(now, number(packets)),
                    ["<", text] => station.receive(now, &frame(text)),
                    ["end"] => {}
                    _ => {
                        let _ = writeln!(expected, "{time} {}", rest.join(" "));
                    }
                }
            }
        }
    }
    let out = station.map(|station| station.out).unwrap_or_default();
    (expected, out)
}

#[test]
fn scripts_of_frames() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/arq");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of scripts")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(paths.len() > 15, "scripts are missing");
    for path in paths {
        let script = std::fs::read_to_string(&path).expect("a script");
        assert!(script.starts_with("# "), "{path:?} does not say what for");
        let (expected, out) = run(&script);
        assert_eq!(
            out,
            expected,
            "{:?}: left what happened, right what the script says",
            path.file_name()
        );
    }
}

#[test]
fn frame_notation_round_trips() {
    for text in [
        "I(2,7)",
        "I(6,0,P)",
        "RR(1)",
        "RR(1,F)",
        "REJ(3)",
        "SREJ(127)",
        "STATUS(3)",
        "STATUS(3,0101)",
    ] {
        assert_eq!(format!("{:?}", frame(text)), text);
    }
}
