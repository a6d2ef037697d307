//! Halves of split connections over XTP: `satellite_xtp` of a proxy.

use farlink_xtp::Config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decode::Problem;
use super::flow::{MAX_BYTES, MAX_COUNT, MAX_RATE};
use super::stp_half::check_window;
use super::table::table;
use super::units::{Rate, Size};

/// Largest `packet`: an IP packet of 65,535 bytes without headers of IP, UDP and XTP.
const MAX_PACKET: Size = Size(65_507 - 56);

table! {
    /// XTP between two proxies.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct XtpHalfSpec {
        /// Rate at which the proxy sends the data of each connection over the satellite.
        rate: Rate, in Rate(1)..=MAX_RATE;
        /// Bytes of data in a packet, the same at both proxies.
        packet?: Size = Size(1440), in Size(1)..=MAX_PACKET;
        /// Bytes that may be sent at once. The default is `packet`.
        burst?: Size, in Size(1)..=MAX_BYTES;
        /// Bytes that the proxy receives beyond the data that it has relayed; at least `packet`.
        window?: Size = Size(1_048_576), in Size(1)..=MAX_BYTES;
        /// Number of data packets from one request for a status report to the next.
        sreq_every?: u32 = 16, in 1..=MAX_COUNT as u32;
    }
}

impl XtpHalfSpec {
    /// Returns the parameters of a half.
    pub(super) fn config(&self) -> Config {
        let packet = self.packet();
        Config {
            rate: self.rate.0,
            burst: self.burst.unwrap_or(packet).0,
            packet: packet.0 as u32,
            window: self.window().0,
            sreq_every: self.sreq_every(),
        }
    }

    /// Checks the keys. Paths in errors begin with the key.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.check_keys()?;
        check_window(self.window(), self.packet())
    }
}
