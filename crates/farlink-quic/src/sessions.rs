//! Sessions of TLS that both ends remember from earlier connections, for 0-RTT (RFC 9001, 4.6).

use crate::config::Config;
use crate::counters::Side;
use crate::end::End;
use crate::tls::{self, OneCertificate};
use rustls::{ClientConfig, ServerConfig};
use std::fmt;
use std::sync::Arc;

/// Greatest number of flights of a handshake and its tickets, without losses.
const FLIGHTS: u32 = 20;

/// TLS of the client and the server of a flow, which share what they remember.
#[derive(Clone)]
pub struct Sessions {
    pub(crate) client: ClientConfig,
    pub(crate) server: ServerConfig,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

impl Sessions {
    /// Returns the TLS of two ends that have had a connection, after which the client has tickets.
    /// The connection takes no simulated time, and its ends have the parameters `client` and
    /// `server`.
    ///
    /// # Errors
    /// Fails if the TLS library refuses the configuration, or the server gives no ticket.
    pub fn known(client: Config, server: Config) -> Result<Self, String> {
        let secrets = Arc::default();
        let made = tls::client(&secrets, Arc::new(OneCertificate));
        let sessions = Self {
            client: made.map_err(|error| error.to_string())?,
            server: tls::server().map_err(|error| error.to_string())?,
        };
        let mut ends = [
            End::resuming(Side::Client, client, 0, Some(&sessions))?,
            End::resuming(Side::Server, server, 0, Some(&sessions))?,
        ];
        ends[0].open(0);
        for flight in 0..FLIGHTS {
            let from = flight as usize % 2;
            while let Some(sent) = ends[from].transmit(0) {
                ends[1 - from].receive(0, sent.ecn, &sent.bytes);
            }
        }
        if ends[0].fault().is_some() || !ends[0].is_connected() {
            return Err("QUIC cannot start: no session for 0-RTT".to_owned());
        }
        Ok(sessions)
    }
}
