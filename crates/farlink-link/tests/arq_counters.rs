//! Counters, losses and reports of a link with a protocol, checked packet by packet.

use farlink_channel::fec::BlockCode;
use farlink_channel::rng::{Probability, Streams};
use farlink_channel::{
    Channel, Corrupt, DropCause, Duplicate, Loss, Passage, Process, Sampling, Scripted, Stage,
    Theory,
};
use farlink_link::arq::{
    ArqConfig, ArqError, ArqLink, Entity, FrameKind, GiveUp, Item, LapbConfig, MdlpConfig, Output,
    Protocol, RlpConfig, SentFrame, Tag,
};
use farlink_link::mac::{Access, CsmaCa, Mac};
use farlink_link::{LinkConfig, QueueLimit};
use farlink_tcp::{Instant, Interval, Priority};

/// Packet length for which a frame takes 10 ms: 18 bytes and 6 of frame header at 19.2 kbit/s.
const LEN: u32 = 18;
const RATE: u64 = 19_200;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Interval::from_millis(ms)
}

fn link() -> LinkConfig {
    LinkConfig::plain(RATE, Interval::from_millis(5))
}

/// Creates a link whose forward direction has these parameters and channel stages. The return
/// direction is clean.
fn arq(protocol: Protocol, link: LinkConfig, stages: Vec<Stage>, access: Access) -> ArqLink {
    let config = ArqConfig {
        protocol,
        header: 6,
        supervisory: 12,
        status: 24,
    };
    let mac = |access, name| Mac::new(access, RATE, Streams::new(1, 0).stream(name));
    let forward = (link, Channel::new(stages), mac(access, "there"));
    let back = (link, Channel::default(), mac(Access::None, "back"));
    ArqLink::new(config, [forward, back]).unwrap()
}

fn lapb(window: u8) -> Protocol {
    Protocol::Lapb(LapbConfig {
        window,
        ..LapbConfig::default()
    })
}

fn clean(protocol: Protocol) -> ArqLink {
    arq(protocol, link(), Vec::new(), Access::None)
}

/// Runs the link until `end`. Returns its outputs.
fn run_until(arq: &mut ArqLink, end: Instant) -> Vec<Output> {
    let mut outputs = Vec::new();
    let mut steps = 0;
    while arq.deadline() <= end {
        arq.advance(arq.deadline(), &mut outputs);
        steps += 1;
        assert!(steps < 100_000, "time stands still");
    }
    outputs
}

fn data(low: bool) -> Tag {
    Tag {
        stream: 1,
        seq: 0,
        len: 10,
        low,
    }
}

/// Refuses windows of 0 or above the modulus' limit, other moduli and timers of 0. Accepts the
/// largest window and the shortest timer.
#[test]
fn invalid_parameters_are_refused() {
    let item = Interval::from_nanos(1);
    let of = |protocol: &str, modulus, window, time| match protocol {
        "lapb" => Protocol::Lapb(LapbConfig {
            modulus,
            window,
            t1: time,
            ..LapbConfig::default()
        }),
        "mdlp" => Protocol::Mdlp(MdlpConfig {
            modulus,
            window,
            t200: time,
            ..MdlpConfig::default()
        }),
        _ => Protocol::Rlp(RlpConfig {
            modulus,
            window,
            status_period: time,
            ..RlpConfig::default()
        }),
    };
    let refused = |protocol: &Protocol| Entity::new(protocol).err();
    for (name, timer, largest) in [
        ("lapb", "T1", [7, 127]),
        ("mdlp", "T200", [3, 63]),
        ("rlp", "status period", [3, 63]),
    ] {
        for (modulus, most) in [8, 128].into_iter().zip(largest) {
            for window in [1, most] {
                assert_eq!(refused(&of(name, modulus, window, item)), None);
            }
            for window in [0, most + 1] {
                let error = ArqError::Window {
                    window,
                    modulus,
                    most,
                };
                assert_eq!(refused(&of(name, modulus, window, item)), Some(error));
            }
            let none = of(name, modulus, 1, Interval::ZERO);
            assert_eq!(refused(&none), Some(ArqError::NoTime(timer)));
        }
        for modulus in [0, 7, 9, 64, 129] {
            let error = ArqError::Modulus(modulus);
            assert_eq!(refused(&of(name, modulus, 1, item)), Some(error));
        }
    }
}

/// The queue limit counts only packets that wait, neither those in the window nor at the MAC. A
/// closed window makes the next packet wait although the MAC is idle.
#[test]
fn queue_limit_counts_packets_in_front_of_the_window() {
    for queue in [
        QueueLimit::Packets(2),
        QueueLimit::Bytes(2 * u64::from(LEN)),
    ] {
        let config = LinkConfig { queue, ..link() };
        let mut arq = arq(lapb(2), config, Vec::new(), Access::None);
        for packet in 0..3 {
            assert!(arq.offer(at(0), 0, packet, LEN, data(packet == 2)).is_ok());
        }
        assert_eq!(arq.waiting_changed(0), Some((2, 2 * u64::from(LEN))));
        assert_eq!(arq.waiting_changed(0), None);
        assert!(arq.offer(at(0), 0, 3, LEN, data(true)).is_err());
        assert!(arq.offer(at(0), 0, 4, LEN, data(false)).is_err());
        let stats = *arq.stats(0);
        assert_eq!(stats.drops[DropCause::Congestion as usize], 2);
        assert_eq!(stats.low_drops[DropCause::Congestion as usize], 1);
        assert_eq!(stats.queue_max, 2);
    }
    let config = LinkConfig {
        queue: QueueLimit::Packets(0),
        ..link()
    };
    let mut arq = arq(lapb(1), config, Vec::new(), Access::None);
    assert!(arq.offer(at(0), 0, 0, LEN, Tag::default()).is_ok());
    run_until(&mut arq, at(12));
    // The window of 1 is closed until the acknowledgment arrives, and the queue has no room.
    assert!(arq.offer(at(12), 0, 1, LEN, Tag::default()).is_err());
    run_until(&mut arq, at(400));
    assert!(arq.offer(at(400), 0, 2, LEN, Tag::default()).is_ok());
    assert_eq!(arq.stats(0).queue_max, 0);
}

/// An ECN-capable packet is to be marked if others wait and they exceed the marking limit.
#[test]
fn packets_are_marked_above_the_marking_limit() {
    let config = LinkConfig {
        mark: QueueLimit::Packets(1),
        ..link()
    };
    let mut arq = arq(lapb(7), config, Vec::new(), Access::None);
    assert!(!arq.congested(0, LEN));
    arq.offer(at(0), 0, 0, LEN, Tag::default()).unwrap();
    assert!(!arq.congested(0, LEN), "none waits");
    arq.offer(at(0), 0, 1, LEN, Tag::default()).unwrap();
    assert!(arq.congested(0, LEN) && !arq.congested(1, LEN));
    arq.count_mark(0);
    arq.count_mark(0);
    arq.count_drop(0, DropCause::Checksum, Priority::Low);
    arq.count_drop(0, DropCause::Checksum, Priority::Normal);
    let stats = arq.stats(0);
    assert_eq!(stats.marks, 2);
    assert_eq!(stats.drops[DropCause::Checksum as usize], 2);
    assert_eq!(stats.low_drops[DropCause::Checksum as usize], 1);
    // Even with a limit of 0 packets no packet is marked while none waits.
    let config = LinkConfig {
        mark: QueueLimit::Packets(0),
        ..link()
    };
    let empty = self::arq(lapb(7), config, Vec::new(), Access::None);
    assert!(!empty.congested(0, LEN));
}

/// Sends three packets of 10 ms. The receiver acknowledges them 300 ms after the first arrived, by
/// a frame of 12 bytes (5 ms). Checks all counters to the nanosecond.
#[test]
fn packets_frames_and_times_are_counted() {
    let mut arq = clean(lapb(3));
    arq.watch();
    arq.offer(at(0), 0, 10, LEN, data(false)).unwrap();
    arq.offer(at(0), 0, 11, LEN, data(true)).unwrap();
    arq.offer(at(0), 0, 12, LEN, Tag::default()).unwrap();
    let outputs = run_until(&mut arq, at(1000));
    let arrived = [10, 11, 12].map(|packet| Output::Arrived { from: 0, packet });
    assert_eq!(outputs, arrived);
    let stats = *arq.stats(0);
    assert_eq!((stats.packets, stats.bytes), (3, 3 * u64::from(LEN)));
    assert_eq!((stats.data, stats.low_packets), (2, 1));
    assert_eq!(stats.busy, 30_000_000);
    let frames = *arq.arq_stats(0);
    assert_eq!((frames.information, frames.supervisory), (3, 0));
    assert_eq!((frames.accepted, frames.delay), (3, 3 * 15_000_000));
    assert_eq!(frames.window_max, 3);
    assert_eq!(
        (frames.retransmitted, frames.duplicates, frames.discarded),
        (0, 0, 0)
    );
    // The three frames are unacknowledged from 0, 10 and 20 ms to 325 ms: 15 ms arrival, 300 ms T2,
    // 5 ms transmission and 5 ms delay.
    let area = 325_000_000 + 315_000_000 + 305_000_000;
    assert_eq!(arq.window_area(0, at(1000)), area);
    assert_eq!(arq.arq_stats(1).supervisory, 1);
    assert_eq!(arq.stats(1).busy, 5_000_000);
    assert_eq!((arq.stats(1).packets, arq.arq_stats(1).information), (0, 0));
    let sent: Vec<SentFrame> = arq.drain_sent().collect();
    let report: Vec<_> = sent
        .iter()
        .map(|item| (item.at, item.from, item.frame.kind, item.bytes))
        .collect();
    let information = |ms| (at(ms), 0, FrameKind::Information, LEN + 6);
    assert_eq!(
        report,
        [
            information(10),
            information(20),
            information(30),
            (at(320), 1, FrameKind::ReceiveReady, 12),
        ]
    );
    assert!(sent.iter().all(|item| !item.again && !item.lost));
    assert_eq!(arq.drain_sent().count(), 0);
}

/// The second of three frames is lost, and the go-back-N receiver discards the third. Both are
/// retransmitted; the third counts as discarded, not as duplicate.
#[test]
fn retransmitted_packet_is_counted_once() {
    let second = Scripted::new(&[2], 0).unwrap();
    let mut arq = arq(lapb(3), link(), vec![second.into()], Access::None);
    arq.watch();
    for packet in 0..3 {
        arq.offer(at(0), 0, packet, LEN, data(false)).unwrap();
    }
    assert_eq!(run_until(&mut arq, at(900)).len(), 3);
    let stats = *arq.stats(0);
    assert_eq!((stats.packets, stats.data), (3, 3));
    assert_eq!(stats.drops, [0; DropCause::ALL.len()]);
    let frames = *arq.arq_stats(0);
    assert_eq!((frames.information, frames.retransmitted), (5, 2));
    assert_eq!(
        (frames.lost, frames.discarded, frames.duplicates),
        (1, 1, 0)
    );
    // The third frame arrives at 35 ms; REJ takes 5 ms and the delay is 5 ms. Each packet's delay
    // counts from its first handover to the MAC: 0, 10 and 20 ms.
    assert_eq!(frames.accepted, 3);
    assert_eq!(frames.delay, 15_000_000 + 50_000_000 + 50_000_000);
    assert_eq!(stats.busy, 50_000_000);
    let sent: Vec<SentFrame> = arq.drain_sent().filter(|item| item.from == 0).collect();
    assert_eq!(
        sent.iter().map(|item| item.lost).collect::<Vec<_>>(),
        [false, true, false, false, false]
    );
    assert_eq!(
        sent.iter().map(|item| item.again).collect::<Vec<_>>(),
        [false, false, false, true, true]
    );
}

/// Without a recovery protocol a lost packet is counted with the cause of the channel and a
/// corrupted one with `Checksum`; low priority is counted too.
#[test]
fn lost_packet_is_counted_by_cause() {
    let item = || Probability::ONE;
    let stream = || Streams::new(1, 0).stream("stage");
    for (stage, cause) in [
        (Stage::Loss(Loss::new(item(), stream())), DropCause::Loss),
        (
            Stage::Corrupt(Corrupt::new(item(), stream())),
            DropCause::Checksum,
        ),
    ] {
        let mut arq = arq(Protocol::Plain, link(), vec![stage], Access::None);
        arq.offer(at(0), 0, 5, LEN, data(true)).unwrap();
        arq.offer(at(0), 0, 6, LEN, data(false)).unwrap();
        let lost = [5, 6].map(|packet| Output::Lost {
            from: 0,
            packet,
            cause,
        });
        assert_eq!(run_until(&mut arq, at(100)), lost);
        assert_eq!(arq.stats(0).drops[cause as usize], 2);
        assert_eq!(arq.stats(0).low_drops[cause as usize], 1);
        assert_eq!(arq.arq_stats(0).lost, 2);
        assert_eq!(arq.window_area(0, at(100)), 0, "nothing to be acknowledged");
    }
}

/// If the medium is never free, the MAC gives up each frame. Without retransmissions its packet is
/// lost, and no time on the air is counted.
#[test]
fn a_frame_that_the_mac_gives_up_is_an_access_failure() {
    let busy = Access::CsmaCa(CsmaCa {
        symbol: Interval::from_micros(16),
        min_be: 3,
        max_be: 5,
        max_backoffs: 4,
        busy: Probability::ONE,
    });
    let mut arq = arq(Protocol::Plain, link(), Vec::new(), busy);
    arq.offer(at(0), 0, 9, LEN, data(false)).unwrap();
    let lost = Output::Lost {
        from: 0,
        packet: 9,
        cause: DropCause::LinkGiveUp,
    };
    assert_eq!(run_until(&mut arq, at(1000)), [lost]);
    assert_eq!(arq.arq_stats(0).access_failures, 1);
    assert_eq!((arq.stats(0).busy, arq.stats(0).packets), (0, 0));
    assert_eq!(arq.stats(0).drops[DropCause::LinkGiveUp as usize], 1);
}

/// Framing of the link and check symbols of its code count on the wire, and a status frame has its
/// own length. 18 + 6 + 2 bytes make two blocks of 15 bytes with 2 check symbols each.
#[test]
fn frames_have_their_lengths_on_the_wire() {
    let code = BlockCode::new(15, 13, 8, 1).unwrap();
    let config = LinkConfig {
        overhead: 2,
        service: Interval::ZERO,
        fec: Some(code),
        ..link()
    };
    let protocol = Protocol::Rlp(RlpConfig::default());
    let mut arq = arq(protocol, config, Vec::new(), Access::None);
    arq.watch();
    arq.offer(at(0), 0, 0, LEN, Tag::default()).unwrap();
    run_until(&mut arq, at(250));
    let bytes: Vec<_> = arq
        .drain_sent()
        .map(|entry| (entry.frame.kind, entry.bytes))
        .collect();
    assert_eq!(
        bytes,
        [
            (FrameKind::Information, 26 + 2 * 2),
            (FrameKind::Status, 26 + 2 * 2),
            (FrameKind::Status, 26 + 2 * 2),
        ]
    );
    assert_eq!(arq.stats(0).busy, 2 * 30 * 8 * 1_000_000_000 / RATE);
}

/// Waiting and unacknowledged packets of an entity are reported.
#[test]
fn entity_reports_waiting_and_unacknowledged_packets() {
    let mut end = Entity::new(&lapb(2)).unwrap();
    let item = |token| Item {
        token,
        len: 100 + token,
    };
    for token in 0..3 {
        end.offer(item(token));
    }
    assert_eq!(
        (end.waiting(), end.outstanding(), end.is_open()),
        ((3, 303), 0, true)
    );
    let mut outcomes = Vec::new();
    for token in 0..2 {
        let frame = end.poll_frame(&mut outcomes).unwrap();
        assert!(frame.carries());
        assert_eq!((frame.item, u32::from(frame.ns)), (item(token), token));
    }
    assert_eq!(end.poll_frame(&mut outcomes), None);
    assert_eq!(
        (end.waiting(), end.outstanding(), end.is_open()),
        ((1, 102), 2, false)
    );
    assert_eq!(end.unacknowledged().collect::<Vec<_>>(), [item(0), item(1)]);
}

/// Channel stage that delays chosen packets (index from 0), which others may overtake.
#[derive(Clone, Debug)]
struct Held {
    chosen: Vec<(u32, Interval)>,
    packet: u32,
}

impl Process for Held {
    fn pass(&mut self, _: Instant, _: u32, passage: &mut Passage) {
        passage.may_overtake = true;
        let of = |item: &&(u32, Interval)| item.0 == self.packet;
        if let Some(&(_, time)) = self.chosen.iter().find(of) {
            passage.hold = passage.hold + time;
        }
        self.packet += 1;
    }

    fn theory(&self, _: Sampling) -> Theory {
        Theory::default()
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

fn held(chosen: &[(u32, u64)]) -> Stage {
    let times = chosen
        .iter()
        .map(|&(packet, ms)| (packet, Interval::from_millis(ms)));
    Stage::Process(Box::new(Held {
        chosen: times.collect(),
        packet: 0,
    }))
}

/// Six frames are sent 10 ms apart. The first is delayed by 30 ms and arrives together with the
/// fourth, before it. The second is delayed by 45 ms and arrives last.
#[test]
fn delayed_frames_arrive_after_later_ones() {
    let stages = vec![held(&[(0, 30), (1, 45)])];
    let mut arq = arq(Protocol::Plain, link(), stages, Access::None);
    for packet in 0..6 {
        arq.offer(at(0), 0, packet, LEN, Tag::default()).unwrap();
    }
    let arrived = [2, 0, 3, 4, 5, 1].map(|packet| Output::Arrived { from: 0, packet });
    assert_eq!(run_until(&mut arq, at(100)), arrived);
}

/// Duplicates of a received frame are discarded and counted.
#[test]
fn duplicate_frames_are_discarded_and_counted() {
    let copies = Duplicate::new(Probability::ONE, Streams::new(1, 0).stream("copies"));
    let protocol = Protocol::Rlp(RlpConfig::default());
    let mut arq = arq(
        protocol,
        link(),
        vec![Stage::Duplicate(copies)],
        Access::None,
    );
    for packet in 0..3 {
        arq.offer(at(0), 0, packet, LEN, data(false)).unwrap();
    }
    assert_eq!(run_until(&mut arq, at(1000)).len(), 3);
    let frames = arq.arq_stats(0);
    assert_eq!(
        (frames.accepted, frames.duplicates, frames.discarded),
        (3, 3, 0)
    );
}

/// The first frame is delayed until its packet has been retransmitted and all eight numbers used.
/// The receiver takes it for the ninth frame, but its packet is not delivered twice.
#[test]
fn frame_delayed_past_the_wrap_delivers_no_packet_twice() {
    let protocol = Protocol::Lapb(LapbConfig {
        modulus: 8,
        window: 7,
        ..LapbConfig::default()
    });
    let mut arq = arq(protocol, link(), vec![held(&[(0, 3000)])], Access::None);
    for packet in 0..8 {
        arq.offer(at(0), 0, packet, LEN, data(false)).unwrap();
    }
    let arrived: Vec<_> = (0..8)
        .map(|packet| Output::Arrived { from: 0, packet })
        .collect();
    assert_eq!(run_until(&mut arq, at(3014)), arrived);
    assert_eq!(arq.arq_stats(0).duplicates, 0);
    assert_eq!(run_until(&mut arq, at(5000)), []);
    assert_eq!(arq.arq_stats(0).duplicates, 1);
}

/// Two packets compete if they share a byte of the same stream. The first packet has the bytes 100
/// to 109.
#[test]
fn packets_with_a_byte_in_common_compete() {
    let tag = |stream, seq, len| Tag {
        stream,
        seq,
        len,
        low: false,
    };
    for (other, competing) in [
        (tag(1, 90, 10), 0),
        (tag(1, 91, 10), 1),
        (tag(1, 100, 10), 1),
        (tag(1, 104, 2), 1),
        (tag(1, 80, 50), 1),
        (tag(1, 109, 10), 1),
        (tag(1, 110, 10), 0),
        (tag(2, 100, 10), 0),
        (tag(1, 100, 0), 0),
    ] {
        let mut arq = clean(lapb(3));
        arq.offer(at(0), 0, 0, LEN, tag(1, 100, 10)).unwrap();
        arq.offer(at(0), 0, 1, LEN, other).unwrap();
        assert_eq!(arq.arq_stats(0).competing, competing, "{other:?}");
    }
}

/// A SABME of the peer stops the timer of the frames that it invalidates. It does not stop the
/// timer of an own SABME, whose loss nothing else would repair.
#[test]
fn sabme_of_peer_stops_frame_timer_but_not_sabme_timer() {
    let item = || {
        let mut end = Entity::new(&Protocol::Lapb(LapbConfig {
            give_up: GiveUp::Reset(1),
            ..LapbConfig::default()
        }))
        .unwrap();
        end.offer(Item { token: 0, len: LEN });
        end
    };
    let mut outcomes = Vec::new();
    let mut sends = |end: &mut Entity, now, kind| {
        let frame = end.poll_frame(&mut outcomes).unwrap();
        assert_eq!(frame.kind, kind);
        end.confirm(now, &frame);
        frame
    };
    let (mut end, mut other) = (item(), item());
    for end in [&mut end, &mut other] {
        sends(end, at(10), FrameKind::Information);
        assert_eq!(end.deadline(), at(1010));
    }
    let mut void = Vec::new();
    other.timeout(at(1010), &mut void);
    let sabme = sends(&mut other, at(1015), FrameKind::Sabme);
    assert_eq!(other.deadline(), at(2015));
    // This entity has only frames outstanding.
    end.receive(at(1000), &sabme, &mut void);
    assert_eq!(end.deadline(), Instant::MAX);
    sends(&mut end, at(1005), FrameKind::Ua);
    // This entity awaits the answer to its own SABME.
    other.receive(at(1020), &sabme, &mut void);
    assert_eq!(other.deadline(), at(2015));
    sends(&mut other, at(1025), FrameKind::Ua);
    assert_eq!(other.deadline(), at(2015));
}
