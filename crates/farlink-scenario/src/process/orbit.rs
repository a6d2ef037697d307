//! `orbit` and `reconfiguration`: satellites that move.

use farlink_channel::orbit::Passes;
use farlink_channel::{ChannelError, Gap, Interruption, Orbit, Process, Reconfiguration};
use farlink_tcp::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::{HOUR, LONGEST_DELAY, at_most, fault};
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::{Length, Time};
use super::place::{Place, ProcessSpec};

table! {
    /// Satellites on circular orbits that pass one after the other. They add their delay to the
    /// delay of the link, and interrupt it at handovers.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct OrbitSpec {
        /// Height above the ground.
        altitude: Length, in Length(100_000_000)..=Length(100_000_000_000);
        /// Elevation below which a satellite is not used.
        min_elevation: f64, in 0.0..=89.0, unit "degrees";
        /// Elevation at the highest point of a pass; the default is overhead.
        max_elevation?: f64 = 90.0, in 1.0..=90.0, unit "degrees";
        /// Inclination of the orbits, from which the rotation of the Earth is computed. The
        /// rotation lengthens passes of satellites that fly eastwards. By default the Earth does
        /// not rotate.
        inclination?: f64, in 0.0..=180.0, unit "degrees";
        /// Number of times that a packet travels the distance. The default is 2: up, and down to a
        /// ground station near the user.
        hops?: u32 = 2, in 1..=10;
        /// Duration of the interruption when the next satellite takes over; 0 s by default.
        handover_time?: Time;
        /// Fate of packets during the interruption.
        handover?: InterruptionName = InterruptionName::Drop, needs handover_time;
    }
}

table! {
    /// Change of the path at a fixed interval, as in today's LEO services: another delay, and an
    /// interruption.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct ReconfigurationSpec {
        /// Time from one change to the next.
        interval?: Time = Time(Interval::from_secs(15)), in Time(Interval::from_millis(10))..=HOUR;
        /// Time of the first change.
        first?: Time = Time(Interval::from_secs(12));
        /// Least and greatest extra delay, drawn for each interval.
        delay: [Time; 2];
        /// Duration of the interruption at a change; 0 s by default.
        interruption_time?: Time;
        /// Fate of packets during the interruption.
        interruption?: InterruptionName = InterruptionName::Drop, needs interruption_time;
        /// Keep packets in order when the delay falls, by letting a packet wait for earlier
        /// packets.
        #[serde(default = "crate::defaults::on")]
        keep_order: bool;
        /// Give both directions of the link the same delays; otherwise each direction draws its
        /// own. Both directions always change at the same times.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shared: bool;
    }
}

/// Fate of packets during an interruption.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptionName {
    /// Packets are lost.
    Drop,
    /// Packets wait for the end of the interruption.
    Hold,
}

pub(super) fn gap(time: Option<Time>, action: InterruptionName) -> Gap {
    Gap {
        time: time.map_or(Interval::ZERO, |time| time.0),
        action: match action {
            InterruptionName::Drop => Interruption::Drop,
            InterruptionName::Hold => Interruption::Hold,
        },
    }
}

impl OrbitSpec {
    fn passes(&self) -> Passes {
        Passes {
            altitude: self.altitude.metres(),
            min_elevation: self.min_elevation.to_radians(),
            max_elevation: self.max_elevation().to_radians(),
            inclination: self.inclination.map(f64::to_radians),
        }
    }
}

impl ProcessSpec for OrbitSpec {
    fn check(&self) -> Result<(), Problem> {
        self.check_keys()?;
        if let Some(top) = self.max_elevation.filter(|&top| top <= self.min_elevation) {
            let message = format!(
                "= {top} is not above min_elevation, {}; a pass would have no time",
                self.min_elevation
            );
            return Err(fault("max_elevation", message));
        }
        let passes = self.passes();
        if !passes.is_possible() || passes.duration() > 86_400.0 {
            let message = "leaves a satellite in sight for a day or for ever; use a lower altitude, \
                        or the plain delay of a GEO link";
            return Err(fault("altitude", message));
        }
        match self.handover_time {
            Some(time) if time.0.as_secs_f64() >= passes.duration() => {
                let message = format!(
                    "= \"{time}\" is longer than a pass, {:.1} s",
                    passes.duration()
                );
                Err(fault("handover_time", message))
            }
            _ => Ok(()),
        }
    }

    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let passes = self.passes();
        if !passes.is_possible() {
            return Err(ChannelError::Cannot("orbit was not checked"));
        }
        // Both directions use the same satellite.
        Ok(Box::new(Orbit::new(
            passes,
            self.hops(),
            gap(self.handover_time, self.handover()),
            place.times("orbit", true),
        )))
    }
}

impl ProcessSpec for ReconfigurationSpec {
    fn check(&self) -> Result<(), Problem> {
        self.check_keys()?;
        let interval = self.interval();
        let [low, high] = self.delay;
        if low > high {
            let message = format!("goes from \"{low}\" to \"{high}\"; write the smaller first");
            return Err(fault("delay", message));
        }
        at_most("delay", high, LONGEST_DELAY)?;
        match self.interruption_time {
            Some(time) if time >= interval => {
                let message = format!("= \"{time}\" is not below the interval, \"{interval}\"");
                Err(fault("interruption_time", message))
            }
            _ => Ok(()),
        }
    }

    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        Ok(Box::new(Reconfiguration::new(
            self.interval().0,
            self.first().0,
            self.delay.map(|time| time.0),
            gap(self.interruption_time, self.interruption()),
            self.keep_order,
            place.times("reconfiguration", self.shared),
        )))
    }
}
