//! Invalid channels, each with the exact message.

use super::tests::{GOOD, fault};

/// Channel of the direction down, and the end of the message after its path.
const CHANNEL_FAULTS: &[(&str, &str)] = &[
    (
        "{ loss = 2 }",
        ".loss = 2 is not a probability; write a number from 0 to 1, or a text such as \"2.5 %\"",
    ),
    (
        "{ correctable_bits = 1 }",
        ".correctable_bits would be ignored; it needs ber",
    ),
    (
        "{ gilbert = { loss = 0.05 } }",
        ".gilbert has no \"burst\"; write { loss = 0.05, burst = 4 } or { p = 0.01, r = 0.25 }",
    ),
    (
        "{ gilbert = { p = 0.1, r = 0.2, burst = 4 } }",
        ".gilbert.p would be ignored beside loss and burst; write { loss = 0.05, burst = 4 } or { p \
         = 0.01, r = 0.25 }",
    ),
    (
        "{ gilbert = {} }",
        ".gilbert says too little; write { loss = 0.05, burst = 4 } or { p = 0.01, r = 0.25 }",
    ),
    (
        "{ gilbert = { loss = 0.9, burst = 2 } }",
        ".gilbert.loss = 0.9 cannot be reached with bursts of 2 packets; write at most 0.6666, or \
         longer bursts",
    ),
    (
        "{ gilbert = { loss = 0.1, burst = 0.5 } }",
        ".gilbert.burst = 0.5 is out of range; write 1 to 1e9 packets",
    ),
    (
        "{ gilbert = { loss = 0.1, burst = \"16.7\" } }",
        ".gilbert.burst = \"16.7\" is no length of a burst; write packets, 4, or a time, \"16.7 ms\"",
    ),
    (
        "{ gilbert = { loss = 0.1, burst = \"0 s\" } }",
        ".gilbert.burst = \"0 s\" is no burst; write a time, \"16.7 ms\"",
    ),
    (
        "{ gilbert = { loss = 0.1, burst = \"2 h\" } }",
        ".gilbert.burst = \"2 h\" is out of range; write at most \"1 h\"",
    ),
    (
        "{ gilbert = { loss = 1, burst = \"1 s\" } }",
        ".gilbert.loss = 1 leaves no time between bursts; write a loss below 1",
    ),
    (
        "{ gilbert = { p = 0, r = 0 } }",
        ".gilbert.p = 0 with r = 0 never changes the state; write one of them above 0",
    ),
    (
        "{ jitter = { distribution = \"exponential\", mean = \"5 ms\", spread = \"1 ms\" } }",
        ".jitter.spread would be ignored; the mean of an exponential distribution is its spread",
    ),
    (
        "{ jitter = { distribution = \"uniform\", mean = \"5 ms\", spread = \"6 ms\" } }",
        ".jitter.spread = \"6 ms\" is above the mean, \"5 ms\"; a delay is not negative",
    ),
    (
        "{ jitter = { distribution = \"normal\", mean = \"5 ms\" } }",
        ".jitter has no \"spread\"; write for example spread = \"5 ms\"",
    ),
    (
        "{ jitter = { distribution = \"pareto\", mean = \"5 ms\" } }",
        ".jitter.distribution = \"pareto\" is unknown; the choices are \"uniform\", \"normal\", \
         \"exponential\"",
    ),
    (
        "{ reorder = { probability = 0.1 } }",
        ".reorder has no \"delay\"; write for example delay = \"250 ms\"",
    ),
    (
        "[{ loss = 0.1 }, { correctable_bits = 2 }]",
        "[1].correctable_bits would be ignored; it needs ber",
    ),
    (
        "\"lossy\"",
        " = \"lossy\" is wrong; write a table such as { ber = 1e-6 }, or a list of such tables",
    ),
];

#[test]
fn bad_channel_has_an_exact_message() {
    let mut wrong = Vec::new();
    for (channel, message) in CHANNEL_FAULTS {
        let queue = "queue = { packets = 100 }";
        let got = fault(
            &GOOD.replacen(queue, &format!("channel = {channel}"), 1),
            &[],
        );
        let message = format!("geo.toml:14: links[0].down.channel{message}");
        if got != message {
            wrong.push(format!("{channel}\n  got  {got}\n  want {message}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
