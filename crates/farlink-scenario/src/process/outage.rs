//! `outage`: times at which a link transmits nothing.

use farlink_channel::{ChannelError, Outage, Process};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::{LONGEST_RUN, SHORTEST, ZERO, fault};
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::Time;
use super::orbit::{InterruptionName, gap};
use super::place::{Place, ProcessSpec};

table! {
    /// Interruption of the link, once or periodically.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct OutageSpec {
        /// Time at which the first outage begins.
        start?: Time = ZERO, in ZERO..=Time(LONGEST_RUN);
        /// Duration of an outage.
        duration: Time, in SHORTEST..=Time(LONGEST_RUN);
        /// Time from the start of one outage to the start of the next, above `duration`. Without
        /// this key there is one outage.
        period?: Time, in SHORTEST..=Time(LONGEST_RUN);
        /// Fate of packets during an outage.
        packets?: InterruptionName = InterruptionName::Drop;
    }
}

impl ProcessSpec for OutageSpec {
    fn check(&self) -> Result<(), Problem> {
        self.check_keys()?;
        match self.period {
            Some(period) if period <= self.duration => {
                let message = format!(
                    "= \"{period}\" is not above the duration, \"{}\"",
                    self.duration
                );
                Err(fault("period", message))
            }
            _ => Ok(()),
        }
    }

    fn build(&self, _: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let gap = gap(Some(self.duration), self.packets());
        let period = self.period.map(|time| time.0);
        Ok(Box::new(Outage::new(self.start().0, gap, period)?))
    }
}
