//! Reads a script.

use super::options::{apply, interval, number};
use super::packet::Packet;
use super::{Check, Failure, Line, Relation, Script, Step, Time};
use farlink_tcp::{Config, Interval, IpVersion, LossCause};

/// Default initial sequence numbers: any values but zero.
const ISN: u32 = 10_000;
const PEER_ISN: u32 = 4_000_000_000;

/// Parses the text of a script.
pub(crate) fn parse(text: &str) -> Result<Script, Failure> {
    let mut script = Script {
        config: Config::default(),
        isn: ISN,
        peer_isn: PEER_ISN,
        cookie: None,
        cookie_mss: 1460,
        tolerance: Interval::ZERO,
        lines: Vec::new(),
    };
    let purpose = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("// "));
    if purpose.is_none_or(|purpose| purpose.trim().is_empty()) {
        return Err(Failure::new(
            1,
            "the first line is `// ` and what the script shows",
        ));
    }
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let fail = |message: String| Failure::new(number, message);
        let line = line.split("//").next().unwrap_or_default().trim();
        if line.is_empty() {
        } else if line.starts_with("--") {
            if !script.lines.is_empty() {
                return Err(fail("options come before the first timed line".into()));
            }
            apply(&mut script, line).map_err(fail)?;
        } else {
            let (time, step) = timed(line).map_err(fail)?;
            script.lines.push(Line {
                number,
                text: line.to_owned(),
                time,
                step,
            });
        }
    }
    Ok(script)
}

fn timed(line: &str) -> Result<(Time, Step), String> {
    let (time, rest) = line
        .split_once(' ')
        .ok_or("a timed line is TIME and what happens")?;
    let time = match time.strip_prefix('+') {
        Some(after) => Time::After(interval(after)?),
        None => Time::At(interval(time)?),
    };
    let rest = rest.trim();
    let (verb, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let rest = rest.trim();
    let step = match verb {
        "<" => Step::Inject(Packet::parse(rest)?),
        ">" => Step::Expect(Packet::parse(rest)?),
        "damaged" => Step::Damaged(Packet::parse(rest)?),
        "lost" => match rest.split_once(' ') {
            Some(("congestion", rest)) => Step::Lost(LossCause::Congestion, Packet::parse(rest)?),
            Some(("corruption", rest)) => Step::Lost(LossCause::Corruption, Packet::parse(rest)?),
            _ => return Err("lost congestion PACKET, or lost corruption PACKET".into()),
        },
        "bad_state" => Step::BadState {
            seq: number(rest.trim_end_matches("= ignored").trim())?,
            believed: !rest.ends_with("ignored"),
        },
        "path_mtu" | "path_mtu6" => Step::PathMtu {
            ip: if verb == "path_mtu" {
                IpVersion::V4
            } else {
                IpVersion::V6
            },
            mtu: number(rest.trim_end_matches("= ignored").trim())?,
            believed: !rest.ends_with("ignored"),
        },
        "write" => {
            let (bytes, taken) = rest.split_once('=').unwrap_or((rest, rest));
            Step::Write {
                bytes: number(bytes.trim())?,
                taken: number(taken.trim())?,
            }
        }
        "read" if rest.is_empty() => Step::Read { bytes: None },
        "read" => Step::Read {
            bytes: Some(number(rest)?),
        },
        "handshake" => handshake(rest)?,
        "event" if !rest.is_empty() => Step::Event(rest.to_owned()),
        "assert" => Step::Assert(rest.split(',').map(check).collect::<Result<_, _>>()?),
        "connect" if rest.is_empty() => Step::Connect { bytes: 0 },
        "connect" => Step::Connect {
            bytes: number(rest)?,
        },
        "listen" if rest.is_empty() => Step::Listen,
        "shutdown" if rest.is_empty() => Step::Shutdown,
        "close" if rest.is_empty() => Step::Close,
        "abort" if rest.is_empty() => Step::Abort,
        _ => {
            return Err(format!(
                "{verb:?} is nothing that can happen, or has a wrong argument"
            ));
        }
    };
    Ok((time, step))
}

/// Parses `rtt TIME win N`.
fn handshake(text: &str) -> Result<Step, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["rtt", rtt, "win", window] => Ok(Step::Handshake {
            rtt: interval(rtt)?,
            window: number(window)?,
        }),
        _ => Err("a handshake is: handshake rtt TIME win N".into()),
    }
}

fn check(text: &str) -> Result<Check, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [key, relation, value] = words.as_slice() else {
        return Err(format!("{:?} is not KEY RELATION VALUE", text.trim()));
    };
    let relation = match *relation {
        "==" => Relation::Eq,
        "!=" => Relation::Ne,
        "<" => Relation::Lt,
        "<=" => Relation::Le,
        ">" => Relation::Gt,
        ">=" => Relation::Ge,
        _ => return Err(format!("unknown relation {relation:?}")),
    };
    Ok(Check {
        key: (*key).to_owned(),
        relation,
        value: (*value).to_owned(),
    })
}
