//! `mobility`: movement of nodes.

use farlink_channel::mobility::{Area, Model, Separation, Span, Turning, Walker};
use farlink_channel::rng::Stream;
use farlink_tcp::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::{LONGEST_RUN, fault};
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::{Length, Speed, Time};

table! {
    /// Nodes that move in a rectangle.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct MobilitySpec for model: MobilityName {
        /// Mobility model of the nodes.
        model: MobilityName;
        /// Width and height of the area, 1 m to 1000 km.
        area: [Length; 2];
        /// Number of moving ends: both, or only the first while the second stays in the middle of
        /// the area. The default is "both".
        moves?: MovesName;
        /// Least and greatest speed of a leg.
        speed?: [Speed; 2], of [RandomWaypoint, Vatne2006, RandomWalk, RandomDirection, RandomTrip],
            like "[\"0.5 m/s\", \"5 m/s\"]";
        /// Least and greatest duration of a pause; by default there is none.
        pause?: [Time; 2], of [RandomWaypoint, Vatne2006, RandomDirection, RandomTrip];
        /// Duration of a step.
        step?: Time, in Time(Interval::from_millis(1))..=Time(LONGEST_RUN),
            of [Vatne2006, GaussMarkov], like "\"1 s\"";
        /// Least and greatest duration of a leg: multiples of `step` for "vatne2006", two equal
        /// times for "random-walk".
        leg?: [Time; 2], of [Vatne2006, RandomWalk], like "[\"5 s\", \"30 s\"]";
        /// Standard deviation of the new angle about the previous angle; by default every angle is
        /// equally likely.
        turning?: f64, in 0.0..=100.0, unit "radians", of [Vatne2006];
        /// Weight of the previous speed and angle: 0 for no dependence, 1 for a straight line.
        memory?: f64, in 0.0..=1.0, of [GaussMarkov], like "0.75";
        /// Mean speed.
        mean_speed?: Speed, of [GaussMarkov], like "\"3 m/s\"";
        /// Standard deviation of the speed.
        speed_deviation?: Speed, of [GaussMarkov], like "\"0.5 m/s\"";
        /// Standard deviation of the angle.
        angle_deviation?: f64, in 0.0..=100.0, unit "radians", of [GaussMarkov], like "0.4";
    }
}

/// Models of mobility.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MobilityName {
    /// Straight to a random place, then a pause, and so on (Johnson and Maltz 1996).
    RandomWaypoint,
    /// Random waypoint of Vatne and Haugen (2006): speed, angle and number of steps are drawn. A
    /// leg that would leave the area is drawn again.
    Vatne2006,
    /// A random angle and speed, for a fixed time or until the border.
    RandomWalk,
    /// A random angle until the border, then a pause (Royer and others 2001).
    RandomDirection,
    /// Speed and angle that depend on the previous speed and angle (Liang and Haas 1999).
    GaussMarkov,
    /// Random waypoint that starts in its stationary state (Le Boudec and Vojnovic 2005).
    RandomTrip,
}

/// Ends that move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MovesName {
    /// Both nodes, independently.
    Both,
    /// Only the first node. The second stays in the middle of the area.
    One,
}

impl MobilitySpec {
    pub(in super::super) fn check(&self) -> Result<(), Problem> {
        for side in self.area {
            if !(1.0..=1e6).contains(&side.metres()) {
                let message = format!("has \"{side}\", out of range; write \"1 m\" to \"1000 km\"");
                return Err(fault("area", message));
            }
        }
        self.check_keys()?;
        if let Some([low, high]) = self.speed {
            if low > high {
                let message = format!("goes from \"{low}\" to \"{high}\"; write the smaller first");
                return Err(fault("speed", message));
            }
            if low.0 == 0 || high.metres_per_second() > 1e5 {
                let message = "is out of range; write speeds above 0, up to \"100 km/s\"";
                return Err(fault("speed", message));
            }
        }
        for (key, span) in [("pause", self.pause), ("leg", self.leg)] {
            if let Some([low, high]) = span.filter(|[low, high]| low > high) {
                let message = format!("goes from \"{low}\" to \"{high}\"; write the smaller first");
                return Err(fault(key, message));
            }
        }
        if let Some([low, _]) = self.leg.filter(|leg| leg[0].0 < Interval::from_millis(1)) {
            let message = format!("begins with \"{low}\", out of range; write \"1 ms\" or more");
            return Err(fault("leg", message));
        }
        if let (MobilityName::RandomWalk, Some([low, high])) = (self.model, self.leg)
            && low != high
        {
            let message = format!("of a random walk has one length; write [\"{low}\", \"{low}\"]");
            return Err(fault("leg", message));
        }
        self.check_steps()
    }

    /// Checks that a leg that must stay inside fits into the area after a border.
    fn check_steps(&self) -> Result<(), Problem> {
        let (MobilityName::Vatne2006, Some(speed), Some(leg), Some(step)) =
            (self.model, self.speed, self.leg, self.step)
        else {
            return Ok(());
        };
        if leg[1].0 < step.0 {
            let message = format!(
                "= \"{step}\" is longer than a leg; write at most \"{}\"",
                leg[1]
            );
            return Err(fault("step", message));
        }
        let shortest = speed[0].metres_per_second() * leg[0].0.as_secs_f64();
        let side = self.area[0].metres().min(self.area[1].metres());
        if shortest > side / 2.0 {
            let message = format!(
                "makes every leg {shortest} m or more, too long to stay inside {side} m; write \
                 shorter ones"
            );
            return Err(fault("leg", message));
        }
        Ok(())
    }

    fn model(&self) -> Model {
        let span = |pair: Option<[f64; 2]>| {
            let [low, high] = pair.unwrap_or([0.0, 0.0]);
            Span { low, high }
        };
        let seconds = |pair: Option<[Time; 2]>| pair.map(|p| p.map(|t| t.0.as_secs_f64()));
        let speeds = |speed: Option<Speed>| speed.map_or(0.0, Speed::metres_per_second);
        let speed = span(self.speed.map(|p| p.map(Speed::metres_per_second)));
        let pause = span(seconds(self.pause));
        let step = self.step.map_or(1.0, |step| step.0.as_secs_f64());
        let in_steps = |span: Span| Span {
            low: (span.low / step).floor(),
            high: (span.high / step).floor(),
        };
        match self.model {
            MobilityName::RandomWaypoint => Model::Waypoint { speed, pause },
            MobilityName::RandomTrip => Model::Trip { speed, pause },
            MobilityName::RandomDirection => Model::Direction { speed, pause },
            MobilityName::RandomWalk => Model::Walk {
                speed,
                time: span(seconds(self.leg)).low,
            },
            MobilityName::Vatne2006 => {
                let steps = in_steps(span(seconds(self.leg)));
                Model::Steps {
                    step,
                    speed,
                    steps: Span {
                        low: steps.low.max(1.0),
                        high: steps.high.max(1.0),
                    },
                    pause: in_steps(pause),
                    turning: self.turning.map_or(Turning::Uniform, Turning::Gaussian),
                }
            }
            MobilityName::GaussMarkov => Model::GaussMarkov {
                step,
                memory: self.memory.unwrap_or(0.0),
                speed: speeds(self.mean_speed),
                speed_deviation: speeds(self.speed_deviation),
                angle_deviation: self.angle_deviation.unwrap_or(0.0),
            },
        }
    }

    /// Builds one node.
    pub(in super::super) fn walker(&self, stream: Stream) -> Walker {
        Walker::new(self.model(), self.rectangle(), stream)
    }

    fn rectangle(&self) -> Area {
        Area {
            width: self.area[0].metres(),
            height: self.area[1].metres(),
        }
    }

    /// Builds two nodes. `stream` returns the random stream of a node by name.
    pub(in super::super) fn build(&self, stream: impl Fn(&str) -> Stream) -> Separation {
        let area = self.rectangle();
        let walker = |name: &str| self.walker(stream(name));
        match self.moves {
            Some(MovesName::One) => {
                Separation::One(Box::new(walker("mobility/first")), area.middle())
            }
            Some(MovesName::Both) | None => {
                let both = [walker("mobility/first"), walker("mobility/second")];
                Separation::Both(Box::new(both))
            }
        }
    }
}
