//! Processes of a channel with a file of their own: keys, checks and construction of each.

mod byte_errors;
mod congestion;
mod internet_delay;
mod mobile;
mod mobility;
mod orbit;
mod outage;
pub(super) mod place;
mod radio;
mod rayleigh;
mod satellite;
mod scripted;

use farlink_channel::{ChannelError, Process};

use super::decode::Problem;

pub use byte_errors::ByteErrorsSpec;
pub use congestion::CongestionSpec;
pub use internet_delay::{InternetDelaySpec, RaisedSpec};
pub use mobile::{FadeRuleName, ForwardingName, MobileSpec};
pub use mobility::{MobilityName, MobilitySpec, MovesName};
pub use orbit::{InterruptionName, OrbitSpec, ReconfigurationSpec};
pub use outage::OutageSpec;
pub use place::{Place, trace_share};
pub use radio::{BandName, FadingName, ModulationName, NoiseName, PathLossName, RadioSpec};
pub use rayleigh::{AdvanceName, RayleighModel, RayleighSpec};
pub use satellite::SatelliteSpec;
pub use scripted::ScriptedLossSpec;

/// Keys of a process of a channel, from which the process is built.
pub(super) trait ProcessSpec {
    /// Checks the keys. Paths in errors begin inside the table of the process.
    fn check(&self) -> Result<(), Problem>;

    /// Builds the process for its place on the link.
    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError>;
}
