//! `mobile`: handoffs and fades of a mobile host.

use farlink_channel::{
    ChannelError, FadeRule, Fading, Forwarding, Handoffs, Mobile, MobileStreams, Process, StateLoss,
};
use farlink_tcp::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::fault;
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::{Frequency, Length, Probability, Size, Speed, Time};
use super::place::{Place, ProcessSpec, probability};

table! {
    /// A mobile host that changes cells and whose signal fades (Leung 1998, section 3.2.1).
    /// Handoffs need `cell_radius` and `handoff_region` with `speed`, or `handoff_interval` and
    /// `handoff_duration`. Fades need `carrier` with `speed` and either `fade_margin` or
    /// `crossing_rate` and `crossing_duration`; or `fade_interval` and `fade_duration`. Either kind
    /// may be absent.
    #[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
    pub struct MobileSpec {
        /// Speed of the mobile host.
        speed?: Speed;
        /// Radius of a cell.
        cell_radius?: Length;
        /// Length of the region in which a handoff takes place.
        handoff_region?: Length;
        /// Mean time from the end of a handoff to the start of the next (1/a).
        handoff_interval?: Time;
        /// Mean duration of a handoff (1/b).
        handoff_duration?: Time;
        /// Fate of packets in a handoff; the default is "drop".
        handoff?: ForwardingName;
        /// Most bytes that are stored for forwarding, counted as on the wire; by default without a
        /// limit.
        handoff_buffer?: Size;
        /// Carrier frequency.
        carrier?: Frequency;
        /// Level below the rms value of a Rayleigh envelope at which a fade begins.
        fade_margin?: f64, in 0.0..=100.0, unit "dB";
        /// Normalised level-crossing rate n_R, instead of `fade_margin`.
        crossing_rate?: f64;
        /// Normalised fade duration t_R, instead of `fade_margin`.
        crossing_duration?: f64;
        /// Mean time from the end of a fade to the start of the next (1/c).
        fade_interval?: Time;
        /// Mean duration of a fade (1/d).
        fade_duration?: Time;
        /// Rule that decides which packets are in a fade; the default is "per-packet".
        fade_rule?: FadeRuleName;
        /// Probability that a packet in a fade is lost.
        loss_bad?: Probability;
        /// Bit error rate in a fade, instead of `loss_bad`.
        ber_bad?: Probability;
        /// Probability that a packet outside of fades is lost; 0 by default.
        loss_good?: Probability;
        /// Bit error rate outside of fades, instead of `loss_good`.
        ber_good?: Probability;
        /// Give both directions of the link the same handoffs, and the same fades if `fade_rule` is
        /// in time; otherwise each direction has its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shared: bool;
    }
}

/// Fate of packets in a handoff.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardingName {
    /// Packets are lost (`drops_handoff`).
    Drop,
    /// Packets are stored, and sent in order at the rate of the link after the handoff.
    Forward,
}

/// Rules by which a packet is in a fade.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FadeRuleName {
    /// A chain that changes once per packet, with the probability that the state ends within the
    /// packet's transmission time.
    PerPacket,
    /// A packet has the state at the end of its transmission.
    Instant,
    /// A packet is in a fade if any part of its transmission is in the fade.
    Overlap,
}

const HANDOFFS: &str = "write cell_radius = \"2 km\", handoff_region = \"100 m\" and speed, or \
                        handoff_interval = \"140 s\" and handoff_duration = \"3.5 s\"";
const FADES: &str = "write carrier = \"850 MHz\", fade_margin = 30 and speed, or fade_interval = \
                     \"200 ms\" and fade_duration = \"5 ms\"";

/// Bounds of all mean times.
const SHORTEST: Interval = Interval::from_nanos(1000);
const LONGEST: Interval = Interval::from_secs(1_000_000_000);

impl MobileSpec {
    /// Returns the mean time between handoffs and their mean duration; `None` without handoffs.
    fn handoffs(&self) -> Result<Option<[Interval; 2]>, Problem> {
        let motion = (self.cell_radius, self.handoff_region);
        let times = (self.handoff_interval, self.handoff_duration);
        match (motion, times) {
            ((None, None), (None, None)) => Ok(None),
            ((None, None), (Some(interval), Some(duration))) => Ok(Some([interval.0, duration.0])),
            ((Some(radius), Some(region)), (None, None)) => {
                let speed = self.speed(HANDOFFS)?;
                let means = Handoffs::from_motion(radius.metres(), region.metres(), speed);
                Ok(Some(means))
            }
            ((None, None), _) => Err(Problem::new(
                [],
                format!(
                    "has no {:?}; {HANDOFFS}",
                    if times.0.is_none() {
                        "handoff_interval"
                    } else {
                        "handoff_duration"
                    }
                ),
            )),
            ((_, _), (None, None)) => Err(Problem::new(
                [],
                format!(
                    "has no {:?}; {HANDOFFS}",
                    if motion.0.is_none() {
                        "cell_radius"
                    } else {
                        "handoff_region"
                    }
                ),
            )),
            _ => {
                let key = if times.0.is_some() {
                    "handoff_interval"
                } else {
                    "handoff_duration"
                };
                let message = format!("would be ignored beside the cells; {HANDOFFS}");
                Err(fault(key, message))
            }
        }
    }

    /// Returns the mean time between fades and their mean duration; `None` without fades.
    fn fades(&self) -> Result<Option<[Interval; 2]>, Problem> {
        let levels = [
            ("fade_margin", self.fade_margin),
            ("crossing_rate", self.crossing_rate),
            ("crossing_duration", self.crossing_duration),
        ];
        let level = levels.iter().find(|(_, level)| level.is_some());
        let times = [
            ("fade_interval", self.fade_interval),
            ("fade_duration", self.fade_duration),
        ];
        let Some(carrier) = self.carrier else {
            if let Some((key, _)) = level {
                return Err(fault(
                    key,
                    format!("would be ignored; it needs carrier; {FADES}"),
                ));
            }
            return match (self.fade_interval, self.fade_duration) {
                (None, None) => Ok(None),
                (Some(interval), Some(duration)) => Ok(Some([interval.0, duration.0])),
                (None, _) => Err(Problem::new(
                    [],
                    format!("has no \"fade_interval\"; {FADES}"),
                )),
                (_, None) => Err(Problem::new(
                    [],
                    format!("has no \"fade_duration\"; {FADES}"),
                )),
            };
        };
        if let Some((key, _)) = times.iter().find(|(_, time)| time.is_some()) {
            let message = format!("would be ignored beside carrier; {FADES}");
            return Err(fault(key, message));
        }
        let speed = self.speed(FADES)?;
        if carrier == Frequency(0) || carrier > Frequency(1_000_000_000_000) {
            let message =
                format!("= \"{carrier}\" is out of range; write \"1 Hz\" to \"1000 GHz\"");
            return Err(fault("carrier", message));
        }
        let [rate, duration] = self.crossings()?;
        Fading::from_motion(speed, carrier.hertz(), rate, duration)
            .map(Some)
            .map_err(|_| {
                let message = format!(
                    "= {rate} with crossing_duration = {duration} leaves no time between fades; \
                     write two numbers above 0 whose product is below 1"
                );
                fault("crossing_rate", message)
            })
    }

    /// Returns the rate of crossings of the fade level, in units of the Doppler frequency, and the
    /// duration of a fade.
    fn crossings(&self) -> Result<[f64; 2], Problem> {
        Ok(
            match [self.fade_margin, self.crossing_rate, self.crossing_duration] {
                [Some(margin), None, None] => Fading::at_margin(margin),
                [None, Some(rate), Some(duration)] => [rate, duration],
                [None, None, None] => {
                    return Err(Problem::new([], format!("has no \"fade_margin\"; {FADES}")));
                }
                [Some(_), _, _] => {
                    let key = if self.crossing_rate.is_some() {
                        "crossing_rate"
                    } else {
                        "crossing_duration"
                    };
                    return Err(fault(key, "would be ignored beside fade_margin"));
                }
                [None, rate, _] => {
                    let key = if rate.is_none() {
                        "crossing_rate"
                    } else {
                        "crossing_duration"
                    };
                    let message = format!("has no {key:?}; write both, or fade_margin");
                    return Err(Problem::new([], message));
                }
            },
        )
    }

    /// Returns the speed in metres per second.
    fn speed(&self, forms: &str) -> Result<f64, Problem> {
        let Some(speed) = self.speed else {
            return Err(Problem::new([], format!("has no \"speed\"; {forms}")));
        };
        if speed == Speed(0) || speed > Speed(3_600_000_000 * 100) {
            let message =
                format!("= \"{speed}\" is out of range; write \"1 mm/h\" to \"100 km/s\"");
            return Err(fault("speed", message));
        }
        Ok(speed.metres_per_second())
    }

    /// Checks the keys of forwarding during handoffs.
    fn check_forwarding(&self, has_handoffs: bool) -> Result<(), Problem> {
        let given = [
            ("handoff", self.handoff.is_some()),
            ("handoff_buffer", self.handoff_buffer.is_some()),
        ];
        let first = given.iter().find(|(_, given)| *given);
        match first {
            Some((key, _)) if !has_handoffs => {
                Err(fault(key, format!("would be ignored; {HANDOFFS}")))
            }
            Some(_)
                if self.handoff_buffer.is_some()
                    && self.handoff != Some(ForwardingName::Forward) =>
            {
                Err(fault(
                    "handoff_buffer",
                    "would be ignored; it needs handoff = \"forward\"",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Checks that fades have exactly one kind of loss, and times without a fade at most one.
    fn check_losses(&self) -> Result<(), Problem> {
        match (self.loss_bad, self.ber_bad) {
            (None, None) => Err(Problem::new(
                [],
                "has no \"loss_bad\"; write loss_bad = 0.1 or ber_bad = 5e-5",
            )),
            (Some(_), Some(_)) => Err(fault("ber_bad", "would be ignored beside loss_bad")),
            _ if self.loss_good.is_some() && self.ber_good.is_some() => {
                Err(fault("ber_good", "would be ignored beside loss_good"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses losses and a rule of fades if there are no fades.
    fn refuse_losses(&self) -> Result<(), Problem> {
        if self.fade_rule.is_some() {
            return Err(fault("fade_rule", format!("would be ignored; {FADES}")));
        }
        let losses = [
            ("loss_bad", self.loss_bad),
            ("ber_bad", self.ber_bad),
            ("loss_good", self.loss_good),
            ("ber_good", self.ber_good),
        ];
        match losses.iter().find(|(_, loss)| loss.is_some()) {
            Some((key, _)) => Err(fault(
                key,
                format!("would be ignored without fades; {FADES}"),
            )),
            None => Ok(()),
        }
    }

    /// Returns whether the process has bit errors.
    pub(crate) fn has_ber(&self) -> bool {
        self.ber_good.is_some() || self.ber_bad.is_some()
    }
}

impl ProcessSpec for MobileSpec {
    fn check(&self) -> Result<(), Problem> {
        self.check_keys()?;
        let (handoffs, fades) = (self.handoffs()?, self.fades()?);
        if handoffs.is_none() && fades.is_none() {
            return Err(Problem::new(
                [],
                "has neither handoffs nor fades; write cell_radius, handoff_region and speed, or \
                 carrier, fade_margin, loss_bad and speed",
            ));
        }
        for (what, times) in [("handoffs", handoffs), ("fades", fades)] {
            let mut times = times.into_iter().flatten();
            if let Some(time) = times.find(|time| !(SHORTEST..=LONGEST).contains(time)) {
                let message = format!(
                    "gives {what} a mean time of \"{}\", which is out of range; \"1 us\" to \
                     \"1000000000 s\" are possible",
                    Time(time)
                );
                return Err(Problem::new([], message));
            }
        }
        if self.speed.is_some() && self.cell_radius.is_none() && self.carrier.is_none() {
            return Err(fault(
                "speed",
                "would be ignored; it needs cell_radius or carrier",
            ));
        }
        self.check_forwarding(handoffs.is_some())?;
        if fades.is_some() {
            self.check_losses()
        } else {
            self.refuse_losses()
        }
    }

    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        // The values were checked when the scenario was read.
        let wrong = |_| ChannelError::Cannot("mobile does not say what it needs");
        let handoffs = self.handoffs().map_err(wrong)?;
        let fades = self.fades().map_err(wrong)?;
        let loss = |packet: Option<Probability>, bits: Option<Probability>| {
            Ok::<_, ChannelError>(match bits {
                Some(_) => StateLoss::Bits(probability(bits, 0.0)?),
                None => StateLoss::Packet(probability(packet, 0.0)?),
            })
        };
        let (good, bad) = (
            loss(self.loss_good, self.ber_good)?,
            loss(self.loss_bad, self.ber_bad)?,
        );
        let forwarding = match self.handoff {
            Some(ForwardingName::Forward) => Forwarding::Forward {
                limit: self.handoff_buffer.map(|size| size.0),
            },
            Some(ForwardingName::Drop) | None => Forwarding::Drop,
        };
        let rule = match self.fade_rule {
            Some(FadeRuleName::PerPacket) | None => FadeRule::PerPacket,
            Some(FadeRuleName::Instant) => FadeRule::Instant,
            Some(FadeRuleName::Overlap) => FadeRule::Overlap,
        };
        let mobile = Mobile::new(
            place.rate,
            handoffs.map(|[interval, duration]| Handoffs {
                interval,
                duration,
                forwarding,
            }),
            fades.map(|[interval, duration]| Fading {
                interval,
                duration,
                good,
                bad,
                rule,
            }),
            MobileStreams {
                handoffs: place.times("mobile/handoffs", self.shared),
                fades: place.times("mobile/fades", self.shared),
                packets: place.stream("mobile"),
            },
        )?;
        Ok(Box::new(match place.fec {
            Some(code) => mobile.with_code(code),
            None => mobile,
        }))
    }
}
