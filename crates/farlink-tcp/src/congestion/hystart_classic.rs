//! HyStart as first published and as in Linux. Slow start ends at one of two signs. One is a train
//! of closely spaced ACKs that lasts longer than half the least RTT (the whole least RTT if
//! segments are paced). The other is a round whose RTT exceeds the least RTT by a threshold.
//!
//! S. Ha, I. Rhee, *Taming the elephants: New TCP slow start*, Computer Networks 55, 2011;
//! constants and details as in Linux' `tcp_cubic.c`.

use super::{Ack, Context};
use crate::record::Mark;
use crate::seq::Offset;
use crate::time::{Instant, Interval};

/// `hystart_low_window`: HyStart ignores ACKs while cwnd is below this number of segments.
const LOW_WINDOW: u64 = 16;
/// `hystart_ack_delta_us`: longest gap between two ACKs of one train.
const ACK_SPACING: Interval = Interval::from_millis(2);
/// `HYSTART_MIN_SAMPLES`: number of ACKs of a round before its RTT is compared.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN`.
const DELAY_MIN: Interval = Interval::from_millis(4);
/// `HYSTART_DELAY_MAX`.
const DELAY_MAX: Interval = Interval::from_millis(16);

/// HyStart state of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Classic {
    /// `delay_min`: least RTT since the start of the connection or the last time-out.
    least: Option<Interval>,
    round: Option<Round>,
    /// Set if segments are paced.
    paced: bool,
    /// Set once HyStart has ended slow start.
    exited: bool,
    /// Set if the delay ended slow start.
    by_delay: bool,
}

/// Round: one window of data and its ACKs.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// SND.MAX at the start of the round; the first ACK above `end` starts the next round.
    end: Offset,
    began: Instant,
    /// Time of the last ACK of the train that began with the round.
    last: Instant,
    /// Least RTT among the ACKs of the round.
    least: Option<Interval>,
    samples: u32,
}

impl Round {
    fn new(cx: &Context<'_>) -> Self {
        Self {
            end: cx.snd_max,
            began: cx.now,
            last: cx.now,
            least: None,
            samples: 0,
        }
    }
}

impl Classic {
    /// Returns the state before the first ACK.
    pub(super) fn new(paced: bool) -> Self {
        Self {
            paced,
            ..Self::default()
        }
    }

    /// Returns the length of the ACK train that ends slow start. It is doubled if segments are
    /// paced, because pacing alone spreads a window over up to half a round trip.
    fn train(&self, least: Interval) -> Interval {
        if self.paced { least } else { least / 2 }
    }

    /// Processes an ACK of new data with a window of `cwnd` bytes. Returns whether slow start ends
    /// with this ACK. Linux also allows for the bursts of segmentation offload; farlink sends
    /// segment by segment and leaves the allowance out.
    pub(super) fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack, cwnd: u64) -> bool {
        let Some(rtt) = ack.fine_rtt.or(ack.rtt_sample) else {
            return false;
        };
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if self.exited {
            return false;
        }
        let train = self.train(least);
        let round = match &mut self.round {
            Some(round) if cx.snd_una <= round.end => round,
            round => round.insert(Round::new(cx)),
        };
        if cwnd < LOW_WINDOW * cx.mss {
            return false;
        }
        if cx.now.since(round.last) <= ACK_SPACING {
            round.last = cx.now;
            let lasted = cx.now.since(round.began);
            self.exited = lasted > train;
        }
        let round_least = round.least.map_or(rtt, |least| least.min(rtt));
        round.least = Some(round_least);
        if round.samples < MIN_SAMPLES {
            round.samples += 1;
        } else if round_least > least + (least / 8).clamp(DELAY_MIN, DELAY_MAX) {
            self.by_delay = !self.exited;
            self.exited = true;
        }
        self.exited
    }

    /// Returns the sign that ended slow start.
    pub(super) fn sign(&self) -> Mark {
        if self.by_delay {
            Mark::DelayIncrease
        } else {
            Mark::AckTrain
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RtoConfig;
    use crate::rto::RttEstimator;

    const MSS: u64 = 1000;

    fn us(n: u64) -> Interval {
        Interval::from_micros(n)
    }

    /// Feeds the ACKs of a round of `n` segments that begins at `at`. ACKs are `gap` apart and each
    /// measures `rtt`. Returns the number (from 1) of the ACK that ends slow start.
    fn round(
        classic: &mut Classic,
        (at, una): (&mut Instant, &mut Offset),
        n: u64,
        (gap, rtt): (Interval, Interval),
    ) -> Option<u64> {
        let estimator = RttEstimator::new(RtoConfig::default());
        let end = *una + n * MSS;
        for i in 1..=n {
            *una += MSS;
            let cx = Context {
                now: *at,
                mss: MSS,
                flight: n * MSS,
                snd_una: *una,
                snd_max: end,
                rtt: &estimator,
            };
            *at += gap;
            let ack = Ack {
                bytes: MSS,
                rtt_sample: None,
                fine_rtt: Some(rtt),
                cwnd_limited: true,
            };
            if classic.on_ack(&cx, &ack, n * MSS) {
                return Some(i);
            }
        }
        None
    }

    /// RTT 40 ms, ACKs 1 ms apart, paced. A train longer than 40 ms ends slow start, which is
    /// reached at the 42nd ACK.
    #[test]
    fn a_paced_train_is_a_whole_round_trip_long() {
        let (mut at, mut una) = (Instant::ZERO, 0);
        let mut classic = Classic::new(true);
        let end = round(
            &mut classic,
            (&mut at, &mut una),
            50,
            (us(1000), us(40_000)),
        );
        assert_eq!(end, Some(42));
    }

    /// RTT 40 ms, ACKs 1 ms apart. A train longer than 20 ms ends slow start, which is reached at
    /// the 22nd ACK.
    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let (mut classic, mut at, mut una) = (Classic::default(), Instant::ZERO, 1);
        let path = (us(1000), us(40_000));
        let ended = round(&mut classic, (&mut at, &mut una), 60, path);
        assert_eq!(ended, Some(22));
    }

    #[test]
    fn acks_more_than_2_ms_apart_form_no_train() {
        let (mut classic, mut at, mut una) = (Classic::default(), Instant::ZERO, 1);
        let path = (us(2001), us(40_000));
        assert_eq!(round(&mut classic, (&mut at, &mut una), 60, path), None);
    }

    /// The least RTT is 40 ms. An increase of an eighth (5 ms) is tolerated, and a larger one ends
    /// slow start at the ninth ACK of the round.
    #[test]
    fn an_rtt_increase_of_more_than_an_eighth_ends_slow_start() {
        for (rtt, ended) in [(45_000, None), (45_001, Some(9))] {
            let (mut classic, mut at, mut una) = (Classic::default(), Instant::ZERO, 1);
            let place = (&mut at, &mut una);
            assert_eq!(round(&mut classic, place, 20, (us(10), us(40_000))), None);
            at += us(40_000);
            let place = (&mut at, &mut una);
            let got = round(&mut classic, place, 20, (us(10), us(rtt)));
            assert_eq!(got, ended, "{rtt}");
        }
    }

    /// The tolerated increase of the RTT is an eighth of the least RTT, but between 4 and 16 ms.
    #[test]
    fn the_delay_threshold_is_between_4_and_16_ms() {
        for (least, most) in [(8_000, 12_000), (500_000, 516_000)] {
            for (rtt, ended) in [(most, None), (most + 1, Some(9))] {
                let (mut classic, mut at, mut una) = (Classic::default(), Instant::ZERO, 1);
                let place = (&mut at, &mut una);
                assert_eq!(round(&mut classic, place, 16, (us(0), us(least))), None);
                at += us(least);
                let place = (&mut at, &mut una);
                let got = round(&mut classic, place, 16, (us(0), us(rtt)));
                assert_eq!(got, ended, "{least} {rtt}");
            }
        }
    }

    #[test]
    fn windows_below_16_segments_are_ignored() {
        let (mut classic, mut at, mut una) = (Classic::default(), Instant::ZERO, 1);
        let path = (us(1000), us(10_000));
        assert_eq!(round(&mut classic, (&mut at, &mut una), 15, path), None);
        assert_eq!(round(&mut classic, (&mut at, &mut una), 16, path), Some(7));
    }
}
