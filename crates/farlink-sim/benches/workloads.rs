//! Benchmarks of whole runs: time, events, delivered segments, instructions and memory.
//!
//! Each case runs in its own process, so the peak memory is that of the case. A case runs several
//! times, and the fastest run counts, because other programs can only slow a run down. Each row
//! also has the time of a bare heap for as many events, as a lower bound and as a measure of the
//! machine. If valgrind is installed, one more run of each case counts instructions.
//!
//! `cargo bench -p farlink-sim --bench workloads -- PART...` runs the cases whose names contain one
//! of the parts. `--no-count` counts no instructions, and `--list` prints the names.
//! `tools/bench_against.py` compares two builds of this file: it selects one case with the
//! environment variable `FARLINK_BENCH_ONE`, and reads one line of JSON.
#![allow(clippy::print_stdout, missing_docs)]

#[path = "common/torus.rs"]
mod torus;

use farlink_sim::scenario::Expanded;
use farlink_sim::{Monitor, run, scenario};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::process::Command;
use std::time::Instant;
use torus::{generator, torus};

/// Environment variable with the name of the one case to run in this process.
const ONE: &str = "FARLINK_BENCH_ONE";
/// Environment variable with the number of runs, which replaces the case's own number.
const RUNS: &str = "FARLINK_BENCH_RUNS";

/// Highest rate that a scenario may have, in Mbit/s.
const FASTEST: u32 = 1_000_000;

/// Simulated path.
enum Path {
    /// A scenario of the library with this name.
    Library(&'static str),
    /// Flows over one link with the rate, round-trip time and queue of the library's dumbbells.
    OneHop,
    /// Flows over one link for 2 s. Rate and queue are 10 Mbit/s and 50 kB per flow, so losses are
    /// rare. Shows the cost of many flows.
    OneWideHop,
    /// The library's `dumbbell-100` with another number of flows.
    Dumbbell,
    /// The library's `dumbbell-1000-pairs` with another number of flows and pairs.
    Pairs,
    /// A batch of this many downloads of 20 kB over the path of `geo-omueti2007`.
    Short(u64),
    /// Flows between random nodes of a torus of 40 by 25 nodes, as satellites with four links each.
    Torus,
    /// The library's `dumbbell-100` with 10 Mbit/s and 50 kB of queue per flow, and 20 kB in each
    /// flow. Shows the memory of a flow beside its window.
    Small,
    /// A transfer of 50 MB over a router, with an agent of this kind or none.
    Agent(Option<&'static str>),
}

struct Case {
    name: &'static str,
    path: Path,
    tcp: &'static str,
    /// Number of flows if the path does not define it, otherwise 0.
    flows: u32,
    /// Replaces `tcp.delayed_ack` if set.
    delayed_ack: Option<&'static str>,
    /// Number of runs, of which the fastest counts.
    runs: u32,
}

fn cases() -> Vec<Case> {
    let geo = || Path::Library("geo-omueti2007");
    let library = |name| Path::Library(name);
    let rows = [
        ("geo-omueti2007", geo(), "sack", 0, 20),
        ("geo-delayed-ack", geo(), "sack", 0, 20),
        ("geo-short-20kB", Path::Short(2000), "sack", 0, 10),
        ("geo-lossy", library("geo-lossy"), "sack", 0, 20),
        (
            "cdpd-rlp-wong1998",
            library("cdpd-rlp-wong1998"),
            "reno",
            0,
            20,
        ),
        ("gigabit-cubic", library("gigabit-cubic"), "cubic", 0, 3),
        (
            "gigabit-cubic-ack-each",
            library("gigabit-cubic"),
            "cubic",
            0,
            3,
        ),
        ("agent-none", Path::Agent(None), "reno", 0, 10),
        ("agent-snoop", Path::Agent(Some("snoop")), "reno", 0, 10),
        ("agent-off", Path::Agent(Some("off")), "reno", 0, 10),
        ("agent-split", Path::Agent(Some("split")), "reno", 0, 10),
        ("one-hop-10", Path::OneHop, "sack", 10, 5),
        ("one-hop-10-ack-each", Path::OneHop, "sack", 10, 5),
        ("one-hop-100", Path::OneHop, "sack", 100, 5),
        ("one-hop-100-ack-each", Path::OneHop, "sack", 100, 5),
        ("one-hop-1000", Path::OneHop, "sack", 1_000, 3),
        ("one-hop-1000-ack-each", Path::OneHop, "sack", 1_000, 3),
        ("one-hop-10000", Path::OneHop, "sack", 10_000, 3),
        ("one-hop-10000-ack-each", Path::OneHop, "sack", 10_000, 3),
        ("one-hop-10-newreno", Path::OneHop, "newreno", 10, 5),
        ("one-hop-100-newreno", Path::OneHop, "newreno", 100, 5),
        ("one-hop-1000-newreno", Path::OneHop, "newreno", 1_000, 3),
        ("one-hop-10000-newreno", Path::OneHop, "newreno", 10_000, 3),
        ("one-hop-100-wide", Path::OneWideHop, "sack", 100, 5),
        ("one-hop-1000-wide", Path::OneWideHop, "sack", 1_000, 3),
        ("one-hop-10000-wide", Path::OneWideHop, "sack", 10_000, 1),
        ("dumbbell-10", Path::Dumbbell, "sack", 10, 3),
        ("dumbbell-10-ack-each", Path::Dumbbell, "sack", 10, 3),
        ("dumbbell-100", library("dumbbell-100"), "sack", 0, 3),
        (
            "dumbbell-100-ack-each",
            library("dumbbell-100"),
            "sack",
            0,
            3,
        ),
        ("dumbbell-1000", library("dumbbell-1000"), "sack", 0, 3),
        (
            "dumbbell-1000-ack-each",
            library("dumbbell-1000"),
            "sack",
            0,
            3,
        ),
        (
            "dumbbell-1000-pairs",
            library("dumbbell-1000-pairs"),
            "sack",
            0,
            3,
        ),
        (
            "dumbbell-1000-pairs-ack-each",
            library("dumbbell-1000-pairs"),
            "sack",
            0,
            3,
        ),
        ("dumbbell-10000", Path::Dumbbell, "sack", 10_000, 3),
        ("dumbbell-10000-ack-each", Path::Dumbbell, "sack", 10_000, 3),
        ("dumbbell-10000-pairs", Path::Pairs, "sack", 10_000, 1),
        (
            "dumbbell-10000-pairs-ack-each",
            Path::Pairs,
            "sack",
            10_000,
            1,
        ),
        ("small-10000", Path::Small, "sack", 10_000, 3),
        ("small-100000", Path::Small, "sack", 100_000, 1),
        ("torus-100", Path::Torus, "sack", 100, 5),
        ("torus-1000", Path::Torus, "sack", 1_000, 3),
        ("torus-10000", Path::Torus, "sack", 10_000, 3),
    ];
    let delayed_ack = |name: &str| match name {
        _ if name.ends_with("ack-each") || name.ends_with("newreno") => Some("off"),
        // `geo-omueti2007` sends an ACK per segment by default.
        "geo-delayed-ack" => Some("200 ms"),
        _ => None,
    };
    let rows = rows.into_iter();
    rows.map(|(name, path, tcp, flows, runs)| Case {
        name,
        path,
        tcp,
        flows,
        delayed_ack: delayed_ack(name),
        runs,
    })
    .collect()
}

impl Case {
    fn scenario(&self) -> Result<Expanded, String> {
        let text = match self.path {
            Path::Library(name) => of_library(name)?.to_owned(),
            Path::Short(_) => of_library("geo-omueti2007")?.replace("50 MiB", "20 kB"),
            Path::OneHop => self.one_hop(),
            Path::OneWideHop => self.one_wide_hop(),
            Path::Small => self.small()?,
            Path::Torus => torus(self.flows),
            Path::Agent(kind) => with_agent(kind),
            Path::Dumbbell => self.with_flows(of_library("dumbbell-100")?, "count = 100\n"),
            Path::Pairs => self.with_flows(of_library("dumbbell-1000-pairs")?, "count = 1000\n"),
        };
        let mut set = vec![("tcp.variant".to_owned(), self.tcp.to_owned())];
        if let Some(delayed_ack) = self.delayed_ack {
            set.push(("tcp.delayed_ack".to_owned(), delayed_ack.to_owned()));
        }
        if self.tcp == "newreno" {
            // htsim's preset: 100 segments.
            set.push(("tcp.initial_ssthresh".to_owned(), "146000 B".to_owned()));
        }
        scenario::load(&text, self.name, &set)
            .and_then(|s| s.expand())
            .map_err(|e| e.to_string())
    }

    /// Returns a scenario of the library with this case's number of flows. Above a thousand, all
    /// flows start within 1 s.
    fn with_flows(&self, text: &str, count: &str) -> String {
        let stagger = (1_000_000 / self.flows).min(1000);
        text.replace(count, &format!("count = {}\n", self.flows))
            .replace("stagger = \"1 ms\"", &format!("stagger = \"{stagger} us\""))
    }

    fn one_hop(&self) -> String {
        let text = r#"
            name = "one-hop"
            duration = "5 s"

            [tcp]
            mss = "1460 B"
            receive_window = "16 MiB"

            [[links]]
            name = "bottleneck"
            between = ["sender", "receiver"]
            down = { rate = "1 Gbit/s", delay = "20 ms", queue = { bytes = "5 MB" } }

            [[flows]]
            name = "bulk"
            from = "sender"
            to = "receiver"
            app = "bulk"
            duration = "5 s"
            count = 100
            stagger = "1 ms"
            "#;
        self.with_flows(text, "count = 100\n")
    }

    fn one_wide_hop(&self) -> String {
        let (rate, queue) = (10 * self.flows, 50 * self.flows);
        self.one_hop()
            .replace("\"1 Gbit/s\"", &format!("\"{rate} Mbit/s\""))
            .replace("\"5 MB\"", &format!("\"{queue} kB\""))
            .replace("\"5 s\"", "\"2 s\"")
    }

    fn small(&self) -> Result<String, String> {
        let (rate, queue) = (10 * self.flows, 50 * self.flows);
        let text = self.with_flows(of_library("dumbbell-100")?, "count = 100\n");
        Ok(text
            .replace(
                "\"10 Gbit/s\"",
                &format!("\"{} Mbit/s\"", (10 * rate).min(FASTEST)),
            )
            .replace("\"1 Gbit/s\"", &format!("\"{rate} Mbit/s\""))
            .replace("\"5 MB\"", &format!("\"{queue} kB\""))
            .replace("app = \"bulk\"\nduration = \"10 s\"", "size = \"20 kB\""))
    }

    /// Number of runs that are timed together.
    fn batch(&self) -> u64 {
        match self.path {
            Path::Short(runs) => runs,
            _ => 1,
        }
    }

    /// Runs the case `runs` times, and returns the measurements with the time of the fastest run.
    fn measure(&self, runs: u32) -> Result<Value, String> {
        let scenario = self.scenario()?;
        let (mut best, mut events, mut segments) = (f64::INFINITY, 0, 0);
        for _ in 0..runs {
            (events, segments) = (0, 0);
            let started = Instant::now();
            for number in 0..self.batch() {
                let outcome = run(&scenario, number, &Monitor::default());
                let outcome = outcome.map_err(|e| e.to_string())?;
                events += outcome.events;
                segments += outcome.segments;
            }
            best = best.min(started.elapsed().as_secs_f64());
        }
        Ok(json!({
            "case": self.name,
            "events": events,
            "segments": segments,
            "seconds": best,
            "peak_mb": peak_memory(),
            "pending": 2 * (scenario.flows.len() + scenario.links.len()),
        }))
    }

    /// Returns the instructions of one run under valgrind, in its own process.
    fn instructions(&self) -> Option<f64> {
        let counted = Command::new("valgrind")
            .args(["--tool=cachegrind", "--cache-sim=no"])
            .arg("--cachegrind-out-file=/dev/null")
            .arg(std::env::current_exe().ok()?)
            .env(ONE, self.name)
            .env(RUNS, "1")
            .output()
            .ok()?;
        let entry = String::from_utf8_lossy(&counted.stderr).into_owned();
        let total = entry.lines().find(|l| l.contains("refs:"))?;
        let number = total.rsplit(' ').next()?.replace(',', "");
        number.parse().ok()
    }
}

/// Returns a transfer over a router, with an agent of this kind or none. The difference of the
/// times per packet of the second link is the cost of the agent.
fn with_agent(kind: Option<&str>) -> String {
    let agent = kind.map(|kind| {
        // The kind "off" is a snoop agent that is switched off.
        let (kind, enabled) = match kind {
            "off" => ("snoop", false),
            kind => (kind, true),
        };
        format!(
            "[[agents]]\nat = \"base\"\nwireless = \"radio\"\nkind = \"{kind}\"\n\
             enabled = {enabled}\n"
        )
    });
    format!(
        "[tcp]\nreceive_window = \"64 KiB\"\n\
         [[links]]\nbetween = [\"fixed\", \"base\"]\n\
         down = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n\
         [[links]]\nname = \"radio\"\nbetween = [\"base\", \"mobile\"]\n\
         down = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n{}\
         [[flows]]\nfrom = \"fixed\"\nto = \"mobile\"\nsize = \"50 MB\"\n",
        agent.unwrap_or_default()
    )
}

fn of_library(name: &str) -> Result<&'static str, String> {
    let entry = scenario::library().iter().find(|(n, _)| *n == name);
    entry
        .map(|&(_, text)| text)
        .ok_or_else(|| format!("{name}: not in the library"))
}

/// Returns the seconds in which a heap with `pending` entries replaces its first entry `events`
/// times. Nothing else is done.
fn bare_heap(events: u64, pending: u64) -> f64 {
    let mut random = generator();
    let mut heap: BinaryHeap<_> = (0..pending)
        .map(|source| Reverse((random(), source, 0_u32)))
        .collect();
    let started = Instant::now();
    for _ in 0..events {
        if let Some(mut next) = heap.peek_mut() {
            next.0.0 += random();
        }
    }
    started.elapsed().as_secs_f64()
}

fn main() {
    let cases = cases();
    if let Some(name) = std::env::var_os(ONE) {
        let Some(case) = cases.iter().find(|c| name == c.name) else {
            return;
        };
        let runs = std::env::var(RUNS).ok().and_then(|n| n.parse().ok());
        match case.measure(runs.unwrap_or(case.runs)) {
            Ok(report) => println!("{report}"),
            Err(why) => println!("{}: {why}", case.name),
        }
        return;
    }
    let (options, parts): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let is_set = |option: &str| options.iter().any(|o| o == option);
    let requested = cases.iter().filter(|case| {
        parts.is_empty() || parts.iter().any(|part| case.name.contains(part.as_str()))
    });
    if is_set("--list") {
        requested.for_each(|case| println!("{}", case.name));
        return;
    }
    println!(
        "{:<29} {:>10} {:>9} {:>6} {:>7} {:>7} {:>6} {:>6} {:>10} {:>7}",
        "case",
        "events",
        "segments",
        "ev/seg",
        "wall s",
        "us/seg",
        "ns/ev",
        "bare",
        "instr/seg",
        "peak MB"
    );
    for case in requested {
        match row(case, !is_set("--no-count")) {
            Ok(row) => println!("{row}"),
            Err(why) => println!("{:<29} {why}", case.name),
        }
    }
}

/// Formats a row of the table, from the report of the case's own process and the measurements of
/// this process.
fn row(case: &Case, count: bool) -> Result<String, String> {
    let myself = std::env::current_exe().map_err(|e| e.to_string())?;
    let entry = Command::new(&myself).env(ONE, case.name).output();
    let entry = entry.map_err(|e| e.to_string())?;
    let entry = String::from_utf8_lossy(&entry.stdout).into_owned();
    let error: Value = serde_json::from_str(&entry).map_err(|_| entry.trim().to_owned())?;
    let number = |key: &str| error[key].as_f64().unwrap_or(f64::NAN);
    let (events, segments, seconds) = (number("events"), number("segments"), number("seconds"));
    let pending = error["pending"].as_u64().unwrap_or(1);
    let bare = bare_heap(error["events"].as_u64().unwrap_or(0), pending);
    let instructions = if count { case.instructions() } else { None };
    let instructions = instructions.map_or("-".into(), |n| format!("{:.0}", n / segments));
    Ok(format!(
        "{:<29} {events:>10} {segments:>9} {:>6.2} {seconds:>7.4} {:>7.3} {:>6.1} {:>6.1} \
         {instructions:>10} {:>7.1}",
        case.name,
        events / segments,
        seconds / segments * 1e6,
        seconds / events * 1e9,
        bare / events * 1e9,
        number("peak_mb"),
    ))
}

/// Returns the peak memory of this process in MB, if the system reports it.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: f64 = kib.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1000.0 * 1.024)
}
