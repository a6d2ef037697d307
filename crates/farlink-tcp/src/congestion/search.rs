//! SEARCH (draft-chung-ccwg-search-09): leaves slow start once the bytes delivered in a window of
//! time fall short of the bytes sent one round trip earlier.
//!
//! Constants are those of the port in mozilla/neqo, `cc/search.rs`. Differences from the draft are
//! on the page `docs/tcp/starting.md`.

use super::Context;
use crate::time::{Instant, Interval};

/// `W`: bins of one window.
const WINDOW_BINS: u64 = 10;
/// `EXTRA_BINS`: bins for the look back by one RTT.
const EXTRA_BINS: u64 = 15;
/// Slots of the ring of acknowledged and sent bytes.
const SLOTS: usize = (WINDOW_BINS + EXTRA_BINS + 1) as usize;
/// `WINDOW_SIZE_FACTOR` over `W`, in hundredths: a bin lasts 0.35 of the first RTT.
const BIN_HUNDREDTHS: u64 = 35;
/// `THRESH`: shortfall in hundredths that ends slow start.
const THRESHOLD: u64 = 26;

/// Totals at the end of a bin, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    delivered: u64,
    sent: u64,
}

/// SEARCH state of one slow start.
#[derive(Clone, Debug)]
pub(super) struct Search {
    bins: [Totals; SLOTS],
    clock: Option<Clock>,
}

/// Clock of the bins, which starts at the first RTT sample.
#[derive(Clone, Copy, Debug)]
struct Clock {
    first_rtt: Interval,
    bin: Interval,
    /// Number of the current bin.
    index: u64,
    /// End of the current bin.
    end: Instant,
}

impl Search {
    /// Returns the state before the first ACK.
    pub(super) fn new() -> Self {
        Self {
            bins: [Totals::default(); SLOTS],
            clock: None,
        }
    }

    /// Processes an ACK of new data with the RTT `rtt`. Returns the window at which slow start
    /// ends: the bytes delivered during the last first RTT, which is the BDP of an empty queue.
    pub(super) fn on_ack(&mut self, cx: &Context<'_>, rtt: Option<Interval>) -> Option<u64> {
        let rtt = rtt?;
        let totals = Totals {
            delivered: cx.snd_una,
            sent: cx.snd_max,
        };
        let Some(clock) = &mut self.clock else {
            let bin = Interval::from_nanos((rtt.as_nanos() / 100 * BIN_HUNDREDTHS).max(1));
            self.clock = Some(Clock {
                first_rtt: rtt,
                bin,
                index: 0,
                end: cx.now + bin,
            });
            self.bins[0] = totals;
            return None;
        };
        if cx.now <= clock.end {
            return None;
        }
        let passed = cx.now.since(clock.end).as_nanos() / clock.bin.as_nanos() + 1;
        if passed > WINDOW_BINS {
            *self = Self::new();
            return None;
        }
        let (before, last) = (clock.index, self.bins[slot(clock.index)]);
        clock.index += passed;
        clock.end += Interval::from_nanos(clock.bin.as_nanos() * passed);
        let clock = *clock;
        for missed in before + 1..clock.index {
            self.bins[slot(missed)] = last;
        }
        self.bins[slot(clock.index)] = totals;
        self.ends(&clock, rtt).then(|| self.target(&clock))
    }

    /// Returns whether the shortfall reaches the threshold.
    fn ends(&self, clock: &Clock, rtt: Interval) -> bool {
        let back = rtt.as_nanos() / clock.bin.as_nanos();
        let rest = rtt.as_nanos() % clock.bin.as_nanos();
        if back >= EXTRA_BINS || clock.index < back + WINDOW_BINS + 1 {
            return false;
        }
        let current = self.window(clock.index, |totals| totals.delivered);
        let previous = clock.index - back;
        let (later, earlier) = (
            self.window(previous, |totals| totals.sent),
            self.window(previous - 1, |totals| totals.sent),
        );
        // A look back between two bins interpolates between their windows.
        let bin = u128::from(clock.bin.as_nanos());
        let weighted =
            u128::from(earlier) * u128::from(rest) + u128::from(later) * (bin - u128::from(rest));
        let sent = u64::try_from(weighted / bin).unwrap_or(u64::MAX);
        sent > 0 && sent.saturating_sub(current) * 100 / sent >= THRESHOLD
    }

    /// Returns the bytes of the window of bins that ends with bin `index`.
    fn window(&self, index: u64, bytes: fn(&Totals) -> u64) -> u64 {
        bytes(&self.bins[slot(index)]) - bytes(&self.bins[slot(index - WINDOW_BINS)])
    }

    /// Returns the bytes delivered in the bins of the last `first_rtt`.
    fn target(&self, clock: &Clock) -> u64 {
        let bins = clock.first_rtt.as_nanos().div_ceil(clock.bin.as_nanos());
        let from = clock.index.saturating_sub(bins.min(WINDOW_BINS));
        self.bins[slot(clock.index)].delivered - self.bins[slot(from)].delivered
    }
}

/// Returns the slot of a bin in the ring.
fn slot(index: u64) -> usize {
    (index % SLOTS as u64) as usize
}

#[cfg(test)]
mod tests;
