//! Files of the web: a request, a file of a drawn size, a pause of a drawn length.

use super::{Act, Side, Told};
use crate::scenario::{Connections, WebSpec};
use farlink_net::rng::Stream;
use farlink_tcp::{CloseReason, Instant};

/// A client and a server.
#[derive(Debug)]
pub(crate) struct Web {
    spec: WebSpec,
    stream: Stream,
    /// When the clock of the current file began.
    asked_at: Instant,
    /// Files that are there.
    done: u64,
    /// Whether one is on its way.
    busy: bool,
    /// Its length.
    size: u64,
    /// Bytes of all files asked for.
    expects: u64,
    /// Requests answered.
    answered: u64,
}

impl Web {
    pub(super) fn new(spec: WebSpec, stream: Stream) -> Self {
        Self {
            spec,
            stream,
            asked_at: Instant::ZERO,
            done: 0,
            busy: false,
            size: 0,
            expects: 0,
            answered: 0,
        }
    }

    pub(super) fn reopens(&self) -> bool {
        self.spec.connections == Connections::PerPage
    }

    pub(super) fn share(&self) -> f64 {
        self.done as f64 / self.spec.files.unwrap_or(1).max(1) as f64
    }

    pub(super) fn start(&mut self, now: Instant, acts: &mut Vec<Act>) {
        self.asked_at = now;
        self.busy = true;
        acts.push(Act::Await(Side::From, self.spec.request));
    }

    pub(super) fn told(&mut self, now: Instant, side: Side, what: Told, acts: &mut Vec<Act>) {
        match (what, side) {
            (Told::Opened, _) => {
                self.asked_at = now;
                self.busy = true;
            }
            (Told::Established, Side::To) => self.ask(acts),
            (Told::Received(_), Side::From) => {
                self.answered += 1;
                acts.push(Act::Write(side, self.size));
                if self.reopens() {
                    acts.push(Act::Close(side));
                }
                let next = (self.answered + 1) * self.spec.request;
                acts.push(Act::Await(side, next));
            }
            (Told::Received(_), Side::To) => self.received(now, acts),
            (Told::Woken, _) if self.reopens() => acts.push(Act::Open),
            (Told::Woken, _) => {
                self.asked_at = now;
                self.busy = true;
                self.ask(acts);
            }
            (Told::PeerClosed, _) => acts.push(Act::Close(side)),
            (Told::Closed(reason), _) if reason != CloseReason::Done || self.busy => {
                acts.push(Act::Fail);
            }
            _ => {}
        }
    }

    fn ask(&mut self, acts: &mut Vec<Act>) {
        self.size = self.spec.size.draw_bytes(&mut self.stream);
        self.expects += self.size;
        acts.extend([
            Act::Write(Side::To, self.spec.request),
            Act::Await(Side::To, self.expects),
        ]);
    }

    fn received(&mut self, now: Instant, acts: &mut Vec<Act>) {
        self.done += 1;
        self.busy = false;
        acts.push(Act::Responded(now.since(self.asked_at)));
        if self.spec.files == Some(self.done) {
            acts.push(Act::Complete(Side::To));
            if !self.reopens() {
                acts.push(Act::Close(Side::To));
            }
            return;
        }
        let pause = self.spec.think_time.draw_time(&mut self.stream);
        acts.push(Act::Wake(now + pause));
    }
}
