//! Reno's window of a subflow whose growth a connection over several paths couples with that of
//! its other subflows (RFC 6356; Khalili et al. 2012).

use super::extras::access;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, EndSlowStart, Extras, Loss, Reno, Start,
    UndoReduction, Undone,
};

/// Reno whose congestion avoidance grows by a factor that the connection computes. Slow start and
/// reductions are Reno's.
#[derive(Debug)]
pub struct Coupled {
    reno: Reno,
    /// Bytes of window per acknowledged byte in congestion avoidance; `None` grows as Reno.
    gain: Option<f64>,
    /// Part of a byte that the growth so far leaves.
    rest: f64,
}

impl Coupled {
    /// Description of the coupled window. The table of algorithms lacks it, because only a
    /// connection over several paths chooses it.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "coupled",
        summary: "Reno's window with growth coupled to other subflows (RFC 6356)",
        extras: Extras {
            undo: access!(Self),
            slow_start: access!(Self),
            ..Extras::NONE
        },
        build: |control, start| Box::new(Self::new(control, start)),
        ..Reno::ALGORITHM
    };

    /// Returns the coupled form of `control`, with its parameters; `None` unless it is Reno.
    pub fn of(control: &Control) -> Option<Control> {
        static COUPLED: Algorithm = Coupled::ALGORITHM;
        (control.algorithm().name == Reno::ALGORITHM.name).then(|| {
            let start = Control::new(&COUPLED);
            let settings = control.settings();
            settings.fold(start, |coupled, (key, value)| coupled.with(key.name, value))
        })
    }

    fn new(control: &Control, start: Start) -> Self {
        Self {
            reno: Reno::new(control, start),
            gain: None,
            rest: 0.0,
        }
    }

    /// Sets the bytes of window per acknowledged byte in congestion avoidance. Negative values
    /// shrink the window.
    pub fn couple(&mut self, gain: f64) {
        self.gain = Some(gain);
    }
}

impl CongestionControl for Coupled {
    fn cwnd(&self) -> u64 {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.reno.ssthresh()
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        match self.gain {
            Some(gain) if ack.cwnd_limited && !self.in_slow_start() => {
                let growth = self.reno.counted(ack.bytes, cx.mss) as f64 * gain + self.rest;
                let whole = libm::floor(growth);
                self.rest = growth - whole;
                self.reno.grow(whole as i64, cx.mss);
            }
            _ => self.reno.on_ack(cx, ack),
        }
    }

    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        self.rest = 0.0;
        self.reno.on_loss(cx, loss);
    }

    fn on_congestion_mark(&mut self, cx: &Context<'_>, loss: &Loss) {
        self.rest = 0.0;
        self.reno.on_congestion_mark(cx, loss);
    }

    fn on_recovered(&mut self, cx: &Context<'_>, window: u64) {
        self.reno.on_recovered(cx, window);
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        self.rest = 0.0;
        self.reno.on_timeout(cx, first);
    }

    fn collapse(&mut self, window: u64) {
        self.reno.collapse(window);
    }

    fn lower_ssthresh(&mut self, threshold: u64) {
        self.reno.lower_ssthresh(threshold);
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.reno.raise_ssthresh(least);
    }

    fn on_idle(&mut self, cx: &Context<'_>, initial_window: u64) {
        self.reno.on_idle(cx, initial_window);
    }
}

impl EndSlowStart for Coupled {
    fn end_slow_start(&mut self, window: u64) {
        self.reno.end_slow_start(window);
    }
}

impl UndoReduction for Coupled {
    fn on_spurious(&mut self, cx: &Context<'_>, undone: &Undone) {
        self.reno.on_spurious(cx, undone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RtoConfig;
    use crate::congestion::{ByteCounting, Setting};
    use crate::rto::RttEstimator;
    use crate::time::Instant;

    const MSS: u64 = 1000;

    fn coupled(window: u64, ssthresh: u64, byte_counting: ByteCounting) -> Coupled {
        let start = Start {
            window,
            ssthresh,
            byte_counting,
            ..Start::default()
        };
        Coupled::new(&Control::new(&Coupled::ALGORITHM), start)
    }

    fn cx(rtt: &RttEstimator, flight: u64) -> Context<'_> {
        Context {
            now: Instant::ZERO,
            mss: MSS,
            flight,
            snd_una: 1,
            snd_max: 1,
            rtt,
        }
    }

    fn ack(bytes: u64, cwnd_limited: bool) -> Ack {
        Ack {
            bytes,
            rtt_sample: None,
            fine_rtt: None,
            cwnd_limited,
        }
    }

    /// In congestion avoidance 100 ACKs of two segments add gain times their bytes: the bytes
    /// acknowledged, or a segment an ACK without byte counting. The window keeps one segment.
    #[test]
    fn window_grows_by_the_gain_and_keeps_a_segment() {
        let rtt = RttEstimator::new(RtoConfig::default());
        for (counting, per_ack) in [
            (ByteCounting::Unlimited, 2000.0),
            (ByteCounting::Limit(2), 2000.0),
            (ByteCounting::Off, 1000.0),
            (ByteCounting::Acks, 1000.0),
        ] {
            for gain in [0.0123, 0.00007, -0.0123, -0.5] {
                let mut cc = coupled(20 * MSS, MSS, counting);
                cc.couple(gain);
                for _ in 0..100 {
                    cc.on_ack(&cx(&rtt, 20 * MSS), &ack(2 * MSS, true));
                }
                let expected = (20_000.0 + 100.0 * gain * per_ack).max(1000.0);
                let off = cc.cwnd() as f64 - expected;
                assert!((-1.01..=0.01).contains(&off), "{counting:?} {gain}: {off}");
            }
        }
    }

    /// Slow start, an unused window, and a subflow without a gain follow Reno.
    #[test]
    fn window_follows_reno_outside_of_coupled_growth() {
        let rtt = RttEstimator::new(RtoConfig::default());
        let cx = cx(&rtt, 20 * MSS);
        let mut starts = coupled(10 * MSS, 20 * MSS, ByteCounting::Off);
        starts.couple(0.5);
        starts.on_ack(&cx, &ack(MSS, true));
        assert_eq!(starts.cwnd(), 11 * MSS);
        let mut unused = coupled(10 * MSS, MSS, ByteCounting::Off);
        unused.couple(0.5);
        unused.on_ack(&cx, &ack(MSS, false));
        assert_eq!(unused.cwnd(), 10 * MSS);
        let mut alone = coupled(10 * MSS, MSS, ByteCounting::Off);
        alone.on_ack(&cx, &ack(MSS, true));
        assert_eq!(alone.cwnd(), 10 * MSS + 100);
    }

    type Event = fn(&mut Coupled, &Context<'_>, &Loss);

    /// Reductions are Reno's and discard the part of a byte.
    #[test]
    fn reductions_are_renos() {
        let rtt = RttEstimator::new(RtoConfig::default());
        let cx = cx(&rtt, 20 * MSS);
        let sent_at = Instant::ZERO;
        let events: [(Event, u64, u64); 3] = [
            (|cc, cx, loss| cc.on_loss(cx, loss), 10_000, 10_000),
            (
                |cc, cx, loss| cc.on_congestion_mark(cx, loss),
                10_000,
                10_000,
            ),
            (|cc, cx, _| cc.on_timeout(cx, true), 1000, 10_000),
        ];
        for (event, cwnd, ssthresh) in events {
            let mut cc = coupled(20 * MSS, MSS, ByteCounting::Off);
            cc.couple(0.0009);
            cc.on_ack(&cx, &ack(MSS, true));
            assert_eq!((cc.cwnd(), cc.rest), (20 * MSS, 0.9));
            event(&mut cc, &cx, &Loss { sent_at });
            assert_eq!((cc.cwnd(), cc.ssthresh(), cc.rest), (cwnd, ssthresh, 0.0));
        }
    }

    /// The coupled form keeps Reno's parameters, and no other algorithm has one.
    #[test]
    fn only_reno_has_a_coupled_form() {
        let reno = Control::new(&Reno::ALGORITHM).with("beta_ecn", Setting::Number(0.8));
        let coupled = Coupled::of(&reno).unwrap();
        assert_eq!(coupled.algorithm().name, "coupled");
        assert_eq!(coupled.number("beta_ecn"), 0.8);
        for algorithm in crate::congestion::ALGORITHMS {
            let has = Coupled::of(&Control::new(algorithm)).is_some();
            assert_eq!(has, algorithm.name == "reno", "{}", algorithm.name);
        }
    }
}
