//! TUN devices: IP packets of a namespace as reads and writes of a file.

use nix::errno::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// A TUN device, one packet to a read or write.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
}

/// The parts of `struct ifreq` that TUNSETIFF uses (linux/if.h, `if_tun.h`).
#[repr(C)]
struct Request {
    name: [libc::c_char; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

nix::ioctl_write_ptr_bad!(tun_set_iff, libc::TUNSETIFF, Request);

impl Tun {
    /// Makes a device of this name in the namespace of the calling thread.
    pub(crate) fn create(name: &str) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/net/tun")?;
        let mut request = Request {
            name: [0; libc::IFNAMSIZ],
            flags: (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short,
            rest: [0; 22],
        };
        for (to, from) in request
            .name
            .iter_mut()
            .zip(name.bytes().take(libc::IFNAMSIZ - 1))
        {
            *to = from as libc::c_char;
        }
        // SAFETY: the request is a whole `struct ifreq` and outlives the call.
        unsafe { tun_set_iff(file.as_raw_fd(), &raw const request) }?;
        Ok(Self { file })
    }

    /// Reads a packet; `None` when none waits.
    pub(crate) fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(into) {
            Ok(n) => Ok(Some(n)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Writes a packet. Returns whether the kernel took it: it refuses what is
    /// no IP packet, and everything while the device is down.
    pub(crate) fn write(&self, packet: &[u8]) -> io::Result<bool> {
        match (&self.file).write(packet) {
            Ok(_) => Ok(true),
            Err(e)
                if matches!(
                    e.raw_os_error().map(Errno::from_raw),
                    Some(Errno::EINVAL | Errno::EIO | Errno::EAGAIN | Errno::ENOBUFS)
                ) =>
            {
                Ok(false)
            }
            Err(e) => Err(e),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
