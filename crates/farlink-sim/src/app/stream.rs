//! Messages over one connection, as from a camera or a sensor: at a constant rate, or at times and
//! with sizes that a class gives. TCP may deliver
//! messages late, but it delivers all of them in order.
//!
//! A message is written at its due time, even if earlier messages have not been sent yet. Its
//! response time is the time from its due time to the arrival of its last byte, so a loss delays
//! all messages after it.

use super::command::{AppEvent, Application, Command, Side};
use crate::scenario::{Delivered, MessageSource, StreamSpec};
use farlink_channel::rng;
use farlink_tcp::{Instant, Interval};
use std::collections::VecDeque;

/// Bytes of the receiver's report of a message: its number and its arrival time.
const REPORT: u64 = 16;

/// Reports of the receiver, which a class wants.
#[derive(Debug, Default)]
struct Reports {
    /// Reports that the receiver has sent, and the source has not read.
    sent: VecDeque<Delivered>,
    /// Number of reports that the source has read.
    read: u64,
    /// Set once the source has ended and the receiver has messages to report.
    ends: bool,
}

/// Messages of a class.
#[derive(Debug)]
struct Messages {
    class: Box<dyn MessageSource>,
    reports: Option<Reports>,
    /// Bytes of the messages that are read.
    read: u64,
    /// Due time and bytes of the next message; `None` at the end.
    next: Option<(Instant, u64)>,
    /// Due time of each written message, and the number of bytes up to its end.
    unread: VecDeque<(Instant, u64)>,
    /// Bytes of all written messages.
    total: u64,
}

impl Messages {
    fn advance(&mut self, at: Instant) {
        let message = self.class.next_message(at);
        self.next = message.map(|(pause, bytes)| (at + pause, bytes));
    }
}

/// A source of messages and its reader.
#[derive(Debug)]
pub(crate) struct Stream {
    spec: StreamSpec,
    /// Due time of the first message: the end of the handshake.
    first: Instant,
    /// Numbers of written messages and of received messages.
    written: u64,
    read: u64,
    /// Messages in place of the constant rate.
    messages: Option<Messages>,
}

impl Stream {
    /// Creates a source. A class gets the random stream "source".
    pub(super) fn new(spec: StreamSpec, stream: impl Fn(&str) -> rng::Stream) -> Self {
        let class = spec
            .source
            .and_then(|class| class.source(stream("source").next_u64()));
        Self {
            messages: class.map(|class| Messages {
                reports: class.wants_reports().then(Reports::default),
                read: 0,
                class,
                next: None,
                unread: VecDeque::new(),
                total: 0,
            }),
            spec,
            first: Instant::ZERO,
            written: 0,
            read: 0,
        }
    }

    /// Returns the due time of message `number`, counted from 0. The time is computed from the
    /// first message and rounded down, so rounding errors do not add up.
    fn due(&self, number: u64) -> Instant {
        let bits = (8 * u128::from(self.spec.size)).saturating_mul(number.into());
        let nanos = bits.saturating_mul(1_000_000_000) / u128::from(self.spec.rate);
        self.first + Interval::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Writes the messages that are due.
    fn write(&mut self, now: Instant, commands: &mut Vec<Command>) {
        if self.messages.is_some() {
            self.write_given(now, commands);
            return;
        }
        let before = self.written;
        while Some(self.written) != self.spec.messages && self.due(self.written) <= now {
            self.written += 1;
        }
        let bytes = (self.written - before) * self.spec.size;
        commands.push(Command::Write(Side::From, bytes));
        commands.push(if Some(self.written) == self.spec.messages {
            Command::Leave(Side::From)
        } else {
            Command::Wake(self.due(self.written))
        });
    }

    /// Writes the messages of the class that are due.
    fn write_given(&mut self, now: Instant, commands: &mut Vec<Command>) {
        let Some(messages) = &mut self.messages else {
            return;
        };
        let before = messages.total;
        let limit = self.spec.messages;
        while let Some((due, bytes)) = messages.next
            && due <= now
            && Some(self.written) != limit
        {
            self.written += 1;
            messages.total += bytes;
            messages.unread.push_back((due, messages.total));
            messages.advance(due);
        }
        commands.push(Command::Write(Side::From, messages.total - before));
        commands.push(match messages.next {
            Some((due, _)) if Some(self.written) != limit => Command::Wake(due),
            _ => {
                messages.next = None;
                // The source reads reports until the end.
                match messages.reports {
                    Some(_) => Command::Close(Side::From),
                    None => Command::Leave(Side::From),
                }
            }
        });
    }

    /// Reads the reports within the first `total` bytes that the source has received.
    fn read_reports(&mut self, now: Instant, total: u64, commands: &mut Vec<Command>) {
        let Some(messages) = &mut self.messages else {
            return;
        };
        let Some(reports) = &mut messages.reports else {
            return;
        };
        while (reports.read + 1) * REPORT <= total
            && let Some(message) = reports.sent.pop_front()
        {
            reports.read += 1;
            messages.class.on_delivered(now, message);
        }
        commands.push(Command::Await(Side::From, (reports.read + 1) * REPORT));
    }

    /// Closes the receiver's end once all messages are read and reported.
    fn end_receiver(&mut self, commands: &mut Vec<Command>) {
        if let Some(messages) = &mut self.messages
            && let Some(reports) = &mut messages.reports
            && !messages.unread.is_empty()
        {
            reports.ends = true;
            return;
        }
        commands.push(Command::Close(Side::To));
    }

    /// Records the messages of the class that are complete within the first `total` bytes received.
    fn read_given(&mut self, now: Instant, total: u64, commands: &mut Vec<Command>) {
        let Some(messages) = &mut self.messages else {
            return;
        };
        while let Some(&(due, end)) = messages.unread.front()
            && end <= total
        {
            messages.unread.pop_front();
            self.read += 1;
            commands.push(Command::Responded(now.since(due)));
            let bytes = end - messages.read;
            messages.read = end;
            if let Some(reports) = &mut messages.reports {
                let arrived = now;
                reports.sent.push_back(Delivered {
                    due,
                    arrived,
                    bytes,
                });
                commands.push(Command::Write(Side::To, REPORT));
            }
        }
        if messages.unread.is_empty() && messages.reports.as_ref().is_some_and(|it| it.ends) {
            commands.push(Command::Close(Side::To));
        }
        commands.push(match messages.unread.front() {
            Some(&(_, end)) => Command::Await(Side::To, end),
            None if messages.next.is_none() => Command::Complete(Side::To),
            None => Command::Await(Side::To, total + 1),
        });
    }

    /// Records the messages that are complete within the first `total` bytes received.
    fn read(&mut self, now: Instant, total: u64, commands: &mut Vec<Command>) {
        if self.messages.is_some() {
            self.read_given(now, total, commands);
            return;
        }
        while (self.read + 1) * self.spec.size <= total {
            commands.push(Command::Responded(now.since(self.due(self.read))));
            self.read += 1;
        }
        commands.push(if Some(self.read) == self.spec.messages {
            Command::Complete(Side::To)
        } else {
            Command::Await(Side::To, (self.read + 1) * self.spec.size)
        });
    }
}

impl Application for Stream {
    fn reopens(&self) -> bool {
        false
    }

    fn share(&self, received: u64) -> f64 {
        let messages = self.spec.messages.unwrap_or(1) as f64;
        if self.messages.is_some() {
            return self.read as f64 / messages;
        }
        received as f64 / (self.spec.size as f64 * messages)
    }

    fn start(&mut self, _: Instant, commands: &mut Vec<Command>) {
        commands.push(Command::Await(Side::To, self.spec.size));
        if let Some(messages) = &self.messages
            && messages.reports.is_some()
        {
            commands.push(Command::Await(Side::From, REPORT));
        }
    }

    fn on_event(&mut self, now: Instant, side: Side, event: AppEvent, commands: &mut Vec<Command>) {
        match (event, side) {
            (AppEvent::Established, Side::From) => {
                self.first = now;
                if let Some(messages) = &mut self.messages {
                    messages.advance(now);
                }
                self.write(now, commands);
            }
            (AppEvent::Woken, _) => self.write(now, commands),
            (AppEvent::Received(total), Side::To) => self.read(now, total, commands),
            (AppEvent::Received(total), Side::From) => self.read_reports(now, total, commands),
            (AppEvent::PeerClosed, Side::To) => self.end_receiver(commands),
            (AppEvent::PeerClosed, _) => commands.push(Command::Close(side)),
            (AppEvent::Closed(_), _) => commands.push(Command::Fail),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_channel::rng::Streams;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Interval::from_millis(ms)
    }

    fn constant(spec: StreamSpec) -> Stream {
        Stream::new(spec, |name| Streams::new(1, 0).stream(name))
    }

    fn commands(stream: &mut Stream, ms: u64, side: Side, event: AppEvent) -> Vec<Command> {
        let mut commands = Vec::new();
        stream.on_event(at(ms), side, event, &mut commands);
        commands
    }

    /// 100 B at 8 kbit/s: one message per 100 ms.
    #[test]
    fn messages_are_written_when_due_and_timed_from_then() {
        let mut stream = constant(StreamSpec {
            messages: Some(3),
            size: 100,
            rate: 8000,
            source: None,
        });
        let write = Command::Write(Side::From, 100);
        assert_eq!(
            commands(&mut stream, 50, Side::From, AppEvent::Established),
            [write, Command::Wake(at(150))]
        );
        assert_eq!(
            commands(&mut stream, 150, Side::From, AppEvent::Woken),
            [write, Command::Wake(at(250))]
        );
        assert_eq!(
            commands(&mut stream, 250, Side::From, AppEvent::Woken),
            [write, Command::Leave(Side::From)]
        );
        // Two messages arrive together, because the first was delayed.
        let after = |ms| Command::Responded(Interval::from_millis(ms));
        assert_eq!(
            commands(&mut stream, 400, Side::To, AppEvent::Received(299)),
            [after(350), after(250), Command::Await(Side::To, 300)]
        );
        assert_eq!(
            commands(&mut stream, 410, Side::To, AppEvent::Received(300)),
            [after(160), Command::Complete(Side::To)]
        );
    }

    /// Messages from a list of pauses in ms and bytes.
    #[derive(Debug)]
    struct Listed(Vec<(u64, u64)>);

    impl MessageSource for Listed {
        fn next_message(&mut self, _: Instant) -> Option<(Interval, u64)> {
            let (pause, bytes) = (!self.0.is_empty()).then(|| self.0.remove(0))?;
            Some((Interval::from_millis(pause), bytes))
        }
    }

    fn given(messages: Option<u64>, list: &[(u64, u64)]) -> Stream {
        let mut stream = constant(StreamSpec {
            messages,
            size: 1,
            rate: 1,
            source: None,
        });
        stream.messages = Some(Messages {
            reports: None,
            read: 0,
            class: Box::new(Listed(list.to_vec())),
            next: None,
            unread: VecDeque::new(),
            total: 0,
        });
        stream
    }

    #[test]
    fn messages_of_a_class_have_their_own_times_and_sizes() {
        let mut stream = given(None, &[(0, 100), (100, 20), (0, 30), (200, 7)]);
        assert_eq!(
            commands(&mut stream, 50, Side::From, AppEvent::Established),
            [Command::Write(Side::From, 100), Command::Wake(at(150))]
        );
        let after = |ms| Command::Responded(Interval::from_millis(ms));
        // The reader has all written bytes, and the source has further messages.
        assert_eq!(
            commands(&mut stream, 90, Side::To, AppEvent::Received(100)),
            [after(40), Command::Await(Side::To, 101)]
        );
        assert_eq!(
            commands(&mut stream, 150, Side::From, AppEvent::Woken),
            [Command::Write(Side::From, 50), Command::Wake(at(350))]
        );
        assert_eq!(
            commands(&mut stream, 180, Side::To, AppEvent::Received(119)),
            [Command::Await(Side::To, 120)]
        );
        assert_eq!(
            commands(&mut stream, 200, Side::To, AppEvent::Received(149)),
            [after(50), Command::Await(Side::To, 150)]
        );
        assert_eq!(
            commands(&mut stream, 350, Side::From, AppEvent::Woken),
            [Command::Write(Side::From, 7), Command::Leave(Side::From)]
        );
        assert_eq!(
            commands(&mut stream, 400, Side::To, AppEvent::Received(157)),
            [after(250), after(50), Command::Complete(Side::To)]
        );
    }

    #[test]
    fn the_number_of_messages_ends_a_class_without_end() {
        let mut stream = given(Some(2), &[(0, 10), (0, 20), (0, 30)]);
        assert_eq!(
            commands(&mut stream, 50, Side::From, AppEvent::Established),
            [Command::Write(Side::From, 30), Command::Leave(Side::From)]
        );
        let read = commands(&mut stream, 60, Side::To, AppEvent::Received(30));
        assert_eq!(read.last(), Some(&Command::Complete(Side::To)));
        assert!((stream.share(30) - 1.0).abs() < 1e-12);
    }

    /// The due time of the highest message number does not overflow, and due times have no
    /// accumulated rounding error.
    #[test]
    fn due_times_are_those_of_the_rate() {
        let stream = |size, rate| {
            constant(StreamSpec {
                messages: None,
                size,
                rate,
                source: None,
            })
        };
        assert_eq!(stream(1, 24_000).due(3_000_000), at(1_000_000));
        assert_eq!(
            stream(1, 24_000).due(1),
            Instant::ZERO + Interval::from_nanos(333_333)
        );
        let never = Instant::ZERO + Interval::from_nanos(u64::MAX);
        assert_eq!(stream(1 << 50, 1).due(1 << 50), never);
    }

    /// Messages whose reports are checked: each has 50 ms of delay.
    #[derive(Debug)]
    struct Reported(Listed, u64);

    impl MessageSource for Reported {
        fn next_message(&mut self, now: Instant) -> Option<(Interval, u64)> {
            self.0.next_message(now)
        }

        fn wants_reports(&self) -> bool {
            true
        }

        fn on_delivered(&mut self, now: Instant, message: Delivered) {
            self.1 += 1;
            assert_eq!(now, at(400));
            assert_eq!(message.arrived.since(message.due).as_nanos(), 50_000_000);
            assert_eq!(message.bytes, 100 * self.1);
        }
    }

    /// Messages of 100 and 200 bytes at 0 and 100 ms. The source closes, and still reads reports; the
    /// receiver closes after its last report.
    #[test]
    fn reports_are_written_for_each_message_and_read_at_the_source() {
        let mut stream = given(Some(2), &[]);
        let messages = stream.messages.as_mut().unwrap();
        messages.class = Box::new(Reported(Listed(vec![(0, 100), (100, 200)]), 0));
        messages.reports = Some(Reports::default());
        let mut first = Vec::new();
        stream.start(at(0), &mut first);
        assert_eq!(first[1], Command::Await(Side::From, 16));
        commands(&mut stream, 0, Side::From, AppEvent::Established);
        let last = commands(&mut stream, 100, Side::From, AppEvent::Woken);
        assert_eq!(
            last,
            [Command::Write(Side::From, 200), Command::Close(Side::From)]
        );
        let report = Command::Write(Side::To, 16);
        let after = Command::Responded(Interval::from_millis(50));
        let read = commands(&mut stream, 50, Side::To, AppEvent::Received(100));
        assert_eq!(read, [after, report, Command::Await(Side::To, 300)]);
        // The end of the data is known before the last message is read.
        assert_eq!(
            commands(&mut stream, 150, Side::To, AppEvent::PeerClosed),
            []
        );
        let read = commands(&mut stream, 150, Side::To, AppEvent::Received(300));
        let close = Command::Close(Side::To);
        assert_eq!(read, [after, report, close, Command::Complete(Side::To)]);
        let next = commands(&mut stream, 400, Side::From, AppEvent::Received(32));
        assert_eq!(next, [Command::Await(Side::From, 48)]);
    }
}
