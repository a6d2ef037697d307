//! TCP Fast Open (RFC 7413): its option, and the state that client and server store about each
//! other.

use crate::config::{Config, FastOpen};
use crate::dss::{DATA_ACK_LEN, DataMapping};
use crate::snack::Snack;

/// Cookie of a server for a client: eight bytes, as in Linux and FreeBSD (RFC 7413, 2, allows 4 to
/// 16).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(Rust, packed(2))]
pub struct FastOpenCookie(pub u64);

impl FastOpenCookie {
    /// Computes the cookie of a server with this secret for a client's address. The cookie is a
    /// pure function of both, so that the server stores nothing per client (RFC 7413, 4.1.2). The
    /// function is no cipher: an observer of cookies can find the secret.
    pub const fn new(secret: u64, client: u32) -> Self {
        // The 64-bit finalizer of MurmurHash3 (Appleby 2011), applied to secret and client in turn.
        const fn mix(mut h: u64) -> u64 {
            h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
            h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
            h ^ (h >> 33)
        }
        let secret = mix(secret ^ 0x9e37_79b9_7f4a_7c15);
        Self(mix(secret ^ client as u64))
    }
}

/// State that a client caches about a server for later connections (RFC 7413, 4.1.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FastOpenCache {
    /// The server's cookie for this client.
    pub cookie: FastOpenCookie,
    /// MSS that the server announced, in bytes.
    pub mss: u16,
}

/// Options that share one field, because a segment has at most one of them. SNACK is never on a
/// SYN, and Fast Open is only on a SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Extra {
    /// No such option.
    #[default]
    None,
    /// Selective negative acknowledgment (CCSDS 714.0-B).
    Snack(Snack),
    /// Fast Open without a cookie: the client requests one.
    CookieRequest,
    /// Fast Open with a cookie: presented by the client, or granted by the server.
    Cookie(FastOpenCookie),
    /// Lower 32 bits of the data ACK of a connection over several paths. Only on segments without
    /// SYN.
    DataAck(u32),
    /// Mapping of the segment's data in a connection over several paths.
    Mapping(DataMapping),
}

impl Extra {
    /// Returns the SNACK, if the option is a SNACK.
    #[inline]
    pub const fn snack(self) -> Option<Snack> {
        match self {
            Self::Snack(snack) => Some(snack),
            _ => None,
        }
    }

    /// Returns whether the option carries no information about losses.
    #[inline]
    pub(crate) const fn is_plain(self) -> bool {
        matches!(self, Self::None | Self::DataAck(_) | Self::Mapping(_))
    }

    /// Length of the option in a header, in bytes, padded to a multiple of four.
    #[inline]
    pub(crate) const fn wire_len(&self) -> u32 {
        match self {
            Self::None => 0,
            _ => self.long_len(),
        }
    }

    #[cold]
    const fn long_len(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Snack(snack) => snack.wire_len(),
            Self::CookieRequest => 4,
            Self::Cookie(_) => 12,
            Self::DataAck(_) => DATA_ACK_LEN,
            Self::Mapping(_) => DataMapping::WIRE_LEN,
        }
    }
}

/// TCP Fast Open state of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opening {
    /// Cached state of the server: at first the host's, later updated by this connection.
    pub(crate) cache: Option<FastOpenCache>,
    /// Cookie that this host grants the expected client.
    pub(crate) own_cookie: Option<FastOpenCookie>,
    /// Set if the client requested a cookie or presented a wrong one.
    pub(crate) cookie_wanted: bool,
}

impl Opening {
    /// Returns `None` if Fast Open is not configured.
    pub(crate) fn new(config: &Config) -> Option<Box<Self>> {
        (config.fast_open != FastOpen::Off).then(Box::default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookie_depends_on_server_and_client() {
        let mut cookies: Vec<u64> = (0..50)
            .flat_map(|secret| (0..50).map(move |client| FastOpenCookie::new(secret, client).0))
            .collect();
        assert_eq!(FastOpenCookie::new(7, 8), FastOpenCookie::new(7, 8));
        cookies.sort_unstable();
        cookies.dedup();
        assert_eq!(cookies.len(), 2500);
    }
}
