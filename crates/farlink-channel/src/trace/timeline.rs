//! Times of the rows of a trace.

use super::TraceError;
use farlink_tcp::{Instant, Interval};

/// Times of the rows of a trace; each row is valid until the time of the next. The first row begins
/// at 0. A trace that repeats begins again at the time of its last row, which only marks the end.
/// Otherwise the last row is valid forever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    starts: Vec<u64>,
    repeats: bool,
}

/// Row that is valid at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Number of the row.
    pub(crate) row: usize,
    /// Nanoseconds since the row began.
    pub(crate) since: u64,
    /// Nanoseconds until the next row; `None` if there is no next row.
    pub(crate) left: Option<u64>,
}

impl Timeline {
    /// Creates the timeline from the times of the rows, counted from the first.
    ///
    /// # Errors
    /// Fails if there are no times, if they do not rise, or if a single row is to repeat.
    pub fn new(times: &[Interval], repeats: bool) -> Result<Self, TraceError> {
        let first = times.first().ok_or(TraceError::Empty)?.as_nanos();
        if let Some(i) = times.windows(2).position(|pair| pair[1] <= pair[0]) {
            return Err(TraceError::Order {
                row: i + 2,
                time: format!("{} s", times[i + 1].as_secs_f64()),
            });
        }
        if repeats && times.len() < 2 {
            return Err(TraceError::OneRow);
        }
        Ok(Self {
            starts: times.iter().map(|time| time.as_nanos() - first).collect(),
            repeats,
        })
    }

    /// Returns whether the trace repeats.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// Returns the time of the last row.
    pub fn length(&self) -> Interval {
        Interval::from_nanos(self.starts[self.starts.len() - 1])
    }

    /// Returns the number of rows that can hold.
    pub(crate) fn rows(&self) -> usize {
        self.starts.len() - usize::from(self.repeats)
    }

    /// Returns the time for which each row holds, in nanoseconds, up to the time of the last row.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = u64> + '_ {
        self.starts.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// Returns the row that is valid at `offset` nanoseconds after `now`. `hint` is the last row
    /// found, where the search starts.
    pub(crate) fn at(&self, now: Instant, offset: u64, hint: &mut usize) -> Place {
        let mut time = now.as_nanos().saturating_add(offset);
        if self.repeats {
            time %= self.length().as_nanos();
        }
        let mut row = *hint;
        if row >= self.rows() || self.starts[row] > time {
            row = self.starts.partition_point(|&start| start <= time) - 1;
        } else {
            let mut steps = 0;
            while row + 1 < self.starts.len() && self.starts[row + 1] <= time {
                row += 1;
                steps += 1;
                if steps == 8 {
                    row += self.starts[row + 1..].partition_point(|&start| start <= time);
                    break;
                }
            }
        }
        *hint = row;
        Place {
            row,
            since: time - self.starts[row],
            left: self.starts.get(row + 1).map(|&next| next - time),
        }
    }

    /// Returns the start of the row after `row`; after the last row, the first.
    pub(crate) fn after(&self, row: usize) -> Place {
        let next = if row + 1 < self.rows() { row + 1 } else { 0 };
        Place {
            row: next,
            since: 0,
            left: self
                .starts
                .get(next + 1)
                .map(|&end| end - self.starts[next]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(times: &[u64], repeats: bool) -> Result<Timeline, TraceError> {
        let times: Vec<_> = times.iter().map(|&t| Interval::from_millis(t)).collect();
        Timeline::new(&times, repeats)
    }

    #[test]
    fn rows_hold_from_their_time_in_any_sequence_of_calls() {
        let times: Vec<u64> = (0..100).map(|i| i * i).collect();
        for repeats in [false, true] {
            let timeline = ms(&times, repeats).unwrap();
            for (step, offset) in [(1, 0), (7, 0), (900, 3), (20_000, 11)] {
                let mut hint = 0;
                for i in 0..2000 {
                    let now = Instant::from_nanos(i * step * 1_000_000);
                    let measured = timeline.at(now, offset * 1_000_000, &mut hint);
                    let mut time = i * step + offset;
                    if repeats {
                        time %= 99 * 99;
                    }
                    let row = (0..100).rev().find(|&k| times[k] <= time).unwrap();
                    assert_eq!(measured.row, row);
                    assert_eq!(measured.since, (time - times[row]) * 1_000_000);
                    let left = times.get(row + 1).map(|next| (next - time) * 1_000_000);
                    assert_eq!(measured.left, left);
                }
            }
        }
    }

    #[test]
    fn time_counts_from_the_first_row() {
        let timeline = ms(&[1000, 1010, 1030], true).unwrap();
        assert_eq!(timeline.length(), Interval::from_millis(30));
        let place = timeline.at(Instant::from_nanos(35_000_000), 0, &mut 0);
        assert_eq!((place.row, place.since), (0, 5_000_000));
        assert_eq!(timeline.after(1).row, 0);
        assert_eq!(timeline.after(0).left, Some(20_000_000));
    }

    #[test]
    fn invalid_timelines_are_refused() {
        assert_eq!(ms(&[], false), Err(TraceError::Empty));
        assert_eq!(ms(&[5], true), Err(TraceError::OneRow));
        let fault = ms(&[0, 10, 10], false).unwrap_err().to_string();
        assert_eq!(
            fault,
            "row 3: time 0.01 s is not later than the row before; write rising times"
        );
    }
}
