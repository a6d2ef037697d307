//! `radio`: IEEE 802.15.4, with loss by distance and packet length.

use farlink_channel::mobility::Separation;
use farlink_channel::radio::{Band, Budget, Modulation, Noise, PathLoss};
use farlink_channel::{BitFading, ChannelError, Process, Radio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::fault;
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::Length;
use super::mobility::MobilitySpec;
use super::place::{Place, ProcessSpec};

table! {
    /// A radio of IEEE 802.15.4 as in section 5.2 of Vatne and Haugen (2006). The loss of a packet
    /// follows from its length, and from the link budget at the current distance.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct RadioSpec {
        /// Band, which sets the carrier frequency and the bit rate of the budget. The link has its
        /// own `rate`.
        band: BandName;
        /// Distance of the nodes; less than 1 m is treated as 1 m.
        distance?: Length, in Length(0)..=Length(1_000_000_000);
        /// Mobility of the nodes, instead of `distance`. If both directions have the same values,
        /// they have the same positions.
        mobility?: MobilitySpec;
        /// Modulation.
        modulation?: ModulationName = ModulationName::Bpsk;
        /// Effect of fading.
        fading?: FadingName = FadingName::Bits;
        /// Power of the transmitter.
        power?: f64 = 10.0, in -100.0..=100.0, unit "dBm";
        /// Gain of both antennas together.
        antenna_gain?: f64 = 0.0, in -100.0..=100.0, unit "dB";
        /// Noise temperature.
        noise_temperature?: f64 = 190.0, in 1.0..=1e6, unit "K";
        /// Noise figure of the receiver.
        noise_figure?: f64 = 0.0, in 0.0..=100.0, unit "dB";
        /// Path loss over distance.
        path_loss?: PathLossName = PathLossName::Friis;
        /// Exponent of "log-distance". Required there.
        exponent?: f64, in 1.0..=8.0;
        /// Noise density.
        noise?: NoiseName = NoiseName::Thermal;
        /// Number of bit errors that are corrected in each packet.
        correctable_bits?: u32 = 0;
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
    /// O-QPSK with 16 quasi-orthogonal symbols, as in IEEE 802.15.4 at 2.4 GHz.
    OQpsk,
}

/// Effect of fading on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FadingName {
    /// No fading.
    None,
    /// Rayleigh fading with independent bit errors at the mean rate.
    Bits,
    /// Rayleigh fading, drawn once for each packet.
    Packets,
}

/// Path losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum PathLossName {
    /// Free space.
    #[serde(rename = "friis")]
    Friis,
    /// Free space up to 1 m, then with `exponent`.
    #[serde(rename = "log-distance")]
    LogDistance,
    /// Path loss of IEEE 802.15.4-2006, coexistence annex, at 2.4 GHz.
    #[serde(rename = "ieee802.15.4")]
    Ieee802154,
    /// As printed by Vatne and Haugen (2006), with an inverted fraction.
    #[serde(rename = "vatne2006-printed")]
    Vatne2006Printed,
}

/// Noise densities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseName {
    /// Thermal noise k T.
    Thermal,
    /// Bit rate / 2 times k T, as in Vatne and Haugen (2006).
    Vatne2006,
}

const DISTANCE: &str = "write distance = \"15 m\", or mobility = { model = \"random-waypoint\", \
                        area = [\"200 m\", \"200 m\"], speed = [\"0.5 m/s\", \"5 m/s\"] }";

impl RadioSpec {
    fn budget(&self) -> Budget {
        Budget {
            band: match self.band {
                BandName::Mhz868 => Band::Mhz868,
                BandName::Mhz915 => Band::Mhz915,
                BandName::Mhz2400 => Band::Mhz2400,
            },
            power: self.power(),
            gain: self.antenna_gain(),
            temperature: self.noise_temperature(),
            noise_figure: self.noise_figure(),
            path_loss: match self.path_loss() {
                PathLossName::Friis => PathLoss::Friis,
                PathLossName::LogDistance => PathLoss::LogDistance {
                    exponent: self.exponent.unwrap_or(2.0),
                },
                PathLossName::Ieee802154 => PathLoss::Ieee802154,
                PathLossName::Vatne2006Printed => PathLoss::Vatne2006Printed,
            },
            noise: match self.noise() {
                NoiseName::Thermal => Noise::Thermal,
                NoiseName::Vatne2006 => Noise::Vatne2006,
            },
        }
    }

    /// Returns the positions of moving nodes, which are the same for both directions; `None` if the
    /// nodes do not move.
    pub fn nodes(&self, place: &Place<'_>) -> Option<Separation> {
        let mobility = self.mobility.as_ref()?;
        Some(mobility.build(|name| place.times(name, true)))
    }
}

impl ProcessSpec for RadioSpec {
    fn check(&self) -> Result<(), Problem> {
        match (&self.distance, &self.mobility) {
            (None, None) => return Err(Problem::new([], format!("has no distance; {DISTANCE}"))),
            (Some(_), Some(_)) => {
                return Err(fault("distance", "would be ignored beside mobility"));
            }
            (None, Some(mobility)) => mobility.check().map_err(|p| p.within("mobility"))?,
            _ => {}
        }
        self.check_keys()?;
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

    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let fixed = |distance: Length| Separation::Fixed(distance.metres());
        let separation = self
            .nodes(place)
            .or_else(|| self.distance.map(fixed))
            .ok_or(ChannelError::Cannot("radio has no distance"))?;
        let modulation = match self.modulation() {
            ModulationName::Bpsk => Modulation::Bpsk,
            ModulationName::OQpsk => Modulation::OQpsk,
        };
        let fading = match self.fading() {
            FadingName::None => BitFading::None,
            FadingName::Bits => BitFading::Bits,
            FadingName::Packets => BitFading::Packets,
        };
        let radio = Radio::new(
            self.budget(),
            modulation,
            fading,
            self.correctable_bits(),
            separation,
            place.stream("radio"),
        );
        Ok(Box::new(match place.fec {
            Some(code) => radio.with_code(code),
            None => radio,
        }))
    }
}
