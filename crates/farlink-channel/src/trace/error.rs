//! Errors of traces.

/// A trace that nothing could follow.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TraceError {
    /// Nothing in it.
    #[error("the trace is empty; write at least one row")]
    Empty,
    /// Time goes back or stands still.
    #[error("row {row}: time {time} is not later than the row before; write rising times")]
    Order {
        /// Row, from 1.
        row: usize,
        /// Time of the row.
        time: String,
    },
    /// A packet-delivery trace whose time goes back.
    #[error("row {row}: {time} ms is earlier than the row before; write times that do not fall")]
    Falls {
        /// Row, from 1.
        row: usize,
        /// Time of the row in milliseconds.
        time: u64,
    },
    /// A packet-delivery trace that lasts no time.
    #[error("the trace ends at 0 ms; its last time is its length, so write one above 0")]
    NoLength,
    /// A trace that is to repeat after no time.
    #[error("a trace that repeats needs two rows: the time of the last one is its length")]
    OneRow,
    /// A rate that is 0 for ever.
    #[error(
        "the rate is 0 at the end and the link would never send again; write a rate above 0 in \
         the last row, or repeat = true"
    )]
    Stops,
    /// A rate that is 0 all the time.
    #[error("the rate is 0 in every row; write one above 0")]
    Silent,
}
