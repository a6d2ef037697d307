use super::*;
use crate::config::{Pacing, RtoConfig};
use crate::congestion::{ALGORITHMS, Control, Start};
use crate::rto::RttEstimator;
use crate::seq::Offset;
use crate::time::{Instant, Interval};

const MSS: u64 = 1000;

fn config(rule: SlowStartExit) -> WindowConfig {
    WindowConfig {
        slow_start: rule,
        ..WindowConfig::default()
    }
}

/// A controller in slow start with a rule, and the next ACK.
struct Driver {
    cc: Box<dyn CongestionControl>,
    extras: &'static Extras,
    rule: Box<SlowStart>,
    now: Instant,
    una: Offset,
}

impl Driver {
    fn new(name: &str, rule: SlowStartExit, segments: u64) -> Self {
        let algorithm = crate::congestion::lookup(name).expect("an algorithm");
        let start = Start {
            window: segments * MSS,
            ssthresh: u64::MAX,
            ..Start::default()
        };
        Self {
            cc: Control::new(algorithm).build(start),
            extras: &algorithm.extras,
            rule: SlowStart::new(&config(rule), &algorithm.extras).expect("a rule"),
            now: Instant::ZERO,
            una: 0,
        }
    }

    /// Feeds `n` ACKs of one segment each, `gap` apart, with the RTT `rtt_ms`.
    fn round(&mut self, n: u64, gap: Interval, rtt_ms: u64) -> Option<Mark> {
        let estimator = RttEstimator::new(RtoConfig::default());
        let end = self.una + n * MSS;
        for i in 1..=n {
            self.now += gap;
            self.una += MSS;
            let cx = Context {
                now: self.now,
                mss: MSS,
                flight: n * MSS,
                snd_una: self.una,
                // The last ACK of a round finds the next window sent.
                snd_max: if i == n { end + n * MSS } else { end },
                rtt: &estimator,
            };
            let ack = Ack {
                bytes: MSS,
                rtt_sample: None,
                fine_rtt: Some(Interval::from_millis(rtt_ms)),
                cwnd_limited: true,
            };
            let mark = self.rule.on_ack(&mut *self.cc, self.extras, &cx, &ack);
            if mark.is_some() {
                return mark;
            }
        }
        None
    }
}

/// All algorithms that list the ability set cwnd and ssthresh to the window, and leave slow start.
#[test]
fn controllers_with_the_ability_end_slow_start_at_the_window() {
    let mut names = Vec::new();
    for algorithm in ALGORITHMS {
        let start = Start {
            window: 40 * MSS,
            ssthresh: u64::MAX,
            ..Start::default()
        };
        let mut cc = Control::new(algorithm).build(start);
        if let Some(controller) = algorithm.extras.slow_start.of_mut(&mut *cc) {
            controller.end_slow_start(20 * MSS);
            let state = (cc.cwnd(), cc.ssthresh(), cc.in_slow_start());
            assert_eq!(state, (20 * MSS, 20 * MSS, false), "{}", algorithm.name);
            names.push(algorithm.name);
        }
    }
    let all = [
        "reno",
        "cubic",
        "westwood",
        "westwood_plus",
        "hybla",
        "adalr",
        "dctcp",
        "prague",
        "illinois",
        "htcp",
    ];
    assert_eq!(names, all);
}

#[test]
fn a_rule_needs_the_ability_and_a_choice() {
    let vegas = crate::congestion::lookup("vegas").expect("vegas");
    let reno = crate::congestion::lookup("reno").expect("reno");
    assert!(SlowStart::new(&config(SlowStartExit::Search), &vegas.extras).is_none());
    assert!(SlowStart::new(&config(SlowStartExit::Standard), &reno.extras).is_none());
    let paced = WindowConfig {
        pacing: Some(Pacing::default()),
        ..config(SlowStartExit::HyStart)
    };
    let rule = SlowStart::new(&paced, &reno.extras).expect("a rule");
    assert!(matches!(rule.0, Rule::HyStart(_, true)));
}

/// RTT 40 ms, ACKs 1 ms apart: the 22nd ACK ends slow start, as in `hystart_classic.rs`, and cwnd
/// is then 60 + 21 segments.
#[test]
fn hystart_ends_renos_slow_start_by_a_train_of_acks() {
    let mut driver = Driver::new("reno", SlowStartExit::HyStart, 60);
    let mark = driver.round(60, Interval::from_millis(1), 40);
    assert_eq!(mark, Some(Mark::AckTrain));
    assert_eq!(driver.cc.ssthresh(), 81 * MSS);
    assert!(!driver.cc.in_slow_start());
}

#[test]
fn hystart_ends_renos_slow_start_by_a_delay() {
    let mut driver = Driver::new("reno", SlowStartExit::HyStart, 20);
    assert_eq!(driver.round(20, Interval::ZERO, 40), None);
    driver.now += Interval::from_millis(40);
    assert_eq!(
        driver.round(20, Interval::ZERO, 46),
        Some(Mark::DelayIncrease)
    );
}

/// The delay grows in the second round, whose eighth ACK begins CSS. The two ACKs after it and the
/// four rounds of ten ACKs that follow add a quarter of a segment each: 20 + 8 + 42 / 4 segments.
#[test]
fn conservative_slow_start_grows_at_a_quarter_and_ends_after_five_rounds() {
    let mut driver = Driver::new("htcp", SlowStartExit::HyStartPlusPlus, 10);
    assert_eq!(driver.round(10, Interval::ZERO, 80), None);
    for _ in 0..4 {
        assert_eq!(driver.round(10, Interval::ZERO, 95), None);
    }
    let mark = driver.round(10, Interval::ZERO, 95);
    assert_eq!(mark, Some(Mark::ConservativeSlowStart));
    assert_eq!(driver.cc.cwnd(), 28 * MSS + 42 * MSS / 4);
    assert_eq!(driver.cc.ssthresh(), driver.cc.cwnd());
}

/// HyStart applies to every slow start, the other rules to the first.
#[test]
fn only_hystart_survives_congestion() {
    for (rule, kept) in [
        (SlowStartExit::HyStart, true),
        (SlowStartExit::HyStartPlusPlus, false),
        (SlowStartExit::Search, false),
    ] {
        for timeout in [false, true] {
            let driver = Driver::new("reno", rule, 10);
            assert_eq!(driver.rule.keep(timeout).is_some(), kept, "{rule:?}");
        }
    }
}

/// HyStart ends a slow start once, and again after a time-out.
#[test]
fn hystart_begins_anew_only_after_a_time_out() {
    for (timeout, again) in [(false, None), (true, Some(Mark::AckTrain))] {
        let mut driver = Driver::new("reno", SlowStartExit::HyStart, 60);
        let gap = Interval::from_millis(1);
        assert_eq!(driver.round(60, gap, 40), Some(Mark::AckTrain));
        *driver.rule = driver.rule.keep(timeout).expect("a rule");
        assert_eq!(driver.round(60, gap, 40), again);
    }
}

/// The bins of `search/tests.rs`, in segments: slow start ends at bin 13. The target of 222 segments
/// is above cwnd, which is 5 segments and the 13 of the ACKs before, and stays.
#[test]
fn search_never_raises_the_window() {
    let mut driver = Driver::new("reno", SlowStartExit::Search, 5);
    let estimator = RttEstimator::new(RtoConfig::default());
    for i in 0..=13 {
        let cx = Context {
            now: Instant::ZERO + Interval::from_millis(35 * i + u64::from(i > 0)),
            mss: MSS,
            flight: 5 * MSS,
            snd_una: 74 * MSS * i,
            snd_max: (10_000 + 100 * i) * MSS,
            rtt: &estimator,
        };
        let rtt = if i == 0 { 100 } else { 70 };
        let ack = Ack {
            bytes: MSS,
            rtt_sample: None,
            fine_rtt: Some(Interval::from_millis(rtt)),
            cwnd_limited: true,
        };
        let mark = (driver.rule).on_ack(&mut *driver.cc, driver.extras, &cx, &ack);
        assert_eq!(mark, (i == 13).then_some(Mark::Search), "{i}");
    }
    assert_eq!(driver.cc.ssthresh(), 18 * MSS);
}
