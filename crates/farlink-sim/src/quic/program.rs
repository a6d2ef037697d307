//! Applications of TCP over QUIC: each connection has one stream in each direction.

use super::ends::Ends;
use super::seen::Happened;
use crate::app::{AppEvent, Command, Program, Side};
use farlink_small::Quantiles;
use farlink_tcp::{CloseReason, Instant, Interval};

const SIDES: [Side; 2] = [Side::From, Side::To];

/// An end of the current connection.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Set once the handshake has ended here.
    is_established: bool,
    /// Set once the program writes no more here.
    has_finished: bool,
    /// Set once the program knows that the peer writes no more.
    peer_finished: bool,
    /// Set once the program knows that the connection has ended here.
    is_over: bool,
}

/// A program at both ends of a connection.
#[derive(Debug)]
pub(crate) struct Running {
    program: Program,
    states: [State; 2],
    /// Number of bytes that each end waits for.
    awaited: [u64; 2],
    /// Number of bytes that the program has written at each end.
    written: [u64; 2],
    wakes_at: Option<Instant>,
    /// Set while the program wants another connection.
    wants_open: bool,
    /// Set once an end has closed the connection after the last byte of both streams.
    has_closed: bool,
    pub(crate) is_complete: bool,
    pub(crate) has_failed: bool,
    /// Number, sum and distribution of the response times.
    pub(crate) responses: u64,
    pub(crate) response_sum: Interval,
    pub(crate) response_times: Quantiles,
}

fn index(side: Side) -> usize {
    usize::from(side == Side::To)
}

impl Running {
    pub(crate) fn new(program: Program) -> Self {
        Self {
            program,
            states: Default::default(),
            awaited: [u64::MAX; 2],
            written: [0; 2],
            wakes_at: None,
            wants_open: false,
            has_closed: false,
            is_complete: false,
            has_failed: false,
            responses: 0,
            response_sum: Interval::ZERO,
            response_times: Quantiles::default(),
        }
    }

    /// Starts the program, whose first connection is opened now.
    pub(crate) fn start(&mut self, now: Instant, ends: &mut Ends) {
        let mut commands = Vec::new();
        self.program.start(now, &mut commands);
        self.perform(&commands, ends);
    }

    /// Returns the completed share after `received` bytes.
    pub(crate) fn share(&self, received: u64) -> f64 {
        self.program.share(received)
    }

    /// Returns the time at which the program does something by itself.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.wakes_at
    }

    /// Returns whether an end waits for data that the other has written.
    pub(crate) fn is_busy(&self, ends: &Ends) -> bool {
        let established = self.states.iter().all(|state| state.is_established);
        !established || (0..2).any(|end| ends.read(1 - end) < self.written[end])
    }

    /// Handles what has happened at both ends, and the time of the program.
    pub(crate) fn serve(&mut self, now: Instant, ends: &mut Ends) {
        if self.wakes_at.is_some_and(|at| at <= now) {
            self.wakes_at = None;
            self.notify(now, Side::From, AppEvent::Woken, ends);
        }
        loop {
            // Peers wait for packets, so few rounds are enough.
            while SIDES
                .into_iter()
                .any(|side| self.serve_end(now, side, ends))
            {}
            // The server may not know yet that the connection has ended.
            if !self.wants_open || !self.has_closed || !self.states[ends.client()].is_over {
                return;
            }
            self.open(now, ends);
        }
    }

    /// Handles one event at an end. Returns whether there was one.
    fn serve_end(&mut self, now: Instant, side: Side, ends: &mut Ends) -> bool {
        let end = index(side);
        while let Some(event) = ends.happened(end) {
            // The client of a connection with early data has this event twice.
            if event == Happened::Connected && !self.states[end].is_established {
                self.states[end].is_established = true;
                self.notify(now, side, AppEvent::Established, ends);
                return true;
            }
        }
        if ends.read(end) >= self.awaited[end] {
            self.awaited[end] = u64::MAX;
            self.notify(now, side, AppEvent::Received(ends.read(end)), ends);
            return true;
        }
        if ends.has_all(end) && !self.states[end].peer_finished {
            self.states[end].peer_finished = true;
            self.notify(now, side, AppEvent::PeerClosed, ends);
            return true;
        }
        if self.is_over_at(end, ends) && !self.states[end].is_over {
            self.states[end].is_over = true;
            if !self.has_closed && !ends.has_ended(end) {
                self.has_closed = true;
                ends.close(end, now);
            }
            self.notify(now, side, AppEvent::Closed(CloseReason::Done), ends);
            return true;
        }
        if ends.has_ended(end) && !self.states[end].is_over {
            self.states[end].is_over = true;
            // The packet that closes a connection can be lost. The idle time is no failure then.
            let reason = if self.has_closed {
                CloseReason::Done
            } else {
                CloseReason::TimedOut
            };
            self.notify(now, side, AppEvent::Closed(reason), ends);
            return true;
        }
        false
    }

    /// Returns whether an end has read and delivered all data of the connection.
    fn is_over_at(&self, end: usize, ends: &Ends) -> bool {
        let state = &self.states[end];
        state.has_finished && state.peer_finished && ends.is_acknowledged(end)
    }

    fn open(&mut self, now: Instant, ends: &mut Ends) {
        self.wants_open = false;
        self.has_closed = false;
        self.states = Default::default();
        ends.renew(now);
        self.notify(now, Side::From, AppEvent::Opened, ends);
    }

    fn notify(&mut self, now: Instant, side: Side, event: AppEvent, ends: &mut Ends) {
        let mut commands = Vec::new();
        self.program.on_event(now, side, event, &mut commands);
        self.perform(&commands, ends);
    }

    fn perform(&mut self, commands: &[Command], ends: &mut Ends) {
        for &command in commands {
            match command {
                Command::Write(side, len) => {
                    self.written[index(side)] += len;
                    ends.write(index(side), len);
                }
                Command::Await(side, total) => self.awaited[index(side)] = total,
                Command::Close(side) | Command::Leave(side) => {
                    self.states[index(side)].has_finished = true;
                    ends.finish(index(side));
                }
                Command::Open => self.wants_open = true,
                Command::Wake(at) => self.wakes_at = Some(at),
                Command::Responded(after) => {
                    self.responses += 1;
                    self.response_sum = self.response_sum + after;
                    self.response_times.add(after.as_nanos());
                }
                Command::Complete(_) => self.is_complete = true,
                Command::Fail => self.has_failed |= !self.is_complete,
            }
        }
    }
}
