//! Configuration of network interfaces (addresses, routes, state) with the ioctls of netdevice(7),
//! so the programs `ip addr`, `ip link` and `ip route` are not needed.

use nix::errno::Errno;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Prefix length of the IPv6 network of all hosts.
pub(crate) const IPV6_PREFIX: u32 = 64;

/// `struct ifreq`: an interface name and a union, of which each ioctl uses one field.
#[repr(C)]
struct Request {
    name: [libc::c_char; libc::IFNAMSIZ],
    value: Value,
}

#[repr(C)]
union Value {
    address: libc::sockaddr_in,
    flags: libc::c_short,
    number: libc::c_int,
    hardware: libc::sockaddr,
    rest: [u8; 24],
}

fn request(name: &str) -> Request {
    let mut out = Request {
        name: [0; libc::IFNAMSIZ],
        value: Value { rest: [0; 24] },
    };
    for (to, from) in out
        .name
        .iter_mut()
        .zip(name.bytes().take(libc::IFNAMSIZ - 1))
    {
        *to = from as libc::c_char;
    }
    out
}

fn sockaddr(address: Ipv4Addr) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr {
            s_addr: u32::from(address).to_be(),
        },
        sin_zero: [0; 8],
    }
}

/// Socket for ioctls in the calling thread's namespace.
pub(crate) struct Control(OwnedFd);

impl Control {
    pub(crate) fn open() -> io::Result<Self> {
        Self::of(libc::AF_INET)
    }

    fn of(family: libc::c_int) -> io::Result<Self> {
        // SAFETY: the call has no pointers. The result is checked, and has no other owner.
        let fd = unsafe { libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        let fd = Errno::result(fd)?;
        // SAFETY: just opened.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    fn ioctl(&self, what: libc::c_ulong, request: &mut Request) -> io::Result<()> {
        // SAFETY: callers fill the field that the ioctl `what` reads. The fields that the ioctl
        // writes have no invalid values.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), what as libc::Ioctl, &raw mut *request) };
        Errno::result(result)?;
        Ok(())
    }

    /// Sets an interface's IPv4 address and network mask.
    pub(crate) fn address(&self, name: &str, address: Ipv4Addr, mask: Ipv4Addr) -> io::Result<()> {
        let mut r = request(name);
        r.value.address = sockaddr(address);
        self.ioctl(libc::SIOCSIFADDR, &mut r)?;
        r.value.address = sockaddr(mask);
        self.ioctl(libc::SIOCSIFNETMASK, &mut r)
    }

    /// Adds an IPv4 default route through an interface.
    pub(crate) fn default_route(&self, name: &str) -> io::Result<()> {
        let mut device = request(name).name;
        // SAFETY: a C structure of numbers and pointers, for which all zeros are valid.
        let mut route: libc::rtentry = unsafe { std::mem::zeroed() };
        let anywhere = sockaddr(Ipv4Addr::UNSPECIFIED);
        // SAFETY: `sockaddr_in` and `sockaddr` have the same size.
        let anywhere =
            unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(anywhere) };
        (route.rt_dst, route.rt_genmask) = (anywhere, anywhere);
        route.rt_flags = libc::RTF_UP;
        route.rt_dev = device.as_mut_ptr();
        // SAFETY: a whole `struct rtentry` and the name to which it points outlive the call.
        let done = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SIOCADDRT as libc::Ioctl,
                &raw const route,
            )
        };
        Errno::result(done)?;
        Ok(())
    }

    /// Adds an IPv6 default route through an interface.
    pub(crate) fn default_route6(&self, name: &str) -> io::Result<()> {
        /// `struct in6_rtmsg` (linux/ipv6_route.h).
        #[repr(C)]
        #[derive(Default)]
        struct Route6 {
            to: [u8; 16],
            from: [u8; 16],
            gateway: [u8; 16],
            kind: u32,
            to_bits: u16,
            from_bits: u16,
            metric: u32,
            info: libc::c_ulong,
            flags: u32,
            interface: libc::c_int,
        }
        let route = Route6 {
            flags: u32::from(libc::RTF_UP),
            interface: self.index(name)?,
            ..Route6::default()
        };
        let socket = Self::of(libc::AF_INET6)?;
        // SAFETY: a whole `struct in6_rtmsg` that outlives the call.
        let done = unsafe {
            libc::ioctl(
                socket.0.as_raw_fd(),
                libc::SIOCADDRT as libc::Ioctl,
                &raw const route,
            )
        };
        Errno::result(done)?;
        Ok(())
    }

    /// Adds an IPv6 address with a prefix of this length to an interface.
    pub(crate) fn address6(&self, name: &str, address: Ipv6Addr, prefix: u32) -> io::Result<()> {
        /// `struct in6_ifreq` (linux/ipv6.h).
        #[repr(C)]
        struct Request6 {
            address: [u8; 16],
            prefix: u32,
            index: libc::c_int,
        }
        let request = Request6 {
            address: address.octets(),
            prefix,
            index: self.index(name)?,
        };
        let socket = Self::of(libc::AF_INET6)?;
        // SAFETY: the whole request, which the call reads, outlives the call.
        let done = unsafe {
            libc::ioctl(
                socket.0.as_raw_fd(),
                libc::SIOCSIFADDR as libc::Ioctl,
                &raw const request,
            )
        };
        Errno::result(done)?;
        Ok(())
    }

    /// Sets the MTU of an interface.
    pub(crate) fn mtu(&self, name: &str, bytes: u32) -> io::Result<()> {
        let mut r = request(name);
        r.value.number = bytes as libc::c_int;
        self.ioctl(libc::SIOCSIFMTU, &mut r)
    }

    /// Sets the length of an interface's transmit queue, in packets.
    pub(crate) fn queue(&self, name: &str, packets: u32) -> io::Result<()> {
        let mut r = request(name);
        r.value.number = packets as libc::c_int;
        self.ioctl(libc::SIOCSIFTXQLEN, &mut r)
    }

    /// Returns the flags of an interface (`IFF_UP` and others).
    pub(crate) fn flags(&self, name: &str) -> io::Result<libc::c_int> {
        let mut r = request(name);
        self.ioctl(libc::SIOCGIFFLAGS, &mut r)?;
        // SAFETY: the call before wrote the flags.
        Ok(libc::c_int::from(unsafe { r.value.flags }))
    }

    /// Takes an interface up.
    pub(crate) fn up(&self, name: &str) -> io::Result<()> {
        let flags = self.flags(name)?;
        let mut r = request(name);
        r.value.flags = (flags | libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        self.ioctl(libc::SIOCSIFFLAGS, &mut r)
    }

    /// Returns the index of an interface.
    pub(crate) fn index(&self, name: &str) -> io::Result<libc::c_int> {
        self.number(libc::SIOCGIFINDEX, name)
    }

    /// Returns the MTU of an interface.
    pub(crate) fn mtu_of(&self, name: &str) -> io::Result<u32> {
        self.number(libc::SIOCGIFMTU, name).map(|n| n as u32)
    }

    fn number(&self, what: libc::c_ulong, name: &str) -> io::Result<libc::c_int> {
        let mut r = request(name);
        self.ioctl(what, &mut r)?;
        // SAFETY: both ioctls write the field `number`.
        Ok(unsafe { r.value.number })
    }

    /// Returns the hardware type of an interface; 1 is Ethernet (`ARPHRD_ETHER`).
    pub(crate) fn hardware(&self, name: &str) -> io::Result<u16> {
        let mut r = request(name);
        self.ioctl(libc::SIOCGIFHWADDR, &mut r)?;
        // SAFETY: the call before wrote an address.
        Ok(unsafe { r.value.hardware }.sa_family)
    }

    /// Sets the hardware address of an interface.
    pub(crate) fn set_hardware(&self, name: &str, mac: [u8; 6]) -> io::Result<()> {
        let mut r = request(name);
        let mut address = libc::sockaddr {
            sa_family: libc::ARPHRD_ETHER,
            sa_data: [0; 14],
        };
        for (to, from) in address.sa_data.iter_mut().zip(mac) {
            *to = from as libc::c_char;
        }
        r.value.hardware = address;
        self.ioctl(libc::SIOCSIFHWADDR, &mut r)
    }

    /// Adds an interface to a bridge as a port.
    pub(crate) fn join(&self, bridge: &str, port: &str) -> io::Result<()> {
        /// Missing in libc (linux/sockios.h).
        const SIOCBRADDIF: libc::c_ulong = 0x89a2;
        let mut r = request(bridge);
        r.value.number = self.index(port)?;
        self.ioctl(SIOCBRADDIF, &mut r)
    }
}
