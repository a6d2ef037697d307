//! Repeated download of a file, each time over a new connection. FTP in stream mode works so,
//! because the end of the connection is the end of the file (RFC 959, 3.3).

use super::command::{AppEvent, Application, Command, Side};
use crate::scenario::RepeatSpec;
use farlink_tcp::{CloseReason, Instant};

/// Downloads that follow each other.
#[derive(Debug)]
pub(crate) struct Repeat {
    spec: RepeatSpec,
    /// Time at which the SYN for the current file was sent.
    opened_at: Instant,
    /// Number of files received.
    done: u64,
    /// Number of files requested.
    requested: u64,
}

impl Repeat {
    pub(super) fn new(spec: RepeatSpec) -> Self {
        Self {
            spec,
            opened_at: Instant::ZERO,
            done: 0,
            requested: 0,
        }
    }
}

impl Application for Repeat {
    fn share(&self, received: u64) -> f64 {
        let files = self.spec.files.unwrap_or(1).max(1) as f64;
        received as f64 / (self.spec.size as f64 * files)
    }

    fn start(&mut self, now: Instant, commands: &mut Vec<Command>) {
        self.opened(now, commands);
    }

    fn on_event(&mut self, now: Instant, side: Side, event: AppEvent, commands: &mut Vec<Command>) {
        match (event, side) {
            (AppEvent::Opened, _) => self.opened(now, commands),
            (AppEvent::Established, Side::From) => {
                commands.extend([Command::Write(side, self.spec.size), Command::Leave(side)]);
            }
            (AppEvent::Received(_), Side::To) => self.received(now, commands),
            (AppEvent::PeerClosed, _) => commands.push(Command::Close(side)),
            (AppEvent::Woken, _) => commands.push(Command::Open),
            (AppEvent::Closed(reason), _)
                if reason != CloseReason::Done || self.done < self.requested =>
            {
                commands.push(Command::Fail);
            }
            _ => {}
        }
    }
}

impl Repeat {
    fn opened(&mut self, now: Instant, commands: &mut Vec<Command>) {
        self.opened_at = now;
        self.requested += 1;
        commands.push(Command::Await(Side::To, self.requested * self.spec.size));
    }

    fn received(&mut self, now: Instant, commands: &mut Vec<Command>) {
        self.done += 1;
        commands.push(Command::Responded(now.since(self.opened_at)));
        if self.spec.files == Some(self.done) {
            commands.push(Command::Complete(Side::To));
        } else {
            commands.push(Command::Wake(
                (self.opened_at + self.spec.interval).max(now),
            ));
        }
    }
}
