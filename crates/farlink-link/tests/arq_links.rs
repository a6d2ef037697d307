//! Whole links: invariants under random loss, duplication and delay of frames, and throughput
//! against closed forms.

use farlink_channel::rng::{Probability, Streams};
use farlink_channel::{Channel, Distribution, DropCause, Duplicate, Jitter, Loss, Stage};
use farlink_link::LinkConfig;
use farlink_link::arq::{
    ArqConfig, ArqLink, GiveUp, LapbConfig, MdlpConfig, Output, Protocol, RetryFrom, RlpConfig, Tag,
};
use farlink_link::mac::{Access, Mac};
use farlink_tcp::{Instant, Interval};
use proptest::prelude::*;

/// Channel and MAC access of both directions.
#[derive(Clone, Copy, Debug)]
struct Medium {
    loss: [f64; 2],
    duplicate: f64,
    jitter: Interval,
    keep_order: bool,
    access: Access,
    delay: Interval,
}

const CLEAN: Medium = Medium {
    loss: [0.0, 0.0],
    duplicate: 0.0,
    jitter: Interval::ZERO,
    keep_order: true,
    access: Access::None,
    delay: Interval::ZERO,
};

fn arq(protocol: Protocol, medium: Medium, seed: u64) -> ArqLink {
    let streams = Streams::new(seed, 0);
    let p = |value| Probability::new(value).unwrap();
    let half = |from: usize| {
        let stream = |name: &str| streams.stream(&format!("{from}/{name}"));
        let jitter = Distribution::Uniform {
            low: Interval::ZERO,
            high: medium.jitter,
        };
        let stages = vec![
            Stage::Loss(Loss::new(p(medium.loss[from]), stream("loss"))),
            Stage::Duplicate(Duplicate::new(p(medium.duplicate), stream("duplicate"))),
            Stage::Jitter(Jitter::new(jitter, medium.keep_order, stream("jitter")).unwrap()),
        ];
        let link = LinkConfig::plain(19_200, medium.delay);
        let mac = Mac::new(medium.access, 19_200, stream("mac"));
        (link, Channel::new(stages), mac)
    };
    let config = ArqConfig {
        protocol,
        header: 6,
        supervisory: 6,
        status: 8,
    };
    ArqLink::new(config, [half(0), half(1)]).unwrap()
}

/// Arrived and lost packets of each direction, in order.
#[derive(Default, Debug)]
struct Fates {
    arrived: [Vec<u32>; 2],
    lost: [Vec<u32>; 2],
}

impl Fates {
    fn take(&mut self, outputs: &mut Vec<Output>) {
        for output in outputs.drain(..) {
            match output {
                Output::Arrived { from, packet } => self.arrived[from].push(packet),
                Output::Lost {
                    from,
                    packet,
                    cause,
                } => {
                    assert_eq!(cause, DropCause::LinkGiveUp);
                    self.lost[from].push(packet);
                }
                Output::Sent { .. } => panic!("nobody wants to know"),
            }
        }
    }

    fn decided(&self) -> usize {
        let count = |lists: &[Vec<u32>; 2]| lists[0].len() + lists[1].len();
        count(&self.arrived) + count(&self.lost)
    }
}

/// Limit on the number of events, which detects a link that never becomes idle.
const MAX_STEPS: u32 = 2_000_000;

/// Offers packets at random times and runs the link until the fate of each is decided.
fn carry(arq: &mut ArqLink, packets: [u32; 2], gap: Interval) -> Fates {
    let mut fates = Fates::default();
    let mut outputs = Vec::new();
    let mut next = [0, 0];
    let due = |from: usize, next: u32| {
        if next < packets[from] {
            Instant::ZERO + gap * u64::from(next)
        } else {
            Instant::MAX
        }
    };
    let limit = Instant::ZERO + Interval::from_secs(100_000);
    let mut steps = 0;
    while fates.decided() < (packets[0] + packets[1]) as usize {
        let now = due(0, next[0]).min(due(1, next[1])).min(arq.deadline());
        assert!(now < limit, "stuck: {fates:?} of {packets:?}");
        steps += 1;
        assert!(steps < MAX_STEPS, "time stands still: {now:?}");
        arq.advance(now, &mut outputs);
        fates.take(&mut outputs);
        for (from, next) in next.iter_mut().enumerate() {
            if due(from, *next) <= now {
                let len = 20 + *next * 37 % 109;
                arq.offer(now, from, *next, len, Tag::default()).unwrap();
                *next += 1;
            }
        }
    }
    fates
}

/// Checks the invariants of every protocol.
fn assert_invariants(
    arq: &ArqLink,
    fates: &Fates,
    packets: [u32; 2],
    in_sequence: bool,
    reliable: bool,
) {
    for (from, packets) in packets.into_iter().enumerate() {
        let (arrived, lost) = (&fates.arrived[from], &fates.lost[from]);
        let mut all: Vec<u32> = arrived.iter().chain(lost).copied().collect();
        all.sort_unstable();
        assert!(
            all.iter().copied().eq(0..packets),
            "not each packet once: {all:?}"
        );
        if in_sequence {
            assert!(arrived.is_sorted(), "out of sequence: {arrived:?}");
        }
        let resets = arq.arq_stats(0).resets + arq.arq_stats(1).resets;
        assert!(
            lost.is_empty() || !reliable || resets > 0,
            "lost without a reset: {lost:?}"
        );
        let drops = arq.stats(from).drops[DropCause::LinkGiveUp as usize];
        assert_eq!(drops, lost.len() as u64);
    }
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![
        Just(Access::None),
        (1..50u64).prop_map(|ms| Access::Constant(Interval::from_millis(ms))),
        (1..20u64).prop_map(|ms| Access::Exponential(Interval::from_millis(ms))),
    ]
}

fn medium(keep_order: impl Strategy<Value = bool>) -> impl Strategy<Value = Medium> {
    let loss = || prop_oneof![Just(0.0), 0.0..0.6];
    let duplicate = prop_oneof![Just(0.0), 0.0..0.5];
    (
        (loss(), loss(), duplicate, 0..300u64),
        (keep_order, access(), 0..200u64),
    )
        .prop_map(
            |((a, b, duplicate, jitter), (keep_order, access, delay))| Medium {
                loss: [a, b],
                duplicate,
                jitter: Interval::from_millis(jitter),
                keep_order,
                access,
                delay: Interval::from_millis(delay),
            },
        )
}

/// Returns never, reset or best effort after a few time-outs. T1 exceeds the longest round-trip
/// time of [`medium`].
fn give_up() -> impl Strategy<Value = GiveUp> {
    prop_oneof![
        Just(GiveUp::Never),
        (1..5u32).prop_map(GiveUp::Reset),
        (1..5u32).prop_map(GiveUp::BestEffort),
    ]
}

fn retry_from() -> impl Strategy<Value = RetryFrom> {
    prop_oneof![Just(RetryFrom::LastFrame), Just(RetryFrom::FirstFrame)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3 / 5))]

    #[test]
    fn lapb_delivers_once_and_in_sequence(
        medium in medium(any::<bool>()),
        window in 1..=15u8,
        poll: bool,
        retry_from in retry_from(),
        packets in [0..60u32, 0..60u32],
        gap in 0..200u64,
        seed: u64,
    ) {
        let config = LapbConfig { window, poll, retry_from, ..LapbConfig::default() };
        let mut arq = arq(Protocol::Lapb(config), medium, seed);
        let fates = carry(&mut arq, packets, Interval::from_millis(gap));
        assert_invariants(&arq, &fates, packets, true, true);
    }

    #[test]
    fn lapb_modulo_8_and_resets_on_a_link_that_keeps_order(
        medium in medium(Just(true)),
        window in 1..=7u8,
        give_up in give_up(),
        retry_from in retry_from(),
        packets in [0..60u32, 0..60u32],
        gap in 0..200u64,
        seed: u64,
    ) {
        let t1 = Interval::from_secs(3);
        let config = LapbConfig { modulus: 8, window, t1, retry_from, give_up, ..LapbConfig::default() };
        let mut arq = arq(Protocol::Lapb(config), medium, seed);
        let fates = carry(&mut arq, packets, Interval::from_millis(gap));
        assert_invariants(&arq, &fates, packets, true, !matches!(give_up, GiveUp::BestEffort(_)));
    }

    #[test]
    fn mdlp_delivers_once(
        medium in medium(any::<bool>()),
        window in 1..=15u8,
        in_sequence: bool,
        srej_repeat: bool,
        retry_from in retry_from(),
        packets in [0..60u32, 0..60u32],
        gap in 0..200u64,
        seed: u64,
    ) {
        let config = MdlpConfig {
            window,
            in_sequence,
            srej_repeat,
            retry_from,
            ..MdlpConfig::default()
        };
        let mut arq = arq(Protocol::Mdlp(config), medium, seed);
        let fates = carry(&mut arq, packets, Interval::from_millis(gap));
        assert_invariants(&arq, &fates, packets, in_sequence, true);
    }

    #[test]
    fn mdlp_modulo_8_and_resets_on_a_link_that_keeps_order(
        medium in medium(Just(true)),
        window in 1..=3u8,
        in_sequence: bool,
        srej_repeat: bool,
        answer_ends_count: bool,
        give_up in give_up(),
        retry_from in retry_from(),
        packets in [0..60u32, 0..60u32],
        gap in 0..200u64,
        seed: u64,
    ) {
        let config = MdlpConfig {
            modulus: 8,
            window,
            t200: Interval::from_secs(3),
            in_sequence,
            srej_repeat,
            retry_from,
            give_up,
            answer_ends_count,
            ..MdlpConfig::default()
        };
        let mut arq = arq(Protocol::Mdlp(config), medium, seed);
        let fates = carry(&mut arq, packets, Interval::from_millis(gap));
        assert_invariants(&arq, &fates, packets, in_sequence, !matches!(give_up, GiveUp::BestEffort(_)));
    }

    #[test]
    fn rlp_delivers_once(
        medium in medium(any::<bool>()),
        window in 1..=15u8,
        in_sequence: bool,
        limit in prop_oneof![Just(None), (0..4000u64).prop_map(Some)],
        packets in [0..60u32, 0..60u32],
        gap in 0..200u64,
        seed: u64,
    ) {
        let config = RlpConfig {
            window,
            in_sequence,
            max_recovery_delay: limit.map(Interval::from_millis),
            ..RlpConfig::default()
        };
        let mut arq = arq(Protocol::Rlp(config), medium, seed);
        let fates = carry(&mut arq, packets, Interval::from_millis(gap));
        assert_invariants(&arq, &fates, packets, in_sequence, limit.is_none());
    }
}

/// Packet bytes in the closed forms. With 6 bytes of header a frame takes 56.25 ms.
const LEN: u32 = 129;
const FRAME_SECONDS: f64 = (LEN as f64 + 6.0) * 8.0 / 19_200.0;

/// Runs the link until `end`.
fn run_until(arq: &mut ArqLink, end: Instant, outputs: &mut Vec<Output>) {
    let mut steps = 0;
    while arq.deadline() <= end {
        arq.advance(arq.deadline(), outputs);
        steps += 1;
        assert!(steps < MAX_STEPS, "time stands still");
    }
}

/// Returns the mean time per packet of a saturated sender, without the time of its own status
/// frames, and the link.
fn saturated(protocol: Protocol, medium: Medium, packets: usize) -> (f64, ArqLink) {
    let mut arq = arq(protocol, medium, 11);
    let mut outputs = Vec::new();
    let (mut offered, mut arrived) = (0, 0);
    let mut now = Instant::ZERO;
    let mut steps = 0;
    while arrived < packets {
        while arq.waiting(0).0 < 4 {
            arq.offer(now, 0, offered, LEN, Tag::default()).unwrap();
            offered += 1;
            assert!(offered as usize <= 2 * packets, "none waits, and few come");
        }
        now = arq.deadline();
        assert!(now < Instant::MAX, "stuck after {arrived} packets");
        arq.advance(now, &mut outputs);
        arrived += outputs.drain(..).count();
        steps += 1;
        assert!(steps < MAX_STEPS, "time stands still: {now:?}");
    }
    let status = match protocol {
        Protocol::Rlp(_) => 8.0 * 8.0 / 19_200.0,
        _ => 0.0,
    };
    let status = arq.arq_stats(0).supervisory as f64 * status;
    ((now.as_secs_f64() - status) / packets as f64, arq)
}

fn lossy(loss: f64) -> Medium {
    Medium {
        loss: [loss, 0.0],
        ..CLEAN
    }
}

/// Compares the mean time per packet with `expected`, given the standard deviation of one packet.
#[track_caller]
fn assert_time(measured: f64, expected: f64, deviation: f64, packets: usize) {
    let error = 4.0 * deviation / (packets as f64).sqrt() + expected * 1e-3;
    assert!(
        (measured - expected).abs() < error,
        "{measured} s a packet, expected {expected} +- {error}"
    );
}

#[test]
fn without_loss_every_protocol_fills_the_link() {
    let protocols = [
        Protocol::Plain,
        Protocol::Lapb(LapbConfig::default()),
        Protocol::Mdlp(MdlpConfig::default()),
        Protocol::Rlp(RlpConfig::default()),
    ];
    for protocol in protocols {
        let (time, arq) = saturated(protocol, CLEAN, 2000);
        assert_time(time, FRAME_SECONDS, 0.0, 2000);
        assert_eq!(arq.arq_stats(0).retransmitted, 0);
        assert_eq!(arq.stats(0).bytes, arq.stats(0).packets * u64::from(LEN));
        // An exponential access delay adds its mean to each frame.
        let access = Access::Exponential(Interval::from_millis(10));
        let (time, arq) = saturated(protocol, Medium { access, ..CLEAN }, 20_000);
        let accesses = 1.0 + arq.arq_stats(0).supervisory as f64 / 20_000.0;
        assert_time(time, FRAME_SECONDS + 0.01 * accesses, 0.01, 20_000);
    }
}

/// Ideal selective repeat sends each frame 1 / (1 - p) times, and only the sender's own status
/// frames take further time. RLP reaches this while its window stays open. With a status every 20
/// ms and a window of 63 frames of 56 ms (3.5 s), it rarely closes up to p = 0.2.
#[test]
fn rlp_reaches_the_closed_form_of_selective_repeat() {
    let config = RlpConfig {
        window: 63,
        status_period: Interval::from_millis(20),
        min_interval: Interval::from_millis(30),
        ..RlpConfig::default()
    };
    for p in [0.05, 0.2] {
        let packets = 20_000;
        let (time, arq) = saturated(Protocol::Rlp(config), lossy(p), packets);
        let mean = FRAME_SECONDS / (1.0 - p);
        let deviation = FRAME_SECONDS * p.sqrt() / (1.0 - p);
        assert_time(time, mean, deviation, packets);
        assert_eq!(arq.arq_stats(0).duplicates, 0);
    }
}

/// An SREJ repairs a first loss with one retransmission, so MDLP equals selective repeat while no
/// retransmission is lost.
#[test]
fn mdlp_repairs_first_losses_one_by_one() {
    let packets = 20_000;
    let p = 0.002;
    let (time, arq) = saturated(Protocol::Mdlp(MdlpConfig::default()), lossy(p), packets);
    let stats = arq.arq_stats(0);
    // Each loss costs one frame time. The rare loss of a retransmission costs T200 and resent
    // frames.
    assert!(stats.lost > 20, "{stats:?}");
    assert!(stats.duplicates < 20, "{stats:?}");
    assert!(
        time < FRAME_SECONDS * (1.0 + p)
            + p * p * 3.0
            + 4.0 * FRAME_SECONDS * (p / 20_000.0).sqrt()
            + 1e-4
    );
    assert!(time > FRAME_SECONDS * (1.0 + p) - 4.0 * FRAME_SECONDS * (p / 20_000.0).sqrt());
}

/// Go-back-N with one REJ per loss; T is the frame time, k the window. The next frame reveals a
/// first loss. REJ takes 2.5 ms and arrives while the third frame is being sent, so three frames
/// are wasted. A lost retransmission causes no REJ: the sender completes its window of k frames and
/// waits for T1. The time per packet is thus T + 3 T p + (k T + T1) p^2 / (1 - p).
#[test]
fn lapb_is_go_back_n_in_closed_form() {
    let t = FRAME_SECONDS;
    for (p, window) in [(0.02, 15), (0.1, 15), (0.3, 7)] {
        let config = LapbConfig {
            window,
            // Acknowledgments must be frequent enough to keep the window open.
            t2: Interval::from_millis(100),
            ..LapbConfig::default()
        };
        let packets = 40_000;
        let (time, arq) = saturated(Protocol::Lapb(config), lossy(p), packets);
        let cycle = f64::from(window) * t + 1.0;
        let mean = t + 3.0 * t * p + cycle * p * p / (1.0 - p);
        // Second moment of the time beyond T: 3 T with probability p, and a geometric number of
        // cycles.
        let square = p * (3.0 * t).powi(2)
            + 2.0 * 3.0 * t * cycle * p * p / (1.0 - p)
            + cycle.powi(2) * p * p * (1.0 + p) / (1.0 - p).powi(2);
        let deviation = (square - (mean - t).powi(2)).sqrt();
        assert_time(time, mean, deviation, packets);
        assert_eq!(arq.arq_stats(0).duplicates, 0);
    }
}

#[test]
fn plain_protocol_reports_loss_cause_of_the_channel() {
    let mut arq = arq(Protocol::Plain, lossy(1.0), 1);
    let mut outputs = Vec::new();
    arq.offer(Instant::ZERO, 0, 7, LEN, Tag::default()).unwrap();
    run_until(
        &mut arq,
        Instant::ZERO + Interval::from_secs(1),
        &mut outputs,
    );
    assert_eq!(
        outputs,
        [Output::Lost {
            from: 0,
            packet: 7,
            cause: DropCause::Loss
        }]
    );
    assert_eq!(arq.stats(0).drops[DropCause::Loss as usize], 1);
}

/// Counters of window occupancy and delay for one packet.
#[test]
fn delay_and_occupancy_are_counted() {
    let mut arq = arq(Protocol::Rlp(RlpConfig::default()), CLEAN, 1);
    let mut outputs = Vec::new();
    arq.offer(Instant::ZERO, 0, 0, LEN, Tag::default()).unwrap();
    let second = Instant::ZERO + Interval::from_secs(1);
    run_until(&mut arq, second, &mut outputs);
    let stats = *arq.arq_stats(0);
    assert_eq!((stats.accepted, stats.delay), (1, 56_250_000));
    assert_eq!((stats.information, stats.retransmitted), (1, 0));
    assert_eq!(stats.window_max, 1);
    // The packet is unacknowledged until the status frame of 200 ms arrives after 3.333333 ms (8
    // bytes).
    assert_eq!(arq.window_area(0, second), 203_333_333);
    assert_eq!(arq.arq_stats(1).supervisory, 5);
}

#[test]
fn transport_retransmission_during_recovery_counts_as_competing() {
    let mut arq = arq(Protocol::Rlp(RlpConfig::default()), lossy(1.0), 1);
    let mut outputs = Vec::new();
    let tag = |seq: u32, len| Tag {
        stream: 3,
        seq,
        len,
        low: false,
    };
    let offers = [
        (tag(u32::MAX - 99, 100), 0),
        (tag(0, 100), 0),
        // The same data again, overlapping data, other data, another stream, no data.
        (tag(0, 100), 1),
        (tag(u32::MAX, 2), 2),
        (tag(100, 100), 2),
        (
            Tag {
                stream: 4,
                ..tag(0, 100)
            },
            2,
        ),
        (tag(0, 0), 2),
    ];
    for (packet, (tag, competing)) in (0..).zip(offers) {
        let now = Instant::ZERO + Interval::from_millis(100) * u64::from(packet);
        run_until(&mut arq, now, &mut outputs);
        arq.offer(now, 0, packet, LEN, tag).unwrap();
        assert_eq!(arq.arq_stats(0).competing, competing, "packet {packet}");
    }
    assert_eq!(outputs, []);
}

/// If access takes a status period or longer, status and information frames alternate. RLP is then
/// slower by a bounded factor, and neither kind of frame starves.
#[test]
fn rlp_delivers_when_access_takes_longer_than_a_status_period() {
    for delay in [0, 50, 150, 200, 400, 1000] {
        let medium = Medium {
            access: Access::Constant(Interval::from_millis(delay)),
            ..CLEAN
        };
        let (rlp, _) = saturated(Protocol::Rlp(RlpConfig::default()), medium, 60);
        let (plain, _) = saturated(Protocol::Plain, medium, 60);
        assert!(rlp < 4.0 * plain, "{delay} ms: {rlp} s, {plain} s without");
    }
}
