//! A tunnel over UDP between two machines that share a key: authenticated, encrypted, safe against
//! replays. It carries IP packets and a few words of control, and knows nothing of what decides
//! their fate.
//!
//! Keys are agreed on by `Noise_NNpsk0_25519_ChaChaPoly_SHA256` (The Noise Protocol Framework,
//! revision 34): two messages, of which already the first can be made and read only with the shared
//! key. What follows is sealed with the number of each datagram as its nonce, and a window of the
//! numbers seen (RFC 6479) refuses what was there before. Every datagram but the answer
//! to one that joins, with the names of all hosts, fits the smallest MTU of IPv6, so that no path of
//! the tunnel has to cut it; longer packets go in pieces.

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
pub(crate) use session::{Bad, Limits, Session};

#[cfg(test)]
mod tests;
