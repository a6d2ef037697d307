//! Packet sockets (packet(7)), which get a copy of each frame on an interface with its time stamp.

use nix::errno::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Size of the control buffer for one time stamp, in `u64` for the alignment.
pub(crate) const CONTROL: usize = 8;

/// Kernel time stamp of a packet: nanoseconds of `CLOCK_REALTIME`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct DayTime(pub(crate) u64);

/// Opens a packet socket, which receives nothing before it is bound.
pub(crate) fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call has no pointers. The result is checked, and has no other owner.
    let fd = Errno::result(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: just opened.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Binds a packet socket to the interface with this index.
pub(crate) fn bind(socket: &impl AsRawFd, interface: libc::c_int) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::c_ushort,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: interface,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: a whole address that outlives the call.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) };
    Errno::result(bound)?;
    Ok(())
}

/// Sets an option of a socket.
pub(crate) fn set<T>(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    let value: *const T = value;
    // SAFETY: the value has the given length and outlives the call.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value.cast(), len) };
    Errno::result(done)?;
    Ok(())
}

/// Reads a packet and its time from a socket with [`libc::SO_TIMESTAMPNS`].
pub(crate) fn read(socket: &File, buffer: &mut [u8]) -> io::Result<(usize, Option<DayTime>)> {
    let mut control = [0u64; CONTROL];
    let mut vector = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: a structure of C, for which zero is a value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the buffers have the given lengths and outlive the call.
    let got = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) };
    let length = Errno::result(got)? as usize;
    // SAFETY: the header is that of a received message, and its control buffer is alive.
    Ok((length, unsafe { stamp_of(&header) }))
}

/// Builds an instruction of a BPF filter.
pub(crate) fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}

/// Attaches a BPF filter, which returns how many bytes of each packet to keep.
pub(crate) fn set_filter(socket: &impl AsRawFd, steps: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: steps.len() as libc::c_ushort,
        filter: steps.as_mut_ptr(),
    };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Returns the time stamp among the control messages of a received message.
///
/// # Safety
/// SAFETY: `header` must be that of a received message, with its control buffer still alive.
pub(crate) unsafe fn stamp_of(header: &libc::msghdr) -> Option<DayTime> {
    // SAFETY: guaranteed by the caller.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: null, or in the control buffer.
    while let Some(control) = unsafe { next.as_ref() } {
        if control.cmsg_level == libc::SOL_SOCKET && control.cmsg_type == libc::SCM_TIMESTAMPNS {
            // SAFETY: a message of this type holds a timespec.
            let at = unsafe {
                libc::CMSG_DATA(next)
                    .cast::<libc::timespec>()
                    .read_unaligned()
            };
            let seconds = u64::try_from(at.tv_sec).ok()?;
            let nanos = u64::try_from(at.tv_nsec).ok()?;
            return Some(DayTime(seconds * 1_000_000_000 + nanos));
        }
        // SAFETY: guaranteed by the caller, as for the first message.
        next = unsafe { libc::CMSG_NXTHDR(header, next) };
    }
    None
}
