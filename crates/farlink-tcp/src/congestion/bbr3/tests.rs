use super::*;
use crate::config::RtoConfig;
use crate::congestion::Setting;
use crate::rto::RttEstimator;

mod linux;
mod model;

const MSS: u64 = 1000;
/// Bottleneck rate (bytes per second) and RTT of most tests: a BDP of 100 segments.
const RATE: u64 = 1_000_000;
const RTT: Interval = Interval::from_millis(100);
const PRODUCT: u64 = 100 * MSS;

/// A controller and the path that it observes.
struct Driver {
    bbr: Bbr3,
    estimator: RttEstimator,
    now: Instant,
    delivered: u64,
    lost: u64,
    una: Offset,
    max: Offset,
}

impl Driver {
    /// Builds a driver after a handshake with an RTT of [`RTT`].
    fn new(settings: &[(&str, Setting)]) -> Self {
        let mut control = Control::new(&Bbr3::ALGORITHM);
        for &(name, setting) in settings {
            control = control.with(name, setting);
        }
        let start = Start {
            window: 10 * MSS,
            ssthresh: u64::MAX,
            ..Start::default()
        };
        let mut estimator = RttEstimator::new(RtoConfig::default());
        estimator.sample(Instant::ZERO, Instant::ZERO + RTT);
        let mut driver = Self {
            bbr: Bbr3::new(&control, start),
            estimator,
            now: Instant::ZERO + RTT,
            delivered: 1,
            lost: 0,
            una: 1,
            max: 1,
        };
        driver.hook(Bbr3::on_established);
        driver
    }

    fn linux() -> Self {
        Self::new(&[("rules", Setting::Choice("linux"))])
    }

    fn hook(&mut self, call: impl FnOnce(&mut Bbr3, &Context<'_>)) {
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

    /// Returns the sample of an ACK of `bytes` at `rate`, sent with `flight` bytes in flight.
    fn sample(&mut self, bytes: u64, rate: u64, flight: u64) -> RateSample {
        self.delivered += bytes;
        RateSample {
            delivered: self.delivered,
            prior_delivered: self.delivered - bytes,
            interval: Some(Interval::from_nanos(bytes * 1_000_000_000 / rate)),
            app_limited: false,
            rtt: Some(RTT),
            newly_delivered: bytes,
            newly_lost: 0,
            lost: self.lost,
            delivered_ce: 0,
            prior_delivered_ce: 0,
            newly_marked: 0,
            tx_in_flight: flight,
            lost_since: 0,
            selective: true,
            prior_flight: flight,
            flight,
        }
    }

    fn give(&mut self, sample: &RateSample) {
        self.hook(|bbr, cx| bbr.on_rate_sample(cx, sample));
    }

    /// Plays one round: one ACK at `rate`, one RTT later, with `flight` bytes in flight.
    fn round(&mut self, rate: u64, flight: u64) {
        self.now += RTT;
        let sample = self.sample(PRODUCT, rate, flight);
        self.give(&sample);
    }

    /// Returns the sample of an ACK of a segment that was sent in the first round.
    fn late_sample(&mut self, flight: u64) -> RateSample {
        let sample = self.sample(MSS, RATE, flight);
        RateSample {
            prior_delivered: 0,
            interval: Some(Interval::from_nanos(sample.delivered * 1_000)),
            ..sample
        }
    }

    /// Marks `count` segments of a flight of `flight` bytes lost.
    fn lose(&mut self, count: u64, flight: u64) {
        let before = self.lost;
        let segments: Vec<LostSegment> = (1..=count)
            .map(|n| LostSegment {
                len: MSS,
                tx_in_flight: flight,
                lost_since: n * MSS,
                app_limited: false,
            })
            .collect();
        self.lost = before + count * MSS;
        let delivered = self.delivered;
        self.hook(|bbr, cx| bbr.on_segments_lost(cx, &segments, delivered));
    }

    fn recover(&mut self) {
        let loss = Loss { sent_at: self.now };
        self.hook(|bbr, cx| bbr.on_loss(cx, &loss));
    }

    /// Plays rounds at `rate` with `flight` bytes in flight until `is_there`.
    fn until(&mut self, rate: u64, flight: u64, is_there: impl Fn(State) -> bool) {
        for _ in 0..200 {
            if is_there(self.bbr.state) {
                return;
            }
            self.round(rate, flight);
        }
        panic!("{:?} after 200 rounds", self.bbr.state);
    }

    /// Brings the driver to a phase of `ProbeBW` at [`RATE`].
    fn at(mut self, phase: Phase) -> Self {
        for rate in [250_000, 500_000, RATE, RATE, RATE, RATE] {
            self.round(rate, PRODUCT);
        }
        self.until(RATE, PRODUCT - MSS, |state| state == State::ProbeBw(phase));
        self
    }
}

/// Returns the pacing rate (bit/s on the wire) for a gain and a rate in bytes of data per second.
fn paced(gain: f64, rate: f64) -> u64 {
    (gain * rate * 1.04 * 8.0 + 0.5) as u64
}

/// 10 segments in 100 ms, times 4 ln 2; the wire has 40 bytes of headers per 1000 bytes.
#[test]
fn the_first_window_is_paced_at_the_startup_gain() {
    let draft = Driver::new(&[]);
    assert_eq!(draft.bbr.pacing_rate(), Some(paced(2.77, 100_000.0)));
    // Linux takes its margin of 1 % off the first rate, too.
    let linux = Driver::linux();
    assert_eq!(linux.bbr.pacing_rate(), Some(paced(2.77 * 0.99, 100_000.0)));
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut d = Driver::new(&[]);
    for rate in [200_000, 250_000, 312_500, 390_625] {
        d.round(rate, 2 * PRODUCT);
        assert_eq!(d.bbr.state, State::Startup);
    }
    // Growth by less than a quarter, twice.
    d.round(488_000, 2 * PRODUCT);
    d.round(488_000, 2 * PRODUCT);
    assert_eq!(d.bbr.state, State::Startup);
    d.round(488_000, 2 * PRODUCT);
    assert_eq!(d.bbr.state, State::Drain);
    assert_eq!(d.bbr.pacing_rate(), Some(paced(0.35 * 0.99, 488_000.0)));
    // Drain ends at 1 BDP in flight: 48,800 bytes.
    d.round(488_000, 48_801);
    assert_eq!(d.bbr.state, State::Drain);
    d.round(488_000, 48_800);
    // ProbeBW_DOWN has nothing left to drain.
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Cruise));
    assert_eq!(d.bbr.pacing_rate(), Some(paced(0.99, 488_000.0)));
}

#[test]
fn startup_ignores_rounds_that_the_application_limits() {
    let mut d = Driver::new(&[]);
    for _ in 0..10 {
        d.now += RTT;
        let sample = RateSample {
            app_limited: true,
            ..d.sample(PRODUCT, RATE, PRODUCT)
        };
        d.give(&sample);
    }
    assert_eq!(d.bbr.state, State::Startup);
}

/// Six ACKs with losses in a round of fast recovery, and more than 2 % lost, end Startup. The bound is
/// the greater of 1 BDP and the volume of the last round.
#[test]
fn losses_end_startup() {
    for (acks, lost, ends) in [(6, 2001, true), (5, 2001, false), (6, 2000, false)] {
        let mut d = Driver::new(&[]);
        d.round(RATE, PRODUCT);
        d.recover();
        for _ in 0..acks {
            let sample = RateSample {
                newly_lost: 1,
                ..d.late_sample(PRODUCT)
            };
            d.give(&sample);
        }
        assert_eq!(d.bbr.state, State::Startup);
        d.now += RTT;
        let sample = RateSample {
            lost_since: lost,
            ..d.sample(PRODUCT, RATE, PRODUCT)
        };
        d.give(&sample);
        assert_eq!(d.bbr.full_pipe.reached, ends, "{acks} {lost}");
        if ends {
            // More than 1 BDP of 100,000 bytes was delivered in the round.
            assert_eq!(d.bbr.bounds.long, 106_001);
        }
    }
}

/// A cycle: Down until 1 BDP is in flight, Cruise for 2 to 3 s or 62 to 63 rounds, Refill for one round,
/// then Up at 1.25 until a plateau of three rounds.
#[test]
fn a_cycle_of_probe_bw_has_four_phases() {
    let mut d = Driver::new(&[]).at(Phase::Cruise);
    assert_eq!(d.bbr.pacing_rate(), Some(paced(0.99, 1e6)));
    let begin = d.bbr.cycle.since;
    d.until(RATE, PRODUCT - MSS, |state| {
        state != State::ProbeBw(Phase::Cruise)
    });
    let waited = d.now.since(begin).as_secs_f64();
    assert!((2.0..=3.1).contains(&waited), "{waited}");
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Refill));
    d.round(RATE, PRODUCT);
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Up));
    assert_eq!(d.bbr.pacing_rate(), Some(paced(1.25 * 0.99, 1e6)));
    // The window is 2.25 BDP, the 100 segments of one ACK (aggregation), and two segments.
    d.round(RATE, PRODUCT);
    assert_eq!(d.bbr.cwnd(), 225 * MSS + PRODUCT + 2 * MSS);
    d.round(RATE, PRODUCT);
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Up));
    d.round(RATE, PRODUCT);
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Down));
    assert_eq!(d.bbr.pacing_rate(), Some(paced(0.9 * 0.99, 1e6)));
    // The window of the other phases is 2 BDP and the aggregation.
    assert_eq!(d.bbr.cwnd(), 200 * MSS + PRODUCT);
}

#[test]
fn a_small_path_is_probed_after_as_many_rounds_as_it_has_segments() {
    // 10 segments per RTT of 100 ms: a Reno flow would lose once in 10 rounds.
    let mut d = Driver::new(&[]);
    for _ in 0..5 {
        d.round(100_000, 8 * MSS);
    }
    let begin = d.bbr.cycle.since;
    d.until(100_000, 8 * MSS, |state| {
        state == State::ProbeBw(Phase::Refill)
    });
    let rounds = d.now.since(begin).as_nanos() / RTT.as_nanos();
    assert!((9..=10).contains(&rounds), "{rounds}");
}

#[test]
fn waits_between_probes_are_uniform_from_two_to_three_seconds() {
    let mut sum = 0.0;
    let mut odd = 0;
    for n in 0..10_000_u64 {
        let mut d = Driver::new(&[]);
        d.max = n * 1460;
        d.hook(Bbr3::start_down);
        odd += d.bbr.cycle.rounds;
        let due = |ms: u64| {
            let at = d.bbr.cycle.since + Interval::from_millis(ms);
            d.bbr.cycle.is_due(at, u64::MAX)
        };
        assert!(!due(2000) && due(3001));
        let waits = (2000..=3000_u64).step_by(10).filter(|&ms| !due(ms));
        sum += waits.count() as f64;
    }
    // Mean of 101 points of which the uniform wait passes half; the mean's deviation is 0.29.
    assert!((sum / 10_000.0 - 50.5).abs() < 1.5, "{sum}");
    assert!((4_800..5_200).contains(&odd), "{odd}");
}

/// More than 2 % of the flight lost during a probe sets the long-term bound to where the share was
/// crossed: (0.02 * 99 - 2) / 0.98 of a segment beyond the two lost before, which is none.
#[test]
fn losses_during_a_probe_set_the_long_term_bound() {
    let mut d = Driver::new(&[]).at(Phase::Up);
    d.lose(2, PRODUCT);
    assert_eq!(d.bbr.bounds.long, UNBOUNDED);
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Up));
    d.lose(3, PRODUCT);
    assert_eq!(d.bbr.bounds.long, 99 * MSS);
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Down));
    // Only the first response of a probe counts.
    d.lose(50, PRODUCT);
    assert_eq!(d.bbr.bounds.long, 99 * MSS);
}

#[test]
fn the_long_term_bound_falls_by_three_tenths_at_most() {
    let mut d = Driver::new(&[]).at(Phase::Up);
    d.lose(20, 30 * MSS);
    assert_eq!(d.bbr.bounds.long, 70 * MSS);
}

#[test]
fn the_share_of_losses_is_crossed_within_a_segment() {
    // Ten segments of 10,000 bytes in flight; nothing lost before the second one.
    let segment = LostSegment {
        len: 10_000,
        tx_in_flight: 100_000,
        lost_since: 10_000,
        app_limited: false,
    };
    // x / (90,000 + x) = 0.02.
    assert_eq!(bounds::inflight_at_loss(&segment, 0.02), 90_000 + 1_836);
}

/// A round with a loss outside of a probe sets the short-term bounds to the latest delivery, or to
/// seven tenths.
#[test]
fn losses_while_cruising_set_short_term_bounds() {
    let mut d = Driver::new(&[]).at(Phase::Cruise);
    let window = d.bbr.cwnd();
    d.lose(1, PRODUCT);
    d.round(900_000, PRODUCT / 2); // ends the round of the loss
    assert_eq!(d.bbr.bounds.rate, 1e6, "the best rate of the round");
    assert_eq!(d.bbr.bounds.short, window * 7 / 10);
    d.lose(1, PRODUCT);
    d.now += RTT;
    let sample = d.sample(PRODUCT / 2, 500_000, PRODUCT / 2);
    d.give(&sample);
    assert!((d.bbr.bounds.rate - 900_000.0).abs() < 1.0);
    d.lose(1, PRODUCT);
    d.now += RTT;
    let sample = d.sample(PRODUCT / 2, 500_000, PRODUCT / 2);
    d.give(&sample);
    // Seven tenths of 900,000, because 500,000 is less.
    assert!((d.bbr.bounds.rate - 630_000.0).abs() < 1.0);
    let pace = d.bbr.pacing_rate().unwrap();
    assert!(pace.abs_diff(paced(0.99, 630_000.0)) < 10);
    // A probe forgets the bounds.
    d.until(630_000, PRODUCT / 2, |state| {
        state == State::ProbeBw(Phase::Refill)
    });
    assert_eq!(d.bbr.bounds.short, UNBOUNDED);
    assert!(d.bbr.bounds.rate.is_infinite());
}

#[test]
fn cruising_leaves_headroom_below_the_long_term_bound() {
    let mut d = Driver::new(&[]).at(Phase::Cruise);
    d.bbr.bounds.long = 80 * MSS;
    d.now += Interval::from_millis(1);
    let sample = d.late_sample(50 * MSS);
    d.give(&sample);
    assert_eq!(d.bbr.cwnd(), 68 * MSS);
}

/// The bound grows by 1, 2, 4 ... segments a round while the window is full.
#[test]
fn a_probe_without_losses_raises_the_bound_exponentially() {
    let mut d = Driver::new(&[]).at(Phase::Up);
    d.bbr.bounds.long = 100 * MSS;
    d.bbr.cwnd = 100 * MSS;
    d.bbr.cycle.start_refill(0);
    d.bbr.cycle.start_up(d.now, 100);
    for total in [1, 3, 7, 15] {
        let acked = d.bbr.cwnd;
        d.now += RTT;
        let flight = d.bbr.bounds.long;
        let sample = d.sample(acked, 2 * RATE, flight);
        d.give(&sample);
        let grown = (d.bbr.bounds.long - 100 * MSS) / MSS;
        assert!(grown.abs_diff(total) <= total / 8, "{grown} for {total}");
    }
}

/// `ProbeRTT` comes 5 s after the last lower sample, keeps half a BDP for 200 ms and a round, and
/// restores the window.
#[test]
fn probe_rtt_halves_the_data_in_flight_every_five_seconds() {
    let mut d = Driver::new(&[]);
    for rate in [RATE, RATE, RATE, RATE] {
        d.round(rate, PRODUCT);
    }
    d.until(RATE, PRODUCT - MSS, |state| {
        matches!(state, State::ProbeRtt(_))
    });
    assert_eq!(
        d.now.as_nanos(),
        5_200_000_000,
        "RTT + 5 s, and the next ACK"
    );
    assert_eq!(d.bbr.cwnd(), PRODUCT / 2);
    assert!(d.bbr.limits_itself());
    d.round(RATE / 2, PRODUCT / 2);
    let begin = d.now;
    d.until(RATE / 2, PRODUCT / 2, |state| {
        !matches!(state, State::ProbeRtt(_))
    });
    let lasted = d.now.since(begin);
    assert!(
        (200..=400).contains(&(lasted.as_nanos() / 1_000_000)),
        "{lasted:?}"
    );
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Cruise));
    assert!(d.bbr.cwnd() > PRODUCT);
}

#[test]
fn a_higher_rtt_counts_after_ten_seconds_alone() {
    let mut min = MinRtt::new(Interval::from_secs(5));
    let at = |ms: u64| Instant::ZERO + Interval::from_millis(ms);
    min.start(at(0), Some(RTT));
    let higher = Some(Interval::from_millis(150));
    min.update(at(5_000), higher);
    assert!(!min.expired);
    min.update(at(5_001), higher);
    assert!(min.expired);
    assert_eq!(min.least, Some(RTT));
    min.update(at(10_000), higher);
    assert_eq!(min.least, Some(RTT));
    min.update(at(10_001), higher);
    assert_eq!(min.least, higher);
}

#[test]
fn the_greatest_bandwidth_is_of_two_cycles() {
    let mut max = MaxBandwidth::default();
    max.push(3.0, false);
    max.advance();
    max.push(2.0, false);
    assert_eq!(max.max(), 3.0);
    max.push(2.5, true); // application-limited, and below the maximum
    max.advance();
    assert_eq!(max.max(), 2.0);
    max.advance();
    assert_eq!(
        max.max(),
        2.0,
        "a cycle without a sample keeps the one before"
    );
}

#[test]
fn a_time_out_keeps_one_segment_until_the_loss_is_repaired() {
    let mut d = Driver::new(&[]).at(Phase::Cruise);
    let window = d.bbr.cwnd();
    d.max = 1 + PRODUCT;
    d.hook(|bbr, cx| bbr.on_timeout(cx, true));
    assert_eq!(d.bbr.cwnd(), MSS);
    let sample = d.sample(MSS, RATE, MSS);
    d.una = 1 + MSS;
    d.give(&sample);
    assert!(d.bbr.cwnd() < 10 * MSS);
    d.una = d.max;
    let sample = d.sample(MSS, RATE, MSS);
    d.give(&sample);
    assert!(d.bbr.cwnd() >= window.min(200 * MSS));
}

#[test]
fn a_spurious_loss_restores_bounds_and_probe() {
    for linux in [false, true] {
        let rules = if linux { "linux" } else { "draft" };
        let mut d = Driver::new(&[("rules", Setting::Choice(rules))]).at(Phase::Up);
        let window = d.bbr.cwnd();
        d.recover();
        d.lose(20, 80 * MSS);
        // The second loss crosses 2 %: (0.02 * 79,000 - 1,000) / 0.98 bytes into it.
        assert_eq!(d.bbr.bounds.long, 79_000 + 591);
        assert_eq!(d.bbr.state, State::ProbeBw(Phase::Down));
        let undone = Undone {
            window,
            ssthresh: u64::MAX,
        };
        d.hook(|bbr, cx| bbr.on_spurious(cx, &undone));
        assert_eq!(d.bbr.bounds.long, UNBOUNDED);
        let expected = if linux { Phase::Down } else { Phase::Up };
        assert_eq!(d.bbr.state, State::ProbeBw(expected));
    }
}

#[test]
fn after_idle_time_segments_leave_at_the_estimated_bandwidth() {
    let mut d = Driver::new(&[]).at(Phase::Up);
    d.hook(Bbr3::on_transmit_start);
    assert_eq!(d.bbr.pacing_rate(), Some(paced(0.99, 1e6)));
}

/// alpha = 15/16 alpha + share / 16 per round, and the short-term bound loses alpha / 3.
#[test]
fn marks_reduce_the_short_term_bound_by_a_third_of_alpha() {
    let ecn = [
        ("rules", Setting::Choice("linux")),
        ("ecn", Setting::Flag(true)),
        ("ecn_max_rtt", Setting::Time(Interval::ZERO)),
    ];
    let mut d = Driver::new(&ecn);
    d.bbr.on_agreed(Feedback::Accurate);
    let mut d = d.at(Phase::Cruise);
    let alpha = d.bbr.marks.as_ref().unwrap().alpha;
    let window = d.bbr.cwnd();
    d.now += RTT;
    let sample = RateSample {
        newly_marked: PRODUCT / 4,
        delivered_ce: PRODUCT / 4,
        ..d.sample(PRODUCT, RATE, PRODUCT - MSS)
    };
    d.give(&sample);
    let after = 15.0 / 16.0 * alpha + 0.25 / 16.0;
    assert!((d.bbr.marks.as_ref().unwrap().alpha - after).abs() < 1e-12);
    let kept = (window as f64 * (1.0 - after / 3.0)) as u64;
    assert_eq!(d.bbr.bounds.short, kept);
    assert!(d.bbr.bounds.rate.is_infinite());
    // Without an agreement, or above the greatest RTT, marks do nothing.
    for (agreed, most) in [(Feedback::None, 0), (Feedback::Accurate, 5)] {
        let mut deaf = Driver::new(&[
            ("ecn", Setting::Flag(true)),
            ("ecn_max_rtt", Setting::Time(Interval::from_millis(most))),
        ]);
        deaf.bbr.on_agreed(agreed);
        let mut deaf = deaf.at(Phase::Cruise);
        deaf.now += RTT;
        let sample = RateSample {
            newly_marked: PRODUCT,
            delivered_ce: PRODUCT,
            ..deaf.sample(PRODUCT, RATE, PRODUCT - MSS)
        };
        deaf.give(&sample);
        assert_eq!(deaf.bbr.bounds.short, UNBOUNDED);
    }
}

/// At 2 segments per round trip the window is the offload budget of three quanta of two segments, and
/// `ProbeRTT` keeps four segments.
#[test]
fn windows_of_small_paths_have_a_floor() {
    let mut d = Driver::new(&[]);
    for _ in 0..6 {
        d.now += RTT;
        let sample = d.sample(2 * MSS, 20_000, 2 * MSS);
        d.give(&sample);
    }
    d.bbr.state = State::ProbeBw(Phase::Cruise);
    assert_eq!(d.bbr.quantized(0.0, MSS), 6 * MSS);
    assert_eq!(d.bbr.probe_rtt_window(MSS), 4 * MSS);
    assert_eq!(d.bbr.bounds.with_headroom(0.15, MSS, 4 * MSS), UNBOUNDED);
    d.bbr.bounds.long = 5 * MSS;
    // The headroom is at least a segment, and four segments stay.
    assert_eq!(d.bbr.bounds.with_headroom(0.15, MSS, 0), 4 * MSS);
    d.bbr.bounds.long = 4 * MSS;
    assert_eq!(d.bbr.bounds.with_headroom(0.15, MSS, 4 * MSS), 4 * MSS);
}

/// Before the pipe is full, the window grows by all delivered data: in the draft until the initial
/// window is delivered, in Linux up to twice the initial window.
#[test]
fn first_windows_grow_beyond_a_small_estimate() {
    let grown = |rules| {
        let mut d = Driver::new(&[
            ("rules", Setting::Choice(rules)),
            ("probe_rtt_interval", Setting::Time(Interval::from_secs(60))),
        ]);
        for _ in 0..20 {
            // 1,000 bytes per second: the target is the floor, and nothing is aggregated.
            d.now += Interval::from_secs(1);
            let sample = RateSample {
                app_limited: true, // the pipe is not full
                ..d.sample(MSS, 1_000, MSS)
            };
            d.give(&sample);
        }
        d.bbr.cwnd() / MSS
    };
    assert_eq!(grown("draft"), 10 + 9);
    assert_eq!(grown("linux"), 20);
}

#[test]
fn full_use_of_the_window_counts_for_this_round_and_the_next() {
    let mut d = Driver::new(&[]).at(Phase::Cruise);
    let full = d.bbr.cwnd();
    d.round(RATE, full);
    assert!(d.bbr.is_window_limited());
    d.round(RATE, PRODUCT / 2);
    assert!(d.bbr.is_window_limited());
    d.round(RATE, PRODUCT / 2);
    assert!(!d.bbr.is_window_limited());
}

/// Linux takes the window before a time-out as the short-term bound, except during a probe.
#[test]
fn idle_time_ends_a_probe_rtt_that_lasted_long_enough() {
    let mut d = Driver::new(&[]).at(Phase::Cruise);
    d.bbr.state = State::ProbeRtt(Some(d.now + Interval::from_millis(50)));
    d.hook(Bbr3::on_transmit_start);
    assert!(matches!(d.bbr.state, State::ProbeRtt(_)));
    d.now += Interval::from_millis(51);
    d.hook(Bbr3::on_transmit_start);
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Cruise));
}

#[test]
fn probe_rtt_waits_until_half_a_bdp_is_in_flight() {
    let mut d = Driver::new(&[]).at(Phase::Cruise);
    d.bbr.state = State::ProbeRtt(None);
    d.round(RATE, PRODUCT / 2 + 1);
    assert_eq!(d.bbr.state, State::ProbeRtt(None));
    d.round(RATE, PRODUCT / 2);
    let end = d.now + Interval::from_millis(200);
    assert_eq!(d.bbr.state, State::ProbeRtt(Some(end)));
}

/// A flight without a high loss that was larger than the long-term bound raises the bound.
#[test]
fn a_larger_flight_without_losses_raises_the_long_term_bound() {
    let mut d = Driver::new(&[]).at(Phase::Cruise);
    d.bbr.bounds.long = 80 * MSS;
    d.round(RATE, 90 * MSS);
    assert_eq!(d.bbr.bounds.long, 90 * MSS);
}

#[test]
fn a_loss_that_the_application_limits_sets_no_bound() {
    let mut d = Driver::new(&[]).at(Phase::Up);
    let segment = LostSegment {
        len: MSS,
        tx_in_flight: 10 * MSS,
        lost_since: MSS,
        app_limited: true,
    };
    let delivered = d.delivered;
    d.hook(|bbr, cx| bbr.on_segments_lost(cx, &[segment], delivered));
    assert_eq!(d.bbr.bounds.long, UNBOUNDED);
    // The probe ends all the same.
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Down));
}

/// The draft responds to lost segments alone, Linux to the sample of an ACK, too.
/// The filter of the bandwidth forgets the cycle before last, one round after a probe ends.
#[test]
fn bandwidth_of_an_earlier_cycle_expires_after_the_next_probe() {
    let mut d = Driver::new(&[]).at(Phase::Cruise);
    d.bbr.bandwidth.push(2e6, false);
    let cycle = |d: &mut Driver| {
        d.until(RATE, PRODUCT - MSS, |state| {
            state == State::ProbeBw(Phase::Up)
        });
        d.until(RATE, PRODUCT - MSS, |state| {
            state != State::ProbeBw(Phase::Up)
        });
        d.round(RATE, PRODUCT - MSS);
    };
    d.bbr.min_rtt.probe_at = d.now + Interval::from_secs(60); // no ProbeRTT
    cycle(&mut d);
    assert_eq!(d.bbr.bandwidth.max(), 2e6);
    cycle(&mut d);
    assert_eq!(d.bbr.bandwidth.max(), 1e6);
    // An application-limited round keeps the filter.
    d.bbr.bandwidth.push(3e6, false);
    d.bbr.cycle.acks = cycle::AckPhase::ProbeStopping;
    d.now += RTT;
    let sample = RateSample {
        app_limited: true,
        ..d.sample(PRODUCT, RATE, PRODUCT - MSS)
    };
    d.give(&sample);
    d.bbr.bandwidth.push(1e6, false);
    d.bbr.bandwidth.advance();
    assert_eq!(d.bbr.bandwidth.max(), 3e6);
}

/// A probe that the long-term bound limits goes on, although the bandwidth does not grow.
#[test]
fn a_plateau_at_the_long_term_bound_ends_no_probe() {
    let mut d = Driver::new(&[]).at(Phase::Up);
    d.bbr.bounds.long = 120 * MSS;
    d.bbr.cwnd = 120 * MSS;
    for _ in 0..6 {
        let flight = d.bbr.bounds.long;
        d.round(RATE, flight);
        // Another ACK of the round finds cwnd at the bound.
        let sample = d.late_sample(flight);
        d.give(&sample);
        assert_eq!(d.bbr.state, State::ProbeBw(Phase::Up));
    }
}

/// A path of any size is probed after 63 rounds (5.3.3.5.1).
#[test]
fn a_large_path_is_probed_after_63_rounds() {
    let mut cycle = Cycle::default();
    cycle.start_down(Instant::ZERO, 0);
    for (rounds, due) in [(62, false), (63, true)] {
        cycle.rounds = rounds;
        assert_eq!(cycle.is_due(Instant::ZERO, 10_000), due);
    }
}

/// Two rounds with half of the data marked end Startup; the response reaches up to a least RTT of
/// `ecn_max_rtt`, inclusive.
#[test]
fn marks_end_startup() {
    for (most, rounds, ends) in [(100, 2, true), (99, 2, false), (100, 1, false)] {
        let mut d = Driver::new(&[
            ("ecn", Setting::Flag(true)),
            ("ecn_max_rtt", Setting::Time(Interval::from_millis(most))),
        ]);
        d.bbr.on_agreed(Feedback::Classic);
        let mut marked = 0;
        for _ in 0..rounds {
            d.now += RTT;
            marked += PRODUCT / 2 + 1;
            let sample = RateSample {
                newly_marked: PRODUCT / 2 + 1,
                delivered_ce: marked,
                prior_delivered_ce: marked - PRODUCT / 2 - 1,
                ..d.sample(PRODUCT, RATE, PRODUCT)
            };
            d.give(&sample);
        }
        assert_eq!(d.bbr.full_pipe.reached, ends, "{most} {rounds}");
    }
}

/// An ACK that ends a recovery and begins another does not lose the window from before.
#[test]
fn a_second_recovery_keeps_the_window_of_the_first() {
    let mut d = Driver::new(&[]).at(Phase::Cruise);
    let window = d.bbr.cwnd();
    d.recover();
    d.bbr.collapse(5 * MSS);
    d.hook(|bbr, cx| bbr.on_recovered(cx, 5 * MSS));
    d.recover();
    d.hook(|bbr, cx| bbr.on_recovered(cx, 5 * MSS));
    d.round(RATE, PRODUCT - MSS);
    assert!(d.bbr.cwnd() >= window.min(200 * MSS));
}
