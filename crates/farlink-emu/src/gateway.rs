//! A gateway: a host of a scenario that runs on another machine. What it sends goes to the unit
//! there, and what the unit lets through comes back.

use crate::EmuError;
use crate::attach::{Attach, Attached};
use crate::host::{Host, HostConfig};
use crate::interrupt::{INTERRUPTED, Interrupt, Watch};
use crate::keeper::Keeper;
use crate::namespace::{Names, RunFile, sweep};
use crate::program::{HOST, code_of, not_started};
use crate::realtime::{self, Mode};
use crate::stamps::Read;
use crate::tun::LONGEST;
use crate::tunnel::{Inner, Pieces, Welcome, cut};
use farlink_tcp::{Instant, Interval};
use farlink_wire::{NodeId, Raw};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tunnel::{Said, Tunnel};

mod tunnel;

/// Time between two looks at what is due.
const BEAT_MS: u16 = 20;
/// Time between two words about what the device dropped, and where the gateway is.
const TELL: Interval = Interval::from_millis(500);
/// Packets that are carried one way before the other has its turn.
const BATCH: usize = 64;
/// Time between two looks at the program.
const LOOK: Duration = Duration::from_millis(10);

/// Options of a gateway.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayOptions {
    /// Host and port of the unit.
    pub join: String,
    /// The host of the scenario that it is.
    pub host: String,
    /// Key that the unit printed.
    pub key: String,
    /// The program whose end is the end; none runs until it is stopped.
    pub program: Option<Vec<String>>,
    /// Thing that is the host in place of a new namespace.
    pub attach: Option<Attach>,
    /// Attach also what the machine's own connection goes by.
    pub force: bool,
    /// Places over time: seconds from the start, and metres. The host moves straight from one place
    /// to the next and stays at the last.
    pub places: Vec<(f64, f64, f64)>,
    /// End after so many seconds.
    pub seconds: Option<f64>,
    /// Set for one packet per read or write of the device.
    pub plain: bool,
    /// Set if SIGINT from a process ends the program and the gateway. The call must be on the main
    /// thread.
    #[serde(default)]
    pub interrupt: bool,
}

/// Result of a gateway.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct GatewayDone {
    /// The host that it was.
    pub host: String,
    /// Address of the host.
    pub address: String,
    /// Packets that it sent to the unit.
    pub sent: u64,
    /// Packets that its machine got.
    pub delivered: u64,
    /// Packets that its machine would not take.
    pub refused: u64,
    /// Packets that it could not send, since its keys were over or the network full. What was on
    /// its way while the unit was lost is not known to be lost.
    pub unsent: u64,
    /// Packets that its device dropped.
    pub overflowed: u64,
    /// Datagrams that were not authentic.
    pub forged: u64,
    /// Datagrams that were there before.
    pub replayed: u64,
    /// Number of times that the unit was lost.
    pub lost: u64,
    /// Set if the unit announced its end.
    pub unit_ended: bool,
    /// Exit code of the program.
    pub exit_code: i32,
}

/// Waits until there is something to read, or a beat long.
fn wait(socket: &UdpSocket, host: Option<&Host>, stop: Option<&EventFd>) -> Result<(), EmuError> {
    let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut all = vec![readable(socket.as_fd())];
    all.extend(host.and_then(|host| host.port.readable()).map(readable));
    all.extend(stop.map(|stop| readable(stop.as_fd())));
    match poll(&mut all, PollTimeout::from(BEAT_MS)) {
        Ok(_) | Err(nix::Error::EINTR) => Ok(()),
        Err(e) => Err(EmuError::system("wait for packets", e)),
    }
}

/// Returns the place at a time, on the straight line between two places.
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

/// Carries packets between the host and the unit until it is stopped or the unit ends.
fn carry(
    tunnel: &mut Tunnel,
    host: &mut Host,
    stop: &EventFd,
    places: &[(f64, f64, f64)],
    clock: &impl Fn() -> Instant,
    notices: &Sender<String>,
) -> Result<(), EmuError> {
    // At normal priority where it is not allowed.
    let _realtime = realtime::enter(Mode::Best)?;
    let mut buffer = vec![0; LONGEST];
    let (mut pieces, mut packets, mut ident) = (Pieces::default(), Vec::new(), 0u32);
    let (mut last_report, began) = (None::<Instant>, clock());
    tunnel.show(began);
    loop {
        wait(&tunnel.socket, Some(host), Some(stop))?;
        if stop.read().is_ok() {
            tunnel.say(clock(), Inner::Bye);
            return Ok(());
        }
        for _ in 0..BATCH {
            let now = clock();
            match tunnel.read(now, &mut buffer, &mut pieces) {
                None => break,
                Some(Said::Packet(bytes, checked)) => {
                    let Ok(raw) = Raw::new(bytes) else {
                        tunnel.done.refused += 1;
                        continue;
                    };
                    let raw = if checked { raw.checked() } else { raw };
                    let written = host.port.write(now, now, &raw);
                    host.counters
                        .add(written.map_err(|e| failed("write to", host, e))?);
                }
                Some(Said::Changed) => {
                    return Err(EmuError::Machine(format!(
                        "the unit has another scenario now: start the gateway {} again",
                        host.name
                    )));
                }
                Some(Said::Bye) => {
                    tunnel.done.unit_ended = true;
                    return Ok(());
                }
                Some(Said::Welcome(Welcome::Taken(why) | Welcome::Refused(why))) => {
                    return Err(EmuError::Machine(format!("the unit refuses: {why}")));
                }
                Some(Said::Nothing | Said::Welcome(_)) => {}
            }
        }
        let written = host.port.flush();
        host.counters
            .add(written.map_err(|e| failed("write to", host, e))?);
        for _ in 0..BATCH {
            let read = host.port.read(&mut buffer, Vec::new, |packet, checked| {
                packets.push((packet, checked));
            });
            if read.map_err(|e| failed("read from", host, e))? == Read::Nothing {
                break;
            }
            let now = clock();
            for (packet, checked) in packets.drain(..) {
                ident = ident.wrapping_add(1);
                let mut sent = true;
                cut(&packet, checked, ident, |inner| {
                    sent &= tunnel.say(now, inner);
                });
                if sent {
                    tunnel.done.sent += 1;
                } else {
                    tunnel.done.unsent += 1;
                }
            }
        }
        let now = clock();
        if let Some(line) = tunnel.work(now) {
            // Nobody may be left to read it.
            let _ = notices.send(line);
        }
        if last_report.is_none_or(|last_report| now.since(last_report) >= TELL) {
            last_report = Some(now);
            host.look_at_device();
            let packets = host.counters.overflowed;
            tunnel.say(now, Inner::Overflowed { packets });
            if let Some((x, y)) = place_at(places, now.since(began).as_secs_f64()) {
                tunnel.say(now, Inner::Place { x, y });
            }
        }
    }
}

fn failed(what: &str, host: &Host, e: io::Error) -> EmuError {
    EmuError::device(what, &host.name, e)
}

/// Joins a unit as a host of its scenario, and is that host until a program ends, it is stopped or
/// the unit ends. `tick` gets lines for whoever watches, and says whether to go on; an error of its
/// own ends all.
///
/// # Errors
/// If the options are wrong, the unit does not answer or refuses, or the system refuses.
pub fn gateway<E>(
    options: &GatewayOptions,
    mut tick: impl FnMut(&[String]) -> Result<bool, E>,
) -> Result<Result<GatewayDone, E>, EmuError> {
    let began = std::time::Instant::now();
    let clock = || Instant::from_nanos(began.elapsed().as_nanos() as u64);
    let wrong = |why: &str| Err(EmuError::Scenario(why.into()));
    match (&options.program, &options.attach) {
        (Some(_), Some(Attach::Interface(_) | Attach::Bridge(_))) => {
            return wrong(
                "a machine behind an interface runs its own programs: leave out -- PROGRAM",
            );
        }
        (Some(program), _) if program.is_empty() => return wrong("no program to run"),
        _ => {}
    }
    let mut tunnel = Tunnel::open(options)?;
    Host::check()?;
    // Before the unit is asked: what this machine does not allow needs none.
    let keeper = Keeper::start(&[])?;
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
        way_out: false,
        way_out6: false,
        timed: false,
        sweeper: Vec::new(),
    };
    let address = farlink_wire::node_address(NodeId(node));
    let mut host = match &options.attach {
        Some(to) => {
            let to = to.clone();
            let host = options.host.clone();
            let attached = Attached { host, to };
            attached.check(&[], &[], nodes, mtu, options.force)?;
            Host::attach(&options.host, NodeId(node), nodes, &attached.to, &config)?
        }
        None => Host::create(&options.host, NodeId(node), &config)?,
    };
    tunnel.done.address = address.to_string();
    let mut hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    for (name, address) in &names {
        hosts.extend(["\n", &address.to_string(), " ", name]);
    }
    let hosts = RunFile::create("hosts", &(hosts + "\n"))?;
    let names = Names {
        hosts: hosts.path(),
        resolver: None,
    };
    let program = options.program.as_deref().and_then(<[_]>::split_first);
    let mut command = program
        .zip(host.namespace())
        .map(|((program, arguments), namespace)| {
            let mut command = namespace.command(program, names);
            command.args(arguments).env(HOST, &options.host);
            (program, command)
        });
    let has_program = options.interrupt && command.is_some();
    let _watch = has_program.then(Watch::start).transpose()?;
    let mut interrupt = Interrupt::default();
    let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
    let stop = event.map_err(|e| EmuError::system("wait for packets", e))?;
    let (sender, notices) = channel();
    let mut hello = vec![format!("joined as {} ({address})", options.host)];
    let code = std::thread::scope(|scope| {
        let carrying = scope.spawn(|| {
            let places = &options.places;
            carry(&mut tunnel, &mut host, &stop, places, &clock, &sender)
        });
        let mut children = Vec::new();
        let mut watch = || -> Result<Result<i32, E>, EmuError> {
            if let Some((program, command)) = &mut command {
                let child = keeper.spawn(command);
                children.push(child.map_err(|e| not_started(program, e))?);
            }
            loop {
                if let Some(child) = children.last_mut() {
                    if let Ok(Some(status)) = child.try_wait() {
                        return Ok(Ok(code_of(status)));
                    }
                    if has_program && interrupt.is_over(child) {
                        return Ok(Ok(INTERRUPTED));
                    }
                }
                hello.extend(lines(&notices));
                match tick(&std::mem::take(&mut hello)) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Ok(0)),
                    Err(error) => return Ok(Err(error)),
                }
                let is_over = options
                    .seconds
                    .is_some_and(|s| began.elapsed().as_secs_f64() >= s);
                if carrying.is_finished() || is_over {
                    return Ok(Ok(0));
                }
                std::thread::sleep(LOOK);
            }
        };
        let code = watch();
        keeper.end(children);
        // A counter that cannot be added to is one that was added to.
        let _ = stop.write(1);
        let carried = carrying.join().unwrap_or_else(|_| {
            Err(EmuError::Scenario(
                "internal error: the gateway's thread panicked".into(),
            ))
        });
        carried.and(code)
    })?;
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

fn lines(notices: &Receiver<String>) -> Vec<String> {
    notices.try_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_straight_from_place_to_place() {
        let places = [(1.0, 0.0, 0.0), (3.0, 10.0, 20.0)];
        assert_eq!(place_at(&[], 1.0), None);
        assert_eq!(place_at(&places, 0.0), Some((0.0, 0.0)));
        assert_eq!(place_at(&places, 2.0), Some((5.0, 10.0)));
        assert_eq!(place_at(&places, 9.0), Some((10.0, 20.0)));
    }
}
