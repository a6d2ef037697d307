//! Routes that begin during a run: arrivals by arithmetic, and counters that add up whatever the
//! routes do.

use crate::common::{expand, expand_with, load_error, metric, result, result_of};
use farlink_sim::drop_causes;
use proptest::prelude::*;
use std::fmt::Write as _;

/// Two paths between routers, of 100 ms over "long" and 20 ms over "short". Each host is 1 ms away.
const PATHS: &str = r#"
[[links]]
between = ["server", "west"]
down = { rate = "1 Gbit/s", delay = "1 ms", queue = "unlimited" }
[[links]]
between = ["west", "long"]
down = { rate = "1 Gbit/s", delay = "50 ms", queue = "unlimited" }
[[links]]
between = ["long", "east"]
down = { rate = "1 Gbit/s", delay = "50 ms", queue = "unlimited" }
[[links]]
between = ["west", "short"]
down = { rate = "1 Gbit/s", delay = "10 ms", queue = "unlimited" }
[[links]]
between = ["short", "east"]
down = { rate = "1 Gbit/s", delay = "10 ms", queue = "unlimited" }
[[links]]
between = ["east", "client"]
down = { rate = "1 Gbit/s", delay = "1 ms", queue = "unlimited" }
"#;

fn with_route(start: &str, via: &str) -> String {
    format!(
        "[[routes]]\nat = \"west\"\nto = \"client\"\nvia = \"{via}\"\nstart = \"{start}\"\n\
         [[routes]]\nat = \"west\"\nto = \"client\"\nvia = \"{}\"\n",
        if via == "short" { "long" } else { "short" }
    )
}

/// 100 datagrams, one each 10 ms from 0 s, of 100 bytes.
const DATAGRAMS: &str = "[[flows]]\nfrom = \"server\"\nto = \"client\"\napp = \"cbr\"\nrate = \
                         \"80 kbit/s\"\npacket = \"100 B\"\ndatagrams = 100\n";

/// A datagram over the long path takes 102 ms and over the short path 22 ms. Datagrams that reach
/// "west" from 0.5 s on take the short path: 0 to 49 of 0.49 s are late.
#[test]
fn datagrams_after_a_change_overtake_those_before_by_arithmetic() {
    let net = expand(&format!(
        "{PATHS}{}{DATAGRAMS}",
        with_route("500 ms", "short")
    ));
    let result = result_of(&net, 0);
    let flow = |name| metric(&result, "flows", 0, name);
    assert_eq!(
        (flow("datagrams_received"), flow("datagrams_lost")),
        (100.0, 0.0)
    );
    // Datagram 50 arrives at 0.522 s. Datagrams 43 to 49 of 0.43 to 0.49 s arrive later, from
    // 0.532 s on; datagram 42 arrives at 0.522 s, before the short path's transmission times.
    assert_eq!(flow("datagrams_reordered"), 7.0);
    // Half of the datagrams take 102 ms, half 22 ms, and 4 us more for transmission.
    assert!((flow("delay_mean") - 0.062).abs() < 2e-5);
}

/// In the other direction nothing overtakes, and the first datagram of the long path is 80 ms later.
#[test]
fn a_change_to_a_longer_path_keeps_the_order() {
    let net = expand(&format!(
        "{PATHS}{}{DATAGRAMS}",
        with_route("500 ms", "long")
    ));
    let result = result_of(&net, 0);
    assert_eq!(metric(&result, "flows", 0, "datagrams_reordered"), 0.0);
    assert_eq!(metric(&result, "flows", 0, "datagrams_received"), 100.0);
    let crossed = |link| metric(&result, "links", link, "packets");
    // Links are listed with both directions: "west" to "long" is row 2, to "short" row 6.
    assert_eq!((crossed(2), crossed(6)), (50.0, 50.0));
}

/// Entries may be in any order: the short path has the 20 datagrams of 0.5 to 0.7 s.
#[test]
fn changes_apply_in_the_order_of_their_times() {
    let later = "[[routes]]\nat = \"west\"\nto = \"client\"\nvia = \"long\"\nstart = \"700 ms\"\n";
    let routes = with_route("500 ms", "short");
    let result = result(&format!("{PATHS}{later}{routes}{DATAGRAMS}"));
    let crossed = |link| metric(&result, "links", link, "packets");
    assert_eq!((crossed(2), crossed(6)), (80.0, 20.0));
}

/// A route before any packet equals a static route, with all optimisations of constant routes.
#[test]
fn a_route_from_the_first_nanosecond_on_equals_a_static_one() {
    let file = "[[flows]]\nfrom = \"server\"\nto = \"client\"\nsize = \"1 MB\"\n";
    let later = format!("{PATHS}{}{file}", with_route("1 ns", "long"));
    let fixed = later.replace("start = \"1 ns\"\n", "").replace(
        "[[routes]]\nat = \"west\"\nto = \"client\"\nvia = \"short\"\n",
        "",
    );
    let (a, b) = (result(&later), result(&fixed));
    assert_eq!(a["flows"], b["flows"]);
}

/// The run of a file over both paths is complete, and its TCP detects that nothing was lost.
#[test]
fn a_file_arrives_whole_over_paths_that_change_each_second() {
    let mut routes = String::new();
    for second in 1..60 {
        let via = if second % 2 == 0 { "long" } else { "short" };
        let _ = write!(
            routes,
            "[[routes]]\nat = \"west\"\nto = \"client\"\nvia = \"{via}\"\nstart = \"{second} s\"\n"
        );
    }
    let file = "[[flows]]\nfrom = \"server\"\nto = \"client\"\nsize = \"20 MB\"\n";
    for variant in ["reno", "cubic", "bbr"] {
        let set = [("tcp.variant", variant)];
        let net = expand_with(&format!("{PATHS}{routes}{file}"), &set);
        let result = result_of(&net, 0);
        let flow = |name| metric(&result, "flows", 0, name);
        assert_eq!(
            (flow("bytes_delivered"), flow("completed")),
            (20e6, 1.0),
            "{variant}"
        );
    }
}

#[test]
fn wrong_routes_are_refused_with_their_time() {
    let flow = DATAGRAMS;
    let back = "[[routes]]\nat = \"long\"\nto = \"client\"\nvia = \"west\"\nstart = \"3 s\"\n";
    let text = format!("{PATHS}{}{back}{flow}", with_route("2 s", "long"));
    let error = load_error(&text);
    assert!(
        error.contains("go round in a circle from 3 s on: packets from \"server\" for \"client\""),
        "{error}"
    );
    let twice = format!(
        "{PATHS}{}{}{flow}",
        with_route("2 s", "long"),
        with_route("2 s", "short")
    );
    let error = load_error(&twice);
    assert!(
        error.contains("is for the same packets and time as routes[0]"),
        "{error}"
    );
}

/// Nodes of a grid of three times three, with the hosts "a" and "b" at opposite corners.
fn neighbours(node: usize) -> Vec<usize> {
    let (row, column) = (node / 3, node % 3);
    let mut all = Vec::new();
    for (r, c) in [
        (row.wrapping_sub(1), column),
        (row + 1, column),
        (row, column.wrapping_sub(1)),
        (row, column + 1),
    ] {
        if r < 3 && c < 3 {
            all.push(3 * r + c);
        }
    }
    all
}

/// Returns the next node of each node on a random tree towards `root`.
fn tree(root: usize, mut random: u64) -> Vec<usize> {
    let mut next = vec![usize::MAX; 9];
    next[root] = root;
    let mut open = vec![root];
    while !open.is_empty() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = open.swap_remove((random >> 33) as usize % open.len());
        for node in neighbours(at) {
            if next[node] == usize::MAX {
                next[node] = at;
                open.push(node);
            }
        }
    }
    next
}

/// Datagrams and a file from "a" to "b" through the grid, with trees of routes that change at random
/// times, random delays, rates and queues.
fn grid() -> impl Strategy<Value = String> {
    let changes = prop::collection::vec((1u32..8_000, any::<bool>(), any::<u64>()), 0..12);
    let link = (
        0u32..120,
        prop_oneof![Just(80u32), Just(400), Just(2_000)],
        2u32..20,
    );
    (changes, prop::collection::vec(link, 12), any::<u32>(), 1_000u32..9_000).prop_map(
        |(changes, links, seed, end)| {
            let mut text = format!("seed = {seed}\nduration = \"{end} ms\"\n");
            let mut link = links.into_iter();
            for node in 0..9 {
                for other in neighbours(node).into_iter().filter(|&other| other > node) {
                    let (delay, rate, queue) = link.next().unwrap();
                    let _ = write!(
                        text,
                        "[[links]]\nbetween = [\"n{node}\", \"n{other}\"]\ndown = {{ rate = \"{rate} \
                         kbit/s\", delay = \"{delay} ms\", queue = {{ packets = {queue} }} }}\n"
                    );
                }
            }
            for (host, node) in [("a", 0), ("b", 8)] {
                let _ = write!(
                    text,
                    "[[links]]\nbetween = [\"{host}\", \"n{node}\"]\npreset = \"lan\"\n"
                );
            }
            for (index, (ms, forth, random)) in changes.into_iter().enumerate() {
                let (to, root) = if forth { ("b", 8) } else { ("a", 0) };
                for (at, next) in tree(root, random).into_iter().enumerate() {
                    if at != root {
                        let _ = write!(
                            text,
                            "[[routes]]\nat = \"n{at}\"\nto = \"{to}\"\nvia = \"n{next}\"\nstart = \
                             \"{} us\"\n",
                            1000 * ms + index as u32
                        );
                    }
                }
            }
            for (from, to, app) in [
                ("a", "b", "app = \"cbr\"\nrate = \"100 kbit/s\"\npacket = \"300 B\"\nduration = \"5 s\""),
                ("b", "a", "app = \"cbr\"\nrate = \"40 kbit/s\"\npacket = \"90 B\"\nduration = \"6 s\""),
                ("a", "b", "app = \"bulk\"\nduration = \"10 s\""),
            ] {
                let _ = write!(text, "[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\n{app}\n");
            }
            text
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Each datagram arrives, is lost for a cause, or is under way, whatever the routes do.
    #[test]
    fn each_datagram_arrives_is_lost_or_is_under_way(text in grid()) {
        let result = result(&text);
        for flow in 0..2 {
            let of = |name: &str| metric(&result, "flows", flow, name);
            let lost: f64 = drop_causes().iter().map(|cause| of(&format!("lost_{cause}"))).sum();
            prop_assert_eq!(of("datagrams_lost"), lost);
            let settled = of("datagrams_received") + lost;
            prop_assert_eq!(of("datagrams_sent"), settled + of("datagrams_under_way"));
        }
    }
}
