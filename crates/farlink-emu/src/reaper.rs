//! The reaper: process 1 of a PID namespace that contains all programs of a run. When the reaper
//! ends, the kernel kills every process of its namespace (`pid_namespaces(7)`), including processes
//! that left their network namespace. From then on the kernel creates no process in that namespace,
//! so programs that fork without end also end. If farlink dies without ending the run (SIGKILL, a
//! closed terminal), the reaper kills the programs and removes the names of the run. It then
//! executes the sweeper, if any, which undoes the changes of the uplink.

use crate::EmuError;
use crate::namespace::{self, FILES, NAMES};
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, signal, sigprocmask};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// PID namespace of a run. When its process 1 ends, the kernel kills all its processes.
#[derive(Debug)]
pub(crate) struct Reaper {
    process: Pid,
    space: File,
    ended: AtomicBool,
}

impl Reaper {
    /// Starts a PID namespace. If farlink is killed, the command `sweeper` is run, unless it is
    /// empty.
    ///
    /// # Errors
    /// Fails if the kernel refuses the namespace.
    pub(crate) fn start(sweeper: &[String]) -> Result<Self, EmuError> {
        // A new thread is needed. After unshare(CLONE_NEWPID) the thread's next child is process 1
        // of the namespace, and the thread cannot undo this.
        std::thread::scope(|scope| {
            scope
                .spawn(|| begin(sweeper))
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread that makes it panicked")))
        })
        .map_err(|e| EmuError::system("make a process namespace", e))
    }

    /// Starts a program of the run.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        spawn_in(&self.space, command)
    }

    /// Returns the path of the run's PID namespace, as seen by farlink.
    pub(crate) fn space(&self) -> PathBuf {
        format!("/proc/{}/ns/pid", self.process).into()
    }

    /// Kills every process of the run, and waits for their end. `children` are the results of
    /// [`Self::spawn`].
    pub(crate) fn end(&self, children: impl IntoIterator<Item = Child>) {
        // After the first call, the number `self.process` may belong to another process.
        if self.ended.swap(true, Ordering::Relaxed) {
            return;
        }
        let _ = kill(self.process, Signal::SIGKILL);
        for mut child in children {
            let _ = child.wait();
        }
        // Returns when the namespace is empty.
        while waitpid(self.process, None) == Err(Errno::EINTR) {}
    }
}

/// Starts a program in the PID namespace `space`.
pub(crate) fn spawn_in(space: &File, command: &mut Command) -> io::Result<Child> {
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                // Affects the children of this thread, not the thread itself.
                setns(space, CloneFlags::CLONE_NEWPID)?;
                command.spawn()
            })
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that starts it panicked")))
    })
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.end([]);
    }
}

fn begin(sweeper: &[String]) -> io::Result<Reaper> {
    let farlink = watch_of(std::process::id())?;
    let prefix = CString::new(namespace::own_prefix())?;
    let sweeper = sweeper.iter().map(|word| CString::new(word.as_str()));
    let sweeper = sweeper.collect::<Result<Vec<_>, _>>()?;
    let mut words: Vec<_> = sweeper.iter().map(|word| word.as_ptr()).collect();
    words.push(ptr::null());
    // The reaper inherits this mask, because no signal of a terminal may end it before the cleanup
    // of the run.
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None)?;
    unshare(CloneFlags::CLONE_NEWPID)?;
    // SAFETY: the child only makes system calls, on data that existed before the fork.
    match unsafe { fork() }? {
        ForkResult::Child => keep(farlink.as_raw_fd(), &prefix, &words),
        ForkResult::Parent { child } => {
            let space = File::open(format!("/proc/{child}/ns/pid"));
            let space = space.inspect_err(|_| {
                let _ = kill(child, Signal::SIGKILL);
                let _ = waitpid(child, None);
            })?;
            Ok(Reaper {
                process: child,
                space,
                ended: AtomicBool::new(false),
            })
        }
    }
}

/// Opens a descriptor that is readable when the process has ended (`pidfd_open(2)`, Linux 5.3).
fn watch_of(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call has no pointers. The result is checked, and has no other owner.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process as libc::pid_t, 0) };
    let fd = Errno::result(fd)?;
    // SAFETY: just opened.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Body of process 1 of the namespace. The process is a copy of farlink with a single thread, so no
/// call may wait for another thread or allocate memory.
fn keep(farlink: RawFd, prefix: &CStr, sweeper: &[*const libc::c_char]) -> ! {
    // SAFETY: system calls on numbers, on strings that live until the end, and on a structure on
    // the stack.
    unsafe {
        // Closes inherited descriptors, because this copy must keep no device, terminal or pipe
        // open.
        libc::dup2(farlink, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"farlink-reaper".as_ptr());
        // Orphans of the run become children of the reaper, and the kernel reaps them.
        let _ = signal(Signal::SIGCHLD, SigHandler::SigIgn);
        let mut ended = libc::pollfd {
            fd: 0,
            events: libc::POLLIN,
            revents: 0,
        };
        while libc::poll(&raw mut ended, 1, -1) < 1 {}
        libc::kill(-1, libc::SIGKILL);
        for directory in [NAMES, FILES] {
            clear(directory, prefix);
        }
        if !sweeper[0].is_null() {
            // Restores the defaults, because the sweeper waits for its children, and signals may
            // end it.
            let _ = signal(Signal::SIGCHLD, SigHandler::SigDfl);
            let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
            libc::close(0);
            for _ in 0..3 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            }
            libc::execv(sweeper[0], sweeper.as_ptr());
        }
        libc::_exit(0)
    }
}

/// Unmounts and removes all names in `directory` that begin with `prefix`.
fn clear(directory: &CStr, prefix: &CStr) {
    /// Offsets of the entry's length and name in a `linux_dirent64`.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let mut entries = [0u8; 4096];
    // SAFETY: the strings end with a zero. The buffer has the given length, and the kernel fills it
    // with whole entries.
    unsafe {
        if libc::chdir(directory.as_ptr()) != 0 {
            return;
        }
        // A second pass is needed, because the first removes names while it reads the directory.
        for _ in 0..2 {
            let flags = libc::O_RDONLY | libc::O_DIRECTORY;
            let open = libc::open(c".".as_ptr(), flags);
            loop {
                let (at, len) = (entries.as_mut_ptr(), entries.len());
                let got = libc::syscall(libc::SYS_getdents64, open, at, len);
                if got <= 0 {
                    break;
                }
                let mut rest = &entries[..got as usize];
                while let Some(&[low, high]) = rest.get(LENGTH..LENGTH + 2) {
                    let name = rest.as_ptr().add(NAME).cast();
                    let n = prefix.count_bytes();
                    if libc::strncmp(name, prefix.as_ptr(), n) == 0 {
                        libc::umount2(name, libc::MNT_DETACH);
                        libc::unlink(name);
                    }
                    rest = &rest[usize::from(u16::from_ne_bytes([low, high]))..];
                }
            }
            libc::close(open);
        }
    }
}
