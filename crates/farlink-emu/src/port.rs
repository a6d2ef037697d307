//! A machine on an Ethernet as a host: its frames, from an interface of this machine (packet(7))
//! or from a port that a bridge gets (TAP). Neither changes anything of the interface that would
//! have to be put back: socket and port are gone with the process, however it ends.

use crate::ethernet::{self, Mac, Seen, Station};
use crate::interface::Control;
use crate::offload::{self, HEADER};
use crate::packet_socket::{self, set, set_filter, step};
use crate::stamps::{Read, Times};
use crate::tun::{self, Written, put};
use farlink_wire::Raw;
use nix::errno::Errno;
use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Packets that wait until it is known where the machine is.
const WAITING: usize = 100;
/// Time between two questions where it is (RFC 826 leaves it open; RFC 4861, 10: 1 s).
const ASKED_EACH: Duration = Duration::from_secs(1);
/// Time for which a packet waits for a neighbour's answer: three questions, as Linux asks (arp(7),
/// `mcast_solicit`). A later packet would be stale.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two looks for an interface that is away.
const LOOKED_EACH: Duration = Duration::from_millis(500);
/// Memory for frames that are not read yet, in bytes: for fewer than
/// [`tun::DEVICE_QUEUE`] of the least size.
const RECEIVE_BUFFER: libc::c_int = 3 << 20;
/// `PACKET_IGNORE_OUTGOING` of linux/if_packet.h (4.20), which libc lacks.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// The Ethernet of a host.
#[derive(Debug)]
pub(crate) struct EthernetPort {
    file: File,
    times: Times,
    station: Station,
    /// Packets for a machine that is not found yet, and since when.
    waiting: VecDeque<(Instant, Vec<u8>)>,
    asked: Option<Instant>,
    frame: Vec<u8>,
    /// Outcomes of packets since the last call.
    written: Written,
    /// Interface of the port; none for a port of a bridge.
    interface: Option<Interface>,
}

/// An interface that is attached, while it is there and when it comes back.
#[derive(Debug)]
struct Interface {
    name: String,
    index: libc::c_int,
    /// Time of the last look for the interface, if it may be away.
    looked: Option<Instant>,
    /// No other emulation may have it.
    _claim: OwnedFd,
}

impl Interface {
    /// Lets `file` see its frames, if it is there; whether it is another one than before.
    fn enter(&mut self, file: &File) -> io::Result<bool> {
        let index = Control::open()?.index(&self.name)?;
        let is_other = index != self.index;
        if is_other {
            // Frames for an address that the interface has not: all have to be looked at.
            let promiscuous = libc::packet_mreq {
                mr_ifindex: index,
                mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            let join = libc::PACKET_ADD_MEMBERSHIP;
            set(file, libc::SOL_PACKET, join, &promiscuous)?;
            packet_socket::bind(file, index)?;
            self.index = index;
        }
        // With one that is down the kernel goes on by itself when it is taken up.
        self.looked = None;
        Ok(is_other)
    }
}

/// A hardware address of the emulation's own: locally administered, and of random numbers, so that
/// no two on an Ethernet are the same.
pub(crate) fn own_mac() -> Mac {
    let random = RandomState::new().build_hasher().finish();
    let [a, b, c, d, e, ..] = random.to_ne_bytes();
    Mac([0x0a, a, b, c, d, e])
}

impl EthernetPort {
    /// Opens a port on an interface. Frames for `mac` and for groups arrive at it.
    pub(crate) fn of_interface(name: &str, mac: Mac, station: Station) -> io::Result<Self> {
        let claim = claim(name)?;
        let file = File::from(packet_socket::socket()?);
        set(&file, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1i32)?;
        set(&file, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1i32)?;
        // The usual limit holds few packets.
        set(
            &file,
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            &RECEIVE_BUFFER,
        )?;
        set(&file, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32)?;
        set_filter(&file, &mut only_for(mac))?;
        let mut interface = Interface {
            name: name.to_owned(),
            index: 0,
            looked: None,
            _claim: claim,
        };
        interface.enter(&file)?;
        Ok(Self::new(file, station, Times::OfSocket, Some(interface)))
    }

    /// A new port of a bridge.
    pub(crate) fn of_bridge(bridge: &str, station: Station) -> io::Result<(Self, String)> {
        let kind = libc::IFF_TAP | libc::IFF_VNET_HDR;
        let (file, name) = tun::open("farlink%d", kind)?;
        let control = Control::open()?;
        // High, so that a bridge which takes the least address of its ports keeps its own.
        let Mac([_, a, b, c, d, e]) = own_mac();
        control.set_hardware(&name, [0xfe, a, b, c, d, e])?;
        // The kernel is to send nothing of its own there. Without IPv6 there is no such file.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
        // A bridge whose port takes less would take less itself.
        control.mtu(&name, control.mtu_of(bridge)?)?;
        control.queue(&name, tun::DEVICE_QUEUE)?;
        control.join(bridge, &name)?;
        control.up(&name)?;
        let times = Times::of_device(&name, true);
        Ok((Self::new(file, station, times, None), name))
    }

    fn new(file: File, station: Station, times: Times, interface: Option<Interface>) -> Self {
        Self {
            file,
            times,
            station,
            waiting: VecDeque::new(),
            asked: None,
            frame: Vec::new(),
            written: Written::default(),
            interface,
        }
    }

    /// As [`crate::host::Port::read`]; answers what is for the emulation itself.
    pub(crate) fn read(
        &mut self,
        scratch: &mut [u8],
        buffer: impl FnMut() -> Vec<u8>,
        each: impl FnMut(Vec<u8>, bool),
    ) -> io::Result<Read> {
        let read = match &self.times {
            Times::OfSocket => packet_socket::read(&self.file, scratch),
            Times::Of(_) => self.file.read(scratch).map(|len| (len, None)),
        };
        let (len, stamp) = match read {
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.times.drained();
                return Ok(Read::Nothing);
            }
            // The interface went down or away, or a packet was of a kind that the socket cannot
            // pass: the run goes on, and the interface may come back.
            Err(e) if is_of_interface(&e) => {
                self.may_be_away();
                return Ok(Read::Packets(None));
            }
            Err(e) => return Err(e),
        };
        let Some(frame) = scratch.get(HEADER..len) else {
            return Ok(Read::Packets(stamp));
        };
        let came = stamp.or_else(|| self.times.of_packet(frame));
        let seen = self.station.see(frame);
        if let Seen::Answer(frame) = &seen {
            self.send(&[], frame)?;
        }
        if !self.waiting.is_empty() {
            self.send_waiting()?;
        }
        if seen == Seen::Packet {
            let (head, behind) = scratch[..len].split_at_mut(ethernet::HEADER);
            let head: [u8; HEADER] = head[..HEADER].try_into().unwrap_or_default();
            behind[..HEADER].copy_from_slice(&without_frame(head));
            offload::split(behind, buffer, each);
        }
        Ok(Read::Packets(came))
    }

    /// Writes a packet, or keeps it until it is known where the machine is.
    pub(crate) fn write(&mut self, raw: &Raw) -> io::Result<()> {
        let packet = raw.bytes();
        if let Some(header) = self.station.header(packet) {
            let written = self.send(&header, packet)?;
            self.written.delivered += written.delivered;
            self.written.refused += written.refused;
            return Ok(());
        }
        if self.waiting.len() == WAITING {
            self.waiting.pop_front();
            self.written.refused += 1;
        }
        self.waiting.push_back((Instant::now(), packet.to_vec()));
        self.ask(packet[0] >> 4 == 6)
    }

    /// Asks where the machine is, if it was not asked a moment ago.
    fn ask(&mut self, ipv6: bool) -> io::Result<()> {
        if self.asked.is_none_or(|at| at.elapsed() >= ASKED_EACH) {
            self.asked = Some(Instant::now());
            let question = self.station.question(ipv6);
            self.send(&[], &question)?;
        }
        Ok(())
    }

    /// Returns the outcomes of packets since the last call. Asks for the machine while packets wait
    /// for it, and for the interface if that is away.
    pub(crate) fn flush(&mut self) -> io::Result<Written> {
        while let Some((since, packet)) = self.waiting.front() {
            if since.elapsed() < PATIENCE {
                let ipv6 = packet[0] >> 4 == 6;
                self.ask(ipv6)?;
                break;
            }
            self.waiting.pop_front();
            self.written.refused += 1;
        }
        if let Some(interface) = &mut self.interface
            && let Some(at) = interface.looked
            && at.elapsed() >= LOOKED_EACH
        {
            interface.looked = Some(Instant::now());
            // One that is not there yet may be the next time.
            if interface.enter(&self.file).unwrap_or(false) {
                // What is behind it may be another machine.
                self.station.forget();
            }
        }
        Ok(std::mem::take(&mut self.written))
    }

    fn may_be_away(&mut self) {
        if let Some(interface) = &mut self.interface {
            interface.looked.get_or_insert_with(Instant::now);
        }
    }

    /// Packets that wait for a machine that has not been found.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Packets that came faster than they were read, since the last call; 0 for a port of a
    /// bridge, whose device counts them.
    pub(crate) fn overflowed(&self) -> u64 {
        /// `struct tpacket_stats`.
        #[repr(C)]
        struct Stats {
            packets: libc::c_uint,
            drops: libc::c_uint,
        }
        let mut stats = Stats {
            packets: 0,
            drops: 0,
        };
        let mut len = size_of::<Stats>() as libc::socklen_t;
        // SAFETY: both pointers are to values of the sizes given.
        let failed = unsafe {
            libc::getsockopt(
                self.file.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut len,
            )
        };
        if failed == 0 {
            u64::from(stats.drops)
        } else {
            0
        }
    }

    fn send_waiting(&mut self) -> io::Result<()> {
        while let Some((since, packet)) = self.waiting.pop_front() {
            let Some(header) = self.station.header(&packet) else {
                self.waiting.push_front((since, packet));
                break;
            };
            let written = self.send(&header, &packet)?;
            self.written.delivered += written.delivered;
            self.written.refused += written.refused;
        }
        Ok(())
    }

    /// A frame of these parts leaves, with nothing for the device to finish.
    fn send(&mut self, header: &[u8], rest: &[u8]) -> io::Result<Written> {
        self.frame.clear();
        self.frame.extend([0; HEADER]);
        self.frame.extend_from_slice(header);
        self.frame.extend_from_slice(rest);
        match put(&self.file, &self.frame, 1) {
            Err(e) if is_of_interface(&e) => {
                self.may_be_away();
                Ok(Written {
                    delivered: 0,
                    refused: 1,
                })
            }
            other => other,
        }
    }
}

impl AsFd for EthernetPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns whether an error only says that the interface takes or gives no packets now.
fn is_of_interface(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(
        number,
        Some(Errno::ENETDOWN | Errno::ENXIO | Errno::ENODEV | Errno::EMSGSIZE | Errno::EINVAL)
    )
}

/// The header for offload of a frame as that of the packet inside: lengths and places count from
/// the packet's start.
fn without_frame(mut head: [u8; HEADER]) -> [u8; HEADER] {
    for at in [2, 6] {
        let count = u16::from_ne_bytes([head[at], head[at + 1]]);
        let less = count.saturating_sub(ethernet::HEADER as u16);
        head[at..at + 2].copy_from_slice(&less.to_ne_bytes());
    }
    head
}

/// Takes an interface for this emulation alone, until the result is closed: an abstract socket,
/// of which a network namespace has one of each name (unix(7)).
fn claim(interface: &str) -> io::Result<OwnedFd> {
    let mut address = libc::sockaddr_un {
        sun_family: libc::AF_UNIX as libc::sa_family_t,
        sun_path: [0; 108],
    };
    let name = format!("farlink/attach/{interface}");
    for (to, from) in address.sun_path[1..].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let len = size_of::<libc::sa_family_t>() + 1 + name.len();
    // SAFETY: no pointers; the result is checked and owned by nobody else.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    // SAFETY: checked, and just opened.
    let fd = unsafe { OwnedFd::from_raw_fd(Errno::result(fd)?) };
    // SAFETY: an address that outlives the call, at least as long as it says.
    let bound = unsafe {
        libc::bind(
            fd.as_raw_fd(),
            (&raw const address).cast(),
            len as libc::socklen_t,
        )
    };
    Errno::result(bound)?;
    Ok(fd)
}

/// Builds a filter that hides frames that are neither for `mac` nor for groups, so that a busy wire
/// does not wake the emulation.
fn only_for(mac: Mac) -> [libc::sock_filter; 8] {
    let [a, b, c, d, e, f] = mac.0;
    let load = libc::BPF_LD | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    [
        step(load | libc::BPF_B, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 4, 0, 1), // of many
        step(load | libc::BPF_W, 0, 0, 0),
        step(equal, 0, 3, u32::from_be_bytes([a, b, c, d])),
        step(load | libc::BPF_H, 0, 0, 4),
        step(equal, 0, 1, u32::from_be_bytes([0, 0, e, f])),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ]
}
