//! The same file again and again, each over a connection of its own, as FTP
//! carries them (RFC 959, 3.3: stream mode ends a file with the connection).

use super::{Act, Side, Told};
use crate::scenario::RepeatSpec;
use farlink_tcp::{CloseReason, Instant};

/// Downloads one after the other.
#[derive(Debug)]
pub(crate) struct Repeat {
    spec: RepeatSpec,
    /// When the SYN of the current file left.
    opened_at: Instant,
    /// Files that are there.
    done: u64,
    /// Files that were asked for.
    asked: u64,
}

impl Repeat {
    pub(super) fn new(spec: RepeatSpec) -> Self {
        Self {
            spec,
            opened_at: Instant::ZERO,
            done: 0,
            asked: 0,
        }
    }

    pub(super) fn share(&self, received: u64) -> f64 {
        let files = self.spec.files.unwrap_or(1).max(1) as f64;
        received as f64 / (self.spec.size as f64 * files)
    }

    pub(super) fn start(&mut self, now: Instant, acts: &mut Vec<Act>) {
        self.opened(now, acts);
    }

    pub(super) fn told(&mut self, now: Instant, side: Side, what: Told, acts: &mut Vec<Act>) {
        match (what, side) {
            (Told::Opened, _) => self.opened(now, acts),
            (Told::Established, Side::From) => {
                acts.extend([Act::Write(side, self.spec.size), Act::Close(side)]);
            }
            (Told::Received(_), Side::To) => self.received(now, acts),
            (Told::PeerClosed, _) => acts.push(Act::Close(side)),
            (Told::Woken, _) => acts.push(Act::Open),
            (Told::Closed(reason), _) if reason != CloseReason::Done || self.done < self.asked => {
                acts.push(Act::Fail);
            }
            _ => {}
        }
    }

    fn opened(&mut self, now: Instant, acts: &mut Vec<Act>) {
        self.opened_at = now;
        self.asked += 1;
        acts.push(Act::Await(Side::To, self.asked * self.spec.size));
    }

    fn received(&mut self, now: Instant, acts: &mut Vec<Act>) {
        self.done += 1;
        acts.push(Act::Responded(now.since(self.opened_at)));
        if self.spec.files == Some(self.done) {
            acts.push(Act::Complete(Side::To));
        } else {
            acts.push(Act::Wake((self.opened_at + self.spec.interval).max(now)));
        }
    }
}
