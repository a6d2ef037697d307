//! Handshake by which both ends agree on the keys of a session.

use super::cookie::{Cookie, NO_COOKIE};
use super::frame::Outer;
use super::key::Key;
use super::primitives::Primitives;
use super::session::{Limits, Session};
use farlink_tcp::Instant;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use snow::{Builder, HandshakeState};
use std::net::Ipv4Addr;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// Noise prologue. It changes with the protocol, so ends with different protocols cannot agree.
const PROLOGUE: &[u8] = b"farlink tunnel 2";
/// Longest message of Noise, in bytes.
const LONGEST: usize = 65_535;
/// Maximum length of the payload of a handshake message in bytes, so the message fits into a UDP
/// datagram.
const MAX_PAYLOAD: usize = 60_000;

/// Payload of the first message, from the gateway.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hello {
    /// Name of the host that the gateway joins as.
    pub(crate) host: String,
    /// Random number of the gateway's process. A gateway with the same number is rejoining.
    pub(crate) instance: u64,
}

/// Payload of the second message, from the unit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Welcome {
    /// The gateway is accepted as the host.
    Joined {
        /// Node number of the host, from 0.
        node: u32,
        /// Number of nodes of the scenario.
        nodes: u32,
        /// MTU in bytes.
        mtu: u32,
        /// Congestion control for the host's kernel; `None` for the kernel's default.
        tcp: Option<String>,
        /// Names and addresses of all hosts.
        names: Vec<(String, Ipv4Addr)>,
    },
    /// Refused, because another gateway is currently the host. Has a message.
    Taken(String),
    /// Refused permanently. Has a message.
    Refused(String),
}

fn begin(key: &Key, is_initiator: bool) -> Result<HandshakeState, snow::Error> {
    let builder = Builder::with_resolver(PATTERN.parse()?, Box::new(Primitives))
        .prologue(PROLOGUE)?
        .psk(0, key.secret())?;
    if is_initiator {
        builder.build_initiator()
    } else {
        builder.build_responder()
    }
}

fn write(state: &mut HandshakeState, message: &impl Serialize) -> Option<Vec<u8>> {
    let payload = serde_json::to_vec(message).ok()?;
    if payload.len() > MAX_PAYLOAD {
        return None;
    }
    let mut out = vec![0; LONGEST];
    let length = state.write_message(&payload, &mut out).ok()?;
    out.truncate(length);
    Some(out)
}

fn read<T: DeserializeOwned>(state: &mut HandshakeState, body: &[u8]) -> Option<T> {
    if body.len() > LONGEST {
        return None;
    }
    let mut out = vec![0; body.len()];
    let length = state.read_message(body, &mut out).ok()?;
    serde_json::from_slice(&out[..length]).ok()
}

/// A handshake that this end started.
pub(crate) struct Initiation {
    state: HandshakeState,
    own: u32,
    body: Vec<u8>,
}

impl std::fmt::Debug for Initiation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Initiation({:08x})", self.own)
    }
}

impl Initiation {
    /// Starts a handshake for a session with number `own` at this end. Also returns the first
    /// message as a datagram.
    pub(crate) fn begin(key: &Key, own: u32, hello: &Hello) -> Option<(Self, Vec<u8>)> {
        let mut state = begin(key, true).ok()?;
        let body = write(&mut state, hello)?;
        let begun = Self { state, own, body };
        let datagram = begun.datagram(NO_COOKIE);
        Some((begun, datagram))
    }

    /// Returns the first message as a datagram with `cookie`.
    pub(crate) fn datagram(&self, cookie: Cookie) -> Vec<u8> {
        let mut out = Vec::new();
        let (from, body) = (self.own, &self.body[..]);
        Outer::Hello { from, cookie, body }.write(&mut out);
        out
    }

    /// Returns this end's number of the session.
    pub(crate) fn own(&self) -> u32 {
        self.own
    }

    /// Processes the unit's answer. A forged answer has no effect, so the right answer can still
    /// arrive. After a valid answer, all others fail.
    pub(crate) fn finish(
        &mut self,
        key: &Key,
        peer: u32,
        body: &[u8],
        now: Instant,
        limits: Limits,
    ) -> Option<(Welcome, Session)> {
        let welcome = read(&mut self.state, body)?;
        // The end of the handshake consumes its state. The new state accepts no answer.
        let state = std::mem::replace(&mut self.state, begin(key, true).ok()?);
        let transport = state.into_stateless_transport_mode().ok()?;
        Some((welcome, Session::new(transport, peer, now, limits)))
    }
}

/// A first message that was made with the key.
pub(crate) struct Opened {
    state: HandshakeState,
    peer: u32,
    /// Payload of the message.
    pub(crate) hello: Hello,
    /// First half of the message's ephemeral public key. A later message with the same value is a
    /// replay.
    pub(crate) ephemeral: [u8; 16],
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Opened({:?})", self.hello)
    }
}

impl Opened {
    /// Decrypts a first message; `None` if it was not created with the key. The check needs no
    /// elliptic-curve operation.
    pub(crate) fn read(key: &Key, peer: u32, body: &[u8]) -> Option<Self> {
        let mut state = begin(key, false).ok()?;
        let hello = read(&mut state, body)?;
        Some(Self {
            state,
            peer,
            hello,
            ephemeral: body.get(..16)?.try_into().ok()?,
        })
    }

    /// Answers the message. Returns the datagram and the session, which has the number `own` at
    /// this end. The message may be a replay, so the session becomes valid only when the gateway
    /// has sent a datagram in it.
    pub(crate) fn answer(
        mut self,
        own: u32,
        welcome: &Welcome,
        now: Instant,
        limits: Limits,
    ) -> Option<(Vec<u8>, Session)> {
        let body = write(&mut self.state, welcome)?;
        let mut out = Vec::new();
        let (to, from, body) = (self.peer, own, &body[..]);
        Outer::Welcome { to, from, body }.write(&mut out);
        let transport = self.state.into_stateless_transport_mode().ok()?;
        Some((out, Session::new(transport, self.peer, now, limits)))
    }
}
