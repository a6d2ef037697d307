//! A run that the caller advances in slices.

use crate::build::build;
use crate::drive::Drive;
use crate::monitor::{Monitor, RunError};
use crate::probe::Probes;
use crate::run::{Trace, end_probes, observe, outcome};
use crate::scenario::Expanded;
use crate::world::World;
use farlink_tcp::Instant;

/// A run in progress. Its results equal those of [`crate::run()`] and [`crate::trace`] bit by bit,
/// for any slices.
#[derive(Debug)]
pub struct Stepper {
    scenario: Expanded,
    world: World,
    drive: Drive,
    monitor: Monitor,
    /// Names of the tables that the run records.
    tables: Vec<String>,
    is_over: bool,
}

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Set if the run is over.
    pub is_over: bool,
    /// Completed share, 0 to 1.
    pub share: f64,
    /// Events so far.
    pub events: u64,
    /// Simulated seconds so far.
    pub simulated: f64,
}

impl Stepper {
    /// Builds run number `run`, which records the tables with these names. Without tables it is as
    /// fast as [`crate::run()`].
    ///
    /// # Errors
    ///
    /// See [`RunError`].
    pub fn new(scenario: Expanded, run: u64, tables: &[impl AsRef<str>]) -> Result<Self, RunError> {
        let monitor = Monitor::default();
        let mut world = build(&scenario, run, &monitor)?;
        if tables.is_empty() {
            world.fast_collapse_hops(&scenario);
        } else {
            observe(&mut world, Probes::of_tables(tables));
            world.links.watch_frames();
        }
        let drive = Drive::new(&world, &scenario);
        Ok(Self {
            scenario,
            world,
            drive,
            monitor,
            tables: tables.iter().map(|name| name.as_ref().to_owned()).collect(),
            is_over: false,
        })
    }

    /// Handles about `events` further events.
    ///
    /// # Errors
    ///
    /// See [`RunError`].
    pub fn step(&mut self, events: u64) -> Result<Progress, RunError> {
        if !self.is_over {
            let (world, scenario) = (&mut self.world, &self.scenario);
            self.is_over = self.drive.advance(world, scenario, &self.monitor, events)?;
        }
        Ok(self.progress())
    }

    /// Handles all events up to `until`, and none after it.
    ///
    /// # Errors
    ///
    /// See [`RunError`].
    pub fn step_until(&mut self, until: Instant) -> Result<Progress, RunError> {
        while !self.is_over && self.world.next_time().is_none_or(|next| next <= until) {
            let (world, scenario) = (&mut self.world, &self.scenario);
            self.is_over = self.drive.advance(world, scenario, &self.monitor, 1)?;
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        let share = || self.drive.share(&self.world);
        Progress {
            is_over: self.is_over,
            share: if self.is_over { 1.0 } else { share() },
            events: self.world.events,
            simulated: self.world.now.as_secs_f64(),
        }
    }

    /// Ends the run at its current time, and returns its scenario and its results. They are those
    /// of the whole run if [`Self::step`] has returned `is_over`.
    pub fn finish(mut self) -> (Expanded, Trace) {
        self.drive.finish(&mut self.world);
        let outcome = outcome(&self.world, &self.scenario);
        let mut tables = if self.world.probes.is_some() {
            end_probes(&mut self.world).into_tables()
        } else {
            Vec::new()
        };
        tables.retain(|table| self.tables.iter().any(|name| name == table.name));
        let trace = Trace {
            outcome,
            tables,
            captures: Vec::new(),
            secrets: String::new(),
            qlogs: Vec::new(),
        };
        (self.scenario, trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TraceOptions, digest, scenario};
    use farlink_tcp::Interval;

    const TEXT: &str = r#"
        [[links]]
        name = "l"
        between = ["a", "r"]
        down = { rate = "2 Mbit/s", delay = "100 ms", channel = { loss = 0.01 }, background = [{ load = "1 Mbit/s" }] }
        [[links]]
        between = ["r", "b"]
        down = { rate = "1 Gbit/s", delay = "1 ms" }
        [[flows]]
        from = "a"
        to = "b"
        size = "200 kB"
        "#;

    fn expanded() -> Expanded {
        let scenario = scenario::load(TEXT, "", &[]).and_then(|s| s.expand());
        scenario.unwrap()
    }

    fn stepped(events: u64, tables: &[&str]) -> Trace {
        let mut stepper = Stepper::new(expanded(), 3, tables).unwrap();
        while !stepper.step(events).unwrap().is_over {}
        stepper.finish().1
    }

    #[test]
    fn slices_of_any_length_give_the_results_of_a_whole_run() {
        let whole = crate::run(&expanded(), 3, &Monitor::default()).unwrap();
        let traced = crate::trace(
            &expanded(),
            3,
            &TraceOptions::default(),
            &Monitor::default(),
        )
        .unwrap();
        for events in [1, 7, 1000, u64::MAX] {
            assert_eq!(stepped(events, &[]).outcome, whole);
            let some = stepped(events, &["queue", "state"]);
            assert_eq!(some.outcome, whole);
            assert_eq!(some.tables.len(), 2);
            let of = |trace: &Trace, name| {
                trace
                    .tables
                    .iter()
                    .find(|t| t.name == name)
                    .cloned()
                    .unwrap()
            };
            for name in ["queue", "state"] {
                assert_eq!(of(&some, name), of(&traced, name), "{name}");
            }
        }
        let all: Vec<_> = traced.tables.iter().map(|table| table.name).collect();
        let again = stepped(100, &all);
        assert_eq!(
            digest(&again.outcome, &again.tables),
            digest(&traced.outcome, &traced.tables)
        );
    }

    #[test]
    fn steps_by_time_give_the_results_of_a_whole_run_and_stop_before_later_events() {
        let whole = crate::run(&expanded(), 3, &Monitor::default()).unwrap();
        let mut stepper = Stepper::new(expanded(), 3, &[""; 0]).unwrap();
        let mut until = Instant::ZERO;
        loop {
            until += Interval::from_millis(37);
            let progress = stepper.step_until(until).unwrap();
            assert!(progress.simulated <= until.as_secs_f64(), "{progress:?}");
            if progress.is_over {
                break;
            }
        }
        let after = stepper
            .step_until(until + Interval::from_secs(100))
            .unwrap();
        assert!(after.is_over && after.simulated <= until.as_secs_f64());
        assert_eq!(stepper.finish().1.outcome, whole);
    }

    #[test]
    fn progress_grows_from_slice_to_slice() {
        let mut stepper = Stepper::new(expanded(), 0, &[""; 0]).unwrap();
        let mut before = stepper.step(0).unwrap();
        loop {
            let after = stepper.step(50).unwrap();
            assert!(after.share >= before.share && after.events >= before.events);
            assert!(after.events <= before.events + 60, "{before:?} {after:?}");
            if after.is_over {
                assert_eq!(after.share, 1.0);
                break;
            }
            before = after;
        }
    }
}
