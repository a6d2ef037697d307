//! Coupled congestion control of connections over several paths: LIA (RFC 6356) and OLIA.

use crate::common::{load_error, metric, result};
use serde_json::Value;

const COUPLINGS: [&str; 2] = ["lia", "olia"];

/// Returns a link without a queue limit that loses segments of the way down at random.
fn lossy(loss: f64, delay: &str) -> String {
    format!(
        "down = {{ rate = \"1 Gbit/s\", delay = \"{delay}\", channel = [{{ loss = {loss} }}] }}\n\
         up = {{ rate = \"1 Gbit/s\", delay = \"{delay}\" }}"
    )
}

/// Returns a connection for 400 s over two links without common nodes; over the first alone
/// without `coupling`.
fn over_two(links: [&str; 2], coupling: Option<&str>) -> String {
    let [first, second] = links;
    let multipath = coupling.map_or(String::new(), |name| {
        format!(
            "multipath = {{ paths = [{{ from = \"b\", to = \"d\" }}], coupling = \"{name}\" }}\n"
        )
    });
    format!(
        "seed = 1\nmax_duration = \"500 s\"\n\
         [tcp]\nvariant = \"sack\"\nreceive_window = \"64 MB\"\n\
         [[links]]\nbetween = [\"a\", \"c\"]\n{first}\n\
         [[links]]\nbetween = [\"b\", \"d\"]\n{second}\n\
         [[flows]]\nfrom = \"a\"\nto = \"c\"\napp = \"bulk\"\nduration = \"400 s\"\n{multipath}"
    )
}

/// Returns the mean of `measure` over runs with three seeds.
fn mean(text: &str, measure: impl Fn(&Value) -> f64) -> f64 {
    let of_seed = |seed| {
        measure(&result(
            &text.replace("seed = 1", &format!("seed = {seed}")),
        ))
    };
    (1..=3).map(of_seed).sum::<f64>() / 3.0
}

fn goodput(text: &str) -> f64 {
    mean(text, |done| metric(done, "flows", 0, "goodput"))
}

/// Returns the share of the second subflow in the bytes of both.
fn second_share(text: &str) -> f64 {
    mean(text, |done| {
        let [first, second] = [0, 1].map(|n| metric(done, "flows", n, "subflow_bytes"));
        second / (first + second)
    })
}

/// At equal losses and delays, both subflows together have the rate of one TCP. Uncoupled ones have
/// twice that rate.
#[test]
fn two_equal_subflows_have_the_rate_of_a_tcp() {
    let link = lossy(0.002, "50 ms");
    let alone = goodput(&over_two([&link, &link], None));
    for coupling in COUPLINGS {
        let text = over_two([&link, &link], Some(coupling));
        let ratio = goodput(&text) / alone;
        assert!((0.9..1.12).contains(&ratio), "{coupling}: {ratio}");
        let share = second_share(&text);
        assert!((0.42..0.58).contains(&share), "{coupling}: {share}");
    }
    let ratio = goodput(&over_two([&link, &link], Some("off"))) / alone;
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}

/// With a second path of three times the RTT, the total is that of a TCP on the first path. OLIA
/// leaves the path that is worse nearly empty, and LIA does not: its window is the same on both,
/// so that the second path has 1/4 of the rate.
#[test]
fn a_worse_path_adds_nothing() {
    let links = [lossy(0.002, "50 ms"), lossy(0.002, "150 ms")];
    let links = [links[0].as_str(), &links[1]];
    let alone = goodput(&over_two(links, None));
    for (coupling, share) in [("lia", 0.2..0.32), ("olia", 0.05..0.12)] {
        let text = over_two(links, Some(coupling));
        let ratio = goodput(&text) / alone;
        assert!((0.88..1.1).contains(&ratio), "{coupling}: {ratio}");
        let second = second_share(&text);
        assert!(share.contains(&second), "{coupling}: {second}");
    }
}

/// The path with fewer losses carries more than by independent TCPs, whose shares are those of
/// 1 / sqrt(p): 1/3 of the rate for four times the losses.
#[test]
fn traffic_moves_from_the_path_with_more_losses() {
    let links = [lossy(0.002, "50 ms"), lossy(0.008, "50 ms")];
    let links = [links[0].as_str(), &links[1]];
    let off = second_share(&over_two(links, Some("off")));
    assert!((0.29..0.36).contains(&off), "{off}");
    for coupling in COUPLINGS {
        let share = second_share(&over_two(links, Some(coupling)));
        assert!(share < 0.24, "{coupling}: {share}");
    }
}

/// Over two clean links the connection has at least the rate of the better link.
#[test]
fn disjoint_links_give_at_least_the_better_one() {
    let link = |rate: &str, delay: &str| {
        format!(
            "down = {{ rate = \"{rate}\", delay = \"{delay}\", queue = {{ bdp = 1 }} }}\n\
             up = {{ rate = \"{rate}\", delay = \"{delay}\" }}"
        )
    };
    for links in [
        [link("20 Mbit/s", "20 ms"), link("5 Mbit/s", "20 ms")],
        [link("5 Mbit/s", "20 ms"), link("20 Mbit/s", "200 ms")],
    ] {
        for coupling in COUPLINGS {
            let text = over_two([&links[0], &links[1]], Some(coupling));
            let done = result(&text);
            let goodput = metric(&done, "flows", 0, "goodput");
            assert!(goodput > 20e6, "{coupling}: {goodput}");
        }
    }
}

/// Returns a TCP and a connection with two subflows, all over one link whose queue drops by CoDel.
fn beside_a_tcp(coupling: &str) -> String {
    let access = |n: u8| {
        format!(
            "[[links]]\nbetween = [\"s{n}\", \"r\"]\n\
             down = {{ rate = \"1 Gbit/s\", delay = \"5 ms\" }}\n\
             up = {{ rate = \"1 Gbit/s\", delay = \"5 ms\" }}\n"
        )
    };
    let links: String = (0..3).map(access).collect();
    format!(
        "seed = 1\nmax_duration = \"500 s\"\n\
         [tcp]\nvariant = \"newreno\"\nreceive_window = \"64 MB\"\n{links}\
         [[links]]\nbetween = [\"r\", \"client\"]\n\
         down = {{ rate = \"20 Mbit/s\", delay = \"20 ms\", queue = {{ packets = 1000 }}, \
         discipline = \"codel\" }}\n\
         up = {{ rate = \"20 Mbit/s\", delay = \"20 ms\" }}\n\
         [[flows]]\nfrom = \"s0\"\nto = \"client\"\napp = \"bulk\"\nduration = \"400 s\"\n\
         [[flows]]\nfrom = \"s1\"\nto = \"client\"\napp = \"bulk\"\nduration = \"400 s\"\n\
         multipath = {{ paths = [{{ from = \"s2\" }}], coupling = \"{coupling}\" }}\n"
    )
}

/// Two subflows over a common bottleneck take half of it beside a TCP, and uncoupled ones two
/// thirds.
#[test]
fn two_subflows_share_a_bottleneck_as_one_tcp() {
    for (coupling, share) in [
        ("off", 0.62..0.70),
        ("lia", 0.44..0.55),
        ("olia", 0.42..0.53),
    ] {
        let taken = mean(&beside_a_tcp(coupling), |done| {
            let [tcp, paths] = [0, 1].map(|n| metric(done, "flows", n, "goodput"));
            paths / (tcp + paths)
        });
        assert!(share.contains(&taken), "{coupling}: {taken}");
    }
}

/// An unused backup has no part in the coupling: the other subflow grows as a TCP.
#[test]
fn a_backup_path_leaves_the_other_uncoupled() {
    let link = lossy(0.002, "50 ms");
    let run = |coupling: &str| {
        let text = over_two([&link, &link], Some(coupling));
        result(&text.replace("to = \"d\" }", "to = \"d\", backup = true }"))
    };
    let off = run("off");
    for coupling in COUPLINGS {
        let done = run(coupling);
        for name in ["goodput", "segments_sent"] {
            let [a, b] = [&done, &off].map(|done| metric(done, "flows", 0, name));
            assert!((a / b - 1.0).abs() < 0.01, "{coupling} {name}: {a} {b}");
        }
    }
}

/// Windows other than Reno's cannot be coupled, and neither can an unknown rule.
#[test]
fn what_cannot_be_coupled_is_refused() {
    let link = lossy(0.0, "10 ms");
    let text = over_two([&link, &link], Some("lia"));
    for (text, message) in [
        (
            text.replace("\"sack\"", "\"cubic\""),
            "multipath.coupling cannot apply: the TCP of the flow lacks the congestion window of Reno",
        ),
        (
            text.replace("to = \"d\" }", "to = \"d\", variant = \"bbr\" }"),
            "multipath.paths[0].variant = \"bbr\" lacks the congestion window of Reno",
        ),
        (text.replace("\"lia\"", "\"balia\""), "coupling"),
    ] {
        let error = load_error(&text);
        assert!(error.contains(message), "{message}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}
