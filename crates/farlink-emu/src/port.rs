//! Ethernet port of the emulation to a machine that is a host: a packet socket on an interface, or
//! a TAP device at a bridge. Neither changes the interface, so nothing must be restored. The kernel
//! closes both with the process, however the process ends.

use crate::ethernet::{self, FrameResult, Mac, Station};
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

/// Maximum number of packets that wait while the machine's hardware address is unknown.
const WAITING: usize = 100;
/// Interval of ARP requests or neighbour solicitations (RFC 4861, 10: 1 s; RFC 826 sets none).
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);
/// Time for which a packet waits for address resolution: three requests, as in Linux (arp(7),
/// `mcast_solicit`).
const TIME_LIMIT: Duration = Duration::from_secs(3);
/// Interval of attempts to bind to an interface that has vanished.
const REBIND_INTERVAL: Duration = Duration::from_millis(500);
/// Receive buffer of the packet socket in bytes. It has room for fewer than [`tun::DEVICE_QUEUE`]
/// frames of minimum length.
const RECEIVE_BUFFER: libc::c_int = 3 << 20;
/// `PACKET_IGNORE_OUTGOING` of linux/if_packet.h (4.20), which libc lacks.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Ethernet port of a host.
#[derive(Debug)]
pub(crate) struct EthernetPort {
    file: File,
    times: Times,
    station: Station,
    /// Packets that wait for the machine's hardware address, each with its arrival time.
    waiting: VecDeque<(Instant, Vec<u8>)>,
    requested: Option<Instant>,
    frame: Vec<u8>,
    /// Numbers of delivered and refused packets since the last [`Self::flush`].
    written: Written,
    /// Attached interface; `None` for a port of a bridge.
    interface: Option<Interface>,
}

/// Attached interface, which may vanish and return.
#[derive(Debug)]
struct Interface {
    name: String,
    index: libc::c_int,
    /// Time of the last attempt to bind again; `None` while the interface works.
    bind_tried: Option<Instant>,
    /// Lock that excludes other emulations from the interface.
    _claim: OwnedFd,
}

impl Interface {
    /// Binds `file` to the interface. Returns whether it is another interface with the same name
    /// (its index has changed). Fails if the interface does not exist.
    fn enter(&mut self, file: &File) -> io::Result<bool> {
        let index = Control::open()?.index(&self.name)?;
        let is_other = index != self.index;
        if is_other {
            // In promiscuous mode, because frames for `mac` are not for the interface's own
            // address.
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
        // After the interface was down, the socket works again when it is up.
        self.bind_tried = None;
        Ok(is_other)
    }
}

/// Returns a random, locally administered hardware address, which is unique on an Ethernet with
/// high probability.
pub(crate) fn own_mac() -> Mac {
    let random = RandomState::new().build_hasher().finish();
    let [a, b, c, d, e, ..] = random.to_ne_bytes();
    Mac([0x0a, a, b, c, d, e])
}

impl EthernetPort {
    /// Opens a port on an interface, which receives frames for `mac` and for groups.
    pub(crate) fn of_interface(name: &str, mac: Mac, station: Station) -> io::Result<Self> {
        let claim = claim(name)?;
        let file = File::from(packet_socket::socket()?);
        set(&file, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1i32)?;
        set(&file, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1i32)?;
        // The default buffer has room for few packets.
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
            bind_tried: None,
            _claim: claim,
        };
        interface.enter(&file)?;
        Ok(Self::new(file, station, Times::OfSocket, Some(interface)))
    }

    /// Adds a port to a bridge. Returns the port and the name of its device.
    pub(crate) fn of_bridge(bridge: &str, station: Station) -> io::Result<(Self, String)> {
        let kind = libc::IFF_TAP | libc::IFF_VNET_HDR;
        let (file, name) = tun::open("farlink%d", kind)?;
        let control = Control::open()?;
        // The address begins with 0xfe so that the bridge does not use it. A bridge takes the
        // lowest address of its ports.
        let Mac([_, a, b, c, d, e]) = own_mac();
        control.set_hardware(&name, [0xfe, a, b, c, d, e])?;
        // The kernel must not send IPv6 packets on this device. Without IPv6 in the kernel, the
        // file does not exist.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
        // A port with a smaller MTU would lower the bridge's MTU.
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
            requested: None,
            frame: Vec::new(),
            written: Written::default(),
            interface,
        }
    }

    /// Reads once, as [`crate::host::Port::read`] does. Answers ARP requests and neighbour
    /// solicitations.
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
            // The interface went down or vanished, or a packet was too long for the socket. The run
            // continues, because the interface may return.
            Err(e) if is_of_interface(&e) => {
                self.mark_unavailable();
                return Ok(Read::Packets(None));
            }
            Err(e) => return Err(e),
        };
        let Some(frame) = scratch.get(HEADER..len) else {
            return Ok(Read::Packets(stamp));
        };
        let stamp = stamp.or_else(|| self.times.of_packet(frame));
        let result = self.station.on_frame(frame);
        if let FrameResult::Answer(frame) = &result {
            self.send(&[], frame)?;
        }
        if !self.waiting.is_empty() {
            self.send_waiting()?;
        }
        if result == FrameResult::Packet {
            let (head, behind) = scratch[..len].split_at_mut(ethernet::HEADER);
            let head: [u8; HEADER] = head[..HEADER].try_into().unwrap_or_default();
            behind[..HEADER].copy_from_slice(&without_frame(head));
            offload::split(behind, buffer, each);
        }
        Ok(Read::Packets(stamp))
    }

    /// Sends a packet, or stores it until the machine's hardware address is known.
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
        self.request_address(packet[0] >> 4 == 6)
    }

    /// Requests the machine's hardware address, at most once per [`REQUEST_INTERVAL`].
    fn request_address(&mut self, ipv6: bool) -> io::Result<()> {
        if self
            .requested
            .is_none_or(|at| at.elapsed() >= REQUEST_INTERVAL)
        {
            self.requested = Some(Instant::now());
            let question = self.station.request(ipv6);
            self.send(&[], &question)?;
        }
        Ok(())
    }

    /// Returns the numbers of delivered and refused packets since the last call. While packets
    /// wait, the address is requested again. If the interface has vanished, tries to bind to it
    /// again.
    pub(crate) fn flush(&mut self) -> io::Result<Written> {
        while let Some((since, packet)) = self.waiting.front() {
            if since.elapsed() < TIME_LIMIT {
                let ipv6 = packet[0] >> 4 == 6;
                self.request_address(ipv6)?;
                break;
            }
            self.waiting.pop_front();
            self.written.refused += 1;
        }
        if let Some(interface) = &mut self.interface
            && let Some(at) = interface.bind_tried
            && at.elapsed() >= REBIND_INTERVAL
        {
            interface.bind_tried = Some(Instant::now());
            // Fails while the interface does not exist, and is retried later.
            if interface.enter(&self.file).unwrap_or(false) {
                // Another machine may be behind the new interface.
                self.station.clear_peer();
            }
        }
        Ok(std::mem::take(&mut self.written))
    }

    fn mark_unavailable(&mut self) {
        if let Some(interface) = &mut self.interface {
            interface.bind_tried.get_or_insert_with(Instant::now);
        }
    }

    /// Returns the number of packets that wait for the machine's hardware address.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Returns the number of packets that the socket dropped since the last call because its buffer
    /// was full. Returns 0 for a port of a bridge, because the bridge's device counts them.
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
        // SAFETY: both pointers refer to values of the given sizes.
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

    /// Sends a frame of two parts. No checksum and no segmentation is left to the device.
    fn send(&mut self, header: &[u8], rest: &[u8]) -> io::Result<Written> {
        self.frame.clear();
        self.frame.extend([0; HEADER]);
        self.frame.extend_from_slice(header);
        self.frame.extend_from_slice(rest);
        match put(&self.file, &self.frame, 1) {
            Err(e) if is_of_interface(&e) => {
                self.mark_unavailable();
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

/// Returns whether an error only means that the interface cannot currently send or receive.
fn is_of_interface(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(
        number,
        Some(Errno::ENETDOWN | Errno::ENXIO | Errno::ENODEV | Errno::EMSGSIZE | Errno::EINVAL)
    )
}

/// Converts the virtio header of a frame into that of its packet: subtracts the length of the
/// Ethernet header from lengths and offsets.
fn without_frame(mut head: [u8; HEADER]) -> [u8; HEADER] {
    for at in [2, 6] {
        let count = u16::from_ne_bytes([head[at], head[at + 1]]);
        let less = count.saturating_sub(ethernet::HEADER as u16);
        head[at..at + 2].copy_from_slice(&less.to_ne_bytes());
    }
    head
}

/// Locks an interface for this emulation until the result is closed. The lock is an abstract Unix
/// socket, whose name is unique within a network namespace (unix(7)).
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
    // SAFETY: the call has no pointers. The result is checked, and has no other owner.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    // SAFETY: checked, and just opened.
    let fd = unsafe { OwnedFd::from_raw_fd(Errno::result(fd)?) };
    // SAFETY: the address outlives the call and is at least as long as stated.
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

/// Builds a BPF filter that passes only frames for `mac` or for groups, so that other traffic does
/// not wake the emulation.
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
