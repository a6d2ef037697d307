use super::*;
use crate::config::RtoConfig;
use crate::rto::RttEstimator;

const MSS: u64 = 1000;

/// A controller with a receive window of 64 segments and an RTT of 550 ms, the values of the paper.
struct Driver {
    peach: Peach,
    rtt: RttEstimator,
    now: Instant,
}

impl Driver {
    fn new(settings: &[(&str, Setting)], window: u64) -> Self {
        let mut control = Control::new(&Peach::ALGORITHM);
        for &(name, setting) in settings {
            control = control.with(name, setting);
        }
        let start = Start {
            window: window * MSS,
            ssthresh: u64::MAX,
            ..Start::default()
        };
        let mut rtt = RttEstimator::new(RtoConfig::default());
        let now = Instant::ZERO + Interval::from_millis(550);
        rtt.sample(Instant::ZERO, now);
        let mut driver = Self {
            peach: Peach::new(&control, start),
            rtt,
            now,
        };
        driver.peach.on_peer_window(64 * MSS, MSS);
        driver.with(0, Peach::on_established);
        driver
    }

    fn with<T>(&mut self, flight: u64, f: impl FnOnce(&mut Peach, &Context<'_>) -> T) -> T {
        let cx = Context {
            now: self.now,
            mss: MSS,
            flight: flight * MSS,
            snd_una: 1,
            snd_max: 1 + flight * MSS,
            rtt: &self.rtt,
        };
        f(&mut self.peach, &cx)
    }

    fn loss(&mut self, flight: u64) {
        let sent_at = self.now;
        self.with(flight, |p, cx| p.on_loss(cx, &Loss { sent_at }));
    }

    fn ack(&mut self) {
        let ack = Ack {
            bytes: MSS,
            rtt_sample: None,
            fine_rtt: None,
            cwnd_limited: true,
        };
        self.with(1, |p, cx| CongestionControl::on_ack(p, cx, &ack));
    }

    fn dummy_acks(&mut self, n: u64) {
        for _ in 0..n {
            self.with(1, DummySegments::on_ack);
        }
    }

    /// Sends dummies until none is left; returns the time of each.
    fn drain(&mut self) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some(due) = self.peach.due() {
            self.now = self.now.max(due);
            times.push(self.now.as_nanos());
            self.with(1, Peach::on_sent);
        }
        times
    }
}

/// Sudden Start sends rwnd - 1 dummies after the first data, one every RTT / rwnd. After one RTT,
/// rwnd segments have been sent.
#[test]
fn sudden_start_sends_a_window_in_a_round_trip() {
    let mut driver = Driver::new(&[], 1);
    assert_eq!(driver.peach.due(), None);
    let start = driver.now.as_nanos();
    driver.with(1, Peach::on_data_sent);
    let times = driver.drain();
    let gap = 550_000_000 / 64;
    let expected: Vec<_> = (1..64).map(|i| start + i * gap).collect();
    assert_eq!(times, expected);
    // Later data does not start another Sudden Start.
    driver.with(1, Peach::on_data_sent);
    assert_eq!(driver.peach.due(), None);
    // Each dummy ACK adds one segment: cwnd is 64 segments one RTT later.
    driver.dummy_acks(63);
    assert_eq!(driver.peach.cwnd(), 64 * MSS);
}

#[test]
fn sudden_start_sends_fewer_dummies_after_a_larger_initial_window() {
    let mut driver = Driver::new(&[], 10);
    driver.with(1, Peach::on_data_sent);
    assert_eq!(driver.drain().len(), 54);
}

/// ACKs of data increase cwnd as in congestion avoidance, by MSS²/cwnd, even where Reno is in slow
/// start.
#[test]
fn acks_of_data_grow_cwnd_as_in_congestion_avoidance() {
    let mut driver = Driver::new(&[], 1);
    driver.with(1, Peach::on_data_sent);
    driver.dummy_acks(9);
    driver.ack();
    assert_eq!(driver.peach.cwnd(), 10_100);
}

#[test]
fn without_sudden_start_there_is_slow_start() {
    let mut driver = Driver::new(&[("sudden_start", Setting::Flag(false))], 2);
    driver.with(1, Peach::on_data_sent);
    assert_eq!(driver.peach.due(), None);
    driver.ack();
    assert_eq!(driver.peach.cwnd(), 3 * MSS);
}

/// A loss at window w sets cwnd to w/2 and releases w dummies. If k of them are acknowledged, cwnd
/// becomes w/2 + max(0, k - w/2), which is w for k = w.
#[test]
fn rapid_recovery_regains_one_segment_per_acknowledged_dummy() {
    for w in 4..=64 {
        for k in 0..=w {
            let mut driver = Driver::new(&[("sudden_start", Setting::Flag(false))], w);
            driver.loss(w);
            assert_eq!(driver.peach.cwnd(), w * MSS / 2);
            let mut sent = 0;
            for _ in 0..w {
                driver.with(w, Peach::on_dup_ack);
                let now = driver.drain().len() as u64;
                assert!(now <= 2);
                sent += now;
            }
            assert_eq!(sent, w, "as many as the window held");
            driver.dummy_acks(k);
            let regained = k.saturating_sub(w.div_ceil(2)) * MSS;
            assert_eq!(driver.peach.cwnd(), w * MSS / 2 + regained, "{w} {k}");
        }
    }
}

#[test]
fn rapid_recovery_lasts_as_long_as_the_recovery() {
    let mut driver = Driver::new(&[("dummies_per_ack", Setting::Count(3))], 20);
    driver.loss(20);
    driver.with(20, Peach::on_dup_ack);
    assert_eq!(driver.drain().len(), 3);
    driver.dummy_acks(3);
    driver.with(20, |p, cx| p.on_recovered(cx, 10 * MSS));
    driver.with(20, Peach::on_dup_ack);
    assert_eq!(driver.peach.due(), None);
    // The first ten dummy ACKs do not open the window, and three of these have arrived.
    driver.dummy_acks(7);
    assert_eq!(driver.peach.cwnd(), 10 * MSS);
    driver.dummy_acks(1);
    assert_eq!(driver.peach.cwnd(), 11 * MSS);
}

/// After a recovery that ends below ssthresh, cwnd grows as in slow start. The end of Rapid
/// Recovery keeps the window that dummies opened.
#[test]
fn the_end_of_rapid_recovery_keeps_the_window_from_dummies() {
    let mut driver = Driver::new(&[], 8);
    driver.loss(8);
    driver.dummy_acks(6);
    assert_eq!(
        (driver.peach.cwnd(), driver.peach.ssthresh()),
        (6_000, 6_000)
    );
    driver.with(2, |p, cx| p.on_recovered(cx, 3 * MSS));
    assert_eq!(driver.peach.cwnd(), 6 * MSS);
    driver.ack();
    assert_eq!(driver.peach.cwnd(), 6_166);
}

#[test]
fn without_rapid_recovery_a_loss_releases_no_dummies() {
    let mut driver = Driver::new(&[("rapid_recovery", Setting::Flag(false))], 20);
    driver.loss(20);
    driver.with(20, Peach::on_dup_ack);
    assert_eq!((driver.peach.due(), driver.peach.cwnd()), (None, 10 * MSS));
}

#[test]
fn growth_by_dummies_stops_at_the_peers_window() {
    let mut driver = Driver::new(&[], 60);
    driver.dummy_acks(100);
    assert_eq!(driver.peach.cwnd(), 64 * MSS);
    // A smaller peer window does not reduce cwnd.
    driver.peach.on_peer_window(10 * MSS, MSS);
    driver.dummy_acks(1);
    assert_eq!(driver.peach.cwnd(), 64 * MSS);
}

#[test]
fn a_timeout_starts_sudden_start_again() {
    let mut driver = Driver::new(&[], 20);
    driver.loss(20);
    driver.with(10, |p, cx| p.on_timeout(cx, true));
    assert_eq!(
        (driver.peach.cwnd(), driver.peach.ssthresh()),
        (MSS, 5 * MSS)
    );
    driver.with(1, Peach::on_data_sent);
    assert_eq!(driver.drain().len(), 63);
    // After a time-out `wdsn` is zero, so the next dummy ACK opens the window.
    driver.dummy_acks(1);
    assert_eq!(driver.peach.cwnd(), 2 * MSS);
    driver.with(1, |p, cx| p.on_timeout(cx, false));
    assert_eq!(driver.peach.ssthresh(), 5 * MSS);
    driver.with(1, Peach::on_data_sent);
    assert_eq!(driver.peach.due(), None);
    driver.ack();
    driver.with(1, Peach::on_data_sent);
    assert_eq!(driver.drain().len(), 62);
}

/// With a peer that does not support dummies Peach's windows equal Reno's.
#[test]
fn windows_equal_renos_without_dummy_support() {
    let mut driver = Driver::new(&[], 1);
    driver.with(1, Peach::on_data_sent);
    driver.peach.on_refused();
    assert_eq!(driver.peach.due(), None);
    driver.ack();
    assert_eq!(driver.peach.cwnd(), 2 * MSS);
    driver.loss(20);
    assert_eq!(
        (driver.peach.cwnd(), driver.peach.ssthresh()),
        (10_000, 10_000)
    );
    driver.with(20, Peach::on_dup_ack);
    assert_eq!(driver.peach.due(), None);
    driver.with(20, |p, cx| p.on_timeout(cx, true));
    driver.with(1, Peach::on_data_sent);
    assert_eq!(driver.peach.due(), None);
    driver.ack();
    assert_eq!(driver.peach.cwnd(), 2 * MSS);
}

#[test]
fn a_mark_starts_no_rapid_recovery() {
    let mut driver = Driver::new(&[], 20);
    let sent_at = driver.now;
    driver.with(20, |p, cx| p.on_congestion_mark(cx, &Loss { sent_at }));
    driver.with(20, Peach::on_dup_ack);
    assert_eq!((driver.peach.due(), driver.peach.cwnd()), (None, 10 * MSS));
}

/// `in_slow_start` is true during Sudden Start and while cwnd returns to ssthresh after a recovery.
/// It is false once cwnd has reached ssthresh.
#[test]
fn in_slow_start_is_true_in_sudden_start_and_below_ssthresh_after_recovery() {
    let mut driver = Driver::new(&[], 4);
    driver.with(1, Peach::on_data_sent);
    assert!(driver.peach.in_slow_start());
    driver.drain();
    driver.now += Interval::from_secs(1);
    let ack = Ack {
        bytes: MSS,
        rtt_sample: None,
        fine_rtt: None,
        cwnd_limited: true,
    };
    driver.with(1, |p, cx| p.on_delivered(cx, &ack));
    assert!(!driver.peach.in_slow_start(), "opened, far below ssthresh");
    for (window, slow_start) in [(3, true), (4, false)] {
        let mut driver = Driver::new(&[("rapid_recovery", Setting::Flag(false))], 8);
        driver.loss(8);
        assert!(!driver.peach.in_slow_start());
        driver.with(4, |p, cx| p.on_recovered(cx, window * MSS));
        assert_eq!(driver.peach.in_slow_start(), slow_start, "{window}");
    }
}
