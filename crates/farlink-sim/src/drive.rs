//! The loop over the events of a run, in slices of any length.

use crate::app::Side;
use crate::event_queue::Event;
use crate::flow::{EndId, FlowState};
use crate::monitor::{Monitor, RunError};
use crate::scenario::Expanded;
use crate::udp::UdpFlow;
use crate::world::World;
use crate::world::stall::Watch;
use crate::xtp::XtpFlow;
use farlink_link::QueueLimit;
use farlink_tcp::{Instant, Interval, State};
use farlink_wire::{FlowId, Id, LinkId};
use std::sync::atomic::Ordering;

/// Maximum number of packets in a queue without a configured limit, because each packet takes about
/// 150 bytes of memory.
pub(crate) const MAX_WAITING: u32 = 4_000_000;

/// Number of events between two checks of the monitor.
pub(crate) const CHECK_EVERY: u64 = 1 << 14;

/// Handles events until all flows have finished or the time limit is reached.
pub(crate) fn drive(
    world: &mut World,
    scenario: &Expanded,
    monitor: &Monitor,
) -> Result<(), RunError> {
    let mut drive = Drive::new(world, scenario);
    while !drive.advance(world, scenario, monitor, u64::MAX)? {}
    drive.finish(world);
    Ok(())
}

/// State of the loop over the events of a run.
#[derive(Debug)]
pub(crate) struct Drive {
    pub(crate) limit: Instant,
    /// Set if the scenario has a duration, so the run does not end with its flows.
    timed: bool,
    /// Number of ends, from the first, whose connections are closed.
    settled: u32,
    /// Number of events at which the monitor is checked next.
    check_at: u64,
    background: Background,
    bound: Bound,
    pub(crate) watch: Watch,
    pub(crate) record_by: Instant,
    /// The last event.
    pub(crate) last: Event,
}

impl Drive {
    pub(crate) fn new(world: &World, scenario: &Expanded) -> Self {
        let limit = Instant::ZERO + scenario.duration.unwrap_or(scenario.max_duration);
        let watch = Watch::new(limit, world.order.len());
        Self {
            limit,
            timed: scenario.duration.is_some(),
            settled: 0,
            check_at: CHECK_EVERY,
            background: Background::new(world),
            bound: Bound::new(MAX_WAITING),
            record_by: limit.min(watch.next),
            watch,
            last: Event::last_at(Instant::ZERO),
        }
    }

    /// Handles about `most` further events. Returns whether the run is over. The results do not
    /// depend on the slices.
    pub(crate) fn advance(
        &mut self,
        world: &mut World,
        scenario: &Expanded,
        monitor: &Monitor,
        most: u64,
    ) -> Result<bool, RunError> {
        let stop = world.events.saturating_add(most);
        let steps = (most / CHECK_EVERY).max(1);
        let mut wake = self.check_at.min(stop);
        while let Some(event) = world.next_event() {
            let next = event.time();
            let until = next.min(self.limit);
            if !self.background.links.is_empty()
                && !self.background.admit(until, steps, world, monitor)?
            {
                return Ok(false);
            }
            if next > self.record_by && self.record(world, next) {
                break;
            }
            self.last = event;
            world.handle(event);
            if world.completion.unfinished == 0 && self.is_settled(world) {
                break;
            }
            if world.events >= wake {
                if world.events >= self.check_at {
                    self.check_at = world.events + CHECK_EVERY;
                    self.bound.check(world, scenario)?;
                    self.report(world, monitor)?;
                }
                if world.events >= stop {
                    return Ok(false);
                }
                wake = self.check_at.min(stop);
            }
        }
        Ok(true)
    }

    /// Records the progress of the flows before an event at time `next`. Returns whether the time
    /// limit is reached.
    fn record(&mut self, world: &mut World, next: Instant) -> bool {
        self.watch.record(world, next.min(self.limit));
        self.record_by = self.limit.min(self.watch.next);
        if next <= self.limit {
            return false;
        }
        world.now = self.limit;
        self.last = Event::last_at(self.limit);
        world.completion.stalls = self.watch.stalls(world);
        true
    }

    /// Returns whether all connections are closed; TIME-WAIT is treated as closed. An end that
    /// listens after a reset of its handshake waits for nothing, because all flows have finished.
    fn is_settled(&mut self, world: &World) -> bool {
        while world
            .ends
            .get(EndId::at(self.settled))
            .is_some_and(|e| !e.live || e.over() || e.conn.state() == State::Listen)
        {
            self.settled += 1;
        }
        self.settled as usize == world.ends.len()
    }

    /// Sets the time of the world to the end of the run.
    pub(crate) fn set_end(&self, world: &mut World) {
        if !self.timed {
            // Link metrics include the time up to the end of the last flow.
            world.now = world.now.max(world.completion.finished_at);
        }
    }

    /// Brings the world to the state at the end of the run.
    pub(crate) fn finish(&self, world: &mut World) {
        self.set_end(world);
        world.fast_settle_hops(&self.last);
        world.subtract_future_losses();
        for id in world.links.ids() {
            // Background packets may have arrived after the last packet of a flow.
            world.links[id].queued(world.now);
        }
    }

    /// Sets the progress of the run in the monitor.
    fn report(&self, world: &World, monitor: &Monitor) -> Result<(), RunError> {
        monitor.stopped()?;
        let share = self.share(world);
        let now = world.now.as_nanos();
        monitor.simulated.store(now, Ordering::Relaxed);
        monitor.share.store((share * 1e6) as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the completed share of the run, 0 to 1.
    pub(crate) fn share(&self, world: &World) -> f64 {
        if self.timed {
            return world.now.as_nanos() as f64 / self.limit.as_nanos().max(1) as f64;
        }
        // The progress of the run is the least progress of its flows.
        let part = |(flow, state): (FlowId, &FlowState)| -> f64 {
            if state.done_at.is_some() {
                return 1.0;
            }
            if let Some(d) = state.stops_after {
                let since = world.now.since(state.opened_at).as_secs_f64();
                return since / d.as_secs_f64().max(1e-9);
            }
            if let Some((connection, _)) = world.hosts.multipath.of(flow) {
                return connection.share();
            }
            let to = EndId::new(flow, Side::To);
            state.program.share(world.ends[to].received)
        };
        let datagrams = |flow: &UdpFlow| {
            if flow.done {
                1.0
            } else {
                flow.source.share(world.now)
            }
        };
        let over_tcp = world.flows.each().map(part);
        over_tcp
            .chain(world.udp.iter().map(datagrams))
            .chain(world.xtp.iter().map(XtpFlow::share))
            .chain(world.quic.iter().map(|flow| flow.share(world.now)))
            .fold(1.0, f64::min)
    }
}

/// Limit of the memory of queues without a configured limit.
#[derive(Debug)]
struct Bound {
    /// Maximum number of packets in such a queue.
    most: u32,
    /// Number of packets in the run at which the queues are checked next.
    next: usize,
}

impl Bound {
    fn new(most: u32) -> Self {
        Self {
            most,
            next: most as usize,
        }
    }

    /// Checks for an unlimited queue above the limit, at most once per `most / 8` further packets
    /// of the run. Links with background traffic are skipped, because its packets take no memory.
    fn check(&mut self, world: &mut World, scenario: &Expanded) -> Result<(), RunError> {
        let count = world.packets.count();
        if count <= self.next {
            return Ok(());
        }
        self.next = count + self.most as usize / 8;
        for id in world.links.ids() {
            let link = &world.links[id];
            if link.config().queue != QueueLimit::Unlimited || link.has_background() {
                continue;
            }
            let (packets, _) = world.links.waiting(id, world.now);
            if packets > self.most {
                return Err(RunError::Full {
                    link: scenario.links[id.link() as usize].name.clone(),
                    direction: id.direction().name(),
                    packets,
                    seconds: world.now.as_secs_f64(),
                });
            }
        }
        Ok(())
    }
}

/// Links with background traffic. Between two events, any number of background packets may arrive.
#[derive(Debug)]
struct Background {
    links: Vec<LinkId>,
    /// Time in which about `CHECK_EVERY` background packets arrive.
    step: Interval,
    /// Time up to which background packets were admitted.
    at: Instant,
}

impl Background {
    fn new(world: &World) -> Self {
        let all = world.links.each();
        let rate: f64 = all.map(|(_, link)| link.background_packets()).sum();
        let step = 1e9 * CHECK_EVERY as f64 / rate;
        Self {
            links: world
                .links
                .each()
                .filter_map(|(id, link)| link.has_background().then_some(id))
                .collect(),
            // Without background traffic the rate is 0, so the step is the longest possible.
            step: Interval::from_nanos((step as u64).max(1)),
            at: world.now,
        }
    }

    /// Admits background traffic up to `next`, in at most `most` steps if the next event is far
    /// away. Between steps the monitor is checked. Returns whether all of it is admitted.
    #[inline(never)]
    fn admit(
        &mut self,
        next: Instant,
        most: u64,
        world: &mut World,
        monitor: &Monitor,
    ) -> Result<bool, RunError> {
        let mut steps = 0;
        while next.since(self.at) > self.step {
            if steps == most {
                return Ok(false);
            }
            steps += 1;
            monitor.stopped()?;
            self.at += self.step;
            for &link in &self.links {
                world.links[link].queued(self.at);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;

    fn scenario() -> Expanded {
        let text = "[[links]]\nbetween = [\"a\", \"b\"]\ndown = { rate = \"100 Gbit/s\", delay = \"1 ms\", \
                    background = [{ load = \"90 Gbit/s\" }] }\n\
                    [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\nstart = \"20 ms\"\n";
        let scenario = crate::scenario::load(text, "", &[]);
        scenario.and_then(|s| s.expand()).unwrap()
    }

    /// The run has few events, and 150,000 background packets before the first.
    #[test]
    fn run_stops_while_admitting_background_traffic() {
        let (scenario, monitor) = (scenario(), Monitor::default());
        let mut world = build(&scenario, 0, &monitor).unwrap();
        monitor.stop.store(true, Ordering::Relaxed);
        let stopped = drive(&mut world, &scenario, &monitor);
        assert_eq!(stopped, Err(RunError::Interrupted));
    }

    #[test]
    fn run_fails_when_unlimited_queue_exceeds_bound() {
        let text = "[[links]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\n\
                    down = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\
                    [[flows]]\napp = \"cbr\"\nfrom = \"a\"\nto = \"b\"\nrate = \"100 Mbit/s\"\n\
                    packet = \"1000 B\"\nduration = \"10 s\"\n";
        let scenario = crate::scenario::load(text, "", &[]);
        let scenario = scenario.and_then(|s| s.expand()).unwrap();
        let mut world = build(&scenario, 0, &Monitor::default()).unwrap();
        while world.packets.count() < 300 {
            let event = world.next_event().unwrap();
            world.handle(event);
        }
        assert_eq!(Bound::new(400).check(&mut world, &scenario), Ok(()));
        let error = Bound::new(200).check(&mut world, &scenario).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("in the unlimited queue of link \"l\", down, at 0.0"),
            "{message}"
        );
    }

    #[test]
    fn run_stops_while_building_world() {
        let monitor = Monitor::default();
        monitor.stop.store(true, Ordering::Relaxed);
        let stopped = build(&scenario(), 0, &monitor).map(|_| ());
        assert_eq!(stopped, Err(RunError::Interrupted));
    }

    /// Admission in steps has the same result as admission at once.
    #[test]
    fn admitting_background_in_steps_equals_at_once() {
        let (scenario, monitor) = (scenario(), Monitor::default());
        let mut at_once = build(&scenario, 0, &monitor).unwrap();
        let mut in_steps = build(&scenario, 0, &monitor).unwrap();
        let end = Instant::ZERO + Interval::from_millis(20);
        let mut background = Background::new(&in_steps);
        assert!(
            background
                .admit(end, u64::MAX, &mut in_steps, &monitor)
                .unwrap()
        );
        assert!(background.at > Instant::ZERO + Interval::from_millis(15));
        let left = |world: &mut World| {
            let link = &mut world.links[LinkId(0)];
            (link.queued(end), link.stats_at(end))
        };
        assert_eq!(left(&mut at_once), left(&mut in_steps));
    }
}
