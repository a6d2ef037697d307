//! Processes of a channel that have a file of their own: what a scenario says of
//! each, its checks, and how it is built.

mod byte_errors;
mod congestion;
mod internet_delay;
mod mobile;
mod mobility;
mod orbit;
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
pub use place::{Place, trace_share};
pub use radio::{BandName, FadingName, ModulationName, NoiseName, PathLossName, RadioSpec};
pub use rayleigh::{AdvanceName, RayleighModel, RayleighSpec};
pub use satellite::SatelliteSpec;
pub use scripted::ScriptedLossSpec;

use farlink_net::channel::{ChannelError, Process, Stage};
use farlink_tcp::Interval;

use super::checks::fault;
use super::decode::Problem;
use super::spec::ChannelSpec;

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

/// The processes of one table that lose or damage packets, in the standard order.
///
/// # Errors
/// Values that do not go together with those of the link.
pub fn losses(
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
///
/// # Errors
/// Values that do not go together with those of the link.
pub fn delays(
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
