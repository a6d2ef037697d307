//! `congestion`: periods of congestion in time.

use farlink_channel::{ChannelError, Congestion, Process};
use farlink_tcp::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::fault;
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::{Probability, Time};
use super::place::{Place, ProcessSpec, probability};

table! {
    /// Periods of congestion on the path: Fritchman's two states as in Wong 1998. Both states have
    /// exponential durations. Requires `duration`, and one of `clear`, `share` and `periods`.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct CongestionSpec {
        /// Mean length of a congested period (1 / beta).
        duration: Time;
        /// Mean time from the end of a congested period to the start of the next (1 / alpha).
        clear?: Time;
        /// Share of time in congested periods.
        share?: Probability;
        /// Number of congested periods per second.
        periods?: f64;
        /// Probability that a packet is lost in a congested period; 1 by default.
        loss?: Probability;
        /// Probability that a packet is lost in a clear period; 0 by default.
        loss_clear?: Probability;
        /// Give both directions of the link the same congested periods; otherwise each direction
        /// has its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shared: bool;
    }
}

/// Maximum mean time in a state.
const LONGEST: Interval = Interval::from_secs(1_000_000_000);

impl CongestionSpec {
    /// Returns the mean length of a clear period.
    fn clear(&self) -> Result<Interval, Problem> {
        const FORMS: &str = "write { duration = \"25 s\", clear = \"475 s\" }, { duration = \"25 \
                             s\", share = 0.05 } or { duration = \"25 s\", periods = 0.002 }";
        let duration = self.duration.0.as_secs_f64();
        let seconds = match (self.clear, self.share, self.periods) {
            (Some(clear), None, None) => return Ok(clear.0),
            (None, Some(share), None) => {
                if share.0 == 0.0 || share.0 == 1.0 {
                    let message = format!(
                        "= {} leaves one state only; write a share above 0 and below 1",
                        share.0
                    );
                    return Err(fault("share", message));
                }
                duration * (1.0 - share.0) / share.0
            }
            (None, None, Some(periods)) => {
                let max = 1.0 / duration;
                if !(periods > 0.0 && periods < max) {
                    let message = format!(
                        "= {periods} is out of range; periods of \"{}\" come less than {max} \
                         times a second",
                        self.duration
                    );
                    return Err(fault("periods", message));
                }
                1.0 / periods - duration
            }
            (None, None, None) => {
                return Err(Problem::new([], format!("says too little; {FORMS}")));
            }
            (Some(_), Some(_), _) => {
                return Err(fault(
                    "share",
                    format!("would be ignored beside clear; {FORMS}"),
                ));
            }
            (_, _, Some(_)) => {
                return Err(fault(
                    "periods",
                    format!("would be ignored beside clear or share; {FORMS}"),
                ));
            }
        };
        Ok(Interval::from_nanos((seconds * 1e9).round() as u64))
    }
}

impl ProcessSpec for CongestionSpec {
    fn check(&self) -> Result<(), Problem> {
        let range = "is out of range; write \"1 us\" to \"1000000000 s\"";
        let good = |time: Interval| (Interval::from_micros(1)..=LONGEST).contains(&time);
        if !good(self.duration.0) {
            return Err(fault(
                "duration",
                format!("= \"{}\" {range}", self.duration),
            ));
        }
        let clear = self.clear()?;
        if !good(clear) {
            let message = format!("gives clear periods of \"{}\", which {range}", Time(clear));
            return Err(Problem::new([], message));
        }
        Ok(())
    }

    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let clear = self.clear().map_err(|_| {
            ChannelError::Cannot("congestion does not say how often: write clear or share")
        })?;
        Ok(Box::new(Congestion::new(
            clear,
            self.duration.0,
            probability(self.loss_clear, 0.0)?,
            probability(self.loss, 1.0)?,
            place.times("congestion/periods", self.shared),
            place.stream("congestion"),
        )?))
    }
}
