//! `scripted_loss`: loss of packets with given numbers.

use farlink_channel::{ChannelError, Process, Scripted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::checks::fault;
use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::Size;
use super::place::{Place, ProcessSpec};

/// Maximum number of packet numbers of one stage.
const MAX_NUMBERS: usize = 100_000;

table! {
    /// Loss of chosen packets, for examples that reproduce a drawing.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct ScriptedLossSpec {
        /// Numbers of the lost packets, rising, counted from 1. The count includes everything that
        /// reaches this stage: packets, fragments, retransmissions, or with `arq` frames of any
        /// kind. A number beyond the last packet has no effect.
        packets: Vec<u64>;
        /// Shortest counted packet on the wire, with `overhead`. Shorter packets are not counted
        /// and not lost. "100 B" excludes ACKs and short frames of a protocol.
        #[serde(default = "crate::defaults::nothing")]
        min_size: Size;
    }
}

impl ProcessSpec for ScriptedLossSpec {
    fn check(&self) -> Result<(), Problem> {
        let message = if self.packets.is_empty() {
            "= [] loses nothing; write numbers, [3, 7]".to_owned()
        } else if self.packets.len() > MAX_NUMBERS {
            format!("has more than {MAX_NUMBERS} numbers; write fewer, or loss = 0.01")
        } else if self.packets[0] == 0 {
            "has a 0; the first packet is 1".to_owned()
        } else if let Some(&[a, b]) = self.packets.windows(2).find(|pair| pair[0] >= pair[1]) {
            format!("has {b} behind {a}; write each number once, in order")
        } else if self.min_size > Size(65_535) {
            let message = format!(
                "= \"{}\" is longer than any packet; write at most \"65535 B\"",
                self.min_size
            );
            return Err(fault("min_size", message));
        } else {
            return Ok(());
        };
        Err(fault("packets", message))
    }

    fn build(&self, _: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        let scripted = Scripted::new(&self.packets, self.min_size.0 as u32)?;
        Ok(Box::new(scripted))
    }
}
