//! `radio`: IEEE 802.15.4 by distance and length.

use farlink_net::channel::{BitFading, ChannelError, Process, Radio};
use farlink_net::mobility::Separation;
use farlink_net::radio::{Band, Budget, Modulation, Noise, PathLoss};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::fault;
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::Length;
use super::mobility::MobilitySpec;
use super::place::Place;

table! {
    /// A radio of IEEE 802.15.4, after section 5.2 of Vatne and Haugen (2006): the
    /// loss of each packet follows from its length and from the link budget at the
    /// distance of the moment.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct RadioSpec {
        /// Band, which gives carrier and bit rate; the link has its own `rate`.
        band: BandName;
        /// Distance of the nodes, up to 1000 km; nearer than 1 m counts as 1 m.
        distance?: Length;
        /// How the nodes move, instead of `distance`. Both directions see the same
        /// places if they write the same.
        mobility?: MobilitySpec;
        /// How bits are sent; "bpsk" without it, as in the study.
        modulation?: ModulationName;
        /// What fading does; "bits" without it, as in the study.
        fading?: FadingName;
        /// Power of the transmitter in dBm, -100 to 100; 10 without it.
        power?: f64;
        /// Gain of both antennas together in dB, -100 to 100; 0 without it.
        antenna_gain?: f64;
        /// Noise temperature in K, 1 to 1e6; 190 without it.
        noise_temperature?: f64;
        /// Noise figure of the receiver in dB, 0 to 100; 0 without it.
        noise_figure?: f64;
        /// How power falls with distance; "friis" without it.
        path_loss?: PathLossName;
        /// Exponent of "log-distance", 1 to 8; needed there.
        exponent?: f64;
        /// What the noise density is; "thermal" without it.
        noise?: NoiseName;
        /// Bit errors per packet that are corrected; 0 without it.
        correctable_bits?: u32;
    }
}

/// Bands of IEEE 802.15.4.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum BandName {
    /// 868.3 MHz, 20 kbit/s.
    #[serde(rename = "868 MHz")]
    Mhz868,
    /// 915 MHz, 40 kbit/s.
    #[serde(rename = "915 MHz")]
    Mhz915,
    /// 2.4 GHz, 250 kbit/s.
    #[serde(rename = "2400 MHz")]
    Mhz2400,
}

/// Modulations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModulationName {
    /// Coherent BPSK.
    Bpsk,
    /// O-QPSK with 16 quasi-orthogonal symbols, as IEEE 802.15.4 has it at 2.4 GHz.
    OQpsk,
}

/// What fading does to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FadingName {
    /// Nothing.
    None,
    /// Rayleigh; bits err independently with the mean rate.
    Bits,
    /// Rayleigh, one draw for a whole packet.
    Packets,
}

/// Path losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum PathLossName {
    /// Free space.
    #[serde(rename = "friis")]
    Friis,
    /// Free space to 1 m, then with `exponent`.
    #[serde(rename = "log-distance")]
    LogDistance,
    /// Of the coexistence annex of IEEE 802.15.4-2006, at 2.4 GHz.
    #[serde(rename = "ieee802.15.4")]
    Ieee802154,
    /// As printed by Vatne and Haugen (2006), upside down.
    #[serde(rename = "vatne2006-printed")]
    Vatne2006Printed,
}

/// Noise densities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseName {
    /// k T.
    Thermal,
    /// Bit rate / 2 times k T, as Vatne and Haugen (2006) have it.
    Vatne2006,
}

const DISTANCE: &str = "write distance = \"15 m\", or mobility = { model = \"random-waypoint\", \
                        area = [\"200 m\", \"200 m\"], speed = [\"0.5 m/s\", \"5 m/s\"] }";

impl RadioSpec {
    pub(crate) fn check(&self) -> Result<(), Problem> {
        match (&self.distance, &self.mobility) {
            (None, None) => return Err(Problem::new([], format!("has no distance; {DISTANCE}"))),
            (Some(_), Some(_)) => {
                return Err(fault("distance", "would be ignored beside mobility"));
            }
            (Some(distance), None) if distance.metres() > 1e6 => {
                let says = format!("= \"{distance}\" is out of range; write up to \"1000 km\"");
                return Err(fault("distance", says));
            }
            (None, Some(mobility)) => mobility.check().map_err(|p| p.within("mobility"))?,
            _ => {}
        }
        for (key, value, low, high, unit) in [
            ("power", self.power, -100.0, 100.0, "dBm"),
            ("antenna_gain", self.antenna_gain, -100.0, 100.0, "dB"),
            ("noise_temperature", self.noise_temperature, 1.0, 1e6, "K"),
            ("noise_figure", self.noise_figure, 0.0, 100.0, "dB"),
            ("exponent", self.exponent, 1.0, 8.0, "a plain number"),
        ] {
            if let Some(value) = value.filter(|v| !(low..=high).contains(v)) {
                let says = format!("= {value} is out of range; write {low} to {high} ({unit})");
                return Err(fault(key, says));
            }
        }
        match (self.path_loss, self.exponent) {
            (Some(PathLossName::LogDistance), None) => Err(Problem::new(
                [],
                "has no \"exponent\"; path_loss = \"log-distance\" needs it: write for example \
                 exponent = 3",
            )),
            (Some(PathLossName::LogDistance), Some(_)) => Ok(()),
            (_, Some(_)) => Err(fault(
                "exponent",
                "would be ignored; it needs path_loss = \"log-distance\"",
            )),
            (Some(PathLossName::Ieee802154), None) if self.band != BandName::Mhz2400 => Err(fault(
                "path_loss",
                "= \"ieee802.15.4\" is for band = \"2400 MHz\"; write \"friis\" or \"log-distance\"",
            )),
            _ => Ok(()),
        }
    }

    fn budget(&self) -> Budget {
        Budget {
            band: match self.band {
                BandName::Mhz868 => Band::Mhz868,
                BandName::Mhz915 => Band::Mhz915,
                BandName::Mhz2400 => Band::Mhz2400,
            },
            power: self.power.unwrap_or(10.0),
            gain: self.antenna_gain.unwrap_or(0.0),
            temperature: self.noise_temperature.unwrap_or(190.0),
            noise_figure: self.noise_figure.unwrap_or(0.0),
            path_loss: match self.path_loss {
                None | Some(PathLossName::Friis) => PathLoss::Friis,
                Some(PathLossName::LogDistance) => PathLoss::LogDistance {
                    exponent: self.exponent.unwrap_or(2.0),
                },
                Some(PathLossName::Ieee802154) => PathLoss::Ieee802154,
                Some(PathLossName::Vatne2006Printed) => PathLoss::Vatne2006Printed,
            },
            noise: match self.noise {
                None | Some(NoiseName::Thermal) => Noise::Thermal,
                Some(NoiseName::Vatne2006) => Noise::Vatne2006,
            },
        }
    }

    /// The nodes, if they move. Where they are is no matter of the direction.
    pub fn nodes(&self, place: &Place<'_>) -> Option<Separation> {
        let mobility = self.mobility.as_ref()?;
        Some(mobility.build(|name| place.times(name, true)))
    }

    pub(crate) fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let fixed = |distance: Length| Separation::Fixed(distance.metres());
        let separation = self
            .nodes(place)
            .or_else(|| self.distance.map(fixed))
            .ok_or(ChannelError::Cannot("radio has no distance"))?;
        let modulation = match self.modulation {
            None | Some(ModulationName::Bpsk) => Modulation::Bpsk,
            Some(ModulationName::OQpsk) => Modulation::OQpsk,
        };
        let fading = match self.fading {
            Some(FadingName::None) => BitFading::None,
            None | Some(FadingName::Bits) => BitFading::Bits,
            Some(FadingName::Packets) => BitFading::Packets,
        };
        let radio = Radio::new(
            self.budget(),
            modulation,
            fading,
            self.correctable_bits.unwrap_or(0),
            separation,
            place.stream("radio"),
        );
        Ok(Box::new(match place.fec {
            Some(code) => radio.with_code(code),
            None => radio,
        }))
    }
}
