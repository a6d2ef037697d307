use super::*;
use crate::bed::{FIXED, hostile_segment, packet};
use farlink_channel::rng::Streams;
use farlink_tcp::{Body, Interval, Segment};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 12))]

    /// Passes segments of an attacker, and arbitrary reports of the link, also about packets that
    /// the link never had. Each segment passes unchanged, the state stays bounded, and each notice
    /// names data that passed.
    #[test]
    fn state_is_bounded_under_hostile_segments(seed: u64) {
        let limits = Limits { connections: 20, blind_after: 50, ..Limits::DEFAULT };
        let mut agent = Ebsn::new(limits);
        let mut stream = Streams::new(seed, 0).stream("hostile_segment");
        let mut now = Instant::ZERO;
        let mut latest = 0;
        for _ in 0..3000 {
            let (end, segment) = hostile_segment(&mut stream);
            let mut any = |n: u64| stream.next_u64() % n;
            now += Interval::from_micros(any(20_000));
            let crossing = if end == FIXED { Crossing::ToWireless } else { Crossing::FromWireless };
            let arrived = packet(end, segment, any(2) == 0);
            let mut crosses = arrived.clone();
            let mut out = Out::default();
            let verdict = agent.on_packet(now, PacketId(0), crossing, &mut View::new(&mut crosses), &mut out);
            prop_assert_eq!(&crosses, &arrived);
            if let Verdict::Follow(tag) = verdict {
                latest = tag.0;
            } else {
                prop_assert_eq!(verdict, Verdict::Forward);
            }
            prop_assert!(out.actions.is_empty());
            let sent = [LinkEvent::Departed(now), LinkEvent::Refused, LinkEvent::Retransmitted(now)][any(3) as usize];
            let number = latest.wrapping_sub(any(2000)).wrapping_add(any(3));
            agent.on_sent(now, Tag(number), sent, &mut out);
            prop_assert!(out.actions.len() <= usize::from(matches!(sent, LinkEvent::Retransmitted(_))));
            prop_assert!(agent.connections.len() <= 20);
            prop_assert!(agent.recent.len() <= MAX_RECENT);
            if any(500) == 0 {
                agent.switch(now, true, &mut out);
                prop_assert!(agent.recent.is_empty());
            }
        }
    }
}

/// A dummy segment causes no notice.
#[test]
fn dummy_segments_cause_no_notice() {
    let mut agent = Ebsn::new(Limits::DEFAULT);
    for dummy in [true, false] {
        let segment = Segment {
            dummy,
            body: Body::of_len(100),
            ..Segment::default()
        };
        let mut crosses = packet(FIXED, segment, false);
        let (mut view, to) = (View::new(&mut crosses), Crossing::ToWireless);
        let verdict = agent.on_packet(
            Instant::ZERO,
            PacketId(0),
            to,
            &mut view,
            &mut Out::default(),
        );
        assert_eq!(verdict == Verdict::Forward, dummy);
    }
}
