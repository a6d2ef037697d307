//! `rayleigh`: fades of a Rayleigh channel.

use farlink_channel::fading::{self, Margin};
use farlink_channel::{Advance, ChannelError, JakesFading, Process, RayleighChain, RayleighField};
use farlink_tcp::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::{HOUR, MICROSECOND, ZERO, fault};
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::{Frequency, Probability, Speed, Time};
use super::place::{Place, ProcessSpec, probability};

table! {
    /// Fades of a Rayleigh channel. Requires `doppler`, or `speed` and `carrier`, with
    /// `fade_margin` or `loss`. Otherwise `alpha` and `beta` give the chain directly.
    #[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
    pub struct RayleighSpec {
        /// Doppler frequency in Hz, above 0 and up to 1e6.
        doppler?: f64;
        /// Speed of the mobile, instead of `doppler`.
        speed?: Speed;
        /// Carrier frequency. Needs `speed`.
        carrier?: Frequency;
        /// Margin of the mean power above the threshold.
        fade_margin?: f64, in -10.0..=100.0, unit "dB";
        /// Share of time in a fade, above 0 and below 1; an alternative to `fade_margin`.
        loss?: Probability;
        /// Model of the fading; the default is "markov".
        model?: RayleighModel;
        /// Markov: duration of a step of the chain. In the studies, the transmission time of a
        /// packet.
        step?: Time, in MICROSECOND..=HOUR;
        /// Markov: event at which the chain moves; the default is "time".
        advance?: AdvanceName;
        /// Markov in time: a packet is lost if any step within this time after its departure is a
        /// fade. By default only the step at its departure counts.
        exposure?: Time, in ZERO..=HOUR;
        /// Markov: probability of a change from good to bad per step, instead of the Doppler
        /// frequency and the margin.
        alpha?: Probability;
        /// Markov: probability of a change from bad to good per step. Needs `alpha`.
        beta?: Probability;
        /// Jakes: number of sinusoids.
        sinusoids?: u32 = 64, in 8..=1024;
        /// Give both directions of the link the same fades; otherwise each direction has its own.
        /// Not with `advance = "packet"`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shared: bool;
    }
}

/// Models of Rayleigh fading.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RayleighModel {
    /// First-order chain of Zorzi, Rao and Milstein (1995).
    Markov,
    /// The signal itself, with the Doppler spectrum of Clarke and Jakes.
    Jakes,
}

/// Events at which the chain moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdvanceName {
    /// Once per `step` of time.
    Time,
    /// Once per packet.
    Packet,
}

const FIELD: &str = "write speed = \"0.65 m/s\" and carrier = \"2.4 GHz\", or doppler = 5.2 (Hz)";

/// Source of the transition probabilities.
enum Source {
    Field(RayleighField),
    Chain([Probability; 2]),
}

impl RayleighSpec {
    fn source(&self) -> Result<Source, Problem> {
        let given = [
            ("doppler", self.doppler.is_some()),
            ("speed", self.speed.is_some()),
            ("carrier", self.carrier.is_some()),
            ("fade_margin", self.fade_margin.is_some()),
            ("loss", self.loss.is_some()),
        ];
        let (alpha, beta) = match (self.alpha, self.beta) {
            (None, None) => return self.field().map(Source::Field),
            (Some(alpha), Some(beta)) => (alpha, beta),
            (alpha, _) => {
                let absent = if alpha.is_none() { "alpha" } else { "beta" };
                let message = format!("has no {absent:?}; write alpha and beta, or neither");
                return Err(Problem::new([], message));
            }
        };
        if let Some((key, _)) = given.iter().find(|(_, given)| *given) {
            return Err(fault(key, "would be ignored beside alpha and beta"));
        }
        if alpha.0 == 0.0 && beta.0 == 0.0 {
            let message = "= 0 with beta = 0 never changes the state; write one of them above 0";
            return Err(fault("alpha", message));
        }
        Ok(Source::Chain([alpha, beta]))
    }

    fn field(&self) -> Result<RayleighField, Problem> {
        let doppler = match (self.doppler, self.speed, self.carrier) {
            (Some(doppler), None, None) => {
                if !(doppler > 0.0 && doppler <= 1e6) {
                    let message = format!("= {doppler} is out of range; write above 0 to 1e6 (Hz)");
                    return Err(fault("doppler", message));
                }
                doppler
            }
            (Some(_), speed, _) => {
                let key = if speed.is_some() { "speed" } else { "carrier" };
                return Err(fault(key, "would be ignored beside doppler"));
            }
            (None, Some(speed), Some(carrier)) => {
                if speed.0 == 0 || carrier.0 == 0 {
                    let key = if speed.0 == 0 { "speed" } else { "carrier" };
                    return Err(fault(key, format!("= 0 gives no fading; {FIELD}")));
                }
                fading::doppler(speed.metres_per_second(), carrier.hertz())
            }
            (None, None, None) => return Err(Problem::new([], format!("has no speed; {FIELD}"))),
            (None, speed, _) => {
                let absent = if speed.is_none() { "speed" } else { "carrier" };
                return Err(Problem::new([], format!("has no {absent:?}; {FIELD}")));
            }
        };
        let margin = match (self.fade_margin, self.loss) {
            (Some(_), Some(_)) => return Err(fault("loss", "would be ignored beside fade_margin")),
            (Some(db), None) => Margin::from_db(db),
            (None, Some(loss)) => {
                if loss.0 <= 0.0 || loss.0 >= 1.0 {
                    let message =
                        format!("= {} is out of range; write above 0 and below 1", loss.0);
                    return Err(fault("loss", message));
                }
                Margin::from_share(loss.0)
            }
            (None, None) => {
                return Err(Problem::new(
                    [],
                    "has no \"fade_margin\"; write fade_margin = 20 (dB), or loss = 0.01",
                ));
            }
        };
        Ok(RayleighField { doppler, margin })
    }
}

impl ProcessSpec for RayleighSpec {
    fn check(&self) -> Result<(), Problem> {
        self.check_keys()?;
        let source = self.source()?;
        if self.model == Some(RayleighModel::Jakes) {
            let of_the_chain = [
                ("step", self.step.is_some()),
                ("advance", self.advance.is_some()),
                ("exposure", self.exposure.is_some()),
                ("alpha", self.alpha.is_some()),
            ];
            if let Some((key, _)) = of_the_chain.iter().find(|(_, given)| *given) {
                let message = "would be ignored; it is of model = \"markov\"";
                return Err(fault(key, message));
            }
            return Ok(());
        }
        if self.sinusoids.is_some() {
            let message = "would be ignored; it needs model = \"jakes\"";
            return Err(fault("sinusoids", message));
        }
        let packet = self.advance == Some(AdvanceName::Packet);
        match self.step {
            // If alpha and beta are given and the chain moves per packet, a step has no duration.
            None if packet && matches!(source, Source::Chain(_)) => {}
            Some(_) if packet && matches!(source, Source::Chain(_)) => {
                let message = "would be ignored beside alpha and advance = \"packet\"";
                return Err(fault("step", message));
            }
            None => {
                return Err(Problem::new(
                    [],
                    "has no \"step\"; write the time that a packet takes, for example step = \
                     \"1.92 ms\"",
                ));
            }
            Some(_) => {}
        }
        if self.exposure.is_some() && packet {
            let message = "would be ignored; it needs advance = \"time\"";
            return Err(fault("exposure", message));
        }
        if self.shared && packet {
            let message = "= true needs times; it cannot be with advance = \"packet\"";
            return Err(fault("shared", message));
        }
        Ok(())
    }

    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let source = self
            .source()
            .map_err(|_| ChannelError::Cannot("rayleigh does not say what it needs"))?;
        let stream = place.times("rayleigh", self.shared);
        let (field, chain) = match source {
            Source::Field(field) => (Some(field), None),
            Source::Chain([alpha, beta]) => {
                let of = |p| probability(Some(p), 0.0);
                (None, Some([of(alpha)?, of(beta)?]))
            }
        };
        if let (Some(RayleighModel::Jakes), Some(field)) = (self.model, field) {
            let n = self.sinusoids();
            return Ok(Box::new(JakesFading::new(field, n, stream)));
        }
        let step = self.step.map_or(Interval::from_secs(1), |step| step.0);
        let exposure = self.exposure.map_or(Interval::ZERO, |time| time.0);
        let advance = match self.advance {
            Some(AdvanceName::Packet) => Advance::Packet,
            Some(AdvanceName::Time) | None => Advance::Time,
        };
        Ok(Box::new(match (field, chain) {
            (Some(field), _) => RayleighChain::new(field, step, advance, exposure, stream),
            (None, Some(chain)) => {
                RayleighChain::with_transitions(chain, step, advance, exposure, stream)
            }
            (None, None) => return Err(ChannelError::Cannot("rayleigh says nothing")),
        }))
    }
}
