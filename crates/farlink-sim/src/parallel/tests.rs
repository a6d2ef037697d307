//! Random scenarios in several parts and threads, compared with runs in one part bit by bit.

use super::cores::Cores;
use super::run::run_with;
use crate::monitor::Monitor;
use crate::run::run;
use crate::scenario::{Expanded, load};
use crate::world::random;
use farlink_channel::rng::{Stream, Streams};
use std::fmt::Write;

fn expanded(text: &str) -> Option<Expanded> {
    let loaded = load(text, "", &[]).and_then(|scenario| scenario.expand());
    loaded.ok()
}

/// Compares runs in parts with a run in one part. Returns the account of the first.
fn compare(text: &str, scenario: &Expanded, sizes: &[(usize, usize)]) -> Option<Cores> {
    let monitor = Monitor::default();
    let whole = run(scenario, 0, &monitor).unwrap();
    let mut first = None;
    for &size in sizes {
        let (outcome, cores) = run_with(scenario, 0, size, 0.0, &monitor).unwrap();
        let (expected, actual) = (whole.to_json(scenario), outcome.to_json(scenario));
        assert_eq!(actual, expected, "{size:?}, {cores:?} of\n{text}");
        assert_eq!(crate::digest(&outcome, &[]), crate::digest(&whole, &[]));
        first = first.or(Some(cores));
    }
    first
}

#[test]
fn random_trees_are_equal_in_parts() {
    let (mut divided, mut rounds, mut broken) = (0, 0, 0);
    for number in 0..300 {
        let (text, Some(scenario)) = random::scenario(number) else {
            continue; // The random choices contradict each other.
        };
        let cores = compare(&text, &scenario, &[(2, 1), (2, 2), (4, 3)]).unwrap();
        divided += u32::from(cores.parts > 1);
        rounds += cores.rounds;
        broken += u32::from(cores.reason.is_some_and(|why| why.contains("affect")));
    }
    assert!(divided > 60 && rounds > 5_000, "{divided} {rounds}");
    assert!(broken < 10, "{broken}");
}

/// Random torus of routers, with hosts, later routes, and flows.
struct Mesh {
    stream: Stream,
    rows: u64,
    columns: u64,
    text: String,
}

impl Mesh {
    fn below(&mut self, n: u64) -> u64 {
        self.stream.next_u64() % n
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.stream.next_u64() as usize % of.len()]
    }

    fn node(&self, row: u64, column: u64) -> u64 {
        (row % self.rows) * self.columns + column % self.columns
    }

    fn add_head(&mut self) {
        self.text = match self.below(3) {
            0 => "max_duration = \"30 s\"\n".to_owned(),
            _ => format!("duration = \"{} ms\"\n", 300 + self.below(3_000)),
        };
        let tcp = self.pick(&["sack", "sack", "cubic", "reno", "bbr", "peach"]);
        let _ = write!(self.text, "[tcp]\nvariant = \"{tcp}\"\n");
        let more = self.pick(&["", "", "gro = \"1 ms\"\n", "receive_window = \"16 KiB\"\n"]);
        self.text += more;
    }

    fn add_links(&mut self) {
        let delay = self.pick(&["2 ms", "5 ms", "30 ms"]);
        for at in 0..self.rows * self.columns {
            let (row, column) = (at / self.columns, at % self.columns);
            for next in [self.node(row, column + 1), self.node(row + 1, column)] {
                let more = self.pick(&[
                    "",
                    "",
                    "",
                    ", queue = { packets = 4 }",
                    ", channel = { loss = 0.02 }",
                    ", channel = { corrupt = 0.01, duplicate = 0.02 }",
                    ", channel = { jitter = { distribution = \"uniform\", mean = \"4 ms\", spread = \"3 ms\" } }",
                    ", channel = { reorder = { probability = 0.1, delay = \"5 ms\" } }",
                    ", queue = { packets = 40 }, discipline = { method = \"codel\" }",
                    ", background = [{ load = \"1 Mbit/s\" }]",
                ]);
                let rate = self.pick(&["2 Mbit/s", "10 Mbit/s", "1 Gbit/s"]);
                let _ = write!(
                    self.text,
                    "[[links]]\nbetween = [\"n{at}\", \"n{next}\"]\n\
                     down = {{ rate = \"{rate}\", delay = \"{delay}\"{more} }}\n"
                );
            }
        }
    }

    fn add_hosts(&mut self) {
        for host in 0..self.below(4) {
            let at = self.below(self.rows * self.columns);
            let more = self.pick(&[
                "",
                "",
                "half_duplex = true\n",
                "arq = { protocol = \"lapb\" }\n",
            ]);
            let _ = write!(
                self.text,
                "[[links]]\nbetween = [\"n{at}\", \"h{host}\"]\n{more}\
                 down = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n\
                 [[flows]]\nname = \"h{host}\"\nfrom = \"h{host}\"\nto = \"n0\"\nsize = \"30 kB\"\n"
            );
        }
    }

    fn add_routes(&mut self) {
        for _ in 0..self.below(3) {
            let (row, column) = (self.below(self.rows), self.below(self.columns));
            let [at, to, via] =
                [(0, 0), (1, 0), (0, 1)].map(|(more, right)| self.node(row + more, column + right));
            let start = 1 + self.below(400);
            let _ = write!(
                self.text,
                "[[routes]]\nat = \"n{at}\"\nto = \"n{to}\"\nvia = \"n{via}\"\n\
                 start = \"{start} ms\"\n"
            );
        }
    }

    fn add_flows(&mut self) {
        let count = self.rows * self.columns;
        for flow in 0..2 + self.below(12) {
            let from = self.below(count);
            let to = (from + 1 + self.below(count - 1)) % count;
            let app = self.pick(&[
                "size = \"60 kB\"",
                "size = \"300 kB\"",
                "size = \"1 kB\"",
                "size = \"2 MB\"",
                "size = \"40 kB\"\nreverse = \"10 kB\"",
                "app = \"bulk\"\nduration = \"900 ms\"",
                "app = \"bulk\"\nduration = \"100 ms\"",
                "app = \"cbr\"\nrate = \"2 Mbit/s\"\npacket = \"700 B\"\nduration = \"1 s\"",
                "app = \"xtp\"\nrate = \"2 Mbit/s\"\nsize = \"100 kB\"\nsreq_every = 1",
                "app = \"http\"\npages = 2",
            ]);
            let start = self.below(50);
            let _ = write!(
                self.text,
                "[[flows]]\nname = \"f{flow}\"\nfrom = \"n{from}\"\nto = \"n{to}\"\n{app}\n\
                 start = \"{start} ms\"\n"
            );
        }
    }
}

fn mesh(number: u64) -> String {
    let mut stream = Streams::new(number, 0).stream("mesh");
    let (rows, columns) = (3 + stream.next_u64() % 2, 3 + stream.next_u64() % 3);
    let mut mesh = Mesh {
        stream,
        rows,
        columns,
        text: String::new(),
    };
    mesh.add_head();
    mesh.add_links();
    mesh.add_hosts();
    mesh.add_routes();
    mesh.add_flows();
    mesh.text
}

#[test]
fn random_meshes_are_equal_in_parts() {
    let (mut valid, mut divided, mut rounds, mut broken) = (0, 0, 0, 0);
    for number in 0..100 {
        let text = mesh(number);
        let Some(scenario) = expanded(&text) else {
            continue; // The random choices contradict each other.
        };
        valid += 1;
        let cores = compare(&text, &scenario, &[(2, 2), (5, 3)]).unwrap();
        divided += u32::from(cores.parts > 1);
        rounds += cores.rounds;
        broken += u32::from(cores.reason.is_some_and(|why| why.contains("affect")));
    }
    assert!(valid > 60 && divided > 40, "{divided} of {valid}");
    assert!(rounds > 2_000 && broken < 5, "{rounds} {broken}");
}

/// Returns files over one link, in a run of this duration.
fn files(tcp: &str, delay: &str, more: &str, duration: u64) -> String {
    let mut text = format!(
        "duration = \"{duration} ms\"\n[tcp]\nvariant = \"{tcp}\"\n\
         [[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"20 Mbit/s\", delay = \"{delay}\"{more} }}\n"
    );
    for flow in 0..12 {
        let size = 3 + 17 * flow;
        let _ = write!(
            text,
            "[[flows]]\nname = \"f{flow}\"\nfrom = \"a\"\nto = \"b\"\nsize = \"{size} kB\"\n\
             start = \"{flow} ms\"\n"
        );
    }
    text
}

/// Files end at any point of a window: at the end of the run, and while their senders change state.
#[test]
fn files_are_equal_wherever_they_end_in_a_window() {
    let mut rounds = 0;
    for step in 0..120 {
        let tcp = ["reno", "cubic", "sack"][step % 3];
        let more = [
            "",
            ", queue = { packets = 8 }",
            ", channel = { loss = 0.05 }",
        ][step / 3 % 3];
        let delay = ["30 ms", "100 ms"][step % 2];
        let text = files(tcp, delay, more, 150 + 17 * step as u64);
        let scenario = expanded(&text).unwrap();
        rounds += compare(&text, &scenario, &[(2, 2)]).unwrap().rounds;
    }
    assert!(rounds > 500, "{rounds}");
}

/// A sender closes its connection for good after TIME-WAIT, long after its file is complete.
#[test]
fn connection_ends_after_time_wait_in_another_part() {
    let text = "duration = \"100 s\"\n[[links]]\nbetween = [\"a\", \"b\"]\n\
                down = { rate = \"64 kbit/s\", delay = \"100 ms\" }\n\
                [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"10 kB\"\n\
                [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"100 s\"\n";
    let scenario = expanded(text).unwrap();
    let cores = compare(text, &scenario, &[(2, 2)]).unwrap();
    assert_eq!(cores.reason, None);
}

/// A sender that gives up fails the flow at once, which its receiver's part learns too late.
#[test]
fn run_starts_again_in_one_part_if_sender_gives_up() {
    let text = "duration = \"400 s\"\n[[links]]\nbetween = [\"a\", \"b\"]\n\
                down = { rate = \"1 Mbit/s\", delay = \"10 ms\" }\n\
                up = { rate = \"1 Mbit/s\", delay = \"10 ms\", channel = { loss = 1.0 } }\n\
                [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"10 kB\"\n\
                [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"400 s\"\n";
    let scenario = expanded(text).unwrap();
    let cores = compare(text, &scenario, &[(2, 2)]).unwrap();
    assert!(cores.reason.unwrap_or_default().contains("affect"));
}

#[test]
fn scenarios_with_shared_state_take_one_part() {
    let network = "[[links]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\n\
                   down = { rate = \"1 Mbit/s\", delay = \"10 ms\" }\n\
                   [[flows]]\nfrom = \"a\"\nto = \"b\"\n";
    let reason = |text: &str| {
        let scenario = expanded(text).unwrap();
        let cores = compare(text, &scenario, &[(2, 2)]).unwrap();
        cores.reason.unwrap_or_default()
    };
    let file = format!("{network}size = \"10 kB\"\n");
    assert_eq!(reason(&file), "");
    let rows = [
        (
            file.replace("delay", "mtu = \"576 B\", delay"),
            "has an MTU",
        ),
        (format!("tcp.eln = \"oracle\"\n{file}"), "eln = \"oracle\""),
        (file.replace("10 ms", "0 ms"), "100 % of the work"),
        (
            format!("{network}app = \"http\"\npages = 1\n"),
            "100 % of the work",
        ),
        (
            format!("{network}app = \"cbr\"\nrate = \"9 kbit/s\"\nduration = \"1 s\"\n"),
            "100 % of the work",
        ),
    ];
    for (text, expected) in rows {
        let scenario = expanded(&text).unwrap();
        let size = (2, 2);
        let (_, cores) = run_with(&scenario, 0, size, 1.2, &Monitor::default()).unwrap();
        let actual = cores.reason.unwrap_or_default();
        assert!(actual.contains(expected), "{actual:?} of {text}");
    }
}
