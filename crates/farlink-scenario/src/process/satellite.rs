//! `satellite`: clear sky and rain, changing per packet.

use farlink_channel::{ChannelError, Process, Satellite};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::fault;
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::{Probability, Size};
use super::place::{Place, ProcessSpec, probability};

table! {
    /// A satellite link in clear sky and in rain (Leung 1998, section 3.1). Requires either
    /// `ber_rain`, or `loss` and `loss_size`.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct SatelliteSpec {
        /// Probability of a change from clear sky to rain, after each packet.
        b: Probability;
        /// Probability of a change from rain to clear sky, after each packet.
        g: Probability;
        /// Bit error rate in clear sky; the default is 0. Nominal links have 1e-8 or less.
        ber_clear?: Probability;
        /// Bit error rate in rain. A modem loses synchronisation at about 1e-3.
        ber_rain?: Probability;
        /// Mean loss of packets of `loss_size`, from which the bit error rate in rain is computed.
        /// Below b / (b + g) if clear sky loses nothing.
        loss?: Probability;
        /// Length of the IP packets to which `loss` refers.
        loss_size?: Size, in Size(1)..=Size(65_536);
    }
}

impl ProcessSpec for SatelliteSpec {
    fn check(&self) -> Result<(), Problem> {
        const FORMS: &str = "write { b = 0.01, g = 0.05, ber_rain = 5e-6 } or { b = 0.01, g = \
                             0.05, loss = 0.01, loss_size = \"554 B\" }";
        if self.b.0 == 0.0 && self.g.0 == 0.0 {
            return Err(fault(
                "b",
                "= 0 with g = 0 never changes the state; write one of them above 0",
            ));
        }
        self.check_keys()?;
        match (self.ber_rain, self.loss, self.loss_size) {
            (Some(_), None, None) => Ok(()),
            (Some(_), Some(_), _) => Err(fault(
                "loss",
                format!("would be ignored beside ber_rain; {FORMS}"),
            )),
            (_, None, Some(_)) => Err(fault(
                "loss_size",
                format!("would be ignored; it needs loss; {FORMS}"),
            )),
            (None, Some(_), None) => {
                Err(Problem::new([], format!("has no \"loss_size\"; {FORMS}")))
            }
            (None, None, None) => Err(Problem::new([], format!("has no \"ber_rain\"; {FORMS}"))),
            (None, Some(loss), Some(size)) => {
                let of = |p: f64| farlink_channel::rng::Probability::new(p).ok();
                let clear = of(self.ber_clear.map_or(0.0, |p| p.0));
                let rain = self.b.0 / (self.b.0 + self.g.0);
                let measured = clear.zip(of(self.b.0)).zip(of(self.g.0)).zip(of(loss.0));
                let ber = measured.and_then(|(((clear, b), g), loss)| {
                    Satellite::ber_for_loss(b, g, clear, loss, size.0 as u32)
                });
                if ber.is_none() {
                    let message = format!(
                        "= {} cannot be reached: rain has b / (b + g) = {:.4} of the packets, and \
                         clear sky loses what ber_clear says; write a loss between the two",
                        loss.0, rain
                    );
                    return Err(fault("loss", message));
                }
                Ok(())
            }
        }
    }

    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let (b, g) = (
            probability(Some(self.b), 0.0)?,
            probability(Some(self.g), 0.0)?,
        );
        let clear = probability(self.ber_clear, 0.0)?;
        let rain = match (self.loss, self.loss_size) {
            (Some(loss), Some(size)) => {
                let bytes = size.0 as u32 + place.overhead;
                let loss = probability(Some(loss), 0.0)?;
                Satellite::ber_for_loss(b, g, clear, loss, bytes).ok_or(ChannelError::Cannot(
                    "the loss of satellite cannot be reached with the link's overhead: clear sky \
                     alone loses more; write a larger loss",
                ))?
            }
            _ => probability(self.ber_rain, 0.0)?,
        };
        let sky = Satellite::new(b, g, clear, rain, place.stream("satellite"))?;
        Ok(Box::new(match place.fec {
            Some(code) => sky.with_code(code),
            None => sky,
        }))
    }
}
