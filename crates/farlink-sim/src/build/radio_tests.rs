//! Tests of traces, fading, radios and orbits: refused parameters, and values derived from accepted
//! ones.

use super::channel_tests::{assert_loads_back, assert_messages};

/// Refused channels, each with the end of the message.
const FAULTS: &[(&str, &str)] = &[
    (
        "{ rayleigh = { fade_margin = 20, step = \"2 ms\" } }",
        "rayleigh has no speed; write speed = \"0.65 m/s\" and carrier = \"2.4 GHz\", or doppler \
         = 5.2 (Hz)",
    ),
    (
        "{ rayleigh = { speed = \"1 m/s\", loss = 0.01 } }",
        "rayleigh has no \"carrier\"; write speed = \"0.65 m/s\" and carrier = \"2.4 GHz\", or \
         doppler = 5.2 (Hz)",
    ),
    (
        "{ rayleigh = { doppler = 5, step = \"2 ms\" } }",
        "rayleigh has no \"fade_margin\"; write fade_margin = 20 (dB), or loss = 0.01",
    ),
    (
        "{ rayleigh = { doppler = 5, loss = 0.01 } }",
        "rayleigh has no \"step\"; write the time that a packet takes, for example step = \"1.92 \
         ms\"",
    ),
    (
        "{ rayleigh = { doppler = 5, loss = 0.01, model = \"jakes\", step = \"2 ms\" } }",
        "rayleigh.step would be ignored; it is of model = \"markov\"",
    ),
    (
        "{ rayleigh = { doppler = 5, loss = 0.01, step = \"2 ms\", sinusoids = 9 } }",
        "rayleigh.sinusoids would be ignored; it needs model = \"jakes\"",
    ),
    (
        "{ rayleigh = { doppler = 5, loss = 1.0, step = \"2 ms\" } }",
        "rayleigh.loss = 1 is out of range; write above 0 and below 1",
    ),
    (
        "{ rayleigh = { doppler = 5, loss = 0.1, alpha = 0.1, beta = 0.1, step = \"2 ms\" } }",
        "rayleigh.doppler would be ignored beside alpha and beta",
    ),
    (
        "{ rayleigh = { doppler = 5, loss = 0.1, step = \"2 ms\", advance = \"packet\", shared = \
         true } }",
        "rayleigh.shared = true needs times; it cannot be with advance = \"packet\"",
    ),
    (
        "{ radio = { band = \"2400 MHz\" } }",
        "radio has no distance; write distance = \"15 m\", or mobility = { model = \
         \"random-waypoint\", area = [\"200 m\", \"200 m\"], speed = [\"0.5 m/s\", \"5 m/s\"] }",
    ),
    (
        "{ radio = { band = \"433 MHz\", distance = \"5 m\" } }",
        "radio.band = \"433 MHz\" is unknown; the choices are \"868 MHz\", \"915 MHz\", \"2400 MHz\"",
    ),
    (
        "{ radio = { band = \"2400 MHz\", distance = \"5 m\", power = 200 } }",
        "radio.power = 200 is out of range; write -100 to 100 (dBm)",
    ),
    (
        "{ radio = { band = \"868 MHz\", distance = \"5 m\", path_loss = \"ieee802.15.4\" } }",
        "radio.path_loss = \"ieee802.15.4\" is for band = \"2400 MHz\"; write \"friis\" or \
         \"log-distance\"",
    ),
    (
        "{ radio = { band = \"868 MHz\", mobility = { model = \"random-walk\", area = [\"9 m\", \"9 \
         m\"], speed = [\"1 m/s\", \"2 m/s\"] } } }",
        "radio.mobility has no \"leg\"; write for example leg = [\"5 s\", \"30 s\"]",
    ),
    (
        "{ radio = { band = \"868 MHz\", mobility = { model = \"random-trip\", area = [\"9 m\", \"9 \
         m\"], speed = [\"1 m/s\", \"2 m/s\"], memory = 0.5 } } }",
        "radio.mobility.memory would be ignored; it needs model = \"gauss-markov\"",
    ),
    (
        "{ radio = { band = \"868 MHz\", mobility = { model = \"random-trip\", area = [\"9 m\", \"9 \
         m\"], speed = [\"3 m/s\", \"2 m/s\"] } } }",
        "radio.mobility.speed goes from \"3 m/s\" to \"2 m/s\"; write the smaller first",
    ),
    (
        "{ orbit = { altitude = \"50 km\", min_elevation = 25 } }",
        "orbit.altitude = \"50 km\" is out of range; write \"100 km\" to \"100000 km\"",
    ),
    (
        "{ orbit = { altitude = \"550 km\", min_elevation = 25, max_elevation = 20 } }",
        "orbit.max_elevation = 20 is not above min_elevation, 25; a pass would have no time",
    ),
    (
        "{ orbit = { altitude = \"40000 km\", min_elevation = 25, inclination = 0 } }",
        "orbit.altitude leaves a satellite in sight for a day or for ever; use a lower altitude, \
         or the plain delay of a GEO link",
    ),
    (
        "{ orbit = { altitude = \"550 km\", min_elevation = 25, handover = \"hold\" } }",
        "orbit.handover would be ignored; it needs handover_time",
    ),
    (
        "{ reconfiguration = { delay = [\"9 ms\", \"5 ms\"] } }",
        "reconfiguration.delay goes from \"9 ms\" to \"5 ms\"; write the smaller first",
    ),
    (
        "{ reconfiguration = { delay = [\"5 ms\", \"9 ms\"], interruption_time = \"20 s\" } }",
        "reconfiguration.interruption_time = \"20 s\" is not below the interval, \"15 s\"",
    ),
    (
        "{ loss_trace = { file = \"x.csv\" } }",
        "loss_trace.file = \"x.csv\" cannot be read: a scenario loaded from text alone has no \
         files",
    ),
    (
        "{ delay_trace = { data = \"time (s),delay (s)\\n0,1\\n5,7200\\n\" } }",
        "delay_trace from \"data\": a delay of \"2 h\" is out of range; write at most \"1 h\"",
    ),
];

#[test]
fn bad_input_has_an_exact_message() {
    assert_messages("250 kbit/s", FAULTS);
}

const GOOD: &[&str] = &[
    "{ rayleigh = { speed = \"0.65 m/s\", carrier = \"2.4 GHz\", loss = 0.01, step = \"1.92 ms\" } }",
    "{ rayleigh = { doppler = 5.2, fade_margin = 20, step = \"1.92 ms\", exposure = \"10 ms\", \
     shared = true } }",
    "{ rayleigh = { doppler = 5.2, fade_margin = 20, model = \"jakes\" } }",
    "{ rayleigh = { alpha = 0.059646, beta = 0.988166, advance = \"packet\" } }",
    "{ radio = { band = \"915 MHz\", distance = \"15 m\", modulation = \"o-qpsk\", fading = \
     \"packets\", noise = \"vatne2006\", correctable_bits = 3 } }",
    "{ radio = { band = \"2400 MHz\", mobility = { model = \"vatne2006\", area = [\"200 m\", \"200 \
     m\"], speed = [\"0.5 m/s\", \"5 m/s\"], step = \"1 s\", leg = [\"5 s\", \"30 s\"], pause = [\"0 \
     s\", \"10 s\"], turning = 1.5 } } }",
    "{ radio = { band = \"2400 MHz\", mobility = { model = \"gauss-markov\", area = [\"200 m\", \"200 \
     m\"], step = \"1 s\", memory = 0.8, mean_speed = \"3 m/s\", speed_deviation = \"0.5 m/s\", \
     angle_deviation = 0.4, moves = \"one\" } } }",
    "{ orbit = { altitude = \"550 km\", min_elevation = 25, inclination = 53, handover_time = \"60 \
     ms\", handover = \"hold\" }, reconfiguration = { delay = [\"0 s\", \"20 ms\"], \
     interruption_time = \"50 ms\" } }",
    "{ orbit = { altitude = \"8063 km\", min_elevation = 5, hops = 4 } }",
    "{ delay_trace = { data = \"time (s),delay (ms)\\n0,10\\n5,20\\n\", interpolate = true, repeat = \
     true, random_offset = true } }",
    "{ loss_trace = { data = \"time (s),loss (%)\\n0,10\\n\" } }",
];

#[test]
fn scenario_json_loads_back_unchanged() {
    assert_loads_back("250 kbit/s", GOOD);
}
