//! Tests of alpha, beta, the throughput and the integers of Linux.

use super::*;
use crate::config::{ByteCounting, RtoConfig};
use crate::rto::RttEstimator;

const MSS: u64 = 1000;
const LOSS: Loss = Loss {
    sent_at: Instant::ZERO,
};

fn ms(n: u64) -> Interval {
    Interval::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

fn htcp(settings: &[(&str, Setting)], window: u64) -> Htcp {
    let mut control = Control::new(&Htcp::ALGORITHM);
    for &(name, setting) in settings {
        control = control.with(name, setting);
    }
    let start = Start {
        window: window * MSS,
        ssthresh: 0,
        byte_counting: ByteCounting::Unlimited,
        paced: false,
    };
    Htcp::new(&control, start)
}

const LINUX: (&str, Setting) = ("arithmetic", Setting::Choice("linux"));

fn cx(estimator: &RttEstimator, now: u64, flight: u64) -> Context<'_> {
    Context {
        now: at(now),
        mss: MSS,
        flight: flight * MSS,
        snd_una: 1,
        snd_max: 1 + flight * MSS,
        rtt: estimator,
    }
}

fn ack(segments: u64, rtt: Option<u64>) -> Ack {
    Ack {
        bytes: segments * MSS,
        rtt_sample: None,
        fine_rtt: rtt.map(ms),
        cwnd_limited: true,
    }
}

fn estimator() -> RttEstimator {
    RttEstimator::new(RtoConfig::default())
}

/// alpha(Delta) = 1 + 10 (Delta - 1) + ((Delta - 1) / 2)^2: 1 up to a second, 6.0625 at 1.5 s, 11.25
/// at 2 s, 95 + 0.25 * 81 = 111.25 at 10 s.
#[test]
fn alpha_follows_the_printed_curve() {
    for (delta, expected) in [
        (0.0, 1.0),
        (1.0, 1.0),
        (1.5, 6.0625),
        (2.0, 11.25),
        (10.0, 111.25),
        (101.0, 3501.0),
    ] {
        assert!((alpha(delta) - expected).abs() < 1e-9, "{delta}");
    }
}

/// The increase is 2 (1 - beta) alpha(Delta), and RTT scaling multiplies it by RTT / 100 ms between
/// 1/10 and 2.
#[test]
fn alpha_depends_on_beta_and_is_scaled_by_the_round_trip() {
    let mut control = htcp(&[], 10);
    assert_eq!(control.alpha_now(at(2000)), 11.25);
    control.epoch.beta = 0.8;
    assert!((control.alpha_now(at(2000)) - 0.4 * 11.25).abs() < 1e-9);
    for (rtt, scale) in [(5, 0.1), (50, 0.5), (100, 1.0), (600, 2.0)] {
        let mut control = htcp(&[("rtt_scaling", Setting::Flag(true))], 10);
        control.min_rtt = Some(ms(rtt));
        let alpha = control.alpha_now(at(2000));
        assert!((alpha - 11.25 * scale).abs() < 1e-9, "{rtt}");
    }
}

/// A window of 100 segments grows by alpha / W segments an ACK: 11.25 / 100 two seconds after the
/// last loss. Idle time does not count.
#[test]
fn growth_is_alpha_segments_per_round() {
    let estimator = estimator();
    let mut control = htcp(&[], 100);
    control.on_ack(&cx(&estimator, 2000, 100), &ack(1, None));
    assert_eq!(control.cwnd(), 100_112);
    let mut rested = htcp(&[], 100);
    rested.on_pause(&cx(&estimator, 2000, 0), ms(1500));
    rested.on_ack(&cx(&estimator, 2000, 100), &ack(1, None));
    assert_eq!(rested.cwnd(), 100_010);
    let idle = Ack {
        cwnd_limited: false,
        ..ack(1, None)
    };
    rested.on_ack(&cx(&estimator, 9000, 100), &idle);
    assert_eq!(rested.cwnd(), 100_010);
}

/// beta = RTTmin / RTTmax between 0.5 and 0.8, if the throughput is within 20 % of the one before
/// the last loss. The first loss halves the window.
#[test]
fn beta_is_the_ratio_of_round_trips_unless_the_throughput_changed() {
    for (previous, throughput, most, beta) in [
        (None, 1000.0, 150, 0.5),
        (Some(1000.0), 1000.0, 160, 0.625),
        (Some(1000.0), 1200.0, 160, 0.625),
        (Some(1000.0), 1201.0, 160, 0.5),
        (Some(1000.0), 800.0, 160, 0.625),
        (Some(1000.0), 799.0, 160, 0.5),
        (Some(1000.0), 1000.0, 300, 0.5),
        (Some(1000.0), 1000.0, 110, 0.8),
    ] {
        let estimator = estimator();
        let mut control = htcp(&[], 100);
        control.min_rtt = Some(ms(100));
        control.epoch.max_rtt = ms(most);
        (control.epoch.previous, control.epoch.throughput) = (previous, throughput);
        control.on_loss(&cx(&estimator, 5000, 80), &LOSS);
        assert_eq!(
            control.cwnd(),
            (80_000.0 * beta) as u64,
            "{previous:?} {throughput} {most}"
        );
        assert_eq!(control.epoch.previous, Some(throughput));
        assert_eq!(control.alpha_now(at(5500)), 2.0 * (1.0 - beta));
    }
    let mut plain = htcp(&[("adaptive_backoff", Setting::Flag(false))], 100);
    (plain.min_rtt, plain.epoch.previous) = (Some(ms(100)), Some(0.0));
    plain.epoch.max_rtt = ms(120);
    plain.on_loss(&cx(&estimator(), 5000, 80), &LOSS);
    assert_eq!(plain.cwnd(), 40 * MSS);
}

/// A throughput sample lasts at least RTTmin, and the largest sample is kept. Recovery gives no
/// sample. 20 segments in 100 ms are 200 kB/s.
#[test]
fn throughput_is_the_largest_of_a_round_trip() {
    let estimator = estimator();
    let mut control = htcp(&[], 100);
    control.on_established(&cx(&estimator, 0, 0));
    for (now, segments, throughput) in [
        (50, 10, 0.0),
        (99, 5, 0.0),
        (100, 5, 200_000.0),
        (200, 10, 200_000.0),
        (300, 30, 300_000.0),
    ] {
        control.on_delivered(&cx(&estimator, now, 100), &ack(segments, Some(100)));
        assert_eq!(control.epoch.throughput, throughput, "{now}");
    }
    control.on_loss(&cx(&estimator, 300, 100), &LOSS);
    control.on_delivered(&cx(&estimator, 500, 100), &ack(500, Some(400)));
    assert_eq!(
        (control.epoch.throughput, control.epoch.max_rtt),
        (0.0, ms(0))
    );
    control.on_recovered(&cx(&estimator, 500, 50), 50 * MSS);
    control.on_delivered(&cx(&estimator, 600, 100), &ack(10, Some(120)));
    assert_eq!(control.epoch.throughput, 100_000.0);
    assert_eq!(control.epoch.max_rtt, ms(120));
}

/// tcp_htcp.c by hand at HZ = 250 with RTTmin = 25 jiffies (100 ms), where the scale is 1. Two
/// seconds after the loss diff = 250, factor = 1 + (2500 + 125^2 / 250) / 250 = 11, and alpha = 2 *
/// 11 * 64 = 1408. At 50 jiffies the scale is clamped to 4 and the factor to 22; at 5 jiffies they
/// are 40 and 2.
#[test]
fn linux_computes_alpha_in_jiffies() {
    for (rtt, factor) in [(25, 11), (50, 22), (5, 2), (1, 1), (250, 22)] {
        let mut linux = Jiffies::new(250, true, true).with((rtt, rtt), (0, 0), false);
        while linux.steps(at(2000), 1) == 0 {}
        assert_eq!(linux.seen().0, 2 * factor * 64, "{rtt}");
    }
    let mut plain = Jiffies::new(250, false, true).with((250, 250), (0, 0), false);
    while plain.steps(at(1000), 1) == 0 {}
    assert_eq!(plain.alpha(), 1.0);
}

/// beta of Linux in 1/128 is `(RTTmin << 7) / RTTmax`, between 64 and 102, if the throughput is 4/5
/// to 6/5 of the previous one. RTTmax then moves 5 % towards RTTmin. The first such loss only sets
/// the mode, and RTTs up to 10 ms give a half.
#[test]
fn linux_computes_beta_in_128ths() {
    for (rtts, throughputs, mode, beta, max_rtt, after) in [
        ((100, 160), (1000, 1000), true, 80, 157, true),
        ((100, 160), (1000, 1200), true, 80, 157, true),
        ((100, 160), (1000, 1201), true, 64, 157, false),
        ((100, 160), (1000, 799), true, 64, 157, false),
        ((100, 160), (1000, 800), true, 80, 157, true),
        ((100, 160), (1000, 1000), false, 64, 157, true),
        ((100, 110), (1000, 1000), true, 102, 109, true),
        ((100, 300), (1000, 1000), true, 64, 290, true),
        ((3, 4), (1000, 1000), true, 64, 3, true),
    ] {
        let mut linux = Jiffies::new(250, true, true).with(rtts, throughputs, mode);
        let left = linux.on_loss(at(0), 101);
        let (_, own, most, switched) = linux.seen();
        assert_eq!(
            (own, most, switched),
            (beta, max_rtt, after),
            "{rtts:?} {throughputs:?}"
        );
        assert_eq!(left, u64::from(101 * beta / 128));
    }
}

/// RTTmax rises by at most 20 ms a sample (5 jiffies at HZ = 250), and not in recovery.
#[test]
fn the_largest_rtt_of_linux_rises_slowly() {
    let estimator = estimator();
    let mut control = htcp(&[LINUX], 100);
    for (rtt, most) in [(100, 25), (200, 25), (120, 30), (121, 31), (110, 31)] {
        control.on_delivered(&cx(&estimator, 0, 100), &ack(1, Some(rtt)));
        assert_eq!(control.linux.as_ref().unwrap().seen().2, most, "{rtt}");
    }
    control.on_loss(&cx(&estimator, 0, 100), &LOSS);
    control.on_delivered(&cx(&estimator, 0, 100), &ack(1, Some(122)));
    assert_eq!(control.linux.as_ref().unwrap().seen().2, 30); // 25 + 6 * 95 / 100
}

/// The throughput of Linux: segments * HZ / jiffies once a window less alpha is counted. Up to
/// three RTTs after a loss the sample counts as it is, later the filter is (3 B + sample) / 4.
#[test]
fn linux_filters_the_throughput() {
    let estimator = estimator();
    let mut control = htcp(&[LINUX], 20);
    control.on_established(&cx(&estimator, 0, 0));
    for (now, segments, throughput) in [
        (100, 18, (0, 0)),
        (100, 1, (190, 190)),
        (200, 40, (400, 400)),
        (1200, 100, (325, 400)),
        (1300, 100, (493, 493)),
    ] {
        control.on_delivered(&cx(&estimator, now, 20), &ack(segments, Some(100)));
        assert_eq!(
            control.linux.as_ref().unwrap().throughput(),
            throughput,
            "{now}"
        );
    }
}

/// The window of Linux grows by a segment when alpha times the counted segments reach cwnd, one ACK
/// later than the count.
#[test]
fn linux_adds_whole_segments() {
    let estimator = estimator();
    let mut control = htcp(&[LINUX], 10);
    control.on_established(&cx(&estimator, 0, 0));
    let mut windows = Vec::new();
    for _ in 0..23 {
        control.on_delivered(&cx(&estimator, 100, 10), &ack(1, Some(100)));
        control.on_ack(&cx(&estimator, 100, 10), &ack(1, None));
        windows.push(control.cwnd() / MSS);
    }
    assert_eq!(windows[9..12], [10, 11, 11]);
    assert_eq!(windows[21..], [11, 12]);
}

/// After a time-out Delta counts from the ACK of all data in flight in Linux, and from the loss in
/// the printed form. Undo restores the time of the loss before.
#[test]
fn time_since_the_loss_and_its_undo() {
    let estimator = estimator();
    for (settings, alphas) in [(&[][..], [11.25, 31.0]), (&[LINUX][..], [1.0, 29.0])] {
        let mut control = htcp(settings, 100);
        control.on_established(&cx(&estimator, 0, 0));
        control.save();
        control.on_timeout(&cx(&estimator, 2000, 40), true);
        assert_eq!((control.cwnd(), control.ssthresh()), (MSS, 20 * MSS));
        let done = Context {
            snd_una: 1 + 40 * MSS,
            ..cx(&estimator, 3500, 0)
        };
        control.on_delivered(&done, &ack(40, None));
        assert_eq!(control.repair, Repair::None);
        control.window.set(20 * MSS);
        for _ in 0..21 {
            control.on_ack(&cx(&estimator, 4000, 1), &ack(1, None));
        }
        assert!(
            (control.alpha_now(at(4000)) - alphas[0]).abs() < 1e-9,
            "{settings:?}"
        );
        let undone = Undone {
            window: 100 * MSS,
            ssthresh: 7,
        };
        control.on_spurious(&cx(&estimator, 4000, 40), &undone);
        assert_eq!((control.cwnd(), control.ssthresh()), (100 * MSS, 7));
        if let Some(linux) = &mut control.linux {
            while linux.steps(at(3800), 1) == 0 {}
            assert_eq!(linux.alpha(), alphas[1] + 1.0);
        } else {
            let expected = 1.0 + 28.0 + 1.4 * 1.4;
            assert!((control.alpha_now(at(3800)) - expected).abs() < 1e-9);
        }
    }
}

/// An ECN mark reduces as a loss and is no repair; an idle restart and the end of a recovery set
/// the window.
#[test]
fn marks_restarts_and_exits() {
    let estimator = estimator();
    let mut control = htcp(&[], 100);
    control.on_congestion_mark(&cx(&estimator, 0, 80), &LOSS);
    assert_eq!((control.cwnd(), control.repair), (40 * MSS, Repair::None));
    control.on_idle(&cx(&estimator, 0, 0), 10 * MSS);
    assert_eq!(control.cwnd(), 10 * MSS);
    control.on_loss(&cx(&estimator, 0, 3), &LOSS);
    assert_eq!(
        (control.cwnd(), control.repair),
        (2 * MSS, Repair::Recovery)
    );
    control.on_recovered(&cx(&estimator, 0, 3), MSS);
    assert_eq!((control.cwnd(), control.repair), (MSS, Repair::None));
}

/// Within a second of the last loss, or of the handshake, alpha is 1. RTT scaling does not reduce it
/// below.
#[test]
fn alpha_is_at_least_that_of_reno() {
    let estimator = estimator();
    assert_eq!(alpha(0.7), 1.0);
    let mut control = htcp(&[("rtt_scaling", Setting::Flag(true))], 10);
    control.on_established(&cx(&estimator, 5000, 0));
    control.min_rtt = Some(ms(5));
    assert_eq!(control.alpha_now(at(5500)), 1.0);
    assert_eq!(control.alpha_now(at(7000)), 11.25 * 0.1);
}

/// A throughput of exactly four fifths or six fifths of the one before counts as unchanged.
#[test]
fn the_bounds_of_the_throughput_are_inclusive() {
    let estimator = estimator();
    for (throughput, beta) in [(400.0, 0.625), (600.0, 0.625), (625.0, 0.5)] {
        let mut control = htcp(&[], 100);
        control.min_rtt = Some(ms(100));
        control.epoch.max_rtt = ms(160);
        (control.epoch.previous, control.epoch.throughput) = (Some(500.0), throughput);
        control.on_loss(&cx(&estimator, 5000, 80), &LOSS);
        assert_eq!(control.epoch.beta, beta, "{throughput}");
    }
}

/// Slow start after a time-out counts a segment per ACK where L is configured. An undo ends the
/// repair.
#[test]
fn time_outs_limit_the_count_and_undo_ends_the_repair() {
    let estimator = estimator();
    let start = Start {
        window: 40 * MSS,
        ssthresh: u64::MAX,
        byte_counting: ByteCounting::Limit(2),
        paced: false,
    };
    let mut control = Htcp::new(&Control::new(&Htcp::ALGORITHM), start);
    control.on_ack(&cx(&estimator, 0, 40), &ack(5, None));
    assert_eq!(control.cwnd(), 42 * MSS);
    control.on_timeout(&cx(&estimator, 0, 40), true);
    control.on_ack(&cx(&estimator, 0, 40), &ack(5, None));
    assert_eq!(control.cwnd(), 2 * MSS);
    assert_eq!(control.repair, Repair::Timeout(1 + 40 * MSS));
    let undone = Undone {
        window: 42 * MSS,
        ssthresh: u64::MAX,
    };
    control.on_spurious(&cx(&estimator, 0, 40), &undone);
    assert_eq!(control.repair, Repair::None);
}

/// `htcp_cong_avoid` counts the segments of the last ACK, in whole segments, and one for an ACK
/// without a count. A count in recovery is not taken.
#[test]
fn linux_counts_the_segments_of_an_ack() {
    let estimator = estimator();
    let mut control = htcp(&[LINUX], 10);
    control.on_established(&cx(&estimator, 0, 0));
    let mut windows = Vec::new();
    for delivered in [4, 4, 0, 0] {
        if delivered > 0 {
            control.on_delivered(&cx(&estimator, 100, 10), &ack(delivered, Some(100)));
        }
        control.on_ack(&cx(&estimator, 100, 10), &ack(1, None));
        windows.push(control.cwnd() / MSS);
    }
    assert_eq!(windows, [10, 10, 10, 10]); // 4 + 4 + 1 + 1
    control.on_ack(&cx(&estimator, 100, 10), &ack(1, None));
    assert_eq!(control.cwnd(), 11 * MSS);
    let mut halves = htcp(&[LINUX], 10);
    let half = Ack {
        bytes: MSS / 2,
        ..ack(1, Some(100))
    };
    for counted in [0, 1, 0, 1] {
        halves.on_delivered(&cx(&estimator, 100, 10), &half);
        let linux = halves.linux.as_ref().unwrap();
        assert_eq!(linux.counted(), counted);
    }
    halves.repair = Repair::Recovery;
    halves.on_delivered(&cx(&estimator, 100, 10), &ack(7, Some(100)));
    assert_eq!(halves.linux.as_ref().unwrap().counted(), 1);
}

/// Samples of the throughput up to three whole RTTs after a loss count as they are, and later ones
/// are filtered. Recovery starts a sample anew.
#[test]
fn linux_filters_from_the_fourth_round_trip_on() {
    let estimator = estimator();
    for (end, filtered) in [(399, false), (400, true)] {
        let mut control = htcp(&[LINUX], 20);
        control.on_established(&cx(&estimator, 0, 0));
        control.on_delivered(&cx(&estimator, 100, 20), &ack(20, Some(100)));
        assert_eq!(control.linux.as_ref().unwrap().throughput(), (200, 200));
        control.on_delivered(&cx(&estimator, end, 20), &ack(75, Some(100)));
        let (b, _) = control.linux.as_ref().unwrap().throughput();
        // 75 segments in 74 or 75 jiffies of 4 ms.
        assert_eq!(b, if filtered { (600 + 250) / 4 } else { 253 }, "{end}");
    }
    let mut control = htcp(&[LINUX], 20);
    control.on_established(&cx(&estimator, 0, 0));
    control.on_delivered(&cx(&estimator, 60, 20), &ack(15, Some(100)));
    control.repair = Repair::Recovery;
    control.on_delivered(&cx(&estimator, 100, 20), &ack(15, Some(100)));
    control.repair = Repair::None;
    control.on_delivered(&cx(&estimator, 180, 20), &ack(19, Some(100)));
    assert_eq!(control.linux.as_ref().unwrap().throughput(), (0, 0));
    control.on_delivered(&cx(&estimator, 200, 20), &ack(1, Some(100)));
    assert_eq!(control.linux.as_ref().unwrap().throughput(), (200, 200));
}

/// A loss updates alpha with the new beta: at 4 jiffies the scale is 50, the factor 8 / 50 is raised
/// to 1, and alpha is 2 (128 - 102). ssthresh is at least two segments.
#[test]
fn linux_updates_alpha_at_a_loss() {
    let estimator = estimator();
    let mut linux = Jiffies::new(250, true, true).with((4, 4), (1000, 1000), true);
    linux.on_loss(at(0), 100);
    assert_eq!((linux.seen().0, linux.seen().1), (52, 102));
    let mut control = htcp(&[LINUX], 20);
    control.on_established(&cx(&estimator, 0, 0));
    for _ in 0..9 {
        control.on_ack(&cx(&estimator, 0, 20), &ack(1, None));
    }
    control.on_loss(&cx(&estimator, 0, 3), &LOSS);
    assert_eq!(control.cwnd(), 2 * MSS);
    control.window.set(10 * MSS);
    for _ in 0..10 {
        control.on_ack(&cx(&estimator, 0, 10), &ack(1, None));
    }
    assert_eq!(control.cwnd(), 10 * MSS); // the nine ACKs before the loss do not count
}

/// Only the end of a repair restarts Delta, and an undone repair has no end.
#[test]
fn linux_restarts_delta_at_the_end_of_a_repair() {
    let alpha_at_3_s = |linux: &mut Jiffies| {
        while linux.steps(at(3000), 1) == 0 {}
        linux.seen().0
    };
    let mut never = Jiffies::new(250, false, true);
    never.on_open(at(2000));
    assert_eq!(alpha_at_3_s(&mut never), 2 * 64 * (1 + 20 + 1));
    let mut lost = Jiffies::new(250, false, true);
    lost.save();
    lost.on_loss(at(1000), 10);
    lost.on_open(at(2500));
    assert_eq!(alpha_at_3_s(&mut lost), 2 * 64);
    let mut undone = Jiffies::new(250, false, true);
    undone.save();
    undone.on_loss(at(1000), 10);
    undone.on_spurious();
    undone.on_open(at(2500));
    assert_eq!(alpha_at_3_s(&mut undone), 2 * 64 * (1 + 20 + 1));
}
