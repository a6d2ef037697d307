use super::*;
use crate::{Monitor, Trace, TraceOptions, scenario, trace};
use farlink_tcp::variant;

fn told(text: &str, overrides: &[(&str, &str)]) -> (Trace, Vec<StoryLine>) {
    let pairs: Vec<_> = overrides
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    let scenario = scenario::load(text, "", &pairs)
        .and_then(|s| s.expand())
        .unwrap();
    let options = TraceOptions {
        packets: true,
        ..TraceOptions::default()
    };
    let traced = trace(&scenario, 0, &options, &Monitor::default()).unwrap();
    let lines = story(&scenario, &traced.tables);
    (traced, lines)
}

fn geo(down: &str, flow: &str) -> String {
    format!(
        "[tcp]\nvariant = \"newreno\"\nmss = \"1000 B\"\nreceive_window = \"1 MB\"\n\
         [[links]]\nname = \"sat\"\nbetween = [\"s\", \"c\"]\n\
         down = {{ rate = \"2 Mbit/s\", delay = \"275 ms\", {down} }}\n\
         up = {{ rate = \"2 Mbit/s\", delay = \"275 ms\" }}\n\
         [[flows]]\nfrom = \"s\"\nto = \"c\"\n{flow}\n"
    )
}

/// Sentences of the data sender, without those of slow start.
fn texts(lines: &[StoryLine]) -> Vec<&str> {
    let is_wanted = |line: &&StoryLine| line.side == 0 && !line.text.starts_with("Slow start");
    let of_sender = lines.iter().filter(is_wanted);
    of_sender.map(|line| line.text.as_str()).collect()
}

#[test]
fn a_loss_is_told_from_its_cause_to_the_end_of_recovery() {
    let text = geo(
        "channel = { scripted_loss = { packets = [20] } }",
        "size = \"60 kB\"",
    );
    let (_, lines) = told(&text, &[]);
    let all = texts(&lines);
    let from = all.iter().position(|text| text.contains("loses")).unwrap();
    let number = all[from].strip_prefix("The channel of sat loses ").unwrap();
    let segment = number.trim_end_matches('.');
    assert_eq!(
        all[from + 1],
        format!("First duplicate ACK: {segment} is missing.")
    );
    assert_eq!(
        all[from + 2],
        format!("Second duplicate ACK: {segment} is missing.")
    );
    assert_eq!(
        all[from + 3],
        format!("Third duplicate ACK: {segment} is missing.")
    );
    let fast = all[from + 4];
    assert!(
        fast.starts_with(&format!(
            "Fast retransmit: {segment} goes again for duplicate ACKs, cwnd "
        )),
        "{fast}"
    );
    assert!(
        all[from + 5].starts_with("Recovery ends: cwnd is "),
        "{all:?}"
    );
    let fast = lines
        .iter()
        .find(|line| line.text.starts_with("Fast"))
        .unwrap();
    assert!(fast.packet.is_some());
}

/// A threshold of 20 packets marks, and the reductions are those of RFC 3168 and of RFC 9768. Without
/// ECN the queue of 200 packets only drops.
#[test]
fn reductions_for_congestion_marks_are_told() {
    let text = geo(
        "queue = { packets = 200 }, mark = { packets = 20 }",
        "size = \"3 MB\"",
    );
    for (ecn, told_of) in [("true", true), ("accecn", true), ("false", false)] {
        let (_, lines) = told(&text, &[("tcp.ecn", ecn)]);
        let all = texts(&lines);
        let halves = all.iter().any(|text| {
            text.starts_with("The receiver reports congestion marks, cwnd halves from ")
        });
        assert_eq!(halves, told_of, "{ecn}: {all:?}");
    }
}

#[test]
fn a_time_out_is_told_with_its_rto_and_the_next() {
    let text = geo(
        "channel = { scripted_loss = { packets = [3, 4, 5, 6, 7, 8] } }",
        "size = \"5 kB\"",
    );
    let (_, lines) = told(&text, &[]);
    let all = texts(&lines);
    let rto = all
        .iter()
        .find(|text| text.starts_with("The RTO of "))
        .unwrap();
    assert!(
        rto.contains(" expires: segment ") && rto.contains("; the RTO is now "),
        "{rto}"
    );
}

#[test]
fn stories_of_every_tcp_are_in_order_of_time_and_name_packets_of_the_table() {
    let text = geo(
        "queue = { packets = 20 }, channel = { loss = 0.02 }",
        "size = \"150 kB\"",
    );
    for row in variant::VARIANTS {
        let name = format!("\"{}\"", row.name);
        let (traced, lines) = told(&text, &[("tcp.variant", &name)]);
        let packets = Rows::of(&traced.tables, "packets");
        let numbers: std::collections::BTreeSet<_> = (0..packets.len())
            .map(|row| packets.at(row, "number"))
            .collect();
        assert!(lines.len() > 5, "{}", row.name);
        assert!(lines.is_sorted_by_key(|line| line.time), "{}", row.name);
        for line in &lines {
            assert!(
                line.packet.is_none_or(|n| numbers.contains(&n.into())),
                "{line:?}"
            );
            assert!(line.text.ends_with('.') && line.text.len() > 10, "{line:?}");
        }
        let again = lines.iter().any(|line| line.text.contains("goes again"));
        assert!(again, "{}: no loss was repaired", row.name);
    }
}
