//! Messages at a constant rate over one connection, as from a camera or a sensor. TCP may deliver
//! messages late, but it delivers all of them in order.
//!
//! A message is written at its due time, even if earlier messages have not been sent yet. Its
//! response time is the time from its due time to the arrival of its last byte, so a loss delays
//! all messages after it.

use super::command::{AppEvent, Application, Command, Side};
use crate::scenario::StreamSpec;
use farlink_tcp::{Instant, Interval};

/// A source of messages and its reader.
#[derive(Debug)]
pub(crate) struct Stream {
    spec: StreamSpec,
    /// Due time of the first message: the end of the handshake.
    first: Instant,
    /// Numbers of written messages and of received messages.
    written: u64,
    read: u64,
}

impl Stream {
    pub(super) fn new(spec: StreamSpec) -> Self {
        Self {
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

    /// Records the messages that are complete within the first `total` bytes received.
    fn read(&mut self, now: Instant, total: u64, commands: &mut Vec<Command>) {
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
        received as f64 / (self.spec.size as f64 * messages)
    }

    fn start(&mut self, _: Instant, commands: &mut Vec<Command>) {
        commands.push(Command::Await(Side::To, self.spec.size));
    }

    fn on_event(&mut self, now: Instant, side: Side, event: AppEvent, commands: &mut Vec<Command>) {
        match (event, side) {
            (AppEvent::Established, Side::From) => {
                self.first = now;
                self.write(now, commands);
            }
            (AppEvent::Woken, _) => self.write(now, commands),
            (AppEvent::Received(total), Side::To) => self.read(now, total, commands),
            (AppEvent::PeerClosed, _) => commands.push(Command::Close(side)),
            (AppEvent::Closed(_), _) => commands.push(Command::Fail),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Interval::from_millis(ms)
    }

    fn commands(stream: &mut Stream, ms: u64, side: Side, event: AppEvent) -> Vec<Command> {
        let mut commands = Vec::new();
        stream.on_event(at(ms), side, event, &mut commands);
        commands
    }

    /// 100 B at 8 kbit/s: one message per 100 ms.
    #[test]
    fn messages_are_written_when_due_and_timed_from_then() {
        let mut stream = Stream::new(StreamSpec {
            messages: Some(3),
            size: 100,
            rate: 8000,
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

    /// The due time of the highest message number does not overflow, and due times have no
    /// accumulated rounding error.
    #[test]
    fn due_times_are_those_of_the_rate() {
        let stream = |size, rate| {
            Stream::new(StreamSpec {
                messages: None,
                size,
                rate,
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
}
