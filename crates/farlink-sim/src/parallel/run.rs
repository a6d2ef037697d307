//! Control of a run in parts: windows, the end of the run, and the choice between one part and
//! several.

use super::merge::merge;
use super::part::Part;
use super::plan::{self, Plan};
use super::rounds::{Quit, Shared, lock};
use crate::app::Side;
use crate::build::build;
use crate::drive::{Drive, MAX_WAITING};
use crate::event_queue::Event;
use crate::flow::EndId;
use crate::log;
use crate::monitor::{Monitor, RunError};
use crate::run::{Outcome, each, outcome, run};
use crate::scenario::{App, Expanded};
use crate::world::{FlowKind, World, stall};
use farlink_tcp::{Instant, Interval, State};
use farlink_wire::{FlowId, NodeId};
use std::fmt;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::thread::Thread;

/// Number of rounds after which the gain is checked again.
const CHECK_EVERY: u64 = 64;
/// Number of events of a round below which threads cost more than they gain.
const LEAST_EVENTS: u64 = 400;
/// Number of events of a slice of a run in one part.
const SLICE: u64 = 1 << 17;
/// Number of rounds on one thread after rounds with too few events.
const REST: u64 = 1024;

/// Account of a run on several cores.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Cores {
    /// Number of parts of the network.
    pub parts: usize,
    /// Number of threads that handled the parts.
    pub threads: usize,
    /// Reason for one part.
    pub reason: Option<String>,
    /// Longest window in seconds, which is the least delay of a link between parts.
    pub lookahead: f64,
    /// Number of windows on all threads.
    pub rounds: u64,
    /// Number of windows on one thread, because the run could end in them or they had few events.
    pub serial_rounds: u64,
    /// Seconds of all parts in windows on all threads.
    pub work: f64,
    /// Seconds of the slowest part, summed over these windows.
    pub critical: f64,
    /// Seconds of the windows on one thread.
    pub serial: f64,
    /// Seconds from the start of the first window to the end of the last.
    pub elapsed: f64,
    /// Nanoseconds of each part in each window on all threads, if there are fewer threads than
    /// parts. With one part, nanoseconds of each slice of the run.
    pub times: Vec<Vec<u64>>,
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "one part, because {reason}"),
            None => write!(
                f,
                "{} parts, {} windows of at most {} ms, {} more on one thread",
                self.parts,
                self.rounds,
                self.lookahead * 1e3,
                self.serial_rounds
            ),
        }
    }
}

impl Cores {
    fn single(reason: impl Into<String>) -> Self {
        Self {
            parts: 1,
            threads: 1,
            reason: Some(reason.into()),
            ..Self::default()
        }
    }
}

/// Runs number `run` of a scenario like [`run()`], in `parts` parts on up to `threads` threads.
/// The outcome equals that of [`run()`] to the bit.
///
/// # Errors
///
/// See [`RunError`].
pub fn run_parallel(
    scenario: &Expanded,
    number: u64,
    size: (usize, usize),
    monitor: &Monitor,
) -> Result<(Outcome, Cores), RunError> {
    run_with(scenario, number, size, plan::LEAST_GAIN, monitor)
}

/// Runs jobs like [`crate::run_each`], `workers` at a time, each in up to `threads` parts with a
/// thread for each part.
pub fn run_each_parallel<T: Send + Sync>(
    jobs: &[(&Expanded, u64)],
    (workers, threads): (usize, usize),
    monitor: &Monitor,
    keep: impl Fn(usize, Outcome, Cores) -> T + Sync,
) -> (Vec<T>, Option<RunError>) {
    each(jobs, workers, monitor, |job, scenario, number| {
        let size = (threads, threads);
        let (outcome, cores) = run_parallel(scenario, number, size, monitor)?;
        Ok(keep(job, outcome, cores))
    })
}

/// Runs in parts if the expected speed-up is at least `least_gain`.
pub(super) fn run_with(
    scenario: &Expanded,
    number: u64,
    (parts, threads): (usize, usize),
    least_gain: f64,
    monitor: &Monitor,
) -> Result<(Outcome, Cores), RunError> {
    if log::is_on() {
        let cores = Cores::single("the log of the engine is on");
        return Ok((run(scenario, number, monitor)?, cores));
    }
    let obstacle = match parts {
        0 | 1 => Some("one part is requested"),
        _ => plan::obstacle(scenario),
    };
    let count = if obstacle.is_some() { 1 } else { parts };
    let threads = threads.clamp(1, count);
    let worlds = build_worlds(scenario, number, (count, threads), monitor)?;
    let Some(world) = worlds.first() else {
        return Err(RunError::Build("no part".into()));
    };
    let plan = match obstacle {
        Some(reason) => Err(reason.to_owned()),
        None => plan::plan(world, scenario, parts, least_gain),
    };
    let plan = match plan {
        Ok(plan) => plan,
        Err(reason) => {
            let first = worlds.into_iter().next();
            return first.map_or(Err(RunError::Interrupted), |world| {
                whole(world, scenario, monitor, reason)
            });
        }
    };
    let part = |(number, world)| Part::new(world, scenario, &plan, number);
    let parts = worlds.into_iter().enumerate().map(part).collect();
    match run_parts(parts, scenario, &plan, threads, monitor) {
        Ok(Some((world, cores))) => Ok((outcome(&world, scenario), cores)),
        Ok(None) => {
            let mut world = build(scenario, number, monitor)?;
            world.fast_collapse_hops(scenario);
            let reason = "its parts affect each other within a window";
            whole(world, scenario, monitor, reason.to_owned())
        }
        Err(error) => Err(error),
    }
}

/// Runs a whole world, for a reason.
fn whole(
    mut world: World,
    scenario: &Expanded,
    monitor: &Monitor,
    reason: String,
) -> Result<(Outcome, Cores), RunError> {
    let started = std::time::Instant::now();
    let mut drive = Drive::new(&world, scenario);
    let mut times = Vec::new();
    loop {
        let slice = std::time::Instant::now();
        let is_over = drive.advance(&mut world, scenario, monitor, SLICE)?;
        times.push(vec![slice.elapsed().as_nanos() as u64]);
        if is_over {
            break;
        }
    }
    drive.finish(&mut world);
    let cores = Cores {
        elapsed: started.elapsed().as_secs_f64(),
        times,
        ..Cores::single(reason)
    };
    Ok((outcome(&world, scenario), cores))
}

/// Builds a world for each part.
fn build_worlds(
    scenario: &Expanded,
    run: u64,
    (count, threads): (usize, usize),
    monitor: &Monitor,
) -> Result<Vec<World>, RunError> {
    let of_thread = |thread: usize| {
        let build = |number| {
            let mut world = build(scenario, run, monitor)?;
            world.fast_collapse_hops(scenario);
            Ok((number, world))
        };
        let numbers = (thread..count).step_by(threads);
        numbers.map(build).collect::<Result<Vec<_>, RunError>>()
    };
    let built = std::thread::scope(|scope| {
        let of_thread = &of_thread;
        let handles: Vec<_> = (1..threads)
            .map(|thread| scope.spawn(move || of_thread(thread)))
            .collect();
        let mut built = vec![of_thread(0)];
        for handle in handles {
            let failed = || RunError::Build("a thread failed".into());
            built.push(handle.join().unwrap_or_else(|_| Err(failed())));
        }
        built
    });
    let mut worlds = Vec::with_capacity(count);
    for of_thread in built {
        worlds.extend(of_thread?);
    }
    worlds.sort_by_key(|(number, _)| *number);
    Ok(worlds.into_iter().map(|(_, world)| world).collect())
}

/// Runs all parts. Returns `None` if they affect each other within a window.
fn run_parts(
    parts: Vec<Part>,
    scenario: &Expanded,
    plan: &Plan,
    threads: usize,
    monitor: &Monitor,
) -> Result<Option<(World, Cores)>, RunError> {
    let drive = match parts.first() {
        Some(part) => Drive::new(&part.world, scenario),
        None => return Ok(None),
    };
    let shared = Shared::new(parts, threads);
    let ended = std::thread::scope(|scope| {
        let shared = &shared;
        let others: Vec<Thread> = (1..threads)
            .map(|thread| scope.spawn(move || shared.follow(thread)))
            .map(|handle| handle.thread().clone())
            .collect();
        let quit = Quit(shared, others);
        let control = Control {
            shared,
            scenario,
            plan,
            monitor,
            drive,
            others: &quit.1,
            guard: 0,
            rest: 0,
            recent: 0,
            cores: Cores {
                parts: plan.parts,
                threads,
                lookahead: plan.lookahead.as_secs_f64(),
                ..Cores::default()
            },
        };
        control.run()
    })?;
    let Some((drive, now, cores)) = ended else {
        return Ok(None);
    };
    let Some(mut world) = merge(shared.into_parts(), scenario, plan, now) else {
        return Ok(None);
    };
    let mut drive = drive;
    if drive.last == Event::last_at(drive.limit) {
        world.completion.stalls = drive.watch.stalls(&mut world);
    }
    drive.finish(&mut world);
    Ok(Some((world, cores)))
}

/// Reason for the end of the windows.
enum Ended {
    /// The run is over.
    Over,
    /// The parts affect each other within a window.
    Broken,
}

/// State of the first thread.
struct Control<'a> {
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

impl Control<'_> {
    /// Runs all windows. Returns the time of the end.
    fn run(mut self) -> Result<Option<(Drive, Instant, Cores)>, RunError> {
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
