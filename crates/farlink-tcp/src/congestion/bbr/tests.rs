use super::*;
use crate::config::RtoConfig;
use crate::rto::RttEstimator;

const MSS: u64 = 1000;
/// Bottleneck rate (bytes per second) and RTT of most tests: a BDP of 100 segments.
const RATE: u64 = 1_000_000;
const RTT: Interval = Interval::from_millis(100);
const PRODUCT: u64 = 100 * MSS;
/// Headroom in the inflight target: three send quanta of two segments (8.32 Mbit/s on the wire).
const HEADROOM: u64 = 6 * MSS;

/// A BBR controller and the path that it observes.
struct Driver {
    bbr: Bbr,
    estimator: RttEstimator,
    now: Instant,
    delivered: u64,
    una: Offset,
    max: Offset,
}

fn bbr(settings: &[(&str, Setting)]) -> Bbr {
    let mut control = Control::new(&Bbr::ALGORITHM).with("first_phase", Setting::Choice("probe"));
    for &(name, setting) in settings {
        control = control.with(name, setting);
    }
    let start = Start {
        window: 10 * MSS,
        ssthresh: u64::MAX,
        ..Start::default()
    };
    Bbr::new(&control, start)
}

impl Driver {
    /// Builds a driver after a handshake with an RTT of [`RTT`].
    fn new(settings: &[(&str, Setting)]) -> Self {
        let mut estimator = RttEstimator::new(RtoConfig::default());
        estimator.sample(Instant::ZERO, Instant::ZERO + RTT);
        let mut driver = Self {
            bbr: bbr(settings),
            estimator,
            now: Instant::ZERO + RTT,
            delivered: 1,
            una: 1,
            max: 1,
        };
        driver.hook(Bbr::on_established);
        driver
    }

    fn hook(&mut self, call: impl FnOnce(&mut Bbr, &Context<'_>)) {
        let cx = Context {
            now: self.now,
            mss: MSS,
            flight: 0,
            snd_una: self.una,
            snd_max: self.max,
            rtt: &self.estimator,
        };
        call(&mut self.bbr, &cx);
    }

    /// Returns the sample of an ACK of `bytes` at the delivery rate `rate`. Its segment was sent
    /// `behind` delivered bytes ago, and `flight` bytes are still in flight.
    fn ack(&mut self, bytes: u64, rate: u64, behind: u64, flight: u64) -> RateSample {
        self.delivered += bytes;
        let prior = self.delivered.saturating_sub(behind + bytes);
        let nanos = (self.delivered - prior) * 1_000_000_000 / rate;
        RateSample {
            delivered_ce: 0,
            prior_delivered_ce: 0,
            newly_marked: 0,
            tx_in_flight: 0,
            lost_since: 0,
            selective: true,
            delivered: self.delivered,
            prior_delivered: prior,
            interval: Some(Interval::from_nanos(nanos)),
            app_limited: false,
            rtt: Some(RTT),
            newly_delivered: bytes,
            newly_lost: 0,
            lost: 0,
            prior_flight: flight + bytes,
            flight,
        }
    }

    fn give(&mut self, sample: &RateSample) {
        self.hook(|bbr, cx| bbr.on_rate_sample(cx, sample));
    }

    /// Plays one round: one ACK at `rate`, one RTT later, with `flight` bytes in flight.
    fn round(&mut self, rate: u64, flight: u64) {
        self.now += RTT;
        let sample = self.ack(PRODUCT, rate, 0, flight);
        self.give(&sample);
    }

    /// Returns a driver in `ProbeBW`, phase 0, at [`RATE`].
    fn probing(settings: &[(&str, Setting)]) -> Self {
        let mut driver = Self::new(settings);
        for _ in 0..4 {
            driver.round(RATE, 2 * PRODUCT);
        }
        driver.round(RATE, PRODUCT);
        assert_eq!(driver.bbr.state, State::ProbeBw(0));
        driver
    }

    fn loss(&mut self) {
        let loss = Loss { sent_at: self.now };
        self.hook(|bbr, cx| bbr.on_loss(cx, &loss));
    }
}

/// Returns the pacing rate (bit/s on the wire) for a gain and a rate in bytes of data per second.
fn paced(gain: f64, rate: f64) -> u64 {
    (gain * rate * 1.04 * 8.0 + 0.5) as u64
}

#[test]
fn the_first_window_is_paced_over_a_share_of_the_round_trip() {
    // 10 segments in 100 ms, times 2.885; the wire has 40 bytes of headers per 1000 bytes.
    let driver = Driver::new(&[]);
    assert_eq!(driver.bbr.pacing_rate(), Some(paced(2.885, 100_000.0)));
    assert_eq!(driver.bbr.cwnd(), 10 * MSS);
    // Without an RTT sample BBR assumes 1 ms until the first sample.
    let mut blind = Driver::new(&[]);
    blind.bbr = bbr(&[]);
    let known = std::mem::replace(
        &mut blind.estimator,
        RttEstimator::new(RtoConfig::default()),
    );
    blind.hook(Bbr::on_established);
    assert_eq!(blind.bbr.pacing_rate(), Some(paced(2.885, 10_000_000.0)));
    blind.estimator = known;
    blind.round(50_000, 0);
    // With the RTT sample the rate is set anew from the initial window.
    assert_eq!(blind.bbr.pacing_rate(), Some(paced(2.885, 100_000.0)));
}

#[test]
fn startup_lasts_until_three_rounds_without_a_quarter_more() {
    let mut d = Driver::new(&[]);
    for rate in [200_000, 400_000, 800_000, 1_000_000] {
        d.round(rate, PRODUCT); // growth of a quarter or more
        assert_eq!((d.bbr.state, d.bbr.full_pipe.count), (State::Startup, 0));
        assert_eq!(d.bbr.pacing_rate(), Some(paced(2.885, rate as f64)));
    }
    for count in 1..3 {
        d.round(1_249_000, 4 * PRODUCT);
        assert_eq!(
            (d.bbr.state, d.bbr.full_pipe.count),
            (State::Startup, count)
        );
    }
    // An application-limited round does not count towards a full pipe.
    d.now += RTT;
    let mut limited = d.ack(PRODUCT, 1_000_000, 0, 4 * PRODUCT);
    limited.app_limited = true;
    d.give(&limited);
    assert_eq!((d.bbr.state, d.bbr.full_pipe.count), (State::Startup, 2));
    assert!(d.bbr.in_slow_start());
    d.round(1_249_000, 4 * PRODUCT);
    assert_eq!(d.bbr.state, State::Drain);
    assert!(!d.bbr.in_slow_start());
    assert_eq!(d.bbr.pacing_rate(), Some(paced(1.0 / 2.885, 1_249_000.0)));
}

#[test]
fn startup_grows_by_what_is_delivered() {
    let mut d = Driver::new(&[]);
    let first = d.ack(2 * MSS, 100_000, 0, 8 * MSS);
    d.give(&first);
    assert_eq!(d.bbr.cwnd(), 12 * MSS);
    let more = d.ack(3 * MSS, 100_000, 0, 8 * MSS);
    d.give(&more);
    assert_eq!(d.bbr.cwnd(), 15 * MSS);
}

#[test]
fn drain_ends_at_the_inflight_target() {
    let mut d = Driver::new(&[]);
    for _ in 0..4 {
        d.round(RATE, 2 * PRODUCT);
    }
    assert_eq!(d.bbr.state, State::Drain);
    // The quantum is 1 ms at 24 Mbit/s in Startup, and two segments in Drain and ProbeBW; three
    // quanta are added.
    assert_eq!(d.bbr.ssthresh(), PRODUCT + 9001);
    assert_eq!(d.bbr.inflight(1.0, MSS), PRODUCT + HEADROOM);
    d.round(RATE, PRODUCT + HEADROOM + 1);
    assert_eq!(d.bbr.state, State::Drain);
    d.round(RATE, PRODUCT + HEADROOM);
    assert_eq!(d.bbr.state, State::ProbeBw(0));
    assert_eq!(d.bbr.pacing_rate(), Some(paced(1.25, RATE as f64)));
}

#[test]
fn the_window_is_two_products_and_three_quanta() {
    let mut d = Driver::probing(&[]);
    for _ in 0..3 {
        d.round(RATE, PRODUCT);
    }
    assert_eq!(d.bbr.cwnd(), 2 * PRODUCT + HEADROOM);
    let mut d = Driver::probing(&[("cwnd_gain", Setting::Number(1.5))]);
    d.round(RATE, PRODUCT);
    assert_eq!(d.bbr.cwnd(), PRODUCT * 3 / 2 + HEADROOM);
}

#[test]
fn quanta_by_rate_on_the_wire() {
    let mut bbr = bbr(&[]);
    let mut quantum = |bits: f64| {
        bbr.pacing_rate = bits / 8.0;
        bbr.send_quantum(MSS)
    };
    assert_eq!(quantum(1.1e6), 1000.0);
    assert_eq!(quantum(1.2e6), 2000.0);
    assert_eq!(quantum(23e6), 2000.0);
    assert_eq!(quantum(80e6), 10_000.0); // 1 ms
    assert_eq!(quantum(1e9), 65_536.0);
    // The quantum is at least two segments where 1 ms at the pacing rate is less.
    bbr.pacing_rate = 24e6 / 8.0;
    assert_eq!(bbr.send_quantum(9000), 18_000.0);
}

#[test]
fn probe_bw_cycles_through_probing_draining_and_cruising() {
    let mut d = Driver::probing(&[]);
    let step = |d: &mut Driver, time: Interval, flight: u64| {
        d.now += time;
        let sample = d.ack(MSS, RATE, PRODUCT, flight - MSS);
        d.give(&sample);
        d.bbr.state
    };
    let over = RTT + Interval::from_nanos(1);
    // Phase 0 lasts longer than one RTT and until 1.25 BDP are in flight.
    let high = PRODUCT * 5 / 4 + HEADROOM;
    assert_eq!(step(&mut d, RTT, high), State::ProbeBw(0));
    assert_eq!(step(&mut d, RTT, high - 1), State::ProbeBw(0));
    assert_eq!(step(&mut d, RTT, high), State::ProbeBw(1));
    assert_eq!(d.bbr.pacing_rate(), Some(paced(0.75, RATE as f64)));
    // Phase 1 lasts at most one RTT, and ends earlier once in-flight data is down to one BDP.
    let item = PRODUCT + HEADROOM;
    assert_eq!(step(&mut d, RTT, item + 1), State::ProbeBw(1));
    assert_eq!(step(&mut d, Interval::ZERO, item), State::ProbeBw(2));
    for phase in 3..9 {
        assert_eq!(d.bbr.pacing_rate(), Some(paced(1.0, RATE as f64)));
        assert_eq!(step(&mut d, RTT, item), State::ProbeBw(phase - 1));
        let next = step(&mut d, Interval::from_nanos(1), item);
        assert_eq!(next, State::ProbeBw(phase % 8));
    }
    assert_eq!(d.bbr.pacing_rate(), Some(paced(1.25, RATE as f64)));
    // A loss also ends phase 0 after one RTT.
    d.now += over;
    let mut lossy = d.ack(MSS, RATE, PRODUCT, 0);
    lossy.newly_lost = MSS;
    d.give(&lossy);
    assert_eq!(d.bbr.state, State::ProbeBw(1));
}

#[test]
fn pacing_margin_lowers_the_rate() {
    let d = Driver::probing(&[("pacing_margin", Setting::Number(0.01))]);
    assert_eq!(
        d.bbr.pacing_rate(),
        Some(paced(1.25 * RATE as f64 * 0.99, 1.0))
    );
}

#[test]
fn first_phase_of_probe_bw_is_never_the_draining_one() {
    let mut observed = [false; 8];
    for ns in 0..200 {
        let mut d = Driver::new(&[("first_phase", Setting::Choice("mixed"))]);
        d.now += Interval::from_nanos(ns);
        d.hook(Bbr::enter_probe_bw);
        let State::ProbeBw(phase) = d.bbr.state else {
            panic!("{:?}", d.bbr.state)
        };
        observed[phase] = true;
    }
    assert_eq!(observed, [true, false, true, true, true, true, true, true]);
}

#[test]
fn the_maximum_rate_is_kept_for_ten_rounds() {
    let mut d = Driver::probing(&[]);
    d.round(2 * RATE, PRODUCT);
    for _ in 0..10 {
        d.round(RATE, PRODUCT);
        assert!((d.bbr.bandwidth.max() - 2.0 * RATE as f64).abs() < 1.0);
    }
    d.round(RATE, PRODUCT);
    assert!((d.bbr.bandwidth.max() - RATE as f64).abs() < 1.0);
}

#[test]
fn a_rate_that_the_application_limited_counts_only_if_it_is_greater() {
    let mut d = Driver::probing(&[]);
    for (rate, expected) in [(RATE / 2, RATE), (RATE * 2, RATE * 2)] {
        d.now += RTT;
        let mut sample = d.ack(PRODUCT, rate, 0, PRODUCT);
        sample.app_limited = true;
        let entries = d.bbr.bandwidth.samples.len();
        d.give(&sample);
        assert!((d.bbr.bandwidth.max() - expected as f64).abs() < 1.0);
        assert!(d.bbr.bandwidth.samples.len() <= entries);
    }
}

/// 4.1.2.3 compares with `<=`: an RTT equal to the least RTT renews it, which postpones `ProbeRTT`.
/// If equal samples do not renew it, an empty queue does not postpone `ProbeRTT`.
#[test]
fn an_equal_rtt_renews_the_least_one_if_configured() {
    for (counts, renewed) in [(true, 11), (false, 1)] {
        let mut d = Driver::probing(&[("equal_rtt_counts", Setting::Flag(counts))]);
        for (seconds, rtt) in [
            (1, Interval::from_millis(99)),
            (11, Interval::from_millis(99)),
        ] {
            d.now = Instant::ZERO + Interval::from_secs(seconds);
            let mut sample = d.ack(MSS, RATE, PRODUCT, PRODUCT);
            sample.rtt = Some(rtt);
            d.give(&sample);
        }
        assert_eq!(
            d.bbr.min_rtt.at,
            Instant::ZERO + Interval::from_secs(renewed)
        );
        // Exactly ten seconds do not start `ProbeRTT`.
        assert!(!d.bbr.limits_itself());
    }
}

#[test]
fn probe_rtt_starts_after_ten_seconds_without_renewal() {
    let mut d = Driver::probing(&[]);
    for _ in 0..3 {
        d.round(RATE, PRODUCT);
    }
    let window = d.bbr.cwnd();
    let longer = |d: &mut Driver, ms: u64, behind: u64, flight: u64| {
        d.now += Interval::from_millis(ms);
        let mut sample = d.ack(MSS, RATE, behind, flight);
        sample.rtt = Some(Interval::from_millis(130));
        d.give(&sample);
    };
    longer(&mut d, 10_000, PRODUCT, PRODUCT);
    assert_eq!(d.bbr.min_rtt.least, Some(RTT));
    assert!(!d.bbr.limits_itself());
    longer(&mut d, 1, PRODUCT, PRODUCT);
    assert_eq!(d.bbr.min_rtt.least, Some(Interval::from_millis(130)));
    assert_eq!(d.bbr.state, State::ProbeRtt(None));
    assert!(d.bbr.limits_itself());
    assert_eq!(d.bbr.cwnd(), 4 * MSS);
    // The 200 ms of `ProbeRTT` start when four segments are in flight, and one round must pass too.
    longer(&mut d, 500, PRODUCT, 5 * MSS);
    assert_eq!(d.bbr.state, State::ProbeRtt(None));
    longer(&mut d, 1, PRODUCT, 4 * MSS);
    assert!(matches!(d.bbr.state, State::ProbeRtt(Some(_))));
    longer(&mut d, 201, PRODUCT, 3 * MSS); // sent before: no round yet
    assert!(d.bbr.limits_itself());
    longer(&mut d, 1, 0, 3 * MSS);
    assert!(matches!(d.bbr.state, State::ProbeBw(_)));
    assert_eq!(d.bbr.min_rtt.at, d.now);
    let target = (2.0 * 0.13 * RATE as f64) as u64 + HEADROOM;
    assert_eq!(d.bbr.cwnd(), (window + MSS).min(target));
}

#[test]
fn probe_rtt_does_not_start_after_an_idle_time() {
    let mut d = Driver::probing(&[]);
    d.now += Interval::from_secs(20);
    d.hook(Bbr::on_transmit_start);
    assert_eq!(d.bbr.pacing_rate(), Some(paced(1.0, RATE as f64)));
    d.round(RATE, MSS);
    assert!(!d.bbr.limits_itself());
}

#[test]
fn the_first_round_of_recovery_sends_what_is_delivered() {
    let mut d = Driver::probing(&[]);
    for _ in 0..3 {
        d.round(RATE, PRODUCT);
    }
    let window = d.bbr.cwnd();
    // At the ACK that shows the loss cwnd = bytes in flight + bytes delivered.
    d.loss();
    let mut first = d.ack(MSS, RATE, PRODUCT, 90 * MSS);
    first.newly_lost = 3 * MSS;
    d.give(&first);
    assert_eq!(d.bbr.cwnd(), 91 * MSS);
    // In the first round of recovery cwnd = bytes in flight + bytes delivered at each ACK (packet
    // conservation).
    let second = d.ack(2 * MSS, RATE, PRODUCT, 89 * MSS);
    d.give(&second);
    assert_eq!(d.bbr.cwnd(), 91 * MSS);
    let lossy = RateSample {
        newly_lost: 4 * MSS,
        ..d.ack(MSS, RATE, PRODUCT, 84 * MSS)
    };
    d.give(&lossy);
    assert_eq!(d.bbr.cwnd(), 87 * MSS);
    // After that round cwnd grows by the bytes delivered.
    let later = d.ack(2 * MSS, RATE, 0, 87 * MSS);
    d.give(&later);
    assert_eq!(d.bbr.cwnd(), 89 * MSS);
    // If one ACK ends a recovery and begins the next, both count as one recovery.
    d.hook(|bbr, cx| bbr.on_recovered(cx, 1));
    d.loss();
    let again = d.ack(MSS, RATE, PRODUCT, 80 * MSS);
    d.give(&again);
    assert_eq!((d.bbr.cwnd(), d.bbr.conserve), (90 * MSS, false));
    // At the end of the recovery cwnd returns to its value before the recovery.
    d.hook(|bbr, cx| bbr.on_recovered(cx, 1));
    assert_eq!(d.bbr.cwnd(), 90 * MSS);
    let last = d.ack(MSS, RATE, PRODUCT, 89 * MSS);
    d.give(&last);
    assert_eq!(d.bbr.cwnd(), window);
}

/// Linux: a sample without a valid rate starts no round and does not end packet conservation.
#[test]
fn a_sample_without_a_rate_begins_no_round() {
    let mut d = Driver::probing(&[]);
    let round = d.bbr.round.count;
    d.now += RTT;
    let mut odd = d.ack(PRODUCT, RATE, 0, PRODUCT);
    odd.interval = None;
    d.give(&odd);
    assert_eq!((d.bbr.round.count, d.bbr.round.start), (round, false));
}

#[test]
fn undo_of_a_time_out_restores_the_window() {
    let mut d = Driver::probing(&[]);
    for _ in 0..3 {
        d.round(RATE, PRODUCT);
    }
    let window = d.bbr.cwnd();
    d.max = 100_000;
    d.hook(|bbr, _| bbr.save());
    d.hook(|bbr, cx| bbr.on_timeout(cx, true));
    assert_eq!(d.bbr.cwnd(), MSS);
    let undone = Undone {
        window: 5 * MSS,
        ssthresh: u64::MAX,
    };
    d.hook(|bbr, cx| bbr.on_spurious(cx, &undone));
    assert_eq!((d.bbr.cwnd(), d.bbr.repair), (window, Repair::None));
}

#[test]
fn cwnd_is_one_segment_after_a_timeout_until_the_repair_ends() {
    let mut d = Driver::probing(&[]);
    for _ in 0..3 {
        d.round(RATE, PRODUCT);
    }
    let window = d.bbr.cwnd();
    d.max = 100_000;
    d.hook(|bbr, cx| bbr.on_timeout(cx, true));
    assert_eq!(d.bbr.cwnd(), MSS);
    d.hook(|bbr, cx| bbr.on_timeout(cx, false));
    d.una = 1001;
    let sample = d.ack(MSS, RATE, 0, 0);
    d.give(&sample);
    assert_eq!(d.bbr.cwnd(), 4 * MSS); // minimum window
    let sample = d.ack(3 * MSS, RATE, 0, 0);
    d.give(&sample);
    assert_eq!(d.bbr.cwnd(), 7 * MSS);
    d.una = 100_000;
    let sample = d.ack(MSS, RATE, 0, 0);
    d.give(&sample);
    assert_eq!(d.bbr.cwnd(), window);
}

/// First output of `SplitMix64` from seed zero, as its authors publish it.
#[test]
fn the_phase_is_drawn_by_splitmix64() {
    assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
}

/// Draft, 4.2.2: the quantum is one segment below 1.2 Mbit/s, two below 24 Mbit/s, and 1 ms at the
/// pacing rate above, at most 64 KiB.
#[test]
fn the_send_quantum_has_three_ranges() {
    let mut b = bbr(&[]);
    for (rate, quantum) in [
        (149_999.0, 1000.0),
        (150_000.0, 2000.0),
        (2_999_999.0, 2000.0),
        (3_000_000.0, 3000.0),
        (1e9, 65_536.0),
    ] {
        b.pacing_rate = rate;
        assert_eq!(b.send_quantum(MSS), quantum, "{rate}");
    }
}

/// 4.2.3.4: the first ACK of a recovery leaves room for at least one segment. Within the round cwnd
/// is at least bytes in flight + bytes delivered.
#[test]
fn recovery_allows_a_segment_and_then_the_bytes_delivered() {
    let mut d = Driver::probing(&[]);
    d.loss();
    let first = d.ack(MSS / 2, RATE, PRODUCT, 90 * MSS);
    d.give(&first);
    assert_eq!(d.bbr.cwnd(), 91 * MSS);
    let second = d.ack(3 * MSS, RATE, PRODUCT, 95 * MSS);
    d.give(&second);
    assert_eq!(d.bbr.cwnd(), 98 * MSS);
}

/// Linux, `bbr_lt_bw_sampling`: two lossy intervals at the same rate replace BtlBw and the pacing
/// gains for 48 rounds.
#[test]
fn a_detected_policer_replaces_btlbw_for_48_rounds() {
    for detects in [true, false] {
        let mut d = Driver::probing(&[("policer_detection", Setting::Flag(detects))]);
        d.round(2 * RATE, PRODUCT);
        let lossy_round = |d: &mut Driver, i: u64| {
            d.now += RTT;
            let mut sample = d.ack(PRODUCT, RATE, 0, PRODUCT);
            (sample.newly_lost, sample.lost) = (PRODUCT / 5, i * PRODUCT / 5);
            d.give(&sample);
        };
        for i in 1..=8 {
            assert!((d.bbr.rate_in_use() - 2.0 * RATE as f64).abs() < 1.0);
            lossy_round(&mut d, i);
        }
        let rate = if detects { RATE } else { 2 * RATE };
        assert!((d.bbr.rate_in_use() - rate as f64).abs() < 1.0);
        if !detects {
            continue;
        }
        for i in 9..=55 {
            lossy_round(&mut d, i);
            assert_eq!(d.bbr.pacing_rate(), Some(paced(1.0, RATE as f64)), "{i}");
        }
        assert_eq!(d.bbr.cwnd(), 2 * PRODUCT + HEADROOM);
        lossy_round(&mut d, 56);
        assert_eq!(d.bbr.pacing_rate(), Some(paced(1.25, RATE as f64)));
    }
}

/// Linux, `bbr_set_state`: a time-out counts as the end of a round with a loss.
#[test]
fn a_time_out_counts_as_a_lossy_round_for_the_policer() {
    let mut d = Driver::probing(&[]);
    d.hook(|bbr, cx| bbr.on_timeout(cx, true));
    let mut sample = d.ack(MSS, RATE, PRODUCT, 0);
    sample.lost = MSS;
    d.give(&sample);
    assert!(d.bbr.policer.as_ref().is_some_and(|p| p.sampling));
    assert!(!d.bbr.timed_out);
}

/// Linux, `bbr_quantization_budget` and `bbr_ack_aggregation_cwnd`.
#[test]
fn windows_are_even_and_allow_for_ack_aggregation_if_configured() {
    let mut d = Driver::probing(&[("even_window", Setting::Flag(true))]);
    assert_eq!(d.bbr.inflight(1.0, MSS), PRODUCT + HEADROOM + 2 * MSS);
    d.bbr.state = State::ProbeBw(2);
    assert_eq!(d.bbr.inflight(1.0, MSS), PRODUCT + HEADROOM);
    assert_eq!(d.bbr.inflight(1.001, MSS), PRODUCT + HEADROOM + 2 * MSS);
    let mut d = Driver::probing(&[("ack_aggregation", Setting::Flag(true))]);
    for _ in 0..3 {
        d.round(RATE, PRODUCT);
    }
    // All data of a round in one ACK exceeds BtlBw times the time since the previous ACK by one
    // BDP.
    assert_eq!(d.bbr.cwnd(), 3 * PRODUCT + HEADROOM);
}
