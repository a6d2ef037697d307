//! Heap memory of agents, which depends on the limit on connections and never on the number of
//! connections that occurred.

use farlink_agent::{
    Agent, Crossing, Ebsn, Eln, Limits, LinkEvent, Out, Repair, SenderNotices, Snoop, SnoopConfig,
    Split, SplitSettings, Spoof, SpoofSettings, Verdict, View,
};
use farlink_tcp::{Body, Config, Flags, Instant, Interval, Segment, Seq};
use farlink_wire::{Addresses, NodeId, Packet, PacketId, Payload, Raw};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

/// System allocator that counts the bytes allocated by each thread.
struct Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
}

// SAFETY: every call is forwarded to the system allocator, and counting does not touch the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get() + layout.size() as i64);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as i64);
        // SAFETY: `at` was returned by `alloc` above for this layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Limit on the connections of an agent.
const MAX_CONNECTIONS: usize = 200;
/// Data bytes of a long segment.
const LONG: u32 = 1000;

/// Returns one agent of every kind that keeps state.
fn kinds() -> Vec<(&'static str, Box<dyn Agent>)> {
    let limits = Limits {
        connections: MAX_CONNECTIONS,
        ..Limits::DEFAULT
    };
    let snoop = |repair, notices| {
        let config = SnoopConfig {
            limits,
            repair,
            notices,
            memory: 300_000,
            ..SnoopConfig::DEFAULT
        };
        Box::new(Snoop::new(config)) as Box<dyn Agent>
    };
    let split = |early| {
        let half = || {
            Arc::new(Config {
                send_buffer: 4096,
                ..Config::default()
            })
        };
        Box::new(Split::new(SplitSettings {
            tcp: [half(), half()],
            tcp6: [half(), half()],
            early,
            linger: None,
            stack_delay: Interval::ZERO,
            limits,
            far: None,
        }))
    };
    let partial = SenderNotices::EachPacket { negotiate: false };
    vec![
        ("snoop", snoop(Repair::Resend, SenderNotices::Nothing)),
        ("seqcache", snoop(Repair::Mark, SenderNotices::Nothing)),
        ("ackp", snoop(Repair::Resend, partial)),
        ("ebsn", snoop(Repair::Resend, SenderNotices::BadState)),
        ("ebsn-plain", Box::new(Ebsn::new(limits))),
        ("eln", Box::new(Eln::new(limits))),
        ("split, early", split(true)),
        ("split, through", split(false)),
        (
            "spoof",
            Box::new(Spoof::new(SpoofSettings {
                buffer: 4096,
                tries: 15,
                limits,
            })),
        ),
    ]
}

/// Passes a raw TCP segment of connection `number` through the agent.
fn pass_segment(
    agent: &mut dyn Agent,
    now: Instant,
    number: u32,
    crossing: Crossing,
    segment: Segment,
) {
    let fixed = NodeId(1 + (number >> 15));
    let mobile = NodeId(0);
    let far = (number & 0x7fff) as u16;
    let to_mobile = crossing == Crossing::ToWireless;
    let (src, dst, ports) = if to_mobile {
        (fixed, mobile, (far, 80))
    } else {
        (mobile, fixed, (80, far))
    };
    let mut packet = Packet {
        from_opener: to_mobile,
        ..Packet::new(
            src,
            dst,
            Payload::Tcp(Segment {
                src_port: ports.0,
                dst_port: ports.1,
                window: 1 << 15,
                ..segment
            }),
        )
    };
    let bytes = farlink_wire::encode(&packet, Addresses::of(&packet)).expect("it can be written");
    packet.payload = Payload::Raw(Raw::new(bytes).expect("it is IPv4"));
    let mut out = Out::default();
    let mut view = View::new(&mut packet);
    if let Verdict::Follow(tag) = agent.on_packet(now, PacketId(0), crossing, &mut view, &mut out) {
        agent.on_sent(now, tag, LinkEvent::Departed(now), &mut out);
    }
    while agent.deadline().is_some_and(|at| at <= now) {
        agent.on_deadline(now, &mut out);
    }
}

/// Opens connections that each send two segments with a gap between and then stay silent. Returns
/// the bytes that the agent holds at the end, and their maximum.
fn held(agent: &mut dyn Agent, connections: u32, pause: Interval) -> (i64, i64) {
    let before = HELD.get();
    let mut now = Instant::ZERO;
    let mut max = 0;
    let segment = |flags, seq, ack, len: u32| Segment {
        flags,
        seq: Seq(seq),
        ack: Seq(ack),
        body: Body::of_bytes(&vec![7; len as usize]),
        ..Segment::default()
    };
    for number in 0..connections {
        let syn = segment(Flags::SYN, 0, 0, 0);
        let answer = segment(Flags::SYN.with(Flags::ACK), 0, 1, 0);
        let data = |seq| segment(Flags::ACK, seq, 1, LONG);
        let (to, from) = (Crossing::ToWireless, Crossing::FromWireless);
        pass_segment(agent, now, number, to, syn);
        pass_segment(agent, now, number, from, answer);
        pass_segment(agent, now, number, to, data(1));
        pass_segment(agent, now, number, to, data(1 + 2 * LONG));
        now += pause;
        if number % 64 == 0 {
            max = max.max(HELD.get() - before);
        }
    }
    (HELD.get() - before, max)
}

/// Five times as many connections need no more memory. Without pauses most connections find no
/// room; with pauses idle connections are replaced.
fn is_bounded(connections: u32) {
    for pause in [Interval::ZERO, Interval::from_millis(700)] {
        let few: Vec<_> = kinds()
            .into_iter()
            .map(|(_, mut agent)| held(agent.as_mut(), connections / 5, pause).1)
            .collect();
        for ((name, mut agent), few) in kinds().into_iter().zip(few) {
            let (_, many) = held(agent.as_mut(), connections, pause);
            assert!(few > 20_000, "{name} keeps something: {few}");
            assert!(
                many <= few + few / 10,
                "{name}: {few} B, and {many} B with five times the connections"
            );
            assert!(many < 4_000_000, "{name}: {many} B");
        }
    }
}

#[test]
fn memory_is_bounded_under_many_connections() {
    is_bounded(3000);
}

#[test]
#[ignore = "takes minutes without optimisation: make test-long"]
fn memory_is_bounded_under_a_hundred_thousand_connections() {
    is_bounded(100_000);
}
