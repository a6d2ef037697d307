//! Position of a process on its link, and its random streams.

use farlink_channel::fec::BlockCode;
use farlink_channel::rng::{Probability, Stream, Streams};
use farlink_channel::{ChannelError, Process};

use super::super::decode::Problem;
use super::super::units;

/// Position of a process: its transmitter, and its random streams.
pub struct Place<'a> {
    /// Rate of the transmitter in bit/s.
    pub rate: u64,
    /// Framing per packet in bytes.
    pub overhead: u32,
    /// Block code over each packet.
    pub fec: Option<BlockCode>,
    /// Random streams of the run.
    pub streams: &'a Streams,
    /// Name of the direction: `link/NAME/down` or `link/NAME/up`.
    pub direction: &'a str,
    /// Number of the table of stages.
    pub table: usize,
}

impl Place<'_> {
    /// Returns the random stream `name`, which belongs to this direction alone.
    pub fn stream(&self, name: &str) -> Stream {
        let (direction, table) = (self.direction, self.table);
        self.streams
            .stream(&format!("{direction}/channel/{table}/{name}"))
    }

    /// Returns the random number that sets the start of this direction's traces; see
    /// [`trace_share`].
    pub(crate) fn trace_share(&self) -> f64 {
        trace_share(self.streams, self.direction)
    }

    /// Returns the random stream of the times of events. If the process is shared, both directions
    /// get the same stream.
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

/// Returns the random number that sets the start of a direction's traces. All traces of the
/// direction use the same number, so rate, delay and loss of one recording stay together.
pub fn trace_share(streams: &Streams, direction: &str) -> f64 {
    streams
        .stream(&format!("{direction}/trace_offset"))
        .uniform()
}

/// Returns a probability as a number of random draws, or `without` if it is absent.
pub(super) fn probability(
    value: Option<units::Probability>,
    without: f64,
) -> Result<Probability, ChannelError> {
    Ok(Probability::new(value.map_or(without, |p| p.0))?)
}

/// Keys of a channel process, from which the process is built.
pub(in super::super) trait ProcessSpec {
    /// Checks the keys. Paths in errors begin inside the table of the process.
    fn check(&self) -> Result<(), Problem>;

    /// Builds the process for its position on the link.
    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError>;
}
