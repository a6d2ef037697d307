//! Errors of traces.

/// Fault of a trace that makes it unusable.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TraceError {
    /// The trace has no row.
    #[error("the trace is empty; write at least one row")]
    Empty,
    /// The time of a row is not above that of the previous row.
    #[error("row {row}: time {time} is not later than the row before; write rising times")]
    Order {
        /// Row, from 1.
        row: usize,
        /// Time of the row.
        time: String,
    },
    /// The times of a packet-delivery trace fall.
    #[error("row {row}: {time} ms is earlier than the row before; write times that do not fall")]
    Falls {
        /// Row, from 1.
        row: usize,
        /// Time of the row in milliseconds.
        time: u64,
    },
    /// A packet-delivery trace has length 0.
    #[error("the trace ends at 0 ms; its last time is its length, so write one above 0")]
    NoLength,
    /// A trace that repeats has length 0.
    #[error("a trace that repeats needs two rows: the time of the last one is its length")]
    OneRow,
    /// The last rate is 0, and the trace does not repeat.
    #[error(
        "the rate is 0 at the end and the link would never send again; write a rate above 0 in \
         the last row, or repeat = true"
    )]
    Stops,
    /// Trace whose rates are all 0.
    #[error("the rate is 0 in every row; write one above 0")]
    Silent,
}
