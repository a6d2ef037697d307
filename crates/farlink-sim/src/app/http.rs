//! Pages over HTTP/1.1 (RFC 9112): a main object, then its inline objects.
//!
//! The client receives the data and opens the connections. The response time of a page is the time
//! from the SYN, or from the request on an existing connection, to the last byte of the last
//! object. The next page is requested `page_interval` after the previous request, and not earlier
//! than `think_time` after the previous page was complete.

use super::command::{AppEvent, Application, Command, Side};
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
    /// Start of the current page's response time.
    requested_at: Instant,
    /// Number of complete pages.
    pages: u64,
    /// Set while a page is incomplete.
    busy: bool,
    /// Number of inline objects of the page that are not requested yet.
    unrequested: u32,
    /// Number of bytes received in total when all requested objects are complete.
    expects: u64,
}

#[derive(Debug)]
struct Server {
    /// Number of answered requests, over all connections.
    answered: u64,
}

impl Http {
    pub(super) fn new(spec: HttpSpec) -> Self {
        Self {
            spec,
            client: Client {
                requested_at: Instant::ZERO,
                pages: 0,
                busy: false,
                unrequested: 0,
                expects: 0,
            },
            server: Server { answered: 0 },
        }
    }
}

impl Application for Http {
    fn reopens(&self) -> bool {
        self.spec.connections == Connections::PerPage
    }

    fn share(&self, _received: u64) -> f64 {
        self.client.pages as f64 / self.spec.pages.unwrap_or(1).max(1) as f64
    }

    fn start(&mut self, now: Instant, commands: &mut Vec<Command>) {
        self.client.requested_at = now;
        self.client.busy = true;
        commands.push(Command::Await(Side::From, self.spec.request));
    }

    fn on_event(&mut self, now: Instant, side: Side, event: AppEvent, commands: &mut Vec<Command>) {
        match (event, side) {
            (AppEvent::Opened, _) => {
                self.client.requested_at = now;
                self.client.busy = true;
            }
            (AppEvent::Established, Side::To) => self.request_page(commands),
            (AppEvent::Received(_), Side::To) => self.receive(now, commands),
            (AppEvent::Received(total), Side::From) => self.answer(total, commands),
            (AppEvent::Woken, _) if self.reopens() => commands.push(Command::Open),
            (AppEvent::Woken, _) => {
                self.client.requested_at = now;
                self.client.busy = true;
                self.request_page(commands);
            }
            (AppEvent::PeerClosed, _) => commands.push(Command::Close(side)),
            (AppEvent::Closed(reason), _) if reason != CloseReason::Done || self.client.busy => {
                commands.push(Command::Fail);
            }
            _ => {}
        }
    }
}

impl Http {
    /// Requests a page.
    fn request_page(&mut self, commands: &mut Vec<Command>) {
        self.client.unrequested = self.spec.inline_objects;
        self.request(1, self.spec.main_object, commands);
    }

    /// Requests `objects` objects of `each` bytes.
    fn request(&mut self, objects: u32, each: u64, commands: &mut Vec<Command>) {
        let objects = u64::from(objects);
        self.client.expects += objects * each;
        commands.extend([
            Command::Write(Side::To, objects * self.spec.request),
            Command::Await(Side::To, self.client.expects),
        ]);
    }

    /// Handles the arrival of the requested objects.
    fn receive(&mut self, now: Instant, commands: &mut Vec<Command>) {
        let next = if self.spec.pipelining {
            self.client.unrequested
        } else {
            self.client.unrequested.min(1)
        };
        if next > 0 {
            self.client.unrequested -= next;
            self.request(next, self.spec.inline_object, commands);
            return;
        }
        let page = &mut self.client;
        page.busy = false;
        page.pages += 1;
        commands.push(Command::Responded(now.since(page.requested_at)));
        if self.spec.pages == Some(page.pages) {
            commands.push(Command::Complete(Side::To));
            if self.spec.connections == Connections::Persistent {
                commands.push(Command::Close(Side::To));
            }
            return;
        }
        let due = page.requested_at + self.spec.page_interval;
        commands.push(Command::Wake(due.max(now + self.spec.think_time)));
    }

    /// Answers the requests that are complete within the first `total` bytes received by the
    /// server.
    fn answer(&mut self, total: u64, commands: &mut Vec<Command>) {
        let per_page = u64::from(self.spec.inline_objects) + 1;
        while (self.server.answered + 1) * self.spec.request <= total {
            let number = self.server.answered % per_page;
            let object = if number == 0 {
                self.spec.main_object
            } else {
                self.spec.inline_object
            };
            commands.push(Command::Write(Side::From, object));
            self.server.answered += 1;
            // The last request of a connection carries "Connection: close" (RFC 9112, 9.6).
            if number + 1 == per_page && self.reopens() {
                commands.push(Command::Close(Side::From));
            }
        }
        let next = (self.server.answered + 1) * self.spec.request;
        commands.push(Command::Await(Side::From, next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_tcp::Interval;

    fn pages(connections: Connections, pipelining: bool) -> Http {
        Http::new(HttpSpec {
            pages: Some(2),
            page_interval: Interval::from_secs(30),
            think_time: Interval::from_secs(1),
            request: 100,
            main_object: 1000,
            inline_objects: 3,
            inline_object: 200,
            connections,
            pipelining,
        })
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Interval::from_secs(seconds)
    }

    fn commands(http: &mut Http, seconds: u64, side: Side, event: AppEvent) -> Vec<Command> {
        let mut commands = Vec::new();
        http.on_event(at(seconds), side, event, &mut commands);
        commands
    }

    #[test]
    fn client_requests_page_then_pipelines_inline_objects() {
        let mut http = pages(Connections::PerPage, true);
        http.start(at(0), &mut Vec::new());
        let request = |bytes, total| {
            vec![
                Command::Write(Side::To, bytes),
                Command::Await(Side::To, total),
            ]
        };
        assert_eq!(
            commands(&mut http, 1, Side::To, AppEvent::Established),
            request(100, 1000)
        );
        assert_eq!(
            commands(&mut http, 2, Side::To, AppEvent::Received(1000)),
            request(300, 1600)
        );
        assert_eq!(
            commands(&mut http, 3, Side::To, AppEvent::Received(1600)),
            [
                Command::Responded(Interval::from_secs(3)),
                Command::Wake(at(30))
            ]
        );
        assert_eq!(
            commands(&mut http, 30, Side::To, AppEvent::Woken),
            [Command::Open]
        );
        // The time of the page starts with its SYN, even if the SYN leaves late.
        assert_eq!(commands(&mut http, 35, Side::To, AppEvent::Opened), []);
        assert_eq!(
            commands(&mut http, 36, Side::To, AppEvent::Established),
            request(100, 2600)
        );
        assert_eq!(
            commands(&mut http, 37, Side::To, AppEvent::Received(2600)),
            request(300, 3200)
        );
        assert_eq!(
            commands(&mut http, 39, Side::To, AppEvent::Received(3200)),
            [
                Command::Responded(Interval::from_secs(4)),
                Command::Complete(Side::To)
            ]
        );
    }

    #[test]
    fn without_pipelining_objects_are_requested_one_by_one() {
        let mut http = pages(Connections::Persistent, false);
        http.start(at(0), &mut Vec::new());
        commands(&mut http, 1, Side::To, AppEvent::Established);
        for total in [1000, 1200, 1400] {
            assert_eq!(
                commands(&mut http, 2, Side::To, AppEvent::Received(total)),
                [
                    Command::Write(Side::To, 100),
                    Command::Await(Side::To, total + 200)
                ]
            );
        }
        // The page is complete at 40 s, after the end of `page_interval`. The next page is
        // therefore requested after the think time of 1 s.
        assert_eq!(
            commands(&mut http, 40, Side::To, AppEvent::Received(1600)),
            [
                Command::Responded(Interval::from_secs(40)),
                Command::Wake(at(41))
            ]
        );
        assert_eq!(
            commands(&mut http, 41, Side::To, AppEvent::Woken),
            [
                Command::Write(Side::To, 100),
                Command::Await(Side::To, 2600)
            ]
        );
    }

    #[test]
    fn a_server_answers_requests_that_are_whole_and_closes_after_the_last() {
        let server =
            |http: &mut Http, total| commands(http, 1, Side::From, AppEvent::Received(total));
        let mut http = pages(Connections::PerPage, true);
        assert_eq!(
            server(&mut http, 100),
            [
                Command::Write(Side::From, 1000),
                Command::Await(Side::From, 200)
            ]
        );
        // The server has received two requests and a half.
        let two = [
            Command::Write(Side::From, 200),
            Command::Write(Side::From, 200),
        ];
        assert_eq!(server(&mut http, 350)[..2], two);
        assert_eq!(
            server(&mut http, 400),
            [
                Command::Write(Side::From, 200),
                Command::Close(Side::From),
                Command::Await(Side::From, 500)
            ]
        );
        let mut http = pages(Connections::Persistent, true);
        assert!(!server(&mut http, 800).contains(&Command::Close(Side::From)));
    }

    #[test]
    fn flow_fails_when_connection_closes_before_page_is_complete() {
        let mut http = pages(Connections::PerPage, true);
        http.start(at(0), &mut Vec::new());
        let closed =
            |http: &mut Http, reason| commands(http, 9, Side::To, AppEvent::Closed(reason));
        assert_eq!(closed(&mut http, CloseReason::Done), [Command::Fail]);
        http.client.busy = false;
        assert_eq!(closed(&mut http, CloseReason::Done), []);
        assert_eq!(closed(&mut http, CloseReason::TimedOut), [Command::Fail]);
    }
}
