//! A gateway makes another machine a host of the unit's scenario. The machine's packets go to the
//! unit through an encrypted tunnel, and packets that the emulated network delivers to the host
//! come back through it.

use crate::EmuError;
use crate::attach::{Attach, Attached};
use crate::host::{Host, HostConfig};
use crate::interrupt::Watch;
use crate::namespace::{Names, RunFile, sweep};
use crate::program::{HOST, not_started, wait_for};
use crate::realtime::{self, Mode};
use crate::reaper::Reaper;
use crate::stamps::Read;
use crate::tun::LONGEST;
use crate::tunnel::{Inner, Pieces, Welcome, cut};
use farlink_tcp::{Instant, Interval};
use farlink_wire::{NodeId, Raw};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::UdpSocket;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use tunnel::{Tunnel, UnitMessage};

mod tunnel;

/// Maximum wait for packets in milliseconds, after which timers are checked.
const TICK_MS: u16 = 20;
/// Interval of reports to the unit about drops of the device and the position of the host.
const REPORT_INTERVAL: Interval = Interval::from_millis(500);
/// Maximum number of packets carried in one direction before the other direction is served.
const BATCH: usize = 64;

/// Options of a gateway.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayOptions {
    /// Address of the unit, as `HOST:PORT`.
    pub join: String,
    /// Name of the scenario's host that this machine becomes.
    pub host: String,
    /// Key that the unit printed.
    pub key: String,
    /// Program to run. The gateway ends with the program; without one, it runs until it is stopped.
    pub program: Option<Vec<String>>,
    /// Existing interface, bridge or namespace to use instead of a new namespace.
    pub attach: Option<Attach>,
    /// Set if even an interface that carries the machine's own connections may be attached.
    pub force: bool,
    /// Path of the host as (seconds from the start, x and y in metres). The host moves in straight
    /// lines between these positions, and stays at the last.
    pub places: Vec<(f64, f64, f64)>,
    /// Seconds after which the gateway ends.
    pub seconds: Option<f64>,
    /// Set to disable merging of segments: each read or write of the device carries one packet.
    pub plain: bool,
    /// Set if a SIGINT from another process ends the program and the gateway. [`gateway`] must then
    /// be called on the main thread.
    #[serde(default)]
    pub interrupt: bool,
}

/// Summary of a gateway's run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct GatewayDone {
    /// Name of the scenario's host.
    pub host: String,
    /// Address of the host.
    pub address: String,
    /// Packets sent to the unit.
    pub sent: u64,
    /// Packets delivered to the machine.
    pub delivered: u64,
    /// Packets that the machine's kernel refused.
    pub refused: u64,
    /// Number of packets that were not sent because the session's keys had expired or the socket
    /// was full. Packets lost on the way to an unreachable unit do not count.
    pub unsent: u64,
    /// Packets that the host's device dropped.
    pub overflowed: u64,
    /// Datagrams that failed authentication.
    pub forged: u64,
    /// Number of authentic datagrams that had already been received.
    pub replayed: u64,
    /// Number of times that the unit was lost.
    pub lost: u64,
    /// Set if the unit has announced its end.
    pub unit_ended: bool,
    /// Exit code of the program.
    pub exit_code: i32,
}

/// Waits until the tunnel, the device or `stop` is readable, at most `TICK_MS`.
fn wait(socket: &UdpSocket, host: Option<&Host>, stop: Option<&EventFd>) -> Result<(), EmuError> {
    let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut all = vec![readable(socket.as_fd())];
    all.extend(host.and_then(|host| host.port.readable()).map(readable));
    all.extend(stop.map(|stop| readable(stop.as_fd())));
    match poll(&mut all, PollTimeout::from(TICK_MS)) {
        Ok(_) | Err(nix::Error::EINTR) => Ok(()),
        Err(e) => Err(EmuError::system("wait for packets", e)),
    }
}

/// Returns the position at `time` (s), by linear interpolation between `places`.
fn place_at(places: &[(f64, f64, f64)], time: f64) -> Option<(f64, f64)> {
    let next = places.partition_point(|&(at, ..)| at <= time);
    let Some(&(since, x, y)) = next.checked_sub(1).and_then(|last| places.get(last)) else {
        return places.first().map(|&(_, x, y)| (x, y));
    };
    let Some(&(until, to_x, to_y)) = places.get(next) else {
        return Some((x, y));
    };
    let share = (time - since) / (until - since);
    Some((x + share * (to_x - x), y + share * (to_y - y)))
}

/// A host and its tunnel, with the buffers for the packets between them.
struct Gateway<'a> {
    tunnel: &'a mut Tunnel,
    host: &'a mut Host,
    buffer: Vec<u8>,
    pieces: Pieces,
    packets: Vec<(Vec<u8>, bool)>,
    /// Identification of the last sent packet, which all its pieces have.
    ident: u32,
}

impl<'a> Gateway<'a> {
    fn new(tunnel: &'a mut Tunnel, host: &'a mut Host) -> Self {
        Self {
            tunnel,
            host,
            buffer: vec![0; LONGEST],
            pieces: Pieces::default(),
            packets: Vec::new(),
            ident: 0,
        }
    }

    fn failed(&self, what: &str, e: io::Error) -> EmuError {
        EmuError::device(what, &self.host.name, e)
    }

    /// Carries packets until `stop` is set or the unit ends.
    fn carry(
        &mut self,
        stop: &EventFd,
        places: &[(f64, f64, f64)],
        clock: &impl Fn() -> Instant,
        notices: &Sender<String>,
    ) -> Result<(), EmuError> {
        // Without permission for real-time priority, normal priority is used.
        let _realtime = realtime::enter(Mode::Best)?;
        let (mut last_report, began) = (None::<Instant>, clock());
        self.tunnel.declare_ready(began);
        loop {
            wait(&self.tunnel.socket, Some(self.host), Some(stop))?;
            if stop.read().is_ok() {
                self.tunnel.send(clock(), Inner::Bye);
                return Ok(());
            }
            if self.deliver_to_host(clock)?.is_break() {
                return Ok(());
            }
            self.send_to_unit(clock)?;
            let now = clock();
            if let Some(line) = self.tunnel.on_tick(now) {
                // The receiver may be gone.
                let _ = notices.send(line);
            }
            if last_report.is_none_or(|last_report| now.since(last_report) >= REPORT_INTERVAL) {
                last_report = Some(now);
                self.report(now, place_at(places, now.since(began).as_secs_f64()));
            }
        }
    }

    /// Delivers packets of the unit to the host until none is left or the unit ends.
    fn deliver_to_host(
        &mut self,
        clock: &impl Fn() -> Instant,
    ) -> Result<ControlFlow<()>, EmuError> {
        for _ in 0..BATCH {
            let now = clock();
            match self.tunnel.read(now, &mut self.buffer, &mut self.pieces) {
                None => break,
                Some(UnitMessage::Packet(bytes, checked)) => {
                    let Ok(raw) = Raw::new(bytes) else {
                        self.tunnel.done.refused += 1;
                        continue;
                    };
                    let raw = if checked { raw.checked() } else { raw };
                    let written = self.host.port.write(now, now, &raw);
                    let written = written.map_err(|e| self.failed("write to", e))?;
                    self.host.counters.add(written);
                }
                Some(UnitMessage::Changed) => {
                    return Err(EmuError::Machine(format!(
                        "the unit has another scenario now: start the gateway {} again",
                        self.host.name
                    )));
                }
                Some(UnitMessage::Bye) => {
                    self.tunnel.done.unit_ended = true;
                    return Ok(ControlFlow::Break(()));
                }
                Some(UnitMessage::Welcome(Welcome::Taken(why) | Welcome::Refused(why))) => {
                    return Err(EmuError::Machine(format!("the unit refuses: {why}")));
                }
                Some(UnitMessage::Nothing | UnitMessage::Welcome(_)) => {}
            }
        }
        let written = self.host.port.flush();
        let written = written.map_err(|e| self.failed("write to", e))?;
        self.host.counters.add(written);
        Ok(ControlFlow::Continue(()))
    }

    /// Sends packets of the host to the unit, in pieces that fit into datagrams.
    fn send_to_unit(&mut self, clock: &impl Fn() -> Instant) -> Result<(), EmuError> {
        for _ in 0..BATCH {
            let packets = &mut self.packets;
            let port = &mut self.host.port;
            let read = port.read(&mut self.buffer, Vec::new, |packet, checked| {
                packets.push((packet, checked));
            });
            if read.map_err(|e| self.failed("read from", e))? == Read::Nothing {
                break;
            }
            let now = clock();
            for (packet, checked) in self.packets.drain(..) {
                self.ident = self.ident.wrapping_add(1);
                let mut sent = true;
                cut(&packet, checked, self.ident, |inner| {
                    sent &= self.tunnel.send(now, inner);
                });
                if sent {
                    self.tunnel.done.sent += 1;
                } else {
                    self.tunnel.done.unsent += 1;
                }
            }
        }
        Ok(())
    }

    /// Reports the drops of the device and the position of the host to the unit.
    fn report(&mut self, now: Instant, place: Option<(f64, f64)>) {
        self.host.look_at_device();
        let packets = self.host.counters.overflowed;
        self.tunnel.send(now, Inner::Overflowed { packets });
        if let Some((x, y)) = place {
            self.tunnel.send(now, Inner::Place { x, y });
        }
    }
}

impl GatewayOptions {
    fn check(&self) -> Result<(), EmuError> {
        let wrong = |why: &str| Err(EmuError::Scenario(why.into()));
        match (&self.program, &self.attach) {
            (Some(_), Some(Attach::Interface(_) | Attach::Bridge(_))) => {
                wrong("a machine behind an interface runs its own programs: leave out -- PROGRAM")
            }
            (Some(program), _) if program.is_empty() => wrong("no program to run"),
            _ => Ok(()),
        }
    }

    /// Creates the host's namespace, or attaches to an existing kernel or interface.
    fn make_host(&self, node: NodeId, nodes: u32, config: &HostConfig) -> Result<Host, EmuError> {
        let Some(to) = &self.attach else {
            return Host::create(&self.host, node, config);
        };
        let attached = Attached {
            host: self.host.clone(),
            to: to.clone(),
        };
        attached.check(&[], &[], nodes, config.mtu, self.force)?;
        Host::attach(&self.host, node, nodes, to, config)
    }

    /// Returns the name of the program, and the command that runs it in the host's namespace.
    fn command(&self, host: &Host, names: Names<'_>) -> Option<(&str, Command)> {
        let (program, arguments) = self.program.as_deref()?.split_first()?;
        let mut command = host.namespace()?.command(program, names);
        command.args(arguments).env(HOST, &self.host);
        Some((program, command))
    }
}

/// Runs the program, if any, until its end or until `is_over`. Returns its exit code.
fn run_program<E>(
    reaper: &Reaper,
    command: Option<(&str, Command)>,
    is_over: impl Fn() -> bool,
    tick: impl FnMut() -> Result<bool, E>,
) -> Result<Result<i32, E>, EmuError> {
    let start = |(program, mut command): (&str, Command)| {
        let child = reaper.spawn(&mut command);
        child.map_err(|e| not_started(program, e))
    };
    let mut child = command.map(start).transpose()?;
    let code = wait_for(child.as_mut(), is_over, tick);
    reaper.end(child);
    Ok(code)
}

/// Carries packets while the program runs, or until the gateway is stopped. Returns the exit code.
fn run<E>(
    options: &GatewayOptions,
    tunnel: &mut Tunnel,
    host: &mut Host,
    reaper: &Reaper,
    names: Names<'_>,
    began: std::time::Instant,
    mut tick: impl FnMut(&[String]) -> Result<bool, E>,
) -> Result<Result<i32, E>, EmuError> {
    let clock = clock_since(began);
    let command = options.command(host, names);
    let has_program = options.interrupt && command.is_some();
    let _watch = has_program.then(Watch::start).transpose()?;
    let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
    let stop = event.map_err(|e| EmuError::system("wait for packets", e))?;
    let (sender, notices) = channel();
    let mut hello = vec![format!("joined as {} ({})", options.host, host.address())];
    std::thread::scope(|scope| {
        let carrying = scope.spawn(|| {
            let mut gateway = Gateway::new(tunnel, host);
            gateway.carry(&stop, &options.places, &clock, &sender)
        });
        let is_over = || {
            let limit = options.seconds;
            let is_late = limit.is_some_and(|s| began.elapsed().as_secs_f64() >= s);
            is_late || carrying.is_finished()
        };
        let code = run_program(reaper, command, is_over, || {
            hello.extend(notices.try_iter());
            tick(&std::mem::take(&mut hello))
        });
        // A write fails only if the eventfd's counter is at its maximum, which wakes the thread as
        // well.
        let _ = stop.write(1);
        let carried = carrying.join().unwrap_or_else(|_| {
            Err(EmuError::Scenario(
                "internal error: the gateway's thread panicked".into(),
            ))
        });
        carried.and(code)
    })
}

/// Returns a clock that gives the time since `began` as an [`Instant`].
fn clock_since(began: std::time::Instant) -> impl Fn() -> Instant {
    move || Instant::from_nanos(began.elapsed().as_nanos() as u64)
}

/// Joins a unit as a host of its scenario, and carries packets. The gateway ends when the program
/// ends, the unit ends, or it is stopped. `tick` is called regularly with new status lines. If
/// `tick` returns `Ok(false)` or an error, the gateway stops, and an error is returned to the
/// caller.
///
/// # Errors
/// Fails if the options are wrong, if the unit refuses or does not answer, or if a system call
/// fails.
pub fn gateway<E>(
    options: &GatewayOptions,
    mut tick: impl FnMut(&[String]) -> Result<bool, E>,
) -> Result<Result<GatewayDone, E>, EmuError> {
    let began = std::time::Instant::now();
    let clock = clock_since(began);
    options.check()?;
    let mut tunnel = Tunnel::open(options)?;
    Host::check()?;
    // Started before the handshake, so missing privileges are reported even if the unit does not
    // answer.
    let reaper = Reaper::start(&[])?;
    let welcome = match tunnel.join(&clock, &mut tick)? {
        Ok(Some(welcome)) => welcome,
        Ok(None) => return Ok(Ok(tunnel.done)),
        Err(error) => return Ok(Err(error)),
    };
    let Welcome::Joined {
        node,
        nodes,
        mtu,
        tcp,
        names,
    } = welcome
    else {
        return Ok(Ok(tunnel.done));
    };
    sweep();
    let config = HostConfig {
        mtu,
        congestion: tcp.filter(|_| options.attach.is_none()),
        plain: options.plain,
        timed: false,
        ..HostConfig::default()
    };
    let mut host = options.make_host(NodeId(node), nodes, &config)?;
    tunnel.done.address = host.address().to_string();
    let addresses = names
        .iter()
        .map(|(name, address)| (name, address.to_string()));
    let hosts = RunFile::of_hosts(addresses)?;
    let names = Names {
        hosts: hosts.path(),
        resolver: None,
    };
    let code = run(options, &mut tunnel, &mut host, &reaper, names, began, tick)?;
    host.look_at_device();
    let counters = host.whole_counters();
    let mut done = tunnel.done;
    (done.delivered, done.overflowed) = (counters.delivered, counters.overflowed);
    done.refused += counters.refused;
    Ok(code.map(|code| GatewayDone {
        exit_code: code,
        ..done
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_moves_in_a_straight_line_between_places() {
        let places = [(1.0, 0.0, 0.0), (3.0, 10.0, 20.0)];
        assert_eq!(place_at(&[], 1.0), None);
        assert_eq!(place_at(&places, 0.0), Some((0.0, 0.0)));
        assert_eq!(place_at(&places, 2.0), Some((5.0, 10.0)));
        assert_eq!(place_at(&places, 9.0), Some((10.0, 20.0)));
    }
}
