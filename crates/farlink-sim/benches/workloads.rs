//! Whole runs, timed: events, delivered segments and memory.
//!
//! Each workload runs in a process of its own, so that its peak memory is its
//! own, and several times, of which the fastest counts: other programs only
//! ever make a run slower. `cargo bench -p farlink-sim -- NAME` runs one, and
//! `FARLINK_BENCH_RUNS=1` once only, as a tool that counts instructions wants it.
#![allow(clippy::print_stdout, missing_docs)]

use farlink_sim::{Monitor, run, scenario};
use std::process::Command;
use std::time::Instant;

/// Scenario of the library, TCP it runs with, runs to time.
const WORKLOADS: &[(&str, &str, u32)] = &[
    ("geo-omueti2007", "sack", 20),
    ("geo-lossy", "sack", 20),
    ("gigabit-cubic", "cubic", 3),
    ("cdpd-rlp-wong1998", "reno", 20),
    ("dumbbell-100", "sack", 3),
    ("dumbbell-1000", "sack", 3),
    ("dumbbell-1000-pairs", "sack", 3),
];

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    if let Some(name) = std::env::var_os("FARLINK_BENCH_ONE") {
        let name = name.to_string_lossy();
        if let Some(&(name, tcp, runs)) = WORKLOADS.iter().find(|w| w.0 == name) {
            let asked = std::env::var("FARLINK_BENCH_RUNS").ok();
            let runs = asked.and_then(|n| n.parse().ok()).unwrap_or(runs);
            one(name, tcp, runs);
        }
        return;
    }
    println!(
        "{:<20} {:>6} {:>11} {:>10} {:>8} {:>9} {:>9} {:>8} {:>9} {:>9}",
        "scenario",
        "tcp",
        "events",
        "segments",
        "ev/seg",
        "wall s",
        "Mev/s",
        "ns/ev",
        "us/seg",
        "peak MB"
    );
    let Ok(myself) = std::env::current_exe() else {
        return;
    };
    for (name, ..) in WORKLOADS {
        if args.is_empty() || args.iter().any(|a| a == name) {
            let _ = Command::new(&myself)
                .env("FARLINK_BENCH_ONE", name)
                .status();
        }
    }
}

fn one(name: &str, tcp: &str, runs: u32) {
    let Some((_, text)) = scenario::library().iter().find(|(n, _)| *n == name) else {
        println!("{name}: not in the library");
        return;
    };
    let set = [("tcp.variant".to_owned(), tcp.to_owned())];
    let loaded = match scenario::load(text, name, &set).and_then(|s| s.expand()) {
        Ok(loaded) => loaded,
        Err(e) => {
            println!("{e}");
            return;
        }
    };
    let mut best = f64::INFINITY;
    let mut last = None;
    for _ in 0..runs {
        let started = Instant::now();
        match run(&loaded, 0, &Monitor::default()) {
            Ok(outcome) => last = Some(outcome),
            Err(e) => println!("{name}: {e}"),
        }
        best = best.min(started.elapsed().as_secs_f64());
    }
    let Some(outcome) = last else { return };
    let (events, segments) = (outcome.events as f64, outcome.segments as f64);
    println!(
        "{name:<20} {tcp:>6} {events:>11} {segments:>10} {:>8.2} {best:>9.4} {:>9.2} {:>8.1} {:>9.3} {:>9.1}",
        events / segments,
        events / best / 1e6,
        best / events * 1e9,
        best / segments * 1e6,
        peak_memory(),
    );
}

/// Most memory that this process ever held, in MB, where the system tells.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map_or(f64::NAN, |k| k / 1000.0 * 1.024)
}
