//! Key agreement of a session.

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
/// Prologue that both ends mix in: a changed protocol has another prologue.
const PROLOGUE: &[u8] = b"farlink tunnel 2";
/// Longest message of Noise.
const LONGEST: usize = 65_535;
/// Longest one of ours: what a UDP datagram has room for, and less.
const MOST: usize = 60_000;

/// First message of an end that joins.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hello {
    /// The host that it wants to be.
    pub(crate) host: String,
    /// A number by which the other end knows it again.
    pub(crate) instance: u64,
}

/// Answer to that message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Welcome {
    /// Accepted: the gateway is that host.
    Joined {
        /// Number of its node, from 0.
        node: u32,
        /// Number of nodes.
        nodes: u32,
        /// Largest packet.
        mtu: u32,
        /// Congestion control that its kernel is to have.
        tcp: Option<String>,
        /// Names and addresses of all hosts.
        names: Vec<(String, Ipv4Addr)>,
    },
    /// Refused for now: another gateway has the host.
    Taken(String),
    /// Refused, for this reason.
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
    if payload.len() > MOST {
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

/// A handshake that this end began.
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
    /// Begins; `own` is what the session will be called here. Gives the datagram to send, too.
    pub(crate) fn begin(key: &Key, own: u32, hello: &Hello) -> Option<(Self, Vec<u8>)> {
        let mut state = begin(key, true).ok()?;
        let body = write(&mut state, hello)?;
        let begun = Self { state, own, body };
        let datagram = begun.datagram(NO_COOKIE);
        Some((begun, datagram))
    }

    /// Returns the first message with a cookie.
    pub(crate) fn datagram(&self, cookie: Cookie) -> Vec<u8> {
        let mut out = Vec::new();
        let (from, body) = (self.own, &self.body[..]);
        Outer::Hello { from, cookie, body }.write(&mut out);
        out
    }

    /// Returns the local name of the session.
    pub(crate) fn own(&self) -> u32 {
        self.own
    }

    /// The other end's answer. One that is not authentic changes nothing: the right one may come
    /// yet. Nothing more can be done with it after a right one.
    pub(crate) fn finish(
        &mut self,
        key: &Key,
        peer: u32,
        body: &[u8],
        now: Instant,
        limits: Limits,
    ) -> Option<(Welcome, Session)> {
        let welcome = read(&mut self.state, body)?;
        // The state is used up; another in its place answers nothing.
        let state = std::mem::replace(&mut self.state, begin(key, true).ok()?);
        let transport = state.into_stateless_transport_mode().ok()?;
        Some((welcome, Session::new(transport, peer, now, limits)))
    }
}

/// A first message that was made with the key.
pub(crate) struct Opened {
    state: HandshakeState,
    peer: u32,
    /// Content of the message.
    pub(crate) hello: Hello,
    /// Ephemeral key of the message. A second message with the same key is a replay.
    pub(crate) ephemeral: [u8; 16],
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Opened({:?})", self.hello)
    }
}

impl Opened {
    /// Reads one; `None` without the key. Until here no curve was computed on.
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

    /// Answers it; gives the datagram and the session, `own` here. The other end has shown no more
    /// than that somebody had the key: it has the session when it sends something in it.
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
