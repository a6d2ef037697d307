//! Wire format of the tunnel's datagrams and of their encrypted contents. Integers are big-endian.

use super::cookie::Cookie;
use super::primitives::TAG;

/// Maximum length of a datagram that is never fragmented: IPv6's minimum MTU minus the IPv6 and UDP
/// headers.
const LONGEST: usize = 1280 - 40 - 8;
/// Bytes before the encrypted part: kind, three zeros, session, number.
pub(super) const HEADER: usize = 16;
/// Bytes before a piece of a packet: kind, index, count, checksum flag, identification.
const PIECE: usize = 8;
/// Maximum coordinate of a position in metres, farther than the sun.
pub(crate) const FARTHEST: f64 = 1e12;
/// Bytes of a packet that fit into one datagram.
pub(crate) const ROOM: usize = LONGEST - HEADER - TAG - PIECE;

/// A datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outer<'a> {
    /// First message of a handshake. `from` is the session number for the answer, `cookie` the
    /// cookie of the sender's address (zeros for none).
    Hello {
        from: u32,
        cookie: Cookie,
        body: &'a [u8],
    },
    /// Second message, for session `to` of the first message's sender.
    Welcome { to: u32, from: u32, body: &'a [u8] },
    /// Request to repeat the first message with this cookie. The datagram is as long as the
    /// shortest first message, so a forged source address causes no amplification.
    Prove { to: u32, cookie: Cookie },
    /// Encrypted datagram for session `to`.
    Sealed {
        to: u32,
        number: u64,
        body: &'a [u8],
    },
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

impl<'a> Outer<'a> {
    /// Parses a datagram; `None` for any other protocol.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (&[kind, 0, 0, 0], rest) = bytes.split_first_chunk()? else {
            return None;
        };
        match kind {
            1 => Some(Self::Hello {
                from: u32_at(rest, 0)?,
                cookie: rest.get(4..20)?.try_into().ok()?,
                body: rest.get(20..)?,
            }),
            2 => Some(Self::Welcome {
                to: u32_at(rest, 0)?,
                from: u32_at(rest, 4)?,
                body: rest.get(8..)?,
            }),
            3 => Some(Self::Sealed {
                to: u32_at(rest, 0)?,
                number: u64_at(rest, 4)?,
                body: rest.get(12..)?,
            }),
            4 => Some(Self::Prove {
                to: u32_at(rest, 0)?,
                cookie: rest.get(4..)?.try_into().ok()?,
            }),
            _ => None,
        }
    }

    /// Replaces the content of `out` by the datagram.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.clear();
        match self {
            Self::Hello { from, cookie, body } => {
                out.extend([1, 0, 0, 0]);
                out.extend(from.to_be_bytes());
                out.extend(cookie);
                out.extend(body);
            }
            Self::Welcome { to, from, body } => {
                out.extend([2, 0, 0, 0]);
                out.extend(to.to_be_bytes());
                out.extend(from.to_be_bytes());
                out.extend(body);
            }
            Self::Prove { to, cookie } => {
                out.extend([4, 0, 0, 0]);
                out.extend(to.to_be_bytes());
                out.extend(cookie);
            }
            Self::Sealed { to, number, body } => {
                out.extend([3, 0, 0, 0]);
                out.extend(to.to_be_bytes());
                out.extend(number.to_be_bytes());
                out.extend(body);
            }
        }
    }
}

/// Encrypted content of a datagram.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Inner<'a> {
    /// Probe that must be echoed at once, with the sender's clock in nanoseconds.
    Probe { at: u64 },
    /// Echo of a probe, with the nanoseconds from the probe's arrival to the echo.
    Echo { at: u64, held: u64 },
    /// IP packet; `checked` is set if its checksum is known to be right.
    Packet { checked: bool, bytes: &'a [u8] },
    /// Piece `index` of `count` of an IP packet.
    Piece {
        checked: bool,
        ident: u32,
        index: u8,
        count: u8,
        bytes: &'a [u8],
    },
    /// Position of the sender in metres.
    Place { x: f64, y: f64 },
    /// Number of packets that the sender's device has dropped because its queue was full.
    Overflowed { packets: u64 },
    /// The sender ends.
    Bye,
}

impl<'a> Inner<'a> {
    /// Parses the content; `None` for an unknown kind or malformed content.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        let is_long = |n: usize| (rest.len() == n).then_some(());
        match kind {
            1 => is_long(8).and(Some(Self::Probe {
                at: u64_at(rest, 0)?,
            })),
            2 => is_long(16).and(Some(Self::Echo {
                at: u64_at(rest, 0)?,
                held: u64_at(rest, 8)?,
            })),
            3 => {
                let (&checked, bytes) = rest.split_first()?;
                Some(Self::Packet {
                    checked: flag(checked)?,
                    bytes,
                })
            }
            4 => {
                let (&[index, count, checked, a, b, c, d], bytes) = rest.split_first_chunk()?;
                Some(Self::Piece {
                    checked: flag(checked)?,
                    ident: u32::from_be_bytes([a, b, c, d]),
                    index,
                    count,
                    bytes,
                })
            }
            5 => {
                is_long(16)?;
                let [x, y] = [0, 8].map(|at| u64_at(rest, at).map_or(f64::NAN, f64::from_bits));
                let near = |metres: f64| metres.abs() <= FARTHEST;
                (near(x) && near(y)).then_some(Self::Place { x, y })
            }
            6 => is_long(8).and(Some(Self::Overflowed {
                packets: u64_at(rest, 0)?,
            })),
            7 => is_long(0).and(Some(Self::Bye)),
            _ => None,
        }
    }

    /// Replaces the content of `out` by the encoded content.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.clear();
        match self {
            Self::Probe { at } => {
                out.push(1);
                out.extend(at.to_be_bytes());
            }
            Self::Echo { at, held } => {
                out.push(2);
                out.extend(at.to_be_bytes());
                out.extend(held.to_be_bytes());
            }
            Self::Packet { checked, bytes } => {
                out.extend([3, u8::from(checked)]);
                out.extend(bytes);
            }
            Self::Piece {
                checked,
                ident,
                index,
                count,
                bytes,
            } => {
                out.extend([4, index, count, u8::from(checked)]);
                out.extend(ident.to_be_bytes());
                out.extend(bytes);
            }
            Self::Place { x, y } => {
                out.push(5);
                out.extend(x.to_bits().to_be_bytes());
                out.extend(y.to_bits().to_be_bytes());
            }
            Self::Overflowed { packets } => {
                out.push(6);
                out.extend(packets.to_be_bytes());
            }
            Self::Bye => out.push(7),
        }
    }
}

fn flag(byte: u8) -> Option<bool> {
    (byte < 2).then_some(byte == 1)
}
