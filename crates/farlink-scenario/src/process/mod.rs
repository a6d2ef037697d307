//! Channel processes with a file of their own: keys, checks and construction.

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

pub use byte_errors::ByteErrorsSpec;
pub use congestion::CongestionSpec;
pub use internet_delay::{InternetDelaySpec, RaisedSpec};
pub use mobile::{FadeRuleName, ForwardingName, MobileSpec};
pub use mobility::{MobilityName, MobilitySpec, MovesName};
pub use orbit::{InterruptionName, OrbitSpec, ReconfigurationSpec};
pub use outage::OutageSpec;
pub(super) use place::ProcessSpec;
pub use place::{Place, trace_share};
pub use radio::{BandName, FadingName, ModulationName, NoiseName, PathLossName, RadioSpec};
pub use rayleigh::{AdvanceName, RayleighModel, RayleighSpec};
pub use satellite::SatelliteSpec;
pub use scripted::ScriptedLossSpec;
