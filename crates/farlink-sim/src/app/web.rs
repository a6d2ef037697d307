//! Web downloads: a request, a file of random size, and a pause of random length.

use super::command::{AppEvent, Application, Command, Side};
use crate::scenario::{Connections, WebSpec};
use farlink_channel::rng::Stream;
use farlink_tcp::{CloseReason, Instant};

/// A client and a server.
#[derive(Debug)]
pub(crate) struct Web {
    spec: WebSpec,
    stream: Stream,
    /// Start of the current file's response time.
    requested_at: Instant,
    /// Number of files received.
    done: u64,
    /// Set while a file is incomplete.
    busy: bool,
    /// Bytes of the current file.
    size: u64,
    /// Total bytes of all requested files.
    expects: u64,
    /// Number of requests answered.
    answered: u64,
}

impl Web {
    pub(super) fn new(spec: WebSpec, stream: Stream) -> Self {
        Self {
            spec,
            stream,
            requested_at: Instant::ZERO,
            done: 0,
            busy: false,
            size: 0,
            expects: 0,
            answered: 0,
        }
    }
}

impl Application for Web {
    fn reopens(&self) -> bool {
        self.spec.connections == Connections::PerPage
    }

    fn share(&self, _received: u64) -> f64 {
        self.done as f64 / self.spec.files.unwrap_or(1).max(1) as f64
    }

    fn start(&mut self, now: Instant, commands: &mut Vec<Command>) {
        self.requested_at = now;
        self.busy = true;
        commands.push(Command::Await(Side::From, self.spec.request));
    }

    fn on_event(&mut self, now: Instant, side: Side, event: AppEvent, commands: &mut Vec<Command>) {
        match (event, side) {
            (AppEvent::Opened, _) => {
                self.requested_at = now;
                self.busy = true;
            }
            (AppEvent::Established, Side::To) => self.request_page(commands),
            (AppEvent::Received(_), Side::From) => {
                self.answered += 1;
                commands.push(Command::Write(side, self.size));
                if self.reopens() {
                    commands.push(Command::Close(side));
                }
                let next = (self.answered + 1) * self.spec.request;
                commands.push(Command::Await(side, next));
            }
            (AppEvent::Received(_), Side::To) => self.received(now, commands),
            (AppEvent::Woken, _) if self.reopens() => commands.push(Command::Open),
            (AppEvent::Woken, _) => {
                self.requested_at = now;
                self.busy = true;
                self.request_page(commands);
            }
            (AppEvent::PeerClosed, _) => commands.push(Command::Close(side)),
            (AppEvent::Closed(reason), _) if reason != CloseReason::Done || self.busy => {
                commands.push(Command::Fail);
            }
            _ => {}
        }
    }
}

impl Web {
    fn request_page(&mut self, commands: &mut Vec<Command>) {
        self.size = self.spec.size.draw_bytes(&mut self.stream);
        self.expects += self.size;
        commands.extend([
            Command::Write(Side::To, self.spec.request),
            Command::Await(Side::To, self.expects),
        ]);
    }

    fn received(&mut self, now: Instant, commands: &mut Vec<Command>) {
        self.done += 1;
        self.busy = false;
        commands.push(Command::Responded(now.since(self.requested_at)));
        if self.spec.files == Some(self.done) {
            commands.push(Command::Complete(Side::To));
            if !self.reopens() {
                commands.push(Command::Close(Side::To));
            }
            return;
        }
        let pause = self.spec.think_time.draw_time(&mut self.stream);
        commands.push(Command::Wake(now + pause));
    }
}
