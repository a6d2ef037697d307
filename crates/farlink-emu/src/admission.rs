//! Rate limits for handshake initiations at the unit.
//!
//! An initiation without a valid cookie for its source address gets a cookie as the only answer, in
//! a datagram no longer than the initiation. Only initiations with a valid cookie use the budget
//! for handshakes, and each source has a share of that budget. A flood with forged source addresses
//! therefore does not prevent gateways from joining.

use crate::tunnel::{Cookie, Cookies};
use farlink_tcp::Instant;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Number of initiations processed per second, in total and per source.
pub(crate) const HELLOS: f64 = 500.0;
pub(crate) const HELLOS_EACH: f64 = 50.0;
/// Number of cookies sent per second.
pub(crate) const COOKIES: f64 = 20_000.0;
/// Maximum number of sources with their own budget.
const SOURCES: usize = 4096;

/// Decision about a handshake initiation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admitted {
    /// Process the initiation.
    Yes,
    /// Answer the initiation with this cookie.
    Prove(Cookie),
    /// Drop the initiation, because a budget is exhausted.
    Flooded,
}

/// Token bucket with the tokens of one second.
#[derive(Clone, Copy, Debug)]
struct Budget {
    left: f64,
    per_second: f64,
    filled: Instant,
}

impl Budget {
    fn new(per_second: f64, now: Instant) -> Self {
        Self {
            left: per_second,
            per_second,
            filled: now,
        }
    }

    /// Adds the tokens since the last call, up to those of one second.
    fn fill(&mut self, now: Instant) {
        let since = now.since(self.filled).as_secs_f64();
        self.left = (self.left + since * self.per_second).min(self.per_second);
        self.filled = now;
    }

    fn spend(&mut self) -> bool {
        let can = self.left >= 1.0;
        self.left -= f64::from(u8::from(can));
        can
    }
}

/// Rate limits of a unit.
#[derive(Debug)]
pub(crate) struct Admission {
    cookies: Cookies,
    to_read: Budget,
    to_send: Budget,
    sources: HashMap<u128, Budget>,
}

impl Admission {
    /// Draws a new secret for cookies.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            cookies: Cookies::random()?,
            to_read: Budget::new(HELLOS, Instant::ZERO),
            to_send: Budget::new(COOKIES, Instant::ZERO),
            sources: HashMap::new(),
        })
    }

    /// Decides about a handshake initiation from an address.
    pub(crate) fn admit(&mut self, now: Instant, from: SocketAddr, cookie: &Cookie) -> Admitted {
        if !self.cookies.prove(cookie, from, now) {
            self.to_send.fill(now);
            return if self.to_send.spend() {
                Admitted::Prove(self.cookies.of(from, now))
            } else {
                Admitted::Flooded
            };
        }
        if self.sources.len() >= SOURCES {
            self.sources.retain(|_, own| {
                own.fill(now);
                own.left < own.per_second
            });
            if self.sources.len() >= SOURCES {
                self.sources.clear();
            }
        }
        let new = || Budget::new(HELLOS_EACH, now);
        let own = self.sources.entry(source(from.ip())).or_insert_with(new);
        own.fill(now);
        self.to_read.fill(now);
        if own.spend() && self.to_read.spend() {
            Admitted::Yes
        } else {
            Admitted::Flooded
        }
    }
}

/// Returns the key of a source's budget: an IPv4 address, or the first 64 bits of an IPv6 address.
/// A host can choose the other 64 bits itself.
fn source(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunnel::NO_COOKIE;
    use farlink_tcp::Interval;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_source_has_a_share_of_its_own() {
        let mut admission = Admission::new().unwrap();
        let now = Instant::ZERO + Interval::from_secs(1);
        let mut admitted = |from: &str, times: usize| {
            let from = address(from);
            let cookie = admission.cookies.of(from, now);
            (0..times)
                .filter(|_| admission.admit(now, from, &cookie) == Admitted::Yes)
                .count()
        };
        assert_eq!(admitted("192.0.2.1:7", 1000), 50);
        assert_eq!(admitted("192.0.2.1:8", 1000), 0, "the source, not the port");
        assert_eq!(admitted("192.0.2.2:7", 10), 10);
        assert_eq!(admitted("[2001:db8::1]:7", 100), 50);
        assert_eq!(admitted("[2001:db8::2]:7", 100), 0, "of one network");
        assert_eq!(admitted("[2001:db8:0:1::2]:7", 10), 10);
        let others: usize = (0..20)
            .map(|n| admitted(&format!("198.51.100.{n}:7"), 50))
            .sum();
        assert_eq!(others, 500 - 50 - 10 - 50 - 10, "all sources together");
    }

    #[test]
    fn garbage_takes_no_share_and_sources_are_bounded() {
        let mut admission = Admission::new().unwrap();
        let mut now = Instant::ZERO + Interval::from_secs(1);
        let from = address("192.0.2.1:7");
        let good = admission.cookies.of(from, now);
        let mut cookies = 0;
        for n in 0..30_000u32 {
            let anywhere = SocketAddr::from((n.to_be_bytes(), 7));
            cookies += usize::from(matches!(
                admission.admit(now, anywhere, &NO_COOKIE),
                Admitted::Prove(_)
            ));
        }
        assert_eq!(cookies, 20_000);
        assert_eq!(admission.sources.len(), 0);
        assert_eq!(admission.admit(now, from, &good), Admitted::Yes);
        for n in 0..10_000u32 {
            now += Interval::from_millis(1);
            let many = SocketAddr::from((n.to_be_bytes(), 7));
            let cookie = admission.cookies.of(many, now);
            admission.admit(now, many, &cookie);
        }
        assert!(admission.sources.len() <= SOURCES);
    }
}
