//! Losses of whole super-packets, and paced super-packets.

use crate::common::{expand, metric, result_of};

/// Returns the goodput in Mbit/s and the share of packets lost on the link, means of four runs.
fn run(tcp: &str, loss: &str, super_packet: u32) -> (f64, f64) {
    let joined = match super_packet {
        0 => String::new(),
        n => format!(", super_packet = {n}"),
    };
    let scenario = expand(&format!(
        "[tcp]\nprofile = \"linux\"\n{tcp}\n[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"100 ms\", queue = {{ packets = 1000 }}, \
         channel = {{ loss = {loss} }}{joined} }}\nup = {{ rate = \"10 Mbit/s\", delay = \"100 ms\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"60 s\"\n"
    ));
    let (mut goodput, mut lost) = (0.0, 0.0);
    for number in 0..4 {
        let done = result_of(&scenario, number);
        goodput += metric(&done, "flows", 0, "goodput") / 4e6;
        let flow = |name| metric(&done, "flows", 0, name);
        lost += flow("segments_retransmitted") / flow("segments_sent") / 4.0;
    }
    (goodput, lost)
}

/// At 2 % of loss in pairs CUBIC has half as many loss events, and at least 20 % more goodput
/// (1 / sqrt(1/2) is 41 %). The share of lost segments stays near 2 %.
#[test]
fn losses_in_pairs_cost_less_than_single_ones() {
    let (single, pairs) = (run("", "0.02", 0), run("", "0.02", 2));
    assert!(pairs.0 > 1.2 * single.0, "{pairs:?}, single {single:?}");
    for (_, lost) in [single, pairs] {
        assert!((0.012..0.032).contains(&lost), "{lost}");
    }
}

/// BBR with `tso` fills the link as without.
#[test]
fn paced_super_packets_fill_the_link() {
    for tso in ["tso = false", "tso = true"] {
        let (goodput, _) = run(&format!("variant = \"bbr\"\n{tso}"), "0.001", 2);
        assert!(goodput > 8.7, "{tso}: {goodput}");
    }
}
