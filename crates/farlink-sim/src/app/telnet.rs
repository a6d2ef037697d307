//! Remote terminals: telnet (RFC 854) and rlogin (RFC 1282) as in tcplib.
//!
//! A conversation lasts as long as its user types. Each keystroke is one byte, which the host
//! answers at once with an echo or with more bytes. Keystrokes do not wait for answers.

use super::arrivals::Arrivals;
use super::command::{AppEvent, Application, Command, Side};
use super::tcplib;
use crate::scenario::ConversationSpec;
use farlink_channel::distribution::Distribution;
use farlink_channel::rng::Stream;
use farlink_tcp::{CloseReason, Instant};
use std::collections::VecDeque;

/// A user and a host.
#[derive(Debug)]
pub(crate) struct Telnet {
    stream: Stream,
    arrivals: Arrivals,
    /// Duration of conversations, and time between keystrokes.
    lasting: Distribution,
    between: Distribution,
    user: User,
    host: Host,
}

#[derive(Debug)]
struct User {
    /// Set while the user types; `until` is the end of the typing.
    typing: bool,
    until: Instant,
    /// Set during the conversation.
    busy: bool,
    /// Unanswered keystrokes, each with its time and with the number of bytes received in total
    /// when its answer is complete.
    typed: VecDeque<(Instant, u64)>,
    /// Number of bytes of the answers to all keystrokes so far.
    expects: u64,
}

#[derive(Debug, Default)]
struct Host {
    /// Number of answered keystrokes, over all connections.
    answered: u64,
    /// Lengths of the next answers.
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
}

impl Application for Telnet {
    fn share(&self, _received: u64) -> f64 {
        self.arrivals.share()
    }

    fn start(&mut self, now: Instant, commands: &mut Vec<Command>) {
        self.arrivals.start(now);
        commands.push(Command::Await(Side::From, 1));
    }

    fn on_event(&mut self, now: Instant, side: Side, event: AppEvent, commands: &mut Vec<Command>) {
        match (event, side) {
            (AppEvent::Opened, _) => self.user.busy = true,
            (AppEvent::Established, Side::To) => {
                self.user.typing = true;
                self.user.until = now + self.lasting.draw_time(&mut self.stream);
                self.think(now, commands);
            }
            (AppEvent::Received(total), Side::From) => self.answer(total, commands),
            (AppEvent::Received(total), Side::To) => self.read(now, total, commands),
            (AppEvent::Woken, _) if !self.user.busy => commands.push(Command::Open),
            (AppEvent::Woken, _) if now < self.user.until => {
                self.strike(now, commands);
                self.think(now, commands);
            }
            (AppEvent::Woken, _) => {
                self.user.typing = false;
                commands.push(Command::Close(Side::To));
                self.end(now, commands);
            }
            (AppEvent::PeerClosed, _) => commands.push(Command::Close(side)),
            (AppEvent::Closed(reason), _) if reason != CloseReason::Done || self.user.busy => {
                commands.push(Command::Fail);
            }
            _ => {}
        }
    }
}

impl Telnet {
    /// Schedules the next keystroke, or the end of the typing.
    fn think(&mut self, now: Instant, commands: &mut Vec<Command>) {
        let next = now + self.between.draw_time(&mut self.stream);
        commands.push(Command::Wake(next.min(self.user.until)));
    }

    fn strike(&mut self, now: Instant, commands: &mut Vec<Command>) {
        let answer = tcplib::TELNET_PKTSIZE.draw_bytes(&mut self.stream);
        self.host.answers.push_back(answer);
        self.user.expects += answer;
        commands.push(Command::Write(Side::To, 1));
        if self.user.typed.is_empty() {
            commands.push(Command::Await(Side::To, self.user.expects));
        }
        self.user.typed.push_back((now, self.user.expects));
    }

    /// Answers keystrokes up to number `total`, the last that the host has received.
    fn answer(&mut self, total: u64, commands: &mut Vec<Command>) {
        while self.host.answered < total {
            self.host.answered += 1;
            if let Some(answer) = self.host.answers.pop_front() {
                commands.push(Command::Write(Side::From, answer));
            }
        }
        commands.push(Command::Await(Side::From, total + 1));
    }

    /// Records the answers that are complete within the first `total` bytes received by the user.
    fn read(&mut self, now: Instant, total: u64, commands: &mut Vec<Command>) {
        while let Some(&(typed, expects)) = self.user.typed.front() {
            if expects > total {
                commands.push(Command::Await(Side::To, expects));
                return;
            }
            self.user.typed.pop_front();
            commands.push(Command::Responded(now.since(typed)));
        }
        self.end(now, commands);
    }

    /// Ends the conversation if the user has stopped typing and all keystrokes are answered.
    fn end(&mut self, now: Instant, commands: &mut Vec<Command>) {
        if self.user.busy && !self.user.typing && self.user.typed.is_empty() {
            self.user.busy = false;
            self.arrivals.next(now, commands);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Protocol;
    use farlink_channel::rng::Streams;
    use farlink_tcp::Interval;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Interval::from_secs(seconds)
    }

    /// A user who types every 2 s for 5 s, with a conversation every 20 s.
    fn telnet() -> Telnet {
        let spec = ConversationSpec {
            protocol: Protocol::Telnet,
            conversations: Some(2),
            arrivals: Distribution::Constant(20e9),
            typing: Some(Distribution::Constant(5e9)),
            keystrokes: Some(Distribution::Constant(2e9)),
            size: None,
            items: None,
            turns: 0,
        };
        Telnet::new(spec, |name| Streams::new(1, 0).stream(name))
    }

    fn commands(telnet: &mut Telnet, seconds: u64, side: Side, event: AppEvent) -> Vec<Command> {
        let mut commands = Vec::new();
        telnet.on_event(at(seconds), side, event, &mut commands);
        commands
    }

    #[test]
    fn a_user_types_until_the_end_and_then_waits_for_the_answers() {
        let mut telnet = telnet();
        telnet.start(at(0), &mut Vec::new());
        let wake = |s| Command::Wake(at(s));
        assert_eq!(
            commands(&mut telnet, 1, Side::To, AppEvent::Established),
            [wake(3)]
        );
        let first = commands(&mut telnet, 3, Side::To, AppEvent::Woken);
        let a = telnet.user.expects;
        let await_first = Command::Await(Side::To, a);
        assert_eq!(first, [Command::Write(Side::To, 1), await_first, wake(5)]);
        // The second keystroke is typed before the first is answered.
        let second = commands(&mut telnet, 5, Side::To, AppEvent::Woken);
        assert_eq!(second, [Command::Write(Side::To, 1), wake(6)]);
        let both = telnet.user.expects;
        let end = commands(&mut telnet, 6, Side::To, AppEvent::Woken);
        assert_eq!(end, [Command::Close(Side::To)]);
        // Two keystrokes arrive together, and are answered one by one.
        assert_eq!(
            commands(&mut telnet, 7, Side::From, AppEvent::Received(2)),
            [
                Command::Write(Side::From, a),
                Command::Write(Side::From, both - a),
                Command::Await(Side::From, 3)
            ]
        );
        let second = |s| Command::Responded(Interval::from_secs(s));
        assert_eq!(
            commands(&mut telnet, 8, Side::To, AppEvent::Received(a)),
            [second(5), Command::Await(Side::To, both)]
        );
        assert_eq!(
            commands(&mut telnet, 9, Side::To, AppEvent::Received(both)),
            [second(4), wake(20)]
        );
        // The end of the connection after the conversation is no failure.
        let done = AppEvent::Closed(CloseReason::Done);
        assert_eq!(commands(&mut telnet, 10, Side::To, done), []);
        assert_eq!(
            commands(&mut telnet, 20, Side::To, AppEvent::Woken),
            [Command::Open]
        );
        commands(&mut telnet, 20, Side::To, AppEvent::Opened);
        assert_eq!(commands(&mut telnet, 21, Side::To, done), [Command::Fail]);
    }
}
