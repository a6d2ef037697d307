//! Programs in an emulation: started in their hosts, waited for, and taken down
//! with all that they started.

use crate::EmuError;
use crate::drive::{Emulation, Report};
use crate::endpoint::EndpointReport;
use crate::host::Counters;
use crate::namespace::Namespace;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::time::{Duration, Instant};

/// Time between two looks at the program.
const LOOK: Duration = Duration::from_millis(10);
/// How long a server gets until it listens.
const PATIENCE: Duration = Duration::from_secs(1);

/// A program to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Name of its host.
    pub host: String,
    /// Program and arguments.
    pub argv: Vec<String>,
}

/// What became of a session.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Exit code of the program: 128 and the signal if one killed it.
    pub code: i32,
    /// What the network did.
    pub report: Report,
    /// Name, address and packets of each host.
    pub hosts: Vec<(String, Ipv4Addr, Counters)>,
    /// Names of the user-space hosts and what they did.
    pub endpoints: Vec<(String, EndpointReport)>,
}

/// Carries packets while `main` runs, and `servers` beside it, each started in
/// its host before `main` is. Everything in the hosts is killed at the end. With
/// no `main` it lasts until `tick` ends it, or the hosts in user space have fetched
/// what they were to. `tick` is asked every few
/// milliseconds whether to go on; an error of its own ends the session.
///
/// # Errors
/// If a host is unknown, a program cannot be started, or the system refuses.
pub fn session<E>(
    emulation: &mut Emulation,
    servers: &[Task],
    main: Option<&Task>,
    mut tick: impl FnMut() -> Result<bool, E>,
) -> Result<Result<Outcome, E>, EmuError> {
    let commands = |emulation: &Emulation, task: &Task| {
        let known = || {
            let names: Vec<_> = emulation.hosts().iter().map(|h| h.name.as_str()).collect();
            names.join(", ")
        };
        let host = emulation
            .hosts()
            .iter()
            .find(|host| host.name == task.host)
            .ok_or_else(|| {
                EmuError::Scenario(format!(
                    "there is no host {:?}; the hosts of this scenario are {}",
                    task.host,
                    known()
                ))
            })?;
        let Some((program, arguments)) = task.argv.split_first() else {
            return Err(EmuError::Scenario("no program to run".into()));
        };
        let Some(namespace) = host.namespace() else {
            return Err(EmuError::Scenario(format!(
                "{:?} is a user-space host, where no program can run ({program:?})",
                task.host
            )));
        };
        let mut command = namespace.command(program, emulation.hosts_file());
        command.args(arguments);
        Ok((command, program.clone()))
    };
    let mut prepared = Vec::new();
    for task in servers.iter().chain(main) {
        prepared.push(commands(emulation, task)?);
    }
    let stop = emulation.stop();
    let spaces: Vec<_> = emulation
        .hosts()
        .iter()
        .filter_map(|host| host.namespace())
        .map(Namespace::clone_file)
        .collect::<Result<_, _>>()
        .map_err(|e| EmuError::system("look into a namespace", e))?;
    let (report, code) = std::thread::scope(|scope| {
        let engine = scope.spawn(|| emulation.run());
        let mut children: Vec<Child> = Vec::new();
        let mut wait = || -> Result<Result<i32, E>, EmuError> {
            for (i, (command, program)) in prepared.iter_mut().enumerate() {
                let child = command.spawn().map_err(|e| not_started(program, e))?;
                let process = child.id();
                children.push(child);
                if i < servers.len() {
                    listening(process);
                }
            }
            loop {
                if main.is_some()
                    && let Some(child) = children.last_mut()
                    && let Ok(Some(status)) = child.try_wait()
                {
                    let killed = || 128 + status.signal().unwrap_or(0);
                    return Ok(Ok(status.code().unwrap_or_else(killed)));
                }
                match tick() {
                    Ok(true) => {}
                    Ok(false) => return Ok(Ok(0)),
                    Err(error) => return Ok(Err(error)),
                }
                if engine.is_finished() {
                    return Ok(Ok(0));
                }
                std::thread::sleep(LOOK);
            }
        };
        let code = wait();
        for space in &spaces {
            end_all(space);
        }
        for mut child in children {
            let _ = child.wait();
        }
        stop.stop();
        let report = engine.join().unwrap_or_else(|_| {
            Err(EmuError::Scenario(
                "internal error: the engine's thread panicked".into(),
            ))
        });
        (report, code)
    });
    let (report, code) = (report?, code?);
    let hosts = emulation
        .hosts()
        .iter()
        .map(|host| (host.name.clone(), host.address, host.counters))
        .collect();
    let endpoints = emulation
        .hosts()
        .iter()
        .filter_map(|host| Some((host.name.clone(), host.endpoint()?.report())))
        .collect();
    Ok(code.map(|code| Outcome {
        code,
        report,
        hosts,
        endpoints,
    }))
}

/// Why a program did not start. Entering its host needs rights that were there when
/// the host was made, so that it is the file that is missing or cannot be run.
fn not_started(program: &str, error: io::Error) -> EmuError {
    match error.kind() {
        io::ErrorKind::NotFound => EmuError::Scenario(format!(
            "there is no program {program:?}; write its path, or a name that PATH has"
        )),
        io::ErrorKind::PermissionDenied => {
            EmuError::Scenario(format!("{program:?} cannot be run: it is not executable"))
        }
        _ => EmuError::system(format!("start {program}"), error),
    }
}

/// Waits until a process has a socket that others can reach, or for a second.
fn listening(process: u32) {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let table = |name: &str| {
            fs::read_to_string(format!("/proc/{process}/net/{name}")).unwrap_or_default()
        };
        // State 0A is LISTEN; a bound UDP socket is there or not.
        let tcp = table("tcp") + &table("tcp6");
        let listens = tcp
            .lines()
            .any(|line| line.split_whitespace().nth(3) == Some("0A"));
        if listens || (table("udp") + &table("udp6")).lines().count() > 2 {
            return;
        }
        std::thread::sleep(LOOK);
    }
}

/// Kills every process of a namespace, also those that a program started and
/// left behind.
fn end_all(namespace: &fs::File) {
    use std::os::unix::fs::MetadataExt;
    let Ok(own) = namespace.metadata().map(|m| (m.dev(), m.ino())) else {
        return;
    };
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        let there = fs::metadata(entry.path().join("ns/net")).map(|m| (m.dev(), m.ino()));
        if there.is_ok_and(|id| id == own) {
            let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
        }
    }
}
