//! Pages over HTTP/1.1 (RFC 9112): a main object, then the objects in it.
//!
//! The client is where the data goes to, and opens the connections. The clock
//! of a page runs from the SYN, or from the request if the connection is there
//! already, to the last byte of its last object. The next page is asked for
//! `page_interval` after the one before was, and no sooner than `think_time`
//! after that one was complete.

use super::{Act, Side, Told};
use crate::scenario::{Connections, HttpSpec};
use farlink_tcp::{CloseReason, Instant};

/// A browser and its server.
#[derive(Debug)]
pub(crate) struct Http {
    spec: HttpSpec,
    client: Client,
    server: Server,
}

#[derive(Debug)]
struct Client {
    /// When the clock of the current page began.
    asked_at: Instant,
    /// Pages that are complete.
    pages: u64,
    /// Whether one is not.
    busy: bool,
    /// Inline objects of the page that have not been asked for.
    unasked: u32,
    /// Bytes to come in all until what was asked for is there.
    expects: u64,
}

#[derive(Debug)]
struct Server {
    /// Requests answered, over all connections.
    answered: u64,
}

impl Http {
    pub(super) fn new(spec: HttpSpec) -> Self {
        Self {
            spec,
            client: Client {
                asked_at: Instant::ZERO,
                pages: 0,
                busy: false,
                unasked: 0,
                expects: 0,
            },
            server: Server { answered: 0 },
        }
    }

    pub(super) fn reopens(&self) -> bool {
        self.spec.connections == Connections::PerPage
    }

    pub(super) fn share(&self) -> f64 {
        self.client.pages as f64 / self.spec.pages.unwrap_or(1).max(1) as f64
    }

    pub(super) fn start(&mut self, now: Instant, acts: &mut Vec<Act>) {
        self.client.asked_at = now;
        self.client.busy = true;
        acts.push(Act::Await(Side::From, self.spec.request));
    }

    pub(super) fn told(&mut self, now: Instant, side: Side, what: Told, acts: &mut Vec<Act>) {
        match (what, side) {
            (Told::Opened, _) => {
                self.client.asked_at = now;
                self.client.busy = true;
            }
            (Told::Established, Side::To) => self.ask(acts),
            (Told::Received(_), Side::To) => self.receive(now, acts),
            (Told::Received(total), Side::From) => self.answer(total, acts),
            (Told::Woken, _) if self.reopens() => acts.push(Act::Open),
            (Told::Woken, _) => {
                self.client.asked_at = now;
                self.client.busy = true;
                self.ask(acts);
            }
            (Told::PeerClosed, _) => acts.push(Act::Close(side)),
            (Told::Closed(reason), _) if reason != CloseReason::Done || self.client.busy => {
                acts.push(Act::Fail);
            }
            _ => {}
        }
    }

    /// The client asks for a page.
    fn ask(&mut self, acts: &mut Vec<Act>) {
        self.client.unasked = self.spec.inline_objects;
        self.request(1, self.spec.main_object, acts);
    }

    /// The client asks for so many objects of so many bytes.
    fn request(&mut self, objects: u32, each: u64, acts: &mut Vec<Act>) {
        let objects = u64::from(objects);
        self.client.expects += objects * each;
        acts.extend([
            Act::Write(Side::To, objects * self.spec.request),
            Act::Await(Side::To, self.client.expects),
        ]);
    }

    /// What the client asked for is there.
    fn receive(&mut self, now: Instant, acts: &mut Vec<Act>) {
        let next = if self.spec.pipelining {
            self.client.unasked
        } else {
            self.client.unasked.min(1)
        };
        if next > 0 {
            self.client.unasked -= next;
            self.request(next, self.spec.inline_object, acts);
            return;
        }
        let page = &mut self.client;
        page.busy = false;
        page.pages += 1;
        acts.push(Act::Responded(now.since(page.asked_at)));
        if self.spec.pages == Some(page.pages) {
            acts.push(Act::Complete(Side::To));
            if self.spec.connections == Connections::Persistent {
                acts.push(Act::Close(Side::To));
            }
            return;
        }
        let due = page.asked_at + self.spec.page_interval;
        acts.push(Act::Wake(due.max(now + self.spec.think_time)));
    }

    /// The server has `total` bytes of requests, and answers those that are whole.
    fn answer(&mut self, total: u64, acts: &mut Vec<Act>) {
        let per_page = u64::from(self.spec.inline_objects) + 1;
        while (self.server.answered + 1) * self.spec.request <= total {
            let number = self.server.answered % per_page;
            let object = if number == 0 {
                self.spec.main_object
            } else {
                self.spec.inline_object
            };
            acts.push(Act::Write(Side::From, object));
            self.server.answered += 1;
            // The last request of a connection says so (RFC 9112, 9.6).
            if number + 1 == per_page && self.reopens() {
                acts.push(Act::Close(Side::From));
            }
        }
        let next = (self.server.answered + 1) * self.spec.request;
        acts.push(Act::Await(Side::From, next));
    }
}
