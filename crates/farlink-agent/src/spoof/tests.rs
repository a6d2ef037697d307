use super::super::bed::{FIXED, Faults, MOBILE, TestBed};
use super::*;
use farlink_tcp::{CloseReason, Config, Interval, Segment, Seq, variant};
use proptest::prelude::*;
use std::sync::Arc;

fn tcp(name: &str) -> Arc<Config> {
    Arc::new((variant::lookup(name).unwrap().config)())
}

fn spoof() -> Spoof {
    Spoof::new(Settings {
        buffer: 64 << 10,
        tries: 15,
        limits: Limits::default(),
    })
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Interval::from_millis(ms)
}

const LONG: u64 = 3_600_000;

fn counter(agent: &Spoof, name: &str) -> u64 {
    let counters = agent.counters(at(LONG));
    counters.iter().find(|(n, _)| *n == name).unwrap().1 as u64
}

/// The far end is 250 ms from the agent, the sender 10 ms.
fn bed(bytes: [u64; 2], real: bool, row: &str) -> TestBed<Spoof> {
    let mut bed = TestBed::new(spoof(), &tcp(row), bytes, real);
    bed.delays[MOBILE] = Interval::from_millis(250);
    bed
}

/// The sender gets ACKs after 20 ms instead of 520 ms and sees only the far end's numbers. The
/// agent absorbs the far end's own ACKs.
#[test]
fn data_is_acknowledged_at_the_agent() {
    for real in [false, true] {
        let mut bed = bed([0, 200_000], real, "sack");
        bed.run(at(LONG));
        assert!(bed.is_done(), "{real}");
        assert_eq!(bed.ends[FIXED].connection.stats().segments_retransmitted, 0);
        let srtt = bed.ends[FIXED].connection.srtt().unwrap();
        assert!(srtt < Interval::from_millis(200), "{srtt:?}");
        assert!(counter(&bed.agent, "suppressed") > 50);
        assert_eq!(counter(&bed.agent, "bytes_unconfirmed"), 0);
        assert!(bed.agent.all.is_empty() && bed.agent.timers.is_empty());
        assert_eq!(bed.agent.held, 0);
        // The agent sends exactly the 137 segments.
        assert_eq!(bed.data_to(MOBILE).count(), 137);
    }
}

/// The agent retransmits data lost on the satellite link, and the sender sees no loss.
#[test]
fn agent_retransmits_losses_on_the_satellite_link() {
    let faults = Faults {
        loss: 0.02,
        ..Faults::default()
    };
    for row in ["reno", "sack"] {
        let mut bed = bed([0, 500_000], true, row).with_faults(faults, 3);
        bed.clean = Some(FIXED);
        bed.run(at(LONG));
        assert!(bed.is_done(), "{row}");
        assert_eq!(bed.ends[FIXED].connection.stats().segments_retransmitted, 0);
        assert!(counter(&bed.agent, "local_retransmissions") > 3);
    }
}

/// The sender retransmits data lost in front of the agent, because it gets duplicate ACKs for the
/// hole.
#[test]
fn sender_retransmits_losses_in_front_of_the_agent() {
    let faults = Faults {
        loss: 0.02,
        ..Faults::default()
    };
    for row in ["reno", "sack"] {
        let mut bed = bed([0, 500_000], true, row).with_faults(faults, 3);
        bed.clean = Some(MOBILE);
        bed.run(at(LONG));
        assert!(bed.is_done(), "{row}");
        let stats = bed.ends[FIXED].connection.stats();
        assert!(stats.fast_retransmits > 2, "{row} {stats:?}");
    }
}

/// After a loss in front of the agent that the sender has repaired, the agent retransmits no data.
/// The far end's duplicate ACKs are merely late.
#[test]
fn agent_retransmits_nothing_after_losses_in_front_of_it() {
    for (row, buffer) in [
        ("reno", 1 << 20),
        ("newreno", 1 << 20),
        ("sack", 1 << 20),
        ("cubic", 1 << 20),
        ("cubic", 4 << 20),
        ("sack", 64 << 10),
    ] {
        for lose in [vec![30], vec![100], vec![40, 45, 46, 200]] {
            let mut bed = bed([0, 2_000_000], false, row);
            bed.agent.settings.buffer = buffer;
            bed.lose = lose.iter().map(|&number| (FIXED, number)).collect();
            bed.run(at(LONG));
            assert!(bed.is_done(), "{row}");
            let again = counter(&bed.agent, "local_retransmissions");
            assert_eq!(again, 0, "{row} {lose:?}");
            let mut numbers: Vec<u32> = bed.data_to(MOBILE).map(|left| left.2.seq.0).collect();
            let sent = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert!(sent <= numbers.len() + 1, "{row} {lose:?} {sent}");
        }
    }
}

/// With any buffer size a connection is no slower than without the agent.
#[test]
fn connection_is_not_slower_than_without_the_agent() {
    for row in ["sack", "cubic"] {
        let run = |buffer: Option<u64>| {
            let mut bed = bed([0, 1_000_000], false, row);
            match buffer {
                Some(buffer) => bed.agent.settings.buffer = buffer,
                None => bed.agent.switch(at(0), false, &mut Out::default()),
            }
            bed.run(at(LONG));
            assert!(bed.is_done(), "{row} {buffer:?}");
            bed.arrived.last().unwrap().0
        };
        let without = run(None);
        for buffer in [1, 2_000, 16 << 10, 64 << 10, 256 << 10, 1 << 20] {
            let with = run(Some(buffer));
            assert!(
                with <= without + Interval::from_millis(50),
                "{row} {buffer} {with:?} {without:?}"
            );
        }
    }
}

/// After the last try both ends are reset, and acknowledged data that was not delivered is counted.
#[test]
fn undeliverable_data_resets_both_ends() {
    let mut bed = bed([0, 500_000], false, "sack");
    bed.run(at(2000));
    bed.gone = Some(MOBILE);
    let lost = bed.ends[FIXED].connection.acknowledged();
    let arrived = bed.ends[MOBILE].received;
    bed.run(at(4 * LONG));
    assert_eq!(bed.ends[FIXED].closed, Some(CloseReason::Reset));
    assert_eq!(counter(&bed.agent, "local_timeouts"), 16);
    assert_eq!(counter(&bed.agent, "connections_failed"), 1);
    let counted = counter(&bed.agent, "bytes_lost");
    assert!(counted > 0 && counted <= 64 << 10);
    assert!(lost >= arrived);
}

/// The state of a host's connections is transferred to the agent at its next link, which then
/// delivers the data. An agent that loses the state resets both ends.
#[test]
fn transfers_or_resets_the_connections_of_a_host_that_leaves() {
    for how in [Leaving::Transfer, Leaving::Lose] {
        let mut bed = bed([0, 500_000], false, "sack");
        bed.run(at(2000));
        let ends = *bed.agent.all.keys().next().unwrap();
        let host = (0..8).map(NodeId).find(|&node| ends.wireless_is(node));
        let (unconfirmed, mut out) = (counter(&bed.agent, "bytes_unconfirmed"), Out::default());
        assert!(unconfirmed > 0);
        let moved = bed.agent.on_leave(at(2000), host.unwrap(), how, &mut out);
        assert!(bed.agent.all.is_empty() && bed.agent.timers.is_empty());
        assert_eq!(counter(&bed.agent, "bytes_held"), 0);
        if how == Leaving::Lose {
            assert!(moved.is_none());
            assert_eq!(out.actions.len(), 2);
            assert_eq!(counter(&bed.agent, "bytes_lost"), unconfirmed);
        } else {
            let moved = moved.unwrap();
            assert!(moved.bytes >= unconfirmed && out.actions.is_empty());
            let mut next = spoof();
            next.on_join(at(2000), moved, &mut out);
            assert_eq!(counter(&next, "bytes_unconfirmed"), unconfirmed);
            bed.agent = next;
            bed.run(at(LONG));
            assert!(bed.is_done());
        }
    }
}

/// The idle time of a transferred connection starts at the transfer. An agent without room for the
/// connection resets its ends, because nothing else would deliver the acknowledged data.
#[test]
fn transferred_connections_are_renewed_or_reset_without_room() {
    for connections in [0, 1] {
        let mut bed = bed([0, 500_000], false, "sack");
        bed.run(at(2000));
        let ends = *bed.agent.all.keys().next().unwrap();
        let host = (0..8).map(NodeId).find(|&node| ends.wireless_is(node));
        let unconfirmed = counter(&bed.agent, "bytes_unconfirmed");
        let (mut next, mut out) = (spoof(), Out::default());
        let left = bed
            .agent
            .on_leave(at(2000), host.unwrap(), Leaving::Transfer, &mut out);
        next.settings.limits.connections = connections;
        next.on_join(at(2050), left.unwrap(), &mut out);
        if connections == 0 {
            assert!(next.all.is_empty() && next.timers.is_empty());
            assert_eq!((next.refused, next.held, out.actions.len()), (1, 0, 2));
            assert_eq!(counter(&next, "bytes_lost"), unconfirmed);
        } else {
            assert_eq!(next.all[&ends].last, at(2050));
            assert_eq!((next.refused, next.lost), (0, 0));
        }
    }
}

/// With one byte per segment the state needs no more memory than the buffer.
#[test]
fn memory_is_bounded_with_one_byte_segments() {
    let mut agent = spoof();
    let segment = |seq: u32, flags, len| Segment {
        src_port: 5000,
        dst_port: 80,
        seq: Seq(seq),
        ack: Seq(1),
        flags,
        window: u16::MAX,
        body: farlink_tcp::Body::of_len(len),
        ..Segment::default()
    };
    let answer = Segment {
        src_port: 80,
        dst_port: 5000,
        ..segment(0, Flags::SYN.with(Flags::ACK), 0)
    };
    let opening = [(FIXED, segment(0, Flags::SYN, 0)), (MOBILE, answer)];
    let data = (1..1000).map(|seq| (FIXED, segment(seq, Flags::ACK, 1)));
    for (end, segment) in opening.into_iter().chain(data) {
        let mut packet = super::super::bed::packet(end, segment, false);
        let crossing = [Crossing::FromWireless, Crossing::ToWireless][end];
        let (mut view, mut out) = (View::new(&mut packet), Out::default());
        agent.on_packet(at(0), PacketId(0), crossing, &mut view, &mut out);
    }
    // The buffer of 64 KiB has room for segments of 128 bytes each.
    assert_eq!(
        (counter(&agent, "cached"), counter(&agent, "no_room")),
        (512, 487)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 12))]

    /// For any loss, duplication, corruption and delay on both sides, each byte arrives once and in
    /// order in both directions. No data is cached at the end.
    #[test]
    fn every_byte_arrives_once_and_in_order(
        loss in 0.0..0.1_f64,
        copies in 0.0..0.2_f64,
        damage in 0.0..0.1_f64,
        late in 0.0..0.3_f64,
        bytes in [0..60_000_u64, 0..60_000_u64],
        real: bool,
        row in 0..4_usize,
        buffer in 1..100_000_u64,
        seed: u64,
    ) {
        let faults = Faults { loss, copies, damage, late };
        let row = ["sack", "reno", "hybla", "cubic"][row];
        let mut bed = bed(bytes, real, row).with_faults(faults, seed);
        bed.agent.settings.buffer = buffer;
        // With a buffer of one byte each byte is sent alone, and one in six needs an RTO or more.
        bed.run(at(40 * LONG));
        let failed = counter(&bed.agent, "connections_failed");
        prop_assert!(bed.is_done() || failed > 0, "{:?}", bed.ends);
        prop_assert!(bed.ends.iter().all(|end| end.correct));
        prop_assert!(bed.agent.timers.is_empty(), "{:?}", bed.agent);
    }

    /// For any segments of the ends, the agent keeps running and its state stays bounded.
    #[test]
    fn hostile_segments_keep_memory_bounded(segments in super::super::bed::hostile(), real: bool) {
        let mut agent = spoof();
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
            prop_assert!(agent.held <= 64 << 10, "{}", agent.held);
            prop_assert!(agent.all.len() <= 1 && agent.timers.len() <= 1);
        }
    }
}
