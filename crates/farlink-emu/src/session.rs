//! Programs in an emulation: started in their hosts, waited for, and taken down
//! with all that they started.

use crate::EmuError;
use crate::drive::Emulation;
use crate::interrupt::{INTERRUPTED, Watch};
use crate::keeper::Keeper;
use crate::namespace::Namespace;
use crate::program::{HOST, LOOK, Task, code_of, not_started, wait_for};
use crate::report::{Report, Server};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Time limit for a server to listen.
const PATIENCE: Duration = Duration::from_secs(1);

/// A program that is to be started.
struct Prepared<'a> {
    task: &'a Task,
    command: Command,
    /// Sockets that listen in the server's host.
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

/// Carries packets while `main` runs, and `servers` beside it, each started in
/// its host before `main` is. All that they started is killed at the end. With
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
) -> Result<Result<Report, E>, EmuError> {
    let mut prepared = Vec::new();
    for task in servers.iter().chain(main) {
        prepared.push(prepare(emulation, task)?);
    }
    let (stop, keeper) = (emulation.stop(), emulation.keeper());
    let mut codes = vec![None; servers.len()];
    let (report, code) = std::thread::scope(|scope| {
        let engine = scope.spawn(|| emulation.run());
        let mut children: Vec<Child> = Vec::new();
        let started = start(
            &keeper,
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
        keeper.end(children);
        stop.stop();
        let report = engine.join().unwrap_or_else(|_| {
            Err(EmuError::Scenario(
                "internal error: the engine's thread panicked".into(),
            ))
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

/// Starts the programs one after the other, each server before the next program. Returns the exit
/// code of a session that ends meanwhile.
fn start<E>(
    keeper: &Keeper,
    prepared: &mut [Prepared<'_>],
    servers: usize,
    children: &mut Vec<Child>,
    mut tick: impl FnMut() -> Result<bool, E>,
) -> Result<Result<Option<i32>, E>, EmuError> {
    for (number, program) in prepared.iter_mut().enumerate() {
        let before = program.sockets.listening();
        let child = keeper.spawn(&mut program.command);
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
    /// Waits for a new socket that listens, for a second at most. Returns the exit code of a
    /// session that ends meanwhile.
    fn wait_until_listening<E>(
        &mut self,
        child: &mut Child,
        before: &BTreeSet<u64>,
        mut tick: impl FnMut() -> Result<bool, E>,
    ) -> Result<Option<i32>, E> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let ended = child.try_wait().ok().flatten();
            // A server that ended well may have left another behind that will listen.
            if ended.is_some_and(|status| !status.success())
                || !self.sockets.listening().is_subset(before)
            {
                break;
            }
            if Watch::is_asked() {
                return Ok(Some(INTERRUPTED));
            }
            if !tick()? {
                return Ok(Some(0));
            }
            std::thread::sleep(LOOK);
        }
        Ok(None)
    }
}

/// The sockets of a host that others can reach.
struct Sockets {
    /// Open from inside: a table is that of the namespace in which it was opened.
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
                // Without IPv6 in the kernel its tables are missing.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Self { tables })
    }

    /// Numbers (inodes) of those that listen, or that datagrams can be sent to.
    fn listening(&mut self) -> BTreeSet<u64> {
        let mut names = BTreeSet::new();
        for (table, is_tcp) in &mut self.tables {
            let mut text = String::new();
            // A table that cannot be read shows nothing new.
            let _ = table
                .rewind()
                .and_then(|()| table.read_to_string(&mut text));
            let rows = text.lines().skip(1).map(str::split_whitespace);
            names.extend(rows.filter_map(|mut row| {
                // State 0A is LISTEN; a bound UDP socket is there or not.
                let state = row.nth(3)?;
                let inode = row.nth(5)?.parse::<u64>().ok()?;
                (!*is_tcp || state == "0A").then_some(inode)
            }));
        }
        names
    }
}
