//! The process that keeps a run together: the first of a process namespace in which
//! all programs of the run are. When it ends, however it ends, the kernel kills every
//! process of that namespace (`pid_namespaces(7)`), also those that have left their
//! network namespace or that fork without end: it makes no new ones from then on, so
//! that no fork is ahead of it. It watches farlink, and when that is
//! gone without having ended the run (SIGKILL, a closed terminal) it kills them and
//! takes away the names of the run. It becomes the sweeper then, if there is one, which puts back
//! what the way out changed.

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

/// A run's process namespace, and the process whose end is its end.
#[derive(Debug)]
pub(crate) struct Keeper {
    process: Pid,
    space: File,
    ended: AtomicBool,
}

impl Keeper {
    /// Begins a process namespace. `sweeper` is run if farlink is killed; it may be empty.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn start(sweeper: &[String]) -> Result<Self, EmuError> {
        // On a thread of its own: the next process that the thread makes is the first
        // of the namespace, and a thread cannot go back to having no say in that.
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

    /// Returns the path of its process namespace, as seen by farlink.
    pub(crate) fn space(&self) -> PathBuf {
        format!("/proc/{}/ns/pid", self.process).into()
    }

    /// Kills every process of the run, and waits until they are gone. `children` are
    /// those that [`Self::spawn`] gave.
    pub(crate) fn end(&self, children: impl IntoIterator<Item = Child>) {
        // Another process may have its number after the first time.
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

/// Starts a program in a process namespace.
pub(crate) fn spawn_in(space: &File, command: &mut Command) -> io::Result<Child> {
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                // From now on, what this thread starts is in there.
                setns(space, CloneFlags::CLONE_NEWPID)?;
                command.spawn()
            })
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that starts it panicked")))
    })
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end([]);
    }
}

fn begin(sweeper: &[String]) -> io::Result<Keeper> {
    let farlink = watch_of(std::process::id())?;
    let prefix = CString::new(namespace::own_prefix())?;
    let sweeper = sweeper.iter().map(|word| CString::new(word.as_str()));
    let sweeper = sweeper.collect::<Result<Vec<_>, _>>()?;
    let mut words: Vec<_> = sweeper.iter().map(|word| word.as_ptr()).collect();
    words.push(ptr::null());
    // What it waits for must not end it, nor what a terminal sends to all of a run.
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None)?;
    unshare(CloneFlags::CLONE_NEWPID)?;
    // SAFETY: the child makes system calls alone, on what is there already.
    match unsafe { fork() }? {
        ForkResult::Child => keep(farlink.as_raw_fd(), &prefix, &words),
        ForkResult::Parent { child } => {
            let space = File::open(format!("/proc/{child}/ns/pid"));
            let space = space.inspect_err(|_| {
                let _ = kill(child, Signal::SIGKILL);
                let _ = waitpid(child, None);
            })?;
            Ok(Keeper {
                process: child,
                space,
                ended: AtomicBool::new(false),
            })
        }
    }
}

/// Opens a descriptor that becomes readable when the process ends (`pidfd_open(2)`, Linux 5.3).
fn watch_of(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the result is checked and owned by nobody else.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process as libc::pid_t, 0) };
    let fd = Errno::result(fd)?;
    // SAFETY: just opened.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Body of the first process of the namespace. The process is a copy of farlink with one thread, so
/// that no call may wait for another thread: nothing allocates memory.
fn keep(farlink: RawFd, prefix: &CStr, sweeper: &[*const libc::c_char]) -> ! {
    // SAFETY: system calls on numbers, on strings that live until the end, and on one
    // structure on the stack.
    unsafe {
        // Neither devices nor terminals nor pipes are held open by this copy.
        libc::dup2(farlink, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"farlink-keeper".as_ptr());
        // Orphans of the run are its children, and need nobody to wait for them.
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
            // Its programs are waited for, and it may be ended like any other.
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

/// Takes away the names in a directory that begin with `prefix`.
fn clear(directory: &CStr, prefix: &CStr) {
    /// Offsets of the entry's length and name in a `linux_dirent64`.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let mut entries = [0u8; 4096];
    // SAFETY: the strings end with a zero, the buffer is as long as it says, and the
    // kernel fills it with whole entries.
    unsafe {
        if libc::chdir(directory.as_ptr()) != 0 {
            return;
        }
        // Once more after names were taken away while they were read.
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
