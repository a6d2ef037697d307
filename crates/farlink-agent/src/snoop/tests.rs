use super::*;
use crate::bed::{FIXED, Faults, MOBILE, TestBed, format_segment, hostile_segment, packet};
use crate::{Eln, Limits};
use farlink_channel::rng::Streams;
use farlink_tcp::{Body, Config, Interval, config};
use proptest::prelude::*;
use std::sync::Arc;

/// Returns every variant of the agent, with the TCP that its sender needs.
fn kinds() -> Vec<(SnoopConfig, Config)> {
    let base = SnoopConfig::DEFAULT;
    let small = SnoopConfig {
        cache: 3,
        memory: 4000,
        tries: 2,
        sack: SackHandling::Mask,
        sack_repair: true,
        ..base
    };
    let full = SenderNotices::Partial {
        negotiate: true,
        repeat: false,
    };
    let partial = |notices, how| {
        let tcp = Config {
            notices: config::NoticeConfig {
                ackp: Some(how),
                ..config::NoticeConfig::default()
            },
            ..Config::default()
        };
        (SnoopConfig { notices, ..base }, tcp)
    };
    let each = SenderNotices::EachPacket { negotiate: false };
    let constant = config::PartialAck::Constant(Interval::from_secs(2));
    let marks = SnoopConfig {
        repair: Repair::Mark,
        ..base
    };
    let notices = SnoopConfig {
        notices: SenderNotices::BadState,
        ..base
    };
    let takes_marks = Config {
        notices: config::NoticeConfig {
            eln: config::Eln::Agent,
            ..config::NoticeConfig::default()
        },
        ..Config::default()
    };
    let takes_nacks = Config {
        notices: config::NoticeConfig {
            nack: true,
            ..config::NoticeConfig::default()
        },
        ..Config::default()
    };
    let takes_notices = Config {
        notices: config::NoticeConfig {
            ebsn: true,
            ..config::NoticeConfig::default()
        },
        ..Config::default()
    };
    vec![
        (base, Config::default()),
        (small, Config::default()),
        (
            SnoopConfig {
                sack: SackHandling::Off,
                ..base
            },
            Config::default(),
        ),
        (
            SnoopConfig {
                timer_from: TimerStart::Arrival,
                ..base
            },
            Config::default(),
        ),
        partial(full, config::PartialAck::Restart),
        partial(each, constant),
        (marks, takes_marks),
        (notices, takes_notices),
        (
            SnoopConfig {
                uploads: true,
                holes: 3,
                tries: 2,
                ..base
            },
            takes_nacks,
        ),
    ]
}

fn until(seconds: u64) -> Instant {
    Instant::ZERO + Interval::from_secs(seconds)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 12))]

    /// No byte is lost or changed, for any losses, duplicates, corruption and reordering, and
    /// whenever the agent loses its state.
    #[test]
    fn no_byte_is_lost(
        kind in 0..8_usize,
        seed: u64,
        (loss, copies, damage, late) in (0.0..0.1, 0.0..0.1, 0.0..0.05, 0.0..0.3),
        pauses in proptest::collection::vec(0..2000_u64, 0..12),
        real: bool,
        back in 0..20_000_u64,
    ) {
        let (config, tcp) = kinds().swap_remove(kind);
        let faults = Faults { loss, copies, damage, late };
        let mut bed = TestBed::new(Snoop::new(config), &Arc::new(tcp), [back, 60_000], real)
            .with_faults(faults, seed);
        let mut at = Instant::ZERO;
        for pause in pauses {
            at += Interval::from_millis(pause);
            bed.run(at);
            bed.agent.switch(at, false, &mut Out::default());
            bed.agent.switch(at, true, &mut Out::default());
        }
        bed.run(until(4000));
        prop_assert!(bed.is_done(), "{:?} {:?}", bed.ends[FIXED], bed.ends[MOBILE]);
    }

    /// With simulated packets and with raw bytes the agent sends the same packets at the same
    /// times.
    #[test]
    fn simulated_and_raw_packets_are_handled_alike(kind in 0..8_usize, seed: u64, loss in 0.0..0.1) {
        let left = [false, true].map(|real| {
            let (config, tcp) = kinds().swap_remove(kind);
            let faults = Faults { loss, late: 0.1, ..Faults::default() };
            let mut bed = TestBed::new(Snoop::new(config), &Arc::new(tcp), [3000, 30_000], real)
                .with_faults(faults, seed);
            bed.run(until(4000));
            let left = bed.left.iter().map(|(at, end, segment)| (*at, *end, format_segment(segment)));
            (left.collect::<Vec<_>>(), bed.agent.counters(bed.now))
        });
        let [simulated, bytes] = left;
        prop_assert_eq!(simulated.0, bytes.0);
        // Raw copies count the same bytes.
        prop_assert_eq!(simulated.1, bytes.1);
    }

    /// Passes segments of an attacker in every state. The state stays bounded and the agent
    /// continues to run_application.
    #[test]
    fn state_is_bounded_under_hostile_segments(kind in 0..8_usize, seed: u64) {
        let (config, _) = kinds().swap_remove(kind);
        let limits = Limits { connections: 20, ..config.limits };
        let config = SnoopConfig { limits, memory: 20_000, cache: 10, ..config };
        let mut agent = Snoop::new(config);
        let mut stream = Streams::new(seed, 0).stream("hostile_segment");
        let mut now = Instant::ZERO;
        for _ in 0..3000 {
            let (end, segment) = hostile_segment(&mut stream);
            let mut any = |n: u64| stream.next_u64() % n;
            now += Interval::from_micros(any(20_000));
            let crossing = if end == FIXED { Crossing::ToWireless } else { Crossing::FromWireless };
            let real = any(2) == 0;
            let mut crosses = packet(end, segment, real);
            let mut out = Out::default();
            let verdict = agent.on_packet(now, PacketId(0), crossing, &mut View::new(&mut crosses), &mut out);
            if let Verdict::Follow(tag) = verdict {
                let sent = [LinkEvent::Departed(now), LinkEvent::Refused, LinkEvent::Retransmitted(now)][any(3) as usize];
                agent.on_sent(now, tag, sent, &mut out);
            }
            if agent.deadline().is_some_and(|at| at <= now) {
                agent.on_deadline(now, &mut out);
            }
            // The number of requests at once is bounded by the cache.
            prop_assert!(out.actions.len() <= 20 * 11);
            prop_assert!(agent.connections.bytes() <= 20_000);
            prop_assert!(agent.connections.len() <= 20);
            prop_assert!(agent.deadline().is_none_or(|at| at > now));
        }
    }
}

/// State of 100,000 connections stays within the limit; packets of connections without state pass.
#[test]
fn state_is_bounded_under_a_hundred_thousand_connections() {
    let mut agent = Snoop::new(SnoopConfig {
        memory: 100_000,
        ..SnoopConfig::DEFAULT
    });
    for number in 0..100_000_u32 {
        let segment = Segment {
            src_port: (number % 50_000) as u16,
            dst_port: (number / 50_000) as u16,
            flags: Flags::ACK,
            body: Body::of_len(1000),
            ..Segment::default()
        };
        let mut crosses = packet(FIXED, segment, false);
        let mut view = View::new(&mut crosses);
        let to = Crossing::ToWireless;
        let verdict = agent.on_packet(
            Instant::from_nanos(u64::from(number)),
            PacketId(0),
            to,
            &mut view,
            &mut Out::default(),
        );
        assert!(matches!(verdict, Verdict::Forward | Verdict::Follow(_)));
    }
    assert_eq!(agent.connections.len(), 1024);
    assert!(agent.connections.bytes() <= 100_000);
    let refused = agent.counters(until(1));
    let refused = refused.iter().find(|item| item.0 == "connections_refused");
    assert_eq!(refused.map(|item| item.1), Some(100_000.0 - 1024.0));
}

/// The variant that only marks ACKs loses no data either.
#[test]
fn marking_agent_loses_no_data() {
    let tcp = Arc::new(Config {
        notices: config::NoticeConfig {
            eln: config::Eln::Agent,
            ..config::NoticeConfig::default()
        },
        ..Config::default()
    });
    let faults = Faults {
        loss: 0.05,
        late: 0.1,
        ..Faults::default()
    };
    let agent = Eln::new(Limits::default());
    let mut bed = TestBed::new(agent, &tcp, [0, 60_000], true).with_faults(faults, 3);
    bed.run(until(4000));
    assert!(bed.is_done());
}

/// Returns 100 bytes of data from the fixed host.
fn data(seq: u32) -> Segment {
    Segment {
        seq: Seq(seq),
        flags: Flags::ACK,
        body: Body::of_len(100),
        ..Segment::default()
    }
}

/// Sends a segment to the wireless side; it leaves the transmitter at once.
fn send_to_wireless(agent: &mut Snoop, now: Instant, segment: Segment) -> Verdict {
    let mut crosses = packet(FIXED, segment, false);
    let (mut view, mut out) = (View::new(&mut crosses), Out::default());
    let to = Crossing::ToWireless;
    let verdict = agent.on_packet(now, PacketId(0), to, &mut view, &mut out);
    if let Verdict::Follow(tag) = verdict {
        agent.on_sent(now, tag, LinkEvent::Departed(now), &mut out);
    }
    verdict
}

/// A segment of dummy data is not cached.
#[test]
fn dummy_segments_are_not_cached() {
    let mut agent = Snoop::new(SnoopConfig::DEFAULT);
    let dummy = Segment {
        dummy: true,
        ..data(1)
    };
    assert_eq!(
        send_to_wireless(&mut agent, until(0), dummy),
        Verdict::Forward
    );
    assert_eq!(agent.connections.bytes(), 0);
}

/// Retransmissions go ahead of the queue if configured.
#[test]
fn retransmissions_go_ahead_of_the_queue_if_configured() {
    for ahead in [true, false] {
        let mut agent = Snoop::new(SnoopConfig {
            ahead,
            ..SnoopConfig::DEFAULT
        });
        send_to_wireless(&mut agent, until(0), data(1));
        let at = agent.deadline().expect("the local timer");
        let mut out = Out::default();
        agent.on_deadline(at, &mut out);
        let sends_ahead = |action: &Action| matches!(action, Action::Inject(it) if it.ahead);
        assert_eq!(
            out.actions
                .iter()
                .filter(|entry| sends_ahead(entry))
                .count(),
            usize::from(ahead)
        );
        assert_eq!(out.actions.len(), 1);
    }
}

#[test]
fn switched_off_agent_has_no_deadline() {
    let mut agent = Snoop::new(SnoopConfig::DEFAULT);
    send_to_wireless(&mut agent, until(0), data(1));
    assert!(agent.deadline().is_some());
    agent.switch(until(0), false, &mut Out::default());
    assert_eq!(agent.deadline(), None);
}

/// State transferred from another agent gets serial numbers of this agent, and its timer restarts
/// at the transfer.
#[test]
fn timers_of_transferred_connections_restart() {
    let [mut old, mut new] = [(); 2].map(|()| Snoop::new(SnoopConfig::DEFAULT));
    for seq in [1, 101, 201] {
        send_to_wireless(&mut old, until(0), data(seq));
    }
    // Another connection of the host already has serial numbers of the new agent.
    let other = Segment {
        src_port: 7,
        ..data(1)
    };
    send_to_wireless(&mut new, until(0), other);
    assert!(new.deadline().is_some());
    new.on_deadline(until(1), &mut Out::default());
    let host = packet(MOBILE, data(1), false).src;
    let mut out = Out::default();
    let moved = old.on_leave(until(2), host, Leaving::Transfer, &mut out);
    new.on_join(until(2), moved.expect("three packets"), &mut out);
    let flow = new.connections.at(1, |flow| {
        let entries = flow.cache.iter().map(|item| (item.serial, item.left));
        (entries.collect::<Vec<_>>(), flow.due(&SnoopConfig::DEFAULT))
    });
    let (entries, due) = flow.expect("the connection");
    assert_eq!(entries, [2, 3, 4].map(|serial| (serial, Some(until(2)))));
    assert!(due.is_some_and(|due| due > until(2)));
    // After the other connection's data is acknowledged, no further event is due.
    new.connections.at(0, |flow| flow.cache.free(Seq(101)));
    new.on_deadline(until(2), &mut out);
    assert_eq!(new.deadline(), due);
}
