//! Mail, news and files: SMTP (RFC 821), NNTP (RFC 977) and FTP (RFC 959) as dialogues of commands
//! and replies around items. Numbers and sizes of items have tcplib's distributions.
//!
//! The server sends a greeting. Before each item the client sends `turns` commands, each after the
//! reply to the previous command. With SMTP and NNTP the client then sends the item and waits for a
//! reply. With FTP it sends one more command and waits for the item. All data uses one connection,
//! even with FTP.

use super::arrivals::Arrivals;
use super::command::{AppEvent, Application, Command, Side};
use super::tcplib;
use crate::scenario::{ConversationSpec, Protocol};
use farlink_channel::distribution::Distribution;
use farlink_channel::rng::Stream;
use farlink_tcp::{CloseReason, Instant};

/// A client and a server.
#[derive(Debug)]
pub(crate) struct Items {
    stream: Stream,
    arrivals: Arrivals,
    size: Distribution,
    /// Number of items of a conversation.
    count: Distribution,
    turns: u32,
    /// The end that opens the connection and sends commands.
    client: Side,
    /// Set if the client also sends the items.
    pushes: bool,
    /// Set during a conversation.
    busy: bool,
    /// Number of items of the conversation that are not transferred yet.
    to_go: u64,
    turns_to_go: u32,
    /// Time from which the response time of the current item counts.
    since: Instant,
    /// Set if the current exchange is the item.
    item: bool,
    /// Number of bytes of the server's next answer.
    answer: u64,
    /// Number of bytes received in total, at the client and at the server, when the current
    /// exchange is complete.
    client_expects: u64,
    server_expects: u64,
}

impl Items {
    pub(super) fn new(spec: ConversationSpec, stream: impl Fn(&str) -> Stream) -> Self {
        let (size, count) = match spec.protocol {
            Protocol::Ftp => (tcplib::FTP_ITEMSIZE, tcplib::FTP_NITEMS),
            Protocol::Nntp => (tcplib::NNTP_ITEMSIZE, tcplib::NNTP_NITEMS),
            _ => (tcplib::SMTP_ITEMSIZE, Distribution::Constant(1.0)),
        };
        let pushes = spec.protocol != Protocol::Ftp;
        Self {
            stream: stream("items"),
            arrivals: Arrivals::new(spec.arrivals, spec.conversations, stream("arrivals")),
            size: spec.size.unwrap_or(size),
            count: spec
                .items
                .map_or(count, |n| Distribution::Constant(n as f64)),
            turns: spec.turns,
            client: if pushes { Side::From } else { Side::To },
            pushes,
            busy: false,
            to_go: 0,
            turns_to_go: 0,
            since: Instant::ZERO,
            item: false,
            answer: 0,
            client_expects: 0,
            server_expects: 0,
        }
    }
}

impl Application for Items {
    fn share(&self, _received: u64) -> f64 {
        self.arrivals.share()
    }

    fn start(&mut self, now: Instant, commands: &mut Vec<Command>) {
        self.arrivals.start(now);
        self.opened(now, commands);
    }

    fn on_event(&mut self, now: Instant, side: Side, event: AppEvent, commands: &mut Vec<Command>) {
        let at_client = side == self.client;
        match event {
            AppEvent::Opened => self.opened(now, commands),
            // The server's greeting.
            AppEvent::Established if !at_client => commands.push(Command::Write(side, self.answer)),
            AppEvent::Received(_) if at_client => self.answered(now, commands),
            AppEvent::Received(_) => {
                if self.item && self.pushes {
                    commands.push(Command::Responded(now.since(self.since)));
                }
                commands.push(Command::Write(side, self.answer));
            }
            AppEvent::Woken => commands.push(Command::Open),
            AppEvent::PeerClosed => commands.push(Command::Close(side)),
            AppEvent::Closed(reason) if reason != CloseReason::Done || self.busy => {
                commands.push(Command::Fail);
            }
            _ => {}
        }
    }
}

impl Items {
    fn opened(&mut self, now: Instant, commands: &mut Vec<Command>) {
        self.busy = true;
        self.since = now;
        self.item = false;
        self.to_go = self.count.draw_bytes(&mut self.stream);
        self.turns_to_go = self.turns;
        self.expect_answer(tcplib::FTP_CTLSIZE, commands);
    }

    /// Handles a complete answer at the client: sends the next command or item, or ends the
    /// conversation.
    fn answered(&mut self, now: Instant, commands: &mut Vec<Command>) {
        if self.item {
            if !self.pushes {
                commands.push(Command::Responded(now.since(self.since)));
            }
            self.to_go -= 1;
            if self.to_go == 0 {
                self.busy = false;
                commands.push(Command::Close(self.client));
                self.arrivals.next(now, commands);
                return;
            }
            self.since = now;
            self.turns_to_go = self.turns;
        }
        self.item = self.turns_to_go == 0;
        self.turns_to_go = self.turns_to_go.saturating_sub(1);
        let control = tcplib::FTP_CTLSIZE;
        let (asks, answers) = match (self.item, self.pushes) {
            (false, _) => (control, control),
            (true, true) => (self.size, control),
            (true, false) => (control, self.size),
        };
        let bytes = asks.draw_bytes(&mut self.stream);
        self.server_expects += bytes;
        commands.extend([
            Command::Write(self.client, bytes),
            Command::Await(other(self.client), self.server_expects),
        ]);
        self.expect_answer(answers, commands);
    }

    fn expect_answer(&mut self, size: Distribution, commands: &mut Vec<Command>) {
        self.answer = size.draw_bytes(&mut self.stream);
        self.client_expects += self.answer;
        commands.push(Command::Await(self.client, self.client_expects));
    }
}

fn other(side: Side) -> Side {
    match side {
        Side::From => Side::To,
        Side::To => Side::From,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_channel::rng::Streams;
    use farlink_tcp::Interval;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Interval::from_secs(seconds)
    }

    /// Builds conversations of two items of 5000 bytes, with one command before each.
    fn items(protocol: Protocol) -> Items {
        let spec = ConversationSpec {
            protocol,
            conversations: Some(1),
            arrivals: Distribution::Constant(0.0),
            typing: None,
            keystrokes: None,
            size: Some(Distribution::Constant(5000.0)),
            items: Some(2),
            turns: 1,
        };
        Items::new(spec, |name| Streams::new(1, 0).stream(name))
    }

    /// Runs a conversation in which every exchange takes 1 s. Returns the bytes written by each
    /// end, in order, and the response times.
    fn dialogue(items: &mut Items) -> (Vec<(Side, u64)>, Vec<u64>) {
        let mut commands = Vec::new();
        items.start(at(0), &mut commands);
        items.on_event(
            at(0),
            other(items.client),
            AppEvent::Established,
            &mut commands,
        );
        let (mut written, mut responses) = (Vec::new(), Vec::new());
        for second in 1..100 {
            let mut next = Vec::new();
            for command in commands {
                match command {
                    Command::Write(side, bytes) => {
                        written.push((side, bytes));
                        items.on_event(at(second), other(side), AppEvent::Received(0), &mut next);
                    }
                    Command::Responded(after) => responses.push(after.as_secs_f64() as u64),
                    Command::Complete(_) => return (written, responses),
                    _ => {}
                }
            }
            commands = next;
        }
        panic!("{written:?}");
    }

    #[test]
    fn files_are_fetched_one_by_one() {
        let (written, responses) = dialogue(&mut items(Protocol::Ftp));
        let sides: Vec<_> = written
            .iter()
            .map(|&(side, _)| side == Side::From)
            .collect();
        // The greeting, then twice: a command, a reply, a command and a file.
        let turn = [false, true, false, true];
        assert_eq!(sides, [&[true], &turn[..], &turn[..]].concat());
        assert_eq!((written[4].1, written[8].1), (5000, 5000));
        assert!(written.iter().filter(|w| w.1 != 5000).all(|w| w.1 <= 443));
        assert_eq!(responses, [5, 4]);
    }

    #[test]
    fn news_is_pushed_article_by_article() {
        let (written, responses) = dialogue(&mut items(Protocol::Nntp));
        let sides: Vec<_> = written.iter().map(|&(side, _)| side == Side::To).collect();
        // The greeting, then twice: a command, a reply, an article and a reply.
        let turn = [false, true, false, true];
        assert_eq!(sides, [&[true], &turn[..], &turn[..]].concat());
        assert_eq!((written[3].1, written[7].1), (5000, 5000));
        // The response time ends with the arrival of the article, not of the reply.
        assert_eq!(responses, [4, 3]);
    }

    #[test]
    fn flow_fails_when_connection_closes_before_transfer_is_complete() {
        let mut items = items(Protocol::Smtp);
        let mut commands = Vec::new();
        items.start(at(0), &mut commands);
        commands.clear();
        items.on_event(
            at(9),
            Side::To,
            AppEvent::Closed(CloseReason::Done),
            &mut commands,
        );
        assert_eq!(commands, [Command::Fail]);
        assert_eq!(Interval::from_secs(9), at(9).since(items.since));
    }
}
