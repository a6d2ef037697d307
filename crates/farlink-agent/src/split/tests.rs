use super::super::bed::{FIXED, Faults, MOBILE, TestBed, format_segment};
use super::*;
use farlink_tcp::{CloseReason, variant};
use proptest::prelude::*;

fn tcp(name: &str) -> Config {
    (variant::lookup(name).unwrap().config)()
}

pub(super) fn settings() -> Settings {
    let half = |name| {
        Arc::new(Config {
            send_buffer: 64 << 10,
            ..tcp(name)
        })
    };
    Settings {
        tcp: [half("sack"), half("reno")],
        tcp6: [half("sack"), half("reno")],
        early: true,
        linger: None,
        stack_delay: Interval::ZERO,
        limits: Limits::default(),
        far: None,
    }
}

fn bed(settings: Settings, bytes: [u64; 2], real: bool) -> TestBed<Split> {
    TestBed::new(Split::new(settings), &Arc::new(tcp("sack")), bytes, real)
}

pub(super) fn at(ms: u64) -> Instant {
    Instant::ZERO + Interval::from_millis(ms)
}

pub(super) fn counter(agent: &Split, name: &str) -> u64 {
    let counters = agent.counters(at(LONG));
    counters.iter().find(|(n, _)| *n == name).unwrap().1 as u64
}

const LONG: u64 = 3_600_000;

/// Data in both directions, with early and late answers to the SYN, simulated and raw: all data
/// arrives, both ends close, and no state is left.
#[test]
fn all_data_arrives_in_both_directions() {
    for (early, real) in [(true, true), (true, false), (false, true), (false, false)] {
        let settings = Settings {
            early,
            ..settings()
        };
        let mut bed = bed(settings, [300_000, 700_001], real);
        bed.run(at(LONG));
        assert!(bed.is_done(), "early {early} real {real}");
        let closed = [MOBILE, FIXED].map(|end| bed.ends[end].closed);
        assert_eq!(closed, [Some(CloseReason::Done); 2]);
        assert!(bed.agent.relays.is_empty() && bed.agent.timers.is_empty());
        let names = [
            "connections",
            "connections_failed",
            "bytes_lost",
            "bytes_unconfirmed",
            "wired_retransmissions",
        ];
        let counts = names.map(|name| counter(&bed.agent, name));
        assert_eq!(counts, [1, 0, 0, 0, 0]);
        assert!(counter(&bed.agent, "bytes_held_max") > 10_000);
        // Each byte has the same sequence number on both sides.
        let first = |segments: &[(Instant, usize, Segment)], end: usize| {
            let syn = segments.iter().find(|(_, to, _)| *to == end);
            syn.unwrap().2.seq
        };
        assert_eq!(first(&bed.arrived, FIXED), first(&bed.left, MOBILE));
    }
}

/// With `early` the agent answers the SYN 20 ms after it was sent, and sends a SYN to the other end
/// at once. Otherwise it answers after the other end has answered, with that end's number.
#[test]
fn syn_is_answered_early_or_after_the_other_end() {
    for (early, answered) in [(true, 10), (false, 30)] {
        let settings = Settings {
            early,
            ..settings()
        };
        let mut bed = bed(settings, [0, 1000], false);
        bed.run(at(LONG));
        let syn = bed.left.iter().find(|(_, to, _)| *to == MOBILE).unwrap();
        assert_eq!((syn.0, syn.2.flags), (at(10), Flags::SYN));
        let answer = bed.left.iter().find(|(_, to, _)| *to == FIXED).unwrap();
        assert_eq!(answer.0, at(answered));
        assert!(answer.2.flags.has(Flags::SYN.with(Flags::ACK)));
        assert_eq!(answer.2.seq == Seq(0xffff_f000), !early);
    }
}

/// An end that reads no data closes the window of its half. The buffer fills up, and then the
/// window of the other half closes. The agent holds at most the buffer and a window.
#[test]
fn a_slow_reader_stops_the_sender() {
    let mut bed = bed(settings(), [0, 1_000_000], true);
    bed.ends[MOBILE].reads = 0;
    bed.run(at(20_000));
    let held = counter(&bed.agent, "bytes_held_max");
    let window = u64::from(u16::MAX);
    assert!((64 << 10..=(64 << 10) + window).contains(&held), "{held}");
    let last = bed.left.iter().rfind(|(_, to, _)| *to == FIXED).unwrap();
    assert!(u32::from(last.2.window) < 1460, "{:?}", last.2);
    bed.ends[MOBILE].reads = u64::MAX;
    bed.serve();
    bed.run(at(LONG));
    assert!(bed.is_done());
}

/// A reset from either end resets the other. Data acknowledged to the sender that did not arrive is
/// counted to the byte.
#[test]
fn a_reset_ends_both_halves_and_counts_what_is_lost() {
    for who in [MOBILE, FIXED] {
        let mut bed = bed(settings(), [0, 10_000_000], false);
        bed.run(at(1000));
        let now = bed.now;
        bed.ends[who].connection.abort(now);
        bed.serve();
        bed.run(at(LONG));
        assert_eq!(bed.ends[1 - who].closed, Some(CloseReason::Reset));
        assert!(bed.agent.relays.is_empty());
        assert_eq!(counter(&bed.agent, "connections_failed"), 1);
        let lost = counter(&bed.agent, "bytes_lost");
        let acked = bed.ends[FIXED].connection.acknowledged();
        let confirmed = bed
            .arrived
            .iter()
            .rfind(|(_, from, s)| *from == MOBILE && s.flags.has(Flags::ACK))
            .unwrap()
            .2
            .ack;
        let confirmed = confirmed.offset(Seq(0xffff_ff00), acked).unwrap() - 1;
        assert!(lost > 0);
        if who == MOBILE {
            // The sender received all ACKs, and the agent all data.
            assert_eq!(lost, acked - confirmed);
        }
    }
}

/// The other end refuses the SYN. The opener is then refused, or reset if the agent has answered
/// early.
#[test]
fn refused_syn_ends_the_half_of_the_opener() {
    for (early, reason) in [(false, CloseReason::Refused), (true, CloseReason::Reset)] {
        let settings = Settings {
            early,
            ..settings()
        };
        let mut bed = bed(settings, [0, 1000], false);
        // The listening end aborts its connection.
        bed.ends[MOBILE].connection.abort(at(0));
        bed.run(at(LONG));
        assert_eq!(bed.ends[FIXED].closed, Some(reason), "early {early}");
        assert!(bed.agent.relays.is_empty());
    }
}

/// Each packet crosses the stack twice and is delayed each time (west1997, 2.5).
#[test]
fn packets_are_delayed_twice_in_the_stack() {
    let settings = Settings {
        stack_delay: Interval::from_millis(3),
        ..settings()
    };
    let mut bed = bed(settings, [0, 100_000], true);
    bed.run(at(LONG));
    assert!(bed.is_done());
    let answer = bed.left.iter().find(|(_, to, _)| *to == FIXED).unwrap();
    assert_eq!(answer.0, at(10 + 3 + 3));
}

/// 1 MB in segments of 100 bytes are 10,000 segments in front of the agent and 695 segments of 1440
/// bytes behind it (vatne2006, 2). A remainder smaller than a segment leaves after 200 ms.
#[test]
fn resizing_fills_segments_of_the_other_half() {
    let mut settings = settings();
    settings.linger = Some(Interval::from_millis(200));
    settings.tcp[0] = Arc::new(Config {
        mss: 1440,
        ..(*settings.tcp[0]).clone()
    });
    let sends = Config {
        mss: 100,
        ..tcp("sack")
    };
    let mut bed = TestBed::new(
        Split::new(settings.clone()),
        &Arc::new(sends),
        [0, 1_000_000],
        true,
    );
    // The mobile end has larger segments.
    bed.ends[MOBILE].connection =
        farlink_tcp::Connection::listen(Arc::new(tcp("sack")), 80, Seq(0));
    bed.run(at(LONG));
    assert!(bed.is_done());
    let arrived = bed
        .arrived
        .iter()
        .filter(|(_, from, s)| *from == FIXED && !s.body.is_empty());
    assert_eq!(arrived.count(), 10_000);
    assert_eq!(bed.data_to(MOBILE).count(), 695);

    // Bytes that arrive once a second are sent after the waiting time.
    let mut bed = TestBed::new(Split::new(settings), &Arc::new(tcp("sack")), [0, 300], true);
    bed.ends[FIXED].writes(100, Interval::from_secs(1));
    bed.run(at(LONG));
    assert!(bed.is_done());
    let sizes: Vec<_> = bed.data_to(MOBILE).map(|left| left.2.body.len()).collect();
    assert_eq!(sizes, [100, 100, 100]);
    let arrived = bed
        .arrived
        .iter()
        .filter(|(_, from, s)| *from == FIXED && !s.body.is_empty());
    let waits: Vec<_> = arrived
        .zip(bed.data_to(MOBILE))
        .map(|(arrived, left)| left.0.since(arrived.0).as_nanos() / 1_000_000)
        .collect();
    assert_eq!(waits, [200, 200, 0], "the last comes with the end");
}

/// Simulated and raw segments get the same answers at the same times.
#[test]
fn simulated_and_raw_segments_get_the_same_answers() {
    let faults = Faults {
        loss: 0.02,
        copies: 0.02,
        late: 0.05,
        damage: 0.02,
    };
    let [a, b] = [false, true].map(|real| {
        let mut bed = bed(settings(), [100_000, 300_000], real).with_faults(faults, 7);
        bed.run(at(LONG));
        assert!(bed.is_done());
        let left = bed.left.iter();
        left.map(|(at, to, segment)| format!("{at:?} {to} {}", format_segment(segment)))
            .collect::<Vec<_>>()
    });
    assert_eq!(a, b);
}

/// The idle time of a transferred relay starts at the transfer. An agent without room for the relay
/// resets both halves, because neither can continue alone.
#[test]
fn transferred_relays_are_renewed_or_reset_without_room() {
    for connections in [0, 1] {
        let mut bed = bed(settings(), [0, 500_000], false);
        bed.run(at(100));
        let ends = *bed.agent.relays.keys().next().unwrap();
        let host = (0..8).map(NodeId).find(|&node| ends.wireless_is(node));
        let mut next = Split::new(settings());
        next.settings.limits.connections = connections;
        let mut out = Out::default();
        let left = bed
            .agent
            .on_leave(at(100), host.unwrap(), Leaving::Transfer, &mut out);
        next.on_join(at(150), left.unwrap(), &mut out);
        if connections == 0 {
            assert!(next.relays.is_empty() && next.timers.is_empty());
            assert_eq!(counter(&next, "connections_refused"), 1);
            assert_eq!(counter(&next, "connections_failed"), 1);
            assert_eq!((next.count.held, out.actions.len()), (0, 2));
        } else {
            assert_eq!(next.relays[&ends].last, at(150));
            assert_eq!(counter(&next, "connections_refused"), 0);
        }
    }
}

/// The number of connections stays within its limit for any number of SYNs. Packets of further
/// connections pass, and finished or idle connections make room.
#[test]
fn number_of_relays_is_bounded() {
    let mut split = Split::new(Settings {
        limits: Limits {
            connections: 100,
            ..Limits::default()
        },
        ..settings()
    });
    let mut out = Out::default();
    let mut ask = |split: &mut Split, now, number: u32| {
        let syn = Segment {
            src_port: number as u16,
            dst_port: 80,
            flags: Flags::SYN,
            ..Segment::default()
        };
        let mut packet = super::super::bed::packet(FIXED, syn, false);
        packet.src = NodeId(1 << 16 | number >> 16);
        let mut view = View::new(&mut packet);
        out.actions.clear();
        split.on_packet(now, PacketId(0), Crossing::ToWireless, &mut view, &mut out)
    };
    for number in 0..100_000 {
        let verdict = ask(&mut split, at(0), number);
        let expected = [Verdict::Forward, Verdict::Absorb][usize::from(number < 100)];
        assert_eq!(verdict, expected);
    }
    assert_eq!(split.relays.len(), 100);
    assert_eq!(counter(&split, "connections_refused"), 99_900);
    // By 120 s all connections have been idle for long.
    assert_eq!(ask(&mut split, at(120_000), 100_000), Verdict::Absorb);
    assert_eq!(split.relays.len(), 1);
    assert_eq!(split.timers.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 12))]

    /// For any loss, duplication, corruption and delay on both sides, each byte arrives once and in
    /// order in both directions.
    #[test]
    fn every_byte_arrives_once_and_in_order(
        loss in 0.0..0.15_f64,
        copies in 0.0..0.2_f64,
        damage in 0.0..0.1_f64,
        late in 0.0..0.3_f64,
        bytes in [0..60_000_u64, 0..60_000_u64],
        (early, resize, real) in any::<(bool, bool, bool)>(),
        rows in (0..4_usize, 0..4_usize),
        buffer in 1..100_000_u64,
        seed: u64,
    ) {
        let half = |row: usize| {
            let tcp = tcp(["sack", "reno", "hybla", "cubic"][row]);
            Arc::new(Config { send_buffer: buffer, ..tcp })
        };
        let settings = Settings {
            tcp: [half(rows.0), half(rows.1)],
            early,
            linger: resize.then_some(Interval::from_millis(200)),
            ..settings()
        };
        let faults = Faults { loss, copies, damage, late };
        let mut bed = bed(settings, bytes, real).with_faults(faults, seed);
        // With a buffer of one byte each byte is sent alone, and one in six needs an RTO or more.
        bed.run(at(40 * LONG));
        let failed = counter(&bed.agent, "connections_failed");
        prop_assert!(bed.is_done() || failed > 0, "{:?}", bed.ends);
        if failed == 0 {
            prop_assert_eq!(counter(&bed.agent, "bytes_lost"), 0);
        }
        prop_assert!(bed.ends.iter().all(|end| end.correct));
        prop_assert!(bed.agent.relays.is_empty(), "{:?}", bed.agent);
    }

    /// For any segments of the ends, the agent keeps running and its state stays bounded.
    #[test]
    fn hostile_segments_keep_memory_bounded(segments in super::super::bed::hostile(), real: bool) {
        let mut agent = Split::new(settings());
        let mut now = at(0);
        for (end, segment) in segments {
            let mut packet = super::super::bed::packet(end, segment, real);
            let crossing = [Crossing::FromWireless, Crossing::ToWireless][end];
            let mut out = Out::default();
            let mut view = View::new(&mut packet);
            agent.on_packet(now, PacketId(0), crossing, &mut view, &mut out);
            now += Interval::from_millis(10);
            if agent.deadline().is_some_and(|due| due <= now) {
                agent.on_deadline(now, &mut out);
            }
            prop_assert!(out.actions.len() < 100);
            let held = counter(&agent, "bytes_held_max");
            prop_assert!(held <= 2 * ((64 << 10) + (1 << 16)), "{held}");
            prop_assert!(agent.relays.len() <= 1 && agent.timers.len() <= 1);
        }
    }
}
