//! TUN devices, whose file descriptor reads and writes the IP packets of a namespace.

use crate::ethernet;
use crate::offload::{self, HEADER, Merge};
use farlink_wire::Raw;
use nix::errno::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Maximum number of packets in the device's queue for the engine.
pub(crate) const DEVICE_QUEUE: u32 = 10_000;
/// Device file by which TUN devices are created.
pub(crate) const DEVICES: &str = "/dev/net/tun";

/// A TUN device.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
    /// Merging of segments; `None` for one packet per read or write.
    offload: Option<Merge>,
}

/// The parts of `struct ifreq` that TUNSETIFF uses (linux/if.h, `if_tun.h`).
#[repr(C)]
struct Request {
    name: [libc::c_char; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

nix::ioctl_readwrite_bad!(tun_set_iff, libc::TUNSETIFF, Request);
nix::ioctl_write_int_bad!(tun_set_offload, libc::TUNSETOFFLOAD);

/// Creates a device in the calling thread's namespace. Returns its file and its name, in which the
/// kernel replaces `%d` by a number.
pub(crate) fn open(name: &str, kind: libc::c_int) -> io::Result<(File, String)> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(DEVICES)?;
    let mut request = Request {
        name: [0; libc::IFNAMSIZ],
        flags: (libc::IFF_NO_PI | kind) as libc::c_short,
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
    unsafe { tun_set_iff(file.as_raw_fd(), &raw mut request) }?;
    let name = request.name.iter().take_while(|&&c| c != 0);
    Ok((file, name.map(|&c| char::from(c as u8)).collect()))
}

/// Maximum length of a read in bytes: the virtio and Ethernet headers, and an IP packet.
pub(crate) const LONGEST: usize = HEADER + ethernet::HEADER + 65_535;

impl Tun {
    /// Creates a TUN device in the calling thread's namespace. With `plain`, each read or write
    /// carries one packet.
    pub(crate) fn create(name: &str, plain: bool) -> io::Result<Self> {
        let offload = if plain { 0 } else { libc::IFF_VNET_HDR };
        let (file, _) = open(name, libc::IFF_TUN | offload)?;
        if !plain {
            let what = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
            // SAFETY: a number, no pointer.
            unsafe { tun_set_offload(file.as_raw_fd(), what as libc::c_int) }?;
        }
        Ok(Self {
            file,
            offload: (!plain).then(Merge::default),
        })
    }

    /// Reads once into `scratch`, and calls `each` for every packet with whether its checksum is
    /// known to be right. `buffer` returns empty buffers. A read returns several packets if the
    /// kernel has merged them.
    pub(crate) fn read<'a>(
        &self,
        scratch: &'a mut [u8],
        mut buffer: impl FnMut() -> Vec<u8>,
        mut each: impl FnMut(Vec<u8>, bool),
    ) -> io::Result<Option<&'a [u8]>> {
        let read = match (&self.file).read(scratch) {
            Ok(n) => &scratch[..n],
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(e) => return Err(e),
        };
        if self.offload.is_some() {
            offload::split(read, buffer, each);
            return Ok(Some(read.get(HEADER..).unwrap_or_default()));
        }
        let mut packet = buffer();
        packet.extend_from_slice(read);
        each(packet, false);
        Ok(Some(read))
    }

    /// Writes a packet, or stores it to be merged with later packets until [`Self::flush`].
    pub(crate) fn write(&mut self, raw: &Raw) -> io::Result<Written> {
        let Some(merge) = &mut self.offload else {
            return put(&self.file, raw.bytes(), 1);
        };
        if merge.add(raw) {
            return Ok(Written::default());
        }
        let before = self.flush()?;
        if let Some(merge) = &mut self.offload {
            merge.begin(raw);
        }
        Ok(before)
    }

    /// Writes the packets that are stored for merging.
    pub(crate) fn flush(&mut self) -> io::Result<Written> {
        match &mut self.offload {
            Some(merge) if merge.waiting() > 0 => {
                let (bytes, count) = merge.finish();
                put(&self.file, bytes, count)
            }
            _ => Ok(Written::default()),
        }
    }
}

/// Numbers of written packets.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Written {
    /// Packets that the kernel accepted.
    pub(crate) delivered: u64,
    /// Number of packets that the device refused: invalid IP packets, and all packets while the
    /// device is down.
    pub(crate) refused: u64,
}

pub(crate) fn put(mut file: &File, bytes: &[u8], count: u64) -> io::Result<Written> {
    match file.write(bytes) {
        Ok(_) => Ok(Written {
            delivered: count,
            refused: 0,
        }),
        Err(e)
            if matches!(
                e.raw_os_error().map(Errno::from_raw),
                Some(Errno::EINVAL | Errno::EIO | Errno::EAGAIN | Errno::ENOBUFS)
            ) =>
        {
            Ok(Written {
                delivered: 0,
                refused: count,
            })
        }
        Err(e) => Err(e),
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
