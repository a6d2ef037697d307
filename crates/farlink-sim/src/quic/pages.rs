//! Pages and files on request over QUIC: a stream for each object.
//!
//! The client of the flow is the end that receives the data. It opens a connection, requests the
//! main object of a page, and then its inline objects, each on a stream of its own. The server knows
//! the size of an object from the number of its stream. With a connection per page the client closes
//! the connection after the page, and later pages have new connections.

use super::ends::Ends;
use super::seen::Happened;
use crate::scenario::{Connections, QuicPages};
use farlink_channel::rng::Stream;
use farlink_small::Quantiles;
use farlink_tcp::{Instant, Interval};

/// End of the flow that answers, and end that asks.
const SERVER: usize = 0;
const CLIENT: usize = 1;

/// A browser and its server.
#[derive(Debug)]
pub(crate) struct Pages {
    spec: QuicPages,
    random: Stream,
    /// Sizes of the objects of the current connection, by the number of their stream.
    sizes: Vec<u64>,
    connected: bool,
    /// Start of the response time of the current page.
    requested_at: Instant,
    /// Set while a page is incomplete.
    busy: bool,
    /// Number of objects that are requested and incomplete.
    open: u32,
    /// Number of inline objects of the page that are not requested yet.
    unrequested: u32,
    /// Number of complete pages.
    done: u64,
    /// Time of the next page.
    wakes_at: Option<Instant>,
    /// Sum and distribution of the response times.
    pub(crate) response_sum: Interval,
    pub(crate) response_times: Quantiles,
}

impl Pages {
    pub(crate) fn new(spec: QuicPages, random: Stream) -> Self {
        Self {
            spec,
            random,
            sizes: Vec::new(),
            connected: false,
            requested_at: Instant::ZERO,
            busy: false,
            open: 0,
            unrequested: 0,
            done: 0,
            wakes_at: None,
            response_sum: Interval::ZERO,
            response_times: Quantiles::default(),
        }
    }

    /// Returns the number of complete pages.
    pub(crate) fn responses(&self) -> u64 {
        self.done
    }

    /// Returns the number of pages; `None` for as many as the flow's duration allows.
    fn pages(&self) -> Option<u64> {
        match &self.spec {
            QuicPages::Http(http) => http.pages,
            QuicPages::Web(web) => web.files,
        }
    }

    /// Returns whether all pages are complete.
    pub(crate) fn complete(&self) -> bool {
        self.pages() == Some(self.done)
    }

    /// Returns the complete share of the pages.
    pub(crate) fn share(&self) -> f64 {
        self.pages()
            .map_or(0.0, |pages| self.done as f64 / pages.max(1) as f64)
    }

    /// Returns whether a page is incomplete, so that the end of the connection is a failure.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }

    /// Returns the time of the next page.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.wakes_at
    }

    fn is_persistent(&self) -> bool {
        let connections = match &self.spec {
            QuicPages::Http(http) => http.connections,
            QuicPages::Web(web) => web.connections,
        };
        connections == Connections::Persistent
    }

    /// Starts the first page, whose connection is opened now.
    pub(crate) fn start(&mut self, now: Instant) {
        self.requested_at = now;
        self.busy = true;
    }

    /// Handles what has happened at both ends, and the time of the next page.
    pub(crate) fn serve(&mut self, now: Instant, ends: &mut Ends) {
        if self.wakes_at.is_some_and(|at| at <= now) {
            self.wakes_at = None;
            self.next_page(now, ends);
        }
        while let Some(event) = ends.happened(SERVER) {
            if let Happened::Request(number) = event
                && let Some(&size) = self.sizes.get(number as usize)
            {
                ends.answer(SERVER, number, size);
            }
        }
        while let Some(event) = ends.happened(CLIENT) {
            match event {
                Happened::Connected if !self.connected => {
                    self.connected = true;
                    self.request_page(ends);
                }
                Happened::Answer(_) => self.object_complete(now, ends),
                _ => {}
            }
        }
    }

    /// Begins a page, over a new connection if there is none that works.
    fn next_page(&mut self, now: Instant, ends: &mut Ends) {
        self.requested_at = now;
        self.busy = true;
        if self.is_persistent() && self.connected && !ends.failed() {
            self.request_page(ends);
            return;
        }
        self.connected = false;
        self.sizes.clear();
        ends.renew(now);
    }

    fn request_page(&mut self, ends: &mut Ends) {
        let size = match &self.spec {
            QuicPages::Http(http) => {
                self.unrequested = http.inline_objects;
                http.main_object
            }
            QuicPages::Web(web) => web.size.draw_bytes(&mut self.random),
        };
        self.request(1, size, ends);
    }

    /// Requests `objects` objects of `each` bytes.
    fn request(&mut self, objects: u32, each: u64, ends: &mut Ends) {
        let bytes = match &self.spec {
            QuicPages::Http(http) => http.request,
            QuicPages::Web(web) => web.request,
        };
        for _ in 0..objects {
            self.sizes.push(each);
            ends.request(CLIENT, bytes);
        }
        self.open += objects;
    }

    /// Handles the arrival of a whole object.
    fn object_complete(&mut self, now: Instant, ends: &mut Ends) {
        self.open -= 1;
        if self.open > 0 {
            return;
        }
        if let QuicPages::Http(http) = self.spec
            && self.unrequested > 0
        {
            let next = if http.pipelining { self.unrequested } else { 1 };
            self.unrequested -= next;
            self.request(next, http.inline_object, ends);
            return;
        }
        self.page_complete(now, ends);
    }

    fn page_complete(&mut self, now: Instant, ends: &mut Ends) {
        self.busy = false;
        self.done += 1;
        let time = now.since(self.requested_at);
        self.response_sum = self.response_sum + time;
        self.response_times.add(time.as_nanos());
        if self.complete() || !self.is_persistent() {
            ends.close(CLIENT, now);
        }
        if self.complete() {
            return;
        }
        self.wakes_at = Some(match &self.spec {
            QuicPages::Http(http) => {
                (self.requested_at + http.page_interval).max(now + http.think_time)
            }
            QuicPages::Web(web) => now + web.think_time.draw_time(&mut self.random),
        });
    }
}
