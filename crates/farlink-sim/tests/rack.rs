//! RACK-TLP and F-RTO in whole runs.

use crate::common::{self, expand, result_of};
use farlink_sim::{Monitor, TraceOptions, trace};
use farlink_tcp::Mark;
use serde_json::Value;

const CONTROLS: [&str; 8] = [
    "reno",
    "vegas",
    "cubic",
    "westwood",
    "westwood_plus",
    "hybla",
    "adalr",
    "bbr",
];

fn result(tcp: &str, down: &str, flow: &str) -> Value {
    one_of(0, tcp, down, flow)
}

/// Returns the result of run `number`.
fn one_of(number: u64, tcp: &str, down: &str, flow: &str) -> Value {
    let text = format!(
        "[tcp]\nreceive_window = \"1 MiB\"\n{tcp}\n\
         [[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"25 ms\", {down} }}\n\
         up = {{ rate = \"10 Mbit/s\", delay = \"25 ms\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    );
    result_of(&expand(&text), number)
}

fn flow(result: &Value, metric: &str) -> f64 {
    result["flows"][0]["metrics"][metric].as_f64().unwrap()
}

const FILE: &str = "size = \"5 MB\"";

#[test]
fn it_is_disabled_by_default() {
    let loss = "channel = { loss = 0.01 }";
    for variant in ["sack", "cubic"] {
        let row = format!("variant = \"{variant}\"");
        let plain = result(&row, loss, FILE);
        assert_eq!(plain, result(&format!("{row}\nrack = false"), loss, FILE));
        assert_ne!(plain, result(&format!("{row}\nrack = true"), loss, FILE));
    }
}

/// BBR keeps its rate at high loss, so its variant must detect lost retransmissions.
#[test]
fn bbr_uses_rack_by_default() {
    let loss = "channel = { loss = 0.01 }";
    let row = "variant = \"bbr\"";
    let plain = result(row, loss, FILE);
    assert_eq!(plain, result(&format!("{row}\nrack = true"), loss, FILE));
    assert_ne!(plain, result(&format!("{row}\nrack = false"), loss, FILE));
}

/// One packet in fifty arrives 5 ms late, after four later packets. This is less than the
/// reordering window of min_RTT / 4 = 12.5 ms. Without RACK, three duplicate ACKs count as a loss.
/// With RACK, retransmissions are still possible before reordering is first detected (RACK then
/// also counts to three), and if the segment after the late one met a shorter queue.
#[test]
fn reordering_is_no_loss() {
    let late = "channel = { reorder = { probability = 0.02, delay = \"5 ms\" } }";
    for congestion in CONTROLS {
        let tcp =
            format!("variant = \"sack\"\ncongestion = \"{congestion}\"\nlimited_transmit = true");
        let counted = result(&tcp, late, FILE);
        let timed = result(&format!("{tcp}\nrack = true"), late, FILE);
        assert_eq!(flow(&timed, "bytes_delivered"), 5e6);
        let (before, after) = (
            flow(&counted, "fast_retransmits"),
            flow(&timed, "fast_retransmits"),
        );
        assert!(before >= 10.0, "{congestion}: {before}");
        assert!(5.0 * after <= before, "{congestion}: {after} of {before}");
        assert_eq!(flow(&timed, "timeouts"), 0.0, "{congestion}");
    }
}

/// Real losses are detected and repaired with every controller, with and without PRR.
#[test]
fn losses_are_repaired() {
    let loss = "channel = { loss = 0.01 }";
    for congestion in CONTROLS {
        // Controllers that set the window themselves refuse the key.
        let with_prr = !["vegas", "bbr"].contains(&congestion);
        for prr in [false, true].into_iter().take(1 + usize::from(with_prr)) {
            let key = if with_prr {
                format!("prr = {prr}\n")
            } else {
                String::new()
            };
            let tcp =
                format!("variant = \"sack\"\ncongestion = \"{congestion}\"\n{key}rack = true");
            let run = result(&tcp, loss, FILE);
            assert_eq!(flow(&run, "bytes_delivered"), 5e6, "{congestion}");
            assert!(flow(&run, "fast_retransmits") > 0.0, "{congestion}");
            // The retransmissions are fewer than twice the losses.
            let lost = 5e6 / 1460.0 * 0.01;
            let again = flow(&run, "segments_retransmitted");
            assert!(again < 2.0 * lost, "{congestion} {prr}: {again}");
        }
    }
}

/// Answers of six segments over one connection lose one packet in twenty. Without a probe, a loss
/// of the last segments costs a time-out of a second.
#[test]
fn probes_avoid_time_outs() {
    let files = "app = \"http\"\nconnections = \"persistent\"\npages = 300\nmain_object = \"8 kB\"\n\
                 inline_objects = 0\npage_interval = \"0 s\"";
    let loss = "channel = { loss = 0.05 }";
    // A run has few time-outs, so the mean is taken over eight runs.
    let runs = |tcp: &str| -> Vec<Value> {
        (0..8)
            .map(|number| one_of(number, tcp, loss, files))
            .collect()
    };
    let mean = |runs: &[Value], metric| -> f64 {
        runs.iter().map(|run| flow(run, metric)).sum::<f64>() / runs.len() as f64
    };
    let rack = "variant = \"sack\"\nrack = true";
    let [sack, without, with] = [
        runs("variant = \"sack\""),
        runs(&format!("{rack}\ntlp = false")),
        runs(rack),
    ];
    let timeouts = [&sack, &without, &with].map(|runs| mean(runs, "timeouts"));
    assert!(timeouts[0] > 60.0);
    assert!(
        5.0 * timeouts[2] < timeouts[1] && timeouts[1] < timeouts[0],
        "{timeouts:?}"
    );
    assert_eq!(mean(&sack, "tail_probes"), 0.0);
    assert!(mean(&with, "tail_probes") > timeouts[1] - timeouts[2]);
    let response = |runs| mean(runs, "response_time_mean");
    assert!(3.0 * response(&with) < 2.0 * response(&sack));
}

/// Returns the numbers of two kinds of marks at the sending end, and the delivered bytes.
fn traced(tcp: &str) -> (usize, usize, u64) {
    let text = format!(
        "[tcp]\nvariant = \"sack\"\nreceive_window = \"128 KiB\"\ntimestamps = true\n\
         timer = \"jacobson\"\nrto_k = 2\nrto_min = \"200 ms\"\n{tcp}\n\
         [[links]]\nname = \"satellite\"\nbetween = [\"server\", \"client\"]\n\
         down = {{ rate = \"2048 kbit/s\", delay = \"250 ms\", queue = \"unlimited\", channel = {{ \
         jitter = {{ distribution = \"exponential\", mean = \"400 ms\" }} }} }}\n\
         up = {{ rate = \"256 kbit/s\", delay = \"250 ms\", queue = \"unlimited\" }}\n\
         [[flows]]\nfrom = \"server\"\nto = \"client\"\napp = \"bulk\"\nduration = \"200 s\"\n"
    );
    let expanded = expand(&text);
    let run = trace(&expanded, 0, &TraceOptions::default(), &Monitor::default()).unwrap();
    let column = |table: &str, name: &str| common::column(&run.tables, table, name);
    let (kinds, side) = (column("marks", "kind"), column("marks", "side"));
    let count = |kind: Mark| {
        (0..kinds.len())
            .filter(|&i| (kinds[i], side[i]) == (kind as u64, 0))
            .count()
    };
    let delivered = *column("delivered", "bytes").last().unwrap();
    (count(Mark::Timeout), count(Mark::Undo), delivered)
}

/// The delay of a GEO path without losses exceeds the retransmission timer. With F-RTO, a time-out
/// causes no go-back-N and no reduction of the window.
#[test]
fn spurious_time_outs_are_undone() {
    for congestion in ["reno", "cubic", "westwood_plus", "hybla"] {
        let plain = traced(&format!("congestion = \"{congestion}\""));
        let frto = traced(&format!("congestion = \"{congestion}\"\nundo = \"frto\""));
        assert_eq!(plain.1, 0);
        assert!(frto.1 > 0, "{congestion}: {frto:?}");
        assert!(frto.2 > plain.2, "{congestion}: {frto:?} {plain:?}");
    }
    let (plain, frto) = (traced(""), traced("undo = \"frto\""));
    assert!(frto.2 > 2 * plain.2, "{frto:?} {plain:?}");
}
