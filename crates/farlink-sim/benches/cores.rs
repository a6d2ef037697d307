//! Measurement of one run on several cores: with the threads of this machine, and computed for more.
//!
//! `cargo bench -p farlink-sim --bench cores -- [SCENARIO] [--parts 2,4] [--runs 5]` runs a scenario file, by
//! default 10,000 flows over a constellation of 1,000 nodes. For each number of parts it handles all
//! parts on one thread, and measures the time of each part in each window. With a core for each
//! part, a window takes the time of its slowest part. The computed time is the sum over all windows,
//! with a barrier for each. Times are of the run without building the network.
#![allow(clippy::print_stdout, missing_docs)]

#[path = "common/torus.rs"]
mod torus;

use farlink_sim::scenario::{self, Expanded};
use farlink_sim::{Cores, Monitor, digest, run_parallel};
use std::fmt::Write;
use std::time::Instant;

/// Seconds for which a barrier of all cores is charged, measured with two threads.
const BARRIER: f64 = 10e-6;

/// Measurements of one size.
struct Size {
    /// Account of the last run.
    cores: Cores,
    digest: String,
    /// Seconds of the fastest run.
    elapsed: f64,
    /// Seconds of the fastest run, with the building of the network.
    total: f64,
    /// Nanoseconds of each part in each window.
    times: Vec<Vec<u64>>,
}

impl Size {
    fn measure(
        scenario: &Expanded,
        (parts, threads): (usize, usize),
        runs: u32,
    ) -> Result<Self, String> {
        let mut size: Option<Self> = None;
        for _ in 0..runs {
            let started = Instant::now();
            let result = run_parallel(scenario, 0, (parts, threads), &Monitor::default());
            let (outcome, cores) = result.map_err(|e| e.to_string())?;
            let total = started.elapsed().as_secs_f64();
            let size = size.get_or_insert_with(|| Self {
                digest: digest(&outcome, &[]),
                elapsed: cores.elapsed,
                total,
                times: cores.times.clone(),
                cores: cores.clone(),
            });
            size.elapsed = size.elapsed.min(cores.elapsed);
            size.total = size.total.min(total);
            for (all, own) in size.times.iter_mut().zip(&cores.times) {
                for (all, own) in all.iter_mut().zip(own) {
                    *all = (*all).min(*own);
                }
            }
        }
        size.ok_or_else(|| "no run".to_owned())
    }

    /// Returns the seconds of all parts, and those of the slowest part of each window.
    fn work(&self) -> (f64, f64) {
        let all: u64 = self.times.iter().flatten().sum();
        let most: u64 = self
            .times
            .iter()
            .filter_map(|times| times.iter().max())
            .sum();
        (all as f64 / 1e9, most as f64 / 1e9)
    }
}

fn table(scenario: &Expanded, sizes: &[usize], runs: u32) -> Result<(), String> {
    println!(
        "{:>5} {:>9} {:>7} {:>9} {:>8} {:>9} {:>8} {:>9} {:>8} {:>8}",
        "parts",
        "lookahead",
        "windows",
        "work",
        "balance",
        "computed",
        "speed-up",
        "measured",
        "speed-up",
        "total"
    );
    let whole = Size::measure(scenario, (1, 1), runs)?;
    let (alone, _) = whole.work();
    let fastest = whole.elapsed;
    println!(
        "{:>5} {:>9} {:>7} {alone:>8.3}s {:>46.3}s",
        1, "-", "-", fastest
    );
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    for &parts in sizes {
        let size = Size::measure(scenario, (parts, 1), runs)?;
        let cores = &size.cores;
        if let Some(reason) = &cores.reason {
            println!("{parts:>5} one part, because {reason}");
            continue;
        }
        assert_eq!(size.digest, whole.digest, "results differ");
        let (work, critical) = size.work();
        let computed = critical + cores.serial + cores.rounds as f64 * BARRIER;
        let mut row = format!(
            "{parts:>5} {:>7.1}ms {:>7} {work:>8.3}s {:>8.2} {computed:>8.3}s {:>8.2}",
            cores.lookahead * 1e3,
            cores.rounds + cores.serial_rounds,
            work / critical / parts as f64,
            alone / computed,
        );
        if parts <= processors {
            let size = Size::measure(scenario, (parts, parts), runs)?;
            assert_eq!(size.digest, whole.digest, "results differ");
            let speed_up = whole.elapsed / size.elapsed;
            let _ = write!(
                row,
                " {:>8.3}s {speed_up:>8.2} {:>7.3}s",
                size.elapsed, size.total
            );
        }
        println!("{row}");
    }
    Ok(())
}

fn main() -> Result<(), String> {
    let mut sizes = vec![2, 4, 8, 16, 32, 64];
    // Windows are equal in all runs, and the fastest of each counts.
    let mut runs = 5;
    let mut text = torus::torus(10_000);
    let mut options = std::env::args()
        .skip(1)
        .filter(|option| option != "--bench");
    while let Some(option) = options.next() {
        if option == "--parts" {
            let list = options.next().unwrap_or_default();
            let numbers: Result<_, _> = list.split(',').map(str::parse).collect();
            sizes = numbers.map_err(|e| format!("--parts {list}: {e}"))?;
        } else if option == "--runs" {
            let number = options.next().unwrap_or_default();
            runs = number
                .parse()
                .map_err(|e| format!("--runs {number}: {e}"))?;
        } else {
            text = std::fs::read_to_string(&option).map_err(|e| format!("{option}: {e}"))?;
        }
    }
    let scenario = scenario::load(&text, "cores", &[]).and_then(|scenario| scenario.expand());
    table(&scenario.map_err(|e| e.to_string())?, &sizes, runs)
}
