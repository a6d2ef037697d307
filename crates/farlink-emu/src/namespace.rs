//! Network namespaces: one for each host, named so that `ip netns` finds them and
//! that what a killed run left behind is known by its name.

use crate::EmuError;
use crate::way_out;
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
/// Prefix of farlink's names. The process, its start and its process namespace follow.
const PREFIX: &str = "farlink-";

/// A named network namespace. Dropping it takes the name away; it ends with the
/// last process in it.
#[derive(Debug)]
pub struct Namespace {
    path: PathBuf,
    file: File,
    /// Set if this run made the namespace; the name is then removed with it.
    own: bool,
}

/// Returns the start of a process in clock ticks since boot (proc(5), field 22 of `stat`); `None`
/// if there is no such process.
fn began(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may hold anything but ends at the last ")".
    let rest = stat.rsplit_once(')')?.1;
    rest.split_whitespace().nth(19)?.parse().ok()
}

/// Number of the process namespace that this process is in: a process number says
/// nothing in another.
fn process_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |m| m.ino())
}

/// Returns the prefix of all names of this process: its number and its start, so that [`sweep`] can
/// tell it from a dead process.
pub(crate) fn own_prefix() -> String {
    let process = std::process::id();
    let since = began(process).unwrap_or(0);
    format!("{PREFIX}{process}-{since}-{}-", process_namespace())
}

/// A name of this process, with a number of its own.
fn own_name(what: &str) -> String {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}{number}-{what}", own_prefix())
}

fn path_of(directory: &'static CStr) -> &'static Path {
    Path::new(OsStr::from_bytes(directory.to_bytes()))
}

/// Makes the directory of names what `ip netns add` makes it at its first use: a mount
/// of its own whose changes all mount namespaces see. If that came after our names, they
/// would be covered and could not be taken away any more.
fn share_names() -> io::Result<()> {
    let names = path_of(NAMES);
    fs::create_dir_all(names)?;
    // As `ip netns` does, so that two that come at once make one mount.
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
    /// A new namespace for `host`.
    ///
    /// # Errors
    /// If the system refuses: see [`EmuError`].
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

    /// Somebody else's, which stays as it is.
    ///
    /// # Errors
    /// If there is none, or the file is none: [`Self::inside`] tells.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: File::open(path)?,
            own: false,
        })
    }

    /// Returns the device and inode, which tell namespaces apart.
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

    /// A command that will run in the namespace, with `names`.
    pub fn command(&self, program: impl AsRef<OsStr>, names: Names<'_>) -> Command {
        command_in(&self.file, program, names)
    }

    /// Returns a path for other processes, valid as long as this process lives. The path is that of
    /// the descriptor: the name is not visible in all mount namespaces (not if `ip netns exec`
    /// started this process), and the name of a foreign namespace may be gone.
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

/// A command that will run in a network namespace, with `names`. `namespace` must be open until
/// the command was started.
pub(crate) fn command_in(
    namespace: &File,
    program: impl AsRef<OsStr>,
    names: Names<'_>,
) -> Command {
    let fd = namespace.as_raw_fd();
    let hosts = names.hosts.to_owned();
    let resolver = names.resolver.map(Path::to_owned);
    let mut command = Command::new(program);
    // SAFETY: system calls alone, on paths that are there already; the descriptor is
    // open until the child has it, since `namespace` outlives the command's start.
    unsafe {
        command.pre_exec(move || {
            let file = std::os::fd::BorrowedFd::borrow_raw(fd);
            setns(file, CloneFlags::CLONE_NEWNET)?;
            // Mounts of its own, so that the names are those of the hosts.
            let none = None::<&str>;
            unshare(CloneFlags::CLONE_NEWNS)?;
            mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)?;
            mount(Some(&hosts), "/etc/hosts", none, MsFlags::MS_BIND, none)?;
            if let Some(resolver) = &resolver {
                mount(
                    Some(resolver),
                    way_out::RESOLVER,
                    none,
                    MsFlags::MS_BIND,
                    none,
                )?;
            }
            // Processes have other numbers in a process namespace of their own. Where
            // this is refused, programs see those of the outside there.
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
    // What cannot be taken away now is found by the next sweep.
    let _ = umount2(path, MntFlags::MNT_DETACH);
    let _ = fs::remove_file(path);
}

/// Folder of the files of a run, named as its namespaces are.
pub(crate) const FILES: &CStr = c"/run/farlink";

fn not_written(error: io::Error) -> EmuError {
    EmuError::system(format!("write {}", path_of(FILES).display()), error)
}

/// A file of this run, taken away with the value.
#[derive(Debug)]
pub(crate) struct RunFile(PathBuf);

impl RunFile {
    pub(crate) fn create(name: &str, content: &str) -> Result<Self, EmuError> {
        let file = Self::named(name)?;
        fs::write(&file.0, content).map_err(not_written)?;
        Ok(file)
    }

    /// Writes the file in which programs find the addresses of the hosts, behind the machine's own.
    pub(crate) fn of_hosts<N: AsRef<str>>(
        hosts: impl Iterator<Item = (N, String)>,
    ) -> Result<Self, EmuError> {
        let mut names = fs::read_to_string("/etc/hosts").unwrap_or_default();
        for (name, address) in hosts {
            names.extend(["\n", &address, " ", name.as_ref()]);
        }
        Self::create("hosts", &(names + "\n"))
    }

    /// A name for a file that somebody else makes, such as a socket.
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

/// Number of the process namespace that the machine began with, of which all others are
/// (`PID_NS_INIT_INO` of linux/nsfs.h).
const FIRST_PROCESSES: u64 = 0xefff_fffc;

/// The process namespaces that have processes, as far as they are seen from here.
fn process_namespaces() -> BTreeSet<u64> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let spaces = processes.filter_map(|process| fs::metadata(process.path().join("ns/pid")).ok());
    spaces.map(|space| space.ino()).collect()
}

/// Takes away what killed runs left behind; returns its names. What is of another
/// process namespace is left alone where it cannot be seen from here whether that lives.
pub fn sweep() -> Vec<String> {
    way_out::sweep();
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
            // A run in the host of a run, which ended with that.
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
