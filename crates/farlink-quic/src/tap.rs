//! Packets of a connection in plain text: keys that hand a copy of the frames to a tap.
//!
//! quinn-proto encrypts and decrypts by the traits of its module `crypto`. The types here pass every
//! call on to those of rustls. A tap that is off adds nothing, as the session then has the keys of
//! rustls themselves.

use crate::frames::{Frame, parse};
use bytes::BytesMut;
use quinn_proto::crypto::{
    self, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::mem::take;
use std::sync::{Arc, Mutex};

/// Kind of the keys of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Space {
    Initial,
    Early,
    Handshake,
    Data,
}

/// A packet that an end encrypted or decrypted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plain {
    pub(crate) sent: bool,
    pub(crate) space: Space,
    pub(crate) number: u64,
    /// Length of the whole packet.
    pub(crate) len: usize,
    pub(crate) frames: Vec<Frame>,
}

/// Packets since the last call of [`Tap::take`]; `None` if the tap is off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tap(Arc<Mutex<Option<Vec<Plain>>>>);

impl Tap {
    /// Turns the tap on, for sessions that begin later.
    pub(crate) fn start(&self) {
        if let Ok(mut packets) = self.0.lock() {
            packets.get_or_insert_default();
        }
    }

    fn is_on(&self) -> bool {
        self.0.lock().is_ok_and(|packets| packets.is_some())
    }

    /// Returns the packets since the last call.
    pub(crate) fn take(&self) -> Vec<Plain> {
        let mut packets = self.0.lock().ok();
        packets
            .as_mut()
            .and_then(|packets| packets.as_mut())
            .map(take)
            .unwrap_or_default()
    }

    fn push(&self, packet: Plain) {
        if let Ok(mut packets) = self.0.lock()
            && let Some(packets) = packets.as_mut()
        {
            packets.push(packet);
        }
    }

    fn key(&self, space: Space, inner: Box<dyn PacketKey>) -> Box<dyn PacketKey> {
        let tap = self.clone();
        Box::new(TappedKey { inner, space, tap })
    }

    fn pair(&self, space: Space, pair: KeyPair<Box<dyn PacketKey>>) -> KeyPair<Box<dyn PacketKey>> {
        KeyPair {
            local: self.key(space, pair.local),
            remote: self.key(space, pair.remote),
        }
    }

    fn keys(&self, space: Space, keys: Keys) -> Keys {
        Keys {
            header: keys.header,
            packet: self.pair(space, keys.packet),
        }
    }

    fn session(&self, inner: Box<dyn Session>) -> Box<dyn Session> {
        if !self.is_on() {
            return inner;
        }
        let (tap, later) = (self.clone(), Space::Handshake);
        Box::new(TappedSession { inner, tap, later })
    }
}

/// Keys of packets, with a tap.
struct TappedKey {
    inner: Box<dyn PacketKey>,
    space: Space,
    tap: Tap,
}

impl TappedKey {
    fn push(&self, sent: bool, number: u64, len: usize, payload: &[u8]) {
        self.tap.push(Plain {
            sent,
            space: self.space,
            number,
            len,
            frames: parse(payload),
        });
    }
}

impl PacketKey for TappedKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let end = buf.len() - self.inner.tag_len();
        self.push(true, packet, buf.len(), &buf[header_len..end]);
        self.inner.encrypt(packet, buf, header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let len = header.len() + payload.len();
        self.inner.decrypt(packet, header, payload)?;
        self.push(false, packet, len, payload);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}

/// A session of TLS whose keys have a tap.
struct TappedSession {
    inner: Box<dyn Session>,
    tap: Tap,
    /// Kind of the next keys of the handshake.
    later: Space,
}

impl Session for TappedSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        let keys = self.inner.initial_keys(dst_cid, side);
        self.tap.keys(Space::Initial, keys)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let (header, packet) = self.inner.early_crypto()?;
        Some((header, self.tap.key(Space::Early, packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(buf)?;
        let space = self.later;
        self.later = Space::Data;
        Some(self.tap.keys(space, keys))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let pair = self.inner.next_1rtt_keys()?;
        Some(self.tap.pair(Space::Data, pair))
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

/// TLS of a client or a server, with a tap.
pub(crate) struct Tapped<T> {
    pub(crate) inner: Arc<T>,
    pub(crate) tap: Tap,
}

impl<T: crypto::ClientConfig> crypto::ClientConfig for Tapped<T> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = Arc::clone(&self.inner);
        let session = inner.start_session(version, server_name, params)?;
        Ok(self.tap.session(session))
    }
}

impl<T: crypto::ServerConfig> crypto::ServerConfig for Tapped<T> {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: &ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        let keys = self.inner.initial_keys(version, dst_cid)?;
        // The server decrypts the first packet with these keys, before there is a session.
        Ok(if self.tap.is_on() {
            self.tap.keys(Space::Initial, keys)
        } else {
            keys
        })
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let inner = Arc::clone(&self.inner);
        self.tap.session(inner.start_session(version, params))
    }
}
