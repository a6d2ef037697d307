//! Queueing delay of LEDBAT: current RTTs less the least RTT of the last minutes (RFC 6817, 2.4.2).

use crate::time::{Instant, Interval};
use std::collections::VecDeque;

/// `BASE_HISTORY`: number of minutes for which the least RTTs are stored.
const BASE_HISTORY: usize = 10;
const MINUTE: Interval = Interval::from_secs(60);

/// Delay history of a connection.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    /// `CURRENT_FILTER`: number of samples whose least value is the current delay.
    filter: usize,
    current: VecDeque<Interval>,
    /// Least RTT of each of the last minutes, and the end of the latest one.
    base: VecDeque<Interval>,
    minute_end: Instant,
}

impl Delay {
    pub(super) fn new(filter: u32) -> Self {
        Self {
            filter: filter as usize,
            current: VecDeque::new(),
            base: VecDeque::new(),
            minute_end: Instant::ZERO,
        }
    }

    /// Adds a sample.
    pub(super) fn add(&mut self, now: Instant, rtt: Interval) {
        if self.current.len() == self.filter {
            self.current.pop_front();
        }
        self.current.push_back(rtt);
        let this_minute = self.base.back_mut().filter(|_| now < self.minute_end);
        if let Some(least) = this_minute {
            *least = rtt.min(*least);
            return;
        }
        if self.base.len() == BASE_HISTORY {
            self.base.pop_front();
        }
        self.base.push_back(rtt);
        self.minute_end = now + MINUTE;
    }

    /// Returns the least RTT of the last minutes.
    pub(super) fn base(&self) -> Option<Interval> {
        self.base.iter().min().copied()
    }

    /// Returns the queueing delay; `None` before the first sample.
    pub(super) fn queueing(&self) -> Option<Interval> {
        let current = self.current.iter().min()?;
        Some(current.saturating_sub(self.base()?))
    }
}
