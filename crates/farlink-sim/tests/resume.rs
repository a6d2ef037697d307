//! Careful Resume (RFC 9959) over a path that is as remembered, half and twice as fast, and over
//! another path.

use crate::common::{column, expand_with};
use farlink_sim::{Monitor, Trace, TraceOptions, trace};
use farlink_tcp::Mark;

/// A bandwidth-delay product of 312,500 bytes, of which 40 remain with headers: 208 segments.
const GEO: &str = r#"
[tcp]
variant = "sack"
receive_window = "4 MiB"
delayed_ack = "off"
resume = { cwnd = "300 kB", rtt = "500 ms" }

[[links]]
name = "satellite"
between = ["server", "client"]
down = { rate = "5 Mbit/s", delay = "250 ms", queue = { packets = 100 } }
up = { rate = "1 Mbit/s", delay = "250 ms" }

[[flows]]
from = "server"
to = "client"
size = "4 MB"
"#;

const PHASES: [Mark; 5] = [
    Mark::ResumeUnvalidated,
    Mark::ResumeValidating,
    Mark::ResumeSafeRetreat,
    Mark::ResumeNormal,
    Mark::ResumeRefused,
];

fn play(keys: &[(&str, &str)]) -> Trace {
    let scenario = expand_with(GEO, keys);
    trace(&scenario, 0, &TraceOptions::default(), &Monitor::default()).unwrap()
}

/// Returns the phases of the sender with their times in seconds, and the cwnd that follows.
fn phases(trace: &Trace) -> Vec<(Mark, f64, u64)> {
    let marks = |name| column(&trace.tables, "marks", name);
    let (kinds, times) = (marks("kind"), marks("time"));
    let state = |name| column(&trace.tables, "state", name);
    let (changed, cwnd) = (state("time"), state("cwnd"));
    (0..kinds.len())
        .filter_map(|i| {
            let mark = PHASES.into_iter().find(|&mark| mark as u64 == kinds[i])?;
            let row = changed.iter().rposition(|&time| time <= times[i]);
            Some((mark, times[i] as f64 / 1e9, row.map_or(0, |row| cwnd[row])))
        })
        .collect()
}

fn names(phases: &[(Mark, f64, u64)]) -> Vec<Mark> {
    phases.iter().map(|&(mark, ..)| mark).collect()
}

/// Saved and true window agree. SYN and initial window take a round trip each, the ten segments 24 ms
/// more. The jump is 150,000 bytes, and an RTT later all of it is in flight.
#[test]
fn a_remembered_path_is_used_from_the_second_round_trip() {
    let phases = phases(&play(&[]));
    let all = [
        Mark::ResumeUnvalidated,
        Mark::ResumeValidating,
        Mark::ResumeNormal,
    ];
    assert_eq!(names(&phases), all, "{phases:?}");
    let [jump, validating, normal] = phases[..] else {
        panic!("{phases:?}")
    };
    assert!((1.024..1.026).contains(&jump.1), "{jump:?}");
    assert_eq!(jump.2, 150_000);
    assert!(
        (0.47..0.51).contains(&(validating.1 - jump.1)),
        "{validating:?}"
    );
    assert!(
        (145_000..=150_000).contains(&validating.2),
        "{validating:?}"
    );
    assert!(normal.2 > 290_000, "{normal:?}");
}

/// Half of the saved window fits a path of half the rate, and a path of twice the rate is left to
/// slow start: neither retreats. A queue of 12 packets holds the initial window but no burst of the
/// jump, which only pacing avoids.
#[test]
fn a_path_of_half_or_twice_the_rate_validates_the_paced_jump() {
    for rate in ["2.5 Mbit/s", "10 Mbit/s"] {
        for queue in ["100", "12"] {
            let keys = [
                ("links.satellite.down.rate", rate),
                ("links.satellite.down.queue.packets", queue),
            ];
            let phases = phases(&play(&keys));
            let first = [Mark::ResumeUnvalidated, Mark::ResumeValidating];
            assert!(
                names(&phases).starts_with(&first),
                "{rate} {queue} {phases:?}"
            );
        }
    }
}

/// A quarter of the rate: 78,125 bytes and the queue hold less than the jump. The window stays below
/// half of the data known to be delivered, and the threshold becomes half of what the path carried.
#[test]
fn a_path_of_a_quarter_of_the_rate_leads_to_a_retreat() {
    for (profile, variant) in [("rfc", "sack"), ("rfc", "cubic"), ("linux", "cubic")] {
        let trace = play(&[
            ("tcp.profile", profile),
            ("tcp.variant", variant),
            ("links.satellite.down.rate", "1.25 Mbit/s"),
            ("links.satellite.down.queue.packets", "20"),
        ]);
        let phases = phases(&trace);
        let all = [
            Mark::ResumeUnvalidated,
            Mark::ResumeValidating,
            Mark::ResumeSafeRetreat,
            Mark::ResumeNormal,
        ];
        assert_eq!(names(&phases), all, "{profile}/{variant} {phases:?}");
        let (from, to) = ((phases[2].1 * 1e9) as u64, (phases[3].1 * 1e9) as u64);
        let state = |name| column(&trace.tables, "state", name);
        let (times, cwnd, ssthresh) = (state("time"), state("cwnd"), state("ssthresh"));
        let rows = || (0..times.len()).filter(|&i| times[i] >= from && times[i] < to);
        let bound = rows().map(|i| ssthresh[i]).min().unwrap();
        assert!((40_000..50_000).contains(&bound), "{bound}");
        assert!(
            rows().skip(1).all(|i| cwnd[i] <= bound),
            "{profile}/{variant}"
        );
        let sender = |&i: &usize| times[i] > to && ssthresh[i] != u64::MAX;
        let after = (0..times.len()).find(sender).map(|i| ssthresh[i]).unwrap();
        assert!((35_000..60_000).contains(&after), "{after}");
    }
}

/// Hybla's estimate of the threshold is no congestion, so that it jumps, too; with a saved window
/// below its own it does not.
#[test]
fn hybla_jumps_unless_its_window_is_larger() {
    for (saved, first) in [
        ("2 MB", Mark::ResumeUnvalidated),
        ("100 kB", Mark::ResumeRefused),
    ] {
        let phases = phases(&play(&[
            ("tcp.variant", "hybla"),
            ("tcp.resume.cwnd", saved),
        ]));
        assert_eq!(phases[0].0, first, "{phases:?}");
    }
}

/// Another RTT, a loss before the jump, and values of long ago.
#[test]
fn another_path_or_old_values_are_not_used() {
    for keys in [
        &[
            ("links.satellite.down.delay", "5 ms"),
            ("links.satellite.up.delay", "5 ms"),
        ][..],
        &[("tcp.resume.age", "2 h")],
        &[("tcp.resume.lifetime", "1 s")],
        &[("tcp.resume.cwnd", "28 kB")],
        &[("links.satellite.down.queue.packets", "4")],
    ] {
        let phases = phases(&play(keys));
        assert_eq!(names(&phases), [Mark::ResumeRefused], "{keys:?} {phases:?}");
    }
}
