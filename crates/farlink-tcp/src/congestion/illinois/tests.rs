//! Tests of alpha and beta, of rounds and of reductions.

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

fn illinois(arithmetic: &'static str, window: u64, ssthresh: u64) -> Illinois {
    let control =
        Control::new(&Illinois::ALGORITHM).with("arithmetic", Setting::Choice(arithmetic));
    let start = Start {
        window: window * MSS,
        ssthresh,
        byte_counting: ByteCounting::Unlimited,
        paced: false,
    };
    Illinois::new(&control, start)
}

/// Delivers `count` ACKs of one segment with this RTT. The first ACK ends the previous round.
fn round(control: &mut Illinois, rtt: Interval, count: u64) {
    let estimator = RttEstimator::new(RtoConfig::default());
    let una = control.round_end + 1;
    for i in 0..count {
        let cx = Context {
            now: Instant::ZERO,
            mss: MSS,
            flight: control.cwnd(),
            snd_una: una + i * MSS,
            snd_max: una + control.cwnd(),
            rtt: &estimator,
        };
        let ack = Ack {
            bytes: MSS,
            rtt_sample: None,
            fine_rtt: Some(rtt),
            cwnd_limited: true,
        };
        control.on_delivered(&cx, &ack);
        control.on_ack(&cx, &ack);
    }
}

fn cx(estimator: &RttEstimator, flight: u64) -> Context<'_> {
    Context {
        now: Instant::ZERO,
        mss: MSS,
        flight: flight * MSS,
        snd_una: 1,
        snd_max: 1 + flight * MSS,
        rtt: estimator,
    }
}

/// `kappa1 / (kappa2 + da)` with dm = 100 ms, d1 = 1 ms: kappa1 = 99 * 3 / 9.7 = 30.619, kappa2 =
/// 99 * 0.3 / 9.7 - 1 = 2.0619 ms. alpha is 10 at d1 and 0.3 at dm.
#[test]
fn alpha_follows_the_printed_curve() {
    let settings = illinois("exact", 10, 0).settings;
    for (da, alpha) in [
        (0.0, 10.0),
        (1.0, 10.0),
        (2.0, 7.538_071),
        (10.0, 2.538_462),
        (50.0, 0.588_118),
        (100.0, 0.3),
    ] {
        let computed = settings.alpha(da, 100.0);
        assert!((computed - alpha).abs() < 1e-6, "{da}: {computed}");
    }
}

/// A mean delay of at most 1 % of the largest one does not count as above the low delay.
#[test]
fn delays_up_to_one_percent_are_low() {
    for arithmetic in ["exact", "linux"] {
        for (da, is_low) in [(1_000, true), (2_000, false)] {
            let mut control = illinois(arithmetic, 100, 0);
            control.adapt(Interval::from_micros(da), ms(100));
            assert_eq!(!control.state.above, is_low, "{arithmetic} {da}");
        }
    }
}

/// beta is 1/8 up to 10 ms, 1/2 from 80 ms, and linear between: at 45 ms 5/16.
#[test]
fn beta_follows_the_printed_curve() {
    let settings = illinois("exact", 10, 0).settings;
    for (da, beta) in [
        (0.0, 0.125),
        (10.0, 0.125),
        (45.0, 0.3125),
        (66.0, 0.425),
        (80.0, 0.5),
        (100.0, 0.5),
    ] {
        assert!((settings.beta(da, 100.0) - beta).abs() < 1e-12, "{da}");
    }
    assert_eq!(settings.beta(0.0, 0.0), 0.125);
}

/// tcp_illinois.c by hand, dm = 100,000 us: d1 = 1000, `99000 * 1280 / (99000 + (da - 1000) * 1242
/// / 38)` in whole 1/128, and beta `(8 * 80000 - 32 * 10000 + 24 da) / 70000` in whole 1/64.
#[test]
fn linux_rounds_alpha_and_beta_down() {
    for (da, alpha) in [
        (1001, 1279),
        (2000, 962),
        (10_000, 322),
        (50_000, 74),
        (100_000, 38),
    ] {
        assert_eq!(linux::alpha(da, 100_000), f64::from(alpha) / 128.0, "{da}");
    }
    for (da, beta) in [
        (10_000, 8),
        (10_001, 8),
        (45_000, 20),
        (66_000, 27),
        (79_999, 31),
        (80_000, 32),
    ] {
        assert_eq!(linux::beta(da, 100_000), f64::from(beta) / 64.0, "{da}");
    }
    assert_eq!(linux::beta(5, 9), 25.0 / 64.0); // d2 = 0, d3 = 7: (8 * 7 + 24 * 5) / 7
}

/// alpha / W segments per ACK: a window of 40 grows by 10 segments in a round of 40 ACKs, a little
/// less because W grows. Linux adds `delta / cwnd` once delta = 10 credit reaches cwnd: at each
/// fourth ACK, and a fifth from 41 segments on.
#[test]
fn growth_is_alpha_segments_per_round() {
    let mut exact = illinois("exact", 40, 0);
    round(&mut exact, ms(100), 40);
    let mut expected = 40.0_f64;
    for _ in 0..40 {
        expected += 10.0 / expected;
    }
    assert!((exact.cwnd() as f64 / 1000.0 - expected).abs() < 0.01);
    let mut linux = illinois("linux", 40, 0);
    round(&mut linux, ms(100), 4);
    assert_eq!(linux.cwnd(), 41 * MSS);
    round(&mut linux, ms(100), 4);
    assert_eq!(linux.cwnd(), 41 * MSS);
    round(&mut linux, ms(100), 1);
    assert_eq!(linux.cwnd(), 42 * MSS);
}

/// After a round above d1, alpha returns to 10 after five rounds at the base RTT, in both forms.
#[test]
fn alpha_returns_after_five_quiet_rounds() {
    for arithmetic in ["exact", "linux"] {
        let mut control = illinois(arithmetic, 100, 0);
        round(&mut control, ms(100), 2);
        assert_eq!(control.state.rates.alpha, 10.0);
        round(&mut control, ms(200), 1); // the round that ends has RTTs of 100 and 200 ms
        assert!(
            (0.57..0.59).contains(&control.state.rates.alpha),
            "{arithmetic}"
        );
        round(&mut control, ms(200), 1);
        let low = control.state.rates.alpha;
        assert!(low < 0.31, "{arithmetic}");
        for _ in 0..4 {
            round(&mut control, ms(100), 1);
            assert_eq!(control.state.rates.alpha, low, "{arithmetic}");
        }
        round(&mut control, ms(100), 1);
        assert_eq!(control.state.rates.alpha, 10.0, "{arithmetic}");
        assert_eq!(control.state.rates.beta, 0.125, "{arithmetic}");
    }
}

/// Below 15 segments alpha is 1 and beta 1/2.
#[test]
fn small_windows_are_those_of_reno() {
    for (window, rates) in [
        (14, RENO),
        (
            15,
            Rates {
                alpha: 10.0,
                beta: 0.125,
            },
        ),
    ] {
        let mut control = illinois("exact", window, 0);
        round(&mut control, ms(100), 1);
        assert_eq!(control.state.rates, rates, "{window}");
    }
}

/// A loss takes beta of the flight: 1/8 of 40 segments without queue, 1/2 with the largest one.
/// Linux rounds the window down, not the reduction: 41 - (41 * 8 >> 6) = 36.
#[test]
fn a_loss_takes_beta_of_the_flight() {
    let estimator = RttEstimator::new(RtoConfig::default());
    for (arithmetic, flight, beta, left) in [
        ("exact", 40, 0.125, 35_000),
        ("exact", 40, 0.5, 20_000),
        ("exact", 41, 0.125, 35_875),
        ("linux", 41, 0.125, 36_000),
        ("linux", 3, 0.5, 2_000),
        ("exact", 3, 0.5, 2_000),
    ] {
        let mut control = illinois(arithmetic, 100, 0);
        control.state.rates.beta = beta;
        control.on_loss(&cx(&estimator, flight), &LOSS);
        assert_eq!(
            (control.cwnd(), control.ssthresh()),
            (left, left),
            "{arithmetic} {flight}"
        );
    }
}

/// A time-out reduces by the beta in force, and then alpha is 1 and beta 1/2. Its undo restores
/// alpha and beta as the paper's sender has them, not in Linux.
#[test]
fn a_time_out_returns_to_reno() {
    let estimator = RttEstimator::new(RtoConfig::default());
    for (arithmetic, alpha) in [("exact", 10.0), ("linux", 1.0)] {
        let mut control = illinois(arithmetic, 100, 0);
        round(&mut control, ms(100), 1);
        let undone = Undone {
            window: control.cwnd(),
            ssthresh: 0,
        };
        control.save();
        control.on_timeout(&cx(&estimator, 40), true);
        assert_eq!((control.cwnd(), control.ssthresh()), (MSS, 35 * MSS));
        assert_eq!(control.state.rates, RENO);
        control.on_timeout(&cx(&estimator, 1), false);
        assert_eq!(control.ssthresh(), 35 * MSS);
        control.on_spurious(&cx(&estimator, 40), &undone);
        assert_eq!((control.cwnd(), control.ssthresh()), (undone.window, 0));
        assert_eq!(control.state.rates.alpha, alpha, "{arithmetic}");
    }
}

/// Slow start adds the acknowledged bytes up to ssthresh. An ACK adds nothing if cwnd does not
/// limit the sender. Linux limits RTTs to 3.355443 s.
#[test]
fn slow_start_and_bounds() {
    let mut control = illinois("exact", 10, 12 * MSS);
    round(&mut control, ms(100), 3);
    assert!((12 * MSS..13 * MSS).contains(&control.cwnd()));
    let mut linux = illinois("linux", 20, 0);
    round(&mut linux, Interval::from_secs(5), 1);
    assert_eq!(linux.max_rtt, Interval::from_micros(3_355_443));
    let estimator = RttEstimator::new(RtoConfig::default());
    let idle = Ack {
        bytes: MSS,
        rtt_sample: None,
        fine_rtt: None,
        cwnd_limited: false,
    };
    let before = linux.cwnd();
    linux.on_ack(&cx(&estimator, 20), &idle);
    assert_eq!(linux.cwnd(), before);
}

/// An ACK beyond the data of a round ends it. The handshake and a time-out begin one, without RTTs
/// of before.
#[test]
fn rounds_are_windows_of_data() {
    let estimator = RttEstimator::new(RtoConfig::default());
    let ack = Ack {
        bytes: MSS,
        rtt_sample: None,
        fine_rtt: Some(ms(100)),
        cwnd_limited: true,
    };
    let mut control = illinois("exact", 40, 0);
    control.on_established(&cx(&estimator, 40));
    assert_eq!(control.round_end, 1 + 40 * MSS);
    let at_end = Context {
        snd_una: 1 + 40 * MSS,
        snd_max: 1 + 80 * MSS,
        ..cx(&estimator, 40)
    };
    control.on_delivered(&at_end, &ack);
    control.on_ack(&at_end, &ack);
    assert_eq!((control.round_end, control.count), (1 + 40 * MSS, 1));
    let beyond = Context {
        snd_una: 2 + 40 * MSS,
        ..at_end
    };
    control.on_ack(&beyond, &ack);
    assert_eq!((control.round_end, control.count), (1 + 80 * MSS, 0));
    control.on_delivered(&beyond, &ack);
    control.on_timeout(&cx(&estimator, 50), true);
    assert_eq!(control.round_end, 1 + 50 * MSS);
    assert_eq!((control.sum, control.count), (0, 0));
}

/// The largest RTT stays, and each return of alpha to its maximum needs five rounds again.
#[test]
fn each_return_of_alpha_takes_five_rounds() {
    for arithmetic in ["exact", "linux"] {
        let mut control = illinois(arithmetic, 100, 0);
        round(&mut control, ms(100), 1);
        for _ in 0..2 {
            round(&mut control, ms(200), 2);
            for quiet in 0..6 {
                round(&mut control, ms(100), 1);
                let at_most = control.state.rates.alpha == 10.0;
                assert_eq!(at_most, quiet == 5, "{arithmetic} {quiet}");
            }
        }
        assert_eq!(control.max_rtt, ms(200), "{arithmetic}");
    }
}

/// With equal bounds alpha is constant. beta is at its largest above d2 if d3 is not above d2.
#[test]
fn equal_bounds_give_constants() {
    let control = Control::new(&Illinois::ALGORITHM)
        .with("alpha_min", Setting::Number(1.0))
        .with("alpha_max", Setting::Number(1.0))
        .with("eta3", Setting::Number(0.1));
    let settings = Illinois::new(&control, Start::default()).settings;
    assert_eq!(settings.alpha(50.0, 100.0), 1.0);
    assert_eq!(settings.beta(10.0, 100.0), 0.125);
    assert_eq!(settings.beta(10.1, 100.0), 0.5);
}

/// By ACKs each ACK counts as one segment, and by bytes with L = 2 as two at most; in the slow
/// start after a time-out as one.
#[test]
fn acks_count_by_the_rule_of_the_sender() {
    let estimator = RttEstimator::new(RtoConfig::default());
    let of_five = Ack {
        bytes: 5 * MSS,
        rtt_sample: None,
        fine_rtt: None,
        cwnd_limited: true,
    };
    let with = |byte_counting, ssthresh| {
        let start = Start {
            window: 40 * MSS,
            ssthresh,
            byte_counting,
            paced: false,
        };
        Illinois::new(&Control::new(&Illinois::ALGORITHM), start)
    };
    let mut by_acks = with(ByteCounting::Off, 0);
    by_acks.on_ack(&cx(&estimator, 40), &of_five);
    assert_eq!(by_acks.cwnd(), 40_250);
    let mut limited = with(ByteCounting::Limit(2), u64::MAX);
    limited.on_ack(&cx(&estimator, 40), &of_five);
    assert_eq!(limited.cwnd(), 42 * MSS);
    limited.on_timeout(&cx(&estimator, 40), true);
    limited.on_ack(&cx(&estimator, 40), &of_five);
    assert_eq!(limited.cwnd(), 2 * MSS);
}

/// tcp_illinois.c by hand: bytes add up to segments, `snd_cwnd_cnt` starts anew after an increase
/// and after a loss, one ACK may add two segments, and ssthresh is at least 2.
#[test]
fn linux_counts_whole_segments() {
    let estimator = RttEstimator::new(RtoConfig::default());
    let half = Ack {
        bytes: MSS / 2,
        rtt_sample: None,
        fine_rtt: None,
        cwnd_limited: true,
    };
    let mut control = illinois("linux", 40, 0);
    control.round_end = u64::MAX;
    for (credit, partial) in [(0, 500), (1, 0), (1, 500), (2, 0)] {
        control.on_ack(&cx(&estimator, 40), &half);
        assert_eq!(
            (control.state.credit, control.state.partial),
            (credit, partial)
        );
    }
    control.on_loss(&cx(&estimator, 2), &LOSS);
    assert_eq!((control.state.credit, control.cwnd()), (0, 2 * MSS));
    for (before, steps) in [(3, 0), (7, 1), (8, 2)] {
        let mut credit = before;
        assert_eq!(linux::steps(&mut credit, 10.0, 40), steps, "{before}");
        assert_eq!(credit, if steps == 0 { before } else { 0 }, "{before}");
    }
}

/// After a time-out alpha is that of Reno. The first round without queueing delay raises it to its
/// maximum, because no round exceeded d1 since.
#[test]
fn alpha_returns_at_once_after_a_time_out() {
    let estimator = RttEstimator::new(RtoConfig::default());
    let mut control = illinois("exact", 100, 0);
    round(&mut control, ms(200), 1);
    round(&mut control, ms(100), 2);
    control.on_timeout(&cx(&estimator, 100), true);
    control.window.set(100 * MSS);
    round(&mut control, ms(100), 1);
    assert_eq!(control.state.rates.alpha, 10.0);
}
