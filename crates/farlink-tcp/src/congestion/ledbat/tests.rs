//! Tests of the delay history, of LEDBAT's law and of the phases of LEDBAT++.

use super::plus_plus::{Phase, PlusPlus};
use super::*;
use crate::config::{ByteCounting, RtoConfig};
use crate::rto::RttEstimator;
use crate::time::Instant;

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

fn estimator(rtt: u64) -> RttEstimator {
    let mut estimator = RttEstimator::new(RtoConfig::default());
    estimator.sample(Instant::ZERO, at(rtt));
    estimator
}

fn start(window: u64, ssthresh: u64) -> Start {
    Start {
        window: window * MSS,
        ssthresh,
        byte_counting: ByteCounting::Unlimited,
        paced: false,
    }
}

fn ledbat(window: u64, slow_start: bool) -> Ledbat {
    let control = Control::new(&LEDBAT).with("slow_start", Setting::Flag(slow_start));
    Ledbat::new(&control, start(window, u64::MAX))
}

fn plus(window: u64, ssthresh: u64) -> PlusPlus {
    PlusPlus::new(&Control::new(&LEDBAT_PLUS_PLUS), start(window, ssthresh))
}

/// Delivers an ACK of `bytes` with this RTT to a sender with `cwnd` in flight.
fn ack(control: &mut dyn CongestionControl, srtt: &RttEstimator, now: u64, bytes: u64, rtt: u64) {
    let cx = cx(srtt, now, control.cwnd());
    let ack = Ack {
        bytes,
        rtt_sample: None,
        fine_rtt: Some(ms(rtt)),
        cwnd_limited: true,
    };
    control.on_delivered(&cx, &ack);
    control.on_ack(&cx, &ack);
}

fn cx(srtt: &RttEstimator, now: u64, flight: u64) -> Context<'_> {
    Context {
        now: at(now),
        mss: MSS,
        flight,
        snd_una: 1,
        snd_max: 1 + flight,
        rtt: srtt,
    }
}

/// The current delay is the least of the last four RTTs, and the base the least of ten minutes.
#[test]
fn delay_is_current_less_base() {
    let mut delay = Delay::new(4);
    assert_eq!(delay.queueing(), None);
    for (second, rtt, queueing) in [
        (0, 100, 0),
        (1, 150, 0),
        (2, 160, 0),
        (3, 170, 0),
        (4, 180, 50),
        (599, 180, 60),
        (600, 180, 70),
    ] {
        delay.add(at(second * 1000), ms(rtt));
        assert_eq!(delay.queueing(), Some(ms(queueing)), "{second}");
    }
    let mut minutes = Delay::new(1);
    for minute in 0..11 {
        minutes.add(at(minute * 60_000), ms(100 + minute));
        let base = if minute < 10 { 100 } else { 101 };
        assert_eq!(minutes.base(), Some(ms(base)), "{minute}");
    }
    minutes.add(at(10 * 60_000 + 59_999), ms(90));
    assert_eq!(minutes.base(), Some(ms(90)));
}

/// RFC 6817: cwnd += GAIN (TARGET - delay) / TARGET bytes MSS / cwnd. With 10 segments and an ACK of
/// one: +100 bytes without delay, +50 at 50 ms, 0 at 100 ms, -100 at 200 ms.
#[test]
fn ledbat_moves_by_the_distance_from_its_target() {
    let srtt = estimator(100);
    for (rtt, cwnd) in [(100, 10_100), (150, 10_050), (200, 10_000), (300, 9_900)] {
        let mut control = ledbat(10, false);
        control.delay = Delay::new(1);
        control.delay.add(at(0), ms(100));
        ack(&mut control, &srtt, 0, MSS, rtt);
        assert_eq!(control.cwnd(), cwnd, "{rtt}");
    }
}

/// cwnd is at most the flight and one segment (ALLOWED_INCREASE), and at least two segments.
#[test]
fn ledbat_is_bounded_by_the_flight_and_two_segments() {
    let srtt = estimator(100);
    let mut control = ledbat(10, false);
    let ack_of_ten = Ack {
        bytes: 10 * MSS,
        rtt_sample: None,
        fine_rtt: Some(ms(100)),
        cwnd_limited: true,
    };
    control.on_delivered(&cx(&srtt, 0, 5 * MSS), &ack_of_ten);
    control.on_ack(&cx(&srtt, 0, 5 * MSS), &ack_of_ten);
    assert_eq!(control.cwnd(), 6 * MSS);
    for _ in 0..4 {
        ack(&mut control, &srtt, 0, 10 * MSS, 2000);
    }
    assert_eq!(control.cwnd(), 2 * MSS);
    let idle = Ack {
        cwnd_limited: false,
        ..ack_of_ten
    };
    let mut resting = ledbat(10, false);
    resting.on_delivered(&cx(&srtt, 0, 10 * MSS), &idle);
    resting.on_ack(&cx(&srtt, 0, 10 * MSS), &idle);
    assert_eq!(resting.cwnd(), 10 * MSS);
}

/// Slow start is off as in RFC 6817. If it is on, more than half of the target or a loss ends it.
#[test]
fn ledbat_has_slow_start_only_by_its_key() {
    let srtt = estimator(100);
    let mut plain = ledbat(10, false);
    assert!(!plain.in_slow_start());
    ack(&mut plain, &srtt, 0, MSS, 100);
    assert_eq!(plain.cwnd(), 10_100);
    for (rtt, cwnd) in [(150, 11_000), (151, 10_049)] {
        let mut control = ledbat(10, true);
        control.delay = Delay::new(1);
        control.delay.add(at(0), ms(100));
        ack(&mut control, &srtt, 0, MSS, rtt);
        assert_eq!(
            (control.cwnd(), control.in_slow_start()),
            (cwnd, rtt == 150)
        );
    }
    // A window equal to ssthresh is beyond slow start.
    for (ssthresh, begins) in [(10 * MSS, false), (10 * MSS + 1, true)] {
        let own = Control::new(&LEDBAT).with("slow_start", Setting::Flag(true));
        assert_eq!(
            Ledbat::new(&own, start(10, ssthresh)).in_slow_start(),
            begins
        );
    }
    let mut control = ledbat(10, true);
    control.save();
    control.on_loss(&cx(&srtt, 0, 10 * MSS), &LOSS);
    assert_eq!((control.cwnd(), control.in_slow_start()), (5 * MSS, false));
    control.on_spurious(
        &cx(&srtt, 0, 10 * MSS),
        &Undone {
            window: 10 * MSS,
            ssthresh: u64::MAX,
        },
    );
    assert_eq!((control.cwnd(), control.in_slow_start()), (10 * MSS, true));
    control.on_timeout(&cx(&srtt, 0, 10 * MSS), true);
    assert_eq!((control.cwnd(), control.ssthresh()), (MSS, 5 * MSS));
    assert!(!control.in_slow_start());
    ack(&mut control, &srtt, 0, MSS, 100);
    assert_eq!(control.cwnd(), 2 * MSS);
}

/// 4.2: GAIN = 1 / min(16, ceil(120 ms / base)).
#[test]
fn gain_depends_on_the_base_delay() {
    for (base, divisor) in [
        (1, 16),
        (7, 16),
        (8, 15),
        (40, 3),
        (41, 3),
        (60, 2),
        (119, 2),
        (120, 1),
        (600, 1),
    ] {
        let mut control = plus(10, u64::MAX);
        assert_eq!(control.gain(), 1.0 / 16.0);
        control.delay.add(at(0), ms(base));
        assert_eq!(control.gain(), 1.0 / f64::from(divisor), "{base}");
    }
}

/// 4.3: up to the target W += GAIN; above it W += max(GAIN - W (delay / target - 1), -W / 2). With
/// 20 segments and GAIN 1 the decrease is 1 - 20 / 6 at 70 ms, and -10 from 93 ms on.
#[test]
fn decrease_is_multiplicative() {
    let mut control = plus(20, u64::MAX);
    control.delay.add(at(0), ms(120));
    for (delay, change) in [
        (0, 1.0),
        (60, 1.0),
        (63, 0.0),
        (70, 1.0 - 20.0 / 6.0),
        (90, 1.0 - 10.0),
        (93, -10.0),
        (600, -10.0),
    ] {
        assert!(
            (control.change(20.0, ms(delay)) - change).abs() < 1e-9,
            "{delay}"
        );
    }
}

/// 4.1: an ACK adds GAIN times its bytes: a half at a base of 60 ms. More than 45 ms of queueing
/// delay end the initial slow start, and ssthresh is the window then.
#[test]
fn initial_slow_start_ends_at_three_quarters_of_the_target() {
    let srtt = estimator(60);
    for (rtt, phase, cwnd) in [(105, Phase::Start, 11_000), (106, Phase::Avoid, 10_500)] {
        let mut control = plus(10, u64::MAX);
        control.delay = Delay::new(1);
        ack(&mut control, &srtt, 0, MSS, 60);
        assert_eq!(control.cwnd(), 10_500);
        ack(&mut control, &srtt, 10, MSS, rtt);
        assert_eq!(
            (control.state.phase, control.cwnd()),
            (phase, cwnd),
            "{rtt}"
        );
        assert_eq!(control.in_slow_start(), phase == Phase::Start);
        if phase == Phase::Avoid {
            assert_eq!(control.ssthresh(), 10_500);
            assert_eq!(control.state.next, Some(at(10 + 2 * 60)));
        }
    }
}

/// 4.4: two RTTs after slow start, cwnd is two segments for two RTTs, and then returns to ssthresh
/// by slow start at any delay. The next slowdown begins nine durations after its end.
#[test]
fn slowdowns_follow_nine_times_their_duration() {
    let srtt = estimator(120);
    let mut control = plus(10, 10 * MSS);
    control.delay = Delay::new(1);
    ack(&mut control, &srtt, 0, MSS, 120); // at ssthresh: slow start ends
    assert_eq!(control.state.next, Some(at(240)));
    ack(&mut control, &srtt, 239, MSS, 120);
    assert_eq!(
        (control.state.phase, control.cwnd()),
        (Phase::Avoid, 10_100)
    );
    ack(&mut control, &srtt, 240, MSS, 120);
    assert_eq!((control.cwnd(), control.ssthresh()), (2 * MSS, 10_100));
    ack(&mut control, &srtt, 479, MSS, 120);
    assert_eq!(control.cwnd(), 2 * MSS);
    for (now, cwnd) in [(480, 4_000), (500, 6_000), (600, 8_000), (601, 10_000)] {
        ack(&mut control, &srtt, now, 2 * MSS, 400);
        assert_eq!(
            (control.state.phase, control.cwnd()),
            (Phase::Ramp, cwnd),
            "{now}"
        );
    }
    ack(&mut control, &srtt, 640, 2 * MSS, 120);
    assert_eq!(
        (control.state.phase, control.cwnd()),
        (Phase::Avoid, 10_100)
    );
    assert_eq!(control.state.next, Some(at(640 + 9 * 400)));
}

/// A loss halves the flight. It ends the initial slow start, but neither a slowdown nor its ramp.
/// A time-out restarts by slow start up to half of the flight. Undo restores the phase.
#[test]
fn losses_halve_the_window_in_any_phase() {
    let srtt = estimator(120);
    let mut control = plus(20, u64::MAX);
    control.on_loss(&cx(&srtt, 0, 20 * MSS), &LOSS);
    assert_eq!((control.cwnd(), control.ssthresh()), (10 * MSS, 10 * MSS));
    assert_eq!(
        (control.state.phase, control.state.next),
        (Phase::Avoid, Some(at(240)))
    );
    ack(&mut control, &srtt, 240, MSS, 120);
    control.save();
    control.on_loss(&cx(&srtt, 250, 10 * MSS), &LOSS);
    assert_eq!((control.cwnd(), control.ssthresh()), (2 * MSS, 5 * MSS));
    assert!(matches!(control.state.phase, Phase::Freeze(_)));
    control.on_timeout(&cx(&srtt, 260, 8 * MSS), true);
    assert_eq!((control.cwnd(), control.ssthresh()), (MSS, 4 * MSS));
    assert_eq!(control.state.phase, Phase::Ramp);
    control.on_timeout(&cx(&srtt, 300, MSS), false);
    assert_eq!(control.ssthresh(), 4 * MSS);
    let undone = Undone {
        window: 2 * MSS,
        ssthresh: 10 * MSS,
    };
    control.on_spurious(&cx(&srtt, 400, MSS), &undone);
    assert_eq!((control.cwnd(), control.ssthresh()), (2 * MSS, 10 * MSS));
    assert_eq!(control.state.phase, Phase::Freeze(at(480)));
}

/// In congestion avoidance an ACK makes its share of the change per RTT, and cwnd is at least two
/// segments. With slowdowns off none is scheduled.
#[test]
fn congestion_avoidance_shares_the_change_over_a_round() {
    let srtt = estimator(120);
    let control = Control::new(&LEDBAT_PLUS_PLUS).with("slowdowns", Setting::Flag(false));
    let mut control = PlusPlus::new(&control, start(20, 20 * MSS));
    control.delay = Delay::new(1);
    ack(&mut control, &srtt, 0, MSS, 120);
    assert_eq!(control.state.next, None);
    ack(&mut control, &srtt, 1, MSS, 120);
    assert_eq!(control.cwnd(), 20_050);
    ack(&mut control, &srtt, 2, 20_050, 240); // at twice the target half of the window
    assert_eq!(control.cwnd(), 10_025);
    for _ in 0..9 {
        ack(&mut control, &srtt, 3, 20_000, 900);
    }
    assert_eq!(control.cwnd(), 2 * MSS);
}

fn unlimited(bytes: u64, rtt: u64) -> Ack {
    Ack {
        bytes,
        rtt_sample: None,
        fine_rtt: Some(ms(rtt)),
        cwnd_limited: false,
    }
}

/// After a time-out one ACK may cover 40 segments that arrived before. cwnd then grows by GAIN
/// segments, as for a window of one round trip.
#[test]
fn one_ack_adds_at_most_the_growth_of_a_round() {
    let srtt = estimator(100);
    let mut control = ledbat(80, false);
    control.on_timeout(&cx(&srtt, 0, 80 * MSS), true);
    assert!(!control.in_slow_start());
    let cumulative = Ack {
        cwnd_limited: true,
        ..unlimited(40 * MSS, 100)
    };
    control.on_delivered(&cx(&srtt, 0, 80 * MSS), &cumulative);
    control.on_ack(&cx(&srtt, 0, 80 * MSS), &cumulative);
    assert_eq!(control.cwnd(), 2 * MSS);
}

/// The bound by the flight does not raise a window below two segments either.
#[test]
fn the_bound_by_the_flight_raises_no_window() {
    let srtt = estimator(100);
    let own = Control::new(&LEDBAT).with("gain", Setting::Number(0.5));
    let mut control = Ledbat::new(&own, start(1, u64::MAX));
    let ack = Ack {
        cwnd_limited: true,
        ..unlimited(MSS, 100)
    };
    control.on_delivered(&cx(&srtt, 0, 0), &ack);
    control.on_ack(&cx(&srtt, 0, 0), &ack);
    assert_eq!(control.cwnd(), 1_500);
}

/// An ACK beyond the target reduces a window that does not limit the sender, but does not raise
/// one that is below two segments. Below the target such a window keeps its size.
#[test]
fn an_unused_window_only_shrinks() {
    let srtt = estimator(100);
    for (window, rtt, cwnd) in [(10, 100, 10_000), (10, 300, 9_900), (1, 300, 1_000)] {
        let mut control = ledbat(window, false);
        control.delay = Delay::new(1);
        control.delay.add(at(0), ms(100));
        let ack = unlimited(MSS, rtt);
        control.on_delivered(&cx(&srtt, 0, 10 * MSS), &ack);
        control.on_ack(&cx(&srtt, 0, 10 * MSS), &ack);
        assert_eq!(control.cwnd(), cwnd, "{window} {rtt}");
    }
}

/// The keys gain and `allowed_increase`: half a segment per window, and three segments beyond the
/// flight. The bound by the flight is never below two segments.
#[test]
fn keys_of_ledbat_bound_its_growth() {
    let srtt = estimator(100);
    for (gain, allowed, flight, cwnd) in [
        (0.5, 1, 10, 10_050),
        (2.0, 3, 6, 9_000),
        (2.0, 0, 6, 6_000),
        (2.0, 1, 0, 2_000),
    ] {
        let own = Control::new(&LEDBAT)
            .with("gain", Setting::Number(gain))
            .with("allowed_increase", Setting::Count(allowed));
        let mut control = Ledbat::new(&own, start(10, u64::MAX));
        let ack = Ack {
            cwnd_limited: true,
            ..unlimited(MSS, 100)
        };
        control.on_delivered(&cx(&srtt, 0, flight * MSS), &ack);
        control.on_ack(&cx(&srtt, 0, flight * MSS), &ack);
        assert_eq!(control.cwnd(), cwnd, "{gain} {allowed}");
    }
}

/// Slow start of LEDBAT ends at ssthresh, waits for a sender that uses its window, and does not
/// return below ssthresh after a recovery.
#[test]
fn slow_start_of_ledbat_ends_and_stays_off() {
    let srtt = estimator(100);
    let mut at_threshold = ledbat(10, true);
    at_threshold.ssthresh = 10 * MSS;
    ack(&mut at_threshold, &srtt, 0, MSS, 100);
    assert_eq!(at_threshold.cwnd(), 10_100);
    let mut unused = ledbat(10, true);
    unused.on_ack(&cx(&srtt, 0, 10 * MSS), &unlimited(MSS, 100));
    assert_eq!(unused.cwnd(), 10_000);
    let mut control = ledbat(10, true);
    control.on_loss(&cx(&srtt, 0, 10 * MSS), &LOSS);
    control.on_recovered(&cx(&srtt, 0, 10 * MSS), 4 * MSS);
    assert_eq!((control.cwnd(), control.in_slow_start()), (4 * MSS, false));
    control.raise_ssthresh(4 * MSS);
    assert_eq!(control.ssthresh(), 5 * MSS);
    control.on_idle(&cx(&srtt, 0, 0), 10 * MSS);
    assert_eq!(control.cwnd(), 4 * MSS);
}

/// A flow whose queueing delay is above half of the target does not jump to a remembered window.
#[test]
fn a_queue_forbids_the_jump() {
    for (rtt, jumps) in [(150, true), (151, false)] {
        let mut control = ledbat(10, false);
        control.delay = Delay::new(1);
        control.delay.add(at(0), ms(100));
        control.delay.add(at(1), ms(rtt));
        assert_eq!(control.may_jump(), jumps, "{rtt}");
    }
}

/// 4.3 with a constant of 2 and a gain of 1/2: at 70 ms 1/2 - 2 * 20 / 6.
#[test]
fn the_decrease_has_a_constant_and_the_gain() {
    let own = Control::new(&LEDBAT_PLUS_PLUS).with("constant", Setting::Number(2.0));
    let mut control = PlusPlus::new(&own, start(20, u64::MAX));
    control.delay.add(at(0), ms(60));
    assert!((control.change(20.0, ms(70)) - (0.5 - 40.0 / 6.0)).abs() < 1e-9);
}

/// A window above ssthresh leaves slow start at once and keeps ssthresh. An unused window does not
/// grow in slow start; later it only shrinks.
#[test]
fn an_unused_window_of_ledbat_plus_plus_only_shrinks() {
    let srtt = estimator(120);
    let mut high = plus(10, 5 * MSS);
    ack(&mut high, &srtt, 0, MSS, 120);
    assert_eq!((high.cwnd(), high.ssthresh()), (10 * MSS, 5 * MSS));
    let mut starting = plus(10, u64::MAX);
    starting.delay.add(at(0), ms(120));
    starting.on_ack(&cx(&srtt, 0, 10 * MSS), &unlimited(MSS, 120));
    assert_eq!(starting.cwnd(), 10 * MSS);
    for (rtt, cwnd) in [(120, 20_000), (190, 19_883)] {
        let mut control = plus(20, 20 * MSS);
        control.delay = Delay::new(1);
        ack(&mut control, &srtt, 0, MSS, 120);
        let unused = unlimited(MSS, rtt);
        control.on_delivered(&cx(&srtt, 1, 20 * MSS), &unused);
        control.on_ack(&cx(&srtt, 1, 20 * MSS), &unused);
        assert_eq!(control.cwnd(), cwnd, "{rtt}");
    }
}

/// An ACK of three windows counts as one window. In slow start L limits the bytes that an ACK
/// counts: two segments, and one segment after a time-out.
#[test]
fn one_ack_of_ledbat_plus_plus_is_bounded() {
    let srtt = estimator(120);
    let mut control = plus(20, 20 * MSS);
    ack(&mut control, &srtt, 0, MSS, 120);
    ack(&mut control, &srtt, 1, 60 * MSS, 120);
    assert_eq!(control.cwnd(), 21 * MSS);
    let limited = Start {
        byte_counting: ByteCounting::Limit(2),
        ..start(10, u64::MAX)
    };
    let mut control = PlusPlus::new(&Control::new(&LEDBAT_PLUS_PLUS), limited);
    ack(&mut control, &srtt, 0, 5 * MSS, 120);
    assert_eq!(control.cwnd(), 12 * MSS);
    control.on_timeout(&cx(&srtt, 1, 20 * MSS), true);
    ack(&mut control, &srtt, 2, 5 * MSS, 120);
    assert_eq!(control.cwnd(), 2 * MSS);
}

/// A loss in the slow start after a slowdown leaves the window, and reduces ssthresh. A window of
/// one segment stays one in a slowdown. Slow start after a time-out is no slowdown: the next one
/// follows two RTTs after it.
#[test]
fn slowdowns_losses_and_time_outs_in_turn() {
    let srtt = estimator(120);
    let mut control = plus(10, 10 * MSS);
    control.delay = Delay::new(1);
    ack(&mut control, &srtt, 0, MSS, 120);
    control.window.set(MSS);
    ack(&mut control, &srtt, 240, MSS, 120);
    assert_eq!((control.cwnd(), control.state.slowdowns), (MSS, 1));
    control.ssthresh = 10 * MSS;
    ack(&mut control, &srtt, 480, MSS, 120);
    assert_eq!(
        (control.state.phase, control.cwnd()),
        (Phase::Ramp, 2 * MSS)
    );
    control.on_loss(&cx(&srtt, 490, 8 * MSS), &LOSS);
    assert_eq!((control.cwnd(), control.ssthresh()), (2 * MSS, 4 * MSS));
    ack(&mut control, &srtt, 500, 2 * MSS, 120);
    assert_eq!(control.state.next, Some(at(500 + 9 * 260)));
    control.on_timeout(&cx(&srtt, 600, 4 * MSS), true);
    ack(&mut control, &srtt, 700, MSS, 120);
    assert_eq!(control.state.phase, Phase::Avoid);
    assert_eq!(control.state.next, Some(at(700 + 240)));
}
