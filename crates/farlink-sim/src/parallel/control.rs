//! Control of the windows of a run in parts, and of its end, by the first thread.

use super::cores::Cores;
use super::part::Part;
use super::plan::{self, Plan};
use super::rounds::{Shared, lock};
use crate::app::Side;
use crate::drive::{Drive, MAX_WAITING};
use crate::event_queue::Event;
use crate::flow::EndId;
use crate::monitor::{Monitor, RunError};
use crate::scenario::{App, Expanded};
use crate::world::{FlowKind, World, stall};
use farlink_tcp::{Instant, Interval, State};
use farlink_wire::{FlowId, NodeId};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::thread::Thread;

/// Number of rounds after which the gain is checked again.
const CHECK_EVERY: u64 = 64;
/// Number of events of a round below which threads cost more than they gain.
const LEAST_EVENTS: u64 = 400;
/// Number of rounds on one thread after rounds with too few events.
const REST: u64 = 1024;

/// Reason for the end of the windows.
enum Ended {
    /// The run is over.
    Over,
    /// The parts affect each other within a window.
    Broken,
}

/// State of the first thread.
pub(super) struct Control<'a> {
    shared: &'a Shared,
    scenario: &'a Expanded,
    plan: &'a Plan,
    monitor: &'a Monitor,
    drive: Drive,
    others: &'a [Thread],
    /// Flow that kept the run from ending in the last window.
    guard: usize,
    /// Number of further windows on one thread.
    rest: u64,
    /// Number of events at the last check of the gain.
    recent: u64,
    cores: Cores,
}

impl<'a> Control<'a> {
    /// Returns the control of parts by the first of `threads` threads; `others` has the others.
    pub(super) fn new(
        (shared, others): (&'a Shared, &'a [Thread]),
        (scenario, plan): (&'a Expanded, &'a Plan),
        threads: usize,
        monitor: &'a Monitor,
        drive: Drive,
    ) -> Self {
        let cores = Cores {
            parts: plan.parts,
            threads,
            lookahead: plan.lookahead.as_secs_f64(),
            ..Cores::default()
        };
        Self {
            shared,
            scenario,
            plan,
            monitor,
            drive,
            others,
            guard: 0,
            rest: 0,
            recent: 0,
            cores,
        }
    }

    /// Runs all windows. Returns the time of the end.
    pub(super) fn run(mut self) -> Result<Option<(Drive, Instant, Cores)>, RunError> {
        let started = std::time::Instant::now();
        while let Some(next) = self.shared.next_time() {
            self.report()?;
            if next > self.drive.record_by && self.record(next) {
                break;
            }
            let until = next + self.plan.lookahead;
            let until = until.min(self.drive.record_by + Interval::from_nanos(1));
            match self.window(until) {
                Some(Ended::Over) => break,
                Some(Ended::Broken) => return Ok(None),
                None => {}
            }
        }
        // The last mail completes the counters of flows.
        self.shared.begin_round();
        let mut last = Event::last_at(Instant::ZERO);
        let mut now = Instant::ZERO;
        for (number, part) in self.shared.parts.iter().enumerate() {
            let mut part = lock(part);
            self.shared.receive(number, &mut part);
            last = last.max(part.last);
            now = now.max(part.world.now);
        }
        if self.drive.last == Event::last_at(self.drive.limit) {
            now = self.drive.limit;
        } else {
            self.drive.last = last;
        }
        self.cores.elapsed = started.elapsed().as_secs_f64();
        Ok(Some((self.drive, now, self.cores)))
    }

    /// Records the progress of flows before an event at `next`, like a run in one part. Returns
    /// whether the time limit is reached.
    fn record(&mut self, next: Instant) -> bool {
        let drive = &mut self.drive;
        let worlds: Vec<_> = self.shared.parts.iter().map(lock).collect();
        let now = worlds.iter().map(|part| part.world.now).max();
        let now = now.unwrap_or_default();
        let measure = |flow: usize| {
            let (to, from) = plan::parts_of(self.plan, self.scenario, flow);
            let of = |part: usize| {
                let world = &worlds[part].world;
                stall::measure(world, world.order[flow])
            };
            let (all, began) = of(to);
            if from == to {
                return (all, began);
            }
            let (more, _) = of(from);
            (all + more, began)
        };
        let until = next.min(drive.limit);
        let flows = self.scenario.flows.len();
        drive.watch.record_with(flows, (now, until), measure);
        drive.record_by = drive.limit.min(drive.watch.next);
        if next <= drive.limit {
            return false;
        }
        drive.last = Event::last_at(drive.limit);
        true
    }

    /// Handles all events before `until`.
    fn window(&mut self, until: Instant) -> Option<Ended> {
        self.rest = self.rest.saturating_sub(1);
        if self.rest > 0 || !self.may_not_end_before(until) {
            let started = std::time::Instant::now();
            let ended = self.serial_window(until);
            self.cores.serial += started.elapsed().as_secs_f64();
            self.cores.serial_rounds += 1;
            return ended;
        }
        self.shared.advance(until, self.others);
        let worked = self.shared.worked.iter();
        let times: Vec<_> = worked.map(|nanos| nanos.load(Ordering::Relaxed)).collect();
        let most = times.iter().max().copied().unwrap_or(0);
        self.cores.work += times.iter().sum::<u64>() as f64 / 1e9;
        self.cores.critical += most as f64 / 1e9;
        if self.cores.threads < self.cores.parts {
            self.cores.times.push(times);
        }
        self.cores.rounds += 1;
        if self.is_broken() || self.is_over() {
            return Some(Ended::Broken);
        }
        self.check_gain();
        None
    }

    /// Ends the windows on all threads for a while if they have few events.
    fn check_gain(&mut self) {
        if !self.cores.rounds.is_multiple_of(CHECK_EVERY) || self.others.is_empty() {
            return;
        }
        let parts = self.shared.parts.iter();
        let events: u64 = parts.map(|part| lock(part).world.events).sum();
        if events - self.recent < LEAST_EVENTS * CHECK_EVERY {
            self.rest = REST;
        }
        self.recent = events;
    }

    /// Handles all events before `until` in the order of a whole world.
    fn serial_window(&mut self, until: Instant) -> Option<Ended> {
        self.shared.begin_round();
        let mut parts: Vec<_> = self.shared.parts.iter().map(lock).collect();
        for (number, part) in parts.iter_mut().enumerate() {
            self.shared.receive(number, part);
        }
        let ended = serial_events(&mut parts, until);
        for (number, part) in parts.iter_mut().enumerate() {
            self.shared.send(number, part);
        }
        if ended {
            return Some(Ended::Over);
        }
        drop(parts);
        self.is_broken().then_some(Ended::Broken)
    }

    /// Returns whether a part differs from a whole world, or its packets fill the memory. A run in
    /// one part then reports the link.
    fn is_broken(&self) -> bool {
        let is_broken =
            |part: &Part| part.is_broken || part.world.packets.count() > MAX_WAITING as usize;
        self.shared.has_failed() || self.shared.parts.iter().any(|part| is_broken(&lock(part)))
    }

    fn is_over(&self) -> bool {
        let mut parts: Vec<_> = self.shared.parts.iter().map(lock).collect();
        is_over(&mut parts)
    }

    /// Returns whether a flow keeps the run from ending before `until`.
    fn may_not_end_before(&mut self, until: Instant) -> bool {
        let count = self.scenario.flows.len();
        for step in 0..count {
            let flow = (self.guard + step) % count;
            if self.keeps_on(flow, until) {
                self.guard = flow;
                return true;
            }
        }
        false
    }

    /// Returns whether a flow cannot be complete and closed before `until`, which is at most the
    /// lookahead away.
    fn keeps_on(&self, number: usize, until: Instant) -> bool {
        let flow = &self.scenario.flows[number];
        let starts = Instant::ZERO + flow.start;
        if starts >= until {
            return true;
        }
        let (to, from) = plan::parts_of(self.plan, self.scenario, number);
        let receiver = lock(&self.shared.parts[to]);
        let stops_later = |after: Option<Interval>| after.is_none_or(|d| starts + d >= until);
        let FlowKind::Tcp(id) = receiver.world.order[number] else {
            return matches!(flow.app, App::Udp(_))
                && flow.duration.is_some_and(|d| starts + d >= until);
        };
        let state = &receiver.world.flows[id];
        if state.done_at.is_some() || !stops_later(state.stops_after) {
            return false;
        }
        match flow.app {
            App::Bulk => true,
            App::File { .. } if from != to => {
                drop(receiver);
                let sender = lock(&self.shared.parts[from]);
                is_open(&sender.world, id)
            }
            // The FIN of an open connection takes the delay of its path.
            App::File { .. } => {
                is_open(&receiver.world, id)
                    && delay(&receiver.world, flow.from, flow.to) >= self.plan.lookahead
            }
            _ => false,
        }
    }

    /// Sets the progress of the run in the monitor.
    fn report(&self) -> Result<(), RunError> {
        self.monitor.stopped()?;
        let now = lock(&self.shared.parts[0]).world.now.as_nanos();
        let share = now as f64 / self.drive.limit.as_nanos().max(1) as f64;
        let monitor = self.monitor;
        monitor.simulated.store(now, Ordering::Relaxed);
        monitor.share.store((share * 1e6) as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Returns whether the sender of a flow has not sent its FIN.
fn is_open(world: &World, flow: FlowId) -> bool {
    let sender = &world.ends[EndId::new(flow, Side::From)];
    let state = sender.conn.state();
    sender.live
        && matches!(
            state,
            State::Listen | State::SynSent | State::SynReceived | State::Established
        )
}

/// Returns the delay of the links from one node to another.
fn delay(world: &World, from: usize, to: usize) -> Interval {
    let (mut at, to) = (NodeId(from as u32), NodeId(to as u32));
    let mut delay = Interval::ZERO;
    for _ in 0..world.nodes.len() {
        let link = world.nodes[at].next_hop(to);
        if at == to || !world.links.has(link) {
            break;
        }
        delay = delay + world.links[link].config().delay;
        at = world.links[link].to();
    }
    delay
}

/// Handles all events before `until` in their order over all parts. Returns whether the run ended.
fn serial_events(parts: &mut [MutexGuard<'_, Part>], until: Instant) -> bool {
    loop {
        let mut next: Option<(Event, usize)> = None;
        for (number, part) in parts.iter_mut().enumerate() {
            if part.next_time().is_some()
                && let Some(event) = part.world.next_event()
                && next.is_none_or(|(first, _)| event < first)
            {
                next = Some((event, number));
            }
        }
        let Some((event, number)) = next.filter(|(event, _)| event.time() < until) else {
            return false;
        };
        parts[number].step(event);
        for (sender, flow, event) in parts[number].drain_completed() {
            parts[sender].complete(flow, event);
        }
        if is_over(parts) {
            return true;
        }
    }
}

/// Returns whether all flows are complete and all connections are closed.
fn is_over(parts: &mut [MutexGuard<'_, Part>]) -> bool {
    let unfinished = |part: &MutexGuard<'_, Part>| part.world.completion.unfinished;
    parts.iter().all(|part| unfinished(part) == 0) && parts.iter_mut().all(|part| part.is_settled())
}
