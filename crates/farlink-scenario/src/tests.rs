//! Tests of the whole language: overrides, presets and counts; a written scenario loads to the same
//! scenario.

use proptest::prelude::*;

use super::*;

pub(super) const GOOD: &str = r#"name = "geo"
seed = 7

[tcp]
variant = "reno"

[[links]]
name = "satellite"
between = ["gateway", "client"]

[links.down]
rate = "2048 kbit/s"
delay = "250 ms"
queue = { packets = 100 }

[links.up]
rate = "256 kbit/s"
delay = "250 ms"

[[links]]
between = ["server", "gateway"]
down = { rate = "10 Mbit/s", delay = "10 ms" }

[[flows]]
name = "download"
from = "server"
to = "client"
size = "50 MiB"
opens = "receiver"
"#;

pub(super) fn fault(text: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<_> = overrides
        .iter()
        .map(|(p, v)| ((*p).to_owned(), (*v).to_owned()))
        .collect();
    match load(text, "geo.toml", &overrides) {
        Ok(_) => "no fault".to_owned(),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn the_good_scenario_is_good() {
    let scenario = load(GOOD, "geo.toml", &[]).unwrap();
    let net = scenario.expand().unwrap();
    assert_eq!(net.nodes, ["gateway", "client", "server"]);
    assert_eq!((net.links[0].a, net.links[0].b), (0, 1));
    assert_eq!(net.links[0].down.rate, 2_048_000);
    assert_eq!(net.links[0].down.queue, QueueSpec::Packets(100));
    assert_eq!(net.links[1].name, "server-gateway");
    assert_eq!(net.links[1].up, net.links[1].down);
    let flow = &net.flows[0];
    assert_eq!((flow.name.as_str(), flow.from, flow.to), ("download", 2, 1));
    assert_eq!(
        flow.app,
        App::File {
            size: 52_428_800,
            reverse: 0
        }
    );
    assert_eq!(flow.opens, Opener::Receiver);
    assert_eq!(flow.sender.recovery, farlink_tcp::config::Recovery::Reno);
}

#[test]
fn overrides_change_values_and_are_named_in_errors() {
    let set =
        |path: &str, value: &str| load(GOOD, "geo.toml", &[(path.to_owned(), value.to_owned())]);
    let delay = |s: Scenario| s.expand().unwrap().links[0].down.delay;
    let ms = farlink_tcp::Interval::from_millis;
    assert_eq!(delay(set("links.0.down.delay", "300ms").unwrap()), ms(300));
    assert_eq!(
        delay(set("links[0].down.delay", "\"300 ms\"").unwrap()),
        ms(300)
    );
    assert_eq!(
        delay(set("links.satellite.down.delay", "300 ms").unwrap()),
        ms(300)
    );
    let lossy = set("links.0.up.channel.ber", "1e-6")
        .unwrap()
        .expand()
        .unwrap();
    assert_eq!(lossy.links[0].up.channel[0].ber, Some(Probability(1e-6)));
    let queue = set("links.1.down.queue.bytes", "64 KiB")
        .unwrap()
        .expand()
        .unwrap();
    assert_eq!(queue.links[1].down.queue, QueueSpec::Bytes(65_536));
    assert_eq!(set("seed", "9").unwrap().seed, 9);

    for (path, value, message) in [
        (
            "links.0.down.dealy",
            "1ms",
            "override links.0.down.dealy=1ms: unknown key \"dealy\" in links[0].down; did you mean \
             \"delay\"?",
        ),
        (
            "links.0.down.delay",
            "300",
            "override links.0.down.delay=300: links[0].down.delay = 300 has no unit; write for example \
             \"300 ms\"",
        ),
        (
            "links.2.name",
            "x",
            "override links.2.name=x: links has 2 elements, numbers 0 to 1",
        ),
        (
            "tcp.variant",
            "quick",
            "override tcp.variant=quick: tcp.variant = \"quick\" is not a TCP; the variants are \
             {VARIANTS}",
        ),
        (
            "",
            "x",
            "override =x: is not PATH=VALUE; write for example \"links.0.down.delay=300ms\"",
        ),
    ] {
        let variants: Vec<_> = farlink_tcp::variant::VARIANTS
            .iter()
            .map(|v| format!("{:?}", v.name))
            .collect();
        let message = message.replace("{VARIANTS}", &variants.join(", "));
        assert_eq!(fault(GOOD, &[(path, value)]), message);
    }
}

#[test]
fn an_override_of_an_absent_up_changes_a_copy_of_down() {
    let set = |path: &str, value: &str| (path.to_owned(), value.to_owned());
    let overrides = [
        set("links.1.up.rate", "1Mbit/s"),
        set("links.1.down.delay", "7ms"),
    ];
    let links = load(GOOD, "geo.toml", &overrides)
        .unwrap()
        .expand()
        .unwrap()
        .links;
    assert_eq!(
        (links[1].down.rate, links[1].up.rate),
        (10_000_000, 1_000_000)
    );
    assert_eq!(links[1].up.delay, farlink_tcp::Interval::from_millis(7));
}

#[test]
fn a_preset_that_would_change_nothing_is_refused() {
    let text = GOOD.replace("name = \"satellite\"", "preset = \"geo-omueti2007\"");
    let saved = load(&text, "geo.toml", &[]).unwrap().to_json();
    let set = [("links.0.preset".to_owned(), "lan".to_owned())];
    assert_eq!(
        load(&saved, "saved.json", &set).unwrap_err().to_string(),
        "override links.0.preset=lan: links[0].preset would be ignored; the link says all of it itself"
    );
}

proptest! {
    #[test]
    fn no_input_panics_and_every_fault_is_one_line(
        at in 0..GOOD.len(),
        cut in 0..40usize,
        put in "[\\[\\]{}=\\.\"a-z0-9 \n%-]{0,12}",
        path in "(links|flows|tcp|routes|seed|x)(\\.(0|1|9|down|up|channel|queue|name|mss|tcp)){0,4}",
        value in "[\\[\\]{}=\\.\"a-z0-9 %-]{0,12}",
    ) {
        let end = (at + cut).min(GOOD.len());
        let text = format!("{}{put}{}", &GOOD[..at], &GOOD[end..]);
        for (text, set) in [(text.as_str(), vec![]), (GOOD, vec![(path, value)])] {
            if let Err(fault) = load(text, "geo.toml", &set) {
                prop_assert!(!fault.to_string().contains('\n'), "{fault}");
            }
        }
    }
}

#[test]
fn long_values_are_shortened_in_messages() {
    for value in ["x".repeat(100_000), "a b ".repeat(25_000)] {
        let report = load(GOOD, "f.toml", &[("seed".to_owned(), value)])
            .unwrap_err()
            .to_string();
        assert!(report.starts_with("override seed="), "{report}");
        assert!(report.len() < 5000, "{} bytes", report.len());
    }
}

#[test]
fn json_names_the_path() {
    let json = r#"{"links": [{"between": ["a", "b"], "down": {"rate": 5}}], "flows": []}"#;
    assert_eq!(
        load(json, "scenario", &[]).unwrap_err().to_string(),
        "scenario: links[0].down.rate = 5 has no unit; write for example \"5 kbit/s\""
    );
    let json = r#"{"name": null, "links": [], "flows": []}"#;
    assert_eq!(
        load(json, "", &[]).unwrap_err().to_string(),
        "links is empty; write [[links]]"
    );
    assert_eq!(
        load("{}", "", &[]).unwrap_err().to_string(),
        "the scenario has no \"links\"; write [[links]]"
    );
}

#[test]
fn every_scenario_of_the_library_is_whole_and_reloads_equal() {
    for (name, text) in library() {
        let scenario = load(text, name, &[]).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(scenario.name.as_deref(), Some(*name));
        assert!(
            scenario.source.is_some() && scenario.description.is_some(),
            "{name}"
        );
        let json = scenario.to_json();
        let again = load(&json, name, &[]).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(again, scenario, "{name}");
        assert_eq!(again.to_json(), json, "{name}");
        assert_eq!(
            again.expand().unwrap(),
            scenario.expand().unwrap(),
            "{name}"
        );
        for row in farlink_tcp::variant::VARIANTS {
            let variant = [("tcp.variant".to_owned(), row.name.to_owned())];
            // Not every TCP is of the profile of every scenario.
            let load = |text| load(text, name, &variant).map_err(|fault| fault.to_string());
            let (direct, saved) = (load(text), load(&json));
            assert_eq!(direct, saved, "{name} with {}", row.name);
            let is_of_profile =
                !direct.is_err_and(|fault| !fault.contains("is not a TCP of profile"));
            assert!(is_of_profile, "{name} with {}", row.name);
        }
    }
}

#[test]
fn every_preset_makes_a_link_that_reloads_equal() {
    let presets: serde_json::Value = serde_json::from_str(&presets_json()).unwrap();
    for preset in presets.as_array().unwrap() {
        let name = preset["name"].as_str().unwrap();
        let text = format!(
            "[[links]]\nbetween = [\"a\", \"b\"]\npreset = {name:?}\n[links.up]\ndelay = \"7 ms\"\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\n"
        );
        let scenario = load(&text, name, &[]).unwrap_or_else(|fault| panic!("{fault}"));
        let link = &scenario.expand().unwrap().links[0];
        assert_eq!(
            Rate(link.down.rate).to_string(),
            preset["down"]["rate"].as_str().unwrap()
        );
        assert_eq!(link.up.delay, farlink_tcp::Interval::from_millis(7));
        assert!(
            scenario.links[0]
                .source
                .as_ref()
                .unwrap()
                .starts_with(&format!("preset {name}: "))
        );
        assert_eq!(load(&scenario.to_json(), name, &[]).unwrap(), scenario);
    }
}

#[test]
fn a_saved_scenario_notices_that_a_row_has_changed() {
    let json = load(GOOD, "geo.toml", &[]).unwrap().to_json();
    let edited = json.replace("\"dupack_threshold\":3", "\"dupack_threshold\":4");
    assert_ne!(json, edited);
    assert_eq!(
        load(&edited, "old.json", &[]).unwrap_err().to_string(),
        "old.json: resolved_tcp[0].dupack_threshold = 4 differs from 3, which the rest of the \
         scenario gives; if the change is meant, remove resolved_tcp"
    );
    let set = [("tcp.variant".to_owned(), "cubic".to_owned())];
    assert!(load(&edited, "old.json", &set).is_ok());
}

#[test]
fn counts_and_braces_are_spelled_out() {
    let text = |name: &str| library().iter().find(|(n, _)| *n == name).unwrap().1;
    let net = load(text("dumbbell-1000"), "", &[])
        .unwrap()
        .expand()
        .unwrap();
    assert_eq!(
        (net.nodes.len(), net.links.len(), net.flows.len()),
        (22, 21, 1000)
    );
    let flow = &net.flows[123];
    assert_eq!(flow.name, "bulk.123");
    assert_eq!(net.nodes[flow.from], "sender3");
    assert_eq!(net.nodes[flow.to], "receiver3");
    assert_eq!(flow.start, farlink_tcp::Interval::from_millis(123));
    let net = load(text("dumbbell-1000-pairs"), "", &[])
        .unwrap()
        .expand()
        .unwrap();
    assert_eq!(
        (net.nodes.len(), net.links.len(), net.flows.len()),
        (2002, 2001, 1000)
    );
    assert_eq!(net.nodes[net.flows[123].from], "sender123");
    assert_eq!(net.links[0].name, "left0");
}

#[test]
fn parameters_apply_to_flows_with_their_algorithm() {
    let text = GOOD.replace("[tcp]", "[tcp.control.cubic]\nbeta = 0.8\n\n[tcp]");
    for (variant, beta) in [("reno", None), ("cubic", Some(0.8))] {
        let set = [("tcp.variant".to_owned(), variant.to_owned())];
        let scenario = load(&text, "geo.toml", &set).unwrap();
        let control = scenario.expand().unwrap().flows[0]
            .sender
            .congestion
            .clone();
        assert_eq!(
            control.settings().any(|(p, _)| p.name == "beta"),
            beta.is_some()
        );
        if let Some(beta) = beta {
            assert_eq!(control.number("beta"), beta);
        }
        assert_eq!(load(&scenario.to_json(), "", &[]).unwrap(), scenario);
    }
}

#[test]
fn a_tcp_key_may_apply_to_one_flow_only() {
    let two = format!(
        "{}[[flows]]\nname = \"other\"\nfrom = \"server\"\nto = \"client\"\nsize = \"1 MB\"\ntcp = {{ \
         variant = \"cubic\" }}\n",
        GOOD.replace("variant = \"reno\"", "variant = \"reno\"\nrescue = false")
    );
    let net = load(&two, "", &[]).unwrap().expand().unwrap();
    let recovery = net.flows[1].sender.recovery;
    let expected = farlink_tcp::config::Recovery::Sack {
        rescue: false,
        prr: None,
        rack: None,
    };
    assert_eq!(recovery, expected);
}

#[test]
fn a_static_route_may_take_the_longer_path() {
    let text = GOOD.replace(
        "[[flows]]",
        "[[links]]\nbetween = [\"server\", \"moon\"]\npreset = \"lan\"\n[[links]]\nbetween = \
         [\"moon\", \"client\"]\npreset = \"lan\"\n[[routes]]\nat = \"server\"\nto = \
         \"client\"\nvia = \"moon\"\n[[flows]]",
    );
    let net = load(&text, "", &[]).unwrap().expand().unwrap();
    assert_eq!(net.routes, [(2, 1, 3)]);
}

#[test]
fn the_schema_describes_every_key() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let mut tables: Vec<_> = schema["$defs"].as_object().unwrap().values().collect();
    tables.push(&schema);
    let mut keys = 0;
    for table in tables {
        let Some(properties) = table["properties"].as_object() else {
            continue;
        };
        assert_eq!(table["additionalProperties"], false);
        for (key, property) in properties {
            assert!(
                property["description"].is_string(),
                "{key} is not described"
            );
            keys += 1;
        }
    }
    assert!(keys > 100, "only {keys} keys");
}

/// A table that an override writes is refused as its keys are, if the TCP cannot use it.
#[test]
fn an_override_of_resume_is_refused_for_a_tcp_that_cannot_resume() {
    let table = "{ cwnd = \"1 MB\", rtt = \"1 s\" }";
    for path in ["tcp.resume", "flows.0.tcp.resume"] {
        let message = fault(GOOD, &[("tcp.variant", "peach"), (path, table)]);
        assert!(
            message.contains("resume_cwnd would be ignored"),
            "{message}"
        );
        assert_eq!(
            fault(GOOD, &[("tcp.variant", "cubic"), (path, table)]),
            "no fault"
        );
    }
    let single = [
        ("tcp.variant", "peach"),
        ("tcp.resume.cwnd", "1 MB"),
        ("tcp.resume.rtt", "1 s"),
    ];
    assert!(fault(GOOD, &single).contains("resume_cwnd would be ignored"));
}

/// The override `default` removes a key that excludes another key. A link without a name can be
/// named by its nodes.
#[test]
fn an_override_removes_a_key_and_finds_a_link_by_its_nodes() {
    let text = GOOD.replace("[tcp]", "[tcp]\nack_every = 3");
    let text = if text.contains("[tcp]") {
        text
    } else {
        format!("[tcp]\nack_every = 3\n{GOOD}")
    };
    let off = [("tcp.delayed_ack", "off"), ("tcp.ack_every", "default")];
    let set = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|&(k, v)| (k.into(), v.into())).collect()
    };
    assert!(fault(&text, &off[..1]).contains("ack_every would be ignored"));
    assert!(load(&text, "geo.toml", &set(&off)).is_ok());
    assert_eq!(
        fault(&text, &[("tcp.ack_evry", "default")]),
        "override tcp.ack_evry=default: there is no tcp.ack_evry to take away: it is what it is by \
         default"
    );
    let text = "[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n";
    let loaded = load(
        text,
        "my/path.toml",
        &set(&[("links.a-b.down.delay", "7 ms")]),
    )
    .unwrap();
    assert_eq!(
        loaded.links[0]
            .down
            .as_ref()
            .unwrap()
            .delay
            .unwrap()
            .0
            .as_nanos(),
        7_000_000
    );
}

/// The TCP of a proxy's satellite half is not written in the scenario, so no profile of the ends
/// refuses it.
#[test]
fn a_proxy_without_a_tcp_of_its_own_takes_one_of_the_profile_of_the_ends() {
    for (profile, tcp) in [("rfc", "hybla"), ("linux", "hybla"), ("freebsd", "cubic")] {
        for own in ["", "satellite_tcp = { initial_window = 4 }\n"] {
            let text = format!(
                "[tcp]\nprofile = \"{profile}\"\n\
                 [[links]]\nname = \"satellite\"\nbetween = [\"a\", \"hub\"]\n\
                 down = {{ rate = \"1 Mbit/s\", delay = \"250 ms\" }}\n\
                 [[links]]\nbetween = [\"hub\", \"b\"]\n\
                 down = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n\
                 [[agents]]\nat = \"hub\"\nwireless = \"satellite\"\nkind = \"pep\"\n{own}\
                 [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n"
            );
            let net = load(&text, "", &[]).unwrap().expand().unwrap();
            let [far, _] = net.agents[0].tcp.as_ref().unwrap();
            assert!(
                format!("{far:?}").contains(&format!("congestion: {tcp} ")),
                "{profile}: {far:?}"
            );
        }
    }
}
