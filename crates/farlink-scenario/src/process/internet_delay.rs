//! `internet_delay`: a constant plus an Erlang variate, with a state of raised delay.

use farlink_channel::rng::Probability as Chance;
use farlink_channel::{ChannelError, InternetDelay, Process, Raised};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::{HOUR, ZERO, fault};
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::{Probability, Time};
use super::place::{Place, ProcessSpec};

table! {
    /// Delay of the Internet part of the path (Leung 1998, section 3.3.2; Wong 1998, section
    /// 3.2.4), drawn for each packet and each direction.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct InternetDelaySpec {
        /// Constant part of the delay.
        constant: Time, in ZERO..=HOUR;
        /// Mean of the Erlang variate, which is added to the constant.
        mean: Time, in ZERO..=HOUR;
        /// Order of the Erlang variate; 1 is exponential.
        #[serde(default = "two")]
        order: u32, in 1..=100;
        /// Share of packets in the state of raised delay, below 1. Needs `raised`.
        raised_share?: Probability;
        /// Mean number of consecutive packets in the raised state. By default packets are in the
        /// raised state independently, which gives 1 / (1 - `raised_share`).
        raised_run?: f64, needs raised_share;
        /// Erlang variates of the raised state, for example `{ weight = 0.75, mean = "10 ms" }`.
        /// Each packet draws one of them by its weight. Needs `raised_share`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        raised: Vec<RaisedSpec>;
        /// Keep packets in order: a packet waits for earlier packets. Otherwise it may overtake
        /// earlier packets.
        #[serde(default = "crate::defaults::on")]
        keep_order: bool;
    }
}

table! {
    /// Variate of the raised state.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct RaisedSpec {
        /// Weight of the variate, in proportion to the sum of the weights.
        weight: f64, in 0.0..=1e9;
        /// Mean of the variate.
        mean: Time, in ZERO..=HOUR;
    }
}

fn two() -> u32 {
    2
}

impl ProcessSpec for InternetDelaySpec {
    fn check(&self) -> Result<(), Problem> {
        self.check_keys()?;
        let Some(share) = self.raised_share else {
            if !self.raised.is_empty() {
                let message = "would be ignored; it needs raised_share, for example 0.04";
                return Err(fault("raised", message));
            }
            return Ok(());
        };
        if self.raised.is_empty() {
            let message = "would be ignored; it needs raised = [{ weight = 1, mean = \"100 ms\" }]";
            return Err(fault("raised_share", message));
        }
        if share.0 == 1.0 {
            let message = "= 1 leaves no packet for mean; write a share below 1";
            return Err(fault("raised_share", message));
        }
        if let Some(run) = self.raised_run {
            // At least one packet is between two runs, because S01 <= 1.
            let min = (share.0 / (1.0 - share.0)).max(1.0);
            if !(run >= min && run <= 1e9) {
                let message = format!(
                    "= {run} is out of range; write {min} to 1e9 packets for a share of {}",
                    share.0
                );
                return Err(fault("raised_run", message));
            }
        }
        let mut sum = 0.0;
        for (i, part) in self.raised.iter().enumerate() {
            let here = |problem: Problem| problem.within(i).within("raised");
            part.check_keys().map_err(here)?;
            sum += part.weight;
        }
        if sum == 0.0 {
            let message = "has no weight above 0; write for example weight = 1";
            return Err(fault("raised", message));
        }
        Ok(())
    }

    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let raised = match self.raised_share {
            Some(share) if share.0 > 0.0 => {
                let run = self.raised_run.unwrap_or(1.0 / (1.0 - share.0));
                let enter = share.0 / (1.0 - share.0) / run;
                let means = self.raised.iter().map(|part| (part.weight, part.mean.0));
                Some(Raised {
                    enter: Chance::new(enter.min(1.0))?,
                    leave: Chance::new(1.0 / run)?,
                    means: means.collect(),
                })
            }
            _ => None,
        };
        let (constant, mean) = (self.constant.0, self.mean.0);
        let stream = place.stream("internet_delay");
        Ok(Box::new(InternetDelay::new(
            constant,
            self.order,
            mean,
            raised,
            self.keep_order,
            stream,
        )?))
    }
}
