//! Rates that change over time, and a transmitter with such a rate.
//!
//! A departure time is computed from the trace directly, so a trace adds no events.

use super::{ContactPlan, Timeline, TraceError};
use farlink_tcp::time::NANOS_PER_SEC;
use farlink_tcp::{Instant, Interval};
use std::sync::Arc;

/// Bytes of one opportunity of a packet-delivery trace.
pub const OPPORTUNITY: u32 = 1500;

const MILLI: u64 = 1_000_000;

/// Rate of a transmitter over time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RateTrace {
    /// Packet-delivery trace (Netravali et al. 2015, Mahimahi): up to 1500 bytes leave at each
    /// instant, and an instant without waiting packets is unused. The last instant is the length of
    /// the trace, which then repeats.
    Opportunities {
        /// Instants in milliseconds, not falling.
        times: Vec<u32>,
    },
    /// Packet-delivery trace of a constant rate in bit/s: the opportunities k = 1, 2, ... are at k
    /// * 12000 / rate, rounded up to milliseconds.
    Even(u64),
    /// A rate in bit/s for each row.
    Steps {
        /// Times of the rows.
        timeline: Timeline,
        /// Rate of each row in bit/s; 0 is an outage, during which packets wait.
        rates: Vec<u64>,
    },
    /// Rates of a contact plan. A packet is sent within a contact as a whole.
    Contacts(Arc<ContactPlan>),
}

impl RateTrace {
    /// Creates a packet-delivery trace from its instants in milliseconds.
    ///
    /// # Errors
    /// Fails if the list is empty, if times fall, or if the last time is 0.
    pub fn opportunities(times: Vec<u32>) -> Result<Self, TraceError> {
        let last = *times.last().ok_or(TraceError::Empty)?;
        if let Some(i) = times.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(TraceError::Falls {
                row: i + 2,
                time: times[i + 1].into(),
            });
        }
        if last == 0 {
            return Err(TraceError::NoLength);
        }
        Ok(Self::Opportunities { times })
    }

    /// Creates a trace from one rate (bit/s) for each row of the timeline.
    ///
    /// # Errors
    /// Fails if the link would stop for good.
    pub fn steps(timeline: Timeline, rates: Vec<u64>) -> Result<Self, TraceError> {
        debug_assert!(rates.len() >= timeline.rows());
        let used = &rates[..timeline.rows()];
        if used.iter().all(|&rate| rate == 0) {
            return Err(TraceError::Silent);
        }
        if !timeline.repeats() && used.last() == Some(&0) {
            return Err(TraceError::Stops);
        }
        Ok(Self::Steps { timeline, rates })
    }

    /// Returns the length: the period of a trace that repeats, otherwise the time of the last row.
    pub fn length(&self) -> Option<Interval> {
        match self {
            Self::Opportunities { times } => {
                let last = times.last().copied().unwrap_or(0);
                Some(Interval::from_millis(last.into()))
            }
            Self::Even(_) => None,
            Self::Contacts(plan) => Some(Interval::from_nanos(plan.end().as_nanos())),
            Self::Steps { timeline, .. } => Some(timeline.length()),
        }
    }

    /// Returns the mean rate over the length of the trace in bit/s. The length of a trace that does
    /// not repeat ends at its last row.
    pub fn mean(&self) -> u64 {
        match self {
            Self::Opportunities { times } => {
                let last = u64::from(times.last().copied().unwrap_or(1));
                times.len() as u64 * u64::from(OPPORTUNITY) * 8 * 1000 / last
            }
            Self::Even(rate) => *rate,
            Self::Contacts(plan) => plan.mean(),
            Self::Steps { timeline, rates } => {
                let length = u128::from(timeline.length().as_nanos());
                let sum: u128 = timeline
                    .lengths()
                    .zip(rates)
                    .map(|(time, &rate)| u128::from(time) * u128::from(rate))
                    .sum();
                sum.checked_div(length).map_or(rates[0], |mean| mean as u64)
            }
        }
    }

    /// Returns the smallest and the largest rate in bit/s. For packet-delivery traces both are the
    /// mean.
    pub fn bounds(&self) -> [u64; 2] {
        match self {
            Self::Steps { timeline, rates } => {
                let used = &rates[..timeline.rows()];
                let min = used.iter().copied().min().unwrap_or(0);
                [min, used.iter().copied().max().unwrap_or(0)]
            }
            Self::Contacts(plan) => [0, plan.most()],
            _ => [self.mean(); 2],
        }
    }

    /// Returns the instant of opportunity `k`, in nanoseconds of the trace.
    fn opportunity(&self, k: u64) -> u64 {
        match self {
            Self::Opportunities { times } => {
                let (lap, i) = (k / times.len() as u64, k % times.len() as u64);
                let length = u64::from(times[times.len() - 1]);
                (lap * length + u64::from(times[i as usize])) * MILLI
            }
            Self::Even(rate) => {
                let bits = u128::from(OPPORTUNITY) * 8 * 1000 * u128::from(k + 1);
                bits.div_ceil((*rate).into()) as u64 * MILLI
            }
            Self::Steps { .. } | Self::Contacts(_) => 0,
        }
    }

    /// Returns the first opportunity after `time` nanoseconds of the trace.
    fn first_after(&self, time: u64) -> u64 {
        let millis = time / MILLI;
        match self {
            Self::Opportunities { times } => {
                let length = u64::from(times[times.len() - 1]);
                let (lap, within) = (millis / length, millis % length);
                // The last instant of a lap is also instant 0 of the next lap.
                let i = times.partition_point(|&t| u64::from(t) <= within);
                lap * times.len() as u64 + i as u64
            }
            Self::Even(rate) => {
                // Opportunities k + 1 = 1, 2, ... with k + 1 <= millis * rate / 12e6 are past.
                let bits = u128::from(OPPORTUNITY) * 8 * 1000;
                (u128::from(millis) * u128::from(*rate) / bits) as u64
            }
            Self::Steps { .. } | Self::Contacts(_) => 0,
        }
    }
}

/// Position of a transmitter in a trace of rates.
#[derive(Clone, Debug)]
pub struct Pace {
    trace: Arc<RateTrace>,
    /// Position of time 0 in the trace, in nanoseconds.
    offset: u64,
    /// Last row found; for packet-delivery traces, the next unused opportunity.
    next: u64,
    /// Unused bytes of the last opportunity, for packets that have waited for it.
    left: u32,
}

impl Pace {
    /// Creates the position at `offset` in `trace`.
    pub fn new(trace: Arc<RateTrace>, offset: Interval) -> Self {
        Self {
            trace,
            offset: offset.as_nanos(),
            next: 0,
            left: 0,
        }
    }

    /// Returns the start of transmission and the departure of the last bit of a packet of `wire`
    /// bytes that arrived at `now`. The previous packet left at `free_at`.
    #[inline(never)]
    pub fn send(&mut self, free_at: Instant, now: Instant, wire: u32) -> (Instant, Instant) {
        if let RateTrace::Steps { timeline, rates } = &*self.trace {
            let starts = free_at.max(now);
            let mut row = self.next as usize;
            let mut place = timeline.at(starts, self.offset, &mut row);
            // The unit is a billionth of a bit, because rate is multiplied by nanoseconds.
            let mut need = u128::from(wire) * 8 * u128::from(NANOS_PER_SEC);
            let mut ends = starts.as_nanos();
            loop {
                let rate = u128::from(rates[place.row]);
                match place.left {
                    Some(left) if u128::from(left) * rate < need || rate == 0 => {
                        need -= u128::from(left) * rate;
                        ends = ends.saturating_add(left);
                        place = timeline.after(place.row);
                    }
                    _ => {
                        ends = ends.saturating_add(((need + rate / 2) / rate) as u64);
                        break;
                    }
                }
            }
            self.next = row as u64;
            return (starts, Instant::from_nanos(ends));
        }
        if let RateTrace::Contacts(plan) = &*self.trace {
            let mut contact = self.next as usize;
            let sent = plan.send(free_at.max(now), wire, &mut contact);
            self.next = contact as u64;
            return sent;
        }
        // The unused bytes of the last opportunity serve only packets that have waited for it.
        if now >= free_at {
            self.left = 0;
            let arrived = now.as_nanos() + self.offset;
            if self.next == 0 || self.trace.opportunity(self.next) <= arrived {
                self.next = self.next.max(self.trace.first_after(arrived));
            }
        }
        let starts = if self.left > 0 {
            free_at
        } else {
            self.instant(self.next)
        };
        if wire <= self.left {
            self.left -= wire;
            return (starts, free_at);
        }
        let more = wire - self.left;
        let last = self.next + u64::from(more.div_ceil(OPPORTUNITY).max(1)) - 1;
        self.left = (more.div_ceil(OPPORTUNITY).max(1)) * OPPORTUNITY - more;
        self.next = last + 1;
        (starts, self.instant(last))
    }

    fn instant(&self, opportunity: u64) -> Instant {
        let time = self.trace.opportunity(opportunity);
        Instant::from_nanos(time.saturating_sub(self.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * MILLI)
    }

    fn pace(trace: RateTrace) -> Pace {
        Pace::new(Arc::new(trace), Interval::ZERO)
    }

    fn steps(rows: &[(u64, u64)], repeats: bool) -> Result<RateTrace, TraceError> {
        let times: Vec<_> = rows.iter().map(|r| Interval::from_millis(r.0)).collect();
        let timeline = Timeline::new(&times, repeats)?;
        RateTrace::steps(timeline, rows.iter().map(|r| r.1).collect())
    }

    #[test]
    fn a_packet_waits_for_the_next_opportunity() {
        let trace = RateTrace::opportunities(vec![10, 20, 20, 50]).unwrap();
        assert_eq!(trace.mean(), 960_000);
        let mut pace = pace(trace);
        // Two small packets that wait at the same time share one opportunity.
        assert_eq!(pace.send(at(0), at(0), 700), (at(10), at(10)));
        assert_eq!(pace.send(at(10), at(1), 700), (at(10), at(10)));
        // A third packet uses the 100 bytes left, and the next opportunity.
        assert_eq!(pace.send(at(10), at(2), 700), (at(10), at(20)));
        // A packet that arrives exactly at an opportunity gets none of its unused bytes.
        assert_eq!(pace.send(at(20), at(20), 100), (at(50), at(50)));
        // The trace repeats: 60, 70, 70, 100.
        assert_eq!(pace.send(at(50), at(49), 3000), (at(50), at(70)));
        assert_eq!(pace.send(at(70), at(69), 3000), (at(70), at(100)));
        // After a long pause the trace has moved on.
        assert_eq!(
            pace.send(at(100), at(1_000_011), 1500),
            (at(1_000_020), at(1_000_020))
        );
    }

    #[test]
    fn an_offset_shifts_the_trace() {
        let trace = Arc::new(RateTrace::opportunities(vec![10, 20, 50]).unwrap());
        let mut pace = Pace::new(trace, Interval::from_millis(15));
        assert_eq!(pace.send(at(0), at(0), 1500), (at(5), at(5)));
        assert_eq!(pace.send(at(5), at(0), 1500), (at(35), at(35)));
        assert_eq!(pace.send(at(35), at(0), 1500), (at(45), at(45)));
    }

    #[test]
    fn an_even_trace_has_its_rate_and_whole_milliseconds() {
        for rate in [12_000_000, 5_000_000, 1_234_567, 100_000_000, 9600] {
            let trace = RateTrace::Even(rate);
            let mut pace = pace(trace.clone());
            let mut free = Instant::ZERO;
            let n = 10_000;
            for _ in 0..n {
                let (_, done) = pace.send(free, Instant::ZERO, 1500);
                assert_eq!(done.as_nanos() % MILLI, 0);
                free = done;
            }
            let exact = f64::from(n) * 12_000.0 / rate as f64;
            let measured = free.as_secs_f64();
            assert!(
                measured >= exact - 1e-12 && measured < exact + 1e-3,
                "{rate}: {measured}"
            );
            // The search finds the same opportunity as counting does.
            for k in 0..2000 {
                let time = trace.opportunity(k);
                let after = trace.first_after(time);
                assert!(trace.opportunity(after) > time);
                assert!(after == 0 || trace.opportunity(after - 1) <= time);
            }
        }
    }

    #[test]
    fn a_search_in_a_trace_finds_the_next_instant() {
        let trace = RateTrace::opportunities(vec![0, 0, 3, 7, 7, 9]).unwrap();
        for ms in 0..40 {
            let k = trace.first_after(ms * MILLI);
            assert!(trace.opportunity(k) > ms * MILLI, "{ms}");
            assert!(k == 0 || trace.opportunity(k - 1) <= ms * MILLI, "{ms}");
        }
    }

    #[test]
    fn a_packet_spans_rows_of_different_rates() {
        // For 12 kbit, 1 Mbit/s gives 10 kbit in 10 ms, the outage gives nothing, and 2 Mbit/s
        // gives the rest.
        let mut pace = pace(steps(&[(0, 1_000_000), (10, 0), (30, 2_000_000)], false).unwrap());
        assert_eq!(pace.send(at(0), at(0), 1500), (at(0), at(31)));
        assert_eq!(pace.send(at(31), at(5), 1500), (at(31), at(37)));
        assert_eq!(pace.send(at(37), at(100), 1500), (at(100), at(106)));
    }

    #[test]
    fn over_many_laps_the_rate_is_the_mean_of_the_trace() {
        let trace = steps(
            &[(0, 300_000), (7, 0), (11, 5_000_001), (13, 77), (20, 9)],
            true,
        )
        .unwrap();
        let mean = trace.mean() as f64;
        let mut pace = pace(trace);
        let mut free = Instant::ZERO;
        let n = 100_000;
        for _ in 0..n {
            free = pace.send(free, Instant::ZERO, 1500).1;
        }
        let measured = f64::from(n) * 12_000.0 / free.as_secs_f64();
        assert!((measured / mean - 1.0).abs() < 1e-5, "{measured} {mean}");
    }

    #[test]
    fn rates_that_stop_the_link_are_refused() {
        assert_eq!(steps(&[(0, 5), (1, 0)], false), Err(TraceError::Stops));
        assert!(steps(&[(0, 5), (1, 0), (2, 0)], true).is_ok());
        assert_eq!(steps(&[(0, 0), (1, 5)], true), Err(TraceError::Silent));
        assert_eq!(RateTrace::opportunities(vec![]), Err(TraceError::Empty));
        assert_eq!(RateTrace::opportunities(vec![0]), Err(TraceError::NoLength));
        let falls = RateTrace::opportunities(vec![5, 4]).unwrap_err();
        assert_eq!(
            falls.to_string(),
            "row 2: 4 ms is earlier than the row before; write times that do not fall"
        );
    }
}
