//! `[[hosts]]`: properties of single hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::channel::{Distribution, JitterSpec, check_jitter};
use super::checks::{HOUR, ZERO};
use super::decode::Problem;
use super::table::table;
use super::units::Time;

table! {
    /// A host, with what it does to the packets that it receives.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct HostSpec {
        /// Node that a flow begins or ends at. `{}` stands for every number that there is.
        name: String;
        /// Time from the arrival of a packet to its processing by the host: interrupts, the
        /// scheduler, a busy processor.
        jitter: HostJitterSpec;
    }
}

table! {
    /// Random delay of each packet at a host that receives it. A packet waits for those that came
    /// before it over the same link.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct HostJitterSpec {
        /// Distribution of the delay.
        distribution: Distribution;
        /// Mean; of the normal distribution before it is truncated at 0.
        mean: Time, in ZERO..=HOUR;
        /// Uniform: half the width, at most the mean. Normal: standard deviation.
        spread?: Time, in ZERO..=HOUR;
    }
}

impl HostJitterSpec {
    /// Checks the keys; the order is kept.
    pub(super) fn resolve(&self) -> Result<JitterSpec, Problem> {
        self.check_keys()?;
        let jitter = JitterSpec {
            distribution: self.distribution,
            mean: self.mean,
            spread: self.spread,
            keep_order: true,
        };
        check_jitter(&jitter)?;
        Ok(jitter)
    }
}
