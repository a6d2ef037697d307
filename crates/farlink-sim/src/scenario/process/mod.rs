//! Processes of a channel that have a file of their own: what a scenario says of
//! each, its checks, and how it is built.

mod byte_errors;
mod congestion;
mod internet_delay;
mod mobile;
mod mobility;
mod orbit;
mod radio;
#[cfg(test)]
mod radio_tests;
mod rayleigh;
mod satellite;
mod scripted;
#[cfg(test)]
mod tests;

pub use byte_errors::ByteErrorsSpec;
pub use congestion::CongestionSpec;
pub use internet_delay::{InternetDelaySpec, RaisedSpec};
pub use mobile::{FadeRuleName, ForwardingName, MobileSpec};
pub use mobility::{MobilityName, MobilitySpec, MovesName};
pub use orbit::{InterruptionName, OrbitSpec, ReconfigurationSpec};
pub use radio::{BandName, FadingName, ModulationName, NoiseName, PathLossName, RadioSpec};
pub use rayleigh::{AdvanceName, RayleighModel, RayleighSpec};
pub use satellite::SatelliteSpec;
pub use scripted::ScriptedLossSpec;

use farlink_net::channel::{ChannelError, Process, Stage};
use farlink_net::fec::BlockCode;
use farlink_net::rng::{Probability, Stream, Streams};
use farlink_tcp::Interval;

use super::decode::Problem;
use super::spec::ChannelSpec;
use super::tree::Step;

/// The texts that define the specs, for the order of keys in the reference.
#[cfg(test)]
pub(super) const SOURCES: &[&str] = &[
    include_str!("byte_errors.rs"),
    include_str!("congestion.rs"),
    include_str!("internet_delay.rs"),
    include_str!("mobile.rs"),
    include_str!("satellite.rs"),
    include_str!("scripted.rs"),
    include_str!("mobility.rs"),
    include_str!("orbit.rs"),
    include_str!("radio.rs"),
    include_str!("rayleigh.rs"),
    include_str!("../trace.rs"),
];

/// Where a process stands: the transmitter before it, and its streams.
pub(crate) struct Place<'a> {
    /// Rate of the transmitter in bit/s.
    pub(crate) rate: u64,
    /// Framing per packet in bytes.
    pub(crate) overhead: u32,
    /// Block code over each packet.
    pub(crate) fec: Option<BlockCode>,
    /// Streams of the run.
    pub(crate) streams: &'a Streams,
    /// The direction: `link/NAME/down` or `link/NAME/up`.
    pub(crate) direction: &'a str,
    /// Number of the table of stages.
    pub(crate) table: usize,
}

impl Place<'_> {
    /// The stream of this name that this direction alone has.
    pub(crate) fn stream(&self, name: &str) -> Stream {
        let (direction, table) = (self.direction, self.table);
        self.streams
            .stream(&format!("{direction}/channel/{table}/{name}"))
    }

    /// Where the traces of this direction begin, see [`trace_share`].
    pub(super) fn trace_share(&self) -> f64 {
        trace_share(self.streams, self.direction)
    }

    /// The stream of the times at which something happens: one for both
    /// directions if they share it.
    fn times(&self, name: &str, shared: bool) -> Stream {
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
pub(crate) fn trace_share(streams: &Streams, direction: &str) -> f64 {
    streams
        .stream(&format!("{direction}/trace_offset"))
        .uniform()
}

/// Checks the processes of one table.
pub(super) fn check(stage: &ChannelSpec, longest: Interval) -> Result<(), Problem> {
    let within = |key: &'static str| move |problem: Problem| problem.within(key);
    if let Some(spec) = &stage.satellite {
        spec.check().map_err(within("satellite"))?;
    }
    if let Some(spec) = &stage.mobile {
        spec.check().map_err(within("mobile"))?;
    }
    if let Some(spec) = &stage.congestion {
        spec.check().map_err(within("congestion"))?;
    }
    if let Some(spec) = &stage.byte_errors {
        spec.check().map_err(within("byte_errors"))?;
    }
    if let Some(spec) = &stage.rayleigh {
        spec.check(longest).map_err(within("rayleigh"))?;
    }
    if let Some(spec) = &stage.radio {
        spec.check().map_err(within("radio"))?;
    }
    if let Some(spec) = &stage.loss_trace {
        spec.check().map_err(within("loss_trace"))?;
    }
    if let Some(spec) = &stage.scripted_loss {
        spec.check().map_err(within("scripted_loss"))?;
    }
    if let Some(spec) = &stage.delay_trace {
        spec.check(longest).map_err(within("delay_trace"))?;
    }
    if let Some(spec) = &stage.orbit {
        spec.check().map_err(within("orbit"))?;
    }
    if let Some(spec) = &stage.reconfiguration {
        spec.check(longest).map_err(within("reconfiguration"))?;
    }
    if let Some(spec) = &stage.internet_delay {
        spec.check(longest).map_err(within("internet_delay"))?;
    }
    Ok(())
}

/// Checks that what one direction shares the other has too, with the same values.
pub(super) fn check_shared(down: &[ChannelSpec], up: &[ChannelSpec]) -> Result<(), Problem> {
    for (key, here, there) in [("down", down, up), ("up", up, down)] {
        let other = if key == "down" { "up" } else { "down" };
        for (i, table) in here.iter().enumerate() {
            let same = there.get(i);
            let congestion = table.congestion.as_ref().filter(|spec| spec.shared);
            let mobile = table.mobile.as_ref().filter(|spec| spec.shared);
            let rayleigh = table.rayleigh.as_ref().filter(|spec| spec.shared);
            let changes = table.reconfiguration.as_ref().filter(|spec| spec.shared);
            let differs = if congestion.is_some_and(|spec| {
                !same.is_some_and(|same| same.congestion.as_ref() == Some(spec))
            }) {
                "congestion"
            } else if mobile
                .is_some_and(|spec| !same.is_some_and(|same| same.mobile.as_ref() == Some(spec)))
            {
                "mobile"
            } else if rayleigh
                .is_some_and(|spec| !same.is_some_and(|same| same.rayleigh.as_ref() == Some(spec)))
            {
                "rayleigh"
            } else if changes.is_some_and(|spec| {
                !same.is_some_and(|same| same.reconfiguration.as_ref() == Some(spec))
            }) {
                "reconfiguration"
            } else {
                continue;
            };
            let says = format!(
                "= true, but {other} has no such stage with the same values; write it there too"
            );
            let problem = fault("shared", says).within(differs);
            let problem = if here.len() > 1 {
                problem.within(i)
            } else {
                problem
            };
            return Err(problem.within("channel").within(key));
        }
    }
    Ok(())
}

fn fault(key: &str, says: impl Into<String>) -> Problem {
    Problem::new([Step::from(key)], says)
}

/// The processes of one table that lose or damage packets, in the standard order.
pub(crate) fn losses(
    table: &ChannelSpec,
    place: &Place<'_>,
    stages: &mut Vec<Stage>,
) -> Result<(), ChannelError> {
    let mut push = |process: Box<dyn Process>| stages.push(Stage::Process(process));
    if let Some(spec) = &table.satellite {
        push(Box::new(spec.build(place)?));
    }
    if let Some(spec) = &table.mobile {
        push(Box::new(spec.build(place)?));
    }
    if let Some(spec) = &table.congestion {
        push(Box::new(spec.build(place)?));
    }
    if let Some(spec) = &table.byte_errors {
        push(Box::new(spec.build(place)?));
    }
    if let Some(spec) = &table.rayleigh {
        push(spec.build(place)?);
    }
    if let Some(spec) = &table.radio {
        push(spec.build(place)?);
    }
    if let Some(spec) = &table.loss_trace {
        push(spec.build(place)?);
    }
    if let Some(spec) = &table.scripted_loss {
        push(Box::new(spec.build()?));
    }
    Ok(())
}

/// The processes of one table that delay packets, in the standard order.
pub(crate) fn delays(
    table: &ChannelSpec,
    place: &Place<'_>,
    stages: &mut Vec<Stage>,
) -> Result<(), ChannelError> {
    if let Some(spec) = &table.internet_delay {
        stages.push(Stage::Process(Box::new(spec.build(place)?)));
    }
    if let Some(spec) = &table.delay_trace {
        stages.push(Stage::Process(spec.build(place)?));
    }
    if let Some(spec) = &table.orbit {
        stages.push(Stage::Process(spec.build(place)?));
    }
    if let Some(spec) = &table.reconfiguration {
        stages.push(Stage::Process(spec.build(place)));
    }
    Ok(())
}

/// A probability as the network has it.
fn probability(
    value: Option<super::Probability>,
    without: f64,
) -> Result<Probability, ChannelError> {
    Ok(Probability::new(value.map_or(without, |p| p.0))?)
}
