//! Receivers that join arriving segments, against closed forms.

use crate::common::{expand, metric, result_of};

/// Returns a metric of a file of 3000 segments, sent in one window over a link on which a segment
/// takes 1 ms.
fn run(tcp: &str, name: &str) -> f64 {
    let mss = if tcp.contains("mss") {
        ""
    } else {
        "mss = \"1460 B\"\n"
    };
    let scenario = expand(&format!(
        "[tcp]\nvariant = \"sack\"\n{mss}timestamps = false\ninitial_window = 3000\n\
         receive_window = \"100 MB\"\nsend_buffer = \"100 MB\"\n{tcp}\n[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"12 Mbit/s\", delay = \"100 ms\" }}\nup = {{ rate = \"12 Mbit/s\", delay = \"100 ms\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"file\"\nsize = \"4380 kB\"\n"
    ));
    metric(&result_of(&scenario, 0), "flows", 0, name)
}

/// Segments that arrive each s = 1 ms are joined for a time h from the first on, up to 64 KiB with
/// headers: min(floor(h / s) + 1, 44) segments of 1460 bytes have one ACK.
#[test]
fn acks_are_one_for_each_joined_packet() {
    let acks = |tcp: &str| run(tcp, "acks_sent");
    // Without data: the ACKs of handshake and FIN.
    let others = acks("ack_every = 1\ndelayed_ack = \"1 s\"") - 3000.0;
    assert!((0.0..=2.0).contains(&others), "{others}");
    for (hold, each) in [
        ("1.5 ms", 2),
        ("9.5 ms", 10),
        ("39.5 ms", 40),
        ("70 ms", 44),
    ] {
        for every in [1, 2] {
            // The window of the SYN-ACK is not scaled: 44 segments, and then all others.
            let joined = 44_u32.div_ceil(each) + 2956_u32.div_ceil(each);
            let expected = f64::from(joined) + others;
            let tcp = format!("gro = \"{hold}\"\ndelayed_ack = \"1 s\"\nack_every = {every}");
            assert_eq!(acks(&tcp), expected, "{hold} {every}");
        }
    }
    for every in [1, 2, 5] {
        let acks = |hold| acks(&format!("gro = \"{hold}\"\nack_every = {every}"));
        assert_eq!(acks("1 ns"), acks("off"), "{every}");
    }
}

/// The first of ten joined segments waits for 9.5 ms and the last for .5 ms, so the mean delay grows
/// by 5 ms.
#[test]
fn joined_segments_wait_for_the_last_one() {
    let delay = |tcp: &str| run(tcp, "segment_delay_mean");
    let (single, joined) = (delay(""), delay("gro = \"9.5 ms\"\ndelayed_ack = \"1 s\""));
    let wait = joined - single;
    assert!((wait - 0.005).abs() < 2e-5, "{wait}");
}

/// A receiver sends one ACK for the R segments that the sender requests (TARR). The request takes 8
/// bytes of a segment.
#[test]
fn acks_are_as_many_as_the_sender_requests() {
    let acks = |tcp: &str| run(&format!("delayed_ack = \"1 s\"\n{tcp}"), "acks_sent");
    for every in [1, 2, 10, 20, 40] {
        let requested = acks(&format!("mss = \"1468 B\"\nack_rate = {every}"));
        assert_eq!(requested, acks(&format!("ack_every = {every}")), "{every}");
        // The FIN may have an ACK of its own.
        assert!((0.0..=1.0).contains(&(requested - f64::from(3000 / every))));
    }
    assert_eq!(acks("ack_rate = \"follow\""), acks(""));
}

/// A lost segment is repaired as without joining, and the data arrives whole.
#[test]
fn losses_beside_joined_segments_are_repaired() {
    for hold in ["off", "1 ns", "5 ms", "300 ms"] {
        let scenario = expand(&format!(
            "[tcp]\nprofile = \"linux\"\ngro = \"{hold}\"\n[[links]]\nbetween = [\"a\", \"b\"]\n\
             down = {{ rate = \"10 Mbit/s\", delay = \"20 ms\", channel = {{ loss = 0.05 }} }}\n\
             up = {{ rate = \"10 Mbit/s\", delay = \"20 ms\", channel = {{ loss = 0.05 }} }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"file\"\nsize = \"1 MB\"\n"
        ));
        let done = result_of(&scenario, 0);
        assert_eq!(metric(&done, "flows", 0, "bytes_delivered"), 1e6, "{hold}");
        let time = metric(&done, "flows", 0, "duration");
        assert!(time < 200.0, "{hold}: {time}");
    }
}
