//! Events of the story and their sentences.

use super::StoryLine;
use super::rows::{NONE, Rows};
use crate::probe::QUANTITIES;
use crate::scenario::Expanded;
use farlink_agent::Act;
use farlink_channel::DropCause;
use farlink_small::Map;
use farlink_tcp::{Flags, Instant, Mark, Reason};

/// Names and units of the sentences.
pub(super) struct Words<'a> {
    scenario: &'a Expanded,
    /// Bytes of the longest segment of each flow and direction (forward or not).
    mss: Map<(u64, u64), u64>,
}

/// Rows of one end of a flow. `packets` has the first row of each packet that the end's direction
/// carries.
pub(super) struct End<'a> {
    pub(super) words: &'a Words<'a>,
    pub(super) flow: u32,
    pub(super) side: u8,
    pub(super) packets: Rows,
    pub(super) state: Rows,
    pub(super) acks: Rows,
    pub(super) sacks: Rows,
    pub(super) marks: Rows,
    pub(super) control: Rows,
}

impl<'a> Words<'a> {
    pub(super) fn new(scenario: &'a Expanded, packets: &Rows) -> Self {
        let mut mss = Map::new();
        for row in 0..packets.len() {
            let key = (packets.at(row, "flow"), packets.at(row, "forward"));
            let longest = mss.entry(key).or_insert(1);
            *longest = packets.at(row, "len").max(*longest);
        }
        Self { scenario, mss }
    }

    /// Names the content of a packet.
    fn content(&self, packets: &Rows, row: usize) -> String {
        let [flow, forward, seq, flags] =
            ["flow", "forward", "seq", "flags"].map(|column| packets.at(row, column));
        let has = |flag: Flags| flags & u64::from(flag.0) != 0;
        match seq {
            NONE if has(Flags::SYN) && has(Flags::ACK) => "the SYN-ACK".to_owned(),
            NONE if has(Flags::SYN) => "the SYN".to_owned(),
            NONE if has(Flags::FIN) => "the FIN".to_owned(),
            NONE if has(Flags::RST) => "a reset".to_owned(),
            NONE if has(Flags::ACK) => match packets.at(row, "ack") {
                NONE => "an ACK".to_owned(),
                ack => format!("the ACK of the first {ack} bytes"),
            },
            NONE => "a packet without data".to_owned(),
            seq => format!("segment {}", self.number(flow, forward, seq)),
        }
    }

    /// Returns the number of the segment at a place in the stream.
    fn number(&self, flow: u64, forward: u64, seq: u64) -> u64 {
        seq / self.mss.get(&(flow, forward)).copied().unwrap_or(1) + 1
    }

    /// Tells each lost packet with its cause.
    pub(super) fn losses(&self, packets: &Rows) -> Vec<StoryLine> {
        let lost = (0..packets.len()).filter(|&row| packets.at(row, "lost") != NONE);
        let line = |row: usize| {
            let what = self.content(packets, row);
            let cause = DropCause::ALL.get(packets.at(row, "cause") as usize);
            let link = self.scenario.links.get(packets.at(row, "link") as usize);
            let link = link.map_or("a link", |link| link.name.as_str());
            let text = match cause {
                Some(DropCause::Congestion) => {
                    format!("The queue of {link} is full: {what} is lost.")
                }
                Some(DropCause::Loss) => format!("The channel of {link} loses {what}."),
                Some(DropCause::BitError) => {
                    format!("The channel of {link} loses {what} (bit errors).")
                }
                Some(DropCause::Checksum) => {
                    format!("{link} damages {what}, and the checksum discards it.")
                }
                Some(DropCause::Handoff) => format!("A handoff at {link} loses {what}."),
                Some(DropCause::Fade) => format!("A fade of {link} loses {what}."),
                Some(DropCause::LinkGiveUp) => {
                    format!("The protocol of {link} gives up {what}.")
                }
                Some(DropCause::Policy) => {
                    format!("The ACK filter of {link} drops {what}, which a later ACK replaces.")
                }
                Some(DropCause::Agent) => format!("The agent behind {link} drops {what}."),
                Some(cause) => format!("{what} is lost at {link} ({}).", cause.name()),
                None => format!("{what} is lost at {link}."),
            };
            StoryLine {
                time: Instant::from_nanos(packets.at(row, "lost")),
                flow: packets.at(row, "flow") as u32,
                side: u8::from(packets.at(row, "forward") == 0),
                text: capital(&text),
                packet: Some(packets.at(row, "number") as u32),
            }
        };
        lost.map(line).collect()
    }

    /// Describes the acts of agents, except those that concern every packet.
    pub(super) fn agents(&self, acts: &Rows, packets: &Rows) -> Vec<StoryLine> {
        let mut lines = Vec::new();
        for row in 0..acts.len() {
            let Some(&act) = Act::ALL.get(acts.at(row, "action") as usize) else {
                continue;
            };
            let (flow, seq) = (acts.at(row, "flow"), acts.at(row, "seq"));
            let segment = match seq {
                NONE => "a segment".to_owned(),
                seq => format!("segment {}", self.number(flow, 1, seq)),
            };
            let does = match act {
                Act::Resend => format!("sends its copy of {segment} again"),
                Act::Timeout => format!("sends {segment} again, because its timer expired"),
                Act::GiveUp => format!("gives up {segment}"),
                Act::Suppress => format!("suppresses a duplicate ACK for {segment}"),
                Act::Mark => format!("marks an ACK: {segment} was damaged"),
                Act::Partial => format!("sends a partial ACK for {segment}"),
                Act::Notice => "notifies the sender of a bad state".to_owned(),
                Act::Reset => "resets both ends".to_owned(),
                Act::Negative => format!("asks for {segment} by a negative ACK"),
                Act::Blind => "sees that ACKs take another path".to_owned(),
                Act::Keep | Act::Acknowledge | Act::Relay => continue,
            };
            let agent = self.scenario.agents.get(acts.at(row, "agent") as usize);
            let node = agent.and_then(|agent| self.scenario.nodes.get(agent.at));
            let node = node.map_or("a router", |node| node.as_str());
            let time = acts.time(row);
            let sent = (packets.until(time, false)..packets.until(time, true)).find(|&at| {
                packets.at(at, "seq") == seq && packets.at(at, "flow") == flow && seq != NONE
            });
            lines.push(StoryLine {
                time: Instant::from_nanos(time),
                flow: flow as u32,
                side: 0,
                text: format!("The agent at {node} {does}."),
                packet: sent.map(|at| packets.at(at, "number") as u32),
            });
        }
        lines
    }
}

impl End<'_> {
    /// Tells the events of this end.
    pub(super) fn lines(&self) -> Vec<StoryLine> {
        let mut lines = self.opening();
        lines.extend(self.slow_start());
        lines.extend(self.duplicate_acks());
        lines.extend(self.windows());
        lines.extend(self.congestion_marks());
        lines.extend(self.bbr());
        let mut explained = Vec::new();
        for row in 0..self.marks.len() {
            lines.extend(self.mark(row, &mut explained));
        }
        lines.extend(self.retransmissions(&explained));
        lines
    }

    fn line(&self, time: u64, text: String, packet: Option<usize>) -> StoryLine {
        StoryLine {
            time: Instant::from_nanos(time),
            flow: self.flow,
            side: self.side,
            text,
            packet: packet.map(|row| self.packets.at(row, "number") as u32),
        }
    }

    fn mss(&self) -> u64 {
        let key = (u64::from(self.flow), u64::from(1 - self.side));
        self.words.mss.get(&key).copied().unwrap_or(1)
    }

    /// Formats a window in segments, with one decimal unless it is a whole number of them.
    fn segments(&self, bytes: u64) -> String {
        let mss = self.mss();
        let text = if bytes == NONE {
            return "no limit".to_owned();
        } else if bytes.is_multiple_of(mss) {
            (bytes / mss).to_string()
        } else {
            format!("{:.1}", bytes as f64 / mss as f64)
        };
        let unit = if text == "1" { "segment" } else { "segments" };
        format!("{text} {unit}")
    }

    fn opening(&self) -> Vec<StoryLine> {
        let mut lines = Vec::new();
        let syn = (0..self.packets.len()).find(|&row| {
            let flags = self.packets.at(row, "flags");
            flags & u64::from(Flags::SYN.0) != 0 && flags & u64::from(Flags::ACK.0) == 0
        });
        if let Some(row) = syn {
            let text = "The SYN opens the connection.".to_owned();
            lines.push(self.line(self.packets.time(row), text, Some(row)));
        }
        let data = (0..self.packets.len()).find(|&row| self.packets.at(row, "seq") == 0);
        if let Some(row) = data {
            let time = self.packets.time(row);
            let before = self.state.until(time, true);
            if before > 0 {
                let cwnd = self.segments(self.state.at(before - 1, "cwnd"));
                let text = format!("The first data leaves: cwnd is {cwnd}.");
                lines.push(self.line(time, text, Some(row)));
            }
        }
        lines
    }

    /// Tells each doubling of cwnd in slow start, and the end of slow start without a loss.
    fn slow_start(&self) -> Vec<StoryLine> {
        let mut lines = Vec::new();
        let mut base = None;
        for row in 0..self.state.len() {
            let [cwnd, ssthresh] = ["cwnd", "ssthresh"].map(|column| self.state.at(row, column));
            let time = self.state.time(row);
            if cwnd == NONE || self.mark_explains(time) {
                base = None;
                continue;
            }
            let slow = cwnd < ssthresh;
            match base {
                None if slow => base = Some(cwnd),
                Some(from) if slow && cwnd >= 2 * from => {
                    let (from, to) = (self.segments(from), self.segments(cwnd));
                    let text = format!("Slow start: cwnd has grown from {from} to {to}.");
                    lines.push(self.line(time, text, None));
                    base = Some(cwnd);
                }
                Some(_) if !slow => {
                    let earlier = row.checked_sub(1);
                    let set = earlier.is_some_and(|row| self.state.at(row, "ssthresh") != ssthresh);
                    let (cwnd, ssthresh) = (self.segments(cwnd), self.segments(ssthresh));
                    let text = if set {
                        format!(
                            "Slow start ends without a loss: ssthresh is set to {ssthresh}, cwnd \
                             is {cwnd}."
                        )
                    } else {
                        format!(
                            "Slow start ends: cwnd of {cwnd} has reached ssthresh of {ssthresh}."
                        )
                    };
                    lines.push(self.line(time, text, None));
                    base = None;
                }
                _ => {}
            }
        }
        lines
    }

    /// Returns whether a mark at `time` explains the change of the window.
    fn mark_explains(&self, time: u64) -> bool {
        (self.marks.until(time, false)..self.marks.until(time, true)).any(|row| {
            let kind = Mark::ALL.get(self.marks.at(row, "kind") as usize);
            matches!(
                kind,
                Some(
                    Mark::Timeout
                        | Mark::FastRetransmit
                        | Mark::Undo
                        | Mark::AckTrain
                        | Mark::DelayIncrease
                        | Mark::ConservativeSlowStart
                        | Mark::Search
                        | Mark::ResumeUnvalidated
                        | Mark::ResumeValidating
                        | Mark::ResumeSafeRetreat
                )
            )
        })
    }

    /// Tells the first three duplicate ACKs in a row.
    fn duplicate_acks(&self) -> Vec<StoryLine> {
        let mut lines = Vec::new();
        let (mut count, mut last) = (0, (NONE, NONE));
        for row in 0..self.acks.len() {
            let [ack, window] = ["ack", "window"].map(|column| self.acks.at(row, column));
            let time = self.acks.time(row);
            if last.0 != ack {
                (count, last) = (0, (ack, window));
                continue;
            }
            let sacked = self.sacks.until(time, false) < self.sacks.until(time, true);
            if last.1 != window && !sacked {
                last.1 = window;
                continue;
            }
            last.1 = window;
            count += 1;
            if let Some(which) = ["First", "Second", "Third"].get(count - 1) {
                let key = (u64::from(self.flow), u64::from(1 - self.side));
                let number = self.words.number(key.0, key.1, ack);
                let text = format!("{which} duplicate ACK: segment {number} is missing.");
                lines.push(self.line(time, text, None));
            }
        }
        lines
    }

    /// Tells when the receive window of the peer closes and opens.
    fn windows(&self) -> Vec<StoryLine> {
        let mut lines = Vec::new();
        let mut closed = false;
        for row in 0..self.acks.len() {
            let (time, window) = (self.acks.time(row), self.acks.at(row, "window"));
            if (window == 0) == closed {
                continue;
            }
            closed = window == 0;
            let text = if closed {
                "The receive window closes: nothing more may be sent.".to_owned()
            } else {
                format!("The receive window opens to {}.", self.segments(window))
            };
            lines.push(self.line(time, text, None));
        }
        lines
    }

    /// Describes the reductions of cwnd by congestion marks. These are reductions without a loss or
    /// a time-out, at an end whose SYN or SYN-ACK requests or accepts ECN.
    fn congestion_marks(&self) -> Vec<StoryLine> {
        let ecn = Flags::ECE.with(Flags::CWR);
        let asks = (0..self.packets.len()).any(|row| {
            let flags = self.packets.at(row, "flags");
            flags & u64::from(Flags::SYN.0) != 0 && flags & u64::from(ecn.0) != 0
        });
        if !asks {
            return Vec::new();
        }
        let falls = |row: &usize| {
            let values = |column| [*row - 1, *row].map(|row| self.state.at(row, column));
            let [old, new] = values("cwnd");
            let [before, ssthresh] = values("ssthresh");
            let reduced = old != NONE && new < old && ssthresh != before && ssthresh == new;
            reduced && !self.mark_explains(self.state.time(*row))
        };
        let line = |row: usize| {
            let change = self.change(row, row + 1);
            let text = format!("The receiver reports congestion marks{change}.");
            self.line(self.state.time(row), text, None)
        };
        (1..self.state.len()).filter(falls).map(line).collect()
    }

    /// Tells the states of BBR.
    fn bbr(&self) -> Vec<StoryLine> {
        let state = QUANTITIES.iter().position(|&name| name == "state");
        let Some(state) = state else {
            return Vec::new();
        };
        let rows = self.control.only(&[("quantity", state as u64)]);
        let line = |row: usize| {
            let names = ["Startup", "Drain", "ProbeBW", "ProbeRTT"];
            let name = names.get(rows.at(row, "value") as usize)?;
            Some(self.line(rows.time(row), format!("BBR enters {name}."), None))
        };
        (0..rows.len()).filter_map(line).collect()
    }

    /// Describes a mark. Adds the packets that its sentence explains to `explained`.
    fn mark(&self, row: usize, explained: &mut Vec<usize>) -> Option<StoryLine> {
        let time = self.marks.time(row);
        let kind = *Mark::ALL.get(self.marks.at(row, "kind") as usize)?;
        let (before, after) = (self.state.until(time, false), self.state.until(time, true));
        let now = after.checked_sub(1);
        let cwnd = now
            .map(|row| self.state.at(row, "cwnd"))
            .filter(|&cwnd| cwnd != NONE);
        let sent = (self.packets.until(time, false)..self.packets.until(time, true))
            .find(|&row| self.packets.at(row, "retransmission") != 0);
        let again = |row: usize| self.words.content(&self.packets, row);
        let text = match kind {
            Mark::FastRetransmit => {
                let row = sent?;
                explained.push(row);
                let why = self.reason(row).map_or("a loss", Reason::name);
                let what = again(row);
                let sign = if why == Reason::DuplicateAcks.name() {
                    "for duplicate ACKs".to_owned()
                } else {
                    format!("({why})")
                };
                format!(
                    "Fast retransmit: {what} goes again {sign}{}.",
                    self.change(before, after)
                )
            }
            Mark::Timeout => {
                let rto = |row: usize| self.state.at(row, "rto") as f64 / 1e9;
                let old = before.checked_sub(1).map(rto);
                let new = now.filter(|_| after > before).map(rto);
                let old = old.map_or_else(String::new, |old| format!(" of {old:.3} s"));
                let new =
                    new.map_or_else(String::new, |new| format!("; the RTO is now {new:.3} s"));
                let what = sent.map_or_else(String::new, |row| {
                    explained.push(row);
                    format!(": {} goes again", again(row))
                });
                format!(
                    "The RTO{old} expires{what}{}{new}.",
                    self.change(before, after)
                )
            }
            Mark::Recovered => format!("Recovery ends: cwnd is {}.", self.segments(cwnd?)),
            Mark::Undo => format!(
                "The retransmission was not needed: cwnd is {} again.",
                self.segments(cwnd?)
            ),
            Mark::Established => "The connection is established.".to_owned(),
            Mark::Closed => "The connection is closed.".to_owned(),
            Mark::ZeroWindowProbe => "A window probe asks whether the window is open.".to_owned(),
            Mark::TailProbe => "A tail loss probe leaves, because no ACK came.".to_owned(),
            Mark::AckTrain => self.exit("a train of ACKs was long (HyStart)", cwnd?),
            Mark::DelayIncrease => self.exit("the delay increased (HyStart)", cwnd?),
            Mark::ConservativeSlowStart => {
                self.exit("the delay increased five rounds ago (HyStart++)", cwnd?)
            }
            Mark::Search => self.exit("deliveries fell short (SEARCH)", cwnd?),
            Mark::ResumeUnvalidated
            | Mark::ResumeValidating
            | Mark::ResumeSafeRetreat
            | Mark::ResumeNormal
            | Mark::ResumeRefused => self.resumed(kind, cwnd?),
        };
        Some(self.line(time, text, sent))
    }

    /// Describes a phase of Careful Resume.
    fn resumed(&self, mark: Mark, cwnd: u64) -> String {
        let phase = match mark {
            Mark::ResumeUnvalidated => "jumps to half of the saved window",
            Mark::ResumeValidating => "validates what it sent",
            Mark::ResumeSafeRetreat => "retreats",
            Mark::ResumeNormal => "ends",
            _ => "does not jump",
        };
        format!("Careful Resume {phase}: cwnd is {}.", self.segments(cwnd))
    }

    /// Describes the end of slow start by a rule.
    fn exit(&self, why: &str, cwnd: u64) -> String {
        format!("Slow start ends at {} because {why}.", self.segments(cwnd))
    }

    /// Returns a clause about cwnd between two numbers of rows of the state.
    fn change(&self, before: usize, after: usize) -> String {
        let (Some(old), Some(new)) = (before.checked_sub(1), after.checked_sub(1)) else {
            return String::new();
        };
        let [old, new] = [old, new].map(|row| self.state.at(row, "cwnd"));
        if old == NONE || new == NONE {
            return String::new();
        }
        let (from, to) = (self.segments(old), self.segments(new));
        let ssthresh = self.segments(self.state.at(after - 1, "ssthresh"));
        let verb = match new.cmp(&old) {
            std::cmp::Ordering::Less if new.abs_diff(old / 2) <= 1 => "halves",
            std::cmp::Ordering::Less => "falls",
            std::cmp::Ordering::Equal => return format!(", cwnd stays {to}"),
            std::cmp::Ordering::Greater => "rises",
        };
        format!(", cwnd {verb} from {from} to {to} (ssthresh {ssthresh})")
    }

    fn reason(&self, row: usize) -> Option<Reason> {
        Reason::ALL
            .get(self.packets.at(row, "reason") as usize)
            .copied()
    }

    /// Tells the retransmissions that no mark explains.
    fn retransmissions(&self, explained: &[usize]) -> Vec<StoryLine> {
        let mut lines = Vec::new();
        for row in 0..self.packets.len() {
            let again = self.packets.at(row, "retransmission") != 0;
            let reason = self.reason(row).unwrap_or_default();
            let by_agent = matches!(reason, Reason::AgentRetransmission);
            if !again || by_agent || explained.contains(&row) {
                continue;
            }
            let what = self.words.content(&self.packets, row);
            let text = match reason {
                Reason::PartialAck => format!("Partial ACK: {what} is missing too and goes again."),
                Reason::WindowProbe => format!("The window probe has {what}."),
                reason => format!("{} goes again ({}).", capital(&what), reason.name()),
            };
            lines.push(self.line(self.packets.time(row), text, Some(row)));
        }
        lines
    }
}

/// Returns a sentence that begins with a capital.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars
        .next()
        .map(|first| first.to_uppercase().collect::<String>());
    first.unwrap_or_default() + chars.as_str()
}
