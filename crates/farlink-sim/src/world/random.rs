//! Random scenarios, for tests of properties of all scenarios.

use crate::scenario::{Expanded, load};
use farlink_channel::rng::{Stream, Streams};

/// Returns a random scenario and its text: a tree of up to seven nodes with up to five entries of
/// flows of several kinds. The scenario is `None` if its random choices contradict each other.
pub(crate) fn scenario(number: u64) -> (String, Option<Expanded>) {
    let mut stream = Streams::new(number, 0).stream("fused");
    let nodes = 2 + stream.next_u64() % 6;
    let tcp = one(
        &mut stream,
        &[
            "reno", "newreno", "sack", "sack", "cubic", "cubic", "vegas", "bbr", "peach",
        ],
    );
    let mut text = format!("[tcp]\nvariant = \"{tcp}\"\n");
    if stream.next_u64().is_multiple_of(2) {
        text += "eln = \"oracle\"\n";
    }
    let end = match stream.next_u64() % 3 {
        0 => format!("duration = \"{} ms\"\n", 200 + stream.next_u64() % 3000),
        _ => "max_duration = \"20 s\"\n".to_owned(),
    };
    let mut text = vec![end, text];
    for node in 1..nodes {
        // Two of three nodes extend the line, because lines have the longest paths.
        let before = match stream.next_u64() % 3 {
            0 => stream.next_u64() % node,
            _ => node - 1,
        };
        let (down, up) = (direction(&mut stream), direction(&mut stream));
        text.push(format!(
            "[[links]]\nname = \"l{node}\"\nbetween = [\"n{before}\", \"n{node}\"]\n"
        ));
        text.push(format!("down = {down}\nup = {up}\n"));
        text.push(
            one(
                &mut stream,
                &["", "", "", "", "", "arq = { protocol = \"lapb\" }\n"],
            )
            .to_owned(),
        );
    }
    for flow in 0..=stream.next_u64() % 5 {
        let (from, to) = match stream.next_u64() % 3 {
            0 => (0, nodes - 1),
            1 => (nodes - 1, 0),
            _ => (stream.next_u64() % nodes, stream.next_u64() % nodes),
        };
        let to = if from == to { (to + 1) % nodes } else { to };
        let app = one(
            &mut stream,
            &[
                "size = \"60 kB\"",
                "size = \"300 kB\"",
                "size = \"20 kB\"\ncount = 3\nstagger = \"7 ms\"",
                "app = \"cbr\"\nrate = \"300 kbit/s\"\nduration = \"1 s\"",
                "app = \"cbr\"\nrate = \"20 Mbit/s\"\npacket = \"1200 B\"\ndatagrams = 1",
                "app = \"cbr\"\nrate = \"2 Mbit/s\"\npacket = \"700 B\"\ndatagrams = 40",
                "app = \"bulk\"\nduration = \"900 ms\"",
                "app = \"xtp\"\nrate = \"2 Mbit/s\"\nsize = \"100 kB\"\nsreq_every = 1",
            ],
        );
        text.push(format!(
            "[[flows]]\nname = \"f{flow}\"\nfrom = \"n{from}\"\nto = \"n{to}\"\n{app}\n"
        ));
    }
    let text = text.concat();
    let loaded = load(&text, "", &[]).and_then(|scenario| scenario.expand());
    (text, loaded.ok())
}

/// Returns a random element.
fn one<'a>(stream: &mut Stream, of: &[&'a str]) -> &'a str {
    of[stream.next_u64() as usize % of.len()]
}

/// Returns the table of a random link direction.
fn direction(stream: &mut Stream) -> String {
    let rate = one(
        stream,
        &["64 kbit/s", "1 Mbit/s", "2 Mbit/s", "10 Mbit/s", "1 Gbit/s"],
    );
    let delay = one(stream, &["0 ms", "1 ms", "1 ms", "5 ms", "40 ms", "300 ms"]);
    let more = one(
        stream,
        &[
            "",
            "",
            "",
            "",
            "",
            "",
            "",
            ", queue = { packets = 3 }",
            ", queue = { packets = 3 }",
            ", queue = { packets = 5 }",
            ", queue = { packets = 5 }",
            ", queue = { packets = 12 }",
            ", queue = { bytes = 9000 }",
            ", overhead = \"18 B\"",
            ", channel = { loss = 0.02 }",
            ", channel = { gilbert = { loss = 0.03, burst = 2 }, duplicate = 0.02 }",
            ", channel = { corrupt = 0.02 }",
            ", channel = { reorder = { probability = 0.1, delay = \"5 ms\" } }",
            ", channel = { jitter = { distribution = \"uniform\", mean = \"4 ms\", spread = \"3 ms\" } }",
            ", mark = { packets = 2 }",
            ", mtu = \"576 B\"",
            ", background = [{ load = \"100 kbit/s\" }]",
        ],
    );
    format!("{{ rate = \"{rate}\", delay = \"{delay}\"{more} }}")
}
