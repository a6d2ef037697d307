//! Halves of split connections over STP: `satellite_stp` of a proxy.

use farlink_xtp::stp::Config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::fault;
use super::decode::Problem;
use super::flow::{MAX_BYTES, MAX_RATE};
use super::table::table;
use super::units::{Rate, Size};

/// Largest `packet`: an IP packet of 65,535 bytes without headers of IP, UDP and STP with a POLL.
const MAX_PACKET: Size = Size(65_507 - 20);

table! {
    /// STP between two proxies.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct StpHalfSpec {
        /// Rate at which the proxy sends the data of each connection over the satellite, without
        /// congestion control. By default there is no rate, and a congestion window.
        rate?: Rate, in Rate(1)..=MAX_RATE;
        /// Bytes of data in a packet, the same at both proxies.
        packet?: Size = Size(1440), in Size(1)..=MAX_PACKET;
        /// Bytes that the proxy receives beyond the data that it has relayed; at least `packet`.
        window?: Size = Size(1_048_576), in Size(1)..=MAX_BYTES;
        /// Number of polls, which ask for a report, in a round trip.
        polls?: u32 = 3, in 1..=100;
        /// Set if data follows the packet that opens a connection at once.
        early_data?: bool = true;
    }
}

impl StpHalfSpec {
    /// Returns the parameters of a half.
    pub(super) fn config(&self) -> Config {
        Config {
            rate: self.rate.map(|rate| rate.0),
            packet: self.packet().0 as u32,
            window: self.window().0,
            polls: self.polls(),
            early_data: self.early_data(),
        }
    }

    /// Checks the keys. Paths in errors begin with the key.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.check_keys()?;
        check_window(self.window(), self.packet())
    }
}

/// Checks that a window holds a packet.
pub(super) fn check_window(window: Size, packet: Size) -> Result<(), Problem> {
    if window < packet {
        let message = format!("= \"{window}\" is less than packet; write at least \"{packet}\"");
        return Err(fault("window", message));
    }
    Ok(())
}
