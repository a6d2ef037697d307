//! Block codes on links, over whole runs.

use crate::common::{expand, metric, result};
use farlink_channel::fec::BlockCode;
use farlink_channel::rng::Probability;
use farlink_sim::{Asked, sample_channel};
use serde_json::Value;

const RS: &str = "fec = { code = \"rs(255,223)\" }";

fn rs() -> BlockCode {
    BlockCode::new(255, 223, 8, 16).expect("a code")
}

fn loss(bytes: u32, ber: f64) -> f64 {
    rs().packet_loss(bytes, Probability::new(ber).expect("a probability"))
}

/// Returns the radio link of Wong 1998 after a wired link, with frames of 134 bytes.
fn radio(ber: f64, fec: &str, arq: &str) -> String {
    format!(
        "[tcp]\nvariant = \"reno\"\nmss = \"88 B\"\nreceive_window = \"4096 B\"\n\
         [[links]]\nbetween = [\"fh\", \"bs\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"20 ms\" }}\n\
         [[links]]\nbetween = [\"bs\", \"mh\"]\n\
         down = {{ rate = \"19.2 kbit/s\", delay = \"0 s\", channel = {{ ber = {ber} }}{fec} }}\n\
         arq = {{ protocol = \"{arq}\" }}\n\
         [[flows]]\nfrom = \"fh\"\nto = \"mh\"\napp = \"bulk\"\nduration = \"2000 s\"\n"
    )
}

fn coded(ber: f64, arq: &str) -> Value {
    result(&radio(ber, &format!(", {RS}"), arq))
}

fn plain(ber: f64) -> String {
    format!(
        "[tcp]\nvariant = \"sack\"\nmss = \"1460 B\"\ntimestamps = false\n\
         [[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"1 Mbit/s\", delay = \"10 ms\", channel = {{ ber = {ber} }}, {RS} }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"400 s\"\n"
    )
}

#[test]
fn check_symbols_take_their_share_of_the_rate() {
    // 1500 bytes are 7 blocks, so 1500 + 7 * 32 bytes are on the wire.
    let got = metric(&result(&plain(0.0)), "flows", 0, "goodput");
    let wanted = 1e6 * 1460.0 / 1724.0;
    assert!((got / wanted - 1.0).abs() < 0.002, "{got}, not {wanted}");
    // Frames of 134 bytes are one block of 166 bytes.
    let got = metric(&coded(0.0, "lapb"), "flows", 0, "goodput");
    let wanted = 19_200.0 * 88.0 / 166.0;
    assert!((got / wanted - 1.0).abs() < 0.01, "{got}, not {wanted}");
}

#[test]
fn a_sample_has_the_code_in_closed_form_loss_and_time() {
    let scenario = expand(&plain(6e-3));
    let requested = Asked {
        link: "a-b",
        down: true,
        packets: 1_000_000,
        bytes: 1500,
        spacing: None,
    };
    let sample = sample_channel(&scenario, requested, 0).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(sample.sampling.spacing.as_nanos(), 1724 * 8 * 1000);
    let expected = loss(1500, 6e-3);
    assert_eq!(sample.theory.loss, Some(expected));
    let of = |name: &str| sample.derived.iter().find(|(_, item)| item.name == name);
    let value = |name: &str| of(name).map(|(_, item)| item.value);
    assert_eq!(value("code_rate"), Some(223.0 / 255.0));
    assert_eq!(value("packet_loss_1500_B"), Some(expected));
    let block = value("block_loss").expect("a block");
    assert!(block < expected && 7.0 * block > expected, "{block}");
}

#[test]
fn a_code_saves_the_link_protocol_from_most_losses() {
    // Two of three frames have a wrong bit in 1072 bits. No frame has 17 wrong symbols of 166.
    let bare = result(&radio(1e-3, "", "rlp"));
    let both = coded(1e-3, "rlp");
    assert!(metric(&bare, "links", 2, "frames_retransmitted") > 1000.0);
    assert_eq!(metric(&both, "links", 2, "frames_lost"), 0.0);
    let goodputs = [&bare, &both].map(|done| metric(done, "flows", 0, "goodput"));
    assert!(goodputs[1] > 1.5 * goodputs[0], "{goodputs:?}");
}

#[test]
fn arq_repairs_losses_that_the_code_leaves() {
    let ber = 1e-2;
    let frame = loss(134, ber);
    assert!((0.05..0.3).contains(&frame), "{frame}");
    for protocol in ["lapb", "mdlp", "rlp"] {
        let both = coded(ber, protocol);
        let [sent, lost] =
            ["frames_sent", "frames_lost"].map(|name| metric(&both, "links", 2, name));
        // Supervisory frames have 16 correctable symbols for at most 40, so none is lost.
        let error = (frame * (1.0 - frame) / sent).sqrt();
        assert!(
            (lost / sent - frame).abs() < 4.0 * error,
            "{protocol}: {lost} of {sent}, not {frame}"
        );
        assert_eq!(metric(&both, "links", 2, "drops"), 0.0, "{protocol}");
        assert!(metric(&both, "links", 2, "frames_retransmitted") >= lost - 15.0);
        let alone = coded(ber, "none");
        let goodputs = [&alone, &both].map(|done| metric(done, "flows", 0, "goodput"));
        assert!(goodputs[1] > 1.3 * goodputs[0], "{protocol}: {goodputs:?}");
        assert!(metric(&alone, "links", 2, "drops_bit_error") > 0.0);
    }
}
