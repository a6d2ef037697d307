//! `[[hosts]]`: properties of hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::channel::{Distribution, JitterSpec, check_jitter};
use super::checks::{HOUR, ZERO};
use super::decode::Problem;
use super::table::table;
use super::units::Time;

table! {
    /// A host that delays the packets that it receives.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct HostSpec {
        /// Node at the start or the end of a flow. `{}` stands for all numbers of such nodes.
        name: String;
        /// Time from the arrival of a packet to its processing by the host, caused by interrupts,
        /// the scheduler or a busy processor.
        jitter: HostJitterSpec;
    }
}

table! {
    /// Random delay of each received packet. A packet waits for earlier packets of the same link.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct HostJitterSpec {
        /// Distribution of the delay.
        distribution: Distribution;
        /// Mean of the delay. For "normal" the mean before values below 0 s are drawn again.
        mean: Time, in ZERO..=HOUR;
        /// Width parameter: for "uniform" half the width, at most the mean; for "normal" the
        /// standard deviation.
        spread?: Time, in ZERO..=HOUR;
    }
}

impl HostJitterSpec {
    /// Checks the keys and returns the jitter, which keeps packets in order.
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
