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
use std::sync::atomic::{AtomicU32, Ordering};

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

/// A name of this run: it says which process it is of, when that began, so that
/// [`sweep`] can tell it from one of a dead process, and which of several it is.
fn own_name(what: &str) -> String {
    let process = std::process::id();
    let since = began(process).unwrap_or(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{process}-{since}-{number}-{what}")
}

/// Number of the next name.
static NEXT: AtomicU32 = AtomicU32::new(0);

impl Namespace {
    /// A new namespace for `host`.
    ///
    /// # Errors
    /// If the system refuses: see [`EmuError`].
    pub fn create(host: &str) -> Result<Self, EmuError> {
        let name = own_name(host);
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
        self.path
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or_default()
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

    /// The namespace as a file, to compare processes with.
    pub(crate) fn clone_file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// A command that will run in the namespace, with `hosts` in the place of
    /// /etc/hosts, and that dies with the thread that started it.
    pub fn command(&self, program: impl AsRef<OsStr>, hosts: &Path) -> Command {
        let fd = self.file.as_raw_fd();
        let hosts = hosts.to_owned();
        let mut command = Command::new(program);
        // SAFETY: system calls alone, on paths that are there already; the descriptor
        // is open until the child has it, since `self` outlives the command's start.
        unsafe {
            command.pre_exec(move || {
                let file = std::os::fd::BorrowedFd::borrow_raw(fd);
                setns(file, CloneFlags::CLONE_NEWNET)?;
                // Mounts of its own, so that the names are those of the hosts.
                let none = None::<&str>;
                unshare(CloneFlags::CLONE_NEWNS)?;
                mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)?;
                mount(Some(&hosts), "/etc/hosts", none, MsFlags::MS_BIND, none)?;
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

/// Where files of a run are, named as namespaces are.
const FILES: &str = "/run/farlink";

/// A file of this run, taken away with the value.
#[derive(Debug)]
pub(crate) struct RunFile(PathBuf);

impl RunFile {
    pub(crate) fn create(name: &str, content: &str) -> Result<Self, EmuError> {
        let failed = |e: io::Error| EmuError::system(format!("write {FILES}"), e);
        fs::create_dir_all(FILES).map_err(failed)?;
        let file = RunFile(Path::new(FILES).join(own_name(name)));
        fs::write(&file.0, content).map_err(failed)?;
        Ok(file)
    }

    /// A name for a file that somebody else makes, such as a socket.
    pub(crate) fn named(name: &str) -> Result<Self, EmuError> {
        let failed = |e: io::Error| EmuError::system(format!("write {FILES}"), e);
        fs::create_dir_all(FILES).map_err(failed)?;
        Ok(RunFile(Path::new(FILES).join(own_name(name))))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Takes away what killed runs left behind; returns its names.
pub fn sweep() -> Vec<String> {
    let mut gone = Vec::new();
    let entries = [NAMES, FILES].into_iter().flat_map(fs::read_dir);
    for entry in entries.flatten().flatten() {
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
