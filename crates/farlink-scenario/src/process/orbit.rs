//! `orbit` and `reconfiguration`: satellites that move.

use farlink_net::channel::{ChannelError, Gap, Interruption, Orbit, Process, Reconfiguration};
use farlink_net::orbit::Passes;
use farlink_tcp::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::{LONGEST_DELAY, at_most, fault};
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::{Length, Time};
use super::place::Place;

table! {
    /// Satellites on circular orbits that pass one after the other: delay beyond that
    /// of the link, and handovers.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct OrbitSpec {
        /// Height over the ground, 100 km to 100000 km.
        altitude: Length;
        /// Elevation below which a satellite is not used, in degrees, 0 to 89.
        min_elevation: f64;
        /// Elevation at the height of a pass, in degrees; 90, overhead, without it.
        max_elevation?: f64;
        /// Inclination in degrees, 0 to 180, for the rotation of the Earth, which
        /// lengthens passes of satellites that fly with it; left out without it.
        inclination?: f64;
        /// How often the distance is travelled, 1 to 10; 2 without it: up, and down to
        /// a ground station near the user.
        hops?: u32;
        /// How long nothing passes when the next satellite takes over; no time without
        /// it.
        handover_time?: Time;
        /// What becomes of packets meanwhile; "drop" without it.
        handover?: InterruptionName;
    }
}

table! {
    /// A path that is chosen anew at a fixed interval, as today's LEO services do:
    /// another delay, and an interruption.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct ReconfigurationSpec {
        /// From one change to the next, 10 ms to 1 h; 15 s without it.
        interval?: Time;
        /// Time of the first change; 12 s without it.
        first?: Time;
        /// Least and greatest extra delay, drawn for each interval.
        delay: [Time; 2];
        /// How long nothing passes at a change; no time without it.
        interruption_time?: Time;
        /// What becomes of packets meanwhile; "drop" without it.
        interruption?: InterruptionName;
        /// Whether a packet waits for those sent before it when the delay falls.
        #[serde(default = "yes")]
        keep_order: bool;
        /// Whether both directions of the link have the same delays; else each draws
        /// its own. They change at the same times.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shared: bool;
    }
}

/// What becomes of packets while the link changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptionName {
    /// They are lost (`drops_handoff`).
    Drop,
    /// They wait until it is over.
    Hold,
}

fn yes() -> bool {
    true
}

fn gap(time: Option<Time>, action: Option<InterruptionName>) -> Gap {
    Gap {
        time: time.map_or(Interval::ZERO, |time| time.0),
        action: match action {
            None | Some(InterruptionName::Drop) => Interruption::Drop,
            Some(InterruptionName::Hold) => Interruption::Hold,
        },
    }
}

impl OrbitSpec {
    fn passes(&self) -> Passes {
        Passes {
            altitude: self.altitude.metres(),
            min_elevation: self.min_elevation.to_radians(),
            max_elevation: self.max_elevation.unwrap_or(90.0).to_radians(),
            inclination: self.inclination.map(f64::to_radians),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Problem> {
        if !(1e5..=1e8).contains(&self.altitude.metres()) {
            let says = format!(
                "= \"{}\" is out of range; write \"100 km\" to \"100000 km\"",
                self.altitude
            );
            return Err(fault("altitude", says));
        }
        for (key, value, low, high) in [
            ("min_elevation", Some(self.min_elevation), 0.0, 89.0),
            ("max_elevation", self.max_elevation, 1.0, 90.0),
            ("inclination", self.inclination, 0.0, 180.0),
        ] {
            if let Some(value) = value.filter(|v| !(low..=high).contains(v)) {
                let says = format!("= {value} is out of range; write {low} to {high} (degrees)");
                return Err(fault(key, says));
            }
        }
        if let Some(top) = self.max_elevation.filter(|&top| top <= self.min_elevation) {
            let says = format!(
                "= {top} is not above min_elevation, {}; a pass would have no time",
                self.min_elevation
            );
            return Err(fault("max_elevation", says));
        }
        let passes = self.passes();
        if !passes.is_possible() || passes.duration() > 86_400.0 {
            let says = "leaves a satellite in sight for a day or for ever; use a lower altitude, \
                        or the plain delay of a GEO link";
            return Err(fault("altitude", says));
        }
        if let Some(hops) = self.hops.filter(|hops| !(1..=10).contains(hops)) {
            return Err(fault(
                "hops",
                format!("= {hops} is out of range; write 1 to 10"),
            ));
        }
        match (self.handover_time, self.handover) {
            (None, Some(_)) => Err(fault(
                "handover",
                "would be ignored; it needs handover_time = \"50 ms\"",
            )),
            (Some(time), _) if time.0.as_secs_f64() >= passes.duration() => {
                let says = format!(
                    "= \"{time}\" is longer than a pass, {:.1} s",
                    passes.duration()
                );
                Err(fault("handover_time", says))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let passes = self.passes();
        if !passes.is_possible() {
            return Err(ChannelError::Cannot("orbit was not checked"));
        }
        // The satellite is the same for both directions.
        Ok(Box::new(Orbit::new(
            passes,
            self.hops.unwrap_or(2),
            gap(self.handover_time, self.handover),
            place.times("orbit", true),
        )))
    }
}

impl ReconfigurationSpec {
    fn interval(&self) -> Interval {
        self.interval.map_or(Interval::from_secs(15), |time| time.0)
    }

    pub(crate) fn check(&self) -> Result<(), Problem> {
        let interval = self.interval();
        if interval < Interval::from_millis(10) || interval > LONGEST_DELAY {
            let says = format!(
                "= \"{}\" is out of range; write \"10 ms\" to \"{}\"",
                Time(interval),
                Time(LONGEST_DELAY)
            );
            return Err(fault("interval", says));
        }
        let [low, high] = self.delay;
        if low > high {
            let says = format!("goes from \"{low}\" to \"{high}\"; write the smaller first");
            return Err(fault("delay", says));
        }
        at_most("delay", high, LONGEST_DELAY)?;
        if self.interruption.is_some() && self.interruption_time.is_none() {
            let says = "would be ignored; it needs interruption_time = \"50 ms\"";
            return Err(fault("interruption", says));
        }
        match self.interruption_time {
            Some(time) if time.0 >= interval => {
                let says = format!(
                    "= \"{time}\" is not below the interval, \"{}\"",
                    Time(interval)
                );
                Err(fault("interruption_time", says))
            }
            _ => Ok(()),
        }
    }

    #[allow(clippy::unnecessary_wraps)] // as of every process
    pub(crate) fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        Ok(Box::new(Reconfiguration::new(
            self.interval(),
            self.first.map_or(Interval::from_secs(12), |time| time.0),
            self.delay.map(|time| time.0),
            gap(self.interruption_time, self.interruption),
            self.keep_order,
            place.times("reconfiguration", self.shared),
        )))
    }
}
