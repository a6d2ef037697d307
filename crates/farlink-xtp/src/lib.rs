//! Transports for satellites: XTP and STP.
//!
//! XTP-like transport (XTP Forum, "Xpress Transport Protocol Specification", revision 4.0, 1995):
//! the sender sends at a configured rate. It requests status reports to detect losses, and does not
//! treat a loss as congestion. [`Sender`] and [`Receiver`] are the ends of one stream of known
//! length. [`Association`] has a stream in each direction, to which data is added as it comes.
//!
//! [`stp`] is the other transport for the halves of split connections.
//!
//! Ends are sans-IO: their inputs are times and packets, and their outputs are packets.

mod association;
mod config;
mod life;
#[cfg(test)]
mod pair;
mod rate;
mod receiver;
mod rtt;
mod sender;
pub mod stp;

pub use association::Association;
pub use config::Config;
pub use receiver::Receiver;
pub use sender::Sender;
