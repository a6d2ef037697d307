//! Default and competitive mode of Copa (2.2).

use crate::time::{Instant, Interval};

/// Round trips within which the queue must once be nearly empty.
const EMPTY_WITHIN: u64 = 5;
/// Divisor of the spread of the RTTs; the queue is nearly empty below this share (one tenth).
const NEARLY_EMPTY: u64 = 10;

/// delta, and the detection of flows that fill the queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Mode {
    /// 1 / delta of the default mode, a lower bound in the competitive mode.
    default: f64,
    enabled: bool,
    /// 1 / delta in force.
    inverse: f64,
    competitive: bool,
    /// Last time at which the queue was nearly empty.
    empty_at: Instant,
    /// Set if a loss was detected since the last round.
    lost: bool,
}

impl Mode {
    pub(super) fn new(delta: f64, enabled: bool) -> Self {
        Self {
            default: 1.0 / delta,
            enabled,
            inverse: 1.0 / delta,
            competitive: false,
            empty_at: Instant::ZERO,
            lost: false,
        }
    }

    /// Returns delta.
    pub(super) fn delta(&self) -> f64 {
        1.0 / self.inverse
    }

    /// Processes a queueing delay; `spread` is the largest RTT of four RTTs less `RTTmin`. The mode
    /// is competitive if the queue was not nearly empty within five RTTs. At the first sample both
    /// delays are zero, so the detection starts there.
    pub(super) fn on_delay(
        &mut self,
        now: Instant,
        queueing: Interval,
        spread: Interval,
        srtt: Interval,
    ) {
        if queueing * NEARLY_EMPTY <= spread {
            self.empty_at = now;
        }
        let competitive = self.enabled && now.since(self.empty_at) > srtt * EMPTY_WITHIN;
        if self.competitive && !competitive {
            self.inverse = self.default;
        }
        self.competitive = competitive;
    }

    /// Increases 1 / delta by 1 after a round without a loss, in the competitive mode.
    pub(super) fn on_round(&mut self) {
        let lost = std::mem::take(&mut self.lost);
        if self.competitive && !lost {
            self.inverse += 1.0;
        }
    }

    /// Halves 1 / delta at a loss, in the competitive mode.
    pub(super) fn on_loss(&mut self) {
        self.lost = true;
        if self.competitive {
            self.inverse = (self.inverse / 2.0).max(self.default);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Interval {
        Interval::from_millis(n)
    }

    fn at(n: u64) -> Instant {
        Instant::ZERO + ms(n)
    }

    /// The queue is nearly empty at up to a tenth of the spread. Five RTTs of 100 ms without that
    /// switch to the competitive mode; one nearly empty queue switches back, with delta = 0.5.
    #[test]
    fn a_queue_that_never_empties_switches_the_mode() {
        let mut mode = Mode::new(0.5, true);
        mode.on_delay(at(1000), ms(0), ms(0), ms(100));
        mode.on_delay(at(1100), ms(10), ms(100), ms(100));
        mode.on_delay(at(1600), ms(11), ms(100), ms(100));
        assert!(!mode.competitive);
        mode.on_delay(at(1601), ms(11), ms(100), ms(100));
        assert!(mode.competitive);
        for inverse in [3.0, 4.0, 5.0, 6.0] {
            mode.on_round();
            assert!((mode.delta() - 1.0 / inverse).abs() < 1e-12);
        }
        mode.on_loss();
        mode.on_round(); // the round with the loss adds nothing
        assert_eq!(mode.delta(), 1.0 / 3.0);
        mode.on_loss();
        mode.on_loss();
        assert_eq!(mode.delta(), 0.5);
        mode.on_round();
        mode.on_round();
        mode.on_delay(at(1700), ms(10), ms(100), ms(100));
        assert!(!mode.competitive);
        assert_eq!(mode.delta(), 0.5);
    }

    /// Rounds and losses do not change delta in the default mode, nor while the mode is switched
    /// off.
    #[test]
    fn delta_is_constant_in_the_default_mode() {
        for enabled in [true, false] {
            let mut mode = Mode::new(0.25, enabled);
            mode.on_delay(at(if enabled { 0 } else { 9000 }), ms(50), ms(100), ms(100));
            mode.on_round();
            assert_eq!(mode.delta(), 0.25);
            mode.on_loss();
            assert_eq!(mode.delta(), 0.25);
        }
    }
}
