//! HyStart++ (RFC 9406): leaves slow start when the RTT grows, before the queue overflows.
//!
//! A round lasts until the data outstanding at its start is acknowledged. Conservative slow start
//! (CSS) begins when a round's least RTT exceeds that of the previous round by a threshold. In CSS
//! the window grows at a quarter of the pace for five rounds, and then slow start ends. Normal slow
//! start resumes if the least RTT falls below its value at the start of CSS.

use super::{Ack, Context};
use crate::seq::Offset;
use crate::time::Interval;

/// `MIN_RTT_THRESH` of RFC 9406, 4.3.
const MIN_RTT_THRESH: Interval = Interval::from_millis(4);
/// `MAX_RTT_THRESH`.
const MAX_RTT_THRESH: Interval = Interval::from_millis(16);
/// `MIN_RTT_DIVISOR`.
const MIN_RTT_DIVISOR: u64 = 8;
/// `N_RTT_SAMPLE`: number of RTT samples of a round before its least RTT is compared.
const N_RTT_SAMPLE: u32 = 8;
/// `CSS_GROWTH_DIVISOR`.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// `CSS_ROUNDS`.
const CSS_ROUNDS: u32 = 5;
/// Limit L of the growth per ACK in segments, for a sender that does not pace (RFC 9406, 4.3). L of
/// RFC 3465 replaces this value where byte counting sets one.
pub(super) const GROWTH_LIMIT: u64 = 8;

/// Effect of an ACK on the window in slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Growth {
    /// Increases the window by this number of bytes.
    Grow(u64),
    /// Increases the window by this number of bytes and ends slow start.
    GrowAndExit(u64),
}

/// HyStart++ state of one slow start.
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
    /// Number of CSS rounds that have ended.
    rounds: u32,
}

impl HyStart {
    /// Processes an ACK of new data in slow start (RFC 9406, 4.2), and returns the growth of the
    /// window.
    ///
    /// Growth is at most `limit` bytes, and zero if the sender was not cwnd-limited. The ACK that
    /// ends a round belongs to that round.
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
        self.compare_rtts();
        if cx.snd_una >= window_end && self.end_round(cx.snd_max) {
            return Growth::GrowAndExit(growth);
        }
        Growth::Grow(growth)
    }

    /// Enters or leaves CSS once the round has `N_RTT_SAMPLE` samples.
    fn compare_rtts(&mut self) {
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

    /// Starts the next round. Returns whether CSS has lasted `CSS_ROUNDS` rounds.
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

/// `RttThresh`: increase of the least RTT between two rounds that starts CSS.
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

    /// Acknowledges a round of `n` segments one by one, each with the RTT sample `rtt`. Returns the
    /// growth of the window in bytes, and whether slow start ended.
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
                // At the last ACK of a round the next round is already outstanding.
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

    /// The threshold is an eighth of the least RTT, but between 4 and 16 ms.
    #[test]
    fn threshold_follows_rfc_9406() {
        assert_eq!(threshold(ms(10)), ms(4));
        assert_eq!(threshold(ms(32)), ms(4));
        assert_eq!(threshold(ms(80)), ms(10));
        assert_eq!(threshold(ms(128)), ms(16));
        assert_eq!(threshold(ms(500)), ms(16));
    }

    /// At a least RTT of 80 ms CSS starts at 90 ms (80 ms plus an eighth).
    #[test]
    fn grows_by_the_bytes_acknowledged_until_the_threshold() {
        let (mut h, mut una) = (HyStart::default(), 1);
        assert_eq!(round(&mut h, &mut una, 10, ms(80)), (10 * MSS, false));
        let below = Interval::from_nanos(ms(90).as_nanos() - 1);
        assert_eq!(round(&mut h, &mut una, 10, below), (10 * MSS, false));
        assert!(h.css.is_none());
    }

    /// The eighth RTT sample of a round starts CSS. Its segment still counts in full, because
    /// growth is computed before the comparison; the two segments after it count a quarter. CSS
    /// then lasts five rounds, the one in which it began included.
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
        // Eight ACKs count a quarter, since only the eighth sample ends CSS; the last two ACKs
        // count in full.
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
