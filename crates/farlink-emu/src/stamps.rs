//! Arrival times of packets at a device. A packet socket sees each packet as the kernel hands it to
//! the device, with the time. Packets read from the device are found among these by their first
//! bytes.

use crate::interface::Control;
use crate::packet_socket::{CONTROL, DayTime, bind, set, set_filter, socket, stamp_of, step};
use crate::tun::DEVICE_QUEUE;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// So much of a packet is compared: the headers of IP and TCP.
const KEPT: usize = 64;
/// Stamps that are read at once.
const AT_ONCE: usize = 32;
/// Memory of packets whose stamps wait to be read, in bytes: for some more than a device holds
/// ([`DEVICE_QUEUE`]) of 1,500 bytes. It is shared with the device: a limit, no cost.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;
/// Most stamps that wait for their packets: those of a full device, and as many whose packets it
/// dropped.
const WAITING: usize = 2 * DEVICE_QUEUE as usize;

/// Result of a read of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Read {
    /// Nothing.
    Nothing,
    /// Packets that came together, at this time if that is known.
    Packets(Option<DayTime>),
}

/// Source of the arrival times of a port's packets.
#[derive(Debug)]
pub(crate) enum Times {
    /// Packet socket, which gives the time with each packet.
    OfSocket,
    /// A socket beside the device tells it; where none could be opened, nothing does.
    Of(Option<Stamps>),
}

impl Times {
    /// Opens the source for a device in the network namespace of the calling thread. Where the
    /// packets cannot be seen, their time is that of the read, and the run's lateness says how long
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

    /// The device held nothing: what was not read from it by now, it dropped.
    pub(crate) fn drained(&mut self) {
        if let Self::Of(Some(stamps)) = self {
            stamps.came.clear();
        }
    }
}

/// The times of the packets of one device.
#[derive(Debug)]
pub(crate) struct Stamps {
    socket: OwnedFd,
    /// Packets that arrived and were not yet read from the device, oldest first.
    came: VecDeque<Stamp>,
}

#[derive(Clone, Copy, Debug)]
struct Stamp {
    at: DayTime,
    length: u8,
    bytes: [u8; KEPT],
}

impl Stamps {
    /// Opens a packet socket on a device in the network namespace of the calling thread.
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
            came: VecDeque::new(),
        })
    }

    /// Returns the arrival time of a packet just read from the device. Earlier packets that were
    /// never read were dropped by the device.
    fn of_packet(&mut self, packet: &[u8]) -> Option<DayTime> {
        let entry = match self.find(0, packet) {
            Some(entry) => entry,
            None => loop {
                let known = self.came.len();
                self.take();
                if let Some(entry) = self.find(known, packet) {
                    break entry;
                }
                if self.came.len() < known + AT_ONCE {
                    return None;
                }
            },
        };
        let at = self.came[entry].at;
        self.came.drain(..=entry);
        Some(at)
    }

    fn find(&self, from: usize, packet: &[u8]) -> Option<usize> {
        let first = &packet[..packet.len().min(KEPT)];
        let mut stamps = self.came.iter().skip(from);
        let place = stamps.position(|stamp| stamp.bytes[..usize::from(stamp.length)] == *first);
        place.map(|at| from + at)
    }

    /// Takes what the socket has, as far as one call can.
    fn take(&mut self) {
        let mut bytes = [[0; KEPT]; AT_ONCE];
        let mut control = [[0u64; CONTROL]; AT_ONCE];
        // SAFETY: structures of C, for which zero is a value.
        let mut vectors: [libc::iovec; AT_ONCE] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; AT_ONCE] = unsafe { std::mem::zeroed() };
        for i in 0..AT_ONCE {
            vectors[i].iov_base = bytes[i].as_mut_ptr().cast();
            vectors[i].iov_len = KEPT;
            let header = &mut messages[i].msg_hdr;
            header.msg_iov = &raw mut vectors[i];
            header.msg_iovlen = 1;
            header.msg_control = control[i].as_mut_ptr().cast();
            header.msg_controllen = size_of_val(&control[i]) as _;
        }
        // SAFETY: as many messages as it says, whose buffers outlive the call.
        let got = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                AT_ONCE as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        // Whatever the socket says instead of stamps (the interface went down): there are none.
        let got = usize::try_from(got).unwrap_or_default();
        for (message, bytes) in messages[..got].iter().zip(bytes) {
            // SAFETY: the header of a message that was received, with its control buffer.
            let Some(at) = (unsafe { stamp_of(&message.msg_hdr) }) else {
                continue;
            };
            self.came.push_back(Stamp {
                at,
                length: (message.msg_len as usize).min(KEPT) as u8,
                bytes,
            });
        }
        let more = self.came.len().saturating_sub(WAITING);
        self.came.drain(..more);
    }
}

/// Only what the kernel sends is seen, and of that no more than is compared: what the emulation
/// writes to the device passes the socket as well.
fn only_sent() -> [libc::sock_filter; 4] {
    let kind = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let sent = u32::from(libc::PACKET_OUTGOING);
    [
        step(libc::BPF_LD | libc::BPF_ABS | libc::BPF_B, 0, 0, kind),
        step(equal, 0, 1, sent),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, KEPT as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn stamps(of: &[(u64, &[u8])]) -> Stamps {
        let stamp = |&(at, packet): &(u64, &[u8])| {
            let mut bytes = [0; KEPT];
            bytes[..packet.len()].copy_from_slice(packet);
            Stamp {
                at: DayTime(at),
                length: packet.len() as u8,
                bytes,
            }
        };
        Stamps {
            // Nothing ever comes to it.
            socket: File::open("/dev/null").unwrap().into(),
            came: of.iter().map(stamp).collect(),
        }
    }

    /// Packets are read in the order in which they came; one that the device dropped has a stamp
    /// that nobody asks for, and one whose stamp was lost takes nobody else's.
    #[test]
    fn a_packet_has_its_own_stamp() {
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

    /// The first bytes identify a long packet, and a short packet does not match a longer one that
    /// begins alike.
    #[test]
    fn the_first_bytes_are_compared_and_the_length_below_them() {
        let mut stamps = stamps(&[(1, &[7; KEPT]), (2, &[7; 3])]);
        assert_eq!(stamps.of_packet(&[7; 4]), None);
        assert_eq!(stamps.of_packet(&[7; 1500]), Some(DayTime(1)));
        assert_eq!(stamps.of_packet(&[7; 3]), Some(DayTime(2)));
    }
}
