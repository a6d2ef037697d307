//! The counters of links and flows add up, for any path and any end of the run.

use crate::common::{expand, metric, result};
use farlink_sim::{Column, Monitor, TraceOptions, drop_causes, trace};
use proptest::prelude::*;
use serde_json::Value;

/// Bulk transfers and datagrams from a to c, stopped at some time, over a link that may be slow or
/// lossy, or have cross traffic, a queue discipline or a protocol.
fn path() -> impl Strategy<Value = String> {
    let channel = prop_oneof![
        Just(""),
        Just("loss = 0.02"),
        Just("corrupt = 0.05"),
        Just("loss = 0.3, corrupt = 0.1"),
    ];
    let queue = prop_oneof![
        Just("\"unlimited\""),
        Just("{ packets = 5 }"),
        Just("{ bytes = \"20 kB\" }"),
    ];
    let arq = prop_oneof![
        3 => Just(""),
        1 => Just("arq = { protocol = \"none\" }"),
        1 => Just("arq = { protocol = \"lapb\" }"),
    ];
    let other = prop_oneof![2 => Just(0u32), 1 => 1u32..40];
    let discipline = prop_oneof![
        3 => Just(""),
        1 => Just("head-drop"), 1 => Just("red"), 1 => Just("codel"), 1 => Just("pie"),
        1 => Just("cobalt"), 1 => Just("drr"), 1 => Just("fq-codel"), 1 => Just("fq-pie"),
        1 => Just("fq-cobalt"), 1 => Just("dualpi2"), 1 => Just("cake"),
    ];
    let (rate, delay, end) = (16u32..2_000, 0u32..400, 500u32..8_000);
    let kind = (arq, other, discipline);
    (channel, queue, kind, rate, delay, end, any::<u32>()).prop_map(
        |(channel, queue, (arq, other, discipline), rate, delay, end, seed)| {
            let background = match other {
                kbps if kbps > 0 && arq.is_empty() => {
                    format!(", background = [{{ load = \"{kbps} kbit/s\", size = \"2 kB\", rate = \"100 kbit/s\" }}]")
                }
                _ if !discipline.is_empty() && arq.is_empty() => {
                    format!(", discipline = \"{discipline}\"")
                }
                _ => String::new(),
            };
            format!(
                "seed = {seed}\nduration = \"{end} ms\"\n[tcp]\nvariant = \"sack\"\n\
                 [[links]]\nbetween = [\"a\", \"b\"]\n\
                 down = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n\
                 [[links]]\nbetween = [\"b\", \"c\"]\n{arq}\n\
                 down = {{ rate = \"{rate} kbit/s\", delay = \"{delay} ms\", queue = {queue}, \
                 channel = {{ {channel} }}{background} }}\n\
                 [[flows]]\nfrom = \"a\"\nto = \"c\"\napp = \"bulk\"\nduration = \"20 s\"\n\
                 [[flows]]\nfrom = \"a\"\nto = \"c\"\napp = \"cbr\"\nrate = \"40 kbit/s\"\n\
                 packet = \"500 B\"\nduration = \"20 s\"\n"
            )
        },
    )
}

fn sum(result: &Value, list: &str, which: usize, prefix: &str) -> f64 {
    drop_causes()
        .iter()
        .map(|cause| metric(result, list, which, &format!("{prefix}_{cause}")))
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    /// A link sends no more than its rate allows. Its losses are the sum over the causes, and the
    /// sum over the flows. Each packet that it sent has arrived, was lost or is in flight. No flow
    /// gets more than the link carries.
    #[test]
    fn counters_add_up(text in path()) {
        let scenario = expand(&text);
        let traced = trace(&scenario, 0, &TraceOptions::default(), &Monitor::default()).unwrap();
        let done: Value = serde_json::from_str(&traced.outcome.to_json(&scenario)).unwrap();
        let seconds = done["simulated_s"].as_f64().unwrap();
        let deliveries = traced.tables.iter().find(|t| t.name == "deliveries").unwrap();
        let column = |name| &deliveries.columns.iter().find(|c| c.0 == name).unwrap().1;
        let (Column::U32(links), Column::U8(directions)) = (column("link"), column("direction"))
        else {
            panic!("columns of another type")
        };
        let mut lost_by_links = 0.0;
        for link in 0..4 {
            let of = |name: &str| metric(&done, "links", link, name);
            let config = &scenario.links[link / 2];
            let config = if link % 2 == 0 { &config.down } else { &config.up };
            let rate = config.rate as f64;
            let other = done["links"][link]["metrics"]["background_throughput"].as_f64();
            let all = of("throughput") + other.unwrap_or(0.0);
            prop_assert!(all <= rate * (1.0 + 1e-9), "{all} of {rate} on {link}");
            let busy = of("utilisation");
            prop_assert!((0.0..=1.0).contains(&busy), "{busy}");
            let drops = of("drops");
            prop_assert_eq!(drops, sum(&done, "links", link, "drops"));
            lost_by_links += drops;
            let received = links.iter().zip(directions)
                .filter(|&(&l, &d)| l as usize == link / 2 && usize::from(d) == link % 2)
                .count() as f64;
            let in_flight = of("packets") - received - (drops - of("drops_congestion"))
                + beyond(&done, link, &text);
            // Frames that wait for their retransmission are in flight, too.
            let max = rate * (config.delay.as_secs_f64() + 1.0) / 320.0 + 200.0;
            prop_assert!((0.0..=max).contains(&in_flight), "{in_flight} on {link}");
        }
        let lost_by_flows: f64 = (0..2)
            .map(|flow| sum(&done, "flows", flow, "lost") + done["flows"][flow]["metrics"]["acks_lost"]
                .as_f64().unwrap_or(0.0))
            .sum();
        prop_assert_eq!(lost_by_flows, lost_by_links);
        let carried = metric(&done, "links", 2, "throughput") * seconds;
        let got: f64 = (0..2).map(|flow| metric(&done, "flows", flow, "bytes_delivered")).sum();
        prop_assert!(got * 8.0 <= carried, "{got} B of {carried} bit");
    }
}

/// Returns the number of packets that a link delivered and that were refused at its far end:
/// damaged packets of a link without a protocol.
fn beyond(done: &Value, link: usize, text: &str) -> f64 {
    if text.contains("arq") && link >= 2 {
        0.0
    } else {
        metric(done, "links", link, "drops_checksum")
    }
}

/// 60 kbit/s for 2 s are 15,000 bytes, independent of the number of waiting packets.
#[test]
fn a_link_counts_departed_bytes() {
    let text = "duration = \"2 s\"\n[tcp]\nvariant = \"sack\"\ninitial_window = 20\n\
         [[links]]\nbetween = [\"a\", \"b\"]\n\
         down = { rate = \"60 kbit/s\", delay = \"10 ms\", queue = \"unlimited\" }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"2 s\"\n";
    let done = result(text);
    let throughput = metric(&done, "links", 0, "throughput");
    assert!((50e3..=60e3).contains(&throughput), "{throughput}");
    let share = metric(&done, "links", 0, "goodput_share");
    assert!((0.85..=1.0).contains(&share), "{share}");
}

/// Datagrams sent at 40 kbit/s over 20 kbit/s arrive at 20 kbit/s, headers included.
#[test]
fn datagrams_arrive_no_faster_than_the_link() {
    let text = "[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = { rate = \"20 kbit/s\", delay = \"10 ms\", queue = \"unlimited\" }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"cbr\"\nrate = \"40 kbit/s\"\n\
         packet = \"972 B\"\nduration = \"20 s\"\n";
    let goodput = metric(&result(text), "flows", 0, "goodput");
    assert!((19e3..=20e3).contains(&goodput), "{goodput}");
}

/// A frame with a wrong check sequence is one loss of one packet.
#[test]
fn a_damaged_frame_is_lost_once() {
    let text = "[[links]]\nbetween = [\"a\", \"b\"]\narq = { protocol = \"none\" }\n\
         down = { rate = \"1 Mbit/s\", delay = \"10 ms\", channel = { corrupt = 0.1 } }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"cbr\"\nrate = \"40 kbit/s\"\n\
         packet = \"500 B\"\nduration = \"20 s\"\n";
    let done = result(text);
    let lost = metric(&done, "flows", 0, "lost_checksum");
    assert!(lost > 5.0);
    assert_eq!(metric(&done, "links", 0, "drops_checksum"), lost);
    assert_eq!(metric(&done, "links", 0, "drops"), lost);
}
