//! Runs programs in the hosts of an emulation: starts them, waits for the main program, and kills
//! all remaining processes.

use crate::EmuError;
use crate::drive::Emulation;
use crate::interrupt::{INTERRUPTED, Watch};
use crate::namespace::Namespace;
use crate::program::{CHECK_INTERVAL, HOST, Task, code_of, not_started, wait_for};
use crate::reaper::Reaper;
use crate::report::{Report, Server};
use farlink_tcp::congestion::Abort;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Time limit for a server to start listening.
const TIME_LIMIT: Duration = Duration::from_secs(1);

/// A program that is ready to be started.
struct Prepared<'a> {
    task: &'a Task,
    command: Command,
    /// Sockets of the server's host.
    sockets: Sockets,
}

fn prepare<'a>(emulation: &Emulation, task: &'a Task) -> Result<Prepared<'a>, EmuError> {
    let Some((program, arguments)) = task.argv.split_first() else {
        return Err(EmuError::Scenario("no program to run".into()));
    };
    let namespace = emulation.namespace_of(&task.host)?;
    let mut command = namespace.command(program, emulation.names());
    command.args(arguments).env(HOST, &task.host);
    let sockets = Sockets::open(namespace).map_err(|e| EmuError::system("look at sockets", e))?;
    Ok(Prepared {
        task,
        command,
        sockets,
    })
}

/// Carries packets while `main` runs. The `servers` start in their hosts before `main`, and all
/// processes are killed at the end. Without `main`, the session lasts until `tick` ends it, or
/// until all user-space hosts have completed their fetches.
///
/// `tick` is called every few milliseconds. If `tick` returns `Ok(false)` or an error, the session
/// ends, and an error is returned to the caller.
///
/// # Errors
/// Fails if a host is unknown, a program cannot be started, or a system call fails.
pub fn session<E>(
    emulation: &mut Emulation,
    servers: &[Task],
    main: Option<&Task>,
    mut tick: impl FnMut() -> Result<bool, E>,
) -> Result<Result<Report, E>, EmuError> {
    let mut prepared = Vec::new();
    for task in servers.iter().chain(main) {
        prepared.push(prepare(emulation, task)?);
    }
    let (stop, reaper) = (emulation.stop(), emulation.reaper());
    let mut codes = vec![None; servers.len()];
    let (report, code) = std::thread::scope(|scope| {
        let engine = scope.spawn(|| emulation.run());
        let mut children: Vec<Child> = Vec::new();
        let started = start(
            &reaper,
            &mut prepared,
            servers.len(),
            &mut children,
            &mut tick,
        );
        let code = started.map(|ended| {
            if let Some(code) = ended? {
                return Ok(code);
            }
            let program = children.last_mut().filter(|_| main.is_some());
            wait_for(program, || engine.is_finished(), &mut tick)
        });
        for (code, child) in codes.iter_mut().zip(&mut children) {
            *code = child.try_wait().ok().flatten().map(code_of);
        }
        reaper.end(children);
        stop.stop();
        let report = engine.join().unwrap_or_else(|panic| {
            let abort = panic.downcast::<Abort>().map(|abort| abort.0);
            Err(EmuError::Scenario(abort.unwrap_or_else(|_| {
                "internal error: the engine's thread panicked".into()
            })))
        });
        (report, code)
    });
    let (mut report, code) = (report?, code?);
    report.endpoints = emulation
        .hosts()
        .iter()
        .filter_map(|host| Some((host.name.clone(), host.endpoint()?.report())))
        .collect();
    let server = |(task, exit_code)| Server { task, exit_code };
    report.servers = servers.iter().cloned().zip(codes).map(server).collect();
    Ok(code.map(|code| Report {
        exit_code: code,
        ..report
    }))
}

/// Starts the programs in order, each after the previous server listens. Returns an exit code if
/// the session ended in between.
fn start<E>(
    reaper: &Reaper,
    prepared: &mut [Prepared<'_>],
    servers: usize,
    children: &mut Vec<Child>,
    mut tick: impl FnMut() -> Result<bool, E>,
) -> Result<Result<Option<i32>, E>, EmuError> {
    for (number, program) in prepared.iter_mut().enumerate() {
        let before = program.sockets.listening();
        let child = reaper.spawn(&mut program.command);
        let mut child = child.map_err(|e| not_started(&program.task.argv[0], e))?;
        let ended = if number < servers {
            program.wait_until_listening(&mut child, &before, &mut tick)
        } else {
            Ok(None)
        };
        tracing::debug!(target: "farlink", host = program.task.host, program = program.task.argv[0], "program started");
        children.push(child);
        if !matches!(ended, Ok(None)) {
            return Ok(ended);
        }
    }
    Ok(Ok(None))
}

impl Prepared<'_> {
    /// Waits for a new listening socket in the server's host, for at most [`TIME_LIMIT`]. Returns an
    /// exit code if the session ended in between.
    fn wait_until_listening<E>(
        &mut self,
        child: &mut Child,
        before: &BTreeSet<u64>,
        mut tick: impl FnMut() -> Result<bool, E>,
    ) -> Result<Option<i32>, E> {
        let began = Instant::now();
        while began.elapsed() < TIME_LIMIT {
            let ended = child.try_wait().ok().flatten();
            // A server that exited with 0 may have started a daemon, so the wait continues.
            if ended.is_some_and(|status| !status.success())
                || !self.sockets.listening().is_subset(before)
            {
                break;
            }
            if Watch::is_received() {
                return Ok(Some(INTERRUPTED));
            }
            if !tick()? {
                return Ok(Some(0));
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
        Ok(None)
    }
}

/// Sockets of a host that other hosts can reach.
struct Sockets {
    /// Tables such as /proc/net/tcp, and whether each has a listening state. A table always shows
    /// the namespace in which it was opened.
    tables: Vec<(File, bool)>,
}

impl Sockets {
    fn open(namespace: &Namespace) -> io::Result<Self> {
        let mut tables = Vec::new();
        for (name, is_tcp) in [
            ("tcp", true),
            ("tcp6", true),
            ("udp", false),
            ("udp6", false),
        ] {
            let path = format!("/proc/thread-self/net/{name}");
            match namespace.inside(|| File::open(path)) {
                Ok(table) => tables.push((table, is_tcp)),
                // A kernel without IPv6 has no such table.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Self { tables })
    }

    /// Returns the inode numbers of all listening TCP sockets and bound UDP sockets.
    fn listening(&mut self) -> BTreeSet<u64> {
        let mut names = BTreeSet::new();
        for (table, is_tcp) in &mut self.tables {
            let mut text = String::new();
            // An unreadable table is treated as empty.
            let _ = table
                .rewind()
                .and_then(|()| table.read_to_string(&mut text));
            let rows = text.lines().skip(1).map(str::split_whitespace);
            names.extend(rows.filter_map(|mut row| {
                // State 0A is LISTEN. UDP sockets are listed when they are bound.
                let state = row.nth(3)?;
                let inode = row.nth(5)?.parse::<u64>().ok()?;
                (!*is_tcp || state == "0A").then_some(inode)
            }));
        }
        names
    }
}
