use super::*;
use farlink_tcp::{Body, Ecn, Flags, Segment, Seq};
use farlink_wire::id::{FlowId, NodeId};
use farlink_wire::packet::{Datagram, Raw};

fn packet(number: u32, payload: Payload) -> Packet {
    Packet {
        flow: FlowId(0),
        ident: number as u16,
        ..Packet::new(NodeId(0), NodeId(1), payload)
    }
}

/// Returns packet `number` of a one-way transfer with 100 bytes of data per packet.
fn data(number: u32) -> Packet {
    let segment = Segment {
        src_port: 5000,
        dst_port: 80,
        seq: Seq(1 + 100 * number),
        ack: Seq(9),
        flags: Flags::ACK,
        window: 4000,
        body: Body::of_len(100),
        ..Segment::default()
    };
    packet(number, Payload::Tcp(segment))
}

/// Returns the same packet as the bytes that a real program would send.
fn raw(number: u32) -> Packet {
    let sim = data(number);
    let bytes = farlink_wire::encode(&sim, Addresses::of(&sim)).unwrap();
    packet(number, Payload::Raw(Raw::new(bytes).unwrap().checked()))
}

fn direction() -> Compression {
    Compression::new(Config::default())
}

/// Sends a packet; returns its length on the link.
fn send(link: &mut Compression, number: u32, packet: &Packet) -> u32 {
    let len = link.prepare(packet, true);
    link.commit(PacketId(number));
    len
}

const NOW: Instant = Instant::from_nanos(50);

#[test]
fn headers_survive_compression_unchanged() {
    for make in [data as fn(u32) -> Packet, raw] {
        let mut link = direction();
        let mut lengths = Vec::new();
        for number in 0..4 {
            let sent = make(number);
            lengths.push(send(&mut link, number, &sent));
            let mut arrived = sent.clone();
            assert_eq!(
                link.restore(NOW, PacketId(number), &mut arrived),
                Restored::Forwarded
            );
            assert_eq!(arrived, sent);
        }
        assert_eq!(lengths, [140, 103, 103, 103]);
        let stats = link.stats();
        assert_eq!((stats.compressed, stats.uncompressed, stats.ip), (3, 1, 0));
        assert_eq!((stats.saved, stats.tossed, stats.wrong), (3 * 37, 0, 0));
    }
}

#[test]
fn prepare_without_commit_keeps_compressor_state() {
    let mut link = direction();
    send(&mut link, 0, &data(0));
    assert_eq!(link.prepare(&data(1), true), 103);
    // The queue refused packet 1, so packet 2 is encoded as a difference to packet 0.
    assert_eq!(send(&mut link, 2, &data(2)), 105);
    assert_eq!(link.stats().compressed, 1);
}

#[test]
fn datagrams_fragments_and_packets_out_of_turn_stay_uncompressed() {
    let mut link = direction();
    let udp = packet(0, Payload::Udp(Datagram::default()));
    assert_eq!(send(&mut link, 0, &udp), udp.ip_len());
    let mut part = data(1);
    part.piece = Some(farlink_wire::fragment::Piece {
        offset: 0,
        len: 64,
        more: true,
    });
    assert_eq!(send(&mut link, 1, &part), 84);
    assert_eq!(link.prepare(&data(2), false), 140);
    link.commit(PacketId(2));
    assert_eq!(link.stats().ip, 3);
    for number in 0..3 {
        let mut arrived = data(2);
        assert_eq!(
            link.restore(NOW, PacketId(number), &mut arrived),
            Restored::Forwarded
        );
        assert_eq!(arrived, data(2));
    }
}

/// After a loss, the decompressor rebuilds wrong headers for the next packets of the connection,
/// and their checksum fails.
#[test]
fn packet_after_a_loss_has_wrong_headers() {
    let mut link = direction();
    for number in 0..3 {
        send(&mut link, number, &data(number));
    }
    let mut first = data(0);
    link.restore(NOW, PacketId(0), &mut first);
    link.on_loss(NOW, DropCause::Loss, NOW);
    let mut arrived = data(2);
    assert_eq!(
        link.restore(NOW, PacketId(2), &mut arrived),
        Restored::Forwarded
    );
    assert!(arrived.corrupt);
    assert_eq!(
        arrived.tcp().map(|s| s.seq),
        Some(Seq(101)),
        "of the lost one"
    );
    assert_eq!(arrived.ident, 1);
    assert_eq!(link.stats().wrong, 1);
    // In a raw packet the bytes of the header are wrong.
    let mut link = direction();
    for number in 0..3 {
        send(&mut link, number, &raw(number));
    }
    link.restore(NOW, PacketId(0), &mut raw(0));
    let mut arrived = raw(2);
    link.restore(NOW, PacketId(2), &mut arrived);
    let Payload::Raw(arrived) = arrived.payload else {
        panic!("raw")
    };
    assert!(!arrived.is_checked());
    let error = farlink_wire::decode(arrived.bytes()).unwrap_err();
    assert_eq!(error, farlink_wire::WireError::TcpChecksum);
}

/// If the sequence number rises by as much as the window shrinks, the checksum stays the same. The
/// receiver then accepts the packet after the loss.
#[test]
fn wrong_headers_are_accepted_if_the_checksum_still_matches() {
    let ack = |number: u32, ack: u32, window: u16| {
        let segment = Segment {
            flags: Flags::ACK,
            ack: Seq(ack),
            window,
            ..Segment::default()
        };
        packet(number, Payload::Tcp(segment))
    };
    let mut link = direction();
    let packets = [ack(0, 1000, 4000), ack(1, 1500, 3500), ack(2, 1600, 3500)];
    for (number, item) in (0..).zip(&packets) {
        send(&mut link, number, item);
    }
    link.restore(NOW, PacketId(0), &mut packets[0].clone());
    let mut arrived = packets[2].clone();
    link.restore(NOW, PacketId(2), &mut arrived);
    assert!(!arrived.corrupt);
    let text = arrived.tcp().map(|s| (s.ack, s.window));
    assert_eq!(text, Some((Seq(1100), 4000)));
    assert_eq!(link.stats().wrong, 1);
}

/// A compressed packet without a connection number belongs to the connection of the previous
/// packet. If that packet is lost, the decompressor uses another connection, and the packet is
/// marked corrupt.
#[test]
fn lost_connection_number_makes_packets_corrupt() {
    let other = |number: u32| {
        let mut packet = data(number);
        if let Payload::Tcp(segment) = &mut packet.payload {
            segment.src_port = 5001;
        }
        packet
    };
    let mut link = direction();
    for (number, item) in (0..).zip([data(0), other(1), data(2), data(3)]) {
        send(&mut link, number, &item);
    }
    link.restore(NOW, PacketId(0), &mut data(0));
    link.restore(NOW, PacketId(1), &mut other(1));
    // Packet 2, which named the first connection, is lost.
    let mut arrived = data(3);
    link.restore(NOW, PacketId(3), &mut arrived);
    assert!(arrived.corrupt);
    assert_eq!(arrived.ports(), (5000, 80), "for its own flow to count");
}

/// The decompressor discards a frame that fails its check sequence, and all following packets
/// without a connection number. A frame lost to bit errors has the same effect from its arrival
/// time on.
#[test]
fn packets_after_a_damaged_frame_are_discarded() {
    let at = Instant::from_nanos;
    let mut link = direction();
    for number in 0..6 {
        send(&mut link, number, &data(number));
    }
    link.restore(at(10), PacketId(0), &mut data(0));
    link.on_damage(PacketId(1));
    let fate = link.restore(at(20), PacketId(1), &mut data(1));
    assert_eq!(fate, Restored::Discarded);
    assert_eq!(link.stats().tossed, 0, "that one was damaged itself");
    assert_eq!(
        link.restore(at(30), PacketId(2), &mut data(2)),
        Restored::Discarded
    );
    assert_eq!(link.stats().tossed, 1);

    let mut link = direction();
    for number in 0..6 {
        send(&mut link, number, &data(number));
    }
    link.on_loss(at(5), DropCause::BitError, at(25));
    for (number, time) in [(0, 10), (1, 20)] {
        let mut arrived = data(number);
        assert_eq!(
            link.restore(at(time), PacketId(number), &mut arrived),
            Restored::Forwarded
        );
        assert!(!arrived.corrupt);
    }
    assert_eq!(
        link.restore(at(30), PacketId(3), &mut data(3)),
        Restored::Discarded
    );
    // A retransmission is sent with full headers, which restores the decompressor's state.
    send(&mut link, 7, &data(2));
    let mut again = data(2);
    assert_eq!(
        link.restore(at(40), PacketId(7), &mut again),
        Restored::Forwarded
    );
    assert_eq!(again, data(2));
    assert_eq!(link.stats().uncompressed, 2);
}

#[test]
fn list_of_errors_stays_short_without_arrivals() {
    let mut link = direction();
    for n in 0..10_000_u64 {
        let now = Instant::from_nanos(n * 10);
        link.on_loss(now, DropCause::BitError, Instant::from_nanos(n * 10 + 25));
    }
    assert!(link.errors.len() < 6, "{}", link.errors.len());
}

/// A duplicated frame makes the decompressor apply its differences twice.
#[test]
fn duplicate_and_following_packet_have_wrong_headers() {
    let mut link = direction();
    for number in 0..3 {
        send(&mut link, number, &data(number));
    }
    link.on_duplicate(PacketId(1), PacketId(9));
    link.restore(NOW, PacketId(0), &mut data(0));
    let mut corrupt = Vec::new();
    for (number, of) in [(1, 1), (9, 1), (2, 2)] {
        let mut arrived = data(of);
        link.restore(NOW, PacketId(number), &mut arrived);
        corrupt.push(arrived.corrupt);
    }
    assert_eq!(corrupt, [false, true, true]);
}

/// An ECN mark or a change of options is sent with full headers. If that packet is lost, the
/// decompressor's stale header makes the next packet corrupt.
#[test]
fn loss_of_full_headers_makes_next_packet_corrupt() {
    let mut link = direction();
    let marked = |number| {
        let mut packet = data(number);
        packet.set_ecn(Ecn::Ce);
        packet
    };
    send(&mut link, 0, &data(0));
    assert_eq!(send(&mut link, 1, &marked(1)), 140);
    assert_eq!(send(&mut link, 2, &marked(2)), 103);
    link.restore(NOW, PacketId(0), &mut data(0));
    let mut arrived = marked(2);
    link.restore(NOW, PacketId(2), &mut arrived);
    assert!(arrived.corrupt);
    assert_eq!(arrived.ecn(), Ecn::NotEct);
}
