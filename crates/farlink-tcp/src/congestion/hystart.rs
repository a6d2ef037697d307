//! HyStart++ (RFC 9406): leaves slow start when the round-trip time grows,
//! before the queue overflows.
//!
//! A round lasts until the data that was outstanding at its start is
//! acknowledged. When the least round-trip time of a round exceeds that of the
//! round before by a threshold, slow start continues at a quarter of its pace
//! (conservative slow start, CSS) for five rounds; a lower round-trip time in
//! between shows that the alarm was false.

use super::{Ack, Context};
use crate::seq::Offset;
use crate::time::Interval;

/// `MIN_RTT_THRESH` of RFC 9406, 4.3.
const MIN_RTT_THRESH: Interval = Interval::from_millis(4);
/// `MAX_RTT_THRESH`.
const MAX_RTT_THRESH: Interval = Interval::from_millis(16);
/// `MIN_RTT_DIVISOR`.
const MIN_RTT_DIVISOR: u64 = 8;
/// `N_RTT_SAMPLE`: samples that a round needs before it is judged.
const N_RTT_SAMPLE: u32 = 8;
/// `CSS_GROWTH_DIVISOR`.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// `CSS_ROUNDS`.
const CSS_ROUNDS: u32 = 5;
/// L for a sender that does not pace: most segments one ACK may grow the window
/// by, unless byte counting has an L of its own.
pub(super) const GROWTH_LIMIT: u64 = 8;

/// Effect of an ACK in slow start on the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Growth {
    /// Grows it by so many bytes.
    Grow(u64),
    /// Grows it by so many bytes and ends slow start there.
    GrowAndExit(u64),
}

/// The state of one slow start.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart {
    /// `windowEnd`; `None` before the first ACK.
    window_end: Option<Offset>,
    /// `lastRoundMinRTT`; `None` is infinite.
    last_min: Option<Interval>,
    /// `currentRoundMinRTT`; `None` is infinite.
    current_min: Option<Interval>,
    /// `rttSampleCount`.
    samples: u32,
    css: Option<Css>,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// `cssBaselineMinRtt`.
    baseline: Interval,
    /// Rounds that have ended in it.
    rounds: u32,
}

impl HyStart {
    /// Takes an ACK of new data in slow start (RFC 9406, 4.2).
    ///
    /// The ACK that ends a round still belongs to it. Growth is zero unless the
    /// window was the limit, and at most `limit` bytes.
    pub(super) fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack, limit: u64) -> Growth {
        let window_end = *self.window_end.get_or_insert(cx.snd_max);
        if let Some(rtt) = ack.fine_rtt.or(ack.rtt_sample) {
            self.current_min = Some(self.current_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
        let mut growth = if ack.cwnd_limited {
            ack.bytes.min(limit)
        } else {
            0
        };
        if self.css.is_some() {
            growth /= CSS_GROWTH_DIVISOR;
        }
        self.judge();
        if cx.snd_una >= window_end && self.end_round(cx.snd_max) {
            return Growth::GrowAndExit(growth);
        }
        Growth::Grow(growth)
    }

    /// Enters or leaves CSS once the round has enough samples.
    fn judge(&mut self) {
        let Some(current) = self.current_min else {
            return;
        };
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match (self.css, self.last_min) {
            (Some(css), _) if current < css.baseline => self.css = None,
            (None, Some(last)) if current >= last + threshold(last) => {
                self.css = Some(Css {
                    baseline: current,
                    rounds: 0,
                });
            }
            _ => {}
        }
    }

    /// Starts the next round; whether CSS has lasted long enough.
    fn end_round(&mut self, snd_max: Offset) -> bool {
        self.window_end = Some(snd_max);
        self.last_min = self.current_min.take();
        self.samples = 0;
        let Some(css) = &mut self.css else {
            return false;
        };
        css.rounds += 1;
        css.rounds >= CSS_ROUNDS
    }
}

/// `RttThresh`: the growth of the round-trip time that means a queue.
fn threshold(last_min: Interval) -> Interval {
    (last_min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RtoConfig;
    use crate::rto::RttEstimator;
    use crate::time::Instant;

    const MSS: u64 = 1000;

    /// Acknowledges a round of `n` segments one by one, each with this sample;
    /// returns the window growth, and whether slow start ended.
    fn round(hystart: &mut HyStart, una: &mut Offset, n: u64, rtt: Interval) -> (u64, bool) {
        let rtt_state = RttEstimator::new(RtoConfig::default());
        let end = *una + n * MSS;
        let mut grown = 0;
        let mut exit = false;
        while *una < end {
            *una += MSS;
            let cx = Context {
                now: Instant::ZERO,
                mss: MSS,
                flight: n * MSS,
                snd_una: *una,
                // The last ACK of the round finds the next round outstanding.
                snd_max: if *una == end { end + n * MSS } else { end },
                rtt: &rtt_state,
            };
            let ack = Ack {
                bytes: MSS,
                rtt_sample: Some(rtt),
                fine_rtt: None,
                cwnd_limited: true,
            };
            match hystart.on_ack(&cx, &ack, GROWTH_LIMIT * MSS) {
                Growth::Grow(bytes) => grown += bytes,
                Growth::GrowAndExit(bytes) => {
                    grown += bytes;
                    exit = true;
                }
            }
        }
        (grown, exit)
    }

    fn ms(n: u64) -> Interval {
        Interval::from_millis(n)
    }

    /// An eighth of the least round-trip time, but 4 to 16 ms.
    #[test]
    fn threshold_follows_rfc_9406() {
        assert_eq!(threshold(ms(10)), ms(4));
        assert_eq!(threshold(ms(32)), ms(4));
        assert_eq!(threshold(ms(80)), ms(10));
        assert_eq!(threshold(ms(128)), ms(16));
        assert_eq!(threshold(ms(500)), ms(16));
    }

    /// 80 ms may grow to just under 90 ms.
    #[test]
    fn grows_by_the_bytes_acknowledged_until_the_threshold() {
        let (mut h, mut una) = (HyStart::default(), 1);
        assert_eq!(round(&mut h, &mut una, 10, ms(80)), (10 * MSS, false));
        let below = Interval::from_nanos(ms(90).as_nanos() - 1);
        assert_eq!(round(&mut h, &mut una, 10, below), (10 * MSS, false));
        assert!(h.css.is_none());
    }

    /// The eighth sample decides: seven segments at full pace, the eighth too
    /// (growth comes before the judgement), two at a quarter; then five rounds
    /// in all, the one in which CSS began included.
    #[test]
    fn delay_growth_enters_css_and_five_rounds_end_it() {
        let (mut h, mut una) = (HyStart::default(), 1);
        round(&mut h, &mut una, 10, ms(80));
        assert_eq!(
            round(&mut h, &mut una, 10, ms(90)),
            (8 * MSS + 2 * MSS / 4, false)
        );
        for _ in 0..3 {
            assert_eq!(round(&mut h, &mut una, 10, ms(90)), (10 * MSS / 4, false));
        }
        assert_eq!(round(&mut h, &mut una, 10, ms(90)), (10 * MSS / 4, true));
    }

    #[test]
    fn seven_samples_are_too_few() {
        let (mut h, mut una) = (HyStart::default(), 1);
        round(&mut h, &mut una, 7, ms(80));
        round(&mut h, &mut una, 7, ms(200));
        assert!(h.css.is_none());
    }

    #[test]
    fn a_lower_delay_in_css_resumes_slow_start() {
        let (mut h, mut una) = (HyStart::default(), 1);
        round(&mut h, &mut una, 10, ms(80));
        round(&mut h, &mut una, 10, ms(95));
        assert!(h.css.is_some());
        // Seven ACKs and the eighth, whose sample ends CSS, at a quarter.
        let grown = round(&mut h, &mut una, 10, ms(94)).0;
        assert_eq!(grown, 8 * MSS / 4 + 2 * MSS);
        assert!(h.css.is_none());
    }

    /// An ACK of twenty segments grows the window by eight.
    #[test]
    fn growth_per_ack_is_limited() {
        let rtt = RttEstimator::new(RtoConfig::default());
        let cx = Context {
            now: Instant::ZERO,
            mss: MSS,
            flight: 20 * MSS,
            snd_una: 20 * MSS,
            snd_max: 40 * MSS,
            rtt: &rtt,
        };
        let mut ack = Ack {
            bytes: 20 * MSS,
            rtt_sample: None,
            fine_rtt: None,
            cwnd_limited: true,
        };
        assert_eq!(
            HyStart::default().on_ack(&cx, &ack, GROWTH_LIMIT * MSS),
            Growth::Grow(8 * MSS)
        );
        ack.cwnd_limited = false;
        assert_eq!(
            HyStart::default().on_ack(&cx, &ack, GROWTH_LIMIT * MSS),
            Growth::Grow(0)
        );
    }
}
