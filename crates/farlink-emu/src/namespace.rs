//! Network namespaces: one for each host, named so that `ip netns` finds them and
//! that what a killed run left behind is known by its name.

use crate::EmuError;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where `ip netns` keeps the names.
const NAMES: &str = "/run/netns";
/// What ours begin with; the process and its start follow.
const PREFIX: &str = "farlink-";

/// A named network namespace. Dropping it takes the name away; it ends with the
/// last process in it.
#[derive(Debug)]
pub struct Namespace {
    path: PathBuf,
    file: File,
}

/// When a process began, in clock ticks since the machine did (proc(5), field 22
/// of `stat`); `None` if there is none.
fn began(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may hold anything but ends at the last ")".
    let rest = stat.rsplit_once(')')?.1;
    rest.split_whitespace().nth(19)?.parse().ok()
}

impl Namespace {
    /// A new namespace for `host`; its name holds this process's number, and
    /// when it began, so that [`sweep`] can tell it from one of a dead process.
    ///
    /// # Errors
    /// If the system refuses: see [`EmuError`].
    pub fn create(host: &str) -> Result<Self, EmuError> {
        let process = std::process::id();
        let name = format!("{PREFIX}{process}-{}-{host}", began(process).unwrap_or(0));
        let path = Path::new(NAMES).join(name);
        let failed = |source: io::Error| EmuError::system("make a network namespace", source);
        fs::create_dir_all(NAMES).map_err(failed)?;
        File::create(&path).map_err(failed)?;
        let made = std::thread::scope(|scope| {
            scope
                .spawn(|| -> io::Result<()> {
                    unshare(CloneFlags::CLONE_NEWNET)?;
                    let own = format!("/proc/self/task/{}/ns/net", nix::unistd::gettid());
                    let none = None::<&str>;
                    mount(Some(own.as_str()), &path, none, MsFlags::MS_BIND, none)?;
                    Ok(())
                })
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread that makes it panicked")))
        });
        let file = made.and_then(|()| File::open(&path));
        match file {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(failed(error))
            }
        }
    }

    /// Its name, as `ip netns` lists it.
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(OsStr::to_str).unwrap_or_default()
    }

    /// Does something in the namespace, on a thread of its own.
    ///
    /// # Errors
    /// If it cannot be entered, or what `work` gives.
    pub(crate) fn inside<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    setns(&self.file, CloneFlags::CLONE_NEWNET)?;
                    work()
                })
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread inside panicked")))
        })
    }

    /// A command that will run in the namespace, and dies with the thread that
    /// started it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let fd = self.file.as_raw_fd();
        let mut command = Command::new(program);
        // SAFETY: the two calls are async-signal-safe; the descriptor is open until
        // the child has it, since `self` outlives the command's start.
        unsafe {
            command.pre_exec(move || {
                let file = std::os::fd::BorrowedFd::borrow_raw(fd);
                setns(file, CloneFlags::CLONE_NEWNET)?;
                nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
                Ok(())
            });
        }
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    // What cannot be taken away now is found by the next sweep.
    let _ = umount2(path, MntFlags::MNT_DETACH);
    let _ = fs::remove_file(path);
}

/// Takes away the names that killed runs left behind; returns them.
pub fn sweep() -> Vec<String> {
    let mut gone = Vec::new();
    let Ok(entries) = fs::read_dir(NAMES) else {
        return gone;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let mut parts = name.strip_prefix(PREFIX).unwrap_or_default().splitn(3, '-');
        let (Some(Ok(process)), Some(Ok(since)), Some(_)) = (
            parts.next().map(str::parse::<u32>),
            parts.next().map(str::parse::<u64>),
            parts.next(),
        ) else {
            continue;
        };
        if began(process) != Some(since) {
            remove(&entry.path());
            gone.push(name);
        }
    }
    gone.sort();
    gone
}
