//! Cookies that prove the address of a gateway. Before the proof, the unit stores no state of the
//! gateway. It sends no more bytes to the address than arrived from there.

use farlink_tcp::{Instant, Interval};
use sha2::{Digest, Sha256};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// A cookie in a datagram; all zeros for none.
pub(crate) type Cookie = [u8; 16];
/// Cookie field of a gateway that has no cookie yet.
pub(crate) const NO_COOKIE: Cookie = [0; 16];
/// Time after which the cookie of an address changes. The cookies of the current and the previous
/// slot are valid, so each cookie is valid for 10 to 20 s.
const SLOT: Interval = Interval::from_secs(10);

/// Creates and verifies cookies with a secret. A restarted unit has a new secret, so it accepts no
/// earlier cookies.
#[derive(Debug)]
pub(crate) struct Cookies {
    secret: [u8; 32],
}

impl Cookies {
    /// Draws a random secret.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub(crate) fn random() -> io::Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        Ok(Self { secret })
    }

    /// Returns the current cookie of an address and port.
    pub(crate) fn of(&self, from: SocketAddr, now: Instant) -> Cookie {
        self.at(from, slot(now))
    }

    /// Returns whether `cookie` is valid for this address and port.
    pub(crate) fn prove(&self, cookie: &Cookie, from: SocketAddr, now: Instant) -> bool {
        let slot = slot(now);
        [Some(slot), slot.checked_sub(1)]
            .into_iter()
            .flatten()
            .any(|slot| is_equal(&self.at(from, slot), cookie))
    }

    fn at(&self, from: SocketAddr, slot: u64) -> Cookie {
        let address = match from.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        // Each part has a fixed length, so different inputs never have the same bytes.
        let digest = Sha256::new()
            .chain_update(self.secret)
            .chain_update(slot.to_be_bytes())
            .chain_update(address.octets())
            .chain_update(from.port().to_be_bytes())
            .finalize();
        std::array::from_fn(|i| digest[i])
    }
}

fn slot(now: Instant) -> u64 {
    now.as_nanos() / SLOT.as_nanos()
}

/// Compares two cookies in constant time.
fn is_equal(one: &Cookie, other: &Cookie) -> bool {
    let differing = one.iter().zip(other).map(|(a, b)| a ^ b);
    differing.fold(0, |all, byte| all | byte) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_valid_for_one_address_secret_and_time() {
        let maker = Cookies::random().unwrap();
        let here: SocketAddr = "192.0.2.1:7".parse().unwrap();
        let at = |s: u64| Instant::ZERO + Interval::from_secs(s);
        let cookie = maker.of(here, at(15));
        assert_ne!(cookie, NO_COOKIE);
        for (time, is_good) in [(9, false), (10, true), (15, true), (29, true), (30, false)] {
            assert_eq!(maker.prove(&cookie, here, at(time)), is_good, "{time}");
        }
        for elsewhere in ["192.0.2.1:8", "192.0.2.2:7", "[2001:db8::1]:7"] {
            assert!(!maker.prove(&cookie, elsewhere.parse().unwrap(), at(15)));
        }
        assert!(!Cookies::random().unwrap().prove(&cookie, here, at(15)));
        for bit in 0..128 {
            let mut other = cookie;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!maker.prove(&other, here, at(15)), "{bit}");
        }
        assert!(!maker.prove(&NO_COOKIE, here, at(0)));
    }
}
