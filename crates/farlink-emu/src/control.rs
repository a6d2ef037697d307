//! Control socket: a local socket for queries and changes of a running emulation, with the messages
//! of [`crate::protocol`].

use crate::EmuError;
use crate::drive::Emulation;
use crate::kernels::Kernels;
use crate::namespace::RunFile;
use crate::protocol::{self, Answer, LONGEST, Request, Unread, VERSION};
use crate::remote::Remote;
use farlink_sim::scenario;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time limit for receiving a client's request, and for sending the answer.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// Maximum number of clients that are served at the same time; others wait.
const CLIENTS: usize = 32;
/// Interval at which waiting threads check whether the run has ended, in milliseconds.
const CHECK_MS: u16 = 100;

/// Control socket of an emulation. Dropping the value removes the socket.
#[derive(Debug)]
pub struct Control {
    file: RunFile,
    stop: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

impl Control {
    /// Opens /run/farlink/farlink-PID-...-NAME.ctl with access for the owner only. `text` is the
    /// resolved scenario.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn open(emulation: &Emulation, name: &str, text: &str) -> Result<Self, EmuError> {
        // The path of a Unix socket has at most 107 bytes.
        let name: String = name.chars().filter(char::is_ascii).take(40).collect();
        let file = RunFile::named(&format!("{}.ctl", name.replace('/', "_")))?;
        let failed = |e: io::Error| EmuError::system("open the socket for control", e);
        let listener = UnixListener::bind(file.path()).map_err(failed)?;
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let state = Arc::new(Mutex::new(ControlState {
            remote: emulation.remote(),
            text: text.to_owned(),
            kernels: Kernels::open(emulation)?,
        }));
        let ended = Arc::clone(&stop);
        let server = std::thread::spawn(move || serve_all(&listener, &state, &ended));
        Ok(Self {
            file,
            stop,
            server: Some(server),
        })
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

/// Serves clients until `ended` is set. Each has its own thread, so a slow client does not delay
/// others.
fn serve_all(listener: &UnixListener, state: &Arc<Mutex<ControlState>>, ended: &Arc<AtomicBool>) {
    let mut clients: Vec<JoinHandle<()>> = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        clients.retain(|client| !client.is_finished());
        if clients.len() >= CLIENTS {
            std::thread::sleep(Duration::from_millis(CHECK_MS.into()));
            continue;
        }
        let mut waiting = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        if poll(&mut waiting, PollTimeout::from(CHECK_MS)).unwrap_or(0) > 0
            && let Ok((client, _)) = listener.accept()
        {
            let (state, ended) = (Arc::clone(state), Arc::clone(ended));
            clients.push(std::thread::spawn(move || {
                // Fails only if the client has closed the connection. It then needs no answer.
                let _ = serve(&client, &state, &ended);
            }));
        }
    }
    for client in clients {
        let _ = client.join();
    }
}

fn serve(client: &UnixStream, state: &Mutex<ControlState>, ended: &AtomicBool) -> io::Result<()> {
    client.set_nonblocking(true)?;
    let answer = if owns(client) {
        let line = read_line(client, ended)?;
        protocol::read(&line).map_err(unread).and_then(|request| {
            state
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .answer(request)
        })
    } else {
        Err("only its owner may control an emulation".into())
    };
    let answer = protocol::write(&answer.unwrap_or_else(Answer::Error));
    write_all(client, answer.as_bytes(), ended)
}

/// Reads a line of at most [`LONGEST`] bytes within [`TIME_LIMIT`], in any number of reads.
fn read_line(mut client: &UnixStream, ended: &AtomicBool) -> io::Result<String> {
    let deadline = Instant::now() + TIME_LIMIT;
    let (mut line, mut piece) = (Vec::new(), [0; 4096]);
    while line.len() < LONGEST as usize && !line.contains(&b'\n') {
        wait(client, PollFlags::POLLIN, deadline, ended)?;
        match client.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => line.extend_from_slice(&piece[..count]),
            Err(e) if is_passing(&e) => {}
            Err(e) => return Err(e),
        }
    }
    let end = line.iter().position(|byte| *byte == b'\n');
    line.truncate(end.map_or(LONGEST as usize, |end| end + 1));
    String::from_utf8(line).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))
}

/// Writes an answer within [`TIME_LIMIT`].
fn write_all(mut client: &UnixStream, mut answer: &[u8], ended: &AtomicBool) -> io::Result<()> {
    let deadline = Instant::now() + TIME_LIMIT;
    while !answer.is_empty() {
        wait(client, PollFlags::POLLOUT, deadline, ended)?;
        match client.write(answer) {
            Ok(count) => answer = &answer[count..],
            Err(e) if is_passing(&e) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Waits until a client is readable or writable. Fails at the deadline and when the run ends.
fn wait(
    client: &UnixStream,
    what: PollFlags,
    deadline: Instant,
    ended: &AtomicBool,
) -> io::Result<()> {
    while Instant::now() < deadline && !ended.load(Ordering::Relaxed) {
        let mut waiting = [PollFd::new(client.as_fd(), what)];
        if poll(&mut waiting, PollTimeout::from(CHECK_MS)).unwrap_or(0) > 0 {
            return Ok(());
        }
    }
    Err(ErrorKind::TimedOut.into())
}

/// State needed to answer requests. It is locked while a request is handled.
struct ControlState {
    remote: Remote,
    /// The resolved scenario with all changes applied.
    text: String,
    /// Source of the kernels' TCP connections.
    kernels: Kernels,
}

const NO_ANSWER: &str = "the emulation is starting or ending and does not answer; try again";

impl ControlState {
    fn answer(&mut self, request: Request) -> Result<Answer, String> {
        match request {
            Request::Show => self.show(),
            Request::Set { changes } => {
                self.set(&changes)?;
                self.show()
            }
            Request::Channel {
                on,
                link,
                direction,
            } => {
                let expected = (link.clone(), direction.clone());
                let count = self
                    .remote
                    .call(move |emulation, _| {
                        emulation
                            .live
                            .switch_channels(on, link.as_deref(), direction.as_deref())
                    })
                    .ok_or(NO_ANSWER)?
                    .map_err(|e| e.to_string())?;
                if count == 0 {
                    return Err(self.no_link(&expected.0.unwrap_or_default()));
                }
                self.show()
            }
            Request::Stats => {
                let ends = self.kernels.ends();
                self.remote
                    .call(|emulation, now| emulation.stats(now, ends))
                    .map(Answer::Stats)
                    .ok_or_else(|| NO_ANSWER.into())
            }
            Request::Place { host } => self
                .remote
                .call(move |emulation, _| emulation.place(&host))
                .ok_or(NO_ANSWER)?
                .map(Answer::Place)
                .map_err(|e| e.to_string()),
        }
    }

    fn show(&self) -> Result<Answer, String> {
        let off = self
            .remote
            .call(|emulation, _| emulation.live.channels_off())
            .ok_or(NO_ANSWER)?;
        let mut scenario: Value = serde_json::from_str(&self.text).map_err(|e| e.to_string())?;
        let name = |(link, direction): (_, &str)| (link, direction.to_owned());
        Ok(Answer::State {
            links: scenario["links"].take(),
            agents: scenario["agents"].take(),
            channels_off: off.into_iter().map(name).collect(),
        })
    }

    fn set(&mut self, changes: &[(String, String)]) -> Result<(), String> {
        let can = |path: &str| {
            path.starts_with("links.") || path.starts_with("agents.") && path.ends_with(".enabled")
        };
        if let Some((path, _)) = changes.iter().find(|(path, _)| !can(path)) {
            return Err(format!(
                "{path}: only links can be changed while packets cross them, and agents switched; \
                 write for example links.0.down.delay=300ms or agents.0.enabled=false"
            ));
        }
        let loaded = scenario::load(&self.text, "", changes);
        let (loaded, expanded) = loaded
            .and_then(|s| s.expand().map(|expanded| (s, expanded)))
            .map_err(|e| e.to_string().trim_start_matches("override ").to_owned())?;
        let text = loaded.to_json();
        self.remote
            .call(move |emulation, _| emulation.set(&expanded))
            .ok_or(NO_ANSWER)?
            .map_err(|e| e.to_string())?;
        self.text = text;
        Ok(())
    }

    fn no_link(&self, name: &str) -> String {
        let scenario: Value = serde_json::from_str(&self.text).unwrap_or_default();
        let links = scenario["links"].as_array().cloned().unwrap_or_default();
        let known: Vec<_> = links
            .iter()
            .map(|link| {
                let ends = link["between"].as_array().cloned().unwrap_or_default();
                let ends: Vec<_> = ends.iter().filter_map(Value::as_str).collect();
                link["name"]
                    .as_str()
                    .map_or_else(|| ends.join("-"), str::to_owned)
            })
            .collect();
        format!(
            "there is no link {name:?} with that direction; the links are {}",
            known.join(", ")
        )
    }
}

/// Formats the answer to a line that is not a valid request.
fn unread(unread: Unread) -> String {
    match unread {
        Unread::Version(theirs) => format!(
            "the emulation was started by farlink {}, which speaks version {VERSION} of the \
             control protocol, and the request is of {}: use the farlink that started it",
            env!("CARGO_PKG_VERSION"),
            protocol::name(theirs)
        ),
        Unread::Malformed(why) => format!("no request: {why}"),
    }
}

/// Returns whether the client runs as root or as this process's user.
fn owns(client: &UnixStream) -> bool {
    let mut peer = libc::ucred {
        pid: 0,
        uid: libc::uid_t::MAX,
        gid: 0,
    };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and both pointers refer to values of the given sizes.
    let failed = unsafe {
        libc::getsockopt(
            client.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut len,
        )
    };
    failed == 0 && (peer.uid == 0 || peer.uid == nix::unistd::geteuid().as_raw())
}
