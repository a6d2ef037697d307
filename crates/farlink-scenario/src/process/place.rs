//! Position of a process on its link, and its random streams.

use farlink_channel::fec::BlockCode;
use farlink_channel::rng::{Probability, Stream, Streams};
use farlink_channel::{ChannelError, Process};

use super::super::decode::Problem;
use super::super::units;

/// Position of a process: the transmitter in front of it, and its random streams.
pub struct Place<'a> {
    /// Rate of the transmitter in bit/s.
    pub rate: u64,
    /// Framing per packet in bytes.
    pub overhead: u32,
    /// Block code over each packet.
    pub fec: Option<BlockCode>,
    /// Streams of the run.
    pub streams: &'a Streams,
    /// The direction: `link/NAME/down` or `link/NAME/up`.
    pub direction: &'a str,
    /// Number of the table of stages.
    pub table: usize,
}

impl Place<'_> {
    /// Returns the random stream of this name that this direction does not share.
    pub fn stream(&self, name: &str) -> Stream {
        let (direction, table) = (self.direction, self.table);
        self.streams
            .stream(&format!("{direction}/channel/{table}/{name}"))
    }

    /// Returns the position in their traces at which this direction's traces begin; see
    /// [`trace_share`].
    pub(crate) fn trace_share(&self) -> f64 {
        trace_share(self.streams, self.direction)
    }

    /// Returns the random stream for the times of events; both directions have the same one if they
    /// share the process.
    pub(super) fn times(&self, name: &str, shared: bool) -> Stream {
        let link = self.direction.rsplit_once('/').map_or("", |parts| parts.0);
        if shared {
            let table = self.table;
            self.streams
                .stream(&format!("{link}/channel/{table}/{name}"))
        } else {
            self.stream(name)
        }
    }
}

/// The random number that says where the traces of a direction begin: one for all
/// of them, so that rate, delay and loss of one recording stay together.
pub fn trace_share(streams: &Streams, direction: &str) -> f64 {
    streams
        .stream(&format!("{direction}/trace_offset"))
        .uniform()
}

/// A probability as the network has it.
pub(super) fn probability(
    value: Option<units::Probability>,
    without: f64,
) -> Result<Probability, ChannelError> {
    Ok(Probability::new(value.map_or(without, |p| p.0))?)
}

/// Keys of a process of a channel, from which the process is built.
pub(in super::super) trait ProcessSpec {
    /// Checks the keys. Paths in errors begin inside the table of the process.
    fn check(&self) -> Result<(), Problem>;

    /// Builds the process for its place on the link.
    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError>;
}
