//! Arrival times of packets at a TUN device. A packet socket on the device gets a copy of each
//! packet with the kernel's time stamp. The first bytes of a packet identify its copy.

use crate::interface::Control;
use crate::packet_socket::{CONTROL, DayTime, bind, set, set_filter, socket, stamp_of, step};
use crate::tun::DEVICE_QUEUE;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Number of leading bytes that are compared, enough for the IP and TCP headers.
const COMPARED: usize = 64;
/// Number of stamps read by one system call.
const AT_ONCE: usize = 32;
/// Receive buffer of the packet socket in bytes, for more packets of 1,500 bytes than the device
/// queue holds ([`DEVICE_QUEUE`]). The buffer costs no memory, because socket and device share the
/// packets.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;
/// Maximum number of stamps without a packet: one per packet of a full device, and as many for
/// packets that the device dropped.
const WAITING: usize = 2 * DEVICE_QUEUE as usize;

/// Result of reading a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Read {
    /// No packet to read.
    Nothing,
    /// Packets that arrived together, and their arrival time if known.
    Packets(Option<DayTime>),
}

/// Source of the arrival times of a port's packets.
#[derive(Debug)]
pub(crate) enum Times {
    /// Packet socket as the device, which gives the time with each packet.
    OfSocket,
    /// Packet socket in addition to the device; `None` if unwanted or not available.
    Of(Option<Stamps>),
}

impl Times {
    /// Opens the source for a device in the calling thread's network namespace. Without a source,
    /// packets get the time of the read, and the reported lateness includes the longest time that
    /// they may have waited.
    pub(crate) fn of_device(name: &str, timed: bool) -> Self {
        let stamps = timed.then(|| Stamps::of(name).ok());
        Self::Of(stamps.flatten())
    }

    /// As [`Stamps::of_packet`].
    pub(crate) fn of_packet(&mut self, packet: &[u8]) -> Option<DayTime> {
        match self {
            Self::Of(Some(stamps)) => stamps.of_packet(packet),
            Self::Of(None) | Self::OfSocket => None,
        }
    }

    /// Discards all stamps. The device is empty, so their packets were dropped.
    pub(crate) fn drained(&mut self) {
        if let Self::Of(Some(stamps)) = self {
            stamps.pending.clear();
        }
    }
}

/// Arrival times of the packets of one device.
#[derive(Debug)]
pub(crate) struct Stamps {
    socket: OwnedFd,
    /// Stamps of packets that were not read from the device yet, oldest first.
    pending: VecDeque<Stamp>,
}

#[derive(Clone, Copy, Debug)]
struct Stamp {
    at: DayTime,
    length: u8,
    bytes: [u8; COMPARED],
}

impl Stamps {
    /// Opens a packet socket on a device in the calling thread's network namespace.
    fn of(device: &str) -> io::Result<Self> {
        let socket = socket()?;
        set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32)?;
        set(
            &socket,
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            &RECEIVE_BUFFER,
        )?;
        set_filter(&socket, &mut only_sent())?;
        bind(&socket, Control::open()?.index(device)?)?;
        Ok(Self {
            socket,
            pending: VecDeque::new(),
        })
    }

    /// Returns the arrival time of a packet that was just read from the device. Older stamps are
    /// discarded, because the device dropped their packets.
    fn of_packet(&mut self, packet: &[u8]) -> Option<DayTime> {
        let entry = match self.find(0, packet) {
            Some(entry) => entry,
            None => loop {
                let known = self.pending.len();
                self.read_stamps();
                if let Some(entry) = self.find(known, packet) {
                    break entry;
                }
                if self.pending.len() < known + AT_ONCE {
                    return None;
                }
            },
        };
        let at = self.pending[entry].at;
        self.pending.drain(..=entry);
        Some(at)
    }

    fn find(&self, from: usize, packet: &[u8]) -> Option<usize> {
        let first = &packet[..packet.len().min(COMPARED)];
        let mut stamps = self.pending.iter().skip(from);
        let place = stamps.position(|stamp| stamp.bytes[..usize::from(stamp.length)] == *first);
        place.map(|at| from + at)
    }

    /// Reads the stamps that wait at the socket, up to [`AT_ONCE`].
    fn read_stamps(&mut self) {
        let mut bytes = [[0; COMPARED]; AT_ONCE];
        let mut control = [[0u64; CONTROL]; AT_ONCE];
        // SAFETY: structures of C, for which zero is a value.
        let mut vectors: [libc::iovec; AT_ONCE] = unsafe { std::mem::zeroed() };
        // SAFETY: all-zero bytes are valid values of this type.
        let mut messages: [libc::mmsghdr; AT_ONCE] = unsafe { std::mem::zeroed() };
        for i in 0..AT_ONCE {
            vectors[i].iov_base = bytes[i].as_mut_ptr().cast();
            vectors[i].iov_len = COMPARED;
            let header = &mut messages[i].msg_hdr;
            header.msg_iov = &raw mut vectors[i];
            header.msg_iovlen = 1;
            header.msg_control = control[i].as_mut_ptr().cast();
            header.msg_controllen = size_of_val(&control[i]) as _;
        }
        // SAFETY: the array has the given number of messages, and their buffers outlive the call.
        let got = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                AT_ONCE as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        // A socket error, for example because the interface went down, means that there are no
        // stamps.
        let got = usize::try_from(got).unwrap_or_default();
        for (message, bytes) in messages[..got].iter().zip(bytes) {
            // SAFETY: the header is that of a received message, and its control buffer is alive.
            let Some(at) = (unsafe { stamp_of(&message.msg_hdr) }) else {
                continue;
            };
            self.pending.push_back(Stamp {
                at,
                length: (message.msg_len as usize).min(COMPARED) as u8,
                bytes,
            });
        }
        let more = self.pending.len().saturating_sub(WAITING);
        self.pending.drain(..more);
    }
}

/// Returns a filter that passes the first [`COMPARED`] bytes of packets sent by the host's kernel.
/// Packets that the emulation writes to the device are dropped, because the socket gets copies of
/// them too.
fn only_sent() -> [libc::sock_filter; 4] {
    let kind = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let sent = u32::from(libc::PACKET_OUTGOING);
    [
        step(libc::BPF_LD | libc::BPF_ABS | libc::BPF_B, 0, 0, kind),
        step(equal, 0, 1, sent),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, COMPARED as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn stamps(of: &[(u64, &[u8])]) -> Stamps {
        let stamp = |&(at, packet): &(u64, &[u8])| {
            let mut bytes = [0; COMPARED];
            bytes[..packet.len()].copy_from_slice(packet);
            Stamp {
                at: DayTime(at),
                length: packet.len() as u8,
                bytes,
            }
        };
        Stamps {
            // A socket from which nothing can be read.
            socket: File::open("/dev/null").unwrap().into(),
            pending: of.iter().map(stamp).collect(),
        }
    }

    /// Packets are read in the order of arrival. The stamp of a dropped packet is skipped, and a
    /// packet without a stamp has no time.
    #[test]
    fn each_packet_gets_its_own_time_stamp() {
        let mut stamps = stamps(&[(1, b"a"), (2, b"dropped"), (3, b"c"), (4, b"c"), (5, b"d")]);
        assert_eq!(stamps.of_packet(b"a"), Some(DayTime(1)));
        assert_eq!(stamps.of_packet(b"lost"), None);
        assert_eq!(stamps.of_packet(b"c"), Some(DayTime(3)));
        assert_eq!(stamps.of_packet(b"c"), Some(DayTime(4)));
        assert_eq!(stamps.of_packet(b"c"), None);
        let mut times = Times::Of(Some(stamps));
        times.drained();
        assert_eq!(times.of_packet(b"d"), None);
    }

    /// Long packets are identified by their first [`COMPARED`] bytes. A short packet is not identified
    /// with a longer packet with the same beginning.
    #[test]
    fn stamps_match_by_the_first_64_bytes() {
        let mut stamps = stamps(&[(1, &[7; COMPARED]), (2, &[7; 3])]);
        assert_eq!(stamps.of_packet(&[7; 4]), None);
        assert_eq!(stamps.of_packet(&[7; 1500]), Some(DayTime(1)));
        assert_eq!(stamps.of_packet(&[7; 3]), Some(DayTime(2)));
    }
}
