//! Unit tests of TCP-ADaLR against the numbers of its algorithms.

use super::*;
use crate::config::RtoConfig;
use crate::rto::RttEstimator;
use crate::time::Instant;

const MSS: u64 = 1000;
const WND: u64 = 64_000;

fn adalr(settings: &[(&str, Setting)], cwnd: u64, ssthresh: u64) -> Adalr {
    let mut control = Control::new(&Adalr::ALGORITHM);
    for &(name, setting) in settings {
        control = control.with(name, setting);
    }
    let start = Start {
        window: cwnd,
        ssthresh,
        ..Start::default()
    };
    let mut adalr = Adalr::new(&control, start);
    adalr.on_peer_window(WND, MSS);
    adalr
}

fn word(name: &'static str, word: &'static str) -> (&'static str, Setting) {
    (name, Setting::Choice(word))
}

/// Processes an ACK with an RTT of `rtt_ms`, `flight` bytes in flight and everything up to `una`
/// acknowledged. Returns the growth of cwnd.
fn ack(adalr: &mut Adalr, rtt_ms: u64, flight: u64, una: Offset) -> u64 {
    let rtt = RttEstimator::new(RtoConfig::default());
    let cx = Context {
        now: Instant::ZERO,
        mss: MSS,
        flight,
        snd_una: una,
        snd_max: una + flight,
        rtt: &rtt,
    };
    let sample = Some(Interval::from_millis(rtt_ms));
    let ack = Ack {
        bytes: MSS,
        rtt_sample: sample,
        fine_rtt: sample,
        cwnd_limited: true,
    };
    let before = adalr.cwnd;
    adalr.on_ack(&cx, &ack);
    adalr.cwnd - before
}

fn lose(adalr: &mut Adalr, flight: u64, max: Offset) {
    let rtt = RttEstimator::new(RtoConfig::default());
    let cx = Context {
        now: Instant::ZERO,
        mss: MSS,
        flight,
        snd_una: max - flight,
        snd_max: max,
        rtt: &rtt,
    };
    let loss = Loss {
        sent_at: Instant::ZERO,
    };
    adalr.on_loss(&cx, &loss);
}

#[test]
fn rho_is_sixty_a_second_between_one_and_sixty() {
    // Equation (1) and its limits.
    for (ms, rho) in [
        (10, 1.0),
        (250, 15.0),
        (500, 30.0),
        (1000, 60.0),
        (2000, 60.0),
    ] {
        let mut a = adalr(&[], 10 * MSS, MSS);
        ack(&mut a, ms, MSS, 1);
        assert!((a.rho - rho).abs() < 1e-12, "{ms} ms: {}", a.rho);
    }
    let mut a = adalr(&[], 10 * MSS, MSS);
    assert_eq!(a.rho, 1.0);
    let (timer, exact) = (Interval::from_millis(500), Interval::from_millis(640));
    let both = Ack {
        bytes: MSS,
        rtt_sample: Some(timer),
        fine_rtt: Some(exact),
        cwnd_limited: false,
    };
    a.sample(&both);
    assert!((a.rho - 38.4).abs() < 1e-12);
    let mut ticks = adalr(&[word("rho_clock", "timer")], 10 * MSS, MSS);
    ticks.sample(&both);
    assert!((ticks.rho - 30.0).abs() < 1e-12);
    // An ACK without an RTT sample of the retransmission timer leaves rho unchanged.
    a.sample(&Ack {
        rtt_sample: None,
        ..both
    });
    assert!((a.rho - 38.4).abs() < 1e-12);
}

#[test]
fn slow_start_adds_a_quarter_of_the_root_of_rho_in_each_subphase() {
    // rho = 36: sqrt(36)/4 = 1.5. ssthresh is 40 segments, which gives bounds at 10 and 20. The
    // peer's window is 64, which gives bounds at 16 and 32.
    for (cwnd, flight) in [(8, 8), (12, 12), (18, 18), (24, 20)] {
        let mut a = adalr(&[], cwnd * MSS, 40 * MSS);
        assert_eq!(ack(&mut a, 600, flight * MSS, 1), 3 * MSS / 2, "{cwnd}");
        let mut short = adalr(&[], cwnd * MSS, 40 * MSS);
        assert_eq!(ack(&mut short, 249, flight * MSS, 1), MSS, "{cwnd}");
        let mut lossy = adalr(&[], cwnd * MSS, 40 * MSS);
        lossy.recover = 1;
        assert_eq!(ack(&mut lossy, 600, flight * MSS, 1), MSS, "{cwnd}");
    }
    // rho equal to the breakpoint scales the growth: sqrt(15)/4 = 0.968.
    let mut a = adalr(&[], 8 * MSS, 40 * MSS);
    assert_eq!(ack(&mut a, 250, 8 * MSS, 1), 968);
    // The other interpretation: sqrt(36/4) = 3.
    let mut a = adalr(&[word("root", "of_quotient")], 8 * MSS, 40 * MSS);
    assert_eq!(ack(&mut a, 600, 8 * MSS, 1), 3 * MSS);
}

#[test]
fn gaps_of_slow_start_grow_as_reno_or_hold() {
    // Cases that Algorithm 1 leaves open: (a) small cwnd, flight of a quarter or more; (b) large
    // cwnd, small flight; (c) flight of half the peer's window or more.
    for (cwnd, flight) in [(8, 16), (10, 16), (24, 8), (36, 32)] {
        let mut a = adalr(&[], cwnd * MSS, 40 * MSS);
        assert_eq!(ack(&mut a, 600, flight * MSS, 1), MSS, "{cwnd}");
        let mut literal = adalr(&[word("gaps", "hold")], cwnd * MSS, 40 * MSS);
        assert_eq!(ack(&mut literal, 600, flight * MSS, 1), 0, "{cwnd}");
    }
}

#[test]
fn overlapping_subphases_count_once_or_each() {
    let all = &[word("subphases", "all")];
    let mut a = adalr(all, 24 * MSS, 40 * MSS); // 3 and 4
    assert_eq!(ack(&mut a, 600, 20 * MSS, 1), 3 * MSS);
    let mut a = adalr(all, 10 * MSS, 40 * MSS); // 1, and then 2
    assert_eq!(ack(&mut a, 600, 10 * MSS, 1), 3 * MSS);
    // Only one subphase applies if its step leaves cwnd at or below the lower bound of the next.
    for (cwnd, flight) in [(4000, 4000), (8500, 8500), (18_500, 20_000)] {
        let mut a = adalr(all, cwnd, 40 * MSS);
        assert_eq!(ack(&mut a, 600, flight, 1), 3 * MSS / 2, "{cwnd}");
    }
}

#[test]
fn slow_start_ends_at_the_threshold() {
    let mut a = adalr(&[], 39 * MSS, 40 * MSS);
    assert_eq!(ack(&mut a, 600, 20 * MSS, 1), MSS);
    assert!(ack(&mut a, 600, 20 * MSS, 1) > 0);
    // As printed, neither phase of Algorithm 1 covers cwnd = ssthresh.
    let mut literal = adalr(&[word("at_threshold", "hold")], 40 * MSS, 40 * MSS);
    assert_eq!(ack(&mut literal, 600, 20 * MSS, 1), 0);
    literal.cwnd += 1;
    assert!(ack(&mut literal, 600, 20 * MSS, 1) > 0);
}

#[test]
fn congestion_avoidance_adds_half_the_root_of_rho() {
    // sqrt(36)/2 = 3 segments per window of 40 segments: 75 bytes per ACK; Reno: 25.
    let grown = |settings: &[_], ms, flight, recover, una| {
        let mut a = adalr(settings, 40 * MSS, 20 * MSS);
        a.recover = recover;
        ack(&mut a, ms, flight * MSS, una)
    };
    assert_eq!(grown(&[], 600, 31, 0, 1), 75); // branch 2
    assert_eq!(grown(&[], 600, 32, 0, 1), 25); // branch 1, flight
    assert_eq!(grown(&[], 600, 31, 9, 9), 25); // branch 1, not past recover
    assert_eq!(grown(&[], 600, 31, 9, 10), 75); // branch 2, past recover
    assert_eq!(grown(&[], 600, 32, 9, 10), 25);
    // Below the breakpoint growth is Reno's. As printed, rho = 1 gives half of Reno's growth.
    assert_eq!(grown(&[], 10, 31, 0, 1), 25);
    let literal = &[("boost_below_breakpoint", Setting::Flag(true))];
    assert_eq!(grown(literal, 10, 31, 0, 1), 12);
    assert_eq!(grown(literal, 10, 31, 9, 9), 12);
    let quotient = &[word("root", "of_quotient")];
    assert_eq!(grown(quotient, 600, 31, 0, 1), 106); // sqrt(36/2) = 4.243
    // With the increased window in the conditions the bound is half of 96,000 bytes.
    let stretched = &[word("conditions_window", "increased")];
    assert_eq!(grown(stretched, 600, 32, 0, 1), 75);
}

#[test]
fn the_peers_window_is_stretched_until_a_loss() {
    for (policy, wanted) in [
        ("mult_sqrt", 96_000),    // times sqrt(36)/4
        ("add_half_rho", 82_000), // 18 segments
        ("add_rho", 100_000),     // 36 segments
        ("none", 64_000),
    ] {
        let mut a = adalr(&[word("rwnd_increase", policy)], 10 * MSS, MSS);
        assert_eq!(a.peer_window(WND, MSS), WND); // no sample yet
        ack(&mut a, 600, MSS, 1);
        assert_eq!(a.peer_window(WND, MSS), wanted, "{policy}");
        assert_eq!(a.peer_window(0, MSS), 0);
        ack(&mut a, 249, MSS, 1);
        assert_eq!(a.peer_window(WND, MSS), WND);
        ack(&mut a, 600, MSS, 1);
        lose(&mut a, 10 * MSS, 10_001);
        assert_eq!(a.peer_window(WND, MSS), WND);
    }
    // The growing window grows by 370 bytes with an ACK of one segment.
    let growing = &[
        word("rwnd_increase", "per_call"),
        ("rwnd_per_segment", Setting::Number(300.0)),
        ("rwnd_per_ack", Setting::Number(70.0)),
    ];
    let mut a = adalr(growing, 10 * MSS, MSS);
    for (rtt_ms, wanted) in [
        (600, WND + 370),
        (250, WND + 740),
        (249, WND), // below the breakpoint of rho: neither growth nor use of it
        (600, WND + 1_110),
    ] {
        ack(&mut a, rtt_ms, MSS, 1);
        assert_eq!(a.peer_window(WND, MSS), wanted);
    }
    assert_eq!(a.peer_window(0, MSS), 0);
    lose(&mut a, 10 * MSS, 10_001);
    ack(&mut a, 600, MSS, 1);
    assert_eq!(a.peer_window(WND, MSS), WND);
    // The window is never smaller than advertised: sqrt(15)/4 < 1.
    let mut a = adalr(&[], 10 * MSS, MSS);
    ack(&mut a, 250, MSS, 1);
    assert_eq!(a.peer_window(WND, MSS), WND);
}

#[test]
fn losses_halve_the_flight() {
    let mut a = adalr(&[], 30 * MSS, u64::MAX);
    assert_eq!(a.ssthresh(), WND); // the peer's window until then
    a.on_peer_window(2 * WND, MSS);
    assert_eq!(a.ssthresh(), 2 * WND);
    lose(&mut a, 20 * MSS, 20_001);
    a.on_peer_window(3 * WND, MSS);
    assert_eq!((a.cwnd(), a.ssthresh()), (10 * MSS, 10 * MSS));
    assert_eq!(a.recover, 20_001);
    let flag = &[("ssthresh_from_window", Setting::Flag(false))];
    assert_eq!(adalr(flag, MSS, u64::MAX).ssthresh(), u64::MAX);
}

#[test]
fn algorithm_2_deflates_by_the_bytes_acknowledged_minus_two_segments() {
    let rtt = RttEstimator::new(RtoConfig::default());
    let cx = Context {
        now: Instant::ZERO,
        mss: MSS,
        flight: 20 * MSS,
        snd_una: 5001,
        snd_max: 20_001,
        rtt: &rtt,
    };
    let four = Ack {
        bytes: 4 * MSS,
        rtt_sample: None,
        fine_rtt: None,
        cwnd_limited: true,
    };
    let window = |settings: &[_], window, pipe| {
        let now = InForce { window, pipe };
        adalr(settings, 10 * MSS, MSS).partial_ack_window(&cx, &four, now)
    };
    assert_eq!(window(&[], 10 * MSS, None), Some(8 * MSS));
    assert_eq!(window(&[], 4 * MSS, None), Some(2 * MSS));
    assert_eq!(window(&[], 3 * MSS, None), Some(2 * MSS));
    assert_eq!(window(&[], 10 * MSS, Some(9 * MSS)), Some(11 * MSS));
    assert_eq!(window(&[], 10 * MSS, Some(7 * MSS)), Some(10 * MSS));
    let deflate = &[word("sack_partial_ack", "deflate")];
    assert_eq!(window(deflate, 10 * MSS, Some(9 * MSS)), Some(8 * MSS));
    let none = &[word("sack_partial_ack", "none")];
    assert_eq!(window(none, 10 * MSS, Some(9 * MSS)), None);
    let rfc = &[word("deflation", "rfc6582")];
    assert_eq!(window(rfc, 10 * MSS, None), None);
    // As printed, Algorithm 2 applies at every ACK above the recovery point, on top of Algorithm 1:
    // 40 + 0.075 - 1 + 2 segments.
    let mut literal = adalr(&[word("deflation", "literal")], 40 * MSS, 20 * MSS);
    assert_eq!(window(&[word("deflation", "literal")], MSS, None), None);
    assert_eq!(ack(&mut literal, 600, 31 * MSS, 1), 75 + MSS);
    literal.recover = 9;
    assert_eq!(ack(&mut literal, 600, 31 * MSS, 9), 24); // not above
}

/// The undo of a spurious loss lets ssthresh follow the peer's window again if it did before, and
/// resets the recovery point.
#[test]
fn undo_restores_follow_and_recover() {
    let rtt = RttEstimator::new(RtoConfig::default());
    let mut a = adalr(&[], 8 * MSS, u64::MAX);
    let before = (a.follow, a.recover);
    let cx = Context {
        now: Instant::ZERO,
        mss: MSS,
        flight: 8 * MSS,
        snd_una: 1,
        snd_max: 1 + 8 * MSS,
        rtt: &rtt,
    };
    let undone = Undone {
        window: a.cwnd(),
        ssthresh: a.ssthresh(),
    };
    a.save();
    let sent_at = Instant::ZERO;
    a.on_loss(&cx, &Loss { sent_at });
    assert_ne!((a.follow, a.recover), before);
    a.on_spurious(&cx, &undone);
    assert_eq!((a.follow, a.recover), before);
}

/// ssthresh is at least two segments, however small the peer's window.
#[test]
fn ssthresh_is_two_segments_with_a_small_peer_window() {
    let start = Start {
        window: MSS,
        ssthresh: u64::MAX,
        ..Start::default()
    };
    let mut a = Adalr::new(&Control::new(&Adalr::ALGORITHM), start);
    a.on_peer_window(100, MSS);
    assert_eq!(a.ssthresh(), 2 * MSS);
}

/// rho is updated from RTT samples in recovery as well.
#[test]
fn rho_is_updated_in_recovery() {
    let rtt = RttEstimator::new(RtoConfig::default());
    let mut a = adalr(&[], 8 * MSS, 8 * MSS);
    lose(&mut a, 8 * MSS, 8 * MSS + 1);
    let cx = Context {
        now: Instant::ZERO,
        mss: MSS,
        flight: 7 * MSS,
        snd_una: MSS + 1,
        snd_max: 8 * MSS + 1,
        rtt: &rtt,
    };
    let ack = Ack {
        bytes: MSS,
        rtt_sample: Some(Interval::from_millis(500)),
        fine_rtt: None,
        cwnd_limited: true,
    };
    a.on_recovery_ack(&cx, &ack);
    assert!((a.rho - 30.0).abs() < 1e-12);
}
