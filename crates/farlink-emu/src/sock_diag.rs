//! State of the kernel's TCP connections by sock_diag(7), as in `ss -ti`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::FromRawFd;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const REQUEST_AND_DUMP: u16 = 0x301;
const DONE: u16 = 3;
/// Bit mask of socket states: all except LISTEN (10), TIME-WAIT (6) and SYN-RECEIVED (12).
const STATES: u32 = 0xfff & !(1 << 10) & !(1 << 6);
/// Lengths in bytes of `nlmsghdr`, of `inet_diag_msg`, and of the used part of `tcp_info`.
const HEADER: usize = 16;
const MESSAGE: usize = 72;
const INFO: usize = 168;
/// Value of `snd_ssthresh` before the first loss.
const INFINITE: u32 = 0x7fff_ffff;

/// State of a TCP connection at one time. Lengths are in bytes, times in microseconds unless noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Time of the sample, in nanoseconds from the start of the run.
    pub time: u64,
    /// Index of the host.
    pub host: usize,
    /// Local address and port.
    pub local: SocketAddr,
    /// Address and port of the peer.
    pub peer: SocketAddr,
    /// Congestion state (`TCP_CA_*`): 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: u8,
    /// Number of consecutive time-outs.
    pub backoff: u8,
    /// Sender's maximum segment size.
    pub mss: u32,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow start threshold; `None` before the first loss.
    pub ssthresh: Option<u64>,
    /// Number of bytes sent and neither acknowledged, selectively acknowledged nor considered lost.
    pub flight: u64,
    /// Smoothed round-trip time.
    pub srtt: u32,
    /// Variation of the round-trip time (RTTVAR).
    pub rttvar: u32,
    /// Smallest round-trip time.
    pub min_rtt: u32,
    /// Retransmission time-out.
    pub rto: u32,
    /// Number of retransmitted segments.
    pub retransmissions: u32,
    /// Bytes that the peer acknowledged.
    pub acked: u64,
    /// Bytes received in order.
    pub received: u64,
    /// Estimated delivery rate in bit/s.
    pub delivery_rate: u64,
}

/// Opens a socket for queries in the calling thread's namespace.
pub(crate) fn open() -> io::Result<File> {
    const NETLINK_SOCK_DIAG: libc::c_int = 4;
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: the call has no pointers, and its result is checked below.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, NETLINK_SOCK_DIAG) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Calls `each` for every connection of a kernel. IPv6 sockets are queried too, because a program
/// that listens on an IPv6 socket has its IPv4 connections there as well.
pub(crate) fn dump(
    socket: &File,
    buffer: &mut [u8],
    mut each: impl FnMut(&[u8]),
) -> io::Result<()> {
    dump_family(socket, libc::AF_INET, buffer, &mut each)?;
    dump_family(socket, libc::AF_INET6, buffer, &mut each)
}

fn dump_family(
    mut socket: &File,
    family: libc::c_int,
    buffer: &mut [u8],
    each: &mut impl FnMut(&[u8]),
) -> io::Result<()> {
    let mut request = Vec::with_capacity(72);
    for (value, len) in [
        (72, 4),
        (u32::from(SOCK_DIAG_BY_FAMILY), 2),
        (u32::from(REQUEST_AND_DUMP), 2),
        (0, 4),
        (0, 4),
        (family as u32, 1),
        (libc::IPPROTO_TCP as u32, 1),
        (1 << (INET_DIAG_INFO - 1), 1),
        (0, 1),
        (STATES, 4),
    ] {
        request.extend_from_slice(&value.to_ne_bytes()[..len]);
    }
    // Zeros match any port and address.
    request.resize(72, 0);
    socket.write_all(&request)?;
    loop {
        let len = socket.read(buffer)?;
        let mut rest = &buffer[..len];
        while let Some((message, kind, next)) = cut(rest) {
            match kind {
                DONE => return Ok(()),
                SOCK_DIAG_BY_FAMILY => each(message),
                _ => return Err(io::Error::other("the kernel cannot tell of its sockets")),
            }
            rest = next;
        }
    }
}

/// Splits off the first netlink message. Returns its content, its type, and the remaining bytes.
fn cut(bytes: &[u8]) -> Option<(&[u8], u16, &[u8])> {
    let len = u32_at(bytes, 0)? as usize;
    let kind = u16_at(bytes, 4)?;
    let message = bytes.get(HEADER..len)?;
    let next = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
    Some((message, kind, next))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Parses an `inet_diag_msg` with a `tcp_info` among its attributes.
pub(crate) fn sample(message: &[u8], time: u64, host: usize) -> Option<Sample> {
    let is_ipv6 = libc::c_int::from(*message.first()?) == libc::AF_INET6;
    let end = |port: usize, address: usize| {
        let port = u16::from_be_bytes(message.get(port..port + 2)?.try_into().ok()?);
        let address: [u8; 16] = message.get(address..address + 16)?.try_into().ok()?;
        let [a, b, c, d, ..] = address;
        let address: IpAddr = if is_ipv6 {
            // An IPv4-mapped IPv6 address becomes an IPv4 address.
            Ipv6Addr::from(address).to_canonical()
        } else {
            Ipv4Addr::new(a, b, c, d).into()
        };
        Some(SocketAddr::new(address, port))
    };
    let (local, peer) = (end(4, 8)?, end(6, 24)?);
    let mut rest = message.get(MESSAGE..)?;
    let info = loop {
        let (len, kind) = (usize::from(u16_at(rest, 0)?), u16_at(rest, 2)?);
        let content = rest.get(4..len)?;
        if kind == INET_DIAG_INFO {
            break content;
        }
        rest = rest.get(len.next_multiple_of(4)..)?;
    };
    if info.len() < INFO {
        return None;
    }
    let field = |at| u32_at(info, at);
    let mss = field(16)?;
    let in_bytes = |segments: u32| u64::from(segments) * u64::from(mss);
    let (unacked, sacked, lost, again) = (field(24)?, field(28)?, field(32)?, field(36)?);
    let threshold = field(76)?;
    Some(Sample {
        time,
        host,
        local,
        peer,
        ca_state: info[1],
        backoff: info[4],
        mss,
        cwnd: in_bytes(field(80)?),
        ssthresh: (threshold < INFINITE).then(|| in_bytes(threshold)),
        flight: in_bytes((unacked + again).saturating_sub(sacked + lost)),
        srtt: field(68)?,
        rttvar: field(72)?,
        min_rtt: field(148)?,
        rto: field(8)?,
        retransmissions: field(100)?,
        acked: u64_at(info, 120)?,
        received: u64_at(info, 128)?,
        delivery_rate: 8 * u64_at(info, 160)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    /// Both ends of a connection of this process are found, with the kernel's initial values. A
    /// truncated message is refused.
    #[test]
    fn both_ends_of_a_connection_are_dumped() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        near.write_all(&[1; 1000]).unwrap();
        far.read_exact(&mut [0; 1000]).unwrap();
        let mut messages = Vec::new();
        dump(&open().unwrap(), &mut vec![0; 1 << 16], |m| {
            messages.push(m.to_vec());
        })
        .unwrap();
        let of = |stream: &TcpStream| {
            let local = stream.local_addr().unwrap();
            let measured = messages.iter().filter_map(|m| sample(m, 7, 3));
            let mut measured = measured.filter(|s| s.local == local);
            measured.next().unwrap()
        };
        let (near, far) = (of(&near), of(&far));
        assert_eq!((near.time, near.host, near.peer), (7, 3, far.local));
        assert_eq!((near.retransmissions, near.ssthresh), (0, None));
        assert_eq!(near.cwnd % u64::from(near.mss), 0);
        assert!(near.cwnd > 0 && near.rto >= 200_000);
        assert_eq!(far.received, 1000);
        let whole = messages.iter().max_by_key(|m| m.len()).unwrap();
        assert!((0..MESSAGE + INFO).all(|len| sample(&whole[..len], 0, 0).is_none()));
    }

    /// A program that listens on IPv6 has its IPv4 connections in an IPv6 socket. The kernel lists
    /// them with the IPv6 sockets, and their addresses are reported as IPv4.
    #[test]
    fn a_listener_of_ipv6_is_found_by_its_ipv4_address() {
        let Ok(listener) = TcpListener::bind("[::]:0") else {
            return; // a machine without IPv6
        };
        let to = ("127.0.0.1", listener.local_addr().unwrap().port());
        let near = TcpStream::connect(to).unwrap();
        let (_far, _) = listener.accept().unwrap();
        let mut list = Vec::new();
        dump(&open().unwrap(), &mut vec![0; 1 << 16], |m| {
            list.extend(sample(m, 0, 0));
        })
        .unwrap();
        let (near, far) = (near.local_addr().unwrap(), near.peer_addr().unwrap());
        for (local, peer) in [(near, far), (far, near)] {
            assert!(list.iter().any(|s| (s.local, s.peer) == (local, peer)));
        }
    }
}
