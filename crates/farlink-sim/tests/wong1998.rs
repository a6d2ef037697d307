//! The model of Wong 1998 against its closed forms, over whole runs, and losses of given packets on
//! links with and without a protocol.

use crate::common::{column, expand, metric, result};
use farlink_sim::{Monitor, Table, TraceOptions, frame_kinds, trace};

fn tables(text: &str) -> Vec<Table> {
    let traced = trace(
        &expand(text),
        0,
        &TraceOptions::default(),
        &Monitor::default(),
    );
    traced.unwrap_or_else(|e| panic!("{e}")).tables
}

/// Returns the radio link, which cuts packets into fragments of 128 bytes.
fn radio(channel: &str, arq: &str) -> String {
    format!(
        "[[links]]\nbetween = [\"base\", \"mobile\"]\n\
         down = {{ rate = \"19.2 kbit/s\", delay = \"0 s\", mtu = \"128 B\", fragments = \
         \"wong1998\", {channel} }}\n\
         up = {{ rate = \"19.2 kbit/s\", delay = \"0 s\" }}\n\
         arq = {{ {arq} }}\n"
    )
}

/// Section 3.3: 532 bytes in fragments of 108 bytes are 5 fragments. Without recovery by the link,
/// a segment arrives if all fragments do, so it is lost with 1 - (1 - PER)^5.
#[test]
fn a_segment_is_lost_with_any_of_its_five_fragments() {
    for per in [0.01_f64, 0.1, 0.3] {
        let text = radio(
            &format!("channel = {{ loss = {per} }}"),
            "protocol = \"none\"",
        ) + "[[flows]]\nfrom = \"base\"\nto = \"mobile\"\napp = \"cbr\"\nrate = \"10 kbit/s\"\n\
             packet = \"524 B\"\ndatagrams = 20000\ndont_fragment = false\n";
        let done = result(&text);
        assert_eq!(metric(&done, "links", 0, "frames_sent"), 100_000.0);
        let expected = 1.0 - (1.0 - per).powi(5);
        let error = (expected * (1.0 - expected) / 20_000.0).sqrt();
        let lost = metric(&done, "flows", 0, "loss_rate");
        assert!(
            (lost - expected).abs() < 4.0 * error,
            "{lost}, not {expected}"
        );
    }
}

/// Figures 5.8, 5.10 and 5.11: mean duration times periods per second is the loss of datagrams,
/// here one every 5 s. Over a time T, the share of a two-state process with rates a and b has the
/// variance 2 p (1 - p) / ((a + b) T).
#[test]
fn congestion_loses_the_share_in_the_figures() {
    const TIME: f64 = 5e6;
    for (duration, periods, expected) in
        [(25.0, 0.002, 0.05), (25.0, 0.0008, 0.02), (5.0, 0.01, 0.05)]
    {
        let text = format!(
            "max_duration = \"6000000 s\"\n[[links]]\nbetween = [\"fixed\", \"base\"]\n\
             down = {{ rate = \"10 Mbit/s\", delay = \"0 s\", channel = {{ congestion = {{ \
             duration = \"{duration} s\", periods = {periods} }} }} }}\n\
             [[flows]]\nfrom = \"fixed\"\nto = \"base\"\napp = \"cbr\"\nrate = \"160 bit/s\"\n\
             packet = \"100 B\"\nduration = \"{TIME} s\"\n"
        );
        let done = result(&text);
        assert_eq!(metric(&done, "flows", 0, "datagrams_sent"), TIME / 5.0);
        let ends = 1.0 / duration;
        let begins = periods / (1.0 - periods * duration);
        let error = (2.0 * expected * (1.0 - expected) / ((begins + ends) * TIME)).sqrt();
        let lost = metric(&done, "flows", 0, "loss_rate");
        assert!(
            (lost - expected).abs() < 4.0 * error,
            "{lost}, not {expected}"
        );
    }
}

/// Without loss a window of 8 segments keeps the radio link busy. 512 bytes of data take 5
/// fragments of 5056 bits in total, 5 headers of 48 bits, and 5 mean access delays of 10 ms. In
/// addition, RLP has a status frame of 64 bits every 0.2 s.
#[test]
fn throughput_without_loss_is_that_of_the_frames() {
    let bulk = "[tcp]\nvariant = \"reno\"\nmss = \"512 B\"\nreceive_window = \"4096 B\"\n\
                rto_tick = \"0 s\"\nrto_min = \"2 s\"\nrto_max = \"240 s\"\n\
                [[flows]]\nfrom = \"base\"\nto = \"mobile\"\napp = \"bulk\"\n\
                duration = \"4000 s\"\ndont_fragment = false\n";
    let mac = "mac = { access = \"exponential\", delay = \"10 ms\" }";
    let segment = (5056.0 + 5.0 * 48.0) / 19_200.0 + 5.0 * 0.010;
    let status = (64.0 / 19_200.0 + 0.010) / 0.2;
    for (protocol, expected) in [
        ("none", 4096.0 / segment),
        ("rlp", 4096.0 / segment * (1.0 - status)),
    ] {
        let arq = format!("protocol = \"{protocol}\", {mac}");
        let done = result(&(bulk.to_owned() + &radio("", &arq)));
        let got = metric(&done, "flows", 0, "goodput");
        // The mean of 60,000 access delays has a standard error whose fourfold is 0.25 % of the
        // time.
        assert!(
            (got / expected - 1.0).abs() < 0.005,
            "{got}, not {expected}"
        );
        assert_eq!(metric(&done, "flows", 0, "segments_retransmitted"), 0.0);
        // The delay is the window divided by the throughput, because a segment waits for the seven
        // before it.
        let delay = metric(&done, "flows", 0, "segment_delay_mean");
        assert!((delay - 8.0 * 4096.0 / expected).abs() < 0.3, "{delay}");
    }
}

/// Figure 4.18, with a return delay so long that the SREJ arrives while I(5) is being sent. I(1) is
/// lost, and again after the SREJ. T200 detects this, and I(2), I(3) and I(4) are retransmitted
/// without need.
#[test]
fn mdlp_retransmits_needlessly_after_a_frame_lost_twice() {
    let text = radio(
        "channel = { scripted_loss = { packets = [2, 7] } }",
        "protocol = \"mdlp\", t205 = \"20 ms\"",
    )
    .replace(
        "up = { rate = \"19.2 kbit/s\", delay = \"0 s\" }",
        "up = { rate = \"19.2 kbit/s\", delay = \"130 ms\" }",
    ) + "[[flows]]\nfrom = \"base\"\nto = \"mobile\"\napp = \"cbr\"\nrate = \"1 Gbit/s\"\n\
         packet = \"100 B\"\ndatagrams = 7\n\
         [[links]]\nbetween = [\"x\", \"y\"]\ndown = { rate = \"1 Mbit/s\", delay = \"0 s\" }\n\
         [[flows]]\nfrom = \"x\"\nto = \"y\"\napp = \"cbr\"\nrate = \"8 bit/s\"\npacket = \"8 B\"\n\
         datagrams = 2\n"; // The run lasts as long as this flow.
    let tables = tables(&text);
    let frames = |name| column(&tables, "frames", name);
    let [direction, kind, ns, nr, poll, lost] =
        ["direction", "frame", "ns", "nr", "poll", "lost"].map(frames);
    let sent = |way: u64| {
        let frames = (0..kind.len()).filter(|&i| direction[i] == way).map(|i| {
            let name = frame_kinds()[kind[i] as usize];
            let number = if name == "I" { ns[i] } else { nr[i] };
            let marks = ["", ",P"][poll[i] as usize].to_owned() + ["", " lost"][lost[i] as usize];
            format!("{name}({number}{marks})")
        });
        let mut frames: Vec<String> = frames.collect();
        frames.dedup(); // acknowledgments of one state
        frames.join(" ")
    };
    assert_eq!(
        sent(0),
        "I(0) I(1 lost) I(2) I(3) I(4) I(5) I(1 lost) I(6) I(6,P) I(1) I(2) I(3) I(4)"
    );
    assert_eq!(sent(1), "RR(1) SREJ(1) RR(1) RR(1,P) RR(7)");
    let done = result(&text);
    // The duplicates are I(6) with P, and the frames that the receiver held.
    assert_eq!(metric(&done, "links", 0, "frames_duplicate"), 4.0);
    assert_eq!(metric(&done, "flows", 0, "datagrams_lost"), 0.0);
}

/// Returns a transfer with the TCP of the study (table 3.6, sections 2.1 and 3.2.5) over a wired
/// link.
fn reno(channel: &str, size: &str) -> String {
    format!(
        "[tcp]\nvariant = \"reno\"\nmss = \"512 B\"\nreceive_window = \"4096 B\"\n\
         initial_window = 8\ntimer = \"jacobson\"\nrto_tick = \"0 s\"\nrto_round = \"500 ms\"\n\
         rto_srtt_initial = \"1 s\"\nrto_dev_initial = \"1 s\"\nrto_min = \"2 s\"\n\
         rto_max = \"240 s\"\nack_every = 1000\nack_gap_fill = \"delayed\"\n\
         cwnd_limit = \"receive-window\"\ncwnd_validation = false\nreduce_from = \"cwnd\"\n\
         [[links]]\nbetween = [\"fixed\", \"mobile\"]\n\
         down = {{ rate = \"1 Mbit/s\", delay = \"200 ms\", channel = {{ {channel} }} }}\n\
         up = {{ rate = \"1 Mbit/s\", delay = \"200 ms\" }}\n\
         [[flows]]\nfrom = \"fixed\"\nto = \"mobile\"\nsize = \"{size}\"\n"
    )
}

/// Figure 4.4: seven duplicate ACKs cause a retransmission of the first of eight segments, which is
/// lost too. The time-out repairs it, because a segment is fast-retransmitted only once.
#[test]
fn a_fast_retransmit_that_is_lost_ends_in_a_time_out() {
    let lost = "scripted_loss = { packets = [1, 9], min_size = \"500 B\" }";
    let done = result(&reno(lost, "4096 B"));
    for (name, expected) in [
        ("segments_sent", 10.0),
        ("segments_retransmitted", 2.0),
        ("fast_retransmits", 1.0),
        ("timeouts", 1.0),
        ("timeouts_repeated", 0.0),
        ("dup_acks", 7.0),
        ("segments_out_of_order", 7.0),
        ("segments_duplicate", 0.0),
    ] {
        assert_eq!(metric(&done, "flows", 0, name), expected, "{name}");
    }
}

/// Figure 4.3: of two consecutive lost segments, the fast retransmit repairs the first. Its ACK
/// waits for the delayed-ACK timer, and the second segment needs a time-out.
#[test]
fn the_second_of_two_lost_segments_needs_a_time_out() {
    let lost = "scripted_loss = { packets = [2, 3], min_size = \"500 B\" }";
    let text = reno(lost, "4096 B");
    let done = result(&text);
    for (name, expected) in [
        ("segments_sent", 10.0),
        ("fast_retransmits", 1.0),
        ("timeouts", 1.0),
        ("segments_out_of_order", 5.0),
    ] {
        assert_eq!(metric(&done, "flows", 0, name), expected, "{name}");
    }
    // The receiver's rows of `arrivals` are in order, except that 4 to 8 come before 2 and 3.
    let tables = tables(&text);
    let seq: Vec<u64> = column(&tables, "arrivals", "seq")
        .iter()
        .map(|seq| seq / 512 + 1)
        .collect();
    assert_eq!(seq, [1, 4, 5, 6, 7, 8, 2, 3]);
    let late = column(&tables, "arrivals", "out_of_order");
    assert_eq!(late, [0, 1, 1, 1, 1, 1, 0, 0]);
    // The ACK of segment 2 (40 bytes) arrives 0.2 s after the segment, plus the delay of the
    // direction back.
    let times = column(&tables, "arrivals", "time");
    let acks = column(&tables, "acks", "ack");
    let filled = acks.iter().position(|&ack| ack == 1024).expect("an ACK");
    let waited = column(&tables, "acks", "time")[filled] - times[6];
    assert_eq!(waited, 200_000_000 + 200_000_000 + 320_000);
}

/// Figure 4.5: without losses the window reaches the receive window of 4096 bytes and stays there.
#[test]
fn the_congestion_window_stays_at_the_receive_window() {
    let text = reno("", "100 kB").replace("initial_window = 8", "initial_window = 1");
    let tables = tables(&text);
    let side = column(&tables, "state", "side");
    let all = column(&tables, "state", "cwnd");
    let sender = all.into_iter().zip(side).filter(|row| row.1 == 0);
    let cwnd: Vec<u64> = sender.map(|row| row.0).collect();
    let full = cwnd.iter().position(|&cwnd| cwnd == 4096);
    assert!(cwnd[..full.expect("a full window")].is_sorted());
    assert!(cwnd.iter().all(|&cwnd| cwnd <= 4096) && cwnd.ends_with(&[4096; 40]));
}
