use super::*;
use farlink_tcp::{Body, Options, SackBlock, Timestamps};
use farlink_wire::Addresses;
use farlink_wire::id::NodeId;
use farlink_wire::packet::{Packet, Payload, Raw};
use proptest::prelude::*;

/// Packet that crosses the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// Data with its start and end.
    Data(u32, u32),
    /// ACK with its number, window and number of SACK blocks.
    Ack(u32, u16, usize),
}

fn packet(step: Step, isn: u32) -> (Crossing, Packet) {
    let from_fixed = matches!(step, Data(..));
    let mut segment = Segment {
        src_port: if from_fixed { 5001 } else { 49152 },
        dst_port: if from_fixed { 49152 } else { 5001 },
        flags: Flags::ACK,
        options: Options::from(Some(Timestamps::default())),
        ..Segment::default()
    };
    match step {
        Data(from, to) => {
            segment.seq = Seq(isn.wrapping_add(from));
            segment.body = Body::of_bytes(&vec![1; (to - from) as usize]);
        }
        Ack(ack, window, blocks) => {
            segment.ack = Seq(isn.wrapping_add(ack));
            segment.window = window;
            segment.options.sack = vec![SackBlock::default(); blocks].into_iter().collect();
        }
    }
    let nodes = [NodeId(0), NodeId(2)];
    let packet = Packet {
        from_opener: from_fixed,
        ..Packet::new(
            nodes[usize::from(!from_fixed)],
            nodes[usize::from(from_fixed)],
            Payload::Tcp(segment),
        )
    };
    let crossing = if from_fixed {
        Crossing::ToWireless
    } else {
        Crossing::FromWireless
    };
    (crossing, packet)
}

/// Encodes the packet as bytes.
fn real(packet: &Packet) -> Packet {
    let bytes = farlink_wire::encode(packet, Addresses::of(packet)).unwrap();
    Packet {
        payload: Payload::Raw(Raw::new(bytes).unwrap()),
        ..packet.clone()
    }
}

/// Sends a packet through the agent, and returns the forwarded segment.
fn cross(agent: &mut Eln, crossing: Crossing, packet: &mut Packet) -> Segment {
    let mut view = View::new(packet);
    let mut out = Out::default();
    let verdict = agent.on_packet(Instant::ZERO, PacketId(0), crossing, &mut view, &mut out);
    assert!(matches!(verdict, Verdict::Forward | Verdict::Follow(_)));
    assert_eq!(out.actions, []);
    match &packet.payload {
        Payload::Raw(raw) => farlink_wire::decode(raw.bytes()).unwrap().1,
        _ => packet.tcp().unwrap().clone(),
    }
}

/// Returns which of the ACKs are forwarded with a mark.
fn marks(steps: &[Step], isn: u32) -> Vec<bool> {
    let mut agent = Eln::new(Limits::default());
    let mut out = Vec::new();
    for &step in steps {
        let (crossing, mut packet) = packet(step, isn);
        let passed = cross(&mut agent, crossing, &mut packet);
        if let Ack(..) = step {
            out.push(passed.options.eln);
        }
    }
    out
}

use Step::{Ack, Data};

/// Segment 100 passed and is requested twice, so it was lost behind the agent.
#[test]
fn duplicate_ack_for_passed_data_is_marked() {
    let steps = [
        Data(0, 100),
        Data(100, 200),
        Data(200, 300),
        Ack(100, 9, 0),
        Ack(100, 9, 0),
        Ack(100, 9, 0),
        Ack(300, 9, 0),
        Ack(300, 9, 0), // no data is outstanding
    ];
    for isn in [0, u32::MAX - 150] {
        assert_eq!(marks(&steps, isn), [false, true, true, false, false]);
    }
}

/// Each mark is traced with its sequence number and the direction of the data.
#[test]
fn marks_are_traced() {
    let mut agent = Eln::new(Limits::default());
    let mut out = Out {
        notes: Some(vec![]),
        ..Out::default()
    };
    for step in [Data(0, 100), Data(100, 200), Ack(100, 9, 0), Ack(100, 9, 0)] {
        let (crossing, mut packet) = packet(step, 7);
        let mut view = View::new(&mut packet);
        agent.on_packet(Instant::ZERO, PacketId(0), crossing, &mut view, &mut out);
    }
    let notes = out.notes.unwrap();
    assert_eq!(notes.len(), 1);
    assert_eq!((notes[0].act, notes[0].seq), (Act::Mark, Seq(107)));
    assert!(notes[0].from_opener);
}

/// Segment 100 was lost by congestion in front of the agent. Its retransmission passes and is lost
/// behind the agent.
#[test]
fn duplicate_ack_for_data_lost_upstream_passes_unmarked() {
    let steps = [
        Data(0, 100),
        Data(200, 300),
        Ack(100, 9, 0),
        Ack(100, 9, 0),
        Data(100, 200),
        Ack(100, 9, 0),
    ];
    assert_eq!(marks(&steps, 7), [false, false, false]);
}

#[test]
fn window_updates_and_old_acks_are_no_duplicates() {
    let steps = [
        Data(0, 100),
        Data(100, 200),
        Ack(100, 9, 0),
        Ack(100, 8, 0), // a window update
        Ack(100, 8, 0),
        Ack(0, 8, 0),   // an old ACK
        Ack(100, 7, 1), // new SACK block
    ];
    assert_eq!(marks(&steps, 7), [false, false, true, false, true]);
}

/// Time stamps and three SACK blocks fill the options, so the last block is removed.
#[test]
fn mark_replaces_the_last_sack_block_if_options_are_full() {
    let mut agent = Eln::new(Limits::default());
    for step in [Data(0, 100), Data(100, 200), Ack(100, 9, 3)] {
        let (crossing, mut packet) = packet(step, 0);
        cross(&mut agent, crossing, &mut packet);
    }
    for form in [|p: &Packet| p.clone(), real] {
        let (crossing, simulated) = packet(Ack(100, 9, 3), 0);
        let passed = cross(&mut agent, crossing, &mut form(&simulated));
        assert_eq!(
            (passed.options.eln, passed.options.sack.as_slice().len()),
            (true, 2)
        );
    }
    let counters = agent.counters(Instant::ZERO);
    assert_eq!(&counters[..2], [("marked", 2.0), ("unmarked", 0.0)]);
}

/// Damaged packets, fragments and packets that are not TCP pass unread and unchanged.
#[test]
fn unreadable_packets_pass_unchanged() {
    let (crossing, simulated) = packet(Data(0, 100), 0);
    let mut changed = vec![simulated.clone(), real(&simulated), real(&simulated)];
    changed[0].corrupt = true;
    changed[1].corrupt = true;
    if let Payload::Raw(raw) = &mut changed[2].payload {
        raw.spoil(); // The checksum is wrong on arrival.
    }
    let piece = farlink_wire::fragment::Piece {
        offset: 0,
        len: 80,
        more: true,
    };
    changed.push(Packet {
        piece: Some(piece),
        ..simulated
    });
    let mut agent = Eln::new(Limits::default());
    for mut packet in changed {
        let before = packet.clone();
        let mut view = View::new(&mut packet);
        let verdict = agent.on_packet(
            Instant::ZERO,
            PacketId(0),
            crossing,
            &mut view,
            &mut Out::default(),
        );
        assert_eq!((verdict, &packet), (Verdict::Forward, &before));
    }
    assert!(agent.connections.is_empty());
}

proptest! {
    /// The agent decides the same for simulated packets and for their bytes. It changes nothing
    /// else in the packets that it forwards.
    #[test]
    fn simulated_and_raw_packets_get_the_same_marks(
        isn: u32,
        steps in proptest::collection::vec(prop_oneof![
            (0..40u32, 1..4u32).prop_map(|(from, len)| Data(from * 100, (from + len) * 100)),
            (0..40u32, 1..3u16, 0..4usize).prop_map(|(ack, window, sack)| Ack(ack * 100, window, sack)),
        ], 1..120),
    ) {
        let mut agents = [Eln::new(Limits::default()), Eln::new(Limits::default())];
        for step in steps {
            let (crossing, mut simulated) = packet(step, isn);
            let mut as_bytes = real(&simulated);
            let [a, b] = &mut agents;
            let mut passed = cross(a, crossing, &mut simulated);
            prop_assert_eq!(&passed, &cross(b, crossing, &mut as_bytes));
            if passed.options.eln {
                passed.options.eln = false;
                let (_, before) = packet(step, isn);
                let before = before.tcp().unwrap();
                prop_assert_eq!(passed.ack, before.ack);
                prop_assert_eq!(passed.window, before.window);
            }
        }
        let [a, b] = agents.each_ref().map(|agent| agent.counters(Instant::ZERO));
        prop_assert_eq!(a, b);
    }
}

/// Each hole in front of the agent begins another range. Data beyond the limit of ranges is treated
/// as lost in front of the agent. Filled holes join the ranges.
#[test]
fn ranges_are_bounded() {
    let (mut passed, count) = (Passed::default(), MAX_RANGES as u32);
    let data = |from: u32| Segment {
        seq: Seq(from),
        body: Body::of_len(100),
        ..Segment::default()
    };
    for hole in 0..2 * count {
        passed.on_data(&data(hole * 200));
    }
    assert_eq!(passed.ranges.len(), MAX_RANGES);
    for hole in 0..count {
        passed.on_data(&data(hole * 200 + 100));
    }
    assert_eq!(passed.ranges, [(Seq(0), Seq(200 * count))]);
}

/// Data that a queue refuses is removed from the middle of a range, from an end, and from several
/// ranges.
#[test]
fn refused_data_is_removed() {
    let ranges = |ranges: &[(u32, u32)]| -> Vec<(Seq, Seq)> {
        ranges.iter().map(|&(a, b)| (Seq(a), Seq(b))).collect()
    };
    for (refused, left) in [
        ((40, 60), vec![(0, 40), (60, 100), (200, 300)]),
        ((80, 100), vec![(0, 80), (200, 300)]),
        ((200, 250), vec![(0, 100), (250, 300)]),
        ((200, 300), vec![(0, 100)]),
        ((100, 200), vec![(0, 100), (200, 300)]),
    ] {
        let mut passed = Passed::default();
        for range in ranges(&[(0, 100), (200, 300)]) {
            passed.record(range);
        }
        passed.remove((Seq(refused.0), Seq(refused.1)));
        assert_eq!(passed.ranges, ranges(&left), "{refused:?}");
    }
}
