//! `byte_errors`: errors placed in bytes.

use farlink_channel::{ByteErrors, ChannelError, Process};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::Size;
use super::place::{Place, ProcessSpec};

table! {
    /// Errors on single bytes of IP packets at exponential distances (West and
    /// Vaidya 1997, section 4.3). One in the 20 bytes of the IP header has the packet
    /// dropped at the end of the link (`drops_bit_error`); one behind it is found by
    /// the receiver's TCP checksum (`drops_checksum`).
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct ByteErrorsSpec {
        /// Mean distance from one error to the next, in bytes of IP packets. "64
        /// KiB" is a bit error rate of 1.9e-6.
        distance: Size, in Size(1)..=Size(1 << 50);
        /// Number of packets in a row that an error damages: the packet in which it falls, and the
        /// following ones, each at a random byte.
        #[serde(default = "single")]
        burst: u32, in 1..=1_000_000;
    }
}

fn single() -> u32 {
    1
}

impl ProcessSpec for ByteErrorsSpec {
    fn check(&self) -> Result<(), Problem> {
        self.check_keys()
    }

    fn build(&self, place: &Place<'_>) -> Result<Box<dyn Process>, ChannelError> {
        Ok(Box::new(ByteErrors::new(
            self.distance.0,
            self.burst,
            place.overhead,
            place.stream("byte_errors"),
            place.stream("byte_errors/places"),
        )?))
    }
}
