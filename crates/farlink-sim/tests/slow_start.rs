//! Rules that end slow start before a loss: the reason in the trace, and the state at the end.

use crate::common::{column, expand_with};
use farlink_sim::{Monitor, Trace, TraceOptions, trace};
use farlink_tcp::Mark;

const GEO: &str = r#"
[tcp]
variant = "sack"
receive_window = "4 MiB"
delayed_ack = "off"

[[links]]
name = "satellite"
between = ["server", "client"]
down = { rate = "5 Mbit/s", delay = "250 ms", queue = { packets = 2000 } }
up = { rate = "1 Mbit/s", delay = "250 ms" }

[[flows]]
from = "server"
to = "client"
size = "6 MB"
"#;

/// Marks that a rule emits.
const ENDS: [Mark; 4] = [
    Mark::AckTrain,
    Mark::DelayIncrease,
    Mark::ConservativeSlowStart,
    Mark::Search,
];

/// Returns the reasons of the sender, and cwnd and ssthresh after the first one.
fn exits(trace: &Trace) -> (Vec<Mark>, Option<(u64, u64)>) {
    let marks = |name| column(&trace.tables, "marks", name);
    let (kinds, times) = (marks("kind"), marks("time"));
    let rows: Vec<_> = (0..kinds.len())
        .filter_map(|i| {
            let mark = ENDS.into_iter().find(|&mark| mark as u64 == kinds[i])?;
            Some((mark, times[i]))
        })
        .collect();
    let state = |name| column(&trace.tables, "state", name);
    let (time, cwnd, ssthresh) = (state("time"), state("cwnd"), state("ssthresh"));
    let after = rows.first().and_then(|&(_, at)| {
        let row = time.iter().rposition(|&time| time == at)?;
        Some((cwnd[row], ssthresh[row]))
    });
    (rows.into_iter().map(|(mark, _)| mark).collect(), after)
}

/// The bandwidth-delay product is 312,500 bytes of packets. SEARCH sets cwnd to the deliveries of 3
/// bins of 0.35 RTTs, which is at most 1.05 times that.
#[test]
fn each_rule_ends_slow_start_once_and_names_its_reason() {
    for (rule, reasons) in [
        ("standard", &[][..]),
        ("hystart", &[Mark::AckTrain, Mark::DelayIncrease][..]),
        ("hystart++", &[Mark::ConservativeSlowStart][..]),
        ("search", &[Mark::Search][..]),
    ] {
        let scenario = expand_with(GEO, &[("tcp.slow_start", rule)]);
        let trace = trace(&scenario, 0, &TraceOptions::default(), &Monitor::default()).unwrap();
        let (marks, after) = exits(&trace);
        assert_eq!(
            marks.len(),
            usize::from(rule != "standard"),
            "{rule}: {marks:?}"
        );
        assert!(
            marks.iter().all(|mark| reasons.contains(mark)),
            "{rule}: {marks:?}"
        );
        if rule == "search" {
            let (cwnd, ssthresh) = after.unwrap();
            assert!(ssthresh > 250_000 && ssthresh <= 328_125, "{ssthresh}");
            assert!(cwnd >= ssthresh && cwnd < ssthresh + 10_000, "{cwnd}");
        }
    }
}
