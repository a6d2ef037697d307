//! Flows over QUIC: both ends of a connection of `farlink-quic`.
//!
//! Without the feature `quic` a scenario with such a flow is refused before it is built.

#[cfg(feature = "quic")]
mod ends;
#[cfg(not(feature = "quic"))]
#[path = "without.rs"]
mod ends;
mod pages;
mod program;
mod seen;

pub(crate) use ends::Ends;
#[cfg(feature = "quic")]
pub use ends::config;
pub(crate) use pages::Pages;
pub(crate) use program::Running;
pub(crate) use seen::{Progress, Seen, Sending, UNCOUNTED};

use crate::scenario::QuicSpec;
use farlink_tcp::{Body, Dscp, Ecn, Instant, Interval, Stats};
use farlink_wire::{Datagram, FlowId, Ip, NodeId, Packet, Payload};
use std::collections::BTreeMap;

/// Nodes, ports and IP header of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// Source and destination of the data.
    pub(crate) nodes: [NodeId; 2],
    /// Source and destination port of the data.
    pub(crate) ports: (u16, u16),
    /// IP header of the packets.
    pub(crate) ip: Ip,
    /// DSCP of the packets.
    pub(crate) dscp: Dscp,
}

/// A flow over QUIC.
#[derive(Debug)]
pub(crate) struct QuicFlow {
    /// Number of the flow in its packets.
    pub(crate) id: FlowId,
    route: Route,
    spec: QuicSpec,
    pub(crate) ends: Ends,
    /// Requests of the client; `None` for a file.
    pub(crate) pages: Option<Box<Pages>>,
    /// Program of another application; `None` for a file.
    pub(crate) program: Option<Box<Running>>,
    /// Number of packets sent by both ends.
    packets: u64,
    /// Number of the first packet of the current connection.
    first: u64,
    /// Position of the data of each packet by its number; `None` without a trace.
    pub(crate) positions: Option<BTreeMap<u64, u64>>,
    /// Number of datagrams with data that arrived.
    arrived: u64,
    /// Start time.
    pub(crate) start: Instant,
    opened: bool,
    /// Time after the start at which the flow is stopped.
    stops_after: Option<Interval>,
    /// Arrival time of the last byte at the receiving end.
    complete_at: Option<Instant>,
    /// End of the measurement; `None` while it continues.
    pub(crate) done_at: Option<Instant>,
    /// Set if the connection ended before all data was delivered.
    failed: bool,
    /// Set if the ends do nothing any more.
    stopped: bool,
    /// Time of the flow's next event.
    pub(crate) wakes_at: Instant,
}

impl QuicFlow {
    pub(crate) fn new(
        id: FlowId,
        route: Route,
        spec: &QuicSpec,
        ends: Ends,
        app: (Option<Box<Pages>>, Option<Box<Running>>),
        start: Instant,
        stops_after: Option<Interval>,
    ) -> Self {
        let (pages, program) = app;
        Self {
            id,
            route,
            spec: *spec,
            ends,
            pages,
            program,
            packets: 0,
            first: 0,
            positions: None,
            arrived: 0,
            start,
            opened: false,
            stops_after,
            complete_at: None,
            done_at: None,
            failed: false,
            stopped: false,
            wakes_at: Instant::MAX,
        }
    }

    /// Starts a trace of both ends.
    pub(crate) fn trace(&mut self) {
        self.positions = Some(BTreeMap::new());
        self.ends.trace();
    }

    /// Returns the position of the first data byte of a packet in a trace, if it has data.
    pub(crate) fn position(&self, number: u64) -> Option<u64> {
        self.positions.as_ref()?.get(&number).copied()
    }

    /// Returns the changes of the data that an end has sent. The packet sent last has the data that
    /// is sent.
    pub(crate) fn progress(&mut self, end: usize) -> Vec<Progress> {
        let changes = self.ends.progress(end);
        let sent = changes.iter().find_map(|change| match *change {
            Progress::Sent { seq, .. } => Some(seq),
            _ => None,
        });
        if let (Some(positions), Some(seq)) = (&mut self.positions, sent) {
            positions.insert(self.packets.saturating_sub(1), seq);
        }
        changes
    }

    /// Returns the source and the destination node of the data.
    pub(crate) fn nodes(&self) -> [NodeId; 2] {
        self.route.nodes
    }

    /// Returns whether the flow has opened its connection.
    pub(crate) fn has_begun(&self) -> bool {
        self.opened
    }

    /// Returns whether the flow waits for data.
    pub(crate) fn is_under_way(&self) -> bool {
        let waits = match (&self.pages, &self.program) {
            (Some(pages), _) => pages.is_busy(),
            (_, Some(program)) => program.is_busy(&self.ends),
            _ => true,
        };
        self.done_at.is_none() && waits
    }

    /// Handles timers that are due, and the start and the stop of the flow.
    pub(crate) fn on_time(&mut self, now: Instant) {
        if self.stopped {
            return;
        }
        if self.stop_time().is_some_and(|stop| stop <= now) {
            self.stopped = true;
            return;
        }
        if !self.opened {
            self.opened = true;
            self.ends.open(now);
            if let Some(pages) = &mut self.pages {
                pages.start(now);
            }
            if let Some(program) = &mut self.program {
                program.start(now, &mut self.ends);
            }
        }
        self.ends.on_time(now);
    }

    /// Lets the client and the server of pages react to what has happened.
    pub(crate) fn serve(&mut self, now: Instant) {
        if self.stopped || !self.opened {
            return;
        }
        let before = self.ends.connections();
        match (&mut self.pages, &mut self.program) {
            (Some(pages), _) => pages.serve(now, &mut self.ends),
            (_, Some(program)) => program.serve(now, &mut self.ends),
            _ => return,
        }
        if self.ends.connections() > before {
            self.first = self.packets;
        }
    }

    fn stop_time(&self) -> Option<Instant> {
        self.stops_after.map(|after| self.start + after)
    }

    /// Updates the state after an event. Returns whether the flow has just ended.
    pub(crate) fn settle(&mut self, now: Instant) -> bool {
        let failed = self.ends.failed();
        let (to_all, failed) = match (&self.pages, &self.program) {
            (Some(pages), _) => (pages.complete(), failed && pages.is_busy()),
            (_, Some(program)) => (program.is_complete, program.has_failed),
            _ => (self.spec.size.is_some() && self.ends.has_all(1), failed),
        };
        if to_all {
            self.complete_at.get_or_insert(now);
        }
        if self.done_at.is_some() {
            return false;
        }
        let reverse_all = self.spec.reverse == 0 || self.ends.has_all(0);
        self.failed = failed && !(to_all && reverse_all);
        let done = self.stopped || self.failed || (to_all && reverse_all);
        if done {
            self.done_at = Some(now);
        }
        done
    }

    /// Returns the next datagram of an end to send now, the data sender being end 0. A connection
    /// whose data has all been acknowledged is closed.
    pub(crate) fn transmit(&mut self, end: usize, now: Instant) -> Option<Sending> {
        if self.stopped {
            return None;
        }
        self.ends.transmit(end, now)
    }

    /// Returns the time of the next event.
    pub(crate) fn deadline(&mut self) -> Option<Instant> {
        if self.stopped {
            return None;
        }
        let own = match (&self.pages, &self.program) {
            (Some(pages), _) => pages.deadline(),
            (_, Some(program)) => program.deadline(),
            _ => None,
        };
        let times = [self.stop_time(), own, self.ends.deadline()];
        times.into_iter().flatten().min()
    }

    /// Builds the packet of a datagram of an end, with IP identification `ident`.
    pub(crate) fn packet(
        &mut self,
        end: usize,
        (bytes, ecn): (&[u8], u8),
        now: Instant,
        ident: u16,
    ) -> Packet {
        let [from, to] = self.route.nodes;
        let (near, far) = self.route.ports;
        let by_sender = end == 0;
        let (src, dst) = if by_sender { (from, to) } else { (to, from) };
        let (src_port, dst_port) = if by_sender { (near, far) } else { (far, near) };
        let number = self.packets;
        self.packets += 1;
        let datagram = Datagram {
            src_port,
            dst_port,
            ecn: Ecn::from_bits(ecn),
            number,
            sent_at: now,
            body: Body::of_bytes(bytes),
            dscp: self.route.dscp,
            carried: None,
        };
        Packet {
            flow: self.id,
            from_opener: by_sender,
            ident,
            ip: self.route.ip,
            ..Packet::new(src, dst, Payload::Udp(datagram))
        }
    }

    /// Handles a datagram that arrives at an end.
    pub(crate) fn arrived(&mut self, end: usize, now: Instant, datagram: &Datagram) {
        if self.stopped {
            return;
        }
        self.arrived += u64::from(end == 1);
        // Late packets of an earlier connection have nobody to read them.
        if datagram.number < self.first {
            return;
        }
        let bytes = datagram.body.bytes().unwrap_or_default();
        self.ends.receive(end, now, datagram.ecn as u8, bytes);
    }

    /// Returns the number of datagrams that arrived at the receiving end, without those that a
    /// channel duplicated.
    pub(crate) fn packets_received(&self) -> u64 {
        self.arrived.min(self.ends.stats(0).segments_sent)
    }

    /// Returns the number of bytes that an end's application has read.
    pub(crate) fn delivered(&self, end: usize) -> u64 {
        self.ends.read(end)
    }

    /// Returns the received share of the whole stream, or of the time.
    pub(crate) fn share(&self, now: Instant) -> f64 {
        if self.done_at.is_some() {
            return 1.0;
        }
        if let Some(pages) = &self.pages
            && pages.share() > 0.0
        {
            return pages.share();
        }
        if let Some(program) = self.program.as_ref().filter(|_| self.stops_after.is_none()) {
            return program.share(self.delivered(1)).min(1.0);
        }
        let is_file = self.pages.is_none() && self.program.is_none();
        let size = self.spec.size.filter(|_| is_file);
        match (size, self.stops_after) {
            (None, Some(time)) if now > self.start => {
                now.since(self.start).as_secs_f64() / time.as_secs_f64().max(1e-9)
            }
            (None, _) => 0.0,
            (Some(size), _) => self.delivered(1) as f64 / size.max(1) as f64,
        }
    }

    /// Returns the time from the start to the delivery of the last byte, or to the end of the flow.
    pub(crate) fn duration(&self, now: Instant) -> Option<f64> {
        let end = self.complete_at.or(self.done_at).unwrap_or(now);
        self.opened.then(|| end.since(self.start).as_secs_f64())
    }

    /// Returns whether all data was delivered, or the flow lasted as long as it should.
    pub(crate) fn completed(&self) -> bool {
        let whole = self.complete_at.is_some() && self.done_at.is_some() && !self.failed;
        whole || (self.stops_after.is_some() && !self.failed)
    }

    /// Returns whether the flow has a stream in the other direction.
    pub(crate) fn has_reverse(&self) -> bool {
        self.spec.reverse > 0
    }

    /// Returns the counters of both ends, the data sender's first.
    pub(crate) fn stats(&self) -> [Stats; 2] {
        [self.ends.stats(0), self.ends.stats(1)]
    }
}
