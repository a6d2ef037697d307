//! Tunnel over UDP between two machines that share a key: authenticated, encrypted, and protected
//! against replays. It carries IP packets and a few control messages, and does not depend on the
//! emulation.
//!
//! The key agreement is `Noise_NNpsk0_25519_ChaChaPoly_SHA256` (The Noise Protocol Framework,
//! revision 34). It has two messages, and even the first requires the shared key. Later datagrams
//! are encrypted with their number as the nonce. A window of received numbers (RFC 6479) detects
//! replays.
//!
//! Every datagram fits IPv6's minimum MTU, so it is never fragmented. Longer packets are sent in
//! pieces. The only exception is the answer to a joining gateway, which lists all hosts.

mod cookie;
mod frame;
mod handshake;
mod key;
mod path;
mod pieces;
mod primitives;
mod session;
mod window;

pub(crate) use cookie::{Cookie, Cookies, NO_COOKIE};
pub(crate) use frame::{Inner, Outer};
pub(crate) use handshake::{Hello, Initiation, Opened, Welcome};
pub(crate) use key::Key;
pub(crate) use path::RoundTrips;
pub(crate) use pieces::{Pieces, cut};
pub(crate) use session::{Limits, Rejection, Session};

#[cfg(test)]
mod tests;
