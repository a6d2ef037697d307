//! Tests of channel parameters: refused values, and derived values of accepted ones.

use farlink_channel::DropCause;
use farlink_link::Fate;
use farlink_tcp::{Instant, Interval, Priority};
use farlink_wire::LinkId;

use farlink_scenario::{Scenario, load};

const LINK: &str = "[[links]]\nbetween = [\"a\", \"b\"]\ndown = { rate = \"19.2 kbit/s\", delay = \
                    \"1 ms\", channel = CHANNEL }\n[[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \
                    \"1 kB\"\n";

/// Loads and builds a scenario with this rate and channel.
fn read(rate: &str, channel: &str) -> Result<Scenario, String> {
    let text = LINK
        .replace("19.2 kbit/s", rate)
        .replace("CHANNEL", channel);
    let scenario = load(&text, "x.toml", &[]);
    let scenario = scenario.map_err(|e| e.to_string())?;
    let expanded = scenario.expand().map_err(|e| e.to_string())?;
    super::build(&expanded, 0, &crate::Monitor::default()).map_err(|e| e.to_string())?;
    Ok(scenario)
}

/// Checks that each channel is refused with a message that begins with `x.toml:3:
/// links[0].down.channel.` and has the given ending.
pub(super) fn assert_messages(rate: &str, faults: &[(&str, &str)]) {
    for (channel, message) in faults {
        let got = read(rate, channel).unwrap_err();
        let wanted = format!("x.toml:3: links[0].down.channel.{message}");
        assert_eq!(got, wanted, "{channel}");
    }
}

/// Checks that the scenario JSON of each channel loads back unchanged.
pub(super) fn assert_loads_back(rate: &str, channels: &[&str]) {
    for channel in channels {
        let scenario = read(rate, channel).unwrap_or_else(|e| panic!("{channel}: {e}"));
        let again = load(&scenario.to_json(), "again", &[]).unwrap();
        assert_eq!(again.links, scenario.links, "{channel}");
    }
}

/// Refused channels, each with the end of the message.
const FAULTS: &[(&str, &str)] = &[
    (
        "{ satellite = { b = 0, g = 0, ber_rain = 1e-6 } }",
        "satellite.b = 0 with g = 0 never changes the state; write one of them above 0",
    ),
    (
        "{ satellite = { b = 0.01, g = 0.05 } }",
        "satellite has no \"ber_rain\"; write { b = 0.01, g = 0.05, ber_rain = 5e-6 } or { b = \
         0.01, g = 0.05, loss = 0.01, loss_size = \"554 B\" }",
    ),
    (
        "{ satellite = { b = 0.01, g = 0.05, loss = 0.3, loss_size = \"554 B\" } }",
        "satellite.loss = 0.3 cannot be reached: rain has b / (b + g) = 0.1667 of the packets, \
         and clear sky loses what ber_clear says; write a loss between the two",
    ),
    (
        "{ satellite = { b = 0.01, g = 0.05, ber_rain = 1e-6, loss = 0.1 } }",
        "satellite.loss would be ignored beside ber_rain; write { b = 0.01, g = 0.05, ber_rain = \
         5e-6 } or { b = 0.01, g = 0.05, loss = 0.01, loss_size = \"554 B\" }",
    ),
    (
        "{ mobile = { speed = \"75 km/h\" } }",
        "mobile has neither handoffs nor fades; write cell_radius, handoff_region and speed, or \
         carrier, fade_margin, loss_bad and speed",
    ),
    (
        "{ mobile = { cell_radius = \"2 km\", handoff_region = \"100 m\" } }",
        "mobile has no \"speed\"; write cell_radius = \"2 km\", handoff_region = \"100 m\" and \
         speed, or handoff_interval = \"140 s\" and handoff_duration = \"3.5 s\"",
    ),
    (
        "{ mobile = { speed = \"75 km/h\", carrier = \"850 MHz\", fade_margin = 30 } }",
        "mobile has no \"loss_bad\"; write loss_bad = 0.1 or ber_bad = 5e-5",
    ),
    (
        "{ mobile = { handoff_interval = \"140 s\", handoff_duration = \"3.5 s\", handoff_buffer = \
         \"8 KiB\" } }",
        "mobile.handoff_buffer would be ignored; it needs handoff = \"forward\"",
    ),
    (
        "{ mobile = { speed = \"75\", handoff_interval = \"140 s\", handoff_duration = \"3.5 s\" } }",
        "mobile.speed = \"75\" has no unit; write for example \"75 km/h\"",
    ),
    (
        "{ mobile = { speed = \"75 km/h\", handoff_interval = \"140 s\", handoff_duration = \"3.5 \
         s\" } }",
        "mobile.speed would be ignored; it needs cell_radius or carrier",
    ),
    (
        "{ mobile = { handoff_interval = \"140 s\", handoff_duration = \"3.5 s\", loss_bad = 0.1 } }",
        "mobile.loss_bad would be ignored without fades; write carrier = \"850 MHz\", fade_margin \
         = 30 and speed, or fade_interval = \"200 ms\" and fade_duration = \"5 ms\"",
    ),
    (
        "{ mobile = { speed = \"1 m/s\", carrier = \"850 MHz\", crossing_rate = 2, \
         crossing_duration = 0.5, loss_bad = 1 } }",
        "mobile.crossing_rate = 2 with crossing_duration = 0.5 leaves no time between fades; write \
         two numbers above 0 whose product is below 1",
    ),
    (
        "{ congestion = { duration = \"25 s\" } }",
        "congestion says too little; write { duration = \"25 s\", clear = \"475 s\" }, { duration \
         = \"25 s\", share = 0.05 } or { duration = \"25 s\", periods = 0.002 }",
    ),
    (
        "{ congestion = { duration = \"25 s\", periods = 0.04 } }",
        "congestion.periods = 0.04 is out of range; periods of \"25 s\" come less than 0.04 times \
         a second",
    ),
    (
        "{ congestion = { duration = \"0 s\", clear = \"1 s\" } }",
        "congestion.duration = \"0 s\" is out of range; write \"1 us\" to \"1000000000 s\"",
    ),
    (
        "{ byte_errors = { distance = \"0 B\" } }",
        "byte_errors.distance = \"0 B\" is out of range; write \"1 B\" to \"1048576 GiB\"",
    ),
    (
        "{ byte_errors = { distance = \"64 KiB\", burst = 0 } }",
        "byte_errors.burst = 0 is out of range; write 1 to 1000000",
    ),
    (
        "{ outage = { duration = \"5 s\", period = \"5 s\" } }",
        "outage.period = \"5 s\" is not above the duration, \"5 s\"",
    ),
    (
        "{ outage = { duration = \"0 s\" } }",
        "outage.duration = \"0 s\" is out of range; write \"1 ns\" to \"87600 h\"",
    ),
    (
        "{ scripted_loss = { packets = [] } }",
        "scripted_loss.packets = [] loses nothing; write numbers, [3, 7]",
    ),
    (
        "{ scripted_loss = { packets = [0, 3] } }",
        "scripted_loss.packets has a 0; the first packet is 1",
    ),
    (
        "{ scripted_loss = { packets = [3, 7, 7] } }",
        "scripted_loss.packets has 7 behind 7; write each number once, in order",
    ),
    (
        "{ scripted_loss = { packets = [3], min_size = \"1 MB\" } }",
        "scripted_loss.min_size = \"1 MB\" is longer than any packet; write at most \"65535 \
         B\"",
    ),
    (
        "{ internet_delay = { constant = \"10 ms\", mean = \"1 ms\", raised_share = 0.04 } }",
        "internet_delay.raised_share would be ignored; it needs raised = [{ weight = 1, mean = \
         \"100 ms\" }]",
    ),
    (
        "{ internet_delay = { constant = \"10 ms\", mean = \"1 ms\", order = 0 } }",
        "internet_delay.order = 0 is out of range; write 1 to 100",
    ),
    (
        "{ internet_delay = { constant = \"10 ms\", mean = \"1 ms\", raised_share = 0.5, \
         raised_run = 0.5, raised = [{ weight = 1, mean = \"5 ms\" }] } }",
        "internet_delay.raised_run = 0.5 is out of range; write 1 to 1e9 packets for a share of \
         0.5",
    ),
];

#[test]
fn bad_input_has_an_exact_message() {
    assert_messages("19.2 kbit/s", FAULTS);
}

const GOOD: &[&str] = &[
    "{ satellite = { b = 0.01, g = 0.05, ber_rain = 5e-6 } }",
    "{ satellite = { b = 0.01, g = 0.05, loss = 0.01, loss_size = \"554 B\", ber_clear = 1e-8 } }",
    "{ mobile = { speed = \"75 km/h\", cell_radius = \"2 km\", handoff_region = \"100 m\", carrier \
     = \"850 MHz\", fade_margin = 30, ber_bad = 5e-5 } }",
    "{ mobile = { speed = \"75 km/h\", carrier = \"850 MHz\", crossing_rate = 0.03, \
     crossing_duration = 0.03, loss_bad = 0.2, fade_rule = \"overlap\", shared = true } }",
    "{ mobile = { handoff_interval = \"140 s\", handoff_duration = \"3.5 s\", handoff = \
     \"forward\", handoff_buffer = \"8 KiB\" } }",
    "{ congestion = { duration = \"25 s\", periods = 0.002, shared = true } }",
    "{ congestion = { duration = \"100 ms\", share = 0.05, loss = 0.3, loss_clear = 0.001 } }",
    "{ byte_errors = { distance = \"64 KiB\", burst = 6 } }",
    "{ outage = { start = \"3 s\", duration = \"1 s\", period = \"9 s\", packets = \"hold\" } }",
    "{ scripted_loss = { packets = [3, 7], min_size = \"100 B\" } }",
    "{ internet_delay = { constant = \"10 ms\", mean = \"1 ms\", raised_share = \"4 %\", raised = [{ \
     weight = 0.75, mean = \"10 ms\" }, { weight = 0.25, mean = \"100 ms\" }] } }",
    "{ internet_delay = { constant = \"20 ms\", mean = \"10 ms\", keep_order = false } }",
];

#[test]
fn scenario_json_loads_back_unchanged() {
    assert_loads_back("19.2 kbit/s", GOOD);
}

#[test]
fn sharing_needs_the_same_on_both_sides() {
    let text = LINK.replace(
        "channel = CHANNEL }",
        "channel = { congestion = { duration = \"5 s\", share = 0.05, shared = true } } }\nup = { \
         rate = \"19.2 kbit/s\", delay = \"1 ms\" }",
    );
    let error = load(&text, "x.toml", &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "x.toml:3: links[0].down.channel.congestion.shared = true, but up has no such stage with \
         the same values; write it there too"
    );
}

/// Sends packets of `bytes` over the down direction every `millis` ms. Returns the lost shares by
/// cause.
fn realised(
    channel: &str,
    rate: &str,
    bytes: u32,
    millis: u64,
    packets: u64,
) -> Vec<(DropCause, f64)> {
    let text = LINK
        .replace("CHANNEL", channel)
        .replace("19.2 kbit/s", rate);
    let expanded = load(&text, "x.toml", &[]).unwrap().expand().unwrap();
    let mut world = super::build(&expanded, 0, &crate::Monitor::default()).unwrap();
    let link = &mut world.links[LinkId(0)];
    for i in 0..packets {
        link.offer(
            Instant::ZERO + Interval::from_millis(millis) * i,
            bytes,
            Priority::Normal,
        );
    }
    let drops = link.stats().drops;
    let lost = |&cause: &DropCause| (cause, drops[cause as usize] as f64 / packets as f64);
    let all = DropCause::ALL.iter().map(lost);
    all.filter(|(_, share)| *share > 0.0).collect()
}

#[track_caller]
fn loses(measured: &[(DropCause, f64)], expected: &[(DropCause, f64)], tolerance: f64) {
    assert_eq!(measured.len(), expected.len(), "{measured:?}");
    for ((cause, share), (other, want)) in measured.iter().zip(expected) {
        assert_eq!(cause, other);
        let off = (share / want - 1.0).abs();
        assert!(off < tolerance, "{measured:?} is not {expected:?}");
    }
}

/// The losses of links built from a scenario's text match the closed forms within about four
/// standard errors. The tests of each process have closer bounds.
#[test]
fn built_links_lose_the_shares_of_the_closed_forms() {
    let satellite = "{ satellite = { b = 0.01, g = 0.05, loss = 0.01, loss_size = \"554 B\" } }";
    let measured = realised(satellite, "1.544 Mbit/s", 554, 5, 400_000);
    loses(&measured, &[(DropCause::Fade, 0.01)], 0.08);

    // Leung 1998, section 5.4: 40 % of packets of 552 B are bad at 75 km/h.
    let fades = "{ mobile = { speed = \"75 km/h\", carrier = \"850 MHz\", fade_margin = 30, \
                 loss_bad = 0.2 } }";
    let measured = realised(fades, "19.2 kbit/s", 552, 230, 200_000);
    loses(&measured, &[(DropCause::Fade, 0.0795)], 0.04);
    // Handoffs cover 100 m of every 4.1 km.
    let cells =
        "{ mobile = { speed = \"75 km/h\", cell_radius = \"2 km\", handoff_region = \"100 m\" } }";
    let measured = realised(cells, "19.2 kbit/s", 552, 230, 2_000_000);
    loses(&measured, &[(DropCause::Handoff, 50.0 / 2050.0)], 0.12);

    let congestion = "{ congestion = { duration = \"5 s\", periods = 0.01 } }";
    let measured = realised(congestion, "19.2 kbit/s", 552, 1000, 1_000_000);
    loses(&measured, &[(DropCause::Congestion, 0.05)], 0.06);

    // An error in the 20 bytes of the IP header loses the packet. With another error the packet is
    // delivered corrupt.
    let errors = "{ byte_errors = { distance = \"64 KiB\" } }";
    let measured = realised(errors, "1 Mbit/s", 1500, 13, 1_000_000);
    let ip_header = 20.0 / 65_536.0;
    loses(&measured, &[(DropCause::BitError, ip_header)], 0.25);
}

#[test]
fn directions_share_periods_only_if_configured() {
    let lost = |shared: bool| {
        let channel =
            format!("{{ congestion = {{ duration = \"2 s\", share = 0.1, shared = {shared} }} }}");
        let text = LINK.replace("CHANNEL", &channel);
        let expanded = load(&text, "x.toml", &[]).unwrap().expand().unwrap();
        let mut world = super::build(&expanded, 0, &crate::Monitor::default()).unwrap();
        let mut lost = |link: u32, i: u64| {
            let now = Instant::ZERO + Interval::from_millis(100) * i;
            // Both transmitters send the packet at the same time.
            matches!(
                world.links[LinkId(link)].offer(now, 100, Priority::Normal),
                Fate::Lost { .. }
            )
        };
        let pairs: Vec<_> = (0..20_000).map(|i| (lost(0, i), lost(1, i))).collect();
        let apart = pairs.iter().filter(|(down, up)| down != up).count();
        let all = pairs.iter().filter(|(down, _)| *down).count();
        (apart, all)
    };
    let (apart, all) = lost(true);
    assert!(apart == 0 && all > 1000, "{apart} {all}");
    // With independent losses on the two links, 2 * 0.1 * 0.9 of the pairs differ.
    let (apart, _) = lost(false);
    assert!((2500..4700).contains(&apart), "{apart}");
}

#[test]
fn the_examples_of_the_channel_pages_load() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/channels");
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let pages = entries.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let page: String = pages
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let flow = &LINK[LINK.find("[[flows]]").unwrap()..];
    let mut observed = 0;
    let mut loads = |text: &str| {
        let scenario = load(text, "page", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        super::build(&scenario.expand().unwrap(), 0, &crate::Monitor::default()).unwrap();
        observed += 1;
    };
    for block in page.split("```toml\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let traces = ["file =", "rate_trace"]; // their files are not here
        if block.contains("[links.down.") && !traces.iter().any(|word| block.contains(word)) {
            let down = "[links.down]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"";
            let down = if block.contains("[links.down]\n") {
                ""
            } else {
                down
            };
            loads(&format!(
                "[[links]]\nbetween = [\"a\", \"b\"]\n{down}\n{block}\n{flow}"
            ));
        }
        for line in block.lines().filter_map(|l| l.strip_prefix("channel = ")) {
            let channel = line.split(" # ").next().unwrap();
            loads(&LINK.replace("CHANNEL", channel));
        }
    }
    assert_eq!(observed, 22);
}

#[test]
fn both_directions_have_background_traffic_without_up() {
    let text = LINK.replace(
        "channel = CHANNEL",
        "background = [{ load = \"10 kbit/s\" }]",
    );
    let scenario = load(&text, "x.toml", &[]).unwrap();
    let world = super::build(&scenario.expand().unwrap(), 0, &crate::Monitor::default()).unwrap();
    assert!(world.links.each().all(|(_, link)| link.has_background()));
}
