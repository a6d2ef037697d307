//! CSMA/CA and slotted ALOHA on a link with a protocol, over whole runs.

use crate::common::{metric, result};
use farlink_sim::scenario;

/// Builds a radio link that is always busy: frames of 134 bytes, 55.8333 ms.
fn radio(protocol: &str, mac: &str) -> String {
    format!(
        "[tcp]\nvariant = \"reno\"\nmss = \"88 B\"\nreceive_window = \"4096 B\"\n\
         [[links]]\nbetween = [\"bs\", \"mh\"]\n\
         down = {{ rate = \"19.2 kbit/s\", delay = \"0 s\" }}\n\
         arq = {{ protocol = \"{protocol}\", mac = {{ {mac} }} }}\n\
         [[flows]]\nfrom = \"bs\"\nto = \"mh\"\napp = \"bulk\"\nduration = \"2000 s\"\n"
    )
}

/// A frame takes a slot of 60 ms. After a collision it waits for a mean of 3.5 more slots, and is
/// sent again, e^G times in total, until no other station sends.
#[test]
fn aloha_reaches_the_goodput_at_its_load() {
    let mac =
        "access = \"aloha\", slot = \"60 ms\", load = 0.5, attempts = 1000, direction = \"down\"";
    let done = result(&radio("none", mac));
    let got = metric(&done, "flows", 0, "goodput");
    let again = 0.5_f64.exp() - 1.0;
    let expected = 88.0 * 8.0 / (0.060 + again * 4.5 * 0.060);
    // The times of 8500 frames have a deviation of about 1.5 of their mean.
    let error = 4.0 * 1.5 / (2000.0 * expected / 704.0).sqrt();
    assert!(
        (got / expected - 1.0).abs() < error,
        "{got}, not {expected}"
    );
    // The transmitter also sends the frames that collide: e^G frames for each that is received.
    let air = metric(&done, "links", 0, "utilisation");
    let expected = got / 704.0 * 0.5_f64.exp() * 134.0 * 8.0 / 19_200.0;
    assert!((air / expected - 1.0).abs() < 0.05, "{air}, not {expected}");
    assert_eq!(metric(&done, "links", 0, "access_failures"), 0.0);
}

#[test]
fn a_busy_channel_gives_frames_up_and_the_protocol_repairs_it() {
    let mac = "access = \"csma-ca\", busy = 0.5, max_backoffs = 1";
    let plain = result(&radio("none", mac));
    let of = |name| metric(&plain, "links", 0, name);
    let (failed, sent) = (of("access_failures"), of("frames_sent"));
    assert_eq!(of("drops_link_give_up"), failed);
    assert_eq!((of("frames_lost"), of("drops")), (0.0, failed));
    let error = 4.0 * (0.25_f64 * 0.75 / sent).sqrt();
    assert!((failed / sent - 0.25).abs() < error, "{failed} of {sent}");
    for protocol in ["lapb", "mdlp", "rlp"] {
        let done = result(&radio(protocol, mac));
        for link in [0, 1] {
            assert!(metric(&done, "links", link, "access_failures") > 100.0);
            assert_eq!(metric(&done, "links", link, "drops"), 0.0, "{protocol}");
        }
        let goodput = metric(&done, "flows", 0, "goodput");
        assert!(
            goodput > metric(&plain, "flows", 0, "goodput"),
            "{protocol}"
        );
    }
}

#[test]
fn stations_that_are_few_collide_less() {
    let of = |more: &str| {
        let mac = format!("access = \"aloha\", slot = \"60 ms\", load = 1, attempts = 1000{more}");
        metric(&result(&radio("none", &mac)), "flows", 0, "goodput")
    };
    let [two, many] = [", stations = 2", ""].map(of);
    // Tries succeed with probability 1/4 for two stations, and 1/e for infinitely many.
    assert!(many > 1.2 * two, "{many} and {two}");
}

#[test]
fn impossible_scenarios_are_rejected() {
    let cases = [
        (
            "access = \"csma-ca\"",
            " has neither \"busy\" nor \"load\"; write for example busy = 0.3",
        ),
        (
            "access = \"csma-ca\", busy = 0.3, load = 0.2",
            ".load would be ignored beside busy; write one of them",
        ),
        (
            "access = \"csma-ca\", busy = 0.3, slot = \"1 ms\"",
            ".slot would be ignored; it needs access = \"aloha\"",
        ),
        (
            "access = \"csma-ca\", busy = 0.3, min_be = 9",
            ".min_be = 9 is out of range; write 0 to 8",
        ),
        (
            "access = \"csma-ca\", busy = 0.3, min_be = 4, max_be = 3",
            ".max_be = 3 is out of range; write 4 to 8",
        ),
        (
            "access = \"csma-ca\", busy = 0.3, max_backoffs = 6",
            ".max_backoffs = 6 is out of range; write 0 to 5",
        ),
        (
            "access = \"csma-ca\", busy = 0.3, symbol = \"0 s\"",
            ".symbol = \"0 s\" is out of range; write \"1 us\" to \"1 h\"",
        ),
        (
            "access = \"aloha\", load = 0.3",
            " has no \"slot\"; write for example slot = \"60 ms\"",
        ),
        (
            "access = \"aloha\", slot = \"60 ms\"",
            " has no \"load\"; write for example load = 0.3",
        ),
        (
            "access = \"aloha\", slot = \"60 ms\", load = -1",
            ".load = -1 is out of range; write 0 to 100",
        ),
        (
            "access = \"aloha\", slot = \"60 ms\", load = 3, stations = 2",
            ".load = 3 is out of range; write at most 2, one frame at a time of each of the \
             stations",
        ),
        (
            "access = \"aloha\", slot = \"60 ms\", load = 1, attempts = 0",
            ".attempts = 0 is out of range; write 1 to 1000",
        ),
        (
            "access = \"aloha\", slot = \"60 ms\", load = 1, backoff = 0",
            ".backoff = 0 is out of range; write 1 to 65536",
        ),
        (
            "access = \"constant\", delay = \"1 ms\", busy = 0.5",
            ".busy would be ignored; it needs access = \"csma-ca\"",
        ),
    ];
    for (mac, message) in cases {
        let error = scenario::load(&radio("rlp", mac), "test", &[]).expect_err(mac);
        let expected = format!("test:8: links[0].arq.mac{message}");
        assert_eq!(error.to_string(), expected, "{mac}");
    }
    for mac in [
        "access = \"csma-ca\", load = 0.3, stations = 5",
        "access = \"csma-ca\", busy = 0.3, min_be = 6",
        "access = \"aloha\", load = 0.3, slot = \"1 ms\"",
    ] {
        let scenario = scenario::load(&radio("rlp", mac), "x.toml", &[]).unwrap();
        let again = scenario::load(&scenario.to_json(), "x.json", &[]).unwrap();
        assert_eq!(again, scenario);
    }
}
