use super::*;
use crate::config::RtoConfig;
use crate::congestion::{ALGORITHMS, Algorithm, Control, Setting, Start, can_resume, lookup};
use crate::rto::RttEstimator;
use crate::time::Interval;

const MSS: u64 = 1000;
const RTT: Interval = Interval::from_millis(600);
/// Saved window, in segments. The jump is half of it.
const SAVED: u64 = 400;
const JUMP: u64 = SAVED / 2;

/// A sender in slow start with Careful Resume, without a network.
struct Driver {
    cc: Box<dyn CongestionControl>,
    extras: &'static Extras,
    resume: Resume,
    rtt: RttEstimator,
    now: Instant,
    una: Offset,
    max: Offset,
    losses: u64,
}

fn saved() -> SavedPath {
    SavedPath {
        cwnd: SAVED * MSS,
        rtt: RTT,
        ..SavedPath::default()
    }
}

impl Driver {
    fn new(saved: SavedPath, rtt: Interval) -> Self {
        let algorithm = lookup("reno").expect("an algorithm");
        let config = WindowConfig {
            resume: Some(saved),
            ..WindowConfig::default()
        };
        let start = Start {
            window: 10 * MSS,
            ssthresh: u64::MAX,
            ..Start::default()
        };
        let mut estimator = RttEstimator::new(RtoConfig::default());
        estimator.sample(Instant::ZERO, Instant::ZERO + rtt);
        Self {
            cc: Control::new(algorithm).build(start),
            extras: &algorithm.extras,
            resume: *Resume::new(&config, &algorithm.extras).expect("a state"),
            rtt: estimator,
            now: Instant::ZERO + rtt,
            una: 1,
            max: 1 + 10 * MSS,
            losses: 0,
        }
    }

    /// Acknowledges `n` segments, `after` the last ACK; `sent` segments leave afterwards.
    fn ack(&mut self, n: u64, after: Interval, sent: u64) -> Option<Mark> {
        self.ack_limited(n, after, sent, true)
    }

    fn ack_limited(&mut self, n: u64, after: Interval, sent: u64, limited: bool) -> Option<Mark> {
        let flight_before = self.max - self.una;
        self.now += after;
        self.una += n * MSS;
        let window = self.cc.cwnd();
        if !self.retreats() {
            self.cc.collapse(window + n * MSS); // slow start
        }
        let cx = Context {
            now: self.now,
            mss: MSS,
            flight: self.max - self.una,
            snd_una: self.una,
            snd_max: self.max,
            rtt: &self.rtt,
        };
        let delivery = Delivery {
            bytes: n * MSS,
            flight_before,
            cwnd_limited: limited,
            losses: self.losses,
        };
        let mark = self
            .resume
            .on_ack(&mut *self.cc, self.extras, &cx, &delivery);
        self.max += sent * MSS;
        mark
    }

    fn retreats(&self) -> bool {
        self.resume.retreats()
    }

    /// Halves the window as the controller does at a loss.
    fn lose(&mut self, timeout: bool) -> Option<Mark> {
        let half = self.cc.cwnd() / 2;
        set_threshold(&mut *self.cc, self.extras, half, false);
        if timeout {
            self.cc.collapse(MSS);
        }
        let at = (self.max, MSS);
        self.resume
            .on_reduction(&mut *self.cc, self.extras, at, timeout)
    }

    /// Returns cwnd, ssthresh and `PipeSize` in segments.
    fn state(&self) -> (u64, u64, u64) {
        let ssthresh = match self.cc.ssthresh() {
            u64::MAX => u64::MAX,
            bytes => bytes / MSS,
        };
        (self.cc.cwnd() / MSS, ssthresh, self.resume.pipe / MSS)
    }

    /// Acknowledges the initial window by ACKs of two segments that release four each. After the
    /// last one 20 segments were sent beyond it, of which the last 4 are released by the jump.
    fn jump(saved: SavedPath, rtt: Interval) -> (Self, Option<Mark>) {
        let mut driver = Self::new(saved, rtt);
        for _ in 0..4 {
            assert_eq!(driver.ack(2, Interval::ZERO, 4), None);
        }
        assert_eq!(driver.state(), (18, u64::MAX, 0));
        let mark = driver.ack(2, Interval::ZERO, 0);
        (driver, mark)
    }
}

/// The first 9 segments do not suffice. The tenth leads to a window of 200, and `PipeSize` is the
/// 16 segments in flight.
#[test]
fn jumps_to_half_of_the_saved_window_once_the_initial_window_is_acknowledged() {
    let (driver, mark) = Driver::jump(saved(), RTT);
    assert_eq!(mark, Some(Mark::ResumeUnvalidated));
    assert_eq!(driver.state(), (JUMP, u64::MAX, 16));
    assert!(driver.resume.paces() && !driver.resume.retreats() && !driver.resume.is_over());
    let mut driver = Driver::new(saved(), RTT);
    assert_eq!(driver.ack(9, Interval::ZERO, 18), None);
    assert_eq!(driver.state().0, 19);
    assert_eq!(
        driver.ack(1, Interval::ZERO, 2),
        Some(Mark::ResumeUnvalidated)
    );
}

/// More than half of 600 ms and at most ten times 600 ms.
#[test]
fn jumps_only_at_an_rtt_near_the_saved_one() {
    for (ms, jumps) in [
        (300, false),
        (301, true),
        (600, true),
        (6_000, true),
        (6_001, false),
    ] {
        let (driver, mark) = Driver::jump(saved(), Interval::from_millis(ms));
        let expected = if jumps {
            Mark::ResumeUnvalidated
        } else {
            Mark::ResumeRefused
        };
        assert_eq!(mark, Some(expected), "{ms}");
        assert_eq!(driver.resume.is_over(), !jumps, "{ms}");
        assert_eq!(driver.state().0, if jumps { JUMP } else { 20 }, "{ms}");
    }
}

/// The age counts from the start of the run, 600 ms before the jump.
#[test]
fn jumps_only_within_the_lifetime() {
    for (age, jumps) in [(0, true), (9_400, true), (9_401, false)] {
        let saved = SavedPath {
            age: Interval::from_millis(age),
            lifetime: Interval::from_secs(10),
            ..saved()
        };
        let (driver, mark) = Driver::jump(saved, RTT);
        assert_eq!(mark == Some(Mark::ResumeUnvalidated), jumps, "{age}");
        assert_eq!(driver.resume.paces(), jumps, "{age}");
    }
    assert_eq!(SavedPath::default().lifetime, Interval::from_secs(3600));
}

#[test]
fn waits_for_data_and_gives_up_if_the_window_is_no_smaller_than_the_jump() {
    let mut driver = Driver::new(saved(), RTT);
    assert_eq!(driver.ack_limited(10, Interval::ZERO, 20, false), None);
    assert_eq!(
        driver.ack(1, Interval::ZERO, 2),
        Some(Mark::ResumeUnvalidated)
    );
    let small = |segments| SavedPath {
        cwnd: segments * MSS,
        ..saved()
    };
    // 12 segments are in force after the first ACK.
    for (segments, mark) in [(24, Some(Mark::ResumeRefused)), (26, None)] {
        let mut driver = Driver::new(small(segments), RTT);
        assert_eq!(driver.ack(2, Interval::ZERO, 4), mark, "{segments}");
    }
}

#[test]
fn congestion_before_the_jump_ends_the_method() {
    for timeout in [false, true] {
        let mut driver = Driver::new(saved(), RTT);
        assert_eq!(driver.lose(timeout), Some(Mark::ResumeRefused));
        assert!(driver.resume.is_over());
        assert_eq!(driver.cc.ssthresh(), 5 * MSS);
        assert_eq!(driver.lose(timeout), None);
        assert_eq!(driver.ack(2, Interval::ZERO, 0), None);
    }
    // A threshold that the controller estimated is no congestion, and stays.
    let (mut driver, _) = Driver::jump(saved(), RTT);
    driver.resume.phase = Phase::Reconnaissance;
    set_threshold(&mut *driver.cc, driver.extras, 8 * MSS, false);
    driver.cc.collapse(10 * MSS);
    let mark = driver.ack(1, Interval::ZERO, 0);
    assert_eq!(mark, Some(Mark::ResumeUnvalidated));
    assert_eq!(driver.state(), (JUMP, 8, 15));
}

/// The window stays at the jump while data from before it is acknowledged, and `PipeSize` grows.
#[test]
fn unvalidated_phase_holds_the_jump_and_counts_deliveries() {
    let (mut driver, _) = Driver::jump(saved(), RTT);
    driver.max += 60 * MSS;
    assert_eq!(driver.ack(2, Interval::from_millis(300), 60), None);
    assert_eq!(driver.state(), (JUMP, u64::MAX, 18));
    assert_eq!(driver.ack(2, Interval::from_millis(300), 60), None);
    assert_eq!(driver.state(), (JUMP, u64::MAX, 20));
}

/// Three ends of the phase: an ACK for the first unvalidated segment, more than an RTT, and all of
/// the jump in flight.
#[test]
fn unvalidated_phase_ends_by_an_ack_a_round_trip_or_a_full_window() {
    let millisecond = Interval::from_millis(1);
    // 16 old segments in flight, and 100 of the jump.
    let (mut driver, _) = Driver::jump(saved(), RTT);
    driver.max += 100 * MSS;
    assert_eq!(driver.ack(16, millisecond, 0), None);
    assert_eq!(driver.ack(1, millisecond, 0), Some(Mark::ResumeValidating));
    assert_eq!(driver.state(), (100, u64::MAX, 33));
    assert!(!driver.resume.paces());
    let (mut driver, _) = Driver::jump(saved(), RTT);
    driver.max += 100 * MSS;
    assert_eq!(driver.ack(1, RTT, 0), None);
    assert_eq!(driver.ack(1, millisecond, 0), Some(Mark::ResumeValidating));
    assert_eq!(driver.state(), (115, u64::MAX, 18));
    // The jump ends at the number of sent segments that leaves no room for another.
    for (sent, mark) in [(183, None), (184, Some(Mark::ResumeValidating))] {
        let (mut driver, _) = Driver::jump(saved(), RTT);
        driver.max += sent * MSS;
        let last = driver.ack(1, millisecond, 0);
        assert_eq!(last, mark, "{sent}");
        assert_eq!(driver.state().0, 200, "{sent}");
    }
}

/// The application had 10 segments more: 10 in flight at most, fewer than `PipeSize`.
#[test]
fn an_unused_jump_ends_the_method_at_the_pipe_size() {
    let (mut driver, _) = Driver::jump(saved(), RTT);
    driver.max += 10 * MSS;
    assert_eq!(driver.ack(16, Interval::ZERO, 0), None);
    assert_eq!(driver.ack(1, Interval::ZERO, 0), Some(Mark::ResumeNormal));
    assert_eq!(driver.state(), (33, u64::MAX, 33));
    assert!(driver.resume.is_over());
}

/// At the begin of the phase `PipeSize` is 33 segments: as many in flight end the method, one more
/// does not. Fewer than the initial window end it with the initial window.
#[test]
fn a_jump_of_the_pipe_size_or_less_than_the_initial_window_ends_the_method() {
    for (sent, mark) in [(33, Mark::ResumeNormal), (34, Mark::ResumeValidating)] {
        let (mut driver, _) = Driver::jump(saved(), RTT);
        driver.max += sent * MSS;
        driver.ack(16, Interval::ZERO, 0);
        assert_eq!(driver.ack(1, Interval::ZERO, 0), Some(mark));
        assert_eq!(driver.state(), (sent, u64::MAX, 33));
    }
    let mut driver = Driver::new(saved(), RTT);
    driver.ack(10, Interval::ZERO, 0);
    driver.max += 5 * MSS;
    assert_eq!(driver.ack(1, Interval::ZERO, 0), Some(Mark::ResumeNormal));
    assert_eq!(driver.state(), (10, u64::MAX, 1));
}

/// Slow start goes on in the phase, which the last segment of the jump ends.
#[test]
fn validating_phase_grows_until_the_last_segment_of_the_jump() {
    let (mut driver, _) = Driver::jump(saved(), RTT);
    driver.max += 100 * MSS;
    driver.ack(16, Interval::ZERO, 0);
    assert_eq!(
        driver.ack(1, Interval::ZERO, 2),
        Some(Mark::ResumeValidating)
    );
    assert_eq!(driver.ack(98, Interval::ZERO, 196), None);
    assert_eq!(driver.state(), (198, u64::MAX, 131));
    assert_eq!(driver.ack(1, Interval::ZERO, 2), Some(Mark::ResumeNormal));
    assert_eq!(driver.state(), (199, u64::MAX, 132));
}

/// `PipeSize` is 20 at the loss, so that the window is 10. At the end 116 segments were
/// acknowledged beside those 16, of which 60 only as retransmissions: (16 + 116 - 60) / 2 = 36.
#[test]
fn safe_retreat_halves_the_pipe_size_and_sets_the_threshold_at_its_end() {
    let (mut driver, _) = Driver::jump(saved(), RTT);
    driver.max += 100 * MSS;
    driver.ack(4, Interval::ZERO, 0);
    assert_eq!(driver.lose(false), Some(Mark::ResumeSafeRetreat));
    assert_eq!(driver.state(), (10, 10, 20));
    assert!(driver.retreats() && !driver.resume.paces());
    driver.losses = 60 * MSS;
    driver.cc.collapse(12 * MSS); // a controller that grows
    assert_eq!(driver.ack(111, Interval::ZERO, 5), None);
    assert_eq!(driver.state(), (10, 10, 131));
    assert_eq!(driver.lose(false), None);
    assert_eq!(driver.ack(1, Interval::ZERO, 0), Some(Mark::ResumeNormal));
    assert_eq!(driver.state(), (5, 36, 132));
    assert!(driver.resume.is_over());
}

/// A loss of the jump that is found in the Validating Phase. Losses before the jump do not count.
#[test]
fn retreats_from_the_validating_phase() {
    let mut driver = Driver::new(saved(), RTT);
    driver.losses = 7 * MSS;
    driver.ack(10, Interval::ZERO, 0);
    driver.max += 120 * MSS;
    assert_eq!(
        driver.ack(1, Interval::ZERO, 2),
        Some(Mark::ResumeValidating)
    );
    assert_eq!(driver.ack(20, Interval::ZERO, 40), None);
    assert_eq!(driver.state(), (140, u64::MAX, 21));
    assert_eq!(driver.lose(false), Some(Mark::ResumeSafeRetreat));
    assert_eq!(driver.state(), (10, 10, 21));
    // The jump ends at 120 segments, although 42 more were sent.
    driver.losses = 27 * MSS;
    assert_eq!(driver.ack(98, Interval::ZERO, 0), None);
    assert_eq!(driver.ack(1, Interval::ZERO, 0), Some(Mark::ResumeNormal));
    assert_eq!(driver.state(), (10, 50, 120));
}

/// After a time-out the window is one segment, and what arrives later is no measure of the path.
#[test]
fn a_timeout_after_the_jump_retreats_to_one_segment() {
    let (mut driver, _) = Driver::jump(saved(), RTT);
    driver.max += 100 * MSS;
    driver.ack(4, Interval::ZERO, 0);
    assert_eq!(driver.lose(true), Some(Mark::ResumeSafeRetreat));
    assert_eq!(driver.state(), (1, 10, 20));
    driver.cc.collapse(30 * MSS);
    assert_eq!(driver.ack(2, Interval::ZERO, 0), None);
    assert_eq!(driver.state(), (10, 10, 20));
    driver.ack(110, Interval::ZERO, 0);
    assert_eq!(driver.state(), (10, 10, 20));
}

/// A retreat leaves a segment at least, and a threshold of two.
#[test]
fn a_retreat_of_a_tiny_pipe_leaves_a_segment() {
    let mut driver = Driver::new(saved(), RTT);
    driver.ack(10, Interval::ZERO, 0);
    driver.max += 100 * MSS;
    assert_eq!(driver.state().2, 0);
    assert_eq!(driver.lose(false), Some(Mark::ResumeSafeRetreat));
    assert_eq!(driver.state(), (1, 1, 0));
    driver.losses = 100 * MSS;
    assert_eq!(driver.ack(100, Interval::ZERO, 0), Some(Mark::ResumeNormal));
    assert_eq!(driver.state(), (1, 2, 100));
}

/// Each controller with a window can follow the method, and none without.
#[test]
fn every_controller_with_a_window_jumps_and_retreats() {
    let config = WindowConfig {
        resume: Some(saved()),
        ..WindowConfig::default()
    };
    for algorithm in ALGORITHMS {
        let resume = Resume::new(&config, &algorithm.extras);
        let able = algorithm.name != "none";
        assert_eq!(resume.is_some(), able, "{}", algorithm.name);
        assert!(Resume::new(&WindowConfig::default(), &algorithm.extras).is_none());
        let Some(resume) = resume else { continue };
        let mut driver = driver_of(algorithm, *resume);
        assert_eq!(
            driver.ack(1, Interval::ZERO, 0),
            Some(Mark::ResumeUnvalidated)
        );
        assert_eq!(driver.state().0, JUMP, "{}", algorithm.name);
        // Changes that a rate sample makes to the window end with the sample.
        driver.cc.collapse(3 * MSS);
        driver.resume.after_sample(&mut *driver.cc);
        assert_eq!(driver.state(), (JUMP, u64::MAX, 15), "{}", algorithm.name);
        let threshold = algorithm.extras.slow_start.is_some();
        assert_eq!(driver.lose(false), Some(Mark::ResumeSafeRetreat));
        let (window, ssthresh, pipe) = driver.state();
        assert_eq!((window, pipe), (7, 15), "{}", algorithm.name);
        assert!(!threshold || ssthresh == 7, "{}", algorithm.name);
        driver.cc.collapse(30 * MSS);
        driver.resume.after_sample(&mut *driver.cc);
        assert_eq!(driver.state().0, 7, "{}", algorithm.name);
    }
}

/// Returns a driver of `algorithm` before the ACK that jumps.
fn driver_of(algorithm: &'static Algorithm, resume: Resume) -> Driver {
    let (mut driver, _) = Driver::jump(saved(), RTT);
    driver.resume = resume;
    driver.extras = &algorithm.extras;
    driver.cc = Control::new(algorithm).build(Start {
        window: 20 * MSS,
        ssthresh: u64::MAX,
        ..Start::default()
    });
    driver
}

/// Sudden Start leaves nothing to resume. Peach without it resumes as Reno does.
#[test]
fn peach_resumes_without_sudden_start_only() {
    for algorithm in ALGORITHMS {
        let control = Control::new(algorithm);
        let able = !["none", "peach"].contains(&algorithm.name);
        assert_eq!(can_resume(&control), able, "{}", algorithm.name);
    }
    let peach = Control::new(lookup("peach").expect("an algorithm"));
    assert!(can_resume(
        &peach.with("sudden_start", Setting::Flag(false))
    ));
}

/// The end of a retreat leads to slow start below ssthresh in each controller that has one, and the
/// begin does not.
#[test]
fn only_the_end_of_a_retreat_leads_to_slow_start() {
    for (name, key) in [
        ("vegas", None),
        ("ledbat", Some(("slow_start", true))),
        ("ledbat_plus_plus", None),
        ("peach", Some(("sudden_start", false))),
    ] {
        let algorithm = lookup(name).expect("an algorithm");
        let control = Control::new(algorithm);
        let control = match key {
            Some((key, on)) => control.with(key, Setting::Flag(on)),
            None => control,
        };
        let mut cc = control.build(Start {
            window: 40 * MSS,
            ssthresh: u64::MAX,
            ..Start::default()
        });
        let rtt = RttEstimator::new(RtoConfig::default());
        let cx = Context {
            now: Instant::ZERO + RTT,
            mss: MSS,
            flight: 40 * MSS,
            snd_una: 1,
            snd_max: 1 + 40 * MSS,
            rtt: &rtt,
        };
        assert!(may_jump(&*cc, &algorithm.extras), "{name}");
        let sent_at = Instant::ZERO;
        cc.on_loss(&cx, &crate::congestion::Loss { sent_at });
        let delays = ["vegas", "ledbat_plus_plus"].contains(&name);
        assert_eq!(may_jump(&*cc, &algorithm.extras), !delays, "{name}");
        for grows in [false, true] {
            cc.collapse(4 * MSS);
            set_threshold(&mut *cc, &algorithm.extras, 9 * MSS, grows);
            let state = (cc.cwnd(), cc.ssthresh(), cc.in_slow_start());
            assert_eq!(state, (4 * MSS, 9 * MSS, grows), "{name}");
        }
        cc.collapse(9 * MSS);
        if name != "ledbat_plus_plus" {
            assert!(!cc.in_slow_start(), "{name}");
        }
    }
    // LEDBAT has no slow start by default.
    let ledbat = lookup("ledbat").expect("an algorithm");
    let mut cc = Control::new(ledbat).build(Start::default());
    set_threshold(&mut *cc, &ledbat.extras, 9 * MSS, true);
    assert_eq!((cc.ssthresh(), cc.in_slow_start()), (9 * MSS, false));
}
