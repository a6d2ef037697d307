//! Runs in parts: the choice between one part and several, and the threads.

use super::control::Control;
use super::cores::Cores;
use super::merge::merge;
use super::part::Part;
use super::plan::{self, Plan};
use super::rounds::{Quit, Shared};
use crate::build::build;
use crate::drive::Drive;
use crate::event_queue::Event;
use crate::log;
use crate::monitor::{Monitor, RunError};
use crate::run::{Outcome, each, outcome, run};
use crate::scenario::Expanded;
use crate::world::World;
use std::thread::Thread;

/// Number of events of a slice of a run in one part.
const SLICE: u64 = 1 << 17;

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
        Control::new((shared, &quit.1), (scenario, plan), threads, monitor, drive).run()
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
