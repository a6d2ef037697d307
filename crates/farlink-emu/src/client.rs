//! Client side of the control socket: queries a running emulation, and runs programs in its hosts.

use crate::EmuError;
use crate::namespace::{Names, command_in};
use crate::program::{HOST, code_of, not_started};
use crate::protocol::{self, Answer, Place, Request, Unread, VERSION};
use crate::reaper::spawn_in;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Time limit for the answer of an emulation.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Sends a request to the emulation whose socket is at `path`.
///
/// # Errors
/// Fails with `PermissionDenied` if the emulation belongs to another user, and with another kind if
/// the emulation has ended.
pub fn ask(path: &Path, request: &Request) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(TIME_LIMIT))?;
    stream.set_write_timeout(Some(TIME_LIMIT))?;
    stream.write_all(protocol::write(request).as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(protocol::read(&line).unwrap_or_else(|unread| {
        Answer::Error(match unread {
            Unread::Version(theirs) => format!(
                "it was started by another farlink, which speaks {} of the control protocol; this \
                 one speaks version {VERSION}: use the farlink that started it",
                protocol::name(theirs)
            ),
            Unread::Malformed(why) => format!("its answer cannot be read: {why}"),
        })
    }))
}

/// Runs a program in a host of a running emulation, and waits for its end. Returns the program's
/// exit code, or 128 plus the signal that killed it. The end of the emulation also kills the
/// program.
///
/// # Errors
/// Fails if the program cannot be started, or a system call fails.
pub fn execute(place: &Place, argv: &[String]) -> Result<i32, EmuError> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(EmuError::Scenario("no program to run".into()));
    };
    let open = |path| File::open(path).map_err(|e| EmuError::system("enter the emulation", e));
    let (network, processes) = (open(&place.namespace)?, open(&place.processes)?);
    let names = Names {
        hosts: &place.names,
        resolver: place.resolver.as_deref(),
    };
    let mut command = command_in(&network, program, names);
    command.args(arguments).env(HOST, &place.host);
    let child = spawn_in(&processes, &mut command);
    let status = child.map_err(|e| not_started(program, e))?.wait();
    status
        .map(code_of)
        .map_err(|e| EmuError::system(format!("wait for {program}"), e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// Returns the client's answer when the emulation sends `line`.
    fn answer_to(line: &'static str) -> Answer {
        let path = std::env::temp_dir().join(format!("farlink-client-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut requested = String::new();
            let reading = stream.try_clone().unwrap();
            BufReader::new(reading).read_line(&mut requested).unwrap();
            stream.write_all(line.as_bytes()).unwrap();
            requested
        });
        let answer = ask(&path, &Request::Show).unwrap();
        assert_eq!(server.join().unwrap(), protocol::write(&Request::Show));
        let _ = std::fs::remove_file(&path);
        answer
    }

    #[test]
    fn an_emulation_of_another_version_gets_one_clear_line() {
        let Answer::Error(older) = answer_to("{\"error\": \"no request: unknown field\"}\n") else {
            panic!("no error");
        };
        assert!(
            older.contains("speaks no version of the control protocol"),
            "{older}"
        );
        let Answer::Error(newer) = answer_to("{\"version\": 3, \"stars\": 5}\n") else {
            panic!("no error");
        };
        assert!(
            newer.contains("speaks version 3 of the control protocol"),
            "{newer}"
        );
        let right = "{\"version\": 2, \"error\": \"no such link\"}\n";
        assert_eq!(answer_to(right), Answer::Error("no such link".into()));
    }
}
