//! `byte_errors`: errors at random bytes.

use farlink_channel::{ByteErrors, ChannelError, Process};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::decode::Problem;
use super::super::table::table;
use super::super::units::Size;
use super::place::{Place, ProcessSpec};

table! {
    /// Errors in single bytes of IP packets at exponential distances (West and Vaidya 1997, section
    /// 4.3). If the byte is one of the 20 bytes of the IP header, the packet is dropped at the end
    /// of the link (`drops_bit_error`). Otherwise the receiver's TCP detects the error by its
    /// checksum (`drops_checksum`).
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct ByteErrorsSpec {
        /// Mean distance between errors, in bytes of IP packets. "64 KiB" corresponds to a bit
        /// error rate of 1.9e-6.
        distance: Size, in Size(1)..=Size(1 << 50);
        /// Number of consecutive packets that an error damages: the packet with the error, and the
        /// packets after it, each at a random byte.
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
