//! Network namespaces, one for each host. Their names are listed by `ip netns`, and [`sweep`]
//! recognizes those of killed runs.

use crate::EmuError;
use crate::uplink;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Folder of the names of `ip netns`.
pub(crate) const NAMES: &CStr = c"/run/netns";
/// Prefix of the names that farlink makes. The process number, its start time and its PID namespace
/// follow.
const PREFIX: &str = "farlink-";

/// A named network namespace. Dropping the value removes the name if farlink created it. The kernel
/// removes the namespace after its last process.
#[derive(Debug)]
pub struct Namespace {
    path: PathBuf,
    file: File,
    /// Set if this run created the namespace, and therefore removes its name.
    own: bool,
}

/// Returns the start time of a process in clock ticks since boot (proc(5), field 22 of `stat`);
/// `None` if the process does not exist.
fn began(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program's name may contain any character, and ends at the last ")".
    let rest = stat.rsplit_once(')')?.1;
    rest.split_whitespace().nth(19)?.parse().ok()
}

/// Returns the inode number of this process's PID namespace, because a process number is only valid
/// in its PID namespace.
fn process_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |m| m.ino())
}

/// Returns the prefix of all names of this process: its number and its start time. With the start
/// time [`sweep`] distinguishes the process from an ended one of the same number.
pub(crate) fn own_prefix() -> String {
    let process = std::process::id();
    let since = began(process).unwrap_or(0);
    format!("{PREFIX}{process}-{since}-{}-", process_namespace())
}

/// Returns a new unique name: the prefix of this process, a serial number and `what`.
fn own_name(what: &str) -> String {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}{number}-{what}", own_prefix())
}

fn path_of(directory: &'static CStr) -> &'static Path {
    Path::new(OsStr::from_bytes(directory.to_bytes()))
}

/// Makes /run/netns a shared mount, as the first `ip netns add` does. If `ip` did so after farlink
/// created its names, that mount would hide the names, and they could not be removed.
fn share_names() -> io::Result<()> {
    let names = path_of(NAMES);
    fs::create_dir_all(names)?;
    // `ip netns` uses this lock too, so concurrent processes create only one mount.
    let lock = Flock::lock(File::open(names)?, FlockArg::LockExclusive).map_err(|(_, e)| e)?;
    let none = None::<&str>;
    let shared = MsFlags::MS_SHARED | MsFlags::MS_REC;
    let done = match mount(none, names, none, shared, none) {
        Err(Errno::EINVAL) => {
            mount(
                Some(names),
                names,
                none,
                MsFlags::MS_BIND | MsFlags::MS_REC,
                none,
            )?;
            mount(none, names, none, shared, none)
        }
        other => other,
    };
    drop(lock);
    Ok(done?)
}

/// Number of the next name.
static NEXT: AtomicU32 = AtomicU32::new(0);

impl Namespace {
    /// Creates a namespace for `host`.
    ///
    /// # Errors
    /// Fails if the system refuses: see [`EmuError`].
    pub fn create(host: &str) -> Result<Self, EmuError> {
        let path = path_of(NAMES).join(own_name(host));
        let failed = |source: io::Error| EmuError::system("make a network namespace", source);
        share_names().map_err(failed)?;
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
            Ok(file) => Ok(Self {
                path,
                file,
                own: true,
            }),
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(failed(error))
            }
        }
    }

    /// Opens a namespace that farlink did not create. Dropping the value does not change it.
    ///
    /// # Errors
    /// Fails if `path` cannot be opened. If it is not a network namespace, [`Self::inside`] fails
    /// later.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: File::open(path)?,
            own: false,
        })
    }

    /// Returns device and inode, which identify the namespace.
    pub(crate) fn number(&self) -> Option<(u64, u64)> {
        self.file.metadata().ok().map(|m| (m.dev(), m.ino()))
    }

    /// Returns whether this process is in the namespace.
    pub(crate) fn is_here(&self) -> bool {
        let here = fs::metadata("/proc/self/ns/net");
        here.ok().map(|m| (m.dev(), m.ino())) == self.number()
    }

    /// Returns the name, as `ip netns` lists it.
    pub fn name(&self) -> &str {
        self.path
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or_default()
    }

    /// Runs `work` in the namespace, on a new thread.
    ///
    /// # Errors
    /// Fails if the thread cannot enter the namespace, and the errors of `work`.
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

    /// Builds a command that runs in the namespace and resolves host names by `names`.
    pub fn command(&self, program: impl AsRef<OsStr>, names: Names<'_>) -> Command {
        command_in(&self.file, program, names)
    }

    /// Returns a path for other processes, valid while this process lives. The path is that of the
    /// descriptor, because a name can fail. It is not visible in all mount namespaces (for example
    /// if `ip netns exec` started this process), and a foreign namespace's name may have been
    /// removed.
    pub(crate) fn place(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }
}

/// Name resolution of the programs of a host.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// File in the place of /etc/hosts.
    pub hosts: &'a Path,
    /// File in the place of /etc/resolv.conf, if it is not the machine's own.
    pub resolver: Option<&'a Path>,
}

/// Builds a command that runs in a network namespace and resolves host names by `names`.
/// `namespace` must stay open until the command is started.
pub(crate) fn command_in(
    namespace: &File,
    program: impl AsRef<OsStr>,
    names: Names<'_>,
) -> Command {
    let fd = namespace.as_raw_fd();
    let hosts = names.hosts.to_owned();
    let resolver = names.resolver.map(Path::to_owned);
    let mut command = Command::new(program);
    // SAFETY: only system calls, on paths that already exist. `namespace` outlives the command's
    // start, so the descriptor is open until the child has it.
    unsafe {
        command.pre_exec(move || {
            let file = std::os::fd::BorrowedFd::borrow_raw(fd);
            setns(file, CloneFlags::CLONE_NEWNET)?;
            // The mount namespace is private, so only this command sees the replaced files.
            let none = None::<&str>;
            unshare(CloneFlags::CLONE_NEWNS)?;
            mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)?;
            mount(Some(&hosts), "/etc/hosts", none, MsFlags::MS_BIND, none)?;
            if let Some(resolver) = &resolver {
                mount(
                    Some(resolver),
                    uplink::RESOLVER,
                    none,
                    MsFlags::MS_BIND,
                    none,
                )?;
            }
            // A new PID namespace has other process numbers, so /proc is mounted again. If the
            // kernel refuses, programs see the outer process numbers in /proc.
            let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            let _ = mount(Some("proc"), "/proc", Some("proc"), safe, none);
            Ok(())
        });
    }
    command
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if self.own {
            remove(&self.path);
        }
    }
}

fn remove(path: &Path) {
    // If the removal fails, the next sweep retries it.
    let _ = umount2(path, MntFlags::MNT_DETACH);
    let _ = fs::remove_file(path);
}

/// Folder of the files of runs, which have names like namespaces.
pub(crate) const FILES: &CStr = c"/run/farlink";

fn not_written(error: io::Error) -> EmuError {
    EmuError::system(format!("write {}", path_of(FILES).display()), error)
}

/// A file of this run. Dropping the value removes the file.
#[derive(Debug)]
pub(crate) struct RunFile(PathBuf);

impl RunFile {
    pub(crate) fn create(name: &str, content: &str) -> Result<Self, EmuError> {
        let file = Self::named(name)?;
        fs::write(&file.0, content).map_err(not_written)?;
        Ok(file)
    }

    /// Writes a hosts file with the machine's entries and the addresses of the emulation's hosts.
    pub(crate) fn of_hosts<N: AsRef<str>>(
        hosts: impl Iterator<Item = (N, String)>,
    ) -> Result<Self, EmuError> {
        let mut names = fs::read_to_string("/etc/hosts").unwrap_or_default();
        for (name, address) in hosts {
            names.extend(["\n", &address, " ", name.as_ref()]);
        }
        Self::create("hosts", &(names + "\n"))
    }

    /// Returns the path of a file that the caller will create, such as a socket.
    pub(crate) fn named(name: &str) -> Result<Self, EmuError> {
        fs::create_dir_all(path_of(FILES)).map_err(not_written)?;
        Ok(RunFile(path_of(FILES).join(own_name(name))))
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

/// Inode number of the initial PID namespace, the ancestor of all others (`PID_NS_INIT_INO` in
/// linux/nsfs.h).
const FIRST_PROCESSES: u64 = 0xefff_fffc;

/// Returns the PID namespaces of all processes visible in /proc.
fn process_namespaces() -> BTreeSet<u64> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let spaces = processes.filter_map(|process| fs::metadata(process.path().join("ns/pid")).ok());
    spaces.map(|space| space.ino()).collect()
}

/// Removes namespaces and files that killed runs have left, and returns their names. What another
/// PID namespace left is removed only from the initial PID namespace, where all processes are
/// visible.
pub fn sweep() -> Vec<String> {
    uplink::sweep();
    let mut gone = Vec::new();
    let (own, mut spaces) = (process_namespace(), None);
    let entries = [NAMES, FILES]
        .map(path_of)
        .into_iter()
        .flat_map(fs::read_dir);
    for entry in entries.flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let mut parts = name.strip_prefix(PREFIX).unwrap_or_default().splitn(4, '-');
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (Some(process), Some(since), Some(space)) = (number(), number(), number()) else {
            continue;
        };
        let is_over = if space == own {
            u32::try_from(process).ok().and_then(began) != Some(since)
        } else {
            // The run took place in a host of another run, and ended with that run.
            own == FIRST_PROCESSES
                && !spaces
                    .get_or_insert_with(process_namespaces)
                    .contains(&space)
        };
        if is_over {
            remove(&entry.path());
            gone.push(name);
        }
    }
    gone.sort();
    gone
}
