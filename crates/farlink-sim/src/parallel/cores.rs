//! Account of a run on several cores: parts, windows and where their time went.

use std::fmt;

/// Account of a run on several cores.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Cores {
    /// Number of parts of the network.
    pub parts: usize,
    /// Number of threads that handled the parts.
    pub threads: usize,
    /// Reason for one part.
    pub reason: Option<String>,
    /// Longest window in seconds, which is the least delay of a link between parts.
    pub lookahead: f64,
    /// Number of windows on all threads.
    pub rounds: u64,
    /// Number of windows on one thread, because the run could end in them or they had few events.
    pub serial_rounds: u64,
    /// Seconds of all parts in windows on all threads.
    pub work: f64,
    /// Seconds of the slowest part, summed over these windows.
    pub critical: f64,
    /// Seconds of the windows on one thread.
    pub serial: f64,
    /// Seconds from the start of the first window to the end of the last.
    pub elapsed: f64,
    /// Nanoseconds of each part in each window on all threads, if there are fewer threads than
    /// parts. With one part, nanoseconds of each slice of the run.
    pub times: Vec<Vec<u64>>,
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "one part, because {reason}"),
            None => write!(
                f,
                "{} parts, {} windows of at most {} ms, {} more on one thread",
                self.parts,
                self.rounds,
                self.lookahead * 1e3,
                self.serial_rounds
            ),
        }
    }
}

impl Cores {
    pub(super) fn single(reason: impl Into<String>) -> Self {
        Self {
            parts: 1,
            threads: 1,
            reason: Some(reason.into()),
            ..Self::default()
        }
    }
}
