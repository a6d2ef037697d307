//! Connections over several paths in the event loop: their subflows are TCP flows.

use super::{Form, World, end_of};
use crate::app::Side;
use crate::flow::{End, EndId};
use crate::multipath::{Connection, Connections, Path, Progress, Share, Subflow, allowed, gain};
use crate::scenario::CouplingName;
use farlink_tcp::{Event as TcpEvent, Extra, Instant, SackBlocks, Segment, State};
use farlink_wire::{FlowId, PacketId};

/// Maximum number of bytes of options.
const MAX_OPTIONS: u32 = 40;

/// Adds the DSS option to a segment that a subflow sends.
#[cold]
pub(super) fn add_option(all: &Connections, end: EndId, e: &End, segment: &mut Segment) {
    let Some((connection, path)) = all.of(end.flow()) else {
        return;
    };
    if segment.flags.has(farlink_tcp::Flags::SYN) || segment.flags.has(farlink_tcp::Flags::RST) {
        return;
    }
    match end.side() {
        Side::To => segment.options.extra = connection.ack_option(),
        Side::From => {
            let len = segment.body.len();
            let at = e.stream_offset(segment.data_seq()).filter(|_| len > 0);
            let option = at.and_then(|at| connection.mapping_option(path, at, len));
            if let Some(option) = option {
                segment.options.extra = option;
            }
        }
    }
    // A header has 40 bytes of options. Fewer SACK blocks make room.
    while segment.options.wire_len() > MAX_OPTIONS && !segment.options.sack.is_empty() {
        let blocks = segment.options.sack;
        let fewer = &blocks.as_slice()[..blocks.as_slice().len() - 1];
        segment
            .options
            .set_sack(fewer.iter().copied().collect::<SackBlocks>());
    }
    if segment.options.wire_len() > MAX_OPTIONS {
        segment.options.accecn = None;
    }
}

impl World {
    /// Handles an arriving segment of a flow that is not one connection. Returns whether the
    /// segment was handled; if not, it belongs to the flow's current connection.
    #[cold]
    pub(super) fn special_segment(&mut self, number: PacketId, flow: FlowId) -> bool {
        let hot = self.hot[flow];
        if hot.form == Form::Subflow {
            self.subflow_segment(number, flow);
            return true;
        }
        let is_old = match &self.flows[flow].opening {
            Some(opening) => !opening.is_current(&self.packets[number]),
            None => false,
        };
        if is_old {
            // The packet is a delayed duplicate from an earlier connection, which is dropped
            // without an answer.
            self.packets.release(number);
        }
        is_old
    }

    /// Passes a segment to the end of a subflow.
    fn subflow_segment(&mut self, number: PacketId, flow: FlowId) {
        let packet = &self.packets[number];
        let end = end_of(flow, packet.from_opener, self.hot[flow].sender_opens).other();
        if end.side() == Side::From {
            self.couple(flow);
        }
        let packet = &self.packets[number];
        let receiver = &mut self.ends[end];
        if let Some(segment) = packet.tcp()
            && receiver.live
        {
            let before = receiver.conn.segments_fresh();
            receiver.conn.on_segment(self.now, segment);
            if end.side() == Side::To && receiver.conn.segments_fresh() != before {
                let transit = &mut self.counters[flow].transit;
                transit.arrived(segment.data_seq(), segment.body.len(), self.now);
            }
            if let Extra::DataAck(ack) = segment.options.extra
                && end.side() == Side::From
                && let Some((connection, _)) = self.hosts.multipath.place(flow)
            {
                self.hosts.multipath.all[connection].on_data_ack(ack);
            }
        }
        self.packets.release(number);
        self.serve_subflow(end);
    }

    /// Sets the growth of a subflow's window that the next ACK causes, if its connection couples
    /// windows.
    fn couple(&mut self, flow: FlowId) {
        let Some((connection, own)) = self.hosts.multipath.of(flow) else {
            return;
        };
        if connection.coupling == CouplingName::Off {
            return;
        }
        let ends = || {
            connection
                .subflows
                .iter()
                .map(|s| EndId::new(s.flow, Side::From))
        };
        let all: Vec<Path> = (connection.subflows.iter().zip(ends()))
            .map(|(subflow, end)| path_of(&self.ends[end], subflow, self.now))
            .collect();
        let is_used = allowed(&all);
        let (mut shares, mut own_share) = (Vec::with_capacity(all.len()), None);
        for (index, (path, end)) in all.iter().zip(ends()).enumerate() {
            if let Some(srtt) = path.srtt.filter(|_| is_used(path)) {
                if index == own {
                    own_share = Some(shares.len());
                }
                shares.push(Share {
                    window: self.ends[end].conn.controller_cwnd().max(path.mss) as f64,
                    rtt: srtt.as_nanos().max(1) as f64 / 1e9,
                    mss: path.mss as f64,
                    spacing: connection.subflows[index].loss_spacing() as f64,
                });
            }
        }
        if let Some(own) = own_share {
            let gain = gain(connection.coupling, &shares, own);
            let end = EndId::new(flow, Side::From);
            self.ends[end].conn.couple(gain);
        }
    }

    /// Lets the end of a subflow and its connection react to the last event: read, send, and give
    /// subflows new data.
    #[cold]
    pub(super) fn serve_subflow(&mut self, end: EndId) {
        let Some((number, path)) = self.hosts.multipath.place(end.flow()) else {
            return;
        };
        if end.side() == Side::To {
            self.ends[end].reads();
            let total = self.ends[end].received;
            let connection = &mut self.hosts.multipath.all[number];
            connection.on_delivered(path, total);
            let is_complete = connection.reassembly.data_ack() >= connection.size;
            self.serve_alone(end);
            if is_complete && !self.hosts.multipath.all[number].is_over {
                self.end_connection(number, false);
            }
            return;
        }
        let conn = &self.ends[end].conn;
        let stats = conn.stats();
        let progress = Progress {
            acknowledged: conn.acknowledged(),
            timeouts: stats.timeouts,
            losses: stats.fast_retransmits + stats.timeouts - stats.timeouts_repeated,
        };
        self.hosts.multipath.all[number].on_progress(path, progress);
        self.serve_alone(end);
        self.send_over_paths(number);
    }

    /// Gives data to subflows while the scheduler chooses one, and closes subflows after the last
    /// data ACK.
    fn send_over_paths(&mut self, number: usize) {
        let mut paths = Vec::with_capacity(self.hosts.multipath.all[number].subflows.len());
        loop {
            let connection = &mut self.hosts.multipath.all[number];
            paths.clear();
            paths.extend(connection.subflows.iter().map(|subflow| {
                let end = &self.ends[EndId::new(subflow.flow, Side::From)];
                path_of(end, subflow, self.now)
            }));
            let Some((path, len)) = connection.schedule(self.now, &paths) else {
                break;
            };
            let end = EndId::new(connection.subflows[path].flow, Side::From);
            self.ends[end].write(self.now, len);
            self.serve_alone(end);
        }
        let connection = &mut self.hosts.multipath.all[number];
        if connection.is_acknowledged() && !connection.is_closed {
            connection.is_closed = true;
            for flow in flows_of(connection) {
                let end = EndId::new(flow, Side::From);
                if self.ends[end].live {
                    self.ends[end].close(self.now, false);
                    self.serve_alone(end);
                }
            }
        }
    }

    /// Handles an event of a subflow's end.
    #[cold]
    pub(super) fn subflow_event(&mut self, end: EndId, event: TcpEvent) {
        let Some((number, path)) = self.hosts.multipath.place(end.flow()) else {
            return;
        };
        match event {
            TcpEvent::Established => {
                let opener = self.hot[end.flow()].opener();
                if path == 0 && end.side() == opener {
                    self.join_subflows(number);
                }
            }
            TcpEvent::PeerClosed => {
                if end.side() == Side::To {
                    self.ends[end].close(self.now, true);
                }
            }
            TcpEvent::Closed(_) => {
                let connection = &mut self.hosts.multipath.all[number];
                if !connection.is_over && connection.on_end(path) {
                    self.end_connection(number, true);
                }
            }
        }
    }

    /// Opens the further subflows of a connection (RFC 8684, 3.2).
    fn join_subflows(&mut self, number: usize) {
        let flows = flows_of(&self.hosts.multipath.all[number]);
        let first = &self.flows[flows[0]];
        let passed = self.now.since(first.opened_at);
        let stops_after = first.stops_after.map(|time| time.saturating_sub(passed));
        for &flow in &flows[1..] {
            if self.flows[flow].done_at.is_none() {
                // The first subflow stops all.
                self.flows[flow].stops_after = None;
                self.start(flow);
                self.flows[flow].stops_after = stops_after;
            }
        }
    }

    /// Ends the measurement of a connection.
    fn end_connection(&mut self, number: usize, failed: bool) {
        let connection = &mut self.hosts.multipath.all[number];
        connection.is_over = true;
        for flow in flows_of(connection) {
            if failed {
                self.flows[flow].failed = true;
            } else {
                self.ends[EndId::new(flow, Side::To)].complete_at = self.now;
                self.hot[flow].ends_pending = 0;
            }
            self.finish(flow);
        }
    }

    /// Stops all subflows of a connection at the end of its duration.
    #[cold]
    pub(super) fn stop_subflows(&mut self, flow: FlowId) {
        let Some((number, _)) = self.hosts.multipath.place(flow) else {
            return;
        };
        let connection = &mut self.hosts.multipath.all[number];
        (connection.is_over, connection.is_closed) = (true, true);
        for flow in flows_of(connection) {
            self.finish(flow);
            for end in EndId::both(flow) {
                self.ends[end].live = false;
            }
        }
    }
}

fn flows_of(connection: &Connection) -> Vec<FlowId> {
    connection
        .subflows
        .iter()
        .map(|subflow| subflow.flow)
        .collect()
}

/// Returns what a scheduler reads of the data sender of a subflow.
fn path_of(end: &End, subflow: &Subflow, now: Instant) -> Path {
    let conn = &end.conn;
    let penalty = u64::from(subflow.is_penalised(now));
    let window = conn.cwnd() >> penalty;
    let mss = u64::from(conn.mss());
    let is_open = end.live && conn.state() == State::Established;
    // Data that waits in the send buffer leaves first.
    let sent = conn.snd_max().saturating_sub(1);
    let waits = subflow.written() > sent;
    Path {
        works: subflow.works() && is_open,
        has_room: !waits && conn.room() >= mss && conn.pipe() + mss <= window,
        backup: subflow.backup,
        srtt: conn.srtt(),
        window,
        outstanding: conn.pipe(),
        mss,
    }
}
