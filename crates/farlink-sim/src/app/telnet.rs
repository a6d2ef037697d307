//! A user types and the host answers: telnet (RFC 854) and rlogin (RFC 1282) as
//! tcplib has them.
//!
//! A conversation lasts as long as its user types. Each keystroke is one byte,
//! and the host answers it at once, with an echo or with more. Keystrokes do not
//! wait for answers.

use super::arrivals::Arrivals;
use super::{Act, Side, Told, tcplib};
use crate::law::Law;
use crate::scenario::ConversationSpec;
use farlink_net::rng::Stream;
use farlink_tcp::{CloseReason, Instant};
use std::collections::VecDeque;

/// A user and a host.
#[derive(Debug)]
pub(crate) struct Telnet {
    stream: Stream,
    arrivals: Arrivals,
    /// How long conversations last, and the time between keystrokes.
    lasting: Law,
    between: Law,
    user: User,
    host: Host,
}

#[derive(Debug)]
struct User {
    /// Whether the user is at the keyboard, and until when.
    typing: bool,
    until: Instant,
    /// Whether the conversation is under way.
    busy: bool,
    /// Keystrokes that wait for their answers: when they were typed, and how many
    /// bytes have come in all when the answer is there.
    typed: VecDeque<(Instant, u64)>,
    /// Bytes of all answers to what was typed.
    expects: u64,
}

#[derive(Debug, Default)]
struct Host {
    /// Keystrokes answered, over all connections.
    answered: u64,
    /// Lengths of the answers to come.
    answers: VecDeque<u64>,
}

impl Telnet {
    pub(super) fn new(spec: ConversationSpec, stream: impl Fn(&str) -> Stream) -> Self {
        Self {
            stream: stream("typing"),
            arrivals: Arrivals::new(spec.arrivals, spec.conversations, stream("arrivals")),
            lasting: spec.typing.unwrap_or(tcplib::TELNET_DURATION),
            between: spec.keystrokes.unwrap_or(tcplib::TELNET_INTERARRIVAL),
            user: User {
                typing: false,
                until: Instant::ZERO,
                busy: true,
                typed: VecDeque::new(),
                expects: 0,
            },
            host: Host::default(),
        }
    }

    pub(super) fn share(&self) -> f64 {
        self.arrivals.share()
    }

    pub(super) fn start(&mut self, now: Instant, acts: &mut Vec<Act>) {
        self.arrivals.start(now);
        acts.push(Act::Await(Side::From, 1));
    }

    pub(super) fn told(&mut self, now: Instant, side: Side, what: Told, acts: &mut Vec<Act>) {
        match (what, side) {
            (Told::Opened, _) => self.user.busy = true,
            (Told::Established, Side::To) => {
                self.user.typing = true;
                self.user.until = now + self.lasting.draw_time(&mut self.stream);
                self.think(now, acts);
            }
            (Told::Received(total), Side::From) => self.answer(total, acts),
            (Told::Received(total), Side::To) => self.read(now, total, acts),
            (Told::Woken, _) if !self.user.busy => acts.push(Act::Open),
            (Told::Woken, _) if now < self.user.until => {
                self.strike(now, acts);
                self.think(now, acts);
            }
            (Told::Woken, _) => {
                self.user.typing = false;
                acts.push(Act::Close(Side::To));
                self.end(now, acts);
            }
            (Told::PeerClosed, _) => acts.push(Act::Close(side)),
            (Told::Closed(reason), _) if reason != CloseReason::Done || self.user.busy => {
                acts.push(Act::Fail);
            }
            _ => {}
        }
    }

    /// The user comes to the next keystroke, or to the end.
    fn think(&mut self, now: Instant, acts: &mut Vec<Act>) {
        let next = now + self.between.draw_time(&mut self.stream);
        acts.push(Act::Wake(next.min(self.user.until)));
    }

    fn strike(&mut self, now: Instant, acts: &mut Vec<Act>) {
        let answer = tcplib::TELNET_PKTSIZE.draw_bytes(&mut self.stream);
        self.host.answers.push_back(answer);
        self.user.expects += answer;
        acts.push(Act::Write(Side::To, 1));
        if self.user.typed.is_empty() {
            acts.push(Act::Await(Side::To, self.user.expects));
        }
        self.user.typed.push_back((now, self.user.expects));
    }

    /// The host has `total` keystrokes.
    fn answer(&mut self, total: u64, acts: &mut Vec<Act>) {
        while self.host.answered < total {
            self.host.answered += 1;
            if let Some(answer) = self.host.answers.pop_front() {
                acts.push(Act::Write(Side::From, answer));
            }
        }
        acts.push(Act::Await(Side::From, total + 1));
    }

    /// The user has `total` bytes of answers.
    fn read(&mut self, now: Instant, total: u64, acts: &mut Vec<Act>) {
        while let Some(&(typed, expects)) = self.user.typed.front() {
            if expects > total {
                acts.push(Act::Await(Side::To, expects));
                return;
            }
            self.user.typed.pop_front();
            acts.push(Act::Responded(now.since(typed)));
        }
        self.end(now, acts);
    }

    /// The conversation is over when nothing is typed any more and all is answered.
    fn end(&mut self, now: Instant, acts: &mut Vec<Act>) {
        if self.user.busy && !self.user.typing && self.user.typed.is_empty() {
            self.user.busy = false;
            self.arrivals.next(now, acts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Protocol;
    use farlink_net::rng::Streams;
    use farlink_tcp::Interval;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Interval::from_secs(seconds)
    }

    /// Keystrokes each 2 s, for 5 s; a conversation every 20 s.
    fn telnet() -> Telnet {
        let spec = ConversationSpec {
            protocol: Protocol::Telnet,
            conversations: Some(2),
            duration: None,
            arrivals: Law::Constant(20e9),
            typing: Some(Law::Constant(5e9)),
            keystrokes: Some(Law::Constant(2e9)),
            size: None,
            items: None,
            turns: 0,
        };
        Telnet::new(spec, |name| Streams::new(1, 0).stream(name))
    }

    fn acts(telnet: &mut Telnet, seconds: u64, side: Side, what: Told) -> Vec<Act> {
        let mut acts = Vec::new();
        telnet.told(at(seconds), side, what, &mut acts);
        acts
    }

    #[test]
    fn a_user_types_until_the_end_and_then_waits_for_the_answers() {
        let mut telnet = telnet();
        telnet.start(at(0), &mut Vec::new());
        let wake = |s| Act::Wake(at(s));
        assert_eq!(acts(&mut telnet, 1, Side::To, Told::Established), [wake(3)]);
        let first = acts(&mut telnet, 3, Side::To, Told::Woken);
        let a = telnet.user.expects;
        let await_first = Act::Await(Side::To, a);
        assert_eq!(first, [Act::Write(Side::To, 1), await_first, wake(5)]);
        // The second is typed before the first is answered.
        let second = acts(&mut telnet, 5, Side::To, Told::Woken);
        assert_eq!(second, [Act::Write(Side::To, 1), wake(6)]);
        let both = telnet.user.expects;
        let end = acts(&mut telnet, 6, Side::To, Told::Woken);
        assert_eq!(end, [Act::Close(Side::To)]);
        // Both come at once, and are answered one by one.
        assert_eq!(
            acts(&mut telnet, 7, Side::From, Told::Received(2)),
            [
                Act::Write(Side::From, a),
                Act::Write(Side::From, both - a),
                Act::Await(Side::From, 3)
            ]
        );
        let second = |s| Act::Responded(Interval::from_secs(s));
        assert_eq!(
            acts(&mut telnet, 8, Side::To, Told::Received(a)),
            [second(5), Act::Await(Side::To, both)]
        );
        assert_eq!(
            acts(&mut telnet, 9, Side::To, Told::Received(both)),
            [second(4), wake(20)]
        );
        // A connection that ends is no failure now.
        let done = Told::Closed(CloseReason::Done);
        assert_eq!(acts(&mut telnet, 10, Side::To, done), []);
        assert_eq!(acts(&mut telnet, 20, Side::To, Told::Woken), [Act::Open]);
        acts(&mut telnet, 20, Side::To, Told::Opened);
        assert_eq!(acts(&mut telnet, 21, Side::To, done), [Act::Fail]);
    }
}
