//! The delay of a GEO path without losses exceeds the retransmission timer, so reductions are
//! spurious and are undone.

use crate::common::{column, expand_with};
use farlink_sim::{Monitor, Trace, TraceOptions, trace};
use farlink_tcp::Mark;

const GEO: &str = r#"
[tcp]
variant = "sack"
receive_window = "128 KiB"
timestamps = true
timer = "jacobson"
rto_k = 2
rto_min = "200 ms"

[[links]]
name = "satellite"
between = ["server", "client"]
down = { rate = "2048 kbit/s", delay = "250 ms", queue = "unlimited", channel = { jitter = { distribution = "exponential", mean = "400 ms" } } }
up = { rate = "256 kbit/s", delay = "250 ms", queue = "unlimited" }

[[flows]]
from = "server"
to = "client"
app = "bulk"
duration = "200 s"
"#;

fn play(set: &[(&str, &str)]) -> Trace {
    let scenario = expand_with(GEO, set);
    trace(&scenario, 0, &TraceOptions::default(), &Monitor::default()).unwrap()
}

/// Returns the times in nanoseconds of the sender's marks of this kind.
fn marks(trace: &Trace, kind: Mark) -> Vec<u64> {
    let column = |name| column(&trace.tables, "marks", name);
    let (time, kinds) = (column("time"), column("kind"));
    let side = column("side");
    (0..time.len())
        .filter(|&i| (kinds[i], side[i]) == (kind as u64, 0))
        .map(|i| time[i])
        .collect()
}

/// Returns the sender's cwnd and ssthresh before `at`, or with `with` after the events at `at`.
fn windows(trace: &Trace, at: u64, with: bool) -> (u64, u64) {
    let column = |name| column(&trace.tables, "state", name);
    let (time, side) = (column("time"), column("side"));
    let row = (0..time.len())
        .rfind(|&i| side[i] == 0 && (time[i] < at || with && time[i] == at))
        .unwrap();
    (column("cwnd")[row], column("ssthresh")[row])
}

fn delivered(trace: &Trace) -> u64 {
    *column(&trace.tables, "delivered", "bytes").last().unwrap()
}

const DSACK: [(&str, &str); 2] = [("tcp.dsack", "true"), ("tcp.undo", "dsack")];
const EIFEL: [(&str, &str); 1] = [("tcp.undo", "eifel")];

#[test]
fn a_spurious_time_out_restores_the_window() {
    let plain = play(&[]);
    assert!(!marks(&plain, Mark::Timeout).is_empty());
    assert!(marks(&plain, Mark::Undo).is_empty());
    for congestion in ["reno", "cubic"] {
        for set in [&DSACK[..], &EIFEL[..]] {
            let set: Vec<_> = [("tcp.congestion", congestion)]
                .into_iter()
                .chain(set.iter().copied())
                .collect();
            let run = play(&set);
            let established = marks(&run, Mark::Established)[0];
            let undone = *marks(&run, Mark::Undo).first().expect("an undo");
            let timeout = *marks(&run, Mark::Timeout)
                .iter()
                .find(|&&t| t > established)
                .unwrap();
            assert!(timeout < undone, "{set:?}");
            let (before, ssthresh) = windows(&run, timeout, false);
            let (reduced, _) = windows(&run, timeout, true);
            assert_eq!(reduced, 1448, "{set:?}");
            let (cwnd, after) = windows(&run, undone, true);
            assert!(after >= ssthresh, "{set:?}");
            if set.contains(&DSACK[1]) {
                assert!(cwnd >= before, "{set:?}: {cwnd} after {before}");
            } else {
                // The window is that of the data in flight, without go-back-N, and grows by slow
                // start.
                assert!(cwnd > 10 * reduced, "{set:?}: {cwnd}");
            }
            let (got, without) = (delivered(&run), delivered(&plain));
            assert!(got > 2 * without, "{set:?}: {got} and {without}");
        }
    }
}

/// Jitter reorders packets, which causes duplicate ACKs without a loss.
#[test]
fn spurious_fast_retransmits_are_undone() {
    let reordering = [
        ("links.0.down.channel.jitter.mean", "5 ms"),
        ("links.0.down.channel.jitter.keep_order", "false"),
        ("tcp.rto_min", "1 s"),
    ];
    let with = |set: &[(&'static str, &'static str)]| play(&[&reordering[..], set].concat());
    let (plain, dsack, eifel) = (with(&[]), with(&DSACK), with(&EIFEL));
    for run in [&dsack, &eifel] {
        let losses = marks(run, Mark::FastRetransmit).len();
        let undone = marks(run, Mark::Undo).len();
        assert!(4 * undone > 3 * losses, "{undone} of {losses}");
        assert!(4 * delivered(run) > 5 * delivered(&plain));
    }
    assert!(delivered(&eifel) > 2 * delivered(&plain));
}

#[test]
fn without_duplicates_the_options_change_nothing() {
    let still = ("links.0.down.channel.jitter.mean", "0 s");
    let plain = delivered(&play(&[still]));
    assert_eq!(delivered(&play(&[still, DSACK[0], DSACK[1]])), plain);
    assert_eq!(delivered(&play(&[still, EIFEL[0]])), plain);
}
